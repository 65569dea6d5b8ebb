/* See route.h. */
#include "apiserver/route.h"

#include "kube/schema.h"
#include "json/yaml.h"

enum { MAX_SEGMENTS = 9 };

/* ---- path ---- */

static bool split_path(str path, struct arena *a, str segments[MAX_SEGMENTS], size_t *ret_n)
{
    *ret_n = 0;
    str rest = str_sub(path, 1, path.len);
    while (rest.p && rest.len > 0) {
        str part = str_cut(&rest, '/');
        if (*ret_n == MAX_SEGMENTS || !http_unescape(part, false, a, &segments[*ret_n]))
            return false;
        (*ret_n)++;
    }
    return true;
}

/* After the group version: [watch/] [namespaces/NS/] plural [/name [/subresource]]. */
static bool parse_resource(str group, str version, const str *s, size_t n, struct route *r)
{
    struct api_request *q = &r->request;
    size_t i = 0;
    if (i < n && str_is(s[i], "watch")) {
        r->is_watch = true;
        i++;
    }
    /* namespaces/NS/plural; but namespaces/NS and namespaces/NS/status are the namespace itself. */
    if (n - i >= 3 && str_is(s[i], "namespaces") && !str_is(s[i + 2], "status") &&
        !str_is(s[i + 2], "finalize")) {
        q->ns = s[i + 1];
        i += 2;
    }
    if (i >= n || n - i > 3)
        return false;
    r->kind = kind_by_plural(group, version, s[i]);
    q->kind = r->kind;
    q->name = n - i > 1 ? s[i + 1] : STR_NONE;
    q->subresource = n - i > 2 ? s[i + 2] : STR_NONE;
    return r->kind && (kind_is(r->kind, KIND_NAMESPACED) || str_is_empty(q->ns));
}

/* ---- verb ---- */

static const struct {
    const char *method;
    bool named;
    enum api_verb verb;
    unsigned bit;
} methods[] = {
    {"GET", true, API_GET, VERB_GET},
    {"GET", false, API_LIST, VERB_LIST},
    {"POST", false, API_CREATE, VERB_CREATE},
    {"POST", true, API_CREATE, 0}, /* subresources only */
    {"PUT", true, API_UPDATE, VERB_UPDATE},
    {"PATCH", true, API_PATCH, VERB_PATCH},
    {"DELETE", true, API_DELETE, VERB_DELETE},
    {"DELETE", false, API_DELETE_COLLECTION, VERB_DELETE_COLLECTION},
};

static bool subresource_takes(const struct kind *k, str name, unsigned bit)
{
    unsigned usual = VERB_GET | VERB_UPDATE | VERB_PATCH;
    if (str_is(name, "status") && kind_is(k, KIND_STATUS))
        return bit & usual;
    if (str_is(name, "scale") && kind_is(k, KIND_SCALE))
        return bit & usual;
    for (size_t i = 0; i < k->n_subresources; i++) {
        if (str_is(name, k->subresources[i].name))
            return k->subresources[i].verbs & (bit ? bit : VERB_CREATE);
    }
    return false;
}

static bool has_subresource(const struct kind *k, str name)
{
    static const unsigned bits[] = {VERB_GET, VERB_UPDATE, VERB_CREATE, VERB_PATCH};
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        if (subresource_takes(k, name, bits[i]))
            return true;
    }
    return false;
}

static struct status *parse_verb(str method, struct route *r, struct arena *a)
{
    struct api_request *q = &r->request;
    bool named = !str_is_empty(q->name), sub = !str_is_empty(q->subresource);
    if (sub && !has_subresource(r->kind, q->subresource))
        return status_new(a, 404, "NotFound", "the server could not find the requested resource");
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_is(method, methods[i].method) || methods[i].named != named)
            continue;
        unsigned bit = methods[i].bit;
        if (sub ? !subresource_takes(r->kind, q->subresource, bit) : !(r->kind->verbs & bit))
            break;
        q->verb = methods[i].verb;
        return NULL;
    }
    return status_method_not_allowed(a);
}

/* ---- query ---- */

