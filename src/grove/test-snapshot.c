/* How the scheduler counts: what pods ask for, what nodes have left, and who is let in where. */
#include "base/test.h"
#include "grove/snapshot.h"
#include "grove/test-world.h"

#define NODE(name, spec, allocatable)                                                       \
    "apiVersion: v1\nkind: Node\nmetadata: {name: " name ", labels: {zone: a, gen: '7'}}\n" \
    "spec: " spec "\nstatus: {allocatable: " allocatable                                    \
    ", conditions: [{type: Ready, status: 'True'}]}\n---\n"
#define SMALL "{cpu: '4', memory: 8Gi, pods: '10', nvidia.com/gpu: '2'}"

struct table {
    struct test_world *world;
    struct arena arena;
    struct snapshot s;
};

static struct table table(const char *yaml)
{
    struct table t = {.world = tw_new()};
    tw_load(t.world, yaml);
    return t;
}

/* Counts; the arena of the world is as good as any. */
static void count(struct table *t)
{
    snapshot_init(&t->s, &t->world->world, &t->world->arena);
}

static void table_free(struct table *t)
{
    snapshot_done(&t->s);
    tw_free(t->world);
}

static int resource(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->s.n_resources; i++) {
        if (str_is(t->s.resources[i], name))
            return (int)i;
    }
    CHECK(!"an unknown resource");
    return 0;
}

/* ---- demand ---- */

static const struct obj *pod(struct table *t, const char *spec)
{
    static unsigned n;
    char name[32];
    (void)snprintf(name, sizeof(name), "pod-%u", ++n);
    tw_loadf(t->world, "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: %s}", name, spec);
    return tw_must(t->world, &kind_pod, name);
}

static void check_demand(const char *spec, int64_t cpu, int64_t memory, int64_t gpus)
{
    struct table t = table(NODE("n1", "{}", SMALL));
    struct demand d;
    str why = STR_NONE;
    count(&t);
    CHECK(snapshot_demand(&t.s, pod(&t, spec), &d, &why));
    CHECK_STR(why, STR_NONE);
    CHECK_INT(d.amount[RES_CPU], cpu);
    CHECK_INT(d.amount[RES_MEMORY], memory);
    CHECK_INT(d.amount[resource(&t, "nvidia.com/gpu")], gpus);
    CHECK_INT(d.amount[RES_PODS], 1);
    table_free(&t);
}

#define REQ(text) "resources: {requests: {" text "}}"

TEST(containers_add_up)
{
    check_demand("{containers: [{name: a}]}", 0, 0, 0);
    check_demand("{containers: [{name: a, " REQ("cpu: 500m, memory: 1Gi") "}, {name: b, " REQ(
                     "cpu: 2, nvidia.com/gpu: 1") "}]}",
                 2500, 1 << 30, 1);
}

TEST(an_init_container_counts_where_it_needs_more)
{
    check_demand(
        "{initContainers: [{name: i, " REQ("cpu: 3, memory: 1") "}, {name: j, " REQ(
            "cpu: 1, memory: 5") "}], containers: [{name: a, " REQ("cpu: 2, memory: 4") "}]}",
        3000, 5, 0);
}

/* Sidecars run beside everything that comes after them. */
TEST(sidecars_stay)
{
    check_demand(
        "{initContainers: [{name: s, restartPolicy: Always, " REQ("cpu: 1") "}, {name: i, " REQ(
            "cpu: 4") "}, {name: t, restartPolicy: Always, "
                      "" REQ("cpu: 2") "}], containers: "
                                       "[{name: a, " REQ("cpu: 1") "}]}",
        5000, 0, 0); /* 1 + 4 during i; 1 + 2 + 1 afterwards */
    check_demand("{initContainers: [{name: s, restartPolicy: Always, " REQ(
                     "cpu: 1") "}], containers: [{name: a, " REQ("cpu: 1") "}]}",
                 2000, 0, 0);
}

TEST(overhead_and_requests_of_the_whole_pod_count)
{
    check_demand("{overhead: {cpu: 250m}, containers: [{name: a, " REQ("cpu: 1") "}]}", 1250, 0, 0);
    check_demand("{overhead: {cpu: 250m}, resources: {requests: {cpu: 3}}, containers: [{name: a, "
                 "" REQ("cpu: 1, memory: 7") "}]}",
                 3250, 7, 0);
}

