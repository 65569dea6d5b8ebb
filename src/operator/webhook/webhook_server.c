/*
 * See webhook_server.h. A new certificate is for new connections: those that stand go on with the
 * one they began with, so an API server that has one open notices nothing.
 */
#include "operator/webhook/webhook_server.h"

#include "base/log.h"
#include "grove/names.h"
#include "grove/types.h"
#include "net/http.h"
#include "net/tls.h"

enum { PEM_MAX = 1 << 20 };

struct webhook_server {
    struct loop *loop;
    struct strbuf listen;
    const struct webhook_rules *rules;
    struct http_server *http; /* NULL: there is no certificate yet */
    struct tls_server *tls;
    struct strbuf cert, key;
};

static void on_request(void *ctx, struct http_exchange *x)
{
    struct webhook_server *s = ctx;
    struct arena a = ARENA_INIT;
    struct webhook_reply reply;
    str type = http_header_get(x, STR("content-type"));
    webhook_answer(s->rules, &a, x->method, x->path, type, x->body, &reply);
    struct http_header header = {STR("content-type"), str_of(reply.content_type)};
    http_reply(x, reply.code, &header, 1, (struct http_slice){.data = reply.body});
    arena_done(&a);
}

static struct http_server *serve(struct webhook_server *s, struct err *err)
{
    struct http_limits limits = http_default_limits;
    limits.max_body = WEBHOOK_MAX_BODY;
    limits.max_connections = 1000;
    struct http_server_options o = {
        .listen = s->listen.p, .tls = s->tls, .limits = &limits, .handler = on_request, .ctx = s};
    return http_server_new(s->loop, &o, err);
}

struct webhook_server *webhook_server_new(struct loop *l, const char *listen,
                                          const struct webhook_rules *rules)
{
    struct webhook_server *s = xnew(struct webhook_server);
    s->loop = l;
    s->listen = STRBUF_INIT(1024);
    strbuf_add_cstr(&s->listen, listen);
    s->rules = rules;
    s->cert = STRBUF_INIT(PEM_MAX);
    s->key = STRBUF_INIT(PEM_MAX);
    return s;
}

void webhook_server_linger(struct webhook_server *s)
{
    if (s->http)
        http_server_take_leave(s->http);
}

void webhook_server_leave(struct webhook_server *s, usec grace, void (*done)(void *ctx), void *ctx)
{
    if (s->http)
        http_server_shutdown(s->http, grace, done, ctx);
    else
        done(ctx);
}

void webhook_server_free(struct webhook_server *s)
{
    if (!s)
        return;
    if (s->http)
        http_server_free(s->http);
    tls_server_free(s->tls);
    strbuf_done(&s->listen);
    strbuf_done(&s->cert);
    strbuf_done(&s->key);
    free(s);
}

static int take_identity(struct webhook_server *s, str cert_pem, str key_pem, struct err *err)
{
    if (s->tls)
        return tls_server_replace(s->tls, cert_pem, key_pem, STR_NONE, err);
    s->tls = tls_server_new(cert_pem, key_pem, STR_NONE, err);
    return s->tls ? 0 : err->code;
}

int webhook_server_set_identity(struct webhook_server *s, str cert_pem, str key_pem,
                                struct err *err)
{
    if (s->http && str_eq(cert_pem, strbuf_str(&s->cert)) && str_eq(key_pem, strbuf_str(&s->key)))
        return 0;
    if (take_identity(s, cert_pem, key_pem, err) < 0)
        return err_wrap(err, "webhook certificate");
    if (!s->http && !(s->http = serve(s, err)))
        return err_wrap(err, "webhooks cannot listen");
    strbuf_reset(&s->cert);
    strbuf_reset(&s->key);
    strbuf_add_str(&s->cert, cert_pem);
    strbuf_add_str(&s->key, key_pem);
    log_info("webhooks served", LOG_C("address", http_server_address(s->http)));
    return 0;
}

const char *webhook_server_address(const struct webhook_server *s)
{
    return s->http ? http_server_address(s->http) : NULL;
}

/* ---- the world behind the rules ---- */

static struct world world_of(struct webhook_world *w)
{
    return runtime_world(w->runtime);
}

static bool is_ready(void *ctx)
{
    struct webhook_world *w = ctx;
    return runtime_is_synced(w->runtime);
}

static jval binding_levels(void *ctx, str name)
{
    struct world world = world_of(ctx);
    const struct obj *binding = world_get(&world, &kind_ctb, STR_NONE, name);
    return binding ? jgetc(obj_spec(binding), "levels") : JVAL_ABSENT;
}

/* By the value of a label, which is the name, or what is left of a long one. */
static const struct obj *find_set(void *ctx, str ns, str label)
{
    struct world world = world_of(ctx);
    const struct obj *found = world_get(&world, &kind_pcs, ns, label), *o;
    if (found || !name_may_be_shortened(label))
        return found;
    struct cache_iter it = cache_all(world_cache(&world, &kind_pcs), ns);
    while (!found && (o = cache_next(&it)))
        found = name_has_label(o->name, label) ? o : NULL;
    return found;
}

void webhook_world_init(struct webhook_world *w, struct runtime *r)
{
    (void)runtime_cache(r, &kind_pcs);
    (void)runtime_cache(r, &kind_ctb);
    *w = (struct webhook_world){.runtime = r, .context = grove_default_context};
    w->context.levels = binding_levels;
    w->context.ctx = w;
    w->rules = (struct webhook_rules){.context = &w->context,
                                      .is_ready = is_ready,
                                      .find_set = find_set,
                                      .ctx = w,
                                      .exempt = webhook_default_exempt,
                                      .n_exempt = webhook_n_default_exempt};
}
