/*
 * Computed cells of the kinds that the server keeps for others: storage, network, batch and what a
 * cluster is run with. Like table_cells.c, to the letter of kubectl's printers.
 */
#include "apiserver/front/table.h"
#include "kube/selector.h"

#define NONE "<none>"
#define UNSET "<unset>"

/* ---- helpers ---- */

static void put_word(struct row *r, str s, const char *otherwise)
{
    strbuf_add_str(&r->text, s);
    row_put_text(r, otherwise);
}

static void put_count(struct row *r, jval list)
{
    jw_int(r->w, (int64_t)jlen(list));
}

static void put_bool(struct row *r, jval v)
{
    put_word(r, j_has(v) ? (j_is_true(v) ? STR("True") : STR("False")) : STR_NONE, UNSET);
}

static void put_selector(struct row *r, jval v)
{
    struct arena a = ARENA_INIT;
    struct selector *s = label_selector_from(&a, v, NULL);
    if (s)
        label_selector_print(s, &r->text);
    row_put_text(r, j_has(v) && !s ? "<error>" : NONE);
    arena_done(&a);
}

static usec time_of(jval v)
{
    usec t = 0;
    (void)time_parse_rfc3339(jstr(v), &t);
    return t;
}

/* ---- volumes ---- */

static void put_modes(struct row *r, jval modes)
{
    static const struct {
        const char *mode, *sign;
    } signs[] = {{"ReadWriteOnce", "RWO"},
                 {"ReadOnlyMany", "ROX"},
                 {"ReadWriteMany", "RWX"},
                 {"ReadWriteOncePod", "RWOP"}};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        for (struct jiter it = jiter(modes); jnext(&it);)
            if (str_is(jstr(it.value), signs[i].mode)) {
                strbuf_printf(&r->text, "%s%s", r->text.len ? "," : "", signs[i].sign);
                break;
            }
    row_put_text(r, "");
}

static void volume_status(struct row *r)
{
    put_word(r, r->o->deleting ? STR("Terminating") : jstr(jgetc(r->status, "phase")), "");
}

static void volume_modes(struct row *r)
{
    put_modes(r, jgetc(r->spec, "accessModes"));
}

static void volume_claim(struct row *r)
{
    jval claim = jgetc(r->spec, "claimRef");
    if (j_has(claim))
        strbuf_printf(&r->text, "%.*s/%.*s", STR_ARG(jstr(jgetc(claim, "namespace"))),
                      STR_ARG(jstr(jgetc(claim, "name"))));
    row_put_text(r, "");
}

/* A claim has what its volume has, once there is one. */
static bool is_bound(const struct row *r)
{
    return jstr(jgetc(r->spec, "volumeName")).len > 0;
}

static void claim_capacity(struct row *r)
{
    jval size = jpath(r->status, "capacity.storage");
    put_word(r, is_bound(r) ? jstr(size) : STR_NONE, "");
}

static void claim_modes(struct row *r)
{
    put_modes(r, is_bound(r) ? jgetc(r->status, "accessModes") : JVAL_ABSENT);
}

static void class_name(struct row *r)
{
    static const char key[] = "storageclass.kubernetes.io/is-default-class";
    bool chosen = str_is(obj_annotation(r->o, STR(key)), "true");
    jw_printf(r->w, "%.*s%s", STR_ARG(r->o->name), chosen ? " (default)" : "");
}

static void driver_tokens(struct row *r)
{
    row_add_joined(r, jgetc(r->spec, "tokenRequests"), STR("audience"));
    row_put_text(r, UNSET);
}

static void driver_modes(struct row *r)
{
    row_add_joined(r, jgetc(r->spec, "volumeLifecycleModes"), STR_NONE);
    row_put_text(r, NONE);
}

static void node_drivers(struct row *r)
{
    put_count(r, jgetc(r->spec, "drivers"));
}

/* ---- workloads ---- */

static void pod_template_containers(struct row *r)
{
    row_add_joined(r, jpath(obj_root(r->o), "template.spec.containers"), STR("name"));
    row_put_text(r, "");
}

static void pod_template_images(struct row *r)
{
    row_add_joined(r, jpath(obj_root(r->o), "template.spec.containers"), STR("image"));
    row_put_text(r, "");
}

static void pod_template_labels(struct row *r)
{
    row_put_map(r, jpath(obj_root(r->o), "template.metadata.labels"));
}

static void controller_selector(struct row *r)
{
    row_put_map(r, jgetc(r->spec, "selector"));
}

static void daemon_nodes(struct row *r)
{
    row_put_map(r, jpath(r->spec, "template.spec.nodeSelector"));
}

