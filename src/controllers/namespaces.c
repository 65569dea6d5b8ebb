/*
 * Namespaces: what every live one has (the service account "default", the ConfigMap with the root
 * CA), and the end of those that are being deleted: first everything in them, then themselves.
 *
 * Whether a namespace is empty is judged by caches, which may be behind; the server refuses our
 * finalize while it knows better, and the key is looked at again.
 */
#include "controllers/controllers.h"
#include "json/edit.h"
#include "json/write.h"

/* Objects deleted in one plan. */
#define BATCH 500

#define DEFAULT_ACCOUNT "default"
#define ROOT_CA "kube-root-ca.crt"
#define ROOT_CA_NOTE                                                                          \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal " \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is " \
    "guaranteed across distributions of Kubernetes clusters."

struct namespaces {
    str root_ca;
    bool follows[KINDS_MAX]; /* kinds of what is in them, by kind id */
};

/* ---- live ones ---- */

static struct doc *account_body(str ns)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "ServiceAccount");
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", DEFAULT_ACCOUNT);
    jw_put_str(&w, "namespace", ns);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *root_ca_body(str ns, str root_ca)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "ConfigMap");
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", ROOT_CA);
    jw_put_str(&w, "namespace", ns);
    jw_put_object(&w, "annotations");
    jw_put_cstr(&w, "kubernetes.io/description", ROOT_CA_NOTE);
    jw_end(&w);
    jw_end(&w);
    jw_put_object(&w, "data");
    jw_put_str(&w, "ca.crt", root_ca);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void plan_live(const struct world *w, const struct obj *ns, str root_ca, struct plan *p)
{
    if (!world_get(w, &kind_service_account, ns->name, STR(DEFAULT_ACCOUNT)))
        (void)plan_create(p, 0, &kind_service_account, ns->name, STR(DEFAULT_ACCOUNT),
                          account_body(ns->name));
    if (!root_ca.len)
        return;
    const struct obj *ca = world_get(w, &kind_config_map, ns->name, STR(ROOT_CA));
    if (!ca)
        (void)plan_create(p, 0, &kind_config_map, ns->name, STR(ROOT_CA),
                          root_ca_body(ns->name, root_ca));
    else if (!str_eq(jstr(jget(jgetc(obj_root(ca), "data"), STR("ca.crt"))), root_ca))
        (void)plan_merge_patch(p, 0, ca, STR_NONE, root_ca_body(ns->name, root_ca), ca->rv);
}

/* ---- terminating ones ---- */

static bool is_held(const struct obj *ns)
{
    for (struct jiter it = jiter(jgetc(obj_spec(ns), "finalizers")); jnext(&it);)
        if (str_is(jstr(it.value), "kubernetes"))
            return true;
    return false;
}

/* Deletes what is left; returns how much there is, gone or going. */
static size_t plan_contents(const struct namespaces *all, const struct world *w,
                            const struct obj *ns, struct plan *p)
{
    size_t left = 0;
    for (size_t i = 0; i < kinds_count(); i++) {
        if (!all->follows[i] || kind_is(kinds_at(i), KIND_RETIRED))
            continue;
        struct cache_iter it = cache_all(world_cache(w, kinds_at(i)), ns->name);
        for (const struct obj *o; (o = cache_next(&it));) {
            left++;
            if (o->deleting || p->writes.len >= BATCH)
                continue;
            plan_why(plan_delete(p, 0, o), p, "namespace %.*s is being deleted", STR_ARG(ns->name));
        }
    }
    return left;
}

static void plan_finalize(const struct obj *ns, struct plan *p)
{
    struct edit e;
    struct jw list;
    jw_init(&list);
    jw_array(&list);
    for (struct jiter it = jiter(jgetc(obj_spec(ns), "finalizers")); jnext(&it);)
        if (!str_is(jstr(it.value), "kubernetes"))
            jw_val(&list, it.value);
    jw_end(&list);
    edit_init(&e, p->arena);
    edit_set_raw(&e, STR("/spec/finalizers"), strbuf_str(&list.out));
    struct doc *body = edit_apply(&e, ns->doc, NULL);
    BUG_ON(!body); /* spec is an object: it has finalizers */
    edit_done(&e);
    jw_done(&list);
    plan_why(plan_update(p, 0, ns, STR("finalize"), body), p, "nothing is left in it");
}

static void namespaces_plan(const struct world *w, const struct key *key, void *ctx,
                            struct plan *ret_plan)
{
    const struct namespaces *all = ctx;
    const struct obj *ns = world_get(w, &kind_namespace, STR_NONE, key->name);
    if (!ns)
        return;
    if (!ns->deleting)
        plan_live(w, ns, all->root_ca, ret_plan);
    else if (is_held(ns) && plan_contents(all, w, ns, ret_plan) == 0)
        plan_finalize(ns, ret_plan);
}

/* ---- who is looked at when ---- */

static void map_contents(struct controller *c, const struct world *w, const struct obj *old,
                         const struct obj *new)
{
    const struct obj *o = new ? new : old;
    const struct obj *ns = world_get(w, &kind_namespace, STR_NONE, o->ns);
    bool kept = (o->kind == &kind_service_account && str_is(o->name, DEFAULT_ACCOUNT)) ||
                (o->kind == &kind_config_map && str_is(o->name, ROOT_CA));
    if (ns && (ns->deleting || kept))
        controller_enqueue(c, &kind_namespace, STR_NONE, o->ns);
}

/* Another version of a kind shows the same objects. */
static bool is_followed(const struct namespaces *all, const struct kind *k)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *other = kinds_at(i);
        if (all->follows[i] && !kind_is(other, KIND_RETIRED) &&
            strcmp(other->plural, k->plural) == 0 && strcmp(other->group, k->group) == 0)
            return true;
    }
    return all->follows[kind_id(k)];
}

static void namespaces_follow(struct controller *c)
{
    struct namespaces *all = controller_ctx(c);
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        /* Events of the other group are the same objects. */
        if (!kind_is(k, KIND_NAMESPACED) || kind_is(k, KIND_RETIRED) || k == &kind_events_event ||
            !kind_is_watchable(k))
            continue;
        BUG_ON(i >= KINDS_MAX);
        if (is_followed(all, k))
            continue;
        all->follows[i] = true;
        controller_watch(c, k, map_contents);
    }
}

void namespaces_set_ca(struct controller *c, str ca_pem)
{
    struct namespaces *all = controller_ctx(c);
    all->root_ca = ca_pem;
    struct cache_iter it =
        cache_all(runtime_cache(controller_runtime(c), &kind_namespace), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));)
        controller_enqueue(c, &kind_namespace, STR_NONE, o->name);
}

struct controller *namespaces_add(struct runtime *r, struct api *api, str ca_pem)
{
    static const struct controller_watch self = {&kind_namespace, map_self};
    struct namespaces *all = xnew(struct namespaces);
    all->root_ca = ca_pem;
    struct controller_def def = {
        .name = "namespace-controller",
        .plan = namespaces_plan,
        .ctx = all,
        .ctx_free = free,
        .watches = &self,
        .n_watches = 1,
        .on_kinds = namespaces_follow,
    };
    return runtime_add(r, &def, api);
}
