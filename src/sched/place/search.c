/*
 * Placing a gang: parts within parts, the most constrained first.
 *
 * A gang is a tree of parts: the gang itself, bundles of cliques that have to be close together,
 * and leaves, each a number of pods of one class. Every part has a required level of the topology
 * (all of it in one domain of that level) and a preferred one, which is at least as narrow.
 *
 *   place_part   chooses a domain for a part: the preferred level first, then each wider one up to
 *                the required level; at each level the domains by best fit
 *   fill_part    places the members of a part inside the domain, the hardest first (add_kid):
 *                those with the narrower requirement, then those that need more of what there is
 *   fill_leaf    pods of one class go to the narrowest domain that holds all of them, else to as
 *                few as possible: the largest first, the last one by best fit
 *
 * Best fit means the domain with the smallest room that is enough. It keeps whole racks and whole
 * nodes free for gangs that need them whole.
 *
 * Example. Three racks of two nodes; free GPUs per node:
 *
 *   r0: 8 8    r1: 8 4    r2: 4 2
 *
 * A gang of one leaf, 6 pods of one GPU each, required in one rack. Room: r0 16, r1 12, r2 6. Best
 * fit is r2, and inside it no node holds 6, so split_leaf takes the larger one whole (4) and then
 * the smallest that holds the rest (2). r0 is still empty: a gang of 16 that comes next fits.
 * A gang of two leaves, 4 pods and 8 pods, required in one rack: r0 and r1 both have room for 12,
 * r1 is the better fit, and the leaf of 8 goes first, because it needs more; then the leaf of 4.
 *
 * Bounds come before tries. A class knows how many of its pods each domain takes (core_sum), so
 * part_may_fit refuses a domain in a few instructions, and best_fit_root finds the best domain by
 * buckets without looking at the others. What is left is tried, and every try can be taken back
 * (search_undo): the tables are changed in place and the operations are the undo log. The number
 * of tries is bounded (SEARCH_TRIES). A domain that failed is not tried again in the guise of
 * another that is just like it: failures are remembered by a signature of what its nodes have free.
 *
 * Greedy is not complete: it may put a leaf where another one was the only one to fit. When it
 * fails although no bound speaks against the gang, exact.c has the last word. When a bound does,
 * certify names it: the widest part that no domain can hold, and the domains that are nearest to
 * it. This certificate is what users read, and it says when the gang is worth looking at again
 * (cert.c).
 *
 * Invariants. On failure the tables are as before. On success the operations of the result are
 * exactly what was taken. Nothing here depends on the order of pointers or of hash maps.
 */
#include "sched/model/core_impl.h"

/* More to keep away from make no difference. */
enum { WISH_COUNT = 8 };

static bool place_part(struct search *s, int32_t part, int32_t domain);

/* ---- taking and giving back ---- */

void search_take(struct search *s, int32_t leaf, int32_t cls, int32_t node, int32_t count)
{
    core_take(s->core, cls, node, count);
    *vec_push(&s->result->ops) = (struct core_op){leaf, cls, node, count};
}

void search_undo(struct search *s, size_t mark)
{
    while (s->result->ops.len > mark) {
        struct core_op op = vec_pop(&s->result->ops);
        core_take(s->core, op.cls, op.node, -op.count);
    }
}

/* ---- bounds ---- */

static bool has_spare(struct search *s, const struct part *p, int32_t domain)
{
    while (s->roomy > 0 && topo_level(s->tree, domain) > s->roomy)
        domain = s->tree->parent[domain];
    for (size_t i = 0; i < s->ask->n_spares; i++) {
        struct core_spare spare = s->ask->spares[i];
        int64_t own = 0;
        for (size_t w = 0; w < p->n_wants; w++)
            own += p->wants[w].cls == spare.cls ? p->wants[w].need : 0;
        /* Pods of its own that come later are counted once. */
        spare.count -= s->soft && spare.level == 0 ? soft_more(s, spare.cls) : 0;
        if (spare.count > 0 && !core_spare_fits(s->core, s->ask->tree, domain, &spare, own))
            return false;
    }
    return true;
}

bool part_may_fit(struct search *s, const struct part *p, int32_t domain)
{
    if (s->spare && p == s->parts && !has_spare(s, p, domain))
        return false;
    for (size_t i = 0; i < p->n_wants; i++) {
        if (core_sum(s->core, p->wants[i].cls, s->ask->tree, domain) < p->wants[i].need)
            return false;
    }
    return true;
}

