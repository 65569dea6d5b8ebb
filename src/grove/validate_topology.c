/*
 * Topology constraints of a new set against the binding they name (section 3.4 of the contract),
 * the rules of bindings themselves, and the annotation that groups pods of one NVLink domain.
 */
#include "grove/validate_set.h"

/* A place that may carry a constraint. */
struct place {
    jval constraint; /* absent: none */
    str path;
    str kind; /* "PodCliqueSet", "PodCliqueScalingGroup", "PodClique" */
    str name;
    str topology; /* resolved name, empty: not resolved */
};

struct places {
    struct place set;
    struct place *groups, *cliques;
    size_t n_groups, n_cliques;
};

static void collect(struct check *c, struct places *p)
{
    jval template = jpath(c->root, "spec.template");
    p->set = (struct place){jgetc(template, "topologyConstraint"),
                            STR("spec.template.topologyConstraint"), STR("PodCliqueSet"), STR_NONE,
                            STR_NONE};
    p->n_groups = jlen(c->set.scaling_groups);
    p->n_cliques = jlen(c->set.cliques);
    p->groups = arena_array(c->arena, struct place, p->n_groups + 1);
    p->cliques = arena_array(c->arena, struct place, p->n_cliques + 1);
    for (size_t i = 0; i < p->n_groups; i++)
        p->groups[i] = (struct place){
            jgetc(c->groups[i], "topologyConstraint"),
            check_path(c, "spec.template.podCliqueScalingGroups[%zu].topologyConstraint", i),
            STR("PodCliqueScalingGroup"), jstr(jgetc(c->groups[i], "name")), STR_NONE};
    for (size_t i = 0; i < p->n_cliques; i++)
        p->cliques[i] =
            (struct place){jgetc(c->cliques[i], "topologyConstraint"),
                           check_path(c, "spec.template.cliques[%zu].topologyConstraint", i),
                           STR("PodClique"), jstr(jgetc(c->cliques[i], "name")), STR_NONE};
}

/* All places in one order: set, groups, cliques. */
static struct place *place_at(struct places *p, size_t i)
{
    if (i == 0)
        return &p->set;
    return i <= p->n_groups ? &p->groups[i - 1] : &p->cliques[i - 1 - p->n_groups];
}

static size_t count(const struct places *p)
{
    return 1 + p->n_groups + p->n_cliques;
}

static struct place *group_place(struct check *c, struct places *p, str clique)
{
    size_t n = (size_t)(uintptr_t)map_get(&c->member_index, clique);
    return n ? &p->groups[n - 1] : NULL;
}

/* ---- which binding ---- */

/* A child takes its name from above; an explicit one must agree. */
static void resolve(struct check *c, struct place *at, str above)
{
    jval name = jgetc(at->constraint, "topologyName");
    str own = jstr(name);
    str path = check_path(c, "%.*s.topologyName", STR_ARG(at->path));
    if (!j_has(at->constraint))
        return;
    if (str_is_empty(own) && str_is_empty(above))
        check_required(c, path, "the ClusterTopologyBinding whose domains are meant");
    else if (!str_is_empty(own) && !str_is_empty(above) && !str_eq(own, above))
        check_invalid(c, path, name, "must be \"%.*s\" like the constraint above it",
                      STR_ARG(above));
    at->topology = str_is_empty(own) ? above : own;
}

/* Siblings without a constraint above them may have resolved to different bindings. */
static bool names_differ(struct places *p)
{
    str first = STR_NONE;
    for (size_t i = 0; i < count(p); i++) {
        str name = place_at(p, i)->topology;
        if (str_is_empty(first))
            first = name;
        if (!str_is_empty(name) && !str_eq(name, first))
            return true;
    }
    return false;
}

/* Which of them is wrong cannot be known: all that were written are named. */
static void refuse_names(struct check *c, struct places *p)
{
    for (size_t i = 0; i < count(p); i++) {
        const struct place *at = place_at(p, i);
        jval name = jgetc(at->constraint, "topologyName");
        if (!str_is_empty(jstr(name)))
            check_invalid(c, check_path(c, "%.*s.topologyName", STR_ARG(at->path)), name,
                          "all constraints of one set must name the same binding");
    }
}

