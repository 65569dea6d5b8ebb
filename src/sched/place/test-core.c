/*
 * The core against an oracle that tries every assignment of pods to nodes, on little clusters:
 * never an invalid placement, never a refusal when the oracle finds one, tables that equal a
 * recount, room made with no more victims than the oracle needs, plus one.
 */
#include "base/test.h"
#include "sched/model/core.h"

enum { N_RES = 2, MAX_NODES = 6, MAX_LEAVES = 4, MAX_CLASSES = 3, MAX_VICTIMS = 5, LEVELS = 2 };

struct little {
    struct core *core;
    size_t nodes;
    int64_t total[MAX_NODES][N_RES];
    int64_t used[MAX_NODES][N_RES];
    int32_t path[MAX_NODES][LEVELS];
    size_t n_classes;
    int64_t amount[MAX_CLASSES][N_RES];
    uint8_t admitted[MAX_CLASSES][MAX_NODES];
    bool alone[MAX_CLASSES]; /* no two pods of the class on one node */
    int32_t on[MAX_CLASSES][MAX_NODES];
};

struct little_gang {
    struct core_leaf leaves[MAX_LEAVES];
    struct core_scope bundles[2];
    int32_t inside[2];
    struct core_ask ask;
};

static void random_cluster(struct rng *r, struct little *c)
{
    *c = (struct little){.core = core_new(N_RES), .nodes = 2 + rng_below(r, MAX_NODES - 1)};
    int32_t paths[MAX_NODES * LEVELS];
    for (size_t i = 0; i < c->nodes; i++) {
        for (size_t k = 0; k < N_RES; k++)
            c->total[i][k] = (int64_t)rng_below(r, 7);
        (void)core_add_node(c->core, c->total[i]);
        c->path[i][0] = rng_chance(r, 5) ? CORE_NONE : (int32_t)rng_below(r, 2);
        /* The same name in two blocks is two racks. */
        c->path[i][1] = rng_chance(r, 5) ? CORE_NONE : (int32_t)rng_below(r, 2);
        memcpy(&paths[i * LEVELS], c->path[i], sizeof(c->path[i]));
    }
    (void)core_add_tree(c->core, LEVELS, paths);
    c->n_classes = 1 + rng_below(r, MAX_CLASSES);
    for (size_t k = 0; k < c->n_classes; k++) {
        struct core_amount amounts[N_RES];
        size_t n = 0;
        for (int32_t x = 0; x < N_RES; x++) {
            c->amount[k][x] = (int64_t)rng_below(r, 4);
            if (c->amount[k][x] > 0)
                amounts[n++] = (struct core_amount){x, c->amount[k][x]};
        }
        for (size_t i = 0; i < c->nodes; i++)
            c->admitted[k][i] = !rng_chance(r, 15);
        c->alone[k] = rng_chance(r, 25);
        int32_t term = core_add_term(c->core, 0, LEVELS + 1);
        struct core_class_def def = {.amounts = amounts,
                                     .n_amounts = n,
                                     .admitted = c->admitted[k],
                                     .per_node = c->alone[k] ? 1 : CORE_UNLIMITED,
                                     .counts = &term,
                                     .n_counts = c->alone[k],
                                     .avoids = &term,
                                     .n_avoids = c->alone[k]};
        (void)core_add_class(c->core, &def);
    }
}

static int random_level(struct rng *r, int least)
{
    int level = rng_chance(r, 50) ? 0 : 1 + (int)rng_below(r, LEVELS + 1);
    return level && level < least ? least : level;
}

