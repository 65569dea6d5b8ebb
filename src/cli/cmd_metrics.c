/*
 * `grove metrics`: feeds the metrics that autoscalers of `grove up` read, and shows them. A front
 * end to the metrics APIs: what it sets is PUT at the path from which it is read.
 */
#include "base/quantity.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "client/wire.h"
#include "explain/documents/clean.h"
#include "grove/metrics_feed.h"
#include "json/write.h"

#define CUSTOM "/apis/custom.metrics.k8s.io/v1beta2"
#define EXTERNAL "/apis/external.metrics.k8s.io/v1beta1"
#define CHOICE "--pod, --selector, --object or --external"

struct metrics_args {
    struct session_opts session;
    str pod, selector, object, labels;
    bool external;
    usec ttl;
    int output;
};

/* ---- what it is about ---- */

static int check_choice(const struct metrics_args *a, struct err *err)
{
    size_t n = (a->pod.p != NULL) + (a->selector.p != NULL) + (a->object.p != NULL) + a->external;
    if (n != 1)
        return err_set(err, ERR_USAGE, "say what the metric is of: one of " CHOICE);
    if (a->labels.p && !a->external)
        return err_set(err, ERR_USAGE, "only an --external metric has --labels");
    return 0;
}

/* KIND/NAME, as get and delete understand it. */
static int read_object(str text, const struct kind **ret_kind, str *ret_name, struct err *err)
{
    str name = text, type = str_cut(&name, '/');
    *ret_kind = kind_by_alias(type);
    *ret_name = name;
    if (!*ret_kind)
        return err_set(err, ERR_USAGE, "the server has no resource type \"%.*s\"", STR_ARG(type));
    if (name.len == 0)
        return err_set(err, ERR_USAGE, "--object is KIND/NAME, such as pcsg/my-set-0-group");
    return 0;
}

static void add_segment(struct strbuf *b, str s)
{
    strbuf_add_char(b, '/');
    wire_add_escaped(b, s);
}

static void add_namespace(struct strbuf *b, str ns)
{
    strbuf_add_cstr(b, "/namespaces");
    add_segment(b, ns);
}

static void add_resource(struct strbuf *b, const struct kind *k)
{
    strbuf_printf(b, "/%s%s%s", k->plural, *k->group ? "." : "", k->group);
}

static void add_selector(struct strbuf *b, str selector)
{
    if (selector.len == 0)
        return;
    strbuf_add_cstr(b, "?labelSelector=");
    wire_add_escaped(b, selector);
}

/* Where the metric is read and written. The labels of an external one select when it is read. */
static int path_of(const struct session *s, const struct metrics_args *a, str metric, bool reads,
                   struct strbuf *b, struct err *err)
{
    const struct kind *k = &kind_pod;
    str name = a->pod.p ? a->pod : STR("*");
    if (a->external) {
        strbuf_add_cstr(b, EXTERNAL);
        add_namespace(b, s->ns);
        add_segment(b, metric);
        add_selector(b, reads ? a->labels : STR_NONE);
        return 0;
    }
    if (a->object.p && read_object(a->object, &k, &name, err))
        return ERR_USAGE;
    strbuf_add_cstr(b, CUSTOM);
    if (k == &kind_namespace) {
        add_namespace(b, name);
        strbuf_add_cstr(b, "/metrics");
        add_segment(b, metric);
        return 0;
    }
    if (kind_is(k, KIND_NAMESPACED))
        add_namespace(b, s->ns);
    add_resource(b, k);
    add_segment(b, name);
    add_segment(b, metric);
    add_selector(b, a->selector);
    return 0;
}

/* ---- set and unset ---- */

static bool has_key(str labels, str key)
{
    while (labels.len > 0) {
        str one = str_cut(&labels, ',');
        if (str_eq(str_cut(&one, '='), key))
            return true;
    }
    return false;
}

