/*
 * The webhooks: reviews in, answers out; who may touch managed objects; certificates that are
 * renewed before they end and trusted before they are served; and one server for real.
 */
#include "base/b64.h"
#include "base/test.h"
#include "grove/rbac_rules.h"
#include "grove/test-world.h"
#include "net/http.h"
#include "net/tls.h"
#include "operator/webhook/webhook_config.h"
#include "operator/webhook/webhook_server.h"
#include "json/patch.h"
#include "json/yaml.h"

#define DEFAULT "/webhooks/default-podcliqueset"
#define VALIDATE "/webhooks/validate-podcliqueset"
#define BINDING "/webhooks/validate-clustertopology"
#define AUTHORIZER "/webhooks/authorizer-webhook"

static struct arena arena;

/* ---- rules of a small world ---- */

static bool not_ready;
static const char *annotation; /* of the one set, svc in ml */

static bool is_ready(void *ctx)
{
    (void)ctx;
    return !not_ready;
}

static struct doc *yaml(const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_hold(&arena, yaml_parse_one(str_of(text), &err));
    if (!d)
        test_note("%s in %s", err.message, text);
    REQUIRE(d != NULL);
    return d;
}

static const struct obj *find_set(void *ctx, str ns, str name)
{
    (void)ctx;
    if (!str_is(ns, "ml") || !str_is(name, "svc"))
        return NULL;
    str text = arena_printf(&arena, "{metadata: {name: svc, namespace: ml, annotations: {%s}}}",
                            annotation ? annotation : "");
    return obj_hold(&arena, obj_new(&kind_pcs, doc_ref(yaml(text.p)), NULL));
}

static str strategy;

static const struct webhook_rules *rules(void)
{
    static struct webhook_rules r;
    static struct grove_context context;
    grove_kinds_init();
    context = grove_default_context;
    context.strategy = strategy;
    r = (struct webhook_rules){.context = &context,
                               .is_ready = is_ready,
                               .find_set = find_set,
                               .operator_user = STR("system:serviceaccount:grove:grove-operator"),
                               .exempt = webhook_default_exempt,
                               .n_exempt = webhook_n_default_exempt};
    return &r;
}

/* ---- asking ---- */

static struct webhook_reply ask_raw(const char *method, const char *path, const char *type,
                                    str body)
{
    struct webhook_reply reply;
    webhook_answer(rules(), &arena, str_of(method), str_of(path), str_of(type), body, &reply);
    return reply;
}

/* The response of a review whose request is written as YAML (uid u). */
static jval ask(const char *path, const char *request)
{
    str text = arena_printf(&arena,
                            "{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: "
                            "{uid: u, %s}}",
                            request);
    struct webhook_reply r = ask_raw("POST", path, "application/json", doc_text(yaml(text.p)));
    REQUIRE(r.code == 200);
    CHECK_CSTR(str_of(r.content_type), "application/json");
    struct doc *d = doc_hold(&arena, doc_parse(r.body, NULL, NULL));
    REQUIRE(d != NULL);
    CHECK_CSTR(jstr(jgetc(doc_root(d), "apiVersion")), "admission.k8s.io/v1");
    CHECK_CSTR(jstr(jgetc(doc_root(d), "kind")), "AdmissionReview");
    jval response = jgetc(doc_root(d), "response");
    CHECK_CSTR(jstr(jgetc(response, "uid")), "u");
    return response;
}

static bool is_allowed(jval response)
{
    return jbool(jgetc(response, "allowed"), false);
}

static str message(jval response)
{
    return jstr(jpath(response, "status.message"));
}

#define PCS \
    "resource: {group: grove.io, version: v1alpha1, resource: podcliquesets}, namespace: ml, "
#define CTB "resource: {group: grove.io, version: v1alpha1, resource: clustertopologybindings}, "
#define SET(replicas, rest)                                                                        \
    "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: svc, namespace: ml}, "   \
    "spec: {replicas: " replicas ", template: {cliqueStartupType: CliqueStartupTypeAnyOrder, "     \
    "terminationDelay: 4h0m0s, headlessServiceConfig: {publishNotReadyAddresses: true}, cliques: " \
    "[{name: fe, spec: {roleName: fe, replicas: 2, minAvailable: 1, podSpec: {restartPolicy: "     \
    "Always, terminationGracePeriodSeconds: 30, containers: [{name: c, image: i}]" rest "}}}]}}}"

/* ---- defaulting ---- */

/* ---- null ---- */

#define SET_WITH(spec, template, clique, pod)                                                      \
    "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: svc, namespace: ml, "    \
    "labels: null}, spec: {replicas: 1" spec ", template: {cliques: [{name: fe, spec: {roleName: " \
    "fe, replicas: 2, minAvailable: 1" clique                                                      \
    ", podSpec: {containers: [{name: c, image: i, env: null}]" pod "}}}]" template "}}}"

static const struct type *type_at(const struct type *t, const char *path)
{
    str rest = str_of(path);
    while (rest.len) {
        const struct field *f = type_field(t, str_cut(&rest, '.'));
        REQUIRE(f);
        t = f->type;
    }
    return t;
}

/* Every field of a set that may be left out may be null: API servers that do not prune pass it on
 * as it came. */
