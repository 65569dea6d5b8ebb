/* Elapsed time while the wall clock is set: the table as a pure function, then clocks on loops. */
#include "base/test.h"
#include "loop/clock.h"

#define S USEC_PER_SEC
#define MS USEC_PER_MSEC
#define H USEC_PER_HOUR
/* 12:00 of some day, and monotonic time then. */
#define NOON (1700000000 * S)
#define MONO (5000 * S)

/* ---- the table ---- */

struct moved {
    usec at; /* after noon, in time that runs evenly */
    usec by;
};

/* Steps of the clock, a wall time that was written, and how long ago it was, later. */
static const struct one {
    const char *what;
    struct moved steps[4];
    usec written; /* a moment, after noon; it is stored as the clock showed it */
    bool whole;   /* in whole seconds */
    usec asked;   /* a moment */
    usec least, most;
} cases[] = {
    {"nothing happens", {{0}}, 1 * S + 1, false, 11 * S + 1, 10 * S, 10 * S},
    {"whole seconds end late", {{0}}, 900 * MS, true, 10 * S, 9 * S, 9 * S},
    {"a whole second is never early", {{0}}, 0, true, 10 * S, 9 * S, 10 * S},
    {"forward", {{5 * S, H}}, 1 * S + 1, false, 11 * S + 1, 10 * S, 10 * S},
    {"back", {{5 * S, -H}}, 1 * S + 1, false, 11 * S + 1, 10 * S, 10 * S},
    {"forward, written after", {{5 * S, H}}, 6 * S + 1, false, 16 * S + 1, 10 * S, 10 * S},
    {"back, written after", {{5 * S, -H}}, 6 * S + 1, false, 16 * S + 1, 10 * S, 10 * S},
    {"forth and back", {{5 * S, H}, {7 * S, -H}}, 1 * S + 1, false, 11 * S + 1, 10 * S, 10 * S},
    {"back and forth", {{5 * S, -H}, {7 * S, H}}, 6 * S + 1, false, 16 * S + 1, 10 * S, 10 * S},
    {"back twice", {{5 * S, -H}, {7 * S, -H}}, 1 * S + 1, false, 11 * S + 1, 10 * S, 10 * S},
    {"forward twice", {{5 * S, H}, {7 * S, H}}, 6 * S + 1, false, 16 * S + 1, 10 * S, 10 * S},
    {"a second cut in two, forward", {{5 * S, H}}, 5 * S - 200 * MS, true, 15 * S, 9 * S, 10 * S},
    {"a second cut in two, back", {{5 * S, -H}}, 5 * S - 200 * MS, true, 15 * S, 9 * S, 10 * S},
    /* Written at 12:30, set back from 13:00 to 12:00; at 12:29 it is 59 min ago. At 12:40 it is
     * 1h10m ago, or 10 min: nobody knows which 12:30 was meant. */
    {"back, not reached", {{H, -H}}, H / 2 + 1, false, H / 2 * 3 - 60 * S, H - 61 * S, H},
    {"back, shown twice", {{H, -H}}, H / 2 + 1, false, H / 2 * 3 + 600 * S, 599 * S, H + 600 * S},
    {"too small for a step", {{5 * S, 200 * MS}}, 1 * S + 1, false, 11 * S + 1, 9 * S, 10 * S},
    {"small and back", {{5 * S, -200 * MS}}, 1 * S + 1, false, 11 * S + 1, 9 * S, 10 * S},
};

/* What the clock shows at a moment after noon. */
static usec shown(const struct one *c, usec moment)
{
    usec wall = NOON + moment;
    for (size_t i = 0; i < ARRAY_LEN(c->steps) && c->steps[i].by; i++)
        wall += c->steps[i].at <= moment ? c->steps[i].by : 0;
    return wall;
}

static usec elapsed(const struct clock_table *t, usec now, usec wall)
{
    return now - clock_table_moment(t, now, wall, clock_latest(wall));
}

