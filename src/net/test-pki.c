/* Certificates, looked at with OpenSSL's own eyes. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/test.h"
#include "net/tls_impl.h"

#define NOW ((usec)1790000000 * USEC_PER_SEC)

struct pki {
    struct pki_identity ca, server, client;
    X509 *ca_cert, *server_cert, *client_cert;
};

static X509 *parse_cert(const struct pki_identity *id)
{
    BIO *bio = tls_pem_bio(strbuf_str(&id->cert_pem));
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    REQUIRE(cert);
    return cert;
}

static void pki_init(struct pki *p)
{
    static const char *const groups[] = {"system:masters", "system:nodes", NULL};
    *p = (struct pki){0};
    struct err err = ERR_INIT;
    REQUIRE(pki_make_ca("grove-ca", NOW, 10 * USEC_PER_DAY, &p->ca, &err) == 0);
    REQUIRE(pki_issue(&p->ca, "grove", NULL, "DNS:localhost,DNS:grove.local,IP:127.0.0.1,IP:::1",
                      NOW, USEC_PER_DAY, &p->server, &err) == 0);
    REQUIRE(pki_issue(&p->ca, "admin", groups, NULL, NOW, USEC_PER_DAY, &p->client, &err) == 0);
    p->ca_cert = parse_cert(&p->ca);
    p->server_cert = parse_cert(&p->server);
    p->client_cert = parse_cert(&p->client);
}

static void pki_done(struct pki *p)
{
    X509_free(p->ca_cert);
    X509_free(p->server_cert);
    X509_free(p->client_cert);
    pki_identity_done(&p->ca);
    pki_identity_done(&p->server);
    pki_identity_done(&p->client);
}

static int verify(struct pki *p, X509 *cert, int purpose, usec at)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_add_cert(store, p->ca_cert);
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_STORE_CTX_init(ctx, store, cert, NULL);
    X509_STORE_CTX_set_purpose(ctx, purpose);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), (time_t)(at / USEC_PER_SEC));
    (void)X509_verify_cert(ctx);
    int r = X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return r;
}

TEST(issued_certificates_verify_for_their_purpose_and_time)
{
    struct pki p;
    pki_init(&p);
    CHECK_INT(verify(&p, p.server_cert, X509_PURPOSE_SSL_SERVER, NOW), X509_V_OK);
    CHECK_INT(verify(&p, p.client_cert, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
    CHECK_INT(verify(&p, p.client_cert, X509_PURPOSE_SSL_SERVER, NOW), X509_V_ERR_INVALID_PURPOSE);
    /* whoever reads a server's key is not a user by it */
    CHECK_INT(verify(&p, p.server_cert, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_ERR_INVALID_PURPOSE);
    CHECK_INT(verify(&p, p.server_cert, X509_PURPOSE_SSL_SERVER, NOW + 2 * USEC_PER_DAY),
              X509_V_ERR_CERT_HAS_EXPIRED);
    CHECK_INT(verify(&p, p.server_cert, X509_PURPOSE_SSL_SERVER, NOW - USEC_PER_MIN), X509_V_OK);
    CHECK_INT(verify(&p, p.server_cert, X509_PURPOSE_SSL_SERVER, NOW - USEC_PER_HOUR),
              X509_V_ERR_CERT_NOT_YET_VALID);
    pki_done(&p);
}

TEST(a_certificate_of_another_ca_does_not_verify)
{
    struct pki p, q;
    pki_init(&p);
    pki_init(&q);
    CHECK(verify(&p, q.client_cert, X509_PURPOSE_SSL_CLIENT, NOW) != X509_V_OK);
    pki_done(&p);
    pki_done(&q);
}

TEST(the_ca_is_one_and_the_others_are_not)
{
    struct pki p;
    pki_init(&p);
    CHECK_INT(X509_check_ca(p.ca_cert), 1);
    CHECK_INT(X509_check_ca(p.server_cert), 0);
    CHECK_INT(X509_check_ca(p.client_cert), 0);
    CHECK(X509_get_key_usage(p.ca_cert) & KU_KEY_CERT_SIGN);
    CHECK(!(X509_get_key_usage(p.client_cert) & KU_KEY_CERT_SIGN));
    pki_done(&p);
}

TEST(names_and_addresses_are_in_the_server_certificate)
{
    struct pki p;
    pki_init(&p);
    CHECK_INT(X509_check_host(p.server_cert, "localhost", 0, 0, NULL), 1);
    CHECK_INT(X509_check_host(p.server_cert, "grove.local", 0, 0, NULL), 1);
    CHECK_INT(X509_check_host(p.server_cert, "example.org", 0, 0, NULL), 0);
    CHECK_INT(X509_check_ip_asc(p.server_cert, "127.0.0.1", 0), 1);
    CHECK_INT(X509_check_ip_asc(p.server_cert, "::1", 0), 1);
    CHECK_INT(X509_check_ip_asc(p.server_cert, "10.0.0.1", 0), 0);
    pki_done(&p);
}

TEST(the_subject_has_common_name_and_organizations)
{
    struct pki p;
    pki_init(&p);
    char *line = X509_NAME_oneline(X509_get_subject_name(p.client_cert), NULL, 0);
    CHECK_CSTR(str_of(line), "/O=system:masters/O=system:nodes/CN=admin");
    OPENSSL_free(line);
    pki_done(&p);
}

TEST(keys_are_p256_in_pkcs8)
{
    struct pki p;
    pki_init(&p);
    CHECK(str_starts(strbuf_str(&p.server.key_pem), STR("-----BEGIN PRIVATE KEY-----\n")));
    EVP_PKEY *key = X509_get0_pubkey(p.server_cert);
    char group[32] = "";
    CHECK(EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1);
    CHECK_CSTR(str_of(group), "prime256v1");
    pki_done(&p);
}

