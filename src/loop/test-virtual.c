/* The virtual loop: jumping time, seeded chance, inline workers, reproducible runs. */
#include "base/strbuf.h"
#include "base/test.h"
#include "base/vec.h"
#include "loop/loop.h"

#define WALL (1700000000 * USEC_PER_SEC)
#define START (1 * USEC_PER_SEC)

struct tick {
    struct loop_timer timer;
    struct strbuf *trace;
    char name;
    usec fired;
    int left;   /* sets itself again so often ... */
    usec every; /* ... after this long */
};

static void on_tick(struct loop_timer *t)
{
    struct tick *k = container_of(t, struct tick, timer);
    k->fired = loop_now(t->loop);
    if (k->trace)
        strbuf_add_char(k->trace, k->name);
    if (k->left-- > 0)
        loop_timer_set(t, k->fired + k->every);
}

static void tick_init(struct loop *l, struct tick *k, char name, struct strbuf *trace)
{
    *k = (struct tick){.name = name, .trace = trace, .fired = -1};
    loop_timer_init(l, &k->timer, on_tick);
}

/* ---- time ---- */

TEST(virtual_time_starts_at_one_second_and_the_given_wall_time)
{
    struct loop *l = loop_new_virtual(1, WALL);
    CHECK(loop_is_virtual(l));
    CHECK_INT(loop_now(l), START);
    CHECK_INT(loop_wall(l), WALL);
    CHECK_INT(loop_next_due(l), -1);
    loop_free(l);
}

TEST(virtual_time_jumps_to_the_next_timer)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct tick a, b;
    tick_init(l, &a, 'a', NULL);
    tick_init(l, &b, 'b', NULL);
    loop_timer_set(&a.timer, START + 30 * USEC_PER_DAY);
    loop_timer_set(&b.timer, START + 1);
    CHECK_INT(loop_next_due(l), START + 1);
    CHECK_INT(loop_run(l), -1); /* ends when nothing will ever happen */
    CHECK_INT(b.fired, START + 1);
    CHECK_INT(a.fired, START + 30 * USEC_PER_DAY);
    CHECK_INT(loop_wall(l), WALL + 30 * USEC_PER_DAY);
    CHECK_INT(loop_iterations(l), 2);
    loop_free(l);
}

TEST(a_timer_set_in_the_past_fires_without_moving_the_clock)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct tick a;
    tick_init(l, &a, 'a', NULL);
    loop_timer_set(&a.timer, 5);
    CHECK_INT(loop_next_due(l), START);
    CHECK_INT(loop_run(l), -1);
    CHECK_INT(a.fired, START);
    loop_free(l);
}

TEST(run_until_takes_what_is_due_and_sets_the_clock)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct tick at, after;
    tick_init(l, &at, 'a', NULL);
    tick_init(l, &after, 'b', NULL);
    loop_timer_set(&at.timer, START + 100);
    loop_timer_set(&after.timer, START + 101);
    CHECK(loop_run_until(l, START + 50, 10));
    CHECK_INT(loop_now(l), START + 50);
    CHECK_INT(at.fired, -1);
    CHECK(loop_run_until(l, START + 100, 10));
    CHECK_INT(at.fired, START + 100);
    CHECK_INT(after.fired, -1);
    CHECK(loop_run_until(l, START + USEC_PER_HOUR, 10));
    CHECK_INT(after.fired, START + 101);
    CHECK_INT(loop_now(l), START + USEC_PER_HOUR);
    /* Time does not go back. */
    CHECK(loop_run_until(l, START, 10));
    CHECK_INT(loop_now(l), START + USEC_PER_HOUR);
    loop_free(l);
}

static struct loop *redefer_loop;

static void on_redefer(struct loop_task *t)
{
    loop_defer(redefer_loop, LOOP_APPLY, t);
}

TEST(run_until_reports_a_task_that_never_rests)
{
    struct loop *l = redefer_loop = loop_new_virtual(1, WALL);
    struct loop_task t;
    loop_task_init(&t, on_redefer);
    loop_defer(l, LOOP_APPLY, &t);
    CHECK_INT(loop_next_due(l), START);
    CHECK(!loop_run_until(l, START + 10, 1000));
    CHECK_INT(loop_iterations(l), 1000);
    CHECK_INT(loop_now(l), START);
    loop_free(l);
}

TEST(run_until_reports_a_timer_that_never_rests)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct tick a;
    tick_init(l, &a, 'a', NULL);
    a.left = 1000000;
    loop_timer_set(&a.timer, START);
    CHECK(!loop_run_until(l, START + 10, 500));
    CHECK_INT(loop_iterations(l), 500);
    loop_free(l);
}

