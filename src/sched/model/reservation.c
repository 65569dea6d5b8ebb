/* Room kept; see reservation.h. Leases are few, so everything looks at all of them. */
#include "sched/model/reservation.h"

#include "base/hash.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sched/model/tell.h"

/* Cliques as numbers: 0 is none. */
uint64_t lease_clique(str label)
{
    return str_is_empty(label) ? 0 : hash_fnv1a64(label) | 1;
}

/* Others of its gang are on nodes, or on their way there. */
static bool has_company(const struct tpod *pod)
{
    list_foreach (it, &pod->gang->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p != pod && p->node != CORE_NONE && !p->obj->deleting)
            return true;
    }
    return false;
}

struct tlease lease_of(const struct tpod *p)
{
    bool held = !p->assumed || has_company(p);
    return (struct tlease){
        .gang = p->gang, .cls = p->cls, .node = held ? p->node : CORE_NONE, .pclq = p->pclq};
}

/* ---- who is to come ---- */

static bool is_to_come(const struct tpod *p)
{
    return p->node == CORE_NONE && !p->obj->deleting &&
           (p->waits || jlen(jgetc(obj_spec(p->obj), "schedulingGates")) > 0);
}

/* How many the group needs and does not have on nodes. */
static int64_t below_minimum(const struct tgang *g, uint64_t pclq, int64_t bound)
{
    struct arena a = ARENA_INIT;
    int64_t below = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(g->obj), "podgroups")); jnext(&it);) {
        if (lease_clique(name_label(&a, jstr(jgetc(it.value, "name")))) == pclq)
            below = jint(jgetc(it.value, "minReplicas"), 0) - bound;
    }
    arena_done(&a);
    return MAX(below, 0);
}

/* Pods of the clique that will look for room; of the whole gang when no clique is named. */
static int64_t count_to_come(const struct tgang *g, uint64_t pclq)
{
    int64_t bound = 0, come = 0;
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (pclq && p->pclq != pclq)
            continue;
        bound += p->node != CORE_NONE && !p->obj->deleting;
        come += is_to_come(p);
    }
    return !pclq ? come : MAX(come, below_minimum(g, pclq, bound));
}

static int64_t count_leases(const struct tables *t, const struct tgang *g, uint64_t pclq)
{
    int64_t n = 0;
    for (size_t i = 0; g->n_leases > 0 && i < t->leases.len; i++)
        n += t->leases.p[i].gang == g && t->leases.p[i].pclq == pclq;
    return n;
}

bool lease_is_for(const struct tgang *g)
{
    return !g->single && g->obj && g->keeps;
}

struct wish {
    const struct tgang *but;
    uint64_t pclq;
};

/* It has pods of the clique to come for whom no room is kept. */
static bool wants_room(const struct tables *t, const struct tgang *g, const void *ctx)
{
    const struct wish *w = ctx;
    return g != w->but && lease_is_for(g) &&
           count_to_come(g, w->pclq) > count_leases(t, g, w->pclq);
}

/* A coherent update makes pods of a clique anew in another gang of the set: the one that has some
 * to come for whom no room is kept, one that others wait for before the rest. NULL: none has. */
static struct tgang *next_gang(const struct tables *t, const struct tset *set,
                               const struct tgang *but, uint64_t pclq)
{
    return tables_find_open(t, set, pclq, wants_room, &(struct wish){but, pclq});
}

/* The gang that this one's room goes to: that in which the clique goes on; when that is not known
 * yet, any of the set holds it for the moment. */
static struct tgang *heir_of(const struct tables *t, const struct tset *set,
                             const struct tgang *but, uint64_t pclq)
{
    struct tgang *heir = next_gang(t, set, but, pclq);
    for (struct list *it = set ? set->gangs.next : NULL; !heir && it && it != &set->gangs;
         it = it->next) {
        struct tgang *g = list_entry(it, struct tgang, kin);
        heir = g != but && lease_is_for(g) ? g : NULL;
    }
    return heir;
}

