/*
 * Status objects and field errors, word for word as kube-apiserver writes them: kubectl reprints
 * the message, client libraries branch on reason and causes. Resources name themselves by plural
 * and group ("leases.coordination.k8s.io") in 404 and 409, by Kind and group in 422.
 */
#include "kube/status.h"

#define MAX_FIELD_ERRORS 100
#define MAX_CAUSES 1000

/* How each type of field error is called in the text and as the reason of a cause. */
static const struct {
    const char *text;
    const char *reason;
    bool shows_value;
} field_error_words[] = {
    [FIELD_ERR_REQUIRED] = {"Required value", "FieldValueRequired", false},
    [FIELD_ERR_INVALID] = {"Invalid value", "FieldValueInvalid", true},
    [FIELD_ERR_DUPLICATE] = {"Duplicate value", "FieldValueDuplicate", true},
    [FIELD_ERR_NOT_FOUND] = {"Not found", "FieldValueNotFound", true},
    [FIELD_ERR_NOT_SUPPORTED] = {"Unsupported value", "FieldValueNotSupported", true},
    [FIELD_ERR_FORBIDDEN] = {"Forbidden", "FieldValueForbidden", false},
    [FIELD_ERR_INTERNAL] = {"Internal error", "InternalError", false},
    [FIELD_ERR_TOO_LONG] = {"Too long", "FieldValueTooLong", false},
    [FIELD_ERR_TOO_MANY] = {"Too many", "FieldValueTooMany", true},
    [FIELD_ERR_TYPE_INVALID] = {"Invalid value", "FieldValueTypeInvalid", true},
};

/* ---- field errors ---- */

void field_errors_init(struct field_errors *e, struct arena *a)
{
    *e = (struct field_errors){.arena = a};
}

void field_errors_done(struct field_errors *e)
{
    vec_done(&e->items);
    vec_done(&e->warnings);
}

static bool same_error(const struct field_error *a, const struct field_error *b)
{
    return a->type == b->type && str_eq(a->field, b->field) && str_eq(a->value, b->value) &&
           str_eq(a->detail, b->detail);
}

bool field_errors_full(const struct field_errors *e)
{
    return e->items.len >= MAX_FIELD_ERRORS;
}

void field_error_add(struct field_errors *e, enum field_error_type type, str field, str value,
                     const char *fmt, ...)
{
    if (field_errors_full(e))
        return;
    va_list ap;
    va_start(ap, fmt);
    str detail = fmt ? arena_vprintf(e->arena, fmt, ap) : STR_NONE;
    va_end(ap);
    struct field_error item = {.type = type, .field = field, .value = value, .detail = detail};
    for (size_t i = 0; i < e->items.len; i++)
        if (same_error(&e->items.p[i], &item))
            return;
    item.field = arena_str(e->arena, field);
    item.value = value.p ? arena_str(e->arena, value) : STR_NONE;
    *vec_push(&e->items) = item;
}

void field_warning_add(struct field_errors *e, const char *fmt, ...)
{
    if (e->warnings.len >= MAX_FIELD_ERRORS)
        return;
    va_list ap;
    va_start(ap, fmt);
    str text = arena_vprintf(e->arena, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < e->warnings.len; i++)
        if (str_eq(e->warnings.p[i], text))
            return;
    *vec_push(&e->warnings) = text;
}

/* "Invalid value: 3: must be ..." A value that is not given is left out together with its colon:
 * rules whose message stands for the value (CEL) print so. */
static str field_error_body(struct arena *a, const struct field_error *e)
{
    const char *word = field_error_words[e->type].text;
    bool value = field_error_words[e->type].shows_value && !str_is_empty(e->value);
    bool detail = !str_is_empty(e->detail);

    return arena_printf(a, "%s%s%.*s%s%.*s", word, value ? ": " : "", value ? (int)e->value.len : 0,
                        value ? e->value.p : "", detail ? ": " : "", STR_ARG(e->detail));
}

str field_error_text(struct arena *a, const struct field_error *e)
{
    str body = field_error_body(a, e);

    return arena_printf(a, "%.*s: %.*s", STR_ARG(e->field), STR_ARG(body));
}

