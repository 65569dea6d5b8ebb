/* See gangmap_watch.h. Maps name keys; what to do about them is the planners' business. */
#include "operator/update/gangmap_watch.h"

#include "base/map.h"
#include "client/slots.h"
#include "grove/going.h"
#include "grove/pod.h"
#include "operator/common/gangmap_units.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/surge.h"
#include "operator/common/update.h"

/* A map that is older is one that a new process found: every gang is looked at then. */
#define FRESH USEC_PER_MIN

static const struct obj *either(const struct obj *old, const struct obj *new)
{
    return new ? new : old;
}

/* ---- to maps ---- */

static void enqueue_map(struct controller *c, const struct obj *pcs, int64_t replica)
{
    struct arena a = ARENA_INIT;
    controller_enqueue(c, &kind_pod_gang_map, pcs->ns, name_base_gang(&a, pcs->name, replica));
    arena_done(&a);
}

/* Those that are to come, and those that are there. */
static void enqueue_all(struct controller *c, const struct world *w, const struct obj *pcs)
{
    struct obj *o;
    bool coherent = update_strategy_of(pcs) == UPDATE_COHERENT;
    int64_t replicas = jint(jgetc(obj_spec(pcs), "replicas"), 0);
    for (int64_t i = 0; coherent && i < replicas; i++)
        enqueue_map(c, pcs, i);
    for (struct cache_iter it = world_owned(w, &kind_pod_gang_map, pcs->uid);
         (o = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang_map, o->ns, o->name);
}

static void enqueue_at_work(struct controller *c, const struct obj *pcs)
{
    jval list = jpath(obj_root(pcs), "status.updateProgress.currentlyUpdating");
    for (struct jiter it = jiter(list); jnext(&it);)
        enqueue_map(c, pcs, jint(jgetc(it.value, "replicaIndex"), 0));
}

/* Of a status it matters which replicas are at work. */
void gangmap_from_set(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    if (!new || !gangmap_rules_any(w, new))
        return;
    if (!old || old->generation != new->generation || old->deleting != new->deleting ||
        !jequal(old->annotations, new->annotations) ||
        update_is_running(old) != update_is_running(new)) {
        enqueue_all(c, w, new);
        return;
    }
    if (!jequal(jgetc(obj_status(old), "updateProgress"),
                jgetc(obj_status(new), "updateProgress"))) {
        enqueue_at_work(c, old);
        enqueue_at_work(c, new);
    }
}

void gangmap_from_revision(struct controller *c, const struct world *w, const struct obj *old,
                           const struct obj *new)
{
    const struct obj *pcs = new && !old ? owner_pcs(w, new) : NULL;
    if (pcs)
        enqueue_all(c, w, pcs);
}

/* A set's own cliques and groups, when they come, go, are scaled, or surge. */
void gangmap_from_component(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    const struct obj *o = either(old, new);
    bool same = old && new && old->generation == new->generation && old->deleting == new->deleting;
    if (same && surge_held(old) == surge_held(new))
        return;
    if (!o || !str_is(jstr(jgetc(obj_controller_ref(o), "kind")), kind_pcs.kind))
        return;
    const struct obj *pcs = owner_pcs(w, o);
    int64_t replica = label_index(o, STR(LABEL_PCS_INDEX));
    if (pcs && replica >= 0 && gangmap_rules(w, pcs, replica))
        enqueue_map(c, pcs, replica);
}

static void enqueue_if_at_work(struct controller *c, const struct world *w, const struct obj *o)
{
    const struct obj *pcs = owner_pcs(w, o);
    int64_t replica = label_index(o, STR(LABEL_PCS_INDEX));
    if (pcs && replica >= 0 && update_strategy_of(pcs) == UPDATE_COHERENT &&
        update_holds(pcs, replica))
        enqueue_map(c, pcs, replica);
}

static bool is_ready_gang(const struct obj *gang)
{
    return gang && condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Ready"));
}

void gangmap_from_gang(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    if (is_ready_gang(old) != is_ready_gang(new))
        enqueue_if_at_work(c, w, either(old, new));
}

/* A pod that is going may have outlived its clique: the one that has its name now tells the set. */
static void enqueue_going(struct controller *c, const struct world *w, const struct obj *pod)
{
    str name = jstr(jgetc(obj_controller_ref(pod), "name"));
    const struct obj *pclq = world_get(w, &kind_pclq, pod->ns, name);
    const struct obj *pcs = labelled_obj(w, &kind_pcs, pod->ns, obj_label(pod, STR(LABEL_PCS)));
    if (pclq)
        enqueue_if_at_work(c, w, pclq);
    else if (pcs && label_index(pod, STR(LABEL_PCS_INDEX)) >= 0)
        enqueue_map(c, pcs, label_index(pod, STR(LABEL_PCS_INDEX)));
}

/* Under another strategy the map names its gangs by the pods that are in them. */
static void enqueue_if_renamed(struct controller *c, const struct world *w, const struct obj *pod)
{
    const struct obj *pcs = owner_pcs(w, pod);
    int64_t replica = label_index(pod, STR(LABEL_PCS_INDEX));
    if (pcs && replica >= 0 && update_strategy_of(pcs) != UPDATE_COHERENT &&
        gangmap_rules(w, pcs, replica))
        enqueue_map(c, pcs, replica);
}

void gangmap_from_pod(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    if (!old || !new)
        enqueue_if_renamed(c, w, either(old, new));
    bool was = old && !old->deleting && pod_is_ready(old);
    bool is = new && !new->deleting &&pod_is_ready(new);
    if (was != is)
        enqueue_if_at_work(c, w, either(old, new));
    else if (going_cares(old, new))
        enqueue_going(c, w, either(old, new));
}

void gangmap_from_node(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    going_from_node(c, w, old, new, enqueue_going);
}

/* ---- from maps ---- */

/* One of the two may be absent. */
typedef void entry_fn(void *ctx, jval was, jval is);

static struct jiter entries_of(const struct obj *o)
{
    return jiter(o ? jgetc(obj_spec(o), "entries") : JVAL_ABSENT);
}

/* The entries of the old version, walked in step with the new one: what is in both stands in the
 * same order, unless somebody else wrote it. `passed` are those that were stepped over. */
struct before {
    struct jiter it;
    bool at_end;
    struct map passed;
    struct arena arena;
};

static str key_of(jval entry)
{
    jval epoch = jgetc(entry, "epoch");
    return jstr(j_has(epoch) ? epoch : jgetc(entry, "name")); /* version 0.1.0 */
}

/* Each is found once. */
static bool find_before(struct before *x, str name, jval *ret)
{
    const jval *there = x->passed.len ? map_del(&x->passed, name) : NULL;
    if (there)
        *ret = *there;
    while (!there && !x->at_end && jnext(&x->it)) {
        str other = key_of(x->it.value);
        *ret = x->it.value;
        if (str_eq(other, name))
            return true;
        jval *copy = arena_new(&x->arena, jval);
        *copy = x->it.value;
        (void)map_put(&x->passed, other, copy);
    }
    x->at_end = x->at_end || !there;
    return there != NULL;
}

/* Entries of either version that the other one has not just so. */
static void each_changed(const struct obj *old, const struct obj *new, entry_fn *fn, void *ctx)
{
    struct before x = {.it = entries_of(old)};
    jval was;
    str name;
    void *value;
    for (struct jiter it = entries_of(new); jnext(&it);) {
        bool there = find_before(&x, key_of(it.value), &was);
        if (!there || !jequal(was, it.value))
            fn(ctx, there ? was : JVAL_ABSENT, it.value);
    }
    for (size_t it = 0; map_next(&x.passed, &it, &name, &value);)
        fn(ctx, *(const jval *)value, JVAL_ABSENT);
    while (!x.at_end && jnext(&x.it))
        fn(ctx, x.it.value, JVAL_ABSENT);
    map_done(&x.passed);
    arena_done(&x.arena);
}

struct changed {
    struct controller *controller;
    const struct world *world;
    const struct obj *pcs;
    const struct obj *map;
    int64_t replica;
    struct pcs_view set;
    struct arena arena; /* of the gangs' names */
    struct gang_names names;
    struct gang_entry entry; /* that is looked at */
};

static bool changed_init(struct changed *x, struct controller *c, const struct world *w,
                         const struct obj *old, const struct obj *new)
{
    const struct obj *o = either(old, new);
    *x = (struct changed){.controller = c, .world = w, .map = o, .pcs = owner_pcs(w, o)};
    x->replica = jint(jgetc(obj_spec(o), "podCliqueSetReplicaIndex"), -1);
    if (!x->pcs || x->replica < 0)
        return false;
    pcs_view(x->pcs, &x->set);
    return true;
}

/* Units that one of the two entries has and not the other; all of them where they are of another
 * version now, or an anchor changed, of which others may have another part. */
typedef void unit_fn(struct changed *x, str group, int64_t index);

static void add_all(struct slots *s, jval list)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (jint(it.value, -1) >= 0 && jint(it.value, -1) < SLOTS_MAX)
            slots_add(s, jint(it.value, 0));
    }
}

