/*
 * Discovery: which kinds are served, told from the tables in the two forms clients ask for, one
 * aggregated document or one list per group version.
 */
#include "apiserver/access/review.h"
#include "apiserver/front/front.h"
#include "apiserver/front/metrics_api.h"
#include "apiserver/front/openapi.h"
#include "base/b64.h"
#include "base/hash.h"
#include "base/vec.h"

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

/* ---- subresources ---- */

enum { MAX_SUBRESOURCES = 16 };

/* In the order of their names. */
static size_t collect_subresources(const struct kind *k,
                                   const struct subresource *ret[MAX_SUBRESOURCES])
{
    size_t n = 0;
    BUG_ON(k->n_subresources + 2 > MAX_SUBRESOURCES);
    for (size_t i = 0; i < k->n_subresources; i++)
        ret[n++] = &k->subresources[i];
    if (kind_is(k, KIND_SCALE))
        ret[n++] = &scale_subresource;
    if (kind_is(k, KIND_STATUS))
        ret[n++] = &status_subresource;
    for (size_t i = 1; i < n; i++) {
        for (size_t j = i; j > 0 && strcmp(ret[j - 1]->name, ret[j]->name) > 0; j--) {
            const struct subresource *swap = ret[j];
            ret[j] = ret[j - 1];
            ret[j - 1] = swap;
        }
    }
    return n;
}

size_t kind_subresource_count(const struct kind *k)
{
    return k->n_subresources + kind_is(k, KIND_SCALE) + kind_is(k, KIND_STATUS);
}

const struct subresource *kind_subresource(const struct kind *k, size_t i)
{
    const struct subresource *all[MAX_SUBRESOURCES];
    return i < collect_subresources(k, all) ? all[i] : NULL;
}

/* Whether it answers with a kind of the resource's own group version. */
static bool is_own(const struct kind *k, const struct subresource *s)
{
    return !s->kind ||
           (str_is(str_of(s->group), k->group) && str_is(str_of(s->version), k->version));
}

/* ---- groups and versions ---- */

/* A review is told of like a kind that can only be created. */
static const struct kind *review_kind(size_t i)
{
    static struct kind kinds[16];
    const struct review *r = review_at(i);
    if (!r)
        return NULL;
    BUG_ON(i >= ARRAY_LEN(kinds));
    if (kinds[i].group)
        return &kinds[i];
    kinds[i] = (struct kind){
        .group = r->group,
        .version = r->version,
        .kind = r->kind,
        .plural = r->plural,
        .singular = r->singular,
        .verbs = VERB_CREATE,
        .flags = r->namespaced ? KIND_NAMESPACED : 0,
        .type = body_type(str_of(r->group), str_of(r->version), str_of(r->kind)),
    };
    return &kinds[i];
}

/* What is told of, in order: the registered kinds that are served, the reviews, the metrics. Made
 * anew when the registry changed. */
static const struct kind *const *resources(size_t *ret_n)
{
    static VEC(const struct kind *) all;
    static uint64_t made;
    if (made != kinds_version()) {
        made = kinds_version();
        all.len = 0;
        for (size_t i = 0; i < kinds_count(); i++)
            if (!kind_is(kinds_at(i), KIND_RETIRED))
                *vec_push(&all) = kinds_at(i);
        for (size_t i = 0; review_kind(i); i++)
            *vec_push(&all) = review_kind(i);
        for (size_t i = 0; metrics_api_kind(i); i++)
            *vec_push(&all) = metrics_api_kind(i);
    }
    *ret_n = all.len;
    return all.p;
}

const struct kind *resource_at(size_t i)
{
    size_t n;
    const struct kind *const *all = resources(&n);
    return i < n ? all[i] : NULL;
}

/* ---- versions of a group ---- */

/* "v2beta1": 2, beta, 1. False when it is not of this form. */
struct version_rank {
    bool known;
    int stability; /* 2: stable, 1: beta, 0: alpha */
    uint64_t major, minor;
};

static uint64_t take_number(str *s)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < s->len && i < 9 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(s->p[i] - '0');
    *s = str_sub(*s, i, s->len);
    return n;
}

