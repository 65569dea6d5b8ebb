/* Who is asked to make room, and that it is not more than must be. */
#include "sched/model/test-round.h"
#include "sched/place/hold.h"
#include "sched/preempt/victims.h"

/* ---- the cheapest choice ---- */

enum { NODES = 4, TENANTS = 6 };

struct choice {
    struct core *core;
    struct core_op ops[TENANTS][2];
    struct core_victim victims[TENANTS];
    size_t n;
    struct core_leaf leaf;
    struct core_ask ask;
};

/* Nodes of four in two racks; tenants of one or two pods of one to three anywhere. */
static void random_choice(struct rng *rng, struct choice *c)
{
    int64_t total = 4;
    int32_t paths[NODES] = {0, 0, 1, 1};
    uint8_t admitted[NODES] = {1, 1, 1, 1};
    *c = (struct choice){.core = core_new(1)};
    for (int i = 0; i < NODES; i++)
        (void)core_add_node(c->core, &total);
    (void)core_add_tree(c->core, 1, paths);
    for (int64_t i = 1; i <= 3; i++) {
        struct core_amount amount = {0, i};
        struct core_class_def def = {
            .amounts = &amount, .n_amounts = 1, .admitted = admitted, .per_node = CORE_UNLIMITED};
        (void)core_add_class(c->core, &def);
    }
    for (int tries = 0; tries < 12 && c->n < TENANTS; tries++) {
        struct core_victim *v = &c->victims[c->n];
        for (size_t want = 1 + rng_below(rng, 2); v->n_ops < want; v->n_ops++) {
            struct core_op op = {0, (int32_t)rng_below(rng, 3), (int32_t)rng_below(rng, NODES), 1};
            if (core_slots(c->core, op.cls, op.node) == 0)
                break;
            core_take(c->core, op.cls, op.node, 1);
            c->ops[c->n][v->n_ops] = op;
        }
        v->ops = c->ops[c->n];
        c->n += v->n_ops > 0;
    }
    c->leaf = (struct core_leaf){
        {0, 0, CORE_NONE}, (int32_t)rng_below(rng, 3), 1 + (int32_t)rng_below(rng, 5), CORE_NONE};
    c->ask = (struct core_ask){
        .gang = {(int)rng_below(rng, 2), 0, CORE_NONE}, .leaves = &c->leaf, .n_leaves = 1};
}

/* Some are after the one before them and counted with it. */
static void random_costs(struct rng *rng, struct choice *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct core_victim *v = &c->victims[i];
        v->priority = (int32_t)rng_below(rng, 3);
        v->pods = (int32_t)v->n_ops;
        v->gangs = 1;
        v->work = (int64_t)rng_below(rng, 4);
        v->serves = rng_chance(rng, 30);
        if (i > 0 && c->victims[i - 1].after == 0 && rng_chance(rng, 30)) {
            v->after = i;
            v->serves = false;
            c->victims[i - 1].gangs++;
            c->victims[i - 1].pods += v->pods;
        }
    }
}

struct price {
    int64_t of[5];
};

static struct price price_of(const struct choice *c, unsigned set)
{
    struct price p = {{0}};
    for (size_t i = 0; i < c->n; i++) {
        const struct core_victim *v = &c->victims[i];
        if (!(set >> i & 1) || (v->after && set >> (v->after - 1) & 1))
            continue;
        int64_t own[5] = {v->serves, v->gangs, v->priority, v->pods, v->work};
        for (int k = 0; k < 5; k++)
            p.of[k] += own[k];
    }
    return p;
}

static int cmp_prices(const struct price *a, const struct price *b)
{
    for (int k = 0; k < 5; k++) {
        if (a->of[k] != b->of[k])
            return a->of[k] < b->of[k] ? -1 : 1;
    }
    return 0;
}

