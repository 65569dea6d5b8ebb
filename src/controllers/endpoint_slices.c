/*
 * The EndpointSlices of a Service, at most 100 endpoints in each; see service_backends.h.
 *
 * Slices are of one address family and one list of ports. A pod stays in the slice where it is, so
 * that one that comes or goes changes one slice; what is new fills the first that has room. Slices
 * that became empty go. A Service without any endpoint has one slice that says so.
 *
 * Example: 250 pods make slices of 100, 100 and 50. When ten of the first go and one comes, the
 * first slice is written, once, and has 91.
 *
 * The name of a slice is a function of the Service's UID and the slice's number: a repeated create
 * makes no second one.
 */
#include "base/hash.h"
#include "base/map.h"
#include "controllers/service_backends.h"

enum { ENDPOINTS_MAX = 100 };
#define MANAGED_BY "endpointslice.kubernetes.io/managed-by"
#define MANAGER "endpointslice-controller.k8s.io"
#define SERVICE_NAME "kubernetes.io/service-name"
#define HEADLESS "service.kubernetes.io/headless"
#define ZONE "topology.kubernetes.io/zone"

struct slice {
    const struct obj *there; /* NULL: it is new */
    size_t group;            /* of ports; of no use where it has no endpoints */
    VEC(const struct backend *) endpoints;
};

struct slices {
    const struct world *world;
    struct plan *plan;
    const struct obj *service;
    const char *family;
    struct backends backends;
    VEC(struct slice) list;
    unsigned number; /* of the next name to try */
};

/* ---- what is there ---- */

static bool is_ours(const struct slices *s, const struct obj *slice)
{
    return str_is(obj_label(slice, STR(MANAGED_BY)), MANAGER) && !slice->deleting &&
           str_is(jstr(jgetc(obj_root(slice), "addressType")), s->family);
}

static struct doc *ports_doc(const struct slices *s, size_t group)
{
    struct jw w;
    jw_init(&w);
    backends_put_ports(&s->backends, &w, group, true);
    return jw_doc(&w);
}

static bool same_ports(jval have, jval want)
{
    return jlen(have) == jlen(want) && (jlen(have) == 0 || jequal(have, want));
}

/* The group whose ports the slice has; as many as there are: none. */
static size_t group_of_slice(const struct slices *s, const struct obj *slice)
{
    size_t i = 0;
    for (; i < s->backends.groups.len; i++) {
        struct doc *want = ports_doc(s, i);
        bool same = same_ports(jgetc(obj_root(slice), "ports"), doc_root(want));
        doc_unref(want);
        if (same)
            break;
    }
    return i;
}

/* Those that are still wanted there keep their place. */
static void keep_places(struct slices *s, struct map *homeless, const struct obj *there)
{
    struct slice *slice = vec_push(&s->list);
    *slice = (struct slice){.there = there, .group = group_of_slice(s, there)};
    for (struct jiter it = jiter(jgetc(obj_root(there), "endpoints")); jnext(&it);) {
        str uid = jstr(jpath(it.value, "targetRef.uid"));
        const struct backend *b = map_get(homeless, uid);
        if (!b || b->group != slice->group || slice->endpoints.len == ENDPOINTS_MAX)
            continue;
        *vec_push(&slice->endpoints) = b;
        (void)map_del(homeless, uid);
    }
}

/* ---- what is new ---- */

static struct slice *with_room(struct slices *s, size_t group)
{
    for (size_t i = 0; i < s->list.len; i++) {
        if (s->list.p[i].group == group && s->list.p[i].endpoints.len < ENDPOINTS_MAX)
            return &s->list.p[i];
    }
    struct slice *slice = vec_push(&s->list);
    *slice = (struct slice){.group = group};
    return slice;
}

static void place(struct slices *s)
{
    struct map homeless = MAP_INIT;
    for (size_t i = 0; i < s->backends.list.len; i++)
        (void)map_put(&homeless, s->backends.list.p[i].pod->uid, &s->backends.list.p[i]);
    struct cache_iter it = world_owned(s->world, &kind_endpoint_slice, s->service->uid);
    for (const struct obj *slice; (slice = cache_next(&it));) {
        if (is_ours(s, slice))
            keep_places(s, &homeless, slice);
    }
    for (size_t i = 0; i < s->backends.list.len; i++) {
        const struct backend *b = &s->backends.list.p[i];
        if (map_has(&homeless, b->pod->uid))
            *vec_push(&with_room(s, b->group)->endpoints) = b;
    }
    if (s->list.len == 0)
        *vec_push(&s->list) = (struct slice){0};
    map_done(&homeless);
}

/* ---- writes ---- */

static void put_endpoint(const struct slices *s, struct jw *w, const struct backend *b)
{
    str hostname = backends_hostname(s->service, b->pod);
    str zone = b->node ? obj_label(b->node, STR(ZONE)) : STR_NONE;
    jw_object(w);
    jw_put_array(w, "addresses");
    jw_str(w, b->ip);
    jw_end(w);
    jw_put_object(w, "conditions");
    jw_put_bool(w, "ready", b->ready);
    jw_put_bool(w, "serving", b->serving);
    jw_put_bool(w, "terminating", b->terminating);
    jw_end(w);
    if (hostname.len)
        jw_put_str(w, "hostname", hostname);
    jw_put(w, "nodeName", jgetc(obj_spec(b->pod), "nodeName"));
    backends_put_target(w, b->pod);
    if (zone.len)
        jw_put_str(w, "zone", zone);
    jw_end(w);
}

