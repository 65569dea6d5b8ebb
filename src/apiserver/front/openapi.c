/*
 * OpenAPI v3: one document per group version, with the paths of its kinds and the schemas of
 * everything they name, and an index of the documents. All of it is a function of the tables, so
 * each is made when it is first asked for and kept.
 *
 * Clients look here for three things. The PATCH operation of a kind must carry the kind's name and
 * the parameter fieldValidation, or kubectl does not dare to apply; when it also accepts strategic
 * merge patches, kubectl computes them from the merge keys of the schemas; `kubectl explain` finds
 * a resource's kind by its path and then the schema by its kind. The URL of a document in the index
 * carries the hash of its text, so that clients may keep it for ever.
 */
#include "apiserver/front/openapi.h"

#include "apiserver/front/front.h"
#include "base/hash.h"

/* ---- pages ---- */

void page_set(struct page *p, struct doc *d)
{
    uint8_t sum[SHA256_SIZE];
    struct strbuf hex = STRBUF_INIT(2 * SHA256_SIZE);
    doc_unref(p->doc);
    p->doc = d;
    p->kinds = kinds_version();
    hash_sha256(doc_text(d), sum);
    hash_add_hex(&hex, sum, sizeof(sum));
    for (size_t i = 0; i < hex.len; i++)
        p->hash[i] = (char)(hex.p[i] >= 'a' ? hex.p[i] - 'a' + 'A' : hex.p[i]);
    p->hash[2 * SHA256_SIZE] = '\0';
    strbuf_done(&hex);
}

bool page_is_fresh(const struct page *p)
{
    return p->doc && p->kinds == kinds_version();
}

/* ---- operations ---- */

static const struct parameter {
    const char *name, *type;
} parameters[] = {
    {"allowWatchBookmarks", "boolean"},
    {"continue", "string"},
    {"dryRun", "string"},
    {"fieldManager", "string"},
    {"fieldSelector", "string"},
    {"fieldValidation", "string"},
    {"force", "boolean"},
    {"gracePeriodSeconds", "integer"},
    {"labelSelector", "string"},
    {"limit", "integer"},
    {"propagationPolicy", "string"},
    {"resourceVersion", "string"},
    {"resourceVersionMatch", "string"},
    {"sendInitialEvents", "boolean"},
    {"timeoutSeconds", "integer"},
    {"watch", "boolean"},
};

#define SELECT_PARAMETERS \
    "continue,fieldSelector,labelSelector,limit,resourceVersion,resourceVersionMatch"
#define WATCH_PARAMETERS "allowWatchBookmarks,sendInitialEvents,timeoutSeconds,watch"
#define WRITE_PARAMETERS "dryRun,fieldManager,fieldValidation"
#define DELETE_PARAMETERS "dryRun,gracePeriodSeconds,propagationPolicy"

enum place { ON_LIST = 1, ON_ITEM = 2, ON_SUBRESOURCE = 4 };

static const struct operation {
    const char *method;
    unsigned verb;
    unsigned places;
    const char *action;
    const char *parameters;
} operations[] = {
    {"get", VERB_LIST, ON_LIST, "list", SELECT_PARAMETERS "," WATCH_PARAMETERS},
    {"get", VERB_GET, ON_ITEM | ON_SUBRESOURCE, "get", "resourceVersion"},
    {"put", VERB_UPDATE, ON_ITEM | ON_SUBRESOURCE, "put", WRITE_PARAMETERS},
    {"post", VERB_CREATE, ON_LIST | ON_SUBRESOURCE, "post", WRITE_PARAMETERS},
    {"delete", VERB_DELETE, ON_ITEM | ON_SUBRESOURCE, "delete", DELETE_PARAMETERS},
    {"delete", VERB_DELETE_COLLECTION, ON_LIST, "deletecollection",
     SELECT_PARAMETERS "," DELETE_PARAMETERS},
    {"patch", VERB_PATCH, ON_ITEM | ON_SUBRESOURCE, "patch", WRITE_PARAMETERS ",force"},
};

/* What a path is about. */
struct target {
    const char *group, *version, *kind;
    const struct type *type; /* NULL: nothing we have a schema of */
    unsigned verbs;
    enum place place;
    bool strategic; /* takes strategic merge patches */
};

