/*
 * What pods say about each other, as terms of the core: pod affinity and anti-affinity, topology
 * spread, ports of hosts, volumes for one pod only. A term counts pods per domain of its topology
 * key.
 *
 *   m  match    pods that a selector speaks of: who keeps away from them asks it, or who wishes to
 *               be near or far
 *   h  holder   pods that have an anti-affinity: whoever its selector speaks of keeps away from
 *               them
 *   n  near     pods that all required affinities of a pod speak of
 *   s  spread   pods that a spread constraint speaks of, on nodes that count for it
 *   p  port     pods that use a port of their host
 *   v  volume   pods that use a claim which is for one pod only
 *
 * A pod that says what nobody said before brings a new term. Pods that were there already and that
 * it speaks of are of another class from then on: they are found in a pass over all pods that goes
 * on over several rounds if they are many, and nothing is placed before its end. Which terms speak
 * of a pod is found by its labels: most selectors want one to have a certain value.
 *
 * A term that nobody says any more is kept for the next who does, until too many are: then all is
 * counted anew. TERMS_MAX may be said at a time. A pod that waits and says one more is refused
 * until another is said no more, and so is one that names a topology key too many (CORE_TREES_MAX);
 * others go on. Pods on nodes are counted beyond that, up to four times as many.
 *
 * One pod may say TERMS_POD_MAX things: affinities, constraints, ports of its host, volumes. One
 * that waits and says more is refused for good and none of it is heard; of one on a node those that
 * stand first are counted. What a pod says costs what its text does: where all of it matters to
 * each part (which pods all affinities speak of, which nodes all constraints count on) it is read
 * once for all parts.
 */
#ifndef SCHED_MODEL_TERMS_H
#define SCHED_MODEL_TERMS_H

#include "sched/model/tables.h"

enum { TERMS_MAX = 16384, TERMS_IDLE = 256, TERMS_POD_MAX = 256 };

void terms_init(struct tables *t);
void terms_done(struct tables *t);
/* What the pod says is said from now on, as long as it is not finished; p->said. */
void terms_join(struct tables *t, struct tpod *p);
void terms_leave(struct tables *t, struct tpod *p);
/* Before there are any pods: terms that they will bring need no pass then. */
void terms_expect(struct tables *t, const struct obj *pod);
/* New terms count pods that were there before. False: the budget ended first; the next call goes
 * on. */
bool terms_settle(struct tables *t, size_t *budget);
/* Once in a round: pods that said too much may not do so any more. */
void terms_retry(struct tables *t);
/* The pod is finished: it says nothing any more. */
bool terms_are_over(const struct obj *pod);

/* A pod's part in the terms. */
struct term_use {
    VEC(int32_t) counts;
    VEC(int32_t) avoids;
    VEC(int32_t) wants;
    VEC(struct core_spread) spreads;
    VEC(struct core_wish) wishes;
    bool alone;  /* no two of its kind on one node */
    str refused; /* says something that cannot be judged */
};
void terms_use(struct tables *t, const struct obj *pod, struct term_use *ret);
void terms_use_done(struct term_use *u);
/* The part of a class's key. */
void terms_key(struct tables *t, const struct obj *pod, struct strbuf *out);

/* The pod's labels changed so that other terms speak of it. */
bool terms_differ(const struct tables *t, const struct obj *old, const struct obj *new);
/* Some term counts on the node that did not, or no longer does. */
bool terms_node_differs(const struct tables *t, int32_t node);
/* Labels of namespaces decide whom a term speaks of. */
bool terms_read_namespaces(const struct tables *t);

#endif
