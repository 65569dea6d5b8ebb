/* Backends: what they put on pods, the PodGroups of KAI and Volcano field by field, and what
 * happens when one cannot be made. */
#include "operator/common/backend.h"

#include "base/test.h"
#include "grove/pod.h"
#include "operator/test-ring.h"

/* A gang of two standalone cliques and two replicas of a group of two, packed at each level. */
#define SET(extra)                                                                      \
    "apiVersion: grove.io/v1alpha1\n"                                                   \
    "kind: PodCliqueSet\n"                                                              \
    "metadata: {name: svc, uid: svc-uid" extra "}\n"                                    \
    "spec:\n"                                                                           \
    "  template:\n"                                                                     \
    "    cliques:\n"                                                                    \
    "    - {name: fe, spec: {podSpec: {schedulerName: %s, containers: [{name: m}]}}}\n" \
    "    - {name: pl, spec: {podSpec: {schedulerName: %s, containers: [{name: m}]}}}\n" \
    "    podCliqueScalingGroups: [{name: pf, cliqueNames: [pl], replicas: 3, minAvailable: 1}]\n"

#define GANG                                                                                     \
    "apiVersion: scheduler.grove.io/v1alpha1\n"                                                  \
    "kind: PodGang\n"                                                                            \
    "metadata: {name: svc-0, uid: gang-uid, labels: {team: blue, grove.io/podcliqueset: svc},\n" \
    "  annotations: {note: hi%s},\n"                                                             \
    "  ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: svc,\n"       \
    "    uid: svc-uid, controller: true}]}\n"                                                    \
    "spec:\n"                                                                                    \
    "  priorityClassName: high\n"                                                                \
    "  podgroups:\n"                                                                             \
    "  - {name: svc-0-fe, minReplicas: 2, podReferences: []}\n"                                  \
    "  - {name: svc-0-pf-0-pl, minReplicas: 1, podReferences: []}\n"                             \
    "  - {name: svc-0-pf-0-pw, minReplicas: 4, podReferences: []}\n"

struct fixture {
    struct test_world *world;
    struct backend_env env;
    struct arena arena;
};

static struct fixture fixture_new(void)
{
    struct fixture f = {.world = tw_new(), .arena = ARENA_INIT};
    backend_register_kinds((1u << N_BACKENDS) - 1);
    f.env.started = TW_START;
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (backends[i].kind)
            f.env.groups[i] = (struct backend_groups){
                .cache = runtime_cache(f.world->runtime, backends[i].kind), .known = true};
    }
    f.env.topologies = (struct backend_groups){
        .cache = runtime_cache(f.world->runtime, &kind_kai_topology), .known = true};
    (void)runtime_cache(f.world->runtime, &kind_ctb);
    return f;
}

static void fixture_free(struct fixture *f)
{
    arena_done(&f->arena);
    tw_free(f->world);
}

static void load(struct fixture *f, const char *set, const char *scheduler, const char *gang,
                 const char *annotations)
{
    struct strbuf text = STRBUF_INIT(10000);
    for (const char *c = set; *c; c++) {
        if (c[0] == '%' && c[1] == 's') {
            strbuf_add_cstr(&text, scheduler);
            c++;
        } else
            strbuf_add_str(&text, str_n(c, 1));
    }
    strbuf_add_cstr(&text, "---\n");
    for (const char *c = gang; *c; c++) {
        if (c[0] == '%' && c[1] == 's') {
            strbuf_add_cstr(&text, annotations);
            c++;
        } else
            strbuf_add_str(&text, str_n(c, 1));
    }
    tw_load(f->world, text.p);
    strbuf_done(&text);
}

static void plan(struct fixture *f)
{
    (void)tw_plan(f->world, backend_plan, &f->env, &kind_pod_gang, "svc-0");
}

static jval body(struct fixture *f, const struct kind *k)
{
    return tw_body(f->world, k, "svc-0", "");
}

/* ---- KAI ---- */

#define KAI_SET SET(", labels: {kai.scheduler/queue: gold}")

