/* Cliques: names, numbers, pods, scheduler, startup order (G16-G39). */
#include "grove/validate_set.h"

#include "kube/pod_rules.h"

#define CLIQUES "spec.template.cliques"

static bool is_explicit(const struct check *c)
{
    return str_is(c->set.startup_type, "CliqueStartupTypeExplicit");
}

/* ---- names ---- */

/* G17, G18; dots would end up in host names. */
static void check_name(struct check *c, size_t i, jval clique)
{
    jval name = jgetc(clique, "name");
    str s = jstr(name);
    if (str_is_dns1123_label(s))
        return;
    str at = check_path(c, CLIQUES "[%zu].name", i);
    if (str_is_empty(str_trim(s)))
        check_required(c, at, "a clique needs a name");
    else if (!str_is_dns1123_subdomain(s))
        check_invalid(c, at, name,
                      "must consist of lower case letters, digits or '-', and start and end with a "
                      "letter or digit");
    else if (str_find_char(s, '.') >= 0)
        check_invalid(c, at, name, "must not contain dots: it becomes part of host names");
}

/* G20 */
static void check_labels(struct check *c, size_t i, jval clique)
{
    for (struct jiter it = jiter(jgetc(clique, "labels")); jnext(&it);) {
        str at = check_path(c, CLIQUES "[%zu].labels", i);
        if (!str_is_qualified_name(it.key))
            field_error_add(c->errors, FIELD_ERR_INVALID, at,
                            check_quoted(c, "%.*s", STR_ARG(it.key)),
                            "is not a label key: an optional DNS prefix and '/', then at most 63 "
                            "letters, digits, '-', '_' or '.'");
        if (!str_is_label_value(jstr(it.value)))
            check_invalid(c, at, it.value,
                          "is not a label value: at most 63 letters, digits, '-', '_' or '.'");
    }
    for (struct jiter it = jiter(jgetc(clique, "annotations")); jnext(&it);) {
        if (!str_is_qualified_name(it.key))
            field_error_add(c->errors, FIELD_ERR_INVALID,
                            check_path(c, CLIQUES "[%zu].annotations", i),
                            check_quoted(c, "%.*s", STR_ARG(it.key)), "is not an annotation key");
    }
}

/* ---- numbers ---- */

/* G21-G24 */
static void check_numbers(struct check *c, size_t i, const struct clique_view *v)
{
    jval min = jgetc(v->spec, "minAvailable");
    if (v->replicas > 0 && v->min_available > 0 && v->min_available <= v->replicas)
        return;
    str at = check_path(c, CLIQUES "[%zu].spec.minAvailable", i);
    if (v->replicas <= 0)
        check_invalid(c, check_path(c, CLIQUES "[%zu].spec.replicas", i),
                      jgetc(v->spec, "replicas"), "must be greater than 0");
    if (!j_has(min))
        check_required(c, at, "the fewest pods that are of any use");
    else if (v->min_available <= 0)
        check_invalid(c, at, min, "must be greater than 0");
    else if (v->min_available > v->replicas)
        check_invalid(c, at, min, "must not be greater than replicas (%lld)",
                      (long long)v->replicas);
}

/* G28-G31 */
static void check_scaling(struct check *c, size_t i, const struct clique_view *v)
{
    jval scaling = jgetc(v->spec, "autoScalingConfig");
    if (jtype(scaling) != J_OBJECT)
        return;
    str at = check_path(c, CLIQUES "[%zu].spec.autoScalingConfig", i);
    str min_at = check_path(c, "%.*s.minReplicas", STR_ARG(at));
    str max_at = check_path(c, "%.*s.maxReplicas", STR_ARG(at));
    jval min = jgetc(scaling, "minReplicas"), max = jgetc(scaling, "maxReplicas");
    if (!j_has(min)) {
        check_required(c, min_at, "must be set");
        return;
    }
    if (jint(min, 0) < v->min_available)
        field_warning_add(c->errors,
                          "%.*s: %lld is below minAvailable (%lld); the autoscaler will not go "
                          "below %lld",
                          STR_ARG(min_at), (long long)jint(min, 0), (long long)v->min_available,
                          (long long)v->min_available);
    if (jint(max, 0) < jint(min, 0))
        check_invalid(c, max_at, max, "must not be below minReplicas (%lld)",
                      (long long)jint(min, 0));
    if (jint(max, 0) < v->replicas)
        check_invalid(c, max_at, max, "must not be below replicas (%lld)", (long long)v->replicas);
}

