/* The PodClique planner: pods and their places, gates, and what the clique says of itself. */
#include "base/test.h"
#include "grove/names.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* The example with all cliques made, no pods yet; uid of svc-0-fe is "fe-uid". */
static struct ring with_cliques(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    return r;
}

/* The name of the n-th pod that an index of this clique has. */
static const char *pod_name(struct ring *r, const char *clique, int64_t index, unsigned n)
{
    const struct obj *o = tw_must(r->world, &kind_pclq, clique);
    /* In the world's loop-long memory: the plan's arena goes with the next plan. */
    static struct arena names = ARENA_INIT;
    return name_pod(&names, o->name, o->uid, index, n).p;
}

static void pods_of(struct ring *r, const char *clique)
{
    ring_plan_pclq(r, clique);
    tw_carry_out(r->world);
}

static const char *fe(struct ring *r, int64_t index)
{
    return pod_name(r, "svc-0-fe", index, 0);
}

static bool creates(struct ring *r, const char *name)
{
    const struct plan_write *w = tw_write(r->world, &kind_pod, name, "");
    return w && w->op == PLAN_CREATE;
}

static bool deletes(struct ring *r, const char *name)
{
    const struct plan_write *w = tw_write(r->world, &kind_pod, name, "");
    return w && w->op == PLAN_DELETE;
}

static size_t count_op(struct ring *r, enum plan_op op)
{
    size_t n = 0;
    for (size_t i = 0; i < r->world->plan.writes.len; i++)
        n += r->world->plan.writes.p[i].kind == &kind_pod && r->world->plan.writes.p[i].op == op;
    return n;
}

/* ---- making pods ---- */

TEST(a_new_clique_makes_its_pods)
{
    struct ring r = with_cliques();
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 3);
    for (int64_t i = 0; i < 3; i++)
        CHECK(creates(&r, fe(&r, i)));
    ring_free(&r);
}

