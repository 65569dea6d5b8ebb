/*
 * Strategic merge patch: what kubectl apply, edit and set and helm upgrade send for built-in kinds.
 *
 * Objects merge member by member and null deletes, as in a merge patch. Lists marked
 * FIELD_PATCH_MERGE merge too: items of objects are told apart by their patch key, scalars by
 * value. Directives:
 *
 *   "$patch": "delete" | "replace" | "merge"    in an object, or in an item of a merging list
 *   "$retainKeys": [...]                        members not listed are dropped
 *   "$setElementOrder/<list>": [...]            order of the items the client knows
 *   "$deleteFromPrimitiveList/<list>": [...]    scalars to remove
 *
 * Order of a list after $setElementOrder: the items the client named stand as it says; items only
 * the server has keep their order among themselves and stand before the first named item that
 * followed them before.
 *
 * The result is built on an mtree, the patch is only read. Lists are compared through hash maps, so
 * the work is linear in the size of both documents.
 */
#include "base/map.h"
#include "base/vec.h"
#include "kube/schema.h"
#include "json/mtree.h"

#define SET_ORDER "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"
#define MAX_DEPTH 200

typedef VEC(struct mnode *) mnode_vec;

struct merge {
    struct arena arena;
    struct err *err;
    unsigned depth;
};

static int merge_object(struct merge *m, const struct type *t, struct mnode *target, jval patch);

/* ---- directives ---- */

static bool is_directive(str key)
{
    return key.len && key.p[0] == '$' &&
           (str_is(key, "$patch") || str_is(key, "$retainKeys") ||
            str_starts(key, STR(SET_ORDER)) || str_starts(key, STR(DELETE_FROM)));
}

enum patch_type { PATCH_NONE, PATCH_MERGE, PATCH_REPLACE, PATCH_DELETE };

static int patch_type_of(struct merge *m, jval patch, enum patch_type *ret)
{
    jval v = jgetc(patch, "$patch");
    str s = jstr(v);

    if (j_is_absent(v))
        *ret = PATCH_NONE;
    else if (str_is(s, "merge"))
        *ret = PATCH_MERGE;
    else if (str_is(s, "replace"))
        *ret = PATCH_REPLACE;
    else if (str_is(s, "delete"))
        *ret = PATCH_DELETE;
    else
        return err_set(m->err, ERR_INVALID, "unknown patch type found: %.*s", STR_ARG(jtext(v)));
    return 0;
}

/* True when a value can be taken over as it is: no directive and no null in any object. */
static bool is_clean(jval v)
{
    if (jtype(v) != J_OBJECT && jtype(v) != J_ARRAY)
        return true;
    bool object = jtype(v) == J_OBJECT;
    for (struct jiter it = jiter(v); jnext(&it);)
        if ((object && (is_directive(it.key) || j_is_null(it.value))) || !is_clean(it.value))
            return false;
    return true;
}

static bool is_dropped(jval item)
{
    return jtype(item) == J_OBJECT && str_is(jstr(jgetc(item, "$patch")), "delete");
}

static struct mnode *copy_without_directives(struct merge *m, jval v)
{
    struct arena *a = &m->arena;
    enum jtype type = jtype(v);

    if (type != J_OBJECT && type != J_ARRAY)
        return mnode_leaf(a, v);
    struct mnode *n = type == J_OBJECT ? mnode_object(a) : mnode_array(a);
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (type == J_ARRAY && !is_dropped(it.value))
            mnode_insert(a, n, mnode_len(n), copy_without_directives(m, it.value));
        else if (type == J_OBJECT && !is_directive(it.key) && !j_is_null(it.value))
            mnode_set(a, n, it.key, copy_without_directives(m, it.value));
    }
    return n;
}

/* The value of a patch where the target has none: directives and nulls taken out. */
static struct mnode *clean_copy(struct merge *m, jval v)
{
    return is_clean(v) ? mnode_leaf(&m->arena, v) : copy_without_directives(m, v);
}

/* ---- lists ---- */

