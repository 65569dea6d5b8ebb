/* Rounds again: families of gangs, room that is kept, what is told of a placement and of waiting.
 */
#include "sched/model/reservation.h"
#include "sched/model/tell.h"
#include "sched/model/test-round.h"
#include "sched/place/score.h"

static const char *const own_names[] = {"grove-scheduler"};

/* ---- who is served ---- */

TEST(only_pods_that_name_us_are_served)
{
    struct test_world *t = world_of(own_names, 1);
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 1, ", schedulerName: grove-scheduler");
    add_gang(t, "a", 1, 1);
    add_pod(t, "b-0", 1, ", schedulerName: default-scheduler");
    add_gang(t, "b", 1, 1);
    add_pod(t, "c-0", 1, "");
    add_gang(t, "c", 1, 1);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/a-0 binding\napply PodGang default/a status\n");
    tw_free(t);
}

/* The operator moves pods from gang to gang: who was placed for one is not bound in another. */
TEST(a_pod_of_a_gang_is_bound_as_it_was_seen)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 1, "");
    add_gang(t, "a", 1, 1);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {containers: [{name: c, "
               "resources: {requests: {cpu: '1'}}}]}}");
    plan_round(t);
    jval rv = jpath(tw_body(t, &kind_pod, "a-0", "binding"), "metadata.resourceVersion");
    char seen[32];
    (void)snprintf(seen, sizeof(seen), "%llu", (unsigned long long)tw_get(t, &kind_pod, "a-0")->rv);
    CHECK_CSTR(jstr(rv), seen);
    CHECK(tw_write(t, &kind_pod, "lone", "binding") != NULL);
    CHECK(j_is_absent(jpath(tw_body(t, &kind_pod, "lone", "binding"), "metadata.resourceVersion")));
    tw_free(t);
}

TEST(schedulers_of_one_process_do_not_meet)
{
    struct test_world *one = world_new();
    struct sched *first = sched;
    sched = NULL;
    struct test_world *two = world_new();
    struct sched *second = sched;
    add_nodes(one, 1, 4);
    add_nodes(two, 1, 4);
    for (int i = 0; i < 2; i++) {
        sched = i == 0 ? first : second;
        struct test_world *t = i == 0 ? one : two;
        add_pod(t, "w-0", 3, "");
        add_gang(t, "w", 1, 1);
        plan_round(t);
        CHECK_INT(count_binds(t), 1);
        carry_out(t);
    }
    CHECK(first->tables != NULL && second->tables != NULL);
    tw_free(one);
    tw_free(two);
    sched_free(first);
}

/* ---- why a gang waits ---- */

TEST(who_holds_the_room_is_named)
{
    struct test_world *t = world_new();
    add_priority(t, "low", -5);
    add_nodes(t, 2, 4);
    add_pod(t, "a-0", 3, ", nodeName: n1");
    add_pod(t, "a-1", 3, ", nodeName: n2");
    add_gang(t, "a", 1, 2);
    tw_patch(t, &kind_pod_gang, "a", "{spec: {priorityClassName: low}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {nodeName: n2, "
               "containers: [{name: a, resources: {requests: {cpu: '1'}}}]}}");
    add_pod(t, "w-0", 2, "");
    add_gang(t, "w", 1, 1);
    tw_patch(t, &kind_pod_gang, "w", "{spec: {priorityClassName: low}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    check_condition(t, "w", "True",
                    "w: its pod does not fit: 2 of 2 nodes lack cpu, 0 do not "
                    "admit it; held by default/a (2 pods, priority -5), pod default/lone");
    tw_free(t);
}

TEST(the_next_best_domains_are_named_too)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_pod(t, "a-0", 2, ", nodeName: n3");
    add_gang(t, "a", 1, 1);
    add_packed(t, "w", 17, "zone");
    plan_round(t);
    carry_out(t);
    check_condition(t, "w", "True", "the best, z1, has room for 16");
    check_condition(t, "w", "True", "; next, z2 for 14 (2 of 2 nodes lack cpu, 0 do not admit it)");
    tw_free(t);
}

