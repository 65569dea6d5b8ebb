/* Watches: replay, initial state, selectors, bookmarks, ends. */
#include "apiserver/test-apiserver-fixture.h"

/* A watch and its diary: "ADDED c1 5; BOOKMARK 7 end; " */
struct diary {
    struct fixture *f;
    struct api_watch w;
    struct strbuf text;
    bool with_versions;
    bool ended;
    int code; /* of the end */
    char message[256];
    unsigned stop_after; /* stop itself after so many events */
    unsigned events;
    struct api_watch *also_stop;
    struct obj *last;
};

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char *const types[] = {
        [API_ADDED] = "ADDED",
        [API_MODIFIED] = "MODIFIED",
        [API_DELETED] = "DELETED",
        [API_BOOKMARK] = "BOOKMARK",
    };
    struct diary *d = w->ctx;
    strbuf_add_cstr(&d->text, types[type]);
    if (o)
        strbuf_printf(&d->text, " %.*s", STR_ARG(o->name));
    if (d->with_versions)
        strbuf_printf(&d->text, " %llu", (unsigned long long)rv);
    strbuf_add_cstr(&d->text, initial_end ? " end; " : "; ");
    if (o) {
        obj_unref(d->last);
        d->last = obj_ref(o);
    }
    if (++d->events != d->stop_after)
        return;
    if (d->also_stop)
        apiserver_watch_stop(d->f->server, d->also_stop);
    apiserver_watch_stop(d->f->server, w);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct diary *d = w->ctx;
    d->ended = true;
    d->code = why ? why->code : 0;
    if (why)
        (void)snprintf(d->message, sizeof(d->message), "%.*s", STR_ARG(why->message));
}

static void watch_start(struct fixture *f, struct diary *d, struct api_watch w)
{
    *d = (struct diary){.f = f, .w = w, .text = STRBUF_INIT(1 << 20)};
    d->w.on_event = on_event;
    d->w.on_end = on_end;
    d->w.ctx = d;
    apiserver_watch(f->server, &f->user, &d->w);
    CHECK_INT(d->text.len, 0);
}

/* What was told since the last time. */
static str told(struct diary *d)
{
    str s = arena_str(&d->f->arena, strbuf_str(&d->text));
    strbuf_reset(&d->text);
    return s;
}

static void watch_done(struct diary *d)
{
    if (d->f->server)
        apiserver_watch_stop(d->f->server, &d->w);
    obj_unref(d->last);
    strbuf_done(&d->text);
}

static void settle(struct fixture *f)
{
    fixture_run(f, USEC_PER_SEC / 10);
}

#define MAPS .kind = &kind_config_map, .ns = STR("ns")

TEST(a_watch_without_a_version_begins_with_what_is_there)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("b", "")), 201);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    CHECK_INT(create(&f, &kind_config_map, "default", CONFIG_MAP("elsewhere", "")), 201);
    watch_start(&f, &d, (struct api_watch){MAPS});
    settle(&f);
    CHECK_STR(told(&d), STR("ADDED a; ADDED b; "));
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_INT(create(&f, &kind_config_map, "default", CONFIG_MAP("c", "")), 201);
    CHECK_INT(patch(&f, &kind_config_map, "ns", "a", API_PATCH_MERGE, "{'data':{'x':'y'}}"), 200);
    CHECK_INT(patch(&f, &kind_config_map, "ns", "a", API_PATCH_MERGE, "{'data':{'x':'y'}}"), 200);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "b"), 200);
    CHECK_STR(told(&d), STR("ADDED c; MODIFIED a; DELETED b; "));
    /* the last state, at the revision of the deletion */
    CHECK_INT(d.last->rv, store_revision(f.store));
    CHECK_STR(jstr(jpath(obj_root(d.last), "data.a")), STR("1"));
    watch_done(&d);
    fixture_done(&f);
}

TEST(a_watch_from_a_version_replays_what_came_after)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    uint64_t rv = f.obj->rv;
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("b", "")), 201);
    CHECK_INT(create(&f, &kind_secret, "ns", "{'metadata':{'name':'s'}}"), 201);
    CHECK_INT(create(&f, &kind_config_map, "default", CONFIG_MAP("x", "")), 201);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "a"), 200);
    watch_start(&f, &d, (struct api_watch){MAPS, .rv = rv, .rv_given = true});
    settle(&f);
    CHECK_STR(told(&d), STR("ADDED b; DELETED a; "));
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_STR(told(&d), STR("ADDED c; "));
    watch_done(&d);
    /* a future revision is silence until it is there */
    watch_start(&f, &d,
                (struct api_watch){MAPS, .rv = store_revision(f.store) + 1, .rv_given = true});
    settle(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("d", "")), 201);
    CHECK_STR(told(&d), STR(""));
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("e", "")), 201);
    CHECK_STR(told(&d), STR("ADDED e; "));
    watch_done(&d);
    fixture_done(&f);
}

