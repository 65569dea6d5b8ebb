/*
 * The verbs over a memory store. Codes, reasons and messages are those of the real API server
 * (recorded from kube-apiserver 1.36).
 */
#include "apiserver/fixture.h"
#include "base/b64.h"
#include "base/hash.h"
#include "grove/types.h"

static const char PCS[] =
    "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':'b'},"
    "'spec':{'replicas':1,'template':{'cliques':[{'name':'a','spec':{'roleName':'a','replicas':1,"
    "'podSpec':{'containers':[{'name':'c','image':'x'}]}}}]}}}";

static const char DEPLOYMENT[] =
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':{'replicas':9,"
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"
    "'spec':{'containers':[{'name':'c','image':'a:1'}]}}}}";

static str text_of(struct fixture *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(&f->arena, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- create ---- */

TEST(create_stamps_and_get_shows_it)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    CHECK_STR(field(&f, "metadata.name"), STR("c1"));
    CHECK_STR(field(&f, "metadata.namespace"), STR("ns"));
    CHECK_INT(field(&f, "metadata.uid").len, 36);
    CHECK_STR(field(&f, "metadata.creationTimestamp"), STR("2026-11-15T00:00:01Z"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.generation")));
    CHECK_INT(f.obj->rv, store_revision(f.store));
    struct doc *created = doc_ref(f.doc);
    CHECK_INT(get(&f, &kind_config_map, "ns", "c1"), 200);
    CHECK(jequal(doc_root(created), doc_root(f.doc)));
    doc_unref(created);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 409);
    CHECK_STR(f.reason, STR("AlreadyExists"));
    CHECK_STR(f.message, STR("configmaps \"c1\" already exists"));
    CHECK_STR(field(&f, "details.kind"), STR("configmaps"));
    CHECK_INT(get(&f, &kind_config_map, "ns", "nope"), 404);
    CHECK_STR(f.message, STR("configmaps \"nope\" not found"));
    fixture_done(&f);
}

TEST(create_of_a_name_that_is_pending_already_exists)
{
    struct fixture f;
    fixture_init(&f);
    struct api_request r = {.verb = API_CREATE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .body = fixture_doc(&f, CONFIG_MAP("c", ""))};
    struct api_request again = r;
    int first;
    send_only(&f, &r);
    send_only(&f, &again);
    /* Neither is durable yet; the second is refused all the same. */
    wait_answer(&f);
    first = f.code;
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(first, 409);
    CHECK_INT(f.code, 201);
    fixture_done(&f);
}

struct refusal {
    const struct kind *kind;
    const char *ns, *body;
    int code;
    const char *reason, *message;
};

static void check_refusals(struct fixture *f, const struct refusal *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t rv = store_revision(f->store);
        CHECK_INT(create(f, r[i].kind, r[i].ns, r[i].body), r[i].code);
        CHECK_CSTR(f->reason, r[i].reason);
        CHECK_CSTR(f->message, r[i].message);
        CHECK_INT(store_revision(f->store), rv);
    }
}

TEST(create_refuses_what_the_real_server_refuses)
{
    static const struct refusal cases[] = {
        {&kind_config_map, "ns", "{}", 422, "Invalid",
         "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
         "required"},
        {&kind_config_map, "ns", "{'metadata':{'name':'x','resourceVersion':'3'}}", 500, "",
         "resourceVersion should not be set on objects to be created"},
        {&kind_config_map, "ns", "{'metadata':{'name':'x','namespace':'other'}}", 400, "BadRequest",
         "the namespace of the provided object does not match the namespace sent on the request"},
        {&kind_config_map, "nonexist", CONFIG_MAP("x", ""), 404, "NotFound",
         "namespaces \"nonexist\" not found"},
        {&kind_config_map, "ns", "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'x'}}", 400,
         "BadRequest",
         "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to "
         "(core.ConfigMap): unknown conversion"},
        {&kind_config_map, "ns", "{'apiVersion':'v2','kind':'ConfigMap','metadata':{'name':'x'}}",
         400, "BadRequest",
         "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is "
         "registered for version \"v2\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""},
        {&kind_config_map, "ns", CONFIG_MAP("Bad_Name", ""), 422, "Invalid",
         "ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a "
         "lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
         "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
         "used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
        {&kind_config_map, "ns", CONFIG_MAP("x", ",'labels':{'bad key!':'v v'}"), 422, "Invalid",
         "ConfigMap \"x\" is invalid: [metadata.labels: Invalid value: \"bad key!\": name part "
         "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
         "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
         "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.labels: Invalid "
         "value: \"v v\": a valid label must be an empty string or consist of alphanumeric "
         "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
         "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
         "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"},
    };
    struct fixture f;
    fixture_init(&f);
    check_refusals(&f, cases, ARRAY_LEN(cases));
    fixture_done(&f);
}

TEST(create_of_a_custom_resource_under_another_kind_is_invalid)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns",
                     "{'apiVersion':'grove.io/v1alpha1','kind':'Other','metadata':{'name':'b'}}"),
              422);
    CHECK_STR(f.message, STR("Other.grove.io \"b\" is invalid: kind: Invalid value: \"Other\": "
                             "must be PodCliqueSet"));
    fixture_done(&f);
}

TEST(generate_name_adds_five_safe_characters)
{
    struct fixture f;
    fixture_init(&f);
    const char *body = "{'metadata':{'generateName':'gen-'}}";
    CHECK_INT(create(&f, &kind_config_map, "ns", body), 201);
    str name = field(&f, "metadata.name");
    CHECK_INT(name.len, 9);
    CHECK(str_starts(name, STR("gen-")));
    for (size_t i = 4; i < name.len; i++)
        CHECK(str_find_char(STR("bcdfghjklmnpqrstvwxz2456789"), name.p[i]) >= 0);
    CHECK_STR(field(&f, "metadata.generateName"), STR("gen-"));
    str first = arena_str(&f.arena, name);
    CHECK_INT(create(&f, &kind_config_map, "ns", body), 201);
    CHECK(!str_eq(first, field(&f, "metadata.name")));
    fixture_done(&f);
}

