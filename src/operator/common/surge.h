/*
 * Surge: units of the new version above the number wanted, while a component is updated, so that
 * nothing of the old version goes before something new serves.
 *
 * The unit of a standalone clique is a pod; that of a scaling group is a replica of the group,
 * which has a gang of its own and is placed whole or not at all. A whole replica of a set is not
 * surged: the units inside of it are.
 *
 * A pass with a surge of n is the pass it would be without one, on a component that is n larger:
 *
 *   1. up to n units above the number wanted are made, of the new version;
 *   2. old units are taken, and made anew in their own place, as long as no fewer than replicas -
 *      maxUnavailable serve: each one that serves above the number wanted lets one go;
 *   3. when nothing old is left and the units in their own places serve, those above go.
 *
 * So names and indices are in the end what they were, at the price of n units that are made and
 * thrown away. Pods above the number take the lowest free indices and the highest go in the end;
 * replicas of a group above the number are those from `replicas` on.
 *
 * What is stored, in the component's updateProgress:
 *
 *   surgedReplicas   how many are to be above the number now. Everybody who asks how many units
 *                    there are to be adds it; it counts while the pass runs and not after.
 *   surgeTimedOutAt  a unit had no place for surgeTimeout after it was made. It is given up, and
 *                    from then on the pass makes no more of them and goes on in place, with at
 *                    least one unit missing at a time: it never waits for room that is not there.
 *
 * The clock is the creation time of the unit itself. Where a map of gangs rules (gangmap.h), the
 * map follows these numbers, and units the map (surge_map.h, which also has the surge of coherent
 * steps).
 *
 * All pure functions.
 */
#ifndef OPERATOR_COMMON_SURGE_H
#define OPERATOR_COMMON_SURGE_H

#include "client/controller.h"

#define SURGE_TIMEOUT_DEFAULT (5 * USEC_PER_MIN)

/* maxSurge of a component (its member of the template) with so many replicas, in units: its own, or
 * the set's. A percentage is of the replicas, rounded up. */
int64_t surge_said(const struct obj *pcs, jval config, int64_t replicas);
usec surge_timeout(const struct obj *pcs);
/* How many units above the number a clique or group may have while it is updated: what is said,
 * where the strategy is RollingRecreate. A group below its minimum has no gangs
 * above it: nothing is surged then. */
int64_t surge_most(const struct obj *pcs, jval config, const struct obj *component);
/* What an update of it may take: maxUnavailable, at least one where nothing is surged, or not any
 * more; none unless said where something is. `otherwise` where it is not said and nothing is
 * surged. */
int64_t surge_allowance(const struct obj *pcs, jval config, const struct obj *component,
                        int64_t otherwise);

/* Of a clique or group as it is stored. */
int64_t surge_held(const struct obj *component);
bool surge_timed_out(const struct obj *component);
/* Units that there are to be: spec.replicas and those above. */
int64_t surge_total(const struct obj *component);

struct surge_facts {
    int64_t most;      /* maxSurge */
    int64_t desired;   /* replicas */
    int64_t allowance; /* maxUnavailable */
    int64_t held;      /* as stored; 0 for a pass that begins */
    int64_t outdated;  /* units in their own places that are of another version */
    bool filling;      /* something is still to be made in its own place */
    int64_t staying;   /* units that serve without those above the number */
    int64_t placed;    /* of those above, how many may stay when one is given up */
    bool timed_out;    /* before this */
    bool times_out;    /* now */
    bool rolls;        /* it may go on: not paused */
};
/* How many are to be above the number. */
int64_t surge_next(const struct surge_facts *f);

/* Writes both members where they differ from what is stored. begins: with a new pass. */
struct surge_record {
    int64_t held;
    bool begins, times_out, timed_out;
    usec now;
};
bool surge_differs(const struct obj *component, const struct surge_record *r);
void surge_write(const struct obj *component, const struct surge_record *r, struct jw *w);

#endif
