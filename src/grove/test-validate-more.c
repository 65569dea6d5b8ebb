/* Admission, rule by rule: defaulting, schedulers, coherent updates, updates of what was there, and
 * whatever people write. See test-rules.h. */
#include <sys/resource.h>

#include "grove/test-rules.h"

/* ---- more of the same, rule by rule ---- */

TEST(rules_that_only_the_undefaulted_break)
{
    static const struct {
        const char *rule, *text, *want;
    } cases[] = {
        {"G3",
         "{metadata: {name: a}, spec: {template: {terminationDelay: 4h, cliques: [{name: x, "
         "spec: {replicas: 1, minAvailable: 1}}]}}}",
         T ".cliqueStartupType: Required\n"},
        {"G22",
         "{metadata: {name: a}, spec: {template: {cliqueStartupType: "
         "CliqueStartupTypeAnyOrder, terminationDelay: 4h, cliques: [{name: x, spec: "
         "{replicas: 1}}]}}}",
         T ".cliques[0].spec.minAvailable: Required\n"},
        {"G28",
         "{metadata: {name: a}, spec: {template: {cliqueStartupType: "
         "CliqueStartupTypeAnyOrder, terminationDelay: 4h, cliques: [{name: x, spec: "
         "{replicas: 1, minAvailable: 1, autoScalingConfig: {maxReplicas: 3}}}]}}}",
         T ".cliques[0].spec.autoScalingConfig.minReplicas: Required\n"},
        {"G50 missing",
         "{metadata: {name: a}, spec: {template: {cliqueStartupType: "
         "CliqueStartupTypeAnyOrder, cliques: [{name: x, spec: {replicas: 1, "
         "minAvailable: 1}}]}}}",
         T ".terminationDelay: Required\n"},
        {"Q2 nothing at all", "{}",
         T ".cliqueStartupType: Required\n" T ".cliques: Required\n" T
           ".terminationDelay: Required\n"},
    };
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct field_errors errors;
        struct strbuf got = STRBUF_INIT(4096);
        struct doc *d = rules_yaml(cases[i].text);
        rules_count++;
        field_errors_init(&errors, &a);
        grove_validate(&kind_pcs, NULL, d, &errors);
        rules_describe(&errors, &got);
        if (!CHECK_CSTR(strbuf_str(&got), cases[i].want))
            test_note("rule %s", cases[i].rule);
        field_errors_done(&errors);
        strbuf_done(&got);
        doc_unref(d);
        arena_done(&a);
    }
}

/* Defaulting, one field each: path, what it becomes. */
TEST(rules_of_defaulting)
{
#define CL "spec.template.cliques.0."
    static const struct {
        const char *rule, *patch, *pointer, *want;
    } cases[] = {
        {"D1", "{metadata: {namespace: ''}}", "/metadata/namespace", "\"ml\""},
        {"D1 given", "{metadata: {namespace: other}}", "/metadata/namespace", "\"other\""},
        {"D2", X(POD), "/spec/template/cliques/0/spec/podSpec/restartPolicy", "\"Always\""},
        {"D2 given", X("podSpec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}"),
         "/spec/template/cliques/0/spec/podSpec/restartPolicy", "\"OnFailure\""},
        {"D3", X(POD), "/spec/template/cliques/0/spec/podSpec/terminationGracePeriodSeconds", "30"},
        {"D3 zero is given",
         X("podSpec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: i}]}"),
         "/spec/template/cliques/0/spec/podSpec/terminationGracePeriodSeconds", "0"},
        {"D4", X("replicas: 0, " POD), "/spec/template/cliques/0/spec/replicas", "1"},
        {"D4 missing", X(POD), "/spec/template/cliques/0/spec/replicas", "1"},
        {"D5", X("replicas: 4, " POD), "/spec/template/cliques/0/spec/minAvailable", "4"},
        {"D5 after D4", X("replicas: 0, " POD), "/spec/template/cliques/0/spec/minAvailable", "1"},
        {"D5 given", X("replicas: 4, minAvailable: 2, " POD),
         "/spec/template/cliques/0/spec/minAvailable", "2"},
        {"D6", X("replicas: 3, autoScalingConfig: {maxReplicas: 5}, " POD),
         "/spec/template/cliques/0/spec/autoScalingConfig/minReplicas", "3"},
        {"D6 after D4", X("autoScalingConfig: {maxReplicas: 5}, " POD),
         "/spec/template/cliques/0/spec/autoScalingConfig/minReplicas", "1"},
        {"D7", GROUPS("{name: pf, cliqueNames: [pl], replicas: 2, scaleConfig: {maxReplicas: 5}}"),
         "/spec/template/podCliqueScalingGroups/0/scaleConfig/minReplicas", "2"},
        {"D7 after the schema",
         GROUPS("{name: pf, cliqueNames: [pl], scaleConfig: {maxReplicas: "
                "5}}"),
         "/spec/template/podCliqueScalingGroups/0/scaleConfig/minReplicas", "1"},
        {"D8", "{}", "/spec/template/terminationDelay", "\"4h0m0s\""},
        {"D8 given", TEMPLATE("terminationDelay: 1m"), "/spec/template/terminationDelay", "\"1m\""},
        {"D9", "{}", "/spec/template/headlessServiceConfig", "{\"publishNotReadyAddresses\":true}"},
        {"D9 given", TEMPLATE("headlessServiceConfig: {publishNotReadyAddresses: false}"),
         "/spec/template/headlessServiceConfig", "{\"publishNotReadyAddresses\":false}"},
        {"role of a clique without one", X(POD), "/spec/template/cliques/0/spec/roleName", "\"x\""},
        {"short startup type", TEMPLATE("cliqueStartupType: InOrder"),
         "/spec/template/cliqueStartupType", "\"CliqueStartupTypeInOrder\""},
        {"schema: startup type", "{}", "/spec/template/cliqueStartupType",
         "\"CliqueStartupTypeAnyOrder\""},
        {"schema: group replicas", GROUPS("{name: pf, cliqueNames: [pl]}"),
         "/spec/template/podCliqueScalingGroups/0/replicas", "1"},
        {"schema: group minimum", GROUPS("{name: pf, cliqueNames: [pl]}"),
         "/spec/template/podCliqueScalingGroups/0/minAvailable", "1"},
        {"schema: set replicas", "{spec: {replicas: null}}", "/spec/replicas", "0"},
        {"schema: strategy", "{spec: {updateStrategy: {}}}", "/spec/updateStrategy/type",
         "\"RollingRecreate\""},
        {"no strategy stays none", "{}", "/spec/updateStrategy", ""},
    };
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct doc *raw = rules_yaml(rules_good), *d = rules_patched(raw, cases[i].patch);
        rules_count++;
        if (!CHECK_CSTR(jtext(jpointer(doc_root(d), str_of(cases[i].pointer))), cases[i].want))
            test_note("rule %s", cases[i].rule);
        doc_unref(raw);
        doc_unref(d);
    }
}

