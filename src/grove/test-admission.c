/* Defaulting, validation and hashes of a PodCliqueSet. Rules are called by their numbers in the
 * contract: D1.. fill in, G1.. refuse. */
#include "base/test.h"
#include "grove/admission.h"
#include "grove/names.h"
#include "grove/types.h"
#include "kube/schema.h"
#include "json/patch.h"
#include "json/yaml.h"

static struct doc *parse(const char *yaml)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(yaml), &err);
    if (!d)
        test_note("%s", err.message);
    REQUIRE(d != NULL);
    return d;
}

static struct doc *defaulted(const char *yaml)
{
    grove_kinds_init();
    struct doc *d = parse(yaml), *out = grove_default(&kind_pcs, d, STR("ml"));
    doc_unref(d);
    return out;
}

/* ---- defaulting ---- */

TEST(defaults_fill_every_unset_value)
{
    struct doc *got = defaulted("metadata: {name: svc}\n"
                                "spec:\n"
                                "  replicas: 2\n"
                                "  template:\n"
                                "    cliques:\n"
                                "    - name: fe\n"
                                "      spec:\n"
                                "        podSpec: {containers: [{name: m, image: i}]}\n"
                                "    - name: pl\n"
                                "      spec:\n"
                                "        replicas: 3\n"
                                "        autoScalingConfig: {maxReplicas: 9}\n"
                                "        podSpec: {containers: [{name: m}], restartPolicy: ''}\n"
                                "    podCliqueScalingGroups:\n"
                                "    - {name: g, cliqueNames: [fe], replicas: 4,\n"
                                "       scaleConfig: {maxReplicas: 8}}\n"
                                "    - {name: h, cliqueNames: [pl], scaleConfig: {}}\n");
    struct doc *want = parse("metadata: {name: svc, namespace: ml}\n"
                             "spec:\n"
                             "  replicas: 2\n"
                             "  template:\n"
                             "    cliques:\n"
                             "    - name: fe\n"
                             "      spec:\n"
                             "        podSpec: {containers: [{name: m, image: i}],\n"
                             "          restartPolicy: Always, terminationGracePeriodSeconds: 30}\n"
                             "        replicas: 1\n"
                             "        minAvailable: 1\n"
                             "        roleName: fe\n"
                             "    - name: pl\n"
                             "      spec:\n"
                             "        replicas: 3\n"
                             "        minAvailable: 3\n"
                             "        roleName: pl\n"
                             "        autoScalingConfig: {maxReplicas: 9, minReplicas: 3}\n"
                             "        podSpec: {containers: [{name: m}], restartPolicy: Always,\n"
                             "          terminationGracePeriodSeconds: 30}\n"
                             "    podCliqueScalingGroups:\n"
                             "    - {name: g, cliqueNames: [fe], replicas: 4,\n"
                             "       scaleConfig: {maxReplicas: 8, minReplicas: 4}}\n"
                             "    - {name: h, cliqueNames: [pl], scaleConfig: {minReplicas: 1}}\n"
                             "    terminationDelay: 4h0m0s\n"
                             "    headlessServiceConfig: {publishNotReadyAddresses: true}\n");
    struct strbuf diff = STRBUF_INIT(10000);
    json_diff_print(doc_root(want), doc_root(got), &diff);
    CHECK_CSTR(strbuf_str(&diff), "");
    strbuf_done(&diff);
    doc_unref(got);
    doc_unref(want);
}

/* What a user wrote stays, whatever it is. */
#define COMPLETE                                                                  \
    "metadata: {name: svc, namespace: other}\n"                                   \
    "spec:\n"                                                                     \
    "  template:\n"                                                               \
    "    cliqueStartupType: CliqueStartupTypeInOrder\n"                           \
    "    terminationDelay: 1m\n"                                                  \
    "    headlessServiceConfig: {publishNotReadyAddresses: false}\n"              \
    "    cliques:\n"                                                              \
    "    - name: fe\n"                                                            \
    "      spec:\n"                                                               \
    "        roleName: front\n"                                                   \
    "        replicas: 5\n"                                                       \
    "        minAvailable: 2\n"                                                   \
    "        autoScalingConfig: {minReplicas: 2, maxReplicas: 9}\n"               \
    "        podSpec: {restartPolicy: Never, terminationGracePeriodSeconds: 0}\n" \
    "    podCliqueScalingGroups:\n"                                               \
    "    - {name: g, cliqueNames: [fe], scaleConfig: {minReplicas: 7}}\n"

