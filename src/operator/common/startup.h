/*
 * Startup order: which cliques a clique waits for. It holds back the start of containers, never
 * their placement.
 *
 *   AnyOrder   nobody waits
 *   InOrder    for the clique before it in the template
 *   Explicit   for those its startsAfter names
 *
 * Each is waited for until as many of its pods are ready, at one moment, as its minAvailable says.
 * Which copies of a parent that means, within one replica of the set:
 *
 *   the waiting clique is in   parent alone   parent in its own group   parent in another group
 *   the base gang              that           base replicas             base replicas
 *   a scaled gang              that           its own replica           base replicas
 *
 * Base replicas of a group are those below its minAvailable. Where a map of gangs rules, replicas
 * of a group that are in the same gang stand for them, or else those of an anchor.
 *
 * Nobody waits for ever. Two things hold a pod back, its gate and this:
 *
 *   - A gate of a scaled gang waits until the base gang is scheduled, which is before anything of
 *     it starts: never until it is ready. Pods of the base gang may need those of scaled gangs on
 *     their nodes to become ready (a ComputeDomain that spans both), and get them there.
 *   - The init container waits for ready pods, of the base gang and of the pod's own replica of its
 *     group. The base gang never waits for a scaled gang, one scaled gang never for another, and
 *     within each the order of the template has no cycles (admission sees to that). So whoever
 *     waits longest waits for nobody, and who is waited for needs nothing of who waits except its
 *     place, which it has.
 *   - What is not to be is not waited for: a parent of which fewer pods are wanted than its
 *     minAvailable counts with those, and one that is not wanted, with none. A pod that was made
 *     when more was wanted, and has not started, is made anew (startup_waits_in_vain).
 *
 * A pod that was let through is not held back again: what becomes of its parents later is no
 * matter of the order in which they start.
 */
#ifndef OPERATOR_COMMON_STARTUP_H
#define OPERATOR_COMMON_STARTUP_H

#include "operator/common/clique.h"

typedef VEC(str) startup_names;

/* Whole names of the PodCliques that the clique of this place waits for; they live in the arena,
 * the vector is the caller's to free. */
void startup_parents(struct arena *a, const struct clique_place *c, startup_names *ret);
/* How many ready pods the PodClique of this name in this replica of the set must have: the
 * minAvailable of its template, found by its exact name, or all that are wanted of it now, if that
 * is less. 0: the set has no such clique, or wants none of it. */
int64_t startup_need(const struct world *w, struct arena *a, const struct obj *pcs,
                     int64_t pcs_index, str pclq);
/* Of a clique that this one waits for fewer pods are wanted than its minAvailable. */
bool startup_is_short(const struct world *w, struct arena *a, const struct obj *pcs,
                      const struct obj *pclq);
/* The pod waits for more than is wanted by now, and so for ever. */
bool startup_waits_in_vain(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pod);

/* The image of the init container, given what the installation names: that, with this version as
 * its tag when it has none; where it names none, one of our own name. */
str startup_image(struct arena *a, str configured);
/* The init container that waits, and the volumes it reads; nothing when the clique waits for
 * nobody. */
void startup_write_container(struct jw *w, struct arena *a, const struct world *world,
                             const struct obj *pcs, const struct obj *pclq, str image);
void startup_write_volumes(struct jw *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pclq);
bool startup_waits(const struct obj *pclq);

#endif
