/*
 * What policies say about a write: which of them and of their bindings concern it, with which
 * parameters, and what becomes of their verdicts. In kube-apiserver's words.
 */
#include "apiserver/policy.h"
#include "apiserver/rbac.h"
#include "apiserver/request.h"
#include "apiserver/webhook.h"
#include "base/log.h"
#include "kube/selector.h"

/* What all expressions of a policy may cost for one object of parameters, and those of all policies
 * for one request: some 25 ms. */
#define POLICY_COST 400000
#define REQUEST_COST 1000000
#define PARAMS_MAX 1000

struct judge {
    struct req *q;
    struct arena *arena; /* of the request */
    struct hook_about about;
    const struct kind *seen_as; /* of the question below */
    struct doc *review;
    jval null, ns; /* ns: the namespace, null for what is in none */
    const struct policy_pair *pair;
    const struct status *denied; /* the first */
    uint64_t cost;               /* what is left */
};

/* ---- what is to be said ---- */

static const struct {
    const char *reason;
    int code;
} reasons[] = {
    {"Invalid", 422}, {"Forbidden", 403}, {"Unauthorized", 401}, {"RequestEntityTooLarge", 413}};

static const struct status *denial(struct judge *j, str message, str reason)
{
    struct arena *a = j->arena;
    const struct policy_pair *p = j->pair;
    str whole =
        p->binding
            ? arena_printf(a,
                           "ValidatingAdmissionPolicy '%.*s' with binding '%.*s' denied request: "
                           "%.*s",
                           STR_ARG(p->policy->name), STR_ARG(p->binding->name), STR_ARG(message))
            : arena_printf(a, "ValidatingAdmissionPolicy '%.*s' denied request: %.*s",
                           STR_ARG(p->policy->name), STR_ARG(message));
    struct status *s = status_forbidden(a, j->q->kind, j->q->name, whole);
    s->code = reasons[0].code;
    s->reason = reasons[0].reason;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (!str_is(reason, reasons[i].reason))
            continue;
        s->code = reasons[i].code;
        s->reason = reasons[i].reason;
    }
    status_add_cause(a, s, "", whole, STR_NONE);
    return s;
}

static void deny(struct judge *j, str message, str reason)
{
    if (!j->denied)
        j->denied = denial(j, message, reason);
}

/* A refusal is what the binding makes of it. */
static void refuse(struct judge *j, str message, str reason)
{
    const struct policy_pair *p = j->pair;
    for (struct jiter it = jiter(jgetc(obj_spec(p->binding), "validationActions")); jnext(&it);) {
        str action = jstr(it.value);
        if (str_is(action, "Deny"))
            deny(j, message, reason);
        else if (str_is(action, "Warn"))
            field_warning_add(&j->q->errors,
                              "Validation failed for ValidatingAdmissionPolicy '%.*s' with binding "
                              "'%.*s': %.*s",
                              STR_ARG(p->policy->name), STR_ARG(p->binding->name),
                              STR_ARG(message));
        else if (str_is(action, "Audit"))
            log_info("a policy is not kept", LOG_S("policy", p->policy->name),
                     LOG_S("binding", p->binding->name), LOG_S("user", j->q->user->name),
                     LOG_S("resource", str_of(j->q->kind->plural)), LOG_S("namespace", j->q->r->ns),
                     LOG_S("name", j->q->name), LOG_S("message", message));
    }
}

static bool ignores_failures(const struct judge *j)
{
    return str_is(jstr(jgetc(obj_spec(j->pair->policy), "failurePolicy")), "Ignore");
}

/* It could not be evaluated. */
static void fail(struct judge *j, str why)
{
    if (!ignores_failures(j))
        refuse(j, why, STR_NONE);
}

/* It is not set up so that it could be evaluated: validationActions have no say. */
static void fail_setup(struct judge *j, str why)
{
    if (!ignores_failures(j))
        deny(j,
             arena_printf(j->arena, "failed to configure %s: %.*s",
                          j->pair->binding ? "binding" : "policy", STR_ARG(why)),
             STR_NONE);
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
    struct judge *j = ctx;
    struct access want = {.verb = x->verb,
                          .group = x->group,
                          .resource = x->resource,
                          .sub = x->sub,
                          .ns = x->ns,
                          .name = x->name,
                          .path = x->path};
    const struct user *u =
        x->service_account.len ? user_of(j->arena, x->service_account) : j->q->user;
    *ret_reason = authorize_reason(j->q->server, j->arena, u, &want);
    return authorize(j->q->server, u, &want);
}

