/*
 * edit: a list of intended changes to a document. Documents are never touched; three consumers read
 * the same list: apply (a new document, unchanged regions copied as blocks), the wire (merge patch
 * or JSON patch) and people (a readable diff). So the common patch is never computed by comparison.
 *
 * Paths are RFC 6901 pointers ("/metadata/labels/app"), "-" appends to an array. Each edit sees the
 * result of those before it: a later edit of the same place wins, and array indices shift as
 * elements go. edit_set creates what is missing on the way (null counts as missing): objects, and
 * an array where "-" comes next. Deleting what is not there does nothing.
 */
#ifndef JSON_EDIT_H
#define JSON_EDIT_H

#include "base/vec.h"
#include "json/doc.h"

enum edit_op { EDIT_SET, EDIT_DEL };

struct edit_item {
    enum edit_op op;
    str path;        /* in the arena */
    str value;       /* JSON text in the arena; EDIT_SET only */
    struct doc *doc; /* the same as a document, held by the arena; NULL: there is none */
};

struct edit {
    struct arena *arena;
    VEC(struct edit_item) items;
};

void edit_init(struct edit *e, struct arena *arena);
void edit_done(struct edit *e);
bool edit_is_empty(const struct edit *e);
/* value is copied into the arena; absent deletes. */
void edit_set(struct edit *e, str path, jval value);
void edit_set_raw(struct edit *e, str path, str json);
/* The root of d, whose reference is taken over; nothing is parsed or copied. */
void edit_set_doc(struct edit *e, str path, struct doc *d);
void edit_set_str(struct edit *e, str path, str s);
void edit_set_int(struct edit *e, str path, int64_t v);
void edit_set_bool(struct edit *e, str path, bool v);
void edit_del(struct edit *e, str path);
/* Builds a pointer from keys (escaping ~ and /): edit_path(a, STR("metadata"), STR("labels"), k).
 */
str edit_path_n(struct arena *a, const str *keys, size_t n);
#define edit_path(a, ...) \
    edit_path_n((a), (const str[]){__VA_ARGS__}, sizeof((const str[]){__VA_ARGS__}) / sizeof(str))

/* New document; without a base one is made from nothing. An edit that does not apply (through a
 * scalar, index out of range) is an error. */
struct doc *edit_apply(const struct edit *e, const struct doc *base, struct err *err);
/* RFC 7386. Array elements cannot be addressed by a merge patch: such an edit sets the whole array
 * as it is after the edits, taken from base. Nor can null be set: it reads as a removal. */
struct doc *edit_as_merge_patch(const struct edit *e, const struct doc *base, struct err *err);
/* RFC 6902, one operation per edit that changes something. */
struct doc *edit_as_json_patch(const struct edit *e, const struct doc *base, struct err *err);
/* "spec.replicas: 2 -> 3", one line per edit; "(absent)" and "(removed)" where there is no value.
 */
void edit_print(const struct edit *e, const struct doc *base, struct strbuf *out);

#endif
