/*
 * The round: gangs in order, each placed whole or not at all; then what they have beyond their
 * minimums. A round looks at what changed and at waiting gangs whose reason may be gone; when it
 * has done as much as a turn of the loop allows, it plans what it has and goes on in the next call.
 * The tables need no second thought: a key is not planned again before the answers to its writes
 * are in the cache, and what failed is released then.
 *
 * Order: priority, then gangs that are partly on nodes, then age. A gang that has waited too long,
 * or for whose sake others must go, holds the room it will get: those after it find it taken.
 */
#include "sched/sched.h"

#include "grove/types.h"
#include "sched/lease.h"
#include "sched/order.h"
#include "sched/score.h"
#include "sched/tell.h"

/* Pods placed and domains tried in one call. */
#define ROUND_BUDGET 4096
#define HOLD_AFTER (30 * USEC_PER_SEC)
#define ROUND_SEEKS 4

struct round {
    const struct world *world;
    struct plan *plan;
    struct tables *tables;
    VEC(struct tgang *) gangs;
    VEC(struct ask *) surplus;
    size_t budget;
    unsigned seeks; /* how often room may yet be sought: it is dear */
    bool lowest_known;
    int64_t lowest; /* priority of a gang on nodes */
};

/* ---- order ---- */

static void touch_again(struct round *r, struct tgang *g)
{
    list_remove(&g->link);
    list_push_back(&r->tables->ready, &g->link);
}

/* Room is held from the holder's turn to the end of the round, so that those before it in order may
 * take it; between rounds nobody places anything. */
static bool let_go(struct round *r)
{
    struct tables *t = r->tables;
    struct tgang *g = t->hold_key ? map_get(&t->gangs, str_of(t->hold_key)) : NULL;
    bool waits = g && g->parked;
    if (waits)
        touch_again(r, g);
    tables_unhold(t);
    return waits;
}

/* Nobody holds room: the first of those who have waited long enough is looked at, although nothing
 * may have changed for it, so that it may. One that would not fit an empty cluster never does. */
static void choose_holder(struct round *r)
{
    struct tables *t = r->tables;
    struct tgang *head = NULL;
    list_foreach (it, &t->parked) {
        struct tgang *g = list_entry(it, struct tgang, link);
        if (g->hold_due == 0 || g->hold_due > r->world->now || g->hopeless == t->shape)
            continue;
        if (!head || g->priority > head->priority ||
            (g->priority == head->priority && g->hold_due < head->hold_due))
            head = g;
    }
    if (head)
        touch_again(r, head);
}

/* Whoever is ready and has something to place or to take back; the others rest until touched. */
static void collect(struct round *r)
{
    struct tables *t = r->tables;
    list_foreach (it, &t->ready) {
        struct tgang *g = list_entry(it, struct tgang, link);
        bool there = g->single ? !list_is_empty(&g->pods) : g->obj && !g->obj->deleting;
        if (!there || (g->n_waiting == 0 && !gang_complains(g->obj) && !gang_is_marked(g->obj))) {
            list_remove(&g->link);
            continue;
        }
        *vec_push(&r->gangs) = g;
    }
    order_gangs(t, r->gangs.p, r->gangs.len, r->world->now);
}

/* ---- making room ---- */

/* What gangs that must go, and pods that are going, still hold. */
static void add_releasing(struct tables *t, struct tgang *g, bool all,
                          struct core_result *ret_releasing)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE && (all || p->obj->deleting))
            *vec_push(&ret_releasing->ops) = (struct core_op){0, p->cls, p->node, 1};
    }
    (void)t;
}

struct rival {
    struct tgang *gang;
    struct core_result holds;
};

struct rivals {
    VEC(struct rival) list;
    struct core_result releasing;
};

static int cmp_rivals(const void *a, const void *b)
{
    const struct rival *x = a, *y = b;
    if (x->gang->priority != y->gang->priority)
        return x->gang->priority < y->gang->priority ? -1 : 1;
    if (x->holds.ops.len != y->holds.ops.len)
        return x->holds.ops.len < y->holds.ops.len ? -1 : 1;
    return -strcmp(x->gang->key, y->gang->key);
}

static int cmp_ops(const void *a, const void *b)
{
    const struct core_op *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->cls < y->cls ? -1 : x->cls > y->cls;
}

