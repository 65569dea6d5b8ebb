/* Conversion webhooks beside all else: storage, definitions, managers, admission, other requests.
 */
#include "apiserver/crd/test-conversion-fixture.h"

/* ---- storage ---- */

static void set_storage(struct hook_world *w, bool beta)
{
    const char *alpha = beta ? V_ALPHA("true", "false") : V_ALPHA("true", "true");
    CHECK_INT(
        gadget_patch_definition(w, text_of(&w->f, "{'spec':{'versions':[%s,%s]}}", alpha,
                                           beta ? V_BETA("true", "true") : V_BETA("true", "false"))
                                       .p),
        200);
}

TEST(a_write_that_changes_nothing_moves_an_object_to_the_version_that_is_stored)
{
    struct hook_world w;
    gadget_world_init(&w);
    set_storage(&w, false);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK(gadget_stored(&w, "a")->kind == alpha_kind);
    set_storage(&w, true);
    CHECK_INT(gadget_get(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK(gadget_stored(&w, "a")->kind == alpha_kind);
    uint64_t rv = gadget_stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{}"), 200);
    CHECK(gadget_stored(&w, "a")->kind == beta_kind);
    CHECK(gadget_stored(&w, "a")->rv > rv);
    CHECK_INT(gadget_stored(&w, "a")->generation, 1);
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 3);
    rv = gadget_stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{}"), 200);
    CHECK_INT(gadget_stored(&w, "a")->rv, rv);
    CHECK_INT(hook_world_send(&w, (struct api_request){.verb = API_GET,
                                                       .kind = &kind_crd,
                                                       .name = STR("gadgets." GROUP)}),
              200);
    CHECK_FIELD(&w, "status.storedVersions", "[\"v1beta1\",\"v1alpha1\"]");
    hook_world_done(&w);
}

TEST(objects_may_be_stored_in_a_version_that_is_not_served)
{
    struct hook_world w;
    hook_world_init(&w);
    w.script = gadget_converts;
    gadget_define(&w,
                  text_of(&w.f, CRD(V_ALPHA("true", "false") "," V_BETA("false", "true"), "%.*s"),
                          STR_ARG(gadget_webhook(&w)))
                      .p);
    CHECK(alpha_kind && !beta_kind);
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 201);
    const struct obj *o = store_get(w.f.store, alpha_kind, STR("ns"), STR("a"));
    REQUIRE(o);
    CHECK_CSTR(jstr(jgetc(obj_root(o), "apiVersion")), BETA);
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "3");
    hook_world_done(&w);
}

/* ---- without a webhook ---- */

TEST(without_a_webhook_what_the_stored_version_does_not_know_is_dropped_with_a_warning)
{
    struct hook_world w;
    hook_world_init(&w);
    gadget_define(&w,
                  CRD(V_ALPHA("true", "false") "," V_BETA("true", "true"), "{'strategy':'None'}"));
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3,'mode':'slow'"), 201);
    CHECK_INT(w.f.n_warnings, 1);
    CHECK_CSTR(w.f.warnings[0], "field \"spec.replicas\" is not in version v1beta1, in which "
                                "gadgets are stored, and is dropped");
    CHECK(gadget_stored(&w, "a")->kind == beta_kind);
    CHECK_INT(gadget_get(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec", "{\"mode\":\"slow\"}");
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "apiVersion", ALPHA);
    CHECK_INT(w.asked, 0);
    hook_world_done(&w);
}

/* ---- definitions ---- */

static const struct {
    const char *conversion, *message;
} refused[] = {
    {"{'strategy':'Webhook'}",
     "spec.conversion.webhookClientConfig: Required value: required when strategy is set to "
     "Webhook"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{}}}",
     "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is "
     "required"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{'url':"
     "'http://x.example/y'}}}",
     "spec.conversion.webhookClientConfig.url: Invalid value: \"http://x.example/y\": 'https' is "
     "the only allowed URL scheme; desired format: https://host[/path]"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{"
     "'service':{'name':'x'}}}}",
     "namespace: Required value"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':[],'clientConfig':{'url':"
     "'https://x.example'}}}",
     "onversionReviewVersions: Required value"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v9'],'clientConfig':{'url':"
     "'https://x.example'}}}",
     "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least "
     "one of v1, v1beta1"},
    {"{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1','v1'],'clientConfig':{"
     "'url':'https://x.example'}}}",
     "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v1\": duplicate version"},
    {"{'strategy':'None','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{'url':"
     "'https://x.example'}}}",
     "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set "
     "to Webhook"},
    {"{'strategy':'Magic'}", "spec.conversion.strategy: Unsupported value: \"Magic\""},
};

TEST(a_conversion_that_could_never_work_is_refused)
{
    struct hook_world w;
    hook_world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        str crd = text_of(&w.f, CRD(V_ALPHA("true", "false") "," V_BETA("true", "true"), "%s"),
                          refused[i].conversion);
        if (!CHECK_INT(hook_world_create(&w, &kind_crd, "", crd.p), 422) ||
            !CHECK(str_find(w.f.message, str_of(refused[i].message)) >= 0))
            test_note("want %s\ngot %.*s", refused[i].message, STR_ARG(w.f.message));
    }
    hook_world_done(&w);
}

