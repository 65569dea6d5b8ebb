/* Conversion webhooks as a client of the server sees them: writes, reads, lists, watches, and
 * answers that cannot be used. */
#include "apiserver/crd/test-conversion-fixture.h"

/* ---- no data is lost ---- */

TEST(an_object_of_another_version_is_stored_converted_and_whole)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3,'image':'repo:1'"), 201);
    CHECK_FIELD(&w, "apiVersion", ALPHA);
    CHECK_FIELD(&w, "spec", "{\"replicas\":3,\"image\":\"repo:1\",\"mode\":\"fast\"}");
    const struct obj *o = gadget_stored(&w, "a");
    REQUIRE(o);
    CHECK(o->kind == beta_kind);
    CHECK_CSTR(jstr(jgetc(obj_root(o), "apiVersion")), BETA);
    CHECK_INT(jint(jgetc(obj_spec(o), "size"), 0), 3);
    CHECK_CSTR(jtext(jgetc(obj_spec(o), "image")), "{\"repo\":\"repo\",\"tag\":\"1\"}");
    CHECK(j_is_absent(jgetc(obj_spec(o), "replicas")));
    CHECK_INT(gadget_get(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec", "{\"replicas\":3,\"mode\":\"fast\",\"image\":\"repo:1\"}");
    CHECK_FIELD(&w, "metadata.generation", "1");
    hook_world_done(&w);
}

TEST(patches_work_on_the_version_of_the_request)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3,'image':{'repo':'r','tag':'1'}"), 201);
    CHECK_INT(w.asked, 0);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{'spec':{'replicas':5}}"), 200);
    CHECK_FIELD(&w, "spec.image", "r:1");
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 5);
    CHECK_INT(gadget_stored(&w, "a")->generation, 2);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'image':{'tag':'2'}}}"), 200);
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.image", "r:2");
    CHECK_FIELD(&w, "spec.replicas", "5");
    CHECK_FIELD(&w, "metadata.generation", "3");
    /* Nothing changes, nothing is written. */
    uint64_t rv = gadget_stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{'spec':{'replicas':5}}"), 200);
    CHECK_INT(gadget_stored(&w, "a")->rv, rv);
    hook_world_done(&w);
}

TEST(status_and_scale_are_those_of_the_version)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 201);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "status", "{'status':{'ready':2}}"), 200);
    CHECK_INT(jint(jgetc(obj_status(gadget_stored(&w, "a")), "readySize"), 0), 2);
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 3);
    for (int beta = 0; beta < 2; beta++) {
        const struct kind *k = beta ? beta_kind : alpha_kind;
        CHECK_INT(hook_world_send(&w, (struct api_request){.verb = API_GET,
                                                           .kind = k,
                                                           .ns = STR("ns"),
                                                           .name = STR("a"),
                                                           .subresource = STR("scale")}),
                  200);
        CHECK_FIELD(&w, "spec.replicas", beta ? "7" : "3");
        CHECK_FIELD(&w, "status.replicas", "2");
        CHECK_INT(hook_world_patch(&w, k, "a", "scale",
                                   beta ? "{'spec':{'replicas':9}}" : "{'spec':{'replicas':7}}"),
                  200);
        CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), beta ? 9 : 7);
    }
    hook_world_done(&w);
}

/* ---- what it is asked ---- */

TEST(the_review_is_as_kube_apiserver_puts_it)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_INT(w.asked, 1);
    jval root = doc_root(w.review);
    CHECK_CSTR(jstr(jgetc(root, "apiVersion")), "apiextensions.k8s.io/v1");
    CHECK_CSTR(jstr(jgetc(root, "kind")), "ConversionReview");
    CHECK_INT(jstr(jpath(root, "request.uid")).len, 36);
    CHECK_CSTR(jstr(jpath(root, "request.desiredAPIVersion")), ALPHA);
    CHECK_INT(jlen(jpath(root, "request.objects")), 1);
    jval object = jat(jpath(root, "request.objects"), 0);
    CHECK_CSTR(jstr(jgetc(object, "apiVersion")), BETA);
    CHECK_INT(jstr(jpath(object, "metadata.uid")).len, 36);
    CHECK_CSTR(strbuf_str(&w.seen), "/convert");
    /* It is remembered until it changes. */
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_INT(w.asked, 1);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "4");
    CHECK(w.asked > 1);
    hook_world_done(&w);
}

