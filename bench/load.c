/*
 * What the API server costs, seen from outside: a real `grove up` with a durable store and no nodes
 * is started as a process of its own and loaded over TLS and HTTP/2. bench/apiserver builds both
 * and calls this.
 *
 *   bench-load [--objects 100000] [--pods 5000] [--data DIR] [--stage NAME]
 *
 *   start     from fork to "grove is up", with an empty store and with --objects pods; memory
 *   ops       create, get, bind, status patch, list, delete; 32 and 256 in flight over four
 *             connections: rate, latency, processor time of the server for each
 *   watch     100 watches on 10 connections while pods are created, 1,000 a second: POST to event
 *   idle      10,000 quiet watches on 10 connections: memory of each
 *
 * Processor time is the server's, all threads, by its process clock: on a machine that others use
 * too it is the figure to compare; rates and latencies include what this program itself takes. A
 * line is compared with its goal in the last column. The records (JSON, one for each line of the
 * table) come last; from and to in them are for `perf report --time`, when the server was recorded
 * with `perf record -k CLOCK_MONOTONIC`. Any reply but the expected one ends the run.
 *
 * The pods name a scheduler that does not exist, so that nobody but us changes them.
 */
#include <math.h>

#include "base/opt.h"
#include "bench/served.h"

enum {
    CONNECTIONS = 4,
    WATCH_CONNECTIONS = 10,
    WATCHES = 100,
    IDLE_WATCHES = 10000,
    CREATES_PER_SECOND = 1000,
    NODES = 100,
    LISTS = 20,
};

struct args {
    str grove, data, stage;
    int64_t objects, pods;
};

struct bench {
    const struct args *args;
    struct served served;
    struct arena arena;
    struct http_client *clients[CONNECTIONS];
    struct http_client *watchers[WATCH_CONNECTIONS];
    struct strbuf records;
};

/* ---- figures ---- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

typedef VEC(float) samples; /* microseconds */

/* Sorts. In milliseconds. */
static double quantile(samples *s, double q)
{
    if (!s->len)
        return NAN;
    vec_sort(s, compare_floats);
    return (double)s->p[(size_t)(q * (double)(s->len - 1))] / 1e3;
}

static double anonymous_mb(const struct bench *b)
{
    return served_memory_mb(&b->served, "RssAnon:");
}

/* A line of the table without the operations' columns, and its record. */
static void report(struct bench *b, const char *name, double value, const char *unit,
                   const char *goal)
{
    printf("%-34s %10.2f %-10s %s\n", name, value, unit, goal);
    (void)fflush(stdout);
    strbuf_printf(&b->records, "{\"bench\":\"apiserver\",\"figure\":\"%s\",\"%s\":%.3f}\n", name,
                  unit, value);
}

struct figures {
    const char *name, *goal;
    size_t in_flight;
    double rate, p50, p99, cpu;
    double reply_bytes;
    double from, to; /* seconds, of the monotonic clock */
};

static void report_ops(struct bench *b, const struct figures *f)
{
    printf("%-20s %5zu %10.0f %9.2f %9.2f %11.1f  %s\n", f->name, f->in_flight, f->rate, f->p50,
           f->p99, f->cpu, f->goal);
    (void)fflush(stdout);
    strbuf_printf(&b->records,
                  "{\"bench\":\"apiserver\",\"figure\":\"%s\",\"in_flight\":%zu,\"per_second\":"
                  "%.0f,\"p50_msec\":%.3f,\"p99_msec\":%.3f,\"cpu_usec\":%.1f,\"reply_bytes\":"
                  "%.0f,\"from\":%.6f,\"to\":%.6f}\n",
                  f->name, f->in_flight, f->rate, f->p50, f->p99, f->cpu, f->reply_bytes, f->from,
                  f->to);
}

/* ---- the server ---- */

/* Milliseconds until it is ready. */
static double server_start(struct bench *b)
{
    static const char *const words[] = {"--nodes", "0", NULL};
    return served_start(&b->served, words);
}

