/* See kubelet.h. One `passing` per call, from kubelet_pass() until the exchange is closed. */
#include "apiserver/front/kubelet.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "apiserver/front/front_impl.h"
#include "base/log.h"
#include "base/map.h"
#include "net/upstream.h"

#define HEAD_TIMEOUT (60 * USEC_PER_SEC)
/* As the kubelet's streamingConnectionIdleTimeout. */
#define IDLE_TIMEOUT (4 * USEC_PER_HOUR)
enum { HIGH_WATER = 256 << 10, ERROR_MAX = 4 << 10, NAME_MAX_LEN = 254 };

struct kubelets {
    struct loop *loop;
    struct tls_client *tls;  /* NULL: there is no certificate to show */
    struct tls_client *bare; /* for pods: shows none, checks none; NULL: not yet */
    struct strbuf ca_pem;
    struct map verified; /* UIDs of nodes whose certificate was ours; the value is the key */
};

struct passing {
    struct call *call;
    struct upstream *up;
    enum kubelet_reply reply;
    int status;
    struct strbuf error; /* the text of a refusal */
    bool begun;          /* the peer has its head */
    bool ended;          /* the kubelet has said all */
    char uid[64];
    char name[NAME_MAX_LEN];     /* of the node */
    char who[NAME_MAX_LEN + 32]; /* "the kubelet of node x", "pod y" */
    char address[80];            /* "10.0.0.5:10250" */
};

/* ---- life of the set ---- */

struct kubelets *kubelets_new(struct loop *l)
{
    struct kubelets *k = xnew(struct kubelets);
    k->loop = l;
    strbuf_init(&k->ca_pem, 256 << 10);
    return k;
}

void kubelets_free(struct kubelets *k)
{
    void *value;
    str key;
    if (!k)
        return;
    for (size_t it = 0; map_next(&k->verified, &it, &key, &value);)
        free(value);
    map_done(&k->verified);
    tls_client_free(k->tls);
    tls_client_free(k->bare);
    strbuf_done(&k->ca_pem);
    free(k);
}

int kubelets_set(struct kubelets *k, str ca_pem, str cert_pem, str key_pem, struct err *err)
{
    struct tls_client *t = tls_client_new(STR_NONE, cert_pem, key_pem, true, err);
    if (!t)
        return err->code;
    tls_client_free(k->tls);
    k->tls = t;
    strbuf_reset(&k->ca_pem);
    strbuf_add_str(&k->ca_pem, ca_pem);
    return 0;
}

static void note_verified(struct passing *p)
{
    enum { MOST = 100000 };
    struct kubelets *k = p->call->front->kubelets;
    if (!upstream_is_verified(p->up) || map_has(&k->verified, str_of(p->uid)) ||
        k->verified.len >= MOST)
        return;
    char *uid = xstrdup(p->uid);
    (void)map_put(&k->verified, str_of(uid), uid);
}

/* ---- answers of our own ---- */

