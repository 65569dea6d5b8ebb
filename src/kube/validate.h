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
    uint64_t *work;          /* what is left; 0: nothing more is looked at */
    bool builtin;
    bool lenient; /* missing fields are no error */
};

/* Takes so many units of work, of some 20 ns; false: there are none left, or nobody would hear of
 * what is found. */
bool validation_spend(struct validation *c, uint64_t units);
/* Whether the pattern matches somewhere in s, or that can no longer be told. */
bool validation_matches(struct validation *c, str pattern, str s);
/* Text of where the walk stands; valid until the next call. */
str validation_path(struct validation *c);
void validation_wrong_type(struct validation *c, jval v, const char *wanted);
/* The rules of a schema for one value, what is inside apart; an absent schema has none. Rules that
 * are for values of another type do not count. */
void validation_rules(struct validation *c, jval schema, jval v);
/* Characters, not bytes. */
int64_t validation_text_length(str s);

#endif
