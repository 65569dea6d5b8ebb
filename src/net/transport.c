/*
 * TCP and TLS. OpenSSL talks to the layer below through a BIO of ours, so that TLS runs over a pipe
 * as well and a write to a closed socket is an error, not a signal.
 *
 * Writes are gathered: small pieces (chunk heads, events) are copied together into one record of at
 * most 16 KB, a piece that fills a record goes straight from its own memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <unistd.h>

#include "net/tls_impl.h"
#include "net/transport.h"

/* ---- TCP ---- */

struct tcp {
    struct transport t;
    struct loop_io io;
};

static struct tcp *tcp_of(struct transport *t)
{
    return container_of(t, struct tcp, t);
}

static ssize_t tcp_result(struct transport *t, ssize_t n)
{
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return TRANSPORT_AGAIN;
    t->error = errno;
    return TRANSPORT_ERROR;
}

static ssize_t tcp_read(struct transport *t, void *p, size_t n)
{
    return tcp_result(t, recv(tcp_of(t)->io.fd, p, n, 0));
}

static ssize_t tcp_writev(struct transport *t, const struct iovec *iov, int n)
{
    struct msghdr m = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    int flags = MSG_NOSIGNAL | (t->has_more ? MSG_MORE : 0);
    return tcp_result(t, sendmsg(tcp_of(t)->io.fd, &m, flags));
}

static int tcp_connect(struct transport *t)
{
    struct tcp *tcp = tcp_of(t);
    socklen_t len = sizeof(t->error);
    if (getsockopt(tcp->io.fd, SOL_SOCKET, SO_ERROR, &t->error, &len) < 0)
        t->error = errno;
    if (t->error)
        return TRANSPORT_ERROR;
    struct sockaddr_storage sa;
    len = sizeof(sa);
    if (getpeername(tcp->io.fd, (struct sockaddr *)&sa, &len) == 0)
        return 0;
    return TRANSPORT_AGAIN;
}

static void tcp_want(struct transport *t, unsigned events)
{
    loop_io_set(&tcp_of(t)->io, events);
}

static void tcp_shutdown(struct transport *t)
{
    (void)shutdown(tcp_of(t)->io.fd, SHUT_WR);
}

static void tcp_close(struct transport *t)
{
    struct tcp *tcp = tcp_of(t);
    loop_io_remove(&tcp->io);
    (void)close(tcp->io.fd);
}

static const struct transport_ops tcp_ops = {
    .read = tcp_read,
    .writev = tcp_writev,
    .connect = tcp_connect,
    .want = tcp_want,
    .shutdown = tcp_shutdown,
    .close = tcp_close,
};

static void on_io(struct loop_io *io, unsigned events)
{
    struct tcp *tcp = container_of(io, struct tcp, io);
    tcp->t.on_ready(&tcp->t, events);
}

/* Small replies leave at once; a peer that vanished without a word is noticed within a minute. */
static void set_socket_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 30}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

struct transport *transport_new_tcp(struct loop *l, int fd, struct err *err)
{
    struct tcp *tcp = xnew(struct tcp);
    tcp->t.ops = &tcp_ops;
    tcp->t.loop = l;
    tcp->t.is_connected = true;
    tcp->io.fd = fd;
    tcp->io.fn = on_io;
    set_socket_options(fd);
    if (loop_io_add(l, &tcp->io, err) < 0) {
        (void)close(fd);
        free(tcp);
        return NULL;
    }
    return &tcp->t;
}

struct transport *transport_connect_tcp(struct loop *l, const struct sockaddr *sa, socklen_t len,
                                        struct err *err)
{
    int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        err_errno(err, ERR_UNAVAILABLE, "socket");
        return NULL;
    }
    if (connect(fd, sa, len) < 0 && errno != EINPROGRESS) {
        err_errno(err, ERR_UNAVAILABLE, "connect");
        (void)close(fd);
        return NULL;
    }
    struct transport *t = transport_new_tcp(l, fd, err);
    if (t)
        t->is_connected = false;
    return t;
}

/* ---- TLS ---- */

static int bio_result(BIO *bio, ssize_t n, int retry)
{
    BIO_clear_retry_flags(bio);
    if (n == TRANSPORT_AGAIN)
        BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return n < 0 ? -1 : (int)n;
}

static int bio_write(BIO *bio, const char *p, int n)
{
    struct transport *t = BIO_get_data(bio);
    struct iovec iov = {(void *)p, (size_t)n};
    return bio_result(bio, t->ops->writev(t, &iov, 1), BIO_FLAGS_WRITE);
}

static int bio_read(BIO *bio, char *p, int n)
{
    struct transport *t = BIO_get_data(bio);
    ssize_t r = t->ops->read(t, p, (size_t)n);
    if (r == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return bio_result(bio, r, BIO_FLAGS_READ);
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    if (cmd == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return cmd == BIO_CTRL_FLUSH || cmd == BIO_CTRL_DUP;
}

/* One method for the whole process, made on first use and never freed. */
static const BIO_METHOD *bio_method(void)
{
    static BIO_METHOD *method;
    if (!method) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "grove transport");
        BUG_ON(!method || !BIO_meth_set_write(method, bio_write) ||
               !BIO_meth_set_read(method, bio_read) || !BIO_meth_set_ctrl(method, bio_ctrl));
    }
    return method;
}

