/* The server on real sockets with TLS, and its limits and time-outs in virtual time over pipes. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net/test-net-fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define CHUNKED "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

TEST(a_request_is_answered_over_tls)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&r, "\r\n\r\nhello"));
    CHECK(str_starts(strbuf_str(&r.in), STR("HTTP/1.1 200 OK\r\ndate: ")));
    CHECK(raw_has(&r, " GMT\r\n"));
    CHECK(raw_has(&r, "\r\ncontent-length: 5\r\n"));
    CHECK(raw_has(&r, "\r\ncontent-type: text/plain\r\n"));
    CHECK(str_starts(strbuf_str(&f.address), STR("127.0.0.1:")));
    CHECK_STR(strbuf_str(&f.who), STR(""));
    CHECK(str_starts(str_of(http_server_address(f.server)), STR("127.0.0.1:")));
    raw_close(&r);
    fx_done(&f);
}

TEST(the_date_is_the_loops)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&r, "hello"));
    /* 1790000000 s after 1970 */
    CHECK(raw_has(&r, "\r\ndate: Mon, 21 Sep 2026 14:13:20 GMT\r\n"));
    raw_close(&r);
    fx_done(&f);
}

TEST(a_connection_is_kept_for_the_next_request)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    for (size_t i = 1; i <= 3; i++) {
        raw_send(&r, STR(GET("/hello")));
        WAIT_FOR(&f, raw_count(&r, "hello") == i);
    }
    CHECK_INT(f.server->n_conns, 1);
    raw_close(&r);
    fx_done(&f);
}

TEST(pipelined_requests_are_answered_one_after_the_other)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/later") GET("/hello") CHUNKED "3\r\nabc\r\n0\r\n\r\n" GET("/hello")));
    WAIT_FOR(&f, f.later);
    for (int i = 0; i < 20; i++)
        fx_step(&f);
    CHECK_INT(f.n_requests, 1);
    fx_release(&f);
    WAIT_FOR(&f, f.n_closed == 4);
    CHECK_STR(strbuf_str(&f.log), STR("GET /later \nGET /hello \nPOST /echo abc\nGET /hello \n"));
    WAIT_FOR(&f, raw_count(&r, "hello") == 2);
    CHECK(raw_has(&r, "\r\n\r\nlateHTTP/1.1 200 OK"));
    raw_close(&r);
    fx_done(&f);
}

TEST(a_request_cut_into_bytes_is_understood)
{
    struct fx f;
    fx_init(&f, FX_PIPE_TLS);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    str s = STR(CHUNKED "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n");
    for (size_t i = 0; i < s.len; i++) {
        raw_send(&r, str_sub(s, i, i + 1));
        fx_step(&f);
    }
    WAIT_FOR(&f, raw_has(&r, "\r\n\r\nabcde"));
    CHECK(raw_has(&r, "HTTP/1.1 201 Created"));
    raw_close(&r);
    fx_done(&f);
}

/* What is answered by the server itself, and then the connection ends. */
TEST(bad_requests_get_their_answer_and_the_end)
{
    static const struct {
        const char *in;
        const char *want;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"GET / HTTP/1.1\nHost: a\n\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"\x16\x03\x01\x02\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n",
         "HTTP/1.1 413 Request Entity Too Large\r\n"},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n",
         "HTTP/1.1 413 Request Entity Too Large\r\n"},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: gold\r\n\r\n",
         "HTTP/1.1 417 Expectation Failed\r\n"},
        {"GET / HTTP/1.1\r\nHost: a\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\n\r\n",
         "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        fx_init(&f, FX_PIPE);
        f.limits.max_body = 1000;
        f.limits.max_headers = 4;
        fx_start(&f);
        struct raw r;
        raw_open(&r, &f);
        raw_send(&r, str_of(cases[i].in));
        raw_send(&r, STR(GET("/hello")));
        WAIT_FOR(&f, r.has_ended);
        CHECK(str_starts(strbuf_str(&r.in), str_of(cases[i].want)));
        CHECK(raw_has(&r, "\r\nconnection: close\r\n"));
        CHECK_INT(raw_count(&r, "HTTP/1.1"), 1);
        CHECK_INT(f.n_requests, 0);
        raw_close(&r);
        WAIT_FOR(&f, f.server->n_conns == 0);
        fx_done(&f);
    }
}

TEST(a_large_head_is_refused_before_it_ends)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.limits.max_header_bytes = 1000;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR("GET / HTTP/1.1\r\nHost: a\r\nx: "));
    for (int i = 0; i < 100; i++)
        raw_send(&r, STR("0123456789"));
    WAIT_FOR(&f, raw_has(&r, "HTTP/1.1 431 "));
    raw_close(&r);
    fx_done(&f);
}

