/*
 * Making room: a gang that does not fit takes that of less important ones. The scheduler deletes
 * nothing: it asks, by the condition DisruptionTarget of the PodGang, and the operator executes.
 *
 *   trim      pods above the minimum of their group are asked one by one: the gang is marked
 *             TrimmedByScheduler and each such pod carries a condition of its own. The availability
 *             ledger may refuse a pod that is needed at the moment; what was not done in time is
 *             taken back, and not asked again for a while.
 *   evict     a gang that loses its minimum goes whole
 *
 * The room is held for whom it is made until he has it, so that nobody else takes it meanwhile.
 * A gang that has waited too long holds room that becomes free in the same way, asking nobody.
 */
#include "sched/round.h"

#include "grove/types.h"
#include "sched/quota.h"
#include "sched/tell.h"

/* ---- who may go ---- */

struct rival {
    struct tgang *gang;
    struct core_result holds;
};

struct rivals {
    VEC(struct rival) list;
    struct core_result releasing;
    VEC(struct core_trim) trims;
    VEC(struct tpod *) trim_pods; /* of the same */
    VEC(int32_t) spare;           /* by group */
};

static usec marked_since(const struct tgang *g)
{
    return gang_said_since(g->obj, WORD_DISRUPT);
}

/* What gangs that must go, and pods that are going, still hold. */
static void add_releasing(struct tgang *g, struct core_result *ret_releasing)
{
    bool whole = gang_is_marked(g->obj) && !gang_is_trimmed(g->obj);
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE && (whole || p->obj->deleting || pod_is_trimmed(p->obj)))
            *vec_push(&ret_releasing->ops) = (struct core_op){0, p->cls, p->node, 1};
    }
}

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

/* A gang of ours. */
static bool may_be_asked(const struct round *r, const struct tgang *g)
{
    return !g->single && g->obj && !g->obj->deleting &&
           tables_serve(r->tables, list_entry(g->pods.next, struct tpod, link)->obj);
}

static void add_rival(struct tgang *g, struct rivals *ret)
{
    struct rival rival = {.gang = g};
    list_foreach (k, &g->pods) {
        const struct tpod *p = list_entry(k, struct tpod, link);
        if (p->node != CORE_NONE && !p->obj->deleting)
            *vec_push(&rival.holds.ops) = (struct core_op){0, p->cls, p->node, 1};
    }
    *vec_push(&ret->list) = rival;
}

/* Gangs with pods on nodes: less important ones of its queue, and those of other queues that it may
 * claim its share from; or all of them. */
static void find_rivals(struct round *r, const struct ask *q, bool any, struct rivals *ret)
{
    str key;
    void *value;
    VEC(struct tgang *) claims = {0};
    bool may_claim = !any && quota_may_claim(r, q);
    int32_t queue = quota_of(r->tables, q->gang);
    for (size_t it = 0; map_next(&r->tables->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        add_releasing(g, &ret->releasing);
        if (gang_is_marked(g->obj) || g == q->gang || g->n_bound == 0)
            continue;
        bool same = quota_of(r->tables, g) == queue;
        if (any || (same && g->priority < q->gang->priority && may_be_asked(r, g)))
            add_rival(g, ret);
        else if (!same && may_claim && may_be_asked(r, g))
            *vec_push(&claims) = g;
    }
    if (claims.len > 0)
        quota_keep_claimable(r, q->gang, claims.p, &claims.len);
    for (size_t i = 0; i < claims.len; i++)
        add_rival(claims.p[i], ret);
    vec_done(&claims);
    vec_sort(&ret->list, cmp_rivals);
    vec_sort(&ret->releasing.ops, cmp_ops);
}

static void rivals_done(struct rivals *rs)
{
    for (size_t i = 0; i < rs->list.len; i++)
        core_result_done(&rs->list.p[i].holds);
    vec_done(&rs->list);
    vec_done(&rs->trims);
    vec_done(&rs->trim_pods);
    vec_done(&rs->spare);
    core_result_done(&rs->releasing);
}

/* ---- what they can spare ---- */

static bool has_spare(const struct tgang *g)
{
    int64_t least = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(g->obj), "podgroups")); jnext(&it);)
        least += MAX(0, jint(jgetc(it.value, "minReplicas"), 0));
    return (int64_t)g->n_bound > least;
}

/* Not ready before ready, then the youngest. */
static int cmp_spare(const void *a, const void *b)
{
    const struct tpod *x = *(struct tpod *const *)a, *y = *(struct tpod *const *)b;
    bool rx = condition_is_true(jgetc(obj_status(x->obj), "conditions"), STR("Ready"));
    bool ry = condition_is_true(jgetc(obj_status(y->obj), "conditions"), STR("Ready"));
    if (rx != ry)
        return rx ? 1 : -1;
    if (obj_created(x->obj) != obj_created(y->obj))
        return obj_created(x->obj) > obj_created(y->obj) ? -1 : 1;
    return -strcmp(x->key, y->key);
}

