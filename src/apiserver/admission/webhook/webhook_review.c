/*
 * AdmissionReview: the question as kube-apiserver puts it, and what an answer means. Whatever a
 * webhook sends, the result is one of three: allowed (perhaps with a patch), refused with a Status
 * for the client, or failed with a reason, in kube-apiserver's words.
 */
#include "apiserver/admission/webhook.h"
#include "apiserver/server.h"
#include "base/b64.h"
#include "base/strbuf.h"
#include "json/write.h"

#define GROUP "admission.k8s.io"
#define PATCH_MAX ((size_t)8 << 20)
#define WARNINGS_MAX 64
/* Of a text that comes with an HTTP error, as much as is shown. */
#define TEXT_MAX 2048

/* ---- the question ---- */

str hook_review_version(jval hook)
{
    static const char *const known[] = {"v1", "v1beta1"};
    for (struct jiter it = jiter(jgetc(hook, "admissionReviewVersions")); jnext(&it);)
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(jstr(it.value), known[i]))
                return str_of(known[i]);
    return STR_NONE;
}

static void put_kind(struct jw *w, const char *key, const struct kind *k, str other)
{
    str version = other, kind;
    jw_put_object(w, key);
    if (other.len) {
        str group_version = str_cut(&version, ' '), group;
        kind = version;
        api_version_split(group_version, &group, &version);
        jw_put_str(w, "group", group);
    } else {
        jw_put_cstr(w, "group", k->group);
        version = str_of(k->version);
        kind = str_of(k->kind);
    }
    jw_put_str(w, "version", version);
    jw_put_str(w, "kind", kind);
    jw_end(w);
}

static void put_resource(struct jw *w, const char *key, const struct kind *k)
{
    jw_put_object(w, key);
    jw_put_cstr(w, "group", k->group);
    jw_put_cstr(w, "version", k->version);
    jw_put_cstr(w, "resource", k->plural);
    jw_end(w);
}

static void put_user(struct jw *w, const struct user *u)
{
    jw_put_object(w, "userInfo");
    jw_put_str(w, "username", u->name);
    if (u->n_groups) {
        jw_put_array(w, "groups");
        for (size_t i = 0; i < u->n_groups; i++)
            jw_str(w, u->groups[i]);
        jw_end(w);
    }
    jw_end(w);
}

static void put_request(struct jw *w, const struct hook_question *q)
{
    const struct hook_target *t = q->target;
    jw_put_object(w, "request");
    jw_put_str(w, "uid", q->uid);
    put_kind(w, "kind", q->as, q->object_kind);
    put_resource(w, "resource", q->as);
    if (t->sub.len)
        jw_put_str(w, "subResource", t->sub);
    put_kind(w, "requestKind", t->kind, q->object_kind);
    put_resource(w, "requestResource", t->kind);
    if (t->sub.len)
        jw_put_str(w, "requestSubResource", t->sub);
    if (t->name.len)
        jw_put_str(w, "name", t->name);
    if (t->ns.len)
        jw_put_str(w, "namespace", t->ns);
    jw_put_cstr(w, "operation", t->operation);
    put_user(w, q->user);
    jw_key(w, STR("object"));
    jw_val(w, q->object);
    jw_key(w, STR("oldObject"));
    jw_val(w, q->old_object);
    jw_put_bool(w, "dryRun", q->dry_run);
    jw_key(w, STR("options"));
    jw_raw(w, q->options);
    jw_end(w);
}

struct doc *hook_review(struct arena *a, const struct hook_question *q)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "AdmissionReview");
    jw_key(&w, STR("apiVersion"));
    jw_printf(&w, GROUP "/%.*s", STR_ARG(q->version));
    put_request(&w, q);
    jw_end(&w);
    return doc_hold(a, jw_doc(&w));
}

/* ---- failures ---- */

void hook_failed(struct arena *a, struct hook_verdict *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ret->outcome = HOOK_FAILED;
    ret->why = arena_vprintf(a, fmt, ap);
    va_end(ap);
}

struct status *hook_internal_error(struct arena *a, str why)
{
    struct status *s =
        status_new(a, 500, "InternalError", "Internal error occurred: %.*s", STR_ARG(why));
    status_add_cause(a, s, "", why, STR_NONE);
    return s;
}

