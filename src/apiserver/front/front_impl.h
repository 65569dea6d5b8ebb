/* Inside the HTTP front end: the call, and what its files do for it. */
#ifndef APISERVER_FRONT_FRONT_IMPL_H
#define APISERVER_FRONT_FRONT_IMPL_H

#include "apiserver/access/authn.h"
#include "apiserver/front/fair.h"
#include "apiserver/front/front.h"
#include "apiserver/front/kubelet.h"
#include "apiserver/front/route.h"
#include "base/uuid.h"

enum { FRONT_MAX_HEADERS = 40 };
/* The largest request body, as kube-apiserver has it. */
#define FRONT_BODY_MAX 3145728

struct front {
    struct apiserver *server;
    struct http_server *http;
    struct authn authn;
    struct kubelets *kubelets;
    const struct journal *journal; /* may be NULL */
    struct discovery_pages discovery;
    size_t n_compressing; /* lists that are being compressed */
    bool ready;
    usec began;       /* monotonic */
    size_t n_calls;   /* open at present */
    size_t n_watches; /* of them, streams */

    /* front_fair.c */
    struct front_limits limits;
    struct fair fair;
    struct loop_task turn_task;
    struct list calls;   /* call.link, oldest first */
    struct list unbegun; /* call.due: no answer yet and no watch, oldest first */
    struct loop_timer timeout;
    struct map watched;  /* by kind: struct watched */
    size_t held;         /* bytes, all of call.held */
    uint64_t shed_turn;  /* the iteration in which somebody was last cut off */
    struct list resting; /* fair_flow.resting */
    struct loop_timer rest_timer;
    struct {
        const void *flow; /* only to tell them apart; NULL: one of the masters */
        usec at;
    } last[2]; /* users who asked, the last one first */
};

struct listing;
struct passing; /* kubelet.c */
struct stream;

struct call {
    struct front *front;
    struct http_exchange *x; /* NULL: the peer is gone */
    struct arena arena;
    struct identity who;
    char audit_id[UUID_TEXT_LEN + 1];
    struct route route;
    struct doc *body;
    bool pending;            /* the server will still answer */
    usec began;              /* monotonic */
    int code;                /* of the reply; 0: none yet */
    struct listing *listing; /* a long list on its way out */
    struct stream *stream;   /* a watch */
    struct passing *passing; /* it is answered by a node */

    /* front_fair.c */
    struct list link, due;
    enum route_result routed;
    struct status *unroutable; /* why it failed */
    struct fair_item turn;     /* flow NULL: it is exempt */
    void (*run)(struct call *c);
    struct loop_task task; /* runs what is exempt, or frees the seat of a watch */
    struct rest *rest;     /* until its turn may come, in the arena; NULL: it never had to wait */
    usec long_time;        /* until the next, of a write that has to keep its distance */
    bool is_short_write;   /* as far as one can tell */
    bool has_seat;
    unsigned paused_turns; /* of the loop, that a watch has had its seat without needing it */
    bool is_counted;       /* in its flow */
    size_t held;           /* bytes */
};

/* ---- front.c ---- */

/* Bodies that go out without being copied; the reference is taken over. */
struct http_slice slice_doc(struct doc *d);
struct http_slice slice_obj(struct obj *o);
/* Bytes that live for ever. */
struct http_slice slice_static(str s);
/* The writer's text; ends the writer. */
struct http_slice slice_jw(struct jw *w);
struct http_slice slice_strbuf(struct strbuf *b);
/* What every reply carries; returns how many. */
size_t call_headers(struct call *c, str content_type, struct http_header h[FRONT_MAX_HEADERS]);
/* The one way out of a reply that is not a stream. */
void call_send(struct call *c, int code, const struct http_header *h, size_t n,
               struct http_slice body);
void call_send_slices(struct call *c, int code, const struct http_header *h, size_t n,
                      const struct http_slice *slices, size_t n_slices);
void call_stream_begin(struct call *c, int code, const struct http_header *h, size_t n);
void call_reply_doc(struct call *c, int code, struct doc *d);
void call_reply_status(struct call *c, const struct status *s);
void call_reply_text(struct call *c, int code, str text);

void call_serve(struct call *c);

/* ---- front_fair.c: who is served when, and who is not ---- */

void turns_init(struct front *f, const struct front_limits *limits);
void turns_done(struct front *f);
/* Of a connection that ends. */
void turns_gone(void *front, void *flow);
/* Whether the connections of this user are read in turns with each other. */
bool turns_is_greedy(void *front, void *flow);
/* A call begins; ends (it is freed next). */
void turns_begin(struct call *c);
void turns_end(struct call *c);
/* It is known who asks and for what: call_serve() now, later, or a refusal. */
void turns_enter(struct call *c);
/* A step of a call that is being answered; run is called when it is its turn. */
void turns_again(struct call *c, uint32_t cost, void (*run)(struct call *c));
/* Takes back what turns_again asked for. */
void turns_cancel(struct call *c);
/* The server has made its answer, or a watch has begun: from now on it is up to the peer. */
void turns_answered(struct call *c);
void turns_watching(struct call *c, bool on);
/* Somebody else answers it, in his own time. */
void turns_pass_on(struct call *c);
/* It keeps so many bytes more (or less) than before. */
void turns_hold(struct call *c, ptrdiff_t bytes);
/* For metrics: what waits, and what all of it holds. */
size_t turns_held(const struct front *f);

/* ---- reply.c: an answer of the server as bytes ---- */

/* 299 - "text", with what would end the text escaped. */
str reply_quote_warning(struct arena *a, str s);
void reply_write(struct call *c, const struct api_reply *reply);
/* A list that is still being sent is given up. */
void reply_stop(struct call *c);
/* The member "resourceVersion"; an object as PartialObjectMetadata. */
void reply_put_version(struct jw *w, uint64_t rv);
void reply_put_partial(struct jw *w, const struct obj *o);

/* ---- stream.c: a watch as a stream of lines ---- */

void stream_start(struct call *c);
/* The peer is gone. */
void stream_stop(struct call *c);

/* ---- connect.c: what would reach into a pod or node ---- */

/* False: it is none of these subresources. */
bool connect_serve(struct call *c);

/* ---- health.c ---- */

void serve_version(struct call *c);
void serve_metrics(struct call *c);
/* /debug/journal?kind=Pod&namespace=NS&name=NAME: what was decided about it, see journal.h. */
void serve_journal(struct call *c);
/* /healthz, /livez, /readyz and single checks below them; false: none of these. */
bool health_serve(struct call *c, str path);

/* ---- metrics.c: what is counted, and the request log ---- */

void account_begin(struct call *c);
void account_end(struct call *c, bool aborted);
/* Everything in Prometheus' text format. */
void metrics_write(struct front *f, struct strbuf *out);

#endif
