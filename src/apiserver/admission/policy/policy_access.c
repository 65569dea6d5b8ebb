/*
 * Parameters of a policy are shown to its expressions, and an expression can put them into a
 * message: whoever writes a policy or a binding must be allowed to read the parameters. The rules
 * are kube-apiserver's, except that it looks only when the reference changes; an expression that
 * changes reads as much.
 */
#include "apiserver/access/rbac.h"
#include "apiserver/request.h"

static const struct status *refuse(struct req *q, const char *field, str why)
{
    field_error_add(&q->errors, FIELD_ERR_FORBIDDEN, str_of(field), STR_NONE, "%.*s", STR_ARG(why));
    return status_invalid(&q->arena, q->kind, q->name, &q->errors);
}

/* What has no kind here could be anything. */
static struct access access_to_params(const char *verb, jval param_kind)
{
    struct access x = {.verb = str_of(verb), .group = STR("*"), .resource = STR("*")};
    str version, api = jstr(jgetc(param_kind, "apiVersion"));
    if (!api.len)
        return x;
    api_version_split(api, &x.group, &version);
    const struct kind *k = kind_by_name(x.group, version, jstr(jgetc(param_kind, "kind")));
    if (k)
        x.resource = str_of(k->plural);
    return x;
}

static const struct status *check_policy(struct req *q)
{
    jval kind = jpath(doc_root(q->doc), "spec.paramKind");
    struct access x = access_to_params("get", kind);
    if (!j_has(kind) || authorize(q->server, q->user, &x))
        return NULL;
    return refuse(q, "spec.paramKind",
                  arena_printf(&q->arena,
                               "user \"%.*s\" must have \"get\" permission on all objects of the "
                               "referenced paramKind (kind=%.*s, apiVersion=%.*s)",
                               STR_ARG(q->user->name), STR_ARG(jstr(jgetc(kind, "kind"))),
                               STR_ARG(jstr(jgetc(kind, "apiVersion")))));
}

static const struct status *check_binding(struct req *q, const struct kind *policies)
{
    jval spec = jgetc(doc_root(q->doc), "spec"), ref = jgetc(spec, "paramRef");
    const struct obj *policy =
        store_newest(q->server->store, policies, STR_NONE, jstr(jgetc(spec, "policyName")));
    jval kind = policy ? jgetc(obj_spec(policy), "paramKind") : JVAL_ABSENT;
    str name = jstr(jgetc(ref, "name"));
    struct access x = access_to_params(name.len ? "get" : "list", kind);
    x.ns = jstr(jgetc(ref, "namespace"));
    x.name = name;
    if (!j_has(ref) || authorize(q->server, q->user, &x))
        return NULL;
    return refuse(q, "spec.paramRef",
                  arena_printf(&q->arena,
                               "user \"%.*s\" does not have \"%.*s\" permission on the object "
                               "referenced by paramRef",
                               STR_ARG(q->user->name), STR_ARG(x.verb)));
}

const struct status *policy_access_status(struct req *q)
{
    const struct kind *k = admit_kind(q->kind);
    bool policy = k == &kind_validating_policy || k == &kind_mutating_policy;
    bool binding = k == &kind_validating_policy_binding || k == &kind_mutating_policy_binding;
    if ((!policy && !binding) || str_is(q->r->subresource, "status") || user_is_master(q->user) ||
        (q->base && meta_only_collection_differs(q->base->doc, q->doc)))
        return NULL;
    return policy ? check_policy(q)
                  : check_binding(q, k == &kind_validating_policy_binding ? &kind_validating_policy
                                                                          : &kind_mutating_policy);
}