TEST(null_counts_as_absent)
{
    static const struct {
        const char *path, *has; /* fields that the set has already */
        const char *text;
    } places[] = {
        {"spec", ",replicas,template,", SET_WITH(", %s: null", "", "", "")},
        {"spec.template", ",cliques,", SET_WITH("", ", %s: null", "", "")},
        {"spec.template.cliques.spec", ",roleName,replicas,minAvailable,podSpec,",
         SET_WITH("", "", ", %s: null", "")},
        {"spec.template.cliques.spec.podSpec", ",containers,", SET_WITH("", "", "", ", %s: null")},
    };
    size_t n = 0;
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const struct type *t = type_at(kind_pcs.type, places[i].path);
        for (size_t j = 0; j < t->n_fields; j++) {
            str name = arena_str(&arena, field_name(&t->fields[j]));
            str mark = arena_printf(&arena, ",%.*s,", STR_ARG(name));
            if (str_find(str_of(places[i].has), mark) >= 0)
                continue;
            str set = arena_printf(&arena, places[i].text, name.p);
            str request = arena_printf(&arena, PCS "operation: CREATE, object: %.*s", STR_ARG(set));
            jval defaulted = ask(DEFAULT, request.p), judged = ask(VALIDATE, request.p);
            jval plain = ask(VALIDATE, PCS "operation: CREATE, object: " SET_WITH("", "", "", ""));
            /* The same is said of it as without the field: its default may be missing. */
            bool ok = CHECK(is_allowed(defaulted)) & CHECK_STR(message(judged), message(plain));
            if (!ok)
                test_note("%s.%.*s", places[i].path, STR_ARG(name));
            n++;
        }
    }
    test_note("%zu fields", n);
    CHECK(n > 40);
}

TEST(defaults_come_as_a_json_patch)
{
    jval r = ask(DEFAULT, PCS "operation: CREATE, object: {metadata: {name: svc}, spec: {template: "
                              "{cliques: [{name: fe, spec: {replicas: 2, podSpec: {}}}]}}}");
    CHECK(is_allowed(r));
    CHECK_CSTR(jstr(jgetc(r, "patchType")), "JSONPatch");
    struct strbuf text = STRBUF_INIT(1 << 20);
    REQUIRE(b64_decode(jstr(jgetc(r, "patch")), B64_STD, &text));
    struct doc *patch = doc_hold(&arena, doc_parse(strbuf_str(&text), NULL, NULL));
    struct doc *before =
        yaml("{metadata: {name: svc}, spec: {template: {cliques: [{name: fe, spec: "
             "{replicas: 2, podSpec: {}}}]}}}");
    struct doc *after = doc_hold(&arena, json_patch(doc_root(before), doc_root(patch), NULL));
    REQUIRE(after != NULL);
    CHECK(jequal(doc_root(after),
                 doc_root(yaml("{metadata: {name: svc, namespace: ml}, spec: {template: {cliques: "
                               "[{name: fe, spec: {roleName: fe, replicas: 2, minAvailable: 2, "
                               "podSpec: {restartPolicy: Always, terminationGracePeriodSeconds: "
                               "30}}}], terminationDelay: 4h0m0s, headlessServiceConfig: "
                               "{publishNotReadyAddresses: true}}}}"))));
    strbuf_done(&text);
    arena_done(&arena);
}

TEST(what_is_complete_gets_no_patch)
{
    jval r =
        ask(DEFAULT, PCS "operation: UPDATE, object: " SET("1", "") ", oldObject: " SET("1", ""));
    CHECK(is_allowed(r));
    CHECK(j_is_absent(jgetc(r, "patch")) && j_is_absent(jgetc(r, "patchType")));
    CHECK(j_is_absent(jgetc(r, "status")));
    arena_done(&arena);
}

/* The patch, as text; empty: none. */
static str patch_of(jval response)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    (void)b64_decode(jstr(jgetc(response, "patch")), B64_STD, &text);
    str out = arena_str(&arena, strbuf_str(&text));
    strbuf_done(&text);
    return out;
}

TEST(the_configured_strategy_is_for_new_sets_without_one)
{
    static const char *const said = "{\"type\":\"Coherent\"}";
    strategy = STR("Coherent");
    CHECK(str_find(patch_of(ask(DEFAULT, PCS "operation: CREATE, object: " SET("1", ""))),
                   str_of(said)) > 0);
    /* Who has none is left alone, whatever the configuration says now. */
    CHECK_CSTR(patch_of(ask(DEFAULT, PCS "operation: UPDATE, object: " SET(
                                         "2", "") ", oldObject: " SET("1", ""))),
               "");
    /* A manifest that does not say takes nothing away. */
    CHECK(str_find(patch_of(ask(DEFAULT, PCS "operation: UPDATE, object: " SET(
                                             "2", "") ", oldObject: {spec: {updateStrategy: "
                                                      "{type: Coherent}}}")),
                   str_of(said)) > 0);
    /* One that says is right. */
    CHECK(str_find(patch_of(ask(DEFAULT, PCS "operation: CREATE, object: {spec: "
                                             "{updateStrategy: {type: OnDelete}, template: {}}}")),
                   str_of(said)) < 0);
    strategy = STR_NONE;
    CHECK_CSTR(patch_of(ask(DEFAULT, PCS "operation: CREATE, object: " SET("1", ""))), "");
    arena_done(&arena);
}

TEST(defaulting_survives_wrong_types)
{
    CHECK(is_allowed(ask(DEFAULT, PCS "operation: CREATE, object: {spec: []}")));
    CHECK(is_allowed(ask(DEFAULT, PCS "operation: CREATE, object: {metadata: 3, spec: {template: "
                                      "{cliques: {a: b}}}}")));
    arena_done(&arena);
}

/* ---- validation ---- */

TEST(a_good_set_is_allowed)
{
    jval r = ask(VALIDATE, PCS "operation: CREATE, object: " SET("1", ""));
    if (!CHECK(is_allowed(r)))
        test_note("%.*s", STR_ARG(jtext(r)));
    CHECK(j_is_absent(jgetc(r, "warnings")));
    arena_done(&arena);
}