/* "Needs 17 in one zone, best 16": nothing but a zone with 17 is worth a look. */
TEST(a_gang_is_looked_at_only_when_its_reason_may_be_gone)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_pod(t, "a-0", 2, ", nodeName: n3");
    add_pod(t, "b-0", 2, ", nodeName: n1");
    add_gang(t, "a", 1, 1);
    add_gang(t, "b", 1, 1);
    add_packed(t, "w", 16, "zone");
    plan_round(t);
    carry_out(t);
    plan_round(t);
    uint64_t looks = sched->tables->looks;
    tw_patch(t, &kind_pod, "a-0", "{status: {phase: Running}}");
    plan_round(t);
    CHECK_INT(sched->tables->looks, looks);
    /* A place for one more pod in a zone that would still lack one. */
    tw_patch(t, &kind_node, "n1", "{status: {allocatable: {cpu: '9'}}}");
    plan_round(t);
    CHECK_INT(sched->tables->looks, looks);
    tw_patch(t, &kind_node, "n1", "{status: {allocatable: {cpu: '10'}}}");
    plan_round(t);
    CHECK_INT(sched->tables->looks, looks + 1);
    CHECK_INT(count_binds(t), 16);
    tw_free(t);
}

/* ---- families ---- */

/* A gang of the set "s"; with `base` a scaled one of the group. Pods NAME-0.. of one CPU. */
static void add_kin(struct test_world *t, const char *name, const char *base, const char *group,
                    int n, const char *annotations)
{
    struct arena a = ARENA_INIT;
    char pod[48];
    add_gang(t, name, 1, n);
    for (int i = 0; i < n; i++) {
        (void)snprintf(pod, sizeof(pod), "%s-%d", name, i);
        add_pod(t, pod, 1, "");
        tw_patch(t, &kind_pod, pod,
                 arena_printf(&a, "{metadata: {labels: {grove.io/podclique: %s}}}", name).p);
        if (base)
            tw_patch(t, &kind_pod, pod,
                     arena_printf(&a, "{metadata: {labels: {grove.io/base-podgang: %s}}}", base).p);
    }
    tw_patch(t, &kind_pod_gang, name,
             arena_printf(&a,
                          "{metadata: {labels: {%s%s}, annotations: {%s}, ownerReferences: "
                          "[{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: s, uid: u, "
                          "controller: true}]}}",
                          group ? "grove.io/podcliquescalinggroup: " : "", group ? group : "",
                          annotations)
                 .p);
    arena_done(&a);
}

#define SPREAD(how) "grove.io/replica-spread: 'zone=" how "'"
#define TOPO "grove.io/topology-name: topo"

static void add_set(struct test_world *t)
{
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s, uid: u}}");
}

/* Scaled gangs and surplus go where their replica is, not where there is most room. */
TEST(scaled_gangs_and_surplus_follow_the_spread_of_their_replica)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_set(t);
    add_kin(t, "s-0", NULL, NULL, 3, SPREAD("preferred"));
    add_kin(t, "s-1", NULL, NULL, 3, SPREAD("preferred"));
    plan_round(t);
    carry_out(t);
    plan_round(t);
    carry_out(t);
    CHECK(!str_eq(zone_of(t, "s-0-0"), zone_of(t, "s-1-0")));
    for (int i = 0; i < 2; i++) {
        char name[32], base[16], first[16];
        (void)snprintf(base, sizeof(base), "s-%d", i);
        (void)snprintf(first, sizeof(first), "s-%d-0", i);
        for (int k = 1; k < 3; k++) {
            (void)snprintf(name, sizeof(name), "s-%d-%d", i, k);
            CHECK_STR(zone_of(t, name), zone_of(t, first));
        }
        (void)snprintf(name, sizeof(name), "s-%d-g-0", i);
        add_kin(t, name, base, name, 2, SPREAD("preferred"));
        plan_round(t);
        carry_out(t);
        (void)snprintf(name, sizeof(name), "s-%d-g-0-0", i);
        CHECK_STR(zone_of(t, name), zone_of(t, first));
    }
    tw_free(t);
}

/* Preferred: a full zone is left; required: it is waited for. */
TEST(a_full_home_is_left_only_when_it_may_be)
{
    static const char *const how[] = {SPREAD("preferred"), SPREAD("required")};
    for (int i = 0; i < 2; i++) {
        struct test_world *t = world_new();
        add_zones(t);
        add_set(t);
        add_kin(t, "s-0", NULL, NULL, 16, how[i]);
        plan_round(t);
        carry_out(t);
        plan_round(t);
        carry_out(t);
        add_kin(t, "s-0-g-0", "s-0", "s-0-g", 1, how[i]);
        plan_round(t);
        CHECK_INT(count_binds(t), i == 0);
        tw_free(t);
    }
}

