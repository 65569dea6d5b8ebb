/* TLS contexts, and the small public-key infrastructure an embedded control plane makes for itself:
 * a P-256 CA, a server certificate and client certificates. TLS 1.2 minimum, one shared context per
 * role, released buffers for idle connections. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

struct tls_server;
struct tls_client;

/* PEM in memory; client_ca_pem may be empty (no client certificates asked for). */
struct tls_server *tls_server_new(str cert_pem, str key_pem, str client_ca_pem, struct err *err);
/* New connections get these, those that stand go on with what they have. On failure nothing
 * changes. */
int tls_server_replace(struct tls_server *t, str cert_pem, str key_pem, str client_ca_pem,
                       struct err *err);
void tls_server_free(struct tls_server *t);
/* Empty ca_pem: the system's; empty cert: none. skip_verify is for --insecure-skip-tls-verify. */
struct tls_client *tls_client_new(str ca_pem, str cert_pem, str key_pem, bool skip_verify,
                                  struct err *err);
void tls_client_free(struct tls_client *t);

/* ---- certificates ---- */

struct pki_identity {
    struct strbuf cert_pem;
    struct strbuf key_pem;
};
void pki_identity_done(struct pki_identity *id);
/* Self-signed CA. Times are seconds since 1970; serial numbers come from OpenSSL. */
int pki_make_ca(const char *common_name, usec now, usec lifetime, struct pki_identity *ret,
                struct err *err);
/* The same authority for longer: same name, same key, so that what either certificate signed can be
 * checked with the other. */
int pki_renew_ca(const struct pki_identity *ca, usec now, usec lifetime, struct pki_identity *ret,
                 struct err *err);
/* san: comma-separated "DNS:localhost,IP:127.0.0.1", or NULL for a client certificate.
 * organizations: NULL-terminated list, or NULL. */
int pki_issue(const struct pki_identity *ca, const char *common_name,
              const char *const *organizations, const char *san, usec now, usec lifetime,
              struct pki_identity *ret, struct err *err);
/* A request for a certificate (PKCS#10, PEM), as far as somebody has to judge it. */
struct pki_request {
    str common_name;
    const str *organizations;
    size_t n_organizations;
    const str *dns, *ips; /* subject alternative names; addresses as text */
    size_t n_dns, n_ips;
    bool has_other_names; /* of mail, a URI or anything else */
};
/* Whoever made it has its key: the signature is checked. A subject with two common names is
 * refused, also by pki_sign_request(). In the arena. */
int pki_read_request(str pem, struct arena *a, struct pki_request *ret, struct err *err);
enum pki_usage { PKI_CLIENT_AUTH = 1, PKI_SERVER_AUTH = 2, PKI_KEY_ENCIPHERMENT = 4 };
/* Signs it: its key and subject, its names when it is for a server, and no longer than the CA is
 * good. */
int pki_sign_request(const struct pki_identity *ca, str pem, unsigned usages, usec now,
                     usec lifetime, struct strbuf *ret_pem, struct err *err);
/* The certificate is good for exactly these names, given as pki_issue() takes them. */
bool pki_has_names(str cert_pem, const char *san);
/* The certificate is good for this name, or address, as clients judge it: without regard to case,
 * by wildcards, and addresses by their bytes. */
bool pki_is_for(str cert_pem, str name, bool is_ip);
/* When the certificate ends, microseconds since 1970. */
int pki_not_after(str cert_pem, usec *ret, struct err *err);

#endif
