/*
 * Pods on a simulated node: for each what is due of its life (life.h), and when to look again.
 */
#include "node/sim/pods.h"

#include "grove/pod.h"
#include "grove/wait.h"
#include "node/machine/pod_status.h"
#include "node/sim/sim_driver.h"

#define MANAGER "simulated-node"
enum { FIRST_ADDRESS = 1, END_ADDRESS = 255 };

/* Indexes of the pod cache, beside that by node: by node those that are not settled, by clique, and
 * those that have not started because they may wait for others, by whom they wait for. */
static cache_index_fn index_restless, index_by_clique, index_waiting;

/* ---- addresses ---- */

/* The networks of 256 addresses that nodes get, one after the other. The last is not private, but
 * nothing here is real, and a hundred thousand nodes need it. */
static const struct {
    unsigned first, second, count;
} networks[] = {
    {10, 244, 12 * 256}, {10, 128, 116 * 256}, {100, 64, 64 * 256},
    {172, 16, 16 * 256}, {11, 0, 256 * 256},
};

str pods_network(unsigned number, char buf[16])
{
    size_t i = 0;
    for (; i + 1 < ARRAY_LEN(networks) && number >= networks[i].count; i++)
        number -= networks[i].count;
    int len = snprintf(buf, 16, "%u.%u.%u", networks[i].first & 255,
                       (networks[i].second + number / 256) & 255, number & 255);
    return str_n(buf, (size_t)len);
}

/* The last octet of this pod's address, or -1. */
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

static bool is_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

/* Addresses in use on a node: read when somebody asks for one. */
struct addresses {
    bool known;
    bool used[END_ADDRESS];
};

/* The lowest number no pod of this node has; marks it used. 0 when all are. */
static unsigned take_address(const struct node_pods *n, struct addresses *a)
{
    struct obj *pod;
    struct cache_iter it =
        cache_by(world_cache(n->world, &kind_pod), pod_index_by_node, n->node->name);
    while (!a->known && (pod = cache_next(&it))) {
        int k = address_of(pod);
        if (k >= 0 && !is_finished(pod))
            a->used[k] = true;
    }
    a->known = true;
    for (unsigned k = FIRST_ADDRESS; k < END_ADDRESS; k++) {
        if (!a->used[k]) {
            a->used[k] = true;
            return k;
        }
    }
    return 0;
}

/* ---- writes ---- */

static void plan_status(struct node_pods *n, const struct pod_status *s, const char *why)
{
    struct plan_write *w = plan_apply(n->plan, 0, &kind_pod, s->pod->ns, s->pod->name,
                                      STR("status"), STR(MANAGER), pod_status_doc(s));
    w->uid = s->pod->uid;
    plan_why(w, n->plan, "%s", why);
}

static const char *words_for(const struct sim_pod *s)
{
    const struct container_seen *main = &s->seen.containers[s->parts.n_inits];
    if (s->result.phase >= POD_SUCCEEDED)
        return "its containers have exited";
    if (s->seen.sandbox != SANDBOX_READY)
        return "its images are being pulled";
    if (s->result.containers_ready)
        return "its containers are ready";
    if (main->state == CONTAINER_EXITED)
        return "its containers have exited and will start again";
    return main->state == CONTAINER_NONE ? "its init containers run"
                                         : "its containers have started";
}

/* ---- starting ---- */

/* "namespace/clique", as labels name it; and, of all cliques of its replica of the set,
 * "namespace/set/replica". */
static str clique_key(struct arena *a, str ns, str label)
{
    return str_is_empty(label) ? STR_NONE : arena_cat(a, ns, STR("/"), label);
}

static str replica_key(struct arena *a, const struct obj *pod)
{
    return arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(pod->ns),
                        STR_ARG(obj_label(pod, STR(LABEL_PCS))),
                        STR_ARG(obj_label(pod, STR(LABEL_PCS_INDEX))));
}

static bool is_ready_enough(const struct world *w, const struct obj *pod, struct wait_parent *p,
                            struct arena *a)
{
    str key = clique_key(a, pod->ns, p->label);
    struct obj *o;
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pod), index_by_clique, key);
         p->ready < p->need && (o = cache_next(&it));)
        p->ready += wait_is_ready(o);
    return p->ready >= p->need;
}

/* The generated init container holds a pod while a clique it names has too few ready pods. */
static bool is_held(void *ctx, const struct obj *pod, jval container)
{
    const struct node_pods *n = ctx;
    if (!str_is(jstr(jgetc(container, "name")), INITC_NAME))
        return false;
    struct arena a = ARENA_INIT;
    struct wait_parent *parents;
    size_t len = wait_of_pod(pod, &a, &parents);
    bool held = false;
    for (size_t i = 0; i < len && !held; i++)
        held = !is_ready_enough(n->world, pod, &parents[i], &a);
    arena_done(&a);
    return held;
}

/* Its status is from when its node was not there. */
static bool says_unreachable(const struct obj *pod)
{
    jval ready = condition_find(jgetc(obj_status(pod), "conditions"), STR("Ready"));
    return str_is(jstr(jgetc(ready, "reason")), "NodeNotReady");
}

