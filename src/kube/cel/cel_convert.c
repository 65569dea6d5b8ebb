/* CEL: from one type to another, types themselves, and optional values. */
#include <math.h>
#include <stdlib.h>

#include "base/timefmt.h"
#include "kube/cel/cel_impl.h"

/* ---- text ---- */

/* The shortest text that is the same number. */
static void put_double(struct strbuf *out, double d)
{
    char text[64];
    if (isnan(d) || isinf(d)) {
        strbuf_add_cstr(out, isnan(d) ? "NaN" : d > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int precision = 1; precision <= 17; precision++) {
        (void)snprintf(text, sizeof(text), "%.*g", precision, d);
        if (strtod(text, NULL) == d)
            break;
    }
    if (fabs(d) >= 1e6 && fabs(d) < 1e21 && strchr(text, 'e'))
        (void)snprintf(text, sizeof(text), "%.0f", d);
    strbuf_add_cstr(out, text);
}

static bool put_list(struct cel_run *e, const struct cel_value *v, struct strbuf *out)
{
    bool is_map = v->type == CEL_MAP, ok = true, first = true;
    strbuf_add_char(out, is_map ? '{' : '[');
    for (struct cel_seq s = cel_seq_of(e, v); ok && cel_seq_next(&s); first = false) {
        if (!first)
            strbuf_add_cstr(out, ", ");
        if (is_map) {
            ok = cel_text_of(e, &s.key, out);
            strbuf_add_cstr(out, ": ");
        }
        ok = ok && cel_spend(e, 1) && cel_text_of(e, &s.value, out);
    }
    strbuf_add_char(out, is_map ? '}' : ']');
    return ok;
}

/* Go's form: seconds with a fraction. */
static void put_span(struct strbuf *out, int64_t nsec)
{
    char text[48];
    (void)snprintf(text, sizeof(text), "%s%lld.%09lld", nsec < 0 ? "-" : "",
                   (long long)llabs(nsec / NSEC_PER_SEC), (long long)llabs(nsec % NSEC_PER_SEC));
    size_t n = strlen(text);
    while (text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    strbuf_add(out, text, n);
    strbuf_add_char(out, 's');
}

static const char *type_word(enum cel_type t)
{
    return t == CEL_NULL ? "null_type" : t == CEL_LIST ? "list" : t == CEL_MAP ? "map" : NULL;
}

static void put_time(struct strbuf *out, usec wall)
{
    if (wall % USEC_PER_SEC)
        time_format_micro(wall, out);
    else
        time_format_rfc3339(wall, out);
}

bool cel_text_of(struct cel_run *e, const struct cel_value *v, struct strbuf *out)
{
    struct cel_shape shape = {.type = v->type == CEL_TYPE ? (enum cel_type)v->i : CEL_DYN};
    switch (v->type) {
    case CEL_NULL:
        strbuf_add_cstr(out, "null");
        return true;
    case CEL_BOOL:
        strbuf_add_cstr(out, v->b ? "true" : "false");
        return true;
    case CEL_INT:
        strbuf_add_int(out, v->i);
        return true;
    case CEL_UINT:
        strbuf_add_uint(out, v->u);
        return true;
    case CEL_DOUBLE:
        put_double(out, v->d);
        return true;
    case CEL_STRING:
    case CEL_BYTES:
        strbuf_add_str(out, v->s);
        return cel_spend(e, v->s.len / 16);
    case CEL_DURATION:
        put_span(out, v->i);
        return true;
    case CEL_TIMESTAMP:
        put_time(out, v->i);
        return true;
    case CEL_TYPE:
        strbuf_add_str(out, type_word(shape.type) ? str_of(type_word(shape.type))
                                                  : cel_shape_name(e->arena, &shape));
        return true;
    case CEL_QUANTITY:
        quantity_write(v->quantity, out);
        return true;
    case CEL_IP:
    case CEL_CIDR:
        cel_net_write(v, out);
        return true;
    case CEL_LIST:
    case CEL_MAP:
        return put_list(e, v, out);
    default:
        return false;
    }
}

CEL_FN(cel_f_string)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    if (a->type == CEL_STRING)
        return *a;
    bool ok = cel_text_of(e, a, &b) && str_is_utf8(strbuf_str(&b));
    struct cel_value v = ok ? of_str(arena_str(e->arena, strbuf_str(&b)))
                            : cel_failure(e, "invalid UTF-8 in bytes, cannot convert to string");
    strbuf_done(&b);
    return v;
}

/* ---- numbers ---- */

CEL_FN(cel_f_int)
{
    int64_t i;
    const double limit = 9223372036854775808.0;
    switch (a->type) {
    case CEL_INT:
        return *a;
    case CEL_UINT:
        return a->u <= INT64_MAX ? of_int((int64_t)a->u) : cel_failure(e, "integer overflow");
    case CEL_DOUBLE:
        return a->d > -limit && a->d < limit ? of_int((int64_t)a->d)
                                             : cel_failure(e, "integer overflow");
    case CEL_TIMESTAMP:
        return of_int(a->i / USEC_PER_SEC - (a->i % USEC_PER_SEC < 0));
    default:
        return str_to_int(a->s, &i)
                   ? of_int(i)
                   : cel_failure(e, "type conversion error from 'string' to 'int'");
    }
}

CEL_FN(cel_f_uint)
{
    struct cel_value v = {.type = CEL_UINT};
    bool ok = true;
    switch (a->type) {
    case CEL_UINT:
        return *a;
    case CEL_INT:
        ok = a->i >= 0;
        v.u = (uint64_t)a->i;
        break;
    case CEL_DOUBLE:
        ok = a->d >= 0 && a->d < 18446744073709551616.0;
        v.u = ok ? (uint64_t)a->d : 0;
        break;
    default:
        ok = str_to_uint(a->s, &v.u);
    }
    return ok ? v : cel_failure(e, "unsigned integer overflow");
}

CEL_FN(cel_f_double)
{
    char text[64], *end;
    if (cel_is_number(a))
        return of_double(cel_as_double(a));
    bool ok = a->s.len && a->s.len < sizeof(text);
    if (ok)
        memcpy(text, a->s.p, a->s.len);
    text[ok ? a->s.len : 0] = '\0';
    double d = strtod(text, &end);
    return ok && !*end ? of_double(d)
                       : cel_failure(e, "type conversion error from 'string' to 'double'");
}

CEL_FN(cel_f_bool)
{
    static const char *const words[] = {"false", "true",  "f",    "t",     "0",
                                        "1",     "FALSE", "TRUE", "False", "True"};
    if (a->type == CEL_BOOL)
        return *a;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(a->s, words[i]))
            return of_bool(i & 1);
    return cel_failure(e, "type conversion error from 'string' to 'bool'");
}

