/* What gangs prefer, case by case: 2 blocks of 2 racks of 2 hosts with 8 places each. That nobody
 * waits for it is shown against the oracle, in test-core.c. */
#include "base/test.h"
#include "sched/model/core.h"

enum { HOSTS = 8, PLACES = 8, BLOCK = 1, RACK = 2, HOST = 3 };
#define ANYWHERE ((struct core_scope){0, 0, CORE_NONE})
#define PREFERS(level) ((struct core_scope){0, level, CORE_NONE})

static struct core *make_core(int levels)
{
    static const int64_t total = PLACES;
    static const struct core_amount one = {0, 1};
    struct core *c = core_new(1);
    int32_t paths[2 * HOSTS];
    uint8_t admitted[HOSTS];
    for (int32_t i = 0; i < HOSTS; i++) {
        (void)core_add_node(c, &total);
        paths[2 * i] = i / 4;
        paths[2 * i + 1] = i / 2;
        admitted[i] = 1;
    }
    (void)core_add_tree(c, levels, paths);
    (void)core_add_class(
        c, &(struct core_class_def){
               .amounts = &one, .n_amounts = 1, .admitted = admitted, .per_node = CORE_UNLIMITED});
    return c;
}

struct places {
    int32_t on[HOSTS]; /* pods */
    int blocks, racks, hosts;
};

static struct places places_of(const struct core_result *r)
{
    struct places p = {0};
    int racks[HOSTS / 2] = {0}, blocks[HOSTS / 4] = {0};
    for (size_t i = 0; i < r->ops.len; i++) {
        p.on[r->ops.p[i].node] += r->ops.p[i].count;
        racks[r->ops.p[i].node / 2] = blocks[r->ops.p[i].node / 4] = 1;
    }
    for (int i = 0; i < HOSTS; i++)
        p.hosts += p.on[i] > 0;
    for (int i = 0; i < HOSTS / 2; i++)
        p.racks += racks[i];
    for (int i = 0; i < HOSTS / 4; i++)
        p.blocks += blocks[i];
    return p;
}

/* A gang of one or two leaves, placed for good. */
static struct places place(struct core *c, int32_t a, int32_t b, const struct core_soft *soft)
{
    struct core_leaf leaves[] = {{ANYWHERE, 0, a, CORE_NONE}, {ANYWHERE, 0, b, CORE_NONE}};
    struct core_ask ask = {.gang = ANYWHERE, .leaves = leaves, .n_leaves = b > 0 ? 2 : 1};
    struct core_result r;
    if (!core_place_whole(c, &ask, soft, &r)) {
        core_result_done(&r);
        REQUIRE(core_place_soft(c, &ask, soft, &r));
    }
    struct places p = places_of(&r);
    core_result_done(&r);
    return p;
}

static const struct core_soft nothing;

/* ---- together ---- */

TEST(a_gang_is_in_the_narrowest_domain_that_holds_it)
{
    static const struct {
        int32_t a, b;
        int blocks, racks, hosts;
    } cases[] = {{4, 4, 1, 1, 1},  {5, 5, 1, 1, 2},   {8, 8, 1, 1, 2},
                 {12, 6, 1, 2, 3}, {16, 16, 1, 2, 4}, {17, 17, 2, 4, 6}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct core *c = make_core(2);
        /* Odd hosts are half full, which best fit for each leaf would use. */
        for (int32_t n = 1; n < HOSTS && cases[i].a < 9; n += 4)
            core_take(c, 0, n, 4);
        struct places p = place(c, cases[i].a, cases[i].b, &nothing);
        CHECK_INT(p.blocks, cases[i].blocks);
        CHECK_INT(p.racks, cases[i].racks);
        CHECK_INT(p.hosts, cases[i].hosts);
        core_free(c);
    }
}

