/* See gangmap_pods.h. */
#include "operator/clique/gangmap_pods.h"

#include "base/map.h"
#include "operator/clique/pclq_impl.h"
#include "operator/common/revisions.h"
#include "operator/common/update.h"
#include "operator/update/gate.h"
#include "operator/update/surge_map.h"

static bool is_member(const struct clique_work *c)
{
    return str_is(jstr(jgetc(obj_controller_ref(c->pclq), "kind")), kind_pcsg.kind);
}

/* ---- slots ---- */

static struct clique_slot *add_slot(struct clique_slots *s, struct clique_slot slot)
{
    s->total += slot.want;
    s->items[s->n] = slot;
    return &s->items[s->n++];
}

/* A member's labels were put on it from its entry: it has one slot, and is itself what its pods are
 * made from. */
static void add_member_slot(const struct clique_work *c, struct clique_slots *s)
{
    struct arena *a = c->plan->arena;
    str base;
    str gang = clique_gang(a, c->world, c->pclq, &base);
    bool coherent = update_strategy_of(c->pcs) == UPDATE_COHERENT;
    if (str_is_empty(gang))
        return;
    s->known = true;
    (void)add_slot(s,
                   (struct clique_slot){
                       .gang = gang,
                       .label = obj_label(c->pclq, STR(LABEL_PODGANG)),
                       .hash = coherent ? obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH)) : STR_NONE,
                       .waits = !str_is_empty(base),
                       .want = MAX(c->spec.replicas, 0),
                   });
}

static str slot_hash(const struct clique_work *c, const struct gangmap_entry *e, str clique)
{
    const struct obj *revision = update_strategy_of(c->pcs) == UPDATE_COHERENT
                                     ? revisions_by_hash(c->world, c->pcs, c->plan->arena, e->hash)
                                     : NULL;
    return revision ? revision_clique_hash(revision, clique) : STR_NONE;
}

static void add_slots(const struct clique_work *c, struct clique_slots *s)
{
    struct arena *a = c->plan->arena;
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    str clique = jstr(jgetc(clique_template(a, c->pcs, replica, c->pclq->name), "name"));
    struct gangmap_view *v = arena_new(a, struct gangmap_view);
    s->known = gangmap_view(v, c->world, a, c->pcs, replica);
    int64_t k = gangmap_component(v, clique);
    s->known = s->known && k >= 0;
    if (s->known && !surge_map_read(v).in_place)
        s->above = v->components[k].surged;
    s->items = arena_array(a, struct clique_slot, v->map.n + 1);
    for (size_t i = 0; s->known && i < v->map.n; i++) {
        const struct gangmap_entry *e = &v->map.entries[i];
        if (e->parts[k].n > 0)
            (void)add_slot(s, (struct clique_slot){
                                  .gang = e->name,
                                  .label = name_label(a, e->name),
                                  .hash = slot_hash(c, e, clique),
                                  .waits = !e->anchor,
                                  .want = e->parts[k].n,
                                  .entry = e,
                              });
    }
}

static str goal_of(const struct clique_work *c)
{
    struct arena *a = c->plan->arena;
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    str clique = jstr(jgetc(clique_template(a, c->pcs, replica, c->pclq->name), "name"));
    const struct obj *revision = update_revision(c->world, a, c->pcs, replica);
    return revision ? revision_clique_hash(revision, clique) : STR_NONE;
}

struct clique_slots *slots_of_clique(const struct clique_work *c)
{
    struct arena *a = c->plan->arena;
    if (!clique_is_mapped(c->world, c->pclq))
        return NULL;
    struct clique_slots *s = arena_new(a, struct clique_slots);
    s->items = arena_array(a, struct clique_slot, 1);
    s->goal = goal_of(c);
    if (is_member(c))
        add_member_slot(c, s);
    else
        add_slots(c, s);
    return s;
}

/* ---- matching ---- */

static struct clique_slot *slot_of(const struct map *by_label, const struct obj *pod)
{
    return map_get(by_label, obj_label(pod, STR(LABEL_PODGANG)));
}

/* What comes to a gang is of what is there: the entry's template, else the one that the replica
 * goes to, else any of those. Pods whose delete is on its way are there. */
static void find_templates(const struct clique_work *c, const struct map *by_label)
{
    const struct clique_slots *s = c->slots;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        struct clique_slot *slot = slot_of(by_label, pod);
        str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
        if (!slot || str_is_empty(slot->hash) || pod->deleting || pod_is_finished(pod))
            continue;
        if (str_is_empty(slot->comes) || str_eq(hash, slot->hash) ||
            (str_eq(hash, s->goal) && !str_eq(slot->comes, slot->hash)))
            slot->comes = hash;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (str_is_empty(s->items[i].comes))
            s->items[i].comes = s->items[i].hash;
    }
}

static void plan_move(struct clique_work *c, const struct obj *pod, const struct clique_slot *to)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "labels");
    jw_put_str(&w, LABEL_PODGANG, to->label);
    if (!to->waits && !str_is_empty(obj_label(pod, STR(LABEL_BASE_PODGANG)))) {
        jw_key(&w, STR(LABEL_BASE_PODGANG));
        jw_null(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(c->plan, STAGE_PODS, pod, STR_NONE, jw_doc(&w), pod->rv), c->plan,
             "it is in gang %.*s now", STR_ARG(to->gang));
}

