/*
 * Tables of the core and how they follow changes.
 *
 * core_take changes what is free on a node and writes the node into the change log; a class that is
 * asked about reads the log from where it stopped, recounts those nodes and corrects the sums of
 * the domains above them. The log is cut when everybody would rather count anew.
 */
#include "sched/model/core_impl.h"

/* Of one node; sums over the largest cluster stay within an int32_t. */
#define MAX_SLOTS (INT32_C(1) << 14)

/* ---- fit ---- */

void fit_init(struct fit *f, size_t n)
{
    f->next = xcalloc(n + 1, sizeof(*f->next));
    f->prev = xcalloc(n + 1, sizeof(*f->prev));
    memset(f->heads, 0xff, sizeof(f->heads));
    memset(f->bits, 0, sizeof(f->bits));
}

void fit_done(struct fit *f)
{
    free(f->next);
    free(f->prev);
}

/* Exact for small values, then 32 steps for each doubling. */
int fit_bucket(int32_t value)
{
    if (value < FIT_EXACT)
        return value < 0 ? 0 : value;
    int log = 31 - __builtin_clz((unsigned)value);
    return FIT_EXACT + (log - 9) * FIT_STEPS + (int)((value >> (log - 5)) & (FIT_STEPS - 1));
}

void fit_insert(struct fit *f, int32_t member, int32_t value)
{
    int b = fit_bucket(value);
    int32_t head = f->heads[b];
    f->next[member] = head;
    f->prev[member] = CORE_NONE;
    if (head >= 0)
        f->prev[head] = member;
    f->heads[b] = member;
    f->bits[b / 64] |= UINT64_C(1) << (b % 64);
}

void fit_remove(struct fit *f, int32_t member, int32_t value)
{
    int b = fit_bucket(value);
    int32_t next = f->next[member], prev = f->prev[member];
    if (next >= 0)
        f->prev[next] = prev;
    if (prev >= 0) {
        f->next[prev] = next;
        return;
    }
    f->heads[b] = next;
    if (next < 0)
        f->bits[b / 64] &= ~(UINT64_C(1) << (b % 64));
}

int fit_next(const struct fit *f, int bucket)
{
    int w = bucket / 64;
    if (w >= FIT_WORDS)
        return CORE_NONE;
    uint64_t bits = f->bits[w] & (~UINT64_C(0) << (bucket % 64));
    while (!bits) {
        if (++w == FIT_WORDS)
            return CORE_NONE;
        bits = f->bits[w];
    }
    return w * 64 + __builtin_ctzll(bits);
}

int fit_last(const struct fit *f)
{
    for (int w = FIT_WORDS - 1; w >= 0; w--) {
        if (f->bits[w])
            return w * 64 + 63 - __builtin_clzll(f->bits[w]);
    }
    return CORE_NONE;
}

/* ---- trees ---- */

struct path_key {
    const int32_t *path;
    int32_t node;
    int32_t n;
};

