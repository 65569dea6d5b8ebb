/* The queue: dirty and processing, order, back-off, due times. */
#include "base/test.h"
#include "client/queue.h"

#define START (1767225600 * USEC_PER_SEC)

struct rig {
    struct loop *loop;
    struct queue q;
    unsigned wakes;
};

static void on_wake(void *ctx)
{
    ((struct rig *)ctx)->wakes++;
}

static void rig_init(struct rig *r)
{
    kinds_init();
    *r = (struct rig){.loop = loop_new_virtual(1, START)};
    queue_init(&r->q, r->loop, on_wake, r);
}

static void rig_done(struct rig *r)
{
    queue_done(&r->q);
    loop_free(r->loop);
}

static void add(struct rig *r, const char *name)
{
    queue_add(&r->q, &kind_pod, STR("ns"), str_of(name));
}

static void advance(struct rig *r, usec by)
{
    CHECK(loop_run_until(r->loop, loop_now(r->loop) + by, 1000));
}

TEST(queue_hands_out_in_the_order_added_and_once)
{
    struct rig r;
    rig_init(&r);
    add(&r, "b");
    add(&r, "a");
    add(&r, "b");
    struct queue_item *b = queue_pop(&r.q), *a = queue_pop(&r.q);
    REQUIRE(a && b);
    CHECK_CSTR(b->name, "b");
    CHECK_CSTR(b->ns, "ns");
    CHECK_CSTR(a->name, "a");
    CHECK(!queue_pop(&r.q));
    CHECK_INT(r.wakes, 2);
    queue_finish(a, 0);
    queue_finish(b, 0);
    CHECK(queue_is_idle(&r.q));
    rig_done(&r);
}

TEST(queue_key_made_dirty_while_processing_comes_again_afterwards)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    struct queue_item *it = queue_pop(&r.q);
    add(&r, "a");
    add(&r, "a");
    CHECK(!queue_pop(&r.q));
    queue_finish(it, 0);
    it = queue_pop(&r.q);
    REQUIRE(it);
    queue_finish(it, 0);
    CHECK(!queue_pop(&r.q));
    rig_done(&r);
}

TEST(queue_same_name_of_two_kinds_or_namespaces_are_different_keys)
{
    struct rig r;
    rig_init(&r);
    queue_add(&r.q, &kind_pod, STR("x"), STR("a"));
    queue_add(&r.q, &kind_node, STR_NONE, STR("a"));
    queue_add(&r.q, &kind_pod, STR("y"), STR("a"));
    CHECK_INT(r.q.n_ready, 3);
    CHECK(queue_find(&r.q, &kind_pod, STR("y"), STR("a")));
    CHECK(!queue_find(&r.q, &kind_node, STR("y"), STR("a")));
    rig_done(&r);
}

TEST(queue_keys_of_any_length_are_told_apart_where_the_namespace_ends)
{
    struct rig r;
    char name[2000];
    memset(name, 'x', sizeof(name));
    rig_init(&r);
    queue_add(&r.q, &kind_pod, STR("ab"), STR("c"));
    queue_add(&r.q, &kind_pod, STR("a"), STR("bc"));
    queue_add(&r.q, &kind_pod, STR("a"), str_n(name, sizeof(name)));
    queue_add(&r.q, &kind_pod, STR("a"), str_n(name, sizeof(name)));
    CHECK_INT(r.q.n_ready, 3);
    CHECK(queue_find(&r.q, &kind_pod, STR("a"), str_n(name, sizeof(name))));
    CHECK(!queue_find(&r.q, &kind_pod, STR("a"), str_n(name, sizeof(name) - 1)));
    CHECK(!queue_find(&r.q, &kind_pod, STR("abc"), STR_NONE));
    rig_done(&r);
}

TEST(queue_idle_keys_take_no_memory_and_no_timer)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    queue_finish(queue_pop(&r.q), 0);
    CHECK_INT(r.q.items.len, 0);
    CHECK_INT(loop_next_due(r.loop), -1);
    rig_done(&r);
}

