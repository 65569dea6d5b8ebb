/* Grove's kinds as clients discover them: names, columns, subresources, and what the schemas know,
 * fill in and refuse. */
#include "base/test.h"
#include "grove/types.h"
#include "kube/schema.h"
#include "kube/structural.h"
#include "json/yaml.h"

/* ---- discovery ---- */

TEST(kinds_are_found_by_every_name)
{
    static const struct {
        const struct kind *kind;
        const char *group, *name, *plural, *singular, *shorts;
        unsigned flags;
    } want[] = {
        {&kind_pcs, "grove.io", "PodCliqueSet", "podcliquesets", "podcliqueset", "pcs,pgs",
         KIND_NAMESPACED | KIND_STATUS | KIND_SCALE},
        {&kind_pcsg, "grove.io", "PodCliqueScalingGroup", "podcliquescalinggroups",
         "podcliquescalinggroup", "pcsg", KIND_NAMESPACED | KIND_STATUS | KIND_SCALE},
        {&kind_pclq, "grove.io", "PodClique", "podcliques", "podclique", "pclq",
         KIND_NAMESPACED | KIND_STATUS | KIND_SCALE},
        {&kind_ctb, "grove.io", "ClusterTopologyBinding", "clustertopologybindings",
         "clustertopologybinding", "ct", KIND_STATUS},
        {&kind_pod_gang, "scheduler.grove.io", "PodGang", "podgangs", "podgang", "pg",
         KIND_NAMESPACED | KIND_STATUS},
        {&kind_pod_gang_map, "grove.io", "PodGangMap", "podgangmaps", "podgangmap", "pgm",
         KIND_NAMESPACED},
    };
    grove_kinds_init();
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct kind *k = want[i].kind;
        str group = str_of(want[i].group), version = STR("v1alpha1");
        CHECK(kind_by_name(group, version, str_of(want[i].name)) == k);
        CHECK(kind_by_plural(group, version, str_of(want[i].plural)) == k);
        CHECK(kind_by_alias(str_of(want[i].singular)) == k);
        CHECK_CSTR(str_of(k->short_names), want[i].shorts);
        CHECK_INT(k->flags & (KIND_NAMESPACED | KIND_STATUS | KIND_SCALE), want[i].flags);
        CHECK(kind_is(k, KIND_CUSTOM) && kind_is(k, KIND_GENERATION));
        CHECK(k->categories == NULL);
        str rest = str_of(k->short_names);
        while (rest.len)
            CHECK(kind_by_alias(str_cut(&rest, ',')) == k);
    }
    CHECK(kind_by_alias(STR("pcs.grove.io")) == &kind_pcs);
}

TEST(scale_works_on_the_right_fields)
{
    static const struct kind *const kinds[] = {&kind_pcs, &kind_pclq, &kind_pcsg};
    static const char *const selectors[] = {".status.hpaPodSelector", ".status.hpaPodSelector",
                                            ".status.selector"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CHECK_CSTR(str_of(kinds[i]->scale_spec_path), ".spec.replicas");
        CHECK_CSTR(str_of(kinds[i]->scale_status_path), ".status.replicas");
        CHECK_CSTR(str_of(kinds[i]->scale_selector_path), selectors[i]);
    }
}

/* "Name:type:path", "(w)" in front when only -o wide shows it; the leading Name is kubectl's. */
static void check_columns(const struct kind *k, const char *want)
{
    struct strbuf got = STRBUF_INIT(4000);
    for (size_t i = 1; i < k->n_columns; i++) {
        const struct column *c = &k->columns[i];
        strbuf_printf(&got, "%s%s:%s:%s\n", c->priority ? "(w)" : "", c->name, c->type, c->path);
    }
    CHECK_CSTR(strbuf_str(&got), want);
    CHECK_CSTR(str_of(k->columns[0].name), "Name");
    CHECK_CSTR(str_of(k->columns[0].format), "name");
    strbuf_done(&got);
}

#define BREACHED \
    "(w)MinBreached:string:.status.conditions[?(@.type==\"MinAvailableBreached\")].status\n"
#define AGE "Age:date:.metadata.creationTimestamp\n"

