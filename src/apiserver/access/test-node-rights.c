/*
 * Nodes as users: what the Node authorizer and NodeRestriction of Kubernetes let a kubelet do, and
 * what they do not. Two nodes, n1 and n2, with a pod each; everything is asked as n1.
 */
#include "apiserver/access/node_rights.h"
#include "apiserver/test-apiserver-fixture.h"
#include "base/log.h"

#define NODE(name)                                                                     \
    "{'apiVersion':'v1','kind':'Node','metadata':{'name':'" name "','labels':{"        \
    "'kubernetes.io/hostname':'" name "','node-restriction.kubernetes.io/team':'a'}}," \
    "'spec':{'taints':[{'key':'gpu','effect':'NoSchedule'}]}}"
#define SPEC(x)                                                                                \
    ",'serviceAccountName':'sa-" x "','imagePullSecrets':[{'name':'pull-" x "'}],'volumes':["  \
    "{'name':'a','secret':{'secretName':'vol-" x "'}},"                                        \
    "{'name':'b','configMap':{'name':'map-" x "'}},"                                           \
    "{'name':'c','projected':{'sources':[{'secret':{'name':'proj-" x "'}},"                    \
    "{'serviceAccountToken':{'path':'t','audience':'vault'}}]}},"                              \
    "{'name':'d','persistentVolumeClaim':{'claimName':'claim-" x "'}},"                        \
    "{'name':'e','ephemeral':{'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce']," \
    "'resources':{'requests':{'storage':'1Gi'}}}}}}]"
#define ACCOUNT(x) "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'sa-" x "'}}"

static const str node_groups[] = {STR_INIT("system:nodes"), STR_INIT("system:authenticated")};
static const struct user n1 = {STR_INIT("system:node:n1"), node_groups, 2};

static void start(struct fixture *f)
{
    fixture_init(f);
    log_set_level(LOG_LEVEL_OFF);
    REQUIRE(create(f, &kind_node, "", NODE("n1")) == 201);
    REQUIRE(create(f, &kind_node, "", NODE("n2")) == 201);
    REQUIRE(create(f, &kind_service_account, "ns", ACCOUNT("p1")) == 201);
    REQUIRE(create(f, &kind_service_account, "ns", ACCOUNT("p2")) == 201);
    REQUIRE(create(f, &kind_pod, "ns", POD("p1", SPEC("p1"))) == 201);
    REQUIRE(create(f, &kind_pod, "ns", POD("p2", SPEC("p2"))) == 201);
    REQUIRE(bind_pod(f, "p1", "n1") == 201);
    REQUIRE(bind_pod(f, "p2", "n2") == 201);
    f->user = n1;
}

static void stop(struct fixture *f)
{
    log_set_level(LOG_LEVEL_WARN);
    fixture_done(f);
}

static bool may(struct fixture *f, const char *verb, const char *resource, const char *ns,
                const char *name, const char *fields)
{
    str sub = str_of(resource), group, what = str_cut(&sub, '/');
    group = sub.p ? sub : what;
    if (sub.p)
        sub = str_cut(&group, '.');
    else
        what = str_cut(&group, '.');
    struct access x = {.verb = str_of(verb),
                       .group = group,
                       .resource = what,
                       .sub = sub,
                       .ns = str_of(ns),
                       .name = str_of(name),
                       .fields = str_of(fields)};
    return authorize(f->server, &n1, &x);
}

