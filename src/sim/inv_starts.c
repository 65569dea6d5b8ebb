/*
 * A pod starts after those that its clique starts after. Judged once for each pod, when it is let
 * through: when it first says that it is initialized, or that it runs, whichever is first. At that
 * moment, or so shortly before that its node may have believed it, these must have had as many
 * ready pods as their minAvailable says, within its replica of the set:
 *
 *   parent alone                 its clique
 *   parent in the pod's group    the clique in the pod's own replica of the group
 *   parent in another group      the cliques of the replicas below that group's minAvailable;
 *                                where a map of gangs rules, of as many as are in the pod's gang
 *
 * for pods of base gangs and of scaled gangs alike. Who the parents are is read from the template
 * of the set: for InOrder the clique before, for Explicit those in startsAfter, for AnyOrder
 * nobody.
 *
 * What becomes of parents afterwards is not judged, nor that the pod's containers are started again
 * later. A parent is not judged of which fewer than its minAvailable were wanted at any time since
 * somebody may have made the pod; nobody waits for what is not to be.
 */
#include "base/vec.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

/* How many pods of a clique were ready from when on; the last one still is so. */
struct level {
    usec since;
    int64_t ready;
};

struct start_clique {
    VEC(struct level) levels;
    char key[]; /* "namespace/clique", as the label has it */
};

