/* The whole ring over the fake API with the toy planner of test-toy.h. */
#include "base/test.h"
#include "client/api_faulty.h"
#include "client/controller.h"
#include "client/test-api-fake.h"
#include "client/test-toy.h"

#define CM (&kind_config_map)

/* ---- without faults ---- */

TEST(controller_converges_and_rests)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 3);
    toy_rig_start(&r, 0);
    CHECK(!runtime_is_idle(r.runtime));
    toy_run_for(&r, USEC_PER_SEC);
    CHECK(runtime_is_synced(r.runtime));
    CHECK(runtime_is_idle(r.runtime));
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "3");
    CHECK_INT(loop_next_due(r.loop), -1);
    toy_put_parent(r.fake, "p", 1);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "1");
    CHECK_INT(controller_stats(r.controller).failures, 0);
    toy_rig_done(&r);
}

TEST(controller_journal_has_one_line_per_plan_with_writes)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 2);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    str line = strbuf_str(&r.journal);
    CHECK(str_starts(line, STR("1.0"))); /* virtual time starts at 1 s */
    str_cut(&line, ' ');
    str first = str_cut(&line, '\n');
    CHECK_CSTR(first, "toy ns/p: create ConfigMap ns/p-uid-00000001-0; "
                      "create ConfigMap ns/p-uid-00000001-1; patch ConfigMap ns/p");
    toy_rig_done(&r);
}

/* Asks for one act about each object, as a node's driver is asked. */
static unsigned acts_done;

static void plan_an_act(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    if (world_get(w, CM, key->ns, key->name) && acts_done == 0)
        plan_act(p, ctx, sizeof(int), "do %d", *(int *)ctx);
}

static void act_once(void *ctx, const struct world *w, const struct key *key,
                     const struct plan_act *a)
{
    (void)ctx;
    CHECK(world_get(w, CM, key->ns, key->name) != NULL);
    CHECK_CSTR(a->what, "do 42");
    CHECK_INT(*(const int *)a->data, 42);
    acts_done++;
}

TEST(controller_hands_acts_to_who_does_them)
{
    static int number = 42;
    static const struct controller_watch watches[] = {{&kind_config_map, map_self}};
    struct controller_def def = {.name = "actor",
                                 .plan = plan_an_act,
                                 .act = act_once,
                                 .ctx = &number,
                                 .watches = watches,
                                 .n_watches = 1};
    struct toy_rig r;
    acts_done = 0;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 0);
    struct runtime *own = runtime_new(r.loop, r.api);
    (void)runtime_add(own, &def, r.api);
    runtime_start(own);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(acts_done, 1);
    runtime_free(own);
    toy_rig_done(&r);
}

TEST(controller_plans_nothing_before_every_cache_is_synced)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    api_fake_set_classic(r.fake, true);
    api_fake_refuse(r.fake, API_LIST, 3, 500);
    toy_rig_start(&r, 0);
    while (!runtime_is_synced(r.runtime)) {
        CHECK_INT(r.toy.plans, 0);
        toy_run_for(&r, USEC_PER_MSEC);
    }
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    toy_rig_done(&r);
}

TEST(controller_relist_that_changes_nothing_calls_no_planner)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    for (int i = 0; i < 5; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%d", i);
        toy_put_parent(r.fake, name, 4);
    }
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    unsigned plans = r.toy.plans;
    for (int i = 0; i < 3; i++) {
        api_faulty_break_watches(r.api, true);
        toy_run_for(&r, USEC_PER_MIN);
    }
    CHECK_INT(cache_stats(runtime_cache(r.runtime, CM)).lists, 4);
    CHECK_INT(r.toy.plans, plans);
    toy_rig_done(&r);
}

TEST(controller_replan_plans_every_key_once_more_and_nothing_is_left_to_write)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 2);
    toy_put_parent(r.fake, "q", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    unsigned plans = r.toy.plans;
    size_t journal = strbuf_str(&r.journal).len;
    runtime_replan(r.runtime, true);
    CHECK(!runtime_is_idle(r.runtime));
    toy_run_for(&r, 0);
    runtime_replan(r.runtime, false);
    CHECK(runtime_is_idle(r.runtime));
    CHECK_INT(r.toy.plans, plans + 5); /* two parents, three children */
    CHECK_INT(strbuf_str(&r.journal).len, journal);
    toy_rig_done(&r);
}

