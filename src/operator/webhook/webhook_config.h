/*
 * How a cluster's API server finds the webhooks and trusts them: the configuration objects, and the
 * Secret with the certificate.
 *
 * webhook_cert_plan is a planner like the others: from the Secret, the configurations and the time
 * it plans the Secret that should be and the caBundle that configurations should carry. Keys are
 * made by a function that it is given, since a planner has no randomness of its own.
 *
 * Rotation never leaves a moment in which the API server does not trust what is served:
 *   server certificate  renewed by the same CA a third of its life before its end; bundles stay
 *   CA                  a new one joins the bundle beside the old one ("pending"); once every
 *                       configuration carries both, a certificate by the new one is served
 * Every instance of the operator watches the Secret and serves what is in it.
 */
#ifndef OPERATOR_WEBHOOK_WEBHOOK_CONFIG_H
#define OPERATOR_WEBHOOK_WEBHOOK_CONFIG_H

#include "client/controller.h"
#include "grove/types.h"

#define WEBHOOK_SECRET "grove-webhook-server-cert"
#define WEBHOOK_SERVICE "grove-operator"
enum { WEBHOOK_PORT = 2750 };

/* ---- configurations ---- */

struct webhook_service {
    str ns, name;
    int port;
};

enum {
    WEBHOOK_DEFAULT_SET,
    WEBHOOK_VALIDATE_SET,
    WEBHOOK_VALIDATE_BINDING,
    WEBHOOK_AUTHORIZER,
    WEBHOOK_COUNT
};

const struct kind *webhook_config_kind(size_t i);
const char *webhook_config_name(size_t i);
/* The object; ca_pem may be empty. */
struct doc *webhook_config_doc(size_t i, const struct webhook_service *s, str ca_pem);

/* ---- certificates ---- */

struct webhook_certs { /* PEM; empty: as before */
    struct strbuf ca, ca_key, cert, key;
};
void webhook_certs_done(struct webhook_certs *c);

/* Makes a CA (when there is none to sign with) and, with `san`, a certificate by it. */
typedef int webhook_make_fn(void *ctx, usec now, str ca_pem, str ca_key_pem, const char *san,
                            struct webhook_certs *ret, struct err *err);
/* The real one. */
webhook_make_fn webhook_make_certs;

struct webhook_cert_options {
    struct webhook_service service;
    str secret; /* name, in the service's namespace */
    webhook_make_fn *make;
    void *ctx;
};

/* ctx: struct webhook_cert_options. There is one thing to plan: the key does not matter. */
planner_fn webhook_cert_plan;
/* Adds it; the options must outlive the runtime. */
struct controller *webhook_cert_add(struct runtime *r, struct api *api,
                                    struct webhook_cert_options *o);
/* "DNS:grove-operator.ns.svc,..." */
str webhook_san(struct arena *a, const struct webhook_service *s);
/* A value of the Secret, decoded into the arena; empty when it is not there. */
str webhook_secret_value(struct arena *a, const struct obj *secret, const char *key);

#endif
