/*
 * Objects as rows: columns with a JSONPath are read from the object, the others are computed by a
 * small function each, found by kind and column name. Cells are what kubectl prints.
 */
#include "apiserver/front.h"
#include "base/map.h"
#include "json/jsonpath.h"

typedef void cell_fn(struct jw *w, const struct obj *o, usec now);

/* ---- helpers ---- */

static void put_age(struct jw *w, usec since, usec now)
{
    struct strbuf b = STRBUF_INIT(64);
    if (since == 0)
        strbuf_add_cstr(&b, "<unknown>");
    else
        time_format_age(now - since, &b);
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_or_none(struct jw *w, str s)
{
    jw_str(w, str_is_empty(s) ? STR("<none>") : s);
}

static usec time_at(jval v)
{
    usec t = 0;
    (void)time_parse_rfc3339(jstr(v), &t);
    return t;
}

/* "k=v,k2=v2", or <none>. */
static void put_map(struct jw *w, jval map)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    for (struct jiter it = jiter(map); jnext(&it);)
        strbuf_printf(&b, "%s%.*s=%.*s", b.len ? "," : "", STR_ARG(it.key),
                      STR_ARG(jstr(it.value)));
    put_or_none(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_joined(struct jw *w, jval list, const char *member)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    for (struct jiter it = jiter(list); jnext(&it);)
        strbuf_printf(&b, "%s%.*s", b.len ? "," : "",
                      STR_ARG(jstr(jget(it.value, str_of(member)))));
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

/* ---- pods ---- */

static void pod_ready(struct jw *w, const struct obj *o, usec now)
{
    size_t ready = 0, all = jlen(jgetc(obj_spec(o), "containers"));
    (void)now;
    for (struct jiter it = jiter(jgetc(obj_status(o), "containerStatuses")); jnext(&it);)
        ready += j_is_true(jgetc(it.value, "ready"));
    jw_printf(w, "%zu/%zu", ready, all);
}

/* Why a container is not running, if it says so. */
static str container_reason(jval status)
{
    str waiting = jstr(jpath(status, "state.waiting.reason"));
    return str_is_empty(waiting) ? jstr(jpath(status, "state.terminated.reason")) : waiting;
}

/* Init:1/3, or Init: and the reason, while init containers run. */
static bool init_reason(const struct obj *o, struct strbuf *b)
{
    size_t i = 0, all = jlen(jgetc(obj_spec(o), "initContainers"));
    for (struct jiter it = jiter(jgetc(obj_status(o), "initContainerStatuses")); jnext(&it); i++) {
        jval done = jpath(it.value, "state.terminated");
        if (j_has(done) && jint(jgetc(done, "exitCode"), 1) == 0)
            continue;
        str why = container_reason(it.value);
        strbuf_reset(b);
        if (!str_is_empty(why) && !str_is(why, "PodInitializing"))
            strbuf_printf(b, "Init:%.*s", STR_ARG(why));
        else
            strbuf_printf(b, "Init:%zu/%zu", i, all);
        return true;
    }
    return false;
}

static void pod_status(struct jw *w, const struct obj *o, usec now)
{
    jval status = obj_status(o);
    str reason = jstr(jgetc(status, "reason"));
    struct strbuf b = STRBUF_INIT(1024);
    (void)now;
    strbuf_add_str(&b, str_is_empty(reason) ? jstr(jgetc(status, "phase")) : reason);
    jval scheduled = condition_find(jgetc(status, "conditions"), STR("PodScheduled"));
    if (str_is(jstr(jgetc(scheduled, "reason")), "SchedulingGated")) {
        strbuf_reset(&b);
        strbuf_add_cstr(&b, "SchedulingGated");
    }
    if (!init_reason(o, &b)) {
        for (struct jiter it = jiter(jgetc(status, "containerStatuses")); jnext(&it);) {
            str why = container_reason(it.value);
            if (str_is_empty(why))
                continue;
            strbuf_reset(&b);
            strbuf_add_str(&b, why);
        }
    }
    if (o->deleting) {
        strbuf_reset(&b);
        strbuf_add_cstr(&b, str_is(reason, "NodeLost") ? "Unknown" : "Terminating");
    }
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void pod_restarts(struct jw *w, const struct obj *o, usec now)
{
    int64_t restarts = 0;
    usec last = 0;
    for (struct jiter it = jiter(jgetc(obj_status(o), "containerStatuses")); jnext(&it);) {
        restarts += jint(jgetc(it.value, "restartCount"), 0);
        last = MAX(last, time_at(jpath(it.value, "lastState.terminated.finishedAt")));
    }
    struct strbuf b = STRBUF_INIT(64);
    strbuf_add_int(&b, restarts);
    if (restarts > 0 && last > 0) {
        strbuf_add_cstr(&b, " (");
        time_format_age(now - last, &b);
        strbuf_add_cstr(&b, " ago)");
    }
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void pod_ip(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_or_none(w, jstr(jgetc(obj_status(o), "podIP")));
}

static void pod_node(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_or_none(w, jstr(jgetc(obj_spec(o), "nodeName")));
}

static void pod_nominated(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_or_none(w, jstr(jgetc(obj_status(o), "nominatedNodeName")));
}

static void pod_gates(struct jw *w, const struct obj *o, usec now)
{
    size_t all = jlen(jgetc(obj_spec(o), "readinessGates")), held = 0;
    (void)now;
    for (struct jiter it = jiter(jgetc(obj_spec(o), "readinessGates")); jnext(&it);)
        held += condition_is_true(jgetc(obj_status(o), "conditions"),
                                  jstr(jgetc(it.value, "conditionType")));
    if (all == 0)
        put_or_none(w, STR_NONE);
    else
        jw_printf(w, "%zu/%zu", held, all);
}

/* ---- nodes ---- */

static void node_status(struct jw *w, const struct obj *o, usec now)
{
    jval ready = condition_find(jgetc(obj_status(o), "conditions"), STR("Ready"));
    (void)now;
    jw_printf(w, "%s%s",
              j_is_absent(ready)                             ? "Unknown"
              : str_is(jstr(jgetc(ready, "status")), "True") ? "Ready"
                                                             : "NotReady",
              j_is_true(jgetc(obj_spec(o), "unschedulable")) ? ",SchedulingDisabled" : "");
}

static void node_roles(struct jw *w, const struct obj *o, usec now)
{
    struct strbuf b = STRBUF_INIT(4096);
    str prefix = STR("node-role.kubernetes.io/");
    (void)now;
    for (struct jiter it = jiter(o->labels); jnext(&it);) {
        if (str_starts(it.key, prefix) && it.key.len > prefix.len)
            strbuf_printf(&b, "%s%.*s", b.len ? "," : "",
                          STR_ARG(str_sub(it.key, prefix.len, it.key.len)));
    }
    put_or_none(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_address(struct jw *w, const struct obj *o, const char *type)
{
    str found = STR_NONE;
    for (struct jiter it = jiter(jgetc(obj_status(o), "addresses")); jnext(&it);) {
        if (str_is_empty(found) && str_is(jstr(jgetc(it.value, "type")), type))
            found = jstr(jgetc(it.value, "address"));
    }
    put_or_none(w, found);
}

static void node_internal_ip(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_address(w, o, "InternalIP");
}

static void node_external_ip(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_address(w, o, "ExternalIP");
}

static void put_info(struct jw *w, const struct obj *o, const char *field)
{
    str s = jstr(jget(jgetc(obj_status(o), "nodeInfo"), str_of(field)));
    jw_str(w, str_is_empty(s) ? STR("<unknown>") : s);
}

static void node_os(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_info(w, o, "osImage");
}

static void node_kernel(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_info(w, o, "kernelVersion");
}

static void node_runtime(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_info(w, o, "containerRuntimeVersion");
}

/* ---- services ---- */

static void service_ip(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_or_none(w, jstr(jgetc(obj_spec(o), "clusterIP")));
}

static void service_external_ip(struct jw *w, const struct obj *o, usec now)
{
    jval ips = jgetc(obj_spec(o), "externalIPs");
    struct strbuf b = STRBUF_INIT(4096);
    (void)now;
    for (struct jiter it = jiter(ips); jnext(&it);)
        strbuf_printf(&b, "%s%.*s", b.len ? "," : "", STR_ARG(jstr(it.value)));
    put_or_none(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void service_ports(struct jw *w, const struct obj *o, usec now)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    (void)now;
    for (struct jiter it = jiter(jgetc(obj_spec(o), "ports")); jnext(&it);) {
        int64_t node = jint(jgetc(it.value, "nodePort"), 0);
        strbuf_printf(&b, "%s%lld", b.len ? "," : "", (long long)jint(jgetc(it.value, "port"), 0));
        if (node)
            strbuf_printf(&b, ":%lld", (long long)node);
        strbuf_printf(&b, "/%.*s", STR_ARG(jstr(jgetc(it.value, "protocol"))));
    }
    put_or_none(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void service_selector(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_map(w, jgetc(obj_spec(o), "selector"));
}

/* ---- events ---- */

/* The newer form of an Event keeps its times elsewhere. */
static usec event_last(const struct obj *o)
{
    jval root = obj_root(o);
    usec t = time_at(jpath(root, "series.lastObservedTime"));
    t = t ? t : time_at(jgetc(root, "lastTimestamp"));
    t = t ? t : time_at(jgetc(root, "deprecatedLastTimestamp"));
    return t ? t : time_at(jgetc(root, "eventTime"));
}

static usec event_first(const struct obj *o)
{
    usec t = time_at(jgetc(obj_root(o), "firstTimestamp"));
    t = t ? t : time_at(jgetc(obj_root(o), "deprecatedFirstTimestamp"));
    return t ? t : time_at(jgetc(obj_root(o), "eventTime"));
}

static jval event_about(const struct obj *o)
{
    jval about = jgetc(obj_root(o), "involvedObject");
    return j_has(about) ? about : jgetc(obj_root(o), "regarding");
}

static void event_last_seen(struct jw *w, const struct obj *o, usec now)
{
    put_age(w, event_last(o), now);
}

static void event_first_seen(struct jw *w, const struct obj *o, usec now)
{
    put_age(w, event_first(o), now);
}

static void event_type(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_str(w, jstr(jgetc(obj_root(o), "type")));
}

static void event_reason(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_str(w, jstr(jgetc(obj_root(o), "reason")));
}

static void event_object(struct jw *w, const struct obj *o, usec now)
{
    jval about = event_about(o);
    str kind = jstr(jgetc(about, "kind"));
    struct strbuf b = STRBUF_INIT(1024);
    (void)now;
    for (size_t i = 0; i < kind.len; i++) {
        char c = kind.p[i];
        strbuf_add_char(&b, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    strbuf_printf(&b, "/%.*s", STR_ARG(jstr(jgetc(about, "name"))));
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void event_subobject(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_str(w, jstr(jgetc(event_about(o), "fieldPath")));
}

static void event_source(struct jw *w, const struct obj *o, usec now)
{
    str component = jstr(jpath(obj_root(o), "source.component"));
    str host = jstr(jpath(obj_root(o), "source.host"));
    (void)now;
    if (str_is_empty(component))
        component = jstr(jgetc(obj_root(o), "reportingComponent"));
    jw_printf(w, "%.*s%s%.*s", STR_ARG(component), str_is_empty(host) ? "" : ", ", STR_ARG(host));
}

static void event_message(struct jw *w, const struct obj *o, usec now)
{
    str s = jstr(jgetc(obj_root(o), "message"));
    (void)now;
    jw_str(w, str_trim(str_is_empty(s) ? jstr(jgetc(obj_root(o), "note")) : s));
}

static void event_count(struct jw *w, const struct obj *o, usec now)
{
    int64_t n = jint(jpath(obj_root(o), "series.count"), 0);
    (void)now;
    jw_int(w, n ? n : jint(jgetc(obj_root(o), "count"), 1));
}

/* ---- the rest ---- */

static void data_count(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, (int64_t)(jlen(jgetc(obj_root(o), "data")) + jlen(jgetc(obj_root(o), "binaryData"))));
}

static void account_secrets(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, (int64_t)jlen(jgetc(obj_root(o), "secrets")));
}

static void deployment_ready(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_printf(w, "%lld/%lld", (long long)jint(jgetc(obj_status(o), "readyReplicas"), 0),
              (long long)jint(jgetc(obj_spec(o), "replicas"), 0));
}

static void deployment_updated(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "updatedReplicas"), 0));
}

static void deployment_available(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "availableReplicas"), 0));
}

static void set_desired(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_spec(o), "replicas"), 0));
}

static void set_current(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "replicas"), 0));
}

