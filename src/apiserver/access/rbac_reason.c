/*
 * Why somebody may do something: the binding, the role and the subject that allow it, in the words
 * of kube-apiserver. Asked for by reviews only; a decision needs none of it (rbac_index.c), so this
 * walks the bindings, those of the whole cluster first, in order of their names.
 */
#include "apiserver/access/rbac.h"

static bool is_account(const struct user *u, str ns, str name)
{
    str rest = u->name;
    return str_starts(rest, STR("system:serviceaccount:")) &&
           (rest = str_sub(rest, strlen("system:serviceaccount:"), rest.len),
            str_eq(str_cut(&rest, ':'), ns)) &&
           str_eq(rest, name);
}

static bool is_member(const struct user *u, str group)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (str_eq(u->groups[i], group))
            return true;
    return false;
}

/* The user is this subject; *ret says how it is called. */
static bool is_subject(struct arena *a, jval subject, str binding_ns, const struct user *u,
                       str *ret)
{
    str kind = jstr(jgetc(subject, "kind")), name = jstr(jgetc(subject, "name"));
    str ns = jstr(jgetc(subject, "namespace"));
    bool account = str_is(kind, "ServiceAccount");
    if (account && !ns.len)
        ns = binding_ns;
    bool is = account                ? is_account(u, ns, name)
              : str_is(kind, "User") ? str_eq(u->name, name)
                                     : str_is(kind, "Group") && is_member(u, name);
    if (is)
        *ret = account ? arena_printf(a, "ServiceAccount \"%.*s/%.*s\"", STR_ARG(name), STR_ARG(ns))
                       : arena_printf(a, "%.*s \"%.*s\"", STR_ARG(kind), STR_ARG(name));
    return is;
}

static bool rules_allow(struct policy_rules rules, const struct access *x)
{
    for (size_t i = 0; i < rules.n; i++)
        if (policy_rule_allows(&rules.p[i], x))
            return true;
    return false;
}

static str binding_reason(struct rbac *r, struct arena *a, const struct obj *binding,
                          const struct user *u, const struct access *x)
{
    jval ref = jgetc(obj_root(binding), "roleRef");
    str kind = jstr(jgetc(ref, "kind")), name = jstr(jgetc(ref, "name")), subject;
    for (struct jiter it = jiter(jgetc(obj_root(binding), "subjects")); jnext(&it);) {
        if (!is_subject(a, it.value, binding->ns, u, &subject))
            continue;
        str ns = str_is(kind, "Role") ? binding->ns : STR_NONE;
        if (!rules_allow(rbac_rules_in(r, ns, name), x))
            return STR_NONE; /* other subjects hold the same role */
        return arena_printf(a, "RBAC: allowed by %s \"%.*s%s%.*s\" of %.*s \"%.*s\" to %.*s",
                            binding->kind->kind, STR_ARG(binding->name), binding->ns.len ? "/" : "",
                            STR_ARG(binding->ns), STR_ARG(kind), STR_ARG(name), STR_ARG(subject));
    }
    return STR_NONE;
}

static str first_reason(struct rbac *r, const struct store *s, struct arena *a,
                        const struct kind *k, str ns, const struct user *u, const struct access *x)
{
    str reason = STR_NONE;
    struct store_iter it = store_range(s, k, ns, STR_NONE, STR_NONE);
    for (struct obj *o; !reason.len && (o = store_next(&it));)
        reason = binding_reason(r, a, o, u, x);
    return reason;
}

str rbac_reason(struct rbac *r, const struct store *s, struct arena *a, const struct user *u,
                const struct access *x)
{
    if (user_is_master(u))
        return STR_NONE;
    str reason = first_reason(r, s, a, &kind_cluster_role_binding, STR_NONE, u, x);
    if (!reason.len && x->ns.len)
        reason = first_reason(r, s, a, &kind_role_binding, x->ns, u, x);
    return reason;
}
