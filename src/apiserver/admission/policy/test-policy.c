/*
 * Admission policies: a table of policies, bindings and writes, and what becomes of the writes.
 * Texts are those of kube-apiserver.
 */
#include "apiserver/admission/policy.h"
#include "apiserver/test-apiserver-fixture.h"
#include "base/log.h"

/* Quotes inside of expressions are written as `. */
static const char *quoted(struct fixture *f, const char *json)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (const char *p = json; *p; p++) {
        if (*p == '`')
            strbuf_add_cstr(&b, "\\u0027");
        else
            strbuf_add_char(&b, *p);
    }
    const char *out = arena_str(&f->arena, strbuf_str(&b)).p;
    strbuf_done(&b);
    return out;
}

#define MATCH(operation, group, version, resource)                                      \
    "'matchConstraints':{'resourceRules':[{'operations':['" operation "'],'apiGroups':" \
    "['" group "'],'apiVersions':['" version "'],'resources':['" resource "']}]}"
#define MAPS MATCH("*", "", "v1", "configmaps")
#define RULE(expression) "'validations':[{'expression':'" expression "'}]"
#define RULE_WITH(expression, more) "'validations':[{'expression':'" expression "'," more "}]"
#define DENY "'validationActions':['Deny']"
#define DENIED "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
#define MAP_DENIED "configmaps \"c\" is forbidden: " DENIED
#define MAP(more)                                                                           \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','labels':{'team':'red'}}" \
    ",'data':{'a':'1','b':'2'}" more "}"

/* ---- writes ---- */

static int make_map(struct fixture *f)
{
    return create(f, &kind_config_map, "ns", MAP(""));
}

static int change_map(struct fixture *f)
{
    return patch(f, &kind_config_map, "ns", "old", API_PATCH_MERGE, "{'data':{'a':'2'}}");
}

static int delete_map(struct fixture *f)
{
    return delete (f, &kind_config_map, "ns", "old");
}

static int make_namespace(struct fixture *f)
{
    return create(f, &kind_namespace, "", "{'metadata':{'name':'new','labels':{'x':'y'}}}");
}

static int evict_pod(struct fixture *f)
{
    return post_sub(f, "pod", "eviction",
                    "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'pod'}}");
}

static int bind(struct fixture *f)
{
    return bind_pod(f, "pod", "somewhere");
}

static int change_status(struct fixture *f)
{
    return patch_sub(f, &kind_pod, "ns", "pod", "status", API_PATCH_MERGE,
                     "{'status':{'phase':'Running'}}");
}

static int change_policy(struct fixture *f)
{
    return patch(f, &kind_validating_policy, "", "p", API_PATCH_MERGE,
                 "{'metadata':{'labels':{'a':'b'}}}");
}

/* ---- the table ---- */

