/* See mnnvl.h. */
#include "operator/common/mnnvl.h"

#define CLAIM "mnnvl-claim"
#define GPU "nvidia.com/gpu"
#define ASK_AGAIN (30 * USEC_PER_SEC)
enum { MAX_GROUPS = 64 };

/* ---- the kind ---- */

/* Only what every object has: the rest is the driver's business and passes as it is. */
static const struct field domain_fields[] = {
    {.name = "apiVersion", .type = &type_string},    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta}, {.name = "spec", .type = &type_raw},
    {.name = "status", .type = &type_raw},
};
static const struct type type_domain = {.name = "ComputeDomain",
                                        .tag = TYPE_OBJECT,
                                        .fields = domain_fields,
                                        .n_fields = ARRAY_LEN(domain_fields)};
static const struct kind domain = {.group = "resource.nvidia.com",
                                   .version = "v1beta1",
                                   .kind = "ComputeDomain",
                                   .plural = "computedomains",
                                   .singular = "computedomain",
                                   .verbs = VERBS_ALL,
                                   .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
                                   .type = &type_domain};

static const struct kind *define(void)
{
    struct arena a = ARENA_INIT;
    const struct kind *k = kinds_define(&domain, &a);
    BUG_ON(!k);
    return k;
}

/* A kind once defined is in its place for ever. A definition that a store brought with it came
 * first: then it is served already. */
const struct kind *mnnvl_kind(void)
{
    static const struct kind *known;
    if (known)
        return known;
    known = kind_by_plural(str_of(domain.group), str_of(domain.version), str_of(domain.plural));
    if (!known) {
        known = define();
        kinds_retire(known);
    }
    return known;
}

void mnnvl_assume_served(void)
{
    (void)define();
}

void mnnvl_add(struct runtime *r)
{
    (void)runtime_cache_optional(r, mnnvl_kind());
}

static bool is_served(const struct world *w)
{
    return !kind_is(mnnvl_kind(), KIND_RETIRED) && !cache_is_absent(world_cache(w, mnnvl_kind()));
}

/* ---- who takes part ---- */

static bool container_has_gpu(jval container)
{
    static const char *const lists[] = {"limits", "requests"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        jval v = jget(jget(jgetc(container, "resources"), str_of(lists[i])), STR(GPU));
        if (jtype(v) == J_STRING ? !str_is(jstr(v), "0") && !str_is_empty(jstr(v)) : jint(v, 0) > 0)
            return true;
    }
    return false;
}

static const char *const container_lists[] = {"containers", "initContainers"};

static bool has_gpu(jval pod_spec)
{
    for (size_t i = 0; i < ARRAY_LEN(container_lists); i++) {
        for (struct jiter it = jiter(jget(pod_spec, str_of(container_lists[i]))); jnext(&it);) {
            if (container_has_gpu(it.value))
                return true;
        }
    }
    return false;
}

/* Empty: not enrolled. */
static str group_of(const struct obj *pcs, const struct pcs_view *v, const struct clique_view *c)
{
    struct group_view g;
    jval own = jget(c->annotations, STR(ANNOTATION_MNNVL));
    if (!j_has(own) && pcs_group_of(v, c->name, &g))
        own = jget(g.annotations, STR(ANNOTATION_MNNVL));
    str group = j_has(own) ? jstr(own) : obj_annotation(pcs, STR(ANNOTATION_MNNVL));
    return str_is(group, "none") || !has_gpu(c->pod_spec) ? STR_NONE : group;
}

static bool is_known(const str *groups, size_t n, str group)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(groups[i], group))
            return true;
    }
    return false;
}

/* The groups every replica has. */
static size_t groups_of(const struct obj *pcs, const struct pcs_view *v, str groups[MAX_GROUPS])
{
    size_t n = 0;
    for (struct jiter it = jiter(v->cliques); jnext(&it) && n < MAX_GROUPS;) {
        struct clique_view c;
        clique_view(it.value, &c);
        str group = group_of(pcs, v, &c);
        if (!str_is_empty(group) && !is_known(groups, n, group))
            groups[n++] = group;
    }
    return n;
}