TEST(dry_run_does_everything_but_write)
{
    struct fixture f;
    fixture_init(&f);
    uint64_t rv = store_revision(f.store);
    struct api_request r = {.verb = API_CREATE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .body = fixture_doc(&f, CONFIG_MAP("dry", "")),
                            .dry_run = true};
    CHECK_INT(send(&f, r), 201);
    CHECK_INT(field(&f, "metadata.uid").len, 36);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.resourceVersion")));
    CHECK_INT(get(&f, &kind_config_map, "ns", "dry"), 404);
    CHECK_INT(store_revision(f.store), rv);
    r.body = fixture_doc(&f, "{'metadata':{}}");
    CHECK_INT(send(&f, r), 422);

    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    rv = store_revision(f.store);
    CHECK_INT(send(&f, (struct api_request){.verb = API_PATCH,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .name = STR("c"),
                                            .patch = API_PATCH_MERGE,
                                            .body = fixture_doc(&f, "{'data':{'a':'2'}}"),
                                            .dry_run = true}),
              200);
    CHECK_STR(field(&f, "data.a"), STR("2"));
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .name = STR("c"),
                                            .grace_seconds = -1,
                                            .dry_run = true}),
              200);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_INT(get(&f, &kind_config_map, "ns", "c"), 200);
    CHECK_STR(field(&f, "data.a"), STR("1"));
    CHECK_INT(store_revision(f.store), rv);
    fixture_done(&f);
}

/* ---- field validation ---- */

static int create_validated(struct fixture *f, enum api_field_validation v)
{
    return send(f, (struct api_request){
                       .verb = API_CREATE,
                       .kind = &kind_config_map,
                       .ns = STR("ns"),
                       .body = fixture_doc(f, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{"
                                              "'name':'fv','lables':{}},'data':{'a':'1','a':'2'},"
                                              "'spec':{}}"),
                       .field_validation = v,
                       .dry_run = true});
}

TEST(unknown_fields_are_refused_warned_about_or_dropped)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create_validated(&f, API_VALIDATE_STRICT), 400);
    CHECK_STR(f.message,
              STR("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
                  "error: unknown field \"metadata.lables\", duplicate field \"data.a\", unknown "
                  "field \"spec\""));
    CHECK_INT(create_validated(&f, API_VALIDATE_WARN), 201);
    REQUIRE(f.n_warnings == 3);
    CHECK_STR(f.warnings[0], STR("unknown field \"metadata.lables\""));
    CHECK_STR(f.warnings[1], STR("duplicate field \"data.a\""));
    CHECK_STR(f.warnings[2], STR("unknown field \"spec\""));
    CHECK(j_is_absent(jgetc(doc_root(f.doc), "spec")));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.lables")));
    CHECK_STR(field(&f, "data.a"), STR("2"));
    CHECK_INT(create_validated(&f, API_VALIDATE_IGNORE), 201);
    CHECK_INT(f.n_warnings, 0);
    fixture_done(&f);
}

TEST(unknown_field_in_a_strict_patch_shows_the_whole_object)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("fv", "")), 201);
    CHECK_INT(send(&f, (struct api_request){.verb = API_PATCH,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .name = STR("fv"),
                                            .patch = API_PATCH_MERGE,
                                            .body = fixture_doc(&f, "{'foo':1}"),
                                            .field_validation = API_VALIDATE_STRICT}),
              422);
    CHECK(str_starts(f.message, STR(" \"\" is invalid: patch: Invalid value: \"{")));
    CHECK(str_ends(f.message, STR("}\": strict decoding error: unknown field \"foo\"")));
    fixture_done(&f);
}

/* ---- update ---- */

TEST(update_checks_names_versions_and_uids)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    uint64_t rv = f.obj->rv;
    str uid = arena_str(&f.arena, f.obj->uid);

    str body = text_of(&f, "{'metadata':{'name':'c1','resourceVersion':'%llu'},'data':{'a':'2'}}",
                       (unsigned long long)rv);
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1", body.p), 200);
    CHECK(f.obj->rv > rv);
    CHECK_STR(f.obj->uid, uid);
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1", body.p), 409);
    CHECK_STR(f.reason, STR("Conflict"));
    CHECK_STR(f.message,
              STR("Operation cannot be fulfilled on configmaps \"c1\": the object has been "
                  "modified; please apply your changes to the latest version and try again"));
    /* without a version: unconditional */
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1", "{'metadata':{'name':'c1'},'data':{}}"),
              200);
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1", "{'metadata':{'name':'other'}}"), 400);
    CHECK_STR(f.message,
              STR("the name of the object (other) does not match the name on the URL (c1)"));
    CHECK_INT(update(&f, &kind_config_map, "ns", "never", "{'metadata':{'name':'never'}}"), 404);
    CHECK_STR(f.message, STR("configmaps \"never\" not found"));
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1",
                     "{'metadata':{'name':'c1','uid':'11111111-2222-3333-4444-555555555555'}}"),
              409);
    CHECK_STR(f.message,
              text_of(&f,
                      "Operation cannot be fulfilled on configmaps \"c1\": StorageError: invalid "
                      "object, Code: 4, Key: /registry/configmaps/ns/c1, ResourceVersion: 0, "
                      "AdditionalErrorMsg: Precondition failed: UID in precondition: "
                      "11111111-2222-3333-4444-555555555555, UID in object meta: %.*s",
                      STR_ARG(uid)));
    fixture_done(&f);
}

TEST(update_of_a_missing_object_creates_some_kinds)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(update(&f, &kind_lease, "ns", "cou", "{'metadata':{'name':'cou'}}"), 201);
    CHECK_INT(update(&f, &kind_service, "ns", "cou",
                     "{'metadata':{'name':'cou'},'spec':{'ports':[{'port':80}]}}"),
              201);
    CHECK_INT(update(&f, &kind_endpoints, "ns", "cou", "{'metadata':{'name':'cou'}}"), 201);
    CHECK_INT(update(&f, &kind_event, "ns", "cou",
                     "{'metadata':{'name':'cou'},'involvedObject':{'namespace':'ns'}}"),
              201);
    CHECK_INT(update(&f, &kind_node, "", "cou", "{'metadata':{'name':'cou'}}"), 404);
    CHECK_INT(update(&f, &kind_lease, "ns", "cou", "{'metadata':{'name':'cou'}}"), 422);
    CHECK_STR(f.message, STR("leases.coordination.k8s.io \"cou\" is invalid: "
                             "metadata.resourceVersion: Invalid value: 0: must be specified for an "
                             "update"));
    CHECK_STR(field(&f, "details.kind"), STR("leases"));
    fixture_done(&f);
}

