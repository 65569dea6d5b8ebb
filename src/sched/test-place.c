/* Placement: whole gangs or nothing, exactly undone, and never more than a node has. */
#include "base/test.h"
#include "base/vec.h"
#include "grove/test-world.h"
#include "sched/place.h"

/* ---- little clusters ---- */

struct cluster {
    struct test_world *world;
    struct snapshot s;
};

static struct cluster cluster_new(void)
{
    return (struct cluster){.world = tw_new()};
}

static void add_node(struct cluster *c, const char *name, int cpu, int gpus)
{
    tw_loadf(c->world,
             "{apiVersion: v1, kind: Node, metadata: {name: %s}, spec: {}, status: {allocatable: "
             "{cpu: '%d', pods: '20', x.io/gpu: '%d'}, conditions: [{type: Ready, status: "
             "'True'}]}}",
             name, cpu, gpus);
}

static const struct obj *add_pod(struct cluster *c, const char *name, int cpu, int gpus)
{
    tw_loadf(c->world,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, "
             "resources: {requests: {cpu: '%d', x.io/gpu: '%d'}}}]}}",
             name, cpu, gpus);
    return tw_must(c->world, &kind_pod, name);
}

static void cluster_count(struct cluster *c)
{
    snapshot_init(&c->s, &c->world->world, &c->world->arena);
}

static void cluster_free(struct cluster *c)
{
    snapshot_done(&c->s);
    tw_free(c->world);
}

/* A group of n equal pods "<name>-0".. */
static struct place_group add_group(struct cluster *c, const char *name, int64_t need, size_t n,
                                    int cpu, int gpus)
{
    struct place_group g = {.name = str_of(name), .need = need, .n_pods = n};
    g.pods = arena_array(&c->world->arena, const struct obj *, n + 1);
    for (size_t i = 0; i < n; i++) {
        char pod[64];
        (void)snprintf(pod, sizeof(pod), "%s-%zu", name, i);
        g.pods[i] = add_pod(c, pod, cpu, gpus);
    }
    return g;
}

static void check_placed(const struct cluster *c, const struct place_result *r, const char *want)
{
    struct strbuf got = STRBUF_INIT(2000);
    for (size_t i = 0; i < r->placed.len; i++)
        strbuf_printf(&got, "%.*s:%.*s ", STR_ARG(r->placed.p[i].pod->name),
                      STR_ARG(c->s.nodes.p[r->placed.p[i].node].name));
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
}

static struct snap_node *copy_nodes(const struct cluster *c)
{
    struct snap_node *nodes = xcalloc(c->s.nodes.len + 1, sizeof(*nodes));
    memcpy(nodes, c->s.nodes.p, c->s.nodes.len * sizeof(*nodes));
    return nodes;
}

/* ---- behaviour ---- */

TEST(a_gang_spreads_over_the_emptiest_nodes)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 8, 0);
    add_node(&c, "n2", 8, 0);
    struct place_group g = add_group(&c, "a", 4, 4, 2, 0);
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, &g, 1, &r);
    CHECK(r.whole);
    check_placed(&c, &r, "a-0:n1 a-1:n2 a-2:n1 a-3:n2 ");
    place_done(&r);
    cluster_free(&c);
}

TEST(all_minimums_or_nothing)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 8, 2);
    add_node(&c, "n2", 8, 0);
    struct place_group groups[2] = {add_group(&c, "a", 2, 2, 1, 0), add_group(&c, "b", 2, 2, 1, 2)};
    cluster_count(&c);
    struct snap_node *before = copy_nodes(&c);
    struct place_result r;
    place_gang(&c.s, groups, 2, &r);
    CHECK(!r.whole);
    CHECK_INT(r.placed.len, 0);
    CHECK(memcmp(before, c.s.nodes.p, c.s.nodes.len * sizeof(*before)) == 0);
    CHECK_CSTR(r.why,
               "b: 1 of the 2 pods it needs fit; for the next, 2 of 2 nodes lack x.io/gpu, 0 "
               "do not admit it");
    place_done(&r);
    free(before);
    cluster_free(&c);
}