static const struct row {
    const char *why;
    const char *policy, *binding; /* members of their specs */
    int (*act)(struct fixture *f);
    int code;
    const char *message; /* the whole of it, or its beginning when it ends with a star */
} rows[] = {
    {"nothing to complain about", MAPS "," RULE("object.data.a == `1`"), DENY, make_map, 201, ""},
    {"denied", MAPS "," RULE("object.data.a == `2`"), DENY, make_map, 422,
     MAP_DENIED "failed expression: object.data.a == '2'"},
    {"with a message", MAPS "," RULE_WITH("false", "'message':' no maps '"), DENY, make_map, 422,
     MAP_DENIED "no maps"},
    {"with a computed message",
     MAPS "," RULE_WITH("false", "'message':'x','messageExpression':'`not ` + object.data.b'"),
     DENY, make_map, 422, MAP_DENIED "not 2"},
    {"whose message cannot be computed",
     MAPS "," RULE_WITH("false", "'message':'x','messageExpression':'object.data.missing'"), DENY,
     make_map, 422, MAP_DENIED "x"},
    {"with a reason", MAPS "," RULE_WITH("false", "'reason':'Forbidden'"), DENY, make_map, 403,
     MAP_DENIED "failed expression: false"},
    {"too large", MAPS "," RULE_WITH("false", "'reason':'RequestEntityTooLarge'"), DENY, make_map,
     413, MAP_DENIED "*"},
    {"the first of two",
     MAPS ",'validations':[{'expression':'true'},{'expression':'1 == 2',"
          "'message':'one'},{'expression':'false','message':'two'}]",
     DENY, make_map, 422, MAP_DENIED "one"},
    {"an error denies", MAPS "," RULE("object.data.missing == `1`"), DENY, make_map, 422,
     MAP_DENIED "expression 'object.data.missing == '1'' resulted in error: no such key: missing"},
    {"an error that may be ignored",
     "'failurePolicy':'Ignore'," MAPS "," RULE("object.data.missing == `1`"), DENY, make_map, 201,
     ""},
    {"a refusal is no error", "'failurePolicy':'Ignore'," MAPS "," RULE("false"), DENY, make_map,
     422, MAP_DENIED "*"},
    {"no end",
     MAPS "," RULE("[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, "
                   "[1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, "
                   "[1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, "
                   "a+b+c+d+e+f > 0))))))"),
     DENY, make_map, 422, MAP_DENIED "*"},
    /* which writes */
    {"another kind", MATCH("*", "", "v1", "secrets") "," RULE("false"), DENY, make_map, 201, ""},
    {"another operation", MATCH("UPDATE", "", "v1", "configmaps") "," RULE("false"), DENY, make_map,
     201, ""},
    {"a binding for somewhere else", MAPS "," RULE("false"),
     DENY ",'matchResources':{'namespaceSelector':{'matchLabels':{'no':'such'}}}", make_map, 201,
     ""},
    {"a binding for here", MAPS "," RULE("false"),
     DENY ",'matchResources':{'namespaceSelector':{'matchLabels':{"
          "'kubernetes.io/metadata.name':'ns'}}}",
     make_map, 422, MAP_DENIED "*"},
    {"a binding for some names", MAPS "," RULE("false"),
     DENY ",'matchResources':{'resourceRules':[{'resourceNames':['d'],'operations':['*'],"
          "'apiGroups':['*'],'apiVersions':['*'],'resources':['*']}]}",
     make_map, 201, ""},
    {"labels of the object",
     "'matchConstraints':{'objectSelector':{'matchLabels':{'team':'blue'}},'resourceRules':[{"
     "'operations':['*'],'apiGroups':[''],'apiVersions':['v1'],'resources':['configmaps']}]}," RULE(
         "false"),
     DENY, make_map, 201, ""},
    {"excluded",
     "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':"
     "['*'],'resources':['*']}],'excludeResourceRules':[{'operations':['*'],'apiGroups':[''],"
     "'apiVersions':['v1'],'resources':['configmaps'],'resourceNames':['c']}]}," RULE("false"),
     DENY, make_map, 201, ""},
    {"a condition that does not hold",
     MAPS ",'matchConditions':[{'name':'x','expression':'request.name == `d`'}]," RULE("false"),
     DENY, make_map, 201, ""},
    {"a condition that fails",
     MAPS ",'matchConditions':[{'name':'x','expression':'object.missing == 1'}]," RULE("true"),
     DENY, make_map, 422, MAP_DENIED "match condition \"x\": no such key: missing"},
    {"by an equivalent version",
     MATCH("*", "autoscaling", "v1",
           "horizontalpodautoscalers") "," RULE("object.apiVersion == `autoscaling/v1` && "
                                                "object.spec.targetCPUUtilizationPercentage < 50"),
     DENY, act_make_hpa, 422,
     "horizontalpodautoscalers.autoscaling \"h\" is forbidden: " DENIED "*"},
    {"by its own version only",
     "'matchConstraints':{'matchPolicy':'Exact','resourceRules':[{'operations':['*'],'apiGroups':"
     "['autoscaling'],'apiVersions':['v1'],'resources':['horizontalpodautoscalers']}]}," RULE(
         "false"),
     DENY, act_make_hpa, 201, ""},
    /* what it sees */
    {"the one before", MAPS "," RULE_WITH("object.data.a == oldObject.data.a", "'message':'no'"),
     DENY, change_map, 422, "configmaps \"old\" is forbidden: " DENIED "no"},
    {"none before", MAPS "," RULE("oldObject == null"), DENY, make_map, 201, ""},
    {"a deletion",
     MATCH("DELETE", "", "v1", "configmaps") "," RULE("object == null && "
                                                      "oldObject.data.a == `2`"),
     DENY, delete_map, 422, "configmaps \"old\" is forbidden: " DENIED "*"},
    {"a deletion of what may go",
     MATCH("DELETE", "", "v1", "configmaps") "," RULE("object == null && oldObject.data.a == `1`"),
     DENY, delete_map, 200, ""},
    {"the request",
     MAPS "," RULE("request.operation == `CREATE` && request.kind.kind == `ConfigMap` && "
                   "request.resource.resource == `configmaps` && request.namespace == `ns` && "
                   "request.name == `c` && request.userInfo.username == `admin` && "
                   "`system:masters` in request.userInfo.groups && !request.dryRun"),
     DENY, make_map, 201, ""},
    {"the namespace", MAPS "," RULE("namespaceObject.metadata.name == `ns`"), DENY, make_map, 201,
     ""},
    {"no namespace", MATCH("*", "", "v1", "namespaces") "," RULE("namespaceObject != null"), DENY,
     make_namespace, 422, "namespaces \"new\" is forbidden: " DENIED "*"},
    {"variables",
     MAPS ",'variables':[{'name':'n','expression':'size(object.data)'},{'name':'twice',"
          "'expression':'variables.n * 2'},{'name':'never','expression':'1 / 0'}]," RULE(
              "variables.twice == 4"),
     DENY, make_map, 201, ""},
    {"variables in messages",
     MAPS ",'variables':[{'name':'n','expression':'size(object.data)'}]," RULE_WITH(
         "variables.n > 2", "'messageExpression':'`only ` + string(variables.n)'"),
     DENY, make_map, 422, MAP_DENIED "only 2"},
    {"the authorizer",
     MAPS
     "," RULE("authorizer.group(``).resource(`pods`).namespace(`ns`).check(`get`).allowed() && "
              "authorizer.path(`/healthz`).check(`get`).allowed() && "
              "authorizer.requestResource.check(`create`).allowed()"),
     DENY, make_map, 201, ""},
    {"the authorizer about another",
     MAPS "," RULE("authorizer.serviceAccount(`ns`, `default`).group(``).resource(`secrets`)."
                   "namespace(`ns`).check(`get`).allowed()"),
     DENY, make_map, 422, MAP_DENIED "*"},
    /* parameters */
    {"by name",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE("object.data.a "
                                                                         "== "
                                                                         "params.data.a"),
     DENY ",'paramRef':{'name':'params','parameterNotFoundAction':'Deny'}", make_map, 201, ""},
    {"in another namespace",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS
     "," RULE_WITH("false", "'messageExpression':'params.data.word'"),
     DENY ",'paramRef':{'name':'far','namespace':'default','parameterNotFoundAction':'Deny'}",
     make_map, 422, MAP_DENIED "far away"},
    {"that are not there",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE("true"),
     DENY ",'paramRef':{'name':'nobody','parameterNotFoundAction':'Deny'}", make_map, 422,
     MAP_DENIED "failed to configure binding: no params found for policy binding with `Deny` "
                "parameterNotFoundAction"},
    {"that need not be there",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE("false"),
     DENY ",'paramRef':{'name':'nobody','parameterNotFoundAction':'Allow'}", make_map, 201, ""},
    {"several of them",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE_WITH(
         "params.metadata.name != `params`", "'messageExpression':'`by ` + params.metadata.name'"),
     DENY ",'paramRef':{'selector':{'matchLabels':{'is':'params'}},'parameterNotFoundAction':"
          "'Deny'}",
     make_map, 422, MAP_DENIED "by params"},
    {"of a kind that is not",
     "'paramKind':{'apiVersion':'x/v1','kind':'Nothing'}," MAPS "," RULE("true"),
     DENY ",'paramRef':{'name':'x','parameterNotFoundAction':'Deny'}", make_map, 422,
     MAP_DENIED "failed to configure binding: failed to find resource referenced by paramKind: "
                "'x/v1, Kind=Nothing'"},
    {"namespaced ones for what is in none",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MATCH("*", "", "v1",
                                                                 "namespaces") "," RULE("true"),
     DENY ",'paramRef':{'name':'x','parameterNotFoundAction':'Deny'}", make_namespace, 422,
     "namespaces \"new\" is forbidden: " DENIED
     "failed to configure binding: cannot use namespaced paramRef in policy binding that matches "
     "cluster-scoped resources"},
    {"that the binding does not name",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE("params == null"), DENY,
     make_map, 201, ""},
    /* what is written */
    {"a pod",
     MATCH("CREATE", "", "v1", "pods") "," RULE("object.spec.containers.all(c, "
                                                "c.image.startsWith(`ok/`))"),
     DENY, act_make_pod, 422, "pods \"new\" is forbidden: " DENIED "*"},
    {"a scale",
     MATCH("UPDATE", "apps", "v1", "deployments/scale") "," RULE("object.kind == `Scale` "
                                                                 "&& "
                                                                 "object.spec.replicas < "
                                                                 "7"),
     DENY, act_scale, 422, "deployments.apps \"d\" is forbidden: " DENIED "*"},
    {"a scale is not the object", MATCH("UPDATE", "apps", "v1", "deployments") "," RULE("false"),
     DENY, act_scale, 200, ""},
    {"a status",
     MATCH("UPDATE", "", "v1", "pods/status") "," RULE("object.status.phase != "
                                                       "`Running`"),
     DENY, change_status, 422, "pods \"pod\" is forbidden: " DENIED "*"},
    {"a binding of a pod",
     MATCH("CREATE", "", "v1", "pods/binding") "," RULE("object.target.name != "
                                                        "`somewhere`"),
     DENY, bind, 422, "pods \"pod\" is forbidden: " DENIED "*"},
    {"an eviction",
     MATCH("CREATE", "", "v1", "pods/eviction") "," RULE("object.kind != `Eviction`"), DENY,
     evict_pod, 422, "pods \"pod\" is forbidden: " DENIED "*"},
    {"a kind of the users",
     MATCH("CREATE", "example.org", "*", "things") "," RULE("object.size < 3"), DENY,
     act_make_thing, 422, "things.example.org \"t\" is forbidden: " DENIED "*"},
    {"not the policies themselves",
     MATCH("*", "admissionregistration.k8s.io", "*", "*") "," RULE("false"), DENY, change_policy,
     200, ""},
};

