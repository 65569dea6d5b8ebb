/*
 * What a policy's expressions say about fields that the kinds it is about do not have. Such a
 * policy is in force all the same: its author is warned in its status, as kube-controller-manager
 * does.
 *
 * Every expression is compiled once more for each of the kinds that the rules name, with the kind's
 * schema as the type of the object. Rules with wildcards name none, and of many kinds the first are
 * looked at. The schema is written from the kind's table and lives as long as the look takes.
 */
#include "apiserver/admission/policy.h"
#include "kube/structural.h"

enum { KINDS_MOST = 10 };

struct checked {
    const struct kind *kinds[KINDS_MOST];
    struct cel_scope scopes[KINDS_MOST];
    size_t n;
};

static bool has_wildcard(jval list)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_find_char(jstr(it.value), '*') >= 0)
            return true;
    return false;
}

/* One that refers to itself has no schema in one piece. */
static bool can_be_written(const struct kind *k)
{
    return k->type && !str_is(str_of(k->group), "apiextensions.k8s.io");
}

static bool names(jval list, const char *text)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_is(jstr(it.value), text))
            return true;
    return false;
}

static void add_kinds(struct checked *c, jval rule)
{
    jval groups = jgetc(rule, "apiGroups"), versions = jgetc(rule, "apiVersions");
    if (has_wildcard(groups) || has_wildcard(versions))
        return;
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        bool is_known = false;
        for (size_t j = 0; j < c->n; j++)
            is_known |= c->kinds[j] == k;
        if (c->n < KINDS_MOST && !is_known && !kind_is(k, KIND_RETIRED) && can_be_written(k) &&
            names(jgetc(rule, "resources"), k->plural) && names(groups, k->group) &&
            names(versions, k->version))
            c->kinds[c->n++] = k;
    }
}

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = *(const struct kind *const *)a, *y = *(const struct kind *const *)b;
    int r = strcmp(x->group, y->group);
    r = r ? r : strcmp(x->version, y->version);
    return r ? r : strcmp(x->kind, y->kind);
}

static const struct kind *kind_of_params(jval param_kind)
{
    str version = jstr(jgetc(param_kind, "apiVersion")), kind = jstr(jgetc(param_kind, "kind"));
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        char text[256];
        (void)snprintf(text, sizeof(text), "%s%s%s", k->group, *k->group ? "/" : "", k->version);
        if (!kind_is(k, KIND_RETIRED) && str_is(kind, k->kind) && str_is(version, text))
            return k;
    }
    return NULL;
}

static jval schema_of(struct arena *a, const struct kind *k)
{
    const struct structural s = {.custom = kind_is(k, KIND_DEFINED)};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    structural_put_object(&s, &w, k->type, false);
    jw_end(&w);
    return doc_root(doc_hold(a, jw_doc(&w)));
}

/* A variable that does not fit the kind may still be used, as one of which nothing is known. */
static void add_variables(struct arena *a, jval spec, const struct policy_code *plain,
                          struct cel_scope *scope)
{
    struct cel_lazy *lazy = arena_array(a, struct cel_lazy, plain->n_variables + 1);
    jval list = jgetc(spec, "variables");
    scope->lazy = lazy;
    for (struct jiter it = jiter(list); jnext(&it) && scope->n_lazy < plain->n_variables;) {
        const struct cel_lazy *p = &plain->variables[scope->n_lazy];
        if (!str_eq(p->name, jstr(jgetc(it.value, "name"))))
            continue;
        const struct cel *cel =
            cel_compile_in(a, jstr(jgetc(it.value, "expression")), scope, CEL_WANT_ANY, NULL);
        lazy[scope->n_lazy++] = (struct cel_lazy){p->name, cel ? cel : p->cel};
    }
}

static void make_scopes(struct arena *a, jval spec, struct checked *c)
{
    struct policy_code plain = policy_compile(a, spec, NULL, NULL);
    const struct kind *params = kind_of_params(jgetc(spec, "paramKind"));
    jval schema = params && can_be_written(params) ? schema_of(a, params) : JVAL_ABSENT;
    for (size_t i = 0; i < c->n; i++) {
        struct cel_decl *vars = arena_array(a, struct cel_decl, POLICY_VARS);
        jval object = schema_of(a, c->kinds[i]);
        vars[POLICY_OBJECT] = (struct cel_decl){.name = "object", .schema = object};
        vars[POLICY_OLD_OBJECT] = (struct cel_decl){.name = "oldObject", .schema = object};
        vars[POLICY_REQUEST] = (struct cel_decl){.name = "request"};
        vars[POLICY_NAMESPACE] = (struct cel_decl){.name = "namespaceObject"};
        vars[POLICY_PARAMS] = (struct cel_decl){.name = "params", .schema = schema};
        c->scopes[i] = (struct cel_scope){
            .vars = vars, .n_vars = params ? POLICY_VARS : POLICY_PARAMS, .has_authorizer = true};
        add_variables(a, spec, &plain, &c->scopes[i]);
    }
}

/* "apps/v1, Kind=Deployment: " and why, for each kind the expression does not fit. */
static void check(struct arena *a, const struct checked *c, size_t index, const char *member,
                  jval expression, struct jw *w)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    for (size_t i = 0; i < c->n && str_trim(jstr(expression)).len; i++) {
        const struct kind *k = c->kinds[i];
        struct err err = ERR_INIT;
        if (!cel_compile_in(a, jstr(expression), &c->scopes[i], CEL_WANT_ANY, &err))
            strbuf_printf(&b, "%s%s/%s, Kind=%s: %s\n", b.len ? "\n" : "", k->group, k->version,
                          k->kind, err.message);
    }
    if (b.len) {
        jw_object(w);
        jw_put_str(w, "fieldRef", arena_printf(a, "spec.validations[%zu].%s", index, member));
        jw_put_str(w, "warning", strbuf_str(&b));
        jw_end(w);
    }
    strbuf_done(&b);
}

void policy_put_type_checking(jval spec, struct jw *w)
{
    struct arena a = ARENA_INIT;
    struct checked c = {0};
    for (struct jiter it = jiter(jpath(spec, "matchConstraints.resourceRules")); jnext(&it);)
        add_kinds(&c, it.value);
    qsort(c.kinds, c.n, sizeof(*c.kinds), compare_kinds);
    make_scopes(&a, spec, &c);
    struct jw list;
    jw_init(&list);
    jw_array(&list);
    for (struct jiter it = jiter(jgetc(spec, "validations")); jnext(&it);) {
        check(&a, &c, it.index, "expression", jgetc(it.value, "expression"), &list);
        check(&a, &c, it.index, "messageExpression", jgetc(it.value, "messageExpression"), &list);
    }
    jw_end(&list);
    /* In a patch: what was found before goes. */
    bool is_none = str_is(strbuf_str(&list.out), "[]");
    jw_put_object(w, "typeChecking");
    jw_key(w, STR("expressionWarnings"));
    jw_raw(w, is_none ? STR("null") : strbuf_str(&list.out));
    jw_end(w);
    jw_done(&list);
    arena_done(&a);
}
