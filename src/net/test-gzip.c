/* Compressed replies, over both versions of HTTP. */
#include <zlib.h>

#include "net/test-peer.h"

static void gunzip(str in, struct strbuf *out)
{
    z_stream z = {.next_in = (Bytef *)in.p, .avail_in = (uInt)in.len};
    REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
    int r = Z_OK;
    while (r == Z_OK) {
        char buf[65536];
        z.next_out = (Bytef *)buf;
        z.avail_out = sizeof(buf);
        r = inflate(&z, Z_NO_FLUSH);
        strbuf_add(out, buf, sizeof(buf) - z.avail_out);
    }
    CHECK_INT(r, Z_STREAM_END);
    CHECK_INT(z.avail_in, 0);
    (void)inflateEnd(&z);
}

static void get(struct fx *f, struct fx_call *c, const char *method, const char *path,
                struct http_header *accept)
{
    fx_call_init(c, method, path, STR_NONE);
    c->keep_all = true;
    c->call.headers = accept;
    c->call.n_headers = 1;
    fx_call_send(f, c);
}

static bool is_compressed(const struct fx_call *c)
{
    bool has_encoding = str_find(strbuf_str(&c->headers), STR("content-encoding: gzip\n")) >= 0;
    bool has_vary = str_find(strbuf_str(&c->headers), STR("vary: Accept-Encoding\n")) >= 0;
    bool has_length = str_find(strbuf_str(&c->headers), STR("content-length")) >= 0;
    CHECK(has_encoding == has_vary && has_encoding != has_length);
    return has_encoding;
}

TEST_BOTH(large_replies_are_compressed_for_those_who_ask, FX_PIPE)
{
    static const struct {
        const char *accept;
        size_t len;
        bool want;
    } cases[] = {
        {"gzip", (128 << 10) - 10, true},
        {"gzip", (128 << 10) - 11, false},
        {"deflate, gzip;q=0.5 , *;q=0", 200000, true},
        {"br,gzip", 200000, true},
        {"gzip;q=0", 200000, false},
        {"gzip; q=0.000", 200000, false},
        {"xgzip", 200000, false},
        {"identity", 200000, false},
        {"gzip", 10 << 20, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        fx_init(&f, kind);
        f.big = cases[i].len;
        fx_start(&f);
        struct http_header accept = {STR("accept-encoding"), str_of(cases[i].accept)};
        struct fx_call c;
        get(&f, &c, "GET", "/big", &accept);
        WAIT_FOR(&f, c.n_end);
        CHECK(c.is_ok);
        CHECK_INT(is_compressed(&c), cases[i].want);
        CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT(32 << 20);
        if (cases[i].want) {
            CHECK(c.body.len < cases[i].len / 50);
            gunzip(strbuf_str(&c.body), &plain);
        } else {
            strbuf_add_str(&plain, strbuf_str(&c.body));
        }
        CHECK_INT(plain.len, cases[i].len + 10);
        CHECK(str_starts(strbuf_str(&plain), STR("aaaa")));
        CHECK(str_ends(strbuf_str(&plain), STR("abbbbbbbbbb")));
        CHECK_INT(f.n_dropped, 2);
        CHECK_INT(f.n_aborted, 0);
        CHECK_INT(f.server->gzip.n_jobs, 0);
        fx_call_done(&c);
        fx_done(&f);
    }
}

TEST_BOTH(noise_survives_compression, FX_PIPE)
{
    for (size_t i = 0; i < test_cases(5); i++) {
        struct fx f;
        fx_init(&f, kind);
        f.big = (128 << 10) + rng_below(test_rng(), 3 << 20);
        f.pipe_capacity = 1 + rng_below(test_rng(), 100000);
        fx_start(&f);
        struct http_header accept = {STR("accept-encoding"), STR("gzip")};
        struct fx_call c;
        get(&f, &c, "GET", "/noise", &accept);
        WAIT_FOR(&f, c.n_end);
        CHECK(is_compressed(&c));
        CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT(32 << 20);
        gunzip(strbuf_str(&c.body), &plain);
        CHECK_INT(plain.len, f.big);
        struct rng r;
        rng_seed(&r, 1);
        size_t n_wrong = 0;
        for (size_t k = 0; k < plain.len; k++)
            n_wrong += plain.p[k] != (char)rng_below(&r, 256);
        CHECK_INT(n_wrong, 0);
        fx_call_done(&c);
        fx_done(&f);
    }
}

TEST_BOTH(a_head_request_is_not_compressed, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    f.big = 200000;
    fx_start(&f);
    struct http_header accept = {STR("accept-encoding"), STR("gzip")};
    struct fx_call c;
    get(&f, &c, "HEAD", "/big", &accept);
    WAIT_FOR(&f, c.n_end);
    CHECK(!is_compressed(&c));
    CHECK(str_find(strbuf_str(&c.headers), STR("content-length: 200010\n")) >= 0);
    fx_call_done(&c);
    fx_done(&f);
}

/* Compression goes no further than the peer reads, and waits without turning the loop. */
static void check_waiting(struct fx *f)
{
    for (int i = 0; i < 20; i++)
        fx_step(f);
    CHECK_INT(f->server->gzip.n_jobs, 1);
    struct server_conn *sc = list_entry(f->server->conns.next, struct server_conn, link);
    CHECK(sc->c.out.bytes < 500000);
    uint64_t before = loop_iterations(f->loop);
    f->wait = 60 * USEC_PER_SEC;
    fx_step(f);
    f->wait = USEC_PER_MSEC;
    CHECK(loop_iterations(f->loop) - before < 20);
    CHECK_INT(f->server->gzip.n_jobs, 1);
}

TEST(compression_waits_for_the_peer)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.big = 8 << 20;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_listen(&r, false);
    raw_send(&r, STR("GET /noise HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"));
    check_waiting(&f);
    raw_listen(&r, true);
    WAIT_FOR(&f, f.n_closed == 1);
    CHECK_INT(f.n_aborted, 0);
    WAIT_FOR(&f, r.in.len > 8 << 20);
    CHECK(str_ends(strbuf_str(&r.in), STR("\r\n0\r\n\r\n")));
    raw_close(&r);
    fx_done(&f);
}

