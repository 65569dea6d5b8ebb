/*
 * Views: plain C structs filled from a document by a field table. The table is the one statement of
 * what we understand of an object; what it does not name is never touched.
 *
 *   struct pclq_spec { str role; int64_t replicas; struct opt_int min_available; jval pod_spec; };
 *   static const struct view_field pclq_spec_view[] = {
 *       VIEW_STR(struct pclq_spec, role, "roleName"),
 *       VIEW_INT(struct pclq_spec, replicas, "replicas"),
 *       VIEW_OPT_INT(struct pclq_spec, min_available, "minAvailable"),
 *       VIEW_VAL(struct pclq_spec, pod_spec, "podSpec"),
 *       VIEW_END};
 *
 * Members are slices and values of the document: they live as long as it does. Lists are jvals,
 * iterated lazily. A path may be nested: "spec.template.cliques".
 */
#ifndef JSON_VIEW_H
#define JSON_VIEW_H

#include "json/doc.h"

struct opt_int {
    int64_t value;
    bool set;
};
struct opt_bool {
    bool value;
    bool set;
};

enum view_type {
    VIEW_T_END,
    VIEW_T_STR,
    VIEW_T_INT,
    VIEW_T_BOOL,
    VIEW_T_OPT_INT,
    VIEW_T_OPT_BOOL,
    VIEW_T_VAL
};

struct view_field {
    const char *path;
    enum view_type type;
    size_t offset;
};

#define VIEW_FIELD(s, m, p, t)                             \
    {                                                      \
        .path = (p), .type = (t), .offset = offsetof(s, m) \
    }
#define VIEW_STR(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_STR)
#define VIEW_INT(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_INT)
#define VIEW_BOOL(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_BOOL)
#define VIEW_OPT_INT(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_OPT_INT)
#define VIEW_OPT_BOOL(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_OPT_BOOL)
#define VIEW_VAL(s, m, p) VIEW_FIELD(s, m, p, VIEW_T_VAL)
#define VIEW_END           \
    {                      \
        .type = VIEW_T_END \
    }

/* Fills *out (which is zeroed first). Null counts as absent, except for VIEW_VAL. Wrong types leave
 * the zero value and the first of them is returned, and reported with its path when err is given.
 * Always fills what it can. */
int view_decode(jval v, const struct view_field *table, void *out, size_t out_size,
                struct err *err);

#endif
