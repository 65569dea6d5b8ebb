/* Gang termination: when, what, once, and what survives it. */
#include "base/test.h"
#include "grove/termination_backoff.h"
#include "operator/common/kept.h"
#include "operator/common/rollup.h"
#include "operator/common/termination.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* Clique a of 2 (at least 1) alone; group g of b (1) and c (3, at least 1), 2 replicas, 1 at
 * least; 10 seconds. */
#define ELASTIC                                                                                   \
    "apiVersion: grove.io/v1alpha1\n"                                                             \
    "kind: PodCliqueSet\n"                                                                        \
    "metadata: {name: e, uid: e-uid}\n"                                                           \
    "spec:\n"                                                                                     \
    "  replicas: 1\n"                                                                             \
    "  template:\n"                                                                               \
    "    terminationDelay: 10s\n"                                                                 \
    "    cliques:\n"                                                                              \
    "    - {name: a, spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: m}]}}}\n" \
    "    - {name: b, spec: {podSpec: {containers: [{name: m}]}}}\n"                               \
    "    - {name: c, spec: {replicas: 3, minAvailable: 1, podSpec: {containers: [{name: m}]}}}\n" \
    "    podCliqueScalingGroups:\n"                                                               \
    "    - {name: g, cliqueNames: [b, c], replicas: 2, minAvailable: 1}\n"

static struct ring healthy(void)
{
    struct ring r = ring_new();
    tw_load(r.world, ELASTIC);
    ring_live(&r);
    return r;
}

/* Ten seconds after a breach that was written in whole seconds: it may have been at their end. */
#define DELAY 11

static void pass(struct ring *r, int64_t seconds)
{
    r->world->world.now += seconds * USEC_PER_SEC;
}

/* Takes all pods of a clique off their nodes for good: replacements find no room. */
static void lose(struct ring *r, const char *clique)
{
    struct obj *o;
    const char *uid = NULL;
    struct arena a = ARENA_INIT;
    VEC(str) names = {0};
    uid = arena_str(&a, tw_must(r->world, &kind_pclq, clique)->uid).p;
    for (struct cache_iter it = world_owned(&r->world->world, &kind_pod, str_of(uid));
         (o = cache_next(&it));)
        *vec_push(&names) = arena_str(&a, o->name);
    for (size_t i = 0; i < names.len; i++)
        tw_remove(r->world, &kind_pod, names.p[i].p);
    vec_done(&names);
    arena_done(&a);
    (void)ring_settle(r);
}

static str uid_of(struct arena *a, struct ring *r, const char *clique)
{
    return arena_str(a, tw_must(r->world, &kind_pclq, clique)->uid);
}

static bool is_same(struct ring *r, const char *clique, str uid)
{
    struct obj *o = tw_get(r->world, &kind_pclq, clique);
    return o && str_eq(o->uid, uid);
}

static size_t deletes(struct ring *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->world->plan.writes.len; i++)
        n += r->world->plan.writes.p[i].op == PLAN_DELETE;
    return n;
}

TEST(a_breach_is_answered_when_its_delay_is_over_and_not_before)
{
    struct ring r = healthy();
    lose(&r, "e-0-a");
    usec breach = r.world->world.now;
    ring_plan_pcs(&r, "e");
    CHECK_INT(deletes(&r), 0);
    CHECK_INT(tw_look_at(r.world), breach + DELAY * USEC_PER_SEC);
    pass(&r, DELAY - 1);
    ring_plan_pcs(&r, "e");
    CHECK_INT(deletes(&r), 0);
    pass(&r, 1);
    ring_plan_pcs(&r, "e");
    CHECK_INT(deletes(&r), 5); /* all cliques of the replica, sound or not */
    for (size_t i = 0; i < r.world->plan.writes.len; i++) {
        const struct plan_write *w = &r.world->plan.writes.p[i];
        CHECK(w->op != PLAN_DELETE || (w->not_serving && w->component_uid.len > 0));
    }
    /* What is in breach goes last: stopped on the way, the rest still has its reason. */
    CHECK(tw_write(r.world, &kind_pclq, "e-0-a", "")->stage >
          tw_write(r.world, &kind_pclq, "e-0-g-0-b", "")->stage);
    ring_free(&r);
}