TEST(kai_gets_a_pod_group_field_by_field)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    plan(&f);
    CHECK_CSTR(tw_writes(f.world), "patch PodGang default/svc-0\ncreate PodGroup default/svc-0\n");
    check_yaml(body(&f, &kind_pod_gang),
               "metadata: {annotations: {kai.scheduler/skip-podgrouper: \"true\"}}");
    check_yaml(body(&f, &kind_kai_pod_group),
               "apiVersion: scheduling.run.ai/v2alpha2\n"
               "kind: PodGroup\n"
               "metadata:\n"
               "  name: svc-0\n"
               "  namespace: default\n"
               "  labels: {team: blue, grove.io/podcliqueset: svc}\n"
               "  annotations: {note: hi, kai.scheduler/skip-podgrouper: \"true\"}\n"
               "  ownerReferences: [{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang,\n"
               "    name: svc-0, uid: gang-uid, controller: true, blockOwnerDeletion: true}]\n"
               "spec:\n"
               "  minMember: 7\n"
               "  queue: gold\n"
               "  priorityClassName: high\n"
               "  topologyConstraint: {}\n"
               "  subGroups:\n"
               "  - {name: svc-0-fe, minMember: 2}\n"
               "  - {name: svc-0-pf-0-pl, minMember: 1}\n"
               "  - {name: svc-0-pf-0-pw, minMember: 4}\n");
    tw_carry_out(f.world);
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

#define PACKED                                                                                 \
    GANG "  topologyConstraint: {packConstraint: {required: zone-key, preferred: rack-key}}\n" \
         "  topologyConstraintGroupConfigs:\n"                                                 \
         "  - {name: svc-0-pf-0, podGroupNames: [svc-0-pf-0-pl, svc-0-pf-0-pw],\n"             \
         "     topologyConstraint: {packConstraint: {required: rack-key}}}\n"                  \
         "  - {name: nobody, podGroupNames: []}\n"

TEST(kai_carries_constraints_of_gang_group_and_clique)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", PACKED, ", grove.io/topology-name: dc");
    tw_patch(f.world, &kind_pod_gang, "svc-0",
             "{spec: {podgroups: [{name: svc-0-fe, minReplicas: 2, podReferences: [],\n"
             "  topologyConstraint: {packConstraint: {preferred: host-key}}},\n"
             "  {name: svc-0-pf-0-pl, minReplicas: 1}, {name: svc-0-pf-0-pw, minReplicas: 4}]}}");
    plan(&f);
    jval spec = jgetc(body(&f, &kind_kai_pod_group), "spec");
    check_yaml(jgetc(spec, "topologyConstraint"),
               "{topology: dc, requiredTopologyLevel: zone-key, preferredTopologyLevel: rack-key}");
    check_yaml(jgetc(spec, "subGroups"),
               "- {name: svc-0-pf-0, minSubGroup: 2,\n"
               "   topologyConstraint: {topology: dc, requiredTopologyLevel: rack-key}}\n"
               "- {name: svc-0-fe, minMember: 2,\n"
               "   topologyConstraint: {topology: dc, preferredTopologyLevel: host-key}}\n"
               "- {name: svc-0-pf-0-pl, minMember: 1, parent: svc-0-pf-0}\n"
               "- {name: svc-0-pf-0-pw, minMember: 4, parent: svc-0-pf-0}\n");
    /* The constraints go: so do their levels. */
    tw_carry_out(f.world);
    tw_patch(f.world, &kind_pod_gang, "svc-0",
             "{spec: {topologyConstraint: null, topologyConstraintGroupConfigs: null,\n"
             "  priorityClassName: null}}");
    plan(&f);
    tw_carry_out(f.world);
    const struct obj *o = tw_must(f.world, &kind_kai_pod_group, "svc-0");
    CHECK_CSTR(tw_json(o, "spec.topologyConstraint"), "{}");
    CHECK_CSTR(tw_json(o, "spec.priorityClassName"), "");
    CHECK_INT(jlen(jgetc(obj_spec(o), "subGroups")), 3);
    fixture_free(&f);
}

TEST(kai_topology_may_be_named_by_its_own_annotation)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", PACKED, ", kai.scheduler/topology: own");
    plan(&f);
    CHECK_CSTR(jstr(jpath(body(&f, &kind_kai_pod_group), "spec.topologyConstraint.topology")),
               "own");
    fixture_free(&f);
}