TEST(rules_of_schedulers)
{
#define BY(scheduler, meta, rest)                                                               \
    "{metadata: {" meta "}, spec: {template: {podCliqueScalingGroups: null, " rest "cliques: [" \
    "{name: x, spec: {podSpec: {schedulerName: " scheduler                                      \
    ", containers: [{name: c, image: i}]}}}]}}}"
#define TWO(scheduler, meta, a, b)                                                                \
    "{metadata: {" meta "}, spec: {template: {podCliqueScalingGroups: null, cliques: [{name: x, " \
    "annotations: {" a "}, spec: {podSpec: {schedulerName: " scheduler                            \
    ", containers: [{name: c, image: i}]}}}, "                                                    \
    "{name: k, annotations: {" b "}, spec: {podSpec: {schedulerName: " scheduler                  \
    ", containers: [{name: c, image: i}]}}}]}}}"
#define KQ "kai.scheduler/queue"
#define VQ "scheduling.grove.io/volcano-queue"
    static const struct rule_case cases[] = {
        {"default scheduler", BY("default-scheduler", "", ""), ""},
        {"KAI without a queue", BY("kai-scheduler", "", ""), "spec: Invalid: \n"},
        {"KAI queue by label", BY("kai-scheduler", "labels: {" KQ ": a}", ""), ""},
        {"KAI queue by annotation", BY("kai-scheduler", "annotations: {" KQ ": a}", ""), ""},
        {"KAI queue of a clique", TWO("kai-scheduler", "", KQ ": a", ""), ""},
        {"KAI label before annotation",
         TWO("kai-scheduler", "labels: {" KQ ": a}, annotations: {" KQ ": b}", KQ ": a", ""), ""},
        {"KAI set against clique", TWO("kai-scheduler", "labels: {" KQ ": a}", KQ ": b", ""),
         "spec: Invalid: \n"},
        {"KAI clique against clique", TWO("kai-scheduler", "", KQ ": a", KQ ": b"),
         "spec: Invalid: \n"},
        {"volcano default queue", BY("volcano", "", ""), ""},
        {"volcano queue", BY("volcano", "annotations: {" VQ ": ' a '}", ""), ""},
        {"volcano queue is no name", BY("volcano", "annotations: {" VQ ": A_b}", ""),
         "spec: Invalid: \n"},
        {"volcano set against clique", TWO("volcano", "annotations: {" VQ ": a}", VQ ": b", ""),
         "spec: Invalid: \n"},
        {"volcano clique against none", TWO("volcano", "", VQ ": a", ""), "spec: Invalid: \n"},
        {"volcano all agree", TWO("volcano", "", VQ ": a", VQ ": a"), ""},
        {"volcano with a constraint",
         BY("volcano", "", "topologyConstraint: {topologyName: t, pack: {required: zone}}, "),
         "spec: Invalid: \n"},
        {"lpx", BY("lpx-scheduler", "", ""), ""},
        {"lpx with a constraint",
         BY("lpx-scheduler", "", "topologyConstraint: {topologyName: t, pack: {required: zone}}, "),
         "spec: Invalid: \n"},
        {"our own scheduler", BY("grove-scheduler", "", ""), ""},
    };
    RUN(cases, false);
}

