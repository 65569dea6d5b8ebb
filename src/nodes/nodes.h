/*
 * Simulated nodes: they register themselves and take the pods bound to them through their lives, as
 * the kubelet of a real node would, with nothing behind it. A planner like the others, one key per
 * node, so that everything about a node (its addresses for one) is decided in one place.
 */
#ifndef NODES_NODES_H
#define NODES_NODES_H

#include "client/controller.h"

struct nodes_options {
    unsigned count;
    const char *profile; /* "h100", "gb200", "cpu" */
    bool tainted;        /* fake-node=true:NoSchedule, as demo clusters have it */
    usec start_delay;    /* from bound to Running */
    usec stop_delay;     /* from deleted to gone, within the grace period */
};

extern const struct nodes_options nodes_defaults;
/* NULL-terminated names of the profiles. */
extern const char *const nodes_profiles[];

/* The planner of one node; its context are the options. It reads the index that nodes_add adds. */
planner_fn nodes_plan;
void nodes_add_index(struct runtime *r);
/* options must live as long as the runtime. */
struct controller *nodes_add(struct runtime *r, struct api *api, const struct nodes_options *o);

#endif
