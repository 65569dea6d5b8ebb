/*
 * What pods say about each other, as terms of the core: required pod affinity and anti-affinity,
 * topology spread, host ports. A term counts pods per domain of its topology key.
 *
 *   match    pods that a selector speaks of: who is to be kept away from them or near them, or
 *            spread among them, asks it
 *   holder   pods that have an anti-affinity: whoever its selector speaks of keeps away from them
 *   port     pods that use a port of their host
 *
 * Which terms there are is part of the shape of the tables: a pod that brings a new one makes them
 * be counted anew.
 */
#ifndef SCHED_TERMS_H
#define SCHED_TERMS_H

#include "sched/tables.h"

enum { TERMS_MAX = 1024, TERMS_PER_POD = 32 };

/* Adds what the pod says that nobody said before; true when there was any. */
bool terms_collect(struct tables *t, const struct obj *pod);
/* After the trees; adds trees for keys that none has. */
void terms_place(struct tables *t);

/* A pod's part in the terms. */
struct term_use {
    int32_t counts[TERMS_PER_POD * 2], avoids[TERMS_PER_POD * 2], wants[TERMS_PER_POD];
    struct core_spread spreads[TERMS_PER_POD];
    size_t n_counts, n_avoids, n_wants, n_spreads;
    bool alone;  /* no two of its kind on one node */
    str refused; /* says something that cannot be judged */
};
void terms_use(const struct tables *t, const struct obj *pod, struct term_use *ret);
/* The part of a class's key. */
void terms_key(const struct tables *t, const struct obj *pod, struct strbuf *out);

#endif