TEST(rules_of_coherent_updates)
{
#define COHERENT(template) "{spec: {updateStrategy: {type: Coherent}, template: {" template "}}}"
#define ROLL(n) "rollingUpdate: {maxUnavailable: " n "}"
    static const struct rule_case cases[] = {
        {"Coherent is known", COHERENT(""), ""},
        {"budget below the minimum",
         COHERENT("podCliqueScalingGroups: [{name: pf, cliqueNames: [pl, pw], replicas: 3, "
                  "minAvailable: 2, " ROLL("1") "}]"),
         G "[0].rollingUpdate.maxUnavailable: Invalid: 1\n"},
        {"budget of the minimum",
         COHERENT("podCliqueScalingGroups: [{name: pf, cliqueNames: [pl, pw], replicas: 3, "
                  "minAvailable: 2, " ROLL("2") "}]"),
         ""},
        {"budget below the minimum, not coherent",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 2, " ROLL("1") "}"),
         ""},
        {"budget of a single component",
         COHERENT("podCliqueScalingGroups: null, cliques: [{name: x, " ROLL(
             "1") ", spec: "
                  "{replicas: 4, minAvailable: 2, " POD "}}]"),
         ""},
        {"numbers of a strategy",
         "{spec: {updateStrategy: {maxConcurrentReplicas: 0, partition: -1, progressDeadline: "
         "0s}}}",
         "spec.updateStrategy.maxConcurrentReplicas: Invalid: 0\n"
         "spec.updateStrategy.partition: Invalid: -1\n"
         "spec.updateStrategy.progressDeadline: Invalid: \"0s\"\n"},
        {"tail of a strategy", "{spec: {updateStrategy: {coherent: {tail: Lonely}}}}",
         "spec.updateStrategy.coherent.tail: Invalid: \"Lonely\"\n"},
        {"good tail of a strategy",
         "{spec: {updateStrategy: {type: Coherent, coherent: {tail: Independent}}}}", ""},
        {"good numbers of a strategy",
         "{spec: {updateStrategy: {maxConcurrentReplicas: 2, partition: 1, progressDeadline: 5m, "
         "autoRollback: OnProgressDeadline}}}",
         ""},
        {"budget of nothing", CLIQUES("{name: x, " ROLL("0") ", spec: {" POD "}}"),
         T ".cliques[0].rollingUpdate.maxUnavailable: Invalid: 0\n"},
        {"budget of a member",
         TEMPLATE("cliques: [{name: fe, spec: {" POD
                  "}}, {name: pl, " ROLL("1") ", spec: {" POD "}}, {name: pw, spec: {" POD "}}]"),
         T ".cliques[1].rollingUpdate: Forbidden\n"},
    };
    RUN(cases, false);
}

TEST(rules_of_surge)
{
#define SURGE(n) "{spec: {updateStrategy: {rollingUpdate: {maxSurge: " n "}}}}"
#define OF_CLIQUE(text) CLIQUES("{name: x, rollingUpdate: {" text "}, spec: {" POD "}}")
    static const struct rule_case cases[] = {
        {"a number", SURGE("1"), ""},
        {"none", SURGE("0"), ""},
        {"percent", SURGE("'25%'"), ""},
        {"less than none", SURGE("-1"),
         "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: -1\n"},
        {"percent of nothing", SURGE("'%'"),
         "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: \"%\"\n"},
        {"more percent than there are", SURGE("'101%'"),
         "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: \"101%\"\n"},
        {"a broken number", SURGE("1.5"),
         "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: 1.5\n"},
        {"no number at all", SURGE("[1]"),
         "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: [1]\n"},
        {"a broken number that is not read",
         "{spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 1.5}}}}",
         "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid: 1.5\n"},
        {"a broken budget is the table's to refuse, and is not nothing",
         OF_CLIQUE("maxUnavailable: 1.5"), ""},
        {"words", SURGE("many"), "spec.updateStrategy.rollingUpdate.maxSurge: Invalid: \"many\"\n"},
        {"no time", "{spec: {updateStrategy: {rollingUpdate: {surgeTimeout: 0s}}}}",
         "spec.updateStrategy.rollingUpdate.surgeTimeout: Invalid: \"0s\"\n"},
        {"some time", "{spec: {updateStrategy: {rollingUpdate: {surgeTimeout: 1m}}}}", ""},
        {"of a clique", OF_CLIQUE("maxSurge: '-5%'"),
         T ".cliques[0].rollingUpdate.maxSurge: Invalid: \"-5%\"\n"},
        {"nothing need be missing", OF_CLIQUE("maxSurge: 1, maxUnavailable: 0"), ""},
        {"neither", OF_CLIQUE("maxSurge: 0, maxUnavailable: 0"),
         T ".cliques[0].rollingUpdate.maxUnavailable: Invalid: 0\n"},
        {"neither, in percent", OF_CLIQUE("maxSurge: '0%', maxUnavailable: 0"),
         T ".cliques[0].rollingUpdate.maxUnavailable: Invalid: 0\n"},
        {"less than nothing", OF_CLIQUE("maxSurge: 1, maxUnavailable: -1"),
         T ".cliques[0].rollingUpdate.maxUnavailable: Invalid: -1\n"},
        {"the set's word counts",
         "{spec: {updateStrategy: {rollingUpdate: {maxSurge: 1}}, template: "
         "{podCliqueScalingGroups: null, cliques: [{name: x, rollingUpdate: {maxUnavailable: 0}, "
         "spec: {" POD "}}]}}}",
         ""},
        {"its own word counts more",
         "{spec: {updateStrategy: {rollingUpdate: {maxSurge: 1}}, template: "
         "{podCliqueScalingGroups: null, cliques: [{name: x, rollingUpdate: {maxUnavailable: 0, "
         "maxSurge: 0}, spec: {" POD "}}]}}}",
         T ".cliques[0].rollingUpdate.maxUnavailable: Invalid: 0\n"},
    };
    RUN(cases, false);
}