TEST(controller_sees_its_own_writes_before_it_plans_again)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 5);
    toy_rig_start(&r, 0);
    while (!runtime_is_synced(r.runtime))
        toy_run_for(&r, USEC_PER_MSEC);
    /* No watch event arrives any more; what the plans see are the answers. */
    api_fake_hold_watches(r.fake, true);
    toy_put_parent(r.fake, "q", 2);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 7);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "5");
    CHECK_INT(api_fake_stats(r.fake).exists, 0);
    CHECK_INT(api_fake_stats(r.fake).conflicts, 0);
    CHECK_INT(controller_stats(r.controller).failures, 0);
    api_fake_hold_watches(r.fake, false);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 9);
    toy_rig_done(&r);
}

/* ---- limits ---- */

struct ramp {
    struct toy_rig *rig;
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
    struct toy_rig r;
    struct ramp p = {.rig = &r};
    toy_rig_init(&r, 1, NULL);
    api_fake_on_write(r.fake, on_ramp_write, &p);
    toy_put_parent(r.fake, "p", 40);
    toy_rig_start(&r, 8);
    toy_run_for(&r, USEC_PER_SEC);
    /* The first alone, then two, then as many as one key may have. */
    CHECK_INT(p.most[0], 1);
    CHECK_INT(p.most[1], 2);
    CHECK(p.most[3] > 2);
    CHECK_INT(api_fake_count(r.fake, CM), 41);
    CHECK_INT(api_fake_stats(r.fake).max_in_flight, 4);
    toy_rig_done(&r);
}

TEST(controller_in_flight_writes_are_bounded)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    for (int i = 0; i < 20; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%d", i);
        toy_put_parent(r.fake, name, 10);
    }
    toy_rig_start(&r, 6);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 220);
    CHECK_INT(api_fake_stats(r.fake).max_in_flight, 6);
    toy_rig_done(&r);
}

/* Counts ConfigMaps, under one key. */
struct counter {
    unsigned plans;
    size_t seen;
    usec at;
};

static void count_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct counter *c = ctx;
    (void)key;
    (void)p;
    c->plans++;
    c->seen = cache_count(world_cache(w, CM));
    c->at = w->now;
}

static void map_to_sum(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    (void)w;
    (void)old;
    (void)new;
    controller_enqueue(c, CM, STR("ns"), STR("sum"));
}

TEST(controller_with_patience_waits_while_others_are_busy_and_sees_the_end)
{
    struct toy_rig r;
    struct counter count = {0};
    const struct controller_watch watch = {CM, map_to_sum};
    struct controller_def def = {.name = "counter",
                                 .plan = count_plan,
                                 .ctx = &count,
                                 .watches = &watch,
                                 .n_watches = 1,
                                 .patience = 50 * USEC_PER_MSEC};
    toy_rig_init(&r, 1, NULL);
    struct controller_def toy = toy_def(&r.toy, 1);
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &toy, r.api);
    (void)runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    toy_run_for(&r, USEC_PER_SEC);
    /* One write at a time, a millisecond each at most. */
    usec began = loop_wall(r.loop);
    toy_put_parent(r.fake, "p", 300);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(count.seen, 301);
    usec took = count.at - began;
    CHECK(took > 100 * USEC_PER_MSEC);
    CHECK(count.plans >= took / (50 * USEC_PER_MSEC));
    CHECK(count.plans <= took / (50 * USEC_PER_MSEC) + 3);
    /* Nobody has anything to do: at once. */
    began = loop_wall(r.loop);
    toy_put_parent(r.fake, "q", 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(count.seen, 302);
    CHECK(count.at - began < 10 * USEC_PER_MSEC);
    toy_rig_done(&r);
}

TEST(controller_refused_creates_stop_and_back_off)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 100);
    api_fake_refuse(r.fake, API_CREATE, 1000000, 403);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    /* One create per try; tries at 5, 10, 20, ... ms fit at most nine times into a second. */
    uint64_t sent = api_fake_stats(r.fake).sent[API_CREATE];
    CHECK(sent >= 7);
    CHECK(sent <= 10);
    CHECK_INT(api_fake_stats(r.fake).sent[API_PATCH], 0); /* the next stage did not start */
    api_fake_refuse(r.fake, API_CREATE, 0, 0);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 101);
    toy_rig_done(&r);
}

TEST(controller_throttling_waits_as_told)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, &(struct api_faulty_options){.throttle = 100});
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    /* Retry-After is one second; the back-off is shorter than that until the eighth failure. */
    CHECK(controller_stats(r.controller).writes <= 11);
    CHECK(controller_stats(r.controller).writes >= 8);
    api_faulty_set(r.api, NULL);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    toy_rig_done(&r);
}

TEST(controller_429_halves_the_window_and_success_brings_it_back)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 8);
    api_fake_refuse(r.fake, API_CREATE, 2, 429);
    while (api_fake_stats(r.fake).sent[API_CREATE] < 3)
        toy_run_for(&r, 10);
    CHECK_INT(controller_stats(r.controller).window, 2);
    toy_put_parent(r.fake, "p", 60);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(controller_stats(r.controller).window, 8);
    toy_rig_done(&r);
}

