/*
 * The last word on a gang that the greedy search could not place although no bound forbids it:
 * every way to choose domains for its parts and to spread its pods over nodes, depth first, until
 * one works or the budget ends. Preferences play no role here.
 *
 * Example. Two nodes with 10 GPUs free each. Leaf u: 2 pods of 4 GPUs. Leaf v: 4 pods of 3 GPUs.
 * The greedy search puts both pods of u on one node, since one node holds them, and then only 3
 * pods of v fit; with v first, 3 of them go to one node and 1 to the other, and only one pod of u
 * fits. No bound forbids the gang: each leaf by itself fits, and 20 GPUs are free where 20 are
 * asked for. Here u is spread over (a, b) as (2, 0), most first: rest_may_fit refuses it at once,
 * for b takes 3 of v and a none. Then (1, 1): 6 GPUs are left on each, v goes there as (2, 2), and
 * all is placed.
 *
 * Steps are the parts in order, each followed by what it consists of: gang, bundle, leaves. A step
 * of a gang or bundle chooses a domain (step_run, enter), a step of a leaf chooses how many pods go
 * to each node of its domain (spread_leaf). Three rules make it short:
 *   - after each choice, what is still to be placed must fit by its bounds (rest_may_fit);
 *   - of two nodes that are alike, the later one never takes more of a leaf than the earlier one:
 *     exchanging them gives the same solution (are_alike);
 *   - most first, so that solutions on few nodes come early.
 *
 * Where pods look at those who came before them (affinity, spread), the order of arrival matters.
 * Then domains are chosen first, and the pods come one by one, in every order (place_left). For the
 * rest it only matters which pods are where, not how they came there: states that led to nothing
 * are remembered by a sum of hashes that does not depend on the order (was_dead). Two different
 * states with one hash, in 64 bits, could hide a solution; the answer would then be a refusal of a
 * gang that fits, which the next change of the cluster looks at again.
 *
 * Invariants. A refusal means that every way was tried, or gave_up is set and the answer says that
 * the budget ran out (CORE_BUDGET). The budget is counted in choices, so the answer is the same on
 * every machine. On failure the tables are as before.
 */
#include "sched/model/core_impl.h"

enum { DEAD_SLOTS = 1 << 15 }; /* more than there are steps */

struct exact {
    struct search *s;
    int32_t *steps; /* parts */
    size_t n_steps;
    int32_t *chosen; /* by part: its domain */
    uint32_t budget;
    /* Of pods that look at each other: */
    bool looking;
    int32_t *left;  /* by leaf: to be placed yet */
    uint64_t *dead; /* a set of states: who is where, in which domains; 0: free */
};

static bool step_run(struct exact *x, size_t step);

static bool spend(struct exact *x)
{
    if (x->budget == 0) {
        x->s->gave_up = true;
        return false;
    }
    x->budget--;
    return true;
}

/* What is yet to be placed still may, each class by itself. */
static bool rest_may_fit(struct exact *x, size_t step)
{
    for (size_t i = step; i < x->n_steps; i++) {
        const struct part *p = &x->s->parts[x->steps[i]];
        if (p->leaf < 0)
            continue;
        int32_t outer = part_outer(x->s, x->steps[i]);
        while (x->chosen[outer] < 0)
            outer = part_outer(x->s, outer);
        if (!part_may_fit(x->s, p, x->chosen[outer]))
            return false;
    }
    return true;
}

/* Both take the same of every class there is a wish for. */
static bool are_alike(struct exact *x, int32_t a, int32_t b)
{
    struct core *c = x->s->core;
    const struct topo *t = x->s->tree;
    size_t width = c->n_resources;
    if (t->parent[t->n_domains + a] != t->parent[t->n_domains + b] || t->depth[a] != t->depth[b] ||
        memcmp(&c->free.p[(size_t)a * width], &c->free.p[(size_t)b * width],
               width * sizeof(int64_t)) != 0)
        return false;
    const struct part *gang = &x->s->parts[0];
    for (size_t i = 0; i < gang->n_wants; i++) {
        const struct class *k = class_now(c, gang->wants[i].cls);
        if (k->slots[a] != k->slots[b] || k->wide)
            return false;
    }
    return true;
}