static void connect_all(struct bench *b)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        b->clients[i] = served_client(&b->served);
    for (size_t i = 0; i < WATCH_CONNECTIONS; i++)
        b->watchers[i] = served_client(&b->served);
}

static void disconnect_all(struct bench *b)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_free(b->clients[i]);
    for (size_t i = 0; i < WATCH_CONNECTIONS; i++)
        http_client_free(b->watchers[i]);
}

/* ---- operations ---- */

/* In path and body @ is the namespace, # the number of the pod, % that of a node. */
struct op {
    const char *name, *method, *path, *type, *body;
    const char *goal;
    int status; /* 0: any */
    bool accepts_gzip;
};

static const char create_body[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-#\",\"namespace\":\"@\","
    "\"labels\":{\"app\":\"bench\",\"index\":\"i#\"}},\"spec\":{\"schedulerName\":\"manual\","
    "\"containers\":[{\"name\":\"main\",\"image\":\"example.com/app:1.0\",\"command\":[\"sleep\","
    "\"infinity\"],\"ports\":[{\"containerPort\":8080}],\"resources\":{\"requests\":{\"cpu\":"
    "\"100m\",\"memory\":\"64Mi\"},\"limits\":{\"memory\":\"128Mi\"}}}],"
    "\"terminationGracePeriodSeconds\":5}}";

static const char bind_body[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"pod-#\",\"namespace\":"
    "\"@\"},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-%\"}}";

static const char status_body[] =
    "{\"status\":{\"phase\":\"Running\",\"hostIP\":\"10.0.0.1\",\"podIP\":\"10.1.2.3\","
    "\"podIPs\":[{\"ip\":\"10.1.2.3\"}],\"startTime\":\"2026-01-01T00:00:00Z\",\"conditions\":["
    "{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:01Z\"},"
    "{\"type\":\"ContainersReady\",\"status\":\"True\",\"lastTransitionTime\":"
    "\"2026-01-01T00:00:01Z\"}],\"containerStatuses\":[{\"name\":\"main\",\"image\":"
    "\"example.com/app:1.0\",\"imageID\":\"\",\"ready\":true,\"started\":true,\"restartCount\":0,"
    "\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:01Z\"}}}]}}";

#define JSON_TYPE "application/json"
#define PATCH_TYPE "application/strategic-merge-patch+json"
#define PODS "/api/v1/namespaces/@/pods"
#define POD PODS "/pod-#"

enum op_name { READY, NAMESPACE, ACCOUNT, CREATE, GET, BIND, PATCH, LIST, LIST_GZIP, DELETE };

static const struct op ops[] = {
    [READY] = {"ready", "GET", "/readyz", "", "", "", 200},
    [NAMESPACE] = {"create namespace", "POST", "/api/v1/namespaces", JSON_TYPE,
                   "{\"metadata\":{\"name\":\"@\"}}", "", 201},
    [ACCOUNT] = {"get account", "GET", "/api/v1/namespaces/@/serviceaccounts/default", "", "", ""},
    [CREATE] = {"create pod", "POST", PODS, JSON_TYPE, create_body, ">= 15000/s, <= 60 us", 201},
    [GET] = {"get pod", "GET", POD, "", "", "", 200},
    [BIND] = {"bind pod", "POST", POD "/binding", JSON_TYPE, bind_body, ">= 20000/s, <= 60 us",
              201},
    [PATCH] = {"patch pod status", "PATCH", POD "/status", PATCH_TYPE, status_body,
               ">= 10000/s, <= 60 us", 200},
    [LIST] = {"list pods", "GET", PODS, "", "", "p50 <= 20 ms for 5,000", 200},
    [LIST_GZIP] = {"list pods, gzip", "GET", PODS, "", "", "", 200, true},
    [DELETE] = {"delete pod", "DELETE", POD "?gracePeriodSeconds=0", "", "", "", 200},
};

static void expand(struct strbuf *to, const char *text, str ns, size_t i)
{
    strbuf_reset(to);
    for (const char *p = text; *p; p++) {
        if (*p == '@')
            strbuf_add_str(to, ns);
        else if (*p == '#')
            strbuf_printf(to, "%06zu", i);
        else if (*p == '%')
            strbuf_add_uint(to, i % NODES);
        else
            strbuf_add_char(to, *p);
    }
}

/* One operation for the numbers 0..n-1. */
struct run {
    struct bench *bench;
    const struct op *op;
    str ns;
    size_t n, next, ended;
    samples latency;
    size_t bytes;    /* of all replies */
    double *sent_at; /* by number; NULL: nobody asks */
    int last_status;
    void (*on_ended)(struct run *r); /* NULL: the loop stops with the last */
    void *ctx;
};

/* One in flight. */
struct slot {
    struct http_call call;
    struct http_header headers[2];
    struct run *run;
    struct http_client *client;
    struct strbuf path, body, reply;
    double begin;
    int status;
    bool is_single; /* freed when it ends; otherwise sent again */
};

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    (void)h;
    (void)n;
    ((struct slot *)c->ctx)->status = status;
}

static void on_data(struct http_call *c, str data)
{
    struct slot *s = c->ctx;
    s->run->bytes += data.len;
    if (s->run->op->status && s->status != s->run->op->status)
        strbuf_add_str(&s->reply, data);
}

static void slot_free(struct slot *s)
{
    strbuf_done(&s->path);
    strbuf_done(&s->body);
    strbuf_done(&s->reply);
    free(s);
}

static void slot_send(struct slot *s);

static void on_end(struct http_call *c, const struct err *err)
{
    struct slot *s = c->ctx;
    struct run *r = s->run;
    if (err)
        served_fail(r->op->name, err->message);
    if (r->op->status && s->status != r->op->status)
        served_fail(r->op->name, s->reply.len ? s->reply.p : "unexpected status without a body");
    *vec_push(&r->latency) = (float)(now_usec() - s->begin);
    r->last_status = s->status;
    r->ended++;
    if (!s->is_single && r->next < r->n)
        slot_send(s);
    else
        slot_free(s);
    if (r->on_ended)
        r->on_ended(r);
    else if (r->ended == r->n)
        loop_stop(r->bench->served.loop, 0);
}

static void slot_send(struct slot *s)
{
    struct run *r = s->run;
    size_t i = r->next++, n = 0;
    expand(&s->path, r->op->path, r->ns, i);
    expand(&s->body, r->op->body, r->ns, i);
    if (r->op->type[0])
        s->headers[n++] = (struct http_header){STR("content-type"), str_of(r->op->type)};
    if (r->op->accepts_gzip)
        s->headers[n++] = (struct http_header){STR("accept-encoding"), STR("gzip")};
    s->call = (struct http_call){.method = str_of(r->op->method),
                                 .path = strbuf_str(&s->path),
                                 .headers = s->headers,
                                 .n_headers = n,
                                 .body = strbuf_str(&s->body),
                                 .timeout = USEC_PER_MIN,
                                 .on_headers = on_headers,
                                 .on_data = on_data,
                                 .on_end = on_end,
                                 .ctx = s};
    s->begin = now_usec();
    if (r->sent_at)
        r->sent_at[i] = s->begin;
    http_client_send(s->client, &s->call);
}

static struct slot *slot_new(struct run *r, size_t number)
{
    struct slot *s = xnew(struct slot);
    s->run = r;
    s->client = r->bench->clients[number % CONNECTIONS];
    strbuf_init(&s->path, 4096);
    strbuf_init(&s->body, 65536);
    strbuf_init(&s->reply, 4096);
    return s;
}

static void run_all(struct run *r, size_t in_flight)
{
    for (size_t i = 0; i < MIN(in_flight, r->n); i++)
        slot_send(slot_new(r, i));
    (void)loop_run(r->bench->served.loop);
}

/* Without figures. Returns the last status. */
static int run_quietly(struct bench *b, enum op_name op, str ns, size_t n)
{
    struct run r = {.bench = b, .op = &ops[op], .ns = ns, .n = n};
    run_all(&r, 256);
    vec_done(&r.latency);
    return r.last_status;
}

static void measure(struct bench *b, enum op_name op, str ns, size_t n, size_t in_flight)
{
    struct run r = {.bench = b, .op = &ops[op], .ns = ns, .n = n};
    double cpu = clock_usec(b->served.cpu), begin = now_usec();
    run_all(&r, in_flight);
    double end = now_usec();
    cpu = clock_usec(b->served.cpu) - cpu;
    struct figures f = {.name = r.op->name,
                        .goal = r.op->goal,
                        .in_flight = in_flight,
                        .rate = (double)n * 1e6 / (end - begin),
                        .p50 = quantile(&r.latency, 0.5),
                        .p99 = quantile(&r.latency, 0.99),
                        .cpu = cpu / (double)n,
                        .reply_bytes = (double)r.bytes / (double)n,
                        .from = begin / 1e6,
                        .to = end / 1e6};
    report_ops(b, &f);
    vec_done(&r.latency);
}

/* A namespace in which pods can be created. */
static void make_namespace(struct bench *b, str ns)
{
    run_quietly(b, NAMESPACE, ns, 1);
    for (int i = 0; run_quietly(b, ACCOUNT, ns, 1) != 200; i++) {
        if (i == 500)
            served_fail("namespace", "it gets no service account");
        served_pause(&b->served, 10);
    }
}

/* ---- watches ---- */

struct fanout {
    struct run creates;
    struct loop_timer tick;
    double begin;
    samples latency;
    size_t n_events, n_open;
    double *sent_at;
};

struct watch {
    struct http_call call;
    struct http_client *client;
    struct fanout *fanout; /* NULL: nothing is expected */
    size_t *n_open;
    struct strbuf line; /* the beginning of an event whose end has not come */
};

static void on_event(struct fanout *f, str line)
{
    static const char mark[] = "\"name\":\"pod-";
    ptrdiff_t at = str_find(line, STR("\"name\":\"pod-"));
    uint64_t number;
    if (!str_starts(line, STR("{\"type\":\"ADDED\"")) || at < 0)
        return;
    size_t from = (size_t)at + sizeof(mark) - 1;
    if (!str_to_uint(str_sub(line, from, from + 6), &number) || number >= f->creates.n)
        served_fail("event", "of a pod that was not created");
    *vec_push(&f->latency) = (float)(now_usec() - f->sent_at[number]);
    f->n_events++;
}

static void on_watch_data(struct http_call *c, str data)
{
    struct watch *w = c->ctx;
    for (const char *end; data.len && (end = memchr(data.p, '\n', data.len));) {
        str line = str_n(data.p, (size_t)(end - data.p));
        data = str_sub(data, line.len + 1, data.len);
        if (w->line.len) {
            strbuf_add_str(&w->line, line);
            line = strbuf_str(&w->line);
        }
        if (w->fanout)
            on_event(w->fanout, line);
        strbuf_reset(&w->line);
    }
    strbuf_add_str(&w->line, data);
}

static void on_watch_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    (void)h;
    (void)n;
    if (status != 200)
        served_fail("watch", http_status_text(status));
    ++*((struct watch *)c->ctx)->n_open;
}

