/* What planners are told of writes that failed, and of creates that may still happen. */
#include "client/test-toy.h"
#include "client/unsure.h"

#define CM (&kind_config_map)

static void start(struct toy_rig *r, const struct api_faulty_options *o)
{
    toy_rig_init(r, 1, o);
    toy_put_parent(r->fake, "p", 3);
}

TEST(failure_of_a_write_is_told_to_the_next_plan_and_forgotten_after_success)
{
    struct toy_rig r;
    start(&r, NULL);
    api_fake_refuse(r.fake, API_CREATE, 3, 403); /* one per plan: creates ramp up */
    toy_rig_start(&r, 0);
    while (r.toy.plans < 2)
        toy_run_for(&r, 100);
    CHECK_INT(r.toy.failures, 1);
    CHECK_INT(r.toy.failure.code, 403);
    CHECK_INT(r.toy.failure.op, PLAN_CREATE);
    CHECK(r.toy.failure.kind == CM);
    CHECK(str_starts(str_of(r.toy.message), STR("p-uid-00000001-0 ")));
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    CHECK_INT(r.toy.failures, 0); /* the last plan was told nothing */
    toy_rig_done(&r);
}

TEST(failure_that_nothing_follows_is_forgotten_by_one_more_look)
{
    struct toy_rig r;
    start(&r, NULL);
    api_fake_refuse(r.fake, API_CREATE, 1000, 403);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(r.toy.failures, 1);
    toy_put_parent(r.fake, "p", 0); /* nothing is left to be done, and nothing changes after it */
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(r.toy.failures, 0);
    CHECK(runtime_is_idle(r.runtime));
    toy_rig_done(&r);
}

TEST(failure_of_a_busy_server_is_told_from_the_third_time_on)
{
    static const int codes[] = {429, 503};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct toy_rig r;
        start(&r, NULL);
        api_fake_refuse(r.fake, API_CREATE, 1000, codes[i]);
        toy_rig_start(&r, 0);
        while (r.toy.plans < 3) {
            toy_run_for(&r, 100);
            CHECK_INT(r.toy.failures, 0);
        }
        while (r.toy.plans < 4)
            toy_run_for(&r, 100);
        CHECK_INT(r.toy.failures, 1);
        CHECK_INT(r.toy.failure.code, codes[i]);
        toy_rig_done(&r);
    }
}

TEST(failure_is_not_what_merely_shows_that_a_cache_was_behind)
{
    struct toy_rig r;
    start(&r, NULL);
    api_fake_refuse(r.fake, API_CREATE, 20, 409);
    toy_rig_start(&r, 0);
    while (controller_stats(r.controller).failures < 6) {
        toy_run_for(&r, 100);
        CHECK_INT(r.toy.failures, 0);
    }
    toy_rig_done(&r);
}

TEST(failure_warnings_are_reported_though_the_plan_fails_again)
{
    struct toy_rig r;
    start(&r, NULL);
    r.toy.event = r.toy.warn = true;
    api_fake_refuse(r.fake, API_CREATE, 1, 403);
    toy_rig_start(&r, 0);
    while (r.toy.plans < 2)
        toy_run_for(&r, 10);
    api_fake_refuse(r.fake, API_CREATE, 1, 403); /* of the plan just made */
    toy_run_for(&r, USEC_PER_MSEC);
    const struct obj *e = api_fake_any(r.fake, &kind_event);
    for (int i = 0; !e && i < 10; i++) {
        toy_run_for(&r, USEC_PER_MSEC);
        e = api_fake_any(r.fake, &kind_event);
    }
    REQUIRE(e);
    CHECK_CSTR(jstr(jgetc(obj_root(e), "reason")), "WriteFailed");
    toy_rig_done(&r);
}

static void plan_watcher(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    size_t *seen = ctx;
    const struct failures *f = world_last_failure(w, key);
    if (str_is(key->name, "p"))
        *seen = f ? f->n : 0;
}