TEST(rules_of_members)
{
#define MEMBERS(type, word)                                                                     \
    "{spec: {updateStrategy: {type: " type "}, template: {podCliqueScalingGroups: [{name: pf, " \
    "cliqueNames: [pl, pw], rollingUpdate: {members: " word "}}]}}}"
    static const struct rule_case cases[] = {
        {"all, rolling", MEMBERS("RollingRecreate", "All"), ""},
        {"changed, rolling", MEMBERS("RollingRecreate", "Changed"), ""},
        {"changed, by hand", MEMBERS("OnDelete", "Changed"), ""},
        {"all, coherent", MEMBERS("Coherent", "All"), ""},
        {"changed, coherent", MEMBERS("Coherent", "Changed"),
         G "[0].rollingUpdate.members: Invalid: \"Changed\"\n"},
    };
    RUN(cases, false);
}

TEST(a_pause_that_is_none_is_said)
{
#define PAUSE(v) "{metadata: {annotations: {grove.io/paused: " v "}}}"
#define NO_PAUSE "warning: metadata.annotations.grove.io/paused\n"
    static const struct rule_case cases[] = {
        {"paused", PAUSE("'true'"), ""},       {"not", PAUSE("'false'"), ""},
        {"perhaps", PAUSE("maybe"), NO_PAUSE}, {"in another case", PAUSE("'True'"), NO_PAUSE},
        {"nothing", PAUSE("''"), NO_PAUSE},
    };
    RUN(cases, false);
}

/* kube-apiserver would refuse the pods one by one. What pods may still be given is said only. */
TEST(a_set_whose_pods_would_be_refused_is_refused)
{
#define P T ".cliques[0].spec.podSpec"
#define ONE(rest) X("podSpec: {containers: [{name: c, image: i, " rest "}]}")
#define AMOUNTS(what) ONE("resources: {" what "}")
    static const struct rule_case cases[] = {
        {"no containers", X("podSpec: {containers: []}"), P ".containers: Required\n"},
        {"container without a name that can be one",
         X("podSpec: {containers: [{name: 'A b', image: i}]}"),
         P ".containers[0].name: Invalid: \"A b\"\n"},
        {"init container without one",
         X("podSpec: {initContainers: [{name: '', image: i}], containers: [{name: c, image: i}]}"),
         P ".initContainers[0].name: Required\n"},
        {"negative", AMOUNTS("limits: {nvidia.com/gpu: -1}"),
         P ".containers[0].resources.limits[nvidia.com/gpu]: Invalid: \"-1\"\n"},
        {"negative memory, as text", AMOUNTS("requests: {memory: '-5Mi'}"),
         P ".containers[0].resources.requests[memory]: Invalid: \"-5Mi\"\n"},
        {"half a device", AMOUNTS("limits: {nvidia.com/gpu: 0.5}"),
         P ".containers[0].resources.limits[nvidia.com/gpu]: Invalid: \"0.5\"\n"},
        {"half a CPU is good", AMOUNTS("limits: {cpu: 0.5}"), ""},
        {"more than the limit", AMOUNTS("limits: {cpu: 1}, requests: {cpu: 2}"),
         P ".containers[0].resources.requests: Invalid: \"2\"\n"},
        {"up to the limit is good", AMOUNTS("limits: {cpu: 2}, requests: {cpu: 1500m}"), ""},
        {"fewer devices than the limit",
         AMOUNTS("limits: {nvidia.com/gpu: '8'}, requests: {nvidia.com/gpu: 4}"),
         P ".containers[0].resources.requests: Invalid: \"4\"\n"},
        {"devices without a limit", AMOUNTS("requests: {nvidia.com/gpu: 4}"), ""},
        {"no such resource", AMOUNTS("limits: {gpu: 4}"),
         P ".containers[0].resources.limits[gpu]: Invalid: \"gpu\"\n" P
           ".containers[0].resources.limits[gpu]: Invalid: \"gpu\"\n"},
        {"pages, storage and what belongs to Kubernetes are good",
         AMOUNTS("limits: {hugepages-2Mi: 4Mi, ephemeral-storage: 1Gi, kubernetes.io/x: 0.5}"), ""},
        {"no image", X("podSpec: {containers: [{name: c}]}"),
         "warning: " P ".containers[0].image\n"},
        {"no such volume", ONE("volumeMounts: [{name: v, mountPath: /v}]"),
         "warning: " P ".containers[0].volumeMounts[0].name\n"},
        {"two of a name", X("podSpec: {containers: [{name: c, image: i}, {name: c, image: i}]}"),
         P ".containers[1].name: Duplicate: \"c\"\n"},
        {"not a port", ONE("ports: [{containerPort: 70000}]"),
         P ".containers[0].ports[0].containerPort: Invalid: 70000\n"},
        {"an operator of no toleration",
         X("podSpec: {tolerations: [{key: a, operator: Exist}], containers: [{name: c, image: "
           "i}]}"),
         P ".tolerations[0].operator: Unsupported: \"Exist\"\n"},
        {"what Grove writes itself is not judged",
         X("podSpec: {hostname: A_b, subdomain: '-', schedulingGates: [{name: a}, {name: a}], "
           "containers: [{name: c, image: i}]}"),
         ""},
    };
    RUN(cases, false);
}

