/* See gangmap_world.h. */
#include "operator/common/gangmap_world.h"

#include "grove/pod.h"
#include "operator/common/gangmap_fold.h"
#include "operator/common/gangmap_units.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"

/* ---- reading ---- */

const struct obj *gangmap_obj(const struct world *w, const struct obj *pcs, int64_t replica)
{
    struct arena a = ARENA_INIT;
    const struct obj *o =
        world_get(w, &kind_pod_gang_map, pcs->ns, name_base_gang(&a, pcs->name, replica));
    arena_done(&a);
    return o && !o->deleting && str_eq(o->owner_uid, pcs->uid) ? o : NULL;
}

bool gangmap_rules(const struct world *w, const struct obj *pcs, int64_t replica)
{
    return update_strategy_of(pcs) == UPDATE_COHERENT || gangmap_obj(w, pcs, replica);
}

bool gangmap_rules_any(const struct world *w, const struct obj *pcs)
{
    struct cache_iter it = world_owned(w, &kind_pod_gang_map, pcs->uid);
    return update_strategy_of(pcs) == UPDATE_COHERENT || cache_next(&it);
}

static int64_t live_replicas(const struct gangmap_view *v, const struct kind *k, str name,
                             int64_t otherwise)
{
    const struct obj *o = world_get(v->world, k, v->pcs->ns, name);
    if (!o || o->deleting || !str_eq(o->owner_uid, v->pcs->uid))
        return otherwise;
    return MAX(jint(jgetc(obj_spec(o), "replicas"), otherwise), 0);
}

static void add_component(struct gangmap_view *v, jval config, struct gangmap_component c)
{
    int64_t otherwise = MAX(c.min_available, 1);
    c.max_unavailable = jint(jpath(config, "rollingUpdate.maxUnavailable"), otherwise);
    v->components[v->map.n_components++] = c;
}

void gangmap_view_init(struct gangmap_view *v, const struct world *w, struct arena *a,
                       const struct obj *pcs, int64_t replica)
{
    *v = (struct gangmap_view){.world = w, .arena = a, .pcs = pcs, .replica = replica};
    pcs_view(pcs, &v->set);
    v->base = name_base_gang(a, pcs->name, replica);
    size_t most = jlen(v->set.cliques) + jlen(v->set.scaling_groups);
    v->components = arena_array(a, struct gangmap_component, most + 1);
    for (struct jiter it = jiter(v->set.cliques); jnext(&it);) {
        struct clique_view c;
        struct group_view g;
        clique_view(it.value, &c);
        if (pcs_group_of(&v->set, c.name, &g))
            continue;
        str name = name_pclq(a, pcs->name, replica, c.name);
        add_component(
            v, it.value,
            (struct gangmap_component){.name = c.name,
                                       .replicas = live_replicas(v, &kind_pclq, name, c.replicas),
                                       .min_available = c.min_available});
    }
    for (struct jiter it = jiter(v->set.scaling_groups); jnext(&it);) {
        struct group_view g;
        group_view(it.value, &g);
        str name = name_pcsg(a, pcs->name, replica, g.name);
        add_component(
            v, it.value,
            (struct gangmap_component){.name = g.name,
                                       .is_group = true,
                                       .replicas = live_replicas(v, &kind_pcsg, name, g.replicas),
                                       .min_available = g.min_available});
    }
    gangmap_init(&v->map, a, v->base, v->map.n_components);
}

bool gangmap_view(struct gangmap_view *v, const struct world *w, struct arena *a,
                  const struct obj *pcs, int64_t replica)
{
    gangmap_view_init(v, w, a, pcs, replica);
    v->obj = gangmap_obj(w, pcs, replica);
    if (!v->obj)
        return false;
    v->map = *gangmap_parsed(w, v->obj, v->components, v->map.n_components);
    v->map.arena = a;
    return true;
}

void gangmap_own(struct gangmap_view *v)
{
    if (v->map.index)
        v->map = gangmap_copy(&v->map);
}

int64_t gangmap_component(const struct gangmap_view *v, str name)
{
    for (size_t i = 0; i < v->map.n_components; i++) {
        if (str_eq(v->components[i].name, name))
            return (int64_t)i;
    }
    return -1;
}

/* ---- versions ---- */

static bool same_clique(const struct obj *a, const struct obj *b, str clique)
{
    return revision_names(b, clique, revision_clique_hash(a, clique));
}

