/*
 * The way of a write past the policies that concern it: which policies and bindings match, with
 * which parameters, whether their conditions hold, and what their expressions see.
 */
#include "apiserver/access/rbac.h"
#include "apiserver/admission/policy/policy_impl.h"
#include "apiserver/request.h"
#include "kube/selector.h"

/* What all expressions of a policy may cost for one object of parameters, and those of all policies
 * for one request: some 25 ms. */
#define POLICY_COST 400000
#define REQUEST_COST 1000000
#define PARAMS_MAX 1000

bool policy_ignores_failures(const struct policy_walk *w)
{
    return str_is(jstr(jgetc(obj_spec(w->pair->policy), "failurePolicy")), "Ignore");
}

/* ---- the authorizer ---- */

static struct user *user_of(struct arena *a, str account)
{
    struct user *u = arena_new(a, struct user);
    str *groups = arena_array(a, str, 3);
    str name = account, ns = str_cut(&name, '/');
    groups[0] = STR("system:serviceaccounts");
    groups[1] = arena_cat(a, STR("system:serviceaccounts:"), ns);
    groups[2] = STR("system:authenticated");
    *u = (struct user){
        .name = arena_cat(a, STR("system:serviceaccount:"), ns, STR(":"), name),
        .groups = groups,
        .n_groups = 3,
    };
    return u;
}

static bool authorize_access(void *ctx, const struct cel_access *x, str *ret_reason)
{
    struct policy_walk *w = ctx;
    struct access want = {.verb = x->verb,
                          .group = x->group,
                          .resource = x->resource,
                          .sub = x->sub,
                          .ns = x->ns,
                          .name = x->name,
                          .path = x->path};
    const struct user *u =
        x->service_account.len ? user_of(w->arena, x->service_account) : w->q->user;
    *ret_reason = authorize_reason(w->q->server, w->arena, u, &want);
    return authorize(w->q->server, u, &want);
}

/* ---- evaluating ---- */

/* The object as the version of its kind that the policy knows. */
static jval question_of(struct policy_walk *w)
{
    if (w->seen_as != w->as) {
        struct hook_question question = hook_about_question(w->about, w->as);
        w->review = hook_review(w->arena, &question);
        w->seen_as = w->as;
    }
    return jgetc(doc_root(w->review), "request");
}

static jval or_null(const struct policy_walk *w, jval v)
{
    return j_is_absent(v) ? w->null : v;
}

struct cel_run *policy_walk_run(struct policy_walk *w)
{
    const struct policy_code *code = w->pair->code;
    const struct hook_target *t = &w->about->target;
    jval request = question_of(w);
    w->vars[POLICY_OBJECT] = or_null(w, jgetc(request, "object"));
    w->vars[POLICY_OLD_OBJECT] = or_null(w, jgetc(request, "oldObject"));
    w->vars[POLICY_REQUEST] = request;
    w->vars[POLICY_NAMESPACE] = w->ns;
    w->vars[POLICY_PARAMS] = w->params ? obj_root(w->params) : w->null;
    struct cel_input in = {
        .vars = w->vars,
        .lazy = code->variables,
        .n_lazy = code->n_variables,
        .cost = &w->left,
        .authorize = authorize_access,
        .request = {.group = str_of(t->kind->group),
                    .resource = str_of(t->kind->plural),
                    .sub = t->sub,
                    .ns = t->ns,
                    .name = t->name},
        .ctx = w,
    };
    return cel_run_new(w->arena, &in);
}

/* False: the policy is not about this after all, or fails. */
static bool conditions_hold(struct policy_walk *w, struct cel_run *run)
{
    const struct policy_code *code = w->pair->code;
    str why = STR_NONE;
    for (size_t i = 0; i < code->n_conditions; i++) {
        struct err err = ERR_INIT;
        bool yes = false;
        if (cel_run_bool(run, code->conditions[i].cel, &yes, &err) < 0)
            why = arena_printf(w->arena, "match condition \"%.*s\": %s",
                               STR_ARG(code->conditions[i].name), err.message);
        else if (!yes)
            return false;
    }
    if (why.len)
        w->ops->fail(w, why, false);
    return !why.len;
}

static void invoke(struct policy_walk *w, struct obj *params)
{
    w->params = params;
    w->left = MIN(w->cost, (uint64_t)POLICY_COST);
    uint64_t before = w->left;
    struct cel_run *run = policy_walk_run(w);
    if (conditions_hold(w, run))
        w->ops->each(w, run);
    w->cost -= before - w->left;
}

/* ---- parameters ---- */

