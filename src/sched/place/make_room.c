/*
 * Making room for a gang by taking others away: as cheaply as possible. Pods that their gangs can
 * spare go first; only where they are not enough, gangs do.
 *
 * First everybody is taken away at once: when the gang does not fit even so, nobody is asked. Then
 * one victim that is enough is looked for, then a pair; beyond that all candidates are taken away,
 * the gang is placed, and every victim that can be put back without touching it is, the most
 * important ones first. When there are not many, all choices are tried that could be cheaper, as
 * long as the number of tries allows. Of what is found the cheapest counts.
 * Everything happens on the tables with exact undo.
 */
#include "sched/model/core_impl.h"

enum { ROOM_TRIES = 1500, ROOM_LAST_TRIES = 200 };

/* In the order of importance; see core_make_room. */
enum { COST_SERVES, COST_GANGS, COST_PRIORITY, COST_PODS, COST_WORK, N_COSTS };
struct cost {
    int64_t of[N_COSTS];
};

struct room {
    struct core *core;
    const struct core_ask *ask;
    const struct core_victim *victims;
    size_t n;
    bool *away; /* by victim: not on the tables at present */
    unsigned tries;
    struct core_result *result;
    const struct core_trims *trims; /* NULL: none */
    /* The cheapest so far. */
    bool found;
    struct cost cost;
    bool *chosen, *trimmed;
    struct core_result best;
};

/* ---- what it costs ---- */

static bool is_cheaper(const struct cost *a, const struct cost *b)
{
    for (int i = 0; i < N_COSTS; i++) {
        if (a->of[i] != b->of[i])
            return a->of[i] < b->of[i];
    }
    return false;
}

static void add_cost(struct cost *sum, const struct core_victim *v)
{
    sum->of[COST_SERVES] += v->serves;
    sum->of[COST_GANGS] += MAX(1, v->gangs);
    sum->of[COST_PRIORITY] += v->priority;
    sum->of[COST_PODS] += v->pods;
    sum->of[COST_WORK] += v->work;
}

static struct cost cost_of_one(const struct room *r, size_t i)
{
    struct cost c = {{0}};
    add_cost(&c, &r->victims[i]);
    return c;
}

static struct cost cost_of_two(const struct room *r, size_t i, size_t j)
{
    struct cost c = {{0}};
    if (r->victims[i].after != j + 1)
        add_cost(&c, &r->victims[i]);
    if (r->victims[j].after != i + 1)
        add_cost(&c, &r->victims[j]);
    return c;
}

static struct cost cost_of_set(const struct room *r, const bool *set)
{
    struct cost c = {{0}};
    for (size_t i = 0; i < r->n; i++) {
        if (set[i] && !(r->victims[i].after > 0 && set[r->victims[i].after - 1]))
            add_cost(&c, &r->victims[i]);
    }
    return c;
}

/* Less than any `n` of them can cost. */
static struct cost least_cost(const struct room *r, size_t n)
{
    size_t serving = 0;
    for (size_t i = 0; i < r->n; i++)
        serving += r->victims[i].serves;
    size_t others = r->n - serving;
    return (struct cost){{[COST_SERVES] = n > others ? (int64_t)(n - others) : 0,
                          [COST_GANGS] = (int64_t)n,
                          [COST_PRIORITY] = INT64_MIN}};
}

static bool could_be_cheaper(const struct room *r, const struct cost *c)
{
    return !r->found || is_cheaper(c, &r->cost);
}

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

/* The result and those in `set` (or one, or two) are the cheapest; trims as they are chosen. */
static void remember(struct room *r, struct cost cost, const bool *set)
{
    struct core_result old = r->best;
    r->best = *r->result;
    *r->result = old;
    r->found = true;
    r->cost = cost;
    memcpy(r->chosen, set, r->n * sizeof(*set));
    if (r->trims)
        memcpy(r->trimmed, r->trims->chosen, r->trims->n * sizeof(bool));
}

static void try_singles(struct room *r)
{
    for (size_t i = 0; i < r->n && i < CORE_SINGLES; i++) {
        struct cost cost = cost_of_one(r, i);
        if (!could_be_cheaper(r, &cost))
            continue;
        send_away(r, i);
        if (would_fit(r))
            remember(r, cost, r->away);
        bring_back(r, i);
    }
}

static void try_pairs(struct room *r)
{
    struct cost least = least_cost(r, 2);
    if (r->n > CORE_PAIRS || !could_be_cheaper(r, &least))
        return;
    for (size_t i = 0; i < r->n; i++) {
        send_away(r, i);
        for (size_t j = i + 1; j < r->n; j++) {
            struct cost cost = cost_of_two(r, i, j);
            if (!could_be_cheaper(r, &cost))
                continue;
            send_away(r, j);
            if (would_fit(r))
                remember(r, cost, r->away);
            bring_back(r, j);
        }
        bring_back(r, i);
    }
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

static void try_all(struct room *r)
{
    bool *set = xcalloc(r->n + 1, sizeof(bool));
    for (size_t i = 0; i < r->n; i++)
        send_away(r, i);
    if (would_fit(r)) {
        core_take_ops(r->core, r->result->ops.p, r->result->ops.len);
        reprieve(r, set);
        core_give_ops(r->core, r->result->ops.p, r->result->ops.len);
        if (!would_fit(r))
            away_with_all(r, set);
        shrink(r, set);
        r->tries++;
        struct cost cost = cost_of_set(r, set);
        if (would_fit(r) && could_be_cheaper(r, &cost))
            remember(r, cost, set);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->away[i])
            bring_back(r, i);
    }
    free(set);
}

