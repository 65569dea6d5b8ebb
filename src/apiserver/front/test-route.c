/* The parser of requests on its own: paths, methods, options, content types. */
#include "apiserver/access/review.h"
#include "apiserver/front/route.h"
#include "base/test.h"
#include "grove/types.h"

struct parsed {
    struct arena arena;
    struct http_exchange x;
    struct http_header headers[3];
    struct http_peer peer;
    struct route r;
    struct status *why;
    enum route_result result;
};

/* target: path and query. */
static enum route_result parse(struct parsed *p, const char *method, const char *target,
                               const char *accept, const char *content_type)
{
    grove_kinds_init();
    *p = (struct parsed){0};
    arena_init(&p->arena);
    str query = str_of(target);
    p->x.method = str_of(method);
    p->x.path = str_cut(&query, '?');
    p->x.query = query;
    p->x.headers = p->headers;
    p->x.peer = &p->peer;
    p->headers[p->x.n_headers++] = (struct http_header){STR("user-agent"), STR("tester/1.0 x")};
    if (accept)
        p->headers[p->x.n_headers++] = (struct http_header){STR("accept"), str_of(accept)};
    if (content_type)
        p->headers[p->x.n_headers++] =
            (struct http_header){STR("content-type"), str_of(content_type)};
    p->result = route_parse(&p->x, &p->arena, &p->r, &p->why);
    return p->result;
}

static void parsed_done(struct parsed *p)
{
    arena_done(&p->arena);
}

/* ---- paths and methods ---- */

static const struct {
    const char *method, *path;
    const char *kind, *ns, *name, *subresource;
    const char *verb;
} good[] = {
    {"GET", "/api/v1/pods", "Pod", "", "", "", "list"},
    {"GET", "/api/v1/namespaces/a/pods", "Pod", "a", "", "", "list"},
    {"GET", "/api/v1/namespaces/a/pods/p", "Pod", "a", "p", "", "get"},
    {"GET", "/api/v1/namespaces/a/pods/p/status", "Pod", "a", "p", "status", "get"},
    {"GET", "/api/v1/namespaces/a/pods/p/log", "Pod", "a", "p", "log", "get"},
    {"POST", "/api/v1/namespaces/a/pods", "Pod", "a", "", "", "create"},
    {"POST", "/api/v1/namespaces/a/pods/p/binding", "Pod", "a", "p", "binding", "create"},
    {"POST", "/api/v1/namespaces/a/pods/p/eviction", "Pod", "a", "p", "eviction", "create"},
    {"POST", "/api/v1/namespaces/a/serviceaccounts/s/token", "ServiceAccount", "a", "s", "token",
     "create"},
    {"PUT", "/api/v1/namespaces/a/pods/p", "Pod", "a", "p", "", "update"},
    {"DELETE", "/api/v1/namespaces/a/pods/p", "Pod", "a", "p", "", "delete"},
    {"DELETE", "/api/v1/namespaces/a/pods", "Pod", "a", "", "", "deletecollection"},
    {"GET", "/api/v1/namespaces", "Namespace", "", "", "", "list"},
    {"GET", "/api/v1/namespaces/a", "Namespace", "", "a", "", "get"},
    {"POST", "/api/v1/namespaces", "Namespace", "", "", "", "create"},
    {"GET", "/api/v1/namespaces/a/status", "Namespace", "", "a", "status", "get"},
    {"PUT", "/api/v1/namespaces/a/finalize", "Namespace", "", "a", "finalize", "update"},
    {"DELETE", "/api/v1/nodes/n", "Node", "", "n", "", "delete"},
    {"GET", "/apis/apps/v1/deployments", "Deployment", "", "", "", "list"},
    {"GET", "/apis/apps/v1/namespaces/a/deployments/d/scale", "Deployment", "a", "d", "scale",
     "get"},
    {"GET", "/apis/grove.io/v1alpha1/namespaces/a/podcliquesets/x", "PodCliqueSet", "a", "x", "",
     "get"},
    {"GET", "/api/v1/watch/namespaces/a/pods", "Pod", "a", "", "", "watch"},
    {"GET", "/api/v1/watch/pods", "Pod", "", "", "", "watch"},
    {"GET", "/api/v1/watch/namespaces/a/pods/p", "Pod", "a", "", "", "watch"},
    {"GET", "/api/v1/namespaces/a/pods?watch=1", "Pod", "a", "", "", "watch"},
    {"GET", "/api/v1/namespaces/a/pods?watch=True", "Pod", "a", "", "", "watch"},
    {"GET", "/api/v1/namespaces/a/pods?watch", "Pod", "a", "", "", "watch"},
    {"GET", "/api/v1/namespaces/a/pods?watch=false", "Pod", "a", "", "", "list"},
    {"GET", "/api/v1/namespaces/a/pods?watch=0", "Pod", "a", "", "", "list"},
    /* a named object is not watched */
    {"GET", "/api/v1/namespaces/a/pods/p?watch=true", "Pod", "a", "p", "", "get"},
    {"GET", "/api/v1/namespaces/a%2db/pods/p%2Fq", "Pod", "a-b", "p/q", "", "get"},
};

