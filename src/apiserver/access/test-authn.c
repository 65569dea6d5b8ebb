/* Who is asking, and the questions about it: tokens, certificates, impersonation, reviews. */
#include "apiserver/front/test-front-fixture.h"

#include "base/b64.h"
#include "controllers/controllers.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/"
#define WHO "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define TOKENS "/api/v1/namespaces/ns/serviceaccounts/robot/token"

/* ---- tokens as bytes ---- */

struct keys {
    struct arena arena;
    struct strbuf pem;
    struct token_key *key;
};

static void keys_init(struct keys *k)
{
    struct err err = ERR_INIT;
    arena_init(&k->arena);
    REQUIRE(token_key_make(&k->pem, &err) == 0);
    k->key = token_key_new(strbuf_str(&k->pem), &err);
    REQUIRE(k->key);
}

static void keys_done(struct keys *k)
{
    token_key_free(k->key);
    strbuf_done(&k->pem);
    arena_done(&k->arena);
}

static const str own_audience[] = {STR_INIT(TOKEN_ISSUER)};

static struct token_claims robot_claims(void)
{
    return (struct token_claims){.ns = STR("ns"),
                                 .name = STR("robot"),
                                 .uid = STR("u-1"),
                                 .id = STR("jti-1"),
                                 .not_before = 1000 * USEC_PER_SEC,
                                 .expires = 4600 * USEC_PER_SEC};
}

TEST(token_says_what_was_signed)
{
    struct keys k;
    keys_init(&k);
    struct token_claims c = robot_claims(), got;
    c.bound_kind = STR("pod");
    c.bound_name = STR("p");
    c.bound_uid = STR("u-2");
    str t = token_sign(k.key, &c, own_audience, 1, &k.arena);
    for (int i = 0; i < 2; i++) { /* the second time from memory */
        REQUIRE(token_read(k.key, t, &k.arena, &got));
        CHECK_CSTR(got.ns, "ns");
        CHECK_CSTR(got.name, "robot");
        CHECK_CSTR(got.uid, "u-1");
        CHECK_CSTR(got.id, "jti-1");
        CHECK_CSTR(got.bound_kind, "pod");
        CHECK_CSTR(got.bound_name, "p");
        CHECK_CSTR(got.bound_uid, "u-2");
        CHECK_INT(got.expires, 4600 * USEC_PER_SEC);
        CHECK_INT(got.not_before, 1000 * USEC_PER_SEC);
        CHECK_CSTR(jstr(jat(got.audiences, 0)), TOKEN_ISSUER);
        CHECK(!got.legacy);
    }
    keys_done(&k);
}

static struct doc *part(struct keys *k, str token, size_t i)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    str one = str_cut(&token, '.');
    for (size_t j = 0; j < i; j++)
        one = str_cut(&token, '.');
    CHECK(b64_decode(one, B64_URL | B64_NO_PAD, &b));
    struct doc *d = doc_hold(&k->arena, doc_parse(strbuf_str(&b), NULL, NULL));
    strbuf_done(&b);
    REQUIRE(d);
    return d;
}

/* RFC 7515: three parts of base64url; the claims are kube-apiserver's. */
TEST(token_is_a_json_web_token)
{
    struct keys k;
    keys_init(&k);
    struct token_claims c = robot_claims();
    str t = token_sign(k.key, &c, own_audience, 1, &k.arena);
    jval head = doc_root(part(&k, t, 0)), claims = doc_root(part(&k, t, 1));
    CHECK_CSTR(jstr(jgetc(head, "alg")), "ES256");
    CHECK(jstr(jgetc(head, "kid")).len > 20);
    CHECK_CSTR(jstr(jgetc(claims, "iss")), "https://kubernetes.default.svc");
    CHECK_CSTR(jstr(jgetc(claims, "sub")), "system:serviceaccount:ns:robot");
    CHECK_INT(jint(jgetc(claims, "exp"), 0), 4600);
    CHECK_INT(jint(jgetc(claims, "iat"), 0), 1000);
    CHECK_INT(jint(jgetc(claims, "nbf"), 0), 1000);
    jval about = jget(claims, STR("kubernetes.io"));
    CHECK_CSTR(jstr(jgetc(about, "namespace")), "ns");
    CHECK_CSTR(jstr(jpath(about, "serviceaccount.name")), "robot");
    CHECK_CSTR(jstr(jpath(about, "serviceaccount.uid")), "u-1");
    str rest = t, last = str_cut(&rest, '.');
    while (rest.p)
        last = str_cut(&rest, '.');
    CHECK_INT(last.len, 86); /* r and s, 32 bytes each */
    struct doc *set = token_key_set(k.key);
    jval jwk = jat(jgetc(doc_root(set), "keys"), 0);
    CHECK_CSTR(jstr(jgetc(jwk, "kty")), "EC");
    CHECK_CSTR(jstr(jgetc(jwk, "crv")), "P-256");
    CHECK_STR(jstr(jgetc(jwk, "kid")), jstr(jgetc(head, "kid")));
    CHECK_INT(jstr(jgetc(jwk, "x")).len, 43);
    doc_unref(set);
    keys_done(&k);
}

