/*
 * The ceiling: how fast an API server takes writes from one client that has nothing to think about.
 * What a controller needs for the same writes is measured against it.
 *
 *   bench-raw [--count 1000] [--in-flight 64] [--namespace raw]
 *
 * Writes what a deployment and its end write, that many times each, and each step when the one
 * before is done: one line of JSON for a step when it is over, so that whoever reads can look at
 * the server's clocks in between. A step is named as the server's audit log names such a request.
 * The server is that of KUBECONFIG; the namespace and its default ServiceAccount must exist.
 *
 * Nobody else has business with these objects: the cliques have an owner that is no set, the gangs
 * are nobody's, Services select nothing and pods are bound to a node that is not there.
 */
#include <stdio.h>
#include <time.h>

#include "base/opt.h"
#include "client/kubeconfig.h"
#include "client/remote.h"
#include "grove/types.h"
#include "kube/kinds.h"
#include "json/write.h"

/* On a machine that has much else to do nothing is answered soon. */
#define TIMEOUT (5 * USEC_PER_MIN)

struct args {
    str ns;
    int64_t count, in_flight;
};

struct raw {
    const struct args *args;
    struct loop *loop;
    struct api *api;
    str owner; /* UID of the ServiceAccount */
    const struct step *step;
    int64_t sent, done;
};

struct step {
    const char *name;
    enum api_verb verb;
    const struct kind *kind;
    const char *subresource;
    enum api_patch_type patch;
    const char *body; /* with {name} and {owner} in it */
};

#define META "\"metadata\":{\"name\":\"{name}\"}"
#define LABELS                                                                                  \
    "\"labels\":{\"app.kubernetes.io/managed-by\":\"bench-raw\",\"app.kubernetes.io/part-of\":" \
    "\"raw\",\"app.kubernetes.io/name\":\"{name}\",\"grove.io/podcliqueset\":\"raw\","          \
    "\"grove.io/podcliqueset-replica-index\":\"0\",\"bench.grove.io/hash\":\"7f9c8d6b5\"}"
#define CONDITION(type)                                                                     \
    "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"Raw\",\"message\":\"as it is " \
    "wanted\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define POD_SPEC                                                                                \
    "\"tolerations\":[{\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"main\",\"image\":" \
    "\"busybox\",\"env\":[{\"name\":\"GROVE_PCS_NAME\",\"value\":\"raw\"},{\"name\":"           \
    "\"GROVE_PCLQ_NAME\",\"value\":\"{name}\"},{\"name\":\"GROVE_HEADLESS_SERVICE\",\"value\":" \
    "\"raw-0.raw.svc.cluster.local\"}],\"resources\":{\"requests\":{\"cpu\":\"10m\"}}}]"