TEST(a_pod_is_the_cliques_pod_in_its_place)
{
    struct ring r = with_cliques();
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{spec: {podSpec: {initContainers: [{name: n, env: [{name: GROVE_PCS_NAME, value: "
             "mine}]}], schedulingGates: [{name: users/gate}], hostname: x, subdomain: y}}}");
    ring_plan_pclq(&r, "svc-0-fe");
    jval body = tw_body(r.world, &kind_pod, fe(&r, 1), "");
    const struct obj *clique = tw_must(r.world, &kind_pclq, "svc-0-fe");
    struct arena a = ARENA_INIT;
#define POD_ENV                                                                       \
    "{name: GROVE_PCS_NAME, value: svc}, {name: GROVE_PCS_INDEX, value: '0'}, "       \
    "{name: GROVE_PCLQ_NAME, value: svc-0-fe}, "                                      \
    "{name: GROVE_HEADLESS_SERVICE, value: svc-0.default.svc.cluster.local}, "        \
    "{name: GROVE_PCLQ_POD_INDEX, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: " \
    "\"metadata.labels['grove.io/podclique-pod-index']\"}}}"
    check_yaml(
        body,
        arena_printf(
            &a,
            "apiVersion: v1\n"
            "kind: Pod\n"
            "metadata:\n"
            "  name: %s\n"
            "  namespace: default\n"
            "  labels: {tier: front, app.kubernetes.io/managed-by: grove-operator,\n"
            "    app.kubernetes.io/part-of: svc, app.kubernetes.io/component: pcs-podclique,\n"
            "    app.kubernetes.io/name: svc-0-fe, grove.io/podcliqueset: svc,\n"
            "    grove.io/role: fe, grove.io/podcliqueset-replica-index: '0',\n"
            "    grove.io/podgang: svc-0, grove.io/podclique: svc-0-fe,\n"
            "    grove.io/podclique-pod-index: '1', grove.io/pod-template-hash: '%.*s'}\n"
            "  annotations: {note: hello}\n"
            "  ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodClique, name: svc-0-fe,\n"
            "    uid: %.*s, controller: true, blockOwnerDeletion: true}]\n"
            "spec:\n"
            "  restartPolicy: Always\n"
            "  terminationGracePeriodSeconds: 30\n"
            "  initContainers: [{name: n, env: [" POD_ENV "]}]\n"
            "  containers: [{name: m, image: i, env: [" POD_ENV ", {name: A, value: b}]}]\n"
            "  hostname: svc-0-fe-1\n"
            "  subdomain: svc-0\n"
            "  schedulingGates: [{name: users/gate}, {name: grove.io/podgang-pending-creation}]\n",
            fe(&r, 1), STR_ARG(obj_label(clique, STR("grove.io/pod-template-hash"))),
            STR_ARG(clique->uid))
            .p);
    arena_done(&a);
    ring_free(&r);
}

/* 1-5 are the pod's, 6-8 came with the clique, then the user's. */
TEST(variables_of_a_member_come_in_the_agreed_order)
{
    static const char *const want[] = {
        "GROVE_PCS_NAME",
        "GROVE_PCS_INDEX",
        "GROVE_PCLQ_NAME",
        "GROVE_HEADLESS_SERVICE",
        "GROVE_PCLQ_POD_INDEX",
        "GROVE_PCSG_NAME",
        "GROVE_PCSG_TEMPLATE_NUM_PODS",
        "GROVE_PCSG_INDEX",
    };
    struct ring r = with_cliques();
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    jval body = tw_body(r.world, &kind_pod, pod_name(&r, "svc-0-pf-1-pw", 3, 0), "");
    jval env = jgetc(jat(jpath(body, "spec.containers"), 0), "env");
    CHECK_INT(jlen(env), ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_CSTR(jstr(jgetc(jat(env, i), "name")), want[i]);
    CHECK_CSTR(jstr(jpath(body, "spec.hostname")), "svc-0-pf-1-pw-3");
    jval labels = jpath(body, "metadata.labels");
    CHECK_CSTR(jstr(jget(labels, STR("grove.io/podgang"))), "svc-0-pf-0");
    CHECK_CSTR(jstr(jget(labels, STR("grove.io/base-podgang"))), "svc-0");
    ring_free(&r);
}

TEST(a_settled_clique_has_an_empty_plan)
{
    struct ring r = with_cliques();
    ring_live(&r);
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-pf-2-pw")));
    ring_free(&r);
}

TEST(holes_in_the_indices_are_filled)
{
    struct ring r = with_cliques();
    pods_of(&r, "svc-0-fe");
    tw_remove(r.world, &kind_pod, fe(&r, 1));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 1);
    const char *next = pod_name(&r, "svc-0-fe", 1, 1);
    CHECK(creates(&r, next));
    CHECK_CSTR(jstr(jpath(tw_body(r.world, &kind_pod, next, ""), "spec.hostname")), "svc-0-fe-1");
    ring_free(&r);
}

/* The index is free as soon as its pod is going, the name never again. */
TEST(a_dying_pod_is_replaced_under_another_name)
{
    struct ring r = with_cliques();
    ring_live(&r);
    const char *dying = fe(&r, 1), *next = pod_name(&r, "svc-0-fe", 1, 1);
    tw_delete(r.world, &kind_pod, dying);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 1);
    CHECK(creates(&r, next));
    CHECK_CSTR(jstr(jpath(tw_body(r.world, &kind_pod, next, ""), "spec.hostname")), "svc-0-fe-1");
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 0);
    ring_free(&r);
}

TEST(a_name_that_somebody_else_has_is_not_used)
{
    struct ring r = with_cliques();
    tw_loadf(r.world, "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {}}", fe(&r, 0));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(creates(&r, pod_name(&r, "svc-0-fe", 0, 1)));
    CHECK(!creates(&r, fe(&r, 0)));
    ring_free(&r);
}

TEST(finished_pods_are_replaced)
{
    static const char *const phases[] = {"Failed", "Succeeded"};
    for (size_t i = 0; i < 2; i++) {
        struct ring r = with_cliques();
        ring_live(&r);
        char patch[64];
        (void)snprintf(patch, sizeof(patch), "{status: {phase: %s}}", phases[i]);
        tw_patch(r.world, &kind_pod, fe(&r, 2), patch);
        ring_plan_pclq(&r, "svc-0-fe");
        CHECK(deletes(&r, fe(&r, 2)));
        CHECK(creates(&r, pod_name(&r, "svc-0-fe", 2, 1)));
        CHECK_INT(count_op(&r, PLAN_CREATE) + count_op(&r, PLAN_DELETE), 2);
        ring_live(&r);
        CHECK_INT(tw_count(r.world, &kind_pod), 36);
        ring_free(&r);
    }
}

/* After a scale-in the highest indices may be in use; a new pod takes the lowest free one. */
TEST(indices_above_the_number_wanted_do_no_harm)
{
    struct ring r = with_cliques();
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 5}}");
    pods_of(&r, "svc-0-fe");
    tw_remove(r.world, &kind_pod, fe(&r, 0));
    tw_remove(r.world, &kind_pod, fe(&r, 1));
    tw_remove(r.world, &kind_pod, fe(&r, 3));
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 3}}");
    ring_plan_pclq(&r, "svc-0-fe"); /* 2 and 4 are there */
    CHECK_INT(count_op(&r, PLAN_CREATE), 1);
    CHECK(creates(&r, pod_name(&r, "svc-0-fe", 0, 1)));
    ring_free(&r);
}