TEST(route_paths_name_kinds_and_verbs)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct parsed p;
        if (!CHECK_INT(parse(&p, good[i].method, good[i].path, NULL, NULL), ROUTE_RESOURCE) ||
            !CHECK(p.r.kind)) {
            test_note("%s %s", good[i].method, good[i].path);
        } else {
            const struct api_request *q = p.r.request;
            bool ok = CHECK_CSTR(str_of(p.r.kind->kind), good[i].kind);
            ok = CHECK_CSTR(q->ns, good[i].ns) && ok;
            ok = CHECK_CSTR(q->name, good[i].name) && ok;
            ok = CHECK_CSTR(q->subresource, good[i].subresource) && ok;
            ok = CHECK_CSTR(str_of(p.r.verb), good[i].verb) && ok;
            ok = CHECK(p.r.is_watch == str_is(str_of(good[i].verb), "watch")) && ok;
            if (!ok)
                test_note("%s %s", good[i].method, good[i].path);
        }
        parsed_done(&p);
    }
}

static const struct {
    const char *method, *path;
    int code; /* 0: no path of the API */
} bad[] = {
    {"GET", "/nope", 0},
    {"GET", "/", 0},
    {"GET", "", 0},
    {"GET", "/api/v2/pods", 0},
    {"GET", "/apis/nope", 0},
    {"GET", "/apis/nope/v1/things", 0},
    {"GET", "/apis/apps/v7/deployments", 0},
    {"GET", "/api/v1/pods/a/b/c/d/e/f/g/h/i/j", 0},
    {"GET", "/api/v1/pods/%zz", 0},
    {"GET", "/api/v1/namespaces/a/pods/%00", 0},
    {"GET", "/api/v1/namespaces/a/foobars", 404},
    {"GET", "/api/v1/foobars", 404},
    {"GET", "/api/v1/namespaces/a/nodes", 404}, /* not in a namespace */
    {"GET", "/api/v1/pods/p", 404},             /* not without one */
    {"GET", "/api/v1/namespaces//pods", 404},
    {"GET", "/api/v1/namespaces/a/pods/p/nothing", 404},
    {"GET", "/api/v1/namespaces/a/configmaps/c/status", 404},
    {"GET", "/api/v1/namespaces/a/pods/p/log/x", 404},
    {"GET", "/apis/authorization.k8s.io/v1/foobars", 404},
    {"GET", "/api/v1/watch/namespaces/a/pods/p/status", 404},
    {"POST", "/api/v1/namespaces/a/pods/x", 405},
    {"PUT", "/api/v1/namespaces/a/pods", 405},
    {"PATCH", "/api/v1/namespaces/a/pods", 405},
    {"OPTIONS", "/api/v1/namespaces/a/configmaps", 405},
    {"HEAD", "/api/v1/namespaces/a/configmaps", 405},
    {"TRACE", "/api/v1/namespaces/a/configmaps/x", 405},
    {"get", "/api/v1/namespaces/a/configmaps", 405},
    {"POST", "/api/v1/pods", 405}, /* which namespace? */
    {"DELETE", "/api/v1/pods", 405},
    {"DELETE", "/api/v1/namespaces/a/pods/p/status", 405},
    {"GET", "/api/v1/namespaces/a/pods/p/binding", 405},
    {"POST", "/api/v1/watch/namespaces/a/pods", 405},
    {"GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405},
};

TEST(route_what_is_not_served)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct parsed p;
        parse(&p, bad[i].method, bad[i].path, NULL, NULL);
        bool ok = bad[i].code == 0 ? CHECK_INT(p.result, ROUTE_NOT_API)
                                   : CHECK_INT(p.result, ROUTE_FAILED) && CHECK(p.why) &&
                                         CHECK_INT(p.why->code, bad[i].code);
        if (!ok)
            test_note("%s %s", bad[i].method, bad[i].path);
        parsed_done(&p);
    }
}

