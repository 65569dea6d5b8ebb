/* The assembly; see plane.h. Each component has its own account, so that what it may do can be
 * told apart. */
#include "sim/plane.h"

#include "apiserver/controllers.h"
#include "base/vec.h"
#include "grove/types.h"
#include "operator/operator.h"
#include "sched/sched.h"

struct plane {
    struct loop *loop;
    struct plane_options options;
    struct store *store;
    struct apiserver *server;
    struct runtime *runtime;
    struct api *admin;
    VEC(struct api *) apis; /* one per component */
    void (*ready)(void *ctx, const struct err *err);
    void *ctx;
};

/* The API as one component sees it. */
static struct api *component_api(struct plane *p, const char *name)
{
    struct api *api = apiserver_local(p->server, name);
    *vec_push(&p->apis) = api;
    if (p->options.wrap) {
        api = p->options.wrap(p->options.wrap_ctx, api, name);
        *vec_push(&p->apis) = api;
    }
    return api;
}

static void start_controllers(struct plane *p)
{
    p->runtime = runtime_new(p->loop, component_api(p, "grove-cache"));
    gc_add(p->runtime, component_api(p, "garbage-collector"));
    namespaces_add(p->runtime, component_api(p, "namespace-controller"), p->options.ca_pem);
    operator_add(p->runtime, component_api(p, "grove-operator"));
    sched_add(p->runtime, component_api(p, "grove-scheduler"));
    (void)nodes_add(p->runtime, component_api(p, "simulated-nodes"), &p->options.nodes);
    runtime_start(p->runtime);
}

static void on_bootstrap(void *ctx, const struct err *err)
{
    struct plane *p = ctx;
    if (!err)
        start_controllers(p);
    p->ready(p->ctx, err);
}

struct plane *plane_new(struct loop *l, const struct plane_options *o,
                        void (*ready)(void *ctx, const struct err *err), void *ctx, struct err *err)
{
    grove_kinds_init();
    struct store_options so = {.dir = o->data_dir};
    struct store *store = store_open(l, &so, err);
    if (!store)
        return NULL;
    struct plane *p = xnew(struct plane);
    *p = (struct plane){.loop = l, .options = *o, .store = store, .ready = ready, .ctx = ctx};
    p->server = apiserver_new(l, store);
    p->admin = apiserver_local(p->server, NULL);
    apiserver_bootstrap(p->server, on_bootstrap, p);
    return p;
}

void plane_free(struct plane *p)
{
    if (!p)
        return;
    if (p->runtime)
        runtime_free(p->runtime);
    /* Wrappers come after what they wrap. */
    while (p->apis.len > 0)
        api_free(vec_pop(&p->apis));
    vec_done(&p->apis);
    api_free(p->admin);
    apiserver_free(p->server);
    store_close(p->store);
    free(p);
}

struct apiserver *plane_server(struct plane *p)
{
    return p->server;
}

struct runtime *plane_runtime(struct plane *p)
{
    return p->runtime;
}

struct api *plane_admin(struct plane *p)
{
    return p->admin;
}
