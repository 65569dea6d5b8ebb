/* Room that is held; see hold.h. Holds are few, so everything looks at all of them. */
#include "sched/place/hold.h"

#include "sched/quota/queue_quota.h"

struct thold *hold_of(const struct tables *t, const struct tgang *g)
{
    for (size_t i = 0; i < t->holds.len; i++) {
        if (t->holds.p[i].gang == g)
            return &t->holds.p[i];
    }
    return NULL;
}

/* ---- who may ---- */

static void sum_held(const struct tables *t, const struct thold *h, int64_t *ret)
{
    for (size_t i = 0; i < h->ops.len; i++) {
        for (size_t r = 0; r < t->snap.n_resources; r++)
            ret[r] += h->ops.p[i].count * core_amount_of(t->core, h->ops.p[i].cls, (int32_t)r);
    }
}

/* What is drained without its gang's part is not too much of the cluster already. */
static bool is_within_share(const struct tables *t, const struct tgang *g)
{
    int64_t held[RES_MAX] = {0}, all[RES_MAX] = {0};
    bool any = false;
    for (size_t i = 0; i < t->holds.len; i++) {
        const struct thold *h = &t->holds.p[i];
        if (h->asked || h->gang == g)
            continue;
        any = true;
        sum_held(t, h, held);
    }
    for (size_t i = 0; any && i < t->snap.nodes.len; i++) {
        for (size_t r = 0; t->snap.nodes.p[i].open && r < t->snap.n_resources; r++)
            all[r] += t->snap.nodes.p[i].total[r];
    }
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if ((__int128)held[r] * 100 > (__int128)all[r] * HOLD_SHARE)
            return false;
    }
    return true;
}

static bool is_drained_for_another(const struct tables *t, struct tgang *g)
{
    for (size_t i = 0; i < t->holds.len; i++) {
        const struct thold *h = &t->holds.p[i];
        if (!h->asked && h->gang != g && quota_of(t, h->gang) == quota_of(t, g))
            return true;
    }
    return false;
}

bool hold_may(const struct round *r, struct tgang *g, bool asked)
{
    const struct tables *t = r->tables;
    if (!hold_of(t, g) && t->holds.len >= HOLDS_MAX)
        return false;
    return asked || (!is_drained_for_another(t, g) && is_within_share(t, g));
}

/* ---- an empty cluster ---- */

static int64_t node_takes(const struct tables *t, int32_t cls, int32_t node)
{
    int64_t most = core_is_admitted(t->core, cls, node) ? core_per_node(t->core, cls) : 0;
    for (size_t r = 0; most > 0 && r < t->snap.n_resources; r++) {
        int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
        if (amount > 0)
            most = MIN(most, t->snap.nodes.p[node].total[r] / amount);
    }
    return most;
}

/* Nodes of a tree are in its order: those of a domain follow one another. */
static void count_most(const struct tables *t, int32_t cls, int32_t tree, struct tmost *ret)
{
    size_t n;
    int host = core_host_level(t->core, tree);
    int64_t sums[CORE_LEVELS_MAX + 2] = {0};
    int32_t last[CORE_LEVELS_MAX + 2];
    const int32_t *nodes = core_nodes_in(t->core, tree, 0, &n);
    *ret = (struct tmost){.shape = t->shape, .tree = tree};
    for (int l = 0; l <= host; l++)
        last[l] = CORE_NONE;
    for (size_t i = 0; i < n; i++) {
        int64_t takes = node_takes(t, cls, nodes[i]);
        for (int l = 0; l <= host; l++) {
            int32_t d = l == 0 ? 0 : core_domain_of(t->core, tree, nodes[i], l);
            sums[l] = d == CORE_NONE ? 0 : d == last[l] ? sums[l] + takes : takes;
            last[l] = d;
            ret->at[l] = MAX(ret->at[l], sums[l]);
        }
    }
}

static const struct tmost *most_of(struct tables *t, int32_t cls, int32_t tree)
{
    struct tmost *most = &tables_class(t, cls)->most;
    if (most->shape != t->shape || most->tree != tree)
        count_most(t, cls, tree, most);
    return most;
}

int64_t hold_most(struct tables *t, int32_t cls, int32_t tree)
{
    return most_of(t, cls, tree)->at[0];
}

