/* What a set makes beside cliques and groups, and how much it writes. */
#include "base/test.h"
#include "operator/common/mnnvl.h"
#include "operator/common/sharing.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define POD "podSpec: {containers: [{name: m, image: i}]}"

static struct ring with(const char *spec)
{
    struct ring r = ring_new();
    tw_loadf(r.world,
             "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s, uid: "
             "s-uid}\nspec: %s\n",
             spec);
    return r;
}

/* ---- autoscalers ---- */

#define SCALED                                                                                   \
    "{replicas: 2, template: {cliques: [{name: a, spec: {replicas: 3, minAvailable: 2, "         \
    "autoScalingConfig: {minReplicas: 1, maxReplicas: 6, metrics: [{type: Resource, resource: "  \
    "{name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}, " POD "}}, {name: b, " \
    "spec: {minAvailable: 1, autoScalingConfig: {maxReplicas: 9}, " POD                          \
    "}}], podCliqueScalingGroups: "                                                              \
    "[{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1, scaleConfig: {minReplicas: 2, "  \
    "maxReplicas: 4, behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}}]}}"

TEST(autoscalers_are_named_like_their_targets_and_never_go_below_the_minimum)
{
    struct ring r = with(SCALED);
    ring_live(&r);
    /* A member is scaled by its group. */
    check_names(&r, &kind_hpa, "s-0-a s-0-g s-1-a s-1-g ");
    check_yaml(obj_spec(tw_must(r.world, &kind_hpa, "s-0-a")),
               "{minReplicas: 2, maxReplicas: 6, scaleTargetRef: {apiVersion: "
               "grove.io/v1alpha1, kind: PodClique, name: s-0-a}, metrics: [{type: Resource, "
               "resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}");
    jval g = obj_spec(tw_must(r.world, &kind_hpa, "s-1-g"));
    CHECK_INT(jint(jgetc(g, "minReplicas"), 0), 2);
    CHECK_INT(jint(jpath(g, "behavior.scaleDown.stabilizationWindowSeconds"), 0), 60);
    CHECK_CSTR(jstr(jpath(g, "scaleTargetRef.kind")), "PodCliqueScalingGroup");
    CHECK_CSTR(obj_label(tw_must(r.world, &kind_hpa, "s-1-g"), STR("app.kubernetes.io/component")),
               "pcs-hpa");
    tw_patch(r.world, &kind_hpa, "s-0-a", "{spec: {maxReplicas: 99}}");
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 1}}");
    ring_live(&r);
    check_names(&r, &kind_hpa, "s-0-a s-0-g ");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_hpa, "s-0-a"), "spec.maxReplicas"), "6");
    CHECK(plan_is_empty(ring_plan_pcs(&r, "s")));
    ring_free(&r);
}

/* ---- budgets ---- */

TEST(a_budget_is_the_floor_of_its_clique)
{
    struct ring r = with(SCALED);
    ring_live(&r);
    check_names(&r, &kind_pdb, "s-0-a s-0-g-0-b s-0-g-1-b s-1-a s-1-g-0-b s-1-g-1-b ");
    check_yaml(obj_spec(tw_must(r.world, &kind_pdb, "s-0-a")),
               "{minAvailable: 2, unhealthyPodEvictionPolicy: AlwaysAllow, selector: "
               "{matchLabels: {app.kubernetes.io/managed-by: grove-operator, "
               "app.kubernetes.io/part-of: s, grove.io/podclique: s-0-a}}}");
    /* min(minAvailable, replicas) */
    tw_patch(r.world, &kind_pclq, "s-0-a", "{spec: {replicas: 1}}");
    tw_patch(r.world, &kind_pcsg, "s-1-g", "{spec: {replicas: 1}}");
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pdb, "s-0-a"), "spec.minAvailable"), "1");
    CHECK(tw_get(r.world, &kind_pdb, "s-1-g-1-b") == NULL);
    ring_free(&r);
}

/* ---- token ---- */

