/*
 * The ceiling: how fast an API server takes writes from one client that has nothing to think about.
 * What a controller needs for the same writes is measured against it.
 *
 *   bench-raw [--count 1000 | --writes "create pods=1000,patch pods=1000,..."] [--in-flight 64]
 *             [--members] [--namespace raw]
 *
 * Writes what a deployment and its end write, that many times each, and each step when the one
 * before is done: one line of JSON for a step when it is over, so that whoever reads can look at
 * the server's clocks in between, with the bytes of the last object in it, as the server keeps it.
 * A step is named as the server's audit log names such a request.
 * One that writes more often than there are objects of its kind begins with the first again, with
 * other content; pods are deleted twice where so many deletes are asked for, as their owner and
 * their node do. What is left in the end is deleted, and that is not told. The server is that of
 * KUBECONFIG; the namespace and its default ServiceAccount must exist.
 *
 * Objects are as large as those of a deployment, whoever watches their kind hears of them, and a
 * cluster's own controllers have as much to do with them: as many pods belong to a Service, and to
 * a budget. But ours have no business with them: their owner is no set and no clique, and pods are
 * bound to a node that is not there.
 */
#include <stdio.h>
#include <time.h>

#include "base/opt.h"
#include "client/kubeconfig.h"
#include "client/remote.h"
#include "grove/types.h"
#include "kube/tables/kinds.h"
#include "json/write.h"

/* On a machine that has much else to do nothing is answered soon. */
#define TIMEOUT (5 * USEC_PER_MIN)

struct args {
    str ns, writes;
    int64_t count, in_flight;
    bool members;
};

struct raw {
    const struct args *args;
    struct loop *loop;
    struct api *api;
    str owner; /* UID of the ServiceAccount */
    const struct step *step;
    int64_t objects; /* of the step's kind, there */
    int64_t sent, done, count;
    size_t bytes; /* of the last object */
};

struct step {
    const char *name;
    enum api_verb verb;
    const struct kind *kind;
    const char *subresource;
    enum api_patch_type patch;
    const char *body; /* with words to be filled in, {name} for one */
};

/* What members of scaling groups have more than others. */
#define MEMBER_LABELS                                                \
    ",\"bench.grove.io/podcliquescalinggroup\":\"raw-0-group\""      \
    ",\"bench.grove.io/podcliquescalinggroup-replica-index\":\"12\"" \
    ",\"bench.grove.io/base\":\"raw-0\""
#define GROUP_LABEL "metadata.labels['bench.grove.io/podcliquescalinggroup"
#define MEMBER_ENV                                        \
    "," ENV_FIELD("PCSG_NAME", GROUP_LABEL "']") "," ENV( \
        "PCSG_TEMPLATE_NUM_PODS", "4") "," ENV_FIELD("PCSG_INDEX", GROUP_LABEL "-replica-index']")

#define META "\"metadata\":{\"name\":\"{name}\"}"
#define LABELS                                                                                   \
    "\"labels\":{\"app.kubernetes.io/managed-by\":\"bench-raw\",\"app.kubernetes.io/part-of\":"  \
    "\"raw\",\"app.kubernetes.io/name\":\"{name}\",\"app.kubernetes.io/component\":\"bench\","   \
    "\"grove.io/podcliqueset\":\"raw\",\"grove.io/podcliqueset-replica-index\":\"0\","           \
    "\"bench.grove.io/hash\":\"56f4fcb54c467bb99bdb\",\"bench.grove.io/service\":\"{service}\"," \
    "\"bench.grove.io/budget\":\"{budget}\",\"bench.grove.io/role\":\"a\","                      \
    "\"bench.grove.io/podgang\":\"{name}\"{labels}}"
#define SELECT(what)                                                      \
    "\"app.kubernetes.io/managed-by\":\"bench-raw\",\"app.kubernetes.io/" \
    "part-of\":\"raw\",\"bench.grove.io/" what "\":\"{" what "}\""
#define OWNER                                                                           \
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"name\":" \
    "\"default\",\"uid\":\"{owner}\",\"controller\":true,\"blockOwnerDeletion\":true}]"
