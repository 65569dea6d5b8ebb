/*
 * Validation of Grove's kinds: the order of the rule families and what all of them share. Errors
 * come out in the order of the contract: topology first on create, then the object's own rules;
 * update rules only when the new object is sound by itself.
 */
#include "grove/validate_set.h"

/* ---- reporting ---- */

str check_path(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str path = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    return path;
}

str check_quoted(struct check *c, const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT((size_t)64 << 20);
    va_list ap;
    va_start(ap, fmt);
    str text = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    json_quote(&b, text);
    str quoted = arena_str(c->arena, strbuf_str(&b));
    strbuf_done(&b);
    return quoted;
}

static void add(struct check *c, enum field_error_type type, str path, str value, const char *fmt,
                va_list ap)
{
    str detail = arena_vprintf(c->arena, fmt, ap);
    field_error_add(c->errors, type, path, value, "%.*s", STR_ARG(detail));
}

void check_invalid(struct check *c, str path, jval v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(c, FIELD_ERR_INVALID, path, j_is_absent(v) ? STR("\"\"") : jtext(v), fmt, ap);
    va_end(ap);
}

void check_required(struct check *c, str path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(c, FIELD_ERR_REQUIRED, path, STR_NONE, fmt, ap);
    va_end(ap);
}

void check_forbidden(struct check *c, str path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(c, FIELD_ERR_FORBIDDEN, path, STR_NONE, fmt, ap);
    va_end(ap);
}

void check_duplicate(struct check *c, str path, jval v)
{
    field_error_add(c->errors, FIELD_ERR_DUPLICATE, path, jtext(v), "%s", "");
}

void check_not_found(struct check *c, str path, jval v, const char *what)
{
    field_error_add(c->errors, FIELD_ERR_NOT_FOUND, path, jtext(v), "%s", what);
}

/* ---- names ---- */

static jval *index_names(struct arena *a, jval list, struct map *index)
{
    jval *at = arena_array(a, jval, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);) {
        at[it.index] = it.value;
        (void)map_put(index, jstr(jgetc(it.value, "name")), (void *)(uintptr_t)(it.index + 1));
    }
    return at;
}

static void index_all(struct check *c)
{
    c->cliques = index_names(c->arena, c->set.cliques, &c->clique_index);
    c->groups = index_names(c->arena, c->set.scaling_groups, &c->group_index);
    c->old_cliques =
        index_names(c->arena, jpath(c->old, "spec.template.cliques"), &c->old_clique_index);
    c->old_groups = index_names(c->arena, jpath(c->old, "spec.template.podCliqueScalingGroups"),
                                &c->old_group_index);
    for (struct jiter g = jiter(c->set.scaling_groups); jnext(&g);) {
        for (struct jiter m = jiter(jgetc(g.value, "cliqueNames")); jnext(&m);)
            (void)map_put(&c->member_index, jstr(m.value), (void *)(uintptr_t)(g.index + 1));
    }
}

static jval look_up(const struct map *index, const jval *at, str name)
{
    size_t n = (size_t)(uintptr_t)map_get(index, name);
    return n ? at[n - 1] : JVAL_ABSENT;
}

jval check_clique(const struct check *c, str name)
{
    return look_up(&c->clique_index, c->cliques, name);
}

jval check_group(const struct check *c, str name)
{
    return look_up(&c->group_index, c->groups, name);
}

jval check_group_of(const struct check *c, str clique)
{
    return look_up(&c->member_index, c->groups, clique);
}

jval check_old_clique(const struct check *c, str name)
{
    return look_up(&c->old_clique_index, c->old_cliques, name);
}

jval check_old_group(const struct check *c, str name)
{
    return look_up(&c->old_group_index, c->old_groups, name);
}

jval topology_required(jval constraint)
{
    jval required = jpath(constraint, "pack.required");
    return j_has(required) ? required : jgetc(constraint, "packDomain");
}

jval topology_preferred(jval constraint)
{
    return jpath(constraint, "pack.preferred");
}

/* ---- the set itself ---- */

/* Names become Services and host names: no dots, and a letter first. Length is never a reason. */
static void check_set_name(struct check *c)
{
    jval name = jpath(c->root, "metadata.name");
    str s = jstr(name);
    if (str_is_empty(s))
        return;
    if (str_find_char(s, '.') >= 0)
        check_invalid(c, STR("metadata.name"), name,
                      "must not contain dots: it becomes part of host names");
    else if (s.p[0] >= '0' && s.p[0] <= '9')
        check_invalid(c, STR("metadata.name"), name,
                      "must start with a letter: it becomes the name of a Service");
}

static void check_startup_type(struct check *c)
{
    static const char *const types[] = {"CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder",
                                        "CliqueStartupTypeExplicit"};
    jval v = jpath(c->root, "spec.template.cliqueStartupType");
    str at = STR("spec.template.cliqueStartupType");
    if (!j_has(v)) {
        check_required(c, at, "one of %s, %s, %s", types[0], types[1], types[2]);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_is(jstr(v), types[i]))
            return;
    }
    check_invalid(c, at, v, "must be one of %s, %s, %s", types[0], types[1], types[2]);
}

