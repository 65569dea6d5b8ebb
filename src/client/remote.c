/*
 * Requests as HTTP and answers as objects. A call owns its text in an arena until the answer came;
 * a watch reads lines as they arrive, each one event. What goes wrong below HTTP becomes a Status
 * 503, with unknown_outcome when a write may have arrived.
 */
#include "client/remote.h"

#include "net/http.h"
#include "net/tls.h"

enum { MAX_REPLY = 256 << 20, MAX_LINE = 16 << 20, MAX_HEADERS = 4 };
#define CALL_TIMEOUT (30 * USEC_PER_SEC)

struct remote {
    struct api api;
    struct loop *loop;
    struct http_client *http;
    struct tls_client *tls;
    char *host, *prefix, *authorization;
    struct list calls, watches;
};

struct remote_call {
    struct list link;
    struct remote *remote;
    struct arena arena;
    struct http_call http;
    struct http_header headers[MAX_HEADERS];
    struct strbuf data; /* the reply, or the line that is arriving */
    int status;
    struct api_request *request; /* or */
    struct api_watch *watch;
    bool *gone; /* told when the call is freed, for whoever works on it */
};

/* ---- URLs ---- */

static void add_escaped(struct strbuf *b, str s)
{
    static const char safe[] = "-._~,=!()";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (plain || (c && strchr(safe, c)))
            strbuf_add_char(b, (char)c);
        else
            strbuf_printf(b, "%%%02X", c);
    }
}

static void add_query(struct strbuf *b, char *sep, const char *name, str value)
{
    if (str_is_empty(value))
        return;
    strbuf_printf(b, "%c%s=", *sep, name);
    /* Inside a value '=' and ',' are data only to the server's own parser. */
    add_escaped(b, value);
    *sep = '&';
}

static void add_path(struct strbuf *b, const struct remote *r, const struct kind *k, str ns,
                     str name, str subresource)
{
    strbuf_add_cstr(b, r->prefix);
    strbuf_printf(b, *k->group ? "/apis/%s" : "/api%s", k->group);
    strbuf_printf(b, "/%s", k->version);
    if (kind_is(k, KIND_NAMESPACED) && !str_is_empty(ns)) {
        strbuf_add_cstr(b, "/namespaces/");
        add_escaped(b, ns);
    }
    strbuf_printf(b, "/%s", k->plural);
    if (!str_is_empty(name)) {
        strbuf_add_char(b, '/');
        add_escaped(b, name);
    }
    if (!str_is_empty(subresource)) {
        strbuf_add_char(b, '/');
        add_escaped(b, subresource);
    }
}

static str number(struct arena *a, uint64_t n)
{
    return arena_printf(a, "%llu", (unsigned long long)n);
}

static str request_url(struct remote_call *c, const struct api_request *q)
{
    static const char *const validations[] = {"Warn", "Strict", "Ignore"};
    struct strbuf b = STRBUF_INIT(64 << 10);
    char sep = '?';
    bool writes = q->verb != API_GET && q->verb != API_LIST;
    add_path(&b, c->remote, q->kind, q->ns,
             q->verb == API_CREATE && str_is_empty(q->subresource) ? STR_NONE : q->name,
             q->subresource);
    add_query(&b, &sep, "labelSelector", q->label_selector);
    add_query(&b, &sep, "fieldSelector", q->field_selector);
    add_query(&b, &sep, "continue", q->continue_token);
    if (q->limit > 0)
        add_query(&b, &sep, "limit", number(&c->arena, (uint64_t)q->limit));
    if (q->rv_given && !writes)
        add_query(&b, &sep, "resourceVersion", number(&c->arena, q->rv));
    if (q->rv_match == API_RV_EXACT)
        add_query(&b, &sep, "resourceVersionMatch", STR("Exact"));
    if (q->rv_match == API_RV_NOT_OLDER_THAN)
        add_query(&b, &sep, "resourceVersionMatch", STR("NotOlderThan"));
    if (writes) {
        add_query(&b, &sep, "fieldManager", q->field_manager);
        add_query(&b, &sep, "fieldValidation", str_of(validations[q->field_validation]));
        add_query(&b, &sep, "dryRun", q->dry_run ? STR("All") : STR_NONE);
        add_query(&b, &sep, "force", q->force ? STR("true") : STR_NONE);
    }
    str url = arena_str(&c->arena, strbuf_str(&b));
    strbuf_done(&b);
    return url;
}

