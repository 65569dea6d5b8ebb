/*
 * Hierarchical resource sharing: ResourceClaims that the pods of a set, of a scaling group or of a
 * clique use together. An entry of resourceSharing makes one claim for all replicas of its level
 * (X-all-T) or one per replica (X-r-T); X is the object of the level, T the claim template, and r
 * counts replicas of the set, replicas of the group, or pods of the clique.
 */
#ifndef OPERATOR_COMMON_SHARING_H
#define OPERATOR_COMMON_SHARING_H

#include "grove/make.h"

/* Their caches, of kinds that a cluster may lack (before 1.34, or switched off); before the runtime
 * starts. */
void sharing_add(struct runtime *r);

/* Claims of each level, made, labelled and removed with their replicas. The config is the element
 * of the template the group or clique comes from. False: a claim template is missing, an event says
 * which, and what would use the claim is better not made yet. */
bool sharing_plan_set(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);
bool sharing_plan_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                        jval config, unsigned stage, struct plan *p);
bool sharing_plan_clique(const struct world *w, const struct obj *pcs, const struct obj *pclq,
                         jval config, unsigned stage, struct plan *p);

/* Names of the claims that the pod of this index uses, in the order of the levels; they live in the
 * arena, the vector is the caller's to free. */
typedef VEC(str) claim_names;
void sharing_claims_of_pod(struct arena *a, const struct obj *pcs, const struct obj *pclq,
                           int64_t pod_index, claim_names *ret);

#endif
