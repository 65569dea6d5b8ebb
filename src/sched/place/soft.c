/*
 * What a gang prefers (core.h, core_soft). From the most to the least important:
 *
 *   together   the narrowest domain that holds the whole gang, with the pods that come later. What
 *              its parts prefer by themselves is kept: a broader domain where each part has what it
 *              prefers comes before a narrower one where it has not.
 *   room       domains where gangs that follow it find room too, the narrower the better
 *   near       the domain that its replica is in, the narrower the better
 *   apart      not on a host with another replica of its set; then not in its rack, its block, its
 *              zone either
 *   best fit   as always
 *
 * The first that holds it is taken, so the order of the loops is the order of importance. Where no
 * domain of a level is without other replicas, their hosts are left out inside the one that is
 * chosen, unless the gang would be on more hosts then.
 *
 * What pods prefer themselves comes before all of it: where they would rather be near or away from
 * others, or spread evenly, the gang is placed as if it preferred nothing; where they prefer some
 * nodes, only those are asked for.
 *
 * All of this is limited: by candidates of a level, by tries of the whole. Beyond that the gang is
 * placed as if it preferred nothing.
 */
#include "sched/model/core_impl.h"

enum { FEW = 8, TRIES = 64, OTHERS_MAX = 512 };

struct soft {
    const struct core_soft *prefers;
    bool whole;          /* with those that come later */
    VEC(int32_t) others; /* hosts of other replicas; */
    VEC(int32_t) taken;  /* and the domains above them, sorted */
    bool any, known;     /* there are some; they are in these lists */
    bool choosy;         /* its pods prefer some nodes */
};

/* ---- places ---- */

/* The node's domain at the level; CORE_NONE when it lacks a label. */
static int32_t domain_at(const struct topo *t, int32_t node, int level)
{
    int32_t d = t->n_domains + node;
    while (topo_level(t, d) > level)
        d = t->parent[d];
    return topo_level(t, d) == level ? d : CORE_NONE;
}

static bool is_near(const struct core_soft *prefers, int32_t node)
{
    bool near = false;
    for (size_t i = 0; i < prefers->n_near && !near; i++)
        near = prefers->near[i] == node;
    return near;
}

/* The domain of the i-th node that is near, unless one before it is in the same; CORE_NONE. */
static int32_t near_domain(const struct topo *t, const int32_t *near, size_t i, int level)
{
    int32_t d = domain_at(t, near[i], level);
    for (size_t k = 0; k < i && d != CORE_NONE; k++) {
        if (domain_at(t, near[k], level) == d)
            d = CORE_NONE;
    }
    return d;
}

/* ---- what pods prefer ---- */

static bool looks_around(const struct class *k)
{
    return k->n_spreads > 0 || k->n_wishes > 0;
}

static int32_t least_penalty(const struct core *c, const struct class *k)
{
    uint8_t least = UINT8_MAX;
    for (size_t i = 0; i < c->n_nodes; i++)
        least = k->admitted[i] && k->penalty[i] < least ? k->penalty[i] : least;
    return least;
}

/* Before the search: those of the gang that look around leave it nothing to prefer. */
static bool read_pods(struct search *s)
{
    const struct part *p = &s->parts[0];
    bool may = p->n_wants > 0;
    for (size_t i = 0; i < p->n_wants && may; i++) {
        struct class *k = core_class(s->core, p->wants[i].cls);
        may = !looks_around(k);
        k->preferred = k->penalty ? least_penalty(s->core, k) : 0;
        s->soft->choosy = s->soft->choosy || k->penalty;
    }
    return may;
}

bool soft_likes(const struct search *s, int32_t node)
{
    const struct part *p = &s->parts[0];
    bool likes = true;
    for (size_t i = 0; s->soft->choosy && i < p->n_wants && likes; i++) {
        const struct class *k = core_class(s->core, p->wants[i].cls);
        likes = !k->penalty || k->penalty[node] <= k->preferred;
    }
    return likes;
}

/* ---- other replicas ---- */

static void note_other(struct soft *soft, const struct topo *t, int32_t node)
{
    if (is_near(soft->prefers, node))
        return;
    soft->any = true;
    *vec_push(&soft->others) = node;
    for (int32_t d = t->parent[t->n_domains + node]; d > 0; d = t->parent[d])
        *vec_push(&soft->taken) = d;
}

