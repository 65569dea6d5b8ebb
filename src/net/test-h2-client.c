/* The client over HTTP/2 against servers that are in the test's hands: limits, goodbyes, silence.
 */
#include "net/test-peer.h"

enum { MAX_PEERS = 8 };

/* Every connection of the client gets the next peer. */
struct farm {
    struct fx f;
    struct peer peers[MAX_PEERS];
    size_t n;
    uint32_t max_streams;
    bool is_mute;
    void (*on_request)(struct peer *p, int32_t id);
};

static struct transport *farm_connect(void *ctx)
{
    struct farm *farm = ctx;
    struct transport *ends[2];
    REQUIRE(farm->n < MAX_PEERS);
    transport_new_pipe(farm->f.loop, 64 << 10, ends);
    struct peer *p = &farm->peers[farm->n++];
    peer_serve(p, &farm->f, ends[0], farm->max_streams);
    p->is_mute = farm->is_mute;
    p->on_request = farm->on_request;
    p->ctx = farm;
    return ends[1];
}

static void farm_init(struct farm *farm)
{
    *farm = (struct farm){.max_streams = 100};
    fx_init(&farm->f, FX_H2_PIPE);
    fx_start(&farm->f);
    farm->f.client->connect = farm_connect;
    farm->f.client->connect_ctx = farm;
}

static void farm_step(struct farm *farm)
{
    for (size_t i = 0; i < farm->n; i++)
        peer_pump(&farm->peers[i]);
    fx_step(&farm->f);
    for (size_t i = 0; i < farm->n; i++)
        peer_pump(&farm->peers[i]);
}

static void farm_done(struct farm *farm)
{
    http_client_free(TAKE_PTR(farm->f.client));
    for (size_t i = 0; i < farm->n; i++)
        peer_done(&farm->peers[i]);
    fx_done(&farm->f);
}

#define FARM_WAIT(farm, cond)                              \
    ({                                                     \
        for (int i_ = 0; i_ < WAIT_STEPS && !(cond); i_++) \
            farm_step(farm);                               \
        CHECK(cond);                                       \
    })

static void farm_send(struct farm *farm, struct fx_call *c, const char *method, const char *path)
{
    fx_call_init(c, method, path, STR_NONE);
    fx_call_send(&farm->f, c);
}

static void farm_watch(struct farm *farm, struct fx_call *c)
{
    fx_call_init(c, "GET", "/watch", STR_NONE);
    c->call.timeout = 0;
    fx_call_send(&farm->f, c);
}

static void reply_at_once(struct peer *p, int32_t id)
{
    peer_reply(p, id, "ok");
}

/* ---- pool ---- */

TEST(h2_client_watches_and_calls_are_on_two_connections)
{
    struct farm farm;
    farm_init(&farm);
    enum { N = 5 };
    static struct fx_call watches[N], calls[N];
    for (size_t i = 0; i < N; i++) {
        farm_watch(&farm, &watches[i]);
        farm_send(&farm, &calls[i], "GET", "/call");
    }
    FARM_WAIT(&farm, farm.n == 2 && farm.peers[0].n_headers == N && farm.peers[1].n_headers == N);
    for (size_t k = 0; k < 2; k++) {
        str log = strbuf_str(&farm.peers[k].requests);
        CHECK((str_find(log, STR("/watch")) < 0) != (str_find(log, STR("/call")) < 0));
    }
    for (size_t k = 0; k < 2; k++)
        for (int32_t id = 1; id < 2 * N; id += 2)
            peer_reply(&farm.peers[k], id, "ok");
    for (size_t i = 0; i < N; i++) {
        FARM_WAIT(&farm, watches[i].n_end && calls[i].n_end);
        CHECK(watches[i].is_ok && calls[i].is_ok);
        CHECK_STR(strbuf_str(&calls[i].body), STR("ok"));
        fx_call_done(&watches[i]);
        fx_call_done(&calls[i]);
    }
    CHECK_INT(farm.n, 2);
    farm_done(&farm);
}

