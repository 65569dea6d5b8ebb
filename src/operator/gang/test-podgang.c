/* The PodGang planner: which groups and pods a gang has, how far it has come, and when it goes. */
#include "base/test.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* The worked example of the contract: cliques a (3 pods, 2 at least), b (2), c (1); group g of b
 * and c, 3 replicas, 2 at least. */
#define P                                                                                         \
    "apiVersion: grove.io/v1alpha1\n"                                                             \
    "kind: PodCliqueSet\n"                                                                        \
    "metadata: {name: p, uid: p-uid, labels: {team: blue, grove.io/mine: x},\n"                   \
    "  annotations: {note: hi, grove.io/other: x,\n"                                              \
    "    kubectl.kubernetes.io/last-applied-configuration: big}}\n"                               \
    "spec:\n"                                                                                     \
    "  replicas: 2\n"                                                                             \
    "  template:\n"                                                                               \
    "    priorityClassName: high\n"                                                               \
    "    cliques:\n"                                                                              \
    "    - {name: a, spec: {replicas: 3, minAvailable: 2, podSpec: {containers: [{name: m}]}}}\n" \
    "    - {name: b, spec: {replicas: 2, podSpec: {containers: [{name: m}]}}}\n"                  \
    "    - {name: c, spec: {replicas: 1, podSpec: {containers: [{name: m}]}}}\n"                  \
    "    podCliqueScalingGroups:\n"                                                               \
    "    - {name: g, cliqueNames: [b, c], replicas: 3, minAvailable: 2}\n"

static struct ring settled(void)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    ring_live(&r);
    return r;
}

/* "name(minReplicas) xN" per group, N references. */
static void check_groups(jval spec, const char *want)
{
    struct strbuf got = STRBUF_INIT(2000);
    for (struct jiter it = jiter(jgetc(spec, "podgroups")); jnext(&it);)
        strbuf_printf(
            &got, "%s%.*s(%.*s) x%zu", it.index ? ", " : "", STR_ARG(jstr(jgetc(it.value, "name"))),
            STR_ARG(jtext(jgetc(it.value, "minReplicas"))), jlen(jgetc(it.value, "podReferences")));
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
}

TEST(gangs_have_the_groups_of_the_worked_example)
{
    struct ring r = settled();
    check_names(&r, &kind_pod_gang, "p-0 p-0-g-0 p-1 p-1-g-0 ");
    check_groups(obj_spec(tw_must(r.world, &kind_pod_gang, "p-0")),
                 "p-0-a(2) x3, p-0-g-0-b(2) x2, p-0-g-0-c(1) x1, p-0-g-1-b(2) x2, p-0-g-1-c(1) x1");
    check_groups(obj_spec(tw_must(r.world, &kind_pod_gang, "p-0-g-0")),
                 "p-0-g-2-b(2) x2, p-0-g-2-c(1) x1");
    check_groups(obj_spec(tw_must(r.world, &kind_pod_gang, "p-1-g-0")),
                 "p-1-g-2-b(2) x2, p-1-g-2-c(1) x1");
    ring_free(&r);
}

TEST(scaling_a_group_out_and_in_moves_only_scaled_gangs)
{
    struct ring r = settled();
    str before = tw_json(tw_must(r.world, &kind_pod_gang, "p-0"), "spec");
    struct arena a = ARENA_INIT;
    before = arena_str(&a, before);
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 5}}");
    ring_live(&r);
    check_names(&r, &kind_pod_gang, "p-0 p-0-g-0 p-0-g-1 p-0-g-2 p-1 p-1-g-0 ");
    check_groups(obj_spec(tw_must(r.world, &kind_pod_gang, "p-0-g-2")),
                 "p-0-g-4-b(2) x2, p-0-g-4-c(1) x1");
    CHECK_STR(tw_json(tw_must(r.world, &kind_pod_gang, "p-0"), "spec"), before);
    static const char *const roles[][2] = {
        {"p-0", "Anchor"}, {"p-0-g-0", "Tail"}, {"p-0-g-1", "ScaleOut"}, {"p-0-g-2", "ScaleOut"}};
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        CHECK_CSTR(
            obj_label(tw_must(r.world, &kind_pod_gang, roles[i][0]), STR("grove.io/podgang-role")),
            roles[i][1]);
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 2}}");
    ring_live(&r);
    check_names(&r, &kind_pod_gang, "p-0 p-1 p-1-g-0 ");
    /* Below the minimum the base gang still lists what is missing. */
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 1}}");
    ring_live(&r);
    check_groups(obj_spec(tw_must(r.world, &kind_pod_gang, "p-0")),
                 "p-0-a(2) x3, p-0-g-0-b(2) x2, p-0-g-0-c(1) x1, p-0-g-1-b(2) x0, p-0-g-1-c(1) x0");
    arena_done(&a);
    ring_free(&r);
}

