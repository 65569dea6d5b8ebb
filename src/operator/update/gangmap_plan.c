/*
 * The planner of PodGangMaps, one per replica of a set that updates coherently.
 *
 * A map is made once: from the mappings in the status of cliques and groups when it was lost, from
 * the gangs there are when the set was not updated coherently before (they keep their names), else
 * anew. From then on it is the only place where it is decided which gang holds what:
 *
 *   scaling      the live numbers of cliques and groups are put in, update or not
 *   updates      one sub-step at a time, when the gate is open (coherent_update.h), in two halves
 *                where something may be surged (surge_map.h)
 *
 * Every write is conditional on the version that was read, so a repeated plan makes no second step.
 */
#include "grove/going.h"
#include "operator/common/revisions.h"
#include "operator/common/surge.h"
#include "operator/operator.h"
#include "operator/update/coherent_update.h"
#include "operator/update/gangmap_room.h"
#include "operator/update/surge_map.h"

enum { STAGE_MAP };

struct map_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    const struct obj *revision; /* that the replica goes to */
    struct gangmap_view view;
    struct surge_map surge;
};

/* ---- a new map ---- */

/* What a replica starts with: one gang of the minimum of all, and one for each replica of a group
 * above it. */
static void add_first(struct map_work *m, str hash, int64_t epoch)
{
    struct gangmap_view *v = &m->view;
    size_t n = v->map.n_components;
    (void)gangmap_add(&v->map, GANG_ANCHOR, epoch, hash, STR_NONE, -1);
    for (size_t c = 0; c < n; c++) {
        const struct gangmap_component *k = &v->components[c];
        struct gangmap_part *p = &v->map.entries[0].parts[c];
        if (!k->is_group)
            p->n = k->replicas;
        for (int64_t i = 0; k->is_group && i < MIN(k->min_available, k->replicas); i++)
            gangmap_add_index(&v->map, p, (int32_t)i);
    }
    for (size_t c = 0; c < n; c++) {
        const struct gangmap_component *k = &v->components[c];
        for (int64_t i = k->min_available; k->is_group && i < k->replicas; i++) {
            struct gangmap_entry *e = gangmap_add(&v->map, GANG_TAIL, epoch + 1, hash, k->name, i);
            gangmap_add_index(&v->map, &e->parts[c], (int32_t)i);
        }
    }
}

static void bootstrap(struct map_work *m)
{
    struct coherent_target t = coherent_target_of(&m->view, m->revision);
    add_first(m, t.hash, gangmap_next_epoch(&m->view.map, t.now));
}

/* Gangs up to this epoch have the names that a replica starts with. */
static void name_first(struct map_work *m, int64_t epoch)
{
    struct gangmap_view *v = &m->view;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (!v->components[c].is_group)
            continue;
        jw_key(&w, v->components[c].name);
        jw_int(&w, v->components[c].min_available);
    }
    jw_end(&w);
    v->map.names.first = epoch;
    v->map.names.above = doc_root(doc_hold(v->arena, jw_doc(&w)));
}

/* The version that the gangs which are there are of: the last one that was complete. */
static str hash_before(const struct map_work *m)
{
    str hash = jstr(jgetc(obj_status(m->pcs), "lastCompleteGenerationHash"));
    return revisions_by_hash(m->world, m->pcs, m->plan->arena, hash)
               ? hash
               : revision_generation_hash(m->revision);
}

/* The gangs that follow from the numbers, under their names. False: there are none. */
static bool migrate(struct map_work *m)
{
    struct gangmap_view *v = &m->view;
    const struct obj *base = world_get(m->world, &kind_pod_gang, m->pcs->ns, v->base);
    int64_t epoch = gangmap_next_epoch(&v->map, m->world->now);
    if (!base || base->deleting || !str_eq(base->owner_uid, m->pcs->uid))
        return false;
    name_first(m, epoch + 1);
    add_first(m, hash_before(m), epoch);
    return true;
}

