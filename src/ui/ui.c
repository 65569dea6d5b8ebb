/* See ui.h. One struct visit per request that is not answered at once: a stream, or a question. */
#include "ui/ui.h"

#include <zlib.h>

#include "base/strbuf.h"
#include "explain/documents/manifest.h"
#include "net/http.h"
#include "ui/assets.h"
#include "ui/browser.h"
#include "ui/login.h"
#include "ui/questions.h"
#include "ui/source.h"

/* The caches stop so long after the last stream ended: a page that is loaded again finds them. */
#define LINGER (30 * USEC_PER_SEC)
/* A wrong token is answered, and its connection then heard no more for so long. */
#define GUESS_PAUSE (1 * USEC_PER_SEC)
enum { STREAM_AHEAD = 512 << 10, MAX_HEADERS = 16, SLICES = 64 };

static const struct http_limits limits = {
    .max_body = UI_MAX_BODY,
    .max_header_bytes = 16 << 10,
    .max_headers = 64,
    .max_connections = 128,
    .max_streams = 64,
    .max_pending = 8 << 20,
    .low_water = 64 << 10,
    .idle_timeout = 120 * USEC_PER_SEC,
    .header_timeout = 10 * USEC_PER_SEC,
    .max_held = 64 << 20,
};

/* Of every answer: nothing but the page's own files is loaded, run, framed or kept. */
static const struct http_header always[] = {
    {STR_INIT("content-security-policy"),
     STR_INIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
              "require-trusted-types-for 'script'; trusted-types 'none'")},
    {STR_INIT("x-frame-options"), STR_INIT("DENY")},
    {STR_INIT("x-content-type-options"), STR_INIT("nosniff")},
    {STR_INIT("referrer-policy"), STR_INIT("no-referrer")},
    {STR_INIT("cross-origin-opener-policy"), STR_INIT("same-origin")},
    {STR_INIT("cross-origin-resource-policy"), STR_INIT("same-origin")},
    {STR_INIT("permissions-policy"),
     STR_INIT("camera=(), microphone=(), geolocation=(), clipboard-read=()")},
};

struct ui {
    struct loop *loop;
    struct ui_options options;
    struct http_server *server;
    struct strbuf address;
    struct login login;
    struct browser browser;
    struct board board;
    struct source *source;
    struct asker *asker;
    struct list streams; /* struct visit.link */
    size_t n_streams;
    struct loop_timer linger;
};

struct visit {
    struct ui *ui;
    struct http_exchange *x;
    struct list link;              /* streams */
    struct login_session *session; /* streams */
    struct board_cursor cursor;
};

/* ---- answers ---- */

static void reply(struct http_exchange *x, int status, const char *type, str body)
{
    struct http_header h[MAX_HEADERS];
    size_t n = ARRAY_LEN(always);
    memcpy(h, always, sizeof(always));
    h[n++] = (struct http_header){STR("content-type"), str_of(type)};
    h[n++] = (struct http_header){STR("cache-control"), STR("no-store")};
    http_reply(x, status, h, n, (struct http_slice){.data = body});
}

/* A sentence that the page shows. */
static void refuse(struct http_exchange *x, int status, const char *why)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "error", why);
    jw_end(&w);
    reply(x, status, "application/json", strbuf_str(&w.out));
    jw_done(&w);
}

/* ---- the files ---- */