/* upstream guesses from times and misses it. */
TEST(a_breach_in_the_first_seconds_counts)
{
    struct ring r = healthy(); /* the clock has not moved since the set was made */
    lose(&r, "e-0-a");
    pass(&r, DELAY);
    ring_plan_pcs(&r, "e");
    /* Everything is as old as the breach itself. */
    CHECK_INT(deletes(&r), 5);
    ring_free(&r);
}

TEST(what_never_had_its_minimum_is_not_in_breach)
{
    struct ring r = ring_new();
    tw_load(r.world, ELASTIC);
    (void)ring_settle(&r);
    pass(&r, 3600);
    ring_plan_pcs(&r, "e");
    CHECK_INT(deletes(&r), 0);
    CHECK_INT(tw_look_at(r.world), 0);
    ring_plan_pcsg(&r, "e-0-g");
    CHECK_INT(deletes(&r), 0);
    ring_free(&r);
}

/* T14: no room for days. */
TEST(an_episode_is_answered_once)
{
    struct arena a = ARENA_INIT;
    struct ring r = healthy();
    pass(&r, 60);
    str before = uid_of(&a, &r, "e-0-g-1-c");
    lose(&r, "e-0-a");
    pass(&r, DELAY);
    (void)ring_settle(&r);
    CHECK(!is_same(&r, "e-0-g-1-c", before));
    str made = uid_of(&a, &r, "e-0-g-1-c");
    str alone = uid_of(&a, &r, "e-0-a");
    for (int i = 0; i < 20; i++) {
        pass(&r, 3600);
        (void)ring_settle(&r);
    }
    CHECK(is_same(&r, "e-0-g-1-c", made));
    CHECK(is_same(&r, "e-0-a", alone));
    CHECK(condition_is_true(jgetc(obj_status(tw_must(r.world, &kind_pcsg, "e-0-g")), "conditions"),
                            STR("GangTerminationInProgress")));
    /* Room again: all is well, and the next breach counts. */
    ring_live(&r);
    CHECK(!condition_is_true(jgetc(obj_status(tw_must(r.world, &kind_pcsg, "e-0-g")), "conditions"),
                             STR("GangTerminationInProgress")));
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcs, "e"), "status.availableReplicas"), "1");
    lose(&r, "e-0-a");
    pass(&r, DELAY);
    (void)ring_settle(&r);
    CHECK(!is_same(&r, "e-0-a", alone));
    arena_done(&a);
    ring_free(&r);
}

/* T13, GT-4: one replica of the group, then the other. */
TEST(a_group_with_enough_left_makes_only_its_replica_anew)
{
    struct arena a = ARENA_INIT;
    struct ring r = healthy();
    pass(&r, 60);
    str alone = uid_of(&a, &r, "e-0-a"), other = uid_of(&a, &r, "e-0-g-1-c");
    str lost = uid_of(&a, &r, "e-0-g-0-c"), sibling = uid_of(&a, &r, "e-0-g-0-b");
    lose(&r, "e-0-g-0-c");
    pass(&r, DELAY);
    (void)ring_settle(&r);
    CHECK(!is_same(&r, "e-0-g-0-c", lost));
    CHECK(!is_same(&r, "e-0-g-0-b", sibling));
    CHECK(is_same(&r, "e-0-a", alone));
    CHECK(is_same(&r, "e-0-g-1-c", other));
    /* Its new pods find no room: it is not made anew again and again. */
    str fresh = uid_of(&a, &r, "e-0-g-0-c");
    pass(&r, 60);
    (void)ring_settle(&r);
    CHECK(is_same(&r, "e-0-g-0-c", fresh));
    /* Now both: the replica of the set goes. */
    lose(&r, "e-0-g-1-c");
    pass(&r, DELAY);
    (void)ring_settle(&r);
    CHECK(!is_same(&r, "e-0-a", alone));
    CHECK(!is_same(&r, "e-0-g-0-c", fresh));
    CHECK(!is_same(&r, "e-0-g-1-c", other));
    arena_done(&a);
    ring_free(&r);
}

/* ---- again and again ---- */