TEST(selectors_turn_changes_into_added_and_deleted)
{
    struct fixture f;
    struct diary d;
    const struct kind *k = &kind_config_map;
    fixture_init(&f);
    watch_start(&f, &d, (struct api_watch){MAPS, .label_selector = STR("sel=in")});
    settle(&f);
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("w1", ",'labels':{'sel':'in'}")), 201);
    CHECK_INT(patch(&f, k, "ns", "w1", API_PATCH_MERGE, "{'data':{'b':'2'}}"), 200);
    CHECK_STR(told(&d), STR("ADDED w1; MODIFIED w1; "));
    CHECK_INT(patch(&f, k, "ns", "w1", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'sel':'out'}},'data':{'b':'3'}}"),
              200);
    CHECK_STR(told(&d), STR("DELETED w1; "));
    /* the last state that matched, with the revision of the update */
    CHECK_STR(obj_label(d.last, STR("sel")), STR("in"));
    CHECK_STR(jstr(jpath(obj_root(d.last), "data.b")), STR("2"));
    CHECK_INT(d.last->rv, store_revision(f.store));
    CHECK_INT(patch(&f, k, "ns", "w1", API_PATCH_MERGE, "{'data':{'b':'4'}}"), 200);
    CHECK_STR(told(&d), STR(""));
    CHECK_INT(patch(&f, k, "ns", "w1", API_PATCH_MERGE, "{'metadata':{'labels':{'sel':'in'}}}"),
              200);
    CHECK_STR(told(&d), STR("ADDED w1; "));
    CHECK_INT(delete (&f, k, "ns", "w1"), 200);
    CHECK_STR(told(&d), STR("DELETED w1; "));
    watch_done(&d);
    fixture_done(&f);
}

TEST(each_watch_is_judged_for_itself)
{
    struct fixture f;
    struct diary in, out, all, one;
    const struct kind *k = &kind_config_map;
    fixture_init(&f);
    watch_start(&f, &in, (struct api_watch){MAPS, .label_selector = STR("sel=in")});
    watch_start(&f, &out, (struct api_watch){MAPS, .label_selector = STR("sel=out")});
    watch_start(&f, &all, (struct api_watch){.kind = k});
    watch_start(&f, &one, (struct api_watch){MAPS, .field_selector = STR("metadata.name=w2")});
    settle(&f);
    (void)told(&all);
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("w1", ",'labels':{'sel':'in'}")), 201);
    CHECK_INT(patch(&f, k, "ns", "w1", API_PATCH_MERGE, "{'metadata':{'labels':{'sel':'out'}}}"),
              200);
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("w2", "")), 201);
    CHECK_INT(create(&f, k, "default", CONFIG_MAP("w2", "")), 201);
    CHECK_STR(told(&in), STR("ADDED w1; DELETED w1; "));
    CHECK_STR(told(&out), STR("ADDED w1; "));
    CHECK_STR(told(&all), STR("ADDED w1; MODIFIED w1; ADDED w2; ADDED w2; "));
    CHECK_STR(told(&one), STR("ADDED w2; "));
    watch_done(&in);
    watch_done(&out);
    watch_done(&all);
    watch_done(&one);
    fixture_done(&f);
}

TEST(watch_list_ends_the_initial_state_with_a_bookmark)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    struct api_watch w = {MAPS, .send_initial = true, .bookmarks = true};
    watch_start(&f, &d, w);
    d.with_versions = true;
    uint64_t rv = store_revision(f.store);
    settle(&f);
    CHECK_STR(told(&d), arena_printf(&f.arena, "ADDED a %llu; BOOKMARK %llu end; ",
                                     (unsigned long long)rv, (unsigned long long)rv));
    watch_done(&d);
    /* nobody who did not ask gets one */
    w.bookmarks = false;
    watch_start(&f, &d, w);
    settle(&f);
    CHECK_STR(told(&d), STR("ADDED a; "));
    watch_done(&d);
    /* the classic form gets one too */
    watch_start(&f, &d, (struct api_watch){MAPS, .rv_given = true, .bookmarks = true});
    settle(&f);
    CHECK_STR(told(&d), STR("ADDED a; BOOKMARK end; "));
    watch_done(&d);
    fixture_done(&f);
}

