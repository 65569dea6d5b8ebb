/* Caches over the fake API: filling, resuming, our own writes, indexes, and that no order of
 * arrival of watch events and answers ever makes one go back in time. */
#include "base/log.h"
#include "base/map.h"
#include "base/test.h"
#include "client/api_faulty.h"
#include "client/cache.h"
#include "client/strangers.h"
#include "client/test-api-fake.h"

#define START (1767225600 * USEC_PER_SEC)

struct rig {
    struct loop *loop;
    struct api *api;
    struct cache *cache;
    unsigned added, changed, gone, synced;
};

static void on_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct rig *r = ctx;
    r->added += !old;
    r->gone += !new;
    r->changed += old && new;
    if (old && new) {
        CHECK_STR(new->uid, old->uid);
        CHECK(new->rv > old->rv);
    }
}

static void on_synced(void *ctx)
{
    ((struct rig *)ctx)->synced++;
}

static void rig_init(struct rig *r, const struct cache_options *o)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_virtual(1, START)};
    r->api = api_fake_new(r->loop, USEC_PER_MSEC);
    r->cache =
        cache_new(r->loop, r->api, o ? o : &(struct cache_options){.kind = &kind_config_map});
    cache_add_handler(r->cache, on_change, r);
    cache_on_synced(r->cache, on_synced, r);
}

static void rig_done(struct rig *r)
{
    cache_free(r->cache);
    api_free(r->api);
    loop_free(r->loop);
}

static void settle(struct rig *r)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + 10 * USEC_PER_SEC, 1000000));
}

static void put(struct rig *r, const char *ns, const char *name, const char *more)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s}}", name,
             ns, more);
    api_fake_put(r->api, &kind_config_map, text);
}

static struct obj *server(struct rig *r, const char *name)
{
    return api_fake_get(r->api, &kind_config_map, "ns", name);
}

static struct obj *cached(struct rig *r, const char *name)
{
    return cache_get(r->cache, STR("ns"), str_of(name));
}

TEST(cache_fills_from_a_watch_list_and_follows)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "b", "");
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    CHECK(!cache_is_synced(r.cache));
    settle(&r);
    CHECK(cache_is_synced(r.cache));
    CHECK_INT(r.synced, 1);
    CHECK_INT(r.added, 2);
    CHECK_INT(cache_stats(r.cache).lists, 1);
    CHECK_INT(api_fake_stats(r.api).sent[API_LIST], 0);
    put(&r, "ns", "a", ",\"labels\":{\"x\":\"y\"}");
    put(&r, "ns", "c", "");
    api_fake_remove(r.api, &kind_config_map, "ns", "b");
    settle(&r);
    CHECK_INT(r.added, 3);
    CHECK_INT(r.changed, 1);
    CHECK_INT(r.gone, 1);
    CHECK(cached(&r, "a") == server(&r, "a"));
    CHECK(!cached(&r, "b"));
    CHECK_INT(cache_count(r.cache), 2);
    rig_done(&r);
}

TEST(cache_costs_nothing_when_idle)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    CHECK_INT(loop_next_due(r.loop), -1);
    rig_done(&r);
}

TEST(cache_falls_back_to_list_and_watch_in_pages)
{
    struct rig r;
    rig_init(&r, NULL);
    api_fake_set_classic(r.api, true);
    for (int i = 0; i < 1234; i++) {
        char name[32];
        snprintf(name, sizeof(name), "c%d", i);
        put(&r, i % 2 ? "ns" : "other", name, "");
    }
    cache_start(r.cache);
    settle(&r);
    CHECK(cache_is_synced(r.cache));
    CHECK_INT(cache_count(r.cache), 1234);
    CHECK_INT(api_fake_stats(r.api).sent[API_LIST], 3);
    put(&r, "ns", "new", "");
    settle(&r);
    CHECK(cached(&r, "new"));
    /* The refusal is remembered: the next list does not try the other form again. */
    uint64_t watches = cache_stats(r.cache).watches;
    put(&r, "ns", "new", ",\"labels\":{\"x\":\"y\"}");
    api_fake_compact(r.api);
    settle(&r);
    CHECK_INT(cache_stats(r.cache).watches, watches + 1);
    CHECK(cached(&r, "new") == server(&r, "new"));
    rig_done(&r);
}