str field_errors_text(struct arena *a, const struct field_errors *e)
{
    if (e->items.len == 0)
        return STR_NONE;
    if (e->items.len == 1)
        return field_error_text(a, &e->items.p[0]);
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    strbuf_add_char(&b, '[');
    for (size_t i = 0; i < e->items.len; i++) {
        if (i)
            strbuf_add_cstr(&b, ", ");
        strbuf_add_str(&b, field_error_text(a, &e->items.p[i]));
    }
    strbuf_add_char(&b, ']');
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* ---- constructors ---- */

static struct status *make(struct arena *a, int code, const char *reason, str message)
{
    struct status *s = arena_new(a, struct status);

    s->code = code;
    s->reason = reason;
    s->message = message;
    return s;
}

#define MAKE_PRINTF(a, code, reason, fmt)                                                \
    ({                                                                                   \
        va_list ap_;                                                                     \
        va_start(ap_, fmt);                                                              \
        struct status *s_ = make((a), (code), (reason), arena_vprintf((a), (fmt), ap_)); \
        va_end(ap_);                                                                     \
        s_;                                                                              \
    })

struct status *status_new(struct arena *a, int code, const char *reason, const char *fmt, ...)
{
    return MAKE_PRINTF(a, code, reason, fmt);
}

struct status *status_bad_request(struct arena *a, const char *fmt, ...)
{
    return MAKE_PRINTF(a, 400, "BadRequest", fmt);
}

struct status *status_internal(struct arena *a, const char *fmt, ...)
{
    return MAKE_PRINTF(a, 500, NULL, fmt);
}

struct status *status_expired(struct arena *a, const char *fmt, ...)
{
    return MAKE_PRINTF(a, 410, "Expired", fmt);
}

/* "pods" or "leases.coordination.k8s.io"; also used with the Kind. */
static str qualified(struct arena *a, const char *word, const char *group)
{
    return *group ? arena_printf(a, "%s.%s", word, group) : str_of(word);
}

/* As Go's %q prints a name. */
static str quoted(struct arena *a, str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);

    json_quote(&b, s);
    str q = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return q;
}

static struct status *about_resource(struct arena *a, int code, const char *reason,
                                     const struct kind *k, str name, str message)
{
    struct status *s = make(a, code, reason, message);

    s->name = arena_str(a, name);
    s->group = str_of(k->group);
    s->kind = str_of(k->plural);
    return s;
}

struct status *status_not_found(struct arena *a, const struct kind *k, str name)
{
    str what = qualified(a, k->plural, k->group), q = quoted(a, name);

    return about_resource(a, 404, "NotFound", k, name,
                          arena_printf(a, "%.*s %.*s not found", STR_ARG(what), STR_ARG(q)));
}

struct status *status_already_exists(struct arena *a, const struct kind *k, str name)
{
    str what = qualified(a, k->plural, k->group), q = quoted(a, name);

    return about_resource(a, 409, "AlreadyExists", k, name,
                          arena_printf(a, "%.*s %.*s already exists", STR_ARG(what), STR_ARG(q)));
}

struct status *status_conflict(struct arena *a, const struct kind *k, str name, const char *why)
{
    str what = qualified(a, k->plural, k->group), q = quoted(a, name);

    if (!why)
        why = "the object has been modified; please apply your changes to the latest version and "
              "try again";
    return about_resource(a, 409, "Conflict", k, name,
                          arena_printf(a, "Operation cannot be fulfilled on %.*s %.*s: %s",
                                       STR_ARG(what), STR_ARG(q), why));
}

struct status *status_invalid(struct arena *a, const struct kind *k, str name,
                              const struct field_errors *errors)
{
    return status_invalid_named(a, k->group, k->kind, name, errors);
}

struct status *status_invalid_named(struct arena *a, const char *group, const char *kind, str name,
                                    const struct field_errors *errors)
{
    str what = qualified(a, kind, group), q = quoted(a, name), text = field_errors_text(a, errors);
    struct status *s = make(a, 422, "Invalid",
                            arena_printf(a, "%.*s %.*s is invalid%s%.*s", STR_ARG(what), STR_ARG(q),
                                         text.len ? ": " : "", STR_ARG(text)));

    s->name = arena_str(a, name);
    s->group = str_of(group);
    s->kind = str_of(kind);
    s->n_causes = errors->items.len;
    s->causes = arena_array(a, struct status_cause, s->n_causes);
    for (size_t i = 0; i < s->n_causes; i++) {
        const struct field_error *e = &errors->items.p[i];
        s->causes[i] = (struct status_cause){.reason = str_of(field_error_words[e->type].reason),
                                             .message = field_error_body(a, e),
                                             .field = arena_str(a, e->field)};
    }
    return s;
}

struct status *status_method_not_allowed(struct arena *a)
{
    struct status *s = make(a, 405, "MethodNotAllowed",
                            STR("the server does not allow this method on the requested resource"));

    s->empty_details = true;
    return s;
}

struct status *status_unsupported_media_type(struct arena *a, const char *accepted)
{
    return status_new(a, 415, "UnsupportedMediaType",
                      "the body of the request was in an unknown format - accepted media types "
                      "include: %s",
                      accepted);
}

void status_add_cause(struct arena *a, struct status *s, const char *reason, str message, str field)
{
    struct status_cause *causes = arena_array(a, struct status_cause, s->n_causes + 1);

    if (s->n_causes)
        memcpy(causes, s->causes, s->n_causes * sizeof(*causes));
    causes[s->n_causes++] = (struct status_cause){str_of(reason), message, field};
    s->causes = causes;
}

