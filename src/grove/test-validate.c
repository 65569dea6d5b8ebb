/*
 * One case per rule: a good set, a merge patch that breaks it, and the exact path, type and value
 * of what must be said. Update cases compare the good set with the patched one.
 */
#include "grove/test-rules.h"

TEST(rules_of_the_set_itself)
{
    static const struct rule_case cases[] = {
        {"good", "{}", ""},
        {"G1 dots", "{metadata: {name: a.b}}", "metadata.name: Invalid: \"a.b\"\n"},
        {"G1 digit", "{metadata: {name: 1a}}", "metadata.name: Invalid: \"1a\"\n"},
        {"G2", "{spec: {replicas: -1}}", "spec.replicas: Invalid: -1\n"},
        {"G2 zero is fine, and said", "{spec: {replicas: 0}}",
         "warning: spec.replicas is 0, its default\n"},
        /* 3 + 3 * (1 + 4) pods in each copy. */
        {"G2 as many pods as there may be", "{spec: {replicas: 55555}}", ""},
        {"G2 too many pods", "{spec: {replicas: 55556}}", "spec.replicas: Invalid: 55556\n"},
        {"G2 too many pods of a group",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 100000, minAvailable: 1}"),
         "spec.replicas: Invalid: 2\n"},
        {"G2 numbers that overflow",
         "{spec: {replicas: 1000000, template: {cliques: [{name: x, spec: {replicas: 1000000, " POD
         "}}], podCliqueScalingGroups: [{name: g, cliqueNames: [x], replicas: 1000000, "
         "minAvailable: 1}]}}}",
         "spec.replicas: Invalid: 1000000\n"},
        {"G4", TEMPLATE("cliqueStartupType: Sideways"),
         T ".cliqueStartupType: Invalid: \"Sideways\"\n"},
        {"G4 short form", TEMPLATE("cliqueStartupType: InOrder"), ""},
        {"G50 zero", TEMPLATE("terminationDelay: 0s"), T ".terminationDelay: Invalid: \"0s\"\n"},
        {"G50 negative", TEMPLATE("terminationDelay: -1h"),
         T ".terminationDelay: Invalid: \"-1h\"\n"},
        {"G50 nonsense", TEMPLATE("terminationDelay: soon"),
         T ".terminationDelay: Invalid: \"soon\"\n"},
        {"G50 good", TEMPLATE("terminationDelay: 90s"), ""},
    };
    RUN(cases, false);
}

