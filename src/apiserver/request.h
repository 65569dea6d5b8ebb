/*
 * What the files of the server share: the server itself, a request on its way, and the steps of a
 * write. Private to this folder.
 *
 * A request is made by request_start() and freed by request_answer(), which calls the client once.
 * Everything it needs meanwhile lives in its arena.
 *
 * Writes run through these states; req_move() is the only place that changes them:
 *
 *           ASKED       ASKED
 *             ▲ │        ▲ │
 *             │ ▼        │ ▼
 *   NEW ──► DECODE ──► MUTATE ──► VALIDATE ──► CHECK ──► APPLY ──► WAIT ──► ANSWER
 *    │        ▲  │        │          │ ▲         │ │        │                 ▲ ▲
 *    │        │  │        │          ▼ │         │ │        └─ dry run ───────┘ │
 *    │        │  │        │       SUSPENDED      │ └─ nothing changes:          │
 *    │        │  │        │                      │    WAIT or ANSWER            │
 *    │        └──┼────────┼──── again, 5 times ──┘                              │
 *    └───────────┴────────┴──────────┴──────────────── refused ─────────────────┘
 *
 * DECODE makes the candidate out of the newest version (base) and what the client sent; a patch is
 * computed here. MUTATE prunes, defaults and lets admission add its own; VALIDATE refuses. Webhooks
 * are asked to mutate in MUTATE (ASKED, which goes on to VALIDATE) and to judge between VALIDATE
 * and CHECK (SUSPENDED); about what has no candidate of the client's (a deletion, a binding) before
 * anything is made, ASKED going back to DECODE. So CHECK looks whether base is still
 * the newest version and starts over when it is not. From CHECK to APPLY nothing else runs. WAIT
 * ends when the version that is the answer is durable.
 *
 * A kind whose versions a webhook converts (conversion.h) waits for that in CONVERTING, and goes
 * back to the state it came from: DECODE for the base in the version of the request, MUTATE for
 * what others manage in another version, CHECK for the candidate in the version that is stored.
 */
#ifndef APISERVER_REQUEST_H
#define APISERVER_REQUEST_H

#include "apiserver/admit.h"
#include "apiserver/server.h"

struct hub;

struct apiserver {
    struct loop *loop;
    struct store *store;
    struct store_sub sub;
    struct list open;          /* requests not yet answered */
    struct list waiting;       /* those whose answer is a version written by somebody else */
    struct list commits;       /* writes on their way to the disk */
    struct hub *hub;           /* watches */
    struct crds *crds;         /* kinds that users define */
    struct rbac *rbac;         /* who may do what */
    struct nodes *nodes;       /* and what nodes may beside that */
    struct metrics_feed *feed; /* metrics that are fed */
    struct metrics_names *metric_names; /* which metrics there are */
    struct denials {                    /* how many were refused in the second that began at */
        usec since;
        unsigned n;
    } denials;
    struct hooks *hooks;             /* webhooks */
    struct conversions *conversions; /* between versions of kinds that users define */
    bool booting;       /* writing what every cluster has: nobody is asked about that */
    bool token_volumes; /* pods get a volume with a token of their account */
    struct quotas *quotas;
    struct admit_pools pools;
    const struct grove_context *grove; /* never NULL */
    suspend_fn *suspend;
    void *suspend_ctx;
};

/* The server itself. Webhooks are not asked about what it writes. */
extern const struct user server_user;

enum req_state {
    REQ_NEW,
    REQ_DECODE,
    REQ_MUTATE,
    REQ_ASKED,
    REQ_CONVERTING,
    REQ_VALIDATE,
    REQ_SUSPENDED,
    REQ_CHECK,
    REQ_APPLY,
    REQ_WAIT,
    REQ_ANSWER,
};

/* What a write does to the store. */
enum req_effect { EFFECT_STORE, EFFECT_REMOVE, EFFECT_NONE };

struct write_ops;

struct req {
    struct apiserver *server;
    struct api_request *r;
    const struct user *user;
    const struct kind *kind;
    enum req_state state;
    struct arena arena;
    struct field_errors errors; /* warnings too */
    struct list link;           /* server->open */
    struct list wait;           /* server->waiting */
    struct list peer;           /* requests of one local client */
    bool local;                 /* the client shares our memory */
    struct loop_task task;
    struct loop_timer timer; /* of a read that waits for a version */
    struct api_reply reply;

