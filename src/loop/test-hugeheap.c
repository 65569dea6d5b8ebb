/* Which part of a growing heap is asked to be of huge pages. */
#include <unistd.h>

#include "base/test.h"
#include "loop/impl.h"

#define HUGE_PAGE ((uintptr_t)2 << 20)

TEST(what_a_large_heap_grew_by_is_asked_for)
{
    struct huge_heap h = {0};
    huge_heap_init(&h);
    uintptr_t least = h.end;
    CHECK_INT(least % HUGE_PAGE, 0);
    CHECK(least >= (uintptr_t)sbrk(0) + ((uintptr_t)512 << 20));
    huge_heap_follow(&h);
    CHECK(h.end == least);

    /* Never touched, so it costs nothing but addresses. */
    REQUIRE(sbrk(544 << 20) != (void *)-1);
    huge_heap_follow(&h);
    uintptr_t end = (uintptr_t)sbrk(0);
    CHECK(h.end > least && h.end <= end && end - h.end < HUGE_PAGE);
    CHECK_INT(h.end % HUGE_PAGE, 0);
    CHECK(h.least == least);
}
