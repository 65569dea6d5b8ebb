/*
 * Query parameters, in the words kube-apiserver uses when they are wrong. Unknown ones are ignored,
 * as clients expect (pretty, timeout, ...).
 */
#include "apiserver/front/route.h"
#include "apiserver/request.h"
#include "kube/schema.h"
#include "kube/tables/fields.h"

#include <strings.h>

enum { MANAGER_MAX = 128 };
/* A watch that asks for more is ended earlier and begins again. */
#define WATCH_SECONDS_MAX 86400

/* ---- values ---- */

static str query_str(struct arena *a, str query, const char *name)
{
    str v;
    return http_query_get(a, query, str_of(name), &v) ? v : STR_NONE;
}

static bool equal_fold(str a, const char *b)
{
    return a.len == strlen(b) && (a.len == 0 || strncasecmp(a.p, b, a.len) == 0);
}

/* As the real server reads them: given and not "false" or "0" is true, "?watch" included. */
static bool query_bool(struct arena *a, str query, const char *name, bool *ret_given)
{
    str v;
    bool given = http_query_get(a, query, str_of(name), &v);
    if (ret_given)
        *ret_given = given;
    return given && !equal_fold(v, "false") && !str_is(v, "0");
}

/* Go's strconv words, which clients see. */
static str number_error(struct arena *a, const char *function, str v)
{
    size_t digits = 0;
    for (size_t i = 0; i < v.len; i++)
        digits += v.p[i] >= '0' && v.p[i] <= '9';
    bool negative = digits && digits + 1 == v.len && v.p[0] == '-';
    bool is_number = digits && (digits == v.len || (negative && strcmp(function, "ParseInt") == 0));
    struct strbuf quoted = STRBUF_INIT(4096);
    json_quote(&quoted, str_sub(v, 0, 256));
    str s = arena_printf(a, "strconv.%s: parsing %.*s: %s", function, STR_ARG(strbuf_str(&quoted)),
                         is_number ? "value out of range" : "invalid syntax");
    strbuf_done(&quoted);
    return s;
}

static struct status *query_int(struct arena *a, str query, const char *name, int64_t *ret)
{
    str v = query_str(a, query, name);
    if (str_is_empty(v) || str_to_int(v, ret))
        return NULL;
    return status_bad_request(a, "%.*s", STR_ARG(number_error(a, "ParseInt", v)));
}

static str quoted(struct arena *a, const char *open, str v, const char *close)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    strbuf_add_cstr(&b, open);
    json_quote(&b, v);
    strbuf_add_cstr(&b, close);
    str s = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

static struct status *invalid(struct field_errors *e, const char *kind)
{
    struct status *s =
        e->items.len ? status_invalid_named(e->arena, "meta.k8s.io", kind, STR(""), e) : NULL;
    field_errors_done(e);
    return s;
}

/* ---- reading ---- */

static struct status *parse_version(struct route *r, str query, struct arena *a)
{
    struct api_request *q = r->request;
    str rv = query_str(a, query, "resourceVersion");
    q->rv_given = !str_is_empty(rv);
    if (!q->rv_given || str_to_uint(rv, &q->rv))
        return NULL;
    str why = arena_printf(a, "resourceVersion: Invalid value: %.*s: %.*s",
                           STR_ARG(quoted(a, "", str_sub(rv, 0, 256), "")),
                           STR_ARG(number_error(a, "ParseUint", rv)));
    return r->is_watch ? status_internal(a, "%.*s", STR_ARG(why))
                       : status_bad_request(a, "invalid resource version: %.*s", STR_ARG(why));
}

static void forbid(struct field_errors *e, const char *field, const char *why)
{
    field_error_add(e, FIELD_ERR_FORBIDDEN, str_of(field), STR_NONE, "%s", why);
}

