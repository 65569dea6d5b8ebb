/*
 * The policies and bindings there are: compiled when they are seen, paired by name, and the status
 * of policies written, which says that the server has seen the newest version.
 *
 * Events only note what is to be done; the status is written by requests of the server, one at a
 * time for each policy.
 */
#include "apiserver/policy.h"
#include "apiserver/request.h"
#include "base/list.h"
#include "base/log.h"

/* Answers that were refused are tried again this often until the policy changes. */
#define TRIES_MAX 8

struct policy {
    struct policies *all;
    struct list link; /* in order of names */
    struct obj *obj;
    struct arena arena; /* of the code */
    struct policy_code code;
    unsigned tries;
    bool noted, busy, gone;
    struct api_request r;
    struct arena sending;
};

struct policies {
    struct apiserver *server;
    struct list policies;
    VEC(struct obj *) bindings;    /* in order of names */
    VEC(struct policy_pair) pairs; /* made anew after a change */
    bool stale;
    bool closing;
    struct loop_task task;
};

/* ---- pairs ---- */

static void make_pairs(struct policies *all)
{
    vec_clear(&all->pairs);
    all->stale = false;
    list_foreach (l, &all->policies) {
        struct policy *p = container_of(l, struct policy, link);
        for (size_t i = 0; !p->gone && i < all->bindings.len; i++)
            if (str_eq(jstr(jgetc(obj_spec(all->bindings.p[i]), "policyName")), p->obj->name))
                *vec_push(&all->pairs) = (struct policy_pair){p->obj, all->bindings.p[i], &p->code};
    }
}

bool policies_concern(const struct policies *p, const struct req *q)
{
    return UNLIKELY(p->pairs.len || p->stale) && !q->server->booting && q->user != &server_user;
}

const struct status *policies_judge(struct policies *p, struct req *q)
{
    if (p->stale)
        make_pairs(p);
    return p->pairs.len ? policy_judge(q, p->pairs.p, p->pairs.len) : NULL;
}

/* ---- status ---- */

static void policy_free(struct policy *p)
{
    list_remove(&p->link);
    arena_done(&p->arena);
    arena_done(&p->sending);
    obj_unref(p->obj);
    free(p);
}

static bool is_up_to_date(const struct policy *p)
{
    return jint(jgetc(obj_status(p->obj), "observedGeneration"), 0) == p->obj->generation;
}

static void note(struct policy *p)
{
    p->noted = true;
    if (!p->all->closing)
        loop_defer(p->all->server->loop, LOOP_PUBLISH, &p->all->task);
}

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct policy *p = container_of(r, struct policy, r);
    p->busy = false;
    arena_clear(&p->sending);
    if (p->all->closing || !reply->code)
        return;
    if (p->gone)
        policy_free(p);
    else if (reply->code >= 400 && ++p->tries > TRIES_MAX)
        log_warn("cannot write the status of a policy", LOG_S("policy", p->obj->name),
                 LOG_I("code", reply->code));
    else
        note(p);
}

static void write_status(struct policy *p)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put(&w, "resourceVersion", jgetc(p->obj->meta, "resourceVersion"));
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_int(&w, "observedGeneration", p->obj->generation);
    jw_put_object(&w, "typeChecking");
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    p->busy = true;
    p->r = (struct api_request){
        .verb = API_PATCH,
        .kind = &kind_validating_policy,
        .name = arena_str(&p->sending, p->obj->name),
        .subresource = STR("status"),
        .patch = API_PATCH_MERGE,
        .body = doc_hold(&p->sending, jw_doc(&w)),
        .field_manager = STR("kube-controller-manager"),
        .grace_seconds = -1,
        .propagation = API_PROPAGATION_DEFAULT,
        .done = on_done,
    };
    apiserver_send(p->all->server, &server_user, &p->r);
}