static int cmp_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* Where so many hosts have replicas the domains above them do, too. */
static void find_others(struct soft *soft, const struct topo *t)
{
    const struct sparse *apart = soft->prefers->apart;
    size_t n = !apart ? 0 : apart->all ? (size_t)apart->n : apart->cap;
    soft->known = n <= 2 * OTHERS_MAX;
    soft->any = !soft->known;
    for (size_t i = 0; i < n && soft->known; i++) {
        int32_t node = apart->all ? (int32_t)i : apart->slots[i].domain;
        if (node >= 0 && (apart->all ? apart->all[i] : apart->slots[i].count) > 0)
            note_other(soft, t, node);
    }
    if (soft->taken.len > 1)
        qsort(soft->taken.p, soft->taken.len, sizeof(int32_t), cmp_ids);
}

bool soft_is_taken(const struct search *s, int32_t domain)
{
    const struct soft *soft = s->soft;
    const struct topo *t = s->tree;
    while (topo_level(t, domain) > s->avoid)
        domain = t->parent[domain];
    if (topo_level(t, domain) != s->avoid)
        return false;
    if (domain >= t->n_domains)
        return sparse_get(soft->prefers->apart, domain - t->n_domains) > 0 &&
               !is_near(soft->prefers, domain - t->n_domains);
    return soft->taken.len > 0 &&
           bsearch(&domain, soft->taken.p, soft->taken.len, sizeof(int32_t), cmp_ids) != NULL;
}

/* The hosts of others inside the domain that take pods; they do not from then on. */
static void close_others(struct search *s, int32_t domain, int32_t *ret_closed, size_t *ret_n)
{
    const struct soft *soft = s->soft;
    *ret_n = 0;
    for (size_t i = 0; i < soft->others.len; i++) {
        int32_t node = soft->others.p[i];
        if (!core_is_closed(s->core, node) &&
            topo_contains(s->tree, domain, s->tree->n_domains + node)) {
            core_close(s->core, node, true);
            ret_closed[(*ret_n)++] = node;
        }
    }
}

/* ---- filling ---- */

/* What was placed since the mark, by itself. */
static struct core_result take_out(struct search *s, size_t mark)
{
    struct core_result r = {0};
    for (size_t i = mark; i < s->result->ops.len; i++)
        *vec_push(&r.ops) = s->result->ops.p[i];
    search_undo(s, mark);
    return r;
}

/* Beside the hosts of others, or with them when the gang is on fewer hosts then. */
bool soft_fill(struct search *s, int32_t domain)
{
    size_t mark = s->result->ops.len, n = 0;
    if (domain >= s->tree->n_domains || s->soft->others.len == 0 || s->avoid > 0)
        return fill_members(s, 0, domain);
    int32_t *closed = xcalloc(s->soft->others.len, sizeof(*closed));
    close_others(s, domain, closed, &n);
    bool beside = n > 0 && fill_members(s, 0, domain);
    struct core_result apart = take_out(s, mark);
    for (size_t i = 0; i < n; i++)
        core_close(s->core, closed[i], false);
    free(closed);
    bool placed = fill_members(s, 0, domain);
    if (beside && (!placed || apart.ops.len <= s->result->ops.len - mark)) {
        search_undo(s, mark);
        for (size_t i = 0; i < apart.ops.len; i++)
            search_take(s, apart.ops.p[i].leaf, apart.ops.p[i].cls, apart.ops.p[i].node,
                        apart.ops.p[i].count);
        placed = true;
    }
    core_result_done(&apart);
    return placed;
}

static bool try_one(struct search *s, int32_t domain)
{
    int32_t node = domain - s->tree->n_domains;
    return (node < 0 || host_is_candidate(s, node)) && part_may_fit(s, &s->parts[0], domain) &&
           domain_is_open(s, domain) && try_domain(s, 0, domain, s->failed.len);
}

/* Domains of the level inside this one: the best, which is good as a rule, then the next few. */
static bool try_inside(struct search *s, int32_t domain, int level)
{
    size_t mark = s->picks.len, failures = s->failed.len;
    bool placed = false;
    for (size_t from = 0, most = domain == 0 ? 1 : FEW; from < FEW && !placed; most = FEW) {
        gather_level(s, &s->parts[0], domain, level, most);
        size_t end = mark + MIN(s->picks.len - mark, most);
        for (size_t i = mark + from; i < end && !placed; i++)
            placed = try_domain(s, 0, s->picks.p[i].domain, failures);
        from = end - mark == most ? most : FEW;
        s->picks.len = mark;
    }
    s->failed.len = failures;
    return placed;
}

