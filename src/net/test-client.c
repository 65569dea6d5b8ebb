/* The client against our own server, and against peers that misbehave. */
#include <openssl/pem.h>

#include "net/test-net-fixture.h"
#include "net/tls_impl.h"

TEST_BOTH(calls_are_answered_and_share_a_connection, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    for (int i = 0; i < 3; i++) {
        struct fx_call c;
        fx_call_init(&c, "POST", "/echo?a=b", STR("some text"));
        fx_call_send(&f, &c);
        CHECK_INT(c.n_end, 0);
        WAIT_FOR(&f, c.n_end);
        CHECK(c.is_ok);
        CHECK_INT(c.status, 201);
        CHECK_STR(strbuf_str(&c.body), STR("some text"));
        CHECK(str_find(strbuf_str(&c.headers), STR("content-type: text/plain\n")) >= 0);
        fx_call_done(&c);
    }
    CHECK_INT(f.client->n_conns, 1);
    CHECK_INT(f.server->n_conns, 1);
    fx_done(&f);
}

TEST_BOTH(the_server_sees_the_host, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/host", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.n_end);
    CHECK_CSTR(strbuf_str(&c.body), http_server_address(f.server));
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(more_calls_than_connections_wait_for_their_turn, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    enum { N = 100 };
    static struct fx_call calls[N];
    for (size_t i = 0; i < N; i++) {
        fx_call_init(&calls[i], "GET", "/hello", STR_NONE);
        fx_call_send(&f, &calls[i]);
    }
    for (size_t i = 0; i < N; i++) {
        WAIT_FOR(&f, calls[i].n_end);
        CHECK_INT(calls[i].status, 200);
        CHECK_STR(strbuf_str(&calls[i].body), STR("hello"));
        fx_call_done(&calls[i]);
    }
    CHECK(f.client->n_conns <= 4);
    fx_done(&f);
}

TEST_BOTH(watches_do_not_take_the_connections_of_calls, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    enum { N = 10 };
    static struct fx_call watches[N];
    for (size_t i = 0; i < N; i++) {
        fx_call_init(&watches[i], "GET", "/stream", STR_NONE);
        watches[i].call.timeout = 0;
        fx_call_send(&f, &watches[i]);
        WAIT_FOR(&f, watches[i].status == 200);
    }
    for (int i = 0; i < 3; i++) {
        struct fx_call c;
        fx_call_init(&c, "GET", "/hello", STR_NONE);
        fx_call_send(&f, &c);
        WAIT_FOR(&f, c.n_end);
        CHECK(c.is_ok);
        fx_call_done(&c);
    }
    CHECK_INT(f.client->n_conns, f.is_h2 ? 2 : N + 1);
    for (size_t i = 0; i < N; i++) {
        http_client_cancel(f.client, &watches[i].call);
        CHECK_INT(watches[i].n_end, 0);
        fx_call_done(&watches[i]);
    }
    WAIT_FOR(&f, f.n_aborted == N);
    fx_done(&f);
}

TEST_BOTH(stream_data_arrives_as_it_is_written, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/stream", STR_NONE);
    c.call.timeout = 0;
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.status == 200);
    for (size_t i = 1; i <= 3; i++) {
        http_stream_write(f.stream, &(struct http_slice){STR("event\n"), NULL, NULL}, 1);
        WAIT_FOR(&f, c.n_bytes == i * 6);
    }
    http_stream_end(f.stream);
    WAIT_FOR(&f, c.n_end);
    CHECK(c.is_ok);
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(a_large_reply_arrives_whole, FX_TCP_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    f.big = 20 << 20;
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/big", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.n_end);
    CHECK(c.is_ok);
    CHECK_INT(c.n_bytes, (20 << 20) + 10);
    fx_call_done(&c);
    fx_done(&f);
}

/* Every read and write is cut short, in the handshake too. */
TEST_BOTH(narrow_pipes_change_nothing, FX_PIPE)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT(1 << 20);
    memset(strbuf_reserve(&text, 40000), 'a', 40000);
    strbuf_commit(&text, 40000);
    for (size_t i = 0; i < test_cases(10); i++) {
        struct fx f;
        fx_init(&f, kind + i % 2);
        f.pipe_capacity = 1 + rng_below(test_rng(), 200);
        f.big = rng_below(test_rng(), 100000);
        fx_start(&f);
        struct fx_call c[3];
        str body = str_sub(strbuf_str(&text), 0, rng_below(test_rng(), 40000));
        fx_call_init(&c[0], "PUT", "/echo", body);
        fx_call_init(&c[1], "GET", "/big", STR_NONE);
        fx_call_init(&c[2], "DELETE", "/nowhere", STR_NONE);
        for (size_t k = 0; k < 3; k++)
            fx_call_send(&f, &c[k]);
        for (size_t k = 0; k < 3; k++)
            WAIT_FOR(&f, c[k].n_end && c[k].is_ok);
        CHECK_INT(c[0].n_bytes, body.len);
        CHECK_INT(c[1].n_bytes, f.big + 10);
        CHECK_INT(c[2].status, 404);
        for (size_t k = 0; k < 3; k++)
            fx_call_done(&c[k]);
        fx_done(&f);
    }
}

