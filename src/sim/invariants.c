/* See invariants.h: the frame, and the checks that need little state. */
#include "sim/invariants.h"

#include <stdarg.h>

#include "base/quantity.h"
#include "base/vec.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

#define GANG_WINDOW (60 * USEC_PER_SEC)
enum { MAX_RESOURCES = 16 };

struct node_use {
    int64_t total[MAX_RESOURCES], used[MAX_RESOURCES]; /* in thousandths */
    char name[];
};

struct invariants {
    struct invariants_options options;
    struct err failure;
    unsigned off; /* a bit per check */
    uint64_t revision;
    usec lag;
    /* capacity */
    struct map nodes; /* name -> struct node_use */
    VEC(char *) resources;
    struct map indices;  /* "clique uid/index" -> active pods */
    struct map let_go;   /* the same -> those of them without Grove's gate */
    struct map ended;    /* uids of pods that have finished, whatever a late word says of them */
    struct map replicas; /* "Kind namespace/name=n" -> times asked for */
    struct inv_deletes deletes;
    struct inv_gangs gangs;
    struct inv_versions versions;
    struct inv_updates rolls;
    struct inv_times times;
    usec base; /* wall − monotonic, when it began */
    struct inv_pods pods;
    struct inv_starts starts;
};

/* ---- helpers ---- */

struct counter {
    int64_t n;
    char key[];
};

int64_t counter_add(struct map *m, str key, int64_t delta)
{
    struct counter *c = map_get(m, key);
    if (!c) {
        c = xcalloc(1, sizeof(*c) + key.len + 1);
        memcpy(c->key, key.p, key.len);
        (void)map_put(m, str_n(c->key, key.len), c);
    }
    int64_t n = c->n += delta;
    if (n == 0) {
        (void)map_del(m, key);
        free(c);
    }
    return n;
}

int64_t counter_get(const struct map *m, str key)
{
    const struct counter *c = map_get(m, key);
    return c ? c->n : 0;
}

static void map_free_values(struct map *m)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(m, &it, &key, &value);)
        free(value);
    map_done(m);
}

void counters_done(struct map *m)
{
    map_free_values(m);
}

void inv_fail(struct invariants *v, const char *check, const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT(16384);
    va_list ap;
    if (v->failure.code)
        return;
    va_start(ap, fmt);
    strbuf_vprintf(&b, fmt, ap);
    va_end(ap);
    usec now = loop_now(v->options.loop);
    (void)err_set(&v->failure, ERR_INTERNAL,
                  "invariant %s broken at %lld.%06lld s, revision %llu: %s", check,
                  (long long)(now / USEC_PER_SEC), (long long)(now % USEC_PER_SEC),
                  (unsigned long long)v->revision, b.p);
    strbuf_done(&b);
}

usec inv_wall(const struct invariants *v)
{
    return loop_now(v->options.loop) + v->base;
}

usec inv_made(const struct invariants *v, const struct obj *o)
{
    return counter_get(&v->times.made, o->uid);
}

usec inv_breached(const struct invariants *v, const struct obj *o)
{
    return counter_get(&v->times.breached, o->uid);
}

usec inv_ready(const struct invariants *v, const struct obj *pod)
{
    return counter_get(&v->times.ready, pod->uid);
}

usec invariants_moved(const struct invariants *v, const struct obj *pcs)
{
    usec at = counter_get(&v->times.moved, pcs->uid);
    return at ? at - v->base : 0;
}

usec inv_lag(const struct invariants *v)
{
    return v->lag;
}

const struct obj *inv_labelled(const struct invariants *v, const struct kind *k, str ns, str label)
{
    struct obj *found = str_is_empty(label) ? NULL : store_get(inv_store(v), k, ns, label), *o;
    if (found || !name_may_be_shortened(label))
        return found;
    struct store_iter it = store_range(inv_store(v), k, ns, STR_NONE, STR_NONE);
    while (!found && (o = store_next(&it)))
        found = name_has_label(o->name, label) ? o : NULL;
    return found;
}

