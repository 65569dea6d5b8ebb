/* Volumes and devices; see claims.h. */
#include "sched/model/claims.h"

#include "json/write.h"

/* ---- reading ---- */

struct claim {
    const struct obj *obj;    /* NULL: there is none, or it is not known */
    const struct obj *volume; /* that it is bound to; NULL: none */
    str refused;
};

typedef void claim_fn(void *ctx, const struct claim *c);

struct reader {
    struct tables *tables;
    const struct obj *pod;
    struct arena *arena;
    claim_fn *fn;
    void *ctx;
};

static const struct cache *cache_of(const struct tables *t, const struct kind *k)
{
    return runtime_cache(t->sched->runtime, k);
}

/* Whoever judges a pod by it wants to hear of its changes. */
static const struct obj *look_up(struct tables *t, const struct kind *k, str ns, str name)
{
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, str_of(k->plural), STR("/"), ns, STR("/"), name);
    if (!map_get(&t->claims, key))
        (void)map_put(&t->claims, arena_str(&t->arena, key), t);
    arena_done(&a);
    return cache_get(cache_of(t, k), ns, name);
}

static bool is_bound(const struct obj *pvc)
{
    return !str_is_empty(jstr(jgetc(obj_spec(pvc), "volumeName"))) &&
           (str_is(jstr(jgetc(obj_status(pvc), "phase")), "Bound") ||
            j_has(jget(pvc->annotations, STR("pv.kubernetes.io/bind-completed"))));
}

/* The name of the claim behind a volume; empty: it is another kind of volume. */
static str volume_claim(const struct obj *pod, jval volume, struct arena *a)
{
    if (j_has(jgetc(volume, "ephemeral")))
        return arena_cat(a, pod->name, STR("-"), jstr(jgetc(volume, "name")));
    return jstr(jpath(volume, "persistentVolumeClaim.claimName"));
}

static str volume_refusal(const struct reader *r, const struct obj *pvc, const struct obj *pv,
                          str name, bool ephemeral)
{
    const char *why = NULL;
    bool lenient = r->tables->sched->unbound_ok;
    if (cache_is_absent(cache_of(r->tables, &kind_persistent_volume_claim)))
        why = lenient ? NULL : "cannot be read by this scheduler";
    else if (!pvc)
        why = ephemeral && lenient ? NULL : ephemeral ? "is not made yet" : "does not exist";
    else if (ephemeral && !str_eq(pvc->owner_uid, r->pod->uid))
        why = "was not made for the pod";
    else if (pvc->deleting)
        why = "is being deleted";
    else if (!is_bound(pvc))
        why = lenient ? NULL
                      : "is not bound to a volume, and this scheduler chooses none (see "
                        "WaitForFirstConsumer)";
    else if (!pv)
        why = "is bound to a volume that does not exist";
    return why ? arena_printf(r->arena, "persistent volume claim %.*s %s", STR_ARG(name), why)
               : STR_NONE;
}

static void read_volume(const struct reader *r, jval volume)
{
    struct claim c = {.obj = NULL};
    str name = volume_claim(r->pod, volume, r->arena);
    if (str_is_empty(name))
        return;
    c.obj = look_up(r->tables, &kind_persistent_volume_claim, r->pod->ns, name);
    if (c.obj && is_bound(c.obj))
        c.volume = look_up(r->tables, &kind_persistent_volume, STR_NONE,
                           jstr(jgetc(obj_spec(c.obj), "volumeName")));
    c.refused = volume_refusal(r, c.obj, c.volume, name, j_has(jgetc(volume, "ephemeral")));
    r->fn(r->ctx, &c);
}

static bool is_reserved(const struct obj *claim, const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_status(claim), "reservedFor")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "uid")), pod->uid))
            return true;
    }
    return false;
}

static str device_refusal(const struct reader *r, const struct obj *claim, str name)
{
    const char *why = NULL;
    bool lenient = r->tables->sched->unbound_ok;
    if (cache_is_absent(cache_of(r->tables, &kind_resource_claim)))
        why = lenient ? NULL : "cannot be read by this scheduler";
    else if (!claim)
        why = "does not exist";
    else if (claim->deleting)
        why = "is being deleted";
    else if (lenient)
        return STR_NONE;
    else if (!j_has(jgetc(obj_status(claim), "allocation")))
        why = "is not allocated, and this scheduler allocates no devices";
    else if (!is_reserved(claim, r->pod))
        why = "is not reserved for the pod, and this scheduler reserves no devices";
    return why ? arena_printf(r->arena, "resource claim %.*s %s", STR_ARG(name), why) : STR_NONE;
}

/* A claim by name, or one that was made for the pod from a template, whose name is in its status.
 */
static str device_claim(const struct obj *pod, jval entry)
{
    str name = jstr(jgetc(entry, "resourceClaimName"));
    if (!str_is_empty(name))
        return name;
    for (struct jiter it = jiter(jgetc(obj_status(pod), "resourceClaimStatuses")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), jstr(jgetc(entry, "name"))))
            return jstr(jgetc(it.value, "resourceClaimName"));
    }
    return STR_NONE;
}

static void read_device(const struct reader *r, jval entry)
{
    struct claim c = {.obj = NULL};
    str name = device_claim(r->pod, entry);
    if (!str_is_empty(name)) {
        c.obj = look_up(r->tables, &kind_resource_claim, r->pod->ns, name);
        c.refused = device_refusal(r, c.obj, name);
    } else if (!r->tables->sched->unbound_ok) {
        c.refused = arena_printf(r->arena, "its resource claim %.*s is not made yet",
                                 STR_ARG(jstr(jgetc(entry, "name"))));
    }
    r->fn(r->ctx, &c);
}

