/*
 * The HTTP front end: one `call` per exchange. A call lives until the exchange is closed and the
 * request is answered, in whichever order that happens: a peer that goes away does not stop a write
 * that is under way.
 *
 *   exchange -> who is it -> fixed path? answer : route -> body -> apiserver -> reply or stream
 */
#include "apiserver/front_impl.h"

#include "base/hash.h"
#include "base/uuid.h"

/* ---- replies ---- */

/* A document's text as a body, without copying. */
static void drop_doc(void *owner)
{
    doc_unref(owner);
}

static void drop_obj(void *owner)
{
    obj_unref(owner);
}

struct http_slice slice_doc(struct doc *d)
{
    return (struct http_slice){doc_text(d), d, drop_doc};
}

struct http_slice slice_obj(struct obj *o)
{
    return (struct http_slice){doc_text(o->doc), obj_ref(o), drop_obj};
}

size_t call_headers(struct call *c, str content_type, struct http_header h[FRONT_MAX_HEADERS])
{
    size_t n = 0;
    h[n++] = (struct http_header){STR("audit-id"), str_n(c->audit_id, sizeof(c->audit_id) - 1)};
    h[n++] = (struct http_header){STR("cache-control"), STR("no-cache, private")};
    h[n++] = (struct http_header){STR("content-type"), content_type};
    return n;
}

void call_reply_doc(struct call *c, int code, struct doc *d)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    http_reply(c->x, code, h, n, slice_doc(d));
}

void call_reply_status(struct call *c, const struct status *s)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    if (s->retry_after > 0)
        h[n++] =
            (struct http_header){STR("retry-after"), arena_printf(&c->arena, "%d", s->retry_after)};
    http_reply(c->x, s->code, h, n, slice_doc(status_doc(s)));
}

static void reply_text(struct call *c, int code, str text)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("text/plain; charset=utf-8"), h);
    http_reply(c->x, code, h, n, (struct http_slice){text, NULL, NULL});
}

/* ---- life of a call ---- */

static void call_free(struct call *c)
{
    doc_unref(c->body);
    arena_done(&c->arena);
    free(c);
}

static void on_close(struct http_exchange *x)
{
    struct call *c = x->ctx;
    c->x = NULL;
    if (c->watching)
        stream_stop(c);
    if (!c->pending)
        call_free(c);
}

static void new_audit_id(struct front *f, char ret[UUID_TEXT_LEN + 1])
{
    uint8_t bytes[UUID_SIZE];
    loop_random(apiserver_loop(f->server), bytes, sizeof(bytes));
    uuid_format_v4(bytes, ret);
}

/* ---- who is it ---- */

static const str admin_groups[] = {STR_INIT("system:masters"), STR_INIT("system:authenticated")};

/* False: the credentials are wrong. No credentials at all is a user too: anonymous. */
static bool authenticate(struct call *c)
{
    const struct http_peer *peer = c->x->peer;
    str auth = http_header_get(c->x, STR("authorization"));
    if (!str_is_empty(peer->common_name)) {
        str *groups = arena_array(&c->arena, str, peer->n_organizations + 1);
        for (size_t i = 0; i < peer->n_organizations; i++)
            groups[i] = peer->organizations[i];
        groups[peer->n_organizations] = STR("system:authenticated");
        c->user = (struct user){peer->common_name, groups, peer->n_organizations + 1};
        return true;
    }
    if (str_is_empty(auth)) {
        c->user = (struct user){STR("system:anonymous"), NULL, 0};
        c->anonymous = true;
        return true;
    }
    str token = str_starts(auth, STR("Bearer ")) ? str_trim(str_sub(auth, 7, auth.len)) : STR_NONE;
    if (str_is_empty(c->front->token) || !str_eq(token, c->front->token))
        return false;
    c->user = (struct user){STR("admin"), admin_groups, ARRAY_LEN(admin_groups)};
    return true;
}

static void reply_forbidden(struct call *c)
{
    call_reply_status(
        c, status_new(&c->arena, 403, "Forbidden",
                      "forbidden: User \"%.*s\" cannot %s path \"%.*s\"", STR_ARG(c->user.name),
                      str_is(c->x->method, "GET") ? "get" : "post", STR_ARG(c->x->path)));
}

/* ---- requests ---- */

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct call *c = r->ctx;
    c->pending = false;
    if (!c->x) {
        call_free(c);
        return;
    }
    reply_write(c, reply);
}

