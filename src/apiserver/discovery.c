/*
 * Discovery: which kinds are served, told from the tables in the two forms clients ask for, one
 * aggregated document or one list per group version.
 */
#include "apiserver/front.h"

#include "json/write.h"

static const struct {
    unsigned bit;
    const char *name;
} verb_names[] = {
    {VERB_CREATE, "create"}, {VERB_DELETE, "delete"}, {VERB_DELETE_COLLECTION, "deletecollection"},
    {VERB_GET, "get"},       {VERB_LIST, "list"},     {VERB_PATCH, "patch"},
    {VERB_UPDATE, "update"}, {VERB_WATCH, "watch"},
};

static const struct subresource status_subresource = {"status", NULL, NULL, NULL,
                                                      VERB_GET | VERB_PATCH | VERB_UPDATE};
static const struct subresource scale_subresource = {"scale", "autoscaling", "v1", "Scale",
                                                     VERB_GET | VERB_PATCH | VERB_UPDATE};

static void put_verbs(struct jw *w, unsigned verbs)
{
    jw_put_array(w, "verbs");
    for (size_t i = 0; i < ARRAY_LEN(verb_names); i++) {
        if (verbs & verb_names[i].bit)
            jw_str(w, str_of(verb_names[i].name));
    }
    jw_end(w);
}

static void put_words(struct jw *w, const char *key, const char *words)
{
    if (!words)
        return;
    str rest = str_of(words);
    jw_put_array(w, key);
    while (rest.p && rest.len > 0)
        jw_str(w, str_cut(&rest, ','));
    jw_end(w);
}

/* Calls fn for every subresource of a kind, status and scale included. */
static void each_subresource(const struct kind *k,
                             void (*fn)(struct jw *w, const struct kind *k,
                                        const struct subresource *s),
                             struct jw *w)
{
    if (kind_is(k, KIND_SCALE))
        fn(w, k, &scale_subresource);
    if (kind_is(k, KIND_STATUS))
        fn(w, k, &status_subresource);
    for (size_t i = 0; i < k->n_subresources; i++)
        fn(w, k, &k->subresources[i]);
}

/* The first kind of each group version stands for it; registry order is preference. */
static bool is_first_of_version(size_t id)
{
    const struct kind *k = kinds_at(id);
    for (size_t i = 0; i < id; i++) {
        if (str_is(str_of(kinds_at(i)->group), k->group) &&
            str_is(str_of(kinds_at(i)->version), k->version))
            return false;
    }
    return true;
}

static bool is_first_of_group(size_t id)
{
    for (size_t i = 0; i < id; i++) {
        if (str_is(str_of(kinds_at(i)->group), kinds_at(id)->group))
            return false;
    }
    return true;
}

static bool same_version(const struct kind *a, const struct kind *b)
{
    return str_is(str_of(a->group), b->group) && str_is(str_of(a->version), b->version);
}

/* ---- aggregated ---- */

static void put_response_kind(struct jw *w, const char *group, const char *version,
                              const char *kind)
{
    jw_put_object(w, "responseKind");
    jw_put_cstr(w, "group", group);
    jw_put_cstr(w, "version", version);
    jw_put_cstr(w, "kind", kind);
    jw_end(w);
}

static void put_aggregated_subresource(struct jw *w, const struct kind *k,
                                       const struct subresource *s)
{
    bool own =
        !s->kind || (str_is(str_of(s->group), k->group) && str_is(str_of(s->version), k->version));
    jw_object(w);
    jw_put_cstr(w, "subresource", s->name);
    put_response_kind(w, own ? "" : s->group, own ? "" : s->version, s->kind ? s->kind : k->kind);
    put_verbs(w, s->verbs);
    jw_end(w);
}

static void put_aggregated_resource(struct jw *w, const struct kind *k)
{
    jw_object(w);
    jw_put_cstr(w, "resource", k->plural);
    put_response_kind(w, "", "", k->kind);
    jw_put_cstr(w, "scope", kind_is(k, KIND_NAMESPACED) ? "Namespaced" : "Cluster");
    jw_put_cstr(w, "singularResource", k->singular);
    put_verbs(w, k->verbs);
    put_words(w, "shortNames", k->short_names);
    put_words(w, "categories", k->categories);
    if (kind_is(k, KIND_SCALE | KIND_STATUS) || k->n_subresources > 0) {
        jw_put_array(w, "subresources");
        each_subresource(k, put_aggregated_subresource, w);
        jw_end(w);
    }
    jw_end(w);
}

