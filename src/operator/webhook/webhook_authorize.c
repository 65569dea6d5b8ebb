/*
 * Who may change what the operator manages. The children of a set say what the operator made of it;
 * an edit by hand would be undone, or worse, believed. The set they belong to is the one place to
 * change things, and an annotation on it opens them for a person who knows better.
 *
 * The labels that say whose child an object is are read from the old object: the new one may have
 * been tampered with.
 */
#include "grove/types.h"
#include "operator/webhook/grove_webhook.h"

const str webhook_default_exempt[] = {
    STR_INIT("system:serviceaccount:kube-system:generic-garbage-collector"),
    STR_INIT("system:serviceaccount:kube-system:horizontal-pod-autoscaler"),
    STR_INIT("system:serviceaccount:kube-system:namespace-controller"),
    STR_INIT("system:kube-controller-manager"),
    STR_INIT("system:serviceaccount:kai-scheduler:pod-grouper"),
    STR_INIT("system:serviceaccount:kai-scheduler:binder"),
};
const size_t webhook_n_default_exempt = ARRAY_LEN(webhook_default_exempt);

static void warn(const struct webhook_request *q, struct webhook_verdict *v, str text)
{
    v->warnings = arena_new(q->arena, str);
    v->warnings[0] = text;
    v->n_warnings = 1;
}

static bool is_exempt(const struct webhook_rules *rules, str user)
{
    if (!str_is_empty(rules->operator_user) && str_eq(user, rules->operator_user))
        return true;
    for (size_t i = 0; i < rules->n_exempt; i++) {
        if (str_eq(user, rules->exempt[i]))
            return true;
    }
    return false;
}

enum operation { OP_CONNECT, OP_CREATE, OP_UPDATE, OP_DELETE, OP_UNKNOWN };

static enum operation operation_of(const struct webhook_request *q)
{
    static const char *const words[] = {"CONNECT", "CREATE", "UPDATE", "DELETE"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_is(q->operation, words[i]))
            return (enum operation)i;
    }
    return OP_UNKNOWN;
}

/* The set that the object says it is part of; NULL: nobody to protect it, and *ret_why says so. */
static const struct obj *parent_of(const struct webhook_rules *rules,
                                   const struct webhook_request *q, jval object, str *ret_why)
{
    str ns = jstr(jpath(object, "metadata.namespace"));
    str set = jstr(jget(jpath(object, "metadata.labels"), STR(LABEL_PART_OF)));
    const struct obj *pcs =
        str_is_empty(set) ? NULL : rules->find_set(rules->ctx, str_is_empty(ns) ? q->ns : ns, set);
    if (str_is_empty(set))
        *ret_why = STR("the object has no label " LABEL_PART_OF ": nothing protects it");
    else if (!pcs)
        *ret_why = arena_printf(
            q->arena, "there is no PodCliqueSet \"%.*s\": nothing protects this", STR_ARG(set));
    return pcs;
}

void webhook_authorize(const struct webhook_rules *rules, const struct webhook_request *q,
                       struct webhook_verdict *v)
{
    enum operation op = operation_of(q);
    jval object = op == OP_CREATE ? q->object : q->old_object;
    str why = STR_NONE;
    if (op == OP_CONNECT)
        return;
    if (op == OP_UNKNOWN) {
        webhook_deny(v, q->arena, 500, "operation \"%.*s\" is not known", STR_ARG(q->operation));
        return;
    }
    if (jtype(jgetc(object, "metadata")) != J_OBJECT) {
        webhook_deny(v, q->arena, 400, "the review has no %s with metadata",
                     op == OP_CREATE ? "object" : "oldObject");
        return;
    }
    if (is_exempt(rules, q->user))
        return;
    if (op == OP_DELETE && str_is(q->resource, "pods") && str_is_empty(q->group))
        return;
    if (rules->is_ready && !rules->is_ready(rules->ctx)) {
        webhook_deny(v, q->arena, 500,
                     "the operator has just started and cannot look up PodCliqueSets yet; try "
                     "again");
        return;
    }
    const struct obj *pcs = parent_of(rules, q, object, &why);
    if (!pcs) {
        warn(q, v, why);
        return;
    }
    if (str_is(obj_annotation(pcs, STR(ANNOTATION_UNPROTECTED)), "true"))
        return;
    webhook_deny(
        v, q->arena, 403,
        "%.*s \"%.*s\" is managed by PodCliqueSet \"%.*s\": change that instead. (To change "
        "it all the same, annotate the set with " ANNOTATION_UNPROTECTED "=true.)",
        STR_ARG(q->resource), STR_ARG(q->name), STR_ARG(pcs->name));
}