TEST(a_gang_is_made_before_its_pods_and_as_the_contract_says)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    ring_plan_pcs(&r, "p");
    tw_carry_out(r.world);
    ring_plan_gang(&r, "p-0");
    CHECK_CSTR(tw_writes(r.world), "create PodGang default/p-0\n");
    check_yaml(tw_body(r.world, &kind_pod_gang, "p-0", ""),
               "apiVersion: scheduler.grove.io/v1alpha1\n"
               "kind: PodGang\n"
               "metadata:\n"
               "  name: p-0\n"
               "  namespace: default\n"
               "  labels: {team: blue, app.kubernetes.io/managed-by: grove-operator,\n"
               "    app.kubernetes.io/part-of: p, app.kubernetes.io/component: podgang,\n"
               "    grove.io/podcliqueset: p, grove.io/scheduler-name: default-scheduler,\n"
               "    grove.io/podgang-role: Anchor}\n"
               "  annotations: {note: hi, grove.io/mirrored-keys: labels/team "
               "annotations/note}\n"
               "  ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: p,\n"
               "    uid: p-uid, controller: true, blockOwnerDeletion: true}]\n"
               "spec:\n"
               "  priorityClassName: high\n"
               "  podgroups:\n"
               "  - {name: p-0-a, minReplicas: 2, podReferences: []}\n"
               "  - {name: p-0-g-0-b, minReplicas: 2, podReferences: []}\n"
               "  - {name: p-0-g-0-c, minReplicas: 1, podReferences: []}\n"
               "  - {name: p-0-g-1-b, minReplicas: 2, podReferences: []}\n"
               "  - {name: p-0-g-1-c, minReplicas: 1, podReferences: []}\n");
    ring_free(&r);
}

TEST(references_are_sorted_by_name_and_leave_out_what_is_going)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pclq, "p-0-a", "{spec: {replicas: 12}}");
    ring_live(&r);
    jval refs =
        jgetc(jat(jpath(obj_root(tw_must(r.world, &kind_pod_gang, "p-0")), "spec.podgroups"), 0),
              "podReferences");
    CHECK_INT(jlen(refs), 12);
    str last = STR_NONE;
    for (struct jiter it = jiter(refs); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        CHECK(str_cmp(last, name) < 0);
        CHECK_CSTR(jstr(jgetc(it.value, "namespace")), "default");
        last = name;
    }
    struct arena a = ARENA_INIT;
    tw_delete(r.world, &kind_pod, arena_str(&a, last).p);
    ring_plan_gang(&r, "p-0");
    refs = jgetc(jat(jpath(tw_body(r.world, &kind_pod_gang, "p-0", ""), "spec.podgroups"), 0),
                 "podReferences");
    CHECK_INT(jlen(refs), 11);
    for (struct jiter it = jiter(refs); jnext(&it);)
        CHECK(!str_eq(jstr(jgetc(it.value, "name")), last));
    arena_done(&a);
    ring_free(&r);
}

/* ---- status ---- */

static void check_state(struct ring *r, const char *gang, const char *want)
{
    jval s = obj_status(tw_must(r->world, &kind_pod_gang, gang));
    static const char *const types[] = {"Initialized", "Scheduled", "Ready"};
    struct strbuf got = STRBUF_INIT(200);
    strbuf_add_str(&got, jstr(jgetc(s, "phase")));
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        jval c = condition_find(jgetc(s, "conditions"), str_of(types[i]));
        strbuf_printf(&got, " %.*s", STR_ARG(jstr(jgetc(c, "status"))));
    }
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
}

static void plan_state(struct ring *r, const char *gang, const char *want)
{
    ring_plan_gang(r, gang);
    tw_carry_out(r->world);
    check_state(r, gang, want);
}

TEST(a_gang_is_initialized_when_all_its_pods_exist)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    ring_plan_pcs(&r, "p");
    tw_carry_out(r.world);
    ring_plan_pcsg(&r, "p-0-g");
    tw_carry_out(r.world);
    ring_plan_gang(&r, "p-0");
    tw_carry_out(r.world);
    plan_state(&r, "p-0", "Pending False False False");
    jval c =
        condition_find(jgetc(obj_status(tw_must(r.world, &kind_pod_gang, "p-0")), "conditions"),
                       STR("Initialized"));
    CHECK_CSTR(jstr(jgetc(c, "reason")), "PodGangPodsCreationPending");
    static const char *const cliques[] = {"p-0-a", "p-0-g-0-b", "p-0-g-0-c", "p-0-g-1-b",
                                          "p-0-g-1-c"};
    for (size_t i = 0; i < ARRAY_LEN(cliques); i++) {
        plan_state(&r, "p-0", "Pending False False False");
        ring_plan_pclq(&r, cliques[i]);
        tw_carry_out(r.world);
    }
    plan_state(&r, "p-0", "Pending True False False");
    c = condition_find(jgetc(obj_status(tw_must(r.world, &kind_pod_gang, "p-0")), "conditions"),
                       STR("Initialized"));
    CHECK_CSTR(jstr(jgetc(c, "reason")), "PodGangPodsCreated");
    ring_free(&r);
}

