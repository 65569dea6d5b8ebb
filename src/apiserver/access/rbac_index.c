/*
 * The index; see rbac.h.
 *
 *   users, groups ──► subject ──► roles held everywhere
 *                             └─► by namespace ──► roles held there
 *
 * A role exists here while the store has it or a binding names it: bindings hold it by pointer, so
 * that a decision does not look it up. Lists of roles are in order of their keys, so that what is
 * shown does not depend on what came first.
 */
#include "apiserver/access/rbac.h"

#include "base/map.h"
#include "base/vec.h"
#include "kube/selector.h"

enum { SELECTORS_MAX = 64 };

struct role {
    char *key;       /* "namespace/name"; a ClusterRole's namespace is empty */
    struct obj *obj; /* NULL: only named by bindings */
    size_t bindings;
    struct arena arena; /* of the rules */
    struct policy_rules rules;
    bool aggregates;
    /* made of others: theirs, as of this generation of the index */
    uint64_t generation;
    struct arena joined_arena;
    struct policy_rules joined;
    uint64_t mark;
};

typedef VEC(struct role *) role_vec;

struct held {
    char *ns;
    role_vec roles;
};

struct subject {
    char *name;
    role_vec everywhere;
    struct map by_ns; /* struct held */
};

struct rbac {
    struct store *store;
    struct map roles;    /* struct role by key */
    struct map users;    /* struct subject */
    struct map groups;   /* struct subject */
    uint64_t generation; /* changes with every ClusterRole */
    uint64_t mark;
};

/* ---- roles ---- */

static str role_key(struct strbuf *b, str ns, str name)
{
    strbuf_reset(b);
    strbuf_add_str(b, ns);
    strbuf_add_char(b, '/');
    strbuf_add_str(b, name);
    return strbuf_str(b);
}

static struct role *role_find(const struct rbac *r, str ns, str name)
{
    struct strbuf key = STRBUF_INIT(4096);
    struct role *role = map_get(&r->roles, role_key(&key, ns, name));
    strbuf_done(&key);
    return role;
}

static struct role *role_get(struct rbac *r, str ns, str name)
{
    struct role *role = role_find(r, ns, name);
    if (role)
        return role;
    struct strbuf key = STRBUF_INIT(4096);
    role = xnew(struct role);
    (void)role_key(&key, ns, name);
    role->key = strbuf_detach(&key, NULL);
    map_put(&r->roles, str_of(role->key), role);
    return role;
}

static void role_forget_rules(struct role *role)
{
    obj_unref(role->obj);
    role->obj = NULL;
    role->rules = role->joined = (struct policy_rules){0};
    arena_clear(&role->arena);
    arena_clear(&role->joined_arena);
}

static void role_free(struct role *role)
{
    role_forget_rules(role);
    arena_done(&role->arena);
    arena_done(&role->joined_arena);
    free(role->key);
    free(role);
}

static void role_drop(struct rbac *r, struct role *role)
{
    if (role->obj || role->bindings)
        return;
    map_del(&r->roles, str_of(role->key));
    role_free(role);
}

/* o NULL: it is gone. */
static void role_set(struct rbac *r, str ns, str name, struct obj *o)
{
    struct role *role = role_get(r, ns, name);
    role_forget_rules(role);
    if (!ns.len)
        r->generation++;
    if (!o) {
        role_drop(r, role);
        return;
    }
    role->obj = obj_ref(o);
    role->aggregates = j_has(jgetc(obj_root(o), "aggregationRule"));
    role->generation = 0;
    if (!role->aggregates)
        role->rules = policy_rules_read(&role->arena, jgetc(obj_root(o), "rules"));
}

/* ---- roles made of others ---- */

typedef VEC(struct policy_rule) rule_vec;

static bool words_equal(struct words a, struct words b)
{
    bool same = a.n == b.n;
    for (size_t i = 0; i < a.n && same; i++)
        same = str_eq(a.p[i], b.p[i]);
    return same;
}

