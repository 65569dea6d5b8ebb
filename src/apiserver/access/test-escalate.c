/*
 * Nobody becomes more than they are: attempts of somebody who may write every role and binding, ask
 * for certificates and make service accounts, but holds few rights herself, to hold more. Each is
 * one request over HTTP and is refused; beside them what she may do, and what those may who hold
 * `escalate`, `bind` or everything. What is expected are the rules of kube-apiserver.
 */
#include "apiserver/access/rbac.h"
#include "apiserver/front/test-front-fixture.h"

#define RBAC "/apis/rbac.authorization.k8s.io/v1/"
#define ROLES RBAC "namespaces/ns/roles"
#define CLUSTER_ROLES RBAC "clusterroles"
#define BINDINGS RBAC "namespaces/ns/rolebindings"
#define CLUSTER_BINDINGS RBAC "clusterrolebindings"
#define REQUESTS "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define WHOAMI "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define RBAC_API "'apiVersion':'rbac.authorization.k8s.io/v1',"

#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define APPLY "application/apply-patch+yaml"

#define TO_VIEW "'rbac.authorization.k8s.io/aggregate-to-view':'true'"
#define ALL_RULES                                                  \
    "'rules':[{'apiGroups':['*'],'resources':['*'],'verbs':['*']}" \
    ",{'nonResourceURLs':['*'],'verbs':['*']}]"
#define OWN "'rbac.authorization.kubernetes.io/autoupdate'"
#define READ_PODS "'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['get']}]"
#define EVERYTHING "'aggregationRule':{'clusterRoleSelectors':[{}]}"
#define EVE "{'kind':'ServiceAccount','name':'eve','namespace':'ns'}"
#define REF(kind, name)                                                          \
    "'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'" kind "','name'" \
    ":'" name "'}"
#define BINDING(name, ref, subject) \
    "{'metadata':{'name':'" name "'}," ref ",'subjects':[" subject "]}"

#define CERTIFICATE(name, signer, pem)                                                  \
    "{'metadata':{'name':'" name "'},'spec':{'signerName':'" signer "','request':'" pem \
    "','usages':['client auth']}}"

#define POLICIES "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
#define POLICY(name, kind, rule)                                                             \
    "{'metadata':{'name':'" name "'},'spec':{'paramKind':{'apiVersion':'v1','kind':'" kind   \
    "'},'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':[''],"          \
    "'apiVersions':['v1'],'resources':['configmaps']}]},'validations':[{'expression':'" rule \
    "'}]}}"
#define POLICY_BINDING(name, policy, ref)                                                     \
    "{'metadata':{'name':'" name "'},'spec':{'policyName':'" policy "','validationActions':[" \
    "'Deny'],'paramRef':{'parameterNotFoundAction':'Allow'," ref "}}}"

/* ---- the cluster ---- */

