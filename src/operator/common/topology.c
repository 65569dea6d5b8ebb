/* See topology.h. */
#include "operator/common/topology.h"

#include "grove/validate_set.h"

/* Calls fn for each constraint of the set in the order that counts: the set's own, those of groups,
 * those of cliques. Ends when fn says true. */
typedef bool constraint_fn(void *ctx, jval constraint);

static bool each_of(jval list, constraint_fn *fn, void *ctx)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        jval c = jgetc(it.value, "topologyConstraint");
        if (j_has(c) && fn(ctx, c))
            return true;
    }
    return false;
}

static void each_constraint(const struct obj *pcs, constraint_fn *fn, void *ctx)
{
    jval template = jgetc(obj_spec(pcs), "template");
    jval own = jgetc(template, "topologyConstraint");
    if ((j_has(own) && fn(ctx, own)) || each_of(jgetc(template, "podCliqueScalingGroups"), fn, ctx))
        return;
    (void)each_of(jgetc(template, "cliques"), fn, ctx);
}

static bool take_name(void *ctx, jval constraint)
{
    str *name = ctx;
    *name = jstr(jgetc(constraint, "topologyName"));
    return !str_is_empty(*name);
}

struct topology topology_of(const struct world *w, const struct obj *pcs)
{
    struct topology t = {.levels = JVAL_ABSENT};
    each_constraint(pcs, take_name, &t.name);
    if (str_is_empty(t.name))
        return t;
    const struct obj *binding = world_get(w, &kind_ctb, STR_NONE, t.name);
    t.found = binding != NULL;
    if (binding)
        t.levels = jgetc(obj_spec(binding), "levels");
    return t;
}

/* Empty when the binding has no such domain. */
static str key_of(const struct topology *t, jval domain)
{
    for (struct jiter it = jiter(t->levels); j_has(domain) && jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "domain")), jstr(domain)))
            return jstr(jgetc(it.value, "key"));
    }
    return STR_NONE;
}

bool topology_applies(const struct topology *t, jval constraint)
{
    return !str_is_empty(key_of(t, topology_required(constraint))) ||
           !str_is_empty(key_of(t, topology_preferred(constraint)));
}

void topology_write(struct jw *w, const struct topology *t, jval constraint)
{
    str required = key_of(t, topology_required(constraint));
    str preferred = key_of(t, topology_preferred(constraint));
    if (str_is_empty(required) && str_is_empty(preferred))
        return;
    jw_put_object(w, "topologyConstraint");
    jw_put_object(w, "packConstraint");
    if (!str_is_empty(preferred))
        jw_put_str(w, "preferred", preferred);
    if (!str_is_empty(required))
        jw_put_str(w, "required", required);
    jw_end(w);
    jw_end(w);
}

str topology_narrowest(const struct topology *t)
{
    size_t n = jlen(t->levels);
    return n > 0 ? jstr(jgetc(jat(t->levels, n - 1), "key")) : STR("kubernetes.io/hostname");
}

/* ---- condition ---- */

/* Of the missing domains so many are named. */
enum { NAMED_MAX = 8 };

struct survey {
    const struct topology *topology;
    bool any;
    str missing[NAMED_MAX]; /* domains the binding does not have */
    size_t n_missing;
    bool more;
};

static void survey_domain(struct survey *s, jval domain)
{
    if (!j_has(domain))
        return;
    s->any = true;
    if (!s->topology->found || !str_is_empty(key_of(s->topology, domain)))
        return;
    for (size_t i = 0; i < s->n_missing; i++)
        if (str_eq(s->missing[i], jstr(domain)))
            return;
    if (s->n_missing < NAMED_MAX)
        s->missing[s->n_missing++] = jstr(domain);
    else
        s->more = true;
}

static str name_missing(const struct survey *s, struct arena *a)
{
    str text = s->missing[0];
    for (size_t i = 1; i < s->n_missing; i++)
        text = arena_printf(a, "%.*s, %.*s", STR_ARG(text), STR_ARG(s->missing[i]));
    return s->more ? arena_printf(a, "%.*s, and more", STR_ARG(text)) : text;
}

static bool survey_constraint(void *ctx, jval constraint)
{
    survey_domain(ctx, topology_required(constraint));
    survey_domain(ctx, topology_preferred(constraint));
    return false;
}

struct condition topology_condition(const struct world *w, const struct obj *pcs, struct arena *a)
{
    struct topology t = topology_of(w, pcs);
    struct survey s = {.topology = &t};
    struct condition c = {"TopologyLevelsUnavailable", "False", "AllClusterTopologyLevelsAvailable",
                          STR("every topology domain the set names is known")};
    each_constraint(pcs, survey_constraint, &s);
    if (!s.any)
        return c;
    if (str_is_empty(t.name)) {
        c.status = "Unknown";
        c.reason = "TopologyNameMissing";
        c.message = STR("the set has topology constraints and names no ClusterTopologyBinding");
    } else if (!t.found) {
        c.status = "Unknown";
        c.reason = "ClusterTopologyNotFound";
        c.message = arena_printf(a, "ClusterTopologyBinding %.*s does not exist", STR_ARG(t.name));
    } else if (s.n_missing > 0) {
        c.status = "True";
        c.reason = "ClusterTopologyLevelsUnavailable";
        c.message = arena_printf(a, "ClusterTopologyBinding %.*s has no domain %.*s",
                                 STR_ARG(t.name), STR_ARG(name_missing(&s, a)));
    }
    return c;
}
