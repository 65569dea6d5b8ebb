/* Who makes room, and how it is asked: pods above the minimum before gangs. */
#include "sched/model/round.h"
#include "sched/model/tell.h"
#include "sched/model/test-round.h"

/* A gang of n pods of 4 CPUs, one to a node from `first` on, of which `min` are needed. */
static void add_tenant(struct test_world *t, const char *name, int n, int min, int first)
{
    for (int i = 0; i < n; i++) {
        char pod[32], more[32];
        (void)snprintf(pod, sizeof(pod), "%s-%d", name, i);
        (void)snprintf(more, sizeof(more), ", nodeName: n%d", first + i);
        add_pod(t, pod, 4, more);
        tw_patch(t, &kind_pod, pod, "{status: {conditions: [{type: Ready, status: 'True'}]}}");
    }
    add_gang(t, name, min, n);
}

static void add_urgent(struct test_world *t, int n)
{
    add_priority(t, "high", 100);
    for (int i = 0; i < n; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "u-%d", i);
        add_pod(t, pod, 4, "");
    }
    add_gang(t, "u", n, n);
    tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
}

static str reason_of(struct test_world *t, const char *gang)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                            STR("DisruptionTarget"));
    return str_is(jstr(jgetc(c, "status")), "True") ? jstr(jgetc(c, "reason")) : STR_NONE;
}

static size_t count_asked(struct test_world *t, const char *gang, int n)
{
    size_t asked = 0;
    for (int i = 0; i < n; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "%s-%d", gang, i);
        const struct obj *o = tw_get(t, &kind_pod, pod);
        asked += o && pod_is_trimmed(o);
    }
    return asked;
}

TEST(pods_above_the_minimum_are_asked_to_go_before_a_gang_is)
{
    struct test_world *t = world_new();
    add_nodes(t, 5, 4);
    add_tenant(t, "small", 1, 1, 1);
    add_tenant(t, "wide", 4, 2, 2);
    add_urgent(t, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "wide"), "TrimmedByScheduler");
    CHECK_CSTR(reason_of(t, "small"), "");
    CHECK_INT(count_asked(t, "wide", 4), 2);
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, "wide")), "conditions"),
                            STR("DisruptionTarget"));
    CHECK_CSTR(jstr(jgetc(c, "message")), "2 pods above its minimum must go: gang default/u of "
                                          "priority 100 needs the room");
    /* Nothing more is asked while they go. */
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    /* They go; what replaces them does not get the room. */
    for (int i = 0; i < 4; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "wide-%d", i);
        if (pod_is_trimmed(tw_must(t, &kind_pod, pod)))
            tw_remove(t, &kind_pod, pod);
    }
    add_pod(t, "wide-8", 4, "");
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK(!str_is_empty(node_of(t, "u-0")) && !str_is_empty(node_of(t, "u-1")));
    CHECK(str_is_empty(node_of(t, "wide-8")));
    CHECK_CSTR(reason_of(t, "wide"), "");
    tw_free(t);
}

TEST(a_gang_goes_where_spare_pods_are_not_enough)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_tenant(t, "wide", 4, 3, 1);
    add_urgent(t, 2);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "wide"), "PreemptionByScheduler");
    CHECK_INT(count_asked(t, "wide", 4), 0);
    tw_free(t);
}

/* One gang must go, and one pod of the other: not two gangs. */
TEST(spare_pods_save_a_gang)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_tenant(t, "a", 2, 2, 1);
    add_tenant(t, "b", 2, 1, 3);
    add_urgent(t, 3);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    CHECK_CSTR(reason_of(t, "b"), "TrimmedByScheduler");
    CHECK_INT(count_asked(t, "b", 2), 1);
    tw_free(t);
}

/* The ledger holds them back: the request is withdrawn, and the gang goes whole instead. */
TEST(spare_pods_that_cannot_go_are_not_asked_for_ever)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    add_tenant(t, "wide", 3, 2, 1);
    add_urgent(t, 1);
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_asked(t, "wide", 3), 1);
    t->world.now += TRIM_PATIENCE + USEC_PER_SEC; /* it was asked in the course of one */
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_asked(t, "wide", 3), 0);
    CHECK_CSTR(reason_of(t, "wide"), "");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "wide"), "PreemptionByScheduler");
    tw_free(t);
}

