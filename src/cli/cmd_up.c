/*
 * `grove up`, `grove down` and `grove list`. In the foreground it runs until it is told to stop; detached, a
 * child of this process does, and this one ends when the child says that it is up.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memlimit.h"
#include "base/quantity.h"
#include "cli/cli.h"
#include "cli/offer_names.h"
#include "cli/up_context.h"
#include "client/instance.h"
#include "explain/documents/paint.h"
#include "operator/common/config.h"
#include "plane/up.h"
#include "store/check.h"
#include "store/store.h"
#include "ui/ui.h"
#include "json/write.h"
#include "json/yaml.h"

/* How long to wait for the nodes to register before saying what there is. */
#define NODES_PATIENCE (700 * USEC_PER_MSEC)

struct up_args {
    int64_t nodes;
    int profile;
    bool tainted, detach, local, process_privileged;
    int64_t gpus;
    int runtime;
    str name, data, listen, kubeconfig, without, config;
    bool context;
    usec start_delay, stop_delay;
    int log_level;
    bool log_json;
    struct opt_list tls_san;
    str tls_cert, tls_key, client_ca, memory, object_memory;
    str check, save;
    int64_t connections, user_connections, user_requests, user_watches;
    usec request_timeout, cert_lifetime;
    str ui_listen;
    bool no_ui;
};

static const char *const log_levels[] = {"debug", "info", "warn", "error", "off", NULL};

static const char *const runtimes[] = {"asked", "process", NULL};