TEST(the_first_known_version_of_the_review_is_spoken)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_patch_definition(&w, "{'spec':{'conversion':{'webhook':{"
                                          "'conversionReviewVersions':['v7','v1beta1','v1']}}}}"),
              200);
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_CSTR(jstr(jgetc(doc_root(w.review), "apiVersion")), "apiextensions.k8s.io/v1beta1");
    hook_world_done(&w);
}

/* ---- lists ---- */

TEST(lists_are_converted_together_and_in_pages)
{
    enum { N = 250 };
    struct hook_world w;
    gadget_world_init(&w);
    for (int i = 0; i < N; i++) {
        const char *name = text_of(&w.f, "g%03d", i).p;
        const char *spec = text_of(&w.f, i % 2 ? "'size':%d" : "'replicas':%d", i).p;
        REQUIRE(gadget_make(&w, i % 2 ? BETA : ALPHA, name, spec) == 201);
    }
    w.asked = 0;
    CHECK_INT(gadget_list(&w, alpha_kind, (struct api_request){0}), 200);
    CHECK_INT(w.f.n_items, N);
    CHECK_INT(w.asked, 3);
    for (size_t i = 0; i < w.f.n_items; i++) {
        const struct obj *o = w.f.items[i];
        if (!CHECK(o->kind == alpha_kind) ||
            !CHECK_INT(jint(jgetc(obj_spec(o), "replicas"), -1), (int64_t)i))
            break;
    }
    /* Known by now. */
    CHECK_INT(gadget_list(&w, alpha_kind, (struct api_request){0}), 200);
    CHECK_INT(w.asked, 3);
    str token = STR_NONE;
    size_t seen = 0;
    for (int page = 0; page < 4; page++) {
        CHECK_INT(
            gadget_list(&w, alpha_kind, (struct api_request){.limit = 80, .continue_token = token}),
            200);
        CHECK_INT(w.f.n_items, page < 3 ? 80 : 10);
        CHECK_INT(jint(jgetc(obj_spec(w.f.items[0]), "replicas"), -1), page * 80);
        if (page < 3)
            CHECK_INT(w.f.remaining, N - (page + 1) * 80);
        seen += w.f.n_items;
        token = arena_str(&w.f.arena, w.f.continue_token);
    }
    CHECK_INT(seen, N);
    CHECK(!token.len);
    hook_world_done(&w);
}

TEST(selectors_are_about_the_version_that_is_shown)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_make(&w, ALPHA, "b", "'replicas':4"), 201);
    CHECK_INT(
        gadget_list(&w, alpha_kind, (struct api_request){.field_selector = STR("spec.replicas=4")}),
        200);
    CHECK_CSTR(names(&w.f), "b");
    CHECK_INT(gadget_list(&w, alpha_kind, (struct api_request){.label_selector = STR("app=a")}),
              200);
    CHECK_CSTR(names(&w.f), "a");
    CHECK_INT(
        gadget_list(&w, beta_kind, (struct api_request){.field_selector = STR("spec.replicas=4")}),
        400);
    hook_world_done(&w);
}

/* ---- watches ---- */

TEST(a_watch_tells_in_order_what_it_converts)
{
    struct hook_world w;
    struct gadget_watch s;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':1"), 201);
    CHECK_INT(gadget_make(&w, ALPHA, "b", "'replicas':2"), 201);
    gadget_watch_begin(&w, &s, (struct api_watch){.send_initial = true, .bookmarks = true});
    gadget_watch_until(&s, 3);
    CHECK_CSTR(strbuf_str(&s.text), "+a=1 +b=2 *");
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':5}}"), 200);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':6}}"), 200);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "b", "", "{'spec':{'replicas':7}}"), 200);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "a"), 200);
    CHECK_INT(gadget_make(&w, BETA, "c", "'size':8"), 201);
    gadget_watch_until(&s, 8);
    CHECK_CSTR(strbuf_str(&s.text), "+a=1 +b=2 * ~a=5 ~a=6 ~b=7 -a=6 +c=8");
    gadget_watch_done(&w, &s);
    hook_world_done(&w);
}

