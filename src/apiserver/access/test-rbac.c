/*
 * Who may do what: a table of decisions over one cluster of roles and bindings, and what the server
 * makes of them. What is expected are the rules of Kubernetes' RBAC authorizer and the recorded
 * words of kube-apiserver.
 */
#include "apiserver/access/rbac.h"
#include "apiserver/access/rbac_boot.h"
#include "apiserver/test-apiserver-fixture.h"
#include "base/log.h"
#include "controllers/controllers.h"
#include "grove/rbac_rules.h"

/* ---- the cluster ---- */

#define ROLE(name, rules) "{'metadata':{'name':'" name "'},'rules':[" rules "]}"
#define RULE(groups, resources, verbs) \
    "{'apiGroups':[" groups "],'resources':[" resources "],'verbs':[" verbs "]}"
#define NAMED(groups, resources, verbs, names)                                   \
    "{'apiGroups':[" groups "],'resources':[" resources "],'verbs':[" verbs "]," \
    "'resourceNames':[" names "]}"
#define BINDING(name, kind, role, subjects)                                            \
    "{'metadata':{'name':'" name "'},'roleRef':{'kind':'" kind "','name':'" role "'}," \
    "'subjects':[" subjects "]}"
#define USER(n) "{'kind':'User','name':'" n "'}"
#define GROUP(n) "{'kind':'Group','name':'" n "'}"
#define ACCOUNT(n, ns) "{'kind':'ServiceAccount','name':'" n "','namespace':'" ns "'}"

static const struct {
    const struct kind *kind;
    const char *ns, *json;
} cluster[] = {
    {&kind_namespace, "", "{'metadata':{'name':'a'}}"},
    {&kind_namespace, "", "{'metadata':{'name':'b'}}"},
    {&kind_cluster_role, "", ROLE("pod-reader", RULE("''", "'pods'", "'get','list','watch'"))},
    {&kind_cluster_role, "", ROLE("logs", RULE("''", "'pods/log'", "'get'"))},
    {&kind_cluster_role, "", ROLE("scaler", RULE("'*'", "'*/scale'", "'get','update'"))},
    {&kind_cluster_role, "", ROLE("all-apps", RULE("'apps'", "'*'", "'*'"))},
    {&kind_cluster_role, "",
     ROLE("one-map", NAMED("''", "'configmaps'", "'get','update','list','create'", "'c1','c2'"))},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'urls'},'rules':[{'nonResourceURLs':['/metrics','/debug/*'],"
     "'verbs':['get']}]}"},
    {&kind_cluster_role, "", ROLE("ns-reader", RULE("''", "'namespaces'", "'get','delete'"))},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'all-of','labels':{'level':'2'}},'aggregationRule':{"
     "'clusterRoleSelectors':[{'matchLabels':{'part':'1'}},{'matchLabels':{'part':'2'}}]}}"},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'above'},'aggregationRule':{'clusterRoleSelectors':["
     "{'matchLabels':{'level':'2'}}]}}"},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'part-1','labels':{'part':'1'}},'rules':[" RULE("''", "'secrets'",
                                                                          "'get'") "]}"},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'part-2','labels':{'part':'2'}},'rules':[" RULE("''", "'services'",
                                                                          "'get'") "]}"},
    {&kind_role, "a", ROLE("local", RULE("''", "'configmaps'", "'*'"))},
    {&kind_cluster_role_binding, "", BINDING("1", "ClusterRole", "pod-reader", USER("alice"))},
    {&kind_role_binding, "a", BINDING("2", "ClusterRole", "pod-reader", USER("bob"))},
    {&kind_role_binding, "a", BINDING("3", "Role", "local", USER("bob") "," GROUP("team"))},
    {&kind_cluster_role_binding, "", BINDING("4", "ClusterRole", "logs", GROUP("team"))},
    {&kind_cluster_role_binding, "", BINDING("5", "ClusterRole", "scaler", USER("scott"))},
    {&kind_cluster_role_binding, "", BINDING("6", "ClusterRole", "all-apps", USER("ann"))},
    {&kind_role_binding, "b", BINDING("7", "ClusterRole", "one-map", USER("mia"))},
    {&kind_cluster_role_binding, "", BINDING("8", "ClusterRole", "urls", USER("prom"))},
    {&kind_role_binding, "a", BINDING("9", "ClusterRole", "urls", USER("bob"))},
    {&kind_role_binding, "a", BINDING("10", "ClusterRole", "ns-reader", USER("nina"))},
    {&kind_cluster_role_binding, "", BINDING("11", "ClusterRole", "all-of", USER("agg"))},
    {&kind_cluster_role_binding, "", BINDING("12", "ClusterRole", "above", USER("agg2"))},
    {&kind_role_binding, "a",
     BINDING("13", "ClusterRole", "pod-reader", ACCOUNT("robot", "b") "," ACCOUNT("x:y", "b"))},
    {&kind_role_binding, "b",
     BINDING("14", "ClusterRole", "logs", GROUP("system:serviceaccounts:a"))},
    {&kind_role_binding, "a", BINDING("15", "ClusterRole", "view", USER("vera"))},
    {&kind_role_binding, "a", BINDING("16", "ClusterRole", "edit", USER("ed"))},
    {&kind_role_binding, "a", BINDING("17", "ClusterRole", "admin", USER("adam"))},
    {&kind_cluster_role_binding, "", BINDING("18", "ClusterRole", "cluster-admin", USER("root"))},
    {&kind_cluster_role_binding, "", BINDING("19", "ClusterRole", "missing", USER("zoe"))},
};