static bool is_ready(const struct obj *pod)
{
    return pod && !pod->deleting &&
           condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

static bool is_through(const struct obj *pod)
{
    jval status = obj_status(pod);
    return str_is(jstr(jgetc(status, "phase")), "Running") ||
           condition_is_true(jgetc(status, "conditions"), STR("Initialized"));
}

/* ---- who is ready ---- */

static str key_of(struct arena *a, str ns, str name)
{
    return arena_cat(a, ns, STR("/"), name);
}

static struct start_clique *clique_at(struct inv_starts *x, str key)
{
    struct start_clique *c = map_get(&x->cliques, key);
    if (c)
        return c;
    c = xcalloc(1, sizeof(*c) + key.len + 1);
    memcpy(c->key, key.p, key.len);
    (void)map_put(&x->cliques, str_n(c->key, key.len), c);
    return c;
}

/* What is too long ago for anybody to believe it goes. */
static void trim(struct start_clique *c, usec before)
{
    size_t old = 0;
    while (old + 1 < c->levels.len && c->levels.p[old + 1].since < before)
        old++;
    if (old == 0)
        return;
    memmove(c->levels.p, c->levels.p + old, (c->levels.len - old) * sizeof(*c->levels.p));
    c->levels.len -= old;
}

static void count(struct invariants *v, struct inv_starts *x, const struct obj *pod, int64_t by)
{
    struct arena a = ARENA_INIT;
    struct start_clique *c = clique_at(x, key_of(&a, pod->ns, obj_label(pod, STR(LABEL_PCLQ))));
    int64_t ready = c->levels.len ? vec_last(&c->levels)->ready : 0;
    trim(c, inv_wall(v) - inv_lag(v));
    *vec_push(&c->levels) = (struct level){inv_wall(v), ready + by};
    arena_done(&a);
}

/* It has so many, or somebody may believe so who has heard of some pods and not yet of others:
 * whoever was ready at any time since news may be under way counts. */
static bool has_enough(const struct invariants *v, const struct inv_starts *x, struct arena *a,
                       str ns, str pclq, int64_t need)
{
    const struct start_clique *c = map_get(&x->cliques, key_of(a, ns, name_label(a, pclq)));
    int64_t seen = 0;
    for (size_t i = c ? c->levels.len : 0; i-- > 0 && seen < need;) {
        const struct level *l = &c->levels.p[i];
        if (l->since < inv_wall(v) - inv_lag(v)) {
            seen += l->ready;
            break;
        }
        seen += MAX(0, l->ready - (i > 0 ? l[-1].ready : 0));
    }
    return seen >= need;
}

/* ---- what is wanted ---- */

static bool is_short(const struct obj *o)
{
    jval spec = obj_spec(o);
    return jint(jgetc(spec, "replicas"), 0) < jint(jgetc(spec, "minAvailable"), 1);
}

static str short_key(struct arena *a, const struct kind *k, str ns, str name)
{
    return arena_cat(a, str_of(k->kind), STR("/"), key_of(a, ns, name));
}

static void learn_wanted(struct invariants *v, struct inv_starts *x, const struct store_event *e)
{
    const struct obj *now = event_now(e);
    if (!(now && is_short(now)) && !(e->prev && is_short(e->prev)))
        return;
    struct arena a = ARENA_INIT;
    str key = short_key(&a, e->obj->kind, e->obj->ns, e->obj->name);
    int64_t before = counter_get(&x->shorts, key), at = MAX(inv_wall(v), 1);
    if (before != at)
        (void)counter_add(&x->shorts, key, at - before);
    arena_done(&a);
}

/* Fewer than its minimum were wanted, at some time since the pod may have been made. */
static bool was_short(const struct invariants *v, const struct inv_starts *x, struct arena *a,
                      const struct obj *pod, const struct kind *k, str name)
{
    const struct obj *o = store_get(inv_store(v), k, pod->ns, name);
    int64_t at = counter_get(&x->shorts, short_key(a, k, pod->ns, name));
    return (o && is_short(o)) || (at > 0 && at >= inv_made(v, pod) - inv_lag(v));
}

/* ---- judging ---- */

struct start {
    struct invariants *v;
    const struct inv_starts *starts;
    struct arena *arena;
    const struct obj *pod, *pclq, *pcs;
    const struct obj *pcsg; /* NULL: its clique stands alone */
    jval template;
    int64_t replica, index; /* of the set, and of its group */
};

static const struct obj *owner_of(const struct start *s, const struct obj *o, const struct kind *k)
{
    jval ref = obj_controller_ref(o);
    const struct obj *owner = str_is(jstr(jgetc(ref, "kind")), k->kind)
                                  ? store_get(inv_store(s->v), k, o->ns, jstr(jgetc(ref, "name")))
                                  : NULL;
    return owner && str_eq(owner->uid, o->owner_uid) && !owner->deleting ? owner : NULL;
}

/* False: whoever it belongs to is gone or going. */
static bool find_owners(struct start *s)
{
    s->pclq = owner_of(s, s->pod, &kind_pclq);
    s->pcsg = s->pclq ? owner_of(s, s->pclq, &kind_pcsg) : NULL;
    s->pcs = s->pclq ? owner_of(s, s->pcsg ? s->pcsg : s->pclq, &kind_pcs) : NULL;
    if (!s->pcs || !str_to_int(obj_label(s->pclq, STR(LABEL_PCS_INDEX)), &s->replica) ||
        (s->pcsg && !str_to_int(obj_label(s->pclq, STR(LABEL_PCSG_INDEX)), &s->index)))
        return false;
    s->template = jgetc(obj_spec(s->pcs), "template");
    return true;
}

static jval find_clique(const struct start *s, str name)
{
    for (struct jiter it = jiter(jgetc(s->template, "cliques")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* The group that has the clique; absent: it stands alone. */
static jval group_of(const struct start *s, str clique)
{
    for (struct jiter g = jiter(jgetc(s->template, "podCliqueScalingGroups")); jnext(&g);) {
        for (struct jiter c = jiter(jgetc(g.value, "cliqueNames")); jnext(&c);) {
            if (str_eq(jstr(c.value), clique))
                return g.value;
        }
    }
    return JVAL_ABSENT;
}

static bool is_up(const struct start *s, str pclq, int64_t need)
{
    return was_short(s->v, s->starts, s->arena, s->pod, &kind_pclq, pclq) ||
           has_enough(s->v, s->starts, s->arena, s->pod->ns, pclq, need);
}

static void fail(const struct start *s, str pclq, int64_t need)
{
    inv_fail(s->v, "starts", "pod %.*s/%.*s starts before %lld pods of %.*s are ready",
             STR_ARG(s->pod->ns), STR_ARG(s->pod->name), (long long)need, STR_ARG(pclq));
}

/* Where a map rules, the replicas in the pod's own gang stand for those of the minimum; where it
 * has none of them, those of an anchor do, of which there is one at least. */
static void judge_mapped(const struct start *s, str pcsg, str clique, int64_t min, int64_t need)
{
    struct obj *o;
    int64_t n = 0, together = 0, index;
    str gang = obj_label(s->pod, STR(LABEL_PODGANG));
    struct store_iter it = store_range(inv_store(s->v), &kind_pclq, s->pod->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (!str_to_int(obj_label(o, STR(LABEL_PCSG_INDEX)), &index) ||
            !str_eq(o->name, name_member_pclq(s->arena, pcsg, index, clique)))
            continue;
        n += is_up(s, o->name, need);
        together += str_eq(obj_label(o, STR(LABEL_PODGANG)), gang);
    }
    if (n < MIN(min, MAX(together, 1)))
        fail(s, arena_cat(s->arena, pcsg, STR("-*-"), clique), need);
}

static void judge_group(const struct start *s, jval group, str clique, int64_t need)
{
    str pcsg = name_pcsg(s->arena, s->pcs->name, s->replica, jstr(jgetc(group, "name")));
    int64_t min = jint(jgetc(group, "minAvailable"), 1);
    str map = name_base_gang(s->arena, s->pcs->name, s->replica);
    if (was_short(s->v, s->starts, s->arena, s->pod, &kind_pcsg, pcsg))
        return;
    if (store_get(inv_store(s->v), &kind_pod_gang_map, s->pod->ns, map)) {
        judge_mapped(s, pcsg, clique, min, need);
        return;
    }
    for (int64_t i = 0; i < min; i++) {
        str pclq = name_member_pclq(s->arena, pcsg, i, clique);
        if (!is_up(s, pclq, need))
            fail(s, pclq, need);
    }
}

static void judge_parent(const struct start *s, jval own_group, str parent)
{
    jval group = group_of(s, parent), spec = jgetc(find_clique(s, parent), "spec");
    int64_t need = jint(jgetc(spec, "minAvailable"), jint(jgetc(spec, "replicas"), 1));
    bool own = s->pcsg && str_eq(jstr(jgetc(group, "name")), jstr(jgetc(own_group, "name")));
    if (j_has(group) && !own) {
        judge_group(s, group, parent, need);
        return;
    }
    str pclq = own ? name_member_pclq(s->arena, s->pcsg->name, s->index, parent)
                   : name_pclq(s->arena, s->pcs->name, s->replica, parent);
    if (!is_up(s, pclq, need))
        fail(s, pclq, need);
}

static void judge_clique(const struct start *s, jval clique, str before)
{
    str type = jstr(jgetc(s->template, "cliqueStartupType"));
    jval group = group_of(s, jstr(jgetc(clique, "name")));
    if (str_is(type, "CliqueStartupTypeInOrder") && !str_is_empty(before))
        judge_parent(s, group, before);
    if (!str_is(type, "CliqueStartupTypeExplicit"))
        return;
    for (struct jiter it = jiter(jpath(clique, "spec.startsAfter")); jnext(&it);)
        judge_parent(s, group, jstr(it.value));
}

static void judge(struct invariants *v, const struct inv_starts *x, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    struct start s = {.v = v, .starts = x, .arena = &a, .pod = pod};
    str before = STR_NONE;
    struct jiter it = jiter(find_owners(&s) ? jgetc(s.template, "cliques") : JVAL_ABSENT);
    while (jnext(&it)) {
        str name = jstr(jgetc(it.value, "name"));
        str pclq = s.pcsg ? name_member_pclq(&a, s.pcsg->name, s.index, name)
                          : name_pclq(&a, s.pcs->name, s.replica, name);
        if (str_eq(pclq, s.pclq->name))
            judge_clique(&s, it.value, before);
        before = name;
    }
    arena_done(&a);
}

void starts_event(struct invariants *v, struct inv_starts *x, const struct store_event *e)
{
    const struct obj *pod = event_now(e);
    if (e->obj->kind == &kind_pclq || e->obj->kind == &kind_pcsg)
        learn_wanted(v, x, e);
    if (e->obj->kind != &kind_pod)
        return;
    if (is_ready(e->prev))
        count(v, x, e->prev, -1);
    if (is_ready(pod))
        count(v, x, pod, 1);
    bool known = counter_get(&x->through, e->obj->uid) > 0;
    if (!pod && known)
        (void)counter_add(&x->through, e->obj->uid, -1);
    if (!pod || known || !is_through(pod))
        return;
    (void)counter_add(&x->through, pod->uid, 1);
    if (!pod->deleting)
        judge(v, x, pod);
}

void starts_done(struct inv_starts *x)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&x->cliques, &it, &key, &value);) {
        struct start_clique *c = value;
        vec_done(&c->levels);
        free(c);
    }
    map_done(&x->cliques);
    counters_done(&x->through);
    counters_done(&x->shorts);
}
