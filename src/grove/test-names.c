/* The formulas of every generated name, by the worked example of the contract (a set "svc" with the
 * clique "fe" and the group "pf" of "pl" and "pw"), and what becomes of names that are too long. */
#include "base/test.h"
#include "grove/names.h"
#include "grove/types.h"

static const char suffix_alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

static str repeat(struct arena *a, char c, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memset(p, c, n);
    return str_n(p, n);
}

TEST(names_follow_the_worked_example)
{
    struct arena a = ARENA_INIT;
    str svc = STR("svc");
    CHECK_CSTR(name_base_gang(&a, svc, 0), "svc-0");
    CHECK_CSTR(name_service(&a, svc, 0), "svc-0");
    str pcsg = name_pcsg(&a, svc, 0, STR("pf"));
    CHECK_CSTR(pcsg, "svc-0-pf");
    CHECK_CSTR(name_pclq(&a, svc, 0, STR("fe")), "svc-0-fe");
    CHECK_CSTR(name_pclq(&a, svc, 12, STR("fe")), "svc-12-fe");
    CHECK_CSTR(name_member_pclq(&a, pcsg, 0, STR("pl")), "svc-0-pf-0-pl");
    CHECK_CSTR(name_member_pclq(&a, pcsg, 2, STR("pw")), "svc-0-pf-2-pw");
    /* minAvailable 1: replica 1 of the group is the first scaled gang. */
    CHECK_CSTR(name_scaled_gang(&a, pcsg, 1, 1), "svc-0-pf-0");
    CHECK_CSTR(name_scaled_gang(&a, pcsg, 2, 1), "svc-0-pf-1");
    CHECK_CSTR(name_scaled_gang(&a, STR("p-0-g"), 4, 2), "p-0-g-2");
    CHECK_CSTR(name_role(&a, svc), "grove.io:pcs:svc");
    CHECK_CSTR(name_initc_secret(&a, svc), "svc-ic-sat");
    CHECK_CSTR(name_hostname(&a, STR("svc-0-pf-2-pw"), 3), "svc-0-pf-2-pw-3");
    arena_done(&a);
}

TEST(a_pods_name_is_its_clique_and_five_safe_characters)
{
    struct arena a = ARENA_INIT;
    str pclq = STR("svc-0-pf-2-pw");
    str name = name_pod(&a, pclq, STR("u1"), 3, 0);
    CHECK_STR(str_sub(name, 0, pclq.len + 1), STR("svc-0-pf-2-pw-"));
    CHECK_INT(name.len, pclq.len + 6);
    for (size_t i = pclq.len + 1; i < name.len; i++)
        CHECK(strchr(suffix_alphabet, name.p[i]) != NULL);
    arena_done(&a);
}

TEST(a_pods_name_depends_on_uid_index_and_attempt_only)
{
    struct arena a = ARENA_INIT;
    str pclq = STR("svc-0-fe");
    str name = name_pod(&a, pclq, STR("u1"), 1, 0);
    CHECK_STR(name_pod(&a, pclq, STR("u1"), 1, 0), name);
    CHECK(!str_eq(name_pod(&a, pclq, STR("u2"), 1, 0), name));
    CHECK(!str_eq(name_pod(&a, pclq, STR("u1"), 2, 0), name));
    CHECK(!str_eq(name_pod(&a, pclq, STR("u1"), 1, 1), name));
    /* The parts are kept apart: index 1, attempt 11 is not index 11, attempt 1. */
    CHECK(!str_eq(name_pod(&a, pclq, STR("u1"), 1, 11), name_pod(&a, pclq, STR("u1"), 11, 1)));
    arena_done(&a);
}

