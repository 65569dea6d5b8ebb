/*
 * Edits: one list, and the readers of it. The state between two edits is the mutable tree of
 * json/mtree.h, so each edit sees the result of those before it; only what an edit touches is
 * opened. The new document is spliced together from the pieces (json/splice.h) and never parsed.
 *
 * Two liberties, both what callers mean: edit_set goes through null as if it were absent, and "-"
 * below something absent makes an array. Deleting what is not there does nothing.
 */
#include "json/edit.h"

#include "json/mtree.h"
#include "json/patch.h"
#include "json/splice.h"
#include "json/tape.h"
#include "json/write.h"

/* Values are printed up to here. */
#define PRINT_MAX 120

/* ---- the list ---- */

void edit_init(struct edit *e, struct arena *arena)
{
    *e = (struct edit){.arena = arena};
}

void edit_done(struct edit *e)
{
    vec_done(&e->items);
}

bool edit_is_empty(const struct edit *e)
{
    return e->items.len == 0;
}

static void add_item(struct edit *e, enum edit_op op, str path, str value)
{
    *vec_push(&e->items) =
        (struct edit_item){.op = op, .path = arena_str(e->arena, path), .value = value};
}

void edit_set(struct edit *e, str path, jval value)
{
    if (j_is_absent(value))
        edit_del(e, path);
    else
        edit_set_raw(e, path, jtext(value));
}

void edit_set_raw(struct edit *e, str path, str json)
{
    add_item(e, EDIT_SET, path, arena_str(e->arena, json));
}

void edit_set_doc(struct edit *e, str path, struct doc *d)
{
    add_item(e, EDIT_SET, path, doc_text(d));
    vec_last(&e->items)->doc = doc_hold(e->arena, d);
}

void edit_set_str(struct edit *e, str path, str s)
{
    if (json_is_plain(s)) {
        add_item(e, EDIT_SET, path, arena_cat(e->arena, STR("\""), s, STR("\"")));
        return;
    }
    struct strbuf quoted = STRBUF_INIT(TEXT_MAX);
    json_quote(&quoted, s);
    edit_set_raw(e, path, strbuf_str(&quoted));
    strbuf_done(&quoted);
}

void edit_set_int(struct edit *e, str path, int64_t v)
{
    add_item(e, EDIT_SET, path, arena_int(e->arena, v));
}

void edit_set_bool(struct edit *e, str path, bool v)
{
    add_item(e, EDIT_SET, path, v ? STR("true") : STR("false"));
}

void edit_del(struct edit *e, str path)
{
    add_item(e, EDIT_DEL, path, STR_NONE);
}

str edit_path_n(struct arena *a, const str *keys, size_t n)
{
    struct strbuf path = STRBUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        strbuf_add_char(&path, '/');
        for (size_t j = 0; j < keys[i].len; j++) {
            char c = keys[i].p[j];
            if (c == '~' || c == '/')
                strbuf_add_cstr(&path, c == '~' ? "~0" : "~1");
            else
                strbuf_add_char(&path, c);
        }
    }
    str copy = arena_str(a, strbuf_str(&path));
    strbuf_done(&path);
    return copy;
}

/* ---- paths ---- */

typedef VEC(str) str_vec;

static str token_unescape(struct arena *a, str raw)
{
    if (str_find_char(raw, '~') < 0)
        return raw;
    char *out = arena_alloc(a, raw.len);
    return str_n(out, pointer_unescape(raw, out));
}

static bool path_split(struct arena *a, str path, str_vec *out)
{
    vec_clear(out);
    if (path.len == 0)
        return true;
    if (path.p[0] != '/')
        return false;
    for (str rest = str_sub(path, 1, path.len); rest.p || out->len == 0;)
        *vec_push(out) = token_unescape(a, str_cut(&rest, '/'));
    return true;
}

static bool is_append(str token)
{
    return str_eq(token, STR("-"));
}

/* ---- applying to the tree ---- */

enum outcome { DID_NOTHING, DID_REPLACE, DID_ADD, DID_REMOVE };

