/*
 * What a pod says about other pods, read once and in order, and how the terms that follow from it
 * are named: pods that say the same use the same term. Private to terms.c.
 *
 * Reading costs what the pod's text does. What all of a pod's affinities or constraints have in
 * common is written down once, and long texts are named by their digest.
 */
#ifndef SCHED_MODEL_SPEECH_H
#define SCHED_MODEL_SPEECH_H

#include "sched/model/terms.h"

#define HOSTNAME "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

enum said { SAID_APART, SAID_NEAR, SAID_WISH, SAID_SPREAD, SAID_PORT, SAID_VOLUME };

struct saying {
    enum said what;
    str key; /* topology */
    jval term;
    int32_t weight;        /* of a wish */
    str name;              /* of a port or volume */
    bool counted, avoided; /* of a port: the pod is one of its users; keeps away from them */
};

/* All of it, read once. */
struct speech {
    struct tables *tables;
    const struct obj *pod;
    struct arena arena;
    VEC(struct saying) sayings;
    size_t things; /* a port is one of them, with several sayings */
    /* What several terms have in their names; empty: not asked for yet. */
    str near, nodes, tolerations, keys;
};

/* Freed by speech_done; the pod outlives it. */
void speech_hear(struct tables *t, const struct obj *pod, struct speech *ret);
void speech_done(struct speech *sp);
/* More than TERMS_POD_MAX: only what stands first was read. */
bool speech_is_too_much(const struct speech *sp);
/* Of a pod that waits it is all or nothing. */
bool speech_is_heard(const struct speech *sp);
/* The kind of the term that the saying asks about; an anti-affinity has a holder ('h') besides. */
char speech_kind(const struct saying *s);
/* In the arena of the speech. */
str speech_term_id(struct speech *sp, const struct saying *s, char kind);

/* Of a spread constraint: it is required; the policy says "Honor", or nothing and it would. */
bool constraint_is_hard(jval constraint);
bool constraint_honours(jval constraint, const char *policy, bool otherwise);

#endif
