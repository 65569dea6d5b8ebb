/*
 * Placement of one gang on a snapshot: all minimums or nothing, then surplus where it fits. Pure:
 * the snapshot is changed by what was placed and put back by what was not.
 */
#ifndef SCHED_PLACE_H
#define SCHED_PLACE_H

#include "sched/snapshot.h"

struct placement {
    const struct obj *pod;
    size_t node; /* index in the snapshot */
};

struct place_group {
    str name;
    int64_t need;            /* pods that must be placed together with the other groups' */
    const struct obj **pods; /* waiting ones, in name order */
    size_t n_pods;
};

struct place_result {
    VEC(struct placement) placed;
    bool whole;      /* every group got what it needs */
    size_t left_out; /* then: surplus pods that found no place, the last ones of their groups */
    str why;         /* when not whole, or any was left out: what is lacking, with numbers */
};

void place_gang(struct snapshot *s, const struct place_group *groups, size_t n,
                struct place_result *ret);
void place_done(struct place_result *r);

#endif
