/* See test-rules.h. */
#include "grove/test-rules.h"

#include "kube/schema.h"
#include "json/patch.h"
#include "json/yaml.h"

size_t rules_count;
const char rules_good[] =
    "apiVersion: grove.io/v1alpha1\n"
    "kind: PodCliqueSet\n"
    "metadata: {name: svc, namespace: ml}\n"
    "spec:\n"
    "  replicas: 2\n"
    "  template:\n"
    "    cliques:\n"
    "    - {name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, " POD "}}\n"
    "    - {name: pl, spec: {replicas: 1, " POD "}}\n"
    "    - {name: pw, spec: {replicas: 4, " POD "}}\n"
    "    podCliqueScalingGroups:\n"
    "    - {name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1}\n";

struct doc *rules_yaml(const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(text), &err);
    if (!d)
        test_note("%s in %s", err.message, text);
    REQUIRE(d != NULL);
    return d;
}

/* As the server admits it: schema defaults, then ours. */
struct doc *rules_admitted(struct doc *d)
{
    struct doc *filled = schema_default(kind_pcs.type, d);
    struct doc *out = grove_default(&kind_pcs, filled, STR("ml"));
    doc_unref(filled);
    doc_unref(d);
    return out;
}

struct doc *rules_patched(const struct doc *base, const char *patch)
{
    struct doc *p = rules_yaml(patch);
    struct doc *out = json_merge_patch(doc_root(base), doc_root(p), NULL);
    doc_unref(p);
    REQUIRE(out != NULL);
    return rules_admitted(out);
}

void rules_describe(const struct field_errors *errors, struct strbuf *out)
{
    static const char *const types[] = {
        [FIELD_ERR_REQUIRED] = "Required",         [FIELD_ERR_INVALID] = "Invalid",
        [FIELD_ERR_DUPLICATE] = "Duplicate",       [FIELD_ERR_NOT_FOUND] = "NotFound",
        [FIELD_ERR_NOT_SUPPORTED] = "Unsupported", [FIELD_ERR_FORBIDDEN] = "Forbidden",
        [FIELD_ERR_TOO_MANY] = "TooMany",
    };
    for (size_t i = 0; i < errors->items.len; i++) {
        const struct field_error *e = &errors->items.p[i];
        bool shown = e->type != FIELD_ERR_REQUIRED && e->type != FIELD_ERR_FORBIDDEN;
        strbuf_printf(out, "%.*s: %s%s%.*s\n", STR_ARG(e->field), types[e->type], shown ? ": " : "",
                      STR_ARG(shown ? e->value : STR_NONE));
    }
    for (size_t i = 0; i < errors->warnings.len; i++) {
        str text = errors->warnings.p[i];
        str field = str_cut(&text, ':');
        strbuf_printf(out, "warning: %.*s\n", STR_ARG(field));
    }
}

struct grove_context rules_context;

static void run_case(const struct rule_case *c, bool update)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct strbuf got = STRBUF_INIT(1 << 20);
    struct doc *base = rules_admitted(rules_yaml(rules_good));
    struct doc *old = c->before ? rules_patched(base, c->before) : doc_ref(base);
    struct doc *new = rules_patched(old, c->patch);
    rules_count++;
    field_errors_init(&errors, &a);
    grove_validate_in(&rules_context, &kind_pcs, update ? old : NULL, new, &errors);
    rules_describe(&errors, &got);
    if (!CHECK_CSTR(strbuf_str(&got), c->want))
        test_note("rule %s", c->rule);
    field_errors_done(&errors);
    strbuf_done(&got);
    doc_unref(base);
    doc_unref(old);
    doc_unref(new);
    arena_done(&a);
}

void rules_run(const struct rule_case *cases, size_t n, bool update)
{
    grove_kinds_init();
    if (!rules_context.schedulers)
        rules_context = grove_default_context;
    for (size_t i = 0; i < n; i++)
        run_case(&cases[i], update);
}

jval rules_levels(void *ctx, str binding)
{
    static struct doc *levels;
    (void)ctx;
    if (!levels)
        levels =
            rules_yaml("[{domain: zone, key: z}, {domain: rack, key: r}, {domain: host, key: h}]");
    return str_is(binding, "fab") ? doc_root(levels) : JVAL_ABSENT;
}
