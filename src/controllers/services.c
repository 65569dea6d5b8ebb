/*
 * Services: where their EndpointSlices and Endpoints come from, as kube-controller-manager keeps
 * them. Key: a Service. What is written is in endpoint_slices.c and endpoints_object.c; here is who
 * is looked at when.
 *
 * Lanes, in which pods and the Services that may select them meet. Those of sets (all of them have
 * one Service per replica) meet by set and replica; others by one pair that the Service wants, the
 * one with the longest value, and where a namespace has none of those its pods need not ask. A pod
 * without an address concerns nobody.
 *
 * A Service is computed when something changes and then at most twice a second, and not while
 * others have more urgent things to do.
 *
 * Services without a selector are their user's: what is in their Endpoints stays. That of the API
 * server itself, default/kubernetes, says where the server is found, when that is an address that
 * pods can reach.
 */
#include "base/vec.h"
#include "controllers/controllers.h"
#include "controllers/service_backends.h"
#include "grove/pod.h"
#include "grove/types.h"

#define INTERVAL (500 * USEC_PER_MSEC)
#define PATIENCE USEC_PER_SEC

/* ---- lanes ---- */

#define LANE_OTHERS "*"

static str set_lane(struct arena *a, str ns, str set, str replica)
{
    return set.len && replica.len ? arena_cat(a, ns, STR("/set/"), set, STR("/"), replica)
                                  : STR_NONE;
}

static str set_lane_of(struct arena *a, str ns, jval labels)
{
    return set_lane(a, ns, jstr(jget(labels, STR(LABEL_PART_OF))),
                    jstr(jget(labels, STR(LABEL_PCS_INDEX))));
}

static str pair_lane(struct arena *a, str ns, str label, str value)
{
    return arena_cat(a, ns, STR("/"), label, STR("="), value);
}

static jval selector_of(const struct obj *service)
{
    return jgetc(obj_spec(service), "selector");
}

static void longest_pair(jval selector, str *ret_label, str *ret_value)
{
    bool any = false;
    *ret_label = *ret_value = STR_NONE;
    for (struct jiter it = jiter(selector); jnext(&it);) {
        str value = jstr(it.value);
        if (any && value.len <= ret_value->len)
            continue;
        any = true;
        *ret_label = it.key;
        *ret_value = value;
    }
}

static void index_service(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str label, value;
    *n = 0;
    if (max < 2 || !service_selects(o))
        return;
    str lane = set_lane_of(a, o->ns, selector_of(o));
    if (!lane.len) {
        longest_pair(selector_of(o), &label, &value);
        lane = pair_lane(a, o->ns, label, value);
        keys[(*n)++] = arena_cat(a, o->ns, STR("/" LANE_OTHERS));
    }
    keys[(*n)++] = lane;
}

static bool has_address(const struct obj *pod)
{
    return jstr(jgetc(obj_status(pod), "podIP")).len > 0;
}

static void index_pod(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max == 0 || !has_address(o))
        return;
    str lane = set_lane_of(a, o->ns, o->labels);
    if (lane.len)
        keys[(*n)++] = lane;
}

struct cache_iter service_pods(const struct world *w, const struct obj *service, struct arena *a)
{
    struct cache *pods = world_cache(w, &kind_pod);
    str lane = set_lane_of(a, service->ns, selector_of(service)), label, value;
    if (lane.len)
        return cache_by(pods, index_pod, lane);
    longest_pair(selector_of(service), &label, &value);
    return cache_by_label(pods, service->ns, label, value);
}

/* ---- the API server's own ---- */

#define KUBERNETES "kubernetes"

static bool is_kubernetes(str ns, str name)
{
    return str_is(ns, "default") && str_is(name, KUBERNETES);
}

static void put_port(struct jw *w, int64_t port)
{
    jw_put_array(w, "ports");
    jw_object(w);
    jw_put_cstr(w, "name", "https");
    jw_put_int(w, "port", port);
    jw_put_cstr(w, "protocol", "TCP");
    jw_end(w);
    jw_end(w);
}

