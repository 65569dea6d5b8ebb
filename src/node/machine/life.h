/*
 * The life of a pod on a simulated node, as data.
 *
 *   BOUND ──pull──► INIT (one init container after the other) ──start──► RUNNING ──ready──► READY
 *                                                                            │ run           │ run
 *                                                     BACKOFF ◄── the container exits ◄──────┘
 *                                                        └──► RUNNING again, or ENDED for good
 *
 * Where a pod is in its life is read from its status, and every delay counts from a time recorded
 * there: nothing is remembered, and a restart changes nothing. Recorded times have whole seconds;
 * within its second a time is when the status that carries it was seen (world_rebased_seen). So a
 * delay is never short. It takes as long as it says, unless somebody else changes the pod within
 * that second or the nodes are started anew: then it may be up to a second longer. The same holds
 * for `run`, which does not end with the status that it begins with.
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
#ifndef NODE_MACHINE_LIFE_H
#define NODE_MACHINE_LIFE_H

#include "client/controller.h"

#define LIFE_PREFIX "simulation.grove.io/"

/* Delays of a node, or of one pod. */
struct life {
    usec pull, init, start, ready, stop;
    usec run; /* 0: for ever */
    int64_t exit_code;
    int64_t exits; /* -1: each time */
};

enum life_stage {
    LIFE_BOUND,
    LIFE_INIT,
    LIFE_RUNNING,
    LIFE_READY,
    LIFE_BACKOFF,
    LIFE_ENDED,
    LIFE_FOREIGN, /* a status that no node of ours has written: left alone */
};

struct progress {
    enum life_stage stage;
    usec since;         /* when it came here; in INIT, when the present init container began */
    usec began;         /* the same, as today's clock would have shown it */
    size_t inits;       /* init containers it has */
    size_t inits_done;  /* of these, finished; sidecars: started */
    int64_t restarts;   /* of its containers */
    usec last_finished; /* the run before this one; 0: there was none */
    bool shown;         /* BOUND: its status says so already */
};

/* The delays of this pod, given those of its node. jitter in percent. */
struct life life_of(const struct obj *pod, const struct life *node, unsigned jitter);
struct progress progress_of(const struct world *w, const struct obj *pod);
/* READY, and says nothing of exiting by itself. */
bool life_is_settled(const struct obj *pod);
/* Every container that was added to look around has a status. */
bool life_shows_all(const struct obj *pod);
/* Does all that is due; whether that was anything. What is due next is in *ret_due (0: nothing is,
 * before something changes). held: an init container waits for others to become ready, so it does
 * not finish. */
bool progress_advance(struct progress *p, const struct life *l, const struct obj *pod, bool held,
                      usec now, usec *ret_due);
/* Kubernetes' back-off between runs of a container. */
usec life_backoff(const struct life *l, int64_t restarts);
bool init_is_sidecar(jval container);

#endif