/* ---- evaluating ---- */

/* The object as the version of its kind that the policy knows. */
static jval question_as(struct judge *j, const struct kind *as)
{
    if (j->seen_as != as) {
        struct hook_question question = hook_about_question(&j->about, as);
        j->review = hook_review(j->arena, &question);
        j->seen_as = as;
    }
    return jgetc(doc_root(j->review), "request");
}

static jval or_null(struct judge *j, jval v)
{
    return j_is_absent(v) ? j->null : v;
}

/* False: the policy is not about this after all, or fails. */
static bool conditions_hold(struct judge *j, struct cel_run *run)
{
    const struct policy_code *code = j->pair->code;
    str why = STR_NONE;
    for (size_t i = 0; i < code->n_conditions; i++) {
        struct err err = ERR_INIT;
        bool yes = false;
        if (cel_run_bool(run, code->conditions[i].cel, &yes, &err) < 0)
            why = arena_printf(j->arena, "match condition \"%.*s\": %s",
                               STR_ARG(code->conditions[i].name), err.message);
        else if (!yes)
            return false;
    }
    if (why.len)
        fail(j, why);
    return !why.len;
}

static str message_of(struct judge *j, const struct policy_validation *v, struct cel_run *run)
{
    enum { MESSAGE_MAX = 5120 };
    str text = STR_NONE, fixed = str_trim(jstr(jgetc(v->spec, "message")));
    if (v->message && cel_run_text(run, v->message, &text, NULL) == 0) {
        text = str_trim(text);
        if (text.len && text.len <= MESSAGE_MAX && str_find_char(text, '\n') < 0)
            return text;
    }
    return fixed.len ? fixed
                     : arena_printf(j->arena, "failed expression: %.*s",
                                    STR_ARG(str_trim(jstr(jgetc(v->spec, "expression")))));
}

static void judge_validations(struct judge *j, struct cel_run *run)
{
    const struct policy_code *code = j->pair->code;
    for (size_t i = 0; i < code->n_validations; i++) {
        const struct policy_validation *v = &code->validations[i];
        struct err err = ERR_INIT;
        bool holds = false;
        if (cel_run_bool(run, v->cel, &holds, &err) < 0)
            fail(j, arena_printf(j->arena, "expression '%.*s' resulted in error: %s",
                                 STR_ARG(jstr(jgetc(v->spec, "expression"))), err.message));
        else if (!holds)
            refuse(j, message_of(j, v, run), jstr(jgetc(v->spec, "reason")));
    }
}

static void judge_with(struct judge *j, const struct kind *as, jval params)
{
    const struct policy_code *code = j->pair->code;
    jval request = question_as(j, as);
    jval vars[POLICY_VARS] = {
        [POLICY_OBJECT] = or_null(j, jgetc(request, "object")),
        [POLICY_OLD_OBJECT] = or_null(j, jgetc(request, "oldObject")),
        [POLICY_REQUEST] = request,
        [POLICY_NAMESPACE] = j->ns,
        [POLICY_PARAMS] = or_null(j, params),
    };
    uint64_t cost = MIN(j->cost, (uint64_t)POLICY_COST), before = cost;
    const struct hook_target *t = &j->about.target;
    struct cel_input in = {
        .vars = vars,
        .lazy = code->variables,
        .n_lazy = code->n_variables,
        .cost = &cost,
        .authorize = authorize_access,
        .request = {.group = str_of(t->kind->group),
                    .resource = str_of(t->kind->plural),
                    .sub = t->sub,
                    .ns = t->ns,
                    .name = t->name},
        .ctx = j,
    };
    struct cel_run *run = cel_run_new(j->arena, &in);
    if (conditions_hold(j, run))
        judge_validations(j, run);
    j->cost -= before - cost;
}

/* ---- parameters ---- */

