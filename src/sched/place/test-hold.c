/* Room that is held: for many gangs, not for ever, and who may be asked for whose sake. */
#include "sched/model/tell.h"
#include "sched/model/test-round.h"
#include "sched/place/hold.h"
#include "sched/preempt/victims.h"

static void rounds(struct test_world *t, int n)
{
    for (int i = 0; i < n; i++) {
        plan_round(t);
        carry_out(t);
    }
}

static str reason_of(struct test_world *t, const char *gang)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                            STR("DisruptionTarget"));
    return str_is(jstr(jgetc(c, "status")), "True") ? jstr(jgetc(c, "reason")) : STR_NONE;
}

/* A gang of one pod of 4 CPUs on the node, or waiting. */
static void add_one(struct test_world *t, const char *name, const char *node)
{
    char pod[32], more[48];
    (void)snprintf(pod, sizeof(pod), "%s-0", name);
    (void)snprintf(more, sizeof(more), node ? ", nodeName: %s" : "%s", node ? node : "");
    add_pod(t, pod, 4, more);
    add_gang(t, name, 1, 1);
}

static void add_urgent(struct test_world *t, const char *name, int priority)
{
    char class[32], patch[96];
    (void)snprintf(class, sizeof(class), "p%d", priority);
    (void)snprintf(patch, sizeof(patch), "{spec: {priorityClassName: %s}}", class);
    if (!tw_get(t, &kind_priority_class, class))
        add_priority(t, class, priority);
    add_one(t, name, NULL);
    tw_patch(t, &kind_pod_gang, name, patch);
}

/* ---- many ---- */

/* The victims of the first do not go (nobody deletes them here): the second asks others. */
TEST(a_gang_that_waits_for_others_to_go_stops_nobody_else_from_asking)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_one(t, "a", "n1");
    add_one(t, "b", "n2");
    add_urgent(t, "u", 100);
    rounds(t, 2);
    CHECK(str_is_empty(reason_of(t, "a")) != str_is_empty(reason_of(t, "b")));
    add_urgent(t, "v", 100);
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    CHECK_CSTR(reason_of(t, "b"), "PreemptionByScheduler");
    CHECK_INT(sched->tables->holds.len, 2);
    /* A third finds nobody, and who has the room is said. */
    add_urgent(t, "w", 100);
    rounds(t, 2);
    CHECK_INT(sched->tables->holds.len, 2);
    check_condition(t, "w", "True", "room is held for default/u, for which others make room and ");
    /* Each has the room that was made for it. */
    tw_remove(t, &kind_pod, "a-0");
    tw_remove(t, &kind_pod, "b-0");
    rounds(t, 3);
    CHECK(!str_is_empty(node_of(t, "u-0")) && !str_is_empty(node_of(t, "v-0")));
    CHECK(str_is_empty(node_of(t, "w-0")));
    CHECK_INT(sched->tables->holds.len, 0);
    tw_free(t);
}

/* Two gangs in one round: each asks another victim, none asks two. */
TEST(two_gangs_of_one_round_do_not_ask_the_same_victim)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    add_one(t, "a", "n1");
    add_one(t, "b", "n2");
    add_one(t, "c", "n3");
    add_urgent(t, "u", 100);
    add_urgent(t, "v", 100);
    rounds(t, 3);
    CHECK_INT(str_is_empty(reason_of(t, "a")) + str_is_empty(reason_of(t, "b")) +
                  str_is_empty(reason_of(t, "c")),
              1);
    tw_free(t);
}

/* More than a round seeks room for: all of them get it in the end. */
TEST(who_was_not_looked_after_in_one_round_is_in_the_next)
{
    struct test_world *t = world_new();
    char name[16], node[16];
    add_nodes(t, 10, 4);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "a%d", i);
        (void)snprintf(node, sizeof(node), "n%d", i + 1);
        add_one(t, name, node);
    }
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "u%d", i);
        add_urgent(t, name, 100);
    }
    rounds(t, 6);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "a%d", i);
        CHECK_CSTR(reason_of(t, name), "PreemptionByScheduler");
    }
    tw_free(t);
}

