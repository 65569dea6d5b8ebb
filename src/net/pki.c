/*
 * The small public-key infrastructure of an embedded control plane: a self-signed P-256 CA and the
 * certificates it issues, all in PEM, keys as PKCS#8. Serial numbers are 128 random bits of
 * OpenSSL's; times are given by the caller, with five minutes of slack before `now` so that a
 * client whose clock is a little behind accepts a certificate made a moment ago.
 */
#include <arpa/inet.h>
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

/* ---- requests ---- */

DEFINE_CLEANUP(X509_REQ *, X509_REQ_free)
enum { REQUEST_NAMES_MAX = 256 };

/* Nobody is asked for the password of a request that has one. */
static int no_password(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

static X509_REQ *read_request(str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    X509_REQ *r = PEM_read_bio_X509_REQ(bio, NULL, no_password, NULL);
    if (!r)
        tls_err(err, ERR_INVALID, "not a request for a certificate");
    else if (X509_REQ_verify(r, X509_REQ_get0_pubkey(r)) != 1)
        tls_err(err, ERR_INVALID, "the request is not signed by its key");
    else if (tls_has_two_names(X509_REQ_get_subject_name(r)))
        err_set(err, ERR_INVALID, "the subject has more than one common name");
    else
        return r;
    X509_REQ_free(r);
    return NULL;
}

static str asn1_text(struct arena *a, const ASN1_STRING *s)
{
    unsigned char *text = NULL;
    int n = ASN1_STRING_to_UTF8(&text, s);
    str ret = n > 0 ? arena_str(a, str_n((const char *)text, (size_t)n)) : STR_NONE;
    OPENSSL_free(text);
    return ret;
}

static int read_subject(const X509_NAME *name, struct arena *a, struct pki_request *ret,
                        struct err *err)
{
    int n = X509_NAME_entry_count(name);
    if (n > REQUEST_NAMES_MAX)
        return err_set(err, ERR_INVALID, "the subject has %d parts", n);
    str *organizations = arena_array(a, str, n);
    ret->organizations = organizations;
    for (int i = 0; i < n; i++) {
        const X509_NAME_ENTRY *e = X509_NAME_get_entry(name, i);
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(e));
        str text = asn1_text(a, X509_NAME_ENTRY_get_data(e));
        if (nid == NID_organizationName)
            organizations[ret->n_organizations++] = text;
        else if (nid == NID_commonName)
            ret->common_name = text;
    }
    return 0;
}

static void read_name(const GENERAL_NAME *g, struct arena *a, struct pki_request *ret, str *dns,
                      str *ips)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (g->type == GEN_DNS) {
        dns[ret->n_dns++] = asn1_text(a, g->d.dNSName);
    } else if (g->type == GEN_IPADD &&
               (g->d.iPAddress->length == 4 || g->d.iPAddress->length == 16)) {
        (void)inet_ntop(g->d.iPAddress->length == 4 ? AF_INET : AF_INET6, g->d.iPAddress->data,
                        text, sizeof(text));
        ips[ret->n_ips++] = arena_str(a, str_of(text));
    } else {
        ret->has_other_names = true;
    }
}

/* The alternative names among the extensions that are asked for; NULL: there are none. */
static GENERAL_NAMES *requested_names(X509_REQ *r)
{
    STACK_OF(X509_EXTENSION) *list = X509_REQ_get_extensions(r);
    GENERAL_NAMES *names = list ? X509V3_get_d2i(list, NID_subject_alt_name, NULL, NULL) : NULL;
    sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
    return names;
}

int pki_read_request(str pem, struct arena *a, struct pki_request *ret, struct err *err)
{
    CLEANUP(X509_REQ_free_p) X509_REQ *r = read_request(pem, err);
    *ret = (struct pki_request){0};
    if (!r)
        return ERR_INVALID;
    int code = read_subject(X509_REQ_get_subject_name(r), a, ret, err);
    GENERAL_NAMES *names = code ? NULL : requested_names(r);
    int n = sk_GENERAL_NAME_num(names);
    if (n > REQUEST_NAMES_MAX) {
        code = err_set(err, ERR_INVALID, "the request has %d names", n);
    } else if (n > 0) {
        str *dns = arena_array(a, str, n), *ips = arena_array(a, str, n);
        for (int i = 0; i < n; i++)
            read_name(sk_GENERAL_NAME_value(names, i), a, ret, dns, ips);
        ret->dns = dns;
        ret->ips = ips;
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    return code;
}

static bool add_usages(X509 *cert, X509 *issuer, unsigned usages)
{
    bool client = usages & PKI_CLIENT_AUTH, server = usages & PKI_SERVER_AUTH;
    const char *extended = client && server ? "serverAuth,clientAuth"
                           : server         ? "serverAuth"
                                            : "clientAuth";
    return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, issuer, NID_key_usage,
                         usages & PKI_KEY_ENCIPHERMENT ? "critical,digitalSignature,keyEncipherment"
                                                       : "critical,digitalSignature") &&
           add_extension(cert, issuer, NID_ext_key_usage, extended) &&
           add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always");
}

static bool add_requested_names(X509 *cert, X509_REQ *r)
{
    GENERAL_NAMES *names = requested_names(r);
    bool ok = !names || X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
    GENERAL_NAMES_free(names);
    return ok;
}

int pki_sign_request(const struct pki_identity *ca, str pem, unsigned usages, usec now,
                     usec lifetime, struct strbuf *ret_pem, struct err *err)
{
    CLEANUP(X509_REQ_free_p) X509_REQ *r = read_request(pem, err);
    if (!r)
        return ERR_INVALID;
    CLEANUP(X509_free_p) X509 *issuer = read_cert(strbuf_str(&ca->cert_pem), err);
    CLEANUP(EVP_PKEY_free_p)
    EVP_PKEY *key = issuer ? read_key(strbuf_str(&ca->key_pem), err) : NULL;
    usec end = 0;
    if (!key || pki_not_after(strbuf_str(&ca->cert_pem), &end, err))
        return err_wrap(err, "CA");
    CLEANUP(X509_free_p) X509 *cert = X509_new();
    CLEANUP(BIO_free_all_p) BIO *out = BIO_new(BIO_s_mem());
    BUG_ON(!cert || !out);
    if (X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
        !set_times(cert, now, MIN(lifetime, end - now)) ||
        X509_set_subject_name(cert, X509_REQ_get_subject_name(r)) != 1 ||
        X509_set_issuer_name(cert, X509_get_subject_name(issuer)) != 1 ||
        X509_set_pubkey(cert, X509_REQ_get0_pubkey(r)) != 1 || !add_usages(cert, issuer, usages) ||
        ((usages & PKI_SERVER_AUTH) && !add_requested_names(cert, r)) ||
        X509_sign(cert, key, EVP_sha256()) <= 0 || PEM_write_bio_X509(out, cert) != 1)
        return tls_err(err, ERR_INTERNAL, "sign the certificate");
    bio_into(out, ret_pem);
    return 0;
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

bool pki_is_for(str cert_pem, str name, bool is_ip)
{
    CLEANUP(X509_free_p) X509 *cert = read_cert(cert_pem, NULL);
    char text[INET6_ADDRSTRLEN] = "";
    if (!cert || !name.len)
        return false;
    if (!is_ip)
        return X509_check_host(cert, name.p, name.len, 0, NULL) == 1;
    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    return X509_check_ip_asc(cert, text, 0) == 1;
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
