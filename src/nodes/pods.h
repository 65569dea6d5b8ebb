/* The lives of the pods on one simulated node. */
#ifndef NODES_PODS_H
#define NODES_PODS_H

#include "nodes/nodes.h"

struct node_pods {
    const struct world *world;
    struct plan *plan;
    const struct nodes_options *options;
    const struct obj *node;
    unsigned number;
    unsigned by_node; /* index of the pod cache */
};

void pods_plan(struct node_pods *n);

#endif