/* What the set requires of a replica binds all its gangs, also the base gang that comes back. */
TEST(a_replica_stays_in_one_domain_whichever_gang_was_first)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_set(t);
    add_kin(t, "s-0", NULL, NULL, 1, TOPO);
    tw_patch(t, &kind_pod_gang, "s-0",
             "{spec: {topologyConstraint: {packConstraint: {required: zone}}}}");
    add_kin(t, "s-0-g-0", "s-0", "s-0-g", 1, TOPO);
    tw_patch(t, &kind_pod, "s-0-g-0-0", "{spec: {nodeName: n4}}");
    /* n1 is the best fit for a pod that may go anywhere. */
    add_pod(t, "x-0", 7, ", nodeName: n1");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "s-0-0"), "z2");
    tw_free(t);
}

/* z1 has room for the pods of the scaled gang, but not for both on one host: z2 has. What is there
 * of z1 would be the better fit for the base gang alone. */
TEST(a_base_gang_goes_where_those_to_come_can_be_as_they_must)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_set(t);
    add_pod(t, "x-0", 4, ", nodeName: n1");
    add_pod(t, "x-1", 4, ", nodeName: n2");
    add_kin(t, "s-0", NULL, NULL, 1, TOPO);
    tw_patch(t, &kind_pod_gang, "s-0",
             "{spec: {topologyConstraint: {packConstraint: {required: zone}}}}");
    add_kin(t, "s-0-g-0", "s-0", "s-0-g", 2, TOPO);
    for (int i = 0; i < 2; i++)
        tw_patch(t, &kind_pod, i ? "s-0-g-0-1" : "s-0-g-0-0",
                 "{spec: {schedulingGates: [{name: g}], containers: [{name: a, resources: "
                 "{requests: {cpu: '3'}}}]}}");
    tw_patch(t, &kind_pod_gang, "s-0-g-0",
             "{spec: {topologyConstraint: {packConstraint: {required: kubernetes.io/hostname}}}}");
    plan_round(t);
    carry_out(t);
    CHECK(!str_is_empty(node_of(t, "s-0-0")));
    CHECK_CSTR(zone_of(t, "s-0-0"), "z2");
    tw_free(t);
}

/* Its own pods beyond the minimum must be in the zone too. */
TEST(a_gang_goes_where_the_rest_of_it_has_room)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_set(t);
    add_pod(t, "x-0", 6, ", nodeName: n1");
    add_pod(t, "x-1", 8, ", nodeName: n2");
    add_kin(t, "s-0", NULL, NULL, 4, TOPO);
    tw_patch(t, &kind_pod_gang, "s-0",
             "{spec: {topologyConstraint: {packConstraint: {required: zone}}}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 4);
    tw_free(t);
}

static void add_anchor(struct test_world *t, const char *name, int replica, const char *annotations)
{
    char labels[256];
    (void)snprintf(labels, sizeof(labels),
                   "{metadata: {labels: {%s: 'true', %s: '%d'}},"
                   " spec: {topologyConstraint: {packConstraint: {required: zone}}}}",
                   LABEL_ANCHOR, LABEL_PCS_INDEX, replica);
    add_kin(t, name, NULL, NULL, 1, annotations);
    tw_patch(t, &kind_pod_gang, name, labels);
}

/* A replica under a map of gangs has no base gang: what is new of it goes where its anchors are. */
TEST(gangs_of_a_map_stay_with_the_anchors_of_their_replica)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_set(t);
    add_anchor(t, "s-0-1767225600000000001", 0, TOPO);
    tw_patch(t, &kind_pod, "s-0-1767225600000000001-0", "{spec: {nodeName: n4}}");
    add_anchor(t, "s-0-1767225600000000002", 0, TOPO);
    add_kin(t, "s-0-1767225600000000003", "s-0", "s-0-g", 1, TOPO);
    tw_patch(t, &kind_pod_gang, "s-0-1767225600000000003",
             "{metadata: {labels: {grove.io/podcliqueset-replica-index: '0'}}}");
    /* n1 is the best fit for pods that may go anywhere. */
    add_pod(t, "x-0", 6, ", nodeName: n1");
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK_CSTR(zone_of(t, "s-0-1767225600000000002-0"), "z2");
    CHECK_CSTR(zone_of(t, "s-0-1767225600000000003-0"), "z2");
    tw_free(t);
}

