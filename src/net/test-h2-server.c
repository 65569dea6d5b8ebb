/* The server over HTTP/2: its limits, resets, back-pressure and time-outs. */
#include "net/test-peer.h"

static void start(struct peer *p, struct fx *f)
{
    fx_start(f);
    peer_connect(p, f);
}

static void done(struct peer *p, struct fx *f)
{
    peer_done(p);
    fx_done(f);
}

static void check_alive(struct peer *p)
{
    int32_t id = peer_get(p, "/hello");
    PEER_WAIT(p, peer_stream(p, id)->has_closed);
    CHECK_INT(peer_stream(p, id)->status, 200);
    CHECK_INT(peer_stream(p, id)->n_bytes, 5);
}

TEST(h2_requests_are_answered_side_by_side)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_TCP_TLS);
    f.big = 1 << 20;
    start(&p, &f);
    int32_t later = peer_get(&p, "/later");
    int32_t big = peer_get(&p, "/big?x=y");
    int32_t hello = peer_get(&p, "/hello");
    PEER_WAIT(&p, peer_stream(&p, hello)->has_closed && peer_stream(&p, big)->has_closed);
    CHECK(!peer_stream(&p, later)->has_closed);
    CHECK_INT(peer_stream(&p, big)->n_bytes, (1 << 20) + 10);
    CHECK_STR(strbuf_str(&f.log), STR("GET /later \nGET /big \nGET /hello \n"));
    fx_release(&f);
    PEER_WAIT(&p, peer_stream(&p, later)->has_closed);
    CHECK_INT(f.n_closed, 3);
    CHECK_INT(f.n_aborted, 0);
    CHECK_INT(f.server->n_conns, 1);
    done(&p, &f);
}

/* Without turns the small reply would come after 8 MB. */
TEST(h2_a_small_reply_does_not_wait_for_a_large_one)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 8 << 20;
    start(&p, &f);
    peer_widen(&p);
    int32_t big = peer_get(&p, "/big"), hello = peer_get(&p, "/hello");
    PEER_WAIT(&p, peer_stream(&p, big)->has_closed && peer_stream(&p, hello)->has_closed);
    CHECK_INT(peer_stream(&p, big)->n_bytes, (8 << 20) + 10);
    CHECK(peer_stream(&p, hello)->n_before < 100000);
    done(&p, &f);
}

TEST(h2_head_and_204_have_no_body)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 100;
    start(&p, &f);
    int32_t head = peer_request(&p, "HEAD", "/big", NULL, 0, false);
    int32_t nothing = peer_get(&p, "/nothing");
    PEER_WAIT(&p, p.n_closed == 2);
    CHECK_INT(peer_stream(&p, head)->status, 200);
    CHECK_INT(peer_stream(&p, head)->n_bytes, 0);
    CHECK_INT(peer_stream(&p, nothing)->status, 204);
    CHECK_INT(peer_stream(&p, nothing)->n_bytes, 0);
    CHECK_INT(f.n_dropped, 2);
    done(&p, &f);
}