/* Missing labels last. */
static int cmp_paths(const void *a, const void *b)
{
    const struct path_key *x = a, *y = b;
    for (int32_t l = 0; l < x->n; l++) {
        uint32_t u = (uint32_t)x->path[l], v = (uint32_t)y->path[l];
        if (u != v)
            return u < v ? -1 : 1;
        if (x->path[l] < 0)
            break;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static int path_depth(const int32_t *path, int n)
{
    int d = 0;
    while (d < n && path[d] >= 0)
        d++;
    return d;
}

/* Does a new domain begin at this level (1-based) with this node? */
static bool begins(const struct path_key *keys, size_t i, int level)
{
    if (i == 0)
        return true;
    for (int l = 0; l < level; l++) {
        if (keys[i].path[l] != keys[i - 1].path[l])
            return true;
    }
    return false;
}

static void topo_count(struct topo *t, const struct path_key *keys, size_t n)
{
    int32_t at = 1;
    t->first[0] = 0;
    for (int l = 1; l <= t->n_levels; l++) {
        t->first[l] = at;
        for (size_t i = 0; i < n; i++)
            at += t->depth[keys[i].node] >= l && begins(keys, i, l);
    }
    t->first[t->host_level] = at;
    t->n_domains = at;
}

static void topo_open(struct topo *t, int32_t domain, int level, int32_t parent, int32_t at,
                      const int32_t *next)
{
    t->level[domain] = (uint8_t)level;
    t->parent[domain] = parent;
    t->lo[domain] = at;
    t->child_lo[domain] = level < t->n_levels ? next[level + 1] : t->n_domains;
    t->child_hi[domain] = t->child_lo[domain];
}

static void topo_fill(struct topo *t, const struct path_key *keys, size_t n)
{
    int32_t next[CORE_LEVELS_MAX + 2], current[CORE_LEVELS_MAX + 2] = {0};
    memcpy(next, t->first, sizeof(next));
    topo_open(t, 0, 0, CORE_NONE, 0, next);
    t->hi[0] = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        int32_t node = keys[i].node;
        int depth = t->depth[node];
        t->order[i] = node;
        t->at[node] = (int32_t)i;
        for (int l = 1; l <= depth; l++) {
            if (begins(keys, i, l)) {
                current[l] = next[l]++;
                topo_open(t, current[l], l, current[l - 1], (int32_t)i, next);
                t->child_hi[current[l - 1]] = next[l];
            }
            t->hi[current[l]] = (int32_t)i + 1;
        }
        t->parent[t->n_domains + node] = current[depth];
    }
}

int32_t core_add_tree(struct core *c, int n_levels, const int32_t *paths)
{
    BUG_ON(n_levels > CORE_LEVELS_MAX || c->trees.len == CORE_TREES_MAX);
    struct topo *t = xnew(struct topo);
    struct path_key *keys = xcalloc(c->n_nodes + 1, sizeof(*keys));
    t->n_levels = n_levels;
    t->host_level = n_levels + 1;
    t->depth = xcalloc(c->n_nodes + 1, 1);
    for (size_t i = 0; i < c->n_nodes; i++) {
        keys[i] = (struct path_key){paths + i * (size_t)n_levels, (int32_t)i, n_levels};
        t->depth[i] = (uint8_t)path_depth(keys[i].path, n_levels);
    }
    qsort(keys, c->n_nodes, sizeof(*keys), cmp_paths);
    topo_count(t, keys, c->n_nodes);
    size_t n = (size_t)t->n_domains;
    t->order = xcalloc(c->n_nodes + 1, sizeof(int32_t));
    t->at = xcalloc(c->n_nodes + 1, sizeof(int32_t));
    t->lo = xcalloc(n, sizeof(int32_t));
    t->hi = xcalloc(n, sizeof(int32_t));
    t->child_lo = xcalloc(n, sizeof(int32_t));
    t->child_hi = xcalloc(n, sizeof(int32_t));
    t->level = xcalloc(n, 1);
    t->parent = xcalloc(n + c->n_nodes + 1, sizeof(int32_t));
    topo_fill(t, keys, c->n_nodes);
    free(keys);
    *vec_push(&c->trees) = t;
    return (int32_t)c->trees.len - 1;
}

static void topo_free(struct topo *t)
{
    free(t->order);
    free(t->at);
    free(t->lo);
    free(t->hi);
    free(t->child_lo);
    free(t->child_hi);
    free(t->level);
    free(t->parent);
    free(t->depth);
    free(t);
}

void topo_inside(const struct topo *t, int32_t domain, int level, int32_t *ret_lo, int32_t *ret_hi)
{
    int32_t lo = domain, hi = domain + 1;
    for (int l = t->level[domain]; l < level; l++) {
        int32_t next_lo = t->child_lo[lo];
        hi = t->child_hi[hi - 1];
        lo = next_lo;
        if (lo >= hi) {
            hi = lo;
            break;
        }
    }
    *ret_lo = lo;
    *ret_hi = hi;
}

bool topo_contains(const struct topo *t, int32_t outer, int32_t inner)
{
    int level = topo_level(t, outer);
    while (topo_level(t, inner) > level)
        inner = t->parent[inner];
    return inner == outer;
}

int core_n_levels(const struct core *c, int32_t tree)
{
    return c->trees.p[tree]->n_levels;
}

int core_host_level(const struct core *c, int32_t tree)
{
    return c->trees.p[tree]->host_level;
}

int core_level_of(const struct core *c, int32_t tree, int32_t domain)
{
    return topo_level(c->trees.p[tree], domain);
}

int32_t core_domain_of(const struct core *c, int32_t tree, int32_t node, int level)
{
    const struct topo *t = c->trees.p[tree];
    int32_t d = t->n_domains + node;
    if (level == t->host_level)
        return t->depth[node] == t->n_levels ? d : CORE_NONE;
    if (t->depth[node] < level)
        return CORE_NONE;
    while (topo_level(t, d) > level)
        d = t->parent[d];
    return d;
}

void core_domains_at(const struct core *c, int32_t tree, int level, int32_t *ret_lo,
                     int32_t *ret_hi)
{
    const struct topo *t = c->trees.p[tree];
    *ret_lo = t->first[level];
    *ret_hi = t->first[level + 1];
}

bool core_contains(const struct core *c, int32_t tree, int32_t outer, int32_t inner)
{
    return topo_contains(c->trees.p[tree], outer, inner);
}

const int32_t *core_nodes_in(const struct core *c, int32_t tree, int32_t domain, size_t *ret_n)
{
    const struct topo *t = c->trees.p[tree];
    if (domain >= t->n_domains) {
        *ret_n = 1;
        return t->order + t->at[domain - t->n_domains];
    }
    *ret_n = (size_t)(t->hi[domain] - t->lo[domain]);
    return t->order + t->lo[domain];
}

/* ---- nodes ---- */

struct core *core_new(size_t n_resources)
{
    BUG_ON(n_resources > CORE_RES_MAX);
    struct core *c = xnew(struct core);
    c->n_resources = n_resources;
    return c;
}

/* What it counted; it counts again when it is asked for. */
static void class_fold(struct core *c, struct class *k)
{
    for (size_t i = 0; i < c->trees.len; i++) {
        struct view *v = TAKE_PTR(k->views[i]);
        for (int l = 1; v && l <= c->trees.p[i]->n_levels; l++)
            fit_done(&v->fit[l]);
        if (v)
            free(v->sum);
        free(v);
    }
    if (k->fit)
        fit_done(k->fit);
    free(TAKE_PTR(k->fit));
    free(TAKE_PTR(k->slots));
    k->seen = SIZE_MAX;
}

static void class_free(struct core *c, struct class *k)
{
    class_fold(c, k);
    free(k->admitted);
    free(k->penalty);
    free(k->counts);
    free(k->avoids);
    free(k->wants);
    free(k->spreads);
    free(k->wishes);
    free(k);
}

void core_free(struct core *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->classes.len; i++)
        class_free(c, c->classes.p[i]);
    for (size_t i = 0; i < c->trees.len; i++)
        topo_free(c->trees.p[i]);
    for (size_t i = 0; i < c->terms.len; i++) {
        sparse_done(&c->terms.p[i].count);
        free(c->terms.p[i].mask);
        free(c->terms.p[i].live);
    }
    vec_done(&c->free);
    vec_done(&c->trees);
    vec_done(&c->terms);
    vec_done(&c->classes);
    vec_done(&c->changes);
    vec_done(&c->grown);
    free(c->closed);
    free(c);
}