/* How many of this node of the domain, most first, then the next node. */
static bool spread_leaf(struct exact *x, size_t step, int32_t leaf, int32_t at, int32_t need,
                        int32_t before)
{
    struct search *s = x->s;
    const struct topo *t = s->tree;
    const struct core_leaf *f = &s->ask->leaves[leaf];
    int32_t domain = x->chosen[x->steps[step]];
    bool host = domain >= t->n_domains;
    if (need == 0)
        return rest_may_fit(x, step + 1) && step_run(x, step + 1);
    if (at >= (host ? 1 : t->hi[domain]) || !spend(x))
        return false;
    int32_t node = host ? domain - t->n_domains : t->order[at];
    struct class *k = class_now(s->core, f->cls);
    int32_t most = MIN(need, k->slots[node]);
    if (!host && at > t->lo[domain] && before < most && are_alike(x, t->order[at - 1], node))
        most = before;
    for (int32_t count = most; count >= 0; count--) {
        size_t mark = s->result->ops.len;
        bool good = true;
        for (int32_t i = 0; i < count && good; i++) {
            good = !k->wide || class_admits_one(s->core, k, node);
            if (good && k->wide)
                search_take(s, leaf, f->cls, node, 1);
        }
        if (good && !k->wide && count > 0)
            search_take(s, leaf, f->cls, node, count);
        if (good && spread_leaf(x, step, leaf, at + 1, need - count, count))
            return true;
        search_undo(s, mark);
        if (s->gave_up)
            return false;
    }
    return false;
}

/* ---- one by one ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

/* Puts the state into the set; true when it was there. */
static bool was_dead(struct exact *x, uint64_t state)
{
    size_t at = (size_t)(state % DEAD_SLOTS);
    while (x->dead[at] && x->dead[at] != state)
        at = (at + 1) % DEAD_SLOTS;
    bool was = x->dead[at] == state;
    x->dead[at] = state;
    return was;
}

static int32_t leaf_domain(const struct exact *x, size_t leaf)
{
    return x->chosen[1 + x->s->ask->n_bundles + leaf];
}

static bool left_may_fit(struct exact *x)
{
    const struct core_ask *ask = x->s->ask;
    for (size_t i = 0; i < ask->n_leaves; i++) {
        if (x->left[i] > 0 &&
            core_sum(x->s->core, ask->leaves[i].cls, ask->tree, leaf_domain(x, i)) < x->left[i])
            return false;
    }
    return true;
}

static bool place_left(struct exact *x, uint64_t state);

static bool place_one(struct exact *x, int32_t leaf, int32_t node, uint64_t state)
{
    struct search *s = x->s;
    int32_t cls = s->ask->leaves[leaf].cls;
    const struct class *k = class_now(s->core, cls);
    if (k->slots[node] <= 0 || (k->wide && !class_admits_one(s->core, k, node)))
        return false;
    size_t mark = s->result->ops.len;
    search_take(s, leaf, cls, node, 1);
    x->left[leaf]--;
    if (place_left(x, state + mix((uint64_t)((uint32_t)leaf + 1) << 32 | (uint32_t)node)))
        return true;
    x->left[leaf]++;
    search_undo(s, mark);
    return false;
}

static bool place_left(struct exact *x, uint64_t state)
{
    const struct topo *t = x->s->tree;
    bool any = false;
    if (!left_may_fit(x) || !spend(x) || was_dead(x, state | 1))
        return false;
    for (size_t i = 0; i < x->s->ask->n_leaves; i++) {
        int32_t d = leaf_domain(x, i);
        if (x->left[i] <= 0)
            continue;
        any = true;
        if (d >= t->n_domains && place_one(x, (int32_t)i, d - t->n_domains, state))
            return true;
        for (int32_t p = d < t->n_domains ? t->lo[d] : 0;
             d < t->n_domains && p < t->hi[d] && !x->s->gave_up; p++) {
            if (place_one(x, (int32_t)i, t->order[p], state))
                return true;
        }
    }
    return !any;
}

