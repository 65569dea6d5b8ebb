/*
 * Admission policies of the users: expressions that are evaluated before something is written.
 *
 *   policy_compile   a policy as expressions                                           (pure)
 *   policy_walk      which policies and bindings a write concerns, and what they see
 *   policy_types     what in it does not fit the kinds it is about                     (pure)
 *   policy_judge     what becomes of it when a ValidatingAdmissionPolicy says no
 *   policy_mutate    what a MutatingAdmissionPolicy makes of it
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
 * nor what the server writes by itself. Those that mutate come just before the mutating webhooks,
 * each seeing what the one before made of the object; those with reinvocationPolicy IfNeeded have
 * their say once more when somebody else changed it after them. They change what a client wrote,
 * not deletions, bindings or evictions.
 */
#ifndef APISERVER_ADMISSION_POLICY_H
#define APISERVER_ADMISSION_POLICY_H

#include "apiserver/server.h"
#include "kube/cel/cel.h"

struct admit;
struct hook_about;
struct policies;
struct req;
struct status;

/* ---- policy_compile.c ---- */

struct policy_condition {
    str name;
    const struct cel *cel; /* NULL: it does not compile */
};

struct policy_annotation {
    str key;
    const struct cel *cel;
};
struct policy_validation {
    jval spec;
    const struct cel *cel, *message; /* message NULL: none */
};

struct policy_mutation {
    str expression;
    const struct cel *cel;
    bool is_patch; /* operations, not a configuration to be applied */
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
    struct policy_annotation *annotations;
    size_t n_annotations;
    struct policy_mutation *mutations;
    size_t n_mutations;
    str broken; /* the first expression that does not compile, and why; empty: none */
};

/* Calls report (may be NULL) for each expression that does not compile: field is its path. */
struct policy_code
policy_compile(struct arena *a, jval spec,
               void (*report)(void *ctx, str field, str expression, const char *why), void *ctx);

/* ---- policy_types.c ---- */

/* The member of a merge patch of a policy's status: what its expressions say that does not fit the
 * kinds it is about. */
void policy_put_type_checking(jval spec, struct jw *w);

/* ---- policy_judge.c ---- */

/* One policy and one of its bindings. */
struct policy_pair {
    const struct obj *policy, *binding;
    const struct policy_code *code;
};

/* NULL, or why the write of this request is denied. Pairs are in order; those of one policy stand
 * together. */
const struct status *policy_judge(struct req *q, const struct policy_pair *pairs, size_t n);

/* ---- policy_mutate.c ---- */

/* Who has had a say about a request so far, in its arena. */
struct policy_seen {
    struct policy_call *first;
    struct policy_call **last;
    const struct doc *output; /* what they made of it */
};

/* Changes the candidate; NULL, or why the write is refused. again: only those that are to have
 * their say once more, because of what others changed since. */
const struct status *policy_mutate(struct hook_about *about, const struct policy_pair *pairs,
                                   size_t n, struct policy_seen *seen, bool again,
                                   bool *ret_changed);

/* ---- policy.c ---- */

struct policies *policies_new(struct apiserver *a);
void policies_free(struct policies *p);
void policies_event(struct policies *p, const struct store_event *e);
/* There is a policy in force somewhere: all that this costs when there is none. */
bool policies_concern(const struct policies *p, const struct req *q);
const struct status *policies_judge(struct policies *p, struct req *q);
/* Bindings of policies that mutate. */
size_t policies_mutating(const struct policies *p);
const struct status *policies_mutate(struct policies *p, struct hook_about *about,
                                     struct policy_seen *seen, bool again, bool *ret_changed);

/* ---- policy_admit.c ---- */

void policy_validate(const struct admit *a, jval root);
void policy_binding_validate(const struct admit *a, jval root);
void mutating_policy_validate(const struct admit *a, jval root);
void mutating_policy_binding_validate(const struct admit *a, jval root);

#endif
