/* See node_rights.h. The first table row that fits a question and whose scope holds allows it;
 * there are no rows that deny. What only the content of a write can tell is NodeRestriction's
 * (admission/node_restriction.c). */
#include "apiserver/access/node_rights.h"

#include "apiserver/request.h"
#include "base/map.h"

#define USER_PREFIX "system:node:"
#define GROUP "system:nodes"
#define LEASES "kube-node-lease"

struct node {
    struct map pods; /* struct bound by "NAMESPACE/NAME" */
    char name[];
};

/* A pod bound to a node: its key, which ends in NUL, and where its name begins. */
struct bound {
    size_t slash;
    char key[];
};

struct nodes {
    struct store *store;
    struct map asked; /* struct node by name: those that have asked */
};

/* ---- who ---- */

bool user_is_node(const struct user *u, str *ret_name)
{
    bool found = false;
    for (size_t i = 0; !found && i < u->n_groups; i++)
        found = str_is(u->groups[i], GROUP);
    *ret_name = str_starts(u->name, STR(USER_PREFIX))
                    ? str_sub(u->name, sizeof(USER_PREFIX) - 1, u->name.len)
                    : STR_NONE;
    return found;
}

str node_of_pod(const struct obj *pod)
{
    return jstr(jgetc(obj_spec(pod), "nodeName"));
}

/* ---- the pods of those that ask ---- */

static struct bound *bound_new(const struct obj *pod)
{
    size_t len = pod->ns.len + 1 + pod->name.len;
    struct bound *b = xmalloc(sizeof(*b) + len + 1);
    b->slash = pod->ns.len;
    (void)snprintf(b->key, len + 1, "%.*s/%.*s", STR_ARG(pod->ns), STR_ARG(pod->name));
    return b;
}

static void add_pod(struct node *n, const struct obj *pod)
{
    struct bound *b = bound_new(pod);
    free(map_put(&n->pods, str_of(b->key), b));
}

static void remove_pod(struct node *n, const struct obj *pod)
{
    struct bound *b = bound_new(pod);
    free(map_del(&n->pods, str_of(b->key)));
    free(b);
}

void nodes_event(struct nodes *n, const struct store_event *e)
{
    if (!n->asked.len || e->obj->kind != &kind_pod)
        return;
    struct node *node = map_get(&n->asked, node_of_pod(e->obj));
    if (node && e->type == STORE_DELETED)
        remove_pod(node, e->obj);
    else if (node && !(e->prev && str_eq(node_of_pod(e->prev), node_of_pod(e->obj))))
        add_pod(node, e->obj);
}

static struct node *find_node(struct nodes *n, str name)
{
    struct node *node = map_get(&n->asked, name);
    struct obj *o;
    if (node)
        return node;
    node = xcalloc(1, sizeof(*node) + name.len + 1);
    memcpy(node->name, name.p, name.len);
    struct store_iter it = store_range(n->store, &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        if (str_eq(node_of_pod(o), name))
            add_pod(node, o);
    (void)map_put(&n->asked, str_of(node->name), node);
    return node;
}

/* Calls fn with each pod bound to the node until one answers true. */
static bool any_pod(struct nodes *n, str name,
                    bool (*fn)(struct nodes *n, const struct obj *pod, const struct access *x),
                    const struct access *x)
{
    /* Whoever is no node of this cluster has no pods, and is not remembered. */
    if (!store_get(n->store, &kind_node, STR_NONE, name))
        return false;
    struct node *node = find_node(n, name);
    void *value;
    str key;
    for (size_t it = 0; map_next(&node->pods, &it, &key, &value);) {
        const struct bound *b = value;
        const struct obj *pod = store_get(n->store, &kind_pod, str_sub(key, 0, b->slash),
                                          str_sub(key, b->slash + 1, key.len));
        if (pod && fn(n, pod, x))
            return true;
    }
    return false;
}

/* ---- what a pod gives its node a reason for ---- */

static bool gives_config_map(struct nodes *n, const struct obj *pod, const struct access *x)
{
    return str_eq(pod->ns, x->ns) && pod_refers(pod, POD_REF_CONFIG_MAP, x->name);
}

static bool gives_claim(struct nodes *n, const struct obj *pod, const struct access *x)
{
    return str_eq(pod->ns, x->ns) && pod_refers(pod, POD_REF_CLAIM, x->name);
}

static bool gives_resource_claim(struct nodes *n, const struct obj *pod, const struct access *x)
{
    return str_eq(pod->ns, x->ns) && pod_refers(pod, POD_REF_RESOURCE_CLAIM, x->name);
}

static bool gives_account(struct nodes *n, const struct obj *pod, const struct access *x)
{
    return str_eq(pod->ns, x->ns) && !j_has(jget(pod->annotations, STR(NODE_MIRROR))) &&
           str_eq(jstr(jgetc(obj_spec(pod), "serviceAccountName")), x->name);
}

static bool is_secret_of_volume(jval volume, const struct access *x)
{
    static const char *const refs[] = {"csi.controllerExpandSecretRef",
                                       "csi.nodeExpandSecretRef",
                                       "csi.nodePublishSecretRef",
                                       "csi.nodeStageSecretRef",
                                       "cephfs.secretRef",
                                       "rbd.secretRef",
                                       "iscsi.secretRef",
                                       "flexVolume.secretRef",
                                       "scaleIO.secretRef"};
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        jval ref = jpath(volume, refs[i]);
        if (j_has(ref) && str_eq(jstr(jgetc(ref, "name")), x->name) &&
            str_eq(jstr(jgetc(ref, "namespace")), x->ns))
            return true;
    }
    return false;
}

