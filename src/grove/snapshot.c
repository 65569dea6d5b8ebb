/* Caches to dense tables; see snapshot.h. */
#include "grove/snapshot.h"

#include "base/quantity.h"
#include "json/write.h"

static const char *const first_resources[RES_FIRST_OTHER] = {"cpu", "memory", "pods"};

/* Number of a resource name; -1 when there are too many different ones, or it is new and that is
 * not worth a number. */
static int resource_number(struct snapshot *s, str name, bool worth)
{
    for (size_t i = 0; i < s->n_resources; i++) {
        if (str_eq(s->resources[i], name))
            return (int)i;
    }
    if (s->n_resources == RES_MAX || !worth)
        return -1;
    s->resources[s->n_resources] = arena_str(s->arena, name);
    return (int)s->n_resources++;
}

/* Users write any number: sums stay at the end of the range instead of leaving it. */
static int64_t add(int64_t a, int64_t b)
{
    return MIN(a + b, AMOUNT_MAX);
}

/* What cannot be read, or is less than nothing, counts as nothing. */
static int64_t amount_of(int resource, jval v)
{
    struct quantity q;
    str text = jtype(v) == J_STRING ? jstr(v) : jtext(v);
    if (quantity_parse(text, &q, NULL) || quantity_sign(&q) < 0)
        return 0;
    return MIN(resource == RES_CPU ? quantity_milli(&q) : quantity_value(&q), AMOUNT_MAX);
}

/* False when a name cannot be counted. */
static bool read_amounts(struct snapshot *s, jval map, int64_t amount[RES_MAX])
{
    bool all = true;
    for (struct jiter it = jiter(map); jnext(&it);) {
        int r = resource_number(s, it.key, false);
        int64_t value = amount_of(r, it.value);
        if (r < 0 && value > 0)
            r = resource_number(s, it.key, true);
        if (r >= 0)
            amount[r] = value;
        else
            all = all && value == 0; /* none of what nobody knows */
    }
    return all;
}

/* ---- pods ---- */

bool pod_holds_node(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))) && !str_is(phase, "Succeeded") &&
           !str_is(phase, "Failed");
}

bool pod_waits(const struct obj *pod)
{
    jval spec = obj_spec(pod);
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return !pod->deleting && str_is_empty(jstr(jgetc(spec, "nodeName"))) &&
           jlen(jgetc(spec, "schedulingGates")) == 0 && !str_is(phase, "Succeeded") &&
           !str_is(phase, "Failed");
}

/* ---- pods that are resized ---- */

static bool is_more(jval has, jval wanted)
{
    for (struct jiter it = jiter(has); jnext(&it);) {
        int as = str_is(it.key, "cpu") ? RES_CPU : RES_MEMORY;
        jval v = jget(wanted, it.key);
        if (amount_of(as, it.value) > (j_has(v) ? amount_of(as, v) : 0))
            return true;
    }
    return false;
}

/* What the node gave, or what runs with more while it is taken away. */
static jval excess_of(jval status, jval wanted, bool instead)
{
    jval allocated = jgetc(status, "allocatedResources");
    jval actual = jpath(status, "resources.requests");
    if (is_more(allocated, wanted))
        return allocated;
    if (is_more(actual, wanted))
        return actual;
    return !instead ? JVAL_ABSENT : jlen(allocated) > 0 ? allocated : actual;
}

/* The node will never give what the pod asks for now: what it has counts. */
static bool resize_is_infeasible(const struct obj *pod)
{
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodResizePending"));
    return str_is(jstr(jgetc(c, "status")), "True") &&
           str_is(jstr(jgetc(c, "reason")), "Infeasible");
}

jval container_excess(const struct obj *pod, jval container)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    jval status = JVAL_ABSENT;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jget(obj_status(pod), str_of(lists[i]))); jnext(&it);) {
            if (str_eq(jstr(jgetc(it.value, "name")), jstr(jgetc(container, "name"))))
                status = it.value;
        }
    }
    if (j_is_absent(status))
        return status;
    return excess_of(status, jpath(container, "resources.requests"), resize_is_infeasible(pod));
}

