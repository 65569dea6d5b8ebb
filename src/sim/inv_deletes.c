/*
 * Nothing of Grove's is deleted that nobody asked to delete. A deletion, when it is marked, must
 * have one of these reasons:
 *
 *   any          a user deleted it; its owner is gone or being deleted
 *   PodClique,   its index is at or above the lowest number of replicas that its owner had since it
 *   scaling      was made, or that those who made it may still have believed; it belongs to a
 *   group        scaling group and the template of its set changed since then; something of its
 *                replica has been in breach of its minimum for at least the termination delay
 *   Pod          it has finished; its clique was scaled in (as many as the numbers came down, in
 *                all, and no more); its template is not its clique's any more; its node is gone or
 *                not ready; its gang must make room, or had to until a moment ago; a map of gangs
 *                has as many as are wanted in other gangs; it has not started, and waits for more
 *                pods of another clique than are wanted of that
 *
 * A set is deleted by users only. Of cliques and groups that are updated those units count as
 * wanted that their status says are above replicas for the time of the update (surgedReplicas; no
 * more than maxSurge allows: see inv_updates.c). A map of gangs says the same of itself in an
 * annotation, between the halves of a coherent step; what it takes back of that was asked for.
 */
#include "base/hash.h"
#include "base/vec.h"
#include "grove/gangs.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

struct version {
    usec since; /* wall time */
    int64_t replicas;
    /* Of a set: hash of the text, and which replicas it is for; of a clique: that of its label. */
    uint64_t template;
};

/* A live set, scaling group or clique. */
struct inv_owner {
    struct obj *last;
    usec born;                    /* wall time */
    VEC(struct version) versions; /* changes only */
    int64_t most;                 /* replicas */
    int64_t came_down;            /* by how many replicas, in all */
    int64_t taken;                /* pods deleted on that account */
};

static struct inv_owner *find_owner(const struct inv_deletes *d, str uid)
{
    return str_is_empty(uid) ? NULL : map_get(&d->owners, uid);
}

int64_t deletes_most_replicas(const struct inv_deletes *d, str pclq_uid)
{
    const struct inv_owner *o = find_owner(d, pclq_uid);
    return o ? o->most : -1;
}

/* ---- what is known ---- */

static void learn_version(struct inv_owner *o, usec now)
{
    jval spec = obj_spec(o->last);
    struct version v = {.since = now,
                        .replicas = jint(jgetc(spec, "replicas"), 0) + surged_replicas(o->last)};
    if (o->last->kind == &kind_pcs)
        v.template = hash_fnv1a64(jtext(jgetc(spec, "template"))) +
                     (uint64_t)jint(jpath(spec, "updateStrategy.partition"), 0);
    else if (o->last->kind == &kind_pclq)
        v.template = hash_fnv1a64(obj_label(o->last, STR(LABEL_TEMPLATE_HASH)));
    const struct version *before = o->versions.len ? vec_last(&o->versions) : NULL;
    if (before && before->replicas == v.replicas && before->template == v.template)
        return;
    if (before && v.replicas < before->replicas)
        o->came_down += before->replicas - v.replicas;
    o->most = MAX(o->most, v.replicas);
    struct version *latest = vec_push(&o->versions);
    BUG_ON(!latest);
    *latest = v;
}

static void owner_free(struct inv_owner *o)
{
    vec_done(&o->versions);
    obj_unref(o->last);
    free(o);
}

static void learn(struct inv_deletes *d, const struct store_event *e, usec now)
{
    struct inv_owner *o = find_owner(d, e->obj->uid);
    if (e->type == STORE_DELETED) {
        if (o) {
            (void)map_del(&d->owners, o->last->uid);
            owner_free(o);
        }
        return;
    }
    if (!o) {
        o = xnew(struct inv_owner);
        o->born = now;
    }
    const struct obj *before = o->last;
    o->last = obj_ref(e->obj);
    (void)map_put(&d->owners, o->last->uid, o); /* the key is the new object's */
    obj_unref(before);
    learn_version(o, now);
}

/* The oldest version that somebody may have believed in at a time: the last one in force as long
 * before it as knowledge may be old. */
static size_t version_at(const struct invariants *v, const struct inv_owner *o, usec time)
{
    size_t i = o->versions.len - 1;
    while (i > 0 && o->versions.p[i].since > time - inv_lag(v))
        i--;
    return i;
}

