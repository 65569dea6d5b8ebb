/*
 * Which metrics there are, by name: those that are fed, and those that annotations speak of. The
 * latter are counted as objects come and go, so that discovery looks at no object.
 */
#include "apiserver/metrics_names.h"
#include "base/vec.h"
#include "grove/metrics_source.h"
#include "grove/types.h"

/* "pods 0 queue", and how many annotations speak of it. */
struct spoken {
    struct tree_node node;
    str resource, metric;
    bool namespaced;
    size_t count;
    char text[];
};

struct metrics_names {
    struct metrics_feed *feed;
    struct tree spoken;
    uint64_t version; /* of the tree */
    struct arena arena;
    VEC(struct metrics_name) all; /* as of: */
    uint64_t made;
};

struct pair {
    str resource, metric;
};

static int compare_pairs(str r1, str m1, str r2, str m2)
{
    int c = str_cmp(r1, r2);
    return c ? c : str_cmp(m1, m2);
}

static int compare(const void *key, const struct tree_node *n)
{
    const struct pair *p = key;
    const struct spoken *s = container_of(n, const struct spoken, node);
    return compare_pairs(p->resource, p->metric, s->resource, s->metric);
}

/* ---- annotations ---- */

static void count(struct metrics_names *n, struct pair p, bool namespaced, int by)
{
    struct tree_node *found = tree_find(&n->spoken, &p, compare);
    struct spoken *s = found ? container_of(found, struct spoken, node) : NULL;
    if (s && by < 0 && --s->count == 0) {
        tree_remove(&n->spoken, &s->node);
        free(s);
        n->version++;
    } else if (s && by > 0) {
        s->count++;
    } else if (!s && by > 0) {
        s = xcalloc(1, sizeof(*s) + p.resource.len + p.metric.len);
        if (p.resource.len > 0)
            memcpy(s->text, p.resource.p, p.resource.len);
        memcpy(s->text + p.resource.len, p.metric.p, p.metric.len);
        s->resource = str_n(s->text, p.resource.len);
        s->metric = str_n(s->text + p.resource.len, p.metric.len);
        s->namespaced = namespaced;
        s->count = 1;
        (void)tree_insert(&n->spoken, &s->node, &p, compare);
        n->version++;
    }
}

/* Whether pods inherit what is said on objects of the kind. */
static bool owns_pods(const struct kind *k)
{
    const struct kind *const owners[] = {&kind_pcs, &kind_pcsg, &kind_pclq, &kind_replica_set,
                                         &kind_deployment};
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        if (str_is(str_of(owners[i]->kind), k->kind) && str_is(str_of(owners[i]->group), k->group))
            return true;
    }
    return false;
}

static bool is_measured(str name)
{
    for (size_t i = 0; metrics_measured[i]; i++) {
        if (str_is(name, metrics_measured[i]))
            return true;
    }
    return false;
}

/* What one annotation of an object speaks of. */
static void count_annotation(struct metrics_names *n, const struct obj *o, str key, int by)
{
    char resource[512];
    str name = str_sub(key, sizeof(METRICS_PREFIX) - 1, key.len), what = str_cut(&name, '.');
    bool each = str_is(what, "metric");
    if (name.len == 0)
        return;
    if (str_is(what, "external") && o->kind == &kind_namespace)
        count(n, (struct pair){STR_NONE, name}, true, by);
    if (each)
        count(n, (struct pair){metrics_resource_name(o->kind, resource, sizeof(resource)), name},
              kind_is(o->kind, KIND_NAMESPACED), by);
    if ((each || (str_is(what, "load") && !is_measured(name))) && owns_pods(o->kind))
        count(n, (struct pair){STR("pods"), name}, true, by);
}

static void count_object(struct metrics_names *n, const struct obj *o, int by)
{
    for (struct jiter it = jiter(o->annotations); jnext(&it);) {
        if (str_starts(it.key, STR(METRICS_PREFIX)))
            count_annotation(n, o, it.key, by);
    }
}

void metrics_names_event(struct metrics_names *n, const struct store_event *e)
{
    if (e->prev)
        count_object(n, e->prev, -1);
    if (e->type != STORE_DELETED)
        count_object(n, e->obj, 1);
}

static bool is_first_of_storage(struct store *s, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (store_storage_id(s, kinds_at(k)) == store_storage_id(s, kinds_at(i)))
            return false;
    }
    return true;
}

struct metrics_names *metrics_names_new(struct store *s, struct metrics_feed *feed)
{
    struct metrics_names *n = xnew(struct metrics_names);
    struct obj *o;
    n->feed = feed;
    n->version = 1;
    for (size_t i = 0; i < kinds_count(); i++) {
        if (kind_is(kinds_at(i), KIND_RETIRED) || !is_first_of_storage(s, i))
            continue;
        struct store_iter it = store_range(s, kinds_at(i), STR_NONE, STR_NONE, STR_NONE);
        while ((o = store_next(&it)))
            count_object(n, o, 1);
    }
    return n;
}

void metrics_names_free(struct metrics_names *n)
{
    struct tree_node *node;
    if (!n)
        return;
    while ((node = tree_first(&n->spoken))) {
        tree_remove(&n->spoken, node);
        free(container_of(node, struct spoken, node));
    }
    arena_done(&n->arena);
    vec_done(&n->all);
    free(n);
}

/* ---- all of them ---- */

