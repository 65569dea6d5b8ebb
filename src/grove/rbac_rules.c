/* See rbac_rules.h. */
#include "grove/rbac_rules.h"

#include "json/write.h"

#define READ "get,list,watch"
#define WRITE "create,delete,deletecollection,patch,update"
/* What a planner does to objects of its own. */
#define KEEP "create,delete,get,list,patch,watch"
#define ALL "create,delete,deletecollection,get,list,patch,update,watch"

#define GROVE_KINDS \
    "podcliquesets,podcliques,podcliquescalinggroups,clustertopologybindings,podgangmaps"
#define GROVE_STATUS                                                        \
    "podcliquesets/status,podcliques/status,podcliquescalinggroups/status," \
    "clustertopologybindings/status"
#define GROVE_SCALE "podcliquesets/scale,podcliques/scale,podcliquescalinggroups/scale"

#define ON(g, r, v)                                   \
    {                                                 \
        .groups = (g), .resources = (r), .verbs = (v) \
    }
#define NAMED(g, r, v, n)                                           \
    {                                                               \
        .groups = (g), .resources = (r), .verbs = (v), .names = (n) \
    }
#define URLS(u, v)                \
    {                             \
        .urls = (u), .verbs = (v) \
    }
/* The recorder of the runtime, which every controller has. */
#define EVENTS ON("", "events", "create,get,patch")

/* ---- what every API server has ---- */

static const struct rbac_rule cluster_admin[] = {
    ON("*", "*", "*"),
    URLS("*", "*"),
};

static const struct rbac_rule discovery[] = {
    URLS("/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/",
         "get"),
};

static const struct rbac_rule public_info[] = {
    URLS("/healthz,/livez,/readyz,/version,/version/", "get"),
};

static const struct rbac_rule basic_user[] = {
    ON("authorization.k8s.io", "selfsubjectaccessreviews,selfsubjectrulesreviews", "create"),
    ON("authentication.k8s.io", "selfsubjectreviews", "create"),
};

static const struct rbac_rule monitoring[] = {
    URLS("/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*", "get"),
};

static const struct rbac_rule auth_delegator[] = {
    ON("authentication.k8s.io", "tokenreviews", "create"),
    ON("authorization.k8s.io", "subjectaccessreviews", "create"),
};

static const struct rbac_rule issuer_discovery[] = {
    URLS("/.well-known/openid-configuration,/.well-known/openid-configuration/,"
         "/openid/v1/jwks,/openid/v1/jwks/",
         "get"),
};

static const struct rbac_rule view[] = {
    ON("",
       "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,"
       "replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,"
       "services/status",
       READ),
    ON("",
       "bindings,events,limitranges,namespaces/status,pods/log,pods/status,"
       "replicationcontrollers/status,resourcequotas,resourcequotas/status",
       READ),
    ON("", "namespaces", READ),
    ON("discovery.k8s.io", "endpointslices", READ),
    ON("apps",
       "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,"
       "deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,"
       "statefulsets/scale,statefulsets/status",
       READ),
    ON("autoscaling", "horizontalpodautoscalers,horizontalpodautoscalers/status", READ),
    ON("batch", "cronjobs,cronjobs/status,jobs,jobs/status", READ),
    ON("policy", "poddisruptionbudgets,poddisruptionbudgets/status", READ),
    ON("networking.k8s.io", "ingresses,ingresses/status,networkpolicies", READ),
    ON("resource.k8s.io", "resourceclaims,resourceclaims/status,resourceclaimtemplates", READ),
};

