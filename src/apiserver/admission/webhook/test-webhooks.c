/* Webhooks as a client of the server sees them: calls, order, reviews, configurations. */
#include "apiserver/admission/webhook/test-webhook-fixture.h"

#include "base/b64.h"

#define DAY ((usec)86400 * USEC_PER_SEC)

/* ---- what it does with the connection ---- */

static const struct {
    const char *why;
    enum mode mode;
    const char *more;
    int code;
    const char *message;
} ends[] = {
    {"hangs", HANG, ",'timeoutSeconds':1", 500,
     POSTED "Post \"https://127.0.0.1:*/?timeout=1s\": context deadline exceeded"},
    {"hangs and is ignored", HANG, ",'timeoutSeconds':1,'failurePolicy':'Ignore'", 201, NULL},
    {"stops in the middle", STREAM, "", 500, POSTED "Post \"https://127.0.0.1:*/?timeout=10s\": *"},
    {"dies", DIE, "", 500, POSTED "Post \"https://127.0.0.1:*/?timeout=10s\": *"},
    {"dies and is ignored", DIE, ",'failurePolicy':'Ignore'", 201, NULL},
};

TEST(a_webhook_that_hangs_or_dies_holds_nobody_up)
{
    struct hook_world w;
    hook_world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        str more = text_of(&w.f, CONFIG_MAPS "%s", ends[i].more);
        str address = text_of(&w.f, "%s", http_server_address(w.http));
        w.script = (struct hook_script){.mode = ends[i].mode};
        hook_world_configure(&w, i % 2, "x", "/", more.p);
        int code = hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", ""));
        bool ok = CHECK_INT(code, ends[i].code);
        if (ends[i].message)
            ok &= CHECK(hook_text_matches(str_of(ends[i].message), w.f.message));
        if (!ok)
            test_note("%s: %.*s", ends[i].why, STR_ARG(w.f.message));
        hook_world_unconfigure(&w, i % 2, "x");
        if (code == 201)
            CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 200);
        w.die = false;
        if (!w.http)
            hook_world_serve(&w, address.p);
    }
    hook_world_done(&w);
}

TEST(nobody_listens)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    w.die = true;
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 500);
    CHECK(hook_text_matches(
        STR(POSTED "Post \"https://127.0.0.1:*/?timeout=10s\": dial tcp 127.0.0.1:*: connect: "
                   "*"),
        w.f.message));
    hook_world_done(&w);
}

TEST(a_certificate_of_somebody_else_is_not_trusted)
{
    struct hook_world w;
    struct pki_identity other = {0};
    struct strbuf b = STRBUF_INIT(sizeof(w.ca_b64) - 1);
    hook_world_init(&w);
    REQUIRE(pki_make_ca("other", loop_wall(w.f.loop), DAY, &other, NULL) == 0);
    b64_encode(strbuf_str(&other.cert_pem), B64_STD, &b);
    memcpy(w.ca_b64, b.p, b.len + 1);
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 500);
    CHECK(hook_text_matches(STR(POSTED "Post *TLS: *"), w.f.message));
    CHECK_INT(w.asked, 0);
    strbuf_done(&b);
    pki_identity_done(&other);
    hook_world_done(&w);
}

/* ---- what it is told ---- */

static str asked_for(struct hook_world *w, const char *path)
{
    jval v = jpath(doc_root(w->review), path);
    return jtype(v) == J_STRING ? jstr(v) : jtext(v);
}

