/* The parts of the PodClique planner, one file each; podclique.c says in which order. Nobody else
 * includes this. */
#ifndef OPERATOR_CLIQUE_PCLQ_IMPL_H
#define OPERATOR_CLIQUE_PCLQ_IMPL_H

#include "grove/going.h"
#include "grove/pod.h"
#include "operator/clique/gangmap_pods.h"
#include "operator/common/clique.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"
#include "operator/operator.h"

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

/* The clique in an update of its set; see update_pods.c. */
struct clique_update {
    const struct obj *target; /* the revision it is to be of; NULL: not stored yet */
    str clique;               /* its name in the template */
    str hash, set_hash;       /* what the revision calls it, and itself */
    bool labelled;            /* it carries that */
    int64_t named, outdated;  /* pods of it, and of another */
    bool starts, ends;        /* a pass, with this plan */
    bool running;             /* after it */
    bool rolls;               /* pods may be taken now */
    int64_t roomless;         /* pods that had no room when the pass began, and have none */
    int64_t old_going;        /* pods of another template that are going and still run */
    struct surge_record surge;
    str *picked; /* pods that served and are taken with this plan */
    size_t n_picked;
};

struct clique_work {
    const struct world *world;
    struct pod_recipe recipe;
    const struct obj *pcs;
    const struct obj *pclq;
    struct pclq_view spec;
    const struct tally *tally;
    struct plan *plan;
    struct clique_update update;
    struct going going;         /* pods of this clique's name that are going and still run */
    struct clique_slots *slots; /* where a map of gangs rules; NULL: one gang holds all its pods */
    bool unsettled;    /* the plan makes pods or lets them go: the next look tells of them */
    bool lacks_claims; /* that new pods would use: none are made */
    int64_t waiting;   /* pods with Grove's gate that wait for the one before them to stop */
    str gates_wait; /* why pods with Grove's gate keep it; empty: they do not, or there are none */
};

/* Creates what is missing, removes what is too much. Looks at single pods only when the tally says
 * that there is something to do. */
void pclq_plan_pods(struct clique_work *c);
/* Where the clique stands in an update; deletes pods of another template; says so in the status. */
void update_decide_clique(struct clique_work *c);
void update_plan_pods(struct clique_work *c);
void update_write_clique(const struct clique_work *c, struct jw *w);
/* Another pod of its index is going and still runs; this one waits for its end. */
bool pclq_pod_waits(const struct clique_work *c, const struct obj *pod);
/* It does so, or is about to be let go: it has not looked for room yet. */
bool pclq_pod_is_early(const struct clique_work *c, const struct obj *pod);
/* Lifts Grove's gate where the gang allows it. */
void pclq_plan_gates(struct clique_work *c);
void pclq_plan_status(struct clique_work *c);
/* What a clique says of itself that somebody wrote by hand. */
void pclq_plan_undeclared(const struct world *w, const struct obj *pclq, struct plan *p);

#endif
