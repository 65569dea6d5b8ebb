/*
 * Everything at once: gangs of random priorities come and go, also those for whose sake others were
 * asked to go and those who were asked; nodes are cordoned, lost and come back; pods are slow to
 * go; writes are lost; the scheduler is started anew. Whatever happens, no node has more than it
 * can, the tables say what is there, and when it is quiet again there is an end of rounds and
 * nobody waits behind a less important one that could have been asked.
 */
#include "sched/model/reservation.h"
#include "sched/model/tell.h"
#include "sched/model/test-round.h"
#include "sched/place/hold.h"

enum { NODES = 6, CPUS = 4, GANGS = 12, STEPS = 60 };

struct mess {
    struct test_world *t;
    struct rng *rng;
    int n_pods[GANGS]; /* 0: there is no such gang */
    int cpu[GANGS];
    bool there[NODES];
    size_t obeyed;
};

static const char *const classes[] = {"low", "mid", "high"};

static void add_node(struct mess *m, int i)
{
    tw_loadf(m->t,
             "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {zone: z%d, "
             "kubernetes.io/hostname: n%d}}, spec: {}, status: {allocatable: {cpu: '%d', pods: "
             "'110'}, conditions: [{type: Ready, status: 'True'}]}}",
             i, i % 2, i, CPUS);
    m->there[i] = true;
}

static void add_member(struct mess *m, int gang, int i)
{
    char pod[32], label[64];
    (void)snprintf(pod, sizeof(pod), "g%d-%d", gang, i);
    (void)snprintf(label, sizeof(label), "{metadata: {labels: {grove.io/podclique: g%d}}}", gang);
    add_pod(m->t, pod, m->cpu[gang], "");
    tw_patch(m->t, &kind_pod, pod, label);
}

static void add_some_gang(struct mess *m, int gang)
{
    struct arena a = ARENA_INIT;
    char name[16];
    (void)snprintf(name, sizeof(name), "g%d", gang);
    m->n_pods[gang] = 1 + (int)rng_below(m->rng, 4);
    m->cpu[gang] = 1 + (int)rng_below(m->rng, CPUS);
    add_gang(m->t, name, 1 + (int)rng_below(m->rng, (uint64_t)m->n_pods[gang]), m->n_pods[gang]);
    tw_patch(m->t, &kind_pod_gang, name,
             arena_printf(&a, "{spec: {priorityClassName: %s%s}}", classes[rng_below(m->rng, 3)],
                          rng_chance(m->rng, 30) ? ", topologyConstraint: {packConstraint: "
                                                   "{required: zone}}"
                                                 : "")
                 .p);
    for (int i = 0; i < m->n_pods[gang]; i++)
        add_member(m, gang, i);
    arena_done(&a);
}

static void remove_gang(struct mess *m, int gang)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "g%d", gang);
    bool pods_first = rng_chance(m->rng, 50);
    if (!pods_first)
        tw_remove(m->t, &kind_pod_gang, name);
    for (int i = 0; i < m->n_pods[gang]; i++) {
        (void)snprintf(name, sizeof(name), "g%d-%d", gang, i);
        tw_remove(m->t, &kind_pod, name);
    }
    (void)snprintf(name, sizeof(name), "g%d", gang);
    if (pods_first)
        tw_remove(m->t, &kind_pod_gang, name);
    m->n_pods[gang] = 0;
}

/* As the operator does it: those who were asked go, and are made anew. Some take their time. */
static bool obey(struct mess *m, unsigned percent)
{
    bool any = false;
    char name[32];
    for (int g = 0; g < GANGS; g++) {
        (void)snprintf(name, sizeof(name), "g%d", g);
        const struct obj *gang = m->n_pods[g] ? tw_must(m->t, &kind_pod_gang, name) : NULL;
        bool whole = gang && gang_is_marked(gang) && !gang_is_trimmed(gang);
        for (int i = 0; i < m->n_pods[g]; i++) {
            (void)snprintf(name, sizeof(name), "g%d-%d", g, i);
            const struct obj *pod = tw_must(m->t, &kind_pod, name);
            if (str_is_empty(node_of(m->t, name)) || !(whole || pod_is_trimmed(pod)) ||
                !rng_chance(m->rng, percent))
                continue;
            tw_remove(m->t, &kind_pod, name);
            add_member(m, g, i);
            any = true;
            m->obeyed++;
        }
    }
    return any;
}

static void disturb_node(struct mess *m, int i)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "n%d", i);
    if (!m->there[i]) {
        add_node(m, i);
    } else if (rng_chance(m->rng, 70)) {
        tw_patch(m->t, &kind_node, name,
                 rng_chance(m->rng, 50) ? "{spec: {unschedulable: true}}"
                                        : "{spec: {unschedulable: null}}");
    } else {
        tw_remove(m->t, &kind_node, name);
        m->there[i] = false;
        /* Its pods go with it. */
        for (int g = 0; g < GANGS; g++) {
            for (int k = 0; k < m->n_pods[g]; k++) {
                char pod[32];
                (void)snprintf(pod, sizeof(pod), "g%d-%d", g, k);
                if (!str_is(node_of(m->t, pod), name))
                    continue;
                tw_remove(m->t, &kind_pod, pod);
                add_member(m, g, k);
            }
        }
    }
}

