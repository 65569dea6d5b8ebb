/* The HTTP/1.1 parser: one table of messages, each fed whole, byte by byte and cut in two at every
 * place; and what is written. */
#include "base/test.h"
#include "net/h1.h"

/* What came out of one message, as text, so that two runs can be compared. */
static enum h1_event run_pieces(struct h1_parser *p, str in, struct strbuf *log, str *ret_rest)
{
    for (;;) {
        str data = STR_NONE;
        enum h1_event e = h1_parse(p, &in, &data);
        if (e == H1_HEAD && p->role == H1_REQUEST)
            strbuf_printf(log, "%.*s|%.*s|%.*s|1.%d", STR_ARG(p->method), STR_ARG(p->path),
                          STR_ARG(p->query), p->minor);
        if (e == H1_HEAD && p->role == H1_RESPONSE)
            strbuf_printf(log, "%d|1.%d", p->status, p->minor);
        if (e == H1_HEAD) {
            for (size_t i = 0; i < p->headers.len; i++)
                strbuf_printf(log, "|%.*s=%.*s", STR_ARG(p->headers.p[i].name),
                              STR_ARG(p->headers.p[i].value));
            strbuf_printf(log, "|%s\n", p->keep_alive ? "keep" : "close");
        }
        if (e == H1_DATA)
            strbuf_add_str(log, data);
        if (e == H1_MORE || e == H1_END || e == H1_ERROR) {
            *ret_rest = in;
            return e;
        }
    }
}

struct h1_case {
    const char *name;
    const char *in;
    int status;       /* 0: accepted */
    const char *want; /* accepted: head line and body, as run_pieces writes them */
};

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST /x HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define GET_LOG "GET|/||1.1|host=a"
#define CHUNKED_LOG "POST|/x||1.1|host=a|transfer-encoding=chunked|keep\n"

