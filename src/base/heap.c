/* Invariants: p[i]->place == i + 1 for every i < len; no element is smaller than its parent. */
#include "base/heap.h"

#include "base/vec.h"

void heap_init(struct heap *h, int (*cmp)(const struct heap_node *, const struct heap_node *))
{
    *h = (struct heap){.cmp = cmp};
}

void heap_done(struct heap *h)
{
    vec_done(h);
}

static void place(struct heap *h, size_t i, struct heap_node *n)
{
    h->p[i] = n;
    n->place = i + 1;
}

static void sift_up(struct heap *h, size_t i)
{
    struct heap_node *n = h->p[i];
    while (i > 0 && h->cmp(n, h->p[(i - 1) / 2]) < 0) {
        place(h, i, h->p[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(h, i, n);
}

static void sift_down(struct heap *h, size_t i)
{
    struct heap_node *n = h->p[i];
    for (size_t child; (child = 2 * i + 1) < h->len; i = child) {
        if (child + 1 < h->len && h->cmp(h->p[child + 1], h->p[child]) < 0)
            child++;
        if (h->cmp(h->p[child], n) >= 0)
            break;
        place(h, i, h->p[child]);
    }
    place(h, i, n);
}

void heap_push(struct heap *h, struct heap_node *n)
{
    BUG_ON(n->place != 0);
    *vec_push(h) = n;
    sift_up(h, h->len - 1);
}

struct heap_node *heap_min(const struct heap *h)
{
    return h->len ? h->p[0] : NULL;
}

struct heap_node *heap_pop(struct heap *h)
{
    struct heap_node *n = heap_min(h);
    if (n)
        heap_remove(h, n);
    return n;
}

void heap_remove(struct heap *h, struct heap_node *n)
{
    if (n->place == 0)
        return;
    size_t i = n->place - 1;
    BUG_ON(i >= h->len || h->p[i] != n);
    n->place = 0;
    struct heap_node *last = vec_pop(h);
    if (last == n)
        return;
    place(h, i, last);
    heap_update(h, last);
}

void heap_update(struct heap *h, struct heap_node *n)
{
    BUG_ON(n->place == 0 || n->place > h->len || h->p[n->place - 1] != n);
    sift_up(h, n->place - 1);
    sift_down(h, n->place - 1);
}
