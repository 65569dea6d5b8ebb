/*
 * See fieldset.h. Each operation on two sets walks both lists of kids in step and copies only nodes
 * that differ; whole branches that only one side has are shared as they are.
 */
#include "kube/fieldset.h"

#define PATH_MAX_LEN (64 * 1024)

/* ---- order ---- */

int fieldset_cmp(const struct fieldset *x, const struct fieldset *y)
{
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static int cmp_kids(const void *x, const void *y)
{
    return fieldset_cmp(x, y);
}

static bool is_sorted(const struct fieldset *kids, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (fieldset_cmp(&kids[i - 1], &kids[i]) >= 0)
            return false;
    return true;
}

size_t fieldset_sort(struct arena *a, struct fieldset *kids, size_t n)
{
    if (is_sorted(kids, n))
        return n;
    qsort(kids, n, sizeof(*kids), cmp_kids);
    size_t len = 1;
    for (size_t i = 1; i < n; i++) {
        struct fieldset *last = &kids[len - 1];
        if (fieldset_cmp(last, &kids[i]) == 0)
            *last = fieldset_union(a, last, &kids[i]);
        else
            kids[len++] = kids[i];
    }
    return len;
}

/* ---- FieldsV1 ---- */

/* "f:name" taken apart. */
static bool split_element(str key, char *ret_tag, str *ret_name)
{
    if (key.len < 2 || key.p[1] != ':' || !memchr("fkvi", key.p[0], 4))
        return false;
    *ret_tag = key.p[0];
    *ret_name = str_sub(key, 2, key.len);
    return true;
}

/* The same value with sorted keys and without spaces. */
static bool make_canonical(struct arena *a, str *name)
{
    struct doc *d = doc_parse(*name, NULL, NULL);
    if (!d)
        return false;
    struct strbuf b = STRBUF_INIT(PATH_MAX_LEN);
    jcanonical(doc_root(d), false, &b);
    *name = arena_str(a, strbuf_str(&b));
    bool ok = !b.overflow;
    strbuf_done(&b);
    doc_unref(d);
    return ok;
}

bool fieldset_parse(struct arena *a, jval fields, bool foreign, struct fieldset *ret)
{
    size_t len = jlen(fields), n = 0;
    if (jtype(fields) != J_OBJECT)
        return false;
    ret->kids = arena_array(a, struct fieldset, len);
    for (struct jiter it = jiter(fields); jnext(&it);) {
        struct fieldset *kid = &ret->kids[n];
        if (str_is(it.key, ".")) {
            ret->member = ret->tag != 0;
            continue;
        }
        *kid = FIELDSET_EMPTY;
        if (!split_element(it.key, &kid->tag, &kid->name) ||
            (foreign && kid->tag != 'f' && !make_canonical(a, &kid->name)) ||
            !fieldset_parse(a, it.value, foreign, kid))
            return false;
        n++;
    }
    ret->n_kids = n ? fieldset_sort(a, ret->kids, n) : 0;
    if (n == 0)
        ret->member = ret->tag != 0;
    return true;
}

/* The longest an escaped byte becomes (\u001f), and what stands around a name. */
enum { ESCAPED_MAX = 6, AROUND_NAME = 16 };

/* A name as it stands in a JSON string; most have nothing to escape but the quotes of keys. */
static char *put_name(char *to, str name)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = (uint8_t)name.p[i];
        if (LIKELY(c >= 0x20 && c != '"' && c != '\\')) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '\\';
        if (c >= 0x20) {
            *to++ = (char)c;
            continue;
        }
        memcpy(to, "u00", 3);
        to[3] = digits[c >> 4];
        to[4] = digits[c & 15];
        to += 5;
    }
    return to;
}

void fieldset_write(const struct fieldset *s, struct strbuf *out)
{
    bool self = s->member && s->n_kids;
    strbuf_add_cstr(out, self ? "{\".\":{}" : "{");
    for (size_t i = 0; i < s->n_kids; i++) {
        const struct fieldset *kid = &s->kids[i];
        char *room = strbuf_reserve(out, kid->name.len * ESCAPED_MAX + AROUND_NAME);
        if (!room)
            return;
        char *to = room;
        if (i || self)
            *to++ = ',';
        *to++ = '"';
        *to++ = kid->tag;
        *to++ = ':';
        to = put_name(to, kid->name);
        memcpy(to, "\":{}", 4);
        to += 2;
        bool leaf = kid->n_kids == 0;
        strbuf_commit(out, (size_t)(to - room) + (leaf ? 2 : 0));
        if (!leaf)
            fieldset_write(kid, out);
    }
    strbuf_add_char(out, '}');
}

/* ---- operations ---- */

bool fieldset_equal(const struct fieldset *x, const struct fieldset *y)
{
    if (x->member != y->member || x->n_kids != y->n_kids)
        return false;
    if (x->kids == y->kids)
        return true;
    for (size_t i = 0; i < x->n_kids; i++)
        if (fieldset_cmp(&x->kids[i], &y->kids[i]) || !fieldset_equal(&x->kids[i], &y->kids[i]))
            return false;
    return true;
}

/* Two lists of kids in step: returns the smaller element's order (negative: only x has it). */
static int step(const struct fieldset *x, size_t i, const struct fieldset *y, size_t j)
{
    if (i == x->n_kids)
        return 1;
    return j == y->n_kids ? -1 : fieldset_cmp(&x->kids[i], &y->kids[j]);
}