TEST(the_delay_is_doubled_each_time_in_a_row)
{
    static const struct {
        int64_t delay, before, wait; /* minutes */
    } cases[] = {
        {1, 0, 1},         {1, 1, 2},          {1, 2, 4},       {1, 4, 16},
        {1, 5, 16},        {1, INT32_MAX, 16}, {240, 0, 240},   {240, 2, 960},
        {240, 3, 24 * 60}, {240, 9, 24 * 60},  {3000, 0, 3000}, {3000, 3, 3000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(backoff_wait(cases[i].delay * USEC_PER_MIN, cases[i].before),
                  cases[i].wait * USEC_PER_MIN);
}

TEST(a_row_ends_with_some_time_without_a_breach)
{
    usec delay = USEC_PER_HOUR, at = 100 * USEC_PER_HOUR;
    struct termination_record r = {3, at};
    CHECK_INT(backoff_before(r, at + 1, delay), 3);
    CHECK_INT(backoff_before(r, at + delay - 1, delay), 3);
    CHECK_INT(backoff_before(r, at + delay, delay), 0);
    /* A breach that was answered is itself the last that was counted. */
    CHECK_INT(backoff_before(r, at - 4 * delay, delay), 2);
    /* A short delay: ten minutes all the same. */
    CHECK_INT(backoff_before(r, at + 10 * USEC_PER_MIN - 1, USEC_PER_SEC), 3);
    CHECK_INT(backoff_before(r, at + 10 * USEC_PER_MIN, USEC_PER_SEC), 0);
    CHECK_INT(backoff_before((struct termination_record){0}, at, delay), 0);
}

static const char *told(struct ring *r, const char *field)
{
    jval list = jgetc(obj_status(tw_must(r->world, &kind_pcs, "e")), "gangTerminations");
    jval v = jget(jat(list, 0), str_of(field));
    static char text[64];
    (void)snprintf(text, sizeof(text), "%.*s",
                   STR_ARG(jtype(v) == J_STRING ? jstr(v)
                           : j_has(v)           ? jtext(v)
                                                : STR_NONE));
    return text;
}

/* It loses its minimum at once, is not made anew a second before its time, and is then. */
static void fail_again(struct ring *r, int64_t wait)
{
    struct arena a = ARENA_INIT;
    str before = uid_of(&a, r, "e-0-a");
    lose(r, "e-0-a");
    usec due = r->world->world.now + wait * USEC_PER_SEC;
    CHECK_INT(termination_deadline(tw_must(r->world, &kind_pcs, "e"),
                                   tw_must(r->world, &kind_pclq, "e-0-a")),
              due);
    pass(r, wait); /* the breach may have been at the end of its second */
    (void)ring_settle(r);
    CHECK(is_same(r, "e-0-a", before));
    pass(r, 1);
    (void)ring_settle(r);
    CHECK(!is_same(r, "e-0-a", before));
    ring_live(r);
    arena_done(&a);
}

TEST(a_gang_that_fails_time_after_time_is_made_anew_later_and_later)
{
    static const int64_t waits[] = {10, 20, 40, 80, 160, 160};
    struct ring r = healthy();
    pass(&r, 60);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        char count[8];
        fail_again(&r, waits[i]);
        (void)snprintf(count, sizeof(count), "%zu", i + 1);
        CHECK_CSTR(str_of(told(&r, "name")), "e-0");
        CHECK_CSTR(str_of(told(&r, "count")), count);
        CHECK_CSTR(str_of(told(&r, "nextTerminationTime")), "");
        pass(&r, 5); /* it serves for a moment */
    }
    /* The status says when it is due, while it is in breach. */
    lose(&r, "e-0-a");
    struct strbuf due = STRBUF_INIT(64);
    time_format_rfc3339(r.world->world.now + 160 * USEC_PER_SEC, &due);
    CHECK_CSTR(str_of(told(&r, "nextTerminationTime")), due.p);
    strbuf_done(&due);
    ring_live(&r);
    /* Well for a while: from the beginning. And in the end it is forgotten. */
    pass(&r, 610);
    fail_again(&r, 10);
    CHECK_CSTR(str_of(told(&r, "count")), "1");
    pass(&r, 600 + 20 + 3); /* times are rounded up */
    (void)ring_settle(&r);
    CHECK_CSTR(str_of(told(&r, "count")), "");
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pcs, "e"), STR(ANNOTATION_TERMINATIONS)), "");
    ring_free(&r);
}

