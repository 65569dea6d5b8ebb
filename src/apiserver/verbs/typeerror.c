/*
 * A value of the wrong JSON type in a built-in kind. The real server refuses it while decoding, in
 * the words of Go's JSON package, before anything else is looked at; ours finds it by validation
 * and says the same.
 */
#include <ctype.h>

#include "apiserver/request.h"

/* How Go's decoder calls what it found, by the word of the schema. */
static const char *found_word(str value)
{
    static const struct {
        const char *schema, *go;
    } words[] = {
        {"\"integer\"", "number"}, {"\"number\"", "number"}, {"\"float64\"", "number"},
        {"\"boolean\"", "bool"},   {"\"string\"", "string"}, {"\"object\"", "object"},
        {"\"array\"", "array"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(value, words[i].schema))
            return words[i].go;
    return NULL;
}

static str type_word(struct arena *a, const char *version, const struct type *t)
{
    static const char *const scalars[] = {
        [TYPE_STRING] = "string", [TYPE_INT32] = "int32",    [TYPE_INT64] = "int64",
        [TYPE_BOOL] = "bool",     [TYPE_DOUBLE] = "float64", [TYPE_BYTES] = "[]uint8",
    };
    if (t->tag < ARRAY_LEN(scalars) && scalars[t->tag])
        return str_of(scalars[t->tag]);
    return arena_printf(a, "%s.%s", version, t->name);
}

/* Where a value is, in Go's words. */
struct place {
    str field;                /* "Container.spec.containers.image": the innermost struct leads */
    str type;                 /* "string": what was wanted there */
    const struct type *wants; /* of the value itself, or of each element */
    bool whole;               /* the value is a list or a map */
    jval value;
};

/* "spec.containers[0].image" in an object of this type. */
static bool locate(struct arena *a, const struct body_kind *k, jval root, str path,
                   struct place *ret)
{
    const struct type *t = k->type, *owner = NULL;
    const struct field *f = NULL;
    str names = STR_NONE;
    bool element = false;
    ret->value = root;
    while (path.len) {
        str segment = str_cut(&path, '.'), name = str_cut(&segment, '[');
        uint64_t index;
        owner = t;
        f = type_field(t, name);
        if (!f)
            return false;
        names = names.len ? arena_printf(a, "%.*s.%.*s", STR_ARG(names), STR_ARG(name)) : name;
        ret->value = jget(ret->value, name);
        element = segment.len != 0;
        if (element && str_to_uint(str_cut(&segment, ']'), &index))
            ret->value = jat(ret->value, (size_t)index);
        t = f->type;
        if (f->shape != FIELD_MAP || !path.len)
            continue;
        element = true; /* what follows is a key */
        ret->value = jget(ret->value, path);
        break;
    }
    if (!f)
        return false;
    ret->field =
        arena_printf(a, "%s.%.*s", owner == k->type ? k->kind : owner->name, STR_ARG(names));
    ret->type = type_word(a, k->version, t);
    ret->wants = t;
    ret->whole = f->shape != FIELD_ONE && !element;
    if (f->shape == FIELD_LIST && !element)
        ret->type = arena_printf(a, "[]%.*s", STR_ARG(ret->type));
    else if (f->shape == FIELD_MAP && !element)
        ret->type = arena_printf(a, "map[string]%.*s", STR_ARG(ret->type));
    return true;
}

static bool wants_integer(const struct place *p)
{
    return !p->whole && (p->wants->tag == TYPE_INT32 || p->wants->tag == TYPE_INT64);
}

/* A number that the field cannot hold is none to Go's decoder, and to us out of bounds. */
static bool overflows(const struct place *p)
{
    int64_t n;
    return wants_integer(p) && p->wants->tag == TYPE_INT32 && jint_get(p->value, &n) &&
           (n > INT32_MAX || n < INT32_MIN);
}

/* What base64 decoding stops at: the first byte that has no place where it is. */
static size_t base64_fault(str s)
{
    size_t i = 0;
    while (i < s.len && (isalnum((unsigned char)s.p[i]) || s.p[i] == '+' || s.p[i] == '/'))
        i++;
    return i == s.len ? i / 4 * 4 : i;
}

str type_error_text(struct arena *a, const struct body_kind *k, jval root,
                    const struct field_errors *errors)
{
    struct place p;
    for (size_t i = 0; i < errors->items.len; i++) {
        const struct field_error *e = &errors->items.p[i];
        const char *found = e->type == FIELD_ERR_TYPE_INVALID ? found_word(e->value) : NULL;
        if ((!found && e->type != FIELD_ERR_INVALID) || !locate(a, k, root, e->field, &p))
            continue;
        if (!found && p.wants->tag == TYPE_BYTES && jtype(p.value) == J_STRING)
            return arena_printf(a, "illegal base64 data at input byte %zu",
                                base64_fault(jstr(p.value)));
        if (!found && !overflows(&p))
            continue;
        bool number = jtype(p.value) == J_INT || jtype(p.value) == J_REAL;
        str literal = number && wants_integer(&p) ? jtext(p.value) : STR_NONE;
        return arena_printf(
            a, "json: cannot unmarshal %s%s%.*s into Go struct field %.*s of type %.*s",
            literal.len ? "number" : found, literal.len ? " " : "", STR_ARG(literal),
            STR_ARG(p.field), STR_ARG(p.type));
    }
    return STR_NONE;
}

struct status *undecodable_status(struct req *q, const struct body_kind *k, const struct doc *d,
                                  str why)
{
    if (q->r->verb != API_PATCH || q->r->patch == API_PATCH_APPLY)
        return status_bad_request(&q->arena, "%s in version \"%s\" cannot be handled as a %s: %.*s",
                                  k->kind, k->version, k->kind, STR_ARG(why));
    /* The patch was fine; what it makes is not. */
    struct field_errors errors;
    struct strbuf whole = STRBUF_INIT(SIZE_MAX / 2);
    field_errors_init(&errors, &q->arena);
    json_quote(&whole, doc_text(d));
    field_error_add(&errors, FIELD_ERR_INVALID, STR("patch"), strbuf_str(&whole), "%.*s",
                    STR_ARG(why));
    strbuf_done(&whole);
    struct status *s = status_invalid_named(&q->arena, "", "", STR_NONE, &errors);
    field_errors_done(&errors);
    return s;
}

const struct status *type_error_status(struct req *q)
{
    struct body_kind k = body_kind_of(q->kind);
    str why = type_error_text(&q->arena, &k, doc_root(q->doc), &q->errors);
    return why.len ? undecodable_status(q, &k, q->doc, why) : NULL;
}