/* Domains of the level inside a broader one that other replicas are not in. */
static bool try_apart(struct search *s, int32_t domain, int broad, int level)
{
    size_t mark = s->picks.len;
    bool placed = false;
    gather_level(s, &s->parts[0], domain, broad, FEW);
    size_t end = MIN(s->picks.len, mark + FEW);
    for (size_t i = mark; i < end && !placed; i++)
        placed = try_inside(s, s->picks.p[i].domain, level);
    s->picks.len = mark;
    return placed;
}

static bool try_near(struct search *s, int32_t domain, int level)
{
    const struct core_soft *prefers = s->soft->prefers;
    bool placed = false;
    for (int l = level; l > topo_level(s->tree, domain) && !placed; l--) {
        for (size_t i = 0; i < prefers->n_near && !placed; i++) {
            int32_t d = near_domain(s->tree, prefers->near, i, l);
            if (d == CORE_NONE || !topo_contains(s->tree, domain, d))
                continue;
            placed = l == level ? try_one(s, d) : try_inside(s, d, level);
        }
    }
    return placed;
}

static bool try_level(struct search *s, int32_t domain, int level)
{
    int host = s->tree->host_level;
    bool placed = try_near(s, domain, level);
    for (int l = topo_level(s->tree, domain) + 1; s->soft->any && l <= level && !placed; l++) {
        if (l < host && !s->soft->known)
            continue;
        s->avoid = l;
        placed = l == level ? try_inside(s, domain, level) : try_apart(s, domain, l, level);
        s->avoid = 0;
    }
    return placed || try_inside(s, domain, level);
}

/* Where gangs that follow find room, if there is such a domain. (Where all of the replica has to be
 * in one, it is one that has room, or none of this holds.) */
static bool place_level(struct search *s, int32_t domain, int level)
{
    bool placed = false, spare = s->spare;
    if (s->ask->gang.req > 0 || !spare)
        return try_level(s, domain, level);
    for (int l = level; l > topo_level(s->tree, domain) && !placed; l--) {
        s->roomy = l;
        placed = try_level(s, domain, level);
    }
    s->spare = false;
    placed = placed || try_level(s, domain, level);
    s->spare = spare;
    return placed;
}

/* The others of its pods are there: as near to them as possible. */
static bool place_rest(struct search *s, int32_t domain, int req)
{
    const struct core_soft *prefers = s->soft->prefers;
    bool placed = false;
    for (int l = s->tree->host_level; l > topo_level(s->tree, domain) && l >= req && !placed; l--) {
        for (size_t i = 0; i < prefers->n_near && !placed; i++) {
            int32_t d = near_domain(s->tree, prefers->near, i, l);
            placed = d != CORE_NONE && topo_contains(s->tree, domain, d) && try_one(s, d);
        }
    }
    return placed;
}

bool soft_place(struct search *s, int32_t domain)
{
    int level = topo_level(s->tree, domain), req = MAX(s->ask->gang.req, level);
    bool placed = false, own = s->soft->prefers->own;
    if (s->soft->choosy)
        req = s->tree->host_level;
    s->strict = true;
    if (own)
        placed = place_rest(s, domain, req);
    for (int l = s->tree->host_level; !own && l > level && l >= req && !placed; l--)
        placed = place_level(s, domain, l);
    placed = placed || (req <= level && domain_is_open(s, domain) && soft_fill(s, domain));
    s->strict = false;
    return placed;
}

/* ---- the whole ---- */

int32_t soft_more(const struct search *s, int32_t cls)
{
    int32_t n = 0;
    for (size_t i = 0; s->soft->whole && i < s->soft->prefers->n_more; i++)
        n += s->soft->prefers->more[i].cls == cls ? s->soft->prefers->more[i].need : 0;
    return n;
}

/* A domain of the level may hold as many. */
static bool level_may_hold(struct search *s, const struct want *w, int level)
{
    struct class *k = class_now(s->core, w->cls);
    const struct view *v = class_view(s->core, k, s->ask->tree);
    const struct fit *f = level == s->tree->host_level ? k->fit : &v->fit[level];
    return fit_next(f, fit_bucket(w->need)) >= 0;
}

static void read_wish(struct search *s, struct part *p)
{
    bool holds = false;
    p->preferred = p->scope->pref + 1;
    while (!holds && --p->preferred > p->scope->req) {
        holds = true;
        for (size_t i = 0; i < p->n_wants && holds; i++)
            holds = level_may_hold(s, &p->wants[i], p->preferred);
    }
}

