/* A PodClique object from its template: the one way both its possible owners, the set and a scaling
 * group, make it. */
#ifndef OPERATOR_COMMON_CLIQUE_H
#define OPERATOR_COMMON_CLIQUE_H

#include "grove/make.h"

/* What the planner of cliques is told; its ctx. NULL: the defaults. */
struct pclq_config {
    struct arena arena; /* of what follows */
    str initc_image;    /* of the init container of pods that wait for others to start */
};
#define INITC_IMAGE "grove-initc:" GROVE_VERSION

struct gangmap_view;
struct gangmap_entry;

struct clique_place {
    const struct obj *pcs;
    const struct obj *owner; /* the set, or the scaling group */
    int64_t pcs_index;
    struct clique_view clique;
    str hash; /* of its template, as the label shows it */
    /* members of a scaling group only */
    struct group_view group;
    int64_t group_index;
    /* Where a map of gangs rules (gangmap_world.h): that, and the entry of a member; pods of a
     * standalone clique are in many. NULL: gangs follow from the numbers. */
    const struct gangmap_view *gangs;
    const struct gangmap_entry *entry;
};

/* The clique of an element of the template's list. The caller says where it is; one place serves
 * all replicas. */
struct clique_place clique_place(struct arena *a, const struct obj *pcs, const struct obj *owner,
                                 jval template);
/* Creates it, or repairs what drifted; replicas of an existing one belong to users. */
void clique_ensure(const struct world *w, const struct clique_place *place, unsigned stage,
                   struct plan *p);

/* The PodClique of this place as pods are made from it, with the UID of the one that is there;
 * lives in the arena. NULL: it makes no object. */
const struct obj *clique_shape(struct arena *a, const struct clique_place *place, str uid);
/* Its replica has a map of gangs, or is about to: its labels are what the map says. */
bool clique_is_mapped(const struct world *w, const struct obj *pclq);
/* Whole name of the gang that a pod's label names. */
str pod_gang(struct arena *a, const struct world *w, const struct obj *pod);

/* Whole name of the gang a clique's pods belong to, empty while its owners are not known, and for a
 * standalone clique of a mapped replica, whose pods say it themselves (pod_gang);
 * *ret_base is that of the base gang when it is a scaled one, else empty. Labels may hold shortened
 * names, this never does. */
str clique_gang(struct arena *a, const struct world *w, const struct obj *pclq, str *ret_base);

/* An index of cliques by "namespace/gang" as their label names it; names may be shortened there. */
cache_index_fn cliques_by_gang;

/* All its pods are of the template it has now, those of others have stopped, and as many of them
 * exist as it needs. */
bool clique_is_updated(const struct obj *pclq);
/* Of the spec of a clique or group: its minimum, or all that is wanted when that is less. */
int64_t component_needs(jval spec);
/* An update of it is under way. */
bool clique_is_updating(const struct obj *pclq);
/* The condition that marks a clique whose minimum has been on nodes at some time; once there, it
 * stays. Only such a clique can be broken. */
#define CONDITION_WAS_SCHEDULED "EverScheduled"
/* The template's element for a PodClique of this replica of the set, found by its exact name;
 * absent: the set has no such clique (any more). */
jval clique_template(struct arena *a, const struct obj *pcs, int64_t pcs_index, str pclq);

/* For a PodClique or PodCliqueScalingGroup that somebody wrote by hand: a condition, and an event
 * with it, that say how to declare it. where: the field of a PodCliqueSet it belongs into. */
void make_undeclared(const struct world *w, const struct obj *o, const char *where, struct plan *p,
                     unsigned stage);

#endif
