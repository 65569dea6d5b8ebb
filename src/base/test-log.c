/* Log lines, byte for byte, with a fixed clock. */
#include "base/log.h"
#include "base/strbuf.h"
#include "base/test.h"

static int64_t fixed_clock(void *ctx)
{
    return 1763242502123456; /* 2025-11-15T21:35:02.123456Z */
}

static void to_strbuf(void *ctx, str line)
{
    strbuf_add_str(ctx, line);
}

static void capture(struct strbuf *b, enum log_format format)
{
    log_set_clock(fixed_clock, NULL);
    log_set_sink(to_strbuf, b);
    log_set_format(format);
}

static void restore(void)
{
    log_set_clock(NULL, NULL);
    log_set_sink(NULL, NULL);
    log_set_format(LOG_FORMAT_TEXT);
    log_set_level(LOG_LEVEL_INFO);
}

TEST(log_text_lines)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    capture(&b, LOG_FORMAT_TEXT);
    log_info("store opened", LOG_U("revision", 12), LOG_C("dir", "/var/lib/grove"));
    log_warn("odd", LOG_S("why", STR("two words \"q\"\n")), LOG_I("n", -1), LOG_B("ok", true));
    log_error("bare");
    restore();
    CHECK_CSTR(strbuf_str(&b),
               "2025-11-15T21:35:02.123456Z INFO  store opened revision=12 dir=/var/lib/grove\n"
               "2025-11-15T21:35:02.123456Z WARN  odd why=\"two words \\\"q\\\"\\n\" n=-1 ok=true\n"
               "2025-11-15T21:35:02.123456Z ERROR bare\n");
}

TEST(log_json_lines)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    capture(&b, LOG_FORMAT_JSON);
    log_info("say \"hi\"", LOG_S("bad", STR("a\xff\x01")), LOG_S("good", STR("\xe2\x82\xac")),
             LOG_U("u", UINT64_MAX), LOG_B("b", false), LOG_S("none", STR_NONE));
    restore();
    CHECK_CSTR(
        strbuf_str(&b),
        "{\"ts\":\"2025-11-15T21:35:02.123456Z\",\"level\":\"info\",\"msg\":\"say \\\"hi\\\"\","
        "\"bad\":\"a\\u00ff\\u0001\",\"good\":\"\xe2\x82\xac\","
        "\"u\":18446744073709551615,\"b\":false,\"none\":\"\"}\n");
}

TEST(log_levels_filter)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    enum log_level level;
    capture(&b, LOG_FORMAT_TEXT);
    log_debug("hidden");
    CHECK_INT(b.len, 0);
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("shown");
    CHECK(b.len > 0);
    strbuf_reset(&b);
    log_set_level(LOG_LEVEL_OFF);
    log_error("hidden");
    CHECK_INT(b.len, 0);
    restore();
    CHECK(log_level_parse(STR("warn"), &level) && level == LOG_LEVEL_WARN);
    CHECK(!log_level_parse(STR("WARNING"), &level));
}

TEST(log_lines_are_bounded_and_stay_whole)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    static char big[50000];
    memset(big, 'x', sizeof(big) - 1);
    capture(&b, LOG_FORMAT_JSON);
    log_info("m", LOG_C("a", big), LOG_C("b", big), LOG_C("c", big), LOG_C("d", big),
             LOG_C("e", big), LOG_I("last", 1));
    restore();
    CHECK(b.len <= 16384);
    CHECK(str_ends(strbuf_str(&b), STR(",\"last\":1}\n")));
}