TEST(cache_resumes_after_a_clean_end_without_a_list)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    for (int i = 0; i < 5; i++) {
        put(&r, "ns", "a", i % 2 ? ",\"labels\":{\"x\":\"y\"}" : ",\"labels\":{\"x\":\"z\"}");
        api_fake_end_watches(r.api);
        settle(&r);
        CHECK(cached(&r, "a") == server(&r, "a"));
    }
    CHECK_INT(cache_stats(r.cache).lists, 1);
    CHECK_INT(r.added, 1);
    CHECK_INT(r.changed, 5);
    rig_done(&r);
}

TEST(cache_relists_when_the_past_is_gone_and_tells_only_what_changed)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    put(&r, "ns", "b", "");
    put(&r, "ns", "c", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_hold_watches(r.api, true);
    api_fake_remove(r.api, &kind_config_map, "ns", "b");
    put(&r, "ns", "c", ",\"labels\":{\"x\":\"y\"}");
    put(&r, "ns", "d", "");
    api_fake_compact(r.api);
    api_fake_hold_watches(r.api, false);
    settle(&r);
    CHECK_INT(cache_stats(r.cache).lists, 2);
    CHECK_INT(r.added, 4);
    CHECK_INT(r.changed, 1);
    CHECK_INT(r.gone, 1);
    CHECK(!cached(&r, "b"));
    CHECK(cached(&r, "c") == server(&r, "c"));
    rig_done(&r);
}

TEST(cache_relist_that_changes_nothing_calls_nobody)
{
    struct rig r;
    rig_init(&r, NULL);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        put(&r, "ns", name, "");
    }
    cache_start(r.cache);
    settle(&r);
    unsigned calls = r.added;
    /* A node that changes makes the old revision unusable for the config maps too. */
    api_fake_put(r.api, &kind_node, "{\"metadata\":{\"name\":\"n\"}}");
    api_fake_compact(r.api);
    settle(&r);
    CHECK_INT(cache_stats(r.cache).lists, 2);
    CHECK_INT(r.added + r.changed + r.gone, calls);
    CHECK_INT(r.synced, 1);
    rig_done(&r);
}

/* A new leader's first read. In whatever state the feed is, the list begins after the call. */
TEST(cache_resync_reads_everything_anew_and_tells_when_that_is_complete)
{
    for (int classic = 0; classic < 2; classic++) {
        for (usec after = 0; after < 20 * USEC_PER_MSEC; after += 500) {
            struct rig r;
            rig_init(&r, NULL);
            api_fake_set_classic(r.api, classic);
            for (int i = 0; i < 600; i++) {
                char name[8];
                snprintf(name, sizeof(name), "%d", i);
                put(&r, "ns", name, "");
            }
            cache_start(r.cache);
            REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + after, 1000000));
            unsigned synced = r.synced;
            put(&r, "ns", "new", "");
            api_fake_remove(r.api, &kind_config_map, "ns", "7");
            cache_resync(r.cache);
            CHECK(!cache_is_synced(r.cache));
            while (!cache_is_synced(r.cache))
                REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 100, 1000000));
            CHECK_INT(r.synced, synced + 1);
            CHECK_INT(cache_count(r.cache), 600);
            CHECK(cached(&r, "new") && !cached(&r, "7"));
            unsigned told = r.added + r.changed + r.gone;
            cache_resync(r.cache);
            settle(&r);
            CHECK(cache_is_synced(r.cache));
            CHECK_INT(r.added + r.changed + r.gone, told); /* nothing changed, nobody is told */
            put(&r, "ns", "newer", "");
            settle(&r);
            CHECK(cached(&r, "newer")); /* and it goes on from there */
            rig_done(&r);
        }
    }
}

TEST(cache_own_write_is_seen_at_once_and_not_undone_by_older_events)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_hold_watches(r.api, true);
    put(&r, "ns", "a", ",\"labels\":{\"v\":\"1\"}");
    put(&r, "ns", "a", ",\"labels\":{\"v\":\"2\"}");
    cache_observe(r.cache, server(&r, "a"));
    CHECK_CSTR(obj_label(cached(&r, "a"), STR("v")), "2");
    CHECK_INT(r.changed, 1);
    api_fake_hold_watches(r.api, false);
    settle(&r);
    CHECK_CSTR(obj_label(cached(&r, "a"), STR("v")), "2");
    CHECK_INT(r.changed, 1);
    rig_done(&r);
}

