/*
 * Pods of a clique: which to make and which to remove.
 *
 * New pods take the lowest free indices, so holes are filled. A finished pod keeps its index until
 * its successor takes it; when pods of one index end again and again, the successor waits (see
 * pod_replace_at), and meanwhile the finished one holds the place. Too many: those that serve least
 * go first. Two active pods of one index, which a create that happened long after it was sent can
 * make, are one too many whatever the number wanted.
 */
#include "base/map.h"
#include "operator/clique/pclq_impl.h"
#include "operator/common/fills.h"
#include "operator/common/startup.h"
#include "operator/common/update.h"

struct pods_work {
    struct clique_work *clique;
    obj_vec active;     /* not going, not finished; name order */
    obj_vec finished;   /* not going */
    struct slots used;  /* indices that are taken */
    struct map planned; /* names of this plan */
    struct fills fills; /* pods that each index has had, as the status says */
    int64_t leaving;    /* their delete is on its way */
    int64_t missing;    /* still to be made; negative: too many */
    size_t made, removed;
    str first_made, first_removed;
};

/* A map may be a moment behind the clique's number; pods follow it. */
static int64_t wanted(const struct clique_work *c)
{
    return c->slots ? c->slots->total : surge_total(c->pclq);
}

/* Pods that are to be made, out of so many that the map or the number lacks. */
static int64_t makeable(const struct pods_work *p, int64_t missing)
{
    const struct clique_work *c = p->clique;
    /* What is not to be above the number any more is not made; it goes when that is written. */
    if (!c->slots)
        return missing - MAX(MIN(surge_held(c->pclq) - c->update.surge.held, missing), 0);
    /* A coherent update has the map decide what is above the number, others the clique. A map that
     * has more is behind the clique, or was its predecessor's: the rest would go at once. */
    int64_t most = update_strategy_of(c->pcs) == UPDATE_COHERENT
                       ? MAX(c->spec.replicas, 0) + c->slots->above
                       : surge_total(c->pclq);
    return MAX(MIN(most - (int64_t)p->active.len, missing), 0);
}

static void collect(struct pods_work *p)
{
    const struct clique_work *c = p->clique;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *o; (o = cache_next(&it));) {
        if (o->deleting)
            continue;
        /* A delete that is on its way may yet be refused: until it is seen the pod holds its index,
         * and nobody takes its place. */
        if (world_is_intended(c->world, o->uid)) {
            p->leaving++;
            slots_add(&p->used, pod_index(o));
            continue;
        }
        if (pod_is_finished(o)) {
            *vec_push(&p->finished) = o;
            continue;
        }
        *vec_push(&p->active) = o;
        slots_add(&p->used, pod_index(o));
    }
    p->missing = wanted(c) - (int64_t)p->active.len;
    if (p->missing > 0)
        p->missing = makeable(p, p->missing);
    if (c->lacks_claims)
        p->missing = MIN(p->missing, 0);
    if (p->missing > 0)
        p->missing = MAX(p->missing - p->leaving, 0);
}

static bool is_full(const struct pods_work *p)
{
    return p->made + p->removed >= MAKE_MAX_WRITES;
}

/* ---- create ---- */

/* Names of one index that are looked through for a create that may still happen. */
enum { NAMES_MAX = 8 };

static bool is_free(const struct pods_work *p, str name)
{
    const struct clique_work *c = p->clique;
    return !world_get(c->world, &kind_pod, c->pclq->ns, name) && !map_has(&p->planned, name) &&
           !cache_was_here(world_cache(c->world, &kind_pod), c->pclq->ns, name);
}

/* The name of a pod of this index whose create was sent and may still happen, so that it makes no
 * second pod when it does; else the first that no pod of the clique's life has had: none that the
 * status counts, none that is or was in the cache, none of this plan. */
static str free_name(const struct pods_work *p, int64_t index)
{
    const struct clique_work *c = p->clique;
    unsigned had = fills_of(&p->fills, index);
    str first = STR_NONE;
    for (unsigned n = had; n < had + NAMES_MAX || str_is_empty(first); n++) {
        str name = name_pod(c->plan->arena, c->pclq->name, c->pclq->uid, index, n);
        if (!is_free(p, name))
            continue;
        if (str_is_empty(first))
            first = name;
        if (!world_has_unsure(c->world))
            break;
        if (world_is_unsure(c->world, &kind_pod, c->pclq->ns, name))
            return name;
    }
    return first;
}

static void make_pod(struct pods_work *p, int64_t index, int64_t failures)
{
    struct clique_work *c = p->clique;
    str name = free_name(p, index);
    struct pod_recipe recipe = c->recipe;
    if (c->slots)
        recipe.pclq = slots_take(c);
    p->missing--;
    if (!recipe.pclq)
        return;
    struct doc *pod = pod_make(c->plan->arena, &recipe, index, name, failures);
    struct plan_write *w = plan_create(c->plan, STAGE_PODS, &kind_pod, c->pclq->ns, name, pod);
    plan_why(w, c->plan, "%zu of %lld pods exist", p->active.len, (long long)wanted(c));
    (void)map_put(&p->planned, name, pod);
    slots_add(&p->used, index);
    if (p->made++ == 0)
        p->first_made = name;
}