static struct version_rank rank_of(const char *version)
{
    struct version_rank r = {.stability = 2};
    str s = str_of(version);
    if (!str_starts(s, STR("v")))
        return r;
    s = str_sub(s, 1, s.len);
    r.major = take_number(&s);
    if (str_starts(s, STR("alpha")) || str_starts(s, STR("beta"))) {
        r.stability = s.p[0] == 'b';
        s = str_sub(s, r.stability ? 4 : 5, s.len);
        r.minor = take_number(&s);
    }
    r.known = r.major > 0 && s.len == 0;
    return r;
}

/* Stable before beta before alpha, newest first; what does not look like a version comes last, in
 * the order of the alphabet. */
static bool is_preferred(const char *a, const char *b)
{
    struct version_rank x = rank_of(a), y = rank_of(b);
    if (x.known != y.known)
        return x.known;
    if (!x.known)
        return strcmp(a, b) < 0;
    if (x.stability != y.stability)
        return x.stability > y.stability;
    return x.major != y.major ? x.major > y.major : x.minor > y.minor;
}

/* The first kind of each group version stands for it; registry order is preference. */
static bool is_first_of_version(size_t id)
{
    const struct kind *k = resource_at(id);
    for (size_t i = 0; i < id; i++) {
        if (str_is(str_of(resource_at(i)->group), k->group) &&
            str_is(str_of(resource_at(i)->version), k->version))
            return false;
    }
    return true;
}

static bool is_first_of_group(size_t id)
{
    for (size_t i = 0; i < id; i++) {
        if (str_is(str_of(resource_at(i)->group), resource_at(id)->group))
            return false;
    }
    return true;
}

/* The first kinds of a group's versions, preferred version first. The tables of the program stand
 * in that order already. */
enum { MAX_VERSIONS = 64 };

static size_t group_versions(const char *group, const struct kind *ret[MAX_VERSIONS])
{
    size_t n = 0;
    for (size_t i = 0; resource_at(i) && n < MAX_VERSIONS; i++) {
        const struct kind *k = resource_at(i);
        if (!str_is(str_of(k->group), group) || !is_first_of_version(i))
            continue;
        size_t at = n++;
        for (; at > 0 && kind_is(k, KIND_DEFINED) && is_preferred(k->version, ret[at - 1]->version);
             at--)
            ret[at] = ret[at - 1];
        ret[at] = k;
    }
    return n;
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
    bool own = is_own(k, s);
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
    size_t n = kind_subresource_count(k);
    if (n > 0) {
        jw_put_array(w, "subresources");
        for (size_t i = 0; i < n; i++)
            put_aggregated_subresource(w, k, kind_subresource(k, i));
        jw_end(w);
    }
    jw_end(w);
}

