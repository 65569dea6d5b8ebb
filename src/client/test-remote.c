/*
 * api_remote against a server of the test's own, over real connections: what goes out on the wire,
 * what is made of the answers, and what every way of failing looks like to the caller. The server
 * answers from a script, one step per request.
 */
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/test.h"
#include "client/remote.h"
#include "client/wire.h"
#include "net/http.h"
#include "net/tls.h"
#include "json/write.h"

#define CM (&kind_config_map)
/* OpenSSL looks at the machine's clock: 2020 to 2070. */
#define PKI_BEGIN ((usec)1577836800 * USEC_PER_SEC)
#define PKI_LIFETIME (50 * 365 * USEC_PER_DAY)

/* ---- the server ---- */

enum action { ANSWER, STREAM, SILENT, BREAK };

struct step {
    int status;
    const char *body;
    const char *header, *value; /* of the answer */
    enum action action;
};

struct rig {
    struct loop *loop;
    struct arena arena;
    struct kubeconfig k;
    struct http_server *server;
    struct tls_server *tls;
    struct api *api;
    const struct step *steps;
    size_t n_steps, at;
    struct strbuf log;   /* "METHOD path?query body\n" */
    struct strbuf heads; /* "name: value\n" of the last request, what we set */
    char who[64];        /* the last client certificate's name */
    struct http_exchange *stream;
    bool is_late;
    struct loop_timer late;
    char dir[64];
};

static void on_closed(struct http_exchange *x)
{
    struct rig *r = x->ctx;
    if (r->stream == x)
        r->stream = NULL;
}

static struct http_slice slice(str s)
{
    return (struct http_slice){.data = s};
}

static void note_request(struct rig *r, const struct http_exchange *x)
{
    static const char *const ours[] = {"accept",           "authorization",   "content-type",
                                       "impersonate-user", "impersonate-uid", "impersonate-group"};
    strbuf_printf(&r->log, "%.*s %.*s%s%.*s%s%.*s\n", STR_ARG(x->method), STR_ARG(x->path),
                  x->query.len ? "?" : "", STR_ARG(x->query), x->body.len ? " " : "",
                  STR_ARG(x->body));
    strbuf_reset(&r->heads);
    for (size_t i = 0; i < x->n_headers; i++) {
        for (size_t k = 0; k < ARRAY_LEN(ours); k++) {
            if (str_is(x->headers[i].name, ours[k]))
                strbuf_printf(&r->heads, "%s: %.*s\n", ours[k], STR_ARG(x->headers[i].value));
        }
    }
    (void)snprintf(r->who, sizeof(r->who), "%.*s", STR_ARG(x->peer->common_name));
}

static void on_request(void *ctx, struct http_exchange *x)
{
    struct rig *r = ctx;
    x->ctx = r;
    x->on_close = on_closed;
    note_request(r, x);
    static const struct step unexpected = {500, "unexpected", NULL, NULL, ANSWER};
    const struct step *s = r->at < r->n_steps ? &r->steps[r->at++] : &unexpected;
    struct http_header headers[] = {{STR("content-type"), STR("application/json")},
                                    {str_of(s->header), str_of(s->value)}};
    size_t n = s->header ? 2 : 1;
    switch (s->action) {
    case ANSWER:
        http_reply(x, s->status, headers, n, slice(str_of(s->body)));
        break;
    case STREAM:
        http_stream_begin(x, s->status, headers, n);
        r->stream = x;
        break;
    case SILENT:
        break;
    case BREAK: /* promises more than it sends; the connection is cut when the server goes */
        http_stream_begin(x, s->status, headers, n);
        r->stream = x;
        break;
    }
}

static void on_late(struct loop_timer *t)
{
    struct rig *r = container_of(t, struct rig, late);
    r->is_late = true;
    loop_stop(r->loop, 0);
}

static void serve(struct rig *r)
{
    struct err err = ERR_INIT;
    struct http_server_options o = {
        .listen = "127.0.0.1:0", .tls = r->tls, .handler = on_request, .ctx = r};
    r->server = http_server_new(r->loop, &o, &err);
    REQUIRE(r->server);
    uint64_t port = 0;
    str address = str_of(http_server_address(r->server));
    str_cut(&address, ':');
    REQUIRE(str_to_uint(address, &port));
    r->k.host = STR("127.0.0.1");
    r->k.port = (int)port;
    r->k.path = STR("");
    r->k.user = STR("ann");
    r->k.file = STR("config");
}

static void rig_init(struct rig *r)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_real(NULL),
                      .log = STRBUF_INIT(1 << 20),
                      .heads = STRBUF_INIT(1 << 16),
                      .dir = "/tmp/grove-remote-XXXXXX"};
    REQUIRE(r->loop && mkdtemp(r->dir));
    loop_timer_init(r->loop, &r->late, on_late);
}

static void open_with(struct rig *r, const struct remote_options *o)
{
    struct err err = ERR_INIT;
    r->api = api_remote_open(r->loop, &r->k, o, &err);
    if (!r->api)
        test_note("%s", err.message);
    REQUIRE(r->api);
}

