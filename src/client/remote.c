/*
 * A call is one request or one watch on its way. It owns its text in an arena until it is over.
 *
 *            ┌─────────────── 401, 429, next page ────────────────┐
 *            ▼                                                    │
 *   WAITING (credentials, its turn) ──► SENT ──► answered    PAUSED (Retry-After) or at once
 *
 * A link is a pair of HTTP clients that share a client certificate. When a plug-in gives a new
 * certificate there is a new link; the old one goes when its last call is over.
 *
 * Watch lines are looked for in what has just arrived, never in what is already known to have none,
 * so a large event costs what it weighs however it is cut into pieces.
 */
#include "client/remote.h"

#include <malloc.h>
#include <unistd.h>

#include "base/vec.h"
#include "client/credential.h"
#include "client/proxy.h"
#include "client/wire.h"
#include "net/http.h"
#include "net/tls.h"

enum {
    MAX_REPLY = 256 << 20, /* one answer or page */
    MAX_LINE = 16 << 20,   /* one event */
    KEEP_LINE = 256 << 10,
    MAX_HEADERS = 8,
    MAX_GROUPS = 32,
    MAX_WARNINGS = 16,
    MAX_TRIES = 5,
    PAGE = 500,
};
#define MAX_LIST ((size_t)2 << 30) /* all pages */
#define CALL_TIMEOUT (30 * USEC_PER_SEC)
#define RETRY_AFTER_MAX 60 /* seconds; longer is cut */
#define PATIENCE_MAX 30    /* longer is not waited for here */
#define REST (5 * USEC_PER_SEC)

struct link {
    struct list link;
    struct remote *remote;
    struct tls_client *tls;
    struct http_client *requests, *watches;
    size_t calls;
    struct loop_task end;
};

struct remote {
    struct api api;
    struct loop *loop;
    struct remote_options o;
    struct arena arena;
    struct kubeconfig config;
    char *host;        /* for libc borders */
    char *server_name; /* of the certificate; NULL: the host */
    struct proxy proxy;
    char *server; /* "https://host:port", for people */
    struct credential *credential;
    unsigned linked; /* the credential's generation the current link is made of */
    struct list links;
    struct link *link;         /* the current one */
    struct list waiting, open; /* calls */
    struct list held;          /* writes beyond o.writes */
    unsigned writes;           /* under way */
    struct loop_timer rest;
    bool wrote; /* since that was set */
    uintptr_t heap_begin;
};

enum call_state { CALL_WAITING, CALL_SENT, CALL_PAUSED };

struct remote_call {
    struct list link;
    struct remote *remote;
    enum call_state state;
    struct link *via; /* while SENT */
    struct arena arena;
    struct http_call http;
    struct http_header headers[MAX_HEADERS + MAX_GROUPS];
    struct strbuf data; /* the reply, or the line that is arriving */
    int status;
    int retry_after; /* seconds, -1: not told */
    str warnings[MAX_WARNINGS];
    size_t n_warnings;
    unsigned generation; /* of the credential it was sent with */
    unsigned tries;
    bool refused; /* fresh credentials were tried */
    bool counted; /* in remote->writes */
    struct loop_timer pause;
    const struct status *failure; /* to be told when the pause is over */

    struct api_request *request; /* or */
    struct api_watch *watch;

    /* a list in pages */
    VEC(struct obj *) items;
    bool paged;
    unsigned pages;
    size_t bytes;
    str token;
    uint64_t rv;

    bool *gone; /* told when the call is freed, for whoever works on it */
};

static struct remote *remote_of(struct api *api)
{
    return container_of(api, struct remote, api);
}

/* ---- links ---- */

static void link_free(struct link *l)
{
    loop_task_cancel(&l->end);
    list_remove(&l->link);
    if (l->requests)
        http_client_free(l->requests);
    if (l->watches)
        http_client_free(l->watches);
    if (l->tls)
        tls_client_free(l->tls);
    free(l);
}

static void on_link_end(struct loop_task *t)
{
    link_free(container_of(t, struct link, end));
}

