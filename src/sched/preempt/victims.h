/*
 * Who may be asked to make room, and what it costs.
 *
 *   who    gangs of lower priority of the same queue, and those of other queues that have more than
 *          their share (queue_quota.h). Not: gangs that say so (the label or annotation
 *          kai.scheduler/preemptibility with the value non-preemptible, on the PodGang or on its
 *          pods); gangs that have not run for their queue's minRuntime; gangs that were evicted
 *          already less than EVICT_PAUSE ago.
 *   cost   in this order: replicas of sets that serve now and would not (the floor of the
 *          availability ledger), gangs lost, the sum of their priorities, pods lost, and what they
 *          have worked: seconds times accelerators. A gang without which others are of no use
 *          counts with those: the scaled gangs of a base gang, the rest of an anchor's replica.
 */
#ifndef SCHED_PREEMPT_VICTIMS_H
#define SCHED_PREEMPT_VICTIMS_H

#include "sched/model/fixed.h"
#include "sched/model/round.h"

#define EVICT_PAUSE (60 * USEC_PER_SEC)

struct rival {
    struct tgang *gang, *lead; /* lead: of the list, it is nothing without it; NULL: none is */
    struct core_result holds;
    bool serves;   /* its replica is of use, and is not without it */
    int64_t gangs; /* it and those that are nothing without it */
    int64_t pods;
    int64_t work;
};

struct rivals {
    VEC(struct rival) list; /* those to be spared first come last */
    VEC(struct core_trim) trims;
    VEC(struct tpod *) trim_pods; /* of the same */
    VEC(int32_t) spare;           /* by group */
    usec until;                   /* when one who is protected now is so no more; 0: none is */
};

/* Who may be asked for the gang's sake; or everybody, as if all might leave. */
void victims_find(struct round *r, const struct ask *q, bool any, struct rivals *ret);
/* Pods above the minimums of those found. */
void victims_find_spare(struct round *r, struct rivals *rs);
void victims_done(struct rivals *rs);
/* For core_make_room, in the same order; in the arena. */
struct core_victim *victims_list(const struct rivals *rs, struct arena *a);

/* Ours, of a PodGang, and not protected. Sets *until to the time at which it will not be, if that
 * is sooner. */
bool victim_may_be_asked(const struct round *r, struct tgang *g, usec *until);

#endif
