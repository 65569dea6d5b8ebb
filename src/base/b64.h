/*
 * Base64 (RFC 4648), standard and URL alphabet. Decoding is strict: exact padding (present, or
 * absent with B64_NO_PAD), no foreign bytes, unused bits zero. One text for one value, so that
 * tokens and names cannot be spelled in two ways. B64_NEWLINES also passes over CR and LF, which
 * Go's decoder does and people's Secrets and kubeconfigs rely on.
 */
#ifndef BASE_B64_H
#define BASE_B64_H

#include "base/strbuf.h"

enum { B64_STD = 0, B64_URL = 1, B64_NO_PAD = 2, B64_NEWLINES = 4 };

void b64_encode(str in, unsigned flags, struct strbuf *b);
/* Appends the bytes; on false nothing was appended. */
bool b64_decode(str in, unsigned flags, struct strbuf *b);

#endif