/* A server that follows the steps, and a client. */
#define RIG(r, options, ...)                           \
    static const struct step steps_[] = {__VA_ARGS__}; \
    struct rig r;                                      \
    rig_init(&r);                                      \
    r.steps = steps_;                                  \
    r.n_steps = ARRAY_LEN(steps_);                     \
    serve(&r);                                         \
    open_with(&r, &(struct remote_options)options)
#define PLAIN \
    {         \
        0     \
    }

static void rig_done(struct rig *r)
{
    api_free(r->api);
    loop_timer_cancel(&r->late);
    if (r->server)
        http_server_free(r->server);
    tls_server_free(r->tls);
    loop_free(r->loop);
    CHECK_INT(dir_remove(r->dir, NULL), 0);
    strbuf_done(&r->log);
    strbuf_done(&r->heads);
    arena_done(&r->arena);
}

/* ---- one request ---- */

struct got {
    struct rig *rig; /* whose arena has the texts */
    unsigned n;
    int code;
    struct obj *obj;
    struct obj **items;
    size_t n_items;
    uint64_t rv;
    str message, token;
    int retry_after;
    bool unknown;
    str warnings[4];
    size_t n_warnings;
};

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct got *g = q->ctx;
    g->n++;
    g->code = reply->code;
    g->unknown = reply->unknown_outcome;
    g->rv = reply->rv;
    g->token = arena_str(&g->rig->arena, reply->continue_token);
    if (reply->obj)
        g->obj = obj_hold(&g->rig->arena, obj_ref(reply->obj));
    g->items = arena_array(&g->rig->arena, struct obj *, reply->n_items + 1);
    for (size_t i = 0; i < reply->n_items; i++)
        g->items[g->n_items++] = obj_hold(&g->rig->arena, obj_ref(reply->items[i]));
    if (reply->status) {
        g->message = arena_str(&g->rig->arena, reply->status->message);
        g->retry_after = reply->status->retry_after;
    }
    for (size_t i = 0; i < reply->n_warnings && i < ARRAY_LEN(g->warnings); i++)
        g->warnings[g->n_warnings++] = arena_str(&g->rig->arena, reply->warnings[i]);
    loop_stop(g->rig->loop, 0);
}

static void run_loop(struct rig *r, usec at_most)
{
    r->is_late = false;
    loop_timer_set(&r->late, loop_now(r->loop) + at_most);
    (void)loop_run(r->loop);
    loop_timer_cancel(&r->late);
}

static void ask(struct rig *r, struct api_request q, struct got *g)
{
    *g = (struct got){.rig = r};
    q.done = on_done;
    q.ctx = g;
    api_send(r->api, &q);
    CHECK_INT(g->n, 0); /* never from inside */
    run_loop(r, 20 * USEC_PER_SEC);
    REQUIRE(g->n == 1);
}

static struct api_request get_cm(void)
{
    return (struct api_request){.verb = API_GET, .kind = CM, .ns = STR("ns"), .name = STR("a")};
}

static struct api_request create_cm(struct rig *r)
{
    struct api_request q = {.verb = API_CREATE, .kind = CM, .ns = STR("ns"), .name = STR("a")};
    q.body =
        doc_hold(&r->arena, doc_parse(STR("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}"),
                                      NULL, NULL));
    return q;
}

#define OBJECT                                                                                 \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","              \
    "\"namespace\":\"ns\",\"resourceVersion\":\"7\",\"managedFields\":[{\"manager\":\"m\"}],"  \
    "\"annotations\":{\"k\":\"v\",\"kubectl.kubernetes.io/last-applied-configuration\":\"x\"}" \
    "},\"data\":{\"x\":\"\\u00e9\\n\"}}"
#define FAILURE(code, reason)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"no\"," \
    "\"reason\":\"" reason "\",\"code\":" #code "}"

/* ---- what goes out ---- */

static void check_path(const char *prefix, struct api_request q, const char *want)
{
    struct arena a = ARENA_INIT;
    CHECK_CSTR(wire_request_path(&a, str_of(prefix), &q, q.limit, q.continue_token), want);
    arena_done(&a);
}

