/*
 * The PodClique planner: as many pods as wanted, each with a stable index; gates lifted when the
 * gang allows it; status from the pods.
 *
 * Counting: a pod that is being deleted, or whose delete is in an accepted plan, is gone; a
 * finished pod (Failed, Succeeded) holds no place and is removed. Names are functions of (clique
 * uid, index, n), so a repeated create answers AlreadyExists instead of making a second pod.
 */
#include "base/map.h"
#include "operator/clique.h"
#include "operator/operator.h"
#include "operator/pod.h"

enum { STAGE_FINALIZER, STAGE_PODS, STAGE_STATUS };

typedef VEC(struct obj *) obj_vec;

struct clique_work {
    const struct world *world;
    const struct obj *pcs;
    const struct obj *pclq;
    struct pclq_view spec;
    obj_vec pods;   /* all that exist, name order */
    obj_vec active; /* not going, not finished */
    struct plan *plan;
};

static void collect_pods(struct clique_work *c)
{
    struct obj *o;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    while ((o = cache_next(&it))) {
        *vec_push(&c->pods) = o;
        if (!o->deleting && !world_is_intended(c->world, o->uid) && !pod_is_finished(o))
            *vec_push(&c->active) = o;
    }
}

/* ---- create ---- */

/* The first name of this index that no pod holds, a dying one and one of this plan included. */
static str free_name(const struct clique_work *c, const struct map *planned, int64_t index)
{
    for (unsigned n = 0;; n++) {
        str name = name_pod(c->plan->arena, c->pclq->name, c->pclq->uid, index, n);
        if (!world_get(c->world, &kind_pod, c->pclq->ns, name) && !map_has(planned, name))
            return name;
    }
}

/* Lowest free indices first, so holes are filled. Many are made in several plans. */
static void plan_creates(struct clique_work *c)
{
    int64_t have = (int64_t)c->active.len, want = c->spec.replicas;
    if (have >= want)
        return;
    int64_t missing = MIN(want - have, MAKE_MAX_WRITES);
    /* Among so many indices, `have` at most are used. */
    bool *used = arena_array(c->plan->arena, bool, have + missing);
    for (size_t i = 0; i < c->active.len; i++) {
        int64_t index = pod_index(c->active.p[i]);
        if (index >= 0 && index < have + missing)
            used[index] = true;
    }
    struct map planned = MAP_INIT;
    for (int64_t index = 0; missing > 0; index++) {
        if (used[index])
            continue;
        str name = free_name(c, &planned, index);
        struct doc *pod = pod_make(c->plan->arena, c->pcs, c->pclq, index, name);
        struct plan_write *w = plan_create(c->plan, STAGE_PODS, &kind_pod, c->pclq->ns, name, pod);
        plan_why(w, c->plan, "%zu of %lld pods exist", c->active.len, (long long)want);
        (void)map_put(&planned, name, pod);
        missing--;
    }
    map_done(&planned);
}

/* ---- delete ---- */

/* What decides who goes first when there are too many. */
struct victim {
    const struct obj *pod;
    bool placed;
    int phase; /* Pending, Unknown, Running */
    bool ready;
    bool current; /* of the template as it is now */
    usec born;
    int64_t index;
};

static struct victim victim_of(const struct clique_work *c, const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return (struct victim){
        .pod = pod,
        .placed = pod_is_scheduled(pod),
        .phase = str_is(phase, "Running") ? 2 : str_is(phase, "Unknown"),
        .ready = pod_is_ready(pod),
        .current = str_eq(obj_label(pod, STR(LABEL_TEMPLATE_HASH)),
                          obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH))),
        .born = obj_created(pod),
        .index = pod_index(pod),
    };
}

/* Smaller goes first: unplaced, not running, not ready, outdated, young; then the higher index. */
static int cmp_victims(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (x->placed != y->placed)
        return x->placed ? 1 : -1;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    if (x->ready != y->ready)
        return x->ready ? 1 : -1;
    if (x->current != y->current)
        return x->current ? 1 : -1;
    if (x->born != y->born)
        return x->born < y->born ? 1 : -1;
    if (x->index != y->index)
        return x->index < y->index ? 1 : -1;
    return str_cmp(x->pod->name, y->pod->name);
}

