/* See coherent_update.h. */
#include "operator/update/coherent_update.h"

#include "operator/common/revisions.h"
#include "operator/update/gangmap_room.h"
#include "operator/update/surge_map.h"

enum { MAX_IN_FLIGHT = 64 };

/* ---- scope ---- */

static jval progress_of(const struct obj *pcs)
{
    return jgetc(obj_status(pcs), "updateProgress");
}

static bool is_in_scope(jval progress, const struct gangmap_component *c)
{
    jval list = c->is_group ? jgetc(progress, "updatedPodCliqueScalingGroups")
                            : jgetc(progress, "updatedStandalonePodCliques");
    return gangmap_lists(list, c->name);
}

/* Some unit of the component in some replica is not what that replica goes to. *ret_known: every
 * replica has its map, so the answer counts. */
static void find_changed(const struct update_work *u, bool *changed, size_t n, bool *ret_known)
{
    *ret_known = true;
    for (int64_t i = 0; i < u->set.replicas && *ret_known; i++) {
        struct gangmap_view v;
        if (!gangmap_view(&v, u->world, u->plan->arena, u->pcs, i)) {
            *ret_known = false;
            return;
        }
        gangmap_mark_current(&v, update_target_of(u, i)->revision);
        for (size_t c = 0; c < MIN(n, v.map.n_components); c++)
            changed[c] =
                changed[c] || gangmap_units(&v.map, c, false) != gangmap_units(&v.map, c, true);
    }
}

static void write_scope(struct jw *w, const struct gangmap_view *v, const bool *changed,
                        bool groups)
{
    jw_put_array(w, groups ? "updatedPodCliqueScalingGroups" : "updatedStandalonePodCliques");
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (changed[c] && v->components[c].is_group == groups)
            jw_str(w, v->components[c].name);
    }
    jw_end(w);
}

static void forget(const struct update_work *u, const char *key, struct jw *w)
{
    if (!j_has(jget(progress_of(u->pcs), str_of(key))))
        return;
    jw_key(w, str_of(key));
    jw_null(w);
}

void coherent_disown_scope(const struct update_work *u, struct jw *w)
{
    forget(u, "scopeGenerationHash", w);
}

/* What is in scope is decided when an update begins, and stays: what changed now, and what had not
 * come to an end. Both are what is not of the new version anywhere. Where a map is missing it is
 * decided later, and nothing moves before. */
void coherent_set_status(const struct update_work *u, bool began, struct jw *w)
{
    struct gangmap_view v;
    bool known;
    str scope = jstr(jgetc(progress_of(u->pcs), "scopeGenerationHash"));
    if (!began && str_eq(scope, u->current.hash))
        return;
    gangmap_view_init(&v, u->world, u->plan->arena, u->pcs, 0);
    bool *changed = arena_array(u->plan->arena, bool, v.map.n_components + 1);
    find_changed(u, changed, v.map.n_components, &known);
    if (!known) {
        forget(u, "updatedStandalonePodCliques", w);
        forget(u, "updatedPodCliqueScalingGroups", w);
        forget(u, "scopeGenerationHash", w);
        return;
    }
    write_scope(w, &v, changed, false);
    write_scope(w, &v, changed, true);
    jw_put_str(w, "scopeGenerationHash", u->current.hash);
}

/* ---- one replica ---- */

struct coherent_target coherent_target_of(const struct gangmap_view *v, const struct obj *revision)
{
    str tail = jstr(jpath(obj_root(v->pcs), "spec.updateStrategy.coherent.tail"));
    return (struct coherent_target){.base = v->base,
                                    .hash = revision_generation_hash(revision),
                                    .now = v->world->now,
                                    .mixes = update_strategy_of(v->pcs) != UPDATE_COHERENT,
                                    .tail = str_is(tail, "Independent") ? COHERENT_INDEPENDENT
                                                                        : COHERENT_PAIRED};
}

struct eyes {
    struct gangmap_view *view;
    const struct obj *revision;
    const struct gangmap *before; /* gangmap_as_before, once it was asked for */
};

static bool gang_is_ready(void *ctx, str gang)
{
    const struct eyes *e = ctx;
    const struct obj *o = world_get(e->view->world, &kind_pod_gang, e->view->pcs->ns, gang);
    return o && !o->deleting && condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
}

static int64_t ready_pods(void *ctx, str gang, size_t component)
{
    const struct eyes *e = ctx;
    str hash = revision_clique_hash(e->revision, e->view->components[component].name);
    return gangmap_ready_pods(e->view, component, gang, hash);
}

static void count_serving(void *ctx)
{
    const struct eyes *e = ctx;
    gangmap_mark_down(e->view);
}

/* The map of before is made when somebody asks, which is seldom. */
static bool was_complete(void *ctx, size_t entry, size_t component)
{
    struct eyes *e = ctx;
    if (!e->before)
        e->before = gangmap_as_before(e->view);
    return e->before->entries[entry].parts[component].current;
}

