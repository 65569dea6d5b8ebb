/*
 * PodDisruptionBudgets: their status, as kube-controller-manager's disruption controller computes
 * it. Whoever wants to take a pod away asks the status (pods/eviction does, evict.c).
 *
 * How many pods there should be: with a plain number of minAvailable those there are; else the sum
 * of what their controllers are scaled to, each asked once, through the place its kind's scale
 * subresource reads (so cliques and custom kinds count as well as ReplicaSets). Pods without a
 * controller do not count there. When a scale cannot be known the budget fails safe: nothing may be
 * taken, and the condition says why.
 *
 * An eviction writes the pod into disruptedPods before it deletes it. Such a pod is not healthy any
 * more, though the cache may not show its deletion yet; after two minutes the deletion is taken to
 * have failed and the entry goes.
 *
 * Cost: a budget sees only pods that have one of the labels it selects by, and a pod only budgets
 * that select by one of its labels: both are indexed (see lanes below), so that a namespace may
 * have as many of both as it likes. Only one that wants no certain value of any label sees all pods
 * of its namespace. Each is computed at most ten times a second, and not while others have more
 * urgent things to do. Until a budget says something, nothing it selects may be evicted; so a new
 * one that could say nothing else says it later.
 */
#include "base/map.h"
#include "controllers/controllers.h"
#include "grove/types.h"
#include "kube/pdb_conditions.h"
#include "kube/selector.h"
#include "json/write.h"

#define DELETION_TIMEOUT (2 * USEC_PER_MIN)
#define INTERVAL (100 * USEC_PER_MSEC)
#define PATIENCE (500 * USEC_PER_MSEC)
/* A budget is usually made before its pods, and those take a moment to be ready. */
#define SILENT (2 * USEC_PER_SEC) /* about: creation times are in whole seconds */
#define UNMANAGED                                                                                \
    "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the "    \
    "status of the PDB cannot be calculated correctly, which may result in undefined "           \
    "behavior. To account for these pods please set \".spec.minAvailable\" field of the PDB to " \
    "an integer value."

/* ---- which pods ---- */

/*
 * Lanes, in which pods and the budgets that may select them meet: "namespace/label=value". A budget
 * is in the lane of one pair that it wants, of several the one with the longest value: that is most
 * probably the name of something and not what many have. One that wants a label to have one of a
 * few values is in the lane of each, and one that wants no certain value in "namespace/". All but
 * those of cliques share one more: where that is empty, pods need not ask for the rest.
 */
#define LANE_LOOSE ""
#define LANE_OTHERS "*"
enum { LANES_MAX = 8 };

static str lane(struct arena *a, str ns, str label, str value)
{
    return arena_cat(a, ns, STR("/"), label, STR("="), value);
}

static jval selector_of(const struct obj *budget)
{
    return jgetc(obj_spec(budget), "selector");
}

/* The pair whose lane the budget is in; false: it wants none, or one of several. */
static bool pair_of_budget(const struct obj *budget, str *ret_label, str *ret_value)
{
    bool any = false;
    *ret_label = *ret_value = STR_NONE;
    for (struct jiter it = jiter(jgetc(selector_of(budget), "matchLabels")); jnext(&it);) {
        str value = jstr(it.value);
        bool clique = str_is(it.key, LABEL_PCLQ);
        if (any && !clique && value.len < ret_value->len)
            continue;
        *ret_label = it.key;
        *ret_value = value;
        any = true;
        if (clique)
            break;
    }
    return any;
}

/* Of the first expression that wants one of a few values; 0: there is none. */
static size_t lanes_of_values(const struct obj *budget, struct arena *a, str *keys, size_t max)
{
    for (struct jiter it = jiter(jgetc(selector_of(budget), "matchExpressions")); jnext(&it);) {
        jval values = jgetc(it.value, "values");
        size_t n = 0;
        if (!str_is(jstr(jgetc(it.value, "operator")), "In") || jlen(values) > max)
            continue;
        for (struct jiter v = jiter(values); jnext(&v);)
            keys[n++] = lane(a, budget->ns, jstr(jgetc(it.value, "key")), jstr(v.value));
        if (n > 0)
            return n;
    }
    return 0;
}

static void index_pod(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str clique = obj_label(o, STR(LABEL_PCLQ));
    *n = 0;
    if (max && clique.len)
        keys[(*n)++] = lane(a, o->ns, STR(LABEL_PCLQ), clique);
}

static void index_budget(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str label, value;
    *n = 0;
    if (max <= LANES_MAX)
        return;
    if (pair_of_budget(o, &label, &value))
        keys[(*n)++] = lane(a, o->ns, label, value);
    else
        *n = lanes_of_values(o, a, keys, LANES_MAX);
    if (*n == 0)
        keys[(*n)++] = arena_cat(a, o->ns, STR("/" LANE_LOOSE));
    if (!str_is(label, LABEL_PCLQ))
        keys[(*n)++] = arena_cat(a, o->ns, STR("/" LANE_OTHERS));
}