TEST(defaults_leave_what_is_set_and_return_the_same_document)
{
    grove_kinds_init();
    struct doc *d = parse(COMPLETE), *out = grove_default(&kind_pcs, d, STR("ml"));
    CHECK(out == d);
    doc_unref(out);
    doc_unref(d);
}

TEST(defaults_of_defaults_change_nothing)
{
    static const char *const texts[] = {
        COMPLETE,
        "{metadata: {name: a}, spec: {template: {cliques: [{name: x, spec: {podSpec: {}}}]}}}",
        "{metadata: {name: a}, spec: {template: {cliques: [{name: x, spec: {replicas: 0}}], "
        "cliqueStartupType: Explicit}}}",
        "{metadata: {}, spec: {template: {cliques: [], podCliqueScalingGroups: [{}]}}}",
        "{spec: {}}",
        "{}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct doc *once = defaulted(texts[i]);
        struct doc *twice = grove_default(&kind_pcs, once, STR("ml"));
        CHECK(twice == once);
        doc_unref(twice);
        doc_unref(once);
    }
}

/* Nonsense is for validation to refuse; defaulting must neither hide nor choke on it. */
TEST(defaults_do_not_hide_wrong_types)
{
    struct doc *d = defaulted("metadata: {name: svc, namespace: ml}\n"
                              "spec:\n"
                              "  template:\n"
                              "    terminationDelay: 5\n"
                              "    headlessServiceConfig: {}\n"
                              "    cliques:\n"
                              "    - name: fe\n"
                              "      spec: {replicas: three, roleName: 7,\n"
                              "             podSpec: {restartPolicy: 1,\n"
                              "                       terminationGracePeriodSeconds: x}}\n"
                              "    - just-a-string\n"
                              "    - {name: 4, spec: []}\n");
    jval spec = jgetc(jat(jpath(doc_root(d), "spec.template.cliques"), 0), "spec");
    CHECK_CSTR(jtext(jgetc(spec, "replicas")), "\"three\"");
    CHECK_CSTR(jtext(jgetc(spec, "roleName")), "7");
    CHECK_CSTR(jtext(jpath(spec, "podSpec.restartPolicy")), "1");
    CHECK(j_is_absent(jgetc(spec, "minAvailable")));
    doc_unref(d);
    static const char *const odd[] = {"[]", "{metadata: x}", "{metadata: {}, spec: {template: []}}",
                                      "{spec: {template: {cliques: {a: b}}}}"};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        doc_unref(defaulted(odd[i]));
}

TEST(short_startup_types_are_rewritten)
{
    static const char *const types[][2] = {
        {"AnyOrder", "CliqueStartupTypeAnyOrder"},
        {"InOrder", "CliqueStartupTypeInOrder"},
        {"Explicit", "CliqueStartupTypeExplicit"},
        {"CliqueStartupTypeExplicit", "CliqueStartupTypeExplicit"},
        {"inorder", "inorder"},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct arena a = ARENA_INIT;
        struct doc *d = defaulted(
            arena_printf(&a, "{spec: {template: {cliqueStartupType: %s}}}", types[i][0]).p);
        CHECK_CSTR(jstr(jpath(doc_root(d), "spec.template.cliqueStartupType")), types[i][1]);
        doc_unref(d);
        arena_done(&a);
    }
}

TEST(other_kinds_have_no_defaults_here)
{
    grove_kinds_init();
    struct doc *d = parse("{spec: {template: {}}}"), *out = grove_default(&kind_pclq, d, STR("x"));
    CHECK(out == d);
    doc_unref(out);
    doc_unref(d);
}

/* ---- validation ---- */