static bool inflate_asset(const struct asset *a, struct strbuf *out)
{
    z_stream z = {.next_in = (unsigned char *)a->gzip, .avail_in = (unsigned)a->gzip_len};
    char *room = strbuf_reserve(out, a->len);
    if (!room || inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    z.next_out = (unsigned char *)room;
    z.avail_out = (unsigned)a->len;
    bool done = inflate(&z, Z_FINISH) == Z_STREAM_END;
    strbuf_commit(out, z.total_out);
    (void)inflateEnd(&z);
    return done;
}

static void serve_asset(struct http_exchange *x, const struct asset *a)
{
    struct strbuf whole = STRBUF_INIT(a->len + 1);
    struct http_header h[MAX_HEADERS];
    size_t n = ARRAY_LEN(always);
    bool zipped = http_accepts_gzip(x);
    str etag = str_of(a->etag);
    memcpy(h, always, sizeof(always));
    h[n++] = (struct http_header){STR("content-type"), str_of(a->type)};
    h[n++] = (struct http_header){STR("cache-control"), STR("no-cache")};
    h[n++] = (struct http_header){STR("etag"), etag};
    h[n++] = (struct http_header){STR("vary"), STR("accept-encoding")};
    if (str_eq(http_header_get(x, STR("if-none-match")), etag)) {
        http_reply(x, 304, h, n, (struct http_slice){0});
    } else if (zipped) {
        h[n++] = (struct http_header){STR("content-encoding"), STR("gzip")};
        http_reply(x, 200, h, n,
                   (struct http_slice){.data = str_n((const char *)a->gzip, a->gzip_len)});
    } else if (inflate_asset(a, &whole)) {
        http_reply(x, 200, h, n, (struct http_slice){.data = strbuf_str(&whole)});
    } else {
        refuse(x, 500, "the page cannot be read from the program");
    }
    strbuf_done(&whole);
}

/* ---- the stream ---- */

static void write_line(struct http_exchange *x, str line)
{
    http_stream_write(x, &(struct http_slice){.data = line}, 1);
}

/* Up to the end of the board, or as far ahead of the reader as is good. */
static void stream_pump(struct visit *v)
{
    const struct board_item *it;
    bool anew;
    size_t sent = 0;
    while (http_stream_pending(v->x) < STREAM_AHEAD &&
           (it = board_next(&v->ui->board, &v->cursor, &anew))) {
        if (anew)
            write_line(v->x, STR("{\"name\":\"anew\"}\n"));
        it->text->refs++;
        struct http_slice slice = {.data = str_n(it->text->bytes, it->text->len),
                                   .owner = it->text,
                                   .drop = board_text_unref};
        http_stream_write(v->x, &slice, 1);
        sent++;
    }
    /* What belongs together has been told: the page may draw. */
    if (sent && http_stream_pending(v->x) < STREAM_AHEAD)
        write_line(v->x, STR("{\"name\":\"now\"}\n"));
}

static void on_news(void *ctx)
{
    struct ui *u = ctx;
    list_foreach (at, &u->streams)
        stream_pump(list_entry(at, struct visit, link));
}

static void on_stream_drain(struct http_exchange *x)
{
    stream_pump(x->ctx);
}

static void on_stream_close(struct http_exchange *x)
{
    struct visit *v = x->ctx;
    struct ui *u = v->ui;
    list_remove(&v->link);
    v->session->streams--;
    v->session->used = loop_now(u->loop);
    if (--u->n_streams == 0)
        loop_timer_set(&u->linger, loop_now(u->loop) + LINGER);
    free(v);
}

static void on_linger(struct loop_timer *t)
{
    struct ui *u = container_of(t, struct ui, linger);
    if (u->n_streams == 0)
        source_stop(u->source);
}

static void serve_stream(struct ui *u, struct http_exchange *x, struct login_session *session)
{
    struct http_header h[MAX_HEADERS];
    size_t n = ARRAY_LEN(always);
    if (u->n_streams >= UI_MAX_STREAMS || session->streams >= UI_MAX_SESSION_STREAMS) {
        refuse(x, 429, "this page is open in too many places; close one");
        return;
    }
    struct visit *v = xnew(struct visit);
    *v = (struct visit){.ui = u, .x = x, .session = session};
    x->ctx = v;
    x->on_close = on_stream_close;
    x->on_drain = on_stream_drain;
    list_push_back(&u->streams, &v->link);
    u->n_streams++;
    session->streams++;
    loop_timer_cancel(&u->linger);
    memcpy(h, always, sizeof(always));
    h[n++] = (struct http_header){STR("content-type"), STR("application/x-ndjson")};
    h[n++] = (struct http_header){STR("cache-control"), STR("no-store")};
    http_stream_begin(x, 200, h, n);
    http_drop_headers(x);
    source_start(u->source);
    stream_pump(v);
}

/* ---- questions ---- */

static void on_answer(void *ctx, const struct ask_answer *a)
{
    struct visit *v = ctx;
    struct err ignored = ERR_INIT;
    struct doc *d = a->document.len ? doc_parse(a->document, NULL, &ignored) : NULL;
    struct http_exchange *x = v->x;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "code", a->code);
    if (d)
        jw_put(&w, "document", doc_root(d));
    jw_put_str(&w, "error", a->error);
    jw_end(&w);
    doc_unref(d);
    x->on_close = NULL;
    free(v);
    reply(x, 200, "application/json", strbuf_str(&w.out));
    jw_done(&w);
}

