/*
 * What the sets of an installation amount to, for dashboards and alerts (/metrics):
 *
 *   grove_replicas{kind,state}       desired, available and updated ones of all sets, groups and
 *                                    cliques
 *   grove_min_available_breached{kind}   how many groups and cliques are below their minimum
 *   grove_gated_pods                 pods held back until their gang may be placed
 *   grove_gate_wait_seconds          how long pods were held, from their creation
 *   grove_podgangs{phase}            gangs by phase
 *
 * Sums over everything, so that the number of series does not depend on what people deploy. They
 * follow the caches of one runtime, that which asked last; a process has one outside simulations.
 */
#ifndef OPERATOR_COMMON_OPERATOR_METRICS_H
#define OPERATOR_COMMON_OPERATOR_METRICS_H

#include "client/controller.h"

/* Before the runtime starts. */
void metrics_watch(struct runtime *r);

#endif