/* What the server answers by itself, leaving the connection as it is. */
TEST(h2_bad_requests_get_their_answer)
{
    static const nghttp2_nv four[] = {PEER_NV("a", "1"), PEER_NV("b", "1"), PEER_NV("c", "1"),
                                      PEER_NV("d", "1")};
    static const nghttp2_nv large[] = {PEER_NV("content-length", "1001")};
    static const nghttp2_nv gold[] = {PEER_NV("expect", "gold")};
    static const struct {
        const char *method, *path;
        const nghttp2_nv *more;
        size_t n_more;
        bool has_body;
        int status;
    } cases[] = {
        {"GET", "/hello", four, 4, false, 431}, {"POST", "/echo", large, 1, true, 413},
        {"POST", "/echo", gold, 1, true, 417},  {"GET", "hello", NULL, 0, false, 400},
        {"GET", "/a b", NULL, 0, false, 400},   {"GET", "/a#b", NULL, 0, false, 400},
        {"OPTIONS", "*", NULL, 0, false, 400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        struct peer p;
        fx_init(&f, FX_H2_PIPE);
        f.limits.max_body = 1000;
        f.limits.max_headers = 3;
        start(&p, &f);
        int32_t id = peer_request(&p, cases[i].method, cases[i].path, cases[i].more,
                                  cases[i].n_more, cases[i].has_body);
        PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
        /* nghttp2 itself resets what is no path at all. */
        if (peer_stream(&p, id)->code != NGHTTP2_PROTOCOL_ERROR)
            CHECK_INT(peer_stream(&p, id)->status, cases[i].status);
        CHECK_INT(f.n_requests, 0);
        check_alive(&p);
        done(&p, &f);
    }
}

TEST(h2_connect_and_trailers_are_refused)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    nghttp2_nv connect[] = {PEER_NV(":method", "CONNECT"), PEER_NV(":authority", "a:1")};
    int32_t id = nghttp2_submit_request(p.session, NULL, connect, 2, NULL, NULL);
    PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
    CHECK_INT(peer_stream(&p, id)->status, 501);

    id = peer_request(&p, "POST", "/echo", NULL, 0, true);
    peer_steps(&p, 3);
    nghttp2_nv trailer = PEER_NV("x", "y");
    CHECK_INT(
        nghttp2_submit_headers(p.session, NGHTTP2_FLAG_END_STREAM, id, NULL, &trailer, 1, NULL), 0);
    PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
    CHECK_INT(peer_stream(&p, id)->code, NGHTTP2_PROTOCOL_ERROR);
    CHECK_INT(f.n_requests, 0);
    check_alive(&p);
    done(&p, &f);
}

TEST(h2_headers_of_http_1_1_are_refused)
{
    static const nghttp2_nv cases[] = {
        PEER_NV("connection", "close"), PEER_NV("transfer-encoding", "chunked"),
        PEER_NV("te", "gzip"),          PEER_NV("upgrade", "websocket"),
        PEER_NV(":status", "200"),      PEER_NV(":method", "PUT"),
    };
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t id = peer_request(&p, "GET", "/hello", &cases[i], 1, false);
        PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
        CHECK_INT(peer_stream(&p, id)->code, NGHTTP2_PROTOCOL_ERROR);
    }
    CHECK_INT(f.n_requests, 0);
    check_alive(&p);
    done(&p, &f);
}

TEST(h2_expect_100_continue_is_answered)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    nghttp2_nv expect = PEER_NV("expect", "100-continue");
    int32_t id = peer_request(&p, "POST", "/echo", &expect, 1, true);
    PEER_WAIT(&p, p.n_headers == 1);
    CHECK_INT(peer_stream(&p, id)->status, 0);
    CHECK_INT(f.n_requests, 0);
    done(&p, &f);
}

TEST(h2_streams_above_the_maximum_are_refused)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.limits.max_streams = 3;
    start(&p, &f);
    int32_t id = 0;
    for (int i = 0; i < 4; i++)
        id = peer_get(&p, "/stream");
    PEER_WAIT(&p, p.n_closed == 1);
    CHECK_INT(peer_stream(&p, id)->code, NGHTTP2_REFUSED_STREAM);
    CHECK_INT(f.n_requests, 3);
    peer_reset(&p, 1);
    PEER_WAIT(&p, f.n_aborted == 1);
    check_alive(&p);
    done(&p, &f);
}

TEST(h2_a_thousand_parallel_streams)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_TCP_TLS);
    start(&p, &f);
    enum { N = 1000 };
    for (int i = 0; i < N; i++)
        peer_get(&p, "/stream");
    PEER_WAIT(&p, p.n_headers == N);
    CHECK_INT(f.streams.len, N);
    for (size_t i = 0; i < N; i++)
        fx_stream_bytes(&f, f.streams.p[i], 1000);
    int32_t hello = peer_get(&p, "/hello");
    PEER_WAIT(&p, peer_stream(&p, hello)->has_closed);
    PEER_WAIT(&p, f.n_dropped == N);
    for (size_t i = f.streams.len; i-- > 0;)
        http_stream_end(f.streams.p[i]);
    PEER_WAIT(&p, p.n_closed == N + 1);
    for (int32_t id = 1; id < 2 * N; id += 2)
        CHECK(peer_stream(&p, id)->n_bytes == 1000 && peer_stream(&p, id)->has_ended);
    CHECK_INT(f.n_aborted, 0);
    done(&p, &f);
}