/* KEY=VALUE, each key once. What keys and values may hold is for the server to say. */
static int check_labels(str labels, struct err *err)
{
    for (str rest = labels; rest.len > 0;) {
        str one = str_cut(&rest, ','), value = one, key = str_cut(&value, '=');
        if (key.len == 0 || key.len == one.len)
            return err_set(err, ERR_USAGE, "\"%.*s\" is no label: --labels are KEY=VALUE,...",
                           STR_ARG(one));
        if (has_key(rest, key))
            return err_set(err, ERR_USAGE, "--labels: %.*s is given twice", STR_ARG(key));
    }
    return 0;
}

static int check_set(const struct metrics_args *a, str value, struct err *err)
{
    struct quantity q;
    if (quantity_parse(value, &q, NULL))
        return err_set(err, ERR_USAGE, "\"%.*s\" is no quantity, such as 12, 1.5 or 300m",
                       STR_ARG(value));
    if (a->ttl < USEC_PER_SEC || a->ttl > METRICS_TTL_MAX)
        return err_set(err, ERR_USAGE, "--for must be from 1s to %lldh",
                       (long long)(METRICS_TTL_MAX / USEC_PER_HOUR));
    return check_labels(a->labels, err);
}

static void put_labels(struct jw *w, str labels)
{
    jw_put_object(w, "metricLabels");
    while (labels.len > 0) {
        str value = str_cut(&labels, ','), key = str_cut(&value, '=');
        jw_key(w, key);
        jw_str(w, value);
    }
    jw_end(w);
}

static struct doc *body_of(const struct metrics_args *a, str value)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "value", value);
    jw_put_int(&w, "ttlSeconds", a->ttl / USEC_PER_SEC);
    if (a->labels.len > 0)
        put_labels(&w, a->labels);
    jw_end(&w);
    return jw_doc(&w);
}

/* What says that nobody takes metrics here. */
static int explain(int r, struct err *err)
{
    str said = str_of(err->message);
    if (r && (str_find(said, STR("could not find the requested resource")) >= 0 ||
              str_find(said, STR("does not allow this method")) >= 0 ||
              str_find(said, STR("page not found")) >= 0))
        return err_set(err, r,
                       "this server takes no metrics: `grove up` does; in a cluster a metrics "
                       "adapter reads them from a monitoring system");
    return r;
}

static int write_metric(const struct metrics_args *a, str metric, struct doc *body)
{
    struct session s = {0};
    struct err err = ERR_INIT;
    struct strbuf path = STRBUF_INIT(1 << 16);
    int r = check_choice(a, &err);
    r = r ? r : session_open(&a->session, &s, &err);
    r = r ? r : path_of(&s, a, metric, body == NULL, &path, &err);
    r = r ? r
          : explain(
                session_write(&s, body ? API_UPDATE : API_DELETE, strbuf_str(&path), body, &err),
                &err);
    if (r == 0)
        printf("metric %.*s %s\n", STR_ARG(clean_text(&s.arena, metric, CLEAN_ALL)),
               body ? "set" : "unset");
    strbuf_done(&path);
    if (s.loop)
        session_close(&s);
    doc_unref(body);
    return r ? cli_fail(&err) : EXIT_OK;
}

static int run_set(void *ctx, const void *opts, const struct command_call *call)
{
    const struct metrics_args *a = opts;
    struct err err = ERR_INIT;
    (void)ctx;
    if (check_set(a, call->args[1], &err))
        return cli_fail(&err);
    return write_metric(a, call->args[0], body_of(a, call->args[1]));
}

static int run_unset(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    return write_metric(opts, call->args[0], NULL);
}

/* ---- get ---- */

enum { COLUMNS = 3 };
struct row {
    str cells[COLUMNS];
};
typedef VEC(struct row) row_vec;

static void print_table(const row_vec *rows)
{
    size_t widths[COLUMNS] = {0};
    for (size_t i = 0; i < rows->len; i++) {
        for (size_t c = 0; c < COLUMNS; c++)
            widths[c] = MAX(widths[c], rows->p[i].cells[c].len);
    }
    for (size_t i = 0; i < rows->len; i++) {
        for (size_t c = 0; c < COLUMNS; c++)
            printf(c + 1 < COLUMNS ? "%-*.*s   " : "%-*.*s\n", c + 1 < COLUMNS ? (int)widths[c] : 0,
                   STR_ARG(rows->p[i].cells[c]));
    }
}

