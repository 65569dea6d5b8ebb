/*
 * Gangs: who they are, whose, and whether they are to be looked at. A gang is ready, parked (looked
 * at in vain, with a certificate that says why), or neither: it has nothing to place.
 */
#include "sched/model/tables_impl.h"

#include "grove/names.h"
#include "grove/types.h"
#include "sched/model/holds.h"
#include "sched/model/queue_usage.h"
#include "sched/model/reservation.h"
#include "sched/model/tell.h"

/* ---- coming and going ---- */

struct tgang *gang_ensure(struct tables *t, str key)
{
    struct tgang *g = map_get(&t->gangs, key);
    if (g)
        return g;
    g = xcalloc(1, sizeof(*g) + key.len + 1);
    memcpy(g->key, key.p, key.len);
    list_init(&g->pods);
    list_init(&g->link);
    list_init(&g->kin);
    list_init(&g->lines);
    list_init(&g->trim);
    list_init(&g->stored);
    list_init(&g->doubt);
    g->queue = QUOTA_UNREAD;
    g->single = key.len > 0 && key.p[0] == '/';
    (void)map_put(&t->gangs, str_n(g->key, key.len), g);
    return g;
}

void gang_forget_if_empty(struct tables *t, struct tgang *g)
{
    if (g->obj || !list_is_empty(&g->pods))
        return;
    lease_gang_gone(t, g);
    hold_gang_gone(t, g);
    yield_claim_ends(t, g);
    yield_forget(t, g);
    (void)map_del(&t->gangs, str_of(g->key));
    list_remove(&g->link);
    list_remove(&g->trim);
    list_remove(&g->stored);
    list_remove(&g->doubt);
    free(g);
}

struct tgang *tables_gang(struct tables *t, str ns, str name)
{
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, ns, STR("/"), name_label(&a, name));
    struct tgang *g = map_get(&t->gangs, key);
    arena_done(&a);
    return g;
}

/* ---- kinship ---- */

static void set_name(struct tables *t, struct tset *set, const struct obj *gang)
{
    struct arena a = ARENA_INIT;
    str name = obj_label(gang, STR(LABEL_PCS));
    if (set->name || str_is_empty(name))
        return;
    set->name = xstrdup(arena_cat(&a, gang->ns, STR("/"), name).p);
    (void)map_del(&t->set_names, str_of(set->name));
    (void)map_put(&t->set_names, str_of(set->name), set);
    arena_done(&a);
}

static void set_free(struct tables *t, struct tset *set)
{
    if (set->name && map_get(&t->set_names, str_of(set->name)) == set)
        (void)map_del(&t->set_names, str_of(set->name));
    (void)map_del(&t->sets, str_of(set->uid));
    sparse_done(&set->hosts);
    free(set->name);
    free(set);
}

/* Its pods are on nodes, by whatever order they and it came to be known. */
static void set_count(struct tgang *g, int32_t by)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (g->set && p->node != CORE_NONE)
            sparse_add(&g->set->hosts, p->node, by);
    }
}

static void gang_leave_set(struct tables *t, struct tgang *g)
{
    struct tset *set = g->set;
    struct tgroup *group = g->group;
    cliques_leave(t, g);
    list_remove(&g->kin);
    set_count(g, -1);
    g->set = NULL;
    g->group = NULL;
    if (set) {
        set->anchors -= g->anchor;
        set->n_gangs--;
    }
    if (set && list_is_empty(&set->gangs))
        set_free(t, set);
    if (!group)
        return;
    group->total--;
    group->placed -= g->n_bound > 0;
    if (group->total == 0) {
        (void)map_del(&t->groups, str_of(group->key));
        free(group);
    }
}