static const struct rbac_rule edit[] = {
    ON("", "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy", READ),
    ON("", "serviceaccounts", "impersonate"),
    ON("", "pods,pods/attach,pods/exec,pods/portforward,pods/proxy", WRITE),
    ON("", "pods/eviction", "create"),
    ON("",
       "configmaps,events,persistentvolumeclaims,replicationcontrollers,"
       "replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy",
       WRITE),
    ON("", "serviceaccounts/token", "create"),
    ON("apps",
       "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,"
       "replicasets/scale,statefulsets,statefulsets/scale",
       WRITE),
    ON("autoscaling", "horizontalpodautoscalers", WRITE),
    ON("batch", "cronjobs,jobs", WRITE),
    ON("policy", "poddisruptionbudgets", WRITE),
    ON("networking.k8s.io", "ingresses,networkpolicies", WRITE),
    ON("coordination.k8s.io", "leases", ALL),
    ON("resource.k8s.io", "resourceclaims,resourceclaimtemplates", WRITE),
};

static const struct rbac_rule admin[] = {
    ON("authorization.k8s.io", "localsubjectaccessreviews", "create"),
    ON(RBAC_GROUP, "rolebindings,roles", ALL),
};

/* ---- Grove's kinds for its users ---- */

static const struct rbac_rule grove_view[] = {
    ON("grove.io", GROVE_KINDS "," GROVE_STATUS "," GROVE_SCALE, READ),
    ON("scheduler.grove.io", "podgangs,podgangs/status", READ),
};

/* Children belong to their set: one scales them, and deletes one to have it made anew. */
static const struct rbac_rule grove_edit[] = {
    ON("grove.io", "podcliquesets,podcliques,podcliquescalinggroups", WRITE),
    ON("grove.io", GROVE_SCALE, "patch,update"),
};

/* ---- components ---- */

static const struct rbac_rule operator_rules[] = {
    ON("grove.io", "podcliquesets", "get,list,patch,watch"),
    ON("grove.io", "podcliques,podcliquescalinggroups,podgangmaps", KEEP),
    ON("grove.io", "podcliquesets/status,podcliques/status,podcliquescalinggroups/status", "patch"),
    ON("grove.io", "clustertopologybindings", READ),
    ON("grove.io", "clustertopologybindings/status", "patch"),
    ON("scheduler.grove.io", "podgangs", KEEP),
    ON("scheduler.grove.io", "podgangs/status", "patch"),
    ON("", "pods,services", KEEP),
    /* Which of them cannot be reached: pods there are not waited for. */
    ON("", "nodes", READ),
    ON("", "serviceaccounts", "create,get,list,patch,watch"),
    /* Waiting pods read this, and nobody can give what he does not have. */
    ON("", "pods/status", READ),
    EVENTS,
    NAMED("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "get,list,patch,watch",
          "podcliqueset-defaulting-webhook"),
    NAMED("admissionregistration.k8s.io", "validatingwebhookconfigurations", "get,list,patch,watch",
          "podcliqueset-validating-webhook,clustertopology-validating-webhook,authorizer-webhook"),
    ON(RBAC_GROUP, "roles,rolebindings", "create,get,list,patch,watch"),
    ON("apps", "controllerrevisions", KEEP),
    ON("autoscaling", "horizontalpodautoscalers", KEEP),
    ON("policy", "poddisruptionbudgets", KEEP),
    ON("resource.k8s.io", "resourceclaims", KEEP),
    ON("resource.k8s.io", "resourceclaimtemplates", READ),
};

/* What only some installations need: multi-node NVLink domains and other schedulers. */
static const struct rbac_rule operator_extra_rules[] = {
    ON("resource.k8s.io", "resourceclaimtemplates", "create,delete,patch"),
    ON("resource.nvidia.com", "computedomains", KEEP),
    ON("kai.scheduler", "topologies", KEEP),
    ON("scheduling.run.ai,scheduling.volcano.sh", "podgroups", KEEP),
    ON("scheduling.volcano.sh", "queues", READ),
    NAMED("apiextensions.k8s.io", "customresourcedefinitions", "get",
          "podgroups.scheduling.volcano.sh"),
};

/* The tokens of init containers that wait for other cliques. They are called after their sets, and
 * a role cannot say "all that end so"; an installation whose sets have no start order does without.
 */