/* Does the revision call the component what the other one does? */
static bool same_component(const struct gangmap_view *v, const struct gangmap_component *c,
                           const struct obj *a, const struct obj *b)
{
    struct group_view g;
    if (!c->is_group)
        return same_clique(a, b, c->name);
    if (!pcs_find_group(&v->set, c->name, &g))
        return false;
    for (struct jiter it = jiter(g.clique_names); jnext(&it);) {
        if (!same_clique(a, b, jstr(it.value)))
            return false;
    }
    return true;
}

/* What one hash means for every component. */
struct verdict {
    str hash;
    bool *current;
};

static const struct verdict *judge(const struct gangmap_view *v, const struct obj *target, str hash,
                                   struct verdict *known, size_t *n, size_t max)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq(known[i].hash, hash))
            return &known[i];
    }
    struct verdict *d = &known[*n < max ? (*n)++ : max - 1];
    const struct obj *revision = revisions_by_hash(v->world, v->pcs, v->arena, hash);
    d->hash = hash;
    d->current = arena_array(v->arena, bool, v->map.n_components + 1);
    for (size_t c = 0; c < v->map.n_components; c++)
        d->current[c] = str_eq(hash, revision_generation_hash(target)) ||
                        (revision && same_component(v, &v->components[c], revision, target));
    return d;
}

static const struct obj *standalone_clique(const struct gangmap_view *v, size_t component)
{
    str name = name_pclq(v->arena, v->pcs->name, v->replica, v->components[component].name);
    return world_get(v->world, &kind_pclq, v->pcs->ns, name);
}

static bool stays(const struct gangmap_view *v, const struct obj *pod)
{
    return !pod->deleting && !pod_is_finished(pod) && !world_is_intended(v->world, pod->uid);
}

/* Some pod of the clique is of another template. */
static bool has_strays(const struct gangmap_view *v, const struct obj *pclq,
                       const struct obj *revision, str clique)
{
    const struct tally *t = tally_of(v->world, pclq->uid);
    return update_pods_named(t, revision, clique) < t->active + t->finished;
}

/* Parts that hold pods of another template than the revision's, of a standalone clique. */
static void mark_stray_pods(struct gangmap_view *v, size_t c, const struct obj *revision)
{
    const struct obj *pclq = standalone_clique(v, c);
    str clique = v->components[c].name;
    struct map parts = MAP_INIT;
    struct obj *pod;
    if (!pclq || !has_strays(v, pclq, revision, clique))
        return;
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_part *p = &v->map.entries[i].parts[c];
        if (p->n > 0 && p->current)
            (void)map_put(&parts, name_label(v->arena, v->map.entries[i].name), p);
    }
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq->uid);
    while (parts.len > 0 && (pod = cache_next(&it))) {
        struct gangmap_part *p = map_get(&parts, obj_label(pod, STR(LABEL_PODGANG)));
        if (p && stays(v, pod) &&
            !revision_names(revision, clique, obj_label(pod, STR(LABEL_TEMPLATE_HASH))))
            p->current = false;
    }
    map_done(&parts);
}

/* The same of a member: its pods that are in the gang of its entry. */
static bool member_strays(const struct gangmap_view *v, const struct obj *pclq,
                          const struct gangmap_entry *e, const struct obj *revision, str clique)
{
    struct obj *pod;
    str label = name_label(v->arena, e->name);
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq->uid);
    while ((pod = cache_next(&it))) {
        if (stays(v, pod) && str_eq(obj_label(pod, STR(LABEL_PODGANG)), label) &&
            !revision_names(revision, clique, obj_label(pod, STR(LABEL_TEMPLATE_HASH))))
            return true;
    }
    return false;
}

/* What the members of a group's replicas say of themselves. */
struct members {
    str pcsg;
    jval cliques; /* their names */
    const struct rollup *rollup;
    uint32_t n;
    uint64_t sum; /* of the templates that the revision names */
};

static bool members_init(struct members *x, const struct gangmap_view *v, size_t c,
                         const struct obj *revision)
{
    struct group_view g;
    if (!pcs_find_group(&v->set, v->components[c].name, &g))
        return false;
    *x = (struct members){.pcsg = name_pcsg(v->arena, v->pcs->name, v->replica, g.name),
                          .cliques = g.clique_names,
                          .n = (uint32_t)jlen(g.clique_names)};
    const struct obj *o = world_get(v->world, &kind_pcsg, v->pcs->ns, x->pcsg);
    x->rollup = rollup_of(v->world, &kind_pclq, o ? o->uid : STR_NONE);
    for (struct jiter it = jiter(x->cliques); jnext(&it);)
        x->sum += rollup_hash(revision_clique_hash(revision, jstr(it.value)));
    return true;
}