static bool fits_without(struct choice *c, unsigned set)
{
    struct core_result r;
    for (size_t i = 0; i < c->n; i++) {
        if (set >> i & 1)
            core_give_ops(c->core, c->victims[i].ops, c->victims[i].n_ops);
    }
    bool fits = core_place(c->core, &c->ask, &r);
    if (fits)
        core_undo(c->core, &r);
    core_result_done(&r);
    for (size_t i = 0; i < c->n; i++) {
        if (set >> i & 1)
            core_take_ops(c->core, c->victims[i].ops, c->victims[i].n_ops);
    }
    return fits;
}

/* The cheapest set of all; 0: none will do. */
static unsigned cheapest(struct choice *c)
{
    unsigned best = 0;
    for (unsigned set = 1; set < 1u << c->n; set++) {
        struct price p = price_of(c, set), b = price_of(c, best);
        if ((best == 0 || cmp_prices(&p, &b) < 0) && fits_without(c, set))
            best = set;
    }
    return best;
}

/* So few that all choices can be tried: exactly the cheapest is found. */
TEST(who_goes_costs_as_little_as_possible)
{
    struct rng *rng = test_rng();
    unsigned found = 0, larger = 0;
    for (size_t n = test_cases(2000); n > 0; n--) {
        struct choice c;
        struct core_result r;
        bool chosen[TENANTS];
        random_choice(rng, &c);
        random_costs(rng, &c);
        if (!fits_without(&c, 0)) {
            unsigned best = cheapest(&c), got = 0;
            bool room = core_make_room(c.core, &c.ask, c.victims, c.n, chosen, NULL, &r);
            CHECK(room == (best != 0));
            for (size_t i = 0; room && i < c.n; i++)
                got |= (unsigned)chosen[i] << i;
            struct price p = price_of(&c, got), b = price_of(&c, best);
            CHECK_INT(cmp_prices(&p, &b), 0);
            CHECK(!room || fits_without(&c, got));
            found += room;
            larger += room && __builtin_popcount(best) > 2;
            core_result_done(&r);
        }
        CHECK(core_is_consistent(c.core));
        core_free(c.core);
    }
    CHECK(found > 0 && larger > 0);
}

/* ---- who may be asked ---- */

static bool is_marked(struct test_world *t, const char *gang)
{
    return condition_is_true(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                             STR("DisruptionTarget"));
}

static void rounds(struct test_world *t, int n)
{
    for (int i = 0; i < n; i++) {
        plan_round(t);
        carry_out(t);
    }
}

/* A gang of one pod of 4 CPUs on the node. */
static void add_tenant(struct test_world *t, const char *name, const char *node)
{
    char pod[32], more[48];
    (void)snprintf(pod, sizeof(pod), "%s-0", name);
    (void)snprintf(more, sizeof(more), ", nodeName: %s", node);
    add_pod(t, pod, 4, more);
    add_gang(t, name, 1, 1);
}

/* Needs n nodes of 4 CPUs. */
static void add_urgent(struct test_world *t, int n)
{
    char pod[16];
    add_priority(t, "high", 100);
    for (int i = 0; i < n; i++) {
        (void)snprintf(pod, sizeof(pod), "u-%d", i);
        add_pod(t, pod, 4, "");
    }
    add_gang(t, "u", n, n);
    tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
}

TEST(a_gang_that_says_so_is_not_asked)
{
    static const char *const how[] = {
        "{metadata: {labels: {" PREEMPTIBILITY ": non-preemptible}}}",
        "{metadata: {annotations: {" PREEMPTIBILITY ": non-preemptible}}}",
    };
    for (int i = 0; i < 3; i++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 4);
        add_tenant(t, "a", "n1");
        if (i < 2)
            tw_patch(t, &kind_pod_gang, "a", how[i]);
        else
            tw_patch(t, &kind_pod, "a-0", how[0]);
        add_urgent(t, 1);
        rounds(t, 2);
        CHECK(!is_marked(t, "a"));
        tw_free(t);
    }
}