TEST(the_question_says_who_wants_what)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    REQUIRE(w.review);
    CHECK_STR(asked_for(&w, "kind"), STR("AdmissionReview"));
    CHECK_STR(asked_for(&w, "apiVersion"), STR("admission.k8s.io/v1"));
    CHECK_STR(asked_for(&w, "request.kind"),
              STR("{\"group\":\"\",\"version\":\"v1\",\"kind\":\"ConfigMap\"}"));
    CHECK_STR(asked_for(&w, "request.resource"),
              STR("{\"group\":\"\",\"version\":\"v1\",\"resource\":\"configmaps\"}"));
    CHECK_STR(asked_for(&w, "request.requestKind.kind"), STR("ConfigMap"));
    CHECK_STR(asked_for(&w, "request.name"), STR("c"));
    CHECK_STR(asked_for(&w, "request.namespace"), STR("ns"));
    CHECK_STR(asked_for(&w, "request.operation"), STR("CREATE"));
    CHECK_STR(asked_for(&w, "request.userInfo.username"), STR("admin"));
    CHECK_STR(asked_for(&w, "request.userInfo.groups"), STR("[\"system:masters\"]"));
    CHECK_STR(asked_for(&w, "request.object.data.a"), STR("1"));
    CHECK_STR(asked_for(&w, "request.oldObject"), STR("null"));
    CHECK_STR(asked_for(&w, "request.dryRun"), STR("false"));
    CHECK_STR(asked_for(&w, "request.options.kind"), STR("CreateOptions"));
    CHECK_STR(asked_for(&w, "request.options.fieldManager"), STR("test"));
    CHECK(j_is_absent(jpath(doc_root(w.review), "request.object.metadata.resourceVersion")));
    /* It is complete when it is judged. */
    CHECK(jstr(jpath(doc_root(w.review), "request.object.metadata.uid")).len == 36);
    CHECK_INT(hook_world_patch(&w, &kind_config_map, "c", "", "{'data':{'a':'2'}}"), 200);
    CHECK_STR(asked_for(&w, "request.operation"), STR("UPDATE"));
    CHECK_STR(asked_for(&w, "request.object.data.a"), STR("2"));
    CHECK_STR(asked_for(&w, "request.oldObject.data.a"), STR("1"));
    CHECK_STR(asked_for(&w, "request.options.kind"), STR("PatchOptions"));
    CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 200);
    CHECK_STR(asked_for(&w, "request.operation"), STR("DELETE"));
    CHECK_STR(asked_for(&w, "request.object"), STR("null"));
    CHECK_STR(asked_for(&w, "request.oldObject.data.a"), STR("2"));
    CHECK_STR(asked_for(&w, "request.options.kind"), STR("DeleteOptions"));
    CHECK_INT(w.asked, 3);
    hook_world_done(&w);
}

TEST(a_mutating_webhook_sees_a_new_object_without_uid)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, true, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns",
                                "{'metadata':{'generateName':'c-'},'data':{'a':'1'}}"),
              201);
    CHECK(j_is_absent(jpath(doc_root(w.review), "request.object.metadata.uid")));
    CHECK(j_is_absent(jpath(doc_root(w.review), "request.name")));
    CHECK(str_starts(field(&w.f, "metadata.name"), STR("c-")));
    CHECK_INT(field(&w.f, "metadata.uid").len, 36);
    hook_world_done(&w);
}

TEST(a_deletion_can_be_refused_and_not_be_patched)
{
    struct hook_world w;
    hook_world_init(&w);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    w.script.answer = REVIEW("'allowed':false,'status':{'message':'keep it'}");
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 400);
    CHECK_STR(w.f.message, STR("admission webhook \"x.example.com\" denied the request: keep it"));
    hook_world_unconfigure(&w, false, "x");
    w.script = (struct hook_script){.patch = "[{'op':'add','path':'/data/b','value':'2'}]"};
    hook_world_configure(&w, true, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 500);
    CHECK_STR(w.f.message,
              STR("Internal error occurred: admission webhook \"x.example.com\" attempted "
                  "to modify the object, which is not supported for this operation"));
    w.script = (struct hook_script){0};
    CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 200);
    /* Of what is not there nobody is told. */
    unsigned asked = w.asked;
    CHECK_INT(hook_world_delete(&w, &kind_config_map, "ns", "c"), 404);
    CHECK_INT(w.asked, asked);
    hook_world_done(&w);
}

#define PODS_AND_ALL                                                                            \
    "'rules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':['*'],'resources':['pods/*'," \
    "'deployments/*']}]"

