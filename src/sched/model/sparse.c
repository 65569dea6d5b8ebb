/* See sparse.h. A number that is 0 again keeps its slot until the table is made anew. */
#include "sched/model/sparse.h"

enum { SMALL = 64, FIRST_SLOTS = 8, SHARE = 8 };

void sparse_init(struct sparse *t, int32_t n)
{
    *t = (struct sparse){.n = n};
    if (n <= SMALL)
        t->all = xcalloc((size_t)n + 1, sizeof(*t->all));
}

void sparse_done(struct sparse *t)
{
    free(t->all);
    free(t->slots);
    *t = (struct sparse){0};
}

static size_t count_used(const struct sparse *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->cap; i++)
        n += t->slots[i].domain >= 0 && t->slots[i].count != 0;
    return n;
}

static void spread_out(struct sparse *t)
{
    t->all = xcalloc((size_t)t->n + 1, sizeof(*t->all));
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i].domain >= 0)
            t->all[t->slots[i].domain] = t->slots[i].count;
    }
    free(t->slots);
    t->slots = NULL;
    t->cap = t->used = 0;
}

/* Room for one more: without those that are 0, at most half full. */
static void make_anew(struct sparse *t)
{
    struct sparse old = *t;
    size_t used = count_used(t);
    if (used * SHARE > (size_t)t->n) {
        spread_out(t);
        return;
    }
    t->cap = FIRST_SLOTS;
    while (t->cap < 4 * (used + 1))
        t->cap *= 2;
    t->slots = xcalloc(t->cap, sizeof(*t->slots));
    memset(t->slots, 0xff, t->cap * sizeof(*t->slots));
    t->used = used;
    for (size_t i = 0; i < old.cap; i++) {
        if (old.slots[i].domain >= 0 && old.slots[i].count != 0)
            *sparse_slot(t, old.slots[i].domain) = old.slots[i];
    }
    free(old.slots);
}

void sparse_add(struct sparse *t, int32_t domain, int32_t by)
{
    if (!t->all && 2 * (t->used + 1) > t->cap)
        make_anew(t);
    if (t->all) {
        t->all[domain] += by;
        return;
    }
    struct sparse_slot *s = sparse_slot(t, domain);
    if (s->domain < 0) {
        *s = (struct sparse_slot){domain, 0};
        t->used++;
    }
    s->count += by;
}
