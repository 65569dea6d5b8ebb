/* Peers that mean harm, or might as well: what they can take from the server, and from others. */
#include "net/test-peer.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static void call_hello(struct fx *f, struct fx_call *c)
{
    fx_call_init(c, "GET", "/hello", STR_NONE);
    fx_call_send(f, c);
    WAIT_FOR(f, c->n_end);
}

TEST(connections_above_the_maximum_are_closed)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    f.limits.max_connections = 2;
    fx_start(&f);
    struct raw r[2];
    for (int i = 0; i < 2; i++) {
        raw_open(&r[i], &f);
        raw_send(&r[i], STR(GET("/hello")));
        WAIT_FOR(&f, raw_has(&r[i], "hello"));
    }
    struct fx_call c;
    call_hello(&f, &c);
    CHECK(!c.is_ok);
    CHECK_INT(c.err.code, ERR_UNAVAILABLE);
    fx_call_done(&c);
    raw_close(&r[0]);
    WAIT_FOR(&f, f.server->n_conns == 1);
    call_hello(&f, &c);
    CHECK(c.is_ok);
    fx_call_done(&c);
    raw_close(&r[1]);
    fx_done(&f);
}

TEST(connections_above_the_maximum_are_closed_over_http_2)
{
    struct fx f;
    fx_init(&f, FX_H2_TCP_TLS);
    f.limits.max_connections = 1;
    fx_start(&f);
    struct peer p;
    peer_connect(&p, &f);
    int32_t id = peer_get(&p, "/hello");
    PEER_WAIT(&p, peer_stream(&p, id)->has_ended);
    struct fx_call c;
    call_hello(&f, &c);
    CHECK(!c.is_ok);
    CHECK_INT(c.err.code, ERR_UNAVAILABLE);
    fx_call_done(&c);
    peer_done(&p);
    WAIT_FOR(&f, f.server->n_conns == 0);
    call_hello(&f, &c);
    CHECK(c.is_ok);
    fx_call_done(&c);
    fx_done(&f);
}

/* Those who only hold connections open cannot keep others out: the oldest silent one goes. */
TEST_BOTH(silent_connections_make_room, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    f.limits.max_connections = 3;
    fx_start(&f);
    struct raw r[3];
    for (int i = 0; i < 3; i++) {
        raw_open(&r[i], &f);
        WAIT_FOR(&f, f.server->n_conns == (size_t)i + 1);
    }
    struct fx_call c;
    call_hello(&f, &c);
    CHECK(c.is_ok);
    WAIT_FOR(&f, r[0].has_ended || r[0].has_failed);
    CHECK(!r[1].has_ended && !r[2].has_ended);
    CHECK_INT(f.server->n_conns, 3);
    fx_call_done(&c);
    for (int i = 0; i < 3; i++)
        raw_close(&r[i]);
    fx_done(&f);
}

TEST(a_connection_that_is_paused_is_not_read)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/later")));
    WAIT_FOR(&f, f.later);
    http_pause(f.later, USEC_PER_SEC);
    http_pause(f.later, USEC_PER_MSEC); /* makes it no shorter */
    raw_send(&r, STR(GET("/hello")));
    fx_release(&f);
    WAIT_FOR(&f, raw_has(&r, "late"));
    f.wait = 900 * USEC_PER_MSEC;
    fx_step(&f);
    CHECK_INT(f.n_requests, 1);
    f.wait = 200 * USEC_PER_MSEC;
    fx_step(&f);
    f.wait = USEC_PER_MSEC;
    WAIT_FOR(&f, raw_has(&r, "hello"));
    CHECK_INT(f.n_requests, 2);
    raw_close(&r);
    fx_done(&f);
}

