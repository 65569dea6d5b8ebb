/* The PodCliqueScalingGroup planner: members of each replica, and what the group says of itself. */
#include "base/test.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* The example with its set settled as far as the groups, nothing of theirs made yet. */
static struct ring with_groups(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    return r;
}

TEST(each_replica_of_a_group_gets_all_members)
{
    struct ring r = with_groups();
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK_CSTR(tw_writes(r.world), "create PodClique default/svc-0-pf-0-pl\n"
                                   "create PodClique default/svc-0-pf-0-pw\n"
                                   "create PodClique default/svc-0-pf-1-pl\n"
                                   "create PodClique default/svc-0-pf-1-pw\n"
                                   "create PodClique default/svc-0-pf-2-pl\n"
                                   "create PodClique default/svc-0-pf-2-pw\n"
                                   "patch PodCliqueScalingGroup default/svc-0-pf status\n");
    ring_free(&r);
}

#define COMMON                                                                       \
    "app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, " \
    "grove.io/podcliqueset: svc, app.kubernetes.io/component: pcsg-podclique, "      \
    "grove.io/podcliqueset-replica-index: '0', grove.io/podcliquescalinggroup: svc-0-pf"

static void check_labels(jval body, const char *want)
{
    struct arena a = ARENA_INIT;
    str hash = jstr(jget(jpath(body, "metadata.labels"), STR("grove.io/pod-template-hash")));
    check_yaml(jpath(body, "metadata.labels"),
               arena_printf(&a, "{" COMMON ", grove.io/pod-template-hash: '%.*s', %s}",
                            STR_ARG(hash), want)
                   .p);
    CHECK(hash.len > 0);
    arena_done(&a);
}

/* Replicas below minAvailable (1) are in the base gang, the others each in one of their own. */
TEST(members_say_which_gang_they_belong_to)
{
    struct ring r = with_groups();
    ring_plan_pcsg(&r, "svc-0-pf");
    check_labels(tw_body(r.world, &kind_pclq, "svc-0-pf-0-pw", ""),
                 "app.kubernetes.io/name: svc-0-pf-0-pw, grove.io/role: pw, "
                 "grove.io/podcliquescalinggroup-replica-index: '0', grove.io/podgang: svc-0");
    check_labels(tw_body(r.world, &kind_pclq, "svc-0-pf-2-pl", ""),
                 "app.kubernetes.io/name: svc-0-pf-2-pl, grove.io/role: pl, "
                 "grove.io/podcliquescalinggroup-replica-index: '2', "
                 "grove.io/podgang: svc-0-pf-1, grove.io/base-podgang: svc-0");
    ring_free(&r);
}

TEST(members_carry_the_variables_of_their_group)
{
    struct ring r = with_groups();
    tw_patch(r.world, &kind_pcs, "svc",
             "{spec: {template: {cliques: [{name: fe, spec: {podSpec: {containers: [{name: m}]}}}, "
             "{name: pl, spec: {replicas: 1, podSpec: {containers: [{name: m, env: [{name: "
             "GROVE_PCSG_INDEX, value: mine}, {name: X, value: $(GROVE_PCSG_NAME)}]}], "
             "initContainers: [{name: n}]}}}, {name: pw, spec: {replicas: 4, podSpec: {containers: "
             "[{name: m}]}}}]}}}");
    /* Members wait until the template they carry the name of is stored. */
    CHECK(tw_write((ring_plan_pcsg(&r, "svc-0-pf"), r.world), &kind_pclq, "svc-0-pf-1-pl", "") ==
          NULL);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    ring_plan_pcsg(&r, "svc-0-pf");
    jval body = tw_body(r.world, &kind_pclq, "svc-0-pf-1-pl", "");
#define GROUP_ENV                                                                 \
    "{name: GROVE_PCSG_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: "  \
    "\"metadata.labels['grove.io/podcliquescalinggroup']\"}}}, "                  \
    "{name: GROVE_PCSG_TEMPLATE_NUM_PODS, value: '5'}, "                          \
    "{name: GROVE_PCSG_INDEX, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: " \
    "\"metadata.labels['grove.io/podcliquescalinggroup-replica-index']\"}}}"
    check_yaml(jpath(body, "spec.podSpec.containers"),
               "[{name: m, env: [" GROUP_ENV ", {name: X, value: $(GROVE_PCSG_NAME)}]}]");
    check_yaml(jpath(body, "spec.podSpec.initContainers"), "[{name: n, env: [" GROUP_ENV "]}]");
    ring_free(&r);
}