static struct status *read_body(struct call *c)
{
    struct status *why = NULL;
    struct api_request *q = &c->route.request;
    bool deletes = q->verb == API_DELETE || q->verb == API_DELETE_COLLECTION;
    if (q->verb == API_GET || q->verb == API_LIST || (deletes && str_is_empty(c->x->body)))
        return NULL;
    c->body = route_body(c->x, &c->route, &c->arena, &why);
    if (!c->body)
        return why;
    if (deletes)
        return route_delete_options(&c->route, doc_root(c->body), &c->arena);
    q->body = c->body;
    return NULL;
}

static void serve_resource(struct call *c)
{
    struct api_request *q = &c->route.request;
    if (c->route.is_watch) {
        stream_start(c);
        return;
    }
    struct status *why = read_body(c);
    if (why) {
        call_reply_status(c, why);
        return;
    }
    if (q->kind == &kind_pod && str_is(q->subresource, "log")) {
        reply_text(c, 200, STR("this pod runs on a simulated node and has no output\n"));
        return;
    }
    q->done = on_done;
    q->ctx = c;
    c->pending = true;
    apiserver_send(c->front->server, &c->user, q);
}

/* ---- fixed paths ---- */

static void serve_cached(struct call *c, str content_type, struct doc *d)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, content_type, h);
    str tag = arena_printf(&c->arena, "\"%016llX\"", (unsigned long long)hash_fnv1a64(doc_text(d)));
    h[1].value = STR("public");
    h[n++] = (struct http_header){STR("etag"), tag};
    h[n++] = (struct http_header){STR("vary"), STR("Accept")};
    if (str_eq(http_header_get(c->x, STR("if-none-match")), tag)) {
        doc_unref(d);
        http_reply(c->x, 304, h, n, (struct http_slice){0});
        return;
    }
    http_reply(c->x, 200, h, n, slice_doc(d));
}

static bool wants_aggregated(const struct call *c)
{
    str accept = http_header_get(c->x, STR("accept"));
    return str_find(accept, STR("g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")) >= 0;
}

static void serve_roots(struct call *c, bool core)
{
    if (wants_aggregated(c))
        serve_cached(c, STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
                     discovery_aggregated(core));
    else
        call_reply_doc(c, 200, core ? discovery_legacy_versions() : discovery_legacy_groups());
}

static void serve_api(struct call *c)
{
    serve_roots(c, true);
}

static void serve_apis(struct call *c)
{
    serve_roots(c, false);
}

static void serve_core_v1(struct call *c)
{
    call_reply_doc(c, 200, discovery_legacy_resources(STR(""), STR("v1")));
}

static void serve_version(struct call *c)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "major", "1");
    jw_put_cstr(&w, "minor", "36");
    jw_put_cstr(&w, "gitVersion", "v1.36.0+grove-" GROVE_VERSION);
    jw_put_cstr(&w, "gitCommit", "");
    jw_put_cstr(&w, "gitTreeState", "clean");
    jw_put_cstr(&w, "buildDate", "1970-01-01T00:00:00Z");
    jw_put_cstr(&w, "goVersion", "none");
    jw_put_cstr(&w, "compiler", "gcc");
    jw_put_cstr(&w, "platform", "linux/amd64");
    jw_end(&w);
    call_reply_doc(c, 200, jw_doc(&w));
}

static void serve_alive(struct call *c)
{
    reply_text(c, 200, STR("ok"));
}

static void serve_ready(struct call *c)
{
    if (c->front->ready)
        reply_text(c, 200, STR("ok"));
    else
        reply_text(c, 500, STR("[-]controllers failed: starting\n"));
}

/* An empty OpenAPI v2 document: clients only want to see that there is one. */
static void serve_openapi_v2(struct call *c)
{
    static const char bytes[] = "\x0a\x03"
                                "2.0\x12\x07\x0a\x01m\x12\x02v1B";
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n =
        call_headers(c, STR("application/com.github.proto-openapi.spec.v2.v1.0+protobuf"), h);
    http_reply(c->x, 200, h, n, (struct http_slice){str_n(bytes, sizeof(bytes)), NULL, NULL});
}

static void serve_openapi_index(struct call *c)
{
    serve_cached(c, STR("application/json"), openapi_v3_index());
}