static void begin_own(struct jw *w, const char *version, const char *kind, const char *label,
                      const char *value)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "apiVersion", version);
    jw_put_cstr(w, "kind", kind);
    jw_put_object(w, "metadata");
    jw_put_object(w, "labels");
    jw_put_cstr(w, label, value);
    jw_end(w);
    jw_put_cstr(w, "name", KUBERNETES);
    jw_put_cstr(w, "namespace", "default");
    jw_end(w);
}

static struct doc *own_endpoints(const struct services_options *o)
{
    struct jw w;
    begin_own(&w, "v1", "Endpoints", "endpointslice.kubernetes.io/skip-mirror", "true");
    jw_put_array(&w, "subsets");
    if (o->ip.len) {
        jw_object(&w);
        jw_put_array(&w, "addresses");
        jw_object(&w);
        jw_put_str(&w, "ip", o->ip);
        jw_end(&w);
        jw_end(&w);
        put_port(&w, o->port);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *own_slice(const struct services_options *o)
{
    bool six = str_find_char(o->ip, ':') >= 0;
    struct jw w;
    begin_own(&w, "discovery.k8s.io/v1", "EndpointSlice", "kubernetes.io/service-name", KUBERNETES);
    jw_put_cstr(&w, "addressType", six ? "IPv6" : "IPv4");
    jw_put_array(&w, "endpoints");
    if (o->ip.len) {
        jw_object(&w);
        jw_put_array(&w, "addresses");
        jw_str(&w, o->ip);
        jw_end(&w);
        jw_put_object(&w, "conditions");
        jw_put_bool(&w, "ready", true);
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    put_port(&w, o->port);
    jw_end(&w);
    return jw_doc(&w);
}

static bool same_list(jval have, jval want)
{
    return jlen(have) == jlen(want) && (jlen(want) == 0 || jequal(have, want));
}

static void plan_own(const struct world *w, const struct kind *k, const char *list, struct doc *doc,
                     struct plan *p)
{
    const struct obj *there = world_get(w, k, STR("default"), STR(KUBERNETES));
    jval want = jget(doc_root(doc), str_of(list)), ports = jgetc(doc_root(doc), "ports");
    if (!there)
        plan_why(plan_create(p, 0, k, STR("default"), STR(KUBERNETES), doc), p,
                 "where the API server is");
    else if (same_list(jget(obj_root(there), str_of(list)), want) &&
             (j_is_absent(ports) || jequal(jgetc(obj_root(there), "ports"), ports)))
        doc_unref(doc);
    else
        plan_why(plan_merge_patch(p, 0, there, STR_NONE, doc, there->rv), p,
                 "where the API server is");
}

/* The address type of a slice cannot be changed. */
static void plan_kubernetes(const struct world *w, const struct services_options *o, struct plan *p)
{
    struct doc *slice = own_slice(o);
    const struct obj *there = world_get(w, &kind_endpoint_slice, STR("default"), STR(KUBERNETES));
    plan_own(w, &kind_endpoints, "subsets", own_endpoints(o), p);
    if (there &&
        !jequal(jgetc(obj_root(there), "addressType"), jgetc(doc_root(slice), "addressType"))) {
        plan_why(plan_delete(p, 0, there), p, "its addresses are of another kind now");
        plan_look_again(p, 0);
        doc_unref(slice);
        return;
    }
    plan_own(w, &kind_endpoint_slice, "endpoints", slice, p);
}

/* ---- planner ---- */

/* Slices are owned and go with the Service; Endpoints are not. */
static void plan_gone(const struct world *w, const struct key *key, struct plan *p)
{
    const struct obj *there = world_get(w, &kind_endpoints, key->ns, key->name);
    if (!there ||
        !str_is(obj_label(there, STR("endpoints.kubernetes.io/managed-by")), "endpoint-controller"))
        return;
    struct plan_write *d = plan_delete(p, 0, there);
    plan_verify_absent(d, &kind_service, key->ns, key->name, STR_NONE);
    plan_why(d, p, "its Service is gone");
}

static void services_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *service = world_get(w, &kind_service, key->ns, key->name);
    const struct obj *ns = world_get(w, &kind_namespace, STR_NONE, key->ns);
    if (!service) {
        plan_gone(w, key, p);
        return;
    }
    if (service->deleting || !ns || ns->deleting)
        return;
    if (is_kubernetes(key->ns, key->name)) {
        plan_kubernetes(w, ctx, p);
        return;
    }
    if (!service_selects(service))
        return;
    plan_endpoint_slices(w, service, p);
    plan_endpoints(w, service, p);
}

/* ---- who is looked at when ---- */

static void enqueue_lane(struct controller *c, const struct world *w, const struct obj *pod,
                         str key)
{
    struct cache_iter it = cache_by(world_cache(w, &kind_service), index_service, key);
    for (const struct obj *service; (service = cache_next(&it));) {
        bool all = true;
        for (struct jiter s = jiter(selector_of(service)); all && jnext(&s);)
            all = str_eq(obj_label(pod, s.key), jstr(s.value));
        if (all)
            controller_enqueue(c, &kind_service, service->ns, service->name);
    }
}

static void enqueue_services(struct controller *c, const struct world *w, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    const struct cache *services = world_cache(w, &kind_service);
    str lane = set_lane_of(&a, pod->ns, pod->labels);
    if (lane.len)
        enqueue_lane(c, w, pod, lane);
    bool others =
        cache_by(services, index_service, arena_cat(&a, pod->ns, STR("/" LANE_OTHERS))).node !=
        NULL;
    for (struct jiter it = jiter(pod->labels); others && jnext(&it);)
        enqueue_lane(c, w, pod, pair_lane(&a, pod->ns, it.key, jstr(it.value)));
    arena_done(&a);
}

static bool says_the_same(const struct obj *a, const struct obj *b)
{
    return a->deleting == b->deleting && pod_is_ready(a) == pod_is_ready(b) &&
           pod_is_finished(a) == pod_is_finished(b) &&
           jequal(jgetc(obj_status(a), "podIPs"), jgetc(obj_status(b), "podIPs")) &&
           str_eq(jstr(jgetc(obj_status(a), "podIP")), jstr(jgetc(obj_status(b), "podIP"))) &&
           jequal(a->labels, b->labels);
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    bool had = old && has_address(old), has = new &&has_address(new);
    if ((!had && !has) || (had && has && says_the_same(old, new)))
        return;
    if (had)
        enqueue_services(c, w, old);
    if (has && !(had && jequal(old->labels, new->labels)))
        enqueue_services(c, w, new);
}

/* Endpoints have the name of their Service. */
static void map_endpoints(struct controller *c, const struct world *w, const struct obj *old,
                          const struct obj *new)
{
    const struct obj *o = new ? new : old;
    (void)w;
    controller_enqueue(c, &kind_service, o->ns, o->name);
}

static void map_slice(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    const struct obj *o = new ? new : old;
    if (is_kubernetes(o->ns, o->name))
        controller_enqueue(c, &kind_service, o->ns, o->name);
    else
        map_controller_owner(c, w, old, new);
}

struct controller *services_add(struct runtime *r, struct api *api,
                                const struct services_options *o)
{
    static const struct controller_watch watches[] = {
        {&kind_service, map_self},
        {&kind_pod, map_pod},
        {&kind_endpoints, map_endpoints},
        {&kind_endpoint_slice, map_slice},
    };
    struct controller_def def = {
        .name = "endpoint-controller",
        .plan = services_plan,
        .ctx = (void *)o,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .min_interval = INTERVAL,
        .patience = PATIENCE,
    };
    cache_add_index(runtime_cache(r, &kind_pod), index_pod);
    cache_add_index(runtime_cache(r, &kind_service), index_service);
    (void)runtime_cache(r, &kind_node);
    (void)runtime_cache(r, &kind_namespace);
    return runtime_add(r, &def, api);
}

void services_moved(struct controller *c)
{
    controller_enqueue(c, &kind_service, STR("default"), STR(KUBERNETES));
}