TEST(kai_refuses_a_constraint_without_a_topology)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", PACKED, "");
    plan(&f);
    CHECK_CSTR(tw_writes(f.world), "");
    CHECK(str_find(tw_text(f.world), STR("event Warning KAIBackendMappingFailed PodGang "
                                         "default/svc-0: a topology constraint without")) >= 0);
    fixture_free(&f);
}

/* Pack groups of older documents prefer a host and need no binding. */
#define PREFERRED                                                                            \
    GANG "  topologyConstraintGroupConfigs:\n"                                               \
         "  - {name: near, podGroupNames: [svc-0-fe, svc-0-pf-0-pl],\n"                      \
         "     topologyConstraint: {packConstraint: {preferred: kubernetes.io/hostname}}}\n" \
         "  - {name: also, podGroupNames: [svc-0-fe],\n"                                     \
         "     topologyConstraint: {packConstraint: {preferred: kubernetes.io/hostname}}}\n"

TEST(kai_lets_go_of_what_it_cannot_keep_and_says_so_once)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", PREFERRED, ", grove.io/replica-spread: zone=preferred");
    plan(&f);
    check_yaml(jpath(body(&f, &kind_kai_pod_group), "spec.subGroups"),
               "- {name: near, minSubGroup: 2}\n"
               "- {name: svc-0-fe, minMember: 2, parent: near}\n"
               "- {name: svc-0-pf-0-pl, minMember: 1, parent: near}\n"
               "- {name: svc-0-pf-0-pw, minMember: 4}\n");
    str text = tw_text(f.world);
    CHECK(str_find(text, STR("event Warning SchedulerCannotKeep PodGang default/svc-0: "
                             "kai-scheduler does not keep: ")) >= 0);
    CHECK(str_find(text, STR("groups that share cliques")) >= 0);
    CHECK(str_find(text, STR("the spread of replicas")) >= 0);
    tw_carry_out(f.world);
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

TEST(kai_keeps_what_it_took_over_and_what_others_added)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, ", team-note: a");
    plan(&f);
    tw_carry_out(f.world);
    tw_patch(f.world, &kind_kai_pod_group, "svc-0",
             "{metadata: {labels: {kai.scheduler/node-pool: p1, kai.scheduler/queue: moved,\n"
             "   theirs: x, team: red}},\n"
             " spec: {queue: moved, markUnschedulable: true, schedulingBackoff: 3, minMember: 1}}");
    tw_patch(f.world, &kind_pcs, "svc", "{metadata: {labels: {kai.scheduler/queue: silver}}}");
    tw_patch(f.world, &kind_pod_gang, "svc-0",
             "{metadata: {labels: {kai.scheduler/queue: silver}}}");
    plan(&f);
    check_yaml(body(&f, &kind_kai_pod_group), "metadata: {labels: {team: blue}}\n"
                                              "spec: {minMember: 7}\n");
    tw_carry_out(f.world);
    const struct obj *o = tw_must(f.world, &kind_kai_pod_group, "svc-0");
    CHECK_CSTR(tw_json(o, "spec.queue"), "\"moved\"");
    CHECK_CSTR(tw_json(o, "spec.markUnschedulable"), "true");
    CHECK_CSTR(tw_json(o, "spec.schedulingBackoff"), "3");
    CHECK_CSTR(obj_label(o, STR("theirs")), "x");
    fixture_free(&f);
}

TEST(defaults_of_the_other_schema_are_no_drift)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    plan(&f);
    tw_carry_out(f.world);
    tw_patch(f.world, &kind_kai_pod_group, "svc-0",
             "{spec: {backoffLimit: 1, subGroups: [{name: svc-0-fe, minMember: 2, extra: 1},\n"
             "  {name: svc-0-pf-0-pl, minMember: 1, extra: 1},\n"
             "  {name: svc-0-pf-0-pw, minMember: 4, extra: 1}]}}");
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