TEST(subresources_are_told_apart)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, false, "x", "/", PODS_AND_ALL);
    CHECK_INT(hook_world_create(&w, &kind_pod, "ns", POD("p", "")), 201);
    CHECK_INT(hook_world_patch(&w, &kind_pod, "p", "status", "{'status':{'message':'m'}}"), 200);
    CHECK_STR(asked_for(&w, "request.subResource"), STR("status"));
    CHECK_STR(asked_for(&w, "request.kind.kind"), STR("Pod"));
    CHECK_STR(asked_for(&w, "request.object.status.message"), STR("m"));
    int code = hook_world_send(
        &w, (struct api_request){.verb = API_CREATE,
                                 .kind = &kind_pod,
                                 .ns = STR("ns"),
                                 .name = STR("p"),
                                 .subresource = STR("binding"),
                                 .body = fixture_doc(&w.f, "{'apiVersion':'v1','kind':'Binding',"
                                                           "'metadata':{'name':'p'},'target':{"
                                                           "'kind':'Node','name':'n'}}")});
    CHECK_INT(code, 201);
    CHECK_STR(asked_for(&w, "request.subResource"), STR("binding"));
    CHECK_STR(asked_for(&w, "request.kind.kind"), STR("Binding"));
    CHECK_STR(asked_for(&w, "request.operation"), STR("CREATE"));
    CHECK_STR(asked_for(&w, "request.object.target.name"), STR("n"));
    code = hook_world_send(
        &w, (struct api_request){.verb = API_CREATE,
                                 .kind = &kind_pod,
                                 .ns = STR("ns"),
                                 .name = STR("p"),
                                 .subresource = STR("eviction"),
                                 .body = fixture_doc(&w.f,
                                                     "{'apiVersion':'policy/v1','kind':'Eviction',"
                                                     "'metadata':{'name':'p'}}")});
    CHECK_INT(code, 201);
    CHECK_STR(asked_for(&w, "request.kind"),
              STR("{\"group\":\"policy\",\"version\":\"v1\",\"kind\":\"Eviction\"}"));
    CHECK_STR(asked_for(&w, "request.subResource"), STR("eviction"));
    CHECK_INT(w.asked, 4);
    hook_world_done(&w);
}

#define DEPLOYMENT                                                                           \
    "{'metadata':{'name':'d'},'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}},"    \
    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':" \
    "'x'}]}}}}"

TEST(a_scale_is_shown_and_patched_as_a_scale)
{
    struct hook_world w;
    hook_world_init(&w);
    CHECK_INT(hook_world_create(&w, &kind_deployment, "ns", DEPLOYMENT), 201);
    w.script.patch = "[{'op':'replace','path':'/spec/replicas','value':7}]";
    hook_world_configure(&w, true, "x", "/", PODS_AND_ALL);
    CHECK_INT(hook_world_patch(&w, &kind_deployment, "d", "scale", "{'spec':{'replicas':3}}"), 200);
    CHECK_STR(asked_for(&w, "request.kind"),
              STR("{\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"}"));
    CHECK_STR(asked_for(&w, "request.resource.resource"), STR("deployments"));
    CHECK_STR(asked_for(&w, "request.object.spec.replicas"), STR("3"));
    CHECK_STR(asked_for(&w, "request.oldObject.spec.replicas"), STR("1"));
    CHECK_STR(field(&w.f, "spec.replicas"), STR("7"));
    hook_world_done(&w);
}

TEST(another_version_is_shown_to_who_wants_that)
{
    struct hook_world w;
    hook_world_init(&w);
    w.script.patch = "[{'op':'replace','path':'/spec/maxReplicas','value':9}]";
    hook_world_configure(
        &w, true, "x", "/",
        "'rules':[{'operations':['*'],'apiGroups':['autoscaling'],'apiVersions':['v1'],"
        "'resources':['horizontalpodautoscalers']}]");
    CHECK_INT(
        hook_world_create(&w, &kind_hpa, "ns",
                          "{'metadata':{'name':'h'},'spec':{'maxReplicas':3,'scaleTargetRef':{"
                          "'apiVersion':'apps/v1','kind':'Deployment','name':'d'}}}"),
        201);
    CHECK_STR(asked_for(&w, "request.kind.version"), STR("v1"));
    CHECK_STR(asked_for(&w, "request.requestKind.version"), STR("v2"));
    CHECK_STR(asked_for(&w, "request.object.apiVersion"), STR("autoscaling/v1"));
    CHECK_STR(field(&w.f, "apiVersion"), STR("autoscaling/v2"));
    CHECK_STR(field(&w.f, "spec.maxReplicas"), STR("9"));
    hook_world_done(&w);
}

/* ---- several ---- */

TEST(mutating_webhooks_come_by_name_and_see_each_other)
{
    struct hook_world w;
    hook_world_init(&w);
    w.by_path[0].patch = "[{'op':'add','path':'/data/order','value':'first'}]";
    w.by_path[1].patch = "[{'op':'test','path':'/data/order','value':'first'},{'op':'replace',"
                         "'path':'/data/order','value':'second'}]";
    hook_world_configure(&w, true, "b", "/1", CONFIG_MAPS);
    hook_world_configure(&w, true, "a", "/0", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_STR(field(&w.f, "data.order"), STR("second"));
    CHECK_STR(strbuf_str(&w.seen), STR("/0/1"));
    hook_world_done(&w);
}

TEST(who_asked_for_it_is_asked_again_after_a_change_and_only_once)
{
    struct hook_world w;
    hook_world_init(&w);
    w.by_path[1].patch = "[{'op':'add','path':'/data/b','value':'2'}]";
    hook_world_configure(&w, true, "a", "/0", CONFIG_MAPS ",'reinvocationPolicy':'IfNeeded'");
    hook_world_configure(&w, true, "b", "/1", CONFIG_MAPS ",'reinvocationPolicy':'IfNeeded'");
    hook_world_configure(&w, true, "c", "/2", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_STR(strbuf_str(&w.seen), STR("/0/1/2/0"));
    /* Nothing changes: nobody is asked again. */
    strbuf_reset(&w.seen);
    w.by_path[1].patch = NULL;
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("d", "")), 201);
    CHECK_STR(strbuf_str(&w.seen), STR("/0/1/2"));
    hook_world_done(&w);
}

TEST(validating_webhooks_are_asked_at_once_and_the_first_in_order_counts)
{
    struct hook_world w;
    hook_world_init(&w);
    w.by_path[0] = (struct hook_script){.mode = HANG};
    w.by_path[1].answer = REVIEW("'allowed':false,'status':{'message':'one'}");
    w.by_path[2].answer = REVIEW("'allowed':false,'status':{'message':'two'}");
    hook_world_configure(&w, false, "c", "/2", CONFIG_MAPS);
    hook_world_configure(&w, false, "b", "/1", CONFIG_MAPS);
    hook_world_configure(&w, false, "a", "/0",
                         CONFIG_MAPS ",'timeoutSeconds':1,'failurePolicy':'Ignore'");
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 400);
    CHECK_STR(w.f.message, STR("admission webhook \"b.example.com\" denied the request: one"));
    CHECK_INT(w.asked, 3);
    hook_world_done(&w);
}

