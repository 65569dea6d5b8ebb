/*
 * Comparing two documents: the merge patch between them, and lines for people. Both walk the two
 * values side by side and descend only where both have objects (the lines: or arrays). Members are
 * looked up by search in small objects and in a sorted copy of big ones, so the cost stays near the
 * size of the documents.
 *
 * A merge patch cannot say everything: it has no way to set a member to null, so a null in b comes
 * out as an absence.
 */
#include "json/mtree.h"
#include "json/patch.h"

#define LINE_VALUE_MAX 120

static bool both_are(jval a, jval b, enum jtype type)
{
    return jtype(a) == type && jtype(b) == type;
}

/* ---- the merge patch ---- */

static struct mnode *diff_objects(struct arena *arena, jval null, jval a, jval b);

/* What to set to turn a into b; NULL when nothing. */
static struct mnode *diff_value(struct arena *arena, jval null, jval a, jval b)
{
    if (both_are(a, b, J_OBJECT))
        return diff_objects(arena, null, a, b);
    if (j_is_absent(a) && j_is_null(b))
        return NULL;
    return jequal(a, b) ? NULL : mnode_leaf(arena, b);
}

static void diff_set(struct arena *arena, struct mnode **patch, str key, struct mnode *value)
{
    if (!*patch)
        *patch = mnode_object(arena);
    mnode_set(arena, *patch, key, value);
}

static struct mnode *diff_objects(struct arena *arena, jval null, jval a, jval b)
{
    struct mnode *patch = NULL;
    struct jlookup in_a = jlookup(a), in_b = jlookup(b);
    for (struct jiter it = jiter(b); jnext(&it);) {
        struct mnode *value = diff_value(arena, null, jlookup_get(&in_a, it.key), it.value);
        if (value)
            diff_set(arena, &patch, it.key, value);
    }
    for (struct jiter it = jiter(a); jnext(&it);)
        if (j_is_absent(jlookup_get(&in_b, it.key)))
            diff_set(arena, &patch, it.key, mnode_leaf(arena, null));
    jlookup_done(&in_a);
    jlookup_done(&in_b);
    return patch;
}

struct doc *json_diff_merge(jval a, jval b)
{
    struct arena arena = ARENA_INIT;
    struct doc *null = doc_hold(&arena, doc_parse(STR("null"), NULL, NULL));
    struct mnode *patch = mnode_leaf(&arena, b);
    if (both_are(a, b, J_OBJECT)) {
        patch = diff_objects(&arena, doc_root(null), a, b);
        if (!patch)
            patch = mnode_object(&arena);
    }
    /* Its depth and size are those of b at most. */
    struct doc *d = mnode_doc(patch, jtext(b).len / 4, UINT32_MAX, NULL);
    BUG_ON(!d);
    arena_done(&arena);
    return d;
}

/* ---- lines for people ---- */

struct printer {
    struct strbuf *out;
    struct strbuf path;
    struct strbuf removed; /* lines that come last */
};

static void print_value(struct strbuf *out, str text, const char *otherwise)
{
    size_t len = MIN(text.len, (size_t)LINE_VALUE_MAX);
    while (len < text.len && len > 0 && ((unsigned char)text.p[len] & 0xc0) == 0x80)
        len--; /* not inside a character */
    if (!text.p)
        strbuf_add_cstr(out, otherwise);
    strbuf_add(out, text.p, len);
    if (len < text.len)
        strbuf_add_cstr(out, "...");
}

void json_diff_line(struct strbuf *out, str path, str before, str after)
{
    strbuf_add_str(out, path.len ? path : STR("(document)"));
    strbuf_add_cstr(out, ": ");
    print_value(out, before, "(absent)");
    strbuf_add_cstr(out, " -> ");
    print_value(out, after, "(removed)");
    strbuf_add_char(out, '\n');
}

static void print_value_diff(struct printer *p, jval a, jval b);

static void print_at_key(struct printer *p, str key, jval a, jval b)
{
    size_t len = p->path.len;
    if (len)
        strbuf_add_char(&p->path, '.');
    strbuf_add_str(&p->path, key);
    print_value_diff(p, a, b);
    p->path.len = len;
}

static void print_objects(struct printer *p, jval a, jval b)
{
    struct jlookup in_a = jlookup(a), in_b = jlookup(b);
    for (struct jiter it = jiter(b); jnext(&it) && !p->out->overflow;)
        print_at_key(p, it.key, jlookup_get(&in_a, it.key), it.value);
    for (struct jiter it = jiter(a); jnext(&it) && !p->removed.overflow;)
        if (j_is_absent(jlookup_get(&in_b, it.key)))
            print_at_key(p, it.key, it.value, JVAL_ABSENT);
    jlookup_done(&in_a);
    jlookup_done(&in_b);
}

static void print_arrays(struct printer *p, jval a, jval b)
{
    struct jiter x = jiter(a), y = jiter(b);
    size_t len = p->path.len, longer = MAX(jlen(a), jlen(b));
    for (size_t i = 0; i < longer && !p->out->overflow; i++) {
        jval before = jnext(&x) ? x.value : JVAL_ABSENT;
        jval after = jnext(&y) ? y.value : JVAL_ABSENT;
        strbuf_printf(&p->path, "[%zu]", i);
        print_value_diff(p, before, after);
        p->path.len = len;
    }
}

static void print_value_diff(struct printer *p, jval a, jval b)
{
    if (both_are(a, b, J_OBJECT))
        print_objects(p, a, b);
    else if (both_are(a, b, J_ARRAY))
        print_arrays(p, a, b);
    else if (j_is_absent(b))
        json_diff_line(&p->removed, strbuf_str(&p->path), jtext(a), STR_NONE);
    else if (j_is_absent(a) || !jequal(a, b))
        json_diff_line(p->out, strbuf_str(&p->path), jtext(a), jtext(b));
}

void json_diff_print(jval a, jval b, struct strbuf *out)
{
    size_t room = out->max > out->len ? out->max - out->len : 0;
    struct printer p = {.out = out, .path = STRBUF_INIT(1 << 20), .removed = STRBUF_INIT(room)};
    print_value_diff(&p, a, b);
    strbuf_add_str(out, strbuf_str(&p.removed));
    strbuf_done(&p.path);
    strbuf_done(&p.removed);
}
