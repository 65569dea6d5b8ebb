/* Pods with claims: where their volumes and devices let them go, and what is refused, with whose
 * name. */
#include "sched/model/test-round.h"

static void add_claiming(struct test_world *t, const char *name, const char *more)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, "
             "resources: {requests: {cpu: '1'}}}], %s}}",
             name, more);
}

#define VOLUME(claim) "volumes: [{name: v, persistentVolumeClaim: {claimName: " claim "}}]"

static void add_claim(struct test_world *t, const char *name, const char *spec, const char *phase)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s}, spec: {%s}, "
             "status: {phase: %s}}",
             name, spec, phase);
}

static void add_volume(struct test_world *t, const char *name, const char *labels,
                       const char *affinity)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s, labels: {%s}}, spec: "
             "{%s}}",
             name, labels, affinity);
}

#define IN_ZONE(z)                                                                             \
    "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: " \
    "In, values: [" z "]}]}]}}"

static void check_refused(struct test_world *t, const char *pod, const char *part)
{
    str message = jstr(jgetc(event_of(t, pod), "message"));
    CHECK_INT(count_binds(t), 0);
    if (!CHECK(str_find(message, str_of(part)) >= 0))
        test_note("%.*s", STR_ARG(message));
}

/* ---- volumes ---- */

TEST(a_pod_goes_where_its_volume_is)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_volume(t, "pv", "", IN_ZONE("z2"));
    add_claim(t, "data", "volumeName: pv", "Bound");
    add_claiming(t, "p", VOLUME("data"));
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "p"), "z2");
    CHECK(!str_is_empty(node_of(t, "p")));
    tw_free(t);
}

TEST(a_volume_without_a_place_binds_nobody)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_volume(t, "pv", "", "");
    add_claim(t, "data", "volumeName: pv", "Bound");
    add_claiming(t, "p", VOLUME("data"));
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

/* Old volumes say their zones in a label, several of them joined by two underscores. */
TEST(zones_of_a_volume_are_those_of_its_pods)
{
    struct test_world *t = world_new();
    for (int i = 1; i <= 3; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: "
                 "{topology.kubernetes.io/zone: z%d}}, spec: {}, status: {allocatable: {cpu: '1', "
                 "pods: '9'}, conditions: [{type: Ready, status: 'True'}]}}",
                 i, i);
    add_volume(t, "pv", "topology.kubernetes.io/zone: z2__z3", "");
    add_claim(t, "data", "volumeName: pv", "Bound");
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_claiming(t, name, VOLUME("data"));
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    carry_out(t);
    CHECK(!str_is(node_of(t, "p0"), "n1") && !str_is(node_of(t, "p1"), "n1"));
    tw_free(t);
}

TEST(claims_that_cannot_be_judged_are_refused_by_name)
{
    static const struct {
        const char *claim, *volumes, *why;
    } cases[] = {
        {NULL, VOLUME("data"), "persistent volume claim data does not exist"},
        {"storageClassName: wait", VOLUME("data"), "claim data is not bound to a volume"},
        {"volumeName: gone", VOLUME("data"), "data is bound to a volume that does not exist"},
        {NULL, "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {}}}]",
         "persistent volume claim p-v is not made yet"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 4);
        if (cases[i].claim)
            add_claim(t, "data", cases[i].claim, i == 2 ? "Bound" : "Pending");
        add_claiming(t, "p", cases[i].volumes);
        plan_round(t);
        check_refused(t, "p", cases[i].why);
        tw_free(t);
    }
}

/* Two pods of one template with claims of their own: each is told its own. */
TEST(every_pod_is_told_its_own_claim)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_claiming(t, "p", VOLUME("one"));
    add_claiming(t, "q", VOLUME("two"));
    plan_round(t);
    check_refused(t, "p", "claim one");
    check_refused(t, "q", "claim two");
    tw_free(t);
}

TEST(a_claim_that_becomes_bound_lets_its_pod_go)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_claim(t, "data", "", "Pending");
    add_claiming(t, "p", VOLUME("data"));
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_binds(t), 0);
    add_volume(t, "pv", "", IN_ZONE("z2"));
    tw_patch(t, &kind_persistent_volume_claim, "data",
             "{spec: {volumeName: pv}, status: {phase: Bound}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "p"), "z2");
    CHECK(!str_is_empty(node_of(t, "p")));
    tw_free(t);
}

/* A volume made for the pod is like any other once it is bound; one of somebody else is not. */
TEST(an_ephemeral_volume_is_the_pods_own)
{
    static const char *const specs = "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {}}}]";
    for (int own = 0; own < 2; own++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 4);
        add_claiming(t, "p", specs);
        str uid = tw_must(t, &kind_pod, "p")->uid;
        add_volume(t, "pv", "", "");
        tw_loadf(t,
                 "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p-v, "
                 "ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: %.*s, controller: "
                 "true}]}, spec: {volumeName: pv}, status: {phase: Bound}}",
                 STR_ARG(own ? uid : STR("another")));
        plan_round(t);
        CHECK_INT(count_binds(t), own);
        if (!own)
            check_refused(t, "p", "persistent volume claim p-v was not made for the pod");
        tw_free(t);
    }
}

