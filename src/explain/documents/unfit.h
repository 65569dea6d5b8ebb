/*
 * What the scheduler wrote for programs about a gang that waits (status.unschedulable, described in
 * sched/why/why.h), as far as commands tell it: the verdict in one short sentence, and what is
 * alike among gangs that wait for the same. The whole story is the condition's message.
 */
#ifndef EXPLAIN_DOCUMENTS_UNFIT_H
#define EXPLAIN_DOCUMENTS_UNFIT_H

#include "explain/documents/picture.h"

/* Absent when it does not wait, or another scheduler's word is all there is. */
jval unfit_facts(const struct obj *gang);
/* Not a matter of room: the gang itself is wrong, or its queue has no more to give. */
bool unfit_is_wrong(jval facts);
/* "x-prefill: 40 of 60 pods fit, then the nodes lack nvidia.com/gpu"; without facts the message. */
str unfit_verdict(const struct obj *gang, struct arena *a);
/* Equal for gangs that wait for the same of the same; empty without facts. */
str unfit_key(jval facts, struct arena *a);

#endif