struct editing {
    struct arena arena;
    struct mnode *root;
    struct jiter values;  /* of the edits still to come */
    str_vec tokens;       /* of the current path */
    enum outcome outcome; /* what the last edit did, */
    size_t at;            /* at tokens[0..at) */
    struct err *err;
};

static int refuse(struct editing *ed, str path, const char *why)
{
    return err_set_field(ed->err, ERR_INVALID, path, "%.*s: %s", (int)MIN(path.len, 200),
                         path.p ? path.p : "", why);
}

/* Index of an existing element; false when the token is none. */
static bool element_index(const struct mnode *array, str token, size_t *ret)
{
    return pointer_index(token, ret) && *ret < mnode_len(array);
}

static bool is_missing(const struct mnode *n)
{
    return !n || mnode_type(n) <= J_NULL;
}

/* The child a token names, or NULL. */
static struct mnode *child_of(struct editing *ed, struct mnode *n, str token)
{
    size_t i;
    if (mnode_type(n) == J_OBJECT)
        return mnode_get(&ed->arena, n, token);
    if (mnode_type(n) == J_ARRAY && element_index(n, token, &i))
        return mnode_at(&ed->arena, n, i);
    return NULL;
}

/* Puts value at the token below n; NULL, or why it cannot be. */
static const char *put_child(struct editing *ed, struct mnode *n, str token, struct mnode *value)
{
    size_t i;
    if (mnode_type(n) == J_OBJECT) {
        mnode_set(&ed->arena, n, token, value);
        return NULL;
    }
    if (mnode_type(n) != J_ARRAY)
        return "leads through a value that is neither object nor array";
    if (is_append(token)) {
        mnode_insert(&ed->arena, n, mnode_len(n), value);
        return NULL;
    }
    if (!element_index(n, token, &i))
        return "index is out of range";
    mnode_take(&ed->arena, n, i);
    mnode_insert(&ed->arena, n, i, value);
    return NULL;
}

static int apply_set(struct editing *ed, const struct edit_item *it, struct mnode *value)
{
    size_t n = ed->tokens.len;
    ed->outcome = DID_NOTHING;
    if (n == 0) {
        ed->outcome = DID_REPLACE;
        ed->at = 0;
        ed->root = value;
        return 0;
    }
    if (is_missing(ed->root))
        ed->root = is_append(ed->tokens.p[0]) ? mnode_array(&ed->arena) : mnode_object(&ed->arena);
    struct mnode *at = ed->root;
    for (size_t i = 0; i < n; i++) {
        str token = ed->tokens.p[i];
        struct mnode *child = child_of(ed, at, token);
        if (ed->outcome == DID_NOTHING && (i + 1 == n || is_missing(child))) {
            ed->outcome = child ? DID_REPLACE : DID_ADD;
            ed->at = i + 1;
        }
        if (i + 1 == n)
            child = value;
        else if (is_missing(child))
            child =
                is_append(ed->tokens.p[i + 1]) ? mnode_array(&ed->arena) : mnode_object(&ed->arena);
        else {
            at = child;
            continue;
        }
        const char *why = put_child(ed, at, token, child);
        if (why)
            return refuse(ed, it->path, why);
        at = child;
    }
    return 0;
}

static int apply_del(struct editing *ed, const struct edit_item *it)
{
    size_t n = ed->tokens.len, i;
    ed->outcome = DID_NOTHING;
    ed->at = n;
    if (n == 0)
        return refuse(ed, it->path, "the document itself cannot be deleted");
    struct mnode *at = ed->root;
    for (i = 0; i + 1 < n && !is_missing(at); i++)
        at = child_of(ed, at, ed->tokens.p[i]);
    if (is_missing(at))
        return 0;
    if (mnode_type(at) == J_OBJECT) {
        if (mnode_del(&ed->arena, at, ed->tokens.p[n - 1]))
            ed->outcome = DID_REMOVE;
        return 0;
    }
    if (mnode_type(at) != J_ARRAY)
        return refuse(ed, it->path, "leads through a value that is neither object nor array");
    if (!element_index(at, ed->tokens.p[n - 1], &i))
        return refuse(ed, it->path, "index is out of range");
    mnode_take(&ed->arena, at, i);
    ed->outcome = DID_REMOVE;
    return 0;
}