static void link_release(struct remote_call *c)
{
    struct link *l = TAKE_PTR(c->via);
    if (l && --l->calls == 0 && l != l->remote->link)
        loop_defer(l->remote->loop, LOOP_APPLY, &l->end);
}

static struct http_client *make_client(struct remote *r, struct tls_client *tls)
{
    const struct proxy *p = &r->proxy;
    return http_client_new(
        r->loop, &(struct http_client_options){
                     .host = r->host,
                     .port = r->config.port,
                     .tls = tls,
                     .server_name = r->server_name,
                     .proxy_host = p->host.len ? p->host.p : NULL,
                     .proxy_port = p->port,
                     .proxy_authorization = p->authorization.len ? p->authorization.p : NULL});
}

static struct link *link_new(struct remote *r, str cert, str key, struct err *err)
{
    const struct kubeconfig *k = &r->config;
    struct link *l = xnew(struct link);
    l->remote = r;
    list_push_back(&r->links, &l->link);
    loop_task_init(&l->end, on_link_end);
    if (k->tls) {
        l->tls = tls_client_new(k->ca_pem, cert, key, k->skip_verify, err);
        if (!l->tls) {
            link_free(l);
            (void)err_wrap(err, "%.*s", STR_ARG(k->file));
            return NULL;
        }
    }
    l->requests = make_client(r, l->tls);
    l->watches = make_client(r, l->tls);
    return l;
}

/* The link that the present credential needs; NULL with an error when its certificate is bad. */
static struct link *link_now(struct remote *r, struct err *err)
{
    str cert = credential_cert(r->credential);
    if (!cert.len || r->linked == credential_generation(r->credential))
        return r->link;
    struct link *l = link_new(r, cert, credential_key(r->credential), err), *old = r->link;
    if (!l)
        return NULL;
    r->link = l;
    r->linked = credential_generation(r->credential);
    if (!old->calls)
        loop_defer(r->loop, LOOP_APPLY, &old->end);
    return l;
}

/* ---- calls ---- */

static void on_pause_over(struct loop_timer *t);

static struct remote_call *call_new(struct remote *r, size_t max)
{
    struct remote_call *c = xnew(struct remote_call);
    c->remote = r;
    arena_init(&c->arena);
    strbuf_init(&c->data, max);
    loop_timer_init(r->loop, &c->pause, on_pause_over);
    list_push_back(&r->open, &c->link);
    return c;
}

static void drop_items(struct remote_call *c)
{
    for (size_t i = 0; i < c->items.len; i++)
        obj_unref(c->items.p[i]);
    vec_clear(&c->items);
}

static void start_held(struct remote *r);

/* The next write may go. */
static void release_turn(struct remote_call *c)
{
    struct remote *r = c->remote;
    if (!c->counted)
        return;
    c->counted = false;
    r->writes--;
    r->wrote = true;
    if (!loop_timer_is_set(&r->rest))
        loop_timer_set(&r->rest, loop_now(r->loop) + REST);
    start_held(r);
}

static uintptr_t heap_end(void)
{
    return (uintptr_t)sbrk(0);
}

/* Giving back takes as long as the heap is large: of this size, a millisecond or two. */
static bool heap_is_small(const struct remote *r)
{
    enum { SMALL = 48 << 20 };
    return heap_end() - r->heap_begin < SMALL;
}

/* After many writes much memory is free that the C library keeps, in pieces between what is in use.
 * A process that has had nothing to write for a while gives it back; one with little, now and then
 * in between. */
static void on_rest(struct loop_timer *t)
{
    struct remote *r = container_of(t, struct remote, rest);
    if (!r->wrote || heap_is_small(r))
        (void)malloc_trim(0);
    if (r->wrote)
        loop_timer_set(&r->rest, loop_now(r->loop) + REST);
    r->wrote = false;
}

static void call_free(struct remote_call *c)
{
    release_turn(c);
    if (c->gone)
        *c->gone = true;
    if (c->via)
        http_client_cancel(c->watch ? c->via->watches : c->via->requests, &c->http);
    link_release(c);
    loop_timer_cancel(&c->pause);
    list_remove(&c->link);
    drop_items(c);
    vec_done(&c->items);
    strbuf_done(&c->data);
    arena_done(&c->arena);
    free(c);
}