static void random_gang(struct rng *r, const struct little *c, struct little_gang *g)
{
    size_t n = 1 + rng_below(r, MAX_LEAVES);
    *g = (struct little_gang){0};
    g->ask = (struct core_ask){.leaves = g->leaves, .n_leaves = n, .bundles = g->bundles};
    g->ask.gang = (struct core_scope){random_level(r, 0), random_level(r, 0), CORE_NONE};
    g->ask.n_bundles = rng_below(r, 3);
    bool nested = g->ask.n_bundles == 2 && rng_chance(r, 50);
    g->bundles[0] = (struct core_scope){random_level(r, g->ask.gang.req), 0, CORE_NONE};
    g->bundles[1] = (struct core_scope){
        random_level(r, nested ? g->bundles[0].req : g->ask.gang.req), 0, CORE_NONE};
    g->inside[0] = CORE_NONE;
    g->inside[1] = nested ? 0 : CORE_NONE;
    g->ask.inside = nested || rng_chance(r, 50) ? g->inside : NULL;
    for (size_t i = 0; i < n; i++) {
        int32_t bundle = (int32_t)rng_below(r, g->ask.n_bundles + 1) - 1;
        g->leaves[i] = (struct core_leaf){.cls = (int32_t)rng_below(r, c->n_classes),
                                          .need = 1 + (int32_t)rng_below(r, 2),
                                          .bundle = bundle};
        int least = bundle >= 0 ? g->bundles[bundle].req : g->ask.gang.req;
        g->leaves[i].scope =
            (struct core_scope){random_level(r, least), random_level(r, 0), CORE_NONE};
    }
}

/* ---- the oracle ---- */

struct oracle {
    const struct little *c;
    const struct core_ask *ask;
    int64_t free[MAX_NODES][N_RES];
    int32_t on[MAX_CLASSES][MAX_NODES];
    int32_t where[MAX_LEAVES][4]; /* node of each pod */
};

/* All labels down to the level are there and the same. */
static bool together(const struct little *c, int level, int32_t a, int32_t b)
{
    for (int l = 0; l < MIN(level, LEVELS); l++) {
        if (c->path[a][l] < 0 || c->path[a][l] != c->path[b][l])
            return false;
    }
    return level <= LEVELS || a == b;
}

static bool scope_holds(const struct oracle *o, int level, int32_t bundle, int32_t leaf)
{
    int32_t first = CORE_NONE;
    for (size_t i = 0; level > 0 && i < o->ask->n_leaves; i++) {
        int32_t own = o->ask->leaves[i].bundle;
        int32_t around = own >= 0 && o->ask->inside ? o->ask->inside[own] : CORE_NONE;
        if ((bundle >= 0 && own != bundle && around != bundle) || (leaf >= 0 && (int32_t)i != leaf))
            continue;
        for (int32_t k = 0; k < o->ask->leaves[i].need; k++) {
            first = first < 0 ? o->where[i][k] : first;
            if (!together(o->c, level, first, o->where[i][k]))
                return false;
        }
    }
    return true;
}

static bool constraints_hold(const struct oracle *o)
{
    if (!scope_holds(o, o->ask->gang.req, CORE_NONE, CORE_NONE))
        return false;
    for (size_t b = 0; b < o->ask->n_bundles; b++) {
        if (!scope_holds(o, o->ask->bundles[b].req, (int32_t)b, CORE_NONE))
            return false;
    }
    for (size_t i = 0; i < o->ask->n_leaves; i++) {
        if (!scope_holds(o, o->ask->leaves[i].scope.req, CORE_NONE, (int32_t)i))
            return false;
    }
    return true;
}

static bool oracle_put(struct oracle *o, int32_t cls, size_t node, int sign)
{
    bool good =
        o->c->admitted[cls][node] && (sign < 0 || !o->c->alone[cls] || o->on[cls][node] == 0);
    for (size_t x = 0; x < N_RES; x++) {
        good = good &&
               (sign < 0 || o->c->amount[cls][x] == 0 || o->free[node][x] >= o->c->amount[cls][x]);
    }
    if (!good)
        return false;
    for (size_t x = 0; x < N_RES; x++)
        o->free[node][x] -= sign * o->c->amount[cls][x];
    o->on[cls][node] += sign;
    return true;
}

static bool oracle_try(struct oracle *o, size_t leaf, int32_t pod)
{
    while (leaf < o->ask->n_leaves && pod >= o->ask->leaves[leaf].need) {
        leaf++;
        pod = 0;
    }
    if (leaf == o->ask->n_leaves)
        return constraints_hold(o);
    int32_t cls = o->ask->leaves[leaf].cls;
    size_t from = pod > 0 ? (size_t)o->where[leaf][pod - 1] : 0;
    for (size_t n = from; n < o->c->nodes; n++) {
        if (!oracle_put(o, cls, n, 1))
            continue;
        o->where[leaf][pod] = (int32_t)n;
        bool found = oracle_try(o, leaf, pod + 1);
        (void)oracle_put(o, cls, n, -1);
        if (found)
            return true;
    }
    return false;
}

