/* See prober.h. */
#include "node/agent/prober.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http.h"
#include "net/tls.h"

static const char *const kinds[] = {"startupProbe", "livenessProbe", "readinessProbe"};
enum { STARTUP, LIVENESS, READINESS, KINDS };

struct probe {
    struct list link;
    struct prober *prober;
    struct obj *pod;
    jval container, spec;
    int64_t attempt;
    unsigned kind;
    enum probe_state state;
    int64_t good, bad; /* in a row */
    struct loop_timer timer, limit;
    bool under_way;
    struct loop_io io; /* tcpSocket */
    struct http_client *client;
    struct tls_client *tls;
    struct http_call call;
    struct strbuf path;
    int status;
};

struct prober {
    struct prober_options options;
    struct list probes;
};

/* ---- what a probe says ---- */

static usec seconds(const struct probe *p, str field, int64_t otherwise)
{
    return MIN(MAX(jint(jget(p->spec, field), otherwise), 0), 86400) * USEC_PER_SEC;
}

static int64_t threshold(const struct probe *p, str field, int64_t otherwise)
{
    return MAX(jint(jget(p->spec, field), otherwise), 1);
}

static void plan_next(struct probe *p)
{
    usec period = MAX(seconds(p, STR("periodSeconds"), 10), USEC_PER_SEC);
    loop_timer_set(&p->timer, loop_now(p->prober->options.loop) + period);
}

static void end_attempt(struct probe *p, bool good)
{
    enum probe_state before = p->state;
    if (!p->under_way)
        return;
    p->under_way = false;
    loop_timer_cancel(&p->limit);
    if (p->io.loop) {
        loop_io_remove(&p->io);
        close(p->io.fd);
    }
    p->good = good ? p->good + 1 : 0;
    p->bad = good ? 0 : p->bad + 1;
    if (p->good >= threshold(p, STR("successThreshold"), 1))
        p->state = PROBE_OK;
    else if (p->bad >= threshold(p, STR("failureThreshold"), 3))
        p->state = PROBE_FAILED;
    /* A startup probe has done its part; what failed for good is stopped. */
    if (p->kind != STARTUP || p->state == PROBE_PENDING)
        plan_next(p);
    if (p->state != before)
        p->prober->options.changed(p->prober->options.ctx, p->pod->ns, p->pod->name);
}

/* ---- one attempt ---- */

static void on_limit(struct loop_timer *t)
{
    struct probe *p = container_of(t, struct probe, limit);
    process_exec_forget(p->prober->options.process, p);
    end_attempt(p, false);
}

static void on_executed(void *ctx, int code)
{
    end_attempt(ctx, code == 0);
}

static void try_command(struct probe *p)
{
    struct prober_options *o = &p->prober->options;
    struct arena a = ARENA_INIT;
    struct pod_words w = {.arena = &a, .sleep = -1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    o->words(o->ctx, p->pod, p->container, jpath(p->spec, "exec.command"), &w);
    process_exec(o->process, p->pod->uid, jstr(jgetc(p->container, "name")), &w,
                 (int[]){null, null, null}, on_executed, p);
    if (null >= 0)
        close(null);
    pod_words_done(&w);
    arena_done(&a);
}

/* A number, or the name of one of the container's ports. */
static int port_of(const struct probe *p, jval port)
{
    int64_t n = jint(port, 0);
    for (struct jiter it = jiter(jgetc(p->container, "ports")); n == 0 && jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), jstr(port)))
            n = jint(jgetc(it.value, "containerPort"), 0);
    }
    return n > 0 && n <= UINT16_MAX ? (int)n : 0;
}

static void on_connected(struct loop_io *io, unsigned events)
{
    struct probe *p = container_of(io, struct probe, io);
    int error = 0;
    socklen_t len = sizeof(error);
    (void)events;
    bool good = getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0;
    end_attempt(p, good);
}

