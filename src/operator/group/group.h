/* What both halves of the planner of scaling groups look at. */
#ifndef OPERATOR_GROUP_GROUP_H
#define OPERATOR_GROUP_GROUP_H

#include "operator/common/clique.h"
#include "operator/common/surge.h"

struct group_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    const struct obj *pcsg;
    struct pcs_view set;
    struct pcsg_view spec;
    struct group_view template;
    jval config; /* of the template: the same, as it is written */
    int64_t pcs_index;
    const struct obj *revision; /* its members are to be of; NULL: not stored yet */
    /* Where a map of gangs rules: which replicas there are to be; n_mapped is -1 while it is not
     * there. NULL: those below spec.replicas, and those that an update has above it. */
    const bool *mapped;
    int64_t n_mapped;
    int64_t top;   /* replicas there are to be are below this number */
    int64_t above; /* those from this one on are above the number wanted, while it is updated */
};

/* Is it one of those there are to be? */
static inline bool group_wants(const struct group_work *g, int64_t j)
{
    return j >= 0 && j < g->top && (!g->mapped || g->mapped[j]);
}

/* It is one of those that an update has above the number wanted. */
static inline bool group_is_above(const struct group_work *g, int64_t j)
{
    return j >= g->above;
}

/* False when there is nothing to do for it: it or its set is going, gone or unknown. */
bool group_work_init(struct group_work *g, const struct world *w, const struct key *key,
                     struct plan *p);

#endif
