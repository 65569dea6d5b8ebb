/* The whole ring over the fake API with the toy planner of test-toy.h. */
#include "base/log.h"
#include "base/test.h"
#include "client/api_fake.h"
#include "client/api_faulty.h"
#include "client/controller.h"
#include "client/test-toy.h"

#define START (1767225600 * USEC_PER_SEC)
#define CM (&kind_config_map)

struct rig {
    struct loop *loop;
    struct api *fake, *api;
    struct runtime *runtime;
    struct controller *controller;
    struct toy toy;
    struct strbuf journal;
};

static void on_journal(void *ctx, str line)
{
    struct rig *r = ctx;
    strbuf_add_str(&r->journal, line);
    strbuf_add_char(&r->journal, '\n');
}

static void rig_start(struct rig *r, unsigned max_in_flight)
{
    struct controller_def def = toy_def(&r->toy, max_in_flight);
    r->runtime = runtime_new(r->loop, r->api);
    r->controller = runtime_add(r->runtime, &def, r->api);
    runtime_set_journal(r->runtime, on_journal, r);
    runtime_start(r->runtime);
}

static void rig_init(struct rig *r, uint64_t seed, const struct api_faulty_options *o)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_virtual(seed, START), .journal = STRBUF_INIT(1 << 24)};
    r->fake = api_fake_new(r->loop, USEC_PER_MSEC);
    r->api = api_faulty_new(r->loop, r->fake, o);
}

static void rig_done(struct rig *r)
{
    runtime_free(r->runtime);
    api_free(r->api);
    api_free(r->fake);
    loop_free(r->loop);
    strbuf_done(&r->journal);
}

static void run_for(struct rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 10000000));
}

static void put_parent(struct rig *r, const char *name, int children)
{
    toy_put_parent(r->fake, name, children);
}

static const char *annotation(struct rig *r, const char *name)
{
    return toy_count_written(r->fake, name);
}

/* ---- without faults ---- */

TEST(controller_converges_and_rests)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 3);
    rig_start(&r, 0);
    CHECK(!runtime_is_idle(r.runtime));
    run_for(&r, USEC_PER_SEC);
    CHECK(runtime_is_synced(r.runtime));
    CHECK(runtime_is_idle(r.runtime));
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    CHECK_CSTR(str_of(annotation(&r, "p")), "3");
    CHECK_INT(loop_next_due(r.loop), -1);
    put_parent(&r, "p", 1);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    CHECK_CSTR(str_of(annotation(&r, "p")), "1");
    CHECK_INT(controller_stats(r.controller).failures, 0);
    rig_done(&r);
}

TEST(controller_journal_has_one_line_per_plan_with_writes)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 2);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    str line = strbuf_str(&r.journal);
    CHECK(str_starts(line, STR("1.0"))); /* virtual time starts at 1 s */
    str_cut(&line, ' ');
    str first = str_cut(&line, '\n');
    CHECK_CSTR(first, "toy ns/p: create ConfigMap ns/p-uid-00000001-0; "
                      "create ConfigMap ns/p-uid-00000001-1; patch ConfigMap ns/p");
    rig_done(&r);
}

TEST(controller_plans_nothing_before_every_cache_is_synced)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    api_fake_set_classic(r.fake, true);
    api_fake_refuse(r.fake, API_LIST, 3, 500);
    rig_start(&r, 0);
    while (!runtime_is_synced(r.runtime)) {
        CHECK_INT(r.toy.plans, 0);
        run_for(&r, USEC_PER_MSEC);
    }
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    rig_done(&r);
}

TEST(controller_relist_that_changes_nothing_calls_no_planner)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%d", i);
        put_parent(&r, name, 4);
    }
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    unsigned plans = r.toy.plans;
    for (int i = 0; i < 3; i++) {
        api_faulty_break_watches(r.api, true);
        run_for(&r, USEC_PER_MIN);
    }
    CHECK_INT(cache_stats(runtime_cache(r.runtime, CM)).lists, 4);
    CHECK_INT(r.toy.plans, plans);
    rig_done(&r);
}

