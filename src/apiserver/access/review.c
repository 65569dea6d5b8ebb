/*
 * See review.h. The answers have the shape of kube-apiserver's, managedFields apart: nothing here
 * is an object that anybody would write again.
 */
#include "apiserver/access/review.h"

#include "apiserver/access/node_rights.h"
#include "apiserver/access/rbac.h"
#include "base/uuid.h"

#define AUTHENTICATION "authentication.k8s.io"
#define AUTHORIZATION "authorization.k8s.io"

enum { EXPIRATION_DEFAULT = 3600, EXPIRATION_MIN = 600, AUDIENCES_MAX = 64 };
#define EXPIRATION_MAX (INT64_C(1) << 32)

/* ---- shared ---- */

static struct status *invalid(const char *group, const char *kind, struct field_errors *e)
{
    struct status *s = status_invalid_named(e->arena, group, kind, STR(""), e);
    field_errors_done(e);
    return s;
}

static struct status *refuse(struct review_call *c, const char *kind, const char *field, str value,
                             const char *why)
{
    struct field_errors e;
    field_errors_init(&e, c->arena);
    field_error_add(&e, FIELD_ERR_INVALID, str_of(field), value, "%s", why);
    return invalid(AUTHORIZATION, kind, &e);
}

static str value_text(jval v)
{
    return j_has(v) ? jtext(v) : STR("null");
}

/* Strings of an array in the arena, at most max. */
static str *read_strings(struct arena *a, jval array, size_t max, size_t *ret_n)
{
    size_t n = MIN(jlen(array), max);
    str *s = arena_array(a, str, n + 1);
    *ret_n = 0;
    for (struct jiter it = jiter(array); *ret_n < n && jnext(&it);)
        s[(*ret_n)++] = jstr(it.value);
    return s;
}

static void put_strings(struct jw *w, const char *key, const str *s, size_t n)
{
    jw_put_array(w, key);
    for (size_t i = 0; i < n; i++)
        jw_str(w, s[i]);
    jw_end(w);
}

static void put_extra(struct jw *w, const struct identity *who)
{
    jw_put_object(w, "extra");
    for (size_t i = 0; i < who->n_extra; i++) {
        if (i == 0 || !str_eq(who->extra[i].key, who->extra[i - 1].key)) {
            if (i > 0)
                jw_end(w);
            jw_key(w, who->extra[i].key);
            jw_array(w);
        }
        jw_str(w, who->extra[i].value);
    }
    jw_end(w);
    jw_end(w);
}

static void put_user(struct jw *w, const char *key, const struct identity *who)
{
    jw_put_object(w, key);
    jw_put_str(w, "username", who->user.name);
    if (!str_is_empty(who->uid))
        jw_put_str(w, "uid", who->uid);
    put_strings(w, "groups", who->user.groups, who->user.n_groups);
    if (who->n_extra) {
        put_extra(w, who);
    }
    jw_end(w);
}

static usec now_of(const struct review_call *c)
{
    return loop_wall(apiserver_loop(c->authn->server));
}

/* ---- who am I ---- */

static struct status *answer_self(struct review_call *c, struct jw *w)
{
    jw_put_object(w, "status");
    put_user(w, "userInfo", c->who);
    jw_end(w);
    return NULL;
}

/* ---- may I ---- */

static str word(jval attributes, const char *key)
{
    return jstr(jget(attributes, str_of(key)));
}

static struct access access_of(jval spec)
{
    jval r = jgetc(spec, "resourceAttributes"), path = jgetc(spec, "nonResourceAttributes");
    if (j_has(path))
        return (struct access){.verb = word(path, "verb"), .path = word(path, "path")};
    return (struct access){.verb = word(r, "verb"),
                           .group = word(r, "group"),
                           .resource = word(r, "resource"),
                           .sub = word(r, "subresource"),
                           .ns = word(r, "namespace"),
                           .name = word(r, "name")};
}

static struct status *answer_access(struct review_call *c, struct jw *w, const struct user *u,
                                    const char *kind)
{
    jval spec = jgetc(c->body, "spec");
    jval resource = jgetc(spec, "resourceAttributes"), path = jgetc(spec, "nonResourceAttributes");
    struct access x = access_of(spec);
    if (j_has(resource) && j_has(path))
        return refuse(c, kind, "spec.nonResourceAttributes", value_text(path),
                      "cannot be specified in combination with resourceAttributes");
    if (!j_has(resource) && !j_has(path))
        return refuse(c, kind, "spec.resourceAttributes", STR("null"),
                      "exactly one of nonResourceAttributes or resourceAttributes must be "
                      "specified");
    jw_put_object(w, "status");
    bool allowed = authorize(c->authn->server, u, &x);
    str reason = allowed ? authorize_reason(c->authn->server, c->arena, u, &x) : STR_NONE;
    jw_put_bool(w, "allowed", allowed);
    if (reason.len)
        jw_put_str(w, "reason", reason);
    jw_end(w);
    return NULL;
}

