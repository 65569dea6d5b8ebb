/* See wire.h. */
#include "client/wire.h"

#include "json/splice.h"
#include "json/write.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

enum { MAX_PATH = 64 << 10 };

/* ---- paths ---- */

const char *wire_method(enum api_verb v)
{
    static const char *const methods[] = {
        [API_GET] = "GET",
        [API_LIST] = "GET",
        [API_CREATE] = "POST",
        [API_UPDATE] = "PUT",
        [API_PATCH] = "PATCH",
        [API_DELETE] = "DELETE",
        [API_DELETE_COLLECTION] = "DELETE",
    };
    return methods[v];
}

bool wire_is_write(enum api_verb v)
{
    return v != API_GET && v != API_LIST;
}

void wire_add_escaped(struct strbuf *b, str s)
{
    static const char safe[] = "-._~,=!()";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || (c && strchr(safe, c)))
            strbuf_add_char(b, (char)c);
        else
            strbuf_printf(b, "%%%02X", c);
    }
}

/* A path with its query, as it grows. */
struct target {
    struct strbuf text;
    char sep;
};

static void add_query(struct target *t, const char *name, str value)
{
    if (str_is_empty(value))
        return;
    strbuf_printf(&t->text, "%c%s=", t->sep, name);
    wire_add_escaped(&t->text, value);
    t->sep = '&';
}

static void add_number(struct target *t, const char *name, uint64_t n)
{
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    add_query(t, name, str_of(digits));
}

static void add_flag(struct target *t, const char *name, bool on, const char *value)
{
    if (on)
        add_query(t, name, str_of(value));
}

static void add_segment(struct target *t, str s)
{
    if (str_is_empty(s))
        return;
    strbuf_add_char(&t->text, '/');
    wire_add_escaped(&t->text, s);
}

static struct target target_of(str prefix, const struct kind *k, str ns, str name, str subresource)
{
    struct target t = {.text = STRBUF_INIT(MAX_PATH), .sep = '?'};
    strbuf_add_str(&t.text, prefix);
    strbuf_printf(&t.text, *k->group ? "/apis/%s" : "/api%s", k->group);
    strbuf_printf(&t.text, "/%s", k->version);
    if (kind_is(k, KIND_NAMESPACED) && !str_is_empty(ns)) {
        strbuf_add_cstr(&t.text, "/namespaces");
        add_segment(&t, ns);
    }
    strbuf_printf(&t.text, "/%s", k->plural);
    add_segment(&t, name);
    add_segment(&t, subresource);
    return t;
}

static str finish(struct arena *a, struct target *t)
{
    /* Too long a path becomes an empty one, which the HTTP client refuses to send. */
    str path = t->text.overflow ? STR_NONE : arena_str(a, strbuf_str(&t->text));
    strbuf_done(&t->text);
    return path;
}

static void add_read_options(struct target *t, const struct api_request *q, int64_t limit,
                             str token)
{
    add_query(t, "continue", token);
    if (limit > 0)
        add_number(t, "limit", (uint64_t)limit);
    /* A token carries its revision; the two together are refused. */
    if (q->rv_given && str_is_empty(token))
        add_number(t, "resourceVersion", q->rv);
    add_flag(t, "resourceVersionMatch", q->rv_match == API_RV_EXACT && !token.len, "Exact");
    add_flag(t, "resourceVersionMatch", q->rv_match == API_RV_NOT_OLDER_THAN && !token.len,
             "NotOlderThan");
}

static void add_write_options(struct target *t, const struct api_request *q)
{
    static const char *const validations[] = {"Warn", "Strict", "Ignore"};
    bool carries = q->verb == API_CREATE || q->verb == API_UPDATE || q->verb == API_PATCH;
    if (carries) {
        add_query(t, "fieldManager", q->field_manager);
        add_query(t, "fieldValidation", str_of(validations[q->field_validation]));
    }
    add_flag(t, "dryRun", q->dry_run, "All");
    add_flag(t, "force", q->force && q->verb == API_PATCH && q->patch == API_PATCH_APPLY, "true");
}

