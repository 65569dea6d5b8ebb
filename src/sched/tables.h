/*
 * What the scheduler derives from the caches and keeps up to date with every change: the core's
 * tables, the class of every pod, the gangs and who of them waits. Losing it costs a recount, never
 * correctness: it is made from the caches when a round needs it and thrown away when something
 * changes its very shape (a node comes or goes or moves, a topology changes).
 *
 * There is one at a time, of the runtime that planned last.
 */
#ifndef SCHED_TABLES_H
#define SCHED_TABLES_H

#include "base/list.h"
#include "base/map.h"
#include "kube/selector.h"
#include "sched/core.h"
#include "sched/snapshot.h"

/* "zone-key=required,rack-key=preferred": over which domains the replicas of a set are spread. */
#define ANNOTATION_SPREAD "grove.io/replica-spread"

struct tgang;

/* A pod we serve, or one that holds a node. */
struct tpod {
    struct list link; /* of its gang */
    struct tgang *gang;
    const struct obj *obj; /* held */
    int32_t cls;           /* CORE_NONE: not judged yet */
    int32_t node;          /* on the tables there; CORE_NONE: on none */
    bool assumed;          /* by a plan of ours, not seen in the cache yet */
    bool waits;
    str refused; /* why no node will do, whatever it has */
    char key[];  /* namespace/name */
};

/* A gang, or a pod that belongs to none. */
struct tgang {
    struct list link; /* ready or parked; by itself: neither */
    struct list pods;
    size_t n_bound; /* on nodes and not going */
    size_t n_waiting;
    bool single;
    bool parked; /* looked at, in vain; cert says why */
    struct core_cert cert;
    int32_t cert_tree;
    int64_t priority;
    usec created;
    const struct obj *obj; /* the PodGang, held; NULL: not there */
    char key[];            /* namespace/label value */
};

struct ttree {
    str name;
    int32_t tree;
    int n_levels;
    str keys[CORE_LEVELS_MAX]; /* of label levels */
};

/* See terms.h. */
struct tterm {
    char kind; /* 'm' match, 'h' holder, 'p' port */
    str id;
    str key;
    str ns;
    bool all_ns;
    jval namespaces;
    const struct selector *selector;
    const struct obj *model; /* who said it, held */
    int32_t term;            /* of the core; CORE_NONE: not placed */
};

struct tclass {
    str key;
    int32_t cls;
    const struct obj *model; /* a pod of the class, held */
    str refused;
};

struct tables {
    struct runtime *runtime;
    struct arena arena;
    struct snapshot snap; /* nodes: number = place in name order */
    struct core *core;
    VEC(struct ttree) trees;
    VEC(struct tterm) terms;
    bool stale;         /* a pod says what no term is kept of: to be counted anew */
    struct map pods;    /* struct tpod by key */
    struct map gangs;   /* struct tgang by key; singles begin with a slash */
    struct map classes; /* struct tclass by key */
    VEC(struct tclass *) class_list;
    VEC(struct tpod *) assumed;
    struct list ready;    /* gangs to be looked at */
    struct list parked;   /* gangs looked at in vain */
    uint64_t growth_seen; /* by the last wake-up */
    /* Room held for a gang that has waited too long, or for which others were asked to go. */
    char *hold_key;
    VEC(struct core_op) hold;
};

/* Folds changes of the runtime's caches from now on; before the runtime starts. */
void tables_add_handlers(struct runtime *r);
/* Up to date; counts everything when there are none. */
struct tables *tables_get(const struct world *w);
void tables_drop(void);
/* Parked gangs whose certificate may no longer hold become ready. */
void tables_wake(struct tables *t);
void tables_park(struct tables *t, struct tgang *g, const struct core_cert *cert, int32_t tree);

/* Names of schedulers that pods may ask for; in the embedded setting all of them mean us. */
bool pod_is_served(const struct obj *pod);
/* Judges the pod; false, with p->refused, when no node will do whatever it has. */
bool tables_judge(struct tables *t, struct tpod *p);
struct tpod *tables_pod(struct tables *t, str ns, str name);
struct tgang *tables_gang(struct tables *t, str ns, str name);
/* Takes what the pod asks for from the node until the cache shows it there, or release_assumed. */
void tables_assume(struct tables *t, struct tpod *p, int32_t node);
void tables_release_assumed(struct tables *t);
/* Takes the first entry off the annotation; false when there is none. */
bool tables_next_spread(str *rest, str *ret_key, bool *ret_required);
void tables_add_tree(struct tables *t, struct ttree tree);
const struct ttree *tables_tree(const struct tables *t, int32_t tree);
/* The label value path of a domain: "zone-0/rack-3"; the node's name for a host. */
str tables_domain_name(const struct tables *t, int32_t tree, int32_t domain, struct arena *a);
/* Room held for a gang is taken from everybody else. */
void tables_hold(struct tables *t, const char *key, const struct core_op *ops, size_t n);
void tables_unhold(struct tables *t);
/* Nothing that decides who may go there is different. */
bool node_is_as_before(const struct obj *old, const struct obj *new);

#endif
