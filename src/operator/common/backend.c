/*
 * The table of backends, what they put on pods, and the planner of their PodGroups; see backend.h.
 */
#include "operator/common/backend.h"

#define LOOK_INTERVAL (30 * USEC_PER_SEC)

#define KAI_SKIP "kai.scheduler/skip-podgrouper"

static void kai_prepare(str gang, str clique, struct labels *labels, struct labels *annotations)
{
    labels_set(annotations, KAI_SKIP, STR("true"));
    labels_set(annotations, "pod-group-name", gang);
    labels_set(labels, "kai.scheduler/subgroup-name", clique);
}

static void volcano_prepare(str gang, str clique, struct labels *labels, struct labels *annotations)
{
    (void)clique;
    (void)labels;
    labels_set(annotations, "scheduling.volcano.sh/group-name", gang);
    labels_set(annotations, "scheduling.k8s.io/group-name", gang);
}

const struct backend backends[N_BACKENDS] = {
    [BACKEND_DEFAULT] = {.name = "default-scheduler", .alias = "kube"},
    [BACKEND_GROVE] = {.name = "grove-scheduler",
                       .alias = "grove",
                       .keeps = WISH_PACK | WISH_SPREAD},
    [BACKEND_KAI] = {.name = "kai-scheduler",
                     .alias = "kai",
                     .keeps = WISH_PACK,
                     .prepare = kai_prepare,
                     .kind = &kind_kai_pod_group,
                     .make = kai_make,
                     .failed = "KAIBackendMappingFailed",
                     .annotation = KAI_SKIP},
    [BACKEND_VOLCANO] = {.name = "volcano",
                         .alias = "volcano",
                         .prepare = volcano_prepare,
                         .kind = &kind_volcano_pod_group,
                         .make = volcano_make,
                         .failed = "VolcanoBackendMappingFailed"},
    [BACKEND_LPX] = {.name = "lpx-scheduler", .alias = "lpx"},
};

const struct backend *backend_find(str name)
{
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (str_is(name, backends[i].name) || str_is(name, backends[i].alias))
            return &backends[i];
    }
    return NULL;
}

/* ---- what the installation uses ---- */

/* Where nothing is said; its address is the tag of what is. */
static const struct backend_choice all_backends = {(1u << N_BACKENDS) - 1,
                                                   &backends[BACKEND_DEFAULT]};

void backend_use(struct runtime *r, unsigned enabled, const struct backend *dflt)
{
    struct backend_choice c = {enabled, dflt};
    runtime_configure(r, &all_backends, &c, sizeof(c));
}

static const struct backend_choice *choice_of(const struct world *w)
{
    const struct backend_choice *c = world_config(w, &all_backends);
    return c ? c : &all_backends;
}

static bool is_enabled(unsigned enabled, const struct backend *b)
{
    return enabled & 1u << (b - backends);
}

void backend_register_kinds(unsigned enabled)
{
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (is_enabled(enabled, &backends[i]) && backends[i].kind)
            kinds_register(backends[i].kind);
    }
    if (is_enabled(enabled, &backends[BACKEND_KAI]))
        kinds_register(&kind_kai_topology);
}

bool backend_is_used(const struct world *w, const struct backend *b)
{
    return is_enabled(choice_of(w)->enabled, b);
}

static const struct backend *backend_named(const struct world *w, str name)
{
    const struct backend_choice *c = choice_of(w);
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (str_is(name, backends[i].name) && is_enabled(c->enabled, &backends[i]))
            return &backends[i];
    }
    return c->dflt;
}

const struct backend *backend_of_set(const struct world *w, const struct obj *pcs)
{
    for (struct jiter it = jiter(jpath(obj_root(pcs), "spec.template.cliques")); jnext(&it);) {
        str name = jstr(jpath(it.value, "spec.podSpec.schedulerName"));
        if (!str_is_empty(name))
            return backend_named(w, name);
    }
    return choice_of(w)->dflt;
}

/* ---- pods ---- */

/* The whole name of the clique's gang; its label may be shortened. */
static str gang_name(struct arena *a, const struct obj *pcs, const struct obj *pclq)
{
    str label = obj_label(pclq, STR(LABEL_PODGANG));
    str base = name_base_gang(a, pcs->name, label_index(pclq, STR(LABEL_PCS_INDEX)));
    if (str_eq(name_label(a, base), label))
        return base;
    str owner = jstr(jgetc(obj_controller_ref(pclq), "name"));
    for (struct jiter it = jiter(jpath(obj_root(pcs), "spec.template.podCliqueScalingGroups"));
         jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        str pcsg = name_pcsg(a, pcs->name, label_index(pclq, STR(LABEL_PCS_INDEX)), group.name);
        str gang = name_scaled_gang(a, pcsg, label_index(pclq, STR(LABEL_PCSG_INDEX)),
                                    group.min_available);
        if (str_eq(pcsg, owner) && str_eq(name_label(a, gang), label))
            return gang;
    }
    return label;
}

