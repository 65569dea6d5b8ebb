/*
 * The node planner. A node's key is its name, fake-node-001 and so on; the number in it places the
 * node in the topology and gives its addresses. A pod's life is a small table of steps, each due
 * some time after the one before; the time base is what the API recorded, so a restart changes
 * nothing.
 */
#include "nodes/nodes.h"

#include "base/quantity.h"
#include "nodes/pods.h"

#define NODE_PREFIX "fake-node-"
#define MANAGER "simulated-node"

const struct nodes_options nodes_defaults = {
    .count = 20,
    .profile = "h100",
    .start_delay = 300 * USEC_PER_MSEC,
    .stop_delay = 200 * USEC_PER_MSEC,
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
    jw_printf(&w, "10.%u.%u.0/24", 244 + n / 256 % 12, n % 256);
    if (o->tainted) {
        jw_key(&w, STR("taints"));
        jw_raw(&w, STR("[{\"effect\":\"NoSchedule\",\"key\":\"fake-node\",\"value\":\"true\"}]"));
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
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
    jw_printf(&w, "10.0.%u.%u", n / 256 % 256, n % 256);
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

/* ---- planner ---- */

/* Number of our index of the pod cache: the same in every runtime of a process. */
static unsigned by_node;

void nodes_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct nodes_options *o = ctx;
    unsigned n = node_number(key->name);
    if (n == 0 || n > o->count)
        return;
    const struct obj *node = world_get(w, &kind_node, STR_NONE, key->name);
    if (!node) {
        (void)plan_create(p, 0, &kind_node, STR_NONE, key->name, make_node(key->name, n, o));
        return;
    }
    if (!condition_is_true(jgetc(obj_status(node), "conditions"), STR("Ready")))
        (void)plan_apply(p, 0, &kind_node, STR_NONE, key->name, STR("status"), STR(MANAGER),
                         make_status(key->name, n, o, w->now));
    struct node_pods pods = {
        .world = w, .plan = p, .options = o, .node = node, .number = n, .by_node = by_node};
    pods_plan(&pods);
}

static void map_pod_to_node(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    str node = jstr(jgetc(obj_spec(new ? new : old), "nodeName"));
    (void)w;
    if (!str_is_empty(node))
        controller_enqueue(c, &kind_node, STR_NONE, node);
}

static void index_by_node(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str node = jstr(jgetc(obj_spec(o), "nodeName"));
    (void)a;
    *n = 0;
    if (max > 0 && !str_is_empty(node))
        keys[(*n)++] = node;
}

static const struct controller_watch watches[] = {
    {&kind_node, map_self},
    {&kind_pod, map_pod_to_node},
};

void nodes_add_index(struct runtime *r)
{
    by_node = cache_add_index(runtime_cache(r, &kind_pod), index_by_node);
}

struct controller *nodes_add(struct runtime *r, struct api *api, const struct nodes_options *o)
{
    struct controller_def def = {.name = "simulated-nodes",
                                 .plan = nodes_plan,
                                 .ctx = (void *)o,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches)};
    nodes_add_index(r);
    struct controller *c = runtime_add(r, &def, api);
    for (unsigned i = 1; i <= o->count; i++) {
        char buf[32];
        controller_enqueue(c, &kind_node, STR_NONE, node_name(i, buf));
    }
    return c;
}
