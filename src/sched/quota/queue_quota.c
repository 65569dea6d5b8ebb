/* See queue_quota.h. */
#include "sched/quota/queue_quota.h"

#include "grove/scheduler_queue.h"
#include "grove/types.h"
#include "sched/model/fixed.h"
#include "sched/model/tell.h"

/* ---- configuration ---- */

void quota_on_config(void *sched, const struct obj *old, const struct obj *new)
{
    struct sched *s = sched;
    const struct obj *o = new ? new : old;
    struct err err = ERR_INIT;
    if (!str_is(o->ns, QUOTA_NAMESPACE) || !str_is(o->name, QUOTA_NAME))
        return;
    struct quota_config *config = NULL;
    if (new)
        config =
            quota_config_new(jstr(jget(jgetc(obj_root(new), "data"), STR(QUOTA_MEMBER))), &err);
    obj_unref(s->wrong_queues);
    s->wrong_queues = NULL;
    if (new && !config) {
        s->wrong_queues = obj_ref(new);
        s->queues_error = err;
        return;
    }
    quota_config_free(s->queues);
    s->queues = config;
    tables_drop(s);
}

void quota_warn(struct round *r)
{
    struct sched *s = r->tables->sched;
    if (!s->wrong_queues)
        return;
    plan_event(r->plan, s->wrong_queues, true, STR("InvalidQueues"), "%s; %s",
               s->queues_error.message,
               s->queues ? "the queues of before stay" : "there are no queues");
    obj_unref(s->wrong_queues);
    s->wrong_queues = NULL;
}

/* Sums of absurd amounts stay where adding those of all queues does not leave the range. */
#define SUM_MAX (INT64_MAX / (2 * QUEUES_MAX))

static int64_t add_some(int64_t sum, int64_t count, int64_t amount)
{
    __int128 all = (__int128)count * amount + sum;
    return (int64_t)MIN(all, (__int128)SUM_MAX);
}

/* ---- tables ---- */

str quota_name(const struct tables *t, int32_t queue)
{
    return queue < 0 ? STR_NONE : t->quota.config->list.p[queue].name;
}

usec quota_min_runtime(const struct tables *t, struct tgang *g)
{
    int32_t queue = t->quota.n == 0 ? QUOTA_UNREAD : quota_of(t, g);
    while (queue >= 0 && t->quota.config->list.p[queue].min_runtime == 0)
        queue = t->quota.queues[queue].parent;
    return queue < 0 ? 0 : t->quota.config->list.p[queue].min_runtime;
}

/* ---- a round ---- */

static void add_waiting(struct tables *t, struct list *gangs)
{
    list_foreach (it, gangs) {
        struct tgang *g = list_entry(it, struct tgang, link);
        int32_t queue = g->n_waiting > 0 ? quota_of(t, g) : QUOTA_UNREAD;
        if (queue < 0)
            continue;
        list_foreach (k, &g->pods) {
            struct tpod *p = list_entry(k, struct tpod, link);
            if (!p->waits || p->node != CORE_NONE || !tables_judge(t, p))
                continue;
            int64_t *want = t->quota.shares[queue].want;
            for (size_t r = 0; r < t->snap.n_resources; r++)
                want[r] = add_some(want[r], 1, core_amount_of(t->core, p->cls, (int32_t)r));
        }
    }
}

void quota_begin(struct round *r)
{
    struct tables *t = r->tables;
    struct tquota *k = &t->quota;
    int64_t capacity[RES_MAX] = {0};
    quota_warn(r);
    if (k->n == 0)
        return;
    memset(k->shares, 0, k->n * sizeof(*k->shares));
    for (size_t i = 0; i < k->n; i++) {
        memcpy(k->shares[i].used, &k->used[i * RES_MAX], sizeof(k->shares[i].used));
        memcpy(k->shares[i].want, &k->used[i * RES_MAX], sizeof(k->shares[i].want));
    }
    for (size_t res = 0; res < t->snap.n_resources; res++) {
        for (size_t i = 0; i < t->snap.nodes.len; i++)
            capacity[res] =
                add_some(capacity[res], t->snap.nodes.p[i].open, t->snap.nodes.p[i].total[res]);
        capacity[res] -= k->foreign[res];
    }
    add_waiting(t, &t->ready);
    add_waiting(t, &t->parked);
    queues_share(k->queues, k->n, t->snap.n_resources, capacity, k->shares);
    quota_choose_cells(r);
}

void quota_order(struct round *r)
{
    size_t n = r->tables->quota.n;
    r->heads = arena_array(r->plan->arena, size_t, n + 1);
    r->next = arena_array(r->plan->arena, size_t, r->gangs.len + 1);
    for (size_t i = 0; i <= n; i++)
        r->heads[i] = SIZE_MAX;
    for (size_t i = r->gangs.len; n > 0 && i-- > 0;) {
        int32_t queue = quota_of(r->tables, r->gangs.p[i]);
        size_t *head = &r->heads[queue < 0 ? n : (size_t)queue];
        r->next[i] = *head;
        *head = i;
    }
}

