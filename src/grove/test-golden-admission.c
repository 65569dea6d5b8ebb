/*
 * Golden objects: the manifests of tests/seeds and tests/golden/grove, admitted as the embedded
 * server does it, compared with what tests/golden/grove/NAME.txt has: errors, warnings, the names
 * of what is made of them, and the defaulted object. The seeds are, beyond that, accepted.
 *
 * GROVE_GOLDEN=write writes the files anew; what changed is then for a person to read.
 */
#include <dirent.h>

#include "base/file.h"
#include "grove/names.h"
#include "grove/test-rules.h"
#include "kube/schema.h"
#include "json/yaml.h"

#define SEEDS TEST_DATA "/seeds"
#define GOLDEN TEST_DATA "/golden/grove"

/* ---- names ---- */

static void add_line(struct strbuf *out, const char *what, str name)
{
    strbuf_printf(out, "%-12s %.*s\n", what, STR_ARG(name));
}

static void add_clique(struct strbuf *out, struct arena *a, str name, const struct clique_view *c)
{
    add_line(out, "PodClique", name);
    if (!str_eq(name_label(a, name), name))
        add_line(out, "  label", name_label(a, name));
    add_line(out, "  host", name_hostname(a, name, c->replicas - 1));
}

static void add_group(struct strbuf *out, struct arena *a, str set, int64_t i,
                      const struct pcs_view *v, const struct group_view *g)
{
    str pcsg = name_pcsg(a, set, i, g->name);
    struct clique_view c;
    add_line(out, "ScalingGroup", pcsg);
    for (int64_t r = 0; r < g->replicas; r++) {
        if (r >= g->min_available)
            add_line(out, "PodGang", name_scaled_gang(a, pcsg, r, g->min_available));
        for (struct jiter it = jiter(g->clique_names); jnext(&it);) {
            if (pcs_find_clique(v, jstr(it.value), &c))
                add_clique(out, a, name_member_pclq(a, pcsg, r, c.name), &c);
        }
    }
}

static void add_names(struct strbuf *out, struct arena *a, struct doc *d)
{
    struct obj *o = obj_hold(a, obj_new(&kind_pcs, doc_ref(d), NULL));
    struct pcs_view v;
    pcs_view(o, &v);
    add_line(out, "Role", name_role(a, o->name));
    add_line(out, "Secret", name_initc_secret(a, o->name));
    for (int64_t i = 0; i < v.replicas; i++) {
        struct clique_view c;
        struct group_view g;
        add_line(out, "PodGang", name_base_gang(a, o->name, i));
        add_line(out, "Service", name_service(a, o->name, i));
        for (struct jiter it = jiter(v.cliques); jnext(&it);) {
            clique_view(it.value, &c);
            if (!pcs_group_of(&v, c.name, &g))
                add_clique(out, a, name_pclq(a, o->name, i, c.name), &c);
        }
        for (struct jiter it = jiter(v.scaling_groups); jnext(&it);) {
            group_view(it.value, &g);
            add_group(out, a, o->name, i, &v, &g);
        }
    }
}

/* ---- one manifest ---- */

static void note_unknown(void *ctx, const char *what, str path)
{
    strbuf_printf(ctx, "%s: %.*s\n", what, STR_ARG(path));
}

