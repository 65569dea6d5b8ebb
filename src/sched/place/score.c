/*
 * Distances; see score.h. Counted per domain, not per pair. The ideal is found by filling hosts
 * like the best one for the part's hardest class one after another, as many to a domain as the
 * domain that has most of them: exact where hosts are alike, and a little optimistic where they are
 * not.
 */
#include "sched/place/score.h"

enum { PARTS_SAID = 8 };

struct part_pods {
    VEC(int32_t) nodes;
    VEC(int32_t) classes; /* of the same pods */
};

/* ---- cost ---- */

static int cmp_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static double pairs(double n)
{
    return n * (n - 1) / 2;
}

/* Pairs with equal ids; ids below 0 equal none. Sorts them. */
static double equal_pairs(int32_t *ids, size_t n)
{
    double sum = 0;
    qsort(ids, n, sizeof(*ids), cmp_ids);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && ids[k] == ids[i]; k++)
            ;
        sum += ids[i] < 0 ? 0 : pairs((double)(k - i));
    }
    return sum;
}

/* together[l]: pairs that share a domain of level l, from the root (all of them) to the host. */
static double mean_distance(const double *together, int host)
{
    double sum = 0, weight = 1;
    for (int l = host - 1; l >= 0; l--, weight *= 4)
        sum += (together[l] - together[l + 1]) * weight;
    return together[0] > 0 ? sum / together[0] : 0;
}

static double cost_of(const struct tables *t, int32_t tree, const struct part_pods *p,
                      int32_t *scratch)
{
    double together[CORE_LEVELS_MAX + 2] = {0};
    int host = MIN(core_host_level(t->core, tree), CORE_LEVELS_MAX + 1);
    size_t n = p->nodes.len;
    together[0] = pairs((double)n);
    for (int l = 1; l <= host; l++) {
        for (size_t i = 0; i < n; i++)
            scratch[i] =
                l == host ? p->nodes.p[i] : core_domain_of(t->core, tree, p->nodes.p[i], l);
        together[l] = equal_pairs(scratch, n);
    }
    return mean_distance(together, host);
}

/* ---- ideal ---- */

static int64_t host_takes(const struct tables *t, int32_t cls, const int64_t *free)
{
    int64_t most = core_per_node(t->core, cls);
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
        if (amount > 0)
            most = MIN(most, MAX(0, free[r]) / amount);
    }
    return most;
}

/* The host that takes most of a class when empty, and how many hosts that take some a domain of
 * each level has at most. */
static const struct tideal *ideal_of(struct tables *t, int32_t cls, int32_t tree)
{
    struct tclass *k = tables_class(t, cls);
    struct tideal *d = &k->ideal;
    if (d->known && d->tree == tree)
        return d;
    int64_t most = 0;
    int levels = core_n_levels(t->core, tree);
    *d = (struct tideal){.known = true, .tree = tree, .node = CORE_NONE};
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        int64_t takes = host_takes(t, cls, t->snap.nodes.p[i].total);
        if (takes > most && core_is_admitted(t->core, cls, (int32_t)i)) {
            most = takes;
            d->node = (int32_t)i;
        }
    }
    for (int l = 0; l <= levels; l++) {
        int32_t lo, hi;
        core_domains_at(t->core, tree, l, &lo, &hi);
        for (int32_t x = lo; x < hi; x++) {
            size_t n;
            int64_t hosts = 0;
            const int32_t *nodes = core_nodes_in(t->core, tree, x, &n);
            for (size_t i = 0; i < n; i++)
                hosts += core_is_admitted(t->core, cls, nodes[i]) &&
                         host_takes(t, cls, t->snap.nodes.p[nodes[i]].total) > 0;
            d->hosts[l] = MAX(d->hosts[l], hosts);
        }
    }
    return d;
}

/* A host being filled. */
struct fill {
    int64_t free[RES_MAX];
    int32_t pods;
};

struct fills {
    VEC(struct fill) hosts;
    const int64_t *total; /* what each has */
};

/* Puts up to `left` pods of the class there. */
static size_t fill_host(const struct tables *t, struct fill *h, int32_t cls, size_t left)
{
    size_t n = MIN(left, (size_t)host_takes(t, cls, h->free));
    for (size_t r = 0; r < t->snap.n_resources; r++)
        h->free[r] -= (int64_t)n * core_amount_of(t->core, cls, (int32_t)r);
    h->pods += (int32_t)n;
    return n;
}

/* The first hosts that take some, then new ones. One that takes none even so is elsewhere, alone.
 */
static void fill_class(const struct tables *t, struct fills *f, int32_t cls, size_t left)
{
    for (size_t h = 0; left > 0; h++) {
        bool new = h == f->hosts.len;
        if (new) {
            struct fill *x = vec_push(&f->hosts);
            memcpy(x->free, f->total, sizeof(x->free));
            x->pods = 0;
        }
        size_t put = fill_host(t, &f->hosts.p[h], cls, left);
        if (new &&put == 0)
            f->hosts.p[h].pods += (int32_t)(put = 1);
        left -= put;
    }
}

/* The class of which the best host takes fewest. */
static int32_t hardest_of(struct tables *t, int32_t tree, const struct part_pods *p)
{
    int32_t hardest = CORE_NONE;
    int64_t fewest = INT64_MAX;
    for (size_t i = 0; i < p->classes.len; i++) {
        int32_t cls = p->classes.p[i];
        if (i > 0 && cls == p->classes.p[i - 1])
            continue;
        const struct tideal *d = ideal_of(t, cls, tree);
        int64_t takes =
            d->node == CORE_NONE ? 0 : host_takes(t, cls, t->snap.nodes.p[d->node].total);
        if (takes < fewest) {
            fewest = takes;
            hardest = cls;
        }
    }
    return hardest;
}

