/*
 * plan: what a planner wants done, as data: writes in ordered stages, events to report, when to
 * look again. A planner is a pure function of (world, key); it performs no I/O, reads no clock and
 * has no state. Everything in a plan lives in its arena.
 *
 * Stages run in ascending order, a stage starts when all writes of the one before succeeded; writes
 * of one stage are independent of each other. A plan prints as text: that is `grove plan`, the
 * golden tests and the decision journal.
 */
#ifndef CLIENT_PLAN_H
#define CLIENT_PLAN_H

#include "base/vec.h"
#include "client/api.h"
#include "json/edit.h"
#include "json/write.h"

/* The key a planner is asked about. Slices live as long as the call. */
struct key {
    const struct kind *kind;
    str ns;
    str name;
};

enum plan_op { PLAN_CREATE, PLAN_UPDATE, PLAN_PATCH, PLAN_DELETE, PLAN_SUB_CREATE };

struct plan_write {
    enum plan_op op;
    unsigned stage;
    const struct kind *kind;
    str ns, name;
    str subresource;           /* "status", "binding", ... */
    enum api_patch_type patch; /* PLAN_PATCH */
    struct doc *body;
    str manager; /* field manager of an apply */
    str uid;     /* delete: always */
    uint64_t rv; /* delete or patch: when the decision depended on content; 0: not */
    /* Delete with rv: nothing was decided by the content but that this controller (its UID) owns
     * the object. If that is still so of a newer version, it is deleted as it is now. */
    str owner_uid;
    int64_t grace_seconds; /* delete: -1 the object's own */
    enum api_propagation propagation;
    /* Takes away a unit of this component (its UID): needs a ticket from the ledger, which may
     * refuse it. A delete is booked under it until the cache shows it. */
    str component_uid;
    bool user_scale_in; /* a user, an autoscaler or a more important gang: booked, never refused */
    bool not_serving;   /* nobody misses it: recorded, never refused, not in the count */
    /* A status that changes counts only: written at most once per 100 ms and key. The first goes at
     * once; one that comes too soon is left out and the key looked at again when its time comes. */
    bool counts_only;
    /* It tells how things stand, and nobody acts on it: as long as controllers of the runtime have
     * other writes under way it is left out, but no longer than ten of them take at present (100 ms
     * to 15 s); the key is looked at again when they are done. Nor is it written again within that
     * time. What changes meanwhile is told in one write; the last is always told. */
    bool patient;
    usec patience; /* of such a one: it waits at least this long, where others write on */
    /* Do it only if a live GET says this is absent; with a UID, another object of that name counts
     * as absent too. */
    const struct kind *absent_kind;
    str absent_ns, absent_name, absent_uid;
    str why; /* one sentence with numbers */
};

struct plan_event {
    const struct obj *about;
    bool warning;
    str reason;
    str message;
    size_t n_writes; /* planned before it: what it tells of */
    unsigned stage;  /* the last of theirs */
};

/* What somebody beside the API is to do, a node's driver: handed to the controller's act function
 * when the plan is accepted, before its writes. It must be idempotent, and nothing answers it: what
 * comes of it is observed, and the key is looked at again. */
struct plan_act {
    str what;         /* as it is printed: "start a, attempt 2" */
    const void *data; /* in the arena of the plan */
};

#define PLAN_AT_ONCE ((usec)1)

struct plan {
    struct arena *arena;
    VEC(struct plan_write) writes;
    VEC(struct plan_event) events;
    VEC(struct plan_act) acts;
    usec look_again; /* after so long, see PLAN_AT_ONCE; 0: when something changes */
};

void plan_init(struct plan *p, struct arena *a);
void plan_done(struct plan *p);
bool plan_is_empty(const struct plan *p);

/* The documents are taken over; slices and objects are copied or held. Each returns the write for
 * further settings, valid until the next one is added. */
struct plan_write *plan_create(struct plan *p, unsigned stage, const struct kind *k, str ns,
                               str name, struct doc *body);
/* Merge patch; rv != 0 makes it conditional. */
struct plan_write *plan_merge_patch(struct plan *p, unsigned stage, const struct obj *o,
                                    str subresource, struct doc *patch, uint64_t rv);
struct plan_write *plan_json_patch(struct plan *p, unsigned stage, const struct obj *o,
                                   str subresource, struct doc *patch);
/* Server-side apply as `manager`, forced. */
struct plan_write *plan_apply(struct plan *p, unsigned stage, const struct kind *k, str ns,
                              str name, str subresource, str manager, struct doc *body);
/* PUT; conditional when the body carries a resourceVersion. */
struct plan_write *plan_update(struct plan *p, unsigned stage, const struct obj *o, str subresource,
                               struct doc *body);
/* With the object's UID as a condition, its own grace period, in the background. */
struct plan_write *plan_delete(struct plan *p, unsigned stage, const struct obj *o);
/* POST to a subresource: eviction, binding. */
struct plan_write *plan_sub_create(struct plan *p, unsigned stage, const struct obj *o,
                                   str subresource, struct doc *body);
/* Of the pod of this UID; rv != 0: and of this version. */
struct plan_write *plan_bind(struct plan *p, unsigned stage, const struct obj *pod, str node,
                             uint64_t rv);
void plan_why(struct plan_write *w, struct plan *p, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Slices set in a write by hand, these included, need to live until the planner returns. */
/* uid may be empty. */
void plan_verify_absent(struct plan_write *w, const struct kind *k, str ns, str name, str uid);
/* After so long, at once when that is not above zero; the shortest of all calls. */
void plan_look_again(struct plan *p, usec delay);
/* Normal ones say what was done by the writes planned before them, and are reported when all of the
 * plan was done, or, where the key's own object changed meanwhile, when those writes were; warnings
 * say what was seen, and are reported also when it fails. */
void plan_event(struct plan *p, const struct obj *about, bool warning, str reason, const char *fmt,
                ...) PRINTF_LIKE(5, 6);
/* A copy of the data is kept. */
void plan_act(struct plan *p, const void *data, size_t size, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* One line per act and per write, stage by stage, then events and when to look again:
 *   act start a, attempt 2
 *   [0] create Pod default/foo-abc12: 2 of 5 pods exist
 *   [1] patch PodClique default/foo status if rv 12 {"status":{"replicas":5}}
 *   [1] delete Pod default/foo-x if absent PodClique default/foo: its owner is gone
 *   event Normal PodCreated PodClique default/foo: created pod foo-abc12
 *   look again in 10s
 */
void plan_print(const struct plan *p, struct strbuf *out);
/* All of them in one, with their reasons: "12.000345 WHO ns/name: create Pod ns/x (why); ...". */
void plan_print_line(const struct plan *p, usec now, const char *who, str ns, str name,
                     struct strbuf *out);
/* What and on which object, without conditions and body: "create Pod default/foo-abc12". */
void plan_print_write(const struct plan_write *w, struct strbuf *out);

#endif