int32_t core_add_node(struct core *c, const int64_t *total)
{
    for (size_t r = 0; r < c->n_resources; r++)
        *vec_push(&c->free) = total[r];
    return (int32_t)c->n_nodes++;
}

size_t core_n_nodes(const struct core *c)
{
    return c->n_nodes;
}

int64_t core_free_of(const struct core *c, int32_t node, int32_t resource)
{
    return c->free.p[(size_t)node * c->n_resources + (size_t)resource];
}

/* Users write any number: sums stay at the ends of the range instead of leaving it. */
static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t mul_clamped(int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}

/* A log longer than this is dearer to follow than counting anew. */
static void note_change(struct core *c, int32_t node)
{
    if (c->changes.len > 4 * c->n_nodes + 65536) {
        vec_clear(&c->changes);
        for (size_t i = 0; i < c->classes.len; i++)
            c->classes.p[i]->seen = SIZE_MAX;
    }
    *vec_push(&c->changes) = node;
}

void core_change_total(struct core *c, int32_t node, const int64_t *delta)
{
    int64_t *free = c->free.p + (size_t)node * c->n_resources;
    bool more = false;
    for (size_t r = 0; r < c->n_resources; r++) {
        free[r] = add_clamped(free[r], delta[r]);
        more = more || delta[r] > 0;
    }
    note_change(c, node);
    if (more)
        core_grow(c, node);
}

