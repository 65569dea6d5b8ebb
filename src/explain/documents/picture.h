/*
 * What a namespace holds, as the commands that explain things look at it: plain lists, read once or
 * kept up while one watches. What is said about a picture is a pure function of it.
 */
#ifndef EXPLAIN_DOCUMENTS_PICTURE_H
#define EXPLAIN_DOCUMENTS_PICTURE_H

#include "base/map.h"
#include "explain/documents/session.h"

enum picture_part {
    PICTURE_SETS,
    PICTURE_GROUPS,
    PICTURE_CLIQUES,
    PICTURE_GANGS,
    PICTURE_PODS,
    PICTURE_EVENTS,
    PICTURE_NODES,    /* of the cluster */
    PICTURE_ALL_PODS, /* of every namespace */
    PICTURE_REVISIONS,
    PICTURE_MAPS,     /* of gangs, where updates are coherent */
    PICTURE_WARNINGS, /* events about pods, for what the status of a pod does not say */
    PICTURE_PARTS,
};
#define PICTURE_OF_SETS                                                                        \
    (1U << PICTURE_SETS | 1U << PICTURE_GROUPS | 1U << PICTURE_CLIQUES | 1U << PICTURE_GANGS | \
     1U << PICTURE_PODS)
#define PICTURE_WITH_EVENTS (PICTURE_OF_SETS | 1U << PICTURE_EVENTS)
#define PICTURE_CAPACITY (1U << PICTURE_NODES | 1U << PICTURE_ALL_PODS)
#define PICTURE_EVERYTHING ((1U << PICTURE_PARTS) - 1)
#define PICTURE_SERVER (1U << PICTURE_PARTS) /* no list: whether it takes writes */
/* No list: of the events only those that findings are made from; there may be many others. */
#define PICTURE_REFUSALS (1U << (PICTURE_PARTS + 1))
#define PICTURE_WITH_REFUSALS (PICTURE_WITH_EVENTS | PICTURE_REFUSALS | 1U << PICTURE_WARNINGS)
#define REASON_REFUSED "DisruptionRefused"

/* What the store of the server takes. */
enum picture_store { STORE_WRITES, STORE_FULL, STORE_READ_ONLY };

struct picture {
    struct session_list parts[PICTURE_PARTS]; /* in the order of their names */
    str ns;                                   /* empty: of all namespaces */
    usec now;                                 /* wall time when it was taken */
    enum picture_store store;                 /* as its server says; when reading began */
};

/* Reads the parts of the mask into *p, which keeps its others. Lives as long as the session. */
int picture_read(struct session *s, unsigned mask, struct picture *p, struct err *err);
struct obj *picture_find(const struct picture *p, enum picture_part part, str name);
/* A part as people count: x-2 before x-10. */
struct session_list picture_counted(const struct picture *p, enum picture_part part,
                                    struct arena *a);
/* By a label, which may be a shortened name. */
struct obj *picture_find_labelled(const struct picture *p, enum picture_part part, str label);
/* The gang that the labels of an object speak of, by its whole name where it is known. */
str picture_gang_of(const struct picture *p, const struct obj *o);
/* What of that name belongs to a set, of whatever kind: sets first, pods last. */
struct obj *picture_find_any(const struct picture *p, str name);
const struct kind *picture_kind(enum picture_part part);

/* The pods of a picture by something of theirs (the UID of their owner, the label of their gang),
 * in their order: where many are asked for theirs, each answer costs what it is long. */
struct pod_groups {
    struct map by_key;
    struct obj **items;
};
typedef str pod_key_fn(const struct obj *pod);
str pod_owner_uid(const struct obj *pod);
str pod_gang_label(const struct obj *pod);
void pod_groups_init(struct pod_groups *g, const struct picture *p, pod_key_fn *key,
                     struct arena *a);
struct session_list pod_groups_get(const struct pod_groups *g, str key);
void pod_groups_done(struct pod_groups *g);
/* Not of the whole cluster. */
bool picture_is_of_namespace(enum picture_part part);

/* Keeps the picture up and calls fn when all of it is there and after changes of it, and of the
 * size of the terminal (at most every 150 ms) until it returns true. timeout 0: forever. Parts that
 * are optional are left out, all of them, when one of them may not be read. */
typedef bool picture_fn(void *ctx, const struct picture *p);
int picture_follow(struct session *s, unsigned mask, unsigned optional, picture_fn *fn, void *ctx,
                   usec timeout, struct err *err);

#endif
