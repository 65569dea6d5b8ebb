/* Resource claim templates and who shares them (G5-G15). */
#include "grove/validate_set.h"

#define TEMPLATE "spec.template"

/* G5-G7 */
static void check_templates(struct check *c)
{
    struct map seen = MAP_INIT;
    for (struct jiter it = jiter(jpath(c->root, TEMPLATE ".resourceClaimTemplates")); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        str at = check_path(c, TEMPLATE ".resourceClaimTemplates[%zu]", it.index);
        if (str_is_empty(jstr(name)))
            check_required(c, check_path(c, "%.*s.name", STR_ARG(at)), "a template needs a name");
        else if (map_put(&seen, jstr(name), c))
            check_duplicate(c, STR(TEMPLATE ".resourceClaimTemplates.name"), name);
        if (jlen(jpath(it.value, "templateSpec.spec.devices.requests")) == 0)
            check_required(c, check_path(c, "%.*s.templateSpec.spec.devices.requests", STR_ARG(at)),
                           "at least one device request");
    }
    map_done(&seen);
}

static bool is_internal(const struct check *c, str name)
{
    for (struct jiter it = jiter(jpath(c->root, TEMPLATE ".resourceClaimTemplates")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return true;
    }
    return false;
}

/* G8-G11 */
static void check_list(struct check *c, jval list, str at)
{
    struct map seen = MAP_INIT;
    for (struct jiter it = jiter(list); jnext(&it);) {
        jval name = jgetc(it.value, "name"), ns = jgetc(it.value, "namespace");
        jval scope = jgetc(it.value, "scope");
        str name_at = check_path(c, "%.*s[%zu].name", STR_ARG(at), it.index);
        if (str_is_empty(jstr(name)))
            check_required(c, name_at, "the template to share");
        else if (map_put(&seen, jstr(name), c))
            check_duplicate(c, name_at, name);
        if (!str_is_empty(jstr(ns)) && is_internal(c, jstr(name)))
            check_invalid(c, check_path(c, "%.*s[%zu].namespace", STR_ARG(at), it.index), ns,
                          "must be empty for a template of this set");
        if (!str_is(jstr(scope), "AllReplicas") && !str_is(jstr(scope), "PerReplica"))
            field_error_add(c->errors, FIELD_ERR_NOT_SUPPORTED,
                            check_path(c, "%.*s[%zu].scope", STR_ARG(at), it.index),
                            j_has(scope) ? jtext(scope) : STR("\"\""),
                            "supported values: \"AllReplicas\", \"PerReplica\"");
    }
    map_done(&seen);
}

static bool names_clique(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(it.value), name))
            return true;
    }
    return false;
}

/* G12, G13 */
static void check_set_filters(struct check *c)
{
    for (struct jiter it = jiter(jpath(c->root, TEMPLATE ".resourceSharing")); jnext(&it);) {
        jval filter = jgetc(it.value, "filter");
        jval cliques = jgetc(filter, "childCliqueNames");
        jval groups = jgetc(filter, "childScalingGroupNames");
        str at = check_path(c, TEMPLATE ".resourceSharing[%zu].filter", it.index);
        if (!j_has(filter))
            continue;
        if (jlen(cliques) + jlen(groups) == 0)
            check_required(c, at, "a filter names cliques or scaling groups");
        for (struct jiter n = jiter(cliques); jnext(&n);) {
            if (j_is_absent(check_clique(c, jstr(n.value))))
                check_not_found(c,
                                check_path(c, "%.*s.childCliqueNames[%zu]", STR_ARG(at), n.index),
                                n.value, "no such clique");
        }
        for (struct jiter n = jiter(groups); jnext(&n);) {
            if (j_is_absent(check_group(c, jstr(n.value))))
                check_not_found(
                    c, check_path(c, "%.*s.childScalingGroupNames[%zu]", STR_ARG(at), n.index),
                    n.value, "no such scaling group");
        }
    }
}

/* G14, G15 */
static void check_group_filters(struct check *c, size_t i, jval group)
{
    for (struct jiter it = jiter(jgetc(group, "resourceSharing")); jnext(&it);) {
        jval filter = jgetc(it.value, "filter"), names = jgetc(filter, "childCliqueNames");
        str at = check_path(c, TEMPLATE ".podCliqueScalingGroups[%zu].resourceSharing[%zu].filter",
                            i, it.index);
        if (!j_has(filter))
            continue;
        if (jlen(names) == 0)
            check_required(c, at, "a filter names cliques of the group");
        for (struct jiter n = jiter(names); jnext(&n);) {
            if (!names_clique(jgetc(group, "cliqueNames"), jstr(n.value)))
                check_not_found(c,
                                check_path(c, "%.*s.childCliqueNames[%zu]", STR_ARG(at), n.index),
                                n.value, "no such clique in the group");
        }
    }
}

void validate_sharing(struct check *c)
{
    check_templates(c);
    check_list(c, jpath(c->root, TEMPLATE ".resourceSharing"), STR(TEMPLATE ".resourceSharing"));
    check_set_filters(c);
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        jval list = jgetc(it.value, "resourceSharing");
        if (jlen(list))
            check_list(c, list, check_path(c, TEMPLATE ".cliques[%zu].resourceSharing", it.index));
    }
    for (struct jiter it = jiter(c->set.scaling_groups); jnext(&it);) {
        check_list(
            c, jgetc(it.value, "resourceSharing"),
            check_path(c, TEMPLATE ".podCliqueScalingGroups[%zu].resourceSharing", it.index));
        check_group_filters(c, it.index, it.value);
    }
}