/* A client that sends on and on still gets to read the refusal. */
TEST_BOTH(a_large_body_is_refused_and_the_answer_arrives, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    f.limits.max_body = 1000;
    fx_start(&f);
    struct fx_call c;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT(8 << 20);
    memset(strbuf_reserve(&body, 4 << 20), 'x', 4 << 20);
    strbuf_commit(&body, 4 << 20);
    fx_call_init(&c, "POST", "/echo", strbuf_str(&body));
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.n_end);
    CHECK_INT(c.status, 413);
    fx_call_done(&c);
    CHECK_INT(f.n_requests, 0);
    fx_done(&f);
}

TEST(a_large_chunked_body_is_refused)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    f.limits.max_body = 1000;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(CHUNKED));
    for (int i = 0; i < 200; i++)
        raw_send(&r, STR("a\r\n0123456789\r\n"));
    raw_send(&r, STR("0\r\n\r\n"));
    WAIT_FOR(&f, raw_has(&r, "HTTP/1.1 413 "));
    CHECK_INT(f.n_requests, 0);
    raw_close(&r);
    fx_done(&f);
}

TEST(expect_100_continue_is_answered)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                     "Expect: 100-continue\r\n\r\n"));
    WAIT_FOR(&f, r.in.len > 0);
    CHECK_STR(strbuf_str(&r.in), STR("HTTP/1.1 100 Continue\r\n\r\n"));
    raw_send(&r, STR("abc"));
    WAIT_FOR(&f, raw_has(&r, "\r\n\r\nabc"));
    raw_close(&r);
    fx_done(&f);
}

TEST(head_and_204_have_no_body)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.big = 100;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR("HEAD /big HTTP/1.1\r\nHost: a\r\n\r\n" GET("/nothing")));
    WAIT_FOR(&f, f.n_closed == 2);
    fx_step(&f);
    CHECK(raw_has(&r, "\r\ncontent-length: 110\r\n\r\nHTTP/1.1 204 No Content\r\n"));
    CHECK(str_ends(strbuf_str(&r.in), STR("\r\n\r\n")));
    CHECK(!raw_has(&r, "aaa"));
    CHECK(!raw_has(&r, "ignored"));
    CHECK_INT(raw_count(&r, "content-length"), 1);
    CHECK_INT(f.n_dropped, 2);
    raw_close(&r);
    fx_done(&f);
}

TEST(reply_headers_that_do_not_fit_are_left_out)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/warn")));
    WAIT_FOR(&f, f.n_closed == 1);
    fx_step(&f);
    CHECK_INT(raw_count(&r, "\r\nwarning: "), 1);
    CHECK(raw_has(&r, "\r\ncontent-type: text/plain\r\n"));
    CHECK(str_ends(strbuf_str(&r.in), STR("w\r\n\r\ndone")));
    raw_close(&r);
    fx_done(&f);
}

TEST(http_1_0_and_connection_close_end_the_connection)
{
    static const char *const cases[] = {
        "GET /hello HTTP/1.0\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        fx_init(&f, FX_PIPE_TLS);
        fx_start(&f);
        struct raw r;
        raw_open(&r, &f);
        raw_send(&r, str_of(cases[i]));
        WAIT_FOR(&f, r.has_ended);
        CHECK(!r.t->is_truncated);
        CHECK(raw_has(&r, "\r\nconnection: close\r\n"));
        CHECK(raw_has(&r, "\r\n\r\nhello"));
        CHECK_INT(f.n_closed, 1);
        CHECK_INT(f.n_aborted, 0);
        raw_close(&r);
        fx_done(&f);
    }
}

/* ---- streams ---- */

TEST(a_stream_is_chunked)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/stream")));
    WAIT_FOR(&f, f.stream && raw_has(&r, "\r\n\r\n"));
    CHECK(raw_has(&r, "\r\ntransfer-encoding: chunked\r\n"));
    strbuf_reset(&r.in);
    struct http_slice two[] = {{STR("abc"), NULL, NULL}, {STR("0123456789"), NULL, NULL}};
    http_stream_write(f.stream, two, 2);
    http_stream_write(f.stream, two, 0);
    http_stream_write(f.stream, &(struct http_slice){0}, 1);
    http_stream_write(f.stream, two, 1);
    fx_step(&f);
    CHECK_STR(strbuf_str(&r.in), STR("d\r\nabc0123456789\r\n3\r\nabc\r\n"));
    http_stream_end(f.stream);
    fx_step(&f);
    CHECK_STR(strbuf_str(&r.in), STR("d\r\nabc0123456789\r\n3\r\nabc\r\n0\r\n\r\n"));
    CHECK_INT(f.n_closed, 1);
    CHECK_INT(f.n_aborted, 0);
    raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&r, "hello"));
    raw_close(&r);
    fx_done(&f);
}

