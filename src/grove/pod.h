/* A pod from its clique, and what a pod's state means to Grove. */
#ifndef GROVE_POD_H
#define GROVE_POD_H

#include "grove/make.h"

/* How often in a row the pods before this one, of the same index, ended soon after they began. */
#define ANNOTATION_FAILURES "grove.io/failures"

/* When Grove's gate went from it, where it had waited for long: from then on it looks for room. */
#define ANNOTATION_RELEASED "grove.io/released-at"

/* What all pods of a clique are made from. */
struct pod_recipe {
    const struct world *world;
    const struct obj *pcs;
    const struct obj *pclq;
    str initc_image; /* of the init container of pods that wait for others */
};
/* failures: for ANNOTATION_FAILURES. */
struct doc *pod_make(struct arena *a, const struct pod_recipe *r, int64_t index, str name,
                     int64_t failures);

bool pod_is_ready(const struct obj *pod);
bool pod_is_scheduled(const struct obj *pod);
/* It has no node, was made a moment ago, and nobody said that there is no room for it. */
bool pod_is_on_its_way(const struct world *w, const struct obj *pod);
/* Since when it may be scheduled: when it was made, or let go. Steady time. */
usec pod_since(const struct world *w, const struct obj *pod);
/* What is on no node then has been without for so long that it may stay so. Steady time. */
usec pod_awaited_until(const struct world *w, const struct obj *pod);
/* Not ready although it started once: it crashed, or lost readiness. Pods still starting are not
 * failing. */
bool pod_is_failing(const struct obj *pod);
/* Still carries Grove's gate. */
bool pod_is_gated(const struct obj *pod);
/* The scheduler asked for it, since its gang can do without. */
bool pod_is_asked_to_go(const struct obj *pod);
/* Succeeded or Failed: it will never run again. */
bool pod_is_finished(const struct obj *pod);
/* When a finished pod is to be replaced, as steady time. The first few of a row are replaced at
 * once; if those that come after end soon, too, later and later. *ret_failures is what its
 * successor carries. */
usec pod_replace_at(const struct world *w, const struct obj *pod, int64_t *ret_failures);
/* An index of the pod cache: by the name of the node it is bound to. */
cache_index_fn pod_index_by_node;
/* When it was bound, by its condition PodScheduled, wall time; 0: that is not recorded. */
usec pod_bound_at(const struct obj *pod);
/* From its label; -1 when it has none. */
int64_t pod_index(const struct obj *pod);

#endif
