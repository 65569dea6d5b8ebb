/* Planners that belong to any API server: they make its objects behave (garbage collection,
 * namespaces). They run on the ordinary runtime. All kinds must be registered before. */
#ifndef APISERVER_CONTROLLERS_H
#define APISERVER_CONTROLLERS_H

#include "apiserver/token.h"
#include "client/controller.h"

/* Deletes objects whose owners are all gone (verified live), honours foreground deletion and
 * orphaning. Watches every registered kind but events and leases. */
void gc_add(struct runtime *r, struct api *api);
/* Empties a terminating namespace, then finalizes it; keeps a default service account and (unless
 * ca_pem is empty) the root CA ConfigMap in every live one. ca_pem must outlive the runtime. */
void namespaces_add(struct runtime *r, struct api *api, str ca_pem);

/* Fills Secrets of type kubernetes.io/service-account-token and deletes those whose service account
 * is gone. The options, the key and ca_pem must outlive the runtime. */
struct satokens_options {
    const struct token_key *key;
    str ca_pem;
};
void satokens_add(struct runtime *r, struct api *api, const struct satokens_options *o);

#endif
