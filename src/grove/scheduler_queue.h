/*
 * The queue in which the pods of a set wait, where its scheduler has queues: the set's own word, or
 * that of its cliques, which must agree. Admission refuses what disagrees; the backends meet sets
 * from before that.
 */
#ifndef GROVE_SCHEDULER_QUEUE_H
#define GROVE_SCHEDULER_QUEUE_H

#include "json/doc.h"

#define KAI_QUEUE "kai.scheduler/queue"
#define VOLCANO_QUEUE "scheduling.grove.io/volcano-queue"

struct set_queue {
    str name;   /* empty: none is named */
    str other;  /* a clique's that differs; empty: all agree */
    str clique; /* the clique that says so */
    bool by_set;
};

/* by_label: labels count, before annotations. */
struct set_queue set_queue(jval pcs, const char *key, bool by_label);

#endif
