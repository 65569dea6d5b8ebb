/*
 * What the pods of scaling groups amount to where maps of gangs rule, kept up as they change (an
 * index and a fold of the pod cache, see client/cache.h): a step of an update looks at those of a
 * thousand copies that are not well, not at all of them.
 */
#ifndef OPERATOR_COMMON_GANGMAP_UNITS_H
#define OPERATOR_COMMON_GANGMAP_UNITS_H

#include "client/controller.h"

/* For one runtime; before it starts. */
void gangmap_add_units(struct runtime *r);

/* Of a scaling group, by copy: sums of rollup_hash of the UIDs of the cliques that own its ready
 * pods, once for each of them. A copy whose sum is that of the pods wanted (rollup.h) has all of
 * them, and they are ready; of others nothing is said. */
struct gangmap_ready {
    VEC(uint64_t) sums;
};
const struct gangmap_ready *gangmap_ready_of(const struct world *w, const struct obj *pcsg);
/* Copy `index` is whole: all pods that its cliques want are there and ready. */
struct rollup;
bool gangmap_is_whole(const struct gangmap_ready *r, const struct rollup *cliques, int64_t index);

/* Pods of a replica of a set that Grove's gate holds back. */
struct cache_iter gangmap_held(const struct world *w, struct arena *a, const struct obj *pcs,
                               int64_t replica);

/* Building blocks of the fold, for tests that count from scratch. */
void gangmap_ready_add(void *ready, const struct obj *pod);
void gangmap_ready_remove(void *ready, const struct obj *pod);
void gangmap_ready_done(void *ready);

#endif