TEST(cache_own_create_survives_a_list_that_is_older)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    /* The list is begun (its state taken) before the object is made, its end comes after. */
    api_fake_put(r.api, &kind_node, "{\"metadata\":{\"name\":\"n\"}}");
    api_fake_compact(r.api);
    uint64_t lists = cache_stats(r.cache).lists;
    while (cache_stats(r.cache).lists == lists)
        REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 100, 1000));
    put(&r, "ns", "mine", "");
    cache_observe(r.cache, server(&r, "mine"));
    api_fake_hold_watches(r.api, true);
    settle(&r);
    CHECK(cached(&r, "mine"));
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

TEST(cache_late_answer_does_not_outlive_a_list_that_knows_better)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_hold_watches(r.api, true);
    put(&r, "ns", "b", "");
    struct obj *late = obj_ref(server(&r, "b"));
    api_fake_remove(r.api, &kind_config_map, "ns", "b");
    api_fake_compact(r.api);
    uint64_t lists = cache_stats(r.cache).lists;
    while (cache_stats(r.cache).lists == lists)
        REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 100, 1000));
    /* The answer to the create comes while the list is under way; no event will ever correct it. */
    cache_observe(r.cache, late);
    CHECK(cached(&r, "b"));
    settle(&r);
    CHECK(!cached(&r, "b"));
    CHECK_INT(cache_count(r.cache), 1);
    obj_unref(late);
    rig_done(&r);
}

TEST(cache_ignores_answers_of_what_came_and_went_unseen)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_hold_watches(r.api, true);
    put(&r, "ns", "b", "");
    struct obj *late = obj_ref(server(&r, "b"));
    api_fake_remove(r.api, &kind_config_map, "ns", "b");
    api_fake_compact(r.api); /* neither the one nor the other event will come */
    settle(&r);
    CHECK_INT(cache_stats(r.cache).lists, 2);
    cache_observe(r.cache, late);
    CHECK(!cached(&r, "b"));
    CHECK_INT(r.added, 1);
    obj_unref(late);
    rig_done(&r);
}

TEST(cache_own_delete_is_not_undone_by_older_events)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_hold_watches(r.api, true);
    put(&r, "ns", "a", ",\"labels\":{\"v\":\"1\"}");
    struct obj *late = obj_ref(server(&r, "a"));
    api_fake_remove(r.api, &kind_config_map, "ns", "a");
    cache_observe_deleted(r.cache, STR("ns"), STR("a"), late->uid);
    CHECK(!cached(&r, "a"));
    cache_observe(r.cache, late);
    CHECK(!cached(&r, "a"));
    api_fake_hold_watches(r.api, false);
    settle(&r);
    CHECK(!cached(&r, "a"));
    CHECK_INT(r.added, 1);
    CHECK_INT(r.gone, 1);
    obj_unref(late);
    rig_done(&r);
}

TEST(cache_object_made_anew_under_its_name_is_two_changes)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    struct obj *first = obj_ref(cached(&r, "a"));
    api_fake_hold_watches(r.api, true);
    api_fake_remove(r.api, &kind_config_map, "ns", "a");
    put(&r, "ns", "a", "");
    cache_observe(r.cache, server(&r, "a"));
    CHECK_INT(r.gone, 1);
    CHECK_INT(r.added, 2);
    CHECK(!str_eq(cached(&r, "a")->uid, first->uid));
    /* The late DELETED of the first must not take the second away. */
    api_fake_hold_watches(r.api, false);
    settle(&r);
    CHECK(cached(&r, "a") == server(&r, "a"));
    cache_observe_deleted(r.cache, STR("ns"), STR("a"), first->uid);
    CHECK(cached(&r, "a"));
    obj_unref(first);
    rig_done(&r);
}

