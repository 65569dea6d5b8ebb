/*
 * What an update may never do, whatever its strategy:
 *
 *   floors    Grove takes no serving unit of a component (a ready pod of a clique, a whole replica
 *             of a scaling group) when that leaves fewer than the floor: the minimum, or what is
 *             wanted when that is less, without what an update of it may take. What users take,
 *             what was lost, what must make room and what is recycled as a whole is not counted
 *             against it; nor is what nobody may have known yet: for a while after a component was
 *             disturbed it is not judged.
 *   surge     no more units of a component are above its number than maxSurge allows; as long as
 *             some are, its floor is the number less maxUnavailable
 *   needless  a replica of a scaling group is not made anew when all of it is of the template that
 *             it is to be of (that of a pod is a matter of `deletes`), but for one that a map had
 *             above the number and gave up again; where members is Changed, a clique of it is not
 *             when that clique is, whatever the others are of
 *   endings   an update that rolls by itself is not said to have ended while a pod is of another
 *             template than the one it was for, or one of another still runs on its way out
 */
#include "base/hash.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

/* ---- what there is ---- */

static bool is_active(const struct obj *pod)
{
    return pod && !pod->deleting && !pod_has_finished(pod);
}

static bool is_ready(const struct obj *pod)
{
    return is_active(pod) && condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

static const struct obj *controller_of(const struct invariants *v, const struct obj *o,
                                       const struct kind *k)
{
    jval ref = obj_controller_ref(o);
    if (!str_is(jstr(jgetc(ref, "kind")), k->kind))
        return NULL;
    const struct obj *owner = store_get(inv_store(v), k, o->ns, jstr(jgetc(ref, "name")));
    return owner && str_eq(owner->uid, o->owner_uid) ? owner : NULL;
}

static const struct obj *set_of(const struct invariants *v, const struct obj *component)
{
    return inv_labelled(v, &kind_pcs, component->ns, obj_label(component, STR(LABEL_PCS)));
}

static int64_t count_pods(const struct invariants *v, const struct obj *clique,
                          bool (*counts)(const struct obj *pod))
{
    int64_t n = 0;
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, clique->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&it)))
        n += str_eq(pod->owner_uid, clique->uid) && counts(pod);
    return n;
}

static int64_t number(const struct obj *o, const char *field)
{
    return jint(jget(obj_spec(o), str_of(field)), 0);
}

/* ---- floors ---- */

static bool is_updating(const struct obj *component)
{
    jval progress = jgetc(obj_status(component), "updateProgress");
    return j_has(progress) && !j_has(jgetc(progress, "updateEndedAt"));
}

/* What the set says about its clique or group of that name: PREFIX-NUMBER-NAME. */
static jval template_of(const struct obj *pcs, const struct obj *component)
{
    bool group = component->kind == &kind_pcsg;
    jval list =
        jpath(obj_spec(pcs), group ? "template.podCliqueScalingGroups" : "template.cliques");
    struct arena a = ARENA_INIT;
    jval found = JVAL_ABSENT;
    int64_t replica;
    if (str_to_int(obj_label(component, STR(LABEL_PCS_INDEX)), &replica)) {
        for (struct jiter it = jiter(list); jnext(&it);) {
            str name = jstr(jgetc(it.value, "name"));
            str full = group ? name_pcsg(&a, pcs->name, replica, name)
                             : name_pclq(&a, pcs->name, replica, name);
            if (str_eq(full, component->name))
                found = it.value;
        }
    }
    arena_done(&a);
    return found;
}

int64_t surged_replicas(const struct obj *component)
{
    return is_updating(component)
               ? jint(jpath(obj_status(component), "updateProgress.surgedReplicas"), 0)
               : 0;
}

struct mapped_surge mapped_surge(const struct obj *map, str component)
{
    struct mapped_surge s = {0};
    str text = obj_annotation(map, STR("grove.io/surge"));
    struct doc *d = str_is_empty(text) ? NULL : doc_parse(text, NULL, NULL);
    if (!d)
        return s;
    str hash = jstr(jgetc(doc_root(d), "hash"));
    s.replicas = jint(jget(jgetc(doc_root(d), "replicas"), component), 0);
    if (hash.len > 0 && hash.len < sizeof(s.hash))
        memcpy(s.hash, hash.p, hash.len);
    doc_unref(d);
    return s;
}

