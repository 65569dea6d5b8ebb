/*
 * Roles made of others: keeps the stored rules of a ClusterRole with an aggregationRule equal to
 * those of the ClusterRoles its selectors match, in order of their names. Decisions do not wait for
 * this (rbac.h); it is for whoever reads the role. A role made of roles made of others settles one
 * level at a time.
 */
#include "base/vec.h"
#include "controllers/controllers.h"
#include "kube/selector.h"

enum { SELECTORS_MAX = 64 };

static jval selectors_of(const struct obj *role)
{
    return jpath(obj_root(role), "aggregationRule.clusterRoleSelectors");
}

static bool is_aggregate(const struct obj *role)
{
    return j_has(jgetc(obj_root(role), "aggregationRule"));
}

static size_t read_selectors(struct arena *a, jval list, struct selector *ret[SELECTORS_MAX])
{
    size_t n = 0;
    for (struct jiter it = jiter(list); n < SELECTORS_MAX && jnext(&it);) {
        struct selector *s = label_selector_from(a, it.value, NULL);
        if (s)
            ret[n++] = s;
    }
    return n;
}

typedef VEC(jval) rule_vec;

static void add_rules(rule_vec *v, jval rules)
{
    for (struct jiter it = jiter(rules); jnext(&it);) {
        bool known = false;
        for (size_t i = 0; i < v->len && !known; i++)
            known = jequal(v->p[i], it.value);
        if (!known)
            *vec_push(v) = it.value;
    }
}

static void collect_rules(const struct world *w, const struct obj *role, struct arena *a,
                          rule_vec *v)
{
    struct selector *selectors[SELECTORS_MAX];
    size_t n = read_selectors(a, selectors_of(role), selectors);
    struct cache_iter it = cache_all(world_cache(w, &kind_cluster_role), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));) {
        bool joins = false;
        for (size_t i = 0; i < n && !joins; i++)
            joins = label_selector_match(selectors[i], o->labels);
        if (joins && !str_eq(o->name, role->name))
            add_rules(v, jgetc(obj_root(o), "rules"));
    }
}

static void roles_plan(const struct world *w, const struct key *key, void *ctx,
                       struct plan *ret_plan)
{
    (void)ctx;
    const struct obj *role = world_get(w, &kind_cluster_role, STR_NONE, key->name);
    if (!role || role->deleting || !is_aggregate(role))
        return;
    rule_vec v = {0};
    struct jw out;
    collect_rules(w, role, ret_plan->arena, &v);
    jw_init(&out);
    jw_object(&out);
    jw_put_array(&out, "rules");
    for (size_t i = 0; i < v.len; i++)
        jw_val(&out, v.p[i]);
    jw_end(&out);
    jw_end(&out);
    struct doc *patch = jw_doc(&out);
    jval have = jgetc(obj_root(role), "rules");
    if (v.len == jlen(have) && (!v.len || jequal(have, jgetc(doc_root(patch), "rules"))))
        doc_unref(patch);
    else
        plan_why(plan_merge_patch(ret_plan, 0, role, STR_NONE, patch, role->rv), ret_plan,
                 "the roles it is made of have %zu rules", v.len);
    vec_done(&v);
}

/* Whatever changed may be part of any of them; there are few. */
static void map_part(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    if (old && new &&jequal(old->labels, new->labels) &&
        jequal(jgetc(obj_root(old), "rules"), jgetc(obj_root(new), "rules")) &&
        jequal(selectors_of(old), selectors_of(new)))
        return;
    struct cache_iter it = cache_all(world_cache(w, &kind_cluster_role), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));)
        if (is_aggregate(o))
            controller_enqueue(c, &kind_cluster_role, STR_NONE, o->name);
}

void roles_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_cluster_role, map_part}};
    struct controller_def def = {
        .name = "role-aggregator",
        .plan = roles_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_add(r, &def, api);
}
