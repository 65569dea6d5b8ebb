/*
 * The certificates that `grove up` serves with, while it runs: read again when their files change,
 * made anew when our own near their end. Connections that stand go on with what they have. Files
 * that cannot be used (half written, a key that belongs to another certificate) change nothing; the
 * next change is looked at again.
 */
#ifndef PLANE_UPCERTS_H
#define PLANE_UPCERTS_H

#include "loop/loop.h"
#include "plane/plane_pki.h"

struct upcerts_options {
    const char *dir;       /* of our own */
    str cert, key;         /* files; empty: our own */
    str client_ca;         /* file; empty: our own CA */
    struct plane_pki *pki; /* of dir, open; kept up to date */
    /* Our own were made anew, or the file of those that are not ours was read again. */
    void (*on_new)(void *ctx);
    void *ctx;
};

struct upcerts;

struct upcerts *upcerts_new(struct loop *l, const struct upcerts_options *o, struct err *err);
void upcerts_free(struct upcerts *c);
/* The files may have changed, and by us: they are looked at now. */
void upcerts_look(struct upcerts *c);
struct tls_server *upcerts_tls(struct upcerts *c);
/* A server at this name, or address, is us: by what is served, or by our own certificate, which is
 * for all names and addresses of this machine that we listen at. */
bool upcerts_is_for(const struct upcerts *c, str name, bool is_ip);
/* What clients need to trust the server: our CA, and with it the file given instead of our own. */
void upcerts_trust(const struct upcerts *c, struct strbuf *ret);

#endif