static void each_unit(struct changed *x, jval was, jval is, unit_fn *fn)
{
    jval hash = jgetc(is, "podCliqueSetGenerationHash");
    bool all = !j_has(jgetc(is, "dependsOn")) || !j_has(jgetc(was, "dependsOn")) ||
               !jequal(hash, jgetc(was, "podCliqueSetGenerationHash"));
    const jval sides[] = {was, is};
    for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
        for (struct jiter g = jiter(jgetc(sides[i], "pcsgReplicaIndices")); jnext(&g);) {
            struct slots other = {0};
            if (!all)
                add_all(&other, jget(jgetc(sides[1 - i], "pcsgReplicaIndices"), g.key));
            for (struct jiter k = jiter(g.value); jnext(&k);) {
                int64_t index = jint(k.value, -1);
                if (index >= 0 && index < SLOTS_MAX && !slots_uses(&other, index))
                    fn(x, g.key, index);
            }
            slots_done(&other);
        }
    }
}

static void enqueue_gang(const struct changed *x, str name)
{
    controller_enqueue(x->controller, &kind_pod_gang, x->map->ns, name);
}

static void enqueue_part(struct changed *x, str part, int64_t index)
{
    const struct gang_entry *e = &x->entry;
    struct gang_namer n =
        gang_namer(&x->arena, x->map->name, &x->names, e->role, e->epoch, part, index >= 0);
    enqueue_gang(x, gang_name(&x->arena, &n, index));
}

