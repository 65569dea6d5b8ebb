/* See proxy.h. The rules are those of Go's net/http, which kubectl is made with. */
#include "client/proxy.h"

#include <arpa/inet.h>

#include "base/b64.h"
#include "net/http.h"

/* ---- NO_PROXY ---- */

struct address {
    int family; /* 0: not an address */
    unsigned char bytes[16];
    size_t len;
};

static struct address parse_address(str text)
{
    struct address a = {0};
    char copy[64];
    if (text.len >= sizeof(copy))
        return a;
    (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(text));
    if (inet_pton(AF_INET, copy, a.bytes) == 1)
        a.family = AF_INET;
    else if (inet_pton(AF_INET6, copy, a.bytes) == 1)
        a.family = AF_INET6;
    a.len = a.family == AF_INET ? 4 : 16;
    return a;
}

static bool is_within(const struct address *a, const struct address *net, size_t bits)
{
    if (a->family != net->family || bits > 8 * net->len)
        return false;
    size_t whole = bits / 8, rest = bits % 8;
    if (memcmp(a->bytes, net->bytes, whole) != 0)
        return false;
    unsigned mask = rest ? 0xffu << (8 - rest) & 0xffu : 0;
    return !rest || ((a->bytes[whole] ^ net->bytes[whole]) & mask) == 0;
}

static bool is_loopback(const struct address *a)
{
    struct address v4 = parse_address(STR("127.0.0.0")), v6 = parse_address(STR("::1"));
    return is_within(a, &v4, 8) || is_within(a, &v6, 128);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool eq_nocase(str a, str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    }
    return true;
}

/* "foo.com" is itself and below, ".foo.com" and "*.foo.com" only below. */
static bool matches_name(str host, str entry)
{
    if (str_starts(entry, STR("*.")))
        entry = str_sub(entry, 1, entry.len);
    bool below_only = str_starts(entry, STR("."));
    if (!below_only && eq_nocase(host, entry))
        return true;
    size_t dot = below_only ? 0 : 1;
    if (host.len < entry.len + dot + 1 || !entry.len)
        return false;
    str tail = str_sub(host, host.len - entry.len, host.len);
    return eq_nocase(tail, entry) && (below_only || host.p[host.len - entry.len - 1] == '.');
}

static bool matches_network(const struct address *host, str entry)
{
    str bits_text = entry;
    uint64_t bits = 0;
    struct address net = parse_address(str_cut(&bits_text, '/'));
    return net.family && str_to_uint(bits_text, &bits) && bits <= 128 &&
           is_within(host, &net, (size_t)bits);
}

static bool matches_entry(const struct kubeconfig *k, const struct address *host, str entry)
{
    if (str_is(entry, "*"))
        return true;
    if (str_find_char(entry, '/') >= 0)
        return matches_network(host, entry);
    struct address whole = parse_address(entry);
    uint64_t port = 0;
    str name = entry;
    if (!whole.family && (!kubeconfig_split_host(entry, &port, &name) || !name.len))
        return false;
    if (port && port != (uint64_t)k->port)
        return false;
    struct address other = whole.family ? whole : parse_address(name);
    if (host->family || other.family)
        return host->family == other.family &&
               memcmp(host->bytes, other.bytes, sizeof(other.bytes)) == 0;
    return matches_name(k->host, name);
}

static bool is_excepted(const struct kubeconfig *k, str list)
{
    struct address host = parse_address(k->host);
    if (is_loopback(&host) || eq_nocase(k->host, STR("localhost")))
        return true;
    while (list.len) {
        str entry = str_trim(str_cut(&list, ','));
        if (entry.len && matches_entry(k, &host, entry))
            return true;
    }
    return false;
}

/* ---- the proxy ---- */

static str from_env(const char *upper, const char *lower_name)
{
    str s = str_of(getenv(upper));
    return s.len ? s : str_of(getenv(lower_name));
}

/* "user:password", percent-encoded. */
static bool read_user(str text, struct arena *a, str *ret)
{
    str user, password = text;
    str user_text = str_cut(&password, ':');
    if (!http_unescape(user_text, false, a, &user) || !http_unescape(password, false, a, &password))
        return false;
    struct strbuf plain = STRBUF_INIT(4096), coded = STRBUF_INIT(8192);
    strbuf_printf(&plain, "%.*s:%.*s", STR_ARG(user), STR_ARG(password));
    b64_encode(strbuf_str(&plain), B64_STD, &coded);
    *ret = arena_printf(a, "Basic %.*s", STR_ARG(strbuf_str(&coded)));
    bool ok = !plain.overflow && !coded.overflow;
    strbuf_done(&plain);
    strbuf_done(&coded);
    return ok;
}

/* http://user:password@host:port/; from the environment also without the scheme. */
static int read_url(str url, str from, struct arena *a, struct proxy *ret, struct err *err)
{
    uint64_t port = 80;
    ptrdiff_t scheme = str_find(url, STR("://"));
    if (scheme >= 0 && !eq_nocase(str_sub(url, 0, (size_t)scheme), STR("http")))
        return err_set(err, ERR_UNSUPPORTED, "%.*s: only http:// proxies are supported",
                       STR_ARG(from));
    str rest = scheme >= 0 ? str_sub(url, (size_t)scheme + 3, url.len) : url;
    str authority = str_cut(&rest, '/');
    ptrdiff_t at = str_rfind_char(authority, '@');
    str user = at >= 0 ? str_sub(authority, 0, (size_t)at) : STR_NONE;
    str host = str_sub(authority, (size_t)(at + 1), authority.len);
    if ((at >= 0 && !read_user(user, a, &ret->authorization)) ||
        !kubeconfig_split_host(host, &port, &host))
        return err_set(err, ERR_INVALID, "%.*s is not the URL of a proxy", STR_ARG(from));
    ret->host = arena_str(a, host);
    ret->port = (int)port;
    return 0;
}

int proxy_for(const struct kubeconfig *k, struct arena *a, struct proxy *ret, struct err *err)
{
    *ret = (struct proxy){0};
    if (k->proxy_url.len)
        return read_url(k->proxy_url, arena_printf(a, "%.*s: proxy-url", STR_ARG(k->file)), a, ret,
                        err);
    str url =
        k->tls ? from_env("HTTPS_PROXY", "https_proxy") : from_env("HTTP_PROXY", "http_proxy");
    if (!url.len || is_excepted(k, from_env("NO_PROXY", "no_proxy")))
        return 0;
    return read_url(url, k->tls ? STR("HTTPS_PROXY") : STR("HTTP_PROXY"), a, ret, err);
}