static void put_aggregated_group(struct jw *w, const char *group)
{
    jw_object(w);
    jw_put_object(w, "metadata");
    if (*group)
        jw_put_cstr(w, "name", group);
    jw_key(w, STR("creationTimestamp"));
    jw_null(w);
    jw_end(w);
    jw_put_array(w, "versions");
    for (size_t v = 0; v < kinds_count(); v++) {
        const struct kind *first = kinds_at(v);
        if (!str_is(str_of(first->group), group) || !is_first_of_version(v))
            continue;
        jw_object(w);
        jw_put_cstr(w, "version", first->version);
        jw_put_array(w, "resources");
        for (size_t i = v; i < kinds_count(); i++) {
            if (same_version(first, kinds_at(i)))
                put_aggregated_resource(w, kinds_at(i));
        }
        jw_end(w);
        jw_put_cstr(w, "freshness", "Current");
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

struct doc *discovery_aggregated(bool core)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIGroupDiscoveryList");
    jw_put_cstr(&w, "apiVersion", "apidiscovery.k8s.io/v2");
    jw_put_object(&w, "metadata");
    jw_end(&w);
    jw_put_array(&w, "items");
    for (size_t i = 0; i < kinds_count(); i++) {
        const char *group = kinds_at(i)->group;
        if (is_first_of_group(i) && (*group == '\0') == core)
            put_aggregated_group(&w, group);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- one list per group version ---- */

struct doc *discovery_legacy_versions(void)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIVersions");
    jw_put_array(&w, "versions");
    jw_str(&w, STR("v1"));
    jw_end(&w);
    jw_put_array(&w, "serverAddressByClientCIDRs");
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_group_version(struct jw *w, const struct kind *k)
{
    char buf[128];
    jw_put_str(w, "groupVersion", kind_api_version(k, buf, sizeof(buf)));
    jw_put_cstr(w, "version", k->version);
}

static void put_group(struct jw *w, const struct kind *first)
{
    jw_put_cstr(w, "name", first->group);
    jw_put_array(w, "versions");
    for (size_t i = 0; i < kinds_count(); i++) {
        if (!str_is(str_of(kinds_at(i)->group), first->group) || !is_first_of_version(i))
            continue;
        jw_object(w);
        put_group_version(w, kinds_at(i));
        jw_end(w);
    }
    jw_end(w);
    jw_put_object(w, "preferredVersion");
    put_group_version(w, first);
    jw_end(w);
}

struct doc *discovery_legacy_groups(void)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIGroupList");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_array(&w, "groups");
    for (size_t i = 0; i < kinds_count(); i++) {
        if (!*kinds_at(i)->group || !is_first_of_group(i))
            continue;
        jw_object(&w);
        put_group(&w, kinds_at(i));
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static const struct kind *first_of_group(str group)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        if (str_is(group, kinds_at(i)->group))
            return kinds_at(i);
    }
    return NULL;
}

struct doc *discovery_legacy_group(str group)
{
    const struct kind *first = first_of_group(group);
    if (!first || !*first->group)
        return NULL;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIGroup");
    jw_put_cstr(&w, "apiVersion", "v1");
    put_group(&w, first);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_legacy_subresource(struct jw *w, const struct kind *k, const struct subresource *s)
{
    jw_object(w);
    jw_key(w, STR("name"));
    jw_printf(w, "%s/%s", k->plural, s->name);
    jw_put_cstr(w, "singularName", "");
    jw_put_bool(w, "namespaced", kind_is(k, KIND_NAMESPACED));
    if (s->kind &&
        !(str_is(str_of(s->group), k->group) && str_is(str_of(s->version), k->version))) {
        jw_put_cstr(w, "group", s->group);
        jw_put_cstr(w, "version", s->version);
    }
    jw_put_cstr(w, "kind", s->kind ? s->kind : k->kind);
    put_verbs(w, s->verbs);
    jw_end(w);
}

static void put_legacy_resource(struct jw *w, const struct kind *k)
{
    jw_object(w);
    jw_put_cstr(w, "name", k->plural);
    jw_put_cstr(w, "singularName", k->singular);
    jw_put_bool(w, "namespaced", kind_is(k, KIND_NAMESPACED));
    jw_put_cstr(w, "kind", k->kind);
    put_verbs(w, k->verbs);
    put_words(w, "shortNames", k->short_names);
    put_words(w, "categories", k->categories);
    jw_end(w);
    each_subresource(k, put_legacy_subresource, w);
}

struct doc *discovery_legacy_resources(str group, str version)
{
    struct jw w;
    char buf[128];
    const struct kind *first = NULL;
    for (size_t i = 0; i < kinds_count() && !first; i++) {
        const struct kind *k = kinds_at(i);
        if (str_is(group, k->group) && str_is(version, k->version))
            first = k;
    }
    if (!first)
        return NULL;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIResourceList");
    if (*first->group)
        jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_str(&w, "groupVersion", kind_api_version(first, buf, sizeof(buf)));
    jw_put_array(&w, "resources");
    for (size_t i = 0; i < kinds_count(); i++) {
        if (same_version(first, kinds_at(i)))
            put_legacy_resource(&w, kinds_at(i));
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