struct selected {
    const struct selector *selector; /* NULL: nothing */
    struct cache_iter it;
};

static struct selected select_pods(const struct world *w, const struct obj *budget, struct arena *a)
{
    struct cache *pods = world_cache(w, &kind_pod);
    struct selected s = {.selector = label_selector_from(a, selector_of(budget), NULL)};
    str label, value;
    if (!pair_of_budget(budget, &label, &value))
        s.it = cache_all(pods, budget->ns);
    else if (str_is(label, LABEL_PCLQ))
        s.it = cache_by(pods, index_pod, lane(a, budget->ns, label, value));
    else
        s.it = cache_by_label(pods, budget->ns, label, value);
    return s;
}

static const struct obj *next_pod(struct selected *s)
{
    const struct obj *o;
    while (s->selector && (o = cache_next(&s->it)))
        if (label_selector_match(s->selector, o->labels))
            return o;
    return NULL;
}

/* ---- how many there should be ---- */

struct tally {
    struct arena *arena;
    int64_t pods;      /* selected */
    int64_t unmanaged; /* of these, without a controller */
    int64_t expected, desired, healthy;
    str failed; /* why expected is not known; empty: it is */
};

/* What the controller is scaled to; -1: not known. */
static int64_t scale_of(const struct world *w, str ns, jval ref)
{
    const struct kind *k = owner_ref_kind(ref);
    if (!k || !kind_is(k, KIND_SCALE) || !k->scale_spec_path || !world_cache(w, k))
        return -1;
    const struct obj *o = world_get(w, k, ns, jstr(jgetc(ref, "name")));
    if (!o || !str_eq(o->uid, jstr(jgetc(ref, "uid"))))
        return -1;
    /* Behind a ReplicaSet of a Deployment there is the Deployment, which may have several. */
    if (k == &kind_replica_set && j_has(obj_controller_ref(o)))
        return scale_of(w, ns, obj_controller_ref(o));
    return jint(jpath(obj_root(o), k->scale_spec_path + 1), 1);
}

/* Whose scale counts: a Deployment's once for all of its ReplicaSets. */
static str scaled_uid(const struct world *w, str ns, jval ref)
{
    const struct obj *rs = owner_ref_kind(ref) == &kind_replica_set
                               ? world_get(w, &kind_replica_set, ns, jstr(jgetc(ref, "name")))
                               : NULL;
    return jstr(jgetc(rs && j_has(obj_controller_ref(rs)) ? obj_controller_ref(rs) : ref, "uid"));
}

static void add_scale(const struct world *w, const struct obj *pod, struct map *seen,
                      struct tally *t)
{
    jval ref = obj_controller_ref(pod);
    if (!j_has(ref)) {
        t->unmanaged++;
        return;
    }
    str uid = scaled_uid(w, pod->ns, ref);
    if (t->failed.len || map_has(seen, uid))
        return;
    int64_t n = scale_of(w, pod->ns, ref);
    const struct kind *k = owner_ref_kind(ref);
    if (k && !kind_is(k, KIND_SCALE))
        t->failed = arena_printf(t->arena, "%s%s%s does not implement the scale subresource",
                                 k->plural, *k->group ? "." : "", k->group);
    else if (n < 0)
        t->failed =
            arena_printf(t->arena, "found no controllers for pod \"%.*s\"", STR_ARG(pod->name));
    (void)map_put(seen, uid, t);
    t->expected += MAX(n, 0);
}

static void sum_scales(const struct world *w, const struct obj *budget, struct tally *t)
{
    struct map seen = MAP_INIT;
    struct selected s = select_pods(w, budget, t->arena);
    for (const struct obj *pod; (pod = next_pod(&s));)
        add_scale(w, pod, &seen, t);
    map_done(&seen);
}

/* A number, or percent of the total, rounded up. */
static int64_t scaled_value(jval v, int64_t total, struct tally *t)
{
    uint64_t percent;
    str s = jstr(v);
    if (jtype(v) != J_STRING)
        return jint(v, 0);
    if (!s.len || s.p[s.len - 1] != '%' || !str_to_uint(str_sub(s, 0, s.len - 1), &percent) ||
        percent > INT32_MAX) {
        t->failed = STR("invalid value for IntOrString: invalid type: string is not a percentage");
        return 0;
    }
    return (total * (int64_t)percent + 99) / 100;
}