static double fills_cost(const struct fills *f, const struct tideal *like, int levels, size_t n,
                         int32_t *scratch)
{
    double together[CORE_LEVELS_MAX + 2];
    together[0] = pairs((double)n);
    for (int l = 1; l <= levels + 1; l++) {
        size_t at = 0;
        int64_t per = l > levels ? 1 : MAX(1, like->hosts[l]);
        for (size_t h = 0; h < f->hosts.len; h++) {
            for (int32_t i = 0; i < f->hosts.p[h].pods && at < n; i++)
                scratch[at++] = (int32_t)((int64_t)h / per);
        }
        together[l] = equal_pairs(scratch, at);
    }
    return mean_distance(together, levels + 1);
}

static double ideal_cost(struct tables *t, int32_t tree, struct part_pods *p, int32_t *scratch)
{
    struct fills f = {.total = NULL};
    size_t n = p->classes.len;
    qsort(p->classes.p, n, sizeof(int32_t), cmp_ids);
    int32_t hardest = hardest_of(t, tree, p);
    const struct tideal *like = hardest == CORE_NONE ? NULL : ideal_of(t, hardest, tree);
    if (!like || like->node == CORE_NONE)
        return 0;
    f.total = t->snap.nodes.p[like->node].total;
    for (size_t turn = 0; turn < 2; turn++) { /* the hardest first */
        for (size_t i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && p->classes.p[k] == p->classes.p[i]; k++)
                ;
            if ((p->classes.p[i] == hardest) == (turn == 0))
                fill_class(t, &f, p->classes.p[i], k - i);
        }
    }
    double cost = fills_cost(&f, like, core_n_levels(t->core, tree), n, scratch);
    vec_done(&f.hosts);
    return cost;
}

/* ---- parts ---- */

static void add_group(struct part_pods *p, const struct ask_group *g)
{
    for (size_t i = 0; i < g->n_members; i++) {
        const struct tpod *m = g->members[i];
        if (m->node == CORE_NONE || m->obj->deleting)
            continue;
        *vec_push(&p->nodes) = m->node;
        *vec_push(&p->classes) = m->cls;
    }
}

/* 0: the gang; then bundles, then groups. */
static void gather(const struct ask *q, size_t part, struct part_pods *ret)
{
    vec_clear(&ret->nodes);
    vec_clear(&ret->classes);
    for (size_t i = 0; i < q->n_groups; i++) {
        const struct ask_group *g = &q->groups[i];
        if (part == 0 ||
            (part <= q->n_bundles ? g->bundle == (int32_t)part - 1 : i == part - 1 - q->n_bundles))
            add_group(ret, g);
    }
}

double score_of(const struct ask *q, struct tables *t)
{
    struct part_pods p = {0};
    double sum = 0, weights = 0;
    gather(q, 0, &p);
    int32_t *scratch = xcalloc(p.nodes.len + 1, sizeof(*scratch));
    for (size_t i = 0; i < 1 + q->n_bundles + q->n_groups; i++) {
        gather(q, i, &p);
        double w = (double)p.nodes.len;
        if (w < 1)
            continue;
        double cost = cost_of(t, q->tree, &p, scratch);
        double ideal = ideal_cost(t, q->tree, &p, scratch);
        sum += w * MIN(1.0, (ideal + 1) / (cost + 1));
        weights += w;
    }
    free(scratch);
    vec_done(&p.nodes);
    vec_done(&p.classes);
    return weights > 0 ? (double)(int64_t)(sum / weights * 10000 + 0.5) / 10000 : -1;
}

int score_level(const struct tables *t, int32_t tree, const int32_t *nodes, size_t n)
{
    int level = core_host_level(t->core, tree);
    for (size_t i = 1; i < n && level > 0; i++) {
        while (level > 0 && nodes[i] != nodes[0] &&
               (core_domain_of(t->core, tree, nodes[i], level) == CORE_NONE ||
                core_domain_of(t->core, tree, nodes[i], level) !=
                    core_domain_of(t->core, tree, nodes[0], level)))
            level--;
    }
    return level;
}

static str level_text(const struct tables *t, int32_t tree, int level, struct arena *a)
{
    return level == 0 ? STR("over several domains")
                      : arena_printf(a, "in one %.*s", STR_ARG(tables_level_key(t, tree, level)));
}

str score_text(const struct ask *q, struct tables *t, struct arena *a)
{
    struct part_pods p = {0};
    str text = STR_NONE;
    size_t said = 0;
    for (size_t i = 0; i < 1 + q->n_bundles + q->n_groups && said < PARTS_SAID; i++) {
        const struct core_scope *s = i == 0              ? &q->scope
                                     : i <= q->n_bundles ? &q->bundles[i - 1]
                                                         : &q->groups[i - 1 - q->n_bundles].scope;
        gather(q, i, &p);
        if (p.nodes.len == 0 || (i > 0 && s->req == 0 && s->pref == 0))
            continue;
        str where = level_text(t, q->tree, score_level(t, q->tree, p.nodes.p, p.nodes.len), a);
        str name = i <= q->n_bundles && i > 0 ? q->bundle_names[i - 1]
                   : i > 0                    ? q->groups[i - 1 - q->n_bundles].name
                                              : STR_NONE;
        text = i == 0 ? arena_printf(a, "placed %.*s", STR_ARG(where))
                      : arena_printf(a, "%.*s; %.*s %.*s", STR_ARG(text), STR_ARG(name),
                                     STR_ARG(where));
        said++;
    }
    vec_done(&p.nodes);
    vec_done(&p.classes);
    return text;
}
