/* What is given up, held back or shared: the ledger's tickets and refusals, intents, turns between
 * controllers, the pace of a key. */
#include "base/metric.h"
#include "client/api_faulty.h"
#include "client/test-toy.h"

#define CM (&kind_config_map)

/* ---- the ledger ---- */

struct ledger {
    unsigned allowed;
    unsigned asked, refused;
    unsigned most_intended;
};

static bool allow(void *ctx, const struct world *w, const struct plan_write *write,
                  struct strbuf *ret_reason)
{
    struct ledger *l = ctx;
    unsigned intended = 0;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, CM, write->component_uid); (o = cache_next(&it));)
        intended += world_is_intended(w, o->uid);
    l->asked++;
    l->most_intended = MAX(l->most_intended, intended);
    bool ok = intended < l->allowed;
    l->refused += !ok;
    if (!ok)
        strbuf_printf(ret_reason, "%u of %u are going", intended, l->allowed);
    CHECK_INT(world_intended_count(w, write->component_uid), intended);
    return ok;
}

static unsigned count_intended(struct toy_rig *r, const char *parent)
{
    struct world w = {.now = loop_wall(r->loop), .runtime = r->runtime};
    unsigned n = 0;
    struct obj *o = world_get(&w, CM, STR("ns"), str_of(parent)), *child;
    for (struct cache_iter it = world_owned(&w, CM, o->uid); (child = cache_next(&it));)
        n += world_is_intended(&w, child->uid);
    return n;
}

TEST(controller_books_deletes_when_it_accepts_and_refuses_what_does_not_fit)
{
    struct toy_rig r;
    struct ledger l = {.allowed = 2};
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 6);
    toy_rig_start(&r, 0);
    runtime_set_ledger(r.runtime, allow, &l);
    toy_run_for(&r, USEC_PER_SEC);
    toy_put_parent(r.fake, "p", 0);
    while (!l.asked)
        toy_run_for(&r, 10);
    CHECK_INT(l.asked, 6);
    CHECK_INT(l.refused, 4);
    CHECK_INT(count_intended(&r, "p"), 2);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    CHECK_INT(l.most_intended, 2);
    CHECK_INT(count_intended(&r, "p"), 0);
    toy_rig_done(&r);
}

TEST(controller_says_on_the_object_what_the_ledger_refused_and_why)
{
    struct toy_rig r;
    struct ledger l = {.allowed = 0};
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 2);
    toy_rig_start(&r, 0);
    runtime_set_ledger(r.runtime, allow, &l);
    toy_run_for(&r, USEC_PER_SEC);
    toy_put_parent(r.fake, "p", 1);
    toy_run_for(&r, USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    /* One event, however often it was refused; and that is less and less often. */
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    CHECK(l.refused >= 6 && l.refused <= 20);
    CHECK_INT(controller_stats(r.controller).failures, 0);
    CHECK_INT(controller_stats(r.controller).refusals, l.refused);
    CHECK(runtime_is_idle(r.runtime));
    const struct obj *e = api_fake_any(r.fake, &kind_event);
    REQUIRE(e);
    CHECK_CSTR(jstr(jgetc(obj_root(e), "type")), "Normal");
    CHECK_CSTR(jstr(jgetc(obj_root(e), "reason")), "DisruptionRefused");
    CHECK_CSTR(jstr(jgetc(obj_root(e), "message")), "0 of 0 are going");
    CHECK_CSTR(jstr(jpath(obj_root(e), "involvedObject.name")), "p");
    toy_rig_done(&r);
}

TEST(controller_looks_at_once_again_when_something_changes_after_a_refusal)
{
    struct toy_rig r;
    struct ledger l = {.allowed = 0};
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 2);
    toy_rig_start(&r, 0);
    runtime_set_ledger(r.runtime, allow, &l);
    toy_run_for(&r, USEC_PER_SEC);
    toy_put_parent(r.fake, "p", 1);
    toy_run_for(&r, USEC_PER_MIN); /* pauses are seconds by now */
    l.allowed = 1;
    api_fake_put(r.fake, CM,
                 "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
                 "\"labels\":{\"state\":\"better\"}}}");
    toy_run_for(&r, 20 * USEC_PER_MSEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    toy_rig_done(&r);
}

TEST(controller_never_refuses_a_users_scale_in_nor_what_does_not_serve)
{
    for (int serving = 0; serving < 2; serving++) {
        struct toy_rig r;
        struct ledger l = {.allowed = 0};
        toy_rig_init(&r, 1, NULL);
        toy_put_parent(r.fake, "p", 3);
        r.toy.user_scale_in = serving;
        r.toy.not_serving = !serving;
        toy_rig_start(&r, 0);
        runtime_set_ledger(r.runtime, allow, &l);
        toy_run_for(&r, USEC_PER_SEC);
        toy_put_parent(r.fake, "p", 0);
        struct world w = {.runtime = r.runtime};
        while (count_intended(&r, "p") < 3)
            toy_run_for(&r, 10);
        /* What does not serve is not in the count of what serves. */
        str uid = world_get(&w, CM, STR("ns"), STR("p"))->uid;
        CHECK_INT(world_intended_count(&w, uid), serving ? 3 : 0);
        toy_run_for(&r, USEC_PER_SEC);
        CHECK_INT(l.asked, 0);
        CHECK_INT(api_fake_count(r.fake, CM), 1);
        CHECK_INT(world_intended_count(&w, uid), 0);
        toy_rig_done(&r);
    }
}

/* ---- between controllers ---- */

static void idle_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    (void)w;
    (void)key;
    (void)p;
    ++*(unsigned *)ctx;
}