/* One replica in each zone, that of the first with two anchors: either zone may take a third. */
TEST(a_replica_with_many_anchors_counts_once_in_the_spread)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_set(t);
    add_anchor(t, "s-0-1767225600000000001", 0, SPREAD("required"));
    add_anchor(t, "s-0-1767225600000000002", 0, SPREAD("required"));
    add_anchor(t, "s-1-1767225600000000001", 1, SPREAD("required"));
    tw_patch(t, &kind_pod, "s-0-1767225600000000001-0", "{spec: {nodeName: n1}}");
    tw_patch(t, &kind_pod, "s-0-1767225600000000002-0", "{spec: {nodeName: n1}}");
    tw_patch(t, &kind_pod, "s-1-1767225600000000001-0", "{spec: {nodeName: n3}}");
    /* The second zone is full. */
    add_pod(t, "x-0", 7, ", nodeName: n3");
    add_pod(t, "x-1", 8, ", nodeName: n4");
    add_anchor(t, "s-2-1767225600000000001", 2, SPREAD("required"));
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "s-2-1767225600000000001-0"), "z1");
    tw_free(t);
}

/* Room for four of the six scaled gangs of two groups, of four and of two: always the group that
 * has the least of what it wants. */
TEST(scaling_groups_are_served_in_turn)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 5);
    add_set(t);
    add_kin(t, "s-0", NULL, NULL, 1, "");
    plan_round(t);
    carry_out(t);
    char name[32];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "s-0-a-%d", i);
        add_kin(t, name, "s-0", "s-0-a", 1, "");
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof(name), "s-0-b-%d", i);
        add_kin(t, name, "s-0", "s-0-b", 1, "");
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 4);
    CHECK(tw_write(t, &kind_pod, "s-0-a-0-0", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "s-0-a-1-0", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "s-0-b-0-0", "binding") != NULL);
    /* Both have half by now: the lower replica goes. */
    CHECK(tw_write(t, &kind_pod, "s-0-b-1-0", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "s-0-a-2-0", "binding") == NULL);
    tw_free(t);
}

/* The group is scaled in from its end: what waited longest there goes after a replica before it. */
TEST(replicas_of_a_scaling_group_are_placed_by_their_number)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 2);
    add_set(t);
    add_pod(t, "x-0", 1, ", nodeName: n1");
    add_kin(t, "s-0", NULL, NULL, 1, "");
    plan_round(t);
    carry_out(t);
    add_kin(t, "s-0-a-2", "s-0", "s-0-a", 1, "");
    plan_round(t);
    carry_out(t);
    check_condition(t, "s-0-a-2", "True", "");
    t->world.now += 90 * USEC_PER_SEC;
    add_kin(t, "s-0-a-1", "s-0", "s-0-a", 1, "");
    tw_remove(t, &kind_pod, "x-0");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(node_of(t, "s-0-a-1-0"), "n1");
    CHECK(str_is_empty(node_of(t, "s-0-a-2-0")));
    tw_free(t);
}

/* ---- making room ---- */

TEST(a_class_that_never_preempts_asks_nobody)
{
    struct test_world *t = world_new();
    tw_load(t, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: polite}, "
               "value: 100, preemptionPolicy: Never}");
    add_nodes(t, 1, 4);
    add_pod(t, "a-0", 4, ", nodeName: n1");
    add_gang(t, "a", 1, 1);
    plan_round(t);
    carry_out(t);
    add_pod(t, "b-0", 4, "");
    add_gang(t, "b", 1, 1);
    tw_patch(t, &kind_pod_gang, "b", "{spec: {priorityClassName: polite}}");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod_gang, "a", "status") == NULL);
    CHECK(tw_write(t, &kind_pod_gang, "b", "status") != NULL);
    tw_free(t);
}

/* Small gangs come for ever, each as one leaves: the large one is passed for as long as it takes to
 * hold the room, and then by those few who were first. */
