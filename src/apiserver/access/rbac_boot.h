/* Roles and bindings every server has (grove/rbac_rules.h): created at start where they are
 * missing, completed where they lack something. */
#ifndef APISERVER_ACCESS_RBAC_BOOT_H
#define APISERVER_ACCESS_RBAC_BOOT_H

#include "kube/object.h"

struct apiserver;

/* done is called once, not from inside; their namespace must exist. */
void rbac_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx);
/* What is stored with what it lacks of the wanted one; NULL: nothing, or it is its owner's. */
struct doc *rbac_boot_reconcile(const struct obj *have, const struct doc *want);

#endif
