/* See holds.h. */
#include "sched/model/holds.h"

void hold_give(struct tables *t, struct thold *h)
{
    if (h->taken)
        core_give_ops(t->core, h->ops.p, h->ops.len);
    h->taken = false;
}

void hold_take(struct tables *t, struct thold *h)
{
    if (!h->taken)
        core_take_ops(t->core, h->ops.p, h->ops.len);
    h->taken = true;
}

/* News to those who were refused for it. */
void hold_say_free(struct tables *t, const struct thold *h)
{
    for (size_t i = 0; i < h->ops.len; i++)
        core_grow(t->core, h->ops.p[i].node);
}

void hold_drop(struct tables *t, size_t i)
{
    struct thold *h = &t->holds.p[i];
    hold_give(t, h);
    hold_say_free(t, h);
    vec_done(&h->ops);
    vec_remove(&t->holds, i);
    t->moves++; /* others may be asked for it now */
}

void hold_gang_gone(struct tables *t, const struct tgang *g)
{
    for (size_t i = t->holds.len; i-- > 0;) {
        if (t->holds.p[i].gang == g)
            hold_drop(t, i);
    }
}

static bool is_on(const struct thold *h, int32_t node)
{
    for (size_t i = 0; i < h->ops.len; i++) {
        if (h->ops.p[i].node == node)
            return true;
    }
    return false;
}

void hold_node_lost(struct tables *t, int32_t node)
{
    for (size_t i = t->holds.len; i-- > 0;) {
        if (is_on(&t->holds.p[i], node))
            hold_drop(t, i);
    }
}

void hold_done(struct tables *t)
{
    for (size_t i = 0; i < t->holds.len; i++)
        vec_done(&t->holds.p[i].ops);
    vec_done(&t->holds);
}

void yield_claim_ends(struct tables *t, struct tgang *g)
{
    t->claims_ended = t->claims_ended || g->claims;
    g->claims = false;
}

void yield_forget(struct tables *t, struct tgang *g)
{
    t->n_yielding -= g->yields;
    g->yields = false;
    g->yield_since = 0;
    g->yield_most = 0;
}