/* What a gang says of itself; one of version 0.1.0 says it by its name. */
static struct gangmap_entry said_by(const struct map_work *m, const struct obj *gang)
{
    bool whole;
    struct gangmap_entry e = {.name = gang->name,
                              .epoch = epoch_read(obj_label(gang, STR(LABEL_EPOCH)))};
    e.hash = obj_label(gang, STR(LABEL_GENERATION_HASH));
    e.anchor = str_is(obj_label(gang, STR(LABEL_ANCHOR)), "true");
    e.role = e.anchor ? GANG_ANCHOR : GANG_TAIL;
    (void)gang_role_read(obj_label(gang, STR(LABEL_PODGANG_ROLE)), &e.role);
    if (e.epoch < 0)
        e.epoch = epoch_of_name(m->view.base, gang->name, &whole);
    if (e.epoch < 0)
        e.epoch = e.role == GANG_ANCHOR ? 1 : 2;
    if (str_is_empty(e.hash))
        e.hash = hash_before(m);
    return e;
}

/* The gang that a mapping names; NULL: it is gone. */
static const struct obj *remembered_gang(const struct map_work *m, str name)
{
    const struct obj *gang = world_get(m->world, &kind_pod_gang, m->pcs->ns, name);
    return gang && !gang->deleting && str_eq(gang->owner_uid, m->pcs->uid) ? gang : NULL;
}

/* Which names are not those that follow from epochs, by the gangs that mappings name. */
static void remember_name(struct map_work *m, str name, str part, int64_t index)
{
    struct gangmap *map = &m->view.map;
    const struct obj *gang = remembered_gang(m, name);
    if (!gang)
        return;
    struct gangmap_entry e = said_by(m, gang);
    struct gang_namer n = gang_namer(map->arena, map->base, &(struct gang_names){0}, e.role,
                                     e.epoch, part, index >= 0);
    bool whole;
    if (str_eq(gang_name(map->arena, &n, index), name))
        return;
    if (epoch_of_name(map->base, name, &whole) < 0) {
        name_first(m, MAX(map->names.first, e.epoch));
    } else {
        map->names.numbered = MAX(map->names.numbered, e.epoch);
        map->names.whole = whole ? MAX(map->names.whole, e.epoch) : map->names.whole;
    }
}

static const struct obj *component_obj(const struct map_work *m, size_t c)
{
    const struct gangmap_view *v = &m->view;
    const struct gangmap_component *k = &v->components[c];
    str name = k->is_group ? name_pcsg(v->arena, m->pcs->name, v->replica, k->name)
                           : name_pclq(v->arena, m->pcs->name, v->replica, k->name);
    return world_get(m->world, k->is_group ? &kind_pcsg : &kind_pclq, m->pcs->ns, name);
}

static jval mapping_of(const struct map_work *m, size_t c)
{
    const struct obj *o = component_obj(m, c);
    return jgetc(o ? obj_status(o) : JVAL_ABSENT, "podGangMapping");
}

/* The entry of this gang; NULL: the gang is gone. */
static struct gangmap_entry *remembered_entry(struct map_work *m, str name, str part, int64_t index)
{
    struct gangmap *map = &m->view.map;
    for (size_t i = 0; i < map->n; i++) {
        if (str_eq(map->entries[i].name, name))
            return &map->entries[i];
    }
    const struct obj *gang = remembered_gang(m, name);
    if (!gang)
        return NULL;
    struct gangmap_entry e = said_by(m, gang);
    return gangmap_add(map, e.role, e.epoch, e.hash, part, index);
}

static void remember_share(struct map_work *m, size_t c, str gang, jval share)
{
    struct gangmap_view *v = &m->view;
    const struct gangmap_component *k = &v->components[c];
    struct gangmap_entry *e;
    if (!k->is_group) {
        e = remembered_entry(m, gang, k->name, -1);
        if (e)
            e->parts[c].n = MAX(jint(share, 0), 0);
        return;
    }
    for (struct jiter it = jiter(share); jnext(&it);) {
        int64_t index = jint(it.value, -1);
        if (index < 0 || index >= INT32_MAX || gangmap_of_index(&v->map, c, index))
            continue;
        e = remembered_entry(m, gang, k->name, index);
        if (e)
            gangmap_add_index(&v->map, &e->parts[c], (int32_t)index);
    }
}

