/*
 * status.phase of PodCliqueSets and PodCliqueScalingGroups: one word for people, for
 * `kubectl get -w` and for tables. Programs read conditions. Everything about it is here, pure:
 * which phase the facts call for, and over which other phases it is reached.
 *
 * The words of a set and of a group (the other column) for each phase:
 *
 *   Creating      Pending       children that are wanted have not all been created
 *   Scheduling    Scheduling    they have, and its replicas have not all been available yet
 *   Available     Available     set: all its replicas are; group: minAvailable of them
 *   Updating      Updating      an update is under way
 *   Degraded      Unavailable   it was available, and has lost replicas
 *   Failed        -             it cannot go on by itself; a condition has the cause
 *   ScaledToZero  ScaledToZero  no replicas are wanted
 *
 * The way up is always told whole: who watches sees Creating, Scheduling and Available, each
 * in an event of its own, however fast it went; of a group Pending, Scheduling and Available.
 * phase.c has the table of moves.
 */
#ifndef OPERATOR_COMMON_PHASE_H
#define OPERATOR_COMMON_PHASE_H

#include "kube/object.h"

enum phase {
    PHASE_NONE, /* it has not said anything yet */
    PHASE_CREATING,
    PHASE_SCHEDULING,
    PHASE_AVAILABLE,
    PHASE_UPDATING,
    PHASE_DEGRADED,
    PHASE_FAILED,
    PHASE_ZERO,
    N_PHASES
};

/* What decides. The first that holds, in this order. */
struct phase_facts {
    bool failed;    /* what it needs is refused, or a limit is reached */
    bool none;      /* no replicas are wanted */
    bool updating;  /* an update is under way */
    bool available; /* it has the replicas that it needs */
    bool lost;      /* it had them, see phase_is_loss */
    bool created;   /* all its children */
};

/* Where it should be. */
enum phase phase_goal(const struct phase_facts *f);
/* The next one to write on the way from `from` to `goal`; `goal` itself when it may be written. At
 * most two phases are between any two. */
enum phase phase_step(enum phase from, enum phase goal);

/* Fewer replicas than wanted are available. Is that a loss, or are they yet to come? They are yet
 * to come until it has been Available for the first time, and when more are wanted than before. */
struct phase_numbers {
    int64_t wanted, available;
};
bool phase_is_loss(enum phase from, struct phase_numbers before, struct phase_numbers now);

/* The word that `kind` (PodCliqueSet or PodCliqueScalingGroup) has for it; PHASE_NONE: "". */
const char *phase_word(const struct kind *kind, enum phase p);
/* The phase an object says it is in; also in words that older versions used. */
enum phase phase_of(const struct obj *o);

#endif