static bool rule_is_in(const rule_vec *v, const struct policy_rule *rule)
{
    for (size_t i = 0; i < v->len; i++) {
        const struct policy_rule *o = &v->p[i];
        if (words_equal(o->verbs, rule->verbs) && words_equal(o->groups, rule->groups) &&
            words_equal(o->resources, rule->resources) && words_equal(o->names, rule->names) &&
            words_equal(o->urls, rule->urls))
            return true;
    }
    return false;
}

static void join_matching(struct rbac *r, const struct role *into, struct arena *a, rule_vec *out,
                          unsigned depth);

static void join_role(struct rbac *r, struct role *role, struct arena *a, rule_vec *out,
                      unsigned depth)
{
    if (role->mark == r->mark)
        return;
    role->mark = r->mark;
    if (role->aggregates && depth > 0)
        join_matching(r, role, a, out, depth - 1);
    for (size_t i = 0; i < role->rules.n; i++)
        if (!rule_is_in(out, &role->rules.p[i]))
            *vec_push(out) = role->rules.p[i];
}

/* Those that match, in order of their names; what is marked was there already. */
static void join_matching(struct rbac *r, const struct role *into, struct arena *a, rule_vec *out,
                          unsigned depth)
{
    jval list = jpath(obj_root(into->obj), "aggregationRule.clusterRoleSelectors");
    struct selector *selectors[SELECTORS_MAX];
    size_t n = 0;
    for (struct jiter it = jiter(list); n < SELECTORS_MAX && jnext(&it);) {
        struct selector *s = label_selector_from(a, it.value, NULL);
        if (s)
            selectors[n++] = s;
    }
    struct store_iter it = store_range(r->store, &kind_cluster_role, STR_NONE, STR_NONE, STR_NONE);
    for (const struct obj *o = store_next(&it); o && n; o = store_next(&it)) {
        for (size_t i = 0; i < n; i++) {
            struct role *role =
                label_selector_match(selectors[i], o->labels) ? role_find(r, o->ns, o->name) : NULL;
            if (role && role->obj)
                join_role(r, role, a, out, depth);
        }
    }
}

static void role_join(struct rbac *r, struct role *role)
{
    enum { DEPTH_MAX = 16 };
    rule_vec v = {0};
    arena_clear(&role->joined_arena);
    role->mark = ++r->mark;
    join_matching(r, role, &role->joined_arena, &v, DEPTH_MAX);
    struct policy_rule *p = arena_array(&role->joined_arena, struct policy_rule, v.len);
    if (v.len)
        memcpy(p, v.p, v.len * sizeof(*p));
    role->joined = (struct policy_rules){p, v.len};
    role->generation = r->generation;
    vec_done(&v);
}

static struct policy_rules rules_of(struct rbac *r, struct role *role)
{
    if (!role->obj || !role->aggregates)
        return role->rules;
    if (role->generation != r->generation)
        role_join(r, role);
    return role->joined;
}

struct policy_rules rbac_rules_in(struct rbac *r, str ns, str name)
{
    struct role *role = role_find(r, ns, name);
    return role ? rules_of(r, role) : (struct policy_rules){0};
}

/* ---- subjects ---- */

static struct subject *subject_get(struct map *m, str name)
{
    struct subject *s = map_get(m, name);
    if (s)
        return s;
    s = xnew(struct subject);
    s->name = str_dup(name);
    map_put(m, str_of(s->name), s);
    return s;
}

static void subject_free(struct subject *s)
{
    void *held;
    str ns;
    for (size_t it = 0; map_next(&s->by_ns, &it, &ns, &held);) {
        struct held *h = held;
        vec_done(&h->roles);
        free(h->ns);
        free(h);
    }
    map_done(&s->by_ns);
    vec_done(&s->everywhere);
    free(s->name);
    free(s);
}