static int cmp_str(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

#define UID "0d9c7f0e-5b7e-4f0a-9f5e-2a5a0c1d2e3f"

TEST(no_two_pods_of_a_cliques_life_have_the_same_name)
{
    struct arena a = ARENA_INIT;
    enum { PODS = 2000, TIMES = 12 };
    str *names = arena_array(&a, str, PODS * TIMES);
    for (int i = 0; i < PODS; i++) {
        for (unsigned n = 0; n < TIMES; n++)
            names[i * TIMES + (int)n] = name_pod(&a, STR("w"), STR(UID), i, n);
    }
    qsort(names, PODS * TIMES, sizeof(names[0]), cmp_str);
    size_t twins = 0;
    for (int i = 1; i < PODS * TIMES; i++)
        twins += str_eq(names[i - 1], names[i]);
    CHECK_INT(twins, 0);
    arena_done(&a);
}

TEST(a_pods_name_tells_how_many_had_its_index_before)
{
    struct arena a = ARENA_INIT;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        str uid = arena_printf(&a, "uid-%llu", (unsigned long long)seed);
        int64_t index = (int64_t)(seed * 7 % 1000);
        unsigned n = (unsigned)(seed * 13 % 4000), got = 0;
        str name = name_pod(&a, STR("w-0-a"), uid, index, n);
        CHECK(name_pod_number(name, uid, index, &got));
        CHECK_INT(got, n);
        CHECK(!name_pod_number(name, uid, index + 1, &got));
    }
    unsigned n;
    CHECK(!name_pod_number(STR("w-aeiou"), STR(UID), 0, &n));
    CHECK(!name_pod_number(STR("bcd"), STR(UID), 0, &n));
    CHECK(!name_pod_number(name_pod(&a, STR("w"), STR(UID), 3, 0), STR(UID), -1, &n));
    arena_done(&a);
}

/* ---- long names ---- */

static void check_fits(str got, size_t max, str whole)
{
    CHECK(got.len <= max);
    CHECK(str_is_label_value(got));
    CHECK(!str_eq(got, whole));
}

TEST(what_fits_is_not_touched)
{
    struct arena a = ARENA_INIT;
    str s63 = repeat(&a, 'a', 63);
    CHECK_STR(name_label(&a, s63), s63);
    CHECK_STR(name_fit(&a, STR("short"), 63), STR("short"));
    CHECK_STR(name_hostname(&a, repeat(&a, 'a', 61), 7),
              arena_printf(&a, "%.*s-7", STR_ARG(repeat(&a, 'a', 61))));
    arena_done(&a);
}

TEST(a_name_is_known_by_its_label)
{
    struct arena a = ARENA_INIT;
    str s63 = repeat(&a, 'a', 63), s64 = repeat(&a, 'a', 64), s90 = repeat(&a, 'a', 90);
    CHECK(name_has_label(STR("short"), STR("short")));
    CHECK(!name_has_label(STR("short"), STR("shorter")));
    CHECK(!name_has_label(STR("short"), STR_NONE));
    CHECK(name_has_label(s63, s63));
    CHECK(name_has_label(s90, name_label(&a, s90)));
    CHECK(name_has_label(s90, s90)); /* where a name stands for itself */
    CHECK(!name_has_label(s64, s63));
    CHECK(!name_has_label(s64, name_label(&a, s90)));
    arena_done(&a);
}

TEST(long_names_keep_the_clique_legible_at_the_end)
{
    struct arena a = ARENA_INIT;
    str pclq = name_pclq(&a, STR("distributed-training-of-a-very-large-language-model"), 0,
                         STR("training-parameter-server"));
    CHECK(pclq.len > 63);
    str label = name_label(&a, pclq);
    check_fits(label, 63, pclq);
    CHECK(str_ends(label, STR("training-parameter-server")));
    CHECK(str_starts(label, STR("distributed-training")));
    str host = name_hostname(&a, pclq, 11);
    check_fits(host, 63, pclq);
    CHECK(str_is_dns1123_label(host));
    CHECK(str_ends(host, STR("parameter-server-11")));
    str pod = name_pod(&a, pclq, STR("u"), 0, 0);
    CHECK(pod.len <= 63 && str_is_dns1123_label(pod));
    CHECK(str_find(pod, STR("parameter-server-")) > 0);
    arena_done(&a);
}

