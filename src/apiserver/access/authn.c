/* See authn.h. */
#include "apiserver/access/authn.h"

#include <openssl/crypto.h>
#include <strings.h>

#include "base/b64.h"
#include "base/hash.h"

enum { ACCOUNT_GROUPS = 3 };
#define AUTHENTICATION "authentication.k8s.io"

static const str admin_groups[] = {STR_INIT("system:masters"), STR_INIT("system:authenticated")};
static const str anonymous_groups[] = {STR_INIT("system:unauthenticated")};

int authn_init(struct authn *n, struct apiserver *a, str admin_token, str sa_key, struct err *err)
{
    struct strbuf pem = STRBUF_INIT(1 << 16);
    *n = (struct authn){.server = a};
    int r = 0;
    if (str_is_empty(sa_key)) {
        r = token_key_make(&pem, err);
        sa_key = strbuf_str(&pem);
    }
    if (r == 0) {
        n->key = token_key_new(sa_key, err);
        r = n->key ? 0 : ERR_INVALID;
    }
    if (r == 0 && !str_is_empty(admin_token))
        n->admin_token = str_dup(admin_token);
    if (pem.p)
        OPENSSL_cleanse(pem.p, pem.len);
    strbuf_done(&pem);
    return r;
}

void authn_done(struct authn *n)
{
    token_key_free(n->key);
    if (n->admin_token)
        OPENSSL_cleanse(n->admin_token, strlen(n->admin_token));
    free(n->admin_token);
    *n = (struct authn){0};
}

/* ---- certificates ---- */

static void from_certificate(const struct http_peer *peer, struct arena *a, struct identity *ret)
{
    str *groups = arena_array(a, str, peer->n_organizations + 1);
    for (size_t i = 0; i < peer->n_organizations; i++)
        groups[i] = arena_str(a, peer->organizations[i]);
    groups[peer->n_organizations] = STR("system:authenticated");
    ret->user = (struct user){arena_str(a, peer->common_name), groups, peer->n_organizations + 1};
}

/* ---- tokens ---- */

/* By their hashes, so that the time it takes says nothing about how much of it was right. */
static bool is_admin_token(const struct authn *n, str token)
{
    uint8_t got[SHA256_SIZE], want[SHA256_SIZE];
    if (!n->admin_token)
        return false;
    hash_sha256(token, got);
    hash_sha256(str_of(n->admin_token), want);
    return CRYPTO_memcmp(got, want, sizeof(got)) == 0;
}

static bool has_audience(jval audiences, str want)
{
    for (struct jiter it = jiter(audiences); jnext(&it);)
        if (str_eq(jstr(it.value), want))
            return true;
    return false;
}

static bool fits_audience(const struct token_claims *c, const str *audiences, size_t n,
                          str *ret_audience)
{
    static const str own[] = {STR_INIT(TOKEN_ISSUER)};
    if (n == 0) {
        audiences = own;
        n = ARRAY_LEN(own);
    }
    for (size_t i = 0; i < n; i++) {
        *ret_audience = audiences[i];
        /* A legacy token is good for this server only. */
        if (c->legacy ? str_is(audiences[i], TOKEN_ISSUER)
                      : has_audience(c->audiences, audiences[i]))
            return true;
    }
    return false;
}

static bool is_time(const struct authn *n, const struct token_claims *c)
{
    usec now = loop_wall(apiserver_loop(n->server));
    return c->legacy || (now < c->expires && now >= c->not_before);
}

static const struct {
    const char *word;
    const struct kind *kind;
} bound_kinds[] = {
    {"pod", &kind_pod},
    {"secret", &kind_secret},
    {"node", &kind_node},
};

/* A legacy token stands in its secret; others name the UID of what they are bound to. */
static bool bound_object_stands(const struct token_claims *c, const struct obj *o, str token)
{
    if (!c->legacy)
        return str_eq(o->uid, c->bound_uid);
    struct strbuf text = STRBUF_INIT(64 << 10);
    bool ok = b64_decode(jstr(jpath(obj_root(o), "data.token")), B64_NEWLINES, &text) &&
              str_eq(strbuf_str(&text), token);
    strbuf_done(&text);
    return ok && !o->deleting;
}