static void plan_deletes(struct clique_work *c)
{
    for (size_t i = 0; i < c->pods.len; i++) {
        struct obj *o = c->pods.p[i];
        if (pod_is_finished(o) && !o->deleting && !world_is_intended(c->world, o->uid))
            plan_why(plan_delete(c->plan, STAGE_PODS, o), c->plan, "it has finished");
    }
    if ((int64_t)c->active.len <= c->spec.replicas)
        return;
    size_t excess = c->active.len - (size_t)MAX(c->spec.replicas, 0);
    VEC(struct victim) order = {0};
    for (size_t i = 0; i < c->active.len; i++)
        *vec_push(&order) = victim_of(c, c->active.p[i]);
    vec_sort(&order, cmp_victims);
    for (size_t i = 0; i < excess; i++) {
        struct plan_write *w = plan_delete(c->plan, STAGE_PODS, order.p[i].pod);
        plan_why(w, c->plan, "%zu pods exist, %lld are wanted", c->active.len,
                 (long long)c->spec.replicas);
    }
    vec_done(&order);
}

/* ---- gates ---- */

static jval find_pod_group(const struct obj *gang, str name)
{
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* Every group of the base gang has its minimum on nodes. */
static bool base_is_scheduled(const struct clique_work *c, str base)
{
    const struct obj *gang = world_get(c->world, &kind_pod_gang, c->pclq->ns, base);
    if (!gang)
        return false;
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        const struct obj *o =
            world_get(c->world, &kind_pclq, gang->ns, jstr(jgetc(it.value, "name")));
        if (!o || jint(jgetc(obj_status(o), "scheduledReplicas"), 0) <
                      jint(jgetc(it.value, "minReplicas"), 0))
            return false;
    }
    return true;
}

/* The list that remains; a list of none is no list. */
static struct doc *patch_without_gate(const struct obj *pod)
{
    jval gates = jgetc(obj_spec(pod), "schedulingGates");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_key(&w, STR("schedulingGates"));
    if (jlen(gates) == 1) {
        jw_null(&w);
    } else {
        jw_array(&w);
        for (struct jiter it = jiter(gates); jnext(&it);) {
            if (!str_is(jstr(jgetc(it.value, "name")), GATE_PODGANG))
                jw_val(&w, it.value);
        }
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static bool any_gated(const struct clique_work *c)
{
    for (size_t i = 0; i < c->active.len; i++) {
        if (pod_is_gated(c->active.p[i]))
            return true;
    }
    return false;
}

static void plan_gates(struct clique_work *c)
{
    str base;
    if (!any_gated(c))
        return;
    str gang_name = clique_gang(c->plan->arena, c->world, c->pclq, &base);
    const struct obj *gang = world_get(c->world, &kind_pod_gang, c->pclq->ns, gang_name);
    if (!gang || !condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Initialized")))
        return;
    if (!str_is_empty(base) && !base_is_scheduled(c, base))
        return;
    jval group = find_pod_group(gang, c->pclq->name);
    struct map referenced = MAP_INIT;
    for (struct jiter it = jiter(jgetc(group, "podReferences")); jnext(&it);)
        (void)map_put(&referenced, jstr(jgetc(it.value, "name")), c);
    for (size_t i = 0; i < c->active.len; i++) {
        struct obj *pod = c->active.p[i];
        if (!pod_is_gated(pod) || !map_has(&referenced, pod->name))
            continue;
        struct plan_write *w =
            plan_merge_patch(c->plan, STAGE_PODS, pod, STR_NONE, patch_without_gate(pod), pod->rv);
        plan_why(w, c->plan, "gang %.*s is complete", STR_ARG(gang_name));
    }
    map_done(&referenced);
}

/* ---- status ---- */

struct pod_counts {
    int64_t replicas, ready, scheduled, gated, updated, failing;
};

static bool has_crashed(jval statuses)
{
    for (struct jiter it = jiter(statuses); jnext(&it);) {
        if (jint(jpath(it.value, "lastState.terminated.exitCode"), 0) != 0)
            return true;
    }
    return false;
}

/* Not ready although it started once: it crashed, or lost readiness. Pods still starting are not.
 */
static bool is_failing(const struct obj *pod)
{
    jval status = obj_status(pod), containers = jgetc(status, "containerStatuses");
    if (pod_is_ready(pod))
        return false;
    if (has_crashed(containers) || has_crashed(jgetc(status, "initContainerStatuses")))
        return true;
    for (struct jiter it = jiter(containers); jnext(&it);) {
        if (j_is_true(jgetc(it.value, "started")) && !j_is_true(jgetc(it.value, "ready")))
            return true;
    }
    return false;
}

static struct pod_counts count_pods(const struct clique_work *c)
{
    struct pod_counts n = {0};
    str hash = obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH));
    for (size_t i = 0; i < c->pods.len; i++) {
        const struct obj *o = c->pods.p[i];
        if (o->deleting)
            continue;
        n.replicas++;
        n.gated += jlen(jgetc(obj_spec(o), "schedulingGates")) > 0;
        /* A finished pod holds a name until it is gone, and nothing else. */
        if (!pod_is_finished(o)) {
            n.ready += pod_is_ready(o);
            n.scheduled += pod_is_scheduled(o);
            n.failing += is_failing(o);
        }
        n.updated += str_eq(obj_label(o, STR(LABEL_TEMPLATE_HASH)), hash);
    }
    return n;
}

static void clique_conditions(const struct clique_work *c, const struct pod_counts *n,
                              struct condition ret[2])
{
    int64_t min = c->spec.min_available;
    bool enough = n->scheduled >= min;
    bool sound = enough && n->scheduled - n->failing >= min;
    ret[0] = (struct condition){
        "PodCliqueScheduled", enough ? "True" : "False",
        enough ? "SufficientScheduledPods" : "InsufficientScheduledPods",
        arena_printf(c->plan->arena, "%lld of %lld pods are on nodes, %lld are needed",
                     (long long)n->scheduled, (long long)c->spec.replicas, (long long)min)};
    ret[1] = (struct condition){
        "MinAvailableBreached", sound ? "False" : "True",
        sound    ? "SufficientReadyPods"
        : enough ? "InsufficientReadyPods"
                 : "ScheduledReplicasBelowMinAvailable",
        arena_printf(c->plan->arena, "%lld pods on nodes, %lld of them failing, %lld needed",
                     (long long)n->scheduled, (long long)n->failing, (long long)min)};
}

static str clique_selector(const struct clique_work *c)
{
    struct labels l;
    struct arena *a = c->plan->arena;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, c->pcs->name));
    labels_set(&l, LABEL_PCLQ, name_label(a, c->pclq->name));
    return labels_selector(&l);
}

