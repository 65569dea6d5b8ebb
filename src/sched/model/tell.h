/*
 * What the scheduler says about gangs and pods, as writes of a plan; nothing that is said already.
 *
 *   PodGang   conditions Unschedulable, DisruptionTarget, InvalidPodReference, TopologyViolated,
 *             placementScore, applied together. Beside DisruptionTarget, in the same write, the
 * pods that must go (disruptedPods): by UID, so that whoever carries it out never takes what stands
 * for them later, in whatever order he hears of all that. Of a gang that has more than
 * DISRUPTED_MAX on nodes none are named: those are meant that are there. Pod       condition
 * PodScheduled=False with the cause, and one Event Unschedulable whose source is the scheduler the
 * pod named. The cause has no numbers in it, so that it changes only when something else stands in
 * the way.
 */
#ifndef SCHED_MODEL_TELL_H
#define SCHED_MODEL_TELL_H

#include "sched/model/ask.h"

/* Why a gang waits: the whole story for the gang, the cause for its pods. */
struct reasons {
    str story;
    str cause;
};

/* What is said of a gang, one condition each. */
enum { WORD_WAITS, WORD_DISRUPT, WORD_MEMBERS, WORD_TOPOLOGY, N_WORDS };

struct word {
    bool known; /* else what was said before stands */
    bool is;
    const char *reason; /* NULL: the usual one */
    str why;            /* empty, when it is not so: the usual words */
};

struct verdict {
    struct word words[N_WORDS];
    jval facts; /* of WORD_WAITS: status.unschedulable, see why.h */
    const struct tgang
        *goes;    /* of WORD_DISRUPT: its pods on nodes are meant; NULL: none is named */
    double score; /* below 0: not said */
    bool kept_known;
    jval kept; /* status.reservations */
};

enum { DISRUPTED_MAX = 2000 };

/* It is said now. */
bool gang_says(const struct obj *gang, int word);
/* Must make room, wholly or in part. */
bool gang_is_marked(const struct obj *gang);
/* In part: pods above its minimum, those that say so. */
bool gang_is_trimmed(const struct obj *gang);
bool pod_is_trimmed(const struct obj *pod);
bool gang_complains(const struct obj *gang);
/* Since when; 0: it is not said. */
usec gang_said_since(const struct world *w, const struct obj *gang, int word);
/* Since when it, or a pod that belongs to none, cannot be placed; 0: it was not said. */
usec gang_waits_since(const struct world *w, const struct tgang *g);

/* The plan says something of it already: what is said in a second write takes that back. */
bool tell_is_told(const struct plan *p, const struct obj *gang);
void tell_gang(struct plan *p, const struct world *w, const struct obj *gang,
               const struct verdict *v);
/* The pod must go for the sake of another gang, or need not any more. */
void tell_trim(struct plan *p, const struct world *w, const struct obj *pod, bool is, str why);
void tell_pod(struct plan *p, const struct world *w, const struct obj *pod, str cause);
/* Room is being made for the pod on that node (status.nominatedNodeName); none: not any more, if we
 * said so. Other schedulers and autoscalers read it, and leave the room alone. */
void tell_nominated(struct plan *p, const struct obj *pod, str node);

/* namespace/name of a gang, or of a pod that belongs to none. */
const char *why_name(const struct tgang *g);

#endif