TEST(many_pods_are_made_in_several_plans)
{
    struct ring r = with_cliques();
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 1200}}");
    for (int i = 0; i < 3; i++) {
        ring_plan_pclq(&r, "svc-0-fe");
        CHECK_INT(count_op(&r, PLAN_CREATE), i < 2 ? 500 : 200);
        tw_carry_out(r.world); /* fails when a name comes twice */
    }
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 0);
    bool *seen = xcalloc(1200, 1);
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));) {
        int64_t i = -1;
        CHECK(str_to_int(obj_label(o, STR("grove.io/podclique-pod-index")), &i));
        REQUIRE(i >= 0 && i < 1200 && !seen[i]);
        seen[i] = true;
    }
    free(seen);
    ring_free(&r);
}

/* ---- removing pods ---- */

#define READY                                                                             \
    "{spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, status: " \
    "'True'}]}}"

/* Scales to n and names who goes, by index, in the order of the plan. */
static void check_victims(struct ring *r, int n, const char *want)
{
    char patch[64];
    (void)snprintf(patch, sizeof(patch), "{spec: {replicas: %d}}", n);
    tw_patch(r->world, &kind_pclq, "svc-0-fe", patch);
    ring_plan_pclq(r, "svc-0-fe");
    struct strbuf got = STRBUF_INIT(200);
    for (size_t i = 0; i < r->world->plan.writes.len; i++) {
        const struct plan_write *w = &r->world->plan.writes.p[i];
        if (w->op != PLAN_DELETE)
            continue;
        struct arena a = ARENA_INIT;
        const struct obj *pod = tw_must(r->world, &kind_pod, arena_str(&a, w->name).p);
        strbuf_printf(&got, "%.*s ", STR_ARG(obj_label(pod, STR("grove.io/podclique-pod-index"))));
        CHECK_STR(w->uid, pod->uid);
        arena_done(&a);
    }
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
}

/* Unplaced, not running, not ready, outdated, young, high index. */
TEST(those_that_serve_least_go_first)
{
    struct ring r = with_cliques();
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 8}}");
    pods_of(&r, "svc-0-fe");
    tw_patch(r.world, &kind_pod, fe(&r, 0), READY);
    tw_patch(r.world, &kind_pod, fe(&r, 1), READY);
    tw_patch(r.world, &kind_pod, fe(&r, 1),
             "{metadata: {creationTimestamp: 2026-01-01T00:00:09Z}}");
    tw_patch(r.world, &kind_pod, fe(&r, 2), READY);
    tw_patch(r.world, &kind_pod, fe(&r, 2),
             "{metadata: {labels: {grove.io/pod-template-hash: old}}}");
    tw_patch(r.world, &kind_pod, fe(&r, 3), "{spec: {nodeName: n1}, status: {phase: Running}}");
    tw_patch(r.world, &kind_pod, fe(&r, 4), "{spec: {nodeName: n1}, status: {phase: Unknown}}");
    tw_patch(r.world, &kind_pod, fe(&r, 5), "{spec: {nodeName: n1}, status: {phase: Pending}}");
    tw_patch(r.world, &kind_pod, fe(&r, 7), READY);
    /* 6 has no node. 7 is like 0, but its index is higher. */
    check_victims(&r, 0, "6 5 4 3 2 1 7 0 ");
    check_victims(&r, 7, "6 ");
    check_victims(&r, 5, "6 5 4 ");
    ring_free(&r);
}

TEST(pods_that_are_going_already_do_not_count_twice)
{
    struct ring r = with_cliques();
    ring_live(&r);
    tw_delete(r.world, &kind_pod, fe(&r, 0));
    check_victims(&r, 2, "");
    CHECK_INT(count_op(&r, PLAN_CREATE), 0);
    ring_free(&r);
}

/* ---- gates ---- */

static bool lifts(struct ring *r, const char *name)
{
    const struct plan_write *w = tw_write(r->world, &kind_pod, name, "");
    return w && w->op == PLAN_PATCH;
}

/* All planned once, but no gang has been told that its pods are there. */
static struct ring with_pods(void)
{
    struct ring r = with_cliques();
    static const char *const cliques[] = {"svc-0-fe",      "svc-0-pf-0-pl", "svc-0-pf-0-pw",
                                          "svc-0-pf-1-pl", "svc-0-pf-1-pw", "svc-0-pf-2-pl",
                                          "svc-0-pf-2-pw"};
    for (size_t i = 0; i < ARRAY_LEN(cliques); i++)
        pods_of(&r, cliques[i]);
    static const char *const gangs[] = {"svc-0", "svc-0-pf-0", "svc-0-pf-1"};
    for (size_t i = 0; i < ARRAY_LEN(gangs); i++) {
        ring_plan_gang(&r, gangs[i]);
        tw_carry_out(r.world);
    }
    return r;
}

