/*
 * `grove operator`: the controllers and the admission webhooks against a cluster. Every instance
 * answers webhooks; with a lease, one of them acts. The certificate comes from a Secret that the
 * operator makes and renews, or from files.
 *
 * What the configuration file says comes first, flags are put over it, and what neither says has
 * the defaults of a process that was started by hand: no lease, no probes.
 */
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/crds.h"
#include "cli/endpoints.h"
#include "client/host.h"
#include "operator/common/backend.h"
#include "operator/common/config.h"
#include "operator/common/mnnvl.h"
#include "operator/operator.h"
#include "operator/webhook/webhook_config.h"
#include "operator/webhook/webhook_server.h"

/* Between looks at the files of a given certificate; a mounted Secret is no faster. */
#define FILES_INTERVAL USEC_PER_MIN
#define FILES_RETRY (5 * USEC_PER_SEC) /* while there are none */
#define LEAVE_GRACE (2 * USEC_PER_SEC) /* for answers that are being read */

struct operator_args {
    str config, kubeconfig, context, ns, listen, secret, service, cert_dir, account, lease;
    str health, metrics;
    usec linger;
    bool webhooks_only, install_crds;
};

static const struct opt operator_opts[] = {
    OPT_STRING(struct operator_args, config, 0, "config", "FILE",
               "Configuration, as other Grove operators have it; flags come before it"),
    OPT_STRING(struct operator_args, kubeconfig, 0, "kubeconfig", "FILE", "As for kubectl"),
    OPT_STRING(struct operator_args, context, 0, "context", "NAME", "As for kubectl"),
    OPT_STRING(struct operator_args, ns, 0, "webhook-namespace", "NAME",
               "Namespace of the webhooks' Service and Secret (default: grove-system)"),
    OPT_STRING(struct operator_args, service, 0, "webhook-service", "NAME",
               "Service that leads here (default: grove-operator)"),
    OPT_STRING(struct operator_args, secret, 0, "webhook-secret", "NAME",
               "Secret of the certificate (default: grove-webhook-server-cert)"),
    OPT_STRING(struct operator_args, listen, 0, "webhook-listen", "ADDR:PORT",
               "Where webhooks are answered (default: [::]:2750, all there are)"),
    OPT_STRING(struct operator_args, cert_dir, 0, "webhook-cert-dir", "DIR",
               "Take tls.crt and tls.key from here instead of a Secret"),
    OPT_STRING(struct operator_args, account, 0, "operator-account", "USER",
               "Who the operator is to the authorizer webhook"),
    OPT_STRING(struct operator_args, lease, 0, "lease", "NAME",
               "Act only while holding this Lease"),
    OPT_STRING(struct operator_args, health, 0, "health-listen", "ADDR:PORT",
               "Where /healthz and /readyz are answered"),
    OPT_STRING(struct operator_args, metrics, 0, "metrics-listen", "ADDR:PORT",
               "Where /metrics is answered"),
    OPT_DURATION(struct operator_args, linger, 0, "shutdown-delay", "0s",
                 "Told to end, give the lease back and answer webhooks for so long"),
    OPT_FLAG(struct operator_args, webhooks_only, 0, "webhooks-only",
             "Answer webhooks and keep their certificate, without controllers"),
    OPT_FLAG(struct operator_args, install_crds, 0, "install-crds",
             "Define Grove's kinds, or bring their definitions up to date, and end"),
    OPT_END,
};

struct operator_run {
    struct arena arena;
    bool webhooks_only;
    str listen, cert_dir; /* cert_dir empty: the Secret */
    const char *health, *metrics;
    const struct operator_config *config; /* NULL: no file */
    str account;
    struct webhook_cert_options certs;
    struct webhook_world world;
    struct webhook_server *server;
    struct backend_env *backends;
    struct endpoints *endpoints;
    struct loop_timer files; /* of cert_dir: looked at again */
    struct err err;          /* of what could not be served */
};

static str or_else(str given, const char *otherwise)
{
    return str_is_empty(given) ? str_of(otherwise) : given;
}

/* ---- certificates ---- */

/* Whoever gives the certificate writes a new one over it in time. */
static void serve_files(struct operator_run *o)
{
    struct arena a = ARENA_INIT;
    struct strbuf cert = STRBUF_INIT(1 << 20), key = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    if (file_read(arena_printf(&a, "%.*s/tls.crt", STR_ARG(o->cert_dir)).p, &cert, &err) == 0 &&
        file_read(arena_printf(&a, "%.*s/tls.key", STR_ARG(o->cert_dir)).p, &key, &err) == 0)
        (void)webhook_server_set_identity(o->server, strbuf_str(&cert), strbuf_str(&key), &err);
    if (err.code)
        log_error("webhooks are not served", LOG_C("why", err.message));
    strbuf_done(&cert);
    strbuf_done(&key);
    arena_done(&a);
    bool served = webhook_server_address(o->server) != NULL;
    loop_timer_set(&o->files, loop_now(o->files.loop) + (served ? FILES_INTERVAL : FILES_RETRY));
}