static void count_expected(const struct world *w, const struct obj *budget, struct tally *t)
{
    jval min = jgetc(obj_spec(budget), "minAvailable");
    jval max = jgetc(obj_spec(budget), "maxUnavailable");
    if (j_has(max)) {
        sum_scales(w, budget, t);
        t->desired = MAX(t->expected - scaled_value(max, t->expected, t), 0);
    } else if (jtype(min) == J_STRING) {
        sum_scales(w, budget, t);
        t->desired = scaled_value(min, t->expected, t);
    } else {
        t->expected = t->pods;
        t->desired = jint(min, 0);
    }
}

/* ---- how many there are ---- */

static jval disrupted_pods(const struct obj *budget)
{
    return jgetc(obj_status(budget), "disruptedPods");
}

/* How long an entry of disruptedPods still holds; not above 0: no more, or it is no time. */
static usec disrupted_for(const struct world *w, jval entry)
{
    usec at;
    return time_parse_rfc3339(jstr(entry), &at)
               ? world_moment(w, at) + DELETION_TIMEOUT - world_steady(w)
               : 0;
}

static bool is_disrupted(const struct world *w, const struct obj *budget, const struct obj *pod)
{
    jval entry = jget(disrupted_pods(budget), pod->name);
    return j_has(entry) && disrupted_for(w, entry) > 0;
}

static void count_pods(const struct world *w, const struct obj *budget, struct tally *t)
{
    struct selected s = select_pods(w, budget, t->arena);
    for (const struct obj *pod; (pod = next_pod(&s)); t->pods++)
        t->healthy += !pod->deleting && !is_disrupted(w, budget, pod) &&
                      condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

/* ---- the status ---- */

/* Entries that are to go, as nulls of a merge patch; returns how many. */
static size_t put_pruned(struct jw *out, const struct world *w, const struct obj *budget,
                         struct plan *p)
{
    size_t n = 0;
    for (struct jiter it = jiter(disrupted_pods(budget)); jnext(&it);) {
        const struct obj *pod = world_get(w, &kind_pod, budget->ns, it.key);
        usec left = disrupted_for(w, it.value);
        if (pod && !pod->deleting && left > 0) {
            plan_look_again(p, left);
            continue;
        }
        jw_key(out, it.key);
        jw_null(out);
        n++;
    }
    return n;
}

static const char *reason_of(const struct tally *t, int64_t allowed)
{
    return t->failed.len ? "SyncFailed" : allowed > 0 ? "SufficientPods" : "InsufficientPods";
}

static bool is_up_to_date(const struct obj *budget, const struct tally *t, int64_t allowed)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"currentHealthy", t->healthy},
        {"desiredHealthy", t->desired},
        {"expectedPods", t->expected},
        {"disruptionsAllowed", allowed},
        {"observedGeneration", budget->generation},
    };
    jval status = obj_status(budget);
    jval c = condition_find(jgetc(status, "conditions"), STR(PDB_CONDITION));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (jint(jget(status, str_of(numbers[i].name)), -1) != numbers[i].value)
            return false;
    return str_is(jstr(jgetc(c, "status")), allowed > 0 ? "True" : "False") &&
           str_is(jstr(jgetc(c, "reason")), reason_of(t, allowed)) &&
           str_eq(jstr(jgetc(c, "message")), t->failed) &&
           jint(jgetc(c, "observedGeneration"), 0) == budget->generation;
}

static void plan_status(const struct world *w, const struct obj *budget, const struct tally *t,
                        struct plan *p)
{
    struct jw out;
    int64_t allowed = t->failed.len || t->expected <= 0 ? 0 : MAX(t->healthy - t->desired, 0);
    jw_init(&out);
    jw_object(&out);
    jw_put_object(&out, "status");
    jw_put_object(&out, "disruptedPods");
    size_t pruned = put_pruned(&out, w, budget, p);
    jw_end(&out);
    jw_put_int(&out, "currentHealthy", t->healthy);
    jw_put_int(&out, "desiredHealthy", t->desired);
    jw_put_int(&out, "expectedPods", t->expected);
    jw_put_int(&out, "disruptionsAllowed", allowed);
    jw_put_int(&out, "observedGeneration", budget->generation);
    pdb_put_conditions(&out, jgetc(obj_status(budget), "conditions"), reason_of(t, allowed),
                       allowed > 0, t->failed, budget->generation, time_text(p->arena, w->now));
    jw_end(&out);
    jw_end(&out);
    struct doc *patch = jw_doc(&out);
    if (!pruned && is_up_to_date(budget, t, allowed)) {
        doc_unref(patch);
        return;
    }
    plan_why(plan_merge_patch(p, 0, budget, STR("status"), patch, budget->rv), p,
             "%lld of %lld pods are healthy, %lld are needed", (long long)t->healthy,
             (long long)t->expected, (long long)t->desired);
    if (t->failed.len)
        plan_event(p, budget, true, STR("CalculateExpectedPodCountFailed"),
                   "Failed to calculate the number of expected pods: %.*s", STR_ARG(t->failed));
    else if (t->unmanaged)
        plan_event(p, budget, true, STR("UnmanagedPods"), "%s", UNMANAGED);
}

