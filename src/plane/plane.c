/* The assembly; see plane.h. Each component has its own account, so that what it may do can be
 * told apart. */
#include "plane/plane.h"

#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "controllers/autoscaler.h"
#include "controllers/controllers.h"
#include "controllers/node_control.h"
#include "grove/admission.h"
#include "grove/metrics_feed.h"
#include "grove/types.h"
#include "node/agent/agent.h"
#include "operator/common/backend.h"
#include "operator/common/config.h"
#include "operator/operator.h"
#include "sched/sched.h"

enum { MAX_PARTS = 4, RECORD_MAX = 64 << 10 };
#define CACHE "grove-cache"
enum { DEFAULT_PORT = 6443 };

/* One access to the API: layer -1 is the plain one, the wrappers count from 0. */
struct part_access {
    struct api *api;
    const char *component;
    int layer;
};

/* What a part knows about its clock, for the next process: a line of text (loop/clock.h). In a
 * directory it is a file beside the store. It need not survive a crash of the machine, which ends
 * what it is about. */
struct clock_record {
    struct loop *loop;
    struct strbuf path;    /* empty: it is kept in memory */
    struct strbuf text;    /* the newest */
    struct strbuf writing; /* on its way to the disk */
    struct loop_job job;
    bool busy;
};

struct part {
    const char *name;
    struct runtime *runtime; /* NULL: stopped */
    struct clock *clock;     /* of the runtime */
    struct clock_listener clock_set;
    struct clock_record record;
    usec wall_by; /* simulations: how much its wall clock is ahead of the loop's */
    VEC(struct part_access) accesses;
};

struct plane {
    struct loop *loop;
    struct plane_options options;
    struct store *store;
    struct apiserver *server;
    struct api *admin;
    struct satokens_options tokens;
    struct node_control_options node_control;
    struct services_options services;
    struct certificates_options certificates;
    char advertised_ip[64];
    struct controller *endpoints;     /* NULL: stopped */
    struct controller *ca_keepers[2]; /* of namespaces and of tokens; NULL: stopped */
    struct controller *autoscaler;    /* NULL: stopped */
    struct grove_context grove;       /* of the configuration */
    struct backend_env *backends;     /* with one; NULL: stopped */
    struct part parts[MAX_PARTS];
    size_t n_parts;
    void (*ready)(void *ctx, const struct err *err);
    void *ctx;
};

/* ---- components ---- */

typedef void add_fn(struct plane *p, struct runtime *r, struct api *api);

static void add_gc(struct plane *p, struct runtime *r, struct api *api)
{
    (void)p;
    gc_add(r, api);
}

static void add_namespaces(struct plane *p, struct runtime *r, struct api *api)
{
    p->ca_keepers[0] = namespaces_add(r, api, p->options.ca_pem);
}

static void add_tokens(struct plane *p, struct runtime *r, struct api *api)
{
    p->tokens = (struct satokens_options){p->options.token_key, p->options.ca_pem};
    if (p->tokens.key)
        p->ca_keepers[1] = satokens_add(r, api, &p->tokens);
    bootstrap_tokens_add(r, api);
}

static void add_certificates(struct plane *p, struct runtime *r, struct api *api)
{
    p->certificates = (struct certificates_options){p->options.ca, p->options.is_server,
                                                    p->options.is_server_ctx};
    if (p->options.ca)
        certificates_add(r, api, &p->certificates);
}

static void add_budgets(struct plane *p, struct runtime *r, struct api *api)
{
    (void)p;
    pdb_add(r, api);
}

static void add_roles(struct plane *p, struct runtime *r, struct api *api)
{
    (void)p;
    roles_add(r, api);
}

static void add_events(struct plane *p, struct runtime *r, struct api *api)
{
    (void)p;
    events_expiry_add(r, api);
}

static void add_autoscaler(struct plane *p, struct runtime *r, struct api *api)
{
    p->autoscaler = autoscaler_add(r, api, apiserver_feed(p->server));
}

static void add_operator(struct plane *p, struct runtime *r, struct api *api)
{
    if (p->options.split)
        operator_filter(r);
    const struct operator_config *c = p->options.config;
    if (c)
        backend_use(r, c->backends, c->backend);
    operator_add(r, api, &(struct operator_options){.initc_image = p->options.initc_image});
    if (c)
        p->backends = backend_add(r, api);
    else
        backend_add_embedded(r, api);
}

static void add_scheduler(struct plane *p, struct runtime *r, struct api *api)
{
    (void)p;
    sched_add(r, api, NULL);
}

static void add_nodes(struct plane *p, struct runtime *r, struct api *api)
{
    (void)nodes_add(r, api, &p->options.nodes);
}

static void add_services(struct plane *p, struct runtime *r, struct api *api)
{
    p->endpoints = services_add(r, api, &p->services);
}

