/* See service_backends.h. */
#include "controllers/service_backends.h"

#include "grove/pod.h"

#define ZERO_IP "None"

/* ---- services ---- */

bool service_selects(const struct obj *service)
{
    jval spec = obj_spec(service);
    return jlen(jgetc(spec, "selector")) > 0 && !str_is(jstr(jgetc(spec, "type")), "ExternalName");
}

bool service_is_headless(const struct obj *service)
{
    str ip = jstr(jgetc(obj_spec(service), "clusterIP"));
    return !ip.len || str_is(ip, ZERO_IP);
}

const char *service_family(const struct obj *service, size_t i)
{
    jval families = jgetc(obj_spec(service), "ipFamilies");
    if (jlen(families) == 0)
        return i == 0 ? "IPv4" : NULL;
    if (i >= jlen(families))
        return NULL;
    return str_is(jstr(jat(families, i)), "IPv6") ? "IPv6" : "IPv4";
}

static bool publishes_all(const struct obj *service)
{
    return j_is_true(jgetc(obj_spec(service), "publishNotReadyAddresses"));
}

/* ---- ports ---- */

static bool has_port(jval containers, bool sidecars, str name, str protocol, int64_t *ret)
{
    for (struct jiter c = jiter(containers); jnext(&c);) {
        if (sidecars && !str_is(jstr(jgetc(c.value, "restartPolicy")), "Always"))
            continue;
        for (struct jiter it = jiter(jgetc(c.value, "ports")); jnext(&it);) {
            str own = jstr(jgetc(it.value, "protocol"));
            if (str_eq(jstr(jgetc(it.value, "name")), name) &&
                str_eq(own.len ? own : STR("TCP"), protocol)) {
                *ret = jint(jgetc(it.value, "containerPort"), 0);
                return true;
            }
        }
    }
    return false;
}

static str protocol_of(jval port)
{
    str protocol = jstr(jgetc(port, "protocol"));
    return protocol.len ? protocol : STR("TCP");
}

/* The number that a port of the Service has in this pod; 0: it has none. */
static int64_t port_in(const struct obj *pod, jval port)
{
    jval target = jgetc(port, "targetPort"), spec = obj_spec(pod);
    int64_t number = 0;
    if (jtype(target) != J_STRING) {
        number = jint(target, 0);
        return number ? number : jint(jgetc(port, "port"), 0);
    }
    if (!has_port(jgetc(spec, "containers"), false, jstr(target), protocol_of(port), &number))
        (void)has_port(jgetc(spec, "initContainers"), true, jstr(target), protocol_of(port),
                       &number);
    return number;
}

static size_t group_of(struct backends *b, const struct obj *pod, struct arena *a)
{
    jval ports = jgetc(obj_spec(b->service), "ports");
    size_t n = jlen(ports), size = n * sizeof(int64_t);
    int64_t *numbers = arena_alloc(a, MAX(size, sizeof(int64_t)));
    for (struct jiter it = jiter(ports); jnext(&it);)
        numbers[it.index] = port_in(pod, it.value);
    for (size_t i = 0; i < b->groups.len; i++) {
        if (size == 0 || memcmp(b->groups.p[i].numbers, numbers, size) == 0)
            return i;
    }
    *vec_push(&b->groups) = (struct port_group){numbers};
    return b->groups.len - 1;
}