static const struct opt up_opts[] = {
    OPT_INT(struct up_args, nodes, 0, "nodes", "N", 0, 100000, "20", "Simulated nodes"),
    OPT_CHOICE(struct up_args, profile, 0, "profile", nodes_profiles, "h100",
               "Hardware profile of the nodes"),
    OPT_FLAG(struct up_args, tainted, 0, "tainted",
             "Taint the nodes fake-node=true:NoSchedule, as demo clusters do"),
    OPT_FLAG(struct up_args, local, 0, "local",
             "This machine is a node, on which pods really run; without --nodes there are no "
             "simulated ones"),
    OPT_CHOICE(struct up_args, runtime, 0, "runtime", runtimes, "asked",
               "With --local, which pods run as processes: those that ask for it with "
               "runtimeClassName: process, or all of them (process)"),
    OPT_INT(struct up_args, gpus, 0, "gpus", "N", 0, 64, "0",
            "With --local: GPUs that this machine pretends to have"),
    OPT_FLAG(struct up_args, process_privileged, 0, "process-privileged",
             "With --local: pods may mount directories of the machine and run as root"),
    OPT_STRING(struct up_args, data, 0, "data", "DIR",
               "Keep the state here; without it the state is lost when the process ends"),
    OPT_STRING_DEF(struct up_args, listen, 0, "listen", "ADDR:PORT", "127.0.0.1:6443",
                   "Where to serve; port 0 picks a free one, 0.0.0.0 is every address of this "
                   "machine"),
    OPT_LIST(struct up_args, tls_san, 0, "tls-san", "NAME",
             "A further DNS name or IP address under which clients reach it, for the certificate "
             "that it makes; may be given several times"),
    OPT_STRING(struct up_args, kubeconfig, 0, "kubeconfig", "FILE",
               "Where to write the kubeconfig (default: in the state directory, and a context in "
               "yours)"),
    OPT_STRING(struct up_args, name, 0, "name", "NAME",
               "Name of this control plane and of its context (default: grove)"),
    {.kind = OPT_K_FLAG,
     .name = "context",
     .help = "Add a context to your kubeconfig while it runs; --no-context leaves it alone",
     .def = "true",
     .offset = offsetof(struct up_args, context)},
    OPT_STRING(struct up_args, config, 0, "config", "FILE",
               "The operator's configuration (operator.config.grove.io/v1alpha1): schedulers, "
               "topology, MNNVL and default strategy; its servers, election and logging do not "
               "apply"),
    OPT_FLAG(struct up_args, detach, 0, "detach",
             "Return when it is up and leave it running; grove down stops it"),
    OPT_STRING_DEF(struct up_args, ui_listen, 0, "ui-listen", "ADDR:PORT", "127.0.0.1:0",
                   "Where to serve the page for browsers: a loopback address; port 0 picks a free "
                   "one"),
    OPT_FLAG(struct up_args, no_ui, 0, "no-ui", "Serve no page"),
    OPT_DURATION(struct up_args, start_delay, 0, "start-delay", "300ms",
                 "How long a simulated pod takes from bound to running"),
    OPT_DURATION(struct up_args, stop_delay, 0, "stop-delay", "200ms",
                 "How long a simulated pod takes to stop"),
    OPT_STRING(struct up_args, tls_cert, 0, "tls-cert-file", "FILE",
               "Serve with this certificate (and its chain) instead of a generated one; read again "
               "when it changes"),
    OPT_STRING(struct up_args, tls_key, 0, "tls-private-key-file", "FILE",
               "Private key of that certificate"),
    OPT_STRING(struct up_args, client_ca, 0, "client-ca-file", "FILE",
               "Also accept client certificates signed by these authorities"),
    OPT_STRING(
        struct up_args, memory, 0, "memory-limit", "SIZE",
        "Memory that requests, answers and watches may use, e.g. 512Mi (default: a quarter of "
        "the machine's memory); beyond it requests are answered with 429"),
    OPT_STRING(
        struct up_args, object_memory, 0, "object-memory-limit", "SIZE",
        "Memory that stored objects and their recent history may use, e.g. 2Gi (default: half "
        "of the machine's memory); beyond it writes that need more are answered with 507"),
    OPT_STRING(struct up_args, check, 0, "check", "DIR",
               "Start nothing; say whether the state in DIR is whole, and what can be saved. Exits "
               "with 0 when it is, 1 when it is damaged, 2 when it cannot be looked at"),
    OPT_STRING(struct up_args, save, 0, "save", "NEW-DIR",
               "With --check: put every object that can be read into a new state directory"),
    OPT_INT(struct up_args, connections, 0, "max-connections", "N", 2, 1000000, "10000",
            "Connections of all clients"),
    OPT_INT(struct up_args, user_connections, 0, "max-connections-per-user", "N", 0, 1000000, "0",
            "Connections of one user; 0: a quarter of all"),
    OPT_INT(struct up_args, user_requests, 0, "max-requests-per-user", "N", 1, 1000000, "1000",
            "Concurrent requests of one user, including those that wait"),
    OPT_INT(struct up_args, user_watches, 0, "max-watches-per-user", "N", 1, 1000000, "2000",
            "Concurrent watches of one user"),
    OPT_DURATION(struct up_args, request_timeout, 0, "request-timeout", "1m",
                 "How long a request may take until its answer begins, watches excepted"),
    OPT_CHOICE(struct up_args, log_level, 0, "log-level", log_levels, "warn", "What to log"),
    OPT_FLAG(struct up_args, log_json, 0, "log-json", "Log as JSON lines"),
    {.kind = OPT_K_STRING,
     .name = "without",
     .metavar = "PARTS",
     .help = "Leave out operator, scheduler or nodes (comma-separated): others do their work",
     .offset = offsetof(struct up_args, without),
     .hidden = true},
    {.kind = OPT_K_DURATION,
     .name = "certificate-lifetime",
     .metavar = "DURATION",
     .help = "Of the certificates of our own",
     .def = "8760h",
     .offset = offsetof(struct up_args, cert_lifetime),
     .hidden = true},
    OPT_END,
};

struct up_run {
    const struct up_args *args;
    struct loop *loop;
    struct up *up;
    struct ui *ui; /* NULL: none */
    struct loop_signal term, interrupt;
    struct up_context context;
    bool entered;         /* the context, and the list of those that run */
    struct store_sub sub; /* while nodes register */
    struct loop_timer patience;
    size_t registered;
    bool counting, stopping;
};

/* ---- what it says ---- */

struct census {
    size_t nodes;
    size_t zones, blocks, racks;
    const struct obj *one;
};

static bool is_registered(const struct obj *node)
{
    return j_has(jgetc(obj_status(node), "allocatable"));
}

static void count_label(struct map *seen, const struct obj *node, const char *key)
{
    str value = obj_label(node, str_of(key));
    if (!str_is_empty(value))
        (void)map_put(seen, value, seen);
}