/* ---- who owns what, in which version ---- */

static int patch_by(struct hook_world *w, const char *api, const char *manager,
                    enum api_patch_type type, const char *spec, bool force)
{
    bool alpha = strcmp(api, ALPHA) == 0;
    return hook_world_send(
        w, (struct api_request){
               .verb = API_PATCH,
               .kind = alpha ? alpha_kind : beta_kind,
               .ns = STR("ns"),
               .name = STR("a"),
               .patch = type,
               .force = force,
               .body = fixture_doc(&w->f, text_of(&w->f,
                                                  "{'apiVersion':'%s','kind':'Gadget','metadata':{"
                                                  "'name':'a'},'spec':{%s}}",
                                                  api, spec)
                                              .p),
               .field_manager = str_of(manager)});
}

/* "m1 Apply v1alpha1 {fields of spec}; ..." */
static str owners(struct hook_world *w)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (struct jiter it = jiter(jpath(doc_root(w->f.doc), "metadata.managedFields")); jnext(&it);)
        strbuf_printf(&b, "%s%.*s %.*s %.*s %.*s", b.len ? "; " : "",
                      STR_ARG(jstr(jgetc(it.value, "manager"))),
                      STR_ARG(jstr(jgetc(it.value, "operation"))),
                      STR_ARG(str_sub(jstr(jgetc(it.value, "apiVersion")), sizeof(GROUP), 64)),
                      STR_ARG(jtext(jget(jgetc(it.value, "fieldsV1"), STR("f:spec")))));
    str out = arena_str(&w->f.arena, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

TEST(managers_of_other_versions_keep_what_others_leave_alone)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(patch_by(&w, ALPHA, "m1", API_PATCH_APPLY, "'replicas':3", false), 201);
    CHECK_CSTR(owners(&w), "m1 Apply v1alpha1 {\"f:replicas\":{}}");
    CHECK_INT(patch_by(&w, BETA, "m2", API_PATCH_MERGE, "'image':{'repo':'r','tag':'1'}", false),
              200);
    CHECK_CSTR(owners(&w), "m1 Apply v1alpha1 {\"f:replicas\":{}}; m2 Update v1beta1 {\"f:image\":"
                           "{\".\":{},\"f:repo\":{},\"f:tag\":{}}}");
    /* It changes under m1's eyes what is called otherwise there. */
    CHECK_INT(patch_by(&w, BETA, "m2", API_PATCH_MERGE, "'size':5", false), 200);
    CHECK_CSTR(owners(&w), "m2 Update v1beta1 {\"f:image\":{\".\":{},\"f:repo\":{},\"f:tag\":{}},"
                           "\"f:size\":{}}");
    /* And m1 hears of it in m2's words. */
    CHECK_INT(patch_by(&w, ALPHA, "m1", API_PATCH_APPLY, "'replicas':4", false), 409);
    CHECK_CSTR(w.f.message,
               "Apply failed with 1 conflict: conflict with \"m2\" using " BETA ": .spec.size");
    CHECK_INT(patch_by(&w, ALPHA, "m1", API_PATCH_APPLY, "'replicas':4", true), 200);
    CHECK_CSTR(owners(&w), "m1 Apply v1alpha1 {\"f:replicas\":{}}; m2 Update v1beta1 {\"f:image\":"
                           "{\".\":{},\"f:repo\":{},\"f:tag\":{}}}");
    CHECK_FIELD(&w, "spec.image", "r:1");
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 4);
    hook_world_done(&w);
}