TEST_BOTH(a_call_may_be_cancelled_from_its_own_callback, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    f.big = 1 << 20;
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/big", STR_NONE);
    c.cancel_on_data = true;
    fx_call_send(&f, &c);
    WAIT_FOR(&f, f.n_aborted == 1);
    CHECK_INT(c.n_end, 0);
    CHECK(c.n_bytes < 1 << 20);
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(a_call_may_be_cancelled_before_it_is_sent, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/hello", STR_NONE);
    fx_call_send(&f, &c);
    http_client_cancel(f.client, &c.call);
    for (int i = 0; i < 10; i++)
        fx_step(&f);
    CHECK_INT(c.n_end, 0);
    CHECK_INT(f.n_requests, 0);
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(a_call_times_out, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call c;
    fx_call_init(&c, "GET", "/later", STR_NONE);
    c.call.timeout = 5 * USEC_PER_SEC;
    fx_call_send(&f, &c);
    f.wait = 4 * USEC_PER_SEC;
    fx_step(&f);
    CHECK_INT(c.n_end, 0);
    fx_step(&f);
    CHECK_INT(c.n_end, 1);
    CHECK_INT(c.err.code, ERR_TIMEOUT);
    CHECK_INT(f.n_aborted, 1);
    fx_call_done(&c);
    fx_done(&f);
}

TEST_BOTH(a_request_that_would_break_the_line_is_not_sent, FX_PIPE)
{
    static const char *const paths[] = {"", "hello", "/a b", "/a\r\nx: y", "/\xc3\xa4", "/a#b"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct fx f;
        fx_init(&f, kind);
        fx_start(&f);
        struct fx_call c;
        fx_call_init(&c, "GET", paths[i], STR_NONE);
        fx_call_send(&f, &c);
        CHECK_INT(c.n_end, 0);
        WAIT_FOR(&f, c.n_end);
        CHECK_INT(c.err.code, ERR_INVALID);
        CHECK_INT(f.server->n_conns, 0);
        fx_call_done(&c);
        fx_done(&f);
    }
}

TEST_BOTH(a_request_head_has_a_limit, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT(1 << 20);
    strbuf_add_char(&path, '/');
    memset(strbuf_reserve(&path, 300000), 'a', 300000);
    strbuf_commit(&path, 300000);
    struct http_header token = {STR("authorization"), str_sub(strbuf_str(&path), 0, 300000)};
    for (int i = 0; i < 2; i++) {
        struct fx_call c;
        fx_call_init(&c, "GET", "/hello", STR_NONE);
        if (i == 0)
            c.call.path = strbuf_str(&path);
        c.call.headers = &token;
        c.call.n_headers = (size_t)i;
        fx_call_send(&f, &c);
        WAIT_FOR(&f, c.n_end);
        CHECK_INT(c.err.code, ERR_INVALID);
        fx_call_done(&c);
    }
    fx_done(&f);
}

/* ---- names and certificates ---- */

static void check_connect(struct fx *f, const char *host, int port, struct tls_client *tls,
                          int want_code, const char *want_text)
{
    struct http_client_options o = {.host = host, .port = port, .tls = tls};
    struct http_client *saved = f->client;
    f->client = http_client_new(f->loop, &o);
    struct fx_call c;
    fx_call_init(&c, "GET", "/hello", STR_NONE);
    fx_call_send(f, &c);
    WAIT_FOR(f, c.n_end);
    CHECK_INT(c.is_ok ? 0 : c.err.code, want_code);
    if (!CHECK(str_find(str_of(c.err.message), str_of(want_text)) >= 0))
        test_note("message: %s", c.err.message);
    fx_call_done(&c);
    http_client_free(f->client);
    f->client = saved;
}

TEST(host_and_certificate_must_agree)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    int port = f.client->port;
    check_connect(&f, "127.0.0.1", port, f.tls_client, 0, "");
    check_connect(&f, "localhost", port, f.tls_client, 0, "");
    check_connect(&f, "127.0.0.2", port, f.tls_client, ERR_UNAVAILABLE, "");

    struct err err = ERR_INIT;
    struct tls_client *strangers = tls_client_new(STR_NONE, STR_NONE, STR_NONE, false, &err);
    REQUIRE(strangers);
    check_connect(&f, "127.0.0.1", port, strangers, ERR_UNAVAILABLE, "certificate");
    tls_client_free(strangers);
    struct tls_client *careless = tls_client_new(STR_NONE, STR_NONE, STR_NONE, true, &err);
    REQUIRE(careless);
    check_connect(&f, "127.0.0.1", port, careless, 0, "");
    tls_client_free(careless);
    fx_done(&f);
}

/* The server's certificate is for localhost and 127.0.0.1 only. */
TEST_BOTH(a_certificate_for_another_name_is_refused, FX_PIPE_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    free(f.client->host);
    f.client->host = xstrdup("example.org");
    struct fx_call c;
    fx_call_init(&c, "GET", "/hello", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.n_end);
    CHECK_INT(c.err.code, ERR_UNAVAILABLE);
    CHECK_CSTR(str_of(c.err.message), "TLS: hostname mismatch");
    CHECK_INT(f.n_requests, 0);
    fx_call_done(&c);
    fx_done(&f);
}

TEST(a_client_certificate_names_the_peer)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct err err = ERR_INIT;
    struct tls_client *tls =
        tls_client_new(strbuf_str(&f.ca.cert_pem), strbuf_str(&f.client_id.cert_pem),
                       strbuf_str(&f.client_id.key_pem), false, &err);
    REQUIRE(tls);
    check_connect(&f, "127.0.0.1", f.client->port, tls, 0, "");
    CHECK_STR(strbuf_str(&f.who), STR("alice/system:masters/team"));
    tls_client_free(tls);
    fx_done(&f);
}

