/*
 * What happens to a set in a twin, as steps: the twin's news go in, and what they mean is recorded.
 * Nothing is foreseen here: the controllers in the twin do what they do, and this only watches.
 * What it costs follows from what changes, not from how much there is.
 *
 * A step begins when something is taken away (or the map of gangs changes) after something of the
 * step before became ready, or was given up because it had no place; what follows until the next
 * one belongs to it.
 */
#ifndef EXPLAIN_TWIN_TRACE_H
#define EXPLAIN_TWIN_TRACE_H

#include "base/map.h"
#include "base/vec.h"
#include "explain/twin/twin.h"
#include "grove/snapshot.h"

/* A standalone clique (its units are pods) or a scaling group (its replicas). */
struct trace_component {
    str name;
    bool group;
    int64_t desired; /* of one replica of the set */
};

/* A clique of a replica of a group that something is taken from. */
struct trace_part {
    str clique;
    int64_t had, taken; /* pods, before the first was taken; none is: it is kept */
};

struct trace_take {
    size_t component;
    int64_t replica; /* of the set */
    int64_t index;   /* replica of the group, -1: pods */
    int64_t pods;
    struct trace_part *parts; /* of a replica of a group, in the order of their names */
    size_t n_parts;
};

struct trace_step {
    str title; /* as the planner calls it; may be empty */
    VEC(struct trace_take) takes;
    int64_t made, waiting; /* pods; of these, that never got a node */
    VEC(str) gangs_made, gangs_gone;
    VEC(str) entries;   /* of maps of gangs, that are new or changed: JSON */
    int64_t *low;       /* by component: the fewest that were ready */
    struct demand need; /* of the pods it made */
};

struct trace {
    struct arena *arena;
    str set, label;
    struct trace_component *components;
    size_t n_components;
    int64_t *before, *low, *after; /* ready at the beginning, the fewest of all, in the end */
    VEC(struct trace_step) steps;
    struct snapshot resources; /* only names and numbers */
    struct demand held, peak;  /* at the beginning, the most at any time */
    /* As it is now. Groups, cliques and pods by uid, for their names come again; gangs and maps by
     * name. */
    struct obj *pcs;
    struct map groups, cliques, units, pods, gangs, maps;
    struct map said; /* by map of gangs: what its planner said of the change that comes */
    struct demand holds;
    int64_t *ready; /* by component */
    bool begun;
    bool moved; /* something became ready since the last step began */
};

/* The set as it is to be; the arena outlives the trace. */
void trace_init(struct trace *t, struct arena *a, const struct obj *pcs);
void trace_done(struct trace *t);
/* The first news are where it begins. */
void trace_add(struct trace *t, const struct twin_news *news);
/* Counts who waits, and drops steps in which nothing was. */
void trace_end(struct trace *t);

#endif
