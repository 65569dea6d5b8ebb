/* Room that surplus leaves to gangs that wait, and for how long. */
#include "sched/model/test-round.h"
#include "sched/place/hold.h"
#include "sched/preempt/yield.h"

static void rounds(struct test_world *t, int n)
{
    for (int i = 0; i < n; i++) {
        plan_round(t);
        carry_out(t);
    }
}

static void add_node(struct test_world *t, int i)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {}, status: {allocatable: "
             "{cpu: '4', pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}",
             i);
}

/* A gang of n pods, each as large as a node. */
static void add_large(struct test_world *t, const char *name, int min, int n)
{
    char pod[32];
    add_gang(t, name, min, n);
    for (int i = 0; i < n; i++) {
        (void)snprintf(pod, sizeof(pod), "%s-%d", name, i);
        add_pod(t, pod, 4, "");
    }
}

static int count_placed(struct test_world *t, const char *name, int n)
{
    char pod[32];
    int placed = 0;
    for (int i = 0; i < n; i++) {
        (void)snprintf(pod, sizeof(pod), "%s-%d", name, i);
        placed += !str_is_empty(node_of(t, pod));
    }
    return placed;
}

/* Two nodes: the gang "s" has its minimum on one, the gang "w" needs two and waits. */
static struct test_world *world_that_waits(void)
{
    struct test_world *t = world_new();
    add_node(t, 1);
    add_large(t, "s", 1, 3);
    rounds(t, 2);
    add_large(t, "w", 2, 2);
    rounds(t, 2);
    add_node(t, 2);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 1);
    CHECK_INT(count_placed(t, "w", 2), 0);
    return t;
}

TEST(surplus_leaves_a_node_to_a_gang_that_needs_it_and_another_one)
{
    struct test_world *t = world_that_waits();
    add_node(t, 3);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 1);
    CHECK_INT(count_placed(t, "w", 2), 2);
    /* Nobody waits any more: the rest is the surplus's. */
    add_node(t, 4);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 2);
    tw_free(t);
}

TEST(pods_that_leave_room_say_to_whom)
{
    struct test_world *t = world_that_waits();
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod, "s-1")), "conditions"),
                            STR("PodScheduled"));
    CHECK_CSTR(jstr(jgetc(c, "message")),
               "s: there is room, left to gang default/w, which waits for its minimum");
    tw_free(t);
}

TEST(patience_ends_a_minute_after_there_came_to_be_no_more_room)
{
    struct test_world *t = world_that_waits();
    struct tgang *w = tables_gang(sched->tables, STR("default"), STR("w"));
    struct tgang *s = tables_gang(sched->tables, STR("default"), STR("s"));
    usec began = s->yield_since;
    CHECK(s->yields && began > 0 && w->claims);
    /* Before a minute is over nothing changes, whatever happens elsewhere. */
    t->world.now = began + YIELD_PATIENCE - USEC_PER_SEC;
    w->hold_due = t->world.now + HOLD_AFTER; /* it holds nothing for itself: see test-hold.c */
    tw_patch(t, &kind_pod, "s-1", "{metadata: {annotations: {a: b}}}");
    rounds(t, 1);
    CHECK_INT(count_placed(t, "s", 3), 1);
    t->world.now = began + YIELD_PATIENCE;
    rounds(t, 1);
    CHECK_INT(count_placed(t, "s", 3), 2);
    CHECK(!s->yields || s->yield_since == t->world.now);
    tw_free(t);
}

TEST(what_not_even_an_empty_cluster_holds_keeps_no_surplus_waiting)
{
    struct test_world *t = world_new();
    add_node(t, 1);
    add_large(t, "s", 1, 3);
    rounds(t, 2);
    add_large(t, "w", 5, 5);
    rounds(t, 2);
    add_node(t, 2);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 2);
    tw_free(t);
}

TEST(less_important_gangs_keep_no_surplus_waiting)
{
    struct test_world *t = world_new();
    add_priority(t, "high", 100);
    add_node(t, 1);
    add_large(t, "s", 1, 3);
    tw_patch(t, &kind_pod_gang, "s", "{spec: {priorityClassName: high}}");
    rounds(t, 2);
    add_large(t, "w", 2, 2);
    rounds(t, 2);
    add_node(t, 2);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 2);
    tw_free(t);
}