TEST(route_reviews_are_posts_of_their_own)
{
    struct parsed p;
    CHECK_INT(
        parse(&p, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, NULL),
        ROUTE_REVIEW);
    CHECK(p.r.review && str_is(str_of(p.r.review->kind), "SelfSubjectAccessReview"));
    parsed_done(&p);
    CHECK_INT(parse(&p, "POST",
                    "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews", NULL,
                    NULL),
              ROUTE_REVIEW);
    CHECK_CSTR(p.r.request->ns, "a");
    parsed_done(&p);
    CHECK_INT(
        parse(&p, "POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", NULL, NULL),
        ROUTE_FAILED);
    parsed_done(&p);
    CHECK_INT(parse(&p, "POST", "/apis/authentication.k8s.io/v1/tokenreviews/x", NULL, NULL),
              ROUTE_FAILED);
    parsed_done(&p);
}

TEST(route_the_old_watch_path_of_one_object_selects_its_name)
{
    struct parsed p;
    REQUIRE(parse(&p, "GET", "/api/v1/watch/namespaces/a/pods/p?fieldSelector=spec.nodeName%3Dn",
                  NULL, NULL) == ROUTE_RESOURCE);
    CHECK_CSTR(p.r.watch.field_selector, "metadata.name=p,spec.nodeName=n");
    CHECK_CSTR(p.r.watch.ns, "a");
    CHECK(p.r.watch.kind == &kind_pod);
    parsed_done(&p);
}

/* ---- options ---- */

TEST(route_list_options_are_passed_on)
{
    struct parsed p;
    REQUIRE(parse(&p, "GET",
                  "/api/v1/pods?limit=5&continue=abc&labelSelector=a%3Db%2Cc&fieldSelector="
                  "status.phase%21%3DFailed&resourceVersion=7&pretty=true&timeout=5s&nonsense",
                  NULL, NULL) == ROUTE_RESOURCE);
    CHECK_INT(p.r.request->limit, 5);
    CHECK_CSTR(p.r.request->continue_token, "abc");
    CHECK_CSTR(p.r.request->label_selector, "a=b,c");
    CHECK_CSTR(p.r.request->field_selector, "status.phase!=Failed");
    CHECK_INT(p.r.request->rv, 7);
    CHECK(p.r.request->rv_given);
    parsed_done(&p);
    REQUIRE(parse(&p, "GET", "/api/v1/pods?resourceVersion=9&resourceVersionMatch=Exact", NULL,
                  NULL) == ROUTE_RESOURCE);
    CHECK_INT(p.r.request->rv_match, API_RV_EXACT);
    parsed_done(&p);
}

TEST(route_watch_options_are_passed_on)
{
    struct parsed p;
    REQUIRE(parse(&p, "GET",
                  "/api/v1/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"
                  "&resourceVersionMatch=NotOlderThan&timeoutSeconds=30&resourceVersion=4",
                  NULL, NULL) == ROUTE_RESOURCE);
    CHECK(p.r.watch.send_initial && p.r.watch.bookmarks && p.r.watch.rv_given);
    CHECK_INT(p.r.watch.rv, 4);
    CHECK_INT(p.r.watch.timeout, 30 * USEC_PER_SEC);
    parsed_done(&p);
}

TEST(route_write_options_are_passed_on)
{
    struct parsed p;
    REQUIRE(parse(&p, "POST",
                  "/api/v1/namespaces/a/pods?fieldManager=me&dryRun=All&fieldValidation=Strict",
                  NULL, NULL) == ROUTE_RESOURCE);
    CHECK_CSTR(p.r.request->field_manager, "me");
    CHECK(p.r.request->dry_run);
    CHECK_INT(p.r.request->field_validation, API_VALIDATE_STRICT);
    parsed_done(&p);
    REQUIRE(parse(&p, "POST", "/api/v1/namespaces/a/pods", NULL, NULL) == ROUTE_RESOURCE);
    CHECK_CSTR(p.r.request->field_manager, "tester"); /* User-Agent up to the slash */
    CHECK_INT(p.r.request->field_validation, API_VALIDATE_WARN);
    parsed_done(&p);
    REQUIRE(parse(&p, "PATCH", "/api/v1/namespaces/a/pods/p?force=true", NULL,
                  "application/apply-patch+yaml") == ROUTE_RESOURCE);
    CHECK_CSTR(p.r.request->field_manager, ""); /* apply must be told */
    CHECK_INT(p.r.request->patch, API_PATCH_APPLY);
    CHECK(p.r.request->force);
    parsed_done(&p);
}

