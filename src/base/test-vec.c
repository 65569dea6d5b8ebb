/* Vectors, lists and the helpers of base.h. */
#include "base/list.h"
#include "base/test.h"
#include "base/vec.h"

static int int_cmp(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

TEST(vec_grows_and_keeps_order)
{
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        *vec_push(&v) = 999 - i;
    CHECK_INT(v.len, 1000);
    vec_sort(&v, int_cmp);
    for (int i = 0; i < 1000; i++)
        REQUIRE(v.p[i] == i);
    vec_remove(&v, 10);
    CHECK_INT(v.p[9], 9);
    CHECK_INT(v.p[10], 11);
    CHECK_INT(*vec_last(&v), 999);
    CHECK_INT(vec_pop(&v), 999);
    CHECK_INT(v.len, 998);
    vec_clear(&v);
    vec_sort(&v, int_cmp);
    CHECK_INT(v.len, 0);
    vec_done(&v);
    vec_reserve(&v, 77);
    CHECK(v.cap >= 77 && v.len == 0);
    vec_done(&v);
}

struct item {
    int n;
    struct list link;
};

static int sum_places(struct list *head)
{
    int sum = 0, place = 1;
    list_foreach (it, head)
        sum += place++ * list_entry(it, struct item, link)->n;
    return sum;
}

TEST(list_keeps_order_and_allows_removal_while_walking)
{
    struct list head;
    struct item items[4] = {{.n = 1}, {.n = 10}, {.n = 100}, {.n = 1000}};
    list_init(&head);
    CHECK(list_is_empty(&head) && list_pop_front(&head) == NULL);
    CHECK(!list_is_linked(&items[0].link));
    list_push_back(&head, &items[1].link);
    list_push_back(&head, &items[2].link);
    list_push_front(&head, &items[0].link);
    list_insert_before(&items[2].link, &items[3].link);
    CHECK_INT(sum_places(&head), 1 + 2 * 10 + 3 * 1000 + 4 * 100);
    list_foreach (it, &head) {
        if (list_entry(it, struct item, link)->n >= 100)
            list_remove(it);
    }
    CHECK_INT(sum_places(&head), 1 + 2 * 10);
    CHECK(!list_is_linked(&items[2].link));
    list_remove(&items[2].link);
    CHECK(list_pop_front(&head) == &items[0].link);
    CHECK(list_pop_front(&head) == &items[1].link);
    CHECK(list_is_empty(&head));
}

TEST(take_ptr_gives_the_value_away)
{
    int x = 0;
    int *p = &x;
    int *q = TAKE_PTR(p);
    CHECK(q == &x && p == NULL);
}