TEST(cache_forgets_tombstones_when_the_watch_has_passed_them)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    put(&r, "ns", "b", "");
    cache_start(r.cache);
    settle(&r);
    api_fake_remove(r.api, &kind_config_map, "ns", "a");
    settle(&r);
    CHECK_INT(cache_stats(r.cache).tombstones, 1);
    REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 6 * USEC_PER_MIN, 1000));
    api_fake_bookmark(r.api);
    settle(&r);
    CHECK_INT(cache_stats(r.cache).tombstones, 0);
    rig_done(&r);
}

TEST(cache_remembers_a_bounded_number_of_tombstones)
{
    struct rig r;
    rig_init(&r, NULL);
    for (int i = 0; i < 100100; i++) {
        char uid[32];
        int n = snprintf(uid, sizeof(uid), "u%d", i);
        cache_observe_deleted(r.cache, STR("ns"), STR("x"), str_n(uid, (size_t)n));
    }
    CHECK_INT(cache_stats(r.cache).tombstones, 100000);
    rig_done(&r);
}

/* ---- reading ---- */

static void index_color(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str color = obj_label(o, STR("color"));
    if (color.len)
        keys[(*n)++] = arena_printf(a, "c-%.*s", STR_ARG(color));
    if (color.len && str_is(obj_label(o, STR("twice")), "yes"))
        keys[(*n)++] = STR("c-both");
}

static str names_of(struct cache_iter it, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(4096);
    struct obj *o;
    while ((o = cache_next(&it)))
        strbuf_printf(&b, "%.*s/%.*s ", STR_ARG(o->ns), STR_ARG(o->name));
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

TEST(cache_iterates_in_key_order)
{
    struct rig r;
    struct arena a = ARENA_INIT;
    rig_init(&r, NULL);
    put(&r, "ns", "c", "");
    put(&r, "ns-b", "a", "");
    put(&r, "ns", "a", "");
    put(&r, "n", "z", "");
    put(&r, "ns", "b", "");
    cache_start(r.cache);
    settle(&r);
    CHECK_CSTR(names_of(cache_all(r.cache, STR_NONE), &a), "n/z ns/a ns/b ns/c ns-b/a ");
    CHECK_CSTR(names_of(cache_all(r.cache, STR("ns")), &a), "ns/a ns/b ns/c ");
    CHECK_CSTR(names_of(cache_all(r.cache, STR("none")), &a), "");
    arena_done(&a);
    rig_done(&r);
}

TEST(cache_index_by_controller_owner)
{
    struct rig r;
    struct arena a = ARENA_INIT;
    rig_init(&r, NULL);
    put(&r, "ns", "b",
        ",\"ownerReferences\":[{\"uid\":\"u1\",\"controller\":true},{\"uid\":\"u2\"}]");
    put(&r, "ns", "a", ",\"ownerReferences\":[{\"uid\":\"u1\",\"controller\":true}]");
    put(&r, "ns", "c", ",\"ownerReferences\":[{\"uid\":\"u10\",\"controller\":true}]");
    cache_start(r.cache);
    settle(&r);
    CHECK_CSTR(names_of(cache_by(r.cache, cache_index_owner, STR("u1")), &a), "ns/a ns/b ");
    CHECK_CSTR(names_of(cache_by(r.cache, cache_index_owner, STR("u2")), &a), "");
    put(&r, "ns", "a", ",\"ownerReferences\":null");
    settle(&r);
    CHECK_CSTR(names_of(cache_by(r.cache, cache_index_owner, STR("u1")), &a), "ns/b ");
    arena_done(&a);
    rig_done(&r);
}

static void index_first(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    (void)max;
    keys[(*n)++] = str_sub(o->name, 0, 1);
}

/* Which other indexes a cache has, and in which order they came, changes no answer. */
TEST(cache_finds_an_index_by_its_function)
{
    struct rig r[2];
    struct arena a = ARENA_INIT;
    rig_init(&r[0], NULL);
    rig_init(&r[1], NULL);
    cache_add_index(r[0].cache, index_color);
    cache_add_index(r[0].cache, index_first);
    cache_add_index(r[1].cache, index_first);
    cache_add_index(r[1].cache, index_color);
    for (int i = 0; i < 2; i++) {
        put(&r[i], "ns", "b", ",\"labels\":{\"color\":\"red\"}");
        put(&r[i], "ns", "ba", "");
        cache_start(r[i].cache);
        settle(&r[i]);
        cache_add_index(r[i].cache, index_color); /* is there: nothing happens */
        CHECK_CSTR(names_of(cache_by(r[i].cache, index_color, STR("c-red")), &a), "ns/b ");
        CHECK_CSTR(names_of(cache_by(r[i].cache, index_first, STR("b")), &a), "ns/b ns/ba ");
        rig_done(&r[i]);
    }
    arena_done(&a);
}

TEST(cache_own_indexes_follow_the_object)
{
    struct rig r;
    struct arena a = ARENA_INIT;
    rig_init(&r, NULL);
    cache_add_index(r.cache, index_color);
    put(&r, "ns", "b", ",\"labels\":{\"color\":\"red\"}");
    put(&r, "ns", "a", ",\"labels\":{\"color\":\"red\",\"twice\":\"yes\"}");
    cache_start(r.cache);
    settle(&r);
    CHECK_CSTR(names_of(cache_by(r.cache, index_color, STR("c-red")), &a), "ns/a ns/b ");
    CHECK_CSTR(names_of(cache_by(r.cache, index_color, STR("c-both")), &a), "ns/a ");
    put(&r, "ns", "b", ",\"labels\":{\"color\":\"blue\"}");
    api_fake_remove(r.api, &kind_config_map, "ns", "a");
    settle(&r);
    CHECK_CSTR(names_of(cache_by(r.cache, index_color, STR("c-red")), &a), "");
    CHECK_CSTR(names_of(cache_by(r.cache, index_color, STR("c-both")), &a), "");
    CHECK_CSTR(names_of(cache_by(r.cache, index_color, STR("c-blue")), &a), "ns/b ");
    arena_done(&a);
    rig_done(&r);
}

TEST(cache_filtered_sees_objects_enter_leave_and_come_back)
{
    struct rig r;
    rig_init(&r, &(struct cache_options){.kind = &kind_config_map, .label_selector = STR("app=x")});
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\"}");
    put(&r, "ns", "b", ",\"labels\":{\"app\":\"y\"}");
    cache_start(r.cache);
    settle(&r);
    CHECK_INT(cache_count(r.cache), 1);
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"y\"}");
    settle(&r);
    CHECK_INT(cache_count(r.cache), 0);
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\"}");
    settle(&r);
    CHECK(cached(&r, "a") == server(&r, "a"));
    /* Our own write that takes it out of sight. */
    api_fake_hold_watches(r.api, true);
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"y\"}");
    cache_observe(r.cache, server(&r, "a"));
    CHECK_INT(cache_count(r.cache), 0);
    cache_observe(r.cache, server(&r, "b"));
    CHECK_INT(cache_count(r.cache), 0);
    rig_done(&r);
}

