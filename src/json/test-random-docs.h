/* Random JSON for property tests: every type, odd numbers, escapes, spaces, nested containers. */
#ifndef JSON_TEST_RANDOM_DOCS_H
#define JSON_TEST_RANDOM_DOCS_H

#include "base/rng.h"
#include "base/strbuf.h"

/* Appends one value of at most the given number of levels. */
void random_json(struct rng *r, unsigned levels, struct strbuf *out);
/* Appends an object. */
void random_object(struct rng *r, unsigned levels, struct strbuf *out);

#endif
