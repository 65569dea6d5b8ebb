/* Where the API is and who we are there: kubeconfig files as kubectl reads them. */
#ifndef CLIENT_KUBECONFIG_H
#define CLIENT_KUBECONFIG_H

#include "base/arena.h"
#include "base/err.h"

struct kubeconfig {
    /* all in the arena */
    str host;
    int port;
    str path; /* prefix of the server URL, without trailing slash */
    bool tls;
    bool skip_verify;
    str ca_pem, cert_pem, key_pem;
    str token;
    str ns; /* of the context; "default" when it has none */
    str file;
};

/* path NULL: $KUBECONFIG (its first existing file), else ~/.kube/config. context NULL: the current
 * one. Errors say which file and what to do. */
int kubeconfig_load(const char *path, const char *context, struct arena *a, struct kubeconfig *ret,
                    struct err *err);

#endif