/* Not among those it selects, but who wants the name must know. */
TEST(cache_filtered_knows_for_a_while_that_a_name_is_taken)
{
    struct rig r;
    rig_init(&r, &(struct cache_options){.kind = &kind_config_map, .label_selector = STR("app=x")});
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\"}");
    put(&r, "ns", "b", ",\"labels\":{\"app\":\"y\"}");
    cache_start(r.cache);
    settle(&r);
    CHECK(!cached(&r, "b"));
    cache_observe(r.cache, server(&r, "b"));
    CHECK(cached(&r, "b") == server(&r, "b"));
    CHECK_INT(cache_count(r.cache), 1);
    CHECK_INT(r.added, 1);
    /* One that the watch has shown leaving is there all the same. */
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"y\"}");
    settle(&r);
    CHECK(!cached(&r, "a"));
    cache_observe(r.cache, server(&r, "a"));
    CHECK(cached(&r, "a") == server(&r, "a"));
    /* It gets its label back. */
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\"}");
    settle(&r);
    CHECK(cached(&r, "a") == server(&r, "a"));
    CHECK_INT(cache_count(r.cache), 1);
    cache_observe_deleted(r.cache, STR("ns"), STR("a"), server(&r, "a")->uid);
    CHECK(!cached(&r, "a"));
    /* Nobody tells what becomes of it. */
    REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + USEC_PER_MIN, 1000000));
    CHECK(!cached(&r, "b"));
    rig_done(&r);
}