TEST(token_that_was_touched_is_not_ours)
{
    struct keys k, other;
    keys_init(&k);
    keys_init(&other);
    struct token_claims c = robot_claims(), got;
    str t = token_sign(k.key, &c, own_audience, 1, &k.arena);
    CHECK(!token_read(other.key, t, &k.arena, &got));
    size_t wrong = 0;
    for (size_t i = 0; i < t.len; i++) {
        str bad = arena_str(&k.arena, t);
        ((char *)bad.p)[i] ^= 1;
        wrong += !token_read(k.key, bad, &k.arena, &got);
    }
    CHECK_INT(wrong, t.len);
    for (size_t n = 0; n < t.len; n += 7)
        CHECK(!token_read(k.key, str_sub(t, 0, n), &k.arena, &got));
    CHECK(!token_read(k.key, arena_printf(&k.arena, "%.*s.", STR_ARG(t)), &k.arena, &got));
    CHECK(!token_read(k.key, STR(".."), &k.arena, &got));
    /* a header that asks for another algorithm, or for none */
    static const char *const heads[] = {"{\"alg\":\"none\"}", "{\"alg\":\"HS256\"}", "{}"};
    str rest = t;
    (void)str_cut(&rest, '.');
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct strbuf b = STRBUF_INIT(4096);
        b64_encode(str_of(heads[i]), B64_URL | B64_NO_PAD, &b);
        strbuf_printf(&b, ".%.*s", STR_ARG(rest));
        CHECK(!token_read(k.key, strbuf_str(&b), &k.arena, &got));
        strbuf_done(&b);
    }
    CHECK(token_read(k.key, t, &k.arena, &got));
    keys_done(&k);
    keys_done(&other);
}

TEST(token_key_survives_as_pem)
{
    struct keys k;
    struct err err = ERR_INIT;
    keys_init(&k);
    struct token_key *again = token_key_new(strbuf_str(&k.pem), &err);
    REQUIRE(again);
    struct token_claims c = robot_claims(), got;
    CHECK(token_read(again, token_sign(k.key, &c, own_audience, 1, &k.arena), &k.arena, &got));
    token_key_free(again);
    CHECK(!token_key_new(STR("not a key"), &err));
    CHECK(err.message[0]);
    CHECK(!token_key_new(STR_NONE, &err));
    keys_done(&k);
}

/* ---- who ---- */

static void make_robot(struct web *w)
{
    CHECK_INT(create(&w->f, &kind_service_account, "ns", "{'metadata':{'name':'robot'}}"), 201);
}

/* Whoever has its token may do everything: what is refused is refused for the token. */
static void empower_robot(struct web *w)
{
    CHECK_INT(create(&w->f, &kind_cluster_role_binding, "",
                     "{'metadata':{'name':'robot'},'roleRef':{'kind':'ClusterRole',"
                     "'name':'cluster-admin'},'subjects':[{'kind':'ServiceAccount',"
                     "'name':'robot','namespace':'ns'}]}"),
              201);
}

/* A copy that lives in the fixture's arena. */
static const char *get_token(struct web *w, const char *spec)
{
    char json[1024];
    (void)snprintf(json, sizeof(json),
                   "{'kind':'TokenRequest','apiVersion':'authentication.k8s.io/v1','spec':%s}",
                   spec);
    const char *admin = w->token;
    w->token = WEB_TOKEN;
    if (!CHECK_INT(ask(w, "POST", TOKENS, json), 201))
        test_note("%.*s", STR_ARG(body(w)));
    w->token = admin;
    return arena_str(&w->f.arena, member(w, "status.token")).p;
}

TEST(authn_a_service_account_token_is_its_account)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    empower_robot(&w);
    const char *token = get_token(&w, "{}");
    CHECK_CSTR(member(&w, "kind"), "TokenRequest");
    CHECK_CSTR(member(&w, "metadata.name"), "robot");
    CHECK_CSTR(member(&w, "spec.audiences"), "[\"https://kubernetes.default.svc\"]");
    CHECK_CSTR(member(&w, "spec.expirationSeconds"), "3600");
    CHECK_CSTR(member(&w, "spec.boundObjectRef"), "null");
    CHECK(member(&w, "status.expirationTimestamp").len == 20);
    w.token = token;
    CHECK_INT(ask(&w, "POST", WHO, "{}"), 201);
    CHECK_CSTR(member(&w, "status.userInfo.username"), "system:serviceaccount:ns:robot");
    CHECK_CSTR(
        member(&w, "status.userInfo.groups"),
        "[\"system:serviceaccounts\",\"system:serviceaccounts:ns\",\"system:authenticated\"]");
    CHECK(uuid_is_valid(member(&w, "status.userInfo.uid")));
    CHECK(str_find(body(&w), STR("\"authentication.kubernetes.io/credential-id\":[\"JTI=")) > 0);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods", NULL), 200);
    web_done(&w);
}

TEST(authn_a_token_ends)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    empower_robot(&w);
    w.token = get_token(&w, "{'expirationSeconds':600}");
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 200);
    fixture_run(&w.f, 598 * USEC_PER_SEC);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 200);
    fixture_run(&w.f, 3 * USEC_PER_SEC);
    ask(&w, "GET", "/api/v1/nodes", NULL);
    check_status(&w, 401, "Unauthorized", "Unauthorized");
    web_done(&w);
}

TEST(authn_a_token_goes_with_its_account)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    empower_robot(&w);
    w.token = get_token(&w, "{}");
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 200);
    CHECK_INT(delete (&w.f, &kind_service_account, "ns", "robot"), 200);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 401);
    make_robot(&w); /* the same name is another account */
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 401);
    web_done(&w);
}