static const struct {
    const char *verb, *resource, *ns, *name, *fields;
    bool allowed;
} questions[] = {
    /* itself */
    {"get", "nodes", "", "n1", "", true},
    {"list", "nodes", "", "n1", "metadata.name=n1", true},
    {"patch", "nodes/status", "", "n1", "", true},
    {"update", "nodes", "", "n1", "", true},
    {"create", "nodes", "", "", "", true},
    {"get", "nodes", "", "n2", "", false},
    {"list", "nodes", "", "", "", false},
    {"watch", "nodes", "", "n2", "metadata.name=n2", false},
    {"patch", "nodes/status", "", "n2", "", false},
    {"patch", "nodes", "", "n2", "", false},
    {"delete", "nodes", "", "n1", "", false},
    {"get", "nodes/proxy", "", "n1", "", false},
    /* pods */
    {"get", "pods", "ns", "p1", "", true},
    {"get", "pods", "ns", "p2", "", false},
    {"get", "pods", "ns", "gone", "", true}, /* and is told that it is gone */
    {"list", "pods", "", "", "spec.nodeName=n1", true},
    {"watch", "pods", "", "", "status.phase!=Failed,spec.nodeName==n1", true},
    {"list", "pods", "", "", "spec.nodeName=n2", false},
    {"list", "pods", "", "", "spec.nodeName!=n1", false},
    {"list", "pods", "ns", "", "", false},
    {"patch", "pods/status", "ns", "p1", "", true},
    {"patch", "pods/status", "ns", "p2", "", false},
    {"delete", "pods", "ns", "p1", "", true},
    {"delete", "pods", "ns", "p2", "", false},
    {"deletecollection", "pods", "ns", "", "spec.nodeName=n1", false},
    {"patch", "pods", "ns", "p1", "", false},
    {"create", "pods/eviction", "ns", "p1", "", true},
    {"create", "pods/eviction", "ns", "p2", "", false},
    {"create", "pods/binding", "ns", "p1", "", false},
    {"get", "pods/log", "ns", "p1", "", false},
    {"create", "pods/exec", "ns", "p1", "", false},
    /* what its pods refer to */
    {"get", "secrets", "ns", "vol-p1", "", true},
    {"watch", "secrets", "ns", "vol-p1", "metadata.name=vol-p1", true},
    {"get", "secrets", "ns", "pull-p1", "", true},
    {"get", "secrets", "ns", "proj-p1", "", true},
    {"get", "secrets", "ns", "vol-p2", "", false},
    {"get", "secrets", "default", "vol-p1", "", false},
    {"get", "secrets", "ns", "other", "", false},
    {"list", "secrets", "ns", "", "", false},
    {"list", "secrets", "", "", "", false},
    {"update", "secrets", "ns", "vol-p1", "", false},
    {"delete", "secrets", "ns", "vol-p1", "", false},
    {"get", "configmaps", "ns", "map-p1", "", true},
    {"get", "configmaps", "ns", "map-p2", "", false},
    {"list", "configmaps", "ns", "", "", false},
    {"get", "persistentvolumeclaims", "ns", "claim-p1", "", true},
    {"get", "persistentvolumeclaims", "ns", "p1-e", "", true},
    {"get", "persistentvolumeclaims", "ns", "claim-p2", "", false},
    {"get", "persistentvolumes", "", "any", "", false},
    {"create", "serviceaccounts/token", "ns", "sa-p1", "", true},
    {"create", "serviceaccounts/token", "ns", "sa-p2", "", false},
    {"create", "serviceaccounts/token", "ns", "default", "", false},
    {"create", "serviceaccounts/token", "kube-system", "sa-p1", "", false},
    /* leases, CSINodes */
    {"update", "leases.coordination.k8s.io", "kube-node-lease", "n1", "", true},
    {"create", "leases.coordination.k8s.io", "kube-node-lease", "", "", true},
    {"update", "leases.coordination.k8s.io", "kube-node-lease", "n2", "", false},
    {"update", "leases.coordination.k8s.io", "ns", "n1", "", false},
    {"create", "leases.coordination.k8s.io", "kube-system", "", "", false},
    {"get", "csinodes.storage.k8s.io", "", "n1", "", true},
    {"update", "csinodes.storage.k8s.io", "", "n2", "", false},
    /* the rest */
    {"list", "services", "", "", "", true},
    {"create", "events", "ns", "", "", true},
    {"create", "certificatesigningrequests.certificates.k8s.io", "", "", "", true},
    {"update", "certificatesigningrequests/approval.certificates.k8s.io", "", "x", "", false},
    {"create", "clusterrolebindings.rbac.authorization.k8s.io", "", "", "", false},
    {"get", "podcliquesets.grove.io", "ns", "x", "", false},
    {"impersonate", "users", "", "admin", "", false},
};

