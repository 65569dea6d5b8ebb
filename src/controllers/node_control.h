/*
 * What becomes of nodes, and of the pods on them, as kube-controller-manager decides it. Four
 * planners, each with its own file and key; they meet in what they write:
 *
 *   heartbeats ──► node_lifecycle.c   key: a node
 *                    │ conditions Unknown, taints NoSchedule, pods not ready
 *                    ▼
 *                  node_zones.c       key: a zone
 *                    │ taint NoExecute, one node of a zone after the other
 *                    ▼
 *                  taint_eviction.c   key: a pod
 *                    │ deletes pods that do not tolerate the taint, or not any longer
 *                    ▼
 *                  pod_gc.c           key: a pod
 *                      deletes for good what no node will ever finish
 *
 * A heartbeat is a new version of the node's Lease or a new time in its condition Ready. Nobody is
 * woken by one: a node is looked at when 40 seconds have passed since the last that was known.
 * Elapsed time is counted from when we saw it; clocks of nodes do not matter.
 */
#ifndef CONTROLLERS_NODE_CONTROL_H
#define CONTROLLERS_NODE_CONTROL_H

#include "client/controller.h"

/* What the process knows of a node without heartbeats: a simulated one is part of it. */
enum node_known { NODE_HEARTBEATS, NODE_ALIVE, NODE_DEAD };
typedef enum node_known node_known_fn(const void *ctx, const struct obj *node);

struct node_control_options {
    node_known_fn *known; /* NULL: all nodes are known by their heartbeats */
    const void *ctx;
};

/* The options must outlive the runtime. */
void node_control_add(struct runtime *r, struct api *api, const struct node_control_options *o);

#endif
