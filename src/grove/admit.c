/* Defaulting of a PodCliqueSet and the hashes of its templates. Validation is in validate*.c. */
#include "grove/admit.h"

#include "base/hash.h"
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