TEST(a_node_may_do_what_concerns_itself_and_its_pods)
{
    struct fixture f;
    start(&f);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        if (!CHECK(may(&f, questions[i].verb, questions[i].resource, questions[i].ns,
                       questions[i].name, questions[i].fields) == questions[i].allowed))
            test_note("%s %s %s/%s %s", questions[i].verb, questions[i].resource, questions[i].ns,
                      questions[i].name, questions[i].fields);
    stop(&f);
}

TEST(rights_follow_pods_as_they_come_and_go)
{
    struct fixture f;
    start(&f);
    CHECK(may(&f, "get", "secrets", "ns", "vol-p1", ""));
    CHECK(!may(&f, "get", "secrets", "ns", "vol-p3", ""));
    f.user = server_user;
    REQUIRE(create(&f, &kind_pod, "ns",
                   POD("p3", ",'volumes':[{'name':'a','secret':{'secretName':'vol-p3'}}]")) == 201);
    CHECK(!may(&f, "get", "secrets", "ns", "vol-p3", ""));
    REQUIRE(bind_pod(&f, "p3", "n1") == 201);
    CHECK(may(&f, "get", "secrets", "ns", "vol-p3", ""));
    struct api_request r = {
        .verb = API_DELETE, .kind = &kind_pod, .ns = STR("ns"), .name = STR("p3")};
    REQUIRE(send(&f, r) == 200);
    CHECK(!may(&f, "get", "secrets", "ns", "vol-p3", ""));
    CHECK(may(&f, "get", "secrets", "ns", "vol-p1", ""));
    stop(&f);
}

/* Readers see an object until its deletion is durable. */
TEST(what_is_about_to_go_is_not_everybodys)
{
    struct fixture f;
    start(&f);
    f.user = server_user;
    REQUIRE(create(&f, &kind_resource_slice, "",
                   "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceSlice','metadata':{'name':"
                   "'s2'},'spec':{'nodeName':'n2','driver':'gpu.example.com','pool':{'name':'n2',"
                   "'generation':1,'resourceSliceCount':1},'devices':[]}}") == 201);
    CHECK(!may(&f, "get", "resourceslices.resource.k8s.io", "", "s2", ""));
    struct api_request r = {.verb = API_DELETE, .kind = &kind_resource_slice, .name = STR("s2")};
    send_only(&f, &r);
    REQUIRE(!store_newest(f.store, &kind_resource_slice, STR_NONE, STR("s2")));
    REQUIRE(store_get(f.store, &kind_resource_slice, STR_NONE, STR("s2")));
    CHECK(!may(&f, "get", "resourceslices.resource.k8s.io", "", "s2", ""));
    wait_answer(&f);
    CHECK(may(&f, "get", "resourceslices.resource.k8s.io", "", "s2", ""));
    stop(&f);
}

TEST(whoever_has_the_name_alone_or_the_group_alone_is_no_node)
{
    static const struct user name = {STR_INIT("system:node:n1"), &node_groups[1], 1};
    static const struct user group = {STR_INIT("eve"), node_groups, 2};
    static const struct user empty = {STR_INIT("system:node:"), node_groups, 2};
    struct access x = {.verb = STR("get"), .resource = STR("nodes"), .name = STR("n1")};
    struct fixture f;
    start(&f);
    CHECK(authorize(f.server, &n1, &x));
    CHECK(!authorize(f.server, &name, &x));
    CHECK(!authorize(f.server, &group, &x));
    CHECK(!authorize(f.server, &empty, &x));
    stop(&f);
}

/* ---- NodeRestriction ---- */

#define MIRROR(name, node, owner, uid, spec)                                                  \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "','annotations':{"           \
    "'kubernetes.io/config.mirror':'x'},'ownerReferences':[{'apiVersion':'v1','kind':'Node'," \
    "'name':'" owner "','uid':'" uid "','controller':true}]},'spec':{'nodeName':'" node "',"  \
    "'containers':[{'name':'c','image':'registry.example/x:1'}]" spec "}}"

static void refused(struct fixture *f, int code, const char *why)
{
    CHECK_INT(code, 403);
    if (!CHECK(str_find(f->message, str_of(why)) >= 0))
        test_note("%.*s", STR_ARG(f->message));
}

