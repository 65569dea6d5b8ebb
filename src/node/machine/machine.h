/*
 * The pod machine: what a kubelet decides about one pod, as a pure function.
 *
 *   pod, observed, now  ──►  actions for the driver, phase and readiness, when to look again
 *
 * It remembers nothing. A driver carries the actions out in its own time, and what comes of them is
 * observed; an action that was asked for and not yet observed must show as STARTING, STOP_HOOK or
 * STOP_TERM, so that nobody asks twice. Asked twice all the same, (pod UID, container, attempt)
 * names an action: a driver does it once.
 *
 * The order of a life:
 *
 *   sandbox ─► init 0 ─► init 1 ─► ... ─► all containers together ─► exits, restarts, end
 *              each ends with 0;          postStart, then probes
 *              a sidecar (restartPolicy
 *              Always) has started and
 *              goes on
 *
 * and of an end (deleted, past its deadline, or all of its containers done):
 *
 *   containers: preStop hook ─► TERM ─► KILL at the end of the grace period
 *   then the sidecars, the last one first ─► sandbox
 *
 * Restarts follow the restart policy, after a pause that doubles from ten seconds to five minutes
 * while runs are short. Probes are not timed here: a prober reports crossings. What has ended
 * (phase Succeeded or Failed) never runs again, and a phase never goes back.
 *
 * Example. restartPolicy Always, one container, its second run ended 4 s ago after 3 s:
 *   observed  a: EXITED attempt 1 streak 1 finished now-4s
 *   result    no action; phase Running; a waits as CrashLoopBackOff; look again in 6 s
 * and then: start a, attempt 2, streak 2.
 */
#ifndef NODE_MACHINE_MACHINE_H
#define NODE_MACHINE_MACHINE_H

#include "base/arena.h"
#include "kube/object.h"
#include "node/machine/observed.h"

enum machine_act {
    ACT_SANDBOX,      /* make the sandbox; attempt says which */
    ACT_START,        /* start a container; its run is `attempt` */
    ACT_POST_START,   /* run its postStart hook */
    ACT_PRE_STOP,     /* run its preStop hook, until stop_by */
    ACT_STOP,         /* ask it to end, kill it at stop_by; earlier than said before: so be it */
    ACT_SANDBOX_STOP, /* nothing runs in it any more */
};

struct machine_action {
    enum machine_act act;
    size_t container; /* index in pod_seen.containers */
    int64_t attempt;
    unsigned streak;
    usec stop_by;
    const char *why; /* a sentence, for the journal and events */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

/* What is to be said of a container beside what was seen of it. */
struct container_verdict {
    bool ready, started;
    const char *waiting; /* a reason, when it is neither running nor shown as terminated */
};

struct machine_input {
    const struct obj *pod;
    const struct pod_seen *seen;
    struct when now;
    struct when started;   /* status.startTime; at 0: now */
    struct when delete_by; /* deletionTimestamp, the end of the grace period, when deleting */
    bool must_end;         /* it is to end although nobody deleted it: the pod is gone, or the node
                              stops; by delete_by */
};

struct machine_result {
    struct machine_action *actions;
    size_t n_actions;
    struct container_verdict *containers; /* as many as seen */
    enum pod_phase phase;
    const char *reason, *message; /* of the pod: DeadlineExceeded; NULL: none */
    bool initialized, containers_ready, gates_open;
    bool gone;    /* it was to end, and nothing of it is left */
    usec look_at; /* on the clock of now; 0: when something changes */
};

/* Everything returned lives in the arena. */
void machine_plan(const struct machine_input *in, struct arena *a, struct machine_result *ret);

/* How many containers of each sort the pod has, and which one stands at an index. */
struct pod_parts {
    jval inits, mains, ephemerals;
    size_t n_inits, n_mains, n_ephemerals;
};
struct pod_parts pod_parts_of(const struct obj *pod);
static inline size_t pod_parts_count(const struct pod_parts *p)
{
    return p->n_inits + p->n_mains + p->n_ephemerals;
}
jval pod_part_at(const struct pod_parts *p, size_t i);
/* An init container that goes on beside the others. */
bool init_is_sidecar(jval container);

#define MACHINE_BACKOFF_FIRST (10 * USEC_PER_SEC)
#define MACHINE_BACKOFF_MAX (5 * USEC_PER_MIN)
/* A run of this length is not short, and the next pauses begin anew. */
#define MACHINE_BACKOFF_RESET (10 * USEC_PER_MIN)
/* Who was told to stop has at least this long, also after a hook that used its time up. */
#define MACHINE_LEAST_GRACE (2 * USEC_PER_SEC)

/* The pause after a short run that came after so many short ones: 0, 10 s, 20 s, ... 5 min. */
usec machine_backoff(unsigned streak);
/* Whether a container that exited so runs again. */
bool machine_restarts(const struct obj *pod, bool sidecar, int64_t exit_code);

#endif
