/* Watches of api_remote: events however they are cut, and every way in which one ends. */
#include "client/test-server.h"

struct seen {
    struct sr *rig;
    struct api_watch watch;
    struct strbuf log; /* "ADDED a 7\n" */
    unsigned ended;
    int why; /* code; 0: clean */
    unsigned stop_after;
    unsigned events;
};

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct seen *s = w->ctx;
    strbuf_printf(&s->log, "%s %.*s %llu%s\n", names[type], STR_ARG(o ? o->name : STR("-")),
                  (unsigned long long)rv, initial_end ? " end" : "");
    s->events++;
    if (s->events == s->stop_after) {
        api_watch_stop(s->rig->api, w);
        loop_stop(s->rig->loop, 0);
    }
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct seen *s = w->ctx;
    s->ended++;
    s->why = why ? why->code : 0;
    loop_stop(s->rig->loop, 0);
}

static void watch(struct sr *r, struct seen *s)
{
    *s = (struct seen){.rig = r, .log = STRBUF_INIT(1 << 20)};
    s->watch = (struct api_watch){.kind = CM,
                                  .send_initial = true,
                                  .bookmarks = true,
                                  .on_event = on_event,
                                  .on_end = on_end,
                                  .ctx = s};
    api_watch(r->api, &s->watch);
    for (int i = 0; i < 1000 && !r->stream && !s->ended; i++)
        sr_run(r, 2 * USEC_PER_MSEC);
}

/* Cut into pieces of this size, each its own write. */
static void stream_text(struct sr *r, const char *text, size_t piece)
{
    str rest = str_of(text);
    while (rest.len && r->stream) {
        struct http_slice s = sr_slice(str_sub(rest, 0, piece));
        rest = str_sub(rest, piece, rest.len);
        http_stream_write(r->stream, &s, 1);
        if (piece < 100)
            sr_run(r, 100);
    }
}

#define EVENT(type, name, rv)                                                                  \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" rv "\"}}}\n"
#define MARK(rv, more)                                                         \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{" \
    "\"resourceVersion\":\"" rv "\"" more "}}}\n"
#define INITIAL_END ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"

static const char events[] = EVENT("ADDED", "a", "3") MARK("5", INITIAL_END)
    EVENT("MODIFIED", "a", "6") "\n" EVENT("DELETED", "a", "7") MARK("8", "");
static const char events_seen[] =
    "ADDED a 3\nBOOKMARK - 5 end\nMODIFIED a 6\nDELETED a 7\nBOOKMARK - 8\n";

TEST(remote_watch_reads_events_however_they_are_cut)
{
    static const size_t pieces[] = {1, 7, 1000};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
        struct seen s;
        watch(&r, &s);
        CHECK_CSTR(strbuf_str(&r.log),
                   "GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true"
                   "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\n");
        stream_text(&r, events, pieces[i]);
        http_stream_end(r.stream);
        sr_run(&r, 5 * USEC_PER_SEC);
        CHECK_CSTR(strbuf_str(&s.log), events_seen);
        CHECK_INT(s.ended, 1);
        CHECK_INT(s.why, 0);
        strbuf_done(&s.log);
        sr_done(&r);
    }
}

static void check_watch_end(const char *text, int code, const char *log)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    stream_text(&r, text, 1000);
    sr_run(&r, 5 * USEC_PER_SEC);
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, code);
    CHECK_CSTR(strbuf_str(&s.log), log);
    strbuf_done(&s.log);
    sr_done(&r);
}

TEST(remote_watch_ends_where_an_event_would_be_missed)
{
    check_watch_end(EVENT("ADDED", "a", "3") "{\"type\":\"ERROR\",\"object\":" FAILURE(
                        410, "Expired") "}\n" EVENT("ADDED", "b", "4"),
                    410, "ADDED a 3\n");
    check_watch_end(EVENT("ADDED", "a", "3") "{\"type\":\n" EVENT("ADDED", "b", "4"), 502,
                    "ADDED a 3\n");
    check_watch_end("{\"type\":\"WHAT\",\"object\":{}}\n", 502, "");
    check_watch_end("{\"type\":\"ADDED\",\"object\":[]}\n", 502, "");
    check_watch_end("{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n", 502, "");
}