/* The most that somebody may still believe is wanted. */
static int64_t believed_replicas(const struct invariants *v, const struct inv_owner *o)
{
    int64_t most = 0;
    for (size_t i = version_at(v, o, inv_wall(v)); i < o->versions.len; i++)
        most = MAX(most, o->versions.p[i].replicas);
    return most;
}

/* Pods of a clique in gangs of one version. */
static int64_t mapped_pods(const struct obj *map, str clique, str hash)
{
    int64_t n = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(map), "entries")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "podCliqueSetGenerationHash")), hash))
            n += jint(jget(jgetc(it.value, "podCliques"), clique), 0);
    }
    return n;
}

static void learn_mapped(const struct invariants *v, struct inv_owner *o, str clique,
                         const struct obj *before, const struct obj *now)
{
    struct mapped_surge is = mapped_surge(now, clique);
    struct mapped_surge was = before ? mapped_surge(before, clique) : (struct mapped_surge){0};
    o->most = MAX(o->most, believed_replicas(v, o) + is.replicas);
    if (was.replicas > 0) {
        str hash = str_of(was.hash);
        int64_t less = mapped_pods(before, clique, hash) - mapped_pods(now, clique, hash);
        o->came_down += MAX(0, MIN(less, was.replicas));
    }
}

static void learn_map(const struct invariants *v, struct inv_deletes *d,
                      const struct store_event *e)
{
    const struct obj *now = e->obj;
    str key;
    void *value;
    if (e->type == STORE_DELETED)
        return;
    for (size_t it = 0; map_next(&d->owners, &it, &key, &value);) {
        struct inv_owner *o = value;
        str name = o->last->kind == &kind_pclq ? inv_template_name(v, now, o->last) : STR_NONE;
        if (!str_is_empty(name))
            learn_mapped(v, o, name, e->prev, now);
    }
}

/* A clique that is made anew comes to the map that its predecessor had. */
static void learn_map_of(const struct invariants *v, struct inv_deletes *d,
                         const struct obj *clique)
{
    struct arena a = ARENA_INIT;
    int64_t replica = -1;
    (void)str_to_int(obj_label(clique, STR(LABEL_PCS_INDEX)), &replica);
    const struct obj *pcs =
        inv_labelled(v, &kind_pcs, clique->ns, obj_label(clique, STR(LABEL_PCS)));
    str name = pcs ? name_base_gang(&a, pcs->name, replica) : STR_NONE;
    struct obj *map = store_get(inv_store(v), &kind_pod_gang_map, clique->ns, name);
    if (map)
        learn_map(v, d, &(struct store_event){.type = STORE_ADDED, .obj = map});
    arena_done(&a);
}

static bool is_target(const struct obj *gang)
{
    return condition_is_true(jgetc(obj_status(gang), "conditions"), STR("DisruptionTarget"));
}

/* Who was asked to make room may be about to when that is taken back: it was asked, as long as
 * nobody may have heard of it. */
static void learn_gang(const struct invariants *v, struct inv_deletes *d,
                       const struct store_event *e)
{
    const struct obj *gang = e->obj;
    int64_t until = inv_wall(v) + inv_lag(v), before = counter_get(&d->asked, gang->uid);
    if (e->type == STORE_DELETED || !e->prev)
        until = 0;
    else if (is_target(gang) || !is_target(e->prev))
        return;
    if (before != until)
        (void)counter_add(&d->asked, gang->uid, until - before);
}

/* A late word of its node may bring a finished pod back; it is over all the same. */
static void learn_pod(struct inv_deletes *d, const struct store_event *e)
{
    bool known = counter_get(&d->over, e->obj->uid) > 0;
    if (e->type == STORE_DELETED && known)
        (void)counter_add(&d->over, e->obj->uid, -1);
    else if (e->type != STORE_DELETED && !known && pod_has_finished(e->obj))
        (void)counter_add(&d->over, e->obj->uid, 1);
}

/* ---- reasons ---- */

static bool is_going(const struct inv_deletes *d, str uid)
{
    const struct inv_owner *o = find_owner(d, uid);
    return !o || o->last->deleting;
}

static const struct inv_owner *set_of(const struct inv_deletes *d, const struct obj *o)
{
    const struct inv_owner *owner = find_owner(d, o->owner_uid);
    while (owner && owner->last->kind != &kind_pcs)
        owner = find_owner(d, owner->last->owner_uid);
    return owner;
}

