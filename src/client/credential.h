/*
 * credential: who we are to an API server at this moment. A fixed token, a name with password or a
 * certificate never change; a token file is read again, at most once a minute; a plug-in is asked
 * again when what it gave expires or is refused. Files and plug-ins block, so both go to the worker
 * (LOOP_BLOCK) and requests wait meanwhile.
 *
 * A source that fails keeps what it gave before as long as there is something, and is asked less
 * and less often. Runs on the loop; owned by its client.
 */
#ifndef CLIENT_CREDENTIAL_H
#define CLIENT_CREDENTIAL_H

#include "client/kubeconfig.h"
#include "loop/loop.h"

struct credential;

/* ready: told after each credential_refresh, from the loop; err when there is nothing to use. The
 * kubeconfig must live as long as the credential. */
struct credential *credential_new(struct loop *l, const struct kubeconfig *k,
                                  void (*ready)(void *ctx, const struct err *err), void *ctx);
/* No call of ready comes after it. A plug-in that runs is ended. */
void credential_free(struct credential *c);

/* What is below can be used now. */
bool credential_is_fresh(struct credential *c);
/* Gets it anew; under way already: nothing more. */
void credential_refresh(struct credential *c);
/* The server refused what we sent as of this generation: true when asking again may help (the
 * credential is then no longer fresh, or a newer one is there already). */
bool credential_refused(struct credential *c, unsigned generation);
/* Counts what was got. */
unsigned credential_generation(const struct credential *c);

/* "Bearer ..." or "Basic ..."; empty: none. Valid until the next refresh. */
str credential_authorization(const struct credential *c);
/* A client certificate instead of the kubeconfig's; empty: none. */
str credential_cert(const struct credential *c);
str credential_key(const struct credential *c);

#endif