static void refuse(struct call *c, int code, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void refuse(struct call *c, int code, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(&c->arena, fmt, ap);
    va_end(ap);
    call_reply_status(c, status_new(&c->arena, code, reason, "%.*s", STR_ARG(why)));
}

static void refuse_unreachable(struct passing *p, const struct err *err)
{
    bool refused = err && strstr(err->message, "refused") != NULL;
    if (refused)
        refuse(p->call, 503, "ServiceUnavailable",
               "%s at %s refused the connection: is it running?", p->who, p->address);
    else
        refuse(p->call, 503, "ServiceUnavailable", "%s at %s: %s", p->who, p->address,
               err ? err->message : "it closed the connection without an answer");
}

/* What it said becomes the message, so that kubectl prints it. */
static void refuse_with_answer(struct passing *p)
{
    str text = str_trim(strbuf_str(&p->error));
    if (p->status == 401 || p->status == 403)
        refuse(p->call, 500, "InternalError",
               "%s at %s does not let this API server in (%d%s%.*s): its "
               "authentication.x509.clientCAFile must be our CA, and the group "
               "grove:kubelet-clients needs the ClusterRole system:kubelet-api-admin",
               p->who, p->address, p->status, text.len ? ": " : "", STR_ARG(text));
    else
        refuse(p->call, p->status >= 400 ? p->status : 502,
               status_reason_of_code(p->status >= 400 ? p->status : 502), "%s%.*s",
               text.len ? "" : "the kubelet gave no reason", STR_ARG(text));
}

/* ---- what the kubelet says ---- */

static bool is_passed_back(str name)
{
    static const char *const ours[] = {
        "content-length", "transfer-encoding", "connection", "keep-alive", "date", "audit-id"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (str_is(name, ours[i]))
            return false;
    return true;
}

static size_t reply_headers(struct call *c, const struct http_header *from, size_t n_from,
                            struct http_header h[FRONT_MAX_HEADERS])
{
    size_t n = 0;
    h[n++] = (struct http_header){STR("audit-id"), str_n(c->audit_id, sizeof(c->audit_id) - 1)};
    for (size_t i = 0; i < n_from && n < FRONT_MAX_HEADERS; i++)
        if (is_passed_back(from[i].name))
            h[n++] = from[i];
    return n;
}

/* It says to which protocol it switches, in few words. */
static bool names_protocol(const struct http_header *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(h[i].name, "upgrade"))
            return h[i].value.len > 0 && h[i].value.len <= HTTP_MAX_UPGRADE;
    return false;
}

static void on_head(void *ctx, int status, const struct http_header *from, size_t n_from)
{
    struct passing *p = ctx;
    struct call *c = p->call;
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = reply_headers(c, from, n_from, h);
    note_verified(p);
    p->status = status;
    if (status == 101 && !http_can_upgrade(c->x)) {
        p->ended = true; /* it is let go of with the exchange */
        refuse(c, 502, "BadGateway", "%s at %s switched protocols unasked", p->who, p->address);
    } else if (status == 101 && !names_protocol(h, n)) {
        p->ended = true;
        refuse(c, 502, "BadGateway", "%s at %s switched protocols without a good Upgrade header",
               p->who, p->address);
    } else if (status == 101) {
        p->begun = true;
        c->code = 101;
        http_upgrade(c->x, h, n);
    } else if (p->reply == KUBELET_AS_IT_IS || (p->reply == KUBELET_TEXT && status == 200)) {
        p->begun = true;
        call_stream_begin(c, status, h, n);
    }
}

static void on_data(void *ctx, str data)
{
    struct passing *p = ctx;
    struct call *c = p->call;
    if (p->ended)
        return;
    if (!p->begun) {
        strbuf_add_str(&p->error, str_sub(data, 0, ERROR_MAX - MIN(p->error.len, ERROR_MAX)));
        return;
    }
    struct http_slice slice = {.data = data};
    http_stream_write(c->x, &slice, 1);
    if (http_stream_pending(c->x) >= HIGH_WATER)
        upstream_hold(p->up, true);
}

static void on_up_drain(void *ctx)
{
    struct passing *p = ctx;
    http_hold_input(p->call->x, false);
}

static void on_up_end(void *ctx, const struct err *err)
{
    struct passing *p = ctx;
    struct call *c = p->call;
    if (p->ended)
        return;
    p->ended = true;
    if (!p->begun && (err || !p->status))
        refuse_unreachable(p, err);
    else if (!p->begun)
        refuse_with_answer(p);
    else if (err && p->status != 101)
        http_abort(c->x); /* what is not whole must not look so */
    else
        http_stream_end(c->x);
    if (err)
        log_info("what was passed on to a node broke off", LOG_C("what", p->who),
                 LOG_C("address", p->address), LOG_C("error", err->message));
}

/* ---- what the client says ---- */

static void on_drain(struct http_exchange *x)
{
    struct call *c = x->ctx;
    if (!c->passing->ended)
        upstream_hold(c->passing->up, false);
}

static void on_input(struct http_exchange *x, str data)
{
    struct call *c = x->ctx;
    struct passing *p = c->passing;
    if (p->ended)
        return;
    upstream_write(p->up, data);
    if (upstream_pending(p->up) >= HIGH_WATER)
        http_hold_input(x, true);
}

static void on_input_end(struct http_exchange *x)
{
    struct call *c = x->ctx;
    if (!c->passing->ended)
        upstream_end(c->passing->up);
}

/* ---- passing on ---- */

/* Who asks is our business, and how the bytes go is each connection's. */
static bool is_passed_on(str name)
{
    static const char *const not [] = {"authorization", "proxy-authorization", "host",
                                       "content-length", "cookie"};
    for (size_t i = 0; i < ARRAY_LEN(not ); i++)
        if (str_is(name, not [i]))
            return false;
    return !str_starts(name, STR("impersonate-")) && !str_starts(name, STR("x-remote-"));
}

static size_t request_headers(struct call *c, bool upgrades, struct http_header **ret)
{
    struct http_header *h = arena_array(&c->arena, struct http_header, c->x->n_headers + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->x->n_headers; i++)
        if (is_passed_on(c->x->headers[i].name) &&
            (upgrades || !str_is(c->x->headers[i].name, "upgrade")))
            h[n++] = c->x->headers[i];
    *ret = h;
    return n;
}

/* An IP address: the first one that is internal, else external. Names would have to be looked up,
 * and say the same. */
static str address_of(const struct obj *node)
{
    static const char *const types[] = {"InternalIP", "ExternalIP"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        for (struct jiter it = jiter(jgetc(obj_status(node), "addresses")); jnext(&it);)
            if (str_is(jstr(jgetc(it.value, "type")), types[i]))
                return jstr(jgetc(it.value, "address"));
    return STR_NONE;
}

static struct passing *passing_new(struct call *c, str host, int port, enum kubelet_reply reply)
{
    struct passing *p = xnew(struct passing);
    p->call = c;
    p->reply = reply;
    strbuf_init(&p->error, ERROR_MAX);
    (void)snprintf(p->address, sizeof(p->address),
                   str_find_char(host, ':') >= 0 ? "[%.*s]:%d" : "%.*s:%d", STR_ARG(host), port);
    return p;
}

/* o: what differs between nodes and pods. */
static void begin(struct passing *p, struct upstream_options o)
{
    struct call *c = p->call;
    struct http_header *headers;
    struct err err = ERR_INIT;
    log_info("passed on", LOG_S("user", c->who.user.name), LOG_S("method", c->x->method),
             LOG_S("path", c->x->path), LOG_C("to", p->who), LOG_C("address", p->address));
    c->passing = p;
    c->x->on_drain = on_drain;
    c->x->on_input = on_input;
    c->x->on_input_end = on_input_end;
    turns_pass_on(c);
    o.method = c->x->method;
    o.body = c->x->body;
    o.idle_timeout = IDLE_TIMEOUT;
    o.on_head = on_head;
    o.on_data = on_data;
    o.on_drain = on_up_drain;
    o.on_end = on_up_end;
    o.ctx = p;
    o.n_headers = request_headers(c, http_can_upgrade(c->x), &headers);
    o.headers = headers;
    p->up = upstream_new(c->front->kubelets->loop, &o, &err);
    if (!p->up) {
        p->ended = true;
        refuse_unreachable(p, &err);
    }
}

void kubelet_pass(struct call *c, const struct obj *node, str target, enum kubelet_reply reply,
                  bool lasts)
{
    struct kubelets *k = c->front->kubelets;
    str host = address_of(node);
    int64_t port = jint(jpath(obj_root(node), "status.daemonEndpoints.kubeletEndpoint.Port"), 0);
    if (!k->tls) {
        refuse(c, 503, "ServiceUnavailable", "this server has no certificate to show to kubelets");
        return;
    }
    if (!host.len || port <= 0 || port > UINT16_MAX) {
        refuse(c, 503, "ServiceUnavailable",
               "node %.*s does not say where its kubelet is: status.%s is missing",
               STR_ARG(node->name), host.len ? "daemonEndpoints" : "addresses");
        return;
    }
    struct passing *p = passing_new(c, host, (int)port, reply);
    (void)snprintf(p->uid, sizeof(p->uid), "%.*s", STR_ARG(node->uid));
    (void)snprintf(p->name, sizeof(p->name), "%.*s", STR_ARG(node->name));
    (void)snprintf(p->who, sizeof(p->who), "the kubelet of node %.*s", STR_ARG(node->name));
    begin(p, (struct upstream_options){.host = arena_str(&c->arena, host).p,
                                       .port = (int)port,
                                       .tls = k->tls,
                                       .ca_pem = strbuf_str(&k->ca_pem),
                                       .name = p->name,
                                       .must_verify = map_has(&k->verified, str_of(p->uid)),
                                       .target = target,
                                       .head_timeout = lasts ? 0 : HEAD_TIMEOUT});
}

/* ---- pods ---- */

/* Not loopback, link-local, multicast or none at all: what listens there is not the pod. */
static bool is_of_a_pod(const char *host)
{
    struct in_addr in;
    struct in6_addr in6;
    if (inet_pton(AF_INET, host, &in) == 1) {
        uint32_t a = ntohl(in.s_addr);
        return a >> 24 != 127 && a >> 16 != 0xa9fe && a >> 28 < 0xe && a >> 24 != 0;
    }
    return inet_pton(AF_INET6, host, &in6) == 1 && !IN6_IS_ADDR_LOOPBACK(&in6) &&
           !IN6_IS_ADDR_LINKLOCAL(&in6) && !IN6_IS_ADDR_MULTICAST(&in6) &&
           !IN6_IS_ADDR_UNSPECIFIED(&in6) && !IN6_IS_ADDR_V4MAPPED(&in6);
}

void pod_pass(struct call *c, const struct obj *pod, int port, bool tls, str target)
{
    struct kubelets *k = c->front->kubelets;
    struct err err = ERR_INIT;
    str host = arena_str(&c->arena, jstr(jgetc(obj_status(pod), "podIP")));
    if (!host.len || !is_of_a_pod(host.p)) {
        refuse(c, 503, "ServiceUnavailable",
               "pod %.*s has no address that it could be reached at%s%.*s", STR_ARG(pod->name),
               host.len ? ": " : "", STR_ARG(host));
        return;
    }
    if (tls && !k->bare)
        k->bare = tls_client_new(STR_NONE, STR_NONE, STR_NONE, true, &err);
    if (tls && !k->bare) {
        refuse(c, 503, "ServiceUnavailable", "pod %.*s cannot be reached by TLS: %s",
               STR_ARG(pod->name), err.message);
        return;
    }
    struct passing *p = passing_new(c, host, port, KUBELET_AS_IT_IS);
    (void)snprintf(p->who, sizeof(p->who), "pod %.*s", STR_ARG(pod->name));
    begin(p, (struct upstream_options){
                 .host = host.p, .port = port, .tls = tls ? k->bare : NULL, .target = target});
}

void kubelet_stop(struct call *c)
{
    struct passing *p = TAKE_PTR(c->passing);
    upstream_free(p->up);
    strbuf_done(&p->error);
    free(p);
}