static void subject_drop(struct map *m, struct subject *s)
{
    if (s->everywhere.len || s->by_ns.len)
        return;
    map_del(m, str_of(s->name));
    subject_free(s);
}

static void roles_add(role_vec *v, struct role *role)
{
    (void)vec_push(v);
    size_t i = v->len - 1;
    for (; i > 0 && strcmp(v->p[i - 1]->key, role->key) > 0; i--)
        v->p[i] = v->p[i - 1];
    v->p[i] = role;
}

static void roles_remove(role_vec *v, const struct role *role)
{
    for (size_t i = 0; i < v->len; i++) {
        if (v->p[i] == role) {
            vec_remove(v, i);
            return;
        }
    }
}

static void grant(struct map *m, str name, str ns, struct role *role)
{
    struct subject *s = subject_get(m, name);
    if (!ns.len) {
        roles_add(&s->everywhere, role);
        return;
    }
    struct held *h = map_get(&s->by_ns, ns);
    if (!h) {
        h = xnew(struct held);
        h->ns = str_dup(ns);
        map_put(&s->by_ns, str_of(h->ns), h);
    }
    roles_add(&h->roles, role);
}

static void revoke(struct map *m, str name, str ns, struct role *role)
{
    struct subject *s = map_get(m, name);
    if (!s)
        return;
    struct held *h = ns.len ? map_get(&s->by_ns, ns) : NULL;
    if (!ns.len)
        roles_remove(&s->everywhere, role);
    else if (h)
        roles_remove(&h->roles, role);
    if (h && !h->roles.len) {
        map_del(&s->by_ns, ns);
        vec_done(&h->roles);
        free(h->ns);
        free(h);
    }
    subject_drop(m, s);
}

/* ---- bindings ---- */

typedef void grant_fn(struct map *m, str name, str ns, struct role *role);

static void each_subject(struct rbac *r, const struct obj *binding, struct role *role, grant_fn *fn)
{
    struct strbuf account = STRBUF_INIT(4096);
    for (struct jiter it = jiter(jgetc(obj_root(binding), "subjects")); jnext(&it);) {
        str kind = jstr(jgetc(it.value, "kind")), name = jstr(jgetc(it.value, "name"));
        str ns = jstr(jgetc(it.value, "namespace"));
        if (str_is(kind, "User"))
            fn(&r->users, name, binding->ns, role);
        else if (str_is(kind, "Group"))
            fn(&r->groups, name, binding->ns, role);
        else if (str_is(kind, "ServiceAccount")) {
            strbuf_reset(&account);
            strbuf_printf(&account, "system:serviceaccount:%.*s:%.*s",
                          STR_ARG(ns.len ? ns : binding->ns), STR_ARG(name));
            if (!account.overflow)
                fn(&r->users, strbuf_str(&account), binding->ns, role);
        }
    }
    strbuf_done(&account);
}

static struct role *bound_role(struct rbac *r, const struct obj *binding)
{
    jval ref = jgetc(obj_root(binding), "roleRef");
    bool local = str_is(jstr(jgetc(ref, "kind")), "Role");
    return role_get(r, local ? binding->ns : STR_NONE, jstr(jgetc(ref, "name")));
}

static void bind_role(struct rbac *r, const struct obj *binding)
{
    struct role *role = bound_role(r, binding);
    role->bindings++;
    each_subject(r, binding, role, grant);
}

static void unbind_role(struct rbac *r, const struct obj *binding)
{
    struct role *role = bound_role(r, binding);
    each_subject(r, binding, role, revoke);
    if (role->bindings)
        role->bindings--;
    role_drop(r, role);
}

/* ---- keeping up ---- */

static void fold(struct rbac *r, enum store_event_type type, struct obj *o, const struct obj *prev)
{
    const struct kind *k = o->kind;
    if (k == &kind_role || k == &kind_cluster_role) {
        role_set(r, o->ns, o->name, type == STORE_DELETED ? NULL : o);
    } else if (k == &kind_role_binding || k == &kind_cluster_role_binding) {
        /* The new one first: a role that stays bound is not forgotten in between. */
        if (type != STORE_DELETED)
            bind_role(r, o);
        if (type != STORE_ADDED && prev)
            unbind_role(r, prev);
    }
}