TEST(a_stream_for_http_1_0_ends_with_the_connection)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR("GET /stream HTTP/1.0\r\n\r\n"));
    WAIT_FOR(&f, f.stream);
    http_stream_write(f.stream, &(struct http_slice){STR("abc"), NULL, NULL}, 1);
    http_stream_end(f.stream);
    WAIT_FOR(&f, r.has_ended);
    CHECK(str_ends(strbuf_str(&r.in), STR("\r\n\r\nabc")));
    CHECK(!raw_has(&r, "chunked"));
    raw_close(&r);
    fx_done(&f);
}

static void check_back_pressure(enum fx_kind kind)
{
    struct fx f;
    fx_init(&f, kind);
    f.limits.low_water = 10000;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/stream")));
    WAIT_FOR(&f, f.stream && raw_has(&r, "\r\n\r\n"));
    raw_listen(&r, false);
    size_t total = 0;
    while (total < (12u << 20)) {
        fx_stream_bytes(&f, f.stream, 50000);
        total += 50000;
    }
    for (int i = 0; i < 20; i++)
        fx_step(&f);
    size_t pending = http_stream_pending(f.stream);
    CHECK(pending > 100000);
    CHECK_INT(f.n_drained, 0);
    raw_listen(&r, true);
    WAIT_FOR(&f, f.n_drained == 1);
    CHECK(http_stream_pending(f.stream) < 10000);
    http_stream_end(f.stream);
    WAIT_FOR(&f, str_ends(strbuf_str(&r.in), STR("\r\n0\r\n\r\n")));
    CHECK_INT(f.n_dropped, total / 50000);
    size_t n_x = 0;
    for (size_t i = 0; i < r.in.len; i++)
        n_x += r.in.p[i] == 'x';
    CHECK_INT(n_x, total + 1); /* one in "text/plain" */
    CHECK_INT(f.n_drained, 1);
    raw_close(&r);
    fx_done(&f);
}

TEST(back_pressure_and_drain_over_tls)
{
    check_back_pressure(FX_TCP_TLS);
}

TEST(back_pressure_and_drain_in_clear)
{
    check_back_pressure(FX_PIPE);
}

TEST(a_slow_reader_is_cut_off_and_others_are_not)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    f.limits.max_pending = 1 << 20;
    fx_start(&f);
    struct raw slow, good;
    raw_open(&slow, &f);
    raw_send(&slow, STR(GET("/stream")));
    WAIT_FOR(&f, f.stream);
    struct http_exchange *x = f.stream;
    raw_listen(&slow, false);
    raw_open(&good, &f);
    unsigned n = 0;
    for (; n < 1000 && f.stream; n++) {
        fx_stream_bytes(&f, x, 100000);
        fx_step(&f);
    }
    CHECK(n < 1000);
    CHECK_INT(f.n_closed, 1);
    CHECK_INT(f.n_aborted, 1);
    CHECK_INT(f.n_dropped, n);
    raw_send(&good, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&good, "hello"));
    raw_close(&slow);
    raw_close(&good);
    fx_done(&f);
}

/* All at once: on_close must not come from inside http_stream_write. */
TEST(a_cut_off_stream_takes_writes_until_on_close)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.limits.max_pending = 100000;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/stream")));
    WAIT_FOR(&f, f.stream);
    raw_listen(&r, false);
    for (int i = 0; i < 10; i++)
        fx_stream_bytes(&f, f.stream, 100000);
    CHECK_INT(f.n_closed, 0);
    CHECK_INT(f.n_dropped, 10);
    http_stream_end(f.stream);
    WAIT_FOR(&f, f.n_closed == 1);
    CHECK_INT(f.n_aborted, 1);
    raw_close(&r);
    fx_done(&f);
}

/* ---- the peer goes away ---- */

static void check_abort(enum fx_kind kind, const char *request)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, str_of(request));
    WAIT_FOR(&f, f.n_requests == 1);
    if (f.stream)
        fx_stream_bytes(&f, f.stream, 1000);
    raw_close(&r);
    WAIT_FOR(&f, f.n_closed == 1);
    CHECK_INT(f.n_aborted, 1);
    WAIT_FOR(&f, f.server->n_conns == 0);
    CHECK_INT(f.n_closed, 1);
    fx_done(&f);
}