static void cluster_init(struct fixture *f)
{
    fixture_init(f);
    for (size_t i = 0; i < ARRAY_LEN(cluster); i++) {
        bool refused = str_find(str_of(cluster[i].json), STR("x:y")) > 0;
        int code = create(f, cluster[i].kind, cluster[i].ns, cluster[i].json);
        if (!CHECK_INT(code, refused ? 422 : 201))
            test_note("%zu %.*s", i, STR_ARG(f->message));
    }
    CHECK_INT(create(f, &kind_role_binding, "a",
                     BINDING("13", "ClusterRole", "pod-reader", ACCOUNT("robot", "b"))),
              201);
}

/* ---- decisions ---- */

#define SA "system:serviceaccount:"
#define OWN SA "grove-system:"

/* user[,group...] | verb | resource[/sub][.group] or /path | namespace | name */
static const struct {
    const char *who, *verb, *what, *ns, *name;
    bool may;
} decisions[] = {
    /* a ClusterRole bound everywhere */
    {"alice", "get", "pods", "a", "p", true},
    {"alice", "list", "pods", "b", "", true},
    {"alice", "list", "pods", "", "", true},
    {"alice", "watch", "pods", "", "", true},
    {"alice", "delete", "pods", "a", "p", false},
    {"alice", "get", "pods/log", "a", "p", false},
    {"alice", "get", "pods/status", "a", "p", false},
    {"alice", "get", "pods.metrics.k8s.io", "a", "p", false},
    {"alice", "get", "secrets", "a", "s", false},
    {"Alice", "get", "pods", "a", "p", false},
    {"alic", "get", "pods", "a", "p", false},
    {"alice2", "get", "pods", "a", "p", false},
    {"nobody", "get", "pods", "a", "p", false},
    /* the same bound in one namespace */
    {"bob", "get", "pods", "a", "p", true},
    {"bob", "get", "pods", "b", "p", false},
    {"bob", "list", "pods", "", "", false},
    {"bob", "create", "configmaps", "a", "", true},
    {"bob", "deletecollection", "configmaps", "a", "", true},
    {"bob", "create", "configmaps", "b", "", false},
    {"bob", "create", "configmaps.apps", "a", "", false},
    /* groups */
    {"x,team", "get", "configmaps", "a", "c", true},
    {"x,team", "get", "pods/log", "b", "p", true},
    {"x,other,team", "get", "pods/log", "b", "p", true},
    {"x,other", "get", "pods/log", "b", "p", false},
    {"team", "get", "pods/log", "b", "p", false}, /* a user of that name is not the group */
    {"x,alice", "get", "pods", "a", "p", false},  /* nor a group the user */
    /* subresources */
    {"x,team", "get", "pods", "b", "p", false},
    {"scott", "get", "deployments/scale.apps", "a", "d", true},
    {"scott", "update", "podcliques/scale.grove.io", "a", "c", true},
    {"scott", "patch", "podcliques/scale.grove.io", "a", "c", false},
    {"scott", "get", "deployments.apps", "a", "d", false},
    {"scott", "get", "deployments/status.apps", "a", "d", false},
    {"scott", "get", "deployments/upscale.apps", "a", "d", false},
    /* stars */
    {"ann", "anything", "deployments.apps", "b", "d", true},
    {"ann", "get", "deployments/status.apps", "", "d", true},
    {"ann", "get", "deployments", "b", "d", false},
    {"ann", "get", "jobs.batch", "b", "j", false},
    {"ann", "get", "/apis/apps/v1", "", "", false},
    {"root", "use", "things.example.com", "x", "y", true},
    {"root", "get", "things/sub.example.com", "x", "y", true},
    {"root", "post", "/anything", "", "", true},
    /* names */
    {"mia", "get", "configmaps", "b", "c1", true},
    {"mia", "update", "configmaps", "b", "c2", true},
    {"mia", "get", "configmaps", "b", "c3", false},
    {"mia", "list", "configmaps", "b", "", false},
    {"mia", "list", "configmaps", "b", "c1", true}, /* metadata.name=c1 */
    {"mia", "create", "configmaps", "b", "", false},
    {"mia", "get", "configmaps", "a", "c1", false},
    /* paths */
    {"prom", "get", "/metrics", "", "", true},
    {"prom", "get", "/metrics/x", "", "", false},
    {"prom", "get", "/debug/pprof/heap", "", "", true},
    {"prom", "get", "/debug", "", "", false},
    {"prom", "post", "/metrics", "", "", false},
    {"bob", "get", "/metrics", "", "", false}, /* a binding in a namespace grants no path */
    {"x,system:authenticated", "get", "/apis/grove.io/v1alpha1", "", "", true},
    {"x,system:authenticated", "get", "/version", "", "", true},
    {"x,system:authenticated", "get", "/metrics", "", "", false},
    {"x,system:authenticated", "post", "/apis/x", "", "", false},
    {"system:anonymous,system:unauthenticated", "get", "/healthz", "", "", true},
    {"system:anonymous,system:unauthenticated", "get", "/version", "", "", true},
    {"system:anonymous,system:unauthenticated", "get", "/api", "", "", false},
    {"system:anonymous,system:unauthenticated", "get", "pods", "a", "p", false},
    {"x,system:monitoring", "get", "/metrics", "", "", true},
    {"x,system:serviceaccounts", "get", "/openid/v1/jwks", "", "", true},
    /* what everybody may ask */
    {"x,system:authenticated", "create", "selfsubjectaccessreviews.authorization.k8s.io", "", "",
     true},
    {"x,system:authenticated", "create", "selfsubjectreviews.authentication.k8s.io", "", "", true},
    {"x,system:authenticated", "create", "subjectaccessreviews.authorization.k8s.io", "", "",
     false},
    {"x,system:authenticated", "create", "tokenreviews.authentication.k8s.io", "", "", false},
    /* made of others */
    {"agg", "get", "secrets", "a", "s", true},
    {"agg", "get", "services", "b", "s", true},
    {"agg", "get", "pods", "a", "p", false},
    {"agg2", "get", "secrets", "a", "s", true},
    {"agg2", "list", "secrets", "a", "", false},
    /* service accounts */
    {SA "b:robot,system:serviceaccounts,system:serviceaccounts:b,system:authenticated", "get",
     "pods", "a", "p", true},
    {SA "b:robot", "get", "pods", "b", "p", false},
    {SA "a:robot", "get", "pods", "a", "p", false},
    {SA "a:any,system:serviceaccounts,system:serviceaccounts:a", "get", "pods/log", "b", "p", true},
    {SA "b:any,system:serviceaccounts,system:serviceaccounts:b", "get", "pods/log", "b", "p",
     false},
    /* the usual roles, Grove's kinds with them */
    {"vera", "list", "pods", "a", "", true},
    {"vera", "get", "podcliquesets.grove.io", "a", "s", true},
    {"vera", "get", "podgangs/status.scheduler.grove.io", "a", "g", true},
    {"vera", "create", "podcliquesets.grove.io", "a", "", false},
    {"vera", "get", "secrets", "a", "s", false},
    {"vera", "list", "pods", "b", "", false},
    {"ed", "get", "podcliquesets.grove.io", "a", "s", true},
    {"ed", "create", "podcliquesets.grove.io", "a", "", true},
    {"ed", "patch", "podcliques/scale.grove.io", "a", "c", true},
    {"ed", "get", "secrets", "a", "s", true},
    {"ed", "create", "pods/eviction", "a", "p", true},
    {"ed", "patch", "podcliquesets/status.grove.io", "a", "s", false},
    {"ed", "create", "roles.rbac.authorization.k8s.io", "a", "", false},
    {"ed", "create", "clustertopologybindings.grove.io", "", "", false},
    {"adam", "create", "roles.rbac.authorization.k8s.io", "a", "", true},
    {"adam", "get", "podcliquesets.grove.io", "a", "s", true},
    {"adam", "delete", "pods", "a", "p", true},
    {"adam", "create", "clusterroles.rbac.authorization.k8s.io", "", "", false},
    {"adam", "delete", "pods", "b", "p", false},
    {"adam", "get", "nodes", "", "n", false},
    /* namespaces are in themselves */
    {"nina", "get", "namespaces", "a", "a", true},
    {"nina", "get", "namespaces", "b", "b", false},
    {"nina", "create", "namespaces", "", "", false},
    /* a binding to nothing, and whoever needs none */
    {"zoe", "get", "pods", "a", "p", false},
    {"x,system:masters", "get", "things.example.com", "a", "p", true},
    {"x,system:masters", "delete", "/x", "", "", true},
    /* components have what they need and no more */
    {OWN "grove-operator", "create", "pods", "a", "", true},
    {OWN "grove-operator", "patch", "podgangs/status.scheduler.grove.io", "a", "g", true},
    {OWN "grove-operator", "create", "pods/binding", "a", "p", false},
    {OWN "grove-operator", "delete", "nodes", "", "n", false},
    {OWN "grove-operator", "create", "leases.coordination.k8s.io", "grove-system", "", true},
    {OWN "grove-operator", "create", "leases.coordination.k8s.io", "a", "", false},
    {OWN "grove-operator", "escalate", "roles.rbac.authorization.k8s.io", "a", "r", false},
    {OWN "grove-operator", "create", "clusterrolebindings.rbac.authorization.k8s.io", "", "",
     false},
    {OWN "grove-scheduler", "create", "pods/binding", "a", "p", true},
    {OWN "grove-scheduler", "delete", "pods", "a", "p", false},
    {OWN "grove-scheduler", "get", "secrets", "a", "s", false},
    {OWN "simulated-nodes", "patch", "pods/status", "a", "p", true},
    {OWN "simulated-nodes", "create", "pods", "a", "", false},
    {OWN "garbage-collector", "delete", "things.example.com", "a", "t", true},
    {OWN "garbage-collector", "create", "pods", "a", "", false},
    {OWN "event-expiry", "delete", "events", "a", "e", true},
    {OWN "event-expiry", "delete", "pods", "a", "p", false},
    {OWN "grove-cache", "watch", "things.example.com", "", "", true},
    {OWN "grove-cache", "patch", "pods", "a", "p", false},
    {OWN "default", "list", "pods", "grove-system", "", false},
};

