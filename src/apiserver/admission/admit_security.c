/*
 * Pod Security: the level that a namespace's labels ask for (kube/pod_security.h), held by its pods
 * and told to those who write templates of pods, in kube-apiserver's words. Runs when everything
 * else has found nothing to refuse.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/server.h"
#include "base/log.h"
#include "base/map.h"
#include "grove/types.h"
#include "kube/pod_security.h"

/* As many as kube-apiserver looks at when the level of a namespace changes: some 10 ms. */
#define PODS_MAX 3000
/* Cliques of a set that are warned of one by one. */
#define CLIQUES_MAX 8

static struct pod_security_policy policy_of(const struct admit *a, str ns)
{
    const struct obj *o = store_newest(a->store, &kind_namespace, STR_NONE, ns);
    return pod_security_policy_of(o ? o->labels : JVAL_ABSENT, NULL);
}

/* Nobody is to be told of anything. */
static bool is_silent(const struct pod_security_policy *p)
{
    return p->warn.level == POD_SECURITY_PRIVILEGED && p->audit.level == POD_SECURITY_PRIVILEGED;
}

/* ---- pods and templates ---- */

/* There is no audit log: what would be in it goes to the server's. */
static void note(const struct admit *a, struct pod_security s, str details)
{
    log_info("a pod would violate PodSecurity", LOG_S("level", pod_security_name(a->arena, s)),
             LOG_S("user", a->user->name), LOG_S("resource", str_of(a->kind->plural)),
             LOG_S("namespace", a->ns), LOG_S("name", a->name), LOG_S("audit-violations", details));
}

/* where: "" or which template it is. */
static void warn(const struct admit *a, str where, struct pod_security s, str details)
{
    field_warning_add(a->errors, "%.*swould violate PodSecurity \"%s\": %.*s", STR_ARG(where),
                      pod_security_name(a->arena, s).p, STR_ARG(details));
}

static str violations(const struct admit *a, struct pod_security s, jval meta, jval spec)
{
    return s.level == POD_SECURITY_PRIVILEGED ? STR_NONE
                                              : pod_security_judge(a->arena, s, meta, spec).details;
}

/* What is not refused. */
static void tell(const struct admit *a, const struct pod_security_policy *p, str where, jval meta,
                 jval spec)
{
    str audit = violations(a, p->audit, meta, spec);
    str against =
        pod_security_equal(p->warn, p->audit) ? audit : violations(a, p->warn, meta, spec);
    if (audit.len)
        note(a, p->audit, audit);
    if (against.len)
        warn(a, where, p->warn, against);
}

static void judge_pod(const struct admit *a, jval root)
{
    struct pod_security_policy p = policy_of(a, a->ns);
    jval meta = jgetc(root, "metadata"), spec = jgetc(root, "spec");
    if (p.enforce.level == POD_SECURITY_PRIVILEGED && is_silent(&p))
        return;
    if (a->old && !pod_security_is_new_ground(obj_spec(a->old), spec))
        return;
    str why = violations(a, p.enforce, meta, spec);
    if (!why.len) {
        tell(a, &p, STR(""), meta, spec);
        return;
    }
    refuse_pod(a, arena_printf(a->arena, "violates PodSecurity \"%s\": %.*s",
                               pod_security_name(a->arena, p.enforce).p, STR_ARG(why)));
    str audit = violations(a, p.audit, meta, spec);
    if (audit.len)
        note(a, p.audit, audit);
}

static void judge_cliques(const struct admit *a, const struct pod_security_policy *p, jval root)
{
    size_t before = a->errors->warnings.len;
    for (struct jiter it = jiter(jpath(root, "spec.template.cliques")); jnext(&it);) {
        str where = admit_path(a, "spec.template.cliques[%zu]: ", it.index);
        if (a->errors->warnings.len - before == CLIQUES_MAX) {
            field_warning_add(a->errors, "further cliques were not judged by PodSecurity");
            break;
        }
        tell(a, p, where, it.value, jpath(it.value, "spec.podSpec"));
    }
}

/* Where kinds that make pods have their template: metadata and spec. */
static const struct {
    const struct kind *kind;
    const char *template; /* NULL: it is a clique, or has many */
} templates[] = {
    {&kind_pod_template, "template"},
    {&kind_replication_controller, "spec.template"},
    {&kind_replica_set, "spec.template"},
    {&kind_deployment, "spec.template"},
    {&kind_stateful_set, "spec.template"},
    {&kind_daemon_set, "spec.template"},
    {&kind_job, "spec.template"},
    {&kind_cron_job, "spec.jobTemplate.spec.template"},
    {&kind_pclq, NULL},
    {&kind_pcs, NULL},
};

static void judge_template(const struct admit *a, const char *path, jval root)
{
    struct pod_security_policy p = policy_of(a, a->ns);
    if (a->subresource.len ||
        (p.warn.level == POD_SECURITY_PRIVILEGED && p.audit.level == POD_SECURITY_PRIVILEGED))
        return;
    /* Grove's own writes change everything but the template. */
    if (!path && a->old && jequal(obj_spec(a->old), jgetc(root, "spec")))
        return;
    jval t = path ? jpath(root, path) : JVAL_ABSENT;
    if (j_has(t))
        tell(a, &p, STR(""), jgetc(t, "metadata"), jgetc(t, "spec"));
    else if (a->kind == &kind_pclq)
        tell(a, &p, STR(""), jgetc(root, "metadata"), jpath(root, "spec.podSpec"));
    else if (a->kind == &kind_pcs)
        judge_cliques(a, &p, root);
}