TEST(who_applies_in_another_version_gives_up_what_is_not_there_any_more)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(patch_by(&w, ALPHA, "m1", API_PATCH_APPLY, "'replicas':3,'image':'r:1'", false), 201);
    CHECK_INT(patch_by(&w, BETA, "m1", API_PATCH_APPLY, "'size':3", false), 200);
    CHECK_CSTR(owners(&w), "m1 Apply v1beta1 {\"f:size\":{}}");
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK(j_is_absent(jpath(doc_root(w.f.doc), "spec.image")));
    /* What another owns in the other version stays. */
    CHECK_INT(patch_by(&w, ALPHA, "m2", API_PATCH_APPLY, "'replicas':3", false), 200);
    CHECK_INT(patch_by(&w, BETA, "m1", API_PATCH_APPLY, "'image':{'repo':'q'}", false), 200);
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK_CSTR(owners(&w), "m1 Apply v1beta1 {\"f:image\":{\"f:repo\":{}}}; m2 Apply v1alpha1 "
                           "{\"f:replicas\":{}}");
    hook_world_done(&w);
}

/* ---- beside others ---- */

static void convert_all_but_b(struct hook_world *w, jval review, struct strbuf *out)
{
    for (struct jiter it = jiter(jpath(review, "request.objects")); jnext(&it);)
        if (str_is(jstr(jpath(it.value, "metadata.name")), "b")) {
            strbuf_add_cstr(out, "{}");
            return;
        }
    gadget_convert(w, review, out);
}

TEST(one_bad_object_fails_only_those_who_ask_for_it)
{
    struct hook_world w;
    struct gadget_watch s;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':1"), 201);
    CHECK_INT(gadget_make(&w, BETA, "b", "'size':2"), 201);
    w.script.speak = convert_all_but_b;
    /* The list asks first, about both; the watch of the good one waits for that, and then asks
     * itself. */
    struct api_request list = {.verb = API_LIST, .kind = alpha_kind, .ns = STR("ns")};
    struct fixture other = {0};
    arena_init(&other.arena);
    arena_init(&other.reply);
    other.server = w.f.server;
    other.user = w.f.user;
    send_only(&other, &list);
    gadget_watch_begin(
        &w, &s, (struct api_watch){.field_selector = STR("metadata.name=a"), .send_initial = true});
    gadget_watch_until(&s, 1);
    CHECK_CSTR(strbuf_str(&s.text), "+a=1");
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_INT(gadget_get(&w, alpha_kind, "b"), 500);
    CHECK(other.answered);
    CHECK_INT(other.code, 500);
    gadget_watch_done(&w, &s);
    hook_world_done(&w);
    doc_unref(other.doc);
    arena_done(&other.arena);
    arena_done(&other.reply);
}

TEST(who_asks_at_once_for_many_is_served_in_turn)
{
    enum { N = 200 };
    struct hook_world w;
    static struct fixture others[N];
    static struct api_request asks[N];
    gadget_world_init(&w);
    for (int i = 0; i < N; i++)
        REQUIRE(gadget_make(&w, BETA, text_of(&w.f, "g%d", i).p, "'size':1") == 201);
    for (int i = 0; i < N; i++) {
        others[i] = (struct fixture){.server = w.f.server, .user = w.f.user};
        arena_init(&others[i].arena);
        arena_init(&others[i].reply);
        asks[i] = (struct api_request){
            .verb = API_GET, .kind = alpha_kind, .ns = STR("ns"), .name = text_of(&w.f, "g%d", i)};
        send_only(&others[i], &asks[i]);
    }
    CHECK_INT(gadget_get(&w, alpha_kind, "g0"), 200);
    for (int n = 0; n < 1000 && !others[N - 1].answered; n++)
        (void)gadget_get(&w, beta_kind, "g0");
    for (int i = 0; i < N; i++) {
        CHECK_INT(others[i].code, 200);
        doc_unref(others[i].doc);
        obj_unref(others[i].obj);
        arena_done(&others[i].arena);
        arena_done(&others[i].reply);
    }
    CHECK_INT(w.asked, N);
    hook_world_done(&w);
}

