/*
 * The other side of an HTTP/2 connection, in the hands of a test: a session of nghttp2, client or
 * server, on a transport. It keeps what it was told of each stream, and its windows grow only when
 * the test says so (is_greedy).
 */
#ifndef NET_TEST_PEER_H
#define NET_TEST_PEER_H

#include <nghttp2/nghttp2.h>

#include "net/test-net-fixture.h"

enum { PEER_STREAMS = 16384 };

struct peer_stream {
    int status;
    size_t n_bytes;
    bool has_ended;  /* END_STREAM came */
    bool has_closed; /* over, by either side */
    uint32_t code;   /* why */
    size_t n_before; /* bytes of all streams before its end */
};

struct peer {
    struct raw raw;
    nghttp2_session *session;
    struct peer_stream *streams; /* by (id - 1) / 2 */
    bool is_greedy;              /* gives credit for what it read; on unless told */
    bool is_mute;                /* reads and does not answer, at all */
    unsigned n_headers, n_closed, n_pings;
    size_t n_bytes;
    unsigned max_open, n_open;
    bool has_goaway;
    uint32_t goaway_code;
    int32_t goaway_last;
    int32_t last_id;        /* the last stream that began */
    struct strbuf text;     /* of all streams */
    struct strbuf requests; /* server: "METHOD path\n" */

    /* A server: called for each complete request. */
    void (*on_request)(struct peer *p, int32_t id);
    void *ctx;
};

/* A client of the fixture's server. */
void peer_connect(struct peer *p, struct fx *f);
/* A server on the given transport. */
void peer_serve(struct peer *p, struct fx *f, struct transport *t, uint32_t max_streams);
void peer_done(struct peer *p);
/* Moves bytes between session and transport. */
void peer_pump(struct peer *p);
struct peer_stream *peer_stream(struct peer *p, int32_t id);

int32_t peer_get(struct peer *p, const char *path);
/* With a body nothing of it comes, and it does not end. */
int32_t peer_request(struct peer *p, const char *method, const char *path, const nghttp2_nv *more,
                     size_t n_more, bool has_body);
void peer_reset(struct peer *p, int32_t id);
/* Windows that nothing here fills. */
void peer_widen(struct peer *p);
void peer_reply(struct peer *p, int32_t id, const char *text);

#define PEER_NV(n, v)                                                   \
    (nghttp2_nv)                                                        \
    {                                                                   \
        (uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, sizeof(v) - 1, 0 \
    }

/* Steps the loop and pumps the peer until the condition holds. */
#define PEER_WAIT(p, cond)                                   \
    ({                                                       \
        peer_pump(p);                                        \
        for (int i_ = 0; i_ < WAIT_STEPS && !(cond); i_++) { \
            fx_step((p)->raw.f);                             \
            peer_pump(p);                                    \
        }                                                    \
        CHECK(cond);                                         \
    })

void peer_steps(struct peer *p, int n);

#endif
