/*
 * What is known of one kind: entries in key order, indexes, tombstones, who is told.
 *
 * Two sources write here: the feed (list and watch) and the answers to our own writes. They
 * overtake each other freely; the rules that make the order of arrival irrelevant are
 *   1. for one UID the higher resourceVersion wins, equal ones change nothing;
 *   2. for one name the UID with the higher resourceVersion wins, the other is dead;
 *   3. a version at or below the tombstone of its UID is ignored. A tombstone from a watch carries
 *      the revision of the deletion (in a filtered watch "deleted" may mean "no longer selected",
 *      and the object may come back with a higher one); our own successful delete is final.
 *
 * Example. We create pod p and are answered with (uid u1, version 10): the cache has it at once,
 * and the planner that runs next does not create it again. Then, in any order of arrival:
 *
 *   the watch shows ADDED u1@10                nothing changes, rule 1
 *   we delete it and are answered; DELETED     a tombstone of u1; the entry goes once, and handlers
 *   u1@14 comes before or after                are told once
 *   the watch, which is behind, shows          ignored, rule 3: what was deleted does not come back
 *   MODIFIED u1@12
 *   somebody creates p anew, u2@20             (old, NULL), then (NULL, new): two changes
 *   the watch shows DELETED u1@14 after that   ignored: the entry is u2's, rule 2
 *
 * Without rule 3 a planner would see the pod it has just deleted, take the floor for met and delete
 * another one; without rule 2 a late event would delete a pod that has just been made.
 *
 * Tombstones are bounded: the oldest go first, and those the watch has shown go after five minutes,
 * longer than any request is under way.
 */
#include "client/cache_impl.h"

#define TOMB_AGE (5 * USEC_PER_MIN)
#define INDEX_KEYS_MAX 16

/* ---- keys ---- */

struct name_key {
    str ns, name;
};

static int cmp_name(str ns, str name, const struct obj *o)
{
    int c = str_cmp(ns, o->ns);
    return c ? c : str_cmp(name, o->name);
}

static int cmp_entry(const void *key, const struct tree_node *n)
{
    const struct name_key *k = key;
    return cmp_name(k->ns, k->name, container_of(n, struct cache_entry, node)->obj);
}

static int cmp_ref(const void *key, const struct tree_node *n)
{
    const struct name_key *k = key;
    return cmp_name(k->ns, k->name, container_of(n, struct index_ref, node)->entry->obj);
}

/* Longer ones do not occur in practice and are found in the tree. */
enum { KEY_MAX = 512 };

static size_t write_key(char *to, str ns, str name)
{
    if (ns.len + name.len + 1 > KEY_MAX)
        return 0;
    if (ns.len)
        memcpy(to, ns.p, ns.len);
    to[ns.len] = '/';
    if (name.len)
        memcpy(to + ns.len + 1, name.p, name.len);
    return ns.len + 1 + name.len;
}

static struct cache_entry *find_entry(const struct cache *c, str ns, str name)
{
    char key[KEY_MAX];
    size_t len = write_key(key, ns, name);
    if (len)
        return map_get(&c->by_key, str_n(key, len));
    struct name_key k = {ns, name};
    struct tree_node *n = tree_find(&c->entries, &k, cmp_entry);
    return n ? container_of(n, struct cache_entry, node) : NULL;
}

/* ---- indexes ---- */

void cache_index_owner(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    if (o->owner_uid.len)
        keys[(*n)++] = o->owner_uid;
}

static str label_key(struct arena *a, str ns, str label, str value)
{
    return arena_cat(a, ns, STR("/"), label, STR("="), value);
}

static void index_labels(const struct cache *c, const struct obj *o, struct arena *a, str *keys,
                         size_t *n)
{
    for (size_t i = 0; i < c->n_by_labels; i++) {
        jval value = jget(o->labels, c->by_labels[i]);
        if (jtype(value) == J_STRING)
            keys[(*n)++] = label_key(a, o->ns, c->by_labels[i], jstr(value));
    }
}

/* Takes the key out of the list; false: it is not there. */
static bool take_key(str *keys, size_t *n, str key)
{
    for (size_t i = 0; i < *n; i++) {
        if (!str_eq(keys[i], key))
            continue;
        keys[i] = keys[--*n];
        return true;
    }
    return false;
}

static void ref_free(struct cache *c, struct index_ref *r)
{
    struct index_group *g = r->group;
    tree_remove(&g->refs, &r->node);
    if (!g->refs.root) {
        (void)map_del(&c->indexes.p[r->index].groups, str_n(g->key, g->len));
        free(g);
    }
    free(r);
}

