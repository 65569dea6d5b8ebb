/*
 * Defaulting and validation of Grove's kinds as pure functions over documents. Three callers
 * without change: the embedded server, the webhook server, `grove plan` and `grove apply
 * --dry-run`.
 */
#ifndef GROVE_ADMIT_H
#define GROVE_ADMIT_H

#include "kube/object.h"
#include "kube/status.h"

/* Returns a new reference, `d` itself when there is nothing to fill in. ns is the request's. */
struct doc *grove_default(const struct kind *k, struct doc *d, str ns);
/* What rules need to know beyond the object. */
struct grove_context {
    bool topology_enabled;
    bool mnnvl_enabled;
    const char *const *schedulers; /* enabled, NULL-terminated; the first is the default */
    /* spec.levels of a ClusterTopologyBinding, absent when there is none; NULL: not looked up. */
    jval (*levels)(void *ctx, str binding);
    void *ctx;
};
/* Everything enabled, bindings not looked up. */
extern const struct grove_context grove_default_context;

/* old is NULL on create. Errors and warnings are collected. */
void grove_validate_in(const struct grove_context *context, const struct kind *k,
                       const struct doc *old, const struct doc *new, struct field_errors *errors);
/* In the default context. */
void grove_validate(const struct kind *k, const struct doc *old, const struct doc *new,
                    struct field_errors *errors);
/* Hash of one clique's pod template, and of all in template order: what makes an update. */
uint64_t grove_clique_hash(jval pcs_template, jval clique);
uint64_t grove_generation_hash(jval pcs_template);

#endif
