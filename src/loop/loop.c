/*
 * What the real and the virtual loop share: timers, tasks, and the order of an iteration.
 *
 * Every stage takes what is there when it begins off its queue and then works through that batch,
 * so whatever a callback adds to the same stage waits for the next iteration, and no stage can run
 * for ever. The batches are intrusive lists: cancelling unlinks, whether a thing waits in the queue
 * or in the batch being worked through, and nothing keeps a pointer to what a callback may free.
 *
 * Invariants: a timer is in the heap, or in the batch of due ones (linked), or
 * neither (not set). A task is in at most one list. After loop_free all of them are "not set".
 */
#include "loop/impl.h"

static int timer_cmp(const struct heap_node *x, const struct heap_node *y)
{
    const struct loop_timer *a = heap_entry(x, struct loop_timer, node);
    const struct loop_timer *b = heap_entry(y, struct loop_timer, node);
    if (a->due != b->due)
        return a->due < b->due ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct loop_timer *first_timer(const struct loop *l)
{
    struct heap_node *n = heap_min(&l->timers);
    return n ? heap_entry(n, struct loop_timer, node) : NULL;
}

/* ---- iteration ---- */

static void loop_tick(struct loop *l)
{
    l->now = l->ops->now(l);
}

/* ---- the wall clock ---- */

/* Less is what reading two clocks one after the other may show. */
#define NOTICED USEC_PER_MSEC
enum { READS = 4 };

/* Both clocks at one moment; false: we were never let do that without a pause. */
static bool read_offset(struct loop *l, usec *ret)
{
    for (int i = 0; i < READS; i++) {
        usec before = l->ops->now(l), wall = loop_wall(l), after = l->ops->now(l);
        *ret = wall - after;
        if (after - before < NOTICED / 2)
            return true;
    }
    return false;
}

static void notice_wall(struct loop *l, bool just_now)
{
    struct list all;
    usec since = just_now ? l->now : l->offset_at;
    if (!read_offset(l, &l->offset))
        return;
    l->offset_at = l->now;
    loop_take_list(&l->wall_watches, &all);
    for (struct list *n; (n = list_pop_front(&all));) {
        struct loop_wall_watch *w = list_entry(n, struct loop_wall_watch, link);
        list_push_back(&l->wall_watches, n);
        w->fn(w, since);
    }
}

/* Once per iteration. On a virtual loop it moves when somebody moves it. */
static void check_wall(struct loop *l)
{
    if (l->is_virtual)
        return;
    usec offset = 0, moved = loop_wall(l) - l->now - l->offset;
    if ((moved > NOTICED || moved < -NOTICED) && read_offset(l, &offset)) {
        moved = offset - l->offset;
        if (moved > NOTICED || moved < -NOTICED) {
            notice_wall(l, l->ops->wall_was_set && l->ops->wall_was_set(l));
            return;
        }
    }
    l->offset_at = l->now;
}

static bool has_tasks(const struct loop *l)
{
    for (size_t i = 0; i < LOOP_PHASES; i++)
        if (!list_is_empty(&l->tasks[i]))
            return true;
    return false;
}

/* When the next thing is known to happen: now, a time, or LOOP_FOREVER. */
static usec next_due(const struct loop *l)
{
    if (has_tasks(l))
        return l->now;
    const struct loop_timer *t = first_timer(l);
    return t ? MAX(t->due, l->now) : LOOP_FOREVER;
}

static void run_timers(struct loop *l)
{
    struct list due;
    list_init(&due);
    for (struct loop_timer *t; (t = first_timer(l)) && t->due <= l->now;) {
        heap_pop(&l->timers);
        list_push_back(&due, &t->link);
    }
    for (struct list *n; (n = list_pop_front(&due));) {
        struct loop_timer *t = list_entry(n, struct loop_timer, link);
        t->fn(t);
    }
}

static void run_phase(struct loop *l, enum loop_phase phase)
{
    struct list batch;
    loop_take_list(&l->tasks[phase], &batch);
    for (struct list *n; (n = list_pop_front(&batch));) {
        struct loop_task *t = list_entry(n, struct loop_task, link);
        t->fn(t);
    }
}

static void iterate(struct loop *l)
{
    loop_tick(l);
    l->ops->wait(l, next_due(l));
    l->iterations++;
    l->iterating = true;
    loop_tick(l);
    check_wall(l);
    run_timers(l);
    loop_tick(l);
    l->ops->reads(l);
    for (int phase = 0; phase < LOOP_PHASES; phase++) {
        loop_tick(l);
        run_phase(l, phase);
    }
    l->iterating = false;
}

/* Whether it was asked for; a request is used up by the run that obeys it. */
static bool take_stop(struct loop *l)
{
    bool stop = l->stopping;
    l->stopping = false;
    return stop;
}

int loop_run(struct loop *l)
{
    BUG_ON(l->iterating);
    while (!take_stop(l)) {
        if (l->is_virtual && next_due(l) == LOOP_FOREVER)
            return -1;
        iterate(l);
    }
    return l->result;
}

void loop_stop(struct loop *l, int result)
{
    l->stopping = true;
    l->result = result;
}

bool loop_run_until(struct loop *l, usec until, uint64_t max_iterations)
{
    BUG_ON(!l->is_virtual || l->iterating);
    for (uint64_t n = 0; has_tasks(l) || next_due(l) <= until; n++) {
        if (take_stop(l))
            return true;
        if (n >= max_iterations)
            return false;
        iterate(l);
    }
    if (!take_stop(l) && l->now < until)
        l->ops->wait(l, until);
    return true;
}

usec loop_next_due(struct loop *l)
{
    BUG_ON(!l->is_virtual);
    usec due = next_due(l);
    return due == LOOP_FOREVER ? -1 : due;
}

bool loop_is_virtual(const struct loop *l)
{
    return l->is_virtual;
}

uint64_t loop_iterations(const struct loop *l)
{
    return l->iterations;
}

/* ---- life cycle ---- */

void loop_take_list(struct list *from, struct list *to)
{
    list_init(to);
    if (list_is_empty(from))
        return;
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    list_init(from);
}

void loop_init(struct loop *l, const struct loop_ops *ops)
{
    l->ops = ops;
    heap_init(&l->timers, timer_cmp);
    for (size_t i = 0; i < LOOP_PHASES; i++)
        list_init(&l->tasks[i]);
    list_init(&l->wall_watches);
    loop_tick(l);
    l->offset = loop_wall(l) - l->now;
    l->offset_at = l->now;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    BUG_ON(l->iterating);
    l->ops->done(l);
    while (heap_pop(&l->timers))
        ;
    heap_done(&l->timers);
    for (size_t i = 0; i < LOOP_PHASES; i++)
        while (list_pop_front(&l->tasks[i]))
            ;
    while (list_pop_front(&l->wall_watches))
        ;
    free(l);
}

/* ---- time and randomness ---- */

/* Outside an iteration (setting up, between runs) any time may have passed since the last tick. */
usec loop_now(struct loop *l)
{
    if (!l->iterating)
        loop_tick(l);
    return l->now;
}

usec loop_clock(struct loop *l)
{
    return l->ops->now(l);
}

usec loop_cpu(struct loop *l)
{
    return l->ops->cpu(l);
}

usec loop_wall(struct loop *l)
{
    return l->ops->wall(l) + l->set_by;
}

usec loop_boottime(struct loop *l)
{
    return l->ops->boottime(l);
}

void loop_watch_wall(struct loop *l, struct loop_wall_watch *w)
{
    list_init(&w->link);
    list_push_back(&l->wall_watches, &w->link);
}

void loop_unwatch_wall(struct loop_wall_watch *w)
{
    list_remove(&w->link);
}

/* A real loop finds out as it does when somebody else sets the clock. */
void loop_set_wall_by(struct loop *l, usec by)
{
    l->set_by += by;
    if (l->is_virtual)
        notice_wall(l, true);
}

void loop_sleep(struct loop *l, usec duration)
{
    BUG_ON(!l->is_virtual);
    l->slept += duration;
    loop_set_wall_by(l, duration);
}

void loop_random(struct loop *l, void *p, size_t n)
{
    l->ops->random(l, p, n);
}

uint64_t loop_random_u64(struct loop *l)
{
    uint64_t v;
    loop_random(l, &v, sizeof(v));
    return v;
}

/* ---- timers, tasks, jobs ---- */

void loop_timer_init(struct loop *l, struct loop_timer *t, void (*fn)(struct loop_timer *t))
{
    *t = (struct loop_timer){.loop = l, .fn = fn};
    list_init(&t->link);
}

void loop_timer_set(struct loop_timer *t, usec due)
{
    loop_timer_cancel(t);
    t->due = due;
    t->order = t->loop->ops->order(t->loop);
    heap_push(&t->loop->timers, &t->node);
}

/* The loop itself may be gone when the timer is not set. */
void loop_timer_cancel(struct loop_timer *t)
{
    list_remove(&t->link);
    if (heap_has(&t->node))
        heap_remove(&t->loop->timers, &t->node);
}

bool loop_timer_is_set(const struct loop_timer *t)
{
    return heap_has(&t->node) || list_is_linked(&t->link);
}

void loop_task_init(struct loop_task *t, void (*fn)(struct loop_task *t))
{
    t->fn = fn;
    list_init(&t->link);
}

void loop_defer(struct loop *l, enum loop_phase phase, struct loop_task *t)
{
    if (!list_is_linked(&t->link))
        list_push_back(&l->tasks[phase], &t->link);
}

void loop_task_cancel(struct loop_task *t)
{
    list_remove(&t->link);
}

void loop_submit(struct loop *l, enum loop_worker w, struct loop_job *j)
{
    BUG_ON(j->state != LOOP_JOB_IDLE);
    j->loop = l;
    j->worker = w;
    j->state = LOOP_JOB_QUEUED;
    l->ops->submit(l, j);
}

void loop_job_cancel(struct loop_job *j)
{
    if (j->loop)
        j->loop->ops->job_cancel(j);
}

void loop_job_complete(struct loop_job *j)
{
    j->loop = NULL;
    j->state = LOOP_JOB_IDLE;
    j->done(j);
}

/* ---- descriptors and signals ---- */

int loop_io_add(struct loop *l, struct loop_io *io, struct err *err)
{
    BUG_ON(io->loop);
    if (!l->ops->io_add)
        return err_set(err, ERR_UNSUPPORTED, "the virtual loop has no descriptors");
    return l->ops->io_add(l, io, err);
}

void loop_io_set(struct loop_io *io, unsigned events)
{
    if (io->events == events)
        return;
    io->events = events;
    if (io->loop)
        io->loop->ops->io_set(io);
}

void loop_io_remove(struct loop_io *io)
{
    if (io->loop)
        io->loop->ops->io_remove(io);
}

int loop_signal_add(struct loop *l, struct loop_signal *s, struct err *err)
{
    BUG_ON(s->loop);
    if (!l->ops->signal_add)
        return err_set(err, ERR_UNSUPPORTED, "the virtual loop has no signals");
    return l->ops->signal_add(l, s, err);
}

void loop_signal_remove(struct loop_signal *s)
{
    if (s->loop)
        s->loop->ops->signal_remove(s);
}
