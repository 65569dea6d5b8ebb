/* The HTTP/1.1 parser: the same events and the same verdict whether the bytes come at once or in
 * pieces, in both roles, with small limits so that these are met too. The first byte chooses the
 * role and the size of the pieces. */
#include "fuzz.h"
#include "net/h1.h"

enum { MAX_HEAD = 512, MAX_HEADERS = 8 };

static void log_head(const struct h1_parser *p, struct strbuf *log)
{
    strbuf_printf(log, "%.*s %.*s %.*s %d %d %d", STR_ARG(p->method), STR_ARG(p->path),
                  STR_ARG(p->query), p->status, p->minor, p->keep_alive);
    BUG_ON(p->headers.len > MAX_HEADERS || p->head.len > MAX_HEAD);
    BUG_ON(p->chunked && p->has_length);
    for (size_t i = 0; i < p->headers.len; i++) {
        str value = p->headers.p[i].value;
        BUG_ON(!h1_is_token(p->headers.p[i].name));
        BUG_ON(value.len && (memchr(value.p, '\n', value.len) || memchr(value.p, '\r', value.len)));
        strbuf_printf(log, "|%.*s=%.*s", STR_ARG(p->headers.p[i].name), STR_ARG(value));
    }
}

/* Returns the last event; what was used up is added to *used. */
static enum h1_event feed(struct h1_parser *p, str in, struct strbuf *log, size_t *used)
{
    for (;;) {
        size_t before = in.len;
        str data = STR_NONE;
        enum h1_event e = h1_parse(p, &in, &data);
        BUG_ON(in.len > before);
        *used += before - in.len;
        if (e == H1_HEAD)
            log_head(p, log);
        if (e == H1_DATA) {
            BUG_ON(!data.len);
            strbuf_add_str(log, data);
        }
        if (e == H1_MORE)
            BUG_ON(in.len);
        if (e != H1_HEAD && e != H1_DATA)
            return e;
    }
}

/* One connection: messages until the input ends or one is bad. */
static void run(str in, enum h1_role role, size_t step, struct strbuf *log)
{
    struct h1_parser p;
    h1_init(&p, role, MAX_HEAD, MAX_HEADERS);
    size_t at = 0;
    enum h1_event e = H1_MORE;
    while (at < in.len && e != H1_ERROR) {
        size_t used = 0;
        e = feed(&p, str_sub(in, at, at + step), log, &used);
        at += used;
        if (e == H1_END) {
            strbuf_add_char(log, '\n');
            h1_next(&p);
        }
    }
    if (e != H1_ERROR)
        e = h1_finish(&p);
    strbuf_printf(log, "%d %d", e, p.error_status);
    h1_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16)
        return 0;
    enum h1_role role = data[0] & 1 ? H1_RESPONSE : H1_REQUEST;
    str in = str_n((const char *)data + 1, size - 1);
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT(1 << 22);
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT(1 << 22);
    run(in, role, SIZE_MAX / 2, &whole);
    run(in, role, 1 + (data[0] >> 1) % 16, &cut);
    BUG_ON(!str_eq(strbuf_str(&whole), strbuf_str(&cut)));
    return 0;
}
