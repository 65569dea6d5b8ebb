/* See endpoints.h. */
#include "cli/endpoints.h"

#include "base/log.h"
#include "base/metric.h"
#include "net/http.h"

enum { METRICS_MAX = 64 << 20 };

struct endpoints {
    struct endpoints_options o;
    struct http_server *health, *metrics;
};

static void answer(struct http_exchange *x, int status, const char *type, str body)
{
    struct http_header header = {STR("content-type"), str_of(type)};
    http_reply(x, status, &header, 1, (struct http_slice){.data = body});
}

static void answer_text(struct http_exchange *x, int status, const char *text)
{
    answer(x, status, "text/plain; charset=utf-8", str_of(text));
}

static void on_health(void *ctx, struct http_exchange *x)
{
    const struct endpoints *e = ctx;
    const char *why = e->o.not_ready ? e->o.not_ready(e->o.ctx) : NULL;
    if (str_is(x->path, "/readyz") && why)
        answer_text(x, 503, why);
    else if (str_is(x->path, "/healthz") || str_is(x->path, "/readyz"))
        answer_text(x, 200, "ok");
    else
        answer_text(x, 404, "there are /healthz and /readyz");
}

static void on_metrics(void *ctx, struct http_exchange *x)
{
    struct strbuf b = STRBUF_INIT(METRICS_MAX);
    (void)ctx;
    if (!str_is(x->path, "/metrics")) {
        answer_text(x, 404, "there is /metrics");
        return;
    }
    metric_write(&b);
    answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", strbuf_str(&b));
    strbuf_done(&b);
}

static struct http_server *serve(struct loop *l, const char *listen, const char *what,
                                 void (*handler)(void *ctx, struct http_exchange *x),
                                 struct endpoints *e, struct err *err)
{
    struct http_limits limits = http_default_limits;
    limits.max_connections = 100;
    limits.max_body = 4096;
    struct http_server_options o = {
        .listen = listen, .limits = &limits, .handler = handler, .ctx = e};
    struct http_server *s = http_server_new(l, &o, err);
    if (s)
        log_info(what, LOG_C("address", http_server_address(s)));
    return s;
}

struct endpoints *endpoints_new(struct loop *l, const struct endpoints_options *o, struct err *err)
{
    struct endpoints *e = xnew(struct endpoints);
    e->o = *o;
    bool ok = true;
    if (o->health)
        ok = (e->health = serve(l, o->health, "health served", on_health, e, err));
    if (ok && o->metrics)
        ok = (e->metrics = serve(l, o->metrics, "metrics served", on_metrics, e, err));
    if (ok)
        return e;
    endpoints_free(e);
    return NULL;
}

void endpoints_free(struct endpoints *e)
{
    if (e && e->health)
        http_server_free(e->health);
    if (e && e->metrics)
        http_server_free(e->metrics);
    free(e);
}
