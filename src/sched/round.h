/* A round of the scheduler, shared by its parts (sched.c: who is placed; preempt.c: who makes
 * room). Nobody else includes this. */
#ifndef SCHED_ROUND_H
#define SCHED_ROUND_H

#include "sched/ask.h"

/* Pods placed and domains tried in one call. */
#define ROUND_BUDGET 4096
#define HOLD_AFTER (30 * USEC_PER_SEC)
#define ROUND_SEEKS 4
/* A gang for whose sake nobody could be asked tries again after so long at the earliest. */
#define SEEK_PAUSE (10 * USEC_PER_SEC)
#define QUEUES_WAIT (2 * USEC_PER_SEC)
/* How long pods that were asked to go may take; then they are asked no more. */
#define TRIM_PATIENCE (30 * USEC_PER_SEC)
/* And not again for so long. */
#define TRIM_PAUSE (300 * USEC_PER_SEC)

struct round {
    const struct world *world;
    struct plan *plan;
    struct tables *tables;
    VEC(struct tgang *) gangs; /* in order */
    size_t at;                 /* how many were looked at */
    size_t *heads, *next;      /* by queue, by gang: see quota.c */
    VEC(struct ask *) surplus;
    size_t budget;
    unsigned seeks; /* how often room may yet be sought: it is dear */
    bool lowest_known;
    int64_t lowest; /* priority of a gang on nodes */
    bool releasing_known;
    VEC(struct core_op) releasing; /* see preempt_releasing */
    VEC(struct tgang *) asked;     /* to go whole, in this round */
};

/* It does not fit now: may it have room of others, or keep what becomes free? */
void preempt_seek(struct round *r, struct ask *q);
/* Its queue has its limit: may less important gangs of it go? */
void preempt_in_queue(struct round *r, struct ask *q);
/* The gang was asked to make room: true while that goes on. */
bool preempt_goes_on(struct round *r, struct tgang *g);
/* Once in a round: pods that were asked to go for too long are looked at. */
void preempt_review(struct round *r);
/* At its end: gangs that were asked for the sake of somebody who needs it no more may stay. */
void preempt_end(struct round *r);
/* What gangs that must go, and pods that are going, still hold. */
const struct core_op *preempt_releasing(struct round *r, size_t *ret_n);

#endif
