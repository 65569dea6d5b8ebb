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
 * Who may be asked, and what it costs, is in victims.h. The room is held for whom it is made, so
 * that nobody else takes it meanwhile; a gang that has waited too long holds room that becomes free
 * in the same way, asking nobody (hold.h). When nobody needs the room any more, those who were
 * asked and are still whole may stay.
 *
 * Example. Two nodes of 8 GPUs. Gang low (priority 0, minimum 4 pods of one GPU) has 8 pods on node
 * a, gang other (priority 0, minimum 8) has 8 on node b. Gang high (priority 100) needs 4 pods of
 * one GPU.
 *
 *   round 1   high does not fit. Candidates below its priority: low's four pods above its minimum,
 *             then low whole, then other whole. Four pods of low are enough, and trimming costs
 *             less than evicting. low gets DisruptionTarget with the reason TrimmedByScheduler, the
 *             four pods carry the condition too, and high holds their four places on a.
 *   operator  deletes the four, as far as the ledger allows: low is at its minimum now.
 *   round 2   the pods are going: nothing is asked again, the places stay held.
 *   round 3   the pods are gone: high is placed where it held, and the marks are taken back.
 *
 * If high had needed 6, trimming would not have been enough, and one of the two gangs would have
 * been asked whole: the one that costs less by the order in victims.h.
 *
 * Invariants. Nobody is asked for a gang that would not fit then: the victims leave the tables for
 * the while, the gang is placed for a try, and only those are asked whose places it used. No gang
 * is asked twice for the same room. What was asked and not done in time is taken back. Because
 * requests stand in the API, a scheduler that starts in the middle goes on: marked gangs count as
 * leaving.
 */
#include "sched/model/round.h"

#include "grove/types.h"
#include "sched/model/reservation.h"
#include "sched/model/tell.h"
#include "sched/place/hold.h"
#include "sched/preempt/victims.h"
#include "sched/quota/queue_quota.h"

static usec marked_since(const struct round *r, const struct tgang *g)
{
    return gang_said_since(r->world, g->obj, WORD_DISRUPT);
}

/* ---- who is going ---- */

/* Pods of a gang that must make room: which of them are meant. */
struct meant {
    bool trim;       /* those that say so */
    bool all;        /* whichever is on a node */
    uint64_t naming; /* else: those that were noted as */
};

static struct meant who_is_meant(struct tables *t, const struct tgang *g)
{
    jval named = jgetc(obj_status(g->obj), "disruptedPods");
    struct meant m = {.trim = gang_is_trimmed(g->obj), .naming = ++t->naming};
    m.all = !m.trim && jlen(named) == 0;
    for (struct jiter it = jiter(named); jnext(&it);) {
        struct tpod *p = tables_pod(t, g->obj->ns, jstr(jgetc(it.value, "name")));
        if (p && str_eq(p->obj->uid, jstr(jgetc(it.value, "uid"))))
            p->named = m.naming;
    }
    return m;
}

static bool is_meant(const struct meant *m, const struct tpod *p)
{
    return p->node != CORE_NONE &&
           (m->all || (m->trim ? pod_is_trimmed(p->obj) : p->named == m->naming));
}

static void add_releasing(struct round *r, const struct tgang *g)
{
    struct meant m = {.trim = true};
    if (gang_is_marked(g->obj))
        m = who_is_meant(r->tables, g);
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (is_meant(&m, p) || (p->node != CORE_NONE && p->obj->deleting))
            *vec_push(&r->releasing) = (struct core_op){0, p->cls, p->node, 1};
    }
}

static int cmp_ops(const void *a, const void *b)
{
    const struct core_op *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->cls < y->cls ? -1 : x->cls > y->cls;
}

const struct core_op *preempt_releasing(struct round *r, size_t *ret_n)
{
    str key;
    void *value;
    for (size_t it = 0; !r->releasing_known && map_next(&r->tables->gangs, &it, &key, &value);)
        add_releasing(r, value);
    if (!r->releasing_known)
        vec_sort(&r->releasing, cmp_ops);
    r->releasing_known = true;
    *ret_n = r->releasing.len;
    return r->releasing.p;
}

/* ---- asking ---- */

/* What a second write of a plan says of a gang takes back what the first said: it is asked in the
 * next round then. */