/* A slot that lacks pods of just this template. */
static struct clique_slot *slot_for(struct clique_slots *s, const struct obj *pod)
{
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].have < s->items[i].want &&
            (str_is_empty(s->items[i].comes) || str_eq(s->items[i].comes, hash)))
            return &s->items[i];
    }
    return NULL;
}

/* A pod of the template that the replica goes to (again) finds no place while the map has not heard
 * of it: it stays where it is, instead of one that would not stay. NULL: nobody is lacking. */
static struct clique_slot *slot_to_wait_for(struct clique_slots *s, const struct obj *pod)
{
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    for (size_t i = 0; i < s->n && !str_is_empty(s->goal) && str_eq(hash, s->goal); i++) {
        if (s->items[i].have < s->items[i].want)
            return &s->items[i];
    }
    return NULL;
}

size_t slots_match(struct clique_work *c, struct obj *const *pods, size_t n, struct obj **ret)
{
    struct clique_slots *s = c->slots;
    struct map by_label = MAP_INIT;
    size_t left = 0, stay = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->items[i].have = 0;
        (void)map_put(&by_label, s->items[i].label, &s->items[i]);
    }
    find_templates(c, &by_label);
    /* Those that go first are matched last. */
    for (size_t i = n; i > 0; i--) {
        struct clique_slot *slot = slot_of(&by_label, pods[i - 1]);
        if (slot && slot->have < slot->want)
            slot->have++;
        else
            ret[left++] = pods[i - 1];
    }
    for (size_t i = 0; i < left; i++) {
        struct clique_slot *slot = slot_for(s, ret[i]);
        struct clique_slot *later = slot ? NULL : slot_to_wait_for(s, ret[i]);
        if (slot) {
            slot->have++;
            plan_move(c, ret[i], slot);
        } else if (later) {
            later->have++;
        } else {
            ret[stay++] = ret[i];
        }
    }
    map_done(&by_label);
    return stay;
}

/* ---- new pods ---- */

/* The revision that new pods of a slot are of, and what it calls them. What is not stored any more
 * cannot be made; then they are of what the entry says. */
static const struct obj *revision_of(const struct clique_work *c, const struct clique_slot *slot,
                                     str clique, str *ret_hash)
{
    struct arena *a = c->plan->arena;
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    const struct obj *revision = NULL;
    *ret_hash = slot->hash;
    if (str_is_empty(slot->hash))
        return update_revision(c->world, a, c->pcs, replica);
    if (!str_eq(slot->comes, slot->hash))
        revision = revisions_naming(c->world, c->pcs, a, clique, slot->comes);
    if (revision)
        *ret_hash = slot->comes;
    else if (slot->entry)
        revision = revisions_by_hash(c->world, c->pcs, a, slot->entry->hash);
    return revision;
}

/* A member stands where its group does, in the entry of its replica. False: it does not follow the
 * map yet. */
static bool place_member(const struct clique_work *c, const struct clique_slot *slot,
                         struct clique_place *place)
{
    const struct gangmap_view *v = place->gangs;
    str pcsg = jstr(jgetc(obj_controller_ref(c->pclq), "name"));
    place->owner = world_get(c->world, &kind_pcsg, c->pclq->ns, pcsg);
    place->group_index = label_index(c->pclq, STR(LABEL_PCSG_INDEX));
    if (!place->owner || !pcs_group_of(&v->set, place->clique.name, &place->group))
        return false;
    int64_t k = gangmap_component(v, place->group.name);
    place->entry = k < 0 ? NULL : gangmap_of_index(&v->map, (size_t)k, place->group_index);
    return place->entry && str_eq(place->entry->name, slot->gang);
}

/* The clique as the version of the slot's gang has it. */
static const struct obj *shape_of(struct clique_work *c, const struct clique_slot *slot)
{
    struct arena *a = c->plan->arena;
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    struct clique_place place = {.pcs = c->pcs, .owner = c->pcs, .pcs_index = replica};
    struct gangmap_view *v = arena_new(a, struct gangmap_view);
    bool member = is_member(c);
    str hash;
    clique_view(clique_template(a, c->pcs, replica, c->pclq->name), &place.clique);
    place.clique.replicas = c->spec.replicas;
    const struct obj *revision = revision_of(c, slot, place.clique.name, &hash);
    if (member && str_eq(hash, slot->hash))
        return c->pclq;
    (void)gangmap_view(v, c->world, a, c->pcs, replica);
    place.gangs = v;
    place.entry = slot->entry;
    if (!revision || (member && !place_member(c, slot, &place)))
        return NULL;
    update_place(&place, revision, revision == revisions_current(c->world, c->pcs, a));
    if (!str_is_empty(hash))
        place.hash = hash;
    return clique_shape(a, &place, c->pclq->uid);
}

const struct obj *slots_take(struct clique_work *c)
{
    struct clique_slots *s = c->slots;
    for (size_t i = 0; i < s->n; i++) {
        struct clique_slot *slot = &s->items[i];
        if (slot->have >= slot->want)
            continue;
        slot->have++;
        if (!slot->shape)
            slot->shape = shape_of(c, slot);
        return slot->shape;
    }
    return NULL;
}

/* ---- gates ---- */

str slots_wait(const struct clique_work *c, const struct clique_slot *s,
               const struct obj **ret_gang)
{
    return gate_wait_mapped(c->world, c->plan->arena, c->pcs,
                            label_index(c->pclq, STR(LABEL_PCS_INDEX)), s->gang, s->waits,
                            ret_gang);
}