bool hold_is_hopeless(struct tables *t, int32_t tree, const struct core_cert *cert)
{
    if (cert->why != CORE_TOO_FEW || t->class_list.len == 0)
        return false;
    return cert->need > most_of(t, cert->cls, tree)->at[cert->level];
}

/* All but the gang's own pods and what is kept leaves the tables (count -1), or returns (1). */
static void move_others(struct tables *t, const struct tgang *g, int32_t count)
{
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        list_foreach (it, &t->on_node[i]) {
            const struct tpod *p = list_entry(it, struct tpod, on_node);
            if (p->gang != g)
                core_take(t->core, p->cls, p->node, count);
        }
    }
    for (size_t i = 0; i < t->leases.len; i++) {
        if (!t->leases.p[i].open)
            core_take(t->core, t->leases.p[i].cls, t->leases.p[i].node, count);
    }
    for (size_t i = 0; i < t->holds.len; i++) {
        const struct thold *h = &t->holds.p[i];
        for (size_t k = 0; h->taken && k < h->ops.len; k++)
            core_take(t->core, h->ops.p[k].cls, h->ops.p[k].node, count * h->ops.p[k].count);
    }
}

bool hold_never_fits(struct tables *t, const struct ask *q)
{
    struct core_result result;
    /* Where others of its replica or its queue are is no matter of the cluster. */
    if (q->core.within != 0 || q->core.closed_level != 0 || t->quota.owned.len > 0)
        return false;
    move_others(t, q->gang, -1);
    bool fits = core_place(t->core, &q->core, &result);
    if (fits)
        core_undo(t->core, &result);
    move_others(t, q->gang, 1);
    bool never = !fits && result.cert.why != CORE_BUDGET && !result.cert.vague;
    core_result_done(&result);
    return never;
}

/* ---- in a round ---- */

static void look_at(struct round *r, struct tgang *g)
{
    list_remove(&g->link);
    list_push_back(&r->tables->ready, &g->link);
}

static void end_in_vain(struct round *r, size_t i)
{
    r->tables->holds.p[i].gang->hold_paused = round_now(r) + HOLD_PAUSE;
    hold_drop(r->tables, i);
}

static void give_all(struct round *r)
{
    struct tables *t = r->tables;
    for (size_t i = t->holds.len; i-- > 0;) {
        struct thold *h = &t->holds.p[i];
        hold_give(t, h);
        if (h->since + HOLD_PATIENCE <= round_now(r)) {
            end_in_vain(r, i);
            continue;
        }
        round_look(r, h->since + HOLD_PATIENCE);
        if (h->gang->parked)
            look_at(r, h->gang);
    }
}

/* The first of each queue of those who have waited long enough. */
static void note_head(const struct round *r, struct tgang *g, struct tgang **heads)
{
    const struct tables *t = r->tables;
    int32_t queue = t->quota.n == 0 ? 0 : MAX(0, quota_of(t, g));
    struct tgang *head = heads[queue];
    if (g->hold_due == 0 || g->hopeless == t->shape)
        return;
    if (g->hold_due > round_now(r)) {
        round_look(r, g->hold_due);
        return;
    }
    if (!head || g->priority > head->priority ||
        (g->priority == head->priority && g->hold_due < head->hold_due))
        heads[queue] = g;
}

/* Those who were not looked at although nothing became free for them: pods came and went, so that
 * others may be asked now who could not be before. */
static bool may_seek_again(struct round *r, const struct tgang *g)
{
    if (g->seeks && g->seek_at > 0 && g->seek_at <= round_now(r))
        return true;
    if (g->seeks && g->seek_at > 0)
        round_look(r, g->seek_at);
    if (!g->seeks || g->sought == r->tables->moves)
        return false;
    if (g->seek_due > round_now(r)) {
        round_look(r, g->seek_due);
        return false;
    }
    return true;
}

void hold_begin(struct round *r)
{
    struct tables *t = r->tables;
    struct tgang *heads[QUEUES_MAX] = {NULL}, *seekers[ROUND_SEEKS];
    size_t n = 0;
    give_all(r);
    list_foreach (it, &t->parked) {
        struct tgang *g = list_entry(it, struct tgang, link);
        if (g->hold_paused > round_now(r)) {
            round_look(r, g->hold_paused);
            continue;
        }
        note_head(r, g, heads);
        if (!may_seek_again(r, g))
            continue;
        if (n < ROUND_SEEKS)
            seekers[n++] = g;
        else
            plan_look_again(r->plan, 0);
    }
    for (size_t i = 0; i < n; i++)
        look_at(r, seekers[i]);
    for (size_t i = 0; i < QUEUES_MAX; i++) {
        if (heads[i] && hold_may(r, heads[i], false))
            look_at(r, heads[i]);
    }
}