/* Those without a queue come first: they are refused. */
struct tgang *quota_next(struct round *r)
{
    struct tquota *k = &r->tables->quota;
    bool ready[QUEUES_MAX] = {false};
    if (k->n == 0)
        return r->at < r->gangs.len ? r->gangs.p[r->at++] : NULL;
    for (size_t i = 0; i < k->n; i++)
        ready[i] = r->heads[i] != SIZE_MAX;
    size_t queue = k->n;
    if (r->heads[queue] == SIZE_MAX) {
        int32_t next = queues_next(k->queues, k->n, r->tables->snap.n_resources, k->shares, ready);
        if (next < 0)
            return NULL;
        queue = (size_t)next;
    }
    size_t pick = r->heads[queue];
    r->heads[queue] = r->next[pick];
    r->at++;
    return r->gangs.p[pick];
}

void quota_sum_needs(const struct tables *t, const struct ask *q, int64_t *ret)
{
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        for (size_t r = 0; r < t->snap.n_resources; r++)
            ret[r] = add_some(ret[r], q->core.leaves[i].need,
                              core_amount_of(t->core, q->core.leaves[i].cls, (int32_t)r));
    }
}

static str amount_text(const struct tables *t, size_t resource, int64_t amount, struct arena *a)
{
    return arena_printf(a, "%lld%s %.*s", (long long)amount, resource == RES_CPU ? "m" : "",
                        STR_ARG(t->snap.resources[resource]));
}

/* What gangs of the queue that never make room use of the resource. */
static int64_t used_for_good(const struct tables *t, int32_t queue, size_t resource)
{
    str key;
    void *value;
    int64_t sum = 0;
    for (size_t it = 0; map_next(&t->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        if (quota_of(t, g) != queue || !victim_is_fixed(g))
            continue;
        list_foreach (k, &g->pods) {
            const struct tpod *p = list_entry(k, struct tpod, link);
            if (p->node != CORE_NONE)
                sum += core_amount_of(t->core, p->cls, (int32_t)resource);
        }
    }
    return sum;
}

/* A gang that never makes room may only use what its queue is guaranteed: it could not be claimed
 * back. */
static bool admits_for_good(const struct tables *t, struct ask *q, int32_t queue,
                            const int64_t *more, struct arena *a)
{
    const quota_amounts *quota = &t->quota.config->list.p[queue].quota;
    bool fixed = quota->len > 0 && victim_is_fixed(q->gang);
    for (size_t r = 0; fixed && r < t->snap.n_resources; r++) {
        for (size_t i = 0; i < quota->len; i++) {
            if (!str_eq(quota->p[i].resource, t->snap.resources[r]) || more[r] == 0)
                continue;
            int64_t used = used_for_good(t, queue, r);
            if (used + more[r] <= quota->p[i].amount)
                continue;
            q->wrong_reason = "QueueLimit";
            q->wrong_for_now = true;
            q->over_limit = -1;
            q->wrong = arena_printf(
                a,
                "queue %.*s is guaranteed %.*s, gangs that never make room use %.*s of it, and the "
                "gang, which is one, needs %.*s more",
                STR_ARG(quota_name(t, queue)), STR_ARG(amount_text(t, r, quota->p[i].amount, a)),
                STR_ARG(amount_text(t, r, used, a)), STR_ARG(amount_text(t, r, more[r], a)));
            return false;
        }
    }
    return true;
}

bool quota_admits(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    const struct tquota *k = &t->quota;
    struct arena *a = r->plan->arena;
    int64_t more[RES_MAX] = {0};
    size_t res = 0;
    str name;
    if (k->n == 0)
        return true;
    int32_t queue = quota_of(t, q->gang);
    if (queue < 0) {
        (void)quota_named(q->gang, &name);
        q->wrong_reason = "UnknownQueue";
        q->wrong = queue == QUOTA_CONFLICT
                       ? STR("its pods name several queues")
                       : arena_printf(a, "there is no queue %.*s that takes gangs", STR_ARG(name));
        return false;
    }
    quota_sum_needs(t, q, more);
    int32_t over = queues_over_limit(k->queues, k->shares, queue, t->snap.n_resources, more, &res);
    if (over < 0)
        return admits_for_good(t, q, queue, more, a);
    q->wrong_reason = "QueueLimit";
    q->wrong_for_now = true;
    q->over_limit = over;
    q->over_resource = res;
    q->over_amount = k->shares[over].used[res] + more[res] - k->queues[over].limit[res];
    q->wrong = arena_printf(a, "queue %.*s may use %.*s and uses %.*s; the gang needs %.*s more",
                            STR_ARG(quota_name(t, over)),
                            STR_ARG(amount_text(t, res, k->queues[over].limit[res], a)),
                            STR_ARG(amount_text(t, res, k->shares[over].used[res], a)),
                            STR_ARG(amount_text(t, res, more[res], a)));
    return false;
}

int32_t quota_room(const struct tables *t, struct tgang *g, int32_t cls, int32_t count)
{
    const struct tquota *k = &t->quota;
    int64_t room = count;
    int32_t queue = k->n == 0 ? QUOTA_UNREAD : quota_of(t, g);
    for (; queue >= 0; queue = k->queues[queue].parent) {
        for (size_t r = 0; r < t->snap.n_resources; r++) {
            int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
            if (amount > 0 && k->queues[queue].limit[r] != QUEUE_UNLIMITED)
                room = MIN(room,
                           MAX(0, k->queues[queue].limit[r] - k->shares[queue].used[r]) / amount);
        }
    }
    return (int32_t)room;
}

/* ---- claiming back ---- */

static void use(const struct tables *t, struct queue_share *shares, struct tgang *g,
                const struct core_op *op, int64_t count)
{
    int32_t queue = quota_of(t, g);
    for (size_t r = 0; queue >= 0 && r < t->snap.n_resources; r++)
        queues_use(t->quota.queues, shares, queue, r,
                   count * core_amount_of(t->core, op->cls, (int32_t)r));
}

static void give_up(const struct tables *t, struct queue_share *shares, struct tgang *g)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE)
            use(t, shares, g, &(struct core_op){.cls = p->cls}, -1);
    }
}

