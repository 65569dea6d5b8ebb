/*
 * The simulated driver: it answers the pod machine (node/machine/machine.h) with nothing behind it,
 * after the delays of life.h.
 *
 * It remembers nothing either. What it has observed of a pod is read from the pod's status, and
 * every delay counts from a time recorded there: a restart changes nothing. Recorded times have
 * whole seconds; within its second a time is when the status that carries it was seen
 * (world_rebased_seen). So a delay is never short. It takes as long as it says, unless somebody
 * else changes the pod within that second or the nodes are started anew: then it may be up to a
 * second longer. The same holds for `run`, which does not end with the status that it begins with.
 *
 * What is due is carried out at once, as far as it goes, and told in one status: a pod without
 * delays goes from bound to ready in one write. The containers of a pod go through life together:
 * the first tells for all.
 */
#ifndef NODE_SIM_SIM_DRIVER_H
#define NODE_SIM_SIM_DRIVER_H

#include "client/controller.h"
#include "node/machine/machine.h"
#include "node/sim/life.h"

struct sim_pod {
    const struct obj *pod;
    const struct life *life;
    struct arena *arena;
    struct pod_seen seen;
    struct pod_parts parts;
    struct machine_input in;
    struct machine_result result; /* after sim_pod_advance or sim_pod_judge */
    struct when base;             /* when it was bound, or its last init container began or ended */
    usec stop_due;                /* deleted: when its containers have stopped */
    usec due;                     /* when something happens next; 0: when something changes */
    /* Whether the init container that runs waits for others, and does not end. */
    bool (*is_held)(void *ctx, const struct obj *pod, jval container);
    void *ctx;
};

/* False: nothing comes of itself any more. The pod has ended, or its status is none that a node of
 * ours has written, and it is left to whose it is. */
bool sim_pod_observe(struct sim_pod *s, const struct world *w, const struct obj *pod,
                     const struct life *life, struct arena *a);
/* Does all that is due; whether that was anything. */
bool sim_pod_advance(struct sim_pod *s);
/* What is to be said of it as it is. */
void sim_pod_judge(struct sim_pod *s);

/* It runs and is ready, and neither its delays nor its spec let anything come of itself. */
bool sim_pod_is_settled(const struct obj *pod);

#endif