TEST(h2_client_calls_keep_to_the_servers_limit)
{
    struct farm farm;
    farm_init(&farm);
    farm.max_streams = 3;
    enum { N = 20 };
    static struct fx_call calls[N];
    /* The first tells what the server allows. */
    farm_send(&farm, &calls[0], "GET", "/0");
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 1);
    farm_step(&farm);
    for (size_t i = 1; i < N; i++)
        farm_send(&farm, &calls[i], "GET", "/n");
    for (int i = 0; i < 10; i++)
        farm_step(&farm);
    struct peer *p = &farm.peers[0];
    CHECK_INT(p->n_headers, 3);
    for (int32_t id = 1; id < 2 * N; id += 2) {
        FARM_WAIT(&farm, p->last_id >= id);
        peer_reply(p, id, "ok");
    }
    for (size_t i = 0; i < N; i++) {
        FARM_WAIT(&farm, calls[i].n_end);
        CHECK(calls[i].is_ok);
        fx_call_done(&calls[i]);
    }
    CHECK_INT(p->max_open, 3);
    CHECK_INT(farm.n, 1);
    farm_done(&farm);
}

TEST(h2_client_watches_above_the_servers_limit_get_another_connection)
{
    struct farm farm;
    farm_init(&farm);
    farm.max_streams = 2;
    enum { N = 5 };
    static struct fx_call watches[N];
    for (size_t i = 0; i < N; i++) {
        farm_watch(&farm, &watches[i]);
        for (int k = 0; k < 5; k++)
            farm_step(&farm);
    }
    CHECK_INT(farm.n, 3);
    for (size_t i = 0; i < N; i++) {
        CHECK_INT(watches[i].n_end, 0);
        http_client_cancel(farm.f.client, &watches[i].call);
        fx_call_done(&watches[i]);
    }
    FARM_WAIT(&farm, farm.peers[0].n_closed == 2);
    CHECK_INT(peer_stream(&farm.peers[0], 1)->code, NGHTTP2_CANCEL);
    farm_done(&farm);
}

TEST(h2_client_opens_one_connection_for_many_first_calls)
{
    struct fx f;
    fx_init(&f, FX_H2_TCP_TLS);
    fx_start(&f);
    enum { N = 1000 };
    static struct fx_call calls[N];
    for (size_t i = 0; i < N; i++) {
        fx_call_init(&calls[i], "POST", "/echo", STR("some text"));
        fx_call_send(&f, &calls[i]);
    }
    for (size_t i = 0; i < N; i++) {
        WAIT_FOR(&f, calls[i].n_end);
        CHECK(calls[i].is_ok);
        CHECK_INT(calls[i].n_bytes, 9);
        fx_call_done(&calls[i]);
    }
    CHECK_INT(f.client->n_conns, 1);
    CHECK_INT(f.n_requests, N);
    fx_done(&f);
}

TEST(h2_client_falls_back_to_http_1_1)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    tls_server_offer(f.tls_server, TLS_OFFER_H1);
    fx_start(&f);
    f.client->offer = TLS_OFFER_ANY;
    enum { N = 20 };
    static struct fx_call calls[N];
    for (size_t i = 0; i < N; i++) {
        fx_call_init(&calls[i], "GET", "/hello", STR_NONE);
        fx_call_send(&f, &calls[i]);
    }
    for (size_t i = 0; i < N; i++) {
        WAIT_FOR(&f, calls[i].n_end);
        CHECK(calls[i].is_ok);
        fx_call_done(&calls[i]);
    }
    CHECK_INT(f.client->speaks, CLIENT_H1);
    CHECK(f.client->n_conns <= 4);
    fx_done(&f);
}

/* Ends before the handshake. */
static struct transport *connect_in_vain(void *ctx)
{
    struct fx *f = ctx;
    struct transport *ends[2];
    transport_new_pipe(f->loop, 64 << 10, ends);
    transport_free(ends[0]);
    f->n_drained++; /* counts the attempts */
    return ends[1];
}

