/*
 * api_remote against a server of the test's own, over real connections: what goes out on the wire,
 * what is made of the answers, and what every way of failing looks like to the caller.
 */
#include "base/file.h"
#include "client/test-relay.h"
#include "client/test-server.h"
#include "client/wire.h"
#include "json/write.h"

/* OpenSSL looks at the machine's clock: 2020 to 2070. */
#define PKI_BEGIN ((usec)1577836800 * USEC_PER_SEC)
#define PKI_LIFETIME (50 * 365 * USEC_PER_DAY)

/* ---- what goes out ---- */

static void check_path(const char *prefix, struct api_request q, const char *want)
{
    struct arena a = ARENA_INIT;
    CHECK_CSTR(wire_request_path(&a, str_of(prefix), &q, q.limit, q.continue_token), want);
    arena_done(&a);
}

TEST(remote_paths_are_those_of_the_api)
{
    kinds_init();
    check_path("", sr_get_cm(), "/api/v1/namespaces/ns/configmaps/a");
    check_path("/k8s/c1",
               (struct api_request){.verb = API_GET, .kind = &kind_node, .name = STR("n")},
               "/k8s/c1/api/v1/nodes/n");
    check_path("", (struct api_request){.verb = API_LIST, .kind = &kind_lease},
               "/apis/coordination.k8s.io/v1/leases");
    check_path("",
               (struct api_request){.verb = API_LIST,
                                    .kind = CM,
                                    .ns = STR("ns"),
                                    .label_selector = STR("a in (b, c),d!=e/f"),
                                    .field_selector = STR("metadata.name=x"),
                                    .limit = 5,
                                    .rv_given = true,
                                    .rv_match = API_RV_NOT_OLDER_THAN},
               "/api/v1/namespaces/ns/configmaps?labelSelector=a%20in%20(b,%20c),d!=e%2Ff"
               "&fieldSelector=metadata.name=x&limit=5&resourceVersion=0"
               "&resourceVersionMatch=NotOlderThan");
    check_path("",
               (struct api_request){.verb = API_CREATE,
                                    .kind = CM,
                                    .ns = STR("ns"),
                                    .name = STR("a"),
                                    .field_manager = STR("me"),
                                    .dry_run = true},
               "/api/v1/namespaces/ns/configmaps?fieldManager=me&fieldValidation=Warn&dryRun=All");
    check_path("",
               (struct api_request){.verb = API_CREATE,
                                    .kind = &kind_pod,
                                    .ns = STR("ns"),
                                    .name = STR("p"),
                                    .subresource = STR("binding")},
               "/api/v1/namespaces/ns/pods/p/binding?fieldValidation=Warn");
    check_path("",
               (struct api_request){.verb = API_PATCH,
                                    .kind = &kind_pod,
                                    .ns = STR("ns"),
                                    .name = STR("p"),
                                    .subresource = STR("status"),
                                    .patch = API_PATCH_APPLY,
                                    .force = true,
                                    .field_manager = STR("me"),
                                    .field_validation = API_VALIDATE_STRICT},
               "/api/v1/namespaces/ns/pods/p/status?fieldManager=me&fieldValidation=Strict"
               "&force=true");
    check_path("",
               (struct api_request){
                   .verb = API_DELETE, .kind = CM, .ns = STR("ns"), .name = STR("../x?y")},
               "/api/v1/namespaces/ns/configmaps/..%2Fx%3Fy");
}

TEST(remote_sends_bodies_and_headers)
{
    RIG(r, PLAIN, {201, OBJECT}, {200, OBJECT}, {200, OBJECT});
    struct sr_got g;
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 201);
    CHECK_CSTR(strbuf_str(&r.heads), "accept: application/json\ncontent-type: application/json\n");
    struct api_request patch = sr_create_cm(&r);
    patch.verb = API_PATCH;
    patch.patch = API_PATCH_MERGE;
    sr_ask(&r, patch, &g);
    CHECK(str_find(strbuf_str(&r.heads), STR("application/merge-patch+json")) > 0);
    strbuf_reset(&r.log);
    sr_ask(&r,
           (struct api_request){.verb = API_DELETE,
                                .kind = CM,
                                .ns = STR("ns"),
                                .name = STR("a"),
                                .uid = STR("u1"),
                                .rv = 9,
                                .grace_seconds = 0,
                                .propagation = API_FOREGROUND},
           &g);
    CHECK_CSTR(strbuf_str(&r.log),
               "DELETE /api/v1/namespaces/ns/configmaps/a "
               "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
               "\"propagationPolicy\":\"Foreground\","
               "\"preconditions\":{\"uid\":\"u1\",\"resourceVersion\":\"9\"}}\n");
    sr_done(&r);
}