/* Complete is a gang that refers to all pods of all its cliques, or once did. */
TEST(gates_stay_until_the_gang_is_complete)
{
    struct ring r = with_pods();
    tw_patch(r.world, &kind_pclq, "svc-0-pf-0-pl", "{spec: {replicas: 7}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    tw_patch(r.world, &kind_pod_gang, "svc-0",
             "{status: {conditions: [{type: Initialized, status: 'True'}]}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 3);
    tw_patch(r.world, &kind_pod_gang, "svc-0", "{status: null}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    tw_patch(r.world, &kind_pclq, "svc-0-pf-0-pl", "{spec: {replicas: 1}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 3);
    CHECK(lifts(&r, fe(&r, 0)));
    CHECK_INT(tw_write(r.world, &kind_pod, fe(&r, 0), "")->rv,
              tw_must(r.world, &kind_pod, fe(&r, 0))->rv);
    tw_carry_out(r.world);
    CHECK_INT(jlen(jpath(obj_root(tw_must(r.world, &kind_pod, fe(&r, 0))), "spec.schedulingGates")),
              0);
    ring_free(&r);
}

TEST(gates_stay_on_pods_the_gang_does_not_know)
{
    struct ring r = with_pods();
    tw_patch(r.world, &kind_pod_gang, "svc-0",
             "{status: {conditions: [{type: Initialized, status: 'True'}]}}");
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 4}}");
    pods_of(&r, "svc-0-fe");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    ring_plan_gang(&r, "svc-0"); /* now it is referenced */
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_PATCH), 1);
    CHECK(lifts(&r, fe(&r, 3)));
    ring_free(&r);
}

TEST(gates_of_others_stay)
{
    struct ring r = with_pods();
    tw_patch(r.world, &kind_pod_gang, "svc-0",
             "{status: {conditions: [{type: Initialized, status: 'True'}]}}");
    tw_patch(r.world, &kind_pod, fe(&r, 0),
             "{spec: {schedulingGates: [{name: a/b}, {name: grove.io/podgang-pending-creation}, "
             "{name: c/d}]}}");
    ring_plan_pclq(&r, "svc-0-fe");
    check_yaml(jgetc(tw_body(r.world, &kind_pod, fe(&r, 0), ""), "spec"),
               "{schedulingGates: [{name: a/b}, {name: c/d}]}");
    ring_free(&r);
}

/* That many pods of the clique are on nodes. */
static void place(struct ring *r, const char *clique, int n)
{
    int64_t all = jint(jgetc(obj_spec(tw_must(r->world, &kind_pclq, clique)), "replicas"), 0);
    for (int64_t i = 0; i < all; i++)
        tw_patch(r->world, &kind_pod, pod_name(r, clique, i, 0),
                 i < n ? "{spec: {nodeName: n1}}" : "{spec: {nodeName: null}}");
}

/* A scaled gang's pods wait until every group of the base gang has its minimum on nodes. */
TEST(gates_of_a_scaled_gang_wait_for_the_base_gang)
{
    struct ring r = with_pods();
    static const struct {
        const char *name;
        int min;
    } base[] = {{"svc-0-fe", 2}, {"svc-0-pf-0-pl", 1}, {"svc-0-pf-0-pw", 4}};
    static const char *const gangs[] = {"svc-0", "svc-0-pf-0", "svc-0-pf-1"};
    for (size_t i = 0; i < ARRAY_LEN(gangs); i++)
        tw_patch(r.world, &kind_pod_gang, gangs[i],
                 "{status: {conditions: [{type: Initialized, status: 'True'}]}}");
    for (size_t i = 0; i < ARRAY_LEN(base); i++)
        place(&r, base[i].name, base[i].min);
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    CHECK_INT(count_op(&r, PLAN_PATCH), 4);
    /* Any one of them short by one: wait. */
    for (size_t i = 0; i < ARRAY_LEN(base); i++) {
        place(&r, base[i].name, base[i].min - 1);
        ring_plan_pclq(&r, "svc-0-pf-1-pw");
        CHECK_INT(count_op(&r, PLAN_PATCH), 0);
        ring_plan_pclq(&r, "svc-0-pf-2-pl");
        CHECK_INT(count_op(&r, PLAN_PATCH), 0);
        place(&r, base[i].name, base[i].min);
    }
    /* No base gang, or no such clique: wait, too. */
    tw_remove(r.world, &kind_pclq, "svc-0-pf-0-pl");
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    tw_remove(r.world, &kind_pod_gang, "svc-0");
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    ring_free(&r);
}

/* ---- status ---- */