/* Of most replicas the numbers tell that all their pods are of the revision: nobody is looked up
 * for them. */
static bool members_are_current(const struct members *x, int64_t index)
{
    struct rollup_replica at = rollup_at(x->rollup, index);
    return at.children == x->n && at.revision == x->sum && at.updated == x->n;
}

static bool replica_strays(const struct gangmap_view *v, const struct members *x,
                           const struct gangmap_entry *e, int64_t index, const struct obj *revision)
{
    for (struct jiter it = jiter(x->cliques); jnext(&it);) {
        str clique = jstr(it.value);
        str name = name_member_pclq(v->arena, x->pcsg, index, clique);
        const struct obj *o = world_get(v->world, &kind_pclq, v->pcs->ns, name);
        if (o && has_strays(v, o, revision, clique) && member_strays(v, o, e, revision, clique))
            return true;
    }
    return false;
}

static void mark_stray_members(struct gangmap_view *v, size_t c, const struct obj *revision)
{
    struct members x;
    if (!members_init(&x, v, c, revision))
        return;
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_entry *e = &v->map.entries[i];
        struct gangmap_part *p = &e->parts[c];
        for (int64_t k = 0; p->current && k < p->n; k++)
            p->current = members_are_current(&x, p->indices[k]) ||
                         !replica_strays(v, &x, e, p->indices[k], revision);
    }
}

/* What an entry is called is what its pods were made of, unless another strategy changed them where
 * they were: then it is what its pods say, and the next coherent update moves all of the part. */
static void mark_strays(struct gangmap_view *v, const struct obj *revision)
{
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (v->components[c].is_group)
            mark_stray_members(v, c, revision);
        else
            mark_stray_pods(v, c, revision);
    }
}

void gangmap_mark_current(struct gangmap_view *v, const struct obj *revision)
{
    enum { MAX_KNOWN = 16 };
    struct verdict known[MAX_KNOWN];
    size_t n = 0;
    gangmap_own(v);
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_entry *e = &v->map.entries[i];
        const struct verdict *d = judge(v, revision, e->hash, known, &n, MAX_KNOWN);
        for (size_t c = 0; c < v->map.n_components; c++)
            e->parts[c].current = d->current[c];
    }
    mark_strays(v, revision);
}

/* Pods of the clique are in the gang, and all of those are of the revision. */
static bool clique_is_of(const struct gangmap_view *v, const struct obj *pclq, str label,
                         const struct obj *revision, str clique)
{
    struct obj *pod;
    bool any = false;
    if (!pclq || update_pods_named(tally_of(v->world, pclq->uid), revision, clique) == 0)
        return false;
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq->uid);
    while ((pod = cache_next(&it))) {
        if (!stays(v, pod) || !str_eq(obj_label(pod, STR(LABEL_PODGANG)), label))
            continue;
        if (!revision_names(revision, clique, obj_label(pod, STR(LABEL_TEMPLATE_HASH))))
            return false;
        any = true;
    }
    return any;
}

static bool members_are_of(const struct gangmap_view *v, const struct gangmap_entry *e, size_t c,
                           str label, const struct obj *revision)
{
    struct group_view g;
    const struct gangmap_part *p = &e->parts[c];
    str pcsg = name_pcsg(v->arena, v->pcs->name, v->replica, v->components[c].name);
    if (!pcs_find_group(&v->set, v->components[c].name, &g))
        return false;
    for (int64_t k = 0; k < p->n; k++) {
        for (struct jiter it = jiter(g.clique_names); jnext(&it);) {
            str name = name_member_pclq(v->arena, pcsg, p->indices[k], jstr(it.value));
            const struct obj *o = world_get(v->world, &kind_pclq, v->pcs->ns, name);
            if (!clique_is_of(v, o, label, revision, jstr(it.value)))
                return false;
        }
    }
    return true;
}

/* What members are when they are of one revision; neighbours in a map are mostly of the same. */
struct named {
    str hash;
    const struct obj *revision;
    struct members *members; /* by component; of groups */
};

