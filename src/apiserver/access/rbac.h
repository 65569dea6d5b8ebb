/*
 * Role-based access control: rules, and an index of who holds which.
 *
 * The rules are pure functions: a rule and a question in, yes or no out. The index is derived
 * state, folded from the durable versions of roles and bindings as the store publishes them: from
 * a subject (user or group) to the roles bound to it, everywhere or in one namespace. A decision
 * looks up the user and each group once and tries the rules it finds; it never walks all bindings.
 * A role made of others (aggregationRule) is judged by the rules of those others as they are now.
 *
 * Members of system:masters may do everything.
 */
#ifndef APISERVER_ACCESS_RBAC_H
#define APISERVER_ACCESS_RBAC_H

#include "apiserver/server.h"

/* ---- rules ---- */

struct words {
    const str *p;
    size_t n;
};

struct policy_rule {
    struct words verbs, groups, resources, names, urls;
};

struct policy_rules {
    const struct policy_rule *p;
    size_t n;
};

/* "rules" of a role; words point into the document. */
struct policy_rules policy_rules_read(struct arena *a, jval rules);
bool policy_rule_allows(const struct policy_rule *r, const struct access *x);
/* The rules split into the smallest ones (one verb, group, resource and name each) that `held` does
 * not cover, those about one resource joined again; empty: all is covered. false: there are too
 * many to tell. */
bool policy_rules_missing(struct arena *a, struct policy_rules held, struct policy_rules asked,
                          struct policy_rules *ret);
/* {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]} */
str policy_rule_text(struct arena *a, const struct policy_rule *r);

/* ---- the index ---- */

struct rbac;

/* Folds what the store has; rbac_event() keeps it up to date. */
struct rbac *rbac_new(struct store *s);
void rbac_free(struct rbac *r);
void rbac_event(struct rbac *r, const struct store_event *e);
bool rbac_allows(struct rbac *r, const struct user *u, const struct access *x);
/* The two below are good until the store changes. What the user holds in the namespace (empty:
 * everywhere). */
struct policy_rules rbac_rules_of(struct rbac *r, struct arena *a, const struct user *u, str ns);
/* The rules of a role (ns empty: a ClusterRole), those of others when it is made of them. */
struct policy_rules rbac_rules_in(struct rbac *r, str ns, str name);
/* rbac_reason.c: `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "u"`; empty
 * when nothing allows it, or being a master does. Walks the bindings. */
str rbac_reason(struct rbac *r, const struct store *s, struct arena *a, const struct user *u,
                const struct access *x);
/* authz.c: the same for whoever has a server and not its inside. */
str authorize_reason(struct apiserver *a, struct arena *arena, const struct user *user,
                     const struct access *x);
struct policy_rules authorize_rules(struct apiserver *a, struct arena *arena,
                                    const struct user *user, str ns);
bool user_is_master(const struct user *u);

#endif
