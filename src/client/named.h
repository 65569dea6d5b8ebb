/*
 * Caches of single objects: for a process that is allowed to see an object by its name and not all
 * of its kind (resourceNames in a role). Each lists and watches with metadata.name as a field
 * selector, which is what API servers take for asking by name. Private to the runtime.
 */
#ifndef CLIENT_NAMED_H
#define CLIENT_NAMED_H

#include "base/vec.h"
#include "client/cache.h"

struct named_cache {
    char *ns, *name; /* ns "": of no namespace */
    struct cache *cache;
};

/* Few: they are looked through. */
struct named_caches {
    VEC(struct named_cache) all;
};

void named_done(struct named_caches *n);
/* NULL: there is none of this object. */
struct cache *named_find(const struct named_caches *n, const struct kind *k, str ns, str name);
/* There must be none yet. */
struct cache *named_add(struct named_caches *n, struct loop *l, struct api *api,
                        const struct kind *k, str ns, str name, usec stall_timeout);
void named_start(struct named_caches *n);
void named_resync(struct named_caches *n);
bool named_are_synced(const struct named_caches *n);

#endif