static void disturb(struct mess *m)
{
    static const usec steps[] = {USEC_PER_SEC, 11 * USEC_PER_SEC, 31 * USEC_PER_SEC,
                                 301 * USEC_PER_SEC};
    int gang = (int)rng_below(m->rng, GANGS);
    switch (rng_below(m->rng, 8)) {
    case 0:
    case 1:
    case 2:
        if (m->n_pods[gang] == 0)
            add_some_gang(m, gang);
        break;
    case 3:
        if (m->n_pods[gang] > 0)
            remove_gang(m, gang);
        break;
    case 4:
        disturb_node(m, (int)rng_below(m->rng, NODES));
        break;
    case 5:
        tables_drop(sched);
        break;
    default:
        m->t->world.now += steps[rng_below(m->rng, ARRAY_LEN(steps))];
    }
    (void)obey(m, 40);
}

/* No node has more pods than it can hold. */
static void check_nodes(struct mess *m)
{
    for (int i = 0; i < NODES; i++) {
        int used = 0;
        char name[16], pod[32];
        (void)snprintf(name, sizeof(name), "n%d", i);
        for (int g = 0; g < GANGS; g++) {
            for (int k = 0; k < m->n_pods[g]; k++) {
                (void)snprintf(pod, sizeof(pod), "g%d-%d", g, k);
                used += str_is(node_of(m->t, pod), name) ? m->cpu[g] : 0;
            }
        }
        CHECK(used <= CPUS);
    }
}

/* What is free is what is there without pods, room held and room kept. */
static void check_tables(struct mess *m)
{
    struct tables *t = sched->tables;
    if (!t)
        return;
    CHECK(core_is_consistent(t->core));
    CHECK(t->holds.len <= HOLDS_MAX);
    for (size_t n = 0; n < t->snap.nodes.len; n++) {
        int64_t free = t->snap.nodes.p[n].total[RES_CPU];
        list_foreach (it, &t->on_node[n])
            free -= core_amount_of(t->core, list_entry(it, struct tpod, on_node)->cls, RES_CPU);
        for (size_t i = 0; i < t->holds.len; i++) {
            const struct thold *h = &t->holds.p[i];
            CHECK(map_get(&t->gangs, str_of(h->gang->key)) == h->gang);
            for (size_t k = 0; h->taken && k < h->ops.len; k++) {
                if (h->ops.p[k].node == (int32_t)n)
                    free -= h->ops.p[k].count * core_amount_of(t->core, h->ops.p[k].cls, RES_CPU);
            }
        }
        for (size_t i = 0; i < t->leases.len; i++) {
            if (t->leases.p[i].node == (int32_t)n)
                free -= core_amount_of(t->core, t->leases.p[i].cls, RES_CPU);
        }
        CHECK_INT(core_free_of(t->core, (int32_t)n, RES_CPU), free);
    }
    (void)m;
}

static void round_of(struct mess *m, bool lost)
{
    plan_round(m->t);
    if (!lost)
        carry_out(m->t);
    check_nodes(m);
    check_tables(m);
}

/* Rounds until none is wanted at once and nobody has to go; then the next time something is due. */
static void settle(struct mess *m, usec until)
{
    int left = 400;
    while (left-- > 0) {
        round_of(m, false);
        bool moved = obey(m, 100);
        usec next = tw_look_at(m->t);
        if (moved || m->t->plan.writes.len > 0 || m->t->plan.look_again == PLAN_AT_ONCE)
            continue;
        if (next == 0 || next > until)
            break;
        m->t->world.now = next;
    }
    CHECK(left > 0);
}

/* A gang that waits although less important ones have room that is enough for it: one pod of it is
 * all it needs, and a single pod of theirs would do. */
static void check_order(struct mess *m)
{
    char name[32], other[32];
    for (int g = 0; g < GANGS; g++) {
        (void)snprintf(name, sizeof(name), "g%d", g);
        const struct obj *gang = m->n_pods[g] ? tw_must(m->t, &kind_pod_gang, name) : NULL;
        struct tgang *x = gang ? tables_gang(sched->tables, STR("default"), str_of(name)) : NULL;
        if (!x || !gang_complains(gang) || m->n_pods[g] != 1)
            continue;
        for (int k = 0; k < GANGS; k++) {
            (void)snprintf(other, sizeof(other), "g%d", k);
            struct tgang *y = m->n_pods[k] == 1
                                  ? tables_gang(sched->tables, STR("default"), str_of(other))
                                  : NULL;
            (void)snprintf(other, sizeof(other), "g%d-0", k);
            if (!y || y->priority >= x->priority || m->cpu[k] < m->cpu[g] || y->n_bound == 0)
                continue;
            int32_t node = tables_node(sched->tables, node_of(m->t, other));
            CHECK(node == CORE_NONE || !sched->tables->snap.nodes.p[node].open);
        }
    }
}

TEST(whatever_happens_nobody_is_overbooked_or_forgotten)
{
    size_t obeyed = 0, cases = test_cases(40);
    for (size_t n = cases; n > 0; n--) {
        struct mess m = {.t = world_new(), .rng = test_rng()};
        for (int i = 0; i < 3; i++)
            add_priority(m.t, classes[i], i * 10);
        tw_load(m.t, "{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: "
                     "{name: topo}, spec: {levels: [{domain: zone, key: zone}]}}");
        for (int i = 0; i < NODES; i++)
            add_node(&m, i);
        for (int i = 0; i < STEPS; i++) {
            disturb(&m);
            round_of(&m, rng_chance(m.rng, 10));
        }
        settle(&m, m.t->world.now + 1200 * USEC_PER_SEC);
        check_order(&m);
        obeyed += m.obeyed;
        tw_free(m.t);
    }
    CHECK(obeyed > cases / 2); /* somebody did make room */
}