enum { GROUPS_MAX = 8 };

static struct user read_user(const char *text, str groups[GROUPS_MAX])
{
    str rest = str_of(text);
    struct user u = {.name = str_cut(&rest, ','), .groups = groups};
    while (rest.p && u.n_groups < GROUPS_MAX)
        groups[u.n_groups++] = str_cut(&rest, ',');
    return u;
}

static struct access read_access(const char *verb, const char *what, const char *ns,
                                 const char *name)
{
    struct access x = {.verb = str_of(verb), .ns = str_of(ns), .name = str_of(name)};
    if (*what == '/') {
        x.path = str_of(what);
        return x;
    }
    str rest = str_of(what);
    x.resource = str_cut(&rest, '.');
    x.group = rest;
    x.sub = x.resource;
    x.resource = str_cut(&x.sub, '/');
    return x;
}

static void check_decisions(struct rbac *r)
{
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
        str groups[GROUPS_MAX];
        struct user u = read_user(decisions[i].who, groups);
        struct access x =
            read_access(decisions[i].verb, decisions[i].what, decisions[i].ns, decisions[i].name);
        if (!CHECK(rbac_allows(r, &u, &x) == decisions[i].may))
            test_note("%s %s %s in \"%s\" named \"%s\"", decisions[i].who, decisions[i].verb,
                      decisions[i].what, decisions[i].ns, decisions[i].name);
    }
}