/* ---- terms ---- */

int32_t core_add_term(struct core *c, int32_t tree, int level)
{
    const struct topo *t = c->trees.p[tree];
    bool hosts = level == t->host_level;
    int32_t n = hosts ? (int32_t)c->n_nodes : t->first[level + 1] - t->first[level];
    struct term *x = vec_push(&c->terms);
    *x = (struct term){.tree = tree, .level = level, .n = n, .n_live = n};
    sparse_init(&x->count, n);
    return (int32_t)c->terms.len - 1;
}

/* The how-manieth domain of the term's level the node is in; CORE_NONE: in none. */
static int32_t term_domain(const struct core *c, const struct term *t, int32_t node)
{
    const struct topo *tree = c->trees.p[t->tree];
    if (t->level == tree->host_level)
        return node; /* hosts count wherever they are in the tree */
    int32_t d = core_domain_of(c, t->tree, node, t->level);
    return d < 0 ? CORE_NONE : d - tree->first[t->level];
}

void core_mask_term(struct core *c, int32_t term, const uint8_t *mask)
{
    struct term *t = &c->terms.p[term];
    t->live = xcalloc((size_t)t->n_live + 1, 1);
    t->mask = xcalloc(c->n_nodes + 1, 1);
    memcpy(t->mask, mask, c->n_nodes);
    t->n_live = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        int32_t d = mask[i] ? term_domain(c, t, (int32_t)i) : CORE_NONE;
        if (d < 0 || t->live[d])
            continue;
        t->live[d] = 1;
        t->n_live++;
    }
}

int32_t term_at(const struct core *c, int32_t term, int32_t node)
{
    const struct term *t = &c->terms.p[term];
    int32_t d = term_domain(c, t, node);
    return d < 0 ? CORE_NONE : sparse_get(&t->count, d);
}

int32_t core_term_count(const struct core *c, int32_t term, int32_t node)
{
    return term_at(c, term, node);
}

static bool term_is_wide(const struct core *c, int32_t term)
{
    const struct term *t = &c->terms.p[term];
    return t->level != c->trees.p[t->tree]->host_level;
}

/* Fewest that one of the term's domains counts. */
static int32_t term_least(struct term *t)
{
    if (t->least_known)
        return t->least;
    int32_t least = t->total < t->n_live ? 0 : INT32_MAX;
    for (int32_t i = 0; least > 0 && i < t->n; i++) {
        if (!t->live || t->live[i])
            least = MIN(least, sparse_get(&t->count, i));
    }
    t->least = least == INT32_MAX ? 0 : least;
    t->least_known = true;
    return t->least;
}