TEST(a_peer_that_goes_away_aborts_its_exchange_once)
{
    check_abort(FX_TCP_TLS, GET("/stream"));
    check_abort(FX_TCP_TLS, GET("/later"));
    check_abort(FX_PIPE, GET("/stream"));
    check_abort(FX_PIPE, GET("/later"));
}

TEST(a_peer_that_stuffs_the_pipe_while_we_work_is_bounded)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/later")));
    for (int i = 0; i < 20000; i++)
        raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, f.later);
    for (int i = 0; i < 50; i++)
        fx_step(&f);
    struct server_conn *sc = list_entry(f.server->conns.next, struct server_conn, link);
    CHECK(sc->c.rest.len <= 128 << 10);
    CHECK(r.out.len > 0);
    fx_release(&f);
    WAIT_FOR(&f, f.n_closed == 20001);
    CHECK_INT(f.n_aborted, 0);
    raw_close(&r);
    fx_done(&f);
}

TEST(a_half_closed_peer_still_gets_a_reply_that_was_complete)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.big = 1 << 20;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/big")));
    WAIT_FOR(&f, r.out.len == 0);
    transport_shutdown(r.t);
    WAIT_FOR(&f, r.has_ended);
    CHECK(str_ends(strbuf_str(&r.in), STR("abbbbbbbbbb")));
    CHECK_INT(f.n_aborted, 0);
    raw_close(&r);
    fx_done(&f);
}

/* ---- time ---- */

static void check_timeout(const char *sent, usec after, const char *want)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, str_of(sent));
    fx_step(&f);
    f.wait = after - USEC_PER_SEC;
    fx_step(&f);
    CHECK(!r.has_ended);
    f.wait = 2 * USEC_PER_SEC;
    fx_step(&f);
    CHECK(r.has_ended);
    CHECK(want ? str_starts(strbuf_str(&r.in), str_of(want)) : r.in.len == 0);
    raw_close(&r);
    fx_done(&f);
}

TEST(slow_requests_time_out)
{
    check_timeout("", 120 * USEC_PER_SEC, NULL);
    check_timeout("GET / HT", 10 * USEC_PER_SEC, "HTTP/1.1 408 Request Timeout\r\n");
    check_timeout("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab",
                  60 * USEC_PER_SEC, "HTTP/1.1 408 Request Timeout\r\n");
}

TEST(a_header_a_second_does_not_stretch_the_time)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR("GET / HTTP/1.1\r\n"));
    f.wait = USEC_PER_SEC;
    for (int i = 0; i < 12; i++) {
        raw_send(&r, STR("a: b\r\n"));
        fx_step(&f);
    }
    CHECK(raw_has(&r, "HTTP/1.1 408 "));
    raw_close(&r);
    fx_done(&f);
}

TEST(a_handshake_that_never_comes_times_out)
{
    struct fx f;
    fx_init(&f, FX_PIPE_TLS);
    fx_start(&f);
    struct transport *ends[2];
    transport_new_pipe(f.loop, 1000, ends);
    http_server_adopt(f.server, ends[0], "pipe");
    f.wait = 9 * USEC_PER_SEC;
    fx_step(&f);
    CHECK_INT(f.server->n_conns, 1);
    fx_step(&f);
    CHECK_INT(f.server->n_conns, 0);
    transport_free(ends[1]);
    fx_done(&f);
}

TEST(a_peer_that_reads_nothing_is_closed_in_the_end)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.big = 1 << 20;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_listen(&r, false);
    raw_send(&r, STR(GET("/big")));
    WAIT_FOR(&f, f.n_requests == 1);
    f.wait = 130 * USEC_PER_SEC;
    fx_step(&f);
    CHECK_INT(f.n_aborted, 1);
    CHECK_INT(f.n_dropped, 2);
    raw_close(&r);
    fx_done(&f);
}

TEST(a_quiet_stream_lives_for_ever)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/stream")));
    WAIT_FOR(&f, f.stream);
    f.wait = USEC_PER_DAY;
    fx_step(&f);
    REQUIRE(f.stream);
    strbuf_reset(&r.in);
    http_stream_write(f.stream, &(struct http_slice){STR("abc"), NULL, NULL}, 1);
    fx_step(&f);
    CHECK_STR(strbuf_str(&r.in), STR("3\r\nabc\r\n"));
    raw_close(&r);
    fx_done(&f);
}

/* ---- shutting down ---- */