static void enqueue_cliques_of(struct changed *x, jval entry)
{
    for (struct jiter it = jiter(jgetc(entry, "podCliques")); jnext(&it);)
        enqueue_part(x, it.key, -1);
}

/* The gangs of what changed in an entry. */
static void enqueue_gangs(void *ctx, jval was, jval is)
{
    struct changed *x = ctx;
    if (!gang_entry_read(j_has(is) ? is : was, x->map->name, &x->entry))
        return;
    if (gang_is_one(&x->names, x->entry.role, x->entry.epoch)) {
        enqueue_part(x, STR_NONE, -1);
        return;
    }
    each_unit(x, was, is, enqueue_part);
    enqueue_cliques_of(x, was);
    enqueue_cliques_of(x, is);
}

/* Gangs of a replica are named after it, as its map is; those from before a map have no index. A
 * name that was shortened does not say: it may be. */
static bool is_of_replica(const struct obj *gang, const struct obj *map)
{
    str n = gang->name;
    return name_may_be_shortened(n) ||
           (str_starts(n, map->name) && (n.len == map->name.len || n.p[map->name.len] == '-'));
}

/* A gang whose map went waits for it to come back; a new one may not have it. */
static void enqueue_earlier(struct controller *c, const struct world *w, const struct obj *map)
{
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pod_gang, map->owner_uid);
         (o = cache_next(&it));) {
        if (is_of_replica(o, map))
            controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
    }
}