static const struct {
    const char *path;
    void (*serve)(struct call *c);
    bool open; /* also for anonymous */
} fixed_paths[] = {
    {"/api", serve_api, false},
    {"/apis", serve_apis, false},
    {"/api/v1", serve_core_v1, false},
    {"/version", serve_version, true},
    {"/healthz", serve_alive, true},
    {"/livez", serve_alive, true},
    {"/readyz", serve_ready, true},
    {"/openapi/v2", serve_openapi_v2, false},
    {"/openapi/v3", serve_openapi_index, false},
};

/* /apis/G, /apis/G/V, /openapi/v3/...; false when it is none of them. */
static bool serve_group_path(struct call *c)
{
    str rest = c->x->path;
    struct doc *d = NULL;
    if (str_starts(rest, STR("/openapi/v3/"))) {
        rest = str_sub(rest, 12, rest.len);
        str first = str_cut(&rest, '/');
        str group = str_is(first, "api") ? STR("") : str_cut(&rest, '/');
        d = openapi_v3(group, rest);
        if (!d)
            return false;
        serve_cached(c, STR("application/json"), d);
        return true;
    }
    if (!str_starts(rest, STR("/apis/")))
        return false;
    rest = str_sub(rest, 6, rest.len);
    str group = str_cut(&rest, '/');
    d = str_is_empty(rest) ? discovery_legacy_group(group)
                           : discovery_legacy_resources(group, rest);
    if (!d)
        return false;
    call_reply_doc(c, 200, d);
    return true;
}

static str without_slash(str path)
{
    return path.len > 1 && path.p[path.len - 1] == '/' ? str_sub(path, 0, path.len - 1) : path;
}

static bool serve_fixed(struct call *c)
{
    str path = without_slash(c->x->path);
    for (size_t i = 0; i < ARRAY_LEN(fixed_paths); i++) {
        if (!str_is(path, fixed_paths[i].path))
            continue;
        if (c->anonymous && !fixed_paths[i].open)
            reply_forbidden(c);
        else
            fixed_paths[i].serve(c);
        return true;
    }
    return false;
}

/* ---- dispatch ---- */

static void serve(struct call *c)
{
    struct status *why = NULL;
    if (!authenticate(c)) {
        call_reply_status(c, status_new(&c->arena, 401, "Unauthorized", "Unauthorized"));
        return;
    }
    if (serve_fixed(c))
        return;
    if (c->anonymous) {
        reply_forbidden(c);
        return;
    }
    switch (route_parse(c->x, &c->arena, &c->route, &why)) {
    case ROUTE_RESOURCE:
        serve_resource(c);
        break;
    case ROUTE_FAILED:
        call_reply_status(c, why);
        break;
    case ROUTE_NOT_API:
        if (!str_is(c->x->method, "GET") || !serve_group_path(c))
            reply_text(c, 404, STR("404 page not found\n"));
        break;
    }
}

static void on_request(void *ctx, struct http_exchange *x)
{
    struct call *c = xnew(struct call);
    c->front = ctx;
    c->x = x;
    arena_init(&c->arena);
    new_audit_id(c->front, c->audit_id);
    x->ctx = c;
    x->on_close = on_close;
    serve(c);
}

/* ---- life cycle ---- */

struct front *front_new(struct apiserver *a, const struct front_options *o, struct err *err)
{
    struct front *f = xnew(struct front);
    f->server = a;
    if (!str_is_empty(o->admin_token)) {
        f->token_copy = str_dup(o->admin_token);
        f->token = str_of(f->token_copy);
    }
    struct http_server_options so = {
        .listen = o->listen, .tls = o->tls, .handler = on_request, .ctx = f};
    f->http = http_server_new(apiserver_loop(a), &so, err);
    if (!f->http) {
        front_free(f);
        return NULL;
    }
    return f;
}

const char *front_address(const struct front *f)
{
    return http_server_address(f->http);
}

void front_set_ready(struct front *f, bool ready)
{
    f->ready = ready;
}

void front_shutdown(struct front *f, usec grace, void (*done)(void *ctx), void *ctx)
{
    f->ready = false;
    http_server_shutdown(f->http, grace, done, ctx);
}

void front_free(struct front *f)
{
    if (!f)
        return;
    if (f->http)
        http_server_free(f->http);
    free(f->token_copy);
    free(f);
}