/* The set of a pod whose gang is gone, by what the pod and gangs of the set say. */
static const struct tset *set_of(const struct tables *t, const struct tpod *p)
{
    struct arena a = ARENA_INIT;
    str name = obj_label(p->obj, STR(LABEL_PCS));
    const struct tset *set =
        str_is_empty(name) ? NULL
                           : map_get(&t->set_names, arena_cat(&a, p->obj->ns, STR("/"), name));
    arena_done(&a);
    return set;
}

/* ---- taking and giving ---- */

static void take(struct tables *t, struct tlease *l)
{
    core_take(t->core, l->cls, l->node, 1);
    t->n_open -= l->open;
    l->open = false;
}

/* It is somebody's: nothing has become free. */
static void give(struct tables *t, struct tlease *l)
{
    core_take(t->core, l->cls, l->node, -1);
    t->n_open += !l->open;
    l->open = true;
}

static void forget(struct tables *t, size_t i)
{
    struct tlease *l = &t->leases.p[i];
    t->n_open -= l->open;
    if (l->gang)
        l->gang->n_leases--;
    vec_remove(&t->leases, i);
}

/* Now it is anybody's. */
static void drop(struct tables *t, size_t i)
{
    if (!t->leases.p[i].open)
        give(t, &t->leases.p[i]);
    core_grow(t->core, t->leases.p[i].node);
    forget(t, i);
}

/* For whom the room of a pod that left is kept. */
static struct tgang *gang_after(const struct tables *t, const struct tpod *p, uint64_t pclq)
{
    struct tgang *g = p->gang;
    bool gone = !g->obj || g->obj->deleting;
    if (g->single || lease_is_for(g))
        return g->single ? NULL : g;
    return gone ? heir_of(t, set_of(t, p), g, pclq) : NULL;
}

bool lease_keep(struct tables *t, const struct tpod *p, const struct tlease *room)
{
    if (room->node == CORE_NONE || t->leases.len >= LEASES_MAX || !room->pclq ||
        !tables_serve(t, p->obj) || !t->snap.nodes.p[room->node].open)
        return false;
    struct tlease kept = *room;
    kept.gang = gang_after(t, p, room->pclq);
    if (!kept.gang)
        return false;
    lease_add(t, &kept);
    if (kept.gang != p->gang) /* it may have been refused for want of this */
        core_grow(t->core, kept.node);
    return true;
}

void lease_add(struct tables *t, const struct tlease *room)
{
    struct tlease *l = vec_push(&t->leases);
    *l = *room;
    l->gang->n_leases++;
    take(t, l);
}

/* Who has it now may have been refused for want of it. */
static void hand_over(struct tables *t, struct tlease *l, struct tgang *to)
{
    l->gang->n_leases--;
    to->n_leases++;
    l->gang = to;
    core_grow(t->core, l->node);
}

void lease_gang_gone(struct tables *t, struct tgang *g)
{
    struct tgang *heir = g->n_leases > 0 ? tables_find_heir(t, g) : NULL;
    for (size_t i = t->leases.len; g->n_leases > 0 && i-- > 0;) {
        struct tlease *l = &t->leases.p[i];
        if (l->gang != g)
            continue;
        struct tgang *to = heir ? heir : heir_of(t, g->set, g, l->pclq);
        if (!to) {
            drop(t, i);
            continue;
        }
        l->pclq = heir ? 0 : l->pclq;
        hand_over(t, l, to);
    }
}

void lease_node_lost(struct tables *t, int32_t node)
{
    for (size_t i = t->leases.len; i-- > 0;) {
        if (t->leases.p[i].node == node)
            drop(t, i);
    }
}

static bool would_fit(struct tables *t, struct tlease *l, struct tpod *p)
{
    if (!tables_judge(t, p))
        return false;
    give(t, l);
    bool fits = core_admits(t->core, p->cls, l->node);
    take(t, l);
    return fits;
}

/* It is the gang's own, and not held for another one of its set (see heir_of). */
static bool is_own(const struct tlease *l)
{
    struct arena a = ARENA_INIT;
    bool own = l->pclq == 0;
    for (struct jiter it = jiter(jgetc(obj_spec(l->gang->obj), "podgroups")); !own && jnext(&it);)
        own = lease_clique(name_label(&a, jstr(jgetc(it.value, "name")))) == l->pclq;
    arena_done(&a);
    return own;
}

