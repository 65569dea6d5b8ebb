/* Why a gang waits, for programs: status.unschedulable, as why.h tells its members. */
#include "grove/types.h"
#include "sched/model/round.h"
#include "sched/model/test-round.h"

static void rounds(struct test_world *t, int n)
{
    for (int i = 0; i < n; i++) {
        plan_round(t);
        carry_out(t);
    }
}

static str why(struct test_world *t, const char *gang)
{
    return tw_json(tw_must(t, &kind_pod_gang, gang), "status.unschedulable");
}

/* z1 has 14 CPUs beside a pod of none, z2 has 15 beside a pod of a gang: 16 fit neither. */
TEST(the_nearest_domains_and_who_is_there_are_told_to_programs)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_pod(t, "a-0", 1, ", nodeName: n3");
    add_gang(t, "a", 1, 1);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {nodeName: n1, "
               "containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}");
    add_packed(t, "w", 16, "zone");
    rounds(t, 1);
    CHECK_CSTR(
        why(t, "w"),
        "{\"cause\":\"TooFew\",\"scope\":\"Gang\",\"name\":\"w\",\"level\":\"zone\",\"pods\":16,"
        "\"candidates\":[{\"domain\":\"z2\",\"level\":\"zone\",\"room\":15,\"nodes\":2,"
        "\"lacking\":2,\"refusing\":0,\"resource\":\"cpu\"},{\"domain\":\"z1\",\"level\":"
        "\"zone\",\"room\":14,\"nodes\":2,\"lacking\":2,\"refusing\":0,\"resource\":\"cpu\"}],"
        "\"holders\":[{\"gang\":\"default/a\",\"pods\":1,\"priority\":0,\"amount\":1000}]}");
    /* It is gone with the reason. */
    tw_patch(t, &kind_node, "n3", "{status: {allocatable: {cpu: '9'}}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 16);
    jval status = jgetc(tw_body(t, &kind_pod_gang, "w", "status"), "status");
    CHECK(j_has(jgetc(status, "conditions")) && j_is_absent(jgetc(status, "unschedulable")));
    tw_free(t);
}

TEST(a_pod_that_is_of_no_gang_is_named_as_such)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: lone}, spec: {nodeName: n1, "
               "containers: [{name: a, resources: {requests: {cpu: '2'}}}]}}");
    add_pod(t, "w-0", 3, "");
    add_gang(t, "w", 1, 1);
    rounds(t, 1);
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.unschedulable.holders"),
               "[{\"pod\":\"default/lone\",\"amount\":2000}]");
    tw_free(t);
}

/* A gang of two pods, one of which is on a node of z1, which is full. */
TEST(the_domain_that_its_own_pods_pin_it_to_is_told)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_packed(t, "w", 2, "zone");
    tw_patch(t, &kind_pod, "w-0", "{spec: {nodeName: n1}}");
    add_pod(t, "x-0", 7, ", nodeName: n1");
    add_pod(t, "x-1", 8, ", nodeName: n2");
    rounds(t, 1);
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.unschedulable.pin"),
               "{\"domain\":\"z1\",\"level\":\"zone\",\"by\":\"members\"}");
    check_condition(t, "w", "True", "; it must be in z1, where its pods are");
    tw_free(t);
}

static void own(struct test_world *t, const char *gang, const char *spec)
{
    struct arena a = ARENA_INIT;
    tw_patch(t, &kind_pod_gang, gang,
             arena_printf(&a,
                          "{metadata: {annotations: {grove.io/topology-name: topo}, "
                          "ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, "
                          "name: s, uid: u, controller: true}]}%s}",
                          spec)
                 .p);
    arena_done(&a);
}

/* The base gang is in z1, which is full: the scaled gang must be there too, though z2 is empty. */
TEST(the_domain_that_its_replica_pins_it_to_is_told)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s, uid: u}}");
    add_pod(t, "s-0", 8, ", nodeName: n1");
    add_pod(t, "x-1", 8, ", nodeName: n2");
    tw_patch(t, &kind_pod, "s-0", "{metadata: {labels: {grove.io/podgang: base}}}");
    tw_load(t, "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: base}, "
               "spec: {podgroups: [{name: s, minReplicas: 1, podReferences: [{namespace: default, "
               "name: s-0}]}]}}");
    own(t, "base", ", spec: {topologyConstraint: {packConstraint: {required: zone}}}");
    add_pod(t, "g-0", 1, "");
    tw_patch(t, &kind_pod, "g-0", "{metadata: {labels: {grove.io/base-podgang: base}}}");
    add_gang(t, "g", 1, 1);
    own(t, "g", "");
    rounds(t, 2);
    CHECK_CSTR(node_of(t, "g-0"), "");
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "g"), "status.unschedulable.pin"),
               "{\"domain\":\"z1\",\"level\":\"zone\",\"by\":\"replica\"}");
    check_condition(t, "g", "True", "; it must be in z1, where its replica is");
    tw_free(t);
}

static str outlook(struct test_world *t, const char *gang)
{
    return jstr(jpath(obj_root(tw_must(t, &kind_pod_gang, gang)), "status.unschedulable.outlook"));
}

