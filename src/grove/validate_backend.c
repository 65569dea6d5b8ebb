/*
 * What the scheduler that a set names asks of it (section 3.7 of the contract): the queue its pods
 * are to wait in, and constraints it cannot keep. Errors are at "spec", as the contract has them,
 * without the whole spec as the value.
 *
 * Also what is not upstream's: how much an update may take away (12.2) and whether it waits, and
 * the spellings of older documents, which work and are said.
 */
#include "grove/scheduler_queue.h"
#include "grove/validate_set.h"

#define TEMPLATE "spec.template"

static void refuse(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void refuse(struct check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str detail = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    field_error_add(c->errors, FIELD_ERR_INVALID, STR("spec"), STR_NONE, "%.*s", STR_ARG(detail));
}

/* ---- queues ---- */

/* The one queue of a set; empty when none is named. Errors are said. */
static str one_queue(struct check *c, const char *key, bool by_label)
{
    struct set_queue q = set_queue(c->root, key, by_label);
    if (!str_is_empty(q.other) && q.by_set) {
        refuse(c, "%s: the set says \"%.*s\" and clique %.*s \"%.*s\"; one queue is for all", key,
               STR_ARG(q.name), STR_ARG(q.clique), STR_ARG(q.other));
    } else if (!str_is_empty(q.other)) {
        bool sorted = str_cmp(q.name, q.other) < 0;
        refuse(c, "%s: cliques name different queues: %.*s, %.*s", key,
               STR_ARG(sorted ? q.name : q.other), STR_ARG(sorted ? q.other : q.name));
    }
    return q.name;
}

static void check_kai(struct check *c)
{
    size_t before = c->errors->items.len;
    if (str_is_empty(one_queue(c, KAI_QUEUE, true)) && c->errors->items.len == before)
        refuse(c, "kai-scheduler needs a queue: set the label or annotation " KAI_QUEUE
                  " on the set or on its cliques");
}

/* ---- constraints that a scheduler cannot keep ---- */

static void refuse_constraints(struct check *c, const char *scheduler)
{
    bool any = j_has(jpath(c->root, TEMPLATE ".topologyConstraint"));
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);)
        any |= j_has(jgetc(it.value, "topologyConstraint"));
    for (struct jiter it = jiter(c->set.scaling_groups); jnext(&it);)
        any |= j_has(jgetc(it.value, "topologyConstraint"));
    if (any)
        refuse(c, "%s does not keep topology constraints: remove them or name another scheduler",
               scheduler);
}

static void check_queue_name(struct check *c, jval annotations, const char *where)
{
    jval v = jget(annotations, STR(VOLCANO_QUEUE));
    str name = str_trim(jstr(v));
    if (!j_is_absent(v) && !str_is_dns1123_subdomain(name))
        refuse(c, VOLCANO_QUEUE " of %s: \"%.*s\" is no name of a queue", where, STR_ARG(name));
}

/* A clique that names none waits in the set's, or in "default": as the others must. */
static void check_volcano(struct check *c)
{
    jval annotations = jpath(c->root, "metadata.annotations");
    size_t before = c->errors->items.len, unset = 0;
    refuse_constraints(c, "volcano");
    check_queue_name(c, annotations, "the set");
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        jval own = jgetc(it.value, "annotations");
        str where = check_path(c, "clique %.*s", STR_ARG(jstr(jgetc(it.value, "name"))));
        check_queue_name(c, own, where.p);
        unset += str_is_empty(jstr(jget(own, STR(VOLCANO_QUEUE))));
    }
    if (c->errors->items.len != before)
        return;
    str queue = one_queue(c, VOLCANO_QUEUE, false);
    bool of_set = !str_is_empty(str_trim(jstr(jget(annotations, STR(VOLCANO_QUEUE)))));
    if (c->errors->items.len == before && !of_set && unset > 0 && !str_is_empty(queue) &&
        !str_is(queue, "default"))
        refuse(c,
               VOLCANO_QUEUE ": some cliques name \"%.*s\" and others none, which is \"default\"",
               STR_ARG(queue));
}

static void check_lpx(struct check *c)
{
    refuse_constraints(c, "lpx-scheduler");
}

void validate_backend(struct check *c)
{
    static const struct {
        const char *scheduler;
        void (*check)(struct check *c);
    } backends[] = {
        {"kai-scheduler", check_kai}, {"volcano", check_volcano}, {"lpx-scheduler", check_lpx}};
    if (jlen(c->set.cliques) == 0)
        return;
    str name = jstr(jpath(c->cliques[0], "spec.podSpec.schedulerName"));
    if (str_is_empty(name))
        name = str_of(c->context->schedulers[0]);
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        if (str_is(name, backends[i].scheduler))
            backends[i].check(c);
    }
}

/* ---- how much an update may take ---- */