TEST(a_bad_set_is_denied_with_its_path)
{
    jval r = ask(VALIDATE, PCS "operation: CREATE, object: " SET("-1", ""));
    CHECK(!is_allowed(r));
    CHECK_INT(jint(jpath(r, "status.code"), 0), 403);
    CHECK_CSTR(jstr(jpath(r, "status.reason")), "Forbidden");
    CHECK(str_starts(message(r), STR("spec.replicas: Invalid value: -1: ")));
    arena_done(&arena);
}

TEST(several_errors_come_as_one_list)
{
    jval r = ask(VALIDATE, PCS "operation: CREATE, object: " SET("-1", ", nodeName: here"));
    CHECK(str_starts(message(r), STR("[spec.replicas: ")));
    CHECK(str_find(message(r), STR("podSpec.spec.nodeName: Invalid value: \"here\"")) > 0);
    arena_done(&arena);
}

TEST(warnings_are_handed_on)
{
    jval r = ask(VALIDATE,
                 PCS "operation: CREATE, object: {metadata: {name: svc, namespace: ml}, spec: "
                     "{replicas: 1, template: {cliqueStartupType: CliqueStartupTypeAnyOrder, "
                     "terminationDelay: 4h, cliques: [{name: fe, spec: {roleName: fe, replicas: 1, "
                     "minAvailable: 1, "
                     "podSpec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}}}");
    CHECK(is_allowed(r));
    CHECK_INT(jlen(jgetc(r, "warnings")), 1);
    arena_done(&arena);
}

TEST(updates_are_compared_with_what_was)
{
    jval r = ask(VALIDATE, PCS "operation: UPDATE, object: " SET(
                               "1", ", schedulerName: volcano") ", oldObject: " SET("1", ""));
    CHECK(!is_allowed(r));
    CHECK(str_starts(message(r), STR("spec.template.cliques.spec.podSpec.schedulerName: Invalid")));
    CHECK(is_allowed(ask(VALIDATE, PCS
                         "operation: UPDATE, object: " SET("5", "") ", oldObject: " SET("1", ""))));
    arena_done(&arena);
}

TEST(deletes_are_never_judged)
{
    CHECK(is_allowed(ask(VALIDATE, PCS "operation: DELETE, oldObject: " SET("-1", ""))));
    arena_done(&arena);
}

TEST(operations_nobody_has_heard_of_are_denied)
{
    static const char *const paths[] = {DEFAULT, VALIDATE};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CHECK_CSTR(message(ask(paths[i], PCS "operation: PATCH, object: {metadata: {name: x}}")),
                   "operation \"PATCH\" is not known");
        CHECK(!is_allowed(ask(paths[i], PCS "object: {metadata: {name: x}}")));
        CHECK(is_allowed(ask(paths[i], PCS "operation: CONNECT")));
        arena_done(&arena);
    }
}

TEST(bindings_are_validated)
{
    CHECK(is_allowed(ask(BINDING, CTB "operation: CREATE, object: {metadata: {name: t}, spec: "
                                      "{levels: [{domain: zone, key: z}]}}")));
    jval r = ask(BINDING, CTB "operation: CREATE, object: {metadata: {name: t}, spec: {levels: "
                              "[{domain: zone, key: z}, {domain: zone, key: y2}]}}");
    CHECK(!is_allowed(r));
    CHECK_CSTR(message(r), "spec.levels[1].domain: Duplicate value: \"zone\"");
    arena_done(&arena);
}

TEST(a_review_of_another_resource_is_denied_with_the_reason)
{
    jval r = ask(VALIDATE, CTB "operation: CREATE, object: {}");
    CHECK(!is_allowed(r));
    CHECK_INT(jint(jpath(r, "status.code"), 0), 400);
    CHECK(str_find(message(r), STR("judges podcliquesets.grove.io")) >= 0);
    r = ask(VALIDATE, PCS "subResource: scale, operation: UPDATE, object: {}, oldObject: {}");
    CHECK(!is_allowed(r));
    arena_done(&arena);
}

TEST(reviews_without_objects_are_denied)
{
    static const char *const requests[] = {
        PCS "operation: CREATE",
        PCS "operation: CREATE, object: 7",
        PCS "operation: CREATE, object: null",
        PCS "operation: UPDATE, object: " SET("1", ""),
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        jval r = ask(VALIDATE, requests[i]);
        CHECK(!is_allowed(r));
        CHECK_INT(jint(jpath(r, "status.code"), 0), 400);
    }
    arena_done(&arena);
}

TEST(nothing_is_allowed_before_the_cluster_is_known)
{
    not_ready = true;
    jval r = ask(VALIDATE, PCS "operation: CREATE, object: " SET("1", ""));
    CHECK(!is_allowed(r));
    CHECK_INT(jint(jpath(r, "status.code"), 0), 503);
    CHECK(str_find(message(r), STR("try again")) > 0);
    not_ready = false;
    arena_done(&arena);
}

/* ---- malformed ---- */

TEST(what_is_no_review_is_answered_400_with_a_text)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "\xff\xfe",
        "{\"kind\":\"AdmissionReview\"}",
        ("{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\",\"request\":"
         "{\"uid\":\"u\"}}"),
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":[]}",
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{}}",
        ("{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
         "{\"uid\":7}}"),
    };
    static const char *const paths[] = {DEFAULT, VALIDATE, BINDING, AUTHORIZER};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
            struct webhook_reply r =
                ask_raw("POST", paths[p], "application/json", str_of(bodies[i]));
            CHECK_INT(r.code, 400);
            CHECK(str_starts(r.body, STR("the body is no review: ")));
        }
    }
    arena_done(&arena);
}

TEST(deep_nesting_is_answered_400)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 100000; i++)
        strbuf_add_char(&b, '[');
    CHECK_INT(ask_raw("POST", VALIDATE, "application/json", strbuf_str(&b)).code, 400);
    strbuf_done(&b);
    arena_done(&arena);
}