#define OWN_META "\"metadata\":{\"name\":\"{name}\"," LABELS "," OWNER "}"
#define CONDITION(type)                                                                     \
    "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"WrittenByBench\",\"message\":" \
    "\"as it is wanted, {n}\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define POD_CONDITION(type)                       \
    "{\"type\":\"" type "\",\"status\":\"True\"," \
    "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define POD_CONDITIONS                                                               \
    "\"conditions\":[" POD_CONDITION("PodReadyToStartContainers") "," POD_CONDITION( \
        "Initialized") "," POD_CONDITION("ContainersReady") "," POD_CONDITION("Ready") "]"
#define CONTAINER_STATUSES                                                                        \
    "\"containerStatuses\":[{\"name\":\"main\",\"image\":\"busybox\",\"imageID\":\"raw\","        \
    "\"ready\":"                                                                                  \
    "true,\"restartCount\":{n},\"started\":true,\"state\":{\"running\":{\"startedAt\":\"2026-01-" \
    "01T00:00:00Z\"}}}]"
#define ENV(name, value) "{\"name\":\"GROVE_" name "\",\"value\":\"" value "\"}"
#define ENV_FIELD(name, path) \
    "{\"name\":\"GROVE_" name "\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"" path "\"}}}"
#define SERVICE_NAME ENV("HEADLESS_SERVICE", "raw-0.raw.svc.cluster.local")
#define POD_INDEX ENV_FIELD("PCLQ_POD_INDEX", "metadata.labels['bench.grove.io/service']")
/* A clique's template has what does not differ between its pods. */
#define CLIQUE_SPEC                                                                             \
    "\"tolerations\":[{\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"main\",\"image\":" \
    "\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"10m\"}},\"env\":[" SERVICE_NAME "{env}]}]"
#define POD_SPEC                                                                                \
    "\"tolerations\":[{\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"main\",\"image\":" \
    "\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"10m\"}},\"env\":[" SERVICE_NAME         \
    "," POD_INDEX                                                                               \
    "," ENV("PCS_NAME", "raw") "," ENV("PCS_INDEX", "0") "," ENV("PCLQ_NAME", "{name}") "{env}]}]"
#define GROUPS                                                                              \
    "\"podgroups\":[{\"name\":\"{name}\",\"minReplicas\":{n},\"podReferences\":[{\"name\":" \
    "\"{name}-hll7t\",\"namespace\":\"raw\"},{\"name\":\"{name}-dr42k\",\"namespace\":\"raw\"}]}]"

static const struct step steps[] = {
    {"create services", API_CREATE, &kind_service, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\"," OWN_META
     ",\"spec\":{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":true,\"selector\":{" SELECT(
         "service") "}}}"},
    {"create podcliques", API_CREATE, &kind_pclq, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodClique\"," OWN_META
     ",\"spec\":{\"roleName\":\"a\",\"replicas\":2,\"minAvailable\":1,\"podSpec\":{" CLIQUE_SPEC
     "}}}"},
    {"create podgangs", API_CREATE, &kind_pod_gang, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"scheduler.grove.io/v1alpha1\",\"kind\":\"PodGang\"," OWN_META
     ",\"spec\":{" GROUPS "}}"},
    {"create pods", API_CREATE, &kind_pod, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," OWN_META
     ",\"spec\":{\"schedulerName\":\"bench-raw\",\"hostname\":\"{name}\",\"subdomain\":\"raw\","
     "\"schedulingGates\":[{\"name\":\"bench.grove.io/raw\"}]," POD_SPEC "}}"},
    {"create events", API_CREATE, &kind_event, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Event\"," META ",\"involvedObject\":{\"apiVersion\":\"v1\","
     "\"kind\":\"Pod\",\"namespace\":\"raw\",\"name\":\"{name}\",\"uid\":\"{owner}\"},"
     "\"reason\":"
     "\"PodCreateSuccessful\",\"message\":\"created pod {name} and 1 more: 0 of 2 existed\","
     "\"type\":\"Normal\",\"count\":1,\"source\":{\"component\":\"bench-raw\"},"
     "\"firstTimestamp\":"
     "\"2026-01-01T00:00:00Z\",\"lastTimestamp\":\"2026-01-01T00:00:00Z\"}"},
    {"patch podgangs", API_PATCH, &kind_pod_gang, "", API_PATCH_MERGE, "{\"spec\":{" GROUPS "}}"},
    {"patch podgangs/status", API_PATCH, &kind_pod_gang, "status", API_PATCH_APPLY,
     "{\"apiVersion\":\"scheduler.grove.io/v1alpha1\",\"kind\":\"PodGang\"," META
     ",\"status\":{\"phase\":\"Pending\",\"conditions\":[" CONDITION("Initialized") "," CONDITION(
         "Scheduled") "," CONDITION("Ready") "," CONDITION("Available") "," CONDITION("Unhealth"
                                                                                      "y") "]}"
                                                                                           "}"},
    {"patch podcliques/status", API_PATCH, &kind_pclq, "status", API_PATCH_MERGE,
     "{\"status\":{\"replicas\":2,\"readyReplicas\":2,\"scheduledReplicas\":2,"
     "\"updatedReplicas\":"
     "2,\"observedGeneration\":1,\"currentPodTemplateHash\":\"56f4fcb54c467bb99bdb\","
     "\"hpaPodSelector\":\"grove.io/podclique={name}\",\"conditions\":[" CONDITION(
         "PodCliqueScheduled") "," CONDITION("MinAvailableBreached") "," CONDITION("EverSchedul"
                                                                                   "ed") "]}}"},
    {"patch pods", API_PATCH, &kind_pod, "", API_PATCH_MERGE,
     "{\"spec\":{\"schedulingGates\":null}}"},
    {"create pods/binding", API_CREATE, &kind_pod, "binding", API_PATCH_MERGE,
     "{\"apiVersion\":\"v1\",\"kind\":\"Binding\"," META
     ",\"target\":{\"kind\":\"Node\",\"name\":\"bench-raw\"}}"},
    {"patch pods/status", API_PATCH, &kind_pod, "status", API_PATCH_APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," META
     ",\"status\":{\"phase\":\"Running\",\"podIP\":\"{ip}\",\"podIPs\":[{\"ip\":\"{ip}\"}],"
     "\"hostIP\":\"10.0.0.1\",\"startTime\":\"2026-01-01T00:00:00Z\"," POD_CONDITIONS
     "," CONTAINER_STATUSES "}}"},
    {"create poddisruptionbudgets", API_CREATE, &kind_pdb, "", API_PATCH_MERGE,
     "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\"," OWN_META
     ",\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{" SELECT(
         "budget") "}},\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"}}"},
    {"delete pods", API_DELETE, &kind_pod, "", API_PATCH_MERGE, NULL},
    {"delete podcliques", API_DELETE, &kind_pclq, "", API_PATCH_MERGE, NULL},
    {"delete podgangs", API_DELETE, &kind_pod_gang, "", API_PATCH_MERGE, NULL},
    {"delete poddisruptionbudgets", API_DELETE, &kind_pdb, "", API_PATCH_MERGE, NULL},
    {"delete services", API_DELETE, &kind_service, "", API_PATCH_MERGE, NULL},
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
    /* A cluster takes pods away whose node is not there, when they have been so for a while. */
    bool gone = reply->code == 404 && q->verb == API_DELETE && q->kind == &kind_pod;
    if ((reply->code >= 300 || reply->code < 200) && !gone)
        die(r, o->name, reply);
    if (reply->obj)
        r->bytes = doc_text(reply->obj->doc).len;
    doc_unref(q->body);
    free(o);
    r->done++;
    if (r->done == r->count)
        loop_stop(r->loop, 0);
    else
        send_more(r);
}

