/* Patches as they come from clients, and the comparison of two documents. (Strategic merge and
 * server-side apply need kind tables: kube/.) */
#ifndef JSON_PATCH_H
#define JSON_PATCH_H

#include "json/doc.h"

/* RFC 7386: nulls in the patch delete. Unchanged subtrees are copied as text. */
struct doc *json_merge_patch(jval target, jval patch, struct err *err);
/* RFC 6902. A failed test or missing path: ERR_INVALID, err->field is the pointer. At most 10,000
 * operations; "copy" may add 3 MiB in all. */
struct doc *json_patch(jval target, jval patch, struct err *err);
/* The merge patch that turns a into b ("{}" when equal). */
struct doc *json_diff_merge(jval a, jval b);
/* One line per difference, "spec.replicas: 2 -> 3", in document order of b, removals last. */
void json_diff_print(jval a, jval b, struct strbuf *out);
/* One such line; JSON text before and after, STR_NONE for none. Long values are cut. */
void json_diff_line(struct strbuf *out, str path, str before, str after);

#endif