TEST(other_paths_methods_and_types_are_refused)
{
    CHECK_INT(ask_raw("POST", "/webhooks/nope", "application/json", STR("{}")).code, 404);
    CHECK_INT(ask_raw("POST", "/", "application/json", STR("{}")).code, 404);
    CHECK_INT(ask_raw("GET", VALIDATE, "", STR("")).code, 405);
    CHECK_INT(ask_raw("POST", VALIDATE, "application/yaml", STR("{}")).code, 415);
    CHECK_INT(ask_raw("POST", VALIDATE, "application/json; charset=utf-8", STR("{}")).code, 400);
    arena_done(&arena);
}

/* ---- the authorizer ---- */

#define PCLQ "resource: {group: grove.io, version: v1alpha1, resource: podcliques}, name: c, "
#define POD "resource: {group: '', version: v1, resource: pods}, name: p, "
#define BY(user) "userInfo: {username: '" user "'}, "
#define CHILD "{metadata: {name: c, namespace: ml, labels: {app.kubernetes.io/part-of: svc}}}"
#define OURS "system:serviceaccount:grove:grove-operator"
#define GC "system:serviceaccount:kube-system:generic-garbage-collector"

TEST(only_the_operator_and_exempt_accounts_touch_managed_objects)
{
    static const struct {
        const char *request;
        bool allowed;
    } cases[] = {
        {PCLQ BY("ann") "operation: CREATE, object: " CHILD, false},
        {PCLQ BY("ann") "operation: UPDATE, object: {metadata: {}}, oldObject: " CHILD, false},
        {PCLQ BY("ann") "operation: DELETE, oldObject: " CHILD, false},
        {PCLQ BY(OURS) "operation: CREATE, object: " CHILD, true},
        {PCLQ BY(OURS) "operation: UPDATE, object: {}, oldObject: " CHILD, true},
        {PCLQ BY(OURS) "operation: DELETE, oldObject: " CHILD, true},
        {PCLQ BY(GC) "operation: DELETE, oldObject: " CHILD, true},
        {PCLQ BY(OURS "x") "operation: DELETE, oldObject: " CHILD, false},
        {PCLQ BY("") "operation: DELETE, oldObject: " CHILD, false},
        {POD BY("ann") "operation: DELETE, oldObject: " CHILD, true},
        {POD BY("ann") "operation: UPDATE, object: " CHILD ", oldObject: " CHILD, false},
        {POD BY("ann") "operation: CONNECT", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval r = ask(AUTHORIZER, cases[i].request);
        if (!CHECK(is_allowed(r) == cases[i].allowed))
            test_note("%s: %.*s", cases[i].request, STR_ARG(jtext(r)));
    }
    arena_done(&arena);
}

TEST(a_denial_says_what_to_change_instead)
{
    jval r = ask(AUTHORIZER, PCLQ BY("ann") "operation: DELETE, oldObject: " CHILD);
    CHECK_INT(jint(jpath(r, "status.code"), 0), 403);
    CHECK(str_find(message(r), STR("managed by PodCliqueSet \"svc\"")) > 0);
    CHECK(str_find(message(r), STR("grove.io/disable-managed-resource-protection=true")) > 0);
    arena_done(&arena);
}

TEST(the_label_of_the_old_object_counts)
{
    jval r =
        ask(AUTHORIZER, PCLQ BY("ann") "operation: UPDATE, object: {metadata: {labels: "
                                       "{app.kubernetes.io/part-of: other}}}, oldObject: " CHILD);
    CHECK(!is_allowed(r));
    arena_done(&arena);
}

TEST(what_belongs_to_no_set_is_allowed_with_a_warning)
{
    static const char *const objects[] = {
        "{metadata: {namespace: ml, labels: {app.kubernetes.io/part-of: gone}}}",
        "{metadata: {namespace: other, labels: {app.kubernetes.io/part-of: svc}}}",
        "{metadata: {namespace: ml}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        str request =
            arena_printf(&arena, PCLQ BY("ann") "operation: DELETE, oldObject: %s", objects[i]);
        jval r = ask(AUTHORIZER, request.p);
        CHECK(is_allowed(r));
        CHECK_INT(jlen(jgetc(r, "warnings")), 1);
    }
    arena_done(&arena);
}

TEST(an_annotation_on_the_set_opens_its_children)
{
    const char *request = PCLQ BY("ann") "operation: DELETE, oldObject: " CHILD;
    annotation = "grove.io/disable-managed-resource-protection: 'true'";
    CHECK(is_allowed(ask(AUTHORIZER, request)));
    annotation = "grove.io/disable-managed-resource-protection: 'yes'";
    CHECK(!is_allowed(ask(AUTHORIZER, request)));
    annotation = NULL;
    arena_done(&arena);
}

TEST(the_authorizer_fails_closed)
{
    static const struct {
        const char *request;
        int code;
    } cases[] = {
        {PCLQ BY("ann") "operation: PATCH, oldObject: " CHILD, 500},
        {PCLQ BY("ann") "operation: DELETE", 400},
        {PCLQ BY("ann") "operation: UPDATE, object: " CHILD, 400},
        {PCLQ BY("ann") "operation: CREATE, object: {metadata: 3}", 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval r = ask(AUTHORIZER, cases[i].request);
        CHECK(!is_allowed(r));
        CHECK_INT(jint(jpath(r, "status.code"), 0), cases[i].code);
    }
    not_ready = true;
    jval r = ask(AUTHORIZER, PCLQ BY("ann") "operation: DELETE, oldObject: " CHILD);
    CHECK(!is_allowed(r));
    CHECK_INT(jint(jpath(r, "status.code"), 0), 500);
    CHECK(is_allowed(ask(AUTHORIZER, PCLQ BY(OURS) "operation: DELETE, oldObject: " CHILD)));
    not_ready = false;
    arena_done(&arena);
}

/* ---- configurations ---- */

static const struct webhook_service service = {STR_INIT("grove"), STR_INIT("grove-operator"), 2750};

TEST(registrations_are_those_of_the_contract)
{
    static const struct {
        const char *kind, *config, *webhook, *path, *rules;
    } want[WEBHOOK_COUNT] = {
        {"MutatingWebhookConfiguration", "podcliqueset-defaulting-webhook",
         "pcs.defaulting.webhooks.grove.io", DEFAULT,
         "[{apiGroups: [grove.io], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], "
         "resources: [podcliquesets], scope: Namespaced}]"},
        {"ValidatingWebhookConfiguration", "podcliqueset-validating-webhook",
         "pcs.validating.webhooks.grove.io", VALIDATE,
         "[{apiGroups: [grove.io], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], "
         "resources: [podcliquesets], scope: Namespaced}]"},
        {"ValidatingWebhookConfiguration", "clustertopology-validating-webhook",
         "clustertopology.validating.webhooks.grove.io", BINDING,
         "[{apiGroups: [grove.io], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], "
         "resources: [clustertopologybindings], scope: Cluster}]"},
        {"ValidatingWebhookConfiguration", "authorizer-webhook", "authorizer.webhooks.grove.io",
         AUTHORIZER, NULL},
    };
    grove_kinds_init();
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        struct doc *d = doc_hold(&arena, webhook_config_doc(i, &service, STR("PEM")));
        jval root = doc_root(d), hook = jat(jgetc(root, "webhooks"), 0);
        CHECK_CSTR(jstr(jgetc(root, "kind")), want[i].kind);
        CHECK_CSTR(jstr(jpath(root, "metadata.name")), want[i].config);
        CHECK_CSTR(jstr(jgetc(hook, "name")), want[i].webhook);
        CHECK_CSTR(jstr(jpath(hook, "clientConfig.service.path")), want[i].path);
        CHECK_CSTR(jstr(jpath(hook, "clientConfig.service.name")), "grove-operator");
        CHECK_CSTR(jstr(jpath(hook, "clientConfig.service.namespace")), "grove");
        CHECK_CSTR(jstr(jpath(hook, "clientConfig.caBundle")), "UEVN");
        CHECK_CSTR(jtext(jgetc(hook, "admissionReviewVersions")), "[\"v1\"]");
        CHECK_CSTR(jstr(jgetc(hook, "failurePolicy")), "Fail");
        CHECK_CSTR(jstr(jgetc(hook, "matchPolicy")), "Exact");
        CHECK_CSTR(jstr(jgetc(hook, "sideEffects")), "None");
        CHECK_INT(jint(jgetc(hook, "timeoutSeconds"), 0), 10);
        if (want[i].rules)
            CHECK(jequal(jgetc(hook, "rules"), doc_root(yaml(want[i].rules))));
    }
    arena_done(&arena);
}

/* Otherwise, with the operator gone, nobody could take its finalizer away, and with an authorizer
 * that cannot be reached the operator could change nothing. */
TEST(what_needs_no_answer_is_not_asked)
{
    static const char *const want[WEBHOOK_COUNT] = {
        "[{name: not-being-deleted, expression: '!has(object.metadata.deletionTimestamp)'}]",
        "[{name: not-being-deleted, expression: '!has(object.metadata.deletionTimestamp)'}]",
        NULL,
        "[{name: not-the-operator, expression: \"request.userInfo.username != "
        "'system:serviceaccount:grove:grove-operator'\"}]",
    };
    grove_kinds_init();
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        struct doc *d = doc_hold(&arena, webhook_config_doc(i, &service, STR_NONE));
        jval found = jgetc(jat(jgetc(doc_root(d), "webhooks"), 0), "matchConditions");
        if (want[i])
            CHECK(jequal(found, doc_root(yaml(want[i]))));
        else
            CHECK(j_is_absent(found));
    }
    arena_done(&arena);
}

