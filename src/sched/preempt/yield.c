/* Room that surplus leaves to gangs that wait; see yield.h. */
#include "sched/preempt/yield.h"

#include "sched/model/order.h"
#include "sched/model/tell.h"
#include "sched/place/hold.h"
#include "sched/quota/queue_quota.h"

/* ---- who waits ---- */

/* It is refused for want of room that may come. */
static bool waits_for_room(const struct round *r, const struct tgang *g)
{
    bool room =
        g->cert.why == CORE_TOO_FEW || g->cert.why == CORE_TOGETHER || g->cert.why == CORE_BUDGET;
    return room && g->parked && !g->single && !g->over && g->cert.n_wants > 0 && g->obj &&
           !g->obj->deleting && !gang_is_marked(g->obj) && g->hopeless != r->tables->shape &&
           g->hold_paused <= round_now(r);
}

/* Of two that wait: by priority, then by how long, as of when they were looked at. */
static bool is_before(const struct tgang *x, const struct tgang *y)
{
    if (x->priority != y->priority)
        return x->priority > y->priority;
    if (x->age != y->age)
        return x->age > y->age;
    return x->created != y->created ? x->created < y->created : strcmp(x->key, y->key) < 0;
}

/* The first of those who wait, in order; returns how many. */
static size_t find_waiting(const struct round *r, struct tgang **ret)
{
    size_t n = 0;
    list_foreach (it, &r->tables->parked) {
        struct tgang *g = list_entry(it, struct tgang, link);
        if (!waits_for_room(r, g) || (n == YIELD_GANGS && !is_before(g, ret[n - 1])))
            continue;
        size_t at = n < YIELD_GANGS ? n++ : n - 1;
        for (; at > 0 && is_before(g, ret[at - 1]); at--)
            ret[at] = ret[at - 1];
        ret[at] = g;
    }
    return n;
}

static bool is_free(const struct tables *t, int32_t node)
{
    bool is = true;
    for (size_t r = 0; r < t->snap.n_resources; r++)
        is = is && core_free_of(t->core, node, (int32_t)r) >= 0;
    return is;
}

/* What is wanted beyond free room that is held for the gang already. Where others are still in the
 * way, what is held is no room yet. */
static struct core_cert wanted(const struct tables *t, const struct tgang *g)
{
    const struct thold *h = hold_of(t, g);
    struct core_cert ret = g->cert;
    for (size_t i = 0; h && h->taken && i < h->ops.len; i++) {
        const struct core_op *op = &h->ops.p[i];
        int32_t held = h->asked || is_free(t, op->node) ? op->count : 0;
        for (size_t k = 0; k < ret.n_wants && held > 0; k++) {
            int32_t less = ret.wants[k].cls == op->cls ? MIN(held, ret.wants[k].need) : 0;
            ret.wants[k].need -= less;
            held -= less;
        }
    }
    return ret;
}

/* What it could use of what is free, taken. */
static int32_t place_wanted(struct round *r, struct tgang *g, struct core_result *ret)
{
    struct core_cert wants = wanted(r->tables, g);
    size_t ops = ret->ops.len;
    int32_t pods = core_place_refused(r->tables->core, g->cert_tree, &wants, ret);
    round_spend(r, WORK_LOOK + ret->ops.len - ops);
    g->claims = g->claims || pods > 0;
    return pods;
}

/* What each could use now, given those before it. Nothing stays taken. */
static void find_claims(struct round *r)
{
    struct tables *t = r->tables;
    struct tgang *waiting[YIELD_GANGS];
    size_t n = find_waiting(r, waiting);
    for (size_t i = 0; i < n; i++) {
        struct yield_claim claim = {.gang = waiting[i]};
        quota_open_for(t, claim.gang);
        claim.pods = place_wanted(r, claim.gang, &claim.room);
        if (claim.pods > 0)
            *vec_push(&r->claims) = claim;
        else
            core_result_done(&claim.room);
    }
    for (size_t i = r->claims.len; i-- > 0;)
        core_undo(t->core, &r->claims.p[i].room);
    r->claims_known = true;
}

static void forget_claims(struct round *r)
{
    for (size_t i = 0; i < r->claims.len; i++)
        core_result_done(&r->claims.p[i].room);
    vec_clear(&r->claims);
    r->claims_known = r->claims_early = false;
}

static bool goes_before(const struct tables *t, struct tgang *waiting, struct tgang *surplus)
{
    const struct tquota *k = &t->quota;
    if (waiting->priority < surplus->priority)
        return false;
    int32_t queue = k->n == 0 ? QUOTA_UNREAD : quota_of(t, waiting);
    return queue < 0 || queue == quota_of(t, surplus) ||
           !queues_is_above(&k->shares[queue], t->snap.n_resources);
}

/* ---- placing surplus ---- */

static bool has_patience(const struct round *r, const struct tgang *g)
{
    return g->yield_since == 0 || round_now(r) - g->yield_since < YIELD_PATIENCE;
}

