/* See node_self.h. */
#include "node/agent/node_self.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "node/agent/agent.h"
#include "json/write.h"

#define MANAGER "grove-agent"
#define LEASE_NS STR("kube-node-lease")
#define HEARTBEAT (10 * USEC_PER_SEC)
#define PODS_MAX 250

/* ---- what the machine has ---- */

static void read_line(const char *path, char *ret, size_t size)
{
    struct strbuf b = STRBUF_INIT(65536);
    ret[0] = 0;
    if (file_read(path, &b, NULL) == 0)
        (void)snprintf(ret, size, "%.*s", STR_ARG(str_trim(strbuf_str(&b))));
    strbuf_done(&b);
}

static void read_os(char *ret, size_t size)
{
    struct strbuf b = STRBUF_INIT(65536);
    (void)snprintf(ret, size, "Linux");
    if (file_read("/etc/os-release", &b, NULL) == 0) {
        str text = strbuf_str(&b), key = STR("PRETTY_NAME=\"");
        ptrdiff_t at = str_find(text, key);
        str rest = at >= 0 ? str_sub(text, (size_t)at + key.len, text.len) : STR_NONE;
        ptrdiff_t end = str_find_char(rest, '"');
        if (end > 0)
            (void)snprintf(ret, size, "%.*s", (int)end, rest.p);
    }
    strbuf_done(&b);
}

void node_self_read(struct node_self *s)
{
    struct utsname u;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    s->cpus = MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    s->memory = (int64_t)pages * page;
    if (uname(&u) == 0)
        (void)snprintf(s->kernel, sizeof(s->kernel), "%s", u.release);
    read_os(s->os, sizeof(s->os));
    read_line("/etc/machine-id", s->machine_id, sizeof(s->machine_id));
    read_line("/proc/sys/kernel/random/boot_id", s->boot_id, sizeof(s->boot_id));
}

/* ---- what is written ---- */

static const char *arch(void)
{
#if defined(__aarch64__)
    return "arm64";
#else
    return "amd64";
#endif
}

static struct doc *make_node(const struct agent_options *o)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "labels");
    jw_put_cstr(&w, "beta.kubernetes.io/arch", arch());
    jw_put_cstr(&w, "kubernetes.io/arch", arch());
    jw_put_str(&w, "kubernetes.io/hostname", o->name);
    jw_put_cstr(&w, "kubernetes.io/os", "linux");
    jw_end(&w);
    jw_put_str(&w, "name", o->name);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_resources(struct jw *w, const char *key, const struct node_self *s,
                          const struct agent_options *o)
{
    jw_put_object(w, key);
    jw_key(w, STR("cpu"));
    jw_printf(w, "%ld", s->cpus);
    jw_key(w, STR("memory"));
    jw_printf(w, "%lldKi", (long long)(s->memory / 1024));
    if (o->gpus > 0) {
        jw_key(w, STR("nvidia.com/gpu"));
        jw_printf(w, "%lld", (long long)o->gpus);
    }
    jw_key(w, STR("pods"));
    jw_printf(w, "%d", PODS_MAX);
    jw_end(w);
}

static void put_conditions(struct jw *w, const struct obj *node, usec now)
{
    static const char *const list[][4] = {
        {"DiskPressure", "False", "KubeletHasNoDiskPressure", "the agent has enough disk space"},
        {"MemoryPressure", "False", "KubeletHasSufficientMemory", "the agent has enough memory"},
        {"PIDPressure", "False", "KubeletHasSufficientPID", "the agent has enough process ids"},
        {"Ready", "True", "KubeletReady", "the agent runs pods as processes"},
    };
    jw_put_array(w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        jval old = condition_find(jgetc(obj_status(node), "conditions"), str_of(list[i][0]));
        bool same = str_is(jstr(jgetc(old, "status")), list[i][1]);
        jw_object(w);
        jw_put_time(w, "lastHeartbeatTime", now);
        if (same)
            jw_put(w, "lastTransitionTime", jgetc(old, "lastTransitionTime"));
        else
            jw_put_time(w, "lastTransitionTime", now);
        jw_put_cstr(w, "message", list[i][3]);
        jw_put_cstr(w, "reason", list[i][2]);
        jw_put_cstr(w, "status", list[i][1]);
        jw_put_cstr(w, "type", list[i][0]);
        jw_end(w);
    }
    jw_end(w);
}

