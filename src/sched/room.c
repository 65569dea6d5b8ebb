/*
 * Making room for a gang by taking others away: as few as possible. Pods that their gangs can spare
 * go first; only where they are not enough, gangs do.
 *
 * One victim that is enough is looked for first, then a pair; beyond that all candidates are taken
 * away at once, the gang is placed, and every victim that can be put back without touching it is,
 * the most important ones first. Everything happens on the tables with exact undo.
 */
#include "sched/core_impl.h"

enum { ROOM_TRIES = 1500 };

struct room {
    struct core *core;
    const struct core_ask *ask;
    const struct core_victim *victims;
    size_t n;
    bool *away; /* by victim: not on the tables at present */
    unsigned tries;
    struct core_result *result;
    const struct core_trims *trims; /* NULL: none */
};

static void send_away(struct room *r, size_t i)
{
    r->away[i] = true;
    core_give_ops(r->core, r->victims[i].ops, r->victims[i].n_ops);
}

static void bring_back(struct room *r, size_t i)
{
    r->away[i] = false;
    core_take_ops(r->core, r->victims[i].ops, r->victims[i].n_ops);
}

/* Would fit now; leaves nothing behind but the result. */
static bool would_fit(struct room *r)
{
    if (r->tries == 0)
        return false;
    r->tries--;
    core_result_done(r->result);
    bool fits = core_place(r->core, r->ask, r->result);
    if (fits)
        core_undo(r->core, r->result);
    return fits;
}

static bool try_singles(struct room *r, bool *chosen)
{
    for (size_t i = 0; i < r->n && i < CORE_SINGLES; i++) {
        send_away(r, i);
        chosen[i] = would_fit(r);
        bring_back(r, i);
        if (chosen[i])
            return true;
    }
    return false;
}

static bool try_pairs(struct room *r, bool *chosen)
{
    if (r->n > CORE_PAIRS)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        send_away(r, i);
        for (size_t j = i + 1; j < r->n; j++) {
            send_away(r, j);
            bool fits = would_fit(r);
            bring_back(r, j);
            if (fits) {
                bring_back(r, i);
                chosen[i] = chosen[j] = true;
                return true;
            }
        }
        bring_back(r, i);
    }
    return false;
}

/* No node that the victim holds is overbooked with it back. */
static bool is_back_in_bounds(const struct room *r, size_t i)
{
    const struct core_victim *v = &r->victims[i];
    for (size_t k = 0; k < v->n_ops; k++) {
        for (size_t res = 0; res < r->core->n_resources; res++) {
            if (core_free_of(r->core, v->ops[k].node, (int32_t)res) < 0)
                return false;
        }
    }
    return true;
}

/* Puts back what does not stand in the way; `placed` of the gang is on the tables. */
static void reprieve(struct room *r, bool *chosen)
{
    for (size_t i = r->n; i-- > 0;) {
        bring_back(r, i);
        chosen[i] = !is_back_in_bounds(r, i);
        if (chosen[i])
            send_away(r, i);
    }
}

/* Once more, with the gang free to choose again among what is left over. */
static void shrink(struct room *r, bool *chosen)
{
    for (size_t i = r->n; i-- > 0 && r->tries > 0;) {
        if (!chosen[i])
            continue;
        bring_back(r, i);
        if (would_fit(r))
            chosen[i] = false;
        else
            send_away(r, i);
    }
}

/* Resources are not everything: what pods say about each other stood in the way. */
static void away_with_all(struct room *r, bool *chosen)
{
    for (size_t i = 0; i < r->n; i++) {
        chosen[i] = true;
        if (!r->away[i])
            send_away(r, i);
    }
}

static bool try_all(struct room *r, bool *chosen)
{
    for (size_t i = 0; i < r->n; i++)
        send_away(r, i);
    bool fits = would_fit(r);
    if (fits) {
        core_take_ops(r->core, r->result->ops.p, r->result->ops.len);
        reprieve(r, chosen);
        core_give_ops(r->core, r->result->ops.p, r->result->ops.len);
        if (!would_fit(r))
            away_with_all(r, chosen);
        shrink(r, chosen);
        r->tries++;
        fits = would_fit(r);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->away[i])
            bring_back(r, i);
    }
    return fits;
}

/* ---- pods that can be spared ---- */

static void trim_away(struct room *r, size_t i)
{
    const struct core_op *op = &r->trims->list[i].op;
    r->trims->chosen[i] = true;
    core_take(r->core, op->cls, op->node, -op->count);
}

static void trim_back(struct room *r, size_t i)
{
    const struct core_op *op = &r->trims->list[i].op;
    r->trims->chosen[i] = false;
    core_take(r->core, op->cls, op->node, op->count);
}

static void trim_all_back(struct room *r)
{
    for (size_t i = 0; i < r->trims->n; i++) {
        if (r->trims->chosen[i])
            trim_back(r, i);
    }
}

/* One like it was tried before. */
static bool is_like_last(const struct core_trims *t, size_t i)
{
    return i > 0 && t->list[i].op.node == t->list[i - 1].op.node &&
           t->list[i].op.cls == t->list[i - 1].op.cls;
}

static bool try_one_pod(struct room *r)
{
    for (size_t i = 0; i < r->trims->n && i < CORE_SINGLES; i++) {
        if (is_like_last(r->trims, i))
            continue;
        trim_away(r, i);
        if (would_fit(r))
            return true;
        trim_back(r, i);
    }
    return false;
}

