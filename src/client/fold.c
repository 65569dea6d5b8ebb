/*
 * Aggregates per key of an index.
 *
 * A replaced object is taken out with its old version and its old places in the index, and put in
 * with the new ones: there is no rule for "what changed" that could be wrong. An aggregate without
 * members is freed at once; making it anew costs nothing then.
 */
#include "client/cache_impl.h"

struct aggregate {
    size_t members;
    size_t key_len;
    const char *key;
    _Alignas(max_align_t) unsigned char data[];
};

static void aggregate_free(struct cache_fold *f, struct aggregate *g)
{
    if (f->def->done)
        f->def->done(g->data);
    free(g);
}

static struct cache_fold *find_fold(const struct cache *c, const struct cache_fold_def *def)
{
    for (size_t i = 0; i < c->folds.len; i++) {
        if (c->folds.p[i].def == def)
            return &c->folds.p[i];
    }
    return NULL;
}

void cache_add_fold(struct cache *c, const struct cache_fold_def *def)
{
    if (find_fold(c, def))
        return;
    BUG_ON(c->feed.state != FEED_IDLE);
    cache_add_index(c, def->index);
    *vec_push(&c->folds) =
        (struct cache_fold){.def = def, .index = cache_index_number(c, def->index)};
}

static struct aggregate *aggregate_new(struct cache_fold *f, str key)
{
    struct aggregate *g = xcalloc(1, sizeof(*g) + f->def->size + key.len);
    char *copy = (char *)g->data + f->def->size;
    if (key.len)
        memcpy(copy, key.p, key.len);
    g->key = copy;
    g->key_len = key.len;
    map_put(&f->aggregates, str_n(g->key, g->key_len), g);
    return g;
}

const void *cache_fold(const struct cache *c, const struct cache_fold_def *def, str key)
{
    struct cache_fold *f = find_fold(c, def);
    BUG_ON(!f);
    struct aggregate *g = map_get(&f->aggregates, key);
    if (g)
        return g->data;
    struct cache_iter it = cache_by_number(c, f->index, key);
    const struct obj *o = cache_next(&it);
    if (!o)
        return NULL;
    g = aggregate_new(f, key);
    for (; o; o = cache_next(&it)) {
        f->def->add(g->data, o);
        g->members++;
    }
    return g->data;
}

static void drop(struct cache_fold *f)
{
    str key;
    void *g;
    for (size_t it = 0; map_next(&f->aggregates, &it, &key, &g);)
        aggregate_free(f, g);
    map_done(&f->aggregates);
}

void cache_drop_folds(struct cache *c)
{
    for (size_t i = 0; i < c->folds.len; i++)
        drop(&c->folds.p[i]);
}

void folds_done(struct cache *c)
{
    cache_drop_folds(c);
    vec_done(&c->folds);
}

/* ---- changes ---- */

static void take_out(struct cache_fold *f, struct aggregate *g, const struct obj *o)
{
    f->def->remove(g->data, o);
    if (--g->members)
        return;
    map_del(&f->aggregates, str_n(g->key, g->key_len));
    aggregate_free(f, g);
}

static void put_in(struct cache_fold *f, struct aggregate *g, const struct obj *o)
{
    f->def->add(g->data, o);
    g->members++;
}

static void fold_object(struct cache *c, const struct cache_entry *e, const struct obj *o,
                        void (*fn)(struct cache_fold *, struct aggregate *, const struct obj *))
{
    for (size_t i = 0; i < c->folds.len; i++) {
        struct cache_fold *f = &c->folds.p[i];
        for (const struct index_ref *r = e->refs; r && f->aggregates.len; r = r->next) {
            struct aggregate *g = r->index == f->index ? map_get(&f->aggregates, ref_key(r)) : NULL;
            if (g)
                fn(f, g, o);
        }
    }
}

void folds_add(struct cache *c, const struct cache_entry *e, const struct obj *o)
{
    fold_object(c, e, o, put_in);
}

void folds_remove(struct cache *c, const struct cache_entry *e, const struct obj *o)
{
    fold_object(c, e, o, take_out);
}
