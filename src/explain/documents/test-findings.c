/* findings: what is found in a picture, in the words that a person reads. */
#include "explain/documents/test-picture.h"

struct finding_case {
    const char *name, *lines, *want;
};

static void check_findings(const struct finding_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct test_picture *t = tp_new(cases[i].lines);
        if (!CHECK_CSTR(tp_findings(t, "llm"), cases[i].want))
            test_note("case: %s", cases[i].name);
        tp_free(t);
    }
}
#define CHECK_FINDINGS(cases) check_findings(cases, ARRAY_LEN(cases))

TEST(what_is_as_it_should_be_is_not_told)
{
    static const struct finding_case cases[] = {
        {"all pods are ready",
         "set llm seen\n"
         "gang llm-0 True Scheduled PodGangScheduled ok\n"
         "clique llm-0-a replicas 2 min 2\n"
         "pods llm-0-a 2 on n1 ready\n",
         ""},
        {"a set of no replicas", "set llm seen replicas 0\n", ""},
        {"conditions that say that nothing is wrong",
         "set llm seen False TopologyLevelsUnavailable AllClusterTopologyLevelsAvailable known\n"
         "gang llm-0 False Unschedulable Placed ok False DisruptionTarget RoomWasMade ok "
         "False TopologyViolated InOneDomain ok False InvalidPodReference ReferencesAgree ok\n"
         "group llm-0-g False MinAvailableBreached SufficientReadyPods ok\n",
         ""},
        {"what is of other sets, of another name or of a longer one",
         "set llm seen\nset llmx seen\n"
         "gang llmx-0 True Unschedulable DoesNotFit no\n"
         "clique llmx-0-a replicas 1 error ERR_CREATE_POD no\n"
         "pod llmx-0-a-0 gated\n",
         ""},
        {"an update that has ended",
         "set llm seen {status: {updateProgress: {updateEndedAt: '2026-01-01T11:00:00Z'}}}\n", ""},
        {"a clique that is being deleted",
         "set llm seen\nclique llm-0-a replicas 3 going 12:00:00 error ERR_DELETE_POD no\n", ""},
        {"pods that go, within their grace period",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 on n1 ready\n"
         "pod llm-0-a-9 on n1 going 12:00:20\n",
         ""},
        {"a minimum that was never reached",
         "set llm seen\n"
         "clique llm-0-a True MinAvailableBreached ScheduledReplicasBelowMinAvailable '0 of 1'\n",
         ""},
        {"events that are no refusals",
         "set llm seen\nevent e {reason: Killing, message: no, involvedObject: {name: llm}}\n", ""},
    };
    CHECK_FINDINGS(cases);
}

TEST(a_set_that_is_deleted_says_what_it_waits_for)
{
    static const struct finding_case cases[] = {
        {"pods are left",
         "set llm seen going 12:00:00 held grove.io/podcliqueset.grove.io\n"
         "clique llm-0-a replicas 2 going 12:00:00\n"
         "pods llm-0-a 2 on n1 ready\n",
         "going pcs/llm: llm is being deleted; 2 pods are left\n"
         "  finalizers: grove.io/podcliqueset.grove.io\n"
         "  - the operator removes its finalizer when everything is gone; if that takes long, "
         "check "
         "that an operator is running\n"},
        {"one pod is left",
         "set llm seen going 12:00:00 held grove.io/podcliqueset.grove.io\npod llm-0-a-0 on n1\n",
         "going pcs/llm: llm is being deleted; 1 pod is left\n"
         "  finalizers: grove.io/podcliqueset.grove.io\n"
         "  - the operator removes its finalizer when everything is gone; if that takes long, "
         "check "
         "that an operator is running\n"},
        {"finalizers of others",
         "set llm seen going 12:00:00 held example.com/hold held other.io/x\n",
         "going pcs/llm: llm is being deleted; 0 pods are left\n"
         "  finalizers: example.com/hold, other.io/x\n"
         "  - whoever added the finalizer example.com/hold must remove it\n"
         "  - whoever added the finalizer other.io/x must remove it\n"},
        {"no finalizers", "set llm seen going 12:00:00\n",
         "going pcs/llm: llm is being deleted; 0 pods are left\n"},
        {"nobody has looked at it, and it goes", "set llm going 12:00:00\n",
         "going pcs/llm: llm is being deleted; 0 pods are left\n"},
    };
    CHECK_FINDINGS(cases);
}

