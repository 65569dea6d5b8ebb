/* A base gang goes where scaled gangs find room that nobody has seen yet. */
#include "sched/model/test-round.h"

/* z1 fits the base gang best: it has room for three pods of 4 CPUs, z2 for four. */
static struct test_world *two_zones(const char *scaled)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s, uid: u}}");
    add_pod(t, "x-0", 4, ", nodeName: n1");
    add_pod(t, "w-0", 4, "");
    add_gang(t, "w", 1, 1);
    tw_patch(t, &kind_pod_gang, "w",
             "{spec: {topologyConstraint: {packConstraint: {required: zone}}}, metadata: "
             "{annotations: {grove.io/topology-name: topo}, ownerReferences: [{apiVersion: "
             "grove.io/v1alpha1, kind: PodCliqueSet, name: s, uid: u, controller: true}]}}");
    struct arena a = ARENA_INIT;
    tw_patch(t, &kind_pod_gang, "w",
             arena_printf(&a, "{metadata: {annotations: {grove.io/scaled-pods: '%s'}}}", scaled).p);
    arena_done(&a);
    return t;
}

static void check_zone(const char *scaled, const char *zone)
{
    struct test_world *t = two_zones(scaled);
    plan_round(t);
    carry_out(t);
    CHECK(!str_is_empty(node_of(t, "w-0")));
    CHECK_CSTR(zone_of(t, "w-0"), zone);
    tw_free(t);
}

TEST(room_is_left_for_gangs_that_are_still_to_come)
{
    check_zone("w=2", "z1");
    check_zone("w=3", "z2");
}

/* It is a wish: nobody waits for room that is nowhere. */
TEST(what_is_to_come_holds_nobody_back)
{
    check_zone("w=50", "z2");
    check_zone("w=9223372036854775807", "z2");
}

TEST(nonsense_in_the_annotation_is_no_room)
{
    check_zone("w", "z1");
    check_zone("w=-3,=7,other=9,w=x,,", "z1");
}

/* What is there already is not counted twice. */
TEST(gangs_that_came_are_no_longer_to_come)
{
    struct test_world *t = two_zones("w=2");
    for (int i = 0; i < 2; i++) {
        char pod[32];
        (void)snprintf(pod, sizeof(pod), "w-g-%d", i);
        add_pod(t, pod, 4, ", schedulingGates: [{name: g}]");
        tw_patch(t, &kind_pod, pod,
                 "{metadata: {labels: {grove.io/podgang: w-g, grove.io/podclique: w-g, "
                 "grove.io/base-podgang: w}}}");
    }
    add_gang(t, "w-g", 2, 2);
    tw_patch(t, &kind_pod_gang, "w-g",
             "{metadata: {labels: {grove.io/podcliquescalinggroup: w-g}, annotations: "
             "{grove.io/topology-name: topo}, ownerReferences: [{apiVersion: grove.io/v1alpha1, "
             "kind: PodCliqueSet, name: s, uid: u, controller: true}]}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "w-0"), "z1");
    tw_free(t);
}
