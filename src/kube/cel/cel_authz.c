/*
 * CEL: the authorizer, which is asked what somebody may do. A question is put together step by
 * step, each making a new one:
 *
 *   authorizer.group('').resource('pods').namespace('x').check('get').allowed()
 */
#include "kube/cel/cel_impl.h"

static struct cel_value step(struct cel_run *e, enum cel_type type, const struct cel_access *from,
                             struct cel_access **ret)
{
    struct cel_access *x = arena_new(e->arena, struct cel_access);
    *x = *from;
    *ret = x;
    return (struct cel_value){.type = type, .access = x};
}

CEL_FN(cel_f_authz_path)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_PATH_CHECK, a->access, &x);
    x->path = a[1].s;
    return a[1].s.len ? v : cel_failure(e, "path must not be empty");
}

CEL_FN(cel_f_authz_group)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_GROUP_CHECK, a->access, &x);
    x->group = a[1].s;
    return v;
}

CEL_FN(cel_f_authz_account)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_AUTHORIZER, a->access, &x);
    if (!str_is_dns1123_subdomain(a[2].s) || !str_is_dns1123_label(a[1].s))
        return cel_failure(e, "Invalid service account");
    x->service_account = arena_cat(e->arena, a[1].s, STR("/"), a[2].s);
    return v;
}

CEL_FN(cel_f_authz_resource)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_RESOURCE_CHECK, a->access, &x);
    x->resource = a[1].s;
    return v;
}

CEL_FN(cel_f_authz_sub)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_RESOURCE_CHECK, a->access, &x);
    x->sub = a[1].s;
    return v;
}

CEL_FN(cel_f_authz_namespace)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_RESOURCE_CHECK, a->access, &x);
    x->ns = a[1].s;
    return v;
}

CEL_FN(cel_f_authz_name)
{
    struct cel_access *x;
    struct cel_value v = step(e, CEL_RESOURCE_CHECK, a->access, &x);
    x->name = a[1].s;
    return v;
}

/* What the reference calls the most expensive function. */
#define CHECK_COST 1000

CEL_FN(cel_f_authz_check)
{
    struct cel_access x = *a->access;
    struct cel_decision *d = arena_new(e->arena, struct cel_decision);
    x.verb = a[1].s;
    if (!cel_spend(e, CHECK_COST))
        return cel_too_much(e);
    d->allowed = e->in.authorize && e->in.authorize(e->in.ctx, &x, &d->reason);
    return (struct cel_value){.type = CEL_DECISION, .decision = d};
}

CEL_FN(cel_f_authz_allowed)
{
    return of_bool(a->decision->allowed);
}

CEL_FN(cel_f_authz_reason)
{
    return of_str(a->decision->reason);
}

/* Ours never fails to answer. */
CEL_FN(cel_f_authz_errored)
{
    return of_bool(false);
}

CEL_FN(cel_f_authz_error)
{
    return of_str(STR(""));
}
