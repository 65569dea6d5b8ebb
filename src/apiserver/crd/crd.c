/*
 * The life of definitions: from events of the store to the registry of kinds, and back to the
 * store as status.
 *
 * Events only note what is to be looked at; at the end of each batch every definition that was
 * noted is judged anew. What is to be written next is a function of the definition as it is in the
 * store (status, then the objects of one that goes, then its finalizer), and each definition has
 * at most one request under way.
 */
#include "apiserver/crd.h"

#include "apiserver/request.h"
#include "base/list.h"
#include "base/log.h"

/* Answers that were refused are tried again this often until the definition changes. */
#define TRIES_MAX 8
#define MANAGER "kube-apiserver"

struct crd {
    struct crds *all;
    struct list link;
    struct obj *obj;
    VEC(const struct kind *) kinds; /* those served by it */
    const struct kind *stored;      /* one of its kinds, served or not; NULL: none was made */
    bool served;                    /* its names were accepted once */
    bool is_builtin;
    bool no_room;  /* for one of its versions */
    bool conflict; /* others have one of its names */
    bool noted;
    bool emptied; /* its objects were told to go */
    bool gone;    /* deleted; only the answer to its request is awaited */
    /* What its kinds were made from, so that a change of status does not make them anew. */
    struct made {
        bool is;
        int64_t generation;
        bool deleting;
        size_t n_taken;
    } made;
    unsigned tries;
    bool busy;
    struct api_request r;
    struct arena arena; /* of the request */
};

struct crds {
    struct apiserver *server;
    struct store_sub sub;
    struct crd_rules rules;
    struct list defs; /* in order of names when read from the store, else of coming */
    struct loop_task task;
    bool closing;
};

static const str masters = STR_INIT("system:masters");
static const struct user system_user = {
    .name = STR_INIT("system:apiserver"), .groups = &masters, .n_groups = 1};

/* ---- the registry ---- */

static bool has_kind(const struct crd *c, const struct kind *k)
{
    for (size_t i = 0; i < c->kinds.len; i++)
        if (c->kinds.p[i] == k)
            return true;
    return false;
}

/* Whoever watches the kind learns that it is gone by the end of the stream. */
static void retire(struct crd *c, const struct kind *k)
{
    kinds_retire(k);
    crd_rules_drop(&c->all->rules, k);
    if (!c->all->closing)
        hub_end_kind(c->all->server->hub, k);
}

/* Versions that are served no more. */
static void retire_others(struct crd *c)
{
    for (size_t i = 0; i < c->kinds.len;) {
        bool still = false;
        for (struct jiter it = jiter(jgetc(obj_spec(c->obj), "versions")); jnext(&it);)
            still |= str_is(jstr(jgetc(it.value, "name")), c->kinds.p[i]->version) &&
                     j_is_true(jgetc(it.value, "served"));
        if (still) {
            i++;
            continue;
        }
        retire(c, c->kinds.p[i]);
        c->kinds.p[i] = c->kinds.p[--c->kinds.len];
    }
}

static void retire_all(struct crd *c)
{
    for (size_t i = 0; i < c->kinds.len; i++)
        retire(c, c->kinds.p[i]);
    c->kinds.len = 0;
    c->stored = NULL;
    c->made.is = false;
}

/* NULL: there is no room for it. */
static const struct kind *define_version(struct crd *c, jval version, jval names,
                                         const struct kind *stored_as)
{
    struct arena a = ARENA_INIT;
    struct kind proto = crd_kind(&a, obj_root(c->obj), version, names);
    proto.stored_as = stored_as;
    const struct kind *k = kinds_define(&proto, &a);
    if (!k) {
        log_warn("there are too many kinds to serve another", LOG_S("definition", c->obj->name));
        c->no_room = true;
        arena_done(&a);
        return NULL;
    }
    if (!j_is_true(jgetc(version, "served"))) {
        kinds_retire(k);
        return k;
    }
    crd_rules_put(&c->all->rules, k, jpath(version, "schema.openAPIV3Schema"));
    if (!has_kind(c, k))
        *vec_push(&c->kinds) = k;
    return k;
}

/* The version that objects are stored in comes first: the others refer to it. One that is not
 * served has its kind all the same, because objects may be stored in it. */
static void define_versions(struct crd *c, jval names)
{
    jval versions = jgetc(obj_spec(c->obj), "versions");
    jval storage = crd_storage_version(obj_root(c->obj));
    const struct kind *stored_as = define_version(c, storage, names, NULL), *last = stored_as;
    for (struct jiter it = jiter(versions); jnext(&it);) {
        if (j_is_true(jgetc(it.value, "storage")))
            continue;
        const struct kind *k = define_version(c, it.value, names, stored_as);
        last = k ? k : last;
    }
    c->stored = last;
    if (last)
        store_adopt_kind(c->all->server->store, last);
}

