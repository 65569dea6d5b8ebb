/* CEL: URLs, addresses and ranges of addresses. */
#include <arpa/inet.h>

#include "kube/cel/cel_impl.h"

/* ---- URLs ---- */

static bool has_only(str s, const char * not )
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= 0x20 || s.p[i] == 0x7f || strchr(not, s.p[i]))
            return false;
    return true;
}

static bool is_scheme(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return false;
    }
    return s.len > 0;
}

/* "[::1]:443" or "example.com:443" */
static bool split_host(str host, str *ret_name, str *ret_port)
{
    ptrdiff_t bracket = str_starts(host, STR("[")) ? str_find_char(host, ']') : -1;
    ptrdiff_t colon = str_rfind_char(host, ':');
    uint64_t port;
    if (str_starts(host, STR("[")) && bracket < 0)
        return false;
    bool has_port = colon > bracket;
    *ret_port = has_port ? str_sub(host, (size_t)colon + 1, host.len) : STR_NONE;
    *ret_name = has_port ? str_sub(host, 0, (size_t)colon) : host;
    if (bracket >= 0)
        *ret_name = str_sub(host, 1, (size_t)bracket);
    return has_only(*ret_name, "<>\"\\^`{|}/?#") &&
           (!ret_port->len || str_to_uint(*ret_port, &port));
}

/* Absolute ones, and paths. */
static bool parse_url(str s, struct cel_url *ret)
{
    *ret = (struct cel_url){0};
    ptrdiff_t fragment = str_find_char(s, '#');
    str rest = fragment < 0 ? s : str_sub(s, 0, (size_t)fragment);
    ptrdiff_t query = str_find_char(rest, '?');
    if (query >= 0) {
        ret->query = str_sub(rest, (size_t)query + 1, rest.len);
        rest = str_sub(rest, 0, (size_t)query);
    }
    ptrdiff_t colon = str_find_char(rest, ':');
    if (!has_only(s, "") || (colon < 0 && !str_starts(rest, STR("/"))))
        return false;
    if (!str_starts(rest, STR("/"))) {
        ret->scheme = str_sub(rest, 0, (size_t)colon);
        rest = str_sub(rest, (size_t)colon + 1, rest.len);
        if (!is_scheme(ret->scheme) || !str_starts(rest, STR("/")))
            return false;
    }
    if (str_starts(rest, STR("//"))) {
        rest = str_sub(rest, 2, rest.len);
        ptrdiff_t slash = str_find_char(rest, '/');
        ret->host = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
        rest = slash < 0 ? STR_NONE : str_sub(rest, (size_t)slash, rest.len);
        ptrdiff_t user = str_rfind_char(ret->host, '@');
        ret->host = str_sub(ret->host, (size_t)(user + 1), ret->host.len);
    }
    ret->path = rest;
    return split_host(ret->host, &ret->hostname, &ret->port);
}

CEL_FN(cel_f_url)
{
    struct cel_url *u = arena_new(e->arena, struct cel_url);
    return parse_url(a->s, u) ? (struct cel_value){.type = CEL_URL, .url = u}
                              : cel_failure(e, "URL parse error during conversion from string");
}

CEL_FN(cel_f_is_url)
{
    struct cel_url u;
    return of_bool(parse_url(a->s, &u));
}

CEL_FN(cel_f_url_scheme)
{
    return of_str(a->url->scheme);
}

CEL_FN(cel_f_url_host)
{
    return of_str(a->url->host);
}

CEL_FN(cel_f_url_hostname)
{
    return of_str(a->url->hostname);
}

CEL_FN(cel_f_url_port)
{
    return of_str(a->url->port);
}

CEL_FN(cel_f_url_path)
{
    return of_str(a->url->path);
}

/* {"a": ["1", "2"]}, every key once. */
CEL_FN(cel_f_url_query)
{
    cel_pairs keys = {0};
    for (str rest = a->url->query; rest.len && cel_spend(e, keys.len + 1);) {
        str value = str_cut(&rest, '&'), key = str_cut(&value, '=');
        struct cel_value one = of_str(value), *known = NULL;
        for (size_t i = 0; i < keys.len && !known; i++)
            known = str_eq(keys.p[i].key.s, key) ? &keys.p[i].value : NULL;
        if (!known) {
            *vec_push(&keys) = (struct cel_pair){.key = of_str(key), .value = {.type = CEL_LIST}};
            known = &vec_last(&keys)->value;
        }
        struct cel_value list = {.type = CEL_LIST, .n = 1};
        list.items = arena_new(e->arena, struct cel_pair);
        list.items->value = one;
        *known = cel_binary(e, CEL_ADD, known, &list);
    }
    return cel_of_pairs(e, CEL_MAP, &keys);
}

/* ---- addresses ---- */

static bool parse_ip(str s, struct cel_net *ret)
{
    char text[64];
    *ret = (struct cel_net){0};
    if (!s.len || s.len >= sizeof(text) || memchr(s.p, '\0', s.len))
        return false;
    memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    ret->size = str_find_char(s, ':') < 0 ? 4 : 16;
    ret->prefix = ret->size * 8;
    /* An IPv4 address inside an IPv6 one is not taken. */
    return inet_pton(ret->size == 4 ? AF_INET : AF_INET6, text, ret->bytes) == 1 &&
           !(ret->size == 16 && str_find_char(s, '.') >= 0);
}

static bool parse_cidr(str s, struct cel_net *ret)
{
    uint64_t prefix;
    str bits = s, ip = str_cut(&bits, '/');
    bool ok = bits.len && bits.len <= 3 && parse_ip(ip, ret) && str_to_uint(bits, &prefix) &&
              prefix <= ret->size * 8 && (bits.len == 1 || bits.p[0] != '0');
    if (ok)
        ret->prefix = (unsigned)prefix;
    return ok;
}

