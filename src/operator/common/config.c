/* See config.h. The tables are those of kinds: unknown fields, types, choices, bounds and defaults
 * are found by the same code that serves objects. */
#include "operator/common/config.h"

#include "base/file.h"
#include "kube/schema.h"
#include "json/yaml.h"

enum { CONFIG_MAX = 1 << 20 };

/* ---- tables ---- */

#define ONE(n, t, ...)                              \
    {                                               \
        .name = (n), .type = &type_##t, __VA_ARGS__ \
    }
#define DEFAULT(text) .dflt = (text)
#define PORT .min = 0, .max = 65535
#define OBJECT(id, shown)                                        \
    static const struct type type_##id = {.name = (shown),       \
                                          .tag = TYPE_OBJECT,    \
                                          .fields = id##_fields, \
                                          .n_fields = ARRAY_LEN(id##_fields)}
/* Present even when the file does not name it, so that what is inside has its defaults. */
#define ALWAYS DEFAULT("{}")

static const struct field connection_fields[] = {
    ONE("qps", double),
    ONE("burst", int32, .min = 0, .max = INT32_MAX),
    ONE("contentType", string),
    ONE("acceptContentTypes", string),
};
OBJECT(connection, "ClientConnectionConfiguration");

static const struct field election_fields[] = {
    ONE("enabled", bool, DEFAULT("false")),
    ONE("leaseDuration", duration, DEFAULT("\"15s\"")),
    ONE("renewDeadline", duration, DEFAULT("\"10s\"")),
    ONE("retryPeriod", duration, DEFAULT("\"2s\"")),
    ONE("resourceLock", string, DEFAULT("\"leases\""), .enums = "leases"),
    ONE("resourceName", string, DEFAULT("\"grove-operator-leader-election\"")),
    ONE("resourceNamespace", string, DEFAULT("\"\"")),
};
OBJECT(election, "LeaderElectionConfiguration");

static const struct field webhooks_fields[] = {
    ONE("bindAddress", string, DEFAULT("\"\"")),
    ONE("port", int32, DEFAULT("2750"), PORT),
    ONE("serverCertDir", string, DEFAULT("\"/etc/grove-operator/webhook-certs\"")),
    ONE("secretName", string, DEFAULT("\"grove-webhook-server-cert\"")),
    ONE("certProvisionMode", string, DEFAULT("\"auto\""), .enums = "auto|manual"),
};
OBJECT(webhooks, "WebhookServer");

static const struct field health_fields[] = {
    ONE("bindAddress", string, DEFAULT("\"\"")),
    ONE("port", int32, DEFAULT("2751"), PORT),
};
OBJECT(health, "HealthServer");

static const struct field metrics_fields[] = {
    ONE("bindAddress", string, DEFAULT("\"\"")),
    ONE("port", int32, DEFAULT("2752"), PORT),
};
OBJECT(metrics, "MetricsServer");

static const struct field server_fields[] = {
    ONE("webhooks", webhooks, ALWAYS),
    ONE("healthProbes", health, ALWAYS),
    ONE("metrics", metrics, ALWAYS),
};
OBJECT(server, "ServerConfiguration");

static const struct field debugging_fields[] = {
    ONE("enableProfiling", bool),
    ONE("pprofBindHost", string),
    ONE("pprofBindPort", int32, PORT),
};
OBJECT(debugging, "DebuggingConfiguration");

static const struct field syncs_fields[] = {
    ONE("concurrentSyncs", int32, .min = 1, .max = INT32_MAX),
};
OBJECT(syncs, "ControllerConfiguration");

static const struct field controllers_fields[] = {
    ONE("podCliqueSet", syncs),
    ONE("podClique", syncs),
    ONE("podCliqueScalingGroup", syncs),
    ONE("podGang", syncs),
};
OBJECT(controllers, "ControllersConfiguration");

static const struct field authorizer_fields[] = {
    ONE("enabled", bool, DEFAULT("false")),
    ONE("exemptServiceAccountUserNames", string, .shape = FIELD_LIST),
};
OBJECT(authorizer, "AuthorizerConfig");

static const struct field topology_fields[] = {
    ONE("enabled", bool, DEFAULT("false")),
};
OBJECT(topology, "TopologyAwareSchedulingConfiguration");

static const struct field network_fields[] = {
    ONE("autoMNNVLEnabled", bool, DEFAULT("false")),
};
OBJECT(network, "NetworkAcceleration");

static const struct field profile_fields[] = {
    ONE("name", string, .flags = FIELD_REQUIRED),
    ONE("config", raw),
};
OBJECT(profile, "SchedulerProfile");

static const struct field scheduler_fields[] = {
    ONE("profiles", profile, .shape = FIELD_LIST),
    ONE("defaultProfileName", string),
};
OBJECT(scheduler, "SchedulerConfiguration");

static const struct field config_fields[] = {
    ONE("apiVersion", string, .enums = "operator.config.grove.io/v1alpha1"),
    ONE("kind", string, .enums = "OperatorConfiguration"),
    ONE("runtimeClientConnection", connection),
    ONE("leaderElection", election, ALWAYS),
    ONE("server", server, ALWAYS),
    ONE("debugging", debugging),
    ONE("controllers", controllers),
    ONE("logLevel", string, DEFAULT("\"info\""), .enums = "debug|info|error"),
    ONE("logFormat", string, DEFAULT("\"json\""), .enums = "json|text"),
    ONE("authorizer", authorizer, ALWAYS),
    ONE("topologyAwareScheduling", topology, ALWAYS),
    ONE("network", network, ALWAYS),
    ONE("scheduler", scheduler, ALWAYS),
    ONE("defaultUpdateStrategy", string, .enums = "RollingRecreate|OnDelete|Coherent"),
};
OBJECT(config, "OperatorConfiguration");

/* ---- reading ---- */

struct reader {
    struct operator_config *c;
    struct field_errors errors;
    jval root;
};

static void on_unknown(void *ctx, const char *what, str path)
{
    struct reader *r = ctx;
    field_error_add(&r->errors, FIELD_ERR_FORBIDDEN, path, STR_NONE, "%s", what);
}

static str text_at(struct reader *r, const char *path)
{
    return arena_str(&r->c->arena, jstr(jpath(r->root, path)));
}

static bool flag_at(const struct reader *r, const char *path)
{
    return jbool(jpath(r->root, path), false);
}

static struct config_endpoint endpoint_at(struct reader *r, const char *at)
{
    jval v = jpath(r->root, at);
    return (struct config_endpoint){.address =
                                        arena_str(&r->c->arena, jstr(jgetc(v, "bindAddress"))),
                                    .port = (int)jint(jgetc(v, "port"), 0)};
}

/* ---- leader election ---- */

static usec duration_at(struct reader *r, const char *path)
{
    usec d = 0;
    if (!duration_parse_usec(jstr(jpath(r->root, path)), &d) || d <= 0)
        field_error_add(&r->errors, FIELD_ERR_INVALID, str_of(path), jtext(jpath(r->root, path)),
                        "must be a duration greater than zero");
    return d;
}

static void read_election(struct reader *r)
{
    struct operator_config *c = r->c;
    c->election.enabled = flag_at(r, "leaderElection.enabled");
    c->election.name = text_at(r, "leaderElection.resourceName");
    c->election.ns = text_at(r, "leaderElection.resourceNamespace");
    if (!c->election.enabled)
        return;
    c->election.duration = duration_at(r, "leaderElection.leaseDuration");
    c->election.renew = duration_at(r, "leaderElection.renewDeadline");
    c->election.retry = duration_at(r, "leaderElection.retryPeriod");
    if (c->election.duration <= c->election.renew)
        field_error_add(&r->errors, FIELD_ERR_INVALID, STR("leaderElection.leaseDuration"),
                        jtext(jpath(r->root, "leaderElection.leaseDuration")),
                        "must be greater than renewDeadline");
    if (c->election.renew <= c->election.retry)
        field_error_add(&r->errors, FIELD_ERR_INVALID, STR("leaderElection.renewDeadline"),
                        jtext(jpath(r->root, "leaderElection.renewDeadline")),
                        "must be greater than retryPeriod");
    if (str_is_empty(c->election.name))
        field_error_add(&r->errors, FIELD_ERR_REQUIRED, STR("leaderElection.resourceName"),
                        STR_NONE, "names the Lease");
}

/* ---- schedulers ---- */

static void read_profiles(struct reader *r)
{
    for (struct jiter it = jiter(jpath(r->root, "scheduler.profiles")); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        const struct backend *b = backend_find(jstr(name));
        str at = arena_printf(&r->c->arena, "scheduler.profiles[%zu].name", it.index);
        if (!b) {
            field_error_add(&r->errors, FIELD_ERR_NOT_SUPPORTED, at, jtext(name),
                            "supported values: \"default-scheduler\", \"grove-scheduler\", "
                            "\"kai-scheduler\", \"volcano\", \"lpx-scheduler\"");
            continue;
        }
        unsigned bit = 1u << (b - backends);
        if (r->c->backends & bit)
            field_error_add(&r->errors, FIELD_ERR_DUPLICATE, at, jtext(name), " ");
        r->c->backends |= bit;
    }
}

static void read_schedulers(struct reader *r)
{
    struct operator_config *c = r->c;
    jval dflt = jpath(r->root, "scheduler.defaultProfileName");
    size_t n = 0;
    read_profiles(r);
    bool none = c->backends == 0;
    c->backends |= 1u << BACKEND_DEFAULT;
    c->backend = &backends[BACKEND_DEFAULT];
    if (!none && !str_is_empty(jstr(dflt)))
        c->backend = backend_find(jstr(dflt));
    if (!c->backend || !(c->backends & 1u << (c->backend - backends))) {
        field_error_add(&r->errors, FIELD_ERR_INVALID, STR("scheduler.defaultProfileName"),
                        jtext(dflt), "must be the name of one of the profiles");
        c->backend = &backends[BACKEND_DEFAULT];
    }
    c->schedulers[n++] = c->backend->name;
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (c->backends & 1u << i && &backends[i] != c->backend)
            c->schedulers[n++] = backends[i].name;
    }
    c->schedulers[n] = NULL;
}

