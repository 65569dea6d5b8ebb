/* The real loop, and what both loops share. Each test gives its callbacks one struct `world` whose
 * trace collects, in order, what was called. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/test.h"
#include "base/vec.h"
#include "loop/loop.h"

struct world {
    struct loop *l;
    struct strbuf trace;
};

static struct world world_new(struct loop *l)
{
    struct world w = {.l = l};
    strbuf_init(&w.trace, 1 << 20);
    REQUIRE(l);
    return w;
}

static void world_done(struct world *w)
{
    loop_free(w->l);
    strbuf_done(&w->trace);
}

static struct world real_world(void)
{
    return world_new(loop_new_real(NULL));
}

static void wait_msec(long msec)
{
    struct timespec ts = {.tv_sec = msec / 1000, .tv_nsec = msec % 1000 * 1000000};
    while (nanosleep(&ts, &ts) < 0)
        ;
}

/* ---- actors: a timer, a task or a descriptor that writes its name and then does something ---- */

struct actor {
    struct world *w;
    char name;
    struct loop_timer timer;
    struct loop_task task;
    struct loop_io io;
    int peer; /* other end of io.fd */
    void (*then)(struct actor *a);
    struct actor *other;
    unsigned got;  /* events */
    uint64_t when; /* iteration of the last call */
    int calls;
};

static void act(struct actor *a)
{
    strbuf_add_char(&a->w->trace, a->name);
    a->calls++;
    a->when = loop_iterations(a->w->l);
    if (a->then)
        a->then(a);
}

static void actor_on_timer(struct loop_timer *t)
{
    act(container_of(t, struct actor, timer));
}

static void actor_on_task(struct loop_task *t)
{
    act(container_of(t, struct actor, task));
}

static void actor_on_io(struct loop_io *io, unsigned events)
{
    struct actor *a = container_of(io, struct actor, io);
    a->got = events;
    act(a);
}

static void actor_init(struct actor *a, struct world *w, char name, void (*then)(struct actor *a))
{
    *a = (struct actor){.w = w, .name = name, .then = then, .peer = -1};
    a->io = (struct loop_io){.fd = -1, .fn = actor_on_io};
    loop_timer_init(w->l, &a->timer, actor_on_timer);
    loop_task_init(&a->task, actor_on_task);
}

static void actor_open(struct actor *a, unsigned events)
{
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    a->io.fd = fds[0];
    a->peer = fds[1];
    a->io.events = events;
    REQUIRE(loop_io_add(a->w->l, &a->io, NULL) == 0);
}

static void actor_feed(struct actor *a)
{
    REQUIRE(write(a->peer, "x", 1) == 1);
}

static void actor_close(struct actor *a)
{
    loop_io_remove(&a->io);
    if (a->io.fd >= 0)
        close(a->io.fd);
    if (a->peer >= 0)
        close(a->peer);
    a->io.fd = a->peer = -1;
}

static void then_stop(struct actor *a)
{
    loop_stop(a->w->l, 7);
}

static void stop_on_timer(struct loop_timer *t)
{
    loop_stop(t->loop, 7);
}

/* Lets the world go on for that long, then returns. It leaves no trace: on a busy machine the end
 * may come before or after anything else. */
static void run_for(struct world *w, usec length)
{
    struct loop_timer end;
    loop_timer_init(w->l, &end, stop_on_timer);
    loop_timer_set(&end, loop_now(w->l) + length);
    CHECK_INT(loop_run(w->l), 7);
}

static void set_at(struct actor *a, usec due)
{
    loop_timer_set(&a->timer, due);
}

static void defer(struct actor *a, enum loop_phase phase)
{
    loop_defer(a->w->l, phase, &a->task);
}

/* ---- order of an iteration ---- */

TEST(an_iteration_is_timers_reads_apply_sync_publish_write)
{
    struct world w = real_world();
    struct actor write_a, publish, sync, apply, io, timer;
    actor_init(&write_a, &w, 'w', then_stop);
    actor_init(&publish, &w, 'p', NULL);
    actor_init(&sync, &w, 's', NULL);
    actor_init(&apply, &w, 'a', NULL);
    actor_init(&io, &w, 'r', NULL);
    actor_init(&timer, &w, 't', NULL);
    defer(&write_a, LOOP_WRITE);
    defer(&publish, LOOP_PUBLISH);
    defer(&sync, LOOP_SYNC);
    defer(&apply, LOOP_APPLY);
    actor_open(&io, LOOP_READ);
    actor_feed(&io);
    set_at(&timer, 0);
    CHECK_INT(loop_run(w.l), 7);
    CHECK_CSTR(strbuf_str(&w.trace), "traspw");
    CHECK_INT(loop_iterations(w.l), 1);
    actor_close(&io);
    world_done(&w);
}

