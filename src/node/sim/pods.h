/* The pods on one simulated node. */
#ifndef NODE_SIM_PODS_H
#define NODE_SIM_PODS_H

#include "node/sim/nodes.h"

struct node_pods {
    const struct world *world;
    struct plan *plan;
    const struct nodes_options *options;
    const struct obj *node;
    unsigned number;
};

void pods_add_indexes(struct cache *pods);
/* Those whose init container waits for this pod, and perhaps some that do not: one after the other
 * of the two. */
void pods_waiting_for(const struct cache *pods, const struct obj *pod, struct cache_iter ret[2]);

/* Takes each of them as far as it is due. */
void pods_plan(struct node_pods *n);

/* Pods of node n have 10.244.n.x and so on: the first three octets as text. */
str pods_network(unsigned number, char buf[16]);

#endif