TEST(h2_client_calls_that_wait_for_a_connection_fail_with_it)
{
    struct fx f;
    fx_init(&f, FX_H2_PIPE_TLS);
    fx_start(&f);
    f.client->connect = connect_in_vain;
    enum { N = 10 };
    static struct fx_call calls[N];
    for (size_t i = 0; i < N; i++) {
        fx_call_init(&calls[i], "POST", "/echo", STR_NONE);
        fx_call_send(&f, &calls[i]);
    }
    for (size_t i = 0; i < N; i++) {
        WAIT_FOR(&f, calls[i].n_end);
        CHECK_INT(calls[i].err.code, ERR_UNAVAILABLE);
        fx_call_done(&calls[i]);
    }
    CHECK_INT(f.n_drained, 1);
    fx_done(&f);
}

TEST(h2_client_an_idle_connection_is_closed)
{
    struct farm farm;
    farm_init(&farm);
    farm.on_request = reply_at_once;
    struct fx_call c;
    farm_send(&farm, &c, "GET", "/");
    FARM_WAIT(&farm, c.n_end);
    CHECK_INT(farm.f.client->n_conns, 1);
    farm.f.wait = 59 * USEC_PER_SEC;
    farm_step(&farm);
    CHECK_INT(farm.f.client->n_conns, 1);
    farm.f.wait = USEC_PER_SEC;
    farm_step(&farm);
    farm_step(&farm);
    CHECK_INT(farm.f.client->n_conns, 0);
    CHECK(farm.peers[0].has_goaway);
    CHECK_INT(farm.peers[0].n_pings, 0);
    fx_call_done(&c);
    farm_done(&farm);
}

/* ---- goodbyes ---- */

static void say_goodbye(struct peer *p, int32_t last)
{
    CHECK_INT(nghttp2_submit_goaway(p->session, 0, last, NGHTTP2_NO_ERROR, NULL, 0), 0);
}

/* Streams above the last were not looked at: whatever they are, they are sent again. The one below
 * is answered on the old connection. */
TEST(h2_client_after_goaway_only_streams_above_the_last_are_sent_again)
{
    struct farm farm;
    farm_init(&farm);
    struct fx_call a, b, c;
    farm_send(&farm, &a, "POST", "/a");
    farm_send(&farm, &b, "POST", "/b");
    farm_send(&farm, &c, "GET", "/c");
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 3);
    say_goodbye(&farm.peers[0], 1);
    FARM_WAIT(&farm, farm.n == 2 && farm.peers[1].n_headers == 2);
    CHECK_INT(a.n_end + b.n_end + c.n_end, 0);
    str again = strbuf_str(&farm.peers[1].requests);
    CHECK(str_find(again, STR("POST /b\n")) >= 0 && str_find(again, STR("GET /c\n")) >= 0);
    peer_reply(&farm.peers[0], 1, "old");
    peer_reply(&farm.peers[1], 1, "new");
    peer_reply(&farm.peers[1], 3, "new");
    FARM_WAIT(&farm, a.n_end && b.n_end && c.n_end);
    CHECK(a.is_ok && b.is_ok && c.is_ok);
    CHECK_STR(strbuf_str(&a.body), STR("old"));
    CHECK_STR(strbuf_str(&b.body), STR("new"));
    FARM_WAIT(&farm, farm.f.client->n_conns == 1);
    fx_call_done(&a);
    fx_call_done(&b);
    fx_call_done(&c);
    farm_done(&farm);
}

