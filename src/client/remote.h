/*
 * api_remote: any Kubernetes API server over HTTPS, behind the same interface as the embedded one.
 *
 * What goes wrong below HTTP becomes a Status 503 in one line that says where the server was looked
 * for; unknown_outcome is set when a write may have arrived. A list without a limit is fetched in
 * pages and answered as one. 429 is waited for as told, within bounds, where nobody above would:
 * reads always, writes when asked to; a write's caller that adapts its pace wants to see it. 401 is
 * answered with fresh credentials once where there are any.
 *
 * Requests and watches have connections of their own, so that a large reply does not hold up
 * events; whoever must not wait behind either (a Lease) makes a client of its own.
 */
#ifndef CLIENT_REMOTE_H
#define CLIENT_REMOTE_H

#include "client/api.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"

struct remote_options {
    /* For caches: objects without managedFields and kubectl's last-applied annotation. To PUT one
     * of them whole would take these away, so a PUT of an object is refused here. */
    bool trim;
    /* For commands: a throttled write is sent again. */
    bool patient;
    usec timeout; /* of a request, 0: 30 s; lists take twice that */
    /* Writes under way, at most; 0: any number. More wait here in the order they came: what a
     * server cannot do yet only makes everything else wait there, a Lease first of all. Some
     * seconds after the last of many, free memory is given back to the system. */
    unsigned writes;
};

/* The kubeconfig may go after the call. */
struct api *api_remote_open(struct loop *l, const struct kubeconfig *k,
                            const struct remote_options *o, struct err *err);
/* For a command. */
struct api *api_remote_new(struct loop *l, const struct kubeconfig *k, struct err *err);

#endif