/* The volume that a claim of this pod is bound to. */
static const struct obj *volume_of(struct nodes *n, const struct obj *pod, str claim)
{
    const struct obj *c = store_get(n->store, &kind_persistent_volume_claim, pod->ns, claim);
    str name = c ? jstr(jgetc(obj_spec(c), "volumeName")) : STR_NONE;
    return name.len ? store_get(n->store, &kind_persistent_volume, STR_NONE, name) : NULL;
}

/* In its own namespace by its spec, in any by what its volumes need. */
static bool gives_secret(struct nodes *n, const struct obj *pod, const struct access *x)
{
    if (str_eq(pod->ns, x->ns) && pod_refers(pod, POD_REF_SECRET, x->name))
        return true;
    if (j_has(jget(pod->annotations, STR(NODE_MIRROR))))
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "volumes")); jnext(&it);) {
        str claim = jstr(jpath(it.value, "persistentVolumeClaim.claimName"));
        const struct obj *v = claim.len ? volume_of(n, pod, claim) : NULL;
        if (v && is_secret_of_volume(obj_spec(v), x))
            return true;
    }
    return false;
}

/* ---- scopes ---- */

/* As it will be, or, when it is about to go, as it still is for those who read it. */
static const struct obj *find(struct nodes *n, const struct kind *k, str ns, str name)
{
    const struct obj *o = store_newest(n->store, k, ns, name);
    return o ? o : store_get(n->store, k, ns, name);
}

static bool is_own_pod(struct nodes *n, str node, const struct access *x)
{
    /* Of one that is not there the answer may be that it is not there. */
    const struct obj *pod = find(n, &kind_pod, x->ns, x->name);
    return x->name.len && (!pod || str_eq(node_of_pod(pod), node));
}

/* "spec.nodeName=NODE" is among what a list is limited to. */
static bool is_limited_to(str node, const struct access *x)
{
    str rest = x->fields;
    while (rest.len) {
        str value = str_cut(&rest, ','), key = str_cut(&value, '=');
        if (str_starts(value, STR("=")))
            value = str_sub(value, 1, value.len);
        if (str_is(key, "spec.nodeName") && str_eq(value, node))
            return true;
    }
    return false;
}

static bool is_of_own(struct nodes *n, const struct kind *k, str node, const struct access *x)
{
    const struct obj *o = find(n, k, STR_NONE, x->name);
    return x->name.len && (!o || str_eq(jstr(jgetc(obj_spec(o), "nodeName")), node));
}

static bool is_own_volume(struct nodes *n, str node, const struct access *x)
{
    const struct obj *v = store_get(n->store, &kind_persistent_volume, STR_NONE, x->name);
    jval ref = v ? jgetc(obj_spec(v), "claimRef") : JVAL_ABSENT;
    struct access claim = {.ns = jstr(jgetc(ref, "namespace")), .name = jstr(jgetc(ref, "name"))};
    const struct obj *c =
        claim.name.len ? store_get(n->store, &kind_persistent_volume_claim, claim.ns, claim.name)
                       : NULL;
    return c && str_eq(jstr(jgetc(obj_spec(c), "volumeName")), x->name) &&
           any_pod(n, node, gives_claim, &claim);
}

