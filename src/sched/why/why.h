/*
 * Why a gang waits: facts that are found once, said in words (the condition, and the cause for its
 * pods) and written as a document for programs: status.unschedulable of the PodGang, which is there
 * as long as the condition Unschedulable is true. All of it is bounded.
 *
 *   cause       TooFew         no domain holds what `name` needs of one kind of pod
 *               Together       each part fits by itself, all of them do not
 *               SearchGivenUp  the same, as far as was searched, and not for a sum that is short
 *               Itself         not a matter of room; the condition's reason and message say what
 *   scope       Gang, Group (of the gang's groups of pods) or PodGroup; name: which
 *   level       label key of the domain that must be shared; absent: none need be
 *   pods        how many it needs there
 *   shortage    {resource, needs, free}: what all of it needs, and the best domain has not, even if
 *               it were in one piece; CPU in thousandths
 *   pin         {domain, level, by}: it must be there and nowhere else, since its own pods are
 *               ("members"), the rest of its replica is ("replica"), or its replica is and keeps
 *               away from others ("spread")
 *   candidates  the nearest domains, the best first, at most three: {domain, level, room, nodes,
 *               lacking, refusing, cordoned, notReady, tainted, notSelected, barred, resource}: of
 *               so many nodes, so many lack the resource for one more pod than they take, so many
 *               do not admit it, each for one of four reasons, and so many have enough and pods on
 *               or near them that it may not be with (affinity, spread, ports); room: pods that fit
 *   holders     who has that resource in the first of them, at most three: {gang, pods, priority,
 *               amount} or {pod, amount}; otherPods: pods of others
 *   heldFor     gangs that come before and for which room there is held, at most three; of Itself:
 *               the gang to which it leaves room (yield.h)
 *   keptFor     one of the gangs for whose replacements room there is kept; keptPods: how much
 *   closedNodes nodes there that are kept for other queues
 *   outlook     MakingRoom (others were asked to go for it), Draining (room is held for it as it
 *               becomes free), Hopeless (it would not fit even if all others left); absent: it
 *               waits
 */
#ifndef SCHED_WHY_WHY_H
#define SCHED_WHY_WHY_H

#include "sched/model/tell.h"

enum { WHY_SAID = 3 };
enum {
    REFUSED_CORDONED,
    REFUSED_NOT_READY,
    REFUSED_TAINTED,
    REFUSED_UNWANTED,
    REFUSED_CLAIMS, /* its volumes or devices cannot be there; a document counts it without a name
                     */
    N_REFUSALS
};

/* What the nodes of the domain lack for one more pod than they take. */
struct why_lack {
    size_t nodes, refused, lacking;
    size_t resource;
    size_t by[N_REFUSALS]; /* those that refuse it, each by the first that applies */
    size_t barred;         /* have enough, but pods there or nearby do not go with it */
};

struct why_holder {
    const struct tgang *gang;
    size_t pods;
    int64_t amount;
};

struct why_held {
    const struct tgang *gang;
    bool asked;
};

/* Of the resource of which the smallest share of what all of it needs is free in the domain. */
struct why_shortage {
    size_t resource;
    int64_t needs, free; /* needs 0: there is none */
};

struct facts {
    const struct ask *ask;
    struct tables *tables;
    struct core_cert cert;
    str name; /* of the part that finds no room */
    struct why_lack lacks[CORE_NEAREST];
    struct why_holder holders[WHY_SAID];
    size_t n_holders, other_pods;
    struct why_held held[WHY_SAID];
    size_t n_held;
    const struct tgang *kept_for;
    size_t kept;
    size_t closed;
    struct why_shortage shortage;
    int32_t pin; /* domain; 0: none */
    const char *pinned_by;
};

/* Before room is sought for the gang: what it holds itself is nobody else's fault. */
void why_find(const struct ask *q, struct tables *t, const struct core_cert *cert,
              struct facts *ret);
/* The same for one who asked the same; see refusals.h. */
void why_again(const struct facts *known, const struct ask *q, struct facts *ret);
/* Nodes that were looked at for it. */
size_t why_work(const struct facts *f);
/* After it. */
void why_say(const struct facts *f, struct arena *a, struct reasons *ret);
struct doc *why_doc(const struct facts *f, struct arena *a);

/* Not even an empty cluster would hold it. */
bool why_is_hopeless(const struct facts *f);

#endif
