/*
 * Nodes and pods as the scheduler counts them: what a node has and whom it lets in, what a pod asks
 * for; resources by number, amounts as integers.
 */
#ifndef GROVE_SNAPSHOT_H
#define GROVE_SNAPSHOT_H

#include "base/vec.h"
#include "client/controller.h"

enum { RES_CPU, RES_MEMORY, RES_PODS, RES_FIRST_OTHER, RES_MAX = 64 };
/* Amounts end here, so that no sum over the pods of a node leaves the range and what is taken can
 * be given back exactly. */
#define AMOUNT_MAX ((int64_t)1 << 50)

/* Amount of each resource; cpu in thousandths. */
struct demand {
    int64_t amount[RES_MAX];
};

struct snap_node {
    const struct obj *obj;
    str name;
    int64_t total[RES_MAX];
    bool open;     /* ready and schedulable */
    bool cordoned; /* only that is in the way: open to those who tolerate it */
};

struct snapshot {
    struct arena *arena;
    str resources[RES_MAX];
    size_t n_resources;
    VEC(struct snap_node) nodes;
};

/* What the nodes have; who holds it is counted in the core (core.h). */
void snapshot_init(struct snapshot *s, const struct world *w, struct arena *a);
/* What the node has and whether it takes pods. */
void snapshot_read_node(struct snapshot *s, const struct obj *o, struct snap_node *ret);
void snapshot_done(struct snapshot *s);

/* What the pod asks for, pod count included. False, with the reason, when it also asks for
 * something this scheduler cannot judge or count; the rest is counted all the same. (Claims are
 * judged elsewhere, see claims.h.) */
bool snapshot_demand(struct snapshot *s, const struct obj *pod, struct demand *ret, str *ret_why);
/* What a container was given by its node, or runs with, when some of it is more than it asks for:
 * it is being resized, and holds the larger of both. Where the node says that it will never give
 * what is asked for, that counts instead. Absent otherwise. */
jval container_excess(const struct obj *pod, jval container);
/* The same of what is asked for the whole pod: the part of a class's key. */
void resize_key(const struct obj *pod, struct strbuf *out);
/* That is another for the pod or one of its containers; both pods ask for the same. */
bool containers_differ(const struct obj *old, const struct obj *new);
/* Taints, selector, required node affinity, readiness. */
bool node_admits(const struct snap_node *n, const struct obj *pod);
/* Selector and required node affinity alone; readiness and taints alone. */
bool node_is_wanted(const struct snap_node *n, const struct obj *pod);
bool node_tolerates(const struct snap_node *n, const struct obj *pod);
/* One of the terms of a NodeSelector matches. */
bool node_matches(const struct snap_node *n, jval node_selector);
/* How much the node is against the pod's wishes (preferred affinity) and its own
 * (PreferNoSchedule); 0: not at all. */
uint8_t node_penalty(const struct snap_node *n, const struct obj *pod);

/* Bound to a node and not finished: it holds its resources, also while it is going. */
bool pod_holds_node(const struct obj *pod);
/* Waits for a node: no gates, not going, not finished. */
bool pod_waits(const struct obj *pod);

#endif