static struct index_group *group_of(struct cache_index *index, str key)
{
    struct index_group *g = map_get(&index->groups, key);
    if (g)
        return g;
    g = xcalloc(1, sizeof(*g) + key.len);
    g->len = key.len;
    if (key.len)
        memcpy(g->key, key.p, key.len);
    (void)map_put(&index->groups, str_n(g->key, g->len), g);
    return g;
}

static void index_add(struct cache *c, struct cache_entry *e, unsigned index, str key)
{
    struct index_ref *r = xnew(struct index_ref);
    r->entry = e;
    r->index = index;
    r->group = group_of(&c->indexes.p[index], key);
    struct name_key k = {e->obj->ns, e->obj->name};
    if (tree_insert(&r->group->refs, &r->node, &k, cmp_ref)) {
        free(r); /* the function named the key twice */
        return;
    }
    r->next = e->refs;
    e->refs = r;
}

/* Brings the entry's places in one index to what the function says of its object. */
static void index_update(struct cache *c, struct cache_entry *e, unsigned index)
{
    str keys[INDEX_KEYS_MAX];
    size_t n = 0;
    if (c->indexes.p[index].fn)
        c->indexes.p[index].fn(e->obj, &c->scratch, keys, INDEX_KEYS_MAX, &n);
    else
        index_labels(c, e->obj, &c->scratch, keys, &n);
    BUG_ON(n > INDEX_KEYS_MAX);
    for (struct index_ref **at = &e->refs; *at;) {
        struct index_ref *r = *at;
        if (r->index != index || take_key(keys, &n, ref_key(r))) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        ref_free(c, r);
    }
    for (size_t i = 0; i < n; i++)
        index_add(c, e, index, keys[i]);
}

static void index_entry(struct cache *c, struct cache_entry *e)
{
    for (unsigned i = 0; i < c->indexes.len; i++)
        index_update(c, e, i);
    arena_clear(&c->scratch);
}

static void index_all(struct cache *c, unsigned index)
{
    for (struct tree_node *n = tree_first(&c->entries); n; n = tree_next(n))
        index_update(c, container_of(n, struct cache_entry, node), index);
    arena_clear(&c->scratch);
}

/* A cache has about ten indexes, so that looking through them costs less than hashing the key. The
 * number of indexes: it is not there. */
static unsigned find_index(const struct cache *c, cache_index_fn *fn)
{
    unsigned i = 0;
    while (i < c->indexes.len && c->indexes.p[i].fn != fn)
        i++;
    return i;
}

unsigned cache_index_number(const struct cache *c, cache_index_fn *fn)
{
    unsigned index = find_index(c, fn);
    BUG_ON(!fn || index == c->indexes.len);
    return index;
}

void cache_add_index(struct cache *c, cache_index_fn *fn)
{
    unsigned index = find_index(c, fn);
    if (index < c->indexes.len)
        return;
    BUG_ON(c->feed.state != FEED_IDLE);
    *vec_push(&c->indexes) = (struct cache_index){.fn = fn};
    index_all(c, index);
}

/* True: objects are sorted by it. */
static bool index_by_label(struct cache *c, str label)
{
    for (size_t i = 0; i < c->n_by_labels; i++) {
        if (str_eq(c->by_labels[i], label))
            return true;
    }
    if (c->n_by_labels == CACHE_LABELS)
        return false;
    if (c->n_by_labels == 0) {
        c->labels_index = (unsigned)c->indexes.len;
        *vec_push(&c->indexes) = (struct cache_index){0};
    }
    c->by_labels[c->n_by_labels++] = arena_str(&c->arena, label);
    index_all(c, c->labels_index);
    return true;
}

/* ---- tombstones ---- */

static void tomb_add(struct cache *c, str uid, uint64_t rv, bool confirmed)
{
    tombs_add(&c->tombs, uid, rv, confirmed, loop_now(c->loop));
}

static bool is_dead(const struct cache *c, const struct obj *o)
{
    uint64_t until = tombs_dead_until(&c->tombs, o->uid);
    return until && o->rv <= until;
}

void cache_forget_tombs(struct cache *c)
{
    tombs_forget(&c->tombs, loop_now(c->loop) - TOMB_AGE);
    tombs_forget(&c->names, loop_now(c->loop) - TOMB_AGE);
}

void cache_remember_names(struct cache *c)
{
    c->remembers_names = true;
}

static void remember_name(struct cache *c, const struct obj *o)
{
    char key[KEY_MAX];
    size_t len = c->remembers_names ? write_key(key, o->ns, o->name) : 0;
    if (len > 0)
        tombs_add(&c->names, str_n(key, len), 1, true, loop_now(c->loop));
}