static void job_status(struct row *r)
{
    static const char *const ends[] = {"Complete",  "Failed",        NULL,
                                       "Suspended", "FailureTarget", "SuccessCriteriaMet"};
    jval conditions = jgetc(r->status, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (ends[i] ? condition_is_true(conditions, str_of(ends[i])) : r->o->deleting) {
            jw_str(r->w, str_of(ends[i] ? ends[i] : "Terminating"));
            return;
        }
    }
    jw_str(r->w, STR("Running"));
}

static void job_completions(struct row *r)
{
    long long done = jint(jgetc(r->status, "succeeded"), 0);
    jval all = jgetc(r->spec, "completions");
    long long parallel = jint(jgetc(r->spec, "parallelism"), 0);
    if (j_has(all))
        jw_printf(r->w, "%lld/%lld", done, (long long)jint(all, 0));
    else if (parallel > 1)
        jw_printf(r->w, "%lld/1 of %lld", done, parallel);
    else
        jw_printf(r->w, "%lld/1", done);
}

static void job_duration(struct row *r)
{
    jval start = jgetc(r->status, "startTime"), end = jgetc(r->status, "completionTime");
    if (j_has(start))
        time_format_age((j_has(end) ? time_of(end) : r->now) - time_of(start), &r->text);
    row_put_text(r, "");
}

static void cron_suspend(struct row *r)
{
    put_bool(r, jgetc(r->spec, "suspend"));
}

static void cron_active(struct row *r)
{
    put_count(r, jgetc(r->status, "active"));
}

static void cron_last(struct row *r)
{
    jval last = jgetc(r->status, "lastScheduleTime");
    if (j_has(last))
        time_format_age(r->now - time_of(last), &r->text);
    row_put_text(r, NONE);
}

static void cron_containers(struct row *r)
{
    row_add_joined(r, jpath(r->spec, "jobTemplate.spec.template.spec.containers"), STR("name"));
    row_put_text(r, "");
}

static void cron_images(struct row *r)
{
    row_add_joined(r, jpath(r->spec, "jobTemplate.spec.template.spec.containers"), STR("image"));
    row_put_text(r, "");
}

static void cron_selector(struct row *r)
{
    put_selector(r, jpath(r->spec, "jobTemplate.spec.selector"));
}

/* ---- network ---- */

static void ingress_hosts(struct row *r)
{
    enum { SHOWN = 3 };
    size_t n = 0;
    for (struct jiter it = jiter(jgetc(r->spec, "rules")); jnext(&it);) {
        str host = jstr(jgetc(it.value, "host"));
        if (n++ >= SHOWN)
            continue;
        strbuf_printf(&r->text, "%s%.*s", n > 1 ? "," : "", STR_ARG(host.len ? host : STR("*")));
    }
    if (n > SHOWN)
        strbuf_printf(&r->text, " + %zu more...", n - SHOWN);
    row_put_text(r, "*");
}

static void ingress_address(struct row *r)
{
    row_add_ingress(r);
    row_put_text(r, "");
}

static void ingress_ports(struct row *r)
{
    jw_str(r->w, jlen(jgetc(r->spec, "tls")) ? STR("80, 443") : STR("80"));
}

static void ingress_parameters(struct row *r)
{
    jval p = jgetc(r->spec, "parameters");
    str group = jstr(jgetc(p, "apiGroup"));
    if (j_has(p))
        strbuf_printf(&r->text, "%.*s%s%.*s/%.*s", STR_ARG(jstr(jgetc(p, "kind"))),
                      group.len ? "." : "", STR_ARG(group), STR_ARG(jstr(jgetc(p, "name"))));
    row_put_text(r, NONE);
}

static void policy_pods(struct row *r)
{
    put_selector(r, jgetc(r->spec, "podSelector"));
}

static void address_parent(struct row *r)
{
    jval p = jgetc(r->spec, "parentRef");
    str group = jstr(jgetc(p, "group")), ns = jstr(jgetc(p, "namespace"));
    if (j_has(p))
        strbuf_printf(&r->text, "%.*s%s%.*s%s%.*s/%.*s", STR_ARG(jstr(jgetc(p, "resource"))),
                      group.len ? "." : "", STR_ARG(group), ns.len ? "/" : "", STR_ARG(ns),
                      STR_ARG(jstr(jgetc(p, "name"))));
    row_put_text(r, NONE);
}

static void service_cidrs(struct row *r)
{
    row_add_joined(r, jgetc(r->spec, "cidrs"), STR_NONE);
    row_put_text(r, "");
}

/* ---- certificates ---- */

