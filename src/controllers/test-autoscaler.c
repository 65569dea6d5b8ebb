/*
 * The horizontal autoscaler. Expected numbers follow from the algorithm that Kubernetes documents:
 * desired = ceil(current * is / should), a tolerance of a tenth, pods that are not ready count as
 * using nothing when scaling out, those without metrics against any change; then stabilization,
 * then the policies, then the bounds.
 */
#include "base/test.h"
#include "controllers/autoscaler.h"
#include "controllers/autoscaler_calc.h"
#include "grove/metrics_source.h"
#include "grove/test-world.h"
#include "json/yaml.h"

/* ---- samples to replicas ---- */

/* "r80 u m i": ready and using 80, not ready, without metrics, ignored; each requests 100. */
static size_t read_samples(const char *text, struct pod_sample *ret)
{
    static const char states[] = "rumi";
    size_t n = 0;
    str rest = str_of(text);
    while (rest.len > 0) {
        str word = str_cut(&rest, ' ');
        int64_t value = 0;
        const char *state = strchr(states, word.p[0]);
        REQUIRE(state != NULL);
        (void)str_to_int(str_sub(word, 1, word.len), &value);
        ret[n++] = (struct pod_sample){(enum sample_state)(state - states), value, 100};
    }
    return n;
}

struct pods_case {
    const char *what, *samples;
    bool average;
    int64_t target, current, want; /* want -1: an error */
};

static const struct pods_case pods_cases[] = {
    {"twice the target doubles", "r100 r100", false, 50, 2, 4},
    {"half the target halves", "r50 r50", false, 100, 2, 1},
    {"on target nothing changes", "r80 r80 r80", false, 80, 3, 3},
    {"a fraction is rounded up", "r70 r70 r70", false, 50, 3, 5},
    {"a tenth above is tolerated", "r110 r110 r110 r110 r110 r110 r110 r110 r110 r110", false, 100,
     10, 10},
    {"more than a tenth above is not", "r111 r111 r111 r111 r111 r111 r111 r111 r111 r111", false,
     100, 10, 12},
    {"a tenth below is tolerated", "r90 r90 r90 r90 r90 r90 r90 r90 r90 r90", false, 100, 10, 10},
    {"more than a tenth below is not", "r89 r89 r89 r89 r89 r89 r89 r89 r89 r89", false, 100, 10,
     9},
    {"the average counts, not the single pod", "r10 r190", false, 100, 2, 2},
    {"no use at all means none", "r0 r0", false, 50, 2, 0},
    {"what is missing counts as full when scaling in", "r20 r20 m", false, 100, 3, 2},
    {"and as the target when that is more", "r20 m", false, 150, 2, 2},
    {"and as nothing when scaling out", "r200 r200 m", false, 100, 3, 4},
    {"what is missing does not turn a change round", "r120 m", false, 100, 2, 2},
    {"nor does scaling in add replicas", "r50 r50 m", false, 100, 1, 1},
    {"what is not ready uses nothing when scaling out", "r200 u", false, 100, 2, 2},
    {"two that are not ready damp twice", "r300 u u", false, 100, 3, 3},
    {"enough load gets through", "r400 u", false, 100, 2, 4},
    {"what is not ready is left out when scaling in", "r50 u", false, 100, 2, 1},
    {"what is going is left out", "r100 i", false, 50, 2, 2},
    {"what is missing and what is not ready add up", "r400 u m", false, 100, 3, 4},
    {"no pods are an error", "", false, 50, 2, -1},
    {"no ready pods are an error", "u m", false, 50, 2, -1},
    {"only pods that go are an error", "i i", false, 50, 2, -1},
    {"an average", "r10 r20", true, 5, 2, 6},
    {"an average on target", "r10 r10", true, 10, 2, 2},
    {"an average below", "r10 r10 r10 r10", true, 20, 4, 2},
    {"an average, missing counts as the target when scaling in", "r10 m", true, 20, 2, 2},
    {"an average, missing counts as nothing when scaling out", "r60 m", true, 20, 2, 3},
    {"an average, not ready counts as nothing", "r60 u", true, 20, 2, 3},
    {"an average without a target is an error", "r60", true, 0, 2, -1},
};

TEST(pods_with_metrics_make_the_number_of_replicas_that_kubernetes_makes)
{
    for (size_t i = 0; i < ARRAY_LEN(pods_cases); i++) {
        const struct pods_case *t = &pods_cases[i];
        struct pod_sample samples[16];
        struct calc_result r = {0};
        struct err err = ERR_INIT;
        struct calc c = {.samples = samples,
                         .n = read_samples(t->samples, samples),
                         .utilization = !t->average,
                         .target = t->target,
                         .current = t->current,
                         .pods = 1,
                         .replicas = 1,
                         .tolerance_up = 100,
                         .tolerance_down = 100};
        int failed = calc_pods(&c, &r, &err);
        if (!CHECK_INT(failed ? -1 : r.replicas, t->want))
            test_note("%s", t->what);
    }
}

TEST(a_replica_of_several_pods_counts_once)
{
    struct pod_sample samples[8];
    struct calc_result r;
    struct calc c = {.samples = samples,
                     .n = read_samples("r150 r150 r150 r150 r150 r150 r150 r150", samples),
                     .utilization = true,
                     .target = 100,
                     .current = 2,
                     .pods = 8,
                     .replicas = 2,
                     .tolerance_up = 100,
                     .tolerance_down = 100};
    CHECK_INT(calc_pods(&c, &r, NULL), 0);
    CHECK_INT(r.replicas, 3);
    CHECK_INT(r.utilization, 150);
    CHECK_INT(calc_value(&c, 150, 8), 3);
}