bool domain_is_open(const struct search *s, int32_t domain)
{
    int level = s->ask->closed_level;
    if (s->avoid > 0 && soft_is_taken(s, domain))
        return false;
    if (level == 0)
        return true;
    while (topo_level(s->tree, domain) > level)
        domain = s->tree->parent[domain];
    return topo_level(s->tree, domain) != level || !s->ask->closed[domain - s->tree->first[level]];
}

/* ---- leaves ---- */

/* The domain of the level inside this one with the smallest sum that is enough. */
static int32_t best_fit_root(const struct fit *f, const int32_t *sums, int32_t need)
{
    for (int b = fit_next(f, fit_bucket(need)); b >= 0; b = fit_next(f, b + 1)) {
        if (b < FIT_EXACT)
            return f->heads[b];
        int32_t best = CORE_NONE;
        for (int32_t m = f->heads[b]; m >= 0; m = f->next[m]) {
            if (sums[m] >= need && (best < 0 || sums[m] < sums[best]))
                best = m;
        }
        if (best >= 0)
            return best;
    }
    return CORE_NONE;
}

static int32_t best_host_in(const struct search *s, const struct class *k, int32_t domain,
                            int32_t need)
{
    const struct topo *t = s->tree;
    int32_t best = CORE_NONE, least = INT32_MAX;
    for (int32_t p = t->lo[domain]; p < t->hi[domain]; p++) {
        int32_t n = t->order[p], slots = k->slots[n];
        if (slots >= need && slots < least) {
            least = slots;
            best = n;
        }
    }
    return best;
}

static int32_t best_fit(struct search *s, struct class *k, int32_t domain, int level, int32_t need)
{
    const struct topo *t = s->tree;
    if (level == t->host_level) {
        int32_t n =
            domain == 0 ? best_fit_root(k->fit, k->slots, need) : best_host_in(s, k, domain, need);
        return n < 0 ? n : t->n_domains + n;
    }
    const struct view *v = class_view(s->core, k, s->ask->tree);
    if (domain == 0) {
        int32_t m = best_fit_root(&v->fit[level], v->sum + t->first[level], need);
        return m < 0 ? m : t->first[level] + m;
    }
    int32_t lo, hi, best = CORE_NONE;
    topo_inside(t, domain, level, &lo, &hi);
    for (int32_t d = lo; d < hi; d++) {
        if (v->sum[d] >= need && (best < 0 || v->sum[d] < v->sum[best]))
            best = d;
    }
    return best;
}

static int cmp_picks_down(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return x->domain < y->domain ? -1 : 1;
}

static int cmp_picks_up(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return x->domain < y->domain ? -1 : 1;
}

static void fill_leaf(struct search *s, int32_t leaf, int32_t domain, int32_t need);

/* Domains directly below this one, hosts that hang there too. */
static void gather_below(struct search *s, struct class *k, int32_t domain)
{
    const struct topo *t = s->tree;
    const struct view *v = class_view(s->core, k, s->ask->tree);
    int32_t covered = t->lo[domain];
    if (t->level[domain] < t->n_levels) {
        for (int32_t d = t->child_lo[domain]; d < t->child_hi[domain]; d++) {
            if (v->sum[d] > 0)
                *vec_push(&s->picks) = (struct pick){v->sum[d], d};
            covered = t->hi[d];
        }
    }
    for (int32_t p = covered; p < t->hi[domain]; p++) {
        int32_t n = t->order[p];
        if (k->slots[n] > 0)
            *vec_push(&s->picks) = (struct pick){k->slots[n], t->n_domains + n};
    }
}

/* No domain below holds it all: as few as possible, the last one by best fit. */
static void split_leaf(struct search *s, int32_t leaf, struct class *k, int32_t domain,
                       int32_t need)
{
    size_t mark = s->picks.len;
    gather_below(s, k, domain);
    size_t n = s->picks.len - mark;
    qsort(s->picks.p + mark, n, sizeof(struct pick), cmp_picks_down);
    for (size_t i = 0; i < n && need > 0; i++) {
        struct pick pick = s->picks.p[mark + i];
        if (pick.sum >= need) {
            size_t last = n - 1;
            while (s->picks.p[mark + last].sum < need)
                last--;
            fill_leaf(s, leaf, s->picks.p[mark + last].domain, need);
            need = 0;
        } else {
            fill_leaf(s, leaf, pick.domain, pick.sum);
            need -= pick.sum;
        }
    }
    s->picks.len = mark;
}

