/* YAML at the borders: libyaml events become documents by the scalar rules kubectl uses; documents
 * are printed as `kubectl -o yaml` prints them. */
#ifndef JSON_YAML_H
#define JSON_YAML_H

#include "base/vec.h"
#include "json/doc.h"

typedef VEC(struct doc *) doc_vec;

/* All documents of a stream, empty ones left out. Input that is JSON is accepted as well. Anchors
 * expand to at most 10 times the input or 1 MiB, whichever is more. Errors name line and column. */
int yaml_parse(str text, doc_vec *ret_docs, struct err *err);
/* Exactly one document. */
struct doc *yaml_parse_one(str text, struct err *err);
/* The same of strangers: about so many values, each of which takes a quarter of a microsecond.
 * What is JSON has no such limit. */
struct doc *yaml_parse_bounded(str text, size_t max_values, struct err *err);
void doc_vec_done(doc_vec *docs);
/* Keys in document order when sort_keys is false; kubectl sorts. */
void yaml_write(jval v, bool sort_keys, struct strbuf *out);
/* In document order, with small collections on one line ({type: string}): deep documents made of
 * small parts take a third of the space. */
void yaml_write_short(jval v, struct strbuf *out);

#endif
