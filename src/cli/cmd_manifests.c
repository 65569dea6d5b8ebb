/*
 * `grove manifests`: what a cluster needs to run Grove, as YAML for `kubectl apply`, or as a Helm
 * chart.
 *
 * Kinds, roles and webhooks are written from the very tables the embedded server works with; the
 * rest is install/components.yaml with its words between @ signs filled in. The chart is the same
 * text with expressions in the place of values, so that there is one description of an
 * installation and not two. Nothing that is made at run time is in it (the certificate, its bundle
 * in the webhooks): applying it again, or having a robot do so, changes nothing.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cli.h"
#include "cli/crds.h"
#include "grove/rbac_rules.h"
#include "operator/webhook/webhook_config.h"
#include "json/yaml.h"

/* Embedded from install/. */
extern const char install_components[], install_chart[], install_values[];

struct manifests_opts {
    bool crds, topology, mnnvl, authorizer, no_scheduler, no_order, extra, monitor, no_namespace,
        installer, given, network;
    str ns, image, initc, chart;
    int64_t replicas;
};

static const struct opt manifests_options[] = {
    OPT_FLAG(struct manifests_opts, crds, 0, "crds", "The definitions of Grove's kinds alone"),
    OPT_STRING_DEF(struct manifests_opts, ns, 'n', "namespace", "NAME", RBAC_NAMESPACE,
                   "Install into this namespace"),
    OPT_FLAG(struct manifests_opts, no_namespace, 0, "no-create-namespace",
             "The namespace is there already"),
    OPT_STRING_DEF(struct manifests_opts, image, 0, "image", "IMAGE", "grove:" GROVE_VERSION,
                   "Image of the program"),
    OPT_STRING(struct manifests_opts, initc, 0, "initc-image", "IMAGE",
               "Image of the init container; without a tag: this version's (default: grove-initc "
               "from where --image is, with its tag)"),
    OPT_INT(struct manifests_opts, replicas, 0, "replicas", "N", 0, 100, "1",
            "How many operators and schedulers; one of each acts"),
    OPT_FLAG(struct manifests_opts, no_scheduler, 0, "no-scheduler",
             "Leave pods to the cluster's own scheduler"),
    OPT_FLAG(struct manifests_opts, no_order, 0, "no-start-order",
             "No clique starts after another; the operator sees no Secret but its own"),
    OPT_FLAG(struct manifests_opts, network, 0, "network-policy",
             "NetworkPolicies: only webhooks, probes and metrics come in, only to the API server "
             "and DNS goes out"),
    OPT_FLAG(struct manifests_opts, topology, 0, "topology", "Topology-aware scheduling"),
    OPT_FLAG(struct manifests_opts, mnnvl, 0, "mnnvl",
             "Make ComputeDomains for multi-node NVLink by themselves; implies "
             "--extra-permissions"),
    OPT_FLAG(struct manifests_opts, authorizer, 0, "authorizer",
             "Protect what the operator made from changes by others"),
    OPT_FLAG(struct manifests_opts, extra, 0, "extra-permissions",
             "Permissions for the objects of other schedulers and for ComputeDomains"),
    OPT_FLAG(struct manifests_opts, installer, 0, "crd-installer",
             "Let each start of the operator bring the definitions up to date"),
    OPT_FLAG(struct manifests_opts, given, 0, "given-certificate",
             "Others keep the webhooks' certificate in the Secret " WEBHOOK_SECRET),
    OPT_FLAG(struct manifests_opts, monitor, 0, "service-monitor",
             "A ServiceMonitor for the Prometheus operator"),
    OPT_STRING(struct manifests_opts, chart, 0, "chart", "DIR",
               "Write a Helm chart into this directory instead"),
    OPT_END,
};

/* Parts that not every installation has. */
enum part {
    PART_ALL,
    PART_NAMESPACE,
    PART_SCHEDULER,
    PART_EXTRA,
    PART_ORDER,
    PART_NETWORK,
    PART_NETWORK_SCHEDULER,
    PART_AUTHORIZER,
    PART_INSTALLER,
    PART_GIVEN,
    PART_MONITOR,
};

