/*
 * Private to net/: HTTP/2, what both roles share. nghttp2 does the framing, HPACK, flow control and
 * the rules of the protocol; here it is tied to a connection: bytes read go in by h2_feed, frames
 * come out by h2_fill as the connection can write them, and header blocks are collected and made.
 *
 * The library is entered from one place at a time: nothing that runs inside one of its callbacks
 * may feed or fill. Out of memory aborts inside it as everywhere.
 */
#ifndef NET_H2_H
#define NET_H2_H

#include <nghttp2/nghttp2.h>

#include "base/arena.h"
#include "net/conn.h"

/* The header block that is arriving: there is one at a time on a connection, so it is collected
 * here and copied, at its exact size, to whom it concerns. */
struct h2_field {
    uint32_t name, name_len, value, value_len; /* in text */
};

struct h2_block {
    struct strbuf text;
    VEC(struct h2_field) fields;
    size_t max_fields;
    size_t room;       /* what the block may still hold, as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    bool is_open;      /* begun and not complete */
    usec since;        /* when it began */
    bool is_too_large; /* something was left out */
    size_t excess;     /* of all blocks so far */
};

struct h2 {
    struct conn *c;
    nghttp2_session *session;
    struct h2_block block;
    bool is_inside; /* the library */
};

/* Callbacks' user_data is the struct h2; both are shared by all sessions of a role. */
void h2_init_client(struct h2 *h, struct conn *c, const nghttp2_session_callbacks *callbacks,
                    size_t max_header_bytes, size_t max_headers);
void h2_init_server(struct h2 *h, struct conn *c, const nghttp2_session_callbacks *callbacks,
                    size_t max_header_bytes, size_t max_headers);
void h2_done(struct h2 *h);
/* Callbacks that are the same for both: header blocks are collected. */
nghttp2_session_callbacks *h2_new_callbacks(void);

/* Bytes from the peer; fails when the connection cannot go on. */
int h2_feed(struct h2 *h, str in, struct err *err);
/* role->fill */
void h2_fill(struct h2 *h);
/* The connection's queue holds enough for now: what send_data answers WOULDBLOCK to. */
bool h2_is_full(const struct h2 *h);
/* Nothing more to read or to write, for ever: after GOAWAY. */
bool h2_is_over(const struct h2 *h);

/* ---- header blocks ---- */

str h2_field_name(const struct h2_block *b, size_t i);
str h2_field_value(const struct h2_block *b, size_t i);
/* Value of the first field of that name, e.g. ":path". */
str h2_block_find(const struct h2_block *b, str name);

/* A block to send; the library copies it when it is submitted. */
struct h2_out {
    VEC(nghttp2_nv) nv;
    struct arena arena; /* values that had to be changed */
    size_t room;
};
void h2_out_begin(struct h2_out *o, size_t room);
/* As given; it must outlive the submission. */
void h2_out_add(struct h2_out *o, str name, str value);
/* A header of a handler or caller, by the rules of h1_put_header. */
void h2_out_header(struct h2_out *o, str name, str value);
void h2_out_done(struct h2_out *o);

#endif
