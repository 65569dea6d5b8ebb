/* Scaling groups (G40-G49), and the names that will have to be shortened (G19, G42). */
#include "grove/validate_set.h"

#define GROUPS "spec.template.podCliqueScalingGroups"
/* Names longer than this together are shortened in labels and host names. */
enum { NAMES_FIT = 45 };

/* G40 */
static void check_name(struct check *c, size_t i, jval group)
{
    jval name = jgetc(group, "name");
    str at = check_path(c, GROUPS "[%zu].name", i);
    if (!str_is_dns1123_subdomain(jstr(name)))
        check_invalid(c, at, name, "must consist of lower case letters, digits or '-'");
    else if (str_find_char(jstr(name), '.') >= 0)
        check_invalid(c, at, name, "must not contain dots: it becomes part of host names");
}

/* G41 */
static void check_members(struct check *c, size_t i, const struct group_view *v)
{
    struct strbuf unknown = STRBUF_INIT(4096);
    for (struct jiter it = jiter(v->clique_names); jnext(&it);) {
        if (j_is_absent(check_clique(c, jstr(it.value))))
            strbuf_printf(&unknown, "%s%.*s", unknown.len ? "," : "", STR_ARG(jstr(it.value)));
    }
    if (unknown.len > 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, check_path(c, GROUPS "[%zu].cliqueNames", i),
                        check_quoted(c, "%s", unknown.p),
                        "there is no such clique; there are: %.*s",
                        STR_ARG(check_clique_names(c, c->set.cliques)));
    strbuf_done(&unknown);
}

/* G43-G46 */
static void check_numbers(struct check *c, size_t i, jval group)
{
    jval replicas = jgetc(group, "replicas"), min = jgetc(group, "minAvailable");
    jval scale = jgetc(group, "scaleConfig"), low = jgetc(scale, "minReplicas");
    str min_at = check_path(c, GROUPS "[%zu].minAvailable", i);
    if (j_has(replicas) && jint(replicas, 0) <= 0)
        check_invalid(c, check_path(c, GROUPS "[%zu].replicas", i), replicas,
                      "must be greater than 0");
    if (j_has(min) && jint(min, 0) <= 0)
        check_invalid(c, min_at, min, "must be greater than 0");
    else if (j_has(min) && j_has(replicas) && jint(min, 0) > jint(replicas, 0))
        check_invalid(c, min_at, min, "must not be greater than replicas (%lld)",
                      (long long)jint(replicas, 0));
    if (j_has(low) && jint(low, 0) < jint(min, 1))
        field_warning_add(
            c->errors,
            GROUPS "[%zu].scaleConfig.minReplicas: %lld is below minAvailable (%lld); "
                   "the autoscaler will not go below %lld",
            i, (long long)jint(low, 0), (long long)jint(min, 1), (long long)jint(min, 1));
}

/* G47, G48 */
static void check_unique(struct check *c)
{
    struct map names = MAP_INIT, members = MAP_INIT;
    for (struct jiter g = jiter(c->set.scaling_groups); jnext(&g);) {
        jval name = jgetc(g.value, "name");
        if (!str_is_empty(jstr(name)) && map_put(&names, jstr(name), c))
            check_duplicate(c, STR(GROUPS ".name"), name);
        for (struct jiter m = jiter(jgetc(g.value, "cliqueNames")); jnext(&m);) {
            if (map_put(&members, jstr(m.value), c))
                check_duplicate(c, STR(GROUPS ".cliqueNames"), m.value);
        }
    }
    map_done(&names);
    map_done(&members);
}

/* G49 */
static void warn_member_scaling(struct check *c, size_t i, const struct group_view *v)
{
    for (struct jiter it = jiter(v->clique_names); jnext(&it);) {
        if (j_has(jpath(check_clique(c, jstr(it.value)), "spec.autoScalingConfig")))
            field_warning_add(c->errors,
                              GROUPS "[%zu]: clique \"%.*s\" scales with its group; its own "
                                     "autoScalingConfig is kept and not used",
                              i, STR_ARG(jstr(it.value)));
    }
}

/* G19, G42 */
static void warn_names(struct check *c)
{
    size_t set = jstr(jpath(c->root, "metadata.name")).len;
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        size_t sum = set + name.len + jstr(jgetc(check_group_of(c, name), "name")).len;
        if (sum > NAMES_FIT)
            field_warning_add(c->errors,
                              "spec.template.cliques[%zu].name: the names of set, group and clique "
                              "have %zu characters together; above %d host names and label values "
                              "are shortened",
                              it.index, sum, NAMES_FIT);
    }
}

void validate_groups(struct check *c)
{
    for (struct jiter it = jiter(c->set.scaling_groups); jnext(&it);) {
        struct group_view v;
        group_view(it.value, &v);
        check_name(c, it.index, it.value);
        check_members(c, it.index, &v);
        check_numbers(c, it.index, it.value);
        warn_member_scaling(c, it.index, &v);
    }
    check_unique(c);
    warn_names(c);
}
