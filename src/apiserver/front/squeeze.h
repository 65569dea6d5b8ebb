/*
 * Compression of long lists, which leave as streams (net/ compresses what is sent whole): one gzip
 * stream over the steps of a list, level 1 as kube-apiserver has it.
 */
#ifndef APISERVER_FRONT_SQUEEZE_H
#define APISERVER_FRONT_SQUEEZE_H

#include "net/http.h"

struct squeeze;

/* Bytes of one step: about 2 ms. */
enum { SQUEEZE_STEP = 256 << 10 };

/* n_open counts those of one server. NULL when there are too many at present: each takes 260 KB. */
struct squeeze *squeeze_new(size_t *n_open);
/* Accepts NULL. */
void squeeze_free(struct squeeze *s);
/* Takes the slices over; what comes out may be empty until the last. */
struct http_slice squeeze_add(struct squeeze *s, const struct http_slice *slices, size_t n,
                              bool last);

#endif
