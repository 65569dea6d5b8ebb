/*
 * The scheduler's decision core by itself: processor time of placing inference gangs on clusters of
 * several sizes, beside a brute force that looks at every node for every pod; and how many large
 * gangs find a place in a cluster that is nearly full, beside first fit; and what it costs them
 * when the replicas of small sets keep apart.
 *
 *   bench-sched             everything
 *   bench-sched --quick     the smaller clusters, fewer arrivals
 *
 * Clusters are racks of 18 nodes with 4 GPUs, 16 racks to a block. Nothing is random but what comes
 * from a fixed seed.
 */
#include <time.h>

#include "base/rng.h"
#include "sched/model/core.h"

enum { RES_CPU, RES_MEMORY, RES_PODS, RES_GPU, N_RES };
enum { RACK_NODES = 18, BLOCK_RACKS = 16, LEVEL_BLOCK = 1, LEVEL_RACK = 2, LEVEL_HOST = 3 };
enum { CLASS_EXPERT, CLASS_SMALL, CLASS_ROUTER, CLASS_CPU, N_CLASSES };

static const int64_t node_total[N_RES] = {144000, 960000, 110, 4};
static const int64_t class_amounts[N_CLASSES][N_RES] = {
    [CLASS_EXPERT] = {32000, 400000, 1, 4},
    [CLASS_SMALL] = {8000, 100000, 1, 1},
    [CLASS_ROUTER] = {1000, 4000, 1, 0},
    [CLASS_CPU] = {1500, 6000, 1, 0},
};

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- cluster ---- */

static struct core *make_cluster(size_t nodes)
{
    struct core *c = core_new(N_RES);
    int32_t *paths = xcalloc(2 * nodes, sizeof(*paths));
    for (size_t i = 0; i < nodes; i++) {
        (void)core_add_node(c, node_total);
        paths[2 * i] = (int32_t)(i / (RACK_NODES * BLOCK_RACKS));
        paths[2 * i + 1] = (int32_t)(i / RACK_NODES);
    }
    (void)core_add_tree(c, 2, paths);
    uint8_t *admitted = xmalloc(nodes);
    memset(admitted, 1, nodes);
    for (size_t k = 0; k < N_CLASSES; k++) {
        struct core_amount amounts[N_RES];
        size_t n = 0;
        for (int32_t r = 0; r < N_RES; r++) {
            if (class_amounts[k][r] > 0)
                amounts[n++] = (struct core_amount){r, class_amounts[k][r]};
        }
        struct core_class_def def = {
            .amounts = amounts, .n_amounts = n, .admitted = admitted, .per_node = CORE_UNLIMITED};
        (void)core_add_class(c, &def);
    }
    free(admitted);
    free(paths);
    return c;
}

/* ---- gangs ---- */

#define ANYWHERE ((struct core_scope){0, 0, CORE_NONE})
#define IN_RACK ((struct core_scope){LEVEL_RACK, 0, CORE_NONE})

/* Wide expert parallelism: 16 decoders and two groups of 4 prefillers of whole nodes, each in one
 * rack, 2 routers, all in one block. */
static const struct core_leaf experts[] = {{IN_RACK, CLASS_EXPERT, 16, CORE_NONE},
                                           {IN_RACK, CLASS_EXPERT, 4, CORE_NONE},
                                           {IN_RACK, CLASS_EXPERT, 4, CORE_NONE},
                                           {ANYWHERE, CLASS_ROUTER, 2, CORE_NONE}};
/* Small disaggregated model: one rack, one host if possible. */
static const struct core_leaf small[] = {{{0, LEVEL_HOST, CORE_NONE}, CLASS_SMALL, 4, CORE_NONE},
                                         {{0, LEVEL_HOST, CORE_NONE}, CLASS_SMALL, 2, CORE_NONE},
                                         {ANYWHERE, CLASS_ROUTER, 2, CORE_NONE}};
static const struct core_leaf cpu_only[] = {{ANYWHERE, CLASS_CPU, 10, CORE_NONE}};

struct shape {
    const struct core_leaf *leaves;
    size_t n_leaves;
    struct core_scope gang;
    size_t pods;
    size_t per_10k; /* how many on 10,000 nodes */
};