/* The same where the root has nothing but hosts below it: without looking at all of them. */
static void split_hosts(struct search *s, int32_t leaf, struct class *k, int32_t need)
{
    int32_t cls = s->ask->leaves[leaf].cls;
    while (need > 0) {
        int32_t n = best_fit_root(k->fit, k->slots, need);
        if (n < 0) {
            int b = fit_last(k->fit);
            n = k->fit->heads[b];
            for (int32_t m = n; b >= FIT_EXACT && m >= 0; m = k->fit->next[m])
                n = k->slots[m] > k->slots[n] ? m : n;
        }
        int32_t count = MIN(need, k->slots[n]);
        search_take(s, leaf, cls, n, count);
        need -= count;
        (void)class_now(s->core, cls);
    }
}

/* Exactly `need`, which the domain holds. */
static void fill_leaf(struct search *s, int32_t leaf, int32_t domain, int32_t need)
{
    int32_t cls = s->ask->leaves[leaf].cls;
    const struct topo *t = s->tree;
    if (domain >= t->n_domains) {
        search_take(s, leaf, cls, domain - t->n_domains, need);
        return;
    }
    struct class *k = class_now(s->core, cls);
    for (int l = t->host_level; l > t->level[domain]; l--) {
        int32_t d = best_fit(s, k, domain, l, need);
        if (d < 0)
            continue;
        fill_leaf(s, leaf, d, need);
        return;
    }
    if (domain == 0 && t->n_levels == 0)
        split_hosts(s, leaf, k, need);
    else
        split_leaf(s, leaf, k, domain, need);
}

/* ---- leaves whose pods look at others beyond their host: one pod at a time ---- */

/* What the node does not give of what the class wishes: nodes, company, distance. */
static int64_t wishes_cost(const struct core *c, const struct class *k, int32_t node)
{
    int64_t cost = k->penalty ? k->penalty[node] : 0;
    for (size_t i = 0; i < k->n_wishes; i++) {
        const struct core_wish *w = &k->wishes[i];
        int32_t count = term_at(c, w->term, node);
        if (w->weight > 0)
            cost += count > 0 ? 0 : w->weight;
        else
            cost -= (int64_t)w->weight * MIN(MAX(count, 0), WISH_COUNT);
    }
    return MIN(cost, (INT64_C(1) << 16) - 1);
}

/* Fewest others, then wishes, then best fit. */
static int64_t wide_cost(const struct core *c, const struct class *k, int32_t node)
{
    int64_t cost = 0;
    for (size_t i = 0; i < k->n_spreads; i++) {
        int32_t count = term_at(c, k->spreads[i].term, node);
        cost += count < 0 ? INT64_C(1) << 20 : count;
    }
    cost = (cost << 16) + wishes_cost(c, k, node);
    return (cost << 16) + k->slots[node];
}

static int32_t wide_node(struct search *s, const struct class *k, int32_t domain)
{
    const struct topo *t = s->tree;
    int32_t best = CORE_NONE;
    int64_t least = INT64_MAX;
    int32_t lo = domain >= t->n_domains ? 0 : t->lo[domain];
    int32_t hi = domain >= t->n_domains ? 1 : t->hi[domain];
    for (int32_t p = lo; p < hi; p++) {
        int32_t n = domain >= t->n_domains ? domain - t->n_domains : t->order[p];
        if (k->slots[n] <= 0 || !class_admits_one(s->core, k, n))
            continue;
        int64_t cost = wide_cost(s->core, k, n);
        if (cost < least) {
            least = cost;
            best = n;
        }
    }
    return best;
}

static int32_t fill_wide(struct search *s, int32_t leaf, int32_t domain, int32_t need)
{
    int32_t cls = s->ask->leaves[leaf].cls, done = 0;
    while (done < need) {
        int32_t n = wide_node(s, class_now(s->core, cls), domain);
        if (n < 0)
            break;
        search_take(s, leaf, cls, n, 1);
        done++;
    }
    return done;
}

