/*
 * Numbers of replicas that users or autoscalers gave to cliques, kept while gang termination makes
 * the cliques anew: an annotation of the set, written before anything is deleted. An entry names
 * the clique that went by its UID and is forgotten when another one is there in its place.
 */
#ifndef OPERATOR_COMMON_KEPT_H
#define OPERATOR_COMMON_KEPT_H

#include "client/controller.h"
#include "grove/make.h"

#define ANNOTATION_KEPT "grove.io/kept-replicas"

/* What is kept for a clique of that name, else `otherwise`. */
int64_t kept_replicas(const struct obj *pcs, str pclq, int64_t otherwise);
/* The annotation with the numbers of those among the cliques that differ from their template's.
 * False when there is nothing to write. What was kept for others stays. */
bool kept_text(const struct obj *pcs, struct obj *const *cliques, size_t n, struct arena *a,
               str *ret);
/* Forgets what has served its purpose. */
void kept_forget(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);
/* Wakes the set when its numbers may have served: a clique that is there again, also one of a
 * group, a group that was scaled, a map of gangs that changed. */
map_fn kept_from_child;

#endif
