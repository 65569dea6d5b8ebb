/*
 * The agent: this machine as a node. It registers the node with what the machine has, keeps its
 * Lease, and takes the pods bound to it through their lives: the pod machine decides
 * (node/machine), the process driver does (node/process). A planner like the others; its keys are
 * the node itself and the pods bound to it.
 *
 * Pods run as processes when they ask for it: runtimeClassName "process", a RuntimeClass that the
 * agent creates; or all of them, with `all`. Others wait, and their status says why.
 */
#ifndef NODE_AGENT_AGENT_H
#define NODE_AGENT_AGENT_H

#include "client/controller.h"

#define AGENT_RUNTIME_CLASS "process"

struct agent_options {
    str name;        /* of the node */
    const char *dir; /* of the state of pods */
    str hide;        /* a directory that no pod sees; the state is in it */
    str address;     /* of the machine */
    int port;        /* of the server of logs; 0: none */
    int64_t gpus;    /* that are pretended */
    bool all;        /* pods run as processes also when they do not ask for it */
    bool privileged; /* pods may ask for hostPath, uid 0 */
    bool temporary;  /* the state is lost with the agent: its pods end with it */
};

struct agent;

/* Adopts the pods that are there. The options must live as long as the agent. */
struct agent *agent_new(struct loop *l, const struct agent_options *o, struct err *err);
/* The pods go on. After the runtime. */
void agent_free(struct agent *a);
/* Its controller, in a runtime. */
void agent_add(struct agent *a, struct runtime *r, struct api *api);

/* Where the logs of a container of a pod are; in the arena. Empty: not here. */
struct process *agent_process(struct agent *a);
const struct obj *agent_pod(struct agent *a, str ns, str name);

/* The planner, for tests; its context is the agent. */
planner_fn agent_plan;

#endif
