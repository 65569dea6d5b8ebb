/* See termination.h. */
#include "operator/termination.h"

#include "operator/gangmap_world.h"
#include "operator/kept.h"
#include "operator/rollup.h"

/* Clocks of servers differ a little: what is older than the deadline by less than this counts as
 * made after it. Half the delay when that is shorter. */
#define SKEW (5 * USEC_PER_SEC)
#define DELAY_DEFAULT (4 * USEC_PER_HOUR)

enum { STAGE_KEEP, STAGE_OTHERS, STAGE_BREACHED };

typedef VEC(struct obj *) obj_vec;

static usec delay_of(const struct obj *pcs)
{
    usec delay;
    str text = jstr(jpath(obj_root(pcs), "spec.template.terminationDelay"));
    return duration_parse_usec(text, &delay) && delay >= 0 ? delay : DELAY_DEFAULT;
}

usec termination_deadline(const struct obj *pcs, const struct obj *child)
{
    jval c = condition_find(jgetc(obj_status(child), "conditions"), STR("MinAvailableBreached"));
    usec since;
    if (!str_is(jstr(jgetc(c, "status")), "True") ||
        !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &since))
        return 0;
    return since + delay_of(pcs);
}

/* The same as steady time. */
static usec deadline_of(const struct world *w, const struct obj *pcs, const struct obj *child)
{
    usec deadline = termination_deadline(pcs, child), delay = delay_of(pcs);
    if (deadline == 0)
        return 0;
    usec since = world_moment(w, deadline - delay);
    return delay == 0 ? MIN(since, world_steady(w)) : since + delay;
}

/* The deadlines of one replica: the latest that has passed, and what gave it. */
struct episode {
    int64_t index;
    usec due; /* 0: none has passed */
    const struct obj *of;
    usec next; /* the earliest to come; 0: none */
};

typedef VEC(struct episode) episode_vec;

static void note_breach(struct episode *e, usec at, const struct obj *child, usec now)
{
    if (at > now) {
        e->next = e->next ? MIN(e->next, at) : at;
    } else if (at > e->due) {
        e->due = at;
        e->of = child;
    }
}

/* It was there before the deadline. */
static bool is_older(const struct world *w, const struct obj *pcs, const struct obj *o, usec due)
{
    return world_made(w, o) < due - MIN(SKEW, delay_of(pcs) / 2);
}

/* "PodClique x has been below its minimum for more than 4h" */
static str reason_of(struct arena *a, const struct obj *pcs, const struct episode *e)
{
    struct strbuf delay = STRBUF_INIT(64);
    duration_format_usec(delay_of(pcs), &delay);
    str text = arena_printf(a, "%s %.*s has been below its minimum for more than %.*s",
                            e->of->kind->kind, STR_ARG(e->of->name), STR_ARG(strbuf_str(&delay)));
    strbuf_done(&delay);
    return text;
}

/* What is in breach goes last: should we be stopped on the way, the rest still has its reason. */
static void plan_deletes(const struct obj *pcs, const struct obj *component,
                         const struct episode *e, const obj_vec *cliques, unsigned stage,
                         struct plan *p)
{
    str why = reason_of(p->arena, pcs, e);
    for (size_t i = 0; i < cliques->len; i++) {
        struct obj *o = cliques->p[i];
        bool breached = termination_deadline(pcs, o) != 0;
        struct plan_write *w =
            plan_delete(p, stage + (breached ? STAGE_BREACHED : STAGE_OTHERS), o);
        w->component_uid = component->uid;
        w->not_serving = true;
        if (breached)
            w->rv = o->rv;
        plan_why(w, p, "%.*s", STR_ARG(why));
    }
}

static void collect(const struct world *w, const struct obj *pcs, str owner_uid, const char *label,
                    int64_t index, usec due, obj_vec *ret)
{
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pclq, owner_uid); (o = cache_next(&it));) {
        if (!o->deleting && label_index(o, str_of(label)) == index && is_older(w, pcs, o, due))
            *vec_push(ret) = o;
    }
}

static void add_all(obj_vec *to, const obj_vec *from)
{
    for (size_t i = 0; i < from->len; i++)
        *vec_push(to) = from->p[i];
}

/* ---- a replica of a set ---- */

static bool standalone_are_there(const struct world *w, const struct obj *pcs, int64_t i)
{
    struct pcs_view v;
    uint32_t want = 0;
    pcs_view(pcs, &v);
    for (struct jiter it = jiter(v.cliques); jnext(&it);) {
        struct group_view g;
        want += !pcs_group_of(&v, jstr(jgetc(it.value, "name")), &g);
    }
    return rollup_at(rollup_of(w, &kind_pclq, pcs->uid), i).children >= want;
}