    /* writes */
    const struct write_ops *ops;
    unsigned tries;
    bool dry_run;
    str name;                 /* the object's, also when the server made it up */
    struct obj *newest;       /* what is there, as it is stored; held by the arena; NULL: nothing */
    struct obj *base;         /* the same in the version of the request */
    bool as_stored;           /* the version of the request is that of what is there */
    struct obj *converted;    /* the base that was last waited for; held by the arena */
    enum req_state came_from; /* of CONVERTING */
    struct doc *stored;       /* the candidate in the version that is stored; held by the arena */
    struct version *versions; /* what was converted for the managers of other versions */
    struct doc *doc;          /* the candidate; a reference of our own */
    struct edit owners;       /* of an apply: its managedFields, not yet in the candidate */
    enum req_effect effect;
    bool reply_old_version; /* the object went away by this update: show the version it had */
    uint64_t stamped;       /* version the candidate already carries; 0: none */
    struct obj *result;     /* held by the arena */
    uint64_t wait_rv;
    uint64_t asked_rv; /* webhooks have judged what is to be done to this version; 0: not yet */
    struct commit *commit;
    void *state_of_verb; /* list, deletecollection, scale */
};

/* How one kind of write differs from the others. */
struct write_ops {
    enum api_verb verb;
    const char *subresource;
    /* DECODE: sets q->doc and q->effect from q->base and the request, or refuses. */
    void (*make)(struct req *q);
    bool admits; /* the candidate is a client's: schema, admission and managedFields apply */
    /* ANSWER: fills q->reply from q->result; NULL: the object. */
    void (*answer)(struct req *q);
    /* The body is an object of this kind, which has the name and namespace of what it is about;
     * NULL: it is the object itself, or has neither. */
    const char *body_kind;
};

/* ---- request.c: life of a request ---- */

/* peers: list the request is put on while it is open, or NULL. */
void request_start(struct apiserver *a, const struct user *user, struct api_request *r,
                   struct list *peers);
/* Answers with code 0 and an unknown outcome, at once. */
void request_abort(struct req *q);
/* Calls the client and frees the request. */
void request_answer(struct req *q);
/* The same, later in this turn of the loop. */
void request_answer_later(struct req *q);
void req_move(struct req *q, enum req_state to);
/* The answer is this Status. */
void req_refuse(struct req *q, const struct status *why);
bool req_is_refused(const struct req *q);
void req_reply_obj(struct req *q, int code, struct obj *o);
void req_reply_doc(struct req *q, int code, struct doc *d);
/* 404: the kind is not served, or not with this subresource. */
struct status *no_such_resource(struct arena *a);
/* `pods "x" is forbidden: why` */
struct status *status_forbidden(struct arena *a, const struct kind *k, str name, str why);
/* Verb, resource and name of a request, the name also when a list selects it. */
struct access request_access(const struct api_request *r);
struct access watch_access(const struct api_watch *w);
/* rbac_escalate.c: NULL, or why this role or binding may not be written by this user. */
const struct status *escalation_status(struct req *q);
/* policy_access.c: NULL, or why this policy or its binding may not be written by this user. */
const struct status *policy_access_status(struct req *q);
/* node_restriction.c: NULL, or why a node may not write this. */
const struct status *node_restriction_status(struct req *q);
/* Versions up to this revision are durable. */
void requests_on_batch(struct apiserver *a);
/* Writes still on their way to the disk forget the server. */
void commits_detach(struct apiserver *a);
/* Stores o (or its deletion) and goes to WAIT; refuses when the store does. */
void request_commit(struct req *q, struct obj *o, bool delete);

/* ---- write_steps.c, write_patch.c: the steps of a write ---- */

/* What a body is to be. */
struct body_kind {
    const char *group, *version, *kind;
    const struct type *type;
};
static inline struct body_kind body_kind_of(const struct kind *k)
{
    return (struct body_kind){k->group, k->version, k->kind, k->type};
}
/* NULL when there is no such write. */
const struct write_ops *write_ops_find(enum api_verb verb, str subresource);
void write_start(struct req *q, const struct write_ops *ops);
/* After a suspension. */
void write_resume(struct req *q);
/* Ends of the rounds of webhooks, which come from the loop. changed: the candidate is no longer
 * what admission made of it. */