/* A gang of ours that is less important. */
static bool may_be_asked(const struct round *r, const struct tgang *g, int64_t priority)
{
    return !g->single && g->obj && !g->obj->deleting && g->priority < priority &&
           tables_serve(r->tables, list_entry(g->pods.next, struct tpod, link)->obj);
}

/* Gangs with pods on nodes: below the priority, or all of them. */
static void find_rivals(struct round *r, const struct tgang *for_whom, bool any, struct rivals *ret)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&r->tables->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        bool marked = gang_is_marked(g->obj);
        add_releasing(r->tables, g, marked, &ret->releasing);
        if (marked || g == for_whom || g->n_bound == 0 ||
            (!any && !may_be_asked(r, g, for_whom->priority)))
            continue;
        struct rival rival = {.gang = g};
        list_foreach (k, &g->pods) {
            const struct tpod *p = list_entry(k, struct tpod, link);
            if (p->node != CORE_NONE && !p->obj->deleting)
                *vec_push(&rival.holds.ops) = (struct core_op){0, p->cls, p->node, 1};
        }
        *vec_push(&ret->list) = rival;
    }
    vec_sort(&ret->list, cmp_rivals);
    vec_sort(&ret->releasing.ops, cmp_ops);
}

static void rivals_done(struct rivals *rs)
{
    for (size_t i = 0; i < rs->list.len; i++)
        core_result_done(&rs->list.p[i].holds);
    vec_done(&rs->list);
    core_result_done(&rs->releasing);
}

static void mark_victims(struct round *r, const struct tgang *g, const struct rivals *rs,
                         const bool *chosen)
{
    for (size_t i = 0; i < rs->list.len; i++) {
        if (!chosen[i])
            continue;
        struct verdict v = {.score = -1,
                            .disrupt = true,
                            .waits = gang_complains(rs->list.p[i].gang->obj),
                            .disrupt_why = arena_printf(r->plan->arena,
                                                        "gang %s of priority %lld needs the room",
                                                        g->key, (long long)g->priority)};
        tell_gang(r->plan, r->world, rs->list.p[i].gang->obj, &v);
    }
}

/* Room that will be free is held; with `ask_to_go`, lower gangs are asked for it when that is not
 * enough. Without, it is computed as if everybody might leave and nobody is asked. */
static bool reserve(struct round *r, struct ask *q, bool ask_to_go)
{
    struct core *c = r->tables->core;
    struct rivals rs = {0};
    struct core_result result;
    find_rivals(r, q->gang, !ask_to_go, &rs);
    core_give_ops(c, rs.releasing.ops.p, rs.releasing.ops.len);
    bool fits = core_place(c, &q->core, &result);
    if (fits) {
        core_undo(c, &result);
    } else {
        struct core_victim *victims = xcalloc(rs.list.len + 1, sizeof(*victims));
        bool *chosen = xcalloc(rs.list.len + 1, sizeof(*chosen));
        for (size_t i = 0; i < rs.list.len; i++) {
            const struct rival *x = &rs.list.p[i];
            victims[i] = (struct core_victim){(int32_t)x->gang->priority, (int32_t)x->holds.ops.len,
                                              x->holds.ops.p, x->holds.ops.len};
        }
        core_result_done(&result);
        fits = core_make_room(c, &q->core, victims, rs.list.len, chosen, &result);
        if (fits && ask_to_go)
            mark_victims(r, q->gang, &rs, chosen);
        free(victims);
        free(chosen);
    }
    core_take_ops(c, rs.releasing.ops.p, rs.releasing.ops.len);
    if (fits)
        tables_hold(r->tables, q->gang->key, result.ops.p, result.ops.len);
    core_result_done(&result);
    rivals_done(&rs);
    return fits;
}

static bool has_lower(struct round *r, const struct tgang *g)
{
    str key;
    void *value;
    for (size_t it = 0; !r->lowest_known && map_next(&r->tables->gangs, &it, &key, &value);) {
        const struct tgang *x = value;
        if (x->n_bound > 0 && x->obj)
            r->lowest = MIN(r->lowest, x->priority);
    }
    r->lowest_known = true;
    return r->lowest < g->priority;
}