struct fieldset fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    struct fieldset out = *x;
    out.member = x->member || y->member;
    if (y->n_kids == 0 || x->kids == y->kids)
        return out;
    out.kids = arena_array(a, struct fieldset, x->n_kids + y->n_kids);
    out.n_kids = 0;
    for (size_t i = 0, j = 0; i < x->n_kids || j < y->n_kids;) {
        int order = step(x, i, y, j);
        out.kids[out.n_kids++] = order < 0   ? x->kids[i]
                                 : order > 0 ? y->kids[j]
                                             : fieldset_union(a, &x->kids[i], &y->kids[j]);
        i += order <= 0;
        j += order >= 0;
    }
    return out;
}

struct fieldset fieldset_difference(struct arena *a, const struct fieldset *x,
                                    const struct fieldset *y)
{
    struct fieldset out = *x;
    out.member = x->member && !y->member;
    if (x->n_kids == 0 || y->n_kids == 0)
        return out;
    out.kids = arena_array(a, struct fieldset, x->n_kids);
    out.n_kids = 0;
    for (size_t i = 0, j = 0; i < x->n_kids;) {
        int order = step(x, i, y, j);
        if (order <= 0) {
            struct fieldset kid = x->kids[i];
            if (order == 0)
                kid = fieldset_difference(a, &x->kids[i], &y->kids[j]);
            if (!fieldset_is_empty(&kid))
                out.kids[out.n_kids++] = kid;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return out;
}

struct fieldset fieldset_intersection(struct arena *a, const struct fieldset *x,
                                      const struct fieldset *y)
{
    struct fieldset out = *x;
    out.member = x->member && y->member;
    out.n_kids = 0;
    if (x->n_kids == 0 || y->n_kids == 0)
        return out;
    out.kids = arena_array(a, struct fieldset, MIN(x->n_kids, y->n_kids));
    for (size_t i = 0, j = 0; i < x->n_kids && j < y->n_kids;) {
        int order = step(x, i, y, j);
        if (order == 0) {
            struct fieldset kid = fieldset_intersection(a, &x->kids[i], &y->kids[j]);
            if (!fieldset_is_empty(&kid))
                out.kids[out.n_kids++] = kid;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return out;
}

const struct fieldset *fieldset_find(const struct fieldset *s, char tag, str name)
{
    const struct fieldset key = {.tag = tag, .name = name};
    if (!s || s->n_kids == 0)
        return NULL;
    return bsearch(&key, s->kids, s->n_kids, sizeof(*s->kids), cmp_kids);
}

/* ---- against text ---- */

/* Whether FieldsV1 below an element says that the element itself is a member. */
static bool text_is_member(jval fields)
{
    return jlen(fields) == 0 || !j_is_absent(jgetc(fields, "."));
}

bool fieldset_overlaps(const struct fieldset *s, jval fields)
{
    if (s->n_kids == 0)
        return false;
    for (struct jiter it = jiter(fields); jnext(&it);) {
        char tag;
        str name;
        if (!split_element(it.key, &tag, &name))
            continue;
        const struct fieldset *kid = fieldset_find(s, tag, name);
        if (kid && ((kid->member && text_is_member(it.value)) || fieldset_overlaps(kid, it.value)))
            return true;
    }
    return false;
}

bool fieldset_is_within(const struct fieldset *s, jval fields)
{
    size_t found = 0;
    if (s->n_kids > jlen(fields))
        return false;
    for (struct jiter it = jiter(fields); found < s->n_kids && jnext(&it);) {
        char tag;
        str name;
        if (!split_element(it.key, &tag, &name))
            continue;
        const struct fieldset *kid = fieldset_find(s, tag, name);
        if (!kid)
            continue;
        if ((kid->member && !text_is_member(it.value)) || !fieldset_is_within(kid, it.value))
            return false;
        found++;
    }
    return found == s->n_kids;
}

/* ---- paths for people ---- */

static void add_keys(struct strbuf *path, jval keys)
{
    bool first = true;
    strbuf_add_char(path, '[');
    for (struct jiter it = jiter(keys); jnext(&it); first = false) {
        if (!first)
            strbuf_add_char(path, ',');
        strbuf_add_str(path, it.key);
        strbuf_add_char(path, '=');
        strbuf_add_str(path, jtext(it.value));
    }
    strbuf_add_char(path, ']');
}

void fieldset_add_element(struct strbuf *path, char tag, str name)
{
    if (tag == 'f') {
        strbuf_add_char(path, '.');
        strbuf_add_str(path, name);
        return;
    }
    struct doc *keys = tag == 'k' ? doc_parse(name, NULL, NULL) : NULL;
    if (keys) {
        add_keys(path, doc_root(keys));
        doc_unref(keys);
        return;
    }
    strbuf_add_cstr(path, tag == 'v' ? "[=" : "[");
    strbuf_add_str(path, name);
    strbuf_add_char(path, ']');
}

struct path_walk {
    struct strbuf path;
    void (*fn)(void *ctx, str path);
    void *ctx;
};

static void walk_paths(struct path_walk *w, const struct fieldset *s)
{
    size_t len = w->path.len;
    for (int below = 0; below < 2; below++) {
        for (size_t i = 0; i < s->n_kids; i++) {
            const struct fieldset *kid = &s->kids[i];
            if (below ? kid->n_kids == 0 : !kid->member)
                continue;
            fieldset_add_element(&w->path, kid->tag, kid->name);
            if (below)
                walk_paths(w, kid);
            else
                w->fn(w->ctx, strbuf_str(&w->path));
            w->path.len = len;
        }
    }
}

void fieldset_each_path(const struct fieldset *s, void (*fn)(void *ctx, str path), void *ctx)
{
    struct path_walk w = {.path = STRBUF_INIT(PATH_MAX_LEN), .fn = fn, .ctx = ctx};
    walk_paths(&w, s);
    strbuf_done(&w.path);
}
