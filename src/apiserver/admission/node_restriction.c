/*
 * NodeRestriction: what a node (access/node_rights.h) may not write although its rights allow the
 * verb, because of what stands in the object. The rules and the words are those of kube-apiserver's
 * admission of the same name; the table at the end names a function per resource.
 *
 * Objects with a content of the client's (create, update, status) are judged with the candidate,
 * deletions and evictions with what is there.
 */
#include "apiserver/access/node_rights.h"
#include "apiserver/access/rbac.h"
#include "apiserver/admission/admit_impl.h"
#include "apiserver/request.h"
#include "base/vec.h"

struct judged {
    struct req *q;
    str node; /* who asks */
    jval is;  /* the candidate, or absent */
    jval was; /* what is there, or absent */
};

typedef const struct status *judge_fn(const struct judged *j);

static const struct status *refuse(const struct judged *j, const char *fmt, ...) PRINTF_LIKE(2, 3);
static const struct status *refuse(const struct judged *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(&j->q->arena, fmt, ap);
    va_end(ap);
    return status_forbidden(&j->q->arena, j->q->kind, j->q->name, why);
}

static bool is_sub(const struct judged *j, const char *name)
{
    return str_is(j->q->r->subresource, name);
}

/* ---- pods ---- */

/* The one owner of a pod that stands for a file is the node, so that it goes with the node. */
static const struct status *judge_owner(const struct judged *j)
{
    jval owners = jpath(j->is, "metadata.ownerReferences"), owner = jat(owners, 0);
    const struct obj *node = store_newest(j->q->server->store, &kind_node, STR_NONE, j->node);
    if (jlen(owners) != 1)
        return refuse(j, "pod must have exactly one ownerReference, the node itself");
    if (!str_is(jstr(jgetc(owner, "apiVersion")), "v1") ||
        !str_is(jstr(jgetc(owner, "kind")), "Node") || !jbool(jgetc(owner, "controller"), false) ||
        jbool(jgetc(owner, "blockOwnerDeletion"), false) ||
        !str_eq(jstr(jgetc(owner, "name")), j->node))
        return refuse(j, "pod must have an owner reference to its node as controller and without "
                         "blockOwnerDeletion");
    if (!node || !str_eq(jstr(jgetc(owner, "uid")), node->uid))
        return refuse(j, "ownerReference UID is not that of node \"%.*s\"", STR_ARG(j->node));
    return NULL;
}

/* Claims that are made for the pod, and asked for by it. */
static bool makes_claims(jval spec)
{
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it);)
        if (j_has(jgetc(it.value, "ephemeral")))
            return true;
    return jlen(jgetc(spec, "resourceClaims")) > 0;
}

/* What the pod is to the rights of its node: a file of the node's own, or somebody's. */
static jval mirror(jval pod)
{
    return jget(jpath(pod, "metadata.annotations"), STR(NODE_MIRROR));
}

static const struct status *judge_new_pod(const struct judged *j)
{
    static const struct {
        enum pod_ref what;
        const char *name;
    } refs[] = {
        {POD_REF_SECRET, "secrets"},
        {POD_REF_CONFIG_MAP, "configmaps"},
        {POD_REF_CLAIM, "persistentvolumeclaims"},
        {POD_REF_RESOURCE_CLAIM, "resourceclaims"},
    };
    jval spec = jgetc(j->is, "spec");
    if (!j_has(mirror(j->is)))
        return refuse(j,
                      "pod does not have \"" NODE_MIRROR
                      "\" annotation, node \"%.*s\" can only create mirror pods",
                      STR_ARG(j->node));
    if (!str_eq(jstr(jgetc(spec, "nodeName")), j->node))
        return refuse(j, "node \"%.*s\" can only create pods with spec.nodeName set to itself",
                      STR_ARG(j->node));
    if (jstr(jgetc(spec, "serviceAccountName")).len)
        return refuse(j, "node \"%.*s\" can not create pods that reference a service account",
                      STR_ARG(j->node));
    for (size_t i = 0; i < ARRAY_LEN(refs); i++)
        if (pod_spec_refers(spec, refs[i].what))
            return refuse(j, "node \"%.*s\" can not create pods that reference %s",
                          STR_ARG(j->node), refs[i].name);
    if (makes_claims(spec))
        return refuse(j,
                      "node \"%.*s\" can not create pods with ephemeral volumes or resourceClaims",
                      STR_ARG(j->node));
    return judge_owner(j);
}

