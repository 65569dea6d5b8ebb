/* Planners that belong to any API server: they make its objects behave (garbage collection,
 * namespaces, budgets, the end of events). They run on the ordinary runtime; kinds that are defined
 * while they run are followed. */
#ifndef CONTROLLERS_CONTROLLERS_H
#define CONTROLLERS_CONTROLLERS_H

#include "client/controller.h"
#include "kube/token.h"
#include "net/tls.h"

/* Deletes objects whose owners are all gone (verified live), honours foreground deletion and
 * orphaning. Watches every registered kind but events and leases. */
void gc_add(struct runtime *r, struct api *api);
/* Empties a terminating namespace, then finalizes it; keeps a default service account and (unless
 * ca_pem is empty) the root CA ConfigMap in every live one. ca_pem must outlive the runtime. */
struct controller *namespaces_add(struct runtime *r, struct api *api, str ca_pem);
/* Another root CA, which must outlive the runtime in its place, for all of them. */
void namespaces_set_ca(struct controller *c, str ca_pem);

/* Fills Secrets of type kubernetes.io/service-account-token and deletes those whose service account
 * is gone. The options, the key and ca_pem must outlive the runtime. */
struct satokens_options {
    const struct token_key *key;
    str ca_pem;
};
struct controller *satokens_add(struct runtime *r, struct api *api,
                                const struct satokens_options *o);
/* ca_pem of the options is another now: all of them get it. */
void satokens_ca_changed(struct controller *c);

/* Approves and signs requests for certificates of nodes, signs those of users that somebody
 * approved, and clears old ones away. The options and the CA must outlive the runtime; the CA may
 * be renewed in place. */
struct certificates_options {
    const struct pki_identity *ca;
    /* The API server is reached by this name, or address: no node gets a certificate for it unless
     * somebody approves that. NULL: nobody knows, and no serving certificate is approved. */
    bool (*is_server)(void *ctx, str name, bool is_ip);
    void *ctx;
};
void certificates_add(struct runtime *r, struct api *api, const struct certificates_options *o);

/* Deletes bootstrap tokens whose time is over. */
void bootstrap_tokens_add(struct runtime *r, struct api *api);

/* Keeps the rules of ClusterRoles that are made of others. */
void roles_add(struct runtime *r, struct api *api);

/* Deletes events an hour after they were last seen. */
void events_expiry_add(struct runtime *r, struct api *api);

/* Keeps the status of PodDisruptionBudgets. */
void pdb_add(struct runtime *r, struct api *api);

/* Keeps the EndpointSlices and Endpoints of Services, those of the API server's own included; the
 * options must outlive the runtime. */
struct services_options {
    str ip; /* where the API server is found; empty: nowhere that a pod can reach */
    int64_t port;
};
struct controller *services_add(struct runtime *r, struct api *api,
                                const struct services_options *o);
/* The options say another place now. */
void services_moved(struct controller *c);

/* Kind an owner reference names, in whatever version of its group is known; NULL: none is. */
const struct kind *owner_ref_kind(jval ref);

#endif
