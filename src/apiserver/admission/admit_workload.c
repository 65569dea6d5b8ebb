/*
 * Admission of workloads that the server only keeps: what depends on other fields of the object and
 * what may not change, in kube-apiserver's words. Pure functions; their rows stand in admit.c.
 */
#include "apiserver/admission/admit_impl.h"

static void invalid(const struct admit *a, const char *path, jval v, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, str_of(path), j_has(v) ? jtext(v) : STR("null"),
                    "%s", why);
}

static void require(const struct admit *a, const char *path, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_REQUIRED, str_of(path), STR_NONE, "%s", why);
}

/* Members of the spec that are numbers of something. */
static void check_counts(const struct admit *a, jval spec, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        jval v = jget(spec, str_of(keys[i]));
        if (jint(v, 0) < 0)
            invalid(a, admit_path(a, "spec.%s", keys[i]).p, v,
                    "must be greater than or equal to 0");
    }
}

static void check_unchanged(const struct admit *a, jval spec, const char *const *keys, size_t n)
{
    for (size_t i = 0; a->old && i < n; i++)
        if (!jequal(jget(obj_spec(a->old), str_of(keys[i])), jget(spec, str_of(keys[i]))))
            invalid(a, admit_path(a, "spec.%s", keys[i]).p, jget(spec, str_of(keys[i])),
                    "field is immutable");
}

/* Pods of these start again for ever. */
static void check_restarts(const struct admit *a, jval template)
{
    jval policy = jpath(template, "spec.restartPolicy");
    if (j_has(policy) && !str_is(jstr(policy), "Always"))
        field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED, STR("spec.template.spec.restartPolicy"),
                        jtext(policy), "supported values: \"Always\"");
}

static void set_if_empty(struct edit *e, jval now, const char *path, jval value)
{
    if (!jlen(now) && jlen(value))
        edit_set(e, str_of(path), value);
}

/* ---- pod templates ---- */

void pod_template_default(const struct admit *a, jval root, struct edit *e)
{
    containers_default(a, jpath(root, "template.spec"), "/template/spec", e);
}

void pod_template_validate(const struct admit *a, jval root)
{
    pod_rules_all(a->errors, jpath(root, "template.spec"), "template.spec");
}

/* ---- replication controllers ---- */

void replication_controller_default(const struct admit *a, jval root, struct edit *e)
{
    jval labels = jpath(root, "spec.template.metadata.labels");
    set_if_empty(e, jpath(root, "metadata.labels"), "/metadata/labels", labels);
    set_if_empty(e, jpath(root, "spec.selector"), "/spec/selector", labels);
    template_default(a, root, e);
}

/* Its selector is nothing but labels. */
static bool has_labels(jval labels, jval wanted)
{
    CLEANUP(jlookup_done) struct jlookup in_labels = jlookup(labels);
    for (struct jiter it = jiter(wanted); jnext(&it);)
        if (!jequal(it.value, jlookup_get(&in_labels, it.key)))
            return false;
    return true;
}

void replication_controller_validate(const struct admit *a, jval root)
{
    static const char *const counts[] = {"replicas", "minReadySeconds"};
    jval spec = jgetc(root, "spec"), template = jgetc(spec, "template");
    jval selector = jgetc(spec, "selector"), labels = jpath(template, "metadata.labels");
    check_counts(a, spec, counts, ARRAY_LEN(counts));
    if (!j_has(template))
        require(a, "spec.template", "");
    if (!jlen(selector))
        require(a, "spec.selector", "");
    else if (j_has(template) && !has_labels(labels, selector))
        invalid(a, "spec.template.metadata.labels", labels,
                "`selector` does not match template `labels`");
    pod_rules_all(a->errors, jgetc(template, "spec"), "spec.template.spec");
    check_restarts(a, template);
}

/* ---- daemon sets and stateful sets ---- */