static const char *a_pod_of(struct ring *r, struct arena *a, const char *clique, size_t n)
{
    struct obj *o;
    const struct obj *c = tw_must(r->world, &kind_pclq, clique);
    struct cache_iter it = world_owned(&r->world->world, &kind_pod, c->uid);
    while ((o = cache_next(&it)) && n-- > 0)
        ;
    REQUIRE(o != NULL);
    return arena_str(a, o->name).p;
}

/* Scheduled and Initialized stay, Ready is what is now. */
static void check_last_times(struct ring *r, const char *gang, const char *scheduled,
                             const char *ready)
{
    jval s = obj_status(tw_must(r->world, &kind_pod_gang, gang));
    CHECK_CSTR(jstr(jgetc(s, "lastScheduled")), scheduled);
    CHECK_CSTR(jstr(jgetc(s, "lastReady")), ready);
}

/* Its condition was True before there were times beside it: that is when it became so last. */
TEST(a_gang_of_an_older_version_learns_when_it_was_placed)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    (void)ring_settle(&r);
    ring_run_pods(&r);
    plan_state(&r, "p-0", "Running True True True");
    tw_patch(r.world, &kind_pod_gang, "p-0", "{status: {lastScheduled: null, lastReady: null}}");
    CHECK(gang_was_scheduled(tw_must(r.world, &kind_pod_gang, "p-0")));
    r.world->world.now += 10 * USEC_PER_SEC;
    plan_state(&r, "p-0", "Running True True True");
    check_last_times(&r, "p-0", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0")));
    ring_free(&r);
}

TEST(one_condition_stays_and_two_are_live)
{
    struct ring r = ring_new();
    struct arena a = ARENA_INIT;
    tw_load(r.world, P);
    (void)ring_settle(&r);
    check_state(&r, "p-0", "Pending True False False");
    ring_run_pods(&r);
    plan_state(&r, "p-0", "Running True True True");
    const char *one = a_pod_of(&r, &a, "p-0-a", 0), *two = a_pod_of(&r, &a, "p-0-a", 1);
    tw_patch(r.world, &kind_pod, one, "{status: {conditions: [{type: Ready, status: 'False'}]}}");
    /* 2 of 3 are ready, 2 are needed: numbers change, and that is no hurry. */
    ring_plan_gang(&r, "p-0");
    const struct plan_write *numbers = tw_write(r.world, &kind_pod_gang, "p-0", "status");
    REQUIRE(numbers != NULL);
    CHECK(numbers->counts_only);
    int64_t ready = jint(jpath(doc_root(numbers->body), "status.readyPods"), 0);
    int64_t before =
        jint(jgetc(obj_status(tw_must(r.world, &kind_pod_gang, "p-0")), "readyPods"), 0);
    CHECK_INT(ready, before - 1);
    tw_carry_out(r.world);
    check_state(&r, "p-0", "Running True True True");
    tw_patch(r.world, &kind_pod, two, "{status: {conditions: [{type: Ready, status: 'False'}]}}");
    plan_state(&r, "p-0", "Starting True True False");
    jval why = condition_find(
        jgetc(obj_status(tw_must(r.world, &kind_pod_gang, "p-0")), "conditions"), STR("Ready"));
    CHECK_CSTR(jstr(jgetc(why, "message")), "clique p-0-a has 1 of the 2 ready pods that it needs");
    /* All pods of a group lost: it is not placed any more, but was, and was complete. */
    r.world->world.now += 10 * USEC_PER_SEC;
    tw_remove(r.world, &kind_pod, one);
    tw_remove(r.world, &kind_pod, two);
    tw_remove(r.world, &kind_pod, a_pod_of(&r, &a, "p-0-a", 0));
    plan_state(&r, "p-0", "Starting True False False");
    check_last_times(&r, "p-0", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
    CHECK(gang_was_scheduled(tw_must(r.world, &kind_pod_gang, "p-0")));
    ring_live(&r);
    check_state(&r, "p-0", "Running True True True");
    check_last_times(&r, "p-0", "2026-01-01T00:00:10Z", "2026-01-01T00:00:10Z");
    arena_done(&a);
    ring_free(&r);
}

TEST(the_time_of_a_condition_is_when_its_status_changed)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    (void)ring_settle(&r);
    r.world->world.now += 10 * USEC_PER_SEC;
    ring_run_pods(&r);
    ring_plan_gang(&r, "p-0");
    tw_carry_out(r.world);
    jval list = jgetc(obj_status(tw_must(r.world, &kind_pod_gang, "p-0")), "conditions");
    CHECK_CSTR(jstr(jgetc(condition_find(list, STR("Initialized")), "lastTransitionTime")),
               "2026-01-01T00:00:00Z");
    CHECK_CSTR(jstr(jgetc(condition_find(list, STR("Scheduled")), "lastTransitionTime")),
               "2026-01-01T00:00:10Z");
    ring_free(&r);
}

