/*
 * What objects count as, in the words of ResourceQuota. Pure functions of objects.
 *
 * Every object of a namespace counts one of "count/<plural>[.<group>]"; some kinds have older names
 * as well. A pod counts what its containers ask for and are held to, until it has ended.
 */
#include "apiserver/admission/quota.h"

static const char *const container_lists[] = {"initContainers", "containers"};

/* ---- amounts ---- */

void amounts_init(struct amounts *m, struct arena *a)
{
    *m = (struct amounts){.arena = a};
}

void amounts_done(struct amounts *m)
{
    vec_done(&m->items);
}

static struct amount *find(const struct amounts *m, str name)
{
    for (size_t i = 0; i < m->items.len; i++)
        if (str_eq(m->items.p[i].name, name))
            return &m->items.p[i];
    return NULL;
}

const struct quantity *amounts_get(const struct amounts *m, str name)
{
    const struct amount *found = find(m, name);
    return found ? &found->value : NULL;
}

/* No sum of what objects say can overflow. */
static void hold(struct quantity *q)
{
    const __int128 most = (__int128)INT64_MAX * 1000000000;
    q->nano = q->nano > most ? most : q->nano < -most ? -most : q->nano;
}

void amounts_add(struct amounts *m, str name, const struct quantity *q)
{
    struct amount *found = find(m, name);
    if (found && quantity_add(&found->value, q))
        hold(&found->value);
    else if (!found)
        *vec_push(&m->items) = (struct amount){arena_str(m->arena, name), *q};
}

void amounts_read(struct amounts *m, jval map)
{
    struct quantity q;
    for (struct jiter it = jiter(jtype(map) == J_OBJECT ? map : JVAL_ABSENT); jnext(&it);) {
        str text = jtype(it.value) == J_STRING ? jstr(it.value) : jtext(it.value);
        if (quantity_parse(text, &q, NULL) < 0)
            continue;
        hold(&q);
        amounts_add(m, it.key, &q);
    }
}

static void add_all(struct amounts *m, const struct amounts *more)
{
    for (size_t i = 0; i < more->items.len; i++)
        amounts_add(m, more->items.p[i].name, &more->items.p[i].value);
}

static void raise_to(struct amounts *m, const struct amounts *least)
{
    for (size_t i = 0; i < least->items.len; i++) {
        const struct amount *l = &least->items.p[i];
        struct amount *have = find(m, l->name);
        if (!have)
            amounts_add(m, l->name, &l->value);
        else if (quantity_cmp(&have->value, &l->value) < 0)
            have->value = l->value;
    }
}

/* ---- pods ---- */

static void container_amounts(struct amounts *m, jval container, const char *what)
{
    amounts_read(m, jget(jgetc(container, "resources"), str_of(what)));
}

/* An init container runs beside the sidecars that were started before it. */
static void init_amounts(struct amounts *sidecars, struct amounts *peak, jval spec,
                         const char *what)
{
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        struct amounts now;
        if (str_is(jstr(jgetc(it.value, "restartPolicy")), "Always")) {
            container_amounts(sidecars, it.value, what);
            continue;
        }
        amounts_init(&now, peak->arena);
        container_amounts(&now, it.value, what);
        add_all(&now, sidecars);
        raise_to(peak, &now);
        amounts_done(&now);
    }
}

void pod_amounts(struct amounts *m, jval spec, const char *what)
{
    struct amounts sidecars, peak;
    amounts_init(&sidecars, m->arena);
    amounts_init(&peak, m->arena);
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);)
        container_amounts(m, it.value, what);
    init_amounts(&sidecars, &peak, spec, what);
    add_all(m, &sidecars);
    raise_to(m, &peak);
    struct amounts overhead;
    amounts_init(&overhead, m->arena);
    amounts_read(&overhead, jgetc(spec, "overhead"));
    for (size_t i = 0; i < overhead.items.len; i++) {
        const struct amount *o = &overhead.items.p[i];
        if (str_is(str_of(what), "requests") || find(m, o->name))
            amounts_add(m, o->name, &o->value);
    }
    amounts_done(&overhead);
    amounts_done(&sidecars);
    amounts_done(&peak);
}

