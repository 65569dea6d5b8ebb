/*
 * Coherent updates: the arithmetic. All components that changed move together, so that at any time
 * there is enough of the old version and of the new one to serve, and no gang holds both.
 *
 * The plan follows from the totals (replicas r, minimum m, at most u away) and from nothing else:
 *
 *   steps    = min over components of r / m      each makes a gang of m of every component
 *   tail     = (r - steps * m) / steps           what each step moves beside, u at a time
 *   leftover = the rest, moved at the end, u at a time
 *
 * Where the update stands is read off the map: how many units of each component are of the new
 * version. A component that is ahead (it was not changed again, it was scaled out) waits for the
 * others; one whose total changed is planned by the new one. So nothing else is stored, and every
 * step can be planned again.
 *
 * Less than the minimum: a component with fewer replicas than its minimum moves all it has in the
 * first step; one with none is not there. A component that changes alone may be allowed less than
 * its minimum at a time: it moves in units of that size.
 *
 * Units that do not serve go first, then in the order of the map, lowest replica first. Units that
 * have no room (gangmap_room.h) are no part of the totals: they are set aside with the next step.
 */
#ifndef OPERATOR_UPDATE_COHERENT_H
#define OPERATOR_UPDATE_COHERENT_H

#include "operator/common/gangmap.h"

/* How one component moves. */
struct coherent_pace {
    int64_t total;    /* units that the steps are made of: those in the map that have room */
    int64_t unit;     /* with a gang of its own */
    int64_t most;     /* at once */
    int64_t target;   /* in each step */
    int64_t leftover; /* after the steps */
};

struct coherent_plan {
    const struct gangmap_component *components;
    size_t n;
    int64_t steps;               /* that make a gang of all; 0: nothing is to be done */
    struct coherent_pace *paces; /* by component; zeros: it does not move */
};

/* The totals are what the map holds. The number that is wanted may be another one already; it is
 * put into the map (coherent_scale) before the next step, and never planned with before. */
void coherent_plan(struct arena *a, const struct gangmap *m, const struct gangmap_component *c,
                   struct coherent_plan *ret);

struct coherent_step {
    int64_t step, sub; /* from 1; as people name them: 2.1 */
    bool makes_gang;   /* of all that it takes */
    int64_t *take;     /* by component */
    int64_t *aside;    /* beside these: units that have no room, into gangs of their own */
};
/* What comes next, given the map. False: all that is in scope is of the new version. */
bool coherent_next(const struct coherent_plan *p, const struct gangmap *m,
                   struct coherent_step *ret);

enum coherent_tail {
    COHERENT_PAIRED,     /* every step makes a gang of all */
    COHERENT_INDEPENDENT /* the first does; what is above the minimum stays in gangs of its own */
};
struct coherent_target {
    str base; /* of new names: P-i */
    str hash;
    int64_t now; /* usec */
    enum coherent_tail tail;
    bool mixes; /* another strategy changes pods in place: a gang may hold both versions */
};
/* The map after the step; what the step takes away is in *taken_up, by component: how many of the
 * units serve (NULL: not asked for). */
struct gangmap coherent_apply(const struct coherent_plan *p, const struct gangmap *m,
                              const struct coherent_step *s, const struct coherent_target *t,
                              int64_t *taken_up);

/* Takes as many units of the old version out of the map, by component, in the order of a step. */
void coherent_drain(struct gangmap *m, const struct gangmap_component *c, const int64_t *take);

/* ---- the gate ---- */

/* What there is of a gang now. */
typedef bool coherent_gang_fn(void *ctx, str gang);
typedef int64_t coherent_pods_fn(void *ctx, str gang, size_t component);
struct coherent_live {
    coherent_gang_fn *is_ready;
    coherent_pods_fn *ready_pods; /* of a standalone clique in that gang, of the new version */
    /* Counts who serves, which takes a look at everybody; asked when all else says go. NULL: that
     * is known. */
    void (*count)(void *ctx);
    void *ctx;
    /* The part of this entry is of the last version that was complete, so that its units can be
     * expected to serve; those of one that never was may need the update to do so. Asked of
     * components that lack something. NULL: all are. */
    bool (*was_complete)(void *ctx, size_t entry, size_t component);
};

enum coherent_wait {
    COHERENT_GO,
    COHERENT_GANGS,   /* gangs the last sub-step made are not ready */
    COHERENT_JOINED,  /* pods that joined the newest gang of all are not ready */
    COHERENT_COMING,  /* units of the old version are on their way to nodes */
    COHERENT_SERVING, /* too little of a component serves */
};
struct coherent_gate {
    enum coherent_wait wait;
    const struct gangmap_component *component; /* JOINED, COMING, SERVING */
    str gang;                                  /* GANGS: the first; JOINED */
    int64_t have, need;                        /* GANGS: ready of how many; COMING: how many */
    int64_t takes;                             /* SERVING: serving units that the next one takes */
};
/* May the next step be made? Also asked before the first one. */
struct coherent_gate coherent_check(const struct coherent_plan *p, const struct gangmap *m,
                                    const struct coherent_target *t,
                                    const struct coherent_live *live);
/* Only whether the gangs that the last sub-step made are ready, which is asked first: no more of
 * the map is needed than these. */
bool coherent_check_gangs(const struct gangmap *m, const struct coherent_target *t,
                          const struct coherent_live *live, struct coherent_gate *ret);
/* One sentence with numbers. */
str coherent_explain(struct arena *a, const struct coherent_gate *g);
/* Gangs the last sub-step made, those whose names carry the newest times. */
size_t coherent_newest(const struct gangmap *m, const struct gangmap_entry **ret);

/* ---- scaling ---- */

/* Brings the map to the components' replicas: what is new is of the new version, in the newest gang
 * of all (pods) or in gangs of their own (replicas of groups, lowest free first). What is too much
 * goes from what is set aside first, then from the old version first, from gangs that hold nothing
 * else first, from gangs older than the map first, then the newest gang first and the highest
 * replica first. A component that this leaves alone in a gang that was made for several gets
 * entries of its own (*ret_moved says which, for people; NULL: not asked for), as long as another
 * anchor stays. True when it changed. */
bool coherent_scale(struct gangmap *m, const struct gangmap_component *c,
                    const struct coherent_target *t, str *ret_moved);
/* Units above the numbers, where pods are changed in place (surge_map.h); negative: as many less.
 * Replicas of a group come and go at the upper end of their numbers, pods in the newest gang of all
 * that has any. */
void coherent_raise(struct gangmap *m, const struct gangmap_component *c,
                    const struct coherent_target *t, const int64_t *more);
/* Would it change the map? */
bool coherent_is_scaled(const struct gangmap *m, const struct gangmap_component *c);

#endif
