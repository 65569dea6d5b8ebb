/*
 * A value of the wrong JSON type in a built-in kind. The real server refuses it while decoding, in
 * the words of Go's JSON package, before anything else is looked at; ours finds it by validation
 * and says the same.
 */
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

static str type_word(struct arena *a, const struct kind *k, const struct type *t)
{
    static const char *const scalars[] = {
        [TYPE_STRING] = "string", [TYPE_INT32] = "int32",    [TYPE_INT64] = "int64",
        [TYPE_BOOL] = "bool",     [TYPE_DOUBLE] = "float64", [TYPE_BYTES] = "[]uint8",
    };
    if (t->tag < ARRAY_LEN(scalars) && scalars[t->tag])
        return str_of(scalars[t->tag]);
    return arena_printf(a, "%s.%s", k->version, t->name);
}

/* "spec.containers[0].image" → "Pod.spec.containers.image" and the type that was wanted there. */
static bool locate(struct arena *a, const struct kind *k, str path, str *ret_field, str *ret_type)
{
    const struct type *t = k->type;
    const struct field *f = NULL;
    str field = str_of(k->kind);
    bool element = false;
    while (path.len) {
        str segment = str_cut(&path, '.'), name = str_cut(&segment, '[');
        f = type_field(t, name);
        if (!f)
            return false;
        field = arena_printf(a, "%.*s.%.*s", STR_ARG(field), STR_ARG(name));
        element = segment.len != 0;
        t = f->type;
        if (f->shape != FIELD_MAP || !path.len)
            continue;
        element = true; /* what follows is a key */
        break;
    }
    if (!f)
        return false;
    str word = type_word(a, k, t);
    if (f->shape == FIELD_LIST && !element)
        word = arena_printf(a, "[]%.*s", STR_ARG(word));
    else if (f->shape == FIELD_MAP && !element)
        word = arena_printf(a, "map[string]%.*s", STR_ARG(word));
    *ret_field = field;
    *ret_type = word;
    return true;
}

const struct status *type_error_status(struct req *q)
{
    str field, type;
    for (size_t i = 0; i < q->errors.items.len; i++) {
        const struct field_error *e = &q->errors.items.p[i];
        const char *found = e->type == FIELD_ERR_TYPE_INVALID ? found_word(e->value) : NULL;
        if (!found || !locate(&q->arena, q->kind, e->field, &field, &type))
            continue;
        return status_bad_request(
            &q->arena,
            "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal %s into Go "
            "struct field %.*s of type %.*s",
            q->kind->kind, q->kind->version, q->kind->kind, found, STR_ARG(field), STR_ARG(type));
    }
    return NULL;
}
