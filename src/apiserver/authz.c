/*
 * Authorization: the one question every request is asked before it is looked at, and the words of
 * the answer when it is no. Who may do what is in rbac.h. Refusals are logged: who, verb, what;
 * never what was sent.
 */
#include "apiserver/rbac.h"
#include "apiserver/request.h"
#include "base/log.h"

struct access access_to(str verb, const struct kind *k, str ns, str name, str sub)
{
    bool makes = str_is(verb, "create") && !sub.len;
    return (struct access){
        .verb = verb,
        .group = str_of(k->group),
        .resource = str_of(k->plural),
        .sub = sub,
        .ns = k == &kind_namespace && !makes ? name : ns,
        .name = makes ? STR_NONE : name,
    };
}

bool authorize(struct apiserver *a, const struct user *user, const struct access *x)
{
    return rbac_allows(a->rbac, user, x);
}

static struct status *refuse_path(struct arena *a, const struct user *user, const struct access *x)
{
    struct status *s =
        status_new(a, 403, "Forbidden", "forbidden: User \"%.*s\" cannot %.*s path \"%.*s\"",
                   STR_ARG(user->name), STR_ARG(x->verb), STR_ARG(x->path));
    s->empty_details = true;
    return s;
}

static struct status *refuse_resource(struct arena *a, const struct user *user,
                                      const struct access *x)
{
    str name = x->name.len ? arena_printf(a, " \"%.*s\"", STR_ARG(x->name)) : STR_NONE;
    str where = x->ns.len ? arena_printf(a, "in the namespace \"%.*s\"", STR_ARG(x->ns))
                          : STR("at the cluster scope");
    struct status *s = status_new(
        a, 403, "Forbidden",
        "%.*s%s%.*s%.*s is forbidden: User \"%.*s\" cannot %.*s resource \"%.*s%s%.*s\" in API "
        "group \"%.*s\" %.*s",
        STR_ARG(x->resource), x->group.len ? "." : "", STR_ARG(x->group), STR_ARG(name),
        STR_ARG(user->name), STR_ARG(x->verb), STR_ARG(x->resource), x->sub.len ? "/" : "",
        STR_ARG(x->sub), STR_ARG(x->group), STR_ARG(where));
    s->name = x->name;
    s->group = x->group;
    s->kind = x->resource;
    return s;
}

struct status *authorize_status(struct apiserver *a, struct arena *arena, const struct user *user,
                                const struct access *x)
{
    if (authorize(a, user, x))
        return NULL;
    if (x->path.len)
        log_info("request denied", LOG_S("user", user->name), LOG_S("verb", x->verb),
                 LOG_S("path", x->path));
    else
        log_info("request denied", LOG_S("user", user->name), LOG_S("verb", x->verb),
                 LOG_S("group", x->group), LOG_S("resource", x->resource),
                 LOG_S("subresource", x->sub), LOG_S("namespace", x->ns), LOG_S("name", x->name));
    return x->path.len ? refuse_path(arena, user, x) : refuse_resource(arena, user, x);
}

str authorize_reason(struct apiserver *a, struct arena *arena, const struct user *user,
                     const struct access *x)
{
    return rbac_reason(a->rbac, a->store, arena, user, x);
}

struct policy_rules authorize_rules(struct apiserver *a, struct arena *arena,
                                    const struct user *user, str ns)
{
    return rbac_rules_of(a->rbac, arena, user, ns);
}