static bool spread_admits(const struct core *c, const struct core_spread *s, int32_t node)
{
    struct term *t = &c->terms.p[s->term];
    int32_t d = term_domain(c, t, node);
    int32_t least = t->n_live < s->min_domains ? 0 : term_least(t);
    return d >= 0 && sparse_get(&t->count, d) + s->own - least <= s->max_skew;
}

static bool company_admits(const struct core *c, const struct class *k, int32_t node)
{
    bool there = true, first = k->sociable;
    for (size_t i = 0; i < k->n_wants; i++) {
        int32_t count = term_at(c, k->wants[i], node);
        if (count < 0)
            return false;
        there = there && count > 0;
        first = first && c->terms.p[k->wants[i]].total == 0;
    }
    return there || first;
}

bool class_admits_one(const struct core *c, const struct class *k, int32_t node)
{
    for (size_t i = 0; i < k->n_avoids; i++) {
        if (term_at(c, k->avoids[i], node) > 0)
            return false;
    }
    for (size_t i = 0; i < k->n_spreads; i++) {
        if (k->spreads[i].required && !spread_admits(c, &k->spreads[i], node))
            return false;
    }
    return company_admits(c, k, node);
}

/* ---- classes ---- */

static int32_t fit_count(const int64_t free, const struct core_amount *a, double inverse)
{
    if (free < a->amount)
        return 0;
    if (free >= INT64_C(1) << 52)
        return (int32_t)MIN(free / a->amount, (int64_t)INT32_MAX);
    int64_t q = (int64_t)((double)free * inverse);
    if (q * a->amount > free)
        q--;
    else if ((q + 1) * a->amount <= free)
        q++;
    return (int32_t)MIN(q, (int64_t)INT32_MAX);
}

/* What terms of the host say is part of the count: changes there are changes of the node. */
static bool host_terms_admit(const struct core *c, const struct class *k, int32_t node)
{
    for (size_t i = 0; i < k->n_avoids; i++) {
        if (!term_is_wide(c, k->avoids[i]) && term_at(c, k->avoids[i], node) > 0)
            return false;
    }
    return true;
}

static int32_t count_slots(const struct core *c, const struct class *k, int32_t node)
{
    if (!k->admitted[node] || (c->closed && c->closed[node]))
        return 0;
    const int64_t *free = c->free.p + (size_t)node * c->n_resources;
    int32_t slots = k->per_node;
    for (size_t i = 0; i < k->n_amounts && slots > 0; i++) {
        int32_t q = fit_count(free[k->amounts[i].resource], &k->amounts[i], k->inverse[i]);
        slots = MIN(slots, q);
    }
    if (slots > 0 && k->n_avoids > 0 && !host_terms_admit(c, k, node))
        return 0;
    return MIN(slots, MAX_SLOTS);
}

static void count_all(struct core *c, struct class *k)
{
    if (!k->slots) {
        k->slots = xcalloc(c->n_nodes + 1, sizeof(*k->slots));
        k->fit = xnew(struct fit);
        fit_init(k->fit, c->n_nodes);
    }
    c->counted += c->n_nodes;
    k->total = 0;
    memset(k->fit->heads, 0xff, sizeof(k->fit->heads));
    memset(k->fit->bits, 0, sizeof(k->fit->bits));
    for (size_t i = c->n_nodes; i-- > 0;) {
        k->slots[i] = count_slots(c, k, (int32_t)i);
        k->total += k->slots[i];
        fit_insert(k->fit, (int32_t)i, k->slots[i]);
    }
}