static bool is_alive(const struct authn *n, const struct token_claims *c, str token)
{
    struct store *s = apiserver_store(n->server);
    const struct obj *account = store_get(s, &kind_service_account, c->ns, c->name);
    if (!account || !str_eq(account->uid, c->uid))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(bound_kinds); i++) {
        if (!str_is(c->bound_kind, bound_kinds[i].word))
            continue;
        const struct kind *k = bound_kinds[i].kind;
        str ns = kind_is(k, KIND_NAMESPACED) ? c->ns : STR_NONE;
        const struct obj *o = store_get(s, k, ns, c->bound_name);
        return o && bound_object_stands(c, o, token);
    }
    return str_is_empty(c->bound_kind);
}

static void add_extra(struct identity *ret, str key, str value)
{
    if (str_is_empty(value) || ret->n_extra == IDENTITY_EXTRA_MAX)
        return;
    size_t i = ret->n_extra++, at = i;
    for (size_t k = 0; k < i; k++)
        if (str_eq(ret->extra[k].key, key))
            at = k + 1;
    for (; i > at; i--)
        ret->extra[i] = ret->extra[i - 1];
    ret->extra[at] = (struct identity_extra){key, value};
}

/* Groups of every service account of a namespace. */
static str *account_groups(struct arena *a, str ns)
{
    str *groups = arena_array(a, str, ACCOUNT_GROUPS);
    groups[0] = STR("system:serviceaccounts");
    groups[1] = arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(ns));
    groups[2] = STR("system:authenticated");
    return groups;
}

static void from_account(const struct token_claims *c, struct arena *a, struct identity *ret)
{
    ret->extra = arena_array(a, struct identity_extra, IDENTITY_EXTRA_MAX);
    ret->user.name =
        arena_printf(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(c->ns), STR_ARG(c->name));
    ret->user.groups = account_groups(a, c->ns);
    ret->user.n_groups = ACCOUNT_GROUPS;
    ret->uid = c->uid;
    if (!str_is_empty(c->id))
        add_extra(ret, STR("authentication.kubernetes.io/credential-id"),
                  arena_printf(a, "JTI=%.*s", STR_ARG(c->id)));
    if (str_is(c->bound_kind, "pod")) {
        add_extra(ret, STR("authentication.kubernetes.io/pod-name"), c->bound_name);
        add_extra(ret, STR("authentication.kubernetes.io/pod-uid"), c->bound_uid);
    }
}

bool authn_token(struct authn *n, str token, const str *audiences, size_t n_audiences,
                 struct arena *a, struct identity *ret, str *ret_audience)
{
    struct token_claims c;
    *ret = (struct identity){0};
    *ret_audience = n_audiences ? audiences[0] : STR(TOKEN_ISSUER);
    if (is_admin_token(n, token)) {
        ret->user = (struct user){STR("admin"), admin_groups, ARRAY_LEN(admin_groups)};
        return true;
    }
    if (bootstrap_token_is(token))
        return n_audiences == 0 && bootstrap_token_read(n, token, a, ret);
    if (!token_read(n->key, token, a, &c) || !is_time(n, &c) ||
        !fits_audience(&c, audiences, n_audiences, ret_audience) || !is_alive(n, &c, token))
        return false;
    from_account(&c, a, ret);
    return true;
}

/* The token of an Authorization header, or empty: any other scheme counts as nothing. */
static str bearer(str header)
{
    str rest = str_trim(header), scheme = str_cut(&rest, ' ');
    if (scheme.len != 6 || strncasecmp(scheme.p, "bearer", 6) != 0)
        return STR_NONE;
    return str_trim(rest);
}

/* ---- acting as somebody else ---- */

#define EXTRA_HEADER "impersonate-extra-"

struct acting {
    struct authn *authn;
    const struct http_exchange *x;
    struct arena *arena;
    const struct user *by;
    struct identity as;
};

/* The one who asks may act as this; *ret_why is set when not. */
static bool may_act(struct acting *c, struct access x, struct status **ret_why)
{
    x.verb = STR("impersonate");
    if (!*ret_why)
        *ret_why = authorize_status(c->authn->server, c->arena, c->by, &x);
    return !*ret_why;
}

/* "system:serviceaccount:NS:NAME" */
static bool is_account(str name, str *ret_ns, str *ret_name)
{
    str prefix = STR("system:serviceaccount:");
    if (!str_starts(name, prefix))
        return false;
    *ret_name = str_sub(name, prefix.len, name.len);
    *ret_ns = str_cut(ret_name, ':');
    return ret_ns->len && ret_name->len && str_find_char(*ret_name, ':') < 0;
}

