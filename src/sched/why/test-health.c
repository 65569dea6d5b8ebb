/* What is told of gangs that are not what they say: pods that are not theirs, places that are no
 * longer one. */
#include "sched/model/test-round.h"
#include "sched/why/gang_health.h"

static jval condition_of(struct test_world *t, const char *gang, const char *type)
{
    return condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                          str_of(type));
}

static void check_word(struct test_world *t, const char *gang, const char *type, const char *status,
                       const char *reason, const char *message)
{
    jval c = condition_of(t, gang, type);
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK_CSTR(jstr(jgetc(c, "reason")), reason);
    CHECK_CSTR(jstr(jgetc(c, "message")), message);
}

static void name_pods(struct test_world *t, const char *gang, int min, const char *a, const char *b)
{
    struct arena arena = ARENA_INIT;
    tw_patch(t, &kind_pod_gang, gang,
             arena_printf(&arena,
                          "{spec: {podgroups: [{name: %s, minReplicas: %d, podReferences: ["
                          "{namespace: default, name: %s}, {namespace: default, name: %s}]}]}}",
                          gang, min, a, b)
                 .p);
    arena_done(&arena);
}

/* Until it is no longer thought to pass. */
static void wait_out(struct test_world *t)
{
    t->world.now += HEALTH_DOUBT;
    plan_round(t);
    carry_out(t);
}

/* ---- members ---- */

TEST(a_pod_of_another_gang_is_left_alone_and_told)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 1, "");
    add_gang(t, "a", 1, 1);
    name_pods(t, "a", 1, "a-0", "b-0");
    add_pod(t, "b-0", 1, "");
    plan_round(t);
    /* The gang it belongs to is not there yet: nobody places it. */
    CHECK_INT(count_binds(t), 1);
    CHECK(tw_write(t, &kind_pod, "a-0", "binding") != NULL);
    carry_out(t);
    /* It may be that the news of one come before those of the other. */
    CHECK(j_is_absent(condition_of(t, "a", "InvalidPodReference")));
    CHECK(tw_look_at(t) > 0);
    wait_out(t);
    check_word(t, "a", "InvalidPodReference", "True", "ReferencesDisagree",
               "of the 2 pods it names 1 are of another gang or of none (b-0)");
    tw_patch(t, &kind_pod_gang, "a",
             "{spec: {podgroups: [{name: a, minReplicas: 1, podReferences: [{namespace: default, "
             "name: a-0}]}]}}");
    plan_round(t);
    carry_out(t);
    check_word(t, "a", "InvalidPodReference", "False", "ReferencesAgree",
               "the pods it names are its own");
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    tw_free(t);
}

TEST(a_pod_that_is_named_twice_counts_once)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 1, "");
    add_gang(t, "a", 2, 1);
    name_pods(t, "a", 2, "a-0", "a-0");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    wait_out(t);
    check_word(t, "a", "Unschedulable", "True", "InvalidPodReference",
               "a has 1 pods to place and needs 2; of the 2 pods it names 1 are named twice (a-0)");
    check_word(t, "a", "InvalidPodReference", "True", "ReferencesDisagree",
               "of the 2 pods it names 1 are named twice (a-0)");
    name_pods(t, "a", 1, "a-0", "a-0");
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

/* A pod that is missing is nobody's fault, unless its gang's minimum needs it. */
TEST(missing_pods_are_told_when_the_minimum_lacks_them)
{
    for (int min = 1; min <= 2; min++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 8);
        add_pod(t, "a-0", 1, "");
        add_gang(t, "a", min, 2);
        plan_round(t);
        CHECK_INT(count_binds(t), min == 1);
        carry_out(t);
        wait_out(t);
        if (min == 2)
            check_word(t, "a", "Unschedulable", "True", "InvalidPodReference",
                       "a has 1 pods to place and needs 2; of the 2 pods it names 1 do not exist");
        else
            CHECK(j_is_absent(condition_of(t, "a", "InvalidPodReference")));
        tw_free(t);
    }
}