static void set_flag(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(shutdown_ends_idle_connections_and_streams_and_waits_for_replies)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct raw idle, stream, later;
    raw_open(&idle, &f);
    raw_open(&stream, &f);
    raw_open(&later, &f);
    raw_send(&stream, STR(GET("/stream")));
    raw_send(&later, STR(GET("/later")));
    WAIT_FOR(&f, f.stream && f.later && raw_has(&stream, "\r\n\r\n"));
    bool is_done = false;
    http_server_shutdown(f.server, 10 * USEC_PER_SEC, set_flag, &is_done);
    /* The handler does not know yet; its writes go nowhere. */
    fx_stream_bytes(&f, f.stream, 10);
    CHECK_INT(f.n_dropped, 1);
    WAIT_FOR(&f, idle.has_ended && stream.has_ended);
    CHECK(raw_has(&stream, "\r\n\r\n0\r\n\r\n"));
    CHECK_INT(f.n_closed, 1);
    CHECK_INT(f.n_aborted, 0);
    CHECK(!is_done);
    raw_close(&idle);
    raw_close(&stream);
    fx_release(&f);
    WAIT_FOR(&f, raw_has(&later, "late"));
    CHECK(raw_has(&later, "connection: close"));
    raw_close(&later);
    WAIT_FOR(&f, is_done);
    fx_done(&f);
}

TEST(shutdown_does_not_wait_longer_than_its_grace)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/later")));
    WAIT_FOR(&f, f.later);
    bool is_done = false;
    http_server_shutdown(f.server, 5 * USEC_PER_SEC, set_flag, &is_done);
    f.wait = 4 * USEC_PER_SEC;
    fx_step(&f);
    CHECK(!is_done);
    fx_step(&f);
    CHECK(is_done);
    CHECK_INT(f.n_aborted, 1);
    raw_close(&r);
    fx_done(&f);
}

TEST(who_takes_leave_answers_once_more_on_each_connection)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r, other;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&r, "\r\n\r\nhello"));
    CHECK(!raw_has(&r, "connection: close"));
    http_server_take_leave(f.server);
    fx_step(&f);
    CHECK_INT(http_server_connections(f.server), 1);
    raw_send(&r, STR(GET("/hello")));
    WAIT_FOR(&f, http_server_connections(f.server) == 0);
    CHECK(raw_has(&r, "connection: close\r\n"));
    CHECK(str_ends(strbuf_str(&r.in), STR("\r\n\r\nhello")));
    raw_open(&other, &f);
    raw_send(&other, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&other, "\r\n\r\nhello"));
    CHECK(raw_has(&other, "connection: close\r\n"));
    raw_close(&other);
    raw_close(&r);
    fx_done(&f);
}

TEST(bad_listen_addresses_are_refused)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new_real(&err);
    static const char *const cases[] = {"", "127.0.0.1", "127.0.0.1:99999", "nowhere:1", ":x"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_server_options o = {.listen = cases[i]};
        CHECK(!http_server_new(l, &o, &err));
        CHECK_INT(err.code, ERR_INVALID);
    }
    loop_free(l);
}

/* Whether a connection to that address and the server's port is taken. */
static bool is_heard(const struct http_server *server, const char *host)
{
    str address = str_of(http_server_address(server));
    int64_t port = 0;
    CHECK(str_to_int(str_sub(address, (size_t)str_rfind_char(address, ':') + 1, SIZE_MAX), &port));
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    bool is_4 = inet_pton(AF_INET, host, &in.sin_addr) == 1;
    if (!is_4)
        CHECK_INT(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
    int fd = socket(is_4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool heard = (is_4 ? connect(fd, (const struct sockaddr *)&in, sizeof(in))
                       : connect(fd, (const struct sockaddr *)&in6, sizeof(in6))) == 0;
    (void)close(fd);
    return heard;
}

/* A network that nobody else is in, for this thread; tells the one it came from. */
static int enter_own_network(void)
{
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (before < 0 || unshare(CLONE_NEWNET) != 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_INT(ioctl(fd, SIOCSIFFLAGS, &up), 0);
    (void)close(fd);
    return before;
}

static bool knows_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

TEST(all_addresses_are_those_of_both_protocols)
{
    struct err err = ERR_INIT;
    int before = enter_own_network();
    if (before < 0) {
        test_skip("no network of its own without privileges");
        return;
    }
    struct loop *l = loop_new_real(&err);
    struct http_server *s =
        http_server_new(l, &(struct http_server_options){.listen = "[::]:0"}, &err);
    CHECK(s);
    CHECK(is_heard(s, "127.0.0.1"));
    CHECK_INT(is_heard(s, "::1"), knows_ipv6());
    http_server_free(s);
    loop_free(l);
    CHECK_INT(setns(before, CLONE_NEWNET), 0);
    (void)close(before);
}
