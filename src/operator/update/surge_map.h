/*
 * Surge in coherent updates (surge.h says what surge is; coherent.h how such an update moves).
 *
 * A sub-step is made in two halves. The first puts the new gangs into the map and leaves the old
 * ones in it: the map holds more than is wanted, by what the sub-step moves. When the new gangs are
 * ready and the pods that joined one are, the second half takes as many old units out. When they
 * have no place for surgeTimeout, the first half is taken back, and this update goes on in place.
 *
 * What is wanted above the numbers is in an annotation of the map, written with it:
 *
 *   {"hash": generation, "startedAt": time, "replicas": {component: n}}    between the halves
 *   {"hash": generation, "timedOut": true}                                 after it was taken back
 *
 * Copies of groups that are new take the lowest free numbers, so that numbers wander: what was
 * replicas 0 to 2 may be 3, 0 and 1 in the end. Where a map rules numbers may have holes anyway.
 *
 * RollingRecreate, on a set that was coherent before and keeps its map: each clique and group
 * decides for itself how many it has above its number (surge.h), and the map follows that,
 *
 *   {"above": {component: n}}              as long as something is above the numbers
 *
 * with copies of groups from the highest number on, in gangs of their own, and pods in the newest
 * gang of all. They go as they came, so numbers and gangs are in the end what they were.
 *
 * A coherent update surges when every component that moves has a maxSurge. Steps are of whole
 * minimums, so maxSurge is taken for at least that; beside them no more move at once than maxSurge
 * says. Units that do not serve are replaced in place: nothing is lost by that.
 */
#ifndef OPERATOR_UPDATE_SURGE_MAP_H
#define OPERATOR_UPDATE_SURGE_MAP_H

#include "operator/update/coherent_update.h"

#define ANNOTATION_SURGE "grove.io/surge"

/* Reads the annotation and maxSurge into the components of the view. */
struct surge_map {
    str hash; /* it is for; empty: there is none */
    usec since;
    bool timed_out;
    bool any;      /* something is above the number */
    bool in_place; /* because RollingRecreate wants it: see "above" */
};
struct surge_map surge_map_read(struct gangmap_view *v);
/* Decides whether the update to this version surges: leaves the components without maxSurge when it
 * does not. */
bool surge_map_decide(struct gangmap_view *v, const struct coherent_target *t);

/* The map with what the step moves beside what is there; by how much is put into the components. */
struct gangmap surge_map_add(const struct coherent_update *u, struct gangmap_view *v);
/* The map without as many old units; and without what was added. */
struct gangmap surge_map_finish(struct gangmap_view *v);
struct gangmap surge_map_undo(struct gangmap_view *v, str hash);

/* Something that the step moves is of the new version already, in a gang of the old one: another
 * strategy made it anew where it was. Moved in place it changes its label and nothing else. */
bool surge_map_is_needless(const struct coherent_update *u, const struct obj *revision);

/* Where units are changed in place: brings the map to what the components want above their numbers,
 * nothing where the strategy is another one. True: it is another one then. */
bool surge_map_follow(struct gangmap_view *v, const struct coherent_target *t,
                      struct gangmap *ret_next);

/* Why what was added has no place: a text, empty when it has. */
str surge_map_unplaced(const struct coherent_update *u);
/* Member of the map's annotations, where there is something to say. */
void surge_map_write(const struct gangmap_view *v, const struct surge_map *s, struct jw *w);

#endif