static void take_census(struct store *store, struct census *ret)
{
    struct map zones = {0}, blocks = {0}, racks = {0};
    struct obj *o;
    *ret = (struct census){0};
    struct store_iter it = store_range(store, &kind_node, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (!is_registered(o))
            continue;
        ret->nodes++;
        ret->one = o;
        count_label(&zones, o, "kubernetes.io/zone");
        count_label(&blocks, o, "kubernetes.io/block");
        count_label(&racks, o, "kubernetes.io/rack");
    }
    ret->zones = zones.len;
    ret->blocks = blocks.len;
    ret->racks = racks.len;
    map_done(&zones);
    map_done(&blocks);
    map_done(&racks);
}

static void print_amount(jval allocatable, const char *resource, const char *unit,
                         const char **between)
{
    str amount = jstr(jget(allocatable, str_of(resource)));
    if (str_is_empty(amount) || str_is(amount, "0"))
        return;
    printf("%s%.*s %s", *between, STR_ARG(amount), unit);
    *between = ", ";
}

static void print_nodes(const struct up_run *r)
{
    struct census c;
    take_census(up_store(r->up), &c);
    if (r->args->local)
        printf("  nodes      this machine: pods %s run here as processes\n",
               r->args->runtime == 1 ? "of every kind" : "with runtimeClassName: process");
    if (r->args->local && r->args->nodes == 0)
        return;
    printf("  nodes      %lld simulated, profile %s", (long long)r->args->nodes,
           nodes_profiles[r->args->profile]);
    if (c.one) {
        jval allocatable = jgetc(obj_status(c.one), "allocatable");
        const char *between = ": each ";
        print_amount(allocatable, "nvidia.com/gpu", "GPUs", &between);
        print_amount(allocatable, "cpu", "CPUs", &between);
        print_amount(allocatable, "memory", "memory", &between);
    }
    if (c.nodes < (size_t)r->args->nodes && str_is_empty(r->args->without)) {
        printf("; %zu %s registered so far\n", c.nodes,
               paint_verb((int64_t)c.nodes, "has", "have"));
        return;
    }
    printf("%s", c.nodes ? "" : "\n");
    if (c.nodes == 0)
        return;
    printf("\n  topology   %zu zone%s, %zu block%s, %zu rack%s: labels kubernetes.io/zone, block, "
           "rack, hostname\n",
           c.zones, paint_plural((int64_t)c.zones), c.blocks, paint_plural((int64_t)c.blocks),
           c.racks, paint_plural((int64_t)c.racks));
}

/* A path that means the same wherever one stands; the same text when there is no such thing. */
static str absolute(struct arena *a, str path)
{
    char *real = path.len ? realpath(arena_str(a, path).p, NULL) : NULL;
    str ret = real ? arena_str(a, str_of(real)) : path;
    free(real);
    return ret;
}

/* How kubectl finds it. */
static void print_context(const struct up_run *r, str kubeconfig)
{
    const struct up_context *c = &r->context;
    if (c->why[0])
        printf("  context    none: %s\n", c->why);
    const char *home = getenv("HOME");
    str file = c->file, before = str_of(home ? home : "");
    bool at_home = before.len > 1 && str_starts(file, before);
    if (at_home)
        file = str_sub(file, before.len, file.len);
    if (c->file.len)
        printf("  context    %.*s, current in %s%.*s until it is stopped%s%.*s%s\n",
               STR_ARG(c->name), at_home ? "~" : "", STR_ARG(file),
               c->previous.len ? " (before: " : "", STR_ARG(c->previous),
               c->previous.len ? ")" : "");
    putchar('\n');
    if (!c->file.len)
        printf("  export KUBECONFIG=%.*s\n", STR_ARG(kubeconfig));
}

static void print_ready(const struct up_run *r)
{
    struct arena a = ARENA_INIT;
    str given = str_of(up_kubeconfig(r->up));
    str kubeconfig = str_starts(given, STR("/")) ? given : absolute(&a, given);
    printf("grove is up at https://%s\n", up_advertised(r->up));
    if (strcmp(up_address(r->up), up_advertised(r->up)) != 0)
        printf("  listens at %s, whoever can reach it\n", up_address(r->up));
    print_nodes(r);
    printf("  kubeconfig %.*s\n", STR_ARG(kubeconfig));
    print_context(r, kubeconfig);
    puts("  kubectl get nodes                 # or, without kubectl: grove get nodes\n"
         "  grove apply -f FILE; grove status");
    arena_done(&a);
    if (r->ui)
        printf("\n  look at it: %s\n", ui_address(r->ui));
    printf("\n%s stops it%s.\n", r->args->detach ? "grove down" : "Ctrl-C",
           str_is_empty(r->args->data) ? " and removes its state" : "");
    fflush(stdout);
}

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
    if (isatty(STDERR_FILENO)) /* the terminal has written ^C */
        fputc('\n', stderr);
    request_stop(container_of(s, struct up_run, interrupt));
}

