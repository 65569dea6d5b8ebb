/* Path and method; see route.h. */
#include "apiserver/front/route.h"

#include "apiserver/access/review.h"

/* Of a resource of ours, and of one with somebody else's path behind it. */
enum { RESOURCE_SEGMENTS = 9, MAX_SEGMENTS = 64 };

/* ---- path ---- */

/* No name of anything holds a control character. */
static bool is_plain(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return true;
}

static bool split_path(str path, struct arena *a, str segments[MAX_SEGMENTS], size_t *ret_n)
{
    *ret_n = 0;
    str rest = str_sub(path, 1, path.len);
    while (rest.p && rest.len > 0) {
        str part = str_cut(&rest, '/');
        str *s = &segments[*ret_n];
        if (*ret_n == MAX_SEGMENTS || !http_unescape(part, false, a, s) || !is_plain(*s))
            return false;
        (*ret_n)++;
    }
    return true;
}

struct status *route_no_such_resource(struct arena *a)
{
    struct status *s =
        status_new(a, 404, "NotFound", "the server could not find the requested resource");
    s->empty_details = true;
    return s;
}

/* After the group version: [watch/] [namespaces/NS/] plural [/name [/subresource]]. */
static bool parse_resource(str group, str version, const str *s, size_t n, struct route *r)
{
    struct api_request *q = r->request;
    size_t i = 0;
    for (size_t j = 0; j < n; j++)
        if (str_is_empty(s[j]))
            return false;
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
    /* What comes after "proxy" is somebody else's path. */
    if (n - i > 3 && str_is(s[i + 2], "proxy"))
        n = i + 3;
    if (i >= n || n - i > 3)
        return false;
    q->name = n - i > 1 ? s[i + 1] : STR_NONE;
    q->subresource = n - i > 2 ? s[i + 2] : STR_NONE;
    r->review = review_find(group, version, s[i]);
    if (r->review)
        return n - i == 1 && r->review->namespaced == !str_is_empty(q->ns);
    const struct kind *k = kind_by_plural(group, version, s[i]);
    bool namespaced = k && kind_is(k, KIND_NAMESPACED);
    if (!k || (!namespaced && !str_is_empty(q->ns)) ||
        (namespaced && str_is_empty(q->ns) && !str_is_empty(q->name)))
        return false;
    r->kind = q->kind = k;
    return true;
}

/* ---- verb ---- */

static const struct {
    const char *method;
    bool named;
    enum api_verb verb;
    unsigned bit;
    const char *word;
} methods[] = {
    {"GET", true, API_GET, VERB_GET, "get"},
    {"GET", false, API_LIST, VERB_LIST, "list"},
    {"POST", false, API_CREATE, VERB_CREATE, "create"},
    {"POST", true, API_CREATE, 0, "create"}, /* subresources only */
    {"PUT", true, API_UPDATE, VERB_UPDATE, "update"},
    {"PATCH", true, API_PATCH, VERB_PATCH, "patch"},
    {"DELETE", true, API_DELETE, VERB_DELETE, "delete"},
    {"DELETE", false, API_DELETE_COLLECTION, VERB_DELETE_COLLECTION, "deletecollection"},
};

/* What a subresource takes; 0: there is no such one. */
static unsigned subresource_verbs(const struct kind *k, str name)
{
    if ((str_is(name, "status") && kind_is(k, KIND_STATUS)) ||
        (str_is(name, "scale") && kind_is(k, KIND_SCALE)))
        return VERB_GET | VERB_UPDATE | VERB_PATCH;
    for (size_t i = 0; i < k->n_subresources; i++)
        if (str_is(name, k->subresources[i].name))
            return k->subresources[i].verbs;
    return 0;
}

/* Objects of a namespace are made and removed in it; across namespaces one may only look. */
static bool needs_namespace(const struct route *r, unsigned bit)
{
    return kind_is(r->kind, KIND_NAMESPACED) && str_is_empty(r->request->ns) && bit != VERB_LIST;
}