static void end_request(struct remote_call *c, struct api_reply *reply)
{
    struct api_request *q = c->request;
    if (reply->status)
        reply->code = reply->status->code;
    reply->warnings = c->warnings;
    reply->n_warnings = c->n_warnings;
    list_remove(&c->link);
    release_turn(c); /* here: whoever is told may end the client */
    q->done(q, reply);
    call_free(c);
}

static void end_watch(struct remote_call *c, const struct status *why)
{
    struct api_watch *w = c->watch;
    w->impl = NULL;
    list_remove(&c->link);
    w->on_end(w, why);
    call_free(c);
}

static void fail(struct remote_call *c, const struct status *why, bool unknown)
{
    if (c->watch)
        end_watch(c, why);
    else
        end_request(
            c, &(struct api_reply){.status = why,
                                   .remaining = -1,
                                   .unknown_outcome = unknown && wire_is_write(c->request->verb)});
}

/* Why a call failed before there was a complete answer. */
static struct status *lost(struct remote_call *c, const struct err *err)
{
    const char *server = c->remote->server;
    switch (err->code) {
    case ERR_TIMEOUT:
        return status_new(&c->arena, 504, "Timeout", "the API server at %s does not answer: %s",
                          server, err->message);
    case ERR_IO:
        return status_new(&c->arena, 503, "ServiceUnavailable",
                          "the connection to the API server at %s broke: %s", server, err->message);
    case ERR_UNAUTHORIZED:
        return status_new(&c->arena, 401, "Unauthorized", "%s", err->message);
    case ERR_INVALID:
        return status_new(&c->arena, 400, "BadRequest", "%s", err->message);
    default:
        return status_new(&c->arena, 503, "ServiceUnavailable",
                          "cannot reach the API server at %s: %s", server, err->message);
    }
}

/* ---- sending ---- */

static void add_header(struct remote_call *c, const char *name, str value)
{
    if (value.len && c->http.n_headers < ARRAY_LEN(c->headers))
        c->headers[c->http.n_headers++] = (struct http_header){str_of(name), value};
}

static void set_headers(struct remote_call *c)
{
    const struct kubeconfig *k = &c->remote->config;
    c->http.headers = c->headers;
    add_header(c, "accept", STR("application/json"));
    add_header(c, "user-agent", STR("grove/" GROVE_VERSION));
    /* Copied: the credential may be renewed while the call is under way. */
    add_header(c, "authorization",
               arena_str(&c->arena, credential_authorization(c->remote->credential)));
    add_header(c, "impersonate-user", k->as);
    add_header(c, "impersonate-uid", k->as_uid);
    for (size_t i = 0; i < k->n_as_groups; i++)
        add_header(c, "impersonate-group", k->as_groups[i]);
}

static void read_warning(struct remote_call *c, str value)
{
    wire_warnings(&c->arena, value, c->warnings, MAX_WARNINGS, &c->n_warnings);
}

static void on_headers(struct http_call *h, int status, const struct http_header *headers, size_t n)
{
    struct remote_call *c = h->ctx;
    c->status = status;
    for (size_t i = 0; i < n; i++) {
        uint64_t seconds;
        if (str_is(headers[i].name, "warning"))
            read_warning(c, headers[i].value);
        else if (str_is(headers[i].name, "retry-after"))
            c->retry_after = str_to_uint(headers[i].value, &seconds)
                                 ? (int)MIN(seconds, RETRY_AFTER_MAX)
                                 : 1; /* a date */
    }
}

static void on_request_data(struct http_call *h, str data);
static void on_request_end(struct http_call *h, const struct err *err);
static void on_watch_data(struct http_call *h, str data);
static void on_watch_end(struct http_call *h, const struct err *err);