/* So that others find it: what cannot be found could not be stopped either. */
static int leave_record(struct up_run *r, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct instance i = {.pid = getpid(),
                         .name = r->context.name,
                         .detached = r->args->detach,
                         .address = str_of(up_address(r->up)),
                         .data = absolute(&a, r->args->data),
                         .kubeconfig = absolute(&a, str_of(up_kubeconfig(r->up)))};
    int code = instance_record(&i, err);
    arena_done(&a);
    return code ? err_wrap(err, "it would not be found again by grove down") : 0;
}

/* From here on nobody reads what a detached one prints. */
static void let_go(struct up_run *r)
{
    struct strbuf path = STRBUF_INIT(4096);
    strbuf_printf(&path, "%s/grove.log", up_dir(r->up));
    int null = open("/dev/null", O_RDWR), log = open(path.p, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(log >= 0 ? log : null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        close(null);
    if (log > STDERR_FILENO)
        close(log);
    strbuf_done(&path);
}

/* Without its page it serves all the same. */
static void open_ui(struct up_run *r)
{
    struct err err = ERR_INIT;
    struct ui_options o = {.listen = str_dup(r->args->ui_listen),
                           .api = up_admin(r->up),
                           .kubeconfig = up_kubeconfig(r->up),
                           .server = str_of(up_address(r->up)),
                           .may_write = true};
    if (!r->args->no_ui && !(r->ui = ui_new(r->loop, &o, &err)))
        log_warn("the page cannot be served", LOG_C("error", err.message));
    free((char *)o.listen);
}

static void tell(struct up_run *r)
{
    if (!r->counting)
        return;
    r->counting = false;
    store_unsubscribe(&r->sub);
    loop_timer_cancel(&r->patience);
    struct err err = ERR_INIT;
    r->entered = true;
    up_context_enter(&r->context, r->args->name, str_of(up_address(r->up)),
                     str_of(up_kubeconfig(r->up)), r->args->context && !r->args->kubeconfig.len);
    if (leave_record(r, &err) && r->args->detach) {
        (void)cli_fail(&err);
        loop_stop(r->loop, EXIT_NO);
        return;
    }
    open_ui(r);
    print_ready(r);
    if (r->args->detach)
        let_go(r);
}

static void tell_when_complete(struct up_run *r)
{
    if (r->registered >= (size_t)r->args->nodes || str_find(r->args->without, STR("nodes")) >= 0)
        tell(r);
}

static void on_store_batch(struct store_sub *sub)
{
    tell_when_complete(container_of(sub, struct up_run, sub));
}

static void on_store_event(struct store_sub *sub, const struct store_event *e)
{
    struct up_run *r = container_of(sub, struct up_run, sub);
    if (e->obj->kind == &kind_node && e->type != STORE_DELETED && is_registered(e->obj) &&
        !(e->prev && is_registered(e->prev)))
        r->registered++;
}

static void on_patience(struct loop_timer *t)
{
    tell(container_of(t, struct up_run, patience));
}

static void on_up_ready(void *ctx, const struct err *err)
{
    struct up_run *r = ctx;
    if (err) {
        (void)cli_fail(err);
        loop_stop(r->loop, EXIT_NO);
        return;
    }
    struct census c;
    take_census(up_store(r->up), &c);
    r->registered = c.nodes;
    r->counting = true;
    r->sub = (struct store_sub){.on_event = on_store_event, .on_batch = on_store_batch};
    store_subscribe(up_store(r->up), &r->sub);
    loop_timer_init(r->loop, &r->patience, on_patience);
    loop_timer_set(&r->patience, loop_now(r->loop) + NODES_PATIENCE);
    tell_when_complete(r);
}

static void on_kubeconfig(void *ctx)
{
    struct up_run *r = ctx;
    if (r->entered)
        up_context_refresh(&r->context);
}

static int64_t log_clock(void *ctx)
{
    return loop_wall(ctx);
}

/* A size of an option, or a share of what there is. */
static int read_size(str text, const char *name, size_t share, size_t *ret, struct err *err)
{
    enum { LEAST = 16 << 20 };
    struct quantity q;
    *ret = share;
    if (!text.len)
        return 0;
    if (quantity_parse(text, &q, NULL) || quantity_value(&q) < LEAST)
        return err_set(err, ERR_USAGE, "--%s is a size of at least 16Mi, e.g. 512Mi", name);
    *ret = (size_t)quantity_value(&q);
    return 0;
}

/* Of what there is, clients may use a quarter and stored objects a half; the rest is for the
 * controllers' indexes, which grow with the objects, and for the program itself. */
static int set_limits(const struct up_args *a, struct up_options *o, struct err *err)
{
    enum { REQUEST_SHARE = 4, OBJECT_SHARE = 2 };
    size_t all = memory_limit(""), requests;
    if (read_size(a->memory, "memory-limit", all / REQUEST_SHARE, &requests, err) ||
        read_size(a->object_memory, "object-memory-limit", all / OBJECT_SHARE, &o->object_memory,
                  err))
        return err->code;
    if (str_is_empty(a->tls_cert) != str_is_empty(a->tls_key))
        return err_set(err, ERR_USAGE, "--tls-cert-file and --tls-private-key-file go together");
    o->limits = (struct front_limits){
        .connections = (size_t)a->connections,
        .user_connections = (size_t)a->user_connections,
        .user_requests = (size_t)a->user_requests,
        .user_watches = (size_t)a->user_watches,
        .memory = requests,
        .request_timeout = a->request_timeout,
    };
    return 0;
}

/* Words that would be taken in silence, and numbers that are no ports. */
static int check_words(const struct up_args *a, struct err *err)
{
    str rest = a->without;
    ptrdiff_t colon = str_rfind_char(a->listen, ':');
    str port = colon < 0 ? STR_NONE : str_sub(a->listen, (size_t)colon + 1, a->listen.len);
    uint64_t number;
    while (!str_is_empty(rest)) {
        str part = str_cut(&rest, ',');
        if (!str_is(part, "operator") && !str_is(part, "scheduler") && !str_is(part, "nodes"))
            return err_set(
                err, ERR_USAGE,
                "--without: there is no part \"%.*s\"; the parts are operator, scheduler "
                "and nodes",
                STR_ARG(part));
    }
    if (str_to_uint(port, &number) && number > UINT16_MAX)
        return err_set(err, ERR_USAGE,
                       "--listen: %.*s is not a valid port (0 to %u; 0 picks a free one)",
                       STR_ARG(port), (unsigned)UINT16_MAX);
    return 0;
}

static void set_options(const struct up_args *a, struct up_options *o)
{
    *o = (struct up_options){.listen = a->listen,
                             .data = a->data,
                             .kubeconfig = a->kubeconfig,
                             .nodes = nodes_defaults,
                             .without = a->without,
                             .initc_image = str_of(getenv("GROVE_INIT_CONTAINER_IMAGE")),
                             .tls_cert = a->tls_cert,
                             .tls_key = a->tls_key,
                             .client_ca = a->client_ca,
                             .cert_lifetime = a->cert_lifetime,
                             .tls_san = a->tls_san.p,
                             .n_tls_san = a->tls_san.len};
    o->local = a->local;
    o->local_all = a->runtime == 1;
    o->local_privileged = a->process_privileged;
    o->local_gpus = a->gpus;
    o->nodes.count = (unsigned)a->nodes;
    o->nodes.profile = nodes_profiles[a->profile];
    o->nodes.tainted = a->tainted;
    o->nodes.leases = true;
    o->nodes.binding = true;
    o->nodes.life.start = a->start_delay;
    o->nodes.life.stop = a->stop_delay;
}

/* The operator's configuration; what does not apply to a control plane in one process is said. */
static int load_config(const struct up_args *a, struct operator_config *c, struct err *err)
{
    char *file = str_dup(a->config);
    int r = config_load(file, c, err);
    free(file);
    if (r)
        return err_wrap(err, "--config");
    for (size_t i = 0; i < c->warnings.len; i++)
        log_warn("configuration", LOG_S("what", c->warnings.p[i]));
    if (c->election.enabled)
        log_warn("configuration",
                 LOG_C("what", "leaderElection has no effect: there is one process"));
    if (c->authorizer)
        log_warn("configuration", LOG_C("what", "authorizer has no effect: there are no webhooks; "
                                                "limit who may write Grove's kinds with RBAC"));
    return 0;
}

static int run_with_config(const struct up_args *a, const struct operator_config *config)
{
    struct err err = ERR_INIT;
    struct up_options o;
    struct up_run r = {.args = a};
    set_options(a, &o);
    o.config = config;
    o.on_kubeconfig = on_kubeconfig;
    if (check_words(a, &err) || set_limits(a, &o, &err))
        return cli_fail(&err);
    r.loop = loop_new_real(&err);
    if (!r.loop)
        return cli_fail(&err);
    log_set_clock(log_clock, r.loop);
    r.term = (struct loop_signal){.signo = SIGTERM, .fn = on_term};
    r.interrupt = (struct loop_signal){.signo = SIGINT, .fn = on_interrupt};
    r.up = up_new(r.loop, &o, on_up_ready, &r, &err);
    int code = EXIT_NO;
    if (!r.up || loop_signal_add(r.loop, &r.term, &err) ||
        loop_signal_add(r.loop, &r.interrupt, &err))
        code = cli_fail(&err);
    else
        code = loop_run(r.loop);
    if (r.counting) {
        store_unsubscribe(&r.sub);
        loop_timer_cancel(&r.patience);
    }
    ui_free(r.ui);
    if (r.entered)
        up_context_leave(&r.context);
    up_free(r.up);
    instance_forget();
    log_set_clock(NULL, NULL);
    loop_free(r.loop);
    return code;
}

static int run_plane(const struct up_args *a)
{
    struct operator_config config;
    struct err err = ERR_INIT;
    if (str_is_empty(a->config))
        return run_with_config(a, NULL);
    if (load_config(a, &config, &err)) {
        (void)cli_fail(&err);
        return EXIT_USAGE;
    }
    int code = run_with_config(a, &config);
    config_done(&config);
    return code;
}

/* Passes on what the child says until it lets go of its output. */
static int wait_for_child(pid_t child, int from)
{
    char buffer[4096];
    ssize_t n;
    bool up = false;
    while ((n = read(from, buffer, sizeof(buffer))) > 0) {
        up = true;
        fwrite(buffer, 1, (size_t)n, stdout);
    }
    fflush(stdout);
    int status = 0;
    if (up)
        return EXIT_OK;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_NO;
}

static int run_detached(const struct up_args *a)
{
    struct err err = ERR_INIT;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC)) {
        (void)err_errno(&err, ERR_IO, "cannot detach");
        return cli_fail(&err);
    }
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        return run_plane(a);
    }
    close(fds[1]);
    int code = child > 0 ? wait_for_child(child, fds[0]) : EXIT_NO;
    close(fds[0]);
    return code;
}