static void set_ready(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "readyReplicas"), 0));
}

static void template_containers(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_joined(w, jpath(obj_spec(o), "template.spec.containers"), "name");
}

static void template_images(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_joined(w, jpath(obj_spec(o), "template.spec.containers"), "image");
}

static void template_selector(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_map(w, jpath(obj_spec(o), "selector.matchLabels"));
}

static void hpa_reference(struct jw *w, const struct obj *o, usec now)
{
    jval r = jgetc(obj_spec(o), "scaleTargetRef");
    (void)now;
    jw_printf(w, "%.*s/%.*s", STR_ARG(jstr(jgetc(r, "kind"))), STR_ARG(jstr(jgetc(r, "name"))));
}

static void hpa_targets(struct jw *w, const struct obj *o, usec now)
{
    struct strbuf b = STRBUF_INIT(4096);
    (void)now;
    for (struct jiter it = jiter(jgetc(obj_spec(o), "metrics")); jnext(&it);) {
        jval target = jpath(it.value, "resource.target.averageUtilization");
        strbuf_printf(&b, "%s%.*s: <unknown>/", b.len ? ", " : "",
                      STR_ARG(jstr(jpath(it.value, "resource.name"))));
        if (j_has(target))
            strbuf_printf(&b, "%lld%%", (long long)jint(target, 0));
        else
            strbuf_add_cstr(&b, "<auto>");
    }
    put_or_none(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void hpa_min(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_printf(w, "%lld", (long long)jint(jgetc(obj_spec(o), "minReplicas"), 1));
}

static void hpa_max(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_spec(o), "maxReplicas"), 0));
}