static void mark(struct round *r, struct tgang *g, const char *reason, str why)
{
    if (tell_is_told(r->plan, g->obj)) {
        plan_look_again(r->plan, 0);
        return;
    }
    g->marked = r->tables->rounds;
    /* Of those who are trimmed each pod says so itself. */
    struct verdict v = {.score = -1, .goes = reason ? NULL : g};
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

/* From now on they are as good as gone for others who look for room in this round. */
static void mark_victims(struct round *r, const struct tgang *g, const struct rivals *rs,
                         const bool *chosen)
{
    for (size_t i = 0; i < rs->list.len; i++) {
        const struct rival *x = &rs->list.p[i];
        if (!chosen[i])
            continue;
        mark(r, x->gang, NULL, why_of(r, g, x->gang));
        *vec_push(&r->asked) = x->gang;
        for (size_t k = 0; k < x->holds.ops.len; k++)
            *vec_push(&r->releasing) = x->holds.ops.p[k];
    }
}

static bool make_room(struct round *r, struct ask *q, struct rivals *rs, bool ask_to_go,
                      struct core_result *ret, size_t *ret_leave)
{
    struct arena *a = r->plan->arena;
    struct core_victim *victims = victims_list(rs, a);
    bool *chosen = arena_array(a, bool, rs->list.len + 1);
    if (ask_to_go)
        victims_find_spare(r, rs);
    bool *trimmed = arena_array(a, bool, rs->trims.len + 1);
    struct core_trims trims = {rs->trims.p, rs->trims.len, rs->spare.p, rs->spare.len, trimmed};
    bool fits =
        core_make_room(r->tables->core, &q->core, victims, rs->list.len, chosen, &trims, ret);
    *ret_leave = 0;
    for (size_t i = 0; fits && i < rs->list.len; i++)
        *ret_leave += chosen[i] ? rs->list.p[i].holds.ops.len : 0;
    if (fits && ask_to_go) {
        mark_victims(r, q->gang, rs, chosen);
        mark_trimmed(r, q->gang, rs, trimmed);
    }
    return fits;
}

/* Room that will be free is held; with `ask_to_go`, lower gangs are asked for it when that is not
 * enough. Without, it is computed as if everybody might leave and nobody is asked. */
static bool reserve(struct round *r, struct ask *q, bool ask_to_go, usec *until)
{
    struct core *c = r->tables->core;
    struct rivals rs = {0};
    struct core_result result;
    size_t n, leave = 0;
    const struct core_op *going = preempt_releasing(r, &n);
    struct thold *held = hold_of(r->tables, q->gang);
    victims_find(r, q, !ask_to_go, &rs);
    core_give_ops(c, going, n);
    bool fits = core_place(c, &q->core, &result), enough = fits;
    if (fits) {
        core_undo(c, &result);
    } else {
        core_result_done(&result);
        fits = make_room(r, q, &rs, ask_to_go, &result, &leave);
    }
    /* Those asked just now were added to the end. */
    core_take_ops(c, r->releasing.p, n);
    /* What is drained moves only where fewer are in the way. */
    bool stays = !enough && !ask_to_go && held && !held->asked && held->shape == r->tables->shape &&
                 leave >= held->leave;
    if (fits && stays)
        hold_keep(r, held);
    else if (fits)
        hold_set(r, q->gang, result.ops.p, result.ops.len, ask_to_go || enough, leave);
    core_result_done(&result);
    *until = rs.until;
    victims_done(&rs);
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

/* Others may be asked for its sake: now, if its turn has come. True: they were, and it holds room.
 */
static bool seek_victims(struct round *r, struct ask *q)
{
    struct tgang *g = q->gang;
    usec until = 0;
    if (g->spares_others || !has_lower(r, g))
        return false;
    g->seeks = true;
    if (!hold_may(r, g, true)) {
        g->sought = r->tables->moves; /* until a hold ends, which is a move */
        return false;
    }
    bool forced = g->seek_at > 0 && g->seek_at <= round_now(r);
    if (g->seek_due > round_now(r) && !forced)
        return false;
    if (r->seeks == 0) {
        g->sought = 0;
        plan_look_again(r->plan, 0);
        return false;
    }
    r->seeks--;
    g->sought = r->tables->moves;
    bool found = reserve(r, q, true, &until);
    g->seek_due = found ? 0 : round_now(r) + SEEK_PAUSE;
    g->seek_at = found ? 0 : until; /* somebody is protected, and not for ever */
    if (g->seek_at)
        round_look(r, g->seek_at);
    return found;
}

/* It has waited long enough: what becomes free is held for it. */
static void seek_to_drain(struct round *r, struct ask *q)
{
    usec since = gang_waits_since(r->world, q->gang), until;
    if (since == 0)
        plan_look_again(r->plan, HOLD_AFTER);
    else if (round_now(r) - since < HOLD_AFTER)
        round_look(r, since + HOLD_AFTER);
    else if (hold_may(r, q->gang, false) && r->seeks > 0 && r->seeks--) {
        if (reserve(r, q, false, &until))
            return;
        /* Others are to have their turn meanwhile. */
        q->gang->hold_due = round_now(r) + HOLD_PAUSE;
        round_look(r, q->gang->hold_due);
        if (hold_never_fits(r->tables, q))
            q->gang->hopeless = r->tables->shape;
    }
}

static void seek(struct round *r, struct ask *q)
{
    const struct thold *held = hold_of(r->tables, q->gang);
    if (q->core.n_leaves == 0 || q->gang->hopeless == r->tables->shape)
        return;
    if (q->gang->hold_paused > round_now(r)) {
        round_look(r, q->gang->hold_paused);
        return;
    }
    if (held && held->asked && hold_again(r, q))
        return;
    if (!seek_victims(r, q) && !hold_again(r, q))
        seek_to_drain(r, q);
}

/* Which pod will go where, by group and pod: as they will be assigned when the room is there. */
static str **nominate(struct round *r, const struct ask *q, const struct thold *h)
{
    size_t *from = arena_array(r->plan->arena, size_t, q->n_groups + 1);
    str **nodes = arena_array(r->plan->arena, str *, q->n_groups + 1);
    for (size_t i = 0; i < q->n_groups; i++)
        nodes[i] = arena_array(r->plan->arena, str, q->groups[i].n_pods + 1);
    for (size_t i = 0; i < h->ops.len; i++) {
        const struct core_op *op = &h->ops.p[i];
        size_t group = (size_t)q->leaf_group[op->leaf];
        const struct ask_group *g = &q->groups[group];
        int32_t left = op->count;
        while (from[group] < g->n_pods && !str_is_empty(nodes[group][from[group]]))
            from[group]++;
        for (size_t k = from[group]; k < g->n_pods && left > 0; k++) {
            if (g->pods[k]->cls != op->cls || !str_is_empty(nodes[group][k]))
                continue;
            nodes[group][k] = r->tables->snap.nodes.p[op->node].name;
            left--;
        }
    }
    return nodes;
}

void preempt_seek(struct round *r, struct ask *q)
{
    seek(r, q);
    const struct thold *h = hold_of(r->tables, q->gang);
    str **nodes = h && h->asked && h->taken ? nominate(r, q, h) : NULL;
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_pods; k++)
            tell_nominated(r->plan, q->groups[i].pods[k]->obj, nodes ? nodes[i][k] : STR_NONE);
    }
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

static bool is_leaving(const struct round *r, const struct tgang *g)
{
    return g->marked == r->tables->rounds || (gang_is_marked(g->obj) && !gang_is_trimmed(g->obj));
}

/* Its pods leave the tables (count -1) or return (1), but those that are going anyway. */
static void move_pods(struct round *r, const struct tgang *g, int32_t count)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE && !p->obj->deleting && !pod_is_trimmed(p->obj))
            core_take(r->tables->core, p->cls, p->node, count);
    }
}