/* A group with fewer replicas than its minimum: nobody waits for the rest before the gang says what
 * it has. */
TEST(a_gang_waits_for_no_cliques_that_nobody_makes)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 0}}");
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    for (int i = 0; i < 2; i++) {
        ring_plan_gang(&r, "svc-0");
        tw_carry_out(r.world);
    }
    tw_delete(r.world, &kind_pclq, "svc-0-fe");
    ring_plan_gang(&r, "svc-0");
    jval groups = jpath(tw_body(r.world, &kind_pod_gang, "svc-0", ""), "spec.podgroups");
    CHECK(j_has(groups));
    CHECK_INT(jlen(jgetc(jat(groups, 0), "podReferences")), 0);
    /* Those that are to come are waited for. */
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 1}}");
    ring_plan_gang(&r, "svc-0");
    CHECK_INT(r.world->plan.writes.len, 0);
    CHECK(tw_look_at(r.world) > r.world->world.now);
    ring_free(&r);
}

TEST(a_gang_that_has_not_changed_is_not_written)
{
    struct ring r = settled();
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0")));
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0-g-0")));
    ring_free(&r);
}

/* The scheduler's conditions are the scheduler's, by server-side apply of ours only. */
TEST(conditions_of_others_are_not_ours_to_write)
{
    struct ring r = settled();
    struct arena a = ARENA_INIT;
    jval status = obj_status(tw_must(r.world, &kind_pod_gang, "p-0"));
    CHECK_INT(jlen(jgetc(status, "conditions")), 5);
    tw_patch(r.world, &kind_pod_gang, "p-0",
             "{status: {placementScore: 0.5, conditions: [{type: Unschedulable, status: 'False'}, "
             "{type: Initialized, status: 'True', reason: PodGangPodsCreated}, {type: Scheduled, "
             "status: 'True', reason: MinimumPlaced}]}}");
    ring_plan_gang(&r, "p-0");
    const struct plan_write *w = tw_write(r.world, &kind_pod_gang, "p-0", "status");
    REQUIRE(w != NULL);
    CHECK_INT(w->patch, API_PATCH_APPLY);
    jval body = doc_root(w->body);
    CHECK(j_is_absent(condition_find(jpath(body, "status.conditions"), STR("Unschedulable"))));
    CHECK(j_is_absent(jpath(body, "status.placementScore")));
    CHECK_INT(jlen(jpath(body, "status.conditions")), 5);
    tw_carry_out(r.world);
    status = obj_status(tw_must(r.world, &kind_pod_gang, "p-0"));
    CHECK_INT(jlen(jgetc(status, "conditions")), 6);
    arena_done(&a);
    ring_free(&r);
}

TEST(labels_and_annotations_of_the_set_are_mirrored)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pcs, "p",
             "{metadata: {labels: {team: null, color: red}, annotations: {note: null}}}");
    tw_patch(r.world, &kind_pod_gang, "p-0",
             "{metadata: {labels: {grove.io/extra: kept}, annotations: "
             "{kai.scheduler/skip-podgrouper: 'true'}}}");
    ring_plan_gang(&r, "p-0");
    check_yaml(tw_body(r.world, &kind_pod_gang, "p-0", ""),
               "metadata: {labels: {color: red, team: null}, annotations: {note: null, "
               "grove.io/mirrored-keys: labels/color}}");
    ring_free(&r);
}

TEST(the_scheduler_of_the_cliques_is_named)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pcs, "p",
             "{spec: {template: {cliques: [{name: a, spec: {replicas: 3, minAvailable: 2, podSpec: "
             "{containers: [{name: m}]}}}, {name: b, spec: {replicas: 2, podSpec: {schedulerName: "
             "kai-scheduler, containers: [{name: m}]}}}, {name: c, spec: {podSpec: {containers: "
             "[{name: m}]}}}]}}}");
    ring_plan_gang(&r, "p-0");
    check_yaml(tw_body(r.world, &kind_pod_gang, "p-0", ""),
               "metadata: {labels: {grove.io/scheduler-name: kai-scheduler}}");
    ring_free(&r);
}

/* ---- endings ---- */