static void plan_status(struct clique_work *c)
{
    struct pod_counts n = count_pods(c);
    struct condition conditions[2];
    clique_conditions(c, &n, conditions);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "observedGeneration", c->pclq->generation);
    jw_put_int(&w, "replicas", n.replicas);
    jw_put_int(&w, "readyReplicas", n.ready);
    jw_put_int(&w, "updatedReplicas", n.updated);
    jw_put_int(&w, "scheduleGatedReplicas", n.gated);
    jw_put_int(&w, "scheduledReplicas", n.scheduled);
    if (str_is_empty(obj_label(c->pclq, STR(LABEL_PCSG))))
        jw_put_str(&w, "hpaPodSelector", clique_selector(c));
    if (n.updated == n.replicas)
        jw_put_str(&w, "currentPodTemplateHash", obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH)));
    make_conditions(&w, jgetc(obj_status(c->pclq), "conditions"), conditions, 2, c->world->now);
    jw_end(&w);
    make_status(c->plan, STAGE_STATUS, c->pclq, jw_doc(&w));
}

void pclq_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pclq = world_get(w, &kind_pclq, key->ns, key->name);
    (void)ctx;
    if (!pclq)
        return;
    if (pclq->deleting) {
        (void)make_finalizer(p, STAGE_FINALIZER, pclq, STR(FINALIZER_PCLQ), false);
        return;
    }
    struct clique_work c = {.world = w, .pclq = pclq, .plan = p, .pcs = owner_pcs(w, pclq)};
    if (!c.pcs || c.pcs->deleting)
        return;
    pclq_view(pclq, &c.spec);
    bool adding = make_finalizer(p, STAGE_FINALIZER, pclq, STR(FINALIZER_PCLQ), true);
    collect_pods(&c);
    plan_creates(&c);
    plan_deletes(&c);
    plan_gates(&c);
    if (!adding)
        plan_status(&c);
    vec_done(&c.pods);
    vec_done(&c.active);
}