static int put_policy(struct fixture *f, const char *spec)
{
    return create(f, &kind_validating_policy, "",
                  quoted(f, text_of(f, "{'metadata':{'name':'p'},'spec':{%s}}", spec).p));
}

static int put_binding(struct fixture *f, const char *spec)
{
    return create(f, &kind_validating_policy_binding, "",
                  text_of(f, "{'metadata':{'name':'b'},'spec':{'policyName':'p',%s}}", spec).p);
}

static void furnish(struct fixture *f)
{
    static const char crd[] =
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"
        "'name':'things.example.org'},'spec':{'group':'example.org','scope':'Namespaced','names':{"
        "'plural':'things','kind':'Thing'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object','properties':{'size':{'type':'integer'}}}}}]}"
        "}";
    CHECK_INT(create(f, &kind_crd, "", crd), 201);
    CHECK_INT(create(f, &kind_pod, "ns", POD("pod", "")), 201);
    CHECK_INT(create(f, &kind_config_map, "ns",
                     "{'metadata':{'name':'params','labels':{'is':'params'}},'data':{'a':'1'}}"),
              201);
    CHECK_INT(create(f, &kind_config_map, "ns",
                     "{'metadata':{'name':'more','labels':{'is':'params'}},'data':{'a':'1'}}"),
              201);
    CHECK_INT(create(f, &kind_config_map, "default",
                     "{'metadata':{'name':'far'},'data':{'word':'far away'}}"),
              201);
    CHECK_INT(create(f, &kind_deployment, "ns",
                     "{'metadata':{'name':'d'},'spec':{'replicas':1,'selector':{'matchLabels':{"
                     "'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                     "'name':'c','image':'x'}]}}}}"),
              201);
    fixture_run(f, 100 * 1000);
}

