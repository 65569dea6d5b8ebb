/*
 * The verbs over a memory store. Codes, reasons and messages are those of the real API server
 * (recorded from kube-apiserver 1.36).
 */
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"

static const char PCS[] =
    "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':'b'},"
    "'spec':{'replicas':1,'template':{'cliques':[{'name':'a','spec':{'roleName':'a','replicas':1,"
    "'podSpec':{'containers':[{'name':'c','image':'x'}]}}}]}}}";

static const char DEPLOYMENT[] =
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':{'replicas':9,"
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"
    "'spec':{'containers':[{'name':'c','image':'a:1'}]}}}}";

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
        {&kind_config_map, "ns", "{'metadata':{'name':'x'},'data':{'a':1}}", 400, "BadRequest",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "number into Go struct field ConfigMap.data of type string"},
        {&kind_pod, "ns",
         "{'metadata':{'name':'x'},'spec':{'containers':[{'name':'c','image':true}]}}", 400,
         "BadRequest",
         "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal bool into Go "
         "struct field Container.spec.containers.image of type string"},
        {&kind_deployment, "ns", "{'metadata':{'name':'x'},'spec':{'replicas':'two'}}", 400,
         "BadRequest",
         "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal "
         "string into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {&kind_deployment, "ns", "{'metadata':{'name':'x'},'spec':{'replicas':2147483648}}", 400,
         "BadRequest",
         "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal "
         "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {&kind_deployment, "ns", "{'metadata':{'name':'x'},'spec':{'replicas':1.5}}", 400,
         "BadRequest",
         "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal "
         "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {&kind_config_map, "ns", "{'apiVersion':[1],'metadata':{'name':'x'}}", 400, "BadRequest",
         "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
         "version/kind; json parse error: json: cannot unmarshal array into Go struct field "
         ".apiVersion of type string ({\"apiVersion\":[1],\"metadata\":{ ...)"},
        {&kind_pcs, "ns", "{'kind':{},'metadata':{'name':'x'}}", 400, "BadRequest",
         "the object provided is unrecognized (must be of type PodCliqueSet): couldn't get "
         "version/kind; json parse error: json: cannot unmarshal object into Go struct field "
         ".kind of type string ({\"kind\":{},\"metadata\":{\"name\": ...)"},
        {&kind_config_map, "ns", "[1]", 400, "BadRequest",
         "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
         "version/kind; json parse error: json: cannot unmarshal array into Go value of type "
         "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
         "\"json:\\\"kind,omitempty\\\"\" } (5b315d)"},
        {&kind_config_map, "ns", "{'metadata':{'name':'x','resourceVersion':5}}", 400, "BadRequest",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "number into Go struct field ObjectMeta.metadata.resourceVersion of type string"},
        {&kind_secret, "ns", "{'metadata':{'name':'x'},'data':{'a':'!!!'}}", 400, "BadRequest",
         "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input "
         "byte 0"},
        {&kind_config_map, "ns", "{'metadata':'x'}", 400, "BadRequest",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"},
    };
    struct fixture f;
    fixture_init(&f);
    check_refusals(&f, cases, ARRAY_LEN(cases));
    fixture_done(&f);
}

TEST(prefixes_of_names_are_judged_like_names)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", "{'metadata':{'generateName':'Bad_'}}"), 422);
    CHECK(str_find(f.message, STR("metadata.generateName: Invalid value: \"Bad_\": a lowercase RFC "
                                  "1123 subdomain must consist")) > 0);
    CHECK_INT(create(&f, &kind_config_map, "ns", "{'metadata':{'generateName':'good-'}}"), 201);
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
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store, .user = f.user};
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
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store, .user = f.user};
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
    struct fixture g = {.loop = f.loop, .server = f.server, .store = f.store, .user = f.user};
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

/* A Scale is read and judged as strictly as anything else. */
static void check_scale_refused(struct fixture *f, enum api_verb verb, const char *body, int code,
                                const char *why)
{
    if (!CHECK_INT(scale_request(f, verb, &kind_deployment, "d1", body), code) ||
        !CHECK(str_find(f->message, str_of(why)) >= 0))
        test_note("%s: %.*s", body, STR_ARG(f->message));
}