static bool fill_part_leaf(struct search *s, int32_t leaf, int32_t domain)
{
    const struct core_leaf *f = &s->ask->leaves[leaf];
    if (f->need <= 0)
        return true;
    if (core_class(s->core, f->cls)->wide)
        return fill_wide(s, leaf, domain, f->need) == f->need;
    if (core_sum(s->core, f->cls, s->ask->tree, domain) < f->need)
        return false;
    fill_leaf(s, leaf, domain, f->need);
    return true;
}

/* ---- parts ---- */

bool fill_members(struct search *s, int32_t part, int32_t domain)
{
    struct part *p = &s->parts[part];
    size_t mark = s->result->ops.len;
    for (unsigned turn = 0; turn < 3; turn++) {
        size_t i = 0;
        while (i < p->n_kids && place_part(s, p->kids[i], domain))
            i++;
        if (i == p->n_kids)
            return true;
        search_undo(s, mark);
        if (i == 0 || s->tries_left == 0)
            return false;
        /* What found no room goes first. */
        int32_t kid = p->kids[i];
        memmove(&p->kids[1], &p->kids[0], i * sizeof(*p->kids));
        p->kids[0] = kid;
    }
    return false;
}

static bool fill_part(struct search *s, int32_t part, int32_t domain)
{
    if (s->parts[part].leaf >= 0)
        return fill_part_leaf(s, s->parts[part].leaf, domain);
    return part == 0 && s->soft ? soft_fill(s, domain) : fill_members(s, part, domain);
}

/* What the nodes of a domain have, whatever their order; equal signatures, equal fates. */
static uint64_t signature(struct search *s, const struct part *p, int32_t domain)
{
    const struct topo *t = s->tree;
    uint64_t sum = 0;
    int32_t lo = domain >= t->n_domains ? 0 : t->lo[domain];
    int32_t hi = domain >= t->n_domains ? 1 : t->hi[domain];
    size_t width = s->core->n_resources;
    int32_t base =
        domain >= t->n_domains ? t->parent[domain] : t->parent[t->n_domains + t->order[lo]];
    for (int32_t i = lo; i < hi; i++) {
        int32_t n = domain >= t->n_domains ? domain - t->n_domains : t->order[i];
        uint64_t h = 1469598103934665603u;
        for (size_t r = 0; r < width; r++)
            h = (h ^ (uint64_t)s->core->free.p[(size_t)n * width + r]) * 1099511628211u;
        for (size_t w = 0; w < p->n_wants; w++)
            h = (h ^ (uint64_t)class_now(s->core, p->wants[w].cls)->slots[n]) * 1099511628211u;
        /* Which of them are together matters: racks of a block, and so on. */
        h = (h ^ (uint64_t)(t->parent[t->n_domains + n] - base)) * 1099511628211u;
        sum += h ^ (h >> 29);
    }
    return sum;
}

static bool has_failed(const struct search *s, size_t from, uint64_t sig)
{
    for (size_t i = from; i < s->failed.len; i++) {
        if (s->failed.p[i] == sig)
            return true;
    }
    return false;
}

bool try_domain(struct search *s, int32_t part, int32_t domain, size_t failures)
{
    const struct part *p = &s->parts[part];
    size_t mark = s->result->ops.len;
    uint64_t sig = 0;
    if (s->twins && s->failed.len > failures) {
        sig = signature(s, p, domain);
        if (has_failed(s, failures, sig))
            return false;
    }
    if (s->tries_left == 0) {
        s->gave_up = true;
        return false;
    }
    s->tries_left--;
    s->result->tries++;
    if (fill_part(s, part, domain))
        return true;
    search_undo(s, mark);
    if (s->twins)
        *vec_push(&s->failed) = sig ? sig : signature(s, p, domain);
    return false;
}

/* Where being on one host is only preferred, labels that nobody asks for are not needed. */
bool host_is_candidate(const struct search *s, int32_t node)
{
    return s->tree->depth[node] >= (s->soft ? s->depth : s->tree->n_levels) &&
           (!s->soft || soft_likes(s, node));
}

