/* Worlds and rounds for tests; see test-round.h. */
#include "sched/model/test-round.h"

struct sched *sched;

struct test_world *world_of(const char *const *names, size_t n)
{
    struct test_world *t = tw_new();
    sched_free(sched);
    sched = sched_new(t->runtime, &(struct sched_options){names, n});
    return t;
}

struct test_world *world_new(void)
{
    return world_of(sched_defaults.names, sched_defaults.n_names);
}

void plan_round(struct test_world *t)
{
    (void)tw_plan(t, sched_plan, sched, &kind_pod_gang, "round");
}

void add_nodes(struct test_world *t, int n, int cpu)
{
    for (int i = 1; i <= n; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {}, status: "
                 "{allocatable: {cpu: '%d', pods: '110'}, conditions: [{type: Ready, status: "
                 "'True'}]}}",
                 i, cpu);
}

void add_pod(struct test_world *t, const char *name, int cpu, const char *more)
{
    str gang = str_sub(str_of(name), 0, (size_t)str_rfind_char(str_of(name), '-'));
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {grove.io/podgang: %.*s}}, "
             "spec: {containers: [{name: a, resources: {requests: {cpu: '%d'}}}]%s}}",
             name, STR_ARG(gang), cpu, more);
}

void add_gang(struct test_world *t, const char *name, int min, int n)
{
    struct strbuf refs = STRBUF_INIT(4000);
    for (int i = 0; i < n; i++)
        strbuf_printf(&refs, "%s{namespace: default, name: %s-%d}", i ? ", " : "", name, i);
    tw_loadf(t,
             "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: %s}, spec: "
             "{podgroups: [{name: %s, minReplicas: %d, podReferences: [%s]}]}}",
             name, name, min, refs.p ? refs.p : "");
    strbuf_done(&refs);
}

void carry_out(struct test_world *t)
{
    size_t n = t->plan.writes.len, kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct plan_write w = t->plan.writes.p[i];
        if (w.kind == &kind_event)
            continue;
        t->plan.writes.p[i] = t->plan.writes.p[kept];
        t->plan.writes.p[kept++] = w;
    }
    t->plan.writes.len = kept;
    tw_carry_out(t);
    t->plan.writes.len = n;
}

jval event_of(struct test_world *t, const char *pod)
{
    for (size_t i = 0; i < t->plan.writes.len; i++) {
        const struct plan_write *w = &t->plan.writes.p[i];
        if (w->kind == &kind_event &&
            str_is(jstr(jpath(doc_root(w->body), "involvedObject.name")), pod))
            return doc_root(w->body);
    }
    return JVAL_ABSENT;
}

size_t count_events(struct test_world *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->plan.writes.len; i++)
        n += t->plan.writes.p[i].kind == &kind_event;
    return n;
}

size_t count_binds(struct test_world *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->plan.writes.len; i++)
        n += t->plan.writes.p[i].op == PLAN_SUB_CREATE;
    return n;
}

void check_condition(struct test_world *t, const char *gang, const char *status, const char *part)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                            STR("Unschedulable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK(str_find(jstr(jgetc(c, "message")), str_of(part)) >= 0);
}

void add_zones(struct test_world *t)
{
    for (int i = 1; i <= 4; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {zone: z%d, "
                 "kubernetes.io/hostname: n%d}}, spec: {}, status: {allocatable: {cpu: '8', pods: "
                 "'110'}, conditions: [{type: Ready, status: 'True'}]}}",
                 i, (i + 1) / 2, i);
}

str node_of(struct test_world *t, const char *pod)
{
    return jstr(jgetc(obj_spec(tw_must(t, &kind_pod, pod)), "nodeName"));
}

str zone_of(struct test_world *t, const char *pod)
{
    str node = node_of(t, pod);
    return str_is(node, "n1") || str_is(node, "n2") ? STR("z1") : STR("z2");
}

void add_binding(struct test_world *t)
{
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: {name: "
               "topo}, spec: {levels: [{domain: zone, key: zone}, {domain: host, key: "
               "kubernetes.io/hostname}]}}");
}

void add_packed(struct test_world *t, const char *name, int n, const char *key)
{
    char pod[32];
    add_gang(t, name, n, n);
    for (int i = 0; i < n; i++) {
        (void)snprintf(pod, sizeof(pod), "%s-%d", name, i);
        add_pod(t, pod, 1, "");
    }
    struct arena a = ARENA_INIT;
    tw_patch(t, &kind_pod_gang, name,
             arena_printf(&a,
                          "{metadata: {annotations: {grove.io/topology-name: topo}}, spec: "
                          "{topologyConstraint: {packConstraint: {required: %s}}}}",
                          key)
                 .p);
    arena_done(&a);
}

void add_priority(struct test_world *t, const char *name, int value)
{
    tw_loadf(t,
             "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: "
             "%d}",
             name, value);
}

void hold_room_for_large(struct test_world *t)
{
    add_nodes(t, 2, 4);
    add_pod(t, "x-0", 4, ", nodeName: n2");
    add_pod(t, "large-0", 4, "");
    add_pod(t, "large-1", 4, "");
    add_gang(t, "large", 2, 2);
    plan_round(t);
    carry_out(t);
    t->world.now += 31 * USEC_PER_SEC;
    plan_round(t);
    carry_out(t);
}
