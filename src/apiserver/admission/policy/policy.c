/*
 * The policies and bindings there are: compiled when they are seen, paired by name, and the status
 * of policies written, which says that the server has seen the newest version.
 *
 * Events only note what is to be done; the status is written by requests of the server, one at a
 * time for each policy.
 */
#include "apiserver/admission/policy.h"
#include "apiserver/request.h"
#include "base/list.h"
#include "base/log.h"

/* Answers that were refused are tried again this often until the policy changes. */
#define TRIES_MAX 8

struct policy {
    struct policies *all;
    struct family *family;
    struct list link; /* in order of names */
    struct obj *obj;
    struct arena arena; /* of the code */
    struct policy_code code;
    unsigned tries;
    bool noted, busy, gone;
    struct api_request r;
    struct arena sending;
};

enum { VALIDATING, MUTATING, N_FAMILIES };

/* The policies of a kind and their bindings, whatever versions they were written in. */
struct family {
    struct list policies;
    VEC(struct obj *) bindings;    /* in order of names */
    VEC(struct policy_pair) pairs; /* made anew after a change */
    bool stale;
};

struct policies {
    struct apiserver *server;
    struct family families[N_FAMILIES];
    bool closing;
    struct loop_task task;
};

static const struct {
    const struct kind *kind;
    uint8_t family;
    bool is_binding;
} kinds[] = {
    {&kind_validating_policy, VALIDATING, false},
    {&kind_validating_policy_binding, VALIDATING, true},
    {&kind_mutating_policy, MUTATING, false},
    {&kind_mutating_policy_binding, MUTATING, true},
    {&kind_mutating_policy_v1beta1, MUTATING, false},
    {&kind_mutating_policy_binding_v1beta1, MUTATING, true},
    {&kind_mutating_policy_v1alpha1, MUTATING, false},
    {&kind_mutating_policy_binding_v1alpha1, MUTATING, true},
};

/* ---- pairs ---- */

static void make_pairs(struct family *f)
{
    vec_clear(&f->pairs);
    f->stale = false;
    list_foreach (l, &f->policies) {
        struct policy *p = container_of(l, struct policy, link);
        for (size_t i = 0; !p->gone && i < f->bindings.len; i++)
            if (str_eq(jstr(jgetc(obj_spec(f->bindings.p[i]), "policyName")), p->obj->name))
                *vec_push(&f->pairs) = (struct policy_pair){p->obj, f->bindings.p[i], &p->code};
    }
}

bool policies_concern(const struct policies *p, const struct req *q)
{
    const struct family *f = &p->families[VALIDATING];
    return UNLIKELY(f->pairs.len || f->stale) && !q->server->booting && q->user != &server_user;
}

const struct status *policies_judge(struct policies *p, struct req *q)
{
    struct family *f = &p->families[VALIDATING];
    if (f->stale)
        make_pairs(f);
    return f->pairs.len ? policy_judge(q, f->pairs.p, f->pairs.len) : NULL;
}

size_t policies_mutating(const struct policies *p)
{
    return p->families[MUTATING].bindings.len;
}