static void on_files(struct loop_timer *t)
{
    serve_files(container_of(t, struct operator_run, files));
}

static void on_secret(void *ctx, const struct obj *old, const struct obj *new)
{
    struct operator_run *o = ctx;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    (void)old;
    if (!new || !str_eq(new->ns, o->certs.service.ns) || !str_eq(new->name, o->certs.secret))
        return;
    str cert = webhook_secret_value(&a, new, "tls.crt");
    str key = webhook_secret_value(&a, new, "tls.key");
    if (!str_is_empty(cert) && !str_is_empty(key) &&
        webhook_server_set_identity(o->server, cert, key, &err) < 0)
        log_error("webhooks are not served", LOG_C("why", err.message));
    arena_done(&a);
}

/* ---- what the process consists of ---- */

/* One that waits for the lease answers as well as the one that leads: what rules look at must be
 * known, not all that controllers need. */
static bool can_judge(void *ctx)
{
    struct webhook_world *w = ctx;
    return cache_is_synced(runtime_cache(w->runtime, &kind_pcs)) &&
           cache_is_synced(runtime_cache(w->runtime, &kind_ctb));
}

static const char *not_ready(void *ctx)
{
    struct operator_run *o = ctx;
    if (!webhook_server_address(o->server))
        return "the webhooks have no certificate yet";
    return can_judge(&o->world) ? NULL : "sets and topologies are not known yet";
}

static void linger(void *ctx)
{
    struct operator_run *o = ctx;
    webhook_server_linger(o->server);
}

static void leave(void *ctx, void (*gone)(void *host), void *host)
{
    struct operator_run *o = ctx;
    webhook_server_leave(o->server, LEAVE_GRACE, gone, host);
}

static void add_webhooks(struct operator_run *o, struct runtime *r, struct api *api)
{
    const struct operator_config *c = o->config;
    webhook_world_init(&o->world, r);
    o->world.rules.is_ready = can_judge;
    o->world.rules.operator_user = o->account;
    if (c) {
        o->world.context.topology_enabled = c->topology;
        o->world.context.mnnvl_enabled = c->mnnvl;
        o->world.context.schedulers = c->schedulers;
        o->world.context.strategy = c->strategy;
    }
    if (c && c->n_exempt > 0) {
        o->world.rules.exempt = c->exempt;
        o->world.rules.n_exempt = c->n_exempt;
    }
    o->server = webhook_server_new(runtime_loop(r), o->listen.p, &o->world.rules);
    if (str_is_empty(o->cert_dir)) {
        cache_add_handler(
            runtime_cache_named(r, &kind_secret, o->certs.service.ns, o->certs.secret), on_secret,
            o);
        (void)webhook_cert_add(r, api, &o->certs);
    } else {
        loop_timer_init(runtime_loop(r), &o->files, on_files);
        serve_files(o);
    }
}

/* Without a file it makes what `grove scheduler` without options places. */
static void use_backends(const struct operator_config *c, struct runtime *r)
{
    unsigned used = c ? c->backends : 1u << BACKEND_DEFAULT | 1u << BACKEND_GROVE;
    backend_register_kinds(used);
    backend_use(r, used, c ? c->backend : &backends[BACKEND_GROVE]);
}

static void add(void *ctx, struct runtime *r, struct api *api)
{
    struct operator_run *o = ctx;
    struct endpoints_options eo = {
        .health = o->health, .metrics = o->metrics, .not_ready = not_ready, .ctx = o};
    use_backends(o->config, r);
    operator_filter(r);
    add_webhooks(o, r, api);
    if (!o->webhooks_only) {
        if (!o->config || o->config->mnnvl)
            mnnvl_assume_served();
        operator_add(r, api,
                     &(struct operator_options){.initc_image =
                                                    str_of(getenv("GROVE_INIT_CONTAINER_IMAGE"))});
        o->backends = backend_add(r, api);
    }
    o->endpoints = endpoints_new(runtime_loop(r), &eo, &o->err);
    if (!o->endpoints)
        loop_stop(runtime_loop(r), o->err.code);
}

static void done(void *ctx)
{
    struct operator_run *o = ctx;
    if (!str_is_empty(o->cert_dir))
        loop_timer_cancel(&o->files);
    endpoints_free(o->endpoints);
    webhook_server_free(o->server);
    backend_env_free(o->backends);
}

/* ---- file and flags ---- */

/* "ADDR:PORT", from a flag or else the file; NULL: from neither. */
static const char *address_of(struct operator_run *o, str flag, const struct config_endpoint *e)
{
    if (!str_is_empty(flag))
        return arena_str(&o->arena, flag).p;
    if (!e)
        return NULL;
    str host = or_else(e->address, "::");
    bool is_6 = str_find(host, STR(":")) >= 0 && host.p[0] != '[';
    return arena_printf(&o->arena, is_6 ? "[%.*s]:%d" : "%.*s:%d", STR_ARG(host), e->port).p;
}

