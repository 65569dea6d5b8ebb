/*
 * The garbage collector: objects go after the last of their owners.
 *
 * It plans one object at a time, in two roles.
 *
 * As a dependent: each owner reference is judged by the caches. The owner is there (solid), is
 * being deleted in the foreground and waits for its dependents (waiting), or is not there (gone).
 * An object all of whose owners are gone or waiting is deleted; references that no longer hold it
 * are struck off while others do. Absence in a cache is never proof: every write that rests on one
 * carries a live check, and since a write can carry only one, references of which several are gone
 * are struck off one by one until a single one is left.
 *
 * A new object of the owner's name proves that the old one is gone when its version is newer than
 * that of the dependent: the reference was written while the old one was there, so it was there
 * before, and a name has one holder at a time. Otherwise the live check compares UIDs.
 *
 * As an owner that is being deleted: with the finalizer "orphan" its dependents lose their
 * references to it, with "foregroundDeletion" it waits until none is left that blocks it; then the
 * finalizer goes, and with it the object.
 *
 * Events and leases neither own nor are owned; they are left out. Kinds that are defined while it
 * runs are followed from then on, in one of their versions: the others show the same objects.
 */
#include "controllers/controllers.h"
#include "json/write.h"

#define OWNERS_MAX 64
/* Dependents changed in one plan. */
#define BATCH 500

#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

/* Kinds looked at, by kind id. */
struct gc {
    bool follows[KINDS_MAX];
};

static bool is_followed(const struct gc *gc, const struct kind *k)
{
    return gc->follows[kind_id(k)] && !kind_is(k, KIND_RETIRED);
}

/* The kind that its objects are looked at as; NULL: they are not. */
static const struct kind *followed_as(const struct gc *gc, const struct kind *k)
{
    if (!k || is_followed(gc, k))
        return k;
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *other = kinds_at(i);
        if (is_followed(gc, other) && strcmp(other->plural, k->plural) == 0 &&
            strcmp(other->group, k->group) == 0)
            return other;
    }
    return NULL;
}

/* ---- references ---- */

static jval owners_of(const struct obj *o)
{
    return jgetc(o->meta, "ownerReferences");
}

static void index_owners(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    *n = 0;
    for (struct jiter it = jiter(owners_of(o)); *n < max && jnext(&it);) {
        str uid = jstr(jgetc(it.value, "uid"));
        if (uid.len)
            keys[(*n)++] = uid;
    }
}

/* Another version of the group will do: they are the same objects. */
const struct kind *owner_ref_kind(jval ref)
{
    str group, version, name = jstr(jgetc(ref, "kind"));
    api_version_split(jstr(jgetc(ref, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    for (size_t i = 0; !k && i < kinds_count(); i++)
        if (str_is(group, kinds_at(i)->group) && str_is(name, kinds_at(i)->kind) &&
            !kind_is(kinds_at(i), KIND_RETIRED))
            k = kinds_at(i);
    return k;
}

static str owner_ns(const struct kind *k, const struct obj *o)
{
    return kind_is(k, KIND_NAMESPACED) ? o->ns : STR_NONE;
}

static bool waits_for_dependents(const struct obj *o)
{
    return o->deleting && obj_has_finalizer(o, STR(FINALIZER_FOREGROUND));
}

enum owner_state { OWNER_SOLID, OWNER_WAITING, OWNER_GONE };

struct owner {
    jval ref;
    enum owner_state state;
    const struct kind *kind;
    bool proven; /* gone, and no need to ask */
};

static struct owner judge(const struct gc *gc, const struct world *w, const struct obj *o, jval ref)
{
    struct owner r = {
        .ref = ref, .state = OWNER_SOLID, .kind = followed_as(gc, owner_ref_kind(ref))};
    /* What we do not know is not ours to judge; a cluster-wide object cannot say in which namespace
     * its owner would be. */
    if (!r.kind || (kind_is(r.kind, KIND_NAMESPACED) && !o->ns.len))
        return r;
    const struct obj *owner = world_get(w, r.kind, owner_ns(r.kind, o), jstr(jgetc(ref, "name")));
    if (!owner || !str_eq(owner->uid, jstr(jgetc(ref, "uid")))) {
        r.state = OWNER_GONE;
        r.proven = owner && owner->rv > o->rv;
    } else if (waits_for_dependents(owner)) {
        r.state = OWNER_WAITING;
    }
    return r;
}

/* ---- dependents ---- */

typedef bool dependent_fn(void *ctx, const struct obj *dependent);

/* In order of kind and name, until fn says no; true when it never did. */
static bool each_dependent(const struct gc *gc, const struct world *w, str uid, dependent_fn *fn,
                           void *ctx)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        if (!is_followed(gc, kinds_at(i)))
            continue;
        struct cache_iter it = cache_by(world_cache(w, kinds_at(i)), index_owners, uid);
        for (const struct obj *o; (o = cache_next(&it));)
            if (!fn(ctx, o))
                return false;
    }
    return true;
}

static bool any_dependent(void *ctx, const struct obj *dependent)
{
    (void)ctx;
    (void)dependent;
    return false;
}

static bool has_dependents(const struct gc *gc, const struct world *w, str uid)
{
    return !each_dependent(gc, w, uid, any_dependent, NULL);
}

static bool is_not_blocking(void *ctx, const struct obj *dependent)
{
    const struct obj *owner = ctx;
    for (struct jiter it = jiter(owners_of(dependent)); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "uid")), owner->uid) &&
            j_is_true(jgetc(it.value, "blockOwnerDeletion")))
            return false;
    return true;
}