/* ---- bodies ---- */

/* Added to a length: after so much nothing more comes. */
#define ENDLESS (1u << 31)

static ssize_t read_zeros(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
    size_t *left = source->ptr;
    size_t n = MIN(length, *left & ~(size_t)ENDLESS);
    if (!n)
        return NGHTTP2_ERR_DEFERRED;
    memset(buf, 'z', n);
    *left -= n;
    if (!*left)
        *flags = NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int32_t post(struct peer *p, size_t *left)
{
    nghttp2_nv nv[] = {PEER_NV(":method", "POST"), PEER_NV(":scheme", "https"),
                       PEER_NV(":authority", "a"), PEER_NV(":path", "/echo")};
    nghttp2_data_provider body = {{.ptr = left}, read_zeros};
    return nghttp2_submit_request(p->session, NULL, nv, 4, &body, NULL);
}

TEST(h2_bodies_arrive_whole_up_to_the_limit)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_TCP_TLS);
    start(&p, &f);
    size_t fits = 3 << 20, exceeds = (3 << 20) + 1;
    int32_t a = post(&p, &fits), b = post(&p, &exceeds);
    PEER_WAIT(&p, p.n_closed == 2);
    CHECK_INT(peer_stream(&p, a)->status, 201);
    CHECK_INT(peer_stream(&p, a)->n_bytes, 3 << 20);
    CHECK_INT(peer_stream(&p, b)->status, 413);
    CHECK_INT(f.n_requests, 1);
    check_alive(&p);
    done(&p, &f);
}

/* 30 bodies of 2 MB that do not end: some are refused, the others are held. */
TEST(h2_bodies_together_have_a_limit)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 1 << 20;
    start(&p, &f);
    enum { N = 30 };
    static size_t left[N];
    for (int i = 0; i < N; i++) {
        left[i] = (2 << 20) | ENDLESS;
        post(&p, &left[i]);
    }
    peer_steps(&p, 100);
    unsigned n_refused = 0, n_held = 0;
    for (int32_t id = 1; id < 2 * N; id += 2) {
        n_refused += peer_stream(&p, id)->code == NGHTTP2_REFUSED_STREAM;
        n_held += !peer_stream(&p, id)->has_closed;
    }
    CHECK_INT(n_refused + n_held, N);
    CHECK(n_held > 0 && n_held <= 16);
    check_alive(&p);
    done(&p, &f);
}

/* ---- resets ---- */

/* Clients end watches by a reset; nghttp2's own limit would end the connection at 1,000. */
TEST(h2_ten_thousand_cancelled_watches_do_no_harm)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_TCP_TLS);
    start(&p, &f);
    enum { ROUNDS = 10, N = 1000 };
    for (unsigned round = 1; round <= ROUNDS; round++) {
        int32_t first = 0;
        for (int i = 0; i < N; i++) {
            int32_t id = peer_get(&p, "/stream");
            first = first ? first : id;
        }
        PEER_WAIT(&p, p.n_headers == round * N);
        for (int i = 0; i < N; i++)
            peer_reset(&p, first + 2 * i);
        PEER_WAIT(&p, f.n_aborted == round * N);
    }
    CHECK(!p.has_goaway);
    CHECK_INT(f.n_requests, ROUNDS * N);
    check_alive(&p);
    done(&p, &f);
}

static void burst_of_resets(struct peer *p, int n)
{
    for (int i = 0; i < n; i++) {
        int32_t id = peer_get(p, "/later");
        peer_pump(p);
        peer_reset(p, id);
    }
}

TEST(h2_resets_before_the_reply_are_an_attack)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    burst_of_resets(&p, 200);
    check_alive(&p);
    CHECK(!p.has_goaway);
    /* 33 are forgiven each second. */
    f.wait = USEC_PER_SEC;
    fx_step(&f);
    f.wait = USEC_PER_MSEC;
    burst_of_resets(&p, 33);
    check_alive(&p);
    CHECK(!p.has_goaway);
    burst_of_resets(&p, 1);
    PEER_WAIT(&p, p.raw.has_ended);
    CHECK(p.has_goaway);
    CHECK_INT(p.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    done(&p, &f);
}

