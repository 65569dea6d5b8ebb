/* The tree against a sorted array: same members, same order, balanced after every change. */
#include "base/test.h"
#include "base/tree.h"

#define KEYS 500

struct item {
    int key;
    struct tree_node node;
};

static int cmp_item(const void *key, const struct tree_node *n)
{
    int a = *(const int *)key;
    int b = container_of(n, struct item, node)->key;
    return (a > b) - (a < b);
}

/* Height of a subtree whose links, order and balance are right; -1 when something is wrong. */
static int check_node(const struct tree_node *n, const struct tree_node *up)
{
    if (!n)
        return 0;
    int l = check_node(n->left, n);
    int r = check_node(n->right, n);
    if (l < 0 || r < 0 || n->up != up || l - r > 1 || r - l > 1 || n->height != 1 + MAX(l, r))
        return -1;
    return n->height;
}

static bool same_members(const struct tree *t, const bool *present)
{
    const struct tree_node *n = tree_first(t);
    size_t count = 0;
    for (int k = 0; k < KEYS; k++) {
        if (!present[k])
            continue;
        if (!n || container_of(n, struct item, node)->key != k)
            return false;
        count++;
        n = tree_next(n);
    }
    return !n && count == t->len;
}

static bool same_members_backwards(const struct tree *t, const bool *present)
{
    const struct tree_node *n = tree_last(t);
    for (int k = KEYS - 1; k >= 0; k--) {
        if (!present[k])
            continue;
        if (!n || container_of(n, struct item, node)->key != k)
            return false;
        n = tree_prev(n);
    }
    return !n;
}

TEST(tree_of_nothing_finds_nothing)
{
    struct tree t = TREE_INIT;
    int key = 1;
    CHECK(!tree_first(&t));
    CHECK(!tree_last(&t));
    CHECK(!tree_find(&t, &key, cmp_item));
    CHECK(!tree_lower_bound(&t, &key, cmp_item));
    struct item unlinked = {0};
    tree_remove(&t, &unlinked.node);
    CHECK_INT(t.len, 0);
}

TEST(tree_keeps_the_first_of_two_equal_keys)
{
    struct tree t = TREE_INIT;
    struct item a = {.key = 7}, b = {.key = 7};
    CHECK(tree_insert(&t, &a.node, &a.key, cmp_item) == NULL);
    CHECK(tree_insert(&t, &b.node, &b.key, cmp_item) == &a.node);
    CHECK_INT(t.len, 1);
    CHECK(!tree_is_linked(&b.node));
}

TEST(tree_ascending_inserts_stay_shallow)
{
    static struct item items[4096];
    struct tree t = TREE_INIT;
    for (int i = 0; i < 4096; i++) {
        items[i] = (struct item){.key = i};
        tree_insert(&t, &items[i].node, &items[i].key, cmp_item);
    }
    /* An AVL tree of 4096 nodes is at most 1.44 * log2(4098) = 17.3 high. */
    CHECK(check_node(t.root, NULL) > 0);
    CHECK(t.root->height <= 17);
}

TEST(tree_bounds_are_the_next_keys)
{
    struct item items[10];
    struct tree t = TREE_INIT;
    for (int i = 0; i < 10; i++) {
        items[i] = (struct item){.key = i * 10};
        tree_insert(&t, &items[i].node, &items[i].key, cmp_item);
    }
    for (int k = -5; k <= 95; k++) {
        int lower = k <= 0 ? 0 : (k + 9) / 10;
        int upper = k < 0 ? 0 : k / 10 + 1;
        CHECK(tree_lower_bound(&t, &k, cmp_item) == (lower > 9 ? NULL : &items[lower].node));
        CHECK(tree_upper_bound(&t, &k, cmp_item) == (upper > 9 ? NULL : &items[upper].node));
    }
}

TEST(tree_agrees_with_a_sorted_array_under_random_changes)
{
    static struct item items[KEYS];
    bool present[KEYS] = {false};
    struct tree t = TREE_INIT;
    for (int k = 0; k < KEYS; k++)
        items[k] = (struct item){.key = k};
    size_t steps = test_cases(20000);
    for (size_t i = 0; i < steps; i++) {
        int k = (int)rng_below(test_rng(), KEYS);
        /* Long phases of growth and of decline reach every shape of removal. */
        bool insert = rng_chance(test_rng(), i / 2000 % 2 ? 30 : 70);
        if (insert)
            CHECK((tree_insert(&t, &items[k].node, &k, cmp_item) != NULL) == present[k]);
        else
            tree_remove(&t, &items[k].node);
        present[k] = insert;
        REQUIRE(tree_is_linked(&items[k].node) == insert);
        REQUIRE(tree_find(&t, &k, cmp_item) == (insert ? &items[k].node : NULL));
        if (i % 50 == 0) {
            REQUIRE(check_node(t.root, NULL) >= 0);
            REQUIRE(same_members(&t, present));
            REQUIRE(same_members_backwards(&t, present));
        }
    }
}