static bool is_surplus(const struct invariants *v, const struct inv_deletes *d,
                       const struct inv_owner *o)
{
    const struct inv_owner *owner = find_owner(d, o->last->owner_uid);
    const char *label = owner->last->kind == &kind_pcs ? LABEL_PCS_INDEX : LABEL_PCSG_INDEX;
    int64_t index;
    if (!str_to_int(obj_label(o->last, str_of(label)), &index))
        return false;
    for (size_t i = version_at(v, owner, o->born); i < owner->versions.len; i++) {
        if (index >= owner->versions.p[i].replicas)
            return true;
    }
    return false;
}

/* The set had another template since it was made, or those who made it may have believed so: it or
 * its pods may be of that. */
static bool is_of_old_template(const struct invariants *v, const struct inv_deletes *d,
                               const struct inv_owner *o)
{
    const struct inv_owner *set = set_of(d, o->last);
    for (size_t i = set ? version_at(v, set, o->born) : 0; set && i < set->versions.len; i++) {
        if (set->versions.p[i].template != vec_last(&set->versions)->template)
            return true;
    }
    return false;
}

/* Of a scaling group: those are made anew, others are changed in place. */
static bool is_member(const struct inv_owner *o)
{
    return !str_is_empty(obj_label(o->last, STR(LABEL_PCSG_INDEX)));
}

/* A replica of a group is made anew as a whole, when something of it is of an old template. */
static bool replica_is_old(const struct invariants *v, const struct inv_deletes *d,
                           const struct inv_owner *o)
{
    str key, index = obj_label(o->last, STR(LABEL_PCSG_INDEX));
    void *value;
    for (size_t it = 0; map_next(&d->owners, &it, &key, &value);) {
        const struct inv_owner *other = value;
        if (str_eq(other->last->owner_uid, o->last->owner_uid) &&
            str_eq(obj_label(other->last, STR(LABEL_PCSG_INDEX)), index) &&
            is_of_old_template(v, d, other))
            return true;
    }
    return false;
}

/* For how long it has been in breach of its minimum; -1: it is not. */
static usec breach_time(const struct invariants *v, const struct obj *o)
{
    usec since = inv_breached(v, o);
    return since ? inv_wall(v) - since : -1;
}

/* Between the decision that it is so, and its being written, some time may pass. */
static bool is_terminated(const struct invariants *v, const struct inv_deletes *d,
                          const struct inv_owner *o)
{
    const struct inv_owner *set = set_of(d, o->last);
    usec delay = 4 * USEC_PER_HOUR;
    str key, replica = obj_label(o->last, STR(LABEL_PCS_INDEX));
    void *value;
    if (!set)
        return false;
    (void)duration_parse_usec(jstr(jpath(obj_root(set->last), "spec.template.terminationDelay")),
                              &delay);
    for (size_t it = 0; map_next(&d->owners, &it, &key, &value);) {
        const struct inv_owner *other = value;
        if (other != set && set_of(d, other->last) == set &&
            str_eq(obj_label(other->last, STR(LABEL_PCS_INDEX)), replica) &&
            breach_time(v, other->last) >= delay - USEC_PER_SEC)
            return true;
    }
    return false;
}

/* The map that says what the gangs of its replica hold, if there is one. */
static const struct obj *map_of(const struct invariants *v, const struct obj *set, int64_t replica)
{
    struct arena a = ARENA_INIT;
    const struct obj *map = store_get(inv_store(v), &kind_pod_gang_map, set->ns,
                                      name_base_gang(&a, set->name, replica));
    arena_done(&a);
    return map;
}

/* A map of gangs says which replicas of a group there are; its number says how many. */
static bool is_unmapped(const struct invariants *v, const struct inv_deletes *d,
                        const struct inv_owner *o)
{
    const struct inv_owner *owner = find_owner(d, o->last->owner_uid), *set = set_of(d, o->last);
    int64_t index, replica, n = 0;
    if (!set || !owner || owner->last->kind != &kind_pcsg ||
        !str_to_int(obj_label(o->last, STR(LABEL_PCSG_INDEX)), &index) ||
        !str_to_int(obj_label(o->last, STR(LABEL_PCS_INDEX)), &replica))
        return false;
    struct arena a = ARENA_INIT;
    const struct obj *map = map_of(v, set->last, replica);
    bool has = false;
    for (struct jiter e = jiter(map ? jgetc(obj_spec(map), "entries") : JVAL_ABSENT); jnext(&e);) {
        for (struct jiter g = jiter(jgetc(e.value, "pcsgReplicaIndices")); jnext(&g);) {
            if (!str_eq(name_pcsg(&a, set->last->name, replica, g.key), owner->last->name))
                continue;
            n += (int64_t)jlen(g.value);
            for (struct jiter it = jiter(g.value); jnext(&it);)
                has = has || jint(it.value, -1) == index;
        }
    }
    arena_done(&a);
    int64_t least = vec_last(&owner->versions)->replicas;
    for (size_t i = version_at(v, owner, inv_wall(v)); i < owner->versions.len; i++)
        least = MIN(least, owner->versions.p[i].replicas);
    return map && !has && n >= least;
}