/* Room whose clique needs it no more in its gang: the clique may go on in another one, and within
 * the gang a pod may have taken the place of another clique while its own was still to come. */
static bool pass_on(struct tables *t, struct tlease *l)
{
    struct tgang *next = l->pclq ? next_gang(t, l->gang->set, l->gang, l->pclq) : NULL;
    if (next)
        hand_over(t, l, next);
    bool own = is_own(l);
    for (struct list *it = l->gang->pods.next; own && !next && it != &l->gang->pods;
         it = it->next) {
        struct tpod *p = list_entry(it, struct tpod, link);
        uint64_t pclq = p->pclq;
        if (!p->waits || p->node != CORE_NONE || p->obj->deleting || !pclq ||
            count_to_come(l->gang, pclq) <= count_leases(t, l->gang, pclq) || !would_fit(t, l, p))
            continue;
        l->pclq = pclq;
        next = l->gang;
        core_grow(t->core, l->node);
    }
    return next != NULL;
}

/* Pods of the clique may go where the room is, now. */
static bool may_be_used(const struct tlease *l)
{
    list_foreach (it, &l->gang->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->waits && p->node == CORE_NONE && (!l->pclq || p->pclq == l->pclq))
            return true;
    }
    return false;
}

/* Who it is kept for may not come yet, since there are gangs that go first: one of them that has
 * use for it gets it. */
static void let_anchor_pass(struct tables *t, struct tlease *l)
{
    const struct tset *set = l->gang->set;
    if (!l->pclq || l->gang->anchor || !set || set->anchors == 0 || may_be_used(l))
        return;
    struct tgang *next = next_gang(t, l->gang->set, l->gang, l->pclq);
    if (next && next->anchor)
        hand_over(t, l, next);
}

usec lease_review(struct tables *t, usec now)
{
    usec next = 0;
    for (size_t i = t->leases.len; i-- > 0;) {
        struct tlease *l = &t->leases.p[i];
        if (l->until == 0)
            l->until = now + LEASE_TIME;
        usec grace = l->until - LEASE_TIME + LEASE_GRACE;
        let_anchor_pass(t, l);
        bool wanted = count_to_come(l->gang, l->pclq) >= count_leases(t, l->gang, l->pclq);
        wanted = wanted || pass_on(t, l);
        usec end = wanted ? l->until : grace;
        if (end <= now || !lease_is_for(l->gang))
            drop(t, i);
        else if (next == 0 || end < next)
            next = end;
    }
    return next;
}

/* ---- one gang's question ---- */

/* A pod of it is going and still has its place. */
static bool is_making_room(const struct tgang *g)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->obj->deleting && p->node != CORE_NONE)
            return true;
    }
    return false;
}

void lease_open(struct tables *t, const struct tgang *g)
{
    if (g->n_leases == 0 || is_making_room(g))
        return;
    for (size_t i = 0; i < t->leases.len; i++) {
        struct tlease *l = &t->leases.p[i];
        if (l->gang == g && !l->open && is_own(l))
            give(t, l);
    }
}

bool lease_open_below(struct tables *t, int64_t priority)
{
    bool any = false;
    for (size_t i = 0; i < t->leases.len; i++) {
        struct tlease *l = &t->leases.p[i];
        if (l->open || l->gang->priority >= priority)
            continue;
        give(t, l);
        any = true;
    }
    return any;
}

void lease_close(struct tables *t)
{
    for (size_t i = t->leases.len; t->n_open > 0 && i-- > 0;) {
        struct tlease *l = &t->leases.p[i];
        if (!l->open)
            continue;
        if (core_slots(t->core, l->cls, l->node) > 0)
            take(t, l);
        else
            drop(t, i);
    }
}

static bool scope_allows(const struct tables *t, int32_t tree, const struct core_scope *s,
                         int32_t node)
{
    if (s->req == 0)
        return true;
    int32_t d = core_domain_of(t->core, tree, node, s->req);
    return d != CORE_NONE && (s->pin == CORE_NONE || s->pin == d);
}

static void scope_pin(const struct tables *t, int32_t tree, struct core_scope *s, int32_t node)
{
    if (s->req > 0)
        s->pin = core_domain_of(t->core, tree, node, s->req);
}