TEST(elapsed_time_does_not_depend_on_steps)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct one *c = &cases[i];
        struct clock_table t;
        clock_table_init(&t, MONO, NOON);
        for (size_t k = 0; k < ARRAY_LEN(c->steps) && c->steps[k].by; k++) {
            usec at = c->steps[k].at;
            bool step = clock_table_look(&t, MONO + at, shown(c, at), MONO + at);
            CHECK_INT(step, c->steps[k].by > LOOP_WALL_STEP || c->steps[k].by < -LOOP_WALL_STEP);
        }
        usec wall = shown(c, c->written);
        if (c->whole)
            wall -= wall % S;
        usec e = elapsed(&t, MONO + c->asked, wall);
        if (e < c->least || e > c->most)
            test_note("%s: %lld us", c->what, (long long)e);
        CHECK(e >= c->least && e <= c->most);
        CHECK(e <= c->asked - c->written); /* longer delays, never shorter ones */
    }
}

TEST(times_the_clock_never_showed_are_of_when_it_was_set)
{
    struct clock_table t;
    clock_table_init(&t, MONO, NOON);
    CHECK(clock_table_look(&t, MONO + 5 * S, NOON + H + 5 * S, MONO + 5 * S));
    CHECK_INT(elapsed(&t, MONO + 15 * S, NOON + H / 2 + 1), 10 * S);
}

TEST(what_the_clock_showed_is_known)
{
    struct clock_table t;
    clock_table_init(&t, MONO, NOON);
    CHECK(clock_table_look(&t, MONO + 5 * S, NOON + H + 5 * S, MONO + 5 * S));
    CHECK(clock_table_look(&t, MONO + 9 * S, NOON - H + 9 * S, MONO + 9 * S));
    CHECK_INT(clock_table_shown(&t, MONO + 4 * S), NOON + 4 * S);
    CHECK_INT(clock_table_shown(&t, MONO + 6 * S), NOON + H + 6 * S);
    CHECK_INT(clock_table_shown(&t, MONO + 10 * S), NOON - H + 10 * S);
}

TEST(times_to_come_are_to_come)
{
    struct clock_table t;
    clock_table_init(&t, MONO, NOON);
    CHECK_INT(elapsed(&t, MONO, NOON + 10 * S + 1), -10 * S - 1);
    CHECK_INT(elapsed(&t, MONO, NOON + 10 * S), -11 * S);
    /* Set back: what was written before is no time to come. */
    CHECK(clock_table_look(&t, MONO + 20 * S, NOON - H, MONO + 20 * S));
    CHECK_INT(elapsed(&t, MONO + 20 * S, NOON + 10 * S + 1), 10 * S - 1);
    CHECK_INT(elapsed(&t, MONO + 20 * S, NOON + 2 * H + 1), -3 * H - 1);
}

/* Nobody looked for ten minutes, and the clock was set in one of them. */
TEST(a_step_that_is_noticed_late_makes_no_delay_shorter)
{
    struct clock_table t;
    clock_table_init(&t, MONO, NOON);
    CHECK(clock_table_look(&t, MONO + 600 * S, NOON + 600 * S + H, MONO));
    for (usec at = 1; at < 600 * S; at += 7 * S) { /* when something was written */
        CHECK(elapsed(&t, MONO + 700 * S, NOON + at) <= 700 * S - at);
        CHECK(elapsed(&t, MONO + 700 * S, NOON + H + at) <= 700 * S - at);
    }
}

/* Nor does one that may have been anywhere within a time longer than itself. */
TEST(a_step_that_is_noticed_very_late_makes_no_delay_shorter)
{
    static const usec by[] = {H, -H};
    for (size_t i = 0; i < ARRAY_LEN(by); i++) {
        struct clock_table t;
        clock_table_init(&t, MONO, NOON);
        CHECK(clock_table_look(&t, MONO + 10 * H, NOON + 10 * H + by[i], MONO));
        for (usec at = 1; at < 10 * H; at += 61 * S) {
            CHECK(elapsed(&t, MONO + 11 * H, NOON + at) <= 11 * H - at);
            CHECK(elapsed(&t, MONO + 11 * H, NOON + by[i] + at) <= 11 * H - at);
        }
    }
}

/* As many steps as there are moments, in all directions; then every time that was ever shown. */
TEST(too_many_steps_make_no_delay_shorter)
{
    enum { STEPS = 3 * CLOCK_SPANS };
    struct rng rng;
    usec walls[STEPS], moments[STEPS], wall = NOON;
    rng_seed(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct clock_table t;
        clock_table_init(&t, MONO, wall);
        usec now = MONO;
        for (int i = 0; i < STEPS; i++) {
            usec passed = 1 + (usec)rng_below(&rng, 100 * S);
            usec by = (usec)rng_below(&rng, 4 * H) - 2 * H;
            now += passed;
            wall += passed;
            walls[i] = wall;
            moments[i] = now;
            wall += by;
            (void)clock_table_look(&t, now, wall, now);
            CHECK(t.n <= CLOCK_SPANS);
        }
        for (int i = 0; i < STEPS; i++)
            CHECK(clock_table_moment(&t, now, walls[i], walls[i]) >= moments[i]);
    }
}

