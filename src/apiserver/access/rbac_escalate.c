/*
 * Nobody grants what they do not hold: whoever writes a role or a binding must be allowed every
 * rule that it grants when it is written, or hold the verb `escalate` on the role, or `bind` on the
 * role that is bound. What the write changes does not matter: a label can grant as much as a rule.
 * Only what the garbage collector needs (finalizers, owners) is free. Rules and words are
 * kube-apiserver's, except that a default role counts with the rules that it gets back at the next
 * start (rbac_boot.h): emptied, it would wait for them with a label or a binding.
 */
#include "apiserver/access/rbac.h"
#include "apiserver/request.h"
#include "grove/rbac_rules.h"

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void put_groups(struct strbuf *b, const struct user *u)
{
    for (size_t i = 0; i < u->n_groups; i++)
        strbuf_printf(b, "%s\"%.*s\"", i ? " " : "", STR_ARG(u->groups[i]));
}

static str missing_text(struct arena *a, const struct user *u, struct policy_rules missing)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    str *lines = arena_array(a, str, missing.n);
    for (size_t i = 0; i < missing.n; i++)
        lines[i] = policy_rule_text(a, &missing.p[i]);
    qsort(lines, missing.n, sizeof(*lines), by_text);
    strbuf_printf(&b, "user \"%.*s\" (groups=[", STR_ARG(u->name));
    put_groups(&b, u);
    strbuf_add_cstr(&b, "]) is attempting to grant RBAC permissions not currently held:\n");
    for (size_t i = 0; i < missing.n; i++)
        strbuf_printf(&b, "%s%.*s", i ? "\n" : "", STR_ARG(lines[i]));
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static bool holds(struct req *q, struct policy_rules asked, struct policy_rules *ret_missing)
{
    struct policy_rules held = rbac_rules_of(q->server->rbac, &q->arena, q->user, q->r->ns);
    return policy_rules_missing(&q->arena, held, asked, ret_missing) && !ret_missing->n;
}

static const struct status *check_rules(struct req *q, struct policy_rules asked)
{
    struct policy_rules missing;
    if (holds(q, asked, &missing))
        return NULL;
    return status_forbidden(&q->arena, q->kind, q->name, missing_text(&q->arena, q->user, missing));
}

static bool may(struct req *q, const char *verb, const struct kind *k, str name)
{
    struct access x = access_to(str_of(verb), k, q->r->ns, name, STR_NONE);
    return authorize(q->server, q->user, &x);
}

/* Others decide what will be in a role made of others, so everything must be held by whoever says
 * what it is made of. */
static const struct status *check_everything(struct req *q)
{
    static const str star = STR_INIT("*");
    static const struct policy_rule everything[] = {
        {.verbs = {&star, 1}, .groups = {&star, 1}, .resources = {&star, 1}},
        {.verbs = {&star, 1}, .urls = {&star, 1}},
    };
    struct policy_rules missing;
    if (holds(q, (struct policy_rules){everything, ARRAY_LEN(everything)}, &missing))
        return NULL;
    return status_forbidden(&q->arena, q->kind, q->name,
                            STR("must have cluster-admin privileges to use the aggregationRule"));
}

/* And by whoever ends that: rules that did not count while it was made of others would count then.
 */
static const struct status *check_aggregation(struct req *q)
{
    bool was = q->base && j_has(jgetc(obj_root(q->base), "aggregationRule"));
    bool is = j_has(jgetc(doc_root(q->doc), "aggregationRule"));
    return was || is ? check_everything(q) : NULL;
}

/* The default role of that name; NULL: it is none. */
static const struct rbac_role *default_role(const struct kind *k, str ns, str name)
{
    const struct rbac_role *r;
    for (size_t i = 0; (r = rbac_role_at(i)); i++)
        if (rbac_role_kind(r) == k && str_is(name, r->name) && str_is(ns, r->ns ? r->ns : ""))
            return r;
    return NULL;
}

/* The rules that a start gives back to the role of that name, or that it is made of others. */
static const struct status *check_default(struct req *q, const struct kind *k, str ns, str name)
{
    const struct rbac_role *r = default_role(k, ns, name);
    if (r && r->aggregates)
        return check_everything(q);
    const struct doc *d = r ? doc_hold(&q->arena, rbac_role_doc(r, NULL)) : NULL;
    return d ? check_rules(q, policy_rules_read(&q->arena, jgetc(doc_root(d), "rules"))) : NULL;
}

static bool is_owned(jval role)
{
    jval annotations = jgetc(jgetc(role, "metadata"), "annotations");
    return str_is(jstr(jget(annotations, STR(RBAC_AUTOUPDATE))), "false");
}

/* A role grants its rules wherever it is bound, and in every role that its labels make it part of:
 * they are checked whatever the write changes. A new role has no name to hold `escalate` on. */
static const struct status *check_role(struct req *q)
{
    if (may(q, "escalate", q->kind, q->base ? q->name : STR_NONE))
        return NULL;
    jval root = doc_root(q->doc);
    const struct status *why = check_rules(q, policy_rules_read(&q->arena, jgetc(root, "rules")));
    if (!why && !is_owned(root))
        why = check_default(q, q->kind, q->r->ns, q->name);
    return why ? why : check_aggregation(q);
}

/* The rules a binding gives; a role that was just written counts, though it is not durable yet. A
 * binding outlives its role: one that a start would make anew counts as that, too, whoever has it
 * now. */
static const struct status *check_binding(struct req *q)
{
    jval root = doc_root(q->doc), ref = jgetc(root, "roleRef");
    bool local = str_is(jstr(jgetc(ref, "kind")), "Role");
    const struct kind *k = local ? &kind_role : &kind_cluster_role;
    str name = jstr(jgetc(ref, "name")), ns = local ? q->r->ns : STR_NONE;
    if (may(q, "bind", k, name))
        return NULL;
    const struct obj *role = store_newest(q->server->store, k, ns, name);
    if (!role)
        return status_not_found(&q->arena, k, name);
    if (j_has(jgetc(obj_root(role), "aggregationRule")))
        return check_rules(q, rbac_rules_in(q->server->rbac, ns, name));
    const struct status *why =
        check_rules(q, policy_rules_read(&q->arena, jgetc(obj_root(role), "rules")));
    return why ? why : check_default(q, k, ns, name);
}

const struct status *escalation_status(struct req *q)
{
    const struct kind *k = q->kind;
    bool role = k == &kind_role || k == &kind_cluster_role;
    bool binding = k == &kind_role_binding || k == &kind_cluster_role_binding;
    if ((!role && !binding) || user_is_master(q->user) ||
        (q->base && meta_only_collection_differs(q->base->doc, q->doc)))
        return NULL;
    return role ? check_role(q) : check_binding(q);
}