TEST(the_queue_is_the_sets_or_one_that_all_cliques_agree_on)
{
    static const struct {
        const char *patch, *queue;
    } cases[] = {
        {"{metadata: {annotations: {kai.scheduler/queue: by-annotation}}}", "by-annotation"},
        {"{metadata: {labels: {kai.scheduler/queue: l}, annotations: {kai.scheduler/queue: a}}}",
         "l"},
        {"{spec: {template: {cliques: [{name: fe, labels: {kai.scheduler/queue: c},\n"
         "  spec: {podSpec: {schedulerName: kai-scheduler, containers: [{name: m}]}}}]}}}",
         "c"},
        {"{metadata: {labels: {kai.scheduler/queue: s}}, spec: {template: {cliques: [{name: fe,\n"
         "  labels: {kai.scheduler/queue: c}, spec: {podSpec: {schedulerName: kai-scheduler,\n"
         "  containers: [{name: m}]}}}]}}}",
         ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f = fixture_new();
        load(&f, SET(""), "kai-scheduler", GANG, "");
        tw_patch(f.world, &kind_pcs, "svc", cases[i].patch);
        plan(&f);
        CHECK_CSTR(jstr(jpath(body(&f, &kind_kai_pod_group), "spec.queue")), cases[i].queue);
        bool failed = str_find(tw_text(f.world), STR("KAIBackendMappingFailed")) >= 0;
        CHECK_INT(failed, cases[i].queue[0] == 0);
        fixture_free(&f);
    }
}

/* ---- Volcano ---- */

TEST(volcano_gets_a_pod_group_field_by_field)
{
    struct fixture f = fixture_new();
    load(&f, SET(", annotations: {scheduling.grove.io/volcano-queue: \" gold \"}"), "volcano", GANG,
         "");
    plan(&f);
    CHECK_CSTR(tw_writes(f.world), "create PodGroup default/svc-0\n");
    check_yaml(body(&f, &kind_volcano_pod_group),
               "apiVersion: scheduling.volcano.sh/v1beta1\n"
               "kind: PodGroup\n"
               "metadata:\n"
               "  name: svc-0\n"
               "  namespace: default\n"
               "  labels: {team: blue, grove.io/podcliqueset: svc}\n"
               "  ownerReferences: [{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang,\n"
               "    name: svc-0, uid: gang-uid, controller: true, blockOwnerDeletion: true}]\n"
               "spec:\n"
               "  minMember: 7\n"
               "  queue: gold\n"
               "  priorityClassName: high\n"
               "  subGroupPolicy:\n"
               "  - name: svc-0-fe\n"
               "    labelSelector: {matchLabels: {grove.io/podclique: svc-0-fe}}\n"
               "    matchLabelKeys: [grove.io/podclique]\n"
               "    subGroupSize: 2\n"
               "    minSubGroups: 1\n"
               "  - name: svc-0-pf-0-pl\n"
               "    labelSelector: {matchLabels: {grove.io/podclique: svc-0-pf-0-pl}}\n"
               "    matchLabelKeys: [grove.io/podclique]\n"
               "    subGroupSize: 1\n"
               "    minSubGroups: 1\n"
               "  - name: svc-0-pf-0-pw\n"
               "    labelSelector: {matchLabels: {grove.io/podclique: svc-0-pf-0-pw}}\n"
               "    matchLabelKeys: [grove.io/podclique]\n"
               "    subGroupSize: 4\n"
               "    minSubGroups: 1\n");
    tw_carry_out(f.world);
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

#define RELEASED                                                                 \
    "{spec: {podgroups: [{name: svc-0-fe, minReplicas: 0, podReferences: []},\n" \
    "  {name: svc-0-pf-0-pl, minReplicas: 0, podReferences: []}]}}"

TEST(volcano_keeps_its_minimum_while_a_gang_is_released)
{
    struct fixture f = fixture_new();
    load(&f, SET(""), "volcano", GANG, "");
    plan(&f);
    CHECK_CSTR(jstr(jpath(body(&f, &kind_volcano_pod_group), "spec.queue")), "default");
    tw_carry_out(f.world);
    tw_patch(f.world, &kind_pod_gang, "svc-0", RELEASED);
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    /* What was never set is set, with ones for zeros. */
    tw_patch(f.world, &kind_volcano_pod_group, "svc-0", "{spec: {minMember: null}}");
    plan(&f);
    jval spec = jgetc(body(&f, &kind_volcano_pod_group), "spec");
    CHECK_INT(jint(jgetc(spec, "minMember"), 0), 1);
    CHECK_INT(jint(jpath(jat(jgetc(spec, "subGroupPolicy"), 0), "subGroupSize"), 0), 1);
    fixture_free(&f);
}

/* ---- choice ---- */

TEST(kube_and_our_own_want_no_object_and_say_what_is_lost)
{
    static const struct {
        const char *scheduler, *lost;
    } cases[] = {
        {"default-scheduler", "topology constraints and pack groups, the spread of replicas"},
        {"lpx-scheduler", "topology constraints and pack groups, the spread of replicas"},
        {"grove-scheduler", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f = fixture_new();
        struct strbuf want = STRBUF_INIT(1000);
        load(&f, SET(""), cases[i].scheduler, PACKED,
             ", grove.io/topology-name: dc, grove.io/replica-spread: zone=required");
        plan(&f);
        if (cases[i].lost)
            strbuf_printf(&want,
                          "event Warning SchedulerCannotKeep PodGang default/svc-0: %s does not "
                          "keep: %s; see docs/backends.md\n",
                          cases[i].scheduler, cases[i].lost);
        CHECK_CSTR(tw_text(f.world), want.p ? want.p : "");
        strbuf_done(&want);
        fixture_free(&f);
    }
}

TEST(a_set_that_names_another_scheduler_leaves_nothing_behind)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    plan(&f);
    tw_carry_out(f.world);
    tw_patch(f.world, &kind_pcs, "svc",
             "{spec: {template: {cliques: [{name: fe, spec: {podSpec: {schedulerName: volcano,\n"
             "  containers: [{name: m}]}}}]}}}");
    plan(&f);
    CHECK_CSTR(tw_writes(f.world),
               "delete PodGroup default/svc-0\ncreate PodGroup default/svc-0\n");
    CHECK(tw_write(f.world, &kind_volcano_pod_group, "svc-0", "")->op == PLAN_CREATE);
    fixture_free(&f);
}

TEST(a_scheduler_not_in_use_gives_way_to_the_default)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    backend_use(f.world->runtime, 1u << BACKEND_DEFAULT | 1u << BACKEND_VOLCANO,
                &backends[BACKEND_VOLCANO]);
    plan(&f);
    CHECK(tw_write(f.world, &kind_volcano_pod_group, "svc-0", "") != NULL);
    fixture_free(&f);
}

TEST(what_one_runtime_uses_is_nothing_to_another)
{
    struct fixture f = fixture_new(), other = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    load(&other, KAI_SET, "kai-scheduler", GANG, "");
    backend_use(f.world->runtime, 1u << BACKEND_VOLCANO, &backends[BACKEND_VOLCANO]);
    backend_use(other.world->runtime, 1u << BACKEND_DEFAULT, &backends[BACKEND_DEFAULT]);
    backend_use(other.world->runtime, 1u << BACKEND_KAI, &backends[BACKEND_KAI]); /* it counts */
    plan(&f);
    plan(&other);
    CHECK(tw_write(f.world, &kind_volcano_pod_group, "svc-0", "") != NULL);
    CHECK(tw_write(other.world, &kind_kai_pod_group, "svc-0", "") != NULL);
    fixture_free(&f);
    fixture_free(&other);
}

TEST(a_kind_that_is_not_installed_is_told_and_waited_for)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    f.env.groups[BACKEND_KAI].known = false;
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "look again in 10s\n");
    f.world->world.now += 10 * USEC_PER_SEC;
    plan(&f);
    CHECK_CSTR(tw_text(f.world),
               "event Warning SchedulerMissing PodGang default/svc-0: kai-scheduler needs "
               "podgroups.scheduling.run.ai/v2alpha2, which the cluster does not serve: install "
               "it, or name another scheduler; the gang's pods wait\n"
               "look again in 30s\n");
    f.env.groups[BACKEND_KAI].known = true;
    plan(&f);
    CHECK(tw_write(f.world, &kind_kai_pod_group, "svc-0", "") != NULL);
    fixture_free(&f);
}