TEST(authn_a_bound_token_goes_with_what_it_is_bound_to)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    empower_robot(&w);
    CHECK_INT(create(&w.f, &kind_secret, "ns", "{'metadata':{'name':'s'}}"), 201);
    w.token = get_token(&w, "{'boundObjectRef':{'kind':'Secret','apiVersion':'v1','name':'s'}}");
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 200);
    CHECK_INT(delete (&w.f, &kind_secret, "ns", "s"), 200);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 401);
    CHECK_INT(create(&w.f, &kind_secret, "ns", "{'metadata':{'name':'s'}}"), 201);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 401);
    web_done(&w);
}

TEST(authn_a_token_for_others_is_not_for_us)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    const char *token = get_token(&w, "{'audiences':['vault']}");
    w.token = token;
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 401);
    w.token = WEB_TOKEN;
    char json[4096];
    (void)snprintf(json, sizeof(json), "{'spec':{'token':'%s','audiences':['vault','x']}}", token);
    CHECK_INT(ask(&w, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", json), 201);
    CHECK_CSTR(member(&w, "status.authenticated"), "true");
    CHECK_CSTR(member(&w, "status.audiences"), "[\"vault\"]");
    CHECK_CSTR(member(&w, "status.user.username"), "system:serviceaccount:ns:robot");
    (void)snprintf(json, sizeof(json), "{'spec':{'token':'%s'}}", token);
    CHECK_INT(ask(&w, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", json), 201);
    CHECK(member(&w, "status.authenticated").len == 0);
    CHECK_CSTR(member(&w, "status.error"), "invalid bearer token");
    web_done(&w);
}

TEST(authn_token_requests_are_checked)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    ask(&w, "POST", "/api/v1/namespaces/ns/serviceaccounts/missing/token", "{}");
    check_status(&w, 404, "NotFound", "serviceaccounts \"missing\" not found");
    ask(&w, "POST", TOKENS, "{'spec':{'expirationSeconds':60}}");
    check_status(&w, 422, "Invalid",
                 "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: "
                 "Invalid value: 60: may not specify a duration less than 10 minutes");
    ask(&w, "POST", TOKENS, "{'spec':{'boundObjectRef':{'kind':'Pod','name':'nope'}}}");
    check_status(&w, 404, "NotFound", "pods \"nope\" not found");
    CHECK_INT(ask(&w, "POST", TOKENS, "{'spec':{'boundObjectRef':{'kind':'Service'}}}"), 400);
    CHECK_INT(create(&w.f, &kind_secret, "ns", "{'metadata':{'name':'s'}}"), 201);
    CHECK_INT(ask(&w, "POST", TOKENS,
                  "{'spec':{'boundObjectRef':{'kind':'Secret','name':'s','uid':'other'}}}"),
              409);
    CHECK_INT(ask(&w, "POST", TOKENS, "{'kind':'Pod','apiVersion':'v1'}"), 400);
    CHECK_INT(ask(&w, "POST", TOKENS, "[]"), 400);
    CHECK_INT(ask(&w, "GET", TOKENS, NULL), 405);
    w.token = NULL;
    CHECK_INT(ask(&w, "POST", TOKENS, "{}"), 403);
    web_done(&w);
}

static struct status *authenticate(struct web *w, struct http_peer *peer,
                                   const struct http_header *h, size_t n, struct identity *ret)
{
    struct http_exchange x = {.headers = h, .n_headers = n, .peer = peer};
    return authn_request(&w->front->authn, &x, &w->f.arena, ret);
}

static bool is_anonymous(const struct identity *who)
{
    return str_is(who->user.name, "system:anonymous");
}

TEST(authn_client_certificates)
{
    struct web w;
    struct identity who;
    web_init(&w);
    str organizations[] = {STR("system:masters"), STR("team")};
    struct http_peer peer = {
        .common_name = STR("alice"), .organizations = organizations, .n_organizations = 2};
    CHECK(!authenticate(&w, &peer, NULL, 0, &who));
    CHECK_CSTR(who.user.name, "alice");
    REQUIRE(who.user.n_groups == 3);
    CHECK_CSTR(who.user.groups[1], "team");
    CHECK_CSTR(who.user.groups[2], "system:authenticated");
    CHECK(!is_anonymous(&who));
    web_done(&w);
}

TEST(authn_headers_that_are_no_credentials)
{
    static const struct {
        const char *value;
        int code; /* 0: somebody, 1: anonymous */
    } cases[] = {
        {"Bearer " WEB_TOKEN, 0},
        {"bearer " WEB_TOKEN, 0},
        {"Bearer   " WEB_TOKEN "  ", 0},
        {"", 1},
        {"Bearer", 1},
        {"Bearer ", 1},
        {"Basic YWxpY2U6eA==", 1},
        {"Bearer x", 401},
        {"Bearer " WEB_TOKEN "x", 401},
        {WEB_TOKEN, 1},
        {"Bearer " WEB_TOKEN " x", 401},
        {"Bearer the-admin", 401},
    };
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_header h = {STR("authorization"), str_of(cases[i].value)};
        struct http_peer peer = {.common_name = STR_NONE};
        struct identity who;
        struct status *s = authenticate(&w, &peer, &h, 1, &who);
        bool ok = cases[i].code > 1
                      ? CHECK(s && s->code == cases[i].code)
                      : CHECK(!s) && CHECK(is_anonymous(&who) == (cases[i].code == 1));
        if (!ok)
            test_note("%s", cases[i].value);
    }
    web_done(&w);
}

TEST(authn_administrators_may_act_as_others)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    w.header = "impersonate-user";
    w.header_value = "bob";
    CHECK_INT(ask(&w, "POST", WHO, "{}"), 201);
    CHECK_CSTR(member(&w, "status.userInfo.username"), "bob");
    CHECK_CSTR(member(&w, "status.userInfo.groups"), "[\"system:authenticated\"]");
    w.header = NULL;
    w.token = get_token(&w, "{}");
    w.header = "impersonate-user";
    ask(&w, "POST", WHO, "{}");
    check_status(&w, 403, "Forbidden",
                 "users \"bob\" is forbidden: User \"system:serviceaccount:ns:robot\" cannot "
                 "impersonate resource \"users\" in API group \"\" at the cluster scope");
    web_done(&w);
}

