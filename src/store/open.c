/*
 * Start-up and close. From records to the state in memory:
 *
 *   A  records up to `oldest`: only keys are looked at, to find the last record of each; what a
 *      later one replaced is garbage, and so is a tombstone
 *   B  the same records again: the last of each key is parsed; this is the state at `oldest`
 *   C  records after `oldest`: each is applied as if it had just been committed, which rebuilds the
 *      window with its prev objects
 *
 * So nothing superseded below the window is ever parsed, and the window needs no format of its own.
 * Objects of kinds that nobody registered are kept like all others, under a kind without a name, so
 * that they are neither lost nor in the way; store_adopt_kind() gives them one.
 *
 * A record that cannot be read is an error and not skipped: an object that silently disappears is
 * worse than a store that does not start.
 */
#include "base/log.h"
#include "store/internal.h"

struct load {
    struct store *store;
    struct map last; /* record key -> revision of its last record, up to `oldest` */
    struct disk_head head;
    uint64_t next; /* C: the revision that must come now */
};

static const struct json_limits limits = {.max_bytes = 256u << 20, .allow_duplicate_keys = true};

/* ---- records to objects ---- */

static bool is_kind(const struct kind *k, str group, str version, str name)
{
    return str_is(name, k->kind) && str_is(group, k->group) && str_is(version, k->version);
}

/* What the document says it is, when that is registered; else what its collection usually holds. */
static const struct kind *kind_of(struct storage *st, const struct doc *d)
{
    str group, version, name = jstr(jgetc(doc_root(d), "kind"));
    api_version_split(jstr(jgetc(doc_root(d), "apiVersion")), &group, &version);
    if (st->kind && is_kind(st->kind, group, version, name))
        return st->kind;
    const struct kind *k = kind_by_name_stored(group, version, name);
    return k ? k : st->kind ? st->kind : &store_unknown_kind;
}

static int damaged(const struct record *r, struct err *err)
{
    return err_wrap(err, "the record at revision %llu (%.*s %.*s/%.*s) is damaged",
                    (unsigned long long)r->revision, STR_ARG(r->storage), STR_ARG(r->ns),
                    STR_ARG(r->name));
}

static struct obj *wrap(const struct kind *k, struct doc *d, const struct record *r,
                        struct err *err)
{
    struct obj *o = obj_new(k, d, err);
    if (o && o->rv == r->revision && str_eq(o->ns, r->ns) && str_eq(o->name, r->name))
        return o;
    if (o)
        err_set(err, ERR_INVALID, "its document is another object's");
    obj_unref(o);
    return NULL;
}

struct obj *record_obj(const struct kind *k, const struct record *r, struct err *err)
{
    struct doc *d = doc_parse(r->doc, &limits, err);
    return d ? wrap(k, d, r, err) : NULL;
}

static struct obj *obj_of(struct storage *st, const struct record *r, struct err *err)
{
    struct doc *d = doc_parse(r->doc, &limits, err);
    return d ? wrap(kind_of(st, d), d, r, err) : NULL;
}

/* ---- the three passes ---- */

/* The map's values are revisions; 0 is none. */
static uint64_t revision_in(const struct map *m, str key)
{
    return (uint64_t)(uintptr_t)map_get(m, key);
}

static int pass_keys(void *ctx, const struct record *r, struct err *err)
{
    struct load *l = ctx;
    struct history *h = &l->store->history;
    uint64_t before = revision_in(&l->last, r->key);
    if (before)
        history_add_garbage(h, before);
    if (r->delete) {
        map_del(&l->last, r->key);
        history_add_garbage(h, r->revision);
    } else {
        map_put(&l->last, r->key, (void *)(uintptr_t)r->revision);
    }
    return 0;
}

static int pass_state(void *ctx, const struct record *r, struct err *err)
{
    struct load *l = ctx;
    struct store *s = l->store;
    if (revision_in(&l->last, r->key) != r->revision)
        return 0;
    struct storage *st = storage_by_key(&s->storages, r->storage);
    struct obj *o = obj_of(st, r, err);
    if (!o)
        return damaged(r, err);
    struct node *n = node_get_or_add(&s->storages, st, r->ns, r->name);
    s->memory += node_cost(n) + obj_cost(o);
    node_set_obj(st, n, o);
    return 0;
}

