/*
 * The decision core: where the pods of a gang go. Dense tables and integers only; it knows nothing
 * of objects, caches and time, so that the planner, the benchmarks and the property tests drive the
 * same code.
 *
 *   nodes     numbered, with what is free of every resource
 *   trees     topologies. Level 0 is the root, 1..n_levels are label keys from broad to narrow, the
 *             level after them is the host. Domains are numbered through; a node that lacks a label
 *             hangs below the narrowest domain it has the labels for.
 *   classes   pods that are alike: what they ask for and which nodes admit them. A class knows how
 *             many of its pods fit each node and each domain now, and finds the domain that fits
 *             best without looking at the others.
 *   terms     what pods say about each other (anti-affinity, ports, spread): how many pods that a
 *             term speaks of each domain holds. Where pods want company or an even spread, the
 *             order in which they come matters: a placement is good when there is an order in
 *             which each pod may go where it goes, given those before it.
 *
 * Every change is an entry of the undo log, so trying costs what it touches. Classes follow the
 * change log when they are next asked for, so a class nobody asks for costs nothing.
 *
 * The search is greedy, best fit for domains and nodes, most constrained parts first; when it fails
 * although no bound forbids the gang, an exact search with a budget has the last word. What is
 * refused was therefore refused by a bound or by the exact search, or the answer says that the
 * budget ran out.
 */
#ifndef SCHED_MODEL_CORE_H
#define SCHED_MODEL_CORE_H

#include "base/vec.h"
#include "sched/model/sparse.h"

enum { CORE_RES_MAX = 64, CORE_LEVELS_MAX = 12, CORE_TREES_MAX = 16, CORE_NONE = -1 };
#define CORE_UNLIMITED INT32_MAX

struct core;

struct core_amount {
    int32_t resource;
    int64_t amount; /* > 0 */
};

/* ---- set-up and deltas ---- */

struct core *core_new(size_t n_resources);
void core_free(struct core *c);

/* Nodes come before all else, a tree before its terms, terms before classes that use them. A term
 * counts the pods of classes that are made after it. */
int32_t core_add_node(struct core *c, const int64_t *total);
size_t core_n_nodes(const struct core *c);
/* path: n_levels numbers of label values per node, node by node; CORE_NONE: has no such label. */
int32_t core_add_tree(struct core *c, int n_levels, const int32_t *paths);
int32_t core_add_term(struct core *c, int32_t tree, int level);
/* The term counts on these nodes only, 0 or 1 per node; before anything is counted. */
void core_mask_term(struct core *c, int32_t term, const uint8_t *mask);

struct core_spread {
    int32_t term;
    int32_t max_skew;
    int32_t min_domains; /* where fewer have a node that counts, the emptiest counts as empty */
    bool required;
    bool own; /* the term speaks of the pods themselves; core_add_class sets it */
};

/* To be near those the term counts, or (weight below 0) away from them, when possible. */
struct core_wish {
    int32_t term;
    int32_t weight;
};

struct core_class_def {
    const struct core_amount *amounts;
    size_t n_amounts;
    const uint8_t *admitted; /* per node: 0 or 1; NULL: none does */
    const uint8_t *penalty;  /* per node: wishes it does not fulfil; NULL: the same for all, */
    uint8_t even;            /* this */
    int32_t per_node;        /* at most; CORE_UNLIMITED */
    const int32_t *counts;   /* terms that speak of its pods */
    size_t n_counts;
    const int32_t *avoids; /* not where these count any */
    size_t n_avoids;
    /* Only where each of these counts some; where none of them counts any anywhere and each speaks
     * of the pod itself, it may be the first. */
    const int32_t *wants;
    size_t n_wants;
    const struct core_spread *spreads;
    size_t n_spreads;
    const struct core_wish *wishes;
    size_t n_wishes;
};