TEST(writes_that_change_nothing_keep_the_version)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    uint64_t rv = f.obj->rv;
    str whole = arena_str(&f.arena, doc_text(f.doc));
    CHECK_INT(update(&f, &kind_config_map, "ns", "c1", whole.p), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(patch(&f, &kind_config_map, "ns", "c1", API_PATCH_MERGE, "{'data':{'a':'1'}}"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(store_revision(f.store), rv);
    fixture_done(&f);
}

TEST(a_write_that_changes_nothing_waits_for_the_version_it_confirms)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    uint64_t rv = f.obj->rv;
    struct api_request first = {.verb = API_PATCH,
                                .kind = &kind_config_map,
                                .ns = STR("ns"),
                                .name = STR("c1"),
                                .patch = API_PATCH_MERGE,
                                .body = fixture_doc(&f, "{'data':{'a':'2'}}")};
    struct api_request second = first;
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store};
    arena_init(&g.reply);
    send_only(&f, &first);
    send_only(&g, &second);
    while (store_revision(f.store) == rv && !g.answered) {
        REQUIRE(loop_next_due(f.loop) >= 0);
        (void)loop_run_until(f.loop, loop_next_due(f.loop), 1);
    }
    CHECK(store_revision(f.store) > rv);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(f.code, 200);
    CHECK_INT(g.code, 200);
    CHECK(f.obj->rv > rv);
    REQUIRE(g.obj);
    CHECK_INT(g.obj->rv, f.obj->rv);
    doc_unref(g.doc);
    obj_unref(g.obj);
    arena_done(&g.reply);
    fixture_done(&f);
}

/* ---- patch ---- */

TEST(patches_of_every_type)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_config_map;
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("c1", "")), 201);
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_MERGE, "{'data':{'b':'x','a':null}}"), 200);
    CHECK_STR(field(&f, "data"), STR("{\"b\":\"x\"}"));
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_STRATEGIC, "{'data':{'c':'y'}}"), 200);
    CHECK_STR(field(&f, "data.c"), STR("y"));
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_JSON,
                    "[{'op':'test','path':'/data/c','value':'y'},"
                    "{'op':'add','path':'/data/d','value':'z'}]"),
              200);
    CHECK_STR(field(&f, "data.d"), STR("z"));
    CHECK_INT(
        patch(&f, k, "ns", "c1", API_PATCH_JSON, "[{'op':'test','path':'/data/c','value':'NO'}]"),
        422);
    CHECK_STR(f.reason, STR("Invalid"));
    CHECK_STR(f.message, STR("the server rejected our request due to an error in our request"));
    CHECK_STR(field(&f, "details"), STR("{}"));
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_JSON, "[{'op':'remove','path':'/data/zzz'}]"),
              422);
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_MERGE,
                    "{'metadata':{'resourceVersion':'1'},'data':{'q':'1'}}"),
              409);
    CHECK_INT(patch(&f, k, "ns", "nope", API_PATCH_MERGE, "{'data':{'q':'1'}}"), 404);
    CHECK_STR(f.message, STR("configmaps \"nope\" not found"));
    CHECK_INT(patch(&f, k, "ns", "c1", API_PATCH_MERGE, "[]"), 400);
    CHECK(str_starts(f.message, STR("error decoding patch: ")));
    fixture_done(&f);
}

TEST(strategic_patches_of_custom_resources_are_unsupported)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns", PCS), 201);
    CHECK_INT(patch(&f, &kind_pcs, "ns", "b", API_PATCH_STRATEGIC, "{'spec':{'replicas':6}}"), 415);
    CHECK_STR(
        f.message,
        STR("the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml"));
    fixture_done(&f);
}

TEST(force_belongs_to_apply_only)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    struct api_request r = {.verb = API_PATCH,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("c"),
                            .patch = API_PATCH_MERGE,
                            .force = true,
                            .body = fixture_doc(&f, "{}")};
    CHECK_INT(send(&f, r), 422);
    CHECK_STR(f.message, STR("PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not "
                             "be specified for non-apply patch"));
    r.patch = API_PATCH_APPLY;
    CHECK_INT(send(&f, r), 422);
    CHECK_STR(f.message, STR("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
                             "value: is required for apply patch"));
    r.field_manager = STR("m");
    CHECK_INT(send(&f, r), 400);
    CHECK_STR(f.message, STR("invalid object type: /, Kind="));
    r.body = fixture_doc(&f, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c',"
                             "'managedFields':[{}]}}");
    CHECK_INT(send(&f, r), 400);
    CHECK_STR(f.message, STR("metadata.managedFields must be nil"));
    fixture_done(&f);
}

/* ---- suspension ---- */

struct suspended {
    struct req *q;
    unsigned times;
    unsigned left; /* suspend so many more times */
};

static bool suspend_some(void *ctx, struct req *q)
{
    struct suspended *s = ctx;
    if (!s->left)
        return false;
    s->left--;
    s->times++;
    s->q = q;
    return true;
}

TEST(a_patch_is_computed_again_when_the_object_changed_meanwhile)
{
    struct fixture f;
    struct suspended s = {0};
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    apiserver_set_suspend(f.server, suspend_some, &s);
    struct api_request r = {.verb = API_PATCH,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("c"),
                            .patch = API_PATCH_MERGE,
                            .body = fixture_doc(&f, "{'data':{'b':'2'}}")};
    s.left = 1;
    send_only(&f, &r);
    REQUIRE(s.q);
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store};
    arena_init(&g.arena);
    arena_init(&g.reply);
    CHECK_INT(patch(&g, &kind_config_map, "ns", "c", API_PATCH_MERGE, "{'data':{'a':'9'}}"), 200);
    CHECK(!f.answered);
    write_resume(s.q);
    wait_answer(&f);
    CHECK_INT(f.code, 200);
    CHECK_STR(field(&f, "data.a"), STR("9"));
    CHECK_STR(field(&f, "data.b"), STR("2"));
    doc_unref(g.doc);
    obj_unref(g.obj);
    arena_done(&g.arena);
    arena_done(&g.reply);
    fixture_done(&f);
}

TEST(a_patch_gives_up_after_five_tries)
{
    struct fixture f;
    struct suspended s = {0};
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    apiserver_set_suspend(f.server, suspend_some, &s);
    struct api_request r = {.verb = API_PATCH,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("c"),
                            .patch = API_PATCH_MERGE,
                            .body = fixture_doc(&f, "{'data':{'b':'2'}}")};
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store};
    arena_init(&g.arena);
    arena_init(&g.reply);
    s.left = 1;
    send_only(&f, &r);
    for (int i = 0; i < 5 && !f.answered; i++) {
        str body = text_of(&f, "{'data':{'a':'x%d'}}", i);
        CHECK_INT(patch(&g, &kind_config_map, "ns", "c", API_PATCH_MERGE, body.p), 200);
        s.left = 1;
        write_resume(s.q);
    }
    wait_answer(&f);
    CHECK_INT(s.times, 5);
    CHECK_INT(f.code, 409);
    doc_unref(g.doc);
    obj_unref(g.obj);
    arena_done(&g.arena);
    arena_done(&g.reply);
    fixture_done(&f);
}

