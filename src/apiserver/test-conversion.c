/* Conversion webhooks as a client of the server sees them. The kind has two versions with other
 * names and shapes for the same: v1alpha1 {replicas, image: "repo:tag"} and, stored, v1beta1
 * {size, image: {repo, tag}}. */
#include "apiserver/crd.h"
#include "apiserver/webhook_fixture.h"
#include "json/write.h"

#define GROUP "example.org"
#define ALPHA GROUP "/v1alpha1"
#define BETA GROUP "/v1beta1"

#define SCHEMA_ALPHA                                                                           \
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'replicas':{"        \
    "'type':'integer'},'image':{'type':'string'},'mode':{'type':'string','default':'fast'}}}," \
    "'status':{'type':'object','properties':{'ready':{'type':'integer'}}}}}"
#define SCHEMA_BETA                                                                             \
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'size':{"             \
    "'type':'integer'},'image':{'type':'object','properties':{'repo':{'type':'string'},'tag':{" \
    "'type':'string'}}},'mode':{'type':'string'}}},'status':{'type':'object','properties':{"    \
    "'readySize':{'type':'integer'}}}}}"
#define SCALE(spec, status)                                                     \
    "'subresources':{'status':{},'scale':{'specReplicasPath':'.spec." spec "'," \
    "'statusReplicasPath':'.status." status "'}}"
#define V_ALPHA(served, storage)                                                      \
    "{'name':'v1alpha1','served':" served ",'storage':" storage                       \
    ",'schema':{'openAPIV3Schema':" SCHEMA_ALPHA "},'selectableFields':[{'jsonPath':" \
    "'.spec.replicas'}]," SCALE("replicas", "ready") "}"
#define V_BETA(served, storage)                                \
    "{'name':'v1beta1','served':" served ",'storage':" storage \
    ",'schema':{'openAPIV3Schema':" SCHEMA_BETA "}," SCALE("size", "readySize") "}"
#define CRD(versions, conversion)                                                            \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{" \
    "'name':'gadgets." GROUP "'},'spec':{'group':'" GROUP "','scope':'Namespaced','names':{" \
    "'plural':'gadgets','kind':'Gadget'},'versions':[" versions "],'conversion':" conversion "}}"
#define WEBHOOK                                                                           \
    "{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{" \
    "'url':'https://%s/convert','caBundle':'%s'}}}"

/* ---- the converter ---- */

static void put_alpha_spec(struct jw *w, jval spec)
{
    jval image = jgetc(spec, "image");
    jw_put_object(w, "spec");
    jw_put(w, "replicas", jgetc(spec, "size"));
    jw_put(w, "mode", jgetc(spec, "mode"));
    if (j_has(image)) {
        jw_key(w, STR("image"));
        jw_printf(w, "%.*s:%.*s", STR_ARG(jstr(jgetc(image, "repo"))),
                  STR_ARG(jstr(jgetc(image, "tag"))));
    }
    jw_end(w);
}

static void put_beta_spec(struct jw *w, jval spec)
{
    str tag = jstr(jgetc(spec, "image")), repo = str_cut(&tag, ':');
    jw_put_object(w, "spec");
    jw_put(w, "size", jgetc(spec, "replicas"));
    jw_put(w, "mode", jgetc(spec, "mode"));
    if (j_has(jgetc(spec, "image"))) {
        jw_put_object(w, "image");
        jw_put_str(w, "repo", repo);
        jw_put_str(w, "tag", tag);
        jw_end(w);
    }
    jw_end(w);
}

static void put_gadget(struct jw *w, jval in, str to)
{
    bool alpha = str_is(to, ALPHA);
    jval status = jgetc(in, "status");
    jw_object(w);
    jw_put_str(w, "apiVersion", to);
    jw_put(w, "kind", jgetc(in, "kind"));
    jw_put(w, "metadata", jgetc(in, "metadata"));
    (alpha ? put_alpha_spec : put_beta_spec)(w, jgetc(in, "spec"));
    if (j_has(status)) {
        jw_put_object(w, "status");
        jw_put(w, alpha ? "ready" : "readySize",
               jget(status, str_of(alpha ? "readySize" : "ready")));
        jw_end(w);
    }
    jw_end(w);
}