TEST(remote_says_who_it_is_and_for_whom)
{
    struct sr r;
    static const struct step steps[] = {{200, OBJECT}};
    sr_init(&r);
    r.steps = steps;
    r.n_steps = 1;
    sr_serve(&r);
    str groups[] = {STR("g1"), STR("g2")};
    r.k.token = STR("tok");
    r.k.as = STR("root");
    r.k.as_uid = STR("u");
    r.k.as_groups = groups;
    r.k.n_as_groups = 2;
    sr_open(&r, &(struct remote_options){0});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_CSTR(strbuf_str(&r.heads),
               "accept: application/json\nauthorization: Bearer tok\nimpersonate-user: root\n"
               "impersonate-uid: u\nimpersonate-group: g1\nimpersonate-group: g2\n");
    sr_done(&r);
}

/* ---- what comes back ---- */

TEST(remote_gets_an_object_as_it_is)
{
    RIG(r, PLAIN, {200, OBJECT});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    REQUIRE(g.obj);
    CHECK_CSTR(doc_text(g.obj->doc), OBJECT);
    CHECK_INT(g.obj->rv, 7);
    sr_done(&r);
}

TEST(remote_trimmed_copies_are_smaller_and_not_written_back)
{
    RIG(r, {.trim = true}, {200, OBJECT}, {200, OBJECT});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    REQUIRE(g.obj);
    CHECK_CSTR(doc_text(g.obj->doc),
               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
               "\"namespace\":\"ns\",\"resourceVersion\":\"7\",\"annotations\":{\"k\":\"v\"}},"
               "\"data\":{\"x\":\"\\u00e9\\n\"}}");
    CHECK_CSTR(jstr(jpath(obj_root(g.obj), "data.x")), "\xc3\xa9\n");
    CHECK_CSTR(obj_annotation(g.obj, STR("k")), "v");
    strbuf_reset(&r.log);
    struct sr_got p;
    sr_ask(
        &r,
        (struct api_request){
            .verb = API_UPDATE, .kind = CM, .ns = STR("ns"), .name = STR("a"), .body = g.obj->doc},
        &p);
    CHECK_INT(p.code, 405);
    CHECK(!p.unknown);
    CHECK_INT(r.log.len, 0);
    sr_done(&r);
}

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\"}}"
#define LIST(rv, token, items)                                                                  \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"

TEST(remote_large_lists_come_in_pages_and_as_one)
{
    RIG(r, PLAIN, {200, LIST("9", "t/1", ITEM("a") "," ITEM("b"))},
        {200, LIST("9", "t2", ITEM("c"))}, {200, LIST("9", "", ITEM("d"))});
    struct sr_got g;
    sr_ask(&r, (struct api_request){.verb = API_LIST, .kind = CM}, &g);
    CHECK_INT(g.code, 200);
    CHECK_INT(g.rv, 9);
    CHECK_CSTR(g.token, "");
    REQUIRE(g.n_items == 4);
    CHECK_CSTR(g.items[3]->name, "d");
    /* Items come without these; an object has them. */
    CHECK_CSTR(jstr(jgetc(obj_root(g.items[0]), "kind")), "ConfigMap");
    CHECK_CSTR(jstr(jgetc(obj_root(g.items[0]), "apiVersion")), "v1");
    CHECK_CSTR(strbuf_str(&r.log), "GET /api/v1/configmaps?limit=500\n"
                                   "GET /api/v1/configmaps?continue=t%2F1&limit=500\n"
                                   "GET /api/v1/configmaps?continue=t2&limit=500\n");
    sr_done(&r);
}

TEST(remote_list_whose_token_expired_is_fetched_whole)
{
    RIG(r, PLAIN, {200, LIST("9", "t", ITEM("a"))}, {410, FAILURE(410, "Expired")},
        {200, LIST("12", "", ITEM("b") "," ITEM("c"))});
    struct sr_got g;
    sr_ask(&r, (struct api_request){.verb = API_LIST, .kind = CM}, &g);
    CHECK_INT(g.code, 200);
    CHECK_INT(g.rv, 12);
    REQUIRE(g.n_items == 2);
    CHECK_CSTR(g.items[0]->name, "b");
    CHECK(str_ends(strbuf_str(&r.log), STR("&limit=500\nGET /api/v1/configmaps\n")));
    sr_done(&r);
}