static void on_task(struct loop_task *t)
{
    struct policies *all = container_of(t, struct policies, task);
    list_foreach (l, &all->policies) {
        struct policy *p = container_of(l, struct policy, link);
        if (!p->noted || p->busy || p->gone)
            continue;
        p->noted = false;
        if (!is_up_to_date(p) && !p->obj->deleting)
            write_status(p);
    }
}

/* ---- events ---- */

static struct policy *find(struct policies *all, str name)
{
    list_foreach (l, &all->policies) {
        struct policy *p = container_of(l, struct policy, link);
        if (!p->gone && str_eq(p->obj->name, name))
            return p;
    }
    return NULL;
}

/* Before the first whose name is greater. */
static void insert(struct policies *all, struct policy *p)
{
    struct list *before = &all->policies;
    list_foreach (l, &all->policies) {
        if (str_cmp(container_of(l, struct policy, link)->obj->name, p->obj->name) > 0) {
            before = l;
            break;
        }
    }
    list_insert_before(before, &p->link);
}

static void take_policy(struct policies *all, struct obj *o)
{
    struct policy *p = find(all, o->name);
    bool same = p && jequal(obj_spec(p->obj), obj_spec(o));
    if (!p) {
        p = xnew(struct policy);
        *p = (struct policy){.all = all, .obj = obj_ref(o)};
        insert(all, p);
    } else {
        struct obj *old = p->obj;
        p->obj = obj_ref(o);
        obj_unref(old);
    }
    if (!same) {
        /* The document that expressions were compiled from stays with them. */
        arena_clear(&p->arena);
        (void)obj_hold(&p->arena, obj_ref(o));
        p->code = policy_compile(&p->arena, obj_spec(o), NULL, NULL);
    }
    p->tries = 0;
    note(p);
}

static void drop_policy(struct policies *all, str name)
{
    struct policy *p = find(all, name);
    if (p && p->busy)
        p->gone = true; /* freed with the answer */
    else if (p)
        policy_free(p);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(struct obj *const *)a)->name, (*(struct obj *const *)b)->name);
}

static void drop_binding(struct policies *all, str name)
{
    for (size_t i = 0; i < all->bindings.len; i++) {
        struct obj *o = all->bindings.p[i];
        if (!str_eq(o->name, name))
            continue;
        vec_remove(&all->bindings, i);
        obj_unref(o);
        return;
    }
}

static void take_binding(struct policies *all, struct obj *o)
{
    drop_binding(all, o->name);
    *vec_push(&all->bindings) = obj_ref(o);
    vec_sort(&all->bindings, by_name);
}

void policies_event(struct policies *all, const struct store_event *e)
{
    bool deleted = e->type == STORE_DELETED;
    if (e->obj->kind == &kind_validating_policy) {
        if (deleted)
            drop_policy(all, e->obj->name);
        else
            take_policy(all, e->obj);
    } else if (e->obj->kind == &kind_validating_policy_binding) {
        if (deleted)
            drop_binding(all, e->obj->name);
        else
            take_binding(all, e->obj);
    } else {
        return;
    }
    all->stale = true;
}

/* ---- life cycle ---- */

struct policies *policies_new(struct apiserver *a)
{
    struct policies *all = xnew(struct policies);
    all->server = a;
    list_init(&all->policies);
    loop_task_init(&all->task, on_task);
    struct store_iter it =
        store_range(a->store, &kind_validating_policy, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o; (o = store_next(&it));)
        take_policy(all, o);
    it = store_range(a->store, &kind_validating_policy_binding, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o; (o = store_next(&it));)
        take_binding(all, o);
    all->stale = all->bindings.len > 0;
    return all;
}

void policies_free(struct policies *all)
{
    if (!all)
        return;
    all->closing = true;
    loop_task_cancel(&all->task);
    while (!list_is_empty(&all->policies))
        policy_free(container_of(all->policies.next, struct policy, link));
    for (size_t i = 0; i < all->bindings.len; i++)
        obj_unref(all->bindings.p[i]);
    vec_done(&all->bindings);
    vec_done(&all->pairs);
    free(all);
}