static str watch_url(struct remote_call *c, const struct api_watch *w)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    char sep = '?';
    add_path(&b, c->remote, w->kind, w->ns, STR_NONE, STR_NONE);
    add_query(&b, &sep, "watch", STR("true"));
    add_query(&b, &sep, "labelSelector", w->label_selector);
    add_query(&b, &sep, "fieldSelector", w->field_selector);
    if (w->rv_given)
        add_query(&b, &sep, "resourceVersion", number(&c->arena, w->rv));
    if (w->bookmarks)
        add_query(&b, &sep, "allowWatchBookmarks", STR("true"));
    if (w->send_initial) {
        add_query(&b, &sep, "sendInitialEvents", STR("true"));
        add_query(&b, &sep, "resourceVersionMatch", STR("NotOlderThan"));
    }
    if (w->timeout > 0)
        add_query(&b, &sep, "timeoutSeconds",
                  number(&c->arena, (uint64_t)(w->timeout / USEC_PER_SEC)));
    str url = arena_str(&c->arena, strbuf_str(&b));
    strbuf_done(&b);
    return url;
}

/* ---- calls ---- */

static struct remote_call *call_new(struct remote *r, size_t max)
{
    struct remote_call *c = xnew(struct remote_call);
    c->remote = r;
    arena_init(&c->arena);
    strbuf_init(&c->data, max);
    return c;
}

static void call_free(struct remote_call *c)
{
    if (c->gone)
        *c->gone = true;
    list_remove(&c->link);
    strbuf_done(&c->data);
    arena_done(&c->arena);
    free(c);
}

static void add_header(struct remote_call *c, const char *name, str value)
{
    c->headers[c->http.n_headers++] = (struct http_header){str_of(name), value};
    c->http.headers = c->headers;
}

static void on_headers(struct http_call *h, int status, const struct http_header *headers, size_t n)
{
    struct remote_call *c = h->ctx;
    (void)headers;
    (void)n;
    c->status = status;
}

/* Why a call failed before there was an answer. */
static struct status *lost(struct remote_call *c, const struct err *err)
{
    return status_new(&c->arena, 503, "ServiceUnavailable", "%s", err->message);
}

/* ---- requests ---- */

static const char *const methods[] = {
    [API_GET] = "GET",
    [API_LIST] = "GET",
    [API_CREATE] = "POST",
    [API_UPDATE] = "PUT",
    [API_PATCH] = "PATCH",
    [API_DELETE] = "DELETE",
    [API_DELETE_COLLECTION] = "DELETE",
};

