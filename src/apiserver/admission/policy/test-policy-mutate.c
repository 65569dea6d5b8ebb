/*
 * Admission policies that change what is written: a table of policies and writes, and what is
 * stored. Texts of refusals are those of kube-apiserver.
 */
#include "apiserver/admission/policy.h"
#include "apiserver/admission/webhook/test-webhook-fixture.h"
#include "apiserver/test-apiserver-fixture.h"

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
#define PODS MATCH("*", "", "v1", "pods")
#define DEPLOYMENTS MATCH("*", "apps", "v1", "deployments")
#define APPLIES(e) "{'patchType':'ApplyConfiguration','applyConfiguration':{'expression':'" e "'}}"
#define PATCHES(e) "{'patchType':'JSONPatch','jsonPatch':{'expression':'" e "'}}"
#define NEVER ",'reinvocationPolicy':'Never'"
#define APPLY(e) "'mutations':[" APPLIES(e) "]" NEVER
#define PATCH(e) "'mutations':[" PATCHES(e) "]" NEVER
#define DENIED "policy 'p' with binding 'b' denied request: "

static int make_map(struct fixture *f)
{
    return create(f, &kind_config_map, "ns",
                  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','labels':{'team':"
                  "'red'}},'data':{'a':'1','b':'2'}}");
}

static int change_map(struct fixture *f)
{
    return patch(f, &kind_config_map, "ns", "old", API_PATCH_MERGE, "{'data':{'a':'2'}}");
}

static int apply_map(struct fixture *f)
{
    struct api_request r = {
        .verb = API_PATCH,
        .kind = &kind_config_map,
        .ns = STR("ns"),
        .name = STR("c"),
        .patch = API_PATCH_APPLY,
        .field_manager = STR("me"),
        .body = fixture_doc(
            f, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'a':'1'}}"),
        .grace_seconds = -1,
        .propagation = API_PROPAGATION_DEFAULT,
    };
    return send(f, r);
}

static int make_deployment(struct fixture *f)
{
    return create(f, &kind_deployment, "ns",
                  "{'metadata':{'name':'n'},'spec':{'replicas':1,'selector':{'matchLabels':{"
                  "'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                  "'name':'c','image':'x'},{'name':'d','image':'y'}]}}}}");
}

static int change_policy(struct fixture *f)
{
    return patch(f, &kind_mutating_policy, "", "p", API_PATCH_MERGE,
                 "{'metadata':{'annotations':{'a':'b'}}}");
}

static int delete_map(struct fixture *f)
{
    return delete (f, &kind_config_map, "ns", "old");
}

