/*
 * mtree: a document under change. Documents are immutable; code that must look at the result of one
 * change before it makes the next (JSON patch, merge patches) works on this tree.
 *
 * A node is a leaf (a value of some document, untouched) or an object or array of nodes. It starts
 * as a leaf and opens one level when somebody looks inside, so only touched paths are ever built;
 * what stays a leaf is written as its own source text, byte for byte.
 *
 * Nodes live in the arena given at each call (one arena per tree) and are freed with it. Every
 * document whose values are in the tree must outlive it. A node is in at most one place.
 */
#ifndef JSON_MTREE_H
#define JSON_MTREE_H

#include "base/list.h"
#include "json/doc.h"

struct mobject;
struct marray;

struct mnode {
    enum { MNODE_LEAF, MNODE_OBJECT, MNODE_ARRAY } kind;
    union {
        jval leaf;
        struct mobject *object;
        struct marray *array;
    };
};

struct mnode *mnode_leaf(struct arena *a, jval v);
struct mnode *mnode_object(struct arena *a);
struct mnode *mnode_array(struct arena *a);
/* A leaf from JSON text (copied); NULL with an error when it is not JSON. */
struct mnode *mnode_parse(struct arena *a, str text, struct err *err);
struct mnode *mnode_str(struct arena *a, str s);

enum jtype mnode_type(const struct mnode *n);
/* The value of a leaf; absent for a node that was opened. */
jval mnode_value(const struct mnode *n);
/* Elements or members; 0 for scalars. */
size_t mnode_len(const struct mnode *n);

/* ---- objects: constant time each, also with many members ---- */

/* NULL when n is not an object or has no such member. */
struct mnode *mnode_get(struct arena *a, struct mnode *n, str key);
/* Replaces in place or appends; n must be an object. The key is copied. */
void mnode_set(struct arena *a, struct mnode *n, str key, struct mnode *value);
/* Takes the member out and returns its value, or NULL. */
struct mnode *mnode_del(struct arena *a, struct mnode *n, str key);

/* ---- arrays ---- */

/* NULL when n is not an array or is shorter. */
struct mnode *mnode_at(struct arena *a, struct mnode *n, size_t i);
/* i <= length; moves what stands behind. */
void mnode_insert(struct arena *a, struct mnode *n, size_t i, struct mnode *value);
/* i < length; returns what was there. Place a taken element elsewhere to reorder. */
struct mnode *mnode_take(struct arena *a, struct mnode *n, size_t i);

/* ---- iteration: opens n; set and take of other members meanwhile are not allowed ---- */

struct miter {
    struct mnode *node;
    struct list *next;
    size_t index;
    str key; /* objects */
    struct mnode *value;
};
struct miter miter(struct arena *a, struct mnode *n);
bool mnext(struct miter *it);

/* ---- results ---- */

/* Same JSON value, as jequal. */
bool mnode_equal(const struct mnode *n, jval v);
/* hint: bytes of text to expect. Nested deeper than max_depth (0: what a parsed document may be) or
 * too large is an error. */
struct doc *mnode_doc(const struct mnode *n, size_t hint, uint32_t max_depth, struct err *err);

#endif