void write_mutated(struct req *q, bool changed);
void write_asked(struct req *q, bool mutating);
void write_refuse(struct req *q, const struct status *why);
/* The candidate (or, for scale, what it is a view of) as a webhook wants it; NULL, or why not. */
const struct status *write_take_patch(struct req *q, struct doc *d);
/* From state to state until the request waits for somebody. */
void write_run(struct req *q);
enum { WRITE_TRIES_MAX = 5 };
/* What the store takes: as much as a request body. */
#define WRITE_OBJECT_MAX ((size_t)3 << 20)
const struct status *status_too_large(struct arena *a);
void make_create(struct req *q);
void make_update(struct req *q);
void make_patch(struct req *q);
/* The patch fits its kind and its options fit the patch; false: refused. */
bool patch_check_options(struct req *q);
/* The patch of the request on this value; NULL: refused. */
struct doc *patch_apply(struct req *q, const struct type *type, jval target);
/* The body is an object of that kind, or says nothing about its kind; false: refused. */
bool check_body(struct req *q, const struct body_kind *k, jval body);
/* The same, of the kind that the request is about. */
bool check_own_body(struct req *q, jval body);
/* The name in the body is that of the request; false: refused. */
bool check_name_match(struct req *q, jval meta);
/* So is its namespace, or it has none; false: refused. */
bool check_namespace_match(struct req *q, jval meta);
/* resourceVersion and uid of what the client sent against the base; false: refused. */
bool check_preconditions(struct req *q, jval meta);
/* Reads resourceVersion; false when it is not a number. Absent and "0" are 0. */
bool meta_version(jval meta, uint64_t *ret);
/* The candidate from now on; takes the reference over and drops that to the one before. */
void write_set_doc(struct req *q, struct doc *d);

/* ---- write_version.c: versions of a write ---- */

/* DECODE: what is there (newest), and that in the version of the request (base). False: a webhook
 * has been asked, or the request is refused. */
bool write_find_base(struct req *q);
/* What is there is stored in another version than it would be today. */
bool write_migrates(const struct req *q);
/* DECODE and MUTATE: how managers of other versions see an object; NULL: as it is. What they miss
 * is noted, and write_wait_for_version() asks for it. */
const struct managed_versions *write_versions(struct req *q);
void write_wait_for_version(struct req *q);
/* CHECK: the candidate in the version that is stored, where that is another (stored). False: a
 * webhook has been asked. */
bool write_convert(struct req *q);
/* The result of the write as it is stored; held by the arena. */
struct obj *write_as_stored(struct req *q, const struct obj *o);

/* ---- meta.c: metadata the server owns ---- */

/* d with the members of `set` in its metadata as they are there; null removes. */
struct doc *meta_set(struct doc *d, jval set);
/* What a client may not write: on create the server's fields are dropped, on update they and (main
 * endpoint) the status, or (status endpoint) all but the status are those of base. */
struct doc *meta_isolate(const struct req *q, struct doc *d);
/* managedFields apart from their times, and everything else but the version, are equal. */
bool meta_same_object(const struct doc *a, const struct doc *b);
/* Nothing differs but what the garbage collector works with: finalizers, owners, and beside them
 * the version and managedFields. */
bool meta_only_collection_differs(const struct doc *a, const struct doc *b);
/* Next generation for a candidate; 0: the kind has none. */
int64_t meta_generation(const struct kind *k, const struct obj *base, const struct doc *d);
/* What a new object gets: UID, generation, time of creation and (unless it is 0) the version. */
void meta_stamp_new(struct req *q, struct edit *e, uint64_t rv);
/* The version, and for an update the generation: as edits, and at once. */
void meta_stamp_update(struct req *q, struct edit *e, const struct doc *d, uint64_t rv);
struct doc *meta_stamp(struct req *q, struct doc *d, uint64_t rv);
void meta_validate(struct req *q, const struct doc *d);
/* What is wrong with labels or annotations that somebody else made; empty: nothing. */
str meta_strings_fault(struct arena *a, jval map, bool labels);
/* Makes up a name after generateName. */
str meta_generate_name(struct req *q, str prefix);

/* ---- typeerror.c ---- */

/* What Go's decoder would say of the first value of the wrong type among the errors found in an
 * object; empty: there is none. */
str type_error_text(struct arena *a, const struct body_kind *k, jval root,
                    const struct field_errors *errors);
/* What the client sent, or (d) what its patch made, cannot be read. */
struct status *undecodable_status(struct req *q, const struct body_kind *k, const struct doc *d,
                                  str why);
