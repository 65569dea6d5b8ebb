/*
 * Admission: what the server itself adds to an object and refuses, per kind, as tables of pure
 * functions. Runs after decoding and pruning, before the check against the newest version.
 */
#ifndef APISERVER_ADMIT_H
#define APISERVER_ADMIT_H

#include "client/api.h"
#include "grove/admission.h"
#include "loop/loop.h"
#include "store/store.h"
#include "json/edit.h"

/* Numbers handed out to Services, the lowest free one first. Pending writes count: a number is
 * taken when its write is applied (admit_taken) and free again when its object is gone for good
 * (admit_freed). Filled from the store at first use. */
struct admit_pools {
    bool filled;
    uint8_t ips[65536 / 8];  /* 10.96.0.0/16 */
    uint8_t ports[2768 / 8]; /* 30000-32767 */
};

struct user;

/* The kind whose rules this one has: itself, or the version it is the same as. */
const struct kind *admit_kind(const struct kind *k);

struct admit {
    const struct kind *kind;
    const struct obj *old; /* NULL on create */
    str ns;                /* of the request */
    str name;
    str subresource;
    const struct user *user;
    struct store *store; /* for look-ups (priority classes) */
    struct admit_pools *pools;
    bool token_volumes;                /* pods get a volume with a token of their account */
    const struct grove_context *grove; /* what is enabled, for Grove's own kinds */
    usec now;                          /* wall time */
    struct arena *arena;
    struct field_errors *errors; /* refusals and warnings are collected here */
    struct status **refused;     /* any other refusal than 422: the first one set is the answer */
};

/* There is more in its lists than one object may have, and *a->refused says so: to be asked before
 * anything is completed. (admit_default asks again: webhooks may have added some.) */
bool admit_is_too_much(const struct admit *a, struct doc *d);
/* Defaults of a kind's version that depend on other fields (the policy for pulling an image). Who
 * writes the object owns them, as it owns those of the tables. Returns a new reference, `d` itself
 * when nothing changed. */
struct doc *admit_default(const struct admit *a, struct doc *d);
/* What the server adds of its own (a service's cluster IP, a namespace's finalizer, a pod's
 * tolerations); nobody owns it. The edits in `more` are applied in the same go; it is used up. */
/* Whether admit_mutate may change anything at all beyond the edits it is given. */
bool admit_mutates(const struct admit *a);
struct doc *admit_mutate(const struct admit *a, struct doc *d, struct edit *more);
void admit_validate(const struct admit *a, struct doc *d);

/* The labels that tell a job's pods apart; its UID is given when all else is settled. */
void job_stamp(struct arena *a, jval root, str uid, struct edit *e);

/* The pools follow what was applied and what is durably gone. */
void admit_taken(struct admit_pools *p, const struct obj *o);
void admit_freed(struct admit_pools *p, const struct obj *o);

/* Warns whoever created an object of a kind that nothing acts on (admit_stored.c). */
void stored_warn(const struct kind *k, struct field_errors *errors);

#endif
