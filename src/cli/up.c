/* See up.h. Nothing here decides anything about clusters: it only puts the parts together and
 * prints how to reach them. */
#include "cli/up.h"

#include <signal.h>
#include <unistd.h>

#include "apiserver/front.h"
#include "apiserver/token.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/pki.h"

struct up {
    struct loop *loop;
    struct strbuf dir, kubeconfig;
    bool temporary;
    struct plane_pki pki;
    struct tls_server *tls;
    struct token_key *token_key;
    struct plane *plane;
    struct front *front;
    void (*on_ready)(void *ctx, const struct err *err);
    void *ctx;
};

/* ---- start ---- */

static int open_dir(struct up *u, const struct up_options *o, struct err *err)
{
    strbuf_init(&u->dir, 4096);
    if (!str_is_empty(o->data)) {
        strbuf_add_str(&u->dir, o->data);
        return dir_make(u->dir.p, 0700, err);
    }
    const char *temp = getenv("TMPDIR");
    strbuf_printf(&u->dir, "%s/grove-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(u->dir.p))
        return err_errno(err, ERR_IO, "cannot make a temporary directory %s", u->dir.p);
    u->temporary = true;
    return 0;
}

static int open_keys(struct up *u, const struct up_options *o, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096);
    strbuf_printf(&dir, "%s/pki", u->dir.p);
    int r = plane_pki_open(dir.p, loop_wall(u->loop), &u->pki, err);
    strbuf_done(&dir);
    strbuf_init(&u->kubeconfig, 4096);
    if (str_is_empty(o->kubeconfig))
        strbuf_printf(&u->kubeconfig, "%s/kubeconfig", u->dir.p);
    else
        strbuf_add_str(&u->kubeconfig, o->kubeconfig);
    if (r)
        return r;
    u->tls = tls_server_new(strbuf_str(&u->pki.server.cert_pem), strbuf_str(&u->pki.server.key_pem),
                            strbuf_str(&u->pki.ca.cert_pem), err);
    if (!u->tls)
        return err->code;
    u->token_key = token_key_new(strbuf_str(&u->pki.sa_key), err);
    return u->token_key ? 0 : err->code;
}

static void on_plane_ready(void *ctx, const struct err *err)
{
    struct up *u = ctx;
    struct err failure = ERR_INIT;
    if (!err && plane_pki_kubeconfig(&u->pki, front_address(u->front), u->kubeconfig.p, &failure))
        err = &failure;
    if (!err)
        front_set_ready(u->front, true);
    u->on_ready(u->ctx, err);
}

static int open_plane(struct up *u, const struct up_options *o, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096);
    strbuf_printf(&dir, "%s/store", u->dir.p);
    int r = dir_make(dir.p, 0700, err);
    if (r == 0) {
        struct plane_options po = {.data_dir = dir.p,
                                   .nodes = o->nodes,
                                   .without = o->without,
                                   .ca_pem = strbuf_str(&u->pki.ca.cert_pem),
                                   .token_key = u->token_key};
        u->plane = plane_new(u->loop, &po, on_plane_ready, u, err);
        r = u->plane ? 0 : err->code;
    }
    strbuf_done(&dir);
    return r;
}

static int open_front(struct up *u, const struct up_options *o, struct err *err)
{
    char *listen = str_dup(o->listen);
    struct front_options fo = {
        .listen = listen, .tls = u->tls, .sa_key = strbuf_str(&u->pki.sa_key)};
    u->front = front_new(plane_server(u->plane), &fo, err);
    free(listen);
    return u->front ? 0 : err->code;
}

struct up *up_new(struct loop *l, const struct up_options *o,
                  void (*on_ready)(void *ctx, const struct err *err), void *ctx, struct err *err)
{
    struct up *u = xnew(struct up);
    u->loop = l;
    u->on_ready = on_ready;
    u->ctx = ctx;
    if (open_dir(u, o, err) || open_keys(u, o, err) || open_plane(u, o, err) ||
        open_front(u, o, err)) {
        up_free(u);
        return NULL;
    }
    return u;
}

const char *up_address(const struct up *u)
{
    return front_address(u->front);
}

const char *up_kubeconfig(const struct up *u)
{
    return u->kubeconfig.p;
}

void up_stop(struct up *u, void (*done)(void *ctx), void *ctx)
{
    front_shutdown(u->front, 2 * USEC_PER_SEC, done, ctx);
}

void up_free(struct up *u)
{
    struct err err = ERR_INIT;
    if (!u)
        return;
    if (u->front)
        front_free(u->front);
    plane_free(u->plane);
    token_key_free(u->token_key);
    if (u->tls)
        tls_server_free(u->tls);
    plane_pki_done(&u->pki);
    if (u->temporary && dir_remove(u->dir.p, &err))
        log_warn("temporary state stays", LOG_C("error", err.message));
    strbuf_done(&u->dir);
    strbuf_done(&u->kubeconfig);
    free(u);
}

/* ---- the command ---- */

struct up_args {
    int64_t nodes;
    int profile;
    bool tainted;
    str data, listen, kubeconfig, without;
    usec start_delay, stop_delay;
    int log_level;
    bool log_json;
};

static const char *const log_levels[] = {"debug", "info", "warn", "error", "off", NULL};