static bool is_same(const struct thold *h, const struct core_op *ops, size_t n)
{
    bool same = h->ops.len == n;
    for (size_t i = 0; same && i < n; i++)
        same = h->ops.p[i].node == ops[i].node && h->ops.p[i].cls == ops[i].cls &&
               h->ops.p[i].count == ops[i].count;
    return same;
}

/* Pods of others on its nodes. Fewer than ever: somebody went. */
static void note_progress(struct round *r, struct thold *h)
{
    struct tables *t = r->tables;
    size_t others = 0;
    for (size_t i = 0; i < h->ops.len; i++) {
        list_foreach (it, &t->on_node[h->ops.p[i].node])
            others += list_entry(it, struct tpod, on_node)->gang != h->gang;
    }
    if (others >= h->least)
        return;
    h->least = others;
    h->since = round_now(r);
    round_look(r, h->since + HOLD_PATIENCE);
}

void hold_keep(struct round *r, struct thold *h)
{
    hold_take(r->tables, h);
    h->growth = core_growth(r->tables->core);
    h->shape = r->tables->shape;
    note_progress(r, h);
}

void hold_set(struct round *r, struct tgang *g, const struct core_op *ops, size_t n, bool asked,
              size_t leave)
{
    struct tables *t = r->tables;
    struct thold *h = hold_of(t, g);
    if (!h) {
        h = vec_push(&t->holds);
        *h = (struct thold){.gang = g, .least = SIZE_MAX};
    }
    hold_give(t, h);
    if (!is_same(h, ops, n)) {
        hold_say_free(t, h);
        vec_clear(&h->ops);
        for (size_t i = 0; i < n; i++)
            *vec_push(&h->ops) = ops[i];
    }
    if (asked && !h->asked)
        h->least = SIZE_MAX;
    h->asked = asked;
    h->leave = leave;
    hold_keep(r, h);
}

/* The question is the one it was made for, as far as numbers go. */
static bool is_for(const struct thold *h, const struct ask *q)
{
    int64_t all = 0, wanted = 0;
    for (size_t k = 0; k < h->ops.len; k++)
        all += h->ops.p[k].count;
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        int64_t held = 0;
        for (size_t k = 0; k < h->ops.len; k++) {
            const struct core_op *op = &h->ops.p[k];
            held += op->leaf == (int32_t)i && op->cls == q->core.leaves[i].cls ? op->count : 0;
        }
        if (held != q->core.leaves[i].need)
            return false;
        wanted += held;
    }
    return all == wanted;
}

/* Nobody before it has taken what it waits for. */
static bool will_fit(struct round *r, const struct thold *h)
{
    struct core *c = r->tables->core;
    size_t n, taken = 0;
    const struct core_op *going = preempt_releasing(r, &n);
    core_give_ops(c, going, n);
    while (taken < h->ops.len) {
        const struct core_op *op = &h->ops.p[taken];
        if (core_slots(c, op->cls, op->node) < op->count)
            break;
        core_take_ops(c, op, 1);
        taken++;
    }
    core_give_ops(c, h->ops.p, taken);
    core_take_ops(c, going, n);
    return taken == h->ops.len;
}

bool hold_again(struct round *r, const struct ask *q)
{
    struct tables *t = r->tables;
    struct thold *h = hold_of(t, q->gang);
    if (!h || h->shape != t->shape || !is_for(h, q))
        return false;
    if (h->asked ? !will_fit(r, h) : h->growth != core_growth(t->core) && r->seeks > 0)
        return false;
    hold_keep(r, h);
    return true;
}

void hold_end(struct round *r)
{
    struct tables *t = r->tables;
    for (size_t i = t->holds.len; i-- > 0;) {
        /* Whose turn did not come in this call has it in the next. */
        if (!t->holds.p[i].taken && t->holds.p[i].gang->round != t->rounds)
            hold_drop(t, i);
    }
}
