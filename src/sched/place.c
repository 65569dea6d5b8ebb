/*
 * Greedy placement with an undo log. A pod goes to the admitting node with the largest free share
 * of its scarcest resource, so pods of one gang spread as they do under kube-scheduler's default.
 * Spreading small pods can leave no whole node for a large one; a gang that does not fit so is
 * tried once more, the largest pods first, each on the node it fills best. Equal nodes are taken in
 * name order.
 */
#include "sched/place.h"

/* Free share of the resource the pod would make scarcest, in parts of a million. */
static int64_t share_left(const struct snapshot *s, const struct snap_node *n,
                          const struct demand *d)
{
    int64_t least = INT64_MAX;
    for (size_t r = 0; r < s->n_resources; r++) {
        if (d->amount[r] <= 0 || n->total[r] <= 0)
            continue;
        int64_t left = n->free[r] - d->amount[r];
        int64_t share = (int64_t)((__int128)left * 1000000 / n->total[r]);
        least = MIN(least, share);
    }
    return least;
}

static ptrdiff_t best_node(const struct snapshot *s, const struct obj *pod, const struct demand *d,
                           bool pack)
{
    ptrdiff_t best = -1;
    int64_t best_share = 0;
    for (size_t i = 0; i < s->nodes.len; i++) {
        const struct snap_node *n = &s->nodes.p[i];
        if (!node_fits(s, n, d))
            continue;
        int64_t share = share_left(s, n, d);
        bool better = best < 0 || (pack ? share < best_share : share > best_share);
        if (better && node_admits(n, pod)) {
            best = (ptrdiff_t)i;
            best_share = share;
        }
    }
    return best;
}

/* What stands in the way of one more pod: how many nodes refuse it, and of the others, which
 * resource most of them lack. */
static str explain(const struct snapshot *s, const struct obj *pod, const struct demand *d)
{
    size_t lacking[RES_MAX] = {0}, refused = 0, worst = RES_PODS;
    for (size_t i = 0; i < s->nodes.len; i++) {
        const struct snap_node *n = &s->nodes.p[i];
        if (!node_admits(n, pod)) {
            refused++;
            continue;
        }
        for (size_t r = 0; r < s->n_resources; r++)
            lacking[r] += d->amount[r] > 0 && d->amount[r] > n->free[r];
    }
    for (size_t r = 0; r < s->n_resources; r++) {
        if (lacking[r] > lacking[worst])
            worst = r;
    }
    if (refused == s->nodes.len)
        return arena_printf(s->arena, "none of %zu nodes admits it (taints, selector or readiness)",
                            s->nodes.len);
    return arena_printf(s->arena, "%zu of %zu nodes lack %.*s, %zu do not admit it", lacking[worst],
                        s->nodes.len, STR_ARG(s->resources[worst]), refused);
}

static bool place_pod(struct snapshot *s, const struct obj *pod, bool pack,
                      struct place_result *ret)
{
    struct demand d;
    if (!snapshot_demand(s, pod, &d, &ret->why))
        return false;
    ptrdiff_t i = best_node(s, pod, &d, pack);
    if (i < 0) {
        ret->why = explain(s, pod, &d);
        return false;
    }
    node_take(s, &s->nodes.p[i], &d);
    *vec_push(&ret->placed) = (struct placement){pod, (size_t)i};
    return true;
}

static void undo(struct snapshot *s, struct place_result *ret)
{
    while (ret->placed.len > 0) {
        struct placement p = vec_pop(&ret->placed);
        struct demand d;
        str why;
        (void)snapshot_demand(s, p.pod, &d, &why);
        node_give(s, &s->nodes.p[p.node], &d);
    }
}

/* The group's minimum; false when it cannot be had now. */
static bool place_minimum(struct snapshot *s, const struct place_group *g, bool pack,
                          struct place_result *ret)
{
    for (int64_t i = 0; i < g->need; i++) {
        if (place_pod(s, g->pods[i], pack, ret))
            continue;
        ret->why =
            arena_printf(s->arena,
                         "%.*s: %lld of the %lld pods it needs fit; for the next, "
                         "%.*s",
                         STR_ARG(g->name), (long long)i, (long long)g->need, STR_ARG(ret->why));
        return false;
    }
    return true;
}

static bool have_enough(struct snapshot *s, const struct place_group *groups, size_t n,
                        struct place_result *ret)
{
    for (size_t i = 0; i < n; i++) {
        const struct place_group *g = &groups[i];
        if ((int64_t)g->n_pods >= g->need)
            continue;
        ret->why = arena_printf(s->arena, "%.*s has %zu pods to place and needs %lld",
                                STR_ARG(g->name), g->n_pods, (long long)g->need);
        return false;
    }
    return true;
}

struct sized_group {
    const struct place_group *group;
    int64_t size; /* of one pod: its largest share of the largest node, in parts of a million */
};

static int cmp_sizes(const void *a, const void *b)
{
    const struct sized_group *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

static int64_t size_of(struct snapshot *s, const struct place_group *g)
{
    struct demand d;
    str why;
    int64_t size = 0;
    if (g->need == 0 || !snapshot_demand(s, g->pods[0], &d, &why))
        return 0;
    for (size_t r = 0; r < s->n_resources; r++) {
        int64_t largest = 1;
        for (size_t i = 0; i < s->nodes.len; i++)
            largest = MAX(largest, s->nodes.p[i].total[r]);
        size = MAX(size, (int64_t)((__int128)d.amount[r] * 1000000 / largest));
    }
    return size;
}

static bool place_packed(struct snapshot *s, const struct place_group *groups, size_t n,
                         struct place_result *ret)
{
    struct sized_group *order = arena_array(s->arena, struct sized_group, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct sized_group){&groups[i], size_of(s, &groups[i])};
    qsort(order, n, sizeof(*order), cmp_sizes);
    for (size_t i = 0; i < n; i++) {
        if (!place_minimum(s, order[i].group, true, ret))
            return false;
    }
    return true;
}

static bool place_spread(struct snapshot *s, const struct place_group *groups, size_t n,
                         struct place_result *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (!place_minimum(s, &groups[i], false, ret))
            return false;
    }
    return true;
}

void place_gang(struct snapshot *s, const struct place_group *groups, size_t n,
                struct place_result *ret)
{
    *ret = (struct place_result){0};
    if (!have_enough(s, groups, n, ret))
        return;
    ret->whole = place_spread(s, groups, n, ret);
    if (!ret->whole) {
        str why = ret->why;
        undo(s, ret);
        ret->whole = place_packed(s, groups, n, ret);
        ret->why = ret->whole ? STR_NONE : why; /* the plainer of the two */
    }
    if (!ret->whole) {
        undo(s, ret);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)groups[i].need;
        while (k < groups[i].n_pods && place_pod(s, groups[i].pods[k], false, ret))
            k++;
        ret->left_out += groups[i].n_pods - k;
    }
}

void place_done(struct place_result *r)
{
    vec_done(&r->placed);
}