TEST(a_watch_selects_by_what_it_shows)
{
    struct hook_world w;
    struct gadget_watch s, one;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':1"), 201);
    gadget_watch_begin(&w, &s, (struct api_watch){.field_selector = STR("spec.replicas=2")});
    gadget_watch_begin(&w, &one, (struct api_watch){.field_selector = STR("metadata.name=b")});
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':2}}"), 200);
    CHECK_INT(gadget_make(&w, BETA, "b", "'size':2"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':3}}"), 200);
    CHECK_INT(gadget_make(&w, BETA, "c", "'size':2"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'spec':{'size':9}}"), 200);
    gadget_watch_until(&s, 5);
    gadget_watch_until(&one, 2);
    CHECK_CSTR(strbuf_str(&s.text), "+a=2 +b=2 -a=2 +c=2 -b=2");
    CHECK_CSTR(strbuf_str(&one.text), "+b=2 ~b=9");
    gadget_watch_done(&w, &s);
    gadget_watch_done(&w, &one);
    hook_world_done(&w);
}

TEST(many_watches_ask_once)
{
    enum { N = 40 };
    struct hook_world w;
    struct gadget_watch s[N];
    gadget_world_init(&w);
    for (int i = 0; i < N; i++)
        gadget_watch_begin(&w, &s[i], (struct api_watch){.send_initial = true, .bookmarks = true});
    for (int i = 0; i < N; i++)
        gadget_watch_until(&s[i], 1);
    w.asked = 0;
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':1"), 201);
    for (int i = 0; i < N; i++) {
        gadget_watch_until(&s[i], 2);
        CHECK_CSTR(strbuf_str(&s[i].text), "* +a=1");
    }
    CHECK_INT(w.asked, 1);
    for (int i = 0; i < N; i++)
        gadget_watch_done(&w, &s[i]);
    hook_world_done(&w);
}

TEST(a_conversion_that_fails_ends_the_watch_with_the_reason)
{
    struct hook_world w;
    struct gadget_watch s;
    gadget_world_init(&w);
    gadget_watch_begin(&w, &s, (struct api_watch){.send_initial = true, .bookmarks = true});
    gadget_watch_until(&s, 1);
    w.script = (struct hook_script){.mode = SAY, .code = 503};
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':1"), 201);
    gadget_watch_until(&s, 2);
    CHECK(s.ended);
    CHECK_INT(s.code, 500);
    CHECK_CSTR(s.why, "conversion webhook for " BETA ", Kind=Gadget failed: the server is "
                      "currently unable to handle the request");
    gadget_watch_done(&w, &s);
    hook_world_done(&w);
}

/* ---- answers that cannot be used ---- */

#define ANSWER(result, objects)                                                            \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview','response':{'uid':" \
    "'UID','result':{" result "},'convertedObjects':[" objects "]}}"
#define OK_ANSWER(objects) ANSWER("'status':'Success'", objects)
#define OBJ(api, name, more) \
    "{'apiVersion':'" api "','kind':'Gadget','metadata':{'name':'" name "'," more "}}"
#define SELF "'namespace':'ns','uid':'OBJECT'"
#define FAILS "conversion webhook for " BETA ", Kind=Gadget "

static const struct {
    const char *what;
    struct hook_script script;
    const char *message; /* '*' stands for anything */
} wrong[] = {
    {"no objects", {.answer = OK_ANSWER("")}, FAILS "returned 0 objects, expected 1"},
    {"two objects",
     {.answer = OK_ANSWER(OBJ(ALPHA, "a", SELF) "," OBJ(ALPHA, "a", SELF))},
     FAILS "returned 2 objects, expected 1"},
    {"its own version",
     {.answer = OK_ANSWER(OBJ(BETA, "a", SELF))},
     FAILS "returned invalid object: invalid groupVersion (expected " ALPHA ", received " BETA ")"},
    {"another name",
     {.answer = OK_ANSWER(OBJ(ALPHA, "b", SELF))},
     FAILS "returned invalid object: must have the same name: a != b"},
    {"another namespace",
     {.answer = OK_ANSWER(OBJ(ALPHA, "a", "'namespace':'other','uid':'OBJECT'"))},
     FAILS "returned invalid object: must have the same namespace: ns != other"},
    {"another UID",
     {.answer = OK_ANSWER(OBJ(ALPHA, "a", "'namespace':'ns','uid':'x'"))},
     FAILS "returned invalid object: must have the same UID: * != x"},
    {"another kind",
     {.answer = OK_ANSWER("{'apiVersion':'" ALPHA "','kind':'Other','metadata':{'name':'a'}}")},
     FAILS "returned invalid object: must have the same kind: Gadget != Other"},
    {"no metadata",
     {.answer = OK_ANSWER("{'apiVersion':'" ALPHA "','kind':'Gadget'}")},
     FAILS "returned invalid object: must have the same name: a != "},
    {"a label that is no string",
     {.answer = OK_ANSWER(OBJ(ALPHA, "a", SELF ",'labels':{'x':1}"))},
     FAILS "returned invalid metadata: metadata.labels[x] must be a string, but is int64 in "
           "converted object"},
    {"a label that is none",
     {.answer = OK_ANSWER(OBJ(ALPHA, "a", SELF ",'labels':{'x':'a b'}"))},
     FAILS "returned invalid metadata: metadata.labels: Invalid value: \"a b\": a valid label *"},
    {"no object", {.answer = OK_ANSWER("7")}, FAILS "returned invalid object: invalid type, *"},
    {"a failure",
     {.answer = ANSWER("'status':'Failed','message':'no way'", "")},
     FAILS "failed: no way"},
    {"a failure without a word",
     {.answer = ANSWER("'status':'Failed'", "")},
     FAILS "failed: response.result.status was 'Failed', not 'Success'"},
    {"another question's answer",
     {.answer = "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview','response':{"
                "'uid':'1'}}"},
     FAILS "failed: expected response.uid=\"*\", got \"1\""},
    {"no response",
     {.answer = "{'apiVersion':'apiextensions.k8s.io/v1','kind':'ConversionReview'}"},
     FAILS "failed: no response provided"},
    {"another review",
     {.answer = "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'}"},
     FAILS "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, "
           "got admission.k8s.io/v1, Kind=AdmissionReview"},
    {"garbage",
     {.answer = "<html>"},
     FAILS "failed: couldn't get version/kind; json parse error: *"},
    {"an array", {.answer = "[]"}, FAILS "failed: couldn't get version/kind; *"},
    {"404",
     {.code = 404, .answer = ""},
     FAILS "failed: the server could not find the requested resource"},
    {"500",
     {.code = 500, .type = "text/plain", .answer = "oops"},
     FAILS "failed: an error on the server (\"oops\") has prevented the request from succeeding"},
    {"too much",
     {.huge = (size_t)9 << 20},
     FAILS "failed: Post \"https://127.0.0.1:*/convert?timeout=30s\": the answer is larger than "
           "8388608 bytes"},
};

/* The UID of the object stands for OBJECT. */
static const char *with_uid(struct hook_world *w, const char *answer, str uid)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (const char *p = answer; *p; p++) {
        if (strncmp(p, "OBJECT", 6) == 0) {
            strbuf_add_str(&b, uid);
            p += 5;
        } else {
            strbuf_add_char(&b, *p);
        }
    }
    const char *out = arena_str(&w->f.arena, strbuf_str(&b)).p;
    strbuf_done(&b);
    return out;
}

TEST(what_a_conversion_webhook_may_not_answer)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        w.script = wrong[i].script;
        if (w.script.answer)
            w.script.answer = with_uid(&w, w.script.answer, gadget_stored(&w, "a")->uid);
        if (!CHECK_INT(gadget_get(&w, alpha_kind, "a"), 500) ||
            !CHECK(hook_text_matches(str_of(wrong[i].message), w.f.message)))
            test_note("%s: %.*s", wrong[i].what, STR_ARG(w.f.message));
    }
    /* Nothing of it was kept. */
    w.script = gadget_converts;
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "3");
    /* The version that is stored never needed it. */
    w.script = wrong[0].script;
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(jint(jgetc(obj_spec(gadget_stored(&w, "a")), "size"), 0), 4);
    hook_world_done(&w);
}