/* How long the request may take; 0 or less: it is too late. */
static usec time_left(const struct remote_call *c)
{
    const struct api_request *q = c->request;
    usec limit = c->remote->o.timeout ? c->remote->o.timeout : CALL_TIMEOUT;
    if (q->verb == API_LIST || q->verb == API_DELETE_COLLECTION)
        limit *= 2;
    return q->deadline ? MIN(limit, q->deadline - loop_now(c->remote->loop)) : limit;
}

static void make_request(struct remote_call *c)
{
    const struct api_request *q = c->request;
    str prefix = c->remote->config.path, type;
    int64_t limit = c->paged ? PAGE : q->limit;
    str token = c->paged ? c->token : q->continue_token;
    c->http = (struct http_call){.method = str_of(wire_method(q->verb)),
                                 .path = wire_request_path(&c->arena, prefix, q, limit, token),
                                 .timeout = time_left(c),
                                 .on_headers = on_headers,
                                 .on_data = on_request_data,
                                 .on_end = on_request_end,
                                 .ctx = c};
    c->http.body = wire_body(&c->arena, q, &type);
    set_headers(c);
    add_header(c, "content-type", type);
}

static void make_watch(struct remote_call *c)
{
    c->http =
        (struct http_call){.method = STR("GET"),
                           .path = wire_watch_path(&c->arena, c->remote->config.path, c->watch),
                           .on_headers = on_headers,
                           .on_data = on_watch_data,
                           .on_end = on_watch_end,
                           .ctx = c};
    set_headers(c);
}

/* For what is known at once: nobody is called back from inside api_send. */
static void fail_later(struct remote_call *c, const struct status *why)
{
    c->state = CALL_PAUSED;
    c->failure = why;
    loop_timer_set(&c->pause, loop_now(c->remote->loop));
}

/* With credentials that may be used now. */
static void call_put(struct remote_call *c)
{
    struct remote *r = c->remote;
    struct err err = ERR_INIT;
    struct link *l = link_now(r, &err);
    if (!l) {
        fail_later(c, status_new(&c->arena, 401, "Unauthorized", "%s", err.message));
        return;
    }
    if (c->request && time_left(c) <= 0) {
        fail_later(c,
                   status_new(&c->arena, 504, "Timeout", "its time was over before it was sent"));
        return;
    }
    strbuf_reset(&c->data);
    c->status = 0;
    c->retry_after = -1;
    c->tries++;
    c->generation = credential_generation(r->credential);
    if (c->watch)
        make_watch(c);
    else
        make_request(c);
    c->state = CALL_SENT;
    c->via = l;
    l->calls++;
    http_client_send(c->watch ? l->watches : l->requests, &c->http);
}

/* As many writes as may be under way already are; it waits in line for one of them to end. */
static bool is_held(struct remote_call *c)
{
    struct remote *r = c->remote;
    if (c->counted || !c->request || !r->o.writes || !wire_is_write(c->request->verb))
        return false;
    if (r->writes < r->o.writes) {
        c->counted = true;
        r->writes++;
        return false;
    }
    c->state = CALL_WAITING;
    list_remove(&c->link);
    list_push_back(&r->held, &c->link);
    return true;
}

static void call_start(struct remote_call *c)
{
    struct remote *r = c->remote;
    if (is_held(c))
        return;
    if (credential_is_fresh(r->credential)) {
        call_put(c);
        return;
    }
    c->state = CALL_WAITING;
    list_remove(&c->link);
    list_push_back(&r->waiting, &c->link);
    credential_refresh(r->credential);
}

static void start_held(struct remote *r)
{
    while (r->writes < r->o.writes && !list_is_empty(&r->held)) {
        struct list *n = list_pop_front(&r->held);
        list_push_back(&r->open, n);
        call_start(list_entry(n, struct remote_call, link));
    }
}

static void on_pause_over(struct loop_timer *t)
{
    struct remote_call *c = container_of(t, struct remote_call, pause);
    if (c->failure)
        fail(c, c->failure, false);
    else
        call_start(c);
}