/* ---- pods ---- */

static bool is_env_name(str s)
{
    if (str_is_empty(s) || str_is(s, ".") || str_starts(s, STR("..")))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char ch = s.p[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '-' ||
                      ch == '.' || ch == '_';
        if (!letter && !(i > 0 && ch >= '0' && ch <= '9'))
            return false;
    }
    return true;
}

/* G32, G33. The ".spec" after podSpec is how the contract spells these paths. */
static void check_env(struct check *c, size_t i, jval pod, const char *list)
{
    for (struct jiter it = jiter(jget(pod, str_of(list))); jnext(&it);) {
        struct map seen = MAP_INIT;
        if (jlen(jgetc(it.value, "env")) == 0)
            continue;
        str at = check_path(c, CLIQUES "[%zu].spec.podSpec.spec.%s[%zu].env", i, list, it.index);
        for (struct jiter e = jiter(jgetc(it.value, "env")); jnext(&e);) {
            jval name = jgetc(e.value, "name");
            if (!is_env_name(jstr(name)))
                check_invalid(
                    c, check_path(c, "%.*s[%zu].name", STR_ARG(at), e.index), name,
                    "must consist of letters, digits, '_', '-' or '.', and not start with "
                    "a digit");
            else if (map_put(&seen, jstr(name), c))
                check_duplicate(c, at, name);
        }
        map_done(&seen);
    }
}

/* Fields Grove sets or the scheduler decides; an object that had them before may keep them. */
static void check_placement(struct check *c, size_t i, jval pod, jval old_pod)
{
    static const char *const fields[] = {"topologySpreadConstraints", "nodeName"};
    static const char *const reasons[] = {
        "is not supported for pods of a gang; use topologyConstraint or replicaSpreadConstraints",
        "must not be set: gangs are placed by the scheduler"};
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        jval v = jget(pod, str_of(fields[f]));
        bool set = j_has(v) && !(jtype(v) == J_STRING && str_is_empty(jstr(v)));
        if (set && !j_has(jget(old_pod, str_of(fields[f]))))
            check_invalid(c, check_path(c, CLIQUES "[%zu].spec.podSpec.spec.%s", i, fields[f]), v,
                          "%s", reasons[f]);
    }
}

/* A webhook for pods may still add volumes and images. */
static bool may_be_added(const struct field_error *found)
{
    return found->type == FIELD_ERR_NOT_FOUND ||
           (found->type == FIELD_ERR_REQUIRED && str_ends(found->field, STR(".image")));
}

/* Pods of such a template would be refused one by one, where nobody looks. What a set had before
 * it may keep. */
static void check_pod_rules(struct check *c, size_t i, jval pod, jval old_pod)
{
    struct field_errors found;
    if (jtype(jgetc(pod, "containers")) != J_ARRAY || jequal(pod, old_pod))
        return; /* without containers: the schema says so */
    field_errors_init(&found, c->arena);
    pod_rules_containers(&found, pod, "");
    pod_rules_parts(&found, pod, "");
    for (size_t k = 0; k < found.items.len; k++) {
        struct field_error one = found.items.p[k];
        one.field = check_path(c, CLIQUES "[%zu].spec.podSpec%.*s", i, STR_ARG(one.field));
        if (may_be_added(&one))
            field_warning_add(c->errors, "%.*s: pods are refused unless something else adds it",
                              STR_ARG(field_error_text(c->arena, &one)));
        else
            field_error_add(c->errors, one.type, one.field, one.value,
                            one.detail.len ? "%.*s" : NULL, STR_ARG(one.detail));
    }
    field_errors_done(&found);
}

static void check_pod(struct check *c, size_t i, const struct clique_view *v)
{
    jval old_pod = jpath(check_old_clique(c, v->name), "spec.podSpec");
    str policy = jstr(jgetc(v->pod_spec, "restartPolicy"));
    if (!str_is_empty(policy) && !str_is(policy, "Always"))
        field_warning_add(c->errors,
                          CLIQUES "[%zu].spec.podSpec.restartPolicy: with %.*s a pod that ends is "
                                  "replaced, not restarted",
                          i, STR_ARG(policy));
    check_env(c, i, v->pod_spec, "containers");
    check_env(c, i, v->pod_spec, "initContainers");
    check_placement(c, i, v->pod_spec, old_pod);
    check_pod_rules(c, i, v->pod_spec, old_pod);
}

