/*
 * What a gang prefers, read from the tables (core.h, core_soft): room for all its pods in one
 * place; to be near the pods of its replica; to be away from other replicas of its set.
 *
 * A gang is ungated when all its pods exist, so the pods that come after its minimum are known when
 * it is placed: they wait already, or still have a gate.
 */
#ifndef SCHED_MODEL_PREFER_H
#define SCHED_MODEL_PREFER_H

#include "sched/model/ask.h"

/* Of a question just asked (ask_minimum). */
void prefer_read(struct ask *q, struct tables *t, struct arena *a);
/* The same where some of its pods are given these places: the others go there too. */
struct core_soft prefer_beside(const struct ask *q, const struct core_op *ops, size_t n,
                               struct arena *a);
/* Nodes with pods of the gang, the best for more pods of the group first. */
const int32_t *prefer_near(const struct ask *q, size_t group, size_t *ret_n, struct arena *a);

#endif