/* "replicas/ready/scheduled/gated" and the two conditions. */
static void check_status(struct ring *r, const char *counts, const char *scheduled,
                         const char *breached)
{
    ring_plan_pclq(r, "svc-0-fe");
    tw_carry_out(r->world);
    jval s = obj_status(tw_must(r->world, &kind_pclq, "svc-0-fe")), list = jgetc(s, "conditions");
    jval a = condition_find(list, STR("PodCliqueScheduled"));
    jval b = condition_find(list, STR("MinAvailableBreached"));
    struct strbuf got = STRBUF_INIT(300);
    strbuf_printf(&got, "%.*s/%.*s/%.*s/%.*s", STR_ARG(jtext(jgetc(s, "replicas"))),
                  STR_ARG(jtext(jgetc(s, "readyReplicas"))),
                  STR_ARG(jtext(jgetc(s, "scheduledReplicas"))),
                  STR_ARG(jtext(jgetc(s, "scheduleGatedReplicas"))));
    CHECK_CSTR(strbuf_str(&got), counts);
    strbuf_reset(&got);
    strbuf_printf(&got, "%.*s %.*s", STR_ARG(jstr(jgetc(a, "status"))),
                  STR_ARG(jstr(jgetc(a, "reason"))));
    CHECK_CSTR(strbuf_str(&got), scheduled);
    strbuf_reset(&got);
    strbuf_printf(&got, "%.*s %.*s", STR_ARG(jstr(jgetc(b, "status"))),
                  STR_ARG(jstr(jgetc(b, "reason"))));
    CHECK_CSTR(strbuf_str(&got), breached);
    strbuf_done(&got);
}

#define SCHEDULED "True SufficientScheduledPods"
#define UNSCHEDULED "False InsufficientScheduledPods"

/* The clique of these tests: 2 replicas, 2 at least. */
static struct ring with_two(void)
{
    struct ring r = with_cliques();
    tw_patch(
        r.world, &kind_pcs, "svc",
        "{spec: {template: {cliques: [{name: fe, spec: {replicas: 2, minAvailable: 2, podSpec: "
        "{containers: [{name: m}]}}}, {name: pl, spec: {podSpec: {containers: [{name: m}]}}}, "
        "{name: pw, spec: {podSpec: {containers: [{name: m}]}}}]}}}");
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 2, minAvailable: 2}}");
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    pods_of(&r, "svc-0-fe");
    return r;
}

static void set_pod(struct ring *r, int64_t index, const char *status)
{
    struct arena a = ARENA_INIT;
    tw_patch(
        r->world, &kind_pod, fe(r, index),
        arena_printf(&a, "{spec: {nodeName: n1, schedulingGates: null}, status: %s}", status).p);
    arena_done(&a);
}

#define IS_READY "{phase: Running, conditions: [{type: Ready, status: 'True'}]}"

/* The table of examples in the contract. */
/* T36: the condition says it at once, an event when it takes long. */
TEST(what_a_scaled_gang_waits_for_is_said_with_numbers)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    (void)ring_settle(&r);
    const char *want = "base gang svc-0 has 0 of 2 pods of svc-0-fe scheduled";
    const struct obj *o = tw_must(r.world, &kind_pclq, "svc-0-pf-1-pw");
    jval c = condition_find(jgetc(obj_status(o), "conditions"), STR("PodCliqueScheduled"));
    CHECK(str_find(jstr(jgetc(c, "message")), str_of(want)) >= 0);
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    CHECK_INT(r.world->plan.events.len, 0);
    CHECK(tw_look_at(r.world) > r.world->world.now);
    r.world->world.now += USEC_PER_MIN;
    ring_plan_pclq(&r, "svc-0-pf-1-pw");
    REQUIRE(r.world->plan.events.len == 1);
    CHECK_CSTR(r.world->plan.events.p[0].reason, "PodsGated");
    CHECK_CSTR(r.world->plan.events.p[0].message,
               "4 of 4 pods gated: base gang svc-0 has 0 of 2 pods of svc-0-fe scheduled");
    CHECK_INT(tw_look_at(r.world), 0);
    ring_free(&r);
}