static void then_defer_write(struct actor *a)
{
    defer(a->other, LOOP_WRITE);
}

static void then_defer_apply(struct actor *a)
{
    defer(a->other, LOOP_APPLY);
}

static void then_defer_sync(struct actor *a)
{
    defer(a->other, LOOP_SYNC);
}

static void check_deferred(void (*then)(struct actor *a), uint64_t want_later)
{
    struct world w = real_world();
    struct actor first, second;
    actor_init(&second, &w, 'b', then_stop);
    actor_init(&first, &w, 'a', then);
    first.other = &second;
    defer(&first, LOOP_SYNC);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "ab");
    CHECK_INT(second.when - first.when, want_later);
    world_done(&w);
}

TEST(a_task_deferred_to_a_later_phase_runs_in_this_iteration)
{
    check_deferred(then_defer_write, 0);
}

TEST(a_task_deferred_to_the_same_phase_runs_in_the_next_iteration)
{
    check_deferred(then_defer_sync, 1);
}

TEST(a_task_deferred_to_an_earlier_phase_runs_in_the_next_iteration)
{
    check_deferred(then_defer_apply, 1);
}

TEST(a_task_that_waits_is_not_queued_twice)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', NULL);
    defer(&a, LOOP_SYNC);
    defer(&a, LOOP_SYNC);
    defer(&a, LOOP_APPLY);
    run_for(&w, 0);
    CHECK_CSTR(strbuf_str(&w.trace), "a");
    world_done(&w);
}

static void then_defer_self_thrice(struct actor *a)
{
    if (a->calls < 3)
        defer(a, LOOP_PUBLISH);
    else
        loop_stop(a->w->l, 0);
}

TEST(a_task_may_defer_itself)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', then_defer_self_thrice);
    defer(&a, LOOP_PUBLISH);
    loop_run(w.l);
    CHECK_INT(a.calls, 3);
    CHECK_INT(loop_iterations(w.l), 3);
    world_done(&w);
}

static void then_cancel_task(struct actor *a)
{
    loop_task_cancel(&a->other->task);
}

TEST(a_task_cancelled_by_one_before_it_does_not_run)
{
    struct world w = real_world();
    struct actor a, b, c;
    actor_init(&a, &w, 'a', then_cancel_task);
    actor_init(&b, &w, 'b', NULL);
    actor_init(&c, &w, 'c', NULL);
    a.other = &b;
    defer(&a, LOOP_APPLY);
    defer(&b, LOOP_APPLY);
    defer(&c, LOOP_APPLY);
    run_for(&w, 0);
    CHECK_CSTR(strbuf_str(&w.trace), "ac");
    world_done(&w);
}

TEST(stop_before_run_returns_at_once_and_only_once)
{
    struct world w = real_world();
    loop_stop(w.l, 3);
    CHECK_INT(loop_run(w.l), 3);
    CHECK_INT(loop_iterations(w.l), 0);
    run_for(&w, 0);
    CHECK_INT(loop_iterations(w.l), 1);
    world_done(&w);
}

/* ---- timers ---- */

TEST(timers_fire_by_due_time_then_by_order_of_setting)
{
    struct world w = real_world();
    struct actor a, b, c, d;
    usec now = loop_now(w.l);
    actor_init(&a, &w, 'a', NULL);
    actor_init(&b, &w, 'b', NULL);
    actor_init(&c, &w, 'c', NULL);
    actor_init(&d, &w, 'd', NULL);
    set_at(&d, now - 10);
    set_at(&c, now - 10);
    set_at(&b, now - 30);
    set_at(&a, now - 20);
    set_at(&d, now - 10); /* moved to the same time: now the last one set */
    run_for(&w, 0);
    CHECK_CSTR(strbuf_str(&w.trace), "bacd");
    world_done(&w);
}

static void then_set_other_past(struct actor *a)
{
    set_at(a->other, 1);
}