void transport_add_tls(struct transport *t, SSL *ssl)
{
    BIO *bio = BIO_new(bio_method());
    BUG_ON(!bio);
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    t->ssl = ssl;
}

static ssize_t tls_result(struct transport *t, int r)
{
    switch (SSL_get_error(t->ssl, r)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return TRANSPORT_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        return TRANSPORT_ERROR;
    }
}

static ssize_t tls_read(struct transport *t, void *p, size_t n)
{
    ERR_clear_error();
    int r = SSL_read(t->ssl, p, (int)MIN(n, (size_t)TRANSPORT_RECORD));
    if (r > 0)
        return r;
    ssize_t result = tls_result(t, r);
    /* A session ticket that arrives makes OpenSSL take a write buffer that it would keep. */
    if (result == TRANSPORT_AGAIN)
        (void)SSL_free_buffers(t->ssl);
    /* The connection ended without close_notify: an end all the same, but not one to trust. */
    if (result == TRANSPORT_ERROR && !t->error &&
        ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        t->is_truncated = true;
        return 0;
    }
    return result;
}

static ssize_t tls_writev(struct transport *t, const struct iovec *iov, int n)
{
    char record[TRANSPORT_RECORD];
    const char *from = record;
    size_t len = 0;
    if (iov[0].iov_len >= TRANSPORT_RECORD) {
        from = iov[0].iov_base;
        len = TRANSPORT_RECORD;
    }
    for (int i = 0; i < n && len < TRANSPORT_RECORD; i++) {
        size_t part = MIN(iov[i].iov_len, TRANSPORT_RECORD - len);
        memcpy(record + len, iov[i].iov_base, part);
        len += part;
    }
    ERR_clear_error();
    int r = SSL_write(t->ssl, from, (int)len);
    if (r > 0)
        return r;
    ssize_t result = tls_result(t, r);
    return result == 0 ? TRANSPORT_ERROR : result;
}

/* ---- both ---- */

static int open_error(struct transport *t, struct err *err)
{
    long verify = t->ssl ? SSL_get_verify_result(t->ssl) : X509_V_OK;
    if (verify != X509_V_OK) {
        ERR_clear_error();
        err_set(err, ERR_UNAVAILABLE, "TLS: %s", X509_verify_cert_error_string(verify));
    } else {
        transport_err(t, err, t->ssl ? "TLS handshake" : "connect");
        if (err)
            err->code = ERR_UNAVAILABLE;
    }
    return TRANSPORT_ERROR;
}

static int finish_connect(struct transport *t, struct err *err)
{
    int r = t->ops->connect(t);
    if (r == TRANSPORT_AGAIN)
        transport_want(t, t->reads_first, !t->reads_first);
    if (r == TRANSPORT_ERROR && t->why) {
        err_set(err, ERR_UNAVAILABLE, "%s", t->why);
    } else if (r == TRANSPORT_ERROR) {
        errno = t->error;
        err_errno(err, ERR_UNAVAILABLE, "connect");
    }
    t->is_connected = r == 0;
    return r;
}

int transport_open(struct transport *t, struct err *err)
{
    int connected = t->is_connected ? 0 : finish_connect(t, err);
    if (connected < 0)
        return connected;
    if (t->ssl) {
        ERR_clear_error();
        int r = SSL_do_handshake(t->ssl);
        if (r != 1 && tls_result(t, r) == TRANSPORT_AGAIN) {
            transport_want(t, SSL_want_read(t->ssl), false);
            return TRANSPORT_AGAIN;
        }
        if (r != 1)
            return open_error(t, err);
    }
    t->is_open = true;
    return 0;
}

ssize_t transport_read(struct transport *t, void *p, size_t n)
{
    return t->ssl ? tls_read(t, p, n) : t->ops->read(t, p, n);
}

ssize_t transport_writev(struct transport *t, const struct iovec *iov, int n)
{
    return t->ssl ? tls_writev(t, iov, n) : t->ops->writev(t, iov, n);
}

void transport_want(struct transport *t, bool read, bool write)
{
    /* TLS may have to write in order to read (a key update, the handshake). */
    if (t->ssl && SSL_want_write(t->ssl))
        write = true;
    write = write && !t->writes_later;
    unsigned events = (read ? LOOP_READ : 0) | (write ? LOOP_WRITE_READY : 0);
    if (t->is_closed || events == t->wanted)
        return;
    t->wanted = events;
    t->ops->want(t, events);
}

void transport_shutdown(struct transport *t)
{
    if (t->ssl && t->is_open) {
        ERR_clear_error();
        (void)SSL_shutdown(t->ssl);
    }
    t->ops->shutdown(t);
}

int transport_err(struct transport *t, struct err *err, const char *what)
{
    if (!t->error)
        return tls_err(err, ERR_IO, what);
    ERR_clear_error();
    errno = t->error;
    return err_errno(err, ERR_IO, "%s", what);
}

void transport_close(struct transport *t)
{
    if (t->is_closed)
        return;
    t->is_closed = true;
    t->ops->close(t);
}

void transport_free(struct transport *t)
{
    if (!t)
        return;
    transport_close(t);
    SSL_free(t->ssl);
    transport_free(t->below);
    free(t);
}
