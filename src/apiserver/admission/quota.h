/*
 * What a namespace may use: LimitRange (limitrange.c) and ResourceQuota (quota.c), and what an
 * object uses (quota_usage.c).
 *
 * A quota's usage is derived: a fold over durable objects, plus what was promised to writes on
 * their way to the disk. It is judged and promised in the same turn of the loop in which the write
 * is applied, so two writes never share one allowance; status.used follows. Without quotas none of
 * this is looked at.
 */
#ifndef APISERVER_ADMISSION_QUOTA_H
#define APISERVER_ADMISSION_QUOTA_H

#include "apiserver/admit.h"
#include "base/quantity.h"
#include "base/vec.h"

extern const struct kind kind_resource_quota, kind_limit_range;
/* Registers the two; idempotent. */
void quota_kinds_init(void);

/* ---- quota_usage.c: pure ---- */

struct amount {
    str name; /* "requests.cpu" */
    struct quantity value;
};

struct amounts {
    struct arena *arena;
    VEC(struct amount) items;
};

void amounts_init(struct amounts *m, struct arena *a);
void amounts_done(struct amounts *m);
/* NULL: none of that name. */
const struct quantity *amounts_get(const struct amounts *m, str name);
/* What does not fit is left out. */
void amounts_add(struct amounts *m, str name, const struct quantity *q);
/* {"cpu":"1"} */
void amounts_read(struct amounts *m, jval map);
/* What a pod asks for ("requests") or is held to ("limits"), over all its containers. */
void pod_amounts(struct amounts *m, jval spec, const char *what);
/* What an object counts as, by the names quotas use. */
void usage_of(struct amounts *m, const struct kind *k, jval root);
/* The quota concerns this object: its scopes are about pods and match. */
bool quota_matches(jval spec, const struct kind *k, jval root);
/* What a pod in such a namespace must say and does not: "limits.cpu for: a,b; ..."; empty: nothing.
 */
str quota_missing(struct arena *a, jval hard, jval pod_spec);

/* ---- limitrange.c ---- */

void limit_range_default(const struct admit *a, jval root, struct edit *e);
void limit_range_validate(const struct admit *a, jval root);
/* A new pod with the defaults of its namespace; a new reference. */
struct doc *limits_default(const struct admit *a, struct doc *d);
/* Refuses a new pod that is outside the limits. */
void limits_validate(const struct admit *a, jval root);

/* ---- quota.c ---- */

struct apiserver;
struct quotas;
struct req;

struct quotas *quotas_new(struct apiserver *a);
void quotas_free(struct quotas *t);
void quotas_event(struct quotas *t, const struct store_event *e);
bool quotas_exist(const struct quotas *t);
/* NULL: it fits, and (unless it is a dry run) is counted as version rv from now on. */
const struct status *quotas_take(struct req *q, const struct obj *o, uint64_t rv);
void quota_validate(const struct admit *a, jval root);

#endif
