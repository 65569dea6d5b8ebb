/*
 * Pods that are being deleted and may still run. While one does, nobody else of its index is let
 * go: two pods of one index would have one host name, and often one volume or one rank.
 *
 * A pod that is being deleted runs until it is gone, unless
 *   - it is on no node: it never will be;
 *   - it has finished (Succeeded, Failed);
 *   - its grace period is zero: its node has said that its containers have stopped, or a user has
 *     said so for it (a forced delete); what is left of it is held by finalizers;
 *   - its node is unreachable (not Ready, with the taint node.kubernetes.io/unreachable) or there
 * is no such Node any more.
 *
 * Who counts is found by the name of the clique, not by its UID: a clique that is made anew, as
 * members of scaling groups are, has the indices of the one before it.
 */
#ifndef GROVE_GOING_H
#define GROVE_GOING_H

#include "client/controller.h"
#include "client/slots.h"

/* An index of the pod cache, and the cache of nodes; before the runtime starts. */
void going_add(struct runtime *r);

/* Such pods of one clique, or of one scaling group. */
struct going {
    struct slots running; /* indices of pods; of a group, of its replicas */
    size_t n;
    /* Their nodes are not among those known. Absence in a cache is no proof: whoever goes on
     * verifies it (plan_verify_absent). */
    VEC(const struct obj *) nodeless;
};
void going_of_clique(struct going *g, const struct world *w, const struct obj *pclq);
/* Only those that `counts` says; NULL: all. */
typedef bool going_fn(void *ctx, const struct obj *pod);
void going_of_group(struct going *g, const struct world *w, const struct obj *pcsg,
                    going_fn *counts, void *ctx);
void going_done(struct going *g);

/* The running one of that index with the longest grace; NULL: there is none. */
const struct obj *going_at(const struct world *w, const struct obj *pclq, int64_t index);
/* How many running ones of the clique are so. */
int64_t going_count(const struct world *w, const struct obj *pclq, going_fn *counts, void *ctx);
/* Those of one replica of a set. */
int64_t going_count_of_replica(const struct world *w, const struct obj *pcs, int64_t replica,
                               going_fn *counts, void *ctx);
/* The pod runs, as far as can be told from it alone. */
bool going_runs(const struct obj *pod);
/* Of those that may still run: what became of one, or of its node, is news to its clique. */
bool going_cares(const struct obj *old, const struct obj *new);
/* A node is lost, gone, or back: calls fn for those that are on it. */
typedef void going_news_fn(struct controller *c, const struct world *w, const struct obj *pod);
void going_from_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new, going_news_fn *fn);

/* spec.podReplacementPolicy of a PodClique is TerminatingOrFailed: its pods wait for nobody. */
bool going_is_ignored(const struct obj *pclq);

#endif