TEST(controller_failure_of_one_write_does_not_fail_the_others_of_its_stage)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 4);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    toy_put_parent(r.fake, "p", 0);
    api_fake_refuse(r.fake, API_DELETE, 1, 400);
    while (!api_fake_stats(r.fake).sent[API_DELETE])
        toy_run_for(&r, 10);
    toy_run_for(&r, 4 * USEC_PER_MSEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "4");
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "0");
    toy_rig_done(&r);
}

TEST(controller_count_only_writes_come_at_most_every_100_ms_and_the_last_is_kept)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    r.toy.counts_only = true;
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    uint64_t before = api_fake_stats(r.fake).sent[API_PATCH];
    for (int i = 2; i <= 21; i++) {
        toy_put_parent(r.fake, "p", i);
        toy_run_for(&r, 20 * USEC_PER_MSEC);
    }
    uint64_t patches = api_fake_stats(r.fake).sent[API_PATCH] - before;
    CHECK(patches >= 3);
    CHECK(patches <= 5);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "21");
    toy_rig_done(&r);
}

/* ---- dropping ---- */

TEST(controller_generation_change_drops_what_was_not_sent)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 100);
    toy_rig_start(&r, 4);
    while (api_fake_stats(r.fake).created < 6)
        toy_run_for(&r, 10);
    toy_put_parent(r.fake, "p", 2);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK(api_fake_stats(r.fake).created < 20);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    CHECK_INT(controller_stats(r.controller).failures, 0);
    toy_rig_done(&r);
}

TEST(controller_deletion_of_the_object_drops_what_was_not_sent)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 100);
    toy_rig_start(&r, 4);
    while (api_fake_stats(r.fake).created < 6)
        toy_run_for(&r, 10);
    api_fake_remove(r.fake, CM, "ns", "p");
    toy_run_for(&r, USEC_PER_SEC);
    /* The event waits behind those of the children, a millisecond each. */
    CHECK(api_fake_stats(r.fake).created < 50);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

TEST(controller_spec_change_ends_a_back_off)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    api_fake_refuse(r.fake, API_CREATE, 1000000, 422);
    toy_rig_start(&r, 0);
    toy_run_for(&r, 5 * USEC_PER_MIN); /* the back-off is 30 s by now */
    api_fake_refuse(r.fake, API_CREATE, 0, 0);
    toy_put_parent(r.fake, "p", 2);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    toy_rig_done(&r);
}

/* ---- verification ---- */

TEST(controller_verify_absent_asks_before_it_destroys)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    r.toy.verify = "guard";
    toy_put_parent(r.fake, "p", 2);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    /* The guard exists, but the cache does not know. */
    api_fake_hold_watches(r.fake, true);
    toy_put_parent(r.fake, "guard", 0);
    char text[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"0\"}}";
    api_fake_put(r.fake, CM, text);
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_DELETE], 0);
    CHECK(cache_get(runtime_cache(r.runtime, CM), STR("ns"), STR("guard")));
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    /* Without it the deletes go through. */
    api_fake_remove(r.fake, CM, "ns", "guard");
    toy_run_for(&r, 2 * USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, CM), 1);
    toy_rig_done(&r);
}

TEST(controller_already_exists_is_fetched_and_planned_anew)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    /* Somebody made the child we are about to make, and the watch does not say so. */
    api_fake_hold_watches(r.fake, true);
    api_fake_put(r.fake, CM, "{\"metadata\":{\"name\":\"p-uid-00000001-1\",\"namespace\":\"ns\"}}");
    api_fake_put(
        r.fake, CM,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"data\":{\"children\":\"2\"}}");
    cache_observe(runtime_cache(r.runtime, CM), api_fake_get(r.fake, CM, "ns", "p"));
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).exists, 1);
    CHECK_INT(api_fake_count(r.fake, CM), 3);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

/* ---- events and due times ---- */

TEST(controller_events_are_counted_under_one_name)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    r.toy.event = true;
    r.toy.look_after = 5 * USEC_PER_SEC;
    toy_put_parent(r.fake, "p", 0);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    toy_run_for(&r, 10 * USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    /* Reported at once and then once a minute. */
    uint64_t sent = api_fake_stats(r.fake).sent[API_PATCH];
    CHECK(sent >= 9);
    CHECK(sent <= 12);
    /* A restarted controller finds the event of its predecessor and goes on counting. */
    sent = api_fake_stats(r.fake).sent[API_PATCH];
    runtime_free(r.runtime);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    CHECK_INT(api_fake_stats(r.fake).exists, 1);
    CHECK_INT(api_fake_stats(r.fake).sent[API_PATCH], sent + 1);
    toy_rig_done(&r);
}