struct status *hook_failure_status(struct arena *a, str hook_name, str why)
{
    return hook_internal_error(a, arena_printf(a, "failed calling webhook \"%.*s\": %.*s",
                                               STR_ARG(hook_name), STR_ARG(why)));
}

static void refuse(struct hook_verdict *ret, struct status *s)
{
    ret->outcome = HOOK_REFUSED;
    ret->status = s;
}

/* ---- HTTP errors ---- */

str hook_code_fault(struct arena *a, const struct hook_answer *answer)
{
    static const struct {
        int code;
        const char *text;
    } known[] = {
        {400, "the server rejected our request for an unknown reason"},
        {401, "the server has asked for the client to provide credentials"},
        {404, "the server could not find the requested resource"},
        {405, "the server does not allow this method on the requested resource"},
        {406, "the server was unable to respond with a content type that the client supports"},
        {409, "the server reported a conflict"},
        {415, "the server was unable to respond with a content type that the client supports"},
        {422, "the server rejected our request due to an error in our request"},
        {429, "the server has received too many requests and has asked us to try again later"},
        {503, "the server is currently unable to handle the request"},
        {504, "the server was unable to return a response in the time allotted, but may still be "
              "processing the request"},
    };
    bool is_text = str_starts(answer->content_type, STR("text/"));
    str text = is_text ? str_trim(str_sub(answer->body, 0, TEXT_MAX)) : STR("unknown");
    if (answer->code >= 200 && answer->code <= 206)
        return STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].code == answer->code)
            return str_of(known[i].text);
    if (answer->code == 403)
        return arena_str(a, text);
    if (answer->code >= 500)
        return arena_printf(a,
                            "an error on the server (\"%.*s\") has prevented the request from "
                            "succeeding",
                            STR_ARG(text));
    return arena_printf(a,
                        "the server responded with the status code %d but did not return more "
                        "information",
                        answer->code);
}

/* ---- the answer ---- */

