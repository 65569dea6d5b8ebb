/*
 * HTTP/1.1 messages, both roles, without any I/O: bytes in, events out. The parser is strict where
 * two readers of one message could disagree about where it ends (RFC 9112 section 11.2): a bare LF,
 * a folded header, a repeated or odd Content-Length, any Transfer-Encoding but "chunked", both at
 * once: all are errors and the connection must be closed.
 *
 * Life of a parser: h1_init, then h1_parse until H1_END, then h1_next for the next message. The
 * head is copied into the parser and its slices stay valid until h1_next; body pieces are slices of
 * the caller's input. However the input is cut into pieces, the events are the same (body pieces
 * joined). Memory is bounded by max_header_bytes and max_headers.
 */
#ifndef NET_H1_H
#define NET_H1_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"

enum h1_role { H1_REQUEST, H1_RESPONSE };

enum h1_event {
    H1_MORE,  /* all input is used up */
    H1_HEAD,  /* start line and headers are complete */
    H1_DATA,  /* a piece of the body */
    H1_END,   /* the message is complete; repeats until h1_next */
    H1_ERROR, /* see error_status and error; repeats for ever */
};

enum h1_step {
    H1_STEP_HEAD,
    H1_STEP_LENGTH, /* body of `left` more bytes */
    H1_STEP_CLOSE,  /* body up to the end of the connection */
    H1_STEP_CHUNK_FIRST,
    H1_STEP_CHUNK_SIZE,
    H1_STEP_CHUNK_EXT,
    H1_STEP_CHUNK_LF,
    H1_STEP_CHUNK_DATA,
    H1_STEP_CHUNK_DATA_CR,
    H1_STEP_CHUNK_DATA_LF,
    H1_STEP_TRAILER,
    H1_STEP_TRAILER_NAME,
    H1_STEP_TRAILER_VALUE,
    H1_STEP_TRAILER_LF,
    H1_STEP_LAST_LF,
    H1_STEP_END,
    H1_STEP_ERROR,
};

struct h1_parser {
    enum h1_role role;
    enum h1_step step;
    size_t max_headers;

    /* The head, valid from H1_HEAD to h1_next. */
    str method; /* request */
    str path;
    str query;
    int status; /* response */
    int minor;  /* HTTP/1.minor */
    VEC(struct http_header) headers;
    bool keep_alive; /* the sender allows another message after this one */
    bool chunked;
    bool has_length;
    bool expect_continue;
    bool expect_other;
    uint64_t length; /* when has_length */

    /* Response: set before the first byte, the request was a HEAD. */
    bool to_head;

    int error_status; /* what a server answers: 400 or 431 */
    const char *error;

    /* private */
    struct strbuf head;
    size_t line;    /* where the unfinished line begins */
    bool blank;     /* one empty line before the request line was skipped */
    uint64_t left;  /* bytes of the body or chunk to come */
    size_t framing; /* bytes of the chunk line or of the trailers so far */
    unsigned digits;
};

void h1_init(struct h1_parser *p, enum h1_role role, size_t max_header_bytes, size_t max_headers);
void h1_done(struct h1_parser *p);
/* Ready for another message; slices of the last one end. */
void h1_next(struct h1_parser *p);
/* Takes from *in what one event needs. */
enum h1_event h1_parse(struct h1_parser *p, str *in, str *ret_data);
/* The connection ended: H1_END when that completes the message, else H1_ERROR. */
enum h1_event h1_finish(struct h1_parser *p);
/* True before the first byte of a message. */
bool h1_is_fresh(const struct h1_parser *p);

/* ---- writing ---- */

bool h1_is_token(str s);
/* Usable as a request target: visible ASCII, begins with '/', no '#'. */
bool h1_is_target(str s);
/* Copies a header's value; bytes that would break the framing become spaces. */
void h1_clean_value(char *to, str value);
bool h1_is_value(str s);
/* One header line. Bytes that would break the framing become spaces; a name that is no token, the
 * names that belong to the framing (see h1_is_framing), and a line that does not fit (with room for
 * the empty line after it) are left out. */
enum { H1_HEADER_EXTRA = 6 }; /* ": ", CR LF, and the empty line */
void h1_put_header(struct strbuf *b, str name, str value);
/* content-length, transfer-encoding, connection, date and so on: set by us, never by a handler. */
bool h1_is_framing(str name);
void h1_put_status(struct strbuf *b, int status);
/* "1a2b\r\n" into H1_CHUNK_HEAD bytes. Returns the length. */
enum { H1_CHUNK_HEAD = 20 };
size_t h1_format_chunk(char *p, uint64_t len);

#endif