TEST(rbac_decides)
{
    struct fixture f;
    cluster_init(&f);
    CHECK(ARRAY_LEN(decisions) >= 80);
    check_decisions(f.server->rbac);
    /* the index folded from scratch is the same */
    struct rbac *anew = rbac_new(f.store);
    check_decisions(anew);
    rbac_free(anew);
    fixture_done(&f);
}

static bool may(struct fixture *f, const char *who, const char *verb, const char *what,
                const char *ns)
{
    str groups[GROUPS_MAX];
    struct user u = read_user(who, groups);
    struct access x = read_access(verb, what, ns, "");
    return authorize(f->server, &u, &x);
}

TEST(rbac_follows_changes)
{
    struct fixture f;
    cluster_init(&f);
    /* rules */
    CHECK(!may(&f, "alice", "list", "secrets", "a"));
    CHECK_INT(patch(&f, &kind_cluster_role, "", "pod-reader", API_PATCH_MERGE,
                    "{'rules':[" RULE("''", "'secrets'", "'list'") "]}"),
              200);
    CHECK(may(&f, "alice", "list", "secrets", "a"));
    CHECK(!may(&f, "alice", "list", "pods", "a"));
    CHECK(may(&f, "bob", "list", "secrets", "a"));
    /* subjects */
    CHECK_INT(patch(&f, &kind_role_binding, "a", "2", API_PATCH_MERGE,
                    "{'subjects':[" USER("carol") "]}"),
              200);
    CHECK(!may(&f, "bob", "list", "secrets", "a"));
    CHECK(may(&f, "carol", "list", "secrets", "a"));
    /* a binding that goes; a role that goes and comes back under its binding */
    CHECK_INT(delete (&f, &kind_cluster_role_binding, "", "1"), 200);
    CHECK(!may(&f, "alice", "list", "secrets", "a"));
    CHECK_INT(delete (&f, &kind_role, "a", "local"), 200);
    CHECK(!may(&f, "x,team", "get", "configmaps", "a"));
    CHECK_INT(create(&f, &kind_role, "a", ROLE("local", RULE("''", "'configmaps'", "'get'"))), 201);
    CHECK(may(&f, "x,team", "get", "configmaps", "a"));
    /* a role that was bound before it was there */
    CHECK_INT(create(&f, &kind_cluster_role, "", ROLE("missing", RULE("''", "'pods'", "'get'"))),
              201);
    CHECK(may(&f, "zoe", "get", "pods", "b"));
    fixture_done(&f);
}