static const struct {
    const struct kind *kind;
    const char *ns, *json;
} cluster[] = {
    {&kind_service_account, "ns", "{'metadata':{'name':'eve'}}"},
    {&kind_service_account, "ns", "{'metadata':{'name':'strong'}}"},
    /* eve writes roles and bindings, reads pods, and is bound to "view" */
    {&kind_cluster_role, "",
     "{'metadata':{'name':'eve'},'rules':["
     "{'apiGroups':['rbac.authorization.k8s.io'],'resources':['roles','clusterroles',"
     "'rolebindings','clusterrolebindings'],'verbs':['get','list','create','update','patch',"
     "'delete','deletecollection']},"
     "{'apiGroups':['certificates.k8s.io'],'resources':['certificatesigningrequests',"
     "'certificatesigningrequests/approval','certificatesigningrequests/status'],'verbs':["
     "'create','get','patch','update']},"
     "{'apiGroups':[''],'resources':['pods'],'verbs':['get']},"
     "{'apiGroups':['certificates.k8s.io'],'resources':['clustertrustbundles'],'verbs':["
     "'create']},"
     "{'apiGroups':['admissionregistration.k8s.io'],'resources':['*'],'verbs':['create','patch']},"
     "{'apiGroups':[''],'resources':['serviceaccounts'],'verbs':['create','patch']}]}"},
    {&kind_cluster_role_binding, "", BINDING("eve", REF("ClusterRole", "eve"), EVE)},
    {&kind_cluster_role_binding, "", BINDING("eve-views", REF("ClusterRole", "view"), EVE)},
    /* what there is for her to use */
    {&kind_cluster_role, "", "{'metadata':{'name':'reader','labels':{'app':'x'}}," READ_PODS "}"},
    {&kind_cluster_role, "", "{'metadata':{'name':'mine'}," READ_PODS "}"},
    {&kind_cluster_role, "",
     "{'metadata':{'name':'parts'},'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{"
     "'part':'1'}}]}}"},
    /* made of nothing: without the empty aggregationRule its rules would count */
    {&kind_cluster_role, "", "{'metadata':{'name':'empty'},'aggregationRule':{}," ALL_RULES "}"},
    {&kind_cluster_role_binding, "", BINDING("eve-empty", REF("ClusterRole", "empty"), EVE)},
    {&kind_cluster_role_binding, "", BINDING("readers", REF("ClusterRole", "reader"), EVE)},
    {&kind_cluster_role_binding, "",
     BINDING("roots", REF("ClusterRole", "cluster-admin"), "{'kind':'User','name':'root'}")},
    {&kind_role, "ns",
     "{'metadata':{'name':'strong'},'rules':[{'apiGroups':[''],'resources':['secrets'],'verbs':["
     "'*']}]}"},
    {&kind_role_binding, "ns",
     BINDING("strong", REF("Role", "strong"), "{'kind':'ServiceAccount','name':'strong'}")},
    /* those who are trusted with more */
    {&kind_cluster_role, "",
     "{'metadata':{'name':'gil'},'rules':[{'apiGroups':['rbac.authorization.k8s.io'],'resources':"
     "['clusterroles'],'verbs':['create','update','patch','escalate']},{'apiGroups':["
     "'rbac.authorization.k8s.io'],'resources':['rolebindings','roles'],'verbs':['create']},{'"
     "apiGroups':"
     "['rbac.authorization.k8s.io'],'resources':['clusterroles'],'verbs':['bind'],"
     "'resourceNames':['admin']}]}"},
    {&kind_cluster_role_binding, "",
     BINDING("gil", REF("ClusterRole", "gil"), "{'kind':'User','name':'gil'}")},
    {&kind_signing_request, "", CERTIFICATE("open", "example.com/s", REQUEST_DEV)},
    {&kind_validating_policy, "", POLICY("secrets", "Secret", "true")},
    {&kind_validating_policy, "", POLICY("pods", "Pod", "true")},
};

static const char *token_of(struct web *w, const char *account)
{
    str path = text_of(&w->f, "/api/v1/namespaces/ns/serviceaccounts/%s/token", account);
    CHECK_INT(ask(w, "POST", path.p, "{}"), 201);
    return arena_str(&w->f.arena, member(w, "status.token")).p;
}

static void cluster_init(struct web *w)
{
    web_init(w);
    for (size_t i = 0; i < ARRAY_LEN(cluster); i++)
        if (!CHECK_INT(create(&w->f, cluster[i].kind, cluster[i].ns, cluster[i].json), 201))
            test_note("%zu %.*s", i, STR_ARG(w->f.message));
}

/* ---- attempts ---- */

struct attempt {
    const char *what, *method, *path, *type, *body;
    const char *header, *value; /* one more; NULL: none */
    int code;
};

