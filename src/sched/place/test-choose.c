/* Which pods of a group are its minimum: any that there is room for. */
#include "sched/model/round.h"
#include "sched/model/test-round.h"

#define CLAIMED ", volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]"
#define NOWHERE ", nodeSelector: {x: nowhere}"

static size_t count_placed(struct test_world *t, const char *gang, int n)
{
    size_t placed = 0;
    for (int i = 0; i < n; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "%s-%d", gang, i);
        placed += !str_is_empty(node_of(t, pod));
    }
    return placed;
}

static void run(struct test_world *t)
{
    for (int i = 0; i < 3; i++) {
        plan_round(t);
        carry_out(t);
    }
}

TEST(a_pod_that_cannot_be_judged_does_not_stand_for_its_group)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_pod(t, "w-0", 1, CLAIMED);
    add_pod(t, "w-1", 1, "");
    add_pod(t, "w-2", 1, "");
    add_gang(t, "w", 2, 3);
    run(t);
    CHECK(str_is_empty(node_of(t, "w-0")));
    CHECK_INT(count_placed(t, "w", 3), 2);
    /* It says why itself. */
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod, "w-0")), "conditions"),
                            STR("PodScheduled"));
    CHECK(str_find(jstr(jgetc(c, "message")), STR("persistent volume claim none")) >= 0);
    tw_free(t);
}

TEST(a_surplus_pod_that_cannot_be_judged_stops_no_other)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    for (int i = 0; i < 5; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "w-%d", i);
        add_pod(t, pod, 1, i == 2 ? CLAIMED : "");
    }
    add_gang(t, "w", 1, 5);
    run(t);
    CHECK(str_is_empty(node_of(t, "w-2")));
    CHECK_INT(count_placed(t, "w", 5), 4);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    tw_free(t);
}

/* Too few without it: nobody is placed, and it is said for whose sake. */
TEST(a_group_that_needs_the_pod_that_cannot_be_judged_waits_for_it)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_pod(t, "w-0", 1, "");
    add_pod(t, "w-1", 1, CLAIMED);
    add_gang(t, "w", 2, 2);
    run(t);
    CHECK_INT(count_placed(t, "w", 2), 0);
    check_condition(t, "w", "True", "persistent volume claim none does not exist");
    tw_free(t);
}

TEST(pods_that_fit_nowhere_do_not_stand_for_their_group)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_pod(t, "w-0", 1, NOWHERE);
    add_pod(t, "w-1", 1, "");
    add_pod(t, "w-2", 1, NOWHERE);
    add_pod(t, "w-3", 1, "");
    add_gang(t, "w", 2, 4);
    run(t);
    CHECK(str_is_empty(node_of(t, "w-0")) && str_is_empty(node_of(t, "w-2")));
    CHECK_INT(count_placed(t, "w", 4), 2);
    tw_free(t);
}

/* Of each kind as many as there is room for: no kind alone is enough. */
TEST(a_minimum_is_made_up_of_several_kinds)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    tw_patch(t, &kind_node, "n1", "{metadata: {labels: {x: a}}}");
    tw_patch(t, &kind_node, "n2", "{metadata: {labels: {x: b}}}");
    tw_patch(t, &kind_node, "n3", "{metadata: {labels: {x: b}}}");
    for (int i = 0; i < 6; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "w-%d", i);
        add_pod(t, pod, 4, i < 3 ? ", nodeSelector: {x: a}" : ", nodeSelector: {x: b}");
    }
    add_gang(t, "w", 3, 6);
    run(t);
    CHECK_INT(count_placed(t, "w", 6), 3);
    tw_free(t);
}

/* Room for the others comes: it is seen although the first ones were refused for something else. */
TEST(room_for_any_kind_wakes_the_gang)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_pod(t, "x-0", 4, ", nodeName: n1");
    add_pod(t, "x-1", 4, ", nodeName: n2");
    add_pod(t, "w-0", 4, NOWHERE);
    add_pod(t, "w-1", 4, "");
    add_gang(t, "w", 1, 2);
    run(t);
    CHECK_INT(count_placed(t, "w", 2), 0);
    tw_remove(t, &kind_pod, "x-1");
    run(t);
    CHECK_CSTR(node_of(t, "w-1"), "n2");
    tw_free(t);
}