static void read_named(const struct gangmap_view *v, struct named *n, str hash)
{
    n->hash = hash;
    n->revision = revisions_by_hash(v->world, v->pcs, v->arena, hash);
    n->members = arena_array(v->arena, struct members, v->map.n_components + 1);
    for (size_t c = 0; c < v->map.n_components && n->revision; c++) {
        if (v->components[c].is_group && !members_init(&n->members[c], v, c, n->revision))
            n->revision = NULL;
    }
}

/* The numbers tell that it holds copies of groups that are of the version it is named after. */
static bool is_as_named(const struct gangmap_view *v, const struct gangmap_entry *e,
                        struct named *n)
{
    if (!str_eq(n->hash, e->hash))
        read_named(v, n, e->hash);
    for (size_t c = 0; c < v->map.n_components && n->revision; c++) {
        const struct gangmap_part *p = &e->parts[c];
        for (int64_t k = 0; k < p->n; k++) {
            if (!p->indices || !members_are_current(&n->members[c], p->indices[k]))
                return false;
        }
    }
    return n->revision != NULL;
}

/* Every part of the entry has pods, and all of them are of the revision. */
static bool is_of(const struct gangmap_view *v, const struct gangmap_entry *e,
                  const struct obj *revision)
{
    str label = name_label(v->arena, e->name);
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (e->parts[c].n == 0)
            continue;
        bool is = v->components[c].is_group ? members_are_of(v, e, c, label, revision)
                                            : clique_is_of(v, standalone_clique(v, c), label,
                                                           revision, v->components[c].name);
        if (!is)
            return false;
    }
    return true;
}

/* Gangs of one entry are of one version: it is called otherwise when all of them are. They stand
 * next to each other. */
bool gangmap_rename_of(const struct gangmap_view *v, struct gangmap *m, const struct obj *revision)
{
    bool any = false;
    struct named n = {0};
    for (size_t i = 0, to; i < m->n; i = to) {
        bool all = true, all_current = true;
        for (to = i; to < m->n && m->entries[to].epoch == m->entries[i].epoch; to++) {
            bool current = gangmap_is_current(m, &m->entries[to]);
            all_current = all_current && current;
            all = all && (current || (!is_as_named(v, &m->entries[to], &n) &&
                                      is_of(v, &m->entries[to], revision)));
        }
        for (size_t k = i; all && !all_current && k < to; k++)
            m->entries[k].hash = revision_generation_hash(revision);
        any = any || (all && !all_current);
    }
    return any;
}

void gangmap_mark_content(struct gangmap_view *v, const struct obj *revision)
{
    gangmap_own(v);
    for (size_t i = 0; i < v->map.n; i++) {
        for (size_t c = 0; c < v->map.n_components; c++)
            v->map.entries[i].parts[c].current = true;
    }
    mark_strays(v, revision);
}

/* ---- who serves ---- */

int64_t gangmap_ready_pods(const struct gangmap_view *v, size_t component, str gang, str hash)
{
    const struct obj *pclq = standalone_clique(v, component);
    str label = name_label(v->arena, gang);
    int64_t n = 0;
    struct obj *pod;
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
    while (pclq && (pod = cache_next(&it)))
        n += !pod->deleting && !pod_is_finished(pod) && pod_is_ready(pod) &&
             !world_is_intended(v->world, pod->uid) &&
             str_eq(obj_label(pod, STR(LABEL_PODGANG)), label) &&
             (str_is_empty(hash) || str_eq(obj_label(pod, STR(LABEL_TEMPLATE_HASH)), hash));
    return n;
}

/* A group and what its members have. */
struct serving {
    const struct obj *pcsg;
    jval cliques; /* their names */
    const struct rollup *rollup;
    const struct gangmap_ready *ready;
};

static bool replica_serves(const struct gangmap_view *v, const struct serving *s, int64_t index)
{
    /* Most have all their pods. */
    if (rollup_at(s->rollup, index).children == jlen(s->cliques) &&
        gangmap_is_whole(s->ready, s->rollup, index))
        return true;
    for (struct jiter it = jiter(s->cliques); jnext(&it);) {
        str name = name_member_pclq(v->arena, s->pcsg->name, index, jstr(it.value));
        const struct obj *o = world_get(v->world, &kind_pclq, v->pcs->ns, name);
        if (!o || o->deleting || !str_eq(o->owner_uid, s->pcsg->uid) ||
            tally_of(v->world, o->uid)->ready < jint(jgetc(obj_spec(o), "minAvailable"), 1))
            return false;
    }
    return true;
}

