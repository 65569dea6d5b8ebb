/* The built-in kinds and bodies, for the registry only. */
#ifndef KUBE_TABLES_BUILTIN_H
#define KUBE_TABLES_BUILTIN_H

#include "kube/tables/kinds.h"

/* What a request may carry without being a stored kind. group NULL: any group and version. */
struct body_type {
    const char *group, *version, *kind;
    const struct type *type;
};

extern const struct kind *const builtin_kinds[];
extern const size_t n_builtin_kinds;
extern const struct body_type body_types[];
extern const size_t n_body_types;

#endif
