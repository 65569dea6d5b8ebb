/*
 * The HTTP front end: one `call` per exchange. A call lives until the exchange is closed and the
 * request is answered, in whichever order that happens: a peer that goes away does not stop a write
 * that is under way.
 *
 *   exchange -> who is it -> route -> whose turn -> may they -> fixed path? answer : body
 *                                                                   -> apiserver -> reply or stream
 *
 * Every reply leaves through call_send or call_stream_begin, so that each call is accounted for
 * once, when its exchange is closed.
 */
#include "apiserver/front/front_impl.h"

#include "apiserver/access/review.h"
#include "apiserver/front/metrics_api.h"
#include "apiserver/request.h"
#include "base/uuid.h"

/* How long a connection waits whose credentials were wrong. */
#define WRONG_PAUSE (100 * USEC_PER_MSEC)

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
    return (struct http_slice){doc_text(o->doc), o, drop_obj};
}

/* An owner that nobody drops: the bytes are not copied. */
struct http_slice slice_static(str s)
{
    return (struct http_slice){s, (void *)s.p, NULL};
}

struct http_slice slice_strbuf(struct strbuf *b)
{
    size_t len;
    char *p = strbuf_detach(b, &len);
    return (struct http_slice){str_n(p, len), p, free};
}

struct http_slice slice_jw(struct jw *w)
{
    BUG_ON(w->depth || w->out.overflow);
    return slice_strbuf(&w->out);
}

size_t call_headers(struct call *c, str content_type, struct http_header h[FRONT_MAX_HEADERS])
{
    size_t n = 0;
    h[n++] = (struct http_header){STR("audit-id"), str_n(c->audit_id, sizeof(c->audit_id) - 1)};
    h[n++] = (struct http_header){STR("cache-control"), STR("no-cache, private")};
    h[n++] = (struct http_header){STR("content-type"), content_type};
    if (c->route.kind && c->route.kind->deprecated)
        h[n++] = (struct http_header){
            STR("warning"), reply_quote_warning(&c->arena, str_of(c->route.kind->deprecated))};
    return n;
}

void call_send_slices(struct call *c, int code, const struct http_header *h, size_t n,
                      const struct http_slice *slices, size_t n_slices)
{
    c->code = code;
    http_reply_slices(c->x, code, h, n, slices, n_slices);
}

void call_send(struct call *c, int code, const struct http_header *h, size_t n,
               struct http_slice body)
{
    call_send_slices(c, code, h, n, &body, 1);
}

void call_stream_begin(struct call *c, int code, const struct http_header *h, size_t n)
{
    c->code = code;
    http_stream_begin(c->x, code, h, n);
}

void call_reply_doc(struct call *c, int code, struct doc *d)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    call_send(c, code, h, n, slice_doc(d));
}

void call_reply_status(struct call *c, const struct status *s)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    if (s->retry_after > 0)
        h[n++] =
            (struct http_header){STR("retry-after"), arena_printf(&c->arena, "%d", s->retry_after)};
    call_send(c, s->code, h, n, slice_doc(status_doc(s)));
}

void call_reply_text(struct call *c, int code, str text)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("text/plain; charset=utf-8"), h);
    h[n++] = (struct http_header){STR("x-content-type-options"), STR("nosniff")};
    call_send(c, code, h, n, (struct http_slice){text, NULL, NULL});
}

/* ---- life of a call ---- */

static void call_free(struct call *c)
{
    turns_end(c);
    doc_unref(c->body);
    arena_done(&c->arena);
    free(c);
}

static void on_close(struct http_exchange *x)
{
    struct call *c = x->ctx;
    account_end(c, x->aborted);
    if (c->stream)
        stream_stop(c);
    if (c->listing)
        reply_stop(c);
    if (c->passing)
        kubelet_stop(c);
    c->x = NULL;
    if (!c->pending)
        call_free(c);
}

static void new_audit_id(struct front *f, char ret[UUID_TEXT_LEN + 1])
{
    uint8_t bytes[UUID_SIZE];
    loop_random(apiserver_loop(f->server), bytes, sizeof(bytes));
    uuid_format_v4(bytes, ret);
}

/* ---- what one may not do ---- */

