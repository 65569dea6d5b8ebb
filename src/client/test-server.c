/* See test-server.h. */
#include "client/test-server.h"

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

static void on_closed(struct http_exchange *x)
{
    struct sr *r = x->ctx;
    if (r->stream == x)
        r->stream = NULL;
}

struct http_slice sr_slice(str s)
{
    return (struct http_slice){.data = s};
}

static void note_request(struct sr *r, const struct http_exchange *x)
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
    struct sr *r = ctx;
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
        http_reply(x, s->status, headers, n, sr_slice(str_of(s->body)));
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
    struct sr *r = container_of(t, struct sr, late);
    r->is_late = true;
    loop_stop(r->loop, 0);
}

void sr_serve(struct sr *r)
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

void sr_init(struct sr *r)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct sr){.loop = loop_new_real(NULL),
                     .log = STRBUF_INIT(1 << 20),
                     .heads = STRBUF_INIT(1 << 16),
                     .dir = "/tmp/grove-remote-XXXXXX"};
    REQUIRE(r->loop && mkdtemp(r->dir));
    loop_timer_init(r->loop, &r->late, on_late);
}

void sr_open(struct sr *r, const struct remote_options *o)
{
    struct err err = ERR_INIT;
    r->api = api_remote_open(r->loop, &r->k, o, &err);
    if (!r->api)
        test_note("%s", err.message);
    REQUIRE(r->api);
}

void sr_done(struct sr *r)
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

void sr_on_done(struct api_request *q, const struct api_reply *reply)
{
    struct sr_got *g = q->ctx;
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

void sr_run(struct sr *r, usec at_most)
{
    r->is_late = false;
    loop_timer_set(&r->late, loop_now(r->loop) + at_most);
    (void)loop_run(r->loop);
    loop_timer_cancel(&r->late);
}

void sr_ask(struct sr *r, struct api_request q, struct sr_got *g)
{
    *g = (struct sr_got){.rig = r};
    q.done = sr_on_done;
    q.ctx = g;
    api_send(r->api, &q);
    CHECK_INT(g->n, 0); /* never from inside */
    sr_run(r, 20 * USEC_PER_SEC);
    REQUIRE(g->n == 1);
}

struct api_request sr_get_cm(void)
{
    return (struct api_request){.verb = API_GET, .kind = CM, .ns = STR("ns"), .name = STR("a")};
}

struct api_request sr_create_cm(struct sr *r)
{
    struct api_request q = {.verb = API_CREATE, .kind = CM, .ns = STR("ns"), .name = STR("a")};
    q.body =
        doc_hold(&r->arena, doc_parse(STR("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}"),
                                      NULL, NULL));
    return q;
}