/* ---- writes ---- */

/* {"metadata":{"<list>":[...]}} without the members for which drop says so. */
static struct doc *without(const struct obj *o, const char *list,
                           bool (*drop)(jval v, const void *ctx), const void *ctx)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_array(&w, list);
    for (struct jiter it = jiter(jget(o->meta, str_of(list))); jnext(&it);)
        if (!drop(it.value, ctx))
            jw_val(&w, it.value);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static bool is_string(jval v, const void *ctx)
{
    return str_is(jstr(v), ctx);
}

static bool is_ref_to(jval v, const void *ctx)
{
    const str *uid = ctx;
    return str_eq(jstr(jgetc(v, "uid")), *uid);
}

static void drop_finalizer(struct plan *p, unsigned stage, const struct obj *o, const char *name)
{
    struct plan_write *w =
        plan_merge_patch(p, stage, o, STR_NONE, without(o, "finalizers", is_string, name), o->rv);
    plan_why(w, p, "finalizer %s is served", name);
}

static struct plan_write *drop_ref(struct plan *p, const struct obj *o, jval ref)
{
    str uid = jstr(jgetc(ref, "uid"));
    struct plan_write *w =
        plan_merge_patch(p, 0, o, STR_NONE, without(o, "ownerReferences", is_ref_to, &uid), o->rv);
    plan_why(w, p, "owner %.*s %.*s no longer holds it", STR_ARG(jstr(jgetc(ref, "kind"))),
             STR_ARG(jstr(jgetc(ref, "name"))));
    return w;
}

static void verify(struct plan_write *w, const struct obj *o, const struct owner *owner)
{
    if (!owner->proven)
        plan_verify_absent(w, owner->kind, owner_ns(owner->kind, o),
                           jstr(jgetc(owner->ref, "name")), jstr(jgetc(owner->ref, "uid")));
}

/* ---- as a dependent ---- */

static void plan_dependent(const struct gc *gc, const struct world *w, const struct obj *o,
                           struct plan *p)
{
    struct owner gone = {0}, waiting = {0}; /* one of each, if any */
    size_t n = 0, solid = 0;
    for (struct jiter it = jiter(owners_of(o)); n < OWNERS_MAX && jnext(&it); n++) {
        struct owner owner = judge(gc, w, o, it.value);
        solid += owner.state == OWNER_SOLID;
        if (owner.state == OWNER_GONE && !gone.kind)
            gone = owner;
        else if (owner.state == OWNER_WAITING)
            waiting = owner;
    }
    if (gone.kind && n > 1) {
        verify(drop_ref(p, o, gone.ref), o, &gone);
    } else if (gone.kind) {
        struct plan_write *d = plan_delete(p, 0, o);
        d->rv = o->rv;
        d->propagation = API_PROPAGATION_DEFAULT;
        verify(d, o, &gone);
        plan_why(d, p, "its owner %.*s %.*s is gone", STR_ARG(jstr(jgetc(gone.ref, "kind"))),
                 STR_ARG(jstr(jgetc(gone.ref, "name"))));
    } else if (waiting.kind && solid) {
        (void)drop_ref(p, o, waiting.ref);
    } else if (waiting.kind) {
        struct plan_write *d = plan_delete(p, 0, o);
        d->rv = o->rv;
        d->propagation = has_dependents(gc, w, o->uid) ? API_FOREGROUND : API_PROPAGATION_DEFAULT;
        plan_why(d, p, "its owner %.*s %.*s is being deleted in the foreground",
                 STR_ARG(jstr(jgetc(waiting.ref, "kind"))),
                 STR_ARG(jstr(jgetc(waiting.ref, "name"))));
    }
}

/* ---- as an owner ---- */