static bool fits_now(struct round *r, struct ask *q)
{
    struct core *c = r->tables->core;
    bool fits = false;
    for (bool again = true; again && !fits; again = !fits && ask_less(q)) {
        struct core_result result;
        fits = core_place(c, &q->core, &result);
        if (fits)
            core_undo(c, &result);
        r->budget -= MIN(r->budget, (size_t)result.tries);
        core_result_done(&result);
    }
    return fits;
}

typedef VEC(struct tgang *) gang_list;

/* Who of the list, in order, must go so that `left` becomes free and the gang fits; the rest is
 * taken off the list, all of it when that is in vain. None of them could be spared, of the last
 * LEAVERS_TRIED. */
static void choose_leavers(struct round *r, struct ask *q, gang_list *list, int64_t left)
{
    enum { LEAVERS_TRIED = 64 };
    int64_t sum = 0;
    size_t gone = 0, tries = 0;
    bool fits = false;
    for (size_t step = 1; !fits && gone < list->len; step *= 2) {
        for (size_t i = 0; gone < list->len && (i < step || sum < left); i++) {
            sum += held_of(r->tables, list->p[gone], q->over_resource);
            move_pods(r, list->p[gone++], -1);
        }
        fits = sum >= left && fits_now(r, q);
    }
    list->len = gone;
    for (size_t i = gone; i-- > 0;) {
        int64_t held = held_of(r->tables, list->p[i], q->over_resource);
        bool stays = !fits || (sum - held >= left && tries < LEAVERS_TRIED);
        if (!stays)
            continue;
        move_pods(r, list->p[i], 1);
        if (fits && tries++ < LEAVERS_TRIED && !fits_now(r, q)) {
            move_pods(r, list->p[i], -1);
            continue;
        }
        sum -= held;
        vec_remove(list, i);
    }
    for (size_t i = 0; i < list->len; i++)
        move_pods(r, list->p[i], 1);
}