/* ---- generation, status, scale ---- */

TEST(generation_counts_changes_of_the_desired_state)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_pcs;
    CHECK_INT(create(&f, k, "ns", PCS), 201);
    CHECK_INT(f.obj->generation, 1);
    CHECK_INT(patch(&f, k, "ns", "b", API_PATCH_MERGE,
                    "{'spec':{'replicas':4},'status':{'replicas':77}}"),
              200);
    CHECK_INT(f.obj->generation, 2);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "status.replicas")));
    CHECK_INT(patch(&f, k, "ns", "b", API_PATCH_MERGE, "{'metadata':{'labels':{'l':'1'}}}"), 200);
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(patch(&f, k, "ns", "b", API_PATCH_MERGE, "{'metadata':{'annotations':{'l':'1'}}}"),
              200);
    CHECK_INT(f.obj->generation, 2);

    k = &kind_deployment;
    CHECK_INT(create(&f, k, "ns", DEPLOYMENT), 201);
    CHECK_INT(patch(&f, k, "ns", "d1", API_PATCH_MERGE, "{'metadata':{'labels':{'x':'y'}}}"), 200);
    CHECK_INT(f.obj->generation, 1);
    /* annotations of a Deployment count, and only there */
    CHECK_INT(patch(&f, k, "ns", "d1", API_PATCH_MERGE, "{'metadata':{'annotations':{'x':'y'}}}"),
              200);
    CHECK_INT(f.obj->generation, 2);
    fixture_done(&f);
}

TEST(status_writes_touch_the_status_of_a_custom_resource_only)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns", PCS), 201);
    CHECK_INT(patch_sub(&f, &kind_pcs, "ns", "b", "status", API_PATCH_MERGE,
                        "{'spec':{'replicas':9},'metadata':{'labels':{'no':'way'},"
                        "'annotations':{'n':'w'}},'status':{'replicas':2}}"),
              200);
    CHECK_INT(f.obj->generation, 1);
    CHECK_STR(field(&f, "status.replicas"), STR("2"));
    CHECK_STR(field(&f, "spec.replicas"), STR("1"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.labels.no")));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.annotations.n")));
    CHECK_INT(patch(&f, &kind_pcs, "ns", "b", API_PATCH_MERGE, "{'status':{'replicas':7}}"), 200);
    CHECK_STR(field(&f, "status.replicas"), STR("2"));
    fixture_done(&f);
}

TEST(status_writes_of_built_in_kinds_take_annotations_and_finalizers)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_deployment, "ns", DEPLOYMENT), 201);
    CHECK_INT(patch_sub(&f, &kind_deployment, "ns", "d1", "status", API_PATCH_MERGE,
                        "{'metadata':{'annotations':{'st':'1'},'labels':{'st':'1'},"
                        "'finalizers':['a.b/c']},'status':{'observedGeneration':1}}"),
              200);
    CHECK_INT(f.obj->generation, 1);
    CHECK_STR(field(&f, "metadata.annotations.st"), STR("1"));
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"a.b/c\"]"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.labels")));
    fixture_done(&f);
}

TEST(create_drops_the_status_except_of_nodes)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_deployment, "ns",
                     "{'metadata':{'name':'d'},'status':{'replicas':3},'spec':{"
                     "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{"
                     "'a':'b'}},'spec':{'containers':[{'name':'c','image':'x'}]}}}}"),
              201);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "status.replicas")));
    CHECK_INT(
        create(&f, &kind_node, "", "{'metadata':{'name':'n1'},'status':{'capacity':{'cpu':'4'}}}"),
        201);
    CHECK_STR(field(&f, "status.capacity.cpu"), STR("4"));
    fixture_done(&f);
}

static int scale_request(struct fixture *f, enum api_verb verb, const struct kind *k,
                         const char *name, const char *json)
{
    return send(f, (struct api_request){.verb = verb,
                                        .kind = k,
                                        .ns = STR("ns"),
                                        .name = str_of(name),
                                        .subresource = STR("scale"),
                                        .patch = API_PATCH_MERGE,
                                        .field_manager = STR("test"),
                                        .body = json ? fixture_doc(f, json) : NULL});
}

TEST(scale_reads_and_writes_replicas)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_deployment;
    CHECK_INT(create(&f, k, "ns", DEPLOYMENT), 201);
    uint64_t rv = f.obj->rv;
    CHECK_INT(scale_request(&f, API_GET, k, "d1", NULL), 200);
    CHECK_STR(field(&f, "kind"), STR("Scale"));
    CHECK_STR(field(&f, "apiVersion"), STR("autoscaling/v1"));
    CHECK_STR(field(&f, "spec"), STR("{\"replicas\":9}"));
    CHECK_STR(field(&f, "status"), STR("{\"replicas\":0,\"selector\":\"a=b\"}"));
    str put =
        text_of(&f, "{'metadata':{'name':'d1','resourceVersion':'%llu'},'spec':{'replicas':7}}",
                (unsigned long long)rv);
    CHECK_INT(scale_request(&f, API_UPDATE, k, "d1", put.p), 200);
    CHECK_STR(field(&f, "spec.replicas"), STR("7"));
    CHECK_INT(scale_request(&f, API_UPDATE, k, "d1", put.p), 409);
    CHECK_STR(f.message,
              STR("Operation cannot be fulfilled on deployments.apps \"d1\": the object has been "
                  "modified; please apply your changes to the latest version and try again"));
    CHECK_INT(scale_request(&f, API_PATCH, k, "d1", "{'spec':{'replicas':8}}"), 200);
    CHECK_INT(scale_request(&f, API_PATCH, k, "d1", "{'spec':{'replicas':-1}}"), 422);
    CHECK_STR(f.message, STR("Scale.autoscaling \"d1\" is invalid: spec.replicas: Invalid value: "
                             "-1: must be greater than or equal to 0"));
    CHECK_INT(get(&f, k, "ns", "d1"), 200);
    CHECK_INT(f.obj->generation, 3);
    CHECK_STR(field(&f, "spec.replicas"), STR("8"));
    fixture_done(&f);
}