static bool has_group(const struct user *u, const char *group)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (str_is(u->groups[i], group))
            return true;
    return false;
}

/* Groups that were asked for; a service account without any has its own; and everybody is either
 * authenticated or not. */
static void act_in_groups(struct acting *c, str ns, struct status **ret_why)
{
    str *groups = arena_array(c->arena, str, c->x->n_headers + 1);
    struct user *u = &c->as.user;
    for (size_t i = 0; i < c->x->n_headers; i++)
        if (str_is(c->x->headers[i].name, "impersonate-group"))
            groups[u->n_groups++] = arena_str(c->arena, c->x->headers[i].value);
    u->groups = groups;
    for (size_t i = 0; i < u->n_groups; i++)
        (void)may_act(c, (struct access){.resource = STR("groups"), .name = groups[i]}, ret_why);
    if (ns.len && !u->n_groups) {
        u->groups = account_groups(c->arena, ns);
        u->n_groups = ACCOUNT_GROUPS;
    }
    bool nobody = str_is(u->name, "system:anonymous");
    if (!has_group(u, "system:authenticated") && !has_group(u, "system:unauthenticated"))
        groups[u->n_groups++] =
            nobody ? STR("system:unauthenticated") : STR("system:authenticated");
}

static void act_with_extra(struct acting *c, struct status **ret_why)
{
    c->as.extra = arena_array(c->arena, struct identity_extra, IDENTITY_EXTRA_MAX);
    for (size_t i = 0; i < c->x->n_headers; i++) {
        const struct http_header *h = &c->x->headers[i];
        str key;
        if (!str_starts(h->name, STR(EXTRA_HEADER)) ||
            !http_unescape(str_sub(h->name, sizeof(EXTRA_HEADER) - 1, h->name.len), false, c->arena,
                           &key))
            continue;
        str value = arena_str(c->arena, h->value);
        (void)may_act(c,
                      (struct access){.group = STR(AUTHENTICATION),
                                      .resource = STR("userextras"),
                                      .sub = key,
                                      .name = value},
                      ret_why);
        add_extra(&c->as, key, value);
    }
}

static void act_as_user(struct acting *c, struct status **ret_why)
{
    str ns = STR_NONE, name = STR_NONE;
    if (is_account(c->as.user.name, &ns, &name))
        (void)may_act(c,
                      (struct access){.resource = STR("serviceaccounts"), .ns = ns, .name = name},
                      ret_why);
    else
        (void)may_act(c, (struct access){.resource = STR("users"), .name = c->as.user.name},
                      ret_why);
    act_in_groups(c, ns, ret_why);
    if (c->as.uid.len)
        (void)may_act(c,
                      (struct access){
                          .group = STR(AUTHENTICATION), .resource = STR("uids"), .name = c->as.uid},
                      ret_why);
    act_with_extra(c, ret_why);
}

static bool asks_for_more(const struct http_exchange *x)
{
    for (size_t i = 0; i < x->n_headers; i++)
        if (str_starts(x->headers[i].name, STR("impersonate-")))
            return true;
    return false;
}

static struct status *impersonate(struct authn *n, const struct http_exchange *x, struct arena *a,
                                  struct identity *who)
{
    struct status *why = NULL;
    struct acting c = {.authn = n, .x = x, .arena = a, .by = &who->user};
    c.as.user.name = arena_str(a, http_header_get(x, STR("impersonate-user")));
    c.as.uid = arena_str(a, http_header_get(x, STR("impersonate-uid")));
    if (!c.as.user.name.len)
        return asks_for_more(x)
                   ? status_internal(a,
                                     "requested groups, uid or extra without impersonating a user")
                   : NULL;
    act_as_user(&c, &why);
    if (!why)
        *who = c.as;
    return why;
}

struct status *authn_request(struct authn *n, const struct http_exchange *x, struct arena *a,
                             struct identity *ret)
{
    str token = bearer(http_header_get(x, STR("authorization"))), audience;
    *ret = (struct identity){0};
    if (!str_is_empty(x->peer->common_name)) {
        from_certificate(x->peer, a, ret);
    } else if (str_is_empty(token)) {
        ret->user = (struct user){STR("system:anonymous"), anonymous_groups, 1};
    } else if (!authn_token(n, token, NULL, 0, a, ret, &audience)) {
        return status_new(a, 401, "Unauthorized", "Unauthorized");
    }
    return impersonate(n, x, a, ret);
}