/* The refusal for a value of the wrong type among the errors of the request; NULL: there is none.
 */
const struct status *type_error_status(struct req *q);

/* ---- read.c ---- */

struct status *status_version_too_large(struct arena *a, uint64_t asked, uint64_t current);
/* Answers when it can; else goes on with the batch that brings the version asked for, or with the
 * next turn of the loop. */
void read_start(struct req *q);
/* The version that it waits for is there. */
void read_resume(struct req *q);
/* The name that a scan goes on with after this one. */
str key_after(struct arena *a, str name);

/* ---- delete.c ---- */

void make_delete(struct req *q);
void answer_delete(struct req *q);
void delete_collection(struct req *q);
/* Deletes its own object the way DELETE does, for eviction. */
void make_eviction(struct req *q);
/* evict.c: no disruption budget holds the pod (q->base), or one let it go and counted it. */
bool evict_permit(struct req *q);
/* The object that results from an update goes away: it is being deleted and nothing holds it. */
bool delete_is_complete(const struct kind *k, const struct obj *base, const struct doc *d);

/* ---- subresource.c ---- */

/* A body of a kind of its own is of that kind and names what the URL names, or nothing; false:
 * refused. */
bool check_subject(struct req *q);
void make_scale(struct req *q);
void answer_scale(struct req *q);
void make_binding(struct req *q);
void answer_created(struct req *q);
void make_finalize(struct req *q);
/* The candidate gets the replicas of this Scale; NULL, or why not. */
const struct status *scale_take(struct req *q, jval scale);
/* Scale of an object; NULL: its kind has none. */
struct doc *scale_doc(const struct obj *o);

/* ---- signing.c: requests for certificates ---- */

/* What /status and /approval each leave alone of the status of this candidate; a new reference. */
struct doc *signing_isolate(const struct req *q, struct doc *d);
/* The common name in a request for a certificate, in base64 of PEM; empty: it has none, or two
 * (such a request is never signed). */
str signing_common_name(struct arena *a, str base64);
/* NULL, or why this user may not ask for it, approve or sign it, or attest a trust bundle. */
const struct status *signing_status(struct req *q);

/* ---- convert.c: one object, several kinds ---- */

/* Only a webhook can say what it is as that kind (conversion.h). */
bool convert_needs_hook(const struct obj *o, const struct kind *to);
/* The object as the kind asked for, which needs no webhook; a new reference. */
struct obj *convert_obj(struct obj *o, const struct kind *to);
/* The same of any object; NULL: a webhook has to be asked. */
struct obj *convert_now(struct apiserver *a, struct obj *o, const struct kind *to);
/* The document with the apiVersion of another version and otherwise as it is; a new reference. */
struct doc *convert_version(struct doc *d, const struct kind *to);
/* What the webhook made of it, with the defaults of its version. */
struct obj *convert_finish(struct doc *converted, const struct kind *to);
/* The object under that kind's name and otherwise as it is, for those who look at metadata only. */
struct obj *convert_as_stored(struct obj *o, const struct kind *to);
/* The members of a HorizontalPodAutoscaler, all but kind and apiVersion, in the other version. */
void convert_put_hpa(struct jw *w, jval root, bool to_v1);
/* The same of what devices are asked for and offered by; false: neither kind is v1beta1 of that. */
bool convert_put_resource(struct jw *w, const struct kind *from, const struct kind *to, jval root);

/* ---- watch.c ---- */

struct hub *hub_new(struct apiserver *a);
void hub_free(struct hub *h);
void hub_event(struct hub *h, const struct store_event *e);
void hub_watch(struct hub *h, const struct user *user, struct api_watch *w, struct list *peers);
void hub_stop(struct hub *h, struct api_watch *w);
/* Of a watch that is not live yet: nothing more is told until it goes on again. */
void hub_pause(struct api_watch *w, bool on);
bool hub_is_paused(const struct api_watch *w);
/* It has not been told all that was there. */
bool hub_is_beginning(const struct api_watch *w);
/* Bytes that are held for what it is to be told. */
size_t hub_waiting(const struct api_watch *w);
/* The watches on a list given to hub_watch end without a call. */
void hub_stop_peers(struct list *peers);
/* Ends all watches on a kind that is served no more. */
void hub_end_kind(struct hub *h, const struct kind *k);

#endif
