/*
 * Queues: who may have how much. A tree of queues, each with a quota (what it is guaranteed), a
 * limit (what it never exceeds), a weight and a priority (how it shares what is over), per
 * resource. Numbers only: it knows nothing of gangs and objects.
 *
 * The fair share of a queue is what it would have if everything were handed out by these rules now,
 * given what everybody has and wants:
 *
 *   1. everybody gets his quota, as far as he wants it; where quotas exceed what there is, in
 *      proportion to them
 *   2. what is left goes to those who want more, the highest priority first, among equals in
 *      proportion to weight, nobody beyond what he wants or his limit
 *
 * Shares of siblings add up to their parent's, as far as they want that much. A queue whose use is
 * above its share has what others may claim back; its saturation is the largest part of its share
 * that it uses, over all resources.
 */
#ifndef SCHED_MODEL_QUEUES_H
#define SCHED_MODEL_QUEUES_H

#include "base/vec.h"

enum { QUEUES_MAX = 256, QUEUE_RES_MAX = 64 };
#define QUEUE_UNLIMITED INT64_MAX

struct queue {
    int32_t parent; /* comes before it; -1: none */
    int64_t weight; /* > 0 */
    int64_t priority;
    int64_t quota[QUEUE_RES_MAX];
    int64_t limit[QUEUE_RES_MAX];
};

/* What queues use and want, children's included in their parents'. */
struct queue_share {
    int64_t used[QUEUE_RES_MAX];
    int64_t want[QUEUE_RES_MAX]; /* used, and waited for */
    int64_t fair[QUEUE_RES_MAX];
};

/* used and want of leaves are given; those of the others are summed up, wants cut at limits, and
 * shares computed. */
void queues_share(const struct queue *q, size_t n, size_t n_resources, const int64_t *capacity,
                  struct queue_share *shares);
/* Adds to the use of the queue and of all above it. */
void queues_use(const struct queue *q, struct queue_share *shares, int32_t queue, size_t resource,
                int64_t amount);
/* 1: it has just its share. */
double queues_saturation(const struct queue_share *s, size_t n_resources);
/* Uses more of some resource than its share. */
bool queues_is_above(const struct queue_share *s, size_t n_resources);
/* With so much more it would be within its share, and so would all above it. */
bool queues_is_within(const struct queue *q, const struct queue_share *shares, int32_t queue,
                      size_t n_resources, const int64_t *more);
/* The queue, or one above it, whose limit so much more would exceed; -1: none. */
int32_t queues_over_limit(const struct queue *q, const struct queue_share *shares, int32_t queue,
                          size_t n_resources, const int64_t *more, size_t *ret_resource);
/* Which leaf comes next of those that are ready: from the root on, the child least saturated; of
 * equals the higher priority, then the first. -1: none is ready. */
int32_t queues_next(const struct queue *q, size_t n, size_t n_resources,
                    const struct queue_share *shares, const bool *ready);

#endif