TEST(compression_waits_for_the_peer_over_http_2)
{
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 8 << 20;
    fx_start(&f);
    peer_connect(&p, &f);
    p.is_greedy = false;
    nghttp2_nv accept = PEER_NV("accept-encoding", "gzip");
    int32_t id = peer_request(&p, "GET", "/noise", &accept, 1, false);
    PEER_WAIT(&p, peer_stream(&p, id)->n_bytes == 65535);
    check_waiting(&f);
    p.is_greedy = true;
    CHECK_INT(nghttp2_session_consume_stream(p.session, id, 65535), 0);
    PEER_WAIT(&p, peer_stream(&p, id)->has_closed);
    CHECK(peer_stream(&p, id)->n_bytes > 8 << 20);
    CHECK_INT(f.n_aborted, 0);

    /* A cancelled reply leaves nothing behind. */
    p.is_greedy = false;
    id = peer_request(&p, "GET", "/noise", &accept, 1, false);
    PEER_WAIT(&p, peer_stream(&p, id)->n_bytes == 65535);
    peer_reset(&p, id);
    PEER_WAIT(&p, f.n_aborted == 1);
    CHECK_INT(f.server->gzip.n_jobs, 0);
    CHECK_INT(f.n_dropped, 2);
    peer_done(&p);
    fx_done(&f);
}

TEST_BOTH(more_compressed_replies_than_compressors, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    f.big = 300000;
    fx_start(&f);
    f.client->max_connections = 40;
    struct http_header accept = {STR("accept-encoding"), STR("gzip")};
    enum { N = 40 };
    static struct fx_call calls[N];
    for (size_t i = 0; i < N; i++)
        get(&f, &calls[i], "GET", "/big", &accept);
    size_t n_compressed = 0;
    for (size_t i = 0; i < N; i++) {
        WAIT_FOR(&f, calls[i].n_end);
        CHECK(calls[i].is_ok);
        n_compressed += is_compressed(&calls[i]);
        fx_call_done(&calls[i]);
    }
    CHECK(n_compressed >= GZIP_MAX_JOBS);
    /* In virtual time all requests are there before the first step. */
    if (f.kind == FX_PIPE && f.is_h2)
        CHECK_INT(n_compressed, GZIP_MAX_JOBS);
    CHECK_INT(f.n_dropped, 2 * N);
    CHECK_INT(f.server->gzip.n_jobs, 0);
    fx_done(&f);
}

static void set_flag(void *ctx)
{
    *(bool *)ctx = true;
}

TEST_BOTH(shutdown_waits_for_a_compressed_reply, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    f.big = 4 << 20;
    f.pipe_capacity = 1000;
    fx_start(&f);
    struct http_header accept = {STR("accept-encoding"), STR("gzip")};
    struct fx_call c;
    get(&f, &c, "GET", "/noise", &accept);
    while (f.n_requests == 0)
        (void)loop_run_until(f.loop, loop_now(f.loop), 1);
    bool is_done = false;
    http_server_shutdown(f.server, 10 * USEC_PER_SEC, set_flag, &is_done);
    WAIT_FOR(&f, c.n_end);
    CHECK(c.is_ok);
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT(32 << 20);
    gunzip(strbuf_str(&c.body), &plain);
    CHECK_INT(plain.len, 4 << 20);
    WAIT_FOR(&f, is_done);
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(a_compressed_reply_begun_in_shutdown_is_complete, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct http_header accept = {STR("accept-encoding"), STR("gzip")};
    struct fx_call c;
    get(&f, &c, "GET", "/later", &accept);
    WAIT_FOR(&f, f.later);
    bool is_done = false;
    http_server_shutdown(f.server, 10 * USEC_PER_SEC, set_flag, &is_done);
    fx_step(&f);
    static const char zeros[600000];
    http_reply(f.later, 200, NULL, 0, (struct http_slice){str_n(zeros, sizeof(zeros)), NULL, NULL});
    WAIT_FOR(&f, c.n_end);
    CHECK(c.is_ok);
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT(32 << 20);
    gunzip(strbuf_str(&c.body), &plain);
    CHECK_INT(plain.len, sizeof(zeros));
    WAIT_FOR(&f, is_done);
    fx_call_done(&c);
    fx_done(&f);
}
