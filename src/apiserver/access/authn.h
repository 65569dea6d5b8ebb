/*
 * Who is asking: client certificates (common name and organizations), the administrator's bearer
 * token, service account tokens, bootstrap tokens. Whoever brings nothing is anonymous; whoever
 * brings something wrong is nobody.
 *
 * A service account token is good while its account exists with the same UID, and what it is bound
 * to as well, both as the store has them durably.
 */
#ifndef APISERVER_ACCESS_AUTHN_H
#define APISERVER_ACCESS_AUTHN_H

#include "apiserver/server.h"
#include "kube/token.h"
#include "net/http.h"

/* What of an identity is neither name nor group: for whoever looks at it with a review. */
enum { IDENTITY_EXTRA_MAX = 32 };

struct identity {
    struct user user;
    str uid; /* empty: it has none */
    struct identity_extra {
        str key;
        str value;
    } * extra; /* values of one key stand together */
    size_t n_extra;
};

struct authn {
    struct apiserver *server;
    struct token_key *key; /* NULL: there are no service account tokens */
    char *admin_token;     /* NULL: there is none */
};

/* Empty sa_key: a key that lives as long as this. */
int authn_init(struct authn *n, struct apiserver *a, str admin_token, str sa_key, struct err *err);
void authn_done(struct authn *n);

/* NULL, or why not: 401 for credentials that are wrong, 403 for impersonation by somebody who may
 * not. Who acts as somebody else is that somebody from here on. What is returned lives in the
 * arena: the exchange may be gone before the request is done. */
struct status *authn_request(struct authn *n, const struct http_exchange *x, struct arena *a,
                             struct identity *ret);
/* A bearer token on its own, good for at least one of the audiences (none: for this server);
 * *ret_audience is the first of them it is good for. */
bool authn_token(struct authn *n, str token, const str *audiences, size_t n_audiences,
                 struct arena *a, struct identity *ret, str *ret_audience);

/* ---- bootstrap_token.c ---- */

/* It has the form of a bootstrap token. */
bool bootstrap_token_is(str token);
/* It is one that is good at present. */
bool bootstrap_token_read(struct authn *n, str token, struct arena *a, struct identity *ret);

#endif