void daemon_set_validate(const struct admit *a, jval root)
{
    static const char *const counts[] = {"minReadySeconds", "revisionHistoryLimit"};
    template_validate(a, root);
    check_counts(a, jgetc(root, "spec"), counts, ARRAY_LEN(counts));
    check_restarts(a, jpath(root, "spec.template"));
}

/* Its claims are written as whole objects. */
void stateful_set_default(const struct admit *a, jval root, struct edit *e)
{
    template_default(a, root, e);
    for (struct jiter it = jiter(jpath(root, "spec.volumeClaimTemplates")); jnext(&it);) {
        str at = admit_path(a, "/spec/volumeClaimTemplates/%zu", it.index);
        default_raw(e, it.value, "apiVersion", admit_path(a, "%s/apiVersion", at.p).p, "\"v1\"");
        default_raw(e, it.value, "kind", admit_path(a, "%s/kind", at.p).p,
                    "\"PersistentVolumeClaim\"");
        if (!j_has(jpath(it.value, "status.phase")))
            edit_set_raw(e, admit_path(a, "%s/status/phase", at.p), STR("\"Pending\""));
    }
}

static void check_stateful_update(const struct admit *a, jval spec)
{
    static const char *const fixed[] = {"serviceName", "volumeClaimTemplates",
                                        "podManagementPolicy"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        str key = str_of(fixed[i]);
        if (jequal(jget(obj_spec(a->old), key), jget(spec, key)))
            continue;
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec"), STR_NONE,
                        "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                        "'template', 'updateStrategy', 'revisionHistoryLimit', "
                        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                        "forbidden");
        return;
    }
}

void stateful_set_validate(const struct admit *a, jval root)
{
    static const char *const counts[] = {"minReadySeconds", "revisionHistoryLimit"};
    jval spec = jgetc(root, "spec"), start = jpath(spec, "ordinals.start");
    template_validate(a, root);
    check_counts(a, spec, counts, ARRAY_LEN(counts));
    check_restarts(a, jgetc(spec, "template"));
    if (jint(start, 0) < 0)
        invalid(a, "spec.ordinals.start", start, "must be greater than or equal to 0");
    if (a->old)
        check_stateful_update(a, spec);
}

/* ---- jobs ---- */

void job_default(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    bool one = !j_has(jgetc(spec, "completions")) && !j_has(jgetc(spec, "parallelism"));
    bool by_index = j_has(jgetc(spec, "backoffLimitPerIndex"));
    bool judged = j_has(jgetc(spec, "podFailurePolicy"));
    if (one)
        edit_set_int(e, STR("/spec/completions"), 1);
    default_raw(e, spec, "parallelism", "/spec/parallelism", "1");
    default_raw(e, spec, "backoffLimit", "/spec/backoffLimit", by_index ? "2147483647" : "6");
    default_raw(e, spec, "completionMode", "/spec/completionMode", "\"NonIndexed\"");
    default_raw(e, spec, "suspend", "/spec/suspend", "false");
    default_raw(e, spec, "manualSelector", "/spec/manualSelector", "false");
    default_raw(e, spec, "podReplacementPolicy", "/spec/podReplacementPolicy",
                judged ? "\"Failed\"" : "\"TerminatingOrFailed\"");
    set_if_empty(e, jpath(root, "metadata.labels"), "/metadata/labels",
                 jpath(spec, "template.metadata.labels"));
    template_default(a, root, e);
}

/* Pods of a job are told apart by its UID, unless the user sees to that. */
void job_stamp(struct arena *a, jval root, str uid, struct edit *e)
{
    static const struct {
        const char *key;
        bool is_uid;
    } labels[] = {
        {"batch.kubernetes.io/controller-uid", true},
        {"batch.kubernetes.io/job-name", false},
        {"controller-uid", true},
        {"job-name", false},
    };
    if (j_is_true(jpath(root, "spec.manualSelector")) || !j_has(jpath(root, "spec.template")))
        return;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        edit_set_str(e,
                     edit_path(a, STR("spec"), STR("template"), STR("metadata"), STR("labels"),
                               str_of(labels[i].key)),
                     labels[i].is_uid ? uid : jstr(jpath(root, "metadata.name")));
    edit_set_str(e,
                 edit_path(a, STR("spec"), STR("selector"), STR("matchLabels"),
                           STR("batch.kubernetes.io/controller-uid")),
                 uid);
}

