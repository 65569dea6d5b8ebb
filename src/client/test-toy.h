/*
 * A toy controller for tests of the whole ring: a parent ConfigMap (label role=parent) with
 * data.children = N owns N children whose names are a function of the parent's UID and their
 * number; the annotation toy/children counts them. Exactly one create per child, whatever goes
 * wrong.
 */
#ifndef CLIENT_TEST_TOY_H
#define CLIENT_TEST_TOY_H

#include "base/test.h"
#include "client/api_faulty.h"
#include "client/controller.h"
#include "client/test-api-fake.h"

struct toy {
    unsigned plans;
    usec look_after;
    bool event;
    bool warn; /* of failures */
    bool counts_only;
    bool user_scale_in, not_serving;
    usec min_interval;
    const char *verify; /* delete surplus only if this name is absent */
    /* Of the last plan: what it was told of the writes before; a copy of the first failure, without
     * its texts. */
    size_t failures;
    struct failure failure;
    char message[64];
    unsigned unsure; /* children that are not there and may still come */
};

planner_fn toy_plan;
struct controller_def toy_def(struct toy *t, unsigned max_in_flight);

/* At the fake API, in namespace "ns". */
void toy_put_parent(struct api *fake, const char *name, int children);
/* The annotation's text; until the next call. */
const char *toy_count_written(struct api *fake, const char *name);
unsigned toy_times_created(struct api *fake, const char *parent, int i);

/* A ring of its own on virtual time: the fake API, faults around it, a runtime with the toy. */
struct toy_rig {
    struct loop *loop;
    struct api *fake, *api;
    struct runtime *runtime;
    struct controller *controller;
    struct toy toy;
    struct strbuf journal;
};

/* Parents may be put before the runtime starts. */
void toy_rig_init(struct toy_rig *r, uint64_t seed, const struct api_faulty_options *o);
void toy_rig_start(struct toy_rig *r, unsigned max_in_flight);
void toy_rig_done(struct toy_rig *r);
void toy_run_for(struct toy_rig *r, usec by);

#endif
