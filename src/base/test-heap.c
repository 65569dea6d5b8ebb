/* The heap against sorting. */
#include "base/heap.h"
#include "base/test.h"

struct timer {
    int due;
    struct heap_node node;
};

static int timer_cmp(const struct heap_node *a, const struct heap_node *b)
{
    int x = heap_entry(a, struct timer, node)->due, y = heap_entry(b, struct timer, node)->due;
    return (x > y) - (x < y);
}

static int smallest(const struct timer *t, size_t n)
{
    int min = INT32_MAX;
    for (size_t i = 0; i < n; i++) {
        if (heap_has(&t[i].node) && t[i].due < min)
            min = t[i].due;
    }
    return min;
}

static void change(struct heap *h, struct timer *t, struct rng *r)
{
    if (!heap_has(&t->node)) {
        t->due = (int)rng_below(r, 1000);
        heap_push(h, &t->node);
    } else if (rng_chance(r, 50)) {
        heap_remove(h, &t->node);
    } else {
        t->due = (int)rng_below(r, 1000);
        heap_update(h, &t->node);
    }
}

TEST(heap_min_is_the_smallest_after_any_change)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(20); n > 0; n--) {
        struct timer timers[100] = {0};
        struct heap h;
        heap_init(&h, timer_cmp);
        for (int step = 0; step < 1000; step++) {
            change(&h, &timers[rng_below(r, ARRAY_LEN(timers))], r);
            struct heap_node *min = heap_min(&h);
            int want = smallest(timers, ARRAY_LEN(timers));
            REQUIRE(min ? heap_entry(min, struct timer, node)->due == want : want == INT32_MAX);
        }
        int last = -1;
        for (struct heap_node *x; (x = heap_pop(&h));) {
            REQUIRE(!heap_has(x) && heap_entry(x, struct timer, node)->due >= last);
            last = heap_entry(x, struct timer, node)->due;
        }
        CHECK(h.len == 0 && smallest(timers, ARRAY_LEN(timers)) == INT32_MAX);
        heap_done(&h);
    }
}

TEST(heap_empty_and_absent)
{
    struct heap h;
    struct timer t = {0};
    heap_init(&h, timer_cmp);
    CHECK(heap_min(&h) == NULL && heap_pop(&h) == NULL);
    heap_remove(&h, &t.node);
    heap_push(&h, &t.node);
    CHECK(heap_pop(&h) == &t.node);
    heap_done(&h);
}