TEST(controller_sees_its_own_writes_before_it_plans_again)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 5);
    rig_start(&r, 0);
    while (!runtime_is_synced(r.runtime))
        run_for(&r, USEC_PER_MSEC);
    /* No watch event arrives any more; what the plans see are the answers. */
    api_fake_hold_watches(r.fake, true);
    put_parent(&r, "q", 2);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 7);
    CHECK_CSTR(str_of(annotation(&r, "p")), "5");
    CHECK_INT(api_fake_stats(r.fake).exists, 0);
    CHECK_INT(api_fake_stats(r.fake).conflicts, 0);
    CHECK_INT(controller_stats(r.controller).failures, 0);
    api_fake_hold_watches(r.fake, false);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 9);
    rig_done(&r);
}

/* ---- limits ---- */

struct ramp {
    struct rig *rig;
    unsigned arrived;
    unsigned most[8]; /* in flight at most until the n-th arrived */
};

static void on_ramp_write(void *ctx, const struct api_request *req)
{
    struct ramp *p = ctx;
    if (p->arrived < ARRAY_LEN(p->most))
        p->most[p->arrived++] = api_fake_stats(p->rig->fake).max_in_flight;
}

TEST(controller_creates_ramp_up_and_stay_below_half_of_the_slots)
{
    struct rig r;
    struct ramp p = {.rig = &r};
    rig_init(&r, 1, NULL);
    api_fake_on_write(r.fake, on_ramp_write, &p);
    put_parent(&r, "p", 40);
    rig_start(&r, 8);
    run_for(&r, USEC_PER_SEC);
    /* The first alone, then two, then as many as one key may have. */
    CHECK_INT(p.most[0], 1);
    CHECK_INT(p.most[1], 2);
    CHECK(p.most[3] > 2);
    CHECK_INT(api_fake_count(r.fake, CM), 41);
    CHECK_INT(api_fake_stats(r.fake).max_in_flight, 4);
    rig_done(&r);
}

TEST(controller_in_flight_writes_are_bounded)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    for (int i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%d", i);
        put_parent(&r, name, 10);
    }
    rig_start(&r, 6);
    run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 220);
    CHECK_INT(api_fake_stats(r.fake).max_in_flight, 6);
    rig_done(&r);
}

TEST(controller_refused_creates_stop_and_back_off)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 100);
    api_fake_refuse(r.fake, API_CREATE, 1000000, 403);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    /* One create per try; tries at 5, 10, 20, ... ms fit at most nine times into a second. */
    uint64_t sent = api_fake_stats(r.fake).sent[API_CREATE];
    CHECK(sent >= 7);
    CHECK(sent <= 10);
    CHECK_INT(api_fake_stats(r.fake).sent[API_PATCH], 0); /* the next stage did not start */
    api_fake_refuse(r.fake, API_CREATE, 0, 0);
    run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 101);
    rig_done(&r);
}

TEST(controller_throttling_waits_as_told)
{
    struct rig r;
    rig_init(&r, 1, &(struct api_faulty_options){.throttle = 100});
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, 10 * USEC_PER_SEC);
    /* Retry-After is one second; the back-off is shorter than that until the eighth failure. */
    CHECK(controller_stats(r.controller).writes <= 11);
    CHECK(controller_stats(r.controller).writes >= 8);
    api_faulty_set(r.api, NULL);
    run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    rig_done(&r);
}

TEST(controller_429_halves_the_window_and_success_brings_it_back)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 8);
    api_fake_refuse(r.fake, API_CREATE, 2, 429);
    while (api_fake_stats(r.fake).sent[API_CREATE] < 3)
        run_for(&r, 10);
    CHECK_INT(controller_stats(r.controller).window, 2);
    put_parent(&r, "p", 60);
    run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(controller_stats(r.controller).window, 8);
    rig_done(&r);
}

TEST(controller_failure_of_one_write_does_not_fail_the_others_of_its_stage)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 4);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    put_parent(&r, "p", 0);
    api_fake_refuse(r.fake, API_DELETE, 1, 400);
    while (!api_fake_stats(r.fake).sent[API_DELETE])
        run_for(&r, 10);
    run_for(&r, 4 * USEC_PER_MSEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    CHECK_CSTR(str_of(annotation(&r, "p")), "4");
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    CHECK_CSTR(str_of(annotation(&r, "p")), "0");
    rig_done(&r);
}

