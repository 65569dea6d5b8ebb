/* A writer of protobuf bodies for tests: by hand, field by field, or from JSON by the tables. */
#ifndef KUBE_TEST_PROTO_FIXTURE_H
#define KUBE_TEST_PROTO_FIXTURE_H

#include "kube/tables/kinds.h"

void put_varint(struct strbuf *b, uint64_t v);
void put_int(struct strbuf *b, unsigned tag, int64_t v);
void put_bytes(struct strbuf *b, unsigned tag, str s);
void put_cstr(struct strbuf *b, unsigned tag, const char *s);
/* Appends the message and empties it. */
void put_message(struct strbuf *b, unsigned tag, struct strbuf *message);
/* What clients send: magic bytes, apiVersion, kind and the message of the kind. */
void put_envelope(struct strbuf *out, const char *api_version, const char *kind, str raw);
/* An object as its message: numbers, strings, bytes, times, quantities, lists, maps and messages,
 * inlined ones too. */
void put_object(struct strbuf *b, const struct type *t, jval v);

#endif