TEST(the_authorizer_is_asked_about_managed_objects_only)
{
    struct doc *d = doc_hold(&arena, webhook_config_doc(WEBHOOK_AUTHORIZER, &service, STR_NONE));
    jval hook = jat(jgetc(doc_root(d), "webhooks"), 0);
    CHECK(jequal(jgetc(hook, "objectSelector"),
                 doc_root(yaml("{matchLabels: {app.kubernetes.io/managed-by: grove-operator}}"))));
    CHECK(j_is_absent(jpath(hook, "clientConfig.caBundle")));
    CHECK(
        jequal(jgetc(hook, "rules"),
               doc_root(yaml("[{apiGroups: [''], apiVersions: [v1], resources: [secrets, "
                             "serviceaccounts, services], operations: [UPDATE, DELETE], scope: "
                             "Namespaced}, {apiGroups: [''], apiVersions: [v1], resources: [pods], "
                             "operations: [UPDATE], scope: Namespaced}, {apiGroups: "
                             "[rbac.authorization.k8s.io], apiVersions: [v1], resources: [roles, "
                             "rolebindings], operations: [UPDATE, DELETE], scope: Namespaced}, "
                             "{apiGroups: [autoscaling], apiVersions: [v1, v2], resources: "
                             "[horizontalpodautoscalers], operations: [UPDATE, DELETE], scope: "
                             "Namespaced}, {apiGroups: [grove.io], apiVersions: [v1alpha1], "
                             "resources: [podcliques, podcliquescalinggroups], operations: "
                             "[CREATE, UPDATE, DELETE], scope: Namespaced}, {apiGroups: "
                             "[scheduler.grove.io], apiVersions: [v1alpha1], resources: "
                             "[podgangs], operations: [CREATE, UPDATE, DELETE], scope: "
                             "Namespaced}]"))));
    arena_done(&arena);
}

