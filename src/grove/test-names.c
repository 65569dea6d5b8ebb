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
    arena_done(&a);
}

TEST(a_pod_has_the_whole_name_of_its_clique)
{
    struct arena a = ARENA_INIT;
    str group = name_pcsg(&a, STR("distributed-training"), 0, STR("training-infrastructure"));
    str pclq = name_member_pclq(&a, group, 0, STR("parameter-server"));
    CHECK_CSTR(pclq, "distributed-training-0-training-infrastructure-0-parameter-server");
    str pod = name_pod(&a, pclq, STR(UID), 0, 0);
    CHECK_INT(pod.len, pclq.len + 6);
    CHECK_STR(str_sub(pod, 0, pclq.len), pclq);
    CHECK_INT(pod.p[pclq.len], '-');
    /* 154 and two separators, a namespace of 63 and a UID of 36 make a file name. */
    str longest = repeat(&a, 'a', 148);
    pod = name_pod(&a, longest, STR(UID), 0, 0);
    CHECK_INT(pod.len, 154);
    CHECK(str_starts(pod, longest));
    str longer = repeat(&a, 'a', 149);
    pod = name_pod(&a, longer, STR(UID), 0, 0);
    CHECK_INT(pod.len, 154);
    CHECK(!str_starts(pod, longer));
    arena_done(&a);
}

/* 0.1.0 kept pods' names to 63 characters. What they say of their index is in the suffix. */
TEST(a_pod_with_a_shortened_name_tells_its_number_too)
{
    struct arena a = ARENA_INIT;
    str pclq = STR("distributed-training-0-training-infrastructure-0-parameter-server");
    for (unsigned n = 0; n < 100; n++) {
        unsigned was = 1000, is = 1000;
        str now = name_pod(&a, pclq, STR(UID), 2, n);
        str suffix = str_sub(now, now.len - 6, now.len);
        str then = arena_cat(&a, name_fit(&a, pclq, 57), suffix);
        CHECK(then.len <= 63 && !str_eq(then, now));
        CHECK(name_pod_number(then, STR(UID), 2, &was) && name_pod_number(now, STR(UID), 2, &is));
        CHECK_INT(was, n);
        CHECK_INT(is, n);
    }
    arena_done(&a);
}

/* ---- every length ---- */

/* A name of this length that looks like one: words, and nothing that repeats. */
static str name_of_length(struct arena *a, size_t len, unsigned salt)
{
    char *p = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++)
        p[i] = i % 7 == 6 && i + 1 < len ? '-' : (char)('a' + (i * 5 + salt + i / 7) % 26);
    return str_n(p, len);
}

enum { SOME_NAMES = 64 };

struct named {
    str names[SOME_NAMES];
    size_t n;
};

static void add_named(struct named *all, str name)
{
    CHECK(all->n < SOME_NAMES);
    all->names[all->n++] = name;
}

static size_t twins_among(struct named *all)
{
    size_t twins = 0;
    qsort(all->names, all->n, sizeof(all->names[0]), cmp_str);
    for (size_t i = 1; i < all->n; i++)
        twins += str_eq(all->names[i - 1], all->names[i]);
    return twins;
}

/* What one set of two replicas, a group and three cliques makes: objects, the labels that name
 * them, host names. All are valid, and no two of a kind are the same. */
static void check_names_of(struct arena *a, str set, str group, str one, str two)
{
    struct named objects = {.n = 0}, labels = {.n = 0}, hosts = {.n = 0}, pods = {.n = 0};
    for (int64_t i = 0; i < 2; i++) {
        str pcsg = name_pcsg(a, set, i, group);
        add_named(&objects, pcsg);
        add_named(&objects, name_pclq(a, set, i, one));
        for (int64_t g = 0; g < 12; g += 11) {
            add_named(&objects, name_member_pclq(a, pcsg, g, one));
            add_named(&objects, name_member_pclq(a, pcsg, g, two));
        }
        CHECK(str_is_dns1035_label(name_service(a, set, i)));
    }
    for (size_t i = 0; i < objects.n; i++) {
        str name = objects.names[i];
        CHECK(name.len <= 253 && str_is_dns1123_subdomain(name));
        str label = name_label(a, name);
        CHECK(label.len <= 63 && str_is_label_value(label));
        CHECK(name_has_label(name, label));
        CHECK(name.len <= 63 ? str_eq(name, label) : name_may_be_shortened(label));
        add_named(&labels, label);
        for (int64_t p = 0; p < 11; p += 10) {
            str host = name_hostname(a, name, p), pod = name_pod(a, name, STR(UID), p, 0);
            CHECK(host.len <= 63 && str_is_dns1123_label(host));
            CHECK(pod.len <= 154 && str_is_dns1123_subdomain(pod));
            CHECK(name.len > 148 || str_starts(pod, name));
            add_named(&hosts, host);
            add_named(&pods, pod);
        }
    }
    CHECK_INT(twins_among(&objects), 0);
    CHECK_INT(twins_among(&labels), 0);
    CHECK_INT(twins_among(&hosts), 0);
    CHECK_INT(twins_among(&pods), 0);
}

