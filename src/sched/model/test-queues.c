/* Shares by rules that are checked one by one, on trees drawn at random; then examples. */
#include "base/test.h"
#include "sched/model/queues.h"

enum { N_RES = 2, MAX_N = 12 };

struct forest {
    struct queue q[MAX_N];
    struct queue_share s[MAX_N];
    size_t n;
    int64_t capacity[N_RES];
    bool inner[MAX_N];
};

static void random_forest(struct rng *rng, struct forest *f)
{
    *f = (struct forest){.n = 1 + rng_below(rng, MAX_N)};
    for (size_t r = 0; r < N_RES; r++)
        f->capacity[r] = (int64_t)rng_below(rng, 200);
    for (size_t i = 0; i < f->n; i++) {
        struct queue *q = &f->q[i];
        q->parent = i > 0 && rng_chance(rng, 60) ? (int32_t)rng_below(rng, i) : -1;
        q->weight = 1 + (int64_t)rng_below(rng, 4);
        q->priority = (int64_t)rng_below(rng, 3);
        if (q->parent >= 0)
            f->inner[q->parent] = true;
        for (size_t r = 0; r < N_RES; r++) {
            q->quota[r] = rng_chance(rng, 50) ? (int64_t)rng_below(rng, 60) : 0;
            q->limit[r] = rng_chance(rng, 30) ? (int64_t)rng_below(rng, 80) : QUEUE_UNLIMITED;
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        for (size_t r = 0; r < N_RES && !f->inner[i]; r++) {
            f->s[i].used[r] = (int64_t)rng_below(rng, 30);
            f->s[i].want[r] = f->s[i].used[r] + (int64_t)rng_below(rng, 60);
        }
    }
    queues_share(f->q, f->n, N_RES, f->capacity, f->s);
}

static int64_t entitled(const struct forest *f, size_t i, size_t r)
{
    return MIN(f->q[i].quota[r], f->s[i].want[r]);
}

/* Shares of siblings add up to what there is, or to what they want. */
static void check_sum(const struct forest *f, int32_t parent, size_t r)
{
    int64_t sum = 0, want = 0, quotas = 0,
            there = parent < 0 ? f->capacity[r] : f->s[parent].fair[r];
    bool any = false;
    for (size_t i = 0; i < f->n; i++) {
        if (f->q[i].parent != parent)
            continue;
        any = true;
        sum += f->s[i].fair[r];
        want += f->s[i].want[r];
        quotas += entitled(f, i, r);
        CHECK(f->s[i].fair[r] <= f->s[i].want[r]);
        CHECK(f->s[i].want[r] <= f->q[i].limit[r]);
    }
    if (any)
        CHECK_INT(sum, MIN(there, want));
    for (size_t i = 0; i < f->n; i++)
        CHECK(f->q[i].parent != parent || quotas > there || f->s[i].fair[r] >= entitled(f, i, r));
}

/* Nobody has more than his quota while a sibling of higher priority wants more; and of equals, what
 * is over is in proportion to weight, to one unit each. */
static void check_pair(const struct forest *f, size_t a, size_t b, size_t r)
{
    const struct queue *x = &f->q[a], *y = &f->q[b];
    int64_t over_a = f->s[a].fair[r] - entitled(f, a, r);
    bool b_lacks = f->s[b].fair[r] < f->s[b].want[r];
    if (x->parent != y->parent || !b_lacks || over_a <= 0)
        return;
    CHECK(y->priority <= x->priority);
    /* Quotas count in what one has: who has more of them gets less of the rest only by his own
     * cap, never by another's. */
    int64_t over_b = f->s[b].fair[r] - entitled(f, b, r);
    if (x->priority == y->priority)
        CHECK((over_a - (int64_t)f->n) * y->weight <= (over_b + (int64_t)f->n) * x->weight);
}

TEST(shares_follow_the_rules)
{
    struct rng *rng = test_rng();
    for (size_t n = test_cases(500); n > 0; n--) {
        struct forest f;
        random_forest(rng, &f);
        for (size_t r = 0; r < N_RES; r++) {
            for (int32_t p = -1; p < (int32_t)f.n; p++)
                check_sum(&f, p, r);
            for (size_t a = 0; a < f.n; a++) {
                for (size_t b = 0; b < f.n; b++)
                    check_pair(&f, a, b, r);
            }
        }
    }
}

/* Nobody below his quota who wants more, while another is above his share and it could help: the
 * one may take it back, and is then within his share. */
TEST(who_is_below_his_quota_may_claim_it_from_who_is_above_his_share)
{
    struct rng *rng = test_rng();
    unsigned claims = 0;
    for (size_t n = test_cases(500); n > 0; n--) {
        struct forest f;
        random_forest(rng, &f);
        int64_t quotas = 0;
        for (size_t i = 0; i < f.n; i++)
            quotas += f.q[i].parent < 0 ? entitled(&f, i, 0) : 0;
        for (size_t i = 0; i < f.n; i++) {
            int64_t lacks = entitled(&f, i, 0) - f.s[i].used[0], more[N_RES] = {lacks};
            if (f.q[i].parent >= 0 || f.inner[i] || lacks <= 0 || quotas > f.capacity[0])
                continue;
            claims++;
            CHECK(queues_is_within(f.q, f.s, (int32_t)i, N_RES, more));
        }
    }
    CHECK(claims > 0);
}

/* ---- examples ---- */

static struct queue queue_of(int32_t parent, int64_t quota, int64_t weight, int64_t priority)
{
    struct queue q = {.parent = parent, .weight = weight, .priority = priority};
    q.quota[0] = quota;
    for (size_t r = 0; r < N_RES; r++)
        q.limit[r] = QUEUE_UNLIMITED;
    return q;
}

TEST(what_is_over_is_shared_by_weight)
{
    struct queue q[] = {queue_of(-1, 20, 1, 0), queue_of(-1, 0, 3, 0), queue_of(-1, 0, 1, 0)};
    struct queue_share s[3] = {0};
    int64_t capacity[] = {100, 0};
    s[0].want[0] = 100;
    s[1].want[0] = 100;
    s[2].want[0] = 5;
    queues_share(q, 3, 1, capacity, s);
    /* 20 first; of 80 the third takes 5 (it would have 16), the others 75 as 1 to 3. */
    CHECK_INT(s[2].fair[0], 5);
    CHECK_INT(s[0].fair[0] + s[1].fair[0], 95);
    CHECK(s[1].fair[0] >= 56 && s[1].fair[0] <= 60);
}

TEST(a_higher_priority_has_what_is_over_first)
{
    struct queue q[] = {queue_of(-1, 10, 1, 0), queue_of(-1, 10, 1, 5)};
    struct queue_share s[2] = {0};
    int64_t capacity[] = {50, 0};
    s[0].want[0] = s[1].want[0] = 35;
    queues_share(q, 2, 1, capacity, s);
    CHECK_INT(s[1].fair[0], 35);
    CHECK_INT(s[0].fair[0], 15);
}

TEST(the_least_saturated_branch_comes_first)
{
    /* Two teams with equal shares; the first has a queue that has much and one that has nothing. */
    struct queue q[] = {queue_of(-1, 50, 1, 0), queue_of(-1, 50, 1, 0), queue_of(0, 25, 1, 0),
                        queue_of(0, 25, 1, 0), queue_of(1, 50, 1, 0)};
    struct queue_share s[5] = {0};
    int64_t capacity[] = {100, 0};
    bool ready[] = {false, false, true, true, true};
    s[2].used[0] = 30;
    s[4].used[0] = 20;
    for (size_t i = 2; i < 5; i++)
        s[i].want[0] = 100;
    queues_share(q, 5, 1, capacity, s);
    CHECK_INT(queues_next(q, 5, 1, s, ready), 4);
    ready[4] = false;
    CHECK_INT(queues_next(q, 5, 1, s, ready), 3);
    ready[3] = false;
    CHECK_INT(queues_next(q, 5, 1, s, ready), 2);
    ready[2] = false;
    CHECK_INT(queues_next(q, 5, 1, s, ready), -1);
}

TEST(a_limit_holds_for_all_below_it)
{
    struct queue q[] = {queue_of(-1, 0, 1, 0), queue_of(0, 0, 1, 0), queue_of(0, 0, 1, 0)};
    struct queue_share s[3] = {0};
    int64_t capacity[] = {100, 0}, more[] = {8, 0};
    size_t resource = 9;
    q[0].limit[0] = 16;
    s[1].used[0] = 12;
    s[1].want[0] = s[2].want[0] = 100;
    queues_share(q, 3, 1, capacity, s);
    CHECK_INT(s[0].fair[0], 16);
    CHECK_INT(queues_over_limit(q, s, 2, 1, more, &resource), 0);
    CHECK_INT(resource, 0);
    more[0] = 4;
    CHECK_INT(queues_over_limit(q, s, 2, 1, more, &resource), -1);
}