/* cpu, memory and storage have a bare name, which means the request. */
static bool is_plain(str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_is(name, "ephemeral-storage");
}

static void put_requests(struct amounts *m, const struct amounts *requests)
{
    for (size_t i = 0; i < requests->items.len; i++) {
        const struct amount *r = &requests->items.p[i];
        bool huge = str_starts(r->name, STR("hugepages-"));
        bool extended = str_find_char(r->name, '/') > 0;
        if (is_plain(r->name) || huge)
            amounts_add(m, r->name, &r->value);
        if (is_plain(r->name) || huge || extended)
            amounts_add(m, arena_printf(m->arena, "requests.%.*s", STR_ARG(r->name)), &r->value);
    }
}

static void put_limits(struct amounts *m, const struct amounts *limits)
{
    for (size_t i = 0; i < limits->items.len; i++)
        if (is_plain(limits->items.p[i].name))
            amounts_add(m, arena_printf(m->arena, "limits.%.*s", STR_ARG(limits->items.p[i].name)),
                        &limits->items.p[i].value);
}

static void pod_usage(struct amounts *m, jval root)
{
    str phase = jstr(jpath(root, "status.phase"));
    struct quantity one = quantity_from_value(1, QUANTITY_DECIMAL_SI);
    struct amounts requests, limits;
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return;
    amounts_init(&requests, m->arena);
    amounts_init(&limits, m->arena);
    pod_amounts(&requests, jgetc(root, "spec"), "requests");
    pod_amounts(&limits, jgetc(root, "spec"), "limits");
    amounts_add(m, STR("pods"), &one);
    put_requests(m, &requests);
    put_limits(m, &limits);
    amounts_done(&requests);
    amounts_done(&limits);
}

/* ---- other kinds ---- */

static void service_usage(struct amounts *m, jval root)
{
    str type = jstr(jpath(root, "spec.type"));
    jval ports = jpath(root, "spec.ports");
    int64_t n_ports = (int64_t)jlen(ports), n_fixed = 0;
    struct quantity one = quantity_from_value(1, QUANTITY_DECIMAL_SI);
    for (struct jiter it = jiter(ports); jnext(&it);)
        n_fixed += jint(jgetc(it.value, "nodePort"), 0) != 0;
    bool balanced = str_is(type, "LoadBalancer");
    bool allocates = jbool(jpath(root, "spec.allocateLoadBalancerNodePorts"), true);
    int64_t n = str_is(type, "NodePort") ? n_ports : balanced ? (allocates ? n_ports : n_fixed) : 0;
    struct quantity node_ports = quantity_from_value(n, QUANTITY_DECIMAL_SI);
    amounts_add(m, STR("services"), &one);
    if (n)
        amounts_add(m, STR("services.nodeports"), &node_ports);
    if (balanced)
        amounts_add(m, STR("services.loadbalancers"), &one);
}

void usage_of(struct amounts *m, const struct kind *k, jval root)
{
    static const char *const old_names[] = {"configmaps", "persistentvolumeclaims",
                                            "replicationcontrollers", "resourcequotas", "secrets"};
    struct quantity one = quantity_from_value(1, QUANTITY_DECIMAL_SI);
    amounts_add(
        m, arena_printf(m->arena, "count/%s%s%s", k->plural, *k->group ? "." : "", k->group), &one);
    if (k == &kind_pod)
        pod_usage(m, root);
    else if (k == &kind_service)
        service_usage(m, root);
    for (size_t i = 0; !*k->group && i < ARRAY_LEN(old_names); i++)
        if (str_is(str_of(k->plural), old_names[i]))
            amounts_add(m, str_of(old_names[i]), &one);
}

/* ---- scopes ---- */

static bool has_value(jval values, str value)
{
    for (struct jiter it = jiter(values); jnext(&it);)
        if (str_eq(jstr(it.value), value))
            return true;
    return false;
}

static bool priority_matches(jval requirement, str class)
{
    str op = jstr(jgetc(requirement, "operator"));
    jval values = jgetc(requirement, "values");
    if (str_is(op, "In"))
        return has_value(values, class);
    if (str_is(op, "NotIn"))
        return !has_value(values, class);
    return str_is(op, "DoesNotExist") ? str_is_empty(class) : class.len > 0;
}