/* No later than its pods: when its cliques go, which is before their pods do. */
TEST(a_gang_goes_with_its_replica)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 2}}");
    /* The number alone is not enough: a cache may be old. */
    CHECK(tw_write((ring_plan_gang(&r, "p-0-g-0"), r.world), &kind_pod_gang, "p-0-g-0", "") ==
          NULL);
    ring_plan_pcsg(&r, "p-0-g");
    tw_carry_out(r.world);
    size_t pods = tw_count(r.world, &kind_pod);
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_CSTR(tw_writes(r.world), "delete PodGang default/p-0-g-0\n");
    tw_carry_out(r.world);
    CHECK_INT(tw_count(r.world, &kind_pod), pods);
    ring_live(&r);
    CHECK(tw_get(r.world, &kind_pod_gang, "p-0-g-0") == NULL);
    ring_free(&r);
}

/* That the cache has no clique is no proof: somebody has to ask. */
TEST(a_gang_whose_cliques_are_not_known_is_verified)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 2}}");
    tw_remove(r.world, &kind_pclq, "p-0-g-2-b");
    tw_remove(r.world, &kind_pclq, "p-0-g-2-c");
    ring_plan_gang(&r, "p-0-g-0");
    const struct plan_write *w = tw_write(r.world, &kind_pod_gang, "p-0-g-0", "");
    REQUIRE(w != NULL);
    CHECK(w->absent_kind == &kind_pclq);
    CHECK_CSTR(w->absent_name, "p-0-g-2-b");
    CHECK_CSTR(w->absent_ns, "default");
    ring_free(&r);
}

/* Gang termination makes cliques anew; their gang stays and remembers that it was placed. */
TEST(a_gang_outlives_its_cliques_while_its_replica_is_wanted)
{
    struct ring r = settled();
    struct arena a = ARENA_INIT;
    str uid = arena_str(&a, tw_must(r.world, &kind_pod_gang, "p-0-g-0")->uid);
    tw_remove(r.world, &kind_pclq, "p-0-g-2-b");
    tw_remove(r.world, &kind_pclq, "p-0-g-2-c");
    tw_collect(r.world);
    ring_plan_gang(&r, "p-0-g-0");
    tw_carry_out(r.world);
    CHECK_STR(tw_must(r.world, &kind_pod_gang, "p-0-g-0")->uid, uid);
    ring_live(&r);
    CHECK_STR(tw_must(r.world, &kind_pod_gang, "p-0-g-0")->uid, uid);
    arena_done(&a);
    ring_free(&r);
}

/* ---- making room ---- */

TEST(a_gang_asked_to_make_room_loses_the_pods_it_had)
{
    struct ring r = settled();
    size_t n = 0;
    r.world->world.now += 60 * USEC_PER_SEC;
    tw_patch(r.world, &kind_pod_gang, "p-0-g-0",
             "{status: {conditions: [{type: DisruptionTarget, status: 'True', reason: Preempted, "
             "message: a more important gang needs 3 pods, lastTransitionTime: "
             "'2026-01-01T00:01:00Z'}]}}");
    ring_plan_gang(&r, "p-0-g-0");
    for (size_t i = 0; i < r.world->plan.writes.len; i++) {
        const struct plan_write *w = &r.world->plan.writes.p[i];
        if (w->op != PLAN_DELETE)
            continue;
        n++;
        CHECK(w->kind == &kind_pod && w->component_uid.len > 0 && !w->not_serving);
        CHECK(str_starts(w->name, STR("p-0-g-2-")));
    }
    CHECK_INT(n, 3);
    tw_carry_out(r.world);
    /* What stands in for them is not asked to go. */
    r.world->world.now += 2 * USEC_PER_SEC;
    ring_live(&r);
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_CSTR(tw_writes(r.world), "");
    CHECK(j_has(
        jpath(obj_root(tw_must(r.world, &kind_pod_gang, "p-0-g-0")), "spec.reuseReservationRef")));
    ring_free(&r);
}

static size_t count_deletes(struct ring *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->world->plan.writes.len; i++)
        n += r->world->plan.writes.p[i].op == PLAN_DELETE;
    return n;
}

/* Times are whole seconds: what stands for them was made in the second in which it was asked, and
 * is seen before the request is seen to be taken back. */