/* The status says what is in scope of the template as it is now, and for whom. */
static bool is_scoped(const struct gangmap_view *v, jval progress)
{
    const struct obj *current = revisions_current(v->world, v->pcs, v->arena);
    return current &&
           str_eq(jstr(jgetc(progress, "scopeGenerationHash")),
                  revision_generation_hash(current)) &&
           jint(jgetc(progress, "partition"), 0) == update_partition(v->pcs);
}

bool coherent_update_waits(struct coherent_update *u, const struct gangmap_view *v,
                           const struct obj *revision)
{
    const struct gangmap_entry **made =
        arena_array(v->arena, const struct gangmap_entry *, v->map.n + 1);
    struct gangmap_view *few = arena_new(v->arena, struct gangmap_view);
    size_t n = coherent_newest(&v->map, made);
    /* From the newest on; in the map they stand the other way round. */
    for (size_t i = 0; i < n / 2; i++) {
        const struct gangmap_entry *e = made[i];
        made[i] = made[n - 1 - i];
        made[n - 1 - i] = e;
    }
    *few = *v;
    few->map = gangmap_pick(&v->map, made, n);
    gangmap_mark_current(few, revision);
    struct eyes eyes = {.view = few, .revision = revision};
    struct coherent_live live = {gang_is_ready, ready_pods, count_serving, &eyes, was_complete};
    *u = (struct coherent_update){.view = few, .target = coherent_target_of(v, revision)};
    gangmap_mark_aside(few, u->target.hash);
    return !coherent_check_gangs(&few->map, &u->target, &live, &u->gate);
}

void coherent_update_judge(struct coherent_update *u, struct gangmap_view *v,
                           const struct obj *revision)
{
    jval progress = progress_of(v->pcs);
    struct eyes eyes = {.view = v, .revision = revision};
    struct coherent_live live = {gang_is_ready, ready_pods, count_serving, &eyes, was_complete};
    *u = (struct coherent_update){.view = v, .target = coherent_target_of(v, revision)};
    u->scoped = is_scoped(v, progress);
    gangmap_mark_current(v, revision);
    for (size_t c = 0; c < v->map.n_components; c++)
        v->components[c].in_scope =
            u->scoped && (is_in_scope(progress, &v->components[c]) ||
                          gangmap_units(&v->map, c, false) != gangmap_units(&v->map, c, true));
    u->surges = surge_map_decide(v, &u->target);
    gangmap_mark_aside(v, u->target.hash);
    gangmap_mark_room(v);
    coherent_plan(v->arena, &v->map, v->components, &u->plan);
    u->has_next = coherent_next(&u->plan, &v->map, &u->next);
    u->gate = coherent_check(&u->plan, &v->map, &u->target, &live);
}

/* ---- the set's status ---- */

/* Rollups tell of a replica that nobody works at; one at work is done when nothing of the old
 * version is left and its last sub-step has come to an end. */
bool coherent_replica_done(const struct update_work *u, int64_t replica)
{
    struct gangmap_view v;
    struct coherent_update c;
    const struct obj *revision = update_target_of(u, replica)->revision;
    if (!update_replica_is_done(u, replica) || !revision)
        return false;
    if (!update_holds(u->pcs, replica))
        return true;
    if (!gangmap_view(&v, u->world, u->plan->arena, u->pcs, replica))
        return false;
    if (coherent_update_waits(&c, &v, revision))
        return false;
    coherent_update_judge(&c, &v, revision);
    return c.scoped && !c.has_next && c.gate.wait == COHERENT_GO;
}

static void write_in_flight(const struct coherent_update *c, struct jw *w)
{
    struct gangmap_view *v = c->view;
    const struct gangmap_entry **made =
        arena_array(v->arena, const struct gangmap_entry *, v->map.n + 1);
    size_t n = coherent_newest(&v->map, made), listed = 0;
    struct eyes eyes = {.view = v};
    for (size_t i = n; i > 0 && listed < MAX_IN_FLIGHT; i--) {
        if (!str_eq(made[i - 1]->hash, c->target.hash) || made[i - 1]->aside ||
            !gangmap_is_current(&v->map, made[i - 1]) || gang_is_ready(&eyes, made[i - 1]->name))
            continue;
        if (listed++ == 0)
            jw_put_array(w, "inFlightPodGangs");
        jw_str(w, made[i - 1]->name);
    }
    if (listed)
        jw_end(w);
}

void coherent_replica_status(const struct update_work *u, int64_t replica, struct jw *w)
{
    struct gangmap_view v;
    struct coherent_update c;
    const struct obj *revision = update_target_of(u, replica)->revision;
    if (!revision)
        return;
    if (!gangmap_view(&v, u->world, u->plan->arena, u->pcs, replica)) {
        jw_put_cstr(w, "errorMessage", "the map of its gangs is not there yet");
        return;
    }
    if (!coherent_update_waits(&c, &v, revision))
        coherent_update_judge(&c, &v, revision);
    write_in_flight(&c, w);
    str why = coherent_explain(v.arena, &c.gate);
    if (!str_is_empty(why))
        jw_put_str(w, "errorMessage", why);
}
