/* The parts of the PodGang planner. Nobody else includes this. */
#ifndef OPERATOR_GANG_GANG_H
#define OPERATOR_GANG_GANG_H

#include "base/map.h"
#include "grove/make.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/topology.h"

enum { GANG_STAGE_SPEC, GANG_STAGE_PODS, GANG_STAGE_STATUS };

struct gang_member {
    str pclq;   /* whole name */
    str clique; /* of the template */
};

struct gang_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    const struct obj *gang; /* NULL: to be made */
    str name;
    struct pcs_view set;
    struct topology topology;
    int64_t pcs_index;
    const struct obj *pcsg; /* scaled gang: the group whose replica it is */
    int64_t group_index;
    /* Where a map of gangs rules: what it holds. NULL: that follows from the numbers. */
    const struct gangmap_view *gangs;
    const struct gangmap_entry *entry;
    str label; /* its name as its pods carry it */
    /* What was seen on the way through the groups. */
    VEC(struct gang_member) members;
    bool constrained; /* some topology constraint applies */
    bool complete, scheduled, ready, any_scheduled, breached;
    bool replacing; /* some pod is not on a node */
    int64_t pods, wanted;
    int64_t ready_pods, min_pods;
    struct map nodes; /* names of those that its pods are on */
    /* The first cliques that lack ready pods, and pods on nodes; what they have and need. */
    str short_clique, unplaced_clique;
    int64_t short_ready, short_min, unplaced_there, unplaced_min;
};

/* Its condition of that type is True, as far as it was ever written. */
bool gang_was(const struct gang_work *g, const char *type);
/* It has had the minimum of every clique on nodes. */
bool gang_was_placed(const struct gang_work *g);
void gang_plan_status(struct gang_work *g);
/* Takes the pods away that a scheduler asked for by DisruptionTarget. */
void gang_plan_disruption(struct gang_work *g);
/* The pod of a clique of this gang is in it; where no map rules, all are. */
bool gang_holds(const struct gang_work *g, const struct obj *pod);

#endif