/* ---- the rest ---- */

static void read_server(struct reader *r)
{
    struct operator_config *c = r->c;
    c->webhooks = endpoint_at(r, "server.webhooks");
    c->health = endpoint_at(r, "server.healthProbes");
    c->metrics = endpoint_at(r, "server.metrics");
    c->cert_dir = text_at(r, "server.webhooks.serverCertDir");
    c->cert_secret = text_at(r, "server.webhooks.secretName");
    c->own_certs = str_is(jstr(jpath(r->root, "server.webhooks.certProvisionMode")), "auto");
}

static void read_authorizer(struct reader *r)
{
    jval users = jpath(r->root, "authorizer.exemptServiceAccountUserNames");
    r->c->authorizer = flag_at(r, "authorizer.enabled");
    r->c->exempt = arena_array(&r->c->arena, str, jlen(users) + 1);
    for (struct jiter it = jiter(users); jnext(&it);)
        r->c->exempt[r->c->n_exempt++] = arena_str(&r->c->arena, jstr(it.value));
}

/* What other operators need and this one does not. */
static void warn_unused(struct reader *r)
{
    static const struct {
        const char *path, *why;
    } unused[] = {
        {"runtimeClientConnection", "writes adapt to what the API server takes"},
        {"controllers", "a key waits for nothing but itself, however many there are"},
        {"debugging", "there is no profiling server; /metrics has the figures"},
    };
    for (size_t i = 0; i < ARRAY_LEN(unused); i++) {
        if (j_has(jpath(r->root, unused[i].path)))
            *vec_push(&r->c->warnings) =
                arena_printf(&r->c->arena, "%s has no effect: %s", unused[i].path, unused[i].why);
    }
    for (struct jiter it = jiter(jpath(r->root, "scheduler.profiles")); jnext(&it);) {
        if (j_has(jgetc(it.value, "config")))
            *vec_push(&r->c->warnings) = arena_printf(
                &r->c->arena, "scheduler.profiles[%zu].config has no effect", it.index);
    }
}

