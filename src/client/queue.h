/*
 * queue: which keys a controller has to look at, first come first served. client-go's sets: a key
 * is dirty (to be looked at), processing (being looked at), or both (to be looked at again
 * afterwards); it is never handed out twice at a time.
 *
 * Per key there are up to two due times behind one timer:
 *   retry  after a failure, 5 ms doubling to 30 s with jitter. Until then the key is not handed
 * out, however often it becomes dirty: our own half-done writes make it dirty, and a failing key
 *          must not turn into a busy loop. queue_expedite() (its own spec changed) ends the wait.
 *   look   when a plan asked to look again.
 * A key that is neither dirty, processing, failing nor due takes no memory.
 *
 * Runs on the loop; owned by its controller.
 */
#ifndef CLIENT_QUEUE_H
#define CLIENT_QUEUE_H

#include "base/tree.h"
#include "kube/kinds.h"
#include "loop/loop.h"

#define QUEUE_RETRY_BASE (5 * USEC_PER_MSEC)
#define QUEUE_RETRY_MAX (30 * USEC_PER_SEC)

struct queue_stats {
    uint64_t adds; /* keys that became ready */
    uint64_t pops;
    uint64_t failures;
    usec wait_sum; /* from ready to handed out */
    usec wait_max;
};

struct queue {
    struct loop *loop;
    struct tree items;
    struct list ready;
    struct list resting; /* idle, kept only for their `counts_at` */
    size_t n_ready, n_processing, n_retrying;
    void (*wake)(void *ctx); /* something became ready */
    void *ctx;
    struct queue_stats stats;
};

struct queue_item {
    struct tree_node node;
    struct list link; /* ready or resting */
    struct queue *queue;
    const struct kind *kind;
    str ns, name;
    bool dirty, processing;
    unsigned failures;
    usec retry_at, look_at; /* monotonic; 0: none */
    usec ready_at;
    usec counts_at; /* last count-only status write; see executor.c */
    void *run;      /* the plan under way, the controller's */
    struct loop_timer timer;
    char text[];
};

void queue_init(struct queue *q, struct loop *l, void (*wake)(void *ctx), void *ctx);
void queue_done(struct queue *q);

void queue_add(struct queue *q, const struct kind *k, str ns, str name);
struct queue_item *queue_find(const struct queue *q, const struct kind *k, str ns, str name);
/* The next one to look at, now processing; NULL when none is ready. */
struct queue_item *queue_pop(struct queue *q);
/* Exactly one of the two ends processing. The item must not be touched after it. look_at:
 * monotonic, 0: only when something changes. */
void queue_finish(struct queue_item *it, usec look_at);
/* Tried again after the back-off, not before `least` from now. */
void queue_fail(struct queue_item *it, usec least);
/* Dirty, without back-off, failures forgotten. */
void queue_expedite(struct queue_item *it);
/* Nothing ready, nothing processing, nothing waiting to be retried (looks to come do not count). */
bool queue_is_idle(const struct queue *q);

#endif
