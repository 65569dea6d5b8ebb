/*
 * The whole way, seen from outside: `grove up` with a durable store and nodes whose pods start
 * without delay; then sets are applied over TLS, and a watch says when all their pods run. Prints
 * wall time, processor time of the server, its memory, and how often each kind was written.
 * bench/wholepath builds both and calls this.
 *
 *   bench-wholepath [--nodes 1000] [--sets 100] [--replicas 10] [--cliques 2] [--pods 5]
 *                   [--data DIR] [--max-wall DURATION]
 *
 * Each replica of a set is a gang of its cliques: with the defaults a hundred sets are 10,000 pods
 * in 1,000 gangs of ten. The watch selects pods that run, so it costs the server one event for
 * each.
 */
#include <errno.h>
#include <unistd.h>

#include "base/opt.h"
#include "bench/served.h"

enum { IN_FLIGHT = 16 };

struct args {
    str grove, data;
    int64_t nodes, sets, replicas, cliques, pods;
    usec max_wall;
};

struct path {
    const struct args *args;
    struct served served;
    struct http_client *client, *watcher;
    size_t next, applied; /* sets */
    size_t wanted, running;
    double begin, first, last_applied; /* microseconds */
    struct http_call watch;
    struct strbuf line; /* the beginning of an event whose end has not come */
    struct loop_timer limit;
};

/* ---- sets ---- */

static const char set_head[] =
    "{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodCliqueSet\",\"metadata\":{\"name\":"
    "\"set-%zu\"},\"spec\":{\"replicas\":%lld,\"template\":{\"cliques\":[";

static const char set_clique[] =
    "%s{\"name\":\"c%lld\",\"spec\":{\"roleName\":\"c%lld\",\"replicas\":%lld,\"minAvailable\":"
    "%lld,\"podSpec\":{\"terminationGracePeriodSeconds\":5,\"containers\":[{\"name\":\"main\","
    "\"image\":\"example.com/app:1.0\",\"env\":[{\"name\":\"MODE\",\"value\":\"bench\"}],"
    "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}";

static void write_set(struct strbuf *to, const struct args *a, size_t i)
{
    long long pods = (long long)a->pods;
    strbuf_reset(to);
    strbuf_printf(to, set_head, i, (long long)a->replicas);
    for (long long k = 0; k < (long long)a->cliques; k++)
        strbuf_printf(to, set_clique, k ? "," : "", k, k, pods, pods);
    strbuf_add_cstr(to, "]}}}");
}

struct slot {
    struct http_call call;
    struct http_header header;
    struct path *path;
    struct strbuf url, body, reply;
    int status;
};

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    (void)h;
    (void)n;
    ((struct slot *)c->ctx)->status = status;
}

static void on_data(struct http_call *c, str data)
{
    strbuf_add_str(&((struct slot *)c->ctx)->reply, data);
}

static void slot_send(struct slot *s);

static void on_end(struct http_call *c, const struct err *err)
{
    struct slot *s = c->ctx;
    struct path *p = s->path;
    if (err || s->status != 201)
        served_fail("apply", err ? err->message : s->reply.p ? s->reply.p : "refused");
    if (++p->applied == (size_t)p->args->sets)
        p->last_applied = now_usec();
    if (p->next < (size_t)p->args->sets) {
        slot_send(s);
        return;
    }
    strbuf_done(&s->url);
    strbuf_done(&s->body);
    strbuf_done(&s->reply);
    free(s);
}

/* The next set, as `grove apply` sends it. */
static void slot_send(struct slot *s)
{
    struct path *p = s->path;
    size_t i = p->next++;
    strbuf_reset(&s->url);
    strbuf_reset(&s->reply);
    strbuf_printf(&s->url,
                  "/apis/grove.io/v1alpha1/namespaces/default/podcliquesets/set-%zu"
                  "?fieldManager=bench&force=true",
                  i);
    write_set(&s->body, p->args, i);
    s->header = (struct http_header){STR("content-type"), STR("application/apply-patch+yaml")};
    s->call = (struct http_call){.method = STR("PATCH"),
                                 .path = strbuf_str(&s->url),
                                 .headers = &s->header,
                                 .n_headers = 1,
                                 .body = strbuf_str(&s->body),
                                 .timeout = USEC_PER_MIN,
                                 .on_headers = on_headers,
                                 .on_data = on_data,
                                 .on_end = on_end,
                                 .ctx = s};
    http_client_send(p->client, &s->call);
}