TEST(room_is_counted_for_pods_that_come_later)
{
    struct core *c = make_core(2);
    struct core_leaf more = {ANYWHERE, 0, 2, CORE_NONE};
    struct core_soft soft = {.more = &more, .n_more = 1};
    /* Six fit host 0 best; with the two that are to come it is too small. */
    core_take(c, 0, 0, 2);
    struct places p = place(c, 6, 0, &soft);
    CHECK_INT(p.hosts, 1);
    CHECK_INT(p.on[0], 0);
    int32_t host = 0;
    while (p.on[host] == 0)
        host++;
    CHECK_INT(core_free_of(c, host, 0), 2);
    /* They are placed beside the others, though host 0 is as good a fit. */
    struct core_leaf leaf = {ANYWHERE, 0, 2, CORE_NONE};
    struct core_ask ask = {.gang = ANYWHERE, .leaves = &leaf, .n_leaves = 1};
    struct core_result r = {0};
    CHECK_INT(core_place_near(c, &ask, 0, &host, 1, &r), 2);
    CHECK_INT(places_of(&r).on[host], 2);
    core_result_done(&r);
    core_free(c);
}

TEST(without_room_for_all_the_minimum_is_placed)
{
    struct core *c = make_core(2);
    struct core_leaf more = {ANYWHERE, 0, 100, CORE_NONE};
    struct core_soft soft = {.more = &more, .n_more = 1};
    struct places p = place(c, 6, 0, &soft);
    CHECK_INT(p.hosts, 1);
    core_free(c);
}

/* Two bundles of 6 would fit a rack when one of them is split over its hosts. */
TEST(what_parts_prefer_comes_before_a_narrow_domain_for_all)
{
    struct core *c = make_core(2);
    static const int32_t used[HOSTS] = {3, 3, 8, 2, 8, 2, 8, 8};
    static const struct core_leaf leaves[] = {
        {ANYWHERE, 0, 3, 0}, {ANYWHERE, 0, 3, 0}, {ANYWHERE, 0, 2, 1}, {ANYWHERE, 0, 2, 1}};
    static const struct core_scope bundles[] = {{0, HOST, CORE_NONE}, {0, HOST, CORE_NONE}};
    struct core_ask ask = {.gang = ANYWHERE,
                           .bundles = bundles,
                           .n_bundles = 2,
                           .leaves = leaves,
                           .n_leaves = ARRAY_LEN(leaves)};
    struct core_result r;
    for (int32_t i = 0; i < HOSTS; i++)
        core_take(c, 0, i, used[i]);
    REQUIRE(core_place_soft(c, &ask, &nothing, &r));
    int32_t at[2] = {CORE_NONE, CORE_NONE};
    for (size_t i = 0; i < r.ops.len; i++) {
        int32_t b = leaves[r.ops.p[i].leaf].bundle;
        CHECK(at[b] == CORE_NONE || at[b] == r.ops.p[i].node);
        at[b] = r.ops.p[i].node;
    }
    core_result_done(&r);
    core_free(c);
}

/* ---- apart ---- */

static void note(struct sparse *hosts, const struct places *p)
{
    for (int32_t i = 0; i < HOSTS; i++)
        sparse_add(hosts, i, p->on[i]);
}

static int count_shared(const struct sparse *hosts, const struct places *p, int32_t per)
{
    int n = 0;
    for (int32_t i = 0; i < HOSTS; i++) {
        int32_t others = 0;
        for (int32_t k = i / per * per; k < i / per * per + per; k++)
            others += sparse_get(hosts, k);
        n += p->on[i] > 0 && others > 0;
    }
    return n;
}

TEST(replicas_are_on_other_hosts_then_in_other_racks_and_blocks)
{
    struct core *c = make_core(2);
    struct sparse hosts;
    sparse_init(&hosts, HOSTS);
    struct core_soft soft = {.apart = &hosts};
    for (int i = 0; i < 24; i++) {
        struct places p = place(c, 2, 0, &soft);
        CHECK_INT(p.hosts, 1);
        CHECK_INT(count_shared(&hosts, &p, 4), i >= 2); /* blocks */
        CHECK_INT(count_shared(&hosts, &p, 2), i >= 4); /* racks */
        CHECK_INT(count_shared(&hosts, &p, 1), i >= 8);
        note(&hosts, &p);
    }
    sparse_done(&hosts);
    core_free(c);
}

