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
    str hash; /* of its template, as the label shows it */
    /* members of a scaling group only */
    struct group_view group;
    int64_t group_index;
};

/* The clique of an element of the template's list. The caller says where it is; one place serves
 * all replicas. */
struct clique_place clique_place(struct arena *a, const struct obj *pcs, const struct obj *owner,
                                 jval template);
/* Creates it, or repairs what drifted; replicas of an existing one belong to users. */
void clique_ensure(const struct world *w, const struct clique_place *place, unsigned stage,
                   struct plan *p);

/* Whole name of the gang a clique's pods belong to, empty while its owners are not known;
 * *ret_base is that of the base gang when it is a scaled one, else empty. Labels may hold shortened
 * names, this never does. */
str clique_gang(struct arena *a, const struct world *w, const struct obj *pclq, str *ret_base);

/* All its pods are of the template it has now, and at least its minimum of them exist. */
bool clique_is_updated(const struct obj *pclq);

#endif
