/* The inside of the core, shared by its files (core.c: tables; search.c, soft.c, exact.c,
 * make_room.c: who reads and tries them). Nobody else includes this. */
#ifndef SCHED_MODEL_CORE_IMPL_H
#define SCHED_MODEL_CORE_IMPL_H

#include "sched/model/core.h"
#include "sched/model/sparse.h"

/* ---- numbers by value: the smallest that is at least x, in constant time ---- */

enum { FIT_EXACT = 512, FIT_STEPS = 32, FIT_BUCKETS = FIT_EXACT + FIT_STEPS * 23 };
enum { FIT_WORDS = (FIT_BUCKETS + 63) / 64 };

struct fit {
    int32_t *next, *prev; /* by member */
    int32_t heads[FIT_BUCKETS];
    uint64_t bits[FIT_WORDS];
};

void fit_init(struct fit *f, size_t n);
void fit_done(struct fit *f);
void fit_insert(struct fit *f, int32_t member, int32_t value);
void fit_remove(struct fit *f, int32_t member, int32_t value);
int fit_bucket(int32_t value);
/* The first bucket that is not empty, from this one on; CORE_NONE: none. */
int fit_next(const struct fit *f, int bucket);
int fit_last(const struct fit *f);

/* ---- tables ---- */

struct topo {
    int n_levels; /* label levels */
    int host_level;
    int32_t n_domains;                  /* without hosts; a host's number is this + its node */
    int32_t first[CORE_LEVELS_MAX + 2]; /* first domain of a level; [host_level] = n_domains */
    int32_t *order;                     /* nodes, so that every domain is an interval */
    int32_t *lo, *hi;                   /* by domain: positions in order */
    int32_t *parent;                    /* by domain and host */
    int32_t *child_lo, *child_hi;       /* by domain: domains one level down */
    uint8_t *level;                     /* by domain */
    uint8_t *depth;                     /* by node: levels it has the labels for */
    int32_t *at;                        /* by node: its position in order */
};

struct term {
    int32_t tree;
    int level;
    int32_t n;           /* domains of the level */
    struct sparse count; /* by the how-manieth of them */
    int64_t total;       /* in all domains of the level */
    uint8_t *mask;       /* by node: counted there; NULL: everywhere */
    uint8_t *live;       /* by domain of the level: has such a node; NULL: each has */
    int32_t n_live;      /* of these */
    int32_t least;       /* that one of them counts; valid as long as: */
    bool least_known;    /* nothing came or went since */
};

/* A class seen through a tree. */
struct view {
    int32_t *sum;                        /* by domain, without hosts */
    struct fit fit[CORE_LEVELS_MAX + 1]; /* by label level, members are domain - first[level] */
};

struct class
{
    struct core_amount amounts[CORE_RES_MAX];
    double inverse[CORE_RES_MAX];
    size_t n_amounts;
    uint8_t *admitted;
    uint8_t *penalty;  /* NULL: the same for all, */
    uint8_t even;      /* this */
    int32_t preferred; /* penalty of the nodes that soft.c looks at */
    int32_t per_node;
    int32_t *counts, *avoids, *wants;
    size_t n_counts, n_avoids, n_wants;
    struct core_spread *spreads;
    size_t n_spreads;
    struct core_wish *wishes;
    size_t n_wishes;
    bool sociable;   /* all it wants to be near is its like: it may be the first */
    bool looks;      /* where its pods may go depends on who came before */
    bool wide;       /* its terms look beyond one host: placed pod by pod */
    int32_t *slots;  /* by node */
    int64_t total;   /* sum of slots */
    struct fit *fit; /* nodes by slots; both NULL: not asked for, or folded up */
    uint64_t asked;  /* trims before it was */
    struct view *views[CORE_TREES_MAX];
    size_t seen; /* position in the change log */
};

struct core {
    size_t n_resources;
    size_t n_nodes;
    VEC(int64_t) free; /* node by node */
    uint8_t *closed;   /* by node; NULL: none ever was */
    VEC(struct topo *) trees;
    VEC(struct term) terms;
    VEC(struct class *) classes;
    VEC(int32_t) changes; /* nodes, in the order of change */
    VEC(int32_t) grown;   /* nodes, see core_growth; CORE_NONE: all */
    uint64_t forgotten;   /* entries that are no longer there */
    uint64_t counted;     /* nodes, in all counts of classes from scratch so far */
    uint64_t trims;       /* so far */
    size_t n_looking;     /* classes that want to be near others, or spread */
};

static inline struct class *core_class(struct core *c, int32_t cls)
{
    return c->classes.p[cls];
}

