/* Certificates of nodes: who gets them by asking, who does not, and what is signed. The requests
 * are real ones; the rules are those of kube-controller-manager's approver and signers. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "apiserver/test-apiserver-fixture.h"
#include "base/b64.h"
#include "controllers/controllers.h"

#define DAY USEC_PER_DAY

struct signer {
    struct fixture f;
    struct runtime *runtime;
    struct api *cache_api, *api;
    struct pki_identity ca, server;
    struct certificates_options options;
};

static const str boot_groups[] = {STR_INIT("system:bootstrappers"),
                                  STR_INIT("system:authenticated")};
static const str node_groups[] = {STR_INIT("system:nodes"), STR_INIT("system:authenticated")};
static const struct user booter = {STR_INIT("system:bootstrap:abcdef"), boot_groups, 2};
static const struct user n1 = {STR_INIT("system:node:n1"), node_groups, 2};
static const struct user eve = {STR_INIT("eve"), &node_groups[1], 1};

static bool is_server(void *ctx, str name, bool is_ip)
{
    struct signer *s = ctx;
    return pki_is_for(strbuf_str(&s->server.cert_pem), name, is_ip);
}

static void signer_init(struct signer *s)
{
    *s = (struct signer){0};
    fixture_init(&s->f);
    usec now = loop_wall(s->f.loop);
    REQUIRE(pki_make_ca("ca", now, 3650 * DAY, &s->ca, NULL) == 0);
    REQUIRE(pki_issue(&s->ca, "server", NULL,
                      "DNS:localhost,DNS:kubernetes.default.svc,DNS:api.example,DNS:*.wild.example,"
                      "IP:10.96.0.1,IP:10.0.0.100,IP:fd00::1",
                      now, 365 * DAY, &s->server, NULL) == 0);
    s->options = (struct certificates_options){&s->ca, is_server, s};
    s->cache_api = apiserver_local(s->f.server, "grove-cache");
    s->api = apiserver_local(s->f.server, "certificate-controller");
    s->runtime = runtime_new(s->f.loop, s->cache_api);
    certificates_add(s->runtime, s->api, &s->options);
    runtime_start(s->runtime);
    fixture_run(&s->f, USEC_PER_SEC);
}

static void signer_done(struct signer *s)
{
    runtime_free(s->runtime);
    api_free(s->cache_api);
    api_free(s->api);
    pki_identity_done(&s->ca);
    pki_identity_done(&s->server);
    fixture_done(&s->f);
}

/* "O=a,CN=b" with alternative names ("DNS:x,IP:1.2.3.4", or NULL), as spec.request has it; of a
 * name "b|c" two. */
static str make_request(struct signer *s, const char *organization, const char *name,
                        const char *san)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_REQ *r = X509_REQ_new();
    X509_NAME *subject = X509_REQ_get_subject_name(r);
    const unsigned char *o = (const unsigned char *)organization;
    str names = str_of(name);
    REQUIRE(key && X509_REQ_set_pubkey(r, key) == 1);
    if (organization)
        X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, o, -1, -1, 0);
    while (names.p) {
        str one = str_cut(&names, '|');
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)one.p,
                                   (int)one.len, -1, 0);
    }
    if (san) {
        STACK_OF(X509_EXTENSION) *list = sk_X509_EXTENSION_new_null();
        sk_X509_EXTENSION_push(list, X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, san));
        X509_REQ_add_extensions(r, list);
        sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
    }
    REQUIRE(X509_REQ_sign(r, key, EVP_sha256()) > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    char *p;
    PEM_write_bio_X509_REQ(bio, r);
    long len = BIO_get_mem_data(bio, &p);
    struct strbuf b = STRBUF_INIT(1 << 16);
    b64_encode(str_n(p, (size_t)len), B64_STD, &b);
    str ret = arena_str(&s->f.arena, strbuf_str(&b));
    strbuf_done(&b);
    BIO_free(bio);
    X509_REQ_free(r);
    EVP_PKEY_free(key);
    return ret;
}

