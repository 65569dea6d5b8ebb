/*
 * transport: bytes in and out of one connection without blocking. Below is a TCP socket or one end
 * of an in-memory pipe (tests: works on a virtual loop too); above it, optionally, TLS.
 *
 * The owner says what it waits for (transport_want) and is called when something of it may be
 * possible; a call without need does no harm. transport_close stops all callbacks at once and may
 * be called inside one; transport_free comes later, when no callback is running.
 */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "loop/loop.h"

/* Instead of a number of bytes. 0 is the end of the peer's bytes. */
enum { TRANSPORT_AGAIN = -1, TRANSPORT_ERROR = -2 };
/* The largest TLS record, and the most that is gathered for one. */
enum { TRANSPORT_RECORD = 16384 };

struct transport;

struct transport_ops {
    ssize_t (*read)(struct transport *t, void *p, size_t n);
    ssize_t (*writev)(struct transport *t, const struct iovec *iov, int n);
    /* 0 when the connection stands, TRANSPORT_AGAIN, TRANSPORT_ERROR. Asked until it stands. */
    int (*connect)(struct transport *t);
    void (*want)(struct transport *t, unsigned events);
    void (*shutdown)(struct transport *t);
    void (*close)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    struct loop *loop;
    void (*on_ready)(struct transport *t, unsigned events);
    void *ctx;
    SSL *ssl;          /* owned; NULL: clear text */
    bool is_connected; /* below TLS */
    bool is_open;      /* handshake done too */
    bool is_closed;
    bool is_truncated;       /* TLS ended without close_notify */
    unsigned wanted;         /* LOOP_READ | LOOP_WRITE_READY, as given to ops->want */
    bool reads_first;        /* connecting waits for the peer's bytes (a tunnel), else to write */
    bool has_more;           /* further bytes follow at once: they may share a packet */
    bool writes_later;       /* its owner will write without being told that it can */
    int error;               /* errno of the last failure below TLS */
    const char *why;         /* of a failure to connect that is no errno; NULL: error says it */
    struct transport *below; /* owned; NULL: none (a tunnel has one) */
};

/* Takes over the descriptor (non-blocking). */
struct transport *transport_new_tcp(struct loop *l, int fd, struct err *err);
/* Begins to connect; transport_open finishes it. */
struct transport *transport_connect_tcp(struct loop *l, const struct sockaddr *sa, socklen_t len,
                                        struct err *err);
/* Two ends, each of which may be `capacity` bytes ahead of its reader. */
void transport_new_pipe(struct loop *l, size_t capacity, struct transport *ret[2]);
/* Puts TLS on top; takes over the session. */
void transport_add_tls(struct transport *t, SSL *ssl);
void transport_close(struct transport *t);
void transport_free(struct transport *t);

/* Connects and shakes hands: 0 done, TRANSPORT_AGAIN (it has asked for what it waits for), or
 * TRANSPORT_ERROR with err set. */
int transport_open(struct transport *t, struct err *err);
ssize_t transport_read(struct transport *t, void *p, size_t n);
/* Writes a beginning of the bytes. After TRANSPORT_AGAIN the next call must begin with the same
 * bytes and have at least as many (TLS has made a record of them). */
ssize_t transport_writev(struct transport *t, const struct iovec *iov, int n);
void transport_want(struct transport *t, bool read, bool write);
/* No more bytes will be written; the peer reads the end. */
void transport_shutdown(struct transport *t);
/* What the last TRANSPORT_ERROR was. */
int transport_err(struct transport *t, struct err *err, const char *what);

#endif
