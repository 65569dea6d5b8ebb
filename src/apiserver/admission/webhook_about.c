/*
 * What a write is about, as webhooks and policies see it: the operation, the object it makes and
 * the one it changes, the options it came with.
 */
#include "apiserver/admission/webhook.h"
#include "apiserver/request.h"
#include "base/uuid.h"
#include "json/edit.h"

static bool same_storage(const struct kind *a, const struct kind *b)
{
    if (a->storage || b->storage)
        return str_eq(str_of(a->storage ? a->storage : a->plural),
                      str_of(b->storage ? b->storage : b->plural));
    return str_eq(str_of(a->group), str_of(b->group)) &&
           str_eq(str_of(a->plural), str_of(b->plural));
}

static size_t find_equivalents(const struct kind *k, const struct kind **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < kinds_count() && n < HOOK_EQUIVALENTS_MAX; i++) {
        const struct kind *o = kinds_at(i);
        if (o != k && !kind_is(o, KIND_RETIRED) && same_storage(o, k))
            ret[n++] = o;
    }
    return n;
}

static const char *operation_of(const struct req *q)
{
    if (q->r->verb == API_DELETE)
        return "DELETE";
    return q->r->verb == API_CREATE || !q->base ? "CREATE" : "UPDATE";
}

static struct doc *scale_of(struct req *q, struct doc *d)
{
    struct obj *o = obj_new(q->kind, doc_ref(d), NULL);
    struct doc *scale = o ? scale_doc(o) : NULL;
    obj_unref(o);
    return scale ? doc_hold(&q->arena, scale) : NULL;
}

/* The object a webhook sees: the candidate, or what was sent to a subresource of its own kind. */
static void set_objects(struct hook_about *r)
{
    struct req *q = r->q;
    bool scale = str_is(q->r->subresource, "scale");
    bool deletes = q->r->verb == API_DELETE, has_old = q->base && q->r->verb != API_CREATE;
    struct doc *object = q->ops->admits ? q->doc : q->r->body;
    r->object = deletes || !object ? NULL
                : scale            ? scale_of(q, object)
                                   : doc_hold(&q->arena, doc_ref(object));
    r->old = !has_old ? NULL : scale ? scale_of(q, q->base->doc) : q->base->doc;
    r->target.object = r->object ? doc_root(r->object) : JVAL_ABSENT;
    r->target.old_object = r->old ? doc_root(r->old) : JVAL_ABSENT;
}

/* "policy/v1 Eviction" */
static str kind_of_subresource(struct req *q)
{
    str sub = q->r->subresource;
    if (str_is(sub, "scale"))
        return STR("autoscaling/v1 Scale");
    for (size_t i = 0; sub.len && i < q->kind->n_subresources; i++) {
        const struct subresource *s = &q->kind->subresources[i];
        if (str_is(sub, s->name) && !str_is(str_of(s->kind), q->kind->kind))
            return arena_printf(&q->arena, "%s%s%s %s", s->group, *s->group ? "/" : "", s->version,
                                s->kind);
    }
    return STR_NONE;
}

/* Labels of a namespace as they will be: a write of the namespace itself counts already. */
static jval namespace_labels(const struct hook_about *r)
{
    const struct req *q = r->q;
    if (q->kind == &kind_namespace && !q->r->subresource.len && j_has(r->target.object))
        return jpath(r->target.object, "metadata.labels");
    const struct obj *o = store_newest(q->server->store, &kind_namespace, STR_NONE, r->target.ns);
    return o ? o->labels : JVAL_ABSENT;
}

void hook_about_init(struct hook_about *r, struct req *q)
{
    *r = (struct hook_about){.q = q};
    struct hook_target *t = &r->target;
    bool creates = !q->r->subresource.len && !q->base && q->r->body;
    t->operation = operation_of(q);
    t->kind = q->kind;
    t->equivalents = r->equivalents;
    t->n_equivalents = find_equivalents(q->kind, r->equivalents);
    t->sub = q->r->subresource;
    /* What is to be named by the server has no name yet. */
    t->name = creates ? jstr(jpath(doc_root(q->r->body), "metadata.name")) : q->name;
    t->ns = q->kind == &kind_namespace ? q->name : q->r->ns;
    set_objects(r);
    t->ns_labels = namespace_labels(r);
    r->object_kind = kind_of_subresource(q);
}

void hook_about_refresh(struct hook_about *r)
{
    set_objects(r);
    r->target.ns_labels = namespace_labels(r);
}

/* ---- options ---- */

static void put_delete_options(struct jw *w, const struct api_request *r)
{
    static const char *const policies[] = {
        [API_BACKGROUND] = "Background", [API_FOREGROUND] = "Foreground", [API_ORPHAN] = "Orphan"};
    if (r->grace_seconds >= 0)
        jw_put_int(w, "gracePeriodSeconds", r->grace_seconds);
    if (r->uid.len || r->rv) {
        jw_put_object(w, "preconditions");
        if (r->uid.len)
            jw_put_str(w, "uid", r->uid);
        if (r->rv) {
            jw_key(w, STR("resourceVersion"));
            jw_printf(w, "%llu", (unsigned long long)r->rv);
        }
        jw_end(w);
    }
    if (r->propagation != API_PROPAGATION_DEFAULT)
        jw_put_cstr(w, "propagationPolicy", policies[r->propagation]);
}

