/*
 * Objects: the metadata everyone asks for, decoded once when the object is made. Nothing here
 * copies: all slices point into the document, which the object holds.
 *
 * The count is atomic because objects travel with their documents to the disk worker. Everything
 * else is written before the object is shared and never after.
 */
#include "kube/object.h"

static jval controller_ref_of(jval owners)
{
    for (struct jiter it = jiter(owners); jnext(&it);)
        if (j_is_true(jgetc(it.value, "controller")))
            return it.value;
    return JVAL_ABSENT;
}

/* The members that matter, in one walk: every object passes here at every write. */
static void decode_root(struct obj *o)
{
    for (struct jiter it = jiter(doc_root(o->doc)); jnext(&it);) {
        if (str_is(it.key, "metadata"))
            o->meta = it.value;
        else if (str_is(it.key, "spec"))
            o->spec = it.value;
        else if (str_is(it.key, "status"))
            o->status = it.value;
    }
}

static void decode_meta(struct obj *o, str *ret_version)
{
    for (struct jiter it = jiter(o->meta); jnext(&it);) {
        if (str_is(it.key, "name"))
            o->name = jstr(it.value);
        else if (str_is(it.key, "namespace"))
            o->ns = jstr(it.value);
        else if (str_is(it.key, "uid"))
            o->uid = jstr(it.value);
        else if (str_is(it.key, "resourceVersion"))
            *ret_version = jstr(it.value);
        else if (str_is(it.key, "generation"))
            o->generation = jint(it.value, 0);
        else if (str_is(it.key, "deletionTimestamp"))
            o->deleting = j_has(it.value);
        else if (str_is(it.key, "labels"))
            o->labels = it.value;
        else if (str_is(it.key, "annotations"))
            o->annotations = it.value;
        else if (str_is(it.key, "ownerReferences"))
            o->owner = controller_ref_of(it.value);
    }
    o->owner_uid = jstr(jgetc(o->owner, "uid"));
}

static int decode(struct obj *o, struct err *err)
{
    str rv = STR_NONE;

    decode_root(o);
    if (jtype(o->meta) != J_OBJECT)
        return err_set_field(err, ERR_INVALID, STR("metadata"), "metadata must be an object");
    decode_meta(o, &rv);
    if (str_is_empty(o->name))
        return err_set_field(err, ERR_INVALID, STR("metadata.name"), "name is required");
    if (!str_is_empty(rv) && !str_to_uint(rv, &o->rv))
        return err_set_field(err, ERR_INVALID, STR("metadata.resourceVersion"),
                             "resourceVersion \"%.*s\" is not a number", STR_ARG(rv));
    return 0;
}

struct obj *obj_new(const struct kind *kind, struct doc *doc, struct err *err)
{
    struct obj *o = xnew(struct obj);

    o->refs = 1;
    o->kind = kind;
    o->doc = doc;
    o->memory = (uint32_t)MIN(sizeof(*o) + doc_memory(doc), (size_t)UINT32_MAX);
    if (decode(o, err) < 0) {
        obj_unref(o);
        return NULL;
    }
    return o;
}

struct obj *obj_ref(const struct obj *o)
{
    struct obj *shared = (struct obj *)o; /* only the count is ever written */

    if (shared)
        __atomic_fetch_add(&shared->refs, 1, __ATOMIC_RELAXED);
    return shared;
}

void obj_unref(const struct obj *o)
{
    struct obj *shared = (struct obj *)o;

    if (!shared)
        return;
    unsigned before = __atomic_fetch_sub(&shared->refs, 1, __ATOMIC_ACQ_REL);
    BUG_ON(before == 0);
    if (before > 1)
        return;
    doc_unref(shared->doc);
    free(shared);
}

static void drop_obj(void *o)
{
    obj_unref(o);
}

struct obj *obj_hold(struct arena *a, struct obj *o)
{
    return arena_hold(a, o, drop_obj);
}

str obj_label(const struct obj *o, str key)
{
    return jstr(jget(o->labels, key));
}

str obj_annotation(const struct obj *o, str key)
{
    return jstr(jget(o->annotations, key));
}

static usec time_of(jval v)
{
    usec t = 0;

    return time_parse_rfc3339(jstr(v), &t) ? t : 0;
}

usec obj_created(const struct obj *o)
{
    return time_of(jgetc(o->meta, "creationTimestamp"));
}

usec obj_deleted_at(const struct obj *o)
{
    return time_of(jgetc(o->meta, "deletionTimestamp"));
}

bool obj_has_finalizer(const struct obj *o, str finalizer)
{
    for (struct jiter it = jiter(jgetc(o->meta, "finalizers")); jnext(&it);)
        if (str_eq(jstr(it.value), finalizer))
            return true;
    return false;
}

jval condition_find(jval conditions, str type)
{
    if (jtype(conditions) != J_ARRAY)
        return JVAL_ABSENT;
    for (struct jiter it = jiter(conditions); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "type")), type))
            return it.value;
    return JVAL_ABSENT;
}

bool condition_is_true(jval conditions, str type)
{
    return str_is(jstr(jgetc(condition_find(conditions, type), "status")), "True");
}