static const struct attempt attempts[] = {
    /* a strong role becomes part of one that others hold */
    {"label, merge patch", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", NULL, NULL, 403},
    {"label, strategic merge patch", "PATCH", CLUSTER_ROLES "/cluster-admin", STRATEGIC,
     "{'metadata':{'labels':{" TO_VIEW "}}}", NULL, NULL, 403},
    {"label, JSON patch", "PATCH", CLUSTER_ROLES "/cluster-admin", JSON_PATCH,
     "[{'op':'add','path':'/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view',"
     "'value':'true'}]",
     NULL, NULL, 403},
    {"label, apply", "PATCH", CLUSTER_ROLES "/cluster-admin?fieldManager=eve&force=true", APPLY,
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'cluster-admin','labels':{" TO_VIEW
     "}}}",
     NULL, NULL, 403},
    {"label, update with the same rules", "PUT", CLUSTER_ROLES "/cluster-admin", "application/json",
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'cluster-admin','labels':{" TO_VIEW
     "}}," ALL_RULES "}",
     NULL, NULL, 403},
    {"label, dry run", "PATCH", CLUSTER_ROLES "/cluster-admin?dryRun=All", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", NULL, NULL, 403},
    {"label, among what the garbage collector writes", "PATCH", CLUSTER_ROLES "/cluster-admin",
     MERGE, "{'metadata':{'finalizers':['example.com/f'],'labels':{" TO_VIEW "}}}", NULL, NULL,
     403},
    {"label of an aggregate", "PATCH", CLUSTER_ROLES "/admin", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", NULL, NULL, 403},
    {"annotation of a strong role", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'annotations':{'rbac.authorization.kubernetes.io/autoupdate':'false'}}}", NULL,
     NULL, 403},
    /* a strong role is made */
    {"create", "POST", CLUSTER_ROLES, NULL, "{'metadata':{'name':'x'}," ALL_RULES "}", NULL, NULL,
     403},
    {"create with a label", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'x','labels':{" TO_VIEW "}},'rules':[{'apiGroups':[''],'resources':["
     "'secrets'],'verbs':['get']}]}",
     NULL, NULL, 403},
    {"create with a generated name", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'generateName':'x-'}," ALL_RULES "}", NULL, NULL, 403},
    {"create, dry run", "POST", CLUSTER_ROLES "?dryRun=All", NULL,
     "{'metadata':{'name':'x'}," ALL_RULES "}", NULL, NULL, 403},
    {"create by apply", "PATCH", CLUSTER_ROLES "/x?fieldManager=eve", APPLY,
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'x'}," ALL_RULES "}", NULL, NULL, 403},
    {"create in a namespace", "POST", ROLES, NULL,
     "{'metadata':{'name':'x'},'rules':[{'apiGroups':[''],'resources':['secrets'],'verbs':['get']"
     "}]}",
     NULL, NULL, 403},
    {"create what lets one escalate", "POST", ROLES, NULL,
     "{'metadata':{'name':'x'},'rules':[{'apiGroups':['rbac.authorization.k8s.io'],'resources':["
     "'roles'],'verbs':['escalate']}]}",
     NULL, NULL, 403},
    {"rules of a role she is bound to", "PATCH", CLUSTER_ROLES "/reader", MERGE, "{" ALL_RULES "}",
     NULL, NULL, 403},
    {"one rule more", "PATCH", CLUSTER_ROLES "/reader", JSON_PATCH,
     "[{'op':'add','path':'/rules/-','value':{'apiGroups':[''],'resources':['secrets'],'verbs':["
     "'get']}}]",
     NULL, NULL, 403},
    /* roles made of others */
    {"create an aggregate", "POST", CLUSTER_ROLES, NULL, "{'metadata':{'name':'x'}," EVERYTHING "}",
     NULL, NULL, 403},
    {"an aggregate of what she reads today", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'x'},'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{'app':"
     "'x'}}]}}",
     NULL, NULL, 403},
    {"aggregationRule on a role she is bound to", "PATCH", CLUSTER_ROLES "/reader", MERGE,
     "{" EVERYTHING "}", NULL, NULL, 403},
    {"aggregationRule instead of rules", "PUT", CLUSTER_ROLES "/reader", "application/json",
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'reader'}," EVERYTHING "}", NULL, NULL,
     403},
    {"other selectors", "PATCH", CLUSTER_ROLES "/view", MERGE, "{" EVERYTHING "}", NULL, NULL, 403},
    {"no selectors", "PATCH", CLUSTER_ROLES "/parts", MERGE,
     "{'aggregationRule':{'clusterRoleSelectors':null}}", NULL, NULL, 403},
    {"aggregationRule away", "PATCH", CLUSTER_ROLES "/parts", MERGE, "{'aggregationRule':null}",
     NULL, NULL, 403},
    {"aggregationRule away, so that rules count", "PATCH", CLUSTER_ROLES "/empty", JSON_PATCH,
     "[{'op':'remove','path':'/aggregationRule'}]", NULL, NULL, 403},
    {"aggregationRule away by an update", "PUT", CLUSTER_ROLES "/parts", "application/json",
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'parts'}}", NULL, NULL, 403},
    /* bindings */
    {"bind a user", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "cluster-admin"), "{'kind':'User','name':'mallory'}"), NULL,
     NULL, 403},
    {"bind a group", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "cluster-admin"),
             "{'kind':'Group','name':'system:authenticated'}"),
     NULL, NULL, 403},
    {"bind a service account", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "cluster-admin"), EVE), NULL, NULL, 403},
    {"bind a ClusterRole in a namespace", "POST", BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "admin"), EVE), NULL, NULL, 403},
    {"bind a Role", "POST", BINDINGS, NULL, BINDING("x", REF("Role", "strong"), EVE), NULL, NULL,
     403},
    {"bind by apply", "PATCH", BINDINGS "/x?fieldManager=eve", APPLY,
     "{" RBAC_API
     "'kind':'RoleBinding','metadata':{'name':'x'}," REF("Role", "strong") ",'subjects':[" EVE "]}",
     NULL, NULL, 403},
    {"bind what does not exist yet", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "later"), EVE), NULL, NULL, 404},
    {"one subject more, JSON patch", "PATCH", CLUSTER_BINDINGS "/roots", JSON_PATCH,
     "[{'op':'add','path':'/subjects/-','value':" EVE "}]", NULL, NULL, 403},
    {"one subject more, merge patch", "PATCH", CLUSTER_BINDINGS "/roots", MERGE,
     "{'subjects':[" EVE "]}", NULL, NULL, 403},
    {"one subject more, apply", "PATCH", CLUSTER_BINDINGS "/roots?fieldManager=eve&force=true",
     APPLY,
     "{" RBAC_API "'kind':'ClusterRoleBinding','metadata':{'name':'roots'}," REF(
         "ClusterRole", "cluster-admin") ",'subjects':[" EVE "]}",
     NULL, NULL, 403},
    {"label of a strong binding", "PATCH", CLUSTER_BINDINGS "/roots", MERGE,
     "{'metadata':{'labels':{'a':'b'}}}", NULL, NULL, 403},
    {"another role for a binding", "PATCH", CLUSTER_BINDINGS "/readers", MERGE,
     "{'roleRef':{'name':'cluster-admin'}}", NULL, NULL, 422},
    {"the same after deleting it: the deletion", "DELETE", CLUSTER_BINDINGS "/readers", NULL, NULL,
     NULL, NULL, 200},
    {"the same after deleting it: the creation", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("readers", REF("ClusterRole", "cluster-admin"), EVE), NULL, NULL, 403},
    {"a role after deleting it: the deletion", "DELETE", CLUSTER_ROLES "/mine", NULL, NULL, NULL,
     NULL, 200},
    {"a role after deleting it: the creation", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'mine'}," ALL_RULES "}", NULL, NULL, 403},
    /* default roles: the next start of the server gives them back the rules that they lack */
    {"a label, and the rules come back by themselves", "PATCH", CLUSTER_ROLES "/cluster-admin",
     MERGE, "{'metadata':{'labels':{" TO_VIEW "}},'rules':null}", NULL, NULL, 403},
    {"the same, apply", "PATCH", CLUSTER_ROLES "/cluster-admin?fieldManager=eve&force=true", APPLY,
     "{" RBAC_API "'kind':'ClusterRole','metadata':{'name':'cluster-admin','labels':{" TO_VIEW
     "}},'rules':[]}",
     NULL, NULL, 403},
    {"an empty role to be bound to until then", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'rules':[]}", NULL, NULL, 403},
    {"a default role after deleting it: the deletion", "DELETE",
     CLUSTER_ROLES "/system:aggregate-to-edit", NULL, NULL, NULL, NULL, 200},
    {"a default role after deleting it: the creation", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'system:aggregate-to-edit','labels':{" TO_VIEW "}}}", NULL, NULL, 403},
    {"a default role of her own", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'system:aggregate-to-edit','annotations':{" OWN ":'false'}}}", NULL, NULL,
     201},
    {"bound to it: when it is deleted, the next start makes it anew", "POST", CLUSTER_BINDINGS,
     NULL, BINDING("own", REF("ClusterRole", "system:aggregate-to-edit"), EVE), NULL, NULL, 403},
    {"no longer her own", "PATCH", CLUSTER_ROLES "/system:aggregate-to-edit", MERGE,
     "{'metadata':{'annotations':{" OWN ":null}}}", NULL, NULL, 403},
    {"a default role made of others: the deletion", "DELETE", CLUSTER_ROLES "/admin", NULL, NULL,
     NULL, NULL, 200},
    {"a default role made of others: the creation", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'admin'}}", NULL, NULL, 403},
    {"a default role made of others: her own", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'admin','annotations':{" OWN ":'false'}}}", NULL, NULL, 201},
    {"a default role made of others: bound to it", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("own", REF("ClusterRole", "admin"), EVE), NULL, NULL, 403},
    {"bind a default role that somebody emptied", "POST", BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "system:aggregate-to-admin"), EVE), NULL, NULL, 403},
    /* somebody else */
    {"act as an administrator", "POST", WHOAMI, NULL, "{}", "impersonate-user", "admin", 403},
    {"act as a stronger account", "GET", "/api/v1/namespaces/ns/secrets", NULL, NULL,
     "impersonate-user", "system:serviceaccount:ns:strong", 403},
    {"act as a group of nobody", "POST", WHOAMI, NULL, "{}", "impersonate-group", "system:masters",
     500},
    {"what an extra says of nobody", "POST", WHOAMI, NULL, "{}", "impersonate-extra-scopes", "all",
     500},
    {"a stronger account's token", "POST", "/api/v1/namespaces/ns/serviceaccounts/strong/token",
     NULL, "{}", NULL, NULL, 403},
    {"a Secret with a stronger account's token", "POST", "/api/v1/namespaces/ns/secrets", NULL,
     "{'metadata':{'name':'t','annotations':{'kubernetes.io/service-account.name':'strong'}},"
     "'type':'kubernetes.io/service-account-token'}",
     NULL, NULL, 403},
    /* certificates */
    {"a certificate of an administrator", "POST", REQUESTS, NULL,
     CERTIFICATE("x", "kubernetes.io/kube-apiserver-client", REQUEST_MASTERS), NULL, NULL, 403},
    {"approve without the signer's leave", "PATCH", REQUESTS "/open/approval", MERGE,
     "{'status':{'conditions':[{'type':'Approved','status':'True','reason':'R'}]}}", NULL, NULL,
     403},
    {"sign without it", "PATCH", REQUESTS "/open/status", MERGE,
     "{'status':{'certificate':'eA=='}}", NULL, NULL, 403},
    {"let it fail without it", "PATCH", REQUESTS "/open/status", MERGE,
     "{'status':{'conditions':[{'type':'Failed','status':'True','reason':'R'}]}}", NULL, NULL, 403},
    {"attest what others trust", "POST", "/apis/certificates.k8s.io/v1beta1/clustertrustbundles",
     NULL,
     "{'metadata':{'name':'x'},'spec':{'signerName':'example.com/s','trustBundle':"
     "'x'}}",
     NULL, NULL, 403},
    {"attest in another version", "POST", "/apis/certificates.k8s.io/v1alpha1/clustertrustbundles",
     NULL,
     "{'metadata':{'name':'x'},'spec':{'signerName':'example.com/s','trustBundle':"
     "'x'}}",
     NULL, NULL, 403},
    /* expressions that read for her */
    {"a policy that reads Secrets", "POST", POLICIES, NULL, POLICY("x", "Secret", "true"), NULL,
     NULL, 422},
    {"a policy that reads what is not there yet", "POST", POLICIES, NULL,
     POLICY("x", "Later", "true"), NULL, NULL, 422},
    {"another expression in one", "PATCH", POLICIES "/secrets", MERGE,
     "{'spec':{'validations':[{'expression':'false'}]}}", NULL, NULL, 422},
    {"a binding to Secrets", "POST",
     "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", NULL,
     POLICY_BINDING("x", "secrets", "'name':'s','namespace':'ns'"), NULL, NULL, 422},
    {"a policy that mutates by Secrets, in another version", "POST",
     "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies", NULL,
     "{'metadata':{'name':'x'},'spec':{'paramKind':{'apiVersion':'v1','kind':'Secret'},"
     "'reinvocationPolicy':'Never','matchConstraints':{'resourceRules':[{'operations':['CREATE'],"
     "'apiGroups':[''],'apiVersions':['v1'],'resources':['configmaps']}]},'mutations':[{"
     "'patchType':'JSONPatch','jsonPatch':{'expression':'[]'}}]}}",
     NULL, NULL, 422},
};