TEST(route_delete_options_in_the_query)
{
    struct parsed p;
    REQUIRE(parse(&p, "DELETE",
                  "/api/v1/namespaces/a/pods/p?gracePeriodSeconds=0&propagationPolicy=Foreground"
                  "&dryRun=All",
                  NULL, NULL) == ROUTE_RESOURCE);
    CHECK_INT(p.r.request->grace_seconds, 0);
    CHECK_INT(p.r.request->propagation, API_FOREGROUND);
    CHECK(p.r.request->dry_run);
    parsed_done(&p);
    REQUIRE(parse(&p, "DELETE", "/api/v1/namespaces/a/pods/p", NULL, NULL) == ROUTE_RESOURCE);
    CHECK_INT(p.r.request->grace_seconds, -1);
    CHECK_INT(p.r.request->propagation, API_PROPAGATION_DEFAULT);
    parsed_done(&p);
    REQUIRE(parse(&p, "DELETE", "/api/v1/namespaces/a/pods/p?orphanDependents=true", NULL, NULL) ==
            ROUTE_RESOURCE);
    CHECK_INT(p.r.request->propagation, API_ORPHAN);
    parsed_done(&p);
}

static struct status *delete_options(struct parsed *p, const char *json)
{
    struct doc *d = doc_hold(&p->arena, doc_parse(str_of(json), NULL, NULL));
    REQUIRE(d);
    return route_delete_options(&p->r, doc_root(d), &p->arena);
}

TEST(route_delete_options_in_the_body_replace_those_in_the_query)
{
    struct parsed p;
    REQUIRE(parse(&p, "DELETE", "/api/v1/namespaces/a/pods/p?gracePeriodSeconds=9", NULL, NULL) ==
            ROUTE_RESOURCE);
    CHECK(!delete_options(&p, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagation"
                              "Policy\":\"Background\",\"preconditions\":{\"uid\":\"u\","
                              "\"resourceVersion\":\"12\"},\"dryRun\":[\"All\"]}"));
    CHECK_INT(p.r.request->grace_seconds, -1);
    CHECK_INT(p.r.request->propagation, API_BACKGROUND);
    CHECK_CSTR(p.r.request->uid, "u");
    CHECK_INT(p.r.request->rv, 12);
    CHECK(p.r.request->dry_run);
    struct status *s = delete_options(&p, "{\"propagationPolicy\":\"Sideways\"}");
    REQUIRE(s);
    CHECK_INT(s->code, 422);
    CHECK(
        str_starts(s->message, STR("DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: "
                                   "Unsupported value: \"Sideways\": supported values:")));
    s = delete_options(&p, "{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}");
    CHECK(s && s->code == 400);
    s = delete_options(&p, "[]");
    CHECK(s && s->code == 400);
    s = delete_options(&p, "{\"orphanDependents\":true,\"propagationPolicy\":\"Orphan\"}");
    CHECK(s && s->code == 422);
    parsed_done(&p);
}

#define LIST_INVALID "ListOptions.meta.k8s.io \"\" is invalid: "
#define CREATE_INVALID "CreateOptions.meta.k8s.io \"\" is invalid: "

