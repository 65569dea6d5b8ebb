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
/* Its node is unreachable: none is ready, and each is deleted when it does not tolerate that any
 * longer. since: when the node was tainted, as steady time. */
void pods_plan_unreachable(struct node_pods *n, usec since);
/* There is no such node: one pod bound to it, or all. */
void pods_plan_orphan(const struct world *w, struct plan *p, struct obj *pod);
void pods_plan_orphans(const struct world *w, struct plan *p, str node);

/* Pods of node n have 10.244.n.x and so on: the first three octets as text. */
str pods_network(unsigned number, char buf[16]);

#endif