TEST(scale_of_a_custom_resource_before_any_status)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns", PCS), 201);
    CHECK_INT(scale_request(&f, API_GET, &kind_pcs, "b", NULL), 200);
    CHECK_STR(field(&f, "spec"), STR("{\"replicas\":1}"));
    CHECK_STR(field(&f, "status"), STR("{\"replicas\":0}"));
    CHECK_INT(scale_request(&f, API_PATCH, &kind_pcs, "b", "{'spec':{'replicas':4}}"), 200);
    CHECK_STR(field(&f, "spec.replicas"), STR("4"));
    CHECK_INT(get(&f, &kind_pcs, "ns", "b"), 200);
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(scale_request(&f, API_GET, &kind_config_map, "x", NULL), 404);
    CHECK_STR(f.message, STR("the server could not find the requested resource"));
    fixture_done(&f);
}

/* ---- binding and eviction ---- */

static int post_sub(struct fixture *f, const char *name, const char *sub, const char *json)
{
    return send(f, (struct api_request){.verb = API_CREATE,
                                        .kind = &kind_pod,
                                        .ns = STR("ns"),
                                        .name = str_of(name),
                                        .subresource = str_of(sub),
                                        .body = fixture_doc(f, json)});
}

static int bind(struct fixture *f, const char *pod, const char *node)
{
    str body = text_of(f,
                       "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'%s',"
                       "'annotations':{'x':'y'}},'target':{'kind':'Node','name':'%s'}}",
                       pod, node);
    return post_sub(f, pod, "binding", body.p);
}

TEST(binding_assigns_a_pod_once)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(bind(&f, "p1", "n1"), 201);
    CHECK_STR(doc_text(f.doc), STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                   "\"status\":\"Success\",\"code\":201}"));
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 200);
    CHECK_STR(field(&f, "spec.nodeName"), STR("n1"));
    CHECK_STR(field(&f, "metadata.annotations.x"), STR("y"));
    CHECK_STR(field(&f, "status.conditions"),
              STR("[{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
                  "\"lastTransitionTime\":\"2026-11-15T00:00:01Z\"}]"));
    CHECK_INT(f.obj->generation, 1);
    CHECK_INT(bind(&f, "p1", "n2"), 409);
    CHECK_STR(f.message, STR("Operation cannot be fulfilled on pods/binding \"p1\": pod p1 is "
                             "already assigned to node \"n1\""));
    CHECK_STR(field(&f, "details.kind"), STR("pods/binding"));
    CHECK_INT(bind(&f, "nope", "n1"), 404);
    CHECK_STR(f.message, STR("pods \"nope\" not found"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("g1", ",'schedulingGates':[{'name':'a'}]")), 201);
    CHECK_INT(bind(&f, "g1", "n1"), 409);
    CHECK_STR(f.message, STR("Operation cannot be fulfilled on pods/binding \"g1\": pod g1 has "
                             "non-empty .spec.schedulingGates"));
    fixture_done(&f);
}

TEST(eviction_deletes_the_way_delete_does)
{
    struct fixture f;
    fixture_init(&f);
    const char *body = "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'e1'}}";
    CHECK_INT(create(&f, &kind_pod, "ns", POD("e1", "")), 201);
    CHECK_INT(bind(&f, "e1", "n1"), 201);
    CHECK_INT(post_sub(&f, "e1", "eviction",
                       "{'metadata':{'name':'e1'},'deleteOptions':{'dryRun':['All']}}"),
              201);
    CHECK_INT(get(&f, &kind_pod, "ns", "e1"), 200);
    CHECK(!f.obj->deleting);
    CHECK_INT(post_sub(&f, "e1", "eviction", body), 201);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_INT(get(&f, &kind_pod, "ns", "e1"), 200);
    CHECK(f.obj->deleting);
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("30"));
    CHECK_INT(post_sub(&f, "missing", "eviction", body), 404);
    fixture_done(&f);
}

/* ---- delete ---- */

TEST(delete_at_once_answers_with_a_status)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    str uid = arena_str(&f.arena, f.obj->uid);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c1"), 200);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_STR(field(&f, "details.name"), STR("c1"));
    CHECK_STR(field(&f, "details.kind"), STR("configmaps"));
    CHECK_STR(field(&f, "details.uid"), uid);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c1"), 404);
    CHECK_STR(f.message, STR("configmaps \"c1\" not found"));
    /* some kinds show what they removed */
    CHECK_INT(create(&f, &kind_service_account, "ns", "{'metadata':{'name':'sa'}}"), 201);
    CHECK_INT(delete (&f, &kind_service_account, "ns", "sa"), 200);
    CHECK_STR(field(&f, "kind"), STR("ServiceAccount"));
    fixture_done(&f);
}

TEST(delete_checks_its_preconditions)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    str uid = arena_str(&f.arena, f.obj->uid);
    uint64_t rv = f.obj->rv;
    struct api_request r = {.verb = API_DELETE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("c1"),
                            .uid = STR("no-such-uid"),
                            .grace_seconds = -1};
    CHECK_INT(send(&f, r), 409);
    CHECK_STR(f.message,
              text_of(&f,
                      "Operation cannot be fulfilled on ConfigMap \"c1\": the UID in the "
                      "precondition (no-such-uid) does not match the UID in record (%.*s). The "
                      "object might have been deleted and then recreated",
                      STR_ARG(uid)));
    CHECK_STR(field(&f, "details.kind"), STR("ConfigMap"));
    r.uid = uid;
    r.rv = 1;
    CHECK_INT(send(&f, r), 409);
    CHECK_STR(f.message,
              text_of(&f,
                      "Operation cannot be fulfilled on ConfigMap \"c1\": the ResourceVersion in "
                      "the precondition (1) does not match the ResourceVersion in record (%llu). "
                      "The object might have been modified",
                      (unsigned long long)rv));
    r.rv = rv;
    CHECK_INT(send(&f, r), 200);
    fixture_done(&f);
}

TEST(finalizers_hold_an_object_until_the_last_is_gone)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_config_map;
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("f1", ",'finalizers':['example.com/hold']")), 201);
    CHECK_INT(delete (&f, k, "ns", "f1"), 200);
    CHECK_STR(field(&f, "kind"), STR("ConfigMap"));
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:01Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    uint64_t rv = f.obj->rv;
    CHECK_INT(delete (&f, k, "ns", "f1"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':['example.com/hold','example.com/new']}}"),
              422);
    CHECK_STR(f.message,
              STR("ConfigMap \"f1\" is invalid: metadata.finalizers: Forbidden: no new finalizers "
                  "can be added if the object is being deleted, found new finalizers "
                  "[]string{\"example.com/new\"}"));
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE, "{'data':{'x':'y'}}"), 200);
    rv = f.obj->rv;
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.finalizers")));
    CHECK_INT(get(&f, k, "ns", "f1"), 404);
    CHECK_INT(store_revision(f.store), rv + 1);
    fixture_done(&f);
}

