/*
 * TLS contexts. One per role, shared by all connections: TLS 1.2 at least and only suites that keep
 * a connection's secrets apart from the key and authenticate what they encrypt, buffers released
 * while a connection is idle (16 KB instead of 50 KB for each watch), partial writes from buffers
 * that may move (the write queue is gathered anew for each record), session tickets on.
 *
 * ALPN: we offer "h2" and "http/1.1" and prefer the former; a client that offers nothing we speak
 * is refused in the handshake rather than spoken to in a protocol it does not expect.
 *
 * Client certificates are optional for the server: none means an anonymous peer, one that does not
 * verify ends the handshake. The certificate we serve with is nobody's name: whoever reads our key
 * is not a user by it.
 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/tls_impl.h"

struct tls_server {
    SSL_CTX *ctx;
    enum tls_offer offer;
};

struct tls_client {
    SSL_CTX *ctx;
    bool skip_verify;
};

enum { MAX_ORGANIZATIONS = 64 };

/* Of TLS 1.2; those of 1.3 are all of this sort. */
#define SUITES "ECDHE+AESGCM:ECDHE+CHACHA20"

/* Protocol names in wire form, a length byte before each, best first. */
#define H2 "\x02h2"
#define H1 "\x08http/1.1"
static const str offered_protocols[] = {
    [TLS_OFFER_ANY] = STR_INIT(H2 H1),
    [TLS_OFFER_H1] = STR_INIT(H1),
    [TLS_OFFER_H2] = STR_INIT(H2),
};
static const str served_protocols[] = {
    [TLS_OFFER_ANY] = STR_INIT(H2 H1 "\x08http/1.0"),
    [TLS_OFFER_H1] = STR_INIT(H1 "\x08http/1.0"),
    [TLS_OFFER_H2] = STR_INIT(H2),
};

DEFINE_CLEANUP(BIO *, BIO_free_all)
DEFINE_CLEANUP(X509 *, X509_free)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)

int tls_err(struct err *err, int code, const char *what)
{
    unsigned long e = ERR_get_error();
    const char *reason = e ? ERR_reason_error_string(e) : NULL;
    ERR_clear_error();
    return reason ? err_set(err, code, "%s: %s", what, reason) : err_set(err, code, "%s", what);
}

/* ---- contexts ---- */

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    BUG_ON(!ctx);
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    BUG_ON(SSL_CTX_set_cipher_list(ctx, SUITES) != 1);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_read_ahead(ctx, 1);
    return ctx;
}

BIO *tls_pem_bio(str pem)
{
    BIO *bio = BIO_new_mem_buf(pem.p ? pem.p : "", (int)MIN(pem.len, (size_t)INT32_MAX));
    BUG_ON(!bio);
    return bio;
}

/* The first certificate is ours, the rest its chain. */
static int use_certificate(SSL_CTX *ctx, str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    CLEANUP(X509_free_p) X509 *leaf = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    if (!leaf || SSL_CTX_use_certificate(ctx, leaf) != 1)
        return tls_err(err, ERR_INVALID, "certificate");
    for (;;) {
        X509 *next = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (!next)
            break;
        if (SSL_CTX_add0_chain_cert(ctx, next) != 1) {
            X509_free(next);
            return tls_err(err, ERR_INVALID, "certificate chain");
        }
    }
    ERR_clear_error();
    return 0;
}

/* Encrypted keys are not asked for: there is nobody to type a pass phrase. */
static int no_pass_phrase(char *buf, int size, int is_writing, void *ctx)
{
    return -1;
}

static int use_key(SSL_CTX *ctx, str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    CLEANUP(EVP_PKEY_free_p)
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL);
    if (!key || SSL_CTX_use_PrivateKey(ctx, key) != 1)
        return tls_err(err, ERR_INVALID, "private key");
    if (SSL_CTX_check_private_key(ctx) != 1)
        return tls_err(err, ERR_INVALID, "the private key does not belong to the certificate");
    return 0;
}

/* Adds every certificate of the bundle to the trust store; for a server also to the list of names
 * it sends to clients. */