TEST(a_connection_that_is_paused_is_not_read_over_http_2)
{
    struct fx f;
    fx_init(&f, FX_H2_PIPE);
    fx_start(&f);
    struct peer p;
    peer_connect(&p, &f);
    (void)peer_get(&p, "/later");
    PEER_WAIT(&p, f.later);
    http_pause(f.later, USEC_PER_SEC);
    int32_t id = peer_get(&p, "/hello");
    peer_steps(&p, 20);
    CHECK_INT(f.n_requests, 1);
    fx_release(&f);
    f.wait = 2 * USEC_PER_SEC;
    fx_step(&f);
    f.wait = USEC_PER_MSEC;
    PEER_WAIT(&p, peer_stream(&p, id)->has_ended);
    CHECK_INT(f.n_requests, 2);
    peer_done(&p);
    fx_done(&f);
}

TEST(a_connection_may_be_ended_after_its_reply)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_send(&r, STR(GET("/later") GET("/hello")));
    WAIT_FOR(&f, f.later);
    http_hang_up(f.later);
    fx_release(&f);
    WAIT_FOR(&f, r.has_ended);
    CHECK(raw_has(&r, "\r\nconnection: close\r\n"));
    CHECK(raw_has(&r, "late"));
    CHECK(!raw_has(&r, "hello"));
    CHECK_INT(f.n_requests, 1);
    raw_close(&r);
    fx_done(&f);
}

TEST_BOTH(an_exchange_that_is_aborted_ends_and_gives_back_what_it_held, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/stream", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, f.stream);
    fx_stream_bytes(&f, f.stream, 1 << 20);
    CHECK(http_server_held(f.server) >= 1 << 20);
    http_abort(f.stream);
    WAIT_FOR(&f, f.n_closed == 1);
    CHECK_INT(f.n_aborted, 1);
    WAIT_FOR(&f, c.n_end);
    CHECK(!c.is_ok);
    CHECK_INT(http_server_held(f.server), 0);
    fx_call_done(&c);
    fx_done(&f);
}

/* A byte now and then is no progress. */
TEST(a_reader_that_takes_next_to_nothing_is_cut_off)
{
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.pipe_capacity = 16;
    f.big = 1 << 20;
    fx_start(&f);
    struct raw r;
    raw_open(&r, &f);
    raw_listen(&r, false);
    raw_send(&r, STR(GET("/big")));
    WAIT_FOR(&f, f.n_requests == 1);
    f.wait = f.limits.idle_timeout / 8;
    for (int i = 0; i < 12 && !f.n_closed; i++) {
        fx_step(&f);
        raw_listen(&r, true); /* a few times the pipe's 16 bytes */
        raw_listen(&r, false);
    }
    CHECK_INT(f.n_closed, 1);
    CHECK_INT(f.n_aborted, 1);
    raw_close(&r);
    fx_done(&f);
}

