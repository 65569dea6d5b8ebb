/* Instants, ages and durations as text. */
#include "base/test.h"
#include "base/timefmt.h"

static const char *as_text(void (*format)(int64_t, struct strbuf *), int64_t v)
{
    static char text[100];
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(sizeof(text) - 1);
    format(v, &b);
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(strbuf_str(&b)));
    return text;
}

TEST(time_formats_known_instants)
{
    static const struct {
        int64_t sec;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},
        {951782399, "2000-02-28T23:59:59Z"},
        {951782400, "2000-02-29T00:00:00Z"},
        {951868800, "2000-03-01T00:00:00Z"},
        {4107542400, "2100-03-01T00:00:00Z"}, /* 2100 is no leap year */
        {1000000000, "2001-09-09T01:46:40Z"},
        {1234567890, "2009-02-13T23:31:30Z"},
        {2147483647, "2038-01-19T03:14:07Z"},
        {-62135596800, "0001-01-01T00:00:00Z"},
        {253402300799, "9999-12-31T23:59:59Z"},
        {253402300800, "9999-12-31T23:59:59Z"}, /* clamped */
        {-62167219201, "0000-01-01T00:00:00Z"}, /* clamped */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        usec back = 1;
        CHECK_CSTR(str_of(as_text(time_format_rfc3339, rows[i].sec * USEC_PER_SEC)), rows[i].text);
        CHECK(time_parse_rfc3339(str_of(rows[i].text), &back));
        if (i < 11)
            CHECK_INT(back, rows[i].sec * USEC_PER_SEC);
    }
    CHECK_CSTR(str_of(as_text(time_format_rfc3339, -1)), "1969-12-31T23:59:59Z");
    CHECK_CSTR(str_of(as_text(time_format_micro, -1)), "1969-12-31T23:59:59.999999Z");
    CHECK_CSTR(str_of(as_text(time_format_micro, 1000000000000042)), "2001-09-09T01:46:40.000042Z");
}

TEST(time_parse_takes_fractions_and_offsets)
{
    static const struct {
        const char *text;
        usec want;
    } rows[] = {
        {"1970-01-01T00:00:00.5Z", 500000},
        {"1970-01-01T00:00:00.000001Z", 1},
        {"1970-01-01T00:00:00.123456789Z", 123456},
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T16:30:00-07:30", 0},
        {"1970-01-01T00:00:00+00:00", 0},
        {"1970-01-01T00:00:00-23:59", (23 * 60 + 59) * USEC_PER_MIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        usec got = -1;
        CHECK(time_parse_rfc3339(str_of(rows[i].text), &got));
        CHECK_INT(got, rows[i].want);
    }
}

TEST(time_parse_refuses_everything_else)
{
    static const char *const bad[] = {
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-01-01t00:00:00z",
        "1970-1-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-04-31T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00,5Z",
        "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+01:60",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+01",
        "-970-01-01T00:00:00Z",
        " 1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        usec got;
        if (!CHECK(!time_parse_rfc3339(str_of(bad[i]), &got)))
            test_note("%s", bad[i]);
    }
}

TEST(time_round_trip)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(20000); n > 0; n--) {
        usec t = (usec)rng_below(r, 315537897600000000u) - 62135596800000000;
        usec back = 0;
        const char *text = as_text(time_format_micro, t);
        REQUIRE(time_parse_rfc3339(str_of(text), &back));
        REQUIRE(back == t);
    }
}