/* It does not fit now: may it have room of others, or keep what becomes free? */
static void seek_room(struct round *r, struct ask *q)
{
    usec since = gang_waits_since(q->gang->obj);
    if (r->tables->hold_key || q->core.n_leaves == 0)
        return;
    if (r->seeks > 0 && !q->gang->spares_others && has_lower(r, q->gang)) {
        r->seeks--;
        if (reserve(r, q, true))
            return;
    }
    if (since == 0)
        plan_look_again(r->plan, r->world->now + HOLD_AFTER);
    else if (r->world->now - since < HOLD_AFTER)
        plan_look_again(r->plan, since + HOLD_AFTER);
    else if (r->seeks > 0 && r->seeks-- && !reserve(r, q, false))
        q->gang->hopeless = r->tables->shape;
}

/* ---- one gang ---- */

static void on_assigned(void *ctx, struct tpod *p, int32_t node)
{
    struct round *r = ctx;
    (void)plan_bind(r->plan, 0, p->obj, r->tables->snap.nodes.p[node].name);
}

static void assign(struct round *r, struct ask *q, const struct core_result *result)
{
    for (size_t i = 0; i < result->ops.len; i++) {
        ask_assign(q, r->tables, &result->ops.p[i], on_assigned, r);
        r->budget -= MIN(r->budget, (size_t)result->ops.p[i].count);
    }
}

static void tell_placed(struct round *r, struct ask *q)
{
    struct verdict v = {.score = -1};
    if (q->packed) {
        v.score = score_of(q, r->tables);
        v.why = score_text(q, r->tables, r->plan->arena);
    }
    tell_gang(r->plan, r->world, q->gang->obj, &v);
}

static void tell_waiting(struct round *r, struct ask *q, const struct core_cert *cert)
{
    struct reasons why;
    tell_reasons(q, r->tables, cert, r->plan->arena, &why);
    struct verdict v = {.waits = true, .why = why.story, .score = -1};
    tell_gang(r->plan, r->world, q->gang->obj, &v);
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_pods; k++)
            tell_pod(r->plan, r->world, q->groups[i].pods[k]->obj, why.cause);
    }
}

static void refuse(struct round *r, struct ask *q, const struct core_cert *cert)
{
    tell_waiting(r, q, cert);
    usec since = gang_waits_since(q->gang->obj);
    q->gang->hold_due = 0;
    if (str_is_empty(q->wrong)) {
        q->gang->hold_due = (since ? since : r->world->now) + HOLD_AFTER;
        seek_room(r, q);
    }
    tables_park(r->tables, q->gang, cert, q->tree);
}

static void lacks_pods(struct round *r, struct ask *q)
{
    for (size_t i = 0; i < q->n_groups; i++) {
        const struct ask_group *g = &q->groups[i];
        if ((int64_t)g->n_pods < g->need)
            q->wrong = arena_printf(r->plan->arena, "%.*s has %zu pods to place and needs %lld",
                                    STR_ARG(g->name), g->n_pods, (long long)g->need);
    }
    refuse(r, q, &(struct core_cert){.why = CORE_TOGETHER});
}

/* The victim is gone from its nodes: it may be placed again. */
static bool take_back_mark(struct round *r, struct tgang *g)
{
    if (!gang_is_marked(g->obj))
        return false;
    bool holds = false;
    list_foreach (it, &g->pods)
        holds = holds || list_entry(it, struct tpod, link)->node != CORE_NONE;
    if (!holds) {
        struct verdict v = {.score = -1};
        tell_gang(r->plan, r->world, g->obj, &v);
        plan_look_again(r->plan, r->world->now);
    }
    return true;
}

/* Pods go where their clique's room is kept, if they may; the others, or else all of them, where
 * the search finds room. */
static bool place_kept(struct round *r, struct ask *q, struct core_result *ret)
{
    struct lease_fill kept;
    struct core *c = r->tables->core;
    lease_fill(q, r->tables, r->plan->arena, &kept);
    bool placed = core_place(c, &q->core, ret);
    if (!placed && kept.result.ops.len > 0) {
        core_result_done(ret);
        lease_unfill(q, r->tables, &kept);
        placed = core_place(c, &q->core, ret);
    }
    for (size_t i = 0; i < kept.result.ops.len; i++)
        *vec_push(&ret->ops) = kept.result.ops.p[i];
    core_result_done(&kept.result);
    return placed;
}