TEST(a_refusal_to_mutate_ends_it_before_anybody_validates)
{
    struct hook_world w;
    hook_world_init(&w);
    w.by_path[0].answer = REVIEW("'allowed':false");
    hook_world_configure(&w, true, "a", "/0", CONFIG_MAPS);
    hook_world_configure(&w, false, "b", "/1", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 400);
    CHECK_STR(strbuf_str(&w.seen), STR("/0"));
    hook_world_done(&w);
}

TEST(validating_webhooks_see_what_mutating_ones_made)
{
    struct hook_world w;
    hook_world_init(&w);
    w.by_path[0].patch = "[{'op':'add','path':'/spec/containers/-','value':{'name':'side',"
                         "'image':'x'}}]";
    hook_world_configure(&w, true, "a", "/0", PODS_AND_ALL);
    hook_world_configure(&w, false, "b", "/1", PODS_AND_ALL);
    CHECK_INT(hook_world_create(&w, &kind_pod, "ns", POD("p", "")), 201);
    jval side = jat(jpath(doc_root(w.review), "request.object.spec.containers"), 1);
    CHECK_STR(jstr(jgetc(side, "name")), STR("side"));
    /* ... with the defaults of what was added. */
    CHECK_STR(jstr(jgetc(side, "imagePullPolicy")), STR("Always"));
    CHECK_STR(jstr(jgetc(side, "terminationMessagePath")), STR("/dev/termination-log"));
    hook_world_done(&w);
}

TEST(warnings_reach_the_client)
{
    struct hook_world w;
    hook_world_init(&w);
    w.script.answer = REVIEW("'allowed':true,'warnings':['mind the gap','and the step',7]");
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    REQUIRE(w.f.n_warnings == 2);
    CHECK_STR(w.f.warnings[0], STR("mind the gap"));
    CHECK_STR(w.f.warnings[1], STR("and the step"));
    hook_world_done(&w);
}

/* ---- dry run ---- */