TEST(a_set_that_no_operator_has_seen_says_so)
{
    static const struct finding_case cases[] = {
        {"no status", "set llm\n",
         "waiting pcs/llm: no operator has looked at the set yet\n"
         "  a running operator does so at once\n"
         "  - check that an operator is running\n"},
        {"no status at all", "set llm {status: null}\n",
         "waiting pcs/llm: no operator has looked at the set yet\n"
         "  a running operator does so at once\n"
         "  - check that an operator is running\n"},
        {"it has cliques: somebody has", "set llm\nclique llm-0-a replicas 0\n", ""},
    };
    CHECK_FINDINGS(cases);
}

/* "[Operation: Create, Code: X] message: POST default/llm-0-a-0 failed, cause: ..." is how the
 * operator puts it. */
#define QUOTA                                                                                    \
    "'[Operation: Sync, Code: E] message: create default/llm-0-a-0 failed, cause: pods \"llm\" " \
    "is "                                                                                        \
    "forbidden: exceeded quota: few, used: pods=3, limited: pods=3'"
#define RETRIED "  - it is retried automatically\n"

TEST(what_a_component_could_not_do_is_told_with_a_remedy)
{
    static const struct finding_case cases[] = {
        {"a quota", "set llm seen\nclique llm-0-a replicas 4 error ERR_CREATE_POD " QUOTA "\n",
         "failed pclq/llm-0-a: pclq/llm-0-a: pods \"llm\" is forbidden: exceeded quota: few, used: "
         "pods=3, limited: pods=3\n"
         "  [Operation: Sync, Code: E] message: create default/llm-0-a-0 failed\n"
         "  - use less of what the quota counts, or raise it: kubectl describe "
         "resourcequota\n" RETRIED},
        {"a webhook that does not answer",
         "set llm seen error E 'failed calling webhook \"w.io\": connection refused'\n",
         "failed pcs/llm: pcs/llm: failed calling webhook \"w.io\": connection refused\n"
         "  E\n"
         "  - restore the service behind that webhook, or delete its configuration: kubectl get "
         "validatingwebhookconfigurations,mutatingwebhookconfigurations\n" RETRIED},
        {"a webhook that refuses",
         "set llm seen error E 'admission webhook \"w.io\" denied the request: no'\n",
         "failed pcs/llm: pcs/llm: admission webhook \"w.io\" denied the request: no\n"
         "  E\n"
         "  - do what the webhook or policy asks for, or ask whoever maintains it\n" RETRIED},
        {"no right to do it",
         "set llm seen error E 'pods is forbidden: User \"op\" cannot create resource \"pods\"'\n",
         "failed pcs/llm: pcs/llm: pods is forbidden: User \"op\" cannot create resource \"pods\"\n"
         "  E\n"
         "  - give the operator that permission again: grove manifests prints its roles\n" RETRIED},
        {"no answer", "set llm seen error E 'no answer from the API server'\n",
         "failed pcs/llm: pcs/llm: no answer from the API server\n"
         "  E\n"
         "  - check that the API server is healthy\n" RETRIED},
        {"a name that is taken",
         "set llm seen error ERR_SYNC_PODCLIQUE 'PodClique llm-0-a cannot be made: the name "
         "belongs "
         "to PodCliqueSet other'\n",
         "failed pcs/llm: pcs/llm: PodClique llm-0-a cannot be made: the name belongs to "
         "PodCliqueSet other\n"
         "  ERR_SYNC_PODCLIQUE\n"
         "  - rename the set, or remove the other object\n" RETRIED},
        {"anything else", "set llm seen error E 'spec.x: must not be'\n",
         "failed pcs/llm: pcs/llm: spec.x: must not be\n"
         "  E\n"
         "  - correct what the message names\n" RETRIED},
        {"of a group", "set llm seen\ngroup llm-0-g error E no\n",
         "failed pcsg/llm-0-g: pcsg/llm-0-g: no\n"
         "  E\n"
         "  - correct what the message names\n" RETRIED},
        {"those of the set come first", "set llm seen error E one\nclique llm-0-a error F two\n",
         "failed pcs/llm: pcs/llm: one\n  E\n  - correct what the message names\n" RETRIED
         "failed pclq/llm-0-a: pclq/llm-0-a: two\n  F\n  - correct what the message "
         "names\n" RETRIED},
        {"the same of several is told once, whatever their names",
         "set llm seen\nclique llm-0-a error E 'pods \"a\" no'\nclique llm-0-b error E 'pods "
         "\"b\" no'\nclique llm-0-c error E 'pods \"c\" no'\n",
         "failed pclq/llm-0-a: pclq/llm-0-a: pods \"a\" no (and 2 more cliques for the same "
         "reason)\n  E\n  - correct what the message names\n" RETRIED},
        {"at most three of one object",
         "set llm seen error A one error B two error C three error D four\n",
         "failed pcs/llm: pcs/llm: one\n  A\n  - correct what the message names\n" RETRIED
         "failed pcs/llm: pcs/llm: two\n  B\n  - correct what the message names\n" RETRIED
         "failed pcs/llm: pcs/llm: three\n  C\n  - correct what the message names\n" RETRIED},
    };
    CHECK_FINDINGS(cases);
}

