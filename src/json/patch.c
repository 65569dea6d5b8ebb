/*
 * Merge patch (RFC 7386) and JSON patch (RFC 6902), both on the mutable tree of json/mtree.h: only
 * what a patch touches is opened, the rest is copied as text.
 *
 * JSON patch keeps to the RFC where Kubernetes' library is more lenient (negative indices, replace
 * of a member that is not there, test for null of a member that is not there); its messages are
 * worded as Kubernetes surfaces them, because people search for those words.
 *
 * Bounds, whatever the client sends: 10,000 operations; what "copy" adds, 3 MiB in all, as in the
 * API server; array elements shifted by inserts and removes, 64 million in all (a fraction of a
 * second); the depth and size of the result, by the document parser.
 */
#include "json/patch.h"

#include "json/mtree.h"

#define PATCH_MAX_OPS 10000
#define PATCH_MAX_COPY ((size_t)3 << 20)
#define PATCH_MAX_SHIFT ((size_t)64 << 20)

/* ---- merge patch ---- */

static struct mnode *merge_into(struct arena *a, struct mnode *target, jval patch)
{
    if (jtype(patch) != J_OBJECT)
        return mnode_leaf(a, patch);
    if (!target || mnode_type(target) != J_OBJECT)
        target = mnode_object(a);
    for (struct jiter it = jiter(patch); jnext(&it);) {
        if (j_is_null(it.value)) {
            mnode_del(a, target, it.key);
            continue;
        }
        struct mnode *old = mnode_get(a, target, it.key);
        struct mnode *merged = merge_into(a, old, it.value);
        if (merged != old)
            mnode_set(a, target, it.key, merged);
    }
    return target;
}

struct doc *json_merge_patch(jval target, jval patch, struct err *err)
{
    struct arena arena = ARENA_INIT;
    struct mnode *root = mnode_leaf(&arena, target);
    size_t hint = jtext(target).len + jtext(patch).len;
    struct doc *d = mnode_doc(merge_into(&arena, root, patch), hint, 0, err);
    arena_done(&arena);
    return d;
}

/* ---- JSON patch ---- */

struct patcher {
    struct arena arena;
    struct mnode *root;
    size_t copied;  /* bytes added by copy */
    size_t shifted; /* array elements moved */
    struct err *err;
};

struct op {
    str path, from;
    jval value;
};

/* A place in the tree: the container and the last token, unescaped. A path of "" is the root. */
struct place {
    struct mnode *parent; /* NULL: the root itself */
    str key;
};

/* `what` goes up to the path; a quote at its end is closed after it. */
static int missing(struct patcher *p, str path, const char *what)
{
    const char *close = str_ends(str_of(what), STR("\"")) ? "\"" : "";
    return err_set_field(p->err, ERR_INVALID, path, "%s%.*s%s: missing value", what,
                         (int)MIN(path.len, 200), path.p, close);
}

/* Reads "~0" and "~1"; false for any other tilde. */
static bool token_unescape(struct arena *a, str raw, str *ret)
{
    if (str_find_char(raw, '~') < 0) {
        *ret = raw;
        return true;
    }
    char *out = arena_alloc(a, raw.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.p[i] != '~') {
            out[n++] = raw.p[i];
            continue;
        }
        if (++i == raw.len || (raw.p[i] != '0' && raw.p[i] != '1'))
            return false;
        out[n++] = raw.p[i] == '0' ? '~' : '/';
    }
    *ret = str_n(out, n);
    return true;
}

/* RFC 6901: digits without a leading zero. "-" is the element after the last. */
static bool token_index(str token, size_t len, size_t *ret)
{
    uint64_t v;
    if (str_is(token, "-")) {
        *ret = len;
        return true;
    }
    if (token.len == 0 || token.len > 10 || (token.len > 1 && token.p[0] == '0') ||
        !str_to_uint(token, &v))
        return false;
    *ret = (size_t)v;
    return true;
}

static struct mnode *child_of(struct patcher *p, struct mnode *n, str key)
{
    if (mnode_type(n) == J_OBJECT)
        return mnode_get(&p->arena, n, key);
    size_t i;
    if (mnode_type(n) != J_ARRAY || !token_index(key, mnode_len(n), &i))
        return NULL;
    return mnode_at(&p->arena, n, i);
}

/* Walks to the container of the last token. */
static int place_find(struct patcher *p, str path, const char *what, struct place *ret)
{
    *ret = (struct place){0};
    if (path.len == 0)
        return 0;
    if (path.p[0] != '/')
        return err_set_field(p->err, ERR_INVALID, path, "path must be empty or start with '/'");
    struct mnode *at = p->root;
    str rest = str_sub(path, 1, path.len);
    for (;;) {
        str raw = str_cut(&rest, '/'), key;
        if (!token_unescape(&p->arena, raw, &key))
            return err_set_field(p->err, ERR_INVALID, path, "path has a '~' without 0 or 1");
        enum jtype type = mnode_type(at);
        if (type != J_OBJECT && type != J_ARRAY)
            return missing(p, path, what);
        if (!rest.p) {
            *ret = (struct place){.parent = at, .key = key};
            return 0;
        }
        at = child_of(p, at, key);
        if (!at)
            return missing(p, path, what);
    }
}

