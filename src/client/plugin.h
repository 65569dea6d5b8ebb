/*
 * plugin: runs a credential plug-in (client.authentication.k8s.io) and reads what it prints. The
 * call blocks, so it is made on the worker that may (LOOP_BLOCK); it touches nothing but its
 * arguments.
 */
#ifndef CLIENT_PLUGIN_H
#define CLIENT_PLUGIN_H

#include "base/strbuf.h"
#include "base/timefmt.h"
#include "client/kubeconfig.h"

struct plugin_result {
    str token;
    str cert_pem, key_pem;
    usec expires; /* wall; 0: not told */
};

/* Appends the program's standard output. It inherits our standard error, and our terminal where the
 * kubeconfig allows it. Ended (by SIGKILL, with its children) when cancel_fd becomes readable or it
 * prints more than `out` may hold. */
int plugin_run(const struct kubeconfig_exec *x, int cancel_fd, struct strbuf *out, struct err *err);
/* How long it may take: a minute, ten when somebody may have to type. */
usec plugin_patience(const struct kubeconfig_exec *x);
/* What it printed; slices into the arena. */
int plugin_parse(const struct kubeconfig_exec *x, str text, struct arena *a,
                 struct plugin_result *ret, struct err *err);

#endif