static bool query_bool(struct arena *a, str query, str name)
{
    str v;
    return http_query_get(a, query, name, &v) &&
           (str_is(v, "true") || str_is(v, "1") || str_is(v, "True"));
}

static str query_str(struct arena *a, str query, str name)
{
    str v;
    return http_query_get(a, query, name, &v) ? v : STR_NONE;
}

static struct status *parse_version(struct route *r, str query, struct arena *a)
{
    struct api_request *q = &r->request;
    str rv = query_str(a, query, STR("resourceVersion"));
    str match = query_str(a, query, STR("resourceVersionMatch"));
    q->rv_given = !str_is_empty(rv);
    if (q->rv_given && !str_to_uint(rv, &q->rv))
        return status_bad_request(a, "invalid resource version \"%.*s\": must be a number",
                                  STR_ARG(rv));
    if (str_is(match, "Exact"))
        q->rv_match = API_RV_EXACT;
    else if (str_is(match, "NotOlderThan"))
        q->rv_match = API_RV_NOT_OLDER_THAN;
    else if (!str_is_empty(match))
        return status_new(a, 422, "Invalid",
                          "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
                          "Unsupported value: \"%.*s\": supported values: \"Exact\", "
                          "\"NotOlderThan\", \"\"",
                          STR_ARG(match));
    return NULL;
}

static const struct {
    const char *name;
    enum api_propagation value;
} propagations[] = {
    {"Background", API_BACKGROUND},
    {"Foreground", API_FOREGROUND},
    {"Orphan", API_ORPHAN},
};

static bool parse_propagation(str s, enum api_propagation *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(propagations); i++) {
        if (str_is(s, propagations[i].name)) {
            *ret = propagations[i].value;
            return true;
        }
    }
    return false;
}

static struct status *parse_write_options(struct route *r, const struct http_exchange *x,
                                          struct arena *a)
{
    struct api_request *q = &r->request;
    str validation = query_str(a, x->query, STR("fieldValidation"));
    str dry = query_str(a, x->query, STR("dryRun"));
    str grace = query_str(a, x->query, STR("gracePeriodSeconds"));
    str agent = http_header_get(x, STR("user-agent"));
    q->field_manager = query_str(a, x->query, STR("fieldManager"));
    if (str_is_empty(q->field_manager) && q->patch != API_PATCH_APPLY)
        q->field_manager = str_is_empty(agent) ? STR("unknown") : str_cut(&agent, '/');
    q->force = query_bool(a, x->query, STR("force"));
    q->dry_run = str_is(dry, "All");
    if (!str_is_empty(dry) && !q->dry_run)
        return status_new(a, 422, "Invalid",
                          "dryRun: Unsupported value: \"%.*s\": supported values: \"All\"",
                          STR_ARG(dry));
    q->field_validation = str_is(validation, "Strict")   ? API_VALIDATE_STRICT
                          : str_is(validation, "Ignore") ? API_VALIDATE_IGNORE
                                                         : API_VALIDATE_WARN;
    if (!str_is_empty(grace) && !str_to_int(grace, &q->grace_seconds))
        return status_bad_request(a, "gracePeriodSeconds must be a number");
    (void)parse_propagation(query_str(a, x->query, STR("propagationPolicy")), &q->propagation);
    return NULL;
}

static void parse_watch(struct route *r, str query, struct arena *a)
{
    uint64_t seconds = 0;
    const struct api_request *q = &r->request;
    r->watch = (struct api_watch){
        .kind = r->kind,
        .ns = q->ns,
        .label_selector = q->label_selector,
        .field_selector = q->field_selector,
        .rv = q->rv,
        .rv_given = q->rv_given,
        .send_initial = query_bool(a, query, STR("sendInitialEvents")),
        .bookmarks = query_bool(a, query, STR("allowWatchBookmarks")),
    };
    if (str_to_uint(query_str(a, query, STR("timeoutSeconds")), &seconds))
        r->watch.timeout = (usec)MIN(seconds, (uint64_t)86400) * USEC_PER_SEC;
}