static int use_authorities(SSL_CTX *ctx, str pem, bool is_server, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = tls_pem_bio(pem);
    size_t n = 0;
    for (;; n++) {
        CLEANUP(X509_free_p) X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (!ca)
            break;
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca) != 1 ||
            (is_server && SSL_CTX_add_client_CA(ctx, ca) != 1))
            return tls_err(err, ERR_INVALID, "certificate authority");
    }
    if (!n)
        return tls_err(err, ERR_INVALID, "certificate authority");
    ERR_clear_error();
    return 0;
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
                       const unsigned char *in, unsigned inlen, void *ctx)
{
    const struct tls_server *t = ctx;
    str served = served_protocols[t->offer];
    unsigned char *picked = NULL;
    if (SSL_select_next_proto(&picked, outlen, (const unsigned char *)served.p,
                              (unsigned)served.len, in, inlen) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = picked;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *server_context(struct tls_server *t, str cert_pem, str key_pem, str client_ca_pem,
                               struct err *err)
{
    SSL_CTX *ctx = new_context(TLS_server_method());
    SSL_CTX_set_alpn_select_cb(ctx, select_alpn, t);
    /* A session may only be resumed where its client certificate was checked. */
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"grove", 5);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    /* One is enough: who resumes gets another. */
    SSL_CTX_set_num_tickets(ctx, 1);
    /* The chain is what was given: looking for one is an eighth of a handshake. */
    SSL_CTX_set_mode(ctx, SSL_MODE_NO_AUTO_CHAIN);
    bool ok = use_certificate(ctx, cert_pem, err) == 0 && use_key(ctx, key_pem, err) == 0;
    if (ok && client_ca_pem.len) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        ok = use_authorities(ctx, client_ca_pem, true, err) == 0;
    }
    if (ok)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls_server *tls_server_new(str cert_pem, str key_pem, str client_ca_pem, struct err *err)
{
    struct tls_server *t = xnew(struct tls_server);
    if (tls_server_replace(t, cert_pem, key_pem, client_ca_pem, err) == 0)
        return t;
    free(t);
    return NULL;
}

/* Sessions hold the context they were made from; tickets of the old one are good for no new one. */
int tls_server_replace(struct tls_server *t, str cert_pem, str key_pem, str client_ca_pem,
                       struct err *err)
{
    SSL_CTX *ctx = server_context(t, cert_pem, key_pem, client_ca_pem, err);
    if (!ctx)
        return ERR_INVALID;
    SSL_CTX_free(t->ctx);
    t->ctx = ctx;
    return 0;
}

void tls_server_free(struct tls_server *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    free(t);
}

static int set_up_client(struct tls_client *t, str ca_pem, str cert_pem, str key_pem,
                         struct err *err)
{
    SSL_CTX_set_verify(t->ctx, t->skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (ca_pem.len) {
        int r = use_authorities(t->ctx, ca_pem, false, err);
        if (r < 0)
            return r;
    } else if (!t->skip_verify && SSL_CTX_set_default_verify_paths(t->ctx) != 1) {
        return tls_err(err, ERR_IO, "the system's certificate authorities");
    }
    if (!cert_pem.len)
        return 0;
    int r = use_certificate(t->ctx, cert_pem, err);
    return r < 0 ? r : use_key(t->ctx, key_pem, err);
}

struct tls_client *tls_client_new(str ca_pem, str cert_pem, str key_pem, bool skip_verify,
                                  struct err *err)
{
    struct tls_client *t = xnew(struct tls_client);
    t->ctx = new_context(TLS_client_method());
    t->skip_verify = skip_verify;
    if (set_up_client(t, ca_pem, cert_pem, key_pem, err) < 0) {
        tls_client_free(t);
        return NULL;
    }
    return t;
}

void tls_client_free(struct tls_client *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    free(t);
}

/* ---- sessions ---- */

void tls_server_offer(struct tls_server *t, enum tls_offer offer)
{
    t->offer = offer;
}

void tls_session_offer(SSL *ssl, enum tls_offer offer)
{
    str names = offered_protocols[offer];
    /* 0 is success here. */
    BUG_ON(SSL_set_alpn_protos(ssl, (const unsigned char *)names.p, (unsigned)names.len) != 0);
}

bool tls_agreed_h2(const SSL *ssl)
{
    const unsigned char *name = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(ssl, &name, &len);
    return str_eq(str_n((const char *)name, len), STR("h2"));
}

SSL *tls_server_session(struct tls_server *t)
{
    SSL *ssl = SSL_new(t->ctx);
    BUG_ON(!ssl);
    SSL_set_accept_state(ssl);
    return ssl;
}

static bool is_address(const char *host)
{
    unsigned char buf[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, buf) == 1 || inet_pton(AF_INET6, host, buf) == 1;
}

SSL *tls_client_session(struct tls_client *t, const char *host, struct err *err)
{
    SSL *ssl = SSL_new(t->ctx);
    BUG_ON(!ssl);
    SSL_set_connect_state(ssl);
    tls_session_offer(ssl, TLS_OFFER_ANY);
    bool ok;
    if (is_address(host))
        ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    else
        ok = SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
    if (!ok) {
        SSL_free(ssl);
        tls_err(err, ERR_INVALID, "server name");
        return NULL;
    }
    return ssl;
}

/* The text of one attribute of a name, owned by the caller; empty when it is not clean UTF-8. */
static str attribute_text(const X509_NAME *name, int at)
{
    const ASN1_STRING *data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    unsigned char *utf8 = NULL;
    int len = ASN1_STRING_to_UTF8(&utf8, data);
    str s = str_n((const char *)utf8, len > 0 ? (size_t)len : 0);
    /* A NUL inside would let "admin\0x" pass for "admin" somewhere down the line. */
    str copy =
        s.len && str_is_utf8(s) && !memchr(s.p, 0, s.len) ? str_n(str_dup(s), s.len) : STR_NONE;
    OPENSSL_free(utf8);
    return copy;
}

/* What we serve with says nothing of a user, also where it is good for clients by what it says of
 * itself. */
static bool is_our_own(SSL *ssl, X509 *cert)
{
    X509 *own = SSL_get_certificate(ssl);
    return own && EVP_PKEY_eq(X509_get0_pubkey(own), X509_get0_pubkey(cert)) == 1;
}

bool tls_has_two_names(const X509_NAME *subject)
{
    int first = X509_NAME_get_index_by_NID((X509_NAME *)subject, NID_commonName, -1);
    return first >= 0 &&
           X509_NAME_get_index_by_NID((X509_NAME *)subject, NID_commonName, first) >= 0;
}

void tls_fill_peer(SSL *ssl, struct http_peer *peer)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    if (!cert || SSL_get_verify_result(ssl) != X509_V_OK || is_our_own(ssl, cert) ||
        tls_has_two_names(X509_get_subject_name(cert)))
        return;
    const X509_NAME *name = X509_get_subject_name(cert);
    int cn = X509_NAME_get_index_by_NID((X509_NAME *)name, NID_commonName, -1);
    if (cn >= 0)
        peer->common_name = attribute_text(name, cn);
    peer->organizations = xcalloc(MAX_ORGANIZATIONS, sizeof(str));
    for (int at = -1; peer->n_organizations < MAX_ORGANIZATIONS;) {
        at = X509_NAME_get_index_by_NID((X509_NAME *)name, NID_organizationName, at);
        if (at < 0)
            break;
        str text = attribute_text(name, at);
        if (text.len)
            peer->organizations[peer->n_organizations++] = text;
    }
}

static bool is_signed_by(X509 *cert, str ca_pem)
{
    BIO *bio = tls_pem_bio(ca_pem);
    bool found = false;
    for (X509 *ca; !found && (ca = PEM_read_bio_X509(bio, NULL, NULL, NULL)); X509_free(ca))
        found = X509_verify(cert, X509_get0_pubkey(ca)) == 1;
    BIO_free_all(bio);
    ERR_clear_error();
    return found;
}

enum tls_peer tls_judge_peer(SSL *ssl, str ca_pem, const char *host, const char *name, usec now,
                             struct err *err)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    time_t at = (time_t)(now / USEC_PER_SEC);
    if (!cert || !is_signed_by(cert, ca_pem))
        return TLS_PEER_UNKNOWN;
    bool fits = (is_address(host) ? X509_check_ip_asc(cert, host, 0) == 1
                                  : X509_check_host(cert, host, 0, 0, NULL) == 1) ||
                X509_check_host(cert, name, 0, 0, NULL) == 1;
    if (X509_cmp_time(X509_get0_notAfter(cert), &at) < 0)
        err_set(err, ERR_UNAVAILABLE, "its certificate has expired");
    else if (X509_cmp_time(X509_get0_notBefore(cert), &at) > 0)
        err_set(err, ERR_UNAVAILABLE, "its certificate is not good yet");
    else if (!(X509_get_extended_key_usage(cert) & XKU_SSL_SERVER))
        err_set(err, ERR_UNAVAILABLE, "its certificate is not one for servers");
    else if (!fits)
        err_set(err, ERR_UNAVAILABLE, "its certificate is for other names than %s and %s", host,
                name);
    else
        return TLS_PEER_OURS;
    return TLS_PEER_WRONG;
}

void http_peer_done(struct http_peer *peer)
{
    free((char *)peer->common_name.p);
    for (size_t i = 0; i < peer->n_organizations; i++)
        free((char *)peer->organizations[i].p);
    free(peer->organizations);
    *peer = (struct http_peer){0};
}