/* Copies of a group are counted by themselves. */
TEST(a_copy_of_a_group_that_fails_time_after_time_is_made_anew_later)
{
    struct arena a = ARENA_INIT;
    struct ring r = healthy();
    pass(&r, 60);
    for (int64_t wait = 10; wait <= 40; wait *= 2) {
        str before = uid_of(&a, &r, "e-0-g-1-c"), alone = uid_of(&a, &r, "e-0-a");
        lose(&r, "e-0-g-1-c");
        pass(&r, wait);
        (void)ring_settle(&r);
        CHECK(is_same(&r, "e-0-g-1-c", before));
        pass(&r, 1);
        (void)ring_settle(&r);
        CHECK(!is_same(&r, "e-0-g-1-c", before));
        CHECK(is_same(&r, "e-0-a", alone));
        ring_live(&r);
    }
    CHECK_CSTR(str_of(told(&r, "name")), "e-0-g-1");
    CHECK_CSTR(str_of(told(&r, "count")), "3");
    arena_done(&a);
    ring_free(&r);
}

/* Whatever somebody writes into the annotation. */
TEST(nonsense_in_the_count_of_terminations_is_forgotten)
{
    static const char *const texts[] = {"[]",
                                        "{",
                                        "7",
                                        "{\"e-0\":{\"count\":-3,\"at\":\"2026-01-01T00:00:00Z\"}}",
                                        "{\"e-0\":{\"count\":1e300,\"at\":\"x\"}}",
                                        "{\"e-0\":null,\"\":{}}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct ring r = healthy();
        char patch[256];
        (void)snprintf(patch, sizeof(patch), "{metadata: {annotations: {%s: '%s'}}}",
                       ANNOTATION_TERMINATIONS, texts[i]);
        tw_patch(r.world, &kind_pcs, "e", patch);
        (void)ring_settle(&r);
        CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pcs, "e"), STR(ANNOTATION_TERMINATIONS)),
                   "");
        fail_again(&r, 10);
        ring_free(&r);
    }
}

TEST(numbers_of_users_outlive_termination)
{
    struct ring r = healthy();
    tw_patch(r.world, &kind_pclq, "e-0-a", "{spec: {replicas: 7}}");
    tw_patch(r.world, &kind_pcsg, "e-0-g", "{spec: {replicas: 3}}");
    tw_patch(r.world, &kind_pclq, "e-0-g-1-c", "{spec: {replicas: 2}}");
    ring_live(&r);
    pass(&r, 60);
    lose(&r, "e-0-a");
    pass(&r, DELAY);
    ring_plan_pcs(&r, "e");
    /* Written before anything is deleted. */
    const struct plan_write *keep = tw_write(r.world, &kind_pcs, "e", "");
    REQUIRE(keep != NULL);
    CHECK(keep->stage < tw_write(r.world, &kind_pclq, "e-0-g-0-b", "")->stage);
    (void)ring_settle(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "e-0-a"), "spec.replicas"), "7");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcsg, "e-0-g"), "spec.replicas"), "3");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "e-0-g-1-c"), "spec.replicas"), "2");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "e-0-g-0-c"), "spec.replicas"), "3");
    /* And is forgotten when it has served. */
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pcs, "e"), STR(ANNOTATION_KEPT)), "");
    ring_free(&r);
}

/* While an update runs the condition is Unknown, and there is no breach. */
TEST(an_update_suppresses_termination)
{
    struct ring r = healthy();
    pass(&r, 60);
    /* Another priority class is another template for all of them; nobody makes successors ready. */
    tw_patch(r.world, &kind_pcs, "e", "{spec: {template: {priorityClassName: high}}}");
    (void)ring_settle(&r);
    CHECK_INT(jlen(jpath(obj_status(tw_must(r.world, &kind_pcs, "e")),
                         "updateProgress.currentlyUpdating")),
              1);
    CHECK_CSTR(jstr(jgetc(condition_find(jgetc(obj_status(tw_must(r.world, &kind_pcsg, "e-0-g")),
                                               "conditions"),
                                         STR("MinAvailableBreached")),
                          "status")),
               "Unknown");
    lose(&r, "e-0-a");
    lose(&r, "e-0-g-0-b");
    lose(&r, "e-0-g-1-b");
    pass(&r, 3600);
    ring_plan_pcs(&r, "e");
    CHECK_INT(deletes(&r), 0);
    ring_free(&r);
}

