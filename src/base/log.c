/*
 * A line is built in memory and leaves in one write(2), so lines of several threads never mix.
 * The settings are made once at start, before any thread exists.
 *
 * Text:  2026-11-15T21:35:02.123456Z INFO  store opened revision=12 dir=/var/lib/grove
 * JSON:  {"ts":"2026-...Z","level":"info","msg":"store opened","revision":12,"dir":"..."}
 */
#include "base/log.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/timefmt.h"

enum { LOG_LINE_MAX = 16384, LOG_VALUE_MAX = 4096 };

static int64_t clock_real(void *ctx)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / NSEC_PER_USEC;
}

static void sink_stderr(void *ctx, str line)
{
    while (line.len > 0) {
        ssize_t n = write(STDERR_FILENO, line.p, line.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nowhere left to complain */
        line = str_sub(line, (size_t)n, line.len);
    }
}

static struct {
    enum log_level level;
    enum log_format format;
    int64_t (*now)(void *ctx);
    void *now_ctx;
    void (*sink)(void *ctx, str line);
    void *sink_ctx;
} state = {.level = LOG_LEVEL_INFO, .now = clock_real, .sink = sink_stderr};

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

void log_set_level(enum log_level level)
{
    state.level = level;
}

void log_set_format(enum log_format format)
{
    state.format = format;
}

bool log_level_parse(str s, enum log_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (str_is(s, level_names[i])) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_set_clock(int64_t (*now_usec)(void *ctx), void *ctx)
{
    state.now = now_usec ? now_usec : clock_real;
    state.now_ctx = now_usec ? ctx : NULL;
}

void log_set_sink(void (*sink)(void *ctx, str line), void *ctx)
{
    state.sink = sink ? sink : sink_stderr;
    state.sink_ctx = sink ? ctx : NULL;
}

bool log_enabled(enum log_level level)
{
    return level >= state.level && level < LOG_LEVEL_OFF;
}

/* A JSON string; what is not UTF-8 is shown as \u00XX bytes, so a line is always valid JSON. */
static void add_quoted(struct strbuf *b, str s)
{
    bool utf8 = str_is_utf8(s);
    strbuf_add_char(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            strbuf_printf(b, "\\%c", c);
        else if (c == '\n')
            strbuf_add_cstr(b, "\\n");
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
            strbuf_printf(b, "\\u%04x", c);
        else
            strbuf_add_char(b, (char)c);
    }
    strbuf_add_char(b, '"');
}

/* Text values are bare words where that cannot be misread. */
static bool is_bare(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return s.len > 0;
}

static void add_value(struct strbuf *b, const struct log_field *f)
{
    switch (f->type) {
    case LOG_T_STR: {
        str s = str_sub(f->s, 0, LOG_VALUE_MAX);
        if (state.format == LOG_FORMAT_TEXT && is_bare(s))
            strbuf_add_str(b, s);
        else
            add_quoted(b, s);
        break;
    }
    case LOG_T_INT:
        strbuf_add_int(b, f->i);
        break;
    case LOG_T_UINT:
        strbuf_add_uint(b, f->u);
        break;
    case LOG_T_BOOL:
        strbuf_add_cstr(b, f->b ? "true" : "false");
        break;
    case LOG_T_END:
        break;
    }
}

static void add_text(struct strbuf *b, enum log_level level, str message)
{
    static const char *const names[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
    time_format_micro(state.now(state.now_ctx), b);
    strbuf_printf(b, " %s %.*s", names[level], STR_ARG(message));
}

static void add_json(struct strbuf *b, enum log_level level, str message)
{
    strbuf_add_cstr(b, "{\"ts\":\"");
    time_format_micro(state.now(state.now_ctx), b);
    strbuf_printf(b, "\",\"level\":\"%s\",\"msg\":", level_names[level]);
    add_quoted(b, message);
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    if (!log_enabled(level))
        return;
    bool json = state.format == LOG_FORMAT_JSON;
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(LOG_LINE_MAX);
    struct strbuf one CLEANUP(strbuf_done) = STRBUF_INIT(LOG_LINE_MAX);
    (json ? add_json : add_text)(&b, level, str_sub(str_of(message), 0, LOG_VALUE_MAX / 2));
    for (const struct log_field *f = fields; f && f->type != LOG_T_END; f++) {
        strbuf_reset(&one);
        strbuf_printf(&one, json ? ",\"%s\":" : " %s=", f->key);
        add_value(&one, f);
        /* A field that does not fit is left out whole; room is kept for the end of the line. */
        if (!one.overflow && b.len + one.len + 2 <= LOG_LINE_MAX)
            strbuf_add_str(&b, strbuf_str(&one));
    }
    strbuf_add_cstr(&b, json ? "}\n" : "\n");
    state.sink(state.sink_ctx, strbuf_str(&b));
}