void backends_put_ports(const struct backends *b, struct jw *w, size_t group, bool named)
{
    jw_array(w);
    for (struct jiter it = jiter(jgetc(obj_spec(b->service), "ports")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        int64_t number = b->groups.p[group].numbers[it.index];
        if (number == 0)
            continue;
        jw_object(w);
        if (j_has(jgetc(it.value, "appProtocol")))
            jw_put(w, "appProtocol", jgetc(it.value, "appProtocol"));
        if (named || name.len)
            jw_put_str(w, "name", name);
        jw_put_int(w, "port", number);
        jw_put_str(w, "protocol", protocol_of(it.value));
        jw_end(w);
    }
    jw_end(w);
}

/* ---- pods ---- */

static str ip_of(const struct obj *pod, const char *family)
{
    jval status = obj_status(pod);
    bool six = str_is(str_of(family), "IPv6");
    str ip = jstr(jgetc(status, "podIP"));
    if (ip.len && (str_find_char(ip, ':') >= 0) == six)
        return ip;
    for (struct jiter it = jiter(jgetc(status, "podIPs")); jnext(&it);) {
        ip = jstr(jgetc(it.value, "ip"));
        if (ip.len && (str_find_char(ip, ':') >= 0) == six)
            return ip;
    }
    return STR_NONE;
}

static bool is_selected(jval selector, const struct obj *pod)
{
    for (struct jiter it = jiter(selector); jnext(&it);) {
        if (!str_eq(obj_label(pod, it.key), jstr(it.value)))
            return false;
    }
    return true;
}

void backends_of(struct backends *b, const struct world *w, const struct obj *service,
                 const char *family, struct arena *a)
{
    jval selector = jgetc(obj_spec(service), "selector");
    bool all = publishes_all(service);
    *b = (struct backends){.service = service};
    struct cache_iter it = service_pods(w, service, a);
    for (const struct obj *pod; (pod = cache_next(&it));) {
        str ip = ip_of(pod, family);
        if (!ip.len || pod_is_finished(pod) || !is_selected(selector, pod))
            continue;
        const struct obj *node =
            world_get(w, &kind_node, STR_NONE, jstr(jgetc(obj_spec(pod), "nodeName")));
        if (!node && !all)
            continue;
        bool serving = pod_is_ready(pod);
        *vec_push(&b->list) = (struct backend){
            .pod = pod,
            .node = node,
            .ip = ip,
            .serving = serving,
            .terminating = pod->deleting,
            .ready = all || (serving && !pod->deleting),
            .group = group_of(b, pod, a),
        };
    }
}

void backends_done(struct backends *b)
{
    vec_done(&b->list);
    vec_done(&b->groups);
}

void backends_put_target(struct jw *w, const struct obj *pod)
{
    jw_put_object(w, "targetRef");
    jw_put_cstr(w, "kind", "Pod");
    jw_put_str(w, "name", pod->name);
    jw_put_str(w, "namespace", pod->ns);
    jw_put_str(w, "uid", pod->uid);
    jw_end(w);
}

str backends_hostname(const struct obj *service, const struct obj *pod)
{
    jval spec = obj_spec(pod);
    return str_eq(jstr(jgetc(spec, "subdomain")), service->name) ? jstr(jgetc(spec, "hostname"))
                                                                 : STR_NONE;
}

/* ---- labels ---- */

static bool is_own(const struct own_labels *own, str name)
{
    for (size_t i = 0; i < own->n; i++) {
        if (str_is(name, own->names[i]))
            return true;
    }
    return false;
}

bool labels_are(jval have, jval of_service, const struct own_labels *own)
{
    size_t n = own->n;
    for (size_t i = 0; i < own->n; i++) {
        jval v = jget(have, str_of(own->names[i]));
        if (!j_has(v) || !str_eq(jstr(v), own->values[i]))
            return false;
    }
    for (struct jiter it = jiter(of_service); jnext(&it);) {
        if (is_own(own, it.key))
            continue;
        n++;
        if (!str_eq(jstr(jget(have, it.key)), jstr(it.value)))
            return false;
    }
    return jlen(have) == n;
}

void labels_put_patch(struct jw *w, jval have, jval of_service, const struct own_labels *own)
{
    jw_put_object(w, "labels");
    for (struct jiter it = jiter(have); jnext(&it);) {
        if (!is_own(own, it.key) && !j_has(jget(of_service, it.key))) {
            jw_key(w, it.key);
            jw_null(w);
        }
    }
    for (struct jiter it = jiter(of_service); jnext(&it);) {
        if (is_own(own, it.key))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    for (size_t i = 0; i < own->n; i++)
        jw_put_str(w, own->names[i], own->values[i]);
    jw_end(w);
}