static void on_watch_end(struct http_call *c, const struct err *err)
{
    (void)c;
    served_fail("watch", err ? err->message : "the server ended it");
}

static struct watch *watches_open(struct bench *b, size_t n, const char *path, struct fanout *f,
                                  size_t *n_open)
{
    struct watch *w = xcalloc(n, sizeof(*w));
    *n_open = 0;
    for (size_t i = 0; i < n; i++) {
        w[i] = (struct watch){.client = b->watchers[i % WATCH_CONNECTIONS], .fanout = f};
        w[i].n_open = n_open;
        strbuf_init(&w[i].line, 1 << 20);
        w[i].call = (struct http_call){.method = STR("GET"),
                                       .path = str_of(path),
                                       .on_headers = on_watch_headers,
                                       .on_data = on_watch_data,
                                       .on_end = on_watch_end,
                                       .ctx = &w[i]};
        http_client_send(w[i].client, &w[i].call);
        /* One by one until the server has said how many streams a connection may have. */
        if (i < WATCH_CONNECTIONS)
            served_pause(&b->served, 20);
    }
    for (int i = 0; *n_open < n; i++) {
        if (i == 3000)
            served_fail("watch", "they do not open");
        served_pause(&b->served, 10);
    }
    return w;
}

static void watches_close(struct watch *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        http_client_cancel(w[i].client, &w[i].call);
        strbuf_done(&w[i].line);
    }
    free(w);
}

