/* A policy as expressions: compiled once when it is written, and again when it is put in force. */
#include "apiserver/admission/policy.h"
#include "kube/object.h"

struct compiler {
    struct arena *arena;
    struct cel_scope scope;
    struct policy_code *out;
    void (*report)(void *ctx, str field, str expression, const char *why);
    void *ctx;
};

static const struct cel *compile(struct compiler *c, str field, jval expression, enum cel_want want)
{
    struct err err = ERR_INIT;
    str text = jstr(expression);
    if (!str_trim(text).len)
        return NULL; /* that it is missing is said elsewhere */
    const struct cel *cel = cel_compile_in(c->arena, text, &c->scope, want, &err);
    if (cel)
        return cel;
    if (!c->out->broken.len)
        c->out->broken =
            arena_printf(c->arena, "compilation error: compilation failed: %s", err.message);
    if (c->report)
        c->report(c->ctx, field, text, err.message);
    return NULL;
}

static void compile_conditions(struct compiler *c, jval list)
{
    c->out->conditions = arena_array(c->arena, struct policy_condition, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);)
        c->out->conditions[c->out->n_conditions++] = (struct policy_condition){
            jstr(jgetc(it.value, "name")),
            compile(c, arena_printf(c->arena, "spec.matchConditions[%zu].expression", it.index),
                    jgetc(it.value, "expression"), CEL_WANT_BOOL),
        };
}

/* A variable may use those before it. One that is broken cannot be used. */
static void compile_variables(struct compiler *c, jval list)
{
    c->out->variables = arena_array(c->arena, struct cel_lazy, jlen(list) + 1);
    c->scope.lazy = c->out->variables;
    for (struct jiter it = jiter(list); jnext(&it) && c->scope.n_lazy < CEL_MAX_LAZY;) {
        const struct cel *cel =
            compile(c, arena_printf(c->arena, "spec.variables[%zu].expression", it.index),
                    jgetc(it.value, "expression"), CEL_WANT_ANY);
        if (cel)
            c->out->variables[c->scope.n_lazy++] =
                (struct cel_lazy){jstr(jgetc(it.value, "name")), cel};
    }
    c->out->n_variables = c->scope.n_lazy;
}

static void compile_validations(struct compiler *c, jval list)
{
    c->out->validations = arena_array(c->arena, struct policy_validation, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct policy_validation *v = &c->out->validations[c->out->n_validations++];
        v->spec = it.value;
        v->cel = compile(c, arena_printf(c->arena, "spec.validations[%zu].expression", it.index),
                         jgetc(it.value, "expression"), CEL_WANT_BOOL);
        c->scope.has_authorizer = false;
        v->message =
            compile(c, arena_printf(c->arena, "spec.validations[%zu].messageExpression", it.index),
                    jgetc(it.value, "messageExpression"), CEL_WANT_STRING);
        c->scope.has_authorizer = true;
    }
}

static void compile_annotations(struct compiler *c, jval list)
{
    c->out->annotations = arena_array(c->arena, struct policy_annotation, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);)
        c->out->annotations[c->out->n_annotations++] = (struct policy_annotation){
            jstr(jgetc(it.value, "key")),
            compile(c,
                    arena_printf(c->arena, "spec.auditAnnotations[%zu].valueExpression", it.index),
                    jgetc(it.value, "valueExpression"), CEL_WANT_ANY),
        };
}

static void compile_mutations(struct compiler *c, jval list)
{
    c->out->mutations = arena_array(c->arena, struct policy_mutation, jlen(list) + 1);
    c->scope.has_patches = true;
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct policy_mutation *m = &c->out->mutations[c->out->n_mutations++];
        m->is_patch = str_is(jstr(jgetc(it.value, "patchType")), "JSONPatch");
        const char *member = m->is_patch ? "jsonPatch" : "applyConfiguration";
        jval expression = jgetc(jget(it.value, str_of(member)), "expression");
        m->expression = jstr(expression);
        m->cel = compile(
            c, arena_printf(c->arena, "spec.mutations[%zu].%s.expression", it.index, member),
            expression, m->is_patch ? CEL_WANT_PATCHES : CEL_WANT_OBJECT);
    }
}

struct policy_code
policy_compile(struct arena *a, jval spec,
               void (*report)(void *ctx, str field, str expression, const char *why), void *ctx)
{
    static const struct cel_decl vars[POLICY_VARS] = {
        [POLICY_OBJECT] = {.name = "object"},   [POLICY_OLD_OBJECT] = {.name = "oldObject"},
        [POLICY_REQUEST] = {.name = "request"}, [POLICY_NAMESPACE] = {.name = "namespaceObject"},
        [POLICY_PARAMS] = {.name = "params"},
    };
    struct policy_code out = {0};
    struct compiler c = {
        .arena = a,
        .scope = {.vars = vars,
                  .n_vars = j_has(jgetc(spec, "paramKind")) ? POLICY_VARS : POLICY_PARAMS,
                  .has_authorizer = true},
        .out = &out,
        .report = report,
        .ctx = ctx,
    };
    compile_conditions(&c, jgetc(spec, "matchConditions"));
    compile_variables(&c, jgetc(spec, "variables"));
    compile_validations(&c, jgetc(spec, "validations"));
    compile_annotations(&c, jgetc(spec, "auditAnnotations"));
    compile_mutations(&c, jgetc(spec, "mutations"));
    return out;
}