/* The text by which an item of a merging list is told apart: its key's value, or the scalar. */
static str identity(struct merge *m, const struct field *f, jval item)
{
    jval v = f->patch_key ? jget(item, str_of(f->patch_key)) : item;
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);

    if (!j_has(v) || jtype(v) == J_OBJECT || jtype(v) == J_ARRAY)
        return STR_NONE;
    jcanonical(v, false, &b);
    str s = arena_str(&m->arena, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

static str node_identity(struct merge *m, const struct field *f, struct mnode *item)
{
    jval leaf = mnode_value(item);

    if (!j_is_absent(leaf) || !f->patch_key)
        return identity(m, f, leaf);
    struct mnode *key = mnode_get(&m->arena, item, str_of(f->patch_key));
    struct field scalar = {0};
    return key ? identity(m, &scalar, mnode_value(key)) : STR_NONE;
}

/* Positions (plus one) of the items of a list by identity; the first of equals counts. */
static void index_nodes(struct merge *m, const struct field *f, const mnode_vec *items,
                        struct map *ret)
{
    for (size_t i = 0; i < items->len; i++) {
        str id = node_identity(m, f, items->p[i]);
        if (id.p && !map_has(ret, id))
            map_put(ret, id, (void *)(uintptr_t)(i + 1));
    }
}

static void index_values(struct merge *m, const struct field *f, jval list, struct map *ret)
{
    if (jtype(list) != J_ARRAY)
        return;
    for (struct jiter it = jiter(list); jnext(&it);) {
        str id = identity(m, f, it.value);
        if (id.p && !map_has(ret, id))
            map_put(ret, id, (void *)(uintptr_t)(it.index + 1));
    }
}

static void list_open(struct merge *m, struct mnode *n, mnode_vec *ret)
{
    for (struct miter it = miter(&m->arena, n); mnext(&it);)
        *vec_push(ret) = it.value;
}

static struct mnode *list_close(struct merge *m, const mnode_vec *items)
{
    struct mnode *n = mnode_array(&m->arena);

    for (size_t i = 0; i < items->len; i++)
        if (items->p[i])
            mnode_insert(&m->arena, n, mnode_len(n), items->p[i]);
    return n;
}

/* Takes out the items whose identity is in the map. */
static void remove_items(struct merge *m, const struct field *f, mnode_vec *items,
                         const struct map *gone)
{
    size_t n = 0;

    for (size_t i = 0; i < items->len; i++) {
        str id = node_identity(m, f, items->p[i]);
        if (!id.p || !map_has(gone, id))
            items->p[n++] = items->p[i];
    }
    items->len = n;
}

/* What one item of a patch says by "$patch": *ret_replace is set when the list is to be replaced by
 * the rest, the identity of an item to delete goes into gone. */
static int read_item_directive(struct merge *m, const struct field *f, jval item, bool *ret_replace,
                               struct map *gone)
{
    enum patch_type type;

    if (jtype(item) != J_OBJECT)
        return err_set(m->err, ERR_INVALID, "list %s takes objects, found %.*s", f->name,
                       STR_ARG(jtext(item)));
    if (patch_type_of(m, item, &type) < 0)
        return ERR_INVALID;
    if (type == PATCH_MERGE)
        return err_set(m->err, ERR_INVALID, "merging lists cannot yet be specified in the patch");
    if (type == PATCH_REPLACE)
        *ret_replace = true;
    if (type != PATCH_DELETE)
        return 0;
    str id = identity(m, f, item);
    if (!id.p)
        return err_set(m->err, ERR_INVALID, "delete patch type with no merge key defined");
    map_put(gone, id, gone);
    return 0;
}

/* Deletions and replacement come first, whatever place they have in the patch. */
static int apply_item_directives(struct merge *m, const struct field *f, mnode_vec *items,
                                 jval patch)
{
    struct map gone = MAP_INIT;
    bool replace = false;
    int rc = 0;

    for (struct jiter it = jiter(patch); rc == 0 && jnext(&it);)
        rc = read_item_directive(m, f, it.value, &replace, &gone);
    if (replace)
        items->len = 0;
    else if (gone.len)
        remove_items(m, f, items, &gone);
    map_done(&gone);
    return rc;
}

static int merge_items(struct merge *m, const struct field *f, mnode_vec *items, jval patch)
{
    struct map index = MAP_INIT;
    int rc = 0;

    index_nodes(m, f, items, &index);
    for (struct jiter it = jiter(patch); rc == 0 && jnext(&it);) {
        if (!j_is_absent(jgetc(it.value, "$patch")))
            continue;
        str id = identity(m, f, it.value);
        if (!id.p) {
            rc = err_set(m->err, ERR_INVALID, "map: %.*s does not contain declared merge key: %s",
                         STR_ARG(jtext(it.value)), f->patch_key);
            break;
        }
        size_t at = (size_t)(uintptr_t)map_get(&index, id);
        if (at) {
            rc = merge_object(m, f->type, items->p[at - 1], it.value);
        } else {
            *vec_push(items) = clean_copy(m, it.value);
            map_put(&index, id, (void *)(uintptr_t)items->len);
        }
    }
    map_done(&index);
    return rc;
}

static int merge_scalars(struct merge *m, const struct field *f, mnode_vec *items, jval patch)
{
    struct map index = MAP_INIT;

    index_nodes(m, f, items, &index);
    for (struct jiter it = jiter(patch); jnext(&it);) {
        str id = identity(m, f, it.value);
        if (!id.p || map_has(&index, id))
            continue;
        *vec_push(items) = mnode_leaf(&m->arena, it.value);
        map_put(&index, id, &index);
    }
    map_done(&index);
    return 0;
}

static int merge_list_items(struct merge *m, const struct field *f, mnode_vec *items, jval patch)
{
    if (!f->patch_key)
        return merge_scalars(m, f, items, patch);
    if (apply_item_directives(m, f, items, patch) < 0)
        return ERR_INVALID;
    return merge_items(m, f, items, patch);
}

/* ---- order ---- */

struct ordered {
    struct mnode *item;
    size_t live; /* position in the list as it was, plus one; 0: not there */
    size_t said; /* position in the order the client gave, plus one; 0: the server's own */
    size_t now;  /* position in the merged list: decides between equals */
};

static int cmp_said(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->said != y->said)
        return x->said < y->said ? -1 : 1;
    return x->now < y->now ? -1 : x->now > y->now;
}