TEST(what_is_done_about_it_is_told)
{
    struct test_world *t = world_new();
    add_priority(t, "high", 100);
    add_nodes(t, 1, 4);
    add_pod(t, "a-0", 4, ", nodeName: n1");
    add_gang(t, "a", 1, 1);
    add_pod(t, "u-0", 4, "");
    add_gang(t, "u", 1, 1);
    tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
    add_pod(t, "late-0", 4, "");
    add_gang(t, "late", 1, 1);
    add_pod(t, "huge-0", 5, "");
    add_gang(t, "huge", 1, 1);
    rounds(t, 1);
    CHECK_CSTR(outlook(t, "u"), "MakingRoom");
    check_condition(t, "u", "True", "; others were asked to make room for it");
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "late"), "status.unschedulable.heldFor"),
               "[\"default/u\"]");
    CHECK_CSTR(outlook(t, "late"), "");
    CHECK_CSTR(outlook(t, "huge"), "Hopeless");
    check_condition(t, "huge", "True", "; it would not fit even if all others left");
    tw_free(t);
}

TEST(what_is_not_a_matter_of_room_is_told_as_such)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_packed(t, "w", 2, "nowhere");
    rounds(t, 1);
    CHECK_CSTR(why(t, "w"), "{\"cause\":\"Itself\"}");
    tw_free(t);
}

/* One node is too small, one cordoned, one tainted, one not selected, one has a pod that it may not
 * be with. */
TEST(why_nodes_refuse_is_told_one_by_one)
{
    struct test_world *t = world_new();
    for (int i = 1; i <= 5; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {pool: %s, "
                 "kubernetes.io/hostname: n%d}}, spec: {%s}, status: {allocatable: {cpu: '%d', "
                 "pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}",
                 i, i == 4 ? "b" : "a", i,
                 i == 2   ? "unschedulable: true"
                 : i == 3 ? "taints: [{key: k, effect: NoSchedule}]"
                          : "",
                 i == 1 ? 1 : 8);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: loud, labels: {app: loud}}, spec: "
               "{nodeName: n5, containers: [{name: a, resources: {requests: {cpu: '1'}}}]}}");
    add_pod(t, "w-0", 2,
            ", nodeSelector: {pool: a}, affinity: {podAntiAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
            "kubernetes.io/hostname, labelSelector: {matchLabels: {app: loud}}}]}}");
    add_gang(t, "w", 1, 1);
    rounds(t, 1);
    check_condition(t, "w", "True",
                    "1 of 5 nodes lacks cpu, 3 do not admit it (1 cordoned, 1 tainted, 1 not "
                    "selected), 1 has pods on or near it that it may not be with");
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.unschedulable.candidates"),
               "[{\"room\":0,\"nodes\":5,\"lacking\":1,\"refusing\":3,\"cordoned\":1,"
               "\"tainted\":1,\"notSelected\":1,\"barred\":1,\"resource\":\"cpu\"}]");
    tw_free(t);
}

/* Room is not what is lacking. */
TEST(nodes_with_pods_in_the_way_lack_nothing)
{
    struct test_world *t = world_new();
    tw_load(t, "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: "
               "n1}}, status: {allocatable: {cpu: '8', pods: '110'}, conditions: [{type: Ready, "
               "status: 'True'}]}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: loud, labels: {app: loud}}, spec: "
               "{nodeName: n1, containers: [{name: a}]}}");
    add_pod(t, "w-0", 2,
            ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: loud}}}]}}");
    add_gang(t, "w", 1, 1);
    plan_round(t);
    str message = jstr(jgetc(event_of(t, "w-0"), "message"));
    CHECK(str_find(message, STR("pods on or near the nodes are in its way")) >= 0);
    CHECK(str_find(message, STR("not enough")) < 0);
    carry_out(t);
    check_condition(t, "w", "True",
                    "1 of 1 node has pods on or near it that it may not be with, 0 do not");
    tw_free(t);
}

TEST(nodes_that_a_volume_cannot_reach_are_told_as_such)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    tw_load(t,
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {nodeAffinity: "
            "{required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, "
            "values: [n1]}]}]}}}}");
    tw_load(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: "
               "{volumeName: pv}, status: {phase: Bound}}");
    add_pod(t, "w-0", 9, ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]");
    add_gang(t, "w", 1, 1);
    rounds(t, 1);
    check_condition(
        t, "w", "True",
        "1 of 2 nodes lacks cpu, 1 does not admit it (1 away from its volumes or devices)");
    tw_free(t);
}

/* Two nodes of 8 CPUs, of which so many are taken, and a gang of a pod of 5 and one of 3. */
static struct test_world *world_of_two(int first, int second)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    add_pod(t, "x-0", first, ", nodeName: n1");
    add_pod(t, "x-1", second, ", nodeName: n2");
    add_gang(t, "x", 2, 2);
    add_pod(t, "w-0", 5, "");
    add_pod(t, "w-1", 3, "");
    tw_load(t, "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: w}, "
               "spec: {podgroups: [{name: a, minReplicas: 1, podReferences: [{namespace: default, "
               "name: w-0}]}, {name: b, minReplicas: 1, podReferences: [{namespace: default, name: "
               "w-1}]}]}}");
    rounds(t, 1);
    return t;
}

TEST(a_sum_that_is_short_is_said_before_pieces_are)
{
    /* 5 and 2 are free of 8 */
    struct test_world *t = world_of_two(3, 6);
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.unschedulable.shortage"),
               "{\"resource\":\"cpu\",\"needs\":8000,\"free\":7000}");
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.unschedulable.cause"),
               "\"Together\"");
    check_condition(t, "w", "True",
                    "all of it needs 8 cpu; the cluster has 7 free; held by default/x (2 pods, "
                    "priority 0)");
    tw_free(t);
    /* 6 and 2 are free: enough, in pieces too small */
    t = world_of_two(2, 6);
    CHECK(
        j_is_absent(jpath(obj_status(tw_must(t, &kind_pod_gang, "w")), "unschedulable.shortage")));
    check_condition(t, "w", "True",
                    "each part fits by itself, not all of them together; what is free in the "
                    "cluster is in pieces too small");
    tw_free(t);
}
