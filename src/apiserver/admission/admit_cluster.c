/*
 * Admission of what a cluster is run with (storage, network, policies, flow control) where the
 * server only keeps it: two tables of rules that many kinds share, and a small function for what is
 * left. In kube-apiserver's words. Pure; the rows of the kinds stand in admit.c.
 */
#include <arpa/inet.h>

#include "apiserver/admission/admit_impl.h"

static void invalid(const struct admit *a, str path, jval v, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, path, j_has(v) ? jtext(v) : STR("null"), "%s",
                    why);
}

static void require(const struct admit *a, str path, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_REQUIRED, path, STR_NONE, "%s", why);
}

/* ---- rules as tables ---- */

/* What says nothing is missing. */
static const struct {
    const struct kind *kind;
    const char *path;
} needed[] = {
    {&kind_storage_class, "provisioner"},
    {&kind_volume_attributes_class, "driverName"},
    {&kind_volume_attachment, "spec.attacher"},
    {&kind_volume_attachment, "spec.nodeName"},
    {&kind_csi_storage_capacity, "storageClassName"},
    {&kind_persistent_volume, "spec.capacity"},
    {&kind_persistent_volume, "spec.accessModes"},
    {&kind_persistent_volume_claim, "spec.accessModes"},
    {&kind_persistent_volume_claim, "spec.resources.requests[storage]"},
    {&kind_service_cidr, "spec.cidrs"},
    {&kind_ip_address, "spec.parentRef.resource"},
    {&kind_ip_address, "spec.parentRef.name"},
    {&kind_runtime_class, "handler"},
    {&kind_flow_schema, "spec.priorityLevelConfiguration.name"},
    {&kind_cluster_trust_bundle, "spec.trustBundle"},
    {&kind_lease_candidate, "spec.leaseName"},
    {&kind_lease_candidate, "spec.binaryVersion"},
    {&kind_lease_candidate, "spec.strategy"},
    {&kind_validating_policy, "spec.matchConstraints"},
    {&kind_validating_policy_binding, "spec.policyName"},
    {&kind_validating_policy_binding, "spec.validationActions"},
    {&kind_mutating_policy, "spec.matchConstraints"},
    {&kind_mutating_policy, "spec.mutations"},
    {&kind_mutating_policy, "spec.reinvocationPolicy"},
    {&kind_mutating_policy_binding, "spec.policyName"},
    {&kind_storage_migration, "spec.resource.resource"},
};

/* What stays as it was made. */
static const struct {
    const struct kind *kind;
    const char *path;
    bool forbidden; /* said in the older way */
} fixed[] = {
    {&kind_storage_class, "parameters", true},
    {&kind_storage_class, "provisioner", true},
    {&kind_storage_class, "reclaimPolicy", true},
    {&kind_storage_class, "volumeBindingMode", false},
    {&kind_volume_attributes_class, "driverName", true},
    {&kind_volume_attributes_class, "parameters", true},
    {&kind_volume_attachment, "spec", false},
    {&kind_csi_driver, "spec.attachRequired", false},
    {&kind_csi_driver, "spec.fsGroupPolicy", false},
    {&kind_csi_driver, "spec.volumeLifecycleModes", false},
    {&kind_csi_storage_capacity, "nodeTopology", false},
    {&kind_csi_storage_capacity, "storageClassName", false},
    {&kind_persistent_volume, "spec.volumeMode", false},
    {&kind_ingress_class, "spec.controller", false},
    {&kind_ip_address, "spec.parentRef", false},
    {&kind_runtime_class, "handler", false},
    {&kind_cluster_trust_bundle, "spec.signerName", false},
    {&kind_pod_certificate_request, "spec", false},
    {&kind_priority_level, "spec.type", false},
    {&kind_scheduling_pod_group, "spec", false},
    {&kind_composite_pod_group, "spec", false},
    {&kind_pool_status_request, "spec", false},
    {&kind_storage_migration, "spec", false},
};

/* A path of members, the last one in brackets when it has dots. */
static bool is_missing(jval root, const char *path)
{
    str s = str_of(path);
    ptrdiff_t open = str_find_char(s, '[');
    struct strbuf b = STRBUF_INIT(256);
    strbuf_add_str(&b, open < 0 ? s : str_sub(s, 0, (size_t)open));
    jval v = jpath(root, b.p);
    strbuf_done(&b);
    if (open >= 0)
        v = jget(v, str_sub(s, (size_t)open + 1, s.len - 1));
    /* An object says something by being there; where it is a map, it says what is in it. */
    bool empty = jtype(v) == J_STRING ? !jstr(v).len : jtype(v) == J_ARRAY && !jlen(v);
    return !j_has(v) || empty;
}