static bool has_room(struct tables *t, const struct ask *q)
{
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        int32_t domain = ask_domain(q, t, &q->groups[q->leaf_group[i]]);
        if (core_sum(t->core, q->core.leaves[i].cls, q->tree, domain) > 0)
            return true;
    }
    return false;
}

void yield_take(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    bool patient = has_patience(r, q->gang);
    r->left = 0;
    r->overruns = false;
    if (r->claims_early)
        forget_claims(r); /* minimums were placed since */
    if (list_is_empty(&t->parked) || !has_room(t, q))
        return;
    if (!r->claims_known && patient) {
        find_claims(r);
        quota_open_for(t, q->gang);
    }
    for (size_t i = 0; i < r->claims.len; i++) {
        struct yield_claim *c = &r->claims.p[i];
        c->taken = patient && goes_before(t, c->gang, q->gang);
        r->overruns = r->overruns || !c->taken;
        if (!c->taken)
            continue;
        core_take_ops(t->core, c->room.ops.p, c->room.ops.len);
        r->left += c->pods;
    }
    round_spend(r, (size_t)r->left / WORK_MEMBERS);
}

void yield_give_early(struct round *r)
{
    for (size_t i = r->claims.len; i-- > 0;) {
        if (r->claims.p[i].taken)
            core_undo(r->tables->core, &r->claims.p[i].room);
        r->claims.p[i].taken = false;
    }
}

void yield_give(struct round *r)
{
    yield_give_early(r);
    /* The surplus may be where others were to go: these look again. */
    if (r->overruns)
        forget_claims(r);
}

void yield_take_early(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    if (list_is_empty(&t->parked))
        return;
    if (!r->claims_known) {
        find_claims(r);
        quota_open_for(t, q->gang);
        r->claims_early = true;
    }
    for (size_t i = 0; i < r->claims.len; i++) {
        struct yield_claim *c = &r->claims.p[i];
        c->taken = goes_before(t, c->gang, q->gang);
        if (c->taken)
            core_take_ops(t->core, c->room.ops.p, c->room.ops.len);
        round_spend(r, (size_t)c->pods / WORK_MEMBERS);
    }
}

int32_t yield_left(const struct round *r, const struct core_leaf *leaf, int32_t tree,
                   int32_t domain)
{
    return r->left > 0 ? core_sum(r->tables->core, leaf->cls, tree, domain) : 0;
}

const struct tgang *yield_to(const struct round *r, struct tgang *g)
{
    for (size_t i = 0; i < r->claims.len; i++) {
        if (goes_before(r->tables, r->claims.p[i].gang, g))
            return r->claims.p[i].gang;
    }
    return NULL;
}

/* ---- placing scaled gangs ---- */

const struct tgang *yield_take_kin(struct round *r, struct tgang *g, struct core_result *ret)
{
    enum { KIN = 8 };
    const struct tgang *first = NULL;
    size_t n = 0;
    r->left = 0;
    if (!g->set || !order_is_scaled(g) || !has_patience(r, g))
        return NULL;
    for (struct list *it = g->set->gangs.next; n < KIN && it != &g->set->gangs; it = it->next) {
        struct tgang *base = list_entry(it, struct tgang, kin);
        if (!waits_for_room(r, base) || order_is_scaled(base) || base->priority < g->priority)
            continue;
        int32_t pods = place_wanted(r, base, ret);
        first = first || pods == 0 ? first : base;
        r->left += pods;
        n++;
    }
    return first;
}

/* ---- saying so ---- */

void yield_note(struct round *r, struct tgang *g)
{
    if (g->yield_since == 0 || r->left > g->yield_most) {
        g->yield_since = round_now(r);
        g->yield_most = r->left;
    }
    r->tables->n_yielding += !g->yields;
    g->yields = true;
    round_look(r, g->yield_since + YIELD_PATIENCE);
}

str yield_text(const struct tgang *to, struct arena *a)
{
    return arena_printf(a, "there is room, left to gang %s, which waits for its minimum",
                        why_name(to));
}

/* ---- rounds ---- */

void yield_begin(struct round *r)
{
    struct tables *t = r->tables;
    bool all = t->claims_ended;
    t->claims_ended = false;
    if (t->n_yielding == 0)
        return;
    for (struct list *it = t->parked.next, *next; it != &t->parked; it = next) {
        struct tgang *g = list_entry(it, struct tgang, link);
        next = it->next;
        if (!g->yields)
            continue;
        if (!all && has_patience(r, g)) {
            round_look(r, g->yield_since + YIELD_PATIENCE);
            continue;
        }
        list_remove(&g->link);
        list_push_back(&t->ready, &g->link);
    }
}

bool yield_end(struct round *r)
{
    forget_claims(r);
    vec_done(&r->claims);
    return r->tables->claims_ended && r->tables->n_yielding > 0;
}
