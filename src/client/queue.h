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
 * And with a min_interval a pace: a key is handed out at most once in that time, a dirty one waits
 * for its turn, unless its own spec changed (queue_unpace).
 * A key that is neither dirty, processing, failing, due nor lately looked at takes no memory.
 *
 * Runs on the loop; owned by its controller.
 */
#ifndef CLIENT_QUEUE_H
#define CLIENT_QUEUE_H

#include "base/list.h"
#include "base/map.h"
#include "kube/tables/kinds.h"
#include "loop/loop.h"

#define QUEUE_RETRY_BASE (5 * USEC_PER_MSEC)
#define QUEUE_RETRY_MAX (30 * USEC_PER_SEC)
#define QUEUE_CONFLICT_MAX (1 * USEC_PER_SEC)

struct failures;

struct queue_stats {
    uint64_t adds; /* keys that became ready */
    uint64_t pops;
    uint64_t failures;
    usec wait_sum; /* from ready to handed out */
    usec wait_max;
    usec wait_last; /* of the one handed out last */
};

struct queue {
    struct loop *loop;
    struct map items; /* by kind, namespace and name */
    struct list ready;
    struct list resting; /* idle, kept only for their `counts_at` and `planned_at` */
    struct list patient; /* those that have something to tell when others are done */
    size_t n_ready, n_processing, n_retrying, n_paced;
    usec min_interval;       /* set before the first key */
    void (*wake)(void *ctx); /* something became ready */
    void *ctx;
    struct queue_stats stats;
};

struct queue_item {
    struct list link; /* ready, resting or patient */
    struct queue *queue;
    const struct kind *kind;
    str ns, name;
    bool dirty, processing;
    bool paced; /* dirty, and waiting for min_interval to pass */
    unsigned failures;
    usec retry_at, look_at; /* monotonic; 0: none */
    usec ready_at;
    usec planned_at;         /* handed out, 0: may be at once */
    usec counts_at;          /* last count-only status write; see executor.c */
    usec patient_since;      /* a write of it waits for others; 0: none does */
    usec told_until;         /* no patient write before; 0: at once */
    void *run;               /* the plan under way, the controller's */
    struct failures *failed; /* what its last writes failed with; freed with the item */
    struct loop_timer timer;
    size_t key_len;
    char key[]; /* see queue.c */
};

void queue_init(struct queue *q, struct loop *l, void (*wake)(void *ctx), void *ctx);
void queue_done(struct queue *q);

void queue_add(struct queue *q, const struct kind *k, str ns, str name);
struct queue_item *queue_find(const struct queue *q, const struct kind *k, str ns, str name);
/* The next one to look at, now processing; NULL when none is ready. */
struct queue_item *queue_pop(struct queue *q);
/* Since when the next one has been ready; there is one. */
usec queue_ready_since(const struct queue *q);
/* Exactly one of the three ends processing. The item must not be touched after it. look_at:
 * monotonic, 0: only when something changes. */
void queue_finish(struct queue_item *it, usec look_at);
/* Tried again after the back-off, not before `least` from now. */
void queue_fail(struct queue_item *it, usec least);
/* The same when all that failed is that somebody else wrote in between: what is true now is known,
 * so that the wait grows to QUEUE_CONFLICT_MAX only. */
void queue_conflict(struct queue_item *it, usec least);
/* Not a failure, but not all that was wanted: looked at when something changes, and otherwise after
 * a pause that doubles from base to max each time in a row, or at look_at when that is earlier. */
void queue_defer(struct queue_item *it, usec base, usec max, usec look_at);
/* The next look does not wait for min_interval. An item that is not processing may be freed. */
void queue_unpace(struct queue_item *it);
/* Dirty, without back-off or pace, failures forgotten. */
void queue_expedite(struct queue_item *it);
/* Looks that a plan asked for are due at once: by what it counted, time did not pass as it said. */
void queue_look_now(struct queue *q);
/* Those that waited for others need not any more. */
void queue_calm(struct queue *q);
/* Nothing ready, nothing processing, nothing dirty that waits (looks to come do not count). */
bool queue_is_idle(const struct queue *q);

#endif