static void signing_duration(struct row *r)
{
    jval v = jgetc(r->spec, "expirationSeconds");
    if (j_has(v))
        time_format_age(jint(v, 0) * USEC_PER_SEC, &r->text);
    row_put_text(r, NONE);
}

static void signing_condition(struct row *r)
{
    jval conditions = jgetc(r->status, "conditions");
    bool denied = j_has(condition_find(conditions, STR("Denied")));
    bool approved = j_has(condition_find(conditions, STR("Approved")));
    bool failed = j_has(condition_find(conditions, STR("Failed")));
    bool issued = jstr(jgetc(r->status, "certificate")).len > 0;
    jw_printf(r->w, "%s%s%s",
              denied     ? "Denied"
              : approved ? "Approved"
                         : "Pending",
              failed ? ",Failed" : "", issued ? ",Issued" : "");
}

/* ---- policies ---- */

static void policy_validations(struct row *r)
{
    put_count(r, jgetc(r->spec, "validations"));
}

static void policy_mutations(struct row *r)
{
    put_count(r, jgetc(r->spec, "mutations"));
}

static void policy_params(struct row *r)
{
    jval p = jgetc(r->spec, "paramKind");
    if (j_has(p))
        strbuf_printf(&r->text, "%.*s/%.*s", STR_ARG(jstr(jgetc(p, "apiVersion"))),
                      STR_ARG(jstr(jgetc(p, "kind"))));
    row_put_text(r, UNSET);
}

static void binding_params(struct row *r)
{
    jval p = jgetc(r->spec, "paramRef");
    str ns = jstr(jgetc(p, "namespace")), name = jstr(jgetc(p, "name"));
    if (name.len)
        strbuf_printf(&r->text, "%.*s%s%.*s", STR_ARG(ns), ns.len ? "/" : "", STR_ARG(name));
    else if (j_has(p))
        strbuf_add_cstr(&r->text, "*");
    row_put_text(r, UNSET);
}

/* ---- flow control, API services ---- */

static void flow_missing(struct row *r)
{
    jval dangling = condition_find(jgetc(r->status, "conditions"), STR("Dangling"));
    put_word(r, jstr(jgetc(dangling, "status")), "?");
}

static void put_number(struct row *r, jval v)
{
    if (j_has(v))
        jw_val(r->w, v);
    else
        jw_str(r->w, STR(NONE));
}

static void level_shares(struct row *r)
{
    jval v = jpath(r->spec, "limited.nominalConcurrencyShares");
    put_number(r, j_has(v) ? v : jpath(r->spec, "exempt.nominalConcurrencyShares"));
}

static void level_queues(struct row *r)
{
    put_number(r, jpath(r->spec, "limited.limitResponse.queuing.queues"));
}

static void level_hand(struct row *r)
{
    put_number(r, jpath(r->spec, "limited.limitResponse.queuing.handSize"));
}

static void level_length(struct row *r)
{
    put_number(r, jpath(r->spec, "limited.limitResponse.queuing.queueLengthLimit"));
}

static void api_service_target(struct row *r)
{
    jval s = jgetc(r->spec, "service");
    if (j_has(s))
        strbuf_printf(&r->text, "%.*s/%.*s", STR_ARG(jstr(jgetc(s, "namespace"))),
                      STR_ARG(jstr(jgetc(s, "name"))));
    row_put_text(r, "Local");
}

static void api_service_available(struct row *r)
{
    jval c = condition_find(jgetc(r->status, "conditions"), STR("Available"));
    str is = jstr(jgetc(c, "status"));
    if (str_is(is, "True"))
        strbuf_add_str(&r->text, is);
    else if (is.len)
        strbuf_printf(&r->text, "%.*s (%.*s)", STR_ARG(is), STR_ARG(jstr(jgetc(c, "reason"))));
    row_put_text(r, "Unknown");
}

/* ---- cells by kind and column ---- */

