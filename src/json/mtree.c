/*
 * The mutable tree. Objects are a linked list of members, which keeps document order through any
 * sequence of changes. One of more than 16 members gets a hash index when it has been searched as
 * often, so that a patch with many keys on a big object stays linear. Arrays are a vector of
 * pointers: nodes never move, only pointers do.
 *
 * The new document is spliced together from the pieces and never parsed. Recursion happens in that
 * and in comparing only. The former stops at the depth asked for (a chain of "add" and "move"
 * operations can nest deeper than any document), the latter at that of the document compared with.
 */
#include "json/mtree.h"

#include "base/map.h"
#include "json/splice.h"
#include "json/tape.h"
#include "json/write.h"

#define INDEX_FROM 16

struct mmember {
    struct list link;
    str key;
    struct mnode *value;
    struct mnode own; /* the value, while it is the one that was there */
};

struct mobject {
    struct list members;
    size_t len;
    struct map *index; /* NULL while small or hardly searched */
    struct arena *arena;
    unsigned searches;
};

struct marray {
    struct mnode **items;
    size_t len;
    size_t cap;
};

/* ---- making nodes ---- */

static void object_init(struct arena *a, struct mnode *n)
{
    n->kind = MNODE_OBJECT;
    n->object = arena_new(a, struct mobject);
    n->object->arena = a;
    list_init(&n->object->members);
}

struct mnode *mnode_leaf(struct arena *a, jval v)
{
    struct mnode *n = arena_new(a, struct mnode);
    n->kind = MNODE_LEAF;
    n->leaf = v;
    return n;
}

struct mnode *mnode_object(struct arena *a)
{
    struct mnode *n = arena_new(a, struct mnode);
    object_init(a, n);
    return n;
}

struct mnode *mnode_array(struct arena *a)
{
    struct mnode *n = arena_new(a, struct mnode);
    n->kind = MNODE_ARRAY;
    n->array = arena_new(a, struct marray);
    return n;
}

struct mnode *mnode_parse(struct arena *a, str text, struct err *err)
{
    struct doc *d = doc_parse(text, NULL, err);
    return d ? mnode_leaf(a, doc_root(doc_hold(a, d))) : NULL;
}

struct mnode *mnode_str(struct arena *a, str s)
{
    struct strbuf text = STRBUF_INIT(TEXT_MAX);
    json_quote(&text, s);
    struct mnode *n = mnode_parse(a, strbuf_str(&text), NULL);
    strbuf_done(&text);
    BUG_ON(!n);
    return n;
}

enum jtype mnode_type(const struct mnode *n)
{
    if (n->kind == MNODE_LEAF)
        return jtype(n->leaf);
    return n->kind == MNODE_OBJECT ? J_OBJECT : J_ARRAY;
}

jval mnode_value(const struct mnode *n)
{
    return n->kind == MNODE_LEAF ? n->leaf : JVAL_ABSENT;
}

size_t mnode_len(const struct mnode *n)
{
    if (n->kind == MNODE_LEAF)
        return jlen(n->leaf);
    return n->kind == MNODE_OBJECT ? n->object->len : n->array->len;
}

/* ---- objects ---- */

static void index_drop(void *p)
{
    map_done(p);
}

static void index_build(struct mobject *o)
{
    o->index = arena_new(o->arena, struct map);
    arena_hold(o->arena, o->index, index_drop);
    list_foreach (it, &o->members) {
        struct mmember *m = list_entry(it, struct mmember, link);
        map_put(o->index, m->key, m);
    }
}

static struct mmember *object_find(struct mobject *o, str key)
{
    if (UNLIKELY(o->len > INDEX_FROM) && !o->index && ++o->searches > INDEX_FROM)
        index_build(o);
    if (o->index)
        return map_get(o->index, key);
    list_foreach (it, &o->members) {
        struct mmember *m = list_entry(it, struct mmember, link);
        if (str_eq(m->key, key))
            return m;
    }
    return NULL;
}

static void object_add(struct mobject *o, struct mmember *m)
{
    list_push_back(&o->members, &m->link);
    o->len++;
    if (o->index)
        map_put(o->index, m->key, m);
}

/* ---- opening a leaf ---- */

/* Readers pass over keys that are repeated later, so that every key comes once. */
static void open_object(struct arena *a, struct mnode *n)
{
    jval v = n->leaf;
    object_init(a, n);
    struct mmember *m = arena_array(a, struct mmember, jlen(v));
    for (struct jiter it = jiter(v); jnext(&it); m++) {
        m->key = it.key;
        m->own.leaf = it.value;
        m->value = &m->own;
        object_add(n->object, m);
    }
}

static void open_array(struct arena *a, struct mnode *n)
{
    jval v = n->leaf;
    size_t len = jlen(v);
    struct marray *arr = arena_new(a, struct marray);
    struct mnode *nodes = arena_array(a, struct mnode, len);
    arr->items = arena_array(a, struct mnode *, len);
    arr->len = arr->cap = len;
    for (struct jiter it = jiter(v); jnext(&it);) {
        nodes[it.index].leaf = it.value;
        arr->items[it.index] = &nodes[it.index];
    }
    n->kind = MNODE_ARRAY;
    n->array = arr;
}

static struct mobject *node_object(struct arena *a, struct mnode *n)
{
    if (n->kind == MNODE_LEAF && jtype(n->leaf) == J_OBJECT)
        open_object(a, n);
    return n->kind == MNODE_OBJECT ? n->object : NULL;
}

static struct marray *node_array(struct arena *a, struct mnode *n)
{
    if (n->kind == MNODE_LEAF && jtype(n->leaf) == J_ARRAY)
        open_array(a, n);
    return n->kind == MNODE_ARRAY ? n->array : NULL;
}