TEST(run_until_allows_exactly_the_iterations_given)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct tick a;
    tick_init(l, &a, 'a', NULL);
    a.left = 9;
    a.every = 3;
    loop_timer_set(&a.timer, START);
    CHECK(loop_run_until(l, START + USEC_PER_SEC, 10));
    CHECK_INT(loop_iterations(l), 10);
    CHECK_INT(a.fired, START + 27);
    loop_free(l);
}

static void on_stop(struct loop_timer *t)
{
    loop_stop(t->loop, 4);
}

TEST(stop_ends_a_virtual_run_where_it_is)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct loop_timer stop;
    struct tick later;
    loop_timer_init(l, &stop, on_stop);
    tick_init(l, &later, 'a', NULL);
    loop_timer_set(&stop, START + 10);
    loop_timer_set(&later.timer, START + 20);
    CHECK_INT(loop_run(l), 4);
    CHECK_INT(loop_now(l), START + 10);
    loop_timer_set(&stop, START + 15);
    CHECK(loop_run_until(l, START + 30, 10));
    CHECK_INT(loop_now(l), START + 15);
    CHECK(loop_run_until(l, START + 30, 10));
    CHECK_INT(later.fired, START + 20);
    loop_free(l);
}

TEST(the_virtual_loop_has_no_descriptors_and_no_signals)
{
    struct loop *l = loop_new_virtual(1, WALL);
    struct err err = ERR_INIT;
    struct loop_io io = {.fd = 0, .events = LOOP_READ};
    struct loop_signal s = {.signo = 2};
    CHECK_INT(loop_io_add(l, &io, &err), ERR_UNSUPPORTED);
    CHECK_INT(loop_signal_add(l, &s, &err), ERR_UNSUPPORTED);
    loop_io_set(&io, 0);
    loop_io_remove(&io);
    loop_signal_remove(&s);
    loop_free(l);
}

/* ---- chance ---- */

static bool tie_goes_to_first(uint64_t seed)
{
    struct loop *l = loop_new_virtual(seed, WALL);
    struct strbuf trace = STRBUF_INIT(16);
    struct tick a, b;
    tick_init(l, &a, 'a', &trace);
    tick_init(l, &b, 'b', &trace);
    loop_timer_set(&a.timer, START + 5);
    loop_timer_set(&b.timer, START + 5);
    loop_run(l);
    CHECK_INT(trace.len, 2);
    bool first = trace.p[0] == 'a';
    strbuf_done(&trace);
    loop_free(l);
    return first;
}

TEST(timers_due_together_fire_in_seeded_order)
{
    int first = 0;
    for (uint64_t seed = 0; seed < 200; seed++)
        first += tie_goes_to_first(seed);
    /* A fair coin falls outside this once in 10^9 times; the seeds are fixed. */
    CHECK(first > 55 && first < 145);
}

TEST(randomness_comes_from_the_seed_alone)
{
    struct loop *a = loop_new_virtual(7, WALL), *b = loop_new_virtual(7, 0),
                *c = loop_new_virtual(8, WALL);
    struct tick k;
    tick_init(b, &k, 'a', NULL);
    loop_timer_set(&k.timer, START); /* what the machine draws does not disturb what we draw */
    uint64_t x = loop_random_u64(a);
    CHECK(x == loop_random_u64(b));
    CHECK(x != loop_random_u64(c));
    unsigned char p[33] = {0}, q[33] = {0};
    loop_random(a, p, 32);
    loop_random(b, q, 32);
    CHECK(memcmp(p, q, 33) == 0);
    CHECK_INT(p[32], 0);
    loop_free(a);
    loop_free(b);
    loop_free(c);
}

/* ---- jobs ---- */

struct vjob {
    struct loop_job job;
    struct loop *l;
    struct strbuf *trace;
    int id;
    usec ran, done;
    struct vjob *cancels;
};

static void vjob_run(struct loop_job *lj)
{
    struct vjob *j = container_of(lj, struct vjob, job);
    j->ran = loop_now(j->l);
    strbuf_printf(j->trace, "r%d ", j->id);
}

static void vjob_done(struct loop_job *lj)
{
    struct vjob *j = container_of(lj, struct vjob, job);
    j->done = loop_now(j->l);
    strbuf_printf(j->trace, "d%d ", j->id);
    if (j->cancels)
        loop_job_cancel(&j->cancels->job);
}

static struct vjob vjob_make(struct loop *l, int id, struct strbuf *trace)
{
    return (struct vjob){.job = {.run = vjob_run, .done = vjob_done},
                         .l = l,
                         .trace = trace,
                         .id = id,
                         .ran = -1,
                         .done = -1};
}