static bool message_is(str got, const char *want)
{
    size_t n = strlen(want);
    return n && want[n - 1] == '*' ? str_starts(got, str_n(want, n - 1)) : str_is(got, want);
}

static void try_row(struct fixture *f, const struct row *row)
{
    (void)create(f, &kind_config_map, "ns", "{'metadata':{'name':'old'},'data':{'a':'1'}}");
    (void)patch_sub(f, &kind_deployment, "ns", "d", "scale", API_PATCH_MERGE,
                    "{'spec':{'replicas':1}}");
    if (!CHECK_INT(put_policy(f, row->policy), 201) ||
        !CHECK_INT(put_binding(f, row->binding), 201))
        test_note("%s: %.*s", row->why, STR_ARG(f->message));
    int code = row->act(f);
    if (!CHECK_INT(code, row->code) || !CHECK(code < 300 || message_is(f->message, row->message)))
        test_note("%s: %.*s", row->why, STR_ARG(f->message));
    jval cause = jat(jpath(doc_root(f->doc), "details.causes"), 0);
    ptrdiff_t at = str_find(f->message, STR("ValidatingAdmissionPolicy"));
    if (code >= 300 && CHECK(at > 0))
        CHECK_STR(jstr(jgetc(cause, "message")), str_sub(f->message, (size_t)at, f->message.len));
    CHECK_INT(delete (f, &kind_validating_policy_binding, "", "b"), 200);
    CHECK_INT(delete (f, &kind_validating_policy, "", "p"), 200);
    (void)delete (f, &kind_config_map, "ns", "c");
}