static bool resolve_all(struct check *c, struct places *p)
{
    size_t before = c->errors->items.len;
    resolve(c, &p->set, STR_NONE);
    for (size_t i = 0; i < p->n_groups; i++)
        resolve(c, &p->groups[i], p->set.topology);
    for (size_t i = 0; i < p->n_cliques; i++) {
        const struct place *group = group_place(c, p, p->cliques[i].name);
        str above = group && !str_is_empty(group->topology) ? group->topology : p->set.topology;
        resolve(c, &p->cliques[i], above);
    }
    if (c->errors->items.len == before && names_differ(p))
        refuse_names(c, p);
    return c->errors->items.len == before;
}

/* ---- domains ---- */

/* Place in the list of levels, 0 is the broadest; -1: unknown. */
static int64_t level_of(jval levels, jval domain)
{
    for (struct jiter it = jiter(levels); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "domain")), jstr(domain)))
            return (int64_t)it.index;
    }
    return -1;
}

static void check_domain(struct check *c, jval levels, const struct place *at, const char *member)
{
    jval domain = jpath(at->constraint, member);
    if (!j_has(domain) || level_of(levels, domain) >= 0)
        return;
    struct strbuf known = STRBUF_INIT(4096);
    for (struct jiter it = jiter(levels); jnext(&it);)
        strbuf_printf(&known, "%s%.*s", it.index ? ", " : "",
                      STR_ARG(jstr(jgetc(it.value, "domain"))));
    check_invalid(c, check_path(c, "%.*s.%s", STR_ARG(at->path), member), domain,
                  "the binding has no such domain; it has %s", known.p ? known.p : "none");
    strbuf_done(&known);
}

/* What is above must not be narrower than what is below. */
static void check_pair(struct check *c, jval levels, const struct place *above,
                       const struct place *below, jval (*effective)(jval), const char *suffix)
{
    jval a = effective(above->constraint), b = effective(below->constraint);
    if (!j_has(a) || !j_has(b) || level_of(levels, a) <= level_of(levels, b))
        return;
    check_invalid(c, check_path(c, "%.*s%s", STR_ARG(above->path), suffix), a,
                  "%.*s%s%.*s packs into \"%.*s\", which is narrower than \"%.*s\" of %.*s %.*s",
                  STR_ARG(above->kind), str_is_empty(above->name) ? "" : " ", STR_ARG(above->name),
                  STR_ARG(jstr(a)), STR_ARG(jstr(b)), STR_ARG(below->kind), STR_ARG(below->name));
}

static void check_both(struct check *c, jval levels, const struct place *above,
                       const struct place *below)
{
    if (!j_has(above->constraint) || !j_has(below->constraint))
        return;
    check_pair(c, levels, above, below, topology_required, "");
    check_pair(c, levels, above, below, topology_preferred, ".pack.preferred");
}

static void check_hierarchy(struct check *c, jval levels, struct places *p)
{
    for (size_t i = 0; i < p->n_cliques; i++)
        check_both(c, levels, &p->set, &p->cliques[i]);
    for (size_t i = 0; i < p->n_groups; i++)
        check_both(c, levels, &p->set, &p->groups[i]);
    for (size_t i = 0; i < p->n_cliques; i++) {
        const struct place *group = group_place(c, p, p->cliques[i].name);
        if (group)
            check_both(c, levels, group, &p->cliques[i]);
    }
}

static void warn_redundant(struct check *c, jval levels, const struct place *at)
{
    jval required = topology_required(at->constraint);
    jval preferred = topology_preferred(at->constraint);
    if (j_has(required) && j_has(preferred) &&
        level_of(levels, preferred) < level_of(levels, required))
        field_warning_add(c->errors,
                          "%.*s.pack.preferred: \"%.*s\" is broader than the required \"%.*s\" and "
                          "therefore redundant",
                          STR_ARG(at->path), STR_ARG(jstr(preferred)), STR_ARG(jstr(required)));
}