static void convert(struct hook_world *world, jval review, struct strbuf *out)
{
    (void)world;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "apiVersion", jgetc(review, "apiVersion"));
    jw_put(&w, "kind", jgetc(review, "kind"));
    jw_put_object(&w, "response");
    jw_put(&w, "uid", jpath(review, "request.uid"));
    jw_put_object(&w, "result");
    jw_put_cstr(&w, "status", "Success");
    jw_end(&w);
    jw_put_array(&w, "convertedObjects");
    for (struct jiter it = jiter(jpath(review, "request.objects")); jnext(&it);)
        put_gadget(&w, it.value, jstr(jpath(review, "request.desiredAPIVersion")));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    strbuf_add_str(out, strbuf_str(&w.out));
    jw_done(&w);
}

static const struct hook_script converts = {.mode = SAY, .speak = convert};

/* ---- the world ---- */

static const struct kind *gadget(const char *version)
{
    return kind_by_plural(STR(GROUP), str_of(version), STR("gadgets"));
}
#define alpha_kind gadget("v1alpha1")
#define beta_kind gadget("v1beta1")

static void settle(struct hook_world *w)
{
    for (int i = 0; i < 20; i++)
        (void)hook_world_send(w, (struct api_request){.verb = API_GET,
                                                      .kind = &kind_crd,
                                                      .name = STR("gadgets." GROUP)});
}

static int patch_definition(struct hook_world *w, const char *json)
{
    int code = hook_world_send(w, (struct api_request){.verb = API_PATCH,
                                                       .kind = &kind_crd,
                                                       .name = STR("gadgets." GROUP),
                                                       .patch = API_PATCH_MERGE,
                                                       .body = fixture_doc(&w->f, json)});
    settle(w);
    return code;
}

static void define(struct hook_world *w, const char *crd)
{
    if (!CHECK_INT(hook_world_create(w, &kind_crd, "", crd), 201))
        test_note("%.*s", STR_ARG(w->f.message));
    settle(w);
}

static str webhook_text(struct hook_world *w)
{
    return text_of(&w->f, WEBHOOK, http_server_address(w->http), w->ca_b64);
}

static void world_init(struct hook_world *w)
{
    hook_world_init(w);
    w->script = converts;
    define(w, text_of(&w->f, CRD(V_ALPHA("true", "false") "," V_BETA("true", "true"), "%.*s"),
                      STR_ARG(webhook_text(w)))
                  .p);
    REQUIRE(alpha_kind && beta_kind);
    w->asked = 0;
}

static int get_as(struct hook_world *w, const struct kind *k, const char *name)
{
    return hook_world_send(
        w, (struct api_request){.verb = API_GET, .kind = k, .ns = STR("ns"), .name = str_of(name)});
}

static int make(struct hook_world *w, const char *api, const char *name, const char *spec)
{
    const struct kind *k = strcmp(api, ALPHA) == 0 ? alpha_kind : beta_kind;
    return hook_world_create(w, k, "ns",
                             text_of(&w->f,
                                     "{'apiVersion':'%s','kind':'Gadget','metadata':{'name':'%s',"
                                     "'labels':{'app':'%s'}},'spec':{%s}}",
                                     api, name, name, spec)
                                 .p);
}

static const struct obj *stored(struct hook_world *w, const char *name)
{
    return store_get(w->f.store, beta_kind, STR("ns"), str_of(name));
}

#define CHECK_FIELD(w, path, want)                       \
    do {                                                 \
        if (!CHECK_CSTR(field(&(w)->f, (path)), (want))) \
            test_note("%.*s", STR_ARG((w)->f.message));  \
    } while (0)

/* ---- no data is lost ---- */

