/*
 * The real loop: epoll for descriptors, an eventfd by which workers wake it, a signalfd, two worker
 * threads, CLOCK_MONOTONIC for timers.
 *
 * wait() collects a batch of events; reads() dispatches it after the timers. A callback may remove
 * (and free) any descriptor, so removal also wipes the descriptor's entry from the rest of the
 * batch; nothing else keeps a pointer to it. The eventfd and the signalfd are ordinary struct
 * loop_io's of ours.
 *
 * A worker is a thread with two queues under one mutex: jobs to do and jobs done. It takes one job
 * at a time, so order is kept, and wakes the loop only when the loop has no wake-up from this
 * worker under way. Threads block all signals: these belong to the loop's thread.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loop/impl.h"

#define BATCH 256

struct worker {
    struct eloop *loop;
    bool started;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t work;     /* `todo` or `stop` changed */
    pthread_cond_t finished; /* `running` changed */
    struct list todo;
    struct list finished_jobs;
    struct loop_job *running;
    bool stop;
};

struct eloop {
    struct loop loop;
    int epoll_fd;
    bool no_pwait2;
    struct epoll_event batch[BATCH];
    size_t batch_len;
    size_t batch_next;
    uint64_t order;
    struct list ios;
    struct loop_io wake;
    struct loop_io signal_io;
    struct loop_io set_io; /* a timer that only ends when the wall clock is set; fd -1: none */
    struct list signals;
    sigset_t signal_set;       /* those with handlers: what signal_io reads */
    sigset_t foreign_set;      /* those of them that were blocked before we came */
    unsigned n_handlers[NSIG]; /* by signal */
    struct worker workers[LOOP_WORKERS];
    struct huge_heap heap;
};

static struct eloop *eloop_of(struct loop *l)
{
    return container_of(l, struct eloop, loop);
}

/* ---- time and randomness ---- */

static usec read_clock(clockid_t id)
{
    struct timespec ts;
    BUG_ON(clock_gettime(id, &ts) < 0);
    return (usec)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / NSEC_PER_USEC;
}

static usec real_now(struct loop *l)
{
    return read_clock(CLOCK_MONOTONIC);
}

static usec real_cpu(struct loop *l)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static usec real_wall(struct loop *l)
{
    return read_clock(CLOCK_REALTIME);
}

static usec real_boottime(struct loop *l)
{
    return read_clock(CLOCK_BOOTTIME);
}

static void real_random(struct loop *l, void *p, size_t n)
{
    for (char *at = p; n > 0;) {
        ssize_t got = getrandom(at, n, 0);
        BUG_ON(got < 0 && errno != EINTR);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}

static uint64_t real_order(struct loop *l)
{
    return ++eloop_of(l)->order;
}

/* ---- descriptors ---- */

static uint32_t to_epoll(unsigned events)
{
    return (events & LOOP_READ ? EPOLLIN : 0) | (events & LOOP_WRITE_READY ? EPOLLOUT : 0);
}

static unsigned from_epoll(uint32_t events)
{
    return (events & EPOLLIN ? LOOP_READ : 0) | (events & EPOLLOUT ? LOOP_WRITE_READY : 0) |
           (events & (EPOLLERR | EPOLLHUP) ? LOOP_HANGUP : 0);
}

static int real_io_add(struct loop *l, struct loop_io *io, struct err *err)
{
    struct eloop *e = eloop_of(l);
    struct epoll_event ev = {.events = to_epoll(io->events), .data.ptr = io};
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, io->fd, &ev) < 0)
        return err_errno(err, ERR_IO, "cannot wait for descriptor %d", io->fd);
    io->loop = l;
    list_init(&io->link);
    list_push_back(&e->ios, &io->link);
    return 0;
}

static void real_io_set(struct loop_io *io)
{
    struct eloop *e = eloop_of(io->loop);
    struct epoll_event ev = {.events = to_epoll(io->events), .data.ptr = io};
    /* Fails only when somebody closed the descriptor without removing it. */
    BUG_ON(epoll_ctl(e->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev) < 0);
}