/* Lets the robot act as these, and nothing else. */
static void let_robot_act(struct web *w, const char *rules)
{
    str role = text_of(&w->f, "{'metadata':{'name':'actor'},'rules':[%s]}", rules);
    CHECK_INT(create(&w->f, &kind_cluster_role, "", role.p), 201);
    CHECK_INT(create(&w->f, &kind_cluster_role_binding, "",
                     "{'metadata':{'name':'actor'},'roleRef':{'kind':'ClusterRole',"
                     "'name':'actor'},'subjects':[{'kind':'User','name':'robot'}]}"),
              201);
}

#define ACTING(group, resource, name)                                   \
    "{'apiGroups':['" group "'],'resources':['" resource "'],'verbs':[" \
    "'impersonate'],'resourceNames':['" name "']}"

TEST(authn_acting_as_others_needs_permission_for_each_part)
{
    static const struct {
        struct http_header h[3];
        size_t n;
        const char *why; /* NULL: it may */
    } cases[] = {
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")}}, 1, NULL},
        {{{STR_INIT("impersonate-user"), STR_INIT("eve")}},
         1,
         "users \"eve\" is forbidden: User \"robot\" cannot impersonate resource \"users\" in API "
         "group \"\" at the cluster scope"},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-group"), STR_INIT("dev")}},
         2,
         NULL},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-group"), STR_INIT("system:masters")}},
         2,
         "groups \"system:masters\" is forbidden: User \"robot\" cannot impersonate resource "
         "\"groups\" in API group \"\" at the cluster scope"},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-uid"), STR_INIT("u1")}},
         2,
         NULL},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-uid"), STR_INIT("u2")}},
         2,
         "uids.authentication.k8s.io \"u2\" is forbidden: User \"robot\" cannot impersonate "
         "resource \"uids\" in API group \"authentication.k8s.io\" at the cluster scope"},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-extra-scopes"), STR_INIT("view")}},
         2,
         NULL},
        {{{STR_INIT("impersonate-user"), STR_INIT("bob")},
          {STR_INIT("impersonate-extra-scopes"), STR_INIT("all")}},
         2,
         "userextras.authentication.k8s.io \"all\" is forbidden: User \"robot\" cannot impersonate "
         "resource \"userextras/scopes\" in API group \"authentication.k8s.io\" at the cluster "
         "scope"},
        {{{STR_INIT("impersonate-user"), STR_INIT("system:serviceaccount:ns:sa")}}, 1, NULL},
        {{{STR_INIT("impersonate-user"), STR_INIT("system:serviceaccount:other:sb")}},
         1,
         "serviceaccounts \"sb\" is forbidden: User \"robot\" cannot impersonate resource "
         "\"serviceaccounts\" in API group \"\" in the namespace \"other\""},
        {{{STR_INIT("impersonate-group"), STR_INIT("dev")}},
         1,
         "requested groups, uid or extra without impersonating a user"},
    };
    struct web w;
    web_init(&w);
    let_robot_act(&w, ACTING("", "users", "bob") "," ACTING("", "groups", "dev") "," ACTING(
                          "authentication.k8s.io", "uids",
                          "u1") "," ACTING("authentication.k8s.io", "userextras/scopes",
                                           "view") "," ACTING("", "serviceaccounts", "sa"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_peer peer = {.common_name = STR("robot")};
        struct identity who;
        struct status *s = authenticate(&w, &peer, cases[i].h, cases[i].n, &who);
        if (!cases[i].why)
            (void)(CHECK(!s) && CHECK_STR(who.user.name, cases[i].h[0].value));
        else if (CHECK(s))
            CHECK_CSTR(s->message, cases[i].why);
    }
    web_done(&w);
}

