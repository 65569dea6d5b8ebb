/*
 * A world for tests of planners: the caches of a runtime, fed by hand, on a virtual loop, without
 * an API. Objects are written as YAML; what a server would add (UID, version, generation, time) is
 * filled in. A plan can be looked at as text or document by document, and carried out on the
 * caches the way an API server and its garbage collector would, so that a test can go on to the
 * next plan.
 *
 *   struct test_world *t = tw_new();
 *   tw_load(t, "kind: PodCliqueSet ...");
 *   tw_plan(t, pcs_plan, NULL, &kind_pcs, "svc");
 *   CHECK_CSTR(tw_text(t), "...");
 *   tw_carry_out(t);
 *   tw_free(t);
 *
 * Names without a namespace are in "default", except of kinds that have none.
 */
#ifndef GROVE_TEST_WORLD_H
#define GROVE_TEST_WORLD_H

#include "client/controller.h"
#include "grove/types.h"

/* 2026-01-01T00:00:00Z */
#define TW_START (1767225600 * USEC_PER_SEC)

struct test_world {
    struct loop *loop;
    struct runtime *runtime;
    struct world world; /* .now is the test's to set */
    uint64_t rv, uids;
    struct arena arena; /* of the plan */
    struct plan plan;   /* the last one */
    struct strbuf text;
};

/* Caches of every kind that a planner reads. */
struct test_world *tw_new(void);
void tw_free(struct test_world *t);
/* When the plan wants to be looked at again; 0: when something changes. */
usec tw_look_at(const struct test_world *t);

/* ---- objects ---- */

/* Every document of the YAML text, by its apiVersion and kind. Fails the test when it cannot. */
void tw_load(struct test_world *t, const char *yaml);
void tw_loadf(struct test_world *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* NULL when there is none. */
struct obj *tw_get(struct test_world *t, const struct kind *k, const char *name);
/* Fails the test when there is none. */
struct obj *tw_must(struct test_world *t, const struct kind *k, const char *name);
size_t tw_count(struct test_world *t, const struct kind *k);
/* Merge patch, written as YAML; a changed spec counts as a new generation. */
void tw_patch(struct test_world *t, const struct kind *k, const char *name, const char *yaml);
/* As an API request to delete: finalizers, and grace on a node, keep it for a while. */
void tw_delete(struct test_world *t, const struct kind *k, const char *name);
/* Gone at once, whatever it says. */
void tw_remove(struct test_world *t, const struct kind *k, const char *name);
/* Deletes what has lost its owner, until nothing has. */
void tw_collect(struct test_world *t);
/* A value of an object as JSON text, "" when absent: tw_json(o, "spec.replicas"). */
str tw_json(const struct obj *o, const char *path);

/* ---- plans ---- */

/* The plan stays until the next one is made. */
struct plan *tw_plan(struct test_world *t, planner_fn *fn, void *ctx, const struct kind *k,
                     const char *name);
/* As plan_print writes it. */
str tw_text(struct test_world *t);
/* What it would write, one line each, without conditions, bodies and reasons. */
str tw_writes(struct test_world *t);
/* The only write of that kind and name ("" subresource: the object itself); NULL when none. */
const struct plan_write *tw_write(struct test_world *t, const struct kind *k, const char *name,
                                  const char *subresource);
/* Its body; absent when there is no such write. */
jval tw_body(struct test_world *t, const struct kind *k, const char *name, const char *subresource);
/* Does it, stage by stage. */
void tw_carry_out(struct test_world *t);

#endif