TEST(spellings_of_older_documents_work_and_are_said)
{
    static const struct rule_case cases[] = {
        {"networkPackGroupConfigs",
         TEMPLATE("schedulingPolicyConfig: {networkPackGroupConfigs: [{cliqueNames: [fe]}]}"),
         "warning: " T ".schedulingPolicyConfig.networkPackGroupConfigs\n"},
        {"networkPackGroups",
         TEMPLATE("schedulingPolicyConfig: {networkPackGroups: [{cliqueNames: [fe]}]}"),
         "warning: " T ".schedulingPolicyConfig.networkPackGroups\n"},
        {"networkPackGroups of nobody",
         TEMPLATE("schedulingPolicyConfig: {networkPackGroups: [{cliqueNames: [fe, ef]}]}"),
         "warning: " T ".schedulingPolicyConfig.networkPackGroups\n"
         "warning: " T ".schedulingPolicyConfig.networkPackGroups[0].cliqueNames[1]\n"},
        {"spread over nothing", "{spec: {replicaSpreadConstraints: [{topologyKey: ''}]}}",
         "spec.replicaSpreadConstraints[0].topologyKey: Invalid: \"\"\n"
         "warning: spec.replicaSpreadConstraints\n"},
        {"spread over two keys in one",
         "{spec: {replicaSpreadConstraints: [{topologyKey: 'a=required,b'}]}}",
         "spec.replicaSpreadConstraints[0].topologyKey: Invalid: \"a=required,b\"\n"
         "warning: spec.replicaSpreadConstraints\n"},
        {"spread with a skew of nothing",
         "{spec: {replicaSpreadConstraints: [{topologyKey: k, maxSkew: 0}]}}",
         "spec.replicaSpreadConstraints[0].maxSkew: Invalid: 0\n"
         "warning: spec.replicaSpreadConstraints\n"},
        {"replicaSpreadConstraints",
         "{spec: {replicaSpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: "
         "DoNotSchedule}]}}",
         "warning: spec.replicaSpreadConstraints\n"},
        {"scaleConfig.behavior",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1, scaleConfig: "
                "{maxReplicas: 5, behavior: {scaleDown: {}}}}"),
         ""},
    };
    RUN(cases, false);
}

TEST(rules_of_updates_of_what_was_there)
{
#define GTC(tc) \
    GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1, " TC(tc) "}")
