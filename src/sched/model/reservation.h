/*
 * Room kept for those who replace others. When a pod of a living gang leaves its node, what it held
 * there stays taken, for nobody but the pods of its clique: for a second, since its successor may
 * not be made yet, and for two minutes when there is one to come. A rolling update finds its racks
 * again. A coherent one makes the pods of a clique anew in another gang of the set: room that the
 * old gang does not need goes to that one.
 *
 *   keep     the pod left; or it was on its way, and others of its gang have come: without the
 *            place that was found for it the gang would not be whole
 *   open     the gang's own question is asked: its room is free for the while; not while a pod of
 *            it is going, since then room is about to come for those who ask
 *   fill     pods go to their clique's room first, as far as it fits and what must be together is
 *   close    what was not used is taken again, unless nobody is to come any more
 *
 * Room is let go when its time is over, its node is lost, its gang is gone or must make room, or a
 * more important gang can be placed no other way. What is kept for longer than a moment is written
 * to the gang's status (reservation_store.c), so that a scheduler that starts finds it.
 *
 * Example. A gang fills a rack: 4 pods of clique w on nodes a and b, two each, and nothing else
 * fits there. Another gang waits for two places. An update deletes one pod of w on b.
 *
 *   0 ms     the pod leaves b: its place stays taken in the tables, as room of the gang for clique
 *            w. The gang that waits sees no free place.
 *   40 ms    the operator makes the successor, gated until the old pod has stopped. While it is to
 *            come, the room is kept for two minutes; nothing was written yet, for most pods are
 *            replaced within 200 ms.
 *   200 ms   the entry {podGroup: w, node: b, until, requests} is written to the gang's status.
 *   900 ms   the gate is lifted, the gang is asked for: open frees its room for the while, fill
 *            puts the successor on b first, close takes again what was not used (here nothing), and
 *            the entry is removed from the status.
 *
 * Had no successor come within a second (the clique was scaled in), the room would have been
 * anybody's, and the gang that waits would have been placed.
 *
 * Invariants. Kept room is never counted free for others and never counted twice for its gang: a
 * node's free amount is its total less pods less room kept. At most LEASES_MAX places are kept.
 */
#ifndef SCHED_MODEL_RESERVATION_H
#define SCHED_MODEL_RESERVATION_H

#include "sched/model/ask.h"

#define LEASE_TIME (120 * USEC_PER_SEC)
#define LEASE_GRACE (1 * USEC_PER_SEC)
/* Most pods are replaced sooner, and nothing is written for them. */
#define LEASE_STORE_AFTER (200 * USEC_PER_MSEC)
/* More at a time is no update but an upheaval: then everybody looks for room anew. */
enum { LEASES_MAX = 512 };

/* What the pod holds, to be asked before it leaves. */
struct tlease lease_of(const struct tpod *p);
/* False: it is not, and the room is anybody's. */
bool lease_keep(struct tables *t, const struct tpod *p, const struct tlease *room);
void lease_gang_gone(struct tables *t, struct tgang *g);
void lease_node_lost(struct tables *t, int32_t node);
/* Once in a round. Returns when the next one ends; 0: there are none. Steady time. */
usec lease_review(struct tables *t, usec now);

/* Cliques as numbers, by the label of their pods; 0 is none. */
uint64_t lease_clique(str label);
/* The gang may keep room at all. */
bool lease_is_for(const struct tgang *g);
void lease_add(struct tables *t, const struct tlease *l);

/* From gangs' statuses, when the tables are made. */
void lease_restore(struct tables *t, const struct world *w);
/* At the end of a round: what is kept is written where it differs from what is stored. */
void lease_store(struct tables *t, const struct world *w, struct plan *p);

void lease_open(struct tables *t, const struct tgang *g);
/* That of less important gangs; false when there is none. */
bool lease_open_below(struct tables *t, int64_t priority);
/* Everything that is open. */
void lease_close(struct tables *t);

/* Places what it can of the question; need and pins of the question follow. */
struct lease_fill {
    struct core_result result;
    struct core_leaf *leaves; /* the question as it was */
    struct core_scope *bundles;
    struct core_scope gang;
};
void lease_fill(struct ask *q, struct tables *t, struct arena *a, struct lease_fill *ret);
/* As it was before. */
void lease_unfill(struct ask *q, struct tables *t, struct lease_fill *f);
/* The pods are assigned: room that was used is no longer kept. */
void lease_settle(struct tables *t, const struct tgang *g, const struct core_op *ops, size_t n);

#endif