TEST(policies_judge_writes)
{
    struct fixture f;
    fixture_init(&f);
    furnish(&f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        try_row(&f, &rows[i]);
    fixture_done(&f);
}

/* Parameters that are not looked at cannot refuse. */
TEST(more_parameters_than_are_looked_at_let_nothing_through)
{
    enum { LOOKED_AT = 1000 };
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < LOOKED_AT; i++)
        CHECK_INT(
            create(&f, &kind_config_map, "ns",
                   text_of(&f, "{'metadata':{'name':'p%04d','labels':{'is':'params'}}}", i).p),
            201);
    CHECK_INT(
        put_policy(&f, "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," RULE("true")),
        201);
    CHECK_INT(put_binding(&f, "'paramRef':{'selector':{'matchLabels':{'is':'params'}},"
                              "'parameterNotFoundAction':'Deny'}," DENY),
              201);
    CHECK_INT(make_map(&f), 201);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c"), 200);
    CHECK_INT(
        create(&f, &kind_config_map, "ns", "{'metadata':{'name':'zz','labels':{'is':'params'}}}"),
        201);
    CHECK_INT(make_map(&f), 422);
    CHECK(str_find(f.message, STR("paramRef selects more than 1000 objects")) > 0);
    fixture_done(&f);
}

/* A rule for any version of a kind is one for all of them, however many there are. */
TEST(a_policy_for_the_last_of_many_versions_concerns_the_first)
{
    enum { VERSIONS = 12 };
    struct fixture f;
    struct strbuf b = STRBUF_INIT(1 << 16);
    fixture_init(&f);
    strbuf_add_cstr(&b, "{'metadata':{'name':'manies.example.org'},'spec':{'group':'example.org',"
                        "'scope':'Namespaced','names':{'plural':'manies','kind':'Many'},"
                        "'versions':[");
    for (int i = 1; i <= VERSIONS; i++)
        strbuf_printf(&b,
                      "%s{'name':'v%d','served':true,'storage':%s,'schema':{'openAPIV3Schema':{"
                      "'type':'object'}}}",
                      i > 1 ? "," : "", i, i == 1 ? "true" : "false");
    strbuf_add_cstr(&b, "]}}");
    CHECK_INT(create(&f, &kind_crd, "", text_of(&f, "%s", b.p).p), 201);
    strbuf_done(&b);
    fixture_run(&f, 100 * 1000);
    CHECK_INT(put_policy(&f, MATCH("*", "example.org", "v12", "manies") "," RULE("false")), 201);
    CHECK_INT(put_binding(&f, DENY), 201);
    const struct kind *k = kind_by_name(STR("example.org"), STR("v1"), STR("Many"));
    REQUIRE(k);
    CHECK_INT(create(&f, k, "ns",
                     "{'apiVersion':'example.org/v1','kind':'Many','metadata':{'name':'m'}}"),
              422);
    fixture_done(&f);
}

TEST(a_policy_without_a_binding_is_not_in_force)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, MAPS "," RULE("false")), 201);
    CHECK_INT(make_map(&f), 201);
    CHECK_INT(delete_map(&f), 404);
    CHECK_INT(put_binding(&f, DENY), 201);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c"), 422);
    CHECK_INT(delete (&f, &kind_validating_policy_binding, "", "b"), 200);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c"), 200);
    fixture_done(&f);
}

TEST(a_binding_may_only_warn)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, MAPS "," RULE_WITH("false", "'message':'careful'")), 201);
    CHECK_INT(put_binding(&f, "'validationActions':['Warn','Audit']"), 201);
    CHECK_INT(make_map(&f), 201);
    CHECK_INT((int)f.n_warnings, 1);
    if (f.n_warnings)
        CHECK_CSTR(f.warnings[0],
                   "Validation failed for ValidatingAdmissionPolicy 'p' with binding "
                   "'b': careful");
    fixture_done(&f);
}