#define GADGETS_OF(version)                                                                 \
    "'rules':[{'operations':['*'],'apiGroups':['" GROUP "'],'apiVersions':['" version "']," \
    "'resources':['gadgets']}]"

/* A webhook that knows one version only must not be passed by writing in another. */
TEST(an_admission_webhook_that_knows_another_version_fails_by_its_policy)
{
    struct hook_world w;
    gadget_world_init(&w);
    w.by_path[0] = (struct hook_script){.mode = SAY};
    hook_world_configure(&w, false, "x", "/0", GADGETS_OF("v1beta1"));
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 500);
    CHECK_CSTR(w.f.message,
               FAILED "it wants to see gadgets in version v1beta1 and this request is in version "
                      "v1alpha1, which only the conversion webhook of its definition could "
                      "change: name version v1alpha1 in its rules as well");
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "a"), 500);
    hook_world_unconfigure(&w, false, "x");
    hook_world_configure(&w, true, "x", "/0", GADGETS_OF("v1beta1','v1alpha1"));
    CHECK_INT(gadget_make(&w, ALPHA, "b", "'replicas':3"), 201);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "b"), 200);
    hook_world_unconfigure(&w, true, "x");
    hook_world_configure(&w, true, "x", "/0", GADGETS_OF("v1beta1") ",'failurePolicy':'Ignore'");
    CHECK_INT(gadget_make(&w, ALPHA, "b", "'replicas':3"), 201);
    hook_world_done(&w);
}

TEST(admission_webhooks_and_conversion_go_together)
{
    struct hook_world w;
    gadget_world_init(&w);
    w.by_path[0] = (struct hook_script){
        .mode = SAY, .patch = "[{'op':'replace','path':'/spec/replicas','value':8}]"};
    w.by_path[1] = (struct hook_script){.mode = SAY};
    hook_world_configure(&w, true, "m", "/0", GADGETS_OF("v1alpha1"));
    hook_world_configure(&w, false, "v", "/1", GADGETS_OF("v1alpha1"));
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 201);
    CHECK_FIELD(&w, "spec.replicas", "8");
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 8);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{'spec':{'image':'r:1'}}"), 200);
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 8);
    CHECK_CSTR(jtext(jgetc(obj_spec(gadget_stored(&w, "a")), "image")),
               "{\"repo\":\"r\",\"tag\":\"1\"}");
    hook_world_done(&w);
}

/* ---- definitions that change meanwhile ---- */

/* A request beside those of the world. */
struct beside {
    struct fixture f;
    struct api_request r;
};

static void beside_send(struct hook_world *w, struct beside *b, struct api_request r)
{
    b->f = (struct fixture){.server = w->f.server, .user = w->f.user};
    arena_init(&b->f.arena);
    arena_init(&b->f.reply);
    b->r = r;
    send_only(&b->f, &b->r);
}

static void beside_done(struct beside *b)
{
    doc_unref(b->f.doc);
    obj_unref(b->f.obj);
    arena_done(&b->f.arena);
    arena_done(&b->f.reply);
}

static void until_held(struct hook_world *w)
{
    for (int i = 0; i < 1000 && !w->held; i++)
        (void)hook_world_send(w, (struct api_request){.verb = API_GET,
                                                      .kind = &kind_crd,
                                                      .name = STR("gadgets." GROUP)});
    REQUIRE(w->held);
}

static void until_answered(struct hook_world *w, struct beside *b)
{
    for (int i = 0; i < 1000 && !b->f.answered; i++)
        gadget_settle(w);
    CHECK(b->f.answered);
}