static int dry_create(struct hook_world *w)
{
    return hook_world_send(w,
                           (struct api_request){.verb = API_CREATE,
                                                .kind = &kind_config_map,
                                                .ns = STR("ns"),
                                                .dry_run = true,
                                                .body = fixture_doc(&w->f, CONFIG_MAP("c", ""))});
}

TEST(a_dry_run_is_told_to_who_has_no_side_effects)
{
    struct hook_world w;
    hook_world_init(&w);
    w.script.patch = "[{'op':'add','path':'/data/b','value':'2'}]";
    hook_world_configure(&w, true, "x", "/", CONFIG_MAPS ",'sideEffects':'NoneOnDryRun'");
    CHECK_INT(dry_create(&w), 201);
    CHECK_STR(asked_for(&w, "request.dryRun"), STR("true"));
    CHECK_STR(asked_for(&w, "request.options.dryRun"), STR("[\"All\"]"));
    CHECK_STR(field(&w.f, "data.b"), STR("2"));
    CHECK(!store_get(w.f.store, &kind_config_map, STR("ns"), STR("c")));
    hook_world_done(&w);
}

/* ---- services ---- */

#define SERVICE_HOOK                                                                           \
    "{'metadata':{'name':'x'},'webhooks':[{'name':'x.example.com','clientConfig':{'service':{" \
    "'namespace':'ns','name':'hook','path':'/1'},'caBundle':'%s'},'admissionReviewVersions':[" \
    "'v1'],'sideEffects':'None'," CONFIG_MAPS "}]}"

TEST(a_service_is_looked_up_in_its_endpoints)
{
    struct hook_world w;
    hook_world_init(&w);
    const char *port = strchr(http_server_address(w.http), ':') + 1;
    CHECK_INT(hook_world_create(&w, &kind_validating_webhook, "",
                                text_of(&w.f, SERVICE_HOOK, w.ca_b64).p),
              201);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 500);
    CHECK_STR(
        w.f.message,
        STR(POSTED "Post \"https://hook.ns.svc:443/1?timeout=10s\": service \"hook\" not found"));
    CHECK_INT(
        hook_world_create(&w, &kind_service, "ns",
                          "{'metadata':{'name':'hook'},'spec':{'ports':[{'name':'web','port':443,"
                          "'targetPort':9443}]}}"),
        201);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 500);
    CHECK_STR(w.f.message,
              STR(POSTED "Post \"https://hook.ns.svc:443/1?timeout=10s\": no endpoints "
                         "available for service \"hook\""));
    CHECK_INT(
        hook_world_create(&w, &kind_endpoint_slice, "ns",
                          text_of(&w.f,
                                  "{'metadata':{'name':'hook-1','labels':{'kubernetes.io/"
                                  "service-name':'hook'}},'addressType':'IPv4','endpoints':[{"
                                  "'addresses':['127.9.9.9'],'conditions':{'ready':false}},{"
                                  "'addresses':['127.0.0.1']}],'ports':[{'name':'web','port':%s}]}",
                                  port)
                              .p),
        201);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_STR(strbuf_str(&w.seen), STR("/1"));
    hook_world_done(&w);
}

/* ---- others meanwhile ---- */

/* Answers land in a fixture each. */
static struct fixture other_client(const struct hook_world *w)
{
    struct fixture g = {
        .loop = w->f.loop, .server = w->f.server, .store = w->f.store, .user = w->f.user};
    arena_init(&g.arena);
    arena_init(&g.reply);
    return g;
}

static void other_done(struct fixture *g)
{
    doc_unref(g->doc);
    obj_unref(g->obj);
    arena_done(&g->arena);
    arena_done(&g->reply);
}