TEST(of_two_that_drain_the_first_holds_and_the_other_is_told)
{
    struct test_world *t = world_new();
    hold_room_for_large(t);
    CHECK_INT(sched->tables->holds.len, 1);
    add_pod(t, "huge-0", 4, "");
    add_pod(t, "huge-1", 4, "");
    add_gang(t, "huge", 2, 2);
    rounds(t, 1);
    t->world.now += 31 * USEC_PER_SEC;
    rounds(t, 2);
    CHECK_INT(sched->tables->holds.len, 1);
    check_condition(t, "huge", "True", "room is held for default/large, which has waited longer");
    tw_free(t);
}

/* ---- not for ever ---- */

TEST(room_is_not_held_for_ever_for_one_whom_nobody_makes_room)
{
    struct test_world *t = world_new();
    hold_room_for_large(t);
    add_pod(t, "small-0", 4, "");
    add_gang(t, "small", 1, 1);
    tw_patch(t, &kind_pod_gang, "small", "{metadata: {creationTimestamp: '2027-01-01T00:00:00Z'}}");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "small-0"), "");
    usec next = tw_look_at(t);
    CHECK(next > t->world.now && next <= t->world.now + HOLD_PATIENCE);
    t->world.now += HOLD_PATIENCE;
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "small-0"), "n1");
    tw_free(t);
}

/* Its one node of four is full of pods x0-0, x1-0 and so on of this size. */
static struct test_world *full_world(int each)
{
    struct test_world *t = world_new();
    char pod[16];
    add_nodes(t, 1, 4);
    for (int i = 0; i < 4 / each; i++) {
        (void)snprintf(pod, sizeof(pod), "x%d-0", i);
        add_pod(t, pod, each, ", nodeName: n1");
    }
    return t;
}

/* Somebody leaves every four minutes: that is worth waiting for. */
TEST(room_is_held_as_long_as_others_leave)
{
    struct test_world *t = full_world(1);
    char pod[16];
    add_pod(t, "large-0", 4, "");
    add_gang(t, "large", 1, 1);
    rounds(t, 1);
    t->world.now += 31 * USEC_PER_SEC;
    rounds(t, 1);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(sched->tables->holds.len, 1);
        t->world.now += 240 * USEC_PER_SEC;
        (void)snprintf(pod, sizeof(pod), "x%d-0", i);
        tw_remove(t, &kind_pod, pod);
        (void)snprintf(pod, sizeof(pod), "s%d-0", i);
        add_pod(t, pod, 1, "");
        rounds(t, 2);
    }
    CHECK_CSTR(node_of(t, "large-0"), "n1");
    tw_free(t);
}

/* It pauses, and then has another try. */
TEST(a_gang_that_waited_in_vain_asks_again_after_a_pause)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_one(t, "a", "n1");
    add_urgent(t, "u", 100);
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    t->world.now += HOLD_PATIENCE;
    rounds(t, 2);
    CHECK_INT(sched->tables->holds.len, 0);
    CHECK_CSTR(reason_of(t, "a"), "");
    CHECK(tw_look_at(t) > 0 && tw_look_at(t) <= t->world.now + HOLD_PAUSE);
    t->world.now += HOLD_PAUSE;
    rounds(t, 2);
    CHECK_INT(sched->tables->holds.len, 1);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    tw_free(t);
}

/* ---- what happens meanwhile ---- */

TEST(who_was_asked_may_stay_when_the_other_is_gone)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_one(t, "a", "n1");
    add_urgent(t, "u", 100);
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    tw_remove(t, &kind_pod_gang, "u");
    tw_remove(t, &kind_pod, "u-0");
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, "a"), "");
    CHECK_INT(sched->tables->holds.len, 0);
    tw_free(t);
}

TEST(room_on_a_node_that_is_lost_is_held_elsewhere)
{
    struct test_world *t = world_new();
    hold_room_for_large(t);
    tw_patch(t, &kind_node, "n1", "{spec: {unschedulable: true}}");
    CHECK_INT(sched->tables->holds.len, 0);
    rounds(t, 1);
    CHECK_INT(sched->tables->holds.len, 0);
    tw_load(t, "{apiVersion: v1, kind: Node, metadata: {name: n3}, spec: {}, status: {allocatable: "
               "{cpu: '4', pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}");
    rounds(t, 1);
    CHECK_INT(sched->tables->holds.len, 1);
    for (size_t i = 0; i < 2; i++)
        CHECK(sched->tables->holds.p[0].ops.p[i].node != tables_node(sched->tables, STR("n1")));
    tw_free(t);
}