void gather_level(struct search *s, const struct part *p, int32_t domain, int level, size_t max)
{
    const struct topo *t = s->tree;
    const struct want *w = &p->wants[0];
    struct class *k = class_now(s->core, w->cls);
    const struct view *v = class_view(s->core, k, s->ask->tree);
    size_t mark = s->picks.len;
    bool hosts = level == t->host_level;
    if (domain == 0 && max < SIZE_MAX) {
        const struct fit *f = hosts ? k->fit : &v->fit[level];
        size_t looked = 0;
        for (int b = fit_next(f, fit_bucket(w->need)); b >= 0 && looked < SOFT_LOOK;
             b = fit_next(f, b + 1)) {
            size_t end = MIN(looked + (s->avoid > 0 ? SOFT_BUCKET : SOFT_LOOK), SOFT_LOOK);
            for (int32_t m = f->heads[b]; m >= 0; m = f->next[m]) {
                int32_t d = hosts ? t->n_domains + m : t->first[level] + m;
                /* Those of a bucket are alike: replicas of one set may be most of them. */
                if (s->soft && looked++ == end)
                    break;
                if (hosts && !host_is_candidate(s, m))
                    continue;
                if (part_may_fit(s, p, d) && domain_is_open(s, d))
                    *vec_push(&s->picks) = (struct pick){view_sum(k, v, t, d), d};
                if (s->picks.len - mark == max)
                    return;
            }
        }
        return;
    }
    int32_t lo, hi;
    if (hosts) {
        lo = t->lo[domain];
        hi = t->hi[domain];
    } else {
        topo_inside(t, domain, level, &lo, &hi);
    }
    for (int32_t i = lo; i < hi; i++) {
        int32_t d = hosts ? t->n_domains + t->order[i] : i;
        if (hosts && (k->slots[t->order[i]] < w->need || !host_is_candidate(s, t->order[i])))
            continue;
        if (part_may_fit(s, p, d) && domain_is_open(s, d))
            *vec_push(&s->picks) = (struct pick){view_sum(k, v, t, d), d};
    }
    if (s->picks.len > mark)
        qsort(s->picks.p + mark, s->picks.len - mark, sizeof(struct pick), cmp_picks_up);
}

static bool try_level(struct search *s, int32_t part, int32_t domain, int level)
{
    const struct part *p = &s->parts[part];
    size_t mark = s->picks.len, failures = s->failed.len, first = 8;
    bool placed = false;
    if (p->n_wants == 0)
        return false;
    bool roomiest = part == 0 && s->ask->n_spares > 0 && !s->spare;
    gather_level(s, p, domain, level, domain == 0 && !roomiest ? first : SIZE_MAX);
    /* No domain has room for all that is to come: the one with the most. */
    if (roomiest)
        qsort(s->picks.p + mark, s->picks.len - mark, sizeof(struct pick), cmp_picks_down);
    for (size_t i = mark; i < s->picks.len && !placed; i++)
        placed = try_domain(s, part, s->picks.p[i].domain, failures);
    if (!placed && !roomiest && domain == 0 && s->picks.len - mark == first) {
        /* The best few failed: now all of them, those like the failed ones left out. */
        s->picks.len = mark;
        gather_level(s, p, domain, level, SIZE_MAX);
        size_t end = s->picks.len;
        for (size_t i = mark; i < end && !placed; i++)
            placed = try_domain(s, part, s->picks.p[i].domain, failures);
    }
    s->picks.len = mark;
    s->failed.len = failures;
    return placed;
}

static bool place_part(struct search *s, int32_t part, int32_t domain)
{
    const struct part *p = &s->parts[part];
    int level = topo_level(s->tree, domain);
    int req = MAX(p->scope->req, level), pref = MAX(p->scope->pref, req);
    if (p->n_wants == 0)
        return true;
    if (s->strict && part > 0)
        req = MAX(req, p->preferred);
    if (p->scope->pin >= 0 && topo_level(s->tree, p->scope->pin) > level) {
        if (!topo_contains(s->tree, domain, p->scope->pin))
            return false;
        domain = p->scope->pin;
        level = topo_level(s->tree, domain);
        req = MAX(req, level);
        pref = MAX(pref, req);
    }
    if (part == 0 && s->soft)
        return soft_place(s, domain);
    for (int l = pref; l > level && l >= req; l--) {
        if (try_level(s, part, domain, l))
            return true;
    }
    return req <= level && domain_is_open(s, domain) && fill_part(s, part, domain);
}

bool place_gang(struct search *s, int32_t domain)
{
    return place_part(s, 0, domain);
}

/* ---- the whole ---- */