static void on_tick(struct loop_timer *t)
{
    struct fanout *f = container_of(t, struct fanout, tick);
    struct run *r = &f->creates;
    double passed = now_usec() - f->begin;
    size_t due = MIN(r->n, (size_t)(passed * CREATES_PER_SECOND / 1e6));
    while (r->next < due) {
        struct slot *s = slot_new(r, r->next);
        s->is_single = true;
        slot_send(s);
    }
    if (f->n_events == r->n * WATCHES && r->ended == r->n)
        loop_stop(r->bench->served.loop, 0);
    else if (passed > 120e6)
        served_fail("watch", "events are missing");
    else
        loop_timer_set(t, loop_now(r->bench->served.loop) + USEC_PER_MSEC);
}

static void on_create_ended(struct run *r)
{
    (void)r;
}

static void stage_watch(struct bench *b)
{
    size_t n = (size_t)b->args->pods;
    struct fanout f = {.creates = {.bench = b,
                                   .op = &ops[CREATE],
                                   .ns = STR("watched"),
                                   .n = n,
                                   .on_ended = on_create_ended}};
    make_namespace(b, f.creates.ns);
    f.sent_at = f.creates.sent_at = xcalloc(n, sizeof(double));
    size_t n_open;
    struct watch *w = watches_open(
        b, WATCHES, "/api/v1/namespaces/watched/pods?watch=1&timeoutSeconds=3600", &f, &n_open);
    loop_timer_init(b->served.loop, &f.tick, on_tick);
    double cpu = clock_usec(b->served.cpu), own = clock_usec(CLOCK_PROCESS_CPUTIME_ID);
    f.begin = now_usec();
    loop_timer_set(&f.tick, loop_now(b->served.loop));
    (void)loop_run(b->served.loop);
    double wall = now_usec() - f.begin;
    cpu = clock_usec(b->served.cpu) - cpu;
    own = clock_usec(CLOCK_PROCESS_CPUTIME_ID) - own;
    watches_close(w, WATCHES);
    report(b, "creates while watched", (double)n * 1e6 / wall, "per_second", "1000");
    report(b, "POST to 201, p50", quantile(&f.creates.latency, 0.5), "msec", "");
    report(b, "POST to 201, p99", quantile(&f.creates.latency, 0.99), "msec", "");
    report(b, "POST to event, p50", quantile(&f.latency, 0.5), "msec", "");
    report(b, "POST to event, p99", quantile(&f.latency, 0.99), "msec", "<= 5");
    report(b, "create and 100 events", cpu / (double)n, "cpu_usec", "");
    report(b, "this program, for the same", own / (double)n, "cpu_usec", "");
    vec_done(&f.creates.latency);
    vec_done(&f.latency);
    free(f.sent_at);
}