static void put_group_version_kind(struct jw *w, const struct target *t)
{
    jw_put_object(w, "x-kubernetes-group-version-kind");
    jw_put_cstr(w, "group", t->group);
    jw_put_cstr(w, "version", t->version);
    jw_put_cstr(w, "kind", t->kind);
    jw_end(w);
}

static void put_parameter(struct jw *w, str name, const char *in, const char *type)
{
    jw_object(w);
    jw_put_str(w, "name", name);
    jw_put_cstr(w, "in", in);
    if (strcmp(in, "path") == 0)
        jw_put_bool(w, "required", true);
    jw_put_object(w, "schema");
    jw_put_cstr(w, "type", type);
    jw_end(w);
    jw_end(w);
}

static void put_parameters(struct jw *w, const char *names)
{
    str rest = str_of(names);
    jw_put_array(w, "parameters");
    while (rest.len > 0) {
        str name = str_cut(&rest, ',');
        const char *type = NULL;
        for (size_t i = 0; i < ARRAY_LEN(parameters) && !type; i++)
            type = str_is(name, parameters[i].name) ? parameters[i].type : NULL;
        BUG_ON(!type);
        put_parameter(w, name, "query", type);
    }
    jw_end(w);
}

/* "content":{"application/json":{"schema":{"$ref":...}}} */
static void put_json_content(struct schema_set *s, struct jw *w, const struct target *t, bool list)
{
    if (!t->type)
        return;
    jw_put_object(w, "content");
    jw_put_object(w, "application/json");
    jw_key(w, STR("schema"));
    schema_put_ref(s, w, t->type, list);
    jw_end(w);
    jw_end(w);
}

static void put_patch_body(struct jw *w, const struct target *t)
{
    static const char *const types[] = {
        "application/apply-patch+yaml", "application/json-patch+json",
        "application/merge-patch+json", "application/strategic-merge-patch+json"};
    jw_put_object(w, "requestBody");
    jw_put_object(w, "content");
    for (size_t i = 0; i < ARRAY_LEN(types) - !t->strategic; i++) {
        jw_put_object(w, types[i]);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static void put_operation(struct schema_set *s, struct jw *w, const struct target *t,
                          const struct operation *op)
{
    bool list = op->verb == VERB_LIST;
    jw_put_object(w, op->method);
    put_parameters(w, op->parameters);
    if (op->verb == VERB_PATCH) {
        put_patch_body(w, t);
    } else if (op->verb == VERB_CREATE || op->verb == VERB_UPDATE) {
        jw_put_object(w, "requestBody");
        put_json_content(s, w, t, false);
        jw_end(w);
    }
    jw_put_object(w, "responses");
    jw_put_object(w, op->verb == VERB_CREATE ? "201" : "200");
    jw_put_cstr(w, "description", op->verb == VERB_CREATE ? "Created" : "OK");
    if (!(op->verb & (VERB_DELETE | VERB_DELETE_COLLECTION)))
        put_json_content(s, w, t, list);
    jw_end(w);
    jw_end(w);
    jw_put_cstr(w, "x-kubernetes-action", op->action);
    put_group_version_kind(w, t);
    jw_end(w);
}

/* ---- paths ---- */

static bool is_operation_of(const struct operation *op, const struct target *t)
{
    return (op->places & t->place) && (op->verb & t->verbs);
}

static bool has_operations(const struct target *t)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        any |= is_operation_of(&operations[i], t);
    return any;
}

static void put_path(struct schema_set *s, struct jw *w, str path, const struct target *t)
{
    bool named = t->place != ON_LIST, spaced = str_find(path, STR("{namespace}")) >= 0;
    if (!has_operations(t))
        return;
    jw_key(w, path);
    jw_object(w);
    if (named || spaced) {
        jw_put_array(w, "parameters");
        if (named)
            put_parameter(w, STR("name"), "path", "string");
        if (spaced)
            put_parameter(w, STR("namespace"), "path", "string");
        jw_end(w);
    }
    for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
        if (is_operation_of(&operations[i], t))
            put_operation(s, w, t, &operations[i]);
    }
    jw_end(w);
}

static void put_subresource(struct schema_set *s, struct jw *w, const struct kind *k,
                            const struct subresource *sub, struct strbuf *path)
{
    size_t len = path->len;
    struct target t = {k->group,
                       k->version,
                       k->kind,
                       k->type,
                       sub->verbs,
                       ON_SUBRESOURCE,
                       !kind_is(k, KIND_CUSTOM)};
    if (sub->kind) {
        t.group = sub->group;
        t.version = sub->version;
        t.kind = sub->kind;
        t.type = body_type(str_of(sub->group), str_of(sub->version), str_of(sub->kind));
    }
    strbuf_printf(path, "/%s", sub->name);
    put_path(s, w, strbuf_str(path), &t);
    path->len = len;
}