/* How often a step is asked for. */
static int64_t asked(const struct args *args, const char *step);

/* The object's number among those of this kind, where there are fewer. */
static long long number_among(const struct raw *r, const char *create)
{
    return r->sent % MAX(r->objects, 1) % MAX(asked(r->args, create), 1);
}

/* A word of a body: what stands for it goes into the text. Its length; 0: none begins here. */
static size_t fill_in(const struct raw *r, const char *name, str rest, struct strbuf *text)
{
    long long number = r->sent % MAX(r->objects, 1);
    if (str_starts(rest, STR("{name}")))
        strbuf_add_cstr(text, name);
    else if (str_starts(rest, STR("{owner}")))
        strbuf_add_str(text, r->owner);
    else if (str_starts(rest, STR("{n}")))
        strbuf_printf(text, "%lld", (long long)(r->sent / MAX(r->objects, 1) + 1));
    else if (str_starts(rest, STR("{labels}")))
        strbuf_add_cstr(text, r->args->members ? MEMBER_LABELS : "");
    else if (str_starts(rest, STR("{env}")))
        strbuf_add_cstr(text, r->args->members ? MEMBER_ENV : "");
    else if (str_starts(rest, STR("{ip}")))
        strbuf_printf(text, "10.128.%lld.%lld", number / 250 % 250, number % 250 + 1);
    else if (str_starts(rest, STR("{service}")))
        strbuf_printf(text, "%lld", number_among(r, "create services"));
    else if (str_starts(rest, STR("{budget}")))
        strbuf_printf(text, "%lld", number_among(r, "create poddisruptionbudgets"));
    else
        return 0;
    return (size_t)str_find(rest, STR("}")) + 1;
}

