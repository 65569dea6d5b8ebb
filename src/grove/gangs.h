/*
 * PodGangMaps as everybody reads them: which gangs an entry means, and what they are called.
 *
 * A map has entries, each a batch of gangs made at one time (its epoch, in nanoseconds, only ever
 * compared) and of one role:
 *
 *   Anchor     one gang of all that the entry holds
 *   Tail       a gang for each replica of a group in it, and one for the pods of each clique; they
 *              wait for anchors (dependsOn)
 *   ScaleOut   the same, of what scaling added later
 *
 * For example the map svc-0 with
 *
 *   {epoch: "7", role: Anchor, podCliques: {fe: 3}, pcsgReplicaIndices: {pf: [0]}}
 *   {epoch: "8", role: Tail, pcsgReplicaIndices: {pf: [1, 2]}, dependsOn: ["7"]}
 *
 * means the gangs svc-0-7, svc-0-8-pf-1 and svc-0-8-pf-2. A gang is never renamed. What had another
 * name when its entry was made keeps it; the map says so in its annotation grove.io/gang-names:
 *
 *   {"first": {"through": "8", "above": {"pf": 1}}, "numbered": {"through": "9"}}
 *
 * Entries up to the epoch of "first" have the names that a replica starts with: svc-0, svc-0-pf-0
 * and svc-0-pf-1, counted above the minimum of each group. Those up to the epoch of "numbered" have
 * one gang each, called svc-0-<epoch> whatever its role: version 0.1.0 made them, whose maps had
 * entries with a name instead of an epoch. Such maps are read, too. Names are fitted into the label
 * that names the gang; those up to the epoch "whole" of "numbered" are older than that.
 */
#ifndef GROVE_GANGS_H
#define GROVE_GANGS_H

#include "base/arena.h"
#include "grove/types.h"

#define ANNOTATION_GANG_NAMES "grove.io/gang-names"
/* The highest epoch that a map has ever had, where that entry is gone. */
#define ANNOTATION_LAST_EPOCH "grove.io/last-epoch"

enum gang_role { GANG_ANCHOR, GANG_TAIL, GANG_SCALE_OUT };
const char *gang_role_name(enum gang_role role);
/* False: no such role. */
bool gang_role_read(str text, enum gang_role *ret);

/* The number that an epoch is; -1: it is none. */
int64_t epoch_read(str text);
/* Epochs below are made up, for gangs older than their map; all others are times. */
#define EPOCH_FIRST_TIME INT64_C(1000000000000)

/* What the annotation says; zeros: all gangs have the names that follow from their epochs. */
struct gang_names {
    int64_t first, numbered, whole;
    jval above; /* minimum by group */
};
/* Lives in the arena; of a map of version 0.1.0 it follows from its entries. */
struct gang_names gang_names_read(struct arena *a, const struct obj *map);

/* The annotation; empty: none is needed. */
str gang_names_text(struct arena *a, const struct gang_names *n);
/* The epoch in a name that version 0.1.0 gave, -1: there is none, the gang is older than its map.
 * whole: the name is not fitted into a label. */
int64_t epoch_of_name(str base, str name, bool *ret_whole);
/* A map of version 0.1.0. */
bool gang_map_is_old(const struct obj *map);

/* An entry of either kind of map, whose name is `base`; false: it makes no sense. */
struct gang_entry {
    enum gang_role role;
    int64_t epoch;
    str hash;
    jval cliques, groups;
};
bool gang_entry_read(jval entry, str base, struct gang_entry *ret);

/* All that the entry holds is one gang. */
bool gang_is_one(const struct gang_names *n, enum gang_role role, int64_t epoch);

/* What names of gangs of one component in one entry have in common: read once, used for each. */
struct gang_namer {
    str name;   /* whole, where there is but one gang */
    str prefix; /* else: what comes before the index */
    str first;  /* what comes before index - from, from there on; empty: none has such a name */
    int64_t from;
};
/* `part` is the component of a gang that is no anchor. */
struct gang_namer gang_namer(struct arena *a, str base, const struct gang_names *n,
                             enum gang_role role, int64_t epoch, str part, bool is_group);
str gang_name(struct arena *a, const struct gang_namer *n, int64_t index);

/* The gangs of a map, a list with a member for each:
 *
 *   {name, epoch, role, podCliqueSetGenerationHash, podCliques, pcsgReplicaIndices, dependsOn}
 *
 * with only its own share of the entry. Empty without a map. Lives in the arena. For those who look
 * at maps seldom; planners have gangmap.h. */
jval gang_list(struct arena *a, const struct obj *map);

#endif
