/* The parts of the PodClique planner, one file each; podclique.c says in which order. Nobody else
 * includes this. */
#ifndef OPERATOR_PCLQ_IMPL_H
#define OPERATOR_PCLQ_IMPL_H

#include "operator/clique.h"
#include "operator/operator.h"
#include "operator/pod.h"
#include "operator/tally.h"

/* A status with errors to tell goes first, with the finalizer (never both); claims are there before
 * the pods that use them. Finished pods go when their successors are there: a name is free only
 * when its pod is gone, and a successor whose create is still under way must not be tried under
 * another name. */
enum {
    STAGE_FINALIZER,
    STAGE_ERRORS = STAGE_FINALIZER,
    STAGE_CLAIMS,
    STAGE_PODS,
    STAGE_FINISHED,
    STAGE_STATUS
};

typedef VEC(struct obj *) obj_vec;

struct clique_work {
    const struct world *world;
    struct pod_recipe recipe;
    const struct obj *pcs;
    const struct obj *pclq;
    struct pclq_view spec;
    const struct tally *tally;
    struct plan *plan;
    bool lacks_claims; /* that new pods would use: none are made */
    str gates_wait; /* why pods with Grove's gate keep it; empty: they do not, or there are none */
};

/* Creates what is missing, removes what is too much. Looks at single pods only when the tally says
 * that there is something to do. */
void pclq_plan_pods(struct clique_work *c);
/* Lifts Grove's gate where the gang allows it. */
void pclq_plan_gates(struct clique_work *c);
void pclq_plan_status(struct clique_work *c);
/* What a clique says of itself that somebody wrote by hand. */
void pclq_plan_undeclared(const struct world *w, const struct obj *pclq, struct plan *p);

#endif
