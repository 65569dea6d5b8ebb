/* Planners that belong to any API server: they make its objects behave (garbage collection,
 * namespaces). They run on the ordinary runtime. All kinds must be registered before. */
#ifndef APISERVER_CONTROLLERS_H
#define APISERVER_CONTROLLERS_H

#include "client/controller.h"

/* Deletes objects whose owners are all gone (verified live), honours foreground deletion and
 * orphaning. Watches every registered kind but events and leases. */
void gc_add(struct runtime *r, struct api *api);
/* Empties a terminating namespace, then finalizes it; keeps a default service account and (unless
 * ca_pem is empty) the root CA ConfigMap in every live one. ca_pem must outlive the runtime. */
void namespaces_add(struct runtime *r, struct api *api, str ca_pem);

#endif