static const struct row {
    const char *why;
    const char *policy;
    const char *binding; /* members of its spec, with a comma before */
    int (*act)(struct fixture *f);
    int code;
    const char *path, *value; /* in what is answered; of a refusal "message", '*' is anything */
} rows[] = {
    /* configurations */
    {"a field is set", DEPLOYMENTS "," APPLY("Object{spec: Object.spec{replicas: 1337}}"), "",
     make_deployment, 201, "spec.replicas", "1337"},
    {"a map gets a member",
     MAPS "," APPLY("Object{metadata: Object.metadata{labels: {`x/y`: `z`}}}"), "", make_map, 201,
     "metadata.labels", "{\"team\":\"red\",\"x/y\":\"z\"}"},
    {"an annotation where there was none",
     DEPLOYMENTS "," APPLY("Object{ metadata: Object.metadata{ annotations: {`mutated-by`: "
                           "`admission-policy`} } }"),
     "", make_deployment, 201, "metadata.annotations", "{\"mutated-by\":\"admission-policy\"}"},
    {"an item of a list by its key",
     DEPLOYMENTS "," APPLY("Object{spec: Object.spec{template: Object.spec.template{spec: "
                           "Object.spec.template.spec{containers: "
                           "[Object.spec.template.spec.containers{name: `d`, image: `z`}]}}}}"),
     "", make_deployment, 201, "spec.template.spec.containers.1.image", "z"},
    {"an item more",
     PODS "," APPLY("Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "
                    "`mesh`, image: `proxy:1`, restartPolicy: `Always`}]}}"),
     "", act_make_pod, 201, "spec.initContainers.0.restartPolicy", "Always"},
    {"what was added gets its defaults",
     PODS "," APPLY("Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "
                    "`mesh`, image: `proxy:1`}]}}"),
     "", act_make_pod, 201, "spec.initContainers.0.imagePullPolicy", "IfNotPresent"},
    {"all items",
     DEPLOYMENTS "," APPLY("Object{spec: Object.spec{template: Object.spec.template{spec: "
                           "Object.spec.template.spec{containers: "
                           "object.spec.template.spec.containers.map(c, "
                           "Object.spec.template.spec.containers{name: c.name, image: `mirror/` + "
                           "c.image})}}}}"),
     "", make_deployment, 201, "spec.template.spec.containers.1.image", "mirror/y"},
    {"nothing", MAPS "," APPLY("Object{}"), "", make_map, 201, "data", "{\"a\":\"1\",\"b\":\"2\"}"},
    {"an update", MAPS "," APPLY("Object{data: {`b`: oldObject.data.a + object.data.a}}"), "",
     change_map, 200, "data.b", "12"},
    {"an apply", MAPS "," APPLY("Object{data: {`b`: `9`}}"), "", apply_map, 201, "data.b", "9"},
    {"a kind of the users",
     MATCH("CREATE", "example.org", "*", "things") "," APPLY("Object{size: object.size + 4}"), "",
     act_make_thing, 201, "size", "7"},
    {"a scale",
     MATCH("*", "apps", "v1",
           "deployments/scale") "," APPLY("Object{spec: Object.spec{replicas: 2}}"),
     "", act_scale, 200, "spec.replicas", "2"},
    {"as another version",
     MATCH("*", "autoscaling", "v1", "horizontalpodautoscalers") "," APPLY(
         "Object{spec: Object.spec{targetCPUUtilizationPercentage: 70}}"),
     "", act_make_hpa, 201, "spec.metrics.0.resource.target.averageUtilization", "70"},
    /* operations */
    {"an operation", MAPS "," PATCH("[JSONPatch{op: `add`, path: `/data/c`, value: `3`}]"), "",
     make_map, 201, "data.c", "3"},
    {"a key with a slash",
     MAPS "," PATCH("[JSONPatch{op: `add`, path: `/metadata/labels/` + "
                    "jsonpatch.escapeKey(`x/y`), value: `1`}]"),
     "", make_map, 201, "metadata.labels", "{\"team\":\"red\",\"x/y\":\"1\"}"},
    {"an object as a value",
     MAPS "," PATCH("[JSONPatch{op: `add`, path: `/metadata/annotations`, value: "
                    "Object.metadata.annotations{a: `b`}}]"),
     "", make_map, 201, "metadata.annotations", "{\"a\":\"b\"}"},
    {"several",
     MAPS "," PATCH("[JSONPatch{op: `test`, path: `/data/a`, value: `1`}, "
                    "JSONPatch{op: `move`, from: `/data/a`, path: `/data/z`}, "
                    "JSONPatch{op: `copy`, from: `/data/z`, path: `/data/y`}, "
                    "JSONPatch{op: `remove`, path: `/data/b`}]"),
     "", make_map, 201, "data", "{\"z\":\"1\",\"y\":\"1\"}"},
    {"a test that says no changes nothing",
     MAPS "," PATCH("[JSONPatch{op: `remove`, path: `/data/b`}, JSONPatch{op: `test`, path: "
                    "`/data/a`, value: `7`}]"),
     "", make_map, 201, "data", "{\"a\":\"1\",\"b\":\"2\"}"},
    {"none",
     MAPS "," PATCH("object.data.a == `7` ? [JSONPatch{op: `remove`, path: `/data/b`}] : "
                    "[]"),
     "", make_map, 201, "data", "{\"a\":\"1\",\"b\":\"2\"}"},
    /* more than one, and which writes */
    {"each sees what the one before made",
     MAPS ",'mutations':[" APPLIES("Object{data: {`a`: `5`}}") "," PATCHES(
         "[JSONPatch{op: `add`, path: `/data/c`, value: "
         "object.data.a + variables.a}]") "]"
                                          ",'variables':[{'"
                                          "name':'a','"
                                          "expression':'"
                                          "object.data.a'}"
                                          "]" NEVER,
     "", make_map, 201, "data.c", "55"},
    {"another kind", MATCH("*", "", "v1", "secrets") "," APPLY("Object{data: {`a`: `9`}}"), "",
     make_map, 201, "data.a", "1"},
    {"another operation",
     MATCH("UPDATE", "", "v1", "configmaps") "," APPLY("Object{data: {`a`: `9`}}"), "", make_map,
     201, "data.a", "1"},
    {"a binding for somewhere else", MAPS "," APPLY("Object{data: {`a`: `9`}}"),
     ",'matchResources':{'namespaceSelector':{'matchLabels':{'no':'such'}}}", make_map, 201,
     "data.a", "1"},
    {"a condition that does not hold",
     MAPS ",'matchConditions':[{'name':'x','expression':'request.name == `d`'}]," APPLY(
         "Object{data: {`a`: `9`}}"),
     "", make_map, 201, "data.a", "1"},
    {"a condition that holds",
     MAPS ",'matchConditions':[{'name':'x','expression':'request.name == `c`'}]," APPLY(
         "Object{data: {`a`: `9`}}"),
     "", make_map, 201, "data.a", "9"},
    {"a deletion", MAPS "," APPLY("Object{data: {`a`: `9`}}"), "", delete_map, 200, "", ""},
    {"not the policies themselves",
     MATCH("*", "admissionregistration.k8s.io", "*",
           "*") "," APPLY("Object{metadata: Object.metadata{labels: {`x`: `y`}}}"),
     "", change_policy, 200, "metadata.labels", ""},
    /* parameters */
    {"parameters",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS
     "," APPLY("Object{data: {`a`: params.data.word}}"),
     ",'paramRef':{'name':'far','namespace':'default','parameterNotFoundAction':'Deny'}", make_map,
     201, "data.a", "far away"},
    {"each of several",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS
     "," APPLY("Object{data: {`a`: object.data.a + params.metadata.name}}"),
     ",'paramRef':{'selector':{'matchLabels':{'is':'params'}},'parameterNotFoundAction':'Deny'}",
     make_map, 201, "data.a", "1moreparams"},
    {"no parameters",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS "," APPLY("Object{}"),
     ",'paramRef':{'name':'none','parameterNotFoundAction':'Deny'}", make_map, 403, "message",
     DENIED "failed to configure binding: no params found for policy binding with `Deny` "
            "parameterNotFoundAction"},
    {"none are needed",
     "'paramKind':{'apiVersion':'v1','kind':'ConfigMap'}," MAPS
     "," APPLY("Object{data: {`a`: `9`}}"),
     ",'paramRef':{'name':'none','parameterNotFoundAction':'Allow'}", make_map, 201, "data.a", "1"},
    /* what fails */
    {"an error", MAPS "," APPLY("Object{data: {`a`: object.data.missing}}"), "", make_map, 403,
     "message",
     DENIED "expression 'Object{data: {'a': object.data.missing}}' resulted in error: no such "
            "key: missing"},
    {"an error that may be ignored",
     "'failurePolicy':'Ignore'," MAPS "," APPLY("Object{data: {`a`: object.data.missing}}"), "",
     make_map, 201, "data.a", "1"},
    {"the rest still runs",
     "'failurePolicy':'Ignore'," MAPS ",'mutations':[" APPLIES(
         "Object{data: {`a`: 1 / 0}}") "," APPLIES("Object{data: {`a`: `9`}}") "]" NEVER,
     "", make_map, 201, "data.a", "9"},
    {"a condition that fails",
     MAPS ",'matchConditions':[{'name':'x','expression':'object.missing == 1'}]," APPLY("Object{}"),
     "", make_map, 403, "message", DENIED "match condition \"x\": no such key: missing"},
    {"a field there is not", DEPLOYMENTS "," APPLY("Object{spec: Object.spec{colour: `red`}}"), "",
     make_deployment, 403, "message",
     DENIED "error applying patch: failed to convert patch object to typed object: .spec.colour: "
            "field not declared in schema"},
    {"a value of another type", DEPLOYMENTS "," APPLY("Object{spec: Object.spec{replicas: `x`}}"),
     "", make_deployment, 403, "message",
     DENIED "error applying patch: failed to convert patch object to typed object: "
            ".spec.replicas: expected numeric *"},
    {"the type of another place", DEPLOYMENTS "," APPLY("Object{spec: Object.wrong{replicas: 1}}"),
     "", make_deployment, 403, "message",
     DENIED "expression 'Object{spec: Object.wrong{replicas: 1}}' resulted in error: type "
            "mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", *"},
    {"what is one piece",
     PODS "," APPLY("Object{spec: Object.spec{nodeSelector: {`a`: `b`}, containers: "
                    "[Object.spec.containers{name: `c`, args: [`x`]}]}}"),
     "", act_make_pod, 403, "message",
     DENIED "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            "or structs: .spec.nodeSelector, .spec.containers[0].args"},
    {"an operation that cannot be done",
     MAPS "," PATCH("[JSONPatch{op: `remove`, path: `/data/missing`}]"), "", make_map, 403,
     "message", DENIED "JSON Patch: *"},
    {"another name",
     MAPS "," PATCH("[JSONPatch{op: `replace`, path: `/metadata/name`, value: `d`}]"), "", make_map,
     403, "message", DENIED "the mutation may not change what the object is or how it is called"},
    {"an unknown field",
     DEPLOYMENTS "," PATCH("[JSONPatch{op: `add`, path: `/spec/colour`, value: `red`}]"), "",
     make_deployment, 500, "message",
     "Internal error occurred: strict decoding error: unknown field \"spec.colour\""},
    {"what is invalid then is refused",
     DEPLOYMENTS "," APPLY("Object{spec: Object.spec{replicas: -1}}"), "", make_deployment, 422,
     "message", "Deployment.apps \"n\" is invalid: spec.replicas: *"},
};

static int put_policy(struct fixture *f, const char *name, const char *spec)
{
    return create(f, &kind_mutating_policy, "",
                  quoted(f, text_of(f, "{'metadata':{'name':'%s'},'spec':{%s}}", name, spec).p));
}

static int put_binding(struct fixture *f, const char *policy, const char *name, const char *spec)
{
    return create(
        f, &kind_mutating_policy_binding, "",
        text_of(f, "{'metadata':{'name':'%s'},'spec':{'policyName':'%s'%s}}", name, policy, spec)
            .p);
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

static void clean_up(struct fixture *f)
{
    CHECK_INT(delete (f, &kind_mutating_policy_binding, "", "b"), 200);
    CHECK_INT(delete (f, &kind_mutating_policy, "", "p"), 200);
    (void)delete (f, &kind_config_map, "ns", "c");
    (void)delete (f, &kind_deployment, "ns", "n");
}

/* "spec.containers.1.image" */
static str value_at(struct fixture *f, const char *path)
{
    jval v = f->doc ? doc_root(f->doc) : JVAL_ABSENT;
    for (str rest = str_of(path); rest.len;) {
        str part = str_cut(&rest, '.');
        uint64_t i;
        v = str_to_uint(part, &i) ? jat(v, (size_t)i) : jget(v, part);
    }
    return j_is_absent(v) ? STR_NONE : jtype(v) == J_STRING ? jstr(v) : jtext(v);
}

static void try_row(struct fixture *f, const struct row *row)
{
    (void)create(f, &kind_config_map, "ns", "{'metadata':{'name':'old'},'data':{'a':'1'}}");
    if (!CHECK_INT(put_policy(f, "p", row->policy), 201) ||
        !CHECK_INT(put_binding(f, "p", "b", row->binding), 201))
        test_note("%s: %.*s", row->why, STR_ARG(f->message));
    int code = row->act(f);
    str got = code >= 300 ? f->message : value_at(f, row->path);
    if (!CHECK_INT(code, row->code) ||
        !CHECK(!*row->path || hook_text_matches(str_of(row->value), got)))
        test_note("%s: %.*s %.*s", row->why, STR_ARG(got), STR_ARG(f->message));
    (void)delete (f, &kind_pod, "ns", "new");
    clean_up(f);
}

TEST(policies_change_what_is_written)
{
    struct fixture f;
    fixture_init(&f);
    furnish(&f);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        try_row(&f, &rows[i]);
    fixture_done(&f);
}

TEST(a_refusal_by_a_policy_that_mutates_names_all_that_failed)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, "p",
                         MAPS ",'mutations':[" APPLIES("Object{data: {`a`: 1 / 0}}") "," APPLIES(
                             "Object{data: {`a`: 1 % 0}}") "]" NEVER),
              201);
    CHECK_INT(put_binding(&f, "p", "b", ""), 201);
    CHECK_INT(make_map(&f), 403);
    CHECK_CSTR(f.reason, "Invalid");
    CHECK_CSTR(f.message, DENIED "expression 'Object{data: {'a': 1 / 0}}' resulted in error: "
                                 "division by zero");
    CHECK_CSTR(value_at(&f, "details.causes.1.message"),
               DENIED "expression 'Object{data: {'a': 1 % 0}}' resulted in error: modulus by zero");
    fixture_done(&f);
}