void gangmap_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    struct changed x = {.controller = c, .world = w, .map = either(old, new)};
    x.names = gang_names_read(&x.arena, x.map);
    each_changed(old, new, enqueue_gangs, &x);
    arena_done(&x.arena);
    /* Without a map there is a gang of its name. */
    if (!new)
        controller_enqueue(c, &kind_pod_gang, old->ns, old->name);
    if (!old && world_created(w, new) + FRESH > world_steady(w))
        enqueue_earlier(c, w, new);
}

static void enqueue_standalone(const struct changed *x)
{
    struct arena a = ARENA_INIT;
    for (struct jiter it = jiter(x->set.cliques); jnext(&it);) {
        struct group_view g;
        str name = jstr(jgetc(it.value, "name"));
        if (!pcs_group_of(&x->set, name, &g))
            controller_enqueue(x->controller, &kind_pclq, x->pcs->ns,
                               name_pclq(&a, x->pcs->name, x->replica, name));
    }
    arena_done(&a);
}

/* Cliques of the replica with pods that wait. */
static void enqueue_held(const struct changed *x)
{
    struct arena a = ARENA_INIT;
    struct cache_iter it = gangmap_held(x->world, &a, x->pcs, x->replica);
    for (struct obj *pod; (pod = cache_next(&it));)
        controller_enqueue(x->controller, &kind_pclq, pod->ns,
                           jstr(jgetc(obj_controller_ref(pod), "name")));
    arena_done(&a);
}

static void note_anchor(void *ctx, jval was, jval is)
{
    *(bool *)ctx =
        *(bool *)ctx || !j_has(jgetc(was, "dependsOn")) || !j_has(jgetc(is, "dependsOn"));
}

/* Those that wait may wait for another anchor now. */
void gangmap_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                        const struct obj *new)
{
    struct changed x;
    bool anchors = false;
    if (!changed_init(&x, c, w, old, new))
        return;
    enqueue_standalone(&x);
    each_changed(old, new, note_anchor, &anchors);
    if (anchors)
        enqueue_held(&x);
}

static void enqueue_unit(struct changed *x, str group, int64_t index)
{
    struct group_view g;
    if (!pcs_find_group(&x->set, group, &g))
        return;
    str pcsg = name_pcsg(&x->arena, x->pcs->name, x->replica, group);
    for (struct jiter n = jiter(g.clique_names); jnext(&n);) {
        str name = name_member_pclq(&x->arena, pcsg, index, jstr(n.value));
        controller_enqueue(x->controller, &kind_pclq, x->pcs->ns, name);
        controller_enqueue(x->controller, &kind_pdb, x->pcs->ns, name);
    }
}

static void enqueue_members(void *ctx, jval was, jval is)
{
    each_unit(ctx, was, is, enqueue_unit);
}

/* What a group replica waits for is in its own gang, or else in an anchor (gangmap_parents): when
 * anchors change, those in other gangs may wait for others. */
static void enqueue_dependents(struct changed *x, const struct obj *old, const struct obj *new)
{
    bool anchors = false;
    if (str_is_empty(x->set.startup_type) || str_ends(x->set.startup_type, STR("AnyOrder")))
        return;
    each_changed(old, new, note_anchor, &anchors);
    for (struct jiter it = entries_of(new); anchors && jnext(&it);) {
        if (j_has(jgetc(it.value, "dependsOn")))
            enqueue_members(x, JVAL_ABSENT, it.value);
    }
}

void gangmap_to_members(struct controller *c, const struct world *w, const struct obj *old,
                        const struct obj *new)
{
    struct changed x;
    if (!changed_init(&x, c, w, old, new))
        return;
    each_changed(old, new, enqueue_members, &x);
    enqueue_dependents(&x, old, new);
    enqueue_standalone(&x);
    arena_done(&x.arena);
}

