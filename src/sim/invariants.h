/*
 * What must hold at every single revision of a simulation, whatever the seed and the faults. Fed
 * with every event of the store in order; the first breach is kept with the time and the revision.
 *
 *   revisions  dense and rising; a version carries its revision; generations do not go back
 *   identity   while a name is held its UID and creation time stay, a deletion is not taken back,
 *              a pod does not change nodes
 *   capacity   the pods on a node ask for no more than it has
 *   indices    no two active pods of a clique have the same index, none has one beyond what its
 *              clique ever wanted
 *   gates      of the active pods of a clique with the same index at most one is without Grove's
 *              gate; this holds even where a create that happens long after its sender gave up on
 *              it makes a second one, which no sender can prevent
 *   replicas   how many there are of a clique or group is changed by users, and by autoscalers
 *              within their bounds
 *   deletes    nothing is deleted that nobody asked to delete: see inv_deletes.c for the reasons
 *   gangs      once the first pod of a gang is bound, its minimum is bound within the window: see
 *              inv_gangs.c
 *   updates    no more replicas of a set are at work than are allowed
 *   rolls      an update leaves every component its floor, makes nothing anew that did not change,
 *              and is not said to be over before it is: see inv_updates.c
 *   progress   what a status says about an update is about what the update changes, and says
 *              when it began and ended: see inv_progress.c
 *   delays     nothing that is to happen after a delay happens before: see inv_times.c
 *   running    no pod is let go while another one of its index still runs: see inv_pods.c
 *   names      no two pods of a clique's life have the same name
 *   starts     a pod starts after those that its clique starts after: see inv_starts.c
 *   versions   pods of one clique in one gang are of one version, and an update leaves a standalone
 *              clique its floor, where the strategy is Coherent: see inv_versions.c
 *
 * The checks judge by the objects alone and share no code with what they check.
 */
#ifndef SIM_INVARIANTS_H
#define SIM_INVARIANTS_H

#include "store/store.h"

struct invariants;

struct invariants_options {
    struct loop *loop;
    struct store *store;
    usec gang_window; /* 0: 60 s */
};

struct invariants *invariants_new(const struct invariants_options *o);
void invariants_free(struct invariants *v);
/* Leaves a check out; ERR_INVALID when there is none of that name. */
int invariants_disable(struct invariants *v, str name, struct err *err);

/* lag: how old what a component knows may be at this time. */
void invariants_event(struct invariants *v, const struct store_event *e, usec lag);
/* What is judged by time, up to now. */
void invariants_tick(struct invariants *v);
/* When an update of the set last moved, by the loop's own time; 0: never. */
usec invariants_moved(const struct invariants *v, const struct obj *pcs);
/* The first breach; code 0: none so far. */
const struct err *invariants_failure(const struct invariants *v);

/* From now on answers to writes may be lost, or not. */
void invariants_lose_answers(struct invariants *v, bool lose);
/* A component was stopped or started: it knows no more than what is written. */
void invariants_restarted(struct invariants *v);

/* What users ask for, told before they ask. */
void invariants_allow_delete(struct invariants *v, str uid);
void invariants_allow_replicas(struct invariants *v, const struct kind *k, str ns, str name,
                               int64_t replicas);

#endif