static void view_count(const struct core *c, const struct class *k, const struct topo *t,
                       struct view *v)
{
    memset(v->sum, 0, (size_t)t->n_domains * sizeof(*v->sum));
    for (size_t i = 0; i < c->n_nodes; i++) {
        for (int32_t d = t->parent[(size_t)t->n_domains + i]; d >= 0; d = t->parent[d])
            v->sum[d] += k->slots[i];
    }
    for (int l = 1; l <= t->n_levels; l++) {
        memset(v->fit[l].heads, 0xff, sizeof(v->fit[l].heads));
        memset(v->fit[l].bits, 0, sizeof(v->fit[l].bits));
        for (int32_t d = t->first[l + 1]; d-- > t->first[l];)
            fit_insert(&v->fit[l], d - t->first[l], v->sum[d]);
    }
}

struct view *class_view(struct core *c, struct class *k, int32_t tree)
{
    struct view *v = k->views[tree];
    if (v)
        return v;
    const struct topo *t = c->trees.p[tree];
    v = k->views[tree] = xnew(struct view);
    v->sum = xcalloc((size_t)t->n_domains, sizeof(*v->sum));
    for (int l = 1; l <= t->n_levels; l++)
        fit_init(&v->fit[l], (size_t)(t->first[l + 1] - t->first[l]));
    view_count(c, k, t, v);
    return v;
}

static void view_correct(const struct topo *t, struct view *v, int32_t node, int32_t delta)
{
    for (int32_t d = t->parent[t->n_domains + node]; d >= 0; d = t->parent[d]) {
        int l = t->level[d];
        int32_t old = v->sum[d], new = old + delta;
        v->sum[d] = new;
        if (l > 0 && fit_bucket(old) != fit_bucket(new)) {
            fit_remove(&v->fit[l], d - t->first[l], old);
            fit_insert(&v->fit[l], d - t->first[l], new);
        }
    }
}

static void recount_node(struct core *c, struct class *k, int32_t node)
{
    int32_t old = k->slots[node], new = count_slots(c, k, node);
    if (old == new)
        return;
    k->slots[node] = new;
    k->total += new - old;
    if (fit_bucket(old) != fit_bucket(new)) {
        fit_remove(k->fit, node, old);
        fit_insert(k->fit, node, new);
    }
    for (size_t i = 0; i < c->trees.len; i++) {
        if (k->views[i])
            view_correct(c->trees.p[i], k->views[i], node, new - old);
    }
}

uint64_t core_counted(const struct core *c)
{
    return c->counted;
}

void core_trim(struct core *c, size_t keep)
{
    size_t n = 0;
    for (size_t i = 0; i < c->classes.len; i++)
        n += c->classes.p[i]->slots != NULL;
    for (size_t i = 0; n > keep && i < c->classes.len; i++) {
        if (c->classes.p[i]->asked != c->trims)
            class_fold(c, c->classes.p[i]);
    }
    c->trims++;
}

void class_follow(struct core *c, struct class *k)
{
    k->asked = c->trims;
    bool anew = k->seen > c->changes.len || c->changes.len - k->seen > 2 * c->n_nodes + 64;
    if (anew) {
        count_all(c, k);
        for (size_t i = 0; i < c->trees.len; i++) {
            if (k->views[i])
                view_count(c, k, c->trees.p[i], k->views[i]);
        }
    }
    for (size_t i = k->seen; !anew && i < c->changes.len; i++)
        recount_node(c, k, c->changes.p[i]);
    k->seen = c->changes.len;
}

static void *copy(const void *p, size_t n, size_t size)
{
    void *q = xcalloc(n + 1, size);
    if (n)
        memcpy(q, p, n * size);
    return q;
}

static bool class_is_counted(const struct class *k, int32_t term)
{
    for (size_t i = 0; i < k->n_counts; i++) {
        if (k->counts[i] == term)
            return true;
    }
    return false;
}

