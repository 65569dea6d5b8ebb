/* Status: the API's answer when it is not an object, in the exact words and shapes kube-apiserver
 * uses. Lives in an arena. Constructors name the situation, never the number. */
#ifndef KUBE_STATUS_H
#define KUBE_STATUS_H

#include "base/arena.h"
#include "base/vec.h"
#include "kube/tables/kinds.h"
#include "json/write.h"

struct status_cause {
    str reason; /* "FieldValueInvalid" */
    str message;
    str field;
};

struct status {
    int code;           /* HTTP */
    const char *reason; /* "NotFound" */
    str message;
    /* details; all may be empty */
    str name, group, kind, uid;
    struct status_cause *causes;
    size_t n_causes;
    int retry_after;    /* seconds */
    str continue_token; /* 410 on a list */
    bool empty_details; /* write "details":{} also when there is nothing in it */
};

/* Kinds of field error, rendered as kube-apiserver renders them. */
enum field_error_type {
    FIELD_ERR_REQUIRED,
    FIELD_ERR_INVALID,
    FIELD_ERR_DUPLICATE,
    FIELD_ERR_NOT_FOUND,
    FIELD_ERR_NOT_SUPPORTED,
    FIELD_ERR_FORBIDDEN,
    FIELD_ERR_INTERNAL,
    FIELD_ERR_TOO_LONG,
    FIELD_ERR_TOO_MANY,
    FIELD_ERR_TYPE_INVALID,
};

struct field_error {
    enum field_error_type type;
    str field;
    str value; /* JSON text; printed for INVALID, DUPLICATE, NOT_FOUND, NOT_SUPPORTED */
    str detail;
};

struct field_errors {
    struct arena *arena;
    VEC(struct field_error) items; /* exact duplicates collapse; at most 100 kept */
    VEC(str) warnings;
};

void field_errors_init(struct field_errors *e, struct arena *a);
void field_errors_done(struct field_errors *e);
/* value: JSON text or STR_NONE. */
void field_error_add(struct field_errors *e, enum field_error_type type, str field, str value,
                     const char *fmt, ...) PRINTF_LIKE(5, 6);
/* No more are kept: who would look at every element of what a peer sent can stop looking. */
bool field_errors_full(const struct field_errors *e);
void field_warning_add(struct field_errors *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "path: Invalid value: 3: must be ..." */
str field_error_text(struct arena *a, const struct field_error *e);
/* "[a, b]" or the single one bare. */
str field_errors_text(struct arena *a, const struct field_errors *e);

struct status *status_new(struct arena *a, int code, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
struct status *status_not_found(struct arena *a, const struct kind *k, str name);
struct status *status_already_exists(struct arena *a, const struct kind *k, str name);
/* "Operation cannot be fulfilled on pods "x": the object has been modified; ..." when why is NULL.
 */
struct status *status_conflict(struct arena *a, const struct kind *k, str name, const char *why);
struct status *status_invalid(struct arena *a, const struct kind *k, str name,
                              const struct field_errors *errors);
/* The same for a body that is no kind of its own: "ListOptions" of "meta.k8s.io". */
struct status *status_invalid_named(struct arena *a, const char *group, const char *kind, str name,
                                    const struct field_errors *errors);
struct status *status_bad_request(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* 500 without a reason, as kube-apiserver answers an error it has no name for. */
struct status *status_internal(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct status *status_method_not_allowed(struct arena *a);
struct status *status_unsupported_media_type(struct arena *a, const char *accepted);
struct status *status_expired(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* message and field are not copied. */
void status_add_cause(struct arena *a, struct status *s, const char *reason, str message,
                      str field);
/* "NotFound" for 404; NULL when the code has no usual reason. */
const char *status_reason_of_code(int code);
/* The Success answer of a delete. */
struct doc *status_success_doc(const struct kind *k, str name, str uid);
struct doc *status_doc(const struct status *s);
/* Back from the wire; never NULL (an unreadable body becomes a plain text one). */
struct status *status_from(struct arena *a, int http_code, jval body);

#endif
