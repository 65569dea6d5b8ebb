/*
 * What the scheduler says about gangs and pods, as writes of a plan; nothing that is said already.
 *
 *   PodGang   conditions Unschedulable and DisruptionTarget, placementScore, applied together
 *   Pod       condition PodScheduled=False with the cause, and one Event Unschedulable whose source
 *             is the scheduler the pod named. The cause has no numbers in it, so that it changes
 *             only when something else stands in the way.
 */
#ifndef SCHED_TELL_H
#define SCHED_TELL_H

#include "sched/ask.h"

/* Why a gang waits: the whole story for the gang, the cause for its pods. */
struct reasons {
    str story;
    str cause;
};

struct verdict {
    bool waits;
    str why;
    double score; /* below 0: not said */
    bool disrupt; /* must make room */
    str disrupt_why;
};

bool gang_is_marked(const struct obj *gang);
bool gang_complains(const struct obj *gang);
/* Since when it cannot be placed; 0: it was not said. */
usec gang_waits_since(const struct obj *gang);

/* A certificate in words (why.c): which part of the gang, how many pods, in what; the nearest
 * domains, what each lacks, and who holds it there. */
void tell_reasons(const struct ask *q, struct tables *t, const struct core_cert *cert,
                  struct arena *a, struct reasons *ret);
void tell_gang(struct plan *p, const struct world *w, const struct obj *gang,
               const struct verdict *v);
void tell_pod(struct plan *p, const struct world *w, const struct obj *pod, str cause);

#endif