static const struct opt up_opts[] = {
    OPT_INT(struct up_args, nodes, 0, "nodes", "N", 0, 100000, "20", "Simulated nodes"),
    OPT_CHOICE(struct up_args, profile, 0, "profile", nodes_profiles, "h100",
               "What a node is like"),
    OPT_FLAG(struct up_args, tainted, 0, "tainted",
             "Taint the nodes fake-node=true:NoSchedule, as demo clusters do"),
    OPT_STRING(struct up_args, data, 0, "data", "DIR",
               "Keep the state here; without it the state goes with the process"),
    OPT_STRING_DEF(struct up_args, listen, 0, "listen", "ADDR:PORT", "127.0.0.1:6443",
                   "Where to serve; port 0 picks a free one"),
    OPT_STRING(struct up_args, kubeconfig, 0, "kubeconfig", "FILE",
               "Where to write the kubeconfig (default: in the state directory)"),
    OPT_DURATION(struct up_args, start_delay, 0, "start-delay", "300ms",
                 "How long a simulated pod takes from bound to running"),
    OPT_DURATION(struct up_args, stop_delay, 0, "stop-delay", "200ms",
                 "How long a simulated pod takes to stop"),
    OPT_CHOICE(struct up_args, log_level, 0, "log-level", log_levels, "warn", "What to log"),
    OPT_FLAG(struct up_args, log_json, 0, "log-json", "Log as JSON lines"),
    {.kind = OPT_K_STRING,
     .name = "without",
     .metavar = "PARTS",
     .help = "Leave out operator, scheduler or nodes (comma-separated): others do their work",
     .offset = offsetof(struct up_args, without),
     .hidden = true},
    OPT_END,
};

struct up_run {
    struct loop *loop;
    struct up *up;
    struct loop_signal term, interrupt;
    int64_t nodes;
    int profile;
    bool stopping;
};

static void on_stopped(void *ctx)
{
    struct up_run *r = ctx;
    loop_stop(r->loop, EXIT_OK);
}

static void request_stop(struct up_run *r)
{
    if (r->stopping)
        loop_stop(r->loop, EXIT_NO);
    else
        up_stop(r->up, on_stopped, r);
    r->stopping = true;
}

static void on_term(struct loop_signal *s)
{
    request_stop(container_of(s, struct up_run, term));
}

static void on_interrupt(struct loop_signal *s)
{
    request_stop(container_of(s, struct up_run, interrupt));
}

static void on_up_ready(void *ctx, const struct err *err)
{
    struct up_run *r = ctx;
    if (err) {
        (void)cli_fail(err);
        loop_stop(r->loop, EXIT_NO);
        return;
    }
    printf("grove is up at https://%s with %lld simulated %s nodes\n"
           "  export KUBECONFIG=%s\n"
           "  kubectl get nodes\n",
           up_address(r->up), (long long)r->nodes, nodes_profiles[r->profile],
           up_kubeconfig(r->up));
    fflush(stdout);
}

static int64_t log_clock(void *ctx)
{
    return loop_wall(ctx);
}

static int run_up(void *ctx, const void *opts, const struct command_call *call)
{
    const struct up_args *a = opts;
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    log_set_level((enum log_level)a->log_level);
    log_set_format(a->log_json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    /* A file limit is an answer of the disk, not the end: the store becomes read-only. */
    signal(SIGXFSZ, SIG_IGN);
    struct up_run r = {.nodes = a->nodes, .profile = a->profile};
    r.loop = loop_new_real(&err);
    if (!r.loop)
        return cli_fail(&err);
    log_set_clock(log_clock, r.loop);
    struct up_options o = {
        .listen = a->listen, .data = a->data, .kubeconfig = a->kubeconfig, .nodes = nodes_defaults};
    o.without = a->without;
    o.nodes.count = (unsigned)a->nodes;
    o.nodes.profile = nodes_profiles[a->profile];
    o.nodes.tainted = a->tainted;
    o.nodes.life.start = a->start_delay;
    o.nodes.life.stop = a->stop_delay;
    r.term = (struct loop_signal){.signo = SIGTERM, .fn = on_term};
    r.interrupt = (struct loop_signal){.signo = SIGINT, .fn = on_interrupt};
    r.up = up_new(r.loop, &o, on_up_ready, &r, &err);
    int code = EXIT_NO;
    if (!r.up || loop_signal_add(r.loop, &r.term, &err) ||
        loop_signal_add(r.loop, &r.interrupt, &err))
        code = cli_fail(&err);
    else
        code = loop_run(r.loop);
    up_free(r.up);
    log_set_clock(NULL, NULL);
    loop_free(r.loop);
    return code;
}

const struct command cmd_up = {
    .name = "up",
    .summary = "Start a control plane on this machine",
    .description =
        "Serves the Kubernetes API over HTTPS with its own certificates, runs the Grove "
        "controllers, the gang scheduler and simulated nodes, and prints how to reach it. "
        "Stops on SIGTERM or Ctrl-C.",
    .opts = up_opts,
    .opts_size = sizeof(struct up_args),
    .examples = "  $ grove up\n  $ grove up --data /var/lib/grove --nodes 100 --profile gb200",
    .run = run_up,
};
