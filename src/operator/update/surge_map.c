/* See surge_map.h. */
#include "operator/update/surge_map.h"

#include "client/slots.h"
#include "grove/pod.h"
#include "operator/common/revisions.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"

/* Above the number, in one map: more than anybody means. */
enum { MAX_ABOVE = 100000 };

/* ---- reading ---- */

static jval config_of(const struct gangmap_view *v, const struct gangmap_component *c)
{
    jval list = c->is_group ? v->set.scaling_groups : v->set.cliques;
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), c->name))
            return it.value;
    }
    return JVAL_ABSENT;
}

struct surge_map surge_map_read(struct gangmap_view *v)
{
    struct surge_map s = {0};
    str text = v->obj ? obj_annotation(v->obj, STR(ANNOTATION_SURGE)) : STR_NONE;
    struct doc *d = str_is_empty(text) ? NULL : doc_hold(v->arena, doc_parse(text, NULL, NULL));
    jval root = d ? doc_root(d) : JVAL_ABSENT;
    bool coherent = update_strategy_of(v->pcs) == UPDATE_COHERENT;
    s.in_place = j_has(jgetc(root, "above"));
    jval above = jget(root, s.in_place ? STR("above") : STR("replicas"));
    s.hash = jstr(jgetc(root, "hash"));
    s.timed_out = j_is_true(jgetc(root, "timedOut"));
    (void)time_parse_rfc3339(jstr(jgetc(root, "startedAt")), &s.since);
    for (size_t c = 0; c < v->map.n_components; c++) {
        struct gangmap_component *k = &v->components[c];
        int64_t n = jint(jget(above, k->name), 0);
        k->surged = n > 0 && n < INT32_MAX ? n : 0;
        k->max_surge = coherent ? surge_said(v->pcs, config_of(v, k), k->replicas) : 0;
        s.any = s.any || k->surged > 0;
    }
    return s;
}

bool surge_map_decide(struct gangmap_view *v, const struct coherent_target *t)
{
    struct surge_map s = surge_map_read(v);
    bool surges = !(s.timed_out && str_eq(s.hash, t->hash));
    for (size_t c = 0; c < v->map.n_components; c++)
        surges = surges && (!v->components[c].in_scope || v->components[c].replicas == 0 ||
                            v->components[c].max_surge > 0);
    for (size_t c = 0; c < v->map.n_components && !surges; c++)
        v->components[c].max_surge = 0;
    return surges;
}

/* ---- the halves of a step ---- */

static struct gangmap_entry *entry_named(struct gangmap *m, str name)
{
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->entries[i].name, name))
            return &m->entries[i];
    }
    return NULL;
}

static void use_indices(const struct gangmap *m, size_t c, struct slots *used)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[c];
        for (int64_t k = 0; k < p->n; k++)
            slots_add(used, p->indices[k]);
    }
}

/* Puts a number that nobody has into the part. */
static void add_free(struct gangmap *m, struct gangmap_part *part, struct slots *used)
{
    int64_t index = slots_free_from(used, 0);
    gangmap_add_index(m, part, (int32_t)index);
    slots_add(used, index);
}

/* A gang of one component, with a number of its own. */
static struct gangmap_entry *add_own(struct gangmap *m, const struct gangmap_view *v,
                                     const struct gangmap_entry *made, struct slots *used)
{
    size_t c = 0;
    while (made->parts[c].n == 0)
        c++;
    int64_t index = v->components[c].is_group ? slots_free_from(&used[c], 0) : -1;
    return gangmap_add(m, made->role, made->epoch, made->hash, v->components[c].name, index);
}

/* What the step made of the entry: it is new, or pods joined it. */
static void add_entry(struct gangmap *m, struct gangmap_view *v, const struct gangmap_entry *made,
                      struct slots *used)
{
    struct gangmap_entry *e = entry_named(m, made->name);
    bool is_new = !e;
    if (is_new)
        e = made->anchor ? gangmap_add(m, made->role, made->epoch, made->hash, STR_NONE, -1)
                         : add_own(m, v, made, used);
    for (size_t c = 0; c < m->n_components; c++) {
        struct gangmap_part *p = &e->parts[c];
        int64_t more = made->parts[c].n - p->n;
        if (is_new)
            p->current = true;
        if (more <= 0)
            continue;
        v->components[c].surged += more;
        for (int64_t i = 0; v->components[c].is_group && i < more; i++)
            add_free(m, p, &used[c]);
        if (!v->components[c].is_group)
            p->n += more;
    }
}