/* ---- grove up --check ---- */

/* The store is a part of the state; its own directory, which messages name, is understood too. */
static str store_in(struct arena *a, str dir)
{
    str inner = arena_printf(a, "%.*s/store", STR_ARG(dir));
    return access(inner.p, F_OK) == 0 ? inner : arena_str(a, dir);
}

static int run_check(const struct up_args *a)
{
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    int code = CHECK_IMPOSSIBLE;
    str save = a->save.len ? arena_printf(&arena, "%.*s/store", STR_ARG(a->save)) : STR_NONE;
    if (save.len && access(arena_str(&arena, a->save).p, F_OK) == 0)
        (void)err_set(&err, ERR_USAGE,
                      "--save: %.*s is there already; name a directory that is not",
                      STR_ARG(a->save));
    else if (!save.len || dir_make(arena_str(&arena, a->save).p, 0700, &err) == 0)
        code = store_check(store_in(&arena, a->check).p, save.len ? save.p : NULL, stdout);
    if (err.code)
        (void)cli_fail(&err);
    else if (save.len && code != CHECK_IMPOSSIBLE)
        printf(
            "start with it: grove up --data %.*s (copy pki/ to it first to keep the certificates "
            "and kubeconfigs)\n",
            STR_ARG(a->save));
    arena_done(&arena);
    return code;
}