/* The certificate again, with one more common name at this place (0: first, -1: last), signed by
 * the same authority. */
static void add_common_name(struct fx *f, int place, struct strbuf *ret_pem)
{
    BIO *in = tls_pem_bio(strbuf_str(&f->client_id.cert_pem)), *out = BIO_new(BIO_s_mem());
    BIO *key_bio = tls_pem_bio(strbuf_str(&f->ca.key_pem));
    X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
    char *p;
    REQUIRE(cert && key && out);
    REQUIRE(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                       (const unsigned char *)"eve", -1, place, 0) == 1);
    REQUIRE(X509_sign(cert, key, EVP_sha256()) > 0 && PEM_write_bio_X509(out, cert) == 1);
    long n = BIO_get_mem_data(out, &p);
    strbuf_add(ret_pem, p, (size_t)n);
    EVP_PKEY_free(key);
    X509_free(cert);
    BIO_free(key_bio);
    BIO_free(in);
    BIO_free(out);
}

TEST(a_client_certificate_with_two_names_names_nobody)
{
    static const int places[] = {0, -1};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct fx f;
        struct strbuf pem = STRBUF_INIT(1 << 16);
        struct err err = ERR_INIT;
        fx_init(&f, FX_TCP_TLS);
        fx_start(&f);
        add_common_name(&f, places[i], &pem);
        struct tls_client *tls = tls_client_new(strbuf_str(&f.ca.cert_pem), strbuf_str(&pem),
                                                strbuf_str(&f.client_id.key_pem), false, &err);
        REQUIRE(tls);
        check_connect(&f, "127.0.0.1", f.client->port, tls, 0, "");
        CHECK_CSTR(strbuf_str(&f.who), "");
        tls_client_free(tls);
        strbuf_done(&pem);
        fx_done(&f);
    }
}

