/*
 * Intrusive binary heap, smallest first: the element carries its place, so removing or moving any
 * element is O(log n). Elements that compare equal come out in no promised order; give them a
 * sequence number where it matters.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/base.h"

struct heap_node {
    size_t place; /* from 1; 0 = in no heap */
};

struct heap {
    struct heap_node **p;
    size_t len;
    size_t cap;
    int (*cmp)(const struct heap_node *a, const struct heap_node *b);
};

#define heap_entry(node, type, member) container_of(node, type, member)

void heap_init(struct heap *h, int (*cmp)(const struct heap_node *, const struct heap_node *));
/* Does not touch the elements that are still in it. */
void heap_done(struct heap *h);
void heap_push(struct heap *h, struct heap_node *n);
/* NULL when empty. */
struct heap_node *heap_min(const struct heap *h);
struct heap_node *heap_pop(struct heap *h);
/* Nothing happens when it is not in the heap. */
void heap_remove(struct heap *h, struct heap_node *n);
/* After the element's order changed. */
void heap_update(struct heap *h, struct heap_node *n);

static inline bool heap_has(const struct heap_node *n)
{
    return n->place != 0;
}

#endif
