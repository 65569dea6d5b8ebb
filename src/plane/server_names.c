/* See server_names.h. */
#include "plane/server_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

typedef VEC(str) str_vec;

static const char *const fixed[] = {
    "DNS:localhost",
    "DNS:kubernetes",
    "DNS:kubernetes.default",
    "DNS:kubernetes.default.svc",
    "DNS:kubernetes.default.svc.cluster.local",
    "IP:127.0.0.1",
    "IP:::1",
    "IP:10.96.0.1",
};

/* ---- addresses ---- */

struct ip {
    int family; /* 0: it is none */
    uint8_t bytes[16];
};

static struct ip read_ip(str text)
{
    char copy[INET6_ADDRSTRLEN];
    struct ip ip = {0};
    if (text.len >= sizeof(copy))
        return ip;
    (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(text));
    if (inet_pton(AF_INET, copy, ip.bytes) == 1)
        ip.family = AF_INET;
    else if (inet_pton(AF_INET6, copy, ip.bytes) == 1)
        ip.family = AF_INET6;
    return ip;
}

static bool is_any(struct ip ip)
{
    static const uint8_t none[16];
    return ip.family && memcmp(ip.bytes, none, sizeof(none)) == 0;
}

static bool is_loopback(struct ip ip)
{
    static const uint8_t one[16] = {[15] = 1};
    return ip.family == AF_INET ? ip.bytes[0] == 127
                                : ip.family && memcmp(ip.bytes, one, sizeof(one)) == 0;
}

static bool is_link_local(struct ip ip)
{
    return ip.family == AF_INET ? ip.bytes[0] == 169 && ip.bytes[1] == 254
                                : ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}

/* "[::1]:6443" into "::1" and "6443". */
static str host_of(str listen, str *ret_port)
{
    ptrdiff_t colon = str_rfind_char(listen, ':');
    str host = str_sub(listen, 0, colon < 0 ? listen.len : (size_t)colon);
    *ret_port = colon < 0 ? STR_NONE : str_sub(listen, (size_t)colon + 1, listen.len);
    if (host.len > 2 && host.p[0] == '[')
        host = str_sub(host, 1, host.len - 1);
    if (!host.len)
        return STR("0.0.0.0");
    return str_is(host, "localhost") ? STR("127.0.0.1") : host;
}

/* ---- names ---- */

const char *server_name_fault(str name)
{
    struct ip ip = read_ip(name);
    str plain = str_starts(name, STR("*.")) ? str_sub(name, 2, name.len) : name;
    if (is_any(ip))
        return "this stands for every address; name those that clients use";
    return ip.family || str_is_dns1123_subdomain(plain) ? NULL
                                                        : "this is no DNS name and no IP address";
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void add_name(struct arena *a, str_vec *names, str name)
{
    struct ip ip = read_ip(name);
    char text[INET6_ADDRSTRLEN];
    if (!ip.family)
        *vec_push(names) = arena_cat(a, STR("DNS:"), name);
    else if (inet_ntop(ip.family, ip.bytes, text, sizeof(text)))
        *vec_push(names) = arena_cat(a, STR("IP:"), str_of(text));
}

static bool is_fixed(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (str_is(name, fixed[i]))
            return true;
    return false;
}

str server_names(struct arena *a, const struct machine *m, str listen, const str *more, size_t n)
{
    str port, host = host_of(listen, &port), text = str_of(fixed[0]);
    struct ip ip = read_ip(host);
    str_vec names = {0};
    if (!is_loopback(ip) && m->host_name.len)
        add_name(a, &names, m->host_name);
    if (!is_loopback(ip) && !is_any(ip))
        add_name(a, &names, host);
    for (size_t i = 0; is_any(ip) && i < m->n_addresses; i++)
        add_name(a, &names, m->addresses[i]);
    for (size_t i = 0; i < n; i++)
        add_name(a, &names, more[i]);
    vec_sort(&names, compare);
    for (size_t i = 1; i < ARRAY_LEN(fixed); i++)
        text = arena_cat(a, text, STR(","), str_of(fixed[i]));
    for (size_t i = 0; i < names.len; i++)
        if (!is_fixed(names.p[i]) && (i == 0 || !str_eq(names.p[i], names.p[i - 1])))
            text = arena_cat(a, text, STR(","), names.p[i]);
    vec_done(&names);
    return text;
}

str server_advertised(struct arena *a, const struct machine *m, str listen)
{
    str port, host = host_of(listen, &port);
    struct ip ip = read_ip(host);
    if (is_any(ip)) {
        /* A server of IPv4 only has nothing at an address of IPv6. */
        str best = m->preferred;
        for (size_t i = 0; !best.len && i < m->n_addresses; i++)
            if (ip.family == AF_INET6 || read_ip(m->addresses[i]).family == AF_INET)
                best = m->addresses[i];
        host = best.len ? best : STR("127.0.0.1");
        ip = read_ip(host);
    }
    return arena_printf(a, ip.family == AF_INET6 ? "[%.*s]:%.*s" : "%.*s:%.*s", STR_ARG(host),
                        STR_ARG(port));
}

/* ---- this machine ---- */

/* The interface that packets to anywhere leave by; false: none does. */
static bool default_interface(char ret[IF_NAMESIZE])
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    bool found = false;
    if (file_read("/proc/net/route", &text, NULL) == 0) {
        str rest = strbuf_str(&text);
        while (!found && rest.len) {
            str line = str_cut(&rest, '\n'), name = str_cut(&line, '\t');
            found = str_is(str_cut(&line, '\t'), "00000000") && name.len < IF_NAMESIZE;
            if (found)
                (void)snprintf(ret, IF_NAMESIZE, "%.*s", STR_ARG(name));
        }
    }
    strbuf_done(&text);
    return found;
}