static void each_claim(struct tables *t, const struct obj *pod, struct arena *a, claim_fn *fn,
                       void *ctx)
{
    struct reader r = {t, pod, a, fn, ctx};
    jval spec = obj_spec(pod);
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it);)
        read_volume(&r, it.value);
    for (struct jiter it = jiter(jgetc(spec, "resourceClaims")); jnext(&it);)
        read_device(&r, it.value);
}

/* ---- judging ---- */

static void on_refusal(void *ctx, const struct claim *c)
{
    str *why = ctx;
    if (str_is_empty(*why))
        *why = c->refused;
}

str claims_refusal(struct tables *t, const struct obj *pod, struct arena *a)
{
    str why = STR_NONE;
    each_claim(t, pod, a, on_refusal, &why);
    return why;
}

static const char *const zone_labels[] = {
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"};

/* "a__b" are two zones. */
static bool zone_is_one_of(str zones, str zone)
{
    while (!str_is_empty(zones)) {
        ptrdiff_t end = str_find(zones, STR("__"));
        str one = end < 0 ? zones : str_sub(zones, 0, (size_t)end);
        if (str_eq(one, zone))
            return true;
        zones = end < 0 ? STR_NONE : str_sub(zones, (size_t)end + 2, zones.len);
    }
    return false;
}

/* A node without any such label is taken to be everywhere. */
static bool zones_admit(const struct obj *volume, const struct snap_node *n)
{
    bool known = false, good = true;
    for (size_t i = 0; i < ARRAY_LEN(zone_labels); i++) {
        jval wanted = jget(volume->labels, str_of(zone_labels[i]));
        jval label = jget(n->obj->labels, str_of(zone_labels[i]));
        if (!j_has(wanted))
            continue;
        known = known || j_has(label);
        good = good && j_has(label) && zone_is_one_of(jstr(wanted), jstr(label));
    }
    return good || !known;
}

struct admission {
    const struct snap_node *node;
    bool admits;
};

static void on_admit(void *ctx, const struct claim *c)
{
    struct admission *x = ctx;
    if (c->volume) {
        jval affinity = jpath(obj_spec(c->volume), "nodeAffinity.required");
        x->admits = x->admits && zones_admit(c->volume, x->node) &&
                    (!j_has(affinity) || node_matches(x->node, affinity));
    } else if (c->obj) {
        jval selector = jpath(obj_status(c->obj), "allocation.nodeSelector");
        x->admits = x->admits && (!j_has(selector) || node_matches(x->node, selector));
    }
}

bool claims_admit(struct tables *t, const struct obj *pod, const struct snap_node *n)
{
    struct arena a = ARENA_INIT;
    struct admission x = {n, true};
    each_claim(t, pod, &a, on_admit, &x);
    arena_done(&a);
    return x.admits;
}

static void on_key(void *ctx, const struct claim *c)
{
    struct strbuf *out = ctx;
    jval rule = c->volume ? jgetc(obj_spec(c->volume), "nodeAffinity")
                : c->obj  ? jpath(obj_status(c->obj), "allocation.nodeSelector")
                          : JVAL_ABSENT;
    strbuf_add_cstr(out, str_is_empty(c->refused) ? "\n@" : "\n!");
    if (j_has(rule))
        json_pretty(rule, 0, out);
    for (size_t i = 0; c->volume && i < ARRAY_LEN(zone_labels); i++) {
        jval zone = jget(c->volume->labels, str_of(zone_labels[i]));
        if (j_has(zone))
            strbuf_printf(out, "|%zu%.*s", i, STR_ARG(jstr(zone)));
    }
}

void claims_key(struct tables *t, const struct obj *pod, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    each_claim(t, pod, &a, on_key, out);
    arena_done(&a);
}

str claims_single(struct tables *t, const struct obj *pod, jval volume, struct arena *a)
{
    str name = volume_claim(pod, volume, a);
    const struct obj *pvc =
        str_is_empty(name) ? NULL
                           : cache_get(cache_of(t, &kind_persistent_volume_claim), pod->ns, name);
    if (!pvc && !str_is_empty(name))
        (void)look_up(t, &kind_persistent_volume_claim, pod->ns, name);
    for (struct jiter it = jiter(pvc ? jgetc(obj_spec(pvc), "accessModes") : JVAL_ABSENT);
         jnext(&it);) {
        if (str_is(jstr(it.value), "ReadWriteOncePod"))
            return arena_cat(a, pod->ns, STR("/"), name);
    }
    return STR_NONE;
}

/* ---- changes ---- */

bool claims_differ(const struct obj *old, const struct obj *new)
{
    return jlen(jgetc(obj_spec(new), "resourceClaims")) > 0 &&
           !jequal(jgetc(obj_status(old), "resourceClaimStatuses"),
                   jgetc(obj_status(new), "resourceClaimStatuses"));
}

static void on_claim(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    const struct obj *o = new ? new : old;
    if (!t || t->claims.len == 0)
        return;
    struct arena a = ARENA_INIT;
    if (map_get(&t->claims,
                arena_cat(&a, str_of(o->kind->plural), STR("/"), o->ns, STR("/"), o->name)))
        t->stale = true;
    arena_done(&a);
}

void claims_add_handlers(struct sched *s)
{
    static const struct kind *const kinds[] = {&kind_persistent_volume_claim,
                                               &kind_persistent_volume, &kind_resource_claim};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        cache_add_handler(runtime_cache_optional(s->runtime, kinds[i]), on_claim, s);
}
