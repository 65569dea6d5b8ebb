/*
 * Who may do what by default: the roles every API server has (cluster-admin, admin, edit, view,
 * what everybody may ask) and one role per component of ours with no more than the component
 * needs. One table: the embedded server creates these objects and judges its own components by
 * them, an installation prints them, so that every simulation tests what a cluster gets.
 *
 * Lists in the table are words joined by commas; the empty word is the core API group.
 */
#ifndef GROVE_RBAC_RULES_H
#define GROVE_RBAC_RULES_H

#include "kube/tables/kinds.h"
#include "json/doc.h"

/* Where the accounts of the components live. */
#define RBAC_NAMESPACE "grove-system"
#define RBAC_GROUP "rbac.authorization.k8s.io"
#define RBAC_AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"

struct rbac_rule {
    const char *groups, *resources; /* NULL: a rule about paths */
    const char *verbs;
    const char *names; /* NULL: all */
    const char *urls;  /* NULL: a rule about resources */
};

struct rbac_role {
    const char *name;
    const char *ns;         /* a Role in this namespace; NULL: a ClusterRole */
    const char *joins;      /* "view": its rules belong to that role as well; NULL: to none */
    const char *aggregates; /* "view": made of all that join it; NULL: of its own rules */
    const struct rbac_rule *rules;
    size_t n_rules;
    const char *accounts; /* who is bound to it: components, */
    const char *groups;   /* and groups; NULL: none */
};

/* NULL after the last. */
const struct rbac_role *rbac_role_at(size_t i);
const struct kind *rbac_role_kind(const struct rbac_role *r);
/* As the embedded server has it; with `ns` as part of an installation into that namespace. */
struct doc *rbac_role_doc(const struct rbac_role *r, const char *ns);
/* NULL: nobody is bound to it. The binding has the name of its role. */
const struct kind *rbac_binding_kind(const struct rbac_role *r);
struct doc *rbac_binding_doc(const struct rbac_role *r, const char *ns);

#endif