static struct oracle oracle_of(const struct little *c, const struct core_ask *ask)
{
    struct oracle o = {.c = c, .ask = ask};
    for (size_t i = 0; i < c->nodes; i++) {
        for (size_t x = 0; x < N_RES; x++)
            o.free[i][x] = c->total[i][x] - c->used[i][x];
    }
    memcpy(o.on, c->on, sizeof(o.on));
    return o;
}

static bool oracle_places(const struct little *c, const struct core_ask *ask)
{
    struct oracle o = oracle_of(c, ask);
    return oracle_try(&o, 0, 0);
}

/* ---- checks ---- */

static void check_valid(const struct little *c, const struct core_ask *ask,
                        const struct core_result *r)
{
    struct oracle o = oracle_of(c, ask);
    int32_t at[MAX_LEAVES] = {0};
    for (size_t i = 0; i < r->ops.len; i++) {
        const struct core_op *op = &r->ops.p[i];
        for (int32_t k = 0; k < op->count; k++) {
            REQUIRE(at[op->leaf] < ask->leaves[op->leaf].need);
            CHECK(oracle_put(&o, op->cls, (size_t)op->node, 1));
            o.where[op->leaf][at[op->leaf]++] = op->node;
        }
    }
    for (size_t i = 0; i < ask->n_leaves; i++)
        CHECK_INT(at[i], ask->leaves[i].need);
    CHECK(constraints_hold(&o));
}

static void book(struct little *c, const struct core_result *r, int sign)
{
    for (size_t i = 0; i < r->ops.len; i++) {
        const struct core_op *op = &r->ops.p[i];
        for (size_t x = 0; x < N_RES; x++)
            c->used[op->node][x] += sign * op->count * c->amount[op->cls][x];
        c->on[op->cls][op->node] += sign * op->count;
    }
}

TEST(a_gang_is_placed_when_and_only_when_the_oracle_can)
{
    struct rng *rng = test_rng();
    for (size_t n = test_cases(300); n > 0; n--) {
        struct little c;
        random_cluster(rng, &c);
        for (int turn = 0; turn < 4; turn++) {
            struct little_gang g;
            random_gang(rng, &c, &g);
            bool can = oracle_places(&c, &g.ask);
            struct core_result r;
            bool placed = core_place(c.core, &g.ask, &r);
            if (placed)
                check_valid(&c, &g.ask, &r);
            if (r.cert.why != CORE_BUDGET)
                CHECK(placed == can);
            CHECK(core_is_consistent(c.core));
            if (placed && rng_chance(rng, 70))
                book(&c, &r, 1);
            else if (placed)
                core_undo(c.core, &r);
            CHECK(core_is_consistent(c.core));
            core_result_done(&r);
        }
        core_free(c.core);
    }
}

/* ---- what is preferred ---- */

struct little_soft {
    struct core_leaf more[MAX_LEAVES];
    int32_t near[3];
    struct sparse apart;
    struct core_soft soft;
};

static void random_soft(struct rng *r, const struct little *c, const struct little_gang *g,
                        struct little_soft *s)
{
    *s = (struct little_soft){0};
    sparse_init(&s->apart, (int32_t)c->nodes);
    s->soft = (struct core_soft){.more = s->more,
                                 .n_more = rng_chance(r, 50) ? g->ask.n_leaves : 0,
                                 .near = s->near,
                                 .n_near = rng_below(r, 4),
                                 .own = rng_chance(r, 30),
                                 .apart = rng_chance(r, 70) ? &s->apart : NULL};
    for (size_t i = 0; i < s->soft.n_more; i++) {
        s->more[i] = g->leaves[i];
        s->more[i].need = (int32_t)rng_below(r, 3);
    }
    if (s->soft.n_more > 0 && s->soft.n_more < MAX_LEAVES)
        s->more[s->soft.n_more++] = (struct core_leaf){
            .scope = {0, 0, CORE_NONE}, .cls = 0, .need = 1, .bundle = CORE_NONE};
    for (size_t i = 0; i < ARRAY_LEN(s->near); i++)
        s->near[i] = (int32_t)rng_below(r, c->nodes);
    for (size_t i = 0; i < c->nodes; i++)
        sparse_add(&s->apart, (int32_t)i, rng_chance(r, 30));
}