static bool part_has_reason(const struct invariants *v, const struct inv_deletes *d, str uid)
{
    const struct inv_owner *o = find_owner(d, uid);
    return !o || is_surplus(v, d, o) || (is_member(o) && replica_is_old(v, d, o)) ||
           is_terminated(v, d, o) || is_unmapped(v, d, o);
}

static bool node_is_lost(const struct invariants *v, str node)
{
    if (str_is_empty(node))
        return false;
    const struct obj *o = store_get(inv_store(v), &kind_node, STR_NONE, node);
    return !o || !condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
}

static bool must_make_room(const struct invariants *v, const struct inv_deletes *d,
                           const struct obj *pod)
{
    const struct obj *gang =
        inv_labelled(v, &kind_pod_gang, pod->ns, obj_label(pod, STR(LABEL_PODGANG)));
    return gang && (is_target(gang) || inv_wall(v) < counter_get(&d->asked, gang->uid));
}

/* Its clique is of another template, or was when somebody last looked. Who made the pod from what
 * the clique was of then has seen that, and believes nothing older; times of pods are whole
 * seconds, rounded down. */
static bool pod_is_old(const struct invariants *v, const struct inv_owner *clique,
                       const struct obj *pod)
{
    uint64_t template = hash_fnv1a64(obj_label(pod, STR(LABEL_TEMPLATE_HASH)));
    size_t from = version_at(v, clique, inv_wall(v));
    for (size_t i = clique->versions.len; i-- > from;) {
        if (clique->versions.p[i].template == template &&
            clique->versions.p[i].since <= inv_made(v, pod) / USEC_PER_SEC * USEC_PER_SEC) {
            from = i;
            break;
        }
    }
    for (size_t i = from; i < clique->versions.len; i++) {
        if (clique->versions.p[i].template != template)
            return true;
    }
    return false;
}

/* Those of its clique in its gang, itself among them. */
static int64_t count_beside(const struct invariants *v, const struct obj *pod)
{
    int64_t n = 1;
    struct obj *other;
    struct store_iter it = store_range(inv_store(v), &kind_pod, pod->ns, STR_NONE, STR_NONE);
    while ((other = store_next(&it)))
        n += str_eq(other->owner_uid, pod->owner_uid) && !other->deleting &&
             !str_eq(other->uid, pod->uid) &&
             str_eq(obj_label(other, STR(LABEL_PODGANG)), obj_label(pod, STR(LABEL_PODGANG)));
    return n;
}

/* A map of gangs gave the pods that the clique wants to other gangs: its own has more than its
 * share. New pods are of the version of their gang, whatever the clique says of itself. */
static bool pod_is_unmapped(const struct invariants *v, const struct inv_deletes *d,
                            const struct inv_owner *clique, const struct obj *pod)
{
    const struct inv_owner *set = set_of(d, clique->last);
    int64_t replica, share = 0, all = 0;
    if (!set || !str_to_int(obj_label(clique->last, STR(LABEL_PCS_INDEX)), &replica))
        return false;
    struct arena a = ARENA_INIT;
    const struct obj *map = map_of(v, set->last, replica);
    for (struct jiter e = jiter(gang_list(&a, map)); jnext(&e);) {
        for (struct jiter c = jiter(jgetc(e.value, "podCliques")); jnext(&c);) {
            if (!str_eq(name_pclq(&a, set->last->name, replica, c.key), clique->last->name))
                continue;
            all += jint(c.value, 0);
            if (str_eq(name_label(&a, jstr(jgetc(e.value, "name"))),
                       obj_label(pod, STR(LABEL_PODGANG))))
                share += jint(c.value, 0);
        }
    }
    arena_done(&a);
    return map && all >= vec_last(&clique->versions)->replicas && count_beside(v, pod) > share;
}