uint64_t metrics_names_version(const struct metrics_names *n)
{
    return n->version + metrics_feed_names_version(n->feed);
}

/* "podcliques.grove.io" or "pods". */
static bool is_namespaced(str resource)
{
    str group = resource, plural = str_cut(&group, '.');
    for (size_t i = 0; resource.len > 0 && i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (str_is(plural, k->plural) && str_is(group, k->group))
            return kind_is(k, KIND_NAMESPACED);
    }
    return true;
}

static void add(struct metrics_names *n, str resource, str metric, bool namespaced)
{
    *vec_push(&n->all) = (struct metrics_name){arena_str(&n->arena, resource),
                                               arena_str(&n->arena, metric), namespaced};
}

/* The two in one order, each name once. */
static void merge(struct metrics_names *n)
{
    const struct metrics_sample *fed = metrics_feed_next_name(n->feed, NULL);
    const struct tree_node *node = tree_first(&n->spoken);
    while ((fed || node) && n->all.len < METRICS_NAMES_MAX) {
        const struct spoken *s = node ? container_of(node, const struct spoken, node) : NULL;
        int c = !s     ? -1
                : !fed ? 1
                       : compare_pairs(fed->id.resource, fed->id.metric, s->resource, s->metric);
        if (c <= 0)
            add(n, fed->id.resource, fed->id.metric, is_namespaced(fed->id.resource));
        else
            add(n, s->resource, s->metric, s->namespaced);
        if (c <= 0)
            fed = metrics_feed_next_name(n->feed, fed);
        if (c >= 0)
            node = tree_next(node);
    }
}

const struct metrics_name *metrics_names_all(struct metrics_names *n, size_t *ret_n)
{
    if (n->made != metrics_names_version(n)) {
        n->made = metrics_names_version(n);
        arena_clear(&n->arena);
        n->all.len = 0;
        merge(n);
    }
    *ret_n = n->all.len;
    return n->all.p;
}

/* ---- discovery ---- */

#define EXTERNAL "external.metrics.k8s.io"

bool metrics_names_are_of(str group)
{
    return str_is(group, "custom.metrics.k8s.io") || str_is(group, EXTERNAL);
}

/* The next one of the group, from *at on; NULL after the last. */
static const struct metrics_name *next_of(struct metrics_names *n, const struct kind *first,
                                          size_t *at)
{
    size_t len = 0;
    const struct metrics_name *all = n ? metrics_names_all(n, &len) : NULL;
    bool external = str_is(str_of(first->group), EXTERNAL);
    for (; *at < len; ++*at) {
        if ((all[*at].resource.len == 0) == external)
            return &all[(*at)++];
    }
    return NULL;
}

bool metrics_names_is_listed(struct metrics_names *n, const struct kind *first)
{
    size_t at = 0;
    return !metrics_names_are_of(str_of(first->group)) || next_of(n, first, &at);
}

static void put_verbs(struct jw *w)
{
    jw_put_array(w, "verbs");
    jw_str(w, STR("get"));
    jw_end(w);
}

void metrics_names_put_list(struct jw *w, struct metrics_names *n, const struct kind *first)
{
    const struct metrics_name *m;
    for (size_t at = 0; (m = next_of(n, first, &at));) {
        jw_object(w);
        jw_key(w, STR("name"));
        jw_printf(w, "%.*s%s%.*s", STR_ARG(m->resource), m->resource.len ? "/" : "",
                  STR_ARG(m->metric));
        jw_put_cstr(w, "singularName", "");
        jw_put_bool(w, "namespaced", m->namespaced);
        jw_put_cstr(w, "kind", first->kind);
        put_verbs(w);
        jw_end(w);
    }
}

static void put_response_kind(struct jw *w, const char *kind)
{
    jw_put_object(w, "responseKind");
    jw_put_cstr(w, "group", "");
    jw_put_cstr(w, "version", "");
    jw_put_cstr(w, "kind", kind);
    jw_end(w);
}

static void begin_resource(struct jw *w, str name, const char *kind, bool namespaced)
{
    jw_object(w);
    jw_put_str(w, "resource", name);
    put_response_kind(w, kind);
    jw_put_cstr(w, "scope", namespaced ? "Namespaced" : "Cluster");
    jw_put_cstr(w, "singularResource", "");
}

/* An external metric is a resource; any other is a subresource of what it is about, which by itself
 * has no verbs in this group. */
void metrics_names_put_aggregated(struct jw *w, struct metrics_names *n, const struct kind *first)
{
    const struct metrics_name *m, *open = NULL;
    for (size_t at = 0; (m = next_of(n, first, &at));) {
        if (m->resource.len == 0) {
            begin_resource(w, m->metric, first->kind, true);
            put_verbs(w);
            jw_end(w);
            continue;
        }
        if (open && !str_eq(open->resource, m->resource)) {
            jw_end(w);
            jw_end(w);
            open = NULL;
        }
        if (!open) {
            open = m;
            begin_resource(w, m->resource, "", m->namespaced);
            jw_put_array(w, "verbs");
            jw_end(w);
            jw_put_array(w, "subresources");
        }
        jw_object(w);
        jw_put_str(w, "subresource", m->metric);
        put_response_kind(w, first->kind);
        put_verbs(w);
        jw_end(w);
    }
    if (open) {
        jw_end(w);
        jw_end(w);
    }
}