static void keep_remark(void *ctx, str line)
{
    ptrdiff_t at = str_find(line, STR("a policy remarks"));
    if (at >= 0)
        strbuf_add_str(ctx, str_sub(line, (size_t)at, line.len));
}

TEST(audit_annotations_are_logged_whatever_the_verdict)
{
    static const struct {
        const char *annotations, *rule;
        int code;
        const char *lines;
    } cases[] = {
        {"{'key':'owner','valueExpression':'object.metadata.name + `!`'}", "true", 201,
         "a policy remarks policy=p binding=b user=admin resource=configmaps namespace=ns name=c "
         "owner=c!\n"},
        {"{'key':'owner','valueExpression':'`x`'}", "false", 422,
         "a policy remarks policy=p binding=b user=admin resource=configmaps namespace=ns name=c "
         "owner=x\n"},
        {"{'key':'a','valueExpression':'null'},{'key':'b','valueExpression':'`2`'}", "true", 201,
         "a policy remarks policy=p binding=b user=admin resource=configmaps namespace=ns name=c "
         "b=2\n"},
        {"{'key':'a','valueExpression':'object.data.missing'}", "true", 422, ""},
        {"{'key':'a','valueExpression':'1'}", "true", 422, ""},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf lines = STRBUF_INIT(1 << 16);
        CHECK_INT(put_policy(&f, text_of(&f,
                                         MAPS ",'validations':[{'expression':'%s'}],"
                                              "'auditAnnotations':[%s]",
                                         cases[i].rule, cases[i].annotations)
                                     .p),
                  201);
        CHECK_INT(put_binding(&f, DENY), 201);
        log_set_level(LOG_LEVEL_INFO);
        log_set_sink(keep_remark, &lines);
        if (!CHECK_INT(make_map(&f), cases[i].code))
            test_note("%.*s", STR_ARG(f.message));
        log_set_sink(NULL, NULL);
        log_set_level(LOG_LEVEL_OFF);
        CHECK_CSTR(strbuf_str(&lines), cases[i].lines);
        strbuf_done(&lines);
        CHECK_INT(delete (&f, &kind_validating_policy_binding, "", "b"), 200);
        CHECK_INT(delete (&f, &kind_validating_policy, "", "p"), 200);
        (void)delete (&f, &kind_config_map, "ns", "c");
    }
    fixture_done(&f);
}

TEST(a_policy_that_changes_counts_at_once)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, MAPS "," RULE("false")), 201);
    CHECK_INT(put_binding(&f, DENY), 201);
    CHECK_INT(make_map(&f), 422);
    CHECK_INT(patch(&f, &kind_validating_policy, "", "p", API_PATCH_MERGE,
                    "{'spec':{'validations':[{'expression':'true'}]}}"),
              200);
    CHECK_INT(make_map(&f), 201);
    fixture_done(&f);
}

TEST(the_status_says_which_version_was_seen)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, MAPS "," RULE("true")), 201);
    fixture_run(&f, 100 * 1000);
    CHECK_INT(get(&f, &kind_validating_policy, "", "p"), 200);
    CHECK_CSTR(field(&f, "status.observedGeneration"), "1");
    CHECK_CSTR(field(&f, "status.typeChecking"), "{}");
    CHECK_INT(patch(&f, &kind_validating_policy, "", "p", API_PATCH_MERGE,
                    "{'spec':{'failurePolicy':'Ignore'}}"),
              200);
    fixture_run(&f, 100 * 1000);
    CHECK_INT(get(&f, &kind_validating_policy, "", "p"), 200);
    CHECK_CSTR(field(&f, "status.observedGeneration"), "2");
    fixture_done(&f);
}

#define RULES(groups, resources)                                                    \
    "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':[" groups \
    "],'apiVersions':['v1'],'resources':[" resources "]}]}"
#define UNDEFINED(kind, at, field, line, dots) \
    kind ": ERROR: <input>:1:" at ": undefined field '" field "'\n | " line "\n | " dots "^\n"