TEST(controller_events_come_after_the_writes_succeeded)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    r.toy.event = true;
    api_fake_refuse(r.fake, API_DELETE, 1000000, 403);
    toy_put_parent(r.fake, "p", 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK(api_fake_stats(r.fake).sent[API_DELETE] > 1);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 0);
    api_fake_refuse(r.fake, API_DELETE, 0, 0);
    toy_run_for(&r, USEC_PER_MIN);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    toy_rig_done(&r);
}

/* Makes the key's own object, tells of it, and has more to do. */
static void make_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *seed = world_get(w, CM, key->ns, STR("seed"));
    if (!seed || !str_is(key->name, "made") || world_get(w, CM, key->ns, key->name))
        return;
    plan_create(
        p, 0, CM, key->ns, key->name,
        doc_parse(STR("{\"metadata\":{\"name\":\"made\",\"namespace\":\"ns\"}}"), NULL, NULL));
    plan_event(p, seed, false, STR("Made"), "made it");
    plan_merge_patch(p, 1, seed, STR_NONE, doc_parse(STR("{\"data\":{\"a\":\"b\"}}"), NULL, NULL),
                     0);
    plan_event(p, seed, false, STR("Patched"), "and more");
}

TEST(controller_events_of_done_writes_outlive_a_plan_that_its_own_create_ended)
{
    struct toy_rig r;
    static const struct controller_watch watches[] = {{CM, map_self}};
    struct controller_def def = {
        .name = "maker", .plan = make_plan, .watches = watches, .n_watches = 1};
    /* The watch shows what was made before the answer comes. */
    toy_rig_init(&r, 1, &(struct api_faulty_options){.max_delay = USEC_PER_SEC});
    api_fake_put(r.fake, CM, "{\"metadata\":{\"name\":\"seed\",\"namespace\":\"ns\"}}");
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    toy_run_for(&r, 5 * USEC_PER_SEC);
    controller_enqueue(r.controller, CM, STR("ns"), STR("made"));
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 2);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    struct obj *e = api_fake_any(r.fake, &kind_event);
    CHECK_STR(jstr(jgetc(obj_root(e), "reason")), STR("Made"));
    e = api_fake_get(r.fake, CM, "ns", "seed");
    CHECK(j_is_absent(jgetc(obj_root(e), "data")));
    toy_rig_done(&r);
}

static void bind_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct obj *pod = world_get(w, key->kind, key->ns, key->name);
    if (pod && !jstr(jgetc(obj_spec(pod), "nodeName")).len)
        plan_bind(p, 0, pod, STR("n1"), 0);
}

TEST(controller_binding_is_seen_though_its_answer_does_not_show_it)
{
    struct toy_rig r;
    static const struct controller_watch watches[] = {{&kind_pod, map_self}};
    struct controller_def def = {
        .name = "binder", .plan = bind_plan, .watches = watches, .n_watches = 1};
    toy_rig_init(&r, 1, NULL);
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, &kind_pod,
                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{}}");
    while (!controller_stats(r.controller).in_flight)
        toy_run_for(&r, 10);
    api_fake_hold_watches(r.fake, true);
    toy_run_for(&r, 2 * USEC_PER_SEC);
    struct obj *pod = cache_get(runtime_cache(r.runtime, &kind_pod), STR("ns"), STR("p"));
    REQUIRE(pod);
    CHECK_CSTR(jstr(jgetc(obj_spec(pod), "nodeName")), "n1");
    CHECK_INT(api_fake_stats(r.fake).sent[API_CREATE], 1);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

TEST(controller_does_not_ask_for_a_binding_that_the_watch_shows)
{
    struct toy_rig r;
    static const struct controller_watch watches[] = {{&kind_pod, map_self}};
    struct controller_def def = {
        .name = "binder", .plan = bind_plan, .watches = watches, .n_watches = 1};
    toy_rig_init(&r, 1, NULL);
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    toy_run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, &kind_pod,
                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{}}");
    toy_run_for(&r, 5 * USEC_PER_SEC);
    struct obj *pod = cache_get(runtime_cache(r.runtime, &kind_pod), STR("ns"), STR("p"));
    REQUIRE(pod);
    CHECK_CSTR(jstr(jgetc(obj_spec(pod), "nodeName")), "n1");
    CHECK_INT(api_fake_stats(r.fake).sent[API_CREATE], 1);
    CHECK_INT(api_fake_stats(r.fake).sent[API_GET], 0);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

static void put_pod(struct toy_rig *r, const char *name)
{
    char text[128];
    (void)snprintf(text, sizeof(text),
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{}}", name);
    api_fake_put(r->fake, &kind_pod, text);
}