/* PREFIX-NUMBER is the map's name, PREFIX-NUMBER-NAME that of the other. */
str inv_template_name(const struct invariants *v, const struct obj *map, const struct obj *o)
{
    size_t head = map->name.len;
    if (!str_eq(o->owner_uid, map->owner_uid))
        return STR_NONE;
    if (o->name.len > head + 1 && str_starts(o->name, map->name) && o->name.p[head] == '-')
        return str_sub(o->name, head + 1, o->name.len);
    /* Or what is left of it. */
    const struct obj *pcs = inv_labelled(v, &kind_pcs, o->ns, obj_label(o, STR(LABEL_PCS)));
    int64_t replica = jint(jgetc(obj_spec(map), "podCliqueSetReplicaIndex"), -1);
    if (!pcs || replica < 0 || !name_may_be_shortened(o->name))
        return STR_NONE;
    jval list = jpath(obj_spec(pcs), o->kind == &kind_pcsg ? "template.podCliqueScalingGroups"
                                                           : "template.cliques");
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (name_index(o->name, pcs->name, name) == replica)
            return name;
    }
    return STR_NONE;
}

const struct store *inv_store(const struct invariants *v)
{
    return v->options.store;
}

bool pod_has_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

str pod_node(const struct obj *pod)
{
    return jstr(jgetc(obj_spec(pod), "nodeName"));
}

/* ---- revisions ---- */

static void check_revisions(struct invariants *v, const struct store_event *e)
{
    const struct obj *o = e->obj, *prev = e->prev;
    if (v->revision && e->revision != v->revision + 1)
        inv_fail(v, "revisions", "%llu follows %llu", (unsigned long long)e->revision,
                 (unsigned long long)v->revision);
    v->revision = e->revision;
    if (o->rv != e->revision)
        inv_fail(v, "revisions", "%s %.*s carries %llu", o->kind->kind, STR_ARG(o->name),
                 (unsigned long long)o->rv);
    if (prev && o->generation < prev->generation)
        inv_fail(v, "revisions", "generation of %s %.*s went from %lld to %lld", o->kind->kind,
                 STR_ARG(o->name), (long long)prev->generation, (long long)o->generation);
}

/* ---- identity ---- */

static void check_identity(struct invariants *v, const struct store_event *e)
{
    const struct obj *o = e->obj, *prev = e->prev;
    if (!prev)
        return;
    const char *what = NULL;
    if (!str_eq(o->uid, prev->uid))
        what = "UID";
    else if (obj_created(o) != obj_created(prev))
        what = "creation time";
    else if (prev->deleting && !o->deleting)
        what = "deletion";
    else if (o->kind == &kind_pod && !str_is_empty(pod_node(prev)) &&
             !str_eq(pod_node(prev), pod_node(o)))
        what = "node";
    if (what)
        inv_fail(v, "identity", "the %s of %s %.*s/%.*s changed", what, o->kind->kind,
                 STR_ARG(o->ns), STR_ARG(o->name));
}

/* ---- capacity ---- */

static size_t resource_number(struct invariants *v, str name)
{
    for (size_t i = 0; i < v->resources.len; i++) {
        if (str_is(name, v->resources.p[i]))
            return i;
    }
    if (v->resources.len == MAX_RESOURCES)
        return 0;
    *vec_push(&v->resources) = str_dup(name);
    return v->resources.len - 1;
}

static void read_amounts(struct invariants *v, jval map, int64_t ret[MAX_RESOURCES])
{
    for (struct jiter it = jiter(map); jnext(&it);) {
        struct quantity q;
        str text = jtype(it.value) == J_STRING ? jstr(it.value) : jtext(it.value);
        if (quantity_parse(text, &q, NULL) == 0)
            ret[resource_number(v, it.key)] += quantity_milli(&q);
    }
}

static void pod_demand(struct invariants *v, const struct obj *pod, int64_t ret[MAX_RESOURCES])
{
    jval spec = obj_spec(pod);
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);)
        read_amounts(v, jpath(it.value, "resources.requests"), ret);
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        int64_t init[MAX_RESOURCES] = {0};
        read_amounts(v, jpath(it.value, "resources.requests"), init);
        for (size_t r = 0; r < MAX_RESOURCES; r++)
            ret[r] = MAX(ret[r], init[r]);
    }
    read_amounts(v, jgetc(spec, "overhead"), ret);
    ret[resource_number(v, STR("pods"))] = 1000;
}

