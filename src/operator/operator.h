/*
 * The Grove controllers: planners for PodCliqueSet, PodCliqueScalingGroup, PodClique and PodGang.
 * Each is a pure function of the caches and its key; docs/architecture.md says who writes what.
 */
#ifndef OPERATOR_OPERATOR_H
#define OPERATOR_OPERATOR_H

#include "client/controller.h"

/* Adds all of them, acting through `api`. */
void operator_add(struct runtime *r, struct api *api);

/* The planners; that of gangs wants the number of the index of cliques by their gang. */
planner_fn pcs_plan, pcsg_plan, pclq_plan, gang_plan;
/* What operator_add adds to the caches, for those who call a planner themselves. Returns the number
 * that gang_plan wants. */
unsigned *operator_add_indexes(struct runtime *r);

#endif