TEST(a_pod_group_goes_with_its_gang)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    plan(&f);
    tw_carry_out(f.world);
    tw_remove(f.world, &kind_pod_gang, "svc-0");
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "[0] delete PodGroup default/svc-0 if absent PodGang "
                                 "default/svc-0: its gang is gone\n");
    fixture_free(&f);
}

TEST(a_pod_group_of_somebody_else_is_not_taken)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    tw_load(f.world, "apiVersion: scheduling.run.ai/v2alpha2\n"
                     "kind: PodGroup\n"
                     "metadata: {name: svc-0, ownerReferences: [{apiVersion: batch/v1, kind: Job,\n"
                     "  name: j, uid: j-uid, controller: true}]}\n"
                     "spec: {queue: theirs}\n");
    plan(&f);
    CHECK(tw_write(f.world, &kind_kai_pod_group, "svc-0", "") == NULL);
    CHECK(str_find(tw_text(f.world), STR("NameTaken")) >= 0);
    tw_remove(f.world, &kind_pod_gang, "svc-0");
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

TEST(a_gang_on_its_way_out_is_left_alone)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    tw_patch(f.world, &kind_pod_gang, "svc-0", "{metadata: {finalizers: [x/y]}}");
    tw_delete(f.world, &kind_pod_gang, "svc-0");
    plan(&f);
    CHECK_CSTR(tw_text(f.world), "");
    fixture_free(&f);
}