/* What follows from its terms. */
static void class_read_terms(const struct core *c, struct class *k)
{
    k->sociable = true;
    k->looks = k->n_wants > 0;
    k->wide = k->n_spreads > 0 || k->n_wants > 0 || k->n_wishes > 0 || k->penalty != NULL;
    for (size_t i = 0; i < k->n_wants; i++)
        k->sociable = k->sociable && class_is_counted(k, k->wants[i]);
    for (size_t i = 0; i < k->n_spreads; i++) {
        k->spreads[i].own = class_is_counted(k, k->spreads[i].term);
        k->looks = k->looks || k->spreads[i].required;
    }
    for (size_t i = 0; i < k->n_avoids; i++)
        k->wide = k->wide || term_is_wide(c, k->avoids[i]);
}

int32_t core_add_class(struct core *c, const struct core_class_def *def)
{
    struct class *k = xnew(struct class);
    BUG_ON(def->n_amounts > CORE_RES_MAX);
    k->n_amounts = def->n_amounts;
    for (size_t i = 0; i < def->n_amounts; i++) {
        k->amounts[i] = def->amounts[i];
        k->inverse[i] = 1.0 / (double)def->amounts[i].amount;
    }
    k->admitted = def->admitted ? copy(def->admitted, c->n_nodes, 1) : xcalloc(c->n_nodes + 1, 1);
    k->penalty = def->penalty ? copy(def->penalty, c->n_nodes, 1) : NULL;
    k->even = def->even;
    k->per_node = def->per_node;
    k->counts = copy(def->counts, k->n_counts = def->n_counts, sizeof(int32_t));
    k->avoids = copy(def->avoids, k->n_avoids = def->n_avoids, sizeof(int32_t));
    k->wants = copy(def->wants, k->n_wants = def->n_wants, sizeof(int32_t));
    k->spreads = copy(def->spreads, k->n_spreads = def->n_spreads, sizeof(*def->spreads));
    k->wishes = copy(def->wishes, k->n_wishes = def->n_wishes, sizeof(*def->wishes));
    class_read_terms(c, k);
    k->seen = SIZE_MAX;
    c->counted += c->n_nodes; /* whoever made it looked at each */
    c->n_looking += k->n_spreads + k->n_wants > 0;
    *vec_push(&c->classes) = k;
    return (int32_t)c->classes.len - 1;
}

void core_set_admitted(struct core *c, int32_t cls, int32_t node, bool admitted)
{
    struct class *k = c->classes.p[cls];
    if (k->admitted[node] == admitted)
        return;
    k->admitted[node] = admitted;
    note_change(c, node);
    if (admitted)
        core_grow(c, node);
}

bool core_set_penalty(struct core *c, int32_t cls, int32_t node, uint8_t penalty)
{
    struct class *k = c->classes.p[cls];
    if (k->penalty)
        k->penalty[node] = penalty;
    return k->penalty || penalty == k->even;
}

void core_close(struct core *c, int32_t node, bool closed)
{
    if (!c->closed)
        c->closed = xcalloc(c->n_nodes, sizeof(*c->closed));
    if (c->closed[node] == closed)
        return;
    c->closed[node] = closed;
    note_change(c, node);
}

bool core_is_closed(const struct core *c, int32_t node)
{
    return c->closed && c->closed[node];
}

void core_take(struct core *c, int32_t cls, int32_t node, int32_t count)
{
    const struct class *k = c->classes.p[cls];
    int64_t *free = c->free.p + (size_t)node * c->n_resources;
    for (size_t i = 0; i < k->n_amounts; i++) {
        int64_t *f = &free[k->amounts[i].resource];
        *f = add_clamped(*f, mul_clamped(-(int64_t)count, k->amounts[i].amount));
    }
    for (size_t i = 0; i < k->n_counts; i++) {
        struct term *t = &c->terms.p[k->counts[i]];
        int32_t d = t->mask && !t->mask[node] ? CORE_NONE : term_domain(c, t, node);
        if (d < 0)
            continue;
        t->total += count;
        sparse_add(&t->count, d, count);
        t->least_known = false;
    }
    note_change(c, node);
}

int32_t core_slots(struct core *c, int32_t cls, int32_t node)
{
    return class_now(c, cls)->slots[node];
}