TEST(a_gang_is_not_split_to_be_apart)
{
    struct core *c = make_core(2);
    struct sparse hosts;
    sparse_init(&hosts, HOSTS);
    struct core_soft soft = {.apart = &hosts};
    for (int32_t i = 0; i < HOSTS; i++)
        core_take(c, 0, i, i == 3 ? 2 : 6);
    sparse_add(&hosts, 3, 1);
    struct places p = place(c, 4, 0, &soft);
    CHECK_INT(p.on[3], 4);
    sparse_done(&hosts);
    core_free(c);
}

/* Gangs of one and a half hosts: without labels there is nothing but hosts to be apart on. */
TEST(larger_gangs_leave_out_the_hosts_of_others)
{
    struct core *c = make_core(0);
    struct sparse hosts;
    sparse_init(&hosts, HOSTS);
    struct core_soft soft = {.apart = &hosts};
    for (int i = 0; i < 5; i++) {
        struct places p = place(c, 12, 0, &soft);
        CHECK_INT(p.hosts, i < 4 ? 2 : 3); /* the fifth has what the others left */
        CHECK_INT(count_shared(&hosts, &p, 1), i < 4 ? 0 : 3);
        note(&hosts, &p);
    }
    sparse_done(&hosts);
    core_free(c);
}

/* ---- near ---- */

TEST(gangs_of_a_replica_are_near_each_other)
{
    struct core *c = make_core(2);
    struct sparse hosts;
    sparse_init(&hosts, HOSTS);
    int32_t near = 5;
    core_take(c, 0, near, 2);
    sparse_add(&hosts, near, 2);
    struct core_soft soft = {.near = &near, .n_near = 1, .apart = &hosts};
    static const int want[] = {5, 4, -1};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct places p = place(c, 6, 0, &soft);
        CHECK_INT(p.hosts, 1);
        CHECK(want[i] >= 0 ? p.on[want[i]] == 6 : p.on[6] + p.on[7] == 6);
    }
    sparse_done(&hosts);
    core_free(c);
}

TEST(what_a_gang_lost_comes_back_near_the_rest)
{
    struct core *c = make_core(2);
    int32_t near[] = {5, 2};
    core_take(c, 0, 5, 8);
    core_take(c, 0, 2, 7);
    core_take(c, 0, 0, 7); /* best fit */
    struct core_soft soft = {.near = near, .n_near = 2, .own = true};
    CHECK_INT(place(c, 1, 0, &soft).on[2], 1);
    CHECK_INT(place(c, 1, 0, &soft).on[4], 1); /* the rack of the first */
    core_free(c);
}

/* ---- pods that prefer something themselves ---- */

TEST(a_gang_is_on_a_node_that_its_pods_prefer)
{
    static const struct core_amount one = {0, 1};
    static const uint8_t admitted[HOSTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const uint8_t penalty[HOSTS] = {9, 9, 9, 9, 9, 9, 2, 9};
    struct core *c = make_core(2);
    int32_t cls = core_add_class(c, &(struct core_class_def){.amounts = &one,
                                                             .n_amounts = 1,
                                                             .admitted = admitted,
                                                             .penalty = penalty,
                                                             .per_node = CORE_UNLIMITED});
    core_take(c, 0, 1, 4); /* best fit */
    struct core_leaf leaf = {ANYWHERE, cls, 4, CORE_NONE};
    struct core_ask ask = {.gang = ANYWHERE, .leaves = &leaf, .n_leaves = 1};
    struct core_result r;
    REQUIRE(core_place_soft(c, &ask, &nothing, &r));
    CHECK_INT(places_of(&r).on[6], 4);
    core_result_done(&r);
    core_free(c);
}