/* ---- topologies ---- */

static void load_binding(struct fixture *f, const char *spec)
{
    tw_loadf(f->world,
             "apiVersion: grove.io/v1alpha1\n"
             "kind: ClusterTopologyBinding\n"
             "metadata: {name: dc, uid: dc-uid}\n"
             "spec: {levels: [{domain: zone, key: zone-key}, {domain: host, key: host-key}]%s}\n",
             spec);
}

static void plan_topology(struct fixture *f)
{
    (void)tw_plan(f->world, backend_topology_plan, &f->env, &kind_ctb, "dc");
}

static void check_drift(struct fixture *f, const char *status, const char *reason)
{
    jval conditions = jgetc(obj_status(tw_must(f->world, &kind_ctb, "dc")), "conditions");
    jval c = condition_find(conditions, STR("SchedulerTopologyDrift"));
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK_CSTR(jstr(jgetc(c, "reason")), reason);
}

static jval topology_entry(struct fixture *f)
{
    jval list = jgetc(obj_status(tw_must(f->world, &kind_ctb, "dc")), "schedulerTopologyStatuses");
    CHECK_INT(jlen(list), 1);
    return jat(list, 0);
}

TEST(a_binding_has_a_topology_of_its_own_name)
{
    struct fixture f = fixture_new();
    load_binding(&f, "");
    plan_topology(&f);
    check_yaml(tw_body(f.world, &kind_kai_topology, "dc", ""),
               "apiVersion: kai.scheduler/v1alpha1\n"
               "kind: Topology\n"
               "metadata:\n"
               "  name: dc\n"
               "  ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding,\n"
               "    name: dc, uid: dc-uid, controller: true, blockOwnerDeletion: true}]\n"
               "spec: {levels: [{nodeLabel: zone-key}, {nodeLabel: host-key}]}\n");
    CHECK(str_find(tw_text(f.world), STR("event Normal TopologyInSync")) >= 0);
    tw_carry_out(f.world);
    check_drift(&f, "False", "InSync");
    check_yaml(topology_entry(&f),
               "{schedulerName: kai-scheduler, topologyReference: dc, inSync: true}");
    CHECK_CSTR(tw_json(tw_must(f.world, &kind_ctb, "dc"), "status.observedGeneration"), "1");
    plan_topology(&f);
    CHECK_CSTR(tw_text(f.world), "");
    /* Levels are immutable: deleted and made again, and in sync all the while. */
    tw_patch(f.world, &kind_ctb, "dc",
             "{spec: {levels: [{domain: zone, key: zone-key}, {domain: rack, key: rack-key},\n"
             "  {domain: host, key: host-key}]}}");
    plan_topology(&f);
    CHECK_CSTR(tw_writes(f.world), "delete Topology dc\n");
    CHECK(tw_write(f.world, &kind_kai_topology, "dc", "")->rv != 0);
    tw_carry_out(f.world);
    check_drift(&f, "False", "InSync");
    plan_topology(&f);
    tw_carry_out(f.world);
    CHECK_INT(jlen(jgetc(obj_spec(tw_must(f.world, &kind_kai_topology, "dc")), "levels")), 3);
    check_drift(&f, "False", "InSync");
    fixture_free(&f);
}