/* One has a thousand keys, the other one: it is looked at in the first turn, not after them. */
TEST(controller_with_many_keys_does_not_hold_up_another)
{
    struct toy_rig r;
    unsigned many = 0, few = 0;
    toy_rig_init(&r, 1, NULL);
    r.runtime = runtime_new(r.loop, r.api);
    struct controller_def def = {.name = "many", .plan = idle_plan, .ctx = &many};
    struct controller *a = runtime_add(r.runtime, &def, r.api);
    def.name = "few";
    def.ctx = &few;
    struct controller *b = runtime_add(r.runtime, &def, r.api);
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        controller_enqueue(a, CM, STR("ns"), str_of(name));
    }
    controller_enqueue(b, CM, STR("ns"), STR("only"));
    runtime_start(r.runtime);
    unsigned before = 0;
    for (int i = 0; i < 1000 && !few; i++) {
        before = many;
        (void)loop_run_until(r.loop, loop_now(r.loop) + 1, 1); /* one turn */
    }
    CHECK_INT(few, 1);
    CHECK(before < 64);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(many, 1000);
    toy_rig_done(&r);
}

TEST(controller_figures_are_in_the_metrics)
{
    struct toy_rig r;
    struct strbuf b = STRBUF_INIT(1 << 20);
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 2);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    metric_write(&b);
    str text = strbuf_str(&b);
    CHECK(str_find(text, STR("workqueue_depth{name=\"toy\"} 0\n")) >= 0);
    CHECK(str_find(text, STR("workqueue_queue_duration_seconds_count{name=\"toy\"} ")) >= 0);
    CHECK(str_find(text, STR("workqueue_adds_total{name=\"toy\"} ")) >= 0);
    CHECK(str_find(text, STR("grove_controller_plans_total{name=\"toy\"} ")) >= 0);
    CHECK(str_find(text, STR("grove_controller_writes_total{name=\"toy\"} ")) >= 0);
    strbuf_done(&b);
    toy_rig_done(&r);
}

/* ---- pace ---- */

static void touch_child(struct toy_rig *r, int i)
{
    char text[160];
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
             "\"labels\":{\"n\":\"%d\"}}}",
             i);
    api_fake_put(r->fake, CM, text);
}

TEST(controller_with_an_interval_plans_a_key_once_in_it_and_never_misses_the_last_change)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    r.toy.min_interval = 100 * USEC_PER_MSEC;
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    unsigned before = r.toy.plans;
    /* At once when it was idle (the child is a key of its own, planned too). */
    touch_child(&r, 0);
    toy_run_for(&r, 5 * USEC_PER_MSEC);
    CHECK_INT(r.toy.plans, before + 2);
    for (int i = 1; i <= 1000; i++) {
        touch_child(&r, i);
        toy_run_for(&r, USEC_PER_MSEC);
    }
    unsigned during = r.toy.plans - before;
    CHECK(during >= 2 * 9 && during <= 2 * 12);
    CHECK(!runtime_is_idle(r.runtime));
    toy_run_for(&r, 100 * USEC_PER_MSEC);
    CHECK(r.toy.plans - before > during);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

TEST(controller_with_an_interval_sees_a_change_of_its_own_object_at_once)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    r.toy.min_interval = 10 * USEC_PER_SEC;
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_MIN);
    touch_child(&r, 0);
    toy_run_for(&r, 20 * USEC_PER_MSEC);
    toy_put_parent(r.fake, "p", 3);
    toy_run_for(&r, 50 * USEC_PER_MSEC);
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    toy_rig_done(&r);
}

TEST(controller_intent_ends_when_the_delete_failed)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 3);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_refuse(r.fake, API_DELETE, 1000000, 403);
    toy_put_parent(r.fake, "p", 0);
    while (!api_fake_stats(r.fake).sent[API_DELETE])
        toy_run_for(&r, 10);
    toy_run_for(&r, 3 * USEC_PER_MSEC);
    CHECK_INT(count_intended(&r, "p"), 0);
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    toy_rig_done(&r);
}

TEST(controller_delete_of_what_is_gone_succeeds)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_hold_watches(r.fake, true);
    api_fake_remove(r.fake, CM, "ns", "p-uid-00000001-0");
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 1);
    CHECK(!cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("p-uid-00000001-0")));
    CHECK_INT(controller_stats(r.controller).failures, 0);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "0");
    toy_rig_done(&r);
}

TEST(controller_delete_seen_in_the_cache_is_no_longer_intended)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, CM,
                 "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
                 "\"finalizers\":[\"x/y\"]}}");
    toy_run_for(&r, USEC_PER_SEC);
    /* Answers are slow, events are not: the deletion is seen before its answer. */
    api_faulty_set(r.api, &(struct api_faulty_options){.max_delay = USEC_PER_SEC});
    toy_put_parent(r.fake, "p", 0);
    const struct cache *c = runtime_cache(r.runtime, CM);
    bool before = false, after = false;
    for (int i = 0; i < 20000; i++) {
        toy_run_for(&r, 100);
        if (!controller_stats(r.controller).in_flight)
            continue;
        bool deleting = cache_get(c, STR("ns"), STR("p-uid-00000001-0"))->deleting;
        before |= !deleting && count_intended(&r, "p") == 1;
        after |= deleting;
        CHECK_INT(count_intended(&r, "p"), deleting ? 0 : 1);
        if (after)
            break;
    }
    CHECK(before);
    CHECK(after);
    toy_rig_done(&r);
}

TEST(controller_delete_that_waits_for_a_finalizer_shows_as_deleting)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, CM,
                 "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
                 "\"finalizers\":[\"x/y\"]}}");
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_hold_watches(r.fake, true);
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    toy_run_for(&r, USEC_PER_SEC);
    struct obj *o = cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("p-uid-00000001-0"));
    REQUIRE(o);
    CHECK(o->deleting);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 1);
    toy_rig_done(&r);
}
