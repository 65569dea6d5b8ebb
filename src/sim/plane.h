/*
 * A whole control plane in one process: store, API server, controllers, scheduler, simulated nodes,
 * on whatever loop it is given. `grove up` runs it on the real loop behind HTTPS, simulations on
 * the virtual one with nothing behind it; it is the same assembly.
 */
#ifndef SIM_PLANE_H
#define SIM_PLANE_H

#include "apiserver/server.h"
#include "client/controller.h"
#include "nodes/nodes.h"

struct plane;

struct plane_options {
    const char *data_dir; /* NULL: memory only */
    struct nodes_options nodes;
    str ca_pem; /* for the root CA ConfigMap of every namespace; may be empty */
    /* Wraps the API a component uses (fault injection); NULL: none. The component's name is given.
     */
    struct api *(*wrap)(void *ctx, struct api *api, const char *component);
    void *wrap_ctx;
};

/* ready is called once, when what every cluster has exists and the controllers were started, or
 * with an error. */
struct plane *plane_new(struct loop *l, const struct plane_options *o,
                        void (*ready)(void *ctx, const struct err *err), void *ctx,
                        struct err *err);
void plane_free(struct plane *p);

struct apiserver *plane_server(struct plane *p);
struct runtime *plane_runtime(struct plane *p);
/* An administrator's access. */
struct api *plane_admin(struct plane *p);

#endif