int32_t core_add_class(struct core *c, const struct core_class_def *def);
void core_set_admitted(struct core *c, int32_t cls, int32_t node, bool admitted);
/* False: the node stands out among others that were all the same. The class must be made anew. */
bool core_set_penalty(struct core *c, int32_t cls, int32_t node, uint8_t penalty);
/* Nobody may go to the node for the while; no growth when that ends. */
void core_close(struct core *c, int32_t node, bool closed);
bool core_is_closed(const struct core *c, int32_t node);
/* The node has more or less than it had. */
void core_change_total(struct core *c, int32_t node, const int64_t *delta);
/* count pods of the class come to the node (or, below 0, go). May overbook. For a try or for good:
 * what is for good is also said to those who wait, see below. */
void core_take(struct core *c, int32_t cls, int32_t node, int32_t count);

/* A class that is asked about counts its places on all nodes, which takes time and room: how many
 * nodes were counted so far; and, when more classes than these have counts, those that were not
 * asked for since the last call forget theirs. */
uint64_t core_counted(const struct core *c);
void core_trim(struct core *c, size_t keep);

/* ---- questions ---- */

int64_t core_free_of(const struct core *c, int32_t node, int32_t resource);
int32_t core_slots(struct core *c, int32_t cls, int32_t node);
/* How many pods of the class the nodes of the domain take now, each counted by itself. */
int32_t core_sum(struct core *c, int32_t cls, int32_t tree, int32_t domain);
/* The most that a domain of the level takes. */
int32_t core_most_at(struct core *c, int32_t cls, int32_t tree, int level);
/* The domain of the level inside another one that takes most (of very many, about as many). */
int32_t core_best_in(struct core *c, int32_t cls, int32_t tree, int level, int32_t within);
int core_n_levels(const struct core *c, int32_t tree); /* without root and host */
int core_host_level(const struct core *c, int32_t tree);
/* The node's domain at a level; CORE_NONE when it lacks a label on the way. */
int32_t core_domain_of(const struct core *c, int32_t tree, int32_t node, int level);
int core_level_of(const struct core *c, int32_t tree, int32_t domain);
/* Domains of a level (not of the host's) are numbered lo..hi-1. */
void core_domains_at(const struct core *c, int32_t tree, int level, int32_t *ret_lo,
                     int32_t *ret_hi);
/* Nodes of a domain, in the order of the tree; valid until the core is freed. */
const int32_t *core_nodes_in(const struct core *c, int32_t tree, int32_t domain, size_t *ret_n);
/* The inner domain, or host, is the outer one or inside it. */
bool core_contains(const struct core *c, int32_t tree, int32_t outer, int32_t inner);
/* The node takes one more pod of the class now, whatever the class looks at. */
bool core_admits(struct core *c, int32_t cls, int32_t node);
/* What a pod of the class asks for of the resource. */
int64_t core_amount_of(const struct core *c, int32_t cls, int32_t resource);
int32_t core_per_node(const struct core *c, int32_t cls);
bool core_is_admitted(const struct core *c, int32_t cls, int32_t node);
/* What the term counts in the node's domain; CORE_NONE: the node is in none. */
int32_t core_term_count(const struct core *c, int32_t term, int32_t node);
/* Everything derived equals a computation from scratch; for tests. */
bool core_is_consistent(struct core *c);

/* ---- placing ---- */

struct core_scope {
    int req, pref; /* levels; 0: none */
    int32_t pin;   /* the domain at level req that members are in already; CORE_NONE: none */
};

struct core_leaf {
    struct core_scope scope;
    int32_t cls;
    int32_t need;
    int32_t bundle; /* CORE_NONE: of the gang directly */
};

/* More of a class that will come later and should find room beside the gang; in lots of so many
 * that must each share a domain of the level (0: of one, anywhere). */
