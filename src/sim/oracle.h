/*
 * What a settled world must look like, computed from the sets and the numbers users gave, without
 * any code of the controllers: exactly the scaling groups, cliques, pods, gangs, Services and
 * accounts that follow from them, nothing left over, nothing going, and statuses that tell the
 * truth.
 *
 * Pods need not be on nodes: whether there is room is for the scenario to say. But those that are
 * must be running unless something befell them, and no pod of a gang that could be placed may be
 * held back by its gate.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/sim.h"

/* 0, or the first difference. */
int oracle_check(struct sim *s, struct err *err);

#endif
