/* See host.h. */
#include "client/host.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "client/election.h"
#include "client/remote.h"

#define STALL_TIMEOUT (3 * USEC_PER_MIN)
/* At a time, of all controllers together. More do not make an API server faster. */
enum { WRITES = 64 };

struct host {
    const struct host_options *o;
    struct arena arena;
    struct kubeconfig config;
    struct loop *loop;
    struct api *remote;    /* caches and writes */
    struct api *faulty;    /* the same, spoilt; NULL: it is not */
    struct api *api;       /* whichever of the two */
    struct api *lease_api; /* the lease, and nothing it could wait for */
    struct api *acting;    /* who controllers act as */
    struct lease *lease;
    struct runtime *runtime;
    struct loop_signal term, interrupt;
    struct loop_timer linger;
    struct err *err;
    bool stopping;
};

static void on_lead(void *ctx)
{
    struct host *h = ctx;
    log_info("leading", LOG_S("lease", h->o->lease));
    runtime_lead(h->runtime);
}

/* What is known about the clock goes with the lease: the next holder may be on this machine. */
static void read_clock(void *ctx, str record)
{
    struct host *h = ctx;
    clock_restore(runtime_clock(h->runtime), record);
}

static void write_clock(void *ctx, struct strbuf *out)
{
    struct host *h = ctx;
    clock_save(runtime_clock(h->runtime), out);
}

static void on_lost(void *ctx, const char *why)
{
    struct host *h = ctx;
    (void)err_set(h->err, ERR_UNAVAILABLE, "%s", why);
    loop_stop(h->loop, ERR_UNAVAILABLE);
}

static void on_gone(void *ctx)
{
    struct host *h = ctx;
    loop_stop(h->loop, 0);
}

static void on_lingered(struct loop_timer *t)
{
    struct host *h = container_of(t, struct host, linger);
    if (h->o->leave)
        h->o->leave(h->o->ctx, on_gone, h);
    else
        on_gone(h);
}

static void on_released(void *ctx)
{
    struct host *h = ctx;
    if (h->o->lingers)
        h->o->lingers(h->o->ctx);
    loop_timer_set(&h->linger, loop_now(h->loop) + h->o->linger);
}

/* The second signal does not wait. */
static void request_stop(struct host *h)
{
    if (h->stopping) {
        loop_stop(h->loop, 0);
        return;
    }
    h->stopping = true;
    runtime_set_standby(h->runtime);
    if (h->lease)
        lease_release(h->lease, on_released, h);
    else
        on_lingered(&h->linger);
}

static void on_term(struct loop_signal *s)
{
    request_stop(container_of(s, struct host, term));
}

static void on_interrupt(struct loop_signal *s)
{
    request_stop(container_of(s, struct host, interrupt));
}

static void open_lease(struct host *h)
{
    const struct host_options *o = h->o;
    usec duration = o->lease_duration ? o->lease_duration : 15 * USEC_PER_SEC;
    char name[128] = "";
    (void)gethostname(name, sizeof(name) - 1);
    struct lease_options lo = {
        .ns = str_is_empty(o->lease_ns) ? h->config.ns : o->lease_ns,
        .name = o->lease,
        .identity = arena_printf(&h->arena, "%s_%016llx", name,
                                 (unsigned long long)loop_random_u64(h->loop)),
        .duration = duration,
        .renew_deadline = o->lease_renew ? o->lease_renew : duration * 2 / 3,
        .retry = o->lease_retry ? o->lease_retry : duration * 2 / 15,
        .note = STR("grove.io/clock"),
        .read_note = read_clock,
        .write_note = write_clock,
        .on_lead = on_lead,
        .on_lost = on_lost,
        .ctx = h,
    };
    h->lease = lease_new(h->loop, h->lease_api, &lo);
    h->acting = api_fenced_new(h->loop, h->api, h->lease);
}

static int open_apis(struct host *h)
{
    struct remote_options o = {.trim = true, .writes = WRITES}, plain = {0};
    h->remote = h->api = api_remote_open(h->loop, &h->config, &o, h->err);
    if (h->remote && h->o->faults)
        h->api = h->faulty = api_faulty_new(h->loop, h->remote, h->o->faults);
    if (!h->api || str_is_empty(h->o->lease))
        return h->api ? 0 : h->err->code;
    h->lease_api = api_remote_open(h->loop, &h->config, &plain, h->err);
    return h->lease_api ? 0 : h->err->code;
}

static int host_open(struct host *h)
{
    int r = kubeconfig_load(h->o->kubeconfig, h->o->context, &h->arena, &h->config, h->err);
    if (r)
        return r;
    h->loop = loop_new_real(h->err);
    if (!h->loop)
        return h->err->code;
    loop_timer_init(h->loop, &h->linger, on_lingered);
    h->term = (struct loop_signal){.signo = SIGTERM, .fn = on_term};
    h->interrupt = (struct loop_signal){.signo = SIGINT, .fn = on_interrupt};
    r = loop_signal_add(h->loop, &h->term, h->err);
    r = r ? r : loop_signal_add(h->loop, &h->interrupt, h->err);
    return r ? r : open_apis(h);
}

static void host_start(struct host *h)
{
    if (h->lease_api)
        open_lease(h);
    h->runtime = runtime_new(h->loop, h->api);
    runtime_set_stall_timeout(h->runtime, STALL_TIMEOUT);
    runtime_set_foreign_clocks(h->runtime);
    h->o->add(h->o->ctx, h->runtime, h->acting ? h->acting : h->api);
    if (h->lease)
        runtime_set_standby(h->runtime);
    runtime_start(h->runtime);
}

static void host_close(struct host *h)
{
    if (h->runtime && h->o->done)
        h->o->done(h->o->ctx);
    runtime_free(h->runtime);
    api_free(h->acting);
    lease_free(h->lease);
    api_free(h->lease_api);
    api_free(h->faulty);
    api_free(h->remote);
    if (h->loop) {
        loop_timer_cancel(&h->linger);
        loop_free(h->loop);
    }
    arena_done(&h->arena);
}

int host_run(const struct host_options *o, struct err *err)
{
    struct host h = {.o = o, .err = err};
    int r = host_open(&h);
    if (r == 0) {
        host_start(&h);
        r = loop_run(h.loop);
    }
    host_close(&h);
    return r;
}