static int delete_with(struct fixture *f, const struct kind *k, const char *name,
                       enum api_propagation p, int64_t grace)
{
    return send(f, (struct api_request){.verb = API_DELETE,
                                        .kind = k,
                                        .ns = STR("ns"),
                                        .name = str_of(name),
                                        .grace_seconds = grace,
                                        .propagation = p});
}

TEST(propagation_policies_become_finalizers)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_deployment;
    CHECK_INT(create(&f, k, "ns", DEPLOYMENT), 201);
    CHECK_INT(delete_with(&f, k, "d1", API_FOREGROUND, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"foregroundDeletion\"]"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    /* no policy: it stays; another one: it is replaced */
    CHECK_INT(delete_with(&f, k, "d1", API_PROPAGATION_DEFAULT, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"foregroundDeletion\"]"));
    CHECK_INT(delete_with(&f, k, "d1", API_ORPHAN, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"orphan\"]"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(delete_with(&f, k, "d1", API_BACKGROUND, -1), 200);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_INT(get(&f, k, "ns", "d1"), 404);
    fixture_done(&f);
}

TEST(unscheduled_and_finished_pods_go_at_once)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p2", "")), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p2"), 200);
    CHECK_STR(field(&f, "kind"), STR("Pod"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(get(&f, &kind_pod, "ns", "p2"), 404);

    CHECK_INT(create(&f, &kind_pod, "ns", POD("p3", "")), 201);
    CHECK_INT(bind(&f, "p3", "n1"), 201);
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "p3", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Succeeded'}}"),
              200);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p3"), 200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p3"), 404);
    fixture_done(&f);
}

TEST(running_pods_get_their_grace_period)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(bind(&f, "p1", "n1"), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p1"), 200);
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:31Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("30"));
    CHECK_INT(f.obj->generation, 2);
    uint64_t rv = f.obj->rv;
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 60), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 10), 200);
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:11Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("10"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 0), 200);
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 404);
    fixture_done(&f);
}

TEST(a_pod_with_grace_outlives_its_finalizers)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(
        patch(&f, &kind_pod, "ns", "p1", API_PATCH_MERGE, "{'metadata':{'finalizers':['a.b/c']}}"),
        200);
    CHECK_INT(bind(&f, "p1", "n1"), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p1"), 200);
    /* the finalizer goes first: the node agent still has to end the pod */
    CHECK_INT(patch(&f, &kind_pod, "ns", "p1", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"),
              200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 200);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 0), 200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 404);
    fixture_done(&f);
}

TEST(namespaces_terminate_and_are_finalized)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_namespace;
    CHECK_INT(create(&f, k, "", "{'metadata':{'name':'nsl'}}"), 201);
    CHECK_INT(create(&f, &kind_config_map, "nsl", CONFIG_MAP("x", "")), 201);
    CHECK_INT(delete (&f, k, "", "nsl"), 200);
    CHECK_STR(field(&f, "kind"), STR("Namespace"));
    CHECK_STR(field(&f, "status.phase"), STR("Terminating"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.deletionGracePeriodSeconds")));
    uint64_t rv = f.obj->rv;
    CHECK_INT(delete (&f, k, "", "nsl"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(create(&f, &kind_config_map, "nsl", CONFIG_MAP("y", "")), 403);
    CHECK_STR(f.message, STR("configmaps \"y\" is forbidden: unable to create new content in "
                             "namespace nsl because it is being terminated"));
    jval cause = jat(jpath(doc_root(f.doc), "details.causes"), 0);
    CHECK_STR(jstr(jgetc(cause, "reason")), STR("NamespaceTerminating"));
    CHECK_STR(jstr(jgetc(cause, "message")), STR("namespace nsl is being terminated"));
    CHECK_STR(jstr(jgetc(cause, "field")), STR("metadata.namespace"));
    /* its finalizers change through /finalize only */
    CHECK_INT(patch(&f, k, "", "nsl", API_PATCH_MERGE, "{'spec':{'finalizers':null}}"), 200);
    CHECK_STR(field(&f, "spec.finalizers"), STR("[\"kubernetes\"]"));
    CHECK_INT(send(&f, (struct api_request){.verb = API_UPDATE,
                                            .kind = k,
                                            .name = STR("nsl"),
                                            .subresource = STR("finalize"),
                                            .body = fixture_doc(&f, "{'metadata':{'name':'nsl'},"
                                                                    "'spec':{'finalizers':[]}}")}),
              200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(get(&f, k, "", "nsl"), 404);
    fixture_done(&f);
}

TEST(some_namespaces_are_immortal)
{
    struct fixture f;
    fixture_init(&f);
    static const char *const protected[] = {"default", "kube-system", "kube-public"};
    for (size_t i = 0; i < ARRAY_LEN(protected); i++) {
        CHECK_INT(delete (&f, &kind_namespace, "", protected[i]), 403);
        CHECK_STR(f.message,
                  text_of(&f, "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                          protected[i]));
    }
    fixture_done(&f);
}

TEST(delete_collection_deletes_what_is_selected)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 450; i++) {
        str body = text_of(&f, "{'metadata':{'name':'dc%03d','labels':{'g':'%s'}}}", i,
                           i % 3 ? "dc" : "keep");
        CHECK_INT(create(&f, &kind_config_map, "ns", body.p), 201);
    }
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .label_selector = STR("g=dc"),
                                            .grace_seconds = -1,
                                            .propagation = API_PROPAGATION_DEFAULT}),
              200);
    CHECK_INT(f.n_items, 300);
    CHECK_STR(f.items[0]->name, STR("dc001"));
    CHECK_INT(list(&f, &kind_config_map, "ns", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 150);
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .label_selector = STR("g==="),
                                            .grace_seconds = -1}),
              400);
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_secret,
                                            .ns = STR("ns"),
                                            .grace_seconds = -1}),
              200);
    CHECK_INT(f.n_items, 0);
    fixture_done(&f);
}

/* ---- list ---- */

static void create_some(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++) {
        str body = text_of(f, "{'metadata':{'name':'ch%d','labels':{'g':'%s'}}}", i,
                           i % 2 ? "odd" : "even");
        CHECK_INT(create(f, &kind_config_map, "ns", body.p), 201);
    }
}