static const struct step steps[] = {
    {"create services", API_CREATE, &kind_service, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"{name}\"," LABELS
     "},\"spec\":{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":true}}"},
    {"create podcliques", API_CREATE, &kind_pclq, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodClique\",\"metadata\":{\"name\":"
     "\"{name}\"," LABELS
     ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"name\":"
     "\"default\",\"uid\":\"{owner}\",\"controller\":true}]},\"spec\":{\"roleName\":\"a\","
     "\"replicas\":2,\"minAvailable\":1,\"podSpec\":{" POD_SPEC "}}}"},
    {"create podgangs", API_CREATE, &kind_pod_gang, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"scheduler.grove.io/v1alpha1\",\"kind\":\"PodGang\",\"metadata\":{\"name\":"
     "\"{name}\"," LABELS "},\"spec\":{\"podgroups\":[]}}"},
    {"create poddisruptionbudgets", API_CREATE, &kind_pdb, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":"
     "\"{name}\"," LABELS "},\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{"
     "\"bench.grove.io/raw\":\"{name}\"}}}}"},
    {"create pods", API_CREATE, &kind_pod, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"{name}\"," LABELS
     "},\"spec\":{\"schedulerName\":\"bench-raw\",\"schedulingGates\":[{\"name\":"
     "\"bench.grove.io/raw\"}]," POD_SPEC "}}"},
    {"create events", API_CREATE, &kind_event, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Event\"," META ",\"involvedObject\":{\"kind\":\"Pod\","
     "\"namespace\":\"raw\",\"name\":\"{name}\"},\"reason\":\"Raw\",\"message\":\"created\","
     "\"type\":\"Normal\",\"count\":1}"},
    {"patch podgangs", API_PATCH, &kind_pod_gang, "", API_PATCH_MERGE,
     "{\"spec\":{\"podgroups\":[{\"name\":\"{name}\",\"minReplicas\":1,\"podReferences\":[]}]}}"},
    {"patch podgangs/status", API_PATCH, &kind_pod_gang, "status", API_PATCH_APPLY,
     "{\"apiVersion\":\"scheduler.grove.io/v1alpha1\",\"kind\":\"PodGang\"," META
     ",\"status\":{\"phase\":\"Pending\",\"conditions\":[" CONDITION("Initialized") "," CONDITION(
         "Scheduled") "," CONDITION("Ready") "," CONDITION("Available") "]}}"},
    {"patch podcliques/status", API_PATCH, &kind_pclq, "status", API_PATCH_MERGE,
     "{\"status\":{\"replicas\":2,\"readyReplicas\":2,\"scheduledReplicas\":2,\"hpaPodSelector\":"
     "\"grove.io/podclique={name}\",\"conditions\":[" CONDITION("PodCliqueScheduled") "," CONDITION(
         "MinAvailableBreached") "]}}"},
    {"patch pods", API_PATCH, &kind_pod, "", API_PATCH_MERGE,
     "{\"spec\":{\"schedulingGates\":null}}"},
    {"create pods/binding", API_CREATE, &kind_pod, "binding", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Binding\"," META
     ",\"target\":{\"kind\":\"Node\",\"name\":\"bench-raw\"}}"},
    {"patch pods/status", API_PATCH, &kind_pod, "status", API_PATCH_APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," META
     ",\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}],"
     "\"conditions\":[" CONDITION("Initialized") "," CONDITION("ContainersReady") "," CONDITION(
         "Ready") "],\"containerStatuses\":[{\"name\":\"main\",\"image\":\"busybox\",\"imageID\":"
                  "\"raw\",\"ready\":true,\"restartCount\":0,\"started\":true,\"state\":{"
                  "\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}}]}}"},
    {"delete pods", API_DELETE, &kind_pod, "", API_PATCH_MERGE, NULL},
    {"delete podcliques", API_DELETE, &kind_pclq, "", API_PATCH_MERGE, NULL},
    {"delete podgangs", API_DELETE, &kind_pod_gang, "", API_PATCH_MERGE, NULL},
    {"delete poddisruptionbudgets", API_DELETE, &kind_pdb, "", API_PATCH_MERGE, NULL},
    {"delete services", API_DELETE, &kind_service, "", API_PATCH_MERGE, NULL},
    {"delete events", API_DELETE, &kind_event, "", API_PATCH_MERGE, NULL},
};

struct one {
    struct api_request request;
    struct raw *raw;
    char name[32];
};

static void send_more(struct raw *r);

static void die(const struct raw *r, const char *name, const struct api_reply *reply)
{
    (void)fprintf(stderr, "bench-raw: %s %s: %d %.*s\n", r->step ? r->step->name : "get", name,
                  reply->code, STR_ARG(reply->status ? reply->status->message : STR_NONE));
    exit(1);
}

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct one *o = container_of(q, struct one, request);
    struct raw *r = o->raw;
    if (reply->code >= 300 || reply->code < 200)
        die(r, o->name, reply);
    doc_unref(q->body);
    free(o);
    r->done++;
    if (r->done == r->args->count)
        loop_stop(r->loop, 0);
    else
        send_more(r);
}

