/* The keys and certificates of an embedded control plane, kept in its state directory, and the
 * kubeconfig that lets an administrator in. */
#ifndef CLI_PKI_H
#define CLI_PKI_H

#include "net/tls.h"

struct plane_pki {
    struct pki_identity ca, server, admin;
    struct strbuf sa_key; /* signs service account tokens; PEM */
};

/* Loads what is in dir, makes what is missing or about to expire. */
int plane_pki_open(const char *dir, usec now, struct plane_pki *ret, struct err *err);
void plane_pki_done(struct plane_pki *p);
/* Mode 0600. address: "127.0.0.1:6443". */
int plane_pki_kubeconfig(const struct plane_pki *p, const char *address, const char *path,
                         struct err *err);

#endif
