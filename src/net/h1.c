/*
 * The HTTP/1.1 parser and the few pieces of text that writing needs.
 *
 * The head is collected line by line until the empty line and then parsed in one pass over stable
 * memory, so a header costs no allocation of its own. Chunk framing and trailers are a byte machine
 * that keeps nothing: trailers are checked and dropped. Character classes are one table.
 */
#include "net/h1.h"
#include "net/exchange.h"

enum {
    C_TOKEN = 1,  /* method and header names */
    C_VALUE = 2,  /* header values: visible, space, tab, bytes above 127 */
    C_TARGET = 4, /* request target: visible ASCII but '#' */
    C_HOST = 8,   /* host[:port] */
};

#define V (C_VALUE | C_TARGET)
#define T (C_TOKEN | C_VALUE | C_TARGET)
#define A (C_TOKEN | C_VALUE | C_TARGET | C_HOST)
static const unsigned char char_class[256] = {
    ['\t'] = C_VALUE,
    [' '] = C_VALUE,
    ['!'] = T,
    ['"'] = V,
    ['#'] = C_TOKEN | C_VALUE,
    ['$'] = T,
    ['%'] = A,
    ['&'] = T,
    ['\''] = T,
    ['('] = V,
    [')'] = V,
    ['*'] = T,
    ['+'] = T,
    [','] = V,
    ['-'] = A,
    ['.'] = A,
    ['/'] = V,
    ['0' ... '9'] = A,
    [':'] = V | C_HOST,
    [';' ... '@'] = V,
    ['A' ... 'Z'] = A,
    ['['] = V | C_HOST,
    ['\\'] = V,
    [']'] = V | C_HOST,
    ['^'] = T,
    ['_'] = A,
    ['`'] = T,
    ['a' ... 'z'] = A,
    ['{'] = V,
    ['|'] = T,
    ['}'] = V,
    ['~'] = A,
    [128 ... 255] = C_VALUE,
};
#undef V
#undef T
#undef A

static bool is_all(str s, unsigned class)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(char_class[(unsigned char)s.p[i]] & class))
            return false;
    return true;
}

bool h1_is_token(str s)
{
    return s.len && is_all(s, C_TOKEN);
}

bool h1_is_target(str s)
{
    return s.len && s.p[0] == '/' && is_all(s, C_TARGET);
}

static enum h1_event fail(struct h1_parser *p, int status, const char *why)
{
    p->step = H1_STEP_ERROR;
    p->error_status = status;
    p->error = why;
    return H1_ERROR;
}

static bool bad(struct h1_parser *p, const char *why)
{
    fail(p, 400, why);
    return false;
}

/* ---- life cycle ---- */

void h1_init(struct h1_parser *p, enum h1_role role, size_t max_header_bytes, size_t max_headers)
{
    *p = (struct h1_parser){.role = role, .max_headers = max_headers};
    strbuf_init(&p->head, max_header_bytes);
}

void h1_done(struct h1_parser *p)
{
    strbuf_done(&p->head);
    vec_done(&p->headers);
}

void h1_next(struct h1_parser *p)
{
    p->step = H1_STEP_HEAD;
    p->method = p->path = p->query = STR_NONE;
    p->status = p->minor = p->error_status = 0;
    p->keep_alive = p->chunked = p->has_length = p->to_head = p->blank = false;
    p->expect_continue = p->expect_other = false;
    p->length = p->left = 0;
    p->line = p->framing = 0;
    p->digits = 0;
    p->error = NULL;
    vec_clear(&p->headers);
    strbuf_reset(&p->head);
}

bool h1_is_fresh(const struct h1_parser *p)
{
    return p->step == H1_STEP_HEAD && p->head.len == 0 && !p->blank;
}

/* ---- start line ---- */