TEST(a_value_for_all_is_shared_by_the_replicas)
{
    static const struct {
        int64_t value, target, current, ready;
        bool each;
        int64_t want;
    } cases[] = {
        {100, 50, 3, 3, false, 6}, {54, 50, 3, 3, false, 3},  {25, 50, 4, 4, false, 2},
        {100, 50, 3, 2, false, 4}, {100, 50, 0, 0, false, 2}, {120, 30, 3, 0, true, 4},
        {95, 30, 3, 0, true, 3},   {10, 30, 3, 0, true, 1},   {0, 30, 3, 0, true, 0},
        {100, 30, 0, 0, true, 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct calc c = {.target = cases[i].target,
                         .current = cases[i].current,
                         .pods = 1,
                         .replicas = 1,
                         .tolerance_up = 100,
                         .tolerance_down = 100};
        int64_t got = cases[i].each ? calc_value_per_replica(&c, cases[i].value, cases[i].current)
                                    : calc_value(&c, cases[i].value, cases[i].ready);
        if (!CHECK_INT(got, cases[i].want))
            test_note("case %zu", i);
    }
}

/* ---- rules ---- */

/* 2026-01-01T00:10:00Z; histories below are written relative to it, in seconds. */
#define NOW (TW_START + 600 * USEC_PER_SEC)

/* "-300:5 -20:3" */
static struct step *read_history(struct arena *a, const char *text, size_t *ret_n)
{
    struct step *steps = arena_array(a, struct step, 16);
    str rest = str_of(text);
    *ret_n = 0;
    while (rest.len > 0) {
        int64_t at = 0, value = 0;
        str word = str_cut(&rest, ' '), when = str_cut(&word, ':');
        REQUIRE(str_to_int(when, &at) && str_to_int(word, &value));
        steps[(*ret_n)++] = (struct step){NOW + at * USEC_PER_SEC, value};
    }
    return steps;
}

struct rules_case {
    const char *what, *behavior; /* YAML */
    int64_t current, min, max, wanted;
    const char *recommended, *scaled;
    int64_t want;
    const char *able, *limited;
};

#define READY "ReadyForNewScale"
#define RANGE "DesiredWithinRange"

static const struct rules_case rules_cases[] = {
    {"out at once", "{}", 2, 1, 10, 4, "", "", 4, READY, RANGE},
    {"nothing to do", "{}", 3, 1, 10, 3, "", "", 3, READY, RANGE},
    {"never more than the maximum", "{}", 8, 1, 10, 14, "", "", 10, READY, "TooManyReplicas"},
    {"at the maximum", "{}", 10, 1, 10, 14, "", "", 10, READY, "TooManyReplicas"},
    {"at most four or double in 15 s", "{}", 2, 1, 50, 20, "", "", 6, READY, "ScaleUpLimit"},
    {"double where that is more", "{}", 10, 1, 50, 40, "", "", 20, READY, "ScaleUpLimit"},
    {"what was added before counts", "{}", 6, 1, 50, 20, "", "-5:4", 6, READY, "ScaleUpLimit"},
    {"but not longer than the period", "{}", 6, 1, 50, 20, "", "-16:4", 12, READY, "ScaleUpLimit"},
    {"in waits for the window", "{}", 5, 1, 10, 2, "", "", 5, "ScaleDownStabilized", RANGE},
    {"in waits while more was wanted", "{}", 5, 1, 10, 2, "-400:5 -299:2", "", 5,
     "ScaleDownStabilized", RANGE},
    {"in comes after the window", "{}", 5, 1, 10, 2, "-400:5 -300:2", "", 2, READY, RANGE},
    {"in goes as far as the highest in the window", "{}", 9, 1, 10, 2, "-900:9 -400:4 -100:2", "",
     4, "ScaleDownStabilized", RANGE},
    {"in is never below the minimum", "{}", 5, 3, 10, 1, "-400:5 -300:1", "", 3, READY,
     "TooFewReplicas"},
    {"at the minimum", "{}", 3, 3, 10, 1, "-400:3 -300:1", "", 3, READY, "TooFewReplicas"},
    {"a window of its own", "{scaleDown: {stabilizationWindowSeconds: 60}}", 5, 1, 10, 2,
     "-400:5 -60:2", "", 2, READY, RANGE},
    {"no window", "{scaleDown: {stabilizationWindowSeconds: 0}}", 5, 1, 10, 2, "", "", 2, READY,
     RANGE},
    {"a window for scaling out", "{scaleUp: {stabilizationWindowSeconds: 60}}", 2, 1, 10, 5,
     "-400:2 -30:5", "", 2, "ScaleUpStabilized", RANGE},
    {"the lowest in that window", "{scaleUp: {stabilizationWindowSeconds: 60}}", 2, 1, 10, 5,
     "-400:2 -90:3 -30:5", "", 3, "ScaleUpStabilized", RANGE},
    {"out after that window", "{scaleUp: {stabilizationWindowSeconds: 60}}", 2, 1, 10, 5,
     "-400:2 -60:5", "", 5, READY, RANGE},
    {"out is disabled", "{scaleUp: {selectPolicy: Disabled}}", 2, 1, 10, 5, "", "", 2, READY,
     "ScaleUpLimit"},
    {"in is disabled", "{scaleDown: {selectPolicy: Disabled, stabilizationWindowSeconds: 0}}", 5, 1,
     10, 2, "", "", 5, READY, "ScaleDownLimit"},
    {"pods per period", "{scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}", 2, 1,
     10, 9, "", "", 3, READY, "ScaleUpLimit"},
    {"percent per period, rounded up",
     "{scaleUp: {policies: [{type: Percent, value: 10, periodSeconds: 60}]}}", 3, 1, 10, 9, "", "",
     4, READY, "ScaleUpLimit"},
    {"the smaller policy",
     "{scaleUp: {selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 60}, {type: "
     "Percent, value: 100, periodSeconds: 60}]}}",
     4, 1, 20, 20, "", "", 5, READY, "ScaleUpLimit"},
    {"the larger policy is the default",
     "{scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 60}, {type: Percent, value: 100, "
     "periodSeconds: 60}]}}",
     4, 1, 20, 20, "", "", 8, READY, "ScaleUpLimit"},
    {"pods per period when scaling in",
     "{scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 2, periodSeconds: "
     "60}]}}",
     9, 1, 10, 1, "", "", 7, READY, "ScaleDownLimit"},
    {"what was taken before counts",
     "{scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 2, periodSeconds: "
     "60}]}}",
     7, 1, 10, 1, "", "-30:-2", 7, READY, "ScaleDownLimit"},
    {"percent when scaling in",
     "{scaleDown: {stabilizationWindowSeconds: 0, policies: [{type: Percent, value: 10, "
     "periodSeconds: 60}]}}",
     80, 1, 100, 1, "", "", 72, READY, "ScaleDownLimit"},
    {"the smaller policy when scaling in",
     "{scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Min, policies: [{type: Percent, "
     "value: 10, periodSeconds: 60}, {type: Pods, value: 4, periodSeconds: 60}]}}",
     80, 1, 100, 1, "", "", 76, READY, "ScaleDownLimit"},
};

static void check_rules(const struct rules_case *t)
{
    struct arena a = ARENA_INIT;
    doc_vec docs = {0};
    struct scaling_rules up, down;
    REQUIRE(yaml_parse(str_of(t->behavior), &docs, NULL) == 0 && docs.len == 1);
    scaling_rules_read(doc_root(docs.p[0]), &up, &down);
    struct bounds b = {t->current, t->min, t->max};
    struct history h = {0};
    h.recommended = read_history(&a, t->recommended, &h.n_recommended);
    h.scaled = read_history(&a, t->scaled, &h.n_scaled);
    /* As written to the annotation and read again. */
    struct history again = history_read(&a, history_write(&a, &h, NOW, 3600 * USEC_PER_SEC));
    struct decision d = scaling_decide(&b, &up, &down, &again, NOW, t->wanted);
    bool good = CHECK_INT(d.replicas, t->want);
    good &= CHECK_CSTR(str_of(d.able_reason), t->able);
    good &= CHECK_CSTR(str_of(d.limited_reason), t->limited);
    good &= CHECK(d.limited != str_is(str_of(d.limited_reason), RANGE));
    if (!good)
        test_note("%s", t->what);
    doc_vec_done(&docs);
    arena_done(&a);
}

TEST(rules_and_the_past_decide_what_becomes_of_a_recommendation)
{
    for (size_t i = 0; i < ARRAY_LEN(rules_cases); i++)
        check_rules(&rules_cases[i]);
}

TEST(history_is_bounded_and_forgets_what_no_window_reaches)
{
    struct arena a = ARENA_INIT;
    struct history h = {0};
    for (int i = 0; i < 1000; i++)
        (void)history_recommend(&a, &h, NOW + i * USEC_PER_SEC, 1, i % 2 ? 3 : 5);
    CHECK(h.n_recommended <= 128);
    usec now = NOW + 1000 * USEC_PER_SEC;
    struct history kept = history_read(&a, history_write(&a, &h, now, 10 * USEC_PER_SEC));
    CHECK_INT(kept.n_recommended, 10);
    CHECK(!history_recommend(&a, &kept, now, 1, 3));
    CHECK_INT(history_read(&a, STR("{\"recommended\":[[1,2],7,\"x\"]}")).n_recommended, 0);
    CHECK_INT(history_read(&a, STR("]")).n_recommended, 0);
    arena_done(&a);
}

/* ---- the planner ---- */

#define HPA_META "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
#define CLIQUE                                                                   \
    "apiVersion: grove.io/v1alpha1\nkind: PodClique\n"                           \
    "metadata: {name: fe, uid: fe-uid}\n"                                        \
    "spec: {replicas: 2, minAvailable: 1, podSpec: {containers: [{name: m}]}}\n" \
    "status: {replicas: 2, hpaPodSelector: 'grove.io/podclique=fe'}\n"
#define HPA                                                                                   \
    HPA_META "metadata: {name: fe}\n"                                                         \
             "spec:\n"                                                                        \
             "  scaleTargetRef: {apiVersion: grove.io/v1alpha1, kind: PodClique, name: fe}\n" \
             "  minReplicas: 1\n"                                                             \
             "  maxReplicas: 10\n"
#define CPU_80                                                                        \
    "  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " \
    "averageUtilization: 80}}}]\n"

static void load_pod(struct test_world *t, const char *name, const char *owner, const char *more)
{
    tw_loadf(t,
             "apiVersion: v1\nkind: Pod\n"
             "metadata:\n"
             "  name: %s\n"
             "  labels: {grove.io/podclique: %s}\n"
             "  ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodClique, name: %s, uid: "
             "%s-uid, controller: true}]\n"
             "%s"
             "spec: {nodeName: n, containers: [{name: m, resources: {requests: {cpu: '1', memory: "
             "1Gi}}}]}\n"
             "status: {phase: Running, startTime: '2025-12-31T00:00:00Z', conditions: [{type: "
             "Ready, status: 'True', lastTransitionTime: '2025-12-31T00:00:10Z'}]}\n",
             name, owner, owner, owner, more);
}

static struct test_world *world_new(const char *hpa)
{
    struct test_world *t = tw_new();
    autoscaler_add_caches(t->runtime);
    tw_load(t, CLIQUE);
    tw_load(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n");
    load_pod(t, "fe-a", "fe", "");
    load_pod(t, "fe-b", "fe", "");
    tw_load(t, hpa);
    return t;
}

static struct plan *plan_hpa(struct test_world *t)
{
    return tw_plan(t, autoscaler_plan, NULL, &kind_hpa, "fe");
}

static bool has_nothing_to_do(struct test_world *t)
{
    const struct plan *p = plan_hpa(t);
    return p->writes.len == 0 && p->events.len == 0;
}

static void annotate(struct test_world *t, const struct kind *k, const char *name, const char *key,
                     const char *value)
{
    struct arena a = ARENA_INIT;
    tw_patch(
        t, k, name,
        arena_printf(&a, "{metadata: {annotations: {simulation.grove.io/%s: %s}}}", key, value).p);
    arena_done(&a);
}

static void check_condition(struct test_world *t, const char *type, const char *status,
                            const char *reason, const char *message)
{
    jval c =
        condition_find(jgetc(obj_status(tw_must(t, &kind_hpa, "fe")), "conditions"), str_of(type));
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK_CSTR(jstr(jgetc(c, "reason")), reason);
    CHECK_CSTR(jstr(jgetc(c, "message")), message);
}

static int64_t replicas_of(struct test_world *t)
{
    return jint(jgetc(obj_spec(tw_must(t, &kind_pclq, "fe")), "replicas"), -1);
}

/* Plans and does it until there is nothing more to do; a further look then finds nothing. */
static void settle(struct test_world *t)
{
    for (int i = 0; i < 5; i++) {
        if (has_nothing_to_do(t))
            return;
        tw_carry_out(t);
    }
    CHECK(!"the autoscaler does not come to rest");
}

TEST(an_autoscaler_scales_out_and_says_so)
{
    struct test_world *t = world_new(HPA CPU_80);
    annotate(t, &kind_pclq, "fe", "cpu", "1600m");
    plan_hpa(t);
    CHECK_CSTR(tw_writes(t), "patch HorizontalPodAutoscaler default/fe\n"
                             "patch PodClique default/fe scale\n"
                             "patch HorizontalPodAutoscaler default/fe status\n");
    CHECK_INT(t->plan.events.len, 1);
    CHECK_CSTR(t->plan.events.p[0].reason, "SuccessfulRescale");
    CHECK_CSTR(
        t->plan.events.p[0].message,
        "New size: 4; reason: cpu resource utilization (percentage of request) above target");
    CHECK_INT(tw_look_at(t), TW_START + 15 * USEC_PER_SEC);
    tw_carry_out(t);
    CHECK_INT(replicas_of(t), 4);
    const struct obj *hpa = tw_must(t, &kind_hpa, "fe");
    CHECK_CSTR(tw_json(hpa, "status.currentMetrics"),
               "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"current\":{"
               "\"averageUtilization\":160,\"averageValue\":\"1600m\"}}}]");
    CHECK_CSTR(tw_json(hpa, "status.currentReplicas"), "2");
    CHECK_CSTR(tw_json(hpa, "status.desiredReplicas"), "4");
    CHECK_CSTR(tw_json(hpa, "status.lastScaleTime"), "\"2026-01-01T00:00:00Z\"");
    check_condition(t, "AbleToScale", "True", "SucceededRescale",
                    "the HPA controller was able to update the target scale to 4");
    check_condition(t, "ScalingActive", "True", "ValidMetricFound",
                    "the HPA was able to successfully calculate a replica count from cpu resource "
                    "utilization (percentage of request)");
    check_condition(t, "ScalingLimited", "False", "DesiredWithinRange",
                    "the desired count is within the acceptable range");
    tw_free(t);
}

TEST(a_settled_world_gives_an_empty_plan_and_another_look)
{
    struct test_world *t = world_new(HPA CPU_80);
    annotate(t, &kind_pclq, "fe", "cpu", "800m");
    settle(t);
    CHECK_INT(replicas_of(t), 2);
    CHECK_STR(obj_annotation(tw_must(t, &kind_hpa, "fe"), STR(ANNOTATION_AUTOSCALER)), STR_NONE);
    for (int i = 0; i < 100; i++) {
        t->world.now += 15 * USEC_PER_SEC;
        CHECK(has_nothing_to_do(t));
        CHECK_INT(tw_look_at(t), t->world.now + 15 * USEC_PER_SEC);
    }
    tw_free(t);
}

TEST(a_restart_in_the_middle_of_a_window_keeps_it)
{
    struct test_world *t = world_new(HPA CPU_80);
    annotate(t, &kind_pclq, "fe", "cpu", "800m");
    settle(t);
    t->world.now += 1000 * USEC_PER_SEC;
    annotate(t, &kind_pclq, "fe", "cpu", "100m");
    usec fell = t->world.now;
    settle(t);
    check_condition(t, "AbleToScale", "True", "ScaleDownStabilized",
                    "recent recommendations were higher than current one, applying the highest "
                    "recent recommendation");
    CHECK_INT(replicas_of(t), 2);
    /* All that a new process has are the objects: nothing but they is in this world. */
    struct arena a = ARENA_INIT;
    str kept = arena_str(&a, doc_text(tw_must(t, &kind_hpa, "fe")->doc));
    struct test_world *again = world_new(kept.p);
    annotate(again, &kind_pclq, "fe", "cpu", "100m");
    again->world.now = fell + 299 * USEC_PER_SEC;
    CHECK(has_nothing_to_do(again));
    again->world.now = fell + 300 * USEC_PER_SEC;
    settle(again);
    CHECK_INT(replicas_of(again), 1);
    arena_done(&a);
    tw_free(again);
    tw_free(t);
}

TEST(load_is_shared_by_ready_pods_so_that_scaling_out_relieves_them)
{
    struct test_world *t = world_new(HPA CPU_80);
    annotate(t, &kind_pclq, "fe", "load.cpu", "'3.2'");
    settle(t);
    CHECK_INT(replicas_of(t), 4);
    load_pod(t, "fe-c", "fe", "");
    load_pod(t, "fe-d", "fe", "");
    t->world.now += 15 * USEC_PER_SEC;
    settle(t);
    CHECK_INT(replicas_of(t), 4);
    CHECK_CSTR(tw_json(tw_must(t, &kind_hpa, "fe"), "status.currentMetrics"),
               "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"current\":{"
               "\"averageUtilization\":80,\"averageValue\":\"800m\"}}}]");
    tw_free(t);
}

#define QUEUE_10                                                                           \
    "  metrics: [{type: Pods, pods: {metric: {name: queue}, target: {type: AverageValue, " \
    "averageValue: '10'}}}]\n"

TEST(silence_about_metrics_scales_nothing_and_is_told_once)
{
    struct test_world *t = world_new(HPA QUEUE_10);
    plan_hpa(t);
    CHECK_CSTR(tw_writes(t), "patch HorizontalPodAutoscaler default/fe status\n");
    CHECK_INT(t->plan.events.len, 2);
    CHECK_CSTR(t->plan.events.p[0].reason, "FailedGetPodsMetric");
    CHECK_CSTR(t->plan.events.p[0].message,
               "failed to get pods metric value: unable to get metric queue: no metrics returned "
               "from custom metrics API");
    CHECK_CSTR(t->plan.events.p[1].reason, "FailedComputeMetricsReplicas");
    tw_carry_out(t);
    check_condition(t, "AbleToScale", "True", "SucceededGetScale",
                    "the HPA controller was able to get the target's current scale");
    check_condition(t, "ScalingActive", "False", "FailedGetPodsMetric",
                    "the HPA was unable to compute the replica count: failed to get pods metric "
                    "value: unable to get metric queue: no metrics returned from custom metrics "
                    "API");
    CHECK(has_nothing_to_do(t));
    CHECK_INT(replicas_of(t), 2);
    tw_free(t);
}

/* Nodes measure processor time and memory: a pod of which nobody says anything uses none, which is
 * what `kubectl top` shows, too. */
TEST(a_pod_about_which_nothing_is_said_uses_no_processor_time)
{
    struct test_world *t = world_new(HPA CPU_80);
    settle(t);
    CHECK_CSTR(tw_json(tw_must(t, &kind_hpa, "fe"), "status.currentMetrics"),
               "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"current\":{"
               "\"averageUtilization\":0,\"averageValue\":\"0\"}}}]");
    CHECK_INT(replicas_of(t), 2);
    t->world.now += 6 * USEC_PER_MIN;
    settle(t);
    CHECK_INT(replicas_of(t), 1);
    tw_free(t);
}

/* ---- metrics that are fed ---- */

struct fed_world {
    struct test_world *t;
    struct loop *loop;
    struct metrics_feed *feed;
};

static struct fed_world fed_new(const char *hpa)
{
    struct fed_world w = {world_new(hpa), loop_new_virtual(1, NOW), NULL};
    w.feed = metrics_feed_new(w.loop);
    return w;
}

static void fed_free(struct fed_world *w)
{
    metrics_feed_free(w->feed);
    loop_free(w->loop);
    tw_free(w->t);
}

static void feed(struct fed_world *w, const char *resource, const char *metric, const char *name,
                 const char *value)
{
    struct metrics_id id = {str_of(resource), str_of(metric), STR("default"), str_of(name)};
    struct quantity q;
    REQUIRE(quantity_parse(str_of(value), &q, NULL) == 0);
    REQUIRE(metrics_feed_set(w->feed, &id, STR("uid"), &q, USEC_PER_HOUR, NULL) == 0);
}

/* Plans and does it, once. */
static int64_t fed_look(struct fed_world *w)
{
    (void)tw_plan(w->t, autoscaler_plan, w->feed, &kind_hpa, "fe");
    tw_carry_out(w->t);
    w->t->world.now += 15 * USEC_PER_SEC;
    return replicas_of(w->t);
}

TEST(fed_metrics_of_pods_scale)
{
    struct fed_world w = fed_new(HPA QUEUE_10);
    feed(&w, "pods", "queue", "fe-a", "40");
    feed(&w, "pods", "queue", "fe-b", "20");
    CHECK_INT(fed_look(&w), 6);
    CHECK_CSTR(tw_json(tw_must(w.t, &kind_hpa, "fe"), "status.currentMetrics"),
               "[{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"queue\"},\"current\":{"
               "\"averageValue\":\"30\"}}}]");
    fed_free(&w);
}

TEST(what_is_fed_goes_before_what_annotations_say)
{
    struct fed_world w = fed_new(HPA QUEUE_10);
    annotate(w.t, &kind_pclq, "fe", "metric.queue", "'10'");
    CHECK_INT(fed_look(&w), 2);
    feed(&w, "pods", "queue", "fe-a", "50"); /* and the other one says 10 */
    CHECK_INT(fed_look(&w), 6);
    fed_free(&w);
}

/* As Kubernetes has it: one that is missing counts as the target where the others would scale in.
 */
TEST(a_fed_metric_that_is_missing_does_not_scale_in)
{
    struct fed_world w = fed_new(HPA QUEUE_10);
    feed(&w, "pods", "queue", "fe-a", "6");
    for (int i = 0; i < 40; i++)
        CHECK_INT(fed_look(&w), 2); /* two with 6 would want 1.2, but 6 and 10 want 1.6 */
    fed_free(&w);
}

TEST(a_fed_metric_that_ends_keeps_the_scale)
{
    struct fed_world w = fed_new(HPA QUEUE_10);
    struct metrics_id a = {STR("pods"), STR("queue"), STR("default"), STR("fe-a")}, b = a;
    b.name = STR("fe-b");
    feed(&w, "pods", "queue", "fe-a", "20");
    feed(&w, "pods", "queue", "fe-b", "20");
    CHECK_INT(fed_look(&w), 4);
    REQUIRE(metrics_feed_unset(w.feed, &a) && metrics_feed_unset(w.feed, &b));
    for (int i = 0; i < 40; i++)
        CHECK_INT(fed_look(&w), 4);
    check_condition(w.t, "ScalingActive", "False", "FailedGetPodsMetric",
                    "the HPA was unable to compute the replica count: failed to get pods metric "
                    "value: unable to get metric queue: no metrics returned from custom metrics "
                    "API");
    fed_free(&w);
}

/* Of an object that the autoscaler keeps no cache of, too. */
TEST(fed_metrics_of_objects_scale)
{
    struct fed_world w =
        fed_new(HPA "  metrics: [{type: Object, object: {metric: {name: rps}, describedObject: "
                    "{apiVersion: networking.k8s.io/v1, kind: Ingress, name: door}, target: {type: "
                    "Value, value: '100'}}}]\n");
    CHECK_INT(fed_look(&w), 2);
    feed(&w, "ingresses.networking.k8s.io", "rps", "door", "250");
    CHECK_INT(fed_look(&w), 5);
    fed_free(&w);
}

TEST(fed_external_metrics_scale_by_their_labels)
{
    struct fed_world w =
        fed_new(HPA "  metrics: [{type: External, external: {metric: {name: depth, selector: "
                    "{matchLabels: {queue: b}}}, target: {type: AverageValue, averageValue: '10'}}}"
                    "]\n");
    annotate(w.t, &kind_namespace, "default", "external.depth", "'queue=b:500'");
    feed(&w, "", "depth", "queue=a", "900");
    feed(&w, "", "depth", "queue=b", "25");
    feed(&w, "", "depth", "queue=b,zone=z", "5");
    CHECK_INT(fed_look(&w), 3);
    fed_free(&w);
}

/* The largest values there are stay numbers, and no more replicas come than may be. */
TEST(huge_fed_metrics_scale_to_the_maximum)
{
    struct fed_world w =
        fed_new(HPA "  metrics: [{type: External, external: {metric: {name: depth}, target: {type: "
                    "AverageValue, averageValue: '1'}}}]\n"
                    "  behavior: {scaleUp: {policies: [{type: Pods, value: 100, periodSeconds: "
                    "15}]}}\n");
    feed(&w, "", "depth", "queue=a", "9223372036854775");
    feed(&w, "", "depth", "queue=b", "9223372036854775");
    CHECK_INT(fed_look(&w), 10);
    fed_free(&w);
}

struct metric_case {
    const char *metrics, *key, *value;
    const struct kind *kind;
    const char *name;
    int64_t want;
    const char *current; /* of status */
};

static const struct metric_case metric_cases[] = {
    {"{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}",
     "memory", "2Gi", &kind_pclq, "fe", 4,
     "{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"current\":{\"averageValue\":"
     "\"2147483648\"}}}"},
    {"{type: ContainerResource, containerResource: {name: cpu, container: m, target: {type: "
     "Utilization, averageUtilization: 50}}}",
     "cpu", "'1'", &kind_pclq, "fe", 4,
     "{\"type\":\"ContainerResource\",\"containerResource\":{\"container\":\"m\",\"name\":\"cpu\","
     "\"current\":{\"averageUtilization\":100,\"averageValue\":\"1\"}}}"},
    {"{type: Pods, pods: {metric: {name: 'vllm:waiting'}, target: {type: AverageValue, "
     "averageValue: '5'}}}",
     "metric.vllm_waiting", "'15'", &kind_pclq, "fe", 6,
     "{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"vllm:waiting\"},\"current\":{"
     "\"averageValue\":\"15\"}}}"},
    {"{type: Object, object: {metric: {name: rps}, describedObject: {apiVersion: "
     "grove.io/v1alpha1, kind: PodClique, name: fe}, target: {type: Value, value: '100'}}}",
     "metric.rps", "'250'", &kind_pclq, "fe", 5,
     "{\"type\":\"Object\",\"object\":{\"current\":{\"value\":\"250\"},\"metric\":{\"name\":"
     "\"rps\"},\"describedObject\":{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodClique\","
     "\"name\":\"fe\"}}}"},
    {"{type: External, external: {metric: {name: depth, selector: {matchLabels: {queue: b}}}, "
     "target: {type: AverageValue, averageValue: '10'}}}",
     "external.depth", "'queue=a:500 queue=b,zone=z:25 queue=b:5'", &kind_namespace, "default", 3,
     "{\"type\":\"External\",\"external\":{\"current\":{\"averageValue\":\"15\"},\"metric\":{"
     "\"name\":\"depth\",\"selector\":{\"matchLabels\":{\"queue\":\"b\"}}}}}"},
};

TEST(every_type_of_metric_counts)
{
    for (size_t i = 0; i < ARRAY_LEN(metric_cases); i++) {
        const struct metric_case *m = &metric_cases[i];
        struct arena a = ARENA_INIT;
        struct test_world *t = world_new(arena_printf(&a, HPA "  metrics: [%s]\n", m->metrics).p);
        annotate(t, m->kind, m->name, m->key, m->value);
        plan_hpa(t);
        tw_carry_out(t);
        CHECK_INT(replicas_of(t), m->want);
        jval got = jpath(obj_root(tw_must(t, &kind_hpa, "fe")), "status.currentMetrics");
        CHECK_CSTR(jtext(jat(got, 0)), m->current);
        tw_free(t);
        arena_done(&a);
    }
}

#define CPU_AND_Q                                                                            \
    "  metrics:\n"                                                                           \
    "  - {type: Resource, resource: {name: cpu, target: {type: Utilization, "                \
    "averageUtilization: 80}}}\n"                                                            \
    "  - {type: Pods, pods: {metric: {name: q}, target: {type: AverageValue, averageValue: " \
    "'10'}}}\n"                                                                              \
    "  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}\n"

TEST(of_several_metrics_the_highest_counts)
{
    struct test_world *t = world_new(HPA CPU_AND_Q);
    annotate(t, &kind_pclq, "fe", "cpu", "100m");
    annotate(t, &kind_pclq, "fe", "metric.q", "'15'");
    settle(t);
    CHECK_INT(replicas_of(t), 3);
    check_condition(t, "ScalingActive", "True", "ValidMetricFound",
                    "the HPA was able to successfully calculate a replica count from pods metric "
                    "q");
    tw_free(t);
}

TEST(a_metric_that_cannot_be_had_forbids_scaling_in_but_not_out)
{
    struct test_world *t = world_new(HPA CPU_AND_Q);
    annotate(t, &kind_pclq, "fe", "cpu", "100m");
    settle(t);
    CHECK_INT(replicas_of(t), 2);
    check_condition(t, "ScalingActive", "False", "FailedGetPodsMetric",
                    "the HPA was unable to compute the replica count: failed to get pods metric "
                    "value: unable to get metric q: no metrics returned from custom metrics API");
    CHECK_CSTR(tw_json(tw_must(t, &kind_hpa, "fe"), "status.currentMetrics"),
               "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"current\":{"
               "\"averageUtilization\":10,\"averageValue\":\"100m\"}}},{\"type\":\"\"}]");
    annotate(t, &kind_pclq, "fe", "cpu", "1600m");
    settle(t);
    CHECK_INT(replicas_of(t), 4);
    tw_free(t);
}

TEST(bounds_are_kept_without_any_metric)
{
    struct test_world *t = world_new(HPA CPU_80);
    tw_patch(t, &kind_hpa, "fe", "{spec: {minReplicas: 3}}");
    plan_hpa(t);
    CHECK_CSTR(t->plan.events.p[0].message,
               "New size: 3; reason: Current number of replicas below Spec.MinReplicas");
    settle(t);
    CHECK_INT(replicas_of(t), 3);
    tw_patch(t, &kind_hpa, "fe", "{spec: {minReplicas: 1, maxReplicas: 1}}");
    settle(t);
    CHECK_INT(replicas_of(t), 1);
    tw_patch(t, &kind_pclq, "fe", "{spec: {replicas: 0}}");
    settle(t);
    CHECK_INT(replicas_of(t), 0);
    check_condition(t, "ScalingActive", "False", "ScalingDisabled",
                    "scaling is disabled since the replica count of the target is zero");
    tw_free(t);
}

TEST(a_target_that_is_not_there_is_told_and_waited_for)
{
    struct test_world *t = world_new(HPA CPU_80);
    tw_patch(t, &kind_hpa, "fe", "{spec: {scaleTargetRef: {name: other}}}");
    settle(t);
    check_condition(t, "AbleToScale", "False", "FailedGetScale",
                    "the HPA controller was unable to get the target's current scale: "
                    "podcliques.grove.io \"other\" not found");
    tw_patch(t, &kind_hpa, "fe", "{spec: {scaleTargetRef: {kind: Pod, apiVersion: v1}}}");
    settle(t);
    check_condition(t, "AbleToScale", "False", "FailedGetScale",
                    "the HPA controller was unable to get the target's current scale: no matches "
                    "for kind \"Pod\" in group \"\"");
    tw_free(t);
}

/* The usual beginning: the autoscaler is made with its target, whose status comes a moment later.
 */
TEST(a_target_that_has_no_status_yet_is_waited_for_without_a_warning)
{
    struct test_world *t = world_new(HPA CPU_80);
    tw_patch(t, &kind_pclq, "fe", "{status: null}");
    plan_hpa(t);
    CHECK_INT(t->plan.events.len, 0);
    tw_carry_out(t);
    check_condition(t, "AbleToScale", "True", "SucceededGetScale",
                    "the HPA controller was able to get the target's current scale");
    check_condition(t, "ScalingActive", "", "", "");
    CHECK(has_nothing_to_do(t));
    tw_free(t);
}

TEST(a_target_without_selector_is_told)
{
    struct test_world *t = world_new(HPA CPU_80);
    tw_patch(t, &kind_pclq, "fe", "{status: {observedGeneration: 1, hpaPodSelector: null}}");
    plan_hpa(t);
    CHECK_INT(t->plan.events.len, 1);
    CHECK_CSTR(t->plan.events.p[0].reason, "SelectorRequired");
    settle(t);
    check_condition(t, "ScalingActive", "False", "InvalidSelector",
                    "the HPA target's scale is missing a selector");
    tw_free(t);
}

TEST(a_pod_that_is_starting_does_not_count_its_processor_time)
{
    struct test_world *t = world_new(HPA CPU_80);
    annotate(t, &kind_pclq, "fe", "cpu", "'2'");
    tw_patch(t, &kind_pod, "fe-b",
             "{status: {startTime: '2025-12-31T23:59:00Z', conditions: [{type: Ready, status: "
             "'True', lastTransitionTime: '2025-12-31T23:59:50Z'}]}}");
    /* 200 % of one pod, the other as if it used nothing: 100 % of two, a quarter too much. */
    plan_hpa(t);
    tw_carry_out(t);
    CHECK_INT(replicas_of(t), 3);
    tw_free(t);
}

TEST(the_default_metric_is_four_fifths_of_the_processor_time_requested)
{
    struct test_world *t = world_new(HPA);
    annotate(t, &kind_pclq, "fe", "cpu", "1600m");
    settle(t);
    CHECK_INT(replicas_of(t), 4);
    tw_free(t);
}

static struct obj *any_object(void *ctx, const struct kind *k, str ns, str name)
{
    const struct test_world *t = ctx;
    return world_get(&t->world, k, ns, name);
}

static int64_t two_pods(void *ctx, const struct obj *owner)
{
    (void)ctx;
    (void)owner;
    return 2;
}

/* What a pod of the clique "fe" is said to report as a:b. */
static int64_t told_queue(struct test_world *t, const char *pod)
{
    struct quantity q = {0};
    struct metrics_reader r = {t, any_object, two_pods, NULL, NULL};
    bool told = metrics_of_pod(&r, tw_must(t, &kind_pod, pod), METRICS_CUSTOM, STR("a:b"), &q);
    return told ? quantity_value(&q) : -1;
}

TEST(the_nearest_says_what_a_pod_reports)
{
    struct test_world *t = world_new(HPA);
    CHECK_INT(told_queue(t, "fe-a"), -1);
    annotate(t, &kind_pclq, "fe", "load.a_b", "'8'");
    CHECK_INT(told_queue(t, "fe-a"), 4); /* of two that are ready */
    annotate(t, &kind_pclq, "fe", "metric.a_b", "'5'");
    CHECK_INT(told_queue(t, "fe-a"), 5);
    annotate(t, &kind_pod, "fe-a", "metric.a_b", "'6'");
    CHECK_INT(told_queue(t, "fe-a"), 6);
    CHECK_INT(told_queue(t, "fe-b"), 5);
    /* Not what cannot be read, and a pod has no load. */
    annotate(t, &kind_pod, "fe-a", "metric.a_b", "many");
    annotate(t, &kind_pod, "fe-a", "load.a_b", "'100'");
    CHECK_INT(told_queue(t, "fe-a"), 5);
    annotate(t, &kind_pod, "fe-a", "metric.a_b", "'-1'");
    CHECK_INT(told_queue(t, "fe-a"), 5);
    tw_patch(t, &kind_pod, "fe-a", "{status: {phase: Pending}}");
    CHECK_INT(told_queue(t, "fe-a"), -1);
    tw_free(t);
}

TEST(only_what_is_said_about_metrics_is_news)
{
    struct test_world *t = world_new(HPA);
    struct obj *old = obj_ref(tw_must(t, &kind_pod, "fe-a"));
    tw_patch(t, &kind_pod, "fe-a", "{metadata: {annotations: {other: x}}, status: {reason: y}}");
    CHECK(!metrics_changed(old, tw_must(t, &kind_pod, "fe-a")));
    annotate(t, &kind_pod, "fe-a", "cpu", "1m");
    CHECK(metrics_changed(old, tw_must(t, &kind_pod, "fe-a")));
    CHECK(metrics_changed(tw_must(t, &kind_pod, "fe-a"), NULL));
    obj_unref(old);
    tw_free(t);
}

/* A group of two replicas, each of two pods. */
TEST(a_scaling_group_is_scaled_by_replicas_not_by_pods)
{
    struct test_world *t = tw_new();
    autoscaler_add_caches(t->runtime);
    tw_load(t, "apiVersion: grove.io/v1alpha1\nkind: PodCliqueScalingGroup\n"
               "metadata: {name: g, uid: g-uid, annotations: {simulation.grove.io/cpu: 1200m}}\n"
               "spec: {replicas: 2, minAvailable: 1, cliqueNames: [x]}\n"
               "status: {replicas: 2, selector: 'in=g'}\n");
    for (int i = 0; i < 4; i++) {
        tw_loadf(t,
                 "apiVersion: grove.io/v1alpha1\nkind: PodClique\n"
                 "metadata: {name: c%d, uid: c%d-uid, ownerReferences: [{apiVersion: "
                 "grove.io/v1alpha1, kind: PodCliqueScalingGroup, name: g, uid: g-uid, controller: "
                 "true}]}\n"
                 "spec: {replicas: 1, minAvailable: 1, podSpec: {containers: [{name: m}]}}\n",
                 i, i);
        struct arena a = ARENA_INIT;
        str name = arena_printf(&a, "p%d", i), owner = arena_printf(&a, "c%d", i);
        load_pod(t, name.p, owner.p, "");
        tw_patch(t, &kind_pod, name.p,
                 arena_printf(&a,
                              "{metadata: {labels: {in: g, "
                              "grove.io/podcliquescalinggroup-replica-index: '%d'}}}",
                              i / 2)
                     .p);
        arena_done(&a);
    }
    tw_load(t, HPA_META "metadata: {name: fe}\n"
                        "spec:\n"
                        "  scaleTargetRef: {apiVersion: grove.io/v1alpha1, kind: "
                        "PodCliqueScalingGroup, name: g}\n"
                        "  maxReplicas: 10\n" CPU_80);
    settle(t);
    CHECK_CSTR(tw_json(tw_must(t, &kind_pcsg, "g"), "spec.replicas"), "3");
    tw_free(t);
}