static struct cel_value of_net(struct cel_run *e, enum cel_type type, const struct cel_net *net)
{
    struct cel_net *kept = arena_new(e->arena, struct cel_net);
    *kept = *net;
    return (struct cel_value){.type = type, .net = kept};
}

static str ip_text(const struct cel_net *n, char *buf, size_t size)
{
    return str_of(inet_ntop(n->size == 4 ? AF_INET : AF_INET6, n->bytes, buf, (socklen_t)size));
}

void cel_net_write(const struct cel_value *v, struct strbuf *out)
{
    char text[64];
    strbuf_add_str(out, ip_text(v->net, text, sizeof(text)));
    if (v->type == CEL_CIDR)
        strbuf_printf(out, "/%u", v->net->prefix);
}

CEL_FN(cel_f_ip)
{
    struct cel_net net;
    return parse_ip(a->s, &net) ? of_net(e, CEL_IP, &net)
                                : cel_failure(e,
                                              "IP Address '%.*s' parse error during conversion "
                                              "from string",
                                              STR_ARG(str_sub(a->s, 0, 100)));
}

CEL_FN(cel_f_is_ip)
{
    struct cel_net net;
    return of_bool(parse_ip(a->s, &net));
}

CEL_FN(cel_f_ip_is_canonical)
{
    struct cel_net net;
    char text[64];
    if (!parse_ip(a->s, &net))
        return cel_f_ip(e, a, n);
    return of_bool(str_eq(ip_text(&net, text, sizeof(text)), a->s));
}

CEL_FN(cel_f_ip_family)
{
    return of_int(a->net->size == 4 ? 4 : 6);
}

static bool all_zero(const struct cel_net *n, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        if (n->bytes[i])
            return false;
    return true;
}

CEL_FN(cel_f_ip_unspecified)
{
    return of_bool(all_zero(a->net, a->net->size));
}

static bool is_loopback(const struct cel_net *n)
{
    return n->size == 4 ? n->bytes[0] == 127 : all_zero(n, 15) && n->bytes[15] == 1;
}

CEL_FN(cel_f_ip_loopback)
{
    return of_bool(is_loopback(a->net));
}

CEL_FN(cel_f_ip_local_multicast)
{
    const uint8_t *b = a->net->bytes;
    return of_bool(a->net->size == 4 ? b[0] == 224 && b[1] == 0 && b[2] == 0
                                     : b[0] == 0xff && (b[1] & 0xf) == 2);
}

static bool is_local_unicast(const struct cel_net *n)
{
    return n->size == 4 ? n->bytes[0] == 169 && n->bytes[1] == 254
                        : n->bytes[0] == 0xfe && (n->bytes[1] & 0xc0) == 0x80;
}

CEL_FN(cel_f_ip_local_unicast)
{
    return of_bool(is_local_unicast(a->net));
}

CEL_FN(cel_f_ip_global)
{
    const struct cel_net *net = a->net;
    const uint8_t *b = net->bytes;
    bool multicast = net->size == 4 ? (b[0] & 0xf0) == 0xe0 : b[0] == 0xff;
    bool broadcast = net->size == 4 && b[0] == 255 && b[1] == 255 && b[2] == 255 && b[3] == 255;
    return of_bool(!multicast && !broadcast && !all_zero(net, net->size) && !is_loopback(net) &&
                   !is_local_unicast(net));
}

/* ---- ranges ---- */

CEL_FN(cel_f_cidr)
{
    struct cel_net net;
    return parse_cidr(a->s, &net)
               ? of_net(e, CEL_CIDR, &net)
               : cel_failure(e, "network address parse error during conversion from string");
}

CEL_FN(cel_f_is_cidr)
{
    struct cel_net net;
    return of_bool(parse_cidr(a->s, &net));
}

static void mask(struct cel_net *n)
{
    for (unsigned i = 0; i < n->size * 8; i++)
        if (i >= n->prefix)
            n->bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
}

static bool covers(const struct cel_net *range, const struct cel_net *inner)
{
    struct cel_net a = *range, b = *inner;
    if (a.size != b.size || b.prefix < a.prefix)
        return false;
    b.prefix = a.prefix;
    mask(&a);
    mask(&b);
    return memcmp(a.bytes, b.bytes, a.size) == 0;
}

CEL_FN(cel_f_cidr_has_ip)
{
    struct cel_net net;
    if (a[1].type == CEL_IP)
        return of_bool(covers(a[0].net, a[1].net));
    return parse_ip(a[1].s, &net) ? of_bool(covers(a[0].net, &net)) : cel_f_ip(e, &a[1], n);
}

CEL_FN(cel_f_cidr_has_cidr)
{
    struct cel_net net;
    if (a[1].type == CEL_CIDR)
        return of_bool(covers(a[0].net, a[1].net));
    return parse_cidr(a[1].s, &net) ? of_bool(covers(a[0].net, &net)) : cel_f_cidr(e, &a[1], n);
}

CEL_FN(cel_f_cidr_ip)
{
    struct cel_net net = *a->net;
    net.prefix = net.size * 8;
    return of_net(e, CEL_IP, &net);
}

CEL_FN(cel_f_cidr_masked)
{
    struct cel_net net = *a->net;
    mask(&net);
    return of_net(e, CEL_CIDR, &net);
}

CEL_FN(cel_f_cidr_prefix)
{
    return of_int(a->net->prefix);
}