TEST(authn_who_one_becomes)
{
    static const struct http_header headers[] = {
        {STR_INIT("impersonate-user"), STR_INIT("jane")},
        {STR_INIT("impersonate-group"), STR_INIT("a")},
        {STR_INIT("impersonate-extra-acme.com%2fproject"), STR_INIT("p1")},
        {STR_INIT("impersonate-extra-scopes"), STR_INIT("view")},
        {STR_INIT("impersonate-extra-acme.com%2fproject"), STR_INIT("p2")},
        {STR_INIT("impersonate-group"), STR_INIT("b")},
        {STR_INIT("impersonate-uid"), STR_INIT("7")},
    };
    struct web w;
    struct identity who;
    str masters = STR("system:masters");
    struct http_peer peer = {
        .common_name = STR("root"), .organizations = &masters, .n_organizations = 1};
    web_init(&w);
    CHECK(!authenticate(&w, &peer, headers, ARRAY_LEN(headers), &who));
    CHECK_CSTR(who.user.name, "jane");
    CHECK_CSTR(who.uid, "7");
    REQUIRE(who.user.n_groups == 3);
    CHECK_CSTR(who.user.groups[0], "a");
    CHECK_CSTR(who.user.groups[1], "b");
    CHECK_CSTR(who.user.groups[2], "system:authenticated");
    REQUIRE(who.n_extra == 3);
    CHECK_CSTR(who.extra[0].key, "acme.com/project");
    CHECK_CSTR(who.extra[1].value, "p2");
    CHECK_CSTR(who.extra[2].key, "scopes");
    /* a service account has the groups of one; nobody is not authenticated */
    struct http_header one = {STR("impersonate-user"), STR("system:serviceaccount:ns:sa")};
    CHECK(!authenticate(&w, &peer, &one, 1, &who));
    REQUIRE(who.user.n_groups == 3);
    CHECK_CSTR(who.user.groups[1], "system:serviceaccounts:ns");
    one.value = STR("system:anonymous");
    CHECK(!authenticate(&w, &peer, &one, 1, &who));
    REQUIRE(who.user.n_groups == 1);
    CHECK_CSTR(who.user.groups[0], "system:unauthenticated");
    web_done(&w);
}

/* ---- reviews ---- */

/* As recorded for a user without any rights of her own. */
TEST(review_rules_of_somebody)
{
    struct web w;
    web_init(&w);
    w.header = "impersonate-user";
    w.header_value = "alice";
    CHECK_INT(
        ask(&w, "POST", REVIEWS "selfsubjectrulesreviews", "{'spec':{'namespace':'default'}}"),
        201);
    CHECK_CSTR(member(&w, "status"),
               "{\"resourceRules\":[{\"verbs\":[\"create\"],\"apiGroups\":["
               "\"authorization.k8s.io\"],\"resources\":[\"selfsubjectaccessreviews\","
               "\"selfsubjectrulesreviews\"]},{\"verbs\":[\"create\"],\"apiGroups\":["
               "\"authentication.k8s.io\"],\"resources\":[\"selfsubjectreviews\"]}],"
               "\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/api\","
               "\"/api/*\",\"/apis\",\"/apis/*\",\"/healthz\",\"/livez\",\"/openapi\","
               "\"/openapi/*\",\"/readyz\",\"/version\",\"/version/\"]},{\"verbs\":[\"get\"],"
               "\"nonResourceURLs\":[\"/healthz\",\"/livez\",\"/readyz\",\"/version\","
               "\"/version/\"]}],\"incomplete\":false}");
    ask(&w, "POST", REVIEWS "subjectaccessreviews", "{}");
    check_status(&w, 403, "Forbidden",
                 "subjectaccessreviews.authorization.k8s.io is forbidden: User \"alice\" cannot "
                 "create resource \"subjectaccessreviews\" in API group \"authorization.k8s.io\" "
                 "at the cluster scope");
    ask(&w, "GET", "/metrics", NULL);
    check_status(&w, 403, "Forbidden", "forbidden: User \"alice\" cannot get path \"/metrics\"");
    CHECK_INT(ask(&w, "GET", "/apis/grove.io/v1alpha1", NULL), 200);
    web_done(&w);
}

TEST(review_may_they)
{
    static const struct {
        const char *path, *spec, *allowed;
    } cases[] = {
        {"subjectaccessreviews",
         "'user':'ed','resourceAttributes':{'verb':'create','resource':'pods','namespace':'ns'}",
         "true"},
        {"subjectaccessreviews",
         "'user':'ed','resourceAttributes':{'verb':'create','resource':'pods','namespace':'x'}",
         "false"},
        {"subjectaccessreviews",
         "'user':'ed','resourceAttributes':{'verb':'patch','resource':'podcliques',"
         "'group':'grove.io','subresource':'scale','namespace':'ns'}",
         "true"},
        {"subjectaccessreviews",
         "'user':'x','groups':['team'],'resourceAttributes':{'verb':'get','resource':'pods',"
         "'namespace':'ns'}",
         "true"},
        {"subjectaccessreviews",
         "'groups':['system:unauthenticated'],'nonResourceAttributes':{'verb':'get',"
         "'path':'/version'}",
         "true"},
        {"namespaces/ns/localsubjectaccessreviews",
         "'user':'ed','resourceAttributes':{'verb':'delete','resource':'pods','namespace':'ns'}",
         "true"},
        {"namespaces/ns/localsubjectaccessreviews",
         "'user':'eve','resourceAttributes':{'verb':'delete','resource':'pods','namespace':'ns'}",
         "false"},
    };
    struct web w;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_role_binding, "ns",
                     "{'metadata':{'name':'b'},'roleRef':{'kind':'ClusterRole','name':'edit'},"
                     "'subjects':[{'kind':'User','name':'ed'},{'kind':'Group','name':'team'}]}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[128], json[512];
        (void)snprintf(path, sizeof(path), REVIEWS "%s", cases[i].path);
        (void)snprintf(json, sizeof(json), "{'spec':{%s}}", cases[i].spec);
        CHECK_INT(ask(&w, "POST", path, json), 201);
        if (!CHECK_CSTR(member(&w, "status.allowed"), cases[i].allowed))
            test_note("%s", cases[i].spec);
    }
    web_done(&w);
}