TEST(surplus_goes_where_it_fits)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 4, 0);
    struct place_group groups[2] = {add_group(&c, "a", 1, 4, 1, 0), add_group(&c, "b", 1, 3, 1, 0)};
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, groups, 2, &r);
    CHECK(r.whole);
    /* Both minimums first, then what is left in order. */
    check_placed(&c, &r, "a-0:n1 b-0:n1 a-1:n1 a-2:n1 ");
    CHECK_INT(r.left_out, 3);
    CHECK(str_find(r.why, STR("1 of 1 nodes lack cpu")) >= 0);
    place_done(&r);
    cluster_free(&c);
}

TEST(a_gang_without_enough_pods_waits)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 8, 0);
    struct place_group groups[2] = {add_group(&c, "a", 1, 1, 1, 0), add_group(&c, "b", 3, 2, 1, 0)};
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, groups, 2, &r);
    CHECK(!r.whole && r.placed.len == 0);
    CHECK_CSTR(r.why, "b has 2 pods to place and needs 3");
    place_done(&r);
    cluster_free(&c);
}

TEST(a_gang_that_has_its_minimum_places_surplus_only)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 8, 0);
    struct place_group g = add_group(&c, "a", 0, 2, 1, 0);
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, &g, 1, &r);
    CHECK(r.whole);
    CHECK_INT(r.placed.len, 2);
    place_done(&r);
    cluster_free(&c);
}

/* Spreading the small ones would leave no node for the large one. */
TEST(a_gang_that_only_fits_packed_is_packed)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 64, 8);
    add_node(&c, "n2", 64, 8);
    struct place_group groups[2] = {add_group(&c, "small", 2, 2, 1, 4),
                                    add_group(&c, "large", 1, 1, 1, 8)};
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, groups, 2, &r);
    CHECK(r.whole);
    check_placed(&c, &r, "large-0:n1 small-0:n2 small-1:n2 ");
    place_done(&r);
    cluster_free(&c);
}

TEST(the_number_of_pods_is_a_resource)
{
    struct cluster c = cluster_new();
    add_node(&c, "n1", 1000, 0); /* 20 pods */
    struct place_group g = add_group(&c, "a", 21, 21, 0, 0);
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, &g, 1, &r);
    CHECK(!r.whole);
    CHECK(str_find(r.why, STR("20 of the 21 pods it needs fit")) >= 0);
    CHECK(str_find(r.why, STR("1 of 1 nodes lack pods")) >= 0);
    place_done(&r);
    cluster_free(&c);
}

TEST(the_reason_says_when_no_node_lets_a_pod_in)
{
    struct cluster c = cluster_new();
    tw_load(c.world, "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: k, "
                     "effect: NoSchedule}]}, status: {allocatable: {cpu: '8', pods: '9'}, "
                     "conditions: [{type: Ready, status: 'True'}]}}");
    struct place_group g = add_group(&c, "a", 1, 1, 1, 0);
    cluster_count(&c);
    struct place_result r;
    place_gang(&c.s, &g, 1, &r);
    CHECK(str_find(r.why, STR("none of 1 nodes admits it")) >= 0);
    place_done(&r);
    cluster_free(&c);
}

/* ---- properties ---- */

static struct cluster random_cluster(struct rng *r, struct place_group *groups, size_t n_groups)
{
    struct cluster c = cluster_new();
    size_t nodes = 1 + rng_below(r, 4);
    for (size_t i = 0; i < nodes; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%zu", i);
        add_node(&c, name, (int)rng_below(r, 9), (int)rng_below(r, 5));
    }
    for (size_t i = 0; i < n_groups; i++) {
        char *name = arena_alloc(&c.world->arena, 32);
        (void)snprintf(name, 32, "g%zu", i);
        size_t n = 1 + rng_below(r, 4);
        int64_t need = (int64_t)rng_below(r, n + 1);
        groups[i] = add_group(&c, name, need, n, (int)rng_below(r, 5), (int)rng_below(r, 3));
    }
    cluster_count(&c);
    return c;
}