TEST(rules_of_cliques)
{
    static const struct rule_case cases[] = {
        {"G16", CLIQUES(""), T ".cliques: Required\n"},
        {"G17", CLIQUES("{name: '', spec: {replicas: 1, roleName: r, " POD "}}"),
         T ".cliques[0].name: Required\n"},
        {"G17 blank", CLIQUES("{name: ' ', spec: {replicas: 1, roleName: r, " POD "}}"),
         T ".cliques[0].name: Required\n"},
        {"G18", CLIQUES("{name: Big, spec: {" POD "}}"), T ".cliques[0].name: Invalid: \"Big\"\n"},
        {"G18 dots", CLIQUES("{name: a.b, spec: {" POD "}}"),
         T ".cliques[0].name: Invalid: \"a.b\"\n"},
        {"G20 key", CLIQUES("{name: x, labels: {'a b': c}, spec: {" POD "}}"),
         T ".cliques[0].labels: Invalid: \"a b\"\n"},
        {"G20 value", CLIQUES("{name: x, labels: {a: 'b c'}, spec: {" POD "}}"),
         T ".cliques[0].labels: Invalid: \"b c\"\n"},
        {"G20 annotation", CLIQUES("{name: x, annotations: {'/': c}, spec: {" POD "}}"),
         T ".cliques[0].annotations: Invalid: \"/\"\n"},
        {"G21", X("replicas: -2, minAvailable: 1, " POD),
         T ".cliques[0].spec.replicas: Invalid: -2\n" T
           ".cliques[0].spec.minAvailable: Invalid: 1\n"},
        {"G23", X("replicas: 2, minAvailable: 0, " POD),
         T ".cliques[0].spec.minAvailable: Invalid: 0\n"},
        {"G24", X("replicas: 2, minAvailable: 3, " POD),
         T ".cliques[0].spec.minAvailable: Invalid: 3\n"},
        {"G29", X("replicas: 3, autoScalingConfig: {minReplicas: 2, maxReplicas: 5}, " POD),
         /* a warning like G46: a fragment of the seeds is written so */
         "warning: spec.template.cliques[0].spec.autoScalingConfig.minReplicas\n"},
        {"G30", X("replicas: 2, autoScalingConfig: {minReplicas: 4, maxReplicas: 3}, " POD),
         T ".cliques[0].spec.autoScalingConfig.maxReplicas: Invalid: 3\n"},
        {"G31",
         X("replicas: 5, minAvailable: 1, autoScalingConfig: {minReplicas: 2, "
           "maxReplicas: 4}, " POD),
         T ".cliques[0].spec.autoScalingConfig.maxReplicas: Invalid: 4\n"},
        {"G28 defaulted", X("replicas: 2, autoScalingConfig: {maxReplicas: 4}, " POD), ""},
        {"G32", X("podSpec: {containers: [{name: c, image: i, env: [{name: 1A}]}]}"),
         T ".cliques[0].spec.podSpec.spec.containers[0].env[0].name: Invalid: \"1A\"\n"},
        {"G32 dots", X("podSpec: {containers: [{name: c, image: i, env: [{name: ..a}]}]}"),
         T ".cliques[0].spec.podSpec.spec.containers[0].env[0].name: Invalid: \"..a\"\n"},
        {"G32 init",
         X("podSpec: {containers: [{name: c, image: i}], initContainers: [{name: d, image: i, env: "
           "[{name: 'a b'}]}]}"),
         T ".cliques[0].spec.podSpec.spec.initContainers[0].env[0].name: Invalid: \"a b\"\n"},
        {"G33", X("podSpec: {containers: [{name: c, image: i, env: [{name: A}, {name: A}]}]}"),
         T ".cliques[0].spec.podSpec.spec.containers[0].env: Duplicate: \"A\"\n"},
        {"G34, G35", CLIQUES("{name: x, spec: {" POD "}}, {name: x, spec: {" POD "}}"),
         T ".cliques.name: Duplicate: \"x\"\n" T ".cliques.roleName: Duplicate: \"x\"\n"},
        {"G35",
         CLIQUES("{name: x, spec: {roleName: r, " POD "}}, {name: k, spec: {roleName: r, " POD
                 "}}"),
         T ".cliques.roleName: Duplicate: \"r\"\n"},
        {"G36",
         CLIQUES(
             "{name: x, spec: {podSpec: {schedulerName: volcano, containers: [{name: c, image: "
             "i}]}}}, {name: k, "
             "spec: {podSpec: {schedulerName: kai-scheduler, containers: [{name: c, image: i}]}}}"),
         T ".cliques.spec.podSpec.schedulerName: Invalid: \"volcano,kai-scheduler\"\n"},
        {"G36 default",
         CLIQUES("{name: x, spec: {" POD "}}, {name: k, spec: {podSpec: "
                 "{schedulerName: default-scheduler, containers: [{name: c, image: i}]}}}"),
         ""},
        {"G37", X("podSpec: {schedulerName: mine, containers: [{name: c, image: i}]}"),
         T ".cliques.spec.podSpec.schedulerName: Invalid: \"mine\"\n"},
        {"Q3", X("podSpec: {restartPolicy: Never, containers: [{name: c, image: i}]}"),
         "warning: spec.template.cliques[0].spec.podSpec.restartPolicy\n"},
        {"nodeName", X("podSpec: {nodeName: here, containers: [{name: c, image: i}]}"),
         T ".cliques[0].spec.podSpec.spec.nodeName: Invalid: \"here\"\n"},
        {"topologySpreadConstraints",
         X("podSpec: {topologySpreadConstraints: [], containers: [{name: c, image: i}]}"),
         T ".cliques[0].spec.podSpec.spec.topologySpreadConstraints: Invalid: []\n"},
    };
    RUN(cases, false);
}