static const struct rbac_rule operator_token_rules[] = {
    ON("", "secrets", "create,get,list,patch,watch"),
};

/* The certificate of the webhooks, in the operator's own namespace. What does not exist yet has no
 * name to be allowed by. */
static const struct rbac_rule operator_webhook_rules[] = {
    ON("", "secrets", "create"),
    NAMED("", "secrets", "get,list,patch,watch", "grove-webhook-server-cert"),
};

static const struct rbac_rule lease_rules[] = {
    ON("coordination.k8s.io", "leases", "create,get,update"),
};

static const struct rbac_rule scheduler_rules[] = {
    ON("", "pods,nodes", READ),
    ON("", "namespaces,persistentvolumeclaims,persistentvolumes", READ),
    ON("resource.k8s.io", "resourceclaims", READ),
    ON("", "pods/binding", "create"),
    ON("", "pods/status", "patch"),
    ON("scheduler.grove.io", "podgangs", READ),
    ON("scheduler.grove.io", "podgangs/status", "patch"),
    ON("grove.io", "clustertopologybindings", READ),
    ON("scheduling.k8s.io", "priorityclasses", READ),
    NAMED("", "configmaps", READ, "grove-queues"),
    EVENTS,
};

static const struct rbac_rule nodes_rules[] = {
    ON("", "nodes", "create,delete,get,list,patch,update,watch"),
    ON("", "nodes/status", "get,patch"),
    ON("", "pods", "delete,get,list,watch"),
    ON("", "pods/status", "get,patch"),
    ON("coordination.k8s.io", "leases", "create,delete,get,list,patch,update,watch"),
    /* The binding of their own labels. */
    ON("grove.io", "clustertopologybindings", "create,list,watch"),
    EVENTS,
};

static const struct rbac_rule node_control_rules[] = {
    ON("", "nodes", "get,list,patch,watch"),   ON("", "nodes/status", "get,patch"),
    ON("", "pods", "delete,get,list,watch"),   ON("", "pods/status", "get,patch"),
    ON("coordination.k8s.io", "leases", READ), EVENTS,
};

static const struct rbac_rule autoscaler_rules[] = {
    ON("autoscaling", "horizontalpodautoscalers", "get,list,patch,update,watch"),
    ON("autoscaling", "horizontalpodautoscalers/status", "get,patch,update"),
    ON("*", "*/scale", "get,patch,update"),
    ON("grove.io", GROVE_KINDS, READ),
    ON("apps", "deployments,replicasets,statefulsets", READ),
    ON("", "pods", READ),
    ON("metrics.k8s.io", "pods", "get,list"),
    EVENTS,
};

/* This machine as a node of its own control plane. */
static const struct rbac_rule agent_rules[] = {
    ON("", "nodes", "create,get,list,watch"),
    ON("", "nodes/status", "patch"),
    ON("", "pods", "delete,get,list,watch"),
    ON("", "pods/status", "patch"),
    ON("", "configmaps,secrets", READ),
    ON("node.k8s.io", "runtimeclasses", "create,get,list,watch"),
    ON("coordination.k8s.io", "leases", "create,get,list,patch,watch"),
    EVENTS,
};

static const struct rbac_rule gc_rules[] = {
    ON("*", "*", "delete,get,list,patch,update,watch"),
    EVENTS,
};

static const struct rbac_rule namespace_rules[] = {
    ON("", "namespaces", "get,list,watch"),
    ON("", "namespaces/finalize,namespaces/status", "get,patch,update"),
    ON("", "serviceaccounts", "create"),
    ON("", "configmaps", "create,patch,update"),
    ON("*", "*", "delete,deletecollection,get,list,watch"),
    EVENTS,
};

static const struct rbac_rule tokens_rules[] = {
    ON("", "serviceaccounts", READ),
    ON("", "secrets", "delete,get,list,patch,update,watch"),
    EVENTS,
};

