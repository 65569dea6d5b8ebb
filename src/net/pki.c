/*
 * The small public-key infrastructure of an embedded control plane: a self-signed P-256 CA and the
 * certificates it issues, all in PEM, keys as PKCS#8. Serial numbers are 128 random bits of
 * OpenSSL's; times are given by the caller, with five minutes of slack before `now` so that a
 * client whose clock is a little behind accepts a certificate made a moment ago.
 */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "net/tls_impl.h"

enum { MAX_PEM = 1 << 20, SERIAL_BITS = 127 };
#define CLOCK_SLACK (5 * USEC_PER_MIN)

DEFINE_CLEANUP(BIO *, BIO_free_all)
DEFINE_CLEANUP(X509 *, X509_free)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)

void pki_identity_done(struct pki_identity *id)
{
    if (id->key_pem.p)
        OPENSSL_cleanse(id->key_pem.p, id->key_pem.len);
    strbuf_done(&id->cert_pem);
    strbuf_done(&id->key_pem);
}

/* ---- PEM ---- */

static void bio_into(BIO *bio, struct strbuf *ret)
{
    char *p = NULL;
    long n = BIO_get_mem_data(bio, &p);
    strbuf_init(ret, MAX_PEM);
    strbuf_add(ret, p, n > 0 ? (size_t)n : 0);
    BUG_ON(ret->overflow);
}

static int write_pem(X509 *cert, EVP_PKEY *key, struct pki_identity *ret, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *c = BIO_new(BIO_s_mem());
    CLEANUP(BIO_free_all_p) BIO *k = BIO_new(BIO_s_secmem());
    if (!c || !k || PEM_write_bio_X509(c, cert) != 1 ||
        PEM_write_bio_PKCS8PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) != 1)
        return tls_err(err, ERR_INTERNAL, "write PEM");
    bio_into(c, &ret->cert_pem);
    bio_into(k, &ret->key_pem);
    return 0;
}

static X509 *read_cert(str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    if (!cert)
        tls_err(err, ERR_INVALID, "not a PEM certificate");
    return cert;
}

static EVP_PKEY *read_key(str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"");
    if (!key)
        tls_err(err, ERR_INVALID, "not a PEM private key");
    return key;
}

/* ---- certificates ---- */

static bool set_serial(X509 *cert)
{
    BIGNUM *bn = BN_new();
    bool ok = bn && BN_rand(bn, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(cert)) != NULL;
    BN_free(bn);
    return ok;
}

static bool set_times(X509 *cert, usec now, usec lifetime)
{
    time_t from = (time_t)((now - CLOCK_SLACK) / USEC_PER_SEC);
    time_t to = (time_t)((now + lifetime) / USEC_PER_SEC);
    return ASN1_TIME_set(X509_getm_notBefore(cert), from) &&
           ASN1_TIME_set(X509_getm_notAfter(cert), to);
}

static bool add_name(X509_NAME *name, int nid, const char *text)
{
    return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, (const unsigned char *)text, -1, -1,
                                      0) == 1;
}

static bool set_subject(X509 *cert, const char *common_name, const char *const *organizations)
{
    X509_NAME *name = X509_get_subject_name(cert);
    bool ok = true;
    for (; ok && organizations && *organizations; organizations++)
        ok = add_name(name, NID_organizationName, *organizations);
    return ok && add_name(name, NID_commonName, common_name);
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

struct extension {
    int nid;
    const char *value;
};

static const struct extension ca_extensions[] = {
    {NID_basic_constraints, "critical,CA:TRUE"},
    {NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
    {NID_undef, NULL},
};

static const struct extension server_extensions[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "serverAuth"},
    {NID_authority_key_identifier, "keyid:always"},
    {NID_undef, NULL},
};

static const struct extension client_extensions[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "clientAuth"},
    {NID_authority_key_identifier, "keyid:always"},
    {NID_undef, NULL},
};

static bool add_extensions(X509 *cert, X509 *issuer, const struct extension *list)
{
    for (; list->value; list++)
        if (!add_extension(cert, issuer, list->nid, list->value))
            return false;
    return true;
}

/* Version 3 with key, serial, times and subject; no issuer, no extensions, not signed. */
static X509 *new_cert(EVP_PKEY *key, const char *common_name, const char *const *organizations,
                      usec now, usec lifetime, struct err *err)
{
    X509 *cert = X509_new();
    BUG_ON(!cert);
    if (X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
        set_times(cert, now, lifetime) && set_subject(cert, common_name, organizations) &&
        X509_set_pubkey(cert, key) == 1)
        return cert;
    X509_free(cert);
    tls_err(err, ERR_INVALID, "certificate");
    return NULL;
}

