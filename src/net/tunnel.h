/*
 * tunnel: a transport through an HTTP proxy. It connects what is below, asks the proxy for a
 * connection to the target (CONNECT) and is then the same as what is below; TLS goes on top as
 * ever.
 *
 * Not a byte beyond the proxy's answer is read before the tunnel stands: it would be the target's.
 */
#ifndef NET_TUNNEL_H
#define NET_TUNNEL_H

#include "net/transport.h"

/* target: "host:port", "[address]:port". authorization: of the proxy, "Basic ..."; NULL: none.
 * name: the proxy's, for people. Takes `below` over. */
struct transport *transport_new_tunnel(struct transport *below, const char *target,
                                       const char *authorization, const char *name);

#endif