TEST(a_timer_set_in_the_past_by_a_timer_fires_in_the_next_iteration)
{
    struct world w = real_world();
    struct actor a, b;
    actor_init(&a, &w, 'a', then_set_other_past);
    actor_init(&b, &w, 'b', then_stop);
    a.other = &b;
    set_at(&a, 0);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "ab");
    CHECK_INT(b.when - a.when, 1);
    world_done(&w);
}

static void then_cancel_timer(struct actor *a)
{
    CHECK(loop_timer_is_set(&a->other->timer));
    loop_timer_cancel(&a->other->timer);
    CHECK(!loop_timer_is_set(&a->other->timer));
}

TEST(a_due_timer_cancelled_by_one_before_it_does_not_fire)
{
    struct world w = real_world();
    struct actor a, b, c;
    actor_init(&a, &w, 'a', then_cancel_timer);
    actor_init(&b, &w, 'b', NULL);
    actor_init(&c, &w, 'c', NULL);
    a.other = &b;
    set_at(&a, 1);
    set_at(&b, 2);
    set_at(&c, 3);
    run_for(&w, 0);
    CHECK_CSTR(strbuf_str(&w.trace), "ac");
    world_done(&w);
}

static void then_move_other(struct actor *a)
{
    set_at(a->other, loop_now(a->w->l) + 3000);
}

TEST(a_due_timer_moved_by_one_before_it_fires_once_at_the_new_time)
{
    struct world w = real_world();
    struct actor a, b;
    actor_init(&a, &w, 'a', then_move_other);
    actor_init(&b, &w, 'b', then_stop);
    a.other = &b;
    usec before = loop_now(w.l);
    set_at(&a, 1);
    set_at(&b, 2);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "ab");
    CHECK(loop_now(w.l) >= before + 3000);
    world_done(&w);
}

static void then_free_self(struct actor *a)
{
    CHECK(!loop_timer_is_set(&a->timer));
    loop_stop(a->w->l, 0);
    free(a);
}

TEST(a_timer_may_be_freed_in_its_own_callback)
{
    struct world w = real_world();
    struct actor *a = xnew(struct actor);
    actor_init(a, &w, 'a', then_free_self);
    set_at(a, 1);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "a");
    world_done(&w);
}

static void then_next_tick(struct actor *a)
{
    if (a->calls == 20)
        loop_stop(a->w->l, 0);
    else
        set_at(a, a->timer.due + 1300);
}

TEST(waiting_for_fractions_of_a_millisecond_does_not_spin)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', then_next_tick);
    usec start = loop_now(w.l);
    set_at(&a, start + 1300);
    loop_run(w.l);
    CHECK(loop_now(w.l) >= start + 20 * 1300);
    /* One wake-up for each, never early. */
    CHECK_INT(loop_iterations(w.l), 20);
    world_done(&w);
}

TEST(an_idle_loop_does_not_wake_up)
{
    struct world w = real_world();
    struct actor quiet;
    actor_init(&quiet, &w, 'q', NULL);
    actor_open(&quiet, LOOP_READ);
    run_for(&w, 300000);
    CHECK_INT(loop_iterations(w.l), 1);
    CHECK_CSTR(strbuf_str(&w.trace), "");
    actor_close(&quiet);
    world_done(&w);
}

static void then_sleep(struct actor *a)
{
    wait_msec(20);
}

static void then_check_clock_moved(struct actor *a)
{
    CHECK(loop_now(a->w->l) >= a->other->timer.due + 20000);
}

TEST(a_later_phase_sees_the_time_that_earlier_ones_took)
{
    struct world w = real_world();
    struct actor slow, after;
    actor_init(&slow, &w, 's', then_sleep);
    actor_init(&after, &w, 'a', then_check_clock_moved);
    after.other = &slow;
    set_at(&slow, loop_now(w.l));
    defer(&after, LOOP_APPLY);
    run_for(&w, 0);
    CHECK_INT(after.calls, 1);
    world_done(&w);
}

TEST(the_clock_is_fresh_outside_an_iteration)
{
    struct world w = real_world();
    usec before = loop_now(w.l);
    wait_msec(5);
    CHECK(loop_now(w.l) >= before + 5000);
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    usec wall = loop_wall(w.l), want = (usec)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
    CHECK(wall >= want && wall < want + 10 * USEC_PER_SEC);
    world_done(&w);
}