static size_t count_components(const struct check *c)
{
    size_t n = jlen(c->set.scaling_groups);
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);)
        n += j_is_absent(check_group_of(c, jstr(jgetc(it.value, "name"))));
    return n;
}

/* Where two types are allowed and it is of neither, the table names only one of them. */
static bool check_amount(struct check *c, jval v, str at)
{
    int64_t n;
    bool is = jtype(v) == J_STRING || jint_get(v, &n);
    if (!is)
        check_invalid(c, at, v, "must be an integer or a percentage");
    return is;
}

/* A number that is not negative, or percent of the replicas. */
static void check_surge(struct check *c, jval v, str at)
{
    str text = jstr(v);
    int64_t n = jint(v, 0);
    if (!j_has(v) || !check_amount(c, v, at))
        return;
    if (jtype(v) == J_STRING && (text.len < 2 || text.p[text.len - 1] != '%' ||
                                 !str_to_int(str_sub(text, 0, text.len - 1), &n) || n > 100))
        check_invalid(c, at, v, "must be a number, or percent as \"25%%\", at most \"100%%\"");
    else if (n < 0)
        check_invalid(c, at, v, "must not be negative");
}

static bool surges(const struct check *c, jval component)
{
    jval own = jpath(component, "rollingUpdate.maxSurge");
    jval v = j_has(own) ? own : jpath(c->root, "spec.updateStrategy.rollingUpdate.maxSurge");
    int64_t n = jint(v, 0);
    str text = jstr(v);
    if (jtype(v) == J_STRING)
        (void)str_to_int(str_sub(text, 0, text.len ? text.len - 1 : 0), &n);
    return n > 0;
}

/* A set of one component may roll in units smaller than its minimum; others move together. */
static void check_budget(struct check *c, jval component, jval min_available, str path)
{
    jval v = jpath(component, "rollingUpdate.maxUnavailable");
    str at = check_path(c, "%.*s.rollingUpdate.maxUnavailable", STR_ARG(path));
    bool coherent = str_is(jstr(jpath(c->root, "spec.updateStrategy.type")), "Coherent");
    int64_t min = jint(min_available, 1), n;
    check_surge(c, jpath(component, "rollingUpdate.maxSurge"),
                check_path(c, "%.*s.rollingUpdate.maxSurge", STR_ARG(path)));
    if (!jint_get(v, &n))
        return;
    if (n < 0)
        check_invalid(c, at, v, "must not be negative");
    else if (n == 0 && !surges(c, component))
        check_invalid(c, at, v,
                      "must be greater than 0, as long as maxSurge is 0: an update that "
                      "may do neither never ends");
    else if (coherent && n > 0 && n < min && count_components(c) > 1)
        check_invalid(c, at, v,
                      "must not be below minAvailable (%lld): a coherent update moves that many of "
                      "every component together",
                      (long long)min);
}

/* A coherent update moves a replica of the group into a new gang, and its pods with it. */
static void check_members(struct check *c, jval group, str path)
{
    jval v = jpath(group, "rollingUpdate.members");
    if (str_is(jstr(v), "Changed") &&
        str_is(jstr(jpath(c->root, "spec.updateStrategy.type")), "Coherent"))
        check_invalid(c, check_path(c, "%.*s.rollingUpdate.members", STR_ARG(path)), v,
                      "must be All, or unset, with updateStrategy.type Coherent: a coherent update "
                      "moves a replica of the group as a whole into a new gang; to keep the pods "
                      "of cliques that did not change, use RollingRecreate");
}

static void check_tail(struct check *c, jval v)
{
    str tail = jstr(v);
    if (j_has(v) && !str_is(tail, "Paired") && !str_is(tail, "Independent"))
        check_invalid(c, STR("spec.updateStrategy.coherent.tail"), v,
                      "must be Paired or Independent");
}

/* Whoever writes "yes" believes that the update waits. */
static void warn_paused(struct check *c)
{
    jval v = jget(jpath(c->root, "metadata.annotations"), STR(ANNOTATION_PAUSED));
    str word = jstr(v);
    if (!j_has(v) || str_is(word, "true") || str_is(word, "false"))
        return;
    field_warning_add(c->errors,
                      "metadata.annotations." ANNOTATION_PAUSED
                      ": the set is not paused; the value is "
                      "neither \"true\" nor \"false\": %.*s",
                      STR_ARG(jtext(v)));
}