/* The server said it would answer and went away: a GET may be repeated, a POST must not. */
TEST(h2_client_after_goaway_and_the_end_only_reads_are_sent_again)
{
    struct farm farm;
    farm_init(&farm);
    struct fx_call a, b;
    farm_send(&farm, &a, "POST", "/a");
    farm_send(&farm, &b, "GET", "/b");
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 2);
    say_goodbye(&farm.peers[0], 3);
    farm_step(&farm);
    farm_step(&farm);
    CHECK_INT(farm.n, 1);
    transport_shutdown(farm.peers[0].raw.t);
    FARM_WAIT(&farm, a.n_end);
    CHECK_INT(a.err.code, ERR_IO);
    FARM_WAIT(&farm, farm.n == 2 && farm.peers[1].n_headers == 1);
    CHECK_STR(strbuf_str(&farm.peers[1].requests), STR("GET /b\n"));
    peer_reply(&farm.peers[1], 1, "ok");
    FARM_WAIT(&farm, b.n_end);
    CHECK(b.is_ok);
    fx_call_done(&a);
    fx_call_done(&b);
    farm_done(&farm);
}

static void refuse(struct peer *p, int32_t id)
{
    CHECK_INT(nghttp2_submit_rst_stream(p->session, 0, id, NGHTTP2_REFUSED_STREAM), 0);
}

TEST(h2_client_a_refused_stream_is_sent_once_more)
{
    struct farm farm;
    farm_init(&farm);
    farm.on_request = refuse;
    struct fx_call c;
    farm_send(&farm, &c, "POST", "/");
    FARM_WAIT(&farm, c.n_end);
    CHECK_INT(c.err.code, ERR_UNAVAILABLE);
    CHECK_STR(strbuf_str(&farm.peers[0].requests), STR("POST /\nPOST /\n"));
    fx_call_done(&c);
    farm_done(&farm);
}

static void reset_with_error(struct peer *p, int32_t id)
{
    CHECK_INT(nghttp2_submit_rst_stream(p->session, 0, id, NGHTTP2_INTERNAL_ERROR), 0);
}

TEST(h2_client_another_reset_is_an_error_of_unknown_outcome)
{
    struct farm farm;
    farm_init(&farm);
    farm.on_request = reset_with_error;
    struct fx_call c;
    farm_send(&farm, &c, "GET", "/");
    FARM_WAIT(&farm, c.n_end);
    CHECK_INT(c.err.code, ERR_IO);
    CHECK_STR(strbuf_str(&farm.peers[0].requests), STR("GET /\n"));
    fx_call_done(&c);
    farm_done(&farm);
}

/* ---- windows ---- */

TEST(h2_client_windows_are_1_mb_a_stream_and_16_mb_a_connection)
{
    struct farm farm;
    struct fx_call c;
    farm_init(&farm);
    farm_watch(&farm, &c);
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 1);
    nghttp2_session *s = farm.peers[0].session;
    CHECK_INT(nghttp2_session_get_remote_settings(s, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE),
              1 << 20);
    CHECK_INT(nghttp2_session_get_stream_remote_window_size(s, 1), 1 << 20);
    CHECK_INT(nghttp2_session_get_remote_window_size(s), 16 << 20);
    http_client_cancel(farm.f.client, &c.call);
    fx_call_done(&c);
    farm_done(&farm);
}

static size_t counted;

static void count_data(struct http_call *call, str data)
{
    (void)call;
    counted += data.len;
}

/* More than both windows together would ever let through without credit. */
TEST(h2_client_gives_credit_for_what_came_to_stream_and_connection)
{
    struct farm farm;
    struct fx_call c;
    enum { SIZE = 20 << 20 };
    char *text = xcalloc(1, SIZE + 1);
    memset(text, 'x', SIZE);
    farm_init(&farm);
    farm_send(&farm, &c, "GET", "/large");
    counted = 0;
    c.call.on_data = count_data;
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 1);
    peer_reply(&farm.peers[0], 1, text);
    FARM_WAIT(&farm, c.n_end);
    CHECK(c.is_ok);
    CHECK_INT(counted, SIZE);
    fx_call_done(&c);
    farm_done(&farm);
    free(text);
}

/* A call nobody waits for any more takes connection credit all the same, or the others would starve
 * behind what was under way to it. */
