/* Connections to a server without sockets, for tests: a client, and a peer without manners. */
#ifndef APISERVER_FRONT_TEST_FRONT_PIPE_H
#define APISERVER_FRONT_TEST_FRONT_PIPE_H

#include "net/http.h"

struct transport;

struct front_pipe {
    struct loop *loop;
    struct http_server *server;
    size_t capacity; /* what one end may leave unread */
};

/* ctx: struct front_pipe. */
struct transport *front_pipe_connect(void *ctx);
struct http_client *front_pipe_client(struct front_pipe *p);

struct front_peer {
    struct transport *t;
    struct strbuf in, out;
    bool has_ended;
    bool is_deaf; /* does not read */
};

void front_peer_open(struct front_peer *r, struct front_pipe *p);
void front_peer_send(struct front_peer *r, str s);
void front_peer_listen(struct front_peer *r, bool on);
/* At any moment. */
void front_peer_close(struct front_peer *r);

#endif
