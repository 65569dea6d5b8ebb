/*
 * The ordered index: one treap of keys per storage, and beside it a hash map of the same nodes, for
 * most questions are about one key and a walk down a large tree is one cache miss after the other.
 *
 * A treap because it is short, needs no rebalancing rules and gives ordered walks from any key: the
 * priority of a node is a seeded hash of its key, so that the shape does not depend on the order of
 * insertion and nobody outside can choose names that degrade it. The shape never reaches an answer;
 * only the order of keys does. Keys are kept in the node (namespace, NUL, name): a search touches
 * one cache line or two per level and no object, and versions come and go without touching them.
 *
 * Invariants:
 * 1. In-order, keys ascend bytewise by namespace, then name; a parent's priority is not below its
 *    children's.
 * 2. A node has a durable version or a pending write; node_drop_if_unused() is called whenever
 *    either ends.
 * 3. Storages are never freed before the store: their addresses may be kept.
 */
#include "store/internal.h"

static uint16_t unknown_id = UINT16_MAX;
const struct kind store_unknown_kind = {
    .group = "", .version = "", .kind = "", .plural = "", .singular = "", .id = &unknown_id};

/* ---- storages ---- */

/* The identity of a kind's collection. Versions of a group share it by their plural; kinds of two
 * groups share it by naming it, and a core kind's name is its bare plural. */
static str storage_key(const struct kind *k, char *buf, size_t size)
{
    if (k->storage)
        return str_of(k->storage);
    if (!k->group[0])
        return str_of(k->plural);
    int n = snprintf(buf, size, "%s/%s", k->group, k->plural);
    BUG_ON(n < 0 || (size_t)n >= size);
    return str_n(buf, (size_t)n);
}

void storages_init(struct storage_table *t, uint64_t seed)
{
    *t = (struct storage_table){.by_key = MAP_INIT, .seed = seed};
}

static void nodes_free(struct node *n)
{
    while (n) {
        struct node *next = n->left ? n->left : n->right ? n->right : n->parent;
        if (!n->left && !n->right) {
            if (n->parent && n->parent->left == n)
                n->parent->left = NULL;
            else if (n->parent)
                n->parent->right = NULL;
            obj_unref(n->obj);
            free(n);
        }
        n = next;
    }
}

void storages_done(struct storage_table *t)
{
    for (size_t i = 0; i < t->all.len; i++) {
        map_done(&t->all.p[i]->nodes);
        nodes_free(t->all.p[i]->root);
        free(t->all.p[i]->key);
        free(t->all.p[i]);
    }
    map_done(&t->by_key);
    vec_done(&t->all);
    vec_done(&t->of_kind);
}

struct storage *storage_by_key(struct storage_table *t, str key)
{
    struct storage *st = map_get(&t->by_key, key);
    if (st)
        return st;
    st = xnew(struct storage);
    st->key = str_dup(key);
    st->id = (uint32_t)t->all.len;
    *vec_push(&t->all) = st;
    map_put(&t->by_key, str_of(st->key), st);
    return st;
}

static struct kind_storage *kind_slot(const struct storage_table *t, const struct kind *k)
{
    if (!k->id || *k->id >= t->of_kind.len)
        return NULL;
    return &t->of_kind.p[*k->id];
}

struct storage *storage_find(const struct storage_table *t, const struct kind *k)
{
    const struct kind_storage *slot = kind_slot(t, k);
    if (slot && slot->kind == k)
        return slot->storage;
    char buf[512];
    return map_get(&t->by_key, storage_key(k, buf, sizeof(buf)));
}

struct storage *storage_of(struct storage_table *t, const struct kind *k)
{
    struct kind_storage *slot = kind_slot(t, k);
    if (slot && slot->kind == k)
        return slot->storage;
    char buf[512];
    struct storage *st = storage_by_key(t, storage_key(k, buf, sizeof(buf)));
    if (!st->kind)
        st->kind = k;
    if (!k->id)
        return st;
    while (t->of_kind.len <= *k->id)
        *vec_push(&t->of_kind) = (struct kind_storage){0};
    *kind_slot(t, k) = (struct kind_storage){.kind = k, .storage = st};
    return st;
}

/* ---- the treap ---- */

static struct node *node_new(const struct storage_table *t, str ns, str name)
{
    size_t len = ns.len + 1 + name.len;
    BUG_ON(len > UINT32_MAX);
    struct node *n = xcalloc(1, sizeof(struct node) + len);
    n->ns_len = (uint32_t)ns.len;
    n->key_len = (uint32_t)len;
    if (ns.len)
        memcpy(n->key, ns.p, ns.len);
    if (name.len)
        memcpy(n->key + ns.len + 1, name.p, name.len);
    n->priority = (uint32_t)str_hash(str_n(n->key, len), t->seed);
    return n;
}

/* The pointer that points to n. */
static struct node **link_to(struct storage *st, struct node *n)
{
    if (!n->parent)
        return &st->root;
    return n->parent->left == n ? &n->parent->left : &n->parent->right;
}

/* Puts n, the child of p, where p is; p becomes its child on the other side. */
static void rotate_up(struct storage *st, struct node *n)
{
    struct node *p = n->parent;
    *link_to(st, p) = n;
    n->parent = p->parent;
    p->parent = n;
    struct node **inner = p->left == n ? &n->right : &n->left;
    if (p->left == n)
        p->left = *inner;
    else
        p->right = *inner;
    if (*inner)
        (*inner)->parent = p;
    *inner = p;
}