static void add_agent(struct plane *p, struct runtime *r, struct api *api)
{
    if (p->options.agent)
        agent_add(p->options.agent, r, api);
}

/* Simulated nodes are in this process, or in one that is taken to be there. */
static enum node_known known_node(const void *ctx, const struct obj *node)
{
    const struct plane *p = ctx;
    if (!nodes_is_own(&p->options.nodes, node))
        return NODE_HEARTBEATS;
    return nodes_has_failed(node) ? NODE_DEAD : NODE_ALIVE;
}

static void add_node_control(struct plane *p, struct runtime *r, struct api *api)
{
    p->node_control = (struct node_control_options){known_node, p};
    if (p->options.nodes.minded)
        node_control_add(r, api, &p->node_control);
}

/* In the order of their parts. */
static const struct component {
    const char *part;
    const char *account;
    add_fn *add;
} components[] = {
    {"api", "garbage-collector", add_gc},
    {"api", "namespace-controller", add_namespaces},
    {"api", "tokens-controller", add_tokens},
    {"api", "certificate-controller", add_certificates},
    {"api", "disruption-controller", add_budgets},
    {"api", "event-expiry", add_events},
    {"api", "role-aggregator", add_roles},
    {"api", "grove-autoscaler", add_autoscaler},
    {"api", "endpoint-controller", add_services},
    {"operator", "grove-operator", add_operator},
    {"scheduler", "grove-scheduler", add_scheduler},
    {"nodes", "simulated-nodes", add_nodes},
    {"nodes", "grove-agent", add_agent},
    {"nodes", "node-controller", add_node_control},
};

/* The API as one component sees it. */
static struct api *component_api(struct plane *p, struct part *part, const char *name,
                                 const char *account)
{
    struct api *api = apiserver_local(p->server, account), *outer;
    *vec_push(&part->accesses) = (struct part_access){api, name, -1};
    for (int i = 0; p->options.wrap; i++) {
        outer = p->options.wrap(p->options.wrap_ctx, api, name, (unsigned)i);
        if (!outer)
            break;
        api = outer;
        *vec_push(&part->accesses) = (struct part_access){api, name, i};
    }
    return api;
}

/* Whose rules the caches of a part are judged by: those of the component it is the process of, as
 * in a cluster. Where controllers share a process, their caches see what any of them may. */
static const char *cache_account(const struct plane *p, const struct part *part)
{
    for (size_t i = 0; p->options.split && i < ARRAY_LEN(components); i++)
        if (str_is(str_of(part->name), components[i].part) && !str_is(str_of(part->name), "api"))
            return components[i].account;
    return CACHE;
}

/* ---- clocks ---- */

static void write_record(struct loop_job *j)
{
    struct clock_record *r = container_of(j, struct clock_record, job);
    struct err err = ERR_INIT;
    if (file_write(r->path.p, strbuf_str(&r->writing), 0600, &err))
        log_warn("what is known about the clock is not stored", LOG_C("error", err.message));
}

static void store_record(struct clock_record *r);

static void on_record_written(struct loop_job *j)
{
    struct clock_record *r = container_of(j, struct clock_record, job);
    r->busy = false;
    if (!str_eq(strbuf_str(&r->text), strbuf_str(&r->writing)))
        store_record(r);
}

static void store_record(struct clock_record *r)
{
    if (!r->path.len || r->busy)
        return;
    r->busy = true;
    strbuf_reset(&r->writing);
    strbuf_add_str(&r->writing, strbuf_str(&r->text));
    r->job.run = write_record;
    r->job.done = on_record_written;
    loop_submit(r->loop, LOOP_BLOCK, &r->job);
}

static void save_clock(struct part *part)
{
    strbuf_reset(&part->record.text);
    clock_save(part->clock, &part->record.text);
    store_record(&part->record);
}

static void on_clock_set(struct clock_listener *l)
{
    struct part *part = container_of(l, struct part, clock_set);
    save_clock(part);
}

static void start_clock(struct plane *p, struct part *part)
{
    part->clock = clock_new(p->loop, part->wall_by);
    clock_restore(part->clock, strbuf_str(&part->record.text));
    save_clock(part);
    part->clock_set.fn = on_clock_set;
    clock_listen(part->clock, &part->clock_set);
    runtime_set_clock(part->runtime, part->clock);
    /* The API server writes times, and it is in the first part. */
    if (p->options.split && part != &p->parts[0])
        runtime_set_foreign_clocks(part->runtime);
}

static void init_record(struct plane *p, struct part *part)
{
    struct clock_record *r = &part->record;
    r->loop = p->loop;
    strbuf_init(&r->path, 4096);
    strbuf_init(&r->text, RECORD_MAX);
    strbuf_init(&r->writing, RECORD_MAX);
    if (!p->options.data_dir)
        return;
    strbuf_printf(&r->path, "%s/clock", p->options.data_dir);
    (void)file_read(r->path.p, &r->text, NULL); /* none, or no good one: wall times are believed */
}