TEST(a_large_gang_is_overtaken_a_bounded_number_of_times)
{
    struct test_world *t = world_new();
    char name[16], pod[16];
    add_nodes(t, 2, 4);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "r%d", i);
        (void)snprintf(pod, sizeof(pod), "r%d-0", i);
        add_pod(t, pod, 2, i < 2 ? ", nodeName: n1" : ", nodeName: n2");
        add_gang(t, name, 1, 1);
    }
    add_pod(t, "large-0", 4, "");
    add_gang(t, "large", 1, 1);
    int passed = 0;
    for (int i = 4; i < 60; i++) {
        t->world.now += 5 * USEC_PER_SEC;
        (void)snprintf(name, sizeof(name), "r%d", i);
        (void)snprintf(pod, sizeof(pod), "r%d-0", i);
        add_pod(t, pod, 2, "");
        add_gang(t, name, 1, 1);
        tw_patch(t, &kind_pod_gang, name,
                 "{metadata: {creationTimestamp: '2026-01-02T00:00:00Z'}}");
        (void)snprintf(pod, sizeof(pod), "r%d-0", i - 4);
        if (tw_get(t, &kind_pod, pod) && !str_is_empty(node_of(t, pod)))
            tw_remove(t, &kind_pod, pod);
        plan_round(t);
        bool placed = tw_write(t, &kind_pod, "large-0", "binding") != NULL;
        passed += (int)count_binds(t) - placed;
        carry_out(t);
        if (placed)
            break;
    }
    CHECK(!str_is_empty(node_of(t, "large-0")));
    /* One every five seconds until it holds the room, and the rest of those that were there. */
    CHECK(passed <= 10);
    tw_free(t);
}

/* ---- room that is kept ---- */

/* A gang of two pods of one clique on n2 and n3, each of which fills a node of three. */
static struct test_world *world_with_pair(void)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    add_set(t);
    add_pod(t, "w-0", 4, ", nodeName: n2");
    add_pod(t, "w-1", 4, ", nodeName: n3");
    add_gang(t, "w", 2, 2);
    for (int i = 0; i < 2; i++)
        tw_patch(t, &kind_pod, i ? "w-1" : "w-0", "{metadata: {labels: {grove.io/podclique: w}}}");
    plan_round(t);
    carry_out(t);
    return t;
}

/* One of the pair goes and is replaced; another gang waits for just such a place. */
static void replace_one(struct test_world *t)
{
    add_pod(t, "x-0", 4, ", nodeName: n1");
    tw_remove(t, &kind_pod, "w-1");
    add_pod(t, "other-0", 4, "");
    add_gang(t, "other", 1, 1);
    tw_patch(t, &kind_pod_gang, "other", "{metadata: {creationTimestamp: '2025-01-01T00:00:00Z'}}");
}

static void add_successor(struct test_world *t)
{
    add_pod(t, "w-9", 4, "");
    tw_patch(t, &kind_pod, "w-9", "{metadata: {labels: {grove.io/podclique: w}}}");
    tw_patch(t, &kind_pod_gang, "w",
             "{spec: {podgroups: [{name: w, minReplicas: 2, podReferences: [{namespace: default, "
             "name: w-0}, {namespace: default, name: w-9}]}]}}");
}

/* The node that the plan binds the pod to. */
static str target_of(struct test_world *t, const char *pod)
{
    return jstr(jpath(tw_body(t, &kind_pod, pod, "binding"), "target.name"));
}

TEST(a_replacement_finds_the_place_of_its_predecessor)
{
    struct test_world *t = world_with_pair();
    replace_one(t);
    /* The pod that comes next is not there yet; the place is not given away. */
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    check_condition(t, "other", "True", "room for 1 pod is kept for replacements in default/w");
    add_successor(t);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    CHECK_CSTR(target_of(t, "w-9"), "n3");
    carry_out(t);
    plan_round(t);
    CHECK_INT(sched->tables->leases.len, 0);
    tw_free(t);
}

/* One of a gang is bound, the other's binding fails: it is gone by then, or it was refused. Nobody
 * else takes the place that makes the gang whole, however long they have waited. */