/* maxSurge in units; percent are of the replicas. */
static int64_t most_above(const struct obj *pcs, const struct obj *component)
{
    jval v = jpath(template_of(pcs, component), "rollingUpdate.maxSurge");
    int64_t percent = 0;
    if (!j_has(v))
        v = jpath(obj_spec(pcs), "updateStrategy.rollingUpdate.maxSurge");
    if (jtype(v) != J_STRING)
        return jint(v, 0);
    (void)str_to_int(str_sub(jstr(v), 0, jstr(v).len - 1), &percent);
    return (number(component, "replicas") * percent + 99) / 100;
}

/* What an update of it may take. While some are above the number, nothing but what is said. */
static int64_t allowance(const struct invariants *v, const struct obj *component)
{
    const struct obj *pcs = set_of(v, component);
    if (!is_updating(component))
        return 0;
    if (!pcs)
        return 1;
    bool coherent = str_is(jstr(jpath(obj_spec(pcs), "updateStrategy.type")), "Coherent");
    jval said = jpath(template_of(pcs, component), "rollingUpdate.maxUnavailable");
    if (surged_replicas(component) > 0 &&
        !j_has(jpath(obj_status(component), "updateProgress.surgeTimedOutAt")))
        return jint(said, 0);
    /* A coherent update moves whole minimums, also where it is said that nothing may be missing. */
    if (coherent && jint(said, 0) == 0)
        return MAX(1, number(component, "minAvailable"));
    return MAX(1, jint(said, 1));
}

static bool is_disturbed(const struct invariants *v, const struct inv_updates *u, str uid)
{
    return inv_wall(v) < counter_get(&u->disturbed, uid);
}

static void counter_set(struct map *m, str key, int64_t to)
{
    int64_t is = counter_get(m, key);
    if (is != to)
        (void)counter_add(m, key, to - is);
}

/* Sets a time as long from now as knowledge may be old. */
static void defer(const struct invariants *v, struct map *times, str uid)
{
    if (!str_is_empty(uid))
        counter_set(times, uid, inv_wall(v) + inv_lag(v));
}

static void disturb(const struct invariants *v, struct inv_updates *u, str uid)
{
    defer(v, &u->disturbed, uid);
}

/* What a set says about how much an update may take. */
static uint64_t terms_of(const struct obj *pcs)
{
    static const char *const lists[] = {"template.cliques", "template.podCliqueScalingGroups"};
    jval strategy = jgetc(obj_spec(pcs), "updateStrategy");
    uint64_t terms = hash_fnv1a64(jstr(jgetc(strategy, "type"))) +
                     hash_fnv1a64(jtext(jgetc(strategy, "rollingUpdate")));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jpath(obj_spec(pcs), lists[i])); jnext(&it);)
            terms = terms * 31 + hash_fnv1a64(jtext(jgetc(it.value, "rollingUpdate")));
    }
    return terms;
}

static void judge(struct invariants *v, const struct inv_updates *u, const struct obj *component,
                  const struct obj *taken, int64_t left)
{
    const struct obj *pcs = set_of(v, component);
    if (pcs && inv_wall(v) < counter_get(&u->new_terms, pcs->uid))
        return;
    int64_t wanted = MIN(number(component, "minAvailable"), number(component, "replicas"));
    /* As long as something is above the number, all of it is kept up, not the minimum only. */
    if (surged_replicas(component) > 0)
        wanted = number(component, "replicas") -
                 jint(jpath(obj_status(component), "updateProgress.unscheduledAtStart"), 0);
    int64_t floor = MAX(0, wanted - allowance(v, component));
    if (left < floor)
        inv_fail(v, "rolls", "%s %.*s is taken and leaves %s %.*s %lld of at least %lld",
                 taken->kind->kind, STR_ARG(taken->name), component->kind->kind,
                 STR_ARG(component->name), (long long)left, (long long)floor);
}