bool cache_was_here(const struct cache *c, str ns, str name)
{
    char key[KEY_MAX];
    size_t len = write_key(key, ns, name);
    return len > 0 && tombs_dead_until(&c->names, str_n(key, len)) > 0;
}

/* ---- changes ---- */

/* Objects are borrowed until the next turn of the loop, so they are let go at the end of this one.
 */
static void bury(struct cache *c, struct obj *o)
{
    *vec_push(&c->grave) = o;
    loop_defer(c->loop, LOOP_WRITE, &c->bury);
}

static void bury_run(struct loop_task *t)
{
    struct cache *c = container_of(t, struct cache, bury);
    for (size_t i = 0; i < c->grave.len; i++)
        obj_unref(c->grave.p[i]);
    vec_clear(&c->grave);
}

static void notify(struct cache *c, const struct obj *old, const struct obj *new)
{
    for (size_t i = 0; i < c->handlers.len; i++)
        c->handlers.p[i].fn(c->handlers.p[i].ctx, old, new);
}

#define TENTH (USEC_PER_SEC / 10)

/* Of monotonic time, rounded up: thirteen years fit in. */
static uint32_t tenths_now(const struct cache *c)
{
    return (uint32_t)MIN((loop_now(c->loop) + TENTH - 1) / TENTH, UINT32_MAX);
}

/* A version is known to the millisecond, rounded up too. */
static void set_changed(struct cache *c, struct cache_entry *e)
{
    e->changed = tenths_now(c);
    e->early = (uint32_t)(MAX(e->changed * TENTH - loop_now(c->loop), 0) / USEC_PER_MSEC);
}

bool cache_seen(const struct cache *c, const struct obj *o, struct cache_seen *ret)
{
    const struct cache_entry *e = find_entry(c, o->ns, o->name);
    if (!e || !str_eq(e->obj->uid, o->uid))
        return false;
    *ret = (struct cache_seen){e->seen * TENTH, e->changed * TENTH - e->early * USEC_PER_MSEC,
                               e->listed};
    return true;
}

static void entry_add(struct cache *c, struct obj *o, bool from_server)
{
    size_t len = o->ns.len + 1 + o->name.len;
    struct cache_entry *e = xcalloc(1, sizeof(*e) + (len <= KEY_MAX ? len : 0));
    e->obj = obj_ref(o);
    e->seen = tenths_now(c);
    set_changed(c, e);
    e->listed = from_server && c->syncing;
    e->len = (uint32_t)(len <= KEY_MAX ? write_key(e->key, o->ns, o->name) : 0);
    if (e->len)
        (void)map_put(&c->by_key, str_n(e->key, e->len), e);
    struct name_key k = {e->obj->ns, e->obj->name};
    struct tree_node *twin = tree_insert(&c->entries, &e->node, &k, cmp_entry);
    BUG_ON(twin);
    list_push_back(from_server || !c->syncing ? &c->live : &c->stale, &e->link);
    index_entry(c, e);
    folds_add(c, e, e->obj);
    notify(c, NULL, e->obj);
}

static void entry_replace(struct cache *c, struct cache_entry *e, struct obj *o)
{
    struct obj *old = e->obj;
    folds_remove(c, e, old);
    e->obj = obj_ref(o);
    set_changed(c, e);
    index_entry(c, e);
    folds_add(c, e, e->obj);
    bury(c, old);
    notify(c, old, e->obj);
}

static void entry_unlink(struct cache *c, struct cache_entry *e)
{
    for (struct index_ref *r = e->refs, *next; r; r = next) {
        next = r->next;
        ref_free(c, r);
    }
    tree_remove(&c->entries, &e->node);
    if (e->len)
        (void)map_del(&c->by_key, str_n(e->key, e->len));
    list_remove(&e->link);
}

static void entry_remove(struct cache *c, struct cache_entry *e)
{
    struct obj *old = e->obj;
    remember_name(c, old);
    folds_remove(c, e, old);
    entry_unlink(c, e);
    free(e);
    bury(c, old);
    notify(c, old, NULL);
}

static bool is_selected(const struct cache *c, const struct obj *o)
{
    return (!c->labels || label_selector_match(c->labels, o->labels)) &&
           (!c->fields || field_selector_match(c->fields, o));
}

static void part_from_stranger(struct cache *c, str ns, str name)
{
    struct obj *o = strangers_take(&c->strangers, ns, name);
    if (o)
        bury(c, o);
}