enum scope {
    ANY,
    ITSELF,         /* it has the node's name */
    OWN_LEASE,      /* that, in the namespace of the leases; to make one, only that */
    OWN_POD,        /* a pod bound to the node, or none */
    SELECTED,       /* a list of what is on the node only */
    OWN_SLICE,      /* a ResourceSlice of the node, or none */
    OWN_ATTACHMENT, /* a VolumeAttachment of the node */
    OWN_VOLUME,     /* a volume that a claim of its pods is bound to */
    SECRET_OF_POD,
    CONFIG_MAP_OF_POD,
    CLAIM_OF_POD,
    RESOURCE_CLAIM_OF_POD,
    ACCOUNT_OF_POD,
};

static bool holds(struct nodes *n, enum scope scope, str node, const struct access *x)
{
    switch (scope) {
    case ANY:
        return true;
    case ITSELF:
        return str_eq(x->name, node);
    case OWN_LEASE:
        return str_is(x->ns, LEASES) && (str_is(x->verb, "create") || str_eq(x->name, node));
    case OWN_POD:
        return is_own_pod(n, node, x);
    case SELECTED:
        return is_limited_to(node, x);
    case OWN_SLICE:
        return is_of_own(n, &kind_resource_slice, node, x);
    case OWN_ATTACHMENT:
        return is_of_own(n, &kind_volume_attachment, node, x);
    case OWN_VOLUME:
        return is_own_volume(n, node, x);
    case SECRET_OF_POD:
        return x->name.len && any_pod(n, node, gives_secret, x);
    case CONFIG_MAP_OF_POD:
        return x->name.len && any_pod(n, node, gives_config_map, x);
    case CLAIM_OF_POD:
        return x->name.len && any_pod(n, node, gives_claim, x);
    case RESOURCE_CLAIM_OF_POD:
        return x->name.len && any_pod(n, node, gives_resource_claim, x);
    case ACCOUNT_OF_POD:
        return x->name.len && any_pod(n, node, gives_account, x);
    }
    return false;
}

/* ---- the table ---- */

#define READ "get,list,watch"
#define CHANGE "patch,update"

static const struct {
    const char *group, *resource, *sub, *verbs;
    enum scope scope;
} rights[] = {
    {"", "nodes", "", "create", ANY},
    {"", "nodes", "", READ "," CHANGE, ITSELF},
    {"", "nodes", "status", CHANGE, ITSELF},
    {"", "pods", "", "create", ANY},
    {"", "pods", "", "delete,get", OWN_POD},
    {"", "pods", "", "list,watch", SELECTED},
    {"", "pods", "status", CHANGE, OWN_POD},
    {"", "pods", "eviction", "create", OWN_POD},
    {"", "secrets", "", READ, SECRET_OF_POD},
    {"", "configmaps", "", READ, CONFIG_MAP_OF_POD},
    {"", "persistentvolumeclaims", "", "get", CLAIM_OF_POD},
    {"", "persistentvolumeclaims", "status", "get," CHANGE, CLAIM_OF_POD},
    {"", "persistentvolumes", "", "get", OWN_VOLUME},
    {"", "serviceaccounts", "", "get", ACCOUNT_OF_POD},
    {"", "serviceaccounts", "token", "create", ACCOUNT_OF_POD},
    {"", "services", "", READ, ANY},
    {"", "events", "", "create," CHANGE, ANY},
    {"events.k8s.io", "events", "", "create," CHANGE, ANY},
    {"authentication.k8s.io", "tokenreviews", "", "create", ANY},
    {"authorization.k8s.io", "localsubjectaccessreviews", "", "create", ANY},
    {"authorization.k8s.io", "subjectaccessreviews", "", "create", ANY},
    {"certificates.k8s.io", "certificatesigningrequests", "", "create," READ, ANY},
    {"certificates.k8s.io", "clustertrustbundles", "", READ, ANY},
    {"coordination.k8s.io", "leases", "", "create,delete,get," CHANGE, OWN_LEASE},
    {"node.k8s.io", "runtimeclasses", "", READ, ANY},
    {"resource.k8s.io", "resourceclaims", "", "get", RESOURCE_CLAIM_OF_POD},
    {"resource.k8s.io", "resourceslices", "", "create", ANY},
    {"resource.k8s.io", "resourceslices", "", "delete,get," CHANGE, OWN_SLICE},
    {"resource.k8s.io", "resourceslices", "", "deletecollection,list,watch", SELECTED},
    {"storage.k8s.io", "csidrivers", "", READ, ANY},
    {"storage.k8s.io", "csinodes", "", "create", ANY},
    {"storage.k8s.io", "csinodes", "", "delete,get," CHANGE, ITSELF},
    {"storage.k8s.io", "volumeattachments", "", "get", OWN_ATTACHMENT},
};