void kept_validate(const struct admit *a, jval root)
{
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (needed[i].kind == a->kind && is_missing(root, needed[i].path))
            require(a, str_of(needed[i].path), "");
    for (size_t i = 0; a->old && i < ARRAY_LEN(fixed); i++) {
        if (fixed[i].kind != a->kind)
            continue;
        jval is = jpath(root, fixed[i].path);
        if (jequal(jpath(obj_root(a->old), fixed[i].path), is))
            continue;
        if (fixed[i].forbidden)
            field_error_add(a->errors, FIELD_ERR_FORBIDDEN, str_of(fixed[i].path), STR_NONE,
                            "updates to %s are forbidden.", fixed[i].path);
        else
            invalid(a, str_of(fixed[i].path), is, "field is immutable");
    }
}

/* ---- volumes ---- */

void volume_mutate(const struct admit *a, jval root, struct edit *e)
{
    (void)root;
    if (!a->old)
        edit_set_raw(e, STR("/status/phase"), STR("\"Pending\""));
}

/* Everything of a volume that is not about the volume as such is where it comes from. */
static size_t count_sources(jval spec)
{
    static const char *const others[] = {"capacity",
                                         "accessModes",
                                         "claimRef",
                                         "persistentVolumeReclaimPolicy",
                                         "storageClassName",
                                         "volumeMode",
                                         "mountOptions",
                                         "nodeAffinity",
                                         "volumeAttributesClassName"};
    size_t n = 0;
    for (struct jiter it = jiter(spec); jnext(&it);) {
        bool other = !j_has(it.value);
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            other |= str_is(it.key, others[i]);
        n += !other;
    }
    return n;
}

void volume_validate(const struct admit *a, jval root)
{
    size_t sources = count_sources(jgetc(root, "spec"));
    kept_validate(a, root);
    if (!sources)
        require(a, STR("spec"), "must specify a volume type");
    else if (sources > 1)
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec"), STR_NONE,
                        "may not specify more than 1 volume type");
}

/* A claim may grow, change its attributes, and be given a volume. */
static bool is_same_claim(jval was, jval is)
{
    static const char *const kept[] = {"accessModes", "selector",   "storageClassName",
                                       "volumeMode",  "dataSource", "dataSourceRef"};
    bool same = true;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        same &= jequal(jget(was, str_of(kept[i])), jget(is, str_of(kept[i])));
    bool bound = jstr(jgetc(was, "volumeName")).len > 0;
    return same && (!bound || jequal(jgetc(was, "volumeName"), jgetc(is, "volumeName")));
}

void claim_validate(const struct admit *a, jval root)
{
    kept_validate(a, root);
    if (a->old && !is_same_claim(obj_spec(a->old), jgetc(root, "spec")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec"), STR_NONE,
                        "spec is immutable after creation except resources.requests and "
                        "volumeAttributesClassName for bound claims");
}

void attachment_validate(const struct admit *a, jval root)
{
    jval source = jpath(root, "spec.source");
    bool named = jstr(jgetc(source, "persistentVolumeName")).len > 0;
    kept_validate(a, root);
    if (named == j_has(jgetc(source, "inlineVolumeSpec")))
        require(a, STR("spec.source"),
                "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
}

/* ---- network ---- */

void network_policy_default(const struct admit *a, jval root, struct edit *e)
{
    (void)a;
    jval spec = jgetc(root, "spec");
    if (!jlen(jgetc(spec, "policyTypes")) && j_has(spec))
        edit_set_raw(e, STR("/spec/policyTypes"),
                     jlen(jgetc(spec, "egress")) ? STR("[\"Ingress\",\"Egress\"]")
                                                 : STR("[\"Ingress\"]"));
}

void network_policy_validate(const struct admit *a, jval root)
{
    for (struct jiter it = jiter(jpath(root, "spec.policyTypes")); jnext(&it);)
        if (!str_is(jstr(it.value), "Ingress") && !str_is(jstr(it.value), "Egress"))
            field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                            admit_path(a, "spec.policyTypes[%zu]", it.index), jtext(it.value),
                            "supported values: \"Egress\", \"Ingress\"");
}

static void check_backend(const struct admit *a, jval backend, str path)
{
    jval service = jgetc(backend, "service"), port = jgetc(service, "port");
    if (j_has(service) == j_has(jgetc(backend, "resource")))
        invalid(a, path, backend, "exactly one of `resource` or `service` must be set");
    else if (j_has(service) && !jstr(jgetc(port, "name")).len && !jint(jgetc(port, "number"), 0))
        require(a, path, "port name or number is required");
}

static void check_paths(const struct admit *a, jval rule, size_t i)
{
    for (struct jiter it = jiter(jpath(rule, "http.paths")); jnext(&it);) {
        str at = admit_path(a, "spec.rules[%zu].http.paths[%zu]", i, it.index);
        jval path = jgetc(it.value, "path");
        bool free_form = str_is(jstr(jgetc(it.value, "pathType")), "ImplementationSpecific");
        if (jstr(path).len ? jstr(path).p[0] != '/' : !free_form)
            invalid(a, admit_path(a, "%s.path", at.p), path, "must be an absolute path");
        check_backend(a, jgetc(it.value, "backend"), admit_path(a, "%s.backend", at.p));
    }
}

void ingress_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), dflt = jgetc(spec, "defaultBackend");
    if (!j_has(dflt) && !jlen(jgetc(spec, "rules")))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec"), STR("null"),
                        "either `defaultBackend` or `rules` must be specified");
    if (j_has(dflt))
        check_backend(a, dflt, STR("spec.defaultBackend"));
    for (struct jiter it = jiter(jgetc(spec, "rules")); jnext(&it);)
        check_paths(a, it.value, it.index);
}