static void stage_idle(struct bench *b)
{
    size_t n_open;
    double before = anonymous_mb(b);
    struct watch *w = watches_open(
        b, IDLE_WATCHES, "/api/v1/namespaces/quiet/configmaps?watch=1&timeoutSeconds=3600", NULL,
        &n_open);
    served_pause(&b->served, 500);
    report(b, "memory of an idle watch", (anonymous_mb(b) - before) * 1024 / IDLE_WATCHES, "kb",
           "<= 2");
    watches_close(w, IDLE_WATCHES);
}

/* ---- the other stages ---- */

static void stage_ops(struct bench *b)
{
    static const size_t in_flight[] = {32, 256};
    size_t n = (size_t)b->args->pods;
    make_namespace(b, STR("warm"));
    (void)run_quietly(b, CREATE, STR("warm"), MIN(n, 1000));
    printf("\n%-20s %5s %10s %9s %9s %11s  %s\n", "", "C", "per sec", "p50 ms", "p99 ms",
           "CPU us each", "goal");
    for (size_t k = 0; k < ARRAY_LEN(in_flight); k++) {
        str ns = arena_printf(&b->arena, "load-%zu", in_flight[k]);
        make_namespace(b, ns);
        for (enum op_name op = CREATE; op <= PATCH; op++)
            measure(b, op, ns, n, in_flight[k]);
        if (k == 0) {
            measure(b, LIST, ns, LISTS, 1);
            measure(b, LIST_GZIP, ns, LISTS, 1);
        }
        measure(b, DELETE, ns, n, in_flight[k]);
    }
    printf("\n");
}

