/* Inside the HTTP front end: the call, and what its files do for it. */
#ifndef APISERVER_FRONT_IMPL_H
#define APISERVER_FRONT_IMPL_H

#include "apiserver/front.h"
#include "apiserver/route.h"
#include "base/uuid.h"

enum { FRONT_MAX_HEADERS = 40 };

struct front {
    struct apiserver *server;
    struct http_server *http;
    str token; /* of the administrator; empty: none */
    char *token_copy;
    bool ready;
};

struct call {
    struct front *front;
    struct http_exchange *x; /* NULL: the peer is gone */
    struct arena arena;
    struct user user;
    bool anonymous;
    char audit_id[UUID_TEXT_LEN + 1];
    struct route route;
    struct doc *body;
    bool pending;  /* the server will still answer */
    bool watching; /* a stream is open */
    bool columns_sent;
};

/* Bodies that go out without being copied; slice_doc takes over the reference. */
struct http_slice slice_doc(struct doc *d);
struct http_slice slice_obj(struct obj *o);
/* What every reply carries; returns how many. */
size_t call_headers(struct call *c, str content_type, struct http_header h[FRONT_MAX_HEADERS]);
void call_reply_doc(struct call *c, int code, struct doc *d);
void call_reply_status(struct call *c, const struct status *s);

/* reply.c: an answer of the server as bytes. */
void reply_write(struct call *c, const struct api_reply *reply);

/* stream.c: a watch as a stream of lines. */
void stream_start(struct call *c);
void stream_stop(struct call *c);

#endif