static void try_socket(struct probe *p)
{
    char host[64];
    struct sockaddr_in a = {.sin_family = AF_INET};
    int port = port_of(p, jpath(p->spec, "tcpSocket.port"));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)snprintf(host, sizeof(host), "%.*s", STR_ARG(p->prober->options.address));
    a.sin_port = htons((uint16_t)port);
    bool sent = fd >= 0 && port && inet_pton(AF_INET, host, &a.sin_addr) == 1 &&
                (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 || errno == EINPROGRESS);
    p->io = (struct loop_io){.fd = fd, .events = LOOP_WRITE_READY, .fn = on_connected};
    if (sent && loop_io_add(p->prober->options.loop, &p->io, NULL) == 0)
        return;
    if (fd >= 0)
        close(fd);
    end_attempt(p, false);
}

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct probe *p = c->ctx;
    (void)h;
    (void)n;
    p->status = status;
}

static void on_answered(struct http_call *c, const struct err *err)
{
    struct probe *p = c->ctx;
    end_attempt(p, !err && p->status >= 200 && p->status < 400);
}

static void try_http(struct probe *p)
{
    jval h = jgetc(p->spec, "httpGet");
    str path = jstr(jgetc(h, "path"));
    bool secure = str_is(jstr(jgetc(h, "scheme")), "HTTPS");
    if (!p->client) {
        char host[64];
        (void)snprintf(host, sizeof(host), "%.*s", STR_ARG(p->prober->options.address));
        if (secure)
            p->tls = tls_client_new(STR_NONE, STR_NONE, STR_NONE, true, NULL);
        struct http_client_options o = {
            .host = host, .port = port_of(p, jgetc(h, "port")), .tls = p->tls};
        p->client = http_client_new(p->prober->options.loop, &o);
    }
    strbuf_reset(&p->path);
    strbuf_add_str(&p->path, str_is_empty(path) ? STR("/") : path);
    p->status = 0;
    p->call = (struct http_call){.method = STR("GET"),
                                 .path = strbuf_str(&p->path),
                                 .timeout = MAX(seconds(p, STR("timeoutSeconds"), 1), USEC_PER_SEC),
                                 .on_headers = on_headers,
                                 .on_end = on_answered,
                                 .ctx = p};
    http_client_send(p->client, &p->call);
}

static bool startup_is_over(const struct probe *p)
{
    list_foreach (it, &p->prober->probes) {
        const struct probe *q = list_entry(it, struct probe, link);
        if (q->kind == STARTUP && q->attempt == p->attempt && q->state != PROBE_OK &&
            str_eq(q->pod->uid, p->pod->uid) &&
            str_eq(jstr(jgetc(q->container, "name")), jstr(jgetc(p->container, "name"))))
            return false;
    }
    return true;
}

static void try_probe(struct loop_timer *t)
{
    struct probe *p = container_of(t, struct probe, timer);
    if (p->kind != STARTUP && !startup_is_over(p)) {
        plan_next(p);
        return;
    }
    p->under_way = true;
    if (j_has(jgetc(p->spec, "httpGet"))) {
        try_http(p);
        return;
    }
    loop_timer_set(&p->limit, loop_now(p->prober->options.loop) +
                                  MAX(seconds(p, STR("timeoutSeconds"), 1), USEC_PER_SEC));
    if (j_has(jgetc(p->spec, "tcpSocket")))
        try_socket(p);
    else
        try_command(p);
}

/* ---- which there are ---- */

static void end_probe(struct probe *p)
{
    process_exec_forget(p->prober->options.process, p);
    loop_timer_cancel(&p->timer);
    loop_timer_cancel(&p->limit);
    if (p->io.loop) {
        loop_io_remove(&p->io);
        close(p->io.fd);
    }
    p->under_way = false;
    p->state = PROBE_NONE;
    if (p->client)
        http_client_free(p->client);
    tls_client_free(p->tls);
    strbuf_done(&p->path);
    list_remove(&p->link);
    obj_unref(p->pod);
    free(p);
}