TEST(h2_client_a_cancelled_call_does_not_keep_the_connections_credit)
{
    struct farm farm;
    struct fx_call c[2];
    enum { SIZE = 512 << 10, ROUNDS = 40 }; /* 20 MB */
    char *text = xcalloc(1, SIZE + 1);
    memset(text, 'x', SIZE);
    farm_init(&farm);
    farm_send(&farm, &c[1], "GET", "/stays");
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 1);
    struct peer *p = &farm.peers[0];
    for (int i = 0; i < ROUNDS; i++) {
        farm_send(&farm, &c[0], "GET", "/goes");
        FARM_WAIT(&farm, (int)p->n_headers == i + 2);
        peer_reply(p, p->last_id, text);
        peer_pump(p);
        http_client_cancel(farm.f.client, &c[0].call);
        fx_call_done(&c[0]);
        farm_step(&farm);
    }
    for (int i = 0; i < 50; i++)
        farm_step(&farm);
    CHECK(nghttp2_session_get_remote_window_size(p->session) >= 8 << 20);
    peer_reply(p, 1, "ok");
    FARM_WAIT(&farm, c[1].n_end);
    CHECK(c[1].is_ok);
    fx_call_done(&c[1]);
    farm_done(&farm);
    free(text);
}

/* ---- silence ---- */

TEST(h2_client_a_silent_server_is_asked_and_then_given_up)
{
    struct farm farm;
    farm_init(&farm);
    struct fx_call c;
    farm_watch(&farm, &c);
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].n_headers == 1);
    struct peer *p = &farm.peers[0];
    farm_step(&farm);
    /* It answers: two questions a minute, and nothing else happens. */
    farm.f.wait = 5 * USEC_PER_SEC;
    for (int i = 0; i < 12 * 10; i++)
        farm_step(&farm);
    CHECK(p->n_pings >= 16 && p->n_pings <= 20);
    CHECK_INT(c.n_end, 0);
    /* It does not any more: 30 s to the question, 15 s to the end. */
    p->is_mute = true;
    farm.f.wait = USEC_PER_SEC;
    int seconds = 0;
    for (; seconds < 100 && !c.n_end; seconds++)
        farm_step(&farm);
    CHECK(seconds > 15 && seconds <= 46);
    CHECK_INT(c.err.code, ERR_IO);
    CHECK_CSTR(str_of(c.err.message), "the server does not answer");
    CHECK_INT(farm.f.client->n_conns, 0);
    fx_call_done(&c);
    farm_done(&farm);
}

TEST(h2_client_a_server_that_never_speaks_is_given_up)
{
    struct farm farm;
    farm_init(&farm);
    farm.is_mute = true;
    struct fx_call c;
    farm_watch(&farm, &c);
    farm.f.wait = 44 * USEC_PER_SEC;
    farm_step(&farm);
    CHECK_INT(c.n_end, 0);
    farm.f.wait = 2 * USEC_PER_SEC;
    farm_step(&farm);
    CHECK_INT(c.n_end, 1);
    CHECK_INT(c.err.code, ERR_IO);
    fx_call_done(&c);
    farm_done(&farm);
}

/* ---- odd servers ---- */

static void reply_with_trailers(struct peer *p, int32_t id)
{
    nghttp2_nv hint = PEER_NV(":status", "103"), status = PEER_NV(":status", "200");
    nghttp2_nv trailer = PEER_NV("x", "y");
    CHECK_INT(nghttp2_submit_headers(p->session, 0, id, NULL, &hint, 1, NULL), 0);
    CHECK_INT(nghttp2_submit_headers(p->session, 0, id, NULL, &status, 1, NULL), 0);
    CHECK_INT(
        nghttp2_submit_headers(p->session, NGHTTP2_FLAG_END_STREAM, id, NULL, &trailer, 1, NULL),
        0);
}