/* The errors of a set, one per line without the detail: "<path>: <Type>[: <value>]". */
static void check_errors(const char *yaml, const char *want)
{
    static const char *const words[] = {
        [FIELD_ERR_REQUIRED] = "Required value",         [FIELD_ERR_INVALID] = "Invalid value",
        [FIELD_ERR_DUPLICATE] = "Duplicate value",       [FIELD_ERR_NOT_FOUND] = "Not found",
        [FIELD_ERR_NOT_SUPPORTED] = "Unsupported value", [FIELD_ERR_FORBIDDEN] = "Forbidden",
    };
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct strbuf got = STRBUF_INIT(10000);
    /* As the server does: the schema's defaults, then ours. */
    struct doc *own = defaulted(yaml), *d = schema_default(kind_pcs.type, own);
    doc_unref(own);
    field_errors_init(&errors, &a);
    grove_validate(&kind_pcs, NULL, d, &errors);
    for (size_t i = 0; i < errors.items.len; i++) {
        const struct field_error *e = &errors.items.p[i];
        REQUIRE(e->type < ARRAY_LEN(words) && words[e->type]);
        strbuf_printf(&got, "%.*s: %s%s%.*s\n", STR_ARG(e->field), words[e->type],
                      str_is_empty(e->value) ? "" : ": ", STR_ARG(e->value));
    }
    CHECK_CSTR(strbuf_str(&got), want);
    field_errors_done(&errors);
    strbuf_done(&got);
    doc_unref(d);
    arena_done(&a);
}

#define POD "podSpec: {containers: [{name: m, image: i}]}"
#define FE "{name: fe, spec: {replicas: 3, minAvailable: 2, " POD "}}"
#define PL "{name: pl, spec: {" POD "}}"
#define T "spec.template."

static void check_template(const char *rest, const char *want)
{
    struct arena a = ARENA_INIT;
    check_errors(arena_printf(&a, "{metadata: {name: svc}, spec: {template: {%s}}}", rest).p, want);
    arena_done(&a);
}

TEST(a_good_set_has_no_errors)
{
    check_template("cliques: [" FE ", " PL "], podCliqueScalingGroups: ["
                   "{name: pf, cliqueNames: [pl], replicas: 3, minAvailable: 1}]",
                   "");
    check_template("cliques: [" FE ", " PL "], podCliqueScalingGroups: ["
                   "{name: pf, cliqueNames: [pl]}]",
                   "");
}

TEST(replicas_may_not_be_negative) /* G2 */
{
    check_errors("{metadata: {name: svc}, spec: {replicas: -1, template: {cliques: [" FE "]}}}",
                 "spec.replicas: Invalid value: -1\n");
    check_errors("{metadata: {name: svc}, spec: {replicas: 0, template: {cliques: [" FE "]}}}", "");
}

TEST(a_set_needs_a_clique) /* G16 */
{
    check_template("cliques: []", T "cliques: Required value\n");
    check_template("", T "cliques: Required value\n");
}

TEST(cliques_need_good_names) /* G17, G18 */
{
    check_template("cliques: [{name: '', spec: {" POD "}}]", T "cliques[0].name: Required value\n");
    check_template("cliques: [" FE ", {spec: {" POD "}}]", T "cliques[1].name: Required value\n");
    check_template("cliques: [" FE ", {name: Big_One, spec: {" POD "}}]",
                   T "cliques[1].name: Invalid value: \"Big_One\"\n");
}

TEST(replicas_of_a_clique_are_positive) /* G21; 0 is defaulted to 1 */
{
    check_template("cliques: [{name: x, spec: {replicas: -2, minAvailable: 1, " POD "}}]",
                   T "cliques[0].spec.replicas: Invalid value: -2\n" T
                     "cliques[0].spec.minAvailable: Invalid value: 1\n");
    check_template("cliques: [{name: x, spec: {replicas: 0, " POD "}}]", "");
}

TEST(min_available_is_between_one_and_replicas) /* G23, G24 */
{
    check_template("cliques: [{name: x, spec: {replicas: 2, minAvailable: 0, " POD "}}]",
                   T "cliques[0].spec.minAvailable: Invalid value: 0\n");
    check_template("cliques: [{name: x, spec: {replicas: 2, minAvailable: -1, " POD "}}]",
                   T "cliques[0].spec.minAvailable: Invalid value: -1\n");
    check_template("cliques: [{name: x, spec: {replicas: 2, minAvailable: 3, " POD "}}]",
                   T "cliques[0].spec.minAvailable: Invalid value: 3\n");
    check_template("cliques: [{name: x, spec: {replicas: 2, minAvailable: 2, " POD "}}]", "");
}