/* Those that come later find room, each by itself where it likes. */
static void check_room_left(const struct little *c, const struct little_soft *s)
{
    struct core_leaf later[MAX_LEAVES];
    for (size_t i = 0; i < s->soft.n_more; i++)
        later[i] =
            (struct core_leaf){{0, 0, CORE_NONE}, s->more[i].cls, s->more[i].need, CORE_NONE};
    struct core_ask ask = {.gang = {0, 0, CORE_NONE}, .leaves = later, .n_leaves = s->soft.n_more};
    CHECK(oracle_places(c, &ask));
}

TEST(what_a_gang_prefers_never_keeps_it_waiting)
{
    struct rng *rng = test_rng();
    for (size_t n = test_cases(300); n > 0; n--) {
        struct little c;
        random_cluster(rng, &c);
        for (int turn = 0; turn < 4; turn++) {
            struct little_gang g;
            struct little_soft s;
            struct core_result r;
            random_gang(rng, &c, &g);
            random_soft(rng, &c, &g, &s);
            bool can = oracle_places(&c, &g.ask);
            bool whole = core_place_whole(c.core, &g.ask, &s.soft, &r);
            CHECK(core_is_consistent(c.core));
            if (!whole) {
                CHECK_INT(r.ops.len, 0);
                core_result_done(&r);
            }
            bool placed = whole || core_place_soft(c.core, &g.ask, &s.soft, &r);
            if (placed) {
                check_valid(&c, &g.ask, &r);
                book(&c, &r, 1);
            }
            if (whole)
                check_room_left(&c, &s);
            if (r.cert.why != CORE_BUDGET)
                CHECK(placed == can);
            CHECK(core_is_consistent(c.core));
            core_result_done(&r);
            sparse_done(&s.apart);
        }
        core_free(c.core);
    }
}

TEST(undoing_leaves_everything_as_it_was)
{
    struct rng *rng = test_rng();
    for (size_t n = test_cases(100); n > 0; n--) {
        struct little c;
        struct little_gang g;
        struct core_result r;
        random_cluster(rng, &c);
        random_gang(rng, &c, &g);
        (void)core_place(c.core, &g.ask, &r);
        core_undo(c.core, &r);
        for (size_t i = 0; i < c.nodes; i++) {
            for (int32_t x = 0; x < N_RES; x++)
                CHECK_INT(core_free_of(c.core, (int32_t)i, x), c.total[i][x]);
        }
        CHECK(core_is_consistent(c.core));
        core_result_done(&r);
        core_free(c.core);
    }
}

/* ---- room ---- */

struct tenants {
    struct core_result holds[MAX_VICTIMS];
    struct core_victim victims[MAX_VICTIMS];
    size_t n;
};

static void fill_cluster(struct rng *rng, struct little *c, struct tenants *t)
{
    *t = (struct tenants){0};
    for (int tries = 0; tries < 12 && t->n < MAX_VICTIMS; tries++) {
        struct little_gang g;
        random_gang(rng, c, &g);
        if (!core_place(c->core, &g.ask, &t->holds[t->n])) {
            core_result_done(&t->holds[t->n]);
            continue;
        }
        book(c, &t->holds[t->n], 1);
        t->victims[t->n] = (struct core_victim){0, (int32_t)t->holds[t->n].ops.len,
                                                t->holds[t->n].ops.p, t->holds[t->n].ops.len};
        t->n++;
    }
}

