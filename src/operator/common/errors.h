/*
 * status.lastErrors and the warnings that go with it, from what the last writes of a key failed
 * with (world_last_failure). A planner has a table of what its writes are called:
 *
 *   static const struct error_code codes[] = {
 *       {PLAN_CREATE, &kind_pod, "ERR_CREATE_POD", "PodCreateFailed"}, ...};
 *
 * The list is emptied as soon as nothing fails any more. An entry keeps the time it was first
 * observed while it stays the same, so a write that fails again and again changes nothing.
 */
#ifndef OPERATOR_COMMON_ERRORS_H
#define OPERATOR_COMMON_ERRORS_H

#include "grove/make.h"

struct error_code {
    int op; /* enum plan_op, or ERROR_ANY_OP */
    const struct kind *kind;
    const char *code;  /* of the entry */
    const char *event; /* reason of the warning; NULL: none */
};
enum { ERROR_ANY_OP = -1 };

/* What a planner finds wrong by itself, without a write that failed. */
struct error_found {
    const char *code;
    str description;
};
typedef VEC(struct error_found) error_vec;

/* Writes "lastErrors" when it is to change or to stay as it is with errors; nothing when there are
 * none and were none. Warns of failures that are new. One without a code is not listed. `found`
 * come first; it may be NULL. The number of errors. */
size_t errors_write(struct jw *w, struct plan *p, const struct world *world,
                    const struct obj *about, const struct error_code *codes, size_t n,
                    const error_vec *found);
/* The same in one: the first of `found`, else what fails, creates before all else. */
struct error_summary {
    const char *reason; /* FailedCreate, FailedUpdate or FailedDelete; NULL: nothing fails */
    str message;
};
struct error_summary errors_summary(struct arena *a, const struct world *world,
                                    const struct obj *about, const struct error_code *codes,
                                    size_t n, const error_vec *found);
/* The description of an entry about a write. */
str errors_describe(struct arena *a, const struct failure *f, const char *code);
/* For a key that has no status to tell it in: warns on `about` of what its writes fail with. */
void errors_warn(struct plan *p, const struct world *world, const struct key *key,
                 const struct obj *about, const struct error_code *codes, size_t n);
/* The stage for the status: `first` when it has errors to tell, which cannot wait for the writes
 * that fail; else `last`. */
unsigned errors_status_stage(const struct world *w, const struct obj *about, unsigned first,
                             unsigned last);

#endif
