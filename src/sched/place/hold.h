/*
 * Room that is held for gangs that wait, so that nobody who comes later takes it:
 *
 *   asked      others were asked to go for its sake (preempt.c); until they are gone it holds what
 *              they will leave, together with what is free already
 *   draining   nobody may be asked, and it has waited for HOLD_AFTER: it holds the room in which
 *              the fewest are in its way, as it becomes free. One gang of each queue does, and
 *              beyond the first no more than HOLD_SHARE of a hundred of what the cluster has.
 *
 * At most HOLDS_MAX at a time. Held room is closed to those after the holder in the order of the
 * round; those before it may have it. It is given back at the beginning of a round and taken again
 * in the holder's turn.
 *
 * A hold ends when its gang is placed, is gone or finds other room; and when for HOLD_PATIENCE
 * nobody left the nodes on which it waits: somebody does not go at all, and the cluster is not to
 * stand still for it. The gang then pauses for HOLD_PAUSE before it holds again, and others may
 * have the room meanwhile.
 */
#ifndef SCHED_PLACE_HOLD_H
#define SCHED_PLACE_HOLD_H

#include "sched/model/holds.h"
#include "sched/model/round.h"

#define HOLD_PATIENCE (300 * USEC_PER_SEC)
#define HOLD_PAUSE (60 * USEC_PER_SEC)
enum { HOLDS_MAX = 16, HOLD_SHARE = 50 };

/* The gang's; NULL: it holds nothing. Not kept across a call that changes holds. */
struct thold *hold_of(const struct tables *t, const struct tgang *g);
/* The gang may hold room now, asking others or not. */
bool hold_may(const struct round *r, struct tgang *g, bool asked);

/* How many pods of the class an empty cluster would hold. */
int64_t hold_most(struct tables *t, int32_t cls, int32_t tree);
/* Not even an empty cluster would hold what the certificate says is lacking. */
bool hold_is_hopeless(struct tables *t, int32_t tree, const struct core_cert *cert);
/* Tried: it would not fit if it were alone in the cluster. False: it would, or that is not certain.
 */
bool hold_never_fits(struct tables *t, const struct ask *q);

/* At the beginning of a round: what is held is given back and the holders are looked at, and those
 * who may come to hold room; at the end: what is not held again is anybody's. */
void hold_begin(struct round *r);
void hold_end(struct round *r);
/* Holds these from now on instead of what it held. `leave`: how many pods must go for it. */
void hold_set(struct round *r, struct tgang *g, const struct core_op *ops, size_t n, bool asked,
              size_t leave);
void hold_keep(struct round *r, struct thold *h);
/* It holds what it held: nothing has become better, and what it waits for is still to come. */
bool hold_again(struct round *r, const struct ask *q);

#endif