TEST(a_virtual_job_completes_after_a_seeded_delay)
{
    int early = 0, late = 0;
    usec least = INT64_MAX, most = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct loop *l = loop_new_virtual(seed, WALL);
        struct strbuf trace = STRBUF_INIT(64);
        struct vjob j = vjob_make(l, 1, &trace);
        loop_submit(l, LOOP_DISK, &j.job);
        CHECK_INT(j.done, -1);
        CHECK_INT(loop_run(l), -1);
        CHECK_CSTR(strbuf_str(&trace), "r1 d1 ");
        early += j.ran == START;
        late += j.ran == j.done;
        least = MIN(least, j.done - START);
        most = MAX(most, j.done - START);
        strbuf_done(&trace);
        loop_free(l);
    }
    CHECK(least >= 100 && least < 200);
    CHECK(most <= 2000 && most > 1900);
    /* The effect is on disk before a crash in between, or it is not. */
    CHECK_INT(early + late, 500);
    CHECK(early > 100 && late > 100);
}

TEST(virtual_jobs_of_one_worker_run_and_complete_in_order)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct loop *l = loop_new_virtual(seed, WALL);
        struct strbuf trace = STRBUF_INIT(4096), other = STRBUF_INIT(4096);
        struct vjob disk[10], block[10];
        for (int i = 0; i < 10; i++) {
            disk[i] = vjob_make(l, i, &trace);
            block[i] = vjob_make(l, i, &other);
            loop_submit(l, LOOP_DISK, &disk[i].job);
            loop_submit(l, LOOP_BLOCK, &block[i].job);
        }
        loop_run(l);
        for (int i = 0; i < 10; i++) {
            usec before = i ? disk[i - 1].done : START;
            CHECK(disk[i].done >= before + 100 && disk[i].done <= before + 2000);
            CHECK(disk[i].ran >= before && disk[i].ran <= disk[i].done);
            CHECK(block[i].done >= (i ? block[i - 1].done : START) + 100);
        }
        strbuf_done(&trace);
        strbuf_done(&other);
        loop_free(l);
    }
}

TEST(a_cancelled_virtual_job_frees_its_worker)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct loop *l = loop_new_virtual(seed, WALL);
        struct strbuf trace = STRBUF_INIT(256);
        struct vjob a = vjob_make(l, 1, &trace), b = vjob_make(l, 2, &trace),
                    c = vjob_make(l, 3, &trace), d = vjob_make(l, 4, &trace);
        loop_submit(l, LOOP_DISK, &a.job);
        loop_submit(l, LOOP_DISK, &b.job);
        loop_submit(l, LOOP_DISK, &c.job);
        loop_submit(l, LOOP_DISK, &d.job);
        b.cancels = &c;
        loop_job_cancel(&a.job);
        loop_job_cancel(&a.job);
        CHECK_INT(loop_run(l), -1);
        CHECK_INT(a.done, -1);
        CHECK_INT(c.done, -1);
        CHECK(b.done > START && d.done > b.done);
        strbuf_done(&trace);
        loop_free(l);
    }
}

TEST(freeing_a_virtual_loop_forgets_timers_tasks_and_jobs)
{
    struct loop *l = redefer_loop = loop_new_virtual(3, WALL);
    struct strbuf trace = STRBUF_INIT(256);
    struct vjob a = vjob_make(l, 1, &trace), b = vjob_make(l, 2, &trace);
    struct tick k;
    struct loop_task t;
    tick_init(l, &k, 'k', NULL);
    loop_task_init(&t, on_redefer);
    loop_timer_set(&k.timer, START + 1);
    loop_defer(l, LOOP_SYNC, &t);
    loop_submit(l, LOOP_DISK, &a.job);
    loop_submit(l, LOOP_DISK, &b.job);
    loop_free(l);
    CHECK(!loop_timer_is_set(&k.timer));
    loop_timer_cancel(&k.timer);
    loop_task_cancel(&t);
    loop_job_cancel(&a.job);
    loop_job_cancel(&b.job);
    CHECK_INT(a.done, -1);
    CHECK_INT(k.fired, -1);
    strbuf_done(&trace);
}

/* ---- whole runs ---- */

/* A small program that leans on everything: timers that collide, tasks of all phases, jobs that
 * start jobs, random numbers that decide what comes next. */
struct program {
    struct loop *l;
    struct strbuf trace;
    struct actor {
        struct program *p;
        struct loop_timer timer;
        struct loop_task task;
        struct loop_job job;
        int id, steps;
    } actors[8];
};

static void note(struct actor *a, const char *what)
{
    strbuf_printf(&a->p->trace, "%lld %d %s\n", (long long)loop_now(a->p->l), a->id, what);
}

