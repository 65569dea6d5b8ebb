/*
 * The versions of a write: what it changes comes in the version of the request, and what it makes
 * goes into the store in the version its definition names. Between those of a kind that a user
 * defined only apiVersion changes, or a webhook is asked and the write waits (conversion.h).
 */
#include "apiserver/admission/webhook.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "apiserver/verbs/managed.h"
#include "kube/schema.h"

/* The write goes back to where it is now when the webhook has answered. */
static void wait_for(struct req *q, struct conversion *c, void (*done)(struct conversion *c))
{
    c->done = done;
    c->ctx = q;
    q->came_from = q->state;
    req_move(q, REQ_CONVERTING);
    conversion_start_later(q->server->conversions, c);
}

static void go_back(struct req *q, const struct conversion *c)
{
    if (c->failed)
        req_refuse(q, c->failed);
    else
        req_move(q, q->came_from);
    write_run(q);
}

static void on_base(struct conversion *c)
{
    struct req *q = c->ctx;
    if (!c->failed)
        q->converted = obj_hold(&q->arena, convert_finish(c->items[0].out, q->kind));
    go_back(q, c);
}

/* What changes metadata only needs no version in particular: components of the server, and a
 * deletion that nobody else hears of. */
static bool may_be_as_stored(const struct req *q)
{
    if (q->r->verb == API_DELETE)
        return q->r->as_stored || !hooks_look(q);
    return q->r->as_stored && q->r->verb == API_PATCH && q->r->patch != API_PATCH_APPLY &&
           !q->r->subresource.len;
}

static bool is_create(const struct req *q)
{
    return q->r->verb == API_CREATE && !q->r->subresource.len;
}

/* Of a kind that a webhook converts; false: it has to be asked, or the write is refused. */
static bool find_converted_base(struct req *q)
{
    const struct obj *had = q->converted;
    q->as_stored = may_be_as_stored(q);
    q->kind = q->as_stored ? q->newest->kind : q->r->kind;
    if (is_create(q) || q->as_stored) {
        q->base = q->newest;
        return true;
    }
    if (had && had->rv == q->newest->rv && str_eq(had->uid, q->newest->uid)) {
        q->base = q->converted;
        return true;
    }
    struct obj *as = convert_now(q->server, q->newest, q->kind);
    if (as) {
        q->base = obj_hold(&q->arena, as);
        return true;
    }
    if (had && ++q->tries >= WRITE_TRIES_MAX) {
        req_refuse(q, status_conflict(&q->arena, q->kind, q->name, NULL));
        return false;
    }
    struct conversion *c = conversion_new(&q->arena, q->kind, 1);
    conversion_add(c, q->newest->doc, q->newest);
    wait_for(q, c, on_base);
    return false;
}

bool write_find_base(struct req *q)
{
    struct obj *newest = store_newest(q->server->store, q->kind, q->r->ns, q->name);
    q->newest = newest ? obj_hold(&q->arena, obj_ref(newest)) : NULL;
    q->base = NULL;
    if (!newest)
        return true;
    if (kind_is(q->kind, KIND_HOOKED))
        return find_converted_base(q);
    q->base = obj_hold(&q->arena, convert_obj(newest, q->kind));
    return true;
}

/* ---- for managers ---- */

/* A document in another version, or (out is NULL) wanted in it. */
struct version {
    struct version *next;
    struct doc *in, *out; /* held by the arena */
    const struct kind *kind;
};

/* More than any object that is not made to be a nuisance has managers with versions of their own.
 */
enum { VERSIONS_MAX = 64 };

static const struct kind *version_kind(const struct req *q, str api_version)
{
    str group, version;
    api_version_split(api_version, &group, &version);
    const struct kind *k = kind_by_name(group, version, str_of(q->kind->kind));
    return k || !q->kind->stored_as || !str_is(version, q->kind->stored_as->version)
               ? k
               : q->kind->stored_as;
}

static const struct doc *as_version(void *ctx, const struct doc *d, str api_version,
                                    const struct kind **ret_kind)
{
    struct req *q = ctx;
    const struct kind *k = *ret_kind = version_kind(q, api_version);
    if (!k || str_eq(jstr(jgetc(doc_root(d), "apiVersion")), api_version))
        return k ? d : NULL;
    if (q->base && d == q->base->doc && q->newest->kind == k)
        return q->newest->doc;
    for (struct version *v = q->versions; v; v = v->next)
        if (v->kind == k && str_eq(doc_text(v->in), doc_text(d)))
            return v->out;
    struct version *v = arena_new(&q->arena, struct version);
    *v = (struct version){.next = q->versions, .in = doc_hold(&q->arena, doc_ref(d)), .kind = k};
    q->versions = v;
    return NULL;
}