struct core_spare {
    int32_t cls;
    int32_t count;
    int32_t lot;
    int level;
};
/* The domain has room for them, and for `own` more of their class that are no part of them. */
bool core_spare_fits(struct core *c, int32_t tree, int32_t domain, const struct core_spare *spare,
                     int64_t own);

struct core_ask {
    int32_t tree;
    int32_t within; /* domain; 0: anywhere */
    struct core_scope gang;
    const struct core_scope *bundles;
    size_t n_bundles;
    /* By bundle: the bundle that it is a part of, which is itself part of none; CORE_NONE: none.
     * NULL: that is so of all. */
    const int32_t *inside;
    const struct core_leaf *leaves;
    size_t n_leaves;
    /* The gang's domain should have room for these too; when none has, never mind. */
    const struct core_spare *spares;
    size_t n_spares;
    /* Domains of this level that the gang may not use, by number minus the level's first; level 0:
     * none. */
    int closed_level;
    const uint8_t *closed;
};

struct core_op {
    int32_t leaf;
    int32_t cls;
    int32_t node;
    int32_t count;
};

enum core_why {
    CORE_PLACED,
    CORE_TOO_FEW,  /* no domain of the level holds what the scope needs of one class */
    CORE_TOGETHER, /* each part fits by itself, all of them do not */
    CORE_BUDGET,   /* the search was given up */
    CORE_SURPLUS,  /* none of several pods fits where it may go; the gang itself is placed */
    CORE_ITSELF,   /* it is not a matter of room */
};

/* Why not: a scope, a level, a class, and the domains that come nearest. */
enum { CORE_NEAREST = 3, CORE_CERT_WANTS = 8 };
struct core_cert {
    enum core_why why;
    int32_t scope; /* 0: gang; then bundles, then leaves */
    int level;
    int32_t cls;
    int32_t need, best;
    int32_t domain; /* the nearest */
    bool fixed;     /* no other domain will do */
    int32_t within; /* where it was looked for */
    struct core_near {
        int32_t domain, room;
    } near[CORE_NEAREST]; /* the nearest first */
    size_t n_near;
    /* What is wanted: of the whole gang together (of CORE_TOO_FEW, first what the part wants that
     * finds no room), or (CORE_SURPLUS) each where it may go: there must be room for `need` of it.
     */
    struct core_need {
        int32_t cls, need, domain;
    } wants[CORE_CERT_WANTS];
    size_t n_wants, n_own; /* n_own: of that part */
    int outer;             /* level that the whole gang must share; 0: none */
    bool barred;     /* some domains are closed to it: the nearest are those that were found */
    bool vague;      /* there are more of them, or they look around: any growth counts */
    uint64_t growth; /* up to which it is known to hold; of when it was made */
};
/* Nothing that became free since can have made it untrue. What was looked at once is not looked at
 * again. */
bool core_cert_holds(struct core *c, struct core_cert *cert, int32_t tree);
void core_cert_want(struct core *c, struct core_cert *cert, int32_t cls, int32_t need,
                    int32_t domain);

/*
 * Growth: nodes that take more than before, in the order in which it happened. Tries are none: who
 * gives something back for good says so. Bounded; what is forgotten counts as growth of all.
 */
uint64_t core_growth(const struct core *c);
/* How much of it is remembered. */
size_t core_grown(const struct core *c);
void core_grow(struct core *c, int32_t node);
/* Pods of the class are on the node for good: those who want to be near such, or spread evenly, may
 * fit now. */
void core_arrived(struct core *c, int32_t cls);

struct core_result {
    bool placed;
    VEC(struct core_op) ops;
    struct core_cert cert;
    uint32_t
        tries; /* domains tried, and steps of the exact search in proportion: the work it was */
};

/* All of it or nothing. What was placed is taken; core_undo gives it back. */
bool core_place(struct core *c, const struct core_ask *ask, struct core_result *ret);
/* Up to leaf->need pods of one leaf, as many as fit; ret->ops grows. Returns how many. */
int32_t core_place_some(struct core *c, const struct core_ask *ask, int32_t leaf,
                        struct core_result *ret);