/* What is slow to answer is slow to show, and would be asked for everything it was just told. */
TEST(controller_gives_a_slow_server_time_to_show_a_binding)
{
    struct toy_rig r;
    static const struct controller_watch watches[] = {{&kind_pod, map_self}};
    static const struct api_faulty_options slow = {.max_delay = 10 * USEC_PER_SEC};
    static const char *const before[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct controller_def def = {
        .name = "binder", .plan = bind_plan, .watches = watches, .n_watches = 1};
    toy_rig_init(&r, 1, &slow);
    r.runtime = runtime_new(r.loop, r.api);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        put_pod(&r, before[i]);
    toy_run_for(&r, 2 * USEC_PER_MIN);
    CHECK_INT(api_fake_stats(r.fake).sent[API_CREATE], ARRAY_LEN(before));
    uint64_t asked = api_fake_stats(r.fake).sent[API_GET];
    api_faulty_set(r.api, NULL);
    put_pod(&r, "p");
    while (api_fake_stats(r.fake).sent[API_CREATE] == ARRAY_LEN(before))
        toy_run_for(&r, 10);
    api_fake_hold_watches(r.fake, true);
    toy_run_for(&r, 5 * USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_GET] - asked, 0);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_stats(r.fake).sent[API_GET] - asked, 1);
    toy_rig_done(&r);
}

/* ---- patience ---- */

/* Key "busy": writes its number again and again, each time when the one before was answered, up to
 * ctx of them. Key "told": what "busy" has come to, patiently. */
struct patience {
    int64_t writes;
    usec patience;
    unsigned tells;
};

static int64_t number_of(const struct world *w, const char *name)
{
    const struct obj *o = world_get(w, CM, STR("ns"), str_of(name));
    int64_t n = 0;
    (void)(o && str_to_int(jstr(jpath(obj_root(o), "data.n")), &n));
    return n;
}

static struct plan_write *plan_number(struct plan *p, const struct obj *o, int64_t n)
{
    struct jw w;
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "data");
    jw_put_cstr(&w, "n", text);
    jw_end(&w);
    jw_end(&w);
    return plan_merge_patch(p, 0, o, STR_NONE, jw_doc(&w), 0);
}

static void patience_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct patience *x = ctx;
    const struct obj *o = world_get(w, key->kind, key->ns, key->name);
    int64_t busy = number_of(w, "busy");
    if (o && str_is(key->name, "busy") && busy < x->writes)
        (void)plan_number(p, o, busy + 1);
    if (o && str_is(key->name, "told") && busy != number_of(w, "told")) {
        struct plan_write *write = plan_number(p, o, busy);
        write->patient = true;
        write->patience = x->patience;
    }
}

static void map_patience(struct controller *c, const struct world *w, const struct obj *old,
                         const struct obj *new)
{
    map_self(c, w, old, new);
    controller_enqueue(c, CM, STR("ns"), STR("told"));
}

static void count_tells(void *ctx, str line)
{
    struct patience *x = ctx;
    x->tells += str_find(line, STR("patience ns/told: ")) >= 0;
}

static unsigned tells_of(int64_t writes, usec latency, usec patience)
{
    struct toy_rig r;
    struct patience x = {.writes = writes, .patience = patience};
    static const struct controller_watch watches[] = {{CM, map_patience}};
    struct controller_def def = {
        .name = "patience", .plan = patience_plan, .ctx = &x, .watches = watches, .n_watches = 1};
    toy_rig_init(&r, 1, &(struct api_faulty_options){.max_delay = latency});
    static const char *const names[] = {"busy", "told"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[80];
        (void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"}}",
                       names[i]);
        api_fake_put(r.fake, CM, text);
    }
    r.runtime = runtime_new(r.loop, r.api);
    runtime_set_journal(r.runtime, count_tells, &x);
    r.controller = runtime_add(r.runtime, &def, r.api);
    runtime_start(r.runtime);
    toy_run_for(&r, USEC_PER_MIN);
    CHECK(runtime_is_idle(r.runtime));
    struct obj *told = api_fake_get(r.fake, CM, "ns", "told");
    int64_t n = 0;
    CHECK(str_to_int(jstr(jpath(obj_root(told), "data.n")), &n));
    CHECK_INT(n, writes); /* the last is always told */
    toy_rig_done(&r);
    return x.tells;
}

TEST(controller_tells_patiently_when_others_have_written)
{
    CHECK_INT(tells_of(1, 10 * USEC_PER_MSEC, 0), 1);
    /* Twenty writes in a row, together less than half a second: between two of them there may be a
     * moment of calm. */
    CHECK(tells_of(20, 10 * USEC_PER_MSEC, 0) <= 3);
    /* Seconds of them: told twice in each, not a hundred times. */
    unsigned n = tells_of(100, 50 * USEC_PER_MSEC, 0);
    CHECK(n >= 5 && n <= 25);
    /* Nor twice in each by what has more patience. */
    CHECK(tells_of(100, 50 * USEC_PER_MSEC, 30 * USEC_PER_SEC) < n);
}