static void start(struct bench *b, const char *name, const char *goal)
{
    double took = server_start(b);
    connect_all(b);
    run_quietly(b, READY, STR_NONE, 1);
    if (name)
        report(b, name, took, "msec", goal);
}

static void stop(struct bench *b)
{
    disconnect_all(b);
    served_stop(&b->served);
}

static void stage_start(struct bench *b)
{
    char name[64];
    size_t n = (size_t)b->args->objects;
    if (n == 0)
        return;
    make_namespace(b, STR("many"));
    (void)run_quietly(b, CREATE, STR("many"), n);
    (void)run_quietly(b, PATCH, STR("many"), n); /* then they have 3 KB */
    (void)snprintf(name, sizeof(name), "RssAnon with %zu pods", n);
    report(b, name, anonymous_mb(b), "mb", "<= 1200 with 100,000 of 3 KB");
    stop(b);
    (void)snprintf(name, sizeof(name), "ready with %zu pods", n);
    start(b, name, "<= 1500 with 100,000");
    (void)snprintf(name, sizeof(name), "RssAnon after that, %zu pods", n);
    report(b, name, anonymous_mb(b), "mb", "<= 1200 with 100,000 of 3 KB");
}

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} stages[] = {
    /* First, while the server has no free memory left over from other work. */
    {"idle", stage_idle},
    {"ops", stage_ops},
    {"watch", stage_watch},
    {"start", stage_start},
};

/* ---- the program ---- */

static int run_bench(void *ctx, const void *opts, const struct command_call *call)
{
    struct bench b = {.args = opts, .records = STRBUF_INIT(1 << 20)};
    (void)ctx;
    (void)call;
    served_init(&b.served, b.args->grove, b.args->data);
    start(&b, "ready with an empty store", "<= 100");
    stop(&b);
    start(&b, "ready again", "");
    served_pause(&b.served, 300);
    report(&b, "RssAnon idle", anonymous_mb(&b), "mb", "<= 20");
    for (size_t i = 0; i < ARRAY_LEN(stages); i++)
        if (str_is_empty(b.args->stage) || str_is(b.args->stage, stages[i].name))
            stages[i].run(&b);
    stop(&b);
    printf("\n%s", b.records.p);
    strbuf_done(&b.records);
    arena_done(&b.arena);
    served_done(&b.served);
    return 0;
}

static const struct opt load_opts[] = {
    OPT_STRING(struct args, grove, 0, "grove", "FILE",
               "The program to measure (default: of this build)"),
    OPT_STRING(struct args, data, 0, "data", "DIR",
               "State directory, empty or not there (default: a temporary one)"),
    OPT_STRING(struct args, stage, 0, "stage", "NAME",
               "Only ops, watch, idle or start (default: all)"),
    OPT_INT(struct args, objects, 0, "objects", "N", 0, 999999, "100000",
            "Pods in the store for the second start; 0 leaves it out"),
    OPT_INT(struct args, pods, 0, "pods", "N", 1, 999999, "5000", "Pods of the other stages"),
    OPT_END,
};

static const struct command load = {
    .name = "bench-load",
    .summary = "Measure the API server from outside",
    .opts = load_opts,
    .opts_size = sizeof(struct args),
    .run = run_bench,
};

int main(int argc, char **argv)
{
    return command_main(&load, argc, argv, NULL);
}