TEST(there_is_a_token_only_where_somebody_waits)
{
    struct ring r = with("{replicas: 1, template: {cliqueStartupType: CliqueStartupTypeInOrder, "
                         "cliques: [{name: a, spec: {" POD "}}, {name: b, spec: {" POD "}}]}}");
    ring_live(&r);
    const struct obj *o = tw_must(r.world, &kind_secret, "s-ic-sat");
    CHECK_CSTR(jstr(jgetc(obj_root(o), "type")), "kubernetes.io/service-account-token");
    CHECK_CSTR(obj_annotation(o, STR("kubernetes.io/service-account.name")), "s");
    CHECK_CSTR(obj_label(o, STR("app.kubernetes.io/component")), "pod-sa-token-secret");
    ring_free(&r);
    r = with(SCALED);
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_secret), 0);
    ring_free(&r);
}

TEST(a_secret_of_somebody_else_is_an_error_until_it_is_gone)
{
    struct ring r = with("{replicas: 1, template: {cliqueStartupType: CliqueStartupTypeInOrder, "
                         "cliques: [{name: a, spec: {" POD "}}, {name: b, spec: {" POD "}}]}}");
    tw_load(r.world, "apiVersion: v1\nkind: Secret\nmetadata: {name: s-ic-sat, ownerReferences: "
                     "[{apiVersion: v1, kind: Pod, name: x, uid: x, controller: true}]}\n");
    (void)ring_settle(&r);
    jval e = jat(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.lastErrors"), 0);
    CHECK_CSTR(jstr(jgetc(e, "code")), "ERR_SECRET_CONFLICT");
    CHECK(j_has(jgetc(e, "observedAt")));
    tw_remove(r.world, &kind_secret, "s-ic-sat");
    (void)ring_settle(&r);
    CHECK_INT(jlen(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.lastErrors")), 0);
    CHECK(tw_get(r.world, &kind_secret, "s-ic-sat") != NULL);
    ring_free(&r);
}

/* T46, T57: what cannot be written is in the status, with the warning, and not after it was. */
TEST(writes_that_fail_are_in_the_status_of_the_set)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {" POD "}}]}}");
    struct failures f = {.row = 1,
                         .n = 2,
                         .items = {{PLAN_CREATE, &kind_service, STR("default"), STR("s-0"), 403,
                                    STR("Forbidden"), STR("no more services")},
                                   {PLAN_CREATE, &kind_pclq, STR("default"), STR("s-0-a"), 403,
                                    STR("Forbidden"), STR("no more cliques")}}};
    ring_plan_pcs(&r, "s"); /* the finalizer */
    tw_carry_out(r.world);
    r.world->world.failed = &f;
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    CHECK_INT(r.world->plan.events.len, 1);
    CHECK_CSTR(r.world->plan.events.p[0].reason, "PodCliqueCreateOrUpdateFailed");
    tw_carry_out(r.world);
    jval status = obj_status(tw_must(r.world, &kind_pcs, "s"));
    CHECK_CSTR(jstr(jgetc(status, "phase")), "Creating");
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    tw_carry_out(r.world);
    status = obj_status(tw_must(r.world, &kind_pcs, "s"));
    CHECK_CSTR(jstr(jpath(jat(jgetc(status, "lastErrors"), 0), "code")),
               "ERR_SYNC_PODCLIQUESET_SERVICE");
    CHECK_CSTR(jstr(jpath(jat(jgetc(status, "lastErrors"), 1), "description")),
               "[Operation: Create, Code: ERR_CREATE_OR_UPDATE_PODCLIQUE] message: PodClique "
               "default/s-0-a failed, cause: no more cliques");
    CHECK_CSTR(jstr(jgetc(status, "phase")), "Failed");
    r.world->world.now += USEC_PER_MIN;
    CHECK(plan_is_empty(tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s")));
    r.world->world.failed = NULL;
    ring_live(&r);
    status = obj_status(tw_must(r.world, &kind_pcs, "s"));
    CHECK_INT(jlen(jgetc(status, "lastErrors")), 0);
    CHECK_CSTR(jstr(jgetc(status, "phase")), "Available");
    ring_free(&r);
}

TEST(what_holds_up_the_end_of_a_set_is_in_its_status)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {" POD "}}]}}");
    struct failures f = {.row = 1,
                         .n = 1,
                         .items = {{PLAN_DELETE, mnnvl_kind(), STR("default"), STR("s-0-default"),
                                    403, STR("Forbidden"), STR("not yours")}}};
    ring_live(&r);
    tw_delete(r.world, &kind_pcs, "s");
    CHECK(plan_is_empty(tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s")));
    r.world->world.failed = &f;
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    tw_carry_out(r.world);
    jval e = jat(jgetc(obj_status(tw_must(r.world, &kind_pcs, "s")), "lastErrors"), 0);
    CHECK_CSTR(jstr(jgetc(e, "code")), "ERR_DELETE_COMPUTEDOMAIN");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcs, "s"), "status.replicas"), "1");
    ring_free(&r);
}