TEST(remote_paths_are_those_of_the_api)
{
    kinds_init();
    check_path("", get_cm(), "/api/v1/namespaces/ns/configmaps/a");
    check_path("/k8s/c1",
               (struct api_request){.verb = API_GET, .kind = &kind_node, .name = STR("n")},
               "/k8s/c1/api/v1/nodes/n");
    check_path("", (struct api_request){.verb = API_LIST, .kind = &kind_lease},
               "/apis/coordination.k8s.io/v1/leases");
    check_path("",
               (struct api_request){.verb = API_LIST,
                                    .kind = CM,
                                    .ns = STR("ns"),
                                    .label_selector = STR("a in (b, c),d!=e/f"),
                                    .field_selector = STR("metadata.name=x"),
                                    .limit = 5,
                                    .rv_given = true,
                                    .rv_match = API_RV_NOT_OLDER_THAN},
               "/api/v1/namespaces/ns/configmaps?labelSelector=a%20in%20(b,%20c),d!=e%2Ff"
               "&fieldSelector=metadata.name=x&limit=5&resourceVersion=0"
               "&resourceVersionMatch=NotOlderThan");
    check_path("",
               (struct api_request){.verb = API_CREATE,
                                    .kind = CM,
                                    .ns = STR("ns"),
                                    .name = STR("a"),
                                    .field_manager = STR("me"),
                                    .dry_run = true},
               "/api/v1/namespaces/ns/configmaps?fieldManager=me&fieldValidation=Warn&dryRun=All");
    check_path("",
               (struct api_request){.verb = API_CREATE,
                                    .kind = &kind_pod,
                                    .ns = STR("ns"),
                                    .name = STR("p"),
                                    .subresource = STR("binding")},
               "/api/v1/namespaces/ns/pods/p/binding?fieldValidation=Warn");
    check_path("",
               (struct api_request){.verb = API_PATCH,
                                    .kind = &kind_pod,
                                    .ns = STR("ns"),
                                    .name = STR("p"),
                                    .subresource = STR("status"),
                                    .patch = API_PATCH_APPLY,
                                    .force = true,
                                    .field_manager = STR("me"),
                                    .field_validation = API_VALIDATE_STRICT},
               "/api/v1/namespaces/ns/pods/p/status?fieldManager=me&fieldValidation=Strict"
               "&force=true");
    check_path("",
               (struct api_request){
                   .verb = API_DELETE, .kind = CM, .ns = STR("ns"), .name = STR("../x?y")},
               "/api/v1/namespaces/ns/configmaps/..%2Fx%3Fy");
}

TEST(remote_sends_bodies_and_headers)
{
    RIG(r, PLAIN, {201, OBJECT}, {200, OBJECT}, {200, OBJECT});
    struct got g;
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 201);
    CHECK_CSTR(strbuf_str(&r.heads), "accept: application/json\ncontent-type: application/json\n");
    struct api_request patch = create_cm(&r);
    patch.verb = API_PATCH;
    patch.patch = API_PATCH_MERGE;
    ask(&r, patch, &g);
    CHECK(str_find(strbuf_str(&r.heads), STR("application/merge-patch+json")) > 0);
    strbuf_reset(&r.log);
    ask(&r,
        (struct api_request){.verb = API_DELETE,
                             .kind = CM,
                             .ns = STR("ns"),
                             .name = STR("a"),
                             .uid = STR("u1"),
                             .rv = 9,
                             .grace_seconds = 0,
                             .propagation = API_FOREGROUND},
        &g);
    CHECK_CSTR(strbuf_str(&r.log),
               "DELETE /api/v1/namespaces/ns/configmaps/a "
               "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
               "\"propagationPolicy\":\"Foreground\","
               "\"preconditions\":{\"uid\":\"u1\",\"resourceVersion\":\"9\"}}\n");
    rig_done(&r);
}

TEST(remote_says_who_it_is_and_for_whom)
{
    struct rig r;
    static const struct step steps[] = {{200, OBJECT}};
    rig_init(&r);
    r.steps = steps;
    r.n_steps = 1;
    serve(&r);
    str groups[] = {STR("g1"), STR("g2")};
    r.k.token = STR("tok");
    r.k.as = STR("root");
    r.k.as_uid = STR("u");
    r.k.as_groups = groups;
    r.k.n_as_groups = 2;
    open_with(&r, &(struct remote_options){0});
    struct got g;
    ask(&r, get_cm(), &g);
    CHECK_CSTR(strbuf_str(&r.heads),
               "accept: application/json\nauthorization: Bearer tok\nimpersonate-user: root\n"
               "impersonate-uid: u\nimpersonate-group: g1\nimpersonate-group: g2\n");
    rig_done(&r);
}

/* ---- what comes back ---- */

TEST(remote_gets_an_object_as_it_is)
{
    RIG(r, PLAIN, {200, OBJECT});
    struct got g;
    ask(&r, get_cm(), &g);
    REQUIRE(g.obj);
    CHECK_CSTR(doc_text(g.obj->doc), OBJECT);
    CHECK_INT(g.obj->rv, 7);
    rig_done(&r);
}

TEST(remote_trimmed_copies_are_smaller_and_not_written_back)
{
    RIG(r, {.trim = true}, {200, OBJECT}, {200, OBJECT});
    struct got g;
    ask(&r, get_cm(), &g);
    REQUIRE(g.obj);
    CHECK_CSTR(doc_text(g.obj->doc),
               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
               "\"namespace\":\"ns\",\"resourceVersion\":\"7\",\"annotations\":{\"k\":\"v\"}},"
               "\"data\":{\"x\":\"\\u00e9\\n\"}}");
    CHECK_CSTR(jstr(jpath(obj_root(g.obj), "data.x")), "\xc3\xa9\n");
    CHECK_CSTR(obj_annotation(g.obj, STR("k")), "v");
    strbuf_reset(&r.log);
    struct got p;
    ask(&r,
        (struct api_request){
            .verb = API_UPDATE, .kind = CM, .ns = STR("ns"), .name = STR("a"), .body = g.obj->doc},
        &p);
    CHECK_INT(p.code, 405);
    CHECK(!p.unknown);
    CHECK_INT(r.log.len, 0);
    rig_done(&r);
}

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\"}}"
#define LIST(rv, token, items)                                                                  \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"

