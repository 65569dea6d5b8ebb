/* A round of the scheduler, shared by its parts (sched.c: who is placed; preempt.c: who makes
 * room). Nobody else includes this. */
#ifndef SCHED_MODEL_ROUND_H
#define SCHED_MODEL_ROUND_H

#include "sched/model/ask.h"

/* The work of one call: pods placed and domains tried count one each, the rest in proportion. */
#define ROUND_BUDGET 4096
enum {
    WORK_LOOK = 2,      /* at a gang */
    WORK_WRITE = 8,     /* that is planned */
    WORK_TOLD = 6,      /* a gang that is told why it waits, whether that is news or not */
    WORK_MEMBERS = 16,  /* pods of a gang, or nodes, that are looked at, for one */
    WORK_COUNTED = 128, /* nodes on which a class counts its places, for one */
};
/* Classes that remember how many of them fit each node, if they were not asked for lately. */
enum { CLASSES_COUNTED = 512 };
#define HOLD_AFTER (30 * USEC_PER_SEC)
#define ROUND_SEEKS 4
/* A gang for whose sake nobody could be asked tries again after so long at the earliest. */
#define SEEK_PAUSE (10 * USEC_PER_SEC)
#define QUEUES_WAIT (2 * USEC_PER_SEC)
/* How long pods that were asked to go may take; then they are asked no more. */
#define TRIM_PATIENCE (30 * USEC_PER_SEC)
/* And not again for so long. */
#define TRIM_PAUSE (300 * USEC_PER_SEC)

struct refusal;

/* What a gang that waits could use of what is free; see yield.h. */
struct yield_claim {
    struct tgang *gang;
    int32_t pods;
    struct core_result room;
    bool taken;
};

struct round {
    const struct world *world;
    struct plan *plan;
    struct tables *tables;
    VEC(struct tgang *) gangs; /* in order */
    size_t at;                 /* how many were looked at */
    size_t *heads, *next;      /* by queue, by gang: see queue_quota.c */
    VEC(struct ask *) surplus;
    bool rest; /* only those that were put off have their turn */
    bool more; /* only minimums have their turn; others wait for what is beyond theirs */
    VEC(struct refusal) refusals; /* see refusals.h */
    size_t budget;
    unsigned seeks; /* how often room may yet be sought: it is dear */
    bool lowest_known;
    int64_t lowest; /* priority of a gang on nodes */
    bool releasing_known;
    VEC(struct core_op) releasing;  /* see preempt_releasing */
    VEC(struct tgang *) asked;      /* to go whole, in this round */
    VEC(struct yield_claim) claims; /* see yield.h */
    bool claims_known, overruns;    /* overruns: the surplus being placed may take some of them */
    bool claims_early;              /* they are those of before minimums were placed */
    int64_t left;                   /* pods that the surplus being placed leaves room for */
};

/* Steady time, like all times in the tables: who waits for what since when. */
static inline usec round_now(const struct round *r)
{
    return world_steady(r->world);
}

/* There is to be a round then. */
static inline void round_look(const struct round *r, usec at)
{
    plan_look_again(r->plan, at - round_now(r));
}

static inline void round_spend(struct round *r, size_t work)
{
    r->budget -= MIN(r->budget, work);
}

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