TEST(columns_are_those_people_know)
{
    check_columns(
        &kind_pcs,
        "Replicas:integer:.spec.replicas\n"
        "Available:integer:.status.availableReplicas\n"
        "Updated:integer:.status.updatedReplicas\n"
        "PCLQs-Updated:integer:.status.updateProgress.updatedPodCliquesCount\n"
        "PCLQs-Total:integer:.status.updateProgress.totalPodCliquesCount\n"
        "PCSGs-Updated:integer:.status.updateProgress.updatedPodCliqueScalingGroupsCount\n"
        "PCSGs-Total:integer:.status.updateProgress.totalPodCliqueScalingGroupsCount\n"
        "Phase:string:.status.phase\n" AGE);
    check_columns(&kind_pclq, "MinAvail:integer:.spec.minAvailable\n"
                              "Replicas:integer:.spec.replicas\n"
                              "Ready:integer:.status.readyReplicas\n"
                              "Scheduled:integer:.status.scheduledReplicas\n"
                              "Updated:integer:.status.updatedReplicas\n"
                              "(w)Gated:integer:.status.scheduleGatedReplicas\n" BREACHED AGE);
    check_columns(&kind_pcsg,
                  "MinAvail:integer:.spec.minAvailable\n"
                  "Replicas:integer:.spec.replicas\n"
                  "Available:integer:.status.availableReplicas\n"
                  "Scheduled:integer:.status.scheduledReplicas\n"
                  "Updated:integer:.status.updatedReplicas\n"
                  "PCLQs-Updated:integer:.status.updateProgress.updatedPodCliquesCount\n"
                  "PCLQs-Total:integer:.status.updateProgress.totalPodCliquesCount\n" BREACHED
                  "Phase:string:.status.phase\n" AGE);
    check_columns(&kind_ctb, "Domains:string:.spec.levels[*].domain\n" AGE);
    check_columns(&kind_pod_gang, "Phase:string:.status.phase\n"
                                  "Role:string:.metadata.labels.grove\\.io/podgang-role\n"
                                  "Ready:integer:.status.readyPods\n"
                                  "Minimum:integer:.status.minimumPods\n"
                                  "Nodes:integer:.status.nodes\n" AGE);
}

/* ---- schemas ---- */

static struct doc *parse(const char *yaml)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(yaml), &err);
    if (!d)
        test_note("%s", err.message);
    REQUIRE(d != NULL);
    return d;
}

static void note_unknown(void *ctx, const char *what, str path)
{
    strbuf_printf(ctx, "%s %.*s\n", what, STR_ARG(path));
}

static void check_unknown(const struct kind *k, const char *yaml, const char *want)
{
    struct strbuf got = STRBUF_INIT(4000);
    struct doc *d = parse(yaml);
    grove_kinds_init();
    schema_unknown(k->type, doc_root(d), note_unknown, &got);
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
    doc_unref(d);
}

/* Everything older and newer documents write is known: kubectl refuses what is not. */
TEST(every_field_users_write_is_known)
{
    check_unknown(
        &kind_pcs,
        "apiVersion: grove.io/v1alpha1\n"
        "kind: PodCliqueSet\n"
        "metadata: {name: x, namespace: y, labels: {a: b}, annotations: {c: d}}\n"
        "spec:\n"
        "  replicas: 2\n"
        "  updateStrategy: {type: RollingRecreate}\n"
        "  replicaSpreadConstraints:\n"
        "  - {maxSkew: 1, topologyKey: kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}\n"
        "  template:\n"
        "    cliqueStartupType: CliqueStartupTypeExplicit\n"
        "    priorityClassName: high\n"
        "    terminationDelay: 4h\n"
        "    headlessServiceConfig: {publishNotReadyAddresses: true}\n"
        "    topologyConstraint: {topologyName: t, pack: {required: rack, preferred: host}}\n"
        "    schedulingPolicyConfig:\n"
        "      networkPackGroupConfigs: [{cliqueNames: [a, b]}]\n"
        "      networkPackGroups: [{cliqueNames: [a, b]}]\n"
        "    resourceClaimTemplates: [{name: r, templateSpec: {spec: {devices: {}}}}]\n"
        "    resourceSharing: [{name: r, scope: AllReplicas, filter: {childCliqueNames: [a]}}]\n"
        "    cliques:\n"
        "    - name: a\n"
        "      labels: {l: v}\n"
        "      annotations: {n: v}\n"
        "      topologyConstraint: {packDomain: host}\n"
        "      resourceSharing: [{name: r, namespace: n, scope: PerReplica}]\n"
        "      spec:\n"
        "        roleName: role\n"
        "        replicas: 2\n"
        "        minAvailable: 1\n"
        "        startsAfter: [b]\n"
        "        autoScalingConfig: {minReplicas: 1, maxReplicas: 4, metrics: [{type: Resource}],\n"
        "          behavior: {scaleDown: {stabilizationWindowSeconds: 300}}}\n"
        "        podSpec:\n"
        "          containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]\n"
        "          tolerations: [{key: k, operator: Exists}]\n"
        "    podCliqueScalingGroups:\n"
        "    - name: g\n"
        "      cliqueNames: [a]\n"
        "      replicas: 2\n"
        "      minAvailable: 1\n"
        "      annotations: {n: v}\n"
        "      scaleConfig: {minReplicas: 1, maxReplicas: 3,\n"
        "        behavior: {scaleUp: {stabilizationWindowSeconds: 0}}}\n"
        "      resourceSharing: [{name: r, scope: PerReplica, filter: {childCliqueNames: [a]}}]\n"
        "      topologyConstraint: {pack: {required: host}}\n",
        "");
    check_unknown(&kind_pcs, "{spec: {template: {clique: [], cliques: [{spec: {podspec: {}}}]}}}",
                  "unknown field spec.template.clique\n"
                  "unknown field spec.template.cliques[0].spec.podspec\n");
}

