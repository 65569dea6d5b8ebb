/* This machine as a Node: what it has, read once, and what is written of it. */
#ifndef NODE_AGENT_NODE_SELF_H
#define NODE_AGENT_NODE_SELF_H

#include "client/controller.h"

struct agent_options;

struct node_self {
    long cpus;
    int64_t memory; /* bytes */
    char kernel[128], os[160], machine_id[64], boot_id[64];
};

void node_self_read(struct node_self *s);
/* Registers the node, keeps its status and its Lease. */
void node_self_plan(const struct node_self *s, const struct world *w, const struct agent_options *o,
                    struct plan *p);

#endif
