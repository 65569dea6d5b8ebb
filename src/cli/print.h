/* Output for people: aligned columns from a Table, objects as YAML or JSON. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "explain/documents/session.h"

enum print_format { PRINT_TABLE, PRINT_WIDE, PRINT_YAML, PRINT_JSON, PRINT_NAME };
/* What -o may say beyond those: jsonpath=TEMPLATE, custom-columns=NAME:PATH,... */
struct print_how {
    enum print_format format;
    str jsonpath, columns; /* empty: the format counts */
};
int print_read_how(str output, struct print_how *ret, struct err *err);
/* Of one object, or of a List of them. Objects are as the server sent them. */
int print_chosen(const struct print_how *how, struct obj *const *items, size_t n, bool list,
                 struct err *err);
extern const char *const print_formats[]; /* for OPT_CHOICE, in the order of the enum */

/* A list as `kubectl get` shows it; all_namespaces adds the first column. */
void print_objects(const struct kind *k, struct obj *const *items, size_t n,
                   enum print_format format, bool all_namespaces, usec now);
/* What there is, and then a row for each change, as `kubectl get --watch` does. The first call
 * prints the head. Begins with zeros. */
struct print_rows {
    struct arena arena;
    size_t *widths; /* of the columns so far */
};
void print_rows(struct print_rows *r, const struct kind *k, struct obj *const *items, size_t n,
                enum print_format format, bool all_namespaces, usec now);
void print_rows_done(struct print_rows *r);
void print_object(const struct obj *o, enum print_format format, usec now);
/* As YAML or JSON. */
void print_doc(jval v, enum print_format format);
void print_doc_to(jval v, enum print_format format, struct strbuf *out);
/* "podcliqueset.grove.io/name" */
void print_reference(const struct kind *k, str name, const char *what);

#endif