static struct node_use *node_use(struct invariants *v, str name)
{
    struct node_use *n = map_get(&v->nodes, name);
    if (n)
        return n;
    n = xcalloc(1, sizeof(*n) + name.len + 1);
    memcpy(n->name, name.p, name.len);
    (void)map_put(&v->nodes, str_n(n->name, name.len), n);
    return n;
}

static bool holds_node(const struct obj *pod)
{
    return pod && !str_is_empty(pod_node(pod)) && !pod_has_finished(pod);
}

static void use_node(struct invariants *v, const struct obj *pod, int sign)
{
    int64_t demand[MAX_RESOURCES] = {0};
    struct node_use *n = node_use(v, pod_node(pod));
    pod_demand(v, pod, demand);
    for (size_t r = 0; r < v->resources.len; r++) {
        n->used[r] += sign * demand[r];
        if (sign > 0 && demand[r] > 0 && n->used[r] > n->total[r])
            inv_fail(v, "capacity", "with pod %.*s/%.*s node %s has %lldm of %lldm %s in use",
                     STR_ARG(pod->ns), STR_ARG(pod->name), n->name, (long long)n->used[r],
                     (long long)n->total[r], v->resources.p[r]);
    }
}

static void check_capacity(struct invariants *v, const struct store_event *e)
{
    if (e->obj->kind == &kind_node && event_now(e)) {
        struct node_use *n = node_use(v, e->obj->name);
        memset(n->total, 0, sizeof(n->total));
        read_amounts(v, jgetc(obj_status(e->obj), "allocatable"), n->total);
    }
    if (e->obj->kind != &kind_pod)
        return;
    bool was = holds_node(e->prev), is = holds_node(event_now(e));
    if (was && !is)
        use_node(v, e->prev, -1);
    else if (is && !was)
        use_node(v, e->obj, 1);
}

/* ---- indices ---- */

/* One whose label somebody took away is not the set's any more, for an operator that sees others
 * only (operator_filter). */
static bool is_active(const struct obj *pod)
{
    return pod && !pod->deleting && !pod_has_finished(pod) &&
           !str_is_empty(obj_label(pod, STR(LABEL_POD_INDEX))) &&
           !str_is_empty(obj_label(pod, STR(LABEL_MANAGED_BY)));
}

static int64_t count_index(struct map *m, const struct obj *pod, int delta)
{
    struct strbuf key = STRBUF_INIT(256);
    strbuf_printf(&key, "%.*s/%.*s", STR_ARG(pod->owner_uid),
                  STR_ARG(obj_label(pod, STR(LABEL_POD_INDEX))));
    int64_t n = counter_add(m, strbuf_str(&key), delta);
    strbuf_done(&key);
    return n;
}

static void check_new_index(struct invariants *v, const struct obj *pod)
{
    int64_t index, most = deletes_most_replicas(&v->deletes, pod->owner_uid);
    str label = obj_label(pod, STR(LABEL_POD_INDEX));
    if (!str_to_int(label, &index) || index < 0 || (most >= 0 && index >= most))
        inv_fail(v, "indices", "pod %.*s/%.*s has index %.*s, its clique wanted at most %lld",
                 STR_ARG(pod->ns), STR_ARG(pod->name), STR_ARG(label), (long long)most);
}

static void check_indices(struct invariants *v, const struct store_event *e)
{
    if (e->obj->kind != &kind_pod)
        return;
    bool was = is_active(e->prev), is = is_active(event_now(e));
    if (was && !is)
        (void)count_index(&v->indices, e->prev, -1);
    if (was || !is)
        return;
    if (count_index(&v->indices, e->obj, 1) > 1)
        inv_fail(v, "indices", "pod %.*s/%.*s is the second active one with index %.*s",
                 STR_ARG(e->obj->ns), STR_ARG(e->obj->name),
                 STR_ARG(obj_label(e->obj, STR(LABEL_POD_INDEX))));
    check_new_index(v, e->obj);
}