/* First with all that is wished, then with what must be, then with room kept for less important
 * gangs. */
static bool place_all(struct round *r, struct ask *q, struct core_result *ret)
{
    bool placed = place_kept(r, q, ret);
    if (!placed && ask_less(q)) {
        core_result_done(ret);
        placed = place_kept(r, q, ret);
    }
    if (!placed && lease_open_below(r->tables, q->gang->priority)) {
        core_result_done(ret);
        placed = place_kept(r, q, ret);
    }
    return placed;
}

static void place_asked(struct round *r, struct ask *q)
{
    struct core_result result = {0};
    bool asked = str_is_empty(q->wrong) && ask_minimum(q, r->tables, r->plan->arena);
    lease_open(r->tables, q->gang);
    bool placed = asked && place_all(r, q, &result);
    if (placed)
        lease_settle(r->tables, q->gang, result.ops.p, result.ops.len);
    lease_close(r->tables);
    if (!str_is_empty(q->wrong) || (asked && !placed)) {
        refuse(r, q, &result.cert);
    } else {
        assign(r, q, &result);
        *vec_push(&r->surplus) = q;
    }
    r->budget -= MIN(r->budget, (size_t)result.tries);
    core_result_done(&result);
}

static void place_minimum(struct round *r, struct tgang *g)
{
    struct ask *q = arena_new(r->plan->arena, struct ask);
    if (take_back_mark(r, g))
        return;
    r->tables->looks++;
    ask_read(q, r->tables, g, r->plan->arena);
    list_remove(&g->link);
    /* Gates are lifted clique by clique: a gang that has some to go is not judged yet. */
    if (q->short_of && q->gated > 0)
        return;
    if (q->waiting == 0) {
        struct verdict v = {.score = -1};
        tell_gang(r->plan, r->world, g->obj, &v);
        return;
    }
    if (q->short_of)
        lacks_pods(r, q);
    else
        place_asked(r, q);
}

/* ---- surplus ---- */

/* Room kept first, then where the replica is, then wherever it may be. */
static void place_leaf(struct round *r, struct ask *q, size_t leaf)
{
    struct core *c = r->tables->core;
    struct core_leaf *f = (struct core_leaf *)&q->core.leaves[leaf]; /* the ask's own */
    for (int turn = 0; turn < 2 && f->need > 0; turn++) {
        struct core_result result = {0};
        f->need -= core_place_some(c, &q->core, (int32_t)leaf, &result);
        assign(r, q, &result);
        core_result_done(&result);
        q->core.gang = q->scope; /* pinned by now */
        f->scope = q->groups[q->leaf_group[leaf]].scope;
        if (q->core.within == q->within)
            break;
        q->core.within = q->within;
    }
}

/* Which leaf is left over: the only one wakes the gang by what it lacks, several by anything. */
static bool place_leaves(struct round *r, struct ask *q, struct core_cert *ret)
{
    struct tables *t = r->tables;
    struct lease_fill kept;
    size_t left = 0;
    int32_t home = q->core.within;
    lease_open(t, q->gang);
    lease_fill(q, t, r->plan->arena, &kept);
    lease_settle(t, q->gang, kept.result.ops.p, kept.result.ops.len);
    lease_close(t);
    assign(r, q, &kept.result);
    core_result_done(&kept.result);
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        const struct core_leaf *leaf = &q->core.leaves[i];
        q->core.within = home;
        place_leaf(r, q, i);
        if (leaf->need <= 0 || left++ > 0)
            continue;
        *ret = (struct core_cert){
            .why = CORE_TOO_FEW,
            .scope = (int32_t)(1 + q->n_bundles + i),
            .cls = leaf->cls,
            .need = leaf->need,
            .fixed = true,
            .domain = ask_domain(q, t, &q->groups[q->leaf_group[i]]),
        };
    }
    ret->n_near = left; /* of leaves, for the caller */
    return left > 0;
}

