/* Names and addresses of a server: what its certificate is for, where it is found. */
#include "plane/server_names.h"

#include "base/file.h"
#include "base/test.h"
#include "plane/plane_pki.h"

#define FIXED                                                                         \
    "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc," \
    "DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:::1,IP:10.96.0.1"
#define NOW ((usec)1790000000 * USEC_PER_SEC)

static const str addresses[] = {STR_INIT("fd00::5"), STR_INIT("10.0.0.7"), STR_INIT("10.0.0.5")};
static const struct machine box = {.host_name = STR_INIT("box.example"),
                                   .addresses = addresses,
                                   .n_addresses = ARRAY_LEN(addresses),
                                   .preferred = STR_INIT("10.0.0.5")};
static const struct machine alone = {0};

TEST(names_follow_where_it_listens)
{
    static const struct {
        const char *listen, *more, *want;
    } cases[] = {
        {"127.0.0.1:6443", NULL, FIXED},
        {"localhost:6443", NULL, FIXED},
        {"[::1]:6443", NULL, FIXED},
        {"127.0.0.1:6443", "api.example", FIXED ",DNS:api.example"},
        {"127.0.0.1:6443", "localhost", FIXED},
        {"10.0.0.7:6443", NULL, FIXED ",DNS:box.example,IP:10.0.0.7"},
        {"10.0.0.7:6443", "10.0.0.7", FIXED ",DNS:box.example,IP:10.0.0.7"},
        {"[fd00::5]:0", NULL, FIXED ",DNS:box.example,IP:fd00::5"},
        {"0.0.0.0:6443", "192.0.2.1",
         FIXED ",DNS:box.example,IP:10.0.0.5,IP:10.0.0.7,IP:192.0.2.1,IP:fd00::5"},
        {":6443", "FD00:0::5", FIXED ",DNS:box.example,IP:10.0.0.5,IP:10.0.0.7,IP:fd00::5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        str more = str_of(cases[i].more);
        CHECK_CSTR(server_names(&a, &box, str_of(cases[i].listen), &more, more.len ? 1 : 0),
                   cases[i].want);
        arena_done(&a);
    }
}

TEST(a_machine_without_a_name_or_addresses_has_the_fixed_ones)
{
    struct arena a = ARENA_INIT;
    CHECK_CSTR(server_names(&a, &alone, STR("0.0.0.0:6443"), NULL, 0), FIXED);
    arena_done(&a);
}

TEST(kubeconfigs_never_name_an_address_that_means_all)
{
    static const struct {
        const struct machine *machine;
        const char *listen, *want;
    } cases[] = {
        {&box, "127.0.0.1:6443", "127.0.0.1:6443"}, {&box, "10.0.0.7:443", "10.0.0.7:443"},
        {&box, "0.0.0.0:6443", "10.0.0.5:6443"},    {&box, "[::]:6443", "10.0.0.5:6443"},
        {&box, "[fd00::5]:6443", "[fd00::5]:6443"}, {&alone, "0.0.0.0:6443", "127.0.0.1:6443"},
        {&alone, "[::]:6443", "127.0.0.1:6443"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        CHECK_CSTR(server_advertised(&a, cases[i].machine, str_of(cases[i].listen)), cases[i].want);
        arena_done(&a);
    }
}

TEST(without_a_default_route_the_first_address_that_is_served_counts)
{
    struct machine m = box;
    struct arena a = ARENA_INIT;
    m.preferred = STR_NONE;
    CHECK_CSTR(server_advertised(&a, &m, STR("0.0.0.0:1")), "10.0.0.7:1");
    CHECK_CSTR(server_advertised(&a, &m, STR("[::]:1")), "[fd00::5]:1");
    arena_done(&a);
}

TEST(what_is_no_name_is_refused)
{
    CHECK(!server_name_fault(STR("api.example")));
    CHECK(!server_name_fault(STR("*.example")));
    CHECK(!server_name_fault(STR("10.0.0.1")));
    CHECK(!server_name_fault(STR("fd00::1")));
    CHECK(server_name_fault(STR("")));
    CHECK(server_name_fault(STR("a b")));
    CHECK(server_name_fault(STR("x,DNS:y")));
    CHECK(server_name_fault(STR("0.0.0.0")));
    CHECK(server_name_fault(STR("https://api.example")));
}

TEST(the_certificate_is_made_anew_for_other_names_only)
{
    char dir[] = "/tmp/grove-names-XXXXXX";
    struct err err = ERR_INIT;
    struct plane_pki p, q;
    REQUIRE(mkdtemp(dir));
    REQUIRE(plane_pki_open(dir, NOW, 0, STR("DNS:localhost,IP:10.0.0.5"), &p, &err) == 0);
    REQUIRE(plane_pki_open(dir, NOW, 0, STR("DNS:localhost,IP:10.0.0.5"), &q, &err) == 0);
    CHECK(str_eq(strbuf_str(&p.server.cert_pem), strbuf_str(&q.server.cert_pem)));
    plane_pki_done(&q);
    REQUIRE(plane_pki_open(dir, NOW, 0, STR("DNS:localhost,IP:10.0.0.6"), &q, &err) == 0);
    CHECK(!str_eq(strbuf_str(&p.server.cert_pem), strbuf_str(&q.server.cert_pem)));
    CHECK(str_eq(strbuf_str(&p.ca.cert_pem), strbuf_str(&q.ca.cert_pem)));
    CHECK(pki_has_names(strbuf_str(&q.server.cert_pem), "DNS:localhost,IP:10.0.0.6"));
    CHECK_INT(plane_pki_rename(&q, dir, NOW, STR("DNS:localhost,IP:10.0.0.6"), &err), 0);
    CHECK_INT(plane_pki_rename(&q, dir, NOW, STR("DNS:localhost,IP:10.0.0.7"), &err), 1);
    CHECK(pki_has_names(strbuf_str(&q.server.cert_pem), "DNS:localhost,IP:10.0.0.7"));
    plane_pki_done(&p);
    plane_pki_done(&q);
    CHECK_INT(dir_remove(dir, &err), 0);
}
