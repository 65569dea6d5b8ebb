/*
 * See webhook_server.h. A certificate belongs to the TLS context of an HTTP server, so a new one
 * means a new HTTP server on the same address: the old one stops accepting, the new one begins in
 * the same turn of the loop, and what is under way has a few seconds to end.
 */
#include "operator/webhook_server.h"

#include "base/log.h"
#include "grove/names.h"
#include "grove/types.h"
#include "net/http.h"
#include "net/tls.h"

#define GRACE (10 * USEC_PER_SEC)
enum { PEM_MAX = 1 << 20 };

struct serving {
    struct list link;
    struct http_server *http;
    struct tls_server *tls;
};

struct webhook_server {
    struct loop *loop;
    struct strbuf listen;
    const struct webhook_rules *rules;
    struct serving *now;
    struct list old; /* finishing */
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

static void serving_free(struct serving *v)
{
    if (!v)
        return;
    http_server_free(v->http);
    tls_server_free(v->tls);
    free(v);
}

static void on_finished(void *ctx)
{
    struct serving *v = ctx;
    list_remove(&v->link);
    serving_free(v);
}

static struct serving *serve(struct webhook_server *s, struct tls_server *tls, struct err *err)
{
    struct http_limits limits = http_default_limits;
    limits.max_body = WEBHOOK_MAX_BODY;
    limits.max_connections = 1000;
    struct http_server_options o = {
        .listen = s->listen.p, .tls = tls, .limits = &limits, .handler = on_request, .ctx = s};
    struct http_server *http = http_server_new(s->loop, &o, err);
    if (!http)
        return NULL;
    struct serving *v = xnew(struct serving);
    *v = (struct serving){.http = http, .tls = tls};
    return v;
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
    list_init(&s->old);
    return s;
}

void webhook_server_free(struct webhook_server *s)
{
    if (!s)
        return;
    while (!list_is_empty(&s->old)) {
        struct serving *v = container_of(s->old.next, struct serving, link);
        list_remove(&v->link);
        serving_free(v);
    }
    serving_free(s->now);
    strbuf_done(&s->listen);
    strbuf_done(&s->cert);
    strbuf_done(&s->key);
    free(s);
}

static void retire(struct webhook_server *s, struct serving *v)
{
    list_push_back(&s->old, &v->link);
    http_server_shutdown(v->http, GRACE, on_finished, v);
}

/* After the first time the port is the one that was picked then. */
static void keep_address(struct webhook_server *s)
{
    struct strbuf address = STRBUF_INIT(1024);
    strbuf_add_cstr(&address, http_server_address(s->now->http));
    strbuf_done(&s->listen);
    s->listen = address;
}

int webhook_server_set_identity(struct webhook_server *s, str cert_pem, str key_pem,
                                struct err *err)
{
    if (s->now && str_eq(cert_pem, strbuf_str(&s->cert)) && str_eq(key_pem, strbuf_str(&s->key)))
        return 0;
    struct tls_server *tls = tls_server_new(cert_pem, key_pem, STR_NONE, err);
    if (!tls)
        return err_wrap(err, "webhook certificate");
    if (s->now)
        retire(s, s->now);
    s->now = serve(s, tls, err);
    if (!s->now) {
        tls_server_free(tls);
        return err_wrap(err, "webhooks cannot listen");
    }
    keep_address(s);
    strbuf_reset(&s->cert);
    strbuf_reset(&s->key);
    strbuf_add_str(&s->cert, cert_pem);
    strbuf_add_str(&s->key, key_pem);
    log_info("webhooks served", LOG_S("address", str_of(http_server_address(s->now->http))));
    return 0;
}

const char *webhook_server_address(const struct webhook_server *s)
{
    return s->now ? http_server_address(s->now->http) : NULL;
}

/* ---- the world behind the rules ---- */

static struct world world_of(struct webhook_world *w)
{
    return (struct world){.now = loop_wall(runtime_loop(w->runtime)), .runtime = w->runtime};
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
    if (found || label.len < 60)
        return found;
    struct arena a = ARENA_INIT;
    struct cache_iter it = cache_all(world_cache(&world, &kind_pcs), ns);
    while (!found && (o = cache_next(&it))) {
        if (str_eq(name_label(&a, o->name), label))
            found = o;
    }
    arena_done(&a);
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