static bool clique_serves(const struct invariants *v, const struct obj *clique)
{
    return count_pods(v, clique, is_ready) >= number(clique, "minAvailable");
}

/* All cliques of the replica are there, and their minimum is ready; `going`, which may be NULL,
 * counts as one that serves. */
static bool replica_serves(const struct invariants *v, const struct obj *group, str index,
                           const struct obj *going)
{
    int64_t serving = going != NULL;
    struct obj *o;
    struct store_iter it = store_range(inv_store(v), &kind_pclq, group->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        serving += str_eq(o->owner_uid, group->uid) && !o->deleting &&
                   !(going && str_eq(o->uid, going->uid)) &&
                   str_eq(obj_label(o, STR(LABEL_PCSG_INDEX)), index) && clique_serves(v, o);
    return serving >= (int64_t)jlen(jgetc(obj_spec(group), "cliqueNames"));
}

static int64_t serving_replicas(const struct invariants *v, const struct obj *group)
{
    int64_t n = 0, first = 0;
    struct obj *o;
    struct store_iter it = store_range(inv_store(v), &kind_pclq, group->ns, STR_NONE, STR_NONE);
    str clique = jstr(jat(jgetc(obj_spec(group), "cliqueNames"), 0));
    struct arena a = ARENA_INIT;
    while ((o = store_next(&it))) {
        str index = obj_label(o, STR(LABEL_PCSG_INDEX));
        if (str_eq(o->owner_uid, group->uid) && str_to_int(index, &first) &&
            str_eq(o->name, name_member_pclq(&a, group->name, first, clique)))
            n += replica_serves(v, group, index, NULL);
    }
    arena_done(&a);
    return n;
}

/* A pod of the replica became ready so short a time ago that nobody may know it serves. */
static bool is_fresh(const struct invariants *v, const struct obj *group, str index)
{
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, group->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&it))) {
        if (name_has_label(group->name, obj_label(pod, STR(LABEL_PCSG))) &&
            str_eq(obj_label(pod, STR(LABEL_PCSG_INDEX)), index) && inv_ready(v, pod) &&
            inv_wall(v) < inv_ready(v, pod) + inv_lag(v))
            return true;
    }
    return false;
}

/* A clique that served goes, or goes below its minimum: what is left of its group? */
static void check_group_floor(struct invariants *v, const struct inv_updates *u,
                              const struct obj *member, const struct obj *taken)
{
    const struct obj *group = controller_of(v, member, &kind_pcsg);
    str label = obj_label(member, STR(LABEL_PCSG_INDEX));
    int64_t index;
    if (!group || group->deleting || is_disturbed(v, u, group->uid) || !str_to_int(label, &index) ||
        index >= number(group, "replicas") || deletes_was_forced(v, taken) ||
        !replica_serves(v, group, label, member) || is_fresh(v, group, label))
        return;
    judge(v, u, group, taken, serving_replicas(v, group));
}

/* The unit of a member is its replica: it goes when the minimum of one of its cliques does. */
static void check_pod_floor(struct invariants *v, const struct inv_updates *u,
                            const struct obj *pod)
{
    const struct obj *clique = controller_of(v, pod, &kind_pclq);
    if (!clique || clique->deleting || is_disturbed(v, u, clique->uid) ||
        deletes_was_forced(v, pod) ||
        count_pods(v, clique, is_active) >= number(clique, "replicas") + surged_replicas(clique))
        return;
    int64_t left = count_pods(v, clique, is_ready);
    bool member = str_is(jstr(jgetc(obj_controller_ref(clique), "kind")), kind_pcsg.kind);
    if (!member)
        judge(v, u, clique, pod, left);
    else if (left + 1 == number(clique, "minAvailable")) /* one whose group is gone goes after it */
        check_group_floor(v, u, clique, pod);
}

/* ---- needless ---- */