TEST(rbac_aggregation_follows_its_parts)
{
    struct fixture f;
    cluster_init(&f);
    CHECK(!may(&f, "agg2", "get", "nodes", ""));
    CHECK_INT(create(&f, &kind_cluster_role, "",
                     "{'metadata':{'name':'part-3','labels':{'part':'1'}},'rules':[" RULE(
                         "''", "'nodes'", "'get'") "]}"),
              201);
    CHECK(may(&f, "agg2", "get", "nodes", ""));
    CHECK_INT(patch(&f, &kind_cluster_role, "", "part-3", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'part':null}}}"),
              200);
    CHECK(!may(&f, "agg", "get", "nodes", ""));
    /* a user's own kind joins the usual roles */
    CHECK(!may(&f, "ed", "get", "things.example.com", "a"));
    CHECK_INT(create(&f, &kind_cluster_role, "",
                     "{'metadata':{'name':'things','labels':{"
                     "'rbac.authorization.k8s.io/aggregate-to-view':'true'}},'rules':[" RULE(
                         "'example.com'", "'things'", "'get'") "]}"),
              201);
    CHECK(may(&f, "vera", "get", "things.example.com", "a"));
    CHECK(may(&f, "ed", "get", "things.example.com", "a"));
    CHECK(may(&f, "adam", "get", "things.example.com", "a"));
    /* roles that are made of each other end */
    CHECK_INT(create(&f, &kind_cluster_role, "",
                     "{'metadata':{'name':'ring','labels':{'level':'2','part':'1'}},"
                     "'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{'level':'2'}}]}}"),
              201);
    CHECK(may(&f, "agg2", "get", "secrets", "a"));
    CHECK(!may(&f, "agg2", "get", "nodes", ""));
    fixture_done(&f);
}

/* ---- requests ---- */

static void act_as(struct fixture *f, const char *who, str groups[GROUPS_MAX])
{
    f->user = read_user(who, groups);
}

TEST(rbac_refuses_in_the_recorded_words)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    cluster_init(&f);
    act_as(&f, "alice", groups);
    CHECK_INT(list(&f, &kind_pod, "a", (struct api_request){0}), 200);
    act_as(&f, "carol", groups);
    CHECK_INT(list(&f, &kind_pod, "default", (struct api_request){0}), 403);
    CHECK_CSTR(f.message, "pods is forbidden: User \"carol\" cannot list resource \"pods\" in API "
                          "group \"\" in the namespace \"default\"");
    CHECK_CSTR(f.reason, "Forbidden");
    CHECK_CSTR(field(&f, "details"), "{\"kind\":\"pods\"}");
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'bob'}}"), 403);
    CHECK_CSTR(f.message, "namespaces is forbidden: User \"carol\" cannot create resource "
                          "\"namespaces\" in API group \"\" at the cluster scope");
    CHECK_INT(get(&f, &kind_deployment, "a", "d"), 403);
    CHECK_CSTR(f.message, "deployments.apps \"d\" is forbidden: User \"carol\" cannot get resource "
                          "\"deployments\" in API group \"apps\" in the namespace \"a\"");
    CHECK_INT(get(&f, &kind_namespace, "", "a"), 403);
    CHECK_CSTR(f.message, "namespaces \"a\" is forbidden: User \"carol\" cannot get resource "
                          "\"namespaces\" in API group \"\" in the namespace \"a\"");
    CHECK_INT(patch_sub(&f, &kind_pod, "a", "p", "status", API_PATCH_MERGE, "{}"), 403);
    CHECK_CSTR(f.message, "pods \"p\" is forbidden: User \"carol\" cannot patch resource "
                          "\"pods/status\" in API group \"\" in the namespace \"a\"");
    act_as(&f, "mia", groups);
    CHECK_INT(list(&f, &kind_config_map, "b", (struct api_request){0}), 403);
    struct api_request one = {.field_selector = STR("metadata.name=c1")};
    CHECK_INT(list(&f, &kind_config_map, "b", one), 200);
    fixture_done(&f);
}

static void count_line(void *ctx, str line)
{
    size_t *lines = ctx;
    lines[0] += str_find(line, STR("request denied")) >= 0;
    lines[1] += str_find(line, STR("more requests denied requests=90")) >= 0;
}

TEST(rbac_refusals_are_logged_and_a_flood_is_counted)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    size_t lines[2] = {0};
    cluster_init(&f);
    act_as(&f, "carol", groups);
    log_set_level(LOG_LEVEL_WARN);
    log_set_sink(count_line, lines);
    loop_run_until(f.loop, loop_now(f.loop) + 2 * USEC_PER_SEC, 1000);
    for (int i = 0; i < 100; i++)
        CHECK_INT(list(&f, &kind_pod, "default", (struct api_request){0}), 403);
    CHECK_INT(lines[0], 10);
    CHECK_INT(lines[1], 0);
    loop_run_until(f.loop, loop_now(f.loop) + 2 * USEC_PER_SEC, 1000);
    CHECK_INT(list(&f, &kind_pod, "default", (struct api_request){0}), 403);
    CHECK_INT(lines[0], 11);
    CHECK_INT(lines[1], 1);
    log_set_sink(NULL, NULL);
    log_set_level(LOG_LEVEL_OFF);
    fixture_done(&f);
}