static bool has_word(const char *words, str word)
{
    str rest = str_of(words);
    while (rest.len)
        if (str_eq(str_cut(&rest, ','), word))
            return true;
    return false;
}

bool nodes_allow(struct nodes *n, const struct user *u, const struct access *x)
{
    str node;
    if (!user_is_node(u, &node) || !node.len || x->path.len)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(rights); i++)
        if (str_is(x->resource, rights[i].resource) && str_is(x->group, rights[i].group) &&
            str_is(x->sub, rights[i].sub) && has_word(rights[i].verbs, x->verb) &&
            holds(n, rights[i].scope, node, x))
            return true;
    return false;
}

/* ---- tokens for pods ---- */

static struct status *refuse_token(struct arena *a, str account, str why)
{
    return status_forbidden(a, &kind_service_account, account, why);
}

/* A volume of the pod asks for a token for this audience; empty: for this server. */
static bool asks_for_audience(const struct obj *pod, str audience)
{
    for (struct jiter v = jiter(jgetc(obj_spec(pod), "volumes")); jnext(&v);)
        for (struct jiter s = jiter(jpath(v.value, "projected.sources")); jnext(&s);) {
            jval token = jgetc(s.value, "serviceAccountToken");
            if (j_has(token) && str_eq(jstr(jgetc(token, "audience")), audience))
                return true;
        }
    return false;
}

struct status *node_token_status(struct apiserver *a, struct arena *arena, const struct user *u,
                                 str ns, str account, jval spec)
{
    jval ref = jgetc(spec, "boundObjectRef"), audiences = jgetc(spec, "audiences");
    str node, uid = jstr(jgetc(ref, "uid")), api = jstr(jgetc(ref, "apiVersion"));
    if (!user_is_node(u, &node))
        return NULL;
    if (!node.len)
        return refuse_token(arena, account, STR("could not determine node from user"));
    if (!str_is(jstr(jgetc(ref, "kind")), "Pod") || (api.len && !str_is(api, "v1")))
        return refuse_token(arena, account, STR("node requested token not bound to a pod"));
    if (!uid.len)
        return refuse_token(arena, account,
                            STR("node requested token with a pod binding without a uid"));
    const struct obj *pod = store_get(apiserver_store(a), &kind_pod, ns, jstr(jgetc(ref, "name")));
    if (!pod)
        return NULL; /* it is told that there is none */
    if (!str_eq(pod->uid, uid))
        return refuse_token(arena, account,
                            arena_printf(arena,
                                         "the UID in the bound object reference (%.*s) does not "
                                         "match the UID in record. The object might have been "
                                         "deleted and then recreated",
                                         STR_ARG(uid)));
    if (!str_eq(node_of_pod(pod), node))
        return refuse_token(
            arena, account,
            STR("node requested token bound to a pod scheduled on a different node"));
    if (!jlen(audiences) && !asks_for_audience(pod, STR_NONE))
        return refuse_token(arena, account,
                            STR("audience \"\" not found in pod spec volume: no volume of the pod "
                                "asks for a token for this server"));
    for (struct jiter it = jiter(audiences); jnext(&it);)
        if (!asks_for_audience(pod, jstr(it.value)))
            return refuse_token(arena, account,
                                arena_printf(arena,
                                             "audience \"%.*s\" not found in pod spec volume",
                                             STR_ARG(jstr(it.value))));
    return NULL;
}

/* ---- life ---- */

struct nodes *nodes_new(struct store *s)
{
    struct nodes *n = xnew(struct nodes);
    n->store = s;
    return n;
}

void nodes_free(struct nodes *n)
{
    void *value, *pod;
    str key;
    if (!n)
        return;
    for (size_t it = 0; map_next(&n->asked, &it, &key, &value);) {
        struct node *node = value;
        for (size_t at = 0; map_next(&node->pods, &at, &key, &pod);)
            free(pod);
        map_done(&node->pods);
        free(node);
    }
    map_done(&n->asked);
    free(n);
}