void backend_prepare(struct arena *a, const struct world *w, const struct obj *pcs,
                     const struct obj *pclq, struct labels *labels, struct labels *annotations)
{
    str name = jstr(jpath(obj_root(pclq), "spec.podSpec.schedulerName"));
    const struct backend *b = backend_named(w, name);
    if (b->prepare && !str_is_empty(obj_label(pclq, STR(LABEL_PODGANG))))
        b->prepare(gang_name(a, pcs, pclq), name_label(a, pclq->name), labels, annotations);
}

void backend_write_scheduler(struct jw *w, const struct world *world, jval pod_spec)
{
    const struct backend *dflt = choice_of(world)->dflt;
    if (str_is_empty(jstr(jgetc(pod_spec, "schedulerName"))) && dflt != &backends[BACKEND_DEFAULT])
        jw_put_cstr(w, "schedulerName", dflt->name);
}

/* ---- the planner ---- */

static bool has_pack(jval list)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (j_has(jgetc(it.value, "topologyConstraint")))
            return true;
    }
    return false;
}

static unsigned wishes_of(const struct obj *gang)
{
    jval spec = obj_spec(gang);
    bool pack = j_has(jgetc(spec, "topologyConstraint")) || has_pack(jgetc(spec, "podgroups")) ||
                has_pack(jgetc(spec, "topologyConstraintGroupConfigs"));
    bool spread = !str_is_empty(obj_annotation(gang, STR(ANNOTATION_REPLICA_SPREAD)));
    return (pack ? WISH_PACK : 0) | (spread ? WISH_SPREAD : 0);
}

/* Once for each gang: while it is new. */
static void warn_lost(const struct backend *b, const struct obj *gang, str lost, struct plan *p)
{
    static const struct {
        unsigned wish;
        const char *words;
    } wishes[] = {{WISH_PACK, "topology constraints and pack groups"},
                  {WISH_SPREAD, "the spread of replicas"}};
    unsigned missed = wishes_of(gang) & ~b->keeps;
    for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
        if (missed & wishes[i].wish)
            lost = arena_printf(p->arena, "%.*s%s%s", STR_ARG(lost), lost.len ? ", " : "",
                                wishes[i].words);
    }
    if (!str_is_empty(lost))
        plan_event(p, gang, true, STR("SchedulerCannotKeep"),
                   "%s does not keep: %.*s; see docs/backends.md", b->name, STR_ARG(lost));
}

/* Nothing to write to: told while it lasts. The cache goes on trying, and wakes us. */
static void plan_missing(const struct backend_env *e, const struct world *w,
                         const struct backend *b, const struct obj *gang, struct plan *p)
{
    if (!world_has_passed(w, e->started, BACKEND_MISSING_AFTER, p))
        return;
    plan_event(p, gang, true, STR("SchedulerMissing"),
               "%s needs %s.%s/%s, which the cluster does not serve: install it, or name another "
               "scheduler; the gang's pods wait",
               b->name, b->kind->plural, b->kind->group, b->kind->version);
    plan_look_again(p, LOOK_INTERVAL);
}

/* What another backend was given before the set named this one. */
static void plan_leftovers(const struct backend_env *e, const struct backend *b,
                           const struct obj *gang, struct plan *p)
{
    for (size_t i = 0; i < N_BACKENDS; i++) {
        const struct obj *o = NULL;
        if (&backends[i] != b && e->groups[i].cache)
            o = cache_get(e->groups[i].cache, gang->ns, gang->name);
        if (o && !o->deleting && str_eq(o->owner_uid, gang->uid))
            plan_why(plan_delete(p, 0, o), p, "its gang is with %s now", b->name);
    }
}

/* Its gang is gone, and a garbage collector takes it away as well; not every API server has one for
 * kinds that were defined later. */
static void plan_orphans(const struct backend_env *e, const struct key *key, struct plan *p)
{
    for (size_t i = 0; i < N_BACKENDS; i++) {
        const struct obj *o = NULL;
        if (e->groups[i].cache)
            o = cache_get(e->groups[i].cache, key->ns, key->name);
        jval ref = o ? obj_controller_ref(o) : JVAL_ABSENT;
        if (!o || o->deleting || !str_is(jstr(jgetc(ref, "kind")), kind_pod_gang.kind) ||
            !str_eq(jstr(jgetc(ref, "name")), key->name))
            continue;
        struct plan_write *write = plan_delete(p, 0, o);
        plan_why(write, p, "its gang is gone");
        plan_verify_absent(write, &kind_pod_gang, key->ns, key->name, o->owner_uid);
    }
}

