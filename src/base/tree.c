/*
 * AVL: the heights of two siblings differ by at most one. Insert and remove change one path; from
 * its lower end upwards each node gets its height anew and, where the rule is broken, one or two
 * rotations. The walk stops at the first node whose height came out as it was.
 */
#include "base/tree.h"

static int height(const struct tree_node *n)
{
    return n ? n->height : 0;
}

static int balance(const struct tree_node *n)
{
    return height(n->left) - height(n->right);
}

static void set_height(struct tree_node *n)
{
    n->height = 1 + MAX(height(n->left), height(n->right));
}

/* Puts `new` where `old` hangs below its parent. */
static void replace_child(struct tree *t, struct tree_node *up, const struct tree_node *old,
                          struct tree_node *new)
{
    if (!up)
        t->root = new;
    else if (up->left == old)
        up->left = new;
    else
        up->right = new;
    if (new)
        new->up = up;
}

/* The left (right) child takes the place of n. Returns it. */
static struct tree_node *rotate(struct tree *t, struct tree_node *n, bool left_child)
{
    struct tree_node *c = left_child ? n->left : n->right;
    struct tree_node *inner = left_child ? c->right : c->left;
    replace_child(t, n->up, n, c);
    if (left_child) {
        n->left = inner;
        c->right = n;
    } else {
        n->right = inner;
        c->left = n;
    }
    n->up = c;
    if (inner)
        inner->up = n;
    set_height(n);
    set_height(c);
    return c;
}

static struct tree_node *rebalance_node(struct tree *t, struct tree_node *n)
{
    int b = balance(n);
    if (b > 1) {
        if (balance(n->left) < 0)
            rotate(t, n->left, false);
        return rotate(t, n, true);
    }
    if (b < -1) {
        if (balance(n->right) > 0)
            rotate(t, n->right, true);
        return rotate(t, n, false);
    }
    set_height(n);
    return n;
}

static void rebalance(struct tree *t, struct tree_node *n)
{
    while (n) {
        int before = n->height;
        n = rebalance_node(t, n);
        if (n->height == before)
            return;
        n = n->up;
    }
}

struct tree_node *tree_insert(struct tree *t, struct tree_node *n, const void *key, tree_cmp *cmp)
{
    struct tree_node *up = NULL;
    struct tree_node **slot = &t->root;
    while (*slot) {
        up = *slot;
        int c = cmp(key, up);
        if (c == 0)
            return up;
        slot = c < 0 ? &up->left : &up->right;
    }
    *n = (struct tree_node){.up = up, .height = 1};
    *slot = n;
    t->len++;
    rebalance(t, up);
    return NULL;
}

/* Takes out n, which has two children, by putting its successor in its place. Returns the lowest
 * node whose height may have changed. */
static struct tree_node *remove_inner(struct tree *t, struct tree_node *n)
{
    struct tree_node *s = tree_next(n);
    struct tree_node *lowest = s->up;
    if (lowest == n) {
        lowest = s;
    } else {
        replace_child(t, s->up, s, s->right);
        s->right = n->right;
        s->right->up = s;
    }
    s->left = n->left;
    s->left->up = s;
    s->height = n->height;
    replace_child(t, n->up, n, s);
    return lowest;
}

void tree_remove(struct tree *t, struct tree_node *n)
{
    if (!tree_is_linked(n))
        return;
    struct tree_node *lowest = n->up;
    if (n->left && n->right)
        lowest = remove_inner(t, n);
    else
        replace_child(t, n->up, n, n->left ? n->left : n->right);
    t->len--;
    *n = (struct tree_node){0};
    rebalance(t, lowest);
}

struct tree_node *tree_find(const struct tree *t, const void *key, tree_cmp *cmp)
{
    struct tree_node *n = t->root;
    while (n) {
        int c = cmp(key, n);
        if (c == 0)
            return n;
        n = c < 0 ? n->left : n->right;
    }
    return NULL;
}

/* First node for which cmp(key, node) is below `limit`. */
static struct tree_node *first_after(const struct tree *t, const void *key, tree_cmp *cmp,
                                     int limit)
{
    struct tree_node *best = NULL;
    struct tree_node *n = t->root;
    while (n) {
        if (cmp(key, n) < limit) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct tree_node *tree_lower_bound(const struct tree *t, const void *key, tree_cmp *cmp)
{
    return first_after(t, key, cmp, 1);
}

struct tree_node *tree_upper_bound(const struct tree *t, const void *key, tree_cmp *cmp)
{
    return first_after(t, key, cmp, 0);
}

static struct tree_node *leftmost(struct tree_node *n)
{
    while (n && n->left)
        n = n->left;
    return n;
}

static struct tree_node *rightmost(struct tree_node *n)
{
    while (n && n->right)
        n = n->right;
    return n;
}

struct tree_node *tree_first(const struct tree *t)
{
    return leftmost(t->root);
}

struct tree_node *tree_last(const struct tree *t)
{
    return rightmost(t->root);
}

struct tree_node *tree_next(const struct tree_node *n)
{
    if (n->right)
        return leftmost(n->right);
    while (n->up && n->up->right == n)
        n = n->up;
    return n->up;
}

struct tree_node *tree_prev(const struct tree_node *n)
{
    if (n->left)
        return rightmost(n->left);
    while (n->up && n->up->left == n)
        n = n->up;
    return n->up;
}