const struct managed_versions *write_versions(struct req *q)
{
    if (LIKELY(!kind_is(q->kind, KIND_HOOKED)) || q->as_stored)
        return NULL;
    struct managed_versions *v = arena_new(&q->arena, struct managed_versions);
    *v = (struct managed_versions){.ctx = q, .as = as_version};
    return v;
}

static void on_version(struct conversion *c)
{
    struct req *q = c->ctx;
    for (struct version *v = q->versions; v && !c->failed; v = v->next)
        if (!v->out && v->kind == c->to && v->in == c->items[0].in)
            v->out = doc_hold(&q->arena, doc_ref(c->items[0].out));
    go_back(q, c);
}

void write_wait_for_version(struct req *q)
{
    struct version *wanted = q->versions;
    size_t n = 0;
    for (struct version *v = q->versions; v; v = v->next, n++)
        if (!v->out)
            wanted = v;
    if (n > VERSIONS_MAX) {
        req_refuse(
            q, status_internal(&q->arena, "managedFields of this object name too many versions"));
        return;
    }
    BUG_ON(!wanted); /* somebody asked for a version */
    struct conversion *c = conversion_new(&q->arena, wanted->kind, 1);
    bool is_base = q->base && wanted->in == q->base->doc;
    conversion_add(c, wanted->in, is_base ? q->base : NULL);
    wait_for(q, c, on_version);
}

/* ---- for the store ---- */

static const struct kind *kind_to_store(const struct req *q)
{
    return q->as_stored || !q->kind->stored_as ? q->kind : q->kind->stored_as;
}

bool write_migrates(const struct req *q)
{
    return kind_is(q->kind, KIND_DEFINED) && q->newest && q->newest->kind != kind_to_store(q);
}

static void on_stored(struct conversion *c)
{
    struct req *q = c->ctx;
    if (!c->failed && doc_text(c->items[0].out).len > WRITE_OBJECT_MAX)
        c->failed = status_too_large(&q->arena);
    if (!c->failed)
        q->stored = doc_hold(&q->arena, doc_ref(c->items[0].out));
    go_back(q, c);
}

static void warn_of_loss(void *ctx, const char *what, str path)
{
    struct req *q = ctx;
    (void)what;
    field_warning_add(&q->errors,
                      "field \"%.*s\" is not in version %s, in which %s are stored, and "
                      "is dropped",
                      STR_ARG(path), kind_to_store(q)->version, q->kind->plural);
}

/* The definition may have changed while the webhook was asked. */
static void drop_other_version(struct req *q, const struct kind *to)
{
    char buf[256];
    if (q->stored && !str_eq(jstr(jgetc(doc_root(q->stored), "apiVersion")),
                             kind_api_version(to, buf, sizeof(buf))))
        q->stored = NULL;
}

bool write_convert(struct req *q)
{
    const struct kind *to = kind_to_store(q);
    drop_other_version(q, to);
    if (to == q->kind || q->stored || q->dry_run || q->effect != EFFECT_STORE)
        return true;
    if (!kind_is(to, KIND_HOOKED)) {
        struct doc *d = convert_version(q->doc, to);
        schema_unknown(to->type, doc_root(d), warn_of_loss, q);
        q->stored = doc_hold(&q->arena, schema_prune(to->type, d));
        doc_unref(d);
        return true;
    }
    struct conversion *c = conversion_new(&q->arena, to, 1);
    conversion_add(c, q->doc, NULL);
    wait_for(q, c, on_stored);
    return false;
}

/* The same object as it is stored: of what it says about itself, versions are not the webhook's. */
struct obj *write_as_stored(struct req *q, const struct obj *o)
{
    static const char *const members[] = {"resourceVersion", "generation"};
    struct edit e;
    edit_init(&e, &q->arena);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (j_has(jget(o->meta, str_of(members[i]))))
            edit_set(&e, arena_printf(&q->arena, "/metadata/%s", members[i]),
                     jget(o->meta, str_of(members[i])));
    struct doc *d = edit_apply(&e, q->stored, NULL);
    edit_done(&e);
    BUG_ON(!d); /* metadata is an object */
    struct obj *stored = obj_new(kind_to_store(q), d, NULL);
    BUG_ON(!stored);
    return obj_hold(&q->arena, stored);
}