/* What they are and where; NULL: the reason was told. */
static const struct kind *params_kind(struct policy_walk *w, jval kind, jval ref, str *ret_ns)
{
    str group, version, name = jstr(jgetc(kind, "kind")), api = jstr(jgetc(kind, "apiVersion"));
    str ns = jstr(jgetc(ref, "namespace"));
    api_version_split(api, &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    bool namespaced = k && kind_is(k, KIND_NAMESPACED);
    *ret_ns = !namespaced ? STR_NONE : ns.len ? ns : w->q->r->ns;
    if (!k)
        w->ops->fail(w,
                     arena_printf(w->arena,
                                  "failed to find resource referenced by paramKind: '%.*s, "
                                  "Kind=%.*s'",
                                  STR_ARG(api), STR_ARG(name)),
                     true);
    else if (!namespaced && ns.len)
        w->ops->fail(w,
                     STR("paramRef.namespace must not be provided for a cluster-scoped "
                         "`paramKind`"),
                     true);
    else if (namespaced && !ret_ns->len)
        w->ops->fail(w,
                     STR("cannot use namespaced paramRef in policy binding that matches "
                         "cluster-scoped resources"),
                     true);
    else
        return k;
    return NULL;
}

/* Policies are judged in one go: what a webhook would have to convert first is no parameter. */
static void invoke_with(struct policy_walk *w, struct obj *o, const struct kind *k)
{
    struct obj *as = convert_now(w->q->server, o, k);
    if (as)
        invoke(w, obj_hold(w->arena, as));
    else
        w->ops->fail(
            w,
            arena_printf(w->arena,
                         "params %s \"%.*s\" are stored in version %s and would have to be "
                         "converted by a webhook: let paramKind name version %s",
                         k->kind, STR_ARG(o->name), o->kind->version, o->kind->version),
            true);
}

/* Once for every object that the selector or the name chooses; the number of them. */
static size_t invoke_each(struct policy_walk *w, const struct kind *k, str ns, jval ref)
{
    const struct store *store = w->q->server->store;
    str name = jstr(jgetc(ref, "name"));
    size_t n = 0;
    if (name.len) {
        struct obj *o = store_get(store, k, ns, name);
        if (o)
            invoke_with(w, o, k);
        return o != NULL;
    }
    const struct selector *s = label_selector_from(w->arena, jgetc(ref, "selector"), NULL);
    struct store_iter it = store_range(store, k, ns, STR_NONE, STR_NONE);
    for (struct obj *o; s && (o = store_next(&it));) {
        if (!label_selector_match(s, o->labels))
            continue;
        if (n == PARAMS_MAX) {
            /* One that is not looked at cannot refuse. */
            w->ops->fail(
                w, arena_printf(w->arena, "paramRef selects more than %d objects", PARAMS_MAX),
                true);
            break;
        }
        invoke_with(w, o, k);
        n++;
    }
    return n;
}

static void walk_pair(struct policy_walk *w)
{
    jval kind = jgetc(obj_spec(w->pair->policy), "paramKind");
    jval ref = jgetc(obj_spec(w->pair->binding), "paramRef");
    str ns;
    if (!j_has(kind) || !j_has(ref)) {
        invoke(w, NULL);
        return;
    }
    const struct kind *k = params_kind(w, kind, ref, &ns);
    if (k && !invoke_each(w, k, ns, ref) &&
        str_is(jstr(jgetc(ref, "parameterNotFoundAction")), "Deny"))
        w->ops->fail(w,
                     STR("no params found for policy binding with `Deny` "
                         "parameterNotFoundAction"),
                     true);
}

/* ---- all of them ---- */

static jval namespace_of(const struct policy_walk *w)
{
    const struct req *q = w->q;
    struct obj *o = q->r->ns.len && q->kind != &kind_namespace
                        ? store_newest(q->server->store, &kind_namespace, STR_NONE, q->r->ns)
                        : NULL;
    return o ? obj_root(obj_hold(w->arena, obj_ref(o))) : w->null;
}

static bool is_matched(const struct policy_walk *w, jval match)
{
    return !j_has(match) || hook_match_resources(w->arena, match, &w->target);
}

void policy_walk(struct policy_walk *w, const struct policy_walk_ops *ops, struct hook_about *about,
                 const struct policy_pair *pairs, size_t n)
{
    struct req *q = about->q;
    *w = (struct policy_walk){.ops = ops,
                              .q = q,
                              .arena = &q->arena,
                              .about = about,
                              .target = about->target,
                              .cost = REQUEST_COST};
    w->null = doc_root(doc_hold(&q->arena, doc_parse(STR("null"), NULL, NULL)));
    w->ns = namespace_of(w);
    for (size_t i = 0; i < n; i++) {
        struct policy_pair whole = {.policy = pairs[i].policy, .code = pairs[i].code};
        bool is_first = i == 0 || pairs[i - 1].policy != pairs[i].policy;
        if (is_first)
            w->as = hook_match_resources(
                &q->arena, jgetc(obj_spec(pairs[i].policy), "matchConstraints"), &w->target);
        w->pair = &whole;
        if (w->as && is_first && whole.code->broken.len)
            ops->fail(w, whole.code->broken, true);
        if (!w->as || whole.code->broken.len ||
            !is_matched(w, jgetc(obj_spec(pairs[i].binding), "matchResources")))
            continue;
        w->pair = &pairs[i];
        str apart = hook_about_is_apart(about, w->as);
        if (apart.len)
            ops->fail(w, apart, true);
        else
            walk_pair(w);
    }
}