TEST(remote_list_with_a_limit_is_the_callers_to_continue)
{
    RIG(r, PLAIN, {200, LIST("9", "t", ITEM("a"))}, {410, FAILURE(410, "Expired")});
    struct sr_got g;
    sr_ask(&r, (struct api_request){.verb = API_LIST, .kind = CM, .limit = 1}, &g);
    CHECK_CSTR(g.token, "t");
    CHECK_INT(g.n_items, 1);
    sr_ask(
        &r,
        (struct api_request){.verb = API_LIST, .kind = CM, .limit = 1, .continue_token = STR("t")},
        &g);
    CHECK_INT(g.code, 410);
    sr_done(&r);
}

TEST(remote_hands_on_warnings)
{
    RIG(r, PLAIN,
        {200, OBJECT, "warning", "299 - \"a \\\"b\\\", c\" \"Wed\", 299 - \"d\", 299 - \"d\""});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    REQUIRE(g.n_warnings == 2);
    CHECK_CSTR(g.warnings[0], "a \"b\", c");
    CHECK_CSTR(g.warnings[1], "d");
    sr_done(&r);
}

TEST(remote_refusals_are_the_servers_words)
{
    RIG(r, PLAIN, {404, FAILURE(404, "NotFound")}, {403, FAILURE(403, "Forbidden")},
        {503, "<html>busy</html>"}, {200, "{nonsense"});
    struct sr_got g;
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 404);
    CHECK_CSTR(g.message, "no");
    CHECK(!g.unknown);
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 403);
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 503);
    CHECK(g.unknown); /* it may have happened */
    CHECK(str_find(g.message, STR("answered 503: <html>busy</html>")) > 0);
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 502);
    CHECK(g.unknown);
    sr_done(&r);
}

/* ---- 429 ---- */

TEST(remote_reads_wait_as_told_and_writes_are_the_callers)
{
    RIG(r, PLAIN, {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"}, {200, OBJECT},
        {429, FAILURE(429, "TooManyRequests"), "retry-after", "86400"},
        {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"});
    struct sr_got g;
    usec before = loop_wall(r.loop);
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(loop_wall(r.loop) - before >= USEC_PER_SEC);
    sr_ask(&r, sr_get_cm(), &g); /* nobody waits for a day */
    CHECK_INT(g.code, 429);
    CHECK_INT(g.retry_after, 60);
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 429);
    CHECK_INT(g.retry_after, 1);
    CHECK(!g.unknown);
    sr_done(&r);
}

TEST(remote_of_a_command_repeats_throttled_writes)
{
    RIG(r, {.patient = true}, {429, FAILURE(429, "TooManyRequests"), "retry-after", "1"},
        {201, OBJECT}, {429, FAILURE(429, "TooManyRequests")});
    struct sr_got g;
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 201);
    /* Without Retry-After it is an answer, not a request to come back: an eviction, say. */
    sr_ask(&r, sr_create_cm(&r), &g);
    CHECK_INT(g.code, 429);
    sr_done(&r);
}

/* ---- 401 ---- */

TEST(remote_401_is_answered_with_fresh_credentials_once)
{
    static const struct step steps[] = {{200, OBJECT},
                                        {401, FAILURE(401, "Unauthorized")},
                                        {200, OBJECT},
                                        {401, FAILURE(401, "Unauthorized")}};
    struct sr r;
    struct sr_got g;
    sr_init(&r);
    r.steps = steps;
    r.n_steps = ARRAY_LEN(steps);
    sr_serve(&r);
    const char *file = arena_printf(&r.arena, "%s/token", r.dir).p;
    REQUIRE(file_write(file, STR("one"), 0600, NULL) == 0);
    r.k.token_file = str_of(file);
    sr_open(&r, &(struct remote_options){0});
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(str_find(strbuf_str(&r.heads), STR("authorization: Bearer one\n")) >= 0);
    sr_run(&r, 1100 * USEC_PER_MSEC); /* asked again at most once a second */
    REQUIRE(file_write(file, STR("two"), 0600, NULL) == 0);
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(str_find(strbuf_str(&r.heads), STR("authorization: Bearer two\n")) >= 0);
    CHECK_INT(r.at, 3);
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 401);
    CHECK(str_find(g.message, STR("does not accept the credentials of user \"ann\" (config)")) > 0);
    sr_done(&r);
}