TEST(the_status_warns_of_what_does_not_fit_the_kinds)
{
    static const struct {
        const char *spec;
        const char *field, *warning; /* of the only one; NULL: there is none */
    } cases[] = {
        {RULES("''", "'configmaps'") "," RULE("object.foo > 1"), "spec.validations[0].expression",
         UNDEFINED("/v1, Kind=ConfigMap", "7", "foo", "object.foo > 1", "......")},
        {RULES("'apps'", "'deployments'") "," RULE("object.spec.replicass > 1"),
         "spec.validations[0].expression",
         UNDEFINED("apps/v1, Kind=Deployment", "12", "replicass", "object.spec.replicass > 1",
                   "...........")},
        {RULES("'apps'", "'deployments'") "," RULE("object.spec.replicas > 1"), NULL, NULL},
        {RULES("''", "'pods'") "," RULE("object.spec.containers.all(c, size(c.imag) > 0)"),
         "spec.validations[0].expression",
         UNDEFINED("/v1, Kind=Pod", "37", "imag", "object.spec.containers.all(c, size(c.imag) > 0)",
                   "....................................")},
        {RULES("''",
               "'configmaps'") "," RULE("object.metadata.labels.size() > oldObject.data.size()"),
         NULL, NULL},
        {RULES("'','apps'", "'secrets','deployments'") "," RULE("object.data.size() > 1"),
         "spec.validations[0].expression",
         UNDEFINED("apps/v1, Kind=Deployment", "7", "data", "object.data.size() > 1", "......")},
        {RULES("'','apps'", "'pods','deployments'") "," RULE("object.data.size() > 1"),
         "spec.validations[0].expression",
         UNDEFINED("/v1, Kind=Pod", "7", "data", "object.data.size() > 1", "......") "\n" UNDEFINED(
             "apps/v1, Kind=Deployment", "7", "data", "object.data.size() > 1", "......")},
        {RULES("'*'", "'configmaps'") "," RULE("object.foo > 1"), NULL, NULL},
        {RULES("''", "'*'") "," RULE("object.foo > 1"), NULL, NULL},
        {RULES("''", "'pods/status'") "," RULE("object.foo > 1"), NULL, NULL},
        {RULES("''", "'configmaps'") ",'variables':[{'name':'x','expression':'object.data'}]," RULE(
             "variables.x.size() > 1"),
         NULL, NULL},
        {RULES("''", "'configmaps'") ",'validations':[{'expression':'true','messageExpression':"
                                     "'object.nope'}]",
         "spec.validations[0].messageExpression",
         UNDEFINED("/v1, Kind=ConfigMap", "7", "nope", "object.nope", "......")},
        {RULES("''", "'configmaps'") ",'paramKind':{'apiVersion':'v1','kind':'Secret'}," RULE(
             "params.spec == 1"),
         "spec.validations[0].expression",
         UNDEFINED("/v1, Kind=ConfigMap", "7", "spec", "params.spec == 1", "......")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        if (!CHECK_INT(put_policy(&f, cases[i].spec), 201))
            test_note("%s", cases[i].spec);
        fixture_run(&f, 100 * 1000);
        CHECK_INT(get(&f, &kind_validating_policy, "", "p"), 200);
        jval warnings = jpath(doc_root(f.doc), "status.typeChecking.expressionWarnings");
        CHECK_INT(jlen(warnings), cases[i].field ? 1 : 0);
        if (cases[i].field) {
            CHECK_CSTR(jstr(jgetc(jat(warnings, 0), "fieldRef")), cases[i].field);
            CHECK_CSTR(jstr(jgetc(jat(warnings, 0), "warning")), cases[i].warning);
        }
        /* it is said no more when it is mended */
        CHECK_INT(patch(&f, &kind_validating_policy, "", "p", API_PATCH_MERGE,
                        "{'spec':{'validations':[{'expression':'true'}]}}"),
                  200);
        fixture_run(&f, 100 * 1000);
        CHECK_INT(get(&f, &kind_validating_policy, "", "p"), 200);
        CHECK_CSTR(field(&f, "status.typeChecking"), "{}");
        fixture_done(&f);
    }
}

TEST(policies_of_the_store_are_in_force_when_the_server_starts)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, MAPS "," RULE("false")), 201);
    CHECK_INT(put_binding(&f, DENY), 201);
    fixture_run(&f, 100 * 1000);
    apiserver_free(f.server);
    f.server = apiserver_new(f.loop, f.store);
    fixture_run(&f, 100 * 1000);
    CHECK_INT(make_map(&f), 422);
    fixture_done(&f);
}

/* ---- what is refused when it is written ---- */