bool core_admits(struct core *c, int32_t cls, int32_t node)
{
    const struct class *k = class_now(c, cls);
    return k->slots[node] > 0 && (!k->wide || class_admits_one(c, k, node));
}

int64_t core_amount_of(const struct core *c, int32_t cls, int32_t resource)
{
    const struct class *k = c->classes.p[cls];
    for (size_t i = 0; i < k->n_amounts; i++) {
        if (k->amounts[i].resource == resource)
            return k->amounts[i].amount;
    }
    return 0;
}

int32_t core_per_node(const struct core *c, int32_t cls)
{
    return c->classes.p[cls]->per_node;
}

bool core_is_admitted(const struct core *c, int32_t cls, int32_t node)
{
    return c->classes.p[cls]->admitted[node];
}

int32_t core_sum(struct core *c, int32_t cls, int32_t tree, int32_t domain)
{
    struct class *k = class_now(c, cls);
    return view_sum(k, class_view(c, k, tree), c->trees.p[tree], domain);
}

int32_t core_most_at(struct core *c, int32_t cls, int32_t tree, int level)
{
    const struct topo *t = c->trees.p[tree];
    struct class *k = class_now(c, cls);
    const struct view *v = class_view(c, k, tree);
    bool hosts = level == t->host_level;
    if (level == 0)
        return v->sum[0];
    const struct fit *f = hosts ? k->fit : &v->fit[level];
    const int32_t *sums = hosts ? k->slots : v->sum + t->first[level];
    int b = fit_last(f);
    int32_t most = 0;
    for (int32_t m = b < 0 ? CORE_NONE : f->heads[b]; m >= 0; m = f->next[m])
        most = MAX(most, sums[m]);
    return most;
}

/* The domains of the level, or hosts, inside the domain: those from *ret_lo to *ret_hi - 1. */
static void inside(const struct topo *t, int32_t domain, int level, int32_t *ret_lo,
                   int32_t *ret_hi)
{
    if (level != t->host_level) {
        topo_inside(t, domain, level, ret_lo, ret_hi);
        return;
    }
    *ret_lo = t->lo[domain];
    *ret_hi = t->hi[domain];
}

int32_t core_best_in(struct core *c, int32_t cls, int32_t tree, int level, int32_t within)
{
    const struct topo *t = c->trees.p[tree];
    struct class *k = class_now(c, cls);
    const struct view *v = class_view(c, k, tree);
    bool hosts = level == t->host_level;
    int32_t lo, hi, best = within, most = 0;
    if (level <= topo_level(t, within))
        return within;
    if (within == 0 && !hosts) {
        int b = fit_last(&v->fit[level]);
        return b <= 0 ? within : t->first[level] + v->fit[level].heads[b];
    }
    inside(t, within, level, &lo, &hi);
    for (int32_t i = lo; i < hi; i++) {
        int32_t d = hosts ? t->n_domains + t->order[i] : i, sum = view_sum(k, v, t, d);
        if (sum > most && (!hosts || t->depth[t->order[i]] == t->n_levels)) {
            best = d;
            most = sum;
        }
    }
    return best;
}

bool core_is_consistent(struct core *c)
{
    for (size_t i = 0; i < c->classes.len; i++) {
        struct class *k = class_now(c, (int32_t)i);
        for (size_t n = 0; n < c->n_nodes; n++) {
            if (k->slots[n] != count_slots(c, k, (int32_t)n))
                return false;
        }
        for (size_t x = 0; x < c->trees.len; x++) {
            const struct topo *t = c->trees.p[x];
            for (int32_t d = 0; k->views[x] && d < t->n_domains; d++) {
                int64_t sum = 0;
                for (int32_t p = t->lo[d]; p < t->hi[d]; p++)
                    sum += k->slots[t->order[p]];
                if (k->views[x]->sum[d] != sum)
                    return false;
            }
        }
    }
    return true;
}
