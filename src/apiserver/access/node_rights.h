/*
 * Nodes as users: a kubelet is `system:node:NAME` in the group `system:nodes`, and may do for its
 * own node and the pods bound to it what Kubernetes' Node authorizer allows: node_rights.c has the
 * table. Everything else about such a user is RBAC, as for everybody.
 *
 * A Secret, ConfigMap, claim or service account is a node's business while a pod that is bound to
 * it refers to it (pod_refs.c). Which pods are bound to a node is found once, when that node first
 * asks, and kept up to date from then on; nodes that never ask (simulated ones) cost nothing.
 */
#ifndef APISERVER_ACCESS_NODE_RIGHTS_H
#define APISERVER_ACCESS_NODE_RIGHTS_H

#include "apiserver/server.h"

#define NODE_MIRROR "kubernetes.io/config.mirror"

struct nodes;

struct nodes *nodes_new(struct store *s);
void nodes_free(struct nodes *n);
void nodes_event(struct nodes *n, const struct store_event *e);
/* Beside what roles allow. */
bool nodes_allow(struct nodes *n, const struct user *u, const struct access *x);

/* The user is in system:nodes; *ret_name is empty when its name is not that of a node. */
bool user_is_node(const struct user *u, str *ret_name);
str node_of_pod(const struct obj *pod);
/* NULL, or why this node may not have the token that is asked for (a TokenRequest): only for pods
 * bound to it, named with their UID, for an audience that the pod asks for. */
struct status *node_token_status(struct apiserver *a, struct arena *arena, const struct user *u,
                                 str ns, str account, jval spec);

/* ---- pod_refs.c: what a pod refers to; pure ---- */

enum pod_ref { POD_REF_SECRET, POD_REF_CONFIG_MAP, POD_REF_CLAIM, POD_REF_RESOURCE_CLAIM };

/* A pod that a node made for a file of its own refers to nothing. */
bool pod_refers(const struct obj *pod, enum pod_ref what, str name);
/* The spec refers to anything of that sort. */
bool pod_spec_refers(jval spec, enum pod_ref what);

#endif