static int64_t top_of(const struct gangmap *m, size_t component)
{
    int64_t top = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        for (int64_t k = 0; p->indices && k < p->n; k++)
            top = MAX(top, p->indices[k] + 1);
    }
    return top;
}

static void mark_group(struct gangmap_view *v, size_t c)
{
    struct group_view g;
    str pcsg = name_pcsg(v->arena, v->pcs->name, v->replica, v->components[c].name);
    if (!pcs_find_group(&v->set, v->components[c].name, &g))
        return;
    struct serving s = {.pcsg = world_get(v->world, &kind_pcsg, v->pcs->ns, pcsg),
                        .cliques = g.clique_names};
    if (s.pcsg) {
        s.rollup = rollup_of(v->world, &kind_pclq, s.pcsg->uid);
        s.ready = gangmap_ready_of(v->world, s.pcsg);
    }
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_part *p = &v->map.entries[i].parts[c];
        if (p->n > 0 && !p->index_state)
            p->index_state = arena_array(v->arena, unsigned char, p->n + 1);
        for (int64_t k = 0; k < p->n; k++) {
            bool serves = s.pcsg && replica_serves(v, &s, p->indices[k]);
            p->index_state[k] |= serves ? 0 : GANGMAP_DOWN;
            v->components[c].ready += serves;
        }
    }
}

/* Pods by gang in one pass. */
static void mark_clique(struct gangmap_view *v, size_t c)
{
    const struct obj *pclq = standalone_clique(v, c);
    struct obj *pod;
    struct map ready = MAP_INIT;
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_part *p = &v->map.entries[i].parts[c];
        p->pods_down = p->n;
        if (p->n > 0)
            (void)map_put(&ready, name_label(v->arena, v->map.entries[i].name), p);
    }
    while (pclq && (pod = cache_next(&it))) {
        if (pod->deleting || pod_is_finished(pod) || !pod_is_ready(pod) ||
            world_is_intended(v->world, pod->uid))
            continue;
        struct gangmap_part *p = map_get(&ready, obj_label(pod, STR(LABEL_PODGANG)));
        v->components[c].ready++;
        if (p)
            p->pods_down = MAX(p->pods_down - 1, 0);
    }
    map_done(&ready);
}

void gangmap_mark_down(struct gangmap_view *v)
{
    gangmap_own(v);
    for (size_t c = 0; c < v->map.n_components; c++) {
        v->components[c].ready = 0;
        if (v->components[c].is_group)
            mark_group(v, c);
        else
            mark_clique(v, c);
    }
}

/* ---- gangs ---- */

/* The set and the replica that a map belongs to. */
static const struct obj *map_owner(const struct world *w, const struct obj *o, int64_t *ret_replica)
{
    if (!o || o->deleting)
        return NULL;
    *ret_replica = jint(jgetc(obj_spec(o), "podCliqueSetReplicaIndex"), -1);
    return owner_pcs(w, o);
}

/* By what the gang itself says: its group may be gone and come back, and its map has it still. */
static const struct obj *labelled_owner(const struct world *w, str ns, str name,
                                        int64_t *ret_replica)
{
    const struct obj *gang = world_get(w, &kind_pod_gang, ns, name);
    const struct obj *pcs = gang ? owner_pcs(w, gang) : NULL;
    if (!pcs)
        return NULL;
    *ret_replica = label_index(gang, STR(LABEL_PCS_INDEX));
    return *ret_replica >= 0 && gangmap_obj(w, pcs, *ret_replica) ? pcs : NULL;
}

/* The set of a map that has a gang of this name. */
static const struct obj *owner_naming(const struct world *w, const struct obj *map, str gang,
                                      int64_t *ret_replica)
{
    struct arena a = ARENA_INIT;
    struct gangmap_view v;
    const struct obj *pcs = map_owner(w, map, ret_replica);
    bool has = pcs && gangmap_view(&v, w, &a, pcs, *ret_replica) && gangmap_find(&v.map, gang);
    arena_done(&a);
    return has ? pcs : NULL;
}