static void check_resized(const char *spec, const char *status, int64_t cpu, int64_t memory)
{
    struct table t = table(NODE("n1", "{}", SMALL));
    struct demand d;
    str why = STR_NONE;
    struct arena a = ARENA_INIT;
    count(&t);
    const struct obj *o = pod(&t, spec);
    str name = arena_printf(&a, "%.*s", STR_ARG(o->name));
    tw_patch(t.world, &kind_pod, name.p, arena_printf(&a, "{status: %s}", status).p);
    CHECK(snapshot_demand(&t.s, tw_must(t.world, &kind_pod, name.p), &d, &why));
    CHECK_INT(d.amount[RES_CPU], cpu);
    CHECK_INT(d.amount[RES_MEMORY], memory);
    arena_done(&a);
    table_free(&t);
}

#define TWO "{containers: [{name: a, " REQ("cpu: 2, memory: 20") "}]}"
#define INFEASIBLE "conditions: [{type: PodResizePending, status: 'True', reason: Infeasible}], "

/* As kube-scheduler counts while a pod is resized in place: the most of what it asks for, was given
 * and runs with. */
TEST(a_container_that_is_resized_holds_the_most)
{
    check_resized(TWO, "{containerStatuses: [{name: a, allocatedResources: {cpu: 1, memory: 30}}]}",
                  2000, 30);
    /* Smaller was asked for and granted; it runs as it was. */
    check_resized(TWO,
                  "{containerStatuses: [{name: a, allocatedResources: {cpu: 2, memory: 20}, "
                  "resources: {requests: {cpu: 3, memory: 20}}}]}",
                  3000, 20);
}

TEST(what_a_node_will_never_give_does_not_count)
{
    check_resized(TWO,
                  "{" INFEASIBLE "containerStatuses: [{name: a, allocatedResources: {cpu: 1, "
                  "memory: 5}}]}",
                  1000, 5);
    /* It says nothing of what it gave. */
    check_resized(TWO, "{" INFEASIBLE "containerStatuses: [{name: a}]}", 2000, 20);
}

TEST(a_pod_that_is_resized_as_a_whole_holds_the_most)
{
    static const char whole[] = "{resources: {requests: {cpu: 3, memory: 40}}, containers: [{name: "
                                "a, " REQ("cpu: 1") "}]}";
    check_resized(whole, "{allocatedResources: {cpu: 5, memory: 10}}", 5000, 40);
    check_resized(whole,
                  "{allocatedResources: {cpu: 3, memory: 40}, resources: {requests: {cpu: 3, "
                  "memory: 50}}}",
                  3000, 50);
    check_resized(whole, "{" INFEASIBLE "allocatedResources: {cpu: 2, memory: 30}}", 2000, 30);
    /* Nothing is asked for the whole: its containers count. */
    check_resized(TWO, "{allocatedResources: {cpu: 9}}", 2000, 20);
}

/* Numbers come from users: no sum leaves the range, none gives resources back. */
TEST(absurd_amounts_do_not_wrap)
{
    check_demand("{overhead: {memory: 8E}, containers: [{name: a, " REQ(
                     "memory: 8E") "}, {name: b, " REQ("memory: 8E") "}]}",
                 0, AMOUNT_MAX, 0);
    check_demand("{containers: [{name: a, " REQ("cpu: 1") "}, {name: b, " REQ("cpu: '-5'") "}]}",
                 1000, 0, 0);
    check_demand("{containers: [{name: a, " REQ("cpu: lots, memory: 1e3") "}]}", 0, 1000, 0);
}

/* Parts of GPUs, as KAI's users ask for them. */
static void check_refused(const char *annotation, const char *what)
{
    struct table t = table(NODE("n1", "{}", SMALL));
    struct demand d;
    str why = STR_NONE;
    tw_loadf(t.world,
             "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {%s}}, spec: {}}",
             annotation);
    count(&t);
    CHECK(!snapshot_demand(&t.s, tw_must(t.world, &kind_pod, "p"), &d, &why));
    CHECK(str_find(why, str_of(what)) >= 0);
    table_free(&t);
}

#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]"

TEST(what_cannot_be_judged_is_refused_with_a_reason)
{
    check_refused("gpu-fraction: '0.5'", "gpu-fraction");
    check_refused("gpu-memory: '2000'", "gpu-memory");
}

TEST(wishes_are_not_refused)
{
    check_demand("{affinity: {podAffinity: {" PREFERRED "}, podAntiAffinity: {}}, "
                 "topologySpreadConstraints: [{whenUnsatisfiable: ScheduleAnyway}], volumes: "
                 "[{name: v, emptyDir: {}}]}",
                 0, 0, 0);
}