static void check_against_binding(struct check *c, struct places *p, str name)
{
    size_t before = c->errors->items.len;
    jval levels = c->context->levels(c->context->ctx, name);
    if (j_is_absent(levels)) {
        field_error_add(c->errors, FIELD_ERR_INVALID,
                        STR("spec.template.topologyConstraint.topologyName"),
                        check_quoted(c, "%.*s", STR_ARG(name)),
                        "there is no ClusterTopologyBinding of that name");
        return;
    }
    for (size_t i = 0; i < count(p); i++) {
        check_domain(c, levels, place_at(p, i), "packDomain");
        check_domain(c, levels, place_at(p, i), "pack.required");
        check_domain(c, levels, place_at(p, i), "pack.preferred");
    }
    if (c->errors->items.len != before)
        return;
    check_hierarchy(c, levels, p);
    for (size_t i = 0; i < count(p); i++)
        warn_redundant(c, levels, place_at(p, i));
}

/* In the words of the contract: scripts look for them. */
static void check_shape(struct check *c, const struct place *at)
{
    jval pack = jgetc(at->constraint, "pack"), old = jgetc(at->constraint, "packDomain");
    str path = check_path(c, "%.*s.pack", STR_ARG(at->path));
    if (!j_has(at->constraint))
        return;
    if (!j_has(pack) && !j_has(old))
        check_required(c, path, "topologyConstraint must specify pack or deprecated packDomain");
    else if (j_has(pack) && !j_has(jgetc(pack, "required")) && !j_has(jgetc(pack, "preferred")))
        check_required(c, path, "pack must specify at least one of required or preferred");
    if (j_has(old) && j_has(jgetc(pack, "required")))
        check_invalid(c, at->path, at->constraint,
                      "must not set both pack.required and deprecated packDomain");
    else if (j_has(old))
        check_forbidden(c, check_path(c, "%.*s.packDomain", STR_ARG(at->path)),
                        "packDomain is deprecated and cannot be used on new workloads; use "
                        "pack.required");
}

static bool has_constraints(const struct check *c)
{
    bool any = j_has(jpath(c->root, "spec.template.topologyConstraint"));
    for (struct jiter it = jiter(c->set.cliques); jnext(&it) && !any;)
        any = j_has(jgetc(it.value, "topologyConstraint"));
    for (struct jiter it = jiter(c->set.scaling_groups); jnext(&it) && !any;)
        any = j_has(jgetc(it.value, "topologyConstraint"));
    return any;
}

void validate_topology(struct check *c)
{
    struct places p;
    str name = STR_NONE;
    size_t before = c->errors->items.len;
    if (!has_constraints(c))
        return;
    collect(c, &p);
    for (size_t i = 0; i < count(&p); i++) {
        struct place *at = place_at(&p, i);
        if (j_has(at->constraint) && !c->context->topology_enabled)
            check_invalid(c, at->path, at->constraint,
                          "topology-aware scheduling is disabled in the operator's configuration");
        else
            check_shape(c, at);
    }
    if (c->errors->items.len != before || !resolve_all(c, &p))
        return;
    for (size_t i = 0; i < count(&p) && str_is_empty(name); i++)
        name = place_at(&p, i)->topology;
    if (!str_is_empty(name) && c->context->levels)
        check_against_binding(c, &p, name);
}

/* ---- bindings ---- */