static struct doc *body_of(const struct raw *r, const char *name)
{
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(16384);
    struct err err = ERR_INIT;
    if (!r->step->body)
        return NULL;
    for (str rest = str_of(r->step->body); rest.len;) {
        size_t word = fill_in(r, name, rest, &text);
        if (!word)
            strbuf_add_str(&text, str_sub(rest, 0, 1));
        rest = str_sub(rest, MAX(word, 1), SIZE_MAX);
    }
    struct doc *d = doc_parse(strbuf_str(&text), NULL, &err);
    if (!d)
        BUG("a body that is not JSON");
    return d;
}

/* Pods that are deleted twice go the second time. */
static int64_t grace_of(const struct raw *r)
{
    if (r->step->kind != &kind_pod)
        return -1;
    return r->sent < r->count - r->objects ? 30 : 0;
}

static void send_more(struct raw *r)
{
    const struct step *s = r->step;
    while (r->sent < r->count && r->sent - r->done < r->args->in_flight) {
        struct one *o = xnew(struct one);
        o->raw = r;
        (void)snprintf(o->name, sizeof(o->name), "raw-%lld",
                       (long long)(r->sent % MAX(r->objects, 1)));
        o->request = (struct api_request){.verb = s->verb,
                                          .kind = s->kind,
                                          .ns = r->args->ns,
                                          .name = str_of(o->name),
                                          .subresource = str_of(s->subresource),
                                          .body = body_of(r, o->name),
                                          .patch = s->patch,
                                          .force = s->patch == API_PATCH_APPLY,
                                          .field_manager = STR("bench-raw"),
                                          .field_validation = API_VALIDATE_IGNORE,
                                          .grace_seconds = grace_of(r),
                                          .propagation = API_BACKGROUND,
                                          .done = on_done};
        r->sent++;
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

static int64_t asked(const struct args *args, const char *step)
{
    str rest = args->writes;
    int64_t n;
    if (!rest.len)
        return args->count;
    while (rest.len) {
        str word = str_cut(&rest, ','), name = str_cut(&word, '=');
        if (str_is(name, step))
            return str_to_int(word, &n) && n > 0 ? n : 0;
    }
    return 0;
}

static void run_step(struct raw *r, const struct step *s)
{
    char create[64];
    (void)snprintf(create, sizeof(create), "create %s", s->kind->plural);
    r->step = s;
    r->sent = r->done = 0;
    r->bytes = 0;
    r->objects = asked(r->args, create);
    r->count = asked(r->args, s->name);
    if (!*s->subresource && s->verb == API_DELETE)
        r->count = MIN(r->count, r->objects * (s->kind == &kind_pod ? 2 : 1));
    if (!r->count || !r->objects)
        return;
    double begin = now();
    send_more(r);
    (void)loop_run(r->loop);
    printf("{\"step\": \"%s\", \"count\": %lld, \"seconds\": %.3f, \"bytes\": %zu}\n", s->name,
           (long long)r->count, now() - begin, r->bytes);
    (void)fflush(stdout);
}

static void on_swept(struct api_request *q, const struct api_reply *reply)
{
    struct one *o = container_of(q, struct one, request);
    if (reply->code >= 300 || reply->code < 200)
        die(o->raw, "what is left", reply);
    loop_stop(o->raw->loop, 0);
}

/* All there is of the kind that was created. */
static void sweep(struct raw *r, const struct step *s)
{
    struct one o = {.raw = r};
    if (s->verb != API_CREATE || *s->subresource)
        return;
    o.request = (struct api_request){.verb = API_DELETE_COLLECTION,
                                     .kind = s->kind,
                                     .ns = r->args->ns,
                                     .grace_seconds = s->kind == &kind_pod ? 0 : -1,
                                     .propagation = API_BACKGROUND,
                                     .done = on_swept};
    api_send(r->api, &o.request);
    (void)loop_run(r->loop);
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
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        run_step(&r, &steps[i]);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        sweep(&r, &steps[i]);
    api_free(r.api);
    loop_free(r.loop);
    arena_done(&a);
    return 0;
}

static const struct opt raw_opts[] = {
    OPT_INT(struct args, count, 0, "count", "N", 1, 100000, "1000", "How many of each"),
    OPT_STRING(struct args, writes, 0, "writes", "STEP=N,...", "How many of which, instead"),
    OPT_INT(struct args, in_flight, 0, "in-flight", "N", 1, 1000, "64", "Requests at a time"),
    OPT_FLAG(struct args, members, 0, "members", "Pods and cliques as of scaling groups"),
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