#define WITH(tc) TEMPLATE(TC(tc))
    static const struct rule_case cases[] = {
        {"U3", SET(PL "," FE "," PW),
         T ".cliques: Invalid: \"pl\"\n" T ".cliques: Invalid: \"fe\"\n",
         TEMPLATE("cliqueStartupType: InOrder")},
        {"U7",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, podSpec: "
             "{schedulerName: default-scheduler, containers: [{name: c, image: i}]}}}," PL "," PW),
         T ".cliques.spec.podSpec.schedulerName: Invalid: \"default-scheduler\"\n", NULL},
        {"U12 sharing",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1, resourceSharing: "
                "[{name: a, scope: PerReplica}]}"),
         G ".resourceSharing: Invalid: [{\"name\":\"a\",\"scope\":\"PerReplica\"}]\n", NULL},
        {"U14 removed", TEMPLATE("topologyConstraint: null"), AT ": Forbidden\n",
         WITH("topologyName: fab, pack: {required: zone}")},
        {"U14 name", WITH("topologyName: other"), AT ".topologyName: Forbidden\n",
         WITH("topologyName: fab, pack: {required: zone}")},
        {"U14 required", WITH("pack: {required: rack}"), AT ": Forbidden\n",
         WITH("topologyName: fab, pack: {required: zone}")},
        {"U14 preferred", WITH("pack: {preferred: rack}"), AT ": Forbidden\n",
         WITH("topologyName: fab, pack: {required: zone}")},
        {"U14 kept", "{spec: {replicas: 3}}", "",
         WITH("topologyName: fab, pack: {required: zone}")},
        {"U14 migration", WITH("packDomain: null, pack: {required: zone}"), "",
         WITH("topologyName: fab, packDomain: zone")},
        {"U14 wrong migration", WITH("packDomain: null, pack: {required: rack}"),
         AT ": Forbidden\n", WITH("topologyName: fab, packDomain: zone")},
        {"U14 repair", WITH("topologyName: fab"), "warning: " AT ".packDomain is deprecated\n",
         WITH("packDomain: zone")},
        {"U14 deprecated", "{spec: {replicas: 3}}", "warning: " AT ".packDomain is deprecated\n",
         WITH("topologyName: fab, packDomain: zone")},
        {"U14 group", GTC("topologyName: fab, pack: {required: rack}"),
         G "[0].topologyConstraint: Forbidden\n", NULL},
        {"U14 group changed", GTC("topologyName: fab, pack: {required: rack}"),
         G "[0].topologyConstraint: Forbidden\n", GTC("topologyName: fab, pack: {required: zone}")},
        {"U14 clique",
         SET("{name: fe, " TC("topologyName: fab, pack: {required: rack}") ", spec: {roleName: "
                                                                           "front, replicas: 3, "
                                                                           "minAvailable: 2, " POD
                                                                           "}}," PL "," PW),
         T ".cliques[0].topologyConstraint: Forbidden\n", NULL},
        {"NVLink group removed", "{metadata: {annotations: {" NV ": null}}}",
         "metadata.annotations." NV ": Forbidden\n", "{metadata: {annotations: {" NV ": a}}}"},
        {"NVLink group changed", "{metadata: {annotations: {" NV ": b}}}",
         "metadata.annotations." NV ": Invalid: \"b\"\n", "{metadata: {annotations: {" NV ": a}}}"},
        {"NVLink group kept", "{spec: {replicas: 4}}", "",
         "{metadata: {annotations: {" NV ": a}}}"},
        {"NVLink group of a clique added",
         SET("{name: fe, annotations: {" NV ": a}, spec: {roleName: front, replicas: 3, "
             "minAvailable: 2, " POD "}}," PL "," PW),
         T ".cliques[0].annotations." NV ": Forbidden\n", NULL},
        {"NVLink group of a scaling group added",
         GROUPS("{name: pf, cliqueNames: [pl, pw], replicas: 3, minAvailable: 1, annotations: {" NV
                ": a}}"),
         G "[0].annotations." NV ": Forbidden\n", NULL},
        {"Q4 had it before", "{spec: {replicas: 4}}", "",
         CLIQUES(
             "{name: x, spec: {podSpec: {nodeName: here, containers: [{name: c, image: i}]}}}")},
        {"on its way out", "{metadata: {finalizers: []}}", "",
         "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {replicas: -1}}"},
        {"HPA settings may change",
         SET("{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, autoScalingConfig: "
             "{minReplicas: 2, maxReplicas: 8}, " POD "}}," PL "," PW),
         "", NULL},
    };
    RUN(cases, true);
}

TEST(rules_of_topology_between_siblings)
{
#define PAIR(a, b)                                                    \
    TEMPLATE("podCliqueScalingGroups: null, cliques: [{name: x, " TC( \
        a) ", spec: {" POD "}}, "                                     \
           "{name: k, " TC(b) ", spec: {" POD "}}]")
    static const struct rule_case cases[] = {
        {"siblings agree",
         PAIR("topologyName: fab, pack: {required: zone}", "topologyName: fab, pack: {required: "
                                                           "host}"),
         ""},
        {"siblings differ",
         PAIR("topologyName: fab, pack: {required: zone}", "topologyName: other, pack: {required: "
                                                           "host}"),
         T ".cliques[0].topologyConstraint.topologyName: Invalid: \"fab\"\n" T
           ".cliques[1].topologyConstraint.topologyName: Invalid: \"other\"\n"},
        {"clique without a name",
         PAIR("topologyName: fab, pack: {required: zone}", "pack: {required: zone}"),
         T ".cliques[1].topologyConstraint.topologyName: Required\n"},
        {"only a child is constrained, unknown binding",
         TEMPLATE("podCliqueScalingGroups: null, cliques: [{name: x, " TC(
             "topologyName: nope, pack: {required: zone}") ", spec: {" POD "}}]"),
         AT ".topologyName: Invalid: \"nope\"\n"},
        {"set narrower than a clique",
         TEMPLATE(TC(
             "topologyName: fab, pack: {required: rack}") ", podCliqueScalingGroups: null, "
                                                          "cliques: [{name: x, " TC(
                                                              "pack: {required: zone}") ", spec: "
                                                                                        "{" POD
                                                                                        "}}]"),
         AT ": Invalid: \"rack\"\n"},
        {"packDomain on a clique",
         PAIR("topologyName: fab, packDomain: zone", "topologyName: fab, pack: {required: zone}"),
         T ".cliques[0].topologyConstraint.packDomain: Forbidden\n"},
        {"packDomain on a group",
         GROUPS("{name: pf, cliqueNames: [pl, pw], " TC("topologyName: fab, packDomain: zone") "}"),
         G "[0].topologyConstraint.packDomain: Forbidden\n"},
    };
    rules_context = grove_default_context;
    rules_context.levels = rules_levels;
    RUN(cases, false);
    rules_context = grove_default_context;
}

