/* The definitions of Grove's kinds, for tools that read them (`kubectl get crd`, the paths of scale
 * subresources, controllers that wait for Established): written when the server starts, where they
 * are missing or are those of another version of the program. Nobody else may change their spec or
 * delete them; the program's tables stay in charge. */
#ifndef APISERVER_CRD_CRD_BOOT_H
#define APISERVER_CRD_CRD_BOOT_H

#include "base/err.h"

struct apiserver;

/* done is called once, not from inside; the server must be booting (request.h). */
void crd_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx);

#endif
