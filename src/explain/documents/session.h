/* A command's connection to an API server: kubeconfig, loop, client, and requests that wait for
 * their answer, because a command has nothing else to do meanwhile. */
#ifndef EXPLAIN_DOCUMENTS_SESSION_H
#define EXPLAIN_DOCUMENTS_SESSION_H

#include "base/opt.h"
#include "client/remote.h"

/* Options every such command has. */
struct session_opts {
    str kubeconfig;
    str context;
    str ns;
};
extern const struct opt session_options[];

struct session {
    struct arena arena;
    struct kubeconfig config;
    struct loop *loop;
    struct api *api;
    struct loop_io reader; /* see session_mind_reader */
    bool looks;            /* see session_open_to_look */
    str ns;
    str source;                   /* the kubeconfig as it was named; empty in a cluster */
    const struct status *refusal; /* the last answer that was an error; NULL: none was */
};

int session_open(const struct session_opts *o, struct session *ret, struct err *err);
/* For those who only look: objects come without managedFields, half of what they are. */
int session_open_to_look(const struct session_opts *o, struct session *ret, struct err *err);
void session_close(struct session *s);

/* Answers live until the session is closed. 0 on success; a Status becomes the error. */
int session_get(struct session *s, const struct kind *k, str ns, str name, struct obj **ret,
                struct err *err);
struct session_list {
    struct obj **items;
    size_t n;
    uint64_t rv; /* of the list, to watch from */
};
int session_list(struct session *s, const struct kind *k, str ns, str label_selector,
                 struct session_list *ret, struct err *err);
/* The same, of a request that says more. */
int session_send_list(struct session *s, struct api_request *q, struct session_list *ret,
                      struct err *err);
/* What is at a path that is no resource. ERR_NOT_FOUND where the server has no such thing. */
int session_read(struct session *s, str path, struct doc **ret, struct err *err);
/* The answer to a question that is posted, as a review of access. */
int session_post(struct session *s, str path, struct doc *body, struct doc **ret, struct err *err);
/* Replaces it (API_UPDATE) or takes it away (API_DELETE). */
int session_write(struct session *s, enum api_verb verb, str path, struct doc *body,
                  struct err *err);
/* Any request; *ret may be NULL. Its code is in *ret_code when given. */
int session_send(struct session *s, struct api_request *q, struct obj **ret, int *ret_code,
                 struct err *err);
/* The writes commands make, as this program. */
int session_apply(struct session *s, const struct kind *k, str ns, str name, struct doc *config,
                  bool dry_run, struct obj **ret, int *ret_code, struct err *err);
int session_scale(struct session *s, const struct kind *k, str ns, str name, int64_t replicas,
                  struct err *err);
/* Dependents follow in the background. */
int session_delete(struct session *s, const struct kind *k, str ns, str name, struct err *err);

/* Follows a kind: fn is called for what is there (then once with obj NULL), and for each event
 * after it, until it returns true. ERR_TIMEOUT when that takes longer. */
typedef bool session_event_fn(void *ctx, enum api_event_type type, const struct obj *obj);
int session_follow(struct session *s, const struct kind *k, str ns, str label_selector,
                   session_event_fn *fn, void *ctx, usec timeout, struct err *err);

/* For those who watch: the program ends, as by its next write, when nobody reads its output any
 * more
 * (`grove status --watch | head -1`). Until the session is closed. */
void session_mind_reader(struct session *s);
/* A server that goes away is told once and tried again, after longer and
 * longer, with the kubeconfig as it is then. Begins with zeros. */
struct session_retry {
    usec pause; /* 0: it is there */
};
/* True when the error means that the server is gone and the session has been opened anew, without
 * anything that it held; false when there is no use in trying: the error stands. */
bool session_retry(struct session *s, const struct session_opts *o, struct session_retry *r,
                   struct err *err);
/* It answers; told when it did not before. */
void session_answers(struct session_retry *r);

/* The error that a code of HTTP means. */
int session_code_of(int http);

#endif