static struct status *parse_query(struct route *r, const struct http_exchange *x, struct arena *a)
{
    struct api_request *q = &r->request;
    str limit = query_str(a, x->query, STR("limit"));
    str include = query_str(a, x->query, STR("includeObject"));
    q->grace_seconds = -1;
    q->propagation = API_PROPAGATION_DEFAULT;
    q->label_selector = query_str(a, x->query, STR("labelSelector"));
    q->field_selector = query_str(a, x->query, STR("fieldSelector"));
    q->continue_token = query_str(a, x->query, STR("continue"));
    if (!str_is_empty(limit) && !str_to_int(limit, &q->limit))
        return status_bad_request(a, "limit must be a number, not \"%.*s\"", STR_ARG(limit));
    r->include = str_is(include, "None")     ? TABLE_INCLUDE_NONE
                 : str_is(include, "Object") ? TABLE_INCLUDE_OBJECT
                                             : TABLE_INCLUDE_METADATA;
    struct status *s = parse_version(r, x->query, a);
    if (s)
        return s;
    if (q->verb == API_LIST && (r->is_watch || query_bool(a, x->query, STR("watch")))) {
        r->is_watch = true;
        parse_watch(r, x->query, a);
        if (r->watch.send_initial && q->rv_match != API_RV_NOT_OLDER_THAN)
            return status_new(a, 422, "Invalid",
                              "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
                              "Forbidden: sendInitialEvents requires setting resourceVersionMatch "
                              "to NotOlderThan");
    }
    return parse_write_options(r, x, a);
}

/* ---- content types ---- */

/* The media type itself, without parameters. */
static str media_type(str s)
{
    return str_trim(str_cut(&s, ';'));
}

static bool has_parameter(str s, str want)
{
    (void)str_cut(&s, ';');
    while (s.p) {
        if (str_eq(str_trim(str_cut(&s, ';')), want))
            return true;
    }
    return false;
}

/* The first alternative we can answer; none: 406. */
static struct status *parse_accept(struct route *r, str accept, struct arena *a)
{
    if (str_is_empty(str_trim(accept)))
        return NULL;
    while (accept.p) {
        str one = str_cut(&accept, ',');
        str type = media_type(one);
        bool json = str_is(type, "application/json");
        if (json && (has_parameter(one, STR("as=Table")))) {
            if (!has_parameter(one, STR("v=v1")))
                continue;
            r->format = FORMAT_TABLE;
            return NULL;
        }
        if (json && (has_parameter(one, STR("as=PartialObjectMetadata")) ||
                     has_parameter(one, STR("as=PartialObjectMetadataList")))) {
            r->format = FORMAT_PARTIAL;
            return NULL;
        }
        if (json || str_is(type, "*/*") || str_is(type, "application/*"))
            return NULL;
        if (str_is(type, "application/yaml")) {
            r->yaml = true;
            return NULL;
        }
    }
    return status_new(a, 406, "NotAcceptable",
                      "only the following media types are accepted: application/json, "
                      "application/yaml");
}

static const struct {
    const char *type;
    enum api_patch_type patch;
} patch_types[] = {
    {"application/json-patch+json", API_PATCH_JSON},
    {"application/merge-patch+json", API_PATCH_MERGE},
    {"application/strategic-merge-patch+json", API_PATCH_STRATEGIC},
    {"application/apply-patch+yaml", API_PATCH_APPLY},
};

static struct status *parse_patch_type(struct route *r, str content_type, struct arena *a)
{
    str type = media_type(content_type);
    for (size_t i = 0; i < ARRAY_LEN(patch_types); i++) {
        if (!str_is(type, patch_types[i].type))
            continue;
        if (patch_types[i].patch == API_PATCH_STRATEGIC && kind_is(r->kind, KIND_CUSTOM))
            break;
        r->request.patch = patch_types[i].patch;
        return NULL;
    }
    return status_unsupported_media_type(
        a, kind_is(r->kind, KIND_CUSTOM)
               ? "application/json-patch+json, application/merge-patch+json, "
                 "application/apply-patch+yaml"
               : "application/json-patch+json, application/merge-patch+json, "
                 "application/strategic-merge-patch+json, application/apply-patch+yaml");
}