TEST(controller_looks_again_when_the_plan_says_so)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    r.toy.look_after = USEC_PER_MIN;
    toy_put_parent(r.fake, "p", 0);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    unsigned plans = r.toy.plans;
    toy_run_for(&r, 58 * USEC_PER_SEC);
    CHECK_INT(r.toy.plans, plans);
    CHECK(runtime_is_idle(r.runtime));
    toy_run_for(&r, 2 * USEC_PER_SEC);
    CHECK_INT(r.toy.plans, plans + 1);
    toy_run_for(&r, 10 * USEC_PER_MIN);
    CHECK_INT(r.toy.plans, plans + 11);
    toy_rig_done(&r);
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
static void run_faulty(struct toy_rig *r, int parents)
{
    char name[16];
    for (int i = 0; i < parents; i++) {
        parent_name(name, sizeof(name), i);
        toy_put_parent(r->fake, name, CHILDREN);
    }
    toy_rig_start(r, 8);
    toy_run_for(r, USEC_PER_MIN);
    api_faulty_set(r->api, NULL);
    toy_run_for(r, 3 * USEC_PER_MIN);
}

static bool is_exact(struct toy_rig *r, int parents)
{
    char name[16];
    size_t objects = (size_t)parents * (CHILDREN + 1);
    for (int i = 0; i < parents; i++) {
        parent_name(name, sizeof(name), i);
        if (!str_is(str_of(toy_count_written(r->fake, name)), "3"))
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
        struct toy_rig r;
        toy_rig_init(&r, seed, &faults[f].o);
        run_faulty(&r, OBJECTS);
        if (!CHECK(is_exact(&r, OBJECTS)))
            test_note("fault \"%s\", seed %llu", faults[f].name, (unsigned long long)seed);
        /* A write that is done late may come after the live GET that found nothing; any other
         * second attempt would mean that the key was planned without looking. */
        if (!faults[f].o.late)
            CHECK_INT(api_fake_stats(r.fake).exists, 0);
        struct api_faulty_stats s = api_faulty_stats(r.api);
        injected += s.request_faults + s.watch_faults;
        toy_rig_done(&r);
    }
    CHECK(injected > seeds * 10);
    test_note("%zu runs, %llu faults", seeds, (unsigned long long)injected);
}

TEST(controller_exactly_one_create_per_child_among_thousands)
{
    int parents = (int)MIN(test_cases(250), 2500); /* 1,000 objects, at most 10,000 */
    for (size_t i = 0; i < 3; i++) {
        uint64_t seed = rng_u64(test_rng());
        struct toy_rig r;
        toy_rig_init(&r, seed, &faults[ARRAY_LEN(faults) - 1].o);
        run_faulty(&r, parents);
        /* Eight writes at a time through a bad network take their time. */
        toy_run_for(&r, 30 * USEC_PER_MIN);
        if (!CHECK(is_exact(&r, parents)))
            test_note("seed %llu", (unsigned long long)seed);
        toy_rig_done(&r);
    }
    test_note("3 runs of %d objects", parents * (CHILDREN + 1));
}

/* A process that dies leaves its writes under way; its successor knows nothing of them. */
TEST(controller_restart_creates_nothing_twice)
{
    size_t seeds = test_cases(22);
    for (size_t i = 0; i < seeds; i++) {
        struct toy_rig r;
        uint64_t seed = rng_u64(test_rng());
        toy_rig_init(&r, seed, &faults[i % ARRAY_LEN(faults)].o);
        for (int p = 0; p < 10; p++) {
            char name[8];
            parent_name(name, sizeof(name), p);
            toy_put_parent(r.fake, name, 5);
        }
        for (int restart = 0; restart < 20; restart++) {
            toy_rig_start(&r, 4);
            toy_run_for(&r, (usec)(loop_random_u64(r.loop) % 500000));
            runtime_free(r.runtime);
        }
        api_faulty_set(r.api, NULL);
        toy_rig_start(&r, 4);
        toy_run_for(&r, USEC_PER_MIN);
        if (!CHECK_INT(api_fake_stats(r.fake).created, 60))
            test_note("seed %llu", (unsigned long long)seed);
        CHECK_INT(api_fake_count(r.fake, CM), 60);
        toy_rig_done(&r);
    }
}