static void put_info(struct jw *w, const struct node_self *s)
{
    const char *const fields[][2] = {
        {"architecture", arch()},
        {"bootID", s->boot_id},
        {"containerRuntimeVersion", "process://" GROVE_VERSION},
        {"kernelVersion", s->kernel},
        {"kubeProxyVersion", ""},
        {"kubeletVersion", "v1.36.0-grove"},
        {"machineID", s->machine_id},
        {"operatingSystem", "linux"},
        {"osImage", s->os},
        {"systemUUID", s->machine_id},
    };
    jw_put_object(w, "nodeInfo");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        jw_put_cstr(w, fields[i][0], fields[i][1]);
    jw_end(w);
}

static void put_address(struct jw *w, str address, const char *type)
{
    jw_object(w);
    jw_put_str(w, "address", address);
    jw_put_cstr(w, "type", type);
    jw_end(w);
}

static struct doc *make_status(const struct node_self *s, const struct agent_options *o,
                               const struct obj *node, usec now)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", o->name);
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_array(&w, "addresses");
    put_address(&w, o->address, "InternalIP");
    put_address(&w, o->name, "Hostname");
    jw_end(&w);
    put_resources(&w, "allocatable", s, o);
    put_resources(&w, "capacity", s, o);
    put_conditions(&w, node, now);
    if (o->port) {
        jw_put_object(&w, "daemonEndpoints");
        jw_put_object(&w, "kubeletEndpoint");
        jw_put_int(&w, "Port", o->port);
        jw_end(&w);
        jw_end(&w);
    }
    put_info(&w, s);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_renewed(struct jw *w, usec now)
{
    struct strbuf t = STRBUF_INIT(64);
    time_format_micro(now, &t);
    jw_put_str(w, "renewTime", strbuf_str(&t));
    strbuf_done(&t);
}

static struct doc *make_lease(const struct obj *node, usec now)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "coordination.k8s.io/v1");
    jw_put_cstr(&w, "kind", "Lease");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", node->name);
    jw_put_cstr(&w, "namespace", "kube-node-lease");
    jw_put_array(&w, "ownerReferences");
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_str(&w, "name", node->name);
    jw_put_str(&w, "uid", node->uid);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_str(&w, "holderIdentity", node->name);
    jw_put_int(&w, "leaseDurationSeconds", 40);
    put_renewed(&w, now);
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

static struct doc *make_class(void)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "node.k8s.io/v1");
    jw_put_cstr(&w, "handler", "grove-process");
    jw_put_cstr(&w, "kind", "RuntimeClass");
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", AGENT_RUNTIME_CLASS);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- plans ---- */

static void plan_lease(const struct world *w, const struct obj *node, struct plan *p)
{
    const struct obj *lease = world_get(w, &kind_lease, LEASE_NS, node->name);
    usec renewed = 0;
    if (!lease) {
        (void)plan_create(p, 1, &kind_lease, LEASE_NS, node->name, make_lease(node, w->now));
        return;
    }
    (void)time_parse_rfc3339(jstr(jpath(obj_root(lease), "spec.renewTime")), &renewed);
    if (world_has_passed(w, world_moment(w, renewed), HEARTBEAT, p)) {
        (void)plan_merge_patch(p, 1, lease, STR_NONE, make_renewal(w->now), 0);
        plan_look_again(p, HEARTBEAT);
    }
}

/* The status is written when something of it is other than it is said to be. */
static bool is_told(const struct node_self *s, const struct agent_options *o,
                    const struct obj *node)
{
    jval status = obj_status(node);
    int64_t port = jint(jpath(status, "daemonEndpoints.kubeletEndpoint.Port"), 0);
    return condition_is_true(jgetc(status, "conditions"), STR("Ready")) && port == o->port &&
           str_eq(jstr(jgetc(jat(jgetc(status, "addresses"), 0), "address")), o->address) &&
           str_is(jstr(jpath(status, "nodeInfo.bootID")), s->boot_id) &&
           str_is(jstr(jpath(status, "nodeInfo.kernelVersion")), s->kernel);
}

void node_self_plan(const struct node_self *s, const struct world *w, const struct agent_options *o,
                    struct plan *p)
{
    const struct obj *node = world_get(w, &kind_node, STR_NONE, o->name);
    if (!node) {
        (void)plan_create(p, 0, &kind_node, STR_NONE, o->name, make_node(o));
        return;
    }
    /* Before pods can be bound to the node: they name it. */
    if (!world_get(w, &kind_runtime_class, STR_NONE, STR(AGENT_RUNTIME_CLASS)))
        (void)plan_create(p, 0, &kind_runtime_class, STR_NONE, STR(AGENT_RUNTIME_CLASS),
                          make_class());
    if (!is_told(s, o, node))
        (void)plan_apply(p, 0, &kind_node, STR_NONE, o->name, STR("status"), STR(MANAGER),
                         make_status(s, o, node, w->now));
    plan_lease(w, node, p);
}
