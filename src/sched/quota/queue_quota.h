/*
 * Queues in the scheduler: which gang is in which, what each uses, who is next, who may claim what
 * back. Without a configuration all of it costs nothing and changes nothing.
 */
#ifndef SCHED_QUOTA_QUEUE_QUOTA_H
#define SCHED_QUOTA_QUEUE_QUOTA_H

#include "sched/model/queue_usage.h"
#include "sched/model/round.h"

/* The ConfigMap changed; the handler of its cache. */
void quota_on_config(void *sched, const struct obj *old, const struct obj *new);
/* An event when the configuration is wrong, once. */
void quota_warn(struct round *r);

/* Shares, once in a round. */
void quota_begin(struct round *r);
/* Cells: whole domains that are kept for queues that were promised some. Chosen once in a round;
 * those that are another queue's are closed while a gang is placed (NULL: all are open again). */
void quota_choose_cells(struct round *r);
void quota_open_for(struct tables *t, struct tgang *g);
/* The queue is the other, or below it. */
bool quota_is_below(const struct tables *t, int32_t queue, int32_t above);
/* The gangs of the round are in order: those of each queue one after another. */
void quota_order(struct round *r);
/* The gang to be placed next; NULL: all were. */
struct tgang *quota_next(struct round *r);
/* What the question asks for of each resource, added; sums of absurd amounts stay in the range. */
void quota_sum_needs(const struct tables *t, const struct ask *q, int64_t *ret);
/* False, with what is wrong in the question: the queue is none, or has its limit. */
bool quota_admits(struct round *r, struct ask *q);
/* How many of so many pods of the class the queue's limit leaves room for. */
int32_t quota_room(const struct tables *t, struct tgang *g, int32_t cls, int32_t count);
/* The gang would be within its queue's share, so that it may claim back what others have above
 * theirs. */
bool quota_may_claim(const struct round *r, const struct ask *q);
/* Leaves in the list (gangs of other queues, in any order) those that may be claimed back from: as
 * long as their queue is above its share without those before them. */
void quota_keep_claimable(struct round *r, const struct tgang *for_whom, struct tgang **gangs,
                          size_t *n);
/* How long gangs of its queue run before they may be asked to make room. */
usec quota_min_runtime(const struct tables *t, struct tgang *g);
str quota_name(const struct tables *t, int32_t queue);

#endif