TEST(cache_filtered_remembers_a_bounded_number_of_names)
{
    struct rig r;
    char name[16];
    rig_init(&r, &(struct cache_options){.kind = &kind_config_map, .label_selector = STR("app=x")});
    cache_start(r.cache);
    settle(&r);
    for (int i = 0; i <= STRANGERS_MAX; i++) {
        snprintf(name, sizeof(name), "b%d", i);
        put(&r, "ns", name, "");
        cache_observe(r.cache, server(&r, name));
        cache_observe(r.cache, server(&r, name));
    }
    CHECK(!cached(&r, "b0"));
    CHECK(cached(&r, "b1"));
    CHECK(cached(&r, name));
    rig_done(&r);
}

/* ---- trouble ---- */

TEST(cache_filtered_by_a_field_sees_what_enters_and_leaves)
{
    struct rig r;
    rig_init(&r,
             &(struct cache_options){.kind = &kind_pod, .field_selector = STR("spec.nodeName=n1")});
    api_fake_put(r.api, &kind_pod,
                 "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"spec\":{}}");
    api_fake_put(r.api, &kind_pod,
                 "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},"
                 "\"spec\":{\"nodeName\":\"n1\"}}");
    cache_start(r.cache);
    settle(&r);
    CHECK_INT(cache_count(r.cache), 1);
    CHECK(cached(&r, "b"));
    api_fake_put(r.api, &kind_pod,
                 "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},"
                 "\"spec\":{\"nodeName\":\"n1\"}}");
    settle(&r);
    CHECK_INT(cache_count(r.cache), 2);
    api_fake_put(r.api, &kind_pod,
                 "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},"
                 "\"spec\":{\"nodeName\":\"n2\"}}");
    cache_observe(r.cache, api_fake_get(r.api, &kind_pod, "ns", "b")); /* our own write */
    CHECK_INT(cache_count(r.cache), 1);
    settle(&r);
    CHECK_INT(cache_count(r.cache), 1);
    rig_done(&r);
}

TEST(cache_resumes_after_the_last_event_it_saw)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    cache_start(r.cache);
    settle(&r);
    put(&r, "ns", "a", ",\"labels\":{\"x\":\"y\"}");
    settle(&r);
    api_fake_compact(r.api); /* nothing that is not known already */
    api_fake_end_watches(r.api);
    settle(&r);
    CHECK_INT(cache_stats(r.cache).lists, 1);
    CHECK_INT(cache_stats(r.cache).watches, 2);
    rig_done(&r);
}

TEST(cache_starts_over_when_a_page_expired)
{
    struct rig r;
    rig_init(&r, NULL);
    api_fake_set_classic(r.api, true);
    for (int i = 0; i < 1200; i++) {
        char name[32];
        snprintf(name, sizeof(name), "c%d", i);
        put(&r, "ns", name, "");
    }
    cache_start(r.cache);
    while (api_fake_stats(r.api).sent[API_LIST] < 1)
        REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 10, 1000));
    api_fake_refuse(r.api, API_LIST, 1, 410);
    settle(&r);
    CHECK_INT(cache_count(r.cache), 1200);
    CHECK_INT(api_fake_stats(r.api).sent[API_LIST], 5); /* one, the refused one, all three */
    rig_done(&r);
}

TEST(cache_asks_less_often_when_every_watch_ends_at_once)
{
    struct rig r;
    rig_init(&r, NULL);
    cache_start(r.cache);
    settle(&r);
    for (int i = 0; i < 10000; i++) {
        api_fake_end_watches(r.api);
        REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + USEC_PER_MSEC, 1000));
    }
    /* Ten seconds of 0.1 s doubling, a quarter less at most. */
    CHECK(cache_stats(r.cache).watches <= 12);
    rig_done(&r);
}

TEST(cache_backs_off_while_lists_fail)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "a", "");
    api_fake_set_classic(r.api, true);
    api_fake_refuse(r.api, API_LIST, 1000000, 503);
    cache_start(r.cache);
    REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 10 * USEC_PER_MIN, 100000));
    /* 0.1 s doubling to 5 s, up to a quarter less: at least 120, at most 168 in ten minutes. */
    uint64_t lists = api_fake_stats(r.api).sent[API_LIST];
    CHECK(lists >= 120);
    CHECK(lists <= 168);
    CHECK(!cache_is_synced(r.cache));
    api_fake_refuse(r.api, API_LIST, 0, 0);
    REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + USEC_PER_MIN, 100000));
    CHECK(cache_is_synced(r.cache));
    CHECK(cached(&r, "a"));
    rig_done(&r);
}

