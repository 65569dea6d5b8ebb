/*
 * Updates of a set: which replicas are at work, which stored revision each replica is to be of, and
 * what the set's status says about it. What is done inside a replica is the business of the
 * strategies:
 *
 *   RollingRecreate   update_pods.c (standalone cliques), update_group.c (scaling groups)
 *   OnDelete          nobody does anything; templates are put in place, users delete pods
 *   Coherent          its own files; the rows of update_engine say how it joins in
 *
 * The state of an update is in the set's status and nowhere else:
 *
 *   updateProgress            start, end, counters, partition, when something moved last
 *     .currentlyUpdating[]    replicas at work; at most maxConcurrentReplicas without an end
 *   lastCompleteGenerationHash   the last revision that all replicas were of
 *
 * An update starts when the hash of the template is another one, or when partition moves. A replica
 * is published as being at work only when its own cliques carry the template it goes to; whoever
 * takes something away asks update_rolls(). A change in the middle keeps the replicas at work where
 * they are, so that never more of them are at work than allowed.
 *
 * A replica below `partition` is to be of the last complete revision, the others of the current
 * one; "done", "labelled" and the like are always meant against what that replica is to be of.
 *
 * All pure functions of the caches.
 */
#ifndef OPERATOR_COMMON_UPDATE_H
#define OPERATOR_COMMON_UPDATE_H

#include "operator/common/clique.h"

/* Said by users on the set, beside ANNOTATION_PAUSED. */
#define ANNOTATION_ROLLBACK_TO "grove.io/rollback-to" /* number of a revision; 0: the last one */
/* On the templates of cliques: another value makes their pods anew. */
#define ANNOTATION_RESTARTED_AT "grove.io/restartedAt"

enum update_strategy { UPDATE_RECREATE, UPDATE_ON_DELETE, UPDATE_COHERENT };
enum update_strategy update_strategy_of(const struct obj *pcs);

bool update_is_paused(const struct obj *pcs);
/* An update of the set has begun and not ended. */
bool update_is_running(const struct obj *pcs);
/* The replica is at work: in currentlyUpdating, without an end. Its gangs are not terminated. */
bool update_holds(const struct obj *pcs, int64_t replica);
/* It is, and serving units of it may be taken away now: not paused, and not by hand only. */
bool update_rolls(const struct obj *pcs, int64_t replica);
/* Replicas below this number stay what they are. */
int64_t update_partition(const struct obj *pcs);
int64_t update_max_concurrent(const struct obj *pcs);

/* The stored revision that the children of a replica are to be of; NULL: not stored yet, and
 * nothing may name it. */
const struct obj *update_revision(const struct world *w, struct arena *a, const struct obj *pcs,
                                  int64_t replica);
/* What replicas below the partition are to be of; NULL: nobody is held, or it is not known any
 * more.
 */
const struct obj *update_held_revision(const struct world *w, struct arena *a,
                                       const struct obj *pcs);
/* The revision that a member of a scaling group stays of: members are not changed in place while
 * somebody rolls them, they are made anew. `target` when that is what it carries, or when nobody
 * knows what it carries. */
const struct obj *update_revision_of_member(const struct world *w, struct arena *a,
                                            const struct obj *pcs, const struct obj *pclq,
                                            str clique, const struct obj *target);
/* The clique as the revision has it; absent: it has none of that name. */
jval update_stored_clique(const struct obj *revision, str clique);
/* Makes the place carry what the revision says: the hash, and its labels, annotations and pod spec
 * where the set's template says otherwise by now. */
void update_place(struct clique_place *place, const struct obj *revision, bool is_current);

/* Pods among those counted that are of this revision. */
struct tally;
int64_t update_pods_named(const struct tally *t, const struct obj *revision, str clique);
/* It runs and lost its readiness only a moment ago: no reason to count it among the unhealthy
 * for *ret_left. One that was never ready has none to find again. */
bool update_pod_flaps(const struct world *w, const struct obj *pod, usec *ret_left);

/* When what began at `started`, and replaced something, has ended: now. Times are of whole seconds,
 * so what ended within the second it began in is said to have ended in the next one. */
str update_end_time(struct arena *a, str started, usec now);

/* The last pass of a clique or group ended only a moment ago: what it took need not have come back
 * for *ret_left, and is not to be taken for something that has no room. */
bool update_settles(const struct world *w, const struct obj *component, usec *ret_left);

/* ---- the set's status ---- */

/* What children of a replica add up to when all are of a revision (rollup.h). */
struct update_target {
    const struct obj *revision; /* NULL: not stored yet */
    str hash;                   /* of the generation */
    uint64_t clique_sum, group_sum;
};

struct update_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    struct pcs_view set;
    uint32_t n_cliques, n_groups; /* of a replica: standalone ones, groups */
    struct update_target current, held;
    int64_t partition;
};

void update_work_init(struct update_work *u, const struct world *w, const struct obj *pcs,
                      struct plan *p);
const struct update_target *update_target_of(const struct update_work *u, int64_t replica);

/* What a strategy has to say about a replica. Rows by enum update_strategy, in update_status.c. */
struct update_engine {
    /* Everything of the replica is of its revision and serves. */
    bool (*replica_done)(const struct update_work *u, int64_t replica);
    /* Further members of its entry in currentlyUpdating; NULL: none. */
    void (*replica_status)(const struct update_work *u, int64_t replica, struct jw *w);
    /* Further members of updateProgress; `began`: with this plan. NULL: none. */
    void (*set_status)(const struct update_work *u, bool began, struct jw *w);
};
/* All children are there, carry the hashes, their pods too, and every minimum is ready. */
bool update_replica_is_done(const struct update_work *u, int64_t replica);

/* Writes updateProgress, rollingUpdateProgress and lastCompleteGenerationHash into the status and
 * says what condition Progressing is; status NULL: as it was. *ret_updating: an update is under way
 * after this. Asks to look again when the deadline of progress comes. */
struct condition update_plan_status(const struct update_work *u, struct jw *w, bool *ret_updating);

/* Which replicas come next: none of whose pods is on a node, then those in breach, then by number.
 * Sorts. */
struct update_candidate {
    int64_t replica;
    bool scheduled, breached;
};
void update_order(struct update_candidate *c, size_t n);

/* ---- undo ---- */

/* Does what ANNOTATION_ROLLBACK_TO asks for, or autoRollback. True when that writes to the set. */
bool update_plan_undo(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);

#endif
