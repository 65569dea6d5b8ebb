/*
 * `grove operator`: the controllers and the admission webhooks against a cluster. Every instance
 * answers webhooks; with a lease, one of them acts. The certificate comes from a Secret that the
 * operator makes and renews, or from files.
 */
#include "operator/operator.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "client/host.h"
#include "operator/webhook_config.h"
#include "operator/webhook_server.h"

struct operator_args {
    str kubeconfig, context, ns, listen, secret, service, cert_dir, account, lease;
    bool webhooks_only;
};

static const struct opt operator_opts[] = {
    OPT_STRING(struct operator_args, kubeconfig, 0, "kubeconfig", "FILE", "As for kubectl"),
    OPT_STRING(struct operator_args, context, 0, "context", "NAME", "As for kubectl"),
    OPT_STRING(struct operator_args, ns, 0, "webhook-namespace", "NAME",
               "Namespace of the webhooks' Service and Secret (default: grove-system)"),
    OPT_STRING(struct operator_args, service, 0, "webhook-service", "NAME",
               "Service that leads here (default: grove-operator)"),
    OPT_STRING(struct operator_args, secret, 0, "webhook-secret", "NAME",
               "Secret of the certificate (default: grove-webhook-server-cert)"),
    OPT_STRING(struct operator_args, listen, 0, "webhook-listen", "ADDR:PORT",
               "Where webhooks are answered (default: 0.0.0.0:2750)"),
    OPT_STRING(struct operator_args, cert_dir, 0, "webhook-cert-dir", "DIR",
               "Take tls.crt and tls.key from here instead of a Secret"),
    OPT_STRING(struct operator_args, account, 0, "operator-account", "USER",
               "Who the operator is to the authorizer webhook"),
    OPT_STRING(struct operator_args, lease, 0, "lease", "NAME",
               "Act only while holding this Lease"),
    OPT_FLAG(struct operator_args, webhooks_only, 0, "webhooks-only",
             "Answer webhooks and keep their certificate, without controllers"),
    OPT_END,
};

struct operator_run {
    const struct operator_args *args;
    struct webhook_world world;
    struct webhook_server *server;
    struct webhook_cert_options certs;
    struct err err;
};

static str or_else(str given, const char *otherwise)
{
    return str_is_empty(given) ? str_of(otherwise) : given;
}

static void serve_files(struct operator_run *o)
{
    struct arena a = ARENA_INIT;
    struct strbuf cert = STRBUF_INIT(1 << 20), key = STRBUF_INIT(1 << 20);
    str dir = o->args->cert_dir;
    if (file_read(arena_printf(&a, "%.*s/tls.crt", STR_ARG(dir)).p, &cert, &o->err) == 0 &&
        file_read(arena_printf(&a, "%.*s/tls.key", STR_ARG(dir)).p, &key, &o->err) == 0)
        (void)webhook_server_set_identity(o->server, strbuf_str(&cert), strbuf_str(&key), &o->err);
    if (o->err.code)
        log_error("webhooks are not served", LOG_C("why", o->err.message));
    strbuf_done(&cert);
    strbuf_done(&key);
    arena_done(&a);
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

static void add(void *ctx, struct runtime *r, struct api *api)
{
    struct operator_run *o = ctx;
    struct arena a = ARENA_INIT;
    str listen = arena_str(&a, or_else(o->args->listen, "0.0.0.0:2750"));
    webhook_world_init(&o->world, r);
    o->world.rules.operator_user = o->args->account;
    o->server = webhook_server_new(runtime_loop(r), listen.p, &o->world.rules);
    arena_done(&a);
    if (str_is_empty(o->args->cert_dir)) {
        cache_add_handler(runtime_cache(r, &kind_secret), on_secret, o);
        (void)webhook_cert_add(r, api, &o->certs);
    } else
        serve_files(o);
    if (!o->args->webhooks_only)
        operator_add(r, api);
}

static int run_operator(void *ctx, const void *opts, const struct command_call *call)
{
    const struct operator_args *a = opts;
    struct operator_run o = {.args = a};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    o.certs = (struct webhook_cert_options){
        .service = {or_else(a->ns, "grove-system"), or_else(a->service, WEBHOOK_SERVICE), 443},
        .secret = or_else(a->secret, WEBHOOK_SECRET),
        .make = webhook_make_certs};
    char *kubeconfig = str_is_empty(a->kubeconfig) ? NULL : str_dup(a->kubeconfig);
    char *context = str_is_empty(a->context) ? NULL : str_dup(a->context);
    struct host_options host = {
        .kubeconfig = kubeconfig, .context = context, .lease = a->lease, .add = add, .ctx = &o};
    int r = host_run(&host, &err);
    webhook_server_free(o.server);
    free(kubeconfig);
    free(context);
    return r < 0 ? cli_fail(&err) : EXIT_OK;
}

const struct command cmd_operator = {
    .name = "operator",
    .summary = "Run the controllers and admission webhooks against a cluster",
    .opts = operator_opts,
    .opts_size = sizeof(struct operator_args),
    .examples = "  $ grove operator --webhook-namespace grove-system --lease grove-operator\n"
                "  $ grove operator --webhooks-only --webhook-listen 127.0.0.1:2750",
    .run = run_operator,
};
