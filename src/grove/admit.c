/*
 * Defaulting and validation of a PodCliqueSet. Each rule is one small function over the views; the
 * order is that of the contract, so messages come out in the order users know.
 */
#include "grove/admit.h"

#include "base/hash.h"
#include "base/map.h"
#include "grove/types.h"
#include "json/edit.h"
#include "json/write.h"

/* ---- defaulting ---- */

struct defaulting {
    struct edit edit;
    struct arena *arena;
};

static str at(struct defaulting *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

static str at(struct defaulting *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str path = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    return path;
}

/* Documents of older versions wrote the startup types without their prefix. */
static const struct {
    const char *written, *meant;
} startup_aliases[] = {
    {"AnyOrder", "CliqueStartupTypeAnyOrder"},
    {"InOrder", "CliqueStartupTypeInOrder"},
    {"Explicit", "CliqueStartupTypeExplicit"},
};

static void default_startup_type(struct defaulting *d, jval template)
{
    str type = jstr(jgetc(template, "cliqueStartupType"));
    for (size_t i = 0; i < ARRAY_LEN(startup_aliases); i++) {
        if (str_is(type, startup_aliases[i].written))
            edit_set_str(&d->edit, STR("/spec/template/cliqueStartupType"),
                         str_of(startup_aliases[i].meant));
    }
}

/* Not given: absent, null or an empty string. Anything else, wrong types too, is the user's. */
static bool is_blank(jval v)
{
    return !j_has(v) || (jtype(v) == J_STRING && str_is_empty(jstr(v)));
}

static void default_min_replicas(struct defaulting *d, jval scaling, int64_t replicas, str path)
{
    if (jtype(scaling) == J_OBJECT && !j_has(jgetc(scaling, "minReplicas")))
        edit_set_int(&d->edit, path, replicas);
}

static void default_clique(struct defaulting *d, size_t i, jval clique)
{
    jval spec = jgetc(clique, "spec");
    if (jtype(spec) != J_OBJECT)
        return;
    jval pod = jgetc(spec, "podSpec");
    if (jtype(pod) == J_OBJECT) {
        if (is_blank(jgetc(pod, "restartPolicy")))
            edit_set_str(&d->edit,
                         at(d, "/spec/template/cliques/%zu/spec/podSpec/restartPolicy", i),
                         STR("Always"));
        if (!j_has(jgetc(pod, "terminationGracePeriodSeconds")))
            edit_set_int(
                &d->edit,
                at(d, "/spec/template/cliques/%zu/spec/podSpec/terminationGracePeriodSeconds", i),
                30);
    }
    if (is_blank(jgetc(spec, "roleName")) && !str_is_empty(jstr(jgetc(clique, "name"))))
        edit_set_str(&d->edit, at(d, "/spec/template/cliques/%zu/spec/roleName", i),
                     jstr(jgetc(clique, "name")));
    jval given = jgetc(spec, "replicas");
    int64_t replicas = 0;
    if (j_has(given) && !jint_get(given, &replicas))
        return; /* not a number: there is nothing to derive from it */
    if (replicas == 0) {
        replicas = 1;
        edit_set_int(&d->edit, at(d, "/spec/template/cliques/%zu/spec/replicas", i), replicas);
    }
    if (!j_has(jgetc(spec, "minAvailable")))
        edit_set_int(&d->edit, at(d, "/spec/template/cliques/%zu/spec/minAvailable", i), replicas);
    default_min_replicas(d, jgetc(spec, "autoScalingConfig"), replicas,
                         at(d, "/spec/template/cliques/%zu/spec/autoScalingConfig/minReplicas", i));
}

static void default_pcs(struct defaulting *d, jval root, str ns)
{
    if (is_blank(jpath(root, "metadata.namespace")) && !str_is_empty(ns))
        edit_set_str(&d->edit, STR("/metadata/namespace"), ns);
    jval template = jpath(root, "spec.template");
    if (jtype(template) != J_OBJECT)
        return;
    default_startup_type(d, template);
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);)
        default_clique(d, it.index, it.value);
    for (struct jiter it = jiter(jgetc(template, "podCliqueScalingGroups")); jnext(&it);)
        default_min_replicas(
            d, jgetc(it.value, "scaleConfig"), jint(jgetc(it.value, "replicas"), 1),
            at(d, "/spec/template/podCliqueScalingGroups/%zu/scaleConfig/minReplicas", it.index));
    if (!j_has(jgetc(template, "terminationDelay")))
        edit_set_str(&d->edit, STR("/spec/template/terminationDelay"), STR("4h0m0s"));
    if (!j_has(jgetc(template, "headlessServiceConfig")))
        edit_set_raw(&d->edit, STR("/spec/template/headlessServiceConfig"),
                     STR("{\"publishNotReadyAddresses\":true}"));
}