static void send_part(struct raw *r, size_t length, size_t n)
{
    struct strbuf b = STRBUF_INIT(8 << 20);
    strbuf_printf(&b, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", length);
    for (size_t i = 0; i < n; i++)
        strbuf_add_char(&b, 'x');
    raw_send(r, strbuf_str(&b));
    strbuf_done(&b);
}

TEST(above_the_limit_of_memory_the_oldest_unfinished_body_is_refused)
{
    enum { SIZE = 1 << 20, PEERS = 6 };
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.limits.max_held = 3 << 20;
    fx_start(&f);
    struct raw r[PEERS], small;
    for (int i = 0; i < PEERS; i++) {
        raw_open(&r[i], &f);
        send_part(&r[i], SIZE, SIZE - 1);
        for (int k = 0; k < 200 && r[i].out.len; k++)
            fx_step(&f);
        CHECK(http_server_held(f.server) <= f.limits.max_held + SIZE);
    }
    fx_step(&f);
    CHECK(raw_has(&r[0], "HTTP/1.1 429 Too Many Requests\r\n"));
    CHECK(raw_has(&r[0], "\r\nretry-after: 1\r\n"));
    /* The newest is not, and what is small goes on in any case. */
    CHECK_INT(r[PEERS - 1].in.len, 0);
    raw_open(&small, &f);
    send_part(&small, 10, 10);
    WAIT_FOR(&f, raw_has(&small, "xxxxxxxxxx"));
    raw_send(&r[PEERS - 1], STR("y"));
    WAIT_FOR(&f, raw_has(&r[PEERS - 1], "HTTP/1.1 201 Created\r\n"));
    for (int i = 0; i < PEERS; i++)
        raw_close(&r[i]);
    raw_close(&small);
    WAIT_FOR(&f, f.server->n_conns == 0);
    CHECK_INT(http_server_held(f.server), 0);
    fx_done(&f);
}

/* More than have their turn in one iteration. */
TEST(events_of_many_streams_all_arrive)
{
    enum { STREAMS = 100 };
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    static struct raw r[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        raw_open(&r[i], &f);
        raw_send(&r[i], STR(GET("/stream")));
        WAIT_FOR(&f, f.streams.len == (size_t)i + 1);
    }
    for (int i = 0; i < STREAMS; i++)
        WAIT_FOR(&f, raw_has(&r[i], "200 OK"));
    struct raw one;
    raw_open(&one, &f);
    raw_send(&one, STR(GET("/later")));
    WAIT_FOR(&f, f.later);
    for (size_t i = 0; i < STREAMS; i++)
        http_stream_write(f.streams.p[i], &(struct http_slice){STR("event"), NULL, NULL}, 1);
    fx_release(&f);
    WAIT_FOR(&f, raw_has(&r[STREAMS - 1], "event"));
    for (int i = 0; i < STREAMS; i++)
        CHECK_INT(raw_count(&r[i], "event"), 1);
    CHECK(raw_has(&one, "late"));
    for (int i = 0; i < STREAMS; i++)
        raw_close(&r[i]);
    raw_close(&one);
    fx_done(&f);
}

TEST(a_new_certificate_is_for_new_connections)
{
    struct fx f;
    struct err err = ERR_INIT;
    struct pki_identity ca = {0}, id = {0};
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct raw old;
    raw_open(&old, &f);
    raw_send(&old, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&old, "hello"));
    str cert = strbuf_str(&f.server_id.cert_pem), key = strbuf_str(&f.client_id.key_pem);
    CHECK(tls_server_replace(f.tls_server, cert, key, STR_NONE, &err) < 0);
    /* Nothing has changed: the client's authority has signed what is served. */
    struct raw same;
    raw_open(&same, &f);
    raw_close(&same);
    REQUIRE(pki_make_ca("other-ca", FX_PKI_BEGIN, FX_PKI_LIFETIME, &ca, &err) == 0);
    REQUIRE(pki_issue(&ca, "server", NULL, "IP:127.0.0.1", FX_PKI_BEGIN, FX_PKI_LIFETIME, &id,
                      &err) == 0);
    CHECK_INT(tls_server_replace(f.tls_server, strbuf_str(&id.cert_pem), strbuf_str(&id.key_pem),
                                 STR_NONE, &err),
              0);
    raw_send(&old, STR(GET("/hello")));
    WAIT_FOR(&f, raw_count(&old, "hello") == 2);
    /* The client trusts the first authority only. */
    struct fx_call c;
    call_hello(&f, &c);
    CHECK(!c.is_ok);
    CHECK(str_find(str_of(c.err.message), STR("TLS")) >= 0);
    fx_call_done(&c);
    raw_close(&old);
    pki_identity_done(&ca);
    pki_identity_done(&id);
    fx_done(&f);
}

/* ---- lines ---- */

/* One iteration of the virtual loop. */
static void iterate_once(struct fx *f)
{
    (void)loop_run_until(f->loop, loop_now(f->loop), 1);
}

static size_t bytes_of_bodies(const struct fx *f)
{
    size_t n = 0;
    list_foreach (it, &f->server->conns)
        n += list_entry(it, struct server_conn, link)->body.len;
    return n;
}

/* Those who stand in line and are asked about by the loop all the same. */
static size_t told_in_line(const struct fx *f, enum server_line line, unsigned event)
{
    size_t n = 0;
    list_foreach (it, &f->server->conns) {
        const struct server_conn *sc = list_entry(it, struct server_conn, link);
        n += list_is_linked(&sc->in_line[line]) && (sc->c.t->wanted & event);
    }
    return n;
}

