/*
 * See gangmap_fold.h. The fold itself only remembers the object: it is read when it is first asked
 * for, since what it means depends on the components, which the set says. A set whose components
 * changed has its maps read again.
 */
#include "operator/common/gangmap_fold.h"

#include "grove/types.h"
#include "operator/common/gangmap_units.h"

/* The aggregate of one UID. */
struct reading {
    const struct obj *obj;
    struct arena arena;
    struct gangmap_component *components; /* NULL: it was not read yet; names and is_group */
    struct gangmap map;
    struct gangmap_index index;
};

static void forget(struct reading *r)
{
    gangmap_index_done(&r->index);
    arena_done(&r->arena);
    r->components = NULL;
    r->index = (struct gangmap_index){.by_name = MAP_INIT};
    r->map = (struct gangmap){0};
}

static void reading_add(void *agg, const struct obj *o)
{
    struct reading *r = agg;
    obj_unref(r->obj);
    r->obj = obj_ref(o);
}

static void reading_remove(void *agg, const struct obj *o)
{
    struct reading *r = agg;
    (void)o;
    forget(r);
    obj_unref(r->obj);
    r->obj = NULL;
}

static void reading_done(void *agg)
{
    reading_remove(agg, NULL);
}

static cache_index_fn index_uid;
static const struct cache_fold_def fold = {index_uid, sizeof(struct reading), reading_add,
                                           reading_remove, reading_done};

static bool is_for(const struct reading *r, const struct gangmap_component *c, size_t n)
{
    if (!r->components || r->map.n_components != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (r->components[i].is_group != c[i].is_group || !str_eq(r->components[i].name, c[i].name))
            return false;
    }
    return true;
}

static void read_map(struct reading *r, const struct gangmap_component *c, size_t n)
{
    forget(r);
    r->components = arena_array(&r->arena, struct gangmap_component, n + 1);
    for (size_t i = 0; i < n; i++) {
        r->components[i].name = arena_str(&r->arena, c[i].name);
        r->components[i].is_group = c[i].is_group;
    }
    gangmap_init(&r->map, &r->arena, r->obj->name, n);
    r->map.names = gang_names_read(&r->arena, r->obj);
    r->map.last = MAX(epoch_read(obj_annotation(r->obj, STR(ANNOTATION_LAST_EPOCH))), 0);
    gangmap_read(&r->map, jgetc(obj_spec(r->obj), "entries"), r->components);
    gangmap_index(&r->map, &r->index);
}

const struct gangmap *gangmap_parsed(const struct world *w, const struct obj *o,
                                     const struct gangmap_component *c, size_t n)
{
    /* Aggregates are handed out to be read; this one is completed at the first reading. */
    struct reading *r =
        (struct reading *)cache_fold(world_cache(w, &kind_pod_gang_map), &fold, o->uid);
    BUG_ON(!r || !r->obj);
    if (!is_for(r, c, n))
        read_map(r, c, n);
    return &r->map;
}

static void index_uid(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max > 0)
        keys[(*n)++] = o->uid;
}

void gangmap_add_fold(struct runtime *r)
{
    gangmap_add_units(r);
    cache_add_fold(runtime_cache(r, &kind_pod_gang_map), &fold);
}