/* ---- gates ---- */

static bool is_let_go(const struct invariants *v, const struct obj *pod)
{
    if (!is_active(pod) || counter_get(&v->ended, pod->uid) > 0)
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "schedulingGates")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), "grove.io/podgang-pending-creation"))
            return false;
    }
    return true;
}

static void check_gates(struct invariants *v, const struct store_event *e)
{
    if (e->obj->kind != &kind_pod)
        return;
    bool was = is_let_go(v, e->prev);
    if (pod_has_finished(e->obj) && counter_get(&v->ended, e->obj->uid) == 0)
        (void)counter_add(&v->ended, e->obj->uid, 1);
    bool is = is_let_go(v, event_now(e));
    if (was && !is)
        (void)count_index(&v->let_go, e->prev, -1);
    if (!was && is && count_index(&v->let_go, e->obj, 1) > 1)
        inv_fail(v, "gates", "pod %.*s/%.*s is the second one let go with index %.*s",
                 STR_ARG(e->obj->ns), STR_ARG(e->obj->name),
                 STR_ARG(obj_label(e->obj, STR(LABEL_POD_INDEX))));
}

/* ---- replicas ---- */

static str replicas_key(struct strbuf *b, const struct kind *k, str ns, str name, int64_t n)
{
    strbuf_printf(b, "%s %.*s/%.*s=%lld", k->kind, STR_ARG(ns), STR_ARG(name), (long long)n);
    return strbuf_str(b);
}

void invariants_allow_replicas(struct invariants *v, const struct kind *k, str ns, str name,
                               int64_t replicas)
{
    struct strbuf b = STRBUF_INIT(1024);
    (void)counter_add(&v->replicas, replicas_key(&b, k, ns, name, replicas), 1);
    strbuf_done(&b);
}

/* An autoscaler that is there may give it so many. */
static bool autoscaler_allows(const struct invariants *v, const struct obj *o, int64_t replicas)
{
    struct obj *hpa;
    struct store_iter it = store_range(inv_store(v), &kind_hpa, o->ns, STR_NONE, STR_NONE);
    while ((hpa = store_next(&it))) {
        jval target = jgetc(obj_spec(hpa), "scaleTargetRef");
        if (str_is(jstr(jgetc(target, "kind")), o->kind->kind) &&
            str_eq(jstr(jgetc(target, "name")), o->name) &&
            replicas >= jint(jgetc(obj_spec(hpa), "minReplicas"), 1) &&
            replicas <= jint(jgetc(obj_spec(hpa), "maxReplicas"), 0))
            return true;
    }
    return false;
}

static void check_replicas(struct invariants *v, const struct store_event *e)
{
    const struct obj *o = event_now(e);
    if (!o || !e->prev || (o->kind != &kind_pclq && o->kind != &kind_pcsg))
        return;
    int64_t was = jint(jgetc(obj_spec(e->prev), "replicas"), -1);
    int64_t is = jint(jgetc(obj_spec(o), "replicas"), -1);
    struct strbuf b = STRBUF_INIT(1024);
    if (was != is &&
        counter_get(&v->replicas, replicas_key(&b, o->kind, o->ns, o->name, is)) == 0 &&
        !autoscaler_allows(v, o, is))
        inv_fail(v, "replicas", "%s %.*s/%.*s went from %lld to %lld and nobody asked",
                 o->kind->kind, STR_ARG(o->ns), STR_ARG(o->name), (long long)was, (long long)is);
    strbuf_done(&b);
}

/* ---- updates ---- */

static int64_t at_work(const struct obj *pcs)
{
    int64_t n = 0;
    jval list = jpath(obj_status(pcs), "updateProgress.currentlyUpdating");
    for (struct jiter it = jiter(list); jnext(&it);)
        n += !j_has(jgetc(it.value, "updateEndedAt"));
    return n;
}