TEST(remote_large_lists_come_in_pages_and_as_one)
{
    RIG(r, PLAIN, {200, LIST("9", "t/1", ITEM("a") "," ITEM("b"))},
        {200, LIST("9", "t2", ITEM("c"))}, {200, LIST("9", "", ITEM("d"))});
    struct got g;
    ask(&r, (struct api_request){.verb = API_LIST, .kind = CM}, &g);
    CHECK_INT(g.code, 200);
    CHECK_INT(g.rv, 9);
    CHECK_CSTR(g.token, "");
    REQUIRE(g.n_items == 4);
    CHECK_CSTR(g.items[3]->name, "d");
    /* Items come without these; an object has them. */
    CHECK_CSTR(jstr(jgetc(obj_root(g.items[0]), "kind")), "ConfigMap");
    CHECK_CSTR(jstr(jgetc(obj_root(g.items[0]), "apiVersion")), "v1");
    CHECK_CSTR(strbuf_str(&r.log), "GET /api/v1/configmaps?limit=500\n"
                                   "GET /api/v1/configmaps?continue=t%2F1&limit=500\n"
                                   "GET /api/v1/configmaps?continue=t2&limit=500\n");
    rig_done(&r);
}

TEST(remote_list_whose_token_expired_is_fetched_whole)
{
    RIG(r, PLAIN, {200, LIST("9", "t", ITEM("a"))}, {410, FAILURE(410, "Expired")},
        {200, LIST("12", "", ITEM("b") "," ITEM("c"))});
    struct got g;
    ask(&r, (struct api_request){.verb = API_LIST, .kind = CM}, &g);
    CHECK_INT(g.code, 200);
    CHECK_INT(g.rv, 12);
    REQUIRE(g.n_items == 2);
    CHECK_CSTR(g.items[0]->name, "b");
    CHECK(str_ends(strbuf_str(&r.log), STR("&limit=500\nGET /api/v1/configmaps\n")));
    rig_done(&r);
}

TEST(remote_list_with_a_limit_is_the_callers_to_continue)
{
    RIG(r, PLAIN, {200, LIST("9", "t", ITEM("a"))}, {410, FAILURE(410, "Expired")});
    struct got g;
    ask(&r, (struct api_request){.verb = API_LIST, .kind = CM, .limit = 1}, &g);
    CHECK_CSTR(g.token, "t");
    CHECK_INT(g.n_items, 1);
    ask(&r,
        (struct api_request){.verb = API_LIST, .kind = CM, .limit = 1, .continue_token = STR("t")},
        &g);
    CHECK_INT(g.code, 410);
    rig_done(&r);
}

TEST(remote_hands_on_warnings)
{
    RIG(r, PLAIN,
        {200, OBJECT, "warning", "299 - \"a \\\"b\\\", c\" \"Wed\", 299 - \"d\", 299 - \"d\""});
    struct got g;
    ask(&r, get_cm(), &g);
    REQUIRE(g.n_warnings == 2);
    CHECK_CSTR(g.warnings[0], "a \"b\", c");
    CHECK_CSTR(g.warnings[1], "d");
    rig_done(&r);
}

TEST(remote_refusals_are_the_servers_words)
{
    RIG(r, PLAIN, {404, FAILURE(404, "NotFound")}, {403, FAILURE(403, "Forbidden")},
        {503, "<html>busy</html>"}, {200, "{nonsense"});
    struct got g;
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 404);
    CHECK_CSTR(g.message, "no");
    CHECK(!g.unknown);
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 403);
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 503);
    CHECK(g.unknown); /* it may have happened */
    CHECK(str_find(g.message, STR("answered 503: <html>busy</html>")) > 0);
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 502);
    CHECK(g.unknown);
    rig_done(&r);
}

/* ---- 429 ---- */

