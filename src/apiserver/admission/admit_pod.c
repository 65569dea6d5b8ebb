/*
 * Pods: the defaults that depend on other fields, what admission gives a new pod (identity,
 * tolerations, priority, quality of service, the state of a gated pod) and what a valid one is.
 * (What may be changed later: admit_pod_update.c.)
 */
#include "apiserver/admission/admit_impl.h"
#include "base/quantity.h"
#include "json/write.h"

/* ---- containers ---- */

static const char *const container_lists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};
/* Those before the ephemeral ones, which have no say in the class of service. */
enum { QOS_LISTS = 2 };

/* Without a tag, or with the tag "latest", an image may change behind its name. A colon before the
 * last slash belongs to a registry's port. */
static bool image_is_moving(str image)
{
    if (str_find_char(image, '@') >= 0)
        return false;
    ptrdiff_t slash = str_rfind_char(image, '/');
    str last = str_sub(image, (size_t)(slash + 1), image.len);
    ptrdiff_t colon = str_find_char(last, ':');
    return colon < 0 || str_is(str_sub(last, (size_t)colon + 1, last.len), "latest");
}

/* An amount that was written as a number, as the text it stands for. */
static str amount_text(const struct admit *a, jval v)
{
    struct quantity q;
    struct strbuf b = STRBUF_INIT(256);
    if (quantity_parse(jtext(v), &q, NULL) < 0)
        return STR_NONE;
    quantity_write(&q, &b);
    str text = arena_str(a->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static bool is_number(jval v)
{
    return jtype(v) == J_INT || jtype(v) == J_REAL;
}

static void amounts_default(const struct admit *a, jval resources, const char *base,
                            const char *list, size_t index, struct edit *e)
{
    static const char *const kinds[] = {"requests", "limits"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (struct jiter it = jiter(jget(resources, str_of(kinds[i]))); jnext(&it);) {
            str text = is_number(it.value) ? amount_text(a, it.value) : STR_NONE;
            if (text.len)
                edit_set_str(e,
                             admit_path(a, "%s/%s/%zu/resources/%s%.*s", base, list, index,
                                        kinds[i], STR_ARG(edit_path(a->arena, it.key))),
                             text);
        }
}

void containers_default(const struct admit *a, jval spec, const char *base, struct edit *e)
{
    for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
        for (struct jiter it = jiter(jget(spec, str_of(container_lists[l]))); jnext(&it);) {
            if (jlen(jgetc(it.value, "resources")))
                amounts_default(a, jgetc(it.value, "resources"), base, container_lists[l], it.index,
                                e);
            if (j_has(jgetc(it.value, "imagePullPolicy")))
                continue;
            bool moving = image_is_moving(jstr(jgetc(it.value, "image")));
            edit_set_str(
                e, admit_path(a, "%s/%s/%zu/imagePullPolicy", base, container_lists[l], it.index),
                moving ? STR("Always") : STR("IfNotPresent"));
        }
    }
}

/* What is limited and not asked for is asked for. */
static void requests_default(const struct admit *a, jval spec, struct edit *e)
{
    for (size_t l = 0; l < ARRAY_LEN(container_lists); l++) {
        for (struct jiter it = jiter(jget(spec, str_of(container_lists[l]))); jnext(&it);) {
            CLEANUP(jlookup_done)
            struct jlookup requests = jlookup(jpath(it.value, "resources.requests"));
            for (struct jiter r = jiter(jpath(it.value, "resources.limits")); jnext(&r);) {
                if (j_has(jlookup_get(&requests, r.key)))
                    continue;
                str index = admit_path(a, "%zu", it.index);
                str text = is_number(r.value) ? amount_text(a, r.value) : STR_NONE;
                str path = edit_path(a->arena, STR("spec"), str_of(container_lists[l]), index,
                                     STR("resources"), STR("requests"), r.key);
                if (text.len)
                    edit_set_str(e, path, text);
                else
                    edit_set(e, path, r.value);
            }
        }
    }
}

/* Of the network of its host, a pod has the ports it says. */
static void host_ports_default(const struct admit *a, jval spec, struct edit *e)
{
    for (size_t l = 0; l < QOS_LISTS && j_is_true(jgetc(spec, "hostNetwork")); l++) {
        for (struct jiter it = jiter(jget(spec, str_of(container_lists[l]))); jnext(&it);) {
            for (struct jiter p = jiter(jgetc(it.value, "ports")); jnext(&p);) {
                jval port = jgetc(p.value, "containerPort");
                if (jint(jgetc(p.value, "hostPort"), 0) == 0 && jint(port, 0) != 0)
                    edit_set(e,
                             admit_path(a, "/spec/%s/%zu/ports/%zu/hostPort", container_lists[l],
                                        it.index, p.index),
                             port);
            }
        }
    }
}

/* ---- resources of the whole pod ---- */

/* What a container asks for, or else its limit. */
static bool container_request(jval container, str name, struct quantity *ret)
{
    jval v = jget(jpath(container, "resources.requests"), name);
    if (!j_has(v))
        v = jget(jpath(container, "resources.limits"), name);
    return j_has(v) && quantity_parse(is_number(v) ? jtext(v) : jstr(v), ret, NULL) >= 0;
}

/* What the containers ask for together: those that run side by side, or one that comes before them
 * beside the sidecars started by then. False when none of them asks for any. */
static bool containers_request(jval spec, str name, struct quantity *ret)
{
    struct quantity q, sidecars = {0}, peak = {0};
    bool any = false;
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        struct quantity sum = sidecars;
        if (!container_request(it.value, name, &q) || !quantity_add(&sum, &q))
            continue;
        any = true;
        if (str_is(jstr(jgetc(it.value, "restartPolicy")), "Always"))
            sidecars = sum;
        if (quantity_cmp(&sum, &peak) > 0)
            peak = sum;
    }
    *ret = sidecars;
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);)
        any |= container_request(it.value, name, &q) && quantity_add(ret, &q);
    if (quantity_cmp(&peak, ret) > 0)
        *ret = peak;
    return any;
}