TEST(gated_pods_are_a_breach)
{
    struct ring r = with_two();
    check_status(&r, "2/0/0/2", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    ring_free(&r);
}

TEST(starting_pods_are_no_breach)
{
    struct ring r = with_two();
    set_pod(&r, 0, "{phase: Pending}");
    set_pod(&r, 1,
            "{phase: Pending, containerStatuses: [{name: m, started: false, ready: false}]}");
    check_status(&r, "2/0/2/0", SCHEDULED, "False SufficientReadyPods");
    set_pod(&r, 0, IS_READY);
    check_status(&r, "2/1/2/0", SCHEDULED, "False SufficientReadyPods");
    ring_free(&r);
}

TEST(a_pod_that_started_and_is_not_ready_is_a_breach)
{
    struct ring r = with_two();
    set_pod(&r, 0, IS_READY);
    set_pod(&r, 1, "{phase: Running, containerStatuses: [{name: m, started: true, ready: false}]}");
    check_status(&r, "2/1/2/0", SCHEDULED, "True InsufficientReadyPods");
    ring_free(&r);
}

TEST(a_pod_that_crashed_is_a_breach_until_it_is_ready_again)
{
    struct ring r = with_two();
    set_pod(&r, 0, IS_READY);
    set_pod(&r, 1,
            "{phase: Running, containerStatuses: [{name: m, started: false, ready: false, "
            "lastState: {terminated: {exitCode: 137}}}]}");
    check_status(&r, "2/1/2/0", SCHEDULED, "True InsufficientReadyPods");
    set_pod(&r, 1,
            "{phase: Running, conditions: [{type: Ready, status: 'True'}], "
            "containerStatuses: [{name: m, started: true, ready: true, lastState: "
            "{terminated: {exitCode: 137}}}]}");
    check_status(&r, "2/2/2/0", SCHEDULED, "False SufficientReadyPods");
    /* In an init container, too. */
    set_pod(&r, 1,
            "{phase: Pending, conditions: null, containerStatuses: null, "
            "initContainerStatuses: [{name: n, lastState: {terminated: {exitCode: 1}}}]}");
    check_status(&r, "2/1/2/0", SCHEDULED, "True InsufficientReadyPods");
    ring_free(&r);
}

TEST(a_clean_exit_before_is_no_crash)
{
    struct ring r = with_two();
    set_pod(&r, 0, IS_READY);
    set_pod(&r, 1,
            "{phase: Running, containerStatuses: [{name: m, started: false, ready: false, "
            "lastState: {terminated: {exitCode: 0}}}]}");
    check_status(&r, "2/1/2/0", SCHEDULED, "False SufficientReadyPods");
    ring_free(&r);
}

/* Terminating and finished pods are no longer counted on. */
TEST(pods_that_are_going_or_finished_do_not_count)
{
    struct ring r = with_two();
    set_pod(&r, 0, IS_READY);
    set_pod(&r, 1, IS_READY);
    check_status(&r, "2/2/2/0", SCHEDULED, "False SufficientReadyPods");
    tw_delete(r.world, &kind_pod, fe(&r, 1));
    check_status(&r, "1/1/1/0", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    tw_patch(r.world, &kind_pod, fe(&r, 0), "{status: {phase: Failed}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pclq, "svc-0-fe", "status"),
                           "status.scheduledReplicas")),
               "0");
    ring_free(&r);
}

TEST(updated_pods_are_those_of_the_current_template)
{
    struct ring r = with_two();
    check_status(&r, "2/0/0/2", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    struct obj *o = tw_must(r.world, &kind_pclq, "svc-0-fe");
    CHECK_CSTR(tw_json(o, "status.updatedReplicas"), "2");
    CHECK_STR(jstr(jpath(obj_root(o), "status.currentPodTemplateHash")),
              obj_label(o, STR("grove.io/pod-template-hash")));
    tw_patch(r.world, &kind_pod, fe(&r, 0),
             "{metadata: {labels: {grove.io/pod-template-hash: old}}}");
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "status.updatedReplicas"), "1");
    ring_free(&r);
}

TEST(only_standalone_cliques_publish_a_selector)
{
    struct ring r = with_cliques();
    ring_live(&r);
    CHECK_CSTR(
        jstr(jpath(obj_root(tw_must(r.world, &kind_pclq, "svc-0-fe")), "status.hpaPodSelector")),
        "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=svc,"
        "grove.io/podclique=svc-0-fe");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-pf-0-pl"), "status.hpaPodSelector"), "");
    ring_free(&r);
}

TEST(pods_with_gates_of_others_count_as_gated)
{
    struct ring r = with_two();
    tw_patch(r.world, &kind_pod, fe(&r, 0), "{spec: {schedulingGates: [{name: a/b}]}}");
    tw_patch(r.world, &kind_pod, fe(&r, 1), "{spec: {schedulingGates: []}}");
    check_status(&r, "2/0/0/1", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    ring_free(&r);
}

/* ---- endings ---- */

TEST(a_deleted_clique_releases_its_finalizer_and_makes_nothing)
{
    struct ring r = with_cliques();
    tw_delete(r.world, &kind_pclq, "svc-0-fe");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_CSTR(tw_writes(r.world), "patch PodClique default/svc-0-fe\n");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pclq, "svc-0-fe", ""), "metadata.finalizers")),
               "[]");
    tw_carry_out(r.world);
    CHECK(tw_get(r.world, &kind_pclq, "svc-0-fe") == NULL);
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    ring_free(&r);
}

TEST(no_pods_are_made_for_a_set_that_is_gone_or_going)
{
    struct ring r = with_cliques();
    tw_delete(r.world, &kind_pcs, "svc");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-pf-0-pl")));
    tw_remove(r.world, &kind_pcs, "svc");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    ring_free(&r);
}