static str domain_name(struct arena *a, str pcs, int64_t i, str group)
{
    return name_pcsg(a, pcs, i, group);
}

/* ---- objects ---- */

static struct doc *make_domain(struct arena *a, const struct obj *pcs, int64_t i, str group,
                               const struct obj *existing)
{
    struct labels l;
    str name = domain_name(a, pcs->name, i, group);
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pcs-computedomain");
    labels_set(&l, LABEL_NAME, name_label(a, name));
    labels_set_int(&l, LABEL_PCS_INDEX, i);
    labels_set(&l, ANNOTATION_MNNVL, group);
    struct jw w;
    make_begin(&w, &(struct make_meta){mnnvl_kind(), pcs->ns, name, &l, NULL, pcs,
                                       existing ? NULL : FINALIZER_COMPUTE_DOMAIN});
    if (!existing) { /* the driver's once it is there */
        jw_put_object(&w, "spec");
        jw_put_object(&w, "channel");
        jw_put_object(&w, "resourceClaimTemplate");
        jw_put_str(&w, "name", name);
        jw_end(&w);
        jw_end(&w);
        jw_put_int(&w, "numNodes", 0);
        jw_end(&w);
    }
    return make_end(&w);
}

/* Deleted, and let go once that shows. */
static void release(const struct obj *o, unsigned stage, struct plan *p, const char *why)
{
    if (o->deleting)
        (void)make_finalizer(p, stage, o, STR(FINALIZER_COMPUTE_DOMAIN), false);
    else
        plan_why(plan_delete(p, stage, o), p, "%s", why);
}

static bool is_wanted(struct arena *a, const struct obj *pcs, const struct obj *o, int64_t replicas,
                      const str *groups, size_t n)
{
    int64_t i = label_index(o, STR(LABEL_PCS_INDEX));
    for (size_t k = 0; k < n && i >= 0 && i < replicas; k++) {
        if (str_eq(domain_name(a, pcs->name, i, groups[k]), o->name))
            return true;
    }
    return false;
}

static void plan_missing(const struct world *w, const struct obj *pcs, int64_t replicas,
                         const str *groups, size_t n, unsigned stage, struct plan *p)
{
    size_t from = p->writes.len;
    for (int64_t i = 0; i < replicas && n > 0 && !make_is_full(p, from); i++) {
        for (size_t k = 0; k < n; k++) {
            str name = domain_name(p->arena, pcs->name, i, groups[k]);
            const struct obj *there = world_get(w, mnnvl_kind(), pcs->ns, name);
            (void)make_ensure(p, stage, w, pcs, there, mnnvl_kind(), name,
                              make_domain(p->arena, pcs, i, groups[k], there));
        }
    }
    make_event(p, from, pcs, PLAN_CREATE, mnnvl_kind(), "ComputeDomainCreateSuccessful");
}

void mnnvl_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct pcs_view v;
    struct obj *o;
    str groups[MAX_GROUPS];
    pcs_view(pcs, &v);
    size_t n = groups_of(pcs, &v, groups);
    if (!is_served(w)) {
        struct condition c = mnnvl_condition(w, pcs, p);
        if (c.status)
            plan_event(p, pcs, true, STR("ComputeDomainCreateFailed"), "%.*s", STR_ARG(c.message));
        return;
    }
    plan_missing(w, pcs, v.replicas, groups, n, stage, p);
    size_t from = p->writes.len;
    for (struct cache_iter it = world_owned(w, mnnvl_kind(), pcs->uid); (o = cache_next(&it));) {
        if (o->deleting || !is_wanted(p->arena, pcs, o, v.replicas, groups, n))
            release(o, stage, p, "no replica of the set has this group");
    }
    make_event(p, from, pcs, PLAN_DELETE, mnnvl_kind(), "ComputeDomainDeleteSuccessful");
}

