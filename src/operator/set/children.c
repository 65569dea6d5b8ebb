/*
 * The small objects of a PodCliqueSet. Those there is one of are compared with what the set wants
 * on every plan, Services when they change, so damage done by hand is repaired; Services of removed
 * replicas go. The token is for init
 * containers that wait for other cliques; where nobody waits there is none, and nothing waits for
 * its data: a pod that mounts it starts when the token is there.
 */
#include "operator/set/children.h"

#include "operator/common/upkeep.h"

static struct doc *service_account(struct arena *a, const struct obj *pcs)
{
    struct labels l;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pod-service-account");
    labels_set(&l, LABEL_NAME, name_label(a, pcs->name));
    struct jw w;
    make_begin(&w,
               &(struct make_meta){&kind_service_account, pcs->ns, pcs->name, &l, NULL, pcs, NULL});
    jw_put_bool(&w, "automountServiceAccountToken", true);
    return make_end(&w);
}

/* Label values take no colon. */
static str role_label(struct arena *a, str pcs)
{
    return name_label(a, arena_printf(a, "grove.io-pcs-%.*s", STR_ARG(pcs)));
}

static struct doc *role(struct arena *a, const struct obj *pcs)
{
    struct labels l;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pod-role");
    labels_set(&l, LABEL_NAME, role_label(a, pcs->name));
    struct jw w;
    make_begin(
        &w, &(struct make_meta){&kind_role, pcs->ns, name_role(a, pcs->name), &l, NULL, pcs, NULL});
    jw_key(&w, STR("rules"));
    jw_raw(&w, STR("[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"pods/status\"],"
                   "\"verbs\":[\"get\",\"list\",\"watch\"]}]"));
    return make_end(&w);
}

static struct doc *role_binding(struct arena *a, const struct obj *pcs)
{
    struct labels l;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pod-role-binding");
    labels_set(&l, LABEL_NAME, role_label(a, pcs->name));
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_role_binding, pcs->ns, name_role(a, pcs->name), &l,
                                       NULL, pcs, NULL});
    jw_put_object(&w, "roleRef");
    jw_put_cstr(&w, "apiGroup", "rbac.authorization.k8s.io");
    jw_put_cstr(&w, "kind", "Role");
    jw_put_str(&w, "name", name_role(a, pcs->name));
    jw_end(&w);
    jw_put_array(&w, "subjects");
    jw_object(&w);
    jw_put_cstr(&w, "kind", "ServiceAccount");
    jw_put_str(&w, "name", pcs->name);
    jw_put_str(&w, "namespace", pcs->ns);
    jw_end(&w);
    jw_end(&w);
    return make_end(&w);
}

/* Some clique waits for another. */
static bool needs_token(const struct pcs_view *v)
{
    if (str_is(v->startup_type, "CliqueStartupTypeInOrder"))
        return jlen(v->cliques) > 1;
    if (!str_is(v->startup_type, "CliqueStartupTypeExplicit"))
        return false;
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        if (jlen(jpath(it.value, "spec.startsAfter")) > 0)
            return true;
    }
    return false;
}

static struct doc *token_secret(struct arena *a, const struct obj *pcs)
{
    str name = name_initc_secret(a, pcs->name);
    struct labels l, annotations;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pod-sa-token-secret");
    labels_set(&l, LABEL_NAME, name_label(a, name));
    labels_init(&annotations, a);
    labels_set(&annotations, "kubernetes.io/service-account.name", pcs->name);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_secret, pcs->ns, name, &l, &annotations, pcs, NULL});
    jw_put_cstr(&w, "type", "kubernetes.io/service-account-token");
    return make_end(&w);
}

static struct doc *headless_service(struct arena *a, const struct obj *pcs, int64_t i,
                                    bool publish_not_ready)
{
    str name = name_service(a, pcs->name, i);
    struct labels l, selector, annotations;
    labels_init(&annotations, a);
    labels_set_full_name(&annotations, name, name_base_gang(a, pcs->name, i));
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pcs-headless-service");
    labels_set(&l, LABEL_NAME, name);
    labels_set_int(&l, LABEL_PCS_INDEX, i);
    labels_init(&selector, a);
    labels_set(&selector, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&selector, LABEL_PART_OF, name_label(a, pcs->name));
    labels_set_int(&selector, LABEL_PCS_INDEX, i);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_service, pcs->ns, name, &l, &annotations, pcs, NULL});
    jw_put_object(&w, "spec");
    jw_put_cstr(&w, "clusterIP", "None");
    jw_put_bool(&w, "publishNotReadyAddresses", publish_not_ready);
    labels_write(&w, "selector", &selector);
    jw_end(&w);
    return make_end(&w);
}

static void plan_services(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                          unsigned stage, struct plan *p)
{
    struct arena *a = p->arena;
    size_t from = p->writes.len;
    for (int64_t i = 0; i < v->replicas && !make_is_full(p, from); i++) {
        str name = name_service(a, pcs->name, i);
        const struct obj *there = world_get(w, &kind_service, pcs->ns, name);
        if (!make_is_child(there, pcs))
            (void)make_ensure(p, stage, w, pcs, there, &kind_service, name,
                              headless_service(a, pcs, i, v->publish_not_ready));
    }
}

/* Its number is in its name; where that was shortened, in its label. */
void children_keep_service(const struct world *w, const struct obj *pcs, const struct obj *service,
                           unsigned stage, struct plan *p)
{
    struct pcs_view v;
    int64_t i = name_index(service->name, pcs->name, STR_NONE);
    if (i < 0)
        i = label_index(service, STR(LABEL_PCS_INDEX));
    pcs_view(pcs, &v);
    if (i >= v.replicas)
        plan_why(plan_delete(p, stage, service), p, "replica %lld is not among the %lld wanted",
                 (long long)i, (long long)v.replicas);
    else if (i >= 0 && str_eq(name_service(p->arena, pcs->name, i), service->name))
        (void)make_ensure(p, stage, w, pcs, service, &kind_service, service->name,
                          headless_service(p->arena, pcs, i, v.publish_not_ready));
}

void children_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct arena *a = p->arena;
    struct pcs_view v;
    pcs_view(pcs, &v);
    str role_name = name_role(a, pcs->name), secret = name_initc_secret(a, pcs->name);
    (void)make_ensure(p, stage, w, pcs, world_get(w, &kind_service_account, pcs->ns, pcs->name),
                      &kind_service_account, pcs->name, service_account(a, pcs));
    (void)make_ensure(p, stage, w, pcs, world_get(w, &kind_role, pcs->ns, role_name), &kind_role,
                      role_name, role(a, pcs));
    /* After its role: an API server refuses to bind what it cannot see. */
    (void)make_ensure(p, stage + 1, w, pcs, world_get(w, &kind_role_binding, pcs->ns, role_name),
                      &kind_role_binding, role_name, role_binding(a, pcs));
    if (needs_token(&v))
        (void)make_ensure(p, stage, w, pcs, world_get(w, &kind_secret, pcs->ns, secret),
                          &kind_secret, secret, token_secret(a, pcs));
    plan_services(w, pcs, &v, stage, p);
}
