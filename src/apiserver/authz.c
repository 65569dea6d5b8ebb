/*
 * Authorization: the one hook every request passes. Everybody who got this far may do everything;
 * rules belong here and nowhere else.
 */
#include "apiserver/request.h"

bool authorize(const struct user *user, const char *verb, const struct kind *k, str ns, str name,
               str subresource, str *ret_why)
{
    (void)user;
    (void)verb;
    (void)k;
    (void)ns;
    (void)name;
    (void)subresource;
    *ret_why = STR_NONE;
    return true;
}

const struct status *authorize_status(struct arena *a, const struct user *user, const char *verb,
                                      const struct kind *k, str ns, str name, str subresource)
{
    str why = STR_NONE;
    if (authorize(user, verb, k, ns, name, subresource, &why))
        return NULL;
    str where = ns.len ? arena_printf(a, "in the namespace \"%.*s\"", STR_ARG(ns))
                       : STR("at the cluster scope");
    str text = arena_printf(
        a, "User \"%.*s\" cannot %s resource \"%s%s%.*s\" in API group \"%s\" %.*s%s%.*s",
        STR_ARG(user->name), verb, k->plural, subresource.len ? "/" : "", STR_ARG(subresource),
        k->group, STR_ARG(where), why.len ? ": " : "", STR_ARG(why));
    return status_forbidden(a, k, name, text);
}
