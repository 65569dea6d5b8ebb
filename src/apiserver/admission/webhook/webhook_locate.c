/*
 * Where a webhook is: a URL, or a Service that is looked up in the store. Reads objects only.
 */
#include "apiserver/admission/webhook.h"
#include "base/b64.h"

#define CA_MAX ((size_t)1 << 20)
#define HTTPS_PORT 443

static str ca_bundle(struct arena *a, jval config)
{
    struct strbuf b = STRBUF_INIT(CA_MAX);
    str pem = STR_NONE;
    if (b64_decode(jstr(jgetc(config, "caBundle")), B64_STD, &b) && b.len)
        pem = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return pem;
}

/* ---- URLs ---- */

/* "host", "host:8443", "[::1]:8443" */
static bool split_authority(str authority, str *ret_host, int *ret_port)
{
    uint64_t port = HTTPS_PORT;
    ptrdiff_t close = str_find_char(authority, ']');
    str host = authority, rest = STR_NONE;
    if (str_starts(authority, STR("["))) {
        if (close < 0)
            return false;
        host = str_sub(authority, 1, (size_t)close);
        rest = str_sub(authority, (size_t)close + 1, authority.len);
    } else {
        ptrdiff_t colon = str_find_char(authority, ':');
        if (colon >= 0) {
            host = str_sub(authority, 0, (size_t)colon);
            rest = str_sub(authority, (size_t)colon, authority.len);
        }
    }
    if (rest.len && (!str_starts(rest, STR(":")) ||
                     !str_to_uint(str_sub(rest, 1, rest.len), &port) || !port || port > 65535))
        return false;
    *ret_host = host;
    *ret_port = (int)port;
    return host.len > 0;
}

static bool locate_url(struct arena *a, str url, struct hook_place *ret, str *ret_why)
{
    static const char scheme[] = "https://";
    str path = str_sub(url, sizeof(scheme) - 1, url.len);
    str authority = str_cut(&path, '/');
    str host;
    if (!str_starts(url, STR(scheme)) || !split_authority(authority, &host, &ret->port)) {
        *ret_why = arena_printf(a, "could not get REST client: the URL \"%.*s\" cannot be used",
                                STR_ARG(url));
        return false;
    }
    ret->host = ret->server_name = arena_str(a, host);
    ret->path = arena_printf(a, "/%.*s", STR_ARG(path));
    ret->url = arena_printf(a, "https://%.*s%.*s", STR_ARG(authority), STR_ARG(ret->path));
    return true;
}

/* ---- services ---- */

/* The turn-th of all addresses seen. */
struct choice {
    unsigned turn;
    unsigned n;
    str address;
    int64_t port;
};

/* Called twice: to count, then (n is known) to take one. */
static void offer(struct choice *c, bool take, unsigned *seen, str address, int64_t port)
{
    if (!address.len || port < 1 || port > 65535)
        return;
    if (!take) {
        c->n++;
    } else if ((*seen)++ == c->turn % c->n) {
        c->address = address;
        c->port = port;
    }
}

