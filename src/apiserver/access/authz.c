/*
 * Authorization: the one question every request is asked before it is looked at, and the words of
 * the answer when it is no. Who may do what is in rbac.h, and for nodes in node_rights.h. Refusals
 * are logged: who, verb, what; never what was sent. A flood of them is counted, not written: the
 * log is not for the flooder.
 */
#include "apiserver/access/node_rights.h"
#include "apiserver/access/rbac.h"
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
    return rbac_allows(a->rbac, user, x) || nodes_allow(a->nodes, user, x);
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

static bool is_to_be_logged(struct apiserver *a)
{
    enum { A_SECOND = 10 };
    struct denials *d = &a->denials;
    usec now = loop_now(a->loop);
    if (!d->n || now - d->since >= USEC_PER_SEC) {
        if (d->n > A_SECOND)
            log_warn("more requests denied", LOG_U("requests", d->n - A_SECOND));
        *d = (struct denials){.since = now};
    }
    return d->n++ < A_SECOND;
}

static void log_denied(struct apiserver *a, const struct user *user, const struct access *x)
{
    if (!is_to_be_logged(a))
        return;
    if (x->path.len)
        log_warn("request denied", LOG_S("user", user->name), LOG_S("verb", x->verb),
                 LOG_S("path", x->path));
    else
        log_warn("request denied", LOG_S("user", user->name), LOG_S("verb", x->verb),
                 LOG_S("group", x->group), LOG_S("resource", x->resource),
                 LOG_S("subresource", x->sub), LOG_S("namespace", x->ns), LOG_S("name", x->name));
}

struct status *authorize_status(struct apiserver *a, struct arena *arena, const struct user *user,
                                const struct access *x)
{
    if (authorize(a, user, x))
        return NULL;
    log_denied(a, user, x);
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