static const struct rbac_rule budget_rules[] = {
    ON("policy", "poddisruptionbudgets", READ),
    ON("policy", "poddisruptionbudgets/status", "get,patch,update"),
    ON("", "pods", READ),
    ON("apps", "deployments,replicasets,statefulsets", READ),
    ON("grove.io", GROVE_KINDS, READ),
    ON("*", "*/scale", "get"),
    EVENTS,
};

static const struct rbac_rule endpoint_rules[] = {
    ON("", "services,pods,nodes,namespaces", READ),
    ON("", "endpoints", "create,delete,get,list,patch,watch"),
    ON("discovery.k8s.io", "endpointslices", "create,delete,get,list,patch,watch"),
    EVENTS,
};

#define SIGNERS                                          \
    "kubernetes.io/kube-apiserver-client,kubernetes.io/" \
    "kube-apiserver-client-kubelet," NODE_SERVING
#define NODE_SERVING "kubernetes.io/kubelet-serving"
static const struct rbac_rule certificate_rules[] = {
    ON("certificates.k8s.io", "certificatesigningrequests", "delete,get,list,watch"),
    ON("certificates.k8s.io",
       "certificatesigningrequests/approval,certificatesigningrequests/status", "patch,update"),
    NAMED("certificates.k8s.io", "signers", "approve",
          "kubernetes.io/kube-apiserver-client-kubelet," NODE_SERVING),
    NAMED("certificates.k8s.io", "signers", "sign", SIGNERS),
    EVENTS,
};

/* ---- nodes ---- */

/* What a machine may do that is to become a node: ask for its certificate. */
static const struct rbac_rule bootstrapper_rules[] = {
    ON("certificates.k8s.io", "certificatesigningrequests", "create,get,list,watch"),
};

/* Who holds these gets certificates of nodes without further ado (controllers/certificates.c). */
static const struct rbac_rule node_client_rules[] = {
    ON("certificates.k8s.io", "certificatesigningrequests/nodeclient", "create"),
};
static const struct rbac_rule self_node_client_rules[] = {
    ON("certificates.k8s.io", "certificatesigningrequests/selfnodeclient", "create"),
};

/* What the server of a node asks about who comes to it. */
static const struct rbac_rule kubelet_api_rules[] = {
    ON("", "nodes", READ),
    ON("", "nodes", "proxy"),
    ON("",
       "nodes/checkpoint,nodes/configz,nodes/healthz,nodes/log,nodes/metrics,nodes/pods,"
       "nodes/proxy,nodes/stats",
       "*"),
};

static const struct rbac_rule expiry_rules[] = {
    ON(",events.k8s.io", "events", "delete,get,list,watch"),
};

/* The caches that controllers in one process share: they see what any of them may see. */
static const struct rbac_rule cache_rules[] = {
    ON("*", "*", READ),
};

static const struct rbac_rule aggregator_rules[] = {
    ON(RBAC_GROUP, "clusterroles", "escalate,get,list,patch,update,watch"),
    EVENTS,
};

/* ---- the table ---- */

#define RULES(r) .rules = (r), .n_rules = ARRAY_LEN(r)
#define JOINS(what, n, r)                      \
    {                                          \
        .name = (n), .joins = (what), RULES(r) \
    }
#define BOUND(n, r, g)                       \
    {                                        \
        .name = (n), RULES(r), .groups = (g) \
    }
#define COMPONENT(a, r)                                      \
    {                                                        \
        .name = "grove:system:" a, RULES(r), .accounts = (a) \
    }

/* In order of names, so that what roles made of others are written with has the order it is kept
 * in. */
