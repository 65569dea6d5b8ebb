/*
 * The cells that are computed, one small function each, and the table that says which kind and
 * column they fill. What they print follows kubectl's printers to the letter: people and scripts
 * read it.
 */
#include "apiserver/front/table.h"
#include "kube/selector.h"

/* ---- helpers ---- */

static usec time_at(jval v)
{
    usec t = 0;
    (void)time_parse_rfc3339(jstr(v), &t);
    return t;
}

static str first_of(str a, str b)
{
    return str_is_empty(a) ? b : a;
}

static int cmp_str(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

void row_put_map(struct row *r, jval map)
{
    struct arena a = ARENA_INIT;
    VEC(str) pairs = {0};
    for (struct jiter it = jiter(map); jnext(&it);)
        *vec_push(&pairs) = arena_printf(&a, "%.*s=%.*s", STR_ARG(it.key), STR_ARG(jstr(it.value)));
    vec_sort(&pairs, cmp_str);
    for (size_t i = 0; i < pairs.len; i++)
        strbuf_printf(&r->text, "%s%.*s", i ? "," : "", STR_ARG(pairs.p[i]));
    row_put_text(r, "<none>");
    vec_done(&pairs);
    arena_done(&a);
}

void row_add_joined(struct row *r, jval list, str member)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        str s = str_is_empty(member) ? jstr(it.value) : jstr(jget(it.value, member));
        strbuf_printf(&r->text, "%s%.*s", it.index ? "," : "", STR_ARG(s));
    }
}

/* A list of which only the first few are shown. */
struct some {
    struct row *r;
    const char *sep;
    size_t max, n;
};

/* Where the next one goes; NULL when it is only counted. */
static struct strbuf *some_next(struct some *s)
{
    if (s->n++ >= s->max)
        return NULL;
    strbuf_add_cstr(&s->r->text, s->n > 1 ? s->sep : "");
    return &s->r->text;
}

static void some_put(const struct some *s, const char *otherwise)
{
    if (s->n > s->max)
        strbuf_printf(&s->r->text, " + %zu more...", s->n - s->max);
    row_put_text(s->r, otherwise);
}

/* ---- pods ---- */

static void set_reason(struct row *r, str reason)
{
    strbuf_reset(&r->pod.reason);
    strbuf_add_str(&r->pod.reason, reason);
}

/* Its reason, or how it ended. */
static void set_ended(struct row *r, const char *prefix, jval terminated)
{
    str why = jstr(jgetc(terminated, "reason"));
    int64_t signal = jint(jgetc(terminated, "signal"), 0);
    strbuf_reset(&r->pod.reason);
    strbuf_add_cstr(&r->pod.reason, prefix);
    if (!str_is_empty(why))
        strbuf_add_str(&r->pod.reason, why);
    else if (signal != 0)
        strbuf_printf(&r->pod.reason, "Signal:%lld", (long long)signal);
    else
        strbuf_printf(&r->pod.reason, "ExitCode:%lld",
                      (long long)jint(jgetc(terminated, "exitCode"), 0));
}

static void add_restarts(struct row *r, jval container)
{
    r->pod.restarts += jint(jgetc(container, "restartCount"), 0);
    jval last = jgetc(jgetc(container, "lastState"), "terminated");
    if (j_has(last))
        r->pod.last_restart = MAX(r->pod.last_restart, time_at(jgetc(last, "finishedAt")));
}

