/* Folds: kept up by additions and removals they say what counting from scratch says, over random
 * histories with faults, two keys per object, objects that move between keys, and drops. */
#include "base/log.h"
#include "base/rng.h"
#include "base/test.h"
#include "client/api_faulty.h"
#include "client/cache.h"
#include "client/slots.h"
#include "client/test-api-fake.h"

#define START (1767225600 * USEC_PER_SEC)
#define CM (&kind_config_map)

/* What a planner would like to know of the objects of a key. */
struct tally {
    int64_t objects, ready;
    struct slots numbers;
};

static bool is_ready(const struct obj *o)
{
    return str_is(obj_label(o, STR("ready")), "yes");
}

static int64_t number_of(const struct obj *o)
{
    int64_t n = -1;
    return str_to_int(obj_label(o, STR("number")), &n) ? n : -1;
}

static void tally_add(void *agg, const struct obj *o)
{
    struct tally *t = agg;
    t->objects++;
    t->ready += is_ready(o);
    slots_add(&t->numbers, number_of(o));
}

static void tally_remove(void *agg, const struct obj *o)
{
    struct tally *t = agg;
    t->objects--;
    t->ready -= is_ready(o);
    slots_remove(&t->numbers, number_of(o));
}

static void tally_done(void *agg)
{
    slots_done(&((struct tally *)agg)->numbers);
}

static void index_groups(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    (void)max;
    str one = obj_label(o, STR("group")), two = obj_label(o, STR("other"));
    if (one.len)
        keys[(*n)++] = one;
    if (two.len)
        keys[(*n)++] = two;
}

/* Two of the same: what is asked of one changes nothing about the other. */
static const struct cache_fold_def tally_def = {
    .index = index_groups,
    .size = sizeof(struct tally),
    .add = tally_add,
    .remove = tally_remove,
    .done = tally_done,
};
static const struct cache_fold_def plain_def = {
    .index = index_groups,
    .size = sizeof(struct tally),
    .add = tally_add,
    .remove = tally_remove,
    .done = tally_done,
};

struct rig {
    struct loop *loop;
    struct api *fake, *api;
    struct cache *cache;
};

static void rig_init(struct rig *r, uint64_t seed, const struct api_faulty_options *o)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_virtual(seed, START)};
    r->fake = api_fake_new(r->loop, USEC_PER_MSEC);
    r->api = api_faulty_new(r->loop, r->fake, o);
    r->cache = cache_new(r->loop, r->api, &(struct cache_options){.kind = CM});
    cache_add_fold(r->cache, &tally_def);
    cache_add_fold(r->cache, &plain_def);
    cache_start(r->cache);
}

static void rig_done(struct rig *r)
{
    cache_free(r->cache);
    api_free(r->api);
    api_free(r->fake);
    loop_free(r->loop);
}

static void run_for(struct rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 1000000));
}

static void put(struct rig *r, const char *name, const char *group, const char *ready, int number)
{
    char text[256];
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"labels\":{\"group\":\"%s\","
             "\"ready\":\"%s\",\"number\":\"%d\"}}}",
             name, group, ready, number);
    api_fake_put(r->fake, CM, text);
}

static const struct tally *ask(const struct rig *r, const char *key)
{
    return cache_fold(r->cache, &tally_def, str_of(key));
}

TEST(fold_follows_changes_of_the_keys_asked_for)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    CHECK(!ask(&r, "a"));
    put(&r, "x", "a", "yes", 0);
    put(&r, "y", "a", "no", 2);
    run_for(&r, USEC_PER_SEC);
    const struct tally *t = ask(&r, "a");
    REQUIRE(t);
    CHECK_INT(t->objects, 2);
    CHECK_INT(t->ready, 1);
    CHECK_INT(slots_free_from(&t->numbers, 0), 1);
    put(&r, "y", "a", "yes", 1);
    put(&r, "z", "b", "yes", 7);
    run_for(&r, USEC_PER_SEC);
    t = ask(&r, "a");
    CHECK_INT(t->ready, 2);
    CHECK_INT(slots_free_from(&t->numbers, 0), 2);
    put(&r, "x", "b", "yes", 0); /* moves */
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(ask(&r, "a")->objects, 1);
    CHECK_INT(ask(&r, "b")->objects, 2);
    api_fake_remove(r.fake, CM, "ns", "y");
    run_for(&r, USEC_PER_SEC);
    CHECK(!ask(&r, "a"));
    rig_done(&r);
}