TEST(cache_reopens_a_watch_that_falls_silent)
{
    struct rig r;
    rig_init(&r, NULL);
    struct api *faulty =
        api_faulty_new(r.loop, r.api, &(struct api_faulty_options){.watch_silent = 1000});
    struct cache *c = cache_new(
        r.loop, faulty,
        &(struct cache_options){.kind = &kind_config_map, .stall_timeout = 3 * USEC_PER_MIN});
    cache_start(c);
    settle(&r);
    CHECK(!cache_is_synced(c));
    api_faulty_set(faulty, NULL);
    REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 4 * USEC_PER_MIN, 1000));
    CHECK(cache_is_synced(c));
    CHECK_INT(cache_stats(c).watches, 2);
    cache_free(c);
    api_free(faulty);
    rig_done(&r);
}

TEST(cache_freed_while_requests_are_open_leaves_nothing_behind)
{
    for (int classic = 0; classic < 2; classic++) {
        struct rig r;
        rig_init(&r, NULL);
        api_fake_set_classic(r.api, classic);
        put(&r, "ns", "a", "");
        cache_start(r.cache);
        for (int i = 0; i < 40 && !cache_is_synced(r.cache); i++) {
            REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 50, 1000));
            struct cache *c =
                cache_new(r.loop, r.api, &(struct cache_options){.kind = &kind_config_map});
            cache_start(c);
            REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 50 * i, 1000));
            cache_free(c);
        }
        settle(&r);
        CHECK(cache_is_synced(r.cache));
        rig_done(&r);
    }
}

/* ---- every order of arrival ---- */

struct watcher {
    struct map dead; /* UIDs told as gone */
    struct arena arena;
    bool back_from_the_dead;
    bool back_in_time;
};

static void on_any_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct watcher *w = ctx;
    if (new &&map_has(&w->dead, new->uid))
        w->back_from_the_dead = true;
    if (old && new &&new->rv <= old->rv)
        w->back_in_time = true;
    if (old && !new)
        map_put(&w->dead, arena_str(&w->arena, old->uid), w);
}

/* Answers that come long after they were true: the object is kept, another kept before is shown. */
static void late_answer(struct cache *c, struct obj *o)
{
    static struct obj *kept[4];
    struct obj **slot = &kept[rng_below(test_rng(), ARRAY_LEN(kept))];
    if (!c) {
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
            obj_unref(TAKE_PTR(kept[i]));
        return;
    }
    if (*slot)
        cache_observe(c, *slot);
    obj_unref(*slot);
    *slot = obj_ref(o);
}

/* A random change on the server, perhaps seen by the cache as the answer to our own write. */
static void random_change(struct rig *r, struct cache *c)
{
    uint64_t n = rng_below(test_rng(), 8);
    char name[8], label[40];
    snprintf(name, sizeof(name), "c%d", (int)n);
    snprintf(label, sizeof(label), ",\"labels\":{\"v\":\"%d\"}", (int)rng_below(test_rng(), 1000));
    bool own = rng_chance(test_rng(), 40);
    struct obj *o = server(r, name);
    if (o && rng_chance(test_rng(), 30)) {
        obj_ref(o);
        api_fake_remove(r->api, &kind_config_map, "ns", name);
        if (own)
            cache_observe_deleted(c, o->ns, o->name, o->uid);
        obj_unref(o);
        return;
    }
    put(r, "ns", name, label);
    if (own)
        cache_observe(c, server(r, name));
    late_answer(c, server(r, name));
}

static bool same_as_server(struct rig *r, struct cache *c)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(c, STR_NONE); (o = cache_next(&it));) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", STR_ARG(o->name));
        if (server(r, name) == NULL || server(r, name)->rv != o->rv)
            return false;
    }
    return cache_count(c) == api_fake_count(r->api, &kind_config_map);
}