static void define_kinds(struct crd *c, const struct crd_names *n)
{
    struct made made = {true, c->obj->generation, c->obj->deleting, n->n_taken};
    if (c->made.is && c->made.generation == made.generation && c->made.deleting == made.deleting &&
        c->made.n_taken == made.n_taken)
        return;
    struct jw w;
    c->made = made;
    jw_init(&w);
    crd_put_names(&w, jgetc(obj_spec(c->obj), "names"), n);
    struct doc *names = jw_doc(&w);
    retire_others(c);
    c->no_room = false;
    define_versions(c, doc_root(names));
    doc_unref(names);
}

/* ---- names ---- */

typedef VEC(const struct obj *) obj_vec;

/* All other definitions of the group that are served. */
static void collect_others(const struct crd *c, obj_vec *ret)
{
    str group = jstr(jgetc(obj_spec(c->obj), "group"));
    list_foreach (l, &c->all->defs) {
        const struct crd *other = container_of(l, struct crd, link);
        if (other != c && other->served && !other->gone &&
            str_eq(jstr(jgetc(obj_spec(other->obj), "group")), group))
            *vec_push(ret) = other->obj;
    }
    *vec_push(ret) = NULL;
}

static struct crd_names accept_names(struct crd *c, struct arena *a)
{
    obj_vec others = {0};
    collect_others(c, &others);
    struct crd_names n = crd_accept_names(a, c->obj, others.p);
    vec_done(&others);
    return n;
}

/* ---- requests ---- */

static void crd_free(struct crd *c);

static void note(struct crd *c)
{
    c->noted = true;
    if (!c->all->closing)
        loop_defer(c->all->server->loop, LOOP_PUBLISH, &c->all->task);
}

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct crd *c = container_of(r, struct crd, r);
    c->busy = false;
    arena_clear(&c->arena);
    if (c->all->closing || !reply->code)
        return;
    if (c->gone) {
        crd_free(c);
        return;
    }
    if (reply->code >= 400 && ++c->tries > TRIES_MAX) {
        log_warn("cannot keep a definition", LOG_S("definition", c->obj->name),
                 LOG_I("code", reply->code));
        return;
    }
    note(c);
}

static void send_request(struct crd *c, struct api_request r)
{
    c->busy = true;
    c->r = r;
    c->r.field_manager = STR(MANAGER);
    c->r.grace_seconds = -1;
    c->r.propagation = API_PROPAGATION_DEFAULT;
    c->r.done = on_done;
    apiserver_send(c->all->server, &system_user, &c->r);
}

static void send_patch(struct crd *c, const char *subresource, struct doc *patch)
{
    send_request(c, (struct api_request){
                        .verb = API_PATCH,
                        .kind = &kind_crd,
                        .name = arena_str(&c->arena, c->obj->name),
                        .subresource = str_of(subresource),
                        .patch = API_PATCH_MERGE,
                        .body = doc_hold(&c->arena, patch),
                    });
}

/* {"metadata":{"resourceVersion":"7"},"status":...} */
static bool write_status(struct crd *c, const struct doc *status)
{
    jval want = doc_root(status), has = obj_status(c->obj);
    if (jequal(jgetc(want, "conditions"), jgetc(has, "conditions")) &&
        jequal(jgetc(want, "acceptedNames"), jgetc(has, "acceptedNames")))
        return false;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put(&w, "resourceVersion", jgetc(c->obj->meta, "resourceVersion"));
    jw_end(&w);
    jw_put(&w, "status", want);
    jw_end(&w);
    send_patch(c, "status", jw_doc(&w));
    return true;
}

static void drop_finalizer(struct crd *c)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put(&w, "resourceVersion", jgetc(c->obj->meta, "resourceVersion"));
    jw_put_array(&w, "finalizers");
    for (struct jiter it = jiter(jgetc(c->obj->meta, "finalizers")); jnext(&it);)
        if (!str_is(jstr(it.value), CRD_FINALIZER))
            jw_val(&w, it.value);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    send_patch(c, "", jw_doc(&w));
}

/* The next step of a definition that goes. */
static void take_down(struct crd *c)
{
    const struct kind *k = c->stored;
    if (!obj_has_finalizer(c->obj, STR(CRD_FINALIZER)))
        return;
    if (!k || store_count(c->all->server->store, k) == 0) {
        drop_finalizer(c);
    } else if (!c->emptied) {
        c->emptied = true;
        send_request(
            c, (struct api_request){.verb = API_DELETE_COLLECTION, .kind = k, .as_stored = true});
    }
}

/* ---- judging ---- */

