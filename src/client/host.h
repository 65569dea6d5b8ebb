/*
 * host: a process of its own that runs controllers against an API server, until it is told to stop
 * or loses its lease. What every such program does the same way: kubeconfig, connections (one for
 * caches and writes, one for the lease alone), leader election, signals.
 *
 * With a lease the caches fill while another process leads, so that taking over costs one
 * consistent read and not a cold start.
 */
#ifndef CLIENT_HOST_H
#define CLIENT_HOST_H

#include "client/api_faulty.h"
#include "client/controller.h"

struct host_options {
    const char *kubeconfig, *context; /* NULL: as kubectl finds them */
    str lease;                        /* name; empty: act at once, alone */
    str lease_ns;                     /* empty: the kubeconfig's */
    usec lease_duration;              /* 0: 15 s */
    usec lease_renew;                 /* to be renewed within this; 0: 2/3 of it */
    usec lease_retry;                 /* between tries; 0: 2/15 of it */
    /* Tests of controllers: the API misbehaves so; NULL: it does what it does. */
    const struct api_faulty_options *faults;
    /* Adds controllers, acting through `api`. */
    void (*add)(void *ctx, struct runtime *r, struct api *api);
    /* Told to end, it gives its lease back and, where it had one, goes on answering for so long: a
     * Service takes a moment to lead elsewhere. When that begins, `lingers` asks whoever is
     * connected to come back on a new connection; then `leave` ends what is left of them, and calls
     * gone(host). Both or neither; NULL: nobody is connected. */
    usec linger;
    void (*lingers)(void *ctx);
    void (*leave)(void *ctx, void (*gone)(void *host), void *host);
    /* Frees what was added beside them, while loop and API are still there; NULL: nothing. */
    void (*done)(void *ctx);
    void *ctx;
};

/* Returns 0 after SIGTERM or SIGINT (at once after the second), with the lease given back, or a
 * code with err set: it could not start, or has lost its lease. An API server that cannot be
 * reached is waited for. */
int host_run(const struct host_options *o, struct err *err);

#endif