TEST(rules_of_startup_order)
{
#define AFTER(name, list) "{name: " name ", spec: {startsAfter: [" list "], " POD "}}"
    static const struct rule_case cases[] = {
        {"G25", TEMPLATE(EXPLICIT "cliques: [" AFTER("x", "''") "]"),
         T ".cliques[0].spec.startsAfter: Required\n"},
        {"G26", TEMPLATE(EXPLICIT "cliques: [" AFTER("x", "x") "]"),
         T ".cliques[0].spec.startsAfter: Invalid: \"x\"\n"},
        {"G27", TEMPLATE(EXPLICIT "cliques: [" AFTER("x", "") "," AFTER("k", "x, x") "]"),
         T ".cliques[1].spec.startsAfter: Duplicate: \"x\"\n"},
        {"G38", TEMPLATE(EXPLICIT "cliques: [" AFTER("x", "u, v") "]"),
         T ".cliques.startsAfter: Invalid: \"u,v\"\n"},
        {"G39 pair", TEMPLATE(EXPLICIT "cliques: [" AFTER("x", "k") "," AFTER("k", "x") "]"),
         T ".cliques: Invalid: [[\"x\",\"k\"]]\n"},
        {"G39 beyond a way in",
         TEMPLATE(EXPLICIT "cliques: [" AFTER("w", "x") "," AFTER("x", "k") "," AFTER(
             "k", "z") "," AFTER("z", "x") "]"),
         T ".cliques: Invalid: [[\"x\",\"k\",\"z\"]]\n"},
        {"a diamond is no cycle",
         TEMPLATE(EXPLICIT "cliques: [" AFTER("w", "x, k") "," AFTER("x", "z") "," AFTER(
             "k", "z") "," AFTER("z", "") "]"),
         ""},
        {"only when explicit",
         TEMPLATE("podCliqueScalingGroups: null, cliques: [" AFTER("x", "x") "]"),
         "warning: spec.template.cliques[0].spec.startsAfter has no effect\n"},
    };
    RUN(cases, false);
}

TEST(rules_of_scaling_groups)
{
    static const struct rule_case cases[] = {
        {"G40", GROUPS("{name: 'No', cliqueNames: [pl]}"), G "[0].name: Invalid: \"No\"\n"},
        {"G40 empty", GROUPS("{name: '', cliqueNames: [pl]}"), G "[0].name: Invalid: \"\"\n"},
        {"G41", GROUPS("{name: g, cliqueNames: [pl, u, v]}"),
         G "[0].cliqueNames: Invalid: \"u,v\"\n"},
        {"G43", GROUPS("{name: g, cliqueNames: [pl], replicas: 0}"),
         G "[0].replicas: Invalid: 0\n" G "[0].minAvailable: Invalid: 1\n"},
        {"G44", GROUPS("{name: g, cliqueNames: [pl], minAvailable: 0}"),
         G "[0].minAvailable: Invalid: 0\n"},
        {"G45", GROUPS("{name: g, cliqueNames: [pl], replicas: 2, minAvailable: 3}"),
         G "[0].minAvailable: Invalid: 3\n"},
        {"G46",
         GROUPS("{name: g, cliqueNames: [pl], replicas: 3, minAvailable: 2, scaleConfig: "
                "{minReplicas: 1, maxReplicas: 5}}"),
         "warning: " G "[0].scaleConfig.minReplicas\n"},
        {"G47", GROUPS("{name: g, cliqueNames: [pl]}, {name: g, cliqueNames: [pw]}"),
         G ".name: Duplicate: \"g\"\n"},
        {"G48", GROUPS("{name: g, cliqueNames: [pl]}, {name: h, cliqueNames: [pl]}"),
         G ".cliqueNames: Duplicate: \"pl\"\n"},
        {"G48 within one", GROUPS("{name: g, cliqueNames: [pl, pl]}"),
         G ".cliqueNames: Duplicate: \"pl\"\n"},
        {"G49",
         TEMPLATE("cliques: [{name: pl, spec: {autoScalingConfig: {maxReplicas: 2}, " POD
                  "}}], podCliqueScalingGroups: [{name: g, cliqueNames: [pl]}]"),
         "warning: " G "[0]\n"},
        {"G19", "{metadata: {name: a-set-with-a-rather-long-name-of-its-own-here-now}}",
         "warning: spec.template.cliques[0].name\nwarning: spec.template.cliques[1].name\n"
         "warning: spec.template.cliques[2].name\n"},
        {"G42", GROUPS("{name: a-group-with-a-rather-long-name-of-its-own, cliqueNames: [pl]}"),
         "warning: spec.template.cliques[1].name\n"},
    };
    RUN(cases, false);
}