static struct probe *find(struct prober *pr, str uid, str container, int64_t attempt, unsigned kind)
{
    list_foreach (it, &pr->probes) {
        struct probe *p = list_entry(it, struct probe, link);
        if (p->kind == kind && p->attempt == attempt && str_eq(p->pod->uid, uid) &&
            str_eq(jstr(jgetc(p->container, "name")), container))
            return p;
    }
    return NULL;
}

static void begin(struct prober *pr, const struct obj *pod, jval container,
                  const struct container_seen *c, unsigned kind)
{
    struct probe *p = xnew(struct probe);
    p->prober = pr;
    p->pod = obj_ref(pod);
    p->container = container;
    p->spec = jget(container, str_of(kinds[kind]));
    p->attempt = c->attempt;
    p->kind = kind;
    p->state = kind == LIVENESS ? PROBE_OK : PROBE_PENDING;
    strbuf_init(&p->path, 65536);
    loop_timer_init(pr->options.loop, &p->timer, try_probe);
    loop_timer_init(pr->options.loop, &p->limit, on_limit);
    loop_timer_set(&p->timer, c->started.at + seconds(p, STR("initialDelaySeconds"), 0));
    list_push_back(&pr->probes, &p->link);
}

void prober_follow(struct prober *pr, const struct obj *pod, const struct pod_seen *seen)
{
    struct pod_parts parts = pod_parts_of(pod);
    list_foreach (it, &pr->probes) {
        struct probe *p = list_entry(it, struct probe, link);
        bool runs = false;
        for (size_t i = 0; str_eq(p->pod->uid, pod->uid) && i < seen->n; i++)
            runs = runs || (seen->containers[i].state == CONTAINER_RUNNING &&
                            seen->containers[i].attempt == p->attempt &&
                            str_eq(jstr(jgetc(pod_part_at(&parts, i), "name")),
                                   jstr(jgetc(p->container, "name"))));
        if (str_eq(p->pod->uid, pod->uid) && !runs)
            end_probe(p);
    }
    for (size_t i = 0; i < seen->n; i++) {
        jval c = pod_part_at(&parts, i);
        for (unsigned k = 0; seen->containers[i].state == CONTAINER_RUNNING && k < KINDS; k++) {
            if (j_has(jget(c, str_of(kinds[k]))) &&
                !find(pr, pod->uid, jstr(jgetc(c, "name")), seen->containers[i].attempt, k))
                begin(pr, pod, c, &seen->containers[i], k);
        }
    }
}

void prober_see(struct prober *pr, const struct obj *pod, struct pod_seen *seen)
{
    struct pod_parts parts = pod_parts_of(pod);
    for (size_t i = 0; i < seen->n; i++) {
        jval c = pod_part_at(&parts, i);
        struct container_seen *s = &seen->containers[i];
        enum probe_state *const states[] = {&s->startup, &s->liveness, &s->readiness};
        for (unsigned k = 0; k < KINDS; k++) {
            if (!j_has(jget(c, str_of(kinds[k]))))
                continue;
            const struct probe *p = find(pr, pod->uid, jstr(jgetc(c, "name")), s->attempt, k);
            *states[k] = p ? p->state : PROBE_PENDING;
        }
    }
}

const char *prober_refused(const struct obj *pod)
{
    struct pod_parts parts = pod_parts_of(pod);
    for (size_t i = 0; i < pod_parts_count(&parts); i++) {
        for (unsigned k = 0; k < KINDS; k++) {
            if (j_has(jgetc(jget(pod_part_at(&parts, i), str_of(kinds[k])), "grpc")))
                return "probes of process pods are of kind exec, httpGet or tcpSocket";
        }
    }
    return NULL;
}

struct prober *prober_new(const struct prober_options *o)
{
    struct prober *p = xnew(struct prober);
    p->options = *o;
    list_init(&p->probes);
    return p;
}

void prober_free(struct prober *p)
{
    if (!p)
        return;
    list_foreach (it, &p->probes)
        end_probe(list_entry(it, struct probe, link));
    free(p);
}