/* The page left before the answer came. */
static void on_ask_close(struct http_exchange *x)
{
    struct visit *v = x->ctx;
    asker_forget(v->ui->asker, v);
    free(v);
}

/* The forecast of an update: the plan of the set as it is. */
static struct doc *forecast(struct ui *u, struct ask *q)
{
    const struct obj *pcs = source_set(u->source, q->ns, q->name);
    struct doc *d = pcs ? manifest_strip(pcs) : NULL;
    q->question = STR("plan");
    q->manifest = d ? doc_text(d) : STR_NONE;
    return d;
}

static void serve_ask(struct ui *u, struct http_exchange *x, jval body)
{
    struct err err = ERR_INIT;
    struct doc *manifest = NULL;
    struct visit *v = xnew(struct visit);
    struct ask q = {.question = jstr(jgetc(body, "question")),
                    .kind = jstr(jgetc(body, "kind")),
                    .ns = jstr(jgetc(body, "namespace")),
                    .name = jstr(jgetc(body, "name")),
                    .manifest = jstr(jgetc(body, "manifest")),
                    .done = on_answer,
                    .ctx = v};
    if (ask_writes(q.question) && !u->options.may_write) {
        free(v);
        refuse(x, 403, "you may not change sets");
        return;
    }
    *v = (struct visit){.ui = u, .x = x};
    x->ctx = v;
    x->on_close = on_ask_close;
    if (str_is(q.question, "forecast"))
        manifest = forecast(u, &q);
    int r = asker_ask(u->asker, &q, &err);
    doc_unref(manifest);
    if (r == 0)
        return;
    x->on_close = NULL;
    free(v);
    refuse(x, err.code == ERR_UNAVAILABLE ? 429 : 400, err.message);
}

/* ---- who asks ---- */

/* Our own name: what a rebound name of somebody else's would not say. */
static bool is_own_host(const struct ui *u, str host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    str own = str_of(http_server_address(u->server));
    ptrdiff_t colon = str_rfind_char(own, ':');
    str port = str_sub(own, (size_t)colon, own.len);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        str name = str_of(names[i]);
        if (host.len == name.len + port.len && str_starts(host, name) && str_ends(host, port))
            return true;
    }
    return str_eq(host, own);
}

static bool is_own_origin(const struct http_exchange *x, str host)
{
    str origin = http_header_get(x, STR("origin")), scheme = STR("http://");
    if (origin.len == 0)
        return true;
    return str_starts(origin, scheme) && str_eq(str_sub(origin, scheme.len, origin.len), host);
}

/* What browsers say of where a request comes from. Somebody else's page may have a link to ours and
 * nothing more. */
static bool is_own_site(const struct http_exchange *x)
{
    str site = http_header_get(x, STR("sec-fetch-site"));
    str dest = http_header_get(x, STR("sec-fetch-dest"));
    if (str_is(dest, "iframe") || str_is(dest, "frame") || str_is(dest, "embed") ||
        str_is(dest, "object"))
        return false;
    return site.len == 0 || str_is(site, "same-origin") || str_is(site, "none") ||
           (str_is(dest, "document") && str_is(x->path, "/"));
}

static void serve_login(struct ui *u, struct http_exchange *x, jval body)
{
    str token = jstr(jgetc(body, "token"));
    struct login_session *s = login_redeem(&u->login, token);
    struct jw w;
    if (!s) {
        refuse(x, 401,
               "this address was used already, or is of a server that has ended; `grove ui` opens "
               "a new one");
        http_pause(x, GUESS_PAUSE);
        return;
    }
    browser_used(&u->browser, token);
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "session", s->id);
    jw_end(&w);
    reply(x, 200, "application/json", strbuf_str(&w.out));
    jw_done(&w);
}

static void serve_logout(struct ui *u, struct http_exchange *x, struct login_session *s)
{
    login_end(s);
    list_foreach (at, &u->streams) {
        struct visit *v = list_entry(at, struct visit, link);
        if (v->session == s)
            http_abort(v->x);
    }
    reply(x, 200, "application/json", STR("{}"));
}

/* The body, or NULL: it is not JSON and was refused. */
static struct doc *read_body(struct http_exchange *x)
{
    struct err err = ERR_INIT;
    str type = http_header_get(x, STR("content-type"));
    struct doc *d = NULL;
    if (!str_starts(type, STR("application/json")))
        refuse(x, 415, "the body must be application/json");
    else if (!(d = doc_parse(x->body, NULL, &err)))
        refuse(x, 400, err.message);
    return d;
}