TEST(members_belong_to_their_group)
{
    struct ring r = with_groups();
    ring_plan_pcsg(&r, "svc-0-pf");
    jval body = tw_body(r.world, &kind_pclq, "svc-0-pf-0-pw", "");
    struct arena a = ARENA_INIT;
    str uid = tw_must(r.world, &kind_pcsg, "svc-0-pf")->uid;
    check_yaml(jpath(body, "metadata.ownerReferences"),
               arena_printf(&a,
                            "[{apiVersion: grove.io/v1alpha1, kind: PodCliqueScalingGroup, name: "
                            "svc-0-pf, uid: %.*s, controller: true, blockOwnerDeletion: true}]",
                            STR_ARG(uid))
                   .p);
    check_yaml(jpath(body, "metadata.finalizers"), "[grove.io/podclique.grove.io]");
    CHECK_CSTR(jtext(jpath(body, "spec.replicas")), "4");
    CHECK_CSTR(jtext(jpath(body, "spec.minAvailable")), "4");
    arena_done(&a);
    ring_free(&r);
}

TEST(a_settled_group_has_an_empty_plan)
{
    struct ring r = with_groups();
    ring_live(&r);
    CHECK(plan_is_empty(ring_plan_pcsg(&r, "svc-0-pf")));
    ring_free(&r);
}

TEST(holes_are_filled_and_only_holes)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_remove(r.world, &kind_pclq, "svc-0-pf-1-pw");
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK_CSTR(tw_writes(r.world), "create PodClique default/svc-0-pf-1-pw\n"
                                   "patch PodCliqueScalingGroup default/svc-0-pf status\n");
    ring_free(&r);
}

TEST(a_member_that_is_going_is_not_made_again_before_it_is_gone)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_delete(r.world, &kind_pclq, "svc-0-pf-1-pw");
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK(tw_write(r.world, &kind_pclq, "svc-0-pf-1-pw", "") == NULL);
    ring_free(&r);
}

/* Every index at or above the wanted number goes, whatever holes there are below. */
TEST(scaling_in_removes_the_highest_replicas)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_remove(r.world, &kind_pclq, "svc-0-pf-0-pl");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 1}}");
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK_CSTR(tw_writes(r.world), "create PodClique default/svc-0-pf-0-pl\n"
                                   "delete PodClique default/svc-0-pf-1-pl\n"
                                   "delete PodClique default/svc-0-pf-1-pw\n"
                                   "delete PodClique default/svc-0-pf-2-pl\n"
                                   "delete PodClique default/svc-0-pf-2-pw\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-1-pl\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-1-pw\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-2-pl\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-2-pw\n"
                                   "patch PodCliqueScalingGroup default/svc-0-pf status\n");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pod), (3 + 5) + 18);
    CHECK(tw_get(r.world, &kind_pod_gang, "svc-0-pf-0") == NULL);
    CHECK(tw_get(r.world, &kind_pod_gang, "svc-0-pf-1") == NULL);
    CHECK(tw_get(r.world, &kind_pod_gang, "svc-0") != NULL);
    ring_free(&r);
}

/* ---- status ---- */

static void check_status(struct ring *r, const char *counts, const char *status, const char *reason)
{
    jval s = obj_status(tw_must(r->world, &kind_pcsg, "svc-0-pf"));
    struct strbuf got = STRBUF_INIT(100);
    strbuf_printf(&got, "%.*s/%.*s/%.*s", STR_ARG(jtext(jgetc(s, "replicas"))),
                  STR_ARG(jtext(jgetc(s, "scheduledReplicas"))),
                  STR_ARG(jtext(jgetc(s, "availableReplicas"))));
    CHECK_CSTR(strbuf_str(&got), counts);
    jval c = condition_find(jgetc(s, "conditions"), STR("MinAvailableBreached"));
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK_CSTR(jstr(jgetc(c, "reason")), reason);
    strbuf_done(&got);
}

TEST(status_counts_whole_replicas)
{
    struct ring r = with_groups();
    (void)ring_settle(&r);
    check_status(&r, "3/0/0", "True", "InsufficientAvailablePodCliqueScalingGroupReplicas");
    ring_live(&r);
    check_status(&r, "3/3/3", "False", "SufficientAvailablePodCliqueScalingGroupReplicas");
    struct obj *o = tw_must(r.world, &kind_pcsg, "svc-0-pf");
    CHECK_CSTR(jstr(jpath(obj_root(o), "status.selector")),
               "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=svc,"
               "grove.io/podcliquescalinggroup=svc-0-pf");
    CHECK_INT(jint(jpath(obj_root(o), "status.observedGeneration"), 0), o->generation);
    ring_free(&r);
}