#define CLIENT_USAGES "'digital signature','client auth'"
#define SERVER_USAGES "'digital signature','server auth'"

static int ask(struct signer *s, const struct user *who, const char *signer, const char *usages,
               str request, const char *more)
{
    s->f.user = *who;
    str body = text_of(&s->f,
                       "{'apiVersion':'certificates.k8s.io/v1','kind':'CertificateSigningRequest',"
                       "'metadata':{'name':'r'},'spec':{'signerName':'kubernetes.io/%s','usages':["
                       "%s],'request':'%.*s'%s}}",
                       signer, usages, STR_ARG(request), more);
    int code = create(&s->f, &kind_signing_request, "", body.p);
    fixture_run(&s->f, USEC_PER_SEC);
    s->f.user = server_user;
    return code;
}

/* "Approved", "Approved,signed", "Approved,Failed", "" */
static const char *outcome(struct signer *s)
{
    REQUIRE(get(&s->f, &kind_signing_request, "", "r") == 200);
    str text = STR_NONE;
    for (struct jiter it = jiter(jpath(doc_root(s->f.doc), "status.conditions")); jnext(&it);)
        text = arena_cat(&s->f.arena, text, text.len ? STR(",") : STR(""),
                         jstr(jgetc(it.value, "type")));
    if (field(&s->f, "status.certificate").len)
        text = arena_cat(&s->f.arena, text, STR(",signed"));
    return arena_str(&s->f.arena, text).p;
}

static X509 *certificate(struct signer *s)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    REQUIRE(b64_decode(field(&s->f, "status.certificate"), B64_STD, &b));
    BIO *bio = BIO_new_mem_buf(b.p, (int)b.len);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    strbuf_done(&b);
    REQUIRE(cert);
    return cert;
}

