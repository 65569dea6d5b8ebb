/* What the planners of node_control.h share: how to read a node, and its taints. */
#ifndef CONTROLLERS_NODE_CONTROL_IMPL_H
#define CONTROLLERS_NODE_CONTROL_IMPL_H

#include "controllers/node_control.h"
#include "json/write.h"

#define TAINT_PREFIX "node.kubernetes.io/"
#define TAINT_NOT_READY TAINT_PREFIX "not-ready"
#define TAINT_UNREACHABLE TAINT_PREFIX "unreachable"
#define TAINT_OUT_OF_SERVICE TAINT_PREFIX "out-of-service"

void node_lifecycle_add(struct runtime *r, struct api *api, const struct node_control_options *o);
void node_zones_add(struct runtime *r, struct api *api);
void taint_eviction_add(struct runtime *r, struct api *api);
void pod_gc_add(struct runtime *r, struct api *api);

/* Of the condition Ready: "True", "False", "Unknown"; empty: nobody has said anything yet. */
str node_readiness(const struct obj *node);
bool node_is_ready(const struct obj *node);
/* The taint that a node which is not ready has for that; NULL: it is ready, or new. */
const char *node_lost_taint(const struct obj *node);

jval node_taints(const struct obj *node);
bool taint_is(jval taint, const char *key, const char *effect);
/* Absent: the node has none like it. */
jval node_taint(const struct obj *node, const char *key, const char *effect);
void taint_put(struct jw *w, const char *key, const char *effect, usec now);
/* When the taint came to be, as steady time; false: it does not say. */
bool taint_since(const struct world *w, const struct obj *node, jval taint, usec *ret);

/* {"spec":{"taints":[ ... begins; then the taints are written, and the patch planned. */
void taints_begin(struct jw *w);
struct plan_write *taints_end(struct jw *w, struct plan *p, const struct obj *node);

/* The node that the pod is bound to; NULL: none, or none is known. */
const struct obj *world_node_of(const struct world *w, const struct obj *pod);

#endif