/* Any pod of a group that has more than its minimum, as many as that is. */
static void add_spare(struct rivals *rs, size_t rival, struct ask_group *g, struct arena *a)
{
    struct tpod **pods = arena_array(a, struct tpod *, g->n_members + 1);
    size_t n = 0;
    for (size_t i = 0; i < g->n_members; i++) {
        if (g->members[i]->node != CORE_NONE && !g->members[i]->obj->deleting)
            pods[n++] = g->members[i];
    }
    if (g->bound <= g->min)
        return;
    qsort(pods, n, sizeof(*pods), cmp_spare);
    for (size_t i = 0; i < n; i++) {
        struct core_op op = {0, pods[i]->cls, pods[i]->node, 1};
        *vec_push(&rs->trims) = (struct core_trim){(int32_t)rival, (int32_t)rs->spare.len, op};
        *vec_push(&rs->trim_pods) = pods[i];
    }
    *vec_push(&rs->spare) = (int32_t)(g->bound - g->min);
}

static void find_spare(struct round *r, struct rivals *rs)
{
    for (size_t i = 0; i < rs->list.len; i++) {
        struct tgang *g = rs->list.p[i].gang;
        if (!has_spare(g) || g->trim_paused > r->world->now)
            continue;
        struct ask q;
        ask_read(&q, r->tables, g, r->plan->arena);
        for (size_t k = 0; k < q.n_groups; k++)
            add_spare(rs, i, &q.groups[k], r->plan->arena);
    }
}

/* ---- asking ---- */

/* What a second write of a plan says of a gang takes back what the first said: it is asked in the
 * next round then. */
static void mark(struct round *r, struct tgang *g, const char *reason, str why)
{
    if (tell_is_told(r->plan, g->obj)) {
        plan_look_again(r->plan, r->world->now);
        return;
    }
    g->marked = r->tables->rounds;
    struct verdict v = {.score = -1};
    v.words[WORD_DISRUPT] = (struct word){true, true, reason, why};
    tell_gang(r->plan, r->world, g->obj, &v);
}

static str why_of(const struct round *r, const struct tgang *g, const struct tgang *victim)
{
    struct arena *a = r->plan->arena;
    if (g->queue != victim->queue)
        return arena_printf(a, "queue %.*s claims its share back for gang %s",
                            STR_ARG(quota_name(r->tables, g->queue)), g->key);
    return arena_printf(a, "gang %s of priority %lld needs the room", g->key,
                        (long long)g->priority);
}

static void mark_trimmed(struct round *r, const struct tgang *g, struct rivals *rs,
                         const bool *chosen)
{
    struct arena *a = r->plan->arena;
    for (size_t i = 0; i < rs->list.len; i++) {
        size_t n = 0;
        str why = why_of(r, g, rs->list.p[i].gang);
        for (size_t k = 0; k < rs->trims.len; k++) {
            if (!chosen[k] || rs->trims.p[k].victim != (int32_t)i)
                continue;
            tell_trim(r->plan, r->world, rs->trim_pods.p[k]->obj, true, why);
            n++;
        }
        if (n > 0)
            mark(r, rs->list.p[i].gang, "TrimmedByScheduler",
                 arena_printf(a, "%zu pod%s above its minimum must go: %.*s", n, n == 1 ? "" : "s",
                              STR_ARG(why)));
    }
}

static void mark_victims(struct round *r, const struct tgang *g, const struct rivals *rs,
                         const bool *chosen)
{
    for (size_t i = 0; i < rs->list.len; i++) {
        if (chosen[i])
            mark(r, rs->list.p[i].gang, NULL, why_of(r, g, rs->list.p[i].gang));
    }
}

static bool make_room(struct round *r, struct ask *q, struct rivals *rs, bool ask_to_go,
                      struct core_result *ret)
{
    struct core_victim *victims = xcalloc(rs->list.len + 1, sizeof(*victims));
    bool *chosen = xcalloc(rs->list.len + 1, sizeof(*chosen));
    if (ask_to_go)
        find_spare(r, rs);
    bool *trimmed = xcalloc(rs->trims.len + 1, sizeof(*trimmed));
    struct core_trims trims = {rs->trims.p, rs->trims.len, rs->spare.p, rs->spare.len, trimmed};
    for (size_t i = 0; i < rs->list.len; i++) {
        const struct rival *x = &rs->list.p[i];
        victims[i] = (struct core_victim){(int32_t)x->gang->priority, (int32_t)x->holds.ops.len,
                                          x->holds.ops.p, x->holds.ops.len};
    }
    bool fits =
        core_make_room(r->tables->core, &q->core, victims, rs->list.len, chosen, &trims, ret);
    if (fits && ask_to_go) {
        mark_victims(r, q->gang, rs, chosen);
        mark_trimmed(r, q->gang, rs, trimmed);
    }
    free(victims);
    free(chosen);
    free(trimmed);
    return fits;
}

