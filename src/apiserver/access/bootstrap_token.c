/*
 * Bootstrap tokens, with which a machine asks for the certificate of a node: "ID.SECRET", kept in
 * the Secret kube-system/bootstrap-token-ID of type bootstrap.kubernetes.io/token. Whoever brings
 * one is system:bootstrap:ID in the group system:bootstrappers and those that the Secret adds.
 */
#include <openssl/crypto.h>

#include "apiserver/access/authn.h"
#include "base/b64.h"
#include "base/hash.h"

#define TYPE "bootstrap.kubernetes.io/token"
#define GROUP "system:bootstrappers"

enum { ID_LEN = 6, SECRET_LEN = 16, GROUPS_MAX = 32, VALUE_MAX = 4096 };

static bool is_plain(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return true;
}

static str value_of(struct arena *a, jval data, const char *key)
{
    struct strbuf b = STRBUF_INIT(VALUE_MAX);
    str v = b64_decode(jstr(jget(data, str_of(key))), B64_STD, &b) && !b.overflow
                ? arena_str(a, strbuf_str(&b))
                : STR_NONE;
    strbuf_done(&b);
    return v;
}

/* By their hashes: the time it takes says nothing about how much of it was right. */
static bool is_same(str got, str want)
{
    uint8_t a[SHA256_SIZE], b[SHA256_SIZE];
    hash_sha256(got, a);
    hash_sha256(want, b);
    return CRYPTO_memcmp(a, b, sizeof(a)) == 0;
}

/* Without a time it does not end; with one that cannot be read it has ended. */
static bool is_over(struct authn *n, str expiration)
{
    usec at;
    return expiration.len &&
           (!time_parse_rfc3339(expiration, &at) || at <= loop_wall(apiserver_loop(n->server)));
}

/* "system:bootstrappers:" and lower-case letters, digits, colons and dashes, the last no sign. */
static bool is_extra_group(str g)
{
    str prefix = STR(GROUP ":");
    str rest = str_starts(g, prefix) ? str_sub(g, prefix.len, g.len) : STR_NONE;
    if (!rest.len || rest.len > 256 || !is_plain(str_sub(rest, rest.len - 1, rest.len)))
        return false;
    for (size_t i = 0; i < rest.len; i++)
        if (!is_plain(str_sub(rest, i, i + 1)) && rest.p[i] != ':' && rest.p[i] != '-')
            return false;
    return true;
}

/* False: one of them is no group that a token may give. */
static bool read_groups(struct arena *a, str extra, struct user *u)
{
    str *groups = arena_array(a, str, GROUPS_MAX + 2);
    u->groups = groups;
    groups[u->n_groups++] = STR(GROUP);
    while (extra.len) {
        str g = str_trim(str_cut(&extra, ','));
        if (!g.len)
            continue;
        if (!is_extra_group(g) || u->n_groups > GROUPS_MAX)
            return false;
        groups[u->n_groups++] = g;
    }
    groups[u->n_groups++] = STR("system:authenticated");
    return true;
}

bool bootstrap_token_is(str token)
{
    str secret = token, id = str_cut(&secret, '.');
    return id.len == ID_LEN && secret.len == SECRET_LEN && is_plain(id) && is_plain(secret);
}

bool bootstrap_token_read(struct authn *n, str token, struct arena *a, struct identity *ret)
{
    str secret = token, id = str_cut(&secret, '.');
    if (!bootstrap_token_is(token))
        return false;
    const struct obj *o = store_get(apiserver_store(n->server), &kind_secret, STR("kube-system"),
                                    arena_cat(a, STR("bootstrap-token-"), id));
    if (!o || o->deleting || !str_is(jstr(jgetc(obj_root(o), "type")), TYPE))
        return false;
    jval data = jgetc(obj_root(o), "data");
    if (!is_same(value_of(a, data, "token-secret"), secret) ||
        !str_eq(value_of(a, data, "token-id"), id) ||
        !str_is(value_of(a, data, "usage-bootstrap-authentication"), "true") ||
        is_over(n, value_of(a, data, "expiration")))
        return false;
    *ret = (struct identity){.user.name = arena_cat(a, STR("system:bootstrap:"), id)};
    return read_groups(a, value_of(a, data, "auth-extra-groups"), &ret->user);
}
