/*
 * Existing children of a set or of a scaling group, one at a time: each is compared with what its
 * owner says when it or its owner changes, repaired when it drifted, and removed when it is a small
 * object of a replica that is not wanted. The owners' own planners (podcliqueset.c, scalinggroup.c)
 * only see to it that the right children exist. So what a change costs depends on what changed, and
 * a change of everything is as many short plans as there are children instead of one long one.
 */
#ifndef OPERATOR_COMMON_UPKEEP_H
#define OPERATOR_COMMON_UPKEEP_H

#include "grove/make.h"

/* Keys are PodCliques (with their budgets), PodCliqueScalingGroups, Services, autoscalers and
 * disruption budgets. */
planner_fn upkeep_plan;
/* All children of an owner in one plan: for those who want to see all of it. */
void upkeep_plan_all(const struct world *w, const struct obj *owner, struct plan *p);

/* Calls fn for every child that upkeep_plan looks after. */
typedef void upkeep_fn(void *ctx, const struct obj *child);
void upkeep_each(const struct world *w, const struct obj *owner, upkeep_fn *fn, void *ctx);

/* An owner that is being deleted takes its children along, unless it was told to leave them. Any
 * garbage collector would in the end; that of a cluster does twenty in a second. */
void upkeep_let_go(const struct world *w, const struct obj *owner, unsigned stage, struct plan *p);

#endif
