/* See test-front-fixture.h. */
#include "apiserver/front/test-front-fixture.h"

void web_init(struct web *w)
{
    struct err err = ERR_INIT;
    *w = (struct web){.token = WEB_TOKEN};
    fixture_init(&w->f);
    struct front_options o = {.admin_token = STR(WEB_TOKEN)};
    w->front = front_new(w->f.server, &o, &err);
    REQUIRE(w->front);
    front_set_ready(w->front, true);
    w->pipe = (struct front_pipe){w->f.loop, w->front->http, 64 << 10};
    w->client = front_pipe_client(&w->pipe);
    strbuf_init(&w->headers, 1 << 20);
    strbuf_init(&w->body, WEB_MAX);
}

void web_done(struct web *w)
{
    http_client_free(w->client);
    fixture_run(&w->f, USEC_PER_SEC);
    CHECK_INT(w->front->n_calls, 0);
    CHECK_INT(w->front->n_watches, 0);
    front_free(w->front);
    doc_unref(w->doc);
    strbuf_done(&w->headers);
    strbuf_done(&w->body);
    fixture_done(&w->f);
}

/* ---- requests ---- */

struct asking {
    struct http_call call;
    struct web *web;
    bool ended, failed;
};

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct web *w = container_of(c, struct asking, call)->web;
    w->code = status;
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&w->headers, "%.*s: %.*s\n", STR_ARG(h[i].name), STR_ARG(h[i].value));
}

static void on_data(struct http_call *c, str data)
{
    strbuf_add_str(&container_of(c, struct asking, call)->web->body, data);
}

static void on_end(struct http_call *c, const struct err *err)
{
    struct asking *q = container_of(c, struct asking, call);
    q->ended = true;
    q->failed = err != NULL;
    if (err)
        test_note("%s", err->message);
}

static size_t put_headers(const struct web *w, struct http_header h[4], char *auth, size_t size)
{
    size_t n = 0;
    if (w->token) {
        (void)snprintf(auth, size, "Bearer %s", w->token);
        h[n++] = (struct http_header){STR("authorization"), str_of(auth)};
    }
    if (w->accept)
        h[n++] = (struct http_header){STR("accept"), str_of(w->accept)};
    if (w->content_type)
        h[n++] = (struct http_header){STR("content-type"), str_of(w->content_type)};
    if (w->header)
        h[n++] = (struct http_header){str_of(w->header), str_of(w->header_value)};
    return n;
}

int ask_bytes(struct web *w, const char *method, const char *path, str body)
{
    char auth[4096];
    struct http_header h[4];
    struct asking q = {.web = w};
    strbuf_reset(&w->headers);
    strbuf_reset(&w->body);
    doc_unref(w->doc);
    w->doc = NULL;
    w->code = 0;
    q.call = (struct http_call){.method = str_of(method),
                                .path = str_of(path),
                                .headers = h,
                                .n_headers = put_headers(w, h, auth, sizeof(auth)),
                                .body = body,
                                .timeout = 60 * USEC_PER_SEC,
                                .on_headers = on_headers,
                                .on_data = on_data,
                                .on_end = on_end};
    http_client_send(w->client, &q.call);
    for (int i = 0; i < 100000 && !q.ended; i++)
        fixture_run(&w->f, USEC_PER_MSEC);
    REQUIRE(q.ended);
    w->doc = doc_parse(strbuf_str(&w->body), NULL, NULL);
    return q.failed ? 0 : w->code;
}

int ask(struct web *w, const char *method, const char *path, const char *body)
{
    char *text = body ? xstrdup(body) : NULL;
    for (char *p = text; p && *p; p++)
        if (*p == '\'')
            *p = '"';
    int code = ask_bytes(w, method, path, str_of(text));
    free(text);
    return code;
}

/* ---- answers ---- */

static str find_header(const struct web *w, const char *name, size_t *ret_n)
{
    str rest = strbuf_str(&w->headers), first = STR_NONE;
    *ret_n = 0;
    while (rest.p && rest.len) {
        str value = str_cut(&rest, '\n'), key = str_cut(&value, ':');
        if (str_is(key, name) && (*ret_n)++ == 0)
            first = str_trim(value);
    }
    return first;
}