TEST(what_happens_during_a_long_initial_state_comes_after_it)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    for (int i = 0; i < 2500; i++) {
        str body = arena_printf(&f.arena, "{'metadata':{'name':'m%04d'}}", i);
        CHECK_INT(create(&f, &kind_config_map, "ns", body.p), 201);
    }
    struct api_request r = {.verb = API_DELETE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("m2400"),
                            .grace_seconds = -1};
    watch_start(&f, &d, (struct api_watch){MAPS, .send_initial = true, .bookmarks = true});
    /* some turns: a part of the state, and then a write */
    for (int i = 0; i < 100 && !d.events; i++)
        (void)loop_run_until(f.loop, loop_now(f.loop), 1);
    CHECK(d.events > 0 && d.events < 2500);
    send_only(&f, &r);
    wait_answer(&f);
    settle(&f);
    CHECK_INT(d.events, 2500 + 1 + 1);
    CHECK(str_ends(strbuf_str(&d.text), STR("ADDED m2499; BOOKMARK end; DELETED m2400; ")));
    watch_done(&d);
    fixture_done(&f);
}

/* The state is that of one revision also when it changes while it is looked through, and whoever
 * begins at the same time does not wait for the long one. */
TEST(a_state_that_changes_while_it_is_looked_through)
{
    struct fixture f;
    struct diary d, other;
    fixture_init(&f);
    for (int i = 0; i < 2500; i++) {
        str body = arena_printf(&f.arena, "{'metadata':{'name':'m%04d'}}", i);
        CHECK_INT(create(&f, &kind_config_map, "ns", body.p), 201);
    }
    watch_start(&f, &d, (struct api_watch){MAPS, .send_initial = true, .bookmarks = true});
    (void)loop_run_until(f.loop, loop_now(f.loop), 2);
    CHECK_INT(d.events, 0);
    watch_start(&f, &other, (struct api_watch){.kind = &kind_namespace, .bookmarks = true});
    struct api_request r = {.verb = API_DELETE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("m2400"),
                            .grace_seconds = -1};
    send_only(&f, &r);
    wait_answer(&f);
    CHECK(str_ends(told(&other), STR("BOOKMARK end; ")));
    settle(&f);
    CHECK_INT(d.events, 2500 + 1 + 1);
    CHECK(str_ends(strbuf_str(&d.text), STR("ADDED m2499; BOOKMARK end; DELETED m2400; ")));
    watch_done(&d);
    watch_done(&other);
    fixture_done(&f);
}

TEST(a_long_past_is_told_in_parts_and_in_order)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    uint64_t rv = f.obj->rv;
    for (int i = 0; i < 5000; i++) {
        str body = arena_printf(&f.arena, "{'data':{'x':'%d'}}", i);
        CHECK_INT(patch(&f, &kind_config_map, "ns", "a", API_PATCH_MERGE, body.p), 200);
    }
    watch_start(&f, &d, (struct api_watch){MAPS, .rv = rv, .rv_given = true});
    for (int i = 0; i < 100 && !d.events; i++)
        (void)loop_run_until(f.loop, loop_now(f.loop), 1);
    CHECK(d.events > 0 && d.events < 1000);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "a"), 200);
    settle(&f);
    CHECK_INT(d.events, 5000 + 1);
    CHECK(str_ends(strbuf_str(&d.text), STR("MODIFIED a; DELETED a; ")));
    watch_done(&d);
    fixture_done(&f);
}

TEST(bookmarks_come_every_minute_and_only_while_somebody_wants_them)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    watch_start(&f, &d,
                (struct api_watch){MAPS, .rv = store_revision(f.store), .rv_given = true,
                                   .bookmarks = true});
    d.with_versions = true;
    CHECK_INT(create(&f, &kind_secret, "ns", "{'metadata':{'name':'s'}}"), 201);
    fixture_run(&f, 61 * USEC_PER_SEC);
    str one =
        arena_printf(&f.arena, "BOOKMARK %llu; ", (unsigned long long)store_revision(f.store));
    CHECK_STR(told(&d), one);
    fixture_run(&f, 60 * USEC_PER_SEC);
    CHECK_STR(told(&d), one);
    watch_done(&d);
    CHECK_INT(loop_next_due(f.loop), -1);
    /* a watch that wants none wakes nobody up before its own end */
    watch_start(&f, &d, (struct api_watch){MAPS});
    settle(&f);
    usec due = loop_next_due(f.loop) - loop_now(f.loop);
    CHECK(due > 29 * USEC_PER_MIN && due <= 60 * USEC_PER_MIN);
    watch_done(&d);
    fixture_done(&f);
}

