/*
 * Under which names and addresses a control plane is reached: what its serving certificate is good
 * for, and which address stands in kubeconfigs.
 *
 *   listens at          certificate                                     kubeconfig
 *   127.0.0.1, ::1      localhost and the Service `kubernetes`          as it listens
 *   an address          those, the machine's name, that address         as it listens
 *   0.0.0.0, [::]       those, the machine's name, all its addresses    the address of the default
 *                                                                       route, or the first one
 *
 * and in every case what --tls-san names. Link-local addresses are left out: they mean nothing
 * without the name of an interface.
 */
#ifndef PLANE_SERVER_NAMES_H
#define PLANE_SERVER_NAMES_H

#include "base/arena.h"
#include "loop/loop.h"

struct machine {
    str host_name; /* empty: it has none that a certificate could hold */
    const str *addresses;
    size_t n_addresses;
    str preferred; /* of the addresses: that of the default route; empty: there is none */
};

/* This machine, now. */
void machine_look(struct arena *a, struct machine *ret);

/* Calls fn when the machine may have other addresses, a moment after they changed. NULL: that
 * cannot be known here. */
struct machine_watch;
struct machine_watch *machine_watch_new(struct loop *l, void (*fn)(void *ctx), void *ctx);
void machine_watch_free(struct machine_watch *w);

/* "DNS:localhost,...,IP:127.0.0.1,...", the same text for the same names in whatever order. */
str server_names(struct arena *a, const struct machine *m, str listen, const str *more, size_t n);
/* NULL, or what is wrong with a name or address for the certificate. */
const char *server_name_fault(str name);
/* Where others find what listens there: "10.0.0.5:6443". */
str server_advertised(struct arena *a, const struct machine *m, str listen);

#endif