TEST(drift_makes_no_delay_shorter_and_none_much_longer)
{
    static const int64_t ppm[] = {500, -500};
    for (size_t k = 0; k < ARRAY_LEN(ppm); k++) {
        struct clock_table t;
        usec walls[4000];
        clock_table_init(&t, MONO, NOON);
        for (size_t i = 0; i < ARRAY_LEN(walls); i++) {
            usec now = MONO + (usec)i * S;
            walls[i] = NOON + (usec)i * S + (usec)i * ppm[k] + 1;
            (void)clock_table_look(&t, now, walls[i], now);
        }
        usec end = MONO + (usec)(ARRAY_LEN(walls) - 1) * S;
        for (size_t i = 0; i < ARRAY_LEN(walls); i++) {
            usec moment = MONO + (usec)i * S,
                 said = clock_table_moment(&t, end, walls[i], walls[i]);
            CHECK(said >= moment);
            CHECK(said <= moment + 3 * LOOP_WALL_STEP);
        }
    }
}

/* ---- records ---- */

static struct strbuf record_of(const struct clock_table *t, usec now)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    clock_table_write(t, STR("boot-1"), now, &b);
    return b;
}

TEST(the_next_process_of_the_same_boot_knows_the_steps)
{
    struct clock_table t, next;
    clock_table_init(&t, MONO, NOON);
    CHECK(clock_table_look(&t, MONO + 5 * S, NOON + H + 5 * S, MONO + 5 * S));
    struct strbuf b = record_of(&t, MONO + 6 * S);
    clock_table_init(&next, MONO + 10 * S, NOON + H + 10 * S);
    CHECK(clock_table_read(&next, strbuf_str(&b), STR("boot-1"), MONO + 10 * S, NOON + H + 10 * S));
    CHECK_INT(elapsed(&next, MONO + 11 * S, NOON + 1 * S + 1), 10 * S - 1);
    CHECK_INT(elapsed(&next, MONO + 11 * S, NOON + H + 7 * S + 1), 4 * S - 1);
    strbuf_done(&b);
}

/* While no process was there. */
TEST(a_step_between_two_processes_is_found)
{
    struct clock_table t, next;
    clock_table_init(&t, MONO, NOON);
    struct strbuf b = record_of(&t, MONO + 5 * S);
    clock_table_init(&next, MONO + 10 * S, NOON - H + 10 * S);
    CHECK(clock_table_read(&next, strbuf_str(&b), STR("boot-1"), MONO + 10 * S, NOON - H + 10 * S));
    CHECK_INT(next.n, 2);
    CHECK_INT(elapsed(&next, MONO + 11 * S, NOON + 1 * S + 1), 10 * S - 1);
    strbuf_done(&b);
}

TEST(records_of_others_say_nothing)
{
    struct clock_table t, was;
    clock_table_init(&t, MONO, NOON);
    CHECK(clock_table_look(&t, MONO + 5 * S, NOON + H + 5 * S, MONO + 5 * S));
    struct strbuf b = record_of(&t, MONO + 6 * S);
    clock_table_init(&was, MONO + 10 * S, NOON + 10 * S);
    was.spans[0].high++; /* another than what it would be made of */
    t = was;
    CHECK(!clock_table_read(&t, strbuf_str(&b), STR("boot-2"), MONO + 10 * S, NOON + 10 * S));
    CHECK(!clock_table_read(&t, strbuf_str(&b), STR("boot-1"), MONO + 5 * S, NOON + 10 * S));
    static const char *const bad[] = {
        "",
        "v1",
        "v2 boot-1 5000000000 -9223372036854775808:9223372036854775807:0:0",
        "v1 boot-1 5000000000 ",
        "v1 boot-1 5000000000 -9223372036854775808:9223372036854775807:0",
        "v1 boot-1 5000000000 -9223372036854775808:9223372036854775807:1:0",
        "v1 boot-1 5000000000 -9223372036854775808:7:0:0",
        "v1 boot-1 5000000000 7:9223372036854775807:0:0",
        "v1 boot-1 -5 -9223372036854775808:9223372036854775807:0:0",
        "v1 boot-1 5000000000 -9223372036854775808:9223372036854775807:0:9223372036854775807",
        "v1 boot-1 5000000000 -9223372036854775808:9223372036854775807:0:0,1:2:3:4,",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!clock_table_read(&t, str_of(bad[i]), STR("boot-1"), MONO + 10 * S, NOON + 10 * S));
    CHECK(memcmp(&t, &was, sizeof(t)) == 0);
    strbuf_done(&b);
}

