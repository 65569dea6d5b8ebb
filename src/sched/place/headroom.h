/*
 * Room for gangs that are not there yet. A base gang that must be in one domain with all of its
 * replica goes where scaled gangs will find room beside it (core.h, spares). Those that exist are
 * counted with their pods; how many are still to come the base gang itself says, in the annotation
 * grove.io/scaled-pods: "GROUP=N,...", N pods like those of its group. It is of the same object as
 * the gang: nobody sees the one without the other, in whatever order gangs and pods come to be
 * seen.
 */
#ifndef SCHED_PLACE_HEADROOM_H
#define SCHED_PLACE_HEADROOM_H

#include "sched/model/ask.h"

/* Adds to a question just asked what is to come beyond what is there. */
void headroom_add(struct ask *q, struct tables *t, struct arena *a);

#endif