static struct mnode *place_get(struct patcher *p, const struct place *at)
{
    return at->parent ? child_of(p, at->parent, at->key) : p->root;
}

static int shift(struct patcher *p, str path, size_t elements)
{
    p->shifted += elements;
    if (p->shifted > PATCH_MAX_SHIFT)
        return err_set_field(p->err, ERR_TOO_LARGE, path, "patch moves too many array elements");
    return 0;
}

static int index_error(struct patcher *p, const char *op, str path, str key)
{
    return err_set_field(p->err, ERR_INVALID, path,
                         "error in %s for path: '%.*s': Unable to access invalid index: %.*s: "
                         "invalid index referenced",
                         op, (int)MIN(path.len, 200), path.p, (int)MIN(key.len, 100), key.p);
}

static int place_add(struct patcher *p, const char *op, str path, const struct place *at,
                     struct mnode *value)
{
    if (!at->parent) {
        p->root = value;
        return 0;
    }
    if (mnode_type(at->parent) == J_OBJECT) {
        mnode_set(&p->arena, at->parent, at->key, value);
        return 0;
    }
    size_t i, len = mnode_len(at->parent);
    if (!token_index(at->key, len, &i) || i > len)
        return index_error(p, op, path, at->key);
    int rc = shift(p, path, len - i);
    if (!rc)
        mnode_insert(&p->arena, at->parent, i, value);
    return rc;
}

static int place_remove(struct patcher *p, const char *op, str path, const struct place *at,
                        struct mnode **ret)
{
    if (!at->parent)
        return err_set_field(p->err, ERR_INVALID, path, "%s of the whole document leaves none", op);
    if (mnode_type(at->parent) == J_OBJECT) {
        *ret = mnode_del(&p->arena, at->parent, at->key);
        if (*ret)
            return 0;
        return err_set_field(p->err, ERR_INVALID, path,
                             "error in %s for path: '%.*s': Unable to remove nonexistent key: "
                             "%.*s: missing value",
                             op, (int)MIN(path.len, 200), path.p, (int)MIN(at->key.len, 100),
                             at->key.p);
    }
    size_t i, len = mnode_len(at->parent);
    if (!token_index(at->key, len, &i) || i >= len)
        return index_error(p, op, path, at->key);
    int rc = shift(p, path, len - i);
    if (!rc)
        *ret = mnode_take(&p->arena, at->parent, i);
    return rc;
}

/* ---- the six operations ---- */

static int op_add(struct patcher *p, const struct op *op)
{
    struct place at;
    int rc = place_find(p, op->path, "add operation does not apply: doc is missing path: \"", &at);
    return rc ? rc : place_add(p, "add", op->path, &at, mnode_leaf(&p->arena, op->value));
}

static int op_remove(struct patcher *p, const struct op *op)
{
    struct place at;
    struct mnode *gone = NULL;
    int rc =
        place_find(p, op->path, "remove operation does not apply: doc is missing path: \"", &at);
    return rc ? rc : place_remove(p, "remove", op->path, &at, &gone);
}

static int op_replace(struct patcher *p, const struct op *op)
{
    struct place at;
    int rc =
        place_find(p, op->path, "replace operation does not apply: doc is missing path: ", &at);
    if (rc)
        return rc;
    struct mnode *old = place_get(p, &at);
    if (!old)
        return missing(p, op->path, "replace operation does not apply: doc is missing key: ");
    *old = *mnode_leaf(&p->arena, op->value);
    return 0;
}

static bool path_is_inside(str path, str outer)
{
    return path.len > outer.len && str_starts(path, outer) && path.p[outer.len] == '/';
}

static int op_move(struct patcher *p, const struct op *op)
{
    if (path_is_inside(op->path, op->from))
        return err_set_field(p->err, ERR_INVALID, op->path,
                             "move operation does not apply: the destination is inside the source");
    struct place from, to;
    struct mnode *node = NULL;
    int rc =
        place_find(p, op->from, "move operation does not apply: doc is missing from path: ", &from);
    if (rc)
        return rc;
    if (str_eq(op->from, op->path) && place_get(p, &from))
        return 0;
    rc = place_remove(p, "move", op->from, &from, &node);
    if (!rc)
        rc = place_find(p, op->path,
                        "move operation does not apply: doc is missing destination path: ", &to);
    return rc ? rc : place_add(p, "move", op->path, &to, node);
}

/* An independent copy of a node, within what is left of the budget. A leaf is immutable and shared;
 * what was opened becomes a document of its own, so copies of copies stay bounded by their text. */
