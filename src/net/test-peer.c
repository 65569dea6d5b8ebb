/* See test-peer.h. */
#include "net/test-peer.h"

static int32_t slot(int32_t id)
{
    return (id - 1) / 2;
}

struct peer_stream *peer_stream(struct peer *p, int32_t id)
{
    REQUIRE(id > 0 && slot(id) < PEER_STREAMS);
    return &p->streams[slot(id)];
}

/* ---- callbacks ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct peer *p = user;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        p->last_id = frame->hd.stream_id;
        p->n_open++;
        p->max_open = MAX(p->max_open, p->n_open);
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    struct peer *p = user;
    str n = str_n((const char *)name, name_len), v = str_n((const char *)value, value_len);
    uint64_t status;
    if (str_is(n, ":status") && str_to_uint(v, &status) && status >= 200)
        peer_stream(p, frame->hd.stream_id)->status = (int)status;
    if (str_is(n, ":method"))
        strbuf_printf(&p->requests, "%.*s ", STR_ARG(v));
    if (str_is(n, ":path"))
        strbuf_printf(&p->requests, "%.*s\n", STR_ARG(v));
    return 0;
}

static void end_of_request(struct peer *p, const nghttp2_frame *frame)
{
    if (p->on_request && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        p->on_request(p, frame->hd.stream_id);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct peer *p = user;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        p->n_headers++;
        /* fall through */
    case NGHTTP2_DATA:
        if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
            peer_stream(p, frame->hd.stream_id)->has_ended = true;
        end_of_request(p, frame);
        break;
    case NGHTTP2_PING:
        p->n_pings += !(frame->hd.flags & NGHTTP2_FLAG_ACK);
        break;
    case NGHTTP2_GOAWAY:
        p->has_goaway = true;
        p->goaway_code = frame->goaway.error_code;
        p->goaway_last = frame->goaway.last_stream_id;
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user)
{
    struct peer *p = user;
    peer_stream(p, id)->n_bytes += len;
    p->n_bytes += len;
    if (p->text.len < 4096)
        strbuf_add(&p->text, data, MIN(len, (size_t)4096));
    (void)nghttp2_session_consume_connection(session, len);
    if (p->is_greedy)
        (void)nghttp2_session_consume_stream(session, id, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct peer *p = user;
    p->n_closed++;
    p->n_open -= p->n_open > 0;
    peer_stream(p, id)->has_closed = true;
    peer_stream(p, id)->code = code;
    peer_stream(p, id)->n_before = p->n_bytes;
    return 0;
}

/* ---- session ---- */

static nghttp2_session *new_session(struct peer *p, bool is_server)
{
    nghttp2_session_callbacks *cb = NULL;
    nghttp2_option *o = NULL;
    nghttp2_session *session = NULL;
    REQUIRE(nghttp2_session_callbacks_new(&cb) == 0 && nghttp2_option_new(&o) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_peer_max_concurrent_streams(o, 10000);
    nghttp2_option_set_no_http_messaging(o, 1); /* rude requests too */
    if (is_server)
        REQUIRE(nghttp2_session_server_new2(&session, cb, p, o) == 0);
    else
        REQUIRE(nghttp2_session_client_new2(&session, cb, p, o) == 0);
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(o);
    return session;
}

static void init(struct peer *p)
{
    p->is_greedy = true;
    p->streams = xcalloc(PEER_STREAMS, sizeof(*p->streams));
    strbuf_init(&p->text, 1 << 20);
    strbuf_init(&p->requests, 1 << 20);
}

void peer_connect(struct peer *p, struct fx *f)
{
    *p = (struct peer){0};
    init(p);
    raw_open(&p->raw, f);
    p->session = new_session(p, false);
    REQUIRE(nghttp2_submit_settings(p->session, 0, NULL, 0) == 0);
}

void peer_serve(struct peer *p, struct fx *f, struct transport *t, uint32_t max_streams)
{
    *p = (struct peer){0};
    init(p);
    raw_adopt(&p->raw, f, t);
    p->session = new_session(p, true);
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams};
    REQUIRE(nghttp2_submit_settings(p->session, 0, &e, 1) == 0);
}

void peer_done(struct peer *p)
{
    nghttp2_session_del(p->session);
    raw_close(&p->raw);
    strbuf_done(&p->text);
    strbuf_done(&p->requests);
    free(p->streams);
}

void peer_pump(struct peer *p)
{
    if (p->raw.in.len) {
        if (!p->is_mute)
            CHECK(nghttp2_session_mem_recv(p->session, (uint8_t *)p->raw.in.p, p->raw.in.len) >= 0);
        strbuf_reset(&p->raw.in);
    }
    const uint8_t *data;
    for (ssize_t n; !p->is_mute && (n = nghttp2_session_mem_send(p->session, &data)) > 0;)
        raw_send(&p->raw, str_n((const char *)data, (size_t)n));
}

void peer_steps(struct peer *p, int n)
{
    for (; n > 0; n--) {
        peer_pump(p);
        fx_step(p->raw.f);
    }
    peer_pump(p);
}

/* ---- messages ---- */

static ssize_t never_ends(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
    return NGHTTP2_ERR_DEFERRED;
}

int32_t peer_request(struct peer *p, const char *method, const char *path, const nghttp2_nv *more,
                     size_t n_more, bool has_body)
{
    nghttp2_nv nv[16] = {
        PEER_NV(":method", ""),
        PEER_NV(":scheme", "https"),
        PEER_NV(":authority", "a"),
        PEER_NV(":path", ""),
    };
    nv[0].value = (uint8_t *)method;
    nv[0].valuelen = strlen(method);
    nv[3].value = (uint8_t *)path;
    nv[3].valuelen = strlen(path);
    REQUIRE(n_more <= ARRAY_LEN(nv) - 4);
    for (size_t i = 0; i < n_more; i++)
        nv[4 + i] = more[i];
    nghttp2_data_provider body = {.read_callback = never_ends};
    int32_t id =
        nghttp2_submit_request(p->session, NULL, nv, 4 + n_more, has_body ? &body : NULL, NULL);
    REQUIRE(id > 0);
    return id;
}

int32_t peer_get(struct peer *p, const char *path)
{
    return peer_request(p, "GET", path, NULL, 0, false);
}

void peer_reset(struct peer *p, int32_t id)
{
    CHECK_INT(nghttp2_submit_rst_stream(p->session, 0, id, NGHTTP2_CANCEL), 0);
}

void peer_widen(struct peer *p)
{
    nghttp2_settings_entry e = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 128 << 20};
    CHECK_INT(nghttp2_submit_settings(p->session, 0, &e, 1), 0);
    CHECK_INT(nghttp2_session_set_local_window_size(p->session, 0, 0, 128 << 20), 0);
    peer_steps(p, 2);
}

static ssize_t read_text(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    size_t left = strnlen(source->ptr, length + 1), n = MIN(left, length);
    memcpy(buf, source->ptr, n);
    source->ptr = (char *)source->ptr + n;
    if (left == n)
        *flags = NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

void peer_reply(struct peer *p, int32_t id, const char *text)
{
    nghttp2_nv nv = PEER_NV(":status", "200");
    nghttp2_data_provider body = {{.ptr = (void *)text}, read_text};
    CHECK_INT(nghttp2_submit_response(p->session, id, &nv, 1, &body), 0);
}