static const struct {
    const char *name, *values; /* values NULL: Helm does it */
} parts[] = {
    [PART_ALL] = {"", ""},
    [PART_NAMESPACE] = {"namespace", NULL},
    [PART_SCHEDULER] = {"scheduler", ".Values.scheduler.enabled"},
    [PART_EXTRA] = {"extra-permissions",
                    "or .Values.extraPermissions.enabled .Values.config.network.autoMNNVLEnabled"},
    [PART_ORDER] = {"start-order", ".Values.startOrder.enabled"},
    [PART_NETWORK] = {"network-policy", ".Values.networkPolicy.enabled"},
    [PART_NETWORK_SCHEDULER] = {"network-policy-scheduler",
                                "and .Values.networkPolicy.enabled .Values.scheduler.enabled"},
    [PART_AUTHORIZER] = {"authorizer", ".Values.config.authorizer.enabled"},
    [PART_INSTALLER] = {"crd-installer", ".Values.crdInstaller.enabled"},
    [PART_GIVEN] = {"given-certificate",
                    "eq .Values.config.server.webhooks.certProvisionMode \"manual\""},
    [PART_MONITOR] = {"service-monitor", ".Values.metrics.serviceMonitor.enabled"},
};

struct printing {
    const struct manifests_opts *opts;
    bool chart;
    struct strbuf *out;
    char replicas[8];
    char config_hash[9]; /* a changed configuration has another name and makes new pods */
    struct strbuf initc; /* the image, where none was given */
};

static bool is_wanted(const struct manifests_opts *o, enum part part)
{
    switch (part) {
    case PART_NAMESPACE:
        return !o->no_namespace;
    case PART_SCHEDULER:
        return !o->no_scheduler;
    case PART_EXTRA:
        return o->extra || o->mnnvl;
    case PART_ORDER:
        return !o->no_order;
    case PART_NETWORK:
        return o->network;
    case PART_NETWORK_SCHEDULER:
        return o->network && !o->no_scheduler;
    case PART_AUTHORIZER:
        return o->authorizer;
    case PART_INSTALLER:
        return o->installer;
    case PART_GIVEN:
        return o->given;
    case PART_MONITOR:
        return o->monitor;
    case PART_ALL:
        break;
    }
    return true;
}

/* Begins a document of that part; false: it is left out. In a chart the values decide. */
static bool begin(struct printing *p, enum part part)
{
    if (p->chart ? !parts[part].values : !is_wanted(p->opts, part))
        return false;
    if (p->chart && part != PART_ALL)
        strbuf_printf(p->out, "{{- if %s }}\n", parts[part].values);
    strbuf_add_cstr(p->out, "---\n");
    return true;
}

static void end(struct printing *p, enum part part)
{
    if (p->chart && part != PART_ALL)
        strbuf_add_cstr(p->out, "{{- end }}\n");
}

static void add_doc(struct printing *p, enum part part, struct doc *d)
{
    if (d && begin(p, part)) {
        yaml_write_short(doc_root(d), p->out);
        end(p, part);
    }
    doc_unref(d);
}

static const char *namespace_of(const struct printing *p, struct arena *a)
{
    return p->chart ? "{{ .Release.Namespace }}" : arena_str(a, p->opts->ns).p;
}

/* ---- what comes from tables ---- */

static void add_crds(struct printing *p)
{
    struct doc *d;
    for (size_t i = 0; (d = crds_at(i)); i++)
        add_doc(p, PART_ALL, d);
}

/* To which part of an installation a role belongs; false: to the embedded server alone. */
static bool part_of_role(const struct rbac_role *r, enum part *ret)
{
    *ret = PART_ALL;
    if (!r->accounts)
        return str_starts(str_of(r->name), STR("grove:"));
    if (str_is(str_of(r->accounts), "grove-scheduler"))
        *ret = PART_SCHEDULER;
    else if (!str_is(str_of(r->accounts), "grove-operator"))
        return false;
    if (str_ends(str_of(r->name), STR("-extra")))
        *ret = PART_EXTRA;
    else if (str_ends(str_of(r->name), STR("-tokens")))
        *ret = PART_ORDER;
    return true;
}

static void add_roles(struct printing *p)
{
    struct arena a = ARENA_INIT;
    const char *ns = namespace_of(p, &a);
    enum part part;
    for (size_t i = 0; rbac_role_at(i); i++) {
        const struct rbac_role *r = rbac_role_at(i);
        if (!part_of_role(r, &part))
            continue;
        add_doc(p, part, rbac_role_doc(r, ns));
        add_doc(p, part, rbac_binding_doc(r, ns));
    }
    arena_done(&a);
}

/* What a chart's values say about a webhook, each after a line of its text. */
static const struct {
    const char *line, *chart;
} webhook_values[] = {
    {"metadata:", "{{- with .Values.webhooks.annotations }}\n"
                  "  annotations: {{ toJson . }}\n{{- end }}\n"},
    {"  clientConfig:", "{{- with .Values.webhooks.caBundle }}\n"
                        "    caBundle: {{ . }}\n{{- end }}\n"},
};

