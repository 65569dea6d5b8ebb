/*
 * The embedded API server: verbs over the store. It knows nothing of HTTP (front.h) and nothing of
 * Grove beyond the admission functions in grove/.
 *
 * Every write is a request state machine:
 *
 *   decode -> mutate -> validate -> check -> apply -> durable -> reply
 *      ^______________________________|  (the newest pending version changed meanwhile: again, at
 *                                         most 5 times)
 *
 * It may be suspended (webhooks) before the check; check re-reads the newest pending version and is
 * followed by apply without a break, so that nothing can come between. Replies leave after the
 * commit. Reads see durable versions only.
 *
 * No callback comes from inside apiserver_send() or apiserver_watch(). Refusals of a watch (a
 * selector that does not parse, a revision that is gone) come by on_end in the next PUBLISH phase,
 * before any event.
 *
 * Free the clients first, then the server, then close the store.
 */
#ifndef APISERVER_SERVER_H
#define APISERVER_SERVER_H

#include "client/api.h"
#include "store/store.h"

struct apiserver;
struct grove_context; /* grove/admission.h */
struct metrics_feed;  /* grove/metrics_feed.h */
struct metrics_names; /* apiserver/front/metrics_api.h */
struct req;

struct user {
    str name; /* "admin", "system:serviceaccount:grove-system:grove-operator" */
    const str *groups;
    size_t n_groups;
};

/* kinds_init() and whatever else registers kinds must have been called. */
struct apiserver *apiserver_new(struct loop *l, struct store *s);
/* Answers what is still open with code 0 and an unknown outcome; watches end without a call. */
void apiserver_free(struct apiserver *a);
/* Creates what every cluster has (namespaces default, kube-system, kube-public, kube-node-lease,
 * grove-system; service kubernetes) where it is missing; ready is called when durable. */
void apiserver_bootstrap(struct apiserver *a, void (*ready)(void *ctx, const struct err *err),
                         void *ctx);

/* What is enabled for Grove's own kinds, in place of everything; must outlive the server. */
void apiserver_set_grove_context(struct apiserver *a, const struct grove_context *context);
/* From now on pods get a volume with a token of their service account, as kube-apiserver adds it.
 * Nothing that is simulated reads it, and it makes a pod half as large again. */
void apiserver_set_token_volumes(struct apiserver *a, bool on);
/* Writes the definitions of Grove's kinds, for tools that read them; after bootstrap. */
void apiserver_write_definitions(struct apiserver *a,
                                 void (*done)(void *ctx, const struct err *err), void *ctx);

/* The verbs, for the front end. `user` must live until done. */
void apiserver_send(struct apiserver *a, const struct user *user, struct api_request *r);
void apiserver_watch(struct apiserver *a, const struct user *user, struct api_watch *w);
void apiserver_watch_stop(struct apiserver *a, struct api_watch *w);
/* The same verbs as a client of ours, acting as that service account of grove-system. */
struct api *apiserver_local(struct apiserver *a, const char *service_account);

/* Admission that cannot answer at once: called for every write after our own admission. True: the
 * request waits until write_resume() (request.h) is called for it, not from inside. */
typedef bool suspend_fn(void *ctx, struct req *q);
void apiserver_set_suspend(struct apiserver *a, suspend_fn *fn, void *ctx);

struct store *apiserver_store(struct apiserver *a);
struct loop *apiserver_loop(struct apiserver *a);
/* Metrics that are fed, and which there are at all (metrics_api.h). */
struct metrics_feed *apiserver_feed(struct apiserver *a);
struct metrics_names *apiserver_metric_names(struct apiserver *a);

/* What somebody wants to do: a verb on a resource, or (path not empty) on a path. */
struct access {
    str verb;
    str group, resource, sub, ns, name;
    str fields; /* field selector of a list or watch */
    str path;
};

/* As authorization sees it: a namespace is in itself, and what is to be created has no name. */
struct access access_to(str verb, const struct kind *k, str ns, str name, str sub);
/* The one place where authorization is asked. */
bool authorize(struct apiserver *a, const struct user *user, const struct access *x);
/* NULL: the user may. Otherwise the 403, in kube-apiserver's words; it is logged. */
struct status *authorize_status(struct apiserver *a, struct arena *arena, const struct user *user,
                                const struct access *x);

#endif