TEST(rules_of_resource_sharing)
{
#define RCT(name) "{name: '" name "', templateSpec: {spec: {devices: {requests: [{name: r}]}}}}"
    static const struct rule_case cases[] = {
        {"G5", TEMPLATE("resourceClaimTemplates: [" RCT("") "]"),
         T ".resourceClaimTemplates[0].name: Required\n"},
        {"G6", TEMPLATE("resourceClaimTemplates: [{name: a, templateSpec: {spec: {}}}]"),
         T ".resourceClaimTemplates[0].templateSpec.spec.devices.requests: Required\n"},
        {"G7", TEMPLATE("resourceClaimTemplates: [" RCT("a") "," RCT("a") "]"),
         T ".resourceClaimTemplates.name: Duplicate: \"a\"\n"},
        {"G8", TEMPLATE("resourceSharing: [{name: '', scope: AllReplicas}]"),
         T ".resourceSharing[0].name: Required\n"},
        {"G9",
         TEMPLATE("resourceSharing: [{name: a, scope: AllReplicas}, {name: a, scope: "
                  "PerReplica}]"),
         T ".resourceSharing[1].name: Duplicate: \"a\"\n"},
        {"G10",
         TEMPLATE("resourceClaimTemplates: [" RCT("a") "], resourceSharing: [{name: a, "
                                                       "namespace: other, scope: AllReplicas}]"),
         T ".resourceSharing[0].namespace: Invalid: \"other\"\n"},
        {"G11", TEMPLATE("resourceSharing: [{name: a, scope: Some}]"),
         T ".resourceSharing[0].scope: Unsupported: \"Some\"\n"},
        {"G12", TEMPLATE("resourceSharing: [{name: a, scope: AllReplicas, filter: {}}]"),
         T ".resourceSharing[0].filter: Required\n"},
        {"G13 clique",
         TEMPLATE("resourceSharing: [{name: a, scope: AllReplicas, filter: "
                  "{childCliqueNames: [fe, nope]}}]"),
         T ".resourceSharing[0].filter.childCliqueNames[1]: NotFound: \"nope\"\n"},
        {"G13 group",
         TEMPLATE("resourceSharing: [{name: a, scope: AllReplicas, filter: "
                  "{childScalingGroupNames: [nope]}}]"),
         T ".resourceSharing[0].filter.childScalingGroupNames[0]: NotFound: \"nope\"\n"},
        {"G14",
         GROUPS("{name: g, cliqueNames: [pl], resourceSharing: [{name: a, scope: "
                "AllReplicas, filter: {}}]}"),
         G "[0].resourceSharing[0].filter: Required\n"},
        {"G15",
         GROUPS("{name: g, cliqueNames: [pl], resourceSharing: [{name: a, scope: "
                "AllReplicas, filter: {childCliqueNames: [pw]}}]}"),
         G "[0].resourceSharing[0].filter.childCliqueNames[0]: NotFound: \"pw\"\n"},
        {"G11 clique",
         CLIQUES("{name: x, resourceSharing: [{name: a, scope: Nope}], spec: {" POD "}}"),
         T ".cliques[0].resourceSharing[0].scope: Unsupported: \"Nope\"\n"},
    };
    RUN(cases, false);
}

/* ---- topology ---- */

