/*
 * The map of the gangs of one replica of a set (PodGangMap): which gang holds how many pods of each
 * standalone clique and which replicas of each scaling group, and of which version they are. It
 * exists for sets that update coherently; gangs, cliques and pods follow it.
 *
 * A component is what moves as one: a standalone clique, in pods, or a scaling group, in replicas
 * of the group. An entry of this map is a gang (grove/gangs.h says which gangs an entry of the
 * object means; those of one of its entries share epoch, role and hash). It has a part for each
 * component, in the order of the components; parts may be empty, entries are not. All of it lives
 * in an arena.
 */
#ifndef OPERATOR_COMMON_GANGMAP_H
#define OPERATOR_COMMON_GANGMAP_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "grove/gangs.h"
#include "json/splice.h"
#include "json/view.h"
#include "json/write.h"

struct gangmap_component {
    str name; /* of the template */
    bool is_group;
    bool in_scope; /* of the update under way */
    int64_t replicas, min_available, max_unavailable;
    int64_t ready;     /* units that serve now */
    int64_t max_surge; /* see surge_map.h; 0: it moves in place */
    int64_t surged;    /* units above replicas that the map is to hold now */
    /* See gangmap_room.h; mostly there are none. Units of the old version that have no room, and
     * that may yet come to a node; units in gangs that are set aside. */
    int64_t roomless, coming, aside;
};

/* What is known of a unit. */
enum gangmap_state { GANGMAP_DOWN = 1, GANGMAP_ROOMLESS = 2 };

struct gangmap_part {
    int64_t n; /* pods; of a group: length of indices */
    int32_t *indices;
    bool current; /* of the version the update goes to */
    /* Units that do not serve, and those of them that have no room. Pods; of a group: the state
     * per index, NULL: all serve. */
    int64_t pods_down, pods_roomless;
    unsigned char *index_state;
};

struct gangmap_entry {
    str name;      /* of the gang */
    str hash;      /* generation hash of the set its pods are of */
    int64_t epoch; /* those made together share it */
    enum gang_role role;
    bool anchor;     /* of that role */
    bool first;      /* it has a name that a replica starts with */
    bool aside;      /* nobody waits for it */
    int64_t depends; /* as read: epoch of an anchor; 0: none */
    struct gangmap_part *parts;
    /* Where it was read, with so many others, when nothing was left out; and, in a copy of a map
     * that does not change, what it is a copy of. */
    jval source;
    size_t source_n;
    const struct gangmap_entry *origin;
};

/* Where things are in a map that does not change any more. */
struct gangmap_index {
    struct map by_name; /* number of the entry plus one */
    int32_t **places;   /* by component: number of the entry plus one of each replica of a group */
    int64_t *tops;      /* by component: how many of them */
};

struct gangmap {
    struct arena *arena;
    str base;                          /* what names of new gangs begin with: the map's own name */
    struct gang_names names;           /* that others have */
    int64_t last;                      /* the highest epoch there ever was, as far as noted */
    const struct gangmap_index *index; /* NULL: it may change, and is searched */
    size_t n_components;
    struct gangmap_entry *entries;
    size_t n, cap;
};

void gangmap_init(struct gangmap *m, struct arena *a, str base, size_t n_components);
/* Makes the index; the map must stay as it is. gangmap_index_done frees what is not in the arena.
 */
void gangmap_index(struct gangmap *m, struct gangmap_index *ret);
void gangmap_index_done(struct gangmap_index *index);
/* A copy that can be changed without changing the other. */
struct gangmap gangmap_copy(const struct gangmap *m);
/* The same of these entries only. */
struct gangmap gangmap_pick(const struct gangmap *m, const struct gangmap_entry *const *entries,
                            size_t n);
/* part and index: whose gang it is, where it is no anchor; index is negative for pods. */
struct gangmap_entry *gangmap_add(struct gangmap *m, enum gang_role role, int64_t epoch, str hash,
                                  str part, int64_t index);
/* Units of a component; with `current`, only those of the version the update goes to. */
int64_t gangmap_units(const struct gangmap *m, size_t component, bool current);
/* Puts a replica of a group into a part, in order. */
void gangmap_add_index(struct gangmap *m, struct gangmap_part *part, int32_t index);
/* Takes the i-th index out of a part. */
int32_t gangmap_take_index(struct gangmap_part *part, size_t i);
bool gangmap_is_empty(const struct gangmap *m, const struct gangmap_entry *e);
/* Nothing in it is of another version. */
bool gangmap_is_current(const struct gangmap *m, const struct gangmap_entry *e);
/* Drops entries with nothing in them. */
void gangmap_drop_empty(struct gangmap *m);
const struct gangmap_entry *gangmap_find(const struct gangmap *m, str name);
/* The entry that holds this replica of a group; NULL: none. */
const struct gangmap_entry *gangmap_of_index(const struct gangmap *m, size_t component,
                                             int64_t index);

/* An epoch for what is new, later than all that the map ever had and not next to any of them. */
int64_t gangmap_next_epoch(const struct gangmap *m, int64_t now_usec);

/* Is the name in a list of names? */
bool gangmap_lists(jval names, str name);

/* Reads and writes spec.entries. What names no component is left out, and so is what makes no
 * sense: negative numbers, the same replica twice. Before it is read the map has its names. */
void gangmap_read(struct gangmap *m, jval entries, const struct gangmap_component *c);
void gangmap_write(struct jw *w, const struct gangmap *m, const struct gangmap_component *c,
                   int64_t pcs_index);
/* The same as members of an object that is being put together; entries that are as they were read
 * are copied from there, as blocks. */
void gangmap_splice(struct splice *s, const struct gangmap *m, const struct gangmap_component *c,
                    int64_t pcs_index);

#endif
