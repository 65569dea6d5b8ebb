/*
 * Defaulting and validation of Grove's kinds as pure functions over documents. Three callers
 * without change: the embedded server, the webhook server, `grove plan` and `grove apply
 * --dry-run`.
 */
#ifndef GROVE_ADMISSION_H
#define GROVE_ADMISSION_H

#include "grove/revision.h"
#include "kube/object.h"
#include "kube/status.h"
#include "json/edit.h"

/* More are refused: the PodGang that lists them all would outgrow what an API server stores. */
enum { GROVE_MAX_CLIQUES = 2000 };

/* Returns a new reference, `d` itself when there is nothing to fill in. ns is the request's. */
struct doc *grove_default(const struct kind *k, struct doc *d, str ns);
/* The same as a list of edits, for who answers with a patch; nothing for kinds without defaults. */
void grove_default_edits(const struct kind *k, const struct doc *d, str ns, struct edit *ret);
/* A new set without a strategy gets the configured one, so that a later change of the configuration
 * leaves it alone; one that has it keeps it when a manifest is applied that does not say. old:
 * absent on create. */
void grove_default_strategy(str strategy, jval old, jval object, struct edit *ret);
/* What rules need to know beyond the object. */
struct grove_context {
    bool topology_enabled;
    bool mnnvl_enabled;
    const char *const *schedulers; /* enabled, NULL-terminated; the first is the default */
    str strategy;                  /* of new sets that name none; empty: none is written */
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

#endif