TEST(long_names_are_stable_and_distinct)
{
    struct arena a = ARENA_INIT;
    str base = repeat(&a, 'x', 70);
    /* They differ in the middle only, which is what is cut out. */
    str one = arena_printf(&a, "%.*s-1-%.*s", STR_ARG(base), STR_ARG(base));
    str two = arena_printf(&a, "%.*s-2-%.*s", STR_ARG(base), STR_ARG(base));
    CHECK_STR(name_label(&a, one), name_label(&a, arena_str(&a, one)));
    CHECK(!str_eq(name_label(&a, one), name_label(&a, two)));
    CHECK(!str_eq(name_hostname(&a, one, 0), name_hostname(&a, two, 0)));
    CHECK(!str_eq(name_hostname(&a, one, 0), name_hostname(&a, one, 1)));
    CHECK(!str_eq(name_service(&a, one, 0), name_service(&a, two, 0)));
    CHECK(!str_eq(name_service(&a, one, 0), name_service(&a, one, 1)));
    arena_done(&a);
}

TEST(object_names_stay_within_what_kubernetes_stores)
{
    struct arena a = ARENA_INIT;
    str pcs = repeat(&a, 'p', 253);
    CHECK_INT(name_base_gang(&a, pcs, 10).len, 253);
    str pcsg = name_pcsg(&a, pcs, 0, STR("prefill"));
    CHECK(pcsg.len <= 253 && str_is_dns1123_subdomain(pcsg));
    CHECK(str_ends(pcsg, STR("-prefill")));
    str pclq = name_member_pclq(&a, pcsg, 3, STR("worker"));
    CHECK(pclq.len <= 253 && str_ends(pclq, STR("-3-worker")));
    CHECK(!str_eq(name_scaled_gang(&a, pcsg, 1, 1), name_scaled_gang(&a, pcsg, 2, 1)));
    CHECK(name_initc_secret(&a, pcs).len <= 253);
    arena_done(&a);
}

/* Any name a user may choose gives valid labels, host names and Service names. */
TEST(random_names_come_out_valid)
{
    static const char letters[] = "abz09-.";
    struct rng *r = test_rng();
    for (size_t n = test_cases(2000); n > 0; n--) {
        struct arena a = ARENA_INIT;
        size_t len = 1 + rng_below(r, 250);
        char *p = arena_alloc(&a, len + 1);
        for (size_t i = 0; i < len; i++)
            p[i] = letters[rng_below(r, sizeof(letters) - 1)];
        str name = str_n(p, len);
        if (str_is_dns1123_subdomain(name)) {
            str label = name_label(&a, name);
            CHECK(label.len <= 63 && str_is_label_value(label));
            CHECK(str_is_dns1035_label(name_service(&a, name, (int64_t)rng_below(r, 2000))));
            CHECK(str_is_dns1123_label(name_hostname(&a, name, (int64_t)rng_below(r, 100000))));
            CHECK(str_is_dns1123_subdomain(name_pod(&a, name, STR("u"), 0, 0)));
            CHECK(str_is_dns1123_subdomain(name_pclq(&a, name, 0, STR("c"))));
        }
        arena_done(&a);
    }
}

TEST(dots_and_leading_digits_make_no_invalid_host_or_service)
{
    struct arena a = ARENA_INIT;
    str dotted = name_hostname(&a, STR("svc-0-v1.5"), 0);
    CHECK(str_is_dns1123_label(dotted));
    CHECK(str_ends(dotted, STR("-0")));
    CHECK(!str_eq(dotted, name_hostname(&a, STR("svc-0-v1-5"), 0)));
    str service = name_service(&a, STR("3d-model"), 0);
    CHECK(str_is_dns1035_label(service));
    CHECK(str_ends(service, STR("model-0")));
    CHECK(!str_eq(service, name_service(&a, STR("s-3d-model"), 0)));
    CHECK(!str_eq(name_service(&a, STR("a.b"), 0), name_service(&a, STR("a-b"), 0)));
    arena_done(&a);
}

/* ---- hashes ---- */

TEST(hashes_are_decimal_in_the_safe_alphabet)
{
    struct arena a = ARENA_INIT;
    CHECK_CSTR(hash_encode(&a, 1234567890), "56789bcdf4");
    CHECK_CSTR(hash_encode(&a, 0), "4");
    /* 18446744073709551615 */
    CHECK_CSTR(hash_encode(&a, UINT64_MAX), "5d88bc884c7c4f995b59");
    arena_done(&a);
}