TEST(surplus_takes_what_is_beyond_the_need_of_who_waits)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    /* "w" needs two pods of 4 CPUs; what it cannot use is free: half a node. */
    add_pod(t, "x-0", 2, ", nodeName: n1");
    add_gang(t, "s", 1, 3);
    add_pod(t, "s-0", 1, ", nodeName: n1");
    add_pod(t, "s-1", 1, "");
    add_pod(t, "s-2", 1, "");
    add_large(t, "w", 2, 2);
    rounds(t, 3);
    CHECK_CSTR(node_of(t, "s-1"), "n1");
    CHECK(str_is_empty(node_of(t, "s-2")));
    tw_free(t);
}

TEST(room_is_left_where_the_gang_comes_nearest_and_not_elsewhere)
{
    struct test_world *t = world_new();
    add_binding(t);
    add_zones(t); /* two zones of two nodes with 8 CPUs */
    add_pod(t, "x-0", 8, ", nodeName: n1");
    add_pod(t, "x-1", 4, ", nodeName: n3");
    add_pod(t, "x-3", 4, ", nodeName: n3");
    add_pod(t, "x-2", 4, ", nodeName: n4");
    add_packed(t, "w", 10, "zone"); /* of 1 CPU: 8 fit in z1, 4 in z2 */
    rounds(t, 2);
    CHECK_INT(count_placed(t, "w", 10), 0);
    add_gang(t, "s", 1, 2);
    add_pod(t, "s-0", 4, "");
    add_pod(t, "s-1", 4, "");
    rounds(t, 3);
    /* The minimum of "s" takes what fits best, the rest of z2; its surplus does not take z1. */
    CHECK_CSTR(node_of(t, "s-0"), "n4");
    CHECK(str_is_empty(node_of(t, "s-1")));
    /* As soon as there is room elsewhere it goes there. */
    tw_remove(t, &kind_pod, "x-1");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "s-1"), "n3");
    tw_free(t);
}

TEST(a_gang_that_goes_leaves_what_was_left_to_it)
{
    struct test_world *t = world_that_waits();
    tw_remove(t, &kind_pod, "w-0");
    tw_remove(t, &kind_pod, "w-1");
    tw_remove(t, &kind_pod_gang, "w");
    rounds(t, 2);
    CHECK_INT(count_placed(t, "s", 3), 2);
    CHECK_INT(sched->tables->n_yielding, 0);
    tw_free(t);
}

/* ---- scaled gangs ---- */

/* Gangs of the set "set": a base gang of each replica, and a scaled one of the first. */
static void add_of_set(struct test_world *t, const char *name, int n, const char *base)
{
    char patch[256], label[64] = "";
    add_large(t, name, n, n);
    (void)snprintf(patch, sizeof(patch),
                   "{metadata: {ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: "
                   "PodCliqueSet, name: set, uid: set-uid, controller: true}]}}");
    tw_patch(t, &kind_pod_gang, name, patch);
    for (int i = 0; base && i < n; i++) {
        (void)snprintf(label, sizeof(label), "%s-%d", name, i);
        (void)snprintf(patch, sizeof(patch), "{metadata: {labels: {grove.io/base-podgang: %s}}}",
                       base);
        tw_patch(t, &kind_pod, label, patch);
    }
}

TEST(a_scaled_gang_leaves_room_to_base_gangs_of_its_set)
{
    struct test_world *t = world_new();
    add_node(t, 1);
    add_of_set(t, "set-0", 1, NULL);
    rounds(t, 2);
    add_of_set(t, "set-1", 3, NULL);
    add_of_set(t, "set-0-x-0", 2, "set-0");
    rounds(t, 2);
    add_node(t, 2);
    add_node(t, 3);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "set-0-x-0", 2), 0);
    check_condition(t, "set-0-x-0", "True",
                    "there is room, left to gang default/set-1, which waits for its minimum");
    add_node(t, 4);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "set-1", 3), 3);
    add_node(t, 5);
    add_node(t, 6);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "set-0-x-0", 2), 2);
    tw_free(t);
}

TEST(other_gangs_take_whatever_fits)
{
    struct test_world *t = world_that_waits();
    add_large(t, "o", 1, 1);
    rounds(t, 2);
    CHECK_INT(count_placed(t, "o", 1), 1);
    tw_free(t);
}