/* The peer makes the server reset the streams, by frames that break the rules. */
TEST(h2_provoked_resets_count_too)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    nghttp2_nv bad = PEER_NV("connection", "close");
    for (int i = 0; i < 250 && !p.has_goaway; i++) {
        peer_request(&p, "GET", "/later", &bad, 1, false);
        peer_steps(&p, 1);
    }
    PEER_WAIT(&p, p.raw.has_ended);
    CHECK_INT(p.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    CHECK_INT(f.n_requests, 0);
    done(&p, &f);
}

TEST(h2_a_flood_of_pings_ends_the_connection)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 1000;
    start(&p, &f);
    check_alive(&p);
    raw_listen(&p.raw, false);
    for (int i = 0; i < 20000; i++)
        CHECK_INT(nghttp2_submit_ping(p.session, 0, NULL), 0);
    for (int i = 0; i < WAIT_STEPS && f.server->n_conns; i++) {
        peer_pump(&p);
        fx_step(&f);
    }
    CHECK_INT(f.server->n_conns, 0);
    done(&p, &f);
}

TEST(h2_no_hello_is_a_bad_request)
{
    static const char *const cases[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\x02\n",
                                        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxx"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        fx_init(&f, FX_H2_PIPE);
        fx_start(&f);
        struct raw r;
        raw_open(&r, &f);
        raw_send(&r, str_of(cases[i]));
        WAIT_FOR(&f, r.has_ended);
        CHECK_INT(f.n_requests, 0);
        raw_close(&r);
        WAIT_FOR(&f, f.server->n_conns == 0);
        fx_done(&f);
    }
}

/* ---- back-pressure ---- */

TEST(h2_back_pressure_and_drain)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.limits.low_water = 10000;
    start(&p, &f);
    int32_t id = peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream && p.n_headers == 1);
    p.is_greedy = false;
    size_t total = 0;
    while (total < (12u << 20)) {
        fx_stream_bytes(&f, f.stream, 50000);
        total += 50000;
    }
    peer_steps(&p, 20);
    /* Stuck at the stream's window. */
    CHECK_INT(peer_stream(&p, id)->n_bytes, 65535);
    CHECK_INT(http_stream_pending(f.stream), total - 65535);
    CHECK_INT(f.n_drained, 0);
    p.is_greedy = true;
    CHECK_INT(nghttp2_session_consume_stream(p.session, id, 65535), 0);
    PEER_WAIT(&p, f.n_drained == 1);
    CHECK(http_stream_pending(f.stream) < 10000);
    http_stream_end(f.stream);
    PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
    CHECK_INT(peer_stream(&p, id)->n_bytes, total);
    CHECK_INT(f.n_dropped, total / 50000);
    CHECK_INT(f.n_drained, 1);
    CHECK_INT(f.n_aborted, 0);
    done(&p, &f);
}

/* However much goes over a connection, only what waits counts. */
TEST(h2_a_stream_that_is_read_has_no_limit)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.limits.max_pending = 200000;
    start(&p, &f);
    int32_t id = peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream);
    for (size_t i = 1; i <= 100; i++) {
        fx_stream_bytes(&f, f.stream, 100000);
        PEER_WAIT(&p, peer_stream(&p, id)->n_bytes == i * 100000);
        REQUIRE(f.stream);
    }
    done(&p, &f);
}

/* The connection takes from the streams only what it can soon write. */
TEST(h2_what_cannot_be_written_stays_in_its_stream)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 8 << 20;
    start(&p, &f);
    peer_widen(&p);
    raw_listen(&p.raw, false);
    peer_get(&p, "/big");
    peer_steps(&p, 10);
    CHECK_INT(f.n_requests, 1);
    struct server_conn *sc = list_entry(f.server->conns.next, struct server_conn, link);
    CHECK(sc->c.out.bytes > 0 && sc->c.out.bytes < 100000);
    done(&p, &f);
}