static struct status *answer_self_access(struct review_call *c, struct jw *w)
{
    return answer_access(c, w, &c->who->user, "SelfSubjectAccessReview");
}

static struct status *answer_subject(struct review_call *c, struct jw *w, const char *kind)
{
    jval spec = jgetc(c->body, "spec");
    struct user u = {.name = jstr(jgetc(spec, "user"))};
    u.groups = read_strings(c->arena, jgetc(spec, "groups"), 1000, &u.n_groups);
    if (str_is_empty(u.name) && u.n_groups == 0)
        return refuse(c, kind, "spec.user", STR("\"\""),
                      "at least one of user or group must be specified");
    return answer_access(c, w, &u, kind);
}

static struct status *answer_subject_access(struct review_call *c, struct jw *w)
{
    return answer_subject(c, w, "SubjectAccessReview");
}

static struct status *answer_local_access(struct review_call *c, struct jw *w)
{
    str ns = jstr(jpath(c->body, "spec.resourceAttributes.namespace"));
    if (!str_eq(ns, c->ns))
        return refuse(c, "LocalSubjectAccessReview", "spec.resourceAttributes.namespace",
                      value_text(jpath(c->body, "spec.resourceAttributes.namespace")),
                      "must match metadata.namespace");
    return answer_subject(c, w, "LocalSubjectAccessReview");
}

static void put_words(struct jw *w, const char *key, struct words words)
{
    if (words.n)
        put_strings(w, key, words.p, words.n);
}

static void put_rules(struct jw *w, struct policy_rules rules, bool paths)
{
    jw_put_array(w, paths ? "nonResourceRules" : "resourceRules");
    for (size_t i = 0; i < rules.n; i++) {
        const struct policy_rule *r = &rules.p[i];
        if (!(paths ? r->urls.n : r->resources.n))
            continue;
        jw_object(w);
        put_words(w, "verbs", r->verbs);
        put_words(w, "apiGroups", r->groups);
        put_words(w, "resources", r->resources);
        put_words(w, "resourceNames", r->names);
        put_words(w, "nonResourceURLs", r->urls);
        jw_end(w);
    }
    jw_end(w);
}

static struct status *answer_rules(struct review_call *c, struct jw *w)
{
    str ns = jstr(jpath(c->body, "spec.namespace"));
    if (str_is_empty(ns))
        return status_bad_request(c->arena, "no namespace on request");
    struct policy_rules rules = authorize_rules(c->authn->server, c->arena, &c->who->user, ns);
    jw_put_object(w, "status");
    put_rules(w, rules, false);
    put_rules(w, rules, true);
    jw_put_bool(w, "incomplete", false);
    jw_end(w);
    return NULL;
}

/* ---- is this token good ---- */

static struct status *answer_token(struct review_call *c, struct jw *w)
{
    jval spec = jgetc(c->body, "spec");
    str token = jstr(jgetc(spec, "token")), audience;
    struct identity who;
    size_t n;
    const str *audiences = read_strings(c->arena, jgetc(spec, "audiences"), AUDIENCES_MAX, &n);
    if (str_is_empty(token))
        return status_bad_request(c->arena, "token is required for TokenReview in authentication");
    bool good = authn_token(c->authn, token, audiences, n, c->arena, &who, &audience);
    jw_put_object(w, "status");
    if (good) {
        jw_put_bool(w, "authenticated", true);
        put_user(w, "user", &who);
        put_strings(w, "audiences", &audience, 1);
    } else {
        jw_put_object(w, "user");
        jw_end(w);
        jw_put_cstr(w, "error", "invalid bearer token");
    }
    jw_end(w);
    return NULL;
}

/* ---- the table ---- */

static const struct review reviews[] = {
    {AUTHENTICATION, "v1", "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview", false,
     answer_self},
    {AUTHENTICATION, "v1", "TokenReview", "tokenreviews", "tokenreview", false, answer_token},
    {AUTHORIZATION, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews",
     "localsubjectaccessreview", true, answer_local_access},
    {AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
     "selfsubjectaccessreview", false, answer_self_access},
    {AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
     "selfsubjectrulesreview", false, answer_rules},
    {AUTHORIZATION, "v1", "SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview",
     false, answer_subject_access},
};