/* What goes is added to going. */
static void fire_set(const struct world *w, const struct obj *pcs, const struct episode *e,
                     obj_vec *going, unsigned stage, struct plan *p)
{
    obj_vec cliques = {0};
    int64_t i = e->index;
    struct obj *group;
    /* A clique of its own that is missing is being made anew already. */
    if (!standalone_are_there(w, pcs, i))
        return;
    collect(w, pcs, pcs->uid, LABEL_PCS_INDEX, i, e->due, &cliques);
    for (struct cache_iter it = world_owned(w, &kind_pcsg, pcs->uid); (group = cache_next(&it));)
        collect(w, pcs, group->uid, LABEL_PCS_INDEX, i, e->due, &cliques);
    if (cliques.len > 0) {
        add_all(going, &cliques);
        plan_deletes(pcs, pcs, e, &cliques, stage, p);
        plan_event(p, pcs, false, STR("PodCliqueSetReplicaDeleteSuccessful"),
                   "replica %lld is made anew, %zu cliques: %.*s", (long long)i, cliques.len,
                   STR_ARG(reason_of(p->arena, pcs, e)));
    }
    vec_done(&cliques);
}

/* One child in breach. */
struct breach {
    int64_t index;
    usec deadline;
    const struct obj *child;
};

typedef VEC(struct breach) breach_vec;

static int cmp_breaches(const void *a, const void *b)
{
    const struct breach *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->deadline != y->deadline)
        return x->deadline < y->deadline ? -1 : 1;
    return str_cmp(x->child->name, y->child->name);
}

/* What is not wanted goes anyway. */
static bool is_wanted(const struct world *w, struct arena *a, const struct obj *pcs,
                      const struct obj *owner, int64_t i)
{
    if (owner->kind == &kind_pcsg)
        return gangmap_wants(w, a, pcs, owner, i);
    return i >= 0 && i < jint(jgetc(obj_spec(owner), "replicas"), 0);
}

static void find_breaches(const struct world *w, const struct kind *k, const struct obj *pcs,
                          const struct obj *owner, struct arena *a, breach_vec *ret)
{
    struct obj *o;
    const char *label = owner->kind == &kind_pcsg ? LABEL_PCSG_INDEX : LABEL_PCS_INDEX;
    for (struct cache_iter it = rollup_breached(w, k, owner->uid); (o = cache_next(&it));) {
        int64_t i = label_index(o, str_of(label));
        usec deadline = deadline_of(w, pcs, o);
        if (deadline > 0 && is_wanted(w, a, pcs, owner, i))
            *vec_push(ret) = (struct breach){i, deadline, o};
    }
}

/* By replica, in their order. */
static void find_episodes(breach_vec *breaches, usec now, episode_vec *ret)
{
    vec_sort(breaches, cmp_breaches);
    for (size_t i = 0; i < breaches->len; i++) {
        const struct breach *b = &breaches->p[i];
        if (ret->len == 0 || vec_last(ret)->index != b->index)
            *vec_push(ret) = (struct episode){.index = b->index};
        note_breach(vec_last(ret), b->deadline, b->child, now);
    }
}

bool termination_plan_set(const struct world *w, const struct obj *pcs, unsigned stage,
                          struct plan *p)
{
    breach_vec breaches = {0};
    episode_vec all = {0};
    obj_vec going = {0};
    find_breaches(w, &kind_pcsg, pcs, pcs, p->arena, &breaches);
    find_breaches(w, &kind_pclq, pcs, pcs, p->arena, &breaches);
    find_episodes(&breaches, world_steady(w), &all);
    for (size_t i = 0; i < all.len; i++) {
        if (all.p[i].due)
            fire_set(w, pcs, &all.p[i], &going, stage, p);
        if (all.p[i].next)
            plan_look_again(p, all.p[i].next - world_steady(w));
    }
    /* All of them in one write: several of the same version would refuse each other. */
    bool kept = going.len && kept_plan(pcs, going.p, going.len, stage + STAGE_KEEP, p);
    vec_done(&going);
    vec_done(&all);
    vec_done(&breaches);
    return kept;
}

/* ---- a replica of a group ---- */

static void fire_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                       const struct episode *e, obj_vec *going, unsigned stage, struct plan *p)
{
    obj_vec cliques = {0};
    collect(w, pcs, pcsg->uid, LABEL_PCSG_INDEX, e->index, e->due, &cliques);
    if (cliques.len > 0) {
        add_all(going, &cliques);
        plan_deletes(pcs, pcsg, e, &cliques, stage, p);
        plan_event(p, pcs, false, STR("PodCliqueScalingGroupReplicaDeleteSuccessful"),
                   "replica %lld of %.*s is made anew, %zu cliques: %.*s", (long long)e->index,
                   STR_ARG(pcsg->name), cliques.len, STR_ARG(reason_of(p->arena, pcs, e)));
    }
    vec_done(&cliques);
}

void termination_plan_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                            unsigned stage, struct plan *p)
{
    breach_vec breaches = {0};
    episode_vec all = {0};
    obj_vec going = {0};
    find_breaches(w, &kind_pclq, pcs, pcsg, p->arena, &breaches);
    find_episodes(&breaches, world_steady(w), &all);
    for (size_t i = 0; i < all.len; i++) {
        if (all.p[i].due)
            fire_group(w, pcs, pcsg, &all.p[i], &going, stage, p);
        if (all.p[i].next)
            plan_look_again(p, all.p[i].next - world_steady(w));
    }
    if (going.len)
        (void)kept_plan(pcs, going.p, going.len, stage + STAGE_KEEP, p);
    vec_done(&going);
    vec_done(&all);
    vec_done(&breaches);
}