/* Through a map, an error of the disk is no answer but a signal. */
static void on_bus_error(int signo)
{
    static const char text[] =
        "grove: a page of the data file could not be read: its disk failed, or somebody cut the "
        "file short while it was in use. What was acknowledged is on the disk as far as the disk "
        "is "
        "good: look at it with `grove up --check DIR` before you start it again.\n";
    (void)signo;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EXIT_NO);
}

static int run_up(void *ctx, const void *opts, const struct command_call *call)
{
    struct up_args args = *(const struct up_args *)opts;
    const struct up_args *a = &args;
    (void)ctx;
    /* Where pods really run, those that only seem to are asked for. */
    if (args.local && !command_given(call, "nodes"))
        args.nodes = 0;
    log_set_level((enum log_level)a->log_level);
    log_set_format(a->log_json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    /* A file limit is an answer of the disk, not the end: the store is full. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGBUS, on_bus_error);
    if (a->save.len && !a->check.len) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_USAGE, "--save goes with --check DIR");
        return cli_fail(&err);
    }
    if (a->check.len)
        return run_check(a);
    return a->detach ? run_detached(a) : run_plane(a);
}

const struct command cmd_up = {
    .name = "up",
    .summary = "Start a control plane on this machine",
    .description =
        "Serves the Kubernetes API over HTTPS with its own certificates, runs the Grove "
        "controllers, the gang scheduler and simulated nodes, and prints how to reach it. "
        "Stops on SIGTERM or Ctrl-C; a detached one is stopped by grove down.",
    .opts = up_opts,
    .opts_size = sizeof(struct up_args),
    .examples = "  $ grove up\n  $ grove up --detach --nodes 100 --profile gb200\n"
                "  $ grove up --data /var/lib/grove --listen 0.0.0.0:6443\n"
                "  $ grove up --check /var/lib/grove",
    .run = run_up,
};

/* ---- grove down ---- */

struct down_args {
    str name, data, listen;
    bool all;
};

static const struct opt down_opts[] = {
    OPT_STRING(struct down_args, data, 0, "data", "DIR", "The one that keeps its state here"),
    OPT_STRING(struct down_args, listen, 0, "listen", "ADDR:PORT", "The one that serves there"),
    OPT_FLAG(struct down_args, all, 0, "all", "All of this user's"),
    OPT_END,
};

/* Who sits at a terminal and waits for one is asked only by name. */
static bool is_meant(const struct down_args *a, const struct instance *i, struct arena *arena)
{
    if (!i->detached && !a->name.len && !a->data.len && !a->listen.len)
        return false;
    if (a->name.len && !str_eq(i->name, a->name))
        return false;
    if (a->data.len && !str_eq(i->data, absolute(arena, a->data)))
        return false;
    return !a->listen.len || str_eq(i->address, a->listen);
}

/* "grove, grove-7000" */
static str list_text(const struct down_args *args, const struct instance *list, size_t n,
                     struct arena *a)
{
    str text = STR_NONE;
    for (size_t i = 0; i < n; i++) {
        if (is_meant(args, &list[i], a))
            text = arena_printf(a, "%.*s%s%.*s", STR_ARG(text), text.len ? ", " : "",
                                STR_ARG(list[i].name));
    }
    return text;
}

static size_t count_meant(const struct down_args *args, const struct instance *list, size_t n,
                          struct arena *a)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += is_meant(args, &list[i], a);
    return count;
}

static int stop_those(const struct down_args *a, const struct instance *list, size_t n,
                      struct arena *arena)
{
    struct err err = ERR_INIT;
    size_t stopped = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_meant(a, &list[i], arena))
            continue;
        if (instance_stop(&list[i], &err))
            return cli_fail(&err);
        printf("grove at https://%.*s is down\n", STR_ARG(list[i].address));
        stopped++;
    }
    if (stopped > 0)
        return EXIT_OK;
    bool said = a->name.len || a->data.len || a->listen.len;
    (void)err_set(
        &err, ERR_NOT_FOUND, "no %scontrol plane%s%.*s runs%s%.*s%s%.*s%s", said ? "" : "detached ",
        a->name.len ? " " : "", STR_ARG(a->name), a->listen.len ? " at " : "", STR_ARG(a->listen),
        a->data.len ? " with its state in " : "", STR_ARG(a->data),
        said ? "; grove list shows those that do" : "; start one with `grove up --detach`");
    return cli_fail(&err);
}

