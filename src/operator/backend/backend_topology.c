/*
 * Topologies of schedulers that keep their own: KAI wants an object with the node labels of the
 * levels, which a ClusterTopologyBinding names already.
 *
 *   the binding names no Topology    one of its own name is made and kept; levels are immutable, so
 *                                    other levels mean another object
 *   the binding names one            it is somebody's; it is compared, never touched
 *
 * The embedded control plane has no such objects: its scheduler reads bindings. One that names a
 * Topology is told that there is none.
 *
 * How far they agree is the binding's status: an entry for each scheduler, and the condition
 * SchedulerTopologyDrift over all.
 */
#include "operator/common/backend.h"

#define DRIFT "SchedulerTopologyDrift"

static const struct field topology_fields[] = {
    {.name = "apiVersion", .type = &type_string},    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta}, {.name = "spec", .type = &type_raw},
    {.name = "status", .type = &type_raw},
};
static const struct type type_kai_topology = {.name = "KaiTopology",
                                              .tag = TYPE_OBJECT,
                                              .fields = topology_fields,
                                              .n_fields = ARRAY_LEN(topology_fields)};
static uint16_t topology_id;
const struct kind kind_kai_topology = {.group = "kai.scheduler",
                                       .version = "v1alpha1",
                                       .kind = "Topology",
                                       .plural = "topologies",
                                       .singular = "topology",
                                       .verbs = VERBS_ALL,
                                       .flags = KIND_GENERATION | KIND_MUST_SEND_VERSION,
                                       .type = &type_kai_topology,
                                       .id = &topology_id};

struct entry {
    str scheduler, reference;
    bool in_sync;
    int64_t generation; /* of a Topology that is somebody's */
    str message;
};

struct work {
    const struct world *world;
    const struct backend_env *env;
    const struct obj *ctb;
    struct plan *plan;
    VEC(struct entry) entries;
    bool unknown; /* a binding to a scheduler without topologies, or not in use */
    bool failed;  /* could not be done; observedGeneration stays behind */
    bool wait;    /* a step is under way: nothing is said yet */
};

static bool same_levels(const struct obj *ctb, const struct obj *topology)
{
    jval want = jgetc(obj_spec(ctb), "levels"), have = jgetc(obj_spec(topology), "levels");
    if (jlen(want) != jlen(have))
        return false;
    for (struct jiter it = jiter(want), other = jiter(have); jnext(&it) && jnext(&other);) {
        if (!str_eq(jstr(jgetc(it.value, "key")), jstr(jgetc(other.value, "nodeLabel"))))
            return false;
    }
    return true;
}