static const struct {
    const char *policy, *why;
} refused[] = {
    {RULE("true"), "spec.matchConstraints: Required value"},
    {"'matchConstraints':{}," RULE("true"), "spec.matchConstraints.resourceRules: Required value"},
    {MATCH("MAKE", "", "v1", "pods") "," RULE("true"),
     "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"MAKE\""},
    {MAPS, "spec.validations: Required value: validations or auditAnnotations must be specified"},
    {MAPS ",'validations':[{'expression':' '}]",
     "spec.validations[0].expression: Required value: expression is not specified"},
    {MAPS "," RULE("object.x = 1"),
     "spec.validations[0].expression: Invalid value: \"object.x = 1\": compilation failed: ERROR: "
     "<input>:1:10: Syntax error"},
    {MAPS "," RULE("nothing == 1"), "undeclared reference to 'nothing' (in container '')"},
    {MAPS "," RULE("params.x == 1"), "undeclared reference to 'params'"},
    {MAPS "," RULE("variables.x == 1"), "undefined field 'x'"},
    {MAPS "," RULE("1 + 1"), "compilation failed: must evaluate to bool"},
    {MAPS "," RULE_WITH("true", "'messageExpression':'1'"),
     "spec.validations[0].messageExpression: Invalid value: \"1\": compilation failed: must "
     "evaluate to string"},
    {MAPS "," RULE_WITH("true", "'message':'a\\nb'"), "message must not contain line breaks"},
    {MAPS "," RULE_WITH("true", "'reason':'Because'"),
     "spec.validations[0].reason: Unsupported value: \"Because\""},
    {MAPS ",'matchConditions':[{'name':'a','expression':'1'}]," RULE("true"),
     "spec.matchConditions[0].expression: Invalid value: \"1\": compilation failed"},
    {MAPS
     ",'matchConditions':[{'name':'a','expression':'true'},{'name':'a','expression':'true'}]," RULE(
         "true"),
     "spec.matchConditions[1].name: Duplicate value: \"a\""},
    {MAPS ",'variables':[{'name':'a-b','expression':'true'}]," RULE("true"),
     "spec.variables[0].name: Invalid value: \"a-b\": name is not a valid CEL identifier"},
    {MAPS
     ",'variables':[{'name':'a','expression':'variables.b'},{'name':'b','expression':'1'}]," RULE(
         "true"),
     "spec.variables[0].expression: Invalid value"},
    {MAPS ",'auditAnnotations':[{'key':'k','valueExpression':'x y'}]",
     "spec.auditAnnotations[0].valueExpression: Invalid value: \"x y\": compilation failed"},
    {"'paramKind':{'kind':'ConfigMap'}," MAPS "," RULE("true"),
     "spec.paramKind.apiVersion: Required value"},
};

static const struct {
    const char *binding, *why;
} unbound[] = {
    {"'x':1", "spec.validationActions: Required value"},
    {"'validationActions':['Shout']", "spec.validationActions[0]: Unsupported value: \"Shout\""},
    {"'validationActions':['Deny','Warn']", "must not contain both Deny and Warn"},
    {"'validationActions':['Deny','Deny']", "spec.validationActions[1]: Duplicate value: \"Deny\""},
    {DENY ",'paramRef':{'parameterNotFoundAction':'Deny'}",
     "spec.paramRef: Required value: one of name or selector must be specified"},
    {DENY ",'paramRef':{'name':'a','selector':{},'parameterNotFoundAction':'Deny'}",
     "name and selector are mutually exclusive"},
    {DENY ",'paramRef':{'name':'a'}", "spec.paramRef.parameterNotFoundAction: Required value"},
};

TEST(a_policy_that_could_not_work_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (!CHECK_INT(put_policy(&f, refused[i].policy), 422) ||
            !CHECK(str_find(f.message, str_of(refused[i].why)) >= 0)) {
            test_note("got  %.*s", STR_ARG(f.message));
            test_note("want %s", refused[i].why);
        }
    for (size_t i = 0; i < ARRAY_LEN(unbound); i++)
        if (!CHECK_INT(put_binding(&f, unbound[i].binding), 422) ||
            !CHECK(str_find(f.message, str_of(unbound[i].why)) >= 0)) {
            test_note("got  %.*s", STR_ARG(f.message));
            test_note("want %s", unbound[i].why);
        }
    fixture_done(&f);
}