/* An answer of ours shows an object that the filter leaves out: its name is taken all the same. */
static void meet_stranger(struct cache *c, struct obj *o)
{
    const struct cache_entry *e = find_entry(c, o->ns, o->name);
    if (tombs_dead_until(&c->tombs, o->uid) == UINT64_MAX || (e && e->obj->rv > o->rv))
        return;
    struct obj *went = strangers_put(&c->strangers, obj_ref(o), loop_now(c->loop));
    if (went)
        bury(c, went);
}

/* Rules 1 to 4 of the comment at the top. */
static void apply(struct cache *c, struct obj *o, bool from_server)
{
    if (is_dead(c, o))
        return;
    struct cache_entry *e = find_entry(c, o->ns, o->name);
    bool same = e && str_eq(e->obj->uid, o->uid);
    if (same && from_server) {
        list_remove(&e->link);
        list_push_back(&c->live, &e->link);
    }
    if (!e && !from_server && o->rv <= c->feed.rv) {
        remember_name(c, o); /* it came and went before this answer */
        return;
    }
    if (e && o->rv <= e->obj->rv)
        return;
    if (!is_selected(c, o)) {
        tomb_add(c, o->uid, o->rv, from_server);
        if (e)
            entry_remove(c, e);
        return;
    }
    if (same) {
        entry_replace(c, e, o);
        return;
    }
    if (e) {
        tomb_add(c, e->obj->uid, UINT64_MAX, from_server);
        entry_remove(c, e);
    }
    part_from_stranger(c, o->ns, o->name);
    entry_add(c, o, from_server);
}

void cache_apply(struct cache *c, struct obj *o)
{
    apply(c, o, true);
}

void cache_apply_deleted(struct cache *c, struct obj *o, uint64_t rv)
{
    rv = MAX(rv, o->rv);
    tomb_add(c, o->uid, rv, true);
    remember_name(c, o);
    struct cache_entry *e = find_entry(c, o->ns, o->name);
    if (e && str_eq(e->obj->uid, o->uid) && e->obj->rv <= rv)
        entry_remove(c, e);
}

void cache_observe(struct cache *c, struct obj *o)
{
    BUG_ON(o->kind != c->kind);
    if (!is_selected(c, o))
        meet_stranger(c, o);
    apply(c, o, false);
}

void cache_observe_deleted(struct cache *c, str ns, str name, str uid)
{
    part_from_stranger(c, ns, name);
    struct cache_entry *e = find_entry(c, ns, name);
    if (!uid.len && e)
        uid = e->obj->uid;
    if (!uid.len)
        return;
    tomb_add(c, uid, UINT64_MAX, false);
    if (e && str_eq(e->obj->uid, uid))
        entry_remove(c, e);
}

/* ---- a list of everything ---- */

void cache_sync_begin(struct cache *c)
{
    c->syncing = true;
    if (list_is_empty(&c->live))
        return;
    /* Live goes behind what a broken list left over. */
    struct list *first = c->live.next, *last = c->live.prev;
    first->prev = c->stale.prev;
    c->stale.prev->next = first;
    last->next = &c->stale;
    c->stale.prev = last;
    list_init(&c->live);
}

bool cache_sync_sweep(struct cache *c, uint64_t rv, unsigned budget)
{
    while (!list_is_empty(&c->stale)) {
        if (!budget--)
            return false;
        struct cache_entry *e = list_entry(c->stale.next, struct cache_entry, link);
        list_remove(&e->link);
        list_push_back(&c->live, &e->link);
        if (e->obj->rv <= rv) {
            tomb_add(c, e->obj->uid, rv, true);
            entry_remove(c, e);
        }
    }
    return true;
}

void cache_sync_end(struct cache *c)
{
    if (c->synced)
        return;
    c->synced = true;
    c->absent = false;
    for (size_t i = 0; i < c->listeners.len; i++)
        c->listeners.p[i].fn(c->listeners.p[i].ctx);
}

/* ---- life cycle ---- */

struct cache *cache_new(struct loop *l, struct api *api, const struct cache_options *o)
{
    struct cache *c = xnew(struct cache);
    c->loop = l;
    c->api = api;
    c->kind = o->kind;
    c->stall_timeout = o->stall_timeout;
    c->ns = arena_str(&c->arena, o->ns);
    c->label_selector = arena_str(&c->arena, o->label_selector);
    c->field_selector = arena_str(&c->arena, o->field_selector);
    if (o->label_selector.len) {
        c->labels = label_selector_parse(&c->arena, c->label_selector, NULL);
        BUG_ON(!c->labels);
    }
    if (o->field_selector.len) {
        c->fields = field_selector_parse(&c->arena, c->kind, c->field_selector, NULL);
        BUG_ON(!c->fields);
    }
    list_init(&c->live);
    list_init(&c->stale);
    strangers_init(&c->strangers);
    loop_task_init(&c->bury, bury_run);
    feed_init(c);
    cache_add_index(c, cache_index_owner);
    return c;
}