TEST(controller_scaling_under_faults_ends_at_what_was_asked_last)
{
    size_t seeds = test_cases(40);
    for (size_t i = 0; i < seeds; i++) {
        uint64_t seed = rng_u64(test_rng());
        struct toy_rig r;
        toy_rig_init(&r, seed, &faults[ARRAY_LEN(faults) - 1].o);
        toy_put_parent(r.fake, "p", 5);
        toy_put_parent(r.fake, "q", 5);
        toy_rig_start(&r, 8);
        for (int step = 0; step < 20; step++) {
            toy_run_for(&r, (usec)rng_below(test_rng(), USEC_PER_SEC));
            toy_put_parent(r.fake, step % 2 ? "p" : "q", (int)rng_below(test_rng(), 10));
        }
        toy_put_parent(r.fake, "p", 7);
        toy_put_parent(r.fake, "q", 4);
        toy_run_for(&r, USEC_PER_MIN);
        api_faulty_set(r.api, NULL);
        toy_run_for(&r, 3 * USEC_PER_MIN);
        if (!CHECK_INT(api_fake_count(r.fake, CM), 13))
            test_note("seed %llu", (unsigned long long)seed);
        CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "7");
        CHECK_CSTR(str_of(toy_count_written(r.fake, "q")), "4");
        CHECK(runtime_is_idle(r.runtime));
        toy_rig_done(&r);
    }
}

TEST(controller_same_seed_same_journal)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct toy_rig a, b;
        const struct api_faulty_options *o = &faults[ARRAY_LEN(faults) - 1].o;
        toy_rig_init(&a, seed, o);
        run_faulty(&a, OBJECTS);
        toy_rig_init(&b, seed, o);
        run_faulty(&b, OBJECTS);
        CHECK(a.journal.len > 1000);
        CHECK(str_eq(strbuf_str(&a.journal), strbuf_str(&b.journal)));
        CHECK_INT(loop_iterations(a.loop), loop_iterations(b.loop));
        toy_rig_done(&a);
        toy_rig_done(&b);
    }
}

/* ---- clocks ---- */

/* Between one and the next, the wall clock is set by hours: a look comes when it was to come. */
TEST(controller_looks_again_after_elapsed_time)
{
    static const usec steps[] = {USEC_PER_HOUR, -USEC_PER_HOUR};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct toy_rig r;
        toy_rig_init(&r, 1, NULL);
        r.toy.look_after = 100 * USEC_PER_SEC;
        toy_put_parent(r.fake, "p", 1);
        toy_rig_start(&r, 8);
        toy_run_for(&r, 10 * USEC_PER_SEC);
        loop_set_wall_by(r.loop, steps[i]);
        toy_run_for(&r, USEC_PER_SEC);
        unsigned plans = r.toy.plans; /* it was planned once more, with what is known now */
        toy_run_for(&r, 95 * USEC_PER_SEC);
        CHECK_INT(r.toy.plans, plans);
        toy_run_for(&r, 10 * USEC_PER_SEC);
        CHECK_INT(r.toy.plans, plans + 1);
        toy_rig_done(&r);
    }
}

static usec age_of(struct toy_rig *r, const char *name)
{
    struct world w = runtime_world(r->runtime);
    struct obj *o = world_get(&w, &kind_config_map, STR("ns"), str_of(name));
    REQUIRE(o);
    return world_steady(&w) - world_created(&w, o);
}

/* What the clock of another machine says is no reason to believe that an object is older than since
 * it was seen, nor that it is yet to come. */
TEST(controller_believes_no_clock_of_another_machine)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_rig_start(&r, 8);
    runtime_set_foreign_clocks(r.runtime);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    api_fake_put(r.fake, &kind_config_map,
                 "{\"metadata\":{\"name\":\"old\",\"namespace\":\"ns\",\"creationTimestamp\":"
                 "\"2020-01-01T00:00:00Z\"}}");
    api_fake_put(r.fake, &kind_config_map,
                 "{\"metadata\":{\"name\":\"new\",\"namespace\":\"ns\",\"creationTimestamp\":"
                 "\"2090-01-01T00:00:00Z\"}}");
    toy_run_for(&r, 5 * USEC_PER_SEC);
    loop_set_wall_by(r.loop, USEC_PER_HOUR);
    toy_run_for(&r, 5 * USEC_PER_SEC);
    static const char *const names[] = {"old", "new"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        usec age = age_of(&r, names[i]);
        CHECK(age <= 10 * USEC_PER_SEC && age >= 9 * USEC_PER_SEC);
    }
    struct world w = runtime_world(r.runtime);
    struct obj *o = world_get(&w, &kind_config_map, STR("ns"), STR("old"));
    usec now = world_steady(&w);
    CHECK(now - world_moment_in(&w, o, w.now - 30 * USEC_PER_DAY) >= 9 * USEC_PER_SEC);
    CHECK(now - world_moment_in(&w, o, w.now - 30 * USEC_PER_DAY) <= 10 * USEC_PER_SEC);
    CHECK(now - world_moment_in(&w, o, w.now + USEC_PER_DAY) >= 9 * USEC_PER_SEC);
    toy_rig_done(&r);
}