static str phase_after_planning(struct ring *r)
{
    ring_plan_pcsg(r, "svc-0-pf");
    tw_carry_out(r->world);
    return jstr(jgetc(obj_status(tw_must(r->world, &kind_pcsg, "svc-0-pf")), "phase"));
}

/* Also when all of its pods are ready before its status is written. */
TEST(a_new_group_is_pending_then_scheduling_then_available)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{status: null}");
    CHECK_CSTR(phase_after_planning(&r), "Pending");
    CHECK_CSTR(phase_after_planning(&r), "Scheduling");
    CHECK_CSTR(phase_after_planning(&r), "Available");
    ring_free(&r);
}

/* Pods that run and are not ready yet are no breach, and no loss either. */
TEST(a_group_that_was_never_available_is_not_unavailable)
{
    struct ring r = with_groups();
    (void)ring_settle(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf",
             "{status: {conditions: [{type: EverHealthy, status: 'True'}]}}");
    CHECK_CSTR(phase_after_planning(&r), "Scheduling");
    ring_live(&r);
    CHECK_CSTR(phase_after_planning(&r), "Available");
    for (int j = 0; j < 3; j++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "svc-0-pf-%d-pw", j);
        tw_patch(r.world, &kind_pclq, name, "{status: {readyReplicas: 0}}");
    }
    CHECK_CSTR(phase_after_planning(&r), "Unavailable");
    ring_free(&r);
}

TEST(a_replica_counts_only_when_all_its_members_do)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-pf-0-pw", "{status: {readyReplicas: 3}}");
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    check_status(&r, "3/3/2", "False", "SufficientAvailablePodCliqueScalingGroupReplicas");
    tw_remove(r.world, &kind_pclq, "svc-0-pf-1-pl");
    ring_plan_pcsg(&r, "svc-0-pf");
    check_yaml(jgetc(tw_body(r.world, &kind_pcsg, "svc-0-pf", "status"), "metadata"),
               arena_printf(&r.world->arena, "{resourceVersion: '%llu'}",
                            (unsigned long long)tw_must(r.world, &kind_pcsg, "svc-0-pf")->rv)
                   .p);
    tw_carry_out(r.world);
    check_status(&r, "3/2/1", "False", "SufficientAvailablePodCliqueScalingGroupReplicas");
    ring_free(&r);
}

/* Ready pods of a clique that has lost its nodes are on their way out. */
TEST(a_replica_is_available_only_while_it_is_scheduled)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-pf-2-pw",
             "{status: {conditions: [{type: PodCliqueScheduled, status: 'False'}]}}");
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    check_status(&r, "3/2/2", "False", "SufficientAvailablePodCliqueScalingGroupReplicas");
    ring_free(&r);
}

/* Breached: fewer than minAvailable replicas have all members there and none of them breached. */
TEST(breach_is_about_members_in_breach)
{
    struct ring r = with_groups();
    ring_live(&r);
    struct obj *before = obj_ref(tw_must(r.world, &kind_pcsg, "svc-0-pf"));
    for (int j = 0; j < 3; j++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "svc-0-pf-%d-pl", j);
        tw_patch(r.world, &kind_pclq, name,
                 "{status: {conditions: [{type: PodCliqueScheduled, status: 'True'}, "
                 "{type: MinAvailableBreached, status: 'True'}]}}");
        r.world->world.now += USEC_PER_SEC;
        ring_plan_pcsg(&r, "svc-0-pf");
        tw_carry_out(r.world);
        check_status(&r, "3/3/3", j == 2 ? "True" : "False",
                     j == 2 ? "InsufficientAvailablePodCliqueScalingGroupReplicas"
                            : "SufficientAvailablePodCliqueScalingGroupReplicas");
    }
    /* The time of a condition is when its status changed, not when its message did. */
    jval old = jat(jgetc(obj_status(before), "conditions"), 0);
    jval new =
        jat(jpath(obj_root(tw_must(r.world, &kind_pcsg, "svc-0-pf")), "status.conditions"), 0);
    CHECK_CSTR(jstr(jgetc(old, "lastTransitionTime")), "2026-01-01T00:00:00Z");
    CHECK_CSTR(jstr(jgetc(new, "lastTransitionTime")), "2026-01-01T00:00:03Z");
    obj_unref(before);
    ring_free(&r);
}