/* ---- all together ---- */

static enum route_result fail(struct status **ret, struct status *s)
{
    *ret = s;
    return ROUTE_FAILED;
}

enum route_result route_parse(const struct http_exchange *x, struct arena *a, struct route *r,
                              struct status **ret_status)
{
    str s[MAX_SEGMENTS];
    size_t n;
    *r = (struct route){0};
    if (!split_path(x->path, a, s, &n) || n < 3)
        return ROUTE_NOT_API;
    bool core = str_is(s[0], "api") && str_is(s[1], "v1");
    if (!core && !(str_is(s[0], "apis") && n >= 4))
        return ROUTE_NOT_API;
    str group = core ? STR("") : s[1], version = core ? s[1] : s[2];
    size_t skip = core ? 2 : 3;
    if (!parse_resource(group, version, s + skip, n - skip, r)) {
        struct doc *known = discovery_legacy_resources(group, version);
        doc_unref(known);
        if (!known)
            return ROUTE_NOT_API;
        return fail(ret_status, status_new(a, 404, "NotFound",
                                           "the server could not find the requested resource"));
    }
    struct status *why = parse_verb(x->method, r, a);
    if (!why && r->request.verb == API_PATCH)
        why = parse_patch_type(r, http_header_get(x, STR("content-type")), a);
    if (!why)
        why = parse_query(r, x, a);
    if (!why)
        why = parse_accept(r, http_header_get(x, STR("accept")), a);
    return why ? fail(ret_status, why) : ROUTE_RESOURCE;
}

struct doc *route_body(const struct http_exchange *x, const struct route *r, struct arena *a,
                       struct status **ret_status)
{
    struct err err = ERR_INIT;
    struct doc *d = NULL;
    str type = media_type(http_header_get(x, STR("content-type")));
    struct json_limits limits = {.allow_duplicate_keys = true};
    bool patch = r->request.verb == API_PATCH;
    if (protobuf_is(x->body) || str_is(type, "application/vnd.kubernetes.protobuf"))
        d = protobuf_decode(x->body, &err);
    else if (str_is(type, "application/yaml") || str_is(type, "application/apply-patch+yaml"))
        d = yaml_parse_one(x->body, &err);
    else if (str_is_empty(type) || str_is(type, "application/json") || patch)
        d = doc_parse(x->body, &limits, &err);
    else {
        *ret_status = status_unsupported_media_type(
            a, "application/json, application/yaml, application/vnd.kubernetes.protobuf");
        return NULL;
    }
    if (!d)
        *ret_status = status_bad_request(
            a, patch ? "error decoding patch: %s" : "the object provided is unrecognized: %s",
            err.message);
    return d;
}

struct status *route_delete_options(struct route *r, jval o, struct arena *a)
{
    struct api_request *q = &r->request;
    jval pre = jgetc(o, "preconditions"), dry = jgetc(o, "dryRun");
    str policy = jstr(jgetc(o, "propagationPolicy")), rv = jstr(jgetc(pre, "resourceVersion"));
    if (j_has(jgetc(o, "gracePeriodSeconds")))
        q->grace_seconds = jint(jgetc(o, "gracePeriodSeconds"), -1);
    if (!str_is_empty(policy) && !parse_propagation(policy, &q->propagation))
        return status_new(a, 422, "Invalid",
                          "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: "
                          "Unsupported value: \"%.*s\": supported values: \"Background\", "
                          "\"Foreground\", \"Orphan\"",
                          STR_ARG(policy));
    if (j_is_true(jgetc(o, "orphanDependents")))
        q->propagation = API_ORPHAN;
    q->uid = jstr(jgetc(pre, "uid"));
    q->rv = 0;
    if (!str_is_empty(rv) && !str_to_uint(rv, &q->rv))
        return status_bad_request(a, "preconditions.resourceVersion must be a number");
    if (jlen(dry) > 0)
        q->dry_run = true;
    return NULL;
}