/* A scheduler that starts asks nobody twice, and holds what was held. */
TEST(a_scheduler_that_starts_goes_on_where_the_one_before_was)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_one(t, "a", "n1");
    add_one(t, "b", "n2");
    add_urgent(t, "u", 100);
    rounds(t, 2);
    bool first = !str_is_empty(reason_of(t, "a"));
    tables_drop(sched);
    add_one(t, "later", NULL);
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, first ? "b" : "a"), "");
    CHECK_INT(sched->tables->holds.len, 1);
    tw_remove(t, &kind_pod, first ? "a-0" : "b-0");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "u-0"), first ? "n1" : "n2");
    CHECK_CSTR(node_of(t, "later-0"), "");
    tw_free(t);
}

/* Nothing becomes free for it: a gang that it may ask comes to where another was. */
TEST(who_could_ask_nobody_asks_those_who_come_later)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_one(t, "a", "n1");
    tw_patch(t, &kind_pod_gang, "a", "{metadata: {labels: {" PREEMPTIBILITY ": non-preemptible}}}");
    add_pod(t, "u-0", 8, "");
    add_gang(t, "u", 1, 1);
    add_priority(t, "high", 100);
    tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
    rounds(t, 2);
    add_one(t, "b", NULL);
    rounds(t, 1);
    CHECK_CSTR(node_of(t, "b-0"), "n1");
    /* As much leaves as came: what is free is what was free. */
    tw_remove(t, &kind_pod, "a-0");
    tw_remove(t, &kind_pod_gang, "a");
    t->world.now += SEEK_PAUSE;
    rounds(t, 2);
    CHECK_CSTR(reason_of(t, "b"), "PreemptionByScheduler");
    tw_free(t);
}

/* A pod that belongs to no gang is a gang of its own. */
TEST(room_is_held_for_a_pod_of_no_gang_too)
{
    struct test_world *t = full_world(2);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {containers: [{name: a, "
               "resources: {requests: {cpu: '4'}}}]}}");
    rounds(t, 1);
    CHECK_INT(tw_look_at(t), t->world.now + HOLD_AFTER);
    t->world.now += HOLD_AFTER + USEC_PER_SEC;
    rounds(t, 1);
    CHECK_INT(sched->tables->holds.len, 1);
    add_one(t, "later", NULL);
    tw_patch(t, &kind_pod, "later-0",
             "{spec: {containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}");
    tw_remove(t, &kind_pod, "x0-0");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "later-0"), "");
    tw_remove(t, &kind_pod, "x1-0");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "lone"), "n1");
    tw_free(t);
}

/* So many that not all of them can hold room at the same time. */
TEST(who_finds_no_place_among_the_holders_has_his_turn_later)
{
    struct test_world *t = world_new();
    char name[16], node[16];
    add_nodes(t, HOLDS_MAX + 3, 4);
    for (int i = 0; i < HOLDS_MAX + 3; i++) {
        (void)snprintf(name, sizeof(name), "a%d", i);
        (void)snprintf(node, sizeof(node), "n%d", i + 1);
        add_one(t, name, node);
        (void)snprintf(name, sizeof(name), "u%d", i);
        add_urgent(t, name, 100);
    }
    for (int turn = 0; turn < 30; turn++) {
        rounds(t, 1);
        CHECK(sched->tables->holds.len <= HOLDS_MAX);
        for (int i = 0; turn % 8 == 7 && i < HOLDS_MAX + 3; i++) {
            (void)snprintf(name, sizeof(name), "a%d", i);
            bool asked = !str_is_empty(reason_of(t, name));
            (void)snprintf(name, sizeof(name), "a%d-0", i);
            if (asked && tw_get(t, &kind_pod, name))
                tw_remove(t, &kind_pod, name);
        }
    }
    for (int i = 0; i < HOLDS_MAX + 3; i++) {
        (void)snprintf(name, sizeof(name), "u%d-0", i);
        CHECK(!str_is_empty(node_of(t, name)));
    }
    tw_free(t);
}