/* What is at work goes on when less is allowed; more may not come. */
static void check_updates(struct invariants *v, const struct store_event *e)
{
    const struct obj *o = event_now(e);
    if (!o || o->kind != &kind_pcs)
        return;
    int64_t most = jint(jpath(obj_spec(o), "updateStrategy.maxConcurrentReplicas"), 1);
    int64_t before = e->prev ? at_work(e->prev) : 0;
    if (at_work(o) > MAX(before, MAX(most, 1)))
        inv_fail(v, "updates", "%lld replicas of %.*s are at work, %lld are allowed",
                 (long long)at_work(o), STR_ARG(o->name), (long long)most);
}

/* ---- the frame ---- */

static void check_deletes(struct invariants *v, const struct store_event *e)
{
    deletes_event(v, &v->deletes, e);
}

static void check_gangs(struct invariants *v, const struct store_event *e)
{
    gangs_event(v, &v->gangs, e);
}

static void check_versions(struct invariants *v, const struct store_event *e)
{
    versions_event(v, &v->versions, e);
}

static void check_rolls(struct invariants *v, const struct store_event *e)
{
    updates_event(v, &v->rolls, e);
}

static void check_delays(struct invariants *v, const struct store_event *e)
{
    times_event(v, &v->times, e);
}

static void check_running(struct invariants *v, const struct store_event *e)
{
    running_event(v, &v->pods, e);
}

static void check_names(struct invariants *v, const struct store_event *e)
{
    names_event(v, &v->pods, e);
}

static void check_starts(struct invariants *v, const struct store_event *e)
{
    starts_event(v, &v->starts, e);
}

bool deletes_was_forced(const struct invariants *v, const struct obj *o)
{
    return deletes_is_forced(v, &v->deletes, o);
}

/* indices reads what deletes has learnt before, rolls and versions what it knew until now. */
static const struct check {
    const char *name;
    void (*event)(struct invariants *v, const struct store_event *e);
} checks[] = {
    {"revisions", check_revisions}, {"identity", check_identity}, {"capacity", check_capacity},
    {"rolls", check_rolls},         {"versions", check_versions}, {"deletes", check_deletes},
    {"indices", check_indices},     {"gates", check_gates},       {"replicas", check_replicas},
    {"gangs", check_gangs},         {"updates", check_updates},   {"delays", check_delays},
    {"running", check_running},     {"names", check_names},       {"starts", check_starts},
    {"progress", progress_event},
};

struct invariants *invariants_new(const struct invariants_options *o)
{
    struct invariants *v = xnew(struct invariants);
    v->options = *o;
    v->base = loop_wall(o->loop) - loop_now(o->loop);
    gangs_init(&v->gangs, o->gang_window ? o->gang_window : GANG_WINDOW);
    return v;
}

void invariants_free(struct invariants *v)
{
    if (!v)
        return;
    map_free_values(&v->nodes);
    while (v->resources.len > 0)
        free(vec_pop(&v->resources));
    vec_done(&v->resources);
    counters_done(&v->indices);
    counters_done(&v->let_go);
    counters_done(&v->ended);
    counters_done(&v->replicas);
    deletes_done(&v->deletes);
    gangs_done(&v->gangs);
    versions_done(&v->versions);
    updates_done(&v->rolls);
    times_done(&v->times);
    pods_done(&v->pods);
    starts_done(&v->starts);
    free(v);
}

int invariants_disable(struct invariants *v, str name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (str_is(name, checks[i].name)) {
            v->off |= 1u << i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "there is no invariant %.*s", STR_ARG(name));
}

void invariants_event(struct invariants *v, const struct store_event *e, usec lag)
{
    v->lag = lag;
    times_learn(v, &v->times, e);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (!(v->off & 1u << i))
            checks[i].event(v, e);
    }
    invariants_tick(v);
}

void invariants_tick(struct invariants *v)
{
    gangs_tick(v, &v->gangs);
}

const struct err *invariants_failure(const struct invariants *v)
{
    return &v->failure;
}

void invariants_lose_answers(struct invariants *v, bool lose)
{
    v->pods.loses_answers = lose;
}

void invariants_restarted(struct invariants *v)
{
    v->pods.restarted = inv_wall(v);
}

void invariants_allow_delete(struct invariants *v, str uid)
{
    (void)counter_add(&v->deletes.asked, uid, 1);
}