static const struct cell cells[] = {
    {"PodTemplate", "Containers", pod_template_containers, NULL, NULL},
    {"PodTemplate", "Images", pod_template_images, NULL, NULL},
    {"PodTemplate", "Pod Labels", pod_template_labels, NULL, NULL},
    {"ReplicationController", "Desired", NULL, "spec.replicas", NULL},
    {"ReplicationController", "Current", NULL, "status.replicas", NULL},
    {"ReplicationController", "Ready", NULL, "status.readyReplicas", NULL},
    {"ReplicationController", "Selector", controller_selector, NULL, NULL},
    {"PersistentVolume", "Capacity", NULL, "spec.capacity.storage", ""},
    {"PersistentVolume", "Access Modes", volume_modes, NULL, NULL},
    {"PersistentVolume", "Status", volume_status, NULL, NULL},
    {"PersistentVolume", "Claim", volume_claim, NULL, NULL},
    {"PersistentVolume", "VolumeAttributesClass", NULL, "spec.volumeAttributesClassName", UNSET},
    {"PersistentVolume", "VolumeMode", NULL, "spec.volumeMode", UNSET},
    {"PersistentVolumeClaim", "Status", volume_status, NULL, NULL},
    {"PersistentVolumeClaim", "Capacity", claim_capacity, NULL, NULL},
    {"PersistentVolumeClaim", "Access Modes", claim_modes, NULL, NULL},
    {"PersistentVolumeClaim", "VolumeAttributesClass", NULL, "spec.volumeAttributesClassName",
     UNSET},
    {"PersistentVolumeClaim", "VolumeMode", NULL, "spec.volumeMode", UNSET},
    {"DaemonSet", "Node Selector", daemon_nodes, NULL, NULL},
    {"Job", "Status", job_status, NULL, NULL},
    {"Job", "Completions", job_completions, NULL, NULL},
    {"Job", "Duration", job_duration, NULL, NULL},
    {"CronJob", "Timezone", NULL, "spec.timeZone", NONE},
    {"CronJob", "Suspend", cron_suspend, NULL, NULL},
    {"CronJob", "Active", cron_active, NULL, NULL},
    {"CronJob", "Last Schedule", cron_last, NULL, NULL},
    {"CronJob", "Containers", cron_containers, NULL, NULL},
    {"CronJob", "Images", cron_images, NULL, NULL},
    {"CronJob", "Selector", cron_selector, NULL, NULL},
    {"CSIDriver", "TokenRequests", driver_tokens, NULL, NULL},
    {"CSIDriver", "Modes", driver_modes, NULL, NULL},
    {"CSINode", "Drivers", node_drivers, NULL, NULL},
    {"CSIStorageCapacity", "Capacity", NULL, "capacity", UNSET},
    {"StorageClass", "Name", class_name, NULL, NULL},
    {"VolumeAttachment", "PV", NULL, "spec.source.persistentVolumeName", ""},
    {"Ingress", "Class", NULL, "spec.ingressClassName", NONE},
    {"Ingress", "Hosts", ingress_hosts, NULL, NULL},
    {"Ingress", "Address", ingress_address, NULL, NULL},
    {"Ingress", "Ports", ingress_ports, NULL, NULL},
    {"IngressClass", "Parameters", ingress_parameters, NULL, NULL},
    {"NetworkPolicy", "Pod-Selector", policy_pods, NULL, NULL},
    {"IPAddress", "ParentRef", address_parent, NULL, NULL},
    {"ServiceCIDR", "CIDRs", service_cidrs, NULL, NULL},
    {"CertificateSigningRequest", "RequestedDuration", signing_duration, NULL, NULL},
    {"CertificateSigningRequest", "Condition", signing_condition, NULL, NULL},
    {"ValidatingAdmissionPolicy", "Validations", policy_validations, NULL, NULL},
    {"ValidatingAdmissionPolicy", "ParamKind", policy_params, NULL, NULL},
    {"ValidatingAdmissionPolicyBinding", "ParamRef", binding_params, NULL, NULL},
    {"MutatingAdmissionPolicy", "Mutations", policy_mutations, NULL, NULL},
    {"MutatingAdmissionPolicy", "ParamKind", policy_params, NULL, NULL},
    {"MutatingAdmissionPolicyBinding", "ParamRef", binding_params, NULL, NULL},
    {"FlowSchema", "DistinguisherMethod", NULL, "spec.distinguisherMethod.type", NONE},
    {"FlowSchema", "MissingPL", flow_missing, NULL, NULL},
    {"PriorityLevelConfiguration", "NominalConcurrencyShares", level_shares, NULL, NULL},
    {"PriorityLevelConfiguration", "Queues", level_queues, NULL, NULL},
    {"PriorityLevelConfiguration", "HandSize", level_hand, NULL, NULL},
    {"PriorityLevelConfiguration", "QueueLengthLimit", level_length, NULL, NULL},
    {"APIService", "Service", api_service_target, NULL, NULL},
    {"APIService", "Available", api_service_available, NULL, NULL},
};

const struct cell *table_cell_kept(const struct kind *k, const char *column)
{
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        if (strcmp(k->kind, cells[i].kind) == 0 && strcmp(column, cells[i].column) == 0)
            return &cells[i];
    }
    return NULL;
}