TEST(remote_reads_wait_as_told_and_writes_are_the_callers)
{
    RIG(r, PLAIN, {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"}, {200, OBJECT},
        {429, FAILURE(429, "TooManyRequests"), "retry-after", "86400"},
        {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"});
    struct got g;
    usec before = loop_wall(r.loop);
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(loop_wall(r.loop) - before >= USEC_PER_SEC);
    ask(&r, get_cm(), &g); /* nobody waits for a day */
    CHECK_INT(g.code, 429);
    CHECK_INT(g.retry_after, 60);
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 429);
    CHECK_INT(g.retry_after, 1);
    CHECK(!g.unknown);
    rig_done(&r);
}

TEST(remote_of_a_command_repeats_throttled_writes)
{
    RIG(r, {.patient = true}, {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"},
        {201, OBJECT}, {429, FAILURE(429, "TooManyRequests")});
    struct got g;
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 201);
    /* Without Retry-After it is an answer, not a request to come back: an eviction, say. */
    ask(&r, create_cm(&r), &g);
    CHECK_INT(g.code, 429);
    rig_done(&r);
}

/* ---- 401 ---- */

TEST(remote_401_is_answered_with_fresh_credentials_once)
{
    static const struct step steps[] = {{200, OBJECT},
                                        {401, FAILURE(401, "Unauthorized")},
                                        {200, OBJECT},
                                        {401, FAILURE(401, "Unauthorized")}};
    struct rig r;
    struct got g;
    rig_init(&r);
    r.steps = steps;
    r.n_steps = ARRAY_LEN(steps);
    serve(&r);
    const char *file = arena_printf(&r.arena, "%s/token", r.dir).p;
    REQUIRE(file_write(file, STR("one"), 0600, NULL) == 0);
    r.k.token_file = str_of(file);
    open_with(&r, &(struct remote_options){0});
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(str_find(strbuf_str(&r.heads), STR("authorization: Bearer one\n")) >= 0);
    run_loop(&r, 1100 * USEC_PER_MSEC); /* asked again at most once a second */
    REQUIRE(file_write(file, STR("two"), 0600, NULL) == 0);
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(str_find(strbuf_str(&r.heads), STR("authorization: Bearer two\n")) >= 0);
    CHECK_INT(r.at, 3);
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 401);
    CHECK(str_find(g.message, STR("does not accept the credentials of user \"ann\" (config)")) > 0);
    rig_done(&r);
}

TEST(remote_without_credentials_answers_why)
{
    RIG(r, PLAIN, {200, OBJECT});
    api_free(r.api);
    r.k.token_file = STR("/none/token");
    open_with(&r, &(struct remote_options){0});
    struct got g;
    for (int i = 0; i < 2; i++) {
        ask(&r, create_cm(&r), &g);
        CHECK_INT(g.code, 401);
        CHECK(!g.unknown);
        CHECK(str_find(g.message, STR("/none/token")) > 0);
    }
    CHECK_INT(r.log.len, 0);
    rig_done(&r);
}

/* ---- no answer ---- */

static void check_lost(struct rig *r, int code, bool unknown, const char *says)
{
    struct got g;
    ask(r, create_cm(r), &g);
    CHECK_INT(g.code, code);
    CHECK_INT(g.unknown, unknown);
    if (!CHECK(str_find(g.message, str_of(says)) >= 0))
        test_note("%.*s", STR_ARG(g.message));
    CHECK(str_find_char(g.message, '\n') < 0);
    ask(r, get_cm(), &g);
    CHECK(!g.unknown); /* a read has no outcome */
}

TEST(remote_refused_connection_is_one_line_and_not_sent)
{
    RIG(r, PLAIN, {200, OBJECT});
    http_server_free(TAKE_PTR(r.server));
    const char *want =
        arena_printf(&r.arena, "cannot reach the API server at http://127.0.0.1:%d: ", r.k.port).p;
    check_lost(&r, 503, false, want);
    check_lost(&r, 503, false, "Connection refused");
    rig_done(&r);
}

TEST(remote_unknown_host_is_one_line_and_not_sent)
{
    RIG(r, PLAIN, {200, OBJECT});
    api_free(r.api);
    r.k.host = STR("no-such-host.invalid");
    open_with(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "look up no-such-host.invalid");
    rig_done(&r);
}

TEST(remote_silence_is_an_unknown_outcome)
{
    RIG(r, {.timeout = 200 * USEC_PER_MSEC}, {.action = SILENT}, {.action = SILENT});
    check_lost(&r, 504, true, "does not answer");
    rig_done(&r);
}

static void on_cut(struct loop_timer *t)
{
    struct rig *r = container_of(t, struct rig, late);
    http_server_free(TAKE_PTR(r->server));
}

TEST(remote_broken_connection_is_an_unknown_outcome)
{
    RIG(r, PLAIN, {201, NULL, NULL, NULL, BREAK});
    struct got g = {.rig = &r};
    struct api_request q = create_cm(&r);
    q.done = on_done;
    q.ctx = &g;
    api_send(r.api, &q);
    loop_timer_init(r.loop, &r.late, on_cut);
    loop_timer_set(&r.late, loop_now(r.loop) + 200 * USEC_PER_MSEC);
    (void)loop_run(r.loop);
    REQUIRE(g.n == 1);
    CHECK(g.unknown);
    CHECK_INT(g.code, 503);
    CHECK(str_find(g.message, STR("broke")) > 0);
    rig_done(&r);
}

TEST(remote_does_not_send_what_is_too_late)
{
    RIG(r, PLAIN, {201, OBJECT}, {.action = SILENT});
    struct got g;
    struct api_request q = create_cm(&r);
    q.deadline = loop_now(r.loop) - 1;
    ask(&r, q, &g);
    CHECK_INT(g.code, 504);
    CHECK(!g.unknown);
    CHECK_INT(r.log.len, 0);
    q.deadline = loop_now(r.loop) + 10 * USEC_PER_SEC;
    ask(&r, q, &g);
    CHECK_INT(g.code, 201);
    usec before = loop_wall(r.loop);
    q.deadline = loop_now(r.loop) + 300 * USEC_PER_MSEC;
    ask(&r, q, &g);
    CHECK(g.unknown);
    CHECK(loop_wall(r.loop) - before < 5 * USEC_PER_SEC);
    rig_done(&r);
}

/* ---- TLS ---- */

struct pki {
    struct pki_identity ca, other, server, client;
};

static void pki_init(struct pki *p, usec server_lifetime)
{
    *p = (struct pki){0};
    REQUIRE(pki_make_ca("ca", PKI_BEGIN, PKI_LIFETIME, &p->ca, NULL) == 0);
    REQUIRE(pki_make_ca("other", PKI_BEGIN, PKI_LIFETIME, &p->other, NULL) == 0);
    REQUIRE(pki_issue(&p->ca, "server", NULL, "IP:127.0.0.1", PKI_BEGIN, server_lifetime,
                      &p->server, NULL) == 0);
    REQUIRE(pki_issue(&p->ca, "ann", NULL, NULL, PKI_BEGIN, PKI_LIFETIME, &p->client, NULL) == 0);
}

static void pki_done(struct pki *p)
{
    pki_identity_done(&p->ca);
    pki_identity_done(&p->other);
    pki_identity_done(&p->server);
    pki_identity_done(&p->client);
}

static void serve_tls(struct rig *r, const struct pki *p, const struct step *steps, size_t n)
{
    rig_init(r);
    r->steps = steps;
    r->n_steps = n;
    r->tls = tls_server_new(strbuf_str(&p->server.cert_pem), strbuf_str(&p->server.key_pem),
                            strbuf_str(&p->ca.cert_pem), NULL);
    REQUIRE(r->tls);
    serve(r);
    r->k.tls = true;
    r->k.ca_pem = strbuf_str(&p->ca.cert_pem);
}

TEST(remote_speaks_tls_with_a_client_certificate)
{
    static const struct step steps[] = {{200, OBJECT}};
    struct pki p;
    struct rig r;
    struct got g;
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, steps, 1);
    r.k.cert_pem = strbuf_str(&p.client.cert_pem);
    r.k.key_pem = strbuf_str(&p.client.key_pem);
    open_with(&r, &(struct remote_options){0});
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "ann");
    rig_done(&r);
    pki_done(&p);
}

