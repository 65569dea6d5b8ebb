/* Gangs that say that they may not be preempted. */
#ifndef SCHED_MODEL_FIXED_H
#define SCHED_MODEL_FIXED_H

#include "sched/model/tables.h"

#define PREEMPTIBILITY "kai.scheduler/preemptibility"

/* It may not be evicted, and may not use more than its queue is guaranteed. */
bool victim_is_fixed(const struct tgang *g);

#endif