static int cmp_live(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->live != y->live)
        return x->live < y->live ? -1 : 1;
    return x->now < y->now ? -1 : x->now > y->now;
}

typedef VEC(struct ordered) ordered_vec;

/* Both lists in their own order; the server's items go before the first named item that stood
 * behind them in the live list. */
static void weave(const ordered_vec *server, const ordered_vec *said, mnode_vec *ret)
{
    size_t i = 0, j = 0;

    ret->len = 0;
    while (i < server->len || j < said->len) {
        bool take_server = j == said->len;
        if (i < server->len && j < said->len) {
            const struct ordered *s = &server->p[i], *c = &said->p[j];
            take_server = s->live && c->live && s->live < c->live;
        }
        *vec_push(ret) = take_server ? server->p[i++].item : said->p[j++].item;
    }
}

static void reorder(struct merge *m, const struct field *f, mnode_vec *items,
                    const struct map *live_at, jval order)
{
    struct map said_at = MAP_INIT;
    ordered_vec server = {0}, said = {0};

    index_values(m, f, order, &said_at);
    for (size_t i = 0; i < items->len; i++) {
        str id = node_identity(m, f, items->p[i]);
        struct ordered o = {.item = items->p[i],
                            .live = id.p ? (size_t)(uintptr_t)map_get(live_at, id) : 0,
                            .said = id.p ? (size_t)(uintptr_t)map_get(&said_at, id) : 0,
                            .now = i};
        if (o.said)
            *vec_push(&said) = o;
        else
            *vec_push(&server) = o;
    }
    vec_sort(&said, cmp_said);
    vec_sort(&server, cmp_live);
    weave(&server, &said, items);
    vec_done(&said);
    vec_done(&server);
    map_done(&said_at);
}

static void delete_scalars(struct merge *m, const struct field *f, mnode_vec *items, jval list)
{
    struct map gone = MAP_INIT;

    index_values(m, f, list, &gone);
    remove_items(m, f, items, &gone);
    map_done(&gone);
}

/* ---- objects ---- */

/* What a patch says about one list. */
struct list_patch {
    jval value;  /* the fragment, or absent */
    jval order;  /* $setElementOrder, or absent */
    jval remove; /* $deleteFromPrimitiveList, or absent */
};

static jval directive_for(struct merge *m, jval patch, const char *directive, str name)
{
    str key = arena_printf(&m->arena, "%s%.*s", directive, STR_ARG(name));

    return jget(patch, key);
}

static int merge_list(struct merge *m, const struct field *f, struct mnode *target, str name,
                      const struct list_patch *p)
{
    struct mnode *old = mnode_get(&m->arena, target, name);
    bool had = old && mnode_type(old) == J_ARRAY;
    struct map live_at = MAP_INIT;
    mnode_vec items = {0};
    int rc = 0;

    if (!had && j_is_absent(p->value))
        return 0;
    if (had)
        list_open(m, old, &items);
    if (!j_is_absent(p->order))
        index_nodes(m, f, &items, &live_at);
    if (!j_is_absent(p->remove) && !f->patch_key)
        delete_scalars(m, f, &items, p->remove);
    if (!j_is_absent(p->value))
        rc = merge_list_items(m, f, &items, p->value);
    if (rc == 0 && !j_is_absent(p->order))
        reorder(m, f, &items, &live_at, p->order);
    if (rc == 0)
        mnode_set(&m->arena, target, name, list_close(m, &items));
    vec_done(&items);
    map_done(&live_at);
    return rc;
}

static bool list_merges(const struct field *f)
{
    if (!f || f->shape != FIELD_LIST || !(f->flags & FIELD_PATCH_MERGE))
        return false;
    return f->type->tag == TYPE_OBJECT ? f->patch_key != NULL : true;
}