/* below the minimum by a user's own number. */
TEST(a_group_scaled_below_its_minimum_is_made_anew_once)
{
    struct arena a = ARENA_INIT;
    struct ring r = healthy();
    tw_patch(r.world, &kind_pcs, "e",
             "{spec: {template: {podCliqueScalingGroups: [{name: g, cliqueNames: [b, c], replicas: "
             "2, minAvailable: 2}]}}}");
    ring_live(&r);
    pass(&r, 60);
    str before = uid_of(&a, &r, "e-0-a");
    tw_patch(r.world, &kind_pcsg, "e-0-g", "{spec: {replicas: 1}}");
    ring_live(&r);
    pass(&r, DELAY);
    ring_live(&r);
    CHECK(!is_same(&r, "e-0-a", before));
    str fresh = uid_of(&a, &r, "e-0-a");
    for (int i = 0; i < 5; i++) {
        pass(&r, 60);
        ring_live(&r);
    }
    CHECK(is_same(&r, "e-0-a", fresh));
    tw_patch(r.world, &kind_pcsg, "e-0-g", "{spec: {replicas: 2}}");
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcs, "e"), "status.availableReplicas"), "1");
    arena_done(&a);
    ring_free(&r);
}

/* Stopped after the first deletes: the rest follows, and nothing new goes. */
TEST(termination_survives_a_stop_on_the_way)
{
    struct arena a = ARENA_INIT;
    struct ring r = healthy();
    pass(&r, 60);
    str breached = uid_of(&a, &r, "e-0-a"), b0 = uid_of(&a, &r, "e-0-g-0-b");
    lose(&r, "e-0-a");
    pass(&r, DELAY);
    tw_remove(r.world, &kind_pclq, "e-0-g-1-b"); /* as far as it got */
    ring_plan_pcsg(&r, "e-0-g");
    tw_carry_out(r.world);
    str made = uid_of(&a, &r, "e-0-g-1-b");
    (void)ring_settle(&r);
    CHECK(!is_same(&r, "e-0-a", breached));
    CHECK(!is_same(&r, "e-0-g-0-b", b0));
    CHECK(is_same(&r, "e-0-g-1-b", made));
    arena_done(&a);
    ring_free(&r);
}

/* Two cliques that change their templates: the same text under another name gets the next number.
 */
TEST(rollups_tell_apart_what_differs_little)
{
    static const char *const before[] = {"c658c6887987f655957", "5d8865dd9878f94774c6"};
    static const char *const after[] = {"c658c6887987f655958", "5d8865dd9878f94774c5"};
    CHECK(rollup_hash(str_of(before[0])) + rollup_hash(str_of(before[1])) !=
          rollup_hash(str_of(after[0])) + rollup_hash(str_of(after[1])));
}

/* The numbers kept on the way are those counted from scratch. */
TEST(rollups_are_what_counting_gives)
{
    struct ring r = healthy();
    tw_patch(r.world, &kind_pcs, "e", "{spec: {replicas: 3}}");
    ring_live(&r);
    lose(&r, "e-1-a");
    tw_delete(r.world, &kind_pclq, "e-2-g-0-b");
    const struct rollup *kept = rollup_of(&r.world->world, &kind_pclq, STR("e-uid"));
    struct rollup fresh = {0};
    struct obj *o;
    for (struct cache_iter it = world_owned(&r.world->world, &kind_pclq, STR("e-uid"));
         (o = cache_next(&it));)
        rollup_add(&fresh, o);
    REQUIRE(kept->replicas.len == 3 && fresh.replicas.len == 3);
    CHECK(memcmp(kept->replicas.p, fresh.replicas.p, 3 * sizeof(*fresh.replicas.p)) == 0);
    CHECK_INT(fresh.replicas.p[0].available, 1);
    CHECK_INT(fresh.replicas.p[1].available, 0);
    for (struct cache_iter it = world_owned(&r.world->world, &kind_pclq, STR("e-uid"));
         (o = cache_next(&it));)
        rollup_remove(&fresh, o);
    for (size_t i = 0; i < 3; i++)
        CHECK(memcmp(&fresh.replicas.p[i], &(struct rollup_replica){0},
                     sizeof(fresh.replicas.p[i])) == 0);
    rollup_done(&fresh);
    ring_free(&r);
}
