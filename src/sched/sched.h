/*
 * The gang scheduler as a planner: one key, the round. A round looks at every gang that has pods to
 * place and plans binds for whole minimums or nothing, then surplus pods where they fit; what
 * cannot be placed is told on the PodGang and as an Event on each waiting pod.
 *
 *   world -> snapshot (dense tables) -> place (pure, with undo) -> plan
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "client/controller.h"

/* The planner; it looks at everything, whatever the key, and reads the indexes sched_add adds. */
planner_fn sched_plan;
void sched_add_indexes(struct runtime *r);
void sched_add(struct runtime *r, struct api *api);

#endif