/* ---- who is meant ---- */

static size_t n_named(struct test_world *t, const char *gang)
{
    return jlen(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "disruptedPods"));
}

/* The request says exactly who must go: whoever carries it out may see what replaces them before he
 * sees that the request is over. */
TEST(a_gang_that_must_go_is_told_which_pods_are_meant)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_tenant(t, "a", 2, 2, 1);
    add_urgent(t, 1);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    jval named = jgetc(obj_status(tw_must(t, &kind_pod_gang, "a")), "disruptedPods");
    REQUIRE(jlen(named) == 2);
    for (struct jiter it = jiter(named); jnext(&it);) {
        struct arena a = ARENA_INIT;
        str name = arena_printf(&a, "%.*s", STR_ARG(jstr(jgetc(it.value, "name"))));
        CHECK_STR(jstr(jgetc(it.value, "uid")), tw_must(t, &kind_pod, name.p)->uid);
        arena_done(&a);
    }
    /* One of them is replaced on the spot by a pod of the same name that somebody bound: that one
     * was not asked, and when those who were are gone, it is over. */
    tw_remove(t, &kind_pod, "a-0");
    tw_remove(t, &kind_pod, "a-1");
    add_pod(t, "a-1", 4, ", nodeName: n2");
    plan_round(t);
    jval status = jgetc(tw_body(t, &kind_pod_gang, "a", "status"), "status");
    CHECK(j_has(jgetc(status, "conditions")) && j_is_absent(jgetc(status, "disruptedPods")));
    carry_out(t);
    CHECK_CSTR(reason_of(t, "a"), "");
    tw_free(t);
}

/* What must go is not written without end. */
TEST(a_gang_of_very_many_pods_is_not_named_one_by_one)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    char pod[32];
    for (int i = 0; i <= DISRUPTED_MAX; i++) {
        (void)snprintf(pod, sizeof(pod), "a-%d", i);
        add_pod(t, pod, i == 0 ? 4 : 0, ", nodeName: n1");
    }
    add_gang(t, "a", DISRUPTED_MAX + 1, DISRUPTED_MAX + 1);
    add_urgent(t, 1);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    CHECK_INT(n_named(t, "a"), 0);
    tw_free(t);
}

/* What is said of a gang in the round in which it is asked to go takes nothing back. */
TEST(a_gang_that_is_asked_to_go_places_nothing_in_that_round)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_pod(t, "a-0", 4, ", nodeName: n1");
    add_pod(t, "a-1", 4, "");
    add_gang(t, "a", 1, 2);
    tw_patch(t, &kind_pod, "a-1", "{spec: {nodeSelector: {x: nowhere}}}");
    add_urgent(t, 2);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "a"), "PreemptionByScheduler");
    CHECK_INT(n_named(t, "a"), 1);
    tw_free(t);
}

/* Others who look for room read where it is being made, and for whom. */
TEST(pods_for_which_room_is_made_say_where)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    add_tenant(t, "a", 2, 2, 1);
    add_tenant(t, "b", 1, 1, 3);
    add_urgent(t, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    str first = jstr(jgetc(obj_status(tw_must(t, &kind_pod, "u-0")), "nominatedNodeName"));
    str second = jstr(jgetc(obj_status(tw_must(t, &kind_pod, "u-1")), "nominatedNodeName"));
    CHECK_CSTR(first, "n1");
    CHECK_CSTR(second, "n2");
    CHECK(j_is_absent(jgetc(obj_status(tw_must(t, &kind_pod, "b-0")), "nominatedNodeName")));
    /* Said once. */
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    tw_free(t);
}

/* What somebody else said of a pod is his. */
TEST(a_nomination_of_others_is_left_alone)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 8, "");
    add_gang(t, "w", 1, 1);
    tw_patch(t, &kind_pod, "w-0", "{status: {nominatedNodeName: elsewhere}}");
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK_CSTR(jstr(jgetc(obj_status(tw_must(t, &kind_pod, "w-0")), "nominatedNodeName")),
               "elsewhere");
    CHECK_CSTR(tw_writes(t), "");
    tw_free(t);
}
