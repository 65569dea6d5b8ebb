/*
 * Services: defaults, cluster addresses and node ports. Addresses come from 10.96.0.0/16 and ports
 * from 30000-32767, the lowest free one first, so that a run that is repeated hands out the same.
 */
#include "apiserver/admission/admit_impl.h"
#include "base/vec.h"
#include "kube/former.h"

#define PORT_FIRST 30000
#define PORT_COUNT 2768
#define IP_COUNT 65536

/* ---- the pools ---- */

static bool bit_get(const uint8_t *bits, unsigned i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static void bit_set(uint8_t *bits, unsigned i, bool on)
{
    uint8_t mask = (uint8_t)(1u << (i % 8));
    bits[i / 8] = on ? bits[i / 8] | mask : bits[i / 8] & (uint8_t)~mask;
}

/* "10.96.3.4" → 0x0304; false for anything outside the range. */
static bool ip_index(str ip, unsigned *ret)
{
    uint64_t part[4];
    for (int i = 0; i < 4; i++) {
        str p = str_cut(&ip, '.');
        if (!str_to_uint(p, &part[i]) || part[i] > 255)
            return false;
    }
    *ret = (unsigned)(part[2] << 8 | part[3]);
    return str_is_empty(ip) && part[0] == 10 && part[1] == 96;
}

static bool port_index(jval port, unsigned *ret)
{
    int64_t p = jint(port, 0);
    if (p < PORT_FIRST || p >= PORT_FIRST + PORT_COUNT)
        return false;
    *ret = (unsigned)(p - PORT_FIRST);
    return true;
}

static void account(struct admit_pools *p, const struct obj *o, bool on)
{
    unsigned i;
    if (o->kind != &kind_service)
        return;
    if (ip_index(jstr(jgetc(obj_spec(o), "clusterIP")), &i))
        bit_set(p->ips, i, on);
    for (struct jiter it = jiter(jgetc(obj_spec(o), "ports")); jnext(&it);)
        if (port_index(jgetc(it.value, "nodePort"), &i))
            bit_set(p->ports, i, on);
}

void admit_taken(struct admit_pools *p, const struct obj *o)
{
    account(p, o, true);
}

void admit_freed(struct admit_pools *p, const struct obj *o)
{
    account(p, o, false);
}

static void fill(const struct admit *a)
{
    if (a->pools->filled)
        return;
    a->pools->filled = true;
    struct store_iter it = store_range(a->store, &kind_service, STR_NONE, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));)
        account(a->pools, o, true);
}

/* Lowest clear bit from `first` on, or `count`. */
static unsigned lowest_free(const uint8_t *bits, unsigned first, unsigned count)
{
    unsigned i = first;
    while (i < count && bit_get(bits, i))
        i++;
    return i;
}

/* ---- defaults ---- */

static bool has_cluster_ip(jval spec)
{
    return !str_is(jstr(jgetc(spec, "type")), "ExternalName");
}

static bool has_node_ports(jval spec)
{
    str type = jstr(jgetc(spec, "type"));
    return str_is(type, "NodePort") || str_is(type, "LoadBalancer");
}

/* An update that leaves out what was allocated means to keep it. */
static str wanted_ip(const struct admit *a, jval spec)
{
    str ip = jstr(jgetc(spec, "clusterIP"));
    if (!ip.len)
        ip = jstr(jat(jgetc(spec, "clusterIPs"), 0));
    if (!ip.len && a->old)
        ip = jstr(jgetc(obj_spec(a->old), "clusterIP"));
    return ip;
}

static str allocate_ip(const struct admit *a)
{
    fill(a);
    unsigned i = lowest_free(a->pools->ips, 1, IP_COUNT - 1);
    if (i == IP_COUNT - 1) {
        field_error_add(a->errors, FIELD_ERR_INTERNAL, STR("spec.clusterIPs"), STR_NONE,
                        "failed to allocate a serviceIP: range is full");
        return STR_NONE;
    }
    return admit_path(a, "10.96.%u.%u", i >> 8, i & 255);
}

static void check_free(const struct admit *a, str ip)
{
    unsigned i;
    const char *why = NULL;
    fill(a);
    if (!ip_index(ip, &i))
        why = "the provided network does not match the current range";
    else if (bit_get(a->pools->ips, i))
        why = "provided IP is already allocated";
    if (why)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.clusterIPs"),
                        admit_path(a, "[\"%.*s\"]", STR_ARG(ip)), "failed to allocate IP %.*s: %s",
                        STR_ARG(ip), why);
}