static void apply_all(struct path *p)
{
    for (size_t i = 0; i < MIN((size_t)p->args->sets, IN_FLIGHT); i++) {
        struct slot *s = xnew(struct slot);
        s->path = p;
        strbuf_init(&s->url, 4096);
        strbuf_init(&s->body, 1 << 16);
        strbuf_init(&s->reply, 1 << 20);
        slot_send(s);
    }
}

/* ---- pods that run ---- */

static void on_event(struct path *p, str line)
{
    if (str_starts(line, STR("{\"type\":\"DELETED\"")))
        served_fail("watch", "a pod that ran does not any more");
    if (!str_starts(line, STR("{\"type\":\"ADDED\"")))
        return;
    if (p->running++ == 0)
        p->first = now_usec();
    if (p->running == p->wanted)
        loop_stop(p->served.loop, 0);
}

static void on_watch_data(struct http_call *c, str data)
{
    struct path *p = c->ctx;
    for (const char *end; data.len && (end = memchr(data.p, '\n', data.len));) {
        str line = str_n(data.p, (size_t)(end - data.p));
        data = str_sub(data, line.len + 1, data.len);
        if (p->line.len) {
            strbuf_add_str(&p->line, line);
            line = strbuf_str(&p->line);
        }
        on_event(p, line);
        strbuf_reset(&p->line);
    }
    strbuf_add_str(&p->line, data);
}

static void on_watch_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct path *p = c->ctx;
    (void)h;
    (void)n;
    if (status != 200)
        served_fail("watch", http_status_text(status));
    loop_stop(p->served.loop, 0);
}

static void on_watch_end(struct http_call *c, const struct err *err)
{
    (void)c;
    served_fail("watch", err ? err->message : "the server ended it");
}

/* Returns when it is open. */
static void watch_open(struct path *p)
{
    strbuf_init(&p->line, 1 << 20);
    p->watch =
        (struct http_call){.method = STR("GET"),
                           .path = STR("/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=3600"
                                       "&fieldSelector=status.phase%3DRunning"),
                           .on_headers = on_watch_headers,
                           .on_data = on_watch_data,
                           .on_end = on_watch_end,
                           .ctx = p};
    http_client_send(p->watcher, &p->watch);
    (void)loop_run(p->served.loop);
}

/* ---- what the server counts ---- */

struct get {
    struct http_call call;
    struct loop *loop;
    struct strbuf text;
};

static void on_get_data(struct http_call *c, str data)
{
    strbuf_add_str(&((struct get *)c->ctx)->text, data);
}

static void on_get_end(struct http_call *c, const struct err *err)
{
    if (err)
        served_fail("metrics", err->message);
    loop_stop(((struct get *)c->ctx)->loop, 0);
}

static void metrics_get(struct path *p, struct strbuf *ret)
{
    struct get g = {.loop = p->served.loop, .text = STRBUF_INIT(16 << 20)};
    g.call = (struct http_call){.method = STR("GET"),
                                .path = STR("/metrics"),
                                .timeout = USEC_PER_MIN,
                                .on_data = on_get_data,
                                .on_end = on_get_end,
                                .ctx = &g};
    http_client_send(p->client, &g.call);
    (void)loop_run(p->served.loop);
    *ret = g.text;
}

/* "grove_store_writes..." lines that a benchmark of writes wants to see. */
static bool is_of_interest(str line)
{
    static const char *const starts[] = {"grove_local_requests_total",
                                         "grove_controller_plans_total",
                                         "grove_controller_writes_total"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        if (str_starts(line, str_of(starts[i])))
            return true;
    }
    return false;
}

static void report_metrics(struct path *p)
{
    struct strbuf text;
    metrics_get(p, &text);
    str rest = strbuf_str(&text);
    while (rest.len) {
        str line = str_cut(&rest, '\n');
        if (is_of_interest(line) && !str_ends(line, STR(" 0")))
            printf("  %.*s\n", STR_ARG(line));
    }
    strbuf_done(&text);
}

/* ---- the program ---- */

static void on_limit(struct loop_timer *t)
{
    const struct path *p = container_of(t, struct path, limit);
    char why[64];
    (void)snprintf(why, sizeof(why), "only %zu of %zu pods run", p->running, p->wanted);
    served_fail("time is up", why);
}

