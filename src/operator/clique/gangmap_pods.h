/*
 * Which gang the pods of a clique are in, where a map rules: a slot for each gang that holds pods
 * of it, with how many and of which template. Part of the PodClique planner (pclq_impl.h).
 *
 * Pods are matched with slots by their labels. One that is in the wrong gang and of the right
 * template moves there by its label, without a restart; any other that has no place goes, and its
 * successor is made for a slot that lacks one.
 *
 * No gang gets pods of a second template. It is of that of its entry, unless another strategy
 * changed pods where they were: then those stay until the map takes their place away, and who comes
 * is of what is there.
 */
#ifndef OPERATOR_CLIQUE_GANGMAP_PODS_H
#define OPERATOR_CLIQUE_GANGMAP_PODS_H

#include "operator/common/gangmap_world.h"

struct clique_slot {
    str gang;   /* whole name */
    str label;  /* the same as a label value */
    str hash;   /* of the template; empty: any */
    bool waits; /* for the anchors of its replica */
    int64_t want, have;
    str comes; /* template hash of pods that come to it; empty: any */
    const struct gangmap_entry *entry;
    const struct obj *shape; /* what its pods are made from; made when first needed */
};

struct clique_slots {
    bool known; /* the map is there: without it nothing is made or removed */
    int64_t total;
    int64_t above; /* of those, what a coherent step has above the clique's number */
    str goal;      /* hash of the template that the replica goes to; empty: it is not stored yet */
    struct clique_slot *items;
    size_t n;
};

struct clique_work;
/* NULL: no map rules. */
struct clique_slots *slots_of_clique(const struct clique_work *c);
/* Matches these pods (name order; victims first is the caller's ranking): counts what every slot
 * has, plans moves by label, and leaves those without a place in `ret`, which has room for all. */
size_t slots_match(struct clique_work *c, struct obj *const *pods, size_t n, struct obj **ret);
/* What the next pod is made from; NULL: no slot lacks one. */
const struct obj *slots_take(struct clique_work *c);
/* Why no gate of a slot's pods can go; empty: *ret_gang is their gang. */
str slots_wait(const struct clique_work *c, const struct clique_slot *s,
               const struct obj **ret_gang);

#endif