struct doc *grove_default(const struct kind *k, struct doc *doc, str ns)
{
    if (k != &kind_pcs)
        return doc_ref(doc);
    struct arena arena = ARENA_INIT;
    struct defaulting d = {.arena = &arena};
    edit_init(&d.edit, &arena);
    default_pcs(&d, doc_root(doc), ns);
    struct doc *out = edit_is_empty(&d.edit) ? doc_ref(doc) : edit_apply(&d.edit, doc, NULL);
    edit_done(&d.edit);
    arena_done(&arena);
    /* An edit cannot fail here: every path was checked to run through objects. */
    return out ? out : doc_ref(doc);
}

/* ---- validation ---- */

struct check {
    struct field_errors *errors;
    struct arena *arena;
    struct map cliques; /* names in the template */
};

static str path_of(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static str path_of(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str path = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    return path;
}

static void check_clique(struct check *c, size_t i, jval value)
{
    struct clique_view v;
    clique_view(value, &v);
    str name_at = path_of(c, "spec.template.cliques[%zu].name", i);
    if (str_is_empty(v.name))
        field_error_add(c->errors, FIELD_ERR_REQUIRED, name_at, STR_NONE, "a clique needs a name");
    else if (!str_is_dns1123_subdomain(v.name))
        field_error_add(c->errors, FIELD_ERR_INVALID, name_at, jtext(jgetc(value, "name")),
                        "must consist of lower case letters, digits, '-' or '.', and start and end "
                        "with a letter or digit");
    if (jtype(v.spec) != J_OBJECT)
        return; /* the schema says so */
    str spec_at = path_of(c, "spec.template.cliques[%zu].spec", i);
    if (v.replicas <= 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, path_of(c, "%.*s.replicas", STR_ARG(spec_at)),
                        jtext(jgetc(v.spec, "replicas")), "must be greater than 0");
    str min_at = path_of(c, "%.*s.minAvailable", STR_ARG(spec_at));
    jval min = jgetc(v.spec, "minAvailable");
    if (!j_has(min))
        field_error_add(c->errors, FIELD_ERR_REQUIRED, min_at, STR_NONE, "must be set");
    else if (v.min_available <= 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, min_at, jtext(min), "must be greater than 0");
    else if (v.min_available > v.replicas)
        field_error_add(c->errors, FIELD_ERR_INVALID, min_at, jtext(min),
                        "must not be greater than replicas (%lld)", (long long)v.replicas);
}

/* Reports a name that occurs twice under the path of the list. */
static void check_unique(struct check *c, jval list, const char *key, const char *path)
{
    struct map seen = MAP_INIT;
    for (struct jiter it = jiter(list); jnext(&it);) {
        jval v = jget(it.value, str_of(key));
        str s = jstr(v);
        if (str_is_empty(s))
            continue;
        if (map_has(&seen, s))
            field_error_add(c->errors, FIELD_ERR_DUPLICATE, str_of(path), jtext(v), "%s", "");
        (void)map_put(&seen, s, c);
    }
    map_done(&seen);
}

/* One error names all members the template does not know. */
static void check_members(struct check *c, jval names, str at)
{
    struct strbuf unknown = STRBUF_INIT(64 << 10), quoted = STRBUF_INIT(256 << 10);
    size_t n = 0;
    for (struct jiter it = jiter(names); jnext(&it);) {
        if (!map_has(&c->cliques, jstr(it.value)))
            strbuf_printf(&unknown, "%s%.*s", n++ ? "," : "", STR_ARG(jstr(it.value)));
    }
    json_quote(&quoted, strbuf_str(&unknown));
    if (n)
        field_error_add(c->errors, FIELD_ERR_INVALID, at, strbuf_str(&quoted),
                        "cliques that are not in the template");
    strbuf_done(&unknown);
    strbuf_done(&quoted);
}

static void check_group(struct check *c, size_t i, jval value)
{
    struct group_view v;
    group_view(value, &v);
    str at = path_of(c, "spec.template.podCliqueScalingGroups[%zu]", i);
    if (!str_is_dns1123_subdomain(v.name))
        field_error_add(c->errors, FIELD_ERR_INVALID, path_of(c, "%.*s.name", STR_ARG(at)),
                        j_has(jgetc(value, "name")) ? jtext(jgetc(value, "name")) : STR("\"\""),
                        "must consist of lower case letters, digits, '-' or '.'");
    check_members(c, v.clique_names, path_of(c, "%.*s.cliqueNames", STR_ARG(at)));
    if (v.replicas <= 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, path_of(c, "%.*s.replicas", STR_ARG(at)),
                        jtext(jgetc(value, "replicas")), "must be greater than 0");
    str min_at = path_of(c, "%.*s.minAvailable", STR_ARG(at));
    if (v.min_available <= 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, min_at, jtext(jgetc(value, "minAvailable")),
                        "must be greater than 0");
    else if (v.min_available > v.replicas)
        field_error_add(c->errors, FIELD_ERR_INVALID, min_at, jtext(jgetc(value, "minAvailable")),
                        "must not be greater than replicas (%lld)", (long long)v.replicas);
}

/* A clique may be in one group at most. */
static void check_membership(struct check *c, const struct pcs_view *pcs)
{
    struct map seen = MAP_INIT;
    for (struct jiter g = jiter(pcs->scaling_groups); jnext(&g);) {
        for (struct jiter n = jiter(jgetc(g.value, "cliqueNames")); jnext(&n);) {
            if (str_is_empty(jstr(n.value)))
                continue;
            if (map_has(&seen, jstr(n.value)))
                field_error_add(c->errors, FIELD_ERR_DUPLICATE,
                                STR("spec.template.podCliqueScalingGroups.cliqueNames"),
                                jtext(n.value), "%s", "");
            (void)map_put(&seen, jstr(n.value), c);
        }
    }
    map_done(&seen);
}

static void check_pcs(struct check *c, jval root)
{
    struct pcs_view v = {0};
    v.cliques = jpath(root, "spec.template.cliques");
    v.scaling_groups = jpath(root, "spec.template.podCliqueScalingGroups");
    jval replicas = jpath(root, "spec.replicas");
    if (jint(replicas, 0) < 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, STR("spec.replicas"), jtext(replicas),
                        "must be greater than or equal to 0");
    if (jlen(v.cliques) == 0)
        field_error_add(c->errors, FIELD_ERR_REQUIRED, STR("spec.template.cliques"), STR_NONE,
                        "at least one PodClique must be defined");
    for (struct jiter it = jiter(v.cliques); jnext(&it);) {
        check_clique(c, it.index, it.value);
        str name = jstr(jgetc(it.value, "name"));
        if (!str_is_empty(name))
            (void)map_put(&c->cliques, name, c);
    }
    check_unique(c, v.cliques, "name", "spec.template.cliques.name");
    for (struct jiter it = jiter(v.scaling_groups); jnext(&it);)
        check_group(c, it.index, it.value);
    check_unique(c, v.scaling_groups, "name", "spec.template.podCliqueScalingGroups.name");
    check_membership(c, &v);
}

void grove_validate(const struct kind *k, const struct doc *old, const struct doc *new,
                    struct field_errors *errors)
{
    if (k != &kind_pcs)
        return;
    struct check c = {.errors = errors, .arena = errors->arena};
    check_pcs(&c, doc_root(new));
    map_done(&c.cliques);
    (void)old;
}

/* ---- hashes ---- */

/* What a pod is made from: labels, annotations and pod spec of the clique, with the priority class
 * of the set. */
static void hash_input(struct strbuf *out, jval template, jval clique)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "annotations", jgetc(clique, "annotations"));
    jw_put(&w, "labels", jgetc(clique, "labels"));
    jw_put(&w, "priorityClassName", jgetc(template, "priorityClassName"));
    jw_put_object(&w, "spec");
    for (struct jiter it = jiter(jpath(clique, "spec.podSpec")); jnext(&it);) {
        if (str_is(it.key, "priorityClassName"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_end(&w);
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    jcanonical(doc_root(d), true, out);
    doc_unref(d);
}

uint64_t grove_clique_hash(jval template, jval clique)
{
    struct strbuf buf = STRBUF_INIT(64u << 20);
    hash_input(&buf, template, clique);
    uint64_t h = hash_fnv1a64(strbuf_str(&buf));
    strbuf_done(&buf);
    return h;
}

uint64_t grove_generation_hash(jval template)
{
    struct strbuf buf = STRBUF_INIT(64u << 20);
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);)
        hash_input(&buf, template, it.value);
    uint64_t h = hash_fnv1a64(strbuf_str(&buf));
    strbuf_done(&buf);
    return h;
}
