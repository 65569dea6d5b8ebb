/*
 * What the tests of webhooks share: a server on a real loop and, on the other side, an HTTPS server
 * in this process whose answers a test chooses, the lies included.
 */
#ifndef APISERVER_ADMISSION_WEBHOOK_TEST_WEBHOOK_FIXTURE_H
#define APISERVER_ADMISSION_WEBHOOK_TEST_WEBHOOK_FIXTURE_H

#include "apiserver/admission/webhook.h"
#include "apiserver/test-apiserver-fixture.h"
#include "net/tls.h"

struct hook_world;

enum mode { SAY, HANG, STREAM, DIE };

/* What the webhook does when it is asked. */
struct hook_script {
    enum mode mode;
    int code;           /* 0: 200 */
    const char *type;   /* NULL: application/json */
    const char *answer; /* NULL: allowed; ' is ", UID the uid asked for, otherwise as it is */
    const char *patch;  /* answers with it */
    size_t huge;        /* sends so many bytes instead */
    /* Or writes the answer itself. */
    void (*speak)(struct hook_world *w, jval review, struct strbuf *out);
};

struct hook_world {
    struct fixture f;
    struct pki_identity ca, id;
    struct tls_server *tls;
    struct http_server *http;
    struct hook_script script;
    struct hook_script by_path[4]; /* "/0" .. "/3", where a test needs several webhooks */
    unsigned asked;
    struct strbuf seen; /* paths, joined */
    struct doc *review; /* the last one */
    struct loop_timer tick;
    struct http_exchange *held;
    bool die;
    char ca_b64[8192];
};

void hook_world_init(struct hook_world *w);
void hook_world_done(struct hook_world *w);
/* The webhook begins to listen, again. */
void hook_world_serve(struct hook_world *w, const char *listen);
/* Answers by the script what hangs. */
void hook_world_answer_held(struct hook_world *w);
/* Runs the loop until something is answered (w->f.answered). */
void hook_world_run(struct hook_world *w);
/* Sends it, runs the loop until it is answered, returns the code. */
int hook_world_send(struct hook_world *w, struct api_request r);
int hook_world_create(struct hook_world *w, const struct kind *k, const char *ns, const char *json);
int hook_world_patch(struct hook_world *w, const struct kind *k, const char *name, const char *sub,
                     const char *json);
int hook_world_delete(struct hook_world *w, const struct kind *k, const char *ns, const char *name);
/* A configuration with one webhook, name.example.com, at this path of ours. */
void hook_world_configure(struct hook_world *w, bool mutating, const char *name, const char *path,
                          const char *more);
void hook_world_unconfigure(struct hook_world *w, bool mutating, const char *name);
/* '*' stands for anything. */
bool hook_text_matches(str pattern, str text);

#define CONFIG_MAPS                                                                   \
    "'rules':[{'operations':['*'],'apiGroups':[''],'apiVersions':['v1'],'resources':" \
    "['configmaps']}]"

#define REVIEW(response)                                        \
    "{'kind':'AdmissionReview','apiVersion':'admission.k8s.io/" \
    "v1','response':{'uid':'UID'," response "}}"
#define FAILED "Internal error occurred: failed calling webhook \"x.example.com\": "
#define POSTED FAILED "failed to call webhook: "
#define INVALID FAILED "received invalid webhook response: "

#endif
