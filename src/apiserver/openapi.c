/*
 * OpenAPI as far as clients need it to apply objects: for each kind the paths that can be patched,
 * with the kind's name and the parameter fieldValidation. The URL of a group version's document
 * carries the hash of its text, so clients may keep it for ever.
 */
#include "apiserver/front.h"

#include "base/hash.h"
#include "json/write.h"

static void put_kind(struct jw *w, const struct kind *k)
{
    jw_put_object(w, "x-kubernetes-group-version-kind");
    jw_put_cstr(w, "group", k->group);
    jw_put_cstr(w, "version", k->version);
    jw_put_cstr(w, "kind", k->kind);
    jw_end(w);
}

static void put_path(struct jw *w, const struct kind *k)
{
    struct strbuf path = STRBUF_INIT(512);
    strbuf_printf(&path, *k->group ? "/apis/%s/" : "/api%s/", k->group);
    strbuf_printf(&path, "%s/%s%s/{name}", k->version,
                  kind_is(k, KIND_NAMESPACED) ? "namespaces/{namespace}/" : "", k->plural);
    jw_key(w, strbuf_str(&path));
    jw_object(w);
    jw_put_object(w, "patch");
    put_kind(w, k);
    jw_key(w, STR("parameters"));
    jw_raw(w, STR("[{\"name\":\"fieldValidation\",\"in\":\"query\",\"schema\":{\"type\":"
                  "\"string\"}}]"));
    jw_put_object(w, "responses");
    jw_end(w);
    jw_end(w);
    jw_end(w);
    strbuf_done(&path);
}

struct doc *openapi_v3(str group, str version)
{
    struct jw w;
    bool any = false;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "openapi", "3.0.0");
    jw_put_object(&w, "info");
    jw_put_cstr(&w, "title", "Kubernetes");
    jw_put_cstr(&w, "version", "v1.36.0");
    jw_end(&w);
    jw_put_object(&w, "paths");
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!str_is(group, k->group) || !str_is(version, k->version) || !(k->verbs & VERB_PATCH))
            continue;
        put_path(&w, k);
        any = true;
    }
    if (!any) {
        jw_done(&w);
        return NULL;
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_index_entry(struct jw *w, const struct kind *k)
{
    struct doc *d = openapi_v3(str_of(k->group), str_of(k->version));
    if (!d)
        return;
    struct strbuf name = STRBUF_INIT(256);
    strbuf_printf(&name, *k->group ? "apis/%s/%s" : "api%s/%s", k->group, k->version);
    jw_key(w, strbuf_str(&name));
    jw_object(w);
    jw_key(w, STR("serverRelativeURL"));
    jw_printf(w, "/openapi/v3/%s?hash=%016llX", name.p,
              (unsigned long long)hash_fnv1a64(doc_text(d)));
    jw_end(w);
    strbuf_done(&name);
    doc_unref(d);
}

struct doc *openapi_v3_index(void)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "paths");
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = str_is(str_of(k->group), kinds_at(j)->group) &&
                   str_is(str_of(k->version), kinds_at(j)->version);
        if (!seen)
            put_index_entry(&w, k);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