TEST(a_node_makes_mirror_pods_of_its_own_only)
{
    struct fixture f;
    start(&f);
    const struct obj *node = store_get(f.store, &kind_node, STR_NONE, STR("n1"));
    refused(&f, create(&f, &kind_pod, "ns", POD("x", "")), "can only create mirror pods");
    refused(&f, create(&f, &kind_pod, "ns", MIRROR("x", "n2", "n1", "u", "")),
            "spec.nodeName set to itself");
    refused(&f, create(&f, &kind_pod, "ns", MIRROR("x", "n1", "n2", "u", "")),
            "owner reference to its node");
    refused(&f, create(&f, &kind_pod, "ns", MIRROR("x", "n1", "n1", "u", "")),
            "ownerReference UID is not that of node");
    refused(&f,
            create(&f, &kind_pod, "ns",
                   MIRROR("x", "n1", "n1", "u",
                          ",'volumes':[{'name':'s','secret':{'secretName':'vol-p2'}}]")),
            "reference secrets");
    refused(&f,
            create(&f, &kind_pod, "ns",
                   MIRROR("x", "n1", "n1", "u",
                          ",'volumes':[{'name':'s','ephemeral':{'volumeClaimTemplate':{'spec':{"
                          "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':"
                          "'1Gi'}}}}}}]")),
            "ephemeral volumes or resourceClaims");
    refused(&f,
            create(&f, &kind_pod, "ns",
                   MIRROR("x", "n1", "n1", "u",
                          ",'resourceClaims':[{'name':'r','resourceClaimTemplateName':'t'}]")),
            "ephemeral volumes or resourceClaims");
    str good = text_of(&f, MIRROR("x", "n1", "n1", "%.*s", ""), STR_ARG(node->uid));
    CHECK_INT(create(&f, &kind_pod, "ns", good.p), 201);
    /* a mirror pod stays one, and no other becomes one */
    static const char *const changes[] = {"null", "'y'"};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        refused(
            &f,
            patch_sub(
                &f, &kind_pod, "ns", "x", "status", API_PATCH_MERGE,
                text_of(&f, "{'metadata':{'annotations':{'" NODE_MIRROR "':%s}}}", changes[i]).p),
            "cannot update annotation");
    refused(&f,
            patch_sub(&f, &kind_pod, "ns", "p1", "status", API_PATCH_MERGE,
                      "{'metadata':{'annotations':{'" NODE_MIRROR "':'y'}}}"),
            "cannot update annotation");
    stop(&f);
}

TEST(a_node_writes_to_its_own_pods_only)
{
    struct fixture f;
    start(&f);
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "p1", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Running'}}"),
              200);
    refused(&f,
            patch_sub(&f, &kind_pod, "ns", "p2", "status", API_PATCH_MERGE,
                      "{'status':{'phase':'Failed'}}"),
            "cannot patch resource \"pods/status\"");
    refused(
        &f,
        patch_sub(&f, &kind_pod, "ns", "p1", "status", API_PATCH_MERGE,
                  "{'status':{'resourceClaimStatuses':[{'name':'a','resourceClaimName':'b'}]}}"),
        "cannot update resource claim statuses");
    refused(&f, delete (&f, &kind_pod, "ns", "p2"), "cannot delete resource \"pods\"");
    refused(&f,
            patch(&f, &kind_pod, "ns", "p1", API_PATCH_MERGE, "{'metadata':{'labels':{'a':'b'}}}"),
            "cannot patch resource \"pods\"");
    refused(&f,
            post_sub(&f, "p2", "eviction",
                     "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p2'}}"),
            "cannot create resource \"pods/eviction\"");
    stop(&f);
}

