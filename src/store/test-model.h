/*
 * The model that random tests compare the store with: nothing but the list of all writes ever made.
 * Every answer of the store is computed from that list by its definition. Used by
 * test-random-store.c and by the crash tests in tests/crash.
 */
#ifndef STORE_TEST_MODEL_H
#define STORE_TEST_MODEL_H

#include "store/test-store-fixture.h"

#define MODEL_KEYS 40

struct model_op {
    uint64_t revision;
    uint64_t key;
    uint64_t value; /* names the version; 0: deleted */
};

/* Revisions are dense from the first one given, so ops.p[r - 2] is the write of revision r. */
struct model {
    VEC(struct model_op) ops;
    uint64_t next_value;
};

void model_done(struct model *m);
/* The write to make next: a random key, put or (when there is something) deleted. Not yet in ops.
 */
struct model_op model_draw(struct model *m, struct rng *r, const struct store *s);
/* The object to write for it, of a size that depends on the value. */
struct obj *model_obj(const struct model_op *op, const struct store *s);
void model_add(struct model *m, const struct model_op *op);
/* Writes beyond the revision did not happen. */
void model_cut(struct model *m, uint64_t revision);

const struct kind *model_kind(uint64_t key);
/* Which version this is, 0 for NULL; checks that it is whole. */
uint64_t model_value_of(const struct obj *o);
/* Value of a key at a revision, 0 when absent. */
uint64_t model_value(const struct model *m, uint64_t key, uint64_t revision);

/* All keys, durable and newest, and the counts. */
void model_check_keys(const struct model *m, const struct store *s);
/* Every event after the revision, with what was before it. */
void model_check_replay(const struct model *m, const struct store *s, uint64_t after);

#endif
