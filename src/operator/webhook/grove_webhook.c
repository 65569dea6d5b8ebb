/* Reading reviews, asking the rules, writing answers; see grove_webhook.h. */
#include "operator/webhook/grove_webhook.h"

#include "base/b64.h"
#include "grove/types.h"
#include "json/write.h"

/* As kube-apiserver shows them to people: it cuts longer ones itself, and complains. */
enum { WARNING_MAX = 240, WARNINGS_MAX = 30 };

void webhook_deny(struct webhook_verdict *v, struct arena *a, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    v->message = arena_vprintf(a, fmt, ap);
    va_end(ap);
    v->allowed = false;
    v->code = code;
}

/* ---- PodCliqueSets and bindings ---- */

/* The object as a document of its own; denies and returns NULL when there is none. */
static struct doc *take_object(const struct webhook_request *q, jval v, const char *what,
                               struct webhook_verdict *verdict)
{
    struct err err = ERR_INIT;
    struct doc *d = jtype(v) == J_OBJECT ? doc_parse(jtext(v), NULL, &err) : NULL;
    if (!d)
        webhook_deny(verdict, q->arena, 400, "the review has no %s", what);
    return doc_hold(q->arena, d);
}

static bool is_about(const struct webhook_request *q, const struct kind *k,
                     struct webhook_verdict *v)
{
    if (str_is(q->group, k->group) && str_is(q->resource, k->plural) &&
        str_is_empty(q->sub_resource))
        return true;
    webhook_deny(
        v, q->arena, 400,
        "this webhook judges %s.%s and was asked about %.*s.%.*s%s%.*s: check the rules of "
        "its configuration",
        k->plural, k->group, STR_ARG(q->resource), STR_ARG(q->group),
        str_is_empty(q->sub_resource) ? "" : "/", STR_ARG(q->sub_resource));
    return false;
}

/* Deletes and connections are nothing to judge; what nobody has heard of is denied. */
static bool is_write(const struct webhook_request *q, struct webhook_verdict *v)
{
    if (str_is(q->operation, "CREATE") || str_is(q->operation, "UPDATE"))
        return true;
    if (!str_is(q->operation, "DELETE") && !str_is(q->operation, "CONNECT"))
        webhook_deny(v, q->arena, 400, "operation \"%.*s\" is not known", STR_ARG(q->operation));
    return false;
}

static void answer_default(const struct webhook_rules *rules, const struct webhook_request *q,
                           struct webhook_verdict *v)
{
    struct edit edits;
    struct err err = ERR_INIT;
    if (!is_about(q, &kind_pcs, v) || !is_write(q, v))
        return;
    struct doc *d = take_object(q, q->object, "object", v);
    if (!d)
        return;
    edit_init(&edits, q->arena);
    grove_default_edits(&kind_pcs, d, q->ns, &edits);
    grove_default_strategy(rules->context->strategy,
                           str_is(q->operation, "CREATE") ? JVAL_ABSENT : q->old_object, q->object,
                           &edits);
    if (!edit_is_empty(&edits)) {
        struct doc *patch = doc_hold(q->arena, edit_as_json_patch(&edits, d, &err));
        if (patch)
            v->patch = doc_text(patch);
        else
            webhook_deny(v, q->arena, 500, "defaults do not apply: %s", err.message);
    }
    edit_done(&edits);
}

static void take_warnings(const struct webhook_request *q, const struct field_errors *errors,
                          struct webhook_verdict *v)
{
    v->n_warnings = MIN(errors->warnings.len, (size_t)WARNINGS_MAX);
    v->warnings = arena_array(q->arena, str, v->n_warnings + 1);
    for (size_t i = 0; i < v->n_warnings; i++)
        v->warnings[i] = arena_str(q->arena, str_sub(errors->warnings.p[i], 0, WARNING_MAX));
}

static void answer_validate(const struct webhook_rules *rules, const struct webhook_request *q,
                            const struct kind *k, struct webhook_verdict *v)
{
    struct field_errors errors;
    bool update = str_is(q->operation, "UPDATE");
    if (!is_about(q, k, v) || !is_write(q, v))
        return;
    if (rules->is_ready && !rules->is_ready(rules->ctx)) {
        webhook_deny(v, q->arena, 503,
                     "the operator has just started and does not know the cluster yet; try again");
        return;
    }
    struct doc *new = take_object(q, q->object, "object", v);
    struct doc *old = new &&update ? take_object(q, q->old_object, "oldObject", v) : NULL;
    if (!new || (update && !old))
        return;
    field_errors_init(&errors, q->arena);
    grove_validate_in(rules->context, k, old, new, &errors);
    take_warnings(q, &errors, v);
    if (errors.items.len) {
        str text = field_errors_text(q->arena, &errors);
        webhook_deny(v, q->arena, 403, "%.*s", STR_ARG(text));
    }
    field_errors_done(&errors);
}

static void answer_validate_set(const struct webhook_rules *rules, const struct webhook_request *q,
                                struct webhook_verdict *v)
{
    answer_validate(rules, q, &kind_pcs, v);
}