static bool has_name(const struct obj *revision, str clique, str hash)
{
    jval data = jgetc(obj_root(revision), "data");
    if (str_eq(jstr(jget(jgetc(data, "templateHashes"), clique)), hash))
        return true;
    for (struct jiter it = jiter(jget(jgetc(data, "otherHashes"), clique)); jnext(&it);) {
        if (str_eq(jstr(it.value), hash))
            return true;
    }
    return false;
}

static const struct obj *revision_called(const struct invariants *v, const struct obj *pcs,
                                         str hash)
{
    struct obj *o;
    struct store_iter it =
        store_range(inv_store(v), &kind_controller_revision, pcs->ns, STR_NONE, STR_NONE);
    while (!str_is_empty(hash) && (o = store_next(&it))) {
        if (str_eq(o->owner_uid, pcs->uid) &&
            str_eq(jstr(jpath(obj_root(o), "data.generationHash")), hash))
            return o;
    }
    return NULL;
}

/* The clique, or a pod of it, is of another template. */
static bool member_is_outdated(const struct invariants *v, const struct obj *o, str clique,
                               const struct obj *revision)
{
    bool outdated = !has_name(revision, clique, obj_label(o, STR(LABEL_TEMPLATE_HASH)));
    struct obj *pod;
    struct store_iter p = store_range(inv_store(v), &kind_pod, o->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&p)))
        outdated |= str_eq(pod->owner_uid, o->uid) &&
                    !has_name(revision, clique, obj_label(pod, STR(LABEL_TEMPLATE_HASH)));
    return outdated;
}

/* An update replaces only the cliques of a replica that changed. */
static bool keeps_unchanged(const struct obj *pcs, const struct obj *group)
{
    str type = jstr(jpath(obj_spec(pcs), "updateStrategy.type"));
    return !str_is(type, "OnDelete") && !str_is(type, "Coherent") &&
           str_is(jstr(jpath(template_of(pcs, group), "rollingUpdate.members")), "Changed");
}

/* Is there a reason to make the clique of the replica anew: it is of another template, or, unless
 * those that did not change are kept, one that goes with it is. */
static bool has_reason(const struct invariants *v, const struct obj *member,
                       const struct obj *group, const struct obj *revision, bool keeps)
{
    struct arena a = ARENA_INIT;
    bool outdated = false;
    int64_t index = 0;
    (void)str_to_int(obj_label(member, STR(LABEL_PCSG_INDEX)), &index);
    for (struct jiter it = jiter(jgetc(obj_spec(group), "cliqueNames")); jnext(&it);) {
        str clique = jstr(it.value), name = name_member_pclq(&a, group->name, index, clique);
        const struct obj *o = store_get(inv_store(v), &kind_pclq, group->ns, name);
        if (keeps && !str_eq(name, member->name))
            continue;
        /* One that is not there goes with the rest of its replica. */
        outdated |= !o || member_is_outdated(v, o, clique, revision);
    }
    arena_done(&a);
    return outdated;
}

/* A gang of the map has that replica of the group, by the name in its template. */
static bool holds_replica(const struct obj *map, str group, int64_t index)
{
    for (struct jiter e = jiter(jgetc(obj_spec(map), "entries")); jnext(&e);) {
        jval indices = jget(jgetc(e.value, "pcsgReplicaIndices"), group);
        for (struct jiter it = jiter(indices); jnext(&it);) {
            if (jint(it.value, -1) == index)
                return true;
        }
    }
    return false;
}

static str replica_key(struct arena *a, const struct obj *o, str pcsg, int64_t index)
{
    return arena_printf(a, "%.*s/%.*s/%lld", STR_ARG(o->ns), STR_ARG(pcsg), (long long)index);
}