/* ---- clocks on loops ---- */

struct heard {
    struct clock_listener listener;
    int n;
};

static void on_set(struct clock_listener *l)
{
    container_of(l, struct heard, listener)->n++;
}

TEST(clocks_of_a_virtual_loop_are_set_alone_or_together)
{
    struct loop *l = loop_new_virtual(1, NOON);
    struct clock *a = clock_new(l, 0), *b = clock_new(l, 0);
    struct heard ha = {.listener.fn = on_set}, hb = {.listener.fn = on_set};
    clock_listen(a, &ha.listener);
    clock_listen(b, &hb.listener);
    (void)loop_run_until(l, loop_now(l) + 5 * S, 10);
    clock_set_by(a, H);
    CHECK_INT(ha.n, 1);
    CHECK_INT(hb.n, 0);
    CHECK_INT(clock_wall(a) - clock_wall(b), H);
    loop_set_wall_by(l, -H);
    CHECK_INT(ha.n, 2);
    CHECK_INT(hb.n, 1);
    (void)loop_run_until(l, loop_now(l) + 5 * S, 10);
    CHECK_INT(clock_steady(a) - clock_moment(a, NOON + 1), 10 * S - 1);
    CHECK_INT(clock_steady(b) - clock_moment(b, NOON + 1), 10 * S - 1);
    CHECK_INT(clock_steady(a), NOON + 10 * S);
    clock_free(a);
    clock_free(b);
    loop_free(l);
}

TEST(a_machine_that_slept_has_not_waited)
{
    struct loop *l = loop_new_virtual(1, NOON);
    struct clock *c = clock_new(l, 0);
    usec boot = loop_boottime(l);
    loop_sleep(l, H);
    (void)loop_run_until(l, loop_now(l) + 5 * S, 10);
    CHECK_INT(clock_steady(c) - clock_moment(c, NOON + 1), 5 * S);
    CHECK_INT(clock_wall(c), NOON + H + 5 * S);
    CHECK_INT(loop_boottime(l) - boot, H + 5 * S);
    clock_free(c);
    loop_free(l);
}

static void on_stop(struct loop_timer *t)
{
    loop_stop(t->loop, 0);
}

static void run_for(struct loop *l, usec duration)
{
    struct loop_timer t;
    loop_timer_init(l, &t, on_stop);
    loop_timer_set(&t, loop_now(l) + duration);
    (void)loop_run(l);
}

TEST(a_real_loop_notices_that_the_clock_was_set)
{
    struct loop *l = loop_new_real(NULL);
    struct clock *c = clock_new(l, 0);
    struct heard h = {.listener.fn = on_set};
    clock_listen(c, &h.listener);
    usec written = clock_wall(c), begin = loop_now(l);
    run_for(l, 20 * MS);
    CHECK_INT(h.n, 0);
    loop_set_wall_by(l, -H);
    run_for(l, 20 * MS);
    CHECK_INT(h.n, 1);
    usec passed = loop_now(l) - begin, e = clock_steady(c) - clock_moment(c, written);
    CHECK(e <= passed + 5 * MS && e >= passed - 5 * MS);
    loop_set_wall_by(l, LOOP_WALL_STEP / 2); /* a correction */
    run_for(l, 20 * MS);
    CHECK_INT(h.n, 1);
    struct strbuf record = STRBUF_INIT(1 << 16);
    clock_save(c, &record);
    struct clock *next = clock_new(l, 0);
    clock_restore(next, strbuf_str(&record));
    passed = loop_now(l) - begin, e = clock_steady(next) - clock_moment(next, written);
    CHECK(e <= passed + 5 * MS && e >= passed - LOOP_WALL_STEP);
    strbuf_done(&record);
    clock_free(next);
    clock_free(c);
    loop_free(l);
}