/* All values as one document, an array, so that there is one thing to parse. Whether an element is
 * the value of its edit and nothing else is asked of each. */
static void parse_values(struct editing *ed, const struct edit *e)
{
    struct strbuf text = scratch_text();
    size_t size = 2;
    for (size_t i = 0; i < e->items.len; i++)
        size += e->items.p[i].value.len + 1;
    (void)strbuf_reserve(&text, MIN(size, TEXT_MAX));
    for (size_t i = 0; i < e->items.len; i++) {
        const struct edit_item *it = &e->items.p[i];
        if (it->op != EDIT_SET || it->doc)
            continue;
        strbuf_add_char(&text, text.len ? ',' : '[');
        strbuf_add_str(&text, it->value);
    }
    strbuf_add_char(&text, ']');
    struct doc *d = text.len > 1 ? doc_parse_buffer(&text, NULL, NULL) : NULL;
    ed->values = jiter(d ? doc_root(doc_hold(&ed->arena, d)) : JVAL_ABSENT);
    scratch_text_done(&text);
}

static struct mnode *item_value(struct editing *ed, const struct edit_item *it)
{
    if (it->doc)
        return mnode_leaf(&ed->arena, doc_root(it->doc));
    if (jnext(&ed->values) && str_eq(jtext(ed->values.value), it->value))
        return mnode_leaf(&ed->arena, ed->values.value);
    return mnode_parse(&ed->arena, it->value, ed->err);
}

static int apply_item(struct editing *ed, const struct edit_item *it)
{
    if (!path_split(&ed->arena, it->path, &ed->tokens))
        return refuse(ed, it->path, "a path begins with '/'");
    if (ed->tokens.len > DEPTH_DEFAULT)
        return err_set(ed->err, ERR_TOO_LARGE, "a path of %zu levels is deeper than %d",
                       ed->tokens.len, DEPTH_DEFAULT);
    if (it->op == EDIT_DEL)
        return apply_del(ed, it);
    struct mnode *value = item_value(ed, it);
    if (!value)
        return err_wrap(ed->err, "value for %.*s", STR_ARG(it->path));
    return apply_set(ed, it, value);
}

static void editing_init(struct editing *ed, const struct edit *e, const struct doc *base,
                         struct err *err)
{
    *ed = (struct editing){.arena = ARENA_INIT, .err = err};
    ed->root = mnode_leaf(&ed->arena, doc_root(base));
    parse_values(ed, e);
}

static void editing_done(struct editing *ed)
{
    vec_done(&ed->tokens);
    arena_done(&ed->arena);
}

static int apply_all(struct editing *ed, const struct edit *e)
{
    for (size_t i = 0; i < e->items.len; i++) {
        int r = apply_item(ed, &e->items.p[i]);
        if (r != 0)
            return r;
    }
    return 0;
}

/* ---- tree to document ---- */

static void splice_node(struct splice *s, struct arena *a, struct mnode *n)
{
    if (n->kind == MNODE_LEAF) {
        splice_value(s, mnode_value(n));
        return;
    }
    if (s->depth >= s->max_depth) {
        s->deepest = s->max_depth + 1; /* too deep; do not recurse further */
        return;
    }
    bool is_object = n->kind == MNODE_OBJECT;
    uint32_t mark = splice_open(s, is_object);
    size_t count = 0;
    for (struct miter it = miter(a, n); mnext(&it); count++) {
        bool is_leaf = it.value->kind == MNODE_LEAF;
        if (is_leaf && is_object) {
            splice_member(s, it.key, mnode_value(it.value), count == 0);
        } else if (is_leaf) {
            splice_item(s, mnode_value(it.value), count == 0);
        } else {
            if (is_object)
                splice_key(s, it.key, count == 0);
            else
                splice_comma(s, count == 0);
            splice_node(s, a, it.value);
        }
    }
    splice_close(s, mark, count);
}