/* ---- over all cliques ---- */

/* G34, G35 */
static void check_unique(struct check *c, const char *path, const char *at)
{
    struct map seen = MAP_INIT;
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        jval v = jpath(it.value, path);
        if (!str_is_empty(jstr(v)) && map_put(&seen, jstr(v), c))
            check_duplicate(c, str_of(at), v);
    }
    map_done(&seen);
}

bool check_scheduler_known(const struct check *c, str name)
{
    for (const char *const *known = c->context->schedulers; *known; known++) {
        if (str_is(name, *known))
            return true;
    }
    return false;
}

/* G36, G37 */
static void check_scheduler(struct check *c)
{
    static const char at[] = CLIQUES ".spec.podSpec.schedulerName";
    const char *const *known = c->context->schedulers;
    str first = STR_NONE;
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        jval v = jpath(it.value, "spec.podSpec.schedulerName");
        str name = str_is_empty(jstr(v)) ? str_of(known[0]) : jstr(v);
        if (str_is_empty(first))
            first = name;
        if (!str_eq(first, name)) {
            field_error_add(c->errors, FIELD_ERR_INVALID, STR(at),
                            check_quoted(c, "%.*s,%.*s", STR_ARG(first), STR_ARG(name)),
                            "all cliques must name the same scheduler");
            return;
        }
    }
    if (str_is_empty(first) || check_scheduler_known(c, first))
        return;
    field_error_add(c->errors, FIELD_ERR_INVALID, STR(at), check_quoted(c, "%.*s", STR_ARG(first)),
                    "is not an enabled scheduler");
}

/* ---- startup order ---- */

/* G25-G27 */
static void check_starts_after(struct check *c, size_t i, const struct clique_view *v)
{
    struct map seen = MAP_INIT;
    if (jlen(v->starts_after) == 0)
        return;
    str at = check_path(c, CLIQUES "[%zu].spec.startsAfter", i);
    for (struct jiter it = jiter(v->starts_after); jnext(&it);) {
        str name = jstr(it.value);
        if (str_is_empty(str_trim(name)))
            check_required(c, at, "names of cliques, none of them empty");
        else if (str_eq(name, v->name))
            check_invalid(c, at, it.value, "a clique cannot start after itself");
        else if (map_put(&seen, name, c))
            check_duplicate(c, at, it.value);
    }
    map_done(&seen);
}

/* "router, prefill, decode" */
str check_clique_names(struct check *c, jval cliques)
{
    enum { SHOWN = 20 };
    struct strbuf names = STRBUF_INIT(8192);
    for (struct jiter it = jiter(cliques); jnext(&it) && it.index < SHOWN;)
        strbuf_printf(&names, "%s%.*s", names.len ? ", " : "",
                      STR_ARG(jstr(jgetc(it.value, "name"))));
    if (jlen(cliques) > SHOWN)
        strbuf_printf(&names, " and %zu more", jlen(cliques) - SHOWN);
    str text = arena_str(c->arena, strbuf_str(&names));
    strbuf_done(&names);
    return text;
}

/* G38. The contract has one error for all of them. */
static void check_known(struct check *c)
{
    struct strbuf unknown = STRBUF_INIT(4096), who = STRBUF_INIT(4096);
    size_t n = 0;
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        size_t before = n;
        for (struct jiter d = jiter(jpath(it.value, "spec.startsAfter")); jnext(&d);) {
            str name = jstr(d.value);
            if (str_is_empty(name) || !j_is_absent(check_clique(c, name)))
                continue;
            strbuf_printf(&unknown, "%s%.*s", n++ ? "," : "", STR_ARG(name));
        }
        if (n > before)
            strbuf_printf(&who, "%s%.*s", who.len ? ", " : "",
                          STR_ARG(jstr(jgetc(it.value, "name"))));
    }
    if (n > 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, STR(CLIQUES ".startsAfter"),
                        check_quoted(c, "%s", unknown.p),
                        "clique %.*s starts after %s, but there is no such clique; there are: %.*s",
                        STR_ARG(strbuf_str(&who)), n == 1 ? "it" : "these",
                        STR_ARG(check_clique_names(c, c->set.cliques)));
    strbuf_done(&unknown);
    strbuf_done(&who);
}

