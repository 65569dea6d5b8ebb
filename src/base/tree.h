/*
 * tree: an intrusive ordered balanced tree (AVL with parent links). It keeps what must be iterated
 * in key order: caches, their indexes, stores. No randomness and no allocation: the shape depends
 * on the order of inserts and removes only, and nothing about it reaches whoever iterates.
 *
 * The tree knows no keys: look-ups take a key and a function that compares it with a node
 * (negative: the key sorts before the node). A node embedded in its owner is in at most one tree;
 * one that was zeroed or removed is in none. While a node is linked its key must not change.
 *
 *   for (struct tree_node *n = tree_first(&t); n; n = tree_next(n))
 *       struct thing *x = container_of(n, struct thing, node);
 *
 * Insert, find and remove are O(log n); next and prev O(1) on average. A node may be removed while
 * iterating when its successor was taken before.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include "base/base.h"

struct tree_node {
    struct tree_node *left, *right, *up;
    int height; /* 0: not in a tree; a leaf has 1 */
};

struct tree {
    struct tree_node *root;
    size_t len;
};

#define TREE_INIT ((struct tree){0})

typedef int tree_cmp(const void *key, const struct tree_node *n);

static inline bool tree_is_linked(const struct tree_node *n)
{
    return n->height != 0;
}

/* Inserts n, whose key is `key`. Returns NULL, or the node that already has this key (then n is not
 * inserted). */
struct tree_node *tree_insert(struct tree *t, struct tree_node *n, const void *key, tree_cmp *cmp);
/* Does nothing when n is not linked. */
void tree_remove(struct tree *t, struct tree_node *n);
/* NULL when absent. */
struct tree_node *tree_find(const struct tree *t, const void *key, tree_cmp *cmp);
/* First node whose key is not before (is after) `key`; NULL when there is none. */
struct tree_node *tree_lower_bound(const struct tree *t, const void *key, tree_cmp *cmp);
struct tree_node *tree_upper_bound(const struct tree *t, const void *key, tree_cmp *cmp);
struct tree_node *tree_first(const struct tree *t);
struct tree_node *tree_last(const struct tree *t);
struct tree_node *tree_next(const struct tree_node *n);
struct tree_node *tree_prev(const struct tree_node *n);

#endif
