/*
 * What a driver has observed of one pod: its sandbox (what its containers share: network, volumes)
 * and each of its containers. The pod machine (machine.h) reads nothing else of the machine that
 * the pod runs on, whoever the driver is: simulated, processes, containers of a runtime.
 *
 * Containers stand in one array: init containers, containers, ephemeral containers, each in the
 * order of the spec. All slices belong to the driver.
 */
#ifndef NODE_MACHINE_OBSERVED_H
#define NODE_MACHINE_OBSERVED_H

#include "base/str.h"
#include "base/timefmt.h"

/* A moment: `at` is on the clock that delays are counted on (machine_input.now), `wall` is what is
 * written in a status. Both 0: it has not come. */
struct when {
    usec at, wall;
};

enum sandbox_state {
    SANDBOX_NONE,
    SANDBOX_STARTING, /* asked for */
    SANDBOX_READY,
    SANDBOX_GONE, /* it was there and ended: stopped, or lost with everything in it */
};

enum container_state {
    CONTAINER_NONE,     /* it has never run */
    CONTAINER_STARTING, /* asked for; `attempt` is the run to come */
    CONTAINER_RUNNING,
    CONTAINER_EXITED,
};

/* Of a postStart hook. */
enum hook_state { HOOK_NONE, HOOK_RUNS, HOOK_DONE, HOOK_FAILED };

/* How far the end of a container that was told to stop has come. */
enum stop_state {
    STOP_NONE,
    STOP_HOOK,   /* its preStop hook runs, until stop_by at the latest */
    STOP_HOOKED, /* that has ended, well or not */
    STOP_TERM,   /* it was asked to end; the driver kills it at stop_by */
};

/* What a prober says. It counts by itself and reports when a threshold is crossed. */
enum probe_state {
    PROBE_NONE, /* there is no such probe: as good as PROBE_OK */
    PROBE_PENDING,
    PROBE_OK,
    PROBE_FAILED,
};

/* One run of a container that has ended. */
struct run_seen {
    struct when started, finished;
    int64_t exit_code;
    int signal;          /* that ended it; 0: none */
    str reason, message; /* empty reason: "Completed" or "Error", by the exit code */
};

struct container_seen {
    enum container_state state;
    int64_t attempt; /* of the present run: 0 is the first; that is the restart count */
    unsigned streak; /* runs in a row before it that were short, see machine_backoff */
    int64_t sandbox; /* in which it was started, see pod_seen.sandbox_attempt */
    struct when started;
    struct run_seen exit; /* EXITED: how */
    struct run_seen last; /* the run before the present one, where finished.wall is not 0 */
    enum hook_state post_start;
    enum stop_state stop;
    usec stop_by;
    enum probe_state startup, liveness, readiness;
    str blocked, blocked_message; /* NONE, STARTING: why it cannot be started yet, as a reason */
    str id;                       /* "process://..."; empty: none */
};

struct pod_seen {
    enum sandbox_state sandbox;
    int64_t sandbox_attempt;
    str blocked, blocked_message; /* why there can be no sandbox yet */
    struct container_seen *containers;
    size_t n;
};

#endif