TEST(lists_select_by_labels_and_fields)
{
    struct fixture f;
    fixture_init(&f);
    create_some(&f, 5);
    CHECK_INT(list(&f, &kind_config_map, "ns", (struct api_request){0}), 200);
    CHECK_STR(names(&f), STR("ch0 ch1 ch2 ch3 ch4"));
    CHECK_INT(f.rv, store_revision(f.store));
    CHECK_INT(
        list(&f, &kind_config_map, "ns", (struct api_request){.label_selector = STR("g=even")}),
        200);
    CHECK_STR(names(&f), STR("ch0 ch2 ch4"));
    CHECK_INT(list(&f, &kind_config_map, "",
                   (struct api_request){.field_selector = STR("metadata.name=ch3")}),
              200);
    CHECK_STR(names(&f), STR("ch3"));
    CHECK_INT(list(&f, &kind_config_map, "ns",
                   (struct api_request){.field_selector = STR("metadata.name=ch3")}),
              200);
    CHECK_STR(names(&f), STR("ch3"));
    CHECK_INT(list(&f, &kind_config_map, "nowhere", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 0);
    CHECK_INT(f.rv, store_revision(f.store));
    CHECK_INT(
        list(&f, &kind_config_map, "ns", (struct api_request){.field_selector = STR("data.a=1")}),
        400);
    CHECK_STR(f.message, STR("\"data.a\" is not a known field selector: only \"metadata.name\", "
                             "\"metadata.namespace\""));
    CHECK_INT(
        list(&f, &kind_config_map, "ns", (struct api_request){.label_selector = STR("a===b")}),
        400);
    CHECK_STR(f.message, STR("unable to parse requirement: found '=', expected: identifier"));
    fixture_done(&f);
}

TEST(pages_show_the_state_of_the_first)
{
    struct fixture f;
    fixture_init(&f);
    create_some(&f, 5);
    CHECK_INT(list(&f, &kind_config_map, "ns", (struct api_request){.limit = 2}), 200);
    CHECK_STR(names(&f), STR("ch0 ch1"));
    CHECK_INT(f.remaining, 3);
    uint64_t rv = f.rv;
    struct strbuf token = STRBUF_INIT(1000);
    CHECK(b64_decode(f.continue_token, B64_URL | B64_NO_PAD, &token));
    CHECK_STR(strbuf_str(&token),
              text_of(&f, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%llu,\"start\":\"/ch1\\u0000\"}",
                      (unsigned long long)rv));
    strbuf_done(&token);
    str at = arena_str(&f.arena, f.continue_token);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("ch2a", "")), 201);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "ch3"), 200);
    CHECK_INT(
        list(&f, &kind_config_map, "ns", (struct api_request){.limit = 2, .continue_token = at}),
        200);
    CHECK_STR(names(&f), STR("ch2 ch3"));
    CHECK_INT(f.rv, rv);
    CHECK_INT(f.remaining, 1);
    at = arena_str(&f.arena, f.continue_token);
    CHECK_INT(
        list(&f, &kind_config_map, "ns", (struct api_request){.limit = 2, .continue_token = at}),
        200);
    CHECK_STR(names(&f), STR("ch4"));
    CHECK_INT(f.continue_token.len, 0);
    CHECK_INT(f.remaining, -1);
    /* across namespaces */
    CHECK_INT(create(&f, &kind_config_map, "default", CONFIG_MAP("zz", "")), 201);
    CHECK_INT(list(&f, &kind_config_map, "", (struct api_request){.limit = 1}), 200);
    CHECK_STR(names(&f), STR("zz"));
    at = arena_str(&f.arena, f.continue_token);
    CHECK_INT(
        list(&f, &kind_config_map, "", (struct api_request){.limit = 1, .continue_token = at}),
        200);
    CHECK_STR(names(&f), STR("ch0"));
    fixture_done(&f);
}

TEST(a_selector_leaves_the_remaining_count_out)
{
    struct fixture f;
    fixture_init(&f);
    create_some(&f, 5);
    CHECK_INT(list(&f, &kind_config_map, "ns",
                   (struct api_request){.limit = 2, .label_selector = STR("g=even")}),
              200);
    CHECK_STR(names(&f), STR("ch0 ch2"));
    CHECK(f.continue_token.len > 0);
    CHECK_INT(f.remaining, -1);
    fixture_done(&f);
}

