/* api_remote: any Kubernetes API server over HTTPS, behind the same interface as the embedded one.
 */
#ifndef CLIENT_REMOTE_H
#define CLIENT_REMOTE_H

#include "client/api.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"

/* The kubeconfig may go after the call. */
struct api *api_remote_new(struct loop *l, const struct kubeconfig *k, struct err *err);

#endif