TEST(processor_time_does_not_pass_while_one_waits)
{
    struct world w = real_world();
    usec cpu = loop_cpu(w.l), clock = loop_clock(w.l);
    wait_msec(50);
    CHECK(loop_clock(w.l) >= clock + 50000);
    CHECK(loop_cpu(w.l) < cpu + 25000);
    while (loop_cpu(w.l) < cpu + 1000)
        ;
    world_done(&w);
}

TEST(random_bytes_fill_the_buffer_and_differ)
{
    struct world w = real_world();
    uint64_t a[64] = {0}, b[64] = {0};
    loop_random(w.l, a, sizeof(a) - 1);
    loop_random(w.l, b, sizeof(b));
    loop_random(w.l, NULL, 0);
    for (size_t i = 0; i + 1 < ARRAY_LEN(a); i++)
        CHECK(a[i] != 0 && a[i] != b[i]);
    CHECK_INT(((unsigned char *)a)[sizeof(a) - 1], 0);
    CHECK(loop_random_u64(w.l) != loop_random_u64(w.l));
    world_done(&w);
}

/* ---- descriptors ---- */

TEST(readiness_is_reported_by_kind)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', then_stop);
    actor_open(&a, LOOP_WRITE_READY);
    loop_run(w.l);
    CHECK_INT(a.got, LOOP_WRITE_READY);
    actor_feed(&a);
    loop_io_set(&a.io, LOOP_READ);
    loop_run(w.l);
    CHECK_INT(a.got, LOOP_READ);
    loop_io_set(&a.io, LOOP_READ | LOOP_WRITE_READY);
    loop_run(w.l);
    CHECK_INT(a.got, LOOP_READ | LOOP_WRITE_READY);
    actor_close(&a);
    world_done(&w);
}

TEST(a_descriptor_without_interest_is_quiet_until_it_hangs_up)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', then_stop);
    actor_open(&a, 0);
    actor_feed(&a);
    run_for(&w, 1000);
    CHECK_INT(a.calls, 0);
    close(a.peer);
    a.peer = -1;
    loop_run(w.l);
    CHECK_INT(a.got, LOOP_HANGUP);
    actor_close(&a);
    world_done(&w);
}

TEST(what_cannot_be_waited_for_is_an_error)
{
    struct world w = real_world();
    struct err err = ERR_INIT;
    struct loop_io io = {.fd = -1, .events = LOOP_READ, .fn = actor_on_io};
    CHECK_INT(loop_io_add(w.l, &io, &err), ERR_IO);
    CHECK(err.message[0]);
    loop_io_remove(&io); /* was never added: nothing happens */
    struct loop_signal s = {.signo = SIGKILL};
    CHECK_INT(loop_signal_add(w.l, &s, &err), ERR_INVALID);
    s.signo = 1000;
    CHECK_INT(loop_signal_add(w.l, &s, &err), ERR_INVALID);
    loop_signal_remove(&s);
    world_done(&w);
}

static void then_close_self(struct actor *a)
{
    actor_close(a);
}

TEST(a_descriptor_may_be_removed_in_its_own_callback)
{
    struct world w = real_world();
    struct actor a;
    actor_init(&a, &w, 'a', then_close_self);
    actor_open(&a, LOOP_READ);
    actor_feed(&a);
    run_for(&w, 1000);
    CHECK_CSTR(strbuf_str(&w.trace), "a");
    world_done(&w);
}

/* Frees the other one and breaks the tie between them. */
static void then_free_other(struct actor *a)
{
    actor_close(a->other);
    free(a->other);
    loop_stop(a->w->l, 0);
}

TEST(a_descriptor_freed_by_another_of_the_same_batch_is_not_called)
{
    struct world w = real_world();
    struct actor *pair[2];
    for (int i = 0; i < 2; i++) {
        pair[i] = xnew(struct actor);
        actor_init(pair[i], &w, (char)('a' + i), then_free_other);
        actor_open(pair[i], LOOP_READ);
        actor_feed(pair[i]);
    }
    pair[0]->other = pair[1];
    pair[1]->other = pair[0];
    loop_run(w.l);
    REQUIRE(w.trace.len == 1);
    struct actor *alive = pair[w.trace.p[0] - 'a'];
    CHECK_INT(alive->calls, 1);
    actor_close(alive);
    free(alive);
    world_done(&w);
}

/* The other's descriptor number comes back as another, quiet descriptor in the same struct. */
static void then_reopen_other(struct actor *a)
{
    int fd = a->other->io.fd;
    actor_close(a->other);
    actor_open(a->other, LOOP_READ);
    CHECK_INT(a->other->io.fd, fd);
    loop_stop(a->w->l, 0);
}

