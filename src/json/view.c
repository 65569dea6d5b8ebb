/*
 * Field tables to structs. Neighbouring rows of a table usually share their parent ("status.phase",
 * "status.podIP"), so the parent found for one row is kept for the next.
 */
#include "json/view.h"

static const char *const type_names[] = {
    [J_ABSENT] = "nothing",  [J_NULL] = "null",      [J_FALSE] = "a boolean",
    [J_TRUE] = "a boolean",  [J_INT] = "a number",   [J_REAL] = "a number",
    [J_STRING] = "a string", [J_ARRAY] = "an array", [J_OBJECT] = "an object"};

static const char *const expected[] = {[VIEW_T_STR] = "a string",
                                       [VIEW_T_INT] = "an integer",
                                       [VIEW_T_BOOL] = "a boolean",
                                       [VIEW_T_OPT_INT] = "an integer",
                                       [VIEW_T_OPT_BOOL] = "a boolean"};

static bool store_int(jval v, int64_t *out, bool *set)
{
    int64_t i;
    *set = jint_get(v, &i);
    if (*set)
        *out = i;
    return *set;
}

static bool store_bool(jval v, bool *out, bool *set)
{
    *set = jtype(v) == J_TRUE || jtype(v) == J_FALSE;
    *out = j_is_true(v);
    return *set;
}

/* False when the type does not fit. */
static bool store(jval v, enum view_type type, void *to)
{
    bool set;
    struct opt_int *oi = to;
    struct opt_bool *ob = to;
    switch (type) {
    case VIEW_T_STR:
        *(str *)to = jstr(v);
        return jtype(v) == J_STRING;
    case VIEW_T_INT:
        return store_int(v, to, &set);
    case VIEW_T_BOOL:
        return store_bool(v, to, &set);
    case VIEW_T_OPT_INT:
        return store_int(v, &oi->value, &oi->set);
    case VIEW_T_OPT_BOOL:
        return store_bool(v, &ob->value, &ob->set);
    case VIEW_T_VAL:
        *(jval *)to = v;
        return true;
    case VIEW_T_END:
        break;
    }
    BUG("view table with an unknown type");
}

struct parent {
    str path; /* "spec.template." or empty: the object itself */
    jval value;
};

static jval find(jval v, const char *path, struct parent *parent)
{
    str whole = str_of(path);
    ptrdiff_t dot = str_rfind_char(whole, '.');
    if (dot < 0)
        return jget(v, whole);
    str head = str_n(whole.p, (size_t)dot);
    if (!str_eq(head, parent->path)) {
        parent->path = head;
        parent->value = v;
        for (str rest = head; rest.p;)
            parent->value = jget(parent->value, str_cut(&rest, '.'));
    }
    return jget(parent->value, str_sub(whole, (size_t)dot + 1, whole.len));
}

int view_decode(jval v, const struct view_field *table, void *out, size_t out_size, struct err *err)
{
    int result = 0;
    struct parent parent = {.path = STR_NONE};
    memset(out, 0, out_size);
    for (const struct view_field *f = table; f->type != VIEW_T_END; f++) {
        jval found = find(v, f->path, &parent);
        if (j_is_absent(found) || (j_is_null(found) && f->type != VIEW_T_VAL))
            continue;
        if (store(found, f->type, (char *)out + f->offset) || result != 0)
            continue;
        result = err_set_field(err, ERR_INVALID, str_of(f->path), "%s: expected %s, found %s",
                               f->path, expected[f->type], type_names[jtype(found)]);
    }
    return result;
}
