/*
 * The one asynchronous interface to a Kubernetes API, whoever serves it: api_local (embedded, in
 * apiserver/), api_remote (HTTPS) and api_faulty (wraps another and misbehaves on purpose). The
 * HTTP front end of the embedded server decodes requests into the same struct, so that controllers
 * and kubectl go through the very same verbs, admission, authorization and errors.
 *
 * Every call completes later, on the loop, exactly once, never from inside api_send(). Slices and
 * documents in a request must live until its done callback returns; what a reply holds is borrowed
 * until then (reference it to keep it). A request cannot be called back; api_free() first answers
 * what is still open with code 0 and an unknown outcome, and ends watches without a call.
 */
#ifndef CLIENT_API_H
#define CLIENT_API_H

#include "base/list.h"
#include "kube/object.h"
#include "kube/status.h"

enum api_verb {
    API_GET,
    API_LIST,
    API_CREATE,
    API_UPDATE,
    API_PATCH,
    API_DELETE,
    API_DELETE_COLLECTION,
};

enum api_patch_type { API_PATCH_JSON, API_PATCH_MERGE, API_PATCH_STRATEGIC, API_PATCH_APPLY };
enum api_rv_match { API_RV_UNSET, API_RV_EXACT, API_RV_NOT_OLDER_THAN };
enum api_propagation { API_BACKGROUND, API_FOREGROUND, API_ORPHAN, API_PROPAGATION_DEFAULT };
enum api_field_validation { API_VALIDATE_WARN, API_VALIDATE_STRICT, API_VALIDATE_IGNORE };

struct api_reply {
    int code;                    /* as in HTTP */
    struct obj *obj;             /* the object, when the answer is one */
    struct doc *doc;             /* any other answer (Status, Scale, ...) */
    const struct status *status; /* why it failed; NULL on success */
    bool unknown_outcome;        /* the write may or may not have happened */
    /* lists */
    struct obj **items;
    size_t n_items;
    uint64_t rv;
    str continue_token;
    int64_t remaining; /* -1: not told */
    /* warnings for the user */
    const str *warnings;
    size_t n_warnings;
};

struct api_request {
    enum api_verb verb;
    const struct kind *kind;
    str ns;
    str name;
    str subresource; /* "status", "scale", "binding", "eviction", ... or empty */
    str path;        /* of what is no resource ("/debug/journal?name=x"): instead of kind and names;
                        api_remote only, the answer is a document */
    struct doc *body; /* object, patch or options; NULL where the verb has none */

    enum api_patch_type patch;
    bool force; /* apply: take over conflicting fields */
    str field_manager;
    enum api_field_validation field_validation;
    bool dry_run;
    /* The metadata is all that matters: objects come in the version they are stored in, and no
     * webhook that converts between versions is asked. For components of the server itself; a
     * server elsewhere does not know of it. */
    bool as_stored;

    /* delete: conditions on what is deleted; empty or 0: none */
    str uid;
    uint64_t rv;           /* also: resourceVersion of get and list */
    int64_t grace_seconds; /* -1: the object's own */
    enum api_propagation propagation;

    /* lists */
    str label_selector;
    str field_selector;
    enum api_rv_match rv_match;
    bool rv_given;
    int64_t limit;
    str continue_token;

    /* Monotonic: given up when it comes, and not sent after it. 0: none beyond the implementation's
     * own limit. What is carried out at once need not look. */
    usec deadline;

    void (*done)(struct api_request *r, const struct api_reply *reply);
    void *ctx;
    void *impl;       /* the implementation's */
    struct list link; /* the implementation's */
};

enum api_event_type { API_ADDED, API_MODIFIED, API_DELETED, API_BOOKMARK };

struct api_watch {
    const struct kind *kind;
    str ns; /* empty: all */
    str label_selector;
    str field_selector;
    uint64_t rv; /* events after it */
    bool rv_given;
    bool send_initial; /* ADDED for what is there, then a bookmark with initial_end */
    bool bookmarks;
    bool as_stored; /* as in a request */
    usec timeout;   /* 0: the server's choice */

    /* obj is NULL for a bookmark; rv is the revision of the event. */
    void (*on_event)(struct api_watch *w, enum api_event_type type, struct obj *obj, uint64_t rv,
                     bool initial_end);
    /* Last call. NULL: a clean end, watch again from the last rv. */
    void (*on_end)(struct api_watch *w, const struct status *why);
    void *ctx;
    void *impl;
    struct list link;
};

struct api;

struct api_ops {
    void (*send)(struct api *api, struct api_request *r);
    void (*watch)(struct api *api, struct api_watch *w);
    /* No callback comes after it, on_end included. */
    void (*watch_stop)(struct api *api, struct api_watch *w);
    void (*free)(struct api *api);
};

struct api {
    const struct api_ops *ops;
};

static inline void api_send(struct api *a, struct api_request *r)
{
    a->ops->send(a, r);
}
static inline void api_watch(struct api *a, struct api_watch *w)
{
    a->ops->watch(a, w);
}
static inline void api_watch_stop(struct api *a, struct api_watch *w)
{
    a->ops->watch_stop(a, w);
}
static inline void api_free(struct api *a)
{
    if (a)
        a->ops->free(a);
}

#endif