static void on_credential(void *ctx, const struct err *err)
{
    struct remote *r = ctx;
    struct list now;
    list_init(&now);
    for (struct list *n; (n = list_pop_front(&r->waiting));)
        list_push_back(&now, n);
    for (struct list *n; (n = list_pop_front(&now));) {
        struct remote_call *c = list_entry(n, struct remote_call, link);
        list_push_back(&r->open, &c->link);
        if (err)
            fail_later(c, status_new(&c->arena, 401, "Unauthorized", "%s", err->message));
        else
            call_put(c);
    }
}

/* ---- once more ---- */

/* Refused for who we are, and there may be a better answer to that. */
static bool try_new_credentials(struct remote_call *c)
{
    if (c->status != 401 || c->refused || !credential_refused(c->remote->credential, c->generation))
        return false;
    c->refused = true;
    call_start(c);
    return true;
}

/* Told to come back, and nobody above would. */
static bool try_later(struct remote_call *c)
{
    const struct remote *r = c->remote;
    if (c->status != 429 || c->retry_after < 0 || c->retry_after > PATIENCE_MAX ||
        c->tries >= MAX_TRIES || (wire_is_write(c->request->verb) && !r->o.patient))
        return false;
    c->state = CALL_PAUSED;
    /* A little more than told, each its own: all who were refused together were told the same. */
    usec jitter = (usec)(loop_random_u64(r->loop) % (USEC_PER_SEC / 4));
    loop_timer_set(&c->pause, loop_now(r->loop) + MAX(c->retry_after, 1) * USEC_PER_SEC + jitter);
    return true;
}

/* ---- answers ---- */

static struct status *refusal(struct remote_call *c, const struct doc *d)
{
    const struct kubeconfig *k = &c->remote->config;
    struct status *s;
    if (d)
        s = status_from(&c->arena, c->status, doc_root(d));
    else
        s = status_new(&c->arena, c->status, status_reason_of_code(c->status),
                       "the API server at %s answered %d: %.*s", c->remote->server, c->status,
                       STR_ARG(str_sub(str_trim(strbuf_str(&c->data)), 0, 200)));
    if (c->status == 401)
        s->message = arena_printf(
            &c->arena,
            "the API server at %s does not accept the credentials of user \"%.*s\" "
            "(%.*s): %.*s",
            c->remote->server, STR_ARG(k->user), STR_ARG(k->file), STR_ARG(s->message));
    if (c->retry_after > 0)
        s->retry_after = c->retry_after;
    s->retry_after = MIN(s->retry_after, RETRY_AFTER_MAX);
    return s;
}

static struct status *garbled(struct remote_call *c, const struct err *err)
{
    return status_new(&c->arena, 502, "BadGateway",
                      "the API server at %s sent something unreadable: %s", c->remote->server,
                      err->message);
}

static struct wire_form form_of(const struct remote_call *c)
{
    return (struct wire_form){.kind = c->watch ? c->watch->kind : c->request->kind,
                              .trim = c->remote->o.trim};
}

static int read_items(struct remote_call *c, jval root, struct err *err)
{
    struct wire_form form = form_of(c);
    for (struct jiter it = jiter(jgetc(root, "items")); jnext(&it);) {
        struct obj *o = wire_object(&form, it.value, err);
        if (!o)
            return err->code;
        *vec_push(&c->items) = o;
    }
    return 0;
}

/* True: there is another page and it was asked for. */
static bool next_page(struct remote_call *c, jval root)
{
    str token = jstr(jpath(root, "metadata.continue"));
    if (!c->pages++)
        (void)str_to_uint(jstr(jpath(root, "metadata.resourceVersion")), &c->rv);
    if (!c->paged || !token.len)
        return false;
    c->token = arena_str(&c->arena, token);
    c->tries = 0;
    call_start(c);
    return true;
}

static void end_list(struct remote_call *c, jval root)
{
    struct api_reply reply = {.code = c->status,
                              .items = c->items.p,
                              .n_items = c->items.len,
                              .rv = c->rv,
                              .remaining = -1};
    if (!c->paged) {
        reply.continue_token = jstr(jpath(root, "metadata.continue"));
        reply.remaining = jint(jpath(root, "metadata.remainingItemCount"), -1);
    }
    end_request(c, &reply);
}