TEST(scales_that_make_no_sense_are_refused)
{
    static const struct {
        enum api_verb verb;
        const char *body;
        int code;
        const char *why;
    } cases[] = {
        {API_UPDATE, "{}", 400,
         "the name of the object (d1 based on URL) was undeterminable: name must be provided"},
        {API_UPDATE, "{'metadata':{'name':'other'},'spec':{'replicas':1}}", 400,
         "the name of the object (other) does not match the name on the URL (d1)"},
        {API_UPDATE, "{'kind':'Deployment','apiVersion':'apps/v1','metadata':{'name':'d1'}}", 400,
         "Deployment in version \"v1\" cannot be handled as a Scale: converting (v1.Deployment) "
         "to (autoscaling.Scale): unknown conversion"},
        {API_UPDATE, "{'kind':'Scale','apiVersion':'autoscaling/v9','metadata':{'name':'d1'}}", 400,
         "Scale in version \"v9\" cannot be handled as a Scale: no kind \"Scale\" is registered "
         "for version \"autoscaling/v9\" in scheme"},
        {API_UPDATE, "{'kind':{},'metadata':{'name':'d1'}}", 400,
         "the object provided is unrecognized (must be of type Scale): couldn't get version/kind"},
        {API_UPDATE, "{'metadata':{'name':'d1'},'spec':{'replicas':2147483648}}", 400,
         "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal number "
         "2147483648 into Go struct field ScaleSpec.spec.replicas of type int32"},
        {API_UPDATE, "{'metadata':{'name':'d1'},'spec':{'replicas':'many'}}", 400,
         "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type"},
        {API_PATCH, "{'spec':{'replicas':2147483648}}", 422,
         "json: cannot unmarshal number 2147483648 into Go struct field "
         "ScaleSpec.spec.replicas of type int32"},
        {API_PATCH, "{'kind':'Pod','apiVersion':'v1'}", 400,
         "Pod in version \"v1\" cannot be handled as a Scale"},
        {API_PATCH, "{'metadata':{'name':null}}", 422,
         "Scale.autoscaling \"\" is invalid: metadata.name: Required value: name or generateName "
         "is required"},
    };
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_deployment, "ns", DEPLOYMENT), 201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_scale_refused(&f, cases[i].verb, cases[i].body, cases[i].code, cases[i].why);
    CHECK_INT(get(&f, &kind_deployment, "ns", "d1"), 200);
    CHECK_STR(field(&f, "spec.replicas"), STR("9"));
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

TEST(binding_assigns_a_pod_once)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(bind_pod(&f, "p1", "n1"), 201);
    CHECK_STR(doc_text(f.doc), STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                   "\"status\":\"Success\",\"code\":201}"));
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 200);
    CHECK_STR(field(&f, "spec.nodeName"), STR("n1"));
    CHECK_STR(field(&f, "metadata.annotations.x"), STR("y"));
    CHECK_STR(field(&f, "status.conditions"),
              STR("[{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
                  "\"lastTransitionTime\":\"2026-11-15T00:00:01Z\"}]"));
    CHECK_INT(f.obj->generation, 1);
    CHECK_INT(bind_pod(&f, "p1", "n2"), 409);
    CHECK_STR(f.message, STR("Operation cannot be fulfilled on pods/binding \"p1\": pod p1 is "
                             "already assigned to node \"n1\""));
    CHECK_STR(field(&f, "details.kind"), STR("pods/binding"));
    CHECK_INT(bind_pod(&f, "nope", "n1"), 404);
    CHECK_STR(f.message, STR("pods \"nope\" not found"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("g1", ",'schedulingGates':[{'name':'a'}]")), 201);
    CHECK_INT(bind_pod(&f, "g1", "n1"), 409);
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
    CHECK_INT(bind_pod(&f, "e1", "n1"), 201);
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
    CHECK_INT(post_sub(&f, "missing", "eviction", body), 400); /* it names another pod */
    CHECK_INT(post_sub(&f, "missing", "eviction", "{'metadata':{'name':'missing'}}"), 404);
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