/* The same of what is asked for the pod as a whole, if anything is. */
static jval pod_excess(const struct obj *pod)
{
    jval wanted = jpath(obj_spec(pod), "resources.requests");
    return jlen(wanted) == 0 ? JVAL_ABSENT
                             : excess_of(obj_status(pod), wanted, resize_is_infeasible(pod));
}

void resize_key(const struct obj *pod, struct strbuf *out)
{
    jval excess = pod_excess(pod);
    if (resize_is_infeasible(pod))
        strbuf_add_char(out, '!');
    if (j_has(excess))
        json_pretty(excess, 0, out);
}

bool containers_differ(const struct obj *old, const struct obj *new)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jget(obj_spec(new), str_of(lists[i]))); jnext(&it);) {
            if (!jequal(container_excess(old, it.value), container_excess(new, it.value)))
                return true;
        }
    }
    return resize_is_infeasible(old) != resize_is_infeasible(new) ||
           !jequal(pod_excess(old), pod_excess(new));
}

/* Requests, or what there is of them when that is more, or counts instead. */
static bool read_requests(struct snapshot *s, const struct obj *pod, jval requests, jval excess,
                          int64_t amount[RES_MAX])
{
    int64_t has[RES_MAX] = {0};
    bool all = read_amounts(s, requests, amount);
    if (!j_has(excess)) /* as a rule */
        return all;
    all &= read_amounts(s, excess, has);
    bool instead = resize_is_infeasible(pod);
    for (struct jiter it = jiter(excess); jnext(&it);) {
        int r = resource_number(s, it.key, false);
        if (r >= 0)
            amount[r] = instead ? has[r] : MAX(amount[r], has[r]);
    }
    return all;
}

static bool read_container(struct snapshot *s, const struct obj *pod, jval container,
                           int64_t amount[RES_MAX])
{
    memset(amount, 0, RES_MAX * sizeof(*amount));
    return read_requests(s, pod, jpath(container, "resources.requests"),
                         container_excess(pod, container), amount);
}

static bool is_sidecar(jval container)
{
    return str_is(jstr(jgetc(container, "restartPolicy")), "Always");
}

/* As kube-scheduler counts: containers and sidecars together, or one init container beside the
 * sidecars started before it, whichever is more; what is said for the whole pod instead of that;
 * the overhead on top. False when a name could not be counted. */
static bool pod_amounts(struct snapshot *s, const struct obj *pod, int64_t amount[RES_MAX])
{
    jval spec = obj_spec(pod);
    int64_t one[RES_MAX], peak[RES_MAX] = {0}, sidecars[RES_MAX] = {0};
    bool all = true;
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        all &= read_container(s, pod, it.value, one);
        for (size_t r = 0; r < RES_MAX; r++) {
            if (is_sidecar(it.value))
                sidecars[r] = add(sidecars[r], one[r]);
            peak[r] = MAX(peak[r], is_sidecar(it.value) ? sidecars[r] : add(sidecars[r], one[r]));
        }
    }
    memcpy(amount, sidecars, sizeof(sidecars));
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);) {
        all &= read_container(s, pod, it.value, one);
        for (size_t r = 0; r < RES_MAX; r++)
            amount[r] = add(amount[r], one[r]);
    }
    for (size_t r = 0; r < RES_MAX; r++)
        amount[r] = MAX(amount[r], peak[r]);
    all &= read_requests(s, pod, jpath(spec, "resources.requests"), pod_excess(pod), amount);
    memset(one, 0, sizeof(one));
    all &= read_amounts(s, jgetc(spec, "overhead"), one);
    for (size_t r = 0; r < RES_MAX; r++)
        amount[r] = add(amount[r], one[r]);
    return all;
}

