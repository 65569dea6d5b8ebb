/*
 * Which of the lost nodes lose their pods, and when: see node_control.h. Key: a zone, by the labels
 * of its nodes ("region/zone"; nodes without them are in one of their own).
 *
 * A node that was lost alone has probably died; when many of a zone are lost at once, it is more
 * probably the network, or us. So nodes get the taint NoExecute one after the other:
 *
 *   zone                                              one node in
 *   less than 55 % of its nodes, or two, are lost     10 s
 *   55 % and more, in a zone of more than 50 nodes    100 s
 *   55 % and more, in a smaller one                   never
 *   all of them, and other zones have nodes           10 s
 *   all nodes of all zones                            never, and those that have the taint lose it
 *
 * When the last one was tainted is read from the taints, so nothing is remembered. A node that comes
 * back takes its taint with it, so no other one is tainted for as long after that.
 *
 * Example: three of twenty nodes of a zone die together. One is tainted at once, one 10 s and one
 * 20 s later; pods with tolerationSeconds of 0 on the last one go 20 s after those on the first.
 */
#include "controllers/node_control_impl.h"

#define INTERVAL (10 * USEC_PER_SEC)
#define INTERVAL_LARGE (100 * USEC_PER_SEC)
#define NEVER (-1)
enum { LARGE = 50, UNHEALTHY_PERCENT = 55, FEW = 2 };

/* ---- zones ---- */

#define ALL "*" /* the key of all zones together */

static str zone_of(const struct obj *node, struct arena *a)
{
    return arena_cat(a, obj_label(node, STR("topology.kubernetes.io/region")), STR("/"),
                     obj_label(node, STR("topology.kubernetes.io/zone")));
}

static void index_by_zone(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max < 2)
        return;
    keys[(*n)++] = zone_of(o, a);
    keys[(*n)++] = STR(ALL);
}

static void index_lost(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (node_lost_taint(o))
        index_by_zone(o, a, keys, max, n);
}

struct zone {
    int64_t ready, lost;
};

static void count(void *agg, const struct obj *node, int64_t by)
{
    struct zone *z = agg;
    z->ready += node_is_ready(node) ? by : 0;
    z->lost += node_lost_taint(node) ? by : 0;
}

static void count_add(void *agg, const struct obj *node)
{
    count(agg, node, 1);
}

static void count_remove(void *agg, const struct obj *node)
{
    count(agg, node, -1);
}

static const struct cache_fold_def zone_counts = {
    .index = index_by_zone,
    .size = sizeof(struct zone),
    .add = count_add,
    .remove = count_remove,
};

static const struct zone *zone_get(const struct world *w, str key)
{
    static const struct zone none;
    const struct zone *z = cache_fold(world_cache(w, &kind_node), &zone_counts, key);
    return z ? z : &none;
}

static usec interval_of(const struct zone *z)
{
    int64_t nodes = z->ready + z->lost;
    if (z->ready == 0 || z->lost <= FEW || z->lost * 100 < nodes * UNHEALTHY_PERCENT)
        return INTERVAL;
    return nodes > LARGE ? INTERVAL_LARGE : NEVER;
}

/* ---- plans ---- */

static jval lost_taint_of(const struct obj *node)
{
    return node_taint(node, node_lost_taint(node), "NoExecute");
}

/* Since when the node is lost, by its own time; only to have an order. */
static str lost_at(const struct obj *node)
{
    jval c = condition_find(jgetc(obj_status(node), "conditions"), STR("Ready"));
    return jstr(jgetc(c, "lastTransitionTime"));
}

/* Nobody new comes to it: node_lifecycle.c has written its taint, so we write ours. */
static bool is_closed(const struct obj *node)
{
    return j_has(node_taint(node, node_lost_taint(node), "NoSchedule"));
}

