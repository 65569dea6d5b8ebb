/*
 * Components as processes of their own against any API server: `grove nodes`, `grove scheduler`.
 * The work is in client/host.h and in the components; these are their command lines.
 */
#include "cli/cli.h"
#include "client/host.h"
#include "controllers/node_control.h"
#include "node/sim/nodes.h"
#include "sched/sched.h"

struct host_args {
    str kubeconfig, context;
};

#define HOST_OPTS(type)                                                           \
    OPT_STRING(type, host.kubeconfig, 0, "kubeconfig", "FILE", "As for kubectl"), \
        OPT_STRING(type, host.context, 0, "context", "NAME", "As for kubectl")

static int run_host(const struct host_args *a, struct host_options *o)
{
    struct err err = ERR_INIT;
    char *kubeconfig = str_is_empty(a->kubeconfig) ? NULL : str_dup(a->kubeconfig);
    char *context = str_is_empty(a->context) ? NULL : str_dup(a->context);
    o->kubeconfig = kubeconfig;
    o->context = context;
    int r = host_run(o, &err);
    free(kubeconfig);
    free(context);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- grove nodes ---- */

struct nodes_args {
    struct host_args host;
    int64_t nodes;
    int profile;
    bool tainted, no_heartbeats, minded;
    usec start_delay, stop_delay;
};

static const struct opt nodes_opts[] = {
    OPT_INT(struct nodes_args, nodes, 0, "nodes", "N", 1, 100000, "20", "How many"),
    OPT_CHOICE(struct nodes_args, profile, 0, "profile", nodes_profiles, "h100",
               "Hardware profile of the nodes"),
    OPT_FLAG(struct nodes_args, tainted, 0, "tainted",
             "Taint the nodes fake-node=true:NoSchedule, as demo clusters do"),
    OPT_FLAG(struct nodes_args, no_heartbeats, 0, "no-heartbeats",
             "Do not renew a Lease for each node; the cluster's controllers then take them for "
             "dead after a while"),
    OPT_FLAG(struct nodes_args, minded, 0, "node-controller",
             "Also do the work of the cluster's node controllers, where there are none"),
    OPT_DURATION(struct nodes_args, start_delay, 0, "start-delay", "300ms",
                 "How long a simulated pod takes from bound to running"),
    OPT_DURATION(struct nodes_args, stop_delay, 0, "stop-delay", "200ms",
                 "How long a simulated pod takes to stop"),
    HOST_OPTS(struct nodes_args),
    OPT_END,
};

struct nodes_host {
    struct nodes_options nodes;
    struct node_control_options control;
};

static enum node_known known_node(const void *ctx, const struct obj *node)
{
    const struct nodes_options *o = ctx;
    if (!nodes_is_own(o, node))
        return NODE_HEARTBEATS;
    return nodes_has_failed(node) ? NODE_DEAD : NODE_ALIVE;
}

static void add_nodes(void *ctx, struct runtime *r, struct api *api)
{
    struct nodes_host *h = ctx;
    (void)nodes_add(r, api, &h->nodes);
    if (h->nodes.minded)
        node_control_add(r, api, &h->control);
}

static int run_nodes(void *ctx, const void *opts, const struct command_call *call)
{
    const struct nodes_args *a = opts;
    struct nodes_host host = {.nodes = nodes_defaults, .control = {known_node, &host.nodes}};
    struct nodes_options *nodes = &host.nodes;
    (void)ctx;
    (void)call;
    nodes->count = (unsigned)a->nodes;
    nodes->profile = nodes_profiles[a->profile];
    nodes->tainted = a->tainted;
    nodes->heartbeats = !a->no_heartbeats;
    nodes->minded = a->minded;
    nodes->life.start = a->start_delay;
    nodes->life.stop = a->stop_delay;
    struct host_options o = {.add = add_nodes, .ctx = &host};
    return run_host(&a->host, &o);
}

const struct command cmd_nodes = {
    .name = "nodes",
    .summary = "Run simulated nodes against any API server",
    .description =
        "The nodes register themselves, renew their leases and take the pods bound to them through "
        "their life cycle without running anything. Annotations of a pod that begin with "
        "simulation.grove.io/ (pull, init, start, ready, stop, run, exit-code, exits) change what "
        "it does; simulation.grove.io/failed=true on a node makes the node fail.",
    .opts = nodes_opts,
    .opts_size = sizeof(struct nodes_args),
    .examples = "  $ grove nodes --nodes 100 --profile gb200 --kubeconfig FILE",
    .run = run_nodes,
};

/* ---- grove scheduler ---- */

struct scheduler_args {
    struct host_args host;
    bool no_leader_elect;
    str lease_ns;
    struct opt_list names;
};

static const struct opt scheduler_opts[] = {
    OPT_LIST(struct scheduler_args, names, 0, "scheduler-name", "NAME",
             "Serve pods whose schedulerName is this (default grove-scheduler)"),
    OPT_FLAG(struct scheduler_args, no_leader_elect, 0, "no-leader-election",
             "Act at once, without a Lease; for when there is one process only"),
    OPT_STRING_DEF(struct scheduler_args, lease_ns, 0, "lease-namespace", "NAMESPACE",
                   "kube-system", "Where the Lease is"),
    HOST_OPTS(struct scheduler_args),
    OPT_END,
};

/* In a cluster others place the other pods. */
static void add_scheduler(void *ctx, struct runtime *r, struct api *api)
{
    const struct scheduler_args *a = ctx;
    const char **names = xcalloc(a->names.len + 1, sizeof(*names));
    size_t n = 0;
    names[n++] = a->names.len > 0 ? str_dup(a->names.p[0]) : xstrdup("grove-scheduler");
    while (n < a->names.len) {
        names[n] = str_dup(a->names.p[n]);
        n++;
    }
    sched_add(r, api, &(struct sched_options){names, n});
    while (n > 0)
        free((char *)names[--n]);
    free(names);
}

static int run_scheduler(void *ctx, const void *opts, const struct command_call *call)
{
    const struct scheduler_args *a = opts;
    (void)ctx;
    (void)call;
    struct host_options o = {.add = add_scheduler, .ctx = (void *)a};
    if (!a->no_leader_elect) {
        o.lease = STR("grove-scheduler");
        o.lease_ns = a->lease_ns;
    }
    return run_host(&a->host, &o);
}

const struct command cmd_scheduler = {
    .name = "scheduler",
    .summary = "Run the gang scheduler against a cluster",
    .description = "Places gangs all or nothing on the nodes of any Kubernetes cluster. Several "
                   "instances may run; the one that holds the Lease is active.",
    .opts = scheduler_opts,
    .opts_size = sizeof(struct scheduler_args),
    .examples = "  $ grove scheduler\n  $ grove scheduler --no-leader-election --kubeconfig FILE",
    .run = run_scheduler,
};