str header(struct web *w, const char *name)
{
    size_t n;
    return find_header(w, name, &n);
}

size_t n_headers(struct web *w, const char *name)
{
    size_t n;
    (void)find_header(w, name, &n);
    return n;
}

str member(struct web *w, const char *path)
{
    jval v = w->doc ? jpath(doc_root(w->doc), path) : JVAL_ABSENT;
    if (jtype(v) == J_STRING)
        return jstr(v);
    return j_is_absent(v) ? STR_NONE : jtext(v);
}

str body(const struct web *w)
{
    return strbuf_str(&w->body);
}

void check_status(struct web *w, int code, const char *reason, const char *message)
{
    CHECK_INT(w->code, code);
    CHECK_CSTR(header(w, "content-type"), "application/json");
    CHECK_CSTR(member(w, "kind"), "Status");
    CHECK_CSTR(member(w, "apiVersion"), "v1");
    CHECK_CSTR(member(w, "status"), "Failure");
    CHECK_CSTR(member(w, "reason"), reason);
    CHECK_CSTR(member(w, "message"), message);
    CHECK_INT(jint(jgetc(doc_root(w->doc), "code"), 0), code);
}

/* ---- watches ---- */

static void watch_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    container_of(c, struct web_watch, call)->code = status;
}

static void watch_data(struct http_call *c, str data)
{
    strbuf_add_str(&container_of(c, struct web_watch, call)->text, data);
}

static void watch_end(struct http_call *c, const struct err *err)
{
    struct web_watch *x = container_of(c, struct web_watch, call);
    x->ended = true;
    x->failed = err != NULL;
}

void watch_open(struct web_watch *x, struct web *w, const char *path)
{
    static char auth[4096];
    *x = (struct web_watch){.web = w};
    strbuf_init(&x->text, WEB_MAX);
    arena_init(&x->arena);
    x->call = (struct http_call){.method = STR("GET"),
                                 .path = str_of(path),
                                 .headers = x->headers,
                                 .n_headers = put_headers(w, x->headers, auth, sizeof(auth)),
                                 .on_headers = watch_headers,
                                 .on_data = watch_data,
                                 .on_end = watch_end};
    http_client_send(w->client, &x->call);
    for (int i = 0; i < 1000 && !x->code && !x->ended; i++)
        fixture_run(&w->f, USEC_PER_MSEC);
}

size_t watch_lines(const struct web_watch *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->text.len; i++)
        n += x->text.p[i] == '\n';
    return n;
}

size_t watch_wait(struct web_watch *x, size_t lines)
{
    for (int i = 0; i < 1000 && !x->ended && watch_lines(x) < lines; i++)
        fixture_run(&x->web->f, USEC_PER_MSEC);
    return watch_lines(x);
}

jval watch_line(struct web_watch *x, size_t i)
{
    str rest = strbuf_str(&x->text), line = STR_NONE;
    for (size_t j = 0; j <= i; j++)
        line = str_cut(&rest, '\n');
    struct doc *d = doc_hold(&x->arena, doc_parse(line, NULL, NULL));
    REQUIRE(d);
    return doc_root(d);
}

str watch_word(struct web_watch *x, size_t i)
{
    if (i >= watch_lines(x))
        return STR("nothing");
    jval v = watch_line(x, i);
    str type = jstr(jgetc(v, "type")), name = jstr(jpath(v, "object.metadata.name"));
    if (str_is(type, "ERROR"))
        return arena_printf(&x->arena, "ERROR %lld", (long long)jint(jpath(v, "object.code"), 0));
    return arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(type), name.len ? " " : "", STR_ARG(name));
}

void watch_close(struct web_watch *x)
{
    if (!x->ended)
        http_client_cancel(x->web->client, &x->call);
    fixture_run(&x->web->f, 10 * USEC_PER_MSEC);
    strbuf_done(&x->text);
    arena_done(&x->arena);
}