/* Names of gangs begin with that of their map, unless they were shortened. */
static const struct obj *mapped_owner(const struct world *w, str ns, str gang, int64_t *ret_replica)
{
    const struct obj *pcs = NULL;
    struct obj *o;
    for (size_t i = gang.len; i > 0 && !pcs; i--) {
        if (i == gang.len || gang.p[i] == '-')
            pcs = owner_naming(w, world_get(w, &kind_pod_gang_map, ns, str_sub(gang, 0, i)), gang,
                               ret_replica);
    }
    if (pcs || !name_may_be_shortened(gang))
        return pcs;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang_map), ns);
         !pcs && (o = cache_next(&it));)
        pcs = owner_naming(w, o, gang, ret_replica);
    return pcs;
}

/* The group that a gang from before its map is named after, which the map has no more. */
static const struct obj *group_naming(const struct world *w, str ns, str gang)
{
    ptrdiff_t dash = str_rfind_char(gang, '-');
    struct obj *found =
        dash > 0 ? world_get(w, &kind_pcsg, ns, str_sub(gang, 0, (size_t)dash)) : NULL;
    struct obj *o;
    if (found || !name_may_be_shortened(gang))
        return found;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pcsg), ns);
         !found && (o = cache_next(&it));)
        found = name_index(gang, o->name, STR_NONE) >= 0 ? o : NULL;
    return found;
}

static const struct obj *grouped_owner(const struct world *w, str ns, str gang,
                                       int64_t *ret_replica)
{
    const struct obj *pcsg = group_naming(w, ns, gang);
    const struct obj *pcs = pcsg ? owner_pcs(w, pcsg) : NULL;
    *ret_replica = pcsg ? label_index(pcsg, STR(LABEL_PCS_INDEX)) : -1;
    return pcs && gangmap_obj(w, pcs, *ret_replica) ? pcs : NULL;
}

/* The map that has it; what it says of itself; or what it is named after, a replica or a group. */
static const struct obj *gang_owner(const struct world *w, str ns, str name, int64_t *ret_replica)
{
    const struct obj *pcs = mapped_owner(w, ns, name, ret_replica);
    if (!pcs)
        pcs = labelled_owner(w, ns, name, ret_replica);
    if (!pcs)
        pcs = map_owner(w, world_get(w, &kind_pod_gang_map, ns, name), ret_replica);
    return pcs ? pcs : grouped_owner(w, ns, name, ret_replica);
}

bool gangmap_find_gang(struct gangmap_view *v, const struct world *w, struct arena *a, str ns,
                       str name, const struct gangmap_entry **ret_entry)
{
    int64_t replica;
    const struct obj *pcs = gang_owner(w, ns, name, &replica);
    if (!pcs || !gangmap_view(v, w, a, pcs, replica))
        return false;
    *ret_entry = gangmap_find(&v->map, name);
    return true;
}

/* ---- cliques ---- */

/* The place may have been fitted to another version before: hash and pod template go together. */
static void fit_version(const struct gangmap_view *v, struct clique_place *c,
                        const struct obj *revision)
{
    struct clique_view template;
    if (pcs_find_clique(&v->set, c->clique.name, &template)) {
        c->clique.labels = template.labels;
        c->clique.annotations = template.annotations;
        c->clique.pod_spec = template.pod_spec;
    }
    update_place(c, revision, revision == revisions_current(v->world, c->pcs, v->arena));
}

bool gangmap_fit_place(const struct world *w, struct arena *a, struct clique_place *c)
{
    if (!gangmap_rules(w, c->pcs, c->pcs_index))
        return true;
    bool member = c->owner->kind == &kind_pcsg;
    struct gangmap_view *v = arena_new(a, struct gangmap_view);
    bool there = gangmap_view(v, w, a, c->pcs, c->pcs_index);
    c->gangs = v;
    if (!member)
        return true;
    int64_t component = there ? gangmap_component(v, c->group.name) : -1;
    c->entry = component < 0 ? NULL : gangmap_of_index(&v->map, (size_t)component, c->group_index);
    if (!c->entry)
        return false;
    if (update_strategy_of(c->pcs) != UPDATE_COHERENT)
        return true;
    const struct obj *revision = revisions_by_hash(w, c->pcs, a, c->entry->hash);
    if (revision)
        fit_version(v, c, revision);
    return true;
}

/* The anchor in which an entry that has none of a component finds it: one of its own version if
 * there is one, else any. */