struct orphaning {
    struct plan *plan;
    const struct obj *owner;
    size_t n;
};

static bool orphan_dependent(void *ctx, const struct obj *dependent)
{
    struct orphaning *x = ctx;
    if (x->n++ == BATCH)
        return false;
    struct plan_write *w = plan_merge_patch(
        x->plan, 0, dependent, STR_NONE,
        without(dependent, "ownerReferences", is_ref_to, &x->owner->uid), dependent->rv);
    plan_why(w, x->plan, "%s %.*s is deleted without its dependents", x->owner->kind->kind,
             STR_ARG(x->owner->name));
    return true;
}

static void plan_owner(const struct gc *gc, const struct world *w, const struct obj *o,
                       struct plan *p)
{
    if (obj_has_finalizer(o, STR(FINALIZER_ORPHAN))) {
        struct orphaning x = {.plan = p, .owner = o};
        /* More than one plan can hold: the finalizer waits for the rest. */
        if (each_dependent(gc, w, o->uid, orphan_dependent, &x))
            drop_finalizer(p, 1, o, FINALIZER_ORPHAN);
        else
            plan_look_again(p, 0);
    } else if (waits_for_dependents(o)) {
        if (each_dependent(gc, w, o->uid, is_not_blocking, (void *)o))
            drop_finalizer(p, 0, o, FINALIZER_FOREGROUND);
    }
}

static void gc_plan(const struct world *w, const struct key *key, void *ctx, struct plan *ret_plan)
{
    const struct gc *gc = ctx;
    const struct obj *o = world_get(w, key->kind, key->ns, key->name);
    if (!o)
        return;
    if (o->deleting)
        plan_owner(gc, w, o, ret_plan);
    else
        plan_dependent(gc, w, o, ret_plan);
}

/* ---- who is looked at when ---- */

static bool enqueue_one(void *ctx, const struct obj *dependent)
{
    controller_enqueue(ctx, dependent->kind, dependent->ns, dependent->name);
    return true;
}

/* Owners that wait for it to go. */
static void enqueue_waiting_owners(struct controller *c, const struct world *w, const struct obj *o)
{
    const struct gc *gc = controller_ctx(c);
    for (struct jiter it = jiter(owners_of(o)); jnext(&it);) {
        struct owner owner = judge(gc, w, o, it.value);
        if (owner.kind && owner.state == OWNER_WAITING)
            controller_enqueue(c, owner.kind, owner_ns(owner.kind, o),
                               jstr(jgetc(it.value, "name")));
    }
}

static bool has_gc_finalizer(const struct obj *o)
{
    return obj_has_finalizer(o, STR(FINALIZER_ORPHAN)) ||
           obj_has_finalizer(o, STR(FINALIZER_FOREGROUND));
}

static void gc_map(struct controller *c, const struct world *w, const struct obj *old,
                   const struct obj *new)
{
    const struct gc *gc = controller_ctx(c);
    bool refs_changed = !old || !new || !jequal(owners_of(old), owners_of(new));
    if (old && refs_changed)
        enqueue_waiting_owners(c, w, old);
    if (!new) {
        if (old)
            (void)each_dependent(gc, w, old->uid, enqueue_one, c);
        return;
    }
    bool owned = jlen(owners_of(new)) > 0;
    bool serves = new->deleting &&has_gc_finalizer(new);
    if ((owned && !new->deleting && (refs_changed || !old)) || serves)
        controller_enqueue(c, new->kind, new->ns, new->name);
    if (waits_for_dependents(new) && !(old && waits_for_dependents(old)))
        (void)each_dependent(gc, w, new->uid, enqueue_one, c);
}

static bool is_collected(const struct gc *gc, const struct kind *k)
{
    return k != &kind_event && k != &kind_events_event && k != &kind_lease &&
           !kind_is(k, KIND_RETIRED) && kind_is_watchable(k) && !followed_as(gc, k);
}

static void gc_follow(struct controller *c)
{
    struct gc *gc = controller_ctx(c);
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        BUG_ON(i >= KINDS_MAX);
        /* One that came back is followed as before. */
        if (gc->follows[i] || !is_collected(gc, k))
            continue;
        gc->follows[i] = true;
        cache_add_index(runtime_cache(controller_runtime(c), k), index_owners);
        controller_watch(c, k, gc_map);
    }
}

void gc_add(struct runtime *r, struct api *api)
{
    struct controller_def def = {
        .name = "garbage-collector",
        .plan = gc_plan,
        .ctx = xnew(struct gc),
        .ctx_free = free,
        .on_kinds = gc_follow,
    };
    (void)runtime_add(r, &def, api);
}