static const struct shape shapes[] = {
    {experts, ARRAY_LEN(experts), {LEVEL_BLOCK, 0, CORE_NONE}, 26, 250},
    {small, ARRAY_LEN(small), {LEVEL_RACK, 0, CORE_NONE}, 8, 1700},
    {cpu_only, ARRAY_LEN(cpu_only), ANYWHERE, 10, 8000},
};

/* As the scheduler asks: gangs had better be in one place. */
static const struct core_soft nothing;

static struct core_ask ask_of(const struct shape *s)
{
    return (struct core_ask){.gang = s->gang, .leaves = s->leaves, .n_leaves = s->n_leaves};
}

struct placed {
    size_t gangs, pods, refused;
    double seconds;
};

/* The three shapes in turn, each in its proportion. */
static struct placed place_mix(struct core *c, size_t nodes)
{
    struct placed p = {0};
    size_t left[ARRAY_LEN(shapes)], total = 0;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        total += left[i] = shapes[i].per_10k * nodes / 10000;
    double start = cpu_seconds();
    for (size_t n = 0, at = 0; n < total; at++) {
        size_t i = at % 40 == 0 ? 0 : at % 6 == 1 ? 1 : 2;
        if (left[i] == 0)
            continue;
        left[i]--;
        n++;
        struct core_ask ask = ask_of(&shapes[i]);
        struct core_result r;
        if (core_place_soft(c, &ask, &nothing, &r)) {
            p.gangs++;
            p.pods += shapes[i].pods;
        } else {
            p.refused++;
        }
        core_result_done(&r);
    }
    p.seconds = cpu_seconds() - start;
    return p;
}

/* Every node is looked at for every pod and the tightest is taken: what a scheduler without tables
 * does, topology left out. */
static double brute_force_per_pod(size_t nodes, size_t pods)
{
    int64_t *free_of = xcalloc(nodes * N_RES, sizeof(*free_of));
    for (size_t i = 0; i < nodes; i++)
        memcpy(free_of + i * N_RES, node_total, sizeof(node_total));
    double start = cpu_seconds();
    for (size_t n = 0; n < pods; n++) {
        const int64_t *need = class_amounts[n % 10 == 0 ? CLASS_SMALL : CLASS_CPU];
        size_t best = SIZE_MAX;
        int64_t least = INT64_MAX;
        for (size_t i = 0; i < nodes; i++) {
            const int64_t *f = free_of + i * N_RES;
            bool fits = true;
            for (size_t r = 0; r < N_RES; r++)
                fits &= f[r] >= need[r];
            int64_t score = f[RES_GPU] * 1000000 + f[RES_CPU];
            if (fits && score < least) {
                least = score;
                best = i;
            }
        }
        for (size_t r = 0; best != SIZE_MAX && r < N_RES; r++)
            free_of[best * N_RES + r] -= need[r];
    }
    double seconds = cpu_seconds() - start;
    free(free_of);
    return seconds / (double)pods;
}

static double bench_size(size_t nodes, bool brute)
{
    struct core *c = make_cluster(nodes);
    /* Classes count the empty cluster when they are made; that is set-up. */
    struct placed p = place_mix(c, nodes);
    double per_pod = p.seconds / (double)p.pods * 1e9;
    printf("%8zu nodes %9zu pods in %7zu gangs, %zu refused: %8.3f s CPU, %6.0f ns/pod", nodes,
           p.pods, p.gangs, p.refused, p.seconds, per_pod);
    if (brute)
        printf("; every node for every pod: %8.0f ns/pod",
               brute_force_per_pod(nodes, nodes > 20000 ? 300 : 3000) * 1e9);
    printf("\n");
    (void)fflush(stdout);
    core_free(c);
    return per_pod;
}

/* ---- quality ---- */

enum { Q_RACKS = 64, Q_NODES = Q_RACKS * RACK_NODES };

struct tenant {
    struct core_op *ops;
    size_t n;
    int32_t gpus;
};

static const struct core_leaf q_large[] = {{ANYWHERE, CLASS_EXPERT, 16, CORE_NONE}};
static const struct core_leaf q_medium[] = {{ANYWHERE, CLASS_EXPERT, 4, CORE_NONE}};
static const struct core_leaf q_small[] = {{ANYWHERE, CLASS_SMALL, 6, CORE_NONE}};
static const struct core_leaf *const q_leaves[3] = {q_large, q_medium, q_small};
static const int32_t q_gpus[3] = {64, 16, 6};
/* Of 10,000 arrivals, so that 35, 30 and 35 % of the GPUs are asked for. */
static const unsigned q_odds[3] = {652, 2236, 7112};