/* In a turn: two pieces of bodies, or the first 16 KB of what eight strangers say. */
TEST(large_bodies_are_read_in_turns)
{
    enum { SIZE = 512 << 10, PEERS = 12, IN_A_TURN = 128 << 10 };
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    static struct raw r[PEERS];
    for (int i = 0; i < PEERS; i++)
        raw_open(&r[i], &f);
    for (int i = 0; i < PEERS; i++)
        send_part(&r[i], SIZE, SIZE);
    size_t before = 0, longest = 0;
    for (int k = 0; k < 100000 && f.n_requests < PEERS; k++) {
        iterate_once(&f);
        size_t now = bytes_of_bodies(&f);
        CHECK(now <= before + IN_A_TURN);
        before = now;
        size_t n = 0;
        list_foreach (it, &f.server->lines[LINE_BODIES])
            n++;
        longest = MAX(longest, n);
        CHECK_INT(told_in_line(&f, LINE_BODIES, LOOP_READ), 0);
    }
    CHECK_INT(f.n_requests, PEERS);
    CHECK(longest > PEERS / 2);
    for (int i = 0; i < PEERS; i++)
        WAIT_FOR(&f, raw_has(&r[i], "HTTP/1.1 201 Created\r\n"));
    for (int i = 0; i < PEERS; i++)
        raw_close(&r[i]);
    fx_done(&f);
}

static bool all_are_greedy(void *ctx, void *conn_ctx)
{
    return true;
}

/* However many ask at once, no turn of the loop serves more than a few of them, and one that is
 * known and has few connections does not wait for them. */
static void check_crowd(struct fx *f, struct raw *crowd, int n, struct raw *known)
{
    enum { IN_A_TURN = 8 };
    unsigned before = f->n_requests, first = before;
    for (int i = 0; i < n; i++)
        raw_send(&crowd[i], STR(GET("/hello")));
    raw_send(known, STR(GET("/hello")));
    size_t had = raw_count(known, "hello");
    int turns = 0;
    for (; f->n_requests < first + (unsigned)n + 1 && turns < 1000; turns++) {
        iterate_once(f);
        CHECK(f->n_requests <= before + IN_A_TURN + 1);
        CHECK_INT(told_in_line(f, LINE_READS, LOOP_READ), 0);
        before = f->n_requests;
        if (turns == 4)
            CHECK_INT(raw_count(known, "hello"), had + 1);
    }
    CHECK_INT(f->n_requests, first + (unsigned)n + 1);
    CHECK(turns >= n / IN_A_TURN);
    for (int i = 0; i < n; i++)
        WAIT_FOR(f, raw_has(&crowd[i], "hello"));
}

TEST(strangers_and_those_with_many_connections_are_read_in_turns)
{
    enum { CROWD = 100 };
    struct fx f;
    fx_init(&f, FX_PIPE);
    fx_start(&f);
    struct raw known;
    raw_open(&known, &f);
    raw_send(&known, STR(GET("/hello")));
    WAIT_FOR(&f, raw_has(&known, "hello"));
    static struct raw r[CROWD];
    for (int i = 0; i < CROWD; i++)
        raw_open(&r[i], &f);
    fx_step(&f);
    check_crowd(&f, r, CROWD, &known);
    /* Now all are known: who has a context is of a user. */
    f.server->is_greedy = all_are_greedy;
    struct server_conn *first = list_entry(f.server->conns.next, struct server_conn, link);
    list_foreach (it, &f.server->conns) {
        struct server_conn *sc = list_entry(it, struct server_conn, link);
        sc->ctx = sc == first ? NULL : &f;
    }
    check_crowd(&f, r, CROWD, &known);
    for (int i = 0; i < CROWD; i++)
        raw_close(&r[i]);
    raw_close(&known);
    fx_done(&f);
}

