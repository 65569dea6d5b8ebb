/*
 * Between the two files of validation: validate.c goes through an object beside its table,
 * validate_rules.c checks one value by the rules of a user's schema. Private to them.
 */
#ifndef KUBE_VALIDATE_H
#define KUBE_VALIDATE_H

#include "kube/path.h"
#include "kube/schema.h"

struct validation {
    struct field_errors *errors;
    const struct path *at;   /* where the walk stands */
    const struct path *root; /* of the whole object */
    struct strbuf text;      /* of a path, while an error is written */
    bool builtin;
    bool lenient; /* missing fields are no error */
};

/* Text of where the walk stands; valid until the next call. */
str validation_path(struct validation *c);
void validation_wrong_type(struct validation *c, jval v, const char *wanted);
/* The rules of a schema for one value, what is inside apart; an absent schema has none. Rules that
 * are for values of another type do not count. */
void validation_rules(struct validation *c, jval schema, jval v);

#endif