static void put_content(const struct slices *s, struct jw *w, const struct slice *slice)
{
    jw_put_array(w, "endpoints");
    for (size_t i = 0; i < slice->endpoints.len; i++)
        put_endpoint(s, w, slice->endpoints.p[i]);
    jw_end(w);
    jw_key(w, STR("ports"));
    if (slice->endpoints.len > 0) {
        backends_put_ports(&s->backends, w, slice->group, true);
    } else {
        jw_array(w);
        jw_end(w);
    }
}

static struct own_labels labels_of(const struct obj *service)
{
    struct own_labels l = {.names = {SERVICE_NAME, MANAGED_BY, HEADLESS},
                           .values = {service->name, STR(MANAGER), STR_NONE},
                           .n = service_is_headless(service) ? 3 : 2};
    return l;
}

static void put_owner(struct jw *w, const struct obj *service)
{
    jw_put_array(w, "ownerReferences");
    jw_object(w);
    jw_put_cstr(w, "apiVersion", "v1");
    jw_put_bool(w, "blockOwnerDeletion", true);
    jw_put_bool(w, "controller", true);
    jw_put_cstr(w, "kind", "Service");
    jw_put_str(w, "name", service->name);
    jw_put_str(w, "uid", service->uid);
    jw_end(w);
    jw_end(w);
}

static str free_name(struct slices *s)
{
    struct arena *a = s->plan->arena;
    for (;; s->number++) {
        struct strbuf b = STRBUF_INIT(512);
        str seed = arena_printf(a, "%.*s/%s/%u", STR_ARG(s->service->uid), s->family, s->number);
        uint64_t hash = hash_fnv1a64(seed);
        strbuf_printf(&b, "%.*s-", STR_ARG(s->service->name));
        for (int i = 0; i < 5; i++, hash /= 27)
            strbuf_add_char(&b, hash_safe_char(hash));
        str name = arena_str(a, strbuf_str(&b));
        strbuf_done(&b);
        if (!world_get(s->world, &kind_endpoint_slice, s->service->ns, name)) {
            s->number++;
            return name;
        }
    }
}

static void plan_new(struct slices *s, const struct slice *slice)
{
    struct own_labels own = labels_of(s->service);
    str name = free_name(s);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "addressType", s->family);
    jw_put_cstr(&w, "apiVersion", "discovery.k8s.io/v1");
    put_content(s, &w, slice);
    jw_put_cstr(&w, "kind", "EndpointSlice");
    jw_put_object(&w, "metadata");
    labels_put_patch(&w, (jval){0}, s->service->labels, &own);
    jw_put_str(&w, "name", name);
    jw_put_str(&w, "namespace", s->service->ns);
    put_owner(&w, s->service);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_create(s->plan, 0, &kind_endpoint_slice, s->service->ns, name, jw_doc(&w)),
             s->plan, "%zu endpoints", slice->endpoints.len);
}

static void plan_change(struct slices *s, const struct slice *slice)
{
    struct own_labels own = labels_of(s->service);
    jval have = obj_root(slice->there);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    labels_put_patch(&w, slice->there->labels, s->service->labels, &own);
    jw_end(&w);
    put_content(s, &w, slice);
    jw_end(&w);
    struct doc *patch = jw_doc(&w);
    jval want = doc_root(patch);
    if (labels_are(slice->there->labels, s->service->labels, &own) &&
        same_ports(jgetc(have, "ports"), jgetc(want, "ports")) &&
        jequal(jgetc(have, "endpoints"), jgetc(want, "endpoints"))) {
        doc_unref(patch);
        return;
    }
    plan_why(plan_merge_patch(s->plan, 0, slice->there, STR_NONE, patch, slice->there->rv), s->plan,
             "%zu endpoints", slice->endpoints.len);
}

/* Empty ones go, but for one where all are. */
static void plan_family(struct slices *s)
{
    bool any = s->backends.list.len > 0;
    for (size_t i = 0; i < s->list.len; i++) {
        const struct slice *slice = &s->list.p[i];
        bool empty = slice->endpoints.len == 0;
        if (empty && (any || i > 0))
            plan_why(plan_delete(s->plan, 1, slice->there), s->plan, "it has no endpoints");
        else if (slice->there)
            plan_change(s, slice);
        else
            plan_new(s, slice);
    }
}

/* Slices of a family that the Service has no longer. */
static void plan_other_families(const struct world *w, const struct obj *service, struct plan *p)
{
    struct cache_iter it = world_owned(w, &kind_endpoint_slice, service->uid);
    for (const struct obj *slice; (slice = cache_next(&it));) {
        str type = jstr(jgetc(obj_root(slice), "addressType"));
        bool known = false;
        const char *family;
        for (size_t i = 0; (family = service_family(service, i)); i++)
            known |= str_is(type, family);
        if (!known && !slice->deleting && str_is(obj_label(slice, STR(MANAGED_BY)), MANAGER))
            plan_why(plan_delete(p, 1, slice), p, "the Service has no such addresses");
    }
}

void plan_endpoint_slices(const struct world *w, const struct obj *service, struct plan *p)
{
    const char *family;
    for (size_t i = 0; (family = service_family(service, i)); i++) {
        struct slices s = {.world = w, .plan = p, .service = service, .family = family};
        backends_of(&s.backends, w, service, family, p->arena);
        place(&s);
        plan_family(&s);
        for (size_t k = 0; k < s.list.len; k++)
            vec_done(&s.list.p[k].endpoints);
        vec_done(&s.list);
        backends_done(&s.backends);
    }
    plan_other_families(w, service, p);
}
