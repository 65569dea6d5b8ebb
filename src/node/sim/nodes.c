/*
 * The node planner. A node's key is its name, fake-node-001 and so on; the number in it places the
 * node in the topology and gives its addresses. A pod's life is a small table of steps, each due
 * some time after the one before; the time base is what the API recorded, so a restart changes
 * nothing.
 */
#include "node/sim/nodes.h"

#include "grove/types.h"
#include "grove/wait.h"
#include "node/sim/pods.h"

#define NODE_PREFIX "fake-node-"
#define MANAGER "simulated-node"

const struct nodes_options nodes_defaults = {
    .count = 20,
    .profile = "h100",
    .life =
        {
            .init = 100 * USEC_PER_MSEC,
            .start = 300 * USEC_PER_MSEC,
            .stop = 200 * USEC_PER_MSEC,
            .exits = -1,
        },
    .jitter = 20,
    .minded = true,
};

struct profile {
    const char *name;
    const char *cpu, *memory, *pods;
    const char *gpus; /* NULL: none */
    unsigned per_rack, racks_per_block, blocks_per_zone;
};

static const struct profile profiles[] = {
    {"h100", "128", "1Ti", "110", "8", 4, 2, 2},
    {"gb200", "144", "960Gi", "110", "4", 18, 4, 2},
    {"cpu", "64", "256Gi", "110", NULL, 20, 4, 2},
};
const char *const nodes_profiles[] = {"h100", "gb200", "cpu", NULL};

static const struct profile *find_profile(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        if (str_is(str_of(name), profiles[i].name))
            return &profiles[i];
    }
    return &profiles[0];
}

/* fake-node-001 and so on. */
static str node_name(unsigned n, char buf[32])
{
    int len = snprintf(buf, 32, NODE_PREFIX "%03u", n);
    return str_n(buf, (size_t)len);
}

/* 1 for fake-node-001; 0 when the name is none of ours (fake-node-1 is not). */
static unsigned node_number(str name)
{
    char buf[32];
    uint64_t n;
    str prefix = STR(NODE_PREFIX);
    if (!str_starts(name, prefix) || !str_to_uint(str_sub(name, prefix.len, name.len), &n) ||
        n > 1000000 || !str_eq(node_name((unsigned)n, buf), name))
        return 0;
    return (unsigned)n;
}

static void put_resources(struct jw *w, const char *key, const struct profile *p)
{
    jw_put_object(w, key);
    jw_put_cstr(w, "cpu", p->cpu);
    jw_put_cstr(w, "memory", p->memory);
    jw_put_cstr(w, "pods", p->pods);
    if (p->gpus)
        jw_put_cstr(w, "nvidia.com/gpu", p->gpus);
    jw_end(w);
}

static void put_name(struct jw *w, const char *key, const char *kind, unsigned n)
{
    jw_key(w, str_of(key));
    jw_printf(w, "%s-%u", kind, n);
}

static void put_labels(struct jw *w, str name, unsigned n, const struct profile *p)
{
    unsigned rack = (n - 1) / p->per_rack, block = rack / p->racks_per_block;
    unsigned zone = block / p->blocks_per_zone;
    jw_put_object(w, "labels");
    jw_put_cstr(w, "beta.kubernetes.io/arch", "amd64");
    jw_put_cstr(w, "kubernetes.io/arch", "amd64");
    put_name(w, "kubernetes.io/block", "block", block);
    jw_put_str(w, "kubernetes.io/hostname", name);
    jw_put_cstr(w, "kubernetes.io/os", "linux");
    put_name(w, "kubernetes.io/rack", "rack", rack);
    put_name(w, "kubernetes.io/zone", "zone", zone);
    jw_put_cstr(w, "node-role.kubernetes.io/agent", "");
    put_name(w, "topology.kubernetes.io/zone", "zone", zone);
    jw_put_cstr(w, "type", "simulated");
    jw_end(w);
}

