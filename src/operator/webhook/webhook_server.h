/*
 * The webhooks over HTTPS. The server listens from its first certificate on; a new one is served
 * to new connections from the moment it is set, and open ones go on.
 */
#ifndef OPERATOR_WEBHOOK_WEBHOOK_SERVER_H
#define OPERATOR_WEBHOOK_WEBHOOK_SERVER_H

#include "client/controller.h"
#include "operator/webhook/grove_webhook.h"

struct webhook_server;

/* rules must outlive it. listen: "[::]:2750". */
struct webhook_server *webhook_server_new(struct loop *l, const char *listen,
                                          const struct webhook_rules *rules);
/* Whoever asks is answered, and asked to use another connection the next time. */
void webhook_server_linger(struct webhook_server *s);
/* Asked nothing new, it ends connections in order, and calls done when none is left, or later than
 * `grace` none is. */
void webhook_server_leave(struct webhook_server *s, usec grace, void (*done)(void *ctx), void *ctx);
void webhook_server_free(struct webhook_server *s);
/* The same pair again does nothing. On error what was served goes on. */
int webhook_server_set_identity(struct webhook_server *s, str cert_pem, str key_pem,
                                struct err *err);
/* As bound; NULL while there is no certificate. */
const char *webhook_server_address(const struct webhook_server *s);

/* Rules that look at a runtime's caches: bindings and sets. Call before the runtime starts; `w`
 * must stay where it is. w->rules.operator_user, exempt and w->context are the caller's to change.
 */
struct webhook_world {
    struct runtime *runtime;
    struct grove_context context;
    struct webhook_rules rules;
};
void webhook_world_init(struct webhook_world *w, struct runtime *r);

#endif