static void hpa_replicas(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "currentReplicas"), 0));
}

static void put_budget(struct jw *w, jval v)
{
    if (!j_has(v))
        jw_str(w, STR("N/A"));
    else
        jw_str(w, jtype(v) == J_STRING ? jstr(v) : jtext(v));
}

static void pdb_min(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_budget(w, jgetc(obj_spec(o), "minAvailable"));
}

static void pdb_max(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    put_budget(w, jgetc(obj_spec(o), "maxUnavailable"));
}

static void pdb_allowed(struct jw *w, const struct obj *o, usec now)
{
    (void)now;
    jw_int(w, jint(jgetc(obj_status(o), "disruptionsAllowed"), 0));
}

/* ---- cells by kind and column ---- */

static const struct {
    const char *kind;
    const char *column;
    cell_fn *fn;
} computed[] = {
    {"Pod", "Ready", pod_ready},
    {"Pod", "Status", pod_status},
    {"Pod", "Restarts", pod_restarts},
    {"Pod", "IP", pod_ip},
    {"Pod", "Node", pod_node},
    {"Pod", "Nominated Node", pod_nominated},
    {"Pod", "Readiness Gates", pod_gates},
    {"Node", "Status", node_status},
    {"Node", "Roles", node_roles},
    {"Node", "Internal-IP", node_internal_ip},
    {"Node", "External-IP", node_external_ip},
    {"Node", "OS-Image", node_os},
    {"Node", "Kernel-Version", node_kernel},
    {"Node", "Container-Runtime", node_runtime},
    {"Service", "Cluster-IP", service_ip},
    {"Service", "External-IP", service_external_ip},
    {"Service", "Port(s)", service_ports},
    {"Service", "Selector", service_selector},
    {"Event", "Last Seen", event_last_seen},
    {"Event", "Type", event_type},
    {"Event", "Reason", event_reason},
    {"Event", "Object", event_object},
    {"Event", "Subobject", event_subobject},
    {"Event", "Source", event_source},
    {"Event", "Message", event_message},
    {"Event", "First Seen", event_first_seen},
    {"Event", "Count", event_count},
    {"ConfigMap", "Data", data_count},
    {"Secret", "Data", data_count},
    {"ServiceAccount", "Secrets", account_secrets},
    {"Deployment", "Ready", deployment_ready},
    {"Deployment", "Up-to-date", deployment_updated},
    {"Deployment", "Available", deployment_available},
    {"Deployment", "Containers", template_containers},
    {"Deployment", "Images", template_images},
    {"Deployment", "Selector", template_selector},
    {"ReplicaSet", "Desired", set_desired},
    {"ReplicaSet", "Current", set_current},
    {"ReplicaSet", "Ready", set_ready},
    {"ReplicaSet", "Containers", template_containers},
    {"ReplicaSet", "Images", template_images},
    {"ReplicaSet", "Selector", template_selector},
    {"HorizontalPodAutoscaler", "Reference", hpa_reference},
    {"HorizontalPodAutoscaler", "Targets", hpa_targets},
    {"HorizontalPodAutoscaler", "MinPods", hpa_min},
    {"HorizontalPodAutoscaler", "MaxPods", hpa_max},
    {"HorizontalPodAutoscaler", "Replicas", hpa_replicas},
    {"PodDisruptionBudget", "Min Available", pdb_min},
    {"PodDisruptionBudget", "Max Unavailable", pdb_max},
    {"PodDisruptionBudget", "Allowed Disruptions", pdb_allowed},
};