static struct tset *set_ensure(struct tables *t, str uid)
{
    struct tset *set = map_get(&t->sets, uid);
    if (set)
        return set;
    set = xcalloc(1, sizeof(*set) + uid.len + 1);
    memcpy(set->uid, uid.p, uid.len);
    list_init(&set->gangs);
    sparse_init(&set->hosts, (int32_t)t->snap.nodes.len);
    (void)map_put(&t->sets, str_n(set->uid, uid.len), set);
    return set;
}

static struct tgroup *group_ensure(struct tables *t, str ns, str label)
{
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, ns, STR("/"), label);
    struct tgroup *group = map_get(&t->groups, key);
    if (!group) {
        group = xcalloc(1, sizeof(*group) + key.len + 1);
        memcpy(group->key, key.p, key.len);
        (void)map_put(&t->groups, str_n(group->key, key.len), group);
    }
    arena_done(&a);
    return group;
}

/* Its owner and its labels say whose it is; neither changes in the life of a gang. */
static void gang_join_set(struct tables *t, struct tgang *g)
{
    str label = obj_label(g->obj, STR(LABEL_PCSG)), name = g->obj->name;
    if (g->set || str_is_empty(g->obj->owner_uid))
        return;
    g->set = set_ensure(t, g->obj->owner_uid);
    list_push_back(&g->set->gangs, &g->kin);
    g->set->n_gangs++;
    g->set->anchors += g->anchor;
    set_count(g, 1);
    set_name(t, g->set, g->obj);
    ptrdiff_t dash = str_rfind_char(name, '-');
    if (dash < 0 || !str_to_int(str_sub(name, (size_t)dash + 1, name.len), &g->index))
        g->index = 0;
    if (str_is_empty(label))
        return;
    g->group = group_ensure(t, g->obj->ns, label);
    g->group->total++;
    g->group->placed += g->n_bound > 0;
}

/* ---- ready and parked ---- */

/* Look at it in the next round. */
static void gang_wake(struct tables *t, struct tgang *g)
{
    list_remove(&g->link);
    list_push_back(&t->ready, &g->link);
    g->parked = g->later = false;
    yield_claim_ends(t, g);
}

void tables_touch(struct tables *t, struct tgang *g)
{
    gang_wake(t, g);
    g->hopeless = 0;
}

void tables_park(struct tables *t, struct tgang *g, const struct core_cert *cert, int32_t tree)
{
    list_remove(&g->link);
    list_push_back(&t->parked, &g->link);
    g->parked = true;
    g->cert = *cert;
    g->cert_tree = tree;
    g->woken = cert->growth;
}

bool tables_wake(struct tables *t, size_t *budget)
{
    enum { GROWN_PER_UNIT = 16 };
    if (t->growth_seen == core_growth(t->core))
        return true;
    /* What grows meanwhile is looked at after this. */
    if (t->growth_seen >= t->wake_to)
        t->wake_to = core_growth(t->core);
    for (struct list *it = t->parked.next, *next; it != &t->parked; it = next) {
        struct tgang *g = list_entry(it, struct tgang, link);
        next = it->next;
        if (g->woken >= t->wake_to)
            continue;
        if (*budget == 0)
            return false;
        uint64_t grown = MIN(core_growth(t->core) - g->woken, core_grown(t->core));
        *budget -= MIN(*budget, 1 + (size_t)grown / GROWN_PER_UNIT);
        g->woken = core_growth(t->core);
        if (g->n_leases > 0 || !core_cert_holds(t->core, &g->cert, g->cert_tree))
            gang_wake(t, g);
    }
    t->growth_seen = t->wake_to;
    return true;
}

/* ---- folding gangs ---- */

/* Gangs without a class of their own are as important as their most important pod (order.c). */
static void gang_read_priority(struct tables *t, struct tgang *g)
{
    struct world w = {.runtime = t->sched->runtime};
    str name = jstr(jgetc(obj_spec(g->obj), "priorityClassName"));
    const struct obj *pc =
        str_is_empty(name) ? NULL : world_get(&w, &kind_priority_class, STR_NONE, name);
    g->priority = pc ? jint(jgetc(obj_root(pc), "value"), 0) : 0;
    g->spares_others = pc && str_is(jstr(jgetc(obj_root(pc), "preemptionPolicy")), "Never");
}