TEST(an_object_of_another_version_is_stored_converted_and_whole)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3,'image':'repo:1'"), 201);
    CHECK_FIELD(&w, "apiVersion", ALPHA);
    CHECK_FIELD(&w, "spec", "{\"replicas\":3,\"image\":\"repo:1\",\"mode\":\"fast\"}");
    const struct obj *o = stored(&w, "a");
    REQUIRE(o);
    CHECK(o->kind == beta_kind);
    CHECK_CSTR(jstr(jgetc(obj_root(o), "apiVersion")), BETA);
    CHECK_INT(jint(jgetc(obj_spec(o), "size"), 0), 3);
    CHECK_CSTR(jtext(jgetc(obj_spec(o), "image")), "{\"repo\":\"repo\",\"tag\":\"1\"}");
    CHECK(j_is_absent(jgetc(obj_spec(o), "replicas")));
    CHECK_INT(get_as(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec", "{\"replicas\":3,\"mode\":\"fast\",\"image\":\"repo:1\"}");
    CHECK_FIELD(&w, "metadata.generation", "1");
    hook_world_done(&w);
}

TEST(patches_work_on_the_version_of_the_request)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3,'image':{'repo':'r','tag':'1'}"), 201);
    CHECK_INT(w.asked, 0);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{'spec':{'replicas':5}}"), 200);
    CHECK_FIELD(&w, "spec.image", "r:1");
    CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), 5);
    CHECK_INT(stored(&w, "a")->generation, 2);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'image':{'tag':'2'}}}"), 200);
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.image", "r:2");
    CHECK_FIELD(&w, "spec.replicas", "5");
    CHECK_FIELD(&w, "metadata.generation", "3");
    /* Nothing changes, nothing is written. */
    uint64_t rv = stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{'spec':{'replicas':5}}"), 200);
    CHECK_INT(stored(&w, "a")->rv, rv);
    hook_world_done(&w);
}

TEST(status_and_scale_are_those_of_the_version)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3"), 201);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "status", "{'status':{'ready':2}}"), 200);
    CHECK_INT(jint(jgetc(obj_status(stored(&w, "a")), "readySize"), 0), 2);
    CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), 3);
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
        CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), beta ? 9 : 7);
    }
    hook_world_done(&w);
}

/* ---- what it is asked ---- */

TEST(the_review_is_as_kube_apiserver_puts_it)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
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
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_INT(w.asked, 1);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "4");
    CHECK(w.asked > 1);
    hook_world_done(&w);
}

TEST(the_first_known_version_of_the_review_is_spoken)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(patch_definition(&w, "{'spec':{'conversion':{'webhook':{"
                                   "'conversionReviewVersions':['v7','v1beta1','v1']}}}}"),
              200);
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_CSTR(jstr(jgetc(doc_root(w.review), "apiVersion")), "apiextensions.k8s.io/v1beta1");
    hook_world_done(&w);
}

/* ---- lists ---- */

static int list_as(struct hook_world *w, const struct kind *k, struct api_request r)
{
    r.verb = API_LIST;
    r.kind = k;
    r.ns = STR("ns");
    return hook_world_send(w, r);
}