TEST(schema_defaults_are_filled_in)
{
    struct doc *d = parse("spec:\n"
                          "  updateStrategy: {}\n"
                          "  template:\n"
                          "    headlessServiceConfig: {}\n"
                          "    cliques: [{name: a, spec: {podSpec: {containers: []}}}]\n"
                          "    podCliqueScalingGroups: [{name: g, cliqueNames: [a]}]\n");
    grove_kinds_init();
    struct doc *out = schema_default(kind_pcs.type, d);
    jval spec = jgetc(doc_root(out), "spec"), template = jgetc(spec, "template");
    jval group = jat(jgetc(template, "podCliqueScalingGroups"), 0);
    CHECK_INT(jint(jgetc(spec, "replicas"), -1), 0);
    CHECK_CSTR(jstr(jpath(spec, "updateStrategy.type")), "RollingRecreate");
    CHECK_CSTR(jstr(jgetc(template, "cliqueStartupType")), "CliqueStartupTypeAnyOrder");
    CHECK(j_is_true(jpath(template, "headlessServiceConfig.publishNotReadyAddresses")));
    CHECK_INT(jint(jgetc(group, "replicas"), -1), 1);
    CHECK_INT(jint(jgetc(group, "minAvailable"), -1), 1);
    /* Not the schema's to fill in. */
    CHECK(j_is_absent(jgetc(template, "terminationDelay")));
    doc_unref(out);
    doc_unref(d);
}

static void check_invalid(const struct kind *k, const char *yaml, const char *want)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct strbuf got = STRBUF_INIT(4000);
    struct doc *d = parse(yaml);
    grove_kinds_init();
    field_errors_init(&errors, &a);
    schema_validate(k->type, doc_root(d), STR_NONE, &errors);
    for (size_t i = 0; i < errors.items.len; i++)
        strbuf_printf(&got, "%.*s\n", STR_ARG(errors.items.p[i].field));
    CHECK_CSTR(strbuf_str(&got), want);
    field_errors_done(&errors);
    strbuf_done(&got);
    doc_unref(d);
    arena_done(&a);
}

TEST(schemas_refuse_what_they_must)
{
    check_invalid(&kind_pcs,
                  "{spec: {template: {cliques: [{name: a, spec: {podSpec: {containers: "
                  "[{name: c}]}}}], cliqueStartupType: Sideways}}}",
                  "spec.template.cliqueStartupType\n");
    check_invalid(&kind_pcs, "{spec: {template: {cliques: [{name: a, spec: {}}]}}}",
                  "spec.template.cliques[0].spec.podSpec\n");
    check_invalid(&kind_pcs,
                  "{spec: {template: {cliques: [{name: a, spec: {podSpec: {containers: "
                  "[{name: c}]}}}, {name: a, spec: {podSpec: {containers: [{name: "
                  "c}]}}}]}}}",
                  "spec.template.cliques[1]\n");
    check_invalid(&kind_pcs, "{spec: {updateStrategy: {type: Yolo}, template: {cliques: []}}}",
                  "spec.updateStrategy.type\n");
    check_invalid(&kind_pcs, "{metadata: {name: x}}", "spec\n");
    check_invalid(&kind_pcsg, "{spec: {cliqueNames: [a]}}", "");
    check_invalid(&kind_pcsg, "{spec: {replicas: many, cliqueNames: [a]}}", "spec.replicas\n");
    check_invalid(&kind_ctb, "{spec: {levels: [{domain: Rack, key: a/b}, {domain: r, key: '/'}]}}",
                  "spec.levels[0].domain\nspec.levels[1].key\n");
    check_invalid(&kind_pod_gang, "{spec: {podgroups: [{name: a, minReplicas: 1}]}}",
                  "spec.podgroups[0].podReferences\n");
}