static int run_down(void *ctx, const void *opts, const struct command_call *call)
{
    struct down_args args = *(const struct down_args *)opts, *a = &args;
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct instance *list;
    (void)ctx;
    args.name = call->args_len ? call->args[0] : STR_NONE;
    size_t n = instance_list(&arena, &list), meant = count_meant(a, list, n, &arena);
    int code;
    if (meant > 1 && !a->all && !a->name.len && !a->data.len && !a->listen.len) {
        (void)err_set(&err, ERR_USAGE,
                      "%zu control planes run: %.*s; say which: grove down NAME, or --all", meant,
                      STR_ARG(list_text(a, list, n, &arena)));
        code = cli_fail(&err);
    } else {
        code = stop_those(a, list, n, &arena);
    }
    arena_done(&arena);
    return code;
}

const struct command cmd_down = {
    .name = "down",
    .summary = "Stop a detached control plane",
    .description = "Stops what `grove up --detach` started and waits until it is gone. Its state "
                   "is kept if it was started with --data.",
    .usage = "[NAME]",
    .max_args = 1,
    .opts = down_opts,
    .opts_size = sizeof(struct down_args),
    .examples = "  $ grove up --detach\n  $ grove down\n  $ grove down grove-7000",
    .complete = names_of_instances,
    .run = run_down,
};