static void put_aggregated_group(struct jw *w, const char *group, struct metrics_names *names)
{
    jw_object(w);
    jw_put_object(w, "metadata");
    if (*group)
        jw_put_cstr(w, "name", group);
    jw_end(w);
    jw_put_array(w, "versions");
    const struct kind *versions[MAX_VERSIONS];
    size_t n = group_versions(group, versions);
    for (size_t v = 0; v < n; v++) {
        const struct kind *first = versions[v];
        jw_object(w);
        jw_put_cstr(w, "version", first->version);
        jw_put_array(w, "resources");
        if (metrics_names_are_of(str_of(group)))
            metrics_names_put_aggregated(w, names, first);
        for (size_t i = 0; !metrics_names_are_of(str_of(group)) && resource_at(i); i++) {
            if (same_version(first, resource_at(i)))
                put_aggregated_resource(w, resource_at(i));
        }
        jw_end(w);
        jw_put_cstr(w, "freshness", "Current");
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static struct doc *make_aggregated(bool core, struct metrics_names *names)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIGroupDiscoveryList");
    jw_put_cstr(&w, "apiVersion", "apidiscovery.k8s.io/v2");
    jw_put_object(&w, "metadata");
    jw_end(&w);
    jw_put_array(&w, "items");
    for (size_t i = 0; resource_at(i); i++) {
        const char *group = resource_at(i)->group;
        if (is_first_of_group(i) && (*group == '\0') == core &&
            metrics_names_is_listed(names, resource_at(i)))
            put_aggregated_group(&w, group, names);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

const struct page *discovery_aggregated(struct discovery_pages *d, bool core,
                                        struct metrics_names *names)
{
    struct page *p = core ? &d->core : &d->groups;
    uint64_t now = names ? metrics_names_version(names) : 0;
    if (page_is_fresh(p) && (core || d->names == now))
        return p;
    page_set(p, make_aggregated(core, names));
    if (!core)
        d->names = now;
    return p;
}

void discovery_pages_done(struct discovery_pages *d)
{
    doc_unref(d->groups.doc);
    doc_unref(d->core.doc);
    *d = (struct discovery_pages){0};
}

/* ---- one list per group version ---- */

struct doc *discovery_legacy_versions(str address)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIVersions");
    jw_put_array(&w, "versions");
    jw_str(&w, STR("v1"));
    jw_end(&w);
    jw_put_array(&w, "serverAddressByClientCIDRs");
    jw_object(&w);
    jw_put_cstr(&w, "clientCIDR", "0.0.0.0/0");
    jw_put_str(&w, "serverAddress", address);
    jw_end(&w);
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
    const struct kind *versions[MAX_VERSIONS];
    size_t n = group_versions(first->group, versions);
    BUG_ON(n == 0); /* the first of them is given */
    jw_put_cstr(w, "name", first->group);
    jw_put_array(w, "versions");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        put_group_version(w, versions[i]);
        jw_end(w);
    }
    jw_end(w);
    jw_put_object(w, "preferredVersion");
    put_group_version(w, versions[0]);
    jw_end(w);
}

struct doc *discovery_legacy_groups(struct metrics_names *names)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "APIGroupList");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_array(&w, "groups");
    for (size_t i = 0; resource_at(i); i++) {
        if (!*resource_at(i)->group || !is_first_of_group(i) ||
            !metrics_names_is_listed(names, resource_at(i)))
            continue;
        jw_object(&w);
        put_group(&w, resource_at(i));
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static const struct kind *first_of_group(str group)
{
    for (size_t i = 0; resource_at(i); i++) {
        if (str_is(group, resource_at(i)->group))
            return resource_at(i);
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
    if (!is_own(k, s)) {
        jw_put_cstr(w, "group", s->group);
        jw_put_cstr(w, "version", s->version);
    }
    jw_put_cstr(w, "kind", s->kind ? s->kind : k->kind);
    put_verbs(w, s->verbs);
    jw_end(w);
}

/* The first 8 bytes of a hash over the group, version and kind it is stored as; kinds that share a
 * storage are stored as the first of them. */
static void put_storage_hash(struct jw *w, const struct kind *k)
{
    uint8_t sum[SHA256_SIZE];
    const struct kind *stored = k;
    struct strbuf b = STRBUF_INIT(1024);
    for (size_t i = 0; k->storage && stored == k && i < kind_id(k); i++) {
        if (kinds_at(i)->storage && strcmp(kinds_at(i)->storage, k->storage) == 0)
            stored = kinds_at(i);
    }
    strbuf_printf(&b, "%s/%s/%s", stored->group, stored->version, stored->kind);
    hash_sha256(strbuf_str(&b), sum);
    strbuf_reset(&b);
    b64_encode(str_n((const char *)sum, 8), 0, &b);
    jw_put_str(w, "storageVersionHash", strbuf_str(&b));
    strbuf_done(&b);
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
    if (k->id)
        put_storage_hash(w, k);
    jw_end(w);
    for (size_t i = 0; i < kind_subresource_count(k); i++)
        put_legacy_subresource(w, k, kind_subresource(k, i));
}

struct doc *discovery_legacy_resources(str group, str version, struct metrics_names *names)
{
    struct jw w;
    char buf[128];
    const struct kind *first = NULL;
    for (size_t i = 0; resource_at(i) && !first; i++) {
        const struct kind *k = resource_at(i);
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
    if (metrics_names_are_of(group))
        metrics_names_put_list(&w, names, first);
    for (size_t i = 0; !metrics_names_are_of(group) && resource_at(i); i++) {
        if (same_version(first, resource_at(i)))
            put_legacy_resource(&w, resource_at(i));
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