TEST(a_reused_descriptor_number_gets_no_stale_event)
{
    struct world w = real_world();
    struct actor pair[2];
    for (int i = 0; i < 2; i++) {
        actor_init(&pair[i], &w, (char)('a' + i), then_reopen_other);
        actor_open(&pair[i], LOOP_READ);
        actor_feed(&pair[i]);
    }
    pair[0].other = &pair[1];
    pair[1].other = &pair[0];
    loop_run(w.l);
    CHECK_INT(w.trace.len, 1);
    for (int i = 0; i < 2; i++)
        actor_close(&pair[i]);
    world_done(&w);
}

static void then_mute_other(struct actor *a)
{
    loop_io_set(&a->other->io, 0);
    loop_stop(a->w->l, 0);
}

TEST(lost_interest_counts_for_the_batch_already_collected)
{
    struct world w = real_world();
    struct actor pair[2];
    for (int i = 0; i < 2; i++) {
        actor_init(&pair[i], &w, (char)('a' + i), then_mute_other);
        actor_open(&pair[i], LOOP_READ);
        actor_feed(&pair[i]);
    }
    pair[0].other = &pair[1];
    pair[1].other = &pair[0];
    loop_run(w.l);
    CHECK_INT(w.trace.len, 1);
    for (int i = 0; i < 2; i++)
        actor_close(&pair[i]);
    world_done(&w);
}

TEST(a_timer_may_free_a_descriptor_that_is_ready)
{
    struct world w = real_world();
    struct actor timer, *io = xnew(struct actor);
    actor_init(&timer, &w, 't', then_free_other);
    actor_init(io, &w, 'i', NULL);
    actor_open(io, LOOP_READ);
    actor_feed(io);
    timer.other = io;
    set_at(&timer, 1);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "t");
    world_done(&w);
}

/* ---- jobs ---- */

struct job {
    struct loop_job job;
    struct world *w;
    int id;
    pthread_t ran_on;
    int ran_at; /* n-th of its worker */
    int *clock; /* touched on that worker only */
    sem_t *wait_for;
    sem_t *post;
    int *count_down; /* stops the loop at 0 */
    bool finished;   /* at the end of run() */
    int again;
};

static void job_run(struct loop_job *lj)
{
    struct job *j = container_of(lj, struct job, job);
    j->ran_on = pthread_self();
    if (j->clock)
        j->ran_at = (*j->clock)++;
    if (j->post)
        sem_post(j->post);
    while (j->wait_for && sem_wait(j->wait_for) < 0)
        ;
    j->finished = true;
}

static void job_done(struct loop_job *lj)
{
    struct job *j = container_of(lj, struct job, job);
    strbuf_printf(&j->w->trace, "%d ", j->id);
    if (j->again-- > 0)
        loop_submit(j->w->l, lj->worker, lj);
    else if (j->count_down && --*j->count_down == 0)
        loop_stop(j->w->l, 0);
}

static struct job job_make(struct world *w, int id)
{
    return (struct job){.job = {.run = job_run, .done = job_done}, .w = w, .id = id};
}

TEST(jobs_run_on_their_worker_and_complete_in_order)
{
    struct world w = real_world();
    struct job jobs[100];
    int clocks[LOOP_WORKERS] = {0}, left = 100;
    for (int i = 0; i < 100; i++) {
        jobs[i] = job_make(&w, i);
        jobs[i].count_down = &left;
        jobs[i].clock = &clocks[i % 2];
        loop_submit(w.l, i % 2, &jobs[i].job);
    }
    loop_run(w.l);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(jobs[i].ran_at, i / 2);
        CHECK(pthread_equal(jobs[i].ran_on, jobs[i % 2].ran_on));
        CHECK(!pthread_equal(jobs[i].ran_on, pthread_self()));
    }
    CHECK(!pthread_equal(jobs[0].ran_on, jobs[1].ran_on));
    int last[2] = {-2, -1};
    for (str rest = strbuf_str(&w.trace); rest.len;) {
        int64_t id;
        REQUIRE(str_to_int(str_cut(&rest, ' '), &id));
        CHECK_INT(id, last[id % 2] + 2);
        last[id % 2] = (int)id;
    }
    CHECK_INT(last[0], 98);
    CHECK_INT(last[1], 99);
    world_done(&w);
}