TEST(long_replies_are_written_in_turns)
{
    enum { PEERS = 12, SIZE = 1 << 20, IN_A_TURN = (64 + 32) << 10 };
    struct fx f;
    fx_init(&f, FX_PIPE);
    f.pipe_capacity = 4 << 20;
    f.big = SIZE;
    fx_start(&f);
    static struct raw r[PEERS];
    for (int i = 0; i < PEERS; i++) {
        raw_open(&r[i], &f);
        raw_send(&r[i], STR(GET("/hello")));
        WAIT_FOR(&f, raw_has(&r[i], "hello"));
        raw_listen(&r[i], false);
    }
    for (int i = 0; i < PEERS; i++)
        raw_send(&r[i], STR(GET("/big")));
    uint64_t before = 0;
    bool has_begun = false;
    for (int k = 0; k < 100000 && f.n_closed < 2 * PEERS; k++) {
        iterate_once(&f);
        uint64_t now = 0;
        list_foreach (it, &f.server->conns)
            now += list_entry(it, struct server_conn, link)->c.written;
        /* The beginning of a reply goes out at once. */
        CHECK(!has_begun || now <= before + IN_A_TURN);
        has_begun = f.n_requests == 2 * PEERS;
        before = now;
        CHECK_INT(told_in_line(&f, LINE_STREAMS, LOOP_WRITE_READY), 0);
    }
    CHECK_INT(f.n_closed, 2 * PEERS);
    for (int i = 0; i < PEERS; i++)
        raw_close(&r[i]);
    fx_done(&f);
}

/* ---- frames of HTTP/2 that nobody sends who means well ---- */

static void add_frame(struct strbuf *b, uint8_t type, uint8_t flags, uint32_t stream, str payload)
{
    const uint8_t head[] = {(uint8_t)(payload.len >> 16),
                            (uint8_t)(payload.len >> 8),
                            (uint8_t)payload.len,
                            type,
                            flags,
                            (uint8_t)(stream >> 24),
                            (uint8_t)(stream >> 16),
                            (uint8_t)(stream >> 8),
                            (uint8_t)stream};
    strbuf_add(b, head, sizeof(head));
    strbuf_add_str(b, payload);
}

/* The same frame over and over until the server has enough; false: it takes them all. */
static bool flood(struct fx *f, struct peer *p, int n, uint8_t type, uint32_t stream, str payload)
{
    for (int i = 0; i < n && f->server->n_conns; i++) {
        struct strbuf b = STRBUF_INIT(1 << 20);
        add_frame(&b, type, 0, stream, payload);
        raw_send(&p->raw, strbuf_str(&b));
        strbuf_done(&b);
        if (i % 16 == 0)
            fx_step(f);
    }
    for (int i = 0; i < 100 && f->server->n_conns; i++)
        fx_step(f);
    return f->server->n_conns == 0;
}

static void open_h2(struct peer *p, struct fx *f)
{
    fx_init(f, FX_H2_PIPE);
    f->pipe_capacity = 1 << 20;
    fx_start(f);
    peer_connect(p, f);
    int32_t id = peer_get(p, "/hello");
    PEER_WAIT(p, peer_stream(p, id)->has_closed);
    CHECK_INT(f->n_requests, 1);
}

static void close_h2(struct peer *p, struct fx *f)
{
    peer_done(p);
    fx_done(f);
}

/* A head that never ends: pieces of it, each of the same content. */
static void continue_for_ever(str piece)
{
    struct fx f;
    struct peer p;
    open_h2(&p, &f);
    struct strbuf b = STRBUF_INIT(4096);
    add_frame(&b, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 3, STR("\x82\x84\x86"));
    raw_send(&p.raw, strbuf_str(&b));
    strbuf_done(&b);
    CHECK(flood(&f, &p, 20000, NGHTTP2_CONTINUATION, 3, piece));
    CHECK_INT(f.n_requests, 1);
    close_h2(&p, &f);
}

/* A head that goes on for ever, in many small pieces. */
TEST(h2_a_flood_of_continuations_ends_the_connection)
{
    continue_for_ever(STR("\0\1a\1b"));
}

/* The same with pieces of nothing. */
TEST(h2_a_flood_of_empty_continuations_ends_the_connection)
{
    continue_for_ever(STR_NONE);
}