TEST(rules_of_topology)
{
    static const struct rule_case cases[] = {
        {"good", TEMPLATE(TC("topologyName: fab, pack: {required: zone, preferred: rack}")), ""},
        {"name missing", TEMPLATE(TC("pack: {required: zone}")), AT ".topologyName: Required\n"},
        {"name unknown", TEMPLATE(TC("topologyName: nope, pack: {required: zone}")),
         AT ".topologyName: Invalid: \"nope\"\n"},
        {"pack missing", TEMPLATE(TC("topologyName: fab")), AT ".pack: Required\n"},
        {"pack empty", TEMPLATE(TC("topologyName: fab, pack: {}")), AT ".pack: Required\n"},
        {"packDomain on create", TEMPLATE(TC("topologyName: fab, packDomain: rack")),
         AT ".packDomain: Forbidden\n"},
        {"domain unknown", TEMPLATE(TC("topologyName: fab, pack: {required: row}")),
         AT ".pack.required: Invalid: \"row\"\n"},
        {"preferred unknown", TEMPLATE(TC("topologyName: fab, pack: {preferred: row}")),
         AT ".pack.preferred: Invalid: \"row\"\n"},
        {"redundant", TEMPLATE(TC("topologyName: fab, pack: {required: rack, preferred: zone}")),
         "warning: " AT ".pack.preferred\n"},
        {"inherited",
         TEMPLATE(
             TC("topologyName: fab, pack: {required: zone}") ", podCliqueScalingGroups: [{name: "
                                                             "pf, cliqueNames: [pl, pw], " TC(
                                                                 "pack: {required: rack}") "}]"),
         ""},
        {"names differ",
         TEMPLATE(
             TC("topologyName: fab, pack: {required: zone}") ", podCliqueScalingGroups: [{name: "
                                                             "pf, cliqueNames: [pl, pw], " TC(
                                                                 "topologyName: other, pack: "
                                                                 "{required: rack}") "}]"),
         G "[0].topologyConstraint.topologyName: Invalid: \"other\"\n"},
        {"set narrower than group",
         TEMPLATE(
             TC("topologyName: fab, pack: {required: host}") ", podCliqueScalingGroups: [{name: "
                                                             "pf, cliqueNames: [pl, pw], " TC(
                                                                 "pack: {required: rack}") "}]"),
         AT ": Invalid: \"host\"\n"},
        {"group narrower than clique",
         TEMPLATE("cliques: [{name: pl, " TC(
             "pack: {required: zone}") ", spec: {" POD
                                       "}}], podCliqueScalingGroups: [{name: pf, cliqueNames: "
                                       "[pl], " TC(
                                           "topologyName: fab, pack: {required: rack}") "}]"),
         G "[0].topologyConstraint: Invalid: \"rack\"\n"},
        {"preferred narrower",
         TEMPLATE(
             TC("topologyName: fab, pack: {preferred: host}") ", podCliqueScalingGroups: [{name: "
                                                              "pf, cliqueNames: [pl, pw], " TC(
                                                                  "pack: {preferred: rack}") "}]"),
         AT ".pack.preferred: Invalid: \"host\"\n"},
    };
    rules_context = grove_default_context;
    rules_context.levels = rules_levels;
    RUN(cases, false);
    static const struct rule_case off[] = {
        {"disabled", TEMPLATE(TC("topologyName: fab, pack: {required: zone}")),
         AT ": Invalid: {\"topologyName\":\"fab\",\"pack\":{\"required\":\"zone\"}}\n"},
        {"disabled, none used", "{}", ""},
    };
    rules_context.topology_enabled = false;
    RUN(off, false);
    rules_context = grove_default_context;
}

TEST(rules_of_bindings)
{
    static const struct rule_case cases[] = {
        {"good", "{spec: {levels: [{domain: zone, key: z}, {domain: rack, key: r}]}}", ""},
        {"none", "{spec: {levels: []}}", "spec.levels: Required\n"},
        {"domain twice", "{spec: {levels: [{domain: a, key: z}, {domain: a, key: r}]}}",
         "spec.levels[1].domain: Duplicate: \"a\"\n"},
        {"key twice", "{spec: {levels: [{domain: a, key: z}, {domain: b, key: z}]}}",
         "spec.levels[1].key: Duplicate: \"z\"\n"},
        {"scheduler twice",
         "{spec: {levels: [{domain: a, key: z}], schedulerTopologyBindings: [{schedulerName: "
         "kai-scheduler, topologyReference: t}, {schedulerName: kai-scheduler, topologyReference: "
         "u}]}}",
         "spec.schedulerTopologyReferences[1].schedulerName: Duplicate: \"kai-scheduler\"\n"},
        {"scheduler without one",
         "{spec: {levels: [{domain: a, key: z}], schedulerTopologyBindings: [{schedulerName: "
         "volcano, topologyReference: t}]}}",
         "spec.schedulerTopologyReferences[0].schedulerName: Invalid: \"volcano\"\n"},
    };
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct field_errors errors;
        struct strbuf got = STRBUF_INIT(4096);
        struct doc *d = rules_yaml(cases[i].patch);
        field_errors_init(&errors, &a);
        rules_count++;
        grove_validate(&kind_ctb, NULL, d, &errors);
        rules_describe(&errors, &got);
        CHECK_CSTR(strbuf_str(&got), cases[i].want);
        field_errors_done(&errors);
        strbuf_done(&got);
        doc_unref(d);
        arena_done(&a);
    }
}

