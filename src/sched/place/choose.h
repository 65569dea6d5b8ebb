/*
 * Which of a group's waiting pods make up its minimum: any will do, as long as there are enough.
 *
 * In the order of their names, unless that is in vain. Pods that no node will do for, whatever it
 * has (a claim that cannot be judged, say), are set aside where the group has enough others: they
 * wait for themselves, and hold nobody up. When the gang finds no room with the first pods of a
 * group, and others of it ask for something else, those are tried that the cluster has room for;
 * then each kind in turn.
 */
#ifndef SCHED_PLACE_CHOOSE_H
#define SCHED_PLACE_CHOOSE_H

#include "sched/model/ask.h"

/* Of a question just read. */
void choose_judged(struct ask *q, struct tables *t);
/* There is a choice: a group has pods of several kinds, and more than it needs. After
 * choose_judged. */
bool choose_is_open(const struct ask *q);
/* Another choice, by number, from 0; false: that were all. The question is to be asked anew. */
enum { CHOICES_MAX = 4 };
bool choose_again(struct ask *q, struct tables *t, size_t number, struct arena *a);

#endif