/* Names decide the order, and who wants to hears of what others changed after it. */
TEST(a_policy_has_its_say_again_when_it_wants_to_and_others_changed_the_object)
{
    static const struct {
        const char *first, *second; /* reinvocation policies */
        const char *data;
    } cases[] = {
        {"Never", "Never", "1ab"},
        {"IfNeeded", "Never", "1aba"},
        {"Never", "IfNeeded", "1ab"},
        {"IfNeeded", "IfNeeded", "1abab"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        const char *form = MAPS ",'mutations':[" APPLIES(
            "Object{data: {`a`: object.data.a + `%s`}}") "],'reinvocationPolicy':'%s'";
        CHECK_INT(put_policy(&f, "p1", text_of(&f, form, "a", cases[i].first).p), 201);
        CHECK_INT(put_policy(&f, "p2", text_of(&f, form, "b", cases[i].second).p), 201);
        CHECK_INT(put_binding(&f, "p2", "b1", ""), 201);
        CHECK_INT(put_binding(&f, "p1", "b2", ""), 201);
        CHECK_INT(make_map(&f), 201);
        CHECK_STR(value_at(&f, "data.a"), str_of(cases[i].data));
        fixture_done(&f);
    }
}

TEST(policies_mutate_before_webhooks_and_hear_of_what_those_change)
{
    struct hook_world w;
    hook_world_init(&w);
    CHECK_INT(hook_world_create(
                  &w, &kind_mutating_policy, "",
                  quoted(&w.f, "{'metadata':{'name':'p'},'spec':{" MAPS ",'mutations':[" APPLIES(
                                   "Object{data: {`n`: `x` + string(size(object.data"
                                   "))}}") "],'reinvocationPolicy':'IfNeeded'}}")),
              201);
    CHECK_INT(hook_world_create(&w, &kind_mutating_policy_binding, "",
                                "{'metadata':{'name':'b'},'spec':{'policyName':'p'}}"),
              201);
    w.by_path[0] = (struct hook_script){.patch = "[{'op':'add','path':'/data/hook','value':'1'}]"};
    hook_world_configure(&w, true, "x", "/0", CONFIG_MAPS ",'reinvocationPolicy':'IfNeeded'");
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    /* One member when the policy saw it first, three (its own among them) when again; the webhook
     * saw the first and, since the policy changed it, the second. */
    CHECK_CSTR(value_at(&w.f, "data"), "{\"a\":\"1\",\"n\":\"x3\",\"hook\":\"1\"}");
    CHECK_INT((int)w.asked, 2);
    CHECK_CSTR(jstr(jpath(doc_root(w.review), "request.object.data.n")), "x3");
    hook_world_done(&w);
}

TEST(a_policy_is_known_by_every_version_it_is_served_in)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_mutating_policy_v1beta1, "",
                     quoted(&f, "{'metadata':{'name':'p'},'spec':{" MAPS
                                "," APPLY("Object{data: {`a`: `9`}}") "}}")),
              201);
    CHECK_INT(create(&f, &kind_mutating_policy_binding_v1alpha1, "",
                     "{'metadata':{'name':'b'},'spec':{'policyName':'p'}}"),
              201);
    CHECK_INT(make_map(&f), 201);
    CHECK_CSTR(value_at(&f, "data.a"), "9");
    CHECK_INT(delete (&f, &kind_mutating_policy_binding, "", "b"), 200);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c"), 200);
    CHECK_INT(make_map(&f), 201);
    CHECK_CSTR(value_at(&f, "data.a"), "1");
    fixture_done(&f);
}