static struct doc *tree_doc(struct editing *ed, struct mnode *n, size_t hint, uint32_t max_depth)
{
    struct splice s;
    splice_init(&s, hint, max_depth);
    splice_node(&s, &ed->arena, n);
    return splice_doc(&s, ed->err);
}

struct doc *edit_apply(const struct edit *e, const struct doc *base, struct err *err)
{
    if (edit_is_empty(e) && base)
        return doc_ref(base);
    struct editing ed;
    editing_init(&ed, e, base, err);
    struct doc *d = NULL;
    if (apply_all(&ed, e) == 0) {
        size_t hint = base ? base->len : 0;
        for (size_t i = 0; i < e->items.len; i++)
            hint += e->items.p[i].path.len + e->items.p[i].value.len + 4;
        d = tree_doc(&ed, ed.root, hint, MAX(base ? base->depth : 0, (uint32_t)DEPTH_DEFAULT));
    }
    editing_done(&ed);
    return d;
}

/* ---- as a merge patch ---- */

/* Puts value at tokens[0..n) of the patch, making the objects on the way. */
static void patch_put(struct editing *ed, struct mnode *patch, size_t n, struct mnode *value)
{
    for (size_t i = 0; i + 1 < n; i++) {
        struct mnode *next = mnode_get(&ed->arena, patch, ed->tokens.p[i]);
        if (!next) {
            next = mnode_object(&ed->arena);
            mnode_set(&ed->arena, patch, ed->tokens.p[i], next);
        }
        patch = next;
    }
    mnode_set(&ed->arena, patch, ed->tokens.p[n - 1], value);
}

/* What a merge patch says of a member that was `before` and is `after` (NULL: gone). An object that
 * replaces an object is compared: merging would keep the old members. */
static struct mnode *patch_value(struct editing *ed, jval before, struct mnode *after)
{
    if (!after)
        return mnode_parse(&ed->arena, STR("null"), NULL);
    if (jtype(before) != J_OBJECT || mnode_type(after) != J_OBJECT)
        return after;
    struct doc *now = tree_doc(ed, after, 256, DEPTH_MAX);
    if (!now)
        return NULL;
    doc_hold(&ed->arena, now);
    return mnode_leaf(&ed->arena,
                      doc_root(doc_hold(&ed->arena, json_diff_merge(before, doc_root(now)))));
}

/* Follows one edit's path through base and result as far as both are objects: there the patch gets
 * its value. */
static int patch_add(struct editing *ed, const struct doc *base, struct mnode *patch)
{
    jval before = doc_root(base);
    struct mnode *after = ed->root;
    for (size_t i = 0; i < ed->tokens.len; i++) {
        before = jget(before, ed->tokens.p[i]);
        after = mnode_get(&ed->arena, after, ed->tokens.p[i]);
        if (!after && j_is_absent(before))
            return 0;
        bool both = after && jtype(before) == J_OBJECT && mnode_type(after) == J_OBJECT;
        if (both && i + 1 < ed->tokens.len)
            continue;
        struct mnode *value = patch_value(ed, before, after);
        if (!value)
            return ERR_TOO_LARGE;
        patch_put(ed, patch, i + 1, value);
        return 0;
    }
    return 0;
}

static struct doc *merge_patch(struct editing *ed, const struct edit *e, const struct doc *base)
{
    if (apply_all(ed, e) != 0)
        return NULL;
    bool objects = mnode_type(ed->root) == J_OBJECT && jtype(doc_root(base)) == J_OBJECT;
    struct mnode *patch = objects ? mnode_object(&ed->arena) : ed->root;
    for (size_t i = 0; objects && i < e->items.len; i++) {
        (void)path_split(&ed->arena, e->items.p[i].path, &ed->tokens);
        if (ed->tokens.len == 0) {
            patch = patch_value(ed, doc_root(base), ed->root);
            break; /* compared as a whole: this covers every other edit */
        }
        if (patch_add(ed, base, patch) != 0)
            return NULL;
    }
    return patch ? tree_doc(ed, patch, 256, DEPTH_MAX) : NULL;
}