TEST(a_write_that_cannot_be_converted_writes_nothing)
{
    struct hook_world w;
    gadget_world_init(&w);
    w.script = (struct hook_script){.answer = OK_ANSWER("")};
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 500);
    CHECK_CSTR(w.f.message,
               "conversion webhook for " ALPHA ", Kind=Gadget returned 0 objects, expected 1");
    CHECK(!gadget_stored(&w, "a"));
    w.script = gadget_converts;
    CHECK_INT(gadget_make(&w, ALPHA, "a", "'replicas':3"), 201);
    hook_world_done(&w);
}

static void relabel(struct hook_world *w, jval review, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    gadget_convert(w, review, &text);
    str rest = strbuf_str(&text), mark = STR("\"metadata\":{");
    ptrdiff_t at = str_find(rest, mark);
    REQUIRE(at >= 0);
    /* Labels count, and whatever else is said of an object that is not the webhook's is not heard:
     * the later member counts. */
    size_t end = (size_t)at + mark.len;
    strbuf_add_str(out, str_sub(rest, 0, end));
    strbuf_add_cstr(out, "\"resourceVersion\":\"1\",\"finalizers\":[\"a/b\"],\"generation\":77,"
                         "\"labels\":{\"by\":\"hook\"},");
    str tail = str_sub(rest, end, rest.len);
    for (size_t i = 0; i < tail.len; i++) {
        static const char *const renamed[] = {"\"labels\"", "\"generation\"",
                                              "\"resourceVersion\""};
        bool hit = false;
        for (size_t j = 0; j < ARRAY_LEN(renamed); j++)
            hit |= str_starts(str_sub(tail, i, tail.len), str_of(renamed[j]));
        strbuf_add_char(out, tail.p[i]);
        if (hit)
            strbuf_add_char(out, 'x');
    }
    strbuf_done(&text);
}

