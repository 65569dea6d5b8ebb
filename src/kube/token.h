/*
 * Service account tokens: JSON web tokens (RFC 7519) signed with ES256 (RFC 7518, P-256) by the one
 * key of a control plane. Two kinds, as kube-apiserver makes them:
 *
 *   bound    from TokenRequest: has an audience and an end, may be bound to a Pod, Secret or Node
 *   legacy   in a Secret of type kubernetes.io/service-account-token: no end, good as long as the
 *            Secret holds it
 *
 * Here is only what the bytes say and whether our key signed them. Whether the account still exists
 * is authn.c's question.
 */
#ifndef KUBE_TOKEN_H
#define KUBE_TOKEN_H

#include "base/timefmt.h"
#include "json/doc.h"

#define TOKEN_ISSUER "https://kubernetes.default.svc"
#define TOKEN_LEGACY_ISSUER "kubernetes/serviceaccount"

struct token_key;

/* A new P-256 key, PKCS#8 PEM; from OpenSSL's randomness. */
int token_key_make(struct strbuf *ret_pem, struct err *err);
struct token_key *token_key_new(str pem, struct err *err);
/* Accepts NULL. */
void token_key_free(struct token_key *k);
/* The public half as a JSON Web Key Set (RFC 7517). */
struct doc *token_key_set(const struct token_key *k);

/* Whose token it is and what it stands and falls with. */
struct token_claims {
    str ns, name, uid; /* of the service account */
    str bound_kind;    /* "pod", "secret", "node"; empty: not bound */
    str bound_name, bound_uid;
    str id;                   /* "jti" */
    usec not_before, expires; /* microseconds since 1970 */
    jval audiences;           /* array of strings; when reading */
    bool legacy;
};

/* Signs a token of these claims in the arena. audiences: of a bound one. */
str token_sign(const struct token_key *k, const struct token_claims *c, const str *audiences,
               size_t n_audiences, struct arena *a);
/* What a token says that this key signed; false when it is not one of ours. Slices live in the
 * arena. A signature is checked once as long as the token is in use. */
bool token_read(struct token_key *k, str token, struct arena *a, struct token_claims *ret);

#endif