static void free_entries(struct cache *c, struct list *from)
{
    list_foreach (it, from) {
        struct cache_entry *e = list_entry(it, struct cache_entry, link);
        entry_unlink(c, e);
        obj_unref(e->obj);
        free(e);
    }
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    feed_done(c);
    folds_done(c);
    free_entries(c, &c->live);
    free_entries(c, &c->stale);
    tombs_done(&c->tombs);
    tombs_done(&c->names);
    map_done(&c->by_key);
    strangers_done(&c->strangers);
    loop_task_cancel(&c->bury);
    bury_run(&c->bury);
    vec_done(&c->grave);
    for (size_t i = 0; i < c->indexes.len; i++)
        map_done(&c->indexes.p[i].groups);
    vec_done(&c->indexes);
    vec_done(&c->handlers);
    vec_done(&c->listeners);
    arena_done(&c->scratch);
    arena_done(&c->arena);
    free(c);
}

void cache_add_handler(struct cache *c, cache_handler *fn, void *ctx)
{
    *vec_push(&c->handlers) = (struct cache_subscriber){fn, ctx};
}

void cache_on_synced(struct cache *c, void (*fn)(void *ctx), void *ctx)
{
    *vec_push(&c->listeners) = (struct cache_listener){fn, ctx};
}

void cache_start(struct cache *c)
{
    c->absent = false;
    feed_start(c);
}

/* Without tombstones: what is forgotten here was not seen deleted. */
void cache_stop(struct cache *c)
{
    feed_stop(c);
    c->synced = c->syncing = false;
    c->absent = true;
    for (struct tree_node *n; (n = tree_first(&c->entries));)
        entry_remove(c, container_of(n, struct cache_entry, node));
    strangers_done(&c->strangers);
}

bool cache_is_started(const struct cache *c)
{
    return c->feed.state != FEED_IDLE;
}

void cache_resync(struct cache *c)
{
    c->synced = false;
    feed_resync(c);
}

bool cache_is_absent(const struct cache *c)
{
    return c->absent;
}

void cache_on_absent(struct cache *c, void (*fn)(void *ctx), void *ctx)
{
    c->on_absent = (struct cache_listener){fn, ctx};
}

bool cache_is_synced(const struct cache *c)
{
    return c->synced;
}

const struct kind *cache_kind(const struct cache *c)
{
    return c->kind;
}

struct cache_stats cache_stats(const struct cache *c)
{
    struct cache_stats s = c->feed.stats;
    s.tombstones = tombs_len(&c->tombs);
    return s;
}

/* ---- reading ---- */

struct obj *cache_get(const struct cache *c, str ns, str name)
{
    const struct cache_entry *e = find_entry(c, ns, name);
    return e ? e->obj : strangers_get(&c->strangers, ns, name, loop_now(c->loop));
}

size_t cache_count(const struct cache *c)
{
    return c->entries.len;
}

struct cache_iter cache_all(const struct cache *c, str ns)
{
    struct name_key k = {.ns = ns};
    return (struct cache_iter){
        .node = tree_lower_bound(&c->entries, &k, cmp_entry),
        .ns = ns,
    };
}

struct cache_iter cache_by_number(const struct cache *c, unsigned index, str key)
{
    const struct index_group *g = map_get(&c->indexes.p[index].groups, key);
    return (struct cache_iter){.node = g ? tree_first(&g->refs) : NULL, .by_index = true};
}

struct cache_iter cache_by(const struct cache *c, cache_index_fn *fn, str key)
{
    return cache_by_number(c, cache_index_number(c, fn), key);
}

struct cache_iter cache_by_label(struct cache *c, str ns, str label, str value)
{
    if (!index_by_label(c, label))
        return cache_all(c, ns);
    struct arena a = ARENA_INIT;
    struct cache_iter it = cache_by_number(c, c->labels_index, label_key(&a, ns, label, value));
    arena_done(&a);
    return it;
}

struct obj *cache_next(struct cache_iter *it)
{
    const struct tree_node *n = it->node;
    if (!n)
        return NULL;
    struct obj *o = NULL;
    if (it->by_index) {
        o = container_of(n, struct index_ref, node)->entry->obj;
    } else {
        struct obj *next = container_of(n, struct cache_entry, node)->obj;
        if (!it->ns.len || str_eq(next->ns, it->ns))
            o = next;
    }
    it->node = o ? tree_next(n) : NULL;
    return o;
}