static void use_file(const struct operator_config *c)
{
    log_set_level(c->log_level);
    log_set_format(c->log_json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    for (size_t i = 0; i < c->warnings.len; i++)
        log_warn("configuration", LOG_S("what", c->warnings.p[i]));
}

static void operator_run_init(struct operator_run *o, const struct operator_args *a,
                              const struct operator_config *c)
{
    *o = (struct operator_run){.config = c, .webhooks_only = a->webhooks_only};
    const char *listen = address_of(o, a->listen, c ? &c->webhooks : NULL);
    o->listen = str_of(listen ? listen : "[::]:2750");
    o->health = address_of(o, a->health, c ? &c->health : NULL);
    o->metrics = address_of(o, a->metrics, c ? &c->metrics : NULL);
    o->account = a->account;
    o->cert_dir = arena_str(&o->arena, a->cert_dir);
    if (str_is_empty(o->cert_dir) && c && !c->own_certs)
        o->cert_dir = c->cert_dir;
    o->certs = (struct webhook_cert_options){
        .service = {or_else(a->ns, "grove-system"), or_else(a->service, WEBHOOK_SERVICE), 443},
        .secret = !str_is_empty(a->secret) ? a->secret
                  : c                      ? c->cert_secret
                                           : STR(WEBHOOK_SECRET),
        .make = webhook_make_certs};
}

/* Who asks for ComputeDomains in a cluster that has none is told so before anything is done: 0, or
 * the error. That the cluster cannot be asked says nothing; it is waited for later on. */
static int check_mnnvl(const struct operator_args *a, struct err *err)
{
    struct session_opts cluster = {.kubeconfig = a->kubeconfig, .context = a->context};
    struct session s = {0};
    struct session_list found;
    struct err why = ERR_INIT;
    int r = session_open(&cluster, &s, &why);
    if (r == 0)
        r = session_list(&s, mnnvl_kind(), STR_NONE, STR_NONE, &found, &why);
    if (s.loop)
        session_close(&s);
    if (r != ERR_NOT_FOUND)
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "MNNVL preflight check failed: the cluster has no ComputeDomain CRD "
                   "(computedomains.resource.nvidia.com, v1beta1); install NVIDIA's DRA driver or "
                   "set network.autoMNNVLEnabled to false");
}

static int run_with(const struct operator_args *a, const struct operator_config *c, struct err *err)
{
    struct operator_run o;
    if (c && c->mnnvl && check_mnnvl(a, err) < 0)
        return err->code;
    operator_run_init(&o, a, c);
    char *kubeconfig = str_is_empty(a->kubeconfig) ? NULL : str_dup(a->kubeconfig);
    char *context = str_is_empty(a->context) ? NULL : str_dup(a->context);
    struct host_options host = {.kubeconfig = kubeconfig,
                                .context = context,
                                .lease = a->lease,
                                .linger = a->linger,
                                .add = add,
                                .lingers = linger,
                                .leave = leave,
                                .done = done,
                                .ctx = &o};
    if (c && c->election.enabled) {
        host.lease = or_else(a->lease, c->election.name.p);
        host.lease_ns = c->election.ns;
        host.lease_duration = c->election.duration;
        host.lease_renew = c->election.renew;
        host.lease_retry = c->election.retry;
    }
    int r = host_run(&host, err);
    if (o.err.code) {
        *err = o.err;
        r = err->code;
    }
    arena_done(&o.arena);
    free(kubeconfig);
    free(context);
    return r;
}

static int run_operator(void *ctx, const void *opts, const struct command_call *call)
{
    const struct operator_args *a = opts;
    struct operator_config config;
    struct err err = ERR_INIT;
    bool filed = !str_is_empty(a->config);
    (void)ctx;
    (void)call;
    if (a->install_crds) {
        struct session_opts cluster = {.kubeconfig = a->kubeconfig, .context = a->context};
        return crds_install(&cluster, &err) < 0 ? cli_fail(&err) : EXIT_OK;
    }
    if (filed) {
        char *file = str_dup(a->config);
        int r = config_load(file, &config, &err);
        free(file);
        if (r) {
            (void)cli_fail(&err);
            return EXIT_USAGE;
        }
        use_file(&config);
    }
    int r = run_with(a, filed ? &config : NULL, &err);
    if (filed)
        config_done(&config);
    return r < 0 ? cli_fail(&err) : EXIT_OK;
}

const struct command cmd_operator = {
    .name = "operator",
    .summary = "Run the controllers and admission webhooks against a cluster",
    .opts = operator_opts,
    .opts_size = sizeof(struct operator_args),
    .examples = "  $ grove operator --config /etc/grove-operator/config.yaml\n"
                "  $ grove operator --webhook-namespace grove-system --lease grove-operator\n"
                "  $ grove operator --install-crds\n"
                "  $ grove operator --webhooks-only --webhook-listen 127.0.0.1:2750",
    .run = run_operator,
};