/* The one that was lost first of those that have no taint yet, and when the last one got it. */
static const struct obj *next_node(const struct world *w, str zone, usec *ret_last)
{
    const struct obj *next = NULL;
    usec since;
    *ret_last = 0;
    struct cache_iter it = cache_by(world_cache(w, &kind_node), index_lost, zone);
    for (const struct obj *node; (node = cache_next(&it));) {
        jval taint = lost_taint_of(node);
        if (!j_has(taint) && is_closed(node) &&
            (!next || str_cmp(lost_at(node), lost_at(next)) < 0))
            next = node;
        if (j_has(taint) && taint_since(w, node, taint, &since))
            *ret_last = MAX(*ret_last, since);
    }
    return next;
}

static void plan_taint(const struct world *w, const struct obj *node, struct plan *p)
{
    struct jw out;
    taints_begin(&out);
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);)
        jw_val(&out, it.value);
    taint_put(&out, node_lost_taint(node), "NoExecute", w->now);
    plan_why(taints_end(&out, p, node), p, "it is not ready, and its turn has come");
}

static void plan_no_taint(const struct obj *node, struct plan *p)
{
    struct jw out;
    taints_begin(&out);
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        if (!taint_is(it.value, node_lost_taint(node), "NoExecute"))
            jw_val(&out, it.value);
    }
    plan_why(taints_end(&out, p, node), p, "no node of any zone is ready");
}

static void plan_nothing_left(const struct world *w, str zone, struct plan *p)
{
    struct cache_iter it = cache_by(world_cache(w, &kind_node), index_lost, zone);
    for (const struct obj *node; (node = cache_next(&it));) {
        if (j_has(lost_taint_of(node)))
            plan_no_taint(node, p);
    }
}

/* When the node was ready again; 0: it is not, or has been since it came to be. */
static usec back_since(const struct world *w, const struct obj *node)
{
    jval c = condition_find(jgetc(obj_status(node), "conditions"), STR("Ready"));
    usec wall;
    if (!node_is_ready(node) || !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &wall))
        return 0;
    usec since = world_moment_in(w, node, wall);
    return since > world_created(w, node) + INTERVAL ? since : 0;
}

/* No node of the zone came back a moment ago. */
static bool is_settled(const struct world *w, str zone, usec interval, struct plan *p)
{
    usec last = 0;
    struct cache_iter it = cache_by(world_cache(w, &kind_node), index_by_zone, zone);
    for (const struct obj *node; (node = cache_next(&it));)
        last = MAX(last, back_since(w, node));
    return last == 0 || world_has_passed(w, last, interval, p);
}

static void zone_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    (void)ctx;
    usec last, interval = interval_of(zone_get(w, key->name));
    if (zone_get(w, STR(ALL))->ready == 0) {
        plan_nothing_left(w, key->name, p);
        return;
    }
    const struct obj *node = next_node(w, key->name, &last);
    if (node && interval != NEVER && (last == 0 || world_has_passed(w, last, interval, p)) &&
        is_settled(w, key->name, interval, p))
        plan_taint(w, node, p);
}

/* ---- who is looked at when ---- */

static void enqueue_zone(struct controller *c, const struct obj *node)
{
    struct arena a = ARENA_INIT;
    controller_enqueue(c, &kind_node, STR_NONE, zone_of(node, &a));
    arena_done(&a);
}

/* A zone with nothing but nodes that are well is never looked at. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    bool was_ready = old && node_is_ready(old), is_ready = new &&node_is_ready(new);
    bool was_lost = old && node_lost_taint(old), is_lost = new &&node_lost_taint(new);
    if (was_lost)
        enqueue_zone(c, old);
    if (is_lost)
        enqueue_zone(c, new);
    /* The first that is ready, or the last that was: for all zones. */
    if (was_ready == is_ready || zone_get(w, STR(ALL))->ready > 1)
        return;
    struct cache_iter it = cache_by(world_cache(w, &kind_node), index_lost, STR(ALL));
    for (const struct obj *node; (node = cache_next(&it));)
        enqueue_zone(c, node);
}

void node_zones_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_node, map_node}};
    struct controller_def def = {
        .name = "node-eviction-controller",
        .source = "node-controller",
        .plan = zone_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    cache_add_index(runtime_cache(r, &kind_node), index_lost);
    cache_add_fold(runtime_cache(r, &kind_node), &zone_counts);
    (void)runtime_add(r, &def, api);
}