TEST(pods_of_a_group_that_the_gang_does_not_have_are_told)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 1, "");
    add_pod(t, "a-1", 1, "");
    add_pod(t, "a-2", 1, "");
    /* Named for a group that is not its own, and not named at all. */
    tw_patch(t, &kind_pod, "a-1", "{metadata: {labels: {grove.io/podclique: other}}}");
    tw_patch(t, &kind_pod, "a-2", "{metadata: {labels: {grove.io/podclique: other}}}");
    add_gang(t, "a", 1, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    carry_out(t);
    wait_out(t);
    check_word(t, "a", "InvalidPodReference", "True", "ReferencesDisagree",
               "of the 2 pods it names 1 are of another group of pods; 1 pods say they are of a "
               "group it does not have (a-1)");
    tw_free(t);
}

/* ---- place ---- */

static void move_node(struct test_world *t, const char *node, const char *zone)
{
    struct arena a = ARENA_INIT;
    tw_patch(t, &kind_node, node, arena_printf(&a, "{metadata: {labels: {zone: %s}}}", zone).p);
    arena_done(&a);
}

/* Three pods fill n1 and begin n2 of zone z1; then n2 moves. */
static struct test_world *world_apart(void)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_packed(t, "w", 3, "zone");
    tw_patch(t, &kind_pod, "w-0", "{spec: {nodeName: n2}}");
    tw_patch(t, &kind_pod, "w-1", "{spec: {nodeName: n1}}");
    tw_patch(t, &kind_pod, "w-2", "{spec: {nodeName: n1}}");
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "apply PodGang default/w status\n"); /* how well it is placed */
    carry_out(t);
    move_node(t, "n2", "z2");
    plan_round(t);
    carry_out(t);
    return t;
}

TEST(a_gang_that_came_apart_is_told_with_numbers_and_stays)
{
    struct test_world *t = world_apart();
    check_word(t, "w", "TopologyViolated", "True", "OverSeveralDomains",
               "the gang must be in one zone: 2 of 3 pods are in z1, w-0 on n2 is not");
    CHECK_INT(t->plan.events.len, 1);
    CHECK_CSTR(t->plan.events.p[0].reason, "TopologyViolated");
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    CHECK_INT(t->plan.events.len, 0);
    move_node(t, "n2", "z1");
    plan_round(t);
    carry_out(t);
    check_word(t, "w", "TopologyViolated", "False", "InOneDomain",
               "what must be together is together");
    tw_free(t);
}

/* The first of its pods is outside: the next one goes where most of them are. */
TEST(what_is_still_to_be_placed_goes_where_most_of_the_gang_is)
{
    struct test_world *t = world_apart();
    add_pod(t, "w-3", 1, "");
    tw_patch(t, &kind_pod_gang, "w",
             "{spec: {podgroups: [{name: w, minReplicas: 3, podReferences: [{namespace: default, "
             "name: w-0}, {namespace: default, name: w-1}, {namespace: default, name: w-2}, "
             "{namespace: default, name: w-3}]}]}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(node_of(t, "w-3"), "n1");
    check_word(t, "w", "TopologyViolated", "True", "OverSeveralDomains",
               "the gang must be in one zone: 2 of 3 pods are in z1, w-0 on n2 is not");
    tw_free(t);
}

/* A node that loses its label is in no domain at all. */
TEST(a_node_without_the_label_is_in_no_domain)
{
    struct test_world *t = world_apart();
    tw_patch(t, &kind_node, "n2", "{metadata: {labels: {zone: null}}}");
    plan_round(t);
    carry_out(t);
    check_word(t, "w", "TopologyViolated", "True", "OverSeveralDomains",
               "the gang must be in one zone: 2 of 3 pods are in z1, w-0 on n2 is not");
    tw_free(t);
}