static cell_fn *find_cell(const struct kind *k, const char *column)
{
    for (size_t i = 0; i < ARRAY_LEN(computed); i++) {
        if (str_is(str_of(k->kind), computed[i].kind) && str_is(str_of(column), computed[i].column))
            return computed[i].fn;
    }
    return NULL;
}

static const struct column plain_columns[] = {
    {"Name", "string", "name", ".metadata.name", 0, "Unique within its namespace."},
    {"Age", "date", "", ".metadata.creationTimestamp", 0, "Time since it was created."},
};

static const struct column *columns_of(const struct kind *k, size_t *ret_n)
{
    *ret_n = k->n_columns ? k->n_columns : ARRAY_LEN(plain_columns);
    return k->n_columns ? k->columns : plain_columns;
}

void table_columns(struct jw *w, const struct kind *k)
{
    size_t n;
    const struct column *c = columns_of(k, &n);
    jw_put_array(w, "columnDefinitions");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_put_cstr(w, "name", c[i].name);
        jw_put_cstr(w, "type", c[i].type);
        jw_put_cstr(w, "format", c[i].format ? c[i].format : "");
        jw_key(w, STR("description"));
        if (c[i].doc)
            jw_str(w, str_of(c[i].doc));
        else
            jw_printf(w, "Custom resource definition column (in JSONPath format): %s", c[i].path);
        jw_put_int(w, "priority", c[i].priority);
        jw_end(w);
    }
    jw_end(w);
}