/* Marks all that the map holds as given up, or as not. */
static void mark_replicas(struct inv_updates *u, const struct obj *map, bool given_up)
{
    struct arena a = ARENA_INIT;
    str set = jstr(jgetc(obj_controller_ref(map), "name"));
    int64_t replica = jint(jgetc(obj_spec(map), "podCliqueSetReplicaIndex"), -1);
    for (struct jiter e = jiter(jgetc(obj_spec(map), "entries")); jnext(&e);) {
        for (struct jiter g = jiter(jgetc(e.value, "pcsgReplicaIndices")); jnext(&g);) {
            str pcsg = name_pcsg(&a, set, replica, g.key);
            for (struct jiter it = jiter(g.value); jnext(&it);) {
                str key = replica_key(&a, map, pcsg, jint(it.value, -1));
                counter_set(&u->disturbed, key, given_up ? INT64_MAX : 0);
            }
        }
    }
    arena_done(&a);
}

/* What a coherent update had above the number goes out of the map again, as it found no place in
 * time or another update came. Numbers wander there, so its own may be a low one: noted until it is
 * wanted again. */
static void note_given_up(struct inv_updates *u, const struct obj *before, const struct obj *now)
{
    str text = obj_annotation(before, STR("grove.io/surge"));
    struct doc *d = str_is_empty(text) ? NULL : doc_parse(text, NULL, NULL);
    if (!d)
        return;
    if (jlen(jgetc(doc_root(d), "replicas")) > 0) {
        mark_replicas(u, before, true);
        mark_replicas(u, now, false);
    }
    doc_unref(d);
}

static bool was_given_up(const struct inv_updates *u, const struct obj *group, int64_t index)
{
    struct arena a = ARENA_INIT;
    bool was = counter_get(&u->disturbed, replica_key(&a, group, group->name, index)) > 0;
    arena_done(&a);
    return was;
}

/* A clique that is made because a map wants its replica again, not because one did before. */
static void note_wanted(const struct invariants *v, struct inv_updates *u, const struct obj *member)
{
    const struct obj *group = controller_of(v, member, &kind_pcsg), *pcs = set_of(v, member);
    int64_t index, replica;
    if (!group || !pcs || !str_to_int(obj_label(member, STR(LABEL_PCSG_INDEX)), &index) ||
        !str_to_int(obj_label(member, STR(LABEL_PCS_INDEX)), &replica) ||
        !was_given_up(u, group, index))
        return;
    struct arena a = ARENA_INIT;
    str name = name_base_gang(&a, pcs->name, replica);
    const struct obj *map = store_get(inv_store(v), &kind_pod_gang_map, member->ns, name);
    if (!map || holds_replica(map, inv_template_name(v, map, group), index))
        counter_set(&u->disturbed, replica_key(&a, group, group->name, index), 0);
    arena_done(&a);
}

static void check_need(struct invariants *v, const struct inv_updates *u, const struct obj *member)
{
    const struct obj *group = controller_of(v, member, &kind_pcsg), *pcs = set_of(v, member);
    str label = obj_label(member, STR(LABEL_PCSG_INDEX));
    int64_t index;
    if (!group || group->deleting || !pcs || is_disturbed(v, u, group->uid) ||
        is_disturbed(v, u, pcs->uid) || !str_to_int(label, &index) ||
        index >= number(group, "replicas") || deletes_was_forced(v, member))
        return;
    jval status = obj_status(pcs);
    bool held = jint(jpath(obj_spec(pcs), "updateStrategy.partition"), 0) > 0;
    const struct obj *now = revision_called(v, pcs, jstr(jgetc(status, "currentGenerationHash")));
    const struct obj *before =
        revision_called(v, pcs, jstr(jgetc(status, "lastCompleteGenerationHash")));
    bool keeps = keeps_unchanged(pcs, group);
    if (!now || has_reason(v, member, group, now, keeps) ||
        (held && (!before || has_reason(v, member, group, before, keeps))) ||
        was_given_up(u, group, index))
        return;
    inv_fail(v, "rolls", "%.*s is taken, and %s is of the template it is to be of",
             STR_ARG(member->name), keeps ? "it" : "its replica");
}

/* ---- endings ---- */

static bool rolls_by_itself(const struct obj *pcs)
{
    jval strategy = jgetc(obj_spec(pcs), "updateStrategy");
    return !str_is(jstr(jgetc(strategy, "type")), "OnDelete") &&
           jint(jgetc(strategy, "partition"), 0) == 0;
}