static void default_cluster_ip(const struct admit *a, jval spec, struct edit *e)
{
    str ip = wanted_ip(a, spec);
    if (!ip.len)
        ip = allocate_ip(a);
    else if (!a->old && !str_is(ip, "None"))
        check_free(a, ip);
    if (!ip.len)
        return;
    edit_set_str(e, STR("/spec/clusterIP"), ip);
    edit_set_raw(e, STR("/spec/clusterIPs"), admit_path(a, "[\"%.*s\"]", STR_ARG(ip)));
}

static void allocate_ports(const struct admit *a, jval spec, struct edit *e)
{
    unsigned next = 0;
    struct jiter had = jiter(a->old ? jgetc(obj_spec(a->old), "ports") : JVAL_ABSENT);
    for (struct jiter it = jiter(jgetc(spec, "ports")); jnext(&it);) {
        bool is_old = jnext(&had);
        if (jint(jgetc(it.value, "nodePort"), 0))
            continue;
        int64_t kept = is_old ? jint(jgetc(had.value, "nodePort"), 0) : 0;
        if (!kept) {
            fill(a);
            next = lowest_free(a->pools->ports, next, PORT_COUNT);
            if (next == PORT_COUNT)
                return;
            kept = PORT_FIRST + next++;
        }
        edit_set_int(e, admit_path(a, "/spec/ports/%zu/nodePort", it.index), kept);
    }
}

void service_default(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    if (jtype(spec) != J_OBJECT)
        return;
    for (struct jiter it = jiter(jgetc(spec, "ports")); jnext(&it);)
        if (!j_has(jgetc(it.value, "targetPort")))
            edit_set(e, admit_path(a, "/spec/ports/%zu/targetPort", it.index),
                     jgetc(it.value, "port"));
    if (has_cluster_ip(spec))
        default_raw(e, spec, "internalTrafficPolicy", "/spec/internalTrafficPolicy", "\"Cluster\"");
    if (has_node_ports(spec))
        default_raw(e, spec, "externalTrafficPolicy", "/spec/externalTrafficPolicy", "\"Cluster\"");
    if (str_is(jstr(jgetc(spec, "type")), "LoadBalancer"))
        default_raw(e, spec, "allocateLoadBalancerNodePorts", "/spec/allocateLoadBalancerNodePorts",
                    "true");
}

void service_mutate(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    if (jtype(spec) != J_OBJECT)
        return;
    if (has_node_ports(spec))
        allocate_ports(a, spec, e);
    if (has_cluster_ip(spec)) {
        default_cluster_ip(a, spec, e);
        default_raw(e, spec, "ipFamilies", "/spec/ipFamilies", "[\"IPv4\"]");
        default_raw(e, spec, "ipFamilyPolicy", "/spec/ipFamilyPolicy", "\"SingleStack\"");
    }
    if (!a->old)
        edit_set_raw(e, STR("/status"), STR("{\"loadBalancer\":{}}"));
}

/* ---- validation ---- */

/* Several ports are told apart by their names. */
static void validate_port_names(const struct admit *a, jval ports)
{
    struct former names = {.list = ports, .member = "name"};
    for (struct jiter it = jiter(ports); jlen(ports) > 1 && jnext(&it);) {
        jval name = jgetc(it.value, "name");
        str path = admit_path(a, "spec.ports[%zu].name", it.index);
        bool taken = former_has(&names, it.index, jstr(name));
        if (!jstr(name).len)
            field_error_add(a->errors, FIELD_ERR_REQUIRED, path, STR_NONE, NULL);
        else if (taken)
            field_error_add(a->errors, FIELD_ERR_DUPLICATE, path, jtext(name), NULL);
    }
    former_done(&names);
}

void service_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    str ip = jstr(jgetc(spec, "clusterIP"));
    str was = a->old ? jstr(jgetc(obj_spec(a->old), "clusterIP")) : STR_NONE;
    if (was.len && has_cluster_ip(spec) && !str_eq(ip, was))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.clusterIPs[0]"),
                        admit_path(a, "[\"%.*s\"]", STR_ARG(ip)), "may not change once set");
    if (!jlen(jgetc(spec, "ports")) && has_cluster_ip(spec) && !str_is(ip, "None"))
        field_error_add(a->errors, FIELD_ERR_REQUIRED, STR("spec.ports"), STR_NONE, NULL);
    for (struct jiter it = jiter(jgetc(spec, "ports")); jnext(&it);) {
        int64_t port = jint(jgetc(it.value, "port"), 0);
        if (port < 1 || port > 65535)
            field_error_add(
                a->errors, FIELD_ERR_INVALID, admit_path(a, "spec.ports[%zu].port", it.index),
                jtext(jgetc(it.value, "port")), "must be between 1 and 65535, inclusive");
    }
    validate_port_names(a, jgetc(spec, "ports"));
}