TEST(age_prints_as_kubectl_does)
{
    static const struct {
        int64_t sec;
        const char *text;
    } rows[] = {
        {-2, "<invalid>"},
        {-1, "0s"},
        {0, "0s"},
        {5, "5s"},
        {99, "99s"},
        {119, "119s"},
        {120, "2m"},
        {127, "2m7s"},
        {599, "9m59s"},
        {600, "10m"},
        {659, "10m"},
        {3 * 3600 - 1, "179m"},
        {3 * 3600, "3h"},
        {3 * 3600 + 60, "3h1m"},
        {8 * 3600 - 1, "7h59m"},
        {8 * 3600, "8h"},
        {19 * 3600 + 1800, "19h"},
        {48 * 3600 - 1, "47h"},
        {48 * 3600, "2d"},
        {76 * 3600, "3d4h"},
        {8 * 86400 - 1, "7d23h"},
        {8 * 86400, "8d"},
        {730 * 86400 - 1, "729d"},
        {730 * 86400, "2y"},
        {731 * 86400, "2y1d"},
        {2919 * 86400, "7y364d"},
        {2920 * 86400, "8y"},
        {36500ll * 86400, "100y"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_CSTR(str_of(as_text(time_format_age, rows[i].sec * USEC_PER_SEC)), rows[i].text);
    CHECK_CSTR(str_of(as_text(time_format_age, -USEC_PER_SEC * 2 + 1)), "0s");
    CHECK_CSTR(str_of(as_text(time_format_age, 1999999)), "1s");
}

#define HOUR (3600 * NSEC_PER_SEC)
#define MINUTE (60 * NSEC_PER_SEC)

TEST(duration_parses_what_go_parses)
{
    static const struct {
        const char *text;
        int64_t nsec;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"0s", 0},
        {"4h", 4 * HOUR},
        {"1h30m", HOUR + 30 * MINUTE},
        {"1.5s", 1500000000},
        {".5s", 500000000},
        {"5.s", 5 * NSEC_PER_SEC},
        {"100ms", 100000000},
        {"-2m", -2 * MINUTE},
        {"+5s", 5 * NSEC_PER_SEC},
        {"1us", 1000},
        {"1\xc2\xb5s", 1000},
        {"1\xce\xbcs", 1000},
        {"1ns", 1},
        {"1m1m", 2 * MINUTE},
        {"39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14425000000},
        {"0.3333333333333333333h", 20 * MINUTE - 1},
        {"0.100000000000000000000h", 6 * MINUTE},
        {"9223372036854775807ns", INT64_MAX},
        {"-9223372036854775808ns", INT64_MIN},
        {"9223372036854.775807ms", INT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t got = -7;
        if (!CHECK(duration_parse(str_of(rows[i].text), &got)))
            test_note("%s", rows[i].text);
        if (!CHECK_INT(got, rows[i].nsec))
            test_note("%s", rows[i].text);
    }
}

TEST(duration_refuses_what_go_refuses)
{
    static const char *const bad[] = {"",
                                      "3",
                                      "-",
                                      "s",
                                      ".",
                                      "-.",
                                      ".s",
                                      "+.s",
                                      "1d",
                                      "1 s",
                                      " 1s",
                                      "1s ",
                                      "--1s",
                                      "1h-1m",
                                      "1e3s",
                                      "00",
                                      "9223372036854775808ns",
                                      "3000000h",
                                      "1S"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t got;
        if (!CHECK(!duration_parse(str_of(bad[i]), &got)))
            test_note("%s", bad[i]);
    }
}

TEST(duration_formats_as_go_does)
{
    static const struct {
        int64_t nsec;
        const char *text;
    } rows[] = {
        {0, "0s"},
        {1, "1ns"},
        {1100, "1.1\xc2\xb5s"},
        {2200000, "2.2ms"},
        {100000000, "100ms"},
        {1500000000, "1.5s"},
        {3300000000, "3.3s"},
        {4 * HOUR, "4h0m0s"},
        {MINUTE, "1m0s"},
        {4 * MINUTE + 5001000000, "4m5.001s"},
        {5 * HOUR + 6 * MINUTE + 7001000000, "5h6m7.001s"},
        {8 * MINUTE + 1, "8m0.000000001s"},
        {-2 * MINUTE, "-2m0s"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_CSTR(str_of(as_text(duration_format, rows[i].nsec)), rows[i].text);
    CHECK_CSTR(str_of(as_text(duration_format_usec, 1500)), "1.5ms");
    CHECK_CSTR(str_of(as_text(duration_format_usec, INT64_MAX)), "2562047h47m16.854775807s");
}

TEST(duration_round_trip)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(20000); n > 0; n--) {
        int64_t d = (int64_t)(rng_u64(r) >> rng_below(r, 64)), back = 0;
        d = rng_chance(r, 50) ? d : (int64_t)(0 - (uint64_t)d);
        REQUIRE(duration_parse(str_of(as_text(duration_format, d)), &back));
        REQUIRE(back == d);
    }
    usec u = 0;
    CHECK(duration_parse_usec(STR("1.5ms"), &u) && u == 1500);
}
