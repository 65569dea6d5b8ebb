/* See queue_usage.h. */
#include "sched/model/queue_usage.h"

#include "grove/scheduler_queue.h"
#include "grove/types.h"

/* ---- tables ---- */

static void set_amounts(const struct tables *t, const quota_amounts *amounts, int64_t *ret)
{
    for (size_t i = 0; i < amounts->len; i++) {
        for (size_t r = 0; r < t->snap.n_resources; r++) {
            if (str_eq(t->snap.resources[r], amounts->p[i].resource))
                ret[r] = amounts->p[i].amount;
        }
    }
}

void quota_init(struct tables *t)
{
    const struct quota_config *config = t->sched->queues;
    struct tquota *k = &t->quota;
    if (!config)
        return;
    *k = (struct tquota){.config = config, .n = config->list.len, .open_for = -1};
    k->queues = xcalloc(k->n, sizeof(*k->queues));
    k->shares = xcalloc(k->n, sizeof(*k->shares));
    k->used = xcalloc(k->n * RES_MAX, sizeof(*k->used));
    for (size_t i = 0; i < k->n; i++) {
        const struct quota_queue *from = &config->list.p[i];
        struct queue *q = &k->queues[i];
        *q = (struct queue){
            .parent = from->parent, .weight = from->weight, .priority = from->priority};
        for (size_t r = 0; r < RES_MAX; r++)
            q->limit[r] = QUEUE_UNLIMITED;
        set_amounts(t, &from->quota, q->quota);
        set_amounts(t, &from->limit, q->limit);
    }
}

void quota_done(struct tables *t)
{
    free(t->quota.queues);
    free(t->quota.shares);
    free(t->quota.used);
    free(t->quota.owner);
    vec_done(&t->quota.owned);
}

/* ---- whose a gang is ---- */

static str named_by(const struct obj *o)
{
    str label = o ? obj_label(o, STR(KAI_QUEUE)) : STR_NONE;
    return str_trim(!o || !str_is_empty(label) ? label : obj_annotation(o, STR(KAI_QUEUE)));
}

bool quota_named(const struct tgang *g, str *ret)
{
    *ret = named_by(g->obj);
    if (!str_is_empty(*ret))
        return true;
    list_foreach (it, &g->pods) {
        str name = named_by(list_entry(it, struct tpod, link)->obj);
        if (str_is_empty(*ret))
            *ret = name;
        else if (!str_is_empty(name) && !str_eq(name, *ret))
            return false;
    }
    return true;
}

int32_t quota_of(const struct tables *t, struct tgang *g)
{
    str name;
    if (t->quota.n == 0 || g->queue != QUOTA_UNREAD)
        return g->queue;
    if (!quota_named(g, &name))
        return g->queue = QUOTA_CONFLICT;
    int32_t i = quota_config_find(t->quota.config, str_is_empty(name) ? STR("default") : name);
    return g->queue = i < 0 || t->quota.config->list.p[i].inner ? QUOTA_UNKNOWN : i;
}

void quota_book(struct tables *t, const struct tpod *p, int sign)
{
    struct tquota *k = &t->quota;
    if (k->n == 0)
        return;
    int32_t queue = tables_serve(t, p->obj) ? quota_of(t, p->gang) : QUOTA_UNKNOWN;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        int64_t amount = sign * core_amount_of(t->core, p->cls, (int32_t)r);
        if (queue < 0) {
            k->foreign[r] += amount;
            continue;
        }
        k->used[(size_t)queue * RES_MAX + r] += amount;
        queues_use(k->queues, k->shares, queue, r, amount);
    }
}