struct doc *edit_as_merge_patch(const struct edit *e, const struct doc *base, struct err *err)
{
    struct editing ed;
    editing_init(&ed, e, base, err);
    struct doc *d = merge_patch(&ed, e, base);
    editing_done(&ed);
    return d;
}

/* ---- as a JSON patch ---- */

/* The value with the containers that tokens[from..) ask for around it. */
static void write_wrapped(struct jw *w, const str_vec *tokens, size_t from, str value)
{
    struct strbuf text = STRBUF_INIT(TEXT_MAX);
    for (size_t i = from; i < tokens->len; i++) {
        if (is_append(tokens->p[i])) {
            strbuf_add_char(&text, '[');
            continue;
        }
        strbuf_add_char(&text, '{');
        json_quote(&text, tokens->p[i]);
        strbuf_add_char(&text, ':');
    }
    strbuf_add_str(&text, value);
    for (size_t i = tokens->len; i-- > from;)
        strbuf_add_char(&text, is_append(tokens->p[i]) ? ']' : '}');
    jw_raw(w, strbuf_str(&text));
    strbuf_done(&text);
}

static void write_op(struct jw *w, struct editing *ed, const struct edit_item *it)
{
    static const char *const names[] = {
        [DID_REPLACE] = "replace", [DID_ADD] = "add", [DID_REMOVE] = "remove"};
    if (ed->outcome == DID_NOTHING)
        return;
    jw_object(w);
    jw_put_cstr(w, "op", names[ed->outcome]);
    jw_put_str(w, "path", edit_path_n(&ed->arena, ed->tokens.p, ed->at));
    if (it->op == EDIT_SET) {
        jw_key(w, STR("value"));
        write_wrapped(w, &ed->tokens, ed->at, it->value);
    }
    jw_end(w);
}

struct doc *edit_as_json_patch(const struct edit *e, const struct doc *base, struct err *err)
{
    struct editing ed;
    struct jw w;
    int r = 0;
    editing_init(&ed, e, base, err);
    jw_init(&w);
    jw_array(&w);
    for (size_t i = 0; i < e->items.len && r == 0; i++) {
        r = apply_item(&ed, &e->items.p[i]);
        if (r == 0)
            write_op(&w, &ed, &e->items.p[i]);
    }
    jw_end(&w);
    editing_done(&ed);
    if (r == 0)
        return jw_doc(&w);
    jw_done(&w);
    return NULL;
}

/* ---- for people ---- */

static void print_path(struct strbuf *out, jval at, const str_vec *tokens)
{
    for (size_t i = 0; i < tokens->len; i++) {
        str token = tokens->p[i];
        bool element = jtype(at) == J_ARRAY || is_append(token);
        if (element)
            strbuf_printf(out, "[%.*s]", STR_ARG(token));
        else
            strbuf_printf(out, "%s%.*s", i ? "." : "", STR_ARG(token));
        size_t index;
        if (jtype(at) == J_ARRAY)
            at = pointer_index(token, &index) ? jat(at, index) : JVAL_ABSENT;
        else
            at = jget(at, token);
    }
}

static void print_value(struct strbuf *out, str text, const char *otherwise)
{
    if (!text.p)
        strbuf_add_cstr(out, otherwise);
    else if (text.len <= PRINT_MAX)
        strbuf_add_str(out, text);
    else
        strbuf_printf(out, "%.*s...", PRINT_MAX, text.p);
}

void edit_print(const struct edit *e, const struct doc *base, struct strbuf *out)
{
    struct arena arena = ARENA_INIT;
    str_vec tokens = {0};
    for (size_t i = 0; i < e->items.len; i++) {
        const struct edit_item *it = &e->items.p[i];
        (void)path_split(&arena, it->path, &tokens);
        print_path(out, doc_root(base), &tokens);
        strbuf_add_cstr(out, ": ");
        print_value(out, jtext(jpointer(doc_root(base), it->path)), "(absent)");
        strbuf_add_cstr(out, " -> ");
        print_value(out, it->op == EDIT_SET ? it->value : STR_NONE, "(removed)");
        strbuf_add_char(out, '\n');
    }
    vec_done(&tokens);
    arena_done(&arena);
}
