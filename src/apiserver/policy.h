/*
 * Admission policies of the users: expressions that are evaluated before something is written.
 *
 *   policy_compile   a ValidatingAdmissionPolicy as expressions                        (pure)
 *   policy_judge     which policies and bindings a write concerns, and what they say
 *   policies         the policies and bindings there are, and the status of the former
 *   policy_admit     what a valid policy and a valid binding are                       (pure)
 *
 * A policy has a say where a binding puts it in force: a write that both match is judged once for
 * every object of parameters that the binding refers to. What a validation refuses is denied,
 * warned about or logged, as the binding says; of several denials the client sees the first, in the
 * order of names. A policy that cannot be evaluated denies, unless its failurePolicy is Ignore.
 *
 * Policies judge where validating webhooks do and just before them: the object is complete then.
 * They never judge what could take them out of force (policies, bindings, webhook configurations),
 * nor what the server writes by itself.
 */
#ifndef APISERVER_POLICY_H
#define APISERVER_POLICY_H

#include "apiserver/server.h"
#include "kube/cel.h"

struct admit;
struct policies;
struct req;
struct status;

/* ---- policy_compile.c ---- */

struct policy_condition {
    str name;
    const struct cel *cel; /* NULL: it does not compile */
};

struct policy_validation {
    jval spec;
    const struct cel *cel, *message; /* message NULL: none */
};

/* The variables of its expressions, in this order; the last only with paramKind. */
enum {
    POLICY_OBJECT,
    POLICY_OLD_OBJECT,
    POLICY_REQUEST,
    POLICY_NAMESPACE,
    POLICY_PARAMS,
    POLICY_VARS
};

struct policy_code {
    struct policy_condition *conditions;
    size_t n_conditions;
    struct cel_lazy *variables;
    size_t n_variables;
    struct policy_validation *validations;
    size_t n_validations;
    str broken; /* the first expression that does not compile, and why; empty: none */
};

/* Calls report (may be NULL) for each expression that does not compile: field is its path. */
struct policy_code
policy_compile(struct arena *a, jval spec,
               void (*report)(void *ctx, str field, str expression, const char *why), void *ctx);

/* ---- policy_judge.c ---- */

/* One policy and one of its bindings. */
struct policy_pair {
    const struct obj *policy, *binding;
    const struct policy_code *code;
};

/* NULL, or why the write of this request is denied. Pairs are in order; those of one policy stand
 * together. */
const struct status *policy_judge(struct req *q, const struct policy_pair *pairs, size_t n);

/* ---- policy.c ---- */

struct policies *policies_new(struct apiserver *a);
void policies_free(struct policies *p);
void policies_event(struct policies *p, const struct store_event *e);
/* There is a policy in force somewhere: all that this costs when there is none. */
bool policies_concern(const struct policies *p, const struct req *q);
const struct status *policies_judge(struct policies *p, struct req *q);

/* ---- policy_admit.c ---- */

void policy_validate(const struct admit *a, jval root);
void policy_binding_validate(const struct admit *a, jval root);

#endif
