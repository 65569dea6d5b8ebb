/* Label and field selectors, parsed once, matched often. */
#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H

#include "base/arena.h"
#include "kube/object.h"

struct selector; /* in the arena it was parsed into */

/* "a=b,c!=d,e in (x,y),!f,g>3"; empty matches everything. */
struct selector *label_selector_parse(struct arena *a, str text, struct err *err);
/* {matchLabels, matchExpressions}; absent matches nothing, {} everything. */
struct selector *label_selector_from(struct arena *a, jval v, struct err *err);
bool label_selector_match(const struct selector *s, jval labels);
bool selector_is_everything(const struct selector *s);
/* As kubectl and Scale print it: "app=web,tier in (a,b)", sorted by key. */
void label_selector_print(const struct selector *s, struct strbuf *out);

/* "spec.nodeName=n1,status.phase!=Failed"; keys the kind does not support are an error with the API
 * server's text. */
struct selector *field_selector_parse(struct arena *a, const struct kind *k, str text,
                                      struct err *err);
bool field_selector_match(const struct selector *s, const struct obj *o);
/* The value when the selector says metadata.name=X, else empty. */
str field_selector_name(const struct selector *s);
/* The same for any key ("spec.nodeName"), for indexes. */
str field_selector_value(const struct selector *s, str key);

#endif