static void add_want(struct part *p, int32_t cls, int32_t need)
{
    for (size_t i = 0; i < p->n_wants; i++) {
        if (p->wants[i].cls == cls) {
            p->wants[i].need += need;
            return;
        }
    }
    p->wants[p->n_wants++] = (struct want){cls, need};
}

/* How much of what there is of a class the part takes; the hardest class first. */
static double weigh(struct search *s, struct part *p)
{
    double most = -1;
    for (size_t i = 0; i < p->n_wants; i++) {
        const struct class *k = class_now(s->core, p->wants[i].cls);
        p->follows = p->follows || (k->n_wants > 0 && !k->sociable);
        double w = (double)p->wants[i].need / (double)(k->total + 1);
        if (w > most) {
            struct want x = p->wants[i];
            p->wants[i] = p->wants[0];
            p->wants[0] = x;
            most = w;
        }
    }
    return most;
}

static bool goes_before(const struct part *a, const struct part *b)
{
    if (a->follows != b->follows)
        return b->follows;
    if (a->scope->req != b->scope->req)
        return a->scope->req > b->scope->req;
    return a->weight > b->weight;
}

static void add_kid(struct search *s, struct part *p, int32_t kid)
{
    size_t i = p->n_kids++;
    for (; i > 0 && goes_before(&s->parts[kid], &s->parts[p->kids[i - 1]]); i--)
        p->kids[i] = p->kids[i - 1];
    p->kids[i] = kid;
}

int32_t part_outer(const struct search *s, int32_t part)
{
    int32_t leaf = s->parts[part].leaf;
    int32_t b = leaf >= 0 ? s->ask->leaves[leaf].bundle : bundle_outer(s->ask, part - 1);
    return b < 0 ? 0 : 1 + b;
}

void search_begin(struct search *s, struct core *c, const struct core_ask *ask,
                  struct core_result *ret)
{
    size_t leaves = ask->n_leaves, n = 1 + ask->n_bundles + leaves;
    *s = (struct search){.core = c,
                         .tree = c->trees.p[ask->tree],
                         .ask = ask,
                         .result = ret,
                         .n_parts = n,
                         .tries_left = SEARCH_TRIES};
    /* A leaf is in at most two bundles, and in the gang. */
    s->parts = xcalloc(1, n * sizeof(struct part) + 4 * (leaves + 1) * sizeof(struct want) +
                              3 * (n + 1) * sizeof(int32_t));
    struct want *wants = (struct want *)(void *)(s->parts + n);
    int32_t *kids = (int32_t *)(void *)(wants + 4 * (leaves + 1));
    size_t *members = xcalloc(ask->n_bundles + 1, sizeof(*members));
    for (size_t i = 0; i < leaves; i++) {
        for (int32_t b = ask->leaves[i].bundle; b >= 0; b = bundle_outer(ask, b))
            members[b]++;
    }
    for (size_t i = 0; i < n; i++) {
        struct part *p = &s->parts[i];
        size_t room = i == 0 ? n : i <= ask->n_bundles ? members[i - 1] : 0;
        p->leaf = i > ask->n_bundles ? (int32_t)(i - 1 - ask->n_bundles) : CORE_NONE;
        p->scope = i == 0        ? &ask->gang
                   : p->leaf < 0 ? &ask->bundles[i - 1]
                                 : &ask->leaves[p->leaf].scope;
        p->wants = wants;
        p->kids = kids;
        wants += i == 0 ? leaves : p->leaf < 0 ? room : 1;
        kids += room;
    }
    free(members);
    for (size_t i = 0; i < leaves; i++) {
        const struct core_leaf *f = &ask->leaves[i];
        if (f->need <= 0)
            continue;
        add_want(&s->parts[0], f->cls, f->need);
        add_want(&s->parts[1 + ask->n_bundles + i], f->cls, f->need);
        for (int32_t b = f->bundle; b >= 0; b = bundle_outer(ask, b))
            add_want(&s->parts[1 + b], f->cls, f->need);
    }
    s->twins = true;
    for (size_t i = 0; i < n; i++)
        s->twins = s->twins && s->parts[i].scope->pin < 0;
    for (size_t i = 0; i < leaves; i++)
        s->twins = s->twins && !core_class(c, ask->leaves[i].cls)->wide;
    for (size_t i = n; i-- > 0;)
        s->parts[i].weight = weigh(s, &s->parts[i]);
    for (size_t i = 1 + ask->n_bundles; i < n; i++) {
        if (s->parts[i].n_wants > 0)
            add_kid(s, &s->parts[part_outer(s, (int32_t)i)], (int32_t)i);
    }
    for (size_t i = 1; i <= ask->n_bundles; i++) {
        if (s->parts[i].n_wants > 0)
            add_kid(s, &s->parts[part_outer(s, (int32_t)i)], (int32_t)i);
    }
}

