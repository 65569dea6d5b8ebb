/*
 * Greedy placement with an undo log. A pod goes to the admitting node with the largest free share
 * of its scarcest resource, so pods of one gang spread as they do under kube-scheduler's default;
 * equal nodes are taken in name order.
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

static ptrdiff_t best_node(const struct snapshot *s, const struct obj *pod, const struct demand *d)
{
    ptrdiff_t best = -1;
    int64_t best_share = -1;
    for (size_t i = 0; i < s->nodes.len; i++) {
        const struct snap_node *n = &s->nodes.p[i];
        if (!node_fits(s, n, d))
            continue;
        int64_t share = share_left(s, n, d);
        if (share > best_share && node_admits(n, pod)) {
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

static bool place_pod(struct snapshot *s, const struct obj *pod, struct place_result *ret)
{
    struct demand d;
    if (!snapshot_demand(s, pod, &d, &ret->why))
        return false;
    ptrdiff_t i = best_node(s, pod, &d);
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
static bool place_minimum(struct snapshot *s, const struct place_group *g, struct place_result *ret)
{
    if ((int64_t)g->n_pods < g->need) {
        ret->why = arena_printf(s->arena, "%.*s has %zu pods to place and needs %lld",
                                STR_ARG(g->name), g->n_pods, (long long)g->need);
        return false;
    }
    for (int64_t i = 0; i < g->need; i++) {
        if (place_pod(s, g->pods[i], ret))
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

void place_gang(struct snapshot *s, const struct place_group *groups, size_t n,
                struct place_result *ret)
{
    *ret = (struct place_result){.whole = true};
    for (size_t i = 0; i < n && ret->whole; i++)
        ret->whole = place_minimum(s, &groups[i], ret);
    if (!ret->whole) {
        undo(s, ret);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = (size_t)groups[i].need; k < groups[i].n_pods; k++) {
            if (!place_pod(s, groups[i].pods[k], ret))
                break;
        }
    }
}

void place_done(struct place_result *r)
{
    vec_done(&r->placed);
}
