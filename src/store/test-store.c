/* The store in memory on the virtual loop: visibility, order, watching, the past. */
#include "store/test-store-fixture.h"
#include "json/write.h"

TEST(an_empty_store_is_at_revision_one)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(store_revision(f.store), 1);
    CHECK_INT(store_oldest_revision(f.store), 1);
    CHECK_INT(store_next_revision(f.store), 2);
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    CHECK(!store_get(f.store, &kind_config_map, STR("ns"), STR("a")));
    struct store_iter it = store_range(f.store, &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    CHECK(!store_next(&it));
    fixture_done(&f);
}

TEST(pending_versions_are_seen_by_writers_only)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(put(&f, "a", "1"), 2);
    CHECK_STR(durable(&f, "a"), STR("-"));
    CHECK_STR(newest(&f, "a"), STR("1"));
    CHECK_INT(store_revision(f.store), 1);
    CHECK_INT(store_next_revision(f.store), 3);
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    settle(&f);
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_INT(store_revision(f.store), 2);

    put(&f, "a", "2");
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "a"), STR("2"));
    put(&f, "a", "3");
    CHECK_STR(newest(&f, "a"), STR("3"));
    del(&f, "a");
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "a"), STR("-"));
    CHECK_INT(store_count(f.store, &kind_config_map), 1);
    settle(&f);
    CHECK_STR(durable(&f, "a"), STR("-"));
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    CHECK_INT(store_revision(f.store), 5);
    fixture_done(&f);
}

TEST(pending_keys_are_not_listed)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "b", "1");
    settle(&f);
    put(&f, "a", "1");
    put(&f, "c", "1");
    struct store_iter it = store_range(f.store, &kind_config_map, STR_NONE, STR_NONE, STR_NONE);
    struct obj *o = store_next(&it);
    REQUIRE(o);
    CHECK_STR(o->name, STR("b"));
    CHECK(!store_next(&it));
    settle(&f);
    fixture_done(&f);
}

TEST(writes_of_one_iteration_are_one_batch)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "a", "1");
    put(&f, "b", "1");
    put(&f, "c", "1");
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; event ADDED b 3; event ADDED c 4; batch; "
                    "done a 2; done b 3; done c 4; ");
    fixture_done(&f);
}

/* Applies b and c when a's batch is on the disk worker. */
static struct fixture *during_commit_fixture;

static void during_commit(struct loop_timer *t)
{
    put(during_commit_fixture, "b", "1");
    put(during_commit_fixture, "c", "1");
}

TEST(writes_during_a_commit_are_the_next_batch)
{
    struct fixture f;
    fixture_init(&f);
    struct loop_timer t;
    loop_timer_init(f.loop, &t, during_commit);
    during_commit_fixture = &f;
    put(&f, "a", "1");
    loop_timer_set(&t, loop_now(f.loop) + 1);
    loop_run_until(f.loop, loop_now(f.loop) + 1, 100);
    /* On its way, and nothing of it to be seen. */
    CHECK_DIARY(&f, "");
    CHECK_STR(durable(&f, "a"), STR("-"));
    CHECK_STR(newest(&f, "c"), STR("1"));
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; batch; done a 2; "
                    "event ADDED b 3; event ADDED c 4; batch; done b 3; done c 4; ");
    fixture_done(&f);
}

TEST(a_large_batch_is_committed_in_parts)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        put(&f, name, "");
    }
    settle(&f);
    CHECK_INT(f.batches, 2);
    CHECK_INT(store_count(f.store, &kind_config_map), 5000);
    CHECK_INT(store_revision(f.store), 5001);
    fixture_done(&f);
}

/* ---- two writes of one key ---- */

static void collect_prev(void *ctx, const struct store_event *e)
{
    struct strbuf *out = ctx;
    str prev = test_payload(e->prev), now = test_payload(e->obj);
    strbuf_printf(out, "%d:%.*s>%.*s ", (int)e->type, STR_ARG(prev), STR_ARG(now));
    CHECK_INT(e->obj->rv, e->revision);
}