/* What is left over of a leaf, the last pods of its group, waits. */
static void place_surplus(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    bool left = false;
    struct core_cert cert = {.why = CORE_TOO_FEW};
    if (ask_surplus(q, t, r->plan->arena))
        left = place_leaves(r, q, &cert);
    else
        left = !str_is_empty(q->wrong);
    tell_placed(r, q);
    if (!left)
        return;
    struct reasons why;
    size_t leaves = cert.n_near;
    cert.n_near = 0;
    tell_reasons(q, t, &cert, r->plan->arena, &why);
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = q->groups[i].n_placed; k < q->groups[i].n_pods; k++)
            tell_pod(r->plan, r->world, q->groups[i].pods[k]->obj, why.cause);
    }
    cert.need = leaves == 1; /* one more place, or anything */
    q->gang->hold_due = 0;
    tables_park(t, q->gang, &cert, q->tree);
}

/* ---- the round ---- */

void sched_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct round r = {.world = w,
                      .plan = p,
                      .tables = tables_get(ctx, w),
                      .budget = ROUND_BUDGET,
                      .seeks = ROUND_SEEKS,
                      .lowest = INT64_MAX};
    (void)key;
    tables_release_assumed(r.tables);
    usec kept = lease_review(r.tables, w->now);
    if (kept)
        plan_look_again(p, kept);
    if (!let_go(&r))
        choose_holder(&r);
    tables_wake(r.tables);
    collect(&r);
    size_t i = 0;
    for (; i < r.gangs.len && r.budget > 0; i++)
        place_minimum(&r, r.gangs.p[i]);
    /* All minimums before any surplus. */
    for (size_t k = 0; k < r.surplus.len; k++) {
        if (i == r.gangs.len) {
            place_surplus(&r, r.surplus.p[k]);
            continue;
        }
        tell_placed(&r, r.surplus.p[k]);
        touch_again(&r, r.surplus.p[k]->gang);
    }
    if (i < r.gangs.len)
        plan_look_again(p, w->now);
    r.tables->growth_seen = core_growth(r.tables->core);
    vec_done(&r.gangs);
    vec_done(&r.surplus);
}

/* ---- what starts a round ---- */

static void next_round(struct controller *c)
{
    controller_enqueue(c, &kind_pod_gang, STR_NONE, STR("round"));
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    bool waits = new &&pod_waits(new) && !(old && pod_waits(old));
    bool freed = old && pod_holds_node(old) && !(new &&pod_holds_node(new));
    bool gone = !new &&pod_waits(old);
    if (waits || freed || gone)
        next_round(c);
}

/* Anything about the node that could let a pod in; heartbeats could not. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    if (new && !(old && node_is_as_before(old, new)))
        next_round(c);
}

static void map_gang(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    if (new && (!old || old->generation != new->generation))
        next_round(c);
}

static void map_any(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    (void)old;
    (void)new;
    next_round(c);
}

static const struct controller_watch watches[] = {
    {&kind_pod, map_pod}, {&kind_node, map_node},          {&kind_pod_gang, map_gang},
    {&kind_ctb, map_any}, {&kind_priority_class, map_any},
};

static const char *const all_names[] = {"default-scheduler", "grove-scheduler", "kai-scheduler",
                                        "volcano"};
const struct sched_options sched_defaults = {all_names, ARRAY_LEN(all_names)};

struct sched *sched_new(struct runtime *r, const struct sched_options *o)
{
    struct sched *s = xnew(struct sched);
    s->runtime = r;
    s->n_names = o->n_names;
    s->names = xcalloc(o->n_names + 1, sizeof(*s->names));
    for (size_t i = 0; i < o->n_names; i++)
        s->names[i] = xstrdup(o->names[i]);
    tables_add_handlers(s);
    return s;
}

void sched_free(void *sched)
{
    struct sched *s = sched;
    if (!s)
        return;
    tables_drop(s);
    for (size_t i = 0; i < s->n_names; i++)
        free(s->names[i]);
    free(s->names);
    free(s);
}

void sched_add(struct runtime *r, struct api *api, const struct sched_options *o)
{
    struct controller_def def = {.name = "grove-scheduler",
                                 .plan = sched_plan,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches),
                                 .max_in_flight = 256,
                                 .ctx_free = sched_free};
    def.ctx = sched_new(r, o ? o : &sched_defaults);
    (void)runtime_add(r, &def, api);
}