static void treap_remove(struct storage *st, struct node *n)
{
    while (n->left && n->right)
        rotate_up(st, n->left->priority > n->right->priority ? n->left : n->right);
    struct node *child = n->left ? n->left : n->right;
    *link_to(st, n) = child;
    if (child)
        child->parent = n->parent;
}

/* Longer keys do not occur in practice and are found in the tree alone. */
enum { KEY_MAX = 512 };

static bool is_mapped(str ns, str name)
{
    return ns.len + 1 + name.len <= KEY_MAX;
}

static struct node *find_mapped(const struct storage *st, str ns, str name)
{
    char key[KEY_MAX];
    if (ns.len)
        memcpy(key, ns.p, ns.len);
    key[ns.len] = '\0';
    if (name.len)
        memcpy(key + ns.len + 1, name.p, name.len);
    return map_get(&st->nodes, str_n(key, ns.len + 1 + name.len));
}

struct node *node_find(const struct storage *st, str ns, str name)
{
    struct node *n = st->root;
    if (is_mapped(ns, name))
        return find_mapped(st, ns, name);
    while (n) {
        int c = key_cmp(ns, name, node_ns(n), node_name(n));
        if (c == 0)
            return n;
        n = c < 0 ? n->left : n->right;
    }
    return NULL;
}

struct node *node_at_or_after(const struct storage *st, str ns, str name)
{
    struct node *best = NULL;
    for (struct node *n = st->root; n;) {
        if (key_cmp(ns, name, node_ns(n), node_name(n)) <= 0) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct node *node_next(const struct node *n)
{
    if (n->right) {
        struct node *next = n->right;
        while (next->left)
            next = next->left;
        return next;
    }
    while (n->parent && n->parent->right == n)
        n = n->parent;
    return n->parent;
}

struct node *node_get_or_add(struct storage_table *t, struct storage *st, str ns, str name)
{
    struct node **at = &st->root, *parent = NULL, *known = node_find(st, ns, name);
    if (known)
        return known;
    while (*at) {
        parent = *at;
        int c = key_cmp(ns, name, node_ns(parent), node_name(parent));
        at = c < 0 ? &parent->left : &parent->right;
    }
    struct node *n = node_new(t, ns, name);
    n->parent = parent;
    *at = n;
    if (is_mapped(ns, name))
        (void)map_put(&st->nodes, node_key(n), n);
    while (n->parent && n->priority > n->parent->priority)
        rotate_up(st, n);
    return n;
}

size_t node_cost(const struct node *n)
{
    enum { MAP_SLOT = 32 }; /* a hash map is half full on average, twice over */
    return sizeof(*n) + n->key_len + MAP_SLOT;
}

struct obj *node_set_obj(struct storage *st, struct node *n, struct obj *obj)
{
    struct obj *before = n->obj;
    st->count += (size_t)(obj != NULL) - (size_t)(before != NULL);
    n->obj = obj;
    return before;
}

void node_drop_if_unused(struct storage *st, struct node *n)
{
    if (n->obj || n->n_pending > 0)
        return;
    treap_remove(st, n);
    if (is_mapped(node_ns(n), node_name(n)))
        (void)map_del(&st->nodes, node_key(n));
    free(n);
}

/* ---- reading ---- */

uint64_t store_revision(const struct store *s)
{
    return s->revision;
}

uint32_t store_storage_id(struct store *s, const struct kind *k)
{
    return storage_of(&s->storages, k)->id;
}

static struct node *find(const struct store *s, const struct kind *k, str ns, str name)
{
    const struct storage *st = storage_find(&s->storages, k);
    return st ? node_find(st, ns, name) : NULL;
}

struct obj *store_get(const struct store *s, const struct kind *k, str ns, str name)
{
    const struct node *n = find(s, k, ns, name);
    return n ? n->obj : NULL;
}

struct obj *store_newest(const struct store *s, const struct kind *k, str ns, str name)
{
    const struct node *n = find(s, k, ns, name);
    if (!n)
        return NULL;
    if (n->n_pending == 0)
        return n->obj;
    return n->pending_delete ? NULL : n->pending;
}

size_t store_count(const struct store *s, const struct kind *k)
{
    const struct storage *st = storage_find(&s->storages, k);
    return st ? st->count : 0;
}

void range_clamp(str ns, str *start_ns, str *start_name)
{
    if (str_cmp(*start_ns, ns) < 0) {
        *start_ns = ns;
        *start_name = STR_NONE;
    }
}

struct store_iter store_range(const struct store *s, const struct kind *k, str ns, str start_ns,
                              str start_name)
{
    range_clamp(ns, &start_ns, &start_name);
    const struct storage *st = storage_find(&s->storages, k);
    return (struct store_iter){.node = st ? node_at_or_after(st, start_ns, start_name) : NULL,
                               .store = s,
                               .kind = k,
                               .ns = ns};
}

struct obj *store_next(struct store_iter *it)
{
    for (const struct node *n = it->node; n; n = node_next(n)) {
        if (it->ns.len && !str_eq(it->ns, node_ns(n)))
            break;
        if (n->obj) {
            it->node = node_next(n);
            return n->obj;
        }
    }
    it->node = NULL;
    return NULL;
}
