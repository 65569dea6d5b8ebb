/*
 * Probes of process pods: exec, httpGet and tcpSocket. A probe runs by its own timer, counts by
 * itself, and is heard of when it crosses a threshold; the pod machine never times anything.
 *
 * As a kubelet has it: nothing is probed before initialDelaySeconds, and liveness and readiness not
 * before the startup probe has succeeded; liveness counts as well until it fails, readiness as bad
 * until it succeeds. With a container's run its probes end.
 */
#ifndef NODE_AGENT_PROBER_H
#define NODE_AGENT_PROBER_H

#include "node/process/process.h"

struct prober;

struct prober_options {
    struct loop *loop;
    struct process *process;
    str address; /* of pods */
    /* A probe of the pod of this name has crossed a threshold. */
    void (*changed)(void *ctx, str ns, str name);
    /* The words of a command inside a container (pod_words.h). */
    void (*words)(void *ctx, const struct obj *pod, jval container, jval command,
                  struct pod_words *ret);
    void *ctx;
};

struct prober *prober_new(const struct prober_options *o);
void prober_free(struct prober *p);
/* Begins and ends probes as the containers of the pod run. */
void prober_follow(struct prober *p, const struct obj *pod, const struct pod_seen *seen);
/* Writes what the probes say into what was seen. */
void prober_see(struct prober *p, const struct obj *pod, struct pod_seen *seen);
/* Why a probe of the pod is not served; NULL: all are. */
const char *prober_refused(const struct obj *pod);

#endif