TEST(remote_without_credentials_answers_why)
{
    RIG(r, PLAIN, {200, OBJECT});
    api_free(r.api);
    r.k.token_file = STR("/none/token");
    sr_open(&r, &(struct remote_options){0});
    struct sr_got g;
    for (int i = 0; i < 2; i++) {
        sr_ask(&r, sr_create_cm(&r), &g);
        CHECK_INT(g.code, 401);
        CHECK(!g.unknown);
        CHECK(str_find(g.message, STR("/none/token")) > 0);
    }
    CHECK_INT(r.log.len, 0);
    sr_done(&r);
}

/* ---- no answer ---- */

static void check_lost(struct sr *r, int code, bool unknown, const char *says)
{
    struct sr_got g;
    sr_ask(r, sr_create_cm(r), &g);
    CHECK_INT(g.code, code);
    CHECK_INT(g.unknown, unknown);
    if (!CHECK(str_find(g.message, str_of(says)) >= 0))
        test_note("%.*s", STR_ARG(g.message));
    CHECK(str_find_char(g.message, '\n') < 0);
    sr_ask(r, sr_get_cm(), &g);
    CHECK(!g.unknown); /* a read has no outcome */
}

TEST(remote_refused_connection_is_one_line_and_not_sent)
{
    RIG(r, PLAIN, {200, OBJECT});
    http_server_free(TAKE_PTR(r.server));
    const char *want =
        arena_printf(&r.arena, "cannot reach the API server at http://127.0.0.1:%d: ", r.k.port).p;
    check_lost(&r, 503, false, want);
    check_lost(&r, 503, false, "Connection refused");
    sr_done(&r);
}

TEST(remote_unknown_host_is_one_line_and_not_sent)
{
    RIG(r, PLAIN, {200, OBJECT});
    api_free(r.api);
    r.k.host = STR("no-such-host.invalid");
    sr_open(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "look up no-such-host.invalid");
    sr_done(&r);
}

TEST(remote_silence_is_an_unknown_outcome)
{
    RIG(r, {.timeout = 200 * USEC_PER_MSEC}, {.action = SILENT}, {.action = SILENT});
    check_lost(&r, 504, true, "does not answer");
    sr_done(&r);
}

static void on_cut(struct loop_timer *t)
{
    struct sr *r = container_of(t, struct sr, late);
    http_server_free(TAKE_PTR(r->server));
}

TEST(remote_broken_connection_is_an_unknown_outcome)
{
    RIG(r, PLAIN, {201, NULL, NULL, NULL, BREAK});
    struct sr_got g = {.rig = &r};
    struct api_request q = sr_create_cm(&r);
    q.done = sr_on_done;
    q.ctx = &g;
    api_send(r.api, &q);
    loop_timer_init(r.loop, &r.late, on_cut);
    loop_timer_set(&r.late, loop_now(r.loop) + 200 * USEC_PER_MSEC);
    (void)loop_run(r.loop);
    REQUIRE(g.n == 1);
    CHECK(g.unknown);
    CHECK_INT(g.code, 503);
    CHECK(str_find(g.message, STR("broke")) > 0);
    sr_done(&r);
}

#define TWO_WRITES                                   \
    {                                                \
        .timeout = 1500 * USEC_PER_MSEC, .writes = 2 \
    }

TEST(remote_writes_beyond_the_limit_wait_for_their_turn)
{
    RIG(r, TWO_WRITES, {.action = SILENT}, {.action = SILENT}, {200, OBJECT}, {201, OBJECT},
        {201, OBJECT});
    struct api_request writes[4], get = sr_get_cm();
    struct sr_got got[4] = {0}, g = {.rig = &r};
    for (size_t i = 0; i < 4; i++) {
        writes[i] = sr_create_cm(&r);
        writes[i].done = sr_on_done;
        writes[i].ctx = &got[i];
        got[i].rig = &r;
        api_send(r.api, &writes[i]);
    }
    /* Who only reads does not wait. */
    get.done = sr_on_done;
    get.ctx = &g;
    api_send(r.api, &get);
    while (!g.n && !r.is_late)
        sr_run(&r, 5 * USEC_PER_SEC);
    CHECK_INT(g.code, 200);
    CHECK_INT(got[2].n + got[3].n, 0);
    CHECK_INT(r.at, 3);
    while (got[0].n + got[1].n + got[2].n + got[3].n < 4 && !r.is_late)
        sr_run(&r, 5 * USEC_PER_SEC);
    CHECK_INT(got[0].code, 504);
    CHECK_INT(got[1].code, 504);
    CHECK_INT(got[2].code, 201);
    CHECK_INT(got[3].code, 201);
    sr_done(&r);
}

