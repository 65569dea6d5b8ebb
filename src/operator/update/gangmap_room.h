/*
 * Units without room in coherent updates: pods and copies of groups that were there before, and
 * have been on no node for a while. A gang that is placed as a whole must not wait for one that
 * never had a place, so no step is made of them as long as there are enough others for the minimum.
 * They are set aside: with the next step they move into gangs of their own, for which nobody waits,
 * neither the steps that follow nor the end of the update; and these keep their gates until it is
 * over, so that they take no place that is left for a successor.
 *
 * Which gangs those are is in an annotation of the map, written with them: all of the entries
 *
 *   {"hash": generation, "epochs": [epoch, ...]}
 */
#ifndef OPERATOR_UPDATE_GANGMAP_ROOM_H
#define OPERATOR_UPDATE_GANGMAP_ROOM_H

#include "operator/common/gangmap_world.h"

#define ANNOTATION_ASIDE "grove.io/set-aside"

/* A copy of the map as the last complete version sees it: current is what is of that. Where it is
 * not known any more nothing is. */
const struct gangmap *gangmap_as_before(const struct gangmap_view *v);

/* Marks the entries that an update to the version of this hash has set aside. */
void gangmap_mark_aside(struct gangmap_view *v, str hash);
/* The gang is one of them, whatever the update. */
bool gangmap_is_aside(const struct gangmap_view *v, str gang);
/* Counts who has no room, in the components and parts of the view; after gangmap_mark_current. */
void gangmap_mark_room(struct gangmap_view *v);
/* Member of the map's annotations, where there is something to say. */
void gangmap_write_aside(const struct gangmap_view *v, const struct gangmap *next, str hash,
                         struct jw *w);

#endif