TEST(review_says_why)
{
    static const struct {
        const char *user, *ns, *why;
    } cases[] = {
        {"'user':'ed'", "ns",
         "RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"edit\" to User \"ed\""},
        {"'user':'x','groups':['team']", "ns",
         "RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"edit\" to Group \"team\""},
        {"'user':'system:serviceaccount:ns:bot'", "ns",
         "RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"edit\" to ServiceAccount "
         "\"bot/ns\""},
        {"'user':'system:serviceaccount:other:bot'", "ns", ""},
        {"'user':'vic'", "anywhere",
         "RBAC: allowed by ClusterRoleBinding \"all\" of ClusterRole \"view\" to User \"vic\""},
        {"'user':'x','groups':['system:masters']", "ns", ""},
    };
    struct web w;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_role_binding, "ns",
                     "{'metadata':{'name':'b'},'roleRef':{'kind':'ClusterRole','name':'edit'},"
                     "'subjects':[{'kind':'User','name':'ed'},{'kind':'Group','name':'team'},"
                     "{'kind':'ServiceAccount','name':'bot','namespace':'ns'}]}"),
              201);
    CHECK_INT(create(&w.f, &kind_cluster_role_binding, "",
                     "{'metadata':{'name':'all'},'roleRef':{'kind':'ClusterRole','name':'view'},"
                     "'subjects':[{'kind':'User','name':'vic'}]}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char json[512];
        (void)snprintf(json, sizeof(json),
                       "{'spec':{%s,'resourceAttributes':{'verb':'get','resource':'pods',"
                       "'namespace':'%s'}}}",
                       cases[i].user, cases[i].ns);
        CHECK_INT(ask(&w, "POST", REVIEWS "subjectaccessreviews", json), 201);
        if (!CHECK_CSTR(member(&w, "status.reason"), cases[i].why))
            test_note("%s", json);
    }
    web_done(&w);
}

TEST(review_who_am_i)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "POST", WHO,
                  "{'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1'}"),
              201);
    CHECK_CSTR(member(&w, "kind"), "SelfSubjectReview");
    CHECK_CSTR(member(&w, "apiVersion"), "authentication.k8s.io/v1");
    CHECK(member(&w, "metadata.creationTimestamp").len == 20);
    CHECK_CSTR(member(&w, "status.userInfo.username"), "admin");
    CHECK_CSTR(member(&w, "status.userInfo.groups"),
               "[\"system:masters\",\"system:authenticated\"]");
    web_done(&w);
}

TEST(review_may_i)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "POST", REVIEWS "selfsubjectaccessreviews",
                  "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1',"
                  "'spec':{'resourceAttributes':{'verb':'create','resource':'pods',"
                  "'namespace':'default'}}}"),
              201);
    CHECK_CSTR(member(&w, "kind"), "SelfSubjectAccessReview");
    CHECK_CSTR(member(&w, "status.allowed"), "true");
    CHECK_CSTR(member(&w, "spec.resourceAttributes.resource"), "pods");
    CHECK_INT(ask(&w, "POST", REVIEWS "subjectaccessreviews",
                  "{'spec':{'user':'bob','nonResourceAttributes':{'verb':'get','path':'/x'}}}"),
              201);
    CHECK_CSTR(member(&w, "status.allowed"), "false");
    CHECK_INT(ask(&w, "POST", REVIEWS "namespaces/a/localsubjectaccessreviews",
                  "{'spec':{'user':'bob','resourceAttributes':{'verb':'get','resource':'pods',"
                  "'namespace':'a'}}}"),
              201);
    CHECK_INT(ask(&w, "POST", REVIEWS "namespaces/a/localsubjectaccessreviews",
                  "{'spec':{'user':'bob','resourceAttributes':{'verb':'get','namespace':'b'}}}"),
              422);
    CHECK_INT(ask(&w, "POST", REVIEWS "subjectaccessreviews",
                  "{'spec':{'resourceAttributes':{'verb':'get','resource':'pods'}}}"),
              422);
    ask(&w, "POST", REVIEWS "selfsubjectaccessreviews", "{}");
    CHECK_INT(w.code, 422);
    CHECK(str_find(member(&w, "message"),
                   STR("exactly one of nonResourceAttributes or resourceAttributes must be "
                       "specified")) > 0);
    CHECK_INT(
        ask(&w, "POST", REVIEWS "selfsubjectaccessreviews", "{'kind':'Pod','apiVersion':'v1'}"),
        400);
    web_done(&w);
}

TEST(review_what_may_i)
{
    struct web w;
    web_init(&w);
    CHECK_INT(
        ask(&w, "POST", REVIEWS "selfsubjectrulesreviews", "{'spec':{'namespace':'default'}}"),
        201);
    CHECK_CSTR(member(&w, "status.incomplete"), "false");
    /* cluster-admin; basic-user's two; discovery, and what the public may see */
    jval rules = jpath(doc_root(w.doc), "status.resourceRules");
    CHECK_INT(jlen(rules), 3);
    CHECK_CSTR(jtext(jat(rules, 0)),
               "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}");
    rules = jpath(doc_root(w.doc), "status.nonResourceRules");
    CHECK_INT(jlen(rules), 3);
    CHECK_CSTR(jtext(jat(rules, 0)), "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}");
    CHECK_INT(ask(&w, "POST", REVIEWS "selfsubjectrulesreviews", "{}"), 400);
    web_done(&w);
}

