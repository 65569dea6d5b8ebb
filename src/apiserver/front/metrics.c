/*
 * What the front end counts, under the names kube-apiserver's dashboards know, and one debug line
 * per request. Labels come from our tables only: a client cannot add to them. Neither headers nor
 * queries are logged.
 */
#include "apiserver/front/front_impl.h"

#include "apiserver/access/review.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/metric.h"

static const double latency_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                        0.1,    0.25,  0.5,    1,     2.5,  5,     10};

static struct metric requests = METRIC_COUNTER("apiserver_request_total", "Requests served.",
                                               "verb", "resource", "subresource", "code");
static struct metric latency =
    METRIC_HISTOGRAM("apiserver_request_duration_seconds",
                     "From the whole request to the last byte of the answer, watches apart.",
                     latency_bounds, "verb", "resource");
static struct metric in_flight =
    METRIC_GAUGE("apiserver_current_inflight_requests", "Requests being served, watches apart.");
static struct metric watches =
    METRIC_GAUGE("apiserver_longrunning_requests", "Watches that are open.");
static struct metric waiting = METRIC_GAUGE("apiserver_flowcontrol_current_inqueue_requests",
                                            "Requests that wait for their turn.");
static struct metric held =
    METRIC_GAUGE("grove_request_memory_bytes",
                 "What requests, answers and watches hold, as --memory-limit counts it.");
static struct metric connections =
    METRIC_GAUGE("grove_open_connections", "Connections of clients.");
static struct metric revision =
    METRIC_GAUGE("grove_store_revision", "Last revision that is durable.");
static struct metric objects =
    METRIC_GAUGE("apiserver_resource_objects", "Objects stored.", "group", "resource");
static struct metric read_only =
    METRIC_GAUGE("grove_store_read_only", "1 when a write failed and the store takes no more.");
static struct metric full = METRIC_GAUGE(
    "grove_store_full", "1 while writes that would make the store larger are refused.");
static struct metric store_memory =
    METRIC_GAUGE("grove_store_memory_bytes",
                 "What stored objects and their history hold, as --object-memory-limit counts it.");
static struct metric store_memory_limit =
    METRIC_GAUGE("grove_store_memory_limit_bytes", "The limit of it; 0: none.");
static struct metric iterations =
    METRIC_COUNTER("grove_loop_iterations_total", "Turns of the event loop.");
static struct metric cpu = METRIC_COUNTER("process_cpu_seconds_total", "CPU time used.");
static struct metric resident =
    METRIC_GAUGE("process_resident_memory_bytes", "Memory in use, as the system counts it.");
static struct metric uptime = METRIC_GAUGE("grove_uptime_seconds", "Since the server began.");

/* ---- requests ---- */

/* kube-apiserver's word for a verb; off the API the method is the word. */
static const struct {
    const char *verb, *label;
} verb_labels[] = {
    {"get", "GET"},       {"list", "LIST"},
    {"watch", "WATCH"},   {"create", "POST"},
    {"update", "PUT"},    {"patch", "PATCH"},
    {"delete", "DELETE"}, {"deletecollection", "DELETECOLLECTION"},
};

static str verb_label(const struct call *c)
{
    const struct route *r = &c->route;
    const struct api_request *q = r->request; /* a watch has given it back */
    if (r->verb && q && q->verb == API_PATCH && q->patch == API_PATCH_APPLY)
        return STR("APPLY");
    for (size_t i = 0; i < ARRAY_LEN(verb_labels); i++)
        if (r->verb ? str_is(str_of(r->verb), verb_labels[i].verb)
                    : str_is(c->x->method, verb_labels[i].label))
            return str_of(verb_labels[i].label);
    return STR("other");
}

static str resource_label(const struct call *c)
{
    const struct route *r = &c->route;
    return r->kind ? str_of(r->kind->plural) : r->review ? str_of(r->review->plural) : STR_NONE;
}

/* Only those that exist come this far with a verb. */
static str subresource_label(const struct call *c)
{
    return c->route.verb && c->route.request ? c->route.request->subresource : STR_NONE;
}

static void log_request(const struct call *c, usec took, bool aborted)
{
    log_debug("request", LOG_S("method", c->x->method), LOG_S("path", c->x->path),
              LOG_I("code", c->code), LOG_I("usec", took), LOG_S("user", c->who.user.name),
              LOG_C("auditID", c->audit_id), LOG_B("aborted", aborted));
}

void account_begin(struct call *c)
{
    c->began = loop_now(apiserver_loop(c->front->server));
    c->front->n_calls++;
}

void account_end(struct call *c, bool aborted)
{
    char code[16];
    usec took = loop_now(apiserver_loop(c->front->server)) - c->began;
    (void)snprintf(code, sizeof(code), "%d", c->code);
    str verb = verb_label(c), resource = resource_label(c);
    metric_add(metric_with(&requests, verb, resource, subresource_label(c), str_of(code)), 1);
    if (!c->route.is_watch)
        metric_observe(metric_with(&latency, verb, resource), (double)took / USEC_PER_SEC);
    c->front->n_calls--;
    log_request(c, took, aborted);
}

/* ---- everything ---- */

static double resident_bytes(void)
{
    struct strbuf text = STRBUF_INIT(4096);
    uint64_t pages = 0;
    if (file_read("/proc/self/statm", &text, NULL) == 0) {
        str rest = strbuf_str(&text);
        (void)str_cut(&rest, ' ');
        (void)str_to_uint(str_cut(&rest, ' '), &pages);
    }
    strbuf_done(&text);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A counter that somebody else keeps. */
static void set_counter(struct metric *m, double v)
{
    struct metric_series *s = metric_with(m);
    metric_add(s, MAX(0, v - metric_value(s)));
}

static void collect_objects(const struct store *s)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        metric_set(metric_with(&objects, str_of(k->group), str_of(k->plural)),
                   (double)store_count(s, k));
    }
}

static void collect_room(const struct store *s)
{
    struct store_room room;
    store_room(s, &room);
    metric_set(metric_with(&full), room.is_full);
    metric_set(metric_with(&store_memory), (double)room.memory);
    metric_set(metric_with(&store_memory_limit), (double)room.memory_limit);
}

void metrics_write(struct front *f, struct strbuf *out)
{
    struct loop *l = apiserver_loop(f->server);
    struct store *s = apiserver_store(f->server);
    metric_set(metric_with(&in_flight), (double)(f->n_calls - f->n_watches));
    metric_set(metric_with(&watches), (double)f->n_watches);
    if (f->http) /* a front without a socket of its own has none to count */
        metric_set(metric_with(&connections), (double)http_server_connections(f->http));
    metric_set(metric_with(&waiting), (double)f->fair.n_items);
    metric_set(metric_with(&held), (double)turns_held(f));
    metric_set(metric_with(&revision), (double)store_revision(s));
    metric_set(metric_with(&read_only), store_is_read_only(s));
    collect_room(s);
    set_counter(&iterations, (double)loop_iterations(l));
    set_counter(&cpu, cpu_seconds());
    metric_set(metric_with(&resident), resident_bytes());
    metric_set(metric_with(&uptime), (double)(loop_now(l) - f->began) / USEC_PER_SEC);
    collect_objects(s);
    metric_write(out);
}
