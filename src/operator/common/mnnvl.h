/*
 * ComputeDomains: NVIDIA's word for a group of pods that share memory over NVLink across nodes. The
 * annotation grove.io/mnnvl-group on a clique, its scaling group or the set (the nearest wins,
 * "none" opts out) enrols cliques that ask for GPUs; each replica of the set has one ComputeDomain
 * per group, and the pods claim what the driver makes of it.
 *
 * The kind is the driver's. A cluster without it is told in a condition and an event of the sets
 * that want it, and nobody else notices.
 */
#ifndef OPERATOR_COMMON_MNNVL_H
#define OPERATOR_COMMON_MNNVL_H

#include "grove/make.h"

#define FINALIZER_COMPUTE_DOMAIN "grove.io/computedomain-finalizer"

/* ComputeDomain; defined with the first call, and served by nobody until a definition is. */
const struct kind *mnnvl_kind(void);
/* For a process whose API is a cluster's: whether that serves the kind shows in the cache. */
void mnnvl_assume_served(void);
/* Its cache; before the runtime starts. */
void mnnvl_add(struct runtime *r);

/* Makes and removes the set's ComputeDomains. */
void mnnvl_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);
/* The set is going: releases them. True when none is left. */
bool mnnvl_release(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);
/* ComputeDomainsUnavailable, looked at again after a while; its status is NULL when that is no
 * matter. */
struct condition mnnvl_condition(const struct world *w, const struct obj *pcs, struct plan *p);

/* The domain of a clique's pods in a replica of the set; empty: none. */
str mnnvl_domain(struct arena *a, const struct obj *pcs, int64_t pcs_index, str clique);
/* Writes "podSpec" with the claim on every container that has GPUs. */
void mnnvl_write_pod_spec(struct jw *w, jval pod_spec, str domain);

#endif
