/*
 * Which gang is in which queue, and what each queue uses: kept in the tables as pods come to nodes
 * and leave them. Who is next and who may claim what back is sched/quota/queue_quota.h.
 *
 * A gang is in the queue that its PodGang names by the label kai.scheduler/queue, else by that
 * annotation, else in the one that all its pods name; in "default" when nobody names one.
 */
#ifndef SCHED_MODEL_QUEUE_USAGE_H
#define SCHED_MODEL_QUEUE_USAGE_H

#include "sched/model/quota_config.h"
#include "sched/model/tables.h"

enum { QUOTA_UNREAD = -1, QUOTA_UNKNOWN = -2, QUOTA_CONFLICT = -3 };

void quota_init(struct tables *t);
void quota_done(struct tables *t);
/* The gang's queue, or why it has none; QUOTA_UNREAD without a configuration. */
int32_t quota_of(const struct tables *t, struct tgang *g);
/* The pod comes to a node, or leaves it. */
void quota_book(struct tables *t, const struct tpod *p, int sign);
/* The name of its queue; empty: nobody names one. False: its pods name several. */
bool quota_named(const struct tgang *g, str *ret);

#endif