static void on_list_page(struct remote_call *c, struct doc *d)
{
    struct err err = ERR_INIT;
    c->bytes += c->data.len;
    int r = c->bytes > MAX_LIST
                ? err_set(&err, ERR_TOO_LARGE, "a list of more than %zu bytes", MAX_LIST)
                : read_items(c, doc_root(d), &err);
    if (r)
        fail(c, garbled(c, &err), false);
    else if (!next_page(c, doc_root(d)))
        end_list(c, doc_root(d));
}

/* An object of the kind asked for, or something else (Status, Scale). */
static void on_object(struct remote_call *c, struct doc *d)
{
    struct api_reply reply = {.code = c->status, .remaining = -1};
    struct wire_form form = form_of(c);
    struct err err = ERR_INIT;
    struct obj *o = NULL;
    if (d && form.kind && str_is(jstr(jgetc(doc_root(d), "kind")), form.kind->kind))
        o = form.trim ? wire_object(&form, doc_root(d), &err)
                      : obj_new(form.kind, doc_ref(d), NULL);
    if (o)
        reply.obj = obj_hold(&c->arena, o);
    else
        reply.doc = d;
    end_request(c, &reply);
}

/* The pages before are of another time; all at once costs the server more, but comes to an end. */
static bool list_whole(struct remote_call *c)
{
    if (c->status != 410 || !c->paged || !c->pages)
        return false;
    drop_items(c);
    c->paged = false;
    c->pages = 0;
    call_start(c);
    return true;
}

static void on_answer(struct remote_call *c)
{
    struct err err = ERR_INIT;
    struct json_limits limits = {.max_bytes = MAX_REPLY};
    struct doc *d = NULL;
    if (c->data.len)
        d = doc_hold(&c->arena, doc_parse(strbuf_str(&c->data), &limits, &err));
    if (c->status >= 400)
        fail(c, refusal(c, d), c->status >= 500);
    else if (!d && (c->data.len || c->request->verb == API_LIST))
        fail(c, garbled(c, &err), true);
    else if (c->request->verb == API_LIST)
        on_list_page(c, d);
    else
        on_object(c, d);
}

static void on_request_data(struct http_call *h, str data)
{
    struct remote_call *c = h->ctx;
    strbuf_add_str(&c->data, data);
}

static void on_request_end(struct http_call *h, const struct err *err)
{
    struct remote_call *c = h->ctx;
    link_release(c);
    if (!err && c->data.overflow) {
        struct err big = ERR_INIT;
        (void)err_set(&big, ERR_TOO_LARGE, "more than %d bytes", MAX_REPLY);
        fail(c, garbled(c, &big), true);
    } else if (err) {
        fail(c, lost(c, err), err->code == ERR_IO || err->code == ERR_TIMEOUT);
    } else if (!try_new_credentials(c) && !try_later(c) && !list_whole(c)) {
        on_answer(c);
    }
}

/* A PUT of what was read without its managedFields would be a PUT without them. */
static bool is_whole_put(const struct remote *r, const struct api_request *q)
{
    return r->o.trim && q->verb == API_UPDATE && q->body &&
           str_is(jstr(jgetc(doc_root(q->body), "kind")), q->kind->kind);
}

static void remote_send(struct api *api, struct api_request *q)
{
    struct remote *r = remote_of(api);
    struct remote_call *c = call_new(r, MAX_REPLY);
    c->request = q;
    c->paged = q->verb == API_LIST && q->limit == 0 && str_is_empty(q->continue_token);
    if (is_whole_put(r, q))
        fail_later(c, status_new(&c->arena, 405, "MethodNotAllowed",
                                 "copies are kept without managedFields: write them by patch"));
    else
        call_start(c);
}

/* ---- watches ---- */

static const struct {
    const char *name;
    enum api_event_type type;
} event_types[] = {
    {"ADDED", API_ADDED},
    {"MODIFIED", API_MODIFIED},
    {"DELETED", API_DELETED},
    {"BOOKMARK", API_BOOKMARK},
};