TEST(a_version_that_is_gone_ends_the_watch_with_410)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    apiserver_free(f.server);
    store_close(f.store);
    struct store_options o = {.history_events = 20};
    f.store = store_open(f.loop, &o, NULL);
    f.server = apiserver_new(f.loop, f.store);
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'ns'}}"), 201);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    for (int i = 0; i < 50; i++) {
        str body = arena_printf(&f.arena, "{'data':{'n':'%d'}}", i);
        CHECK_INT(patch(&f, &kind_config_map, "ns", "c", API_PATCH_MERGE, body.p), 200);
    }
    watch_start(&f, &d, (struct api_watch){MAPS, .rv = 2, .rv_given = true});
    settle(&f);
    CHECK(d.ended);
    CHECK_INT(d.code, 410);
    CHECK_CSTR(str_of(d.message), arena_printf(&f.arena, "too old resource version: 2 (%llu)",
                                               (unsigned long long)store_oldest_revision(f.store))
                                      .p);
    CHECK_STR(told(&d), STR(""));
    watch_done(&d);
    fixture_done(&f);
}

TEST(bad_selectors_end_the_watch_with_400)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    watch_start(&f, &d, (struct api_watch){MAPS, .field_selector = STR("data.a=1")});
    settle(&f);
    CHECK(d.ended);
    CHECK_INT(d.code, 400);
    watch_done(&d);
    watch_start(&f, &d, (struct api_watch){MAPS, .label_selector = STR("a===b")});
    settle(&f);
    CHECK_INT(d.code, 400);
    watch_done(&d);
    fixture_done(&f);
}

TEST(timeouts_end_a_watch_cleanly)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    watch_start(&f, &d, (struct api_watch){MAPS, .timeout = 3 * USEC_PER_SEC, .bookmarks = true});
    fixture_run(&f, 2 * USEC_PER_SEC);
    CHECK(!d.ended);
    CHECK_STR(told(&d), STR("BOOKMARK end; "));
    fixture_run(&f, 2 * USEC_PER_SEC);
    CHECK(d.ended);
    CHECK_INT(d.code, 0);
    CHECK_STR(told(&d), STR("BOOKMARK; "));
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c", "")), 201);
    CHECK_STR(told(&d), STR(""));
    watch_done(&d);
    /* without one the server chooses between half an hour and an hour */
    watch_start(&f, &d, (struct api_watch){MAPS});
    fixture_run(&f, 30 * USEC_PER_MIN - USEC_PER_SEC);
    CHECK(!d.ended);
    fixture_run(&f, 31 * USEC_PER_MIN);
    CHECK(d.ended);
    watch_done(&d);
    fixture_done(&f);
}

TEST(callbacks_may_stop_any_watch)
{
    struct fixture f;
    struct diary a, b, c;
    fixture_init(&f);
    watch_start(&f, &a, (struct api_watch){MAPS});
    watch_start(&f, &b, (struct api_watch){MAPS});
    watch_start(&f, &c, (struct api_watch){MAPS});
    settle(&f);
    a.stop_after = 1;
    a.also_stop = &b.w;
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("x", "")), 201);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("y", "")), 201);
    CHECK_STR(told(&a), STR("ADDED x; "));
    CHECK_STR(told(&b), STR(""));
    CHECK_STR(told(&c), STR("ADDED x; ADDED y; "));
    c.stop_after = 3;
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("z", "")), 201);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("zz", "")), 201);
    CHECK_STR(told(&c), STR("ADDED z; "));
    CHECK(!a.ended && !b.ended && !c.ended);
    watch_done(&a);
    watch_done(&b);
    watch_done(&c);
    fixture_done(&f);
}

TEST(a_watch_stopped_during_its_initial_state_is_gone)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    for (int i = 0; i < 5; i++) {
        str body = arena_printf(&f.arena, "{'metadata':{'name':'m%d'}}", i);
        CHECK_INT(create(&f, &kind_config_map, "ns", body.p), 201);
    }
    watch_start(&f, &d, (struct api_watch){MAPS, .bookmarks = true});
    d.stop_after = 2;
    settle(&f);
    CHECK_STR(told(&d), STR("ADDED m0; ADDED m1; "));
    CHECK_INT(loop_next_due(f.loop), -1);
    watch_done(&d);
    fixture_done(&f);
}

TEST(events_are_watched_as_either_kind)
{
    struct fixture f;
    struct diary d;
    fixture_init(&f);
    watch_start(&f, &d, (struct api_watch){.kind = &kind_events_event, .ns = STR("ns")});
    settle(&f);
    CHECK_INT(create(&f, &kind_event, "ns",
                     "{'metadata':{'name':'e'},'involvedObject':{'namespace':'ns'},"
                     "'message':'hello'}"),
              201);
    CHECK_STR(told(&d), STR("ADDED e; "));
    CHECK(d.last->kind == &kind_events_event);
    CHECK_STR(jstr(jgetc(obj_root(d.last), "note")), STR("hello"));
    watch_done(&d);
    fixture_done(&f);
}