static void real_io_remove(struct loop_io *io)
{
    struct eloop *e = eloop_of(io->loop);
    BUG_ON(epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL) < 0);
    for (size_t i = e->batch_next; i < e->batch_len; i++)
        if (e->batch[i].data.ptr == io)
            e->batch[i].data.ptr = NULL;
    list_remove(&io->link);
    io->loop = NULL;
}

/* ---- sleep and dispatch ---- */

/* Milliseconds rounded up: rounding down would spin through the last fraction. */
static int wait_msec(struct eloop *e, usec timeout)
{
    usec msec = timeout < 0 ? -1 : (timeout + USEC_PER_MSEC - 1) / USEC_PER_MSEC;
    return epoll_wait(e->epoll_fd, e->batch, BATCH, (int)MIN(msec, INT32_MAX));
}

/* Negative: for ever. epoll_pwait2 (Linux 5.11, glibc 2.35) sleeps to the microsecond. */
static int wait_usec(struct eloop *e, usec timeout)
{
#ifdef HAVE_EPOLL_PWAIT2
    if (timeout > 0 && !e->no_pwait2) {
        struct timespec ts = {.tv_sec = (time_t)(timeout / USEC_PER_SEC),
                              .tv_nsec = (long)(timeout % USEC_PER_SEC * NSEC_PER_USEC)};
        int n = epoll_pwait2(e->epoll_fd, e->batch, BATCH, &ts, NULL);
        if (n >= 0 || errno != ENOSYS)
            return n;
        e->no_pwait2 = true;
    }
#endif
    return wait_msec(e, timeout);
}

static void real_wait(struct loop *l, usec until)
{
    struct eloop *e = eloop_of(l);
    huge_heap_follow(&e->heap);
    int n = wait_usec(e, until == LOOP_FOREVER ? -1 : MAX(until - l->now, 0));
    BUG_ON(n < 0 && errno != EINTR);
    e->batch_len = n > 0 ? (size_t)n : 0;
    e->batch_next = 0;
}

/* An earlier callback may have removed the descriptor or lost interest in it meanwhile. */
static void real_reads(struct loop *l)
{
    struct eloop *e = eloop_of(l);
    while (e->batch_next < e->batch_len) {
        const struct epoll_event *ev = &e->batch[e->batch_next++];
        struct loop_io *io = ev->data.ptr;
        if (!io)
            continue;
        unsigned events = from_epoll(ev->events) & (io->events | LOOP_HANGUP);
        if (events)
            io->fn(io, events);
    }
    e->batch_len = e->batch_next = 0;
}

/* ---- the wall clock ---- */