/* Each wants an answer, and the answers are not read. */
TEST(h2_a_flood_of_settings_ends_the_connection)
{
    struct fx f;
    struct peer p;
    open_h2(&p, &f);
    raw_listen(&p.raw, false);
    f.pipe_capacity = 1000;
    CHECK(flood(&f, &p, 200000, NGHTTP2_SETTINGS, 0, STR_NONE));
    close_h2(&p, &f);
}

/* A long field goes into the table once and is named again and again by one byte. */
TEST(h2_a_head_that_unpacks_without_end_is_refused)
{
    struct fx f;
    struct peer p;
    open_h2(&p, &f);
    struct strbuf block = STRBUF_INIT(1 << 20), b = STRBUF_INIT(1 << 20);
    strbuf_add_str(&block, STR("\x82\x84\x86\x40\1x\x7f\xa1\x1e")); /* 127 + 0x21 + 30 * 128 */
    for (int i = 0; i < 127 + 0x21 + 30 * 128; i++)
        strbuf_add_char(&block, 'a');
    for (int i = 0; i < 10000; i++)
        strbuf_add_char(&block, '\xbe'); /* the first of the dynamic table */
    add_frame(&b, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 3,
              strbuf_str(&block));
    raw_send(&p.raw, strbuf_str(&b));
    strbuf_done(&b);
    strbuf_done(&block);
    for (int i = 0; i < 100; i++)
        fx_step(&f);
    CHECK_INT(f.n_requests, 1);
    CHECK(http_server_held(f.server) < (1 << 20));
    CHECK_INT(f.server->n_conns, 0); /* it would do so again */
    close_h2(&p, &f);
}

/* A body in pieces of nothing is no progress: its time is over when it is over. */
TEST(h2_a_flood_of_empty_data_does_not_keep_a_body_open)
{
    struct fx f;
    struct peer p;
    open_h2(&p, &f);
    int32_t id = peer_request(&p, "POST", "/echo", NULL, 0, true);
    peer_steps(&p, 2);
    f.wait = USEC_PER_SEC;
    for (int i = 0; i < 62 && !peer_stream(&p, id)->status && f.server->n_conns; i++) {
        struct strbuf b = STRBUF_INIT(1 << 20);
        for (int k = 0; k < 1000; k++)
            add_frame(&b, NGHTTP2_DATA, 0, (uint32_t)id, STR_NONE);
        raw_send(&p.raw, strbuf_str(&b));
        strbuf_done(&b);
        peer_steps(&p, 1);
    }
    CHECK(!f.server->n_conns || peer_stream(&p, id)->status == 408);
    CHECK_INT(f.n_requests, 1);
    close_h2(&p, &f);
}

/* Windows of one byte: many replies wait, and a byte of each now and then is no progress. */
TEST(h2_tiny_windows_do_not_hold_replies_for_ever)
{
    enum { STREAMS = 50 };
    struct fx f;
    struct peer p;
    fx_init(&f, FX_H2_PIPE);
    f.big = 1 << 16;
    fx_start(&f);
    peer_connect(&p, &f);
    const nghttp2_settings_entry tiny = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1};
    CHECK_INT(nghttp2_submit_settings(p.session, NGHTTP2_FLAG_NONE, &tiny, 1), 0);
    p.is_greedy = false;
    for (int i = 0; i < STREAMS; i++)
        peer_get(&p, "/big");
    PEER_WAIT(&p, f.n_requests == STREAMS);
    f.wait = f.limits.idle_timeout / 8;
    for (int i = 0; i < 12 && f.n_closed < STREAMS; i++) {
        for (int s = 0; s < STREAMS && !peer_stream(&p, 2 * s + 1)->has_closed; s++)
            (void)nghttp2_submit_window_update(p.session, NGHTTP2_FLAG_NONE, 2 * s + 1, 1);
        peer_steps(&p, 1);
    }
    CHECK_INT(f.n_closed, STREAMS);
    CHECK_INT(http_server_held(f.server), 0);
    close_h2(&p, &f);
}