/* A pod that is limited as a whole asks for what its containers do, or for the limit. */
static void pod_requests_default(const struct admit *a, jval spec, struct edit *e)
{
    static const char *const counted[] = {"cpu", "memory"};
    jval resources = jgetc(spec, "resources"), requests = jgetc(resources, "requests");
    jval limits = jgetc(resources, "limits");
    CLEANUP(jlookup_done) struct jlookup asked_for = jlookup(requests);
    struct strbuf b = STRBUF_INIT(256);
    struct quantity q;
    for (size_t i = 0; i < ARRAY_LEN(counted) && jlen(limits); i++) {
        str name = str_of(counted[i]);
        bool asked = containers_request(spec, name, &q);
        if (j_has(jget(requests, name)) || (!asked && !j_has(jget(limits, name))))
            continue;
        strbuf_reset(&b);
        if (asked)
            quantity_write(&q, &b);
        str path = edit_path(a->arena, STR("spec"), STR("resources"), STR("requests"), name);
        if (asked)
            edit_set_str(e, path, arena_str(a->arena, strbuf_str(&b)));
        else
            edit_set(e, path, jget(limits, name));
    }
    for (struct jiter it = jiter(limits); jnext(&it);) {
        if (str_starts(it.key, STR("hugepages-")) && !j_has(jlookup_get(&asked_for, it.key)))
            edit_set(e, edit_path(a->arena, STR("spec"), STR("resources"), STR("requests"), it.key),
                     it.value);
    }
    strbuf_done(&b);
}

/* ---- admission of a new pod ---- */

static bool tolerates(jval tolerations, str key)
{
    for (struct jiter it = jiter(tolerations); jnext(&it);) {
        str k = jstr(jgetc(it.value, "key")), effect = jstr(jgetc(it.value, "effect"));
        if ((str_eq(k, key) || k.len == 0) && (effect.len == 0 || str_is(effect, "NoExecute")))
            return true;
    }
    return false;
}