static str address_text(struct arena *a, const struct sockaddr *sa)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (sa && sa->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, text,
                        sizeof(text));
    else if (sa && sa->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, text,
                        sizeof(text));
    return arena_str(a, str_of(text));
}

static void look_at_addresses(struct arena *a, struct machine *m)
{
    enum { MOST = 256 };
    struct ifaddrs *list = NULL;
    char by_default[IF_NAMESIZE] = "";
    str *addresses = arena_array(a, str, MOST);
    (void)default_interface(by_default);
    m->addresses = addresses;
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *i = list; i && m->n_addresses < MOST; i = i->ifa_next) {
        str text = address_text(a, i->ifa_addr);
        struct ip ip = read_ip(text);
        if (!ip.family || is_loopback(ip) || is_link_local(ip) || !(i->ifa_flags & IFF_UP))
            continue;
        addresses[m->n_addresses++] = text;
        if (!m->preferred.len && ip.family == AF_INET && str_is(str_of(i->ifa_name), by_default))
            m->preferred = text;
    }
    freeifaddrs(list);
}

void machine_look(struct arena *a, struct machine *ret)
{
    char name[256] = "";
    *ret = (struct machine){0};
    if (gethostname(name, sizeof(name) - 1) == 0 && !server_name_fault(str_of(name)))
        ret->host_name = arena_str(a, str_of(name));
    look_at_addresses(a, ret);
}

/* ---- changes ---- */

/* Addresses come and go in groups: a cable, a VPN. */
#define SETTLE USEC_PER_SEC

struct machine_watch {
    struct loop_io io;
    struct loop_timer settle;
    void (*fn)(void *ctx);
    void *ctx;
};

static void on_settled(struct loop_timer *t)
{
    struct machine_watch *w = container_of(t, struct machine_watch, settle);
    w->fn(w->ctx);
}

/* What the kernel says about it does not matter: everything is looked at again. */
static void on_netlink(struct loop_io *io, unsigned events)
{
    struct machine_watch *w = container_of(io, struct machine_watch, io);
    char buf[8192];
    (void)events;
    while (recv(io->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        ;
    loop_timer_set(&w->settle, loop_now(io->loop) + SETTLE);
}

struct machine_watch *machine_watch_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
    struct sockaddr_nl sa = {.nl_family = AF_NETLINK,
                             .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct machine_watch *w = xnew(struct machine_watch);
    w->fn = fn;
    w->ctx = ctx;
    w->io = (struct loop_io){.fd = fd, .events = LOOP_READ, .fn = on_netlink};
    loop_timer_init(l, &w->settle, on_settled);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
        loop_io_add(l, &w->io, NULL) == 0)
        return w;
    machine_watch_free(w);
    return NULL;
}

void machine_watch_free(struct machine_watch *w)
{
    if (!w)
        return;
    loop_timer_cancel(&w->settle);
    if (w->io.loop)
        loop_io_remove(&w->io);
    if (w->io.fd >= 0)
        (void)close(w->io.fd);
    free(w);
}