/* As authorization sees what is asked. */
static struct access call_access(struct call *c, enum route_result r)
{
    const struct api_request *q = c->route.request;
    const struct review *review = c->route.review;
    if (r == ROUTE_NOT_API || !c->route.verb) {
        str verb = arena_str(&c->arena, c->x->method);
        for (char *p = (char *)verb.p; *p; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p;
        return (struct access){.verb = verb, .path = c->x->path};
    }
    if (review)
        return (struct access){.verb = STR("create"),
                               .group = str_of(review->group),
                               .resource = str_of(review->plural),
                               .ns = q->ns};
    struct access x = request_access(q);
    x.verb = str_of(c->route.verb);
    return x;
}

/* ---- requests ---- */

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct call *c = r->ctx;
    c->pending = false;
    turns_answered(c);
    if (!c->x)
        call_free(c);
    else if (!c->code) /* else it took too long, and was told so */
        reply_write(c, reply);
}

static struct status *read_body(struct call *c)
{
    struct status *why = NULL;
    struct api_request *q = c->route.request;
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

static bool is_token_request(const struct api_request *q)
{
    return q->kind == &kind_service_account && q->verb == API_CREATE &&
           str_is(q->subresource, "token");
}

/* Answered here: nothing is stored. */
static void serve_review(struct call *c)
{
    const struct api_request *q = c->route.request;
    struct status *why = read_body(c);
    struct doc *d = NULL;
    if (!why) {
        struct review_call r = {.authn = &c->front->authn,
                                .who = &c->who,
                                .body = doc_root(c->body),
                                .ns = q->ns,
                                .name = q->name,
                                .arena = &c->arena};
        d = c->route.review ? review_answer(c->route.review, &r, &why) : token_request(&r, &why);
    }
    if (!d) {
        call_reply_status(c, why);
        return;
    }
    struct api_reply reply = {.code = 201, .doc = d};
    reply_write(c, &reply);
    doc_unref(d);
}

static void serve_resource(struct call *c)
{
    struct api_request *q = c->route.request;
    if (c->route.is_watch) {
        stream_start(c);
        return;
    }
    if (connect_serve(c))
        return;
    struct status *why = read_body(c);
    if (why) {
        call_reply_status(c, why);
        return;
    }
    /* A binding by itself is one of the pod it names. */
    if (q->kind == &kind_binding) {
        q->kind = &kind_pod;
        q->name = jstr(jpath(c->body ? doc_root(c->body) : JVAL_ABSENT, "metadata.name"));
        q->subresource = STR("binding");
    }
    q->done = on_done;
    q->ctx = c;
    c->pending = true;
    apiserver_send(c->front->server, &c->who.user, q);
}

/* ---- fixed paths ---- */

/* A page with its hash as ETag; 304 when the client has it. */
static void serve_page(struct call *c, str content_type, str cache_control, const struct page *p)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, content_type, h);
    str tag = arena_printf(&c->arena, "\"%s\"", p->hash);
    h[1].value = cache_control;
    h[n++] = (struct http_header){STR("etag"), tag};
    h[n++] = (struct http_header){STR("vary"), STR("Accept")};
    if (str_eq(http_header_get(c->x, STR("if-none-match")), tag))
        call_send(c, 304, h, n, (struct http_slice){0});
    else
        call_send(c, 200, h, n, slice_doc(doc_ref(p->doc)));
}

static bool wants_aggregated(const struct call *c)
{
    str accept = http_header_get(c->x, STR("accept"));
    return str_find(accept, STR("g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")) >= 0;
}

static void serve_roots(struct call *c, bool core)
{
    if (wants_aggregated(c))
        serve_page(c, STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
                   STR("public"),
                   discovery_aggregated(&c->front->discovery, core,
                                        apiserver_metric_names(c->front->server)));
    else
        call_reply_doc(c, 200,
                       core ? discovery_legacy_versions(str_of(front_address(c->front)))
                            : discovery_legacy_groups(apiserver_metric_names(c->front->server)));
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
    call_reply_doc(c, 200, discovery_legacy_resources(STR(""), STR("v1"), NULL));
}

/* Where others learn how to check our tokens. */
static void serve_openid(struct call *c)
{
    static const struct {
        const char *key, *value;
    } lists[] = {
        {"response_types_supported", "id_token"},
        {"subject_types_supported", "public"},
        {"id_token_signing_alg_values_supported", "ES256"},
    };
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "issuer", TOKEN_ISSUER);
    jw_key(&w, STR("jwks_uri"));
    jw_printf(&w, "https://%s/openid/v1/jwks", front_address(c->front));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        jw_put_array(&w, lists[i].key);
        jw_str(&w, str_of(lists[i].value));
        jw_end(&w);
    }
    jw_end(&w);
    call_reply_doc(c, 200, jw_doc(&w));
}

static void serve_keys(struct call *c)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/jwk-set+json"), h);
    call_send(c, 200, h, n, slice_doc(token_key_set(c->front->authn.key)));
}