/* ---- whatever people write ---- */

static double cpu_msec(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* Processor time of one admission, as a server does it. */
static double admit_once(struct doc *d, struct strbuf *ret)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    grove_kinds_init();
    field_errors_init(&errors, &a);
    double from = cpu_msec();
    struct doc *full = rules_admitted(d);
    grove_validate(&kind_pcs, NULL, full, &errors);
    double spent = cpu_msec() - from;
    rules_describe(&errors, ret);
    field_errors_done(&errors);
    doc_unref(full);
    arena_done(&a);
    return spent;
}

/* The best of a few: other programs share the processor and its caches. */
static double admit_msec(struct doc *d, struct strbuf *ret)
{
    double best = 1e9;
    for (int i = 0; i < 20 && best > 30; i++) {
        strbuf_reset(ret);
        double msec = admit_once(doc_ref(d), ret);
        best = MIN(best, msec);
    }
    doc_unref(d);
    return best;
}

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SLOWER 20
#else
#define SLOWER 1
#endif

static struct doc *parse_owned(struct strbuf *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(strbuf_str(text), NULL, &err);
    if (!d)
        test_note("%s", err.message);
    REQUIRE(d != NULL);
    strbuf_done(text);
    return d;
}

#define HEAD                                                                                       \
    "{\"metadata\":{\"name\":\"big\",\"namespace\":\"ml\"},\"spec\":{\"replicas\":1,\"template\":" \
    "{"                                                                                            \
    "\"cliques\":["

static struct doc *many_cliques(int n)
{
    struct strbuf text = STRBUF_INIT(64 << 20);
    strbuf_add_cstr(&text, HEAD);
    for (int i = 0; i < n; i++)
        strbuf_printf(&text, "%s{\"name\":\"c%d\",\"spec\":{\"replicas\":%d,\"podSpec\":{}}}",
                      i ? "," : "", i, i == n - 1 ? -1 : 1);
    strbuf_add_cstr(&text, "]}}}");
    return parse_owned(&text);
}

TEST(ten_thousand_cliques_get_a_precise_error_within_fifty_milliseconds)
{
    struct strbuf got = STRBUF_INIT(1 << 20);
    double msec = admit_msec(many_cliques(10000), &got);
    CHECK_CSTR(strbuf_str(&got), T ".cliques: TooMany: 10000\n");
    test_note("%.1f ms", msec);
    CHECK(msec < 50 * SLOWER);
    strbuf_done(&got);
}

TEST(as_many_cliques_as_a_set_may_have_are_judged_one_by_one)
{
    struct strbuf got = STRBUF_INIT(1 << 20);
    double msec = admit_msec(many_cliques(2000), &got);
    CHECK_CSTR(strbuf_str(&got), T ".cliques[1999].spec.replicas: Invalid: -1\n" T
                                   ".cliques[1999].spec.minAvailable: Invalid: -1\n");
    test_note("%.1f ms", msec);
    CHECK(msec < 50 * SLOWER);
    strbuf_reset(&got);
    (void)admit_msec(many_cliques(2001), &got);
    CHECK_CSTR(strbuf_str(&got), T ".cliques: TooMany: 2001\n");
    strbuf_done(&got);
}

TEST(a_manifest_of_a_megabyte_gets_a_precise_error_within_fifty_milliseconds)
{
    struct strbuf text = STRBUF_INIT(64 << 20), got = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&text, HEAD "{\"name\":\"x\",\"spec\":{\"podSpec\":{\"containers\":[{\"name\":"
                                "\"c\",\"image\":\"i\",\"env\":[");
    for (int i = 0; text.len < 1 << 20; i++)
        strbuf_printf(&text, "%s{\"name\":\"E%d\",\"value\":\"some text\"}", i ? "," : "", i);
    strbuf_add_cstr(&text, ",{\"name\":\"E7\"}]}]}}}]}}}");
    double msec = admit_msec(parse_owned(&text), &got);
    CHECK_CSTR(strbuf_str(&got), T ".cliques[0].spec.podSpec.spec.containers[0].env: Duplicate: "
                                   "\"E7\"\n");
    test_note("%.1f ms", msec);
    CHECK(msec < 50 * SLOWER);
    strbuf_done(&got);
}

