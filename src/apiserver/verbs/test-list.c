/* Lists: selectors, pages, versions, tokens. */
#include "apiserver/test-apiserver-fixture.h"
#include "base/b64.h"

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

/* ---- many ---- */

enum { MANY = 30000 };

/* Straight into the store: admission of so many would be most of the test. */
static void stored(struct store_write *w, const struct err *err)
{
    CHECK(!err);
    obj_unref(w->obj);
    free(w);
}

static void store_many_start(struct fixture *f)
{
    for (int i = 0; i < MANY; i++) {
        struct store_write *w = xnew(struct store_write);
        str text = text_of(f,
                           "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m%05d',"
                           "'namespace':'ns','uid':'%d','resourceVersion':'%llu','labels':{'g':'%s'"
                           "}}}",
                           i, i, (unsigned long long)store_next_revision(f->store),
                           i % 2 ? "odd" : "even");
        struct err err = ERR_INIT;
        struct obj *o = obj_new(&kind_config_map, doc_ref(fixture_doc(f, text.p)), &err);
        REQUIRE(o);
        *w = (struct store_write){
            .kind = &kind_config_map, .ns = o->ns, .name = o->name, .obj = o, .done = stored};
        REQUIRE(store_apply(f->store, w, &err) == 0);
    }
}

static void store_many(struct fixture *f)
{
    store_many_start(f);
    fixture_run(f, USEC_PER_SEC);
    REQUIRE(store_count(f->store, &kind_config_map) >= MANY);
}

static uint64_t turns_of_list(struct fixture *f, struct api_request r)
{
    uint64_t before = loop_iterations(f->loop);
    CHECK_INT(list(f, &kind_config_map, "ns", r), 200);
    return loop_iterations(f->loop) - before;
}

TEST(a_long_list_takes_several_turns)
{
    struct fixture f;
    fixture_init(&f);
    uint64_t few = turns_of_list(&f, (struct api_request){.label_selector = STR("g=even")});
    store_many(&f);
    struct api_request r = {.label_selector = STR("g=even")};
    CHECK(turns_of_list(&f, r) >= few + 2);
    CHECK_INT(f.n_items, MANY / 2);
    /* the past as well */
    uint64_t rv = store_revision(f.store);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "m00001"), 200);
    r = (struct api_request){.rv = rv, .rv_given = true, .rv_match = API_RV_EXACT};
    CHECK(turns_of_list(&f, r) >= few + 2);
    CHECK_INT(f.n_items, MANY);
    fixture_done(&f);
}

static void ignore(struct api_request *r, const struct api_reply *reply)
{
    (void)r;
    CHECK(reply->code == 200 || reply->code == 201);
}

/* On the real loop: on the virtual one a list takes no time, and nothing gets in between. */
struct moment {
    struct fixture f;
    struct api_request list, remove;
    struct loop_timer settle;
    uint64_t began;
    unsigned open;
    unsigned tries;
    bool overtaken;
};

/* The last of those that are listed when `gone` are gone. */
static const char *last_even(char *buf, size_t size, unsigned gone)
{
    (void)snprintf(buf, size, "m%05u", MANY - 2 - 2 * gone);
    return buf;
}

static void answered(struct moment *m)
{
    if (--m->open == 0)
        loop_stop(m->f.loop, 0);
}

static void on_moment_write(struct api_request *r, const struct api_reply *reply)
{
    CHECK(reply->code == 200 || reply->code == 201);
    answered(r->ctx);
}

static void on_moment_list(struct api_request *r, const struct api_reply *reply)
{
    struct moment *m = r->ctx;
    CHECK_INT(reply->code, 200);
    bool before = reply->rv == m->began;
    m->overtaken |= before && store_revision(m->f.store) > m->began;
    unsigned gone = m->tries - before;
    CHECK_INT(reply->n_items, MANY / 2 - gone);
    for (size_t i = 0; i < reply->n_items; i++)
        CHECK(reply->items[i]->rv <= reply->rv);
    char last[16];
    REQUIRE(reply->n_items > 0);
    CHECK_STR(reply->items[reply->n_items - 1]->name, str_of(last_even(last, sizeof(last), gone)));
    answered(m);
}

