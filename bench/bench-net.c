/*
 * What the network layer costs, measured on the server's side only: the load comes from a child
 * process. TLS over loopback, HTTP/1.1 against HTTP/2.
 *
 *   bench-net             all of it; one JSON line for each measurement
 *
 *   request   small GETs, many in flight: CPU per request
 *   event     1 KB events to 1,000 watches: CPU per delivery
 *   idle      10,000 watches that are quiet: heap per watch
 *   gzip      one compressed 16 MB reply: throughput, and the longest iteration meanwhile
 */
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "net/client.h"
#include "net/http_server.h"

enum { EVENT = 1024, MAX_CLIENTS = 128 };

struct bench {
    struct loop *loop;
    struct http_server *server;
    struct tls_server *tls;
    struct pki_identity ca, id;
    VEC(struct http_exchange *) watches;
    uint64_t n_requests, n_closed;
    struct loop_timer tick;
    bool (*until)(struct bench *b);
    uint64_t want;
    usec longest, last; /* iterations */
    char event[EVENT];
    char *large;
    size_t large_len;
};

/* ---- the server ---- */

static void on_close(struct http_exchange *x)
{
    ((struct bench *)x->ctx)->n_closed++;
}

static void no_drop(void *owner)
{
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct bench *b = ctx;
    static const struct http_header h[] = {
        {STR_INIT("audit-id"), STR_INIT("0b0fd5a3-3f31-4c5f-8d5b-6d1f6a4cbb0e")},
        {STR_INIT("cache-control"), STR_INIT("no-cache, private")},
        {STR_INIT("content-type"), STR_INIT("application/json")},
    };
    b->n_requests++;
    x->ctx = b;
    x->on_close = on_close;
    if (str_is(x->path, "/watch")) {
        *vec_push(&b->watches) = x;
        http_stream_begin(x, 200, h, ARRAY_LEN(h));
    } else if (str_is(x->path, "/large")) {
        http_reply(x, 200, h, ARRAY_LEN(h),
                   (struct http_slice){str_n(b->large, b->large_len), b, no_drop});
    } else {
        http_reply(x, 200, h, ARRAY_LEN(h),
                   (struct http_slice){STR("{\"ok\":true}\n"), NULL, NULL});
    }
}