/* First rack that holds it; within it first nodes. */
static bool first_fit(struct core *c, const struct core_leaf *f, struct core_result *r)
{
    int32_t lo, hi;
    *r = (struct core_result){0};
    core_domains_at(c, 0, LEVEL_RACK, &lo, &hi);
    for (int32_t d = lo; d < hi; d++) {
        if (core_sum(c, f->cls, 0, d) < f->need)
            continue;
        size_t n;
        const int32_t *nodes = core_nodes_in(c, 0, d, &n);
        int32_t need = f->need;
        for (size_t i = 0; i < n && need > 0; i++) {
            int32_t k = MIN(need, core_slots(c, f->cls, nodes[i]));
            if (k == 0)
                continue;
            core_take(c, f->cls, nodes[i], k);
            *vec_push(&r->ops) = (struct core_op){0, f->cls, nodes[i], k};
            need -= k;
        }
        return true;
    }
    return false;
}

static unsigned draw_shape(struct rng *rng)
{
    unsigned x = (unsigned)rng_below(rng, 10000);
    return x < q_odds[0] ? 0 : x < q_odds[0] + q_odds[1] ? 1 : 2;
}

/* Gangs come; random ones go so that the load stays; refused ones are dropped. */
static void churn(unsigned load, size_t arrivals, bool first, double ret_accepted[3])
{
    struct core *c = make_cluster(Q_NODES);
    struct rng rng;
    rng_seed(&rng, 42);
    VEC(struct tenant) tenants = {0};
    int64_t used = 0, asked[3] = {0}, got[3] = {0};
    int64_t limit = (int64_t)Q_NODES * 4 * load / 100;
    for (size_t n = 0; n < arrivals; n++) {
        unsigned shape = draw_shape(&rng);
        struct core_ask ask = {
            .gang = {LEVEL_RACK, 0, CORE_NONE}, .leaves = q_leaves[shape], .n_leaves = 1};
        struct core_result r;
        bool placed =
            first ? first_fit(c, q_leaves[shape], &r) : core_place_soft(c, &ask, &nothing, &r);
        bool counted = n >= arrivals / 8;
        asked[shape] += counted;
        got[shape] += counted && placed;
        if (placed) {
            *vec_push(&tenants) = (struct tenant){r.ops.p, r.ops.len, q_gpus[shape]};
            used += q_gpus[shape];
        } else {
            core_result_done(&r);
        }
        while (used > limit) {
            size_t i = rng_below(&rng, tenants.len);
            core_give_ops(c, tenants.p[i].ops, tenants.p[i].n);
            used -= tenants.p[i].gpus;
            free(tenants.p[i].ops);
            tenants.p[i] = tenants.p[tenants.len - 1];
            tenants.len--;
        }
    }
    for (size_t i = 0; i < 3; i++)
        ret_accepted[i] = asked[i] ? 100.0 * (double)got[i] / (double)asked[i] : 0;
    for (size_t i = 0; i < tenants.len; i++)
        free(tenants.p[i].ops);
    vec_done(&tenants);
    core_free(c);
}

static void bench_quality(unsigned load, size_t arrivals)
{
    for (int first = 0; first < 2; first++) {
        double accepted[3];
        double start = cpu_seconds();
        churn(load, arrivals, first, accepted);
        printf(
            "%u %% load, %-9s accepted of gangs of 64 GPUs in one rack %5.1f %%, of 16 %5.1f %%, "
            "of 6 %5.1f %%  (%.1f us per arrival)\n",
            load, first ? "first fit" : "ours", accepted[0], accepted[1], accepted[2],
            (cpu_seconds() - start) / (double)arrivals * 1e6);
        (void)fflush(stdout);
    }
}

/* Sets of three replicas of two GPUs instead of gangs of six, together or apart. */
enum { SET = 3 };
static const struct core_leaf q_replica[] = {{ANYWHERE, CLASS_SMALL, 2, CORE_NONE}};

struct set {
    struct core_result replicas[SET];
};