/* What queues will have when those who were asked to go are gone, and those for whose sake are
 * there; in the arena. */
static struct queue_share *shares_to_be(const struct round *r)
{
    const struct tables *t = r->tables;
    struct queue_share *ret = arena_array(r->plan->arena, struct queue_share, t->quota.n);
    memcpy(ret, t->quota.shares, t->quota.n * sizeof(*ret));
    list_foreach (it, &t->trimmed) {
        struct tgang *g = list_entry(it, struct tgang, trim);
        if (!gang_is_trimmed(g->obj))
            give_up(t, ret, g);
    }
    for (size_t i = 0; i < r->asked.len; i++)
        give_up(t, ret, r->asked.p[i]);
    for (size_t i = 0; i < t->holds.len; i++) {
        const struct thold *h = &t->holds.p[i];
        for (size_t k = 0; h->taken && h->asked && k < h->ops.len; k++)
            use(t, ret, h->gang, &h->ops.p[k], h->ops.p[k].count);
    }
    return ret;
}

bool quota_may_claim(const struct round *r, const struct ask *q)
{
    const struct tables *t = r->tables;
    int64_t more[RES_MAX] = {0};
    int32_t queue = t->quota.n == 0 ? QUOTA_UNREAD : quota_of(t, q->gang);
    quota_sum_needs(t, q, more);
    return queue >= 0 &&
           queues_is_within(t->quota.queues, shares_to_be(r), queue, t->snap.n_resources, more);
}

bool quota_is_below(const struct tables *t, int32_t queue, int32_t above)
{
    while (queue >= 0 && queue != above)
        queue = t->quota.queues[queue].parent;
    return queue >= 0;
}

/* The queue and all above it that are not the claimer's too. */
static bool is_above_share(const struct tables *t, const struct queue_share *shares, int32_t queue,
                           int32_t claimer)
{
    for (; queue >= 0 && !quota_is_below(t, claimer, queue);
         queue = t->quota.queues[queue].parent) {
        if (!queues_is_above(&shares[queue], t->snap.n_resources))
            return false;
    }
    return true;
}

static int cmp_claims(const void *a, const void *b)
{
    const struct tgang *x = *(struct tgang *const *)a, *y = *(struct tgang *const *)b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->created != y->created)
        return x->created > y->created ? -1 : 1;
    return -strcmp(x->key, y->key);
}

void quota_keep_claimable(struct round *r, const struct tgang *for_whom, struct tgang **gangs,
                          size_t *n)
{
    const struct tables *t = r->tables;
    const struct tquota *k = &t->quota;
    struct queue_share *left = shares_to_be(r);
    size_t kept = 0;
    qsort(gangs, *n, sizeof(struct tgang *), cmp_claims);
    for (size_t i = 0; i < *n; i++) {
        struct tgang *g = gangs[i];
        int32_t queue = quota_of(t, g);
        if (queue < 0 || !is_above_share(t, left, queue, for_whom->queue))
            continue;
        gangs[kept++] = g;
        list_foreach (it, &g->pods) {
            const struct tpod *p = list_entry(it, struct tpod, link);
            for (size_t res = 0; p->node != CORE_NONE && res < t->snap.n_resources; res++)
                queues_use(k->queues, left, queue, res,
                           -core_amount_of(t->core, p->cls, (int32_t)res));
        }
    }
    *n = kept;
}
