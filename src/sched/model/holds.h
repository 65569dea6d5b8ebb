/*
 * What the tables remember of gangs that wait and of those that leave room to them, and how it ends
 * when a gang or a node goes. Who may hold room is sched/place/hold.h, who leaves room to whom
 * sched/preempt/yield.h.
 */
#ifndef SCHED_MODEL_HOLDS_H
#define SCHED_MODEL_HOLDS_H

#include "sched/model/tables.h"

/* What is held is taken from the free room, or given back to it. */
void hold_take(struct tables *t, struct thold *h);
void hold_give(struct tables *t, struct thold *h);
/* News to those who were refused for it. */
void hold_say_free(struct tables *t, const struct thold *h);
/* The hold with this number ends. */
void hold_drop(struct tables *t, size_t i);
void hold_gang_gone(struct tables *t, const struct tgang *g);
void hold_node_lost(struct tables *t, int32_t node);
void hold_done(struct tables *t);

/* The gang does not wait any more for what was left to it, as far as is known. */
void yield_claim_ends(struct tables *t, struct tgang *g);
/* It leaves no room to others. */
void yield_forget(struct tables *t, struct tgang *g);

#endif