const struct review *review_at(size_t i)
{
    return i < ARRAY_LEN(reviews) ? &reviews[i] : NULL;
}

const struct review *review_find(str group, str version, str plural)
{
    for (size_t i = 0; i < ARRAY_LEN(reviews); i++)
        if (str_is(group, reviews[i].group) && str_is(version, reviews[i].version) &&
            str_is(plural, reviews[i].plural))
            return &reviews[i];
    return NULL;
}

bool review_is_group(str group, str version)
{
    for (size_t i = 0; i < ARRAY_LEN(reviews); i++)
        if (str_is(group, reviews[i].group) && str_is(version, reviews[i].version))
            return true;
    return false;
}

/* The body must say what it is, when it says anything. */
static struct status *check_kind(struct review_call *c, const char *group, const char *kind)
{
    str got = jstr(jgetc(c->body, "kind")), got_group, version;
    api_version_split(jstr(jgetc(c->body, "apiVersion")), &got_group, &version);
    if (jtype(c->body) == J_OBJECT && (str_is_empty(got) || str_is(got, kind)) &&
        (str_is_empty(version) || (str_is(got_group, group) && str_is(version, "v1"))))
        return NULL;
    return status_bad_request(c->arena, "%.*s in version \"%.*s\" cannot be handled as a %s",
                              STR_ARG(got), STR_ARG(version), kind);
}

/* Or names no namespace. */
static struct status *check_namespace(struct review_call *c)
{
    str ns = jstr(jpath(c->body, "metadata.namespace"));
    if (str_is_empty(ns) || str_is_empty(c->ns) || str_eq(ns, c->ns))
        return NULL;
    return status_bad_request(c->arena, "the namespace of the provided object does not match the "
                                        "namespace sent on the request");
}

static void put_head(struct jw *w, const char *group, const char *kind)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "kind", kind);
    jw_key(w, STR("apiVersion"));
    jw_printf(w, "%s/v1", group);
}