TEST(members_that_cannot_be_made_are_in_the_status_of_their_group)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {" POD "}}], "
                         "podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]}}");
    struct failures f = {.row = 1,
                         .n = 1,
                         .items = {{PLAN_CREATE, &kind_pclq, STR("default"), STR("s-0-g-0-a"), 403,
                                    STR("Forbidden"), STR("no more cliques")}}};
    ring_plan_pcs(&r, "s");
    tw_carry_out(r.world);
    ring_plan_pcs(&r, "s");
    tw_carry_out(r.world);
    r.world->world.failed = &f;
    ring_plan_pcsg(&r, "s-0-g");
    const struct plan_write *status = tw_write(r.world, &kind_pcsg, "s-0-g", "status");
    REQUIRE(status);
    CHECK_INT(status->stage, 0); /* it does not wait for what fails */
    jval e = jat(jpath(doc_root(status->body), "status.lastErrors"), 0);
    CHECK_CSTR(jstr(jgetc(e, "code")), "ERR_CREATE_PODCLIQUE");
    tw_carry_out(r.world);
    r.world->world.failed = NULL;
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcsg, "s-0-g"), "status.lastErrors"), "[]");
    ring_free(&r);
}

TEST(a_gang_that_cannot_be_made_is_told_on_its_set)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {" POD "}}]}}");
    struct failures f = {.row = 1,
                         .n = 1,
                         .items = {{PLAN_CREATE, &kind_pod_gang, STR("default"), STR("s-0"), 403,
                                    STR("Forbidden"), STR("no more gangs")}}};
    ring_plan_pcs(&r, "s");
    tw_carry_out(r.world);
    ring_plan_pcs(&r, "s");
    tw_carry_out(r.world);
    r.world->world.failed = &f;
    ring_plan_gang(&r, "s-0");
    CHECK_CSTR(r.world->plan.events.p[0].reason, "PodGangCreateOrUpdateFailed");
    CHECK_CSTR(r.world->plan.events.p[0].message, "PodGang s-0: no more gangs");
    CHECK_STR(r.world->plan.events.p[0].about->name, STR("s"));
    ring_free(&r);
}

/* ---- claims ---- */

#define SHARED                                                                               \
    "{replicas: 2, template: {resourceClaimTemplates: [{name: pool, templateSpec: {spec: "   \
    "{devices: {requests: [{name: gpu}]}}}}], resourceSharing: [{name: pool, scope: "        \
    "AllReplicas}, {name: ext, scope: PerReplica, filter: {childCliqueNames: [a]}}, {name: " \
    "pool, scope: PerReplica, filter: {childScalingGroupNames: [g]}}], cliques: [{name: a, " \
    "resourceSharing: [{name: pool, scope: PerReplica}], spec: {" POD "}}, {name: b, spec: " \
    "{" POD "}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, "        \
    "resourceSharing: [{name: pool, scope: AllReplicas}, {name: pool, scope: PerReplica}]}]}}"