/* Owner references are the users' to write: no loop in them may hold us. */
TEST(a_clique_that_owns_itself_is_nobodys)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodClique\n"
            "metadata: {name: x, uid: u, ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: "
            "PodClique, name: x, uid: u, controller: true}]}\n"
            "spec: {replicas: 1, minAvailable: 1, roleName: x, podSpec: {containers: []}}\n");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "x")));
    ring_free(&r);
}

/* ---- finished pods ---- */

/* The successor comes first: until it is there, the finished pod holds its name. */
TEST(a_finished_pod_goes_after_its_successor_is_there)
{
    struct ring r = with_cliques();
    ring_live(&r);
    tw_patch(r.world, &kind_pod, fe(&r, 2), "{status: {phase: Failed}}");
    ring_plan_pclq(&r, "svc-0-fe");
    const struct plan_write *made =
        tw_write(r.world, &kind_pod, pod_name(&r, "svc-0-fe", 2, 1), "");
    const struct plan_write *gone = tw_write(r.world, &kind_pod, fe(&r, 2), "");
    REQUIRE(made && gone);
    CHECK(made->stage < gone->stage);
    CHECK(gone->not_serving);
    ring_free(&r);
}

static void fail_pod(struct ring *r, const char *name, const char *created, int failures)
{
    struct arena a = ARENA_INIT;
    tw_patch(r->world, &kind_pod, name,
             arena_printf(&a,
                          "{metadata: {creationTimestamp: '%s', annotations: {grove.io/failures: "
                          "'%d'}}, status: {phase: Failed, containerStatuses: [{name: m, state: "
                          "{terminated: {exitCode: 1, finishedAt: '2026-01-01T01:00:00Z'}}}]}}",
                          created, failures)
                 .p);
    arena_done(&a);
}

#define ENDED (TW_START + 3600 * USEC_PER_SEC)

TEST(pods_that_end_again_and_again_are_replaced_later_and_later)
{
    static const struct {
        int failures;
        int64_t delay; /* seconds */
    } cases[] = {{0, 0}, {2, 0}, {3, 10}, {4, 20}, {5, 40}, {8, 300}, {999, 300}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ring r = with_cliques();
        ring_live(&r);
        const char *next = pod_name(&r, "svc-0-fe", 1, 1);
        fail_pod(&r, fe(&r, 1), "2026-01-01T00:59:00Z", cases[i].failures);
        /* It ended in the course of a second. */
        usec due = ENDED + (cases[i].delay ? cases[i].delay + 1 : 0) * USEC_PER_SEC;
        if (cases[i].delay > 0) {
            r.world->world.now = due - 1;
            ring_plan_pclq(&r, "svc-0-fe");
            CHECK_INT(count_op(&r, PLAN_CREATE) + count_op(&r, PLAN_DELETE), 0);
            CHECK_INT(tw_look_at(r.world), due);
        }
        r.world->world.now = due;
        ring_plan_pclq(&r, "svc-0-fe");
        CHECK(creates(&r, next));
        int64_t carried = -1;
        CHECK(str_to_int(
            jstr(jget(jpath(tw_body(r.world, &kind_pod, next, ""), "metadata.annotations"),
                      STR("grove.io/failures"))),
            &carried));
        CHECK_INT(carried, cases[i].failures + 1);
        ring_free(&r);
    }
}

TEST(a_pod_that_lived_well_ends_the_row)
{
    struct ring r = with_cliques();
    ring_live(&r);
    fail_pod(&r, fe(&r, 1), "2026-01-01T00:50:00Z", 7);
    r.world->world.now = ENDED;
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(creates(&r, pod_name(&r, "svc-0-fe", 1, 1)));
    ring_free(&r);
}

/* One that waits holds its place: nobody else gets its index, and a scale-in drops it. */
TEST(a_place_that_waits_is_taken)
{
    struct ring r = with_cliques();
    ring_live(&r);
    fail_pod(&r, fe(&r, 0), "2026-01-01T00:59:00Z", 5);
    r.world->world.now = ENDED;
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 4}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_CREATE), 1);
    CHECK(creates(&r, fe(&r, 3)));
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 2}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_DELETE), 1);
    CHECK(deletes(&r, fe(&r, 0)));
    ring_free(&r);
}

/* ---- doubles ---- */

/* A create that happened long after it was sent may give an index to a second pod: the one that
 * serves less goes, and is not let go to a node meanwhile. */
