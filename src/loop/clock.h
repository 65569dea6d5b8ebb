/*
 * clock: how long ago something was, whatever happens to the wall clock meanwhile.
 *
 * Objects carry wall times, and the wall clock is set: by NTP, by hand, when a machine wakes up. A
 * difference of two wall times is therefore no duration. The clock remembers in spans how wall and
 * monotonic time belonged together, and turns a wall time into a moment of a time that runs evenly.
 *
 *            span 0           │ span 1    │ span 2
 *   wall     ..., 11:58, 12:00│13:00,13:10│12:10, ...
 *   steady   ..., 11:58, 12:00│12:00,12:10│12:10, ...
 *
 * Steady time is monotonic time, moved so that it was wall time when the clock was made: it does
 * not pass while the machine sleeps. Differences of steady times are durations; what is decided
 * after a delay compares steady times and nothing else.
 *
 * Where a wall time says too little, the latest moment is taken that it can mean, so that a delay
 * may become longer and never shorter:
 *   - a time in whole seconds is the end of that second: people cut times off;
 *   - a time that the wall clock showed twice, because it was set back, is the second one;
 *   - a time that it never showed, because it was set forward, is when that was done;
 *   - of two spans that became one, because there are too many, it is the later one's.
 *
 * A record of the clock, kept by a process for the next one, makes this exact across a restart on
 * the same boot of a machine. From another machine or boot it says nothing; wall times are then
 * taken at their word.
 */
#ifndef LOOP_CLOCK_H
#define LOOP_CLOCK_H

#include "loop/loop.h"

enum { CLOCK_SPANS = 32 };

/* A time in which nobody set the clock. */
struct clock_span {
    usec from, to;  /* wall times it showed; the last span has no end yet */
    usec low, high; /* wall − monotonic, at the least and at the most */
};

/* The pure part. */
struct clock_table {
    struct clock_span spans[CLOCK_SPANS];
    size_t n;
    usec offset; /* wall − monotonic, when the last span began */
    usec seen;   /* monotonic: it was so until then at least */
};

void clock_table_init(struct clock_table *t, usec now, usec wall);
/* The clocks as they are. True: the wall clock was set, after `since` (monotonic). */
bool clock_table_look(struct clock_table *t, usec now, usec wall, usec since);
/* Monotonic; of a time that was between `wall` and `latest`. A time to come is one that the clock
 * has yet to show. */
usec clock_table_moment(const struct clock_table *t, usec now, usec wall, usec latest);
/* What the wall clock showed at a moment. */
usec clock_table_shown(const struct clock_table *t, usec moment);
/* One line of text; boot: whose monotonic time it is. */
void clock_table_write(const struct clock_table *t, str boot, usec now, struct strbuf *out);
/* Goes on from a record; false, and as it was, when that is of another boot or no record. */
bool clock_table_read(struct clock_table *t, str record, str boot, usec now, usec wall);

/* ---- the clock of a process ---- */

struct clock;

struct clock_listener {
    struct list link;
    void (*fn)(struct clock_listener *l);
};

/* by: simulations; how much this process's wall clock is ahead of the loop's. */
struct clock *clock_new(struct loop *l, usec by);
void clock_free(struct clock *c);

usec clock_wall(const struct clock *c);
usec clock_steady(const struct clock *c);
/* When this wall time was, as steady time; the latest it may have been. */
usec clock_moment(const struct clock *c, usec wall);
/* The same of a time that was not cut off. */
usec clock_moment_exact(const struct clock *c, usec wall);
/* The other way round: what the wall clock showed at a moment of steady time. */
usec clock_shown(const struct clock *c, usec moment);
/* The latest a wall time may mean: the end of its second, where it says no more. */
usec clock_latest(usec wall);

/* Told after the wall clock was set. */
void clock_listen(struct clock *c, struct clock_listener *l);
void clock_unlisten(struct clock_listener *l);

void clock_save(const struct clock *c, struct strbuf *out);
/* What the process before us saved; anything else is ignored. */
void clock_restore(struct clock *c, str record);

/* Simulations: this process alone has its clock set by so much. */
void clock_set_by(struct clock *c, usec by);
/* Simulations: the loop's clock is set by so much next, and this one is another machine's. */
void clock_stay(struct clock *c, usec by);

#endif
