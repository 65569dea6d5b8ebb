/*
 * Documents read through the table of their kind, as server-side apply sees them
 * (structured-merge-diff): objects and maps are merged member by member, lists by the keys of their
 * items or by value, and whatever the table calls atomic is one leaf.
 *
 * Pure functions. Results live in the arena; sets hold slices of the documents, which must outlive
 * them.
 */
#ifndef KUBE_TYPED_MERGE_H
#define KUBE_TYPED_MERGE_H

#include "kube/fieldset.h"
#include "kube/tables/kinds.h"

struct typed_diff {
    struct fieldset changed; /* added or modified */
    struct fieldset removed;
};

/* skip: a member of the object that is not compared, or STR_NONE. before may be absent: the object
 * is new. A built-in kind is compared as its Go type would be: structs that are no pointers exist
 * even when the document does not write them. */
struct typed_diff typed_compare(struct arena *a, const struct kind *k, jval before, jval after,
                                str skip);
/* All paths of a configuration: leaves, items of lists and maps, empty objects, nulls. */
struct fieldset typed_set(struct arena *a, const struct kind *k, jval config);
/* The live object with the configuration laid over it. NULL with an error when too large. */
struct doc *typed_merge(struct arena *a, const struct kind *k, jval live, jval config,
                        struct err *err);
/* Without what is in `last` and not in `owned`; the same document when nothing goes. */
struct doc *typed_prune(struct arena *a, const struct kind *k, struct doc *merged,
                        const struct fieldset *last, const struct fieldset *owned, struct err *err);
/* What is wrong with a configuration, in structured-merge-diff's words; STR_NONE when nothing is.
 */
str typed_check(struct arena *a, const struct kind *k, jval config);
/* The paths of atomic lists, maps and objects in it: ".spec.x, .spec.y[0].z"; STR_NONE: none. */
str typed_atomics(struct arena *a, const struct kind *k, jval config);

#endif