TEST(remote_does_not_send_what_is_too_late)
{
    RIG(r, PLAIN, {201, OBJECT}, {.action = SILENT});
    struct sr_got g;
    struct api_request q = sr_create_cm(&r);
    q.deadline = loop_now(r.loop) - 1;
    sr_ask(&r, q, &g);
    CHECK_INT(g.code, 504);
    CHECK(!g.unknown);
    CHECK_INT(r.log.len, 0);
    q.deadline = loop_now(r.loop) + 10 * USEC_PER_SEC;
    sr_ask(&r, q, &g);
    CHECK_INT(g.code, 201);
    usec before = loop_wall(r.loop);
    q.deadline = loop_now(r.loop) + 300 * USEC_PER_MSEC;
    sr_ask(&r, q, &g);
    CHECK(g.unknown);
    CHECK(loop_wall(r.loop) - before < 5 * USEC_PER_SEC);
    sr_done(&r);
}

/* ---- TLS ---- */

struct pki {
    struct pki_identity ca, other, server, client;
};

static void pki_init(struct pki *p, usec server_lifetime)
{
    *p = (struct pki){0};
    REQUIRE(pki_make_ca("ca", PKI_BEGIN, PKI_LIFETIME, &p->ca, NULL) == 0);
    REQUIRE(pki_make_ca("other", PKI_BEGIN, PKI_LIFETIME, &p->other, NULL) == 0);
    REQUIRE(pki_issue(&p->ca, "server", NULL, "IP:127.0.0.1", PKI_BEGIN, server_lifetime,
                      &p->server, NULL) == 0);
    REQUIRE(pki_issue(&p->ca, "ann", NULL, NULL, PKI_BEGIN, PKI_LIFETIME, &p->client, NULL) == 0);
}

static void pki_done(struct pki *p)
{
    pki_identity_done(&p->ca);
    pki_identity_done(&p->other);
    pki_identity_done(&p->server);
    pki_identity_done(&p->client);
}

static void serve_tls(struct sr *r, const struct pki *p, const struct step *steps, size_t n)
{
    sr_init(r);
    r->steps = steps;
    r->n_steps = n;
    r->tls = tls_server_new(strbuf_str(&p->server.cert_pem), strbuf_str(&p->server.key_pem),
                            strbuf_str(&p->ca.cert_pem), NULL);
    REQUIRE(r->tls);
    sr_serve(r);
    r->k.tls = true;
    r->k.ca_pem = strbuf_str(&p->ca.cert_pem);
}

TEST(remote_speaks_tls_with_a_client_certificate)
{
    static const struct step steps[] = {{200, OBJECT}};
    struct pki p;
    struct sr r;
    struct sr_got g;
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, steps, 1);
    r.k.cert_pem = strbuf_str(&p.client.cert_pem);
    r.k.key_pem = strbuf_str(&p.client.key_pem);
    sr_open(&r, &(struct remote_options){0});
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "ann");
    sr_done(&r);
    pki_done(&p);
}

TEST(remote_expired_and_foreign_certificates_are_one_line)
{
    static const struct step steps[] = {{200, OBJECT}, {200, OBJECT}};
    struct pki p;
    struct sr r;
    pki_init(&p, 24 * USEC_PER_HOUR); /* over since 2020 */
    serve_tls(&r, &p, steps, 2);
    sr_open(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "certificate has expired");
    api_free(r.api);
    r.k.ca_pem = strbuf_str(&p.other.cert_pem);
    sr_open(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "certificate");
    api_free(r.api);
    r.k.skip_verify = true;
    sr_open(&r, &(struct remote_options){0});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    sr_done(&r);
    pki_done(&p);
}

/* The certificate is for 127.0.0.1, and so is tls-server-name; the server's name is another, and
 * known to the proxy only. */
TEST(remote_checks_the_certificate_for_tls_server_name_also_behind_a_proxy)
{
    static const struct step steps[] = {{200, OBJECT}};
    struct pki p;
    struct sr r;
    struct relay relay;
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, steps, 1);
    relay_init(&relay, r.loop, r.k.port);
    r.k.host = STR("api.invalid");
    r.k.proxy_url = arena_printf(&r.arena, "http://127.0.0.1:%d", relay.port);
    sr_open(&r, &(struct remote_options){0});
    check_lost(&r, 503, false, "TLS: hostname mismatch");
    api_free(r.api);
    r.k.server_name = STR("127.0.0.1");
    sr_open(&r, &(struct remote_options){0});
    struct sr_got g;
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK(str_starts(strbuf_str(&relay.log), STR("CONNECT api.invalid:")));
    api_free(r.api);
    r.api = NULL;
    relay_done(&relay);
    sr_done(&r);
    pki_done(&p);
}