TEST(a_write_is_stored_in_the_version_that_counts_when_its_conversion_ends)
{
    struct hook_world w;
    struct beside b;
    gadget_world_init(&w);
    w.script = (struct hook_script){.mode = HANG};
    beside_send(&w, &b,
                (struct api_request){.verb = API_CREATE,
                                     .kind = alpha_kind,
                                     .ns = STR("ns"),
                                     .body = fixture_doc(&w.f, "{'apiVersion':'" ALPHA
                                                               "','kind':'Gadget','metadata':{"
                                                               "'name':'a'},'spec':{'replicas':"
                                                               "3}}")});
    until_held(&w);
    set_storage(&w, false);
    w.script = gadget_converts;
    hook_world_answer_held(&w);
    until_answered(&w, &b);
    CHECK_INT(b.f.code, 201);
    const struct obj *o = store_get(w.f.store, alpha_kind, STR("ns"), STR("a"));
    REQUIRE(o);
    CHECK(o->kind == alpha_kind);
    CHECK_CSTR(jstr(jgetc(obj_root(o), "apiVersion")), ALPHA);
    CHECK_INT(jint(jgetc(obj_spec(o), "replicas"), 0), 3);
    beside_done(&b);
    hook_world_done(&w);
}

static void convert_to_seven(struct hook_world *w, jval review, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    gadget_convert(w, review, &text);
    str s = strbuf_str(&text), was = STR("\"replicas\":3");
    ptrdiff_t at = str_find(s, was);
    REQUIRE(at > 0);
    strbuf_add_str(out, str_sub(s, 0, (size_t)at));
    strbuf_add_str(out, STR("\"replicas\":7"));
    strbuf_add_str(out, str_sub(s, (size_t)at + was.len, s.len));
    strbuf_done(&text);
}

TEST(an_answer_from_before_a_definition_changed_is_not_remembered)
{
    struct hook_world w;
    struct beside b;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_make(&w, BETA, "b", "'size':3"), 201);
    w.script = (struct hook_script){.mode = HANG};
    beside_send(&w, &b,
                (struct api_request){
                    .verb = API_GET, .kind = alpha_kind, .ns = STR("ns"), .name = STR("a")});
    until_held(&w);
    CHECK_INT(gadget_patch_definition(&w, "{'spec':{'names':{'shortNames':['gg']}}}"), 200);
    w.script = (struct hook_script){.mode = SAY, .speak = convert_to_seven};
    /* Who asks after the change does not wait for the answer from before it. */
    CHECK_INT(gadget_get(&w, alpha_kind, "b"), 200);
    CHECK_FIELD(&w, "spec.replicas", "7");
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "7");
    w.script = gadget_converts;
    hook_world_answer_held(&w);
    until_answered(&w, &b);
    CHECK_INT(b.f.code, 200);
    w.script = (struct hook_script){.mode = SAY, .speak = convert_to_seven};
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "7");
    beside_done(&b);
    hook_world_done(&w);
}

TEST(what_is_converted_for_a_definition_that_is_gone_is_not_stored)
{
    struct hook_world w;
    struct beside b;
    gadget_world_init(&w);
    w.script = (struct hook_script){.mode = HANG};
    const struct kind *beta = beta_kind;
    beside_send(&w, &b,
                (struct api_request){.verb = API_CREATE,
                                     .kind = alpha_kind,
                                     .ns = STR("ns"),
                                     .body = fixture_doc(&w.f, "{'apiVersion':'" ALPHA
                                                               "','kind':'Gadget','metadata':{"
                                                               "'name':'a'},'spec':{'replicas':"
                                                               "3}}")});
    until_held(&w);
    CHECK_INT(hook_world_delete(&w, &kind_crd, "", "gadgets." GROUP), 200);
    for (int i = 0; i < 200 && beta_kind; i++)
        gadget_settle(&w);
    CHECK(!beta_kind);
    w.script = gadget_converts;
    hook_world_answer_held(&w);
    until_answered(&w, &b);
    CHECK_INT(b.f.code, 404);
    CHECK(!store_get(w.f.store, beta, STR("ns"), STR("a")));
    beside_done(&b);
    hook_world_done(&w);
}
