/*
 * Topology constraints of a set in the words of gangs: domains become the node label keys of the
 * ClusterTopologyBinding that the set names. What the binding does not know is left out, and the
 * set says so in a condition.
 */
#ifndef OPERATOR_COMMON_TOPOLOGY_H
#define OPERATOR_COMMON_TOPOLOGY_H

#include "grove/make.h"

struct topology {
    str name;    /* the first explicit topologyName of the set; empty: none */
    bool found;  /* the binding exists */
    jval levels; /* of the binding, broadest first */
};

struct topology topology_of(const struct world *w, const struct obj *pcs);
/* A constraint of the set says something that the binding knows. */
bool topology_applies(const struct topology *t, jval constraint);
/* Writes "topologyConstraint" of a gang; nothing when the constraint does not apply. */
void topology_write(struct jw *w, const struct topology *t, jval constraint);
/* The label key of the narrowest level, or of the host where there is no binding. */
str topology_narrowest(const struct topology *t);

/* TopologyLevelsUnavailable, as the set's status tells it. */
struct condition topology_condition(const struct world *w, const struct obj *pcs, struct arena *a);

#endif