#define OPENAPI_V2_PROTO "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* The protobuf is made of the page once and copied for each client: it may change while one is
 * being sent. */
static struct http_slice openapi_v2_bytes(const struct page *p)
{
    static struct strbuf bytes;
    static uint64_t kinds = UINT64_MAX;
    if (kinds != p->kinds) {
        strbuf_done(&bytes);
        openapi_v2_proto(doc_root(p->doc), &bytes);
        kinds = p->kinds;
    }
    struct strbuf copy = STRBUF_INIT(SIZE_MAX / 2);
    strbuf_add_str(&copy, strbuf_str(&bytes));
    return slice_strbuf(&copy);
}

static void serve_openapi_v2(struct call *c)
{
    const struct page *p = openapi_v2();
    if (str_find(http_header_get(c->x, STR("accept")), STR("proto-openapi.spec.v2")) < 0) {
        serve_page(c, STR("application/json"), STR("no-cache, private"), p);
        return;
    }
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR(OPENAPI_V2_PROTO), h);
    str tag = arena_printf(&c->arena, "\"%s-P\"", p->hash);
    h[n++] = (struct http_header){STR("etag"), tag};
    h[n++] = (struct http_header){STR("vary"), STR("Accept")};
    if (str_eq(http_header_get(c->x, STR("if-none-match")), tag))
        call_send(c, 304, h, n, (struct http_slice){0});
    else
        call_send(c, 200, h, n, openapi_v2_bytes(p));
}

static void serve_openapi_index(struct call *c)
{
    serve_page(c, STR("application/json"), STR("no-cache, private"), openapi_v3_index());
}

/* With the right hash in its URL a document never changes; a wrong one is sent to the right one. */
static void serve_openapi_v3(struct call *c, const struct page *p)
{
    str hash;
    bool asked = http_query_get(&c->arena, c->x->query, STR("hash"), &hash);
    if (!asked || str_is(hash, p->hash)) {
        serve_page(c, STR("application/json"),
                   asked ? STR("public, immutable") : STR("no-cache, private"), p);
        return;
    }
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    h[n++] = (struct http_header){
        STR("location"), arena_printf(&c->arena, "%.*s?hash=%s", STR_ARG(c->x->path), p->hash)};
    h[n++] = (struct http_header){STR("etag"), arena_printf(&c->arena, "\"%s\"", p->hash)};
    h[n++] = (struct http_header){STR("vary"), STR("Accept")};
    call_send(c, 301, h, n, (struct http_slice){0});
}

static void serve_root(struct call *c);

static const struct {
    const char *path;
    void (*serve)(struct call *c);
} fixed_paths[] = {
    {"/", serve_root},
    {"/api", serve_api},
    {"/apis", serve_apis},
    {"/api/v1", serve_core_v1},
    {"/version", serve_version},
    {"/metrics", serve_metrics},
    {"/debug/journal", serve_journal},
    {"/.well-known/openid-configuration", serve_openid},
    {"/openid/v1/jwks", serve_keys},
    {"/openapi/v2", serve_openapi_v2},
    {"/openapi/v3", serve_openapi_index},
};

typedef VEC(str) str_vec;

static int compare_paths(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void add_group_paths(struct call *c, str_vec *paths)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!*k->group || kind_is(k, KIND_RETIRED))
            continue;
        *vec_push(paths) = arena_printf(&c->arena, "/apis/%s", k->group);
        *vec_push(paths) = arena_printf(&c->arena, "/apis/%s/%s", k->group, k->version);
    }
}

/* Where one can go from here. */
static void serve_root(struct call *c)
{
    static const char *const more[] = {"/healthz", "/livez", "/readyz"};
    str_vec paths = {0};
    struct jw w;
    for (size_t i = 1; i < ARRAY_LEN(fixed_paths); i++)
        *vec_push(&paths) = str_of(fixed_paths[i].path);
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        *vec_push(&paths) = str_of(more[i]);
    add_group_paths(c, &paths);
    vec_sort(&paths, compare_paths);
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "paths");
    for (size_t i = 0; i < paths.len; i++)
        if (i == 0 || !str_eq(paths.p[i], paths.p[i - 1]))
            jw_str(&w, paths.p[i]);
    jw_end(&w);
    jw_end(&w);
    vec_done(&paths);
    call_reply_doc(c, 200, jw_doc(&w));
}