TEST(a_topology_that_is_named_is_compared_and_never_touched)
{
    struct fixture f = fixture_new();
    load_binding(&f, ", schedulerTopologyBindings: [{schedulerName: kai-scheduler, "
                     "topologyReference: theirs}]");
    plan_topology(&f);
    CHECK_CSTR(tw_writes(f.world), "patch ClusterTopologyBinding dc status\n");
    CHECK(str_find(tw_text(f.world), STR("event Warning TopologyDriftDetected")) >= 0);
    tw_carry_out(f.world);
    check_drift(&f, "True", "Drift");
    check_yaml(topology_entry(&f), "{schedulerName: kai-scheduler, topologyReference: theirs,\n"
                                   " inSync: false, message: Topology theirs does not exist}");
    /* Order counts. */
    tw_load(f.world, "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\n"
                     "metadata: {name: theirs, generation: 4}\n"
                     "spec: {levels: [{nodeLabel: host-key}, {nodeLabel: zone-key}]}\n");
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "True", "Drift");
    CHECK_CSTR(jtext(jgetc(topology_entry(&f), "schedulerBackendTopologyObservedGeneration")), "4");
    tw_patch(f.world, &kind_kai_topology, "theirs",
             "{spec: {levels: [{nodeLabel: zone-key}, {nodeLabel: host-key}]}}");
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "False", "InSync");
    fixture_free(&f);
}

TEST(a_topology_of_somebody_else_or_none_at_all_is_said)
{
    struct fixture f = fixture_new();
    tw_load(f.world, "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\n"
                     "metadata: {name: dc}\nspec: {levels: []}\n");
    load_binding(&f, "");
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "True", "Drift");
    CHECK_CSTR(tw_json(tw_must(f.world, &kind_ctb, "dc"), "status.observedGeneration"), "");
    fixture_free(&f);

    f = fixture_new();
    f.env.topologies.known = false;
    load_binding(&f, "");
    plan_topology(&f);
    CHECK_CSTR(tw_text(f.world), "look again in 10s\n");
    f.world->world.now += 10 * USEC_PER_SEC;
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "True", "Drift");
    fixture_free(&f);
}

TEST(a_binding_to_a_scheduler_without_topologies_is_unknown)
{
    struct fixture f = fixture_new();
    backend_use(f.world->runtime, 1u << BACKEND_DEFAULT, &backends[BACKEND_DEFAULT]);
    load_binding(&f, ", schedulerTopologyBindings: [{schedulerName: kai-scheduler, "
                     "topologyReference: theirs}]");
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "Unknown", "TopologyNotFound");
    CHECK(!jbool(jgetc(topology_entry(&f), "inSync"), true));
    /* Without any entry there is no condition. */
    tw_patch(f.world, &kind_ctb, "dc", "{spec: {schedulerTopologyBindings: null}}");
    plan_topology(&f);
    tw_carry_out(f.world);
    check_drift(&f, "", "");
    fixture_free(&f);
}

/* ---- pods ---- */

#define CLIQUE                                                                    \
    "apiVersion: grove.io/v1alpha1\n"                                             \
    "kind: PodClique\n"                                                           \
    "metadata: {name: svc-0-fe, uid: fe-uid, labels: {grove.io/podgang: svc-0,\n" \
    "  grove.io/podcliqueset-replica-index: \"0\"}}\n"                            \
    "spec: {podSpec: {%scontainers: [{name: m}]}}\n"

