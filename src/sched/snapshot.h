/*
 * The cluster as the scheduler counts it: nodes in name order with what is free, resources by
 * number. Made from the caches; integers only, so that trying and undoing a placement is cheap.
 */
#ifndef SCHED_SNAPSHOT_H
#define SCHED_SNAPSHOT_H

#include "base/vec.h"
#include "client/controller.h"

enum { RES_CPU, RES_MEMORY, RES_PODS, RES_FIRST_OTHER, RES_MAX = 32 };

/* Amount of each resource; cpu in thousandths. */
struct demand {
    int64_t amount[RES_MAX];
};

struct snap_node {
    const struct obj *obj;
    str name;
    int64_t total[RES_MAX];
    int64_t free[RES_MAX];
    bool open; /* ready and schedulable */
};

struct snapshot {
    struct arena *arena;
    str resources[RES_MAX];
    size_t n_resources;
    VEC(struct snap_node) nodes;
};

/* Counts every bound pod that still holds its resources. */
void snapshot_init(struct snapshot *s, const struct world *w, struct arena *a);
/* Nodes only; everything they have is free. */
void snapshot_init_nodes(struct snapshot *s, const struct world *w, struct arena *a);
/* What the node has and whether it takes pods. */
void snapshot_read_node(struct snapshot *s, const struct obj *o, struct snap_node *ret);
void snapshot_done(struct snapshot *s);

/* What the pod asks for, pod count included. False, with the reason, when it also asks for
 * something this scheduler cannot judge or count; the rest is counted all the same. */
bool snapshot_demand(struct snapshot *s, const struct obj *pod, struct demand *ret, str *ret_why);
/* Taints, selector, required node affinity, readiness. */
bool node_admits(const struct snap_node *n, const struct obj *pod);
/* How much the node is against the pod's wishes (preferred affinity) and its own
 * (PreferNoSchedule); 0: not at all. */
uint8_t node_penalty(const struct snap_node *n, const struct obj *pod);
bool node_fits(const struct snapshot *s, const struct snap_node *n, const struct demand *d);
void node_take(const struct snapshot *s, struct snap_node *n, const struct demand *d);

/* Bound to a node and not finished: it holds its resources, also while it is going. */
bool pod_holds_node(const struct obj *pod);
/* Waits for a node: no gates, not going, not finished. */
bool pod_waits(const struct obj *pod);

#endif