struct mnode *mnode_get(struct arena *a, struct mnode *n, str key)
{
    struct mobject *o = node_object(a, n);
    struct mmember *m = o ? object_find(o, key) : NULL;
    return m ? m->value : NULL;
}

void mnode_set(struct arena *a, struct mnode *n, str key, struct mnode *value)
{
    struct mobject *o = node_object(a, n);
    BUG_ON(!o);
    struct mmember *m = object_find(o, key);
    if (!m) {
        m = arena_new(a, struct mmember);
        m->key = arena_str(a, key);
        object_add(o, m);
    }
    m->value = value;
}

struct mnode *mnode_del(struct arena *a, struct mnode *n, str key)
{
    struct mobject *o = node_object(a, n);
    struct mmember *m = o ? object_find(o, key) : NULL;
    if (!m)
        return NULL;
    if (o->index)
        map_del(o->index, key);
    list_remove(&m->link);
    o->len--;
    return m->value;
}

/* ---- arrays ---- */

struct mnode *mnode_at(struct arena *a, struct mnode *n, size_t i)
{
    struct marray *arr = node_array(a, n);
    return arr && i < arr->len ? arr->items[i] : NULL;
}

void mnode_insert(struct arena *a, struct mnode *n, size_t i, struct mnode *value)
{
    struct marray *arr = node_array(a, n);
    BUG_ON(!arr || i > arr->len);
    if (arr->len == arr->cap) {
        size_t cap = arr->cap ? arr->cap * 2 : 8;
        struct mnode **items = arena_array(a, struct mnode *, cap);
        if (arr->len)
            memcpy(items, arr->items, arr->len * sizeof(*items));
        arr->items = items;
        arr->cap = cap;
    }
    memmove(&arr->items[i + 1], &arr->items[i], (arr->len - i) * sizeof(*arr->items));
    arr->items[i] = value;
    arr->len++;
}

struct mnode *mnode_take(struct arena *a, struct mnode *n, size_t i)
{
    struct marray *arr = node_array(a, n);
    BUG_ON(!arr || i >= arr->len);
    struct mnode *taken = arr->items[i];
    arr->len--;
    memmove(&arr->items[i], &arr->items[i + 1], (arr->len - i) * sizeof(*arr->items));
    return taken;
}

/* ---- iteration ---- */

struct miter miter(struct arena *a, struct mnode *n)
{
    struct mobject *o = node_object(a, n);
    (void)node_array(a, n);
    return (struct miter){.node = n, .next = o ? o->members.next : NULL};
}

bool mnext(struct miter *it)
{
    if (it->node->kind == MNODE_OBJECT) {
        if (it->next == &it->node->object->members)
            return false;
        struct mmember *m = list_entry(it->next, struct mmember, link);
        it->next = it->next->next;
        it->key = m->key;
        it->value = m->value;
        return true;
    }
    if (it->node->kind != MNODE_ARRAY || it->index >= it->node->array->len)
        return false;
    it->value = it->node->array->items[it->index++];
    return true;
}

/* ---- results ---- */

static bool object_equal(struct mobject *o, jval v)
{
    if (jtype(v) != J_OBJECT)
        return false;
    size_t distinct = 0;
    for (struct jiter it = jiter(v); jnext(&it); distinct++) {
        const struct mmember *m = object_find(o, it.key);
        if (!m || !mnode_equal(m->value, it.value))
            return false;
    }
    return distinct == o->len;
}

static bool array_equal(const struct marray *arr, jval v)
{
    if (jtype(v) != J_ARRAY || jlen(v) != arr->len)
        return false;
    for (struct jiter it = jiter(v); jnext(&it);)
        if (!mnode_equal(arr->items[it.index], it.value))
            return false;
    return true;
}

bool mnode_equal(const struct mnode *n, jval v)
{
    if (n->kind == MNODE_LEAF)
        return jequal(n->leaf, v);
    return n->kind == MNODE_OBJECT ? object_equal(n->object, v) : array_equal(n->array, v);
}

static void splice_node(struct splice *s, const struct mnode *n);

static void splice_object(struct splice *s, const struct mobject *o)
{
    uint32_t mark = splice_open(s, true);
    bool first = true;
    list_foreach (it, &o->members) {
        const struct mmember *m = list_entry(it, struct mmember, link);
        if (m->value->kind == MNODE_LEAF) {
            splice_member(s, m->key, m->value->leaf, first);
        } else {
            splice_key(s, m->key, first);
            splice_node(s, m->value);
        }
        first = false;
    }
    splice_close(s, mark, o->len);
}

static void splice_array(struct splice *s, const struct marray *arr)
{
    uint32_t mark = splice_open(s, false);
    for (size_t i = 0; i < arr->len; i++) {
        if (arr->items[i]->kind == MNODE_LEAF) {
            splice_item(s, arr->items[i]->leaf, i == 0);
            continue;
        }
        splice_comma(s, i == 0);
        splice_node(s, arr->items[i]);
    }
    splice_close(s, mark, arr->len);
}

static void splice_node(struct splice *s, const struct mnode *n)
{
    if (s->text.overflow)
        return;
    if (n->kind != MNODE_LEAF && s->depth >= s->max_depth)
        s->deepest = s->max_depth + 1; /* an error at the end; no need to go there */
    else if (n->kind == MNODE_OBJECT)
        splice_object(s, n->object);
    else if (n->kind == MNODE_ARRAY)
        splice_array(s, n->array);
    else
        splice_value(s, n->leaf);
}

struct doc *mnode_doc(const struct mnode *n, size_t hint, uint32_t max_depth, struct err *err)
{
    struct splice s;
    splice_init(&s, hint, max_depth);
    splice_node(&s, n);
    return splice_doc(&s, err);
}