void rbac_event(struct rbac *r, const struct store_event *e)
{
    fold(r, e->type, e->obj, e->prev);
}

static void load(struct rbac *r, const struct kind *k)
{
    struct store_iter it = store_range(r->store, k, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o = store_next(&it); o; o = store_next(&it))
        fold(r, STORE_ADDED, o, NULL);
}

struct rbac *rbac_new(struct store *s)
{
    static const struct kind *const kinds[] = {&kind_cluster_role, &kind_role,
                                               &kind_cluster_role_binding, &kind_role_binding};
    struct rbac *r = xnew(struct rbac);
    r->store = s;
    r->generation = 1;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        load(r, kinds[i]);
    return r;
}

void rbac_free(struct rbac *r)
{
    void *value;
    str key;
    if (!r)
        return;
    for (size_t it = 0; map_next(&r->users, &it, &key, &value);)
        subject_free(value);
    for (size_t it = 0; map_next(&r->groups, &it, &key, &value);)
        subject_free(value);
    for (size_t it = 0; map_next(&r->roles, &it, &key, &value);)
        role_free(value);
    map_done(&r->users);
    map_done(&r->groups);
    map_done(&r->roles);
    free(r);
}

/* ---- asking ---- */

bool user_is_master(const struct user *u)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (str_is(u->groups[i], "system:masters"))
            return true;
    return false;
}

static bool roles_allow(struct rbac *r, const role_vec *v, const struct access *x)
{
    for (size_t i = 0; i < v->len; i++) {
        struct policy_rules rules = rules_of(r, v->p[i]);
        for (size_t k = 0; k < rules.n; k++)
            if (policy_rule_allows(&rules.p[k], x))
                return true;
    }
    return false;
}

static bool subject_may(struct rbac *r, const struct subject *s, const struct access *x)
{
    if (!s)
        return false;
    if (roles_allow(r, &s->everywhere, x))
        return true;
    const struct held *h = x->ns.len && s->by_ns.len ? map_get(&s->by_ns, x->ns) : NULL;
    return h && roles_allow(r, &h->roles, x);
}

bool rbac_allows(struct rbac *r, const struct user *u, const struct access *x)
{
    if (user_is_master(u) || subject_may(r, map_get(&r->users, u->name), x))
        return true;
    for (size_t i = 0; i < u->n_groups; i++)
        if (subject_may(r, map_get(&r->groups, u->groups[i]), x))
            return true;
    return false;
}

static void collect(struct rbac *r, const role_vec *v, rule_vec *out)
{
    for (size_t i = 0; i < v->len; i++) {
        struct policy_rules rules = rules_of(r, v->p[i]);
        for (size_t k = 0; k < rules.n; k++)
            *vec_push(out) = rules.p[k];
    }
}

static void collect_subject(struct rbac *r, const struct subject *s, str ns, rule_vec *out)
{
    if (!s)
        return;
    collect(r, &s->everywhere, out);
    const struct held *h = ns.len ? map_get(&s->by_ns, ns) : NULL;
    if (h)
        collect(r, &h->roles, out);
}

struct policy_rules rbac_rules_of(struct rbac *r, struct arena *a, const struct user *u, str ns)
{
    rule_vec v = {0};
    collect_subject(r, map_get(&r->users, u->name), ns, &v);
    for (size_t i = 0; i < u->n_groups; i++)
        collect_subject(r, map_get(&r->groups, u->groups[i]), ns, &v);
    struct policy_rule *p = arena_array(a, struct policy_rule, v.len);
    if (v.len)
        memcpy(p, v.p, v.len * sizeof(*p));
    size_t n = v.len;
    vec_done(&v);
    return (struct policy_rules){p, n};
}
