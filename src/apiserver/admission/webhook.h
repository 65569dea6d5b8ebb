/*
 * Admission webhooks: services of the users that are asked before something is written.
 *
 *   hook_match     which webhook wants to see a write, and as which version of its kind   (pure)
 *   hook_review    the question, and what an answer means                                  (pure)
 *   hook_call      one question over HTTPS, with connections that are kept
 *   hooks          who is to be asked: the configurations, and the rounds of a request
 *
 * A write is asked about in two rounds. Mutating webhooks come first, one after the other in the
 * order of their configurations' names, each seeing what the one before made of the object; those
 * with reinvocationPolicy IfNeeded are asked once more when a later one changed it. Validating ones
 * are asked at once, when the object is complete. The request is parked meanwhile (request.h draws
 * where) and nothing else waits for it.
 *
 * What is never asked about: webhook configurations and admission policies (a broken webhook could
 * not be removed), what the server writes when it starts (it would not start without the pods of
 * the webhook, nor they without it) and its own bookkeeping (disruptions of a budget, use of a
 * quota), which other writes rely on in the same turn of the loop. Controllers of ours are asked
 * about like everybody else. Connections into pods (exec, port-forward) do not exist on simulated
 * nodes and are refused before.
 */
#ifndef APISERVER_ADMISSION_WEBHOOK_H
#define APISERVER_ADMISSION_WEBHOOK_H

#include "client/api.h"
#include "loop/loop.h"
#include "net/http.h"
#include "store/store.h"

struct apiserver;
struct hooks;
struct req;
struct status;
struct user;

/* ---- webhook_match.c ---- */

/* What a write looks like to a webhook. */
struct hook_target {
    const char *operation;   /* "CREATE", "UPDATE", "DELETE" */
    const struct kind *kind; /* as it was requested */
    /* Other versions of the same, which a webhook may know it by. */
    const struct kind *const *equivalents;
    size_t n_equivalents;
    str sub;
    str ns; /* a namespace is in itself */
    str name;
    jval object, old_object; /* absent: there is none */
    jval ns_labels;          /* of the namespace as it will be */
};

/* The kind (one of the equivalents, or its own) as which this webhook wants to see it; NULL: it
 * does not want to. `hook` is an element of webhooks in a configuration. */
const struct kind *hook_match(struct arena *a, jval hook, const struct hook_target *t);
/* The same by the matchConstraints of a policy or the matchResources of a binding; without rules it
 * wants to see everything. */
const struct kind *hook_match_resources(struct arena *a, jval match, const struct hook_target *t);
/* The webhook's matchConditions. */
enum hook_condition {
    HOOK_MATCHES,
    HOOK_DIFFERS,
    HOOK_UNDECIDED, /* one fails to say, and none says no: the reason is in ret_why */
};
/* request: the "request" of the AdmissionReview it would be asked. */
enum hook_condition hook_conditions(struct arena *a, jval hook, jval request, str *ret_why);
/* Compiles it; false: the reason is in err. */
bool hook_condition_check(struct arena *a, str expression, struct err *err);
/* Nobody is asked about these. */
bool hook_is_exempt(const struct kind *k);

/* ---- webhook_review.c ---- */

struct hook_question {
    const struct hook_target *target;
    const struct kind *as;
    const struct user *user;
    str uid;
    str version;             /* of AdmissionReview: "v1" or "v1beta1" */
    jval object, old_object; /* as that kind */
    str object_kind; /* "autoscaling/v1 Scale" where it is not an object of the kind itself */
    str options;     /* JSON */
    bool dry_run;
};

/* The AdmissionReview, held by the arena. */
struct doc *hook_review(struct arena *a, const struct hook_question *q);
/* The first version of AdmissionReview that both sides speak; empty: none. */
str hook_review_version(jval hook);

/* ---- webhook_about.c ---- */

/* More than a definition can have versions: a rule for any of them counts for all. */
enum { HOOK_EQUIVALENTS_MAX = 128 };

/* A request, seen from outside. What it refers to is in the request's arena. */
struct hook_about {
    struct req *q;
    struct hook_target target;
    const struct kind *equivalents[HOOK_EQUIVALENTS_MAX];
    struct doc *object, *old; /* held by the arena; NULL: none */
    str object_kind;          /* as in hook_question */
};

void hook_about_init(struct hook_about *r, struct req *q);
/* The candidate is another. */
void hook_about_refresh(struct hook_about *r);
/* The document as another version of its kind; NULL: it is no object any more. */
struct doc *hook_about_convert(struct hook_about *r, struct doc *d, const struct kind *from,
                               const struct kind *to);
/* Why it cannot be shown as that kind: between its versions stands a conversion webhook. Empty: it
 * can. */
