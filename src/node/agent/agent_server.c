/* See agent_server.h. */
#include "node/agent/agent_server.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "node/agent/log_reader.h"

/* What a slow reader may leave before its log is read on. */
enum { HIGH_WATER = 1024 * 1024, CALLS_MAX = 256 };

struct agent_server {
    struct loop *loop;
    struct process *process;
    struct tls_server *tls;
    struct http_server *http;
    int inotify;
    struct loop_io io;
    struct list calls;
    size_t n_calls;
};

/* One reader of one log. */
struct log_call {
    struct list link;
    struct agent_server *server;
    struct http_exchange *x; /* NULL: it has gone */
    struct obj *pod;
    char container[256];
    int64_t attempt;
    bool follow, begun, busy, again;
    int watch; /* of inotify; -1: none */
    struct log_reader reader;
    struct loop_job job;
};

/* ---- answers ---- */

static void answer(struct http_exchange *x, int status, const char *text)
{
    static const struct http_header headers[] = {
        {{"content-type", 12}, {"text/plain", 10}},
    };
    http_reply(x, status, headers, ARRAY_LEN(headers), (struct http_slice){.data = str_of(text)});
}

static bool may_ask(const struct http_exchange *x)
{
    static const char *const groups[] = {"grove:kubelet-clients", "system:masters"};
    for (size_t i = 0; i < x->peer->n_organizations; i++) {
        for (size_t k = 0; k < ARRAY_LEN(groups); k++) {
            if (str_is(x->peer->organizations[i], groups[k]))
                return true;
        }
    }
    return false;
}

/* ---- logs ---- */

static void free_call(struct log_call *c)
{
    if (c->watch >= 0)
        (void)inotify_rm_watch(c->server->inotify, c->watch);
    list_remove(&c->link);
    c->server->n_calls--;
    log_reader_done(&c->reader);
    obj_unref(c->pod);
    free(c);
}

static void read_piece(struct loop_job *j)
{
    struct log_call *c = container_of(j, struct log_call, job);
    log_reader_next(&c->reader);
}

static bool still_runs(const struct log_call *c)
{
    struct arena a = ARENA_INIT;
    struct pod_seen seen;
    struct pod_parts parts = pod_parts_of(c->pod);
    bool runs = false;
    process_seen(c->server->process, c->pod, &a, &seen);
    for (size_t i = 0; i < seen.n; i++) {
        if (str_eq(jstr(jgetc(pod_part_at(&parts, i), "name")), str_of(c->container)))
            runs = seen.containers[i].attempt == c->attempt &&
                   seen.containers[i].state == CONTAINER_RUNNING;
    }
    arena_done(&a);
    return runs;
}

static void piece_is_read(struct loop_job *j);

static void read_on(struct log_call *c)
{
    if (c->busy || !c->x) {
        c->again = true;
        return;
    }
    if (http_stream_pending(c->x) > HIGH_WATER)
        return; /* on_drain comes back */
    c->busy = true;
    c->again = false;
    c->job = (struct loop_job){.run = read_piece, .done = piece_is_read};
    loop_submit(c->server->loop, LOOP_BLOCK, &c->job);
}

static void piece_is_read(struct loop_job *j)
{
    struct log_call *c = container_of(j, struct log_call, job);
    c->busy = false;
    if (!c->x) {
        free_call(c);
        return;
    }
    struct http_slice slice = {.data = strbuf_str(&c->reader.out)};
    if (c->reader.out.len)
        http_stream_write(c->x, &slice, 1);
    if (c->reader.limit == 0 || (c->reader.ended && !c->again && !(c->follow && still_runs(c))))
        http_stream_end(c->x);
    else if (!c->reader.ended || c->again)
        read_on(c);
}

static void on_drain(struct http_exchange *x)
{
    struct log_call *c = x->ctx;
    if (!c->reader.ended)
        read_on(c);
}

static void on_close(struct http_exchange *x)
{
    struct log_call *c = x->ctx;
    c->x = NULL;
    if (!c->busy)
        free_call(c);
}

/* Something was written to some log: each reader looks at its own. */
static void wake_all(struct agent_server *s)
{
    list_foreach (it, &s->calls) {
        struct log_call *c = list_entry(it, struct log_call, link);
        if (c->follow)
            read_on(c);
    }
}

static void on_written(struct loop_io *io, unsigned events)
{
    struct agent_server *s = container_of(io, struct agent_server, io);
    char b[4096];
    (void)events;
    while (read(s->inotify, b, sizeof(b)) > 0)
        ;
    wake_all(s);
}

void agent_server_wake(struct agent_server *s)
{
    if (s)
        wake_all(s);
}

/* ---- what is asked ---- */

static int64_t number_in(struct arena *a, str query, const char *name)
{
    str v;
    int64_t n;
    return http_query_get(a, query, str_of(name), &v) && str_to_int(v, &n) && n >= 0 ? n : -1;
}

static bool flag_in(struct arena *a, str query, const char *name)
{
    str v;
    return http_query_get(a, query, str_of(name), &v) && !str_is(v, "false") && !str_is(v, "0");
}

static void read_options(struct log_call *c, struct arena *a, str query)
{
    struct log_reader *r = &c->reader;
    int64_t seconds = number_in(a, query, "sinceSeconds");
    str v;
    r->tail = number_in(a, query, "tailLines");
    r->limit = number_in(a, query, "limitBytes");
    r->timestamps = flag_in(a, query, "timestamps");
    c->follow = flag_in(a, query, "follow");
    if (seconds >= 0)
        r->since = loop_wall(c->server->loop) - MIN(seconds, INT32_MAX) * USEC_PER_SEC;
    if (http_query_get(a, query, STR("sinceTime"), &v))
        (void)time_parse_rfc3339(v, &r->since);
    if (http_query_get(a, query, STR("stream"), &v) && !str_is(v, "All"))
        (void)snprintf(r->only, sizeof(r->only), "%s", str_is(v, "Stderr") ? "stderr" : "stdout");
}

