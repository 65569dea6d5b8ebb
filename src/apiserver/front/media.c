/*
 * Content types: which form of answer the client takes, and what its body is written in.
 *
 * Answers are JSON or YAML. Protobuf is read but never written: every client that asks for it also
 * takes JSON, or decodes by the answer's own content type, so a client that lists nothing but
 * protobuf gets JSON. Custom resources have no protobuf form and say so, as the real server does.
 */
#include "apiserver/front/route.h"
#include "kube/schema.h"
#include "json/yaml.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define JSON_YAML "application/json, application/yaml"

/* YAML takes ten times as long as JSON, which clients make of it before they send it. */
enum { SUMMARY_LEN = 30, YAML_VALUES = 100000 };

/* The media type itself, without parameters. */
static str media_type(str s)
{
    return str_trim(str_cut(&s, ';'));
}

static str parameter(str s, const char *name)
{
    (void)str_cut(&s, ';');
    while (s.p) {
        str value = str_trim(str_cut(&s, ';')), key = str_trim(str_cut(&value, '='));
        if (str_is(key, name))
            return str_trim(value);
    }
    return STR_NONE;
}

static const char *served_types(const struct route *r)
{
    return r->kind && kind_is(r->kind, KIND_CUSTOM) ? JSON_YAML : JSON_YAML ", " PROTOBUF;
}

/* ---- Accept ---- */

/* What a Go client would see in the text of an error: "*core.ConfigMapList". */
static str go_type(const struct kind *k, const char *suffix, struct arena *a)
{
    str group = str_of(k->group), package = str_cut(&group, '.');
    if (kind_is(k, KIND_CUSTOM))
        return arena_printf(a, "*unstructured.Unstructured%s", suffix);
    if (str_is_empty(package) || str_is(package, "events"))
        package = STR("core");
    return arena_printf(a, "*%.*s.%s%s", STR_ARG(package), k->kind, suffix);
}

/* PartialObjectMetadata is for one object (or a watch), PartialObjectMetadataList for a list. */
static struct status *check_partial(const struct route *r, bool as_list, struct arena *a)
{
    bool is_list =
        !r->is_watch && (r->request->verb == API_LIST || r->request->verb == API_DELETE_COLLECTION);
    if (r->is_watch || is_list == as_list || !r->kind)
        return NULL;
    return is_list ? status_new(a, 406, "NotAcceptable",
                                "you requested PartialObjectMetadata, but the requested object is "
                                "a list (%.*s)",
                                STR_ARG(go_type(r->kind, "List", a)))
                   : status_new(a, 406, "NotAcceptable",
                                "you requested PartialObjectMetadataList, but the requested object "
                                "is not a list (%.*s)",
                                STR_ARG(go_type(r->kind, "", a)));
}

/* The "as" parameter; false: no form we have. */
static bool take_form(struct route *r, str one, struct arena *a, struct status **ret_status)
{
    str as = parameter(one, "as");
    *ret_status = NULL;
    if (str_is_empty(as))
        return true;
    if (!str_is(parameter(one, "g"), "meta.k8s.io") || !str_is(parameter(one, "v"), "v1"))
        return false;
    if (str_is(as, "Table")) { /* what is not stored has no columns */
        r->format = r->kind ? FORMAT_TABLE : FORMAT_OBJECT;
        return r->kind != NULL;
    }
    bool as_list = str_is(as, "PartialObjectMetadataList");
    if (!as_list && !str_is(as, "PartialObjectMetadata"))
        return false;
    r->format = FORMAT_PARTIAL;
    *ret_status = check_partial(r, as_list, a);
    return true;
}

/* One alternative of the list; false: not this one. */
static bool take(struct route *r, str one, bool protobuf_as_json, struct arena *a,
                 struct status **ret_status)
{
    str type = media_type(one);
    *ret_status = NULL;
    if (str_is(parameter(one, "q"), "0"))
        return false;
    if (str_is(type, "*/*") || str_is(type, "application/*"))
        return true;
    r->yaml = str_is(type, "application/yaml");
    bool custom = r->kind && kind_is(r->kind, KIND_CUSTOM);
    if (protobuf_as_json && str_is(type, PROTOBUF) &&
        (!custom || !str_is_empty(parameter(one, "as"))))
        return take_form(r, one, a, ret_status);
    return (r->yaml || str_is(type, "application/json")) && take_form(r, one, a, ret_status);
}

struct status *media_accept(struct route *r, str accept, struct arena *a)
{
    if (str_is_empty(str_trim(accept)))
        return NULL;
    for (int round = 0; round < 2; round++) {
        str rest = accept;
        while (rest.p) {
            struct status *s;
            if (take(r, str_cut(&rest, ','), round == 1, a, &s))
                return s;
        }
    }
    r->yaml = false;
    r->format = FORMAT_OBJECT;
    struct status *s =
        status_new(a, 406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: %s",
                   served_types(r));
    s->empty_details = true;
    return s;
}