static bool is_sidecar(const struct row *r, str name)
{
    for (struct jiter it = jiter(jgetc(r->spec, "initContainers")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return str_is(jstr(jgetc(it.value, "restartPolicy")), "Always");
    }
    return false;
}

/* Why an init container that has not done its part holds the pod up. */
static void set_init_reason(struct row *r, jval state, size_t index)
{
    jval terminated = jgetc(state, "terminated");
    str waiting = jstr(jgetc(jgetc(state, "waiting"), "reason"));
    if (j_has(terminated)) {
        set_ended(r, "Init:", terminated);
        return;
    }
    strbuf_reset(&r->pod.reason);
    if (!str_is_empty(waiting) && !str_is(waiting, "PodInitializing"))
        strbuf_printf(&r->pod.reason, "Init:%.*s", STR_ARG(waiting));
    else
        strbuf_printf(&r->pod.reason, "Init:%zu/%zu", index,
                      jlen(jgetc(r->spec, "initContainers")));
}

/* True while init containers are at work. Restarts are those of init containers then, and of
 * sidecars (init containers that go on running) afterwards. */
static bool read_init_containers(struct row *r)
{
    int64_t sidecar_restarts = 0;
    usec sidecar_last = 0;
    for (struct jiter it = jiter(jgetc(r->status, "initContainerStatuses")); jnext(&it);) {
        jval state = jgetc(it.value, "state"), terminated = jgetc(state, "terminated");
        bool sidecar = is_sidecar(r, jstr(jgetc(it.value, "name")));
        int64_t before = r->pod.restarts;
        add_restarts(r, it.value);
        if (sidecar) {
            sidecar_restarts += r->pod.restarts - before;
            sidecar_last = r->pod.last_restart;
        }
        if (j_has(terminated) && jint(jgetc(terminated, "exitCode"), 0) == 0)
            continue;
        if (sidecar && j_is_true(jgetc(it.value, "started"))) {
            r->pod.ready += j_is_true(jgetc(it.value, "ready"));
            continue;
        }
        set_init_reason(r, state, it.index);
        if (!condition_is_true(jgetc(r->status, "conditions"), STR("Initialized")))
            return true;
        break;
    }
    r->pod.restarts = sidecar_restarts;
    r->pod.last_restart = sidecar_last;
    return false;
}

/* The first container that has something to say gives the reason. */
static void read_containers(struct row *r)
{
    bool told = false, running = false;
    for (struct jiter it = jiter(jgetc(r->status, "containerStatuses")); jnext(&it);) {
        jval state = jgetc(it.value, "state"), terminated = jgetc(state, "terminated");
        str waiting = jstr(jgetc(jgetc(state, "waiting"), "reason"));
        add_restarts(r, it.value);
        if (!str_is_empty(waiting) || j_has(terminated)) {
            if (!told && !str_is_empty(waiting))
                set_reason(r, waiting);
            else if (!told)
                set_ended(r, "", terminated);
            told = true;
        } else if (j_is_true(jgetc(it.value, "ready")) && j_has(jgetc(state, "running"))) {
            running = true;
            r->pod.ready++;
        }
    }
    if (running && str_is(strbuf_str(&r->pod.reason), "Completed"))
        set_reason(r, condition_is_true(jgetc(r->status, "conditions"), STR("Ready"))
                          ? STR("Running")
                          : STR("NotReady"));
}

static void read_pod(struct row *r)
{
    if (r->pod.known)
        return;
    r->pod.known = true;
    str phase = jstr(jgetc(r->status, "phase")), reason = jstr(jgetc(r->status, "reason"));
    jval scheduled = condition_find(jgetc(r->status, "conditions"), STR("PodScheduled"));
    bool gated = str_is(jstr(jgetc(scheduled, "reason")), "SchedulingGated");
    set_reason(r, gated ? STR("SchedulingGated") : first_of(reason, phase));
    r->pod.all = jlen(jgetc(r->spec, "containers"));
    for (struct jiter it = jiter(jgetc(r->spec, "initContainers")); jnext(&it);)
        r->pod.all += str_is(jstr(jgetc(it.value, "restartPolicy")), "Always");
    if (!read_init_containers(r))
        read_containers(r);
    if (!r->o->deleting)
        return;
    if (str_is(reason, "NodeLost"))
        set_reason(r, STR("Unknown"));
    else if (!str_is(phase, "Failed") && !str_is(phase, "Succeeded"))
        set_reason(r, STR("Terminating"));
}

static void pod_ready(struct row *r)
{
    read_pod(r);
    strbuf_add_uint(&r->text, r->pod.ready);
    strbuf_add_char(&r->text, '/');
    strbuf_add_uint(&r->text, r->pod.all);
    row_put_text(r, "");
}

static void pod_status(struct row *r)
{
    read_pod(r);
    jw_str(r->w, strbuf_str(&r->pod.reason));
}

static void pod_restarts(struct row *r)
{
    read_pod(r);
    strbuf_add_uint(&r->text, (uint64_t)MAX(r->pod.restarts, 0));
    if (r->pod.restarts != 0 && r->pod.last_restart != 0) {
        strbuf_add_cstr(&r->text, " (");
        time_format_age(r->now - r->pod.last_restart, &r->text);
        strbuf_add_cstr(&r->text, " ago)");
    }
    row_put_text(r, "");
}

static void pod_gates(struct row *r)
{
    jval gates = jgetc(r->spec, "readinessGates");
    size_t held = 0;
    for (struct jiter it = jiter(gates); jnext(&it);)
        held += condition_is_true(jgetc(r->status, "conditions"),
                                  jstr(jgetc(it.value, "conditionType")));
    if (jlen(gates) > 0)
        strbuf_printf(&r->text, "%zu/%zu", held, jlen(gates));
    row_put_text(r, "<none>");
}

/* ---- nodes ---- */

static void node_status(struct row *r)
{
    jval ready = condition_find(jgetc(r->status, "conditions"), STR("Ready"));
    bool is_ready = str_is(jstr(jgetc(ready, "status")), "True");
    bool closed = j_is_true(jgetc(r->spec, "unschedulable"));
    jw_printf(r->w, "%s%s",
              j_is_absent(ready) ? "Unknown"
              : is_ready         ? "Ready"
                                 : "NotReady",
              closed ? ",SchedulingDisabled" : "");
}

static void node_roles(struct row *r)
{
    str prefix = STR("node-role.kubernetes.io/");
    VEC(str) roles = {0};
    for (struct jiter it = jiter(r->o->labels); jnext(&it);) {
        if (str_starts(it.key, prefix) && it.key.len > prefix.len)
            *vec_push(&roles) = str_sub(it.key, prefix.len, it.key.len);
        else if (str_is(it.key, "kubernetes.io/role") && !str_is_empty(jstr(it.value)))
            *vec_push(&roles) = jstr(it.value);
    }
    vec_sort(&roles, cmp_str);
    for (size_t i = 0; i < roles.len; i++) {
        if (i == 0 || !str_eq(roles.p[i - 1], roles.p[i]))
            strbuf_printf(&r->text, "%s%.*s", i ? "," : "", STR_ARG(roles.p[i]));
    }
    row_put_text(r, "<none>");
    vec_done(&roles);
}

static void put_address(struct row *r, const char *type)
{
    for (struct jiter it = jiter(jgetc(r->status, "addresses")); jnext(&it);) {
        if (r->text.len == 0 && str_is(jstr(jgetc(it.value, "type")), type))
            strbuf_add_str(&r->text, jstr(jgetc(it.value, "address")));
    }
    row_put_text(r, "<none>");
}

static void node_internal_ip(struct row *r)
{
    put_address(r, "InternalIP");
}

static void node_external_ip(struct row *r)
{
    put_address(r, "ExternalIP");
}

static void node_kernel(struct row *r)
{
    jval info = jgetc(r->status, "nodeInfo");
    str arch = jstr(jgetc(info, "architecture"));
    strbuf_add_str(&r->text, jstr(jgetc(info, "kernelVersion")));
    if (r->text.len > 0 && !str_is_empty(arch))
        strbuf_printf(&r->text, " (%.*s)", STR_ARG(arch));
    row_put_text(r, "<unknown>");
}

/* ---- services and what is behind them ---- */

void row_add_ingress(struct row *r)
{
    VEC(str) at = {0};
    for (struct jiter it = jiter(jpath(r->status, "loadBalancer.ingress")); jnext(&it);) {
        str s = first_of(jstr(jgetc(it.value, "ip")), jstr(jgetc(it.value, "hostname")));
        if (!str_is_empty(s))
            *vec_push(&at) = s;
    }
    vec_sort(&at, cmp_str);
    for (size_t i = 0; i < at.len; i++) {
        if (i == 0 || !str_eq(at.p[i - 1], at.p[i]))
            strbuf_printf(&r->text, "%s%.*s", i ? "," : "", STR_ARG(at.p[i]));
    }
    vec_done(&at);
}

static void service_external_ip(struct row *r)
{
    str type = jstr(jgetc(r->spec, "type"));
    if (str_is(type, "ExternalName")) {
        jw_str(r->w, jstr(jgetc(r->spec, "externalName")));
        return;
    }
    bool balanced = str_is(type, "LoadBalancer");
    if (balanced)
        row_add_ingress(r);
    for (struct jiter it = jiter(jgetc(r->spec, "externalIPs")); jnext(&it);)
        strbuf_printf(&r->text, "%s%.*s", r->text.len ? "," : "", STR_ARG(jstr(it.value)));
    row_put_text(r, balanced ? "<pending>" : "<none>");
}

static void service_ports(struct row *r)
{
    for (struct jiter it = jiter(jgetc(r->spec, "ports")); jnext(&it);) {
        int64_t node = jint(jgetc(it.value, "nodePort"), 0);
        strbuf_printf(&r->text, "%s%lld", it.index ? "," : "",
                      (long long)jint(jgetc(it.value, "port"), 0));
        if (node > 0)
            strbuf_printf(&r->text, ":%lld", (long long)node);
        strbuf_printf(&r->text, "/%.*s", STR_ARG(jstr(jgetc(it.value, "protocol"))));
    }
    row_put_text(r, "<none>");
}

static void service_selector(struct row *r)
{
    row_put_map(r, jgetc(r->spec, "selector"));
}

static void add_endpoint(struct some *s, str ip, jval port)
{
    struct strbuf *b = some_next(s);
    bool v6 = str_find_char(ip, ':') >= 0;
    if (b && j_is_absent(port))
        strbuf_add_str(b, ip);
    else if (b)
        strbuf_printf(b, "%s%.*s%s:%lld", v6 ? "[" : "", STR_ARG(ip), v6 ? "]" : "",
                      (long long)jint(jgetc(port, "port"), 0));
}

static void endpoints_addresses(struct row *r)
{
    struct some s = {r, ",", 3, 0};
    for (struct jiter set = jiter(jgetc(obj_root(r->o), "subsets")); jnext(&set);) {
        jval ports = jgetc(set.value, "ports"), addresses = jgetc(set.value, "addresses");
        size_t n_ports = jlen(ports);
        for (size_t i = 0; i < MAX(n_ports, 1); i++) {
            jval port = n_ports ? jat(ports, i) : JVAL_ABSENT;
            for (struct jiter it = jiter(addresses); jnext(&it);)
                add_endpoint(&s, jstr(jgetc(it.value, "ip")), port);
        }
    }
    some_put(&s, "<none>");
}

static void slice_ports(struct row *r)
{
    struct some s = {r, ",", 3, 0};
    for (struct jiter it = jiter(jgetc(obj_root(r->o), "ports")); jnext(&it);) {
        jval number = jgetc(it.value, "port"), name = jgetc(it.value, "name");
        struct strbuf *b = some_next(&s);
        if (b)
            strbuf_add_str(b, j_has(number) ? jtext(number) : j_has(name) ? jstr(name) : STR("*"));
    }
    some_put(&s, "<unset>");
}

static void slice_endpoints(struct row *r)
{
    struct some s = {r, ",", 3, 0};
    for (struct jiter it = jiter(jgetc(obj_root(r->o), "endpoints")); jnext(&it);) {
        for (struct jiter at = jiter(jgetc(it.value, "addresses")); jnext(&at);) {
            struct strbuf *b = some_next(&s);
            if (b)
                strbuf_add_str(b, jstr(at.value));
        }
    }
    some_put(&s, "<unset>");
}

/* ---- events ---- */

/* An Event of the newer group names things otherwise. */
static jval event_get(const struct row *r, str core, str events)
{
    jval v = jget(obj_root(r->o), core);
    return j_has(v) ? v : jget(obj_root(r->o), events);
}

static usec event_first(const struct row *r)
{
    usec t = time_at(event_get(r, STR("firstTimestamp"), STR("deprecatedFirstTimestamp")));
    return t ? t : time_at(jgetc(obj_root(r->o), "eventTime"));
}

static void event_first_seen(struct row *r)
{
    row_put_age(r, event_first(r));
}

static void event_last_seen(struct row *r)
{
    jval series = jgetc(obj_root(r->o), "series");
    usec t = time_at(event_get(r, STR("lastTimestamp"), STR("deprecatedLastTimestamp")));
    if (j_has(series))
        t = time_at(jgetc(series, "lastObservedTime"));
    else if (t == 0)
        t = event_first(r);
    row_put_age(r, t);
}

static void event_object(struct row *r)
{
    jval about = event_get(r, STR("involvedObject"), STR("regarding"));
    str kind = jstr(jgetc(about, "kind")), name = jstr(jgetc(about, "name"));
    for (size_t i = 0; i < kind.len; i++) {
        char c = kind.p[i];
        strbuf_add_char(&r->text, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
    }
    if (!str_is_empty(name))
        strbuf_printf(&r->text, "/%.*s", STR_ARG(name));
    row_put_text(r, "");
}

static void event_subobject(struct row *r)
{
    jw_str(r->w, jstr(jgetc(event_get(r, STR("involvedObject"), STR("regarding")), "fieldPath")));
}

static void event_source(struct row *r)
{
    jval source = event_get(r, STR("source"), STR("deprecatedSource"));
    str component =
        first_of(jstr(jgetc(source, "component")),
                 jstr(event_get(r, STR("reportingComponent"), STR("reportingController"))));
    str host =
        first_of(jstr(jgetc(source, "host")), jstr(jgetc(obj_root(r->o), "reportingInstance")));
    jw_printf(r->w, "%.*s%s%.*s", STR_ARG(component), str_is_empty(host) ? "" : ", ",
              STR_ARG(host));
}

static void event_message(struct row *r)
{
    jw_str(r->w, str_trim(jstr(event_get(r, STR("message"), STR("note")))));
}

static void event_count(struct row *r)
{
    jval series = jgetc(obj_root(r->o), "series");
    int64_t n = jint(event_get(r, STR("count"), STR("deprecatedCount")), 0);
    if (j_has(series))
        n = jint(jgetc(series, "count"), 0);
    else if (n == 0)
        n = 1;
    jw_int(r->w, n);
}

/* ---- workloads ---- */

static void deployment_ready(struct row *r)
{
    jw_printf(r->w, "%lld/%lld", (long long)jint(jgetc(r->status, "readyReplicas"), 0),
              (long long)jint(jgetc(r->spec, "replicas"), 0));
}

static void template_containers(struct row *r)
{
    row_add_joined(r, jpath(r->spec, "template.spec.containers"), STR("name"));
    row_put_text(r, "");
}

static void template_images(struct row *r)
{
    row_add_joined(r, jpath(r->spec, "template.spec.containers"), STR("image"));
    row_put_text(r, "");
}

static void template_selector(struct row *r)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    jval v = jgetc(r->spec, "selector");
    struct selector *s = j_has(v) ? label_selector_from(&a, v, &err) : NULL;
    if (s)
        label_selector_print(s, &r->text);
    row_put_text(r, j_has(v) && !s ? "<error>" : "<none>");
    arena_done(&a);
}

/* "statefulset.apps/web": who keeps the revision. */
static void revision_controller(struct row *r)
{
    jval owner = obj_controller_ref(r->o);
    str group, version;
    api_version_split(jstr(jgetc(owner, "apiVersion")), &group, &version);
    if (j_has(owner)) {
        strbuf_printf(&r->text, "%.*s%s%.*s", STR_ARG(jstr(jgetc(owner, "kind"))),
                      group.len ? "." : "", STR_ARG(group));
        for (size_t i = 0; i < r->text.len; i++) {
            char c = r->text.p[i];
            r->text.p[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
        strbuf_printf(&r->text, "/%.*s", STR_ARG(jstr(jgetc(owner, "name"))));
    }
    row_put_text(r, "<none>");
}

/* ---- autoscalers and budgets ---- */

static void hpa_reference(struct row *r)
{
    jval to = jgetc(r->spec, "scaleTargetRef");
    jw_printf(r->w, "%.*s/%.*s", STR_ARG(jstr(jgetc(to, "kind"))),
              STR_ARG(jstr(jgetc(to, "name"))));
}

static str value_or(jval v, str otherwise)
{
    if (!j_has(v))
        return otherwise;
    return jtype(v) == J_STRING ? jstr(v) : jtext(v);
}

/* Where each type of metric keeps what it measures. */
static const struct metric {
    const char *type, *member;
    bool named; /* shows what is measured, and utilization where no value is given */
} metrics[] = {
    {"Resource", "resource", true},  {"ContainerResource", "containerResource", true},
    {"Pods", "pods", false},         {"Object", "object", false},
    {"External", "external", false},
};

static void add_metric(struct strbuf *b, const struct metric *m, jval spec, jval current)
{
    jval target = jgetc(spec, "target"), average = jgetc(target, "averageValue");
    str unknown = STR("<unknown>");
    if (m->named)
        strbuf_printf(b, "%.*s: ", STR_ARG(jstr(jgetc(spec, "name"))));
    if (m->named && !j_has(average)) {
        jval now = jgetc(current, "averageUtilization");
        jval want = jgetc(target, "averageUtilization");
        strbuf_printf(b, "%.*s%s/%.*s%s", STR_ARG(value_or(now, unknown)), j_has(now) ? "%" : "",
                      STR_ARG(value_or(want, STR("<auto>"))), j_has(want) ? "%" : "");
    } else if (j_has(average)) {
        bool marked = !m->named && strcmp(m->type, "Pods") != 0;
        strbuf_printf(b, "%.*s/%.*s%s", STR_ARG(value_or(jgetc(current, "averageValue"), unknown)),
                      STR_ARG(value_or(average, unknown)), marked ? " (avg)" : "");
    } else {
        strbuf_printf(b, "%.*s/%.*s", STR_ARG(value_or(jgetc(current, "value"), unknown)),
                      STR_ARG(value_or(jgetc(target, "value"), unknown)));
    }
}

/* autoscaling/v1 knows one metric only. */
static void hpa_cpu_target(struct row *r)
{
    jval want = jgetc(r->spec, "targetCPUUtilizationPercentage");
    jval now = jgetc(r->status, "currentCPUUtilizationPercentage");
    if (j_has(want))
        strbuf_printf(&r->text, "cpu: %.*s%s/%.*s%%", STR_ARG(value_or(now, STR("<unknown>"))),
                      j_has(now) ? "%" : "", STR_ARG(jtext(want)));
    row_put_text(r, "<none>");
}

static void hpa_targets(struct row *r)
{
    struct some s = {r, ", ", 2, 0};
    jval specs = jgetc(r->spec, "metrics"), statuses = jgetc(r->status, "currentMetrics");
    if (jlen(specs) == 0) {
        hpa_cpu_target(r);
        return;
    }
    for (struct jiter it = jiter(specs); jnext(&it);) {
        const struct metric *m = NULL;
        str type = jstr(jgetc(it.value, "type"));
        struct strbuf *b = some_next(&s);
        for (size_t i = 0; i < ARRAY_LEN(metrics) && !m; i++)
            m = str_is(type, metrics[i].type) ? &metrics[i] : NULL;
        if (b && !m)
            strbuf_add_cstr(b, "<unknown type>");
        else if (b)
            add_metric(b, m, jget(it.value, str_of(m->member)),
                       jgetc(jget(jat(statuses, it.index), str_of(m->member)), "current"));
    }
    some_put(&s, "<none>");
}

/* ---- roles ---- */

static void binding_role(struct row *r)
{
    jval role = jgetc(obj_root(r->o), "roleRef");
    jw_printf(r->w, "%.*s/%.*s", STR_ARG(jstr(jgetc(role, "kind"))),
              STR_ARG(jstr(jgetc(role, "name"))));
}

static void put_subjects(struct row *r, const char *kind)
{
    for (struct jiter it = jiter(jgetc(obj_root(r->o), "subjects")); jnext(&it);) {
        str ns = jstr(jgetc(it.value, "namespace"));
        if (!str_is(jstr(jgetc(it.value, "kind")), kind))
            continue;
        strbuf_printf(&r->text, "%s%.*s%s%.*s", r->text.len ? ", " : "", STR_ARG(ns),
                      ns.len ? "/" : "", STR_ARG(jstr(jgetc(it.value, "name"))));
    }
    row_put_text(r, "");
}

static void binding_users(struct row *r)
{
    put_subjects(r, "User");
}

static void binding_groups(struct row *r)
{
    put_subjects(r, "Group");
}

static void binding_accounts(struct row *r)
{
    put_subjects(r, "ServiceAccount");
}

/* ---- the rest ---- */

static void data_count(struct row *r)
{
    jval root = obj_root(r->o);
    jw_int(r->w, (int64_t)(jlen(jgetc(root, "data")) + jlen(jgetc(root, "binaryData"))));
}

static void class_is_default(struct row *r)
{
    jw_bool(r->w, j_is_true(jgetc(obj_root(r->o), "globalDefault")));
}

static void webhook_count(struct row *r)
{
    jw_int(r->w, (int64_t)jlen(jgetc(obj_root(r->o), "webhooks")));
}

/* "pods: 4/10, requests.cpu: 1/2", sorted; limits apart from the rest. */
static void put_quota(struct row *r, bool limits)
{
    size_t n, shown = 0;
    struct jmember *hard = jmembers_sorted(jgetc(r->status, "hard"), &n);
    jval used = jgetc(r->status, "used");
    for (size_t i = 0; hard && i < n; i++) {
        if (str_starts(hard[i].key, STR("limits")) != limits)
            continue;
        str now = jstr(jget(used, hard[i].key));
        strbuf_printf(&r->text, "%s%.*s: %.*s/%.*s", shown++ ? ", " : "", STR_ARG(hard[i].key),
                      STR_ARG(now.len ? now : STR("0")), STR_ARG(jstr(hard[i].value)));
    }
    free(hard);
    row_put_text(r, "");
}

static void quota_requests(struct row *r)
{
    put_quota(r, false);
}

static void quota_limits(struct row *r)
{
    put_quota(r, true);
}

static void claim_state(struct row *r)
{
    bool allocated = j_has(jgetc(r->status, "allocation"));
    bool reserved = allocated && jlen(jgetc(r->status, "reservedFor")) > 0;
    const char *state = reserved ? "allocated,reserved" : allocated ? "allocated" : "pending";
    if (r->o->deleting)
        jw_printf(r->w, "deleted%s%s", allocated ? "," : "", allocated ? state : "");
    else
        jw_str(r->w, str_of(state));
}

/* ---- cells by kind and column ---- */

#define NONE "<none>"
#define UNKNOWN "<unknown>"

static const struct cell cells[] = {
    {"Pod", "Ready", pod_ready, NULL, NULL},
    {"Pod", "Status", pod_status, NULL, NULL},
    {"Pod", "Restarts", pod_restarts, NULL, NULL},
    {"Pod", "IP", NULL, "status.podIP", NONE},
    {"Pod", "Node", NULL, "spec.nodeName", NONE},
    {"Pod", "Nominated Node", NULL, "status.nominatedNodeName", NONE},
    {"Pod", "Readiness Gates", pod_gates, NULL, NULL},
    {"Node", "Status", node_status, NULL, NULL},
    {"Node", "Roles", node_roles, NULL, NULL},
    {"Node", "Internal-IP", node_internal_ip, NULL, NULL},
    {"Node", "External-IP", node_external_ip, NULL, NULL},
    {"Node", "OS-Image", NULL, "status.nodeInfo.osImage", UNKNOWN},
    {"Node", "Kernel-Version", node_kernel, NULL, NULL},
    {"Node", "Container-Runtime", NULL, "status.nodeInfo.containerRuntimeVersion", UNKNOWN},
    {"Service", "Cluster-IP", NULL, "spec.clusterIP", NONE},
    {"Service", "External-IP", service_external_ip, NULL, NULL},
    {"Service", "Port(s)", service_ports, NULL, NULL},
    {"Service", "Selector", service_selector, NULL, NULL},
    {"Endpoints", "Endpoints", endpoints_addresses, NULL, NULL},
    {"EndpointSlice", "Ports", slice_ports, NULL, NULL},
    {"EndpointSlice", "Endpoints", slice_endpoints, NULL, NULL},
    {"Event", "Last Seen", event_last_seen, NULL, NULL},
    {"Event", "Type", NULL, "type", ""},
    {"Event", "Reason", NULL, "reason", ""},
    {"Event", "Object", event_object, NULL, NULL},
    {"Event", "Subobject", event_subobject, NULL, NULL},
    {"Event", "Source", event_source, NULL, NULL},
    {"Event", "Message", event_message, NULL, NULL},
    {"Event", "First Seen", event_first_seen, NULL, NULL},
    {"Event", "Count", event_count, NULL, NULL},
    {"ConfigMap", "Data", data_count, NULL, NULL},
    {"Secret", "Data", data_count, NULL, NULL},
    {"Deployment", "Ready", deployment_ready, NULL, NULL},
    {"Deployment", "Up-to-date", NULL, "status.updatedReplicas", NULL},
    {"Deployment", "Available", NULL, "status.availableReplicas", NULL},
    {"Deployment", "Containers", template_containers, NULL, NULL},
    {"Deployment", "Images", template_images, NULL, NULL},
    {"Deployment", "Selector", template_selector, NULL, NULL},
    {"ReplicaSet", "Desired", NULL, "spec.replicas", NULL},
    {"ReplicaSet", "Current", NULL, "status.replicas", NULL},
    {"ReplicaSet", "Ready", NULL, "status.readyReplicas", NULL},
    {"ReplicaSet", "Containers", template_containers, NULL, NULL},
    {"ReplicaSet", "Images", template_images, NULL, NULL},
    {"ReplicaSet", "Selector", template_selector, NULL, NULL},
    {"DaemonSet", "Containers", template_containers, NULL, NULL},
    {"DaemonSet", "Images", template_images, NULL, NULL},
    {"DaemonSet", "Selector", template_selector, NULL, NULL},
    {"StatefulSet", "Ready", deployment_ready, NULL, NULL},
    {"StatefulSet", "Containers", template_containers, NULL, NULL},
    {"StatefulSet", "Images", template_images, NULL, NULL},
    {"Job", "Containers", template_containers, NULL, NULL},
    {"Job", "Images", template_images, NULL, NULL},
    {"Job", "Selector", template_selector, NULL, NULL},
    {"ReplicationController", "Containers", template_containers, NULL, NULL},
    {"ReplicationController", "Images", template_images, NULL, NULL},
    {"ControllerRevision", "Controller", revision_controller, NULL, NULL},
    {"ControllerRevision", "Revision", NULL, "revision", NULL},
    {"HorizontalPodAutoscaler", "Reference", hpa_reference, NULL, NULL},
    {"HorizontalPodAutoscaler", "Targets", hpa_targets, NULL, NULL},
    {"HorizontalPodAutoscaler", "MinPods", NULL, "spec.minReplicas", "<unset>"},
    {"HorizontalPodAutoscaler", "MaxPods", NULL, "spec.maxReplicas", NULL},
    {"HorizontalPodAutoscaler", "Replicas", NULL, "status.currentReplicas", NULL},
    {"PodDisruptionBudget", "Min Available", NULL, "spec.minAvailable", "N/A"},
    {"PodDisruptionBudget", "Max Unavailable", NULL, "spec.maxUnavailable", "N/A"},
    {"PodDisruptionBudget", "Allowed Disruptions", NULL, "status.disruptionsAllowed", NULL},
    {"PriorityClass", "Global-Default", class_is_default, NULL, NULL},
    {"RoleBinding", "Role", binding_role, NULL, NULL},
    {"RoleBinding", "Users", binding_users, NULL, NULL},
    {"RoleBinding", "Groups", binding_groups, NULL, NULL},
    {"RoleBinding", "ServiceAccounts", binding_accounts, NULL, NULL},
    {"ClusterRoleBinding", "Role", binding_role, NULL, NULL},
    {"ClusterRoleBinding", "Users", binding_users, NULL, NULL},
    {"ClusterRoleBinding", "Groups", binding_groups, NULL, NULL},
    {"ClusterRoleBinding", "ServiceAccounts", binding_accounts, NULL, NULL},
    {"MutatingWebhookConfiguration", "Webhooks", webhook_count, NULL, NULL},
    {"ValidatingWebhookConfiguration", "Webhooks", webhook_count, NULL, NULL},
    {"ResourceClaim", "State", claim_state, NULL, NULL},
    {"ResourceQuota", "Request", quota_requests, NULL, NULL},
    {"ResourceQuota", "Limit", quota_limits, NULL, NULL},
};

const struct cell *table_cell(const struct kind *k, const char *column)
{
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        if (strcmp(k->kind, cells[i].kind) == 0 && strcmp(column, cells[i].column) == 0)
            return &cells[i];
    }
    return table_cell_kept(k, column);
}
