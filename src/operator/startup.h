/*
 * Startup order: which cliques a clique waits for. Ordering is inside one gang; it holds back the
 * start of containers, never their placement, so it cannot deadlock with gang scheduling.
 *
 *   AnyOrder   nobody waits
 *   InOrder    for the clique before it in the template
 *   Explicit   for those its startsAfter names
 *
 * A clique of a base gang waits for its parents in the base gang: a parent in a scaling group for
 * all of that group's replicas below its minimum. A clique of a scaled gang waits for parents in
 * its own replica of its own group only; the base gang has been placed before it anyway.
 */
#ifndef OPERATOR_STARTUP_H
#define OPERATOR_STARTUP_H

#include "operator/clique.h"

typedef VEC(str) startup_names;

/* Whole names of the PodCliques that the clique of this place waits for; they live in the arena,
 * the vector is the caller's to free. */
void startup_parents(struct arena *a, const struct clique_place *c, startup_names *ret);
/* How many ready pods the PodClique of this name in this replica of the set must have: the
 * minAvailable of its template, found by its exact name. 0: the set has no such clique. */
int64_t startup_need(struct arena *a, const struct obj *pcs, int64_t pcs_index, str pclq);

/* The image of the init container, given what the operator's environment names: that, with this
 * version as its tag when it has none; by default one of our own name. */
str startup_image(const char *configured);
/* The init container that waits, and the volumes it reads; nothing when the clique waits for
 * nobody. */
void startup_write_container(struct jw *w, struct arena *a, const struct obj *pcs,
                             const struct obj *pclq, str image);
void startup_write_volumes(struct jw *w, struct arena *a, const struct obj *pcs);
bool startup_waits(const struct obj *pclq);

#endif