/* Counted again from nothing: what each node holds. */
static void check_no_overcommit(struct cluster *c, const struct place_result *r)
{
    for (size_t i = 0; i < c->s.nodes.len; i++) {
        const struct snap_node *n = &c->s.nodes.p[i];
        int64_t cpu = 0, gpus = 0, pods = 0;
        for (size_t k = 0; k < r->placed.len; k++) {
            if (r->placed.p[k].node != i)
                continue;
            jval req = jpath(jat(jpath(obj_root(r->placed.p[k].pod), "spec.containers"), 0),
                             "resources.requests");
            int64_t one = 0, two = 0;
            CHECK(str_to_int(jstr(jgetc(req, "cpu")), &one));
            CHECK(str_to_int(jstr(jget(req, STR("x.io/gpu"))), &two));
            cpu += one;
            gpus += two;
            pods++;
        }
        int64_t has_cpu = 0, has_gpus = 0;
        jval has = jgetc(obj_status(n->obj), "allocatable");
        CHECK(str_to_int(jstr(jgetc(has, "cpu")), &has_cpu));
        CHECK(str_to_int(jstr(jget(has, STR("x.io/gpu"))), &has_gpus));
        CHECK(cpu <= has_cpu && gpus <= has_gpus && pods <= 20);
        CHECK_INT(n->free[RES_CPU], (has_cpu - cpu) * 1000);
    }
}

static size_t placed_of(const struct place_result *r, const struct place_group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < r->placed.len; i++) {
        for (size_t k = 0; k < g->n_pods; k++)
            n += r->placed.p[i].pod == g->pods[k];
    }
    return n;
}

TEST(random_gangs_are_whole_or_absent_and_never_overcommit)
{
    struct rng *rng = test_rng();
    size_t whole = 0, cases = test_cases(300);
    for (size_t i = 0; i < cases; i++) {
        struct place_group groups[3];
        size_t n = 1 + rng_below(rng, ARRAY_LEN(groups));
        struct cluster c = random_cluster(rng, groups, n);
        struct snap_node *before = copy_nodes(&c);
        struct place_result r;
        place_gang(&c.s, groups, n, &r);
        check_no_overcommit(&c, &r);
        for (size_t k = 0; k < n; k++) {
            size_t got = placed_of(&r, &groups[k]);
            CHECK(r.whole ? (int64_t)got >= groups[k].need : got == 0);
        }
        if (r.whole) {
            whole++;
        } else {
            CHECK(!str_is_empty(r.why));
            CHECK(memcmp(before, c.s.nodes.p, c.s.nodes.len * sizeof(*before)) == 0);
        }
        place_done(&r);
        free(before);
        cluster_free(&c);
    }
    CHECK(whole > cases / 5 && whole < cases); /* the cases are of both sorts */
}

/* Tries everything: can the minimums be had at all? */
static bool fits_somehow(struct cluster *c, const struct obj **pods, size_t n)
{
    if (n == 0)
        return true;
    struct demand d;
    str why;
    if (!snapshot_demand(&c->s, pods[0], &d, &why))
        return false;
    for (size_t i = 0; i < c->s.nodes.len; i++) {
        struct snap_node *node = &c->s.nodes.p[i];
        if (!node_fits(&c->s, node, &d))
            continue;
        node_take(&c->s, node, &d);
        bool yes = fits_somehow(c, pods + 1, n - 1);
        node_give(&c->s, node, &d);
        if (yes)
            return true;
    }
    return false;
}

/* Greedy is not perfect; it must be good, and never claim what cannot be. */
TEST(random_gangs_that_fit_are_mostly_placed)
{
    struct rng *rng = test_rng();
    size_t possible = 0, placed = 0;
    for (size_t i = test_cases(200); i > 0; i--) {
        struct place_group groups[2];
        struct cluster c = random_cluster(rng, groups, 2);
        const struct obj *pods[8];
        size_t n = 0;
        for (size_t k = 0; k < 2; k++) {
            for (int64_t p = 0; p < groups[k].need; p++)
                pods[n++] = groups[k].pods[p];
        }
        bool can = fits_somehow(&c, pods, n);
        struct place_result r;
        place_gang(&c.s, groups, 2, &r);
        CHECK(can || !r.whole);
        possible += can;
        placed += can && r.whole;
        place_done(&r);
        cluster_free(&c);
    }
    CHECK(placed * 100 >= possible * 95);
}