static void check_replay(struct fixture *f, uint64_t after, const char *want)
{
    struct strbuf out = STRBUF_INIT(4096);
    CHECK_INT(store_replay(f->store, after, collect_prev, &out, NULL), 0);
    CHECK_STR(strbuf_str(&out), str_of(want));
    strbuf_done(&out);
}

TEST(two_writes_to_one_key_in_one_batch_are_two_events)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "a", "1");
    put(&f, "a", "2");
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; event MODIFIED a 3; batch; done a 2; done a 3; ");
    check_replay(&f, 1, "0:->1 1:1>2 ");
    CHECK_STR(durable(&f, "a"), STR("2"));
    fixture_done(&f);
}

TEST(delete_and_create_in_one_batch)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "a", "1");
    settle(&f);
    del(&f, "a");
    put(&f, "a", "2");
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "a"), STR("2"));
    settle(&f);
    CHECK_STR(durable(&f, "a"), STR("2"));
    check_replay(&f, 2, "2:1>1 0:->2 ");
    CHECK_INT(store_count(f.store, &kind_config_map), 1);
    fixture_done(&f);
}

TEST(create_and_delete_in_one_batch_leave_nothing)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "a", "1");
    del(&f, "a");
    settle(&f);
    check_replay(&f, 1, "0:->1 2:1>1 ");
    CHECK(!store_newest(f.store, &kind_config_map, STR("ns"), STR("a")));
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    fixture_done(&f);
}

/* ---- order of publication ---- */

struct order_sub {
    struct store_sub sub;
    struct store *store;
    size_t seen;
};

static void check_all_visible(struct store_sub *sub, const struct store_event *e)
{
    struct order_sub *o = container_of(sub, struct order_sub, sub);
    o->seen++;
    CHECK_INT(store_revision(o->store), 3);
    CHECK(store_get(o->store, &kind_config_map, STR("ns"), STR("b")) != NULL);
}

TEST(a_batch_is_visible_before_its_first_event)
{
    struct fixture f;
    fixture_init(&f);
    struct order_sub o = {.sub.on_event = check_all_visible, .store = f.store};
    store_subscribe(f.store, &o.sub);
    put(&f, "a", "1");
    put(&f, "b", "1");
    settle(&f);
    CHECK_INT(o.seen, 2);
    store_unsubscribe(&o.sub);
    fixture_done(&f);
}

/* ---- subscribers that come and go ---- */

struct chain_sub {
    struct store_sub sub;
    struct fixture *f;
    struct chain_sub *add, *remove;
    uint64_t seen[8];
    size_t n;
};

static void chain_event(struct store_sub *sub, const struct store_event *e)
{
    struct chain_sub *c = container_of(sub, struct chain_sub, sub);
    c->seen[c->n++] = e->revision;
    if (c->add)
        store_subscribe(c->f->store, &c->add->sub);
    if (c->remove)
        store_unsubscribe(&c->remove->sub);
    c->add = c->remove = NULL;
}

TEST(subscribing_inside_an_event_starts_after_the_batch)
{
    struct fixture f;
    fixture_init(&f);
    struct chain_sub late = {.sub.on_event = chain_event, .f = &f};
    struct chain_sub first = {.sub.on_event = chain_event, .f = &f, .add = &late};
    store_subscribe(f.store, &first.sub);
    put(&f, "a", "1");
    put(&f, "b", "1");
    settle(&f);
    CHECK_INT(first.n, 2);
    CHECK_INT(late.n, 0);
    put(&f, "c", "1");
    settle(&f);
    CHECK_INT(late.n, 1);
    CHECK_INT(late.seen[0], 4);
    fixture_done(&f);
}