TEST(lists_are_converted_together_and_in_pages)
{
    enum { N = 250 };
    struct hook_world w;
    world_init(&w);
    for (int i = 0; i < N; i++) {
        const char *name = text_of(&w.f, "g%03d", i).p;
        const char *spec = text_of(&w.f, i % 2 ? "'size':%d" : "'replicas':%d", i).p;
        REQUIRE(make(&w, i % 2 ? BETA : ALPHA, name, spec) == 201);
    }
    w.asked = 0;
    CHECK_INT(list_as(&w, alpha_kind, (struct api_request){0}), 200);
    CHECK_INT(w.f.n_items, N);
    CHECK_INT(w.asked, 3);
    for (size_t i = 0; i < w.f.n_items; i++) {
        const struct obj *o = w.f.items[i];
        if (!CHECK(o->kind == alpha_kind) ||
            !CHECK_INT(jint(jgetc(obj_spec(o), "replicas"), -1), (int64_t)i))
            break;
    }
    /* Known by now. */
    CHECK_INT(list_as(&w, alpha_kind, (struct api_request){0}), 200);
    CHECK_INT(w.asked, 3);
    str token = STR_NONE;
    size_t seen = 0;
    for (int page = 0; page < 4; page++) {
        CHECK_INT(
            list_as(&w, alpha_kind, (struct api_request){.limit = 80, .continue_token = token}),
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
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(make(&w, ALPHA, "b", "'replicas':4"), 201);
    CHECK_INT(
        list_as(&w, alpha_kind, (struct api_request){.field_selector = STR("spec.replicas=4")}),
        200);
    CHECK_CSTR(names(&w.f), "b");
    CHECK_INT(list_as(&w, alpha_kind, (struct api_request){.label_selector = STR("app=a")}), 200);
    CHECK_CSTR(names(&w.f), "a");
    CHECK_INT(
        list_as(&w, beta_kind, (struct api_request){.field_selector = STR("spec.replicas=4")}),
        400);
    hook_world_done(&w);
}

/* ---- watches ---- */

struct seen {
    struct hook_world *w;
    struct api_watch watch;
    struct strbuf text;
    size_t n, enough;
    bool ended;
    int code;
    str why;
};

static void on_event(struct api_watch *watch, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char *const words[] = {"+", "~", "-", "*"};
    struct seen *s = watch->ctx;
    (void)rv;
    strbuf_printf(&s->text, "%s%s", s->text.len ? " " : "", words[type]);
    if (o)
        strbuf_printf(&s->text, "%.*s=%lld%s", STR_ARG(o->name),
                      (long long)jint(jgetc(obj_spec(o), "replicas"), -1),
                      str_is(jstr(jgetc(obj_root(o), "apiVersion")), ALPHA) ? "" : "!");
    (void)initial_end;
    s->w->f.answered |= ++s->n >= s->enough;
}

static void on_end(struct api_watch *watch, const struct status *why)
{
    struct seen *s = watch->ctx;
    s->ended = true;
    s->code = why ? why->code : 0;
    s->why = why ? arena_str(&s->w->f.arena, why->message) : STR_NONE;
    s->w->f.answered = true;
}

static void watch_begin(struct hook_world *w, struct seen *s, struct api_watch how)
{
    *s = (struct seen){.w = w, .watch = how, .text = STRBUF_INIT(1 << 16)};
    s->watch.kind = s->watch.kind ? s->watch.kind : alpha_kind;
    s->watch.ns = STR("ns");
    s->watch.on_event = on_event;
    s->watch.on_end = on_end;
    s->watch.ctx = s;
    apiserver_watch(w->f.server, &w->f.user, &s->watch);
}

/* Until it has seen so much, or ended. */
static void watch_until(struct seen *s, size_t enough)
{
    s->enough = enough;
    s->w->f.answered = s->n >= enough || s->ended;
    hook_world_run(s->w);
}

static void watch_done(struct hook_world *w, struct seen *s)
{
    if (!s->ended)
        apiserver_watch_stop(w->f.server, &s->watch);
    strbuf_done(&s->text);
}

TEST(a_watch_tells_in_order_what_it_converts)
{
    struct hook_world w;
    struct seen s;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':1"), 201);
    CHECK_INT(make(&w, ALPHA, "b", "'replicas':2"), 201);
    watch_begin(&w, &s, (struct api_watch){.send_initial = true, .bookmarks = true});
    watch_until(&s, 3);
    CHECK_CSTR(strbuf_str(&s.text), "+a=1 +b=2 *");
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':5}}"), 200);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':6}}"), 200);
    CHECK_INT(hook_world_patch(&w, alpha_kind, "b", "", "{'spec':{'replicas':7}}"), 200);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "a"), 200);
    CHECK_INT(make(&w, BETA, "c", "'size':8"), 201);
    watch_until(&s, 8);
    CHECK_CSTR(strbuf_str(&s.text), "+a=1 +b=2 * ~a=5 ~a=6 ~b=7 -a=6 +c=8");
    watch_done(&w, &s);
    hook_world_done(&w);
}