TEST(failure_is_told_to_another_controller_of_the_key)
{
    struct toy_rig r;
    size_t seen = 0;
    static const struct controller_watch watches[] = {{&kind_config_map, map_self}};
    struct controller_def def = {
        .name = "watcher", .plan = plan_watcher, .ctx = &seen, .watches = watches, .n_watches = 1};
    start(&r, NULL);
    api_fake_refuse(r.fake, API_CREATE, 5, 403);
    struct controller_def toy = toy_def(&r.toy, 0);
    r.runtime = runtime_new(r.loop, r.api);
    (void)runtime_add(r.runtime, &def, r.api);
    r.controller = runtime_add(r.runtime, &toy, r.api);
    runtime_start(r.runtime);
    while (r.toy.plans < 3)
        toy_run_for(&r, 100);
    CHECK_INT(seen, 1);
    toy_run_for(&r, 10 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, CM), 4);
    CHECK_INT(seen, 0);
    toy_rig_done(&r);
}

TEST(failures_are_bounded_in_number_and_text)
{
    struct arena a;
    struct failures f = {0};
    char text[4096];
    memset(text, 'x', sizeof(text));
    memcpy(text + FAILURE_TEXT_MAX - 1, "\xc3\xa9", 2); /* across the limit */
    struct status status = {.code = 403, .message = str_n(text, sizeof(text))};
    struct api_reply reply = {.code = 403, .status = &status};
    static const struct kind *const kinds[] = {&kind_pod,     &kind_config_map, &kind_secret,
                                               &kind_service, &kind_node,       &kind_event};
    kinds_init();
    arena_init(&a);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (int i = 0; i < 4; i++) {
            struct plan_write w = {.op = i % 2 ? PLAN_PATCH : PLAN_CREATE, .kind = kinds[k]};
            failures_note(&f, &a, &w, &reply);
        }
    }
    CHECK_INT(f.n, FAILURES_MAX);
    struct failures *kept = failures_keep(&f, NULL);
    arena_done(&a);
    CHECK_INT(kept->row, 1);
    CHECK_INT(kept->items[7].message.len, FAILURE_TEXT_MAX - 1);
    CHECK(kept->items[1].kind == &kind_pod && kept->items[1].op == PLAN_PATCH);
    kept = failures_keep(kept, kept); /* the next of a row */
    CHECK_INT(kept->row, 2);
    CHECK_INT(kept->items[0].message.p[0], 'x');
    free(kept);
}

/* ---- creates that may still happen ---- */

TEST(unsure_create_is_known_until_no_server_works_at_it_any_more)
{
    struct toy_rig r;
    struct api_faulty_options drop = {.drop = 100, .timeout = USEC_PER_MSEC};
    start(&r, NULL);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    CHECK_INT(r.toy.unsure, 0);
    api_faulty_set(r.api, &drop);
    toy_put_parent(r.fake, "p", 4);
    toy_run_for(&r, 100 * USEC_PER_MSEC);
    api_faulty_set(r.api, NULL);
    api_fake_refuse(r.fake, API_CREATE, 1000, 403);
    toy_run_for(&r, 20 * USEC_PER_SEC);
    CHECK_INT(r.toy.failures, 1);
    CHECK_INT(r.toy.unsure, 1);
    toy_run_for(&r, 3 * USEC_PER_MIN);
    CHECK_INT(r.toy.unsure, 0);
    toy_rig_done(&r);
}

TEST(unsure_creates_are_bounded_and_the_oldest_go_first)
{
    struct unsure u;
    char name[32];
    kinds_init();
    unsure_init(&u);
    for (int i = 0; i < UNSURE_MAX + 10; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        unsure_add(&u, CM, STR("ns"), str_of(name), i);
    }
    CHECK_INT(u.by_key.len, UNSURE_MAX);
    CHECK(!unsure_has(&u, CM, STR("ns"), STR("n9"), 0));
    CHECK(unsure_has(&u, CM, STR("ns"), STR("n10"), 0));
    CHECK(!unsure_has(&u, &kind_pod, STR("ns"), STR("n10"), 0));
    CHECK(!unsure_has(&u, CM, STR("ns"), STR("n10"), 10 + UNSURE_TIME));
    CHECK(unsure_has(&u, CM, STR("ns"), STR("n11"), 10 + UNSURE_TIME));
    unsure_done(&u);
}