/* The step as it is made in place tells which gangs come of it and what is in them. */
struct gangmap surge_map_add(const struct coherent_update *u, struct gangmap_view *v)
{
    struct gangmap made = coherent_apply(&u->plan, &v->map, &u->next, &u->target, NULL);
    struct gangmap next = gangmap_copy(&v->map);
    size_t n = next.n_components;
    struct slots *used = arena_array(v->arena, struct slots, n + 1);
    for (size_t c = 0; c < n; c++) {
        v->components[c].surged = 0;
        if (v->components[c].is_group)
            use_indices(&v->map, c, &used[c]);
    }
    for (size_t i = 0; i < made.n; i++)
        add_entry(&next, v, &made.entries[i], used);
    for (size_t c = 0; c < n; c++)
        slots_done(&used[c]);
    return next;
}

static int64_t surplus_of(const struct gangmap_view *v, size_t c)
{
    int64_t more = gangmap_units(&v->map, c, false) - v->components[c].replicas;
    return MAX(0, MIN(v->components[c].surged, more));
}

struct gangmap surge_map_finish(struct gangmap_view *v)
{
    struct gangmap next = gangmap_copy(&v->map);
    int64_t *take = arena_array(v->arena, int64_t, next.n_components + 1);
    for (size_t c = 0; c < next.n_components; c++) {
        take[c] = surplus_of(v, c);
        v->components[c].surged = 0;
    }
    coherent_drain(&next, v->components, take);
    return next;
}

/* Takes units out of an entry; returns how many. */
static int64_t take_back(struct gangmap_part *p, bool is_group, int64_t n)
{
    n = MIN(n, p->n);
    if (!is_group) {
        p->n -= n;
        return n;
    }
    for (int64_t i = 0; i < n; i++)
        (void)gangmap_take_index(p, (size_t)p->n - 1);
    return n;
}

/* What came last stands last. */
struct gangmap surge_map_undo(struct gangmap_view *v, str hash)
{
    struct gangmap next = gangmap_copy(&v->map);
    for (size_t c = 0; c < next.n_components; c++) {
        int64_t n = surplus_of(v, c);
        for (size_t i = next.n; i > 0 && n > 0; i--) {
            struct gangmap_entry *e = &next.entries[i - 1];
            if (str_eq(e->hash, hash))
                n -= take_back(&e->parts[c], v->components[c].is_group, n);
        }
        v->components[c].surged = 0;
    }
    gangmap_drop_empty(&next);
    return next;
}

/* All cliques of a replica of a group are of the revision. */
static bool replica_is_new(const struct gangmap_view *v, size_t c, int64_t index,
                           const struct obj *revision)
{
    struct group_view g;
    str pcsg = name_pcsg(v->arena, v->pcs->name, v->replica, v->components[c].name);
    bool all = pcs_find_group(&v->set, v->components[c].name, &g);
    for (struct jiter it = jiter(g.clique_names); all && jnext(&it);) {
        str name = name_member_pclq(v->arena, pcsg, index, jstr(it.value));
        const struct obj *o = world_get(v->world, &kind_pclq, v->pcs->ns, name);
        all = o && revision_names(revision, jstr(it.value), obj_label(o, STR(LABEL_TEMPLATE_HASH)));
    }
    return all;
}

static bool group_has_new(const struct gangmap_view *v, size_t c, const struct obj *revision)
{
    for (size_t i = 0; i < v->map.n; i++) {
        const struct gangmap_part *p = &v->map.entries[i].parts[c];
        for (int64_t k = 0; !p->current && k < p->n; k++) {
            if (replica_is_new(v, c, p->indices[k], revision))
                return true;
        }
    }
    return false;
}

static bool clique_has_new(const struct gangmap_view *v, size_t c, const struct obj *revision)
{
    str clique = v->components[c].name;
    str name = name_pclq(v->arena, v->pcs->name, v->replica, clique);
    const struct obj *pclq = world_get(v->world, &kind_pclq, v->pcs->ns, name);
    return pclq && update_pods_named(tally_of(v->world, pclq->uid), revision, clique) >
                       gangmap_units(&v->map, c, true);
}

bool surge_map_is_needless(const struct coherent_update *u, const struct obj *revision)
{
    const struct gangmap_view *v = u->view;
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (u->next.take[c] > 0 && (v->components[c].is_group ? group_has_new(v, c, revision)
                                                              : clique_has_new(v, c, revision)))
            return true;
    }
    return false;
}

/* ---- in place ---- */

/* What the clique or group says of itself. */
static int64_t wanted_above(const struct gangmap_view *v, const struct gangmap_component *c)
{
    str name = c->is_group ? name_pcsg(v->arena, v->pcs->name, v->replica, c->name)
                           : name_pclq(v->arena, v->pcs->name, v->replica, c->name);
    const struct obj *o =
        world_get(v->world, c->is_group ? &kind_pcsg : &kind_pclq, v->pcs->ns, name);
    if (!o || o->deleting || update_strategy_of(v->pcs) != UPDATE_RECREATE)
        return 0;
    return MIN(surge_held(o), MAX_ABOVE);
}