TEST(rules_of_nvlink_groups)
{
    static const struct rule_case created[] = {
        {"good", "{metadata: {annotations: {" NV ": a}}}", ""},
        {"none", "{metadata: {annotations: {" NV ": none}}}", ""},
        {"empty", "{metadata: {annotations: {" NV ": ''}}}",
         "metadata.annotations." NV ": Invalid: \"\"\n"},
        {"no label", "{metadata: {annotations: {" NV ": 'a b'}}}",
         "metadata.annotations." NV ": Invalid: \"a b\"\n"},
        {"clique", CLIQUES("{name: x, annotations: {" NV ": 'A'}, spec: {" POD "}}"),
         T ".cliques[0].annotations." NV ": Invalid: \"A\"\n"},
        {"group", GROUPS("{name: g, cliqueNames: [pl], annotations: {" NV ": 'A'}}"),
         G "[0].annotations." NV ": Invalid: \"A\"\n"},
    };
    static const struct rule_case updated[] = {
        {"added", "{metadata: {annotations: {" NV ": a}}}",
         "metadata.annotations." NV ": Forbidden\n"},
        {"kept", "{metadata: {annotations: {other: a}}}", ""},
    };
    RUN(created, false);
    RUN(updated, true);
    static const struct rule_case off[] = {
        {"disabled", "{metadata: {annotations: {" NV ": a}}}",
         "metadata.annotations." NV ": Invalid: \"a\"\n"},
        {"disabled, none", "{metadata: {annotations: {" NV ": none}}}", ""},
    };
    rules_context.mnnvl_enabled = false;
    RUN(off, false);
    rules_context.mnnvl_enabled = true;
}

TEST(rules_of_updates)
{
    static const struct rule_case cases[] = {
        {"nothing", "{}", ""},
        {"what may change",
         "{metadata: {labels: {a: b}}, spec: {replicas: 9, updateStrategy: {type: OnDelete}, "
         "template: {priorityClassName: p, terminationDelay: 1h, headlessServiceConfig: "
         "{publishNotReadyAddresses: false}}}}",
         ""},
        {"pods may change",
         SET("{name: fe, labels: {a: b}, spec: {roleName: front, replicas: 5, minAvailable: 2, "
             "podSpec: {containers: [{name: c, image: new}]}}}," PL "," PW),
         ""},
        {"order may change", SET(PL "," FE "," PW), ""},
        {"U1", SET(FE "," PL "," PW ",{name: x, spec: {" POD "}}"), T ".cliques: Forbidden\n"},
        {"U2", SET(FE "," PL ",{name: x, spec: {replicas: 4, " POD "}}"),
         /* the group then names a clique that is gone: said first, and alone */
         G "[0].cliqueNames: Invalid: \"pw\"\n"},
        {"U2 standalone",
         SET("{name: x, spec: {roleName: front, replicas: 3, minAvailable: 2, " POD "}}," PL
             "," PW),
         T ".cliques.name: Forbidden\n"},
        {"U4",
         SET("{name: fe, spec: {roleName: back, replicas: 3, minAvailable: 2, " POD "}}," PL
             "," PW),
         T ".cliques.spec.roleName: Invalid: \"back\"\n"},
        {"U5",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 1, " POD "}}," PL
             "," PW),
         T ".cliques.spec.minAvailable: Invalid: 1\n"},
        {"U6",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, startsAfter: "
             "[pl], " POD "}}," PL "," PW),
         T ".cliques.spec.startsAfter: Invalid: [\"pl\"]\n"},
        {"U6 empty",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, "
             "startsAfter: [], " POD "}}," PL "," PW),
         ""},
        {"U8",
         SET("{name: fe, resourceSharing: [{name: a, scope: AllReplicas}], spec: {roleName: "
             "front, replicas: 3, minAvailable: 2, " POD "}}," PL "," PW),
         T ".cliques[0].resourceSharing: Invalid: [{\"name\":\"a\",\"scope\":\"AllReplicas\"}]\n"},
        {"U9", TEMPLATE("cliqueStartupType: InOrder"),
         T ".cliqueStartupType: Invalid: \"CliqueStartupTypeInOrder\"\n"},
        {"U10", GROUPS(""), G ": Forbidden\n"},
        {"U11", GROUPS("{name: other, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1}"),
         G ".name: Forbidden\n"},
        {"U12 members", GROUPS("{name: pf, cliqueNames: [pw, pl], replicas: 3, minAvailable: 1}"),
         G ".cliqueNames: Invalid: [\"pw\",\"pl\"]\n"},
        {"U12 minimum", GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 2}"),
         G ".minAvailable: Invalid: 2\n"},
        {"group replicas may change",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 5, minAvailable: 1}"), ""},
        {"U13 sharing", TEMPLATE("resourceSharing: [{name: a, scope: AllReplicas}]"),
         T ".resourceSharing: Invalid: [{\"name\":\"a\",\"scope\":\"AllReplicas\"}]\n"},
        {"U13 templates",
         TEMPLATE("resourceClaimTemplates: [{name: a, templateSpec: {spec: "
                  "{devices: {requests: [1]}}}}]"),
         T ".resourceClaimTemplates: Invalid: [{\"name\":\"a\",\"templateSpec\":{\"spec\":{"
           "\"devices\":{\"requests\":[1]}}}}]\n"},
        {"U14 added", TEMPLATE(TC("topologyName: fab, pack: {required: zone}")),
         AT ": Forbidden\n"},
        {"broken first", "{spec: {replicas: -1, template: {cliqueStartupType: InOrder}}}",
         "spec.replicas: Invalid: -1\n"},
        {"Q4",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, podSpec: "
             "{nodeName: here, containers: [{name: c, image: i}]}}}," PL "," PW),
         T ".cliques[0].spec.podSpec.spec.nodeName: Invalid: \"here\"\n"},
    };
    RUN(cases, true);
}