TEST(a_place_that_was_found_stays_with_its_gang_when_the_binding_fails)
{
    for (int gone = 0; gone < 2; gone++) {
        struct test_world *t = world_new();
        add_nodes(t, 2, 4);
        add_set(t);
        for (int i = 0; i < 2; i++) {
            add_pod(t, i ? "w-1" : "w-0", 4, "");
            tw_patch(t, &kind_pod, i ? "w-1" : "w-0",
                     "{metadata: {labels: {grove.io/podclique: w}}}");
        }
        add_gang(t, "w", 2, 2);
        plan_round(t);
        CHECK_INT(count_binds(t), 2);
        bool first = str_is(target_of(t, "w-0"), "n1");
        tw_patch(t, &kind_pod, "w-0", first ? "{spec: {nodeName: n1}}" : "{spec: {nodeName: n2}}");
        if (gone)
            tw_remove(t, &kind_pod, "w-1");
        add_pod(t, "other-0", 4, "");
        add_gang(t, "other", 1, 1);
        tw_patch(t, &kind_pod_gang, "other",
                 "{metadata: {creationTimestamp: '2025-01-01T00:00:00Z'}}");
        plan_round(t);
        CHECK(!tw_write(t, &kind_pod, "other-0", "binding"));
        CHECK_INT(count_binds(t), gone ? 0 : 1);
        if (gone) {
            carry_out(t);
            add_successor(t);
            plan_round(t);
        }
        CHECK_CSTR(target_of(t, gone ? "w-9" : "w-1"), first ? "n2" : "n1");
        tw_free(t);
    }
}

TEST(a_place_is_kept_for_two_minutes)
{
    struct test_world *t = world_with_pair();
    replace_one(t);
    plan_round(t);
    carry_out(t);
    t->world.now += LEASE_TIME;
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "other-0", "binding") != NULL);
    tw_free(t);
}

static void add_member(struct test_world *t, const char *gang, int number, const char *node)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, labels: {grove.io/podgang: %s, "
             "grove.io/podclique: %s}}, spec: {containers: [{name: a, resources: {requests: {cpu: "
             "'1'}}}]%s%s}}",
             gang, number, gang, gang, node ? ", nodeName: " : "", node ? node : "");
}

/* One binding of two was refused. The last place is the gang's nevertheless, though another one,
 * which goes before it, needs a pod more by now. */
TEST(a_place_is_kept_for_a_pod_whose_binding_failed)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 3);
    add_member(t, "a", 0, "n1");
    add_gang(t, "a", 1, 1);
    add_member(t, "b", 0, NULL);
    add_member(t, "b", 1, NULL);
    add_gang(t, "b", 2, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    tw_patch(t, &kind_pod, "b-0", "{spec: {nodeName: n1}}");
    add_member(t, "a", 1, NULL);
    tw_patch(t, &kind_pod_gang, "a",
             "{spec: {podgroups: [{name: a, minReplicas: 2, podReferences: [{namespace: default, "
             "name: a-0}, {namespace: default, name: a-1}]}]}}");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "b-1", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "a-1", "binding") == NULL);
    tw_free(t);
}

TEST(a_more_important_gang_takes_a_place_that_is_kept)
{
    struct test_world *t = world_with_pair();
    add_priority(t, "high", 100);
    replace_one(t);
    tw_patch(t, &kind_pod_gang, "other", "{spec: {priorityClassName: high}}");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "other-0", "binding") != NULL);
    tw_free(t);
}

TEST(a_place_of_a_clique_that_wants_no_more_is_kept_for_a_second)
{
    struct test_world *t = world_with_pair();
    tw_patch(t, &kind_pod_gang, "w",
             "{spec: {podgroups: [{name: w, minReplicas: 1, podReferences: [{namespace: default, "
             "name: w-0}]}]}}");
    replace_one(t);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    t->world.now += LEASE_GRACE;
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "other-0", "binding") != NULL);
    tw_free(t);
}

#define OF_SET                                                                        \
    "{metadata: {labels: {grove.io/podcliqueset: s}, ownerReferences: [{apiVersion: " \
    "grove.io/v1alpha1, kind: PodCliqueSet, name: s, uid: u, controller: true}]}}"

/* A gang of the set with a pod of a clique, which fills a node. */
static void add_of_set(struct test_world *t, const char *gang, const char *clique, const char *more)
{
    struct arena a = ARENA_INIT;
    const char *pod = arena_printf(&a, "%s-0", gang).p;
    add_pod(t, pod, 4, more);
    tw_patch(t, &kind_pod, pod,
             arena_printf(&a, "{metadata: {labels: {grove.io/podclique: %s}}}", clique).p);
    add_gang(t, gang, 1, 1);
    tw_patch(t, &kind_pod_gang, gang, OF_SET);
    tw_patch(t, &kind_pod_gang, gang,
             arena_printf(&a,
                          "{spec: {podgroups: [{name: %s, minReplicas: 1, podReferences: "
                          "[{namespace: default, name: %s}]}]}}",
                          clique, pod)
                 .p);
    arena_done(&a);
}

