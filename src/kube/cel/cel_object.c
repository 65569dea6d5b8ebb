/*
 * CEL: objects that an expression makes (Object{...}, JSONPatch{...}), and what it made as JSON.
 *
 * The type of an object says where it stands: in a field x of an Object.spec there is an
 * Object.spec.x, whatever lists and maps are between the two. That is checked when the whole is
 * written, as is that it can be JSON at all and is not larger than what a client may send.
 */
#include <math.h>

#include "base/b64.h"
#include "kube/cel/cel_impl.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)3 << 20)
#define DEPTH_MAX (JW_MAX_DEPTH - 8)

struct cel_value cel_make_object(struct cel_run *e, str type, struct cel_value fields)
{
    struct cel_object *o = arena_new(e->arena, struct cel_object);
    o->type = type;
    o->fields = fields;
    return (struct cel_value){.type = CEL_OBJECT, .object = o};
}

/* "a/b~c" as a part of a path in JSON Patch. */
CEL_FN(cel_f_escape_key)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING * 2);
    for (size_t i = 0; i < a->s.len; i++) {
        if (a->s.p[i] == '/' || a->s.p[i] == '~')
            strbuf_add_cstr(&b, a->s.p[i] == '/' ? "~1" : "~0");
        else
            strbuf_add_char(&b, a->s.p[i]);
    }
    struct cel_value v = of_str(arena_str(e->arena, strbuf_str(&b)));
    strbuf_done(&b);
    return v;
}

/* ---- JSON ---- */

struct writer {
    struct cel_run *run;
    struct jw w;
    struct err *err;
    bool failed;
};

PRINTF_LIKE(2, 3) static void fail(struct writer *w, const char *fmt, ...)
{
    if (w->failed)
        return;
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(w->run->arena, fmt, ap);
    va_end(ap);
    w->failed = true;
    (void)err_set(w->err, ERR_INVALID, "%.*s", STR_ARG(why));
}

static void put_value(struct writer *w, const struct cel_value *v, str type);

/* below: the type that objects in it have but for the names of fields; STR_NONE: not known yet. */
static void put_members(struct writer *w, const struct cel_value *map, str below, bool is_object)
{
    jw_object(&w->w);
    for (struct cel_seq s = cel_seq_of(w->run, map); !w->failed && cel_seq_next(&s);) {
        if (s.key.type != CEL_STRING) {
            fail(w, "map key is of type %.*s, not string",
                 STR_ARG(cel_shape_name(w->run->arena, &(struct cel_shape){.type = s.key.type})));
            break;
        }
        jw_key(&w->w, s.key.s);
        put_value(w, &s.value,
                  is_object
                      ? arena_printf(w->run->arena, "%.*s.%.*s", STR_ARG(below), STR_ARG(s.key.s))
                      : below);
    }
    if (!w->failed)
        jw_end(&w->w);
}

static void put_object(struct writer *w, const struct cel_object *o, str type)
{
    if (type.len && !str_eq(type, o->type))
        fail(w,
             "type mismatch: unexpected type name \"%.*s\", expected \"%.*s\", which matches field "
             "name path from root Object type",
             STR_ARG(o->type), STR_ARG(type));
    else
        put_members(w, &o->fields, o->type, true);
}

static void put_list(struct writer *w, const struct cel_value *list, str type)
{
    jw_array(&w->w);
    for (struct cel_seq s = cel_seq_of(w->run, list); !w->failed && cel_seq_next(&s);)
        put_value(w, &s.value, type);
    if (!w->failed)
        jw_end(&w->w);
}

/* Of what JSON has no type for: as text. */
static void put_text(struct writer *w, const struct cel_value *v)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    if (v->type == CEL_BYTES)
        b64_encode(v->s, B64_STD, &b);
    else if (!cel_text_of(w->run, v, &b))
        fail(w, "a value of type %.*s cannot be written as JSON",
             STR_ARG(cel_shape_name(w->run->arena, &(struct cel_shape){.type = v->type})));
    if (!w->failed)
        jw_str(&w->w, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_number(struct writer *w, const struct cel_value *v)
{
    if (v->type == CEL_INT)
        jw_int(&w->w, v->i);
    else if (v->type == CEL_UINT)
        jw_uint(&w->w, v->u);
    else if (isfinite(v->d))
        jw_real(&w->w, v->d);
    else
        fail(w, "a number that is not finite cannot be written as JSON");
}

static void put_value(struct writer *w, const struct cel_value *v, str type)
{
    if (w->w.depth >= DEPTH_MAX)
        fail(w, "the result is nested too deeply");
    else if (w->w.out.len > TEXT_MAX || !cel_spend(w->run, 1))
        fail(w, "the result is too large");
    if (w->failed)
        return;
    switch (v->type) {
    case CEL_NULL:
        jw_null(&w->w);
        break;
    case CEL_BOOL:
        jw_bool(&w->w, v->b);
        break;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
        put_number(w, v);
        break;
    case CEL_STRING:
        jw_str(&w->w, v->s);
        break;
    case CEL_OBJECT:
        put_object(w, v->object, type);
        break;
    case CEL_LIST:
        put_list(w, v, type);
        break;
    case CEL_MAP:
        put_members(w, v, type, false);
        break;
    case CEL_BYTES:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        put_text(w, v);
        break;
    default:
        fail(w, "a value of type %.*s cannot be written as JSON",
             STR_ARG(cel_shape_name(w->run->arena, &(struct cel_shape){.type = v->type})));
    }
}

/* Operations: where their values stand is not known, so each is the root of its types. */
static void put_operations(struct writer *w, const struct cel_value *list)
{
    jw_array(&w->w);
    for (struct cel_seq s = cel_seq_of(w->run, list); !w->failed && cel_seq_next(&s);) {
        if (s.value.type != CEL_OBJECT || !str_is(s.value.object->type, "JSONPatch")) {
            fail(w, "type mismatch: JSONPatchType.expression should evaluate to array of "
                    "JSONPatch");
            break;
        }
        jw_object(&w->w);
        const struct cel_value *fields = &s.value.object->fields;
        for (size_t i = 0; i < fields->n && !w->failed; i++) {
            const struct cel_pair *p = &fields->items[i];
            bool is_text = !str_is(p->key.s, "value");
            if (is_text && p->value.type != CEL_STRING)
                fail(w, "unexpected type for JSONPatchType '%.*s' field", STR_ARG(p->key.s));
            jw_key(&w->w, p->key.s);
            put_value(w, &p->value, STR_NONE);
        }
        if (!w->failed)
            jw_end(&w->w);
    }
    if (!w->failed)
        jw_end(&w->w);
}

struct doc *cel_doc_of(struct cel_run *e, const struct cel_value *v, struct err *err)
{
    struct writer w = {.run = e, .err = err};
    jw_init(&w.w);
    if (v->type == CEL_LIST)
        put_operations(&w, v);
    else if (v->type == CEL_OBJECT)
        put_object(&w, v->object, STR_NONE);
    else
        fail(&w, "no such overload");
    if (w.failed || w.w.out.len > TEXT_MAX) {
        fail(&w, "the result is too large");
        jw_done(&w.w);
        return NULL;
    }
    return doc_hold(e->arena, jw_doc(&w.w));
}
