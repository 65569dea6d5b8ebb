/*
 * Huge pages for a large heap.
 *
 * A control plane of a hundred thousand pods walks through gigabytes of small objects; with pages
 * of 4 KiB much of its time goes into page faults and misses of the address cache. Most systems
 * give huge pages to those who ask, and the C library asks for nobody by default. So the heap grows
 * in steps, and what a step has added is asked for before it is used. Nothing here is needed: where
 * the advice is refused or there is no such heap, pages stay small.
 *
 * The beginning of the heap is left alone: a small process stays as small as it is.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop/impl.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define SMALL_HEAP ((uintptr_t)32 << 20)
#define STEP (16 << 20)
/* Kept when it is freed at the end of the heap. */
#define KEPT (64 << 20)
/* Larger blocks have a mapping of their own. */
#define OWN_MAPPING (8 << 20)

static uintptr_t heap_end(void)
{
    return (uintptr_t)sbrk(0);
}

/* One of these settings ends the library's own guesses about the others. */
void huge_heap_init(struct huge_heap *h)
{
    (void)mallopt(M_TOP_PAD, STEP);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
    (void)mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
    h->end = (heap_end() + SMALL_HEAP + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    h->least = h->end;
}

void huge_heap_follow(struct huge_heap *h)
{
    uintptr_t end = heap_end();
    if (LIKELY(end == h->seen))
        return;
    h->seen = end;
    end &= ~(HUGE_PAGE - 1);
    if (end > h->end)
        (void)madvise((void *)h->end, end - h->end, MADV_HUGEPAGE);
    h->end = MAX(end, h->least);
}