bool tables_next_spread(str *rest, str *ret_key, bool *ret_required)
{
    if (str_is_empty(*rest))
        return false;
    ptrdiff_t comma = str_find(*rest, STR(","));
    str entry = comma < 0 ? *rest : str_sub(*rest, 0, (size_t)comma);
    *rest = comma < 0 ? STR_NONE : str_sub(*rest, (size_t)comma + 1, rest->len - (size_t)comma - 1);
    ptrdiff_t equals = str_find(entry, STR("="));
    *ret_key = equals < 0 ? entry : str_sub(entry, 0, (size_t)equals);
    *ret_required = equals >= 0 && str_ends(entry, STR("=required"));
    return true;
}

static bool is_level_somewhere(const struct tables *t, str key)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        for (int l = 0; l < t->trees.p[i].n_levels; l++) {
            if (str_eq(t->trees.p[i].keys[l], key))
                return true;
        }
    }
    return false;
}

bool gang_spreads_anew(const struct tables *t, const struct obj *gang, str *ret_key)
{
    str rest = obj_annotation(gang, STR(ANNOTATION_SPREAD));
    bool required;
    while (tables_next_spread(&rest, ret_key, &required)) {
        if (!is_level_somewhere(t, *ret_key) && !str_is(*ret_key, "kubernetes.io/hostname"))
            return true;
    }
    return false;
}

void gang_set(struct tables *t, const struct obj *o)
{
    struct arena a = ARENA_INIT;
    struct tgang *g = gang_ensure(t, arena_cat(&a, o->ns, STR("/"), name_label(&a, o->name)));
    arena_done(&a);
    bool same = g->obj && g->obj->generation == o->generation && str_eq(g->obj->uid, o->uid) &&
                g->obj->deleting == o->deleting;
    obj_unref(g->obj);
    g->obj = obj_ref(o);
    g->created = obj_created(o);
    bool anchor = str_is(obj_label(o, STR(LABEL_ANCHOR)), "true");
    if (g->set)
        g->set->anchors += (size_t)anchor - (size_t)g->anchor;
    g->anchor = anchor;
    g->keeps = !o->deleting && !gang_is_marked(o);
    gang_join_set(t, g);
    gang_read_priority(t, g);
    if (!same)
        cliques_read(t, g);
    if (o->deleting) {
        if (g->set) {
            list_remove(&g->kin);
            list_push_back(&g->set->gangs, &g->kin);
        }
        lease_gang_gone(t, g);
    }
    str key;
    t->stale = t->stale || (t->trees.len < CORE_TREES_MAX / 2 && gang_spreads_anew(t, o, &key));
    list_remove(&g->trim);
    if (gang_is_marked(o))
        list_push_back(&t->trimmed, &g->trim);
    if (jlen(jgetc(obj_status(o), "reservations")) > 0 && list_is_empty(&g->stored))
        list_push_back(&t->stored, &g->stored);
    int32_t queue = g->queue;
    g->queue = QUOTA_UNREAD;
    t->stale = t->stale || (queue != QUOTA_UNREAD && quota_of(t, g) != queue);
    g->unsure = g->unsure || !same;
    if (!same)
        tables_touch(t, g);
}

void gang_on_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (!t)
        return;
    if (new) {
        gang_set(t, new);
        return;
    }
    struct tgang *g = tables_gang(t, old->ns, old->name);
    if (!g)
        return;
    g->keeps = false;
    lease_gang_gone(t, g);
    gang_leave_set(t, g);
    list_remove(&g->trim);
    list_remove(&g->stored);
    obj_unref(g->obj);
    g->obj = NULL;
    gang_forget_if_empty(t, g);
}