TEST(unsubscribing_inside_an_event_takes_effect_at_once)
{
    struct fixture f;
    fixture_init(&f);
    struct chain_sub victim = {.sub.on_event = chain_event, .f = &f};
    struct chain_sub first = {.sub.on_event = chain_event, .f = &f, .remove = &victim};
    struct chain_sub suicide = {.sub.on_event = chain_event, .f = &f};
    suicide.remove = &suicide;
    struct chain_sub last = {.sub.on_event = chain_event, .f = &f};
    store_subscribe(f.store, &first.sub);
    store_subscribe(f.store, &victim.sub);
    store_subscribe(f.store, &suicide.sub);
    store_subscribe(f.store, &last.sub);
    put(&f, "a", "1");
    put(&f, "b", "1");
    settle(&f);
    CHECK_INT(victim.n, 0);
    CHECK_INT(suicide.n, 1);
    CHECK_INT(last.n, 2);
    fixture_done(&f);
}

struct writing_sub {
    struct store_sub sub;
    struct fixture *f;
};

static void write_once(struct store_sub *sub, const struct store_event *e)
{
    struct writing_sub *w = container_of(sub, struct writing_sub, sub);
    if (e->revision == 2)
        put(w->f, "answer", "1");
}

TEST(a_write_inside_an_event_goes_into_the_next_batch)
{
    struct fixture f;
    fixture_init(&f);
    struct writing_sub w = {.sub.on_event = write_once, .f = &f};
    store_subscribe(f.store, &w.sub);
    put(&f, "a", "1");
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; batch; done a 2; "
                    "event ADDED answer 3; batch; done answer 3; ");
    fixture_done(&f);
}

/* ---- ranges ---- */

static void check_range(struct fixture *f, const char *ns, const char *start_ns,
                        const char *start_name, const char *want)
{
    struct strbuf out = STRBUF_INIT(4096);
    struct store_iter it =
        store_range(f->store, &kind_config_map, str_of(ns), str_of(start_ns), str_of(start_name));
    for (struct obj *o; (o = store_next(&it));)
        strbuf_printf(&out, "%.*s/%.*s ", STR_ARG(o->ns), STR_ARG(o->name));
    CHECK_STR(strbuf_str(&out), str_of(want));
    strbuf_done(&out);
}

TEST(ranges_are_in_key_order_and_start_anywhere)
{
    struct fixture f;
    fixture_init(&f);
    static const char *const keys[][2] = {{"b", "x"},   {"a-b", "y"}, {"a", "z"},
                                          {"a", "m-1"}, {"a", "m"},   {"b", "a"}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put_kind(&f, &kind_config_map, keys[i][0], keys[i][1], "");
    put_kind(&f, &kind_secret, "a", "other", "");
    settle(&f);
    check_range(&f, "", "", "", "a/m a/m-1 a/z a-b/y b/a b/x ");
    check_range(&f, "a", "", "", "a/m a/m-1 a/z ");
    check_range(&f, "b", "", "", "b/a b/x ");
    check_range(&f, "c", "", "", "");
    check_range(&f, "", "a", "m-1", "a/m-1 a/z a-b/y b/a b/x ");
    check_range(&f, "", "a", "m-2", "a/z a-b/y b/a b/x ");
    check_range(&f, "a", "a", "n", "a/z ");
    check_range(&f, "a", "a", "zz", "");
    check_range(&f, "", "b", "y", "");
    check_range(&f, "b", "a", "z", "b/a b/x ");
    fixture_done(&f);
}

/* ---- kinds that share storage ---- */

TEST(kinds_that_share_storage_are_one_collection)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *other = kind_by_name(STR("events.k8s.io"), STR("v1"), STR("Event"));
    REQUIRE(other && other != &kind_event);
    put_kind(&f, &kind_event, "ns", "a", "1");
    put_kind(&f, other, "ns", "b", "2");
    settle(&f);
    CHECK_INT(store_count(f.store, &kind_event), 2);
    CHECK_INT(store_count(f.store, other), 2);
    CHECK(store_get(f.store, &kind_event, STR("ns"), STR("b"))->kind == other);
    CHECK(store_get(f.store, other, STR("ns"), STR("a"))->kind == &kind_event);
    CHECK_INT(store_storage_id(f.store, other), store_storage_id(f.store, &kind_event));
    CHECK(store_storage_id(f.store, other) != store_storage_id(f.store, &kind_pod));
    put_kind(&f, other, "ns", "a", "3");
    settle(&f);
    check_replay(&f, 3, "1:1>3 ");
    fixture_done(&f);
}