/* As a coherent update does it: the old gang wants less, or is gone by then. */
TEST(a_clique_that_goes_on_in_another_gang_of_the_set_finds_its_place_there)
{
    for (int gone = 0; gone < 2; gone++) {
        struct test_world *t = world_with_pair();
        tw_patch(t, &kind_pod_gang, "w", OF_SET);
        tw_patch(t, &kind_pod, "w-1", "{metadata: {labels: {grove.io/podcliqueset: s}}}");
        add_of_set(t, "v", "w", "");
        if (gone)
            tw_remove(t, &kind_pod_gang, "w");
        else
            tw_patch(t, &kind_pod_gang, "w",
                     "{spec: {podgroups: [{name: w, minReplicas: 1, podReferences: [{namespace: "
                     "default, name: w-0}]}]}}");
        replace_one(t);
        plan_round(t);
        CHECK_CSTR(target_of(t, "v-0"), "n3");
        CHECK(!tw_write(t, &kind_pod, "other-0", "binding"));
        tw_free(t);
    }
}

/* Its gang is gone, and where its clique goes on is not known yet: others of the set hold the place
 * for a moment, and do not use it. */
TEST(a_place_that_is_held_for_another_clique_is_not_used)
{
    struct test_world *t = world_with_pair();
    tw_patch(t, &kind_pod_gang, "w", OF_SET);
    tw_patch(t, &kind_pod, "w-1", "{metadata: {labels: {grove.io/podcliqueset: s}}}");
    add_of_set(t, "v", "v", "");
    add_pod(t, "x-0", 4, ", nodeName: n1");
    tw_remove(t, &kind_pod_gang, "w");
    tw_remove(t, &kind_pod, "w-1");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    t->world.now += LEASE_GRACE;
    plan_round(t);
    CHECK_CSTR(target_of(t, "v-0"), "n3");
    tw_free(t);
}

static void add_first(struct test_world *t)
{
    add_of_set(t, "b-all", "w", "");
    tw_patch(t, &kind_pod_gang, "b-all",
             "{metadata: {labels: {scheduling.grove.io/anchor: 'true'}}}");
}

/* Of two gangs in which the clique goes on, the one that the other waits for. */
TEST(a_gang_that_others_wait_for_has_the_place_first)
{
    for (int late = 0; late < 2; late++) {
        struct test_world *t = world_with_pair();
        tw_patch(t, &kind_pod_gang, "w", OF_SET);
        tw_patch(t, &kind_pod, "w-1", "{metadata: {labels: {grove.io/podcliqueset: s}}}");
        add_of_set(t, "a-tail", "w", ", schedulingGates: [{name: gate}]");
        if (!late)
            add_first(t);
        tw_remove(t, &kind_pod_gang, "w");
        replace_one(t);
        plan_round(t);
        carry_out(t);
        if (late) {
            add_first(t);
            plan_round(t);
            carry_out(t);
        }
        CHECK_CSTR(node_of(t, "b-all-0"), "n3");
        tw_free(t);
    }
}

TEST(nothing_is_kept_on_a_node_that_is_closed_or_for_a_gang_that_goes)
{
    for (int i = 0; i < 2; i++) {
        struct test_world *t = world_with_pair();
        replace_one(t);
        CHECK_INT(sched->tables->leases.len, 1);
        if (i == 0)
            tw_patch(t, &kind_node, "n3", "{spec: {unschedulable: true}}");
        else
            tw_remove(t, &kind_pod_gang, "w");
        CHECK_INT(sched->tables->leases.len, 0);
        tw_free(t);
    }
}

/* What a scheduler finds that starts now. */
static void restart_scheduler(struct test_world *t)
{
    tables_drop(sched);
    (void)t;
}

TEST(room_that_is_kept_survives_the_scheduler)
{
    struct test_world *t = world_with_pair();
    replace_one(t);
    plan_round(t);
    carry_out(t);
    /* What is replaced at once is not worth a write. */
    CHECK(j_is_absent(jgetc(obj_status(tw_must(t, &kind_pod_gang, "w")), "reservations")));
    t->world.now += LEASE_STORE_AFTER;
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.reservations"),
               "[{\"podGroup\":\"w\",\"node\":\"n3\",\"until\":\"2026-01-01T00:02:00Z\","
               "\"requests\":{\"cpu\":\"4000m\"}}]");
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "");
    restart_scheduler(t);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    CHECK_INT(sched->tables->leases.len, 1);
    carry_out(t);
    /* The one it is kept for comes. */
    add_successor(t);
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK_CSTR(node_of(t, "w-9"), "n3");
    CHECK(jlen(jgetc(obj_status(tw_must(t, &kind_pod_gang, "w")), "reservations")) == 0);
    tw_free(t);
}