/* Room that will be free is held; with `ask_to_go`, lower gangs are asked for it when that is not
 * enough. Without, it is computed as if everybody might leave and nobody is asked. */
static bool reserve(struct round *r, struct ask *q, bool ask_to_go)
{
    struct core *c = r->tables->core;
    struct rivals rs = {0};
    struct core_result result;
    find_rivals(r, q, !ask_to_go, &rs);
    core_give_ops(c, rs.releasing.ops.p, rs.releasing.ops.len);
    bool fits = core_place(c, &q->core, &result);
    if (fits) {
        core_undo(c, &result);
    } else {
        core_result_done(&result);
        fits = make_room(r, q, &rs, ask_to_go, &result);
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
    return r->lowest < g->priority || r->tables->quota.n > 0;
}

void preempt_seek(struct round *r, struct ask *q)
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

/* ---- a queue that has its limit ---- */

static int64_t held_of(const struct tables *t, const struct tgang *g, size_t resource)
{
    int64_t sum = 0;
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE)
            sum += core_amount_of(t->core, p->cls, (int32_t)resource);
    }
    return sum;
}

static int cmp_least(const void *a, const void *b)
{
    const struct tgang *x = *(struct tgang *const *)a, *y = *(struct tgang *const *)b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->created != y->created)
        return x->created > y->created ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* Less important gangs of the queue, the least important and youngest first, as many as it takes;
 * none when all of them are not enough. */
void preempt_in_queue(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    int64_t left = q->over_amount, all = 0;
    VEC(struct tgang *) list = {0};
    str key;
    void *value;
    for (size_t it = 0; !q->gang->spares_others && map_next(&t->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        if (g->n_bound == 0 || !quota_is_below(t, quota_of(t, g), q->over_limit))
            continue;
        int64_t held = held_of(t, g, q->over_resource);
        if (gang_is_marked(g->obj) && !gang_is_trimmed(g->obj)) {
            left -= held; /* on its way */
        } else if (held > 0 && !gang_is_marked(g->obj) && g->priority < q->gang->priority &&
                   may_be_asked(r, g)) {
            all += held;
            *vec_push(&list) = g;
        }
    }
    vec_sort(&list, cmp_least);
    for (size_t i = 0; i < list.len && left > 0 && all >= left; i++) {
        all -= held_of(t, list.p[i], q->over_resource);
        left -= held_of(t, list.p[i], q->over_resource);
        mark(r, list.p[i], NULL, why_of(r, q->gang, list.p[i]));
    }
    vec_done(&list);
}

/* ---- when it is done ---- */

static void take_back(struct round *r, struct tgang *g)
{
    struct verdict v = {.score = -1};
    v.words[WORD_WAITS].known = v.words[WORD_DISRUPT].known = true;
    tell_gang(r->plan, r->world, g->obj, &v);
    plan_look_again(r->plan, r->world->now);
}

/* Its pods that were asked to go and are still there are asked no more. */
static void give_up_trim(struct round *r, struct tgang *g)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (pod_is_trimmed(p->obj))
            tell_trim(r->plan, r->world, p->obj, false,
                      STR("its gang could not do without it in time"));
    }
    g->trim_paused = r->world->now + TRIM_PAUSE;
    take_back(r, g);
}

bool preempt_goes_on(struct round *r, struct tgang *g)
{
    if (!gang_is_marked(g->obj))
        return false;
    bool holds = false, trim = gang_is_trimmed(g->obj);
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        holds = holds || (p->node != CORE_NONE && (!trim || pod_is_trimmed(p->obj)));
    }
    if (!holds)
        take_back(r, g);
    else if (trim && marked_since(g) + TRIM_PATIENCE <= r->world->now)
        give_up_trim(r, g);
    return true;
}

void preempt_review(struct round *r)
{
    for (struct list *it = r->tables->trimmed.next, *next; it != &r->tables->trimmed; it = next) {
        struct tgang *g = list_entry(it, struct tgang, trim);
        usec end = marked_since(g) + TRIM_PATIENCE;
        next = it->next;
        if (end > r->world->now) {
            plan_look_again(r->plan, end);
            continue;
        }
        list_remove(&g->link);
        list_push_back(&r->tables->ready, &g->link);
    }
}