TEST(claims_are_made_for_levels_and_replicas_and_go_with_them)
{
    struct ring r = with(SHARED);
    ring_plan_pcs(&r, "s");
    /* The template of one does not exist yet: it is told. */
    bool told = false;
    for (size_t i = 0; i < r.world->plan.events.len; i++)
        told = told || str_is(r.world->plan.events.p[i].reason, "ResourceClaimTemplateNotFound");
    CHECK(told);
    tw_load(r.world, "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: "
                     "{name: ext}\nspec: {spec: {devices: {requests: [{name: other}]}}}\n");
    ring_live(&r);
    static const char *const want[] = {"s-all-pool",     "s-0-ext",      "s-1-ext",
                                       "s-0-pool",       "s-1-pool",     "s-0-g-all-pool",
                                       "s-1-g-all-pool", "s-0-g-0-pool", "s-1-g-1-pool"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK(tw_get(r.world, &kind_resource_claim, want[i]) != NULL);
    const struct obj *o = tw_must(r.world, &kind_resource_claim, "s-1-g-1-pool");
    CHECK_CSTR(tw_json(o, "spec.devices.requests"), "[{\"name\":\"gpu\"}]");
    CHECK_CSTR(jstr(jgetc(obj_controller_ref(o), "kind")), "PodCliqueScalingGroup");
    CHECK_CSTR(obj_label(o, STR("grove.io/podcliquescalinggroup-replica-index")), "1");
    CHECK_CSTR(obj_label(o, STR("app.kubernetes.io/component")), "resource-claim");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_resource_claim, "s-0-ext"), "spec.devices.requests"),
               "[{\"name\":\"other\"}]");
    tw_patch(r.world, &kind_pcsg, "s-0-g", "{spec: {replicas: 1}}");
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 1}}");
    ring_live(&r);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-1-pool") == NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-1-ext") == NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-all-pool") != NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-all-pool") != NULL);
    ring_free(&r);
}

static void check_claims(struct ring *r, const char *clique, int64_t index, const char *want)
{
    struct arena a = ARENA_INIT;
    struct strbuf got = STRBUF_INIT(1000);
    claim_names names;
    sharing_claims_of_pod(&a, tw_must(r->world, &kind_pcs, "s"),
                          tw_must(r->world, &kind_pclq, clique), index, &names);
    for (size_t i = 0; i < names.len; i++)
        strbuf_printf(&got, "%.*s ", STR_ARG(names.p[i]));
    CHECK_CSTR(strbuf_str(&got), want);
    vec_done(&names);
    strbuf_done(&got);
    arena_done(&a);
}

/* All before per replica, level by level; filters say for whom. */
TEST(a_pod_uses_the_claims_meant_for_it)
{
    struct ring r = with(SHARED);
    (void)ring_settle(&r);
    check_claims(&r, "s-1-a", 0, "s-all-pool s-1-ext s-1-a-0-pool ");
    check_claims(&r, "s-0-g-1-b", 3, "s-all-pool s-0-pool s-0-g-all-pool s-0-g-1-pool ");
    ring_free(&r);
}

/* ---- numbers ---- */

/* The multiplication of the guide: 3 replicas of a group of 2 copies of 4 workers and 2 servers. */
TEST(replicas_multiply_as_the_guide_says)
{
    struct ring r = with("{replicas: 3, template: {cliques: [{name: worker, spec: {replicas: 4, "
                         "minAvailable: 1, " POD "}}, {name: ps, spec: {replicas: 2, " POD "}}], "
                         "podCliqueScalingGroups: [{name: training, cliqueNames: [worker, ps], "
                         "replicas: 2, minAvailable: 1}]}}");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pcsg), 3);
    CHECK_INT(tw_count(r.world, &kind_pclq), 12);
    CHECK_INT(tw_count(r.world, &kind_pod), 36);
    size_t workers = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        workers += str_is(obj_label(o, STR("grove.io/role")), "worker");
    CHECK_INT(workers, 24);
    ring_free(&r);
}

