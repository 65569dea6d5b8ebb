/* RollingRecreate inside a scaling group; parts of the status half of its planner. */
#ifndef OPERATOR_GROUP_UPDATE_GROUP_H
#define OPERATOR_GROUP_UPDATE_GROUP_H

#include "operator/group/group.h"

struct group_update {
    int64_t realised, available; /* replicas: of the revision with all their pods; serving */
    int64_t own_available;       /* of those, without the ones above the number wanted */
    int64_t placed_above;        /* of those above, on nodes, from the lowest on */
    int64_t unscheduled;         /* replicas without their minimum on nodes */
    int64_t roomless;            /* of those, as many as there were when the pass began */
    int64_t updated_members;     /* members of the revision with all their pods */
    bool outdated;               /* some member or pod is of another template */
    bool starts, ends;           /* with this plan */
    bool running;                /* after it */
    bool rolls;
    struct surge_record surge;
    int64_t *picked;
    size_t n_picked;
};

/* Which pass the group is in; the counts are filled in by the caller. */
void update_decide_group(const struct group_work *g, struct group_update *u);
/* Deletes what is to be made anew. Uses the stage and the one after it. */
void update_plan_group(const struct group_work *g, struct group_update *u, unsigned stage);
/* updateProgress and rollingUpdateProgress. */
void update_write_group(const struct group_work *g, const struct group_update *u, struct jw *w);

#endif