/* "HTTP/1.0" or "HTTP/1.1". */
static bool parse_version(struct h1_parser *p, str s)
{
    if (s.len != 8 || memcmp(s.p, "HTTP/1.", 7) != 0 || (s.p[7] != '0' && s.p[7] != '1'))
        return bad(p, "the version is not HTTP/1.0 or HTTP/1.1");
    p->minor = s.p[7] - '0';
    return true;
}

/* "http://host/path" is cut to its path; RFC 9112 3.2.2 obliges servers to take it. */
static bool cut_absolute_form(str *target)
{
    str t = *target;
    size_t skip = str_starts(t, STR("https://")) ? 8 : str_starts(t, STR("http://")) ? 7 : 0;
    if (!skip)
        return false;
    t = str_sub(t, skip, t.len);
    size_t host = 0;
    while (host < t.len && t.p[host] != '/' && t.p[host] != '?')
        host++;
    if (host == 0 || !is_all(str_sub(t, 0, host), C_HOST))
        return false;
    *target = str_sub(t, host, t.len);
    return true;
}

static bool parse_target(struct h1_parser *p, str target)
{
    if (!target.len || !is_all(target, C_TARGET))
        return bad(p, "the request target has invalid characters");
    bool is_star = str_is(target, "*") && str_is(p->method, "OPTIONS");
    if (target.p[0] != '/' && !is_star && !cut_absolute_form(&target))
        return bad(p, "the request target is not a path");
    str rest = target;
    p->path = str_cut(&rest, '?');
    p->query = rest;
    if (!p->path.len)
        p->path = STR("/");
    return true;
}

static bool parse_request_line(struct h1_parser *p, str line)
{
    str rest = line;
    p->method = str_cut(&rest, ' ');
    str target = str_cut(&rest, ' ');
    if (!h1_is_token(p->method) || p->method.len > 32)
        return bad(p, "the method is not a token");
    return parse_version(p, rest) && parse_target(p, target);
}

static bool parse_status_line(struct h1_parser *p, str line)
{
    if (!parse_version(p, str_sub(line, 0, 8)))
        return false;
    str code = str_sub(line, 9, 12);
    int64_t status = 0;
    if (line.len < 12 || line.p[8] != ' ' || code.p[0] < '1' || code.p[0] > '5' ||
        !str_to_int(code, &status) || (line.len > 12 && line.p[12] != ' '))
        return bad(p, "the status line is malformed");
    if (!is_all(str_sub(line, 12, line.len), C_VALUE))
        return bad(p, "the status line has invalid characters");
    p->status = (int)status;
    return true;
}

/* ---- headers ---- */

static bool equals_ignoring_case(str a, const char *lower)
{
    size_t i = 0;
    for (; i < a.len && lower[i]; i++) {
        char c = a.p[i];
        if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower[i])
            return false;
    }
    return i == a.len && !lower[i];
}