static void make_missing(struct pods_work *p)
{
    int64_t index = 0;
    while (p->missing > 0 && !is_full(p)) {
        index = slots_free_from(&p->used, index);
        make_pod(p, index, 0);
    }
}

/* ---- delete ---- */

/* What decides who goes first when there are too many. */
struct victim {
    const struct obj *pod;
    bool placed;
    int phase; /* Pending, Unknown, Running */
    bool ready;
    bool current; /* of the template as it is now */
    bool above;   /* made for the time of an update, or as good as that */
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
        .above = clique_is_updating(c->pclq) && pod_index(pod) >= c->spec.replicas,
        .born = obj_created(pod),
        .index = pod_index(pod),
    };
}

/* Smaller goes first: unplaced, not running, not ready, outdated, above the number, young; then the
 * higher index. */
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
    if (x->above != y->above)
        return x->above ? -1 : 1;
    if (x->above && x->index != y->index)
        return x->index < y->index ? 1 : -1;
    if (x->born != y->born)
        return x->born < y->born ? 1 : -1;
    if (x->index != y->index)
        return x->index < y->index ? 1 : -1;
    return str_cmp(x->pod->name, y->pod->name);
}

static int cmp_by_index(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return cmp_victims(a, b);
}

typedef VEC(struct victim) victim_vec;

static void rank(const struct pods_work *p, victim_vec *ret, int (*cmp)(const void *, const void *))
{
    *ret = (victim_vec){0};
    vec_reserve(ret, p->active.len);
    for (size_t i = 0; i < p->active.len; i++)
        *vec_push(ret) = victim_of(p->clique, p->active.p[i]);
    vec_sort(ret, cmp);
}

static struct plan_write *remove_pod(struct pods_work *p, unsigned stage, const struct obj *pod)
{
    struct plan_write *w = plan_delete(p->clique->plan, stage, pod);
    w->component_uid = p->clique->pclq->uid;
    w->not_serving = !pod_is_ready(pod) || pod_is_finished(pod);
    if (p->removed++ == 0)
        p->first_removed = pod->name;
    return w;
}

/* A user's or an autoscaler's wish: nobody asks the ledger about it. */
static void remove_surplus(struct pods_work *p)
{
    struct clique_work *c = p->clique;
    victim_vec order;
    if (p->missing >= 0)
        return;
    rank(p, &order, cmp_victims);
    for (size_t i = 0; p->missing < 0 && i < order.len && !is_full(p); i++) {
        struct plan_write *w = remove_pod(p, STAGE_PODS, order.p[i].pod);
        w->user_scale_in = true;
        plan_why(w, c->plan, "%zu pods exist, %lld are wanted", p->active.len,
                 (long long)wanted(c));
        p->missing++;
    }
    vec_done(&order);
}

/* Whose budget a pod is taken from: of a group whole replicas count. */
static str component_of(const struct clique_work *c)
{
    jval owner = obj_controller_ref(c->pclq);
    bool member = str_is(jstr(jgetc(owner, "kind")), kind_pcsg.kind);
    return member ? jstr(jgetc(owner, "uid")) : c->pclq->uid;
}

static bool is_newest(const struct clique_work *c, const struct obj *pod)
{
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    return str_eq(hash, obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH))) ||
           (!str_is_empty(c->update.hash) && str_eq(hash, c->update.hash));
}

/* Pods that have no place in any gang: as many as are too much, as a user wishes; the others make
 * way for their successors, which the ledger may refuse. One of the newest template makes way for
 * nobody: a map that says so was written before that was known, and is about to change. While the
 * update is paused nothing that serves makes way. */
static void remove_misplaced(struct pods_work *p)
{
    struct clique_work *c = p->clique;
    victim_vec order;
    rank(p, &order, cmp_victims);
    struct obj **pods = arena_array(c->plan->arena, struct obj *, order.len + 1);
    struct obj **out = arena_array(c->plan->arena, struct obj *, order.len + 1);
    for (size_t i = 0; i < order.len; i++)
        pods[i] = (struct obj *)order.p[i].pod;
    size_t n = slots_match(c, pods, order.len, out);
    int64_t surplus = (int64_t)order.len - c->slots->total;
    for (size_t i = n; i > 0 && !is_full(p); i--) {
        bool serves_on = update_is_paused(c->pcs) && pod_is_ready(out[i - 1]);
        if (surplus <= 0 && (serves_on || is_newest(c, out[i - 1])))
            continue;
        struct plan_write *w = remove_pod(p, STAGE_PODS, out[i - 1]);
        w->component_uid = component_of(c);
        w->user_scale_in = surplus > 0;
        if (surplus-- > 0)
            plan_why(w, c->plan, "%zu pods exist, %lld are wanted", p->active.len,
                     (long long)c->slots->total);
        else
            plan_why(w, c->plan, "its gang is of another version now");
        if (w->not_serving && !w->user_scale_in)
            w->rv = out[i - 1]->rv; /* it may serve by now */
    }
    vec_done(&order);
}

