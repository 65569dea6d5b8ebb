/*
 * Coherent updates on the caches: where the update of a replica stands and whether it may go on.
 * The arithmetic is coherent.h; the map is written by its planner (gangmap_plan.c), what the set's
 * status says about it goes into the frame of update.h.
 */
#ifndef OPERATOR_UPDATE_COHERENT_UPDATE_H
#define OPERATOR_UPDATE_COHERENT_UPDATE_H

#include "operator/common/gangmap_world.h"
#include "operator/common/update.h"
#include "operator/update/coherent.h"

struct coherent_update {
    struct gangmap_view *view;
    struct coherent_plan plan;
    struct coherent_target target;
    struct coherent_gate gate;
    bool scoped;   /* the set's status says what is in scope of this version */
    bool has_next; /* something of the old version is left */
    bool surges;   /* new gangs come before old ones go */
    struct coherent_step next;
};

/* Judges the replica of the view, whose map is there, against the revision. */
void coherent_update_judge(struct coherent_update *u, struct gangmap_view *v,
                           const struct obj *revision);
/* Does the replica wait for gangs that its last sub-step made? That is the answer most of the time,
 * and costs as much as they are. True: of *u only view (which has no other entries), target and
 * gate are set. */
bool coherent_update_waits(struct coherent_update *u, const struct gangmap_view *v,
                           const struct obj *revision);
/* Names and time of what is new in the map. */
struct coherent_target coherent_target_of(const struct gangmap_view *v, const struct obj *revision);

/* The row of update_engine. */
bool coherent_replica_done(const struct update_work *u, int64_t replica);
void coherent_replica_status(const struct update_work *u, int64_t replica, struct jw *w);
void coherent_set_status(const struct update_work *u, bool began, struct jw *w);
/* For the other rows: what is in scope was not decided by maps, or not for what is there now. */
void coherent_disown_scope(const struct update_work *u, struct jw *w);

#endif
