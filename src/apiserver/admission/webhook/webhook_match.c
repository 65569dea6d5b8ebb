/*
 * Which webhook is asked about which write: rules, then the selectors, then the conditions, as
 * kube-apiserver matches them. Pure functions of the configuration and the write.
 */
#include "apiserver/admission/webhook.h"
#include "kube/cel/cel.h"
#include "kube/selector.h"

#define ANY "*"

static bool list_has(jval list, str value)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_is(jstr(it.value), ANY) || str_eq(jstr(it.value), value))
            return true;
    return false;
}

/* A "*" alone has no subresources; behind a slash it is any, none included. */
static bool resource_matches(jval resources, str plural, str sub)
{
    for (struct jiter it = jiter(resources); jnext(&it);) {
        str want_sub = jstr(it.value), want = str_cut(&want_sub, '/');
        if ((str_is(want, ANY) || str_eq(want, plural)) &&
            (str_is(want_sub, ANY) || str_eq(want_sub, sub)))
            return true;
    }
    return false;
}

static bool scope_matches(str scope, const struct hook_target *t)
{
    bool cluster = t->kind == &kind_namespace || str_is_empty(t->ns);
    if (str_is(scope, "Namespaced"))
        return !cluster;
    return !str_is(scope, "Cluster") || cluster;
}

/* Rules of policies may also name objects. */
static bool name_matches(jval names, str name)
{
    for (struct jiter it = jiter(names); jnext(&it);)
        if (str_eq(jstr(it.value), name))
            return true;
    return !jlen(names);
}

static bool rule_matches(jval rule, const struct kind *k, const struct hook_target *t)
{
    return name_matches(jgetc(rule, "resourceNames"), t->name) &&
           list_has(jgetc(rule, "operations"), str_of(t->operation)) &&
           list_has(jgetc(rule, "apiGroups"), str_of(k->group)) &&
           list_has(jgetc(rule, "apiVersions"), str_of(k->version)) &&
           resource_matches(jgetc(rule, "resources"), str_of(k->plural), t->sub) &&
           scope_matches(jstr(jgetc(rule, "scope")), t);
}

static bool rules_match(jval rules, const struct kind *k, const struct hook_target *t)
{
    for (struct jiter it = jiter(rules); jnext(&it);)
        if (rule_matches(it.value, k, t))
            return true;
    return false;
}

/* Its own version before any other. */
static const struct kind *kind_matched(jval rules, str match_policy, const struct hook_target *t)
{
    if (rules_match(rules, t->kind, t))
        return t->kind;
    if (str_is(match_policy, "Exact"))
        return NULL;
    for (size_t i = 0; i < t->n_equivalents; i++)
        if (t->equivalents[i] != t->kind && rules_match(rules, t->equivalents[i], t))
            return t->equivalents[i];
    return NULL;
}

/* An absent selector is an empty one; one that cannot be read matches nothing (it is refused when
 * the configuration is written). */
static const struct selector *selector_of(struct arena *a, jval v, bool *ret_everything)
{
    const struct selector *s = j_has(v) ? label_selector_from(a, v, NULL) : NULL;
    *ret_everything = !j_has(v) || (s && selector_is_everything(s));
    return s;
}

/* What is in no namespace is never let off by its labels. */
static bool namespace_matches(struct arena *a, jval selector, const struct hook_target *t)
{
    bool everything;
    if (str_is_empty(t->ns) && t->kind != &kind_namespace)
        return true;
    const struct selector *s = selector_of(a, selector, &everything);
    return everything || (s && label_selector_match(s, t->ns_labels));
}

static bool labels_match(const struct selector *s, jval object)
{
    return j_has(object) && label_selector_match(s, jpath(object, "metadata.labels"));
}

/* The object as it is or as it was. */
static bool object_matches(struct arena *a, jval selector, const struct hook_target *t)
{
    bool everything;
    const struct selector *s = selector_of(a, selector, &everything);
    return everything || (s && (labels_match(s, t->object) || labels_match(s, t->old_object)));
}

bool hook_is_exempt(const struct kind *k)
{
    return str_is(str_of(k->group), "admissionregistration.k8s.io");
}

const struct kind *hook_match(struct arena *a, jval hook, const struct hook_target *t)
{
    const struct kind *as =
        hook_is_exempt(t->kind)
            ? NULL
            : kind_matched(jgetc(hook, "rules"), jstr(jgetc(hook, "matchPolicy")), t);
    if (!as || !namespace_matches(a, jgetc(hook, "namespaceSelector"), t) ||
        !object_matches(a, jgetc(hook, "objectSelector"), t))
        return NULL;
    return as;
}

const struct kind *hook_match_resources(struct arena *a, jval match, const struct hook_target *t)
{
    str policy = jstr(jgetc(match, "matchPolicy"));
    jval rules = jgetc(match, "resourceRules");
    if (hook_is_exempt(t->kind) || !namespace_matches(a, jgetc(match, "namespaceSelector"), t) ||
        !object_matches(a, jgetc(match, "objectSelector"), t) ||
        kind_matched(jgetc(match, "excludeResourceRules"), policy, t))
        return NULL;
    return jlen(rules) ? kind_matched(rules, policy, t) : t->kind;
}

/* ---- conditions ---- */

/* What one expression may cost, and all of a webhook's together. */
#define CONDITION_COST 100000

static const char *const condition_names[] = {"object", "oldObject", "request"};

bool hook_condition_check(struct arena *a, str expression, struct err *err)
{
    return cel_compile(a, expression, condition_names, ARRAY_LEN(condition_names), err) != NULL;
}

/* A condition that says no decides, whatever becomes of the others. */
enum hook_condition hook_conditions(struct arena *a, jval hook, jval request, str *ret_why)
{
    jval vars[] = {jgetc(request, "object"), jgetc(request, "oldObject"), request};
    enum hook_condition verdict = HOOK_MATCHES;
    for (struct jiter it = jiter(jgetc(hook, "matchConditions")); jnext(&it);) {
        struct err err = ERR_INIT;
        bool yes = false;
        const struct cel *c = cel_compile(a, jstr(jgetc(it.value, "expression")), condition_names,
                                          ARRAY_LEN(condition_names), &err);
        if (!c || cel_eval(c, a, vars, CONDITION_COST, &yes, &err) < 0) {
            verdict = HOOK_UNDECIDED;
            *ret_why = arena_printf(a, "match condition \"%.*s\": %s",
                                    STR_ARG(jstr(jgetc(it.value, "name"))), err.message);
        } else if (!yes) {
            return HOOK_DIFFERS;
        }
    }
    return verdict;
}