static void answer_validate_binding(const struct webhook_rules *rules,
                                    const struct webhook_request *q, struct webhook_verdict *v)
{
    answer_validate(rules, q, &kind_ctb, v);
}

static const struct {
    const char *path;
    void (*answer)(const struct webhook_rules *rules, const struct webhook_request *q,
                   struct webhook_verdict *v);
} handlers[] = {
    {"/webhooks/default-podcliqueset", answer_default},
    {"/webhooks/validate-podcliqueset", answer_validate_set},
    {"/webhooks/validate-clustertopology", answer_validate_binding},
    {"/webhooks/authorizer-webhook", webhook_authorize},
};

/* ---- the protocol ---- */

static void reply_text(struct webhook_reply *ret, struct arena *a, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static void reply_text(struct webhook_reply *ret, struct arena *a, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *ret = (struct webhook_reply){code, "text/plain; charset=utf-8", arena_vprintf(a, fmt, ap)};
    va_end(ap);
}

/* Why a document is no review, or NULL. */
static const char *what_is_missing(jval review)
{
    jval request = jgetc(review, "request");
    if (jtype(review) != J_OBJECT)
        return "it is not an object";
    if (!str_is(jstr(jgetc(review, "apiVersion")), "admission.k8s.io/v1") ||
        !str_is(jstr(jgetc(review, "kind")), "AdmissionReview"))
        return "it is not an AdmissionReview of admission.k8s.io/v1";
    if (jtype(request) != J_OBJECT)
        return "it has no request";
    if (str_is_empty(jstr(jgetc(request, "uid"))))
        return "its request has no uid";
    return NULL;
}

static struct webhook_request read_request(struct arena *a, jval request)
{
    return (struct webhook_request){
        .arena = a,
        .uid = jstr(jgetc(request, "uid")),
        .operation = jstr(jgetc(request, "operation")),
        .ns = jstr(jgetc(request, "namespace")),
        .name = jstr(jgetc(request, "name")),
        .user = jstr(jpath(request, "userInfo.username")),
        .sub_resource = jstr(jgetc(request, "subResource")),
        .group = jstr(jpath(request, "resource.group")),
        .resource = jstr(jpath(request, "resource.resource")),
        .object = jgetc(request, "object"),
        .old_object = jgetc(request, "oldObject"),
    };
}

static void write_patch(struct jw *w, str patch)
{
    struct strbuf b = STRBUF_INIT((size_t)WEBHOOK_MAX_BODY * 2);
    b64_encode(patch, B64_STD, &b);
    jw_put_cstr(w, "patchType", "JSONPatch");
    jw_put_str(w, "patch", strbuf_str(&b));
    strbuf_done(&b);
}

static struct doc *write_review(const struct webhook_request *q, const struct webhook_verdict *v)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "admission.k8s.io/v1");
    jw_put_cstr(&w, "kind", "AdmissionReview");
    jw_put_object(&w, "response");
    jw_put_str(&w, "uid", q->uid);
    jw_put_bool(&w, "allowed", v->allowed);
    if (!v->allowed) {
        const char *reason = status_reason_of_code(v->code);
        jw_put_object(&w, "status");
        jw_put_cstr(&w, "status", "Failure");
        jw_put_str(&w, "message", v->message);
        if (reason)
            jw_put_cstr(&w, "reason", reason);
        jw_put_int(&w, "code", v->code);
        jw_end(&w);
    }
    if (v->allowed && !str_is_empty(v->patch))
        write_patch(&w, v->patch);
    if (v->n_warnings) {
        jw_put_array(&w, "warnings");
        for (size_t i = 0; i < v->n_warnings; i++)
            jw_str(&w, v->warnings[i]);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static bool is_json(str content_type)
{
    str media = str_trim(str_cut(&content_type, ';'));
    return str_is_empty(media) || str_is(media, "application/json");
}

void webhook_answer(const struct webhook_rules *rules, struct arena *a, str method, str path,
                    str content_type, str body, struct webhook_reply *ret)
{
    struct err err = ERR_INIT;
    size_t i = 0;
    while (i < ARRAY_LEN(handlers) && !str_is(path, handlers[i].path))
        i++;
    if (i == ARRAY_LEN(handlers)) {
        reply_text(ret, a, 404, "there is no webhook at this path\n");
        return;
    }
    if (!str_is(method, "POST") || !is_json(content_type)) {
        bool post = str_is(method, "POST");
        reply_text(ret, a, post ? 415 : 405, "reviews are sent by POST as application/json\n");
        return;
    }
    struct json_limits limits = {.max_bytes = WEBHOOK_MAX_BODY};
    struct doc *d = doc_hold(a, doc_parse(body, &limits, &err));
    const char *missing = d ? what_is_missing(doc_root(d)) : err.message;
    if (missing) {
        reply_text(ret, a, 400, "the body is no review: %s\n", missing);
        return;
    }
    struct webhook_request q = read_request(a, jgetc(doc_root(d), "request"));
    struct webhook_verdict v = {.allowed = true};
    handlers[i].answer(rules, &q, &v);
    struct doc *review = doc_hold(a, write_review(&q, &v));
    *ret = (struct webhook_reply){200, "application/json", doc_text(review)};
}