str hook_about_is_apart(const struct hook_about *r, const struct kind *as);
struct hook_question hook_about_question(struct hook_about *r, const struct kind *as);
/* The candidate becomes `after`, which somebody made of `before` (both of kind `as`, held by the
 * arena). What is returned refuses the request; *ret_broken says what may not be done to it. */
const struct status *hook_about_take(struct hook_about *r, const struct kind *as, jval before,
                                     struct doc *after, bool *ret_changed, const char **ret_broken);

/* ---- webhook_review.c, answers ---- */

enum hook_outcome {
    HOOK_ALLOWED,
    HOOK_REFUSED, /* status is the answer to the client */
    HOOK_FAILED,  /* no usable answer: what happens is up to failurePolicy */
};

struct hook_verdict {
    enum hook_outcome outcome;
    struct status *status;
    str why;           /* HOOK_FAILED: what comes after `failed calling webhook "x": ` */
    struct doc *patch; /* operations; NULL: none. Held by the arena. */
    str *warnings;
    size_t n_warnings;
};

struct hook_answer {
    int code; /* HTTP */
    str content_type;
    str body;
};

/* What a client of Kubernetes makes of an HTTP code that is an error; empty: it is none. */
str hook_code_fault(struct arena *a, const struct hook_answer *answer);
void hook_judge(struct arena *a, str hook_name, const struct hook_question *q, bool mutating,
                const struct hook_answer *answer, struct hook_verdict *ret);
void hook_failed(struct arena *a, struct hook_verdict *ret, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The 500 for a webhook that failed and must not. */
struct status *hook_failure_status(struct arena *a, str hook_name, str why);
/* 500 with the text as its only cause, as kube-apiserver words an error it did not expect. */
struct status *hook_internal_error(struct arena *a, str why);

/* ---- webhook_call.c ---- */

/* Where a webhook is. */
struct hook_place {
    str host; /* to connect to */
    int port;
    str server_name; /* in its certificate */
    str path;        /* with query */
    str url;         /* for people */
    str ca_pem;      /* empty: the system's */
};

struct hook_pool; /* connections, kept for some time */
struct hook_pool *hook_pool_new(struct loop *l);
/* No call may be open. */
void hook_pool_free(struct hook_pool *p);
/* Where the webhook is. Services are looked up in the store: simulated nodes have no network, so a
 * cluster IP leads nowhere and one of the addresses in the EndpointSlices or Endpoints is taken, in
 * turn. False: the reason is in ret_why. */
bool hook_locate(struct arena *a, const struct store *s, jval hook, unsigned turn,
                 struct hook_place *ret, str *ret_why);

struct hook_call {
    /* in */
    struct hook_place place;
    str body;
    usec timeout;
    void (*done)(struct hook_call *c); /* never from inside hook_call_start */
    /* out */
    str why; /* empty: there is an answer; in the arena */
    struct hook_answer answer;
    /* private */
    struct hook_pool *pool;
    struct hook_client *client;
    struct arena *arena;
    struct http_call http;
    struct strbuf data;
    struct loop_task task;
    usec due;
    bool is_retry, is_open;
};

/* The call must stay where it is until done, or until it is cancelled. */
void hook_call_start(struct hook_pool *p, struct arena *a, struct hook_call *c);
void hook_call_cancel(struct hook_call *c);

/* ---- webhook_admit.c ---- */

struct admit;
/* A configuration that could never work is refused. */
void webhook_validate(const struct admit *a, jval root);
/* Where a webhook is; path: of its clientConfig. */
void hook_client_validate(const struct admit *a, str path, jval config);
/* One rule of which requests are meant; prefix: "webhooks[0].rules[1]". */
void hook_rule_validate(const struct admit *a, str prefix, jval rule);

/* ---- webhook.c ---- */

/* Policies go with the webhooks. */
struct hooks *hooks_new(struct apiserver *a);
void hooks_free(struct hooks *h);
void hooks_event(struct hooks *h, const struct store_event *e);
/* There is a webhook somewhere that might want to know: all that this costs when there is none. */
bool hooks_concern(const struct req *q);

/* A webhook or a policy might want to know. */
bool hooks_look(const struct req *q);

/* NULL, or why a policy denies what this request is about to do. */
const struct status *hooks_judge(struct req *q);

/* What the rounds of a request end with. */
enum hook_step {
    HOOKS_NOBODY,  /* nobody wants to be asked: go on */
    HOOKS_CHANGED, /* the same, and policies have changed the candidate */
    HOOKS_WAITING, /* the request is parked; the end of the round comes by one of the below */
    HOOKS_REFUSED, /* the request is */
};
/* The mutating round of a candidate (q->doc); ends with write_mutated(). */
enum hook_step hooks_mutate(struct req *q);
/* The validating round; ends with write_resume(). */
enum hook_step hooks_validate(struct req *q);
/* A round for what has no candidate (deletion, binding, eviction); ends with write_asked(). */
enum hook_step hooks_ask(struct req *q, bool mutating);

#endif