/* /apis/G, /apis/G/V, /openapi/v3/...; false when it is none of them. */
static bool serve_group_path(struct call *c)
{
    str rest = c->x->path;
    struct doc *d = NULL;
    if (str_starts(rest, STR("/openapi/v3/"))) {
        rest = str_sub(rest, 12, rest.len);
        bool core = str_is(str_cut(&rest, '/'), "api");
        str group = core ? STR("") : str_cut(&rest, '/');
        const struct page *p = core || group.len > 0 ? openapi_v3(group, rest) : NULL;
        if (p)
            serve_openapi_v3(c, p);
        return p != NULL;
    }
    if (!str_starts(rest, STR("/apis/")))
        return false;
    rest = str_sub(rest, 6, rest.len);
    str group = str_cut(&rest, '/');
    d = str_is_empty(rest)
            ? discovery_legacy_group(group)
            : discovery_legacy_resources(group, rest, apiserver_metric_names(c->front->server));
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
    if (health_serve(c, path))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(fixed_paths); i++) {
        if (!str_is(path, fixed_paths[i].path))
            continue;
        if (!str_is(c->x->method, "GET") && !str_is(c->x->method, "HEAD"))
            call_reply_status(c, status_method_not_allowed(&c->arena));
        else
            fixed_paths[i].serve(c);
        return true;
    }
    return false;
}

/* ---- dispatch ---- */

static void serve_path(struct call *c)
{
    bool get = str_is(c->x->method, "GET");
    if (!serve_fixed(c) && !(get && serve_group_path(c)))
        call_reply_text(c, 404, STR("404 page not found\n"));
}

static void serve_route(struct call *c)
{
    enum route_result r = c->routed;
    struct access x = call_access(c, r);
    struct status *denied = authorize_status(c->front->server, &c->arena, &c->who.user, &x);
    if (denied) {
        call_reply_status(c, denied);
        return;
    }
    switch (r) {
    case ROUTE_RESOURCE:
        if (is_token_request(c->route.request))
            serve_review(c);
        else
            serve_resource(c);
        break;
    case ROUTE_REVIEW:
        serve_review(c);
        break;
    case ROUTE_FAILED:
        call_reply_status(c, c->unroutable);
        break;
    case ROUTE_NOT_API:
        serve_path(c);
        break;
    }
}

void call_serve(struct call *c)
{
    if (!metrics_api_serve(c))
        serve_route(c);
}

static void serve(struct call *c)
{
    struct status *why = authn_request(&c->front->authn, c->x, &c->arena, &c->who);
    /* To look at a credential is work: those who have none should not make us do it at will. */
    if (why)
        http_pause(c->x, WRONG_PAUSE);
    else if (c->x->body.len > FRONT_BODY_MAX)
        why = status_new(&c->arena, 413, "RequestEntityTooLarge",
                         "Request entity too large: limit is %d", FRONT_BODY_MAX);
    if (why) {
        call_reply_status(c, why);
        return;
    }
    c->routed = route_parse(c->x, &c->arena, &c->route, &c->unroutable);
    turns_enter(c);
}

static void on_request(void *ctx, struct http_exchange *x)
{
    struct call *c = xnew(struct call);
    c->front = ctx;
    c->x = x;
    arena_init(&c->arena);
    new_audit_id(c->front, c->audit_id);
    account_begin(c);
    turns_begin(c);
    x->ctx = c;
    x->on_close = on_close;
    serve(c);
}

/* ---- life cycle ---- */

struct front *front_new(struct apiserver *a, const struct front_options *o, struct err *err)
{
    struct front *f = xnew(struct front);
    /* A little more than a body may have, so that the answer to one that is too large is a Status;
     * the connection refuses what is far too large on its own. */
    struct http_limits limits = http_default_limits;
    limits.max_body = FRONT_BODY_MAX + (1 << 20);
    f->server = a;
    turns_init(f, &o->limits);
    limits.max_connections = f->limits.connections;
    limits.max_held = f->limits.memory;
    struct http_server_options so = {.listen = o->listen,
                                     .tls = o->tls,
                                     .limits = &limits,
                                     .handler = on_request,
                                     .ctx = f,
                                     .on_gone = turns_gone,
                                     .is_greedy = turns_is_greedy};
    f->kubelets = kubelets_new(apiserver_loop(a));
    f->journal = o->journal;
    f->began = loop_now(apiserver_loop(a));
    if (authn_init(&f->authn, a, o->admin_token, o->sa_key, err) == 0)
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

int front_set_kubelet_client(struct front *f, str ca_pem, str cert_pem, str key_pem,
                             struct err *err)
{
    return kubelets_set(f->kubelets, ca_pem, cert_pem, key_pem, err);
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
    turns_done(f);
    kubelets_free(f->kubelets);
    authn_done(&f->authn);
    discovery_pages_done(&f->discovery);
    free(f);
}
