/*
 * What is the same for every version of HTTP: look-ups in a request, percent-decoding, status
 * texts, the default limits, and the handler's verbs, which check the order of calls and hand the
 * reply to the protocol that carries the exchange.
 */
#include "net/http.h"
#include "net/exchange.h"
#include "net/gzip.h"

const struct http_limits http_default_limits = {
    .max_body = 3u << 20,
    .max_header_bytes = 64u << 10,
    .max_headers = 100,
    .max_connections = 10000,
    .max_streams = 2000,
    .max_pending = 16u << 20,
    .low_water = 64u << 10,
    .idle_timeout = 120 * USEC_PER_SEC,
    .header_timeout = 10 * USEC_PER_SEC,
    .max_held = 1u << 30,
};

/* ---- requests ---- */

str http_header_find(const struct http_header *headers, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(headers[i].name, name))
            return headers[i].value;
    return STR_NONE;
}

str http_header_get(const struct http_exchange *x, str name)
{
    return http_header_find(x->headers, x->n_headers, name);
}

int http_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool http_unescape(str s, bool plus_is_space, struct arena *a, str *ret)
{
    char *out = arena_alloc(a, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (c == '%') {
            int high = i + 2 < s.len ? http_hex_digit(s.p[i + 1]) : -1;
            int low = i + 2 < s.len ? http_hex_digit(s.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        out[n++] = c;
    }
    *ret = str_n(out, n);
    return true;
}

bool http_query_get(struct arena *a, str query, str name, str *ret)
{
    while (query.p) {
        str value = str_cut(&query, '&');
        str key = str_cut(&value, '=');
        str decoded;
        if (!http_unescape(key, true, a, &decoded) || !str_eq(decoded, name))
            continue;
        return http_unescape(value, true, a, ret);
    }
    return false;
}

static const struct {
    int status;
    const char *text;
} status_texts[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Request Entity Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

const char *http_status_text(int status)
{
    for (size_t i = 0; i < ARRAY_LEN(status_texts); i++)
        if (status_texts[i].status == status)
            return status_texts[i].text;
    return "Unknown";
}

/* ---- replies ---- */

static struct exchange *exchange_of(struct http_exchange *x)
{
    return container_of(x, struct exchange, x);
}

void http_slice_drop(const struct http_slice *slice)
{
    if (slice->owner && slice->drop)
        slice->drop(slice->owner);
}

static void drop_all(const struct http_slice *slices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        http_slice_drop(&slices[i]);
}

/* Of a length that is not known before the end. */
static void reply_compressed(struct exchange *e, int status, const struct http_header *headers,
                             size_t n_headers, const struct http_slice *slices, size_t n_slices)
{
    VEC(struct http_header) h = {0};
    vec_reserve(&h, n_headers + 2);
    for (size_t i = 0; i < n_headers; i++)
        *vec_push(&h) = headers[i];
    *vec_push(&h) = (struct http_header){STR("content-encoding"), STR("gzip")};
    *vec_push(&h) = (struct http_header){STR("vary"), STR("Accept-Encoding")};
    e->phase = EXCHANGE_ENDED;
    e->ops->head(e, status, h.p, h.len, NULL);
    vec_done(&h);
    gzip_start(e, slices, n_slices);
}

void exchange_close(struct exchange *e, bool aborted)
{
    gzip_cancel(e);
    e->is_dead = true;
    e->x.aborted = aborted;
    if (e->x.on_close)
        e->x.on_close(&e->x);
}

void exchange_drained(struct exchange *e)
{
    if (e->is_dead)
        return;
    if (e->gzip)
        gzip_resume(e);
    else if (e->phase == EXCHANGE_STREAM && e->x.on_drain)
        e->x.on_drain(&e->x);
}

void http_reply_slices(struct http_exchange *x, int status, const struct http_header *headers,
                       size_t n_headers, const struct http_slice *slices, size_t n_slices)
{
    struct exchange *e = exchange_of(x);
    BUG_ON(e->phase != EXCHANGE_OPEN);
    if (e->is_dead) {
        drop_all(slices, n_slices);
        return;
    }
    uint64_t length = 0;
    for (size_t i = 0; i < n_slices; i++)
        length += slices[i].data.len;
    if (gzip_suits(e, headers, n_headers, length)) {
        reply_compressed(e, status, headers, n_headers, slices, n_slices);
        return;
    }
    e->ops->head(e, status, headers, n_headers, &length);
    e->phase = EXCHANGE_ENDED;
    e->ops->data(e, slices, n_slices);
    e->ops->end(e);
}

void http_reply(struct http_exchange *x, int status, const struct http_header *headers, size_t n,
                struct http_slice body)
{
    http_reply_slices(x, status, headers, n, &body, 1);
}

void http_stream_begin(struct http_exchange *x, int status, const struct http_header *headers,
                       size_t n)
{
    struct exchange *e = exchange_of(x);
    BUG_ON(e->phase != EXCHANGE_OPEN);
    e->phase = EXCHANGE_STREAM;
    if (!e->is_dead)
        e->ops->head(e, status, headers, n, NULL);
}

void http_stream_write(struct http_exchange *x, const struct http_slice *slices, size_t n)
{
    struct exchange *e = exchange_of(x);
    BUG_ON(e->phase != EXCHANGE_STREAM);
    if (e->is_dead)
        drop_all(slices, n);
    else
        e->ops->data(e, slices, n);
}

void http_stream_end(struct http_exchange *x)
{
    struct exchange *e = exchange_of(x);
    BUG_ON(e->phase != EXCHANGE_STREAM);
    e->phase = EXCHANGE_ENDED;
    if (!e->is_dead)
        e->ops->end(e);
}

bool http_can_upgrade(const struct http_exchange *x)
{
    const struct exchange *e = container_of(x, const struct exchange, x);
    return e->ops->can_upgrade && e->ops->can_upgrade(e);
}

void http_upgrade(struct http_exchange *x, const struct http_header *headers, size_t n)
{
    struct exchange *e = exchange_of(x);
    BUG_ON(e->phase != EXCHANGE_OPEN || !x->on_input || !x->on_input_end);
    e->phase = EXCHANGE_STREAM;
    if (!e->is_dead)
        e->ops->upgrade(e, headers, n);
}

void http_hold_input(struct http_exchange *x, bool on)
{
    struct exchange *e = exchange_of(x);
    if (!e->is_dead)
        e->ops->hold_input(e, on);
}

void http_drop_headers(struct http_exchange *x)
{
    struct exchange *e = exchange_of(x);
    if (e->ops->drop_headers)
        e->ops->drop_headers(e);
}

void http_pause(struct http_exchange *x, usec how_long)
{
    struct exchange *e = exchange_of(x);
    e->ops->pause(e, how_long);
}

void http_hang_up(struct http_exchange *x)
{
    struct exchange *e = exchange_of(x);
    e->ops->hang_up(e);
}

void http_abort(struct http_exchange *x)
{
    struct exchange *e = exchange_of(x);
    if (!e->is_dead)
        e->ops->abort(e);
}

size_t http_stream_pending(const struct http_exchange *x)
{
    const struct exchange *e = container_of(x, const struct exchange, x);
    return e->ops->pending(e);
}
