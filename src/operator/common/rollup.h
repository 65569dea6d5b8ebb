/*
 * What the children of a set or of a scaling group amount to, replica by replica, kept up as they
 * change (folds of the caches, see client/cache.h): a status is a walk over an array of numbers,
 * not over objects.
 *
 * Children that are being deleted count as gone. Children of a set are its standalone cliques
 * and its scaling groups, those of a group its member cliques.
 */
#ifndef OPERATOR_COMMON_ROLLUP_H
#define OPERATOR_COMMON_ROLLUP_H

#include "client/controller.h"

struct rollup_replica {
    uint32_t children;
    uint32_t scheduled; /* cliques: their minimum is on nodes */
    uint32_t available; /* their minimum is ready; of a group: available */
    uint32_t serving;   /* the same of their minimum or of what is wanted, when that is less */
    uint32_t updated;   /* cliques: their pods are of the template their label names */
    uint32_t current;   /* cliques: updated and serving */
    uint32_t sound;     /* they say that their minimum is not breached */
    uint32_t ever;      /* cliques: had their minimum on nodes once */
    uint32_t units;     /* cliques: their pods that are updated; groups: replicas wanted */
    uint64_t names;     /* sum of rollup_hash of their names */
    uint64_t revision;  /* sum of rollup_hash of what template they are of */
    uint64_t pods;      /* cliques: sum of rollup_hash of their UIDs, once for each pod wanted */
};

struct rollup {
    VEC(struct rollup_replica) replicas; /* by index */
};

/* The indexes and folds, for one runtime; before it starts. */
void rollup_add_folds(struct runtime *r);
/* Children of this kind (PodClique or PodCliqueScalingGroup) of the owner with this UID. Borrowed
 * until the next change. */
const struct rollup *rollup_of(const struct world *w, const struct kind *k, str owner_uid);
/* Zeros beyond the end. */
struct rollup_replica rollup_at(const struct rollup *r, int64_t index);
/* The replica has this many children, and they are those whose names' hashes add up so. */
bool rollup_has(const struct rollup *r, int64_t index, size_t children, uint64_t names);
/* Some child belongs to a replica at or above this number. */
bool rollup_exceeds(const struct rollup *r, int64_t replicas);
/* A replica is of a revision when its sum is that of the hashes its children should carry: the
 * label of a clique, the generation hash in the status of a group. */
uint64_t rollup_hash(str hash);
/* The generation that a scaling group has realised; empty while its last pass is for another one:
 * what it said before that pass need not be so any more. */
str group_generation(const struct obj *pcsg);

/* Children that lost their minimum after they had had it, in name order; groups whose breach was
 * answered by gang termination are left out. */
struct cache_iter rollup_breached(const struct world *w, const struct kind *k, str owner_uid);

/* Children whose writes are refused (condition ReplicaFailure), in name order. */
#define CONDITION_REPLICA_FAILURE "ReplicaFailure"
struct cache_iter rollup_failing(const struct world *w, const struct kind *k, str owner_uid);

/* Had its minimum on nodes (clique) or available (group) once. Said by an explicit mark, not by
 * comparing times: a workload that breaks in its first seconds counts. */
bool clique_was_scheduled(const struct obj *pclq);
bool group_was_healthy(const struct obj *pcsg);
/* Condition of a group that marks that; it stays. */
#define CONDITION_EVER_HEALTHY "EverHealthy"
/* Condition of a group whose members were all made anew since it lost its minimum; goes when it has
 * it again. */
#define CONDITION_TERMINATING "GangTerminationInProgress"

/* PodGangs of the set with this UID that are not in phase Running, in name order. */
struct cache_iter gangs_not_running(const struct world *w, str pcs_uid);

/* Building blocks of the folds, for tests that count from scratch. */
void rollup_add(void *rollup, const struct obj *child);
void rollup_remove(void *rollup, const struct obj *child);
void rollup_done(void *rollup);

#endif