static int pass_window(void *ctx, const struct record *r, struct err *err)
{
    struct load *l = ctx;
    struct store *s = l->store;
    if (r->revision != l->next++)
        return err_set(err, ERR_INVALID, "the record at revision %llu is missing",
                       (unsigned long long)(l->next - 1));
    struct storage *st = storage_by_key(&s->storages, r->storage);
    struct obj *o = obj_of(st, r, err);
    if (!o)
        return damaged(r, err);
    struct node *n = node_get_or_add(&s->storages, st, r->ns, r->name);
    version_publish(s, st, n, o, r->delete);
    node_drop_if_unused(st, n);
    store_trim(s);
    return 0;
}

static int load_records(struct load *l, struct err *err)
{
    struct store *s = l->store;
    int r = disk_read(s->disk, 0, l->head.oldest, false, pass_keys, l, err);
    if (r == 0)
        r = disk_read(s->disk, 0, l->head.oldest, true, pass_state, l, err);
    l->next = l->head.oldest + 1;
    s->history.oldest = s->history.disk_oldest = s->revision = l->head.oldest;
    if (r == 0)
        r = disk_read(s->disk, l->next, UINT64_MAX, true, pass_window, l, err);
    if (r == 0 && s->revision != l->head.revision)
        r = err_set(err, ERR_INVALID, "the log ends at revision %llu instead of %llu",
                    (unsigned long long)s->revision, (unsigned long long)l->head.revision);
    s->assigned = s->revision;
    return r;
}

void store_warn_unknown(const struct store *s)
{
    for (size_t i = 0; i < s->storages.all.len; i++) {
        const struct storage *st = s->storages.all.p[i];
        if (!st->kind && st->count > 0)
            log_warn("objects of an unknown kind are kept but not served",
                     LOG_C("resource", st->key), LOG_U("count", st->count));
    }
}

static int load(struct store *s, struct err *err)
{
    struct load l = {.store = s, .last = MAP_INIT};
    int r = disk_read_begin(s->disk, &l.head, err);
    if (r < 0)
        return r;
    r = load_records(&l, err);
    map_done(&l.last);
    disk_read_end(s->disk);
    return r;
}

/* ---- life cycle ---- */

static void store_free(struct store *s)
{
    history_done(&s->history);
    storages_done(&s->storages);
    disk_close(s->disk);
    free(s);
}

struct store *store_open(struct loop *l, const struct store_options *o, struct err *err)
{
    struct store *s = xnew(struct store);
    s->loop = l;
    s->revision = s->assigned = STORE_FIRST_REVISION;
    s->memory_limit = o->memory_limit;
    storages_init(&s->storages, loop_random_u64(l));
    history_init(&s->history, o);
    batch_init(s);
    for (size_t i = 0; i < kinds_count(); i++)
        storage_of(&s->storages, kinds_at(i));
    if (!o->dir)
        return s;
    struct disk_room room = {0};
    s->disk = disk_open(o->dir, &room, err);
    if (s->disk && load(s, err) == 0) {
        batch_set_room(s, &room);
        return s;
    }
    if (s->disk)
        (void)disk_advise(o->dir, err);
    store_free(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    batch_finish(s);
    store_free(s);
}

/* ---- kinds that come later ---- */

static struct obj *rewrap(void *ctx, struct obj *o)
{
    if (!o || o->kind != &store_unknown_kind)
        return o;
    struct storage *st = ctx;
    struct obj *named = obj_new(kind_of(st, o->doc), doc_ref(o->doc), NULL);
    BUG_ON(!named);
    obj_unref(o);
    return named;
}

void store_adopt_kind(struct store *s, const struct kind *k)
{
    struct storage *st = storage_of(&s->storages, k);
    for (struct node *n = node_at_or_after(st, STR_NONE, STR_NONE); n; n = node_next(n))
        n->obj = rewrap(st, n->obj);
    history_rewrap(&s->history, st->id, rewrap, st);
}
