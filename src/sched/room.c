/*
 * Making room for a gang by taking others away: as few as possible.
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

bool core_make_room(struct core *c, const struct core_ask *ask, const struct core_victim *victims,
                    size_t n, bool *chosen, struct core_result *ret)
{
    uint64_t growth = c->growth;
    struct room r = {c, ask, victims, n, xcalloc(n + 1, sizeof(bool)), ROOM_TRIES, ret};
    memset(chosen, 0, n * sizeof(*chosen));
    *ret = (struct core_result){0};
    bool fits = n > 0 && (try_singles(&r, chosen) || try_pairs(&r, chosen));
    if (!fits && n > 0) {
        r.tries = MAX(r.tries, 200);
        memset(chosen, 0, n * sizeof(*chosen));
        fits = try_all(&r, chosen);
    }
    c->growth = growth;
    free(r.away);
    return fits;
}