static void done_record(struct clock_record *r)
{
    loop_job_cancel(&r->job);
    strbuf_done(&r->path);
    strbuf_done(&r->text);
    strbuf_done(&r->writing);
}

usec plane_wall(const struct plane *p, size_t part)
{
    return loop_wall(p->loop) + p->parts[part].wall_by;
}

void plane_set_wall_by(struct plane *p, size_t n, usec by)
{
    struct part *part = &p->parts[n];
    if (n > 0) {
        part->wall_by += by;
        if (part->clock)
            clock_set_by(part->clock, by);
        return;
    }
    for (size_t i = 1; i < p->n_parts; i++) {
        p->parts[i].wall_by -= by;
        if (p->parts[i].clock)
            clock_stay(p->parts[i].clock, by);
    }
    loop_set_wall_by(p->loop, by);
}

/* ---- parts ---- */

static void define_parts(struct plane *p)
{
    if (!p->options.split) {
        p->parts[p->n_parts++].name = "all";
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        const char *name = components[i].part;
        if (p->n_parts == 0 || !str_is(str_of(p->parts[p->n_parts - 1].name), name))
            p->parts[p->n_parts++].name = name;
    }
}

static bool is_left_out(const struct plane *p, const struct component *c)
{
    str rest = p->options.without;
    while (!str_is_empty(rest)) {
        str name = str_cut(&rest, ',');
        if (str_is(name, c->part) || str_is(name, c->account))
            return true;
    }
    return false;
}

void plane_start(struct plane *p, size_t n)
{
    struct part *part = &p->parts[n];
    if (part->runtime)
        return;
    part->runtime = runtime_new(p->loop, component_api(p, part, CACHE, cache_account(p, part)));
    runtime_set_stall_timeout(part->runtime, p->options.stall_timeout);
    start_clock(p, part);
    /* Where faults are injected, derived state is lost too. */
    if (p->options.wrap)
        runtime_set_forgetful(part->runtime, (uint64_t)loop_now(p->loop) + n);
    for (size_t i = 0; i < ARRAY_LEN(components); i++) {
        const struct component *c = &components[i];
        if ((!p->options.split || str_is(str_of(c->part), part->name)) && !is_left_out(p, c))
            c->add(p, part->runtime, component_api(p, part, c->account, c->account));
    }
    if (p->options.journal)
        runtime_set_journal(part->runtime, p->options.journal, p->options.journal_ctx);
    runtime_keep_journal(part->runtime, p->options.kept);
    runtime_start(part->runtime);
}

void plane_stop(struct plane *p, size_t n)
{
    struct part *part = &p->parts[n];
    for (size_t i = 0; i < ARRAY_LEN(p->ca_keepers); i++)
        if (p->ca_keepers[i] && controller_runtime(p->ca_keepers[i]) == part->runtime)
            p->ca_keepers[i] = NULL;
    if (p->autoscaler && controller_runtime(p->autoscaler) == part->runtime)
        p->autoscaler = NULL;
    if (p->endpoints && controller_runtime(p->endpoints) == part->runtime)
        p->endpoints = NULL;
    bool has_backends = p->backends && controller_runtime(p->backends->controller) == part->runtime;
    if (part->runtime)
        runtime_free(TAKE_PTR(part->runtime));
    if (has_backends)
        backend_env_free(TAKE_PTR(p->backends));
    clock_free(TAKE_PTR(part->clock));
    /* Wrappers come after what they wrap. */
    while (part->accesses.len > 0)
        api_free(vec_pop(&part->accesses).api);
    vec_done(&part->accesses);
}

bool plane_is_idle(const struct plane *p)
{
    for (size_t i = 0; i < p->n_parts; i++) {
        if (!p->parts[i].runtime || !runtime_is_idle(p->parts[i].runtime))
            return false;
    }
    return true;
}

void plane_replan(struct plane *p, bool begin)
{
    for (size_t i = 0; i < p->n_parts; i++)
        runtime_replan(p->parts[i].runtime, begin);
}

void plane_observe(struct plane *p, const char *part, struct obj *o)
{
    for (size_t i = 0; i < p->n_parts; i++) {
        struct runtime *r = p->parts[i].runtime;
        if (r && (!p->options.split || str_is(str_of(part), p->parts[i].name)))
            cache_observe(runtime_cache(r, o->kind), o);
    }
}

