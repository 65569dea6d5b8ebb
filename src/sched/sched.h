/*
 * The gang scheduler as a planner: one key, the round. A round looks at every gang that has pods to
 * place and plans binds for whole minimums or nothing, then surplus pods where they fit; what
 * cannot be placed is told on the PodGang and as an Event on each waiting pod.
 *
 *   world -> snapshot (dense tables) -> place (pure, with undo) -> plan
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "client/controller.h"

/* Which pods it serves: those that name one of these schedulers. */
struct sched_options {
    const char *const *names;
    size_t n_names;
    /* There is nobody who binds volume claims or allocates device claims, and nodes need neither:
     * such claims hold no pod back. For simulated nodes. */
    bool unbound_ok;
};
/* All that the embedded control plane stands for: its own name, and those of manifests written for
 * default-scheduler, kai-scheduler and volcano. */
extern const struct sched_options sched_defaults;

/* Its state is derived from the runtime's caches and goes with the runtime. NULL options: the
 * defaults. */
void sched_add(struct runtime *r, struct api *api, const struct sched_options *o);

/* For tests: the planner, which looks at everything whatever the key, and its ctx; before the
 * runtime starts. */
struct sched;
planner_fn sched_plan;
struct sched *sched_new(struct runtime *r, const struct sched_options *o);
void sched_free(void *sched);

#endif
