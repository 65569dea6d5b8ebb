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
 * Which terms there are is part of the shape of the tables: a pod that brings a new one makes them
 * be counted anew. Only TERMS_MAX of them are counted; a pod that says more, or that somebody keeps
 * away from himself by one that is not counted, is refused.
 */
#ifndef SCHED_TERMS_H
#define SCHED_TERMS_H

#include "sched/tables.h"

enum { TERMS_MAX = 1024, TERMS_KEPT = 16384 };

/* Adds what the pod says that nobody said before; true when there was any. */
bool terms_collect(struct tables *t, const struct obj *pod);
/* After the trees; adds trees for keys that none has. */
void terms_place(struct tables *t);

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
