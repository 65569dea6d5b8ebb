/* JSONPath as printer columns and `-o jsonpath` use it: .a.b, ['a'], [0], [-1], [1:3], [*], ..name,
 * [?(@.type=="Ready")] with == != < <= > >=, and {range}/{end} templates with text between. */
#ifndef JSON_JSONPATH_H
#define JSON_JSONPATH_H

#include "base/vec.h"
#include "json/doc.h"

struct jsonpath;
typedef VEC(jval) jval_vec;

/* One path, with or without braces and leading dot. NULL on error, which names the position. */
struct jsonpath *jsonpath_compile(str path, struct err *err);
void jsonpath_free(struct jsonpath *p);
/* Appends the matches in document order. */
void jsonpath_eval(const struct jsonpath *p, jval root, jval_vec *ret_matches);
/* A template as kubectl's -o jsonpath='{.metadata.name}{"\n"}'. */
int jsonpath_print(str template, jval root, struct strbuf *out, struct err *err);

#endif
