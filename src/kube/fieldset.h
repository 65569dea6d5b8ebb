/*
 * fieldset: a set of field paths, the FieldsV1 of managedFields as a tree.
 *
 * A path element is a tag and a name: 'f' a member of an object, 'k' an item of a list by its keys
 * (canonical JSON, keys sorted), 'v' an item of a set (canonical JSON), 'i' an index. A node is one
 * element; `member` says that its own path is in the set, its kids are the paths below.
 *
 * Invariants: kids are sorted by tag and name, no two alike; every kid is a member or has kids. So
 * all operations are linear merges, two equal sets have equal text, and nothing is ever quadratic.
 * The root stands for the object itself, which is never a member.
 *
 * Sets live in the arena given when they were made and share their kids freely: they never change.
 */
#ifndef KUBE_FIELDSET_H
#define KUBE_FIELDSET_H

#include "base/arena.h"
#include "json/doc.h"

struct fieldset {
    char tag; /* 0: the root */
    bool member;
    str name;
    struct fieldset *kids;
    size_t n_kids;
};

#define FIELDSET_EMPTY ((struct fieldset){0})

static inline bool fieldset_is_empty(const struct fieldset *s)
{
    return !s->member && s->n_kids == 0;
}

/* From FieldsV1; names point into the document. foreign: somebody else wrote it, so that names are
 * brought into canonical form. False when an element is malformed. */
bool fieldset_parse(struct arena *a, jval fields, bool foreign, struct fieldset *ret);
/* Appends FieldsV1. */
void fieldset_write(const struct fieldset *s, struct strbuf *out);
/* Order of elements. */
int fieldset_cmp(const struct fieldset *x, const struct fieldset *y);
/* Puts kids in order; elements that occur twice become one. Returns how many are left. */
size_t fieldset_sort(struct arena *a, struct fieldset *kids, size_t n);

bool fieldset_equal(const struct fieldset *x, const struct fieldset *y);
struct fieldset fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y);
/* The paths of x that are not in y; what is below a path of y stays. */
struct fieldset fieldset_difference(struct arena *a, const struct fieldset *x,
                                    const struct fieldset *y);
struct fieldset fieldset_intersection(struct arena *a, const struct fieldset *x,
                                      const struct fieldset *y);
/* The kid with this element, or NULL; s may be NULL. */
const struct fieldset *fieldset_find(const struct fieldset *s, char tag, str name);

/* Against FieldsV1 that was not parsed: looks only where s has something. */
bool fieldset_overlaps(const struct fieldset *s, jval fields);
bool fieldset_is_within(const struct fieldset *s, jval fields);

/* Calls fn with ".spec.list[name=\"x\"].image" for each path: at each level members first, then
 * what is below. */
void fieldset_each_path(const struct fieldset *s, void (*fn)(void *ctx, str path), void *ctx);
/* Appends one element as it stands in such a path. */
void fieldset_add_element(struct strbuf *path, char tag, str name);

#endif