/* Of each index the pod that serves best stays. */
static void remove_doubles(struct pods_work *p)
{
    victim_vec order;
    rank(p, &order, cmp_by_index);
    for (size_t i = 0; i + 1 < order.len && !is_full(p); i++) {
        if (order.p[i].index < 0 || order.p[i].index != order.p[i + 1].index)
            continue;
        struct plan_write *w = remove_pod(p, STAGE_PODS, order.p[i].pod);
        plan_why(w, p->clique->plan, "another pod has its index %lld", (long long)order.p[i].index);
    }
    vec_done(&order);
}

/* What waits to start for pods that are not wanted any more is made anew, and then waits for those
 * that are. */
static void remove_vain(struct pods_work *p)
{
    struct clique_work *c = p->clique;
    for (size_t i = 0; i < p->active.len && !is_full(p); i++) {
        const struct obj *pod = p->active.p[i];
        if (!startup_waits_in_vain(c->world, c->plan->arena, c->pcs, pod))
            continue;
        struct plan_write *w = remove_pod(p, STAGE_PODS, pod);
        w->rv = pod->rv; /* it may have started by now */
        plan_why(w, c->plan, "it waits to start for pods that are not wanted any more");
    }
}

/* ---- replace ---- */

/* By index; of one index the youngest first, which is the last of its row. */
static int cmp_finished(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    int64_t i = pod_index(x), j = pod_index(y);
    if (i != j)
        return i < j ? -1 : 1;
    usec s = obj_created(x), t = obj_created(y);
    return s != t ? (s > t ? -1 : 1) : str_cmp(x->name, y->name);
}

/* Its successor is made, or waited for; or nobody needs one. */
static void replace_finished(struct pods_work *p, const struct obj *pod)
{
    struct clique_work *c = p->clique;
    int64_t index = pod_index(pod), failures;
    if (index < 0 || p->missing <= 0 || slots_uses(&p->used, index)) {
        plan_why(remove_pod(p, STAGE_PODS, pod), c->plan, "it has finished");
        return;
    }
    usec left = pod_replace_at(c->world, pod, &failures) - world_steady(c->world);
    if (left > 0) {
        plan_look_again(c->plan, left);
        slots_add(&p->used, index);
        p->missing--;
        return;
    }
    make_pod(p, index, failures);
    plan_why(remove_pod(p, STAGE_FINISHED, pod), c->plan, "it has finished and is replaced");
}

/* ---- plan ---- */

static str and_more(const struct clique_work *c, size_t n)
{
    return n > 1 ? arena_printf(c->plan->arena, " and %zu more", n - 1) : STR_NONE;
}

/* One event for all of a plan: ten thousand pods are no reason for ten thousand events. */
static void report(const struct pods_work *p)
{
    struct clique_work *c = p->clique;
    if (p->made > 0)
        plan_event(c->plan, c->pclq, false, STR("PodCreateSuccessful"),
                   "created pod %.*s%.*s: %zu of %lld existed", STR_ARG(p->first_made),
                   STR_ARG(and_more(c, p->made)), p->active.len, (long long)wanted(c));
    if (p->removed > 0)
        plan_event(c->plan, c->pclq, false, STR("PodDeleteSuccessful"),
                   "deleted pod %.*s%.*s: %zu existed, %lld are wanted", STR_ARG(p->first_removed),
                   STR_ARG(and_more(c, p->removed)), p->active.len + p->finished.len,
                   (long long)wanted(c));
}

/* Where a map of gangs rules, whom pods wait for changes with it. */
static bool may_wait_in_vain(const struct clique_work *c)
{
    return startup_waits(c->pclq) && c->tally->ready < c->tally->active &&
           (c->slots || startup_is_short(c->world, c->plan->arena, c->pcs, c->pclq));
}

static bool has_work(const struct clique_work *c)
{
    if (c->slots)
        return c->slots->known;
    return c->tally->active != wanted(c) || c->tally->finished > 0 || tally_has_doubles(c->tally) ||
           may_wait_in_vain(c);
}

void pclq_plan_pods(struct clique_work *c)
{
    struct pods_work p = {.clique = c};
    if (!has_work(c))
        return;
    collect(&p);
    if (p.missing > 0)
        fills_read(&p.fills, jstr(jgetc(obj_status(c->pclq), "podsPerIndex")));
    vec_sort(&p.finished, cmp_finished);
    if (tally_has_doubles(c->tally)) {
        remove_doubles(&p);
    } else {
        if (c->slots)
            remove_misplaced(&p);
        for (size_t i = 0; i < p.finished.len && !is_full(&p); i++)
            replace_finished(&p, p.finished.p[i]);
        make_missing(&p);
        if (!c->slots)
            remove_surplus(&p);
        if (p.made + p.removed == 0 && may_wait_in_vain(c))
            remove_vain(&p);
    }
    report(&p);
    c->unsettled = p.made > 0 && p.removed == 0 && p.missing <= 0;
    vec_done(&p.active);
    vec_done(&p.finished);
    slots_done(&p.used);
    map_done(&p.planned);
    fills_done(&p.fills);
}