TEST(odd_values_are_said_with_their_path)
{
    static const struct rule_case cases[] = {
        {"huge number", "{spec: {replicas: -99999999999999999999999}}", ""},
        {"huge replicas", X("replicas: 2147483647, minAvailable: 3000000000, " POD),
         T ".cliques[0].spec.minAvailable: Invalid: 3000000000\n"},
        {"negative replicas", X("replicas: -5, minAvailable: 1, " POD),
         T ".cliques[0].spec.replicas: Invalid: -5\n" T
           ".cliques[0].spec.minAvailable: Invalid: 1\n"},
        {"unicode name", CLIQUES("{name: 'prefü', spec: {" POD "}}"),
         T ".cliques[0].name: Invalid: \"pref\xc3\xbc\"\n"},
        {"unicode group", GROUPS("{name: '模型', cliqueNames: [pl]}"),
         G "[0].name: Invalid: \"\xe6\xa8\xa1\xe5\x9e\x8b\"\n"},
        {"unicode member", GROUPS("{name: g, cliqueNames: ['ü']}"),
         G "[0].cliqueNames: Invalid: \"\xc3\xbc\"\n"},
        {"quote in a name", GROUPS("{name: g, cliqueNames: ['a\"b']}"),
         G "[0].cliqueNames: Invalid: \"a\\\"b\"\n"},
        {"real number", X("replicas: 2.0, " POD), ""},
    };
    RUN(cases, false);
}

/* Every scalar and container in every place: judged, never believed, never fatal. */
TEST(wrong_types_everywhere_crash_nothing)
{
    static const char *const values[] = {
        "null", "true", "-1",     "1e400", "\"\"",          "\"x\"",    "[]",
        "{}",   "[[]]", "[null]", "[{}]",  "{\"name\":[]}", "[1,\"a\"]"};
    static const char *const places[] = {
        "",
        "/metadata",
        "/metadata/name",
        "/metadata/annotations",
        "/metadata/labels",
        "/spec",
        "/spec/replicas",
        "/spec/updateStrategy",
        "/spec/updateStrategy/type",
        "/spec/replicaSpreadConstraints",
        "/spec/template",
        "/spec/template/cliques",
        "/spec/template/cliques/0",
        "/spec/template/cliques/0/name",
        "/spec/template/cliques/0/labels",
        "/spec/template/cliques/0/annotations",
        "/spec/template/cliques/0/topologyConstraint",
        "/spec/template/cliques/0/topologyConstraint/pack",
        "/spec/template/cliques/0/resourceSharing",
        "/spec/template/cliques/0/rollingUpdate",
        "/spec/template/cliques/0/spec",
        "/spec/template/cliques/0/spec/roleName",
        "/spec/template/cliques/0/spec/replicas",
        "/spec/template/cliques/0/spec/minAvailable",
        "/spec/template/cliques/0/spec/startsAfter",
        "/spec/template/cliques/0/spec/autoScalingConfig",
        "/spec/template/cliques/0/spec/podSpec",
        "/spec/template/cliques/0/spec/podSpec/containers",
        "/spec/template/cliques/0/spec/podSpec/containers/0",
        "/spec/template/cliques/0/spec/podSpec/containers/0/env",
        "/spec/template/cliqueStartupType",
        "/spec/template/terminationDelay",
        "/spec/template/headlessServiceConfig",
        "/spec/template/topologyConstraint",
        "/spec/template/resourceClaimTemplates",
        "/spec/template/resourceSharing",
        "/spec/template/schedulingPolicyConfig",
        "/spec/template/podCliqueScalingGroups",
        "/spec/template/podCliqueScalingGroups/0",
        "/spec/template/podCliqueScalingGroups/0/name",
        "/spec/template/podCliqueScalingGroups/0/cliqueNames",
        "/spec/template/podCliqueScalingGroups/0/replicas",
        "/spec/template/podCliqueScalingGroups/0/scaleConfig",
        "/spec/template/podCliqueScalingGroups/0/resourceSharing",
        "/spec/template/podCliqueScalingGroups/0/rollingUpdate",
        "/spec/template/podCliqueScalingGroups/0/rollingUpdate/members",
    };
    grove_kinds_init();
    struct doc *base = rules_yaml(rules_good);
    for (size_t p = 0; p < ARRAY_LEN(places); p++) {
        for (size_t v = 0; v < ARRAY_LEN(values); v++) {
            struct arena a = ARENA_INIT;
            struct edit e;
            struct field_errors errors;
            edit_init(&e, &a);
            edit_set_raw(&e, str_of(places[p]), str_of(values[v]));
            struct doc *d = edit_apply(&e, base, NULL);
            edit_done(&e);
            if (d) {
                d = rules_admitted(d);
                field_errors_init(&errors, &a);
                grove_validate(&kind_pcs, NULL, d, &errors);
                grove_validate(&kind_pcs, base, d, &errors);
                grove_validate(&kind_pcs, d, base, &errors);
                grove_validate(&kind_ctb, NULL, d, &errors);
                field_errors_done(&errors);
                doc_unref(d);
            }
            arena_done(&a);
        }
    }
    doc_unref(base);
}
