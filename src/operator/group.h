/* What both halves of the planner of scaling groups look at. */
#ifndef OPERATOR_GROUP_H
#define OPERATOR_GROUP_H

#include "operator/clique.h"

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
    const struct obj *revision; /* of the set's template; NULL: not stored yet */
};

/* False when there is nothing to do for it: it or its set is going, gone or unknown. */
bool group_work_init(struct group_work *g, const struct world *w, const struct key *key,
                     struct plan *p);

#endif
