/*
 * Who answers for a Service: the pods it selects that have an address, and which of its ports each
 * of them has. Pure; both kinds that tell clients about it are written from here
 * (endpoint_slices.c, endpoints_object.c), by the planner of services.c.
 *
 *   pod                                        in slices          in Endpoints
 *   no address, or finished                    no                 no
 *   ready                                      ready, serving     addresses
 *   not ready                                  -                  notReadyAddresses
 *   being deleted, ready                       serving, terminating   -
 *   any, publishNotReadyAddresses              ready as well      addresses
 *   on a node that is not there                no, unless published   the same
 */
#ifndef CONTROLLERS_SERVICE_BACKENDS_H
#define CONTROLLERS_SERVICE_BACKENDS_H

#include "base/vec.h"
#include "client/controller.h"
#include "json/write.h"

struct backend {
    const struct obj *pod;
    const struct obj *node; /* NULL: not known */
    str ip;
    bool ready, serving, terminating;
    size_t group; /* of ports */
};

/* Pods whose ports have the same numbers: ports with names may differ from pod to pod. */
struct port_group {
    int64_t *numbers; /* one for each port of the Service; 0: these pods do not have it */
};

struct backends {
    const struct obj *service;
    VEC(struct backend) list; /* in order of names */
    VEC(struct port_group) groups;
};

/* The pods that the selector of the Service matches, and perhaps others. */
struct cache_iter service_pods(const struct world *w, const struct obj *service, struct arena *a);

/* family: "IPv4" or "IPv6". Slices live in objects and the arena. */
void backends_of(struct backends *b, const struct world *w, const struct obj *service,
                 const char *family, struct arena *a);
void backends_done(struct backends *b);
/* An array, as EndpointSlices (named: the name is always there) or Endpoints have it. */
void backends_put_ports(const struct backends *b, struct jw *w, size_t group, bool named);
void backends_put_target(struct jw *w, const struct obj *pod);
/* The pod's name within the domain of the Service; empty: it has none. */
str backends_hostname(const struct obj *service, const struct obj *pod);

/* Has a selector, and is not only a name for something elsewhere. */
bool service_selects(const struct obj *service);
bool service_is_headless(const struct obj *service);
/* "IPv4", "IPv6"; the first is the main one. NULL after the last. */
const char *service_family(const struct obj *service, size_t i);

/* {"name": value or null, ...}: what makes these labels those; our own are in `own`. For a merge
 * patch of what `have` is, or with have absent for a new object. */
struct own_labels {
    const char *names[3];
    str values[3];
    size_t n;
};
void labels_put_patch(struct jw *w, jval have, jval of_service, const struct own_labels *own);
bool labels_are(jval have, jval of_service, const struct own_labels *own);

/* For the planner of services.c. */
void plan_endpoint_slices(const struct world *w, const struct obj *service, struct plan *p);
void plan_endpoints(const struct world *w, const struct obj *service, struct plan *p);

#endif