/* Worth a write of its own only when it lasts. */
#define WORTH_SHOWING USEC_PER_SEC

/* It was told to be ready, or not, by others: its readiness gates. */
static bool gates_moved(const struct sim_pod *s)
{
    jval conditions = jgetc(obj_status(s->pod), "conditions");
    return j_has(jgetc(obj_spec(s->pod), "readinessGates")) &&
           condition_is_true(conditions, STR("Ready")) !=
               (s->result.containers_ready && s->result.gates_open);
}

static bool is_shown(const struct obj *pod)
{
    return j_has(jat(jgetc(obj_status(pod), "containerStatuses"), 0));
}

static void plan_life(struct node_pods *n, const struct obj *pod, struct addresses *addresses)
{
    struct life life = life_of(pod, &n->options->life, n->options->jitter);
    struct sim_pod s = {.is_held = is_held, .ctx = n};
    usec now = n->world->now;
    if (!sim_pod_observe(&s, n->world, pod, &life, n->plan->arena))
        return;
    bool moved = sim_pod_advance(&s), starts = s.seen.sandbox == SANDBOX_STARTING;
    if (s.due)
        plan_look_again(n->plan, s.due - now);
    /* Its node was unreachable and is back. */
    bool back = s.result.containers_ready && says_unreachable(pod);
    bool show = starts && !is_shown(pod) && s.due > now + WORTH_SHOWING;
    if (!moved && !back && !show && !gates_moved(&s))
        return;
    int k = address_of(pod);
    if (k < 0 && !starts)
        k = (int)take_address(n, addresses);
    if (k == 0)
        return; /* it starts when another one has gone */
    char network[16], ip[24] = "";
    if (k > 0)
        (void)snprintf(ip, sizeof(ip), "%s.%d", pods_network(n->number, network).p, k);
    struct pod_status status = {.pod = pod,
                                .node = n->node,
                                .seen = &s.seen,
                                .result = &s.result,
                                .ip = str_of(ip),
                                /* How its containers are is read from there. */
                                .only_if_seen = true,
                                .now = now};
    plan_status(n, &status, words_for(&s));
}

/* ---- stopping ---- */

/* With no grace left the node has done its part, and finalizers hold the pod. */
static void plan_stop(struct node_pods *n, const struct obj *pod)
{
    struct life life = life_of(pod, &n->options->life, n->options->jitter);
    struct sim_pod s = {.ctx = n};
    if (jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), -1) == 0)
        return;
    (void)sim_pod_observe(&s, n->world, pod, &life, n->plan->arena);
    (void)sim_pod_advance(&s);
    if (!s.result.gone) {
        plan_look_again(n->plan, s.due - n->world->now);
        return;
    }
    struct plan_write *w = plan_delete(n->plan, 0, pod);
    w->grace_seconds = 0;
    plan_why(w, n->plan, "its containers have stopped");
}

void pods_plan(struct node_pods *n)
{
    struct addresses addresses = {0};
    struct cache *pods = world_cache(n->world, &kind_pod);
    struct obj *pod;
    /* Where containers exit of themselves nobody is settled. */
    cache_index_fn *index = n->options->life.run > 0 ? pod_index_by_node : index_restless;
    for (struct cache_iter it = cache_by(pods, index, n->node->name); (pod = cache_next(&it));) {
        if (pod->deleting)
            plan_stop(n, pod);
        else
            plan_life(n, pod, &addresses);
    }
}

/* ---- indexes ---- */

/* Most pods are ready most of the time, and nothing comes of itself: a node that looks after one
 * does not look at the others. */
static void index_restless(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (o->deleting || !sim_pod_is_settled(o) || says_unreachable(o))
        pod_index_by_node(o, a, keys, max, n);
}

static void index_by_clique(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str key = clique_key(a, o->ns, obj_label(o, STR(LABEL_PCLQ)));
    *n = 0;
    if (max > 0 && !str_is_empty(key))
        keys[(*n)++] = key;
}

/* By the cliques it waits for; one that waits for more than an index takes, by its replica. */
static void index_waiting(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    struct wait_parent *parents;
    *n = 0;
    if (str_is_empty(jstr(jgetc(obj_spec(o), "nodeName"))) ||
        condition_is_true(jgetc(obj_status(o), "conditions"), STR("Initialized")))
        return;
    size_t len = wait_of_pod(o, a, &parents);
    if (len > max)
        keys[(*n)++] = replica_key(a, o);
    for (size_t i = 0; len <= max && i < len; i++)
        keys[(*n)++] = clique_key(a, o->ns, parents[i].label);
}

void pods_add_indexes(struct cache *pods)
{
    cache_add_index(pods, pod_index_by_node);
    cache_add_index(pods, index_restless);
    cache_add_index(pods, index_by_clique);
    cache_add_index(pods, index_waiting);
}

void pods_waiting_for(const struct cache *pods, const struct obj *pod, struct cache_iter ret[2])
{
    struct arena a = ARENA_INIT;
    ret[0] =
        cache_by(pods, index_waiting, clique_key(&a, pod->ns, obj_label(pod, STR(LABEL_PCLQ))));
    ret[1] = cache_by(pods, index_waiting, replica_key(&a, pod));
    arena_done(&a);
}