TEST(min_available_must_be_set) /* G22, when nobody defaulted */
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct doc *d = parse("{spec: {template: {cliqueStartupType: CliqueStartupTypeAnyOrder, "
                          "terminationDelay: 4h, cliques: [{name: x, spec: {replicas: 2}}]}}}");
    field_errors_init(&errors, &a);
    grove_validate(&kind_pcs, NULL, d, &errors);
    REQUIRE(errors.items.len == 1);
    CHECK_INT(errors.items.p[0].type, FIELD_ERR_REQUIRED);
    CHECK_CSTR(errors.items.p[0].field, T "cliques[0].spec.minAvailable");
    field_errors_done(&errors);
    doc_unref(d);
    arena_done(&a);
}

/* G34, G35: a role defaults to its clique's name; the same one three times is told once. */
TEST(clique_names_are_unique)
{
    check_template("cliques: [" FE ", " PL ", " FE ", " FE "]",
                   T "cliques.name: Duplicate value: \"fe\"\n" T
                     "cliques.roleName: Duplicate value: \"fe\"\n");
}

TEST(groups_need_good_names) /* G40 */
{
    check_template("cliques: [" FE "], podCliqueScalingGroups: [{name: 'No Way', cliqueNames: "
                   "[fe]}]",
                   T "podCliqueScalingGroups[0].name: Invalid value: \"No Way\"\n");
    check_template("cliques: [" FE "], podCliqueScalingGroups: [{name: '', cliqueNames: [fe]}]",
                   T "podCliqueScalingGroups[0].name: Invalid value: \"\"\n");
    check_template("cliques: [" FE "], podCliqueScalingGroups: [{cliqueNames: [fe]}]",
                   T "podCliqueScalingGroups[0].name: Invalid value: \"\"\n");
}

TEST(groups_name_known_cliques) /* G41: one error, value is the list */
{
    check_template("cliques: [" FE "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [x, fe, z]}]",
                   T "podCliqueScalingGroups[0].cliqueNames: Invalid value: \"x,z\"\n");
}

TEST(numbers_of_a_group_are_positive_and_ordered) /* G43, G44, G45 */
{
    check_template("cliques: [" FE "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [fe], replicas: 0, minAvailable: 1}]",
                   T "podCliqueScalingGroups[0].replicas: Invalid value: 0\n" T
                     "podCliqueScalingGroups[0].minAvailable: Invalid value: 1\n");
    check_template("cliques: [" FE "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [fe], replicas: 2, minAvailable: 0}]",
                   T "podCliqueScalingGroups[0].minAvailable: Invalid value: 0\n");
    check_template("cliques: [" FE "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [fe], replicas: 2, minAvailable: 3}]",
                   T "podCliqueScalingGroups[0].minAvailable: Invalid value: 3\n");
}

TEST(group_names_are_unique) /* G47 */
{
    check_template("cliques: [" FE ", " PL "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [fe]}, {name: a, cliqueNames: [pl]}]",
                   T "podCliqueScalingGroups.name: Duplicate value: \"a\"\n");
}

TEST(a_clique_is_in_one_group_at_most) /* G48 */
{
    check_template("cliques: [" FE ", " PL "], podCliqueScalingGroups: ["
                   "{name: a, cliqueNames: [fe, pl]}, {name: b, cliqueNames: [pl]}]",
                   T "podCliqueScalingGroups.cliqueNames: Duplicate value: \"pl\"\n");
    check_template("cliques: [" FE "], podCliqueScalingGroups: [{name: a, cliqueNames: [fe, fe]}]",
                   T "podCliqueScalingGroups.cliqueNames: Duplicate value: \"fe\"\n");
}

TEST(errors_come_in_the_order_of_the_rules)
{
    check_errors("{metadata: {name: svc}, spec: {replicas: -1, template: {cliques: ["
                 "{name: B, spec: {" POD "}}], podCliqueScalingGroups: [{name: g, cliqueNames: "
                 "[x]}]}}}",
                 "spec.replicas: Invalid value: -1\n" T "cliques[0].name: Invalid value: \"B\"\n" T
                 "podCliqueScalingGroups[0].cliqueNames: Invalid value: \"x\"\n");
}

