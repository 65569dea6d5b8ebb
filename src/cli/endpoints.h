/*
 * What a process in a cluster answers about itself, in clear text as probes and scrapers ask:
 * /healthz (always "ok"), /readyz ("ok" or 503 with the reason) and /metrics.
 */
#ifndef CLI_ENDPOINTS_H
#define CLI_ENDPOINTS_H

#include "base/err.h"
#include "loop/loop.h"

struct endpoints;

struct endpoints_options {
    const char *health, *metrics; /* "ADDR:PORT"; NULL: not served */
    /* NULL when it is ready, else why not. */
    const char *(*not_ready)(void *ctx);
    void *ctx;
};

struct endpoints *endpoints_new(struct loop *l, const struct endpoints_options *o, struct err *err);
void endpoints_free(struct endpoints *e);

#endif