static bool event_type(str name, enum api_event_type *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(event_types); i++) {
        if (!str_is(name, event_types[i].name))
            continue;
        *ret = event_types[i].type;
        return true;
    }
    return false;
}

/* Hands one event on. The receiver may stop the watch, and with it the call. */
static int read_event(struct remote_call *c, jval event, struct err *err)
{
    struct api_watch *w = c->watch;
    jval object = jgetc(event, "object");
    str name = jstr(jgetc(event, "type")), end;
    enum api_event_type type;
    uint64_t rv = 0;
    if (str_is(name, "ERROR")) {
        int code = (int)jint(jgetc(object, "code"), 500);
        end_watch(c, status_from(&c->arena, code, object));
        return 0;
    }
    if (!event_type(name, &type))
        return err_set(err, ERR_INVALID, "an event of type \"%.*s\"", STR_ARG(name));
    (void)str_to_uint(jstr(jpath(object, "metadata.resourceVersion")), &rv);
    end = jstr(jget(jpath(object, "metadata.annotations"), STR("k8s.io/initial-events-end")));
    if (type == API_BOOKMARK) {
        w->on_event(w, type, NULL, rv, str_is(end, "true"));
        return 0;
    }
    struct wire_form form = form_of(c);
    struct obj *o = wire_object(&form, object, err);
    if (!o)
        return err->code;
    w->on_event(w, type, o, rv, false);
    obj_unref(o);
    return 0;
}

static int read_line(struct remote_call *c, str line, struct err *err)
{
    if (!str_trim(line).len)
        return 0;
    struct doc *d = doc_parse(line, NULL, err);
    int r = d ? read_event(c, doc_root(d), err) : err->code;
    doc_unref(d);
    return r;
}

/* One large event does not cost its room for ever. */
static void line_done(struct remote_call *c)
{
    if (c->data.cap > KEEP_LINE) {
        strbuf_done(&c->data);
        strbuf_init(&c->data, MAX_LINE);
    }
    strbuf_reset(&c->data);
}

/* The next whole line of what came before and *data; false: there is none yet. */
static bool take_line(struct remote_call *c, str *data, str *ret)
{
    ptrdiff_t end = str_find_char(*data, '\n');
    if (end < 0) {
        strbuf_add_str(&c->data, *data);
        return false;
    }
    *ret = str_sub(*data, 0, (size_t)end);
    *data = str_sub(*data, (size_t)end + 1, data->len);
    if (c->data.len) {
        strbuf_add_str(&c->data, *ret);
        *ret = strbuf_str(&c->data);
    }
    return !c->data.overflow;
}

/* A line that cannot be read is an event that would be missed: the watch ends instead. */
static void on_watch_data(struct http_call *h, str data)
{
    struct remote_call *c = h->ctx;
    struct err err = ERR_INIT;
    bool gone = false;
    int r = 0;
    str line;
    if (c->status != 200) {
        strbuf_add_str(&c->data, data);
        return;
    }
    c->gone = &gone;
    while (r == 0 && take_line(c, &data, &line)) {
        r = read_line(c, line, &err);
        if (gone)
            return;
        line_done(c);
    }
    c->gone = NULL;
    if (c->data.overflow)
        r = err_set(&err, ERR_TOO_LARGE, "more than %d bytes in one event", MAX_LINE);
    if (r)
        end_watch(c, garbled(c, &err));
}

static void on_watch_end(struct http_call *h, const struct err *err)
{
    struct remote_call *c = h->ctx;
    link_release(c);
    if (!err && try_new_credentials(c))
        return;
    if (err) {
        end_watch(c, lost(c, err));
        return;
    }
    if (c->status < 400) {
        end_watch(c, NULL);
        return;
    }
    struct doc *d = doc_hold(&c->arena, doc_parse(strbuf_str(&c->data), NULL, NULL));
    end_watch(c, refusal(c, d));
}

static void remote_watch(struct api *api, struct api_watch *w)
{
    struct remote_call *c = call_new(remote_of(api), MAX_LINE);
    c->watch = w;
    w->impl = c;
    call_start(c);
}

