/* What tests of rounds share: worlds with nodes, gangs and pods, and what a round planned. */
#ifndef SCHED_MODEL_TEST_ROUND_H
#define SCHED_MODEL_TEST_ROUND_H

#include "base/test.h"
#include "grove/test-world.h"
#include "sched/model/tables.h"
#include "sched/sched.h"

/* Of the world made last. */
extern struct sched *sched;

struct test_world *world_of(const char *const *names, size_t n);
struct test_world *world_new(void);
void plan_round(struct test_world *t);
void add_nodes(struct test_world *t, int n, int cpu);
/* "w-0" is of the gang "w". */
void add_pod(struct test_world *t, const char *name, int cpu, const char *more);
/* A gang of one group "w" over the pods "w-0".. */
void add_gang(struct test_world *t, const char *name, int min, int n);
/* The world of tests keeps no Events: all but those. */
void carry_out(struct test_world *t);
/* Two nodes, one of them full: the gang "large" needs both and has waited so long that what is free
 * is held for it. */
void hold_room_for_large(struct test_world *t);
/* The Event about a pod; absent: none is planned. */
jval event_of(struct test_world *t, const char *pod);
size_t count_events(struct test_world *t);
size_t count_binds(struct test_world *t);
void check_condition(struct test_world *t, const char *gang, const char *status, const char *part);
/* Two zones of two nodes. */
void add_zones(struct test_world *t);
str node_of(struct test_world *t, const char *pod);
str zone_of(struct test_world *t, const char *pod);
void add_binding(struct test_world *t);
/* A gang of n pods of one CPU that must share a domain. */
void add_packed(struct test_world *t, const char *name, int n, const char *key);
void add_priority(struct test_world *t, const char *name, int value);

#endif