/* Who may change need not be allowed to create by it. */
TEST(rbac_creation_by_another_verb_needs_create)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    cluster_init(&f);
    const char *map = "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1'}}";
    CHECK_INT(
        create(&f, &kind_role, "b", ROLE("p", RULE("''", "'configmaps'", "'patch','update'"))),
        201);
    CHECK_INT(create(&f, &kind_role_binding, "b", BINDING("p", "Role", "p", USER("pat"))), 201);
    act_as(&f, "pat", groups);
    CHECK_INT(patch(&f, &kind_config_map, "b", "c1", API_PATCH_APPLY, map), 403);
    CHECK_CSTR(f.message,
               "configmaps \"c1\" is forbidden: User \"pat\" cannot create resource \"configmaps\" "
               "in API group \"\" in the namespace \"b\"");
    fixture_done(&f);
}

static const struct obj *planned; /* what a planner saw of the Secret "s1" */
static unsigned plans;

static void note_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    (void)key;
    (void)ctx;
    (void)p;
    plans++;
    planned = world_get(w, &kind_secret, STR("a"), STR("s1"));
}

static void enqueue_one(struct controller *c, const struct world *w, const struct obj *old,
                        const struct obj *new)
{
    (void)w;
    (void)old;
    (void)new;
    controller_enqueue(c, &kind_secret, STR("a"), STR("s1"));
}

/* Whoever may see one object asks for that one, and sees it come and go; of the others it sees
 * nothing. */
TEST(rbac_a_cache_of_one_name_needs_no_more_than_that)
{
    struct fixture f;
    static const struct controller_def def = {.name = "namer", .plan = note_plan};
    cluster_init(&f);
    CHECK_INT(create(&f, &kind_role, "a",
                     ROLE("one", NAMED("''", "'secrets'", "'get','list','watch'", "'s1'"))),
              201);
    CHECK_INT(create(&f, &kind_role_binding, "a",
                     BINDING("one", "Role", "one", ACCOUNT("namer", RBAC_NAMESPACE))),
              201);
    CHECK_INT(create(&f, &kind_secret, "a", "{'metadata':{'name':'s2'}}"), 201);
    struct api *api = apiserver_local(f.server, "namer");
    struct runtime *r = runtime_new(f.loop, api);
    struct controller *c = runtime_add(r, &def, api);
    controller_watch_named(c, &kind_secret, STR("a"), STR("s1"), enqueue_one);
    plans = 0;
    runtime_start(r);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(runtime_is_synced(r));
    CHECK_INT(plans, 0);
    CHECK_INT(create(&f, &kind_secret, "a", "{'metadata':{'name':'s1'}}"), 201);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(plans, 1);
    CHECK(planned && str_is(planned->name, "s1"));
    CHECK_INT(create(&f, &kind_secret, "a", "{'metadata':{'name':'s3'}}"), 201);
    CHECK_INT(create(&f, &kind_secret, "b", "{'metadata':{'name':'s1'}}"), 201);
    CHECK_INT(delete (&f, &kind_secret, "a", "s1"), 200);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(plans, 2);
    CHECK(!planned);
    runtime_free(r);
    /* the whole kind is not for it */
    r = runtime_new(f.loop, api);
    struct cache *all = runtime_cache(r, &kind_secret);
    runtime_start(r);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(!cache_is_synced(all) && cache_is_absent(all));
    runtime_free(r);
    api_free(api);
    fixture_done(&f);
}

/* ---- granting ---- */

TEST(rbac_nobody_grants_what_they_do_not_hold)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    cluster_init(&f);
    act_as(&f, "adam,system:authenticated", groups);
    CHECK_INT(create(&f, &kind_role, "a", ROLE("r", RULE("''", "'pods'", "'get','list'"))), 201);
    CHECK_INT(
        create(&f, &kind_role, "a", ROLE("more", RULE("'','apps'", "'nodes'", "'get','list'"))),
        403);
    CHECK_CSTR(f.message,
               "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"adam\" "
               "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not "
               "currently held:\n"
               "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}\n"
               "{APIGroups:[\"apps\"], Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}");
    /* what is left as it was is not granted anew; what is added is */
    CHECK_INT(patch(&f, &kind_role, "a", "r", API_PATCH_MERGE, "{'metadata':{'labels':{'x':'y'}}}"),
              200);
    CHECK_INT(patch(&f, &kind_role, "a", "r", API_PATCH_MERGE,
                    "{'rules':[" RULE("'*'", "'*'", "'*'") "]}"),
              403);
    /* bindings */
    CHECK_INT(create(&f, &kind_role_binding, "a", BINDING("ok", "ClusterRole", "edit", USER("u"))),
              201);
    CHECK_INT(create(&f, &kind_role_binding, "a",
                     BINDING("no", "ClusterRole", "cluster-admin", USER("u"))),
              403);
    CHECK(str_starts(f.message, STR("rolebindings.rbac.authorization.k8s.io \"no\" is forbidden: "
                                    "user \"adam\" (groups=[\"system:authenticated\"]) is "
                                    "attempting to grant RBAC permissions not currently held:\n"
                                    "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n"
                                    "{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}")));
    CHECK_INT(create(&f, &kind_role_binding, "a", BINDING("no", "ClusterRole", "nope", USER("u"))),
              404);
    CHECK_CSTR(f.message, "clusterroles.rbac.authorization.k8s.io \"nope\" not found");
    fixture_done(&f);
}