TEST(others_are_served_while_a_webhook_thinks_and_a_patch_is_made_anew)
{
    struct hook_world w;
    hook_world_init(&w);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    hook_world_configure(&w, false, "x", "/",
                         CONFIG_MAPS ",'objectSelector':{'matchLabels':{'slow':'yes'}}"
                                     ",'timeoutSeconds':1,'failurePolicy':'Ignore'");
    w.script.mode = HANG;
    struct fixture g = other_client(&w);
    struct api_request slow = {.verb = API_PATCH,
                               .kind = &kind_config_map,
                               .ns = STR("ns"),
                               .name = STR("c"),
                               .patch = API_PATCH_MERGE,
                               .body = fixture_doc(&g, "{'metadata':{'labels':{'slow':'yes'}}}")};
    send_only(&g, &slow);
    CHECK_INT(hook_world_patch(&w, &kind_config_map, "c", "", "{'data':{'a':'9'}}"), 200);
    CHECK(!g.answered);
    usec end = loop_now(w.f.loop) + 5 * USEC_PER_SEC;
    while (!g.answered && loop_now(w.f.loop) < end)
        CHECK_INT(hook_world_send(&w, (struct api_request){.verb = API_GET,
                                                           .kind = &kind_config_map,
                                                           .ns = STR("ns"),
                                                           .name = STR("c")}),
                  200);
    CHECK_INT(g.code, 200);
    CHECK_STR(jstr(jpath(doc_root(g.doc), "data.a")), STR("9"));
    CHECK_STR(jstr(jpath(doc_root(g.doc), "metadata.labels.slow")), STR("yes"));
    /* Once for the version that was overtaken, once for the one that was written. */
    CHECK_INT(w.asked, 2);
    other_done(&g);
    hook_world_done(&w);
}

TEST(a_server_that_goes_away_leaves_no_call_behind)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, true, "x", "/", CONFIG_MAPS);
    w.script.mode = HANG;
    struct fixture g = other_client(&w);
    struct api_request r = {.verb = API_CREATE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .body = fixture_doc(&g, CONFIG_MAP("c", ""))};
    send_only(&g, &r);
    for (int i = 0; i < 1000 && !w.held; i++)
        CHECK_INT(hook_world_send(&w, (struct api_request){.verb = API_GET,
                                                           .kind = &kind_namespace,
                                                           .name = STR("ns")}),
                  200);
    CHECK(w.held);
    apiserver_free(w.f.server);
    w.f.server = NULL;
    CHECK(g.answered);
    CHECK_INT(g.code, 0);
    other_done(&g);
    hook_world_done(&w);
}

TEST(connections_are_kept)
{
    struct hook_world w;
    hook_world_init(&w);
    hook_world_configure(&w, false, "x", "/", CONFIG_MAPS);
    for (int i = 0; i < 20; i++)
        CHECK_INT(hook_world_create(&w, &kind_config_map, "ns",
                                    text_of(&w.f, "{'metadata':{'name':'c%d'}}", i).p),
                  201);
    CHECK_INT(w.asked, 20);
    CHECK_INT(http_server_connections(w.http), 1);
    hook_world_done(&w);
}

/* ---- configurations ---- */

#define HOOK(name, config, more)                                                      \
    "{'metadata':{'name':'x'},'webhooks':[{'name':'" name "','clientConfig':{" config \
    "},'admissionReviewVersions':['v1'],'sideEffects':'None'" more "}]}"
#define URL "'url':'https://example.com/x'"