/* Before scheduling a pod is created and let go, and nothing else. */
TEST(a_pod_takes_two_writes_before_it_is_scheduled)
{
    struct ring r = with("{replicas: 10, template: {cliques: [{name: a, spec: {replicas: 20, "
                         "minAvailable: 20, " POD "}}, {name: b, spec: {replicas: 8, minAvailable: "
                         "8, " POD "}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], "
                         "replicas: 10, minAvailable: 10}]}}");
    (void)ring_settle(&r);
    CHECK_INT(tw_count(r.world, &kind_pod), 1000);
    size_t writes = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));) {
        CHECK_INT(jlen(jgetc(obj_spec(o), "schedulingGates")), 0);
        writes += (size_t)o->generation; /* 1 when made, 2 when let go */
    }
    CHECK(writes <= 2000);
    ring_free(&r);
}

/* A change that means nothing writes nothing to children. */
TEST(a_change_without_meaning_writes_nothing)
{
    struct ring r = with(SCALED);
    ring_live(&r);
    tw_patch(r.world, &kind_pcs, "s", "{metadata: {annotations: {grove.io/reconcile-trigger: x}}}");
    CHECK_INT(ring_settle(&r), 0);
    ring_free(&r);
}

/* ---- status ---- */

static void check_phase(struct ring *r, const char *set, const char *group)
{
    CHECK_CSTR(jstr(jpath(obj_root(tw_must(r->world, &kind_pcs, "s")), "status.phase")), set);
    CHECK_CSTR(jstr(jpath(obj_root(tw_must(r->world, &kind_pcsg, "s-0-g")), "status.phase")),
               group);
}

TEST(the_phase_tells_the_life_of_a_set)
{
    struct ring r = with(SCALED);
    (void)ring_settle(&r);
    check_phase(&r, "Scheduling", "Scheduling");
    ring_live(&r);
    check_phase(&r, "Available", "Available");
    tw_patch(r.world, &kind_pcsg, "s-0-g", "{spec: {replicas: 0}}");
    (void)ring_settle(&r);
    check_phase(&r, "Degraded", "ScaledToZero");
    tw_patch(r.world, &kind_pcsg, "s-1-g", "{spec: {replicas: 0}}");
    (void)ring_settle(&r);
    check_phase(&r, "Degraded", "ScaledToZero");
    ring_free(&r);
}

TEST(the_gangs_of_a_set_are_in_its_status)
{
    struct ring r = with(SCALED);
    ring_live(&r);
    jval gangs = jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.podGangStatuses");
    CHECK_INT(jlen(gangs), 4);
    CHECK_CSTR(jstr(jgetc(jat(gangs, 1), "name")), "s-0-g-0");
    CHECK_CSTR(jstr(jgetc(jat(gangs, 1), "phase")), "Running");
    CHECK(condition_is_true(jgetc(jat(gangs, 1), "conditions"), STR("Ready")));
    ring_free(&r);
}

/* Hashes name a stored revision, and stay while the template does. */
TEST(a_template_is_stored_under_the_hashes_that_name_it)
{
    struct ring r = with(SCALED);
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_controller_revision), 1);
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 1}}");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_controller_revision), 1);
    struct arena a = ARENA_INIT;
    str hash = arena_str(&a, jstr(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")),
                                        "status.currentGenerationHash")));
    CHECK(!str_is_empty(hash));
    CHECK_STR(jstr(jpath(obj_root(tw_must(r.world, &kind_pcsg, "s-0-g")),
                         "status.currentPodCliqueSetGenerationHash")),
              hash);
    tw_patch(r.world, &kind_pcs, "s", "{spec: {template: {priorityClassName: high}}}");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_controller_revision), 2);
    CHECK(!str_eq(
        jstr(jpath(obj_root(tw_must(r.world, &kind_pcs, "s")), "status.currentGenerationHash")),
        hash));
    arena_done(&a);
    ring_free(&r);
}