str wire_request_path(struct arena *a, str prefix, const struct api_request *q, int64_t limit,
                      str token)
{
    if (q->path.len)
        return arena_printf(a, "%.*s%.*s", STR_ARG(prefix), STR_ARG(q->path));
    bool anew = q->verb == API_CREATE && str_is_empty(q->subresource);
    struct target t = target_of(prefix, q->kind, q->ns, anew ? STR_NONE : q->name, q->subresource);
    add_query(&t, "labelSelector", q->label_selector);
    add_query(&t, "fieldSelector", q->field_selector);
    if (wire_is_write(q->verb))
        add_write_options(&t, q);
    else
        add_read_options(&t, q, limit, token);
    return finish(a, &t);
}

str wire_watch_path(struct arena *a, str prefix, const struct api_watch *w)
{
    struct target t = target_of(prefix, w->kind, w->ns, STR_NONE, STR_NONE);
    add_query(&t, "watch", STR("true"));
    add_query(&t, "labelSelector", w->label_selector);
    add_query(&t, "fieldSelector", w->field_selector);
    if (w->rv_given)
        add_number(&t, "resourceVersion", w->rv);
    add_flag(&t, "allowWatchBookmarks", w->bookmarks || w->send_initial, "true");
    add_flag(&t, "sendInitialEvents", w->send_initial, "true");
    add_flag(&t, "resourceVersionMatch", w->send_initial, "NotOlderThan");
    if (w->timeout > 0)
        add_number(&t, "timeoutSeconds", (uint64_t)(w->timeout / USEC_PER_SEC));
    return finish(a, &t);
}

/* ---- bodies ---- */

