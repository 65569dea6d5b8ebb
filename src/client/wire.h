/*
 * wire: requests as HTTP and bytes as objects, for api_remote. Pure functions; what they give lives
 * in the arena.
 */
#ifndef CLIENT_WIRE_H
#define CLIENT_WIRE_H

#include "client/api.h"

/* ---- requests ---- */

/* As it stands in a path or query. */
void wire_add_escaped(struct strbuf *b, str s);
const char *wire_method(enum api_verb v);
bool wire_is_write(enum api_verb v);
/* prefix: of all paths, without trailing slash. limit and token: of the page, 0 and empty: none. */
str wire_request_path(struct arena *a, str prefix, const struct api_request *q, int64_t limit,
                      str token);
str wire_watch_path(struct arena *a, str prefix, const struct api_watch *w);
/* Body and its content type; both empty: none. */
str wire_body(struct arena *a, const struct api_request *q, str *ret_type);

/* ---- answers ---- */

/* How objects are made of what came. */
struct wire_form {
    const struct kind *kind;
    /* Without managedFields and kubectl's last-applied annotation: half of what a cache would hold,
     * and nothing a planner reads. Such a copy must not be written back whole. */
    bool trim;
};

/* A document of its own out of a part of another. Items of a list come without apiVersion and kind;
 * they are given back. NULL: not an object of the API. */
struct obj *wire_object(const struct wire_form *f, jval v, struct err *err);

/* The texts of a Warning header (RFC 9111: 299 - "text", ...), appended to list[*n]. */
void wire_warnings(struct arena *a, str value, str *list, size_t max, size_t *n);

#endif