struct doc *review_answer(const struct review *r, struct review_call *c, struct status **ret_why)
{
    struct jw w;
    *ret_why = check_kind(c, r->group, r->kind);
    if (!*ret_why)
        *ret_why = check_namespace(c);
    if (*ret_why)
        return NULL;
    put_head(&w, r->group, r->kind);
    jw_put_object(&w, "metadata");
    if (r->answer == answer_self)
        jw_put_time(&w, "creationTimestamp", now_of(c));
    jw_end(&w);
    jw_put(&w, "spec", jgetc(c->body, "spec"));
    *ret_why = r->answer(c, &w);
    if (*ret_why) {
        jw_done(&w);
        return NULL;
    }
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- tokens ---- */

static const struct {
    const char *kind, *word;
    const struct kind *k;
} bindable[] = {
    {"Pod", "pod", &kind_pod},
    {"Secret", "secret", &kind_secret},
    {"Node", "node", &kind_node},
};

/* What the token shall be bound to exists, is the one that is meant, and fits the account. */
static struct status *bind_object(struct review_call *c, jval ref, struct token_claims *t)
{
    str kind = jstr(jgetc(ref, "kind")), name = jstr(jgetc(ref, "name"));
    str uid = jstr(jgetc(ref, "uid"));
    for (size_t i = 0; i < ARRAY_LEN(bindable); i++) {
        if (!str_is(kind, bindable[i].kind))
            continue;
        const struct kind *k = bindable[i].k;
        str ns = kind_is(k, KIND_NAMESPACED) ? c->ns : STR_NONE;
        const struct obj *o = store_get(apiserver_store(c->authn->server), k, ns, name);
        if (!o)
            return status_not_found(c->arena, k, name);
        if (!str_is_empty(uid) && !str_eq(uid, o->uid))
            return status_conflict(
                c->arena, k, name,
                arena_printf(c->arena,
                             "the UID in the bound object reference (%.*s) does not match the UID "
                             "in record. The object might have been deleted and then recreated",
                             STR_ARG(uid))
                    .p);
        if (k == &kind_pod && !str_eq(jstr(jpath(obj_root(o), "spec.serviceAccountName")), t->name))
            return status_bad_request(c->arena,
                                      "cannot bind token for serviceaccount \"%.*s\" to pod "
                                      "running with different serviceaccount name.",
                                      STR_ARG(t->name));
        t->bound_kind = str_of(bindable[i].word);
        t->bound_name = o->name;
        t->bound_uid = o->uid;
        return NULL;
    }
    return status_bad_request(c->arena, "cannot bind token to object of type %.*s", STR_ARG(kind));
}

static struct status *check_expiration(struct review_call *c, int64_t seconds)
{
    struct field_errors e;
    field_errors_init(&e, c->arena);
    str field = STR("spec.expirationSeconds");
    str value = arena_printf(c->arena, "%lld", (long long)seconds);
    if (seconds < EXPIRATION_MIN)
        field_error_add(&e, FIELD_ERR_INVALID, field, value,
                        "may not specify a duration less than 10 minutes");
    if (seconds > EXPIRATION_MAX)
        field_error_add(&e, FIELD_ERR_INVALID, field, value,
                        "may not specify a duration larger than 2^32 seconds");
    if (e.items.len)
        return invalid(AUTHENTICATION, "TokenRequest", &e);
    field_errors_done(&e);
    return NULL;
}

static struct doc *token_answer(struct review_call *c, const struct token_claims *t,
                                const str *audiences, size_t n, int64_t seconds)
{
    struct jw w;
    jval ref = jpath(c->body, "spec.boundObjectRef");
    put_head(&w, AUTHENTICATION, "TokenRequest");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", t->name);
    jw_put_str(&w, "namespace", t->ns);
    jw_put_time(&w, "creationTimestamp", t->not_before);
    jw_end(&w);
    jw_put_object(&w, "spec");
    put_strings(&w, "audiences", audiences, n);
    jw_put_int(&w, "expirationSeconds", seconds);
    jw_key(&w, STR("boundObjectRef"));
    jw_val(&w, ref);
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_str(&w, "token", token_sign(c->authn->key, t, audiences, n, c->arena));
    jw_put_time(&w, "expirationTimestamp", t->expires);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void new_token_id(struct review_call *c, struct token_claims *t)
{
    uint8_t bytes[UUID_SIZE];
    char *text = arena_alloc(c->arena, UUID_TEXT_LEN + 1);
    loop_random(apiserver_loop(c->authn->server), bytes, sizeof(bytes));
    uuid_format_v4(bytes, text);
    t->id = str_of(text);
}

static struct status *check_account_match(struct review_call *c)
{
    jval name = jpath(c->body, "metadata.name");
    struct field_errors e;
    if (str_is_empty(jstr(name)) || str_eq(jstr(name), c->name))
        return NULL;
    field_errors_init(&e, c->arena);
    field_error_add(&e, FIELD_ERR_INVALID, STR("metadata.name"), jtext(name),
                    "must match the service account name if specified");
    struct status *s = status_invalid_named(c->arena, AUTHENTICATION, "TokenRequest", c->name, &e);
    field_errors_done(&e);
    return s;
}

struct doc *token_request(struct review_call *c, struct status **ret_why)
{
    static const str own[] = {STR_INIT(TOKEN_ISSUER)};
    jval spec = jgetc(c->body, "spec"), ref = jgetc(spec, "boundObjectRef");
    int64_t seconds = jint(jgetc(spec, "expirationSeconds"), EXPIRATION_DEFAULT);
    size_t n;
    const str *audiences = read_strings(c->arena, jgetc(spec, "audiences"), AUDIENCES_MAX, &n);
    const struct obj *account =
        store_get(apiserver_store(c->authn->server), &kind_service_account, c->ns, c->name);
    *ret_why = check_kind(c, AUTHENTICATION, "TokenRequest");
    if (!*ret_why)
        *ret_why = check_namespace(c);
    if (!*ret_why)
        *ret_why = check_account_match(c);
    if (!*ret_why)
        *ret_why = check_expiration(c, seconds);
    if (!*ret_why && !account)
        *ret_why = status_not_found(c->arena, &kind_service_account, c->name);
    if (!*ret_why)
        *ret_why =
            node_token_status(c->authn->server, c->arena, &c->who->user, c->ns, c->name, spec);
    if (*ret_why || !account)
        return NULL;
    usec now = now_of(c);
    struct token_claims t = {.ns = account->ns,
                             .name = account->name,
                             .uid = account->uid,
                             .not_before = now,
                             .expires = now + seconds * USEC_PER_SEC};
    if (j_has(ref))
        *ret_why = bind_object(c, ref, &t);
    if (*ret_why)
        return NULL;
    new_token_id(c, &t);
    return token_answer(c, &t, n ? audiences : own, n ? n : 1, seconds);
}
