/*
 * A gang as a question to the core: which of its pods wait, how many of them are needed together,
 * and what must sit together. And the way back: which pod goes where.
 */
#ifndef SCHED_MODEL_ASK_H
#define SCHED_MODEL_ASK_H

#include "sched/model/tables.h"

/* Gangs of a set of which all are looked at for what is only preferred. */
enum { SMALL_SET = 64 };

struct ask_group {
    str name;
    struct tpod **members; /* all that the gang names and that are there */
    size_t n_members;
    struct tpod **pods; /* waiting, of all classes, in name order */
    size_t n_pods;
    size_t n_placed; /* of them, so far */
    size_t n_aside;  /* behind the waiting ones: no node will do for them; see choose.h */
    int64_t min;
    int64_t need; /* how many must be placed with the others */
    int64_t bound;
    int64_t coming; /* named by the gang, not on a node and not on the way out */
    struct core_scope scope;
    int32_t bundle;
};

/* What is wrong with the pods a gang names. Those of others, and what is named again, are left out.
 */
struct ask_faults {
    size_t named;     /* references */
    size_t missing;   /* no such pod */
    size_t again;     /* named twice */
    size_t foreign;   /* of another gang, or of none */
    size_t misplaced; /* of another group, as its own label says */
    size_t unknown;   /* say they are of the gang, and of a group it does not have */
    str example;      /* one of them, if any is there */
};

struct ask {
    struct tgang *gang;
    struct ask_faults faults;
    struct ask_group *groups;
    size_t n_groups;
    /* Sets of groups; behind them, one for each group: when its pods are of several classes, and
     * must share a domain, its leaves are a bundle of the core's question. */
    struct core_scope *bundles;
    int32_t *inside; /* by bundle of the core's question: which it is a part of */
    str *bundle_names;
    size_t n_bundles; /* sets of groups */
    struct core_scope scope;
    int32_t tree;
    int32_t within;        /* where it may be at all; 0: anywhere */
    const char *within_by; /* why: "replica", "spread" */
    size_t waiting, gated;
    int64_t bound;
    bool short_of; /* a group has fewer pods than it needs */
    bool packed;   /* it has a wish or demand for packing */
    str wrong;     /* it cannot be placed as it is written */
    const char *wrong_reason;
    bool wrong_for_now; /* whatever becomes free may change it */
    int32_t over_limit; /* then: the queue that has its limit, and by how much of what */
    size_t over_resource;
    int64_t over_amount;
    const struct tgang *yields_to; /* it would fit, and leaves the room to this one; see yield.h */
    str misnamed;                  /* the pods it names are not all its own; gang_health.h */
    bool checked;                  /* where it is was looked at: */
    str apart;                     /* what must be together is not */
    /* Replicas of a set keep to different domains of a level; 0: they need not. */
    int spread_level;
    bool spread_required;
    int32_t home;    /* the replica is in this one already; CORE_NONE: in none */
    uint8_t *closed; /* without a home: domains with more replicas than others */
    struct core_ask core;
    int32_t *leaf_group;   /* by leaf of the core's question */
    struct core_soft soft; /* see prefer.h */
};

/* Everything lives in the arena. */
void ask_read(struct ask *q, struct tables *t, struct tgang *g, struct arena *a);
/* What the groups need, as the core's question; false when there is nothing to ask. */
bool ask_minimum(struct ask *q, struct tables *t, struct arena *a);
/* The question without what is only wished of replicas; false when it was asked so already. */
bool ask_less(struct ask *q);
/* What is beyond: as many as may be placed. */
bool ask_surplus(struct ask *q, struct tables *t, struct arena *a);
/* Pods of the group that come after its minimum: those beyond it that wait, and those that have
 * gates yet. One by one, at: from 0; NULL: that were all. */
struct tpod *ask_later(const struct ask *q, struct tables *t, size_t group, size_t *at);
/* The domain that the whole gang must be in, whatever room there is elsewhere, and why: its replica
 * is there ("replica", or "spread" over such domains), or its own pods are ("members"); 0: it may
 * be anywhere. */
int32_t ask_pin(const struct ask *q, const char **ret_by);
/* Where pods of the group may go, as far as it is decided. */
int32_t ask_domain(const struct ask *q, const struct tables *t, const struct ask_group *g);
/* The next pods of the leaf go to the node; `fn` is told each. They are assumed. */
void ask_assign(struct ask *q, struct tables *t, const struct core_op *op,
                void (*fn)(void *ctx, struct tpod *p, int32_t node), void *ctx);

#endif