TEST(list_versions)
{
    struct fixture f;
    fixture_init(&f);
    create_some(&f, 3);
    uint64_t rv = store_revision(f.store);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "ch1"), 200);
    struct api_request any = {.limit = 1, .rv_given = true};
    CHECK_INT(list(&f, &kind_config_map, "ns", any), 200);
    CHECK_INT(f.n_items, 2); /* "0" ignores the limit */
    struct api_request exact = {.rv = rv, .rv_given = true, .rv_match = API_RV_EXACT};
    CHECK_INT(list(&f, &kind_config_map, "ns", exact), 200);
    CHECK_STR(names(&f), STR("ch0 ch1 ch2"));
    CHECK_INT(f.rv, rv);
    struct api_request newer = {.rv = rv, .rv_given = true, .rv_match = API_RV_NOT_OLDER_THAN};
    CHECK_INT(list(&f, &kind_config_map, "ns", newer), 200);
    CHECK_STR(names(&f), STR("ch0 ch2"));
    struct api_request future = {.rv = 999999999, .rv_given = true};
    CHECK_INT(list(&f, &kind_config_map, "ns", future), 504);
    CHECK_STR(f.reason, STR("Timeout"));
    CHECK_STR(f.message,
              text_of(&f, "Timeout: Too large resource version: 999999999, current: %llu",
                      (unsigned long long)store_revision(f.store)));
    CHECK_STR(field(&f, "details.retryAfterSeconds"), STR("1"));
    CHECK_STR(jstr(jgetc(jat(jpath(doc_root(f.doc), "details.causes"), 0), "reason")),
              STR("ResourceVersionTooLarge"));
    struct api_request no_rv = {.rv_match = API_RV_EXACT};
    CHECK_INT(list(&f, &kind_config_map, "ns", no_rv), 422);
    CHECK_STR(f.message,
              STR("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                  "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    struct api_request zero = {.rv_match = API_RV_EXACT, .rv_given = true};
    CHECK_INT(list(&f, &kind_config_map, "ns", zero), 422);
    CHECK_STR(f.message,
              STR("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                  "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    fixture_done(&f);
}

TEST(bad_continue_tokens_are_refused)
{
    struct fixture f;
    fixture_init(&f);
    struct api_request r = {.continue_token = STR("zzz")};
    CHECK_INT(list(&f, &kind_config_map, "ns", r), 400);
    CHECK(str_starts(f.message, STR("invalid continue token: continue key is not valid: ")));
    r.rv = 3;
    r.rv_given = true;
    CHECK_INT(list(&f, &kind_config_map, "ns", r), 400);
    CHECK_STR(f.message, STR("specifying resource version is not allowed when using continue"));
    fixture_done(&f);
}

TEST(expired_tokens_come_with_a_replacement)
{
    struct fixture f;
    fixture_init(&f);
    apiserver_free(f.server);
    store_close(f.store);
    struct store_options o = {.history_events = 20};
    f.store = store_open(f.loop, &o, NULL);
    f.server = apiserver_new(f.loop, f.store);
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'ns'}}"), 201);
    create_some(&f, 3);
    CHECK_INT(list(&f, &kind_config_map, "ns", (struct api_request){.limit = 1}), 200);
    str token = arena_str(&f.arena, f.continue_token);
    uint64_t old = f.rv;
    for (int i = 0; i < 50; i++) {
        str body = text_of(&f, "{'data':{'n':'%d'}}", i);
        CHECK_INT(patch(&f, &kind_config_map, "ns", "ch0", API_PATCH_MERGE, body.p), 200);
    }
    struct api_request exact = {.rv = old, .rv_given = true, .rv_match = API_RV_EXACT};
    CHECK_INT(list(&f, &kind_config_map, "ns", exact), 410);
    CHECK_STR(f.reason, STR("Expired"));
    CHECK_STR(f.message, STR("The resourceVersion for the provided list is too old."));
    struct api_request next = {.limit = 1, .continue_token = token};
    CHECK_INT(list(&f, &kind_config_map, "ns", next), 410);
    CHECK_STR(f.reason, STR("Expired"));
    CHECK(str_starts(f.message, STR("The provided continue parameter is too old to display a "
                                    "consistent list result. You can start a new list")));
    next.continue_token = arena_str(&f.arena, field(&f, "metadata.continue"));
    struct strbuf b = STRBUF_INIT(1000);
    CHECK(b64_decode(next.continue_token, B64_URL | B64_NO_PAD, &b));
    CHECK_STR(strbuf_str(&b), STR("{\"v\":\"meta.k8s.io/v1\",\"rv\":-1,\"start\":\"ch0\\u0000\"}"));
    strbuf_done(&b);
    CHECK_INT(list(&f, &kind_config_map, "ns", next), 200);
    CHECK_STR(names(&f), STR("ch1"));
    CHECK_INT(f.rv, store_revision(f.store));
    fixture_done(&f);
}

/* ---- others ---- */

TEST(events_of_both_groups_are_one_collection)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_events_event, "ns",
                     "{'apiVersion':'events.k8s.io/v1','kind':'Event','metadata':{'name':'ev1'},"
                     "'eventTime':'2026-11-15T00:00:00.000000Z','reportingController':'ctl',"
                     "'reportingInstance':'ctl-0','action':'Bind','reason':'Scheduled',"
                     "'type':'Normal','note':'hello','regarding':{'kind':'Pod','name':'p',"
                     "'namespace':'ns','apiVersion':'v1'}}"),
              201);
    CHECK_STR(field(&f, "note"), STR("hello"));
    CHECK_INT(get(&f, &kind_event, "ns", "ev1"), 200);
    CHECK_STR(field(&f, "apiVersion"), STR("v1"));
    CHECK_STR(field(&f, "message"), STR("hello"));
    CHECK_STR(field(&f, "involvedObject.name"), STR("p"));
    CHECK_STR(field(&f, "reportingComponent"), STR("ctl"));
    CHECK(j_is_absent(jgetc(doc_root(f.doc), "note")));
    CHECK_INT(list(&f, &kind_event, "ns",
                   (struct api_request){.field_selector = STR("involvedObject.name=p")}),
              200);
    CHECK_INT(f.n_items, 1);
    CHECK_INT(patch(&f, &kind_event, "ns", "ev1", API_PATCH_MERGE, "{'message':'bye'}"), 200);
    CHECK_INT(get(&f, &kind_events_event, "ns", "ev1"), 200);
    CHECK_STR(field(&f, "note"), STR("bye"));
    CHECK_INT(create(&f, &kind_event, "ns",
                     "{'metadata':{'name':'ev2'},'involvedObject':{'kind':'Pod','name':'p',"
                     "'namespace':'other'},'reason':'X','message':'m','type':'Normal'}"),
              422);
    CHECK_STR(f.message, STR("Event \"ev2\" is invalid: involvedObject.namespace: Invalid value: "
                             "\"other\": does not match event.namespace"));
    fixture_done(&f);
}

TEST(a_freed_server_answers_what_is_open)
{
    struct fixture f;
    fixture_init(&f);
    struct api_request r = {.verb = API_CREATE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .body = fixture_doc(&f, CONFIG_MAP("c", ""))};
    send_only(&f, &r);
    apiserver_free(f.server);
    CHECK(f.answered);
    CHECK_INT(f.code, 0);
    /* it was on its way and gets there all the same */
    f.server = apiserver_new(f.loop, f.store);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(get(&f, &kind_config_map, "ns", "c"), 200);
    fixture_done(&f);
}

TEST(a_freed_client_answers_what_is_open)
{
    struct fixture f;
    fixture_init(&f);
    struct api *api = apiserver_local(f.server, "test");
    struct api_request r = {
        .verb = API_GET, .kind = &kind_config_map, .ns = STR("ns"), .name = STR("c"), .ctx = &f};
    struct api_request other = r;
    send_only(&f, &other);
    r.done = other.done;
    api_send(api, &r);
    api_free(api);
    CHECK(f.answered);
    CHECK_INT(f.code, 0);
    f.answered = false;
    wait_answer(&f);
    CHECK_INT(f.code, 404);
    fixture_done(&f);
}

TEST(two_runs_of_one_seed_write_the_same_bytes)
{
    struct strbuf text[2] = {STRBUF_INIT(1 << 20), STRBUF_INIT(1 << 20)};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f);
        CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
        strbuf_add_str(&text[i], doc_text(f.doc));
        CHECK_INT(create(&f, &kind_config_map, "ns", "{'metadata':{'generateName':'g-'}}"), 201);
        strbuf_add_str(&text[i], doc_text(f.doc));
        fixture_done(&f);
    }
    CHECK_STR(strbuf_str(&text[0]), strbuf_str(&text[1]));
    strbuf_done(&text[0]);
    strbuf_done(&text[1]);
}