TEST(conditions_of_others_stay)
{
    struct ring r = with_groups();
    tw_patch(r.world, &kind_pcsg, "svc-0-pf",
             "{status: {conditions: [{type: Foreign, status: 'True'}]}}");
    ring_live(&r);
    jval c = jpath(obj_root(tw_must(r.world, &kind_pcsg, "svc-0-pf")), "status.conditions");
    CHECK_INT(jlen(c), 5); /* and our own four */
    CHECK(condition_is_true(c, STR("Foreign")));
    CHECK(condition_is_true(c, STR("Available")));
    CHECK_CSTR(jstr(jgetc(condition_find(c, STR("Available")), "message")),
               "3 of 3 replicas are available, 1 needed");
    CHECK_CSTR(jstr(jgetc(condition_find(c, STR("Progressing")), "reason")), "Complete");
    ring_free(&r);
}

/* ---- endings ---- */

/* T15: as an old schema stored it. */
TEST(a_group_without_a_minimum_needs_one)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {minAvailable: null, replicas: 1}}");
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    jval status = obj_status(tw_must(r.world, &kind_pcsg, "svc-0-pf"));
    jval c = condition_find(jgetc(status, "conditions"), STR("MinAvailableBreached"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "False");
    CHECK_CSTR(jstr(jgetc(c, "message")), "1 of 1 replicas are sound, 1 are needed");
    ring_free(&r);
}

TEST(a_deleted_group_takes_its_members_along_and_releases_its_finalizer)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_delete(r.world, &kind_pcsg, "svc-0-pf");
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK_CSTR(tw_writes(r.world), "delete PodClique default/svc-0-pf-0-pl\n"
                                   "delete PodClique default/svc-0-pf-0-pw\n"
                                   "delete PodClique default/svc-0-pf-1-pl\n"
                                   "delete PodClique default/svc-0-pf-1-pw\n"
                                   "delete PodClique default/svc-0-pf-2-pl\n"
                                   "delete PodClique default/svc-0-pf-2-pw\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-0-pl\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-0-pw\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-1-pl\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-1-pw\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-2-pl\n"
                                   "delete PodDisruptionBudget default/svc-0-pf-2-pw\n"
                                   "patch PodCliqueScalingGroup default/svc-0-pf\n");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pcsg, "svc-0-pf", ""), "metadata.finalizers")),
               "[]");
    /* Its set makes it anew once it is gone. */
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pod), 36);
    CHECK(plan_is_empty(ring_plan_pcsg(&r, "svc-0-pf")));
    ring_free(&r);
}

/* What it needs is not less because less is wanted. */
TEST(a_group_scaled_below_its_minimum_is_not_available)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 0}}");
    ring_live(&r);
    jval c = condition_find(
        jpath(obj_root(tw_must(r.world, &kind_pcsg, "svc-0-pf")), "status.conditions"),
        STR("Available"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "False");
    CHECK_CSTR(jstr(jgetc(c, "message")), "0 of 0 replicas are available, 1 needed");
    ring_free(&r);
}

TEST(nothing_is_made_for_a_set_that_is_gone_or_going)
{
    struct ring r = with_groups();
    tw_delete(r.world, &kind_pcs, "svc");
    CHECK(plan_is_empty(ring_plan_pcsg(&r, "svc-0-pf")));
    tw_remove(r.world, &kind_pcs, "svc");
    CHECK(plan_is_empty(ring_plan_pcsg(&r, "svc-0-pf")));
    CHECK(plan_is_empty(ring_plan_pcsg(&r, "no-such-group")));
    ring_free(&r);
}

TEST(only_numbers_changing_is_no_hurry)
{
    struct ring r = with_groups();
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-pf-0-pw", "{status: {readyReplicas: 3}}");
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK(tw_write(r.world, &kind_pcsg, "svc-0-pf", "status")->counts_only);
    for (int j = 0; j < 3; j++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "svc-0-pf-%d-pl", j);
        tw_patch(r.world, &kind_pclq, name,
                 "{status: {conditions: [{type: MinAvailableBreached, status: 'True'}]}}");
    }
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK(!tw_write(r.world, &kind_pcsg, "svc-0-pf", "status")->counts_only);
    ring_free(&r);
}