TEST(review_is_this_token_good)
{
    struct web w;
    web_init(&w);
    make_robot(&w);
    char json[4096];
    const char *token = get_token(&w, "{}");
    (void)snprintf(json, sizeof(json), "{'spec':{'token':'%s'}}", token);
    CHECK_INT(ask(&w, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", json), 201);
    CHECK_CSTR(member(&w, "status.authenticated"), "true");
    CHECK_CSTR(member(&w, "status.user.username"), "system:serviceaccount:ns:robot");
    CHECK_CSTR(member(&w, "status.audiences"), "[\"https://kubernetes.default.svc\"]");
    CHECK_INT(ask(&w, "POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                  "{'spec':{'token':'rubbish'}}"),
              201);
    CHECK_CSTR(member(&w, "status.user"), "{}");
    CHECK(member(&w, "status.error").len > 0);
    web_done(&w);
}

TEST(review_others_can_check_our_tokens)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "GET", "/.well-known/openid-configuration", NULL), 200);
    CHECK_CSTR(member(&w, "issuer"), TOKEN_ISSUER);
    CHECK_CSTR(member(&w, "id_token_signing_alg_values_supported"), "[\"ES256\"]");
    CHECK_INT(ask(&w, "GET", "/openid/v1/jwks", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), "application/jwk-set+json");
    CHECK_INT(jlen(jgetc(doc_root(w.doc), "keys")), 1);
    CHECK(str_find(body(&w), STR("\"d\":")) < 0); /* the private half stays here */
    web_done(&w);
}

/* ---- tokens in secrets ---- */

struct controllers {
    struct api *api;
    struct runtime *runtime;
    struct satokens_options options;
    struct controller *tokens;
};

static void controllers_start(struct controllers *c, struct web *w)
{
    c->api = apiserver_local(w->f.server, "tokens-controller");
    c->runtime = runtime_new(w->f.loop, c->api);
    c->options = (struct satokens_options){w->front->authn.key, STR("-- the CA --")};
    c->tokens = satokens_add(c->runtime, c->api, &c->options);
    runtime_start(c->runtime);
    fixture_run(&w->f, USEC_PER_SEC);
}

static void controllers_stop(struct controllers *c)
{
    runtime_free(c->runtime);
    api_free(c->api);
}

#define TOKEN_SECRET                                                                         \
    "{'metadata':{'name':'t','annotations':{'kubernetes.io/service-account.name':'robot'}}," \
    "'type':'kubernetes.io/service-account-token'}"

static const char *secret_value(struct web *w, const char *key)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    jval data = jgetc(doc_root(w->f.doc), "data");
    CHECK(b64_decode(jstr(jget(data, str_of(key))), B64_STD, &b));
    str s = arena_str(&w->f.arena, strbuf_str(&b));
    strbuf_done(&b);
    return s.p;
}

TEST(satokens_fill_a_secret_and_the_token_works)
{
    struct web w;
    struct controllers c;
    web_init(&w);
    make_robot(&w);
    controllers_start(&c, &w);
    CHECK_INT(create(&w.f, &kind_secret, "ns", TOKEN_SECRET), 201);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    CHECK_INT(get(&w.f, &kind_secret, "ns", "t"), 200);
    CHECK_CSTR(str_of(secret_value(&w, "ca.crt")), "-- the CA --");
    CHECK_CSTR(str_of(secret_value(&w, "namespace")), "ns");
    CHECK(uuid_is_valid(obj_annotation(w.f.obj, STR("kubernetes.io/service-account.uid"))));
    uint64_t rv = w.f.obj->rv;
    w.token = secret_value(&w, "token");
    CHECK_INT(ask(&w, "POST", WHO, "{}"), 201);
    CHECK_CSTR(member(&w, "status.userInfo.username"), "system:serviceaccount:ns:robot");
    /* left alone from then on */
    fixture_run(&w.f, 60 * USEC_PER_SEC);
    CHECK_INT(get(&w.f, &kind_secret, "ns", "t"), 200);
    CHECK_INT(w.f.obj->rv, rv);
    /* but for another CA, with the same token */
    c.options.ca_pem = STR("-- another --");
    satokens_ca_changed(c.tokens);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    CHECK_INT(get(&w.f, &kind_secret, "ns", "t"), 200);
    CHECK_CSTR(str_of(secret_value(&w, "ca.crt")), "-- another --");
    CHECK_CSTR(str_of(secret_value(&w, "token")), w.token);
    CHECK_INT(delete (&w.f, &kind_secret, "ns", "t"), 200);
    CHECK_INT(ask(&w, "POST", WHO, "{}"), 401);
    controllers_stop(&c);
    web_done(&w);
}

TEST(satokens_go_with_their_account)
{
    struct web w;
    struct controllers c;
    web_init(&w);
    make_robot(&w);
    controllers_start(&c, &w);
    CHECK_INT(create(&w.f, &kind_secret, "ns", TOKEN_SECRET), 201);
    CHECK_INT(create(&w.f, &kind_secret, "ns", "{'metadata':{'name':'plain'}}"), 201);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    CHECK_INT(delete (&w.f, &kind_service_account, "ns", "robot"), 200);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    CHECK_INT(get(&w.f, &kind_secret, "ns", "t"), 404);
    CHECK_INT(get(&w.f, &kind_secret, "ns", "plain"), 200);
    controllers_stop(&c);
    web_done(&w);
}

/* ---- bootstrap tokens ---- */