/* Due never, and cancelled whenever somebody sets the clock. */
static void arm_set_io(struct eloop *e)
{
    struct itimerspec never = {.it_value = {.tv_sec = INT32_MAX * (time_t)8}};
    (void)timerfd_settime(e->set_io.fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void on_wall_set(struct loop_io *io, unsigned events)
{
    uint64_t count;
    (void)!read(io->fd, &count, sizeof(count)); /* ECANCELED: what we wait for */
    arm_set_io(eloop_of(io->loop));
}

static bool real_wall_was_set(struct loop *l)
{
    const struct eloop *e = eloop_of(l);
    for (size_t i = e->batch_next; i < e->batch_len; i++) {
        if (e->batch[i].data.ptr == &e->set_io)
            return true;
    }
    return false;
}

/* ---- workers ---- */

static void wake_loop(struct eloop *e)
{
    uint64_t one = 1;
    ssize_t n = write(e->wake.fd, &one, sizeof(one));
    /* EAGAIN: the counter is full, so the loop has a wake-up waiting. */
    BUG_ON(n < 0 && errno != EAGAIN);
}

static void worker_finish(struct worker *w, struct loop_job *j)
{
    bool wake = list_is_empty(&w->finished_jobs);
    j->state = LOOP_JOB_DONE;
    list_push_back(&w->finished_jobs, &j->link);
    w->running = NULL;
    pthread_cond_broadcast(&w->finished);
    if (wake)
        wake_loop(w->loop);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    pthread_mutex_lock(&w->mutex);
    while (!w->stop) {
        struct list *n = list_pop_front(&w->todo);
        if (!n) {
            pthread_cond_wait(&w->work, &w->mutex);
            continue;
        }
        struct loop_job *j = list_entry(n, struct loop_job, link);
        j->state = LOOP_JOB_RUNNING;
        w->running = j;
        pthread_mutex_unlock(&w->mutex);
        j->run(j);
        pthread_mutex_lock(&w->mutex);
        worker_finish(w, j);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void worker_collect(struct worker *w)
{
    struct list batch;
    pthread_mutex_lock(&w->mutex);
    loop_take_list(&w->finished_jobs, &batch);
    pthread_mutex_unlock(&w->mutex);
    for (struct list *n; (n = list_pop_front(&batch));)
        loop_job_complete(list_entry(n, struct loop_job, link));
}

static void on_wake(struct loop_io *io, unsigned events)
{
    struct eloop *e = eloop_of(io->loop);
    uint64_t count;
    ssize_t n = read(io->fd, &count, sizeof(count));
    BUG_ON(n < 0 && errno != EAGAIN);
    for (size_t i = 0; i < LOOP_WORKERS; i++)
        worker_collect(&e->workers[i]);
}

static void real_submit(struct loop *l, struct loop_job *j)
{
    struct worker *w = &eloop_of(l)->workers[j->worker];
    list_init(&j->link);
    pthread_mutex_lock(&w->mutex);
    list_push_back(&w->todo, &j->link);
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->mutex);
}

static void job_forget(struct loop_job *j)
{
    list_remove(&j->link);
    j->loop = NULL;
    j->state = LOOP_JOB_IDLE;
}

/* A job that is done may also wait in worker_collect's batch, which only this thread touches. */
static void real_job_cancel(struct loop_job *j)
{
    struct worker *w = &eloop_of(j->loop)->workers[j->worker];
    pthread_mutex_lock(&w->mutex);
    while (w->running == j)
        pthread_cond_wait(&w->finished, &w->mutex);
    job_forget(j);
    pthread_mutex_unlock(&w->mutex);
}

static int worker_start(struct eloop *e, struct worker *w, struct err *err)
{
    w->loop = e;
    list_init(&w->todo);
    list_init(&w->finished_jobs);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->finished, NULL);
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* what the thread itself causes cannot go to another */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (errno)
        return err_errno(err, ERR_IO, "cannot start a worker thread");
    w->started = true;
    return 0;
}

static void worker_stop(struct worker *w)
{
    if (!w->started)
        return;
    pthread_mutex_lock(&w->mutex);
    w->stop = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    while (!list_is_empty(&w->todo))
        job_forget(list_entry(w->todo.next, struct loop_job, link));
    while (!list_is_empty(&w->finished_jobs))
        job_forget(list_entry(w->finished_jobs.next, struct loop_job, link));
    pthread_cond_destroy(&w->finished);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->mutex);
}

/* ---- signals ---- */

/* Handlers go back to the list one by one before each is called, so that any of them may remove
 * itself or another. */
static void dispatch_signal(struct eloop *e, int signo)
{
    struct list batch;
    loop_take_list(&e->signals, &batch);
    for (struct list *n; (n = list_pop_front(&batch));) {
        struct loop_signal *s = list_entry(n, struct loop_signal, link);
        list_push_back(&e->signals, n);
        if (s->signo == signo)
            s->fn(s);
    }
}

static void on_signal(struct loop_io *io, unsigned events)
{
    struct eloop *e = eloop_of(io->loop);
    struct signalfd_siginfo info;
    ssize_t n = read(io->fd, &info, sizeof(info));
    if (n == sizeof(info))
        dispatch_signal(e, (int)info.ssi_signo);
}

static void set_signals(struct eloop *e)
{
    BUG_ON(signalfd(e->signal_io.fd, &e->signal_set, 0) < 0);
}

static void signal_block(struct eloop *e, int signo)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, signo);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    if (sigismember(&before, signo) > 0)
        sigaddset(&e->foreign_set, signo);
    else
        sigdelset(&e->foreign_set, signo);
    sigaddset(&e->signal_set, signo);
    set_signals(e);
}