void class_follow(struct core *c, struct class *k);
static inline struct class *class_now(struct core *c, int32_t cls)
{
    struct class *k = c->classes.p[cls];
    if (k->seen != c->changes.len)
        class_follow(c, k);
    return k;
}
/* Followed already. */
struct view *class_view(struct core *c, struct class *k, int32_t tree);
static inline int32_t view_sum(const struct class *k, const struct view *v, const struct topo *t,
                               int32_t domain)
{
    return domain >= t->n_domains ? k->slots[domain - t->n_domains] : v->sum[domain];
}
/* Terms beyond the host, and spread, admit one more pod of the class on the node. */
bool class_admits_one(const struct core *c, const struct class *k, int32_t node);
/* How many the term counts in the node's domain; CORE_NONE: it is in none. */
int32_t term_at(const struct core *c, int32_t term, int32_t node);

static inline int topo_level(const struct topo *t, int32_t domain)
{
    return domain >= t->n_domains ? t->host_level : t->level[domain];
}
/* Domains at a label level inside a domain. */
void topo_inside(const struct topo *t, int32_t domain, int level, int32_t *ret_lo, int32_t *ret_hi);
bool topo_contains(const struct topo *t, int32_t outer, int32_t inner);

/* ---- search ---- */

/* The bundle around one; CORE_NONE: the gang. */
static inline int32_t bundle_outer(const struct core_ask *ask, int32_t bundle)
{
    return bundle >= 0 && ask->inside ? ask->inside[bundle] : CORE_NONE;
}

enum { SEARCH_TRIES = 2048, SEARCH_NESTED = 16, EXACT_STEPS = 20000, EXACT_STEPS_PER_TRY = 8 };

/* A part of the gang that sits together: the gang, a bundle or a leaf. */
struct part {
    const struct core_scope *scope;
    int32_t leaf; /* CORE_NONE: not a leaf */
    struct want {
        int32_t cls;
        int32_t need;
    } * wants;
    size_t n_wants;
    size_t n_kids;
    int32_t *kids; /* parts, most constrained first */
    double weight;
    bool follows;  /* some of its pods want others to be there first */
    int preferred; /* the narrowest level that it prefers and that may hold it; see soft.c */
};

struct pick {
    int32_t sum;
    int32_t domain;
};

struct search {
    struct core *core;
    const struct topo *tree;
    const struct core_ask *ask;
    struct core_result *result;
    struct part *parts; /* gang, bundles, leaves */
    size_t n_parts;
    VEC(struct pick) picks; /* a stack */
    VEC(uint64_t) failed;   /* a stack of signatures */
    uint32_t tries_left;
    bool twins; /* domains of equal signature are equal: nothing is pinned or looks around */
    bool spare; /* the gang's domain is to have room to spare */
    bool gave_up;
    struct soft *soft; /* NULL: nothing is preferred */
    int avoid;         /* not in domains of the level that have other replicas; 0: in any */
    int roomy;         /* the domain of this level has room to spare; 0: the gang's own */
    bool strict;       /* what parts of the gang prefer is a must */
    int depth;         /* hosts need the labels of so many levels: parts of the gang ask for them */
};

void search_take(struct search *s, int32_t leaf, int32_t cls, int32_t node, int32_t count);
void search_undo(struct search *s, size_t mark);
void search_begin(struct search *s, struct core *c, const struct core_ask *ask,
                  struct core_result *ret);
void search_end(struct search *s);
/* The part that this one is directly in; of the gang: itself. */
int32_t part_outer(const struct search *s, int32_t part);
/* Every class has room for what the part needs of it. */
bool part_may_fit(struct search *s, const struct part *p, int32_t domain);
bool domain_is_open(const struct search *s, int32_t domain);
bool host_is_candidate(const struct search *s, int32_t node);
/* Candidates of the level inside the domain, best fit for the class that is hardest to satisfy, on
 * the stack of picks; at most `max` of them where the domain is the root. */
void gather_level(struct search *s, const struct part *p, int32_t domain, int level, size_t max);
/* failures: where those of the level begin on their stack. */
bool try_domain(struct search *s, int32_t part, int32_t domain, size_t failures);
/* The whole gang. */
bool place_gang(struct search *s, int32_t domain);
/* Each member of the part inside the domain. */
bool fill_members(struct search *s, int32_t part, int32_t domain);
/* Exactly `need` pods of the leaf, or as many as the domain takes. */
int32_t fill_some(struct search *s, int32_t leaf, int32_t domain, int32_t need);
/* Domains that pods of the leaf may be in at all; CORE_NONE: none has room. */
int32_t some_domain(struct search *s, int32_t leaf);

/* The gang inside the domain, with what is preferred. */
bool soft_place(struct search *s, int32_t domain);
/* The gang has been given this domain. */
bool soft_fill(struct search *s, int32_t domain);
/* What its pods prefer of nodes is not against this one. */
bool soft_likes(const struct search *s, int32_t node);
/* Other replicas are in the domain of the level to be avoided. */
bool soft_is_taken(const struct search *s, int32_t domain);
/* Of the class, pods of the question that come later. */
int32_t soft_more(const struct search *s, int32_t cls);
/* How many candidates of a search without limits are looked at. */
enum { SOFT_LOOK = 1024, SOFT_BUCKET = 64 };

/* True: placed. Else s->gave_up says whether the answer is certain. */
bool exact_place(struct search *s);

#endif