static struct status *parse_verb(str method, struct route *r, struct arena *a)
{
    struct api_request *q = r->request;
    bool named = !str_is_empty(q->name), sub = !str_is_empty(q->subresource);
    unsigned takes = sub ? subresource_verbs(r->kind, q->subresource) : r->kind->verbs;
    if (sub && !takes)
        return route_no_such_resource(a);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!str_is(method, methods[i].method) || methods[i].named != named)
            continue;
        unsigned bit = sub && !methods[i].bit ? VERB_CREATE : methods[i].bit;
        if (!(takes & bit) || needs_namespace(r, bit))
            break;
        q->verb = methods[i].verb;
        r->verb = methods[i].word;
        return NULL;
    }
    return status_method_not_allowed(a);
}

/* The old way to say watch=true; one object is the watch that selects its name. */
static struct status *parse_watch_prefix(struct route *r, struct arena *a)
{
    struct api_request *q = r->request;
    if (!str_is_empty(q->subresource))
        return route_no_such_resource(a);
    if (q->verb != API_GET && q->verb != API_LIST)
        return status_method_not_allowed(a);
    if (q->verb == API_GET) {
        q->field_selector = arena_printf(a, "metadata.name=%.*s", STR_ARG(q->name));
        q->name = STR_NONE;
        q->verb = API_LIST;
    }
    return NULL;
}

/* ---- all together ---- */

static enum route_result fail(struct status **ret, struct status *s)
{
    *ret = s;
    return ROUTE_FAILED;
}

static bool is_served(str group, str version)
{
    for (size_t i = 0; i < kinds_count(); i++)
        if (str_is(group, kinds_at(i)->group) && str_is(version, kinds_at(i)->version) &&
            !kind_is(kinds_at(i), KIND_RETIRED))
            return true;
    return review_is_group(group, version);
}

static enum route_result parse_review(const struct http_exchange *x, struct route *r,
                                      struct arena *a, struct status **ret_status)
{
    if (!str_is(x->method, "POST"))
        return fail(ret_status, status_method_not_allowed(a));
    r->verb = "create";
    r->request->verb = API_CREATE;
    struct status *why = options_parse(r, x, a);
    if (!why)
        why = media_accept(r, http_header_get(x, STR("accept")), a);
    return why ? fail(ret_status, why) : ROUTE_REVIEW;
}

/* Options and formats are for whoever answers it. */
static bool is_passed_on(str subresource)
{
    static const char *const names[] = {"attach", "exec", "portforward", "proxy"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(subresource, names[i]))
            return true;
    return false;
}

static bool has_proxy(const str *s)
{
    for (size_t i = 0; i < RESOURCE_SEGMENTS; i++)
        if (str_is(s[i], "proxy"))
            return true;
    return false;
}

enum route_result route_parse(const struct http_exchange *x, struct arena *a, struct route *r,
                              struct status **ret_status)
{
    str s[MAX_SEGMENTS];
    size_t n;
    *r = (struct route){.request = arena_new(a, struct api_request)};
    if (!split_path(x->path, a, s, &n) || n < 3 || (n > RESOURCE_SEGMENTS && !has_proxy(s)))
        return ROUTE_NOT_API;
    bool core = str_is(s[0], "api") && str_is(s[1], "v1");
    if (!core && !(str_is(s[0], "apis") && n >= 4))
        return ROUTE_NOT_API;
    str group = core ? STR("") : s[1], version = core ? s[1] : s[2];
    size_t skip = core ? 2 : 3;
    if (!parse_resource(group, version, s + skip, n - skip, r))
        return is_served(group, version) ? fail(ret_status, route_no_such_resource(a))
                                         : ROUTE_NOT_API;
    if (r->review)
        return parse_review(x, r, a, ret_status);
    struct status *why = parse_verb(x->method, r, a);
    if (!why && !r->is_watch && is_passed_on(r->request->subresource))
        return ROUTE_RESOURCE;
    if (!why && r->is_watch)
        why = parse_watch_prefix(r, a);
    if (!why && r->request->verb == API_PATCH)
        why = media_patch_type(r, http_header_get(x, STR("content-type")), a);
    if (!why)
        why = options_parse(r, x, a);
    if (!why)
        why = media_accept(r, http_header_get(x, STR("accept")), a);
    return why ? fail(ret_status, why) : ROUTE_RESOURCE;
}