TEST(a_gang_asked_to_make_room_loses_the_pods_that_are_named_and_no_others)
{
    struct ring r = settled();
    struct arena a = ARENA_INIT;
    struct obj *pod;
    struct strbuf patch = STRBUF_INIT(4000);
    const struct obj *pclq = tw_must(r.world, &kind_pclq, "p-0-g-2-b");
    strbuf_add_cstr(&patch, "{status: {disruptedPods: [");
    for (struct cache_iter it = world_owned(&r.world->world, &kind_pod, pclq->uid);
         (pod = cache_next(&it));)
        strbuf_printf(&patch, "{name: %.*s, uid: '%.*s'}, ", STR_ARG(pod->name), STR_ARG(pod->uid));
    strbuf_add_cstr(&patch, "{name: p-0-g-2-c-gone, uid: of-another}], conditions: [{type: "
                            "DisruptionTarget, status: 'True', reason: PreemptionByScheduler, "
                            "message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}]}}");
    tw_patch(r.world, &kind_pod_gang, "p-0-g-0",
             arena_printf(&a, "%.*s", STR_ARG(strbuf_str(&patch))).p);
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_INT(count_deletes(&r), 2);
    tw_carry_out(r.world);
    ring_live(&r);
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_INT(count_deletes(&r), 0);
    strbuf_done(&patch);
    arena_done(&a);
    ring_free(&r);
}

/* A scheduler that names nobody: of pods made in the same second nobody knows whether they are
 * meant. While it may be about to take the request back they stay. */
TEST(a_request_that_names_nobody_is_about_older_pods_first)
{
    struct ring r = settled();
    struct arena a = ARENA_INIT;
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(obj_created(tw_must(r.world, &kind_pclq, "p-0-g-2-b")), &now);
    usec asked;
    REQUIRE(time_parse_rfc3339(strbuf_str(&now), &asked));
    tw_patch(r.world, &kind_pod_gang, "p-0-g-0",
             arena_printf(&a,
                          "{status: {conditions: [{type: DisruptionTarget, status: 'True', reason: "
                          "Preempted, message: m, lastTransitionTime: '%.*s'}]}}",
                          STR_ARG(strbuf_str(&now)))
                 .p);
    r.world->world.now = asked;
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_INT(count_deletes(&r), 0);
    CHECK(tw_look_at(r.world) > asked);
    r.world->world.now = tw_look_at(r.world);
    ring_plan_gang(&r, "p-0-g-0");
    CHECK_INT(count_deletes(&r), 3);
    strbuf_done(&now);
    arena_done(&a);
    ring_free(&r);
}

/* The only delete of the plan; NULL: there is none. */
static const struct plan_write *only_delete(struct ring *r)
{
    const struct plan_write *found = NULL;
    for (size_t i = 0; i < r->world->plan.writes.len; i++) {
        const struct plan_write *w = &r->world->plan.writes.p[i];
        if (w->op != PLAN_DELETE)
            continue;
        CHECK(found == NULL);
        found = w;
    }
    return found;
}

/* Pods above the minimum go one by one, those that are named; the ledger has its say. */
TEST(a_gang_asked_for_what_it_can_spare_loses_those_pods)
{
    struct ring r = settled();
    struct obj *pod, *asked = NULL;
    const struct obj *pclq = tw_must(r.world, &kind_pclq, "p-0-a");
    for (struct cache_iter it = world_owned(&r.world->world, &kind_pod, pclq->uid);
         (pod = cache_next(&it));)
        asked = pod;
    REQUIRE(asked != NULL);
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(asked->name));
    tw_patch(r.world, &kind_pod_gang, "p-0",
             "{status: {conditions: [{type: DisruptionTarget, status: 'True', reason: "
             "TrimmedByScheduler, message: 1 pod above its minimum must go, lastTransitionTime: "
             "'2026-01-01T00:01:00Z'}]}}");
    /* Nobody is named yet, and an eviction is another matter. */
    ring_plan_gang(&r, "p-0");
    CHECK(only_delete(&r) == NULL);
    tw_patch(r.world, &kind_pod, name,
             "{status: {conditions: [{type: Ready, status: 'True'}, {type: DisruptionTarget, "
             "status: 'True', reason: EvictionByEvictionAPI}]}}");
    ring_plan_gang(&r, "p-0");
    CHECK(only_delete(&r) == NULL);
    tw_patch(r.world, &kind_pod, name,
             "{status: {conditions: [{type: Ready, status: 'True'}, {type: DisruptionTarget, "
             "status: 'True', reason: PreemptionByScheduler}]}}");
    ring_plan_gang(&r, "p-0");
    const struct plan_write *w = only_delete(&r);
    REQUIRE(w != NULL);
    CHECK(w->kind == &kind_pod);
    CHECK_CSTR(w->name, name);
    CHECK(w->component_uid.len > 0 && !w->not_serving && !w->user_scale_in);
    ring_free(&r);
}

/* ---- topology ---- */