static void default_tolerations(jval spec, struct edit *e)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    jval have = jgetc(spec, "tolerations");
    struct jw w;
    bool added = false;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(have); jnext(&it);)
        jw_val(&w, it.value);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (tolerates(have, str_of(keys[i])))
            continue;
        added = true;
        jw_object(&w);
        jw_put_cstr(&w, "key", keys[i]);
        jw_put_cstr(&w, "operator", "Exists");
        jw_put_cstr(&w, "effect", "NoExecute");
        jw_put_int(&w, "tolerationSeconds", 300);
        jw_end(&w);
    }
    jw_end(&w);
    if (added)
        edit_set_raw(e, STR("/spec/tolerations"), strbuf_str(&w.out));
    jw_done(&w);
}

/* ---- priority ---- */

struct priority {
    str class;
    int64_t value;
    str preemption;
};

void refuse_pod(const struct admit *a, str why)
{
    if (*a->refused)
        return;
    struct status *s = status_new(a->arena, 403, "Forbidden", "pods \"%.*s\" is forbidden: %.*s",
                                  STR_ARG(a->name), STR_ARG(why));
    s->name = a->name;
    s->kind = STR("pods");
    *a->refused = s;
}

static void priority_from(const struct obj *class, struct priority *ret)
{
    jval root = obj_root(class);
    ret->class = class->name;
    ret->value = jint(jgetc(root, "value"), 0);
    ret->preemption = jstr(jgetc(root, "preemptionPolicy"));
}

/* The class pods belong to that name none; of several the lowest counts. */
static void default_priority_class(const struct admit *a, struct priority *ret)
{
    struct store_iter it =
        store_range(a->store, &kind_priority_class, STR_NONE, STR_NONE, STR_NONE);
    bool found = false;
    for (const struct obj *o; (o = store_next(&it));) {
        int64_t value = jint(jgetc(obj_root(o), "value"), 0);
        if (!j_is_true(jgetc(obj_root(o), "globalDefault")) || (found && value >= ret->value))
            continue;
        priority_from(o, ret);
        found = true;
    }
}

int64_t priority_of_system(str class)
{
    return str_is(class, "system-node-critical")      ? 2000001000
           : str_is(class, "system-cluster-critical") ? 2000000000
                                                      : 0;
}

static bool find_priority(const struct admit *a, str class, struct priority *ret)
{
    *ret = (struct priority){.class = class};
    if (!class.len) {
        default_priority_class(a, ret);
        return true;
    }
    const struct obj *o = store_newest(a->store, &kind_priority_class, STR_NONE, class);
    if (o) {
        priority_from(o, ret);
        return true;
    }
    ret->value = priority_of_system(class);
    return ret->value != 0;
}

static void default_priority(const struct admit *a, jval spec, struct edit *e)
{
    struct priority p;
    str class = jstr(jgetc(spec, "priorityClassName"));
    int64_t given;
    if (!find_priority(a, class, &p)) {
        refuse_pod(a, admit_path(a, "no PriorityClass with name %.*s was found", STR_ARG(class)));
        return;
    }
    if (jint_get(jgetc(spec, "priority"), &given) && given != p.value) {
        refuse_pod(a, admit_path(a,
                                 "the integer value of priority (%lld) must not be provided in pod "
                                 "spec; priority admission controller computed %lld from the given "
                                 "PriorityClass name",
                                 (long long)given, (long long)p.value));
        return;
    }
    if (p.class.len && !str_eq(p.class, class))
        edit_set_str(e, STR("/spec/priorityClassName"), p.class);
    edit_set_int(e, STR("/spec/priority"), p.value);
    if (!j_has(jgetc(spec, "preemptionPolicy")))
        edit_set_str(e, STR("/spec/preemptionPolicy"),
                     p.preemption.len ? p.preemption : STR("PreemptLowerPriority"));
}

/* ---- first status ---- */

/* Requests and limits of one resource over all containers. */
struct qos {
    struct quantity requests, limits;
    bool requested, limited;
    bool limits_everywhere;
};