TEST(too_many_kinds_of_resources_are_refused_and_the_rest_is_counted)
{
    struct table t = table(NODE("n1", "{}", SMALL));
    struct strbuf spec = STRBUF_INIT(10000);
    struct demand d;
    str why = STR_NONE;
    strbuf_add_cstr(&spec, "{containers: [{name: a, resources: {requests: {");
    for (int i = 0; i < RES_MAX + 8; i++)
        strbuf_printf(&spec, "x.io/r%d: 1, ", i);
    strbuf_add_cstr(&spec, "cpu: 2}}}]}");
    count(&t);
    CHECK(!snapshot_demand(&t.s, pod(&t, spec.p), &d, &why));
    CHECK(str_find(why, STR("64")) >= 0);
    CHECK_INT(d.amount[RES_CPU], 2000);
    strbuf_done(&spec);
    table_free(&t);
}

/* ---- who is let in ---- */

static bool admits(const char *node, const char *pod_spec)
{
    struct table t = table(node);
    const struct obj *p = pod(&t, pod_spec);
    count(&t);
    bool yes = node_admits(&t.s.nodes.p[0], p);
    table_free(&t);
    return yes;
}

TEST(only_ready_schedulable_nodes_are_open)
{
    CHECK(admits(NODE("n1", "{}", SMALL), "{}"));
    CHECK(!admits(NODE("n1", "{unschedulable: true}", SMALL), "{}"));
    CHECK(!admits("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {}, status: "
                  "{conditions: [{type: Ready, status: 'False'}]}}",
                  "{}"));
    CHECK(!admits("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {}, status: "
                  "{conditions: [{type: Ready, status: Unknown}]}}",
                  "{}"));
    CHECK(!admits("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {}}", "{}"));
}

#define TAINTED(taints) NODE("n1", "{taints: [" taints "]}", SMALL)
#define TOLERATE(list) "{tolerations: [" list "]}"

TEST(taints_need_tolerations)
{
    const char *one = TAINTED("{key: k, value: v, effect: NoSchedule}");
    CHECK(!admits(one, "{}"));
    CHECK(admits(one, TOLERATE("{key: k, value: v, effect: NoSchedule}")));
    CHECK(admits(one, TOLERATE("{key: k, operator: Equal, value: v}")));
    CHECK(admits(one, TOLERATE("{key: k, operator: Exists}")));
    CHECK(admits(one, TOLERATE("{operator: Exists}")));
    CHECK(!admits(one, TOLERATE("{key: k, value: w}")));
    CHECK(!admits(one, TOLERATE("{key: j, operator: Exists}")));
    CHECK(!admits(one, TOLERATE("{key: k, operator: Exists, effect: NoExecute}")));
    CHECK(!admits(one, TOLERATE("{value: v}"))); /* no key means all only with Exists */
    CHECK(!admits(TAINTED("{key: k, effect: NoExecute}"), "{}"));
    CHECK(admits(TAINTED("{key: k, effect: PreferNoSchedule}"), "{}"));
    /* Every taint wants its own. */
    const char *two = TAINTED("{key: k, effect: NoSchedule}, {key: l, effect: NoExecute}");
    CHECK(!admits(two, TOLERATE("{key: k, operator: Exists}")));
    CHECK(admits(two, TOLERATE("{key: k, operator: Exists}, {key: l, operator: Exists}")));
    /* The demo clusters of the guide. */
    CHECK(admits(TAINTED("{key: fake-node, value: 'true', effect: NoSchedule}"),
                 TOLERATE("{key: fake-node, operator: Equal, value: 'true', effect: NoSchedule}")));
}

