/*
 * Whether a gang is what it says it is.
 *
 *   members   the pods it names are its own, each named once. What is not its own is left out of
 *             its placement (ask.c) at once, and told when it lasts: news of gangs and of pods do
 * not come together. A pod that is missing is told when its minimum lacks it. place     what must
 * share a domain does. Nodes change their labels, somebody else binds, a constraint comes later:
 * then the domain with most members counts as the gang's, what is still to be placed goes there,
 * and nobody is evicted for it.
 */
#ifndef SCHED_WHY_GANG_HEALTH_H
#define SCHED_WHY_GANG_HEALTH_H

#include "sched/model/ask.h"

#define HEALTH_DOUBT (2 * USEC_PER_SEC)

/* After ask_read, before the question is asked: texts of the ask, and its pins. */
void health_check(struct ask *q, struct tables *t, usec now, struct arena *a);
/* Once in a round: gangs about which there was a doubt that may be over become ready. Returns when
 * the next will; 0: there is none. */
usec health_review(struct tables *t, usec now);

#endif
