/* The embedded control plane as a process: state directory, keys, HTTPS, kubeconfig, signals.
 * `grove up` runs it until told to stop; `grove demo` runs it beside its own script. */
#ifndef PLANE_UP_H
#define PLANE_UP_H

#include "apiserver/front/front.h"
#include "net/http.h"
#include "plane/plane.h"

struct up_options {
    str listen;
    str data;       /* empty: a temporary directory, removed at the end */
    str kubeconfig; /* empty: in the state directory */
    struct nodes_options nodes;
    bool local;            /* this machine is a node, too */
    bool local_all;        /* every pod runs as processes, also those that do not ask for it */
    bool local_privileged; /* pods may have hostPath volumes and run as uid 0 */
    int64_t local_gpus;    /* GPUs that this machine pretends to have */
    const struct operator_config *config; /* NULL: none; must outlive it */
    str without, initc_image;             /* as plane_options has them; must outlive it */
    struct front_limits limits;
    size_t object_memory; /* for what is stored; 0: no limit */
    /* Files; empty: our own. Looked at again when they change. */
    str tls_cert, tls_key, client_ca;
    usec cert_lifetime; /* of our own; 0: a year */
    const str *tls_san; /* further names and addresses in our own certificate */
    size_t n_tls_san;
    /* The kubeconfig was written again, with other certificates; NULL: nobody wants to know. With
     * the ctx of on_ready. */
    void (*on_kubeconfig)(void *ctx);
};

struct up;

/* on_ready is called once when requests are answered and the controllers run, or with an error. */
struct up *up_new(struct loop *l, const struct up_options *o,
                  void (*on_ready)(void *ctx, const struct err *err), void *ctx, struct err *err);
const char *up_address(const struct up *u); /* where it listens: "127.0.0.1:6443", "0.0.0.0:6443" */
const char *up_advertised(const struct up *u); /* where it is found: never 0.0.0.0 */
const char *up_kubeconfig(const struct up *u); /* path */
const char *up_dir(const struct up *u);        /* of the state */
struct store *up_store(const struct up *u);
/* The administrator's access, from when it is ready. */
struct api *up_admin(const struct up *u);
/* Ends connections and closes the store, then calls done. */
void up_stop(struct up *u, void (*done)(void *ctx), void *ctx);
void up_free(struct up *u);

#endif