static void put_kind_paths(struct schema_set *s, struct jw *w, const struct kind *k)
{
    struct strbuf path = STRBUF_INIT(1024);
    struct target t = {k->group,
                       k->version,
                       k->kind,
                       k->type,
                       k->verbs & VERB_LIST,
                       ON_LIST,
                       !kind_is(k, KIND_CUSTOM)};
    strbuf_printf(&path, *k->group ? "/apis/%s/" : "/api%s/", k->group);
    strbuf_printf(&path, "%s/", k->version);
    size_t root = path.len;
    if (kind_is(k, KIND_NAMESPACED)) {
        strbuf_add_cstr(&path, k->plural);
        put_path(s, w, strbuf_str(&path), &t);
        path.len = root;
        strbuf_add_cstr(&path, "namespaces/{namespace}/");
    }
    strbuf_add_cstr(&path, k->plural);
    t.verbs = k->verbs;
    put_path(s, w, strbuf_str(&path), &t);
    strbuf_add_cstr(&path, "/{name}");
    t.place = ON_ITEM;
    put_path(s, w, strbuf_str(&path), &t);
    for (size_t i = 0; i < kind_subresource_count(k); i++)
        put_subresource(s, w, k, kind_subresource(k, i), &path);
    strbuf_done(&path);
}

/* ---- documents ---- */

static bool is_in(const struct kind *k, str group, str version)
{
    return str_is(group, k->group) && str_is(version, k->version);
}

/* The first resource of a group version stands for it; false: there is none. */
static bool find_first(str group, str version, size_t *ret)
{
    for (size_t i = 0; resource_at(i); i++) {
        *ret = i;
        if (is_in(resource_at(i), group, version))
            return true;
    }
    return false;
}

static struct doc *make_document(const struct kind *first)
{
    struct schema_set s;
    struct jw w;
    schema_set_init(&s, kind_is(first, KIND_CUSTOM));
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "openapi", "3.0.0");
    jw_put_object(&w, "info");
    jw_put_cstr(&w, "title", "Kubernetes");
    jw_put_cstr(&w, "version", "1.36");
    jw_end(&w);
    jw_put_object(&w, "paths");
    for (size_t i = 0; resource_at(i); i++) {
        if (is_in(resource_at(i), str_of(first->group), str_of(first->version)))
            put_kind_paths(&s, &w, resource_at(i));
    }
    jw_end(&w);
    jw_put_object(&w, "components");
    schema_put_all(&s, &w);
    jw_end(&w);
    jw_end(&w);
    schema_set_done(&s);
    return jw_doc(&w);
}

/* One page per group version, in the place of its first resource. */
static VEC(struct page *) pages;

const struct page *openapi_v3(str group, str version)
{
    size_t first;
    if (!find_first(group, version, &first))
        return NULL;
    while (pages.len <= first)
        *vec_push(&pages) = xnew(struct page);
    struct page *p = pages.p[first];
    if (!page_is_fresh(p))
        page_set(p, make_document(resource_at(first)));
    return p;
}

static void put_index_entry(struct jw *w, const struct kind *k)
{
    const struct page *p = openapi_v3(str_of(k->group), str_of(k->version));
    struct strbuf name = STRBUF_INIT(256);
    strbuf_printf(&name, *k->group ? "apis/%s/%s" : "api%s/%s", k->group, k->version);
    jw_key(w, strbuf_str(&name));
    jw_object(w);
    jw_key(w, STR("serverRelativeURL"));
    jw_printf(w, "/openapi/v3/%s?hash=%s", name.p, p->hash);
    jw_end(w);
    strbuf_done(&name);
}

const struct page *openapi_v3_index(void)
{
    static struct page index;
    if (page_is_fresh(&index))
        return &index;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "paths");
    for (size_t i = 0; resource_at(i); i++) {
        const struct kind *k = resource_at(i);
        size_t first;
        if (find_first(str_of(k->group), str_of(k->version), &first) && first == i)
            put_index_entry(&w, k);
    }
    jw_end(&w);
    jw_end(&w);
    page_set(&index, jw_doc(&w));
    return &index;
}