/* It was evicted and is back: others go first, and it is left in peace for a minute. */
TEST(a_gang_that_was_just_evicted_is_left_in_peace)
{
    struct test_world *t = world_new();
    struct strbuf now = STRBUF_INIT(64), patch = STRBUF_INIT(400);
    add_nodes(t, 1, 4);
    add_tenant(t, "a", "n1");
    time_format_rfc3339(t->world.now, &now);
    strbuf_printf(&patch,
                  "{status: {conditions: [{type: DisruptionTarget, status: 'False', reason: "
                  "RoomWasMade, message: m, lastTransitionTime: '%s'}]}}",
                  now.p);
    tw_patch(t, &kind_pod_gang, "a", patch.p);
    strbuf_reset(&patch);
    strbuf_printf(&patch, "{status: {startTime: '%s'}}", now.p);
    tw_patch(t, &kind_pod, "a-0", patch.p);
    add_urgent(t, 1);
    rounds(t, 2);
    CHECK(!is_marked(t, "a"));
    CHECK(tw_look_at(t) > 0 && tw_look_at(t) <= t->world.now + EVICT_PAUSE + USEC_PER_SEC);
    t->world.now += EVICT_PAUSE + USEC_PER_SEC;
    rounds(t, 2);
    CHECK(is_marked(t, "a"));
    strbuf_done(&now);
    strbuf_done(&patch);
    tw_free(t);
}

/* ---- families ---- */

/* A gang of the set: a base gang, or one scaled from it. */
static void add_kin(struct test_world *t, const char *name, const char *node, const char *base)
{
    struct arena a = ARENA_INIT;
    char pod[32];
    add_tenant(t, name, node);
    (void)snprintf(pod, sizeof(pod), "%s-0", name);
    if (base)
        tw_patch(t, &kind_pod, pod,
                 arena_printf(&a, "{metadata: {labels: {grove.io/base-podgang: %s}}}", base).p);
    tw_patch(t, &kind_pod_gang, name,
             "{metadata: {ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, "
             "name: s, uid: u, controller: true}]}}");
    arena_done(&a);
}

/* Base gang and scaled gang on n1 and n2: the base gang is the dearer of the two, and of base gangs
 * the one without another that needs it. */
TEST(a_gang_that_others_need_is_spared)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 4);
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s, uid: u}}");
    add_kin(t, "s-0", "n1", NULL);
    add_kin(t, "s-0-g-0", "n2", "s-0");
    add_kin(t, "s-1", "n3", NULL);
    add_urgent(t, 2);
    rounds(t, 2);
    CHECK(!is_marked(t, "s-0"));
    CHECK(is_marked(t, "s-0-g-0") && is_marked(t, "s-1"));
    tw_free(t);
}

/* Two that do not serve go before one that does, whoever is the larger. */
TEST(gangs_that_serve_are_spared)
{
    struct test_world *t = world_new();
    add_nodes(t, 4, 4);
    add_tenant(t, "a", "n1");
    add_tenant(t, "b", "n2");
    add_pod(t, "c-0", 4, ", nodeName: n3");
    add_pod(t, "c-1", 4, ", nodeName: n4");
    add_gang(t, "c", 2, 2);
    tw_patch(t, &kind_pod_gang, "c",
             "{status: {conditions: [{type: Ready, status: 'True', reason: r, message: m, "
             "lastTransitionTime: '2026-01-01T00:00:00Z'}]}}");
    add_urgent(t, 2);
    rounds(t, 2);
    CHECK(is_marked(t, "a") && is_marked(t, "b") && !is_marked(t, "c"));
    tw_free(t);
}

/* Of two alike the one that has worked less. */
TEST(what_has_worked_less_goes)
{
    for (int i = 0; i < 2; i++) {
        struct test_world *t = world_new();
        add_nodes(t, 2, 4);
        add_tenant(t, "a", "n1");
        add_tenant(t, "b", "n2");
        tw_patch(t, &kind_pod, i ? "a-0" : "b-0", "{status: {startTime: '2020-01-01T00:00:00Z'}}");
        tw_patch(t, &kind_pod, i ? "b-0" : "a-0", "{status: {startTime: '2025-01-01T00:00:00Z'}}");
        add_urgent(t, 1);
        rounds(t, 2);
        CHECK(is_marked(t, "a") == (i == 0) && is_marked(t, "b") == (i == 1));
        tw_free(t);
    }
}