static struct doc *make_topology(const struct obj *ctb)
{
    struct jw w;
    make_begin(&w,
               &(struct make_meta){.kind = &kind_kai_topology, .name = ctb->name, .owner = ctb});
    jw_put_object(&w, "spec");
    jw_put_array(&w, "levels");
    for (struct jiter it = jiter(jgetc(obj_spec(ctb), "levels")); jnext(&it);) {
        jw_object(&w);
        jw_put_str(&w, "nodeLabel", jstr(jgetc(it.value, "key")));
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return make_end(&w);
}

/* Ours: made, replaced, or refused because it is somebody's. */
static void keep_topology(struct work *k, const struct obj *there, struct entry *e)
{
    if (!there) {
        plan_why(plan_create(k->plan, 0, &kind_kai_topology, STR_NONE, k->ctb->name,
                             make_topology(k->ctb)),
                 k->plan, "kai-scheduler has no topology %.*s", STR_ARG(k->ctb->name));
        e->in_sync = true;
    } else if (!str_eq(there->owner_uid, k->ctb->uid)) {
        e->message = arena_printf(k->plan->arena, "Topology %.*s belongs to somebody else",
                                  STR_ARG(there->name));
        k->failed = true;
    } else if (there->deleting) {
        k->wait = true;
    } else if (!same_levels(k->ctb, there)) {
        struct plan_write *write = plan_delete(k->plan, 0, there);
        write->rv = there->rv;
        plan_why(write, k->plan, "its levels are not those of the binding, and cannot be changed");
        k->wait = true;
    } else
        e->in_sync = true;
}

/* Somebody's: only looked at. */
static void compare_topology(struct work *k, const struct obj *there, struct entry *e)
{
    e->generation = there ? there->generation : 0;
    e->in_sync = there && same_levels(k->ctb, there);
    if (!there)
        e->message =
            arena_printf(k->plan->arena, "Topology %.*s does not exist", STR_ARG(e->reference));
    else if (!e->in_sync)
        e->message =
            arena_printf(k->plan->arena, "levels of Topology %.*s are not those of the binding",
                         STR_ARG(e->reference));
}

static void look_at_kai(struct work *k, str bound)
{
    struct entry e = {.scheduler = str_of(backends[BACKEND_KAI].name),
                      .reference = str_is_empty(bound) ? k->ctb->name : bound};
    if (k->env->embedded) {
        if (str_is_empty(bound))
            return;
        compare_topology(k, NULL, &e);
        *vec_push(&k->entries) = e;
        return;
    }
    const struct backend_groups *t = &k->env->topologies;
    if (!t->known && !world_has_passed(k->world, k->env->started, BACKEND_MISSING_AFTER, k->plan)) {
        k->wait = true;
        return;
    }
    const struct obj *there = t->known ? cache_get(t->cache, STR_NONE, e.reference) : NULL;
    if (!t->known) {
        e.message = STR("the cluster does not serve topologies.kai.scheduler/v1alpha1");
        k->failed = true;
    } else if (str_is_empty(bound))
        keep_topology(k, there, &e);
    else
        compare_topology(k, there, &e);
    *vec_push(&k->entries) = e;
}

static void look_at_all(struct work *k)
{
    bool kai = backend_is_used(k->world, &backends[BACKEND_KAI]);
    str bound = STR_NONE;
    for (struct jiter it = jiter(jgetc(obj_spec(k->ctb), "schedulerTopologyBindings"));
         jnext(&it);) {
        str name = jstr(jgetc(it.value, "schedulerName"));
        str reference = jstr(jgetc(it.value, "topologyReference"));
        if (kai && str_is(name, backends[BACKEND_KAI].name)) {
            bound = reference;
            continue;
        }
        *vec_push(&k->entries) = (struct entry){
            .scheduler = name,
            .reference = reference,
            .message = STR("no scheduler of this name that keeps topologies is in use")};
        k->unknown = true;
    }
    if (kai)
        look_at_kai(k, bound);
}

/* ---- status ---- */

static void write_entries(const struct work *k, struct jw *w)
{
    jw_put_array(w, "schedulerTopologyStatuses");
    for (size_t i = 0; i < k->entries.len; i++) {
        const struct entry *e = &k->entries.p[i];
        jw_object(w);
        jw_put_bool(w, "inSync", e->in_sync);
        if (!str_is_empty(e->message))
            jw_put_str(w, "message", e->message);
        if (e->generation)
            jw_put_int(w, "schedulerBackendTopologyObservedGeneration", e->generation);
        jw_put_str(w, "schedulerName", e->scheduler);
        jw_put_str(w, "topologyReference", e->reference);
        jw_end(w);
    }
    jw_end(w);
}

static struct condition drift(const struct work *k)
{
    for (size_t i = 0; !k->unknown && i < k->entries.len; i++) {
        if (!k->entries.p[i].in_sync)
            return (struct condition){DRIFT, "True", "Drift", k->entries.p[i].message};
    }
    if (k->unknown)
        return (struct condition){DRIFT, "Unknown", "TopologyNotFound",
                                  STR("a scheduler that the binding names keeps no topologies")};
    return (struct condition){DRIFT, k->entries.len ? "False" : NULL, "InSync",
                              STR("topologies of schedulers have the levels of the binding")};
}

static void tell(const struct work *k, const struct condition *c, jval old)
{
    str before = jstr(jgetc(condition_find(old, STR(DRIFT)), "status"));
    if (!c->status || str_is(before, c->status))
        return;
    if (str_is(str_of(c->status), "True"))
        plan_event(k->plan, k->ctb, true, STR("TopologyDriftDetected"), "%.*s",
                   STR_ARG(c->message));
    else if (str_is(str_of(c->status), "False"))
        plan_event(k->plan, k->ctb, false, STR("TopologyInSync"), "%.*s", STR_ARG(c->message));
}

static void plan_status(struct work *k)
{
    jval old = jgetc(obj_status(k->ctb), "conditions");
    struct condition c = drift(k);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    make_conditions(&w, old, &c, 1, k->world->now);
    if (!k->failed)
        jw_put_int(&w, "observedGeneration", k->ctb->generation);
    write_entries(k, &w);
    jw_end(&w);
    make_status(k->plan, 1, k->ctb, jw_doc(&w));
    tell(k, &c, old);
}

void backend_topology_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *ctb = world_get(w, &kind_ctb, STR_NONE, key->name);
    if (!ctb || ctb->deleting)
        return;
    struct work k = {.world = w, .env = ctx, .ctb = ctb, .plan = p};
    look_at_all(&k);
    if (!k.wait)
        plan_status(&k);
    vec_done(&k.entries);
}

/* ---- wiring ---- */

static void enqueue_all(struct backend_env *e)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(e->bindings, STR_NONE); (o = cache_next(&it));)
        controller_enqueue(e->topology_controller, &kind_ctb, STR_NONE, o->name);
}

/* A binding may name any Topology, and there are few bindings. */
static void on_topology(void *ctx, const struct obj *old, const struct obj *new)
{
    (void)old;
    (void)new;
    enqueue_all(ctx);
}

static void on_synced(void *ctx)
{
    struct backend_groups *t = ctx;
    t->known = true;
    enqueue_all(t->env);
}

static struct controller *add_controller(struct backend_env *e, struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_ctb, map_self}};
    struct controller_def def = {.name = "clustertopology-controller",
                                 .plan = backend_topology_plan,
                                 .ctx = e,
                                 .ctx_free = e->embedded ? free : NULL,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches)};
    return runtime_add(r, &def, api);
}

void backend_add_embedded(struct runtime *r, struct api *api)
{
    struct backend_env *e = xnew(struct backend_env);
    e->embedded = true;
    (void)add_controller(e, r, api);
}

void backend_topology_add(struct backend_env *e, struct runtime *r, struct api *api)
{
    e->topology_controller = add_controller(e, r, api);
    e->bindings = runtime_cache(r, &kind_ctb);
    struct world w = runtime_world(r);
    if (!backend_is_used(&w, &backends[BACKEND_KAI]))
        return;
    struct cache_options o = {.kind = &kind_kai_topology, .stall_timeout = 3 * USEC_PER_MIN};
    struct cache *c = cache_new(runtime_loop(r), api, &o);
    e->topologies = (struct backend_groups){.cache = c, .env = e};
    cache_add_handler(c, on_topology, e);
    cache_on_synced(c, on_synced, &e->topologies);
    cache_start(c);
}
