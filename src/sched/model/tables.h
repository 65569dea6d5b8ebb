/*
 * What the scheduler derives from the caches and keeps up to date with every change: the core's
 * tables, the class of every pod, the gangs and who of them waits. Losing it costs a recount, never
 * correctness: it is made from the caches when a round needs it and thrown away when something
 * changes its very shape (a node comes or goes or moves, a topology changes).
 *
 * A scheduler has its own and goes with its runtime; several in one process do not meet.
 */
#ifndef SCHED_MODEL_TABLES_H
#define SCHED_MODEL_TABLES_H

#include "base/list.h"
#include "base/map.h"
#include "grove/snapshot.h"
#include "kube/selector.h"
#include "sched/model/core.h"
#include "sched/model/queues.h"

/* "zone-key=required,rack-key=preferred": over which domains the replicas of a set are spread. */
#define ANNOTATION_SPREAD "grove.io/replica-spread"

struct tgang;

struct quota_config;

/* Who schedules: one per runtime, freed with it. */
struct sched {
    struct runtime *runtime;
    char **names; /* schedulers that pods may ask for and mean us */
    size_t n_names;
    struct tables *tables;         /* NULL: to be counted */
    bool unbound_ok;               /* nobody binds or allocates claims, nor needs to */
    struct quota_config *queues;   /* NULL: there are none; see queue_quota.h */
    struct cache *queues_cache;    /* of the ConfigMap that says them; NULL: nobody does */
    usec queues_since;             /* steady time: since then they are waited for */
    struct controller *controller; /* NULL: a test plans */
    struct obj *wrong_queues;      /* a version of it that makes no sense, to be told */
    size_t terms_max;              /* TERMS_MAX; tests have less */
    uint64_t recounts;             /* so far; for tests */
    struct err queues_error;       /* why */
};

/* What queues have; see queue_quota.h. */
struct tquota {
    const struct quota_config *config; /* the scheduler's */
    size_t n;
    struct queue *queues;
    struct queue_share *shares; /* of the round */
    int64_t *used;              /* by queue and resource */
    int64_t foreign[RES_MAX];   /* of pods that are not ours */
    /* Cells, see quota_cells.c: by node whose it is, -1: anybody's; and those that are somebody's.
     */
    int32_t *owner;
    VEC(int32_t) owned;
    int32_t open_for; /* to whom the tables are open at present; -1: everybody */
};

/* A pod we serve, or one that holds a node. */
struct tpod {
    struct list link; /* of its gang */
    struct tgang *gang;
    const struct obj *obj; /* held */
    int32_t cls;           /* CORE_NONE: not judged yet */
    int32_t node;          /* on the tables there; CORE_NONE: on none */
    struct list on_node;   /* with the others there */
    uint64_t pclq;         /* its clique; see lease_clique */
    bool assumed;          /* by a plan of ours, not seen in the cache yet */
    bool waits;
    struct list all, over; /* see tables */
    int32_t *said;         /* terms, by number */
    size_t n_said;
    uint64_t named; /* by the question that read it last */
    str refused;    /* why no node will do, whatever it has */
    char key[];     /* namespace/name */
};

/* Gangs of one set of cliques. */
struct tset {
    struct list gangs; /* struct tgang, kin; those that are going behind the others */
    size_t n_gangs;
    size_t anchors;      /* of them */
    struct sparse hosts; /* by node: its pods there */
    char *name;          /* namespace/name; NULL: not known */
    size_t bases;        /* in a round: up to there base gangs of it come; see order.c */
    char uid[];
};

/* Scaled gangs of one scaling group: how many there are, and how many have pods on nodes. */
struct tgroup {
    size_t total, placed;
    char key[]; /* namespace/label value */
};

