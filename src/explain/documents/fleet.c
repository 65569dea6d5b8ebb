/* See fleet.h. */
#include "explain/documents/fleet.h"

#include "base/quantity.h"
#include "explain/documents/findings.h"
#include "grove/snapshot.h"
#include "grove/types.h"

/* Labels that name a node's domains; the first that it has counts. */
static const struct {
    const char *member;
    const char *labels[3];
} levels[] = {
    {"zone", {"kubernetes.io/zone", "topology.kubernetes.io/zone", NULL}},
    {"block", {"kubernetes.io/block", "topology.kubernetes.io/block", NULL}},
    {"rack", {"kubernetes.io/rack", "topology.kubernetes.io/rack", NULL}},
};

static void put_domains(struct jw *w, const struct obj *node)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        str value = STR_NONE;
        for (size_t k = 0; str_is_empty(value) && levels[i].labels[k]; k++)
            value = obj_label(node, str_of(levels[i].labels[k]));
        jw_put_str(w, levels[i].member, value);
    }
}

/* Devices are named by their vendor: "nvidia.com/gpu". */
static size_t device_of(const struct snapshot *s, const struct snap_node *n)
{
    for (size_t r = RES_FIRST_OTHER; r < s->n_resources; r++) {
        if (n->total[r] > 0 && str_find_char(s->resources[r], '/') > 0)
            return r;
    }
    return RES_MAX;
}

static void put_pod(struct jw *w, const struct obj *pod, int64_t devices)
{
    jw_object(w);
    jw_put_str(w, "name", pod->name);
    jw_put_str(w, "namespace", pod->ns);
    jw_put_str(w, "set", obj_label(pod, STR(LABEL_PART_OF)));
    jw_put_str(w, "gang", obj_label(pod, STR(LABEL_PODGANG)));
    jw_put_str(w, "role", obj_label(pod, STR(LABEL_ROLE)));
    jw_put_int(w, "devices", devices);
    jw_put_str(w, "state", pod_state(pod));
    jw_end(w);
}

static bool is_grove(const struct obj *pod)
{
    return !str_is_empty(obj_label(pod, STR(LABEL_PODGANG)));
}

static void put_pods(struct jw *w, struct snapshot *s, size_t device,
                     const struct session_list *pods)
{
    int64_t used = 0, others = 0, told = 0;
    jw_put_array(w, "pods");
    for (size_t i = 0; i < pods->n; i++) {
        struct demand d;
        str why;
        if (!pod_holds_node(pods->items[i]))
            continue;
        (void)snapshot_demand(s, pods->items[i], &d, &why);
        int64_t devices = device < RES_MAX ? d.amount[device] : 0;
        used += devices;
        if ((devices > 0 || is_grove(pods->items[i])) && told < FLEET_MAX_PODS) {
            put_pod(w, pods->items[i], devices);
            told++;
        } else {
            others++;
        }
    }
    jw_end(w);
    jw_put_int(w, "used", used);
    jw_put_int(w, "others", others);
}

static int64_t amount_of(jval requests, str resource)
{
    struct quantity q;
    str text = jstr(jget(requests, resource));
    return text.len && quantity_parse(text, &q, NULL) == 0 ? quantity_value(&q) : 0;
}

static int64_t reserved_on(const struct obj *node, str resource, const struct session_list *gangs)
{
    int64_t sum = 0;
    for (size_t i = 0; i < gangs->n; i++) {
        for (struct jiter it = jiter(jgetc(obj_status(gangs->items[i]), "reservations"));
             jnext(&it);) {
            if (str_eq(jstr(jgetc(it.value, "node")), node->name))
                sum += amount_of(jgetc(it.value, "requests"), resource);
        }
    }
    return sum;
}

void fleet_put_node(struct jw *w, const struct obj *node, const struct session_list *pods,
                    const struct session_list *gangs, struct arena *a)
{
    struct snapshot s = {.arena = a,
                         .n_resources = RES_FIRST_OTHER,
                         .resources = {STR_INIT("cpu"), STR_INIT("memory"), STR_INIT("pods")}};
    struct snap_node n;
    snapshot_read_node(&s, node, &n);
    size_t device = device_of(&s, &n);
    str resource = device < RES_MAX ? s.resources[device] : STR_NONE;
    jw_object(w);
    jw_put_str(w, "name", node->name);
    put_domains(w, node);
    jw_put_bool(w, "ready", condition_is_true(jgetc(obj_status(node), "conditions"), STR("Ready")));
    jw_put_bool(w, "cordoned", jbool(jgetc(obj_spec(node), "unschedulable"), false));
    jw_put_str(w, "resource", resource);
    jw_put_int(w, "devices", device < RES_MAX ? n.total[device] : 0);
    jw_put_int(w, "reserved", resource.len ? reserved_on(node, resource, gangs) : 0);
    put_pods(w, &s, device, pods);
    jw_end(w);
    snapshot_done(&s);
}

void fleet_reserved_nodes(const struct obj *gang, str *nodes, size_t max, size_t *n)
{
    for (struct jiter it = jiter(jgetc(obj_status(gang), "reservations")); jnext(&it);) {
        str node = jstr(jgetc(it.value, "node"));
        size_t i = 0;
        while (i < *n && !str_eq(nodes[i], node))
            i++;
        if (i == *n && *n < max && node.len)
            nodes[(*n)++] = node;
    }
}

/* ---- whole ---- */

static str pod_node(const struct obj *pod)
{
    return jstr(jgetc(obj_spec(pod), "nodeName"));
}

struct doc *fleet_build(const struct picture *p, struct arena *a)
{
    struct picture pods = {.parts[PICTURE_PODS] = p->parts[PICTURE_ALL_PODS]};
    struct session_list nodes = picture_counted(p, PICTURE_NODES, a);
    struct pod_groups by_node;
    struct jw w;
    pod_groups_init(&by_node, &pods, pod_node, a);
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "nodes");
    for (size_t i = 0; i < nodes.n; i++) {
        struct session_list its = pod_groups_get(&by_node, nodes.items[i]->name);
        fleet_put_node(&w, nodes.items[i], &its, &p->parts[PICTURE_GANGS], a);
    }
    jw_end(&w);
    jw_end(&w);
    pod_groups_done(&by_node);
    return jw_doc(&w);
}