void validate_binding(struct check *c)
{
    static const char *const members[] = {"domain", "key"};
    for (size_t m = 0; m < ARRAY_LEN(members); m++) {
        struct map seen = MAP_INIT;
        for (struct jiter it = jiter(jpath(c->root, "spec.levels")); jnext(&it);) {
            jval v = jget(it.value, str_of(members[m]));
            if (!str_is_empty(jstr(v)) && map_put(&seen, jstr(v), c))
                check_duplicate(c, check_path(c, "spec.levels[%zu].%s", it.index, members[m]), v);
        }
        map_done(&seen);
    }
    if (jlen(jpath(c->root, "spec.levels")) == 0)
        check_required(c, STR("spec.levels"), "at least one level");
    struct map seen = MAP_INIT;
    for (struct jiter it = jiter(jpath(c->root, "spec.schedulerTopologyBindings")); jnext(&it);) {
        jval name = jgetc(it.value, "schedulerName");
        /* The path is the field's older name: that is how the contract spells it. */
        str at = check_path(c, "spec.schedulerTopologyReferences[%zu].schedulerName", it.index);
        if (!str_is_empty(jstr(name)) && map_put(&seen, jstr(name), c))
            check_duplicate(c, at, name);
        else if (!check_scheduler_known(c, jstr(name)))
            check_invalid(c, at, name, "scheduler backend is not enabled in Grove");
        else if (!str_is(jstr(name), "kai-scheduler"))
            check_invalid(c, at, name,
                          "scheduler backend does not implement topology-aware scheduling; only "
                          "kai-scheduler keeps a topology of its own");
    }
    map_done(&seen);
}

/* ---- NVLink groups ---- */

#define MNNVL "grove.io/mnnvl-group"

static void check_mnnvl_value(struct check *c, jval annotations, str path)
{
    jval v = jget(annotations, STR(MNNVL));
    str at = check_path(c, "%.*s." MNNVL, STR_ARG(path));
    if (j_is_absent(v))
        return;
    if (str_is_empty(jstr(v)))
        check_invalid(c, at, v, "must name a group, or be \"none\"");
    else if (!str_is(jstr(v), "none") && !str_is_dns1123_label(jstr(v)))
        check_invalid(c, at, v, "must be \"none\" or a DNS label of at most 63 characters");
    else if (!str_is(jstr(v), "none") && !c->context->mnnvl_enabled)
        check_invalid(c, at, v,
                      "multi-node NVLink is disabled in the operator's configuration; enable it or "
                      "remove the annotation");
}

static void check_mnnvl_kept(struct check *c, jval old, jval new, str path)
{
    jval before = jget(old, STR(MNNVL)), after = jget(new, STR(MNNVL));
    str at = check_path(c, "%.*s." MNNVL, STR_ARG(path));
    if (j_is_absent(before) && !j_is_absent(after))
        check_forbidden(c, at, "cannot be added after creation");
    else if (!j_is_absent(before) && j_is_absent(after))
        check_forbidden(c, at, "cannot be removed after creation");
    else if (!str_eq(jstr(before), jstr(after)))
        check_invalid(c, at, after, "is immutable: it was \"%.*s\"", STR_ARG(jstr(before)));
}

static void check_mnnvl_list(struct check *c, const jval *items, size_t n, const char *list,
                             jval (*before)(const struct check *c, str name))
{
    for (size_t i = 0; i < n; i++) {
        jval annotations = jgetc(items[i], "annotations");
        jval old = before(c, jstr(jgetc(items[i], "name")));
        if (!j_has(annotations) && !j_has(jgetc(old, "annotations")))
            continue;
        str at = check_path(c, "%s[%zu].annotations", list, i);
        if (j_is_absent(c->old))
            check_mnnvl_value(c, annotations, at);
        else if (!j_is_absent(old))
            check_mnnvl_kept(c, jgetc(old, "annotations"), annotations, at);
    }
}

void validate_mnnvl(struct check *c)
{
    jval annotations = jpath(c->root, "metadata.annotations");
    if (j_is_absent(c->old))
        check_mnnvl_value(c, annotations, STR("metadata.annotations"));
    else
        check_mnnvl_kept(c, jpath(c->old, "metadata.annotations"), annotations,
                         STR("metadata.annotations"));
    check_mnnvl_list(c, c->cliques, jlen(c->set.cliques), "spec.template.cliques",
                     check_old_clique);
    check_mnnvl_list(c, c->groups, jlen(c->set.scaling_groups),
                     "spec.template.podCliqueScalingGroups", check_old_group);
}