static void qos_add(jval v, struct quantity *sum, bool *any)
{
    struct quantity q;
    if (quantity_parse(jstr(v), &q, NULL) < 0 || quantity_sign(&q) <= 0)
        return;
    if (quantity_add(sum, &q))
        *any = true;
}

/* A request that is not given is its limit. */
static void qos_container(struct qos *q, jval resources, str name)
{
    jval limit = jget(jgetc(resources, "limits"), name);
    jval request = jget(jgetc(resources, "requests"), name);
    bool limited = false;
    qos_add(j_has(request) ? request : limit, &q->requests, &q->requested);
    qos_add(limit, &q->limits, &limited);
    q->limited |= limited;
    q->limits_everywhere &= limited;
}

/* What is said for the whole pod counts instead of what its containers say. */
const char *pod_qos_class(jval spec)
{
    static const char *const names[] = {"cpu", "memory"};
    jval whole = jgetc(spec, "resources");
    bool any = false, guaranteed = true;
    bool by_container = jlen(jgetc(whole, "requests")) + jlen(jgetc(whole, "limits")) == 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct qos q = {.limits_everywhere = true};
        if (!by_container)
            qos_container(&q, whole, str_of(names[i]));
        for (size_t l = 0; l < QOS_LISTS && by_container; l++)
            for (struct jiter it = jiter(jget(spec, str_of(container_lists[l]))); jnext(&it);)
                qos_container(&q, jgetc(it.value, "resources"), str_of(names[i]));
        any |= q.requested || q.limited;
        guaranteed &= q.limited && q.limits_everywhere && quantity_cmp(&q.requests, &q.limits) == 0;
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

static void first_status(const struct admit *a, jval spec, struct edit *e)
{
    struct jw w;
    (void)a;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "phase", "Pending");
    if (jlen(jgetc(spec, "schedulingGates"))) {
        jw_put_array(&w, "conditions");
        jw_object(&w);
        jw_put_cstr(&w, "type", "PodScheduled");
        jw_put_cstr(&w, "status", "False");
        jw_key(&w, STR("lastProbeTime"));
        jw_null(&w);
        jw_key(&w, STR("lastTransitionTime"));
        jw_null(&w);
        jw_put_cstr(&w, "reason", "SchedulingGated");
        jw_put_cstr(&w, "message", "Scheduling is blocked due to non-empty scheduling gates");
        jw_end(&w);
        jw_end(&w);
    }
    jw_put_cstr(&w, "qosClass", pod_qos_class(spec));
    jw_end(&w);
    edit_set_raw(e, STR("/status"), strbuf_str(&w.out));
    jw_done(&w);
}

void pod_default(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    if (jtype(spec) != J_OBJECT)
        return;
    containers_default(a, spec, "/spec", e);
    requests_default(a, spec, e);
    host_ports_default(a, spec, e);
    pod_requests_default(a, spec, e);
    default_raw(e, spec, "enableServiceLinks", "/spec/enableServiceLinks", "true");
}

void pod_mutate(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    if (jtype(spec) != J_OBJECT || a->old)
        return;
    pod_account(a, root, e);
    default_tolerations(spec, e);
    default_priority(a, spec, e);
    pod_runtime(a, spec, e);
    first_status(a, spec, e);
}

/* ---- validation ---- */

void pod_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    if (jtype(spec) != J_OBJECT) {
        field_error_add(a->errors, FIELD_ERR_REQUIRED, STR("spec.containers"), STR_NONE, NULL);
        return;
    }
    if (a->old) {
        if (!pod_validate_part(a, spec))
            pod_validate_update(a, spec);
        return;
    }
    pod_rules_all(a->errors, spec, "spec");
    if (jlen(jgetc(spec, "ephemeralContainers")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec.ephemeralContainers"), STR_NONE,
                        "cannot be set on create");
    if (jlen(jgetc(spec, "schedulingGates")) && jstr(jgetc(spec, "nodeName")).len)
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec.nodeName"), STR_NONE,
                        "cannot be set until all schedulingGates have been cleared");
}