/* A time in whole seconds that came with what was seen a moment ago is not the end of its second.
 */
TEST(controller_takes_a_time_that_was_cut_off_for_when_it_was_seen)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_rig_start(&r, 8);
    toy_run_for(&r, 10 * USEC_PER_SEC + 437 * USEC_PER_MSEC);
    struct world w = runtime_world(r.runtime);
    usec wrote = w.now, cut = wrote / USEC_PER_SEC * USEC_PER_SEC;
    api_fake_put(r.fake, &kind_config_map, "{\"metadata\":{\"name\":\"o\",\"namespace\":\"ns\"}}");
    toy_run_for(&r, 3 * USEC_PER_SEC);
    w = runtime_world(r.runtime);
    struct obj *o = world_get(&w, &kind_config_map, STR("ns"), STR("o"));
    REQUIRE(o);
    usec took = world_rebased_seen(&w, o, cut) - wrote;
    CHECK(took >= 0 && took <= 50 * USEC_PER_MSEC);
    /* One of a second before was over when that was. */
    CHECK_INT(world_rebased_seen(&w, o, cut - USEC_PER_SEC), cut);
    toy_rig_done(&r);
}

/* ---- deletes of what changes ---- */

struct leave {
    struct loop *loop;
    struct api *fake;
    struct runtime *runtime;
    struct controller *controller;
    unsigned plans;
};

/* "child" goes with its owner, of UID "u". */
static void leave_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct leave *l = ctx;
    const struct obj *o = world_get(w, &kind_config_map, key->ns, key->name);
    l->plans++;
    if (!o || o->deleting || !str_eq(o->owner_uid, STR("u")) || !jlen(o->labels))
        return;
    struct plan_write *write = plan_delete(p, 0, o);
    write->rv = o->rv;
    write->owner_uid = STR("u");
}

static void put_child(struct leave *l, const char *owner, const char *more)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"child\",\"namespace\":\"ns\",\"ownerReferences\":["
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\",\"uid\":\"%s\","
             "\"controller\":true}]%s}}",
             owner, more);
    api_fake_put(l->fake, &kind_config_map, text);
}

static void run_leave(struct leave *l, usec time)
{
    REQUIRE(loop_run_until(l->loop, loop_now(l->loop) + time, 1000000));
}

/* The child is known in a version that is not the newest; then it is to go. */
static void leave_start(struct leave *l, const char *newest_owner)
{
    static const struct controller_watch watches[] = {{&kind_config_map, map_self}};
    kinds_init();
    *l = (struct leave){.loop = loop_new_virtual(1, 0)};
    l->fake = api_fake_new(l->loop, 0);
    put_child(l, "u", "");
    l->runtime = runtime_new(l->loop, l->fake);
    struct controller_def def = {
        .name = "leave", .plan = leave_plan, .ctx = l, .watches = watches, .n_watches = 1};
    l->controller = runtime_add(l->runtime, &def, l->fake);
    runtime_start(l->runtime);
    run_leave(l, USEC_PER_SEC);
    put_child(l, "u", ",\"labels\":{\"go\":\"now\"}");
    struct obj *seen = obj_ref(api_fake_get(l->fake, &kind_config_map, "ns", "child"));
    api_fake_hold_watches(l->fake, true);
    put_child(l, newest_owner, ",\"annotations\":{\"status\":\"changed\"}");
    l->plans = 0;
    cache_observe(runtime_cache(l->runtime, &kind_config_map), seen);
    obj_unref(seen);
    run_leave(l, USEC_PER_SEC);
}

static void leave_done(struct leave *l)
{
    runtime_free(l->runtime);
    api_free(l->fake);
    loop_free(l->loop);
}

TEST(controller_deletes_a_child_in_its_newest_version_without_another_plan)
{
    struct leave l;
    leave_start(&l, "u");
    CHECK(!api_fake_get(l.fake, &kind_config_map, "ns", "child"));
    CHECK_INT(api_fake_stats(l.fake).sent[API_DELETE], 2);
    CHECK_INT(controller_stats(l.controller).failures, 0);
    leave_done(&l);
}

TEST(controller_does_not_delete_what_has_another_owner_by_now)
{
    struct leave l;
    leave_start(&l, "somebody");
    CHECK(api_fake_get(l.fake, &kind_config_map, "ns", "child"));
    CHECK_INT(api_fake_stats(l.fake).sent[API_DELETE], 1);
    leave_done(&l);
}