static bool is_beyond(const struct obj *o, const char *label, const struct obj *owner)
{
    int64_t index;
    return str_to_int(obj_label(o, str_of(label)), &index) && index >= number(owner, "replicas");
}

/* It goes with something above it, or is beyond what is wanted: the update is not for it. */
static bool is_left_out(const struct invariants *v, const struct obj *pod, const struct obj *pcs)
{
    const struct obj *clique = controller_of(v, pod, &kind_pclq);
    if (!clique || clique->deleting || is_beyond(pod, LABEL_PCS_INDEX, pcs))
        return true;
    if (str_eq(clique->owner_uid, pcs->uid))
        return false;
    const struct obj *group = controller_of(v, clique, &kind_pcsg);
    return !group || group->deleting || is_beyond(pod, LABEL_PCSG_INDEX, group);
}

/* Its label is one of the revision's. */
static bool is_of(const struct obj *pod, const struct obj *revision)
{
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    for (struct jiter it = jiter(jpath(obj_root(revision), "data.templateHashes")); jnext(&it);) {
        if (has_name(revision, it.key, hash))
            return true;
    }
    return false;
}

/* It is going, and its node has yet to say that it has stopped. One that was there a moment ago
 * may not be known to go yet. */
static bool is_stopping(const struct invariants *v, const struct obj *pod)
{
    const struct obj *node = store_get(inv_store(v), &kind_node, STR_NONE, pod_node(pod));
    int64_t grace = jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), 0);
    return pod->deleting && node && jlen(jgetc(obj_spec(node), "taints")) == 0 && grace > 0 &&
           !pod_has_finished(pod);
}

/* What it is said to be of is said in the same breath; only of the youngest pods it may not know.
 */
static void check_ending(struct invariants *v, const struct store_event *e)
{
    const struct obj *pcs = e->obj;
    jval now = jgetc(obj_status(pcs), "updateProgress");
    if (!rolls_by_itself(pcs) || !j_has(jgetc(now, "updateEndedAt")) ||
        j_has(jpath(obj_status(e->prev), "updateProgress.updateEndedAt")))
        return;
    const struct obj *revision =
        revision_called(v, pcs, jstr(jgetc(obj_status(pcs), "currentGenerationHash")));
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, pcs->ns, STR_NONE, STR_NONE);
    while (revision && (pod = store_next(&it))) {
        if ((is_active(pod) || is_stopping(v, pod)) &&
            inv_made(v, pod) + inv_lag(v) < inv_wall(v) &&
            name_has_label(pcs->name, obj_label(pod, STR(LABEL_PCS))) && set_of(v, pod) == pcs &&
            !is_left_out(v, pod, pcs) && !is_of(pod, revision))
            inv_fail(v, "rolls", "the update of %.*s ends, and pod %.*s is of another template%s",
                     STR_ARG(pcs->name), STR_ARG(pod->name),
                     pod->deleting ? " and still runs" : "");
    }
}

/* ---- events ---- */

/* A pod is lost, is taken by others, or finishes: for its clique and its group. */
static void pod_disturbs(const struct invariants *v, struct inv_updates *u,
                         const struct store_event *e)
{
    const struct obj *now = event_now(e);
    bool goes = !e->prev->deleting && (!now || now->deleting);
    bool lost = is_ready(e->prev) && !is_ready(now) && !goes;
    if (!lost && !(goes && deletes_was_forced(v, e->obj)))
        return;
    const struct obj *clique = controller_of(v, e->obj, &kind_pclq);
    disturb(v, u, e->obj->owner_uid);
    if (clique)
        disturb(v, u, clique->owner_uid);
}