CEL_FN(cel_f_bytes)
{
    return (struct cel_value){.type = CEL_BYTES, .s = a->s};
}

CEL_FN(cel_f_dyn)
{
    return *a;
}

CEL_FN(cel_f_type)
{
    return (struct cel_value){.type = CEL_TYPE, .i = a->type};
}

/* ---- optional values ---- */

CEL_FN(cel_f_opt_of)
{
    return cel_some(e, *a);
}

CEL_FN(cel_f_opt_none)
{
    return cel_none();
}

static bool is_zero(const struct cel_value *v)
{
    switch (v->type) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v->b;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v->i == 0;
    case CEL_DOUBLE:
        return v->d == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return !v->s.len;
    case CEL_LIST:
    case CEL_MAP:
        return !cel_length(v);
    case CEL_OBJECT:
        return !v->object->fields.n;
    default:
        return false;
    }
}

CEL_FN(cel_f_opt_non_zero)
{
    return is_zero(a) ? cel_none() : cel_some(e, *a);
}

CEL_FN(cel_f_opt_has)
{
    return of_bool(a->inner != NULL);
}

CEL_FN(cel_f_opt_value)
{
    return a->inner ? *a->inner : cel_failure(e, "optional.none() dereference");
}

CEL_FN(cel_f_opt_or)
{
    return a[0].inner ? a[0] : a[1];
}

CEL_FN(cel_f_opt_or_value)
{
    return a[0].inner ? *a[0].inner : a[1];
}