TEST(remote_expired_and_foreign_certificates_are_one_line)
{
    static const struct step steps[] = {{200, OBJECT}, {200, OBJECT}};
    struct pki p;
    struct rig r;
    pki_init(&p, 24 * USEC_PER_HOUR); /* over since 2020 */
    serve_tls(&r, &p, steps, 2);
    open_with(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "certificate has expired");
    api_free(r.api);
    r.k.ca_pem = strbuf_str(&p.other.cert_pem);
    open_with(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "certificate");
    api_free(r.api);
    r.k.skip_verify = true;
    open_with(&r, &(struct remote_options){0});
    struct got g;
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    rig_done(&r);
    pki_done(&p);
}

static void check_open(struct rig *r, const char *says)
{
    struct err err = ERR_INIT;
    struct api *api = api_remote_open(r->loop, &r->k, &(struct remote_options){0}, &err);
    CHECK(!api);
    if (!CHECK(str_find(str_of(err.message), str_of(says)) >= 0))
        test_note("%s", err.message);
}

TEST(remote_refuses_a_configuration_that_cannot_work)
{
    struct pki p;
    struct rig r;
    struct pki_identity old = {0};
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, NULL, 0);
    REQUIRE(pki_issue(&p.ca, "old", NULL, NULL, PKI_BEGIN, USEC_PER_DAY, &old, NULL) == 0);
    r.k.cert_pem = strbuf_str(&old.cert_pem);
    r.k.key_pem = strbuf_str(&old.key_pem);
    check_open(&r, "config: the client certificate of user \"ann\" expired at 2020-01-02T");
    r.k.cert_pem = strbuf_str(&p.client.cert_pem);
    check_open(&r, "config: ");
    r.k.cert_pem = r.k.key_pem = STR_NONE;
    r.k.ca_pem = STR("not a certificate");
    check_open(&r, "config: certificate authority");
    r.k.ca_pem = STR_NONE;
    r.k.proxy_url = STR("http://p");
    check_open(&r, "config: proxy-url is not supported");
    r.k.proxy_url = STR_NONE;
    r.k.server_name = STR("else");
    check_open(&r, "config: tls-server-name is not supported");
    pki_identity_done(&old);
    rig_done(&r);
    pki_done(&p);
}

