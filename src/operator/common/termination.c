/* See termination.h. */
#include "operator/common/termination.h"

#include "grove/termination_backoff.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/kept.h"
#include "operator/common/rollup.h"

/* Clocks of servers differ a little: what is older than the deadline by less than this counts as
 * made after it. Half the delay when that is shorter. */
#define SKEW (5 * USEC_PER_SEC)

enum { STAGE_KEEP, STAGE_OTHERS, STAGE_BREACHED };
/* Gangs in a status; of more the first. */
enum { MAX_LISTED = 64 };

typedef VEC(struct obj *) obj_vec;

/* What gangs of one set have behind them. */
struct history {
    jval stored;
    usec delay;
};

static struct history history_of(const struct obj *pcs, struct arena *a)
{
    return (struct history){backoff_read(pcs, a), termination_delay(pcs)};
}

/* One child in breach. */
struct breach {
    int64_t index;
    usec deadline;
    int64_t before; /* answered in a row before it */
    bool counted;   /* it was answered, and that is counted */
    const struct obj *child;
};

/* Deadlines are moments of steady time. */
static struct breach judge_breach(const struct world *w, const struct history *h, str gang,
                                  const struct obj *child, int64_t index, usec wall)
{
    struct termination_record r = backoff_of(h->stored, gang);
    usec since = world_moment(w, wall);
    r.at = r.count ? world_moment(w, r.at) : r.at;
    int64_t before = backoff_before(r, since, h->delay);
    usec wait = backoff_wait(h->delay, before);
    usec deadline = wait == 0 ? MIN(since, world_steady(w)) : since + wait;
    return (struct breach){.index = index,
                           .deadline = deadline,
                           .before = before,
                           .counted = backoff_answers(r, since),
                           .child = child};
}

/* The deadlines of one replica: the latest that has passed, and what gave it. */
struct episode {
    int64_t index;
    usec due; /* 0: none has passed */
    int64_t before;
    bool counted;
    const struct obj *of;
    usec next; /* the earliest to come; 0: none */
};

typedef VEC(struct episode) episode_vec;

static void note_breach(struct episode *e, const struct breach *b, usec now)
{
    if (b->deadline > now) {
        e->next = e->next ? MIN(e->next, b->deadline) : b->deadline;
    } else if (b->deadline > e->due) {
        e->due = b->deadline;
        e->before = b->before;
        e->counted = b->counted;
        e->of = b->child;
    }
}

/* It was there before the deadline. */
static bool is_older(const struct world *w, const struct obj *pcs, const struct obj *o, usec due)
{
    return world_made(w, o) < due - MIN(SKEW, termination_delay(pcs) / 2);
}

/* "PodClique x has been below its minimum for more than 4h" */
static str reason_of(struct arena *a, const struct obj *pcs, const struct episode *e)
{
    struct strbuf delay = STRBUF_INIT(64);
    duration_format_usec(backoff_wait(termination_delay(pcs), e->before), &delay);
    str text = arena_printf(a, "%s %.*s has been below its minimum for more than %.*s",
                            e->of->kind->kind, STR_ARG(e->of->name), STR_ARG(strbuf_str(&delay)));
    strbuf_done(&delay);
    if (e->before > 0)
        text = arena_printf(a, "%.*s, after it was made anew %lld times in a row", STR_ARG(text),
                            (long long)e->before);
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
        bool breached = termination_breached_since(o) != 0;
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
                          const struct obj *owner, const struct history *h, struct arena *a,
                          breach_vec *ret)
{
    struct obj *o;
    const char *label = owner->kind == &kind_pcsg ? LABEL_PCSG_INDEX : LABEL_PCS_INDEX;
    for (struct cache_iter it = rollup_breached(w, k, owner->uid); (o = cache_next(&it));) {
        int64_t i = label_index(o, str_of(label));
        usec since = termination_breached_since(o);
        if (since > 0 && is_wanted(w, a, pcs, owner, i))
            *vec_push(ret) = judge_breach(w, h, backoff_gang(a, owner, i), o, i, since);
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
        note_breach(vec_last(ret), b, now);
    }
}

static void put_note(struct jw *w, const char *key, str text)
{
    jw_key(w, str_of(key));
    if (str_is_empty(text))
        jw_null(w);
    else
        jw_str(w, text);
}

/* What is to be known afterwards is written before anything goes, all of it in one write: several
 * of the same version would refuse each other. True: there is something to write. */
static bool plan_notes(const struct world *w, const struct obj *pcs, const struct history *h,
                       const obj_vec *going, const struct termination_now *now, size_t n,
                       unsigned stage, struct plan *p)
{
    struct jw patch;
    bool counts;
    usec next;
    str kept = STR_NONE;
    if (!going->len && str_is_empty(obj_annotation(pcs, STR(ANNOTATION_TERMINATIONS))))
        return false; /* as it mostly is */
    bool keeps = going->len && kept_text(pcs, going->p, going->len, p->arena, &kept);
    str text = backoff_text(w, pcs, h->stored, now, n, h->delay, p->arena, &counts, &next);
    if (!keeps && !counts) {
        if (next)
            plan_look_again(p, next - world_steady(w));
        return false;
    }
    jw_init(&patch);
    jw_object(&patch);
    jw_put_object(&patch, "metadata");
    jw_put_object(&patch, "annotations");
    if (keeps)
        put_note(&patch, ANNOTATION_KEPT, kept);
    if (counts)
        put_note(&patch, ANNOTATION_TERMINATIONS, text);
    jw_end(&patch);
    jw_end(&patch);
    jw_end(&patch);
    plan_why(plan_merge_patch(p, stage + STAGE_KEEP, pcs, STR_NONE, jw_doc(&patch), pcs->rv), p,
             n || keeps ? "what outlives the cliques that are made anew"
                        : "gangs that were made anew have been well since");
    return true;
}