/* The Status of a denial: a webhook may leave out what it likes. */
static struct status *denial(struct arena *a, str hook_name, jval result)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Status");
    for (struct jiter it = jiter(jtype(result) == J_OBJECT ? result : JVAL_ABSENT); jnext(&it);) {
        if (str_is(it.key, "kind"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    struct status *s = status_from(a, 400, doc_root(d));
    doc_unref(d);
    if (s->code < 400)
        s->code = 400;
    str why = s->message.len ? s->message : str_of(s->reason);
    s->message =
        why.len
            ? arena_printf(a, "admission webhook \"%.*s\" denied the request: %.*s",
                           STR_ARG(hook_name), STR_ARG(why))
            : arena_printf(a, "admission webhook \"%.*s\" denied the request without explanation",
                           STR_ARG(hook_name));
    return s;
}

static void read_warnings(struct arena *a, jval list, struct hook_verdict *ret)
{
    size_t n = MIN(jlen(list), (size_t)WARNINGS_MAX);
    if (jtype(list) != J_ARRAY || !n)
        return;
    ret->warnings = arena_array(a, str, n);
    for (struct jiter it = jiter(list); jnext(&it) && ret->n_warnings < n;)
        if (jtype(it.value) == J_STRING)
            ret->warnings[ret->n_warnings++] = arena_str(a, jstr(it.value));
}

/* The operations; false: refused or failed. */
static bool read_patch(struct arena *a, str encoded, struct hook_verdict *ret)
{
    struct strbuf text = STRBUF_INIT(PATCH_MAX);
    struct err err = ERR_INIT;
    struct doc *d = NULL;
    bool decoded = b64_decode(encoded, B64_STD, &text);
    if (decoded)
        d = doc_parse(strbuf_str(&text), NULL, &err);
    strbuf_done(&text);
    if (!decoded) {
        hook_failed(a, ret, "failed to call webhook: illegal base64 data in response.patch");
        return false;
    }
    if (!d) {
        refuse(ret, hook_internal_error(a, arena_printf(a, "%s", err.message)));
        return false;
    }
    (void)doc_hold(a, d);
    if (jtype(doc_root(d)) != J_ARRAY) {
        refuse(ret, hook_internal_error(a, STR("the patch is not a list of operations")));
        return false;
    }
    ret->patch = jlen(doc_root(d)) ? d : NULL;
    return true;
}

/* A patch comes with its type, and from a mutating webhook only; NULL: all is well. */
static const char *patch_problem(struct arena *a, jval response, bool mutating, bool beta)
{
    bool has_patch = jstr(jgetc(response, "patch")).len > 0;
    jval type = jgetc(response, "patchType");
    if (!mutating && has_patch)
        return "validating webhook may not return response.patch";
    if (!mutating && j_has(type))
        return "validating webhook may not return response.patchType";
    if (!mutating || beta)
        return NULL;
    if (has_patch && !j_has(type))
        return "webhook returned response.patch but not response.patchType";
    if (!has_patch && j_has(type))
        return "webhook returned response.patchType but not response.patch";
    if (j_has(type) && str_is_empty(jstr(type)))
        return arena_printf(a, "webhook returned invalid response.patchType of \"\"").p;
    return NULL;
}

/* The answer is to our question, in our language; false: failed. */
static bool check_review(struct arena *a, jval root, const struct hook_question *q, bool mutating,
                         struct hook_verdict *ret)
{
    static const char prefix[] = "received invalid webhook response";
    jval response = jgetc(root, "response");
    bool beta = str_is(q->version, "v1beta1");
    str api = jstr(jgetc(root, "apiVersion")), kind = jstr(jgetc(root, "kind"));
    str uid = jstr(jgetc(response, "uid"));
    const char *problem = patch_problem(a, response, mutating, beta);
    if (jtype(response) != J_OBJECT)
        hook_failed(a, ret, "%s: webhook response was absent", prefix);
    else if (!beta && !str_eq(uid, q->uid))
        hook_failed(a, ret, "%s: expected response.uid=\"%.*s\", got \"%.*s\"", prefix,
                    STR_ARG(q->uid), STR_ARG(str_sub(uid, 0, 128)));
    else if (!beta && (!str_is(api, GROUP "/v1") || !str_is(kind, "AdmissionReview")))
        hook_failed(a, ret,
                    "%s: expected webhook response of " GROUP "/v1, Kind=AdmissionReview, got "
                    "%.*s, Kind=%.*s",
                    prefix, STR_ARG(str_sub(api.len ? api : STR("/"), 0, 128)),
                    STR_ARG(str_sub(kind, 0, 128)));
    else if (problem)
        hook_failed(a, ret, "%s: %s", prefix, problem);
    else
        return true;
    return false;
}

static void judge_review(struct arena *a, str hook_name, const struct hook_question *q,
                         bool mutating, jval root, struct hook_verdict *ret)
{
    jval response = jgetc(root, "response");
    str patch = jstr(jgetc(response, "patch")), type = jstr(jgetc(response, "patchType"));
    if (!check_review(a, root, q, mutating, ret))
        return;
    read_warnings(a, jgetc(response, "warnings"), ret);
    if (!j_is_true(jgetc(response, "allowed"))) {
        refuse(ret, denial(a, hook_name, jgetc(response, "status")));
        return;
    }
    if (!patch.len || !read_patch(a, patch, ret) || !ret->patch)
        return;
    if (!j_has(q->object)) {
        refuse(ret, hook_internal_error(
                        a, arena_printf(a,
                                        "admission webhook \"%.*s\" attempted to modify the "
                                        "object, which is not supported for this operation",
                                        STR_ARG(hook_name))));
        return;
    }
    if (type.len && !str_is(type, "JSONPatch"))
        hook_failed(a, ret, "unsupported patch type \"%.*s\"", STR_ARG(str_sub(type, 0, 128)));
}

void hook_judge(struct arena *a, str hook_name, const struct hook_question *q, bool mutating,
                const struct hook_answer *answer, struct hook_verdict *ret)
{
    struct err err = ERR_INIT;
    *ret = (struct hook_verdict){.outcome = HOOK_ALLOWED};
    str fault = hook_code_fault(a, answer);
    if (fault.len) {
        hook_failed(a, ret, "failed to call webhook: %.*s", STR_ARG(fault));
        return;
    }
    struct doc *d = doc_parse(answer->body, NULL, &err);
    if (!d) {
        hook_failed(a, ret,
                    "failed to call webhook: couldn't get version/kind; json parse error: %s",
                    err.message);
        return;
    }
    if (jtype(doc_root(d)) != J_OBJECT)
        hook_failed(a, ret,
                    "failed to call webhook: couldn't get version/kind; json parse error: the "
                    "answer is no object");
    else
        judge_review(a, hook_name, q, mutating, doc_root(d), ret);
    doc_unref(d);
}
