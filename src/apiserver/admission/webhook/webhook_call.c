/*
 * One question to a webhook over HTTPS.
 *
 * Connections are kept: there is one HTTP client per address, certificate name and CA, the least
 * recently used one without a call makes room for another. Answers end a call from a task of its
 * own, so that whoever goes on may use, and free, any client.
 *
 * What a webhook can do to us is bounded: a call ends at its time-out, an answer above its limit
 * ends it at once, redirects are not followed, and so many calls are open at most.
 */
#include "apiserver/admission/webhook.h"
#include "net/tls.h"

#define ANSWER_MAX ((size_t)8 << 20)
#define CLIENTS_MAX 64
#define CALLS_MAX 2000

struct hook_client {
    struct list link; /* most recently used first */
    struct http_client *http;
    struct tls_client *tls;
    char *host, *server_name;
    int port;
    str ca_pem; /* a copy */
    size_t calls;
    bool used; /* a call was answered: connections may be kept */
};

struct hook_pool {
    struct loop *loop;
    struct list clients;
    size_t n_clients;
    size_t n_calls;
};

/* ---- connections ---- */

static void client_free(struct hook_pool *p, struct hook_client *c)
{
    list_remove(&c->link);
    p->n_clients--;
    if (c->http)
        http_client_free(c->http);
    tls_client_free(c->tls);
    free(c->host);
    free(c->server_name);
    free((char *)c->ca_pem.p);
    free(c);
}

static bool client_is_for(const struct hook_client *c, const struct hook_place *w)
{
    return c->port == w->port && str_is(w->host, c->host) &&
           str_is(w->server_name, c->server_name) && str_eq(c->ca_pem, w->ca_pem);
}

static void make_room(struct hook_pool *p)
{
    struct list *at = p->clients.prev;
    while (p->n_clients >= CLIENTS_MAX && at != &p->clients) {
        struct hook_client *c = container_of(at, struct hook_client, link);
        at = at->prev;
        if (!c->calls)
            client_free(p, c);
    }
}

static struct hook_client *client_new(struct hook_pool *p, const struct hook_place *w,
                                      struct err *err)
{
    struct tls_client *tls = tls_client_new(w->ca_pem, STR_NONE, STR_NONE, false, err);
    if (!tls)
        return NULL;
    make_room(p);
    struct hook_client *c = xnew(struct hook_client);
    c->tls = tls;
    c->host = str_dup(w->host);
    c->server_name = str_dup(w->server_name);
    c->port = w->port;
    c->ca_pem = str_n(str_dup(w->ca_pem), w->ca_pem.len);
    c->http = http_client_new(p->loop, &(struct http_client_options){.host = c->host,
                                                                     .port = c->port,
                                                                     .tls = tls,
                                                                     .server_name = c->server_name,
                                                                     .max_connections = 16});
    list_push_front(&p->clients, &c->link);
    p->n_clients++;
    return c;
}

static struct hook_client *client_of(struct hook_pool *p, const struct hook_place *w,
                                     struct err *err)
{
    list_foreach (it, &p->clients) {
        struct hook_client *c = container_of(it, struct hook_client, link);
        if (!client_is_for(c, w))
            continue;
        list_remove(&c->link);
        list_push_front(&p->clients, &c->link);
        return c;
    }
    return client_new(p, w, err);
}

struct hook_pool *hook_pool_new(struct loop *l)
{
    struct hook_pool *p = xnew(struct hook_pool);
    p->loop = l;
    list_init(&p->clients);
    return p;
}

void hook_pool_free(struct hook_pool *p)
{
    if (!p)
        return;
    BUG_ON(p->n_calls);
    while (!list_is_empty(&p->clients))
        client_free(p, container_of(p->clients.next, struct hook_client, link));
    free(p);
}

/* ---- calls ---- */

static void call_release(struct hook_call *c)
{
    if (!c->is_open)
        return;
    c->is_open = false;
    c->pool->n_calls--;
    if (c->client)
        c->client->calls--;
    c->client = NULL;
    loop_task_cancel(&c->task);
    strbuf_done(&c->data);
}

static void end_task(struct loop_task *t)
{
    struct hook_call *c = container_of(t, struct hook_call, task);
    c->answer.body = arena_str(c->arena, strbuf_str(&c->data));
    call_release(c);
    c->done(c);
}

static void end_later(struct hook_call *c)
{
    loop_task_init(&c->task, end_task);
    loop_defer(c->pool->loop, LOOP_APPLY, &c->task);
}

