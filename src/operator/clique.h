/* A PodClique object from its template: the one way both its possible owners, the set and a scaling
 * group, make it. */
#ifndef OPERATOR_CLIQUE_H
#define OPERATOR_CLIQUE_H

#include "operator/make.h"

struct clique_place {
    const struct obj *pcs;
    const struct obj *owner; /* the set, or the scaling group */
    int64_t pcs_index;
    struct clique_view clique;
    /* members of a scaling group only */
    struct group_view group;
    int64_t group_index;
};

/* Creates it, or repairs what drifted; replicas of an existing one belong to users. */
void clique_ensure(const struct world *w, const struct clique_place *place, jval template,
                   unsigned stage, struct plan *p);

/* Whole name of the gang a clique's pods belong to; *ret_base is that of the base gang when it is a
 * scaled one, else empty. Labels may hold shortened names, this never does. */
str clique_gang(struct arena *a, const struct world *w, const struct obj *pclq, str *ret_base);

#endif
