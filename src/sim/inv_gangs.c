/*
 * Gangs are placed whole. A gang none of whose pods is on a node is unplaced; it becomes partial
 * with the first bind and placed when every group has its minimum on nodes. Binds are separate
 * writes and may fail one by one, so a gang may be partial, but not for longer than the window.
 * A placed gang that loses pods is replaced pod by pod and not judged again until the last of them
 * is gone; nor is one that pods on nodes move to by their label, from a gang that may have lost
 * others: nobody is placing it.
 *
 * The clock of a partial gang starts anew when one of its pods goes or may be placed. Nothing is
 * held against a gang whose groups no longer have enough pods that may be placed to be whole (new
 * ones of a scaled gang are gated while its base gang is below its minimum, as users can have it),
 * or that was partial when a node closed: the place it had been promised is gone.
 */
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

enum gang_state { GANG_UNPLACED, GANG_PARTIAL, GANG_PLACED };

struct inv_gang {
    struct list link; /* partial ones */
    struct obj *last;
    enum gang_state state;
    usec since;   /* partial since */
    bool excused; /* a node closed meanwhile */
    bool adopted; /* pods on nodes moved to it */
    char key[];
};

/* ---- keys ---- */

static str gang_key(struct arena *a, str ns, str label)
{
    return arena_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(label));
}

static str group_key(struct arena *a, str ns, str gang_label, str clique_label)
{
    return arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(ns), STR_ARG(gang_label),
                        STR_ARG(clique_label));
}

/* ---- state ---- */

struct tally {
    int64_t bound;
    bool whole;    /* every group has its minimum on nodes */
    bool possible; /* every group has its minimum of pods that may be placed */
};

static struct tally tally(const struct inv_gangs *g, const struct obj *gang)
{
    struct tally t = {0, true, true};
    struct arena a = ARENA_INIT;
    str label = name_label(&a, gang->name);
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        str key = group_key(&a, gang->ns, label, name_label(&a, jstr(jgetc(it.value, "name"))));
        int64_t min = jint(jgetc(it.value, "minReplicas"), 0), bound = counter_get(&g->bound, key);
        t.bound += bound;
        t.whole = t.whole && bound >= min;
        t.possible = t.possible && counter_get(&g->active, key) >= min;
    }
    arena_done(&a);
    return t;
}

static void judge(struct invariants *v, struct inv_gangs *g, struct inv_gang *gang, bool disturbed)
{
    struct tally t = tally(g, gang->last);
    enum gang_state next = t.bound == 0                                  ? GANG_UNPLACED
                           : t.whole                                     ? GANG_PLACED
                           : gang->state == GANG_PLACED || gang->adopted ? GANG_PLACED
                                                                         : GANG_PARTIAL;
    if (gang->state == GANG_PLACED && next == GANG_UNPLACED)
        gang->adopted = false;
    if (next == GANG_PARTIAL && (gang->state != GANG_PARTIAL || disturbed))
        gang->since = inv_wall(v);
    if (next == gang->state)
        return;
    gang->state = next;
    gang->excused = false;
    if (next == GANG_PARTIAL)
        list_push_back(&g->partial, &gang->link);
    else
        list_remove(&gang->link);
}

void gangs_tick(struct invariants *v, struct inv_gangs *g)
{
    list_foreach (it, &g->partial) {
        struct inv_gang *gang = list_entry(it, struct inv_gang, link);
        if (gang->excused || inv_wall(v) - gang->since <= g->window)
            continue;
        struct tally t = tally(g, gang->last);
        if (t.possible)
            inv_fail(v, "gangs",
                     "gang %s has had %lld pods on nodes and not its minimum for %lld s", gang->key,
                     (long long)t.bound, (long long)((inv_wall(v) - gang->since) / USEC_PER_SEC));
        gang->since = inv_wall(v);
    }
}

/* ---- events ---- */