/* ---- the window ---- */

TEST(replay_starts_after_any_retained_revision)
{
    struct fixture f;
    fixture_init(&f);
    f.options.history_events = 3;
    fixture_reopen(&f);
    for (char c = 'a'; c <= 'e'; c++)
        put(&f, (char[]){c, 0}, (char[]){c, 0});
    settle(&f);
    CHECK_INT(store_revision(f.store), 6);
    CHECK_INT(store_oldest_revision(f.store), 3);
    check_replay(&f, 3, "0:->c 0:->d 0:->e ");
    check_replay(&f, 5, "0:->e ");
    check_replay(&f, 6, "");
    struct err err = ERR_INIT;
    struct strbuf out = STRBUF_INIT(4096);
    CHECK_INT(store_replay(f.store, 2, collect_prev, &out, &err), ERR_GONE);
    CHECK_CSTR(str_of(err.message), "too old resource version: 2 (3)");
    CHECK_INT(store_replay(f.store, 0, collect_prev, &out, &err), ERR_GONE);
    CHECK_INT(store_replay(f.store, 7, collect_prev, &out, &err), ERR_TIMEOUT);
    CHECK_INT(out.len, 0);
    fixture_done(&f);
}

TEST(the_window_is_bounded_by_bytes_beyond_live_objects)
{
    struct fixture f;
    fixture_init(&f);
    f.options.history_bytes = 100000;
    fixture_reopen(&f);
    char payload[1001];
    memset(payload, 'x', sizeof(payload) - 1);
    payload[sizeof(payload) - 1] = 0;
    /* Creates hold nothing that is not live: all of them stay. */
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        put(&f, name, payload);
    }
    settle(&f);
    CHECK_INT(store_oldest_revision(f.store), 1);
    /* Each update leaves more than 1,000 bytes behind. */
    for (int i = 0; i < 200; i++)
        put(&f, "n0", payload);
    settle(&f);
    CHECK(f.store->history.bytes <= 100000);
    CHECK(store_revision(f.store) - store_oldest_revision(f.store) <= 100);
    CHECK(store_revision(f.store) - store_oldest_revision(f.store) >= 20);
    fixture_done(&f);
}

/* ---- lists in the past ---- */

static void collect_obj(void *ctx, struct obj *o)
{
    str payload = test_payload(o);
    strbuf_printf(ctx, "%.*s=%.*s ", STR_ARG(o->name), STR_ARG(payload));
    obj_unref(o);
}

static void check_list_at(struct fixture *f, uint64_t revision, const char *ns, const char *want)
{
    struct strbuf out = STRBUF_INIT(4096);
    CHECK_INT(
        store_list_at(f->store, revision, &kind_config_map, str_of(ns), collect_obj, &out, NULL),
        0);
    CHECK_STR(strbuf_str(&out), str_of(want));
    strbuf_done(&out);
}