/* Fewest victims with which the oracle places the gang; more than there are: it cannot. */
static int oracle_room(const struct little *c, const struct core_ask *ask, const struct tenants *t)
{
    int least = MAX_VICTIMS + 1;
    for (unsigned set = 1; set < 1u << t->n; set++) {
        struct little without = *c;
        for (size_t v = 0; v < t->n; v++) {
            if (set >> v & 1)
                book(&without, &t->holds[v], -1);
        }
        if (__builtin_popcount(set) < least && oracle_places(&without, ask))
            least = __builtin_popcount(set);
    }
    return least;
}

TEST(room_is_made_with_few_victims)
{
    struct rng *rng = test_rng();
    unsigned found = 0;
    for (size_t n = test_cases(300); n > 0; n--) {
        struct little c;
        struct tenants t;
        struct little_gang g;
        struct core_result r;
        bool chosen[MAX_VICTIMS] = {0};
        random_cluster(rng, &c);
        fill_cluster(rng, &c, &t);
        random_gang(rng, &c, &g);
        if (!core_place(c.core, &g.ask, &r)) {
            core_result_done(&r);
            int least = oracle_room(&c, &g.ask, &t), asked = 0;
            bool room = core_make_room(c.core, &g.ask, t.victims, t.n, chosen, NULL, &r);
            for (size_t i = 0; i < t.n; i++)
                asked += chosen[i];
            CHECK(room == (least <= MAX_VICTIMS));
            CHECK(!room || asked <= least + 1);
            CHECK(!room || least > 2 || asked == least);
            found += room;
            CHECK(core_is_consistent(c.core));
            for (size_t i = 0; i < c.nodes; i++) {
                for (int32_t x = 0; x < N_RES; x++)
                    CHECK_INT(core_free_of(c.core, (int32_t)i, x), c.total[i][x] - c.used[i][x]);
            }
        }
        core_result_done(&r);
        for (size_t i = 0; i < t.n; i++)
            core_result_done(&t.holds[i]);
        core_free(c.core);
    }
    CHECK(found > 0);
}

/* ---- pods that can be spared ---- */

enum { MAX_TRIMS = MAX_VICTIMS * MAX_LEAVES * 2 };

struct spares {
    struct core_trim list[MAX_TRIMS];
    int32_t spare[MAX_VICTIMS * MAX_LEAVES];
    bool chosen[MAX_TRIMS];
    struct core_trims trims;
};

/* Of every leaf of every tenant some number of pods, any of them. */
static void random_spares(struct rng *rng, const struct tenants *t, struct spares *s)
{
    *s = (struct spares){0};
    size_t n = 0;
    for (size_t v = 0; v < t->n; v++) {
        for (size_t i = 0; i < t->holds[v].ops.len; i++) {
            struct core_op op = t->holds[v].ops.p[i];
            int32_t group = (int32_t)(v * MAX_LEAVES) + op.leaf;
            for (int32_t left = op.count; left > 0; left--) {
                op.count = 1;
                s->spare[group] += rng_chance(rng, 40);
                s->list[n++] = (struct core_trim){(int32_t)v, group, op};
            }
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->spare[s->list[i].group] > 0)
            s->list[kept++] = s->list[i];
    }
    s->trims = (struct core_trims){s->list, kept, s->spare, MAX_VICTIMS * MAX_LEAVES, s->chosen};
}

static void book_trim(struct little *c, const struct core_trim *t)
{
    struct core_result one = {0};
    *vec_push(&one.ops) = t->op;
    book(c, &one, -1);
    core_result_done(&one);
}

/* Fewest of them with which the oracle places the gang, as far as two are enough; else 3. */
static int oracle_trims(const struct little *c, const struct core_ask *ask, const struct spares *s)
{
    for (size_t i = 0; i < s->trims.n; i++) {
        struct little one = *c;
        book_trim(&one, &s->list[i]);
        if (oracle_places(&one, ask))
            return 1;
    }
    for (size_t i = 0; i < s->trims.n; i++) {
        for (size_t k = i + 1; k < s->trims.n; k++) {
            struct little two = *c;
            book_trim(&two, &s->list[i]);
            book_trim(&two, &s->list[k]);
            bool may = s->list[i].group != s->list[k].group || s->spare[s->list[i].group] > 1;
            if (may && oracle_places(&two, ask))
                return 2;
        }
    }
    return 3;
}