/* Numbers and what an update may take change: for itself, and what is above it. */
static void part_disturbs(const struct invariants *v, struct inv_updates *u,
                          const struct store_event *e)
{
    const struct obj *now = event_now(e);
    bool goes = e->prev && !e->prev->deleting && (!now || now->deleting);
    bool changed = now && e->prev && number(now, "replicas") != number(e->prev, "replicas");
    bool ended = now && e->prev && is_updating(e->prev) && !is_updating(now);
    if (changed || ended || (goes && deletes_was_forced(v, e->obj))) {
        disturb(v, u, e->obj->uid);
        disturb(v, u, e->obj->owner_uid);
    }
}

/* No more is put above the number than is allowed at the time. */
static void check_surge(struct invariants *v, const struct inv_updates *u,
                        const struct store_event *e)
{
    const struct obj *o = e->obj, *pcs = set_of(v, o);
    int64_t now = surged_replicas(o), before = e->prev ? surged_replicas(e->prev) : 0;
    if (now <= before || !pcs || is_disturbed(v, u, pcs->uid) || is_disturbed(v, u, o->uid))
        return;
    if (now > most_above(pcs, o))
        inv_fail(v, "rolls", "%s %.*s is to have %lld above its %lld, %lld are allowed",
                 o->kind->kind, STR_ARG(o->name), (long long)now, (long long)number(o, "replicas"),
                 (long long)most_above(pcs, o));
}

/* The same of what a map holds: whole minimums move. */
static void check_map_surge(struct invariants *v, const struct inv_updates *u,
                            const struct obj *map)
{
    static const struct kind *const kinds[] = {&kind_pclq, &kind_pcsg};
    const struct obj *pcs = set_of(v, map);
    struct obj *o;
    for (size_t i = 0; pcs && !is_disturbed(v, u, pcs->uid) && i < ARRAY_LEN(kinds); i++) {
        struct store_iter it = store_range(inv_store(v), kinds[i], map->ns, STR_NONE, STR_NONE);
        while ((o = store_next(&it))) {
            str name = inv_template_name(v, map, o);
            if (str_is_empty(name) || is_disturbed(v, u, o->uid))
                continue;
            int64_t n = mapped_surge(map, name).replicas, most = most_above(pcs, o);
            if (n > 0 && n > (most > 0 ? MAX(most, number(o, "minAvailable")) : 0))
                inv_fail(v, "rolls", "map %.*s holds %lld of %.*s above its %lld, not %lld",
                         STR_ARG(map->name), (long long)n, STR_ARG(o->name),
                         (long long)number(o, "replicas"), (long long)most);
        }
    }
}

void updates_event(struct invariants *v, struct inv_updates *u, const struct store_event *e)
{
    const struct obj *o = e->obj;
    bool gone = e->type == STORE_DELETED;
    bool taken = e->prev && !e->prev->deleting && (gone || o->deleting);
    if (o->kind == &kind_pod && taken && is_ready(e->prev))
        check_pod_floor(v, u, o);
    if (o->kind == &kind_pclq && taken) {
        if (clique_serves(v, o))
            check_group_floor(v, u, o, o);
        check_need(v, u, o);
    }
    if (o->kind == &kind_pclq && e->type == STORE_ADDED)
        note_wanted(v, u, o);
    if (o->kind == &kind_pod && e->prev)
        pod_disturbs(v, u, e);
    if (o->kind == &kind_pclq || o->kind == &kind_pcsg) {
        part_disturbs(v, u, e);
        check_surge(v, u, e);
    }
    if (o->kind == &kind_pod_gang_map && !gone && e->prev &&
        !str_eq(obj_annotation(o, STR("grove.io/surge")),
                obj_annotation(e->prev, STR("grove.io/surge"))))
        check_map_surge(v, u, o);
    if (o->kind == &kind_pod_gang_map && !gone && e->prev)
        note_given_up(u, e->prev, o);
    if (o->kind == &kind_pcs && !gone && e->prev) {
        if (o->generation != e->prev->generation)
            disturb(v, u, o->uid);
        if (o->generation != e->prev->generation && terms_of(o) != terms_of(e->prev))
            defer(v, &u->new_terms, o->uid);
        check_ending(v, e);
    }
}

void updates_done(struct inv_updates *u)
{
    counters_done(&u->disturbed);
    counters_done(&u->new_terms);
}