TEST(cache_never_goes_back_and_always_arrives)
{
    size_t cases = test_cases(60);
    for (size_t i = 0; i < cases; i++) {
        struct rig r;
        rig_init(&r, NULL);
        api_fake_set_classic(r.api, rng_chance(test_rng(), 30));
        struct api_faulty_options o = {
            .max_delay = 20 * USEC_PER_MSEC,
            .max_lag = 200 * USEC_PER_MSEC,
            .drop = 5,
            .error = 5,
            .watch_end = 50,
            .watch_expired = 20,
        };
        struct api *faulty = api_faulty_new(r.loop, r.api, &o);
        struct cache *c =
            cache_new(r.loop, faulty, &(struct cache_options){.kind = &kind_config_map});
        struct watcher w = {0};
        cache_add_handler(c, on_any_change, &w);
        cache_start(c);
        for (int step = 0; step < 150; step++) {
            random_change(&r, c);
            if (step % 40 == 39)
                api_fake_compact(r.api);
            usec by = (usec)rng_below(test_rng(), 100 * USEC_PER_MSEC);
            REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + by, 100000));
        }
        api_faulty_set(faulty, NULL);
        REQUIRE(loop_run_until(r.loop, loop_now(r.loop) + 2 * USEC_PER_MIN, 100000));
        CHECK(cache_is_synced(c));
        CHECK(same_as_server(&r, c));
        CHECK(!w.back_from_the_dead);
        CHECK(!w.back_in_time);
        late_answer(NULL, NULL);
        map_done(&w.dead);
        arena_done(&w.arena);
        cache_free(c);
        api_free(faulty);
        rig_done(&r);
    }
}

/* ---- labels ---- */

/* Names of what has the label with the value, in order. */
static void check_labelled(struct rig *r, const char *ns, const char *label, const char *value,
                           const char *want)
{
    char got[256] = "";
    struct cache_iter it = cache_by_label(r->cache, str_of(ns), str_of(label), str_of(value));
    for (const struct obj *o; (o = cache_next(&it));)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.*s ", STR_ARG(o->name));
    CHECK_STR(str_of(got), str_of(want));
}

TEST(objects_are_found_by_a_label_from_the_first_question_on)
{
    struct rig r;
    rig_init(&r, NULL);
    put(&r, "ns", "b", ",\"labels\":{\"app\":\"x\"}");
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\",\"tier\":\"1\"}");
    put(&r, "ns", "c", ",\"labels\":{\"app\":\"y\"}");
    put(&r, "other", "d", ",\"labels\":{\"app\":\"x\"}");
    cache_start(r.cache);
    settle(&r);
    check_labelled(&r, "ns", "app", "x", "a b ");
    check_labelled(&r, "ns", "tier", "1", "a ");
    check_labelled(&r, "other", "app", "x", "d ");
    check_labelled(&r, "ns", "app", "z", "");
    /* It follows what changes, comes and goes. */
    put(&r, "ns", "c", ",\"labels\":{\"app\":\"x\"}");
    put(&r, "ns", "a", ",\"labels\":null");
    put(&r, "ns", "e", ",\"labels\":{\"app\":\"x\"}");
    api_fake_remove(r.api, &kind_config_map, "ns", "b");
    settle(&r);
    check_labelled(&r, "ns", "app", "x", "c e ");
    check_labelled(&r, "ns", "app", "y", "");
    check_labelled(&r, "ns", "tier", "1", "");
    rig_done(&r);
}

/* Who asks looks at each in any case. */
TEST(of_too_many_labels_all_objects_are_the_answer)
{
    struct rig r;
    char label[16];
    rig_init(&r, NULL);
    put(&r, "ns", "a", ",\"labels\":{\"app\":\"x\"}");
    cache_start(r.cache);
    settle(&r);
    for (int i = 0; i < CACHE_LABELS; i++) {
        snprintf(label, sizeof(label), "l%d", i);
        check_labelled(&r, "ns", label, "x", "");
    }
    check_labelled(&r, "ns", "app", "x", "a ");
    check_labelled(&r, "ns", "app", "y", "a ");
    check_labelled(&r, "ns", "l0", "x", "");
    rig_done(&r);
}