static void add_webhook(struct printing *p, size_t i, const struct webhook_service *s)
{
    enum part part = i == WEBHOOK_AUTHORIZER ? PART_AUTHORIZER : PART_ALL;
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(1 << 20);
    struct doc *d = webhook_config_doc(i, s, STR_NONE);
    size_t found = 0;
    /* One member a line, however short: the chart's values have their places between lines. */
    yaml_write(doc_root(d), false, &text);
    doc_unref(d);
    if (!begin(p, part))
        return;
    for (str rest = strbuf_str(&text); rest.len > 0;) {
        str line = str_cut(&rest, '\n');
        strbuf_add_str(p->out, line);
        strbuf_add_char(p->out, '\n');
        for (size_t v = 0; p->chart && v < ARRAY_LEN(webhook_values); v++) {
            if (!str_is(line, webhook_values[v].line))
                continue;
            strbuf_add_cstr(p->out, webhook_values[v].chart);
            found++;
        }
    }
    BUG_ON(p->chart && found != ARRAY_LEN(webhook_values));
    end(p, part);
}

static void add_webhooks(struct printing *p)
{
    struct arena a = ARENA_INIT;
    struct webhook_service s = {str_of(namespace_of(p, &a)), STR(WEBHOOK_SERVICE), 443};
    for (size_t i = 0; i < WEBHOOK_COUNT; i++)
        add_webhook(p, i, &s);
    arena_done(&a);
}

/* ---- what comes from the text ---- */

static str yes_no(bool b)
{
    return b ? STR("true") : STR("false");
}

static str scheduler_or(const struct manifests_opts *o, const char *with, const char *without)
{
    return str_of(o->no_scheduler ? without : with);
}

/* What stands for a word; `chart` is the expression, `value` what the options say. */
static bool word_value(const struct printing *p, str word, str *ret)
{
    const struct manifests_opts *o = p->opts;
    const struct {
        const char *word;
        str value;
        const char *chart;
    } words[] = {
        {"namespace", o->ns, "{{ .Release.Namespace }}"},
        {"image", o->image,
         "\"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\""},
        {"initc-image", str_is_empty(o->initc) ? strbuf_str(&p->initc) : o->initc,
         "{{ .Values.initcImage | default (printf \"%s:%s\" (regexReplaceAll \"[^/]*$\" "
         ".Values.image.repository \"grove-initc\") (.Values.image.tag | default "
         ".Chart.AppVersion)) | quote }}"},
        {"pull-policy", STR("IfNotPresent"), "{{ .Values.image.pullPolicy }}"},
        {"pull-secrets", STR("[]"), "{{ toJson .Values.imagePullSecrets }}"},
        {"replicas", str_of(p->replicas), "{{ .Values.replicaCount }}"},
        {"resources", STR("{limits: {memory: 1Gi}, requests: {cpu: 50m, memory: 64Mi}}"),
         "{{ toJson .Values.resources }}"},
        {"node-selector", STR("{}"), "{{ toJson .Values.nodeSelector }}"},
        {"tolerations", STR("[]"), "{{ toJson .Values.tolerations }}"},
        {"log-level", STR("info"), "{{ .Values.config.logLevel }}"},
        {"authorizer", yes_no(o->authorizer), "{{ .Values.config.authorizer.enabled }}"},
        {"topology", yes_no(o->topology), "{{ .Values.config.topologyAwareScheduling.enabled }}"},
        {"mnnvl", yes_no(o->mnnvl), "{{ .Values.config.network.autoMNNVLEnabled }}"},
        {"cert-mode", str_of(o->given ? "manual" : "auto"),
         "{{ .Values.config.server.webhooks.certProvisionMode }}"},
        {"strategy", STR("RollingRecreate"), "{{ .Values.config.defaultUpdateStrategy }}"},
        {"default-profile", scheduler_or(o, "grove-scheduler", "default-scheduler"),
         "{{ .Values.config.scheduler.defaultProfileName | default "
         "(ternary \"grove-scheduler\" \"default-scheduler\" .Values.scheduler.enabled) }}"},
        {"profiles",
         scheduler_or(o, "[{\"name\":\"grove-scheduler\"},{\"name\":\"default-scheduler\"}]",
                      "[{\"name\":\"default-scheduler\"}]"),
         "{{ .Values.config.scheduler.profiles | default (ternary (list (dict \"name\" "
         "\"grove-scheduler\") (dict \"name\" \"default-scheduler\")) (list (dict \"name\" "
         "\"default-scheduler\")) .Values.scheduler.enabled) | toJson }}"},
        {"config-hash", str_of(p->config_hash),
         "{{ list .Values.config .Values.scheduler .Chart.Version | toJson | sha256sum | trunc 8 "
         "}}"},
        {"egress-ports",
         STR("[{\"port\":443,\"protocol\":\"TCP\"},{\"port\":6443,\"protocol\":\"TCP\"},"
             "{\"port\":53,\"protocol\":\"UDP\"},{\"port\":53,\"protocol\":\"TCP\"}]"),
         "{{ toJson .Values.networkPolicy.egressPorts }}"},
        {"version", STR(GROVE_VERSION), GROVE_VERSION},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(word, words[i].word)) {
            *ret = p->chart ? str_of(words[i].chart) : words[i].value;
            return true;
        }
    return false;
}