TEST(a_volume_for_one_pod_has_one)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_volume(t, "pv", "", "");
    add_claim(t, "data", "volumeName: pv, accessModes: [ReadWriteOncePod]", "Bound");
    add_claiming(t, "p", VOLUME("data"));
    add_claiming(t, "q", VOLUME("data"));
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    carry_out(t);
    tw_remove(t, &kind_pod, "p");
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

/* ---- devices ---- */

#define DEVICE "resourceClaims: [{name: gpu, resourceClaimName: gpus}]"

static void add_devices(struct test_world *t, const char *status)
{
    tw_loadf(t,
             "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpus}, spec: "
             "{}, status: {%s}}",
             status);
}

TEST(a_pod_goes_where_its_devices_are)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_claiming(t, "p", DEVICE);
    struct arena a = ARENA_INIT;
    str uid = tw_must(t, &kind_pod, "p")->uid;
    add_devices(t,
                arena_printf(&a,
                             "allocation: {nodeSelector: {nodeSelectorTerms: "
                             "[{matchExpressions: [{key: zone, operator: In, values: [z2]}]}]}}, "
                             "reservedFor: [{resource: pods, name: p, uid: %.*s}]",
                             STR_ARG(uid))
                    .p);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "p"), "z2");
    CHECK(!str_is_empty(node_of(t, "p")));
    arena_done(&a);
    tw_free(t);
}

/* Whoever makes claims from templates writes their names into the pod's status. */
TEST(a_claim_made_from_a_template_is_found_in_the_status)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_claiming(t, "p", "resourceClaims: [{name: gpu, resourceClaimTemplateName: tpl}]");
    plan_round(t);
    check_refused(t, "p", "not made yet");
    carry_out(t);
    struct arena a = ARENA_INIT;
    str uid = tw_must(t, &kind_pod, "p")->uid;
    add_devices(
        t, arena_printf(&a, "allocation: {}, reservedFor: [{name: p, uid: %.*s}]", STR_ARG(uid)).p);
    tw_patch(t, &kind_pod, "p",
             "{status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: gpus}]}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    arena_done(&a);
    tw_free(t);
}

TEST(devices_that_nobody_allocated_are_refused_by_name)
{
    static const struct {
        const char *status, *claims, *why;
    } cases[] = {
        {NULL, DEVICE, "resource claim gpus does not exist"},
        {"", DEVICE, "resource claim gpus is not allocated"},
        {"allocation: {}", DEVICE, "resource claim gpus is not reserved for the pod"},
        {NULL, "resourceClaims: [{name: gpu, resourceClaimTemplateName: tpl}]",
         "its resource claim gpu is not made yet"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 4);
        if (cases[i].status)
            add_devices(t, cases[i].status);
        add_claiming(t, "p", cases[i].claims);
        plan_round(t);
        check_refused(t, "p", cases[i].why);
        tw_free(t);
    }
}

/* ---- where nobody binds claims ---- */

static struct test_world *embedded_world(void)
{
    struct test_world *t = tw_new();
    sched_free(sched);
    sched = sched_new(t->runtime, &sched_defaults);
    return t;
}

/* Claims that are there hold nobody back; what is bound is judged all the same. */
TEST(embedded_claims_hold_no_pod_back)
{
    struct test_world *t = embedded_world();
    add_zones(t);
    add_claim(t, "data", "", "Pending");
    add_volume(t, "pv", "", IN_ZONE("z2"));
    add_claim(t, "bound", "volumeName: pv", "Bound");
    add_devices(t, "");
    add_claiming(t, "p", VOLUME("data") ", " DEVICE);
    add_claiming(t, "q", VOLUME("bound"));
    add_claiming(t, "r", "resourceClaims: [{name: gpu, resourceClaimTemplateName: tpl}]");
    add_claiming(t, "s", "volumes: [{name: v, ephemeral: {volumeClaimTemplate: {}}}]");
    add_claiming(t, "missing", VOLUME("forgotten"));
    plan_round(t);
    CHECK_INT(count_binds(t), 4);
    CHECK(str_find(jstr(jgetc(event_of(t, "missing"), "message")),
                   STR("claim forgotten does not exist")) >= 0);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "q"), "z2");
    tw_free(t);
}

/* ---- parts of devices ---- */

TEST(a_part_of_a_gpu_is_refused)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_claiming(t, "whole", "nodeSelector: {}");
    tw_load(t,
            "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {gpu-fraction: '0.5'}}, "
            "spec: {containers: [{name: a, resources: {requests: {cpu: '1'}}}], nodeSelector: "
            "{}}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    CHECK(str_find(jstr(jgetc(event_of(t, "p"), "message")), STR("annotation gpu-fraction")) >= 0);
    tw_free(t);
}