void search_end(struct search *s)
{
    free(s->parts);
    vec_done(&s->picks);
    vec_done(&s->failed);
}

/* One more that holds `room`: the nearest stay, in order. */
static void note_near(struct core_cert *cert, int32_t domain, int32_t room)
{
    size_t at = cert->n_near;
    while (at > 0 && cert->near[at - 1].room < room)
        at--;
    if (at == CORE_NEAREST)
        return;
    cert->n_near += cert->n_near < CORE_NEAREST;
    memmove(&cert->near[at + 1], &cert->near[at],
            (cert->n_near - 1 - at) * sizeof(struct core_near));
    cert->near[at] = (struct core_near){domain, room};
}

/* The domains of the certificate's level that hold most of its class. */
static void find_nearest(struct search *s, struct core_cert *cert)
{
    const struct topo *t = s->tree;
    int32_t within = cert->within;
    cert->fixed = cert->level <= topo_level(t, within);
    if (cert->fixed) {
        note_near(cert, within, core_sum(s->core, cert->cls, s->ask->tree, within));
    } else {
        bool hosts = cert->level == t->host_level;
        int32_t lo = t->lo[within], hi = t->hi[within];
        if (!hosts)
            topo_inside(t, within, cert->level, &lo, &hi);
        for (int32_t i = lo; i < hi; i++) {
            int32_t d = hosts ? t->n_domains + t->order[i] : i;
            if ((!hosts || t->depth[t->order[i]] == t->n_levels) && domain_is_open(s, d))
                note_near(cert, d, core_sum(s->core, cert->cls, s->ask->tree, d));
        }
    }
    cert->domain = cert->n_near ? cert->near[0].domain : within;
    cert->best = cert->n_near ? cert->near[0].room : 0;
}

/* What the part wants, then what the rest of the gang does. */
static void note_wants(const struct search *s, const struct part *part, struct core_cert *ret)
{
    const struct part *gang = &s->parts[0];
    for (size_t i = 0; i < part->n_wants && ret->n_wants < CORE_CERT_WANTS; i++)
        ret->wants[ret->n_wants++] =
            (struct core_need){part->wants[i].cls, part->wants[i].need, ret->within};
    ret->n_own = ret->n_wants;
    for (size_t i = 0; part != gang && i < gang->n_wants && ret->n_wants < CORE_CERT_WANTS; i++) {
        int32_t rest = gang->wants[i].need;
        for (size_t k = 0; k < part->n_wants; k++)
            rest -= part->wants[k].cls == gang->wants[i].cls ? part->wants[k].need : 0;
        if (rest > 0)
            ret->wants[ret->n_wants++] =
                (struct core_need){gang->wants[i].cls, rest, s->ask->within};
    }
}

/* The widest part that no domain can hold, for one class alone; else all of it together. */
static void certify(struct search *s, struct core_cert *ret)
{
    int outer = s->parts[0].scope->req;
    bool barred = s->ask->closed_level > 0;
    for (size_t i = 0; i < s->n_parts; i++) {
        const struct part *p = &s->parts[i];
        int32_t within = s->ask->within;
        if (p->scope->pin >= 0 && topo_contains(s->tree, within, p->scope->pin))
            within = p->scope->pin;
        for (size_t w = 0; w < p->n_wants; w++) {
            struct core_cert cert = {.why = CORE_TOO_FEW,
                                     .scope = (int32_t)i,
                                     .level = p->scope->req,
                                     .cls = p->wants[w].cls,
                                     .need = p->wants[w].need,
                                     .within = within,
                                     .outer = outer,
                                     .barred = barred};
            find_nearest(s, &cert);
            if (cert.best < cert.need) {
                *ret = cert;
                note_wants(s, p, ret);
                return;
            }
        }
    }
    const struct part *p = &s->parts[0];
    *ret = (struct core_cert){.why = s->gave_up ? CORE_BUDGET : CORE_TOGETHER,
                              .level = p->scope->req,
                              .cls = p->n_wants ? p->wants[0].cls : 0,
                              .need = p->n_wants ? p->wants[0].need : 0,
                              .within = s->ask->within,
                              .outer = outer,
                              .barred = barred};
    if (p->n_wants)
        find_nearest(s, ret);
    for (size_t i = 0; i < p->n_wants; i++)
        core_cert_want(s->core, ret, p->wants[i].cls, p->wants[i].need, ret->within);
    ret->n_own = ret->n_wants;
}