TEST(list_at_shows_each_past_state)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "b", "1");                                 /* 2 */
    put(&f, "a", "1");                                 /* 3 */
    put(&f, "b", "2");                                 /* 4 */
    del(&f, "a");                                      /* 5 */
    put(&f, "a", "3");                                 /* 6 */
    put_kind(&f, &kind_config_map, "other", "b", "9"); /* 7 */
    put_kind(&f, &kind_secret, "ns", "s", "9");        /* 8 */
    del(&f, "b");                                      /* 9 */
    settle(&f);
    check_list_at(&f, 1, "", "");
    check_list_at(&f, 2, "", "b=1 ");
    check_list_at(&f, 3, "", "a=1 b=1 ");
    check_list_at(&f, 4, "", "a=1 b=2 ");
    check_list_at(&f, 5, "", "b=2 ");
    check_list_at(&f, 6, "", "a=3 b=2 ");
    check_list_at(&f, 7, "", "a=3 b=2 b=9 ");
    check_list_at(&f, 7, "ns", "a=3 b=2 ");
    check_list_at(&f, 8, "other", "b=9 ");
    check_list_at(&f, 9, "", "a=3 b=9 ");
    struct err err = ERR_INIT;
    struct strbuf out = STRBUF_INIT(100);
    CHECK_INT(store_list_at(f.store, 0, &kind_config_map, STR_NONE, collect_obj, &out, &err),
              ERR_GONE);
    CHECK_INT(store_list_at(f.store, 10, &kind_config_map, STR_NONE, collect_obj, &out, &err),
              ERR_TIMEOUT);
    fixture_done(&f);
}

struct page {
    struct strbuf *out;
    size_t left;
};

static bool collect_page(void *ctx, struct obj *o)
{
    struct page *p = ctx;
    collect_obj(p->out, o);
    return --p->left > 0;
}

TEST(list_at_goes_on_from_a_key_and_stops_when_told)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "a", "1");
    put(&f, "b", "1");
    put(&f, "c", "1");
    put(&f, "d", "1"); /* 5 */
    del(&f, "b");
    del(&f, "c");
    put(&f, "bb", "2");
    settle(&f);
    struct strbuf out = STRBUF_INIT(4096);
    struct page p = {.out = &out, .left = 2};
    CHECK_INT(store_list_at_from(f.store, 5, &kind_config_map, STR("ns"), STR("ns"), STR("b"),
                                 collect_page, &p, NULL),
              0);
    CHECK_STR(strbuf_str(&out), STR("b=1 c=1 "));
    strbuf_done(&out);
    fixture_done(&f);
}

TEST(names_of_any_length_are_found)
{
    struct fixture f;
    char name[1001];
    fixture_init(&f);
    memset(name, 'x', sizeof(name) - 1);
    for (size_t len = 1; len < sizeof(name); len += 111) {
        name[len] = '\0';
        put(&f, name, "1");
        CHECK_STR(newest(&f, name), STR("1"));
        settle(&f);
        CHECK_STR(durable(&f, name), STR("1"));
        put(&f, name, "2");
        CHECK_STR(newest(&f, name), STR("2"));
        del(&f, name);
        CHECK_STR(newest(&f, name), STR("-"));
        settle(&f);
        CHECK_STR(durable(&f, name), STR("-"));
        CHECK_INT(store_count(f.store, &kind_config_map), 0);
        name[len] = 'x';
    }
    fixture_done(&f);
}

/* ---- refusals and close ---- */

TEST(a_name_with_a_nul_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    struct obj *o = test_obj(&kind_config_map, STR("ns"), STR("a\0b"), 2, STR(""));
    struct store_write w = {.kind = &kind_config_map, .ns = o->ns, .name = o->name, .obj = o};
    CHECK_INT(o->name.len, 3);
    CHECK_INT(store_apply(f.store, &w, NULL), ERR_INVALID);
    CHECK_INT(store_next_revision(f.store), 2);
    obj_unref(o);
    fixture_done(&f);
}

TEST(close_completes_what_is_in_flight_and_refuses_the_rest)
{
    struct fixture f;
    fixture_init(&f);
    struct loop_timer t;
    loop_timer_init(f.loop, &t, during_commit);
    during_commit_fixture = &f;
    put(&f, "a", "1");
    loop_timer_set(&t, loop_now(f.loop) + 1);
    loop_run_until(f.loop, loop_now(f.loop) + 1, 100);
    store_close(f.store);
    f.store = NULL;
    CHECK_DIARY(&f, "event ADDED a 2; batch; done a 2; failed b 3; failed c 4; ");
    CHECK_INT(f.last_error, ERR_UNAVAILABLE);
    CHECK_INT(f.unfinished, 0);
    fixture_done(&f);
}
