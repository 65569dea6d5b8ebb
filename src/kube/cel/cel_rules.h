/*
 * Rules of a schema (x-kubernetes-validations): compiled once with the schema, evaluated for every
 * object that is written. A rule speaks about the value it stands at (self) and, when an object is
 * updated, the one before (oldSelf).
 *
 * Which old value belongs to a new one is known along members of objects and maps and along items
 * of lists that have keys; a rule about oldSelf anywhere else is refused. One about oldSelf is only
 * evaluated where there is an old value, unless it says optionalOldSelf. What did not change is not
 * judged again by rules about self alone, so that a stricter schema does not lock objects up.
 */
#ifndef KUBE_CEL_CEL_RULES_H
#define KUBE_CEL_CEL_RULES_H

#include "kube/status.h"

struct cel_rules; /* in the arena it was compiled into */

/* NULL: there are none. The schema must live as long; it is one of a whole object. What is wrong
 * goes to errors, below path, in kube-apiserver's words; NULL when nobody asks (a stored schema).
 * A rule that does not compile refuses every value. */
const struct cel_rules *cel_rules_compile(struct arena *a, jval schema, str path,
                                          struct field_errors *errors);
/* old: absent when the object is new. */
void cel_rules_check(const struct cel_rules *r, jval object, jval old, struct field_errors *errors);

/* Errors from the first on that are about values that did not change and that come from limits of
 * values (not from their types or what is missing) are dropped. */
void cel_rules_ratchet(jval schema, jval object, jval old, struct field_errors *errors,
                       size_t first);

#endif