TEST(rbac_bind_and_escalate_lift_it)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    cluster_init(&f);
    CHECK_INT(
        create(&f, &kind_cluster_role, "",
               ROLE("granter",
                    RULE("'rbac.authorization.k8s.io'", "'roles','rolebindings','clusterroles'",
                         "'create','update','escalate'") "," NAMED("'rbac.authorization.k8s.io'",
                                                                   "'clusterroles'", "'bind'",
                                                                   "'cluster-admin'"))),
        201);
    CHECK_INT(create(&f, &kind_cluster_role_binding, "",
                     BINDING("granter", "ClusterRole", "granter", USER("gil"))),
              201);
    act_as(&f, "gil", groups);
    CHECK_INT(create(&f, &kind_role, "a", ROLE("any", RULE("'*'", "'*'", "'*'"))), 201);
    CHECK_INT(create(&f, &kind_role_binding, "a",
                     BINDING("any", "ClusterRole", "cluster-admin", USER("u"))),
              201);
    CHECK_INT(
        create(&f, &kind_role_binding, "a", BINDING("view", "ClusterRole", "view", USER("u"))),
        403);
    fixture_done(&f);
}

TEST(rbac_aggregation_is_for_administrators)
{
    struct fixture f;
    str groups[GROUPS_MAX];
    const char *role = "{'metadata':{'name':'x'},'aggregationRule':{'clusterRoleSelectors':["
                       "{'matchLabels':{'a':'b'}}]}}";
    cluster_init(&f);
    CHECK_INT(
        create(&f, &kind_cluster_role, "",
               ROLE("maker", RULE("'rbac.authorization.k8s.io'", "'clusterroles'", "'create'"))),
        201);
    CHECK_INT(create(&f, &kind_cluster_role_binding, "",
                     BINDING("maker", "ClusterRole", "maker", USER("mo"))),
              201);
    act_as(&f, "mo", groups);
    CHECK_INT(create(&f, &kind_cluster_role, "", role), 403);
    CHECK_CSTR(f.message, "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have "
                          "cluster-admin privileges to use the aggregationRule");
    act_as(&f, "root", groups);
    CHECK_INT(create(&f, &kind_cluster_role, "", role), 201);
    fixture_done(&f);
}

/* A rule that is a product of many words is not worth more than a refusal. */
TEST(rbac_products_are_bounded)
{
    struct fixture f;
    struct strbuf words = STRBUF_INIT(1 << 20);
    str groups[GROUPS_MAX];
    cluster_init(&f);
    for (int i = 0; i < 500; i++)
        strbuf_printf(&words, "%s'w%d'", i ? "," : "", i);
    str body = text_of(&f,
                       "{'metadata':{'name':'big'},'rules':[{'apiGroups':[%.*s],"
                       "'resources':[%.*s],'verbs':[%.*s],'resourceNames':[%.*s]}]}",
                       STR_ARG(strbuf_str(&words)), STR_ARG(strbuf_str(&words)),
                       STR_ARG(strbuf_str(&words)), STR_ARG(strbuf_str(&words)));
    act_as(&f, "adam", groups);
    CHECK_INT(create(&f, &kind_role, "a", body.p), 403);
    strbuf_done(&words);
    fixture_done(&f);
}

/* ---- objects ---- */

