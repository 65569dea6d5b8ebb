/* What a plain YAML scalar means, by the rules kubectl uses (YAML 1.1 as go-yaml v2 resolves it).
 * Shared by the reader and by the writer, which must quote whatever would not read back as text. */
#ifndef JSON_YAML_SCALAR_H
#define JSON_YAML_SCALAR_H

#include "base/strbuf.h"

enum yaml_scalar {
    YAML_STR,
    YAML_NULL,
    YAML_TRUE,
    YAML_FALSE,
    YAML_INT,
    YAML_FLOAT,
    YAML_NOT_FINITE, /* .inf, .nan */
    YAML_MERGE,      /* << */
};

/* For numbers appends the JSON form to *json (which may be NULL). */
enum yaml_scalar yaml_resolve(str plain, struct strbuf *json);
/* A date or time as YAML 1.1 writes it: read as text, but other readers would not. */
bool yaml_is_timestamp(str plain);

#endif