static bool try_two_pods(struct room *r)
{
    const struct core_trims *t = r->trims;
    for (size_t i = 0; t->n <= CORE_PAIRS && i < t->n; i++) {
        trim_away(r, i);
        for (size_t j = i + 1; j < t->n; j++) {
            if (t->list[i].group == t->list[j].group && t->spare[t->list[i].group] < 2)
                continue;
            trim_away(r, j);
            if (would_fit(r))
                return true;
            trim_back(r, j);
        }
        trim_back(r, i);
    }
    return false;
}

/* No group loses more than it can spare. Those that are in the way go first, then others, as many
 * as may, since the gang can choose again. */
static void send_spare(struct room *r, const bool *in_the_way)
{
    const struct core_trims *t = r->trims;
    int32_t *left = xcalloc(t->n_groups + 1, sizeof(*left));
    memcpy(left, t->spare, t->n_groups * sizeof(*left));
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < t->n; i++) {
            if (in_the_way[i] != (turn == 0) || left[t->list[i].group] <= 0 || t->chosen[i])
                continue;
            left[t->list[i].group]--;
            trim_away(r, i);
        }
    }
    free(left);
}

/* The gang placed as if all of them could go: who stands in its way there? */
static bool find_in_the_way(struct room *r, bool *in_the_way)
{
    const struct core_trims *t = r->trims;
    for (size_t i = 0; i < t->n; i++)
        trim_away(r, i);
    bool fits = would_fit(r);
    if (fits)
        core_take_ops(r->core, r->result->ops.p, r->result->ops.len);
    for (size_t i = t->n; i-- > 0;) {
        trim_back(r, i);
        for (size_t res = 0; fits && res < r->core->n_resources && !in_the_way[i]; res++)
            in_the_way[i] = core_free_of(r->core, t->list[i].op.node, (int32_t)res) < 0;
        if (in_the_way[i])
            trim_away(r, i);
    }
    if (fits)
        core_give_ops(r->core, r->result->ops.p, r->result->ops.len);
    trim_all_back(r);
    return fits;
}

/* Those that need not go stay, the most important first. */
static void shrink_trims(struct room *r)
{
    for (size_t i = r->trims->n; i-- > 0 && r->tries > 1;) {
        if (!r->trims->chosen[i])
            continue;
        trim_back(r, i);
        if (!would_fit(r))
            trim_away(r, i);
    }
}

static bool try_many_pods(struct room *r)
{
    bool *in_the_way = xcalloc(r->trims->n + 1, sizeof(bool));
    bool fits = find_in_the_way(r, in_the_way);
    if (fits) {
        send_spare(r, in_the_way);
        fits = would_fit(r);
    }
    if (fits) {
        shrink_trims(r);
        r->tries++;
        fits = would_fit(r);
    }
    free(in_the_way);
    return fits;
}

/* Everything is on the tables again afterwards; the result and who is chosen stay. */
static bool try_trims(struct room *r)
{
    const struct core_trims *t = r->trims;
    bool fits = try_one_pod(r) || try_two_pods(r) || try_many_pods(r);
    for (size_t i = 0; i < t->n; i++) {
        if (!t->chosen[i])
            continue;
        trim_back(r, i);
        t->chosen[i] = fits;
    }
    return fits;
}

/* One gang, and what others can spare. Its own spare pods are a part of it. */
static bool try_single_and_trims(struct room *r, bool *chosen)
{
    const struct core_trims *t = r->trims;
    bool *none = xcalloc(t->n + 1, sizeof(bool)), fits = false;
    for (size_t i = 0; i < r->n && i < CORE_SINGLES && r->tries > 0 && !fits; i++) {
        send_spare(r, none);
        for (size_t k = 0; k < t->n; k++) {
            if (t->chosen[k] && t->list[k].victim == (int32_t)i)
                trim_back(r, k);
        }
        send_away(r, i);
        fits = would_fit(r);
        if (fits) {
            shrink_trims(r);
            r->tries++;
            fits = would_fit(r);
        }
        bring_back(r, i);
        chosen[i] = fits;
        for (size_t k = 0; k < t->n; k++) {
            if (!t->chosen[k])
                continue;
            trim_back(r, k);
            t->chosen[k] = fits;
        }
    }
    free(none);
    return fits;
}

/* ---- all of it ---- */

static bool try_gangs(struct room *r, bool *chosen)
{
    if (try_singles(r, chosen))
        return true;
    if (r->trims && r->trims->n > 0 && try_single_and_trims(r, chosen))
        return true;
    if (try_pairs(r, chosen))
        return true;
    r->tries = MAX(r->tries, 200);
    memset(chosen, 0, r->n * sizeof(*chosen));
    return try_all(r, chosen);
}

bool core_make_room(struct core *c, const struct core_ask *ask, const struct core_victim *victims,
                    size_t n, bool *chosen, const struct core_trims *trims, struct core_result *ret)
{
    struct room r = {c, ask, victims, n, xcalloc(n + 1, sizeof(bool)), ROOM_TRIES, ret, trims};
    memset(chosen, 0, n * sizeof(*chosen));
    *ret = (struct core_result){0};
    bool fits = trims && trims->n > 0 && try_trims(&r);
    r.tries = ROOM_TRIES;
    fits = fits || (n > 0 && try_gangs(&r, chosen));
    free(r.away);
    return fits;
}
