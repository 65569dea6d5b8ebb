/*
 * What was refused in this round: gangs that ask the same get the same answer, without a search.
 * Replicas of a set that wait are often thousands.
 *
 * A question is what the core is asked, and for whom its tables stand open (queue, priority). An
 * answer is good until something is placed or becomes free; gangs for which room is held or kept
 * have tables of their own and are always asked.
 */
#ifndef SCHED_WHY_REFUSALS_H
#define SCHED_WHY_REFUSALS_H

#include "sched/model/round.h"
#include "sched/why/why.h"

struct refusal {
    str question;
    uint64_t growth, moves; /* of the tables, when it was given */
    struct core_cert cert;
    struct facts facts;
};

/* The question in bytes, of the round's arena; empty: it is to be asked in any case. */
str refusals_question(struct round *r, const struct ask *q);
/* NULL: not known. Valid until the next one is kept. */
const struct refusal *refusals_find(struct round *r, str question);
/* facts: of why_find. */
void refusals_keep(struct round *r, str question, const struct core_cert *cert,
                   const struct facts *facts);
/* What holds and others' room is like is different now. */
void refusals_forget(struct round *r);

#endif