TEST(policies_that_mutate_are_in_force_when_the_server_starts)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put_policy(&f, "p", MAPS "," APPLY("Object{data: {`a`: `9`}}")), 201);
    CHECK_INT(put_binding(&f, "p", "b", ""), 201);
    struct policies *again = policies_new(f.server);
    CHECK_INT((int)policies_mutating(again), 1);
    policies_free(again);
    fixture_done(&f);
}

static const struct {
    const char *spec, *message;
} refused[] = {
    {MAPS "," APPLY("Object{data: nope}"),
     "*spec.mutations[0].applyConfiguration.expression: Invalid value: *compilation failed: *"
     "undeclared reference to 'nope' *"},
    {MAPS "," APPLY("true"), "*expression: Invalid value: *must evaluate to Object but got bool*"},
    {MAPS "," PATCH("Object{}"),
     "*spec.mutations[0].jsonPatch.expression: Invalid value: *must evaluate to list(JSONPatch) "
     "but got Object*"},
    {MAPS "," APPLY(" "), "*spec.mutations[0].applyConfiguration.expression: Required value*"},
    {MAPS ",'mutations':[{'patchType':'JSONPatch'}]" NEVER,
     "*spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
     "JSONPatch*"},
    {MAPS ",'mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':'[]'},"
          "'applyConfiguration':{'expression':'Object{}'}}]" NEVER,
     "*spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be "
     "specified when patchType is JSONPatch*"},
    {MAPS ",'mutations':[{'patchType':'Other'}]" NEVER,
     "*spec.mutations[0].patchType: Unsupported value: \"Other\"*"},
    {MATCH("DELETE", "", "v1", "configmaps") "," APPLY("Object{}"),
     "*spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported "
     "values: \"*\", \"CREATE\", \"UPDATE\"*"},
    {MAPS ",'mutations':[" APPLIES("Object{}") "]", "*spec.reinvocationPolicy: Required value*"},
    {MAPS ",'mutations':[]" NEVER, "*spec.mutations: Required value*"},
    {MAPS ",'variables':[{'name':'o','expression':'Object{}'}]," APPLY("Object{}"),
     "*spec.variables[0].expression: Invalid value: *undeclared reference to 'Object'*"},
};

TEST(a_policy_that_could_not_mutate_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CHECK_INT(put_policy(&f, "p", refused[i].spec), 422);
        if (!CHECK(hook_text_matches(str_of(refused[i].message), f.message)))
            test_note("%s: %.*s", refused[i].spec, STR_ARG(f.message));
    }
    CHECK_INT(put_binding(&f, "p", "b",
                          ",'matchResources':{'resourceRules':[{'operations':['DELETE'],"
                          "'apiGroups':[''],'apiVersions':['v1'],'resources':['configmaps']}]}"),
              422);
    CHECK(hook_text_matches(STR("*spec.matchResources.resourceRules.operations: Unsupported*"),
                            f.message));
    fixture_done(&f);
}
