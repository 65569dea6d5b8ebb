/*
 * Equality and the canonical form: both take members in any order, numbers by value and strings
 * unescaped. Objects are compared in step while their keys come in the same order, which is the
 * usual case; otherwise both are sorted, so that no input makes this quadratic.
 */
#include "json/tape.h"
#include "json/write.h"

/* Up to here a search per member is cheaper than sorting. */
#define SEARCH_MAX 16

static int member_cmp(const void *a, const void *b)
{
    const struct jmember *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

struct jmember *jmembers_sorted(jval object, size_t *ret_n)
{
    *ret_n = 0;
    if (jtype(object) != J_OBJECT || jlen(object) == 0)
        return NULL;
    struct jmember *members = xmalloc(jlen(object) * sizeof(*members));
    size_t n = 0;
    for (struct jiter it = jiter(object); jnext(&it);)
        members[n++] = (struct jmember){it.key, it.value};
    qsort(members, n, sizeof(*members), member_cmp);
    *ret_n = n;
    return members;
}

/* ---- members by key ---- */

struct jlookup jlookup(jval object)
{
    return (struct jlookup){.object = object, .next = jiter(object), .in_step = true};
}

static int key_cmp(const void *key, const void *member)
{
    return str_cmp(*(const str *)key, ((const struct jmember *)member)->key);
}

jval jlookup_get(struct jlookup *l, str key)
{
    if (jlen(l->object) <= SEARCH_MAX || jtype(l->object) != J_OBJECT)
        return jget(l->object, key);
    l->in_step = l->in_step && jnext(&l->next) && str_eq(l->next.key, key);
    if (l->in_step)
        return l->next.value;
    if (!l->sorted)
        l->sorted = jmembers_sorted(l->object, &l->n);
    const struct jmember *m = bsearch(&key, l->sorted, l->n, sizeof(*l->sorted), key_cmp);
    return m ? m->value : JVAL_ABSENT;
}

void jlookup_done(struct jlookup *l)
{
    free(l->sorted);
}

/* ---- equality ---- */

static bool value_equal(jval a, jval b);

static bool sorted_equal(jval a, jval b)
{
    size_t na, nb;
    struct jmember *ma = jmembers_sorted(a, &na), *mb = jmembers_sorted(b, &nb);
    bool equal = na == nb;
    for (size_t i = 0; equal && i < na; i++)
        equal = str_eq(ma[i].key, mb[i].key) && value_equal(ma[i].value, mb[i].value);
    free(ma);
    free(mb);
    return equal;
}

/* Both have the same number of members and no key twice, so one direction is enough. */
static bool search_equal(jval a, jval b)
{
    for (struct jiter it = jiter(a); jnext(&it);)
        if (!value_equal(it.value, jget(b, it.key)))
            return false;
    return true;
}

static bool object_equal(jval a, jval b)
{
    struct jiter x = jiter(a), y = jiter(b);
    while (jnext(&x) && jnext(&y)) {
        if (!str_eq(x.key, y.key))
            return jlen(a) <= SEARCH_MAX ? search_equal(a, b) : sorted_equal(a, b);
        if (!value_equal(x.value, y.value))
            return false;
    }
    return true;
}

static bool array_equal(jval a, jval b)
{
    struct jiter x = jiter(a), y = jiter(b);
    while (jnext(&x) && jnext(&y))
        if (!value_equal(x.value, y.value))
            return false;
    return true;
}

static bool is_number(enum jtype t)
{
    return t == J_INT || t == J_REAL;
}

/* The same bytes are the same value. Beyond this size the question is not asked again at each
 * level. */
#define SAME_TEXT_MAX ((size_t)64 << 10)

static bool is_same_text(jval a, jval b)
{
    str text = jtext(a);
    return text.len <= SAME_TEXT_MAX && str_eq(text, jtext(b));
}

static bool value_equal(jval a, jval b)
{
    enum jtype ta = jtype(a), tb = jtype(b);
    if (is_number(ta) && is_number(tb))
        return str_eq(jtext(a), jtext(b)) ||
               decimal_equal(decimal_of(jtext(a)), decimal_of(jtext(b)));
    if (ta != tb)
        return false;
    switch (ta) {
    case J_STRING:
        return str_eq(jstr(a), jstr(b));
    case J_ARRAY:
        return jlen(a) == jlen(b) && (is_same_text(a, b) || array_equal(a, b));
    case J_OBJECT:
        return jlen(a) == jlen(b) && (is_same_text(a, b) || object_equal(a, b));
    default:
        return true;
    }
}

bool jequal(jval a, jval b)
{
    if (a.doc && b.doc && str_eq(jtext(a), jtext(b)))
        return true;
    return value_equal(a, b);
}

/* ---- canonical form ---- */

static void write_value(jval v, bool drop_empty, struct strbuf *out);

static void rewind_to(struct strbuf *out, size_t len)
{
    out->len = len;
    if (out->p)
        out->p[len] = '\0';
}

static bool is_empty_text(str s)
{
    return str_eq(s, STR("null")) || str_eq(s, STR("{}")) || str_eq(s, STR("[]"));
}

/* A member that turns out empty is taken back: whether it is, is known only when it is written. */
static void write_object(jval v, bool drop_empty, struct strbuf *out)
{
    size_t n, written = 0;
    struct jmember *members = jmembers_sorted(v, &n);
    strbuf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        size_t before = out->len;
        if (written)
            strbuf_add_char(out, ',');
        json_quote(out, members[i].key);
        strbuf_add_char(out, ':');
        size_t value = out->len;
        write_value(members[i].value, drop_empty, out);
        if (drop_empty && is_empty_text(str_sub(strbuf_str(out), value, out->len)))
            rewind_to(out, before);
        else
            written++;
    }
    strbuf_add_char(out, '}');
    free(members);
}

static void write_array(jval v, bool drop_empty, struct strbuf *out)
{
    strbuf_add_char(out, '[');
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (it.index)
            strbuf_add_char(out, ',');
        write_value(it.value, drop_empty, out);
    }
    strbuf_add_char(out, ']');
}

static void write_value(jval v, bool drop_empty, struct strbuf *out)
{
    switch (jtype(v)) {
    case J_OBJECT:
        write_object(v, drop_empty, out);
        break;
    case J_ARRAY:
        write_array(v, drop_empty, out);
        break;
    case J_STRING:
        json_quote(out, jstr(v));
        break;
    case J_INT:
    case J_REAL:
        decimal_write(decimal_of(jtext(v)), out);
        break;
    case J_ABSENT:
        strbuf_add_cstr(out, "null");
        break;
    default:
        strbuf_add_str(out, jtext(v));
    }
}

void jcanonical(jval v, bool drop_empty, struct strbuf *out)
{
    write_value(v, drop_empty, out);
}