TEST(a_watch_selects_by_what_it_shows)
{
    struct hook_world w;
    struct seen s, one;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':1"), 201);
    watch_begin(&w, &s, (struct api_watch){.field_selector = STR("spec.replicas=2")});
    watch_begin(&w, &one, (struct api_watch){.field_selector = STR("metadata.name=b")});
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':2}}"), 200);
    CHECK_INT(make(&w, BETA, "b", "'size':2"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':3}}"), 200);
    CHECK_INT(make(&w, BETA, "c", "'size':2"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'spec':{'size':9}}"), 200);
    watch_until(&s, 5);
    watch_until(&one, 2);
    CHECK_CSTR(strbuf_str(&s.text), "+a=2 +b=2 -a=2 +c=2 -b=2");
    CHECK_CSTR(strbuf_str(&one.text), "+b=2 ~b=9");
    watch_done(&w, &s);
    watch_done(&w, &one);
    hook_world_done(&w);
}

TEST(many_watches_ask_once)
{
    enum { N = 40 };
    struct hook_world w;
    struct seen s[N];
    world_init(&w);
    for (int i = 0; i < N; i++)
        watch_begin(&w, &s[i], (struct api_watch){.send_initial = true, .bookmarks = true});
    for (int i = 0; i < N; i++)
        watch_until(&s[i], 1);
    w.asked = 0;
    CHECK_INT(make(&w, BETA, "a", "'size':1"), 201);
    for (int i = 0; i < N; i++) {
        watch_until(&s[i], 2);
        CHECK_CSTR(strbuf_str(&s[i].text), "* +a=1");
    }
    CHECK_INT(w.asked, 1);
    for (int i = 0; i < N; i++)
        watch_done(&w, &s[i]);
    hook_world_done(&w);
}

TEST(a_conversion_that_fails_ends_the_watch_with_the_reason)
{
    struct hook_world w;
    struct seen s;
    world_init(&w);
    watch_begin(&w, &s, (struct api_watch){.send_initial = true, .bookmarks = true});
    watch_until(&s, 1);
    w.script = (struct hook_script){.mode = SAY, .code = 503};
    CHECK_INT(make(&w, BETA, "a", "'size':1"), 201);
    watch_until(&s, 2);
    CHECK(s.ended);
    CHECK_INT(s.code, 500);
    CHECK_CSTR(s.why, "conversion webhook for " BETA ", Kind=Gadget failed: the server is "
                      "currently unable to handle the request");
    watch_done(&w, &s);
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
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        w.script = wrong[i].script;
        if (w.script.answer)
            w.script.answer = with_uid(&w, w.script.answer, stored(&w, "a")->uid);
        if (!CHECK_INT(get_as(&w, alpha_kind, "a"), 500) ||
            !CHECK(hook_text_matches(str_of(wrong[i].message), w.f.message)))
            test_note("%s: %.*s", wrong[i].what, STR_ARG(w.f.message));
    }
    /* Nothing of it was kept. */
    w.script = converts;
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "3");
    /* The version that is stored never needed it. */
    w.script = wrong[0].script;
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), 4);
    hook_world_done(&w);
}

TEST(a_write_that_cannot_be_converted_writes_nothing)
{
    struct hook_world w;
    world_init(&w);
    w.script = (struct hook_script){.answer = OK_ANSWER("")};
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3"), 500);
    CHECK_CSTR(w.f.message,
               "conversion webhook for " ALPHA ", Kind=Gadget returned 0 objects, expected 1");
    CHECK(!stored(&w, "a"));
    w.script = converts;
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3"), 201);
    hook_world_done(&w);
}

static void relabel(struct hook_world *w, jval review, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    convert(w, review, &text);
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
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    w.script.speak = relabel;
    uint64_t rv = stored(&w, "a")->rv;
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "metadata.labels", "{\"by\":\"hook\"}");
    CHECK(j_is_absent(jpath(doc_root(w.f.doc), "metadata.finalizers")));
    CHECK_FIELD(&w, "metadata.generation", "1");
    CHECK_INT(w.f.obj->rv, rv);
    CHECK_INT(list_as(&w, alpha_kind, (struct api_request){.label_selector = STR("by=hook")}), 200);
    CHECK_CSTR(names(&w.f), "a");
    hook_world_done(&w);
}

/* ---- a webhook that is not there ---- */