/* An order that is written down and not followed. */
static void warn_order(struct check *c, size_t i, const struct clique_view *v)
{
    if (jlen(v->starts_after) > 0 && !j_has(c->old))
        field_warning_add(c->errors,
                          CLIQUES "[%zu].spec.startsAfter has no effect: only cliqueStartupType "
                                  "CliqueStartupTypeExplicit follows it",
                          i);
}

/* Depth-first search; a clique met again on the way down closes a cycle. */
enum { WHITE, GREY, BLACK };

struct order {
    struct check *check;
    unsigned char *color;
    size_t *path;
    struct jiter *next; /* what each clique on the path still waits for */
    size_t depth;
    bool found;
};

static size_t number_of(const struct check *c, str name)
{
    return (size_t)(uintptr_t)map_get(&c->clique_index, name);
}

static void report_cycle(struct order *o, size_t back_to)
{
    struct strbuf names = STRBUF_INIT(8192), shown = STRBUF_INIT(8192);
    size_t from = 0;
    while (o->path[from] != back_to)
        from++;
    for (size_t i = from; i < o->depth; i++) {
        str name = jstr(jgetc(o->check->cliques[o->path[i]], "name"));
        strbuf_add_cstr(&names, i > from ? "," : "");
        json_quote(&names, name);
        strbuf_printf(&shown, "%.*s → ", STR_ARG(name));
    }
    strbuf_add_str(&shown, jstr(jgetc(o->check->cliques[back_to], "name")));
    field_error_add(o->check->errors, FIELD_ERR_INVALID, STR(CLIQUES),
                    check_path(o->check, "[[%s]]", names.p ? names.p : ""),
                    "cliques wait for each other in a circle, so none of them would start: %s",
                    shown.p ? shown.p : "");
    strbuf_done(&names);
    strbuf_done(&shown);
    o->found = true;
}

static void enter(struct order *o, size_t clique)
{
    o->color[clique] = GREY;
    o->path[o->depth] = clique;
    o->next[o->depth++] = jiter(jpath(o->check->cliques[clique], "spec.startsAfter"));
}

/* With its own stack: a manifest may name ten thousand in a row. */
static void visit(struct order *o, size_t start)
{
    enter(o, start);
    while (o->depth > 0 && !o->found) {
        size_t at = o->path[o->depth - 1];
        struct jiter *next = &o->next[o->depth - 1];
        if (!jnext(next)) {
            o->color[at] = BLACK;
            o->depth--;
            continue;
        }
        size_t to = number_of(o->check, jstr(next->value));
        if (to == 0 || o->color[to - 1] == BLACK || to - 1 == at)
            continue;
        if (o->color[to - 1] == GREY)
            report_cycle(o, to - 1);
        else
            enter(o, to - 1);
    }
}

/* G39 */
static void check_cycles(struct check *c)
{
    size_t n = jlen(c->set.cliques);
    struct order o = {.check = c};
    o.color = arena_array(c->arena, unsigned char, n + 1);
    o.path = arena_array(c->arena, size_t, n + 1);
    o.next = arena_array(c->arena, struct jiter, n + 1);
    for (size_t i = 0; i < n && !o.found; i++) {
        if (o.color[i] == WHITE)
            visit(&o, i);
    }
}

void validate_cliques(struct check *c)
{
    if (jlen(c->set.cliques) == 0) {
        check_required(c, STR(CLIQUES), "at least one PodClique must be defined");
        return;
    }
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        struct clique_view v;
        clique_view(it.value, &v);
        check_name(c, it.index, it.value);
        check_labels(c, it.index, it.value);
        check_numbers(c, it.index, &v);
        if (is_explicit(c))
            check_starts_after(c, it.index, &v);
        else
            warn_order(c, it.index, &v);
        check_scaling(c, it.index, &v);
        check_pod(c, it.index, &v);
    }
    check_unique(c, "name", CLIQUES ".name");
    check_unique(c, "spec.roleName", CLIQUES ".roleName");
    check_scheduler(c);
    if (is_explicit(c)) {
        check_known(c);
        check_cycles(c);
    }
}