static void make_nodes(struct signer *s)
{
    s->f.user = server_user;
    REQUIRE(create(&s->f, &kind_node, "",
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'}}") == 201);
    REQUIRE(create(&s->f, &kind_node, "",
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n2'}}") == 201);
    REQUIRE(patch_sub(&s->f, &kind_node, "", "n2", "status", API_PATCH_MERGE,
                      "{'status':{'addresses':[{'type':'InternalIP','address':'10.0.0.2'}]}}") ==
            200);
}

static void tell_addresses(struct signer *s, const char *ip)
{
    str body = text_of(&s->f,
                       "{'status':{'addresses':[{'type':'InternalIP','address':'%s'},"
                       "{'type':'Hostname','address':'host1'}]}}",
                       ip);
    REQUIRE(patch_sub(&s->f, &kind_node, "", "n1", "status", API_PATCH_MERGE, body.p) == 200);
    fixture_run(&s->f, USEC_PER_SEC);
}

TEST(a_machine_with_a_bootstrap_token_becomes_a_node)
{
    struct signer s;
    signer_init(&s);
    str request = make_request(&s, "system:nodes", "system:node:n1", NULL);
    CHECK_INT(ask(&s, &booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, request, ""), 201);
    CHECK_CSTR(str_of(outcome(&s)), "Approved,signed");
    X509 *cert = certificate(&s);
    char name[64];
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof(name));
    CHECK_CSTR(str_of(name), "system:node:n1");
    CHECK_INT(X509_get_extended_key_usage(cert), XKU_SSL_CLIENT);
    BIO *bio = BIO_new_mem_buf(s.ca.cert_pem.p, (int)s.ca.cert_pem.len);
    X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    CHECK_INT(X509_verify(cert, X509_get0_pubkey(ca)), 1);
    X509_free(ca);
    BIO_free(bio);
    X509_free(cert);
    signer_done(&s);
}

TEST(a_node_renews_its_own_certificate_for_as_long_as_it_asks)
{
    struct signer s;
    signer_init(&s);
    str request = make_request(&s, "system:nodes", "system:node:n1", NULL);
    CHECK_INT(ask(&s, &n1, "kube-apiserver-client-kubelet", CLIENT_USAGES, request,
                  ",'expirationSeconds':3600"),
              201);
    CHECK_CSTR(str_of(outcome(&s)), "Approved,signed");
    X509 *cert = certificate(&s);
    int days, seconds;
    ASN1_TIME *now = ASN1_TIME_set(NULL, (time_t)(loop_wall(s.f.loop) / USEC_PER_SEC));
    ASN1_TIME_diff(&days, &seconds, now, X509_get0_notAfter(cert));
    CHECK(days == 0 && seconds > 3500 && seconds <= 3600);
    ASN1_TIME_free(now);
    X509_free(cert);
    signer_done(&s);
}

TEST(nobody_gets_a_certificate_of_a_node_by_other_ways)
{
    static const struct {
        const struct user *who;
        const char *signer, *usages, *organization, *name, *san;
        int code;
        const char *outcome;
    } cases[] = {
        /* a user without the role; a node that asks for another node */
        {&eve, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:nodes", "system:node:n1",
         NULL, 403, NULL},
        {&n1, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:nodes", "system:node:n2",
         NULL, 403, NULL},
        {&n1, "kubelet-serving", SERVER_USAGES, "system:nodes", "system:node:n2", "DNS:n2", 403,
         NULL},
        /* not what such a certificate is */
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:masters",
         "system:node:n1", NULL, 201, ""},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, NULL, "system:node:n1", NULL, 201,
         ""},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:nodes", "admin", NULL,
         201, ""},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:nodes",
         "system:node:", NULL, 201, ""},
        {&booter, "kube-apiserver-client-kubelet", SERVER_USAGES, "system:nodes", "system:node:n1",
         NULL, 201, ""},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES ",'cert sign'", "system:nodes",
         "system:node:n1", NULL, 201, ""},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:nodes", "system:node:n1",
         "DNS:n1", 201, ""},
        /* another signer */
        {&booter, "kube-apiserver-client", CLIENT_USAGES, "system:nodes", "system:node:n1", NULL,
         201, ""},
        {&booter, "legacy-unknown", CLIENT_USAGES, "system:nodes", "system:node:n1", NULL, 201, ""},
        {&booter, "kubelet-serving", SERVER_USAGES, "system:nodes", "system:node:n1", "DNS:n1", 201,
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct signer s;
        signer_init(&s);
        make_nodes(&s);
        str request = make_request(&s, cases[i].organization, cases[i].name, cases[i].san);
        int code = ask(&s, cases[i].who, cases[i].signer, cases[i].usages, request, "");
        if (!CHECK_INT(code, cases[i].code) ||
            (cases[i].outcome && !CHECK_CSTR(str_of(outcome(&s)), cases[i].outcome)))
            test_note("case %zu", i);
        signer_done(&s);
    }
}

/* The approver, the signer and the login would each have to take the same one of two names. */
TEST(a_subject_with_two_common_names_is_never_signed)
{
    static const struct {
        const struct user *who;
        const char *signer, *usages, *names, *san;
    } cases[] = {
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "admin|system:node:n1", NULL},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:node:n1|admin", NULL},
        {&booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:node:n1|system:node:n1",
         NULL},
        {&n1, "kube-apiserver-client-kubelet", CLIENT_USAGES, "admin|system:node:n1", NULL},
        {&n1, "kube-apiserver-client-kubelet", CLIENT_USAGES, "system:node:n1|system:node:n2",
         NULL},
        {&n1, "kubelet-serving", SERVER_USAGES, "admin|system:node:n1", "DNS:n1"},
        {&n1, "kubelet-serving", SERVER_USAGES, "system:node:n1|admin", "DNS:n1"},
        {&booter, "kube-apiserver-client", CLIENT_USAGES, "jane|admin", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct signer s;
        signer_init(&s);
        make_nodes(&s);
        str request = make_request(&s, "system:nodes", cases[i].names, cases[i].san);
        CHECK_INT(ask(&s, cases[i].who, cases[i].signer, cases[i].usages, request, ""), 201);
        bool pending = CHECK_CSTR(str_of(outcome(&s)), "");
        REQUIRE(patch_sub(&s.f, &kind_signing_request, "", "r", "approval", API_PATCH_MERGE,
                          "{'status':{'conditions':[{'type':'Approved','status':'True','reason':"
                          "'Mine'}]}}") == 200);
        fixture_run(&s.f, USEC_PER_SEC);
        if (!CHECK_CSTR(str_of(outcome(&s)), "Approved,Failed") || !pending)
            test_note("case %zu", i);
        signer_done(&s);
    }
}