#define BOOT_SECRET(id, more)                                                               \
    "{'metadata':{'name':'bootstrap-token-" id "'},'type':'bootstrap.kubernetes.io/token'," \
    "'stringData':{'token-id':'" id "','token-secret':'0123456789abcdef',"                  \
    "'usage-bootstrap-authentication':'true'" more "}}"

static const char *who_is(struct web *w, const char *token)
{
    w->token = token;
    if (ask(w, "POST", WHO, "{}") != 201)
        return "nobody";
    str groups = member(w, "status.userInfo.groups");
    return arena_printf(&w->f.arena, "%.*s %.*s", STR_ARG(member(w, "status.userInfo.username")),
                        STR_ARG(groups))
        .p;
}

TEST(authn_bootstrap_tokens_are_good_for_joining)
{
    struct web w;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_secret, "kube-system",
                     BOOT_SECRET("abcdef", ",'auth-extra-groups':'system:bootstrappers:gpu'")),
              201);
    CHECK_CSTR(str_of(who_is(&w, "abcdef.0123456789abcdef")),
               "system:bootstrap:abcdef "
               "[\"system:bootstrappers\",\"system:bootstrappers:gpu\",\"system:authenticated\"]");
    CHECK_INT(ask(&w, "GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests", NULL), 200);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes", NULL), 403);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/kube-system/secrets", NULL), 403);
    w.token = WEB_TOKEN;
    web_done(&w);
}

TEST(authn_bootstrap_tokens_that_are_not_good)
{
    static const struct {
        const char *ns, *json, *token;
    } cases[] = {
        {"kube-system", BOOT_SECRET("abcdef", ""), "abcdef.0123456789abcdee"},
        {"kube-system", BOOT_SECRET("abcdef", ""), "abcdeg.0123456789abcdef"},
        {"kube-system", BOOT_SECRET("abcdef", ""), "abcdef.0123456789abcde"},
        {"kube-system", BOOT_SECRET("abcdef", ""), "ABCDEF.0123456789abcdef"},
        {"ns", BOOT_SECRET("abcdef", ""), "abcdef.0123456789abcdef"},
        {"kube-system", BOOT_SECRET("abcdef", ",'expiration':'2001-01-01T00:00:00Z'"),
         "abcdef.0123456789abcdef"},
        {"kube-system", BOOT_SECRET("abcdef", ",'expiration':'tomorrow'"),
         "abcdef.0123456789abcdef"},
        {"kube-system", BOOT_SECRET("abcdef", ",'auth-extra-groups':'system:masters'"),
         "abcdef.0123456789abcdef"},
        {"kube-system", BOOT_SECRET("abcdef", ",'auth-extra-groups':'system:bootstrappers:-'"),
         "abcdef.0123456789abcdef"},
        {"kube-system",
         "{'metadata':{'name':'bootstrap-token-abcdef'},'type':'bootstrap.kubernetes.io/token',"
         "'stringData':{'token-id':'abcdef','token-secret':'0123456789abcdef',"
         "'usage-bootstrap-signing':'true'}}",
         "abcdef.0123456789abcdef"},
        {"kube-system",
         "{'metadata':{'name':'bootstrap-token-abcdef'},"
         "'stringData':{'token-id':'abcdef','token-secret':'0123456789abcdef',"
         "'usage-bootstrap-authentication':'true'}}",
         "abcdef.0123456789abcdef"},
        {"kube-system",
         "{'metadata':{'name':'bootstrap-token-abcdef'},'type':'bootstrap.kubernetes.io/token',"
         "'stringData':{'token-id':'abcdeg','token-secret':'0123456789abcdef',"
         "'usage-bootstrap-authentication':'true'}}",
         "abcdef.0123456789abcdef"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct web w;
        web_init(&w);
        CHECK_INT(create(&w.f, &kind_secret, cases[i].ns, cases[i].json), 201);
        if (!CHECK_CSTR(str_of(who_is(&w, cases[i].token)), "nobody"))
            test_note("case %zu", i);
        w.token = WEB_TOKEN;
        web_done(&w);
    }
}

TEST(authn_bootstrap_tokens_end_and_are_cleared_away)
{
    struct web w;
    web_init(&w);
    struct api *cache_api = apiserver_local(w.f.server, "grove-cache");
    struct api *api = apiserver_local(w.f.server, "tokens-controller");
    struct runtime *r = runtime_new(w.f.loop, cache_api);
    bootstrap_tokens_add(r, api);
    runtime_start(r);
    str end = time_text(&w.f.arena, loop_wall(w.f.loop) + USEC_PER_HOUR);
    str json = text_of(&w.f, BOOT_SECRET("abcdef", ",'expiration':'%.*s'"), STR_ARG(end));
    CHECK_INT(create(&w.f, &kind_secret, "kube-system", json.p), 201);
    fixture_run(&w.f, 59 * USEC_PER_MIN);
    CHECK(strcmp(who_is(&w, "abcdef.0123456789abcdef"), "nobody") != 0);
    fixture_run(&w.f, 2 * USEC_PER_MIN);
    CHECK_CSTR(str_of(who_is(&w, "abcdef.0123456789abcdef")), "nobody");
    CHECK_INT(get(&w.f, &kind_secret, "kube-system", "bootstrap-token-abcdef"), 404);
    w.token = WEB_TOKEN;
    runtime_free(r);
    api_free(cache_api);
    api_free(api);
    web_done(&w);
}