/* A plug-in whose certificates change: new connections, while what is under way goes on. */
TEST(remote_follows_a_plug_ins_certificates)
{
    static const struct step steps[] = {
        {200, OBJECT}, {401, FAILURE(401, "Unauthorized")}, {200, OBJECT}};
    struct pki p;
    struct rig r;
    struct got g;
    struct pki_identity bob = {0};
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, steps, ARRAY_LEN(steps));
    REQUIRE(pki_issue(&p.ca, "bob", NULL, NULL, PKI_BEGIN, PKI_LIFETIME, &bob, NULL) == 0);
    const char *script = arena_printf(&r.arena, "%s/plugin", r.dir).p;
    struct pki_identity *ids[] = {&p.client, &bob};
    const char *names[] = {"1", "2"};
    for (size_t i = 0; i < 2; i++) {
        struct jw w;
        jw_init(&w);
        jw_object(&w);
        jw_put_cstr(&w, "apiVersion", "client.authentication.k8s.io/v1");
        jw_put_cstr(&w, "kind", "ExecCredential");
        jw_put_object(&w, "status");
        jw_put_str(&w, "clientCertificateData", strbuf_str(&ids[i]->cert_pem));
        jw_put_str(&w, "clientKeyData", strbuf_str(&ids[i]->key_pem));
        jw_end(&w);
        jw_end(&w);
        const char *path = arena_printf(&r.arena, "%s/%s", r.dir, names[i]).p;
        REQUIRE(file_write(path, strbuf_str(&w.out), 0600, NULL) == 0);
        jw_done(&w);
    }
    const char *text =
        arena_printf(&r.arena, "#!/bin/sh\ncd %s && cat 1 && if test -e 2; then mv 2 1; fi\n",
                     r.dir)
            .p;
    REQUIRE(file_write(script, str_of(text), 0700, NULL) == 0);
    r.k.exec = (struct kubeconfig_exec){.command = str_of(script),
                                        .api_version = STR("client.authentication.k8s.io/v1"),
                                        .interactive = EXEC_NEVER};
    open_with(&r, &(struct remote_options){0});
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "ann");
    run_loop(&r, 1100 * USEC_PER_MSEC);
    ask(&r, get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "bob");
    pki_identity_done(&bob);
    rig_done(&r);
    pki_done(&p);
}

/* ---- watches ---- */

struct seen {
    struct rig *rig;
    struct api_watch watch;
    struct strbuf log; /* "ADDED a 7\n" */
    unsigned ended;
    int why; /* code; 0: clean */
    unsigned stop_after;
    unsigned events;
};

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct seen *s = w->ctx;
    strbuf_printf(&s->log, "%s %.*s %llu%s\n", names[type], STR_ARG(o ? o->name : STR("-")),
                  (unsigned long long)rv, initial_end ? " end" : "");
    s->events++;
    if (s->events == s->stop_after) {
        api_watch_stop(s->rig->api, w);
        loop_stop(s->rig->loop, 0);
    }
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct seen *s = w->ctx;
    s->ended++;
    s->why = why ? why->code : 0;
    loop_stop(s->rig->loop, 0);
}

static void watch(struct rig *r, struct seen *s)
{
    *s = (struct seen){.rig = r, .log = STRBUF_INIT(1 << 20)};
    s->watch = (struct api_watch){.kind = CM,
                                  .send_initial = true,
                                  .bookmarks = true,
                                  .on_event = on_event,
                                  .on_end = on_end,
                                  .ctx = s};
    api_watch(r->api, &s->watch);
    for (int i = 0; i < 1000 && !r->stream && !s->ended; i++)
        run_loop(r, 2 * USEC_PER_MSEC);
}

/* Cut into pieces of this size, each its own write. */
static void stream_text(struct rig *r, const char *text, size_t piece)
{
    str rest = str_of(text);
    while (rest.len && r->stream) {
        struct http_slice s = slice(str_sub(rest, 0, piece));
        rest = str_sub(rest, piece, rest.len);
        http_stream_write(r->stream, &s, 1);
        if (piece < 100)
            run_loop(r, 100);
    }
}

#define EVENT(type, name, rv)                                                                  \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" rv "\"}}}\n"
#define MARK(rv, more)                                                         \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{" \
    "\"resourceVersion\":\"" rv "\"" more "}}}\n"
#define INITIAL_END ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"

static const char events[] = EVENT("ADDED", "a", "3") MARK("5", INITIAL_END)
    EVENT("MODIFIED", "a", "6") "\n" EVENT("DELETED", "a", "7") MARK("8", "");
static const char events_seen[] =
    "ADDED a 3\nBOOKMARK - 5 end\nMODIFIED a 6\nDELETED a 7\nBOOKMARK - 8\n";