static void measure(struct path *p)
{
    const struct args *a = p->args;
    struct served *s = &p->served;
    loop_timer_init(s->loop, &p->limit, on_limit);
    loop_timer_set(&p->limit, loop_now(s->loop) + a->max_wall);
    double cpu = clock_usec(s->cpu), loop = served_loop_usec(s);
    p->begin = now_usec();
    apply_all(p);
    (void)loop_run(s->loop);
    double wall = now_usec() - p->begin;
    cpu = clock_usec(s->cpu) - cpu;
    loop = served_loop_usec(s) - loop;
    loop_timer_cancel(&p->limit);
    double peak = served_memory_mb(s, "VmHWM:"), rss = served_memory_mb(s, "RssAnon:");
    printf("%zu pods of %lld sets on %lld nodes: wall %.2f s, CPU of the server %.2f s, "
           "of its loop %.2f s\n",
           p->wanted, (long long)a->sets, (long long)a->nodes, wall / 1e6, cpu / 1e6, loop / 1e6);
    printf("sets applied after %.2f s, first pod running after %.2f s; memory %.0f MB, at most "
           "%.0f MB\n",
           (p->last_applied - p->begin) / 1e6, (p->first - p->begin) / 1e6, rss, peak);
}

/* What is written after the last pod runs counts too: status settles. */
static void settle(struct path *p)
{
    double before, cpu = clock_usec(p->served.cpu), begin = now_usec();
    do {
        before = clock_usec(p->served.cpu);
        served_pause(&p->served, 500);
    } while (clock_usec(p->served.cpu) - before > 5e3 && now_usec() - begin < 60e6);
    printf("settled %.1f s later, after %.2f s of CPU\n", (now_usec() - begin) / 1e6,
           (clock_usec(p->served.cpu) - cpu) / 1e6);
}

static int run_bench(void *ctx, const void *opts, const struct command_call *call)
{
    struct path p = {.args = opts};
    char nodes[32];
    (void)ctx;
    (void)call;
    (void)snprintf(nodes, sizeof(nodes), "%lld", (long long)p.args->nodes);
    const char *const words[] = {"--nodes", nodes, "--start-delay", "0s", "--stop-delay",
                                 "0s",      NULL};
    p.wanted = (size_t)(p.args->sets * p.args->replicas * p.args->cliques * p.args->pods);
    served_init(&p.served, p.args->grove, p.args->data);
    double ready = served_start(&p.served, words);
    p.client = served_client(&p.served);
    p.watcher = served_client(&p.served);
    watch_open(&p);
    settle(&p);
    printf("ready after %.0f ms\n", ready);
    measure(&p);
    settle(&p);
    report_metrics(&p);
    http_client_cancel(p.watcher, &p.watch);
    http_client_free(p.client);
    http_client_free(p.watcher);
    served_stop(&p.served);
    strbuf_done(&p.line);
    served_done(&p.served);
    return 0;
}

static const struct opt path_opts[] = {
    OPT_STRING(struct args, grove, 0, "grove", "FILE",
               "The program to measure (default: of this build)"),
    OPT_STRING(struct args, data, 0, "data", "DIR",
               "State directory, empty or not there (default: a temporary one)"),
    OPT_INT(struct args, nodes, 0, "nodes", "N", 1, 100000, "1000", "Simulated nodes"),
    OPT_INT(struct args, sets, 0, "sets", "N", 1, 100000, "100", "Sets"),
    OPT_INT(struct args, replicas, 0, "replicas", "N", 1, 100000, "10", "Replicas of each: gangs"),
    OPT_INT(struct args, cliques, 0, "cliques", "N", 1, 1000, "2", "Cliques of a replica"),
    OPT_INT(struct args, pods, 0, "pods", "N", 1, 1000, "5", "Pods of a clique"),
    OPT_DURATION(struct args, max_wall, 0, "max-wall", "10m", "When to give up"),
    OPT_END,
};

static const struct command wholepath = {
    .name = "bench-wholepath",
    .summary = "Measure from applied to running",
    .opts = path_opts,
    .opts_size = sizeof(struct args),
    .run = run_bench,
};

int main(int argc, char **argv)
{
    return command_main(&wholepath, argc, argv, NULL);
}