static const struct h1_case request_cases[] = {
    /* accepted */
    {"plain", GET "\r\n", 0, GET_LOG "|keep\n"},
    {"query", "GET /a/b?c=d?e&f HTTP/1.1\r\nHost: a\r\n\r\n", 0,
     "GET|/a/b|c=d?e&f|1.1|host=a|keep\n"},
    {"empty query", "GET /a? HTTP/1.1\r\nHost: a\r\n\r\n", 0, "GET|/a||1.1|host=a|keep\n"},
    {"names are lowered, values kept", GET "X-Ab_C: D e\r\n\r\n", 0, GET_LOG "|x-ab_c=D e|keep\n"},
    {"blanks around the value go", GET "a: \t b \t \r\n\r\n", 0, GET_LOG "|a=b|keep\n"},
    {"no blank before the value", GET "a:b\r\n\r\n", 0, GET_LOG "|a=b|keep\n"},
    {"empty value", GET "a:\r\n\r\n", 0, GET_LOG "|a=|keep\n"},
    {"high bytes in a value", GET "a: \xc3\xa4\r\n\r\n", 0, GET_LOG "|a=\xc3\xa4|keep\n"},
    {"colon in a value", GET "a: b:c\r\n\r\n", 0, GET_LOG "|a=b:c|keep\n"},
    {"repeated other header", GET "a: 1\r\na: 2\r\n\r\n", 0, GET_LOG "|a=1|a=2|keep\n"},
    {"connection: close", GET "Connection: Close\r\n\r\n", 0, GET_LOG "|connection=Close|close\n"},
    {"close in a list", GET "Connection: x, close ,y\r\n\r\n", 0,
     GET_LOG "|connection=x, close ,y|close\n"},
    {"keep-alive", GET "Connection: keep-alive\r\n\r\n", 0,
     GET_LOG "|connection=keep-alive|keep\n"},
    {"1.0 closes", "GET / HTTP/1.0\r\n\r\n", 0, "GET|/||1.0|close\n"},
    {"unknown method", "FOO / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "FOO|/||1.1|host=a|keep\n"},
    {"absolute target", "GET http://h:1/p?q HTTP/1.1\r\nHost: a\r\n\r\n", 0,
     "GET|/p|q|1.1|host=a|keep\n"},
    {"absolute target without path", "GET https://h HTTP/1.1\r\nHost: a\r\n\r\n", 0,
     "GET|/||1.1|host=a|keep\n"},
    {"options star", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 0, "OPTIONS|*||1.1|host=a|keep\n"},
    {"one empty line first", "\r\n" GET "\r\n", 0, GET_LOG "|keep\n"},
    {"host with port", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 0,
     "GET|/||1.1|host=[::1]:80|keep\n"},
    {"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 0, "GET|/||1.1|host=|keep\n"},
    {"length", POST "Content-Length: 3\r\n\r\nabc", 0,
     "POST|/x||1.1|host=a|content-length=3|keep\nabc"},
    {"length 0", POST "Content-Length: 0\r\n\r\n", 0,
     "POST|/x||1.1|host=a|content-length=0|keep\n"},
    {"chunked", CHUNKED "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", 0, CHUNKED_LOG "abc0123456789"},
    {"chunked, capital letters", POST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 0,
     "POST|/x||1.1|host=a|transfer-encoding=Chunked|keep\n"},
    {"chunk extension", CHUNKED "3;a=\"b\"\r\nabc\r\n0;x\r\n\r\n", 0, CHUNKED_LOG "abc"},
    {"trailers are dropped", CHUNKED "1\r\na\r\n0\r\nT: v\r\nU:\r\n\r\n", 0, CHUNKED_LOG "a"},
    {"chunk size with zeros", CHUNKED "0003\r\nabc\r\n000\r\n\r\n", 0, CHUNKED_LOG "abc"},

    /* start line */
    {"bare LF after the start line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400, NULL},
    {"bare LF after a header", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400, NULL},
    {"bare LF as the end", GET "\n", 400, NULL},
    {"bare CR in a value", GET "a: b\rc\r\n\r\n", 400, NULL},
    {"two empty lines first", "\r\n\r\n" GET "\r\n", 400, NULL},
    {"no version", "GET /\r\nHost: a\r\n\r\n", 400, NULL},
    {"http 0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 400, NULL},
    {"http 2", "PRI * HTTP/2.0\r\n\r\n", 400, NULL},
    {"http 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400, NULL},
    {"lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"long version", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400, NULL},
    {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, NULL},
    {"space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"tab for a space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"high byte in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"control byte in the target", "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"target without slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"star without options", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"authority form", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"absolute without host", "GET http:///p HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"bad method", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"empty method", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},
    {"long method", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGH / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL},

    /* headers */
    {"folded header", GET "a: b\r\n c\r\n\r\n", 400, NULL},
    {"folded with a tab", GET "a: b\r\n\tc\r\n\r\n", 400, NULL},
    {"space before the first header", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, NULL},
    {"space before the colon", GET "a : b\r\n\r\n", 400, NULL},
    {"no colon", GET "abc\r\n\r\n", 400, NULL},
    {"empty name", GET ": b\r\n\r\n", 400, NULL},
    {"control byte in a value", GET "a: \x01\r\n\r\n", 400, NULL},
    {"delete in a value", GET "a: \x7f\r\n\r\n", 400, NULL},
    {"high byte in a name", GET "\xc3\xa4: b\r\n\r\n", 400, NULL},
    {"no host", "GET / HTTP/1.1\r\n\r\n", 400, NULL},
    {"two hosts", GET "Host: a\r\n\r\n", 400, NULL},
    {"bad host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, NULL},
    {"too many headers", GET "a:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\n\r\n", 431, NULL},

    /* framing */
    {"equal lengths twice", POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, NULL},
    {"different lengths", POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400, NULL},
    {"list of lengths", POST "Content-Length: 3, 3\r\n\r\nabc", 400, NULL},
    {"signed length", POST "Content-Length: +3\r\n\r\nabc", 400, NULL},
    {"negative length", POST "Content-Length: -3\r\n\r\nabc", 400, NULL},
    {"empty length", POST "Content-Length:\r\n\r\nabc", 400, NULL},
    {"hexadecimal length", POST "Content-Length: 0x3\r\n\r\nabc", 400, NULL},
    {"huge length", POST "Content-Length: 99999999999999999999\r\n\r\n", 400, NULL},
    {"length and chunked", POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     NULL},
    {"chunked and length", POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400,
     NULL},
    {"gzip", POST "Transfer-Encoding: gzip\r\n\r\n", 400, NULL},
    {"gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400, NULL},
    {"chunked, identity", POST "Transfer-Encoding: chunked, identity\r\n\r\n", 400, NULL},
    {"identity", POST "Transfer-Encoding: identity\r\n\r\n", 400, NULL},
    {"chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     NULL},
    {"xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n", 400, NULL},
    {"quoted chunked", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 400, NULL},
    {"empty encoding", POST "Transfer-Encoding:\r\n\r\n", 400, NULL},
    {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, NULL},
    {"no chunk size", CHUNKED "\r\nabc", 400, NULL},
    {"letter in a chunk size", CHUNKED "3g\r\nabc", 400, NULL},
    {"0x in a chunk size", CHUNKED "0x3\r\nabc", 400, NULL},
    {"sign in a chunk size", CHUNKED "+3\r\nabc", 400, NULL},
    {"blank before a chunk size", CHUNKED " 3\r\nabc", 400, NULL},
    {"blank after a chunk size", CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 400, NULL},
    {"huge chunk size", CHUNKED "1000000000000000\r\n", 400, NULL},
    {"bare LF after a chunk size", CHUNKED "3\nabc\r\n0\r\n\r\n", 400, NULL},
    {"bare LF in an extension", CHUNKED "3;a\nabc\r\n0\r\n\r\n", 400, NULL},
    {"bare CR in an extension", CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n", 400, NULL},
    {"chunk longer than its size", CHUNKED "3\r\nabcd\r\n0\r\n\r\n", 400, NULL},
    {"bare LF after a chunk", CHUNKED "3\r\nabc\n0\r\n\r\n", 400, NULL},
    {"bare LF as the last line", CHUNKED "0\r\n\n", 400, NULL},
    {"folded trailer", CHUNKED "0\r\n a: b\r\n\r\n", 400, NULL},
    {"trailer without colon", CHUNKED "0\r\nab\r\n\r\n", 400, NULL},
    {"control byte in a trailer", CHUNKED "0\r\na: \x01\r\n\r\n", 400, NULL},
};

static const struct h1_case response_cases[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 0,
     "200|1.1|content-length=2|keep\nab"},
    {"no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", 0,
     "200|1.1|content-length=0|keep\n"},
    {"no reason and no space", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 0,
     "200|1.1|content-length=0|keep\n"},
    {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 0,
     "200|1.1|transfer-encoding=chunked|keep\na"},
    {"204 has no body", "HTTP/1.1 204 No Content\r\n\r\n", 0, "204|1.1|keep\n"},
    {"304 has none either", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", 0,
     "304|1.1|content-length=5|keep\n"},
    {"100", "HTTP/1.1 100 Continue\r\n\r\n", 0, "100|1.1|keep\n"},
    {"four digits", "HTTP/1.1 2000 OK\r\n\r\n", 400, NULL},
    {"two digits", "HTTP/1.1 20 OK\r\n\r\n", 400, NULL},
    {"status 0", "HTTP/1.1 000 OK\r\n\r\n", 400, NULL},
    {"status 600", "HTTP/1.1 600 OK\r\n\r\n", 400, NULL},
    {"sign", "HTTP/1.1 +20 OK\r\n\r\n", 400, NULL},
    {"other protocol", "SSH-2.0-x\r\n\r\n", 400, NULL},
    {"empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", 400, NULL},
    {"length and chunked",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400, NULL},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400,
     NULL},
};

/* Feeds the input in pieces: [0, cut), then the rest; step > 0: pieces of that size. */
static void check_case(const struct h1_case *t, enum h1_role role, size_t cut, size_t step)
{
    struct h1_parser p;
    h1_init(&p, role, 4096, 8);
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(65536);
    str in = str_of(t->in), rest = STR_NONE;
    enum h1_event e = H1_MORE;
    for (size_t at = 0; at < in.len && e == H1_MORE;) {
        size_t to = step ? at + step : at < cut ? cut : in.len;
        /* The piece is copied, so that a slice kept too long is found by the sanitizer. */
        char *piece = str_dup(str_sub(in, at, to));
        e = run_pieces(&p, str_n(piece, MIN(to, in.len) - at), &log, &rest);
        free(piece);
        at = MIN(to, in.len);
    }
    bool ok;
    if (t->status)
        ok = CHECK_INT(e, H1_ERROR) && CHECK_INT(p.error_status, t->status) && CHECK(p.error);
    else
        ok =
            CHECK_INT(e, H1_END) && CHECK_CSTR(strbuf_str(&log), t->want) && CHECK_INT(rest.len, 0);
    if (!ok)
        test_note("case \"%s\", cut %zu, step %zu: %s", t->name, cut, step,
                  p.error ? p.error : "accepted");
    h1_done(&p);
}

static void check_table(const struct h1_case *t, size_t n, enum h1_role role)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(t[i].in);
        for (size_t cut = 1; cut <= len; cut++)
            check_case(&t[i], role, cut, 0);
        for (size_t step = 1; step <= 3; step++)
            check_case(&t[i], role, 0, step);
    }
}

TEST(requests_are_accepted_or_refused_however_they_are_cut)
{
    CHECK(ARRAY_LEN(request_cases) >= 60);
    check_table(request_cases, ARRAY_LEN(request_cases), H1_REQUEST);
}

TEST(responses_are_accepted_or_refused_however_they_are_cut)
{
    check_table(response_cases, ARRAY_LEN(response_cases), H1_RESPONSE);
}

TEST(a_message_ends_where_the_next_begins)
{
    struct h1_parser p;
    h1_init(&p, H1_REQUEST, 4096, 8);
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
    str rest = STR(POST "Content-Length: 1\r\n\r\nA" CHUNKED "1\r\nB\r\n0\r\n\r\n" GET "\r\n");
    for (int i = 0; i < 3; i++) {
        h1_next(&p);
        CHECK_INT(run_pieces(&p, rest, &log, &rest), H1_END);
    }
    CHECK_INT(rest.len, 0);
    CHECK_STR(strbuf_str(&log), STR("POST|/x||1.1|host=a|content-length=1|keep\nA" CHUNKED_LOG
                                    "B" GET_LOG "|keep\n"));
    h1_done(&p);
}

TEST(the_head_is_limited_in_bytes)
{
    struct h1_parser p;
    h1_init(&p, H1_REQUEST, 64, 8);
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
    str rest;
    /* Without a line end in sight, and one byte at a time. */
    enum h1_event e = H1_MORE;
    for (int i = 0; i < 65 && e == H1_MORE; i++)
        e = run_pieces(&p, STR("x"), &log, &rest);
    CHECK_INT(e, H1_ERROR);
    CHECK_INT(p.error_status, 431);
    h1_done(&p);
}

TEST(chunk_extensions_and_trailers_are_limited_in_bytes)
{
    for (int trailers = 0; trailers < 2; trailers++) {
        struct h1_parser p;
        h1_init(&p, H1_REQUEST, 256, 8);
        CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
        str rest;
        (void)run_pieces(&p, STR(CHUNKED), &log, &rest);
        enum h1_event e = run_pieces(&p, trailers ? STR("0\r\n") : STR("1;"), &log, &rest);
        for (int i = 0; i < 100 && e == H1_MORE; i++)
            e = run_pieces(&p, trailers ? STR("a: b\r\n") : STR("abcdef"), &log, &rest);
        CHECK_INT(e, H1_ERROR);
        CHECK_INT(p.error_status, 431);
        h1_done(&p);
    }
}

TEST(many_small_chunks_are_not_counted_together)
{
    struct h1_parser p;
    h1_init(&p, H1_REQUEST, 256, 8);
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
    str rest;
    CHECK_INT(run_pieces(&p, STR(CHUNKED), &log, &rest), H1_MORE);
    strbuf_reset(&log);
    for (int i = 0; i < 500; i++)
        CHECK_INT(run_pieces(&p, STR("1\r\na\r\n"), &log, &rest), H1_MORE);
    CHECK_INT(run_pieces(&p, STR("0\r\n\r\n"), &log, &rest), H1_END);
    CHECK_INT(log.len, 500);
    h1_done(&p);
}

TEST(a_nul_byte_is_refused_in_line_and_header)
{
    static const struct {
        const char *in;
        size_t len;
    } cases[] = {
#define C(lit) {lit, sizeof(lit) - 1}
        C("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        C(GET "a: b\0c\r\n\r\n"),
        C(GET "a\0b: c\r\n\r\n"),
#undef C
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h1_parser p;
        h1_init(&p, H1_REQUEST, 4096, 8);
        CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
        str rest;
        CHECK_INT(run_pieces(&p, str_n(cases[i].in, cases[i].len), &log, &rest), H1_ERROR);
        h1_done(&p);
    }
}

TEST(a_reply_without_length_ends_with_the_connection)
{
    struct h1_parser p;
    h1_init(&p, H1_RESPONSE, 4096, 8);
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
    str rest;
    CHECK_INT(run_pieces(&p, STR("HTTP/1.1 200 OK\r\n\r\nabc"), &log, &rest), H1_MORE);
    CHECK_INT(run_pieces(&p, STR("def"), &log, &rest), H1_MORE);
    CHECK_INT(h1_finish(&p), H1_END);
    CHECK(!p.keep_alive);
    CHECK_STR(strbuf_str(&log), STR("200|1.1|close\nabcdef"));
    h1_done(&p);
}

TEST(a_connection_that_ends_too_early_is_an_error)
{
    static const char *const cases[] = {
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h1_parser p;
        h1_init(&p, H1_RESPONSE, 4096, 8);
        CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
        str rest;
        CHECK_INT(run_pieces(&p, str_of(cases[i]), &log, &rest), H1_MORE);
        CHECK_INT(h1_finish(&p), H1_ERROR);
        h1_done(&p);
    }
}

TEST(the_reply_to_a_head_request_has_no_body)
{
    struct h1_parser p;
    h1_init(&p, H1_RESPONSE, 4096, 8);
    p.to_head = true;
    CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT(4096);
    str rest;
    CHECK_INT(run_pieces(&p, STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), &log, &rest),
              H1_END);
    h1_done(&p);
}

TEST(written_headers_cannot_break_the_framing)
{
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT(4096);
    h1_put_header(&b, STR("warning"), STR("299 - \"a\r\nSet-Cookie: x\""));
    h1_put_header(&b, STR("bad name"), STR("x"));
    h1_put_header(&b, STR("content-length"), STR("7"));
    h1_put_header(&b, STR("Transfer-Encoding"), STR("chunked"));
    CHECK_STR(strbuf_str(&b), STR("warning: 299 - \"a  Set-Cookie: x\"\r\n"));
}

TEST(a_chunk_head_is_the_length_in_hexadecimal)
{
    char head[H1_CHUNK_HEAD];
    CHECK_STR(str_n(head, h1_format_chunk(head, 0x1a2b)), STR("1a2b\r\n"));
    CHECK_STR(str_n(head, h1_format_chunk(head, (uint64_t)1 << 60)), STR("1000000000000000\r\n"));
}

/* ---- the helpers every version shares ---- */

TEST(percent_decoding)
{
    CLEANUP(arena_done) struct arena a = ARENA_INIT;
    str s;
    CHECK(http_unescape(STR("a%2Fb%20c+d"), false, &a, &s));
    CHECK_STR(s, STR("a/b c+d"));
    CHECK(http_unescape(STR("a+b%41"), true, &a, &s));
    CHECK_STR(s, STR("a bA"));
    CHECK(!http_unescape(STR("a%2"), false, &a, &s));
    CHECK(!http_unescape(STR("%"), false, &a, &s));
    CHECK(!http_unescape(STR("%zz"), false, &a, &s));
}

TEST(query_parameters)
{
    CLEANUP(arena_done) struct arena a = ARENA_INIT;
    str q = STR("watch&labelSelector=a%3Db%2Cc&x=&watch=2&bad=%"), s;
    CHECK(http_query_get(&a, q, STR("labelSelector"), &s));
    CHECK_STR(s, STR("a=b,c"));
    CHECK(http_query_get(&a, q, STR("watch"), &s));
    CHECK_STR(s, STR(""));
    CHECK(http_query_get(&a, q, STR("x"), &s));
    CHECK_STR(s, STR(""));
    CHECK(!http_query_get(&a, q, STR("y"), &s));
    CHECK(!http_query_get(&a, q, STR("bad"), &s));
    CHECK(!http_query_get(&a, STR_NONE, STR("y"), &s));
}