bool core_place(struct core *c, const struct core_ask *ask, struct core_result *ret)
{
    struct search s;
    *ret = (struct core_result){0};
    search_begin(&s, c, ask, ret);
    bool may = part_may_fit(&s, &s.parts[0], ask->within);
    s.spare = ask->n_spares > 0;
    ret->placed = may && s.spare && place_part(&s, 0, ask->within);
    s.spare = false;
    ret->placed = ret->placed || (may && place_part(&s, 0, ask->within));
    if (!ret->placed) {
        search_undo(&s, 0);
        s.gave_up = false;
        certify(&s, &ret->cert);
        if (ret->cert.why != CORE_TOO_FEW) { /* no bound speaks against it */
            ret->placed = exact_place(&s);
            ret->cert.why = s.gave_up ? CORE_BUDGET : CORE_TOGETHER;
        }
        if (ret->placed)
            ret->cert = (struct core_cert){.why = CORE_PLACED};
        ret->cert.growth = core_growth(c);
    }
    search_end(&s);
    return ret->placed;
}

int32_t some_domain(struct search *s, int32_t leaf)
{
    const struct core_ask *ask = s->ask;
    const struct core_leaf *f = &ask->leaves[leaf];
    const struct topo *t = s->tree;
    int32_t domain = ask->within, outer = bundle_outer(ask, f->bundle);
    const struct core_scope *scopes[] = {&ask->gang, outer >= 0 ? &ask->bundles[outer] : &ask->gang,
                                         f->bundle >= 0 ? &ask->bundles[f->bundle] : &ask->gang,
                                         &f->scope};
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        if (scopes[i]->pin >= 0 && topo_contains(t, domain, scopes[i]->pin))
            domain = scopes[i]->pin;
    }
    /* A scope that has to sit together and has no member yet chooses its domain now. */
    for (size_t i = 0; i < ARRAY_LEN(scopes) && domain >= 0; i++) {
        if (scopes[i]->pin >= 0 || scopes[i]->req <= topo_level(t, domain))
            continue;
        struct want want = {f->cls, 1};
        struct part part = {.scope = scopes[i], .leaf = leaf, .wants = &want, .n_wants = 1};
        gather_level(s, &part, domain, scopes[i]->req, SIZE_MAX);
        struct class *k = class_now(s->core, f->cls);
        while (k->wide && s->picks.len > 0 && wide_node(s, k, vec_last(&s->picks)->domain) < 0)
            s->picks.len--;
        domain = s->picks.len == 0 ? CORE_NONE : vec_last(&s->picks)->domain;
        vec_clear(&s->picks);
    }
    return domain >= 0 && domain_is_open(s, domain) ? domain : CORE_NONE;
}

int32_t fill_some(struct search *s, int32_t leaf, int32_t domain, int32_t need)
{
    int32_t cls = s->ask->leaves[leaf].cls;
    if (core_class(s->core, cls)->wide)
        return fill_wide(s, leaf, domain, need);
    need = MIN(need, core_sum(s->core, cls, s->ask->tree, domain));
    if (need > 0)
        fill_leaf(s, leaf, domain, need);
    return MAX(need, 0);
}

int32_t core_place_some(struct core *c, const struct core_ask *ask, int32_t leaf,
                        struct core_result *ret)
{
    return core_place_near(c, ask, leaf, NULL, 0, ret);
}

void core_take_ops(struct core *c, const struct core_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        core_take(c, ops[i].cls, ops[i].node, ops[i].count);
}

void core_give_ops(struct core *c, const struct core_op *ops, size_t n)
{
    for (size_t i = n; i-- > 0;)
        core_take(c, ops[i].cls, ops[i].node, -ops[i].count);
}

void core_undo(struct core *c, const struct core_result *r)
{
    core_give_ops(c, r->ops.p, r->ops.len);
}

void core_result_done(struct core_result *r)
{
    vec_done(&r->ops);
}