/* KAI's own grouper keeps its hands off a gang that says so. */
static void plan_annotation(const struct backend *b, const struct obj *gang, struct plan *p)
{
    if (!b->annotation || str_is(obj_annotation(gang, str_of(b->annotation)), "true"))
        return;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "annotations");
    jw_put_cstr(&w, b->annotation, "true");
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(p, 0, gang, STR_NONE, jw_doc(&w), 0), p, "%s asks for it", b->name);
}

static void plan_group(struct backend_work *b, const struct world *w, struct plan *p)
{
    str why = STR_NONE;
    struct doc *desired = b->backend->make(b, &why);
    if (!desired) {
        plan_event(p, b->gang, true, str_of(b->backend->failed), "%.*s", STR_ARG(why));
        return;
    }
    plan_annotation(b->backend, b->gang, p);
    (void)make_ensure(p, 1, w, b->gang, b->existing, b->backend->kind, b->gang->name, desired);
    if (!b->existing)
        warn_lost(b->backend, b->gang, b->lost, p);
}

void backend_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct backend_env *e = ctx;
    const struct obj *gang = world_get(w, &kind_pod_gang, key->ns, key->name);
    const struct obj *pcs = gang && !gang->deleting ? owner_pcs(w, gang) : NULL;
    if (!gang)
        plan_orphans(e, key, p);
    if (!pcs || pcs->deleting)
        return;
    const struct backend *b = backend_of_set(w, pcs);
    const struct backend_groups *groups = &e->groups[b - backends];
    plan_leftovers(e, b, gang, p);
    if (!b->kind) {
        if (gang->generation <= 1)
            warn_lost(b, gang, STR_NONE, p);
    } else if (!groups->known) {
        plan_missing(e, w, b, gang, p);
    } else {
        struct backend_work work = {.backend = b,
                                    .pcs = pcs,
                                    .gang = gang,
                                    .existing = cache_get(groups->cache, gang->ns, gang->name),
                                    .arena = p->arena};
        plan_group(&work, w, p);
    }
}

/* ---- wiring ---- */

/* Nothing but its status is new: labels and annotations are copied, and queues are among them. */
static bool says_the_same(const struct obj *old, const struct obj *new)
{
    if (!old || !new || old->deleting != new->deleting)
        return false;
    return old->generation == new->generation &&jequal(old->labels, new->labels) &&
           jequal(old->annotations, new->annotations);
}

static void map_gang(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    if (!says_the_same(old, new))
        map_self(c, w, old, new);
}

/* Which queue and which scheduler: the set's word. */
static void map_set_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    struct obj *o;
    if (!new || says_the_same(old, new))
        return;
    for (struct cache_iter it = world_owned(w, &kind_pod_gang, new->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
}

/* A PodGroup has the name of its gang. Status is the scheduler's. */
static void on_group(void *ctx, const struct obj *old, const struct obj *new)
{
    const struct obj *o = new ? new : old;
    if (!says_the_same(old, new))
        controller_enqueue(ctx, &kind_pod_gang, o->ns, o->name);
}

/* The kind is there: gangs may have waited for it. */
static void on_synced(void *ctx)
{
    struct backend_groups *g = ctx;
    struct obj *o;
    g->known = true;
    for (struct cache_iter it = cache_all(g->env->gangs, STR_NONE); (o = cache_next(&it));)
        controller_enqueue(g->env->controller, &kind_pod_gang, o->ns, o->name);
}

struct backend_env *backend_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_pod_gang, map_gang},
                                                      {&kind_pcs, map_set_to_gangs}};
    struct backend_env *e = xnew(struct backend_env);
    struct world w = runtime_world(r);
    struct controller_def def = {.name = "scheduler-backend",
                                 .plan = backend_plan,
                                 .ctx = e,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches)};
    e->controller = runtime_add(r, &def, api);
    e->gangs = runtime_cache(r, &kind_pod_gang);
    e->started = clock_steady(runtime_clock(r));
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (!backends[i].kind || !backend_is_used(&w, &backends[i]))
            continue;
        struct cache_options o = {.kind = backends[i].kind, .stall_timeout = 3 * USEC_PER_MIN};
        struct cache *c = cache_new(runtime_loop(r), api, &o);
        e->groups[i] = (struct backend_groups){.cache = c, .env = e};
        cache_add_handler(c, on_group, e->controller);
        cache_on_synced(c, on_synced, &e->groups[i]);
        cache_start(c);
    }
    backend_topology_add(e, r, api);
    return e;
}

void backend_env_free(struct backend_env *e)
{
    for (size_t i = 0; e && i < N_BACKENDS; i++)
        cache_free(e->groups[i].cache);
    if (e)
        cache_free(e->topologies.cache);
    free(e);
}