static void place_set(struct core *c, bool apart, struct set *ret)
{
    struct core_ask ask = {.gang = ANYWHERE, .leaves = q_replica, .n_leaves = 1};
    struct sparse hosts;
    sparse_init(&hosts, Q_NODES);
    for (size_t i = 0; i < SET; i++) {
        struct core_soft soft = {.apart = apart ? &hosts : NULL};
        (void)core_place_soft(c, &ask, &soft, &ret->replicas[i]);
        for (size_t k = 0; k < ret->replicas[i].ops.len; k++)
            sparse_add(&hosts, ret->replicas[i].ops.p[k].node, 1);
    }
    sparse_done(&hosts);
}

static bool is_apart(const struct set *s)
{
    bool apart = true;
    for (size_t i = 1; i < SET; i++) {
        for (size_t k = 0; k < i; k++)
            apart = apart && s->replicas[i].ops.len > 0 && s->replicas[k].ops.len > 0 &&
                    s->replicas[i].ops.p[0].node != s->replicas[k].ops.p[0].node;
    }
    return apart;
}

static void bench_apart(unsigned load, size_t arrivals, bool apart)
{
    struct core *c = make_cluster(Q_NODES);
    struct rng rng;
    rng_seed(&rng, 42);
    VEC(struct set) sets = {0};
    int64_t used = 0, sets_made = 0, sets_apart = 0, asked = 0, got = 0;
    int64_t limit = (int64_t)Q_NODES * 4 * load / 100;
    double start = cpu_seconds();
    for (size_t n = 0; n < arrivals; n++) {
        unsigned shape = draw_shape(&rng);
        struct set s = {0};
        struct core_ask ask = {
            .gang = {LEVEL_RACK, 0, CORE_NONE}, .leaves = q_leaves[shape], .n_leaves = 1};
        if (shape < 2)
            (void)core_place_soft(c, &ask, &nothing, &s.replicas[0]);
        else
            place_set(c, apart, &s);
        bool counted = n >= arrivals / 8;
        asked += counted && shape == 0;
        got += counted && shape == 0 && s.replicas[0].placed;
        sets_made += counted && shape == 2;
        sets_apart += counted && shape == 2 && is_apart(&s);
        if (s.replicas[0].placed)
            *vec_push(&sets) = s;
        for (size_t i = 0; i < SET; i++)
            used += s.replicas[i].placed ? (shape < 2 ? q_gpus[shape] : 2) : 0;
        while (used > limit) {
            size_t i = rng_below(&rng, sets.len);
            for (size_t k = 0; k < SET; k++) {
                struct core_result *r = &sets.p[i].replicas[k];
                for (size_t o = 0; o < r->ops.len; o++)
                    used -= r->ops.p[o].count * class_amounts[r->ops.p[o].cls][RES_GPU];
                core_undo(c, r);
                core_result_done(r);
            }
            sets.p[i] = sets.p[sets.len - 1];
            sets.len--;
        }
    }
    printf("%u %% load, replicas of small sets %-8s: accepted of gangs of 64 GPUs in one rack "
           "%5.1f %%; all replicas on hosts of their own %5.1f %%  (%.1f us per arrival)\n",
           load, apart ? "apart" : "anywhere", 100.0 * (double)got / (double)MAX(asked, 1),
           100.0 * (double)sets_apart / (double)MAX(sets_made, 1),
           (cpu_seconds() - start) / (double)arrivals * 1e6);
    (void)fflush(stdout);
    for (size_t i = 0; i < sets.len; i++) {
        for (size_t k = 0; k < SET; k++)
            core_result_done(&sets.p[i].replicas[k]);
    }
    vec_done(&sets);
    core_free(c);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    double smallest = bench_size(1000, true);
    (void)bench_size(10000, true);
    if (!quick) {
        double largest = bench_size(100000, true);
        printf("time per pod, 100,000 nodes to 1,000: %.2f\n", largest / smallest);
    }
    bench_quality(80, quick ? 50000 : 200000);
    bench_quality(90, quick ? 50000 : 400000);
    for (unsigned load = 80; load <= 90; load += 10) {
        bench_apart(load, quick ? 50000 : 200000, false);
        bench_apart(load, quick ? 50000 : 200000, true);
    }
    return 0;
}