/* The server ends the handshake with whoever shows this certificate. */
static void check_refused(struct fx *f, const struct pki_identity *id)
{
    struct err err = ERR_INIT;
    struct tls_client *tls = tls_client_new(strbuf_str(&f->ca.cert_pem), strbuf_str(&id->cert_pem),
                                            strbuf_str(&id->key_pem), false, &err);
    REQUIRE(tls);
    struct http_client_options o = {.host = "127.0.0.1", .port = f->client->port, .tls = tls};
    struct http_client *saved = f->client;
    f->client = http_client_new(f->loop, &o);
    struct fx_call c;
    fx_call_init(&c, "GET", "/hello", STR_NONE);
    fx_call_send(f, &c);
    WAIT_FOR(f, c.n_end);
    CHECK(!c.is_ok);
    CHECK_INT(f->n_requests, 0);
    fx_call_done(&c);
    http_client_free(f->client);
    f->client = saved;
    tls_client_free(tls);
}

TEST(the_certificate_of_a_server_is_no_client_certificate)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    check_refused(&f, &f.server_id);
    fx_done(&f);
}

TEST(a_client_certificate_of_another_ca_is_refused)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    struct err err = ERR_INIT;
    usec now = FX_PKI_BEGIN;
    struct pki_identity other = {0}, mallory = {0};
    const char *groups[] = {"system:masters", NULL};
    REQUIRE(pki_make_ca("test-ca", now, FX_PKI_LIFETIME, &other, &err) == 0);
    REQUIRE(pki_issue(&other, "alice", groups, NULL, now, FX_PKI_LIFETIME, &mallory, &err) == 0);
    check_refused(&f, &mallory);
    pki_identity_done(&other);
    pki_identity_done(&mallory);
    fx_done(&f);
}

TEST(an_unknown_name_and_a_closed_port_are_said)
{
    struct fx f;
    fx_init(&f, FX_TCP_TLS);
    fx_start(&f);
    check_connect(&f, "no-such-host.invalid", 1, NULL, ERR_UNAVAILABLE,
                  "look up no-such-host.invalid: ");
    check_connect(&f, "127.0.0.1", 1, NULL, ERR_UNAVAILABLE, "connect: Connection refused");
    fx_done(&f);
}

/* ---- servers that misbehave ---- */

/* A server made of canned text: each connection gets the next reply, and maybe its end. */
struct canned {
    struct fx f;
    const char *const *replies;
    size_t n;
    struct transport *ends[8];
    struct strbuf seen;
};

static void canned_ready(struct transport *t, unsigned events)
{
    struct canned *s = t->ctx;
    char buf[4096];
    ssize_t n = transport_read(t, buf, sizeof(buf));
    if (n <= 0) {
        transport_want(t, false, false);
        return;
    }
    strbuf_add(&s->seen, buf, (size_t)n);
    size_t i = 0;
    while (s->ends[i] != t)
        i++;
    const char *reply = s->replies[i];
    struct iovec iov = {(char *)reply, strlen(reply)};
    if (iov.iov_len)
        (void)transport_writev(t, &iov, 1);
    if (!strstr(reply, "keep"))
        transport_shutdown(t);
    else
        s->ends[i]->ctx = s;
}

static struct transport *canned_connect(void *ctx)
{
    struct canned *s = ctx;
    struct transport *ends[2];
    REQUIRE(s->n < ARRAY_LEN(s->ends));
    transport_new_pipe(s->f.loop, 64 << 10, ends);
    s->ends[s->n++] = ends[0];
    ends[0]->on_ready = canned_ready;
    ends[0]->ctx = s;
    transport_want(ends[0], true, false);
    return ends[1];
}

static void canned_init(struct canned *s, const char *const *replies)
{
    *s = (struct canned){.replies = replies};
    fx_init(&s->f, FX_PIPE);
    fx_start(&s->f);
    strbuf_init(&s->seen, 1 << 20);
    s->f.client->connect = canned_connect;
    s->f.client->connect_ctx = s;
}

static void canned_done(struct canned *s)
{
    http_client_free(TAKE_PTR(s->f.client));
    for (size_t i = 0; i < s->n; i++)
        transport_free(s->ends[i]);
    strbuf_done(&s->seen);
    fx_done(&s->f);
}