static int try(struct web *w, const struct attempt *t)
{
    w->content_type = t->type;
    w->header = t->header;
    w->header_value = t->value;
    int code = ask(w, t->method, t->path, t->body);
    w->content_type = w->header = NULL;
    return code;
}

/* The account holds nothing but what she began with. */
static bool is_weak(struct web *w)
{
    static const str groups[] = {STR_INIT("system:serviceaccounts"),
                                 STR_INIT("system:serviceaccounts:ns"),
                                 STR_INIT("system:authenticated")};
    struct user eve = {STR("system:serviceaccount:ns:eve"), groups, ARRAY_LEN(groups)};
    struct access x = access_to(STR("get"), &kind_secret, STR("ns"), STR("s"), STR_NONE);
    return !authorize(w->f.server, &eve, &x);
}

TEST(nobody_becomes_more_than_they_are)
{
    struct web w;
    cluster_init(&w);
    CHECK_INT(patch(&w.f, &kind_cluster_role, "", "system:aggregate-to-admin", API_PATCH_MERGE,
                    "{'rules':[]}"),
              200);
    w.token = token_of(&w, "eve");
    CHECK(is_weak(&w));
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        bool ok = CHECK_INT(try(&w, &attempts[i]), attempts[i].code);
        if (!CHECK(is_weak(&w)) || !ok)
            test_note("%s: %.*s", attempts[i].what, STR_ARG(str_sub(body(&w), 0, 400)));
    }
    web_done(&w);
}

