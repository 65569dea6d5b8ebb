/*
 * Which proxy leads to an API server, as kubectl decides it: the cluster's proxy-url, else the
 * environment: HTTPS_PROXY (HTTP_PROXY for a server in clear text) or the same in lower case,
 * unless the server is on this machine or in NO_PROXY.
 *
 * NO_PROXY is a list: "*" is everything; a name is itself and all below it, with a leading dot only
 * what is below; an address or a network (10.0.0.0/8) is servers given by address; any may have a
 * port.
 */
#ifndef CLIENT_PROXY_H
#define CLIENT_PROXY_H

#include "client/kubeconfig.h"

struct proxy {
    str host; /* empty: none; with a NUL behind */
    int port;
    str authorization; /* "Basic ..." or empty; with a NUL behind */
};

/* Everything in the arena. Only http:// proxies are known; errors say where the URL is from. */
int proxy_for(const struct kubeconfig *k, struct arena *a, struct proxy *ret, struct err *err);

#endif