TEST(h2_requests_wait_while_too_much_is_unread)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.limits.max_pending = 100000;
    f.big = 1 << 20;
    start(&p, &f);
    p.is_greedy = false;
    int32_t big = peer_get(&p, "/big");
    PEER_WAIT(&p, peer_stream(&p, big)->n_bytes == 65535);
    int32_t hello = peer_get(&p, "/hello");
    peer_steps(&p, 10);
    CHECK_INT(f.n_requests, 1);
    p.is_greedy = true;
    CHECK_INT(nghttp2_session_consume_stream(p.session, big, 65535), 0);
    PEER_WAIT(&p, peer_stream(&p, hello)->has_closed);
    CHECK_INT(peer_stream(&p, hello)->status, 200);
    PEER_WAIT(&p, peer_stream(&p, big)->has_closed);
    CHECK_INT(f.n_aborted, 0);
    done(&p, &f);
}

/* Others have their turn too. */
TEST(h2_one_iteration_handles_a_bounded_number_of_requests)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 1 << 20;
    start(&p, &f);
    peer_steps(&p, 2);
    nghttp2_nv more = PEER_NV("user-agent", "one that has a rather long name for itself");
    for (int i = 0; i < 1000; i++)
        peer_request(&p, "GET", "/stream", &more, 1, false);
    peer_pump(&p);
    unsigned most = 0;
    for (unsigned before = 0; f.n_requests < 1000; before = f.n_requests) {
        uint64_t iterations = loop_iterations(f.loop);
        (void)loop_run_until(f.loop, loop_now(f.loop), 1);
        REQUIRE(loop_iterations(f.loop) > iterations);
        most = MAX(most, f.n_requests - before);
    }
    CHECK(most > 0 && most <= 128);
    done(&p, &f);
}

/* One stream of a connection is not read; the other streams and connections do not notice. */
static void both_slow_reader(enum fx_kind kind)
{
    struct fx f;
    struct peer p, other;
    fx_init(&f, kind);
    f.limits.max_pending = 1 << 20;
    start(&p, &f);
    peer_connect(&other, &f);
    int32_t slow = peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream);
    struct http_exchange *x = f.stream;
    int32_t good = peer_get(&p, "/stream");
    PEER_WAIT(&p, f.streams.len == 2 && p.n_headers == 2);
    struct http_exchange *y = f.stream;
    p.is_greedy = false;
    for (unsigned i = 0; i < 40 && f.streams.len == 2; i++) {
        fx_stream_bytes(&f, x, 100000);
        http_stream_write(y, &(struct http_slice){STR("event"), NULL, NULL}, 1);
        peer_steps(&p, 2);
    }
    CHECK_INT(f.n_aborted, 1);
    CHECK_INT(f.streams.len, 1);
    CHECK(f.streams.p[0] == y);
    PEER_WAIT(&p, peer_stream(&p, slow)->has_closed);
    CHECK_INT(peer_stream(&p, slow)->code, NGHTTP2_CANCEL);
    size_t before = peer_stream(&p, good)->n_bytes;
    http_stream_write(y, &(struct http_slice){STR("event"), NULL, NULL}, 1);
    PEER_WAIT(&p, peer_stream(&p, good)->n_bytes == before + 5);
    CHECK(!p.has_goaway);
    p.is_greedy = true;
    check_alive(&p);
    check_alive(&other);
    peer_done(&other);
    done(&p, &f);
}

TEST(h2_a_slow_stream_is_cut_off_alone)
{
    both_slow_reader(FX_H2_PIPE);
}

TEST(h2_a_slow_stream_is_cut_off_alone_over_tls)
{
    both_slow_reader(FX_H2_TCP_TLS);
}

/* All at once: on_close must not come from inside http_stream_write. */
TEST(h2_a_cut_off_stream_takes_writes_until_on_close)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.limits.max_pending = 100000;
    start(&p, &f);
    peer_widen(&p); /* a frame waits in the middle when the stream is cut off */
    peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream);
    raw_listen(&p.raw, false);
    for (int i = 0; i < 10; i++)
        fx_stream_bytes(&f, f.stream, 100000);
    CHECK_INT(f.n_closed, 0);
    CHECK_INT(f.n_aborted, 0);
    http_stream_end(f.stream);
    WAIT_FOR(&f, f.n_closed == 1);
    CHECK_INT(f.n_aborted, 1);
    raw_listen(&p.raw, true);
    PEER_WAIT(&p, p.n_closed == 1);
    CHECK_INT(f.n_dropped, 10);
    check_alive(&p);
    done(&p, &f);
}