TEST(remote_watch_reads_events_however_they_are_cut)
{
    static const size_t pieces[] = {1, 7, 1000};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
        struct seen s;
        watch(&r, &s);
        CHECK_CSTR(strbuf_str(&r.log),
                   "GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true"
                   "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\n");
        stream_text(&r, events, pieces[i]);
        http_stream_end(r.stream);
        run_loop(&r, 5 * USEC_PER_SEC);
        CHECK_CSTR(strbuf_str(&s.log), events_seen);
        CHECK_INT(s.ended, 1);
        CHECK_INT(s.why, 0);
        strbuf_done(&s.log);
        rig_done(&r);
    }
}

static void check_watch_end(const char *text, int code, const char *log)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    stream_text(&r, text, 1000);
    run_loop(&r, 5 * USEC_PER_SEC);
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, code);
    CHECK_CSTR(strbuf_str(&s.log), log);
    strbuf_done(&s.log);
    rig_done(&r);
}

TEST(remote_watch_ends_where_an_event_would_be_missed)
{
    check_watch_end(EVENT("ADDED", "a", "3") "{\"type\":\"ERROR\",\"object\":" FAILURE(
                        410, "Expired") "}\n" EVENT("ADDED", "b", "4"),
                    410, "ADDED a 3\n");
    check_watch_end(EVENT("ADDED", "a", "3") "{\"type\":\n" EVENT("ADDED", "b", "4"), 502,
                    "ADDED a 3\n");
    check_watch_end("{\"type\":\"WHAT\",\"object\":{}}\n", 502, "");
    check_watch_end("{\"type\":\"ADDED\",\"object\":[]}\n", 502, "");
    check_watch_end("{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n", 502, "");
}

TEST(remote_watch_that_is_refused_says_why)
{
    RIG(r, PLAIN, {403, FAILURE(403, "Forbidden")}, {422, FAILURE(422, "Invalid")});
    struct seen s;
    watch(&r, &s);
    CHECK_INT(s.why, 403);
    strbuf_done(&s.log);
    watch(&r, &s);
    CHECK_INT(s.why, 422);
    strbuf_done(&s.log);
    rig_done(&r);
}

TEST(remote_watch_is_an_error_when_the_connection_breaks)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    stream_text(&r, EVENT("ADDED", "a", "3"), 1000);
    run_loop(&r, 100 * USEC_PER_MSEC);
    http_server_free(TAKE_PTR(r.server));
    run_loop(&r, 5 * USEC_PER_SEC);
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, 503);
    strbuf_done(&s.log);
    rig_done(&r);
}

TEST(remote_watch_may_be_stopped_in_its_own_event)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    s.stop_after = 2;
    stream_text(&r, events, 1000);
    run_loop(&r, 5 * USEC_PER_SEC);
    run_loop(&r, 50 * USEC_PER_MSEC);
    CHECK_CSTR(strbuf_str(&s.log), "ADDED a 3\nBOOKMARK - 5 end\n");
    CHECK_INT(s.ended, 0);
    strbuf_done(&s.log);
    rig_done(&r);
}

TEST(remote_watch_takes_large_events_and_refuses_endless_ones)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    struct strbuf b = STRBUF_INIT(32 << 20);
    strbuf_add_cstr(&b, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":"
                        "{\"name\":\"a\",\"resourceVersion\":\"3\"},\"data\":{\"x\":\"");
    while (b.len < (4 << 20))
        strbuf_add_cstr(&b, "0123456789abcdef");
    strbuf_add_cstr(&b, "\"}}}\n");
    stream_text(&r, b.p, b.len);
    for (int i = 0; i < 1000 && !s.events; i++)
        run_loop(&r, 5 * USEC_PER_MSEC);
    CHECK_CSTR(strbuf_str(&s.log), "ADDED a 3\n");
    memset(b.p, 'x', b.len);
    for (int i = 0; i < 8 && !s.ended; i++) {
        stream_text(&r, b.p, b.len);
        for (int k = 0; k < 400 && r.stream && http_stream_pending(r.stream); k++)
            run_loop(&r, 5 * USEC_PER_MSEC);
    }
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, 502);
    strbuf_done(&b);
    strbuf_done(&s.log);
    rig_done(&r);
}

/* ---- the end ---- */

TEST(remote_free_answers_what_is_open_and_ends_watches_without_a_call)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM}, {.action = SILENT});
    struct seen s;
    struct got sent = {.rig = &r}, unsent = {.rig = &r};
    watch(&r, &s);
    struct api_request a = create_cm(&r), b = create_cm(&r);
    a.done = b.done = on_done;
    a.ctx = &sent;
    b.ctx = &unsent;
    api_send(r.api, &a);
    run_loop(&r, 50 * USEC_PER_MSEC);
    api_send(r.api, &b);
    api_free(TAKE_PTR(r.api));
    CHECK_INT(sent.n, 1);
    CHECK_INT(sent.code, 0);
    CHECK(sent.unknown);
    CHECK_INT(unsent.n, 1);
    CHECK_INT(unsent.code, 0);
    CHECK_INT(s.ended, 0);
    strbuf_done(&s.log);
    rig_done(&r);
}
