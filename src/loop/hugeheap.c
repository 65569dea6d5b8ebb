/*
 * Huge pages for a large heap.
 *
 * A control plane of a hundred thousand pods walks through gigabytes of small objects; with pages
 * of 4 KiB a tenth of its time goes into misses of the address cache. Most systems give huge pages
 * to those who ask, and the C library asks for nobody by default. So from half a gigabyte on the
 * heap grows in steps, and what a step has added is asked for before it is used. Nothing here is
 * needed: where the advice is refused or there is no such heap, pages stay small.
 *
 * What is below is left alone: where the address cache reaches, clearing huge pages costs more than
 * it saves (10,000 pods took a tenth longer), and a small process stays as small as it is.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop/impl.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define SMALL_HEAP ((uintptr_t)512 << 20)
#define STEP (64 << 20)

static uintptr_t heap_end(void)
{
    return (uintptr_t)sbrk(0);
}

void huge_heap_init(struct huge_heap *h)
{
    h->least = (heap_end() + SMALL_HEAP + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    h->end = h->least;
}

void huge_heap_follow(struct huge_heap *h)
{
    uintptr_t end = heap_end();
    if (LIKELY(end == h->seen))
        return;
    if (end > h->least && h->seen <= h->least)
        (void)mallopt(M_TOP_PAD, STEP);
    h->seen = end;
    end &= ~(HUGE_PAGE - 1);
    if (end > h->end)
        (void)madvise((void *)h->end, end - h->end, MADV_HUGEPAGE);
    h->end = MAX(end, h->least);
}