static void on_gang(struct invariants *v, struct inv_gangs *g, const struct store_event *e)
{
    struct arena a = ARENA_INIT;
    str key = gang_key(&a, e->obj->ns, name_label(&a, e->obj->name));
    struct inv_gang *gang = map_get(&g->gangs, key);
    if (e->type == STORE_DELETED) {
        if (gang) {
            (void)map_del(&g->gangs, key);
            list_remove(&gang->link);
            obj_unref(gang->last);
            free(gang);
        }
        arena_done(&a);
        return;
    }
    if (!gang) {
        gang = xcalloc(1, sizeof(*gang) + key.len + 1);
        memcpy(gang->key, key.p, key.len);
        list_init(&gang->link);
        (void)map_put(&g->gangs, str_n(gang->key, key.len), gang);
        /* A gang made again for pods that are placed is not being placed. */
        if (tally(g, e->obj).bound > 0)
            gang->state = GANG_PLACED;
    }
    obj_unref(gang->last);
    gang->last = obj_ref(e->obj);
    judge(v, g, gang, false);
    arena_done(&a);
}

static bool is_active(const struct obj *pod)
{
    return pod && !pod->deleting && !pod_has_finished(pod);
}

static bool is_placeable(const struct obj *pod)
{
    return is_active(pod) && jlen(jgetc(obj_spec(pod), "schedulingGates")) == 0;
}

static bool is_bound(const struct obj *pod)
{
    return is_active(pod) && !str_is_empty(pod_node(pod));
}

static struct inv_gang *gang_of(const struct inv_gangs *g, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    struct inv_gang *gang =
        map_get(&g->gangs, gang_key(&a, pod->ns, obj_label(pod, STR(LABEL_PODGANG))));
    arena_done(&a);
    return gang;
}

static void count_pod(struct invariants *v, struct inv_gangs *g, const struct obj *pod, int active,
                      int bound)
{
    str label = obj_label(pod, STR(LABEL_PODGANG));
    if (str_is_empty(label) || (active == 0 && bound == 0))
        return;
    struct arena a = ARENA_INIT;
    str key = group_key(&a, pod->ns, label, obj_label(pod, STR(LABEL_PCLQ)));
    if (active)
        (void)counter_add(&g->active, key, active);
    if (bound)
        (void)counter_add(&g->bound, key, bound);
    struct inv_gang *gang = gang_of(g, pod);
    if (gang)
        judge(v, g, gang, active != 0);
    arena_done(&a);
}

/* A pod may move to another gang where it is, by its label. */
static void on_pod(struct invariants *v, struct inv_gangs *g, const struct store_event *e)
{
    const struct obj *now = event_now(e), *prev = e->prev;
    bool moves = prev && now &&
                 !str_eq(obj_label(prev, STR(LABEL_PODGANG)), obj_label(now, STR(LABEL_PODGANG)));
    if (moves) {
        struct inv_gang *to = is_bound(now) ? gang_of(g, now) : NULL;
        count_pod(v, g, prev, -is_placeable(prev), -is_bound(prev));
        if (to)
            to->adopted = true;
        prev = NULL;
    }
    count_pod(v, g, e->obj, is_placeable(now) - is_placeable(prev), is_bound(now) - is_bound(prev));
}

static bool is_open(const struct obj *node)
{
    return node && !j_is_true(jgetc(obj_spec(node), "unschedulable")) &&
           condition_is_true(jgetc(obj_status(node), "conditions"), STR("Ready"));
}

static void on_node(struct inv_gangs *g, const struct store_event *e)
{
    if (!is_open(e->prev) || is_open(event_now(e)))
        return;
    list_foreach (it, &g->partial)
        list_entry(it, struct inv_gang, link)->excused = true;
}

void gangs_event(struct invariants *v, struct inv_gangs *g, const struct store_event *e)
{
    if (e->obj->kind == &kind_pod_gang)
        on_gang(v, g, e);
    else if (e->obj->kind == &kind_pod)
        on_pod(v, g, e);
    else if (e->obj->kind == &kind_node)
        on_node(g, e);
}

/* ---- life cycle ---- */

void gangs_init(struct inv_gangs *g, usec window)
{
    *g = (struct inv_gangs){.window = window};
    list_init(&g->partial);
}

void gangs_done(struct inv_gangs *g)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&g->gangs, &it, &key, &value);) {
        struct inv_gang *gang = value;
        obj_unref(gang->last);
        free(gang);
    }
    map_done(&g->gangs);
    counters_done(&g->bound);
    counters_done(&g->active);
}