TEST(fold_added_again_keeps_its_aggregates)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put(&r, "x", "a", "yes", 0);
    run_for(&r, USEC_PER_SEC);
    const struct tally *t = ask(&r, "a");
    REQUIRE(t);
    cache_add_fold(r.cache, &tally_def);
    CHECK(ask(&r, "a") == t);
    CHECK_INT(t->objects, 1);
    rig_done(&r);
}

/* Counted by hand from the objects of the index. */
static void check_key(struct rig *r, const struct cache_fold_def *fold, str key)
{
    struct tally want = {0};
    const struct obj *o;
    for (struct cache_iter it = cache_by(r->cache, index_groups, key); (o = cache_next(&it));)
        tally_add(&want, o);
    const struct tally *have = cache_fold(r->cache, fold, key);
    CHECK((have != NULL) == (want.objects > 0));
    if (have) {
        CHECK_INT(have->objects, want.objects);
        CHECK_INT(have->ready, want.ready);
        CHECK_INT(have->numbers.len, want.numbers.len);
        for (int64_t i = 0; i < 8; i++)
            CHECK_INT(slots_uses(&have->numbers, i), slots_uses(&want.numbers, i));
    }
    tally_done(&want);
}

static void random_change(struct rig *r, struct rng *g)
{
    static const char *const groups[] = {"a", "b", "c", ""};
    char name[16], text[320];
    snprintf(name, sizeof(name), "o%u", (unsigned)rng_below(g, 12));
    if (rng_chance(g, 25) && api_fake_get(r->fake, CM, "ns", name)) {
        api_fake_remove(r->fake, CM, "ns", name);
        return;
    }
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"labels\":{\"group\":\"%s\","
             "\"other\":\"%s\",\"ready\":\"%s\",\"number\":\"%d\"}}}",
             name, groups[rng_below(g, 4)], groups[rng_below(g, 4)], rng_chance(g, 50) ? "yes" : "",
             (int)rng_below(g, 8) - 1);
    api_fake_put(r->fake, CM, text);
}

static void random_history(uint64_t seed)
{
    struct rig r;
    struct rng g;
    rng_seed(&g, seed);
    rig_init(&r, seed, &(struct api_faulty_options){.max_delay = 20 * USEC_PER_MSEC});
    for (int i = 0; i < 150; i++) {
        random_change(&r, &g);
        if (rng_chance(&g, 5))
            api_faulty_break_watches(r.api, rng_chance(&g, 50));
        if (rng_chance(&g, 5))
            cache_drop_folds(r.cache);
        if (rng_chance(&g, 60))
            run_for(&r, (usec)rng_below(&g, 30) * USEC_PER_MSEC);
        static const char *const keys[] = {"a", "b", "c"};
        check_key(&r, &tally_def, str_of(keys[rng_below(&g, 3)]));
        if (rng_chance(&g, 10))
            check_key(&r, &plain_def, str_of(keys[rng_below(&g, 3)]));
    }
    rig_done(&r);
}

TEST(fold_kept_up_equals_fold_made_anew_over_random_histories)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        random_history(seed);
}

TEST(slots_know_holes_and_multiple_uses)
{
    struct slots s = {0};
    CHECK_INT(slots_free_from(&s, 0), 0);
    CHECK_INT(slots_next(&s, 0), -1);
    slots_add(&s, 0);
    slots_add(&s, 1);
    slots_add(&s, 1);
    slots_add(&s, 3);
    slots_add(&s, -1);
    slots_add(&s, (int64_t)1 << 40); /* somebody's joke: no memory for it */
    CHECK_INT(s.len, 3);
    CHECK_INT(slots_free_from(&s, 0), 2);
    CHECK_INT(slots_free_from(&s, 3), 4);
    CHECK_INT(slots_next(&s, 2), 3);
    slots_remove(&s, 1);
    CHECK_INT(slots_free_from(&s, 0), 2);
    slots_remove(&s, 1);
    CHECK_INT(slots_free_from(&s, 0), 1);
    slots_remove(&s, (int64_t)1 << 40);
    CHECK_INT(s.len, 2);
    slots_done(&s);
}