TEST(controller_count_only_writes_come_at_most_every_100_ms_and_the_last_is_kept)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    r.toy.counts_only = true;
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    uint64_t before = api_fake_stats(r.fake).sent[API_PATCH];
    for (int i = 2; i <= 21; i++) {
        put_parent(&r, "p", i);
        run_for(&r, 20 * USEC_PER_MSEC);
    }
    uint64_t patches = api_fake_stats(r.fake).sent[API_PATCH] - before;
    CHECK(patches >= 3);
    CHECK(patches <= 5);
    run_for(&r, USEC_PER_SEC);
    CHECK_CSTR(str_of(annotation(&r, "p")), "21");
    rig_done(&r);
}

/* ---- dropping ---- */

TEST(controller_generation_change_drops_what_was_not_sent)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 100);
    rig_start(&r, 4);
    while (api_fake_stats(r.fake).created < 6)
        run_for(&r, 10);
    put_parent(&r, "p", 2);
    run_for(&r, USEC_PER_SEC);
    CHECK(api_fake_stats(r.fake).created < 20);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    CHECK_INT(controller_stats(r.controller).failures, 0);
    rig_done(&r);
}

TEST(controller_deletion_of_the_object_drops_what_was_not_sent)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 100);
    rig_start(&r, 4);
    while (api_fake_stats(r.fake).created < 6)
        run_for(&r, 10);
    api_fake_remove(r.fake, CM, "ns", "p");
    run_for(&r, USEC_PER_SEC);
    /* The event waits behind those of the children, a millisecond each. */
    CHECK(api_fake_stats(r.fake).created < 50);
    CHECK(runtime_is_idle(r.runtime));
    rig_done(&r);
}

TEST(controller_spec_change_ends_a_back_off)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    api_fake_refuse(r.fake, API_CREATE, 1000000, 422);
    rig_start(&r, 0);
    run_for(&r, 5 * USEC_PER_MIN); /* the back-off is 30 s by now */
    api_fake_refuse(r.fake, API_CREATE, 0, 0);
    put_parent(&r, "p", 2);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    rig_done(&r);
}

/* ---- verification ---- */

TEST(controller_verify_absent_asks_before_it_destroys)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    r.toy.verify = "guard";
    put_parent(&r, "p", 2);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    /* The guard exists, but the cache does not know. */
    api_fake_hold_watches(r.fake, true);
    put_parent(&r, "guard", 0);
    char text[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}";
    api_fake_put(r.fake, CM, text);
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 0);
    CHECK(cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("guard")));
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    /* Without it the deletes go through. */
    api_fake_remove(r.fake, CM, "ns", "guard");
    run_for(&r, 2 * USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    rig_done(&r);
}

TEST(controller_already_exists_is_fetched_and_planned_anew)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    /* Somebody made the child we are about to make, and the watch does not say so. */
    api_fake_hold_watches(r.fake, true);
    api_fake_put(r.fake, CM, "{\"metadata\":{\"name\":\"p-uid-00000001-1\",\"namespace\":\"ns\"}}");
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"2\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).exists, 1);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    CHECK(runtime_is_idle(r.runtime));
    rig_done(&r);
}

/* ---- the ledger ---- */

struct ledger {
    unsigned allowed;
    unsigned asked, refused;
    unsigned most_intended;
};

static bool allow(void *ctx, const struct world *w, const struct plan_write *write)
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
    return ok;
}

static unsigned count_intended(struct rig *r, const char *parent)
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
    struct rig r;
    struct ledger l = {.allowed = 2};
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 6);
    rig_start(&r, 0);
    runtime_set_ledger(r.runtime, allow, &l);
    run_for(&r, USEC_PER_SEC);
    put_parent(&r, "p", 0);
    while (!l.asked)
        run_for(&r, 10);
    CHECK_INT(l.asked, 6);
    CHECK_INT(l.refused, 4);
    CHECK_INT(count_intended(&r, "p"), 2);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    CHECK_INT(l.most_intended, 2);
    CHECK_INT(count_intended(&r, "p"), 0);
    rig_done(&r);
}

TEST(controller_intent_ends_when_the_delete_failed)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 3);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    api_fake_refuse(r.fake, API_DELETE, 1000000, 403);
    put_parent(&r, "p", 0);
    while (!api_fake_stats(r.fake).sent[API_DELETE])
        run_for(&r, 10);
    run_for(&r, 3 * USEC_PER_MSEC);
    CHECK_INT(count_intended(&r, "p"), 0);
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    rig_done(&r);
}

