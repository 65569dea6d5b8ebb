/*
 * What the tests of api_remote share: an HTTP server of the test's own that answers from a script,
 * one step per request, a client of it on a real loop, and one request that is waited for.
 */
#ifndef CLIENT_TEST_SERVER_H
#define CLIENT_TEST_SERVER_H

#include "base/test.h"
#include "client/remote.h"
#include "net/http.h"
#include "net/tls.h"

#define CM (&kind_config_map)

/* ---- the server ---- */

enum action { ANSWER, STREAM, SILENT, BREAK };

struct step {
    int status;
    const char *body;
    const char *header, *value; /* of the answer */
    enum action action;
};

struct sr {
    struct loop *loop;
    struct arena arena;
    struct kubeconfig k;
    struct http_server *server;
    struct tls_server *tls;
    struct api *api;
    const struct step *steps;
    size_t n_steps, at;
    struct strbuf log;   /* "METHOD path?query body\n" */
    struct strbuf heads; /* "name: value\n" of the last request, what we set */
    char who[64];        /* the last client certificate's name */
    struct http_exchange *stream;
    bool is_late;
    struct loop_timer late;
    char dir[64];
};

void sr_init(struct sr *r);
/* Listens, with r->tls when that is set, and fills in r->k. */
void sr_serve(struct sr *r);
/* Makes the client. */
void sr_open(struct sr *r, const struct remote_options *o);
void sr_done(struct sr *r);
/* Runs the loop until somebody stops it or the time is over (is_late). */
void sr_run(struct sr *r, usec at_most);
struct http_slice sr_slice(str s);

/* A server that follows the steps, and a client. */
#define RIG(r, options, ...)                           \
    static const struct step steps_[] = {__VA_ARGS__}; \
    struct sr r;                                       \
    sr_init(&r);                                       \
    r.steps = steps_;                                  \
    r.n_steps = ARRAY_LEN(steps_);                     \
    sr_serve(&r);                                      \
    sr_open(&r, &(struct remote_options)options)
#define PLAIN \
    {         \
        0     \
    }

/* ---- one request ---- */

struct sr_got {
    struct sr *rig; /* whose arena has the texts */
    unsigned n;
    int code;
    struct obj *obj;
    struct obj **items;
    size_t n_items;
    uint64_t rv;
    str message, token;
    int retry_after;
    bool unknown;
    str warnings[4];
    size_t n_warnings;
};

/* The done of a request whose ctx is a struct sr_got; stops the loop. */
void sr_on_done(struct api_request *q, const struct api_reply *reply);
/* Sends it and waits for the answer. */
void sr_ask(struct sr *r, struct api_request q, struct sr_got *g);
struct api_request sr_get_cm(void);
struct api_request sr_create_cm(struct sr *r);

#define OBJECT                                                                                 \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","              \
    "\"namespace\":\"ns\",\"resourceVersion\":\"7\",\"managedFields\":[{\"manager\":\"m\"}],"  \
    "\"annotations\":{\"k\":\"v\",\"kubectl.kubernetes.io/last-applied-configuration\":\"x\"}" \
    "},\"data\":{\"x\":\"\\u00e9\\n\"}}"
#define FAILURE(code, reason)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"no\"," \
    "\"reason\":\"" reason "\",\"code\":" #code "}"

#endif