static bool terms_cross(jval terms, bool weighted)
{
    for (struct jiter it = jiter(terms); jnext(&it);) {
        jval term = weighted ? jgetc(it.value, "podAffinityTerm") : it.value;
        if (jlen(jgetc(term, "namespaces")) || j_has(jgetc(term, "namespaceSelector")))
            return true;
    }
    return false;
}

static bool crosses_namespaces(jval spec)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        jval a = jget(jgetc(spec, "affinity"), str_of(kinds[i]));
        if (terms_cross(jgetc(a, "requiredDuringSchedulingIgnoredDuringExecution"), false) ||
            terms_cross(jgetc(a, "preferredDuringSchedulingIgnoredDuringExecution"), true))
            return true;
    }
    return false;
}

static bool scope_matches(str scope, jval requirement, jval root)
{
    jval spec = jgetc(root, "spec");
    bool ends = j_has(jgetc(spec, "activeDeadlineSeconds"));
    bool best_effort = str_is(jstr(jpath(root, "status.qosClass")), "BestEffort");
    if (str_is(scope, "Terminating"))
        return ends;
    if (str_is(scope, "NotTerminating"))
        return !ends;
    if (str_is(scope, "BestEffort"))
        return best_effort;
    if (str_is(scope, "NotBestEffort"))
        return !best_effort;
    if (str_is(scope, "PriorityClass"))
        return priority_matches(requirement, jstr(jgetc(spec, "priorityClassName")));
    return str_is(scope, "CrossNamespacePodAffinity") && crosses_namespaces(spec);
}

bool quota_matches(jval spec, const struct kind *k, jval root)
{
    jval scopes = jgetc(spec, "scopes"), terms = jpath(spec, "scopeSelector.matchExpressions");
    if ((jlen(scopes) || jlen(terms)) && k != &kind_pod)
        return false;
    for (struct jiter it = jiter(scopes); jnext(&it);)
        if (!scope_matches(jstr(it.value), JVAL_ABSENT, root))
            return false;
    for (struct jiter it = jiter(terms); jnext(&it);)
        if (!scope_matches(jstr(jgetc(it.value, "scopeName")), it.value, root))
            return false;
    return true;
}

/* ---- what must be said ---- */

/* Names of containers without it, sorted, joined by commas; empty: all have it. */
static str containers_without(struct arena *a, jval spec, const char *what, const char *name)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    str names[64];
    size_t n = 0;
    for (size_t l = 0; l < ARRAY_LEN(container_lists); l++)
        for (struct jiter it = jiter(jget(spec, str_of(container_lists[l]))); jnext(&it);)
            if (n < ARRAY_LEN(names) &&
                !j_has(jget(jget(jgetc(it.value, "resources"), str_of(what)), str_of(name)))) {
                size_t at = n++;
                str c = jstr(jgetc(it.value, "name"));
                for (; at && str_cmp(names[at - 1], c) > 0; at--)
                    names[at] = names[at - 1];
                names[at] = c;
            }
    for (size_t i = 0; i < n; i++) {
        strbuf_add_cstr(&b, i ? "," : "");
        strbuf_add_str(&b, names[i]);
    }
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

str quota_missing(struct arena *a, jval hard, jval pod_spec)
{
    /* Sorted, as they are listed. */
    static const struct {
        const char *name, *what, *resource;
    } demands[] = {
        {"cpu", "requests", "cpu"},
        {"limits.cpu", "limits", "cpu"},
        {"limits.memory", "limits", "memory"},
        {"memory", "requests", "memory"},
        {"requests.cpu", "requests", "cpu"},
        {"requests.memory", "requests", "memory"},
    };
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
        if (!j_has(jget(hard, str_of(demands[i].name))))
            continue;
        str who = containers_without(a, pod_spec, demands[i].what, demands[i].resource);
        if (who.len)
            strbuf_printf(&b, "%s%s for: %.*s", b.len ? "; " : "", demands[i].name, STR_ARG(who));
    }
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}
