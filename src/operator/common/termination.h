/*
 * Gang termination: a gang that stays below its minimum for longer than terminationDelay is made
 * anew, so that its scheduler may find it another place. Two scopes: a replica of a set, when one
 * of its standalone cliques or scaling groups is in breach; a replica of a group, when some of its
 * members are and the group has enough others.
 *
 * The clock is the stored lastTransitionTime of MinAvailableBreached, so it survives restarts. An
 * episode has one deadline, and at the deadline everything that was there before it goes; what is
 * made after it is newer than the deadline and stays. So a breach is answered once, however often
 * the planner runs, however far it got the last time, and for however long there is no room.
 * Only what had its minimum once can be in breach; while an update runs the condition is Unknown
 * and there is none. A gang that is in breach time after time is answered later and later:
 * termination_backoff.h.
 */
#ifndef OPERATOR_COMMON_TERMINATION_H
#define OPERATOR_COMMON_TERMINATION_H

#include "grove/make.h"

/* Uses this stage and the two after it. True when that writes to the set itself: its status is then
 * left to the next plan. */
bool termination_plan_set(const struct world *w, const struct obj *pcs, unsigned stage,
                          struct plan *p);
/* To be called when the group has enough sound replicas beside those in breach; with fewer, the
 * replica of the set is in breach, and its planner decides. */
void termination_plan_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                            unsigned stage, struct plan *p);
/* Member gangTerminations of the set's status: those in a row, and when the next is due. */
void termination_write_status(const struct world *w, const struct obj *pcs, struct arena *a,
                              struct jw *j);

#endif