TEST(conditions_of_a_set_are_told_with_a_remedy)
{
    static const struct finding_case cases[] = {
        {"a level that the binding does not have",
         "set llm seen True TopologyLevelsUnavailable ClusterTopologyLevelsUnavailable "
         "'ClusterTopologyBinding t has no domain rack'\n",
         "waiting pcs/llm: ClusterTopologyBinding t has no domain rack\n"
         "  condition TopologyLevelsUnavailable: ClusterTopologyLevelsUnavailable\n"
         "  - add the level to the ClusterTopologyBinding, or remove the topologyConstraint; until "
         "then it is not enforced\n"},
        {"a binding that is not there",
         "set llm seen Unknown TopologyLevelsUnavailable ClusterTopologyNotFound "
         "'ClusterTopologyBinding t does not exist'\n",
         "waiting pcs/llm: ClusterTopologyBinding t does not exist\n"
         "  condition TopologyLevelsUnavailable: ClusterTopologyNotFound\n"
         "  - create it, or remove the topologyConstraint; until then it is not enforced\n"},
        {"no binding is named",
         "set llm seen Unknown TopologyLevelsUnavailable TopologyNameMissing "
         "'the set has topology constraints and names no ClusterTopologyBinding'\n",
         "waiting pcs/llm: the set has topology constraints and names no ClusterTopologyBinding\n"
         "  condition TopologyLevelsUnavailable: TopologyNameMissing\n"
         "  - set topologyName, or remove the topologyConstraint; until then it is not enforced\n"},
        {"no ComputeDomains",
         "set llm seen True ComputeDomainsUnavailable ComputeDomainKindMissing 'no such kind'\n",
         "waiting pcs/llm: no such kind\n"
         "  condition ComputeDomainsUnavailable: ComputeDomainKindMissing\n"
         "  - install NVIDIA's DRA driver, or set the annotation grove.io/mnnvl-group to none\n"},
        {"another operator's, of which we know nothing",
         "set llm seen True NetworkUnavailable CableCut 'a cable is cut'\n",
         "waiting pcs/llm: a cable is cut\n  condition NetworkUnavailable: CableCut\n"},
        {"without a message", "set llm seen True NetworkUnavailable CableCut ''\n",
         "waiting pcs/llm: condition NetworkUnavailable: CableCut\n"
         "  condition NetworkUnavailable: CableCut\n"},
    };
    CHECK_FINDINGS(cases);
}

#define IN_UPDATE "{status: {updatedReplicas: 1, updateProgress: {}}}\n"