/* Parts of GPUs, as another scheduler gives them out; the annotation that says so. */
static str asks_for_part(const struct obj *pod)
{
    static const char *const keys[] = {"gpu-fraction", "gpu-memory"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (j_has(jget(pod->annotations, str_of(keys[i]))))
            return str_of(keys[i]);
    }
    return STR_NONE;
}

bool snapshot_demand(struct snapshot *s, const struct obj *pod, struct demand *ret, str *ret_why)
{
    *ret = (struct demand){0};
    bool counted = pod_amounts(s, pod, ret->amount);
    ret->amount[RES_PODS] = 1;
    str part = asks_for_part(pod);
    if (!str_is_empty(part)) {
        *ret_why = arena_printf(s->arena,
                                "it asks for a part of a GPU (annotation %.*s), which this "
                                "scheduler cannot judge",
                                STR_ARG(part));
        return false;
    }
    if (!counted)
        *ret_why = arena_printf(s->arena, "there are more than %d kinds of resources", RES_MAX);
    return counted;
}

/* ---- nodes ---- */

/* Both are whole numbers, written the short way. */
static bool are_numbers(str a, str b, int64_t *ret_a, int64_t *ret_b)
{
    char text[32];
    if (!str_to_int(a, ret_a) || !str_to_int(b, ret_b))
        return false;
    (void)snprintf(text, sizeof(text), "%lld", (long long)*ret_a);
    if (!str_is(a, text))
        return false;
    (void)snprintf(text, sizeof(text), "%lld", (long long)*ret_b);
    return str_is(b, text);
}

static bool value_tolerated(jval toleration, str value)
{
    str op = jstr(jgetc(toleration, "operator")), own = jstr(jgetc(toleration, "value"));
    int64_t bound, have;
    if (str_is(op, "Exists"))
        return true;
    if (str_is_empty(op) || str_is(op, "Equal"))
        return str_eq(own, value);
    if (!are_numbers(own, value, &bound, &have))
        return false;
    return str_is(op, "Gt") ? have > bound : str_is(op, "Lt") && have < bound;
}

static bool tolerates(jval tolerations, str key, str value, str effect)
{
    for (struct jiter it = jiter(tolerations); jnext(&it);) {
        str k = jstr(jgetc(it.value, "key")), e = jstr(jgetc(it.value, "effect"));
        bool all = str_is_empty(k) && str_is(jstr(jgetc(it.value, "operator")), "Exists");
        if ((str_is_empty(e) || str_eq(e, effect)) && (all || str_eq(k, key)) &&
            value_tolerated(it.value, value))
            return true;
    }
    return false;
}

static bool taint_tolerated(jval tolerations, jval taint)
{
    return tolerates(tolerations, jstr(jgetc(taint, "key")), jstr(jgetc(taint, "value")),
                     jstr(jgetc(taint, "effect")));
}

static bool value_in(jval values, str value)
{
    for (struct jiter it = jiter(values); jnext(&it);) {
        if (str_eq(jstr(it.value), value))
            return true;
    }
    return false;
}

static bool expression_matches(jval e, jval labels)
{
    str op = jstr(jgetc(e, "operator"));
    jval label = jget(labels, jstr(jgetc(e, "key"))), values = jgetc(e, "values");
    bool there = j_has(label);
    int64_t have, bound;
    if (str_is(op, "In"))
        return there && value_in(values, jstr(label));
    if (str_is(op, "NotIn"))
        return !there || !value_in(values, jstr(label));
    if (str_is(op, "Exists"))
        return there;
    if (str_is(op, "DoesNotExist"))
        return !there;
    if (!str_to_int(jstr(label), &have) || !str_to_int(jstr(jat(values, 0)), &bound))
        return false;
    return str_is(op, "Gt") ? have > bound : str_is(op, "Lt") && have < bound;
}