TEST(controller_delete_of_what_is_gone_succeeds)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    api_fake_hold_watches(r.fake, true);
    api_fake_remove(r.fake, CM, "ns", "p-uid-00000001-0");
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 1);
    CHECK(!cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("p-uid-00000001-0")));
    CHECK_INT(controller_stats(r.controller).failures, 0);
    CHECK_CSTR(str_of(annotation(&r, "p")), "0");
    rig_done(&r);
}

TEST(controller_delete_seen_in_the_cache_is_no_longer_intended)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, CM,
                 "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
                 "\"finalizers\":[\"x/y\"]}}");
    run_for(&r, USEC_PER_SEC);
    /* Answers are slow, events are not: the deletion is seen before its answer. */
    api_faulty_set(r.api, &(struct api_faulty_options){.max_delay = USEC_PER_SEC});
    put_parent(&r, "p", 0);
    const struct cache *c = runtime_cache(r.runtime, CM);
    bool before = false, after = false;
    for (int i = 0; i < 20000; i++) {
        run_for(&r, 100);
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
    rig_done(&r);
}

TEST(controller_delete_that_waits_for_a_finalizer_shows_as_deleting)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, CM,
                 "{\"metadata\":{\"name\":\"p-uid-00000001-0\",\"namespace\":\"ns\","
                 "\"finalizers\":[\"x/y\"]}}");
    run_for(&r, USEC_PER_SEC);
    api_fake_hold_watches(r.fake, true);
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    run_for(&r, USEC_PER_SEC);
    struct obj *o = cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("p-uid-00000001-0"));
    REQUIRE(o);
    CHECK(o->deleting);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 1);
    rig_done(&r);
}

/* ---- events and due times ---- */

TEST(controller_events_are_counted_under_one_name)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    r.toy.event = true;
    r.toy.look_after = 5 * USEC_PER_SEC;
    put_parent(&r, "p", 0);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    run_for(&r, 10 * USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    /* Reported at once and then once a minute. */
    uint64_t sent = api_fake_stats(r.fake).sent[API_PATCH];
    CHECK(sent >= 9);
    CHECK(sent <= 12);
    /* A restarted controller finds the event of its predecessor and goes on counting. */
    sent = api_fake_stats(r.fake).sent[API_PATCH];
    runtime_free(r.runtime);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    CHECK_INT(api_fake_stats(r.fake).exists, 1);
    CHECK_INT(api_fake_stats(r.fake).sent[API_PATCH], sent + 1);
    rig_done(&r);
}

TEST(controller_events_come_after_the_writes_succeeded)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    put_parent(&r, "p", 1);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    r.toy.event = true;
    api_fake_refuse(r.fake, API_DELETE, 1000000, 403);
    put_parent(&r, "p", 0);
    run_for(&r, USEC_PER_SEC);
    CHECK(api_fake_stats(r.fake).sent[API_DELETE] > 1);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 0);
    api_fake_refuse(r.fake, API_DELETE, 0, 0);
    run_for(&r, USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    rig_done(&r);
}

static void bind_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct obj *pod = world_get(w, key->kind, key->ns, key->name);
    if (pod && !jstr(jgetc(obj_spec(pod), "nodeName")).len)
        plan_bind(p, 0, pod, STR("n1"));
}

TEST(controller_binding_is_seen_though_its_answer_does_not_show_it)
{
    struct rig r;
    static const struct controller_watch watches[] = {{&kind_pod, map_self}};
    struct controller_def def = {"binder", bind_plan, NULL, watches, 1, 0};
    rig_init(&r, 1, NULL);
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, &kind_pod,
                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{}}");
    while (!controller_stats(r.controller).in_flight)
        run_for(&r, 10);
    api_fake_hold_watches(r.fake, true);
    run_for(&r, USEC_PER_SEC);
    struct obj *pod = cache_get(runtime_cache(r.runtime, &kind_pod), STR("ns"), STR("p"));
    REQUIRE(pod);
    CHECK_CSTR(jstr(jgetc(obj_spec(pod), "nodeName")), "n1");
    CHECK_INT(api_fake_stats(r.fake).sent[API_CREATE], 1);
    CHECK(runtime_is_idle(r.runtime));
    rig_done(&r);
}

