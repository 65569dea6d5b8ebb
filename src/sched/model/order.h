/*
 * Who is placed before whom, in one total order: by priority; gangs that have pods on nodes first
 * (what they lack is missed); what has waited long; the elder set's replica; its base gang before
 * scaled ones; of these, of each scaling group in turn, the one that has the least of what it
 * wants; age and name. Base gangs of a set come before its scaled gangs that run nothing yet, of
 * whatever replica.
 */
#ifndef SCHED_MODEL_ORDER_H
#define SCHED_MODEL_ORDER_H

#include "sched/model/tables.h"

/* Reads what decides and sorts. */
void order_gangs(struct tables *t, struct tgang **gangs, size_t n, const struct world *w);
/* The base gang of a scaled one, if there; where a map of gangs rules, the oldest anchor of the
 * replica; else the gang itself. */
struct tgang *order_lead(struct tables *t, struct tgang *g);
/* Is it led by that one, which leads? */
bool order_follows(struct tables *t, struct tgang *g, const struct tgang *lead);
/* One of possibly many that its replica cannot be without. */
bool order_is_anchor(const struct tgang *g);
/* The number of the set's replica it is of, as its label says; empty: it says nothing. */
str order_replica(const struct tgang *g);
/* Its pods name a base gang. */
bool order_is_scaled(const struct tgang *g);

#endif