static struct doc *make_node(str name, unsigned n, const struct nodes_options *o)
{
    char network[16];
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    put_labels(&w, name, n, find_profile(o->profile));
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_key(&w, STR("podCIDR"));
    jw_printf(&w, "%s.0/24", pods_network(n, network).p);
    if (o->tainted) {
        jw_key(&w, STR("taints"));
        jw_raw(&w, STR("[{\"effect\":\"NoSchedule\",\"key\":\"fake-node\",\"value\":\"true\"}]"));
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- topology ---- */

/* Labels of put_labels, from wide to narrow. */
static const struct {
    const char *domain, *key;
} levels[] = {
    {"zone", "kubernetes.io/zone"},
    {"block", "kubernetes.io/block"},
    {"rack", "kubernetes.io/rack"},
    {"host", "kubernetes.io/hostname"},
};

static struct doc *make_binding(void)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "grove.io/v1alpha1");
    jw_put_cstr(&w, "kind", "ClusterTopologyBinding");
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", NODES_BINDING);
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_array(&w, "levels");
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        jw_object(&w);
        jw_put_cstr(&w, "domain", levels[i].domain);
        jw_put_cstr(&w, "key", levels[i].key);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static bool has_none(const struct world *w, const struct kind *k)
{
    struct cache_iter it = cache_all(world_cache(w, k), STR_NONE);
    return cache_next(&it) == NULL;
}

/* Before the first node; the first one waits for it. */
static void plan_binding(const struct world *w, struct plan *p)
{
    if (has_none(w, &kind_node) && has_none(w, &kind_ctb))
        plan_why(plan_create(p, 0, &kind_ctb, STR_NONE, STR(NODES_BINDING), make_binding()), p,
                 "there is no ClusterTopologyBinding");
}

static void put_ready(struct jw *w, usec now)
{
    struct strbuf t = STRBUF_INIT(64);
    time_format_rfc3339(now, &t);
    jw_put_array(w, "conditions");
    jw_object(w);
    jw_put_str(w, "lastHeartbeatTime", strbuf_str(&t));
    jw_put_str(w, "lastTransitionTime", strbuf_str(&t));
    jw_put_cstr(w, "message", "simulated node is ready");
    jw_put_cstr(w, "reason", "KubeletReady");
    jw_put_cstr(w, "status", "True");
    jw_put_cstr(w, "type", "Ready");
    jw_end(w);
    jw_end(w);
    strbuf_done(&t);
}

static void put_node_info(struct jw *w)
{
    static const char *const fields[][2] = {
        {"architecture", "amd64"},
        {"bootID", ""},
        {"containerRuntimeVersion", "simulated"},
        {"kernelVersion", "simulated"},
        {"kubeProxyVersion", ""},
        {"kubeletVersion", "v1.36.0"},
        {"machineID", ""},
        {"operatingSystem", "linux"},
        {"osImage", "simulated"},
        {"systemUUID", ""},
    };
    jw_put_object(w, "nodeInfo");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        jw_put_cstr(w, fields[i][0], fields[i][1]);
    jw_end(w);
}

static struct doc *make_status(str name, unsigned n, const struct nodes_options *o, usec now)
{
    const struct profile *p = find_profile(o->profile);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_array(&w, "addresses");
    jw_object(&w);
    jw_key(&w, STR("address"));
    jw_printf(&w, "10.%u.%u.%u", n >> 16 & 7, n >> 8 & 255, n & 255);
    jw_put_cstr(&w, "type", "InternalIP");
    jw_end(&w);
    jw_end(&w);
    put_resources(&w, "allocatable", p);
    put_resources(&w, "capacity", p);
    put_ready(&w, now);
    put_node_info(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static bool is_ready(const struct obj *node)
{
    return condition_is_true(jgetc(obj_status(node), "conditions"), STR("Ready"));
}

static void plan_node_status(const struct node_pods *n)
{
    str name = n->node->name;
    if (is_ready(n->node))
        return;
    struct doc *status = make_status(name, n->number, n->options, n->world->now);
    (void)plan_apply(n->plan, 0, &kind_node, STR_NONE, name, STR("status"), STR(MANAGER), status);
}

/* ---- failure ---- */

#define FAILED LIFE_PREFIX "failed"

bool nodes_is_own(const struct nodes_options *o, const struct obj *node)
{
    unsigned n = node_number(node->name);
    return n > 0 && n <= o->count;
}

bool nodes_has_failed(const struct obj *node)
{
    return str_is(obj_annotation(node, STR(FAILED)), "true");
}

/* ---- heartbeats ---- */

#define LEASE_NS STR("kube-node-lease")
#define HEARTBEAT (10 * USEC_PER_SEC)
/* The stride has no divisor in common with their number, and is about as much of it as keeps
 * numbers that follow each other apart. */
enum { SLOTS = 10000, SLOT_STRIDE = 6181 };

static void put_renewed(struct jw *w, usec now)
{
    struct strbuf t = STRBUF_INIT(64);
    time_format_micro(now, &t);
    jw_put_str(w, "renewTime", strbuf_str(&t));
    strbuf_done(&t);
}

/* Owned by the node, as a kubelet writes it: it goes with the node. */
static struct doc *make_lease(const struct node_pods *n)
{
    str name = n->node->name;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "coordination.k8s.io/v1");
    jw_put_cstr(&w, "kind", "Lease");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    jw_put_cstr(&w, "namespace", "kube-node-lease");
    jw_put_array(&w, "ownerReferences");
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_str(&w, "name", name);
    jw_put_str(&w, "uid", n->node->uid);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_str(&w, "holderIdentity", name);
    if (n->options->heartbeats)
        jw_put_int(&w, "leaseDurationSeconds", 40);
    put_renewed(&w, n->world->now);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *make_renewal(usec now)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    put_renewed(&w, now);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* Each node has its own moment within the ten seconds, far from those of its neighbours, so that
 * all together are a steady trickle. What is there is patched: of all writes a cluster's server has
 * to do for a node this is the most frequent, and applying costs it twice as much. */
static void plan_heartbeat(const struct node_pods *n)
{
    usec slot = (usec)(n->number % SLOTS * SLOT_STRIDE % SLOTS) * (HEARTBEAT / SLOTS);
    usec now = world_steady(n->world), wall = n->world->now;
    const struct obj *lease = world_get(n->world, &kind_lease, LEASE_NS, n->node->name);
    usec renewed = 0, due;
    if (lease && time_parse_rfc3339(jstr(jpath(obj_root(lease), "spec.renewTime")), &renewed))
        renewed = world_rebased(n->world, NULL, renewed) - wall + now;
    due = lease ? (renewed - slot) / HEARTBEAT * HEARTBEAT + HEARTBEAT + slot : now;
    if (due <= now && lease) {
        (void)plan_merge_patch(n->plan, 0, lease, STR_NONE, make_renewal(wall), 0);
    } else if (due <= now) {
        (void)plan_apply(n->plan, 0, &kind_lease, LEASE_NS, n->node->name, STR_NONE, STR(MANAGER),
                         make_lease(n));
    }
    if (due <= now)
        due = (now - slot) / HEARTBEAT * HEARTBEAT + HEARTBEAT + slot;
    plan_look_again(n->plan, due - now);
}

/* It can wait until all nodes have registered. */
static void plan_lease(const struct node_pods *n, bool comes_back)
{
    const struct obj *lease = world_get(n->world, &kind_lease, LEASE_NS, n->node->name);
    if (!lease)
        plan_create(n->plan, 1, &kind_lease, LEASE_NS, n->node->name, make_lease(n))->patient =
            true;
    else if (comes_back)
        (void)plan_merge_patch(n->plan, 1, lease, STR_NONE, make_renewal(n->world->now), 0);
}

/* ---- planner ---- */

/* A node that is none of ours, or one too many. Without any of our own, those of these names are
 * another process's. */
static void plan_stranger(const struct world *w, str name, unsigned number,
                          const struct nodes_options *o, struct plan *p)
{
    const struct obj *node = world_get(w, &kind_node, STR_NONE, name);
    if (o->minded && node && number && o->count &&
        str_is(obj_label(node, STR("type")), "simulated") && !node->deleting)
        plan_why(plan_delete(p, 0, node), p, "there are %u nodes now", o->count);
}

void nodes_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct nodes_options *o = ctx;
    unsigned n = node_number(key->name);
    if (n == 0 || n > o->count) {
        plan_stranger(w, key->name, n, o, p);
        return;
    }
    const struct obj *node = world_get(w, &kind_node, STR_NONE, key->name);
    if (!node) {
        if (o->binding && n == 1)
            plan_binding(w, p);
        (void)plan_create(p, 1, &kind_node, STR_NONE, key->name, make_node(key->name, n, o));
        return;
    }
    struct node_pods pods = {.world = w, .plan = p, .options = o, .node = node, .number = n};
    if (nodes_has_failed(node))
        return;
    plan_node_status(&pods);
    if (o->heartbeats)
        plan_heartbeat(&pods);
    else if (o->leases)
        plan_lease(&pods, !is_ready(node));
    pods_plan(&pods);
}

static void enqueue_node_of(struct controller *c, const struct world *w, const struct obj *pod)
{
    str node = jstr(jgetc(obj_spec(pod), "nodeName"));
    if (!str_is_empty(node) && world_get(w, &kind_node, STR_NONE, node))
        controller_enqueue(c, &kind_node, STR_NONE, node);
}

/* Its own node, and the nodes of those that may have waited for it. */
static void map_pod_to_node(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    enqueue_node_of(c, w, new ? new : old);
    if (!new || !wait_is_ready(new) || (old && wait_is_ready(old)))
        return;
    struct cache_iter it[2];
    pods_waiting_for(world_cache(w, &kind_pod), new, it);
    for (size_t i = 0; i < ARRAY_LEN(it); i++) {
        for (const struct obj *pod; (pod = cache_next(&it[i]));)
            enqueue_node_of(c, w, pod);
    }
}

static const struct controller_watch watches[] = {
    {&kind_node, map_self},
    {&kind_pod, map_pod_to_node},
};

void nodes_add_index(struct runtime *r)
{
    pods_add_indexes(runtime_cache(r, &kind_pod));
}

struct controller *nodes_add(struct runtime *r, struct api *api, const struct nodes_options *o)
{
    struct controller_def def = {.name = "simulated-nodes",
                                 .plan = nodes_plan,
                                 .ctx = (void *)o,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches)};
    if (o->heartbeats || o->leases)
        (void)runtime_cache(r, &kind_lease);
    if (o->binding)
        (void)runtime_cache(r, &kind_ctb);
    nodes_add_index(r);
    struct controller *c = runtime_add(r, &def, api);
    for (unsigned i = 1; i <= o->count; i++) {
        char buf[32];
        controller_enqueue(c, &kind_node, STR_NONE, node_name(i, buf));
    }
    return c;
}