static int cmp_epochs(const void *a, const void *b)
{
    const struct gangmap_entry *x = a, *y = b;
    return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

/* From the mappings, when every component has one. */
static bool remember(struct map_work *m)
{
    struct gangmap_view *v = &m->view;
    for (size_t c = 0; c < v->map.n_components; c++) {
        jval mapping = mapping_of(m, c);
        if (jlen(mapping) == 0 && v->components[c].replicas > 0)
            return false;
        for (struct jiter it = jiter(mapping); jnext(&it);)
            remember_name(m, it.key, v->components[c].name,
                          v->components[c].is_group ? jint(jat(it.value, 0), 0) : -1);
    }
    for (size_t c = 0; c < v->map.n_components; c++) {
        for (struct jiter it = jiter(mapping_of(m, c)); jnext(&it);)
            remember_share(m, c, it.key, it.value);
    }
    gangmap_drop_empty(&v->map);
    if (v->map.n > 0)
        qsort(v->map.entries, v->map.n, sizeof(*v->map.entries), cmp_epochs);
    return v->map.n > 0;
}

static void plan_create_map(struct map_work *m)
{
    struct gangmap_view *v = &m->view;
    struct labels l, notes;
    struct jw w;
    const char *why = "from the mappings of cliques and groups";
    if (!remember(m)) {
        why = migrate(m) ? "from the gangs there are" : "one gang of all, one for each more";
        if (v->map.n == 0)
            bootstrap(m);
    }
    /* Gangs may have gone meanwhile, and numbers may be others: nobody is unwanted for that. */
    struct coherent_target t = coherent_target_of(v, m->revision);
    gangmap_mark_current(v, m->revision);
    (void)gangmap_rename_of(v, &v->map, m->revision);
    (void)coherent_scale(&v->map, v->components, &t, NULL);
    labels_init(&l, v->arena);
    labels_common(&l, m->pcs->name, "pcs-podgangmap");
    labels_set_int(&l, LABEL_PCS_INDEX, v->replica);
    labels_init(&notes, v->arena);
    if (!str_is_empty(gang_names_text(v->arena, &v->map.names)))
        labels_set(&notes, ANNOTATION_GANG_NAMES, gang_names_text(v->arena, &v->map.names));
    make_begin(
        &w, &(struct make_meta){&kind_pod_gang_map, m->pcs->ns, v->base, &l, &notes, m->pcs, NULL});
    jw_key(&w, STR("spec"));
    gangmap_write(&w, &v->map, v->components, v->replica);
    plan_why(plan_create(m->plan, STAGE_MAP, &kind_pod_gang_map, m->pcs->ns, v->base, make_end(&w)),
             m->plan, "%zu gangs: %s", v->map.n, why);
}

/* ---- a map that is there ---- */

static int64_t highest_epoch(const struct gangmap *m)
{
    int64_t highest = 0;
    for (size_t i = 0; i < m->n; i++)
        highest = MAX(highest, m->entries[i].epoch);
    return highest;
}

/* How gangs of a map of version 0.1.0 are called; and an epoch that is not to be used again,
 * because its entry goes. */
static void write_names(const struct gangmap_view *v, const struct gangmap *next, struct jw *w)
{
    int64_t last = MAX(highest_epoch(&v->map), v->map.last);
    if (gang_map_is_old(v->obj) && !str_is_empty(gang_names_text(v->arena, &v->map.names)))
        jw_put_str(w, ANNOTATION_GANG_NAMES, gang_names_text(v->arena, &v->map.names));
    if (last > v->map.last && last > highest_epoch(next))
        jw_put_str(w, ANNOTATION_LAST_EPOCH, arena_int(v->arena, last));
}

/* With the version that was read, which makes the patch conditional. */
static struct doc *change_metadata(const struct map_work *m, const struct gangmap *next)
{
    const struct gangmap_view *v = &m->view;
    struct jw w, notes;
    jw_init(&w);
    jw_object(&w);
    jw_init(&notes);
    jw_object(&notes);
    surge_map_write(v, &m->surge, &notes);
    gangmap_write_aside(v, next, revision_generation_hash(m->revision), &notes);
    write_names(v, next, &notes);
    jw_end(&notes);
    if (!str_is(strbuf_str(&notes.out), "{}")) {
        jw_key(&w, STR("annotations"));
        jw_raw(&w, strbuf_str(&notes.out));
    }
    jw_done(&notes);
    jw_put_str(&w, "resourceVersion", arena_uint(v->arena, v->obj->rv));
    jw_end(&w);
    return doc_hold(v->arena, jw_doc(&w));
}

/* What is as it was is copied: of a map of thousands a step changes two. */
static struct plan_write *plan_change(struct map_work *m, const struct gangmap *next)
{
    const struct gangmap_view *v = &m->view;
    struct splice s;
    splice_init(&s, doc_text(v->obj->doc).len, 0);
    uint32_t top = splice_open(&s, true);
    splice_member(&s, STR("metadata"), doc_root(change_metadata(m, next)), true);
    splice_key(&s, STR("spec"), false);
    uint32_t spec = splice_open(&s, true);
    gangmap_splice(&s, next, v->components, v->replica);
    splice_close(&s, spec, 2);
    splice_close(&s, top, 2);
    struct doc *patch = splice_doc(&s, NULL);
    BUG_ON(!patch); /* as large as what is there, or little larger */
    struct plan_write *w = plan_merge_patch(m->plan, STAGE_MAP, v->obj, STR_NONE, patch, 0);
    w->rv = v->obj->rv;
    return w;
}

/* Of a write of the map: who has gangs of their own now. */
static void report_moved(const struct map_work *m, str moved)
{
    if (!str_is_empty(moved))
        plan_event(m->plan, m->pcs, false, STR("PodGangPartnerMoved"), "replica %lld: %.*s",
                   (long long)m->view.replica, STR_ARG(moved));
}

static bool plan_scaling(struct map_work *m)
{
    struct gangmap_view *v = &m->view;
    struct coherent_target t = coherent_target_of(v, m->revision);
    str moved = STR_NONE;
    if (!coherent_is_scaled(&v->map, v->components))
        return false;
    gangmap_mark_current(v, m->revision);
    struct gangmap next = gangmap_copy(&v->map);
    (void)coherent_scale(&next, v->components, &t, &moved);
    plan_why(plan_change(m, &next), m->plan, "cliques or groups were scaled");
    report_moved(m, moved);
    return true;
}

static str describe_step(const struct coherent_update *u)
{
    struct arena *a = u->view->arena;
    str text =
        arena_printf(a, "sub-step %lld.%lld:", (long long)u->next.step, (long long)u->next.sub);
    for (size_t c = 0; c < u->plan.n; c++) {
        if (u->next.take[c] > 0)
            text = arena_printf(a, "%.*s %lld %.*s", STR_ARG(text), (long long)u->next.take[c],
                                STR_ARG(u->view->components[c].name));
    }
    for (size_t c = 0; c < u->plan.n; c++) {
        if (u->next.aside[c] > 0)
            text = arena_printf(a, "%.*s; %lld %.*s without room aside", STR_ARG(text),
                                (long long)u->next.aside[c], STR_ARG(u->view->components[c].name));
    }
    return text;
}

/* Something that serves would go with the next step. */
static bool takes_serving(const struct map_work *m, const struct coherent_update *u)
{
    int64_t *up = arena_array(m->plan->arena, int64_t, u->plan.n + 1), sum = 0;
    (void)coherent_apply(&u->plan, &m->view.map, &u->next, &u->target, up);
    for (size_t c = 0; c < u->plan.n; c++)
        sum += up[c];
    return sum > 0;
}

/* What another strategy has brought to the version already is called so, and not moved. */
static bool plan_adopt(struct map_work *m)
{
    struct gangmap next = gangmap_copy(&m->view.map);
    if (!gangmap_rename_of(&m->view, &next, m->revision))
        return false;
    plan_why(plan_change(m, &next), m->plan, "pods of a gang are of the version already");
    return true;
}

/* Of a template that no clique of the revision has. */
static bool is_of_another(void *ctx, const struct obj *pod)
{
    const struct map_work *m = ctx;
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    for (struct jiter it = jiter(m->view.set.cliques); jnext(&it);) {
        if (revision_names(m->revision, jstr(jgetc(it.value, "name")), hash))
            return false;
    }
    return true;
}

/* What a sub-step before took has not stopped yet. */
static bool old_pods_run(struct map_work *m)
{
    return going_count_of_replica(m->world, m->pcs, m->view.replica, is_of_another, m) > 0;
}

static void plan_step(struct map_work *m)
{
    struct coherent_update u;
    struct gangmap next;
    if (coherent_update_waits(&u, &m->view, m->revision))
        return;
    coherent_update_judge(&u, &m->view, m->revision);
    if (m->view.until > 0)
        plan_look_again(m->plan, m->view.until - world_steady(m->world));
    if (!u.scoped || !u.has_next || old_pods_run(m))
        return;
    /* How much serves is no matter where nothing is taken yet. */
    bool counted = u.gate.wait == COHERENT_GO || u.gate.wait == COHERENT_SERVING;
    bool surges =
        u.surges && counted && takes_serving(m, &u) && !surge_map_is_needless(&u, m->revision);
    if ((!surges && u.gate.wait != COHERENT_GO) || plan_adopt(m))
        return;
    bool gave_up = m->surge.timed_out && str_eq(m->surge.hash, u.target.hash);
    if (!gave_up)
        m->surge = (struct surge_map){0};
    if (surges) {
        u.next.aside = arena_array(m->plan->arena, int64_t, u.plan.n + 1); /* not above, too */
        m->surge = (struct surge_map){.hash = u.target.hash, .since = m->world->now, .any = true};
        next = surge_map_add(&u, &m->view);
    } else {
        next = coherent_apply(&u.plan, &m->view.map, &u.next, &u.target, NULL);
    }
    str step = describe_step(&u);
    const char *how = surges ? " above the number wanted" : "";
    plan_why(plan_change(m, &next), m->plan, "%.*s%s", STR_ARG(step), how);
    plan_event(m->plan, m->pcs, false, STR("CoherentUpdateStep"), "replica %lld, %.*s%s",
               (long long)m->view.replica, STR_ARG(step), how);
}

/* What was added has no place, and that for long: it goes again, and it is said. */
static bool plan_timeout(struct map_work *m, const struct coherent_update *u)
{
    usec since = world_moment(m->world, m->surge.since);
    str why = surge_map_unplaced(u);
    if (str_is_empty(why))
        return false;
    if (!world_has_passed(m->world, since, surge_timeout(m->pcs), m->plan))
        return false;
    struct gangmap next = surge_map_undo(&m->view, m->surge.hash);
    m->surge = (struct surge_map){.hash = m->surge.hash, .timed_out = true};
    plan_why(plan_change(m, &next), m->plan, "what was surged has no place");
    plan_event(m->plan, m->pcs, true, STR("SurgeTimedOut"),
               "replica %lld: no place for %lld s for what is above the number wanted: %.*s; the "
               "update goes on in place",
               (long long)m->view.replica, (long long)(surge_timeout(m->pcs) / USEC_PER_SEC),
               STR_ARG(why));
    return true;
}

/* What RollingRecreate has above the numbers, and the numbers in the same write: a map that has the
 * one without the other asks for pods that nobody wants. True: something is written. */
static bool plan_above(struct map_work *m)
{
    struct gangmap_view *v = &m->view;
    struct gangmap next;
    struct coherent_target t = coherent_target_of(v, m->revision);
    str moved = STR_NONE;
    bool scaled = coherent_is_scaled(&v->map, v->components);
    if (scaled)
        gangmap_mark_current(v, m->revision);
    if (!surge_map_follow(v, &t, &next))
        return false;
    if (scaled)
        (void)coherent_scale(&next, v->components, &t, &moved);
    m->surge = (struct surge_map){0};
    for (size_t c = 0; c < next.n_components; c++)
        m->surge.in_place = m->surge.in_place || v->components[c].surged > 0;
    plan_why(plan_change(m, &next), m->plan, "cliques or groups have another number above theirs");
    report_moved(m, moved);
    return true;
}

/* Between the halves of a step. True: something is written. */
static bool plan_surge(struct map_work *m, bool coherent)
{
    struct coherent_update u;
    m->surge = surge_map_read(&m->view);
    if (!m->surge.any || m->surge.in_place)
        return plan_above(m);
    if (!coherent || !update_holds(m->pcs, m->view.replica) ||
        !str_eq(m->surge.hash, revision_generation_hash(m->revision))) {
        struct gangmap next = surge_map_undo(&m->view, m->surge.hash);
        m->surge = (struct surge_map){0};
        plan_why(plan_change(m, &next), m->plan, "what was surged is for another update");
        return true;
    }
    if (!update_rolls(m->pcs, m->view.replica))
        return false;
    coherent_update_judge(&u, &m->view, m->revision);
    if (u.gate.wait != COHERENT_GO && u.gate.wait != COHERENT_SERVING)
        return plan_timeout(m, &u);
    struct gangmap next = surge_map_finish(&m->view);
    m->surge = (struct surge_map){0};
    plan_why(plan_change(m, &next), m->plan, "what is new serves, as much that is old goes");
    return true;
}

/* Another strategy changed pods in place: the map calls its gangs by what they are now. One that
 * holds a pod of another template keeps its name (by hand, pods change when users want). */
static void plan_rename(struct map_work *m)
{
    bool any = false;
    gangmap_mark_content(&m->view, m->revision);
    struct gangmap next = gangmap_copy(&m->view.map);
    str hash = revision_generation_hash(m->revision);
    for (size_t i = 0, to; i < next.n; i = to) {
        bool all = true;
        for (to = i; to < next.n && next.entries[to].epoch == next.entries[i].epoch; to++)
            all = all && gangmap_is_current(&next, &next.entries[to]);
        for (size_t k = i; all && k < to; k++) {
            any = any || !str_eq(next.entries[k].hash, hash);
            next.entries[k].hash = hash;
        }
    }
    if (any)
        plan_why(plan_change(m, &next), m->plan, "an update that was not coherent has ended");
}

/* ---- plan ---- */

/* A map of version 0.1.0 is written as maps are now: nothing of its gangs changes. */
static bool plan_take_over(struct map_work *m)
{
    if (!gang_map_is_old(m->view.obj))
        return false;
    m->surge = surge_map_read(&m->view);
    struct gangmap next = gangmap_copy(&m->view.map);
    plan_why(plan_change(m, &next), m->plan, "entries have epochs and roles now");
    return true;
}

/* Whose map this is: its owner, or by its name, P-i. */
static bool find_set(struct map_work *m, const struct key *key, const struct obj *there,
                     int64_t *ret_replica)
{
    size_t dash = key->name.len;
    while (dash > 0 && key->name.p[dash - 1] != '-')
        dash--;
    if (dash < 2 || !str_to_int(str_sub(key->name, dash, key->name.len), ret_replica))
        return false;
    m->pcs = there ? owner_pcs(m->world, there)
                   : world_get(m->world, &kind_pcs, key->ns, str_sub(key->name, 0, dash - 1));
    return m->pcs && *ret_replica >= 0 &&
           str_eq(name_base_gang(m->plan->arena, m->pcs->name, *ret_replica), key->name);
}

static void plan_map(struct map_work *m, const struct obj *there, int64_t replica)
{
    bool coherent = update_strategy_of(m->pcs) == UPDATE_COHERENT;
    if (replica >= jint(jgetc(obj_spec(m->pcs), "replicas"), 0)) {
        if (there)
            plan_why(plan_delete(m->plan, STAGE_MAP, there), m->plan, "replica %lld is not wanted",
                     (long long)replica);
        return;
    }
    m->revision = update_revision(m->world, m->plan->arena, m->pcs, replica);
    if (!m->revision || (!there && !coherent))
        return;
    if (!gangmap_view(&m->view, m->world, m->plan->arena, m->pcs, replica)) {
        plan_create_map(m);
        return;
    }
    gangmap_mark_aside(&m->view, revision_generation_hash(m->revision));
    if (plan_take_over(m) || plan_surge(m, coherent) || plan_scaling(m) || m->surge.any)
        return;
    if (coherent && update_rolls(m->pcs, replica))
        plan_step(m);
    else if (!coherent && !update_is_running(m->pcs))
        plan_rename(m);
}

void gangmap_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct map_work m = {.world = w, .plan = p};
    const struct obj *there = world_get(w, &kind_pod_gang_map, key->ns, key->name);
    int64_t replica;
    (void)ctx;
    if ((there && there->deleting) || !find_set(&m, key, there, &replica) || m.pcs->deleting)
        return;
    if (there && !str_eq(there->owner_uid, m.pcs->uid))
        return;
    plan_map(&m, there, replica);
}
