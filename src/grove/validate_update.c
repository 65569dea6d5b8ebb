/* What may not change once a set exists (U1-U14). Absent and empty count as equal, as they do to
 * the contract's comparison. */
#include "grove/validate_set.h"

#define TEMPLATE "spec.template"
#define CLIQUES TEMPLATE ".cliques"
#define GROUPS TEMPLATE ".podCliqueScalingGroups"

static bool is_nothing(jval v)
{
    enum jtype t = jtype(v);
    return t == J_ABSENT || t == J_NULL || ((t == J_ARRAY || t == J_OBJECT) && jlen(v) == 0) ||
           (t == J_STRING && str_is_empty(jstr(v)));
}

static bool same(jval a, jval b)
{
    return (is_nothing(a) && is_nothing(b)) || jequal(a, b);
}

/* Compares one member of two objects. */
static void check_kept(struct check *c, jval old, jval new, const char *member, str at)
{
    jval before = jpath(old, member), after = jpath(new, member);
    if (!same(before, after))
        check_invalid(c, at, after, "field is immutable; it was %.*s",
                      STR_ARG(is_nothing(before) ? STR("not set") : jtext(before)));
}

/* ---- topology ---- */

/* The one change that is welcome: from packDomain to pack.required with the same meaning. */
static bool is_migration(jval old, jval new)
{
    jval was = jgetc(old, "packDomain");
    return j_has(was) && !j_has(jgetc(new, "packDomain")) &&
           str_eq(jstr(was), jstr(jpath(new, "pack.required"))) &&
           same(jgetc(old, "topologyName"), jgetc(new, "topologyName")) &&
           same(topology_preferred(old), topology_preferred(new));
}

/* Sets from before names were required may be given the missing one. */
static bool is_repair(jval old, jval new)
{
    return j_has(jgetc(old, "packDomain")) && is_nothing(jgetc(old, "topologyName")) &&
           !is_nothing(jgetc(new, "topologyName")) &&
           same(jgetc(old, "packDomain"), jgetc(new, "packDomain")) &&
           same(jgetc(old, "pack"), jgetc(new, "pack"));
}

static void check_constraint(struct check *c, jval old, jval new, str at, bool of_set)
{
    if (j_has(jgetc(new, "packDomain")))
        field_warning_add(c->errors, "%.*s.packDomain is deprecated: write pack.required",
                          STR_ARG(at));
    if (same(old, new) || is_migration(old, new) || is_repair(old, new))
        return;
    jval was = jgetc(old, "topologyName"), is = jgetc(new, "topologyName");
    if (is_nothing(old))
        check_forbidden(c, at, "a topology constraint cannot be added after creation");
    else if (is_nothing(new))
        check_forbidden(c, at, "a topology constraint cannot be removed after creation");
    else if (of_set && !same(was, is))
        check_forbidden(c, check_path(c, "%.*s.topologyName", STR_ARG(at)),
                        "cannot change from \"%.*s\" to \"%.*s\"", STR_ARG(jstr(was)),
                        STR_ARG(jstr(is)));
    else
        check_forbidden(c, at, "cannot change from %.*s to %.*s", STR_ARG(jtext(old)),
                        STR_ARG(jtext(new)));
}

/* ---- cliques ---- */

static bool order_matters(const struct check *c)
{
    return str_is(c->set.startup_type, "CliqueStartupTypeInOrder") ||
           str_is(c->set.startup_type, "CliqueStartupTypeExplicit");
}

static void check_clique_kept(struct check *c, size_t i, jval clique, jval old)
{
    check_kept(c, old, clique, "spec.roleName", STR(CLIQUES ".spec.roleName"));
    check_kept(c, old, clique, "spec.minAvailable", STR(CLIQUES ".spec.minAvailable"));
    check_kept(c, old, clique, "spec.startsAfter", STR(CLIQUES ".spec.startsAfter"));
    check_kept(c, old, clique, "spec.podSpec.schedulerName",
               STR(CLIQUES ".spec.podSpec.schedulerName"));
    check_kept(c, old, clique, "resourceSharing",
               check_path(c, CLIQUES "[%zu].resourceSharing", i));
    check_constraint(c, jgetc(old, "topologyConstraint"), jgetc(clique, "topologyConstraint"),
                     check_path(c, CLIQUES "[%zu].topologyConstraint", i), false);
}

static void check_cliques(struct check *c)
{
    size_t before = jlen(jpath(c->old, CLIQUES)), after = jlen(c->set.cliques);
    if (before != after) {
        check_forbidden(c, STR(CLIQUES),
                        "cliques cannot be added or removed after the set was made; it has: %.*s",
                        STR_ARG(check_clique_names(c, jpath(c->old, CLIQUES))));
        return;
    }
    for (size_t i = 0; i < after; i++) {
        jval name = jgetc(c->cliques[i], "name");
        jval old = check_old_clique(c, jstr(name));
        if (j_is_absent(old)) {
            check_forbidden(c, STR(CLIQUES ".name"), "clique \"%.*s\" is new", STR_ARG(jstr(name)));
            continue;
        }
        str was_here = jstr(jgetc(c->old_cliques[i], "name"));
        if (order_matters(c) && !str_eq(was_here, jstr(name)))
            check_invalid(c, STR(CLIQUES), name,
                          "the order of cliques is their startup order: expected \"%.*s\" at "
                          "position %zu",
                          STR_ARG(was_here), i);
        check_clique_kept(c, i, c->cliques[i], old);
    }
}

/* ---- groups ---- */

static void check_groups(struct check *c)
{
    size_t before = jlen(jpath(c->old, GROUPS)), after = jlen(c->set.scaling_groups);
    if (before != after) {
        check_forbidden(c, STR(GROUPS), "scaling groups cannot be added or removed: there were %zu",
                        before);
        return;
    }
    for (size_t i = 0; i < after; i++) {
        jval name = jgetc(c->groups[i], "name");
        jval old = check_old_group(c, jstr(name));
        if (j_is_absent(old)) {
            check_forbidden(c, STR(GROUPS ".name"), "scaling group \"%.*s\" is new",
                            STR_ARG(jstr(name)));
            continue;
        }
        check_kept(c, old, c->groups[i], "cliqueNames", STR(GROUPS ".cliqueNames"));
        check_kept(c, old, c->groups[i], "minAvailable", STR(GROUPS ".minAvailable"));
        check_kept(c, old, c->groups[i], "resourceSharing", STR(GROUPS ".resourceSharing"));
        check_constraint(c, jgetc(old, "topologyConstraint"),
                         jgetc(c->groups[i], "topologyConstraint"),
                         check_path(c, GROUPS "[%zu].topologyConstraint", i), false);
    }
}

void validate_update(struct check *c)
{
    jval old = jpath(c->old, TEMPLATE), new = jpath(c->root, TEMPLATE);
    check_cliques(c);
    check_kept(c, old, new, "cliqueStartupType", STR(TEMPLATE ".cliqueStartupType"));
    check_groups(c);
    check_kept(c, old, new, "resourceClaimTemplates", STR(TEMPLATE ".resourceClaimTemplates"));
    check_kept(c, old, new, "resourceSharing", STR(TEMPLATE ".resourceSharing"));
    check_constraint(c, jgetc(old, "topologyConstraint"), jgetc(new, "topologyConstraint"),
                     STR(TEMPLATE ".topologyConstraint"), true);
}