TEST(what_needs_no_version_needs_no_webhook)
{
    struct hook_world w;
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(make(&w, BETA, "b", "'size':3"), 201);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'metadata':{'finalizers':['x/y']}}"), 200);
    str address = text_of(&w.f, "%s", http_server_address(w.http));
    w.die = true;
    CHECK_INT(get_as(&w, alpha_kind, "a"), 500);
    CHECK(hook_text_matches(STR(FAILS "failed: Post \"https://*/convert?timeout=30s\": *"),
                            w.f.message));
    CHECK(str_find(w.f.message, address) > 0);
    CHECK_INT(make(&w, ALPHA, "c", "'replicas':3"), 500);
    CHECK_INT(get_as(&w, beta_kind, "a"), 200);
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "a"), 200);
    CHECK(!stored(&w, "a"));
    CHECK_INT(hook_world_delete(&w, alpha_kind, "ns", "b"), 200);
    CHECK(stored(&w, "b")->deleting);
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
    CHECK(!stored(&w, "b"));
    /* And the definition can go with its objects. */
    CHECK_INT(make(&w, BETA, "d", "'size':3"), 201);
    CHECK_INT(hook_world_delete(&w, &kind_crd, "", "gadgets." GROUP), 200);
    settle(&w);
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
    world_init(&w);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK_INT(make(&w, BETA, "b", "'size':3"), 201);
    w.script = (struct hook_script){.mode = HANG};
    waiting.kind = alpha_kind;
    struct fixture other = {0};
    arena_init(&other.arena);
    arena_init(&other.reply);
    other.server = w.f.server;
    other.user = w.f.user;
    send_only(&other, &waiting);
    CHECK_INT(get_as(&w, beta_kind, "a"), 200);
    CHECK_INT(hook_world_patch(&w, beta_kind, "b", "", "{'spec':{'size':4}}"), 200);
    CHECK_INT(hook_world_create(&w, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK(!other.answered);
    w.script = converts;
    CHECK_INT(get_as(&w, alpha_kind, "b"), 200);
    CHECK(!other.answered);
    hook_world_done(&w); /* it is answered when the server goes */
    CHECK(other.answered);
    doc_unref(other.doc);
    arena_done(&other.arena);
    arena_done(&other.reply);
}

/* ---- storage ---- */

static void set_storage(struct hook_world *w, bool beta)
{
    const char *alpha = beta ? V_ALPHA("true", "false") : V_ALPHA("true", "true");
    CHECK_INT(patch_definition(w, text_of(&w->f, "{'spec':{'versions':[%s,%s]}}", alpha,
                                          beta ? V_BETA("true", "true") : V_BETA("true", "false"))
                                      .p),
              200);
}

TEST(a_write_that_changes_nothing_moves_an_object_to_the_version_that_is_stored)
{
    struct hook_world w;
    world_init(&w);
    set_storage(&w, false);
    CHECK_INT(make(&w, BETA, "a", "'size':3"), 201);
    CHECK(stored(&w, "a")->kind == alpha_kind);
    set_storage(&w, true);
    CHECK_INT(get_as(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.size", "3");
    CHECK(stored(&w, "a")->kind == alpha_kind);
    uint64_t rv = stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, beta_kind, "a", "", "{}"), 200);
    CHECK(stored(&w, "a")->kind == beta_kind);
    CHECK(stored(&w, "a")->rv > rv);
    CHECK_INT(stored(&w, "a")->generation, 1);
    CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), 3);
    rv = stored(&w, "a")->rv;
    CHECK_INT(hook_world_patch(&w, alpha_kind, "a", "", "{}"), 200);
    CHECK_INT(stored(&w, "a")->rv, rv);
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
    w.script = converts;
    define(&w, text_of(&w.f, CRD(V_ALPHA("true", "false") "," V_BETA("false", "true"), "%.*s"),
                       STR_ARG(webhook_text(&w)))
                   .p);
    CHECK(alpha_kind && !beta_kind);
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3"), 201);
    const struct obj *o = store_get(w.f.store, alpha_kind, STR("ns"), STR("a"));
    REQUIRE(o);
    CHECK_CSTR(jstr(jgetc(obj_root(o), "apiVersion")), BETA);
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
    CHECK_FIELD(&w, "spec.replicas", "3");
    hook_world_done(&w);
}

/* ---- without a webhook ---- */

TEST(without_a_webhook_what_the_stored_version_does_not_know_is_dropped_with_a_warning)
{
    struct hook_world w;
    hook_world_init(&w);
    define(&w, CRD(V_ALPHA("true", "false") "," V_BETA("true", "true"), "{'strategy':'None'}"));
    CHECK_INT(make(&w, ALPHA, "a", "'replicas':3,'mode':'slow'"), 201);
    CHECK_INT(w.f.n_warnings, 1);
    CHECK_CSTR(w.f.warnings[0], "field \"spec.replicas\" is not in version v1beta1, in which "
                                "gadgets are stored, and is dropped");
    CHECK(stored(&w, "a")->kind == beta_kind);
    CHECK_INT(get_as(&w, beta_kind, "a"), 200);
    CHECK_FIELD(&w, "spec", "{\"mode\":\"slow\"}");
    CHECK_INT(get_as(&w, alpha_kind, "a"), 200);
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
    world_init(&w);
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
    CHECK_INT(jint(jgetc(obj_spec(stored(&w, "a")), "size"), 0), 4);
    hook_world_done(&w);
}

TEST(who_applies_in_another_version_gives_up_what_is_not_there_any_more)
{
    struct hook_world w;
    world_init(&w);
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
