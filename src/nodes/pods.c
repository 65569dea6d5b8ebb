/*
 * Pods on a simulated node: bound -> (start_delay) -> Running and Ready; deleted -> (stop_delay, at
 * most the grace period) -> gone. What is due later sets the time to look again; nothing else is
 * remembered.
 */
#include "nodes/pods.h"

#define MANAGER "simulated-node"
enum { FIRST_ADDRESS = 1, END_ADDRESS = 255 };

/* ---- addresses ---- */

/* Addresses are 10.244+.node.k; which k this pod has, or -1. */
static int address_of(const struct obj *pod)
{
    str ip = jstr(jgetc(obj_status(pod), "podIP"));
    ptrdiff_t dot = str_rfind_char(ip, '.');
    int64_t k;
    if (dot < 0 || !str_to_int(str_sub(ip, (size_t)dot + 1, ip.len), &k) || k < FIRST_ADDRESS ||
        k >= END_ADDRESS)
        return -1;
    return (int)k;
}

/* The lowest number no pod of this node has; marks it used. 0 when all are. */
static unsigned take_address(bool used[END_ADDRESS])
{
    for (unsigned k = FIRST_ADDRESS; k < END_ADDRESS; k++) {
        if (!used[k]) {
            used[k] = true;
            return k;
        }
    }
    return 0;
}

/* ---- status ---- */

static void put_condition(struct jw *w, const char *type, str time)
{
    jw_object(w);
    jw_put_str(w, "lastTransitionTime", time);
    jw_put_cstr(w, "status", "True");
    jw_put_cstr(w, "type", type);
    jw_end(w);
}

static void put_container(struct jw *w, jval container, str time)
{
    jw_object(w);
    jw_put(w, "image", jgetc(container, "image"));
    jw_put_cstr(w, "imageID", "");
    jw_put(w, "name", jgetc(container, "name"));
    jw_put_bool(w, "ready", true);
    jw_put_int(w, "restartCount", 0);
    jw_put_bool(w, "started", true);
    jw_put_object(w, "state");
    jw_put_object(w, "running");
    jw_put_str(w, "startedAt", time);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static void put_addresses(const struct node_pods *n, struct jw *w, unsigned k)
{
    char ip[32];
    int len =
        snprintf(ip, sizeof(ip), "10.%u.%u.%u", 244 + n->number / 256 % 12, n->number % 256, k);
    jval host = jgetc(jat(jgetc(obj_status(n->node), "addresses"), 0), "address");
    jw_put(w, "hostIP", host);
    jw_put_str(w, "podIP", str_n(ip, (size_t)len));
    jw_put_array(w, "podIPs");
    jw_object(w);
    jw_put_str(w, "ip", str_n(ip, (size_t)len));
    jw_end(w);
    jw_end(w);
}

static struct doc *running_status(const struct node_pods *n, const struct obj *pod, unsigned k)
{
    static const char *const conditions[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                             "ContainersReady"};
    struct strbuf t = STRBUF_INIT(64);
    struct jw w;
    time_format_rfc3339(n->world->now, &t);
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Pod");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", pod->name);
    jw_put_str(&w, "namespace", pod->ns);
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_array(&w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++)
        put_condition(&w, conditions[i], strbuf_str(&t));
    jw_end(&w);
    jw_put_array(&w, "containerStatuses");
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "containers")); jnext(&it);)
        put_container(&w, it.value, strbuf_str(&t));
    jw_end(&w);
    jw_put_cstr(&w, "phase", "Running");
    put_addresses(n, &w, k);
    jw_put_str(&w, "startTime", strbuf_str(&t));
    jw_end(&w);
    jw_end(&w);
    strbuf_done(&t);
    return jw_doc(&w);
}

/* ---- steps ---- */

static usec bound_at(const struct obj *pod)
{
    usec t = 0;
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    (void)time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &t);
    return t;
}

/* Three thousand years: what a user writes must not leave the range of times. */
#define GRACE_MAX ((int64_t)100000000000)

static void plan_stop(struct node_pods *n, const struct obj *pod)
{
    /* deletionTimestamp is when the grace period ends. With none left the node has done its part,
     * and finalizers hold the pod. */
    int64_t seconds = jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), -1);
    if (seconds == 0)
        return;
    usec grace = MIN(MAX(seconds, 0), GRACE_MAX) * USEC_PER_SEC;
    usec asked = obj_deleted_at(pod) - grace;
    usec due = asked + MIN(n->options->stop_delay, grace);
    if (due > n->world->now) {
        plan_look_again(n->plan, due);
        return;
    }
    struct plan_write *w = plan_delete(n->plan, 0, pod);
    w->grace_seconds = 0;
    plan_why(w, n->plan, "its containers have stopped");
}

static void plan_start(struct node_pods *n, const struct obj *pod, bool used[END_ADDRESS])
{
    usec due = bound_at(pod) + n->options->start_delay;
    if (due > n->world->now) {
        plan_look_again(n->plan, due);
        return;
    }
    unsigned k = take_address(used);
    if (k == 0)
        return; /* it starts when another one has gone */
    struct plan_write *w = plan_apply(n->plan, 0, &kind_pod, pod->ns, pod->name, STR("status"),
                                      STR(MANAGER), running_status(n, pod, k));
    w->uid = pod->uid;
    plan_why(w, n->plan, "its containers have started");
}

void pods_plan(struct node_pods *n)
{
    bool used[END_ADDRESS] = {false};
    struct cache *pods = world_cache(n->world, &kind_pod);
    struct obj *pod;
    for (struct cache_iter it = cache_by(pods, n->by_node, n->node->name);
         (pod = cache_next(&it));) {
        int k = address_of(pod);
        if (k >= 0)
            used[k] = true;
    }
    for (struct cache_iter it = cache_by(pods, n->by_node, n->node->name);
         (pod = cache_next(&it));) {
        str phase = jstr(jgetc(obj_status(pod), "phase"));
        if (pod->deleting)
            plan_stop(n, pod);
        else if (str_is_empty(phase) || str_is(phase, "Pending"))
            plan_start(n, pod, used);
    }
}