static const char *const patch_types[] = {
    [API_PATCH_JSON] = "application/json-patch+json",
    [API_PATCH_MERGE] = "application/merge-patch+json",
    [API_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
    [API_PATCH_APPLY] = "application/apply-patch+yaml",
};

static void on_request_data(struct http_call *h, str data)
{
    struct remote_call *c = h->ctx;
    strbuf_add_str(&c->data, data);
}

/* Each item of a list becomes a document of its own. */
static void read_items(struct remote_call *c, jval root, struct api_reply *reply)
{
    jval items = jgetc(root, "items");
    reply->items = arena_array(&c->arena, struct obj *, jlen(items) + 1);
    for (struct jiter it = jiter(items); jnext(&it);) {
        struct doc *d = doc_parse(jtext(it.value), NULL, NULL);
        struct obj *o = d ? obj_new(c->request->kind, d, NULL) : NULL;
        if (o)
            reply->items[reply->n_items++] = obj_hold(&c->arena, o);
    }
    (void)str_to_uint(jstr(jpath(root, "metadata.resourceVersion")), &reply->rv);
    reply->continue_token = jstr(jpath(root, "metadata.continue"));
    reply->remaining = jint(jpath(root, "metadata.remainingItemCount"), -1);
}

/* An object of the kind asked for, or something else (Status, Scale). */
static void read_object(struct remote_call *c, struct doc *d, struct api_reply *reply)
{
    bool own = str_is(jstr(jgetc(doc_root(d), "kind")), c->request->kind->kind);
    struct obj *o = own ? obj_new(c->request->kind, doc_ref(d), NULL) : NULL;
    if (o)
        reply->obj = obj_hold(&c->arena, o);
    else
        reply->doc = d;
}

static void read_reply(struct remote_call *c, struct api_reply *reply)
{
    struct err err = ERR_INIT;
    struct json_limits limits = {.max_bytes = MAX_REPLY};
    struct doc *d = c->data.len ? doc_parse(strbuf_str(&c->data), &limits, &err) : NULL;
    if (d)
        (void)doc_hold(&c->arena, d);
    if (c->status >= 400)
        reply->status = d ? status_from(&c->arena, c->status, doc_root(d))
                          : status_new(&c->arena, c->status, "", "%.*s",
                                       STR_ARG(str_trim(strbuf_str(&c->data))));
    else if (!d && c->data.len)
        reply->status = status_new(&c->arena, 502, "BadGateway",
                                   "the server's answer is not JSON: %s", err.message);
    else if (d && c->request->verb == API_LIST)
        read_items(c, doc_root(d), reply);
    else if (d)
        read_object(c, d, reply);
}

static void on_request_end(struct http_call *h, const struct err *err)
{
    struct remote_call *c = h->ctx;
    struct api_reply reply = {.code = c->status, .remaining = -1};
    bool writes = c->request->verb != API_GET && c->request->verb != API_LIST;
    if (!err && !c->data.overflow) {
        read_reply(c, &reply);
    } else {
        struct err big = ERR_INIT;
        (void)err_set(&big, ERR_TOO_LARGE, "the server's answer is larger than %d bytes",
                      MAX_REPLY);
        reply.status = lost(c, err ? err : &big);
        reply.unknown_outcome = writes;
    }
    if (reply.status)
        reply.code = reply.status->code;
    list_remove(&c->link);
    c->request->done(c->request, &reply);
    call_free(c);
}

static str delete_options(struct remote_call *c, const struct api_request *q)
{
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (q->grace_seconds >= 0)
        jw_put_int(&w, "gracePeriodSeconds", q->grace_seconds);
    if (q->propagation != API_PROPAGATION_DEFAULT)
        jw_put_cstr(&w, "propagationPolicy", policies[q->propagation]);
    if (!str_is_empty(q->uid) || q->rv) {
        jw_put_object(&w, "preconditions");
        if (!str_is_empty(q->uid))
            jw_put_str(&w, "uid", q->uid);
        if (q->rv)
            jw_put_str(&w, "resourceVersion", number(&c->arena, q->rv));
        jw_end(&w);
    }
    jw_end(&w);
    str text = arena_str(&c->arena, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

static void set_body(struct remote_call *c, const struct api_request *q)
{
    if (q->verb == API_DELETE || q->verb == API_DELETE_COLLECTION)
        c->http.body = delete_options(c, q);
    else if (q->body)
        c->http.body = doc_text(q->body);
    if (!str_is_empty(c->http.body))
        add_header(c, "content-type",
                   q->verb == API_PATCH ? str_of(patch_types[q->patch]) : STR("application/json"));
}

static void common_headers(struct remote_call *c)
{
    add_header(c, "accept", STR("application/json"));
    add_header(c, "user-agent", STR("grove/" GROVE_VERSION));
    if (c->remote->authorization)
        add_header(c, "authorization", str_of(c->remote->authorization));
}

static void remote_send(struct api *api, struct api_request *q)
{
    struct remote *r = container_of(api, struct remote, api);
    struct remote_call *c = call_new(r, MAX_REPLY);
    c->request = q;
    c->http = (struct http_call){.method = str_of(methods[q->verb]),
                                 .timeout = CALL_TIMEOUT,
                                 .on_headers = on_headers,
                                 .on_data = on_request_data,
                                 .on_end = on_request_end,
                                 .ctx = c};
    c->http.path = request_url(c, q);
    common_headers(c);
    set_body(c, q);
    list_push_back(&r->calls, &c->link);
    http_client_send(r->http, &c->http);
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

static void end_watch(struct remote_call *c, const struct status *why)
{
    struct api_watch *w = c->watch;
    w->impl = NULL;
    list_remove(&c->link);
    w->on_end(w, why);
    call_free(c);
}

/* Hands one event on. The receiver may stop the watch, and with it the call. */
static void read_event(struct remote_call *c, jval event)
{
    struct api_watch *w = c->watch;
    jval object = jgetc(event, "object");
    str type = jstr(jgetc(event, "type"));
    uint64_t rv = 0;
    if (str_is(type, "ERROR")) {
        http_client_cancel(c->remote->http, &c->http);
        end_watch(c, status_from(&c->arena, (int)jint(jgetc(object, "code"), 500), object));
        return;
    }
    (void)str_to_uint(jstr(jpath(object, "metadata.resourceVersion")), &rv);
    for (size_t i = 0; i < ARRAY_LEN(event_types); i++) {
        if (!str_is(type, event_types[i].name))
            continue;
        bool bookmark = event_types[i].type == API_BOOKMARK;
        struct doc *d = bookmark ? NULL : doc_parse(jtext(object), NULL, NULL);
        struct obj *o = d ? obj_new(w->kind, d, NULL) : NULL;
        bool end = str_is(
            jstr(jget(jpath(object, "metadata.annotations"), STR("k8s.io/initial-events-end"))),
            "true");
        if (o || bookmark)
            w->on_event(w, event_types[i].type, o, rv, end);
        obj_unref(o);
        return;
    }
}

static void on_watch_data(struct http_call *h, str data)
{
    struct remote_call *c = h->ctx;
    strbuf_add_str(&c->data, data);
    if (c->status != 200)
        return;
    bool gone = false;
    c->gone = &gone;
    while (!gone) {
        ptrdiff_t end = str_find_char(strbuf_str(&c->data), '\n');
        if (end < 0)
            break;
        struct doc *d = doc_parse(str_sub(strbuf_str(&c->data), 0, (size_t)end), NULL, NULL);
        strbuf_consume(&c->data, (size_t)end + 1);
        if (d)
            read_event(c, doc_root(d));
        doc_unref(d);
    }
    if (!gone)
        c->gone = NULL;
}

static void on_watch_end(struct http_call *h, const struct err *err)
{
    struct remote_call *c = h->ctx;
    struct doc *d = c->status >= 400 ? doc_parse(strbuf_str(&c->data), NULL, NULL) : NULL;
    if (d)
        end_watch(c, status_from(&c->arena, c->status, doc_root(doc_hold(&c->arena, d))));
    else if (c->data.overflow)
        end_watch(c, status_new(&c->arena, 502, "BadGateway", "an event is larger than %d bytes",
                                MAX_LINE));
    else if (c->status == 0 && err)
        end_watch(c, lost(c, err));
    else
        end_watch(c, NULL);
}

static void remote_watch(struct api *api, struct api_watch *w)
{
    struct remote *r = container_of(api, struct remote, api);
    struct remote_call *c = call_new(r, MAX_LINE);
    c->watch = w;
    w->impl = c;
    c->http = (struct http_call){.method = STR("GET"),
                                 .on_headers = on_headers,
                                 .on_data = on_watch_data,
                                 .on_end = on_watch_end,
                                 .ctx = c};
    c->http.path = watch_url(c, w);
    common_headers(c);
    list_push_back(&r->watches, &c->link);
    http_client_send(r->http, &c->http);
}

static void remote_watch_stop(struct api *api, struct api_watch *w)
{
    struct remote *r = container_of(api, struct remote, api);
    struct remote_call *c = w->impl;
    if (!c)
        return;
    w->impl = NULL;
    http_client_cancel(r->http, &c->http);
    call_free(c);
}

/* ---- life cycle ---- */

/* Whoever still waits is told that nobody will answer; watches just end. */
static void abandon(struct remote *r, struct list *calls)
{
    struct list *n;
    while ((n = list_pop_front(calls))) {
        struct remote_call *c = list_entry(n, struct remote_call, link);
        struct api_request *q = c->request;
        http_client_cancel(r->http, &c->http);
        if (c->watch)
            c->watch->impl = NULL;
        call_free(c);
        if (q)
            q->done(q, &(struct api_reply){.unknown_outcome = true, .remaining = -1});
    }
}

static void remote_free(struct api *api)
{
    struct remote *r = container_of(api, struct remote, api);
    if (r->http) {
        abandon(r, &r->calls);
        abandon(r, &r->watches);
        http_client_free(r->http);
    }
    if (r->tls)
        tls_client_free(r->tls);
    free(r->host);
    free(r->prefix);
    free(r->authorization);
    free(r);
}

static const struct api_ops remote_ops = {
    .send = remote_send,
    .watch = remote_watch,
    .watch_stop = remote_watch_stop,
    .free = remote_free,
};

struct api *api_remote_new(struct loop *l, const struct kubeconfig *k, struct err *err)
{
    struct remote *r = xnew(struct remote);
    r->api.ops = &remote_ops;
    r->loop = l;
    list_init(&r->calls);
    list_init(&r->watches);
    r->host = str_dup(k->host);
    r->prefix = str_dup(k->path);
    if (!str_is_empty(k->token)) {
        struct strbuf b = STRBUF_INIT(1 << 20);
        strbuf_printf(&b, "Bearer %.*s", STR_ARG(k->token));
        r->authorization = strbuf_detach(&b, NULL);
    }
    if (k->tls) {
        r->tls = tls_client_new(k->ca_pem, k->cert_pem, k->key_pem, k->skip_verify, err);
        if (!r->tls) {
            remote_free(&r->api);
            return NULL;
        }
    }
    r->http = http_client_new(
        l, &(struct http_client_options){.host = r->host, .port = k->port, .tls = r->tls});
    return &r->api;
}