static usec cpu_now(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

static size_t heap_now(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void on_tick(struct loop_timer *t)
{
    struct bench *b = container_of(t, struct bench, tick);
    if (b->until(b))
        loop_stop(b->loop, 0);
    else
        loop_timer_set(t, loop_now(b->loop) + USEC_PER_MSEC);
}

static void run_until(struct bench *b, bool (*until)(struct bench *b), uint64_t want)
{
    b->until = until;
    b->want = want;
    loop_timer_set(&b->tick, loop_now(b->loop));
    (void)loop_run(b->loop);
}

static bool enough_closed(struct bench *b)
{
    return b->n_closed >= b->want;
}

static bool enough_watches(struct bench *b)
{
    return b->watches.len >= b->want;
}

static bool all_written(struct bench *b)
{
    for (size_t i = 0; i < b->watches.len; i++)
        if (http_stream_pending(b->watches.p[i]))
            return false;
    return true;
}

static bool time_passed(struct bench *b)
{
    return loop_now(b->loop) >= (usec)b->want;
}

/* ---- the load ---- */

struct load {
    struct loop *loop;
    struct http_client *clients[MAX_CLIENTS];
    size_t n_clients;
    uint64_t left;
    struct http_header accept;
};

struct load_call {
    struct http_call call;
    struct load *load;
    struct http_client *client;
    const char *path;
};

static void send_again(struct load_call *c);

static void on_data(struct http_call *call, str data)
{
}

static void on_end(struct http_call *call, const struct err *err)
{
    struct load_call *c = call->ctx;
    if (err) {
        (void)fprintf(stderr, "load: %s\n", err->message);
        _exit(1);
    }
    if (c->load->left)
        send_again(c);
}

static void send_again(struct load_call *c)
{
    bool is_watch = str_is(str_of(c->path), "/watch");
    c->load->left--;
    c->call = (struct http_call){
        .method = STR("GET"),
        .path = str_of(c->path),
        .headers = &c->load->accept,
        .n_headers = c->load->accept.name.len ? 1 : 0,
        .timeout = is_watch ? 0 : 60 * USEC_PER_SEC,
        .on_data = on_data,
        .on_end = on_end,
        .ctx = c,
    };
    http_client_send(c->client, &c->call);
}

struct load_plan {
    enum tls_offer offer;
    size_t n_clients;
    size_t n_in_flight; /* over all clients */
    uint64_t n;
    const char *path;
    bool wants_gzip;
};

/* Never returns: the parent kills it. */
static void run_load(const struct bench *b, const struct load_plan *plan)
{
    struct err err = ERR_INIT;
    struct load load = {.loop = loop_new_real(&err), .left = plan->n};
    if (plan->wants_gzip)
        load.accept = (struct http_header){STR("accept-encoding"), STR("gzip")};
    struct tls_client *tls =
        tls_client_new(strbuf_str(&b->ca.cert_pem), STR_NONE, STR_NONE, false, &err);
    str address = str_of(http_server_address(b->server));
    uint64_t port = 0;
    (void)str_to_uint(str_sub(address, (size_t)str_rfind_char(address, ':') + 1, address.len),
                      &port);
    struct http_client_options o = {.host = "127.0.0.1", .port = (int)port, .tls = tls};
    o.max_connections = plan->n_in_flight;
    for (size_t i = 0; i < plan->n_clients; i++) {
        load.clients[i] = http_client_new(load.loop, &o);
        load.clients[i]->offer = plan->offer;
    }
    for (size_t i = 0; i < plan->n_in_flight; i++) {
        struct load_call *c = xnew(struct load_call);
        c->load = &load;
        c->client = load.clients[i % plan->n_clients];
        c->path = plan->path;
        send_again(c);
    }
    (void)loop_run(load.loop);
    _exit(0);
}

static pid_t start_load(const struct bench *b, const struct load_plan *plan)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        run_load(b, plan);
    return pid;
}

static void stop_load(struct bench *b, pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    run_until(b, enough_closed, b->n_requests);
    vec_done(&b->watches);
}

/* ---- measurements ---- */

static const char *version(const struct load_plan *plan)
{
    return plan->offer == TLS_OFFER_H1 ? "1.1" : "2";
}

static void bench_requests(struct bench *b, const struct load_plan *plan)
{
    uint64_t before = b->n_closed;
    pid_t pid = start_load(b, plan);
    run_until(b, enough_closed, before + plan->n / 10);
    usec cpu = cpu_now(), wall = loop_now(b->loop);
    uint64_t from = b->n_closed;
    run_until(b, enough_closed, before + plan->n);
    double n = (double)(b->n_closed - from);
    printf("{\"bench\":\"request\",\"http\":\"%s\",\"connections\":%zu,\"in_flight\":%zu,"
           "\"cpu_usec\":%.2f,\"per_second\":%.0f}\n",
           version(plan), plan->offer == TLS_OFFER_H1 ? plan->n_in_flight : plan->n_clients,
           plan->n_in_flight, (double)(cpu_now() - cpu) / n,
           n * (double)USEC_PER_SEC / (double)(loop_now(b->loop) - wall));
    stop_load(b, pid);
}

static void broadcast(struct bench *b)
{
    struct http_slice slices[] = {{STR("{\"type\":\"MODIFIED\",\"object\":"), NULL, NULL},
                                  {str_n(b->event, EVENT), b->event, no_drop},
                                  {STR("}\n"), NULL, NULL}};
    for (size_t i = 0; i < b->watches.len; i++)
        http_stream_write(b->watches.p[i], slices, ARRAY_LEN(slices));
}

static void bench_events(struct bench *b, const struct load_plan *plan)
{
    enum { ROUNDS = 100 };
    pid_t pid = start_load(b, plan);
    run_until(b, enough_watches, plan->n);
    run_until(b, time_passed, (uint64_t)(loop_now(b->loop) + 100 * USEC_PER_MSEC));
    usec cpu = cpu_now(), wall = loop_now(b->loop);
    for (int i = 0; i < ROUNDS; i++) {
        broadcast(b);
        run_until(b, all_written, 0);
    }
    double n = (double)ROUNDS * (double)plan->n;
    printf("{\"bench\":\"event\",\"http\":\"%s\",\"watches\":%llu,\"connections\":%zu,"
           "\"cpu_usec\":%.2f,\"round_msec\":%.1f}\n",
           version(plan), (unsigned long long)plan->n, b->server->n_conns,
           (double)(cpu_now() - cpu) / n,
           (double)(loop_now(b->loop) - wall) / (double)USEC_PER_MSEC / ROUNDS);
    stop_load(b, pid);
}

static void bench_idle(struct bench *b, const struct load_plan *plan)
{
    vec_reserve(&b->watches, plan->n);
    size_t before = heap_now();
    pid_t pid = start_load(b, plan);
    run_until(b, enough_watches, plan->n);
    run_until(b, time_passed, (uint64_t)(loop_now(b->loop) + 300 * USEC_PER_MSEC));
    double quiet = (double)(heap_now() - before) / (double)plan->n;
    broadcast(b);
    run_until(b, all_written, 0);
    run_until(b, time_passed, (uint64_t)(loop_now(b->loop) + 300 * USEC_PER_MSEC));
    printf("{\"bench\":\"idle\",\"http\":\"%s\",\"watches\":%llu,\"connections\":%zu,"
           "\"heap_each\":%.0f,\"heap_each_after_an_event\":%.0f}\n",
           version(plan), (unsigned long long)plan->n, b->server->n_conns, quiet,
           (double)(heap_now() - before) / (double)plan->n);
    stop_load(b, pid);
}

/* Notes the time between two turns of a task that is always due. */
static void on_beat(struct loop_task *t);
static struct bench *beating;
static struct loop_task beat = {.fn = on_beat};

static usec clock_now(clockid_t clock)
{
    struct timespec ts;
    (void)clock_gettime(clock, &ts);
    return ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

static void on_beat(struct loop_task *t)
{
    usec now = clock_now(CLOCK_THREAD_CPUTIME_ID); /* not what the machine gives to others */
    if (beating->last)
        beating->longest = MAX(beating->longest, now - beating->last);
    beating->last = now;
    loop_defer(beating->loop, LOOP_APPLY, t);
}

static void bench_gzip(struct bench *b, const struct load_plan *plan)
{
    b->large_len = 16 << 20;
    b->large = xmalloc(b->large_len);
    for (size_t i = 0; i < b->large_len; i++) {
        static const char text[] =
            "{\"name\":\"pod-%\",\"namespace\":\"default\",\"uid\":\"#######\"},";
        char c = text[i % (sizeof(text) - 1)];
        b->large[i] = c == '#' || c == '%' ? (char)('0' + (i * 2654435761u >> 13) % 10) : c;
    }
    uint64_t before = b->n_closed;
    pid_t pid = start_load(b, plan);
    run_until(b, enough_closed, before + 1);
    beating = b;
    b->longest = b->last = 0;
    loop_defer(b->loop, LOOP_APPLY, &beat);
    usec wall = clock_now(CLOCK_MONOTONIC);
    uint64_t from = b->n_closed;
    run_until(b, enough_closed, before + plan->n);
    double mb = (double)(b->n_closed - from) * 16;
    printf("{\"bench\":\"gzip\",\"http\":\"%s\",\"in_flight\":%zu,\"mb_per_second\":%.0f,"
           "\"longest_iteration_cpu_msec\":%.1f}\n",
           version(plan), plan->n_in_flight,
           mb * (double)USEC_PER_SEC / (double)(clock_now(CLOCK_MONOTONIC) - wall),
           (double)b->longest / 1000);
    loop_task_cancel(&beat);
    stop_load(b, pid);
    free(b->large);
}

static void bench_init(struct bench *b)
{
    struct err err = ERR_INIT;
    memset(b->event, 'e', EVENT);
    b->loop = loop_new_real(&err);
    usec begin = (usec)1577836800 * USEC_PER_SEC, life = 50 * 365 * USEC_PER_DAY;
    struct rlimit files = {65536, 65536};
    (void)setrlimit(RLIMIT_NOFILE, &files);
    BUG_ON(pki_make_ca("bench", begin, life, &b->ca, &err) < 0 ||
           pki_issue(&b->ca, "server", NULL, "IP:127.0.0.1", begin, life, &b->id, &err) < 0);
    b->tls =
        tls_server_new(strbuf_str(&b->id.cert_pem), strbuf_str(&b->id.key_pem), STR_NONE, &err);
    struct http_server_options o = {
        .listen = "127.0.0.1:0", .tls = b->tls, .handler = handle, .ctx = b};
    b->server = http_server_new(b->loop, &o, &err);
    BUG_ON(!b->server);
    loop_timer_init(b->loop, &b->tick, on_tick);
}

int main(void)
{
    static const struct {
        void (*run)(struct bench *b, const struct load_plan *plan);
        struct load_plan plan;
    } benches[] = {
        {bench_requests, {TLS_OFFER_H1, 1, 32, 100000, "/"}},
        {bench_requests, {TLS_OFFER_H2, 1, 32, 200000, "/"}},
        {bench_requests, {TLS_OFFER_H2, 10, 256, 200000, "/"}},
        {bench_events, {TLS_OFFER_H1, 1, 1000, 1000, "/watch"}},
        {bench_events, {TLS_OFFER_H2, 10, 1000, 1000, "/watch"}},
        {bench_events, {TLS_OFFER_H2, 10, 10000, 10000, "/watch"}},
        {bench_idle, {TLS_OFFER_H1, 1, 1000, 1000, "/watch"}},
        {bench_idle, {TLS_OFFER_H2, 10, 10000, 10000, "/watch"}},
        {bench_idle, {TLS_OFFER_H2, 100, 10000, 10000, "/watch"}},
        {bench_gzip, {TLS_OFFER_H1, 1, 8, 40, "/large", true}},
        {bench_gzip, {TLS_OFFER_H2, 1, 8, 40, "/large", true}},
    };
    static struct bench b;
    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(benches); i++)
        benches[i].run(&b, &benches[i].plan);
    http_server_free(b.server);
    tls_server_free(b.tls);
    pki_identity_done(&b.ca);
    pki_identity_done(&b.id);
    loop_timer_cancel(&b.tick);
    loop_free(b.loop);
    return 0;
}
