/*
 * Between loop.c, which holds what both loops share (timers, tasks, the order of an iteration), and
 * the two implementations of time, sleep, workers and descriptors. For the files here only.
 */
#ifndef LOOP_IMPL_H
#define LOOP_IMPL_H

#include "loop/loop.h"

#define LOOP_FOREVER INT64_MAX

struct loop_ops {
    /* Frees what the implementation added, not the loop itself. */
    void (*done)(struct loop *l);
    usec (*now)(struct loop *l);
    usec (*cpu)(struct loop *l);
    usec (*wall)(struct loop *l);
    usec (*boottime)(struct loop *l);
    /* The kernel said in this iteration that the wall clock was set; NULL: it never does. */
    bool (*wall_was_set)(struct loop *l);
    void (*random)(struct loop *l, void *p, size_t n);
    /* Rank among timers of one due time. */
    uint64_t (*order)(struct loop *l);
    /* Returns at `until` (monotonic) or before, when there is something to read. */
    void (*wait)(struct loop *l, usec until);
    /* Calls the handlers of what wait() found. */
    void (*reads)(struct loop *l);
    void (*submit)(struct loop *l, struct loop_job *j);
    void (*job_cancel)(struct loop_job *j);

    /* NULL on the virtual loop. */
    int (*io_add)(struct loop *l, struct loop_io *io, struct err *err);
    void (*io_set)(struct loop_io *io);
    void (*io_remove)(struct loop_io *io);
    int (*signal_add)(struct loop *l, struct loop_signal *s, struct err *err);
    void (*signal_remove)(struct loop_signal *s);
};

/* First member of each implementation's struct. */
struct loop {
    const struct loop_ops *ops;
    bool is_virtual;
    bool iterating;
    bool stopping;
    int result;
    usec now;
    uint64_t iterations;
    struct heap timers;
    struct list tasks[LOOP_PHASES];
    usec offset;    /* wall − monotonic, as last noticed */
    usec offset_at; /* monotonic: it was so then */
    usec set_by;    /* loop_set_wall_by */
    usec slept;     /* loop_sleep */
    struct list wall_watches;
};

void loop_init(struct loop *l, const struct loop_ops *ops);
/* Moves all nodes over; `to` need not be initialised. */
void loop_take_list(struct list *from, struct list *to);
/* Calls done(); the job is its owner's again before that. */
void loop_job_complete(struct loop_job *j);

/* ---- hugeheap.c: for the real loop ---- */

struct huge_heap {
    uintptr_t seen;  /* where the heap ended last time */
    uintptr_t end;   /* what is below has been asked for */
    uintptr_t least; /* what is below stays as it is */
};

void huge_heap_init(struct huge_heap *h);
/* Once per iteration; cheap. */
void huge_heap_follow(struct huge_heap *h);

#endif