TEST(queue_back_off_doubles_from_5_ms_to_30_s_and_success_resets_it)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    usec want = 5 * USEC_PER_MSEC;
    for (int i = 0; i < 20; i++) {
        struct queue_item *it = queue_pop(&r.q);
        REQUIRE(it);
        queue_fail(it, 0);
        usec wait = it->retry_at - loop_now(r.loop);
        CHECK(wait <= want);
        CHECK(wait >= want - want / 4);
        CHECK(!queue_is_idle(&r.q));
        advance(&r, wait);
        want = MIN(want * 2, 30 * USEC_PER_SEC);
    }
    queue_finish(queue_pop(&r.q), 0);
    add(&r, "a");
    struct queue_item *it = queue_pop(&r.q);
    queue_fail(it, 0);
    CHECK(it->retry_at - loop_now(r.loop) <= 5 * USEC_PER_MSEC);
    rig_done(&r);
}

/* Who met others knows what is true now. */
TEST(queue_back_off_of_conflicts_ends_at_a_second)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    usec want = 5 * USEC_PER_MSEC;
    for (int i = 0; i < 20; i++) {
        struct queue_item *it = queue_pop(&r.q);
        REQUIRE(it);
        queue_conflict(it, 0);
        usec wait = it->retry_at - loop_now(r.loop);
        CHECK(wait <= want);
        CHECK(wait >= want - want / 4);
        advance(&r, wait);
        want = MIN(want * 2, USEC_PER_SEC);
    }
    rig_done(&r);
}

TEST(queue_retry_after_lengthens_the_back_off)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    struct queue_item *it = queue_pop(&r.q);
    queue_fail(it, 7 * USEC_PER_SEC);
    CHECK_INT(it->retry_at - loop_now(r.loop), 7 * USEC_PER_SEC);
    rig_done(&r);
}

TEST(queue_dirt_does_not_shorten_a_back_off_but_expedite_does)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    struct queue_item *it = queue_pop(&r.q);
    queue_fail(it, USEC_PER_SEC);
    add(&r, "a");
    CHECK(!queue_pop(&r.q));
    queue_expedite(it);
    CHECK(queue_pop(&r.q) == it);
    CHECK_INT(it->failures, 0);
    queue_finish(it, 0);
    advance(&r, 2 * USEC_PER_SEC);
    CHECK(!queue_pop(&r.q));
    rig_done(&r);
}

TEST(queue_looks_again_at_the_due_time_and_not_before)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    queue_finish(queue_pop(&r.q), loop_now(r.loop) + USEC_PER_SEC);
    CHECK(queue_is_idle(&r.q));
    advance(&r, USEC_PER_SEC - 1);
    CHECK(!queue_pop(&r.q));
    advance(&r, 1);
    struct queue_item *it = queue_pop(&r.q);
    REQUIRE(it);
    queue_finish(it, 0);
    CHECK_INT(r.q.items.len, 0);
    rig_done(&r);
}

TEST(queue_an_earlier_change_replaces_a_due_time)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    queue_finish(queue_pop(&r.q), loop_now(r.loop) + USEC_PER_SEC);
    add(&r, "a");
    queue_finish(queue_pop(&r.q), 0);
    advance(&r, 2 * USEC_PER_SEC);
    CHECK(!queue_pop(&r.q));
    rig_done(&r);
}

TEST(queue_counts_what_waited)
{
    struct rig r;
    rig_init(&r);
    add(&r, "a");
    advance(&r, 30);
    add(&r, "b");
    advance(&r, 10);
    queue_finish(queue_pop(&r.q), 0);
    queue_finish(queue_pop(&r.q), 0);
    CHECK_INT(r.q.stats.pops, 2);
    CHECK_INT(r.q.stats.wait_sum, 50);
    CHECK_INT(r.q.stats.wait_max, 40);
    rig_done(&r);
}