TEST(updates_are_told_as_they_stand)
{
    static const struct finding_case cases[] = {
        {"it moves", "set llm seen replicas 3 True Progressing Updating ok " IN_UPDATE,
         "updating pcs/llm: 1 of 3 replicas have the new version\n"},
        {"the status says nothing else", "set llm seen replicas 3 " IN_UPDATE,
         "updating pcs/llm: 1 of 3 replicas have the new version\n"},
        {"it is paused", "set llm seen replicas 3 Unknown Progressing Paused 'paused' " IN_UPDATE,
         "paused pcs/llm: 1 of 3 replicas have the new version\n"
         "  - resume it: grove rollout resume pcs/llm\n"},
        {"it is stuck",
         "set llm seen replicas 3 False Progressing ProgressDeadlineExceeded "
         "'nothing has moved since 11:00' " IN_UPDATE,
         "stuck pcs/llm: the update makes no progress: nothing has moved since 11:00\n"
         "  - go back: grove rollout undo pcs/llm\n"
         "  - or apply a corrected manifest\n"},
        {"it is stuck and nobody says why",
         "set llm seen replicas 3 False Progressing ProgressDeadlineExceeded '' " IN_UPDATE,
         "stuck pcs/llm: the update makes no progress: 1 of 3 replicas have the new version\n"
         "  - go back: grove rollout undo pcs/llm\n"
         "  - or apply a corrected manifest\n"},
    };
    CHECK_FINDINGS(cases);
}

