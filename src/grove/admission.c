/* Defaulting of a PodCliqueSet. Validation is in validate*.c. */
#include "grove/admission.h"

#include "grove/types.h"
#include "json/edit.h"

/* ---- defaulting ---- */

struct defaulting {
    struct edit *edit;
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
            edit_set_str(d->edit, STR("/spec/template/cliqueStartupType"),
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
        edit_set_int(d->edit, path, replicas);
}

/* A pointer below a clique. A manifest may have ten thousand: no printf for each field. */
static str below(struct defaulting *d, str clique, const char *rest)
{
    size_t n = strlen(rest);
    char *p = arena_alloc(d->arena, clique.len + n + 1);
    memcpy(p, clique.p, clique.len);
    memcpy(p + clique.len, rest, n);
    return str_n(p, clique.len + n);
}

static void default_pod(struct defaulting *d, str clique, jval pod)
{
    if (jtype(pod) != J_OBJECT)
        return;
    if (is_blank(jgetc(pod, "restartPolicy")))
        edit_set_str(d->edit, below(d, clique, "/spec/podSpec/restartPolicy"), STR("Always"));
    if (!j_has(jgetc(pod, "terminationGracePeriodSeconds")))
        edit_set_raw(d->edit, below(d, clique, "/spec/podSpec/terminationGracePeriodSeconds"),
                     STR("30"));
}

static void default_clique(struct defaulting *d, size_t i, jval clique)
{
    jval spec = jgetc(clique, "spec");
    if (jtype(spec) != J_OBJECT)
        return;
    str path = at(d, "/spec/template/cliques/%zu", i);
    default_pod(d, path, jgetc(spec, "podSpec"));
    if (is_blank(jgetc(spec, "roleName")) && !str_is_empty(jstr(jgetc(clique, "name"))))
        edit_set_str(d->edit, below(d, path, "/spec/roleName"), jstr(jgetc(clique, "name")));
    jval given = jgetc(spec, "replicas");
    int64_t replicas = 0;
    if (j_has(given) && !jint_get(given, &replicas))
        return; /* not a number: there is nothing to derive from it */
    str number = replicas == 0 ? STR("1") : jtext(given);
    if (replicas == 0)
        edit_set_raw(d->edit, below(d, path, "/spec/replicas"), number);
    if (!j_has(jgetc(spec, "minAvailable")))
        edit_set_raw(d->edit, below(d, path, "/spec/minAvailable"), number);
    if (j_has(jgetc(spec, "autoScalingConfig")))
        default_min_replicas(d, jgetc(spec, "autoScalingConfig"), replicas == 0 ? 1 : replicas,
                             below(d, path, "/spec/autoScalingConfig/minReplicas"));
}

static void default_pcs(struct defaulting *d, jval root, str ns)
{
    jval meta = jgetc(root, "metadata");
    bool can_name = !j_has(meta) || jtype(meta) == J_OBJECT;
    if (can_name && is_blank(jgetc(meta, "namespace")) && !str_is_empty(ns))
        edit_set_str(d->edit, STR("/metadata/namespace"), ns);
    jval template = jpath(root, "spec.template");
    if (jtype(template) != J_OBJECT)
        return;
    default_startup_type(d, template);
    /* More than a set may have are not worth the work: it is refused. */
    jval cliques = jgetc(template, "cliques");
    for (struct jiter it = jiter(cliques); jlen(cliques) <= GROVE_MAX_CLIQUES && jnext(&it);)
        default_clique(d, it.index, it.value);
    for (struct jiter it = jiter(jgetc(template, "podCliqueScalingGroups")); jnext(&it);)
        default_min_replicas(
            d, jgetc(it.value, "scaleConfig"), jint(jgetc(it.value, "replicas"), 1),
            at(d, "/spec/template/podCliqueScalingGroups/%zu/scaleConfig/minReplicas", it.index));
    if (!j_has(jgetc(template, "terminationDelay")))
        edit_set_str(d->edit, STR("/spec/template/terminationDelay"), STR("4h0m0s"));
    if (!j_has(jgetc(template, "headlessServiceConfig")))
        edit_set_raw(d->edit, STR("/spec/template/headlessServiceConfig"),
                     STR("{\"publishNotReadyAddresses\":true}"));
}

void grove_default_edits(const struct kind *k, const struct doc *doc, str ns, struct edit *ret)
{
    struct defaulting d = {.edit = ret, .arena = ret->arena};
    if (k == &kind_pcs)
        default_pcs(&d, doc_root(doc), ns);
}

struct doc *grove_default(const struct kind *k, struct doc *doc, str ns)
{
    struct arena arena = ARENA_INIT;
    struct edit edit;
    edit_init(&edit, &arena);
    grove_default_edits(k, doc, ns, &edit);
    struct doc *out = edit_is_empty(&edit) ? doc_ref(doc) : edit_apply(&edit, doc, NULL);
    edit_done(&edit);
    arena_done(&arena);
    /* An edit cannot fail here: every path was checked to run through objects. */
    return out ? out : doc_ref(doc);
}

void grove_default_strategy(str strategy, jval old, jval object, struct edit *ret)
{
    jval spec = jgetc(object, "spec");
    if (str_is_empty(strategy) || jtype(spec) != J_OBJECT || j_has(jgetc(spec, "updateStrategy")) ||
        (j_has(old) && !str_eq(jstr(jpath(old, "spec.updateStrategy.type")), strategy)))
        return;
    edit_set_str(ret, STR("/spec/updateStrategy/type"), strategy);
}