#define TOPOLOGY                                                                                  \
    "apiVersion: grove.io/v1alpha1\n"                                                             \
    "kind: ClusterTopologyBinding\n"                                                              \
    "metadata: {name: t}\n"                                                                       \
    "spec: {levels: [{domain: zone, key: k/zone}, {domain: rack, key: k/rack}, {domain: host, "   \
    "key: kubernetes.io/hostname}]}\n"                                                            \
    "---\n"                                                                                       \
    "apiVersion: grove.io/v1alpha1\n"                                                             \
    "kind: PodCliqueSet\n"                                                                        \
    "metadata: {name: s}\n"                                                                       \
    "spec:\n"                                                                                     \
    "  replicas: 1\n"                                                                             \
    "  replicaSpreadConstraints: [{maxSkew: 1, topologyKey: k/zone, whenUnsatisfiable: "          \
    "DoNotSchedule}, {maxSkew: 1, topologyKey: k/rack, whenUnsatisfiable: ScheduleAnyway}]\n"     \
    "  template:\n"                                                                               \
    "    topologyConstraint: {topologyName: t, pack: {required: zone}}\n"                         \
    "    schedulingPolicyConfig: {networkPackGroups: [{cliqueNames: [a, b]}]}\n"                  \
    "    cliques:\n"                                                                              \
    "    - {name: a, topologyConstraint: {pack: {required: host}}, spec: {podSpec: {containers: " \
    "[{name: m}]}}}\n"                                                                            \
    "    - {name: b, spec: {podSpec: {containers: [{name: m}]}}}\n"                               \
    "    podCliqueScalingGroups:\n"                                                               \
    "    - {name: g, cliqueNames: [b], replicas: 2, minAvailable: 1, topologyConstraint: {pack: " \
    "{required: rack, preferred: host}}}\n"

static void check_gang_spec(struct ring *r, const char *gang, const char *field, const char *yaml)
{
    check_yaml(jget(obj_spec(tw_must(r->world, &kind_pod_gang, gang)), str_of(field)), yaml);
}

/* So many pods like these are yet to come where this gang is; of the gang alone nobody knows. */
TEST(a_base_gang_says_how_many_pods_come_in_scaled_gangs)
{
    struct ring r = ring_new();
    tw_load(r.world, TOPOLOGY);
    ring_live(&r);
    const char *key = "grove.io/scaled-pods";
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pod_gang, "s-0"), str_of(key)), "s-0-g-0-b=1");
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pod_gang, "s-0-g-0"), str_of(key)), "");
    /* It may be anywhere: it says nothing, and no more what it said. */
    tw_patch(r.world, &kind_pcs, "s",
             "{spec: {replicaSpreadConstraints: null, template: {topologyConstraint: null}}}");
    ring_live(&r);
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pod_gang, "s-0"), str_of(key)), "");
    ring_free(&r);
}

TEST(constraints_of_three_levels_become_label_keys)
{
    struct ring r = ring_new();
    tw_load(r.world, TOPOLOGY);
    ring_live(&r);
    check_gang_spec(&r, "s-0", "topologyConstraint", "{packConstraint: {required: k/zone}}");
    check_gang_spec(&r, "s-0", "topologyConstraintGroupConfigs",
                    "- {name: s-0-g-0, podGroupNames: [s-0-g-0-b], topologyConstraint: "
                    "{packConstraint: {required: k/rack, preferred: kubernetes.io/hostname}}}\n"
                    "- {name: pack-0, podGroupNames: [s-0-a, s-0-g-0-b], topologyConstraint: "
                    "{packConstraint: {preferred: kubernetes.io/hostname}}}\n");
    const struct obj *base = tw_must(r.world, &kind_pod_gang, "s-0");
    check_yaml(jgetc(jat(jgetc(obj_spec(base), "podgroups"), 0), "topologyConstraint"),
               "{packConstraint: {required: kubernetes.io/hostname}}");
    CHECK_CSTR(obj_annotation(base, STR("grove.io/topology-name")), "t");
    CHECK_CSTR(obj_annotation(base, STR("grove.io/replica-spread")),
               "k/zone=required,k/rack=preferred");
    /* A scaled gang is one replica of its group, and the group's constraint is its own. */
    check_gang_spec(&r, "s-0-g-0", "topologyConstraint",
                    "{packConstraint: {required: k/rack, preferred: kubernetes.io/hostname}}");
    jval c = condition_find(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.conditions"),
                            STR("TopologyLevelsUnavailable"));
    CHECK_CSTR(jstr(jgetc(c, "reason")), "AllClusterTopologyLevelsAvailable");
    ring_free(&r);
}