static const struct {
    const char *json;
    const char *message; /* NULL: valid */
} configurations[] = {
    {HOOK("a.b.c", URL, ""), NULL},
    {HOOK("a.b.c", "'service':{'namespace':'n','name':'s'}", ""), NULL},
    {HOOK("short", URL, ""),
     "webhooks[0].name: Invalid value: \"short\": should be a domain with at "
     "least three segments separated by dots"},
    {HOOK("a.b.c", "", ""),
     "webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
    {HOOK("a.b.c", URL ",'service':{'namespace':'n','name':'s'}", ""),
     "webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
    {HOOK("a.b.c", "'url':'http://example.com'", ""),
     "webhooks[0].clientConfig.url: Invalid value: \"http://example.com\": 'https' is the only "
     "allowed URL scheme; desired format: https://host[/path]"},
    {HOOK("a.b.c", "'url':'https://example.com?a=b'", ""),
     "webhooks[0].clientConfig.url: Invalid value: \"https://example.com?a=b\": query parameters "
     "are "
     "not permitted in the URL; desired format: https://host[/path]"},
    {HOOK("a.b.c", URL, ",'matchConditions':[{'name':'a','expression':'1 +'}]"),
     "webhooks[0].matchConditions[0].expression: Invalid value: \"1 +\": compilation failed: "
     "ERROR: "
     "<input>:1:4: Syntax error: unexpected '<EOF>'\n | 1 +\n | ...^"},
    {HOOK("a.b.c", URL, ",'timeoutSeconds':31"),
     "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 "
     "seconds"},
    {HOOK("a.b.c", URL, ",'admissionReviewVersions':['v2']"),
     "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of "
     "v1, "
     "v1beta1"},
    {HOOK("a.b.c", URL,
          ",'rules':[{'operations':['READ'],'apiGroups':['*'],'apiVersions':['*'],"
          "'resources':['*']}]"),
     "webhooks[0].rules[0].operations[0]: Unsupported value: \"READ\": supported values: \"*\", "
     "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
    {HOOK("a.b.c", URL,
          ",'rules':[{'operations':['*','CREATE'],'apiGroups':['*'],'apiVersions':["
          "'*'],'resources':['*']}]"),
     "webhooks[0].rules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must "
     "not "
     "specify other operations"},
    {HOOK("a.b.c", URL, ",'rules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':['*']}]"),
     "webhooks[0].rules[0].resources: Required value"},
};

TEST(a_configuration_that_could_not_work_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(configurations); i++) {
        const struct kind *k = i % 2 ? &kind_mutating_webhook : &kind_validating_webhook;
        int code = create(&f, k, "", configurations[i].json);
        bool ok = true;
        if (configurations[i].message)
            ok = CHECK_INT(code, 422) &
                 CHECK_STR(f.message, text_of(&f, "%s.%s \"x\" is invalid: %s", k->kind, k->group,
                                              configurations[i].message));
        else
            ok = CHECK_INT(code, 201);
        if (!ok)
            test_note("%s: %.*s", configurations[i].json, STR_ARG(f.message));
        if (code == 201)
            CHECK_INT(delete (&f, k, "", "x"), 200);
    }
    fixture_done(&f);
}

TEST(the_same_webhook_twice_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_validating_webhook, "",
                     "{'metadata':{'name':'x'},'webhooks':[{'name':'a.b.c','clientConfig':{" URL
                     "},'admissionReviewVersions':['v1'],'sideEffects':'None'},{'name':'a.b.c',"
                     "'clientConfig':{" URL "},'admissionReviewVersions':['v1'],'sideEffects':"
                     "'None'}]}"),
              422);
    CHECK_STR(f.message, STR("ValidatingWebhookConfiguration.admissionregistration.k8s.io \"x\" is "
                             "invalid: webhooks[1].name: "
                             "Duplicate value: \"a.b.c\""));
    fixture_done(&f);
}

/* A simulation has no network: what webhooks cannot be asked about goes by their policy. */
TEST(in_a_simulation_webhooks_fail_by_their_policy)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_validating_webhook, "",
                     HOOK("a.b.c", URL, ",'failurePolicy':'Ignore'," CONFIG_MAPS)),
              201);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_INT(patch(&f, &kind_validating_webhook, "", "x", API_PATCH_JSON,
                    "[{'op':'replace','path':'/webhooks/0/failurePolicy','value':'Fail'}]"),
              200);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("d", "")), 500);
    CHECK_STR(f.message,
              STR("Internal error occurred: failed calling webhook \"a.b.c\": failed to call "
                  "webhook: Post \"https://example.com/x?timeout=10s\": a simulation has no "
                  "network"));
    fixture_done(&f);
}

/* Whoever is not asked cannot refuse. */
TEST(more_webhooks_than_can_be_asked_let_nothing_through)
{
    enum { CONFIGS = 11, EACH = 100 };
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < CONFIGS; i++) {
        struct strbuf b = STRBUF_INIT(1 << 20);
        strbuf_printf(&b, "{'metadata':{'name':'x%02d'},'webhooks':[", i);
        for (int n = 0; n < EACH; n++)
            strbuf_printf(&b,
                          "%s{'name':'w%d.b.c','clientConfig':{" URL
                          "},'admissionReviewVersions':['v1'],'sideEffects':'None',"
                          "'failurePolicy':'Ignore','rules':[{'operations':['*'],'apiGroups':[''],"
                          "'apiVersions':['v1'],'resources':['pods']}]}",
                          n ? "," : "", n);
        strbuf_add_cstr(&b, "]}");
        CHECK_INT(create(&f, &kind_validating_webhook, "", text_of(&f, "%s", b.p).p), 201);
        strbuf_done(&b);
    }
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 500);
    CHECK_STR(f.message, STR("Internal error occurred: there are 1100 validating webhooks and at "
                             "most 1000 are asked: delete configurations that are not needed"));
    CHECK_INT(delete (&f, &kind_validating_webhook, "", "x00"), 200);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    fixture_done(&f);
}