/* ---- to and from the wire ---- */

static void put_if(struct jw *w, const char *key, str s)
{
    if (!str_is_empty(s))
        jw_put_str(w, key, s);
}

static void put_causes(struct jw *w, const struct status *s)
{
    if (s->n_causes == 0)
        return;
    jw_put_array(w, "causes");
    for (size_t i = 0; i < s->n_causes; i++) {
        jw_object(w);
        put_if(w, "reason", s->causes[i].reason);
        put_if(w, "message", s->causes[i].message);
        put_if(w, "field", s->causes[i].field);
        jw_end(w);
    }
    jw_end(w);
}

static bool has_details(const struct status *s)
{
    return s->empty_details || s->name.len || s->group.len || s->kind.len || s->uid.len ||
           s->n_causes || s->retry_after > 0;
}

static void put_details(struct jw *w, const struct status *s)
{
    if (!has_details(s))
        return;
    jw_put_object(w, "details");
    put_if(w, "name", s->name);
    put_if(w, "group", s->group);
    put_if(w, "kind", s->kind);
    put_if(w, "uid", s->uid);
    put_causes(w, s);
    if (s->retry_after > 0)
        jw_put_int(w, "retryAfterSeconds", s->retry_after);
    jw_end(w);
}

struct doc *status_doc(const struct status *s)
{
    struct jw w;

    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Status");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_object(&w, "metadata");
    put_if(&w, "continue", s->continue_token);
    jw_end(&w);
    jw_put_cstr(&w, "status", s->code >= 400 ? "Failure" : "Success");
    put_if(&w, "message", s->message);
    put_if(&w, "reason", str_of(s->reason));
    put_details(&w, s);
    if (s->code)
        jw_put_int(&w, "code", s->code);
    jw_end(&w);
    return jw_doc(&w);
}

struct doc *status_success_doc(const struct kind *k, str name, str uid)
{
    struct status s = {
        .name = name, .group = str_of(k->group), .kind = str_of(k->plural), .uid = uid};

    return status_doc(&s);
}

const char *status_reason_of_code(int code)
{
    static const struct {
        int code;
        const char *reason;
    } reasons[] = {
        {400, "BadRequest"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "NotFound"},
        {405, "MethodNotAllowed"},
        {406, "NotAcceptable"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "RequestEntityTooLarge"},
        {415, "UnsupportedMediaType"},
        {422, "Invalid"},
        {429, "TooManyRequests"},
        {500, "InternalError"},
        {503, "ServiceUnavailable"},
        {504, "Timeout"},
        {507, "InsufficientStorage"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return NULL;
}

static void read_details(struct arena *a, struct status *s, jval details)
{
    s->name = arena_str(a, jstr(jgetc(details, "name")));
    s->group = arena_str(a, jstr(jgetc(details, "group")));
    s->kind = arena_str(a, jstr(jgetc(details, "kind")));
    s->uid = arena_str(a, jstr(jgetc(details, "uid")));
    s->empty_details = jtype(details) == J_OBJECT;
    int64_t retry = jint(jgetc(details, "retryAfterSeconds"), 0);
    s->retry_after = (int)MAX(0, MIN(retry, 86400));
    jval causes = jgetc(details, "causes");
    size_t n = jtype(causes) == J_ARRAY ? MIN(jlen(causes), (size_t)MAX_CAUSES) : 0;
    s->causes = arena_array(a, struct status_cause, n);
    for (struct jiter it = jiter(causes); s->n_causes < n && jnext(&it);)
        s->causes[s->n_causes++] =
            (struct status_cause){.reason = arena_str(a, jstr(jgetc(it.value, "reason"))),
                                  .message = arena_str(a, jstr(jgetc(it.value, "message"))),
                                  .field = arena_str(a, jstr(jgetc(it.value, "field")))};
}

struct status *status_from(struct arena *a, int http_code, jval body)
{
    if (!str_is(jstr(jgetc(body, "kind")), "Status"))
        return status_new(a, http_code, status_reason_of_code(http_code),
                          "the server answered HTTP %d", http_code);
    struct status *s = arena_new(a, struct status);
    int64_t code = jint(jgetc(body, "code"), http_code);

    s->code = code >= 100 && code <= 599 ? (int)code : http_code;
    s->message = arena_str(a, jstr(jgetc(body, "message")));
    str reason = jstr(jgetc(body, "reason"));
    s->reason = str_is_empty(reason) ? NULL : arena_str(a, reason).p;
    s->continue_token = arena_str(a, jstr(jpath(body, "metadata.continue")));
    read_details(a, s, jgetc(body, "details"));
    return s;
}