TEST(controller_looks_again_when_the_plan_says_so)
{
    struct rig r;
    rig_init(&r, 1, NULL);
    r.toy.look_after = USEC_PER_MIN;
    put_parent(&r, "p", 0);
    rig_start(&r, 0);
    run_for(&r, USEC_PER_SEC);
    unsigned plans = r.toy.plans;
    run_for(&r, 58 * USEC_PER_SEC);
    CHECK_INT(r.toy.plans, plans);
    CHECK(runtime_is_idle(r.runtime));
    run_for(&r, 2 * USEC_PER_SEC);
    CHECK_INT(r.toy.plans, plans + 1);
    run_for(&r, 10 * USEC_PER_MIN);
    CHECK_INT(r.toy.plans, plans + 11);
    rig_done(&r);
}

/* ---- every fault ---- */

static const struct {
    const char *name;
    struct api_faulty_options o;
} faults[] = {
    {"lag", {.max_delay = 20000, .max_lag = 500000}},
    {"lost replies", {.max_delay = 5000, .max_lag = 200000, .lost_reply = 30}},
    {"dropped requests", {.max_delay = 5000, .max_lag = 50000, .drop = 30}},
    {"late writes", {.max_delay = 5000, .max_lag = 200000, .late = 20, .timeout = 3000000}},
    {"conflicts", {.max_delay = 5000, .max_lag = 50000, .conflict = 30}},
    {"errors", {.max_delay = 5000, .max_lag = 50000, .error = 20, .gateway = 20}},
    {"throttling", {.max_delay = 5000, .max_lag = 50000, .throttle = 20}},
    {"watch ends", {.max_delay = 5000, .max_lag = 100000, .watch_end = 100}},
    {"expired", {.max_delay = 5000, .max_lag = 100000, .watch_expired = 50}},
    {"classic",
     {.max_delay = 5000, .max_lag = 100000, .watch_expired = 50, .refuse_watch_list = true}},
    {"everything",
     {.max_delay = 20000,
      .max_lag = 300000,
      .drop = 5,
      .error = 5,
      .gateway = 5,
      .lost_reply = 10,
      .late = 5,
      .conflict = 5,
      .throttle = 5,
      .watch_end = 30,
      .watch_expired = 10}},
};

#define OBJECTS 25
#define CHILDREN 3 /* each: with its parent, a hundred objects */

static void parent_name(char *buf, size_t size, int i)
{
    snprintf(buf, size, "p%02d", i);
}

/* One run: faults for a minute, then none until it has converged. */
static void run_faulty(struct rig *r, int parents)
{
    char name[16];
    for (int i = 0; i < parents; i++) {
        parent_name(name, sizeof(name), i);
        put_parent(r, name, CHILDREN);
    }
    rig_start(r, 8);
    run_for(r, USEC_PER_MIN);
    api_faulty_set(r->api, NULL);
    run_for(r, 3 * USEC_PER_MIN);
}

static bool is_exact(struct rig *r, int parents)
{
    char name[16];
    size_t objects = (size_t)parents * (CHILDREN + 1);
    for (int i = 0; i < parents; i++) {
        parent_name(name, sizeof(name), i);
        if (!str_is(str_of(annotation(r, name)), "3"))
            return false;
        for (int k = 0; k < CHILDREN; k++) {
            if (toy_times_created(r->fake, name, k) != 1)
                return false;
        }
    }
    return api_fake_stats(r->fake).created == objects && api_fake_count(r->fake, CM) == objects &&
           runtime_is_idle(r->runtime);
}

TEST(controller_exactly_one_create_per_child_under_every_fault)
{
    size_t seeds = test_cases(200);
    uint64_t injected = 0;
    for (size_t i = 0; i < seeds; i++) {
        size_t f = i % ARRAY_LEN(faults);
        uint64_t seed = rng_u64(test_rng());
        struct rig r;
        rig_init(&r, seed, &faults[f].o);
        run_faulty(&r, OBJECTS);
        if (!CHECK(is_exact(&r, OBJECTS)))
            test_note("fault \"%s\", seed %llu", faults[f].name, (unsigned long long)seed);
        /* A write that is done late may come after the live GET that found nothing; any other
         * second attempt would mean that the key was planned without looking. */
        if (!faults[f].o.late)
            CHECK_INT(api_fake_stats(r.fake).exists, 0);
        struct api_faulty_stats s = api_faulty_stats(r.api);
        injected += s.request_faults + s.watch_faults;
        rig_done(&r);
    }
    CHECK(injected > seeds * 10);
    test_note("%zu runs, %llu faults", seeds, (unsigned long long)injected);
}