/* With those gone who are to go, the gang fits, and no group lost more than it can spare. */
static void check_trims(const struct little *c, const struct core_ask *ask, const struct tenants *t,
                        const bool *chosen, const struct spares *s)
{
    struct little without = *c;
    int32_t taken[MAX_VICTIMS * MAX_LEAVES] = {0};
    for (size_t v = 0; v < t->n; v++) {
        if (chosen[v])
            book(&without, &t->holds[v], -1);
    }
    for (size_t i = 0; i < s->trims.n; i++) {
        if (!s->chosen[i])
            continue;
        CHECK(!chosen[s->list[i].victim]);
        book_trim(&without, &s->list[i]);
        taken[s->list[i].group]++;
    }
    for (size_t g = 0; g < MAX_VICTIMS * MAX_LEAVES; g++)
        CHECK(taken[g] <= s->spare[g]);
    CHECK(oracle_places(&without, ask));
}

TEST(pods_that_can_be_spared_go_before_gangs)
{
    struct rng *rng = test_rng();
    unsigned by_pods = 0, by_both = 0;
    for (size_t n = test_cases(400); n > 0; n--) {
        struct little c;
        struct tenants t;
        struct little_gang g;
        struct core_result r;
        struct spares s;
        bool chosen[MAX_VICTIMS] = {0};
        random_cluster(rng, &c);
        fill_cluster(rng, &c, &t);
        random_gang(rng, &c, &g);
        random_spares(rng, &t, &s);
        if (!core_place(c.core, &g.ask, &r)) {
            core_result_done(&r);
            int least = oracle_room(&c, &g.ask, &t), gangs = 0, pods = 0;
            int fewest = oracle_trims(&c, &g.ask, &s);
            bool room = core_make_room(c.core, &g.ask, t.victims, t.n, chosen, &s.trims, &r);
            for (size_t i = 0; i < t.n; i++)
                gangs += chosen[i];
            for (size_t i = 0; i < s.trims.n; i++)
                pods += s.chosen[i];
            CHECK(room == (least <= MAX_VICTIMS));
            CHECK(!room || gangs <= least + 1);
            CHECK(fewest > 2 || (room && gangs == 0 && pods == fewest));
            if (room)
                check_trims(&c, &g.ask, &t, chosen, &s);
            by_pods += room && gangs == 0;
            by_both += gangs > 0 && pods > 0;
            CHECK(core_is_consistent(c.core));
            for (size_t i = 0; i < c.nodes; i++) {
                for (int32_t x = 0; x < N_RES; x++)
                    CHECK_INT(core_free_of(c.core, (int32_t)i, x), c.total[i][x] - c.used[i][x]);
            }
        }
        core_result_done(&r);
        for (size_t i = 0; i < t.n; i++)
            core_result_done(&t.holds[i]);
        core_free(c.core);
    }
    CHECK(by_pods > 0 && by_both > 0);
}

/* ---- certificates ---- */

/* Tenants leave one after another. As long as the certificate holds, the gang cannot be placed: it
 * is never overlooked. How often it is looked at in vain is counted too. */
TEST(a_certificate_holds_only_as_long_as_the_gang_does_not_fit)
{
    struct rng *rng = test_rng();
    unsigned left = 0, looks = 0, useful = 0;
    for (size_t n = test_cases(400); n > 0; n--) {
        struct little c;
        struct tenants t;
        struct little_gang g;
        struct core_result r;
        random_cluster(rng, &c);
        fill_cluster(rng, &c, &t);
        random_gang(rng, &c, &g);
        bool placed = core_place(c.core, &g.ask, &r);
        struct core_cert cert = r.cert;
        core_result_done(&r);
        for (size_t v = 0; v < t.n && !placed; v++) {
            core_give_ops(c.core, t.holds[v].ops.p, t.holds[v].ops.len);
            for (size_t i = 0; i < t.holds[v].ops.len; i++)
                core_grow(c.core, t.holds[v].ops.p[i].node);
            left++;
            bool holds = core_cert_holds(c.core, &cert, 0);
            looks += !holds;
            placed = core_place(c.core, &g.ask, &r);
            CHECK(!holds || !placed);
            useful += placed;
            if (!holds)
                cert = r.cert;
            core_result_done(&r);
        }
        for (size_t i = 0; i < t.n; i++)
            core_result_done(&t.holds[i]);
        core_free(c.core);
    }
    CHECK(useful > 0);
    /* Most departures change nothing: those are not looked at. */
    CHECK(left > 0 && looks < left / 2);
    CHECK(looks <= useful * 2);
}