TEST(a_node_tells_how_a_claim_grows_and_nothing_else_of_it)
{
    static const char *const bad[] = {
        "{'metadata':{'annotations':{'a':'b'}}}",
        "{'metadata':{'finalizers':null}}",
        "{'status':{'phase':'Bound'}}",
    };
    /* these the server leaves as they are, whoever writes a status */
    static const char *const left[] = {
        "{'metadata':{'labels':{'a':'b'}}}",
        "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'x','uid':'y'}]}}",
    };
    struct fixture f;
    start(&f);
    f.user = server_user;
    REQUIRE(create(&f, &kind_persistent_volume_claim, "ns",
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'claim-p1'"
                   ",'finalizers':['example.com/keep']},'spec':{'accessModes':['ReadWriteOnce'],"
                   "'resources':{'requests':{'storage':'1Gi'}}}}") == 201);
    f.user = n1;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refused(&f,
                patch_sub(&f, &kind_persistent_volume_claim, "ns", "claim-p1", "status",
                          API_PATCH_MERGE, bad[i]),
                "is not allowed to update");
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        (void)patch_sub(&f, &kind_persistent_volume_claim, "ns", "claim-p1", "status",
                        API_PATCH_MERGE, left[i]);
    const struct obj *claim =
        store_get(f.store, &kind_persistent_volume_claim, STR("ns"), STR("claim-p1"));
    CHECK(!j_has(jgetc(claim->meta, "labels")) && !j_has(jgetc(claim->meta, "ownerReferences")));
    CHECK_INT(patch_sub(&f, &kind_persistent_volume_claim, "ns", "claim-p1", "status",
                        API_PATCH_MERGE, "{'status':{'capacity':{'storage':'2Gi'}}}"),
              200);
    stop(&f);
}

/* Rights of its own do not lift what nodes are restricted to. */
TEST(a_node_with_more_rights_is_restricted_all_the_same)
{
    struct fixture f;
    start(&f);
    f.user = server_user;
    REQUIRE(create(&f, &kind_cluster_role_binding, "",
                   "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'ClusterRoleBinding',"
                   "'metadata':{'name':'all'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
                   "'kind':'ClusterRole','name':'cluster-admin'},'subjects':[{'kind':'Group',"
                   "'apiGroup':'rbac.authorization.k8s.io','name':'system:nodes'}]}") == 201);
    f.user = n1;
    refused(&f,
            patch_sub(&f, &kind_pod, "ns", "p2", "status", API_PATCH_MERGE,
                      "{'status':{'phase':'Failed'}}"),
            "can only update pod status for pods with spec.nodeName set to itself");
    refused(&f, delete (&f, &kind_pod, "ns", "p2"),
            "can only delete pods with spec.nodeName set to itself");
    refused(&f,
            post_sub(&f, "p2", "eviction",
                     "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p2'}}"),
            "can only evict pods with spec.nodeName set to itself");
    refused(&f, patch(&f, &kind_node, "", "n2", API_PATCH_MERGE, "{'spec':{'unschedulable':true}}"),
            "node \"n1\" is not allowed to modify node \"n2\"");
    refused(&f, delete (&f, &kind_node, "", "n2"), "is not allowed to modify node \"n2\"");
    refused(&f,
            create(&f, &kind_lease, "kube-node-lease",
                   "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'n2'},"
                   "'spec':{'holderIdentity':'n1'}}"),
            "same name as the requesting node");
    refused(&f,
            create(&f, &kind_lease, "ns",
                   "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'n1'},"
                   "'spec':{'holderIdentity':'n1'}}"),
            "\"kube-node-lease\" system namespace");
    stop(&f);
}

