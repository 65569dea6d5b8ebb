/*
 * The loop: the only place that knows time, randomness, file descriptors and threads. One thread
 * runs it and owns all mutable state of the process. Two implementations behind one interface: real
 * (epoll) and virtual (seeded, time jumps to the next timer, no threads, no descriptors), so that
 * the same program runs in production and as a reproducible simulation.
 *
 * One iteration, always in this order:
 *   timers      due ones, by due time, then by order of setting (virtual: ties in seeded order)
 *   reads       descriptors that are ready; completions of worker jobs
 *   APPLY       deferred: change state in memory
 *   SYNC        deferred: hand what accumulated to the disk worker (one group commit)
 *   PUBLISH     deferred: watch events, caches, planners
 *   WRITE       deferred: bytes to peers
 * A task deferred to a later phase runs in this iteration; to the same or an earlier one, in the
 * next. The loop sleeps only when no task waits. Nothing polls.
 *
 * Workers do what blocks: DISK runs LMDB transactions and nothing else, BLOCK name look-ups and
 * plug-ins. A job's run() is called on the worker and touches only the job and immutable documents;
 * done() is called on the loop. Jobs of one worker run and complete in the order submitted. On the
 * virtual loop both are called inline, done() after a seeded delay. A worker blocks all signals:
 * a job that starts a process gives it an empty mask.
 *
 * The structs below are embedded in their owners, zeroed or made by their _init before first use,
 * and stay where they are while set, waiting, submitted or added. Everything is called on the
 * loop's thread. Setting, cancelling, removing and freeing are allowed in any callback, one's own
 * included; loop_free and a nested loop_run are not.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/timefmt.h"

struct loop;

/* How much the wall clock must move to be said to have been set, not corrected. */
#define LOOP_WALL_STEP (250 * USEC_PER_MSEC)

enum loop_phase { LOOP_APPLY, LOOP_SYNC, LOOP_PUBLISH, LOOP_WRITE, LOOP_PHASES };
enum loop_worker { LOOP_DISK, LOOP_BLOCK, LOOP_WORKERS };

struct loop_timer {
    struct loop *loop;
    void (*fn)(struct loop_timer *t);
    usec due; /* monotonic */
    uint64_t order;
    struct heap_node node;
    struct list link; /* due in this iteration, waiting for its turn */
};

struct loop_task {
    struct list link;
    void (*fn)(struct loop_task *t);
};

struct loop_job {
    struct list link;
    void (*run)(struct loop_job *j);  /* on the worker */
    void (*done)(struct loop_job *j); /* on the loop */
    struct loop *loop;
    enum loop_worker worker;
    enum { LOOP_JOB_IDLE, LOOP_JOB_QUEUED, LOOP_JOB_RUNNING, LOOP_JOB_DONE } state; /* private */
    struct loop_timer delay; /* virtual loop */
};

/* What epoll reports, by our own names. LOOP_HANGUP (error or both directions closed) is reported
 * whatever was asked for, again and again until the descriptor is removed. */
enum { LOOP_READ = 1, LOOP_WRITE_READY = 2, LOOP_HANGUP = 4 };

struct loop_io {
    int fd;
    unsigned events; /* LOOP_READ | LOOP_WRITE_READY */
    void (*fn)(struct loop_io *io, unsigned events);
    struct loop *loop; /* NULL: not added */
    struct list link;
};

/* Told when the wall clock was set, before anything else of the iteration in which that is noticed:
 * it no longer differs from monotonic time by what it did until `since` (monotonic). Small
 * corrections are told of, too. */
struct loop_wall_watch {
    struct list link;
    void (*fn)(struct loop_wall_watch *w, usec since);
};

struct loop_signal {
    struct list link;
    int signo;
    void (*fn)(struct loop_signal *s);
    struct loop *loop;
};

/* ---- life cycle ---- */

struct loop *loop_new_real(struct err *err);
/* Starts at the given wall time; monotonic time starts at 1 s. */
struct loop *loop_new_virtual(uint64_t seed, usec wall);
/* Joins the workers (a running job is waited for). Whatever is still set, waiting, submitted or
 * added is forgotten without a call: its owner may still cancel or remove it, and frees it. */