static void serve_api(struct ui *u, struct http_exchange *x)
{
    bool session = str_is(x->path, "/api/session"), post = str_is(x->method, "POST");
    bool stream = str_is(x->path, "/api/stream"), ask = str_is(x->path, "/api/ask");
    struct login_session *s = login_find(&u->login, http_header_get(x, STR("grove-session")));
    if (session && str_is(x->method, "DELETE") && s) {
        serve_logout(u, x, s);
    } else if (!s && !(session && post)) {
        refuse(x, 401, "no session; `grove ui` opens the page anew");
    } else if (stream && str_is(x->method, "GET")) {
        serve_stream(u, x, s);
    } else if ((session || ask) && post) {
        struct doc *body = read_body(x);
        if (body && session)
            serve_login(u, x, doc_root(body));
        else if (body)
            serve_ask(u, x, doc_root(body));
        doc_unref(body);
    } else {
        refuse(x, session || stream || ask ? 405 : 404, "there is nothing here");
    }
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct ui *u = ctx;
    str host = http_header_get(x, STR("host"));
    if (!is_own_host(u, host)) {
        refuse(x, 421, "this server is known by another name: use the address that was printed");
    } else if (!is_own_origin(x, host) || !is_own_site(x)) {
        refuse(x, 403, "the page answers itself only, not other sites");
    } else if (str_starts(x->path, STR("/api/"))) {
        serve_api(u, x);
    } else if (!str_is(x->method, "GET") && !str_is(x->method, "HEAD")) {
        refuse(x, 405, "the page is read only");
    } else {
        for (const struct asset *a = assets; a->path; a++) {
            if (str_is(x->path, a->path)) {
                serve_asset(x, a);
                return;
            }
        }
        refuse(x, 404, "there is nothing here");
    }
}

/* ---- life ---- */

static bool make_item(void *ctx, str name, struct jw *w, struct arena *a)
{
    return source_make(((struct ui *)ctx)->source, name, w, a);
}

/* Plain HTTP does not leave the machine. */
static int check_listen(const char *listen, struct err *err)
{
    str s = str_of(listen);
    if (str_starts(s, STR("127.")) || str_starts(s, STR("[::1]:")) ||
        str_starts(s, STR("localhost:")))
        return 0;
    return err_set(err, ERR_USAGE,
                   "--ui-listen %s: the page is plain HTTP and is served on loopback addresses "
                   "only, e.g. 127.0.0.1:8001; from elsewhere forward that port (ssh -L)",
                   listen);
}

struct ui *ui_new(struct loop *l, const struct ui_options *o, struct err *err)
{
    struct ui *u = xnew(struct ui);
    const char *listen = o->listen ? o->listen : "127.0.0.1:0";
    u->loop = l;
    u->options = *o;
    strbuf_init(&u->address, 256);
    list_init(&u->streams);
    login_init(&u->login, l);
    browser_init(&u->browser, l);
    loop_timer_init(l, &u->linger, on_linger);
    board_init(&u->board, l,
               &(struct board_options){.make = make_item, .on_news = on_news, .ctx = u});
    u->source = source_new(l, &(struct source_options){.api = o->api,
                                                       .ns = o->ns,
                                                       .server = o->server,
                                                       .may_write = o->may_write,
                                                       .board = &u->board});
    u->asker =
        asker_new(l, &(struct asker_options){.kubeconfig = o->kubeconfig, .context = o->context});
    if (check_listen(listen, err) == 0)
        u->server =
            http_server_new(l,
                            &(struct http_server_options){
                                .listen = listen, .limits = &limits, .handler = handle, .ctx = u},
                            err);
    if (u->server)
        return u;
    ui_free(u);
    return NULL;
}

const char *ui_address(struct ui *u)
{
    strbuf_reset(&u->address);
    strbuf_printf(&u->address, "http://%s/#%s", http_server_address(u->server),
                  login_token(&u->login));
    return u->address.p;
}

void ui_open_browser(struct ui *u)
{
    browser_open(&u->browser, u->address.p);
}

void ui_free(struct ui *u)
{
    if (!u)
        return;
    /* Requests that end here still take their questions back and end their streams. */
    http_server_free(u->server);
    asker_free(u->asker);
    loop_timer_cancel(&u->linger);
    source_free(u->source);
    board_done(&u->board);
    browser_done(&u->browser);
    strbuf_done(&u->address);
    free(u);
}