static bool is_address(str s)
{
    unsigned char buf[sizeof(struct in6_addr)];
    char text[INET6_ADDRSTRLEN];
    if (s.len >= sizeof(text))
        return false;
    memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    return inet_pton(AF_INET, text, buf) == 1 || inet_pton(AF_INET6, text, buf) == 1;
}

void ip_address_validate(const struct admit *a, jval root)
{
    jval name = jpath(root, "metadata.name");
    kept_validate(a, root);
    if (!is_address(jstr(name)))
        invalid(a, STR("metadata.name"), name,
                "must be a valid IP address, (e.g. 10.9.8.7 or "
                "2001:db8::ffff)");
}

void service_cidr_validate(const struct admit *a, jval root)
{
    kept_validate(a, root);
    for (struct jiter it = jiter(jpath(root, "spec.cidrs")); jnext(&it);) {
        str bits = jstr(it.value), address = str_cut(&bits, '/');
        uint64_t n;
        if (!is_address(address) || !str_to_uint(bits, &n) || n > 128)
            invalid(a, admit_path(a, "spec.cidrs[%zu]", it.index), it.value,
                    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
    jval was = a->old ? jgetc(obj_spec(a->old), "cidrs") : JVAL_ABSENT;
    if (a->old && !jequal(was, jpath(root, "spec.cidrs")))
        invalid(a, STR("spec.cidrs"), jpath(root, "spec.cidrs"), "field is immutable");
}

/* ---- flow control ---- */

void flow_schema_validate(const struct admit *a, jval root)
{
    jval precedence = jpath(root, "spec.matchingPrecedence");
    int64_t n = jint(precedence, 1000);
    kept_validate(a, root);
    if (n < 1 || n > 10000)
        invalid(a, STR("spec.matchingPrecedence"), precedence,
                n < 1 ? "must be a positive value" : "must not be greater than 10000");
}

void priority_level_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), response = jpath(spec, "limited.limitResponse");
    str type = jstr(jgetc(spec, "type"));
    kept_validate(a, root);
    if (str_is(type, "Limited") && !j_has(jgetc(spec, "limited")))
        require(a, STR("spec.limited"), "must not be empty when type is Limited");
    if (str_is(type, "Exempt") && j_has(jgetc(spec, "limited")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec.limited"), STR_NONE,
                        "must be nil if the type is not Limited");
    if (str_is(jstr(jgetc(response, "type")), "Queue") && !j_has(jgetc(response, "queuing")))
        require(a, STR("spec.limited.limitResponse.queuing"),
                "must not be empty if and only if limit response type is Queue");
}

/* ---- policies ---- */

void validating_policy_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    kept_validate(a, root);
    if (!jlen(jgetc(spec, "validations")) && !jlen(jgetc(spec, "auditAnnotations")))
        require(a, STR("spec.validations"), "validations or auditAnnotations must be specified");
}

/* ---- API services ---- */

/* What no other server serves, this one does. */
void api_service_mutate(const struct admit *a, jval root, struct edit *e)
{
    struct strbuf now = STRBUF_INIT(64);
    if (a->old || j_has(jpath(root, "spec.service")))
        return;
    time_format_rfc3339(a->now, &now);
    edit_set_raw(e, STR("/status/conditions"),
                 admit_path(a,
                            "[{\"type\":\"Available\",\"status\":\"True\",\"lastTransitionTime\":"
                            "\"%.*s\",\"reason\":\"Local\",\"message\":\"Local APIServices are "
                            "always available\"}]",
                            STR_ARG(strbuf_str(&now))));
    strbuf_done(&now);
}

void api_service_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), name = jpath(root, "metadata.name");
    str group = jstr(jgetc(spec, "group")), version = jstr(jgetc(spec, "version"));
    str want = admit_path(a, "%.*s.%.*s", STR_ARG(version), STR_ARG(group));
    if (!str_eq(jstr(name), want))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("metadata.name"), jtext(name),
                        "must be `spec.version+\".\"+spec.group`: \"%.*s\"", STR_ARG(want));
    if (!version.len)
        require(a, STR("spec.version"), "");
    if (j_has(jgetc(spec, "caBundle")) && j_is_true(jgetc(spec, "insecureSkipTLSVerify")))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.insecureSkipTLSVerify"),
                        STR("true"), "may not be true if caBundle is present");
}
