/*
 * What the pods of a clique amount to, kept up as they change (a fold of the pod cache, see
 * client/cache.h): a plan for one changed pod of ten thousand reads a few numbers instead of
 * counting all of them again.
 *
 * Each pod is in exactly one class:
 *   terminating   has a deletionTimestamp: gone as far as anybody counts on it
 *   finished      Succeeded or Failed and staying: holds its name, and its index until it is
 *                 replaced, and nothing else
 *   active        the rest: holds a place of its clique
 */
#ifndef OPERATOR_COMMON_TALLY_H
#define OPERATOR_COMMON_TALLY_H

#include "client/controller.h"
#include "client/slots.h"

struct tally_hash {
    char hash[64]; /* as long as a label value can be */
    size_t len;
    int64_t pods;
};

struct tally {
    int64_t terminating, finished, active;
    int64_t gated; /* active and finished with any gate */
    /* Of the active ones: with Grove's gate; on a node; ready; crashed or no longer ready (pods
     * still starting are not). */
    int64_t held, scheduled, ready, failing;
    int64_t unnumbered;            /* active ones without an index that makes sense */
    struct slots indices;          /* of the active ones */
    VEC(struct tally_hash) hashes; /* of the active and the finished ones, by template */
};

/* The fold's, for one runtime; before it starts. */
void tally_add_fold(struct runtime *r);
/* Of the clique with this UID; zeros when it has no pods. Borrowed until the next change. */
const struct tally *tally_of(const struct world *w, str pclq_uid);
/* Pods made from the template of this hash. */
int64_t tally_with_hash(const struct tally *t, str hash);
/* Some index is held by more than one active pod. */
bool tally_has_doubles(const struct tally *t);
/* Does a change of a pod change any tally? */
bool tally_cares(const struct obj *old, const struct obj *new);

/* Building blocks of the fold, for tests that count from scratch. */
void tally_add(void *tally, const struct obj *pod);
void tally_remove(void *tally, const struct obj *pod);
void tally_done(void *tally);

#endif