bool surge_map_follow(struct gangmap_view *v, const struct coherent_target *t,
                      struct gangmap *ret_next)
{
    bool changes = false;
    int64_t *more = arena_array(v->arena, int64_t, v->map.n_components + 1);
    for (size_t c = 0; c < v->map.n_components; c++) {
        struct gangmap_component *k = &v->components[c];
        int64_t wanted = wanted_above(v, k);
        more[c] = wanted - k->surged;
        k->surged = wanted;
        changes = changes || more[c] != 0;
    }
    if (!changes)
        return false;
    *ret_next = gangmap_copy(&v->map);
    coherent_raise(ret_next, v->components, t, more);
    return true;
}

/* ---- where it stands ---- */

static str gang_waits(const struct coherent_update *u, const struct gangmap_entry *e)
{
    const struct gangmap_view *v = u->view;
    const struct obj *gang = world_get(v->world, &kind_pod_gang, v->pcs->ns, e->name);
    jval conditions = jgetc(gang ? obj_status(gang) : JVAL_ABSENT, "conditions");
    if (!str_eq(e->hash, u->target.hash) || (gang && gang_was_scheduled(gang)))
        return STR_NONE;
    str why = jstr(jgetc(condition_find(conditions, STR("Unschedulable")), "message"));
    return arena_printf(v->arena, "gang %.*s: %.*s", STR_ARG(e->name),
                        STR_ARG(str_is_empty(why) ? STR("not scheduled") : why));
}

/* A pod of a standalone clique in one of the gangs of the new version. */
static str pod_waits(const struct coherent_update *u, size_t c)
{
    const struct gangmap_view *v = u->view;
    str name = name_pclq(v->arena, v->pcs->name, v->replica, v->components[c].name);
    const struct obj *pclq = world_get(v->world, &kind_pclq, v->pcs->ns, name);
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
    for (struct obj *pod; pclq && (pod = cache_next(&it));) {
        const struct gangmap_entry *e = gangmap_find(&v->map, pod_gang(v->arena, v->world, pod));
        if (pod->deleting || pod_is_finished(pod) || pod_is_scheduled(pod) || !e ||
            !str_eq(e->hash, u->target.hash))
            continue;
        jval said = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
        str why = jstr(jgetc(said, "message"));
        return arena_printf(v->arena, "pod %.*s: %.*s", STR_ARG(pod->name),
                            STR_ARG(str_is_empty(why) ? STR("not scheduled") : why));
    }
    return STR_NONE;
}

str surge_map_unplaced(const struct coherent_update *u)
{
    const struct gangmap_view *v = u->view;
    const struct gangmap_entry **made =
        arena_array(v->arena, const struct gangmap_entry *, v->map.n + 1);
    size_t n = coherent_newest(&v->map, made);
    str why = STR_NONE;
    for (size_t i = n; i > 0 && str_is_empty(why); i--)
        why = gang_waits(u, made[i - 1]);
    for (size_t c = 0; c < v->map.n_components && str_is_empty(why); c++) {
        if (!v->components[c].is_group && v->components[c].surged > 0)
            why = pod_waits(u, c);
    }
    return why;
}

/* ---- writing ---- */

static void write_surged(const struct gangmap_view *v, const char *key, struct jw *w)
{
    jw_put_object(w, key);
    for (size_t c = 0; c < v->map.n_components; c++) {
        if (v->components[c].surged > 0) {
            jw_key(w, v->components[c].name);
            jw_int(w, v->components[c].surged);
        }
    }
    jw_end(w);
}

static void write_state(const struct gangmap_view *v, const struct surge_map *s, struct jw *w)
{
    jw_object(w);
    if (s->in_place) {
        write_surged(v, "above", w);
        jw_end(w);
        return;
    }
    jw_put_str(w, "hash", s->hash);
    if (s->timed_out)
        jw_put_bool(w, "timedOut", true);
    if (s->any) {
        struct strbuf since = STRBUF_INIT(64);
        time_format_rfc3339(s->since, &since);
        jw_put_str(w, "startedAt", strbuf_str(&since));
        strbuf_done(&since);
        write_surged(v, "replicas", w);
    }
    jw_end(w);
}

void surge_map_write(const struct gangmap_view *v, const struct surge_map *s, struct jw *w)
{
    struct jw state;
    if (str_is_empty(obj_annotation(v->obj, STR(ANNOTATION_SURGE))) && str_is_empty(s->hash) &&
        !s->in_place)
        return;
    jw_key(w, STR(ANNOTATION_SURGE));
    if (str_is_empty(s->hash) && !s->in_place) {
        jw_null(w);
    } else {
        jw_init(&state);
        write_state(v, s, &state);
        jw_str(w, strbuf_str(&state.out));
        jw_done(&state);
    }
}