static str delete_options(struct arena *a, const struct api_request *q)
{
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "DeleteOptions");
    if (q->grace_seconds >= 0)
        jw_put_int(&w, "gracePeriodSeconds", q->grace_seconds);
    if (q->propagation != API_PROPAGATION_DEFAULT)
        jw_put_cstr(&w, "propagationPolicy", policies[q->propagation]);
    if (!str_is_empty(q->uid) || q->rv) {
        jw_put_object(&w, "preconditions");
        if (!str_is_empty(q->uid))
            jw_put_str(&w, "uid", q->uid);
        if (q->rv) {
            jw_key(&w, STR("resourceVersion"));
            jw_printf(&w, "%llu", (unsigned long long)q->rv);
        }
        jw_end(&w);
    }
    jw_end(&w);
    str text = arena_str(a, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

str wire_body(struct arena *a, const struct api_request *q, str *ret_type)
{
    static const char *const patch_types[] = {
        [API_PATCH_JSON] = "application/json-patch+json",
        [API_PATCH_MERGE] = "application/merge-patch+json",
        [API_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [API_PATCH_APPLY] = "application/apply-patch+yaml",
    };
    str body = STR_NONE;
    if (q->verb == API_DELETE || q->verb == API_DELETE_COLLECTION)
        body = delete_options(a, q);
    else if (q->body && wire_is_write(q->verb))
        body = doc_text(q->body);
    *ret_type = !body.len              ? STR_NONE
                : q->verb == API_PATCH ? str_of(patch_types[q->patch])
                                       : STR("application/json");
    return body;
}

/* ---- objects ---- */

/* The members of an object but one, into an open container. */
static size_t copy_but(struct splice *s, jval object, const char *left_out)
{
    size_t n = 0;
    for (struct jiter it = jiter(object); jnext(&it);) {
        if (str_is(it.key, left_out))
            continue;
        splice_key(s, it.key, n++ == 0);
        splice_value(s, it.value);
    }
    return n;
}

static void copy_meta(struct splice *s, jval meta)
{
    uint32_t mark = splice_open(s, true);
    size_t n = 0;
    for (struct jiter it = jiter(meta); jnext(&it);) {
        if (str_is(it.key, "managedFields"))
            continue;
        splice_key(s, it.key, n++ == 0);
        if (!str_is(it.key, "annotations") || jtype(it.value) != J_OBJECT) {
            splice_value(s, it.value);
            continue;
        }
        uint32_t inner = splice_open(s, true);
        splice_close(s, inner, copy_but(s, it.value, LAST_APPLIED));
    }
    splice_close(s, mark, n);
}

static struct doc *type_doc(const struct kind *k)
{
    char version[256];
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "apiVersion", kind_api_version(k, version, sizeof(version)));
    jw_put_cstr(&w, "kind", k->kind);
    jw_end(&w);
    return jw_doc(&w);
}

/* Bytes of the copy; what is reserved beyond that a cache would hold for nothing. */
static size_t size_of_copy(const struct wire_form *f, jval v)
{
    jval meta = jgetc(v, "metadata");
    size_t size = jtext(v).len + (j_is_absent(jgetc(v, "kind")) ? 128 : 0);
    if (f->trim)
        size -= jtext(jgetc(meta, "managedFields")).len +
                jtext(jget(jgetc(meta, "annotations"), STR(LAST_APPLIED))).len;
    return size;
}

static struct doc *copy_object(const struct wire_form *f, jval v, struct err *err)
{
    struct splice s;
    splice_init(&s, size_of_copy(f, v), 0);
    uint32_t mark = splice_open(&s, true);
    size_t n = 0;
    struct doc *type = j_is_absent(jgetc(v, "kind")) ? type_doc(f->kind) : NULL;
    for (struct jiter it = jiter(doc_root(type)); jnext(&it); n++) {
        splice_key(&s, it.key, n == 0);
        splice_value(&s, it.value);
    }
    for (struct jiter it = jiter(v); jnext(&it); n++) {
        splice_key(&s, it.key, n == 0);
        if (f->trim && str_is(it.key, "metadata") && jtype(it.value) == J_OBJECT)
            copy_meta(&s, it.value);
        else
            splice_value(&s, it.value);
    }
    splice_close(&s, mark, n);
    doc_unref(type);
    return splice_doc(&s, err);
}

struct obj *wire_object(const struct wire_form *f, jval v, struct err *err)
{
    if (jtype(v) != J_OBJECT) {
        (void)err_set(err, ERR_INVALID, "the server sent something that is not an object");
        return NULL;
    }
    struct doc *d = copy_object(f, v, err);
    return d ? obj_new(f->kind, d, err) : NULL;
}

/* ---- warnings ---- */

/* A quoted string at the beginning of *rest; leaves what follows it. */
static bool unquote(struct arena *a, str *rest, str *ret)
{
    struct strbuf b = STRBUF_INIT(4096);
    size_t i = 1;
    for (; i < rest->len && rest->p[i] != '"'; i++) {
        if (rest->p[i] == '\\' && i + 1 < rest->len)
            i++;
        strbuf_add_char(&b, rest->p[i]);
    }
    bool whole = i < rest->len;
    *ret = whole ? arena_str(a, strbuf_str(&b)) : STR_NONE;
    *rest = str_sub(*rest, i + 1, rest->len);
    strbuf_done(&b);
    return whole;
}

void wire_warnings(struct arena *a, str value, str *list, size_t max, size_t *n)
{
    /* 299 agent "text" "date", ... : of each the first string. */
    while (*n < max) {
        ptrdiff_t quote = str_find_char(value, '"');
        str text, date;
        if (quote < 0)
            return;
        value = str_sub(value, (size_t)quote, value.len);
        if (!unquote(a, &value, &text))
            return;
        str after = str_trim(value);
        if (str_starts(after, STR("\"")) && unquote(a, &after, &date))
            value = after;
        bool known = false;
        for (size_t i = 0; i < *n; i++)
            known |= str_eq(list[i], text);
        if (!known && text.len)
            list[(*n)++] = text;
    }
}