static bool place_one_by_one(struct exact *x)
{
    uint64_t state = 0;
    for (size_t i = 0; i < x->s->n_parts; i++)
        state = mix(state + (uint64_t)(uint32_t)x->chosen[i]);
    for (size_t i = 0; i < x->s->ask->n_leaves; i++)
        x->left[i] = MAX(0, x->s->ask->leaves[i].need);
    return place_left(x, state);
}

/* ---- domains ---- */

static bool enter(struct exact *x, size_t step, int32_t domain)
{
    struct search *s = x->s;
    int32_t part = x->steps[step];
    const struct part *p = &s->parts[part];
    if (!part_may_fit(s, p, domain) || !domain_is_open(s, domain) || !spend(x))
        return false;
    x->chosen[part] = domain;
    bool placed;
    if (p->leaf < 0 || x->looking)
        placed = step_run(x, step + 1);
    else
        placed =
            spread_leaf(x, step, p->leaf, domain >= s->tree->n_domains ? 0 : s->tree->lo[domain],
                        s->ask->leaves[p->leaf].need, INT32_MAX);
    if (!placed)
        x->chosen[part] = CORE_NONE;
    return placed;
}

static bool step_run(struct exact *x, size_t step)
{
    if (step == x->n_steps)
        return !x->looking || place_one_by_one(x);
    struct search *s = x->s;
    const struct topo *t = s->tree;
    int32_t part = x->steps[step];
    const struct part *p = &s->parts[part];
    int32_t outer = part > 0 ? x->chosen[part_outer(s, part)] : s->ask->within;
    if (p->scope->pin >= 0 && topo_level(t, p->scope->pin) > topo_level(t, outer)) {
        if (!topo_contains(t, outer, p->scope->pin))
            return false;
        outer = p->scope->pin;
    }
    if (p->scope->req <= topo_level(t, outer))
        return enter(x, step, outer);
    bool hosts = p->scope->req == t->host_level;
    int32_t lo = t->lo[outer], hi = t->hi[outer];
    if (!hosts)
        topo_inside(t, outer, p->scope->req, &lo, &hi);
    for (int32_t i = lo; i < hi && !s->gave_up; i++) {
        if (hosts && t->depth[t->order[i]] < t->n_levels)
            continue;
        if (enter(x, step, hosts ? t->n_domains + t->order[i] : i))
            return true;
    }
    return false;
}

/* A part before what it consists of. */
static void add_steps(struct exact *x, int32_t part)
{
    const struct part *p = &x->s->parts[part];
    x->steps[x->n_steps++] = part;
    for (size_t i = 0; i < p->n_kids; i++)
        add_steps(x, p->kids[i]);
}

bool exact_place(struct search *s)
{
    struct exact x = {.s = s, .budget = EXACT_STEPS};
    x.steps = xcalloc(s->n_parts + 1, sizeof(int32_t));
    x.chosen = xcalloc(s->n_parts + 1, sizeof(int32_t));
    for (size_t i = 0; i < s->n_parts; i++)
        x.chosen[i] = CORE_NONE;
    add_steps(&x, 0);
    for (size_t i = 0; i < s->ask->n_leaves; i++)
        x.looking = x.looking || core_class(s->core, s->ask->leaves[i].cls)->looks;
    if (x.looking) {
        x.left = xcalloc(s->ask->n_leaves + 1, sizeof(int32_t));
        x.dead = xcalloc(DEAD_SLOTS, sizeof(uint64_t));
    }
    bool placed = step_run(&x, 0);
    s->result->tries += (EXACT_STEPS - x.budget) / EXACT_STEPS_PER_TRY;
    if (!placed)
        search_undo(s, 0);
    free(x.left);
    free(x.dead);
    free(x.steps);
    free(x.chosen);
    return placed;
}