/* Returns whether it was accepted. */
static bool admit(str text, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct field_errors errors;
    struct grove_context context = grove_default_context;
    context.levels = rules_levels;
    struct doc *raw = doc_hold(&a, yaml_parse_one(text, &err));
    if (!raw)
        test_note("%s", err.message);
    REQUIRE(raw != NULL);
    str group, version;
    api_version_split(jstr(jgetc(doc_root(raw), "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, jstr(jgetc(doc_root(raw), "kind")));
    REQUIRE(k != NULL);
    field_errors_init(&errors, &a);
    struct doc *filled = doc_hold(&a, schema_default(k->type, raw));
    struct doc *d = doc_hold(&a, grove_default(k, filled, STR("default")));
    strbuf_add_cstr(out, "--- errors\n");
    schema_unknown(k->type, doc_root(raw), note_unknown, out);
    bool known = str_ends(strbuf_str(out), STR("--- errors\n"));
    schema_validate(k->type, doc_root(d), STR_NONE, &errors);
    grove_validate_in(&context, k, NULL, d, &errors);
    for (size_t i = 0; i < errors.items.len; i++) {
        str line = field_error_text(&a, &errors.items.p[i]);
        strbuf_printf(out, "%.*s\n", STR_ARG(line));
    }
    strbuf_add_cstr(out, "--- warnings\n");
    for (size_t i = 0; i < errors.warnings.len; i++)
        strbuf_printf(out, "%.*s\n", STR_ARG(errors.warnings.p[i]));
    bool accepted = known && errors.items.len == 0;
    if (k == &kind_pcs && accepted) {
        strbuf_add_cstr(out, "--- names\n");
        add_names(out, &a, d);
    }
    strbuf_add_cstr(out, "--- object\n");
    yaml_write(doc_root(d), false, out);
    field_errors_done(&errors);
    arena_done(&a);
    return accepted;
}

/* Of whatever may be scaled, also by its scale subresource, which is judged by the same table. */
TEST(a_million_replicas_at_most)
{
    static const struct {
        const struct kind *kind;
        const char *object, *path; /* %d: replicas */
    } cases[] = {
        {&kind_pcs, "{spec: {replicas: %d, template: {cliques: []}}}", "spec.replicas"},
        {&kind_pcs,
         "{spec: {template: {cliques: [{name: a, spec: {replicas: %d, podSpec: {containers: "
         "[]}}}]}}}",
         "spec.template.cliques[0].spec.replicas"},
        {&kind_pcs,
         "{spec: {template: {cliques: [], podCliqueScalingGroups: [{name: g, cliqueNames: [a], "
         "replicas: %d}]}}}",
         "spec.template.podCliqueScalingGroups[0].replicas"},
        {&kind_pcs,
         "{spec: {template: {cliques: [], podCliqueScalingGroups: [{name: g, cliqueNames: [a], "
         "scaleConfig: {maxReplicas: %d}}]}}}",
         "spec.template.podCliqueScalingGroups[0].scaleConfig.maxReplicas"},
        {&kind_pclq, "{spec: {replicas: %d, podSpec: {containers: []}}}", "spec.replicas"},
        {&kind_pcsg, "{spec: {replicas: %d, cliqueNames: [a]}}", "spec.replicas"},
    };
    static const int numbers[] = {1, 1000000, 1000001, INT32_MAX};
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(numbers); i++) {
        struct arena a = ARENA_INIT;
        struct field_errors errors;
        int n = numbers[i % ARRAY_LEN(numbers)];
        const char *path = cases[i / ARRAY_LEN(numbers)].path;
        struct strbuf text = STRBUF_INIT(1024);
        const char *object = cases[i / ARRAY_LEN(numbers)].object, *at = strstr(object, "%d");
        strbuf_printf(&text, "%.*s%d%s", (int)(at - object), object, n, at + 2);
        struct doc *d = doc_hold(&a, yaml_parse_one(strbuf_str(&text), NULL));
        field_errors_init(&errors, &a);
        schema_validate(cases[i / ARRAY_LEN(numbers)].kind->type, doc_root(d), STR_NONE, &errors);
        str got = errors.items.len ? field_error_text(&a, &errors.items.p[0]) : STR_NONE;
        str want = n <= 1000000
                       ? STR_NONE
                       : arena_printf(&a,
                                      "%s: Invalid value: %d: %s in body should be less than or "
                                      "equal to 1000000",
                                      path, n, path);
        CHECK_STR(got, want);
        field_errors_done(&errors);
        strbuf_done(&text);
        arena_done(&a);
    }
}

static bool is_manifest(const struct dirent *e)
{
    return str_ends(str_of(e->d_name), STR(".yaml"));
}

static int pick(const struct dirent *e)
{
    return is_manifest(e);
}

/* Compares, or writes; returns how many there are. */
static size_t run_directory(const char *dir, bool must_be_accepted)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, pick, alphasort);
    const char *mode = getenv("GROVE_GOLDEN");
    grove_kinds_init();
    REQUIRE(n > 0);
    for (int i = 0; i < n; i++) {
        struct arena a = ARENA_INIT;
        struct strbuf text = STRBUF_INIT(1 << 20), got = STRBUF_INIT(1 << 20);
        struct strbuf want = STRBUF_INIT(1 << 20);
        str stem = str_sub(str_of(entries[i]->d_name), 0, strlen(entries[i]->d_name) - 5);
        str from = arena_printf(&a, "%s/%s", dir, entries[i]->d_name);
        str to = arena_printf(&a, GOLDEN "/%.*s.txt", STR_ARG(stem));
        REQUIRE(file_read(from.p, &text, NULL) == 0);
        bool accepted = admit(strbuf_str(&text), &got);
        if (mode && str_is(str_of(mode), "write"))
            REQUIRE(file_write(to.p, strbuf_str(&got), 0644, NULL) == 0);
        CHECK(file_read(to.p, &want, NULL) == 0);
        if (!CHECK_STR(strbuf_str(&got), strbuf_str(&want)) ||
            (must_be_accepted && !CHECK(accepted)))
            test_note("%s", from.p);
        strbuf_done(&text);
        strbuf_done(&got);
        strbuf_done(&want);
        arena_done(&a);
        free(entries[i]);
    }
    free(entries);
    return (size_t)n;
}

TEST(every_example_of_the_seeds_is_accepted)
{
    CHECK(run_directory(SEEDS, true) >= 11);
}

TEST(golden_manifests_are_judged_as_before)
{
    CHECK(run_directory(GOLDEN, false) >= 14);
}
