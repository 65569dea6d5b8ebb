/*
 * executor: carries out accepted plans of one controller. A plan under way is a `run`; a write
 * under way is an `op`. The rules are in controller.h; how an op moves is drawn in executor.c.
 *
 * An executor owns its runs. Everything it needs from the runtime comes through executor_env, so it
 * can be tested and read without the rest.
 */
#ifndef CLIENT_EXECUTOR_H
#define CLIENT_EXECUTOR_H

#include "client/cache.h"
#include "client/disputes.h"
#include "client/failure.h"
#include "client/intent.h"
#include "client/plan.h"
#include "client/unsure.h"

struct run;
struct op;

struct executor_env {
    /* The cache that answers about this object go to; NULL: it is not cached. */
    struct cache *(*cache)(void *ctx, const struct kind *k, str ns, str name);
    /* The run is over; it is freed after this call. */
    void (*finished)(void *ctx, struct run *r);
    /* The executor has room for more writes than before. */
    void (*room)(void *ctx);
    void *ctx;
    struct intents *intents;
    struct unsure *unsure;
    struct disputes *disputes;
    usec *latency; /* of writes: a moving average, kept up */
};

struct executor {
    struct loop *loop;
    struct api *api;
    struct executor_env env;
    str manager;        /* field manager of its writes */
    unsigned limit;     /* writes in flight, at most */
    unsigned window;    /* the same, adapted: halved by 429, growing back with success */
    unsigned successes; /* since the window last grew */
    unsigned in_flight;
    unsigned patient;     /* of them */
    struct list runs;     /* in the order accepted */
    struct list awaiting; /* ops whose result the watch has yet to show */
    uint64_t writes;      /* sent so far */
};

struct run {
    struct list link;
    struct executor *executor; /* NULL: gone; only answers are awaited */
    struct arena arena;
    struct plan plan;
    void *owner; /* the caller's */

    /* The key's own object as planned; see run_is_outdated. */
    str own_uid;
    int64_t own_generation;
    bool own_deleting;

    /* How it ended. */
    bool failed;
    bool met_others; /* all that failed: writes for a version that is no longer the newest */
    bool dropped;    /* the key's own object changed; what was not sent never will be */
    usec least;      /* do not try again before this long (Retry-After) */
    struct failures failures;

    struct op *ops; /* by stage, creates last in each */
    size_t n_ops;
    size_t next;      /* the first not sent */
    size_t stage_end; /* of the stage under way */
    unsigned in_flight;
    unsigned creates;     /* in flight */
    unsigned creates_ok;  /* done in this stage */
    bool creates_refused; /* no more creates in this stage */
};

void executor_init(struct executor *x, struct loop *l, struct api *api, const char *manager,
                   unsigned limit, const struct executor_env *env);
/* Runs with answers outstanding free themselves when those have come. */
void executor_done(struct executor *x);
/* One more plan could send something at once. */
bool executor_has_room(const struct executor *x);

/* A run with an empty plan for the planner to fill; `own` may be NULL. */
struct run *run_new(const struct obj *own);
/* For one that is not given to executor_accept. */
void run_free(struct run *r);
/* The key's own object is not the one the plan was made for: another UID or generation, or a
 * deletion that was not known. */
bool run_is_outdated(const struct run *r, const struct obj *own);
/* Books a write that is about to be accepted, if it is a delete, so that the next question about
 * the world sees it. Every write of a run given to executor_accept was booked so. */
void executor_book(struct executor *x, const struct plan_write *w);
/* Starts sending; takes the run and its bookings over. It must have writes. */
void executor_accept(struct executor *x, struct run *r);
/* The cache has this object now: whoever waited for it to show a write need not ask. Cheap. */
void executor_observe(struct executor *x, const struct obj *o);
/* All writes of the stages up to this one succeeded; of one that ended. */
bool run_has_done(const struct run *r, unsigned stage);
/* Drops what was not sent. The run ends, perhaps within this call, when what is in flight ended. */
void run_drop(struct run *r);

#endif