/* As Kubernetes 1.35: the taint's value is above, or below, the toleration's; both are numbers. */
TEST(tolerations_may_compare_numbers)
{
    static const struct {
        const char *op, *value, *taint;
        bool want;
    } cases[] = {
        {"Gt", "900", "950", true},    {"Gt", "950", "950", false}, {"Gt", "990", "950", false},
        {"Lt", "5", "3", true},        {"Lt", "3", "3", false},     {"Lt", "-1", "-2", true},
        {"Gt", "900", "0950", false},  {"Gt", "x", "950", false},   {"Gt", "900", "", false},
        {"Near", "950", "950", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        str node = arena_printf(&a, TAINTED("{key: sla, value: '%s', effect: NoSchedule}"),
                                cases[i].taint);
        str spec = arena_printf(&a, TOLERATE("{key: sla, operator: %s, value: '%s'}"), cases[i].op,
                                cases[i].value);
        if (!CHECK(admits(node.p, spec.p) == cases[i].want))
            test_note("%s", spec.p);
        arena_done(&a);
    }
}

/* A cordoned node takes who tolerates that, as kube-scheduler has it. */
TEST(a_cordon_is_a_taint)
{
    const char *cordoned = NODE("n1", "{unschedulable: true}", SMALL);
    CHECK(!admits(cordoned, "{}"));
    CHECK(admits(cordoned,
                 TOLERATE("{key: node.kubernetes.io/unschedulable, operator: Exists, effect: "
                          "NoSchedule}")));
    CHECK(admits(cordoned, TOLERATE("{operator: Exists}")));
    CHECK(!admits(cordoned, TOLERATE("{key: node.kubernetes.io/unschedulable, operator: Exists, "
                                     "effect: NoExecute}")));
    /* One that is not ready takes nobody, cordoned or not. */
    CHECK(!admits("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {unschedulable: true}, "
                  "status: {conditions: [{type: Ready, status: 'False'}]}}",
                  TOLERATE("{operator: Exists}")));
}

TEST(node_selectors_must_all_match)
{
    const char *node = NODE("n1", "{}", SMALL); /* zone: a, gen: '7' */
    CHECK(admits(node, "{nodeSelector: {zone: a}}"));
    CHECK(!admits(node, "{nodeSelector: {zone: b}}"));
    CHECK(!admits(node, "{nodeSelector: {zone: a, rack: r}}"));
    CHECK(!admits(node, "{nodeSelector: {rack: ''}}")); /* an empty label is not a missing one */
}

#define AFFINITY(terms)                                                           \
    "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " \
    "{nodeSelectorTerms: [" terms "]}}}}"
#define EXPR(text) "{matchExpressions: [{" text "}]}"

TEST(node_affinity_knows_every_operator)
{
    static const struct {
        const char *spec;
        bool want;
    } cases[] = {
        {AFFINITY(EXPR("key: zone, operator: In, values: [b, a]")), true},
        {AFFINITY(EXPR("key: zone, operator: In, values: [b]")), false},
        {AFFINITY(EXPR("key: rack, operator: In, values: [b]")), false},
        {AFFINITY(EXPR("key: zone, operator: NotIn, values: [b]")), true},
        {AFFINITY(EXPR("key: zone, operator: NotIn, values: [a]")), false},
        {AFFINITY(EXPR("key: rack, operator: NotIn, values: [a]")), true},
        {AFFINITY(EXPR("key: zone, operator: Exists")), true},
        {AFFINITY(EXPR("key: rack, operator: Exists")), false},
        {AFFINITY(EXPR("key: rack, operator: DoesNotExist")), true},
        {AFFINITY(EXPR("key: zone, operator: DoesNotExist")), false},
        {AFFINITY(EXPR("key: gen, operator: Gt, values: ['6']")), true},
        {AFFINITY(EXPR("key: gen, operator: Gt, values: ['7']")), false},
        {AFFINITY(EXPR("key: gen, operator: Lt, values: ['8']")), true},
        {AFFINITY(EXPR("key: gen, operator: Lt, values: ['7']")), false},
        {AFFINITY(EXPR("key: zone, operator: Gt, values: ['1']")), false},
        {AFFINITY(EXPR("key: zone, operator: Resembles, values: [a]")), false},
        /* Terms are alternatives, expressions of one must all hold; no term, no node. */
        {AFFINITY(
             EXPR("key: zone, operator: In, values: [b]") ", " EXPR("key: gen, operator: Exists")),
         true},
        {AFFINITY("{matchExpressions: [{key: zone, operator: Exists}, {key: rack, operator: "
                  "Exists}]}"),
         false},
        {AFFINITY("{}"), false},
        {AFFINITY(""), false},
        {AFFINITY("{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}"), true},
        {AFFINITY("{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}"), false},
        {AFFINITY("{matchFields: [{key: metadata.name, operator: NotIn, values: [n1]}]}"), false},
        /* The selector and the affinity must both agree. */
        {"{nodeSelector: {zone: b}, affinity: {nodeAffinity: "
         "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
         "[{key: zone, operator: Exists}]}]}}}}",
         false},
        {"{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
         "1}]}}}",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!CHECK(admits(NODE("n1", "{}", SMALL), cases[i].spec) == cases[i].want))
            test_note("%s", cases[i].spec);
    }
}

/* ---- states of pods ---- */

TEST(pods_wait_hold_or_neither)
{
    struct table t = table(NODE("n1", "{}", SMALL));
    const struct obj *p = pod(&t, "{}");
    CHECK(pod_waits(p) && !pod_holds_node(p));
    p = pod(&t, "{schedulingGates: [{name: a/b}]}");
    CHECK(!pod_waits(p) && !pod_holds_node(p));
    p = pod(&t, "{schedulingGates: []}");
    CHECK(pod_waits(p));
    p = pod(&t, "{nodeName: n1}");
    CHECK(!pod_waits(p) && pod_holds_node(p));
    tw_load(t.world, "{apiVersion: v1, kind: Pod, metadata: {name: f}, spec: {nodeName: n1}, "
                     "status: {phase: Failed}}");
    p = tw_must(t.world, &kind_pod, "f");
    CHECK(!pod_waits(p) && !pod_holds_node(p));
    table_free(&t);
}