/* A big manifest gets its answer at once: names are looked up, never searched. */
TEST(two_thousand_cliques_are_checked_in_linear_time)
{
    struct strbuf text = STRBUF_INIT(8 << 20);
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    grove_kinds_init();
    strbuf_add_cstr(&text,
                    "{\"metadata\":{\"name\":\"big\"},\"spec\":{\"replicas\":1,\"template\":{"
                    "\"cliqueStartupType\":\"CliqueStartupTypeExplicit\","
                    "\"terminationDelay\":\"4h\",\"cliques\":[");
    for (int i = 0; i < 2000; i++)
        strbuf_printf(&text,
                      "%s{\"name\":\"c%d\",\"spec\":{\"roleName\":\"r%d\",\"replicas\":1,"
                      "\"minAvailable\":1,\"startsAfter\":[\"c%d\"],\"podSpec\":{}}}",
                      i ? "," : "", i, i, (i + 1) % 2000);
    strbuf_add_cstr(&text, "],\"podCliqueScalingGroups\":[{\"name\":\"g\",\"replicas\":1,"
                           "\"minAvailable\":1,\"cliqueNames\":[");
    for (int i = 0; i < 2000; i++)
        strbuf_printf(&text, "%s\"c%d\"", i ? "," : "", i);
    strbuf_add_cstr(&text, "]}]}}}");
    struct doc *d = doc_parse(strbuf_str(&text), NULL, NULL);
    REQUIRE(d != NULL);
    field_errors_init(&errors, &a);
    grove_validate(&kind_pcs, NULL, d, &errors);
    REQUIRE(errors.items.len == 1);
    CHECK_CSTR(errors.items.p[0].field, "spec.template.cliques");
    CHECK(str_find(errors.items.p[0].detail, STR("c0 → c1 → ")) >= 0);
    field_errors_done(&errors);
    doc_unref(d);
    strbuf_done(&text);
    arena_done(&a);
}

TEST(there_are_at_least_150_admission_cases)
{
    test_note("%zu admission cases", rules_count);
    CHECK(rules_count >= 150 || rules_count == 0); /* none: this test was run alone */
}
