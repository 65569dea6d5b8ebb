/*
 * Numbers by domain of which most are 0: a table of those that are not, as long as they are few, an
 * array of all when they are not. Terms are many, and most of them count a handful of pods in a
 * cluster of many nodes.
 */
#ifndef SCHED_MODEL_SPARSE_H
#define SCHED_MODEL_SPARSE_H

#include "base/base.h"

struct sparse_slot {
    int32_t domain; /* -1: free */
    int32_t count;
};

struct sparse {
    int32_t n;                 /* domains are 0..n-1 */
    int32_t *all;              /* NULL: few */
    struct sparse_slot *slots; /* by hash of the domain, then the next */
    size_t cap, used;          /* cap: a power of two, or 0 */
};

void sparse_init(struct sparse *t, int32_t n);
void sparse_done(struct sparse *t);
void sparse_add(struct sparse *t, int32_t domain, int32_t by);

/* The domain's slot, or the free one where it would be. */
static inline struct sparse_slot *sparse_slot(const struct sparse *t, int32_t domain)
{
    size_t at = ((uint32_t)domain * UINT32_C(2654435769) >> 7) & (t->cap - 1);
    while (t->slots[at].domain >= 0 && t->slots[at].domain != domain)
        at = (at + 1) & (t->cap - 1);
    return &t->slots[at];
}

static inline int32_t sparse_get(const struct sparse *t, int32_t domain)
{
    if (t->all)
        return t->all[domain];
    if (t->used == 0)
        return 0;
    const struct sparse_slot *s = sparse_slot(t, domain);
    return s->domain < 0 ? 0 : s->count;
}

#endif
