/* See named.h. */
#include "client/named.h"

void named_done(struct named_caches *n)
{
    for (size_t i = 0; i < n->all.len; i++) {
        cache_free(n->all.p[i].cache);
        free(n->all.p[i].ns);
        free(n->all.p[i].name);
    }
    vec_done(&n->all);
}

struct cache *named_find(const struct named_caches *n, const struct kind *k, str ns, str name)
{
    for (size_t i = 0; i < n->all.len; i++) {
        const struct named_cache *c = &n->all.p[i];
        if (cache_kind(c->cache) == k && str_is(ns, c->ns) && str_is(name, c->name))
            return c->cache;
    }
    return NULL;
}

struct cache *named_add(struct named_caches *n, struct loop *l, struct api *api,
                        const struct kind *k, str ns, str name, usec stall_timeout)
{
    struct strbuf fields CLEANUP(strbuf_done) = STRBUF_INIT(4096);
    strbuf_printf(&fields, "metadata.name=%.*s", STR_ARG(name));
    struct cache_options o = {
        .kind = k, .ns = ns, .field_selector = strbuf_str(&fields), .stall_timeout = stall_timeout};
    struct cache *c = cache_new(l, api, &o);
    *vec_push(&n->all) = (struct named_cache){str_dup(ns), str_dup(name), c};
    return c;
}

void named_start(struct named_caches *n)
{
    for (size_t i = 0; i < n->all.len; i++)
        cache_start(n->all.p[i].cache);
}

void named_resync(struct named_caches *n)
{
    for (size_t i = 0; i < n->all.len; i++)
        cache_resync(n->all.p[i].cache);
}

bool named_are_synced(const struct named_caches *n)
{
    for (size_t i = 0; i < n->all.len; i++)
        if (!cache_is_synced(n->all.p[i].cache))
            return false;
    return true;
}
