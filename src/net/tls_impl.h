/* Private to net/: sessions made from the shared contexts, and who is at the other end. */
#ifndef NET_TLS_IMPL_H
#define NET_TLS_IMPL_H

#include <openssl/ssl.h>

#include "net/http.h"
#include "net/tls.h"

/* In accept state. The context must outlive the session's creation only. */
SSL *tls_server_session(struct tls_server *t);
/* In connect state; the certificate must be for `host`, a name or an address. NULL: out of memory
 * is fatal, so only a host that is neither. */
SSL *tls_client_session(struct tls_client *t, const char *host, struct err *err);
/* The handshake agreed on HTTP/2. */
bool tls_agreed_h2(const SSL *ssl);
/* Tests: what a side offers, both versions by default. */
enum tls_offer { TLS_OFFER_ANY, TLS_OFFER_H1, TLS_OFFER_H2 };
void tls_server_offer(struct tls_server *t, enum tls_offer offer);
void tls_session_offer(SSL *ssl, enum tls_offer offer);
/* Whose certificate the other end of a session that checks nothing has: one that this authority
 * signed and that is good for the host or the name, one of somebody else, or one of ours that is
 * wrong here, with the reason. */
enum tls_peer { TLS_PEER_OURS, TLS_PEER_UNKNOWN, TLS_PEER_WRONG };
enum tls_peer tls_judge_peer(SSL *ssl, str ca_pem, const char *host, const char *name, usec now,
                             struct err *err);
/* More than one common name: it depends on who reads it whom it names, so nobody takes it. */
bool tls_has_two_names(const X509_NAME *subject);
/* Common name and organizations of a verified certificate, owned by the peer; nothing of one with
 * two names. */
void tls_fill_peer(SSL *ssl, struct http_peer *peer);
void http_peer_done(struct http_peer *peer);
/* Reads from the text, which must outlive it. */
BIO *tls_pem_bio(str pem);
/* The oldest error OpenSSL has queued, as the reason; empties the queue. */
int tls_err(struct err *err, int code, const char *what);

#endif