static struct doc *pod_for(struct fixture *f, const char *scheduler)
{
    tw_loadf(f->world, CLIQUE, scheduler);
    struct pod_recipe r = {.world = &f->world->world,
                           .pcs = tw_must(f->world, &kind_pcs, "svc"),
                           .pclq = tw_must(f->world, &kind_pclq, "svc-0-fe")};
    return pod_make(&f->arena, &r, 0, STR("svc-0-fe-x"), 0);
}

TEST(pods_carry_what_their_scheduler_reads)
{
    static const struct {
        const char *spec, *scheduler, *annotations, *subgroup;
    } cases[] = {
        {"", "", "", ""},
        {"schedulerName: default-scheduler, ", "default-scheduler", "", ""},
        {"schedulerName: lpx-scheduler, ", "lpx-scheduler", "", ""},
        {"schedulerName: grove-scheduler, ", "grove-scheduler", "", ""},
        {"schedulerName: kai-scheduler, ", "kai-scheduler",
         "{\"kai.scheduler/skip-podgrouper\":\"true\",\"pod-group-name\":\"svc-0\"}", "svc-0-fe"},
        {"schedulerName: volcano, ", "volcano",
         "{\"scheduling.k8s.io/group-name\":\"svc-0\","
         "\"scheduling.volcano.sh/group-name\":\"svc-0\"}",
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f = fixture_new();
        load(&f, SET(""), "x", GANG, "");
        struct doc *d = pod_for(&f, cases[i].spec);
        jval pod = doc_root(d);
        CHECK_CSTR(jstr(jpath(pod, "spec.schedulerName")), cases[i].scheduler);
        CHECK_CSTR(jtext(jpath(pod, "metadata.annotations")), cases[i].annotations);
        CHECK_CSTR(jstr(jget(jpath(pod, "metadata.labels"), STR("kai.scheduler/subgroup-name"))),
                   cases[i].subgroup);
        doc_unref(d);
        fixture_free(&f);
    }
}

TEST(pods_that_name_no_scheduler_get_the_installations)
{
    struct fixture f = fixture_new();
    load(&f, SET(""), "x", GANG, "");
    backend_use(f.world->runtime, 1u << BACKEND_DEFAULT | 1u << BACKEND_KAI,
                &backends[BACKEND_KAI]);
    struct doc *d = pod_for(&f, "");
    CHECK_CSTR(jstr(jpath(doc_root(d), "spec.schedulerName")), "kai-scheduler");
    CHECK_CSTR(jstr(jpath(doc_root(d), "metadata.annotations.pod-group-name")), "svc-0");
    doc_unref(d);
    fixture_free(&f);
}

TEST(long_names_are_whole_in_annotations_and_short_in_labels)
{
    struct fixture f = fixture_new();
    load(&f, KAI_SET, "kai-scheduler", GANG, "");
    str name = STR("a-very-long-name-of-a-set-that-no-label-value-can-hold-because-of-its-length");
    str gang = name_base_gang(&f.arena, name, 0), clique = name_pclq(&f.arena, name, 0, STR("fe"));
    tw_loadf(
        f.world,
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: %.*s}\n"
        "spec: {template: {cliques: [{name: fe, spec: {podSpec: {containers: [{name: m}]}}}]}}\n"
        "---\n"
        "apiVersion: grove.io/v1alpha1\nkind: PodClique\n"
        "metadata: {name: %.*s, labels: {grove.io/podgang: %.*s,\n"
        "  grove.io/podcliqueset-replica-index: \"0\"}}\n"
        "spec: {podSpec: {schedulerName: kai-scheduler, containers: [{name: m}]}}\n",
        STR_ARG(name), STR_ARG(clique), STR_ARG(name_label(&f.arena, gang)));
    struct labels l, annotations;
    labels_init(&l, &f.arena);
    labels_init(&annotations, &f.arena);
    backend_prepare(&f.arena, &f.world->world, tw_must(f.world, &kind_pcs, name.p),
                    tw_must(f.world, &kind_pclq, clique.p), &l, &annotations);
    REQUIRE(annotations.n == 2 && l.n == 1);
    CHECK_STR(annotations.items[1].value, gang);
    CHECK_STR(l.items[0].value, name_label(&f.arena, clique));
    CHECK(l.items[0].value.len <= 63);
    fixture_free(&f);
}
