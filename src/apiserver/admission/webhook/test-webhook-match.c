/* Which webhook is asked about which write (webhook_match.c), as a table. */
#include "apiserver/admission/webhook.h"
#include "base/test.h"
#include "grove/types.h"

static struct doc *parse(struct arena *a, const char *json)
{
    char *text = xstrdup(json);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct doc *d = doc_parse_owned(text, strlen(text), NULL, NULL);
    REQUIRE(d);
    return doc_hold(a, d);
}

#define RULE(ops, groups, versions, resources)                                           \
    "'rules':[{'operations':[" ops "],'apiGroups':[" groups "],'apiVersions':[" versions \
    "],'resources':[" resources "]}]"
#define SCOPED(scope)                                                                         \
    "'rules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':['*'],'resources':['*/*']," \
    "'scope':'" scope "'}]"
#define ALL RULE("'*'", "'*'", "'*'", "'*/*'")
#define LABELLED(key, value) "{'metadata':{'labels':{'" key "':'" value "'}}}"

struct row {
    const char *why;
    const char *hook;
    const char *operation;
    const struct kind *kind;
    const char *sub, *ns;
    const char *object, *old, *ns_labels; /* NULL: none */
    const struct kind *as;                /* NULL: not asked */
};

static const struct row rows[] = {
    {"all", ALL, "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}", &kind_pod},
    {"operation", RULE("'CREATE'", "''", "'v1'", "'pods'"), "CREATE", &kind_pod, "", "ns", "{}",
     NULL, "{}", &kind_pod},
    {"other operation", RULE("'UPDATE','DELETE'", "''", "'v1'", "'pods'"), "CREATE", &kind_pod, "",
     "ns", "{}", NULL, "{}", NULL},
    {"second of several operations", RULE("'UPDATE','DELETE'", "''", "'v1'", "'pods'"), "DELETE",
     &kind_pod, "", "ns", NULL, "{}", "{}", &kind_pod},
    {"other group", RULE("'*'", "'apps'", "'*'", "'*'"), "CREATE", &kind_pod, "", "ns", "{}", NULL,
     "{}", NULL},
    {"group by star", RULE("'*'", "'*'", "'v1'", "'pods'"), "CREATE", &kind_pod, "", "ns", "{}",
     NULL, "{}", &kind_pod},
    {"other version", RULE("'*'", "''", "'v2'", "'pods'"), "CREATE", &kind_pod, "", "ns", "{}",
     NULL, "{}", NULL},
    {"other resource", RULE("'*'", "''", "'v1'", "'services'"), "CREATE", &kind_pod, "", "ns", "{}",
     NULL, "{}", NULL},
    {"no rules", "'rules':[]", "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}", NULL},
    {"second rule",
     "'rules':[{'operations':['DELETE'],'apiGroups':[''],'apiVersions':['v1'],'resources':['pods']}"
     ",{'operations':['CREATE'],'apiGroups':[''],'apiVersions':['v1'],'resources':['pods']}]",
     "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}", &kind_pod},
    {"two rules do not add up",
     "'rules':[{'operations':['DELETE'],'apiGroups':[''],'apiVersions':['v1'],'resources':['pods']}"
     ",{'operations':['CREATE'],'apiGroups':['x'],'apiVersions':['v1'],'resources':['pods']}]",
     "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}", NULL},
    /* subresources */
    {"a resource is not its subresources", RULE("'*'", "''", "'v1'", "'pods'"), "UPDATE", &kind_pod,
     "status", "ns", "{}", "{}", "{}", NULL},
    {"named subresource", RULE("'*'", "''", "'v1'", "'pods/status'"), "UPDATE", &kind_pod, "status",
     "ns", "{}", "{}", "{}", &kind_pod},
    {"other subresource", RULE("'*'", "''", "'v1'", "'pods/status'"), "CREATE", &kind_pod,
     "binding", "ns", "{}", NULL, "{}", NULL},
    {"all subresources", RULE("'*'", "''", "'v1'", "'pods/*'"), "CREATE", &kind_pod, "eviction",
     "ns", "{}", NULL, "{}", &kind_pod},
    {"a star behind the slash takes the resource too", RULE("'*'", "''", "'v1'", "'pods/*'"),
     "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}", &kind_pod},
    {"a star has no subresources", RULE("'*'", "'*'", "'*'", "'*'"), "UPDATE", &kind_pod, "status",
     "ns", "{}", "{}", "{}", NULL},
    {"scale of everything", RULE("'*'", "'*'", "'*'", "'*/scale'"), "UPDATE", &kind_deployment,
     "scale", "ns", "{}", "{}", "{}", &kind_deployment},
    {"scale of everything is scale only", RULE("'*'", "'*'", "'*'", "'*/scale'"), "UPDATE",
     &kind_deployment, "", "ns", "{}", "{}", "{}", NULL},
    /* scope */
    {"namespaced", SCOPED("Namespaced"), "CREATE", &kind_pod, "", "ns", "{}", NULL, "{}",
     &kind_pod},
    {"namespaced is not cluster", SCOPED("Namespaced"), "CREATE", &kind_node, "", "", "{}", NULL,
     NULL, NULL},
    {"cluster", SCOPED("Cluster"), "CREATE", &kind_node, "", "", "{}", NULL, NULL, &kind_node},
    {"cluster is not namespaced", SCOPED("Cluster"), "CREATE", &kind_pod, "", "ns", "{}", NULL,
     "{}", NULL},
    {"a namespace is a cluster's", SCOPED("Cluster"), "CREATE", &kind_namespace, "", "ns", "{}",
     NULL, "{}", &kind_namespace},
    {"a namespace is not namespaced", SCOPED("Namespaced"), "CREATE", &kind_namespace, "", "ns",
     "{}", NULL, "{}", NULL},
    {"either scope", SCOPED("*"), "CREATE", &kind_node, "", "", "{}", NULL, NULL, &kind_node},
    /* matchPolicy */
    {"equivalent version", RULE("'*'", "'autoscaling'", "'v1'", "'*'"), "CREATE", &kind_hpa, "",
     "ns", "{}", NULL, "{}", &kind_hpa_v1},
    {"its own version before an equivalent one", RULE("'*'", "'autoscaling'", "'*'", "'*'"),
     "CREATE", &kind_hpa, "", "ns", "{}", NULL, "{}", &kind_hpa},
    {"exact", RULE("'*'", "'autoscaling'", "'v1'", "'*'") ",'matchPolicy':'Exact'", "CREATE",
     &kind_hpa, "", "ns", "{}", NULL, "{}", NULL},
    {"exact and right", RULE("'*'", "'autoscaling'", "'v2'", "'*'") ",'matchPolicy':'Exact'",
     "CREATE", &kind_hpa, "", "ns", "{}", NULL, "{}", &kind_hpa},
    {"no equivalent", RULE("'*'", "'autoscaling'", "'v1'", "'*'"), "CREATE", &kind_pod, "", "ns",
     "{}", NULL, "{}", NULL},
    /* namespaceSelector */
    {"namespace by label", ALL ",'namespaceSelector':{'matchLabels':{'a':'b'}}", "CREATE",
     &kind_pod, "", "ns", "{}", NULL, "{'a':'b'}", &kind_pod},
    {"namespace without the label", ALL ",'namespaceSelector':{'matchLabels':{'a':'b'}}", "CREATE",
     &kind_pod, "", "ns", "{}", NULL, "{'a':'c'}", NULL},
    {"namespace without labels", ALL ",'namespaceSelector':{'matchLabels':{'a':'b'}}", "CREATE",
     &kind_pod, "", "ns", "{}", NULL, NULL, NULL},
    {"namespaces but some",
     ALL ",'namespaceSelector':{'matchExpressions':[{'key':'kubernetes.io/metadata.name',"
         "'operator':'NotIn','values':['kube-system']}]}",
     "CREATE", &kind_pod, "", "kube-system", "{}", NULL,
     "{'kubernetes.io/metadata.name':'kube-system'}", NULL},
    {"an empty selector", ALL ",'namespaceSelector':{}", "CREATE", &kind_pod, "", "ns", "{}", NULL,
     NULL, &kind_pod},
    {"what is in no namespace is not let off", ALL ",'namespaceSelector':{'matchLabels':{'a':'b'}}",
     "CREATE", &kind_node, "", "", "{}", NULL, NULL, &kind_node},
    {"a namespace is in itself", ALL ",'namespaceSelector':{'matchLabels':{'a':'b'}}", "UPDATE",
     &kind_namespace, "", "ns", "{}", "{}", "{'a':'c'}", NULL},
    /* objectSelector */
    {"object by label", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "CREATE", &kind_pod, "",
     "ns", LABELLED("a", "b"), NULL, "{}", &kind_pod},
    {"object without the label", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "CREATE",
     &kind_pod, "", "ns", "{}", NULL, "{}", NULL},
    {"object that had the label", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "UPDATE",
     &kind_pod, "", "ns", "{}", LABELLED("a", "b"), "{}", &kind_pod},
    {"object that gets the label", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "UPDATE",
     &kind_pod, "", "ns", LABELLED("a", "b"), "{}", "{}", &kind_pod},
    {"deleted object by its label", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "DELETE",
     &kind_pod, "", "ns", NULL, LABELLED("a", "b"), "{}", &kind_pod},
    {"nothing to select", ALL ",'objectSelector':{'matchLabels':{'a':'b'}}", "DELETE", &kind_pod,
     "", "ns", NULL, NULL, "{}", NULL},
    {"a selector nobody can read",
     ALL ",'objectSelector':{'matchExpressions':[{'key':'a','operator':'Wrong'}]}", "CREATE",
     &kind_pod, "", "ns", LABELLED("a", "b"), NULL, "{}", NULL},
    /* what nobody is asked about */
    {"validating configurations", ALL, "DELETE", &kind_validating_webhook, "", "", NULL, "{}", NULL,
     NULL},
    {"mutating configurations", ALL, "CREATE", &kind_mutating_webhook, "", "", "{}", NULL, NULL,
     NULL},
    /* custom resources are like the others */
    {"custom resource", RULE("'CREATE'", "'grove.io'", "'v1alpha1'", "'podcliquesets'"), "CREATE",
     &kind_pcs, "", "ns", "{}", NULL, "{}", &kind_pcs},
};

TEST(a_webhook_is_asked_about_what_its_rules_and_selectors_say)
{
    static const struct kind *const autoscalers[] = {&kind_hpa_v1, &kind_hpa};
    struct arena a = ARENA_INIT;
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        str json = arena_printf(&a, "{%s}", r->hook);
        bool has_versions = r->kind == &kind_hpa;
        struct hook_target t = {
            .operation = r->operation,
            .kind = r->kind,
            .equivalents = autoscalers,
            .n_equivalents = has_versions ? 2 : 0,
            .sub = str_of(r->sub),
            .ns = str_of(r->ns),
            .object = r->object ? doc_root(parse(&a, r->object)) : JVAL_ABSENT,
            .old_object = r->old ? doc_root(parse(&a, r->old)) : JVAL_ABSENT,
            .ns_labels = r->ns_labels ? doc_root(parse(&a, r->ns_labels)) : JVAL_ABSENT,
        };
        if (!CHECK(hook_match(&a, doc_root(parse(&a, json.p)), &t) == r->as))
            test_note("row: %s", r->why);
    }
    arena_done(&a);
}