/* Compiled paths live as long as the tables they come from. */
static struct jsonpath *compiled(const char *path)
{
    static struct map cache;
    struct jsonpath *p = map_get(&cache, str_of(path));
    if (!p) {
        p = jsonpath_compile(str_of(path), NULL);
        BUG_ON(!p);
        (void)map_put(&cache, str_of(path), p);
    }
    return p;
}

static void put_value(struct jw *w, const struct column *c, const struct obj *o, usec now)
{
    jval_vec found = {0};
    jsonpath_eval(compiled(c->path), obj_root(o), &found);
    if (found.len == 0)
        jw_null(w);
    else if (str_is(str_of(c->type), "date"))
        put_age(w, time_at(found.p[0]), now);
    else if (found.len == 1)
        jw_val(w, found.p[0]);
    else {
        /* Several matches print as kubectl prints a list. */
        struct strbuf b = STRBUF_INIT(64 << 10);
        for (size_t i = 0; i < found.len; i++)
            strbuf_printf(&b, "%s%.*s", i ? "," : "", STR_ARG(jstr(found.p[i])));
        jw_str(w, strbuf_str(&b));
        strbuf_done(&b);
    }
    vec_done(&found);
}

static void put_cells(struct jw *w, const struct obj *o, usec now)
{
    size_t n;
    const struct column *c = columns_of(o->kind, &n);
    jw_put_array(w, "cells");
    for (size_t i = 0; i < n; i++) {
        cell_fn *fn = find_cell(o->kind, c[i].name);
        if (fn)
            fn(w, o, now);
        else if (c[i].path)
            put_value(w, &c[i], o, now);
        else if (str_is(str_of(c[i].name), "Age"))
            put_age(w, obj_created(o), now);
        else
            jw_str(w, STR("<unknown>"));
    }
    jw_end(w);
}

void table_row(struct jw *w, const struct obj *o, enum table_include include, usec now)
{
    jw_object(w);
    put_cells(w, o, now);
    if (include == TABLE_INCLUDE_OBJECT) {
        jw_put(w, "object", obj_root(o));
    } else if (include == TABLE_INCLUDE_METADATA) {
        jw_put_object(w, "object");
        jw_put_cstr(w, "kind", "PartialObjectMetadata");
        jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
        jw_put(w, "metadata", o->meta);
        jw_end(w);
    }
    jw_end(w);
}