static void on_headers(struct http_call *h, int status, const struct http_header *headers, size_t n)
{
    struct hook_call *c = h->ctx;
    c->answer.code = status;
    c->answer.content_type = arena_str(c->arena, http_header_find(headers, n, STR("content-type")));
}

static void too_large_task(struct loop_task *t)
{
    struct hook_call *c = container_of(t, struct hook_call, task);
    http_client_cancel(c->client->http, &c->http);
    strbuf_reset(&c->data);
    c->why = arena_printf(c->arena,
                          "failed to call webhook: Post \"%.*s\": the answer is larger "
                          "than %zu bytes",
                          STR_ARG(c->place.url), ANSWER_MAX);
    call_release(c);
    c->done(c);
}

static void on_data(struct http_call *h, str data)
{
    struct hook_call *c = h->ctx;
    strbuf_add_str(&c->data, data);
    if (c->data.overflow && !list_is_linked(&c->task.link)) {
        loop_task_init(&c->task, too_large_task);
        loop_defer(c->pool->loop, LOOP_APPLY, &c->task);
    }
}

/* As Go words it, where it is a thing that everybody knows. */
static str reason_of(struct hook_call *c, const struct err *err)
{
    str text = str_of(err->message);
    if (err->code == ERR_TIMEOUT)
        return STR("context deadline exceeded");
    if (str_starts(text, STR("connect: ")))
        return arena_printf(c->arena, "dial tcp %.*s:%d: %.*s", STR_ARG(c->place.host),
                            c->place.port, STR_ARG(text));
    return arena_str(c->arena, text);
}

static void on_end(struct http_call *h, const struct err *err);

static void send_call(struct hook_call *c)
{
    static const struct http_header headers[] = {
        {STR_INIT("content-type"), STR_INIT("application/json")},
        {STR_INIT("accept"), STR_INIT("application/json, */*")},
        {STR_INIT("user-agent"), STR_INIT("kube-apiserver-admission")},
    };
    usec left = c->due - loop_now(c->pool->loop);
    c->answer = (struct hook_answer){0};
    strbuf_reset(&c->data);
    c->http = (struct http_call){
        .method = STR("POST"),
        .path = c->place.path,
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
        .body = c->body,
        .timeout = MAX(left, (usec)1),
        .on_headers = on_headers,
        .on_data = on_data,
        .on_end = on_end,
        .ctx = c,
    };
    http_client_send(c->client->http, &c->http);
}

static void retry_task(struct loop_task *t)
{
    send_call(container_of(t, struct hook_call, task));
}

/* A kept connection may be closed by the other side just as we use it: asking is without effect, so
 * it is done once more. */
static void on_end(struct http_call *h, const struct err *err)
{
    struct hook_call *c = h->ctx;
    if (list_is_linked(&c->task.link))
        return; /* too large: it ends by that */
    if (err && err->code == ERR_IO && c->client->used && !c->is_retry && !c->answer.code) {
        c->is_retry = true;
        loop_task_init(&c->task, retry_task);
        loop_defer(c->pool->loop, LOOP_APPLY, &c->task);
        return;
    }
    if (err)
        c->why = arena_printf(c->arena, "failed to call webhook: Post \"%.*s\": %.*s",
                              STR_ARG(c->place.url), STR_ARG(reason_of(c, err)));
    else
        c->client->used = true;
    end_later(c);
}

/* NULL: it can be sent. */
static const char *find_client(struct hook_call *c, struct err *err)
{
    struct hook_pool *p = c->pool;
    if (p->n_calls > CALLS_MAX)
        return "too many webhooks are being called";
    if (loop_is_virtual(p->loop))
        return "a simulation has no network";
    c->client = client_of(p, &c->place, err);
    return c->client ? NULL : err->message;
}

void hook_call_start(struct hook_pool *p, struct arena *a, struct hook_call *c)
{
    struct err err = ERR_INIT;
    c->pool = p;
    c->arena = a;
    c->is_open = true;
    c->is_retry = false;
    c->client = NULL;
    c->due = loop_now(p->loop) + c->timeout;
    strbuf_init(&c->data, ANSWER_MAX);
    loop_task_init(&c->task, end_task);
    p->n_calls++;
    const char *why = find_client(c, &err);
    if (why) {
        c->why = arena_printf(a, "failed to call webhook: Post \"%.*s\": %s", STR_ARG(c->place.url),
                              why);
        end_later(c);
        return;
    }
    c->client->calls++;
    send_call(c);
}

void hook_call_cancel(struct hook_call *c)
{
    if (!c->is_open)
        return;
    if (c->client)
        http_client_cancel(c->client->http, &c->http);
    call_release(c);
}