TEST(remote_watch_that_is_refused_says_why)
{
    RIG(r, PLAIN, {403, FAILURE(403, "Forbidden")}, {422, FAILURE(422, "Invalid")});
    struct seen s;
    watch(&r, &s);
    CHECK_INT(s.why, 403);
    strbuf_done(&s.log);
    watch(&r, &s);
    CHECK_INT(s.why, 422);
    strbuf_done(&s.log);
    sr_done(&r);
}

TEST(remote_watch_is_an_error_when_the_connection_breaks)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    stream_text(&r, EVENT("ADDED", "a", "3"), 1000);
    sr_run(&r, 100 * USEC_PER_MSEC);
    http_server_free(TAKE_PTR(r.server));
    sr_run(&r, 5 * USEC_PER_SEC);
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, 503);
    strbuf_done(&s.log);
    sr_done(&r);
}

TEST(remote_watch_may_be_stopped_in_its_own_event)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    s.stop_after = 2;
    stream_text(&r, events, 1000);
    sr_run(&r, 5 * USEC_PER_SEC);
    sr_run(&r, 50 * USEC_PER_MSEC);
    CHECK_CSTR(strbuf_str(&s.log), "ADDED a 3\nBOOKMARK - 5 end\n");
    CHECK_INT(s.ended, 0);
    strbuf_done(&s.log);
    sr_done(&r);
}

TEST(remote_watch_takes_large_events_and_refuses_endless_ones)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM});
    struct seen s;
    watch(&r, &s);
    struct strbuf b = STRBUF_INIT(32 << 20);
    strbuf_add_cstr(&b, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":"
                        "{\"name\":\"a\",\"resourceVersion\":\"3\"},\"data\":{\"x\":\"");
    while (b.len < (4 << 20))
        strbuf_add_cstr(&b, "0123456789abcdef");
    strbuf_add_cstr(&b, "\"}}}\n");
    stream_text(&r, b.p, b.len);
    for (int i = 0; i < 1000 && !s.events; i++)
        sr_run(&r, 5 * USEC_PER_MSEC);
    CHECK_CSTR(strbuf_str(&s.log), "ADDED a 3\n");
    memset(b.p, 'x', b.len);
    for (int i = 0; i < 8 && !s.ended; i++) {
        stream_text(&r, b.p, b.len);
        for (int k = 0; k < 400 && r.stream && http_stream_pending(r.stream); k++)
            sr_run(&r, 5 * USEC_PER_MSEC);
    }
    CHECK_INT(s.ended, 1);
    CHECK_INT(s.why, 502);
    strbuf_done(&b);
    strbuf_done(&s.log);
    sr_done(&r);
}

/* ---- the end ---- */

TEST(remote_free_answers_what_is_open_and_ends_watches_without_a_call)
{
    RIG(r, PLAIN, {200, NULL, NULL, NULL, STREAM}, {.action = SILENT});
    struct seen s;
    struct sr_got sent = {.rig = &r}, unsent = {.rig = &r};
    watch(&r, &s);
    struct api_request a = sr_create_cm(&r), b = sr_create_cm(&r);
    a.done = b.done = sr_on_done;
    a.ctx = &sent;
    b.ctx = &unsent;
    api_send(r.api, &a);
    sr_run(&r, 50 * USEC_PER_MSEC);
    api_send(r.api, &b);
    api_free(TAKE_PTR(r.api));
    CHECK_INT(sent.n, 1);
    CHECK_INT(sent.code, 0);
    CHECK(sent.unknown);
    CHECK_INT(unsent.n, 1);
    CHECK_INT(unsent.code, 0);
    CHECK_INT(s.ended, 0);
    strbuf_done(&s.log);
    sr_done(&r);
}
