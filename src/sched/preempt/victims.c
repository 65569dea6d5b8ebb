/* See victims.h. */
#include "sched/preempt/victims.h"

#include "grove/types.h"
#include "sched/model/order.h"
#include "sched/model/tell.h"
#include "sched/quota/queue_quota.h"

/* ---- who is protected ---- */

/* When the pod began: its node says so, or whoever bound it. */
static usec pod_began(const struct world *w, const struct obj *pod)
{
    usec at;
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    if (time_parse_rfc3339(jstr(jgetc(obj_status(pod), "startTime")), &at))
        return world_moment_in(w, pod, at);
    if (str_is(jstr(jgetc(c, "status")), "True") &&
        time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &at))
        return world_moment_in(w, pod, at);
    return world_created(w, pod);
}

static usec gang_began(const struct world *w, const struct tgang *g)
{
    usec first = 0;
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        usec at = p->node == CORE_NONE ? 0 : pod_began(w, p->obj);
        if (at > 0 && (first == 0 || at < first))
            first = at;
    }
    return first;
}

/* Until when it is left in peace, since it was evicted already and runs again; 0: it was not. */
static usec peace_ends(const struct world *w, const struct tgang *g, usec began)
{
    usec over;
    jval c = condition_find(jgetc(obj_status(g->obj), "conditions"), STR("DisruptionTarget"));
    if (!str_is(jstr(jgetc(c, "status")), "False") ||
        !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &over))
        return 0;
    over = world_moment(w, over);
    return began < over ? 0 : over + EVICT_PAUSE;
}

static usec protected_until(const struct round *r, struct tgang *g)
{
    usec began = gang_began(r->world, g), least = quota_min_runtime(r->tables, g);
    return MAX(least > 0 ? began + least : 0, peace_ends(r->world, g, began));
}

bool victim_may_be_asked(const struct round *r, struct tgang *g, usec *until)
{
    if (g->single || !g->obj || g->obj->deleting || list_is_empty(&g->pods) ||
        !tables_serve(r->tables, list_entry(g->pods.next, struct tpod, link)->obj) ||
        victim_is_fixed(g))
        return false;
    usec end = protected_until(r, g);
    if (end <= round_now(r))
        return true;
    *until = *until == 0 ? end : MIN(*until, end);
    return false;
}

/* ---- what it costs ---- */

/* Of what is asked for by a name of its own, as accelerators are; the pod itself counts too. */
static int64_t weight_of(const struct tables *t, int32_t cls)
{
    int64_t sum = 0;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if (str_find(t->snap.resources[r], STR("/")) >= 0)
            sum += core_amount_of(t->core, cls, (int32_t)r);
    }
    return MAX(1, sum);
}

static void add_rival(const struct round *r, struct tgang *g, struct rivals *ret)
{
    struct rival x = {.gang = g, .gangs = 1};
    list_foreach (k, &g->pods) {
        const struct tpod *p = list_entry(k, struct tpod, link);
        if (p->node == CORE_NONE || p->obj->deleting)
            continue;
        *vec_push(&x.holds.ops) = (struct core_op){0, p->cls, p->node, 1};
        usec began = pod_began(r->world, p->obj);
        usec ran = round_now(r) > began ? round_now(r) - began : 0;
        x.work += (int64_t)(ran / USEC_PER_SEC) * weight_of(r->tables, p->cls);
    }
    x.pods = (int64_t)x.holds.ops.len;
    x.serves = g->obj && condition_is_true(jgetc(obj_status(g->obj), "conditions"), STR("Ready")) &&
               order_lead(r->tables, g) == g;
    *vec_push(&ret->list) = x;
}