TEST(odd_replies)
{
    static const struct {
        const char *reply;
        int code; /* 0: complete */
        const char *body;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 0, "ab"},
        {"HTTP/1.1 200 OK\r\n\r\nto the end", 0, "to the end"},
        {"HTTP/1.0 200 OK\r\n\r\nold", 0, "old"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\n"
         "Content-Length: 1\r\n\r\nx",
         0, "x"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabTOO MUCH", 0, "ab"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ERR_IO, "ab"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", ERR_IO, "ab"},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", ERR_IO, ""},
        {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", ERR_IO, ""},
        {"SSH-2.0-OpenSSH\r\n", ERR_IO, ""},
        {"", ERR_IO, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct canned s;
        canned_init(&s, &cases[i].reply);
        struct fx_call c;
        fx_call_init(&c, "GET", "/", STR_NONE);
        fx_call_send(&s.f, &c);
        WAIT_FOR(&s.f, c.n_end);
        CHECK_INT(c.is_ok ? 0 : c.err.code, cases[i].code);
        CHECK_CSTR(strbuf_str(&c.body), cases[i].body);
        fx_call_done(&c);
        canned_done(&s);
    }
}

TEST_BOTH(a_reply_cut_short_without_close_notify_is_an_error, FX_PIPE_TLS)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct transport *ends[2];
    transport_new_pipe(f.loop, 64 << 10, ends);
    struct fx_call c;
    fx_call_init(&c, "GET", "/stream", STR_NONE);
    fx_call_send(&f, &c);
    WAIT_FOR(&f, c.status == 200);
    /* The pipe is cut below TLS. */
    struct server_conn *sc = list_entry(f.server->conns.next, struct server_conn, link);
    transport_close(sc->c.t);
    WAIT_FOR(&f, c.n_end);
    CHECK(!c.is_ok);
    CHECK_INT(c.err.code, ERR_IO);
    transport_free(ends[0]);
    transport_free(ends[1]);
    fx_call_done(&c);
    fx_done(&f);
}

/* The first connection answers once and is kept; the server then ends it under the second call. */
static void check_stale(const char *method, bool want_retry)
{
    static const char *const replies[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeep",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew",
    };
    struct canned s;
    canned_init(&s, replies);
    struct fx_call a, b;
    fx_call_init(&a, "GET", "/", STR_NONE);
    fx_call_send(&s.f, &a);
    WAIT_FOR(&s.f, a.n_end);
    CHECK(a.is_ok);
    CHECK_INT(s.f.client->n_conns, 1);
    fx_call_init(&b, method, "/", STR_NONE);
    fx_call_send(&s.f, &b);
    /* Deaf from now on: the request is written and the end comes instead of a reply. */
    transport_want(s.ends[0], false, false);
    struct client_conn *cc = list_entry(s.f.client->conns.next, struct client_conn, link);
    for (int i = 0; i < 10 && !cc->call; i++)
        fx_step(&s.f);
    transport_shutdown(s.ends[0]);
    WAIT_FOR(&s.f, b.n_end);
    CHECK_INT(b.is_ok, want_retry);
    CHECK_INT(s.n, want_retry ? 2 : 1);
    if (want_retry)
        CHECK_STR(strbuf_str(&b.body), STR("new"));
    else
        CHECK_INT(b.err.code, ERR_IO);
    fx_call_done(&a);
    fx_call_done(&b);
    canned_done(&s);
}

TEST(a_get_on_a_stale_connection_is_sent_again)
{
    check_stale("GET", true);
}

TEST(a_write_on_a_stale_connection_is_not_sent_again)
{
    check_stale("POST", false);
}

TEST_BOTH(a_freed_client_ends_its_calls, FX_PIPE)
{
    struct fx f;
    fx_init(&f, kind);
    fx_start(&f);
    struct fx_call a, b;
    fx_call_init(&a, "GET", "/later", STR_NONE);
    fx_call_send(&f, &a);
    WAIT_FOR(&f, f.later);
    fx_call_init(&b, "GET", "/hello", STR_NONE);
    fx_call_send(&f, &b);
    http_client_free(TAKE_PTR(f.client));
    CHECK_INT(a.n_end, 1);
    CHECK_INT(b.n_end, 1);
    CHECK_INT(a.err.code, ERR_UNAVAILABLE);
    fx_call_done(&a);
    fx_call_done(&b);
    fx_done(&f);
}