TEST(controller_exactly_one_create_per_child_among_thousands)
{
    int parents = (int)MIN(test_cases(250), 2500); /* 1,000 objects, at most 10,000 */
    for (size_t i = 0; i < 3; i++) {
        uint64_t seed = rng_u64(test_rng());
        struct rig r;
        rig_init(&r, seed, &faults[ARRAY_LEN(faults) - 1].o);
        run_faulty(&r, parents);
        /* Eight writes at a time through a bad network take their time. */
        run_for(&r, 30 * USEC_PER_MIN);
        if (!CHECK(is_exact(&r, parents)))
            test_note("seed %llu", (unsigned long long)seed);
        rig_done(&r);
    }
    test_note("3 runs of %d objects", parents * (CHILDREN + 1));
}

/* A process that dies leaves its writes under way; its successor knows nothing of them. */
TEST(controller_restart_creates_nothing_twice)
{
    size_t seeds = test_cases(22);
    for (size_t i = 0; i < seeds; i++) {
        struct rig r;
        uint64_t seed = rng_u64(test_rng());
        rig_init(&r, seed, &faults[i % ARRAY_LEN(faults)].o);
        for (int p = 0; p < 10; p++) {
            char name[8];
            parent_name(name, sizeof(name), p);
            put_parent(&r, name, 5);
        }
        for (int restart = 0; restart < 20; restart++) {
            rig_start(&r, 4);
            run_for(&r, (usec)(loop_random_u64(r.loop) % 500000));
            runtime_free(r.runtime);
        }
        api_faulty_set(r.api, NULL);
        rig_start(&r, 4);
        run_for(&r, USEC_PER_MIN);
        if (!CHECK_INT(api_fake_stats(r.fake).created, 60))
            test_note("seed %llu", (unsigned long long)seed);
        CHECK_INT(api_fake_count(r.fake, CM), 60);
        rig_done(&r);
    }
}

TEST(controller_scaling_under_faults_ends_at_what_was_asked_last)
{
    size_t seeds = test_cases(40);
    for (size_t i = 0; i < seeds; i++) {
        uint64_t seed = rng_u64(test_rng());
        struct rig r;
        rig_init(&r, seed, &faults[ARRAY_LEN(faults) - 1].o);
        put_parent(&r, "p", 5);
        put_parent(&r, "q", 5);
        rig_start(&r, 8);
        for (int step = 0; step < 20; step++) {
            run_for(&r, (usec)rng_below(test_rng(), USEC_PER_SEC));
            put_parent(&r, step % 2 ? "p" : "q", (int)rng_below(test_rng(), 10));
        }
        put_parent(&r, "p", 7);
        put_parent(&r, "q", 4);
        run_for(&r, USEC_PER_MIN);
        api_faulty_set(r.api, NULL);
        run_for(&r, 3 * USEC_PER_MIN);
        if (!CHECK_INT(api_fake_count(r.fake, CM), 13))
            test_note("seed %llu", (unsigned long long)seed);
        CHECK_CSTR(str_of(annotation(&r, "p")), "7");
        CHECK_CSTR(str_of(annotation(&r, "q")), "4");
        CHECK(runtime_is_idle(r.runtime));
        rig_done(&r);
    }
}

TEST(controller_same_seed_same_journal)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rig a, b;
        const struct api_faulty_options *o = &faults[ARRAY_LEN(faults) - 1].o;
        rig_init(&a, seed, o);
        run_faulty(&a, OBJECTS);
        rig_init(&b, seed, o);
        run_faulty(&b, OBJECTS);
        CHECK(a.journal.len > 1000);
        CHECK(str_eq(strbuf_str(&a.journal), strbuf_str(&b.journal)));
        CHECK_INT(loop_iterations(a.loop), loop_iterations(b.loop));
        rig_done(&a);
        rig_done(&b);
    }
}
