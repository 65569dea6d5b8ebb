/*
 * The virtual loop: a clock that jumps to the next timer, a seeded generator, no threads and no
 * descriptors. A run is a function of its seed and of the program's calls, byte for byte.
 *
 * Two generators are split from the seed: one answers loop_random(), the other decides what a real
 * machine would leave to chance (order of timers due together, how long a job takes, whether its
 * effect comes early or late). So a program that draws one number more does not thereby meet
 * another machine.
 *
 * A worker is a queue of which the first job is "on the worker" until its delay timer fires. That
 * job's run() is called when it gets there or when it leaves, by the toss of a coin: a simulated
 * crash in between must be survived with and without the effect on disk. Its done() is called in
 * the reads stage, as on the real loop.
 */
#include "loop/impl.h"

#define START (1 * USEC_PER_SEC)
#define JOB_MIN_USEC 100
#define JOB_MAX_USEC 2000

struct vloop {
    struct loop loop;
    usec wall; /* at START */
    struct rng random;
    struct rng chance;
    struct list queue[LOOP_WORKERS];
    struct list completed;
};

static struct vloop *vloop_of(struct loop *l)
{
    return container_of(l, struct vloop, loop);
}

/* ---- time and randomness ---- */

static usec virtual_now(struct loop *l)
{
    return l->now;
}

static usec virtual_cpu(struct loop *l)
{
    return 0;
}

static usec virtual_wall(struct loop *l)
{
    return vloop_of(l)->wall + (l->now - START);
}

static usec virtual_boottime(struct loop *l)
{
    return l->now + l->slept;
}

static void virtual_wait(struct loop *l, usec until)
{
    BUG_ON(until == LOOP_FOREVER);
    l->now = MAX(l->now, until);
}

static void virtual_random(struct loop *l, void *p, size_t n)
{
    rng_bytes(&vloop_of(l)->random, p, n);
}

static uint64_t virtual_order(struct loop *l)
{
    return rng_u64(&vloop_of(l)->chance);
}

/* ---- workers ---- */

static void job_run(struct loop_job *j)
{
    j->state = LOOP_JOB_RUNNING;
    j->run(j);
}

static void job_leave(struct loop_timer *t);

/* Puts the first of the queue on the worker, when that is free. */
static void worker_next(struct vloop *v, enum loop_worker w)
{
    if (list_is_empty(&v->queue[w]))
        return;
    struct loop_job *j = list_entry(v->queue[w].next, struct loop_job, link);
    if (loop_timer_is_set(&j->delay))
        return;
    loop_timer_init(&v->loop, &j->delay, job_leave);
    usec delay = JOB_MIN_USEC + (usec)rng_below(&v->chance, JOB_MAX_USEC - JOB_MIN_USEC + 1);
    loop_timer_set(&j->delay, v->loop.now + delay);
    if (rng_chance(&v->chance, 50))
        job_run(j);
}

static void job_leave(struct loop_timer *t)
{
    struct loop_job *j = list_entry(t, struct loop_job, delay);
    struct vloop *v = vloop_of(j->loop);
    if (j->state == LOOP_JOB_QUEUED)
        job_run(j);
    j->state = LOOP_JOB_DONE;
    list_remove(&j->link);
    list_push_back(&v->completed, &j->link);
    worker_next(v, j->worker);
}

static void virtual_reads(struct loop *l)
{
    struct list batch;
    loop_take_list(&vloop_of(l)->completed, &batch);
    for (struct list *n; (n = list_pop_front(&batch));)
        loop_job_complete(list_entry(n, struct loop_job, link));
}

static void virtual_submit(struct loop *l, struct loop_job *j)
{
    struct vloop *v = vloop_of(l);
    loop_timer_init(l, &j->delay, job_leave);
    list_init(&j->link);
    list_push_back(&v->queue[j->worker], &j->link);
    worker_next(v, j->worker);
}

static void job_forget(struct loop_job *j)
{
    loop_timer_cancel(&j->delay);
    list_remove(&j->link);
    j->loop = NULL;
    j->state = LOOP_JOB_IDLE;
}

static void virtual_job_cancel(struct loop_job *j)
{
    struct vloop *v = vloop_of(j->loop);
    job_forget(j);
    worker_next(v, j->worker);
}

/* ---- life cycle ---- */

static void virtual_done(struct loop *l)
{
    struct vloop *v = vloop_of(l);
    for (size_t w = 0; w < LOOP_WORKERS; w++)
        while (!list_is_empty(&v->queue[w]))
            job_forget(list_entry(v->queue[w].next, struct loop_job, link));
}

static const struct loop_ops virtual_ops = {
    .done = virtual_done,
    .now = virtual_now,
    .cpu = virtual_cpu,
    .wall = virtual_wall,
    .boottime = virtual_boottime,
    .random = virtual_random,
    .order = virtual_order,
    .wait = virtual_wait,
    .reads = virtual_reads,
    .submit = virtual_submit,
    .job_cancel = virtual_job_cancel,
};

struct loop *loop_new_virtual(uint64_t seed, usec wall)
{
    struct vloop *v = xnew(struct vloop);
    struct rng split;
    rng_seed(&split, seed);
    rng_seed(&v->random, rng_u64(&split));
    rng_seed(&v->chance, rng_u64(&split));
    v->wall = wall;
    v->loop.is_virtual = true;
    v->loop.now = START;
    for (size_t w = 0; w < LOOP_WORKERS; w++)
        list_init(&v->queue[w]);
    list_init(&v->completed);
    loop_init(&v->loop, &virtual_ops);
    return &v->loop;
}