/* ---- certificates ---- */

struct certs_world {
    struct test_world *t;
    struct webhook_cert_options o;
    unsigned n_made;
    bool made_ca, made_cert;
};

static int count_make(void *ctx, usec now, str ca, str ca_key, const char *san,
                      struct webhook_certs *ret, struct err *err)
{
    struct certs_world *c = ctx;
    c->n_made++;
    c->made_ca = str_is_empty(ca);
    c->made_cert = san != NULL;
    return webhook_make_certs(NULL, now, ca, ca_key, san, ret, err);
}

static void certs_init(struct certs_world *c)
{
    *c = (struct certs_world){.t = tw_new()};
    (void)runtime_cache(c->t->runtime, &kind_secret);
    (void)runtime_cache(c->t->runtime, &kind_mutating_webhook);
    (void)runtime_cache(c->t->runtime, &kind_validating_webhook);
    c->o = (struct webhook_cert_options){
        .service = service, .secret = STR(WEBHOOK_SECRET), .make = count_make, .ctx = c};
}

static void certs_done(struct certs_world *c)
{
    tw_free(c->t);
    arena_done(&arena);
}

static str certs_plan(struct certs_world *c)
{
    (void)tw_plan(c->t, webhook_cert_plan, &c->o, &kind_secret, "x");
    return tw_writes(c->t);
}

static struct obj *secret_of(struct certs_world *c)
{
    return world_get(&c->t->world, &kind_secret, STR("grove"), STR(WEBHOOK_SECRET));
}

static str secret_value(struct certs_world *c, const char *key)
{
    REQUIRE(secret_of(c) != NULL);
    return webhook_secret_value(&arena, secret_of(c), key);
}

static void load_configs(struct certs_world *c)
{
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        struct doc *d = doc_hold(&arena, webhook_config_doc(i, &service, STR_NONE));
        tw_loadf(c->t, "%.*s", STR_ARG(doc_text(d)));
    }
}

