/*
 * How long things take on a simulated node: what the simulated driver (sim_driver.h) answers the
 * pod machine with.
 *
 *   bound ──pull──► init containers, each for `init` ──start──► running ──ready──► ready
 *                                                                   └──run──► exited
 *
 * The delays are those of the nodes, each drawn anew within the jitter for each pod; annotations of
 * the pod (of its template, for a clique) say otherwise, and exactly:
 *
 *   simulation.grove.io/pull: 5s         until its images are there
 *   simulation.grove.io/init: 1s         each of its init containers
 *   simulation.grove.io/start: 300ms     until its containers run
 *   simulation.grove.io/ready: 20s       until they are ready
 *   simulation.grove.io/stop: 10s        from deleted to gone, within the grace period
 *   simulation.grove.io/run: 1m          until they exit; restartPolicy says what then
 *   simulation.grove.io/exit-code: "1"   with this code (0)
 *   simulation.grove.io/exits: "3"       so many times; the run after that lasts (always exits)
 *
 * What cannot be read is as if it were absent.
 */
#ifndef NODE_SIM_LIFE_H
#define NODE_SIM_LIFE_H

#include "client/controller.h"

#define LIFE_PREFIX "simulation.grove.io/"

/* Delays of a node, or of one pod. */
struct life {
    usec pull, init, start, ready, stop;
    usec run; /* 0: for ever */
    int64_t exit_code;
    int64_t exits; /* -1: each time */
};

/* The delays of this pod, given those of its node. jitter in percent. */
struct life life_of(const struct obj *pod, const struct life *node, unsigned jitter);

#endif