/* ---- patches ---- */

static const struct {
    const char *type;
    enum api_patch_type patch;
} patch_types[] = {
    {"application/json-patch+json", API_PATCH_JSON},
    {"application/merge-patch+json", API_PATCH_MERGE},
    {"application/strategic-merge-patch+json", API_PATCH_STRATEGIC},
    {"application/apply-patch+yaml", API_PATCH_APPLY},
};

struct status *media_patch_type(struct route *r, str content_type, struct arena *a)
{
    str type = media_type(content_type);
    bool custom = kind_is(r->kind, KIND_CUSTOM);
    for (size_t i = 0; i < ARRAY_LEN(patch_types); i++) {
        if (!str_is(type, patch_types[i].type) ||
            (custom && patch_types[i].patch == API_PATCH_STRATEGIC))
            continue;
        r->request->patch = patch_types[i].patch;
        return NULL;
    }
    return status_unsupported_media_type(
        a, custom ? "application/json-patch+json, application/merge-patch+json, "
                    "application/apply-patch+yaml"
                  : "application/json-patch+json, application/merge-patch+json, "
                    "application/strategic-merge-patch+json, application/apply-patch+yaml");
}

/* ---- bodies ---- */

/* The beginning of a body for an error, as the real server shows it. */
static str summary(str body, struct arena *a)
{
    if (str_is_empty(body))
        return STR("<empty>");
    str head = str_sub(body, 0, SUMMARY_LEN);
    const char *more = body.len > head.len ? " ..." : "";
    if (body.p[0] == '{')
        return arena_printf(a, "%.*s%s", STR_ARG(head), more);
    struct strbuf b = STRBUF_INIT(256);
    for (size_t i = 0; i < head.len; i++)
        strbuf_printf(&b, "%02x", (unsigned char)head.p[i]);
    strbuf_add_cstr(&b, more);
    str s = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

/* A custom resource has no protobuf form; its Scale has. */
static bool takes_protobuf(const struct route *r)
{
    return !r->kind || !kind_is(r->kind, KIND_CUSTOM) || str_is(r->request->subresource, "scale");
}

/* Kind of what the body should be. */
static const char *body_kind(const struct route *r)
{
    const struct api_request *q = r->request;
    if (q->verb == API_DELETE || q->verb == API_DELETE_COLLECTION)
        return "DeleteOptions";
    if (str_is(q->subresource, "scale"))
        return "Scale";
    for (size_t i = 0; r->kind && i < r->kind->n_subresources; i++)
        if (str_is(q->subresource, r->kind->subresources[i].name))
            return r->kind->subresources[i].kind;
    return r->kind ? r->kind->kind : "object";
}

/* Without the column, which kube-apiserver does not tell: "line 9: key ...". */
static str without_column(const char *message, struct arena *a)
{
    str m = str_of(message);
    ptrdiff_t from = str_starts(m, STR("line ")) ? str_find(m, STR(", column ")) : -1;
    if (from < 0)
        return m;
    str rest = str_sub(m, (size_t)from, m.len);
    ptrdiff_t to = str_find_char(rest, ':');
    if (to < 0)
        return m;
    return arena_printf(a, "%.*s%.*s", (int)from, m.p, (int)(rest.len - (size_t)to), rest.p + to);
}

static struct status *undecodable(const struct route *r, str body, const struct err *err,
                                  struct arena *a)
{
    if (r->request->verb == API_PATCH)
        return status_bad_request(a, "error decoding patch: %.*s",
                                  STR_ARG(without_column(err->message, a)));
    return status_bad_request(a,
                              "the object provided is unrecognized (must be of type %s): couldn't "
                              "get version/kind; json parse error: %s (%.*s)",
                              body_kind(r), err->message, STR_ARG(summary(body, a)));
}

struct doc *route_body(const struct http_exchange *x, const struct route *r, struct arena *a,
                       struct status **ret_status)
{
    struct err err = ERR_INIT;
    struct doc *d;
    str type = media_type(http_header_get(x, STR("content-type")));
    enum api_verb verb = r->request->verb;
    bool deletes = verb == API_DELETE || verb == API_DELETE_COLLECTION;
    struct json_limits limits = {.allow_duplicate_keys = true};
    *ret_status = NULL;
    if (str_is(type, PROTOBUF) && (deletes || takes_protobuf(r)))
        d = protobuf_decode(x->body, &err);
    else if (str_is(type, "application/yaml") || str_is(type, "application/apply-patch+yaml"))
        d = yaml_parse_bounded(x->body, YAML_VALUES, &err);
    else if (str_is_empty(type) || str_is(type, "application/json") || verb == API_PATCH)
        d = doc_parse(x->body, &limits, &err);
    else {
        *ret_status = status_unsupported_media_type(a, served_types(r));
        return NULL;
    }
    if (!d)
        *ret_status = undecodable(r, x->body, &err, a);
    return d;
}
