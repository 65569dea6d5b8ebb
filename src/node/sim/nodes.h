/*
 * Simulated nodes: they register themselves and take the pods bound to them through their lives, as
 * the kubelet of a real node would, with nothing behind it. A planner like the others, one key per
 * node, so that everything about a node (its addresses for one) is decided in one place.
 *
 * A node fails when it is annotated simulation.grove.io/failed=true, and comes back without it. A
 * failed node does nothing. What follows from that others decide (controllers/node_control.h); they
 * know nodes of their own process by nodes_is_own and nodes_has_failed, and need no heartbeats.
 */
#ifndef NODE_SIM_NODES_H
#define NODE_SIM_NODES_H

#include "client/controller.h"
#include "node/sim/life.h"

struct nodes_options {
    unsigned count;
    const char *profile; /* "h100", "gb200", "cpu" */
    bool tainted;        /* fake-node=true:NoSchedule, as demo clusters have it */
    struct life life;    /* of the pods on them, see life.h */
    unsigned jitter;     /* of the delays, percent */
    bool heartbeats;     /* a Lease for each, renewed every ten seconds */
    /* Without heartbeats: a Lease for each all the same, for those who look it up (`kubectl
     * describe node`). It has no duration, so it does not expire, and is written when the node
     * registers and when it comes back, as its condition Ready is: nobody judges these nodes by
     * their Leases, and ten thousand that renew them are a thousand writes a second for nothing. */
    bool leases;
    /* A ClusterTopologyBinding of the labels that these nodes have, NODES_BINDING, is created
     * before the first node registers, where there is no binding at all. From then on it is the
     * user's: changed or deleted, it stays so for as long as any node is there. */
    bool binding;
    /* There is no other node controller: who runs these nodes also runs that, and nodes beyond the
     * number are removed. */
    bool minded;
};

#define NODES_BINDING "grove-topology"

/* One of those that these options make. */
bool nodes_is_own(const struct nodes_options *o, const struct obj *node);
bool nodes_has_failed(const struct obj *node);

extern const struct nodes_options nodes_defaults;
/* NULL-terminated names of the profiles. */
extern const char *const nodes_profiles[];

/* The planner of one node; its context are the options. It reads the indexes that nodes_add adds.
 */
planner_fn nodes_plan;
void nodes_add_index(struct runtime *r);
/* options must live as long as the runtime. */
struct controller *nodes_add(struct runtime *r, struct api *api, const struct nodes_options *o);

#endif