TEST(of_metadata_only_labels_and_annotations_are_the_webhooks)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    w.script.speak = relabel;
    uint64_t rv = gadget_stored(&w, "a")->rv;
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "metadata.labels", "{\"by\":\"hook\"}");
    CHECK(j_is_absent(jpath(doc_root(w.f.doc), "metadata.finalizers")));
    CHECK_FIELD(&w, "metadata.generation", "1");
    CHECK_INT(w.f.obj->rv, rv);
    CHECK_INT(gadget_list(&w, alpha_kind, (struct api_request){.label_selector = STR("by=hook")}),
              200);
    CHECK_CSTR(names(&w.f), "a");
    hook_world_done(&w);
}

/* ---- a webhook that is not there ---- */

TEST(what_needs_no_version_needs_no_webhook)
{
    struct hook_world w;
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_make(&w, BETA, "b", "'size':3"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'metadata':{'finalizers':['x/y']}}"), 200);
    str address = text_of(&w.f, "%s", http_server_address(w.http));
    w.die = true;
    CHECK_INT(gadget_get(&w, alpha_kind, "a"), 500);
    CHECK(hook_text_matches(STR(FAILS "failed: Post \"https://*/convert?timeout=30s\": *"),
                            w.f.message));
    CHECK(str_find(w.f.message, address) > 0);
    CHECK_INT(gadget_make(&w, ALPHA, "c", "'replicas':3"), 500);
    CHECK_INT(gadget_get(&w, beta_kind, "a"), 200);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "a"), 200);
    CHECK(!gadget_stored(&w, "a"));
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "b"), 200);
    CHECK(gadget_stored(&w, "b")->deleting);
    /* The components of the server look at metadata only. */
    struct api_request r = {.verb = API_PATCH,
                            .kind = alpha_kind,
                            .ns = STR("ns"),
                            .name = STR("b"),
                            .patch = API_PATCH_MERGE,
                            .body = fixture_doc(&w.f, "{'metadata':{'finalizers':null}}"),
                            .field_manager = STR("test"),
                            .as_stored = true};
    CHECK_INT(hook_world_send(&w, r), 200);
    CHECK(!gadget_stored(&w, "b"));
    /* And the definition can go with its objects. */
    CHECK_INT(gadget_make(&w, BETA, "d", "'size':3"), 201);
    CHECK_INT(hook_world_delete(&w, &kind_crd, "", "gadgets." GROUP), 200);
    gadget_settle(&w);
    CHECK(!beta_kind);
    CHECK_INT(hook_world_send(&w, (struct api_request){.verb = API_GET,
                                                       .kind = &kind_crd,
                                                       .name = STR("gadgets." GROUP)}),
              404);
    hook_world_done(&w);
}

TEST(a_webhook_that_hangs_holds_up_nobody_else)
{
    struct hook_world w;
    struct api_request waiting = {.verb = API_GET, .ns = STR("ns"), .name = STR("a")};
    gadget_world_init(&w);
    CHECK_INT(gadget_make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(gadget_make(&w, BETA, "b", "'size':3"), 201);
    w.script = (struct hook_script){.mode = HANG};
    waiting.kind = alpha_kind;
    struct fixture other = {0};
    arena_init(&other.arena);
    arena_init(&other.reply);
    other.server = w.f.server;
    other.user = w.f.user;
    send_only(&other, &waiting);
    CHECK_INT(gadget_get(&w, beta_kind, "a"), 200);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK(!other.answered);
    w.script = gadget_converts;
    CHECK_INT(gadget_get(&w, alpha_kind, "b"), 200);
    CHECK(!other.answered);
    hook_world_done(&w); /* it is answered when the server goes */
    CHECK(other.answered);
    doc_unref(other.doc);
    arena_done(&other.arena);
    arena_done(&other.reply);
}