/* t NULL: nothing is known of what is inside. */
static int merge_member(struct merge *m, const struct type *t, struct mnode *target, str key,
                        jval patch)
{
    struct arena *a = &m->arena;

    if (j_is_null(patch)) {
        mnode_del(a, target, key);
        return 0;
    }
    struct mnode *old = mnode_get(a, target, key);
    if (jtype(patch) == J_OBJECT && old && mnode_type(old) == J_OBJECT)
        return merge_object(m, t, old, patch);
    mnode_set(a, target, key, clean_copy(m, patch));
    return 0;
}

/* The type to merge a member with; maps keep theirs for the level below. */
static int merge_field(struct merge *m, const struct field *f, struct mnode *target, str key,
                       jval owner, jval value)
{
    if (list_merges(f) && jtype(value) == J_ARRAY) {
        struct list_patch p = {.value = value,
                               .order = directive_for(m, owner, SET_ORDER, key),
                               .remove = directive_for(m, owner, DELETE_FROM, key)};
        return merge_list(m, f, target, key, &p);
    }
    const struct type *t = f && f->shape == FIELD_ONE ? f->type : NULL;
    return merge_member(m, t, target, key, value);
}

/* "$setElementOrder/env" and "$deleteFromPrimitiveList/finalizers" whose list the patch does not
 * carry itself. */
static int apply_list_directive(struct merge *m, const struct type *t, struct mnode *target,
                                str directive, jval owner)
{
    str name = str_sub(directive, (size_t)str_find_char(directive, '/') + 1, directive.len);
    const struct field *f = t ? type_field(t, name) : NULL;

    struct list_patch p = {.order = directive_for(m, owner, SET_ORDER, name),
                           .remove = directive_for(m, owner, DELETE_FROM, name)};

    if (!list_merges(f) || !j_is_absent(jget(owner, name)))
        return 0;
    return merge_list(m, f, target, name, &p);
}

static int retain_keys(struct merge *m, struct mnode *target, jval patch)
{
    jval list = jgetc(patch, "$retainKeys");
    struct map keep = MAP_INIT;
    VEC(str) gone = {0};
    int rc = 0;

    if (j_is_absent(list))
        return 0;
    for (struct jiter it = jiter(list); jnext(&it);)
        if (jtype(it.value) == J_STRING)
            map_put(&keep, jstr(it.value), &keep);
    for (struct jiter it = jiter(patch); rc == 0 && jnext(&it);)
        if (!is_directive(it.key) && !j_is_null(it.value) && !map_has(&keep, it.key))
            rc = err_set(m->err, ERR_INVALID, "invalid patch format of retainKeys");
    for (struct miter it = miter(&m->arena, target); rc == 0 && mnext(&it);)
        if (!map_has(&keep, it.key))
            *vec_push(&gone) = it.key;
    for (size_t i = 0; i < gone.len; i++)
        mnode_del(&m->arena, target, gone.p[i]);
    vec_done(&gone);
    map_done(&keep);
    return rc;
}

static void empty_object(struct merge *m, struct mnode *target)
{
    struct mnode *fresh = mnode_object(&m->arena);

    *target = *fresh;
}

static int merge_members(struct merge *m, const struct type *t, struct mnode *target, jval patch)
{
    int rc = retain_keys(m, target, patch);

    for (struct jiter it = jiter(patch); rc == 0 && jnext(&it);) {
        if (!is_directive(it.key))
            rc = merge_field(m, t && t->tag == TYPE_OBJECT ? type_field(t, it.key) : NULL, target,
                             it.key, patch, it.value);
        else if (str_find_char(it.key, '/') > 0)
            rc = apply_list_directive(m, t, target, it.key, patch);
    }
    return rc;
}

/* Merges the patch into an object node. */
static int merge_object(struct merge *m, const struct type *t, struct mnode *target, jval patch)
{
    enum patch_type type;

    if (m->depth >= MAX_DEPTH)
        return err_set(m->err, ERR_TOO_LARGE, "patch is nested too deeply");
    if (patch_type_of(m, patch, &type) < 0)
        return ERR_INVALID;
    if (type == PATCH_DELETE || type == PATCH_REPLACE)
        empty_object(m, target);
    if (type == PATCH_DELETE)
        return 0;
    m->depth++;
    int rc = merge_members(m, t, target, patch);
    m->depth--;
    return rc;
}

struct doc *schema_strategic_merge(const struct type *t, jval target, jval patch, struct err *err)
{
    struct merge m = {.err = err};
    struct doc *out = NULL;

    if (jtype(patch) != J_OBJECT) {
        err_set(err, ERR_INVALID, "a strategic merge patch must be an object");
        return NULL;
    }
    arena_init(&m.arena);
    struct mnode *root =
        jtype(target) == J_OBJECT ? mnode_leaf(&m.arena, target) : mnode_object(&m.arena);
    if (merge_object(&m, t, root, patch) == 0)
        out = mnode_doc(root, jtext(target).len + jtext(patch).len, 0, err);
    arena_done(&m.arena);
    return out;
}