void gangmap_to_groups(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    struct changed x;
    struct arena a = ARENA_INIT;
    if (!changed_init(&x, c, w, old, new))
        return;
    for (struct jiter it = jiter(x.set.scaling_groups); jnext(&it);)
        controller_enqueue(c, &kind_pcsg, x.pcs->ns,
                           name_pcsg(&a, x.pcs->name, x.replica, jstr(jgetc(it.value, "name"))));
    arena_done(&a);
}

void gangmap_pass_to_members(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    struct obj *o;
    if (!new || !clique_is_updating(new) || (old && clique_is_updating(old)))
        return;
    const struct obj *pcs = owner_pcs(w, new);
    if (!pcs || !gangmap_rules(w, pcs, label_index(new, STR(LABEL_PCS_INDEX))))
        return;
    for (struct cache_iter it = world_owned(w, &kind_pclq, new->uid); (o = cache_next(&it));) {
        if (!clique_is_updated(o))
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
}

/* ---- pods and gangs ---- */

static void enqueue_labelled(struct controller *c, const struct world *w, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    str gang = pod_gang(&a, w, pod);
    if (!str_is_empty(gang))
        controller_enqueue(c, &kind_pod_gang, pod->ns, gang);
    arena_done(&a);
}

void gangmap_pod_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                         const struct obj *new)
{
    bool moved = old && new &&
                 !str_eq(obj_label(old, STR(LABEL_PODGANG)), obj_label(new, STR(LABEL_PODGANG)));
    bool changed = !old || !new || moved || old->deleting != new->deleting ||
                   pod_is_scheduled(old) != pod_is_scheduled(new) ||
                   pod_is_ready(old) != pod_is_ready(new);
    const struct obj *pod = either(old, new), *pcs = changed ? owner_pcs(w, pod) : NULL;
    if (!pcs || !gangmap_rules(w, pcs, label_index(pod, STR(LABEL_PCS_INDEX))))
        return;
    if (old)
        enqueue_labelled(c, w, old);
    if (new && (moved || !old))
        enqueue_labelled(c, w, new);
}

static bool is_placed(const struct obj *gang)
{
    return gang && gang_was_scheduled(gang);
}

/* Others wait for it until it is placed or gone: standalone cliques with pods in gangs that do, and
 * members, which carry the base name of the replica. */
void gangmap_anchor_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    const struct obj *o = either(old, new);
    bool same = new ? is_placed(old) == is_placed(new) : false;
    if (str_is_empty(obj_label(o, STR(LABEL_ANCHOR))) || same)
        return;
    struct changed x = {.controller = c, .world = w, .map = o, .pcs = owner_pcs(w, o)};
    x.replica = label_index(o, STR(LABEL_PCS_INDEX));
    if (!x.pcs || x.replica < 0)
        return;
    pcs_view(x.pcs, &x.set);
    enqueue_standalone(&x);
    enqueue_held(&x);
}

static bool is_breached(const struct obj *pclq)
{
    return condition_is_true(jgetc(obj_status(pclq), "conditions"), STR("MinAvailableBreached"));
}

void gangmap_breach_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    struct changed x = {.controller = c, .world = w};
    struct arena a = ARENA_INIT;
    if (!old || !new || is_breached(old) == is_breached(new))
        return;
    x.pcs = owner_pcs(w, new);
    x.replica = label_index(new, STR(LABEL_PCS_INDEX));
    if (!x.pcs || x.replica < 0)
        return;
    x.map = world_get(w, &kind_pod_gang_map, new->ns, name_base_gang(&a, x.pcs->name, x.replica));
    str clique = jstr(jgetc(clique_template(&a, x.pcs, x.replica, new->name), "name"));
    x.names = x.map ? gang_names_read(&x.arena, x.map) : (struct gang_names){0};
    for (struct jiter it = entries_of(x.map); jnext(&it);) {
        if (j_has(jget(jgetc(it.value, "podCliques"), clique)) &&
            gang_entry_read(it.value, x.map->name, &x.entry))
            enqueue_part(&x, clique, -1);
    }
    arena_done(&x.arena);
    arena_done(&a);
}