TEST(of_two_pods_with_one_index_the_better_stays)
{
    struct ring r = with_cliques();
    ring_live(&r);
    const struct obj *first = tw_must(r.world, &kind_pod, fe(&r, 1));
    const char *second = pod_name(&r, "svc-0-fe", 1, 1);
    struct arena a = ARENA_INIT;
    tw_load(
        r.world,
        arena_printf(
            &a,
            "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: "
            "{grove.io/podclique-pod-index: '1'}, ownerReferences: [{apiVersion: "
            "grove.io/v1alpha1, kind: PodClique, name: svc-0-fe, uid: %.*s, controller: true}]}, "
            "spec: {schedulingGates: [{name: grove.io/podgang-pending-creation}]}}",
            second, STR_ARG(first->owner_uid))
            .p);
    ring_plan_gang(&r, "svc-0");
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(deletes(&r, second));
    CHECK_INT(count_op(&r, PLAN_DELETE), 1);
    CHECK_INT(count_op(&r, PLAN_PATCH), 0);
    arena_done(&a);
    ring_free(&r);
}

/* ---- tickets ---- */

TEST(a_scale_in_is_the_users_and_names_the_clique)
{
    struct ring r = with_cliques();
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 1}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_op(&r, PLAN_DELETE), 2);
    for (size_t i = 0; i < r.world->plan.writes.len; i++) {
        const struct plan_write *w = &r.world->plan.writes.p[i];
        if (w->op != PLAN_DELETE)
            continue;
        CHECK(w->user_scale_in);
        CHECK_STR(w->component_uid, tw_must(r.world, &kind_pclq, "svc-0-fe")->uid);
    }
    ring_free(&r);
}

/* ---- conditions ---- */

TEST(a_clique_remembers_that_its_minimum_was_on_nodes)
{
    struct ring r = with_two();
    const struct obj *o = tw_must(r.world, &kind_pclq, "svc-0-fe");
    CHECK(j_is_absent(condition_find(jgetc(obj_status(o), "conditions"), STR("EverScheduled"))));
    set_pod(&r, 0, IS_READY);
    set_pod(&r, 1, IS_READY);
    check_status(&r, "2/2/2/0", SCHEDULED, "False SufficientReadyPods");
    tw_delete(r.world, &kind_pod, fe(&r, 0));
    check_status(&r, "1/1/1/0", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    o = tw_must(r.world, &kind_pclq, "svc-0-fe");
    CHECK(condition_is_true(jgetc(obj_status(o), "conditions"), STR("EverScheduled")));
    ring_free(&r);
}

TEST(an_update_under_way_is_no_breach)
{
    struct ring r = with_two();
    tw_patch(r.world, &kind_pcs, "svc",
             "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z', "
             "currentlyUpdating: [{replicaIndex: 0}]}}}");
    check_status(&r, "2/0/0/2", UNSCHEDULED, "Unknown UpdateInProgress");
    tw_patch(r.world, &kind_pcs, "svc",
             "{status: {updateProgress: {updateEndedAt: '2026-01-01T00:00:00Z'}}}");
    check_status(&r, "2/0/0/2", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    ring_free(&r);
}

static bool has_event(struct ring *r, const char *reason, bool warning)
{
    for (size_t i = 0; i < r->world->plan.events.len; i++) {
        const struct plan_event *e = &r->world->plan.events.p[i];
        if (str_is(e->reason, reason) && e->warning == warning)
            return true;
    }
    return false;
}

TEST(the_loss_of_all_pods_is_told)
{
    struct ring r = with_two();
    set_pod(&r, 0, IS_READY);
    check_status(&r, "2/1/1/1", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    tw_delete(r.world, &kind_pod, fe(&r, 0));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(has_event(&r, "AllScheduledReplicasLost", true));
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(!has_event(&r, "AllScheduledReplicasLost", true));
    ring_free(&r);
}

TEST(errors_of_before_are_forgotten)
{
    struct ring r = with_two();
    check_status(&r, "2/0/0/2", UNSCHEDULED, "True ScheduledReplicasBelowMinAvailable");
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{status: {lastErrors: [{code: ERR_CREATE_POD, description: x, observedAt: "
             "'2026-01-01T00:00:00Z'}]}}");
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "status.lastErrors"), "[]");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    ring_free(&r);
}

/* Written by hand, without a set: it is told how to declare it, once. */
TEST(a_clique_without_a_set_says_how_to_declare_it)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodClique\n"
            "metadata: {name: x}\n"
            "spec: {replicas: 1, minAvailable: 1, roleName: x, podSpec: {containers: []}}\n");
    ring_plan_pclq(&r, "x");
    CHECK(has_event(&r, "NoPodCliqueSet", true));
    CHECK_INT(count_op(&r, PLAN_CREATE), 0);
    tw_carry_out(r.world);
    jval c = condition_find(jgetc(obj_status(tw_must(r.world, &kind_pclq, "x")), "conditions"),
                            STR("Declared"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "False");
    CHECK(str_find(jstr(jgetc(c, "message")), STR("spec.template.cliques")) >= 0);
    CHECK(plan_is_empty(ring_plan_pclq(&r, "x")));
    ring_free(&r);
}
