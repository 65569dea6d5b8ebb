/*
 * Where there is room for the pods of a gang, counted with the scheduler's own measures (what a pod
 * asks for, which nodes admit it): the kind of pod that is short of room, the domains that come
 * nearest, who holds what is lacking, and what would help. Advice for people: the scheduler decides
 * with all constraints together.
 */
#ifndef EXPLAIN_DOCUMENTS_ROOM_H
#define EXPLAIN_DOCUMENTS_ROOM_H

#include "explain/documents/picture.h"

enum { ROOM_BEST = 3 };

struct room_domain {
    str name;
    int64_t nodes, slots; /* how many nodes, how many pods of the kind fit now */
    int64_t whole;        /* how many when it is empty */
};

struct room_holder {
    str gang;
    int64_t amount; /* of the resource that is lacking */
};

struct room {
    str role;               /* of the kind of pod that is shortest */
    int64_t need;           /* pods of it that must be placed together */
    int64_t total;          /* fit in the whole cluster, each by itself */
    int64_t nodes, refused; /* nodes, and those of them that do not admit it */
    int64_t cordoned, dead; /* of those that refuse: only cordoned, and not ready */
    str dead_names;         /* the first of the latter: "n1, n2" */
    str selector;           /* of nodes, as the pod has it: "gpu=x"; may be empty */
    str resource;           /* that most nodes lack; empty: none lacks any */
    int64_t each;           /* of that resource, that one pod asks for */
    int64_t short_of;       /* of it, that has to be freed for the pods of all roles */
    str near;               /* node where that is, and a part is free already; may be empty */
    int64_t near_free;      /* that part */
    str without;            /* these pods: "2 more prefill pods and 1 more decode pod" */
    str without_ever;       /* without a level: those that have none when the cluster is empty */
    str too_small;          /* resource that no node has enough of for one pod; may be empty */
    int64_t asks, most;     /* of that resource: by one pod, of the largest node */
    str level;              /* label key of domains that must hold all of it; empty: none */
    int64_t largest; /* pods that a domain (without a level: the cluster) takes when it is empty */
    struct room_domain best[ROOM_BEST];
    size_t n_best, n_domains;
    struct room_holder holders[ROOM_BEST]; /* gangs of other sets that have most of it */
    size_t n_holders;
};

/* The picture has nodes and all pods. False when no pod of the gang waits. */
bool room_of_gang(const struct picture *p, const struct obj *gang, struct arena *a,
                  struct room *ret);
/* What would help, as sentences; at most max. */
size_t room_advice(const struct room *r, struct arena *a, str *ret, size_t max);
/* An amount as people write it: "8", "1500m", "64Gi". */
str room_amount(struct arena *a, str resource, int64_t amount);

#endif