static int sign_ca(X509 *cert, EVP_PKEY *key, struct pki_identity *ret, struct err *err)
{
    if (X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1 ||
        !add_extensions(cert, cert, ca_extensions) || X509_sign(cert, key, EVP_sha256()) <= 0)
        return tls_err(err, ERR_INTERNAL, "sign the CA certificate");
    return write_pem(cert, key, ret, err);
}

int pki_make_ca(const char *common_name, usec now, usec lifetime, struct pki_identity *ret,
                struct err *err)
{
    CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = EVP_EC_gen("P-256");
    if (!key)
        return tls_err(err, ERR_INTERNAL, "P-256 key");
    CLEANUP(X509_free_p) X509 *cert = new_cert(key, common_name, NULL, now, lifetime, err);
    return cert ? sign_ca(cert, key, ret, err) : ERR_INVALID;
}

int pki_renew_ca(const struct pki_identity *ca, usec now, usec lifetime, struct pki_identity *ret,
                 struct err *err)
{
    CLEANUP(X509_free_p) X509 *old = read_cert(strbuf_str(&ca->cert_pem), err);
    CLEANUP(EVP_PKEY_free_p)
    EVP_PKEY *key = old ? read_key(strbuf_str(&ca->key_pem), err) : NULL;
    if (!key)
        return err_wrap(err, "CA");
    if (X509_check_private_key(old, key) != 1)
        return tls_err(err, ERR_INVALID, "the CA's key does not belong to its certificate");
    CLEANUP(X509_free_p) X509 *cert = X509_new();
    BUG_ON(!cert);
    if (X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
        !set_times(cert, now, lifetime) ||
        X509_set_subject_name(cert, X509_get_subject_name(old)) != 1 ||
        X509_set_pubkey(cert, key) != 1)
        return tls_err(err, ERR_INVALID, "certificate");
    return sign_ca(cert, key, ret, err);
}

int pki_issue(const struct pki_identity *ca, const char *common_name,
              const char *const *organizations, const char *san, usec now, usec lifetime,
              struct pki_identity *ret, struct err *err)
{
    CLEANUP(X509_free_p) X509 *issuer = read_cert(strbuf_str(&ca->cert_pem), err);
    CLEANUP(EVP_PKEY_free_p)
    EVP_PKEY *issuer_key = issuer ? read_key(strbuf_str(&ca->key_pem), err) : NULL;
    if (!issuer_key)
        return err_wrap(err, "CA");
    CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = EVP_EC_gen("P-256");
    if (!key)
        return tls_err(err, ERR_INTERNAL, "P-256 key");
    CLEANUP(X509_free_p) X509 *cert = new_cert(key, common_name, organizations, now, lifetime, err);
    if (!cert)
        return ERR_INVALID;
    if (X509_set_issuer_name(cert, X509_get_subject_name(issuer)) != 1 ||
        !add_extensions(cert, issuer, san ? server_extensions : client_extensions))
        return tls_err(err, ERR_INTERNAL, "certificate extensions");
    if (san && !add_extension(cert, issuer, NID_subject_alt_name, san))
        return tls_err(err, ERR_INVALID, "subject alternative names");
    if (X509_sign(cert, issuer_key, EVP_sha256()) <= 0)
        return tls_err(err, ERR_INTERNAL, "sign the certificate");
    return write_pem(cert, key, ret, err);
}

/* By their DER: the same text in the same order makes the same bytes. */
bool pki_has_names(str cert_pem, const char *san)
{
    CLEANUP(X509_free_p) X509 *cert = read_cert(cert_pem, NULL);
    int at = cert ? X509_get_ext_by_NID(cert, NID_subject_alt_name, -1) : -1;
    if (at < 0)
        return false;
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *want = X509V3_EXT_conf_nid(NULL, &ctx, NID_subject_alt_name, san);
    bool same = want && ASN1_STRING_cmp(X509_EXTENSION_get_data(want),
                                        X509_EXTENSION_get_data(X509_get_ext(cert, at))) == 0;
    X509_EXTENSION_free(want);
    ERR_clear_error();
    return same;
}

int pki_not_after(str cert_pem, usec *ret, struct err *err)
{
    CLEANUP(X509_free_p) X509 *cert = read_cert(cert_pem, err);
    if (!cert)
        return ERR_INVALID;
    /* The difference from 1970 in whole days and seconds: no time zone of the machine comes in. */
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, seconds = 0;
    int ok = epoch && ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(cert));
    ASN1_TIME_free(epoch);
    if (!ok)
        return tls_err(err, ERR_INVALID, "the certificate's end");
    *ret = days * USEC_PER_DAY + seconds * USEC_PER_SEC;
    return 0;
}