static const struct {
    const char *method, *path;
    int code;
    const char *reason, *message;
} wrong_options[] = {
    {"GET", "/api/v1/pods?limit=abc", 400, "BadRequest",
     "strconv.ParseInt: parsing \"abc\": invalid syntax"},
    {"GET", "/api/v1/pods?limit=99999999999999999999", 400, "BadRequest",
     "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"},
    {"GET", "/api/v1/pods?watch=1&timeoutSeconds=x", 400, "BadRequest",
     "strconv.ParseInt: parsing \"x\": invalid syntax"},
    {"GET", "/api/v1/pods?resourceVersion=abc", 400, "BadRequest",
     "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: "
     "parsing \"abc\": invalid syntax"},
    {"GET", "/api/v1/pods?resourceVersion=-1", 400, "BadRequest",
     "invalid resource version: resourceVersion: Invalid value: \"-1\": strconv.ParseUint: "
     "parsing \"-1\": invalid syntax"},
    {"GET", "/api/v1/pods?watch=true&resourceVersion=abc", 500, NULL,
     "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid "
     "syntax"},
    {"GET", "/api/v1/pods?resourceVersionMatch=Exact", 422, "Invalid",
     LIST_INVALID "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
                  "resourceVersion is provided"},
    {"GET", "/api/v1/pods?resourceVersion=0&resourceVersionMatch=Bogus", 422, "Invalid",
     LIST_INVALID "resourceVersionMatch: Unsupported value: \"Bogus\": supported values: "
                  "\"Exact\", \"NotOlderThan\", \"\""},
    {"GET", "/api/v1/pods?resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid",
     LIST_INVALID "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden "
                  "for resourceVersion \"0\""},
    {"GET", "/api/v1/pods?sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 422, "Invalid",
     LIST_INVALID "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
                  "resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is "
                  "forbidden for list]"},
    {"GET", "/api/v1/pods?watch=true&sendInitialEvents=true", 422, "Invalid",
     LIST_INVALID "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
                  "resourceVersionMatch to NotOlderThan"},
    {"POST", "/api/v1/namespaces/a/pods?dryRun=Bogus", 422, "Invalid",
     CREATE_INVALID "dryRun: Unsupported value: [\"Bogus\"]: supported values: \"All\""},
    {"POST", "/api/v1/namespaces/a/pods?fieldValidation=Bogus", 422, "Invalid",
     CREATE_INVALID "fieldValidation: Unsupported value: \"Bogus\": supported values: \"\", "
                    "\"Ignore\", \"Strict\", \"Warn\""},
    {"PUT", "/api/v1/namespaces/a/pods/p?dryRun=Bogus", 422, "Invalid",
     "UpdateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Bogus\"]: supported "
     "values: \"All\""},
    {"DELETE", "/api/v1/namespaces/a/pods/p?dryRun=Bogus", 422, "Invalid",
     "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Bogus\"]: supported "
     "values: \"All\""},
    {"DELETE", "/api/v1/namespaces/a/pods/p?gracePeriodSeconds=soon", 400, "BadRequest",
     "strconv.ParseInt: parsing \"soon\": invalid syntax"},
};

TEST(route_wrong_options_in_the_real_servers_words)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong_options); i++) {
        struct parsed p;
        parse(&p, wrong_options[i].method, wrong_options[i].path, NULL, NULL);
        bool ok = CHECK_INT(p.result, ROUTE_FAILED) && CHECK(p.why) &&
                  CHECK_INT(p.why->code, wrong_options[i].code) &&
                  CHECK_CSTR(str_of(p.why->reason), wrong_options[i].reason) &&
                  CHECK_CSTR(p.why->message, wrong_options[i].message);
        if (!ok)
            test_note("%s %s", wrong_options[i].method, wrong_options[i].path);
        parsed_done(&p);
    }
}

TEST(route_a_field_manager_has_a_length)
{
    struct parsed p;
    char path[300] = "/api/v1/namespaces/a/pods?fieldManager=";
    size_t n = strlen(path);
    memset(path + n, 'x', 129);
    parse(&p, "POST", path, NULL, NULL);
    REQUIRE(p.result == ROUTE_FAILED);
    CHECK_CSTR(p.why->message,
               CREATE_INVALID "fieldManager: Too long: may not be more than 128 bytes");
    parsed_done(&p);
    path[n + 128] = '\0';
    CHECK_INT(parse(&p, "POST", path, NULL, NULL), ROUTE_RESOURCE);
    parsed_done(&p);
    CHECK_INT(parse(&p, "POST", "/api/v1/namespaces/a/pods?fieldManager=a%0ab", NULL, NULL),
              ROUTE_FAILED);
    parsed_done(&p);
}

/* ---- Accept ---- */

#define AS(what) "application/json;as=" what ";v=v1;g=meta.k8s.io"
#define PROTO "application/vnd.kubernetes.protobuf"
#define PCS "/apis/grove.io/v1alpha1/namespaces/a/podcliquesets"