static str age_of(struct session *s, jval item)
{
    usec at;
    struct strbuf b = STRBUF_INIT(64);
    if (!time_parse_rfc3339(jstr(jgetc(item, "timestamp")), &at))
        return STR("<unknown>");
    time_format_age(MAX(loop_wall(s->loop) - at, (usec)0), &b);
    str text = arena_str(&s->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* "pods/a", or the labels of an external series. */
static str subject_of(struct session *s, jval item)
{
    jval o = jgetc(item, "describedObject");
    struct strbuf b = STRBUF_INIT(1 << 16);
    if (j_has(o))
        strbuf_printf(&b, "%.*s/%.*s", STR_ARG(jstr(jgetc(o, "kind"))),
                      STR_ARG(jstr(jgetc(o, "name"))));
    for (struct jiter it = jiter(jgetc(item, "metricLabels")); jnext(&it);)
        strbuf_printf(&b, "%s%.*s=%.*s", b.len ? "," : "", STR_ARG(it.key),
                      STR_ARG(jstr(it.value)));
    str text = b.len ? clean_text(&s->arena, strbuf_str(&b), CLEAN_ALL) : STR("<none>");
    text = arena_str(&s->arena, text);
    strbuf_done(&b);
    return text;
}

static void print_values(struct session *s, jval root, bool external)
{
    row_vec rows = {0};
    *vec_push(&rows) =
        (struct row){{external ? STR("LABELS") : STR("OBJECT"), STR("VALUE"), STR("AGE")}};
    for (struct jiter it = jiter(jgetc(root, "items")); jnext(&it);)
        *vec_push(&rows) =
            (struct row){{subject_of(s, it.value),
                          clean_text(&s->arena, jstr(jgetc(it.value, "value")), CLEAN_ALL),
                          age_of(s, it.value)}};
    if (rows.len > 1)
        print_table(&rows);
    else
        fputs("No metrics found\n", stderr);
    vec_done(&rows);
}

static int run_get(void *ctx, const void *opts, const struct command_call *call)
{
    const struct metrics_args *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    struct doc *d = NULL;
    struct strbuf path = STRBUF_INIT(1 << 16);
    (void)ctx;
    int r = check_choice(a, &err);
    r = r ? r : session_open_to_look(&a->session, &s, &err);
    r = r ? r : path_of(&s, a, call->args[0], true, &path, &err);
    r = r ? r : session_read(&s, strbuf_str(&path), &d, &err);
    if (r == 0 && a->output != PRINT_TABLE)
        print_doc(doc_root(d), (enum print_format)a->output);
    else if (r == 0)
        print_values(&s, doc_root(d), a->external);
    strbuf_done(&path);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- list ---- */

static int print_names(struct session *s, const char *path, const char *prefix, size_t *n,
                       struct err *err)
{
    struct doc *d = NULL;
    int r = session_read(s, str_of(path), &d, err);
    for (struct jiter it = jiter(r ? JVAL_ABSENT : jgetc(doc_root(d), "resources")); jnext(&it);
         ++*n)
        printf("%s%.*s\n", prefix,
               STR_ARG(clean_text(&s->arena, jstr(jgetc(it.value, "name")), CLEAN_ALL)));
    return r;
}

static int run_list(void *ctx, const void *opts, const struct command_call *call)
{
    const struct session_opts *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    size_t n = 0;
    (void)ctx;
    (void)call;
    int r = session_open_to_look(a, &s, &err);
    r = r ? r : print_names(&s, CUSTOM, "", &n, &err);
    r = r ? r : print_names(&s, EXTERNAL, "external/", &n, &err);
    r = explain(r, &err);
    if (r == 0 && n == 0)
        fputs("No metrics found\n", stderr);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- commands ---- */

/* What a metric is of. */
#define SUBJECT                                                                              \
    OPT_STRING(struct metrics_args, pod, 0, "pod", "NAME", "Of this pod"),                   \
        OPT_STRING(struct metrics_args, selector, 'l', "selector", "LABELS",                 \
                   "Of each pod with these labels"),                                         \
        OPT_STRING(struct metrics_args, object, 0, "object", "KIND/NAME", "Of this object"), \
        OPT_FLAG(struct metrics_args, external, 0, "external", "Of nothing in the cluster"), \
        OPT_STRING(struct metrics_args, labels, 0, "labels", "KEY=VALUE,...",                \
                   "The labels of an external metric")
#define CONNECTION \
    OPT_GROUP("Connection", session_options, offsetof(struct metrics_args, session)), OPT_END

static const struct opt set_opts[] = {
    SUBJECT,
    OPT_DURATION(struct metrics_args, ttl, 0, "for", "1h",
                 "How long the value stays unless it is set again, at most 168h"),
    CONNECTION,
};
static const struct opt unset_opts[] = {SUBJECT, CONNECTION};
/* Those of print_formats that a document has. */
static const char *const formats[] = {"table", "wide", "yaml", "json", NULL};
static const struct opt get_opts[] = {
    SUBJECT,
    OPT_CHOICE(struct metrics_args, output, 'o', "output", formats, "table", "How to print"),
    CONNECTION,
};

static const struct command cmd_set = {
    .name = "set",
    .summary = "Set a metric",
    .description = "Autoscalers see the value at once, and kubectl reads it from the metrics APIs. "
                   "VALUE is a quantity: 12, 1.5, 300m, 2k. Values are kept in memory: they are "
                   "gone after --for, with their object, and when the control plane restarts; an "
                   "autoscaler that misses a metric keeps the scale it has.",
    .usage = "METRIC VALUE --pod|--selector|--object|--external ...",
    .min_args = 2,
    .max_args = 2,
    .opts = set_opts,
    .opts_size = sizeof(struct metrics_args),
    .examples = "  $ grove metrics set queue_length 40 --selector grove.io/podclique=web-0-front\n"
                "  $ grove metrics set requests_per_second 250 --object service/door\n"
                "  $ grove metrics set jobs 12 --external --labels queue=a --for 10m",
    .run = run_set,
};

static const struct command cmd_unset = {
    .name = "unset",
    .summary = "Take a metric away",
    .usage = "METRIC --pod|--selector|--object|--external ...",
    .min_args = 1,
    .max_args = 1,
    .opts = unset_opts,
    .opts_size = sizeof(struct metrics_args),
    .examples = "  $ grove metrics unset jobs --external",
    .run = run_unset,
};

static const struct command cmd_metrics_get = {
    .name = "get",
    .summary = "Show the values of a metric",
    .usage = "METRIC --pod|--selector|--object|--external ...",
    .min_args = 1,
    .max_args = 1,
    .opts = get_opts,
    .opts_size = sizeof(struct metrics_args),
    .examples = "  $ grove metrics get queue_length --selector grove.io/podclique=web-0-front",
    .run = run_get,
};

static const struct opt list_opts[] = {OPT_GROUP("Connection", session_options, 0), OPT_END};

static const struct command cmd_metrics_list = {
    .name = "list",
    .summary = "List the metrics there are",
    .description = "Custom metrics as RESOURCE/METRIC, external ones as external/METRIC.",
    .opts = list_opts,
    .opts_size = sizeof(struct session_opts),
    .run = run_list,
};

static const struct command *const subs[] = {&cmd_set, &cmd_metrics_get, &cmd_metrics_list,
                                             &cmd_unset, NULL};

const struct command cmd_metrics = {
    .name = "metrics",
    .opts = list_opts,
    .opts_size = sizeof(struct session_opts),
    .summary = "Set and show the metrics that autoscalers read",
    .description = "A front end to custom.metrics.k8s.io and external.metrics.k8s.io as `grove up` "
                   "serves them.",
    .subs = subs,
};