/* What a gang prefers, as far as there is room: it never waits for any of it. See soft.c. */
struct core_soft {
    /* Pods that come later and should find room beside the others: as many more of each leaf of the
     * question, by number; behind them, leaves of their own. Empty: none do. */
    const struct core_leaf *more;
    size_t n_more;
    /* Nodes that it should be near, the best first: pods of its own are there (own), or of its
     * replica. */
    const int32_t *near;
    size_t n_near;
    bool own;
    /* By node: pods of its set. Other replicas of it are where they are and `near` is not. NULL:
     * there are none. */
    const struct sparse *apart;
};
/* With all that is preferred that can be had. First as if the pods that come later were placed
 * with the others: false when there is no such place, or none come. They are not: their room is
 * free again. Then without them. */
bool core_place_whole(struct core *c, const struct core_ask *ask, const struct core_soft *soft,
                      struct core_result *ret);
bool core_place_soft(struct core *c, const struct core_ask *ask, const struct core_soft *soft,
                     struct core_result *ret);
/* As core_place_some, the nearest to these nodes first. */
int32_t core_place_near(struct core *c, const struct core_ask *ask, int32_t leaf,
                        const int32_t *near, size_t n_near, struct core_result *ret);
/* As many as fit now of the pods that were refused, in the domain that comes nearest to holding
 * what is lacking; ret->ops grows. Returns how many. */
int32_t core_place_refused(struct core *c, int32_t tree, const struct core_cert *cert,
                           struct core_result *ret);
void core_undo(struct core *c, const struct core_result *r);
void core_take_ops(struct core *c, const struct core_op *ops, size_t n);
void core_give_ops(struct core *c, const struct core_op *ops, size_t n);
void core_result_done(struct core_result *r);

/* ---- making room ---- */

struct core_victim {
    int32_t priority;
    int32_t pods;              /* how many it loses */
    const struct core_op *ops; /* what it holds */
    size_t n_ops;
    bool serves;   /* somebody loses what he is promised at least */
    int32_t gangs; /* it and those that are nothing without it; 0: itself */
    int64_t work;  /* done so far, that is lost */
    size_t after;  /* 1 + the victim without which it is nothing, and that counts it; 0: none */
};

/* A pod that a group of a victim's pods can do without. */
struct core_trim {
    int32_t victim; /* whose it is, of the victims */
    int32_t group;  /* of its groups: numbered through over all victims */
    struct core_op op;
};

struct core_trims {
    const struct core_trim *list; /* those to be spared first come last */
    size_t n;
    const int32_t *spare; /* by group: how many of it may go at most */
    size_t n_groups;
    bool *chosen; /* n entries: who is to go */
};

/* Victims are in order: those to be spared first come last. Chooses some of them so that the gang
 * fits when they are gone; nothing is taken or given. chosen: n_victims entries.
 *
 * What a choice costs is compared in this order: how many serve, gangs, sum of priorities, pods,
 * work; what is after another that is chosen too is counted with it.
 *
 * Pods that can be spared go before gangs do (trims; NULL: there are none): when such pods are
 * enough, no gang is chosen; else each is chosen only beside the gangs. Their number is the least
 * possible when that is one, or two of at most CORE_PAIRS; beyond it no single one of them could
 * stay. The cost of gangs is the least possible of all choices of one gang (of the first
 * CORE_SINGLES), and of at most CORE_PAIRS victims of all choices of two; of all choices whatever
 * when the tries suffice, as for ten victims they do. Beyond it no single one of them could be
 * spared. */
enum { CORE_SINGLES = 512, CORE_PAIRS = 48 };
bool core_make_room(struct core *c, const struct core_ask *ask, const struct core_victim *victims,
                    size_t n, bool *chosen, const struct core_trims *trims,
                    struct core_result *ret);

#endif
