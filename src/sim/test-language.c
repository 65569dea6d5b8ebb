/* The language of scenarios: what is wrong with a file is said, and expectations can fail. */
#include "base/test.h"
#include "sim/scenario.h"

#define ONE_SET                                                                                \
    "- apply: {apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: x}, spec: " \
    "{replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: "  \
    "[{name: c, image: i}]}}}, {name: b, spec: {podSpec: {containers: [{name: c, image: "      \
    "i}]}}}]}}}\n"
#define SETTLED "cluster: {nodes: 2}\nsteps:\n" ONE_SET "- settle: {}\n"

/* want NULL: it holds. */
static void check_run(const char *yaml, const char *want)
{
    struct err err = ERR_INIT;
    struct scenario *s = scenario_parse("test.yaml", str_of(yaml), &err);
    if (s) {
        struct scenario_result r;
        (void)scenario_run(s, 3, &r);
        err = r.err;
        strbuf_done(&r.log);
    }
    scenario_free(s);
    bool as_wanted =
        want ? err.code && str_find(str_of(err.message), str_of(want)) >= 0 : !err.code;
    if (!CHECK(as_wanted))
        test_note("%s\nwanted %s, got %s", yaml, want ? want : "success", err.message);
}

TEST(mistakes_in_a_scenario_are_named)
{
    check_run("steps: [{fly: {}}]", "there is no step \"fly\"");
    check_run("stepps: []", "does not know \"stepps\" (did you mean \"steps\"?)");
    check_run("steps: [{settle: {limt: 5s}}]", "does not know \"limt\"");
    check_run("steps: [{advance: soon}]", "is no duration");
    check_run("steps: [{advance: 5s..1s}]", "is no duration");
    check_run("steps: [{expect: {kind: unicorn}}]", "unknown kind \"unicorn\"");
    check_run("steps: [{expect: {kind: pod, lables: a=b}}]", "does not know \"lables\"");
    check_run("steps: [{expect: {kind: pod, name: y}}]", "name: true is no string");
    check_run("steps: [{restart: half}]", "is no part");
    check_run("steps: [{clock: {process: half, step: 1h}}]", "is no part");
    check_run("steps: [{clock: {process: api}}]", "by what step");
    check_run("steps: [{clock: {process: api, drift: 5}}]", "by what step");
    check_run("steps: [{scale: {pcs/none: 2}}]", "not found");
    check_run("steps: [{delete: pcs/none}]", "there are 0");
    check_run("steps: [{apply: {kind: Unicorn, apiVersion: v1, metadata: {name: u}}}]",
              "unknown kind \"Unicorn\"");
    check_run("faults: {gremlins: 5}", "there is no fault \"gremlins\"");
    check_run("faults: {drop: -1}", "is no share");
    check_run("invariants: {without: [gravity]}\nsteps: []", "there is no invariant gravity");
    check_run("cluster: {nodes: 0}", "1 to 100000 nodes");
    check_run("cluster: {profile: abacus}", "there is no profile \"abacus\"");
    check_run("steps: [{expect: {kind: pod, kept: nothing}}]", "nothing is remembered as");
    check_run("steps: [{random: {of: [dance]}}]", "there is no random operation \"dance\"");
    check_run("never: [{kind: pod}]\nsteps: []", "over or under how many?");
}

TEST(expectations_hold_or_do_not)
{
    check_run(SETTLED "- expect: {kind: pod, is: 3}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, is: 2}\n", "there are 3");
    check_run(SETTLED "- expect: {kind: pod, min: 4}\n", "there are 3");
    check_run(SETTLED "- expect: {kind: pod, max: 2}\n", "there are 3");
    check_run(SETTLED "- expect: {kind: pcs, name: other}\n", "there are 0");
    check_run(SETTLED "- expect: {kind: pod, condition: Ready, deleting: false, is: 3}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, condition: '!Ready', is: 0}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, fields: {status.phase: Running}, is: 3}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, fields: {spec.nodeName: null}, is: 0}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, fields: {spec.nodeName: ~fake-}, is: 3}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, fields: {/spec/containers/0/name: c}, is: 3}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, labels: grove.io/podclique=x-0-a, is: 2}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, distinct: spec.hostname}\n", NULL);
    check_run(SETTLED "- expect: {kind: pod, distinct: spec.nodeName}\n", "occurs twice");
    check_run(SETTLED "- remember: {as: m, kind: pod}\n- delete: {kind: pod, first: 1}\n"
                      "- settle: {}\n- expect: [{kind: pod, kept: m, is: 2}, {kind: pod, fresh: m, "
                      "is: 1}]\n",
              NULL);
    check_run(SETTLED "- refused: {apply: {apiVersion: v1, kind: Pod, metadata: {name: 'a b'}}, "
                      "saying: [metadata.name, RFC 1123]}\n",
              NULL);
    check_run(SETTLED "- refused: {apply: {apiVersion: v1, kind: Pod, metadata: {name: 'a b'}}, "
                      "saying: too late}\n",
              "the answer was");
    check_run(SETTLED "- refused: {apply: {apiVersion: v1, kind: Namespace, metadata: {name: ok}}, "
                      "saying: no}\n",
              "it was taken");
    check_run(SETTLED "- quiet: 1m\n", NULL);
    check_run(SETTLED "- delete: {kind: pod, any: 1}\n- quiet: 1m\n", "writes");
}