TEST(refusals_of_roles_say_what_is_missing)
{
    static const struct {
        const char *path, *body, *why;
    } cases[] = {
        {CLUSTER_ROLES "/cluster-admin", "{'metadata':{'labels':{" TO_VIEW "}}}",
         "clusterroles.rbac.authorization.k8s.io \"cluster-admin\" is forbidden: user "
         "\"system:serviceaccount:ns:eve\" (groups=[\"system:serviceaccounts\" "
         "\"system:serviceaccounts:ns\" \"system:authenticated\"]) is attempting to grant RBAC "
         "permissions not currently held:\n"
         "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n"
         "{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"},
        {CLUSTER_ROLES "/parts", "{'aggregationRule':null}",
         "clusterroles.rbac.authorization.k8s.io \"parts\" is forbidden: must have cluster-admin "
         "privileges to use the aggregationRule"},
    };
    struct web w;
    cluster_init(&w);
    w.token = token_of(&w, "eve");
    w.content_type = MERGE;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ask(&w, "PATCH", cases[i].path, cases[i].body);
        check_status(&w, 403, "Forbidden", cases[i].why);
    }
    web_done(&w);
}

/* ---- what is allowed ---- */

static const struct attempt by_eve[] = {
    {"a role of what she holds", "POST", CLUSTER_ROLES, NULL,
     "{'metadata':{'name':'own','labels':{" TO_VIEW "}}," READ_PODS "}", NULL, NULL, 201},
    {"a label on what she holds", "PATCH", CLUSTER_ROLES "/reader", MERGE,
     "{'metadata':{'labels':{'a':'b'}}}", NULL, NULL, 200},
    {"which joins what others hold", "PATCH", CLUSTER_ROLES "/reader", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", NULL, NULL, 200},
    {"fewer rules", "PATCH", CLUSTER_ROLES "/reader", MERGE, "{'rules':[]}", NULL, NULL, 200},
    {"a role that is bound to others", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("own", REF("ClusterRole", "own"), "{'kind':'Group','name':'dev'}"), NULL, NULL, 201},
    {"an aggregate she holds whole is bound", "POST", BINDINGS, NULL,
     BINDING("views", REF("ClusterRole", "view"), "{'kind':'Group','name':'dev'}"), NULL, NULL,
     201},
    {"nothing at all", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE, "{}", NULL, NULL, 200},
    {"nothing at all of an aggregate", "PATCH", CLUSTER_ROLES "/admin", MERGE, "{}", NULL, NULL,
     200},
    {"a finalizer", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'finalizers':['example.com/f']}}", NULL, NULL, 200},
    {"no finalizer", "PATCH", CLUSTER_ROLES "/cluster-admin", JSON_PATCH,
     "[{'op':'remove','path':'/metadata/finalizers'}]", NULL, NULL, 200},
    {"an owner", "PATCH", CLUSTER_BINDINGS "/roots", STRATEGIC,
     "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Namespace','name':'ns','uid':'u'"
     "}]}}",
     NULL, NULL, 200},
    {"deleting", "DELETE", CLUSTER_BINDINGS "/roots", NULL, NULL, NULL, NULL, 200},
    {"a certificate for a group of no privilege", "POST", REQUESTS, NULL,
     CERTIFICATE("x", "kubernetes.io/kube-apiserver-client", REQUEST_DEV), NULL, NULL, 201},
    {"metadata beside a status that stays", "PATCH", REQUESTS "/open/status", MERGE,
     "{'metadata':{'annotations':{'a':'b'}}}", NULL, NULL, 200},
    {"a policy that reads what she reads", "POST", POLICIES, NULL, POLICY("x", "Pod", "true"), NULL,
     NULL, 201},
    {"and its binding", "POST",
     "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", NULL,
     POLICY_BINDING("x", "pods", "'name':'p'"), NULL, NULL, 201},
    {"an owner of a policy that reads more", "PATCH", POLICIES "/secrets", MERGE,
     "{'metadata':{'finalizers':['example.com/f']}}", NULL, NULL, 200},
};