static void check_list(struct field_errors *e, const struct api_request *q, str rv, str match,
                       bool initial_given)
{
    if (match.len && str_is_empty(rv))
        forbid(e, "resourceVersionMatch",
               "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (match.len && q->continue_token.len)
        forbid(e, "resourceVersionMatch",
               "resourceVersionMatch is forbidden when continue is provided");
    if (match.len && q->rv_match == API_RV_UNSET)
        field_error_add(e, FIELD_ERR_NOT_SUPPORTED, STR("resourceVersionMatch"),
                        quoted(e->arena, "", match, ""),
                        "supported values: \"Exact\", \"NotOlderThan\", \"\"");
    if (q->rv_match == API_RV_EXACT && str_is(rv, "0"))
        forbid(e, "resourceVersionMatch",
               "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    if (initial_given)
        forbid(e, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void check_watch(struct field_errors *e, const struct api_request *q, str match,
                        bool initial_given)
{
    if (initial_given && q->rv_match != API_RV_NOT_OLDER_THAN)
        forbid(e, "resourceVersionMatch",
               "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (match.len && !initial_given)
        forbid(e, "resourceVersionMatch",
               "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (match.len && q->rv_match != API_RV_NOT_OLDER_THAN)
        field_error_add(e, FIELD_ERR_NOT_SUPPORTED, STR("resourceVersionMatch"),
                        quoted(e->arena, "", match, ""), "supported values: \"NotOlderThan\"");
    if (match.len && q->continue_token.len)
        forbid(e, "resourceVersionMatch",
               "resourceVersionMatch is forbidden when continue is provided");
}

static struct status *check_combinations(struct route *r, str query, struct arena *a)
{
    struct api_request *q = r->request;
    struct field_errors e;
    bool initial_given;
    str rv = query_str(a, query, "resourceVersion");
    str match = query_str(a, query, "resourceVersionMatch");
    q->rv_match = str_is(match, "Exact")          ? API_RV_EXACT
                  : str_is(match, "NotOlderThan") ? API_RV_NOT_OLDER_THAN
                                                  : API_RV_UNSET;
    (void)query_bool(a, query, "sendInitialEvents", &initial_given);
    field_errors_init(&e, a);
    if (r->is_watch)
        check_watch(&e, q, match, initial_given);
    else
        check_list(&e, q, rv, match, initial_given);
    return invalid(&e, "ListOptions");
}

static void fill_watch(struct route *r, str query, int64_t seconds, struct arena *a)
{
    const struct api_request *q = r->request;
    r->watch = (struct api_watch){
        .kind = r->kind,
        .ns = q->ns,
        .label_selector = q->label_selector,
        .field_selector = q->field_selector,
        .rv = q->rv,
        .rv_given = q->rv_given,
        .send_initial = query_bool(a, query, "sendInitialEvents", NULL),
        .bookmarks = query_bool(a, query, "allowWatchBookmarks", NULL),
        .timeout = MIN(MAX(seconds, 0), WATCH_SECONDS_MAX) * USEC_PER_SEC,
    };
}

static struct status *parse_list(struct route *r, str query, struct arena *a)
{
    struct api_request *q = r->request;
    int64_t seconds = 0;
    str fields = query_str(a, query, "fieldSelector");
    q->label_selector = query_str(a, query, "labelSelector");
    if (str_is_empty(q->field_selector))
        q->field_selector = fields;
    else if (!str_is_empty(fields)) /* the name of an old watch path, and more */
        q->field_selector =
            arena_printf(a, "%.*s,%.*s", STR_ARG(q->field_selector), STR_ARG(fields));
    q->continue_token = query_str(a, query, "continue");
    r->is_watch = q->verb == API_LIST && (r->is_watch || query_bool(a, query, "watch", NULL));
    struct status *s = query_int(a, query, "limit", &q->limit);
    if (!s)
        s = query_int(a, query, "timeoutSeconds", &seconds);
    if (!s)
        s = check_combinations(r, query, a);
    if (!s)
        s = parse_version(r, query, a);
    if (!s && r->is_watch) {
        r->verb = "watch";
        fill_watch(r, query, seconds, a);
    }
    return s;
}

/* ---- writing ---- */

static bool is_printable(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return str_is_utf8(s);
}

static void parse_dry_run(struct field_errors *e, struct api_request *q, str dry)
{
    q->dry_run = str_is(dry, "All");
    if (!str_is_empty(dry) && !q->dry_run)
        field_error_add(e, FIELD_ERR_NOT_SUPPORTED, STR("dryRun"), quoted(e->arena, "[", dry, "]"),
                        "supported values: \"All\"");
}

static void parse_validation(struct field_errors *e, struct api_request *q, str v)
{
    q->field_validation = str_is(v, "Strict")   ? API_VALIDATE_STRICT
                          : str_is(v, "Ignore") ? API_VALIDATE_IGNORE
                                                : API_VALIDATE_WARN;
    if (q->field_validation == API_VALIDATE_WARN && !str_is_empty(v) && !str_is(v, "Warn"))
        field_error_add(e, FIELD_ERR_NOT_SUPPORTED, STR("fieldValidation"),
                        quoted(e->arena, "", v, ""),
                        "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

/* Who writes: as told, or the program's name in User-Agent. Apply must be told. */
static void parse_manager(struct field_errors *e, struct api_request *q,
                          const struct http_exchange *x)
{
    str manager = query_str(e->arena, x->query, "fieldManager");
    str agent = http_header_get(x, STR("user-agent"));
    if (manager.len > MANAGER_MAX)
        field_error_add(e, FIELD_ERR_TOO_LONG, STR("fieldManager"), STR_NONE,
                        "may not be more than %d bytes", MANAGER_MAX);
    else if (!is_printable(manager))
        field_error_add(e, FIELD_ERR_INVALID, STR("fieldManager"),
                        quoted(e->arena, "", manager, ""),
                        "should only contain printable characters");
    q->field_manager = manager;
    if (!str_is_empty(manager) || (q->verb == API_PATCH && q->patch == API_PATCH_APPLY))
        return;
    /* A copy: the exchange may be gone before the write is done. */
    agent = arena_str(e->arena, str_sub(str_cut(&agent, '/'), 0, MANAGER_MAX));
    q->field_manager = str_is_empty(agent) || !is_printable(agent) ? STR("unknown") : agent;
}

static struct status *parse_write(struct route *r, const struct http_exchange *x, struct arena *a)
{
    struct api_request *q = r->request;
    struct field_errors e;
    field_errors_init(&e, a);
    parse_manager(&e, q, x);
    parse_dry_run(&e, q, query_str(a, x->query, "dryRun"));
    parse_validation(&e, q, query_str(a, x->query, "fieldValidation"));
    q->force = query_bool(a, x->query, "force", NULL);
    return invalid(&e, q->verb == API_CREATE   ? "CreateOptions"
                       : q->verb == API_UPDATE ? "UpdateOptions"
                                               : "PatchOptions");
}

/* ---- deleting ---- */

static const struct {
    const char *name;
    enum api_propagation value;
} propagations[] = {
    {"Background", API_BACKGROUND},
    {"Foreground", API_FOREGROUND},
    {"Orphan", API_ORPHAN},
};

static void parse_propagation(struct field_errors *e, struct api_request *q, str policy,
                              bool orphan_given, bool orphan)
{
    q->propagation = API_PROPAGATION_DEFAULT;
    if (orphan_given)
        q->propagation = orphan ? API_ORPHAN : API_BACKGROUND;
    if (str_is_empty(policy))
        return;
    if (orphan_given)
        field_error_add(e, FIELD_ERR_INVALID, STR("propagationPolicy"),
                        quoted(e->arena, "", policy, ""),
                        "orphanDependents and deletionPropagation cannot be both set");
    for (size_t i = 0; i < ARRAY_LEN(propagations); i++) {
        if (str_is(policy, propagations[i].name)) {
            q->propagation = propagations[i].value;
            return;
        }
    }
    field_error_add(e, FIELD_ERR_NOT_SUPPORTED, STR("propagationPolicy"),
                    quoted(e->arena, "", policy, ""),
                    "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
}

static struct status *parse_delete(struct route *r, str query, struct arena *a)
{
    struct api_request *q = r->request;
    struct field_errors e;
    bool given;
    struct status *s = query_int(a, query, "gracePeriodSeconds", &q->grace_seconds);
    if (s)
        return s;
    bool orphan = query_bool(a, query, "orphanDependents", &given);
    field_errors_init(&e, a);
    parse_dry_run(&e, q, query_str(a, query, "dryRun"));
    parse_propagation(&e, q, query_str(a, query, "propagationPolicy"), given, orphan);
    return invalid(&e, "DeleteOptions");
}

/* What is wrong with the types of DeleteOptions; empty: nothing. A precondition that nobody
 * understands must not be left out. */
static struct status *check_delete_types(jval o, struct arena *a)
{
    struct body_kind k = {"", "v1", "DeleteOptions", &type_delete_options};
    struct field_errors e;
    field_errors_init(&e, a);
    schema_validate(k.type, o, STR_NONE, &e);
    str why = type_error_text(a, &k, o, &e);
    field_errors_done(&e);
    return why.len ? status_bad_request(a, "%s in version \"%s\" cannot be handled as a %s: %.*s",
                                        k.kind, k.version, k.kind, STR_ARG(why))
                   : NULL;
}

struct status *route_delete_options(struct route *r, jval o, struct arena *a)
{
    struct api_request *q = r->request;
    struct field_errors e;
    str kind = jstr(jgetc(o, "kind"));
    if (jtype(o) != J_OBJECT || (!str_is_empty(kind) && !str_is(kind, "DeleteOptions")))
        return status_bad_request(a, "the body of a delete must be DeleteOptions, not %.*s",
                                  STR_ARG(str_is_empty(kind) ? STR("a bare value") : kind));
    struct status *wrong = check_delete_types(o, a);
    if (wrong)
        return wrong;
    jval pre = jgetc(o, "preconditions"), orphan = jgetc(o, "orphanDependents");
    str rv = jstr(jgetc(pre, "resourceVersion"));
    q->grace_seconds = jint(jgetc(o, "gracePeriodSeconds"), -1);
    q->uid = jstr(jgetc(pre, "uid"));
    q->rv = 0;
    if (!str_is_empty(rv) && !str_to_uint(rv, &q->rv))
        return status_bad_request(a, "preconditions.resourceVersion must be a number");
    field_errors_init(&e, a);
    parse_dry_run(&e, q, jstr(jat(jgetc(o, "dryRun"), 0)));
    parse_propagation(&e, q, jstr(jgetc(o, "propagationPolicy")), j_has(orphan), j_is_true(orphan));
    return invalid(&e, "DeleteOptions");
}

/* ---- all together ---- */

static enum table_include parse_include(str v)
{
    return str_is(v, "None")     ? TABLE_INCLUDE_NONE
           : str_is(v, "Object") ? TABLE_INCLUDE_OBJECT
                                 : TABLE_INCLUDE_METADATA;
}

struct status *options_parse(struct route *r, const struct http_exchange *x, struct arena *a)
{
    struct api_request *q = r->request;
    struct status *s = NULL;
    q->grace_seconds = -1;
    q->propagation = API_PROPAGATION_DEFAULT;
    r->include = parse_include(query_str(a, x->query, "includeObject"));
    switch (q->verb) {
    case API_GET:
        return parse_version(r, x->query, a);
    case API_LIST:
        return parse_list(r, x->query, a);
    case API_DELETE:
        return parse_delete(r, x->query, a);
    case API_DELETE_COLLECTION:
        s = parse_list(r, x->query, a);
        return s ? s : parse_delete(r, x->query, a);
    default:
        return parse_write(r, x, a);
    }
}