void loop_free(struct loop *l);
/* Runs until loop_stop() and to the end of that iteration. Returns the value given there. A virtual
 * loop also ends, with -1, when nothing will ever happen again. */
int loop_run(struct loop *l);
/* Before loop_run: that run returns at once. */
void loop_stop(struct loop *l, int result);
/* Virtual only: runs until nothing is due at or before `until` (monotonic), then sets the clock to
 * it. False when more than max_iterations were needed (a livelock). loop_stop() ends it early. */
bool loop_run_until(struct loop *l, usec until, uint64_t max_iterations);
/* Virtual only: due time of the next timer (now, when a task waits), or -1 when nothing will ever
 * happen. */
usec loop_next_due(struct loop *l);
bool loop_is_virtual(const struct loop *l);

/* ---- time and randomness ---- */

/* Monotonic; for timers and time-outs. Fixed during one iteration of a virtual loop, during one
 * phase of a real one. */
usec loop_now(struct loop *l);
/* As it is this moment, also within a phase: to measure how long something took. No decision may
 * depend on it. Virtual: nothing takes time. */
usec loop_clock(struct loop *l);
/* Processor time of this thread, which does not pass while others have the processor: who is served
 * when may depend on what somebody cost, and on nothing else. Virtual: nothing costs anything. */
usec loop_cpu(struct loop *l);
/* Microseconds since 1970; for what people and objects see. It is set now and then: how long
 * something took, or has been so, is not to be told from it (clock.h). */
usec loop_wall(struct loop *l);
/* Like monotonic time, but goes on while the machine sleeps: for promises that others rely on. As
 * it is this moment. */
usec loop_boottime(struct loop *l);
void loop_watch_wall(struct loop *l, struct loop_wall_watch *w);
void loop_unwatch_wall(struct loop_wall_watch *w);
/* As if somebody had set the wall clock by so much. For simulations and tests. */
void loop_set_wall_by(struct loop *l, usec by);
/* Virtual only: as if the machine had slept for so long, since this moment. */
void loop_sleep(struct loop *l, usec duration);
/* Real: getrandom. Virtual: from the seed. */
void loop_random(struct loop *l, void *p, size_t n);
uint64_t loop_random_u64(struct loop *l);

/* ---- timers, tasks, jobs ---- */

void loop_timer_init(struct loop *l, struct loop_timer *t, void (*fn)(struct loop_timer *t));
/* Sets or moves it. A due time in the past fires in the next iteration. */
void loop_timer_set(struct loop_timer *t, usec due);
void loop_timer_cancel(struct loop_timer *t);
bool loop_timer_is_set(const struct loop_timer *t);

void loop_task_init(struct loop_task *t, void (*fn)(struct loop_task *t));
/* Does nothing when it already waits. */
void loop_defer(struct loop *l, enum loop_phase phase, struct loop_task *t);
void loop_task_cancel(struct loop_task *t);

/* The job must not be on its way already. It may be submitted again, or freed, in done(). */
void loop_submit(struct loop *l, enum loop_worker w, struct loop_job *j);
/* Takes it back: not run when it has not begun, waited for when it runs; done() is not called any
 * more. Does nothing when it is not on its way. For owners that go away. */
void loop_job_cancel(struct loop_job *j);

/* ---- descriptors and signals (real loop only) ---- */

int loop_io_add(struct loop *l, struct loop_io *io, struct err *err);
void loop_io_set(struct loop_io *io, unsigned events);
/* Before close(fd). No call comes after it, not even for what this iteration already collected. */
void loop_io_remove(struct loop_io *io);
/* The signal is blocked while it has a handler here; several handlers of one signal are all
 * called, in the order added. */
int loop_signal_add(struct loop *l, struct loop_signal *s, struct err *err);
void loop_signal_remove(struct loop_signal *s);

/* Iterations and wake-ups so far, for tests that nothing polls. */
uint64_t loop_iterations(const struct loop *l);

#endif