TEST(the_workers_do_not_wait_for_each_other)
{
    struct world w = real_world();
    sem_t gate;
    sem_init(&gate, 0, 0);
    int left = 2;
    struct job disk = job_make(&w, 1), block = job_make(&w, 2);
    disk.wait_for = &gate;
    block.post = &gate;
    disk.count_down = block.count_down = &left;
    loop_submit(w.l, LOOP_DISK, &disk.job);
    loop_submit(w.l, LOOP_BLOCK, &block.job);
    loop_run(w.l); /* for ever, if one thread did both */
    CHECK_INT(left, 0);
    sem_destroy(&gate);
    world_done(&w);
}

TEST(a_job_may_be_submitted_again_when_done)
{
    struct world w = real_world();
    int left = 1;
    struct job j = job_make(&w, 5);
    j.again = 2;
    j.count_down = &left;
    loop_submit(w.l, LOOP_BLOCK, &j.job);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "5 5 5 ");
    world_done(&w);
}

TEST(a_cancelled_job_is_not_run_or_is_waited_for)
{
    struct world w = real_world();
    sem_t started, gate;
    sem_init(&started, 0, 0);
    sem_init(&gate, 0, 0);
    struct job first = job_make(&w, 1), second = job_make(&w, 2), never = job_make(&w, 3);
    first.post = &started;
    first.wait_for = &gate;
    loop_submit(w.l, LOOP_DISK, &first.job);
    loop_submit(w.l, LOOP_DISK, &second.job);
    while (sem_wait(&started) < 0)
        ;
    loop_job_cancel(&second.job);
    CHECK(!second.finished);
    sem_post(&gate);
    loop_job_cancel(&first.job);
    CHECK(first.finished);
    loop_job_cancel(&first.job);
    loop_job_cancel(&never.job);
    run_for(&w, 2000);
    CHECK(!second.finished);
    CHECK_CSTR(strbuf_str(&w.trace), "");
    /* Both are usable again. */
    int left = 2;
    first.wait_for = NULL;
    first.count_down = second.count_down = &left;
    loop_submit(w.l, LOOP_DISK, &second.job);
    loop_submit(w.l, LOOP_DISK, &first.job);
    loop_run(w.l);
    CHECK_CSTR(strbuf_str(&w.trace), "2 1 ");
    sem_destroy(&started);
    sem_destroy(&gate);
    world_done(&w);
}

static struct job *cancel_in_done;

static void done_cancels(struct loop_job *lj)
{
    struct job *j = container_of(lj, struct job, job);
    strbuf_printf(&j->w->trace, "%d ", j->id);
    loop_job_cancel(&cancel_in_done->job);
}

TEST(a_completion_may_cancel_one_collected_with_it)
{
    struct world w = real_world();
    struct job a = job_make(&w, 1), b = job_make(&w, 2);
    sem_t ran;
    sem_init(&ran, 0, 0);
    a.job.done = done_cancels;
    b.post = &ran;
    cancel_in_done = &b;
    loop_submit(w.l, LOOP_DISK, &a.job);
    loop_submit(w.l, LOOP_DISK, &b.job);
    while (sem_wait(&ran) < 0)
        ;
    wait_msec(2);
    run_for(&w, 5000);
    CHECK(!memchr(w.trace.p, '2', w.trace.len));
    CHECK(memchr(w.trace.p, '1', w.trace.len));
    sem_destroy(&ran);
    world_done(&w);
}

/* ---- signals ---- */

struct sig {
    struct loop_signal s;
    struct world *w;
    char name;
    struct sig *removes;
};

static void on_sig(struct loop_signal *s)
{
    struct sig *g = container_of(s, struct sig, s);
    strbuf_add_char(&g->w->trace, g->name);
    if (g->removes)
        loop_signal_remove(&g->removes->s);
}

static struct sig sig_make(struct world *w, int signo, char name)
{
    return (struct sig){.s = {.signo = signo, .fn = on_sig}, .w = w, .name = name};
}

static bool is_blocked(int signo)
{
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    return sigismember(&set, signo) > 0;
}