typedef VEC(struct termination_now) now_vec;

static void count_episode(now_vec *now, const struct obj *owner, const struct episode *e)
{
    if (!e->counted)
        *vec_push(now) = (struct termination_now){owner, e->index, e->before + 1, e->due};
}

bool termination_plan_set(const struct world *w, const struct obj *pcs, unsigned stage,
                          struct plan *p)
{
    struct history h = history_of(pcs, p->arena);
    breach_vec breaches = {0};
    episode_vec all = {0};
    obj_vec going = {0};
    now_vec now = {0};
    find_breaches(w, &kind_pcsg, pcs, pcs, &h, p->arena, &breaches);
    find_breaches(w, &kind_pclq, pcs, pcs, &h, p->arena, &breaches);
    find_episodes(&breaches, world_steady(w), &all);
    for (size_t i = 0; i < all.len; i++) {
        size_t before = going.len;
        if (all.p[i].due)
            fire_set(w, pcs, &all.p[i], &going, stage, p);
        if (going.len > before)
            count_episode(&now, pcs, &all.p[i]);
        if (all.p[i].next)
            plan_look_again(p, all.p[i].next - world_steady(w));
    }
    bool noted = plan_notes(w, pcs, &h, &going, now.p, now.len, stage, p);
    vec_done(&now);
    vec_done(&going);
    vec_done(&all);
    vec_done(&breaches);
    return noted;
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
    struct history h = history_of(pcs, p->arena);
    breach_vec breaches = {0};
    episode_vec all = {0};
    obj_vec going = {0};
    now_vec now = {0};
    find_breaches(w, &kind_pclq, pcs, pcsg, &h, p->arena, &breaches);
    find_episodes(&breaches, world_steady(w), &all);
    for (size_t i = 0; i < all.len; i++) {
        size_t before = going.len;
        if (all.p[i].due)
            fire_group(w, pcs, pcsg, &all.p[i], &going, stage, p);
        if (going.len > before)
            count_episode(&now, pcsg, &all.p[i]);
        if (all.p[i].next)
            plan_look_again(p, all.p[i].next - world_steady(w));
    }
    if (going.len)
        (void)plan_notes(w, pcs, &h, &going, now.p, now.len, stage, p);
    vec_done(&now);
    vec_done(&going);
    vec_done(&all);
    vec_done(&breaches);
}

/* ---- status ---- */

/* When the breach of a gang, if it is in one, is answered; 0: it is not. */
static usec next_of(const struct world *w, const struct obj *pcs, const struct history *h,
                    jval entry, struct arena *a)
{
    str group = jstr(jgetc(entry, "group"));
    const struct obj *owner = str_is_empty(group) ? pcs : world_get(w, &kind_pcsg, pcs->ns, group);
    int64_t index = jint(jgetc(entry, owner == pcs ? "replica" : "copy"), -1);
    breach_vec breaches = {0};
    usec next = 0;
    if (!owner)
        return 0;
    if (owner == pcs)
        find_breaches(w, &kind_pcsg, pcs, owner, h, a, &breaches);
    find_breaches(w, &kind_pclq, pcs, owner, h, a, &breaches);
    for (size_t i = 0; i < breaches.len; i++) {
        const struct breach *b = &breaches.p[i];
        if (b->index == index && !b->counted)
            next = next ? MIN(next, b->deadline) : b->deadline;
    }
    vec_done(&breaches);
    return next;
}

void termination_write_status(const struct world *w, const struct obj *pcs, struct arena *a,
                              struct jw *j)
{
    struct history h = history_of(pcs, a);
    size_t listed = 0;
    if (jlen(h.stored) == 0 && jlen(jgetc(obj_status(pcs), "gangTerminations")) == 0)
        return;
    jw_put_array(j, "gangTerminations");
    for (struct jiter it = jiter(h.stored); jnext(&it) && listed < MAX_LISTED; listed++) {
        struct termination_record r = backoff_of(h.stored, it.key);
        usec next = next_of(w, pcs, &h, it.value, a);
        jw_object(j);
        jw_put_int(j, "count", r.count);
        jw_put_time(j, "lastTerminationTime", r.at);
        jw_put_str(j, "name", it.key);
        /* In the middle of its second, so that a clock that drifts does not make it another. */
        if (next)
            jw_put_time(j, "nextTerminationTime", world_shown(w, next) - USEC_PER_SEC / 2);
        jw_end(j);
    }
    jw_end(j);
}
