/* Quantities: the canonical texts of Kubernetes, exact arithmetic, the borders of the range. */
#include "base/quantity.h"
#include "base/test.h"

static struct quantity q_of(const char *text)
{
    struct quantity q = {0};
    struct err err = ERR_INIT;
    if (!CHECK(quantity_parse(str_of(text), &q, &err) == 0))
        test_note("\"%s\": %s", text, err.message);
    return q;
}

static str write_to(struct strbuf *b, const struct quantity *q)
{
    strbuf_reset(b);
    quantity_write(q, b);
    return strbuf_str(b);
}

TEST(quantity_canonical_text)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"0", "0"},
        {"0Gi", "0"},
        {"0e9", "0"},
        {"-0", "0"},
        {"1", "1"},
        {"+1", "1"},
        {"-1", "-1"},
        {"007", "7"},
        {"100m", "100m"},
        {"1000m", "1"},
        {"1500m", "1500m"},
        {"1.5", "1500m"},
        {"0.5", "500m"},
        {".5", "500m"},
        {"5.", "5"},
        {"5n", "5n"},
        {"1000n", "1u"},
        {"1000k", "1M"},
        {"1000M", "1G"},
        {"1E", "1E"},
        {"1000E", "1e21"},
        {"12345", "12345"},
        {"12000", "12k"},
        {"1200", "1200"},
        {"2Gi", "2Gi"},
        {"1024Mi", "1Gi"},
        {"12Mi", "12Mi"},
        {"0.5Gi", "512Mi"},
        {"1.5Gi", "1536Mi"},
        {"1Ki", "1Ki"},
        {"0.5Ki", "512"},
        {"1Ei", "1Ei"},
        {"1024Ei", "1024Ei"},
        {"1.5Ki", "1536"},
        {"1.953125Ki", "2000"},
        {"2000", "2k"},
        {"1e3", "1e3"},
        {"1E3", "1e3"},
        {"1e+3", "1e3"},
        {"1e-3", "1e-3"},
        {"1e4", "10e3"},
        {"1e0", "1"},
        {"1.5e3", "1500"},
        {"100e-9", "100e-9"},
        {"-2Gi", "-2Gi"},
        {"-1.5", "-1500m"},
        {".001Ki", "1024m"},
        {".000001Ki", "1024u"},
        {"1.001Ki", "1025024m"},
        {".000000001Ki", "1024n"},
        {".000000000001Ki", "2n"},
        {"0.0000000001", "1n"},
        {"-0.0000000001", "-1n"},
        {"1e-40", "1e-9"},
        {"0.00000000000000000000000000000000000000000001e45", "10"},
        {"100000000000000000000000000000000000000000000e-44", "1"},
    };
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(200);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = q_of(rows[i].in);
        if (!CHECK_CSTR(write_to(&b, &q), rows[i].out))
            test_note("from %s", rows[i].in);
    }
}

TEST(quantity_refuses_what_is_not_one)
{
    static const char *const bad[] = {
        "",
        "-",
        "+",
        ".",
        "m",
        "1 ",
        " 1",
        "1.2.3",
        "1K",
        "1ki",
        "1mi",
        "1MI",
        "1i",
        "1e",
        "1e+",
        "1e1.5",
        "1ee3",
        "1Gi1",
        "--1",
        "1_000",
        "0x1",
        "1,5",
        "NaN",
        "1Eii",
        "1e99999999999999999999",
        "1e30",
        "170141183460469231731687303716n1",
        "1e400",
        "999999999999999999999999999999",
        "340282366920938463463374607431768211456",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct quantity q;
        struct err err = ERR_INIT;
        if (!CHECK_INT(quantity_parse(str_of(bad[i]), &q, &err), ERR_INVALID))
            test_note("\"%s\"", bad[i]);
        CHECK(err.message[0] != '\0');
        CHECK(!quantity_is_valid(str_of(bad[i])));
    }
}

TEST(quantity_errors_read_as_those_of_kubernetes)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "quantities must match the regular expression "
             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"1 Gi", "quantities must match the regular expression "
                 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"1.2.3", "quantities must match the regular expression "
                  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"1GiB", "quantities must match the regular expression "
                 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"1K", "unable to parse quantity's suffix"},
        {"1Gi2", "unable to parse quantity's suffix"},
        {"1e", "unable to parse quantity's suffix"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q;
        struct err err = ERR_INIT;
        CHECK(quantity_parse(str_of(rows[i].text), &q, &err) < 0);
        CHECK_CSTR(str_of(err.message), rows[i].message);
    }
}