void plane_each_wrapper(struct plane *p,
                        void (*fn)(void *ctx, struct api *api, const char *component,
                                   unsigned layer),
                        void *ctx)
{
    for (size_t i = 0; i < p->n_parts; i++) {
        for (size_t k = 0; k < p->parts[i].accesses.len; k++) {
            const struct part_access *a = &p->parts[i].accesses.p[k];
            if (a->layer >= 0)
                fn(ctx, a->api, a->component, (unsigned)a->layer);
        }
    }
}

size_t plane_parts(const struct plane *p)
{
    return p->n_parts;
}

const char *plane_part_name(const struct plane *p, size_t part)
{
    return p->parts[part].name;
}

struct runtime *plane_runtime(struct plane *p)
{
    return p->parts[0].runtime;
}

void plane_set_ca(struct plane *p, str ca_pem)
{
    p->options.ca_pem = p->tokens.ca_pem = ca_pem;
    if (p->ca_keepers[0])
        namespaces_set_ca(p->ca_keepers[0], ca_pem);
    if (p->ca_keepers[1])
        satokens_ca_changed(p->ca_keepers[1]);
}

/* Others cannot reach a loopback address, nor one that stands for all. */
static bool is_reachable(str ip)
{
    return !str_starts(ip, STR("127.")) && !str_is(ip, "0.0.0.0") && !str_is(ip, "::1") &&
           !str_is(ip, "::") && !str_starts(ip, STR("localhost"));
}

void plane_set_advertised(struct plane *p, str address)
{
    int64_t port = 0;
    ptrdiff_t colon = str_rfind_char(address, ':');
    str ip = colon > 0 ? str_sub(address, 0, (size_t)colon) : STR_NONE;
    if (colon < 0 || !str_to_int(str_sub(address, (size_t)colon + 1, address.len), &port))
        return;
    if (ip.len > 2 && ip.p[0] == '[')
        ip = str_sub(ip, 1, ip.len - 1);
    if (!is_reachable(ip) || ip.len >= sizeof(p->advertised_ip))
        ip = STR_NONE;
    memcpy(p->advertised_ip, ip.p ? ip.p : "", ip.len);
    p->services = (struct services_options){str_n(p->advertised_ip, ip.len), port};
    if (p->endpoints)
        services_moved(p->endpoints);
}

/* ---- life cycle ---- */

static void on_written(void *ctx, const struct err *err)
{
    struct plane *p = ctx;
    for (size_t i = 0; !err && i < p->n_parts; i++)
        plane_start(p, i);
    p->ready(p->ctx, err);
}

static void on_bootstrap(void *ctx, const struct err *err)
{
    struct plane *p = ctx;
    if (!err && p->options.definitions)
        apiserver_write_definitions(p->server, on_written, p);
    else
        on_written(p, err);
}

static void on_fed(void *ctx, str ns)
{
    const struct plane *p = ctx;
    if (p->autoscaler)
        autoscaler_metrics_fed(p->autoscaler, ns);
}

/* Before the server is there: the kinds of other schedulers' objects are served, too. */
static void use_config(struct plane *p)
{
    const struct operator_config *c = p->options.config;
    p->grove = grove_default_context;
    if (!c)
        return;
    backend_register_kinds(c->backends);
    p->grove.topology_enabled = c->topology;
    p->grove.mnnvl_enabled = c->mnnvl;
    p->grove.schedulers = c->schedulers;
    p->grove.strategy = c->strategy;
}

struct plane *plane_new(struct loop *l, const struct plane_options *o,
                        void (*ready)(void *ctx, const struct err *err), void *ctx, struct err *err)
{
    grove_kinds_init();
    struct store_options so = {.dir = o->data_dir, .memory_limit = o->object_memory};
    struct store *store = store_open(l, &so, err);
    if (!store)
        return NULL;
    struct plane *p = xnew(struct plane);
    *p = (struct plane){.loop = l, .options = *o, .store = store, .ready = ready, .ctx = ctx};
    p->services.port = DEFAULT_PORT;
    define_parts(p);
    use_config(p);
    for (size_t i = 0; i < p->n_parts; i++)
        init_record(p, &p->parts[i]);
    p->server = apiserver_new(l, store);
    apiserver_set_grove_context(p->server, &p->grove);
    apiserver_set_token_volumes(p->server, o->token_volumes);
    metrics_feed_on_change(apiserver_feed(p->server), on_fed, p);
    p->admin = apiserver_local(p->server, NULL);
    apiserver_bootstrap(p->server, on_bootstrap, p);
    return p;
}

void plane_free(struct plane *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_parts; i++) {
        plane_stop(p, i);
        done_record(&p->parts[i].record);
    }
    api_free(p->admin);
    apiserver_free(p->server);
    store_close(p->store);
    free(p);
}

struct apiserver *plane_server(struct plane *p)
{
    return p->server;
}

struct api *plane_admin(struct plane *p)
{
    return p->admin;
}