static const struct rbac_role roles[] = {
    {.name = "admin", .aggregates = "admin"},
    BOUND("cluster-admin", cluster_admin, "system:masters"),
    {.name = "edit", .aggregates = "edit", .joins = "admin"},
    JOINS("edit", "grove:aggregate-to-edit", grove_edit),
    JOINS("view", "grove:aggregate-to-view", grove_view),
    COMPONENT("certificate-controller", certificate_rules),
    COMPONENT("disruption-controller", budget_rules),
    COMPONENT("endpoint-controller", endpoint_rules),
    COMPONENT("event-expiry", expiry_rules),
    COMPONENT("garbage-collector", gc_rules),
    COMPONENT("grove-agent", agent_rules),
    COMPONENT("grove-autoscaler", autoscaler_rules),
    COMPONENT("grove-cache", cache_rules),
    COMPONENT("grove-operator", operator_rules),
    {.name = "grove:system:grove-operator-extra",
     RULES(operator_extra_rules),
     .accounts = "grove-operator"},
    {.name = "grove:system:grove-operator-lease",
     .ns = RBAC_NAMESPACE,
     RULES(lease_rules),
     .accounts = "grove-operator"},
    {.name = "grove:system:grove-operator-tokens",
     RULES(operator_token_rules),
     .accounts = "grove-operator"},
    {.name = "grove:system:grove-operator-webhooks",
     .ns = RBAC_NAMESPACE,
     RULES(operator_webhook_rules),
     .accounts = "grove-operator"},
    COMPONENT("grove-scheduler", scheduler_rules),
    {.name = "grove:system:grove-scheduler-lease",
     .ns = RBAC_NAMESPACE,
     RULES(lease_rules),
     .accounts = "grove-scheduler"},
    COMPONENT("namespace-controller", namespace_rules),
    COMPONENT("node-controller", node_control_rules),
    COMPONENT("role-aggregator", aggregator_rules),
    COMPONENT("simulated-nodes", nodes_rules),
    COMPONENT("tokens-controller", tokens_rules),
    JOINS("admin", "system:aggregate-to-admin", admin),
    JOINS("edit", "system:aggregate-to-edit", edit),
    JOINS("view", "system:aggregate-to-view", view),
    BOUND("system:auth-delegator", auth_delegator, NULL),
    BOUND("system:basic-user", basic_user, "system:authenticated"),
    BOUND("system:certificates.k8s.io:certificatesigningrequests:nodeclient", node_client_rules,
          "system:bootstrappers"),
    BOUND("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
          self_node_client_rules, "system:nodes"),
    BOUND("system:discovery", discovery, "system:authenticated"),
    BOUND("system:kubelet-api-admin", kubelet_api_rules, "grove:kubelet-clients"),
    BOUND("system:monitoring", monitoring, "system:monitoring"),
    BOUND("system:node-bootstrapper", bootstrapper_rules, "system:bootstrappers"),
    BOUND("system:public-info-viewer", public_info, "system:authenticated,system:unauthenticated"),
    BOUND("system:service-account-issuer-discovery", issuer_discovery, "system:serviceaccounts"),
    {.name = "view", .aggregates = "view", .joins = "edit"},
};

const struct rbac_role *rbac_role_at(size_t i)
{
    return i < ARRAY_LEN(roles) ? &roles[i] : NULL;
}

const struct kind *rbac_role_kind(const struct rbac_role *r)
{
    return r->ns ? &kind_role : &kind_cluster_role;
}

const struct kind *rbac_binding_kind(const struct rbac_role *r)
{
    if (!r->accounts && !r->groups)
        return NULL;
    return r->ns ? &kind_role_binding : &kind_cluster_role_binding;
}

/* ---- as objects ---- */

static void put_words(struct jw *w, const char *key, const char *words)
{
    if (!words)
        return;
    jw_put_array(w, key);
    str rest = str_of(words);
    do
        jw_str(w, str_cut(&rest, ','));
    while (rest.p);
    jw_end(w);
}

