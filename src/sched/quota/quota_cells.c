/*
 * Cells: a queue may be promised whole domains of a topology level. A quota in GPUs can be kept to
 * the letter with GPUs in pieces that no gang fits; a rack that nobody else may enter cannot.
 *
 * In every round the cells of a queue are chosen anew, those first in which it already is, then
 * domains in which nobody is, in order. Where others are, they stay: a promise made later than they
 * came is kept as domains become free. While a gang is placed, the cells of queues it is not in are
 * closed; it may use all others, and its own.
 */
#include "sched/quota/queue_quota.h"

struct cell_pick {
    int32_t domain;
    int32_t mine;
};

static int cmp_picks(const void *a, const void *b)
{
    const struct cell_pick *x = a, *y = b;
    if (x->mine != y->mine)
        return x->mine > y->mine ? -1 : 1;
    return x->domain < y->domain ? -1 : x->domain > y->domain;
}

/* How many pods of the queue are there; -1: it cannot be its cell, somebody else is there. */
static int32_t count_mine(struct tables *t, int32_t tree, int32_t domain, int32_t queue)
{
    size_t n;
    int32_t mine = 0;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &n);
    for (size_t i = 0; i < n; i++) {
        if (t->quota.owner[nodes[i]] >= 0)
            return -1;
        list_foreach (it, &t->on_node[nodes[i]]) {
            const struct tpod *p = list_entry(it, struct tpod, on_node);
            if (!tables_serve(t, p->obj))
                continue; /* a daemon is on every node */
            if (!quota_is_below(t, quota_of(t, p->gang), queue))
                return -1;
            mine++;
        }
    }
    return n > 0 ? mine : -1;
}

/* The tree and level of a label key; 0: no topology has it. */
static int find_level(const struct tables *t, str key, int32_t *ret_tree)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        for (int l = 0; l < t->trees.p[i].n_levels; l++) {
            if (str_eq(t->trees.p[i].keys[l], key)) {
                *ret_tree = (int32_t)i;
                return l + 1;
            }
        }
    }
    return 0;
}

static void take_cell(struct tables *t, int32_t tree, int32_t domain, int32_t queue)
{
    size_t n;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &n);
    for (size_t i = 0; i < n; i++) {
        t->quota.owner[nodes[i]] = queue;
        *vec_push(&t->quota.owned) = nodes[i];
    }
}

static void choose_cells_of(struct round *r, int32_t queue, str key, int64_t count)
{
    struct tables *t = r->tables;
    int32_t tree = 0, lo, hi;
    int level = find_level(t, key, &tree);
    if (level == 0)
        return;
    core_domains_at(t->core, tree, level, &lo, &hi);
    struct cell_pick *picks = arena_array(r->plan->arena, struct cell_pick, hi - lo + 1);
    size_t n = 0;
    for (int32_t d = lo; d < hi; d++) {
        int32_t mine = count_mine(t, tree, d, queue);
        if (mine >= 0)
            picks[n++] = (struct cell_pick){d, mine};
    }
    qsort(picks, n, sizeof(*picks), cmp_picks);
    for (size_t i = 0; i < n && (int64_t)i < count; i++)
        take_cell(t, tree, picks[i].domain, queue);
}

void quota_choose_cells(struct round *r)
{
    struct tables *t = r->tables;
    struct tquota *k = &t->quota;
    quota_open_for(t, NULL);
    vec_clear(&k->owned);
    if (!k->owner)
        k->owner = xcalloc(t->snap.nodes.len + 1, sizeof(*k->owner));
    for (size_t i = 0; i < t->snap.nodes.len; i++)
        k->owner[i] = -1;
    for (size_t i = 0; i < k->n; i++) {
        const struct quota_queue *q = &k->config->list.p[i];
        for (size_t c = 0; c < q->n_cells; c++)
            choose_cells_of(r, (int32_t)i, q->cells[c].level, q->cells[c].count);
    }
}

void quota_open_for(struct tables *t, struct tgang *g)
{
    struct tquota *k = &t->quota;
    int32_t queue = g && k->owned.len > 0 ? quota_of(t, g) : -1;
    if (k->open_for == queue)
        return;
    k->open_for = queue;
    for (size_t i = 0; i < k->owned.len; i++) {
        int32_t node = k->owned.p[i];
        core_close(t->core, node, queue >= 0 && !quota_is_below(t, queue, k->owner[node]));
    }
}