TEST(h2_client_hints_and_trailers_are_skipped)
{
    struct farm farm;
    farm_init(&farm);
    farm.on_request = reply_with_trailers;
    struct fx_call c;
    farm_send(&farm, &c, "GET", "/");
    FARM_WAIT(&farm, c.n_end);
    CHECK(c.is_ok);
    CHECK_INT(c.status, 200);
    CHECK_INT(c.headers.len, 0);
    fx_call_done(&c);
    farm_done(&farm);
}

static void push(struct peer *p, int32_t id)
{
    /* PUSH_PROMISE of stream 2 on stream 1; nghttp2 would not send it unasked. */
    raw_send(&p->raw, STR("\0\0\5\5\4\0\0\0\1\0\0\0\2\x82"));
}

TEST(h2_client_push_is_an_error)
{
    struct farm farm;
    farm_init(&farm);
    farm.on_request = push;
    struct fx_call c;
    farm_send(&farm, &c, "POST", "/");
    FARM_WAIT(&farm, c.n_end);
    CHECK(!c.is_ok);
    CHECK_INT(c.err.code, ERR_IO);
    FARM_WAIT(&farm, farm.peers[0].has_goaway);
    CHECK_INT(farm.peers[0].goaway_code, NGHTTP2_PROTOCOL_ERROR);
    fx_call_done(&c);
    farm_done(&farm);
}

TEST(h2_client_a_server_that_speaks_http_1_1_fails)
{
    struct farm farm;
    farm_init(&farm);
    farm.is_mute = true;
    struct fx_call c;
    farm_send(&farm, &c, "GET", "/");
    FARM_WAIT(&farm, farm.n == 1);
    raw_send(&farm.peers[0].raw, STR("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"));
    FARM_WAIT(&farm, c.n_end);
    CHECK_INT(c.err.code, ERR_IO);
    fx_call_done(&c);
    farm_done(&farm);
}

/* An answer to an upload that is still going on. */
static void reply_to_head(struct peer *p, int32_t id)
{
    peer_reply(p, id, "enough");
}

TEST(h2_client_an_early_answer_ends_the_upload)
{
    struct farm farm;
    farm_init(&farm);
    struct fx_call c;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT(8 << 20);
    memset(strbuf_reserve(&body, 4 << 20), 'x', 4 << 20);
    strbuf_commit(&body, 4 << 20);
    fx_call_init(&c, "POST", "/", strbuf_str(&body));
    fx_call_send(&farm.f, &c);
    FARM_WAIT(&farm, farm.n == 1 && farm.peers[0].last_id == 1);
    farm.peers[0].is_greedy = false;
    reply_to_head(&farm.peers[0], 1);
    FARM_WAIT(&farm, c.n_end);
    CHECK(c.is_ok);
    CHECK_STR(strbuf_str(&c.body), STR("enough"));
    FARM_WAIT(&farm, peer_stream(&farm.peers[0], 1)->has_closed);
    CHECK_INT(peer_stream(&farm.peers[0], 1)->code, NGHTTP2_NO_ERROR);
    CHECK(peer_stream(&farm.peers[0], 1)->n_bytes < 4 << 20);
    fx_call_done(&c);
    farm_done(&farm);
}

/* The body is the caller's only until the call is over, and frames of it may still wait. */
TEST(h2_client_a_cancelled_upload_does_not_look_back)
{
    struct fx f;
    fx_init(&f, FX_H2_PIPE);
    f.pipe_capacity = 100;
    fx_start(&f);
    char *body = xmalloc(100000);
    memset(body, 'x', 100000);
    struct fx_call c;
    fx_call_init(&c, "POST", "/echo", str_n(body, 100000));
    fx_call_send(&f, &c);
    loop_run_until(f.loop, loop_now(f.loop), 200);
    http_client_cancel(f.client, &c.call);
    memset(body, 0, 100000);
    free(body);
    fx_call_done(&c);
    fx_call_init(&c, "GET", "/hello", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.n_end);
    CHECK(c.is_ok);
    fx_call_done(&c);
    fx_done(&f);
}