TEST(rbac_objects_are_validated)
{
    static const struct {
        const struct kind *kind;
        const char *ns, *json, *why;
    } cases[] = {
        {&kind_role, "a", ROLE("r", RULE("''", "'pods'", "")),
         "rules[0].verbs: Required value: verbs must contain at least one value"},
        {&kind_role, "a", ROLE("r", RULE("", "'pods'", "'get'")),
         "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
        {&kind_role, "a", ROLE("r", RULE("''", "", "'get'")),
         "rules[0].resources: Required value: resource rules must supply at least one resource"},
        {&kind_role, "a", ROLE("r", "{'nonResourceURLs':['/x'],'verbs':['get']}"),
         "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to "
         "non-resource URLs"},
        {&kind_cluster_role, "",
         ROLE("r", "{'nonResourceURLs':['/x'],'resources':['p'],'verbs':['get']}"),
         "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular "
         "resources and non-resource URLs"},
        {&kind_cluster_role_binding, "", BINDING("b", "Role", "r", USER("u")),
         "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\""},
        {&kind_cluster_role_binding, "",
         BINDING("b", "ClusterRole", "r", "{'kind':'ServiceAccount','name':'u'}"),
         "subjects[0].namespace: Required value"},
        {&kind_role_binding, "a", BINDING("b", "Role", "r", "{'kind':'Robot','name':'u'}"),
         "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"Group\", "
         "\"ServiceAccount\", \"User\""},
    };
    struct fixture f;
    cluster_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(create(&f, cases[i].kind, cases[i].ns, cases[i].json), 422);
        if (!CHECK(str_ends(f.message, str_of(cases[i].why))))
            test_note("%.*s", STR_ARG(f.message));
    }
    CHECK_INT(get(&f, &kind_role_binding, "a", "2"), 200);
    CHECK_CSTR(jtext(jat(jgetc(doc_root(f.doc), "subjects"), 0)),
               "{\"kind\":\"User\",\"name\":\"bob\",\"apiGroup\":\"" RBAC_GROUP "\"}");
    CHECK_INT(
        patch(&f, &kind_role_binding, "a", "2", API_PATCH_MERGE, "{'roleRef':{'name':'other'}}"),
        422);
    CHECK(str_ends(f.message, STR("cannot change roleRef")));
    fixture_done(&f);
}

/* ---- what every server has ---- */

static struct doc *reconcile(struct fixture *f, const char *name)
{
    for (size_t i = 0; rbac_role_at(i); i++) {
        const struct rbac_role *r = rbac_role_at(i);
        if (!str_is(str_of(r->name), name))
            continue;
        struct doc *want = rbac_role_doc(r, NULL);
        struct doc *d = rbac_boot_reconcile(
            store_get(f->store, &kind_cluster_role, STR_NONE, str_of(name)), want);
        doc_unref(want);
        return d;
    }
    return NULL;
}

TEST(rbac_defaults_get_back_what_they_lack)
{
    struct fixture f;
    cluster_init(&f);
    for (size_t i = 0; rbac_role_at(i); i++)
        if (!rbac_role_at(i)->ns)
            CHECK(!reconcile(&f, rbac_role_at(i)->name));
    CHECK_INT(patch(&f, &kind_cluster_role, "", "system:basic-user", API_PATCH_MERGE,
                    "{'metadata':{'labels':null},'rules':[" RULE("''", "'pods'", "'get'") "]}"),
              200);
    struct doc *d = reconcile(&f, "system:basic-user");
    REQUIRE(d);
    CHECK_INT(jlen(jgetc(doc_root(d), "rules")), 3); /* the extra one stays */
    CHECK_CSTR(jtext(jpath(doc_root(d), "metadata.labels")),
               "{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"}");
    doc_unref(d);
    CHECK_INT(patch(&f, &kind_cluster_role, "", "system:basic-user", API_PATCH_MERGE,
                    "{'metadata':{'annotations':{'" RBAC_AUTOUPDATE "':'false'}}}"),
              200);
    CHECK(!reconcile(&f, "system:basic-user"));
    fixture_done(&f);
}

/* ---- roles made of others, as they are stored ---- */

TEST(rbac_stored_rules_follow_the_parts)
{
    struct fixture f;
    cluster_init(&f);
    struct api *api = apiserver_local(f.server, "role-aggregator");
    struct runtime *r = runtime_new(f.loop, api);
    CHECK_INT(get(&f, &kind_cluster_role, "", "admin"), 200);
    uint64_t rv = f.obj->rv;
    roles_add(r, api);
    runtime_start(r);
    fixture_run(&f, 5 * USEC_PER_SEC);
    CHECK_INT(get(&f, &kind_cluster_role, "", "all-of"), 200);
    CHECK_CSTR(field(&f, "rules"), "[{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],"
                                   "\"verbs\":[\"get\"]},{\"apiGroups\":[\"\"],\"resources\":["
                                   "\"services\"],\"verbs\":[\"get\"]}]");
    CHECK_INT(get(&f, &kind_cluster_role, "", "above"), 200);
    CHECK_INT(jlen(jgetc(doc_root(f.doc), "rules")), 2);
    /* those that come with the server have their rules from the beginning */
    CHECK_INT(get(&f, &kind_cluster_role, "", "admin"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(delete (&f, &kind_cluster_role, "", "part-1"), 200);
    fixture_run(&f, 5 * USEC_PER_SEC);
    CHECK_INT(get(&f, &kind_cluster_role, "", "above"), 200);
    CHECK_INT(jlen(jgetc(doc_root(f.doc), "rules")), 1);
    runtime_free(r);
    api_free(api);
    fixture_done(&f);
}