/* ---- grove list ---- */

struct list_args {
    int output;
};

enum { AS_TABLE, AS_JSON, AS_YAML };
static const char *const formats[] = {"table", "json", "yaml", NULL};

static void write_table(struct arena *a, const struct instance *list, size_t n, struct strbuf *out)
{
    static const char *const columns[] = {"NAME", "ADDRESS", "PID", "STATE", "KUBECONFIG"};
    struct grid g;
    grid_init(&g, a, ARRAY_LEN(columns));
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        grid_add(&g, PAINT_PLAIN, str_of(columns[i]));
    for (size_t i = 0; i < n; i++) {
        grid_add(&g, PAINT_PLAIN, list[i].name);
        grid_printf(&g, PAINT_PLAIN, "https://%.*s", STR_ARG(list[i].address));
        grid_printf(&g, PAINT_PLAIN, "%lld", (long long)list[i].pid);
        grid_add(&g, PAINT_PLAIN, list[i].data.len ? list[i].data : STR("temporary"));
        grid_add(&g, PAINT_PLAIN, list[i].kubeconfig);
    }
    grid_write(&g, out);
}

static struct doc *as_document(const struct instance *list, size_t n)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "instances");
    for (size_t i = 0; i < n; i++) {
        jw_object(&w);
        jw_put_str(&w, "name", list[i].name);
        jw_put_str(&w, "address", list[i].address);
        jw_put_int(&w, "pid", list[i].pid);
        jw_put_bool(&w, "detached", list[i].detached);
        jw_put_str(&w, "data", list[i].data);
        jw_put_str(&w, "kubeconfig", list[i].kubeconfig);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static int run_list(void *ctx, const void *opts, const struct command_call *call)
{
    const struct list_args *args = opts;
    struct arena a = ARENA_INIT;
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct instance *list;
    (void)ctx;
    (void)call;
    size_t n = instance_list(&a, &list);
    if (args->output != AS_TABLE) {
        struct doc *d = as_document(list, n);
        if (args->output == AS_YAML)
            yaml_write(doc_root(d), false, &out);
        else
            strbuf_printf(&out, "%.*s\n", STR_ARG(jtext(doc_root(d))));
        doc_unref(d);
    } else if (n > 0) {
        write_table(&a, list, n, &out);
    } else {
        fputs("No control plane of yours runs; start one with `grove up --detach`.\n", stderr);
    }
    fwrite(out.p ? out.p : "", 1, out.len, stdout);
    strbuf_done(&out);
    arena_done(&a);
    return EXIT_OK;
}

static const struct opt list_opts[] = {
    OPT_CHOICE(struct list_args, output, 'o', "output", formats, "table", "Output format"),
    OPT_END,
};

const struct command cmd_list = {
    .name = "list",
    .summary = "Show the control planes that run",
    .description = "Those that this user started with grove up on this machine.",
    .opts = list_opts,
    .opts_size = sizeof(struct list_args),
    .examples = "  $ grove list\n  $ grove list -o json",
    .run = run_list,
};