/* Those that are nothing without a gang of the list are counted with it. */
static void add_families(const struct round *r, struct rivals *ret)
{
    struct map known = MAP_INIT;
    str key;
    void *value;
    for (size_t i = 0; i < ret->list.len; i++) {
        if (ret->list.p[i].gang->set)
            (void)map_put(&known, str_of(ret->list.p[i].gang->key), &ret->list.p[i]);
    }
    for (size_t it = 0; known.len > 0 && map_next(&r->tables->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        struct tgang *lead = g->n_bound == 0 || !g->set ? g : order_lead(r->tables, g);
        struct rival *x = lead == g ? NULL : map_get(&known, str_of(lead->key));
        if (!x)
            continue;
        x->gangs++;
        x->pods += (int64_t)g->n_bound;
        struct rival *own = map_get(&known, str_of(g->key));
        if (own)
            own->lead = lead;
    }
    map_done(&known);
}

static int cmp_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int cmp_rivals(const void *a, const void *b)
{
    const struct rival *x = a, *y = b;
    int c = cmp_numbers(x->serves, y->serves);
    c = c ? c : cmp_numbers(x->gangs, y->gangs);
    c = c ? c : cmp_numbers(x->gang->priority, y->gang->priority);
    c = c ? c : cmp_numbers(x->pods, y->pods);
    c = c ? c : cmp_numbers(x->work, y->work);
    return c ? c : -strcmp(x->gang->key, y->gang->key);
}

/* ---- who ---- */

static bool is_going(const struct round *r, const struct tgang *g)
{
    return gang_is_marked(g->obj) || g->marked == r->tables->rounds;
}

void victims_find(struct round *r, const struct ask *q, bool any, struct rivals *ret)
{
    str key;
    void *value;
    VEC(struct tgang *) claims = {0};
    bool may_claim = !any && quota_may_claim(r, q);
    int32_t queue = quota_of(r->tables, q->gang);
    for (size_t it = 0; map_next(&r->tables->gangs, &it, &key, &value);) {
        struct tgang *g = value;
        if (is_going(r, g) || g == q->gang || g->n_bound == 0)
            continue;
        bool same = quota_of(r->tables, g) == queue;
        bool lower = same && g->priority < q->gang->priority;
        if (any || (lower && victim_may_be_asked(r, g, &ret->until)))
            add_rival(r, g, ret);
        else if (!same && may_claim && victim_may_be_asked(r, g, &ret->until))
            *vec_push(&claims) = g;
    }
    if (claims.len > 0)
        quota_keep_claimable(r, q->gang, claims.p, &claims.len);
    for (size_t i = 0; i < claims.len; i++)
        add_rival(r, claims.p[i], ret);
    vec_done(&claims);
    if (!any)
        add_families(r, ret);
    vec_sort(&ret->list, cmp_rivals);
}

/* ---- for the core ---- */

struct core_victim *victims_list(const struct rivals *rs, struct arena *a)
{
    struct core_victim *list = arena_array(a, struct core_victim, rs->list.len + 1);
    struct map numbers = MAP_INIT;
    for (size_t i = 0; i < rs->list.len; i++)
        (void)map_put(&numbers, str_of(rs->list.p[i].gang->key), (void *)(i + 1));
    for (size_t i = 0; i < rs->list.len; i++) {
        const struct rival *x = &rs->list.p[i];
        list[i] = (struct core_victim){.priority = (int32_t)x->gang->priority,
                                       .pods = (int32_t)x->pods,
                                       .ops = x->holds.ops.p,
                                       .n_ops = x->holds.ops.len,
                                       .serves = x->serves,
                                       .gangs = (int32_t)x->gangs,
                                       .work = x->work};
        if (x->lead)
            list[i].after = (size_t)map_get(&numbers, str_of(x->lead->key));
    }
    map_done(&numbers);
    return list;
}

/* ---- what they can spare ---- */

static bool has_spare(const struct tgang *g)
{
    int64_t least = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(g->obj), "podgroups")); jnext(&it);)
        least += MAX(0, jint(jgetc(it.value, "minReplicas"), 0));
    return (int64_t)g->n_bound > least;
}

/* Not ready before ready, then the youngest. */
static int cmp_spare(const void *a, const void *b)
{
    const struct tpod *x = *(struct tpod *const *)a, *y = *(struct tpod *const *)b;
    bool rx = condition_is_true(jgetc(obj_status(x->obj), "conditions"), STR("Ready"));
    bool ry = condition_is_true(jgetc(obj_status(y->obj), "conditions"), STR("Ready"));
    if (rx != ry)
        return rx ? 1 : -1;
    if (obj_created(x->obj) != obj_created(y->obj))
        return obj_created(x->obj) > obj_created(y->obj) ? -1 : 1;
    return -strcmp(x->key, y->key);
}

/* Any pod of a group that has more than its minimum, as many as that is. */
static void add_spare(struct rivals *rs, size_t rival, struct ask_group *g, struct arena *a)
{
    struct tpod **pods = arena_array(a, struct tpod *, g->n_members + 1);
    size_t n = 0;
    for (size_t i = 0; i < g->n_members; i++) {
        if (g->members[i]->node != CORE_NONE && !g->members[i]->obj->deleting)
            pods[n++] = g->members[i];
    }
    if (g->bound <= g->min)
        return;
    qsort(pods, n, sizeof(*pods), cmp_spare);
    for (size_t i = 0; i < n; i++) {
        struct core_op op = {0, pods[i]->cls, pods[i]->node, 1};
        *vec_push(&rs->trims) = (struct core_trim){(int32_t)rival, (int32_t)rs->spare.len, op};
        *vec_push(&rs->trim_pods) = pods[i];
    }
    *vec_push(&rs->spare) = (int32_t)(g->bound - g->min);
}

void victims_find_spare(struct round *r, struct rivals *rs)
{
    for (size_t i = 0; i < rs->list.len; i++) {
        struct tgang *g = rs->list.p[i].gang;
        if (!has_spare(g) || g->trim_paused > round_now(r))
            continue;
        struct ask q;
        ask_read(&q, r->tables, g, r->plan->arena);
        for (size_t k = 0; k < q.n_groups; k++)
            add_spare(rs, i, &q.groups[k], r->plan->arena);
    }
}

void victims_done(struct rivals *rs)
{
    for (size_t i = 0; i < rs->list.len; i++)
        core_result_done(&rs->list.p[i].holds);
    vec_done(&rs->list);
    vec_done(&rs->trims);
    vec_done(&rs->trim_pods);
    vec_done(&rs->spare);
}
