/*
 * What tests of connections share: a server whose handler does what the path says, on a real loop
 * with TLS over TCP or on a virtual loop over pipes, and a raw peer that sends and keeps bytes.
 *
 * Paths: /hello, /echo and /host (with that header) answer at once; /later when fx_release() is
 * called; /stream opens a stream that the test writes to through fx.stream; /big answers with
 * fx.big bytes 'a' and ten 'b', /noise with fx.big bytes that do not compress.
 */
#ifndef NET_TEST_NET_FIXTURE_H
#define NET_TEST_NET_FIXTURE_H

#include "base/test.h"
#include "net/client.h"
#include "net/http.h"
#include "net/http_server.h"
#include "net/tls.h"
#include "net/transport.h"

/* OpenSSL checks certificates by the machine's clock, whatever the loop's says: 2020 to 2070. */
#define FX_PKI_BEGIN ((usec)1577836800 * USEC_PER_SEC)
#define FX_PKI_LIFETIME (50 * 365 * USEC_PER_DAY)

/* What the client and the server speak; a raw peer offers HTTP/1.1 unless the fixture is of HTTP/2.
 */
enum fx_kind {
    FX_TCP_TLS,  /* real loop */
    FX_PIPE,     /* virtual loop, clear text */
    FX_PIPE_TLS, /* virtual loop */
    FX_H2 = 8,   /* HTTP/2 instead of HTTP/1.1 */
    FX_H2_TCP_TLS = FX_H2 | FX_TCP_TLS,
    FX_H2_PIPE = FX_H2 | FX_PIPE,
    FX_H2_PIPE_TLS = FX_H2 | FX_PIPE_TLS,
};

/* The same test over both versions; it has a parameter `kind`. */
#define TEST_BOTH(id, kind_)                      \
    static void both_##id(enum fx_kind kind);     \
    TEST(id)                                      \
    {                                             \
        both_##id(kind_);                         \
    }                                             \
    TEST(id##_over_http_2)                        \
    {                                             \
        both_##id((enum fx_kind)(FX_H2 | kind_)); \
    }                                             \
    static void both_##id(enum fx_kind kind)

struct fx {
    enum fx_kind kind; /* without FX_H2 */
    bool is_h2;
    struct loop *loop;
    struct pki_identity ca, server_id, client_id;
    struct tls_server *tls_server;
    struct tls_client *tls_client;
    struct http_limits limits;
    struct http_server *server;
    struct http_client *client;
    struct loop_timer tick;
    usec wait;            /* how long one step lasts; 1 ms */
    size_t pipe_capacity; /* 64 KiB */

    /* the handler's */
    struct http_exchange *later;
    struct http_exchange *stream;        /* the newest */
    VEC(struct http_exchange *) streams; /* all */
    size_t big;
    unsigned n_requests, n_closed, n_aborted, n_drained, n_dropped;
    struct strbuf log; /* "METHOD path body\n" of each request */
    struct strbuf who; /* common name and organizations of the last peer */
    struct strbuf address;
};

void fx_init(struct fx *f, enum fx_kind kind);
/* Makes the server with f->limits. */
void fx_start(struct fx *f);
void fx_done(struct fx *f);
void fx_step(struct fx *f);
void fx_release(struct fx *f);
/* Writes `n` bytes 'x' to the stream, owned, so that the drop is counted. */
void fx_stream_bytes(struct fx *f, struct http_exchange *x, size_t n);

#define WAIT_STEPS 4000
/* Steps the loop until the condition holds. */
#define WAIT_FOR(f, cond)                                  \
    ({                                                     \
        for (int i_ = 0; i_ < WAIT_STEPS && !(cond); i_++) \
            fx_step(f);                                    \
        CHECK(cond);                                       \
    })

/* A peer without manners. */
struct raw {
    struct fx *f;
    struct transport *t;
    struct strbuf in;
    struct strbuf out;
    bool has_ended;
    bool has_failed;
    bool is_deaf; /* does not read */
};

void raw_open(struct raw *r, struct fx *f);
/* Takes over one end of a pipe. */
void raw_adopt(struct raw *r, struct fx *f, struct transport *t);
void raw_send(struct raw *r, str s);
void raw_listen(struct raw *r, bool on);
void raw_close(struct raw *r);
bool raw_has(const struct raw *r, const char *text);
size_t raw_count(const struct raw *r, const char *text);

/* One call of the client, with what it was told. */
struct fx_call {
    struct http_call call;
    int status;
    struct strbuf body;
    struct strbuf headers;
    unsigned n_headers, n_end;
    size_t n_bytes;
    bool is_ok;
    struct err err;
    bool cancel_on_data;
    bool keep_all; /* of the body; else only the beginning */
};

void fx_call_init(struct fx_call *c, const char *method, const char *path, str body);
void fx_call_send(struct fx *f, struct fx_call *c);
void fx_call_done(struct fx_call *c);

#endif