static const struct status *judge_pod(const struct judged *j)
{
    enum api_verb verb = j->q->r->verb;
    str at = jstr(jpath(j->was, "spec.nodeName"));
    bool own = str_eq(at, j->node);
    if (verb == API_CREATE && is_sub(j, ""))
        return judge_new_pod(j);
    if (verb == API_DELETE)
        return own ? NULL
                   : refuse(j,
                            "node \"%.*s\" can only delete pods with spec.nodeName set to itself",
                            STR_ARG(j->node));
    if (verb == API_CREATE && is_sub(j, "eviction"))
        return own ? NULL
                   : refuse(j, "node \"%.*s\" can only evict pods with spec.nodeName set to itself",
                            STR_ARG(j->node));
    if (!is_sub(j, "status"))
        return refuse(j,
                      "node \"%.*s\" can only create and delete mirror pods and write the status "
                      "of pods",
                      STR_ARG(j->node));
    if (!own)
        return refuse(j,
                      "node \"%.*s\" can only update pod status for pods with spec.nodeName set to "
                      "itself",
                      STR_ARG(j->node));
    if (!jequal(jpath(j->was, "metadata.labels"), jpath(j->is, "metadata.labels")))
        return refuse(j, "node \"%.*s\" cannot update labels through pod status", STR_ARG(j->node));
    if (!jequal(mirror(j->was), mirror(j->is)))
        return refuse(j, "node \"%.*s\" cannot update annotation " NODE_MIRROR, STR_ARG(j->node));
    if (!jequal(jpath(j->was, "status.resourceClaimStatuses"),
                jpath(j->is, "status.resourceClaimStatuses")))
        return refuse(j, "node \"%.*s\" cannot update resource claim statuses", STR_ARG(j->node));
    return NULL;
}

/* ---- nodes ---- */

static bool is_in_domain(str ns, const char *domain)
{
    str d = str_of(domain);
    return str_eq(ns, d) || (ns.len > d.len && str_ends(ns, d) && ns.p[ns.len - d.len - 1] == '.');
}

/* Of those under kubernetes.io and k8s.io a node sets a few; those about restriction nobody but an
 * administrator. */