static void pdb_plan(const struct world *w, const struct key *key, void *ctx, struct plan *ret_plan)
{
    (void)ctx;
    const struct obj *budget = world_get(w, &kind_pdb, key->ns, key->name);
    struct tally t = {.arena = ret_plan->arena};
    if (!budget || budget->deleting)
        return;
    count_pods(w, budget, &t);
    count_expected(w, budget, &t);
    bool is_new = j_is_absent(jgetc(obj_status(budget), "observedGeneration"));
    if (!is_new || t.healthy >= t.desired ||
        world_has_passed(w, world_made(w, budget), SILENT - USEC_PER_SEC, ret_plan))
        plan_status(w, budget, &t, ret_plan);
}

/* ---- who is looked at when ---- */

static bool lane_is_empty(const struct world *w, str key)
{
    return cache_by(world_cache(w, &kind_pdb), index_budget, key).node == NULL;
}

static void enqueue_lane(struct controller *c, const struct world *w, const struct obj *pod,
                         str key, struct arena *a)
{
    struct cache_iter it = cache_by(world_cache(w, &kind_pdb), index_budget, key);
    for (const struct obj *budget; (budget = cache_next(&it));) {
        const struct selector *s = label_selector_from(a, selector_of(budget), NULL);
        if (s && label_selector_match(s, pod->labels))
            controller_enqueue(c, &kind_pdb, budget->ns, budget->name);
    }
}

static void enqueue_budgets(struct controller *c, const struct world *w, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    if (cache_count(world_cache(w, &kind_pdb)) == 0)
        return;
    bool others = !lane_is_empty(w, arena_cat(&a, pod->ns, STR("/" LANE_OTHERS)));
    if (others)
        enqueue_lane(c, w, pod, arena_cat(&a, pod->ns, STR("/" LANE_LOOSE)), &a);
    for (struct jiter it = jiter(pod->labels); jnext(&it);) {
        if (others || str_is(it.key, LABEL_PCLQ))
            enqueue_lane(c, w, pod, lane(&a, pod->ns, it.key, jstr(it.value)), &a);
    }
    arena_done(&a);
}

static bool counts_the_same(const struct obj *a, const struct obj *b)
{
    return a->deleting == b->deleting && jequal(a->labels, b->labels) &&
           str_eq(a->owner_uid, b->owner_uid) &&
           condition_is_true(jgetc(obj_status(a), "conditions"), STR("Ready")) ==
               condition_is_true(jgetc(obj_status(b), "conditions"), STR("Ready"));
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    if (old && new &&counts_the_same(old, new))
        return;
    if (old)
        enqueue_budgets(c, w, old);
    if (new && !(old && jequal(old->labels, new->labels)))
        enqueue_budgets(c, w, new);
}

/* Pods of one owner have one template: the first will do. */
static void enqueue_by_owner(struct controller *c, const struct world *w, str uid)
{
    struct cache_iter it = world_owned(w, &kind_pod, uid);
    const struct obj *pod = cache_next(&it);
    if (pod)
        enqueue_budgets(c, w, pod);
}

static void map_scale(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    const struct obj *o = new ? new : old;
    const char *path = o->kind->scale_spec_path + 1;
    if (cache_count(world_cache(w, &kind_pdb)) == 0 ||
        (old && new &&jequal(jpath(obj_root(old), path), jpath(obj_root(new), path))))
        return;
    enqueue_by_owner(c, w, o->uid);
    if (o->kind != &kind_deployment)
        return;
    struct cache_iter it = world_owned(w, &kind_replica_set, o->uid);
    for (const struct obj *rs; (rs = cache_next(&it));)
        enqueue_by_owner(c, w, rs->uid);
}

void pdb_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_pdb, map_self}, {&kind_pod, map_pod}};
    cache_add_index(runtime_cache(r, &kind_pod), index_pod);
    cache_add_index(runtime_cache(r, &kind_pdb), index_budget);
    struct controller_def def = {
        .name = "disruption-controller",
        .plan = pdb_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .min_interval = INTERVAL,
        .patience = PATIENCE,
    };
    struct controller *c = runtime_add(r, &def, api);
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (kind_is(k, KIND_SCALE) && k->scale_spec_path && kind_is(k, KIND_NAMESPACED))
            controller_watch(c, k, map_scale);
    }
}