/* A frame of the slice waits in the connection's queue when the stream is reset: the slice must
 * live until that is written. */
TEST(h2_a_reset_in_the_middle_of_a_slice)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 100;
    f.big = 200000;
    start(&p, &f);
    check_alive(&p);
    raw_listen(&p.raw, false);
    int32_t id = peer_get(&p, "/big");
    peer_steps(&p, 10);
    peer_reset(&p, id);
    PEER_WAIT(&p, f.n_aborted == 1);
    CHECK_INT(f.n_dropped, 1); /* the second slice, of which nothing waits */
    raw_listen(&p.raw, true);
    peer_steps(&p, 10);
    CHECK_INT(f.n_dropped, 2);
    check_alive(&p);
    done(&p, &f);
}

/* ---- time ---- */

TEST(h2_an_idle_connection_says_goodbye)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    check_alive(&p);
    f.wait = 119 * USEC_PER_SEC;
    peer_steps(&p, 1);
    CHECK(!p.has_goaway);
    f.wait = USEC_PER_SEC;
    peer_steps(&p, 2);
    CHECK(p.has_goaway);
    CHECK_INT(p.goaway_code, NGHTTP2_NO_ERROR);
    CHECK(p.raw.has_ended);
    done(&p, &f);
}

TEST(h2_a_quiet_stream_lives_for_ever)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    int32_t id = peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream && p.n_headers == 1);
    f.wait = USEC_PER_DAY;
    uint64_t before = loop_iterations(f.loop);
    fx_step(&f);
    CHECK(loop_iterations(f.loop) - before < 10);
    f.wait = USEC_PER_MSEC;
    http_stream_write(f.stream, &(struct http_slice){STR("abc"), NULL, NULL}, 1);
    PEER_WAIT(&p, peer_stream(&p, id)->n_bytes == 3);
    done(&p, &f);
}

TEST(h2_silence_instead_of_hello_times_out)
{
    static const char *const cases[] = {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        fx_init(&f, FX_H2_PIPE);
        fx_start(&f);
        struct raw r;
        raw_open(&r, &f);
        raw_send(&r, str_of(cases[i]));
        f.wait = 9 * USEC_PER_SEC;
        fx_step(&f);
        CHECK(!r.has_ended);
        f.wait = 2 * USEC_PER_SEC;
        fx_step(&f);
        CHECK(r.has_ended);
        raw_close(&r);
        fx_done(&f);
    }
}

/* HEADERS without END_HEADERS and nothing after it, on a connection with another stream. */
TEST(h2_a_head_that_does_not_end_times_out)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream);
    peer_pump(&p);
    raw_send(&p.raw, STR("\0\0\1\1\1\0\0\0\3\x82"));
    f.wait = 9 * USEC_PER_SEC;
    fx_step(&f);
    CHECK_INT(f.server->n_conns, 1);
    fx_step(&f);
    CHECK_INT(f.server->n_conns, 0);
    CHECK_INT(f.n_aborted, 1);
    done(&p, &f);
}

TEST(h2_a_body_that_does_not_end_is_answered)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    int32_t id = peer_request(&p, "POST", "/echo", NULL, 0, true);
    peer_steps(&p, 2);
    f.wait = 59 * USEC_PER_SEC;
    peer_steps(&p, 1);
    CHECK(!peer_stream(&p, id)->has_closed);
    f.wait = USEC_PER_SEC;
    peer_steps(&p, 3);
    CHECK_INT(peer_stream(&p, id)->status, 408);
    CHECK(peer_stream(&p, id)->has_closed);
    check_alive(&p);
    done(&p, &f);
}

TEST(h2_a_reply_without_progress_is_reset)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 1 << 20;
    start(&p, &f);
    p.is_greedy = false;
    int32_t id = peer_get(&p, "/big");
    PEER_WAIT(&p, peer_stream(&p, id)->n_bytes == 65535);
    /* Another stream keeps the connection busy. */
    f.wait = 60 * USEC_PER_SEC;
    for (int i = 0; i < 3; i++) {
        peer_get(&p, "/hello");
        peer_steps(&p, 1);
    }
    CHECK_INT(f.n_aborted, 1);
    CHECK(peer_stream(&p, id)->has_closed);
    CHECK_INT(f.n_dropped, 2);
    CHECK_INT(f.server->n_conns, 1);
    done(&p, &f);
}