/* The text with its words filled in; an @ that begins no word stays. */
static void fill_in(struct printing *p, str text, struct strbuf *out)
{
    while (text.len > 0) {
        ptrdiff_t at = str_find_char(text, '@');
        if (at < 0)
            break;
        strbuf_add_str(out, str_n(text.p, (size_t)at));
        text = str_sub(text, (size_t)at + 1, SIZE_MAX);
        ptrdiff_t close = str_find_char(text, '@');
        str value;
        if (close > 0 && word_value(p, str_n(text.p, (size_t)close), &value)) {
            strbuf_add_str(out, value);
            text = str_sub(text, (size_t)close + 1, SIZE_MAX);
        } else
            strbuf_add_char(out, '@');
    }
    strbuf_add_str(out, text);
}

static enum part part_named(str name)
{
    for (size_t i = 1; i < ARRAY_LEN(parts); i++)
        if (str_is(name, parts[i].name))
            return (enum part)i;
    return PART_ALL;
}

static enum part part_of_text(str *doc)
{
    static const str only = STR_INIT("# only ");
    if (!str_starts(*doc, only))
        return PART_ALL;
    str line = str_cut(doc, '\n');
    return part_named(str_sub(line, only.len, SIZE_MAX));
}

/* The text without the regions that are not wanted: from a line "# begin NAME" to one "# end". In a
 * chart the values decide. */
static void choose_regions(const struct printing *p, str text, struct strbuf *out)
{
    static const str begin = STR_INIT("# begin ");
    bool in = false, kept = true;
    while (text.len > 0) {
        str line = str_cut(&text, '\n'), word = str_trim(line);
        if (str_starts(word, begin)) {
            enum part part = part_named(str_sub(word, begin.len, SIZE_MAX));
            in = true;
            kept = p->chart || is_wanted(p->opts, part);
            if (p->chart)
                strbuf_printf(out, "{{- if %s }}\n", parts[part].values);
        } else if (in && str_is(word, "# end")) {
            if (p->chart)
                strbuf_add_cstr(out, "{{- end }}\n");
            in = false;
            kept = true;
        } else if (kept) {
            strbuf_add_str(out, line);
            strbuf_add_char(out, '\n');
        }
    }
}

/* The name of a configuration says what is in it; true: it is new, and the text lacks it still. */
static bool note_config(struct printing *p, str doc)
{
    uint8_t sum[SHA256_SIZE];
    if (p->chart || p->config_hash[0] || str_find(doc, STR("config.yaml: |")) < 0)
        return false;
    hash_sha256(doc, sum);
    for (size_t i = 0; i < sizeof(p->config_hash) / 2; i++)
        (void)snprintf(p->config_hash + 2 * i, 3, "%02x", sum[i]);
    return true;
}

static void add_components(struct printing *p)
{
    str rest = str_of(install_components);
    static const str mark = STR_INIT("\n---\n");
    bool first = true; /* what stands before the first mark is a comment */
    while (rest.len > 0) {
        ptrdiff_t at = str_find(rest, mark);
        str doc = at < 0 ? rest : str_n(rest.p, (size_t)at + 1);
        rest = at < 0 ? STR_NONE : str_sub(rest, (size_t)at + mark.len, SIZE_MAX);
        if (!first) {
            struct strbuf chosen CLEANUP(strbuf_done) = STRBUF_INIT(1 << 20);
            struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(1 << 20);
            enum part part = part_of_text(&doc);
            choose_regions(p, doc, &chosen);
            fill_in(p, strbuf_str(&chosen), &text);
            if (note_config(p, strbuf_str(&text))) {
                strbuf_reset(&text);
                fill_in(p, strbuf_str(&chosen), &text);
            }
            if (begin(p, part)) {
                strbuf_add_str(p->out, strbuf_str(&text));
                end(p, part);
            }
        }
        first = false;
    }
}

