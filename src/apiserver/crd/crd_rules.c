/*
 * The rules that definitions carry for their objects: compiled when a kind is defined, evaluated
 * when an object of it is written. (What a valid rule is: kube/cel/cel_rules.c.)
 */
#include "apiserver/crd.h"
#include "kube/cel/cel_rules.h"

struct kind_rules {
    const struct kind *kind;
    struct arena arena;
    const struct cel_rules *rules;
};

void crd_rules_drop(struct crd_rules *all, const struct kind *k)
{
    for (size_t i = 0; i < all->kinds.len; i++) {
        struct kind_rules *r = all->kinds.p[i];
        if (r->kind != k)
            continue;
        vec_remove(&all->kinds, i);
        arena_done(&r->arena);
        free(r);
        return;
    }
}

void crd_rules_put(struct crd_rules *all, const struct kind *k, jval schema)
{
    struct kind_rules *r = xnew(struct kind_rules);
    crd_rules_drop(all, k);
    r->kind = k;
    r->rules = cel_rules_compile(&r->arena, schema, STR_NONE, NULL);
    if (!r->rules) {
        arena_done(&r->arena);
        free(r);
        return;
    }
    (void)doc_hold(&r->arena, doc_ref(schema.doc));
    *vec_push(&all->kinds) = r;
}

void crd_rules_done(struct crd_rules *all)
{
    while (all->kinds.len)
        crd_rules_drop(all, all->kinds.p[0]->kind);
    vec_done(&all->kinds);
}

static const struct cel_rules *rules_of(const struct crd_rules *all, const struct kind *k)
{
    for (size_t i = 0; i < all->kinds.len; i++)
        if (all->kinds.p[i]->kind == k)
            return all->kinds.p[i]->rules;
    return NULL;
}

/* With values of the wrong type or without those it is about a rule would only add noise. */
static bool is_blocked(const struct field_errors *errors, size_t first)
{
    for (size_t i = first; i < errors->items.len; i++)
        switch (errors->items.p[i].type) {
        case FIELD_ERR_REQUIRED:
        case FIELD_ERR_NOT_SUPPORTED:
        case FIELD_ERR_TOO_LONG:
        case FIELD_ERR_TOO_MANY:
        case FIELD_ERR_TYPE_INVALID:
            return true;
        default:
            break;
        }
    return false;
}

void crd_rules_check(const struct crd_rules *all, const struct kind *k, jval object, jval old,
                     struct field_errors *errors, size_t first)
{
    const struct cel_rules *rules = rules_of(all, k);
    if (j_has(old) && errors->items.len > first)
        cel_rules_ratchet(k->type->schema, object, old, errors, first);
    if (rules && is_blocked(errors, first))
        field_error_add(errors, FIELD_ERR_INVALID, STR("<nil>"), STR("null"),
                        "some validation rules were not checked because the object was invalid; "
                        "correct the existing errors to complete validation");
    else if (rules)
        cel_rules_check(rules, object, old, errors);
}