static const struct attempt by_gil[] = {
    {"any role", "POST", CLUSTER_ROLES, NULL, "{'metadata':{'name':'any'}," ALL_RULES "}",
     "impersonate-user", "gil", 201},
    {"a label", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", "impersonate-user", "gil", 200},
    {"an aggregate", "POST", CLUSTER_ROLES, NULL, "{'metadata':{'name':'sum'}," EVERYTHING "}",
     "impersonate-user", "gil", 201},
    {"which is one no more", "PATCH", CLUSTER_ROLES "/sum", MERGE, "{'aggregationRule':null}",
     "impersonate-user", "gil", 200},
    {"what may be bound", "POST", BINDINGS, NULL,
     BINDING("g", REF("ClusterRole", "admin"), "{'kind':'User','name':'u'}"), "impersonate-user",
     "gil", 201},
    {"and nothing else", "POST", BINDINGS, NULL,
     BINDING("h", REF("ClusterRole", "cluster-admin"), "{'kind':'User','name':'u'}"),
     "impersonate-user", "gil", 403},
    {"escalate is for the resource it names", "POST", ROLES, NULL,
     "{'metadata':{'name':'x'},'rules':[{'apiGroups':['*'],'resources':['*'],'verbs':['*']}]}",
     "impersonate-user", "gil", 403},
};

static const struct attempt by_root[] = {
    {"an aggregate", "POST", CLUSTER_ROLES, NULL, "{'metadata':{'name':'sum'}," EVERYTHING "}",
     "impersonate-user", "root", 201},
    {"of something else", "PATCH", CLUSTER_ROLES "/sum", MERGE,
     "{'aggregationRule':{'clusterRoleSelectors':[{'matchLabels':{'a':'b'}}]}}", "impersonate-user",
     "root", 200},
    {"no more", "PATCH", CLUSTER_ROLES "/sum", MERGE, "{'aggregationRule':null}",
     "impersonate-user", "root", 200},
    {"a binding", "POST", CLUSTER_BINDINGS, NULL,
     BINDING("x", REF("ClusterRole", "cluster-admin"), "{'kind':'User','name':'u'}"),
     "impersonate-user", "root", 201},
};

#define COLLECTOR "system:serviceaccount:grove-system:garbage-collector"
#define AGGREGATOR "system:serviceaccount:grove-system:role-aggregator"

static const struct attempt by_controllers[] = {
    {"the garbage collector lets go of a role", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'ownerReferences':null,'finalizers':['foregroundDeletion']}}",
     "impersonate-user", COLLECTOR, 200},
    {"and grants nothing", "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE,
     "{'metadata':{'labels':{" TO_VIEW "}}}", "impersonate-user", COLLECTOR, 403},
    {"the aggregator writes what others hold", "PATCH", CLUSTER_ROLES "/parts", MERGE,
     "{" ALL_RULES "}", "impersonate-user", AGGREGATOR, 200},
};

static void check_attempts(struct web *w, const struct attempt *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!CHECK_INT(try(w, &t[i]), t[i].code))
            test_note("%s: %.*s", t[i].what, STR_ARG(str_sub(body(w), 0, 400)));
}

TEST(whoever_holds_a_right_may_pass_it_on)
{
    struct web w;
    cluster_init(&w);
    check_attempts(&w, by_gil, ARRAY_LEN(by_gil));
    web_done(&w);
    cluster_init(&w);
    check_attempts(&w, by_root, ARRAY_LEN(by_root));
    check_attempts(&w, by_controllers, ARRAY_LEN(by_controllers));
    w.token = token_of(&w, "eve");
    check_attempts(&w, by_eve, ARRAY_LEN(by_eve));
    web_done(&w);
}