static bool term_matches(jval term, const struct snap_node *n)
{
    if (jlen(jgetc(term, "matchExpressions")) + jlen(jgetc(term, "matchFields")) == 0)
        return false;
    for (struct jiter it = jiter(jgetc(term, "matchExpressions")); jnext(&it);) {
        if (!expression_matches(it.value, n->obj->labels))
            return false;
    }
    for (struct jiter it = jiter(jgetc(term, "matchFields")); jnext(&it);) {
        bool in = value_in(jgetc(it.value, "values"), n->name);
        if (in != str_is(jstr(jgetc(it.value, "operator")), "In"))
            return false;
    }
    return true;
}

bool node_matches(const struct snap_node *n, jval node_selector)
{
    for (struct jiter it = jiter(jgetc(node_selector, "nodeSelectorTerms")); jnext(&it);) {
        if (term_matches(it.value, n))
            return true;
    }
    return false;
}

/* A cordon is a taint, whether the node says so too or not. */
bool node_tolerates(const struct snap_node *n, const struct obj *pod)
{
    jval tolerations = jgetc(obj_spec(pod), "tolerations");
    if (!n->open && !(n->cordoned && tolerates(tolerations, STR("node.kubernetes.io/unschedulable"),
                                               STR_NONE, STR("NoSchedule"))))
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(n->obj), "taints")); jnext(&it);) {
        if (!str_is(jstr(jgetc(it.value, "effect")), "PreferNoSchedule") &&
            !taint_tolerated(tolerations, it.value))
            return false;
    }
    return true;
}

bool node_is_wanted(const struct snap_node *n, const struct obj *pod)
{
    jval spec = obj_spec(pod);
    for (struct jiter it = jiter(jgetc(spec, "nodeSelector")); jnext(&it);) {
        jval label = jget(n->obj->labels, it.key);
        if (!j_has(label) || !str_eq(jstr(label), jstr(it.value)))
            return false;
    }
    jval required =
        jpath(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    return !j_has(required) || node_matches(n, required);
}

bool node_admits(const struct snap_node *n, const struct obj *pod)
{
    return node_tolerates(n, pod) && node_is_wanted(n, pod);
}

uint8_t node_penalty(const struct snap_node *n, const struct obj *pod)
{
    jval spec = obj_spec(pod);
    int64_t against = 0;
    for (struct jiter it = jiter(
             jpath(spec, "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"));
         jnext(&it);) {
        if (!term_matches(jgetc(it.value, "preference"), n))
            against += MAX(1, jint(jgetc(it.value, "weight"), 1));
    }
    for (struct jiter it = jiter(jgetc(obj_spec(n->obj), "taints")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "effect")), "PreferNoSchedule") &&
            !taint_tolerated(jgetc(spec, "tolerations"), it.value))
            against += 50;
    }
    return (uint8_t)MIN(against, 255);
}

/* ---- snapshot ---- */

void snapshot_read_node(struct snapshot *s, const struct obj *o, struct snap_node *ret)
{
    *ret = (struct snap_node){.obj = o, .name = o->name};
    /* What it has beyond the kinds that are counted is as if it were not there. */
    (void)read_amounts(s, jgetc(obj_status(o), "allocatable"), ret->total);
    bool able = !o->deleting && condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
    /* A pod that asks for the most there is, or more, fits nowhere. */
    for (size_t r = 0; r < s->n_resources; r++)
        ret->total[r] = MIN(ret->total[r], AMOUNT_MAX - 1);
    ret->cordoned = able && j_is_true(jgetc(obj_spec(o), "unschedulable"));
    ret->open = able && !ret->cordoned;
}

static void add_nodes(struct snapshot *s, const struct world *w)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_node), STR_NONE);
         (o = cache_next(&it));) {
        struct snap_node *n = vec_push(&s->nodes);
        snapshot_read_node(s, o, n);
    }
}

void snapshot_init(struct snapshot *s, const struct world *w, struct arena *a)
{
    *s = (struct snapshot){.arena = a, .n_resources = RES_FIRST_OTHER};
    for (size_t i = 0; i < RES_FIRST_OTHER; i++)
        s->resources[i] = str_of(first_resources[i]);
    add_nodes(s, w);
}

void snapshot_done(struct snapshot *s)
{
    vec_done(&s->nodes);
}
