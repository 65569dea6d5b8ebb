/*
 * The ceiling: how fast an API server takes writes from one client that has nothing to think about.
 * What a controller needs for the same number of writes is measured against it.
 *
 *   bench-raw [--pods 1000] [--in-flight 64] [--namespace raw]
 *
 * Creates that many gated pods, lifts their gates, writes their status and deletes them, each step
 * when the one before is done, and prints one JSON line of seconds for each. The server is that of
 * KUBECONFIG; the namespace must exist.
 */
#include <stdio.h>
#include <time.h>

#include "base/opt.h"
#include "client/kubeconfig.h"
#include "client/remote.h"
#include "kube/kinds.h"
#include "json/write.h"

struct args {
    str ns;
    int64_t pods, in_flight;
};

struct raw {
    const struct args *args;
    struct loop *loop;
    struct api *api;
    const struct step *step;
    int64_t sent, done;
};

struct step {
    const char *name;
    enum api_verb verb;
    const char *subresource, *body; /* body: with the pod's name in the place of %s */
};

static const struct step steps[] = {
    {"create", API_CREATE, "",
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
     "\"schedulingGates\":[{\"name\":\"bench.grove.io/raw\"}],"
     "\"containers\":[{\"name\":\"main\",\"image\":\"busybox\"}]}}"},
    {"ungate", API_PATCH, "",
     "{\"metadata\":{\"labels\":{\"name\":\"%s\"}},"
     "\"spec\":{\"schedulingGates\":null}}"},
    {"status", API_PATCH, "status", "{\"status\":{\"message\":\"%s\"}}"},
    {"delete", API_DELETE, "", NULL},
};

struct one {
    struct api_request request;
    struct raw *raw;
    char name[32];
};

static void send_more(struct raw *r);

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct one *o = container_of(q, struct one, request);
    struct raw *r = o->raw;
    if (reply->code >= 300) {
        (void)fprintf(stderr, "bench-raw: %s %s: %d %.*s\n", r->step->name, o->name, reply->code,
                      STR_ARG(reply->status ? reply->status->message : STR_NONE));
        exit(1);
    }
    doc_unref(q->body);
    free(o);
    r->done++;
    if (r->done == r->args->pods)
        loop_stop(r->loop, 0);
    else
        send_more(r);
}

static struct doc *body_of(const struct step *s, const char *name)
{
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(4096);
    struct err err = ERR_INIT;
    if (!s->body)
        return NULL;
    str rest = str_of(s->body);
    ptrdiff_t at = str_find(rest, STR("%s"));
    strbuf_add_str(&text, str_sub(rest, 0, (size_t)at));
    strbuf_add_cstr(&text, name);
    strbuf_add_str(&text, str_sub(rest, (size_t)at + 2, SIZE_MAX));
    return doc_parse(strbuf_str(&text), NULL, &err);
}

static void send_more(struct raw *r)
{
    while (r->sent < r->args->pods && r->sent - r->done < r->args->in_flight) {
        struct one *o = xnew(struct one);
        o->raw = r;
        (void)snprintf(o->name, sizeof(o->name), "raw-%lld", (long long)r->sent++);
        o->request = (struct api_request){.verb = r->step->verb,
                                          .kind = &kind_pod,
                                          .ns = r->args->ns,
                                          .name = str_of(o->name),
                                          .subresource = str_of(r->step->subresource),
                                          .body = body_of(r->step, o->name),
                                          .patch = API_PATCH_MERGE,
                                          .grace_seconds = 0,
                                          .done = on_done};
        api_send(r->api, &o->request);
    }
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
    if (kubeconfig_load(NULL, NULL, &a, &config, &err) ||
        !(r.api =
              api_remote_open(r.loop, &config, &(struct remote_options){.patient = true}, &err))) {
        (void)fprintf(stderr, "bench-raw: %s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        double begin = now();
        r.step = &steps[i];
        r.sent = r.done = 0;
        send_more(&r);
        (void)loop_run(r.loop);
        printf("%s\"%s\": %.3f", i ? ", " : "{", steps[i].name, now() - begin);
    }
    printf("}\n");
    api_free(r.api);
    loop_free(r.loop);
    arena_done(&a);
    return 0;
}

static const struct opt raw_opts[] = {
    OPT_INT(struct args, pods, 0, "pods", "N", 1, 100000, "1000", "How many"),
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
