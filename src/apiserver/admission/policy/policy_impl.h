/*
 * What the files of policies share: the way of a write past the policies that concern it. Private
 * to them.
 *
 * A walk goes through policies and bindings in order and stops at each invocation, which is a
 * policy with one of its bindings and one object of parameters. Which of them match is decided by
 * the object as it was when the walk began; what expressions see is the object as it is.
 */
#ifndef APISERVER_ADMISSION_POLICY_POLICY_IMPL_H
#define APISERVER_ADMISSION_POLICY_POLICY_IMPL_H

#include "apiserver/admission/policy.h"
#include "apiserver/admission/webhook.h"

struct policy_walk;

struct policy_walk_ops {
    /* One invocation whose conditions hold; they were evaluated by this run. */
    void (*each)(struct policy_walk *w, struct cel_run *run);
    /* It cannot be evaluated, or (is_setup) is not set up so that it could be. */
    void (*fail)(struct policy_walk *w, str why, bool is_setup);
};

struct policy_walk {
    const struct policy_walk_ops *ops;
    struct req *q;
    struct arena *arena; /* of the request */
    struct hook_about *about;
    const struct policy_pair *pair; /* without a binding: it is about the policy as a whole */
    const struct kind *as;          /* how the policy wants to see the object */
    const struct obj *params;       /* NULL: none */
    struct hook_target target;      /* as the walk began */
    const struct kind *seen_as;     /* of the question below; NULL: it is to be put anew */
    struct doc *review;
    jval null, ns; /* ns: the namespace, null for what is in none */
    jval vars[POLICY_VARS];
    uint64_t cost; /* what is left for all, and for this invocation */
    uint64_t left;
};

void policy_walk(struct policy_walk *w, const struct policy_walk_ops *ops, struct hook_about *about,
                 const struct policy_pair *pairs, size_t n);
/* A run over the object as it is now. */
struct cel_run *policy_walk_run(struct policy_walk *w);
bool policy_ignores_failures(const struct policy_walk *w);

#endif