bool mnnvl_release(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct obj *o;
    bool any = false;
    for (struct cache_iter it = world_owned(w, mnnvl_kind(), pcs->uid);
         is_served(w) && (o = cache_next(&it));) {
        any = true;
        release(o, stage, p, "the set is deleted");
    }
    return !any;
}

struct condition mnnvl_condition(const struct world *w, const struct obj *pcs, struct plan *p)
{
    struct condition c = {.type = "ComputeDomainsUnavailable"};
    struct pcs_view v;
    str groups[MAX_GROUPS];
    pcs_view(pcs, &v);
    if (is_served(w) || groups_of(pcs, &v, groups) == 0)
        return c;
    plan_look_again(p, ASK_AGAIN);
    c.status = "True";
    c.reason = "ComputeDomainKindMissing";
    c.message = STR("the set names a group in grove.io/mnnvl-group, and the cluster has no kind "
                    "computedomains.resource.nvidia.com: install NVIDIA's DRA driver, or say none");
    return c;
}

/* ---- pods ---- */

str mnnvl_domain(struct arena *a, const struct obj *pcs, int64_t pcs_index, str clique)
{
    struct pcs_view v;
    struct clique_view c;
    pcs_view(pcs, &v);
    if (!pcs_find_clique(&v, clique, &c))
        return STR_NONE;
    str group = group_of(pcs, &v, &c);
    return str_is_empty(group) ? STR_NONE : domain_name(a, pcs->name, pcs_index, group);
}

static void write_claim(struct jw *w, str domain_name)
{
    jw_object(w);
    jw_put_cstr(w, "name", CLAIM);
    if (!str_is_empty(domain_name))
        jw_put_str(w, "resourceClaimTemplateName", domain_name);
    jw_end(w);
}

/* The list with our claim at its end. */
static void write_claims(struct jw *w, const char *key, jval list, str domain_name)
{
    jw_put_array(w, key);
    for (struct jiter it = jiter(list); jnext(&it);)
        jw_val(w, it.value);
    write_claim(w, domain_name);
    jw_end(w);
}

static void write_container(struct jw *w, jval container)
{
    jw_object(w);
    for (struct jiter it = jiter(container); jnext(&it);) {
        jw_key(w, it.key);
        if (!str_is(it.key, "resources")) {
            jw_val(w, it.value);
            continue;
        }
        jw_object(w);
        for (struct jiter r = jiter(it.value); jnext(&r);) {
            if (str_is(r.key, "claims"))
                continue;
            jw_key(w, r.key);
            jw_val(w, r.value);
        }
        write_claims(w, "claims", jgetc(it.value, "claims"), STR_NONE);
        jw_end(w);
    }
    jw_end(w);
}

static void write_containers(struct jw *w, jval list)
{
    jw_array(w);
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (container_has_gpu(it.value))
            write_container(w, it.value);
        else
            jw_val(w, it.value);
    }
    jw_end(w);
}

static bool has_claim(jval pod_spec)
{
    for (struct jiter it = jiter(jgetc(pod_spec, "resourceClaims")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), CLAIM))
            return true;
    }
    return false;
}

void mnnvl_write_pod_spec(struct jw *w, jval pod_spec, str domain_name)
{
    if (has_claim(pod_spec)) {
        jw_put(w, "podSpec", pod_spec);
        return;
    }
    jw_put_object(w, "podSpec");
    for (struct jiter it = jiter(pod_spec); jnext(&it);) {
        if (str_is(it.key, "resourceClaims"))
            continue;
        jw_key(w, it.key);
        if (str_is(it.key, container_lists[0]) || str_is(it.key, container_lists[1]))
            write_containers(w, it.value);
        else
            jw_val(w, it.value);
    }
    write_claims(w, "resourceClaims", jgetc(pod_spec, "resourceClaims"), domain_name);
    jw_end(w);
}