/* The run whose log is asked for; -1: there is none, and it was said. */
static int64_t run_asked_for(struct agent_server *s, struct http_exchange *x, const struct obj *pod,
                             str container, bool previous)
{
    struct arena a = ARENA_INIT;
    struct pod_seen seen;
    struct pod_parts parts = pod_parts_of(pod);
    int64_t attempt = -2;
    process_seen(s->process, pod, &a, &seen);
    for (size_t i = 0; i < seen.n; i++) {
        if (str_eq(jstr(jgetc(pod_part_at(&parts, i), "name")), container))
            attempt = seen.containers[i].state == CONTAINER_NONE ? -1 : seen.containers[i].attempt;
    }
    str text = STR_NONE;
    if (attempt == -2)
        text = arena_printf(&a, "container \"%.*s\" not found in pod \"%.*s\"", STR_ARG(container),
                            STR_ARG(pod->name));
    else if (attempt == -1)
        text = arena_printf(&a,
                            "container \"%.*s\" in pod \"%.*s\" is waiting to start: "
                            "ContainerCreating",
                            STR_ARG(container), STR_ARG(pod->name));
    else if (previous && attempt == 0)
        text = arena_printf(&a, "previous terminated container \"%.*s\" in pod \"%.*s\" not found",
                            STR_ARG(container), STR_ARG(pod->name));
    if (!str_is_empty(text)) {
        answer(x, attempt == -2 ? 404 : 400, text.p);
        attempt = -1;
    } else if (previous) {
        attempt--;
    }
    arena_done(&a);
    return attempt;
}

static void serve_log(struct agent_server *s, struct http_exchange *x, str ns, str name,
                      str container)
{
    struct arena a = ARENA_INIT;
    const struct obj *pod = process_newest(s->process, ns, name);
    int64_t attempt = -1;
    if (!pod)
        answer(x, 404, "there is no such pod on this node");
    else if (s->n_calls >= CALLS_MAX)
        answer(x, 429, "too many logs are being read on this node");
    else
        attempt = run_asked_for(s, x, pod, container, flag_in(&a, x->query, "previous"));
    if (attempt >= 0) {
        static const struct http_header headers[] = {
            {{"content-type", 12}, {"text/plain", 10}},
        };
        struct log_call *c = xnew(struct log_call);
        str dir = process_log_dir(s->process, pod->uid, container, &a);
        str path = arena_printf(&a, "%.*s/%lld.log", STR_ARG(dir), (long long)attempt);
        c->server = s;
        c->x = x;
        c->pod = obj_ref(pod);
        c->attempt = attempt;
        c->watch = -1;
        (void)snprintf(c->container, sizeof(c->container), "%.*s", STR_ARG(container));
        log_reader_init(&c->reader, path.p);
        read_options(c, &a, x->query);
        list_push_back(&s->calls, &c->link);
        s->n_calls++;
        if (c->follow)
            c->watch = inotify_add_watch(s->inotify, dir.p, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
        x->ctx = c;
        x->on_close = on_close;
        x->on_drain = on_drain;
        http_stream_begin(x, 200, headers, ARRAY_LEN(headers));
        read_on(c);
    }
    arena_done(&a);
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct agent_server *s = ctx;
    str rest = x->path;
    (void)str_cut(&rest, '/');
    str verb = str_cut(&rest, '/'), ns = str_cut(&rest, '/'), name = str_cut(&rest, '/');
    if (!may_ask(x))
        answer(x, 403, "this certificate may not ask a node");
    else if (str_is(verb, "healthz"))
        answer(x, 200, "ok");
    else if (!str_is(x->method, "GET") && !str_is(x->method, "POST"))
        answer(x, 405, "this node answers GET and POST");
    else if (str_is(verb, "containerLogs") && !str_is_empty(rest))
        serve_log(s, x, ns, name, rest);
    else
        answer(x, 501, "nodes that run pods as processes do not serve this yet");
}

/* ---- life ---- */

struct agent_server *agent_server_new(struct loop *l, const struct agent_server_options *o,
                                      struct err *err)
{
    struct agent_server *s = xnew(struct agent_server);
    s->loop = l;
    s->process = o->process;
    s->tls = o->tls;
    list_init(&s->calls);
    s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    s->io = (struct loop_io){.fd = s->inotify, .events = LOOP_READ, .fn = on_written};
    struct http_server_options ho = {.listen = o->listen,
                                     .tls = o->tls,
                                     .limits = &http_default_limits,
                                     .handler = handle,
                                     .ctx = s};
    if (s->inotify >= 0 && loop_io_add(l, &s->io, err) == 0)
        s->http = http_server_new(l, &ho, err);
    if (!s->http) {
        agent_server_free(s);
        return NULL;
    }
    return s;
}

void agent_server_free(struct agent_server *s)
{
    if (!s)
        return;
    if (s->http)
        http_server_free(s->http);
    list_foreach (it, &s->calls) {
        struct log_call *c = list_entry(it, struct log_call, link);
        loop_job_cancel(&c->job);
        free_call(c);
    }
    if (s->io.loop)
        loop_io_remove(&s->io);
    if (s->inotify >= 0)
        close(s->inotify);
    tls_server_free(s->tls);
    free(s);
}

int agent_server_port(const struct agent_server *s)
{
    str address = str_of(http_server_address(s->http));
    ptrdiff_t colon = str_rfind_char(address, ':');
    int64_t port = 0;
    if (colon >= 0)
        (void)str_to_int(str_sub(address, (size_t)colon + 1, address.len), &port);
    return (int)port;
}
