/*
 * The agent's own HTTPS server, for the paths of a kubelet's that an API server passes requests on
 * to (apiserver/front/kubelet.h):
 *
 *   GET /containerLogs/NAMESPACE/POD/CONTAINER?follow&previous&timestamps&tailLines&limitBytes
 *       &sinceSeconds&sinceTime&stream
 *   GET /healthz
 *
 * Who asks shows a certificate of the same authority, as an API server (group grove:kubelet-clients) or
 * an administrator (system:masters). Files are read
 * by the loop's worker, a piece at a time, as fast as the reader takes them.
 */
#ifndef NODE_AGENT_AGENT_SERVER_H
#define NODE_AGENT_AGENT_SERVER_H

#include "net/http.h"
#include "net/tls.h"
#include "node/process/process.h"

struct agent_server;

struct agent_server_options {
    struct process *process;
    const char *listen;
    struct tls_server *tls; /* taken over */
};

struct agent_server *agent_server_new(struct loop *l, const struct agent_server_options *o,
                                      struct err *err);
void agent_server_free(struct agent_server *s);
int agent_server_port(const struct agent_server *s);
/* Something was observed of a pod: who follows its logs may be at their end. */
void agent_server_wake(struct agent_server *s);

#endif