TEST(the_first_certificate_is_made_and_stored)
{
    struct certs_world c;
    certs_init(&c);
    CHECK_CSTR(certs_plan(&c), "create Secret grove/grove-webhook-server-cert\n");
    jval body = tw_body(c.t, &kind_secret, WEBHOOK_SECRET, "");
    CHECK_CSTR(jstr(jgetc(body, "type")), "kubernetes.io/tls");
    CHECK_CSTR(jtext(jpath(body, "metadata.labels")),
               "{\"app.kubernetes.io/component\":\"operator-webhook-server-secret\","
               "\"app.kubernetes.io/part-of\":\"grove\"}");
    static const char *const keys[] = {"tls.crt", "tls.key", "ca.crt", "ca.key"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        CHECK(!str_is_empty(jstr(jget(jgetc(body, "data"), str_of(keys[i])))));
    tw_carry_out(c.t);
    usec end = 0;
    CHECK(pki_not_after(secret_value(&c, "tls.crt"), &end, NULL) == 0);
    CHECK(end > c.t->world.now + 300 * USEC_PER_DAY);
    CHECK_CSTR(certs_plan(&c), "");
    CHECK_INT(c.n_made, 1);
    certs_done(&c);
}

/* Somebody else's merge patch of the Secret. */
static void change_secret(struct certs_world *c, const char *yaml)
{
    struct doc *patch = doc_hold(&arena, yaml_parse_one(str_of(yaml), NULL));
    struct doc *d = json_merge_patch(obj_root(secret_of(c)), doc_root(patch), NULL);
    str text = doc_text(doc_hold(&arena, d));
    tw_loadf(c->t, "%.*s", STR_ARG(text));
}

/* Who waits until nothing of any set is left goes by managed-by. */
TEST(the_secret_is_no_child_of_a_set)
{
    struct certs_world c;
    certs_init(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    /* as version 0.1.0 left it */
    change_secret(&c, "{metadata: {labels: {app.kubernetes.io/managed-by: grove-operator, "
                      "app.kubernetes.io/component: webhook}}}");
    CHECK_CSTR(certs_plan(&c), "patch Secret grove/grove-webhook-server-cert\n");
    tw_carry_out(c.t);
    CHECK_CSTR(obj_label(secret_of(&c), STR("app.kubernetes.io/managed-by")), "");
    CHECK_CSTR(obj_label(secret_of(&c), STR("app.kubernetes.io/component")),
               "operator-webhook-server-secret");
    CHECK_CSTR(certs_plan(&c), "");
    /* what others make of its labels is theirs */
    change_secret(&c, "{metadata: {labels: {app.kubernetes.io/component: null, a: b}}}");
    CHECK_CSTR(certs_plan(&c), "");
    CHECK_INT(c.n_made, 1);
    certs_done(&c);
}

static bool names_object(const struct rbac_role *role, const char *resource, const char *name)
{
    for (size_t i = 0; i < role->n_rules; i++) {
        const struct rbac_rule *r = &role->rules[i];
        if (!r->resources || !r->names || strcmp(r->resources, resource) != 0)
            continue;
        str rest = str_of(r->names);
        while (rest.p)
            if (str_is(str_cut(&rest, ','), name))
                return true;
    }
    return false;
}

/* The role of an installation lets the operator see these objects by name and no others. */
TEST(roles_name_what_the_webhooks_need)
{
    bool secret = false, configs[WEBHOOK_COUNT] = {0};
    for (size_t i = 0; rbac_role_at(i); i++) {
        const struct rbac_role *role = rbac_role_at(i);
        if (!role->accounts || strcmp(role->accounts, "grove-operator") != 0)
            continue;
        secret |= role->ns && names_object(role, "secrets", WEBHOOK_SECRET);
        for (size_t k = 0; k < WEBHOOK_COUNT; k++)
            configs[k] |=
                names_object(role, webhook_config_kind(k)->plural, webhook_config_name(k));
        for (size_t k = 0; k < role->n_rules; k++)
            if (role->rules[k].resources && strstr(role->rules[k].resources, "webhookconfig"))
                CHECK(role->rules[k].names != NULL);
    }
    CHECK(secret);
    for (size_t k = 0; k < WEBHOOK_COUNT; k++)
        CHECK(configs[k]);
}

TEST(names_are_those_of_the_service)
{
    CHECK_CSTR(webhook_san(&arena, &service),
               "DNS:grove-operator.grove.svc,DNS:grove-operator,DNS:grove-operator.grove,"
               "DNS:grove-operator.grove.svc.cluster.local");
    arena_done(&arena);
}

TEST(configurations_are_given_the_bundle_and_again_when_they_lose_it)
{
    struct certs_world c;
    certs_init(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    load_configs(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    CHECK_CSTR(certs_plan(&c), "");
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        struct obj *o = tw_must(c.t, webhook_config_kind(i), webhook_config_name(i));
        jval hook = jat(jgetc(obj_root(o), "webhooks"), 0);
        CHECK_STR(jstr(jpath(hook, "clientConfig.caBundle")),
                  jstr(jget(jgetc(obj_root(secret_of(&c)), "data"), STR("ca.crt"))));
    }
    struct doc *bare =
        doc_hold(&arena, webhook_config_doc(WEBHOOK_VALIDATE_SET, &service, STR_NONE));
    tw_remove(c.t, &kind_validating_webhook, "podcliqueset-validating-webhook");
    tw_loadf(c.t, "%.*s", STR_ARG(doc_text(bare)));
    CHECK_CSTR(certs_plan(&c),
               "patch ValidatingWebhookConfiguration podcliqueset-validating-webhook\n");
    certs_done(&c);
}

TEST(a_certificate_is_renewed_a_third_of_its_life_before_its_end)
{
    struct certs_world c;
    certs_init(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    load_configs(&c);
    (void)certs_plan(&c);
    usec due = tw_look_at(c.t);
    tw_carry_out(c.t);
    str ca = secret_value(&c, "ca.crt"), cert = secret_value(&c, "tls.crt");
    c.t->world.now = due - USEC_PER_DAY;
    CHECK_CSTR(certs_plan(&c), "");
    c.t->world.now = due + 1;
    CHECK_CSTR(certs_plan(&c), "patch Secret grove/grove-webhook-server-cert\n");
    CHECK(!c.made_ca && c.made_cert);
    tw_carry_out(c.t);
    /* Trusted by the bundle that configurations have: none of them changes. */
    CHECK_STR(secret_value(&c, "ca.crt"), ca);
    CHECK(!str_eq(secret_value(&c, "tls.crt"), cert));
    CHECK_CSTR(certs_plan(&c), "");
    certs_done(&c);
}

TEST(a_new_authority_is_trusted_before_it_is_served)
{
    struct certs_world c;
    certs_init(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    load_configs(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    /* Nine years on, with a certificate that was renewed in time. */
    for (int year = 0; year < 9; year++) {
        c.t->world.now += 300 * USEC_PER_DAY;
        if (!str_is_empty(certs_plan(&c)))
            tw_carry_out(c.t);
    }
    str cert = secret_value(&c, "tls.crt"), ca = secret_value(&c, "ca.crt");
    usec end = 0;
    REQUIRE(pki_not_after(ca, &end, NULL) == 0);
    c.t->world.now = MAX(c.t->world.now, end - 2 * 365 * USEC_PER_DAY + USEC_PER_DAY);
    REQUIRE(pki_not_after(cert, &end, NULL) == 0);
    if (end < c.t->world.now + 200 * USEC_PER_DAY) { /* not both at one time */
        (void)certs_plan(&c);
        tw_carry_out(c.t);
    }
    cert = secret_value(&c, "tls.crt");
    for (int i = 0; i < 2 && str_eq(secret_value(&c, "ca.crt"), ca); i++) {
        (void)certs_plan(&c);
        tw_carry_out(c.t);
    }
    /* Both are in the Secret; the certificate is still the old one's. */
    str both = secret_value(&c, "ca.crt");
    CHECK(str_ends(both, ca) && both.len > ca.len);
    CHECK_STR(secret_value(&c, "tls.crt"), cert);
    str writes = certs_plan(&c); /* configurations first */
    CHECK(str_find(writes, STR("Secret")) < 0);
    CHECK(str_find(writes, STR("podcliqueset-defaulting-webhook")) > 0);
    tw_carry_out(c.t);
    CHECK_CSTR(certs_plan(&c), "patch Secret grove/grove-webhook-server-cert\n");
    tw_carry_out(c.t);
    CHECK(!str_eq(secret_value(&c, "tls.crt"), cert));
    CHECK_CSTR(certs_plan(&c), "");
    certs_done(&c);
}

TEST(a_secret_of_no_use_is_filled)
{
    static const char *const data[] = {
        "{tls.crt: '', tls.key: '', ca.crt: ''}", /* as upstream makes it */
        "{tls.crt: bm90IHBlbQ==, tls.key: eA==, ca.crt: eA==}",
        "{}",
    };
    for (size_t i = 0; i < ARRAY_LEN(data); i++) {
        struct certs_world c;
        certs_init(&c);
        tw_loadf(c.t,
                 "{apiVersion: v1, kind: Secret, metadata: {name: grove-webhook-server-cert, "
                 "namespace: grove}, data: %s}",
                 data[i]);
        CHECK_CSTR(certs_plan(&c), "patch Secret grove/grove-webhook-server-cert\n");
        CHECK(c.made_ca && c.made_cert);
        tw_carry_out(c.t);
        CHECK_CSTR(certs_plan(&c), "");
        certs_done(&c);
    }
}

TEST(other_names_need_another_certificate)
{
    struct certs_world c;
    certs_init(&c);
    (void)certs_plan(&c);
    tw_carry_out(c.t);
    c.o.service.name = STR("renamed");
    CHECK_CSTR(certs_plan(&c), "patch Secret grove/grove-webhook-server-cert\n");
    CHECK(!c.made_ca && c.made_cert);
    certs_done(&c);
}

/* ---- for real ---- */

struct real {
    struct loop *loop;
    struct webhook_server *server;
    struct http_client *client;
    struct tls_client *tls;
    struct http_call call;
    struct strbuf body;
    int status;
    bool ended, failed;
};

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct real *r = c->ctx;
    (void)h;
    (void)n;
    r->status = status;
}

static void on_data(struct http_call *c, str data)
{
    strbuf_add_str(&((struct real *)c->ctx)->body, data);
}

static void on_end(struct http_call *c, const struct err *err)
{
    struct real *r = c->ctx;
    r->ended = true;
    r->failed = err != NULL;
    loop_stop(r->loop, 0);
}

static void connect_to(struct real *r, str ca)
{
    struct err err = ERR_INIT;
    str address = str_of(webhook_server_address(r->server));
    int64_t port = 0;
    REQUIRE(
        str_to_int(str_sub(address, (size_t)str_rfind_char(address, ':') + 1, address.len), &port));
    r->tls = tls_client_new(ca, STR_NONE, STR_NONE, false, &err);
    REQUIRE(r->tls != NULL);
    struct http_client_options o = {.host = "localhost", .port = (int)port, .tls = r->tls};
    r->client = http_client_new(r->loop, &o);
}

static void disconnect(struct real *r)
{
    http_client_free(r->client);
    tls_client_free(r->tls);
}

static void post(struct real *r, str body)
{
    static const struct http_header json = {STR_INIT("content-type"), STR_INIT("application/json")};
    strbuf_reset(&r->body);
    r->status = 0;
    r->ended = r->failed = false;
    r->call = (struct http_call){.method = STR("POST"),
                                 .path = STR(VALIDATE),
                                 .headers = &json,
                                 .n_headers = 1,
                                 .body = body,
                                 .timeout = 20 * USEC_PER_SEC,
                                 .on_headers = on_headers,
                                 .on_data = on_data,
                                 .on_end = on_end,
                                 .ctx = r};
    http_client_send(r->client, &r->call);
    while (!r->ended)
        (void)loop_run(r->loop);
}

static const char good_review[] =
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"
    "\"u\",\"operation\":\"DELETE\",\"resource\":{\"group\":\"grove.io\",\"resource\":"
    "\"podcliquesets\"}}}";

TEST(reviews_are_answered_over_https_and_certificates_change_without_a_restart)
{
    struct err err = ERR_INIT;
    struct real r = {.loop = loop_new_real(&err), .body = STRBUF_INIT(1 << 20)};
    struct webhook_certs a, b;
    REQUIRE(r.loop != NULL);
    usec now = loop_wall(r.loop);
    const char *san = "DNS:localhost,IP:127.0.0.1";
    REQUIRE(webhook_make_certs(NULL, now, STR_NONE, STR_NONE, san, &a, &err) == 0);
    REQUIRE(webhook_make_certs(NULL, now, STR_NONE, STR_NONE, san, &b, &err) == 0);
    r.server = webhook_server_new(r.loop, "127.0.0.1:0", rules());
    CHECK(webhook_server_address(r.server) == NULL);
    CHECK(webhook_server_set_identity(r.server, STR("no"), STR("pem"), &err) < 0);
    REQUIRE(webhook_server_set_identity(r.server, strbuf_str(&a.cert), strbuf_str(&a.key), &err) ==
            0);
    str address = arena_str(&arena, str_of(webhook_server_address(r.server)));

    connect_to(&r, strbuf_str(&a.ca));
    post(&r, str_of(good_review));
    CHECK(!r.failed);
    CHECK_INT(r.status, 200);
    CHECK(str_find(strbuf_str(&r.body), STR("\"allowed\":true")) > 0);
    post(&r, STR("nonsense"));
    CHECK_INT(r.status, 400);
    struct strbuf big = STRBUF_INIT((size_t)64 << 20);
    while (big.len <= WEBHOOK_MAX_BODY)
        strbuf_add_cstr(&big, "                                                                ");
    post(&r, strbuf_str(&big));
    CHECK(r.failed || r.status == 413);
    strbuf_done(&big);

    /* Another authority, the same address: who trusts the old one alone is told no. */
    REQUIRE(webhook_server_set_identity(r.server, strbuf_str(&b.cert), strbuf_str(&b.key), &err) ==
            0);
    CHECK_STR(str_of(webhook_server_address(r.server)), address);
    post(&r, str_of(good_review)); /* who is connected notices nothing */
    CHECK(!r.failed);
    CHECK_INT(r.status, 200);
    disconnect(&r);
    connect_to(&r, strbuf_str(&a.ca));
    post(&r, str_of(good_review));
    CHECK(r.failed);
    disconnect(&r);
    connect_to(&r, strbuf_str(&b.ca));
    post(&r, str_of(good_review));
    CHECK(!r.failed);
    CHECK_INT(r.status, 200);

    disconnect(&r);
    webhook_server_free(r.server);
    webhook_certs_done(&a);
    webhook_certs_done(&b);
    strbuf_done(&r.body);
    loop_free(r.loop);
    arena_done(&arena);
}