static struct doc *body_of(const struct raw *r, const char *name)
{
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(16384);
    struct err err = ERR_INIT;
    if (!r->step->body)
        return NULL;
    for (str rest = str_of(r->step->body); rest.len;) {
        if (str_starts(rest, STR("{name}")))
            strbuf_add_cstr(&text, name);
        else if (str_starts(rest, STR("{owner}")))
            strbuf_add_str(&text, r->owner);
        else
            strbuf_add_str(&text, str_sub(rest, 0, 1));
        bool is_word = str_starts(rest, STR("{name}")) || str_starts(rest, STR("{owner}"));
        rest = str_sub(rest, is_word ? (size_t)str_find(rest, STR("}")) + 1 : 1, SIZE_MAX);
    }
    struct doc *d = doc_parse(strbuf_str(&text), NULL, &err);
    if (!d)
        BUG("a body that is not JSON");
    return d;
}

static void send_more(struct raw *r)
{
    const struct step *s = r->step;
    while (r->sent < r->args->count && r->sent - r->done < r->args->in_flight) {
        struct one *o = xnew(struct one);
        o->raw = r;
        (void)snprintf(o->name, sizeof(o->name), "raw-%lld", (long long)r->sent++);
        o->request = (struct api_request){.verb = s->verb,
                                          .kind = s->kind,
                                          .ns = r->args->ns,
                                          .name = str_of(o->name),
                                          .subresource = str_of(s->subresource),
                                          .body = body_of(r, o->name),
                                          .patch = s->patch,
                                          .force = s->patch == API_PATCH_APPLY,
                                          .field_manager = STR("bench-raw"),
                                          .grace_seconds = s->kind == &kind_pod ? 0 : -1,
                                          .propagation = API_BACKGROUND,
                                          .done = on_done};
        api_send(r->api, &o->request);
    }
}

struct lookup {
    struct api_request request;
    struct raw *raw;
    struct arena *arena;
};

static void on_owner(struct api_request *q, const struct api_reply *reply)
{
    struct lookup *l = container_of(q, struct lookup, request);
    if (reply->code != 200 || !reply->obj)
        die(l->raw, "default", reply);
    l->raw->owner = arena_str(l->arena, reply->obj->uid);
    loop_stop(l->raw->loop, 0);
}

static void find_owner(struct raw *r, struct arena *a)
{
    struct lookup l = {.raw = r, .arena = a};
    l.request = (struct api_request){.verb = API_GET,
                                     .kind = &kind_service_account,
                                     .ns = r->args->ns,
                                     .name = STR("default"),
                                     .done = on_owner};
    api_send(r->api, &l.request);
    (void)loop_run(r->loop);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_raw(void *ctx, const void *opts, const struct command_call *call)
{
    struct raw r = {.args = opts, .loop = loop_new_real(NULL)};
    struct arena a = ARENA_INIT;
    struct kubeconfig config;
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    kinds_init();
    grove_kinds_init();
    if (kubeconfig_load(NULL, NULL, &a, &config, &err) ||
        !(r.api = api_remote_open(r.loop, &config,
                                  &(struct remote_options){.patient = true, .timeout = TIMEOUT},
                                  &err))) {
        (void)fprintf(stderr, "bench-raw: %s\n", err.message);
        return 1;
    }
    find_owner(&r, &a);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        double begin = now();
        r.step = &steps[i];
        r.sent = r.done = 0;
        send_more(&r);
        (void)loop_run(r.loop);
        printf("{\"step\": \"%s\", \"seconds\": %.3f}\n", steps[i].name, now() - begin);
        (void)fflush(stdout);
    }
    api_free(r.api);
    loop_free(r.loop);
    arena_done(&a);
    return 0;
}

static const struct opt raw_opts[] = {
    OPT_INT(struct args, count, 0, "count", "N", 1, 100000, "1000", "How many of each"),
    OPT_INT(struct args, in_flight, 0, "in-flight", "N", 1, 1000, "64", "Requests at a time"),
    OPT_STRING_DEF(struct args, ns, 0, "namespace", "NAME", "raw", "Where"),
    OPT_END,
};

static const struct command cmd_raw = {
    .name = "bench-raw",
    .summary = "The ceiling of an API server for writes",
    .opts = raw_opts,
    .opts_size = sizeof(struct args),
    .run = run_raw,
};

int main(int argc, char **argv)
{
    return command_main(&cmd_raw, argc, argv, NULL);
}