/* All of the reply waits in the connection's queue, and another stream keeps that from being idle.
 */
TEST(h2_a_peer_that_reads_nothing_is_closed_in_the_end)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 1000;
    f.big = 30000;
    start(&p, &f);
    peer_get(&p, "/stream");
    PEER_WAIT(&p, f.stream && p.n_headers == 1);
    raw_listen(&p.raw, false);
    peer_get(&p, "/big");
    peer_pump(&p);
    WAIT_FOR(&f, f.n_requests == 2);
    f.wait = 125 * USEC_PER_SEC;
    fx_step(&f);
    CHECK_INT(f.server->n_conns, 0);
    CHECK_INT(f.n_dropped, 2);
    done(&p, &f);
}

/* ---- shutting down ---- */

static void set_flag(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(h2_shutdown_ends_streams_and_waits_for_replies)
{
    struct fx f;
    struct peer p, idle;
    fx_init(&f, FX_H2_TCP_TLS);
    start(&p, &f);
    peer_connect(&idle, &f);
    check_alive(&idle);
    int32_t stream = peer_get(&p, "/stream"), later = peer_get(&p, "/later");
    PEER_WAIT(&p, f.stream && f.later && p.n_headers == 1);
    bool is_done = false;
    http_server_shutdown(f.server, 10 * USEC_PER_SEC, set_flag, &is_done);
    /* The handler does not know yet; its writes go nowhere. */
    fx_stream_bytes(&f, f.stream, 10);
    CHECK_INT(f.n_dropped, 1);
    int32_t late = peer_get(&p, "/hello");
    PEER_WAIT(&p, p.has_goaway && peer_stream(&p, stream)->has_closed);
    CHECK_INT(p.goaway_code, NGHTTP2_NO_ERROR);
    CHECK_INT(p.goaway_last, later);
    CHECK(peer_stream(&p, stream)->has_ended);
    CHECK_INT(peer_stream(&p, late)->code, NGHTTP2_REFUSED_STREAM);
    CHECK_INT(f.n_aborted, 0);
    PEER_WAIT(&idle, idle.has_goaway && idle.raw.has_ended);
    CHECK(!is_done);
    fx_release(&f);
    PEER_WAIT(&p, peer_stream(&p, later)->has_closed);
    CHECK_INT(peer_stream(&p, later)->n_bytes, 4);
    PEER_WAIT(&p, p.raw.has_ended);
    peer_done(&p);
    peer_done(&idle);
    WAIT_FOR(&f, is_done);
    CHECK_INT(f.n_requests, 3);
    CHECK_INT(f.n_aborted, 0);
    fx_done(&f);
}

TEST(h2_shutdown_does_not_wait_longer_than_its_grace)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    start(&p, &f);
    peer_get(&p, "/later");
    PEER_WAIT(&p, f.later);
    bool is_done = false;
    http_server_shutdown(f.server, 5 * USEC_PER_SEC, set_flag, &is_done);
    f.wait = 4 * USEC_PER_SEC;
    fx_step(&f);
    CHECK(!is_done);
    fx_step(&f);
    CHECK(is_done);
    CHECK_INT(f.n_aborted, 1);
    done(&p, &f);
}

TEST(h2_a_peer_that_goes_away_aborts_its_exchanges_once)
{
    static const enum fx_kind kinds[] = {FX_H2_TCP_TLS, FX_H2_PIPE};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct fx f;
        struct peer p;
        fx_init(&f, kinds[i]);
        start(&p, &f);
        peer_get(&p, "/stream");
        peer_get(&p, "/later");
        PEER_WAIT(&p, f.n_requests == 2);
        fx_stream_bytes(&f, f.stream, 100000);
        peer_done(&p);
        WAIT_FOR(&f, f.server->n_conns == 0);
        CHECK_INT(f.n_closed, 2);
        CHECK_INT(f.n_aborted, 2);
        CHECK_INT(f.n_dropped, 1);
        fx_done(&f);
    }
}
