/*
 * The Endpoints of a Service, for clients that know nothing newer; see service_backends.h. One
 * object, at most 1000 addresses: those that are ready come first, and an annotation says that
 * some were left out. It is written when others have nothing more urgent to write: with many pods
 * it is long, and those who route by it read slices.
 */
#include "controllers/service_backends.h"

enum { ADDRESSES_MAX = 1000 };
#define MANAGED_BY "endpoints.kubernetes.io/managed-by"
#define MANAGER "endpoint-controller"
#define HEADLESS "service.kubernetes.io/headless"
#define OVER_CAPACITY "endpoints.kubernetes.io/over-capacity"

/* Terminating ones are only there where all are published. */
static bool is_listed(const struct backend *b)
{
    return b->ready || !b->terminating;
}

static void put_address(struct jw *w, const struct obj *service, const struct backend *b)
{
    str hostname = backends_hostname(service, b->pod);
    jw_object(w);
    if (hostname.len)
        jw_put_str(w, "hostname", hostname);
    jw_put_str(w, "ip", b->ip);
    jw_put(w, "nodeName", jgetc(obj_spec(b->pod), "nodeName"));
    backends_put_target(w, b->pod);
    jw_end(w);
}

static size_t count(const struct backends *b, size_t group, bool ready)
{
    size_t n = 0;
    for (size_t i = 0; i < b->list.len; i++) {
        const struct backend *x = &b->list.p[i];
        n += x->group == group && x->ready == ready && is_listed(x);
    }
    return n;
}

static void put_addresses(const struct backends *b, struct jw *w, size_t group, bool ready,
                          size_t *room)
{
    if (*room == 0 || count(b, group, ready) == 0)
        return;
    jw_put_array(w, ready ? "addresses" : "notReadyAddresses");
    for (size_t i = 0; i<b->list.len && * room> 0; i++) {
        const struct backend *x = &b->list.p[i];
        if (x->group != group || x->ready != ready || !is_listed(x))
            continue;
        put_address(w, b->service, x);
        (*room)--;
    }
    jw_end(w);
}

/* Room for those that are ready is taken in all groups before others get any. */
static void put_subsets(const struct backends *b, struct jw *w)
{
    size_t ready = 0, room = ADDRESSES_MAX;
    for (size_t g = 0; g < b->groups.len; g++)
        ready += count(b, g, true);
    size_t others = ready < room ? room - ready : 0;
    jw_put_array(w, "subsets");
    for (size_t g = 0; g < b->groups.len; g++) {
        if ((count(b, g, true) == 0 || room == 0) && (count(b, g, false) == 0 || others == 0))
            continue;
        jw_object(w);
        put_addresses(b, w, g, true, &room);
        put_addresses(b, w, g, false, &others);
        if (jlen(jgetc(obj_spec(b->service), "ports")) > 0) {
            jw_key(w, STR("ports"));
            backends_put_ports(b, w, g, false);
        }
        jw_end(w);
    }
    jw_end(w);
}

static bool is_over(const struct backends *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->list.len; i++)
        n += is_listed(&b->list.p[i]);
    return n > ADDRESSES_MAX;
}

static void put_capacity(struct jw *w, bool over)
{
    jw_put_object(w, "annotations");
    jw_key(w, STR(OVER_CAPACITY));
    if (over)
        jw_str(w, STR("truncated"));
    else
        jw_null(w);
    jw_end(w);
}

static struct own_labels labels_of(const struct obj *service)
{
    struct own_labels own = {.names = {MANAGED_BY, HEADLESS},
                             .values = {STR(MANAGER), STR_NONE},
                             .n = service_is_headless(service) ? 2 : 1};
    return own;
}

static struct doc *make(const struct backends *b, const struct obj *there)
{
    const struct obj *service = b->service;
    struct own_labels own = labels_of(service);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Endpoints");
    jw_put_object(&w, "metadata");
    if (is_over(b) || (there && j_has(jget(there->annotations, STR(OVER_CAPACITY)))))
        put_capacity(&w, is_over(b));
    labels_put_patch(&w, there ? there->labels : (jval){0}, service->labels, &own);
    jw_put_str(&w, "name", service->name);
    jw_put_str(&w, "namespace", service->ns);
    jw_end(&w);
    put_subsets(b, &w);
    jw_end(&w);
    return jw_doc(&w);
}

/* What the patch would change is so already. */
static bool is_there(const struct obj *there, const struct backends *b, jval patch)
{
    struct own_labels own = labels_of(b->service);
    jval subsets = jgetc(obj_root(there), "subsets"), want = jgetc(patch, "subsets");
    return labels_are(there->labels, b->service->labels, &own) &&
           is_over(b) == str_is(obj_annotation(there, STR(OVER_CAPACITY)), "truncated") &&
           jlen(subsets) == jlen(want) && (jlen(want) == 0 || jequal(subsets, want));
}

void plan_endpoints(const struct world *w, const struct obj *service, struct plan *p)
{
    const struct obj *there = world_get(w, &kind_endpoints, service->ns, service->name);
    struct backends b;
    struct plan_write *write = NULL;
    backends_of(&b, w, service, service_family(service, 0), p->arena);
    struct doc *doc = make(&b, there);
    if (!there)
        write = plan_create(p, 0, &kind_endpoints, service->ns, service->name, doc);
    else if (is_there(there, &b, doc_root(doc)))
        doc_unref(doc);
    else
        write = plan_merge_patch(p, 0, there, STR_NONE, doc, there->rv);
    if (write) {
        plan_why(write, p, "%zu pods", b.list.len);
        write->patient = true;
    }
    backends_done(&b);
}