static void put_head(struct jw *w, const struct kind *k, const struct rbac_role *r, const char *ns,
                     bool labels)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "apiVersion", RBAC_GROUP "/v1");
    jw_put_cstr(w, "kind", k->kind);
    jw_put_object(w, "metadata");
    jw_put_cstr(w, "name", r->name);
    if (r->ns)
        jw_put_cstr(w, "namespace", ns ? ns : r->ns);
    jw_put_object(w, "labels");
    if (ns)
        jw_put_cstr(w, "app.kubernetes.io/part-of", "grove");
    else
        jw_put_cstr(w, "kubernetes.io/bootstrapping", "rbac-defaults");
    if (labels && r->joins) {
        char key[64];
        (void)snprintf(key, sizeof(key), RBAC_GROUP "/aggregate-to-%s", r->joins);
        jw_put_cstr(w, key, "true");
    }
    jw_end(w);
    if (!ns) {
        jw_put_object(w, "annotations");
        jw_put_cstr(w, RBAC_AUTOUPDATE, "true");
        jw_end(w);
    }
    jw_end(w);
}

static void put_aggregation(struct jw *w, const char *what)
{
    char key[64];
    (void)snprintf(key, sizeof(key), RBAC_GROUP "/aggregate-to-%s", what);
    jw_put_object(w, "aggregationRule");
    jw_put_array(w, "clusterRoleSelectors");
    jw_object(w);
    jw_put_object(w, "matchLabels");
    jw_put_cstr(w, key, "true");
    jw_end(w);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static void put_rule(struct jw *w, const struct rbac_rule *rule)
{
    jw_object(w);
    put_words(w, "verbs", rule->verbs);
    put_words(w, "apiGroups", rule->groups);
    put_words(w, "resources", rule->resources);
    put_words(w, "resourceNames", rule->names);
    put_words(w, "nonResourceURLs", rule->urls);
    jw_end(w);
}

/* The rules of a role and, for one that is made of others, of all that join it. */
static void put_rules(struct jw *w, const struct rbac_role *r)
{
    for (size_t i = 0; i < r->n_rules; i++)
        put_rule(w, &r->rules[i]);
    for (size_t i = 0; r->aggregates && i < ARRAY_LEN(roles); i++)
        if (roles[i].joins && str_is(str_of(roles[i].joins), r->aggregates))
            put_rules(w, &roles[i]);
}

struct doc *rbac_role_doc(const struct rbac_role *r, const char *ns)
{
    struct jw w;
    put_head(&w, rbac_role_kind(r), r, ns, true);
    if (r->aggregates)
        put_aggregation(&w, r->aggregates);
    jw_put_array(&w, "rules");
    put_rules(&w, r);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_subjects(struct jw *w, const char *kind, const char *words, const char *ns)
{
    bool account = str_is(str_of(kind), "ServiceAccount");
    for (str rest = str_of(words); rest.p;) {
        jw_object(w);
        jw_put_cstr(w, "kind", kind);
        if (!account)
            jw_put_cstr(w, "apiGroup", RBAC_GROUP);
        jw_put_str(w, "name", str_cut(&rest, ','));
        if (account)
            jw_put_cstr(w, "namespace", ns ? ns : RBAC_NAMESPACE);
        jw_end(w);
    }
}

struct doc *rbac_binding_doc(const struct rbac_role *r, const char *ns)
{
    const struct kind *k = rbac_binding_kind(r);
    struct jw w;
    if (!k)
        return NULL;
    put_head(&w, k, r, ns, false);
    jw_put_array(&w, "subjects");
    put_subjects(&w, "ServiceAccount", r->accounts, ns);
    put_subjects(&w, "Group", r->groups, ns);
    jw_end(&w);
    jw_put_object(&w, "roleRef");
    jw_put_cstr(&w, "apiGroup", RBAC_GROUP);
    jw_put_cstr(&w, "kind", rbac_role_kind(r)->kind);
    jw_put_cstr(&w, "name", r->name);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