static bool is_for_nodes(str key)
{
    static const char *const known[] = {"beta.kubernetes.io/arch",
                                        "beta.kubernetes.io/instance-type",
                                        "beta.kubernetes.io/os",
                                        "failure-domain.beta.kubernetes.io/region",
                                        "failure-domain.beta.kubernetes.io/zone",
                                        "kubernetes.io/arch",
                                        "kubernetes.io/hostname",
                                        "kubernetes.io/os",
                                        "node.kubernetes.io/instance-type",
                                        "topology.kubernetes.io/region",
                                        "topology.kubernetes.io/zone"};
    str name = key, ns = str_cut(&name, '/');
    if (!name.p)
        return true;
    if (is_in_domain(ns, "node-restriction.kubernetes.io"))
        return false;
    if (!is_in_domain(ns, "kubernetes.io") && !is_in_domain(ns, "k8s.io"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(key, known[i]))
            return true;
    return is_in_domain(ns, "kubelet.kubernetes.io") || is_in_domain(ns, "node.kubernetes.io");
}

typedef VEC(str) str_vec;

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Labels that differ from one to the other and are not the node's to set: "a, b" or empty. */
static str forbidden_labels(const struct judged *j)
{
    jval was = jpath(j->was, "metadata.labels"), is = jpath(j->is, "metadata.labels");
    str_vec keys = {0};
    str text = STR_NONE;
    for (struct jiter it = jiter(is); jnext(&it);)
        if (!jequal(it.value, jget(was, it.key)) && !is_for_nodes(it.key))
            *vec_push(&keys) = it.key;
    for (struct jiter it = jiter(was); jnext(&it);)
        if (!j_has(jget(is, it.key)) && !is_for_nodes(it.key))
            *vec_push(&keys) = it.key;
    vec_sort(&keys, compare);
    for (size_t i = 0; i < keys.len; i++)
        text = arena_cat(&j->q->arena, text, i ? STR(", ") : STR(""), keys.p[i]);
    vec_done(&keys);
    return text;
}

static const struct status *judge_node(const struct judged *j)
{
    bool creates = j->q->r->verb == API_CREATE;
    if (!str_eq(j->q->name, j->node))
        return refuse(j, "node \"%.*s\" is not allowed to modify node \"%.*s\"", STR_ARG(j->node),
                      STR_ARG(j->q->name));
    if (j->q->r->verb == API_DELETE)
        return NULL;
    str labels = forbidden_labels(j);
    if (labels.len)
        return refuse(j,
                      creates ? "node \"%.*s\" is not allowed to set the following labels: %.*s"
                              : "node \"%.*s\" is not allowed to modify labels: %.*s",
                      STR_ARG(j->node), STR_ARG(labels));
    if (creates)
        return NULL;
    if (!jequal(jpath(j->was, "spec.taints"), jpath(j->is, "spec.taints")))
        return refuse(j, "node \"%.*s\" is not allowed to modify taints", STR_ARG(j->node));
    if (!jequal(jpath(j->was, "metadata.ownerReferences"),
                jpath(j->is, "metadata.ownerReferences")))
        return refuse(j, "node \"%.*s\" is not allowed to modify ownerReferences",
                      STR_ARG(j->node));
    return NULL;
}

/* ---- what has the name of its node ---- */

static const struct status *judge_lease(const struct judged *j)
{
    if (!str_is(j->q->r->ns, "kube-node-lease"))
        return refuse(j, "can only access leases in the \"kube-node-lease\" system namespace");
    if (!str_eq(j->q->name, j->node))
        return refuse(j, "can only access node lease with the same name as the requesting node");
    return NULL;
}

static const struct status *judge_csi_node(const struct judged *j)
{
    return str_eq(j->q->name, j->node)
               ? NULL
               : refuse(j, "can only access CSINode with the same name as the requesting node");
}

static const struct status *judge_slice(const struct judged *j)
{
    str was = jstr(jpath(j->was, "spec.nodeName")), is = jstr(jpath(j->is, "spec.nodeName"));
    if ((!j_has(j->was) || str_eq(was, j->node)) && (!j_has(j->is) || str_eq(is, j->node)))
        return NULL;
    return refuse(j, "can only create ResourceSlice with the same NodeName as the requesting node");
}

/* ---- others ---- */

/* How a claim grows is the node's to tell; what it is, is not. */
static const struct status *judge_claim(const struct judged *j)
{
    static const char *const fixed[] = {"metadata.annotations", "metadata.finalizers",
                                        "metadata.labels",      "metadata.ownerReferences",
                                        "status.phase",         "status.accessModes"};
    if (!is_sub(j, "status"))
        return refuse(j, "node \"%.*s\" can only write the status of claims", STR_ARG(j->node));
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (!jequal(jpath(j->was, fixed[i]), jpath(j->is, fixed[i])))
            return refuse(j, "node \"%.*s\" is not allowed to update %s", STR_ARG(j->node),
                          fixed[i]);
    return NULL;
}

/* A certificate of a node is for the node that asks for it. */
static const struct status *judge_signing_request(const struct judged *j)
{
    jval spec = jgetc(j->is, "spec");
    str signer = jstr(jgetc(spec, "signerName"));
    if (j->q->r->verb != API_CREATE ||
        (!str_is(signer, "kubernetes.io/kubelet-serving") &&
         !str_is(signer, "kubernetes.io/kube-apiserver-client-kubelet")))
        return NULL;
    str name = signing_common_name(&j->q->arena, jstr(jgetc(spec, "request")));
    if (str_starts(name, STR("system:node:")) && !str_eq(name, j->q->user->name))
        return refuse(j, "can only create a node CSR with CN=system:node:%.*s", STR_ARG(j->node));
    return NULL;
}

static const struct {
    const struct kind *kind;
    judge_fn *judge;
} judges[] = {
    {&kind_pod, judge_pod},
    {&kind_node, judge_node},
    {&kind_lease, judge_lease},
    {&kind_csi_node, judge_csi_node},
    {&kind_resource_slice, judge_slice},
    {&kind_persistent_volume_claim, judge_claim},
    {&kind_signing_request, judge_signing_request},
};

const struct status *node_restriction_status(struct req *q)
{
    struct judged j = {.q = q};
    if (!user_is_node(q->user, &j.node) || user_is_master(q->user))
        return NULL;
    if (!j.node.len)
        return status_forbidden(&q->arena, q->kind, q->name,
                                arena_printf(&q->arena,
                                             "could not determine node from user \"%.*s\"",
                                             STR_ARG(q->user->name)));
    j.is = q->ops->admits && q->doc ? doc_root(q->doc) : JVAL_ABSENT;
    j.was = q->base ? obj_root(q->base) : JVAL_ABSENT;
    for (size_t i = 0; i < ARRAY_LEN(judges); i++)
        if (admit_kind(q->kind) == judges[i].kind)
            return judges[i].judge(&j); /* cppcheck-suppress returnDanglingLifetime */
    return NULL;
}