TEST(names_of_every_length_are_valid_and_distinct)
{
    for (size_t len = 1; len <= 300; len++) {
        struct arena a = ARENA_INIT;
        str set = name_of_length(&a, MIN(len, 253), 0), own = name_of_length(&a, len, 9);
        check_names_of(&a, set, STR("group"), STR("one"), STR("two"));
        check_names_of(&a, STR("set"), own, STR("one"), STR("two"));
        check_names_of(&a, STR("set"), STR("group"), own, STR("two"));
        check_names_of(&a, set, own, arena_cat(&a, own, STR("1")), arena_cat(&a, own, STR("2")));
        arena_done(&a);
    }
}

TEST(what_is_in_full_is_in_full_up_to_253)
{
    for (size_t len = 1; len <= 260; len++) {
        struct arena a = ARENA_INIT;
        str set = name_of_length(&a, len, 3);
        str whole = arena_cat(&a, set, STR("-1-clique"));
        if (whole.len <= 253)
            CHECK_STR(name_pclq(&a, set, 1, STR("clique")), whole);
        else
            CHECK(name_pclq(&a, set, 1, STR("clique")).len <= 253);
        arena_done(&a);
    }
}

TEST(a_name_of_any_length_tells_its_number)
{
    static const int64_t numbers[] = {0, 1, 9, 10, 123, 4000};
    for (size_t len = 1; len <= 300; len++) {
        struct arena a = ARENA_INIT;
        str owner = name_of_length(&a, MIN(len, 253), 0), part = name_of_length(&a, len, 4);
        for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
            int64_t i = numbers[k];
            CHECK_INT(name_index(name_pcsg(&a, owner, i, STR("part")), owner, STR("part")), i);
            str hiding = name_pcsg(&a, STR("owner"), i, part);
            bool whole = len + arena_int(&a, i).len + 7 <= 253;
            CHECK_INT(name_index(hiding, STR("owner"), part), whole || i < 64 ? i : -1);
            CHECK_INT(name_index(name_base_gang(&a, owner, i), owner, STR_NONE), i);
            CHECK_INT(name_index(name_pcsg(&a, owner, i, STR("part")), owner, STR("other")), -1);
            CHECK_INT(name_index(name_pcsg(&a, owner, i, STR("part")), STR("owner"), STR("part")),
                      -1);
        }
        arena_done(&a);
    }
}

TEST(the_number_in_a_name_is_read_exactly)
{
    CHECK_INT(name_index(STR("svc-12-fe"), STR("svc"), STR("fe")), 12);
    CHECK_INT(name_index(STR("svc-12"), STR("svc"), STR_NONE), 12);
    CHECK_INT(name_index(STR("svc-12-fe"), STR("svc"), STR("e")), -1);
    CHECK_INT(name_index(STR("svc-12x-fe"), STR("svc"), STR("fe")), -1);
    CHECK_INT(name_index(STR("svc-99999999999-fe"), STR("svc"), STR("fe")), 99999999999);
    CHECK_INT(name_index(STR("svc-99999999999999999999-fe"), STR("svc"), STR("fe")), -1);
    CHECK_INT(name_index(STR("other-1-fe"), STR("svc"), STR("fe")), -1);
    CHECK_INT(name_index(STR("svc-0-pf-2-pw"), STR("svc-0-pf"), STR("pw")), 2);
    CHECK_INT(name_index(STR("svc-0-pf-2-pw"), STR("svc"), STR("pw")), -1);
    CHECK_INT(name_index(STR("svc-02-pw"), STR("svc"), STR("pw")), -1);
    CHECK_INT(name_index(STR("svc--pw"), STR("svc"), STR("pw")), -1);
    CHECK_INT(name_index(STR("svc-1"), STR("svc"), STR("pw")), -1);
    CHECK_INT(name_index(STR("svc-1"), STR("svc"), STR_NONE), 1);
    CHECK_INT(name_index(STR("1"), STR(""), STR_NONE), -1);
    CHECK_INT(name_index(STR_NONE, STR_NONE, STR_NONE), -1);
}

TEST(only_what_has_a_hash_may_stand_for_more)
{
    CHECK(name_may_be_shortened(STR("a-12345678-b")));
    CHECK(!name_may_be_shortened(STR("svc-0-pf-2-pw")));
    CHECK(!name_may_be_shortened(STR("a-1234567-b")));
    CHECK(!name_may_be_shortened(STR("12345678-b")));
    CHECK(!name_may_be_shortened(STR("a-12345678")));
    CHECK(!name_may_be_shortened(STR_NONE));
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