/* Anybody may have written it: what cannot be is not believed. */
TEST(reservations_that_make_no_sense_are_forgotten)
{
    static const char *const bad[] = {
        "{podGroup: w, node: n9, until: '2026-01-01T00:01:00Z', requests: {cpu: '4'}}",
        "{podGroup: w, node: n3, until: '2025-01-01T00:01:00Z', requests: {cpu: '4'}}",
        "{podGroup: w, node: n3, until: '2036-01-01T00:01:00Z', requests: {cpu: '4'}}",
        "{podGroup: w, node: n3, until: never, requests: {cpu: '4'}}",
        "{podGroup: w, node: n3, until: '2026-01-01T00:01:00Z', requests: {cpu: '5'}}",
        "{podGroup: w, node: n3, until: '2026-01-01T00:01:00Z', requests: {moon: '5'}}",
        "7",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct test_world *t = world_with_pair();
        struct arena a = ARENA_INIT;
        replace_one(t);
        tw_patch(t, &kind_pod_gang, "w",
                 arena_printf(&a, "{status: {reservations: [%s]}}", bad[i]).p);
        restart_scheduler(t);
        plan_round(t);
        CHECK(tw_write(t, &kind_pod, "other-0", "binding") != NULL);
        carry_out(t);
        CHECK(jlen(jgetc(obj_status(tw_must(t, &kind_pod_gang, "w")), "reservations")) == 0);
        arena_done(&a);
        tw_free(t);
    }
}

/* Room held for one that waited too long, and for one for whom others must go: after a restart they
 * have it again, since the waiting and the asking are in the API. */
TEST(room_that_is_held_survives_the_scheduler)
{
    struct test_world *t = world_new();
    hold_room_for_large(t);
    restart_scheduler(t);
    add_pod(t, "small-0", 4, "");
    add_gang(t, "small", 1, 1);
    tw_patch(t, &kind_pod_gang, "small", "{metadata: {creationTimestamp: '2026-01-02T00:00:00Z'}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    tw_free(t);
}

/* ---- how well it is placed ---- */

/* Twelve pods, eight to a host, two hosts to a zone: 8 + 4 in one zone is the best there is. Spread
 * 6 + 6 over two zones: 66 pairs, 30 on one host, 36 over zones at distance 4 (zone 1, beyond 4):
 * cost 36 * 4 / 66. Ideal: 28 + 6 = 34 pairs on one host, 32 at distance 1. Gang and group alike:
 * (32/66 + 1) / (144/66 + 1) = 98 / 210. */
TEST(the_score_is_that_of_the_formula)
{
    for (int spread = 0; spread < 2; spread++) {
        struct test_world *t = world_new();
        add_zones(t);
        add_binding(t);
        add_packed(t, "w", 12, "zone");
        tw_patch(t, &kind_pod_gang, "w",
                 "{spec: {topologyConstraint: {packConstraint: {required: null, preferred: "
                 "zone}}}}");
        for (int i = 0; i < 11; i++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "w-%d", i);
            tw_patch(t, &kind_pod, name,
                     spread ? (i < 6 ? "{spec: {nodeName: n1}}" : "{spec: {nodeName: n3}}")
                            : (i < 8 ? "{spec: {nodeName: n1}}" : "{spec: {nodeName: n2}}"));
        }
        /* The last one has but one place to go to. */
        tw_patch(t, &kind_pod, "w-11",
                 spread ? "{spec: {nodeSelector: {kubernetes.io/hostname: n3}}}"
                        : "{spec: {nodeSelector: {kubernetes.io/hostname: n2}}}");
        plan_round(t);
        CHECK_INT(count_binds(t), 1);
        carry_out(t);
        CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.placementScore"),
                   spread ? "0.4667" : "1");
        check_condition(t, "w", "False",
                        spread ? "placed over several domains" : "placed in one zone");
        tw_free(t);
    }
}
