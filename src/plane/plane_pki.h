/* The keys and certificates of an embedded control plane, kept in its state directory, and the
 * kubeconfig that lets an administrator in. */
#ifndef PLANE_PLANE_PKI_H
#define PLANE_PLANE_PKI_H

#include "net/tls.h"

struct plane_pki {
    struct pki_identity ca, server, admin;
    struct pki_identity kubelet_client; /* what we show to the servers of nodes */
    struct pki_identity
        first_ca;         /* as it was when opened, if that was renewed: others refer to it */
    struct strbuf sa_key; /* signs service account tokens; PEM */
    usec lifetime;        /* of the server's and the administrator's certificates */
    struct strbuf names;  /* of the server; see server_names.h */
};

/* Loads what is in dir, makes what is missing, about to expire or (the server's certificate) for
 * other names. lifetime 0: a year. */
int plane_pki_open(const char *dir, usec now, usec lifetime, str names, struct plane_pki *ret,
                   struct err *err);
void plane_pki_done(struct plane_pki *p);
/* When certificates should be made anew: wall time. */
usec plane_pki_renewal(const struct plane_pki *p);
/* Makes those anew whose time has come. */
int plane_pki_renew(struct plane_pki *p, const char *dir, usec now, struct err *err);
/* The server has other names from now on; 1: its certificate was made anew. */
int plane_pki_rename(struct plane_pki *p, const char *dir, usec now, str names, struct err *err);
/* A file of at most 64 KiB; the buffer is made. */
int plane_pki_read(const char *path, struct strbuf *ret, struct err *err);
/* Mode 0600. trust_pem: what the server's certificate is checked against; address:
 * "127.0.0.1:6443". */
int plane_pki_kubeconfig(const struct plane_pki *p, const struct strbuf *trust_pem,
                         const char *address, const char *path, struct err *err);

#endif