/* Of the clique with this name fewer than n pods are wanted, or were when somebody last looked. */
static bool is_short_of(const struct invariants *v, const struct inv_deletes *d, str ns, str pclq,
                        int64_t n)
{
    const struct obj *there = store_get(inv_store(v), &kind_pclq, ns, pclq);
    const struct inv_owner *o = there ? find_owner(d, there->uid) : NULL;
    if (!o || there->deleting || is_surplus(v, d, o) || is_unmapped(v, d, o))
        return true;
    /* Versions count what is above the number during an update; nobody waits for that. */
    if (jint(jgetc(obj_spec(there), "replicas"), 0) < n)
        return true;
    for (size_t i = version_at(v, o, inv_wall(v)); i < o->versions.len; i++) {
        if (o->versions.p[i].replicas < n)
            return true;
    }
    return false;
}

/* It has not started, and its init container waits for more than there is to be. */
static bool waits_in_vain(const struct invariants *v, const struct inv_deletes *d,
                          const struct obj *pod)
{
    if (condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Initialized")))
        return false;
    for (struct jiter c = jiter(jgetc(obj_spec(pod), "initContainers")); jnext(&c);) {
        for (struct jiter it = jiter(jgetc(c.value, "args")); jnext(&it);) {
            str text = jstr(it.value), flag = STR("--podcliques=");
            int64_t n;
            if (!str_is(jstr(jgetc(c.value, "name")), "grove-initc") || !str_starts(text, flag))
                continue;
            text = str_sub(text, flag.len, text.len);
            str pclq = str_cut(&text, ':');
            if (str_to_int(text, &n) && is_short_of(v, d, pod->ns, pclq, n))
                return true;
        }
    }
    return false;
}

static bool pod_has_reason(const struct invariants *v, struct inv_deletes *d, const struct obj *pod)
{
    struct inv_owner *clique = find_owner(d, pod->owner_uid);
    if (counter_get(&d->over, pod->uid) > 0 || node_is_lost(v, pod_node(pod)) ||
        must_make_room(v, d, pod) || pod_is_old(v, clique, pod) ||
        pod_is_unmapped(v, d, clique, pod) || waits_in_vain(v, d, pod))
        return true;
    /* What is above the number for the time of an update may go before the status says so. */
    if (clique->taken >= clique->came_down + surged_replicas(clique->last))
        return false;
    clique->taken++;
    return true;
}

static bool is_watched(const struct kind *k)
{
    return k == &kind_pcs || k == &kind_pcsg || k == &kind_pclq;
}

static bool has_reason(const struct invariants *v, struct inv_deletes *d, const struct obj *o)
{
    if (counter_get(&d->asked, o->uid) > 0)
        return true;
    if (o->kind == &kind_pcs)
        return false;
    if (is_going(d, o->owner_uid))
        return true;
    return o->kind == &kind_pod ? pod_has_reason(v, d, o) : part_has_reason(v, d, o->uid);
}

bool deletes_is_forced(const struct invariants *v, const struct inv_deletes *d, const struct obj *o)
{
    if (counter_get(&d->asked, o->uid) > 0 || is_going(d, o->owner_uid))
        return true;
    const struct inv_owner *part = find_owner(d, o->kind == &kind_pod ? o->owner_uid : o->uid);
    if (!part || is_terminated(v, d, part))
        return true;
    if (o->kind == &kind_pod)
        return counter_get(&d->over, o->uid) > 0 || node_is_lost(v, pod_node(o)) ||
               must_make_room(v, d, o);
    return is_surplus(v, d, part);
}

void deletes_event(struct invariants *v, struct inv_deletes *d, const struct store_event *e)
{
    const struct obj *o = e->obj;
    bool watched = is_watched(o->kind);
    bool ours = watched || (o->kind == &kind_pod &&
                            str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE));
    bool was_marked = e->prev && e->prev->deleting;
    bool is_marked = o->deleting || e->type == STORE_DELETED;
    if (ours && is_marked && !was_marked && !has_reason(v, d, e->prev ? e->prev : o))
        inv_fail(v, "deletes", "%s %.*s/%.*s is deleted and nobody asked for it", o->kind->kind,
                 STR_ARG(o->ns), STR_ARG(o->name));
    if (o->kind == &kind_pod)
        learn_pod(d, e);
    if (watched)
        learn(d, e, inv_wall(v));
    if (o->kind == &kind_pod_gang)
        learn_gang(v, d, e);
    if (o->kind == &kind_pod_gang_map)
        learn_map(v, d, e);
    if (o->kind == &kind_pclq && e->type == STORE_ADDED)
        learn_map_of(v, d, o);
}

void deletes_done(struct inv_deletes *d)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&d->owners, &it, &key, &value);)
        owner_free(value);
    map_done(&d->owners);
    counters_done(&d->asked);
    counters_done(&d->over);
}
