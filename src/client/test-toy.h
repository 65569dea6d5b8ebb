/*
 * A toy controller for tests of the whole ring: a parent ConfigMap (label role=parent) with
 * data.children = N owns N children whose names are a function of the parent's UID and their
 * number; the annotation toy/children counts them. Exactly one create per child, whatever goes
 * wrong.
 */
#ifndef CLIENT_TEST_TOY_H
#define CLIENT_TEST_TOY_H

#include "base/test.h"
#include "client/api_fake.h"
#include "client/controller.h"

struct toy {
    unsigned plans;
    usec look_after;
    bool event;
    bool counts_only;
    const char *verify; /* delete surplus only if this name is absent */
};

planner_fn toy_plan;
struct controller_def toy_def(struct toy *t, unsigned max_in_flight);

/* At the fake API, in namespace "ns". */
void toy_put_parent(struct api *fake, const char *name, int children);
/* The annotation's text; until the next call. */
const char *toy_count_written(struct api *fake, const char *name);
unsigned toy_times_created(struct api *fake, const char *parent, int i);

#endif