static void check_job_pods(const struct admit *a, jval template, const char *base)
{
    str policy = jstr(jpath(template, "spec.restartPolicy"));
    str at = admit_path(a, "%s.spec", base);
    pod_rules_all(a->errors, jgetc(template, "spec"), at.p);
    if (j_has(template) && !str_is(policy, "OnFailure") && !str_is(policy, "Never"))
        require(a, admit_path(a, "%s.restartPolicy", at.p).p,
                "valid values: \"OnFailure\", \"Never\"");
}

void job_validate(const struct admit *a, jval root)
{
    static const char *const counts[] = {"parallelism",
                                         "completions",
                                         "activeDeadlineSeconds",
                                         "backoffLimit",
                                         "ttlSecondsAfterFinished",
                                         "backoffLimitPerIndex",
                                         "maxFailedIndexes"};
    static const char *const fixed[] = {"selector",         "completionMode",
                                        "podFailurePolicy", "backoffLimitPerIndex",
                                        "managedBy",        "successPolicy"};
    static const char *const pods[] = {"template"};
    jval spec = jgetc(root, "spec");
    bool indexed = str_is(jstr(jgetc(spec, "completionMode")), "Indexed");
    check_counts(a, spec, counts, ARRAY_LEN(counts));
    check_job_pods(a, jgetc(spec, "template"), "spec.template");
    if (indexed && !j_has(jgetc(spec, "completions")))
        require(a, "spec.completions", "when completion mode is Indexed");
    if (!a->old)
        return;
    check_unchanged(a, spec, fixed, ARRAY_LEN(fixed));
    /* Where its pods go may still change while none was made. */
    bool waits = j_is_true(jgetc(obj_spec(a->old), "suspend")) &&
                 !j_has(jgetc(obj_status(a->old), "startTime"));
    if (!waits)
        check_unchanged(a, spec, pods, ARRAY_LEN(pods));
    if (!indexed && !jequal(jgetc(obj_spec(a->old), "completions"), jgetc(spec, "completions")))
        invalid(a, "spec.completions", jgetc(spec, "completions"), "field is immutable");
}

/* ---- cron jobs ---- */

void cron_job_default(const struct admit *a, jval root, struct edit *e)
{
    containers_default(a, jpath(root, "spec.jobTemplate.spec.template.spec"),
                       "/spec/jobTemplate/spec/template/spec", e);
}

static size_t count_words(str s)
{
    size_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < s.len; i++) {
        bool letter = s.p[i] != ' ' && s.p[i] != '\t';
        n += letter && !in_word;
        in_word = letter;
    }
    return n;
}

static void check_schedule(const struct admit *a, jval schedule)
{
    str s = jstr(schedule);
    size_t n = count_words(s);
    bool named = s.len > 1 && s.p[0] == '@';
    if (!s.len)
        require(a, "spec.schedule", "");
    else if (!named && n != 5)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.schedule"), jtext(schedule),
                        "expected exactly 5 fields, found %zu: [%.*s]", n, STR_ARG(s));
}

void cron_job_validate(const struct admit *a, jval root)
{
    static const char *const counts[] = {"startingDeadlineSeconds", "successfulJobsHistoryLimit",
                                         "failedJobsHistoryLimit"};
    enum { NAME_LONGEST = 52 };
    jval spec = jgetc(root, "spec");
    if (a->name.len > NAME_LONGEST)
        invalid(a, "metadata.name", jpath(root, "metadata.name"),
                "must be no more than 52 characters");
    check_counts(a, spec, counts, ARRAY_LEN(counts));
    check_schedule(a, jgetc(spec, "schedule"));
    check_job_pods(a, jpath(spec, "jobTemplate.spec.template"), "spec.jobTemplate.spec.template");
}