static void signal_unblock(struct eloop *e, int signo)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigdelset(&e->signal_set, signo);
    set_signals(e);
    if (sigismember(&e->foreign_set, signo) == 0)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int real_signal_add(struct loop *l, struct loop_signal *s, struct err *err)
{
    struct eloop *e = eloop_of(l);
    if (s->signo < 1 || s->signo >= NSIG || s->signo == SIGKILL || s->signo == SIGSTOP)
        return err_set(err, ERR_INVALID, "signal %d cannot be handled", s->signo);
    if (e->n_handlers[s->signo]++ == 0)
        signal_block(e, s->signo);
    s->loop = l;
    list_init(&s->link);
    list_push_back(&e->signals, &s->link);
    return 0;
}

static void real_signal_remove(struct loop_signal *s)
{
    struct eloop *e = eloop_of(s->loop);
    list_remove(&s->link);
    s->loop = NULL;
    if (--e->n_handlers[s->signo] == 0)
        signal_unblock(e, s->signo);
}

/* ---- life cycle ---- */

static void real_done(struct loop *l)
{
    struct eloop *e = eloop_of(l);
    for (size_t i = 0; i < LOOP_WORKERS; i++)
        worker_stop(&e->workers[i]);
    while (!list_is_empty(&e->signals))
        real_signal_remove(list_entry(e->signals.next, struct loop_signal, link));
    while (!list_is_empty(&e->ios))
        list_entry(list_pop_front(&e->ios), struct loop_io, link)->loop = NULL;
    close(e->signal_io.fd);
    if (e->set_io.fd >= 0)
        close(e->set_io.fd);
    close(e->wake.fd);
    close(e->epoll_fd);
}

static const struct loop_ops real_ops = {
    .done = real_done,
    .now = real_now,
    .cpu = real_cpu,
    .wall = real_wall,
    .boottime = real_boottime,
    .wall_was_set = real_wall_was_set,
    .random = real_random,
    .order = real_order,
    .wait = real_wait,
    .reads = real_reads,
    .submit = real_submit,
    .job_cancel = real_job_cancel,
    .io_add = real_io_add,
    .io_set = real_io_set,
    .io_remove = real_io_remove,
    .signal_add = real_signal_add,
    .signal_remove = real_signal_remove,
};

static int add_own_io(struct eloop *e, struct loop_io *io, struct err *err)
{
    io->events = LOOP_READ;
    return real_io_add(&e->loop, io, err);
}

/* What fails leaves the rest to real_done. */
static int real_init(struct eloop *e, struct err *err)
{
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->signal_io.fd = signalfd(-1, &e->signal_set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (e->epoll_fd < 0 || e->wake.fd < 0 || e->signal_io.fd < 0)
        return err_errno(err, ERR_IO, "cannot make the event loop's descriptors");
    int r = add_own_io(e, &e->wake, err);
    r = r ? r : add_own_io(e, &e->signal_io, err);
    /* Without it the clock is looked at when something else happens. */
    e->set_io.fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (e->set_io.fd >= 0)
        arm_set_io(e);
    if (e->set_io.fd >= 0)
        r = r ? r : add_own_io(e, &e->set_io, err);
    for (size_t i = 0; !r && i < LOOP_WORKERS; i++)
        r = worker_start(e, &e->workers[i], err);
    return r;
}

struct loop *loop_new_real(struct err *err)
{
    struct eloop *e = xnew(struct eloop);
    e->wake.fn = on_wake;
    e->signal_io.fn = on_signal;
    e->set_io.fn = on_wall_set;
    e->set_io.fd = -1;
    list_init(&e->ios);
    list_init(&e->signals);
    sigemptyset(&e->signal_set);
    sigemptyset(&e->foreign_set);
    loop_init(&e->loop, &real_ops);
    huge_heap_init(&e->heap);
    if (real_init(e, err) < 0) {
        loop_free(&e->loop);
        return NULL;
    }
    return &e->loop;
}