TEST(long_names_are_not_refused) /* G19 and G42 do not exist here */
{
    check_errors("{metadata: {name: distributed-training-of-something-big}, spec: {template: "
                 "{cliques: [{name: training-infrastructure-parameter-server, spec: {" POD "}}], "
                 "podCliqueScalingGroups: [{name: training-infrastructure, cliqueNames: "
                 "[training-infrastructure-parameter-server]}]}}}",
                 "");
}

/* ---- hashes ---- */

static uint64_t clique_hash(const char *template)
{
    struct doc *d = parse(template);
    uint64_t h = grove_clique_hash(doc_root(d), jat(jgetc(doc_root(d), "cliques"), 0));
    doc_unref(d);
    return h;
}

static uint64_t generation_hash(const char *template)
{
    struct doc *d = parse(template);
    uint64_t h = grove_generation_hash(doc_root(d));
    doc_unref(d);
    return h;
}

TEST(the_template_hash_sees_what_pods_are_made_of)
{
    uint64_t h = clique_hash("cliques: [{name: a, spec: {podSpec: {x: 1, y: 2}}}]");
    /* Order of keys and what is empty do not matter. */
    CHECK(h == clique_hash("cliques: [{name: a, spec: {podSpec: {y: 2, x: 1}}}]"));
    CHECK(h ==
          clique_hash("cliques: [{name: a, labels: {}, spec: {podSpec: {x: 1, y: 2, z: []}}}]"));
    /* Everything about a clique that is not its pods does not matter. */
    CHECK(h == clique_hash("cliques: [{name: b, spec: {replicas: 7, minAvailable: 2, roleName: q, "
                           "startsAfter: [c], podSpec: {x: 1, y: 2}}}]"));
    CHECK(h != clique_hash("cliques: [{name: a, spec: {podSpec: {x: 1, y: 3}}}]"));
    CHECK(h != clique_hash("cliques: [{name: a, labels: {l: v}, spec: {podSpec: {x: 1, y: 2}}}]"));
    CHECK(h != clique_hash("cliques: [{name: a, annotations: {l: v}, spec: {podSpec: {x: 1, "
                           "y: 2}}}]"));
    CHECK(clique_hash("cliques: [{name: a, labels: {l: v}, spec: {podSpec: {}}}]") !=
          clique_hash("cliques: [{name: a, annotations: {l: v}, spec: {podSpec: {}}}]"));
}

TEST(the_priority_class_of_the_set_counts_that_of_the_pod_does_not)
{
    uint64_t h = clique_hash("cliques: [{spec: {podSpec: {x: 1}}}]");
    CHECK(h == clique_hash("cliques: [{spec: {podSpec: {x: 1, priorityClassName: p}}}]"));
    CHECK(h != clique_hash("{cliques: [{spec: {podSpec: {x: 1}}}], priorityClassName: p}"));
}

TEST(the_generation_hash_is_that_of_all_cliques_by_name)
{
    uint64_t h = generation_hash(
        "cliques: [{name: a, spec: {podSpec: {x: 1}}}, {name: b, spec: {podSpec: {x: 2}}}]");
    CHECK(h == generation_hash("{cliques: [{name: b, spec: {replicas: 4, podSpec: {x: 2}}}, "
                               "{name: a, spec: {podSpec: {x: 1}}}], terminationDelay: 4h}"));
    CHECK(h != generation_hash("cliques: [{name: a, spec: {podSpec: {x: 2}}}, "
                               "{name: b, spec: {podSpec: {x: 1}}}]"));
    CHECK(h != generation_hash("cliques: [{name: a, spec: {podSpec: {x: 1}}}]"));
}

TEST(the_order_of_init_containers_counts_that_of_containers_does_not)
{
    CHECK(clique_hash("cliques: [{spec: {podSpec: {containers: [{name: a}, {name: b}]}}}]") ==
          clique_hash("cliques: [{spec: {podSpec: {containers: [{name: b}, {name: a}]}}}]"));
    CHECK(clique_hash("cliques: [{spec: {podSpec: {initContainers: [{name: a}, {name: b}]}}}]") !=
          clique_hash("cliques: [{spec: {podSpec: {initContainers: [{name: b}, {name: a}]}}}]"));
}