/* What those cost at least of whom it is decided, from `i` on, that they go: one that is after
 * another is counted with it, and that may yet be to go. */
static struct cost cost_from(const struct room *r, size_t i)
{
    struct cost c = {{0}};
    for (size_t k = i; k < r->n; k++) {
        size_t lead = r->victims[k].after;
        if (r->away[k] && (lead == 0 || (lead - 1 >= i && !r->away[lead - 1])))
            add_cost(&c, &r->victims[k]);
    }
    return c;
}

/* Those from `i` on are decided, the others are away, and the gang fits. The most important ones
 * are decided first, and stay if they can. */
static void branch(struct room *r, size_t i)
{
    struct cost cost = cost_from(r, i);
    if (r->tries == 0 || !could_be_cheaper(r, &cost))
        return;
    if (i == 0) {
        if (would_fit(r))
            remember(r, cost, r->away);
        return;
    }
    bring_back(r, i - 1);
    if (would_fit(r))
        branch(r, i - 1);
    send_away(r, i - 1);
    branch(r, i - 1);
}

/* All choices but those that cannot be cheaper than one that was found. */
static void try_sets(struct room *r)
{
    for (size_t i = 0; i < r->n; i++)
        send_away(r, i);
    branch(r, r->n);
    for (size_t i = 0; i < r->n; i++)
        bring_back(r, i);
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

/* Of the trims that are chosen, none is of the victim: its own spare pods are a part of it. */
static void keep_own(struct room *r, size_t victim)
{
    for (size_t k = 0; k < r->trims->n; k++) {
        if (r->trims->chosen[k] && r->trims->list[k].victim == (int32_t)victim)
            trim_back(r, k);
    }
}

/* One gang, and what others can spare. */
static void try_single_and_trims(struct room *r)
{
    const struct core_trims *t = r->trims;
    bool *none = xcalloc(t->n + 1, sizeof(bool));
    for (size_t i = 0; i < r->n && i < CORE_SINGLES && r->tries > 0; i++) {
        struct cost cost = cost_of_one(r, i);
        if (!could_be_cheaper(r, &cost))
            continue;
        send_spare(r, none);
        keep_own(r, i);
        send_away(r, i);
        if (would_fit(r)) {
            shrink_trims(r);
            r->tries++;
            if (would_fit(r))
                remember(r, cost, r->away);
        }
        bring_back(r, i);
        trim_all_back(r);
    }
    free(none);
}

/* ---- all of it ---- */

/* A cheap no: what does not fit an empty place fits no other. Only where pods are wanted as
 * neighbours it may. */
static bool is_hopeless(struct room *r)
{
    for (size_t i = 0; i < r->n; i++)
        send_away(r, i);
    bool fits = would_fit(r);
    for (size_t i = 0; i < r->n; i++)
        bring_back(r, i);
    return !fits && r->result->cert.why == CORE_TOO_FEW && !r->result->cert.vague;
}

static void try_gangs(struct room *r)
{
    if (is_hopeless(r))
        return;
    try_singles(r);
    if (r->trims && r->trims->n > 0)
        try_single_and_trims(r);
    try_pairs(r);
    struct cost least = least_cost(r, 3);
    r->tries = MAX(r->tries, ROOM_LAST_TRIES);
    if (!could_be_cheaper(r, &least))
        return;
    try_all(r);
    if (r->n <= CORE_PAIRS)
        try_sets(r);
}

bool core_make_room(struct core *c, const struct core_ask *ask, const struct core_victim *victims,
                    size_t n, bool *chosen, const struct core_trims *trims, struct core_result *ret)
{
    struct room r = {.core = c,
                     .ask = ask,
                     .victims = victims,
                     .n = n,
                     .away = xcalloc(n + 1, sizeof(bool)),
                     .tries = ROOM_TRIES,
                     .result = ret,
                     .trims = trims,
                     .chosen = chosen,
                     .trimmed = xcalloc(trims ? trims->n + 1 : 1, sizeof(bool))};
    memset(chosen, 0, n * sizeof(*chosen));
    *ret = (struct core_result){0};
    bool fits = trims && trims->n > 0 && try_trims(&r);
    r.tries = ROOM_TRIES;
    if (!fits && n > 0)
        try_gangs(&r);
    if (r.found) {
        core_result_done(ret);
        *ret = r.best;
        if (trims)
            memcpy(trims->chosen, r.trimmed, trims->n * sizeof(bool));
    }
    free(r.away);
    free(r.trimmed);
    return fits || r.found;
}

/* ---- those to come ---- */

/* Lots of so many that nodes of the domain take, each in one domain of the level. */
static int64_t count_lots(struct core *c, int32_t tree, int32_t domain, const struct core_spare *s,
                          int64_t enough)
{
    size_t n;
    int64_t lots = 0;
    int32_t last = CORE_NONE;
    const int32_t *nodes = core_nodes_in(c, tree, domain, &n);
    for (size_t i = 0; i < n && lots < enough; i++) {
        int32_t d = core_domain_of(c, tree, nodes[i], s->level);
        if (d != CORE_NONE && d != last)
            lots += core_sum(c, s->cls, tree, d) / s->lot;
        last = d;
    }
    return lots;
}

bool core_spare_fits(struct core *c, int32_t tree, int32_t domain, const struct core_spare *spare,
                     int64_t own)
{
    if (core_sum(c, spare->cls, tree, domain) < spare->count + own)
        return false;
    if (spare->level <= core_level_of(c, tree, domain) || spare->lot < 2)
        return true;
    int64_t lots = (spare->count + own + spare->lot - 1) / spare->lot;
    return count_lots(c, tree, domain, spare, lots) >= lots;
}