static const struct {
    const char *path, *accept;
    int code; /* 200: the rest holds */
    enum route_format format;
    bool yaml;
} accepts[] = {
    {"/api/v1/pods", NULL, 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", "", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", "*/*", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", "application/json", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", "application/json;stream=watch", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", "application/yaml", 200, FORMAT_OBJECT, true},
    {"/api/v1/pods", "application/cbor,application/json", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", AS("Table") ",application/json", 200, FORMAT_TABLE, false},
    {"/api/v1/pods", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", 200,
     FORMAT_OBJECT, false},
    {"/api/v1/pods", AS("PartialObjectMetadataList"), 200, FORMAT_PARTIAL, false},
    {"/api/v1/namespaces/a/pods/p", AS("PartialObjectMetadata"), 200, FORMAT_PARTIAL, false},
    {"/api/v1/pods?watch=1", AS("PartialObjectMetadata"), 200, FORMAT_PARTIAL, false},
    {"/api/v1/pods",
     PROTO ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," AS(
         "PartialObjectMetadataList") ",application/json",
     200, FORMAT_PARTIAL, false},
    {"/api/v1/pods", PROTO ",application/json", 200, FORMAT_OBJECT, false},
    {"/api/v1/pods", PROTO, 200, FORMAT_OBJECT, false}, /* protobuf in, JSON out */
    {PCS, PROTO ",application/json", 200, FORMAT_OBJECT, false},
    {PCS, PROTO, 406, FORMAT_OBJECT, false},
    {"/api/v1/pods", "text/html", 406, FORMAT_OBJECT, false},
    {"/api/v1/pods", AS("Nonsense"), 406, FORMAT_OBJECT, false},
    {"/api/v1/pods", AS("PartialObjectMetadata"), 406, FORMAT_OBJECT, false},
    {"/api/v1/namespaces/a/pods/p", AS("PartialObjectMetadataList"), 406, FORMAT_OBJECT, false},
};

TEST(route_accept_decides_the_form_of_the_answer)
{
    for (size_t i = 0; i < ARRAY_LEN(accepts); i++) {
        struct parsed p;
        parse(&p, "GET", accepts[i].path, accepts[i].accept, NULL);
        bool ok;
        if (accepts[i].code == 200)
            ok = CHECK_INT(p.result, ROUTE_RESOURCE) && CHECK_INT(p.r.format, accepts[i].format) &&
                 CHECK_INT(p.r.yaml, accepts[i].yaml);
        else
            ok = CHECK_INT(p.result, ROUTE_FAILED) && CHECK_INT(p.why->code, accepts[i].code) &&
                 CHECK_CSTR(str_of(p.why->reason), "NotAcceptable");
        if (!ok)
            test_note("%s %s", accepts[i].path, accepts[i].accept ? accepts[i].accept : "-");
        parsed_done(&p);
    }
}

static void check_not_acceptable(const char *path, const char *accept, const char *message)
{
    struct parsed p;
    parse(&p, "GET", path, accept, NULL);
    if (CHECK_INT(p.result, ROUTE_FAILED))
        CHECK_CSTR(p.why->message, message);
    parsed_done(&p);
}

TEST(route_not_acceptable_says_what_is)
{
    check_not_acceptable("/api/v1/pods", "text/html",
                         "406: Not Acceptable\n\nAvailable representations: application/json, "
                         "application/yaml, application/vnd.kubernetes.protobuf");
    check_not_acceptable(PCS, PROTO,
                         "406: Not Acceptable\n\nAvailable representations: application/json, "
                         "application/yaml");
    check_not_acceptable("/api/v1/namespaces/a/configmaps", AS("PartialObjectMetadata"),
                         "you requested PartialObjectMetadata, but the requested object is a list "
                         "(*core.ConfigMapList)");
}

TEST(route_patches_by_content_type)
{
    static const struct {
        const char *path, *type;
        int patch; /* -1: 415 */
    } cases[] = {
        {"/api/v1/namespaces/a/pods/p", "application/json-patch+json", API_PATCH_JSON},
        {"/api/v1/namespaces/a/pods/p", "application/merge-patch+json; charset=utf-8",
         API_PATCH_MERGE},
        {"/api/v1/namespaces/a/pods/p", "application/strategic-merge-patch+json",
         API_PATCH_STRATEGIC},
        {"/api/v1/namespaces/a/pods/p", "application/apply-patch+yaml", API_PATCH_APPLY},
        {"/api/v1/namespaces/a/pods/p", "application/json", -1},
        {"/api/v1/namespaces/a/pods/p", NULL, -1},
        {PCS "/x", "application/merge-patch+json", API_PATCH_MERGE},
        {PCS "/x", "application/strategic-merge-patch+json", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct parsed p;
        parse(&p, "PATCH", cases[i].path, NULL, cases[i].type);
        if (cases[i].patch < 0)
            CHECK(p.result == ROUTE_FAILED && p.why->code == 415);
        else if (CHECK_INT(p.result, ROUTE_RESOURCE))
            CHECK_INT(p.r.request->patch, cases[i].patch);
        parsed_done(&p);
    }
    struct parsed p;
    parse(&p, "PATCH", PCS "/x", NULL, "application/strategic-merge-patch+json");
    CHECK_CSTR(p.why->message,
               "the body of the request was in an unknown format - accepted media types include: "
               "application/json-patch+json, application/merge-patch+json, "
               "application/apply-patch+yaml");
    parsed_done(&p);
}

/* ---- bodies ---- */

static struct doc *read_body(struct parsed *p, const char *path, const char *type, str body)
{
    REQUIRE(parse(p, "POST", path, NULL, type) == ROUTE_RESOURCE);
    p->x.body = body;
    p->why = NULL;
    return doc_hold(&p->arena, route_body(&p->x, &p->r, &p->arena, &p->why));
}

#define MAPS "/api/v1/namespaces/a/configmaps"

TEST(route_bodies_in_three_languages)
{
    struct parsed p;
    struct doc *d = read_body(&p, MAPS, "application/json", STR("{\"kind\":\"ConfigMap\"}"));
    CHECK(d && str_is(jstr(jgetc(doc_root(d), "kind")), "ConfigMap"));
    parsed_done(&p);
    d = read_body(&p, MAPS, NULL, STR("{\"kind\":\"ConfigMap\"}"));
    CHECK(d != NULL);
    parsed_done(&p);
    d = read_body(&p, MAPS, "application/yaml", STR("kind: ConfigMap\ndata:\n  a: \"1\"\n"));
    CHECK(d && str_is(jstr(jpath(doc_root(d), "data.a")), "1"));
    parsed_done(&p);
    /* `kubectl create ns team-a`: an envelope of v1 Namespace with metadata.name */
    static const char namespace[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x0a\x0a\x08\x0a"
                                    "\x06team-a\x1a\x00\x22";
    d = read_body(&p, "/api/v1/namespaces", PROTO, str_n(namespace, sizeof(namespace)));
    CHECK(d && str_is(jstr(jpath(doc_root(d), "metadata.name")), "team-a") &&
          str_is(jstr(jgetc(doc_root(d), "kind")), "Namespace"));
    parsed_done(&p);
}

TEST(route_bodies_that_cannot_be_read)
{
    struct parsed p;
    CHECK(!read_body(&p, MAPS, "application/json", STR("{bad json")));
    CHECK(str_starts(p.why->message,
                     STR("the object provided is unrecognized (must be of type ConfigMap): "
                         "couldn't get version/kind; json parse error: ")));
    CHECK(str_ends(p.why->message, STR(" ({bad json)")));
    CHECK_INT(p.why->code, 400);
    parsed_done(&p);
    CHECK(!read_body(&p, MAPS, "application/json", STR_NONE));
    CHECK(str_ends(p.why->message, STR(" (<empty>)")));
    parsed_done(&p);
    CHECK(!read_body(&p, MAPS, PROTO, STR("\xff\xfe")));
    CHECK(p.why->code == 400 && str_ends(p.why->message, STR(" (fffe)")));
    parsed_done(&p);
    CHECK(!read_body(&p, MAPS, "text/plain", STR("{}")));
    CHECK_INT(p.why->code, 415);
    CHECK_CSTR(p.why->message,
               "the body of the request was in an unknown format - accepted media types include: "
               "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    parsed_done(&p);
    CHECK(!read_body(&p, PCS, PROTO, STR("k8s")));
    CHECK_INT(p.why->code, 415); /* custom resources have no protobuf form */
    CHECK(str_ends(p.why->message, STR("include: application/json, application/yaml")));
    parsed_done(&p);
}
