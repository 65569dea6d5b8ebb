/*
 * The Grove controllers: planners for PodCliqueSet, PodCliqueScalingGroup, PodClique and PodGang.
 * Each is a pure function of the caches and its key; docs/architecture.md says who writes what.
 */
#ifndef OPERATOR_OPERATOR_H
#define OPERATOR_OPERATOR_H

#include "client/controller.h"

/* What the installation says. */
struct operator_options {
    str initc_image; /* of the init container of pods that wait for others to start; see startup.h
                      */
};

/* Adds all of them, acting through `api`. NULL: nothing is said. */
void operator_add(struct runtime *r, struct api *api, const struct operator_options *o);
/* Before it, in a process of their own: of kinds that others use too they keep what Grove made,
 * never all pods or secrets of a cluster. What lost its label is not seen any more: a pod is made
 * anew beside it, other children get their label back. */
void operator_filter(struct runtime *r);

/* The planners. Those of sets and groups consist of two halves that run apart: what they make,
 * which is compared when its shape or theirs changes, and what it amounts to, which is counted when
 * a status changes. */
planner_fn pcs_plan, pcsg_plan, pclq_plan, gang_plan, gangmap_plan;
planner_fn pcs_children_plan, pcs_status_plan, pcsg_members_plan, pcsg_status_plan;
/* What operator_add adds to the caches, for those who call a planner themselves. */
void operator_add_indexes(struct runtime *r);

#endif