/* Two nodes that share everything but the host. */
TEST(where_pods_sit_is_judged_by_the_labels_of_their_nodes)
{
#define PLACED SETTLED "- expect: {kind: pod, "
    check_run(PLACED "placed: {kubernetes.io/zone: 1, kubernetes.io/rack: 1}}\n", NULL);
    check_run(PLACED "placed: {kubernetes.io/zone: 2}}\n", "there are 1 values");
    check_run(PLACED "placed: {kubernetes.io/zone: zone-0, no-such: null}}\n", NULL);
    check_run(PLACED "placed: {kubernetes.io/zone: zone-1}}\n", "kubernetes.io/zone \"zone-0\"");
    check_run(PLACED "placed: {no-such: 1}}\n", "no-such \"\"");
    check_run(PLACED "placed: {kubernetes.io/zone: null}}\n", "kubernetes.io/zone \"zone-0\"");
    check_run(PLACED "placed: {kubernetes.io/rack: 1}, each: grove.io/podclique}\n", NULL);
    check_run(PLACED "placed: {kubernetes.io/hostname: 2}, each: [grove.io/podclique, no-such]}\n",
              "values for x-0-");
    check_run("cluster: {nodes: 1}\nsteps:\n- settle: {}\n- cordon: 1\n" ONE_SET
              "- settle: {}\n- expect: {kind: pod, placed: {kubernetes.io/zone: 1}}\n",
              "is on \"\"");
}

TEST(time_is_waited_for_and_runs_out)
{
    check_run("cluster: {nodes: 2}\nsteps:\n" ONE_SET
              "- await: {until: {kind: pod, condition: Ready, is: 3}, within: 1m}\n",
              NULL);
    check_run("cluster: {nodes: 2}\nsteps:\n" ONE_SET
              "- await: {until: {kind: pod, is: 4}, within: 1m}\n",
              "waited in vain");
    /* Pods are gone one by one; nothing of that is seen by looking at the end. */
    check_run(SETTLED "- never: {kind: pod, under: 3}\n- scale: {pclq/x-0-a: 1}\n- settle: {}\n",
              "there are 2");
    check_run("cluster: {nodes: 2}\nnever: [{kind: pod, under: 3}]\nsteps:\n" ONE_SET
              "- settle: {}\n",
              NULL);
    check_run("cluster: {nodes: 2}\nnever: [{kind: pod, over: 2}]\nsteps:\n" ONE_SET
              "- settle: {}\n",
              "there are 3");
    check_run(SETTLED "- never: {kind: pod, under: 3}\n- forget: {}\n- scale: {pclq/x-0-a: 1}\n"
                      "- settle: {}\n",
              NULL);
}

TEST(order_is_judged_by_what_happened)
{
#define CREATED "{kind: pod, nth: 3}"
#define READY "{kind: pod, condition: Ready, nth: 1}"
    check_run(SETTLED "- expect: {order: [" CREATED ", " READY "]}\n", NULL);
    check_run(SETTLED "- expect: {order: [" READY ", " CREATED "]}\n", "before the other");
    check_run(SETTLED "- expect: {order: [{kind: pod, nth: 4}]}\n", "did not happen");
}

TEST(misfortune_comes_and_goes)
{
    check_run(SETTLED "- fail: all\n- settle: {}\n- expect: [{kind: node, condition: "
                      "Ready=Unknown, is: 2}, {kind: pod, condition: Ready, is: 0}]\n"
                      "- recover: all\n- settle: {}\n"
                      "- expect: [{kind: node, condition: Ready, is: 2}, {kind: pod, condition: "
                      "Ready, is: 3}]\n",
              NULL);
    check_run(SETTLED "- cordon: all\n- delete: {kind: pod, first: 1}\n- settle: {}\n"
                      "- expect: {kind: pod, fields: {spec.nodeName: null}, is: 1}\n"
                      "- uncordon: 1\n- settle: {}\n- expect: {kind: pod, condition: Ready, is: "
                      "3}\n",
              NULL);
    check_run(SETTLED "- crash: {kind: pod, first: 1}\n- settle: {}\n- expect: {kind: pod, "
                      "condition: Ready, is: 2}\n- heal: {kind: pod, condition: '!Ready'}\n"
                      "- settle: {}\n- expect: {kind: pod, condition: Ready, is: 3}\n",
              NULL);
}