static bool try_soft(struct core *c, const struct core_ask *ask, struct soft *soft,
                     struct core_result *ret)
{
    struct search s;
    search_begin(&s, c, ask, ret);
    find_others(soft, s.tree);
    s.soft = soft;
    s.tries_left = TRIES;
    s.spare = ask->n_spares > 0;
    s.roomy = ask->gang.req;
    for (size_t i = 0; i < s.n_parts; i++) {
        s.depth = MAX(s.depth, MIN(s.parts[i].scope->req, s.tree->n_levels));
        if (i > 0)
            read_wish(&s, &s.parts[i]);
    }
    bool placed =
        read_pods(&s) && part_may_fit(&s, &s.parts[0], ask->within) && place_gang(&s, ask->within);
    if (!placed)
        search_undo(&s, 0);
    search_end(&s);
    vec_done(&soft->others);
    vec_done(&soft->taken);
    return placed;
}

/* Those that come later stay away for now: their room is there for them. */
static void trim(struct core *c, const struct core_ask *ask, struct core_result *r)
{
    size_t n = 0;
    int32_t *left = xcalloc(ask->n_leaves + 1, sizeof(*left));
    for (size_t i = 0; i < ask->n_leaves; i++)
        left[i] = MAX(0, ask->leaves[i].need);
    for (size_t i = 0; i < r->ops.len; i++) {
        struct core_op op = r->ops.p[i];
        int32_t keep = (size_t)op.leaf < ask->n_leaves ? MIN(op.count, left[op.leaf]) : 0;
        core_take(c, op.cls, op.node, keep - op.count);
        op.count = keep;
        if (keep > 0) {
            left[op.leaf] -= keep;
            r->ops.p[n++] = op;
        }
    }
    r->ops.len = n;
    free(left);
}

/* All pods in one question; NULL: none come later, or it depends on those whether the others may
 * be where they are. */
static struct core_leaf *add_more(struct core *c, const struct core_ask *ask,
                                  const struct core_soft *prefers)
{
    bool looks = prefers->n_more == 0;
    for (size_t i = 0; i < prefers->n_more && !looks; i++)
        looks = core_class(c, prefers->more[i].cls)->looks;
    if (looks)
        return NULL;
    struct core_leaf *all = xcalloc(prefers->n_more, sizeof(*all));
    memcpy(all, prefers->more, prefers->n_more * sizeof(*all));
    for (size_t i = 0; i < ask->n_leaves; i++) {
        all[i] = ask->leaves[i];
        all[i].need += prefers->more[i].need;
    }
    return all;
}

bool core_place_whole(struct core *c, const struct core_ask *ask, const struct core_soft *prefers,
                      struct core_result *ret)
{
    struct soft soft = {.prefers = prefers, .whole = true};
    struct core_ask whole = *ask;
    struct core_leaf *all = add_more(c, ask, prefers);
    *ret = (struct core_result){0};
    if (!all)
        return false;
    whole.leaves = all;
    whole.n_leaves = prefers->n_more;
    ret->placed = try_soft(c, &whole, &soft, ret);
    if (ret->placed)
        trim(c, ask, ret);
    free(all);
    return ret->placed;
}

bool core_place_soft(struct core *c, const struct core_ask *ask, const struct core_soft *prefers,
                     struct core_result *ret)
{
    struct soft soft = {.prefers = prefers};
    *ret = (struct core_result){0};
    ret->placed = try_soft(c, ask, &soft, ret);
    if (ret->placed)
        return true;
    uint32_t tries = ret->tries;
    core_result_done(ret);
    bool placed = core_place(c, ask, ret);
    ret->tries += tries;
    return placed;
}

int32_t core_place_near(struct core *c, const struct core_ask *ask, int32_t leaf,
                        const int32_t *near, size_t n_near, struct core_result *ret)
{
    const struct topo *t = c->trees.p[ask->tree];
    struct search s = {.core = c, .tree = t, .ask = ask, .result = ret, .tries_left = 1};
    int32_t need = ask->leaves[leaf].need, domain = some_domain(&s, leaf);
    const struct class *k = core_class(c, ask->leaves[leaf].cls);
    if (looks_around(k) || k->penalty)
        n_near = 0;
    for (int l = t->host_level; domain >= 0 && l > topo_level(t, domain); l--) {
        for (size_t i = 0; i < n_near && need > 0; i++) {
            int32_t d = near_domain(t, near, i, l);
            if (d != CORE_NONE && topo_contains(t, domain, d))
                need -= fill_some(&s, leaf, d, need);
        }
    }
    if (domain >= 0 && need > 0)
        need -= fill_some(&s, leaf, domain, need);
    vec_done(&s.picks);
    return ask->leaves[leaf].need - need;
}