static void read_all(struct reader *r)
{
    struct operator_config *c = r->c;
    read_election(r);
    read_server(r);
    read_schedulers(r);
    read_authorizer(r);
    (void)log_level_parse(jstr(jgetc(r->root, "logLevel")), &c->log_level);
    c->log_json = str_is(jstr(jgetc(r->root, "logFormat")), "json");
    c->topology = flag_at(r, "topologyAwareScheduling.enabled");
    c->mnnvl = flag_at(r, "network.autoMNNVLEnabled");
    c->strategy = text_at(r, "defaultUpdateStrategy");
    warn_unused(r);
}

static struct doc *parse_text(str text, struct err *err)
{
    doc_vec docs = {0};
    struct doc *d = NULL;
    if (yaml_parse(text, &docs, err))
        return NULL;
    if (docs.len > 1)
        (void)err_set(err, ERR_INVALID, "one document is expected, there are %zu", docs.len);
    else
        d = docs.len ? doc_ref(docs.p[0]) : yaml_parse_one(STR("{}"), err);
    doc_vec_done(&docs);
    return d;
}

/* Defaults are filled in inside what is there; an object that is there by default is filled by the
 * next pass. */
static struct doc *with_defaults(struct doc *d)
{
    struct doc *last = doc_ref(d), *next;
    while ((next = schema_default(&type_config, last)) != last) {
        doc_unref(last);
        last = next;
    }
    doc_unref(next);
    return last;
}

int config_parse(str text, struct operator_config *ret, struct err *err)
{
    *ret = (struct operator_config){.arena = ARENA_INIT};
    struct doc *given = parse_text(text, err);
    if (!given)
        return err->code;
    struct reader r = {.c = ret};
    int code = 0;
    field_errors_init(&r.errors, &ret->arena);
    schema_unknown(&type_config, doc_root(given), on_unknown, &r);
    schema_validate(&type_config, doc_root(given), STR(""), &r.errors);
    struct doc *full = r.errors.items.len ? NULL : with_defaults(given);
    if (full) {
        r.root = doc_root(full);
        read_all(&r);
    }
    if (r.errors.items.len) {
        str why = field_errors_text(&ret->arena, &r.errors);
        code = err_set(err, ERR_INVALID, "%.*s", STR_ARG(why));
    }
    field_errors_done(&r.errors);
    doc_unref(full);
    doc_unref(given);
    if (code)
        config_done(ret);
    return code;
}

int config_load(const char *file, struct operator_config *ret, struct err *err)
{
    struct strbuf text = STRBUF_INIT(CONFIG_MAX);
    int r = file_read(file, &text, err);
    if (r == 0)
        r = config_parse(strbuf_str(&text), ret, err);
    if (r)
        (void)err_wrap(err, "%s", file);
    strbuf_done(&text);
    return r;
}

void config_done(struct operator_config *c)
{
    vec_done(&c->warnings);
    arena_done(&c->arena);
    *c = (struct operator_config){.arena = ARENA_INIT};
}