TEST(a_domain_the_binding_lost_is_left_out_and_told)
{
    struct ring r = ring_new();
    tw_load(r.world, TOPOLOGY);
    ring_live(&r);
    tw_patch(r.world, &kind_ctb, "t", "{spec: {levels: [{domain: zone, key: k/zone}]}}");
    ring_live(&r);
    jval c = condition_find(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.conditions"),
                            STR("TopologyLevelsUnavailable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "True");
    CHECK_CSTR(jstr(jgetc(c, "reason")), "ClusterTopologyLevelsUnavailable");
    tw_remove(r.world, &kind_ctb, "t");
    ring_live(&r);
    c = condition_find(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.conditions"),
                       STR("TopologyLevelsUnavailable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "Unknown");
    CHECK_CSTR(jstr(jgetc(c, "reason")), "ClusterTopologyNotFound");
    CHECK_CSTR(
        obj_annotation(tw_must(r.world, &kind_pod_gang, "s-0"), STR("grove.io/topology-name")), "");
    const struct obj *gang = tw_must(r.world, &kind_pod_gang, "s-0");
    CHECK(!j_has(jgetc(obj_spec(gang), "topologyConstraint")));
    for (struct jiter it = jiter(jgetc(obj_spec(gang), "podgroups")); jnext(&it);)
        CHECK(!j_has(jgetc(it.value, "topologyConstraint")));
    ring_free(&r);
}

static str missing_domains(struct ring *r)
{
    jval c = condition_find(jpath(obj_root(tw_must(r->world, &kind_pcs, "s")), "status.conditions"),
                            STR("TopologyLevelsUnavailable"));
    return jstr(jgetc(c, "message"));
}

/* However many constraints there are: a message has a longest length, and a status that breaks it
 * is never written. */
TEST(missing_domains_are_named_once_and_not_without_end)
{
    enum { CLIQUES = 300, DOMAINS = 30 };
    struct ring r = ring_new();
    struct strbuf text = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&text,
                    "{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: "
                    "{name: t}, spec: {levels: [{domain: host, key: kubernetes.io/hostname}]}}\n"
                    "---\n{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s}, "
                    "spec: {replicas: 0, template: {topologyConstraint: {topologyName: t, pack: "
                    "{preferred: host}}, cliques: [");
    for (int i = 0; i < CLIQUES; i++)
        strbuf_printf(&text,
                      "%s{name: c%d, topologyConstraint: {pack: {preferred: d%d}}, spec: {podSpec: "
                      "{containers: [{name: m}]}}}",
                      i ? ", " : "", i, i % DOMAINS);
    strbuf_add_cstr(&text, "]}}}\n");
    strbuf_add_char(&text, 0);
    tw_load(r.world, text.p);
    ring_live(&r);
    CHECK_CSTR(missing_domains(&r), "ClusterTopologyBinding t has no domain d0, d1, d2, d3, d4, "
                                    "d5, d6, d7, and more");
    strbuf_done(&text);
    ring_free(&r);
}

/* Caches fill at their own pace: owners that are not there yet prove nothing. */
TEST(a_gang_survives_caches_that_lag)
{
    struct ring r = settled();
    tw_remove(r.world, &kind_pcsg, "p-0-g");
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0-g-0")));
    tw_remove(r.world, &kind_pcs, "p");
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0-g-0")));
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0")));
    ring_free(&r);
}

TEST(gangs_of_a_deleted_set_are_left_to_the_collector)
{
    struct ring r = settled();
    tw_delete(r.world, &kind_pcs, "p");
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0")));
    CHECK(plan_is_empty(ring_plan_gang(&r, "no-such-gang")));
    ring_free(&r);
}

TEST(a_gang_that_is_going_is_left_alone)
{
    struct ring r = settled();
    tw_patch(r.world, &kind_pod_gang, "p-0", "{metadata: {finalizers: [x/y]}}");
    tw_delete(r.world, &kind_pod_gang, "p-0");
    CHECK(plan_is_empty(ring_plan_gang(&r, "p-0")));
    /* and made again when it is gone */
    tw_remove(r.world, &kind_pod_gang, "p-0");
    ring_live(&r);
    check_state(&r, "p-0", "Running True True True");
    ring_free(&r);
}

TEST(messages_alone_are_no_hurry)
{
    struct ring r = ring_new();
    tw_load(r.world, P);
    ring_plan_pcs(&r, "p");
    tw_carry_out(r.world);
    ring_plan_gang(&r, "p-0");
    tw_carry_out(r.world);
    ring_plan_gang(&r, "p-0");
    CHECK(!tw_write(r.world, &kind_pod_gang, "p-0", "status")->counts_only);
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "p-0-a");
    tw_carry_out(r.world);
    /* A new gang waits for the rest of its pods, but not for long. */
    const struct plan *p = ring_plan_gang(&r, "p-0");
    usec again = tw_look_at(r.world);
    CHECK_INT(p->writes.len, 0);
    REQUIRE(again > r.world->world.now && again <= r.world->world.now + 11 * USEC_PER_SEC);
    r.world->world.now = again;
    ring_plan_gang(&r, "p-0");
    CHECK(tw_write(r.world, &kind_pod_gang, "p-0", "status")->counts_only);
    ring_free(&r);
}