static struct mnode *clone(struct patcher *p, const struct mnode *n, str path)
{
    jval leaf = mnode_value(n);
    if (j_is_absent(leaf)) {
        struct doc *d = mnode_doc(n, 0, 0, p->err);
        if (!d)
            return NULL;
        leaf = doc_root(doc_hold(&p->arena, d));
    }
    p->copied += jtext(leaf).len;
    if (p->copied <= PATCH_MAX_COPY)
        return mnode_leaf(&p->arena, leaf);
    err_set_field(p->err, ERR_TOO_LARGE, path,
                  "Unable to complete the copy, the accumulated size increase of copy is %zu, "
                  "exceeding the limit %zu",
                  p->copied, PATCH_MAX_COPY);
    return NULL;
}

static int op_copy(struct patcher *p, const struct op *op)
{
    struct place from, to;
    int rc =
        place_find(p, op->from, "copy operation does not apply: doc is missing from path: ", &from);
    if (rc)
        return rc;
    struct mnode *source = place_get(p, &from);
    if (!source)
        return missing(p, op->from, "copy operation does not apply: doc is missing from path: ");
    struct mnode *copy = clone(p, source, op->path);
    if (!copy)
        return ERR_TOO_LARGE;
    rc = place_find(p, op->path,
                    "copy operation does not apply: doc is missing destination path: ", &to);
    return rc ? rc : place_add(p, "copy", op->path, &to, copy);
}

static int op_test(struct patcher *p, const struct op *op)
{
    struct place at;
    int rc = place_find(p, op->path, "test operation does not apply: is missing path: ", &at);
    if (rc)
        return rc;
    const struct mnode *node = place_get(p, &at);
    if (node && mnode_equal(node, op->value))
        return 0;
    return err_set_field(p->err, ERR_INVALID, op->path, "testing value %.*s failed: test failed",
                         (int)MIN(op->path.len, 200), op->path.p);
}

static const struct op_kind {
    str name;
    bool needs_from, needs_value;
    int (*apply)(struct patcher *p, const struct op *op);
} op_kinds[] = {
    {STR_INIT("add"), false, true, op_add},         {STR_INIT("remove"), false, false, op_remove},
    {STR_INIT("replace"), false, true, op_replace}, {STR_INIT("move"), true, false, op_move},
    {STR_INIT("copy"), true, false, op_copy},       {STR_INIT("test"), false, true, op_test},
};

static const struct op_kind *op_kind_of(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(op_kinds); i++)
        if (str_eq(op_kinds[i].name, name))
            return &op_kinds[i];
    return NULL;
}

static int op_apply(struct patcher *p, jval v)
{
    if (jtype(v) != J_OBJECT)
        return err_set(p->err, ERR_INVALID, "operation is not an object");
    jval name = jgetc(v, "op"), path = jgetc(v, "path"), from = jgetc(v, "from");
    struct op op = {.path = jstr(path), .from = jstr(from), .value = jgetc(v, "value")};
    const struct op_kind *kind = op_kind_of(jstr(name));
    if (!kind)
        return err_set(
            p->err, ERR_INVALID, "Unexpected kind: %.*s",
            STR_ARG(jtype(name) == J_STRING ? str_sub(jstr(name), 0, 100) : STR("unknown")));
    if (jtype(path) != J_STRING)
        return err_set(p->err, ERR_INVALID, "%s operation failed to decode path: missing value",
                       kind->name.p);
    if (kind->needs_from && jtype(from) != J_STRING)
        return err_set_field(p->err, ERR_INVALID, op.path,
                             "%s operation failed to decode from: operation, missing from field: "
                             "missing value",
                             kind->name.p);
    if (kind->needs_value && j_is_absent(op.value))
        return err_set_field(p->err, ERR_INVALID, op.path,
                             "%s operation failed to decode value: missing value", kind->name.p);
    return kind->apply(p, &op);
}

static int ops_apply(struct patcher *p, jval patch)
{
    if (jtype(patch) != J_ARRAY)
        return err_set(p->err, ERR_INVALID, "a JSON patch is an array of operations");
    if (jlen(patch) > PATCH_MAX_OPS)
        return err_set(p->err, ERR_TOO_LARGE,
                       "The allowed maximum operations in a JSON patch is "
                       "%d, got %zu",
                       PATCH_MAX_OPS, jlen(patch));
    for (struct jiter it = jiter(patch); jnext(&it);) {
        int rc = op_apply(p, it.value);
        if (rc)
            return rc;
    }
    return 0;
}

struct doc *json_patch(jval target, jval patch, struct err *err)
{
    struct patcher p = {.err = err};
    p.root = mnode_leaf(&p.arena, target);
    struct doc *d = ops_apply(&p, patch) ? NULL : mnode_doc(p.root, jtext(target).len, 0, err);
    arena_done(&p.arena);
    return d;
}
