/*
 * The operator's planners over a test world, without queue and executor: each key is planned in
 * turn and its plan carried out, until nobody has anything to do. Pods can be brought to life as a
 * scheduler and a node would.
 */
#ifndef OPERATOR_TEST_RING_H
#define OPERATOR_TEST_RING_H

#include "grove/test-world.h"

struct ring {
    struct test_world *world;
};

struct ring ring_new(void);
void ring_free(struct ring *r);

struct plan *ring_plan_pcs(struct ring *r, const char *name);
struct plan *ring_plan_pcsg(struct ring *r, const char *name);
struct plan *ring_plan_pclq(struct ring *r, const char *name);
struct plan *ring_plan_gang(struct ring *r, const char *name);

/* Plans and carries out every key there is, again and again, with garbage collection; fails the
 * test when that does not come to an end. The number of writes. */
size_t ring_settle(struct ring *r);
/* Pods without gates get a node and run; those on a node that are being deleted go. */
void ring_run_pods(struct ring *r);
/* Both, until all is quiet. */
void ring_live(struct ring *r);

/* Compares a document with YAML text and shows the differences. */
void check_yaml(jval got, const char *yaml);
/* The names of all objects of a kind, each followed by a space. */
void check_names(struct ring *r, const struct kind *k, const char *want);

/* The worked example of the contract: cliques fe (3 pods), pl (1), pw (4); group pf of pl and pw, 3
 * replicas, 1 at least. */
#define SVC                                                                                    \
    "apiVersion: grove.io/v1alpha1\n"                                                          \
    "kind: PodCliqueSet\n"                                                                     \
    "metadata: {name: svc, uid: svc-uid, labels: {team: blue, grove.io/mine: x}}\n"            \
    "spec:\n"                                                                                  \
    "  replicas: 2\n"                                                                          \
    "  template:\n"                                                                            \
    "    cliques:\n"                                                                           \
    "    - name: fe\n"                                                                         \
    "      labels: {tier: front, app.kubernetes.io/part-of: mine}\n"                           \
    "      annotations: {note: hello, grove.io/topology-name: x}\n"                            \
    "      spec: {replicas: 3, minAvailable: 2,\n"                                             \
    "             podSpec: {containers: [{name: m, image: i, env: [{name: A, value: b}]}]}}\n" \
    "    - name: pl\n"                                                                         \
    "      spec: {podSpec: {containers: [{name: m, image: i}]}}\n"                             \
    "    - name: pw\n"                                                                         \
    "      spec: {replicas: 4, podSpec: {containers: [{name: m, image: i}]}}\n"                \
    "    podCliqueScalingGroups:\n"                                                            \
    "    - {name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1, annotations: {k: v}}\n"

#endif