static int64_t port_named(jval ports, str name)
{
    for (struct jiter it = jiter(ports); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return jint(jgetc(it.value, "port"), 0);
    return 0;
}

static void offer_slices(const struct store *s, const struct obj *svc, str port_name,
                         struct choice *c, bool take, unsigned *seen)
{
    struct store_iter it = store_range(s, &kind_endpoint_slice, svc->ns, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        if (!str_eq(obj_label(o, STR("kubernetes.io/service-name")), svc->name))
            continue;
        int64_t port = port_named(jgetc(obj_root(o), "ports"), port_name);
        for (struct jiter e = jiter(jgetc(obj_root(o), "endpoints")); jnext(&e);)
            if (jbool(jpath(e.value, "conditions.ready"), true))
                offer(c, take, seen, jstr(jat(jgetc(e.value, "addresses"), 0)), port);
    }
}

static void offer_endpoints(const struct store *s, const struct obj *svc, str port_name,
                            struct choice *c, bool take, unsigned *seen)
{
    const struct obj *o = store_get(s, &kind_endpoints, svc->ns, svc->name);
    if (!o)
        return;
    for (struct jiter it = jiter(jgetc(obj_root(o), "subsets")); jnext(&it);) {
        int64_t port = port_named(jgetc(it.value, "ports"), port_name);
        for (struct jiter e = jiter(jgetc(it.value, "addresses")); jnext(&e);)
            offer(c, take, seen, jstr(jgetc(e.value, "ip")), port);
    }
}

static bool choose(const struct store *s, const struct obj *svc, str port_name, struct choice *c)
{
    unsigned seen = 0;
    offer_slices(s, svc, port_name, c, false, &seen);
    if (c->n) {
        offer_slices(s, svc, port_name, c, true, &seen);
        return true;
    }
    offer_endpoints(s, svc, port_name, c, false, &seen);
    if (c->n)
        offer_endpoints(s, svc, port_name, c, true, &seen);
    return c->n > 0;
}

/* The entry of spec.ports; absent: there is none. */
static jval service_port(const struct obj *svc, int64_t port)
{
    for (struct jiter it = jiter(jgetc(obj_spec(svc), "ports")); jnext(&it);)
        if (jint(jgetc(it.value, "port"), 0) == port)
            return it.value;
    return JVAL_ABSENT;
}

static bool resolve(struct arena *a, const struct store *s, jval ref, int64_t port, unsigned turn,
                    struct hook_place *ret, str *ret_why)
{
    str name = jstr(jgetc(ref, "name"));
    const struct obj *svc = store_get(s, &kind_service, jstr(jgetc(ref, "namespace")), name);
    struct choice c = {.turn = turn};
    if (!svc) {
        *ret_why = arena_printf(a, "service \"%.*s\" not found", STR_ARG(name));
        return false;
    }
    if (str_is(jstr(jgetc(obj_spec(svc), "type")), "ExternalName")) {
        ret->host = arena_str(a, jstr(jgetc(obj_spec(svc), "externalName")));
        ret->port = (int)port;
        return true;
    }
    jval entry = service_port(svc, port);
    if (j_is_absent(entry))
        *ret_why = arena_printf(a, "no service port %lld found for service \"%.*s\"",
                                (long long)port, STR_ARG(name));
    else if (!choose(s, svc, jstr(jgetc(entry, "name")), &c))
        *ret_why = arena_printf(a, "no endpoints available for service \"%.*s\"", STR_ARG(name));
    else {
        ret->host = arena_str(a, c.address);
        ret->port = (int)c.port;
        return true;
    }
    return false;
}

static bool locate_service(struct arena *a, const struct store *s, jval ref, unsigned turn,
                           struct hook_place *ret, str *ret_why)
{
    int64_t port = jint(jgetc(ref, "port"), HTTPS_PORT);
    str path = jstr(jgetc(ref, "path")), why = STR_NONE;
    ret->server_name = arena_printf(a, "%.*s.%.*s.svc", STR_ARG(jstr(jgetc(ref, "name"))),
                                    STR_ARG(jstr(jgetc(ref, "namespace"))));
    ret->path = arena_printf(a, "%s%.*s", str_starts(path, STR("/")) ? "" : "/", STR_ARG(path));
    ret->url = arena_printf(a, "https://%.*s:%lld%.*s", STR_ARG(ret->server_name), (long long)port,
                            STR_ARG(ret->path));
    if (resolve(a, s, ref, port, turn, ret, &why))
        return true;
    *ret_why = why;
    return false;
}

bool hook_locate(struct arena *a, const struct store *s, jval hook, unsigned turn,
                 struct hook_place *ret, str *ret_why)
{
    jval config = jgetc(hook, "clientConfig"), service = jgetc(config, "service");
    *ret = (struct hook_place){.ca_pem = ca_bundle(a, config)};
    return j_has(service) ? locate_service(a, s, service, turn, ret, ret_why)
                          : locate_url(a, jstr(jgetc(config, "url")), ret, ret_why);
}