static void put_write_options(struct jw *w, const struct api_request *r)
{
    static const char *const validation[] = {[API_VALIDATE_WARN] = "Warn",
                                             [API_VALIDATE_STRICT] = "Strict",
                                             [API_VALIDATE_IGNORE] = "Ignore"};
    if (r->verb == API_PATCH && r->patch == API_PATCH_APPLY)
        jw_put_bool(w, "force", r->force);
    if (r->field_manager.len)
        jw_put_str(w, "fieldManager", r->field_manager);
    jw_put_cstr(w, "fieldValidation", validation[r->field_validation]);
}

static str options_text(const struct hook_about *r)
{
    struct req *q = r->q;
    const char *kind = q->r->verb == API_DELETE                        ? "DeleteOptions"
                       : q->r->verb == API_PATCH                       ? "PatchOptions"
                       : str_is(str_of(r->target.operation), "CREATE") ? "CreateOptions"
                                                                       : "UpdateOptions";
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", kind);
    jw_put_cstr(&w, "apiVersion", "meta.k8s.io/v1");
    if (q->dry_run) {
        jw_put_array(&w, "dryRun");
        jw_str(&w, STR("All"));
        jw_end(&w);
    }
    if (q->r->verb == API_DELETE)
        put_delete_options(&w, q->r);
    else
        put_write_options(&w, q->r);
    jw_end(&w);
    str text = arena_str(&q->arena, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

/* ---- questions ---- */

struct doc *hook_about_convert(struct hook_about *r, struct doc *d, const struct kind *from,
                               const struct kind *to)
{
    struct arena *a = &r->q->arena;
    if (!d || from == to || r->object_kind.len)
        return d;
    struct obj *o = obj_new(from, doc_ref(d), NULL);
    if (!o)
        return NULL;
    if (convert_needs_hook(o, to)) { /* hook_about_is_apart */
        obj_unref(o);
        return NULL;
    }
    struct obj *converted = convert_obj(o, to);
    struct doc *out = doc_hold(a, doc_ref(converted->doc));
    obj_unref(o);
    obj_unref(converted);
    return out;
}

str hook_about_is_apart(const struct hook_about *r, const struct kind *as)
{
    struct req *q = r->q;
    if (as == q->kind || !kind_is(q->kind, KIND_HOOKED) || r->object_kind.len)
        return STR_NONE;
    return arena_printf(&q->arena,
                        "it wants to see %s in version %s and this request is in version %s, which "
                        "only the conversion webhook of its definition could change: name version "
                        "%s in its rules as well",
                        q->kind->plural, as->version, q->kind->version, q->kind->version);
}

static jval root_of(const struct doc *d)
{
    return d ? doc_root(d) : JVAL_ABSENT;
}

static str new_uid(struct req *q)
{
    uint8_t random[UUID_SIZE];
    char text[UUID_TEXT_LEN + 1];
    loop_random(q->server->loop, random, sizeof(random));
    uuid_format_v4(random, text);
    return arena_str(&q->arena, str_of(text));
}

struct hook_question hook_about_question(struct hook_about *r, const struct kind *as)
{
    struct req *q = r->q;
    return (struct hook_question){
        .target = &r->target,
        .as = as,
        .user = q->user,
        .uid = new_uid(q),
        .version = STR("v1"),
        .object = root_of(hook_about_convert(r, r->object, q->kind, as)),
        .old_object = root_of(hook_about_convert(r, r->old, q->kind, as)),
        .object_kind = r->object_kind,
        .options = options_text(r),
        .dry_run = q->dry_run,
    };
}

/* ---- changes ---- */

/* managedFields are the server's, whatever a webhook's own types make of them. */
static struct doc *keep_managed(struct hook_about *r, struct doc *before, struct doc *after)
{
    jval had = jpath(doc_root(before), "metadata.managedFields");
    struct edit e;
    if (jequal(had, jpath(doc_root(after), "metadata.managedFields")))
        return after;
    edit_init(&e, &r->q->arena);
    edit_set(&e, STR("/metadata/managedFields"), had);
    struct doc *d = edit_apply(&e, after, NULL);
    edit_done(&e);
    return d ? doc_hold(&r->q->arena, d) : NULL;
}

static bool same_identity(jval a, jval b)
{
    static const char *const paths[] = {"kind", "apiVersion", "metadata.name",
                                        "metadata.namespace"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (!str_eq(jstr(jpath(a, paths[i])), jstr(jpath(b, paths[i]))))
            return false;
    return jtype(jgetc(b, "metadata")) == J_OBJECT;
}

const struct status *hook_about_take(struct hook_about *r, const struct kind *as, jval before,
                                     struct doc *after, bool *ret_changed, const char **ret_broken)
{
    *ret_changed = false;
    *ret_broken = NULL;
    if (!same_identity(before, doc_root(after))) {
        *ret_broken = "may not change what the object is or how it is called";
        return NULL;
    }
    struct doc *d = hook_about_convert(r, after, as, r->q->kind);
    d = d && r->object ? keep_managed(r, r->object, d) : d;
    if (!d || !r->object) {
        *ret_broken = "broke the object";
        return NULL;
    }
    if (jequal(doc_root(r->object), doc_root(d)))
        return NULL;
    const struct status *refused = write_take_patch(r->q, d);
    if (refused)
        return refused;
    *ret_changed = true;
    hook_about_refresh(r);
    return NULL;
}