static void crd_judge(struct crd *c)
{
    struct arena a = ARENA_INIT;
    struct crd_names n = accept_names(c, &a);
    bool going = c->obj->deleting;
    c->noted = false;
    c->is_builtin = crd_is_builtin(obj_root(c->obj));
    bool was = condition_is_true(jgetc(obj_status(c->obj), "conditions"), STR("Established"));
    c->served = c->served || was || !n.reason;
    if (c->served && !c->is_builtin)
        define_kinds(c, &n);
    n.no_room = c->no_room;
    c->conflict = n.reason;
    if (!c->busy) {
        struct doc *status = crd_status(c->obj, &n, c->served, going && !c->is_builtin,
                                        time_text(&a, loop_wall(c->all->server->loop)));
        bool wrote = write_status(c, status);
        doc_unref(status);
        if (!wrote && going)
            take_down(c);
    }
    arena_done(&a);
}

static void on_task(struct loop_task *t)
{
    struct crds *all = container_of(t, struct crds, task);
    list_foreach (l, &all->defs) {
        struct crd *c = container_of(l, struct crd, link);
        if (c->noted && !c->busy && !c->gone)
            crd_judge(c);
    }
}

/* ---- events ---- */

static struct crd *find(struct crds *all, str name)
{
    list_foreach (l, &all->defs) {
        struct crd *c = container_of(l, struct crd, link);
        if (str_eq(c->obj->name, name))
            return c;
    }
    return NULL;
}

static struct crd *crd_new(struct crds *all, struct obj *o)
{
    struct crd *c = xnew(struct crd);
    *c = (struct crd){.all = all, .obj = obj_ref(o)};
    list_push_back(&all->defs, &c->link);
    return c;
}

static void crd_free(struct crd *c)
{
    retire_all(c);
    list_remove(&c->link);
    vec_done(&c->kinds);
    arena_done(&c->arena);
    obj_unref(c->obj);
    free(c);
}

/* Names have become free. */
static void note_conflicts(struct crds *all)
{
    list_foreach (l, &all->defs) {
        struct crd *c = container_of(l, struct crd, link);
        if (c->conflict)
            note(c);
    }
}

static void on_definition(struct crds *all, const struct store_event *e)
{
    struct crd *c = find(all, e->obj->name);
    if (e->type == STORE_DELETED) {
        if (c && !c->busy) {
            crd_free(c);
        } else if (c) {
            /* Its last request has still to be answered; then nothing is left to do. */
            retire_all(c);
            c->served = false;
            c->gone = true;
        }
        note_conflicts(all);
        return;
    }
    if (!c) {
        c = crd_new(all, e->obj);
    } else {
        struct obj *old = c->obj;
        c->obj = obj_ref(e->obj);
        if (!str_eq(old->uid, c->obj->uid)) {
            c->served = c->emptied = c->gone = false;
            c->made.is = false;
        }
        if (old->generation != c->obj->generation)
            note_conflicts(all);
        obj_unref(old);
    }
    c->tries = 0;
    note(c);
}

/* An object of a definition that goes is gone. */
static void on_gone(struct crds *all, const struct obj *o)
{
    list_foreach (l, &all->defs) {
        struct crd *c = container_of(l, struct crd, link);
        if (c->obj->deleting && c->stored && strcmp(c->stored->plural, o->kind->plural) == 0 &&
            strcmp(c->stored->group, o->kind->group) == 0)
            note(c);
    }
}

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    struct crds *all = container_of(sub, struct crds, sub);
    if (e->obj->kind == &kind_crd)
        on_definition(all, e);
    else if (e->type == STORE_DELETED && kind_is(e->obj->kind, KIND_DEFINED))
        on_gone(all, e->obj);
}

/* ---- life cycle ---- */

/* Established ones first: they have their names already. */
static void load(struct crds *all)
{
    struct store_iter it = store_range(all->server->store, &kind_crd, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o; (o = store_next(&it));) {
        struct crd *c = crd_new(all, o);
        c->served = condition_is_true(jgetc(obj_status(o), "conditions"), STR("Established"));
        note(c);
    }
    list_foreach (l, &all->defs) {
        struct crd *c = container_of(l, struct crd, link);
        struct arena a = ARENA_INIT;
        if (c->served && !crd_is_builtin(obj_root(c->obj))) {
            struct crd_names n = accept_names(c, &a);
            define_kinds(c, &n);
        }
        arena_done(&a);
    }
}

struct crds *crds_new(struct apiserver *a)
{
    struct crds *all = xnew(struct crds);
    all->server = a;
    list_init(&all->defs);
    loop_task_init(&all->task, on_task);
    all->sub = (struct store_sub){.on_event = on_event};
    store_subscribe(a->store, &all->sub);
    load(all);
    store_warn_unknown(a->store);
    return all;
}

void crds_free(struct crds *all)
{
    if (!all)
        return;
    all->closing = true;
    loop_task_cancel(&all->task);
    store_unsubscribe(&all->sub);
    while (!list_is_empty(&all->defs))
        crd_free(container_of(all->defs.next, struct crd, link));
    crd_rules_done(&all->rules);
    free(all);
}

void crds_check_values(const struct crds *c, const struct kind *k, jval object, jval old,
                       struct field_errors *errors, size_t first)
{
    crd_rules_check(&c->rules, k, object, old, errors, first);
}