TEST(quantity_range_ends_where_128_bits_end)
{
    /* (2^127 - 1) nano, and one more. */
    CHECK(quantity_is_valid(STR("170141183460469231731687303715.884105727")));
    CHECK(quantity_is_valid(STR("170141183460469231731687303715884105727n")));
    CHECK(!quantity_is_valid(STR("170141183460469231731687303715.884105728")));
    CHECK(!quantity_is_valid(STR("170141183460469231731687303715.8841057271")));
    struct quantity max = q_of("170141183460469231731687303715884105727n"), one = q_of("1n");
    CHECK(!quantity_add(&max, &one));
    CHECK(quantity_sub(&max, &one) && quantity_add(&max, &one));
    struct quantity min = q_of("-170141183460469231731687303715884105727n");
    CHECK(!quantity_sub(&min, &one));
    CHECK(!quantity_mul(&min, 2) && quantity_mul(&min, -1));
    CHECK_INT(quantity_cmp(&min, &max), 0);
}

TEST(quantity_values_round_away_from_zero_and_saturate)
{
    static const struct {
        const char *text;
        int64_t value, milli;
    } rows[] = {
        {"0", 0, 0},
        {"1", 1, 1000},
        {"100m", 1, 100},
        {"1n", 1, 1},
        {"1.5", 2, 1500},
        {"-1.5", -2, -1500},
        {"-1n", -1, -1},
        {"2Gi", 2147483648, 2147483648000},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"9223372036854775808", INT64_MAX, INT64_MAX},
        {"-9223372036854775809", INT64_MIN, INT64_MIN},
        {"10E", INT64_MAX, INT64_MAX},
        {"1001u", 1, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct quantity q = q_of(rows[i].text);
        CHECK_INT(quantity_value(&q), rows[i].value);
        CHECK_INT(quantity_milli(&q), rows[i].milli);
    }
}

TEST(quantity_arithmetic_keeps_the_notation_of_the_left)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(200);
    struct quantity gi = q_of("1Gi"), k = q_of("24k"), zero = q_of("0"), cpu = q_of("250m");
    CHECK(quantity_add(&gi, &k));
    CHECK_CSTR(write_to(&b, &gi), "1073765824");
    CHECK(quantity_sub(&gi, &k));
    CHECK_CSTR(write_to(&b, &gi), "1Gi");
    CHECK(quantity_add(&zero, &gi));
    CHECK_CSTR(write_to(&b, &zero), "1Gi");
    CHECK(quantity_mul(&cpu, 4));
    CHECK_CSTR(write_to(&b, &cpu), "1");
    CHECK_INT(quantity_cmp(&cpu, &gi), -1);
    CHECK_INT(quantity_cmp(&gi, &cpu), 1);
    CHECK_INT(quantity_sign(&cpu), 1);
    CHECK(quantity_sub(&cpu, &cpu) && quantity_is_zero(&cpu));
    struct quantity v = quantity_from_value(1536, QUANTITY_BINARY_SI);
    CHECK_CSTR(write_to(&b, &v), "1536");
    v = quantity_from_milli(1500, QUANTITY_DECIMAL_SI);
    CHECK_CSTR(write_to(&b, &v), "1500m");
}

static struct quantity random_quantity(struct rng *r)
{
    __int128 nano = (__int128)((unsigned __int128)rng_u64(r) << 62 | rng_u64(r) >> 2);
    nano >>= rng_below(r, 126);
    if (rng_chance(r, 50)) /* whole units, often with factors of 1000 and 1024 */
        nano = nano / 1000000000 / 1024000 * (rng_chance(r, 50) ? 1000 : 1024) * 1000000000;
    return (struct quantity){rng_chance(r, 30) ? -nano : nano,
                             (enum quantity_format)rng_below(r, 3)};
}

TEST(quantity_canonical_text_reads_back_the_same)
{
    struct rng *r = test_rng();
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(200);
    struct strbuf again CLEANUP(strbuf_done) = STRBUF_INIT(200);
    for (size_t n = test_cases(20000); n > 0; n--) {
        struct quantity q = random_quantity(r), back;
        str text = write_to(&b, &q);
        if (!CHECK(quantity_parse(text, &back, NULL) == 0 && back.nano == q.nano)) {
            test_note("%.*s", STR_ARG(text));
            return;
        }
        /* Binary 2000 is written without a suffix, so the notation may change; the text not. */
        back.format = q.format;
        REQUIRE(str_eq(write_to(&again, &back), text));
    }
}

TEST(quantity_sum_and_order_agree_with_integers)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(20000); n > 0; n--) {
        struct quantity a = random_quantity(r), b = random_quantity(r), sum = a;
        a.nano /= 4;
        b.nano /= 4;
        sum.nano = a.nano;
        REQUIRE(quantity_add(&sum, &b));
        REQUIRE(sum.nano == a.nano + b.nano);
        REQUIRE((quantity_cmp(&a, &b) < 0) == (a.nano < b.nano));
        REQUIRE(quantity_cmp(&a, &b) == -quantity_cmp(&b, &a));
        REQUIRE(quantity_sub(&sum, &b) && quantity_cmp(&sum, &a) == 0);
    }
}