TEST(labels_taints_and_owners_of_a_node_are_not_its_own)
{
    struct fixture f;
    start(&f);
    static const struct {
        const char *patch, *why;
    } bad[] = {
        {"{'metadata':{'labels':{'node-restriction.kubernetes.io/team':'b'}}}",
         "is not allowed to modify labels: node-restriction.kubernetes.io/team"},
        {"{'metadata':{'labels':{'node-restriction.kubernetes.io/team':null}}}",
         "is not allowed to modify labels: node-restriction.kubernetes.io/team"},
        {"{'metadata':{'labels':{'x.node-restriction.kubernetes.io/a':'b'}}}",
         "is not allowed to modify labels"},
        {"{'metadata':{'labels':{'kubernetes.io/rack':'r1'}}}",
         "is not allowed to modify labels: kubernetes.io/rack"},
        {"{'metadata':{'labels':{'node-role.kubernetes.io/control-plane':''}}}",
         "is not allowed to modify labels"},
        {"{'metadata':{'labels':{'foo.k8s.io/a':'b'}}}", "is not allowed to modify labels"},
        {"{'spec':{'taints':null}}", "is not allowed to modify taints"},
        {"{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'x',"
         "'uid':'y'}]}}",
         "is not allowed to modify ownerReferences"},
    };
    static const char *const good[] = {
        "{'metadata':{'labels':{'example.com/rack':'r1'}}}",
        "{'metadata':{'labels':{'plain':'r1'}}}",
        "{'metadata':{'labels':{'topology.kubernetes.io/zone':'z'}}}",
        "{'metadata':{'labels':{'node.kubernetes.io/x':'z'}}}",
        "{'metadata':{'labels':{'a.kubelet.kubernetes.io/x':'z'}}}",
        "{'metadata':{'annotations':{'volumes.kubernetes.io/controller-managed-attach-detach':"
        "'true'}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refused(&f, patch(&f, &kind_node, "", "n1", API_PATCH_MERGE, bad[i].patch), bad[i].why);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_INT(patch(&f, &kind_node, "", "n1", API_PATCH_MERGE, good[i]), 200);
    stop(&f);
}

TEST(a_node_registers_itself_with_taints_and_usual_labels)
{
    static const struct user n3 = {STR_INIT("system:node:n3"), node_groups, 2};
    struct fixture f;
    start(&f);
    f.user = n3;
    refused(&f, create(&f, &kind_node, "", NODE("n4")), "is not allowed to modify node \"n4\"");
    refused(&f, create(&f, &kind_node, "", NODE("n3")),
            "is not allowed to set the following labels: node-restriction.kubernetes.io/team");
    CHECK_INT(create(&f, &kind_node, "",
                     "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n3','labels':{"
                     "'kubernetes.io/os':'linux','kubernetes.io/hostname':'n3'}},'spec':{'taints':["
                     "{'key':'new','effect':'NoSchedule'}]}}"),
              201);
    stop(&f);
}

/* ---- tokens ---- */

static const char *token_fault(struct fixture *f, const char *spec)
{
    struct doc *d = fixture_doc(f, spec);
    struct status *why =
        node_token_status(f->server, &f->arena, &n1, STR("ns"), STR("sa-p1"), doc_root(d));
    return why ? arena_str(&f->arena, why->message).p : "";
}

TEST(a_node_asks_for_tokens_of_its_pods_only)
{
    struct fixture f;
    start(&f);
    str uid1 = store_get(f.store, &kind_pod, STR("ns"), STR("p1"))->uid;
    str uid2 = store_get(f.store, &kind_pod, STR("ns"), STR("p2"))->uid;
#define FAULT(want, ...) CHECK(strstr(token_fault(&f, text_of(&f, __VA_ARGS__).p), want) != NULL)
    FAULT("not bound to a pod", "{}");
    FAULT("not bound to a pod",
          "{'boundObjectRef':{'kind':'Secret','apiVersion':'v1','name':'p1','uid':'%.*s'}}",
          STR_ARG(uid1));
    FAULT("without a uid", "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p1'}}");
    FAULT("does not match the UID in record",
          "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p1','uid':'%.*s'}}",
          STR_ARG(uid2));
    FAULT("scheduled on a different node",
          "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p2','uid':'%.*s'}}",
          STR_ARG(uid2));
    /* without audiences: one for this server, which no volume of p1 asks for */
    FAULT("audience \"\" not found in pod spec volume",
          "{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p1','uid':'%.*s'}}",
          STR_ARG(uid1));
    FAULT("not found in pod spec volume",
          "{'audiences':['bank'],'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p1',"
          "'uid':'%.*s'}}",
          STR_ARG(uid1));
#undef FAULT
    str good = text_of(&f,
                       "{'audiences':['vault'],'boundObjectRef':{'kind':'Pod','apiVersion':'v1',"
                       "'name':'p1','uid':'%.*s'}}",
                       STR_ARG(uid1));
    CHECK_CSTR(str_of(token_fault(&f, good.p)), "");
    stop(&f);
}