/* What they are and where; NULL: the reason was told. */
static const struct kind *params_kind(struct judge *j, jval kind, jval ref, str *ret_ns)
{
    str group, version, name = jstr(jgetc(kind, "kind")), api = jstr(jgetc(kind, "apiVersion"));
    str ns = jstr(jgetc(ref, "namespace"));
    api_version_split(api, &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    bool namespaced = k && kind_is(k, KIND_NAMESPACED);
    *ret_ns = !namespaced ? STR_NONE : ns.len ? ns : j->q->r->ns;
    if (!k)
        fail_setup(j, arena_printf(j->arena,
                                   "failed to find resource referenced by paramKind: '%.*s, "
                                   "Kind=%.*s'",
                                   STR_ARG(api), STR_ARG(name)));
    else if (!namespaced && ns.len)
        fail_setup(j, STR("paramRef.namespace must not be provided for a cluster-scoped "
                          "`paramKind`"));
    else if (namespaced && !ret_ns->len)
        fail_setup(j, STR("cannot use namespaced paramRef in policy binding that matches "
                          "cluster-scoped resources"));
    else
        return k;
    return NULL;
}

/* Once for every object that the selector or the name chooses; the number of them. */
static size_t judge_each(struct judge *j, const struct kind *as, const struct kind *k, str ns,
                         jval ref)
{
    const struct store *store = j->q->server->store;
    str name = jstr(jgetc(ref, "name"));
    size_t n = 0;
    if (name.len) {
        struct obj *o = store_get(store, k, ns, name);
        if (o)
            judge_with(j, as, obj_root(obj_hold(j->arena, convert_obj(o, k))));
        return o != NULL;
    }
    const struct selector *s = label_selector_from(j->arena, jgetc(ref, "selector"), NULL);
    struct store_iter it = store_range(store, k, ns, STR_NONE, STR_NONE);
    for (struct obj *o; s && n < PARAMS_MAX && (o = store_next(&it));) {
        if (!label_selector_match(s, o->labels))
            continue;
        judge_with(j, as, obj_root(obj_hold(j->arena, convert_obj(o, k))));
        n++;
    }
    return n;
}

static void judge_pair(struct judge *j, const struct kind *as)
{
    jval kind = jgetc(obj_spec(j->pair->policy), "paramKind");
    jval ref = jgetc(obj_spec(j->pair->binding), "paramRef");
    str ns;
    if (!j_has(kind) || !j_has(ref)) {
        judge_with(j, as, JVAL_ABSENT);
        return;
    }
    const struct kind *k = params_kind(j, kind, ref, &ns);
    if (k && !judge_each(j, as, k, ns, ref) &&
        str_is(jstr(jgetc(ref, "parameterNotFoundAction")), "Deny"))
        fail_setup(j, STR("no params found for policy binding with `Deny` "
                          "parameterNotFoundAction"));
}

/* ---- all of them ---- */

static jval namespace_of(struct judge *j)
{
    const struct req *q = j->q;
    struct obj *o = q->r->ns.len && q->kind != &kind_namespace
                        ? store_newest(q->server->store, &kind_namespace, STR_NONE, q->r->ns)
                        : NULL;
    return o ? obj_root(obj_hold(j->arena, obj_ref(o))) : j->null;
}

const struct status *policy_judge(struct req *q, const struct policy_pair *pairs, size_t n)
{
    struct judge *j = arena_new(&q->arena, struct judge);
    const struct kind *as = NULL;
    *j = (struct judge){.q = q, .arena = &q->arena, .cost = REQUEST_COST};
    hook_about_init(&j->about, q);
    j->null = doc_root(doc_hold(&q->arena, doc_parse(STR("null"), NULL, NULL)));
    j->ns = namespace_of(j);
    for (size_t i = 0; i < n; i++) {
        struct policy_pair whole = {.policy = pairs[i].policy, .code = pairs[i].code};
        jval match = jgetc(obj_spec(pairs[i].binding), "matchResources");
        bool is_first = i == 0 || pairs[i - 1].policy != pairs[i].policy;
        if (is_first)
            as = hook_match_resources(
                &q->arena, jgetc(obj_spec(pairs[i].policy), "matchConstraints"), &j->about.target);
        j->pair = &whole;
        if (as && is_first && whole.code->broken.len)
            fail_setup(j, whole.code->broken);
        if (!as || whole.code->broken.len ||
            (j_has(match) && !hook_match_resources(&q->arena, match, &j->about.target)))
            continue;
        j->pair = &pairs[i];
        judge_pair(j, as);
    }
    return j->denied;
}