/* ---- namespaces ---- */

/* Pods that violate a level in the same way. */
struct group {
    str reasons;
    str first;
    size_t n;
};

struct survey {
    const struct admit *a;
    struct pod_security level;
    struct map by_reasons;
    VEC(struct group *) groups;
    size_t looked_at, total;
};

static void look_at(struct survey *s, const struct obj *pod)
{
    struct arena *arena = s->a->arena;
    str reasons = pod_security_judge(arena, s->level, pod->meta, obj_spec(pod)).reasons;
    s->looked_at++;
    if (!reasons.len)
        return;
    struct group *g = map_get(&s->by_reasons, reasons);
    if (!g) {
        g = arena_new(arena, struct group);
        *g = (struct group){.reasons = reasons, .first = pod->name};
        map_put(&s->by_reasons, reasons, g);
        *vec_push(&s->groups) = g;
    }
    if (str_cmp(pod->name, g->first) < 0)
        g->first = pod->name;
    g->n++;
}

/* First one pod of each controller, which speaks for the others, then the others. */
static void look_at_pods(struct survey *s, str ns, bool others)
{
    struct map seen = MAP_INIT;
    struct store_iter it = store_range(s->a->store, &kind_pod, ns, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        bool repeats = o->owner_uid.len && map_put(&seen, o->owner_uid, s);
        s->total += !others;
        if (repeats == others && s->looked_at < PODS_MAX)
            look_at(s, o);
    }
    map_done(&seen);
}

static int compare_texts(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void tell_groups(const struct survey *s)
{
    struct arena *arena = s->a->arena;
    str *texts = arena_array(arena, str, s->groups.len + 1);
    for (size_t i = 0; i < s->groups.len; i++) {
        const struct group *g = s->groups.p[i];
        str more = g->n == 1   ? STR("")
                   : g->n == 2 ? STR(" (and 1 other pod)")
                               : arena_printf(arena, " (and %zu other pods)", g->n - 1);
        texts[i] = arena_printf(arena, "%.*s%.*s: %.*s", STR_ARG(g->first), STR_ARG(more),
                                STR_ARG(g->reasons));
    }
    qsort(texts, s->groups.len, sizeof(texts[0]), compare_texts);
    for (size_t i = 0; i < s->groups.len; i++)
        field_warning_add(s->a->errors, "%.*s", STR_ARG(texts[i]));
}

/* What the pods that are there would be refused for. They stay. */
static void survey_pods(const struct admit *a, struct pod_security level)
{
    struct survey s = {.a = a, .level = level, .by_reasons = MAP_INIT};
    look_at_pods(&s, a->name, false);
    look_at_pods(&s, a->name, true);
    if (s.looked_at < s.total)
        field_warning_add(a->errors,
                          "new PodSecurity enforce level only checked against the first %zu of %zu "
                          "existing pods",
                          s.looked_at, s.total);
    if (s.groups.len)
        field_warning_add(a->errors,
                          "existing pods in namespace \"%.*s\" violate the new PodSecurity enforce "
                          "level \"%s\"",
                          STR_ARG(a->name), pod_security_name(a->arena, level).p);
    tell_groups(&s);
    map_done(&s.by_reasons);
    vec_done(&s.groups);
}

/* What is wrong with labels, as text. */
static str label_errors(const struct admit *a, jval labels)
{
    struct field_errors e;
    field_errors_init(&e, a->arena);
    (void)pod_security_policy_of(labels, &e);
    str text = e.items.len ? field_errors_text(a->arena, &e) : STR("");
    field_errors_done(&e);
    return text;
}

/* Labels that were wrong before may stay so; nobody is to be locked out of a namespace. */
static void judge_namespace(const struct admit *a, jval root)
{
    jval labels = jpath(root, "metadata.labels"), old = a->old ? a->old->labels : JVAL_ABSENT;
    struct pod_security_policy now = pod_security_policy_of(labels, NULL);
    struct pod_security_policy before = pod_security_policy_of(old, NULL);
    if (a->subresource.len)
        return;
    str wrong = label_errors(a, labels);
    if (wrong.len && !str_eq(wrong, label_errors(a, old))) {
        (void)pod_security_policy_of(labels, a->errors);
        return;
    }
    bool relaxed =
        now.enforce.minor == before.enforce.minor && now.enforce.level <= before.enforce.level;
    if (a->old && now.enforce.level != POD_SECURITY_PRIVILEGED && !relaxed)
        survey_pods(a, now.enforce);
}

void security_validate(const struct admit *a, jval root)
{
    if (a->errors->items.len || *a->refused)
        return;
    if (a->kind == &kind_pod)
        judge_pod(a, root);
    else if (a->kind == &kind_namespace)
        judge_namespace(a, root);
    for (size_t i = 0; i < ARRAY_LEN(templates); i++)
        if (a->kind == templates[i].kind)
            judge_template(a, templates[i].template, root);
}