static bool bundles_allow(const struct ask *q, const struct tables *t, int32_t bundle, int32_t node)
{
    bool all = true;
    for (int32_t b = bundle; b != CORE_NONE; b = q->inside[b])
        all = all && scope_allows(t, q->tree, &q->bundles[b], node);
    return all;
}

static bool may_go(struct ask *q, struct tables *t, const struct core_leaf *leaf, int32_t node)
{
    int32_t host = core_domain_of(t->core, q->tree, node, core_host_level(t->core, q->tree));
    return (q->core.within == 0 ||
            (host != CORE_NONE && core_contains(t->core, q->tree, q->core.within, host))) &&
           scope_allows(t, q->tree, &q->core.gang, node) &&
           scope_allows(t, q->tree, &leaf->scope, node) &&
           bundles_allow(q, t, leaf->bundle, node) && core_admits(t->core, leaf->cls, node);
}

/* Pods of one group may be of several classes, and then of several leaves. */
static void pin_leaf(struct ask *q, const struct tables *t, struct core_leaf *leaves, size_t leaf,
                     int32_t node)
{
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        if (q->leaf_group[i] == q->leaf_group[leaf])
            scope_pin(t, q->tree, &leaves[i].scope, node);
    }
    scope_pin(t, q->tree, &q->core.gang, node);
    for (int32_t b = leaves[leaf].bundle; b != CORE_NONE; b = q->inside[b])
        scope_pin(t, q->tree, &q->bundles[b], node);
}

static bool is_for(const struct tlease *l, const struct ask *q, size_t leaf)
{
    const struct ask_group *g = &q->groups[q->leaf_group[leaf]];
    return l->gang == q->gang && (!l->pclq || l->pclq == g->pods[0]->pclq);
}

void lease_fill(struct ask *q, struct tables *t, struct arena *a, struct lease_fill *ret)
{
    *ret = (struct lease_fill){.gang = q->core.gang};
    if (q->gang->n_leases == 0 || q->core.n_leaves == 0)
        return;
    struct core_leaf *leaves = arena_array(a, struct core_leaf, q->core.n_leaves);
    memcpy(leaves, q->core.leaves, q->core.n_leaves * sizeof(*leaves));
    ret->leaves = leaves;
    ret->bundles = arena_array(a, struct core_scope, q->core.n_bundles + 1);
    memcpy(ret->bundles, q->bundles, q->core.n_bundles * sizeof(*q->bundles));
    leaves = (struct core_leaf *)q->core.leaves; /* the ask's own, see ask_minimum */
    for (size_t i = 0; i < t->leases.len; i++) {
        struct tlease *l = &t->leases.p[i];
        for (size_t k = 0; k < q->core.n_leaves; k++) {
            if (leaves[k].need <= 0 || !is_for(l, q, k))
                continue;
            if (!l->open)
                give(t, l);
            if (!may_go(q, t, &leaves[k], l->node))
                continue;
            core_take(t->core, leaves[k].cls, l->node, 1);
            *vec_push(&ret->result.ops) = (struct core_op){(int32_t)k, leaves[k].cls, l->node, 1};
            leaves[k].need--;
            pin_leaf(q, t, leaves, k, l->node);
            break;
        }
    }
}

void lease_unfill(struct ask *q, struct tables *t, struct lease_fill *f)
{
    if (!f->leaves)
        return;
    core_undo(t->core, &f->result);
    vec_clear(&f->result.ops);
    memcpy((struct core_leaf *)q->core.leaves, f->leaves, q->core.n_leaves * sizeof(*f->leaves));
    memcpy(q->bundles, f->bundles, q->core.n_bundles * sizeof(*f->bundles));
    q->core.gang = f->gang;
}

void lease_settle(struct tables *t, const struct tgang *g, const struct core_op *ops, size_t n)
{
    for (size_t k = 0; g->n_leases > 0 && k < n; k++) {
        int32_t left = ops[k].count;
        for (size_t i = t->leases.len; left > 0 && i-- > 0;) {
            const struct tlease *l = &t->leases.p[i];
            if (l->gang != g || l->node != ops[k].node || !l->open)
                continue;
            forget(t, i);
            left--;
        }
    }
}