/* ---- examples ---- */

static struct core *racks(size_t racks, size_t per_rack, int64_t slots)
{
    struct core *c = core_new(1);
    int32_t *paths = xcalloc(racks * per_rack, sizeof(*paths));
    uint8_t *admitted = xmalloc(racks * per_rack);
    for (size_t i = 0; i < racks * per_rack; i++) {
        (void)core_add_node(c, &slots);
        paths[i] = (int32_t)(i / per_rack);
        admitted[i] = 1;
    }
    (void)core_add_tree(c, 1, paths);
    struct core_amount one = {0, 1};
    struct core_class_def def = {
        .amounts = &one, .n_amounts = 1, .admitted = admitted, .per_node = CORE_UNLIMITED};
    (void)core_add_class(c, &def);
    free(paths);
    free(admitted);
    return c;
}

static bool place_in(struct core *c, int req, int pref, int32_t need, struct core_result *r)
{
    struct core_leaf leaf = {{0, 0, CORE_NONE}, 0, need, CORE_NONE};
    struct core_ask ask = {.gang = {req, pref, CORE_NONE}, .leaves = &leaf, .n_leaves = 1};
    return core_place(c, &ask, r);
}

static void place_and_forget(struct core *c, int req, int32_t need)
{
    struct core_result r;
    CHECK(place_in(c, req, 0, need, &r));
    core_result_done(&r);
}

TEST(the_rack_that_fits_best_is_taken)
{
    struct core *c = racks(3, 2, 4);
    place_and_forget(c, 1, 5);
    struct core_result r;
    CHECK(place_in(c, 1, 0, 3, &r));
    int32_t rack = core_domain_of(c, 0, r.ops.p[0].node, 1);
    CHECK_INT(core_sum(c, 0, 0, rack), 0);
    core_result_done(&r);
    core_free(c);
}

TEST(a_preferred_level_gives_way_a_required_one_does_not)
{
    struct core *c = racks(2, 2, 4);
    struct core_result r;
    CHECK(place_in(c, 0, 1, 12, &r));
    core_undo(c, &r);
    core_result_done(&r);
    CHECK(!place_in(c, 1, 0, 12, &r));
    CHECK_INT(r.cert.why, CORE_TOO_FEW);
    CHECK_INT(r.cert.level, 1);
    CHECK_INT(r.cert.need, 12);
    CHECK_INT(r.cert.best, 8);
    core_result_done(&r);
    core_free(c);
}

TEST(what_does_not_fit_one_domain_touches_few)
{
    struct core *c = racks(4, 1, 4);
    struct core_result r;
    CHECK(place_in(c, 0, 1, 7, &r));
    CHECK_INT(r.ops.len, 2);
    core_result_done(&r);
    core_free(c);
}

TEST(members_on_nodes_pin_their_domain)
{
    struct core *c = racks(2, 2, 4);
    struct core_leaf leaf = {{0, 0, CORE_NONE}, 0, 4, CORE_NONE};
    int32_t lo, hi;
    core_domains_at(c, 0, 1, &lo, &hi);
    struct core_ask ask = {.gang = {1, 0, hi - 1}, .leaves = &leaf, .n_leaves = 1};
    struct core_result r;
    CHECK(core_place(c, &ask, &r));
    CHECK_INT(core_domain_of(c, 0, r.ops.p[0].node, 1), hi - 1);
    core_result_done(&r);
    place_and_forget(c, 1, 8); /* the other rack */
    leaf.need = 5;
    CHECK(!core_place(c, &ask, &r));
    core_result_done(&r);
    core_free(c);
}