static void remote_watch_stop(struct api *api, struct api_watch *w)
{
    (void)api;
    if (w->impl)
        call_free(w->impl);
    w->impl = NULL;
}

/* ---- life cycle ---- */

/* Whoever still waits is told that nobody will answer; watches just end. */
static void abandon(struct list *calls)
{
    while (!list_is_empty(calls)) {
        struct remote_call *c = list_entry(calls->next, struct remote_call, link);
        struct api_request *q = c->request;
        if (c->watch)
            c->watch->impl = NULL;
        call_free(c);
        if (q)
            q->done(q, &(struct api_reply){.unknown_outcome = true, .remaining = -1});
    }
}

static void remote_free(struct api *api)
{
    struct remote *r = remote_of(api);
    abandon(&r->held);
    abandon(&r->waiting);
    abandon(&r->open);
    loop_timer_cancel(&r->rest);
    credential_free(r->credential);
    while (!list_is_empty(&r->links))
        link_free(list_entry(r->links.next, struct link, link));
    free(r->host);
    free(r->server_name);
    free(r->server);
    arena_done(&r->arena);
    free(r);
}

static const struct api_ops remote_ops = {
    .send = remote_send,
    .watch = remote_watch,
    .watch_stop = remote_watch_stop,
    .free = remote_free,
};

/* What would fail later and less clearly. */
static int check_config(struct remote *r, struct err *err)
{
    const struct kubeconfig *k = &r->config;
    usec end;
    int proxy = proxy_for(k, &r->arena, &r->proxy, err);
    if (proxy)
        return proxy;
    if (k->n_as_groups > MAX_GROUPS)
        return err_set(err, ERR_TOO_LARGE, "%.*s: more than %d groups in as-groups",
                       STR_ARG(k->file), MAX_GROUPS);
    if (!k->cert_pem.len || pki_not_after(k->cert_pem, &end, NULL) || end > loop_wall(r->loop))
        return 0;
    struct strbuf when = STRBUF_INIT(64);
    time_format_rfc3339(end, &when);
    int code = err_set(err, ERR_UNAUTHORIZED,
                       "%.*s: the client certificate of user \"%.*s\" expired at %.*s",
                       STR_ARG(k->file), STR_ARG(k->user), STR_ARG(strbuf_str(&when)));
    strbuf_done(&when);
    return code;
}

static void name_server(struct remote *r)
{
    const struct kubeconfig *k = &r->config;
    struct strbuf b = STRBUF_INIT(4096);
    bool is_v6 = str_find_char(k->host, ':') >= 0;
    strbuf_printf(&b, "%s://%s%.*s%s:%d", k->tls ? "https" : "http", is_v6 ? "[" : "",
                  STR_ARG(k->host), is_v6 ? "]" : "", k->port);
    r->server = strbuf_detach(&b, NULL);
    r->host = str_dup(k->host);
    r->server_name = k->server_name.len ? str_dup(k->server_name) : NULL;
}

struct api *api_remote_open(struct loop *l, const struct kubeconfig *k,
                            const struct remote_options *o, struct err *err)
{
    struct remote *r = xnew(struct remote);
    r->api.ops = &remote_ops;
    r->loop = l;
    r->o = *o;
    kubeconfig_copy(k, &r->arena, &r->config);
    list_init(&r->waiting);
    list_init(&r->open);
    list_init(&r->held);
    list_init(&r->links);
    loop_timer_init(l, &r->rest, on_rest);
    r->heap_begin = heap_end();
    name_server(r);
    r->credential = credential_new(l, &r->config, on_credential, r);
    if (check_config(r, err) == 0)
        r->link = link_new(r, r->config.cert_pem, r->config.key_pem, err);
    if (!r->link) {
        remote_free(&r->api);
        return NULL;
    }
    return &r->api;
}

struct api *api_remote_new(struct loop *l, const struct kubeconfig *k, struct err *err)
{
    return api_remote_open(l, k, &(struct remote_options){.patient = true}, err);
}