static str trim_blanks(str s)
{
    while (s.len && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_n(s.p + 1, s.len - 1);
    while (s.len && (s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool header_content_length(struct h1_parser *p, str value)
{
    if (p->has_length)
        return bad(p, "Content-Length is repeated");
    for (size_t i = 0; i < value.len; i++)
        if (value.p[i] < '0' || value.p[i] > '9')
            return bad(p, "Content-Length is not a number");
    if (!str_to_uint(value, &p->length) || p->length > INT64_MAX)
        return bad(p, "Content-Length is not a number");
    p->has_length = true;
    return true;
}

static bool header_transfer_encoding(struct h1_parser *p, str value)
{
    if (p->chunked || !equals_ignoring_case(value, "chunked"))
        return bad(p, "Transfer-Encoding is not \"chunked\"");
    p->chunked = true;
    return true;
}

static bool header_connection(struct h1_parser *p, str value)
{
    for (str rest = value; rest.p;) {
        str token = trim_blanks(str_cut(&rest, ','));
        if (equals_ignoring_case(token, "close"))
            p->keep_alive = false;
    }
    return true;
}

static bool header_host(struct h1_parser *p, str value)
{
    if (p->role == H1_REQUEST && !is_all(value, C_HOST))
        return bad(p, "Host has invalid characters");
    return true;
}

static bool header_expect(struct h1_parser *p, str value)
{
    if (equals_ignoring_case(value, "100-continue"))
        p->expect_continue = true;
    else
        p->expect_other = true;
    return true;
}

/* Headers the framing depends on. */
static const struct {
    const char *name;
    bool (*take)(struct h1_parser *p, str value);
} framing_headers[] = {
    {"content-length", header_content_length},
    {"transfer-encoding", header_transfer_encoding},
    {"connection", header_connection},
    {"host", header_host},
    {"expect", header_expect},
};

/* The line is the parser's own copy, so the name is lowered in place. */
static bool parse_header(struct h1_parser *p, char *line, size_t len)
{
    if (line[0] == ' ' || line[0] == '\t')
        return bad(p, "a header line is folded");
    size_t n = 0;
    for (; n < len && line[n] != ':'; n++) {
        if (!(char_class[(unsigned char)line[n]] & C_TOKEN))
            return bad(p, "a header name has invalid characters");
        if (line[n] >= 'A' && line[n] <= 'Z')
            line[n] |= 0x20;
    }
    if (n == 0 || n == len)
        return bad(p, n ? "a header line has no colon" : "a header name is empty");
    str value = str_n(line + n + 1, len - n - 1);
    if (!is_all(value, C_VALUE))
        return bad(p, "a header value has invalid characters");
    struct http_header h = {str_n(line, n), trim_blanks(value)};
    *vec_push(&p->headers) = h;
    for (size_t i = 0; i < ARRAY_LEN(framing_headers); i++)
        if (str_is(h.name, framing_headers[i].name))
            return framing_headers[i].take(p, h.value);
    return true;
}

static size_t count_headers(const struct h1_parser *p, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < p->headers.len; i++)
        n += str_is(p->headers.p[i].name, name);
    return n;
}

/* ---- head ---- */

/* Where the body ends, RFC 9112 section 6.3. */
static void choose_body(struct h1_parser *p)
{
    bool is_bare = p->role == H1_RESPONSE &&
                   (p->to_head || p->status < 200 || p->status == 204 || p->status == 304);
    p->left = p->length;
    if (is_bare)
        p->step = H1_STEP_END;
    else if (p->chunked)
        p->step = H1_STEP_CHUNK_FIRST;
    else if (p->has_length)
        p->step = p->left ? H1_STEP_LENGTH : H1_STEP_END;
    else
        p->step = p->role == H1_REQUEST ? H1_STEP_END : H1_STEP_CLOSE;
    if (p->step == H1_STEP_CLOSE)
        p->keep_alive = false;
}

static enum h1_event parse_head(struct h1_parser *p)
{
    char *at = p->head.p;
    char *end = at + p->head.len - 2; /* without the empty line */
    char *eol = memchr(at, '\n', (size_t)(end - at));
    str first = str_n(at, (size_t)(eol - 1 - at));
    if (p->role == H1_REQUEST ? !parse_request_line(p, first) : !parse_status_line(p, first))
        return H1_ERROR;
    p->keep_alive = p->minor == 1;
    for (at = eol + 1; at < end; at = eol + 1) {
        eol = memchr(at, '\n', (size_t)(end - at));
        if (p->headers.len == p->max_headers)
            return fail(p, 431, "too many headers");
        if (!parse_header(p, at, (size_t)(eol - 1 - at)))
            return H1_ERROR;
    }
    if (p->chunked && (p->has_length || p->minor == 0))
        return fail(p, 400, "Transfer-Encoding with Content-Length or HTTP/1.0");
    size_t hosts = count_headers(p, "host");
    if (p->role == H1_REQUEST && (hosts > 1 || (hosts == 0 && p->minor == 1)))
        return fail(p, 400, "there must be exactly one Host header");
    choose_body(p);
    return H1_HEAD;
}

/* Appends one line (or what is there of it) to the head. */
static enum h1_event take_head(struct h1_parser *p, str *in)
{
    while (in->len) {
        const char *nl = memchr(in->p, '\n', in->len);
        size_t n = nl ? (size_t)(nl - in->p) + 1 : in->len;
        strbuf_add(&p->head, in->p, n);
        *in = str_n(in->p + n, in->len - n);
        if (p->head.overflow)
            return fail(p, 431, "the headers are too large");
        if (!nl)
            return H1_MORE;
        size_t len = p->head.len - p->line;
        if (len < 2 || p->head.p[p->head.len - 2] != '\r')
            return fail(p, 400, "a line does not end in CR LF");
        if (len > 2) {
            p->line = p->head.len;
        } else if (p->line) {
            return parse_head(p);
        } else if (p->blank || p->role == H1_RESPONSE) {
            return fail(p, 400, "the start line is empty");
        } else {
            p->blank = true;
            strbuf_reset(&p->head);
        }
    }
    return H1_MORE;
}

/* ---- chunks and trailers ---- */

static enum h1_step chunk_size_step(struct h1_parser *p, char c)
{
    int d = http_hex_digit(c);
    if (d >= 0) {
        if (++p->digits > 15) /* below 2^60; leading zeros count too */
            return H1_STEP_ERROR;
        p->left = p->left << 4 | (unsigned)d;
        return H1_STEP_CHUNK_SIZE;
    }
    if (!p->digits)
        return H1_STEP_ERROR;
    return c == '\r' ? H1_STEP_CHUNK_LF : c == ';' ? H1_STEP_CHUNK_EXT : H1_STEP_ERROR;
}

static enum h1_step trailer_step(struct h1_parser *p, char c)
{
    unsigned class = char_class[(unsigned char)c];
    switch (p->step) {
    case H1_STEP_TRAILER:
        return c == '\r' ? H1_STEP_LAST_LF : class & C_TOKEN ? H1_STEP_TRAILER_NAME : H1_STEP_ERROR;
    case H1_STEP_TRAILER_NAME:
        return c == ':'          ? H1_STEP_TRAILER_VALUE
               : class & C_TOKEN ? H1_STEP_TRAILER_NAME
                                 : H1_STEP_ERROR;
    case H1_STEP_TRAILER_VALUE:
        return c == '\r'         ? H1_STEP_TRAILER_LF
               : class & C_VALUE ? H1_STEP_TRAILER_VALUE
                                 : H1_STEP_ERROR;
    case H1_STEP_TRAILER_LF:
        return c == '\n' ? H1_STEP_TRAILER : H1_STEP_ERROR;
    default:
        return c == '\n' ? H1_STEP_END : H1_STEP_ERROR;
    }
}

/* The state after one byte of framing. */
static enum h1_step framing_step(struct h1_parser *p, char c)
{
    switch (p->step) {
    case H1_STEP_CHUNK_FIRST:
        p->left = p->digits = 0;
        p->framing = 0;
        return chunk_size_step(p, c);
    case H1_STEP_CHUNK_SIZE:
        return chunk_size_step(p, c);
    case H1_STEP_CHUNK_EXT:
        if (c == '\r')
            return H1_STEP_CHUNK_LF;
        return char_class[(unsigned char)c] & C_VALUE ? H1_STEP_CHUNK_EXT : H1_STEP_ERROR;
    case H1_STEP_CHUNK_LF:
        if (c != '\n')
            return H1_STEP_ERROR;
        return p->left ? H1_STEP_CHUNK_DATA : H1_STEP_TRAILER;
    case H1_STEP_CHUNK_DATA_CR:
        return c == '\r' ? H1_STEP_CHUNK_DATA_LF : H1_STEP_ERROR;
    case H1_STEP_CHUNK_DATA_LF:
        return c == '\n' ? H1_STEP_CHUNK_FIRST : H1_STEP_ERROR;
    default:
        return trailer_step(p, c);
    }
}

static enum h1_event take_framing(struct h1_parser *p, str *in)
{
    char c = *in->p;
    *in = str_n(in->p + 1, in->len - 1);
    p->step = framing_step(p, c);
    if (p->step == H1_STEP_ERROR)
        return fail(p, 400, "the chunked body is malformed");
    /* The extension of one chunk, or all trailers, may not be larger than a head. */
    if (++p->framing > p->head.max)
        return fail(p, 431, "the chunk framing is too large");
    return H1_MORE;
}

static enum h1_event take_data(struct h1_parser *p, str *in, str *ret_data)
{
    if (!in->len)
        return H1_MORE;
    size_t n = in->len;
    if (p->step != H1_STEP_CLOSE) {
        n = (size_t)MIN((uint64_t)n, p->left);
        p->left -= n;
    }
    *ret_data = str_n(in->p, n);
    *in = str_n(in->p + n, in->len - n);
    if (p->step == H1_STEP_LENGTH && !p->left)
        p->step = H1_STEP_END;
    if (p->step == H1_STEP_CHUNK_DATA && !p->left)
        p->step = H1_STEP_CHUNK_DATA_CR;
    return H1_DATA;
}

enum h1_event h1_parse(struct h1_parser *p, str *in, str *ret_data)
{
    for (;;) {
        enum h1_event e = H1_MORE;
        switch (p->step) {
        case H1_STEP_HEAD:
            return take_head(p, in);
        case H1_STEP_LENGTH:
        case H1_STEP_CLOSE:
        case H1_STEP_CHUNK_DATA:
            return take_data(p, in, ret_data);
        case H1_STEP_END:
            return H1_END;
        case H1_STEP_ERROR:
            return H1_ERROR;
        default:
            if (!in->len)
                return H1_MORE;
            e = take_framing(p, in);
            if (e != H1_MORE)
                return e;
        }
    }
}

enum h1_event h1_finish(struct h1_parser *p)
{
    if (p->step == H1_STEP_CLOSE)
        p->step = H1_STEP_END;
    if (p->step == H1_STEP_END)
        return H1_END;
    return p->step == H1_STEP_ERROR ? H1_ERROR
                                    : fail(p, 400, "the connection ended within a message");
}

/* ---- writing ---- */

bool h1_is_framing(str name)
{
    static const char *const names[] = {
        "content-length",  "transfer-encoding", "connection", "keep-alive",
        "upgrade",         "trailer",           "te",         "date",
        "proxy-connection"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (equals_ignoring_case(name, names[i]))
            return true;
    return false;
}

bool h1_is_value(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!(char_class[(unsigned char)s.p[i]] & C_VALUE))
            return false;
    return true;
}

void h1_clean_value(char *to, str value)
{
    for (size_t i = 0; i < value.len; i++)
        to[i] = char_class[(unsigned char)value.p[i]] & C_VALUE ? value.p[i] : ' ';
}

void h1_put_header(struct strbuf *b, str name, str value)
{
    size_t room = b->max - b->len;
    if (!h1_is_token(name) || h1_is_framing(name) || name.len > room || value.len > room ||
        name.len + value.len + H1_HEADER_EXTRA > room)
        return;
    strbuf_add_str(b, name);
    strbuf_add(b, ": ", 2);
    char *p = strbuf_reserve(b, value.len);
    if (p) {
        h1_clean_value(p, value);
        strbuf_commit(b, value.len);
    }
    strbuf_add(b, "\r\n", 2);
}

void h1_put_status(struct strbuf *b, int status)
{
    strbuf_add_cstr(b, "HTTP/1.1 ");
    strbuf_add_int(b, status);
    strbuf_add_char(b, ' ');
    strbuf_add_cstr(b, http_status_text(status));
    strbuf_add(b, "\r\n", 2);
}

size_t h1_format_chunk(char *p, uint64_t len)
{
    int n = snprintf(p, H1_CHUNK_HEAD, "%llx\r\n", (unsigned long long)len);
    return (size_t)n;
}
