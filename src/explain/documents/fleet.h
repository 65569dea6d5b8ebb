/*
 * The nodes of a cluster and what runs on them, as a document: `grove fleet -o json` prints it and
 * the page draws it. Pure functions of objects, node by node, so that a change of one pod costs one
 * node.
 *
 *   {"name": "n1", "zone": "z1", "block": "b1", "rack": "r1", "ready": true, "cordoned": false,
 *    "resource": "nvidia.com/gpu", "devices": 8, "used": 3, "reserved": 1, "others": 2,
 *    "pods": [{"name", "namespace", "set", "gang", "role", "devices", "state"}]}
 *
 * devices are whole units of the resource that pods compete for: the node's first extended
 * resource. Pods that hold none of it and belong to no set are only counted, in "others".
 */
#ifndef EXPLAIN_DOCUMENTS_FLEET_H
#define EXPLAIN_DOCUMENTS_FLEET_H

#include "explain/documents/picture.h"

/* A node is drawn with so many pods at most; the rest are counted in "others". */
enum { FLEET_MAX_PODS = 256 };

/* The pods are those of the node; of gangs those that keep room there count. */
void fleet_put_node(struct jw *w, const struct obj *node, const struct session_list *pods,
                    const struct session_list *gangs, struct arena *a);
/* Whole: {"nodes": [...]}, from the parts NODES and ALL_PODS, and GANGS where it has them. */
struct doc *fleet_build(const struct picture *p, struct arena *a);
/* Nodes on which room is kept for this gang, at most max of them. */
void fleet_reserved_nodes(const struct obj *gang, str *nodes, size_t max, size_t *n);

#endif