/* In the state in which the gang would be placed: with what is going gone, and what is kept for it
 * or for less important ones open. */
static void choose_in_queue(struct round *r, struct ask *q, gang_list *list, int64_t left)
{
    struct tables *t = r->tables;
    size_t n;
    const struct core_op *going = preempt_releasing(r, &n);
    lease_open(t, q->gang);
    (void)lease_open_below(t, q->gang->priority);
    core_give_ops(t->core, going, n);
    choose_leavers(r, q, list, left);
    core_take_ops(t->core, going, n);
    lease_close(t);
}

/* Less important gangs of the queue, the least important and youngest first, as many as it takes;
 * none when all of them are not enough, or the gang would find no room for itself. */
void preempt_in_queue(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    struct tgang *own = q->gang;
    int64_t left = q->over_amount, all = 0;
    usec until = 0;
    gang_list list = {0};
    str key;
    void *value;
    bool may = !own->spares_others && q->over_limit >= 0 && q->core.n_leaves > 0;
    for (size_t it = 0; may && map_next(&t->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        if (g->n_bound == 0 || g == own || !quota_is_below(t, quota_of(t, g), q->over_limit))
            continue;
        int64_t held = held_of(t, g, q->over_resource);
        if (is_leaving(r, g)) {
            left -= held; /* on its way */
        } else if (held > 0 && !gang_is_marked(g->obj) && g->priority < own->priority &&
                   victim_may_be_asked(r, g, &until)) {
            all += held;
            *vec_push(&list) = g;
        }
    }
    if (may) {
        own->seeks = true;
        own->seek_at = until;
        own->sought = t->moves;
    }
    if (until)
        round_look(r, until);
    if (left <= 0 || all < left || own->seek_due > round_now(r))
        vec_clear(&list);
    if (list.len > 0) {
        vec_sort(&list, cmp_least);
        choose_in_queue(r, q, &list, left);
        own->seek_due = list.len > 0 ? 0 : round_now(r) + SEEK_PAUSE;
    }
    for (size_t i = 0; i < list.len; i++)
        mark(r, list.p[i], NULL, why_of(r, own, list.p[i]));
    vec_done(&list);
}

/* ---- when it is done ---- */

static void take_back(struct round *r, struct tgang *g)
{
    struct verdict v = {.score = -1};
    v.words[WORD_WAITS].known = v.words[WORD_DISRUPT].known = true;
    tell_gang(r->plan, r->world, g->obj, &v);
    plan_look_again(r->plan, 0);
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
    g->trim_paused = round_now(r) + TRIM_PAUSE;
    take_back(r, g);
}

bool preempt_goes_on(struct round *r, struct tgang *g)
{
    if (g->marked == r->tables->rounds)
        return true; /* asked just now: what else is said of it would take that back */
    if (!gang_is_marked(g->obj))
        return false;
    bool holds = false;
    struct meant m = who_is_meant(r->tables, g);
    list_foreach (it, &g->pods)
        holds = holds || is_meant(&m, list_entry(it, struct tpod, link));
    if (!holds)
        take_back(r, g);
    else if (m.trim && marked_since(r, g) + TRIM_PATIENCE <= round_now(r))
        give_up_trim(r, g);
    return true;
}

void preempt_review(struct round *r)
{
    for (struct list *it = r->tables->trimmed.next, *next; it != &r->tables->trimmed; it = next) {
        struct tgang *g = list_entry(it, struct tgang, trim);
        usec end = marked_since(r, g) + TRIM_PATIENCE;
        next = it->next;
        if (!gang_is_trimmed(g->obj))
            continue;
        if (end > round_now(r)) {
            round_look(r, end);
            continue;
        }
        list_remove(&g->link);
        list_push_back(&r->tables->ready, &g->link);
    }
}

/* Nobody waits for room that others were asked for. */
static bool is_over(const struct round *r)
{
    for (size_t i = 0; i < r->tables->holds.len; i++) {
        if (r->tables->holds.p[i].asked)
            return false;
    }
    list_foreach (it, &r->tables->parked) {
        if (list_entry(it, struct tgang, link)->over)
            return false;
    }
    return r->at == r->gangs.len;
}

void preempt_end(struct round *r)
{
    bool over = !list_is_empty(&r->tables->trimmed) && is_over(r);
    for (struct list *it = r->tables->trimmed.next; over && it != &r->tables->trimmed;
         it = it->next) {
        struct tgang *g = list_entry(it, struct tgang, trim);
        bool goes = gang_is_trimmed(g->obj) || tell_is_told(r->plan, g->obj);
        list_foreach (k, &g->pods)
            goes = goes || list_entry(k, struct tpod, link)->obj->deleting;
        if (!goes)
            take_back(r, g);
    }
}