static void program_step(struct actor *a)
{
    if (a->steps-- <= 0)
        return;
    uint64_t r = loop_random_u64(a->p->l);
    switch (r % 3) {
    case 0:
        loop_timer_set(&a->timer, loop_now(a->p->l) + (usec)(r >> 8) % 4 * 1000);
        break;
    case 1:
        loop_defer(a->p->l, r / 3 % LOOP_PHASES, &a->task);
        break;
    default:
        loop_submit(a->p->l, r / 3 % LOOP_WORKERS, &a->job);
    }
}

static void program_on_timer(struct loop_timer *t)
{
    struct actor *a = container_of(t, struct actor, timer);
    note(a, "timer");
    program_step(a);
}

static void program_on_task(struct loop_task *t)
{
    struct actor *a = container_of(t, struct actor, task);
    note(a, "task");
    program_step(a);
}

static void program_on_run(struct loop_job *j)
{
    note(container_of(j, struct actor, job), "run");
}

static void program_on_done(struct loop_job *j)
{
    struct actor *a = container_of(j, struct actor, job);
    note(a, "done");
    program_step(a);
}

static struct strbuf run_program(uint64_t seed)
{
    struct program p = {.l = loop_new_virtual(seed, WALL)};
    strbuf_init(&p.trace, 1 << 20);
    for (int i = 0; i < 8; i++) {
        struct actor *a = &p.actors[i];
        *a = (struct actor){.p = &p, .id = i, .steps = 50};
        loop_timer_init(p.l, &a->timer, program_on_timer);
        loop_task_init(&a->task, program_on_task);
        a->job = (struct loop_job){.run = program_on_run, .done = program_on_done};
        loop_timer_set(&a->timer, START + 10);
    }
    CHECK_INT(loop_run(p.l), -1);
    CHECK(!p.trace.overflow);
    loop_free(p.l);
    return p.trace;
}

TEST(one_seed_gives_one_run_byte_for_byte)
{
    for (uint64_t seed = 1; seed <= test_cases(20); seed++) {
        struct strbuf a = run_program(seed), b = run_program(seed), c = run_program(~seed);
        CHECK(a.len > 8 * 50 * 4);
        CHECK_STR(strbuf_str(&a), strbuf_str(&b));
        CHECK(!str_eq(strbuf_str(&a), strbuf_str(&c)));
        strbuf_done(&a);
        strbuf_done(&b);
        strbuf_done(&c);
    }
}

/* ---- timers against a model ---- */

#define N_TIMERS 40

struct model {
    struct loop *l;
    struct tick ticks[N_TIMERS];
    usec due[N_TIMERS]; /* -1: not set */
    usec last;
    int fired;
};

static struct model *the_model;

/* Whoever fires is due and set, nobody else is due earlier, and time only grows. */
static void model_on_tick(struct loop_timer *t)
{
    struct model *m = the_model;
    size_t me = (size_t)(container_of(t, struct tick, timer) - m->ticks);
    usec now = loop_now(m->l);
    CHECK(m->due[me] == now);
    for (size_t i = 0; i < N_TIMERS; i++)
        CHECK(m->due[i] < 0 || m->due[i] >= m->due[me]);
    CHECK(now >= m->last);
    m->last = now;
    m->due[me] = -1;
    m->fired++;
    size_t other = rng_below(test_rng(), N_TIMERS);
    switch (rng_below(test_rng(), 4)) {
    case 0:
        loop_timer_cancel(&m->ticks[other].timer);
        m->due[other] = -1;
        break;
    case 1:
    case 2:
        m->due[other] = now + 1 + (usec)rng_below(test_rng(), 20);
        loop_timer_set(&m->ticks[other].timer, m->due[other]);
        break;
    }
}

TEST(timers_agree_with_a_model_under_random_moves)
{
    for (size_t n = 0; n < test_cases(50); n++) {
        struct model m = {.l = loop_new_virtual(n, WALL)};
        the_model = &m;
        for (size_t i = 0; i < N_TIMERS; i++) {
            loop_timer_init(m.l, &m.ticks[i].timer, model_on_tick);
            m.due[i] = START + 1 + (usec)rng_below(test_rng(), 30);
            loop_timer_set(&m.ticks[i].timer, m.due[i]);
        }
        CHECK(loop_run_until(m.l, START + 400, 100000));
        CHECK(m.fired >= 10);
        for (size_t i = 0; i < N_TIMERS; i++) {
            CHECK(loop_timer_is_set(&m.ticks[i].timer) == (m.due[i] >= 0));
            CHECK(m.due[i] < 0 || m.due[i] > START + 400);
        }
        loop_free(m.l);
    }
}