const struct status *policies_mutate(struct policies *p, struct hook_about *about,
                                     struct policy_seen *seen, bool again, bool *ret_changed)
{
    struct family *f = &p->families[MUTATING];
    *ret_changed = false;
    if (f->stale)
        make_pairs(f);
    return f->pairs.len ? policy_mutate(about, f->pairs.p, f->pairs.len, seen, again, ret_changed)
                        : NULL;
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

/* Policies that mutate have no status. */
static void note(struct policy *p)
{
    p->noted = p->family == &p->all->families[VALIDATING];
    if (p->noted && !p->all->closing)
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
    policy_put_type_checking(obj_spec(p->obj), &w);
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
    list_foreach (l, &all->families[VALIDATING].policies) {
        struct policy *p = container_of(l, struct policy, link);
        if (!p->noted || p->busy || p->gone)
            continue;
        p->noted = false;
        if (!is_up_to_date(p) && !p->obj->deleting)
            write_status(p);
    }
}

/* ---- events ---- */

static struct policy *find(struct family *f, str name)
{
    list_foreach (l, &f->policies) {
        struct policy *p = container_of(l, struct policy, link);
        if (!p->gone && str_eq(p->obj->name, name))
            return p;
    }
    return NULL;
}

/* Before the first whose name is greater. */
static void insert(struct family *f, struct policy *p)
{
    struct list *before = &f->policies;
    list_foreach (l, &f->policies) {
        if (str_cmp(container_of(l, struct policy, link)->obj->name, p->obj->name) > 0) {
            before = l;
            break;
        }
    }
    list_insert_before(before, &p->link);
}

static void take_policy(struct policies *all, struct family *f, struct obj *o)
{
    struct policy *p = find(f, o->name);
    bool same = p && jequal(obj_spec(p->obj), obj_spec(o));
    if (!p) {
        p = xnew(struct policy);
        *p = (struct policy){.all = all, .family = f, .obj = obj_ref(o)};
        insert(f, p);
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

static void drop_policy(struct family *f, str name)
{
    struct policy *p = find(f, name);
    if (p && p->busy)
        p->gone = true; /* freed with the answer */
    else if (p)
        policy_free(p);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(struct obj *const *)a)->name, (*(struct obj *const *)b)->name);
}

static void drop_binding(struct family *f, str name)
{
    for (size_t i = 0; i < f->bindings.len; i++) {
        struct obj *o = f->bindings.p[i];
        if (!str_eq(o->name, name))
            continue;
        vec_remove(&f->bindings, i);
        obj_unref(o);
        return;
    }
}

static void take_binding(struct family *f, struct obj *o)
{
    drop_binding(f, o->name);
    *vec_push(&f->bindings) = obj_ref(o);
    vec_sort(&f->bindings, by_name);
}

void policies_event(struct policies *all, const struct store_event *e)
{
    bool deleted = e->type == STORE_DELETED;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct family *f = &all->families[kinds[i].family];
        if (LIKELY(e->obj->kind != kinds[i].kind))
            continue;
        if (kinds[i].is_binding && deleted)
            drop_binding(f, e->obj->name);
        else if (kinds[i].is_binding)
            take_binding(f, e->obj);
        else if (deleted)
            drop_policy(f, e->obj->name);
        else
            take_policy(all, f, e->obj);
        f->stale = true;
    }
}

/* ---- life cycle ---- */

struct policies *policies_new(struct apiserver *a)
{
    struct policies *all = xnew(struct policies);
    all->server = a;
    loop_task_init(&all->task, on_task);
    for (int i = 0; i < N_FAMILIES; i++)
        list_init(&all->families[i].policies);
    /* The first two of each family: other versions are in the same storage. */
    for (size_t i = 0; i < 4; i++) {
        struct family *f = &all->families[kinds[i].family];
        struct store_iter it = store_range(a->store, kinds[i].kind, STR_NONE, STR_NONE, STR_NONE);
        for (struct obj *o; (o = store_next(&it));) {
            if (kinds[i].is_binding)
                take_binding(f, o);
            else
                take_policy(all, f, o);
        }
        f->stale = f->bindings.len > 0;
    }
    return all;
}

static void family_done(struct family *f)
{
    while (!list_is_empty(&f->policies))
        policy_free(container_of(f->policies.next, struct policy, link));
    for (size_t i = 0; i < f->bindings.len; i++)
        obj_unref(f->bindings.p[i]);
    vec_done(&f->bindings);
    vec_done(&f->pairs);
}

void policies_free(struct policies *all)
{
    if (!all)
        return;
    all->closing = true;
    loop_task_cancel(&all->task);
    for (int i = 0; i < N_FAMILIES; i++)
        family_done(&all->families[i]);
    free(all);
}