static const struct gangmap_entry *anchor_with(const struct gangmap_view *v, size_t component,
                                               str hash)
{
    const struct gangmap_entry *found = NULL;
    for (size_t i = 0; i < v->map.n; i++) {
        const struct gangmap_entry *e = &v->map.entries[i];
        if (e->anchor && !e->aside && e->parts[component].n > 0 &&
            (!found || (str_eq(e->hash, hash) && !str_eq(found->hash, hash))))
            found = e;
    }
    return found;
}

static int cmp_index(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The first so many replicas of a group that the map has. */
static struct gangmap_part first_of(const struct gangmap_view *v, size_t component, int64_t most)
{
    VEC(int32_t) all = {0};
    for (size_t i = 0; i < v->map.n; i++) {
        const struct gangmap_entry *e = &v->map.entries[i];
        for (int64_t k = 0; !e->aside && k < e->parts[component].n; k++)
            *vec_push(&all) = e->parts[component].indices[k];
    }
    vec_sort(&all, cmp_index);
    struct gangmap_part p = {.n = MIN((int64_t)all.len, most)};
    p.indices = arena_array(v->arena, int32_t, p.n + 1);
    for (int64_t i = 0; i < p.n; i++)
        p.indices[i] = all.p[i];
    vec_done(&all);
    return p;
}

/* Copies of a clique that start before those of an entry. Pods of a standalone clique are in many
 * gangs, and any count. */
static void add_parents(struct arena *a, const struct gangmap_view *v,
                        const struct gangmap_entry *e, const struct clique_place *c, str clique,
                        startup_names *ret)
{
    struct group_view g;
    struct clique_view there;
    if (!pcs_find_clique(&v->set, clique, &there))
        return;
    if (!pcs_group_of(&v->set, clique, &g)) {
        *vec_push(ret) = name_pclq(a, v->pcs->name, v->replica, clique);
        return;
    }
    int64_t k = gangmap_component(v, g.name);
    if (k < 0)
        return;
    if (e->parts[k].n == 0)
        e = anchor_with(v, (size_t)k, e->hash);
    struct gangmap_part p = e ? e->parts[k] : first_of(v, (size_t)k, g.min_available);
    str pcsg = name_pcsg(a, v->pcs->name, v->replica, g.name);
    bool own = e && !e->anchor && c->owner->kind == &kind_pcsg && str_eq(c->group.name, g.name);
    for (int64_t i = 0; i < p.n; i++) {
        if (!own || p.indices[i] == c->group_index)
            *vec_push(ret) = name_member_pclq(a, pcsg, p.indices[i], clique);
    }
}

void gangmap_parents(struct arena *a, const struct gangmap_view *v, const struct gangmap_entry *e,
                     const struct clique_place *c, startup_names *ret)
{
    *ret = (startup_names){0};
    if (str_ends(v->set.startup_type, STR("InOrder"))) {
        str before = STR_NONE;
        for (struct jiter it = jiter(v->set.cliques); jnext(&it);) {
            str name = jstr(jgetc(it.value, "name"));
            if (str_eq(name, c->clique.name) && !str_is_empty(before))
                add_parents(a, v, e, c, before, ret);
            before = name;
        }
    } else if (str_ends(v->set.startup_type, STR("Explicit"))) {
        for (struct jiter it = jiter(c->clique.starts_after); jnext(&it);)
            add_parents(a, v, e, c, jstr(it.value), ret);
    }
}

/* ---- scaling groups ---- */

static int64_t component_of_group(const struct gangmap_view *v, str pcsg)
{
    for (size_t i = 0; i < v->map.n_components; i++) {
        if (v->components[i].is_group &&
            str_eq(name_pcsg(v->arena, v->pcs->name, v->replica, v->components[i].name), pcsg))
            return (int64_t)i;
    }
    return -1;
}

const bool *gangmap_wanted(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pcsg, int64_t *ret_n)
{
    struct gangmap_view v;
    int64_t replica = label_index(pcsg, STR(LABEL_PCS_INDEX));
    *ret_n = 0;
    if (!gangmap_rules(w, pcs, replica))
        return NULL;
    int64_t c = gangmap_view(&v, w, a, pcs, replica) ? component_of_group(&v, pcsg->name) : -1;
    if (c < 0) {
        *ret_n = -1;
        return arena_array(a, bool, 1);
    }
    int64_t top = top_of(&v.map, (size_t)c);
    bool *wanted = arena_array(a, bool, top + 1);
    for (size_t i = 0; i < v.map.n; i++) {
        const struct gangmap_part *p = &v.map.entries[i].parts[c];
        for (int64_t k = 0; k < p->n; k++)
            wanted[p->indices[k]] = true;
    }
    *ret_n = top;
    return wanted;
}

bool gangmap_wants(const struct world *w, struct arena *a, const struct obj *pcs,
                   const struct obj *pcsg, int64_t index)
{
    struct gangmap_view v;
    int64_t replica = label_index(pcsg, STR(LABEL_PCS_INDEX));
    if (!gangmap_rules(w, pcs, replica))
        return index >= 0 && index < surge_total(pcsg);
    int64_t c = gangmap_view(&v, w, a, pcs, replica) ? component_of_group(&v, pcsg->name) : -1;
    return c < 0 || gangmap_of_index(&v.map, (size_t)c, index);
}

/* ---- status ---- */

static void write_share(struct jw *j, const struct gangmap_part *p, bool is_group)
{
    if (!is_group) {
        jw_int(j, p->n);
        return;
    }
    jw_array(j);
    for (int64_t k = 0; k < p->n; k++)
        jw_int(j, p->indices[k]);
    jw_end(j);
}

static bool same_share(jval old, const struct gangmap_part *p, bool is_group)
{
    if (!is_group)
        return jint(old, -1) == p->n;
    int64_t k = 0;
    for (struct jiter it = jiter(old); jnext(&it); k++) {
        if (k >= p->n || jint(it.value, -1) != p->indices[k])
            return false;
    }
    return k == p->n;
}

/* The shares as they were, walked in step with the map: what is in both stands in the same order,
 * unless somebody else wrote it. `passed` are those that were stepped over. */
struct shares {
    struct jiter it;
    bool at_end;
    struct map passed;
    struct arena *arena;
};

static bool next_share(struct shares *x)
{
    x->at_end = x->at_end || !jnext(&x->it);
    return !x->at_end;
}

static void pass_share(struct shares *x)
{
    jval *value = arena_new(x->arena, jval);
    *value = x->it.value;
    (void)map_put(&x->passed, x->it.key, value);
}

/* Each is found once. */
static jval take_share(struct shares *x, str gang)
{
    const jval *there = x->passed.len ? map_del(&x->passed, gang) : NULL;
    if (there)
        return *there;
    while (next_share(x)) {
        if (str_eq(x->it.key, gang))
            return x->it.value;
        pass_share(x);
    }
    return JVAL_ABSENT;
}

/* A merge patch: shares that are others than they were, and null for gangs that hold nothing of the
 * component any more. */
static void write_shares(struct jw *j, struct arena *a, const struct gangmap *m, size_t component,
                         bool is_group, jval old)
{
    struct shares x = {.it = jiter(old), .passed = MAP_INIT, .arena = a};
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        jval was = p->n ? take_share(&x, m->entries[i].name) : JVAL_ABSENT;
        if (p->n == 0 || (j_has(was) && same_share(was, p, is_group)))
            continue;
        jw_key(j, m->entries[i].name);
        write_share(j, p, is_group);
    }
    while (next_share(&x))
        pass_share(&x);
    for (struct jiter it = jiter(x.passed.len ? old : JVAL_ABSENT); jnext(&it);) {
        if (!map_has(&x.passed, it.key))
            continue;
        jw_key(j, it.key);
        jw_null(j);
    }
    map_done(&x.passed);
}

void gangmap_write_mapping(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *component, struct jw *j)
{
    struct gangmap_view v;
    jval old = jgetc(obj_status(component), "podGangMapping");
    int64_t c, replica = label_index(component, STR(LABEL_PCS_INDEX));
    bool is_group = component->kind == &kind_pcsg;
    /* A member is part of its group's. */
    if ((!is_group && !str_eq(component->owner_uid, pcs->uid)) || !gangmap_obj(w, pcs, replica) ||
        !gangmap_view(&v, w, a, pcs, replica))
        return;
    jval template = is_group ? JVAL_ABSENT : clique_template(a, pcs, replica, component->name);
    c = is_group ? component_of_group(&v, component->name)
                 : gangmap_component(&v, jstr(jgetc(template, "name")));
    if (c < 0 || v.components[c].is_group != is_group)
        return;
    jw_put_object(j, "podGangMapping");
    write_shares(j, a, &v.map, (size_t)c, is_group, old);
    jw_end(j);
}
