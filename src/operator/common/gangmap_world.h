/*
 * The map of a replica's gangs as the caches have it (gangmap.h is the map itself): what planners
 * of all levels ask. A set has maps when its strategy is Coherent, and keeps them when it is
 * another one later: where a map exists, gangs, cliques and pods follow it.
 *
 * All pure functions of the caches.
 */
#ifndef OPERATOR_COMMON_GANGMAP_WORLD_H
#define OPERATOR_COMMON_GANGMAP_WORLD_H

#include "operator/common/gangmap.h"
#include "operator/common/startup.h"

struct gangmap_view {
    const struct world *world;
    struct arena *arena;
    const struct obj *pcs;
    int64_t replica;
    str base; /* P-i: the map's name, and what new names begin with */
    struct pcs_view set;
    const struct obj *obj; /* NULL: there is none */
    struct gangmap_component *components;
    struct gangmap map;
    usec until; /* gangmap_mark_room: when it may say otherwise, steady; 0: not by itself */
};

/* Before something is written into its map: what others read, too, is copied. */
void gangmap_own(struct gangmap_view *v);
/* The map of a replica; NULL: there is none, or it is going. */
const struct obj *gangmap_obj(const struct world *w, const struct obj *pcs, int64_t replica);
/* The replica has a map, or is about to have one: nothing is made without it. */
bool gangmap_rules(const struct world *w, const struct obj *pcs, int64_t replica);
/* Some replica has one, or is about to; it need not be the first. */
bool gangmap_rules_any(const struct world *w, const struct obj *pcs);
/* Components with their numbers, without the map. */
void gangmap_view_init(struct gangmap_view *v, const struct world *w, struct arena *a,
                       const struct obj *pcs, int64_t replica);
/* The same with the map; false: there is none, and it is empty. */
bool gangmap_view(struct gangmap_view *v, const struct world *w, struct arena *a,
                  const struct obj *pcs, int64_t replica);
/* Number of the component of this name, -1: none. */
int64_t gangmap_component(const struct gangmap_view *v, str name);

/* Marks the parts whose content is what the revision says: unchanged components are current
 * whatever their entry is called; a part with a pod of another template is not. */
void gangmap_mark_current(struct gangmap_view *v, const struct obj *revision);
/* The same by the pods alone: parts none of whose pods is of another template. */
void gangmap_mark_content(struct gangmap_view *v, const struct obj *revision);
/* Names entries after the revision that are not marked as of it, and all of whose parts have pods
 * that are of it and no others. False: there are none. */
bool gangmap_rename_of(const struct gangmap_view *v, struct gangmap *m, const struct obj *revision);
/* Counts units that serve, by component and by part. */
void gangmap_mark_down(struct gangmap_view *v);
/* Ready pods of a standalone clique in a gang, with this template hash (empty: any). */
int64_t gangmap_ready_pods(const struct gangmap_view *v, size_t component, str gang, str hash);

/* ---- who belongs where ---- */

/* The gang of this name, when a map has it or had it: the view is that of its replica; *ret_entry
 * is NULL when the map has no such entry. False: no map is concerned. */
bool gangmap_find_gang(struct gangmap_view *v, const struct world *w, struct arena *a, str ns,
                       str name, const struct gangmap_entry **ret_entry);
/* Fits the place of a clique to the map: hash, pod template and gang of a member follow its entry,
 * a standalone clique has no gang of its own. False: the map does not want it, or is not there yet:
 * it is not made, and what exists is left alone. */
bool gangmap_fit_place(const struct world *w, struct arena *a, struct clique_place *c);
/* What starts before a clique in an entry; see startup.h. */
void gangmap_parents(struct arena *a, const struct gangmap_view *v, const struct gangmap_entry *e,
                     const struct clique_place *c, startup_names *ret);

/* The replicas of a scaling group that the map wants, by index; NULL: no map rules, all below the
 * group's number are. *ret_n is -1 when a map rules and is not there yet: nobody knows. */
const bool *gangmap_wanted(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pcsg, int64_t *ret_n);

/* Is a replica of the group wanted? Where a map rules it says so, and there may be holes; while it
 * is not there, nobody is unwanted. */
bool gangmap_wants(const struct world *w, struct arena *a, const struct obj *pcs,
                   const struct obj *pcsg, int64_t index);

/* Member podGangMapping of a status; what was there and is no more becomes null. */
void gangmap_write_mapping(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *component, struct jw *j);

#endif