TEST(a_serving_certificate_has_the_names_that_the_node_tells)
{
    static const struct {
        const char *san, *address, *outcome;
    } cases[] = {
        {"DNS:host1,IP:10.0.0.1", "10.0.0.1", "Approved,signed"},
        {"DNS:n1", "10.0.0.1", "Approved,signed"},
        {"DNS:host1,IP:10.0.0.9", "10.0.0.1", ""},
        {"DNS:kubernetes.default.svc", "10.0.0.1", ""},
        {"DNS:n2", "10.0.0.1", ""},
        {"IP:10.0.0.2", "10.0.0.2", ""}, /* the address of another node, whatever it says */
        {"DNS:host1,email:a@b.example", "10.0.0.1", ""},
        {"DNS:host1,URI:spiffe://x", "10.0.0.1", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct signer s;
        signer_init(&s);
        make_nodes(&s);
        tell_addresses(&s, cases[i].address);
        str request = make_request(&s, "system:nodes", "system:node:n1", cases[i].san);
        CHECK_INT(ask(&s, &n1, "kubelet-serving", SERVER_USAGES, request, ""), 201);
        if (!CHECK_CSTR(str_of(outcome(&s)), cases[i].outcome))
            test_note("case %zu", i);
        signer_done(&s);
    }
}

/* A node tells its addresses itself; these it may tell, and must be told by a person that they are
 * its own. */
TEST(a_serving_certificate_for_names_of_the_server_is_left_to_a_person)
{
    static const struct {
        const char *san, *type, *address, *outcome;
    } cases[] = {
        {"DNS:kubernetes.default.svc", "Hostname", "kubernetes.default.svc", ""},
        {"DNS:api.example", "Hostname", "api.example", ""},
        {"DNS:API.example", "Hostname", "API.example", ""},
        {"DNS:n1,DNS:api.example", "ExternalDNS", "api.example", ""},
        {"DNS:a.wild.example", "Hostname", "a.wild.example", ""},
        {"DNS:*.other.example", "Hostname", "*.other.example", ""},
        {"DNS:Host1.example", "Hostname", "Host1.example", ""},
        {"DNS:localhost", "Hostname", "localhost", ""},
        {"DNS:hook.ns.svc", "Hostname", "hook.ns.svc", ""},
        {"DNS:10.0.0.1", "InternalIP", "10.0.0.1", ""},
        {"DNS:10.0.0.1", "Hostname", "10.0.0.1", ""},
        {"IP:10.96.0.1", "InternalIP", "10.96.0.1", ""},
        {"IP:10.0.0.100", "InternalIP", "10.0.0.100", ""},
        {"IP:fd00::1", "InternalIP", "fd00:0:0:0:0:0:0:1", ""},
        {"IP:127.0.0.1", "InternalIP", "127.0.0.1", ""},
        {"IP:127.1.2.3", "InternalIP", "127.1.2.3", ""},
        {"IP:::1", "InternalIP", "::1", ""},
        {"IP:0.0.0.0", "InternalIP", "0.0.0.0", ""},
        {"IP:::ffff:10.0.0.100", "InternalIP", "::ffff:10.0.0.100", ""},
        {"IP:10.0.0.1", "Hostname", "10.0.0.1", ""},
        /* what is its own is not mistaken for something else's */
        {"IP:fd00::2", "InternalIP", "FD00:0::2", "Approved,signed"},
        {"DNS:host.example", "InternalDNS", "Host.Example", "Approved,signed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct signer s;
        signer_init(&s);
        make_nodes(&s);
        str body = text_of(&s.f, "{'status':{'addresses':[{'type':'%s','address':'%s'}]}}",
                           cases[i].type, cases[i].address);
        REQUIRE(patch_sub(&s.f, &kind_node, "", "n1", "status", API_PATCH_MERGE, body.p) == 200);
        str request = make_request(&s, "system:nodes", "system:node:n1", cases[i].san);
        CHECK_INT(ask(&s, &n1, "kubelet-serving", SERVER_USAGES, request, ""), 201);
        if (!CHECK_CSTR(str_of(outcome(&s)), cases[i].outcome))
            test_note("case %zu", i);
        signer_done(&s);
    }
}

TEST(a_serving_certificate_waits_for_the_addresses)
{
    struct signer s;
    signer_init(&s);
    make_nodes(&s);
    str request = make_request(&s, "system:nodes", "system:node:n1", "IP:10.0.0.1");
    CHECK_INT(ask(&s, &n1, "kubelet-serving", SERVER_USAGES, request, ""), 201);
    CHECK_CSTR(str_of(outcome(&s)), "");
    tell_addresses(&s, "10.0.0.1");
    CHECK_CSTR(str_of(outcome(&s)), "Approved,signed");
    X509 *cert = certificate(&s);
    CHECK_INT(X509_get_extended_key_usage(cert), XKU_SSL_SERVER);
    CHECK_INT(X509_check_ip_asc(cert, "10.0.0.1", 0), 1);
    X509_free(cert);
    signer_done(&s);
}

TEST(what_somebody_approves_is_signed_unless_it_is_no_such_certificate)
{
    static const struct {
        const char *signer, *organization, *outcome;
    } cases[] = {
        {"kube-apiserver-client", "dev", "Approved,signed"},
        {"kube-apiserver-client-kubelet", "dev", "Approved,Failed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct signer s;
        signer_init(&s);
        str request = make_request(&s, cases[i].organization, "jane", NULL);
        CHECK_INT(ask(&s, &server_user, cases[i].signer, CLIENT_USAGES, request, ""), 201);
        CHECK_CSTR(str_of(outcome(&s)), "");
        REQUIRE(patch_sub(&s.f, &kind_signing_request, "", "r", "approval", API_PATCH_MERGE,
                          "{'status':{'conditions':[{'type':'Approved','status':'True','reason':"
                          "'Mine'}]}}") == 200);
        fixture_run(&s.f, USEC_PER_SEC);
        CHECK_CSTR(str_of(outcome(&s)), cases[i].outcome);
        signer_done(&s);
    }
}

TEST(old_requests_go)
{
    struct signer s;
    signer_init(&s);
    str request = make_request(&s, "system:nodes", "system:node:n1", NULL);
    CHECK_INT(ask(&s, &booter, "kube-apiserver-client-kubelet", CLIENT_USAGES, request, ""), 201);
    fixture_run(&s.f, 59 * USEC_PER_MIN);
    CHECK_INT(get(&s.f, &kind_signing_request, "", "r"), 200);
    fixture_run(&s.f, 2 * USEC_PER_MIN);
    CHECK_INT(get(&s.f, &kind_signing_request, "", "r"), 404);
    request = make_request(&s, "dev", "jane", NULL);
    CHECK_INT(ask(&s, &booter, "kube-apiserver-client", CLIENT_USAGES, request, ""), 201);
    fixture_run(&s.f, 23 * USEC_PER_HOUR);
    CHECK_INT(get(&s.f, &kind_signing_request, "", "r"), 200);
    fixture_run(&s.f, 2 * USEC_PER_HOUR);
    CHECK_INT(get(&s.f, &kind_signing_request, "", "r"), 404);
    signer_done(&s);
}
