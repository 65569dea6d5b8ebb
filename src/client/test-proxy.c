/* Which proxy is taken, and requests through one. */
#include <stdlib.h>

#include "client/proxy.h"
#include "client/test-relay.h"
#include "client/test-server.h"

static void clear_env(void)
{
    static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY",
                                        "http_proxy",  "NO_PROXY",    "no_proxy"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unsetenv(names[i]);
}

/* "host:port authorization", "-" without a proxy, or the error. */
static void check_proxy(const struct kubeconfig *k, const char *want)
{
    struct arena a = {0};
    struct err err = ERR_INIT;
    struct proxy p;
    str got = STR("-");
    if (proxy_for(k, &a, &p, &err))
        got = str_of(err.message);
    else if (p.host.len)
        got = arena_printf(&a, "%.*s:%d %.*s", STR_ARG(p.host), p.port, STR_ARG(p.authorization));
    CHECK_CSTR(got, want);
    arena_done(&a);
}

TEST(proxy_of_the_cluster_counts_before_the_environment)
{
    struct kubeconfig k = {
        .host = STR("api.example.com"), .port = 6443, .tls = true, .file = STR("f")};
    clear_env();
    check_proxy(&k, "-");
    k.proxy_url = STR("http://proxy.example:3128");
    setenv("HTTPS_PROXY", "http://other:1", 1);
    setenv("NO_PROXY", "*", 1);
    check_proxy(&k, "proxy.example:3128 ");
    k.proxy_url = STR("http://u:p@proxy.example/");
    check_proxy(&k, "proxy.example:80 Basic dTpw");
    k.proxy_url = STR("http://a%40b:c%3Ad@[::1]:8080");
    check_proxy(&k, "::1:8080 Basic YUBiOmM6ZA=="); /* a@b:c:d */
    k.proxy_url = STR("https://proxy.example");
    check_proxy(&k, "f: proxy-url: only http:// proxies are supported");
    k.proxy_url = STR("http://pro xy");
    check_proxy(&k, "f: proxy-url is not the URL of a proxy");
    clear_env();
}

TEST(proxy_of_the_environment)
{
    struct kubeconfig k = {.host = STR("api.example.com"), .port = 6443, .tls = true};
    clear_env();
    setenv("HTTP_PROXY", "http://clear:1", 1);
    check_proxy(&k, "-");
    k.tls = false;
    check_proxy(&k, "clear:1 ");
    k.tls = true;
    setenv("https_proxy", "lower:3", 1);
    check_proxy(&k, "lower:3 ");
    setenv("HTTPS_PROXY", "http://upper:2", 1);
    check_proxy(&k, "upper:2 ");
    k.host = STR("localhost");
    check_proxy(&k, "-");
    k.host = STR("127.0.3.4");
    check_proxy(&k, "-");
    k.host = STR("::1");
    check_proxy(&k, "-");
    setenv("HTTPS_PROXY", "socks5://x", 1);
    check_proxy(&k, "-");
    k.host = STR("far");
    check_proxy(&k, "HTTPS_PROXY: only http:// proxies are supported");
    clear_env();
}

TEST(proxy_exceptions)
{
    static const struct {
        const char *no_proxy, *host;
        bool direct;
    } cases[] = {
        {"*", "x.org", true},
        {"example.com", "example.com", true},
        {"example.com", "api.Example.com", true},
        {"example.com", "badexample.com", false},
        {".example.com", "api.example.com", true},
        {".example.com", "example.com", false},
        {"*.example.com", "api.example.com", true},
        {"a, b ,api.example.com", "api.example.com", true},
        {"api.example.com:6443", "api.example.com", true},
        {"api.example.com:443", "api.example.com", false},
        {"10.0.0.0/8", "10.96.0.1", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"10.96.0.0/12", "10.111.1.1", true},
        {"10.96.0.0/12", "10.112.1.1", false},
        {"10.96.0.1", "10.96.0.1", true},
        {"10.96.0.1:6443", "10.96.0.1", true},
        {"10.96.0.1:443", "10.96.0.1", false},
        {"fd00::/8", "fd12::1", true},
        {"fd00::/8", "fe80::1", false},
        {"10.0.0.0/x,10.0.0.0/99,,/", "10.0.0.1", false},
        {"96.0.1", "10.96.0.1", false},
    };
    clear_env();
    setenv("HTTPS_PROXY", "http://p:1", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kubeconfig k = {.host = str_of(cases[i].host), .port = 6443, .tls = true};
        setenv("no_proxy", cases[i].no_proxy, 1);
        check_proxy(&k, cases[i].direct ? "-" : "p:1 ");
    }
    clear_env();
}

/* The name means nothing here: the proxy looks it up. */
TEST(remote_goes_through_a_proxy)
{
    static const struct step steps[] = {{200, OBJECT}, {200, OBJECT}};
    struct sr r;
    struct sr_got g;
    struct relay relay;
    clear_env();
    sr_init(&r);
    r.steps = steps;
    r.n_steps = ARRAY_LEN(steps);
    sr_serve(&r);
    relay_init(&relay, r.loop, r.k.port);
    r.k.host = STR("api.invalid");
    r.k.port = 6443;
    r.k.proxy_url = arena_printf(&r.arena, "http://u:p@127.0.0.1:%d", relay.port);
    sr_open(&r, &(struct remote_options){0});
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    /* One connection, so one question. */
    CHECK_CSTR(strbuf_str(&relay.log), "CONNECT api.invalid:6443 HTTP/1.1\r\n"
                                       "Host: api.invalid:6443\r\n"
                                       "Proxy-Authorization: Basic dTpw\r\n\r\n");
    api_free(r.api);
    relay.answer = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    sr_open(&r, &(struct remote_options){0});
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 503);
    CHECK(!g.unknown);
    CHECK(str_starts(g.message, STR("cannot reach the API server at http://api.invalid:6443: "
                                    "proxy 127.0.0.1:")));
    CHECK(str_ends(g.message, STR("it answers 407 Proxy Authentication Required")));
    api_free(r.api);
    r.api = NULL;
    relay_done(&relay);
    sr_done(&r);
}