TEST(serial_numbers_differ)
{
    struct pki p;
    pki_init(&p);
    const ASN1_INTEGER *a = X509_get0_serialNumber(p.server_cert);
    const ASN1_INTEGER *b = X509_get0_serialNumber(p.client_cert);
    CHECK(ASN1_INTEGER_cmp(a, b) != 0);
    CHECK_INT(ASN1_STRING_length(a), 16);
    pki_done(&p);
}

TEST(the_end_of_a_certificate_can_be_asked)
{
    struct pki p;
    pki_init(&p);
    usec end = 0;
    struct err err = ERR_INIT;
    CHECK_INT(pki_not_after(strbuf_str(&p.server.cert_pem), &end, &err), 0);
    CHECK_INT(end, NOW + USEC_PER_DAY);
    CHECK_INT(pki_not_after(STR("nonsense"), &end, &err), ERR_INVALID);
    pki_done(&p);
}

TEST(bad_names_and_keys_are_refused)
{
    struct pki p;
    pki_init(&p);
    struct err err = ERR_INIT;
    struct pki_identity id = {0};
    CHECK(pki_issue(&p.ca, "x", NULL, "DNS:a,NONSENSE:b", NOW, USEC_PER_DAY, &id, &err) < 0);
    CHECK(err.message[0]);
    struct pki_identity no_ca = {0};
    CHECK(pki_issue(&no_ca, "x", NULL, NULL, NOW, USEC_PER_DAY, &id, &err) < 0);
    str cert = strbuf_str(&p.server.cert_pem), key = strbuf_str(&p.server.key_pem);
    CHECK(!tls_server_new(cert, strbuf_str(&p.client.key_pem), STR_NONE, &err));
    CHECK(str_find(str_of(err.message), STR("key")) >= 0);
    CHECK(!tls_server_new(key, key, STR_NONE, &err));
    CHECK(!tls_server_new(cert, key, STR("nonsense"), &err));
    CHECK(!tls_client_new(STR("nonsense"), STR_NONE, STR_NONE, false, &err));
    CHECK(!tls_client_new(strbuf_str(&p.ca.cert_pem), cert, STR_NONE, false, &err));
    struct tls_server *ok = tls_server_new(cert, key, STR_NONE, &err);
    CHECK(ok);
    tls_server_free(ok);
    pki_done(&p);
}

/* Who trusts the old one trusts what is signed with the new one, and the other way round. */
TEST(a_renewed_ca_is_the_same_for_longer)
{
    struct pki p;
    pki_init(&p);
    struct err err = ERR_INIT;
    usec later = NOW + 9 * USEC_PER_DAY, end = 0;
    struct pki_identity ca = {0}, id = {0};
    REQUIRE(pki_renew_ca(&p.ca, later, 10 * USEC_PER_DAY, &ca, &err) == 0);
    REQUIRE(pki_issue(&ca, "new", NULL, "IP:127.0.0.1", later, 2 * USEC_PER_DAY, &id, &err) == 0);
    CHECK(str_eq(strbuf_str(&ca.key_pem), strbuf_str(&p.ca.key_pem)));
    CHECK_INT(pki_not_after(strbuf_str(&ca.cert_pem), &end, &err), 0);
    CHECK_INT(end, NOW + 19 * USEC_PER_DAY);
    X509 *fresh = parse_cert(&id), *renewed = parse_cert(&ca), *old = p.ca_cert;
    CHECK_INT(X509_check_ca(renewed), 1);
    CHECK(ASN1_INTEGER_cmp(X509_get0_serialNumber(renewed), X509_get0_serialNumber(old)) != 0);
    CHECK_INT(verify(&p, fresh, X509_PURPOSE_SSL_SERVER, later), X509_V_OK);
    p.ca_cert = renewed;
    CHECK_INT(verify(&p, fresh, X509_PURPOSE_SSL_SERVER, later + USEC_PER_DAY), X509_V_OK);
    /* Made before the renewed one begins, so looked at in the time of both. */
    CHECK_INT(verify(&p, p.client_cert, X509_PURPOSE_SSL_CLIENT, later),
              X509_V_ERR_CERT_HAS_EXPIRED);
    struct pki_identity other = {0};
    REQUIRE(pki_issue(&p.ca, "old", NULL, NULL, NOW, 12 * USEC_PER_DAY, &other, &err) == 0);
    X509 *long_lived = parse_cert(&other);
    CHECK_INT(verify(&p, long_lived, X509_PURPOSE_SSL_CLIENT, later + 2 * USEC_PER_DAY), X509_V_OK);
    p.ca_cert = old;
    CHECK_INT(verify(&p, long_lived, X509_PURPOSE_SSL_CLIENT, later + 2 * USEC_PER_DAY),
              X509_V_ERR_CERT_HAS_EXPIRED);
    X509_free(long_lived);
    X509_free(fresh);
    X509_free(renewed);
    pki_identity_done(&other);
    pki_identity_done(&ca);
    pki_identity_done(&id);
    pki_done(&p);
}

TEST(a_ca_is_renewed_with_its_own_key_only)
{
    struct pki p;
    pki_init(&p);
    struct err err = ERR_INIT;
    struct pki_identity ret = {0}, none = {0};
    struct pki_identity mixed = {.cert_pem = p.ca.cert_pem, .key_pem = p.server.key_pem};
    CHECK(pki_renew_ca(&mixed, NOW, USEC_PER_DAY, &ret, &err) < 0);
    CHECK(pki_renew_ca(&none, NOW, USEC_PER_DAY, &ret, &err) < 0);
    CHECK(!ret.cert_pem.p && !ret.key_pem.p);
    pki_done(&p);
}