static void moment_ready(void *ctx, const struct err *err)
{
    struct moment *m = ctx;
    CHECK(!err);
    loop_stop(m->f.loop, 0);
}

/* However long the disk takes. */
static void on_settled(struct loop_timer *t)
{
    struct moment *m = container_of(t, struct moment, settle);
    if (store_count(m->f.store, &kind_config_map) < MANY)
        loop_timer_set(t, loop_now(m->f.loop) + 10 * USEC_PER_MSEC);
    else
        loop_stop(m->f.loop, 0);
}

static void moment_run(struct moment *m, unsigned n)
{
    m->list.done = on_moment_list;
    m->remove.done = on_moment_write;
    m->list.ctx = m->remove.ctx = m;
    m->open = n;
    apiserver_send(m->f.server, &m->f.user, &m->list);
    if (n > 1)
        apiserver_send(m->f.server, &m->f.user, &m->remove);
    (void)loop_run(m->f.loop);
}

TEST(a_long_list_shows_one_moment)
{
    struct moment m = {0};
    struct fixture *f = &m.f;
    fixture_init(f); /* registers the kinds, knows the user */
    fixture_done(f);
    m.f = (struct fixture){.user = f->user};
    f->loop = loop_new_real(NULL);
    f->store = store_open(f->loop, &(struct store_options){0}, NULL);
    f->server = apiserver_new(f->loop, f->store);
    apiserver_bootstrap(f->server, moment_ready, &m);
    (void)loop_run(f->loop);
    store_many_start(f);
    m.list = (struct api_request){.verb = API_LIST,
                                  .kind = &kind_config_map,
                                  .ns = STR("ns"),
                                  .label_selector = STR("g=even")};
    m.remove = (struct api_request){
        .verb = API_DELETE, .kind = &kind_config_map, .ns = STR("ns"), .grace_seconds = -1};
    loop_timer_init(f->loop, &m.settle, on_settled);
    loop_timer_set(&m.settle, loop_now(f->loop) + 10 * USEC_PER_MSEC);
    (void)loop_run(f->loop);
    /* The disk may be slower than the list; then nothing is shown by it, and the next one is. */
    char name[16];
    while (m.tries < 100 && !m.overtaken) {
        m.began = store_revision(f->store);
        m.remove.name = str_of(last_even(name, sizeof(name), m.tries++));
        moment_run(&m, 2);
    }
    CHECK(m.overtaken);
    moment_run(&m, 1);
    apiserver_free(f->server);
    store_close(f->store);
    arena_done(&f->arena);
    loop_free(f->loop);
}

TEST(a_long_list_that_nobody_waits_for_is_dropped)
{
    struct fixture f;
    fixture_init(&f);
    store_many(&f);
    struct api_request r = {.verb = API_LIST, .kind = &kind_config_map, .ns = STR("ns")};
    send_only(&f, &r);
    fixture_run(&f, 0);
    fixture_done(&f);
}

/* ---- versions to come ---- */

TEST(a_version_to_come_is_waited_for)
{
    struct fixture f;
    fixture_init(&f);
    create_some(&f, 1);
    uint64_t rv = store_revision(f.store);
    struct api_request r = {.verb = API_LIST,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .rv = rv + 1,
                            .rv_given = true};
    send_only(&f, &r);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(!f.answered);
    struct api_request write = {.verb = API_CREATE,
                                .kind = &kind_config_map,
                                .ns = STR("ns"),
                                .body = fixture_doc(&f, CONFIG_MAP("later", "")),
                                .done = ignore};
    apiserver_send(f.server, &f.user, &write);
    wait_answer(&f);
    CHECK_INT(f.code, 200);
    CHECK_STR(names(&f), STR("ch0 later"));
    /* but not for ever */
    usec before = loop_now(f.loop);
    r = (struct api_request){.verb = API_GET,
                             .kind = &kind_config_map,
                             .ns = STR("ns"),
                             .name = STR("ch0"),
                             .rv = 999999999,
                             .rv_given = true};
    CHECK_INT(send(&f, r), 504);
    CHECK(loop_now(f.loop) - before >= 3 * USEC_PER_SEC);
    CHECK(loop_now(f.loop) - before < 4 * USEC_PER_SEC);
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
