/*
 * See hpa.h. An autoscaler never goes below what is of any use: its minimum is the larger of the
 * user's minReplicas and minAvailable, while the user's own field stays as it was written. A
 * member of a scaling group is scaled by its group, so its autoScalingConfig makes no autoscaler.
 */
#include "operator/set/hpa.h"

/* Something of a replica that can scale by itself. */
struct target {
    const struct kind *kind;
    str name;
    jval config;
    int64_t min_available;
};

typedef VEC(struct target) target_vec;

/* Those of replica i, cliques first. */
static void targets_of(struct arena *a, const struct obj *pcs, const struct pcs_view *v, int64_t i,
                       target_vec *ret)
{
    vec_clear(ret);
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct clique_view c;
        struct group_view g;
        clique_view(it.value, &c);
        jval config = jgetc(c.spec, "autoScalingConfig");
        if (j_has(config) && !pcs_group_of(v, c.name, &g))
            *vec_push(ret) = (struct target){&kind_pclq, name_pclq(a, pcs->name, i, c.name), config,
                                             c.min_available};
    }
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        struct group_view g;
        group_view(it.value, &g);
        jval config = jgetc(it.value, "scaleConfig");
        if (j_has(config))
            *vec_push(ret) = (struct target){&kind_pcsg, name_pcsg(a, pcs->name, i, g.name), config,
                                             g.min_available};
    }
}

static struct doc *make_hpa(struct arena *a, const struct obj *pcs, int64_t i,
                            const struct target *t)
{
    char version[128];
    struct labels l;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pcs-hpa");
    labels_set(&l, LABEL_NAME, name_label(a, t->name));
    labels_set_int(&l, LABEL_PCS_INDEX, i);
    if (t->kind == &kind_pcsg)
        labels_set(&l, LABEL_PCSG, name_label(a, t->name));
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_hpa, pcs->ns, t->name, &l, NULL, pcs, NULL});
    jw_put_object(&w, "spec");
    jw_put(&w, "behavior", jgetc(t->config, "behavior"));
    jw_put_int(&w, "maxReplicas", jint(jgetc(t->config, "maxReplicas"), 1));
    jw_put(&w, "metrics", jgetc(t->config, "metrics"));
    jw_put_int(&w, "minReplicas",
               MAX(jint(jgetc(t->config, "minReplicas"), t->min_available), t->min_available));
    jw_put_object(&w, "scaleTargetRef");
    jw_put_str(&w, "apiVersion", kind_api_version(t->kind, version, sizeof(version)));
    jw_put_cstr(&w, "kind", t->kind->kind);
    jw_put_str(&w, "name", t->name);
    jw_end(&w);
    jw_end(&w);
    return make_end(&w);
}

void hpa_keep(const struct world *w, const struct obj *pcs, const struct obj *hpa, unsigned stage,
              struct plan *p)
{
    struct pcs_view v;
    target_vec targets = {0};
    const struct target *mine = NULL;
    int64_t i = label_index(hpa, STR(LABEL_PCS_INDEX));
    pcs_view(pcs, &v);
    if (i >= 0 && i < v.replicas)
        targets_of(p->arena, pcs, &v, i, &targets);
    for (size_t k = 0; k < targets.len; k++) {
        if (str_eq(targets.p[k].name, hpa->name))
            mine = &targets.p[k];
    }
    if (mine)
        (void)make_ensure(p, stage, w, pcs, hpa, &kind_hpa, hpa->name,
                          make_hpa(p->arena, pcs, i, mine));
    else
        plan_why(plan_delete(p, stage, hpa), p, "nothing of that name is scaled by the set");
    vec_done(&targets);
}

void hpa_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct pcs_view v;
    target_vec targets = {0};
    size_t from = p->writes.len;
    pcs_view(pcs, &v);
    for (int64_t i = 0; i < v.replicas && !make_is_full(p, from); i++) {
        targets_of(p->arena, pcs, &v, i, &targets);
        if (targets.len == 0)
            break; /* every replica has the same */
        for (size_t k = 0; k < targets.len; k++) {
            const struct obj *there = world_get(w, &kind_hpa, pcs->ns, targets.p[k].name);
            if (!make_is_child(there, pcs))
                (void)make_ensure(p, stage, w, pcs, there, &kind_hpa, targets.p[k].name,
                                  make_hpa(p->arena, pcs, i, &targets.p[k]));
        }
    }
    vec_done(&targets);
}