static void check_strategy(struct check *c)
{
    jval strategy = jpath(c->root, "spec.updateStrategy"), v;
    usec deadline;
    if (j_has(v = jgetc(strategy, "maxConcurrentReplicas")) && jint(v, 1) <= 0)
        check_invalid(c, STR("spec.updateStrategy.maxConcurrentReplicas"), v,
                      "must be greater than 0");
    if (j_has(v = jgetc(strategy, "partition")) && jint(v, 0) < 0)
        check_invalid(c, STR("spec.updateStrategy.partition"), v, "must not be negative");
    check_tail(c, jpath(strategy, "coherent.tail"));
    check_surge(c, jpath(strategy, "rollingUpdate.maxSurge"),
                STR("spec.updateStrategy.rollingUpdate.maxSurge"));
    if (j_has(v = jpath(strategy, "rollingUpdate.maxUnavailable")) &&
        check_amount(c, v, STR("spec.updateStrategy.rollingUpdate.maxUnavailable")))
        field_warning_add(
            c->errors, "spec.updateStrategy.rollingUpdate.maxUnavailable has no effect: write it "
                       "at a clique (spec.template.cliques[].rollingUpdate) or a scaling group");
    v = jpath(strategy, "rollingUpdate.surgeTimeout");
    if (j_has(v) && duration_parse_usec(jstr(v), &deadline) && deadline <= 0)
        check_invalid(c, STR("spec.updateStrategy.rollingUpdate.surgeTimeout"), v,
                      "must be greater than 0");
    if (j_has(v = jgetc(strategy, "progressDeadline")) && duration_parse_usec(jstr(v), &deadline) &&
        deadline <= 0)
        check_invalid(c, STR("spec.updateStrategy.progressDeadline"), v, "must be greater than 0");
}

void validate_rolling_update(struct check *c)
{
    check_strategy(c);
    warn_paused(c);
    for (struct jiter it = jiter(c->set.cliques); jnext(&it);) {
        if (!j_has(jgetc(it.value, "rollingUpdate")))
            continue;
        str at = check_path(c, TEMPLATE ".cliques[%zu]", it.index);
        if (!j_is_absent(check_group_of(c, jstr(jgetc(it.value, "name")))))
            check_forbidden(c, check_path(c, "%.*s.rollingUpdate", STR_ARG(at)),
                            "the clique is updated with its scaling group: set it there");
        else
            check_budget(c, it.value, jpath(it.value, "spec.minAvailable"), at);
    }
    for (struct jiter it = jiter(c->set.scaling_groups); jnext(&it);) {
        str at = check_path(c, TEMPLATE ".podCliqueScalingGroups[%zu]", it.index);
        check_budget(c, it.value, jgetc(it.value, "minAvailable"), at);
        check_members(c, it.value, at);
    }
}

/* ---- spellings of older documents ---- */

/* The key and how binding it is travel to the scheduler in one annotation. */
static void check_spread(struct check *c)
{
    for (struct jiter it = jiter(jpath(c->root, "spec.replicaSpreadConstraints")); jnext(&it);) {
        jval key = jgetc(it.value, "topologyKey"), skew = jgetc(it.value, "maxSkew");
        int64_t n = 1;
        str at = check_path(c, "spec.replicaSpreadConstraints[%zu]", it.index);
        if (jtype(key) == J_STRING && !str_is_qualified_name(jstr(key)))
            check_invalid(c, check_path(c, "%.*s.topologyKey", STR_ARG(at)), key,
                          "must be the key of a label, as \"topology.kubernetes.io/zone\"");
        if (jint_get(skew, &n) && n <= 0)
            check_invalid(c, check_path(c, "%.*s.maxSkew", STR_ARG(at)), skew,
                          "must be greater than 0");
    }
}

/* Nothing is refused, as it was not then; but a name that was mistyped is said. */
static void warn_pack_groups(struct check *c, str list)
{
    jval groups = jget(jpath(c->root, TEMPLATE ".schedulingPolicyConfig"), list);
    str at = check_path(c, TEMPLATE ".schedulingPolicyConfig.%.*s", STR_ARG(list));
    if (jlen(groups) == 0)
        return;
    field_warning_add(c->errors,
                      "%.*s: an older spelling; the cliques it names are packed together where "
                      "possible, as by a preferred topologyConstraint",
                      STR_ARG(at));
    for (struct jiter g = jiter(groups); jnext(&g);) {
        for (struct jiter it = jiter(jgetc(g.value, "cliqueNames")); jnext(&it);) {
            if (j_is_absent(check_clique(c, jstr(it.value))))
                field_warning_add(c->errors,
                                  "%.*s[%zu].cliqueNames[%zu]: there is no clique %.*s; it is "
                                  "left out",
                                  STR_ARG(at), g.index, it.index, STR_ARG(jtext(it.value)));
        }
    }
}

void check_older_spellings(struct check *c)
{
    warn_pack_groups(c, STR("networkPackGroupConfigs"));
    warn_pack_groups(c, STR("networkPackGroups"));
    check_spread(c);
    if (jlen(jpath(c->root, "spec.replicaSpreadConstraints")))
        field_warning_add(c->errors,
                          "spec.replicaSpreadConstraints: not part of the current API of "
                          "other operators; replicas of the set are spread by it");
}