static void check_termination_delay(struct check *c)
{
    jval v = jpath(c->root, "spec.template.terminationDelay");
    usec delay;
    str at = STR("spec.template.terminationDelay");
    if (!j_has(v))
        check_required(c, at, "how long a gang may stay below its minimum");
    else if (!duration_parse_usec(jstr(v), &delay) || delay <= 0)
        check_invalid(c, at, v, "must be a duration above zero, as \"4h\" or \"90s\"");
}

/* No more than one above the most: what follows only asks whether it is too many. */
static int64_t times(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0)
        return 0;
    return a > GROVE_MAX_REPLICAS / b ? GROVE_MAX_REPLICAS + 1 : a * b;
}

static int64_t plus(int64_t a, int64_t b)
{
    return MIN(a + b, GROVE_MAX_REPLICAS + 1);
}

/* Pods of all copies of a set; 0 where a number is refused for itself. Which group a clique is in
 * does not change. */
static int64_t pods_of(const struct check *c, jval root, bool old)
{
    int64_t pods = 0;
    for (struct jiter it = jiter(jpath(root, "spec.template.cliques")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        jval group = check_group_of(c, name);
        if (old && j_has(group))
            group = check_old_group(c, jstr(jgetc(group, "name")));
        int64_t copies = j_has(group) ? jint(jgetc(group, "replicas"), 1) : 1;
        int64_t replicas = jint(jpath(it.value, "spec.replicas"), 1);
        if (MAX(copies, replicas) > GROVE_MAX_REPLICAS)
            return 0;
        pods = plus(pods, times(copies, replicas));
    }
    return times(pods, jint(jpath(root, "spec.replicas"), 0));
}

/* G2. A set that had too many before there was a limit is not judged, unless it is to have more. */
static void check_replicas(struct check *c)
{
    jval v = jpath(c->root, "spec.replicas");
    if (jint(v, 0) < 0)
        check_invalid(c, STR("spec.replicas"), v, "must be greater than or equal to 0");
    else if (pods_of(c, c->root, false) > GROVE_MAX_REPLICAS &&
             (!j_has(c->old) || pods_of(c, c->old, true) <= GROVE_MAX_REPLICAS))
        check_invalid(c, STR("spec.replicas"), v,
                      "all copies together would have more than %d pods (copies times replicas of "
                      "cliques, times replicas of their scaling group)",
                      GROVE_MAX_REPLICAS);
}

/* Whoever leaves it out expects one. */
static void warn_no_replicas(struct check *c)
{
    int64_t replicas = 1;
    jval v = jpath(c->root, "spec.replicas");
    bool none = !j_has(v) || (jint_get(v, &replicas) && replicas == 0);
    if (none && !j_has(c->old) && c->errors->items.len == 0)
        field_warning_add(
            c->errors, "spec.replicas is 0, its default: the set has no pods until it is scaled; "
                       "write spec.replicas: 1");
}

static void check_set(struct check *c)
{
    check_set_name(c);
    check_replicas(c);
    check_startup_type(c);
    validate_sharing(c);
    validate_cliques(c);
    validate_groups(c);
    check_termination_delay(c);
    validate_rolling_update(c);
    validate_mnnvl(c);
    validate_backend(c);
    check_older_spellings(c);
    warn_no_replicas(c);
}

/* ---- entry ---- */

static const char *const embedded_schedulers[] = {
    "default-scheduler", "grove-scheduler", "kai-scheduler", "volcano", "lpx-scheduler", NULL};

const struct grove_context grove_default_context = {
    .topology_enabled = true,
    .mnnvl_enabled = true,
    .schedulers = embedded_schedulers,
};

void grove_validate_in(const struct grove_context *context, const struct kind *k,
                       const struct doc *old, const struct doc *new, struct field_errors *errors)
{
    struct check c = {.errors = errors,
                      .arena = errors->arena,
                      .context = context,
                      .root = doc_root(new),
                      .old = old ? doc_root(old) : JVAL_ABSENT};
    if (k == &kind_ctb) {
        validate_binding(&c);
        return;
    }
    if (k != &kind_pcs)
        return;
    c.set.replicas = jint(jpath(c.root, "spec.replicas"), 0);
    c.set.cliques = jpath(c.root, "spec.template.cliques");
    c.set.scaling_groups = jpath(c.root, "spec.template.podCliqueScalingGroups");
    c.set.startup_type = jstr(jpath(c.root, "spec.template.cliqueStartupType"));
    /* An object on its way out is not judged again: rules may be newer than it is. */
    if (old && j_has(jpath(c.root, "metadata.deletionTimestamp")) &&
        jequal(jgetc(c.old, "spec"), jgetc(c.root, "spec")))
        return;
    if (!old && jlen(c.set.cliques) > GROVE_MAX_CLIQUES) {
        field_error_add(errors, FIELD_ERR_TOO_MANY, STR("spec.template.cliques"),
                        arena_printf(c.arena, "%zu", jlen(c.set.cliques)),
                        "must have at most %d items", GROVE_MAX_CLIQUES);
        return;
    }
    index_all(&c);
    if (!old)
        validate_topology(&c);
    check_set(&c);
    if (old && errors->items.len == 0)
        validate_update(&c);
    map_done(&c.clique_index);
    map_done(&c.group_index);
    map_done(&c.member_index);
    map_done(&c.old_clique_index);
    map_done(&c.old_group_index);
}

void grove_validate(const struct kind *k, const struct doc *old, const struct doc *new,
                    struct field_errors *errors)
{
    grove_validate_in(&grove_default_context, k, old, new, errors);
}