/* ---- views ---- */

static struct obj *object(const struct kind *k, const char *yaml)
{
    struct err err = ERR_INIT;
    grove_kinds_init();
    struct obj *o = obj_new(k, parse(yaml), &err);
    REQUIRE(o != NULL);
    return o;
}

TEST(views_of_a_set_find_cliques_by_their_exact_name)
{
    struct obj *o = object(&kind_pcs, "metadata: {name: s}\n"
                                      "spec:\n"
                                      "  replicas: 3\n"
                                      "  template:\n"
                                      "    priorityClassName: high\n"
                                      "    cliques:\n"
                                      "    - {name: my-worker, spec: {replicas: 7, roleName: r}}\n"
                                      "    - {name: worker, spec: {replicas: 2, minAvailable: 1}}\n"
                                      "    podCliqueScalingGroups:\n"
                                      "    - {name: g, cliqueNames: [worker], replicas: 4}\n");
    struct pcs_view v;
    struct clique_view c;
    struct group_view g;
    pcs_view(o, &v);
    CHECK_INT(v.replicas, 3);
    CHECK_CSTR(v.priority_class, "high");
    REQUIRE(pcs_find_clique(&v, STR("worker"), &c));
    CHECK_INT(c.replicas, 2);
    CHECK_INT(c.min_available, 1);
    REQUIRE(pcs_find_clique(&v, STR("my-worker"), &c));
    CHECK_INT(c.replicas, 7);
    CHECK_CSTR(c.role, "r");
    CHECK(!pcs_find_clique(&v, STR("orker"), &c));
    CHECK(pcs_group_of(&v, STR("worker"), &g));
    CHECK_INT(g.replicas, 4);
    CHECK_INT(g.min_available, 1);
    CHECK(!pcs_group_of(&v, STR("my-worker"), &g));
    CHECK(pcs_find_group(&v, STR("g"), &g) && !pcs_find_group(&v, STR("h"), &g));
    obj_unref(o);
}

TEST(views_of_a_group_have_the_schemas_defaults)
{
    struct obj *o = object(&kind_pcsg, "{metadata: {name: g}, spec: {cliqueNames: [a, b]}}");
    struct pcsg_view v;
    pcsg_view(o, &v);
    CHECK_INT(v.replicas, 1);
    CHECK_INT(v.min_available, 1);
    CHECK_INT(jlen(v.clique_names), 2);
    obj_unref(o);
}

/* An API server refuses a word about lists or maps where the schema does not say it is one. */
static void check_schema(jval schema)
{
    str type = jstr(jgetc(schema, "type"));
    if (jstr(jgetc(schema, "x-kubernetes-map-type")).len)
        CHECK_STR(type, STR("object"));
    if (jstr(jgetc(schema, "x-kubernetes-list-type")).len)
        CHECK_STR(type, STR("array"));
    for (struct jiter it = jiter(jgetc(schema, "properties")); jnext(&it);)
        check_schema(it.value);
    if (jtype(jgetc(schema, "items")) == J_OBJECT)
        check_schema(jgetc(schema, "items"));
    if (jtype(jgetc(schema, "additionalProperties")) == J_OBJECT)
        check_schema(jgetc(schema, "additionalProperties"));
}

/* What a cluster stores of each, and what `kubectl apply` copies into an annotation. */
TEST(definitions_for_clusters_are_small)
{
    static const struct kind *const kinds[] = {&kind_pcs, &kind_pcsg,     &kind_pclq,
                                               &kind_ctb, &kind_pod_gang, &kind_pod_gang_map};
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct doc *d = structural_crd(kinds[i]);
        /* A real API server refuses any further word about it. */
        jval versions = jpath(doc_root(d), "spec.versions");
        jval schema = jpath(jat(versions, 0), "schema.openAPIV3Schema.properties.metadata");
        CHECK_CSTR(jtext(schema), "{\"type\":\"object\"}");
        check_schema(jpath(jat(versions, 0), "schema.openAPIV3Schema"));
        if (!CHECK(doc_text(d).len <= 200 * 1024))
            test_note("%s: %zu bytes", kinds[i]->kind, doc_text(d).len);
        doc_unref(d);
    }
}