static void check_open(struct sr *r, const char *says)
{
    struct err err = ERR_INIT;
    struct api *api = api_remote_open(r->loop, &r->k, &(struct remote_options){0}, &err);
    CHECK(!api);
    if (!CHECK(str_find(str_of(err.message), str_of(says)) >= 0))
        test_note("%s", err.message);
}

TEST(remote_refuses_a_configuration_that_cannot_work)
{
    struct pki p;
    struct sr r;
    struct pki_identity old = {0};
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, NULL, 0);
    REQUIRE(pki_issue(&p.ca, "old", NULL, NULL, PKI_BEGIN, USEC_PER_DAY, &old, NULL) == 0);
    r.k.cert_pem = strbuf_str(&old.cert_pem);
    r.k.key_pem = strbuf_str(&old.key_pem);
    check_open(&r, "config: the client certificate of user \"ann\" expired at 2020-01-02T");
    r.k.cert_pem = strbuf_str(&p.client.cert_pem);
    check_open(&r, "config: ");
    r.k.cert_pem = r.k.key_pem = STR_NONE;
    r.k.ca_pem = STR("not a certificate");
    check_open(&r, "config: certificate authority");
    r.k.ca_pem = STR_NONE;
    r.k.proxy_url = STR("socks5://p:1080");
    check_open(&r, "config: proxy-url: only http:// proxies are supported");
    r.k.proxy_url = STR("http://p:x");
    check_open(&r, "config: proxy-url is not the URL of a proxy");
    pki_identity_done(&old);
    sr_done(&r);
    pki_done(&p);
}

/* A plug-in whose certificates change: new connections, while what is under way goes on. */
TEST(remote_follows_a_plug_ins_certificates)
{
    static const struct step steps[] = {
        {200, OBJECT}, {401, FAILURE(401, "Unauthorized")}, {200, OBJECT}};
    struct pki p;
    struct sr r;
    struct sr_got g;
    struct pki_identity bob = {0};
    pki_init(&p, PKI_LIFETIME);
    serve_tls(&r, &p, steps, ARRAY_LEN(steps));
    REQUIRE(pki_issue(&p.ca, "bob", NULL, NULL, PKI_BEGIN, PKI_LIFETIME, &bob, NULL) == 0);
    const char *script = arena_printf(&r.arena, "%s/plugin", r.dir).p;
    struct pki_identity *ids[] = {&p.client, &bob};
    const char *names[] = {"1", "2"};
    for (size_t i = 0; i < 2; i++) {
        struct jw w;
        jw_init(&w);
        jw_object(&w);
        jw_put_cstr(&w, "apiVersion", "client.authentication.k8s.io/v1");
        jw_put_cstr(&w, "kind", "ExecCredential");
        jw_put_object(&w, "status");
        jw_put_str(&w, "clientCertificateData", strbuf_str(&ids[i]->cert_pem));
        jw_put_str(&w, "clientKeyData", strbuf_str(&ids[i]->key_pem));
        jw_end(&w);
        jw_end(&w);
        const char *path = arena_printf(&r.arena, "%s/%s", r.dir, names[i]).p;
        REQUIRE(file_write(path, strbuf_str(&w.out), 0600, NULL) == 0);
        jw_done(&w);
    }
    const char *text =
        arena_printf(&r.arena, "#!/bin/sh\ncd %s && cat 1 && if test -e 2; then mv 2 1; fi\n",
                     r.dir)
            .p;
    REQUIRE(file_write(script, str_of(text), 0700, NULL) == 0);
    r.k.exec = (struct kubeconfig_exec){.command = str_of(script),
                                        .api_version = STR("client.authentication.k8s.io/v1"),
                                        .interactive = EXEC_NEVER};
    sr_open(&r, &(struct remote_options){0});
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "ann");
    sr_run(&r, 1100 * USEC_PER_MSEC);
    sr_ask(&r, sr_get_cm(), &g);
    CHECK_INT(g.code, 200);
    CHECK_CSTR(str_of(r.who), "bob");
    pki_identity_done(&bob);
    sr_done(&r);
    pki_done(&p);
}