/* A gang, or a pod that belongs to none. */
struct tgang {
    struct list link;     /* ready or parked; by itself: neither */
    struct list kin;      /* of its set */
    struct list lines;    /* see tables_cliques.c */
    bool left_lines;      /* some of them, since it wanted no pods */
    bool keeps;           /* it is not going and need not make room: see lease_is_for */
    struct tset *set;     /* NULL: none */
    bool anchor;          /* its object says that others of its replica follow it */
    struct tgroup *group; /* NULL: not a scaled gang */
    int64_t index;        /* the number at the end of its name */
    bool spares_others;   /* its class says that nobody is to go for its sake */
    size_t n_leases;      /* places kept for it */
    int32_t queue;        /* see quota_of */
    /* Its place in the order of a round; see order.c. */
    struct tgang *lead;
    int age;
    size_t turn;
    size_t place;
    struct list pods;
    size_t n_pods;
    bool unsure;    /* whether it is whole and where it must be: to be looked at */
    size_t n_bound; /* on nodes and not going */
    size_t n_waiting;
    bool single;
    bool parked; /* looked at, in vain; cert says why */
    struct core_cert cert;
    int32_t cert_tree;
    usec trim_paused;  /* until then its spare pods are not asked to go: they could not */
    struct list trim;  /* it must make room, wholly or in part */
    struct list doubt; /* whether its pods are its own; see gang_health.c */
    usec doubt_since;
    struct list stored; /* room is kept for it, or its status says so */
    uint64_t marked;    /* the round in which it was asked to make room */
    usec hold_due;      /* when it has waited long enough for room to be held for it */
    uint64_t hopeless;  /* the shape of the cluster in which it would not fit even alone */
    usec hold_paused;   /* until then no room is held for it, nobody asked: it was in vain */
    bool seeks;         /* others may be asked for its sake; so far in vain: */
    usec seek_due;      /* not again before */
    usec seek_at;       /* but then in any case; 0: never */
    uint64_t sought;    /* and not before pods moved */
    bool over;          /* its queue has its limit */
    uint64_t round;     /* the one in which its turn is yet to come */
    uint64_t woken;     /* growth up to which it was seen whether it may fit; parked gangs */
    bool later;         /* its minimum was placed, what is beyond follows after all minimums */
    bool claims;        /* others leave room to it; see yield.h */
    bool yields;        /* its surplus leaves room to others, */
    usec yield_since;   /* so much of it since then, */
    int64_t yield_most; /* for so many pods */
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

/* Whom a term speaks of: pods of these namespaces with these labels. */
struct tmatch {
    str ns; /* when it says nothing of namespaces */
    jval namespaces;
    const struct selector *ns_selector; /* NULL: none */
    const struct selector *selector;
    str label, value; /* that the selector wants, among others; empty: none */
};

/* See terms.h. */
struct tterm {
    char kind;
    str id;
    str key;
    struct tmatch *matches; /* all of them must hold */
    size_t n_matches;
    const struct obj *model; /* who said it first, held */
    uint32_t sayers;         /* pods that say it */
    int32_t next;            /* with the same label in its selector; CORE_NONE: the last */
    bool settled;            /* pods that were there before it are counted */
    jval constraint;         /* of a spread */
    uint8_t *mask;           /* by node: it counts there; NULL: not a spread */
    int32_t term;            /* of the core; CORE_NONE: not placed */
};

/* What a class could have in the cluster as it was installed; see score.c. */
struct tideal {
    bool known;
    int32_t tree;
    int32_t node;                       /* takes most of it when empty; CORE_NONE: none does */
    int64_t hosts[CORE_LEVELS_MAX + 1]; /* by level: of one domain, that take any */
};

/* The most pods of a class that a domain of each level, up to the host, takes when empty; see
 * hold.c. */
struct tmost {
    uint64_t shape; /* of the cluster; 0: not known */
    int32_t tree;
    int64_t at[CORE_LEVELS_MAX + 2];
};

/* Nodes that let pods in that ask for the same ones, and what these wish; see tables_class.c. */
struct tadmission {
    uint8_t *admitted, *penalty; /* by node; no penalty: the same for all, */
    uint8_t even;                /* this */
    char key[];
};

struct tclass {
    str key;
    int32_t cls;
    struct tideal ideal;
    struct tmost most;
    const struct obj *model; /* a pod of the class, held */
    str refused;
};

/* Room that a pod of a living gang left behind and the one that replaces it is to find again. */
struct tlease {
    struct tgang *gang;
    uint64_t pclq; /* of the pod that left, as a hash; 0: whichever */
    int32_t cls, node;
    usec until; /* 0: not seen by a round yet */
    bool open;  /* given back for a while, for its gang's own question */
};

/* Room held for a gang that waits; see hold.h. */
struct thold {
    struct tgang *gang;
    VEC(struct core_op) ops;
    bool asked;             /* others were asked to go; else it drains */
    bool taken;             /* on the tables at present */
    usec since;             /* nobody left its nodes */
    size_t least;           /* pods of others there so far */
    size_t leave;           /* when it was set: pods that must go for it */
    uint64_t growth, shape; /* of the tables, up to which it is the best there is */
};

struct tables {
    struct sched *sched;
    struct arena arena;
    struct snapshot snap; /* nodes: number = place in name order */
    struct core *core;
    VEC(struct ttree) trees;
    VEC(struct tterm) terms;
    struct map term_ids;    /* number + 1, by id */
    struct map term_labels; /* number + 1 of the first that wants it, by "label=value" */
    int32_t term_loose;     /* the first that wants no certain value */
    size_t terms_said;      /* that somebody says at present */
    size_t terms_new;       /* not settled yet; terms.h */
    struct list *settle_at; /* of all_pods */
    struct list all_pods;   /* struct tpod, all */
    struct list over;       /* struct tpod, over: those that say too much */
    bool retry;             /* some of them may not any more */
    bool treeless;          /* some term has no tree */
    struct map claims;      /* what pods were judged by, "plural/namespace/name"; see claims.c */
    bool stale;             /* to be counted anew */
    struct map pods;        /* struct tpod by key */
    struct map gangs;       /* struct tgang by key; singles begin with a slash */
    struct map sets;        /* struct tset by owner's uid */
    struct map set_names;   /* the same by namespace/name: the one that came last */
    struct map lines;       /* see tables_cliques.c */
    struct map groups;      /* struct tgroup by key */
    struct list *on_node;   /* pods, by node */
    VEC(struct tlease) leases;
    size_t n_open;         /* of them, given back for a while */
    struct map classes;    /* struct tclass by key */
    struct map admissions; /* struct tadmission by key */
    VEC(struct tclass *) class_list;
    VEC(struct tpod *) assumed;
    struct list ready;    /* gangs to be looked at */
    struct list parked;   /* gangs looked at in vain */
    struct list trimmed;  /* gangs that must make room */
    struct list doubts;   /* gangs whose pods may not be their own */
    struct list stored;   /* gangs with room kept for them; see reservation_store.c */
    uint64_t growth_seen; /* by the last wake-up */
    uint64_t wake_to;     /* by the one that goes on */
    uint64_t shape;       /* raised when a node changes; from 1 */
    uint64_t looks;       /* gangs looked at so far; for tests */
    uint64_t searches;    /* of them, those for which the core was asked; for tests */
    uint64_t naming;      /* questions read so far */
    uint64_t rounds;      /* so far */
    uint64_t moves;       /* pods that came to a node or left one so far; from 1 */
    VEC(struct thold) holds;
    size_t n_yielding; /* gangs whose surplus leaves room to others; see yield.h */
    bool claims_ended; /* some of those others may not need it any more */
    struct tquota quota;
};

/* Folds changes of the runtime's caches from now on; before the runtime starts. */
void tables_add_handlers(struct sched *s);
/* Up to date; counts everything when there are none. */
struct tables *tables_get(struct sched *s, const struct world *w);
void tables_drop(struct sched *s);
/* Parked gangs whose certificate may no longer hold become ready. False: the budget ended before
 * all were looked at; the next call goes on. */
bool tables_wake(struct tables *t, size_t *budget);
void tables_park(struct tables *t, struct tgang *g, const struct core_cert *cert, int32_t tree);

/* The pod asks for a scheduler that is us. */
bool tables_serve(const struct tables *t, const struct obj *pod);
/* Judges the pod; false, with p->refused, when no node will do whatever it has. */
bool tables_judge(struct tables *t, struct tpod *p);
/* A node is not what it was. */
void tables_forget_admissions(struct tables *t);
struct tclass *tables_class(struct tables *t, int32_t cls);
/* Of a pod that is none of the tables'; CORE_NONE: it cannot be judged. */
int32_t tables_class_of(struct tables *t, const struct obj *pod);
/* By name; CORE_NONE: there is none. */
int32_t tables_node(const struct tables *t, str name);
struct tpod *tables_pod(struct tables *t, str ns, str name);
struct tgang *tables_gang(struct tables *t, str ns, str name);
/* Of the gangs of the set with pods of the clique (by number, lease_clique) that may want pods, one
 * for which `is` holds, an anchor before others; NULL: there is none. */
typedef bool tables_gang_fn(const struct tables *t, const struct tgang *g, const void *ctx);
struct tgang *tables_find_open(const struct tables *t, const struct tset *set, uint64_t clique,
                               tables_gang_fn *is, const void *ctx);
/* A gang of the set that was told to use this one's place, and may want pods. */
struct tgang *tables_find_heir(const struct tables *t, const struct tgang *g);
/* Takes what the pod asks for from the node until the cache shows it there, or release_assumed. */
void tables_assume(struct tables *t, struct tpod *p, int32_t node);
void tables_release_assumed(struct tables *t);
/* Terms that speak of the pod, or what it says, are others now: it is of another class. */
void tables_reclass(struct tables *t, struct tpod *p);
/* Something about the gang changed: to be looked at, whatever was found out of it. */
void tables_touch(struct tables *t, struct tgang *g);
/* Takes the first entry off the annotation; false when there is none. */
bool tables_next_spread(str *rest, str *ret_key, bool *ret_required);
void tables_add_tree(struct tables *t, struct ttree tree);
const struct ttree *tables_tree(const struct tables *t, int32_t tree);
/* The label key of a level, from 1. */
str tables_level_key(const struct tables *t, int32_t tree, int level);
/* The label value path of a domain: "zone-0/rack-3"; the node's name for a host. */
str tables_domain_name(const struct tables *t, int32_t tree, int32_t domain, struct arena *a);
/* Nothing that decides who may go there is different. */
bool node_is_as_before(const struct obj *old, const struct obj *new);

#endif
