/*
 * Free room that pods above a minimum leave to gangs that wait for theirs.
 *
 * A gang is placed when its minimum fits, pods above it (the surplus) when there is room left. Room
 * seldom becomes free all at once: nodes are added or uncordoned one by one, pods end one by one.
 * If surplus took each node as it comes, a gang that needs two would wait for ever:
 *
 *   base gang: minimum 3, surplus 3; scaled gang: minimum 2; pods as large as nodes
 *
 *   nodes   surplus takes what is free       surplus leaves it to the scaled gang
 *   3       base 3                           base 3
 *   4       base 3, surplus 1                base 3, one node is free
 *   5       base 3, surplus 2                base 3, scaled 2
 *   6       base 3, surplus 3                base 3, scaled 2, surplus 1
 *   8       base 3, surplus 3, scaled 2      base 3, scaled 2, surplus 3
 *
 * The rule: while a gang waits for its minimum, surplus does not take the free room that this gang
 * could use, in the domain where it comes nearest to fitting: room for as many pods as it needs,
 * and no more. That holds for waiting gangs
 *
 *   - of the same priority as the surplus, or of a higher one
 *   - of the same queue, or of a queue that is not above its share
 *   - that would fit if others left: what not even an empty cluster holds keeps nobody waiting, nor
 *     does a gang that is at the limit of its queue, or held room in vain and pauses (hold.h)
 *   - as far as the free room is not held for them already (hold.h)
 *
 * The first YIELD_GANGS of them are asked, the most important and then the longest waiting first.
 *
 * Nobody waits for ever for a gang that does not come: surplus that has left room for
 * YIELD_PATIENCE while there came to be no more of it takes what it finds. Since the room that
 * waiting gangs can use is less than they need, it cannot grow for ever.
 *
 * A scaled gang is beyond the minimum of its set: in the same way it leaves room to base gangs of
 * its own set that wait. Other minimums pay no regard to any of this: they take whatever fits, in
 * the order of the round.
 */
#ifndef SCHED_PREEMPT_YIELD_H
#define SCHED_PREEMPT_YIELD_H

#include "sched/model/holds.h"
#include "sched/model/round.h"

#define YIELD_PATIENCE (60 * USEC_PER_SEC)
enum { YIELD_GANGS = 32 };

/* At the beginning of a round: surplus that left room is looked at when those to whom it did need
 * it no more, or its patience has ended. */
void yield_begin(struct round *r);

/* While the surplus of the question is placed, what it leaves to others is taken. */
void yield_take(struct round *r, struct ask *q);
void yield_give(struct round *r);
/* Then, of a leaf that is not placed whole: how many more of its pods would fit where it may go, if
 * they left nothing to others; 0: none, or nothing was left. */
int32_t yield_left(const struct round *r, const struct core_leaf *leaf, int32_t tree,
                   int32_t domain);
/* The same while room is sought for a gang together with its surplus, which is placed later. */
void yield_take_early(struct round *r, struct ask *q);
void yield_give_early(struct round *r);
/* To whom the surplus of the gang leaves room; NULL: to nobody. */
const struct tgang *yield_to(const struct round *r, struct tgang *g);

/* The same for the minimum of a scaled gang: what base gangs of its set could use is taken, for the
 * caller to undo. Returns the first of them, NULL: there is none, or its patience has ended. */
const struct tgang *yield_take_kin(struct round *r, struct tgang *g, struct core_result *ret);

/* The gang, or its surplus, left room. */
void yield_note(struct round *r, struct tgang *g);
/* What those who leave room are told. */
str yield_text(const struct tgang *to, struct arena *a);
/* At the end of a round. Something changed about those who wait: another one is needed. */
bool yield_end(struct round *r);

#endif