TEST(signals_reach_all_their_handlers_and_no_other)
{
    struct world w = real_world();
    struct sig a = sig_make(&w, SIGUSR1, 'a'), b = sig_make(&w, SIGUSR1, 'b'),
               c = sig_make(&w, SIGUSR2, 'c');
    CHECK_INT(loop_signal_add(w.l, &a.s, NULL), 0);
    CHECK_INT(loop_signal_add(w.l, &b.s, NULL), 0);
    CHECK_INT(loop_signal_add(w.l, &c.s, NULL), 0);
    kill(getpid(), SIGUSR1);
    run_for(&w, 2000);
    CHECK_CSTR(strbuf_str(&w.trace), "ab");
    kill(getpid(), SIGUSR2);
    run_for(&w, 2000);
    CHECK_CSTR(strbuf_str(&w.trace), "abc");
    loop_signal_remove(&a.s);
    kill(getpid(), SIGUSR1);
    run_for(&w, 2000);
    CHECK_CSTR(strbuf_str(&w.trace), "abcb");
    CHECK(is_blocked(SIGUSR1));
    loop_signal_remove(&b.s);
    CHECK(!is_blocked(SIGUSR1));
    CHECK(is_blocked(SIGUSR2));
    world_done(&w);
    CHECK(!is_blocked(SIGUSR2));
    loop_signal_remove(&c.s); /* the loop has let go of it */
}

TEST(a_signal_handler_may_remove_itself_and_others)
{
    struct world w = real_world();
    struct sig a = sig_make(&w, SIGUSR1, 'a'), b = sig_make(&w, SIGUSR1, 'b'),
               c = sig_make(&w, SIGUSR1, 'c');
    a.removes = &b;
    c.removes = &c;
    loop_signal_add(w.l, &a.s, NULL);
    loop_signal_add(w.l, &b.s, NULL);
    loop_signal_add(w.l, &c.s, NULL);
    kill(getpid(), SIGUSR1);
    run_for(&w, 2000);
    CHECK_CSTR(strbuf_str(&w.trace), "ac");
    kill(getpid(), SIGUSR1);
    run_for(&w, 2000);
    CHECK_CSTR(strbuf_str(&w.trace), "aca");
    loop_signal_remove(&a.s);
    world_done(&w);
}

TEST(a_signal_blocked_by_somebody_else_stays_blocked)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct world w = real_world();
    struct sig a = sig_make(&w, SIGUSR2, 'a');
    loop_signal_add(w.l, &a.s, NULL);
    loop_signal_remove(&a.s);
    CHECK(is_blocked(SIGUSR2));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    world_done(&w);
}

/* ---- the end ---- */

static int count_threads(void)
{
    int n = -1;
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Threads: %d", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static void run_slowly(struct loop_job *lj)
{
    struct job *j = container_of(lj, struct job, job);
    sem_post(j->post);
    wait_msec(30);
    j->finished = true;
}

TEST(free_joins_the_workers_and_waits_for_the_running_job)
{
    int before = count_threads();
    struct world w = real_world();
    CHECK_INT(count_threads(), before + LOOP_WORKERS);
    sem_t started;
    sem_init(&started, 0, 0);
    struct job running = job_make(&w, 1), queued = job_make(&w, 2);
    running.job.run = run_slowly;
    running.post = &started;
    loop_submit(w.l, LOOP_DISK, &running.job);
    loop_submit(w.l, LOOP_DISK, &queued.job);
    while (sem_wait(&started) < 0)
        ;
    world_done(&w);
    CHECK(running.finished);
    CHECK(!queued.finished);
    CHECK_INT(count_threads(), before);
    loop_job_cancel(&running.job);
    loop_job_cancel(&queued.job);
    sem_destroy(&started);
}

TEST(free_lets_go_of_everything_and_leaves_handles_harmless)
{
    struct world w = real_world();
    struct actor a, b;
    actor_init(&a, &w, 'a', NULL);
    actor_init(&b, &w, 'b', NULL);
    set_at(&a, 5);
    set_at(&b, loop_now(w.l) + USEC_PER_HOUR);
    defer(&a, LOOP_APPLY);
    defer(&b, LOOP_APPLY);
    actor_open(&a, LOOP_READ);
    world_done(&w);
    CHECK(!loop_timer_is_set(&a.timer));
    CHECK(!loop_timer_is_set(&b.timer));
    loop_timer_cancel(&a.timer);
    loop_task_cancel(&a.task);
    loop_task_cancel(&b.task);
    loop_io_set(&a.io, LOOP_WRITE_READY);
    actor_close(&a);
    loop_free(NULL);
    CHECK_INT(a.calls + b.calls, 0);
}
