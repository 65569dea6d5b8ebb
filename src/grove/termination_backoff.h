/*
 * How often gangs were terminated in a row (operator/common/termination.h), and how long a breach
 * lasts before the next time. A gang that is in breach again and again, whatever place it is given,
 * is not helped by a new one at the same pace for ever: every time in a row the delay is doubled,
 * up to sixteen times the delay that the set says, and to a day at most unless that delay is
 * longer.
 *
 * "In a row" ends when a gang is not in breach for as long as the delay of the set, and at least
 * for ten minutes, after it was made anew.
 *
 * What is counted is in an annotation of the set, written before anything is deleted, so that it
 * survives a restart; the set's status tells it:
 *
 *   {"<gang>": {"count": n, "at": time, "replica": i, "group": name, "copy": j}, ...}
 *
 * A gang is the replica P-i of the set, or the copy j of a group, "group-j"; "at" is the deadline
 * of the last breach that was answered. An entry that cannot matter any more is forgotten.
 */
#ifndef GROVE_TERMINATION_BACKOFF_H
#define GROVE_TERMINATION_BACKOFF_H

#include "client/controller.h"
#include "grove/make.h"

#define ANNOTATION_TERMINATIONS "grove.io/gang-terminations"
/* More are not counted: a set of which so many gangs fail has another problem. */
enum { TERMINATIONS_MAX = 500 };

struct termination_record {
    int64_t count; /* in a row */
    usec at;       /* deadline of the last; whole seconds, rounded up */
};

/* ---- breaches ---- */

/* terminationDelay of the set. */
usec termination_delay(const struct obj *pcs);
/* Since when a clique or group is below its minimum; 0: it is not. */
usec termination_breached_since(const struct obj *child);
/* When that is answered, in wall time as it stands; 0: it is not in breach. */
usec termination_deadline(const struct obj *pcs, const struct obj *child);

/* ---- the arithmetic ---- */

/* How long a breach lasts before it is answered, when so many were in a row before it. */
usec backoff_wait(usec delay, int64_t before);
/* A breach that began then is the one that was counted last. */
bool backoff_answers(struct termination_record r, usec since);
/* How many were in a row before a breach that began then. */
int64_t backoff_before(struct termination_record r, usec since, usec delay);
/* When it is forgotten. */
usec backoff_until(struct termination_record r, usec delay);

/* ---- as it is stored ---- */

/* The annotation; absent: nothing is counted. Lives in the arena. */
jval backoff_read(const struct obj *pcs, struct arena *a);
struct termination_record backoff_of(jval stored, str gang);
/* Of a gang that the owner (a set, or a group of it) has under this index. */
str backoff_gang(struct arena *a, const struct obj *owner, int64_t index);

/* A breach that is answered now. */
struct termination_now {
    const struct obj *owner;
    int64_t index;
    int64_t count; /* with this one */
    usec due;      /* steady time, as everything that is compared here */
};
/* The annotation with these, and without what is to be forgotten; empty: nothing is left. Tells
 * whether it is another one than before, and when one of its entries is forgotten (0: never). */
str backoff_text(const struct world *w, const struct obj *pcs, jval stored,
                 const struct termination_now *now, size_t n, usec delay, struct arena *a,
                 bool *ret_news, usec *ret_next);

#endif