/* ---- as a chart ---- */

static int make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return 0;
    return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

static void add_chart_head(struct printing *p)
{
    fill_in(p, str_of(install_chart), p->out);
}

static void add_chart_values(struct printing *p)
{
    strbuf_add_cstr(p->out, install_values);
}

static int write_chart(const struct manifests_opts *o, struct err *err)
{
    static const struct {
        const char *file;
        void (*add)(struct printing *p);
    } files[] = {
        {"Chart.yaml", add_chart_head},
        {"values.yaml", add_chart_values},
        {"crds/grove.yaml", add_crds},
        {"templates/roles.yaml", add_roles},
        {"templates/webhooks.yaml", add_webhooks},
        {"templates/components.yaml", add_components},
    };
    static const char *const dirs[] = {"", "/crds", "/templates"};
    struct arena a = ARENA_INIT;
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(dirs) && r == 0; i++)
        r = make_dir(arena_printf(&a, "%.*s%s", STR_ARG(o->chart), dirs[i]).p, err);
    for (size_t i = 0; i < ARRAY_LEN(files) && r == 0; i++) {
        struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(16 << 20);
        struct printing p = {.opts = o, .chart = true, .out = &out};
        files[i].add(&p);
        r = file_write(arena_printf(&a, "%.*s/%s", STR_ARG(o->chart), files[i].file).p,
                       strbuf_str(&out), 0644, err);
    }
    arena_done(&a);
    return r;
}

static bool is_image(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] == '"' || s.p[i] == '\'' || s.p[i] == '#' || s.p[i] == '{')
            return false;
    }
    return s.len > 0;
}

/* They go into YAML as they are. */
static int check_words(const struct manifests_opts *o, struct err *err)
{
    if (!str_is_dns1123_label(o->ns))
        return err_set(err, ERR_USAGE, "--namespace: \"%.*s\" is no name of a namespace",
                       STR_ARG(o->ns));
    if (!is_image(o->image))
        return err_set(err, ERR_USAGE, "--image: \"%.*s\" is no name of an image",
                       STR_ARG(o->image));
    if (!str_is_empty(o->initc) && !is_image(o->initc))
        return err_set(err, ERR_USAGE, "--initc-image: \"%.*s\" is no name of an image",
                       STR_ARG(o->initc));
    return 0;
}

/* Where the image of the program is, the other one is too, under the same tag. A digest is of one
 * image alone. */
static void put_initc(struct strbuf *b, str image)
{
    str rest = image, name = str_cut(&rest, '@');
    size_t begin = name.len;
    while (begin > 0 && name.p[begin - 1] != '/')
        begin--;
    str tag = str_sub(name, begin, SIZE_MAX);
    (void)str_cut(&tag, ':');
    strbuf_add_str(b, str_sub(name, 0, begin));
    strbuf_add_cstr(b, "grove-initc");
    if (tag.len)
        strbuf_printf(b, ":%.*s", STR_ARG(tag));
}

static int run_manifests(void *ctx, const void *opts, const struct command_call *call)
{
    const struct manifests_opts *o = opts;
    struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(16 << 20);
    struct printing p = {.opts = o, .out = &out, .initc = STRBUF_INIT(4096)};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    if (check_words(o, &err) < 0)
        return cli_fail(&err);
    (void)snprintf(p.replicas, sizeof(p.replicas), "%d", (int)o->replicas);
    put_initc(&p.initc, o->image);
    if (str_is_empty(o->chart)) {
        add_crds(&p);
        if (!o->crds) {
            add_components(&p);
            add_roles(&p);
            add_webhooks(&p);
        }
    }
    strbuf_done(&p.initc);
    if (!str_is_empty(o->chart))
        return write_chart(o, &err) < 0 ? cli_fail(&err) : EXIT_OK;
    return fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
}

const struct command cmd_manifests = {
    .name = "manifests",
    .summary = "Print what installs Grove into a cluster, as YAML",
    .description = "Namespace, kinds, operator, scheduler, roles with least privilege, and "
                   "webhooks: `grove manifests | kubectl apply --server-side -f -`. The operator "
                   "creates the certificate of the webhooks itself, so applying the output again "
                   "changes nothing. --chart writes the same as a Helm chart.",
    .opts = manifests_options,
    .opts_size = sizeof(struct manifests_opts),
    .examples = "  $ grove manifests | kubectl apply --server-side -f -\n"
                "  $ grove manifests --crds",
    .run = run_manifests,
};