TEST(a_server_that_takes_no_writes_is_told_before_all_else)
{
    static const struct {
        enum picture_store store;
        const char *want;
    } cases[] = {
        {STORE_WRITES,
         "failed pcs/llm: pcs/llm: no\n  E\n  - correct what the message names\n" RETRIED},
        {STORE_FULL,
         "failed pcs/llm: the API server's store is full: it refuses writes that need more room, "
         "so what is shown here may not change\n"
         "  /readyz/storage of the server fails\n"
         "  - delete objects, or make room on the disk of its store; the answer to a refused "
         "write, "
         "and its log, say what is full\n"
         "  - it goes on by itself when there is room\n"
         "failed pcs/llm: pcs/llm: no\n  E\n  - correct what the message names\n" RETRIED},
        {STORE_READ_ONLY,
         "failed pcs/llm: the API server takes no writes: its store is read-only, so nothing "
         "changes, whatever else is shown here\n"
         "  /readyz/etcd of the server fails\n"
         "  - look at the disk of its store; its log says what the disk answered\n"
         "  - then restart the server: after a write has failed it tries no other\n"
         "failed pcs/llm: pcs/llm: no\n  E\n  - correct what the message names\n" RETRIED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_picture *t = tp_new("set llm seen error E no\n");
        t->picture.store = cases[i].store;
        CHECK_CSTR(tp_findings(t, "llm"), cases[i].want);
        CHECK_INT(findings_of_server(&t->picture).len > 0, cases[i].store != STORE_WRITES);
        tp_free(t);
    }
}

#define PREEMPTED "'gang default/big of priority 100 needs the room'"

TEST(what_the_scheduler_says_of_gangs_is_told_with_a_remedy)
{
    static const struct finding_case cases[] = {
        {"it does not fit, and only words are there",
         "set llm seen\ngang llm-0 True Unschedulable DoesNotFit 'no node is large enough'\n",
         "waiting podgang/llm-0: gang llm-0 does not fit: no node is large enough\n"
         "  no node is large enough\n"},
        {"it does not fit, and the facts are there",
         "set llm seen\ngang llm-0 True Unschedulable DoesNotFit 'a long story' {status: "
         "{unschedulable: {cause: TooFew, name: llm-0-a, pods: 3, candidates: [{room: 2, nodes: 4, "
         "refusing: 0, resource: cpu}]}}}\n",
         "waiting podgang/llm-0: gang llm-0 does not fit: llm-0-a: 2 of 3 pods fit; the nodes lack "
         "cpu for more\n"
         "  a long story\n"},
        {"several that wait for the same",
         "set llm seen\n"
         "gangs llm 3 True Unschedulable DoesNotFit no {status: {unschedulable: {cause: TooFew, "
         "name: the gang, pods: 3, candidates: [{room: 0, nodes: 4, resource: cpu}]}}}\n",
         "waiting podgang/llm-0: gang llm-0 does not fit: 0 of 3 pods fit; the nodes lack cpu for "
         "more (and 2 more gangs for the same reason)\n"
         "  no\n"},
        {"it is preempted",
         "set llm seen\ngang llm-0 True DisruptionTarget PreemptionByScheduler " PREEMPTED "\n",
         "degraded podgang/llm-0: gang llm-0 makes room for another: gang default/big of priority "
         "100 needs the room\n"
         "  - add nodes, or give it a higher priority class\n"},
        {"it gives pods above its minimum",
         "set llm seen\ngang llm-0 True DisruptionTarget TrimmedByScheduler "
         "'2 pods above its minimum must go: gang default/big'\n",
         "degraded podgang/llm-0: gang llm-0 makes room for another: 2 pods above its minimum must "
         "go: gang default/big\n"
         "  its minimum stays; the pods come back when there is room\n"},
        {"pods that are not its own",
         "set llm seen\ngang llm-0 True InvalidPodReference ReferencesDisagree '1 is of llm-1'\n",
         "degraded podgang/llm-0: gang llm-0 names pods that are not its own: 1 is of llm-1\n"
         "  condition InvalidPodReference: ReferencesDisagree\n"
         "  - correct its podReferences if it was written by hand, or the labels grove.io/podgang "
         "and grove.io/podclique of the pods\n"},
        {"it is over several domains",
         "set llm seen\ngang llm-0 True TopologyViolated OverSeveralDomains '2 in r1, 1 in r2'\n",
         "degraded podgang/llm-0: gang llm-0 is spread over several domains, and must be in one: 2 "
         "in r1, 1 in r2\n"
         "  condition TopologyViolated: OverSeveralDomains\n"
         "  - put the labels of the nodes back, or delete the pods outside the domain\n"},
        {"what it loses comes before what waits",
         "set llm seen\ngang llm-0 True Unschedulable DoesNotFit no\n"
         "gang llm-1 True DisruptionTarget PreemptionByScheduler " PREEMPTED "\n",
         "degraded podgang/llm-1: gang llm-1 makes room for another: gang default/big of priority "
         "100 needs the room\n"
         "  - add nodes, or give it a higher priority class\n"
         "waiting podgang/llm-0: gang llm-0 does not fit: no\n"
         "  no\n"},
    };
    CHECK_FINDINGS(cases);
}

/* It had its minimum once. */
#define BREACH "True MinAvailableBreached InsufficientReadyPods '0 of 1 pods are ready'"
#define HAD_PODS "True EverScheduled MinimumWasScheduled ok "

TEST(a_minimum_that_was_lost_is_told_with_its_deadline)
{
    static const struct finding_case cases[] = {
        {"a clique, by the default delay of 4 hours",
         "set llm seen\nclique llm-0-a " HAD_PODS BREACH "\n",
         "degraded pclq/llm-0-a: pclq/llm-0-a is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is recreated in 3h unless it recovers\n"},
        {"a group",
         "set llm seen\ngroup llm-0-g True EverHealthy MinimumWasAvailable ok " BREACH "\n",
         "degraded pcsg/llm-0-g: pcsg/llm-0-g is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is recreated in 3h unless it recovers\n"},
        {"by the set's own delay, in minutes and seconds",
         "set llm seen {spec: {template: {terminationDelay: 1h1m5s}}}\n"
         "clique llm-0-a " HAD_PODS BREACH "\n",
         "degraded pclq/llm-0-a: pclq/llm-0-a is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is recreated in 1m5s unless it recovers\n"},
        {"it is due",
         "set llm seen {spec: {template: {terminationDelay: 30m}}}\n"
         "clique llm-0-a " HAD_PODS BREACH "\n",
         "degraded pclq/llm-0-a: pclq/llm-0-a is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is about to be recreated\n"},
        {"its gang has no room: then that is the cause, and comes first",
         "set llm seen\nclique llm-0-a " HAD_PODS BREACH "\n"
         "gang llm-0 True Unschedulable DoesNotFit no\n",
         "waiting podgang/llm-0: gang llm-0 does not fit: no\n"
         "  no\n"
         "waiting pclq/llm-0-a: pclq/llm-0-a is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is recreated in 3h unless it recovers\n"},
        {"another replica's gang has none: that is not the cause",
         "set llm seen\nclique llm-0-a " HAD_PODS BREACH "\n"
         "gang llm-1 True Unschedulable DoesNotFit no\n",
         "degraded pclq/llm-0-a: pclq/llm-0-a is below its minimum: 0 of 1 pods are ready\n"
         "  its gang is recreated in 3h unless it recovers\n"
         "waiting podgang/llm-1: gang llm-1 does not fit: no\n"
         "  no\n"},
    };
    CHECK_FINDINGS(cases);
}

#define GATE_RULE                                                                              \
    "  pods are released to the scheduler when their gang is complete, and those of a scaled " \
    "gang when the base gang is placed\n"

TEST(gated_pods_say_what_they_wait_for)
{
    static const struct finding_case cases[] = {
        {"there is no gang", "set llm seen\nclique llm-0-a replicas 2\npods llm-0-a 2 gated\n",
         "waiting pclq/llm-0-a: 2 pods of llm-0-a are gated: the gang does not exist "
         "yet\n" GATE_RULE},
        {"one pod", "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: the gang does not exist "
         "yet\n" GATE_RULE},
        {"the gang is not complete",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n"
         "gang llm-0 False Initialized PodGangPodsCreationPending '1 of 2'\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: not all pods of the gang are created "
         "yet\n" GATE_RULE},
        {"it is",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n"
         "gang llm-0 True Initialized PodGangPodsCreated ok\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: the operator has not removed the gate "
         "yet\n" GATE_RULE},
        {"the base gang is not placed",
         "set llm seen\nclique llm-0-g-1-a replicas 1 gang llm-0-g-0\n"
         "pod llm-0-g-1-a-0 gated gang llm-0-g-0 base llm-0\ngang llm-0\ngang llm-0-g-0\n",
         "waiting pclq/llm-0-g-1-a: 1 pod of llm-0-g-1-a is gated: base gang llm-0 is not on "
         "nodes\n" GATE_RULE "  - see why that one waits: grove explain podgang/llm-0\n"},
        {"several cliques, one reason",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n"
         "clique llm-0-b replicas 1\npod llm-0-b-0 gated\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: the gang does not exist yet (and 1 more "
         "clique for the same reason)\n" GATE_RULE},
        {"the pod before it is still stopping",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n"
         "pod llm-0-a-00 on n1 going 12:00:20 {metadata: {labels: {grove.io/podclique-pod-index: "
         "'0'}}}\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: pod llm-0-a-0 waits until pod "
         "llm-0-a-00 "
         "is gone, whose grace period ends in 20s\n"
         "  no two pods of one index run at the same time, unless the clique has "
         "podReplacementPolicy: TerminatingOrFailed\n"
         "  - if its containers have stopped and its node does not report it: kubectl delete pod "
         "llm-0-a-00 --force\n"},
        {"and should have stopped",
         "set llm seen\nclique llm-0-a replicas 1\npod llm-0-a-0 gated\n"
         "pod llm-0-a-00 on n1 going 11:59:55 {metadata: {labels: {grove.io/podclique-pod-index: "
         "'0'}}}\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: pod llm-0-a-0 waits until pod "
         "llm-0-a-00 "
         "is gone, whose grace period is over\n"
         "  no two pods of one index run at the same time, unless the clique has "
         "podReplacementPolicy: TerminatingOrFailed\n"
         "  - if its containers have stopped and its node does not report it: kubectl delete pod "
         "llm-0-a-00 --force\n"},
        {"the clique does not wait for it",
         "set llm seen\nclique llm-0-a replicas 1 {spec: {podReplacementPolicy: "
         "TerminatingOrFailed}}\npod llm-0-a-0 gated\n"
         "pod llm-0-a-00 on n1 going 12:00:20 {metadata: {labels: {grove.io/podclique-pod-index: "
         "'0'}}}\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a is gated: the gang does not exist "
         "yet\n" GATE_RULE},
    };
    CHECK_FINDINGS(cases);
}
