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
        {"its queue has no more to give",
         "set llm seen\ngang llm-0 True Unschedulable QueueLimit 'queue q would exceed its limit' "
         "{status: {unschedulable: {cause: Itself}}}\n",
         "waiting podgang/llm-0: gang llm-0 is not placed: queue q would exceed its limit\n"
         "  queue q would exceed its limit\n"
         "  - raise the limit of the queue, or wait until other gangs of it finish\n"},
        {"its queue is unknown",
         "set llm seen\ngang llm-0 True Unschedulable UnknownQueue 'there is no queue q' "
         "{status: {unschedulable: {cause: Itself}}}\n",
         "waiting podgang/llm-0: gang llm-0 is not placed: there is no queue q\n"
         "  there is no queue q\n"
         "  - correct the label kai.scheduler/queue, or the queues in the ConfigMap "
         "grove-queues\n"},
        {"it leaves the room to a base gang",
         "set llm seen\ngang llm-0-g-0 True Unschedulable LeavesRoom 'base gang llm-1 waits' "
         "{status: {unschedulable: {cause: Itself}}}\n",
         "waiting podgang/llm-0-g-0: gang llm-0-g-0 is not placed: base gang llm-1 waits\n"
         "  base gang llm-1 waits\n"
         "  - wait: it takes the room when what is free has not grown for a minute; or add "
         "nodes\n"},
        {"it has too few pods of its own",
         "set llm seen\ngang llm-0 True Unschedulable InvalidPodReference '1 pod is of llm-1' "
         "{status: {unschedulable: {cause: Itself}}}\n",
         "waiting podgang/llm-0: gang llm-0 is not placed: 1 pod is of llm-1\n"
         "  1 pod is of llm-1\n"
         "  - correct its podReferences if it was written by hand, or the labels grove.io/podgang "
         "and grove.io/podclique of the pods\n"},
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

/* The beginning that these have in common. */
#define CLIQUE(n) "set llm seen\nclique llm-0-a replicas " #n "\n"

TEST(pods_that_start_say_what_they_wait_for)
{
    static const struct finding_case cases[] = {
        {"on its node", CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending\n",
         "starting pclq/llm-0-a: 1 pod of llm-0-a is starting on its node\n"},
        {"on their nodes", CLIQUE(2) "pods llm-0-a 2 on n1 phase Pending\n",
         "starting pclq/llm-0-a: 2 pods of llm-0-a are starting on their nodes\n"},
        {"containers are created",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending waits ContainerCreating ''\n",
         "starting pclq/llm-0-a: 1 pod of llm-0-a is starting on its node\n"},
        {"after another clique",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending init-waits PodInitializing '' "
                   "after llm-0-b:2\npod llm-0-b-0 on n1 ready\npod llm-0-b-1 on n1\n",
         "starting pclq/llm-0-a: 1 pod of llm-0-a starts after llm-0-b (1 of 2 ready)\n"
         "  startup order: the init container waits until those cliques are ready\n"},
        {"after two, of which one is ready",
         CLIQUE(2) "pods llm-0-a 2 on n1 phase Pending {spec: {initContainers: [{name: "
                   "grove-initc, args: ['--podcliques=llm-0-b:1', '--podcliques=llm-0-c:1', "
                   "'--podcliques=nonsense']}]}}\npod llm-0-b-0 on n1 ready\n",
         "starting pclq/llm-0-a: 2 pods of llm-0-a start after llm-0-c (0 of 1 ready)\n"
         "  startup order: the init container waits until those cliques are ready\n"},
        {"not all exist", CLIQUE(3) "pods llm-0-a 2 on n1 ready\n",
         "starting pclq/llm-0-a: 2 of 3 pods of llm-0-a exist\n"},
        {"none exists", CLIQUE(3), "starting pclq/llm-0-a: 0 of 3 pods of llm-0-a exist\n"},
        {"what goes does not exist any more",
         CLIQUE(1) "pod llm-0-a-0 on n1 ready going 12:00:10\n",
         "starting pclq/llm-0-a: 0 of 1 pods of llm-0-a exist\n"},
        {"they cannot be created: that is told instead",
         "set llm seen\nclique llm-0-a replicas 3 error E no\n",
         "failed pclq/llm-0-a: pclq/llm-0-a: no\n  E\n  - correct what the message "
         "names\n" RETRIED},
    };
    CHECK_FINDINGS(cases);
}

#define PULL                                                                                    \
    "  - correct the image's name in the set's template, or give its pods an imagePullSecret; " \
    "then "                                                                                     \
    "it is tried again\n"

TEST(pods_that_fail_are_told_with_the_containers_words)
{
    static const struct finding_case cases[] = {
        {"an image that cannot be pulled",
         CLIQUE(
             1) "pod llm-0-a-0 on n1 phase Pending waits ImagePullBackOff 'Back-off pulling x'\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is ImagePullBackOff: "
         "container c cannot pull its image\n"
         "  Back-off pulling x\n" PULL},
        {"the first try", CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending waits ErrImagePull denied\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is ErrImagePull: "
         "container c cannot pull its image\n"
         "  denied\n" PULL},
        {"a name that is none",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending waits InvalidImageName 'x::1'\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is InvalidImageName: "
         "the image of container c has no valid name\n"
         "  x::1\n"
         "  - correct the image's name in the set's template\n"},
        {"a secret is missing",
         CLIQUE(
             1) "pod llm-0-a-0 on n1 phase Pending waits CreateContainerConfigError 'secret \"t\" "
                "not found'\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is CreateContainerConfigError: "
         "container c lacks a ConfigMap, a Secret or a key\n"
         "  secret \"t\" not found\n"
         "  - create the ConfigMap or Secret that its container names\n"},
        {"it crashes",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Running unready ContainersNotReady waits "
                   "CrashLoopBackOff 'back-off 5m0s'\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is CrashLoopBackOff: "
         "container c ends again and again\n"
         "  back-off 5m0s\n"
         "  - look at its log: kubectl logs llm-0-a-0 -c c --previous\n"},
        {"several: one speaks for all, no message",
         CLIQUE(3) "pods llm-0-a 3 on n1 phase Running waits CrashLoopBackOff ''\n",
         "degraded pclq/llm-0-a: 3 pods of llm-0-a fail: llm-0-a-2 is CrashLoopBackOff: "
         "container c ends again and again\n"
         "  - look at its log: kubectl logs llm-0-a-2 -c c --previous\n"},
        {"an init container fails",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Pending init-waits ErrImagePull denied waits "
                   "PodInitializing ''\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is ErrImagePull: "
         "container i cannot pull its image\n"
         "  denied\n" PULL},
        {"it has failed",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Failed {status: {message: 'The node was low on "
                   "memory'}}\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is Failed\n"
         "  The node was low on memory\n"
         "  - see what ended it: kubectl describe pod llm-0-a-0\n"},
        {"it has ended, which is no failure of a batch job but is one here",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Succeeded\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a has ended: llm-0-a-0 is Succeeded\n"
         "  - see why its containers ended: kubectl logs llm-0-a-0\n"},
        {"they have ended", CLIQUE(2) "pods llm-0-a 2 on n1 phase Succeeded\n",
         "degraded pclq/llm-0-a: 2 pods of llm-0-a have ended: llm-0-a-0 is Succeeded\n"
         "  - see why its containers ended: kubectl logs llm-0-a-0\n"},
        {"one has ended and one crashes, which is worse",
         CLIQUE(2) "pod llm-0-a-0 on n1 phase Running waits CrashLoopBackOff ''\n"
                   "pod llm-0-a-1 on n1 phase Succeeded\n",
         "degraded pclq/llm-0-a: 2 pods of llm-0-a fail: llm-0-a-0 is CrashLoopBackOff: "
         "container c ends again and again\n"
         "  - look at its log: kubectl logs llm-0-a-0 -c c --previous\n"},
        {"its last run says how it ended",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Running {status: {containerStatuses: [{name: c, "
                   "restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 137, "
                   "reason: OOMKilled}}}]}}\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a is running but not ready: llm-0-a-0 on n1 "
         "(container c was killed: it used more memory than its node could give (it has no limit "
         "of its own) (started again 2 times))\n"
         "  - raise resources.limits.memory in the set's template, or make it use less\n"},
        {"its node took it away",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Failed {status: {reason: Evicted, message: 'The node "
                   "was low on memory'}}\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a fails: llm-0-a-0 is Failed: its node n1 took it "
         "away for want of a resource\n"
         "  The node was low on memory\n"
         "  - ask for what it really uses (requests and limits of memory and ephemeral-storage), "
         "or free the node; a new pod takes its place\n"},
        {"it runs and is not ready",
         CLIQUE(1) "pod llm-0-a-0 on n1 phase Running unready ContainersNotReady\n",
         "degraded pclq/llm-0-a: 1 pod of llm-0-a is running but not ready: llm-0-a-0 on n1 "
         "(ContainersNotReady)\n"
         "  - see what its readiness probe says: kubectl describe pod llm-0-a-0\n"},
        {"they run and nobody says why not", CLIQUE(2) "pods llm-0-a 2 on n1 phase Running\n",
         "degraded pclq/llm-0-a: 2 pods of llm-0-a are running but not ready: llm-0-a-1 on n1\n"
         "  - see what its readiness probe says: kubectl describe pod llm-0-a-1\n"},
    };
    CHECK_FINDINGS(cases);
}

#define SILENT "on n1 phase Running at 11:58:00 unready NodeNotReady "
#define SILENCE                                                                                  \
    "  a pod stays on a silent node as long as it tolerates the taint "                          \
    "node.kubernetes.io/unreachable, 5 minutes unless its template says otherwise: if the node " \
    "is "                                                                                        \
    "only cut off, the pod may still serve\n"
#define BRING_BACK(node, pod)                                   \
    "  - bring the node back: kubectl describe node " node "\n" \
    "  - or, if it is lost for good, do not wait: kubectl delete pod " pod " --force\n"

TEST(silent_nodes_are_told_with_what_follows)
{
    static const struct finding_case cases[] = {
        {"its pod is replaced later", CLIQUE(1) "pod llm-0-a-0 " SILENT "tolerates 300\n",
         "degraded pclq/llm-0-a: node n1 is silent: 1 pod of llm-0-a is not ready, replaced in 3m "
         "unless the node comes back\n" SILENCE BRING_BACK("n1", "llm-0-a-0")},
        {"at once", CLIQUE(1) "pod llm-0-a-0 " SILENT "tolerates 60\n",
         "degraded pclq/llm-0-a: node n1 is silent: 1 pod of llm-0-a is not ready and about to be "
         "replaced\n" SILENCE BRING_BACK("n1", "llm-0-a-0")},
        {"never", CLIQUE(1) "pod llm-0-a-0 " SILENT "{spec: {tolerations: [{operator: Exists}]}}\n",
         "degraded pclq/llm-0-a: node n1 is silent: 1 pod of llm-0-a is not ready, not replaced "
         "while the node is silent, because its tolerations have no end\n" SILENCE BRING_BACK(
             "n1", "llm-0-a-0")},
        {"two pods", CLIQUE(2) "pods llm-0-a 2 " SILENT "tolerates 300\n",
         "degraded pclq/llm-0-a: node n1 is silent: 2 pods of llm-0-a are not ready, replaced in "
         "3m unless the node comes back\n" SILENCE BRING_BACK("n1", "llm-0-a-1")},
        {"two nodes",
         CLIQUE(2) "pod llm-0-a-0 " SILENT "tolerates 300\npod llm-0-a-1 " SILENT
                   "on n2 tolerates 300\n",
         "degraded pclq/llm-0-a: nodes n1, n2 are silent: 2 pods of llm-0-a are not ready, "
         "replaced "
         "in 3m unless the nodes come back\n" SILENCE BRING_BACK("n2", "llm-0-a-1")},
        {"a taint that is another's does not count",
         CLIQUE(1) "pod llm-0-a-0 " SILENT "{spec: {tolerations: [{key: example.com/x, operator: "
                   "Exists}]}}\n",
         "degraded pclq/llm-0-a: node n1 is silent: 1 pod of llm-0-a is not ready and about to be "
         "replaced\n" SILENCE BRING_BACK("n1", "llm-0-a-0")},
    };
    CHECK_FINDINGS(cases);
}

TEST(pods_without_a_node_say_what_the_scheduler_says)
{
    static const struct finding_case cases[] = {
        {"beyond the gang's minimum",
         CLIQUE(1) "gang llm-0\npod llm-0-a-0 phase Pending False PodScheduled Unschedulable 'no "
                   "room above the minimum'\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a waits for a node\n"
         "  no room above the minimum\n"},
        {"nobody says anything", CLIQUE(2) "gang llm-0\npods llm-0-a 2 phase Pending\n",
         "waiting pclq/llm-0-a: 2 pods of llm-0-a wait for a node\n"
         "  no scheduler has said anything about pod llm-0-a-1\n"
         "  - check that a scheduler is running\n"},
        {"what was said was of the gate, which is gone",
         CLIQUE(1) "pod llm-0-a-0 phase Pending False PodScheduled SchedulingGated gated\n",
         "waiting pclq/llm-0-a: 1 pod of llm-0-a waits for a node\n"
         "  no scheduler has said anything about pod llm-0-a-0\n"
         "  - check that a scheduler is running\n"},
        {"its gang does not fit: that says it",
         CLIQUE(1) "gang llm-0 True Unschedulable DoesNotFit no\npod llm-0-a-0 phase Pending\n",
         "waiting podgang/llm-0: gang llm-0 does not fit: no\n  no\n"},
    };
    CHECK_FINDINGS(cases);
}

#define KEPT "  the clique's PodDisruptionBudget protects its minAvailable\n"
#define ONE_MORE "  - scale the clique to one more than its minimum, or lower its minAvailable\n"
#define DELETE_IT(pod)                                                                            \
    "  - or delete it anyway; the gang is unavailable until the pod is replaced: kubectl delete " \
    "pod " pod "\n"

TEST(a_drain_that_cannot_go_on_is_told)
{
    static const struct finding_case cases[] = {
        {"the clique is at its minimum",
         "set llm seen\nclique llm-0-a replicas 1 min 1\npod llm-0-a-0 on n1 ready\n"
         "node n1 cordoned\n",
         "refused pclq/llm-0-a: 1 pod of llm-0-a cannot be evicted from n1, which is cordoned: 1 "
         "of "
         "1 are needed\n" KEPT ONE_MORE DELETE_IT("llm-0-a-0")},
        {"it has one more",
         "set llm seen\nclique llm-0-a replicas 2 min 1\n"
         "pods llm-0-a 2 on n1 ready\nnode n1 cordoned\n",
         ""},
        {"the node is not cordoned",
         "set llm seen\nclique llm-0-a replicas 1 min 1\npod llm-0-a-0 on n1 ready\nnode n1\n", ""},
        {"the pods are elsewhere",
         "set llm seen\nclique llm-0-a replicas 1 min 1\npod llm-0-a-0 on n1 ready\n"
         "node n1\nnode n2 cordoned\n",
         ""},
        {"several cliques",
         "set llm seen\nclique llm-0-a replicas 2 min 2\npods llm-0-a 2 on n1 ready\n"
         "clique llm-0-b replicas 1 min 1\npod llm-0-b-0 on n1 ready\nnode n1 cordoned\n",
         "refused pclq/llm-0-a: 2 pods of llm-0-a cannot be evicted from n1, which is cordoned: 2 "
         "of 2 are needed (and 1 more clique for the same reason)\n" KEPT ONE_MORE DELETE_IT(
             "llm-0-a-1")},
    };
    CHECK_FINDINGS(cases);
}

TEST(what_should_be_gone_is_told)
{
    static const struct finding_case cases[] = {
        {"a pod, on a node that does not say that it has stopped",
         CLIQUE(1) "pod llm-0-a-0 on n1 ready\npod llm-0-a-9 on n2 going 11:59:00\n",
         "lingering pclq/llm-0-a: 1 pod of llm-0-a should have been gone by 2026-01-01T11:59:00Z: "
         "llm-0-a-9 on n2\n"
         "  its node has not reported that its containers have stopped; until then it keeps its "
         "room there\n"
         "  - bring the node back: kubectl describe node n2\n"
         "  - or, if it is lost for good: kubectl delete pod llm-0-a-9 --force\n"},
        {"it has ten seconds more",
         CLIQUE(1) "pod llm-0-a-0 on n1 ready\npod llm-0-a-9 on n2 going 11:59:51\n", ""},
        {"finalizers",
         CLIQUE(1) "pod llm-0-a-0 on n1 ready\n"
                   "pod llm-0-a-8 on n2 going 11:59:00 held example.com/hold\n"
                   "pod llm-0-a-9 on n2 going 11:58:00 held example.com/hold\n",
         "lingering pclq/llm-0-a: 2 pods of llm-0-a should have been gone by 2026-01-01T11:58:00Z: "
         "llm-0-a-9 on n2\n"
         "  finalizers: example.com/hold\n"
         "  - whoever added its finalizers must remove them\n"},
        {"it never had a node",
         CLIQUE(1) "pod llm-0-a-0 on n1 ready\npod llm-0-a-9 going 11:59:00\n",
         "lingering pclq/llm-0-a: 1 pod of llm-0-a should have been gone by 2026-01-01T11:59:00Z: "
         "llm-0-a-9\n"
         "  - delete it: kubectl delete pod llm-0-a-9 --force\n"},
    };
    CHECK_FINDINGS(cases);
}

#define REFUSED_EVENT(name, of) \
    "event " name               \
    " {reason: DisruptionRefused, message: '2 of 2 are needed', involvedObject: {name: " of "}}\n"
#define BUDGET "  the availability budget; it is retried when more pods are ready\n"

TEST(disruptions_that_were_refused_are_told)
{
    static const struct finding_case cases[] = {
        {"of the set", "set llm seen\n" REFUSED_EVENT("e", "llm"),
         "refused pcs/llm: 2 of 2 are needed\n" BUDGET},
        {"of a clique of it", "set llm seen\nclique llm-0-a\n" REFUSED_EVENT("e", "llm-0-a"),
         "refused pclq/llm-0-a: 2 of 2 are needed\n" BUDGET},
        {"of a pod of it",
         "set llm seen\npod llm-0-a-0 on n1 ready\n" REFUSED_EVENT("e", "llm-0-a-0"),
         "refused pod/llm-0-a-0: 2 of 2 are needed\n" BUDGET},
        {"of others",
         "set llm seen\nset x seen\nclique x-0-a\n" REFUSED_EVENT("e", "x")
             REFUSED_EVENT("f", "x-0-a"),
         ""},
        {"of what is gone", "set llm seen\n" REFUSED_EVENT("e", "llm-7-a"), ""},
    };
    CHECK_FINDINGS(cases);
}

TEST(the_worst_is_told_first)
{
    struct test_picture *t =
        tp_new("set llm seen going 12:00:00 held grove.io/podcliqueset.grove.io error E no False "
               "Progressing ProgressDeadlineExceeded no {status: {updateProgress: {}}}\n"
               "gang llm-0 True Unschedulable DoesNotFit no\n"
               "gang llm-1 True DisruptionTarget PreemptionByScheduler x\n"
               "clique llm-0-a replicas 1 min 1\npod llm-0-a-0 on n1 ready\nnode n1 cordoned\n"
               "pod llm-0-a-9 on n2 going 11:00:00\n"
               "clique llm-0-b replicas 1\nclique llm-0-c error F no\n"
               "clique llm-0-d replicas 3\npod llm-0-d-0 on n1 phase Running\n"
               "pod llm-0-d-1 on n1 phase Running waits CrashLoopBackOff ''\npod llm-0-d-2 on n1 "
               "phase Running unready NodeNotReady\n" REFUSED_EVENT("e", "llm"));
    static const char *const want[] = {
        "going pcs/llm", "failed pcs/llm", "failed pclq/llm-0-c", "stuck pcs/llm",
        /* Degraded: what causes others first. */
        "degraded pclq/llm-0-d", "degraded podgang/llm-1", "degraded pclq/llm-0-d",
        "degraded pclq/llm-0-d", "waiting podgang/llm-0", "starting pclq/llm-0-b",
        "refused pcs/llm", "refused pclq/llm-0-a", "lingering pclq/llm-0-a"};
    str rest = tp_findings(t, "llm");
    size_t n = 0;
    while (rest.len > 0) {
        str line = str_cut(&rest, '\n');
        if (str_starts(line, STR("  ")))
            continue;
        if (CHECK(n < ARRAY_LEN(want)))
            CHECK_CSTR(str_sub(line, 0, strlen(want[n])), want[n]);
        n++;
    }
    CHECK_INT(n, ARRAY_LEN(want));
    tp_free(t);
}

TEST(the_state_of_a_pod_is_one_word)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"pod x-0-a-0", "Pending"},
        {"pod x-0-a-0 phase Pending", "Pending"},
        {"pod x-0-a-0 gated", "Gated"},
        {"pod x-0-a-0 on n1", "Starting"},
        {"pod x-0-a-0 on n1 phase Pending waits ContainerCreating ''", "Starting"},
        {"pod x-0-a-0 on n1 phase Pending init-waits PodInitializing ''", "Starting"},
        {"pod x-0-a-0 on n1 phase Running", "NotReady"},
        {"pod x-0-a-0 on n1 phase Running ready", "Ready"},
        {"pod x-0-a-0 on n1 phase Running ready waits CrashLoopBackOff ''", "CrashLoopBackOff"},
        {"pod x-0-a-0 on n1 phase Failed waits CrashLoopBackOff ''", "Failed"},
        {"pod x-0-a-0 on n1 phase Succeeded", "Succeeded"},
        {"pod x-0-a-0 on n1 phase Failed going 12:00:00", "Terminating"},
        {"pod x-0-a-0 gated going 12:00:00", "Terminating"},
        {"pod x-0-a-0 {status: null}", "Pending"},
        {"pod x-0-a-0 {spec: null, status: null}", "Pending"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct obj *pod = tp_obj(cases[i].line);
        if (!CHECK_CSTR(pod_state(pod), cases[i].want))
            test_note("case: %s", cases[i].line);
        obj_unref(pod);
    }
}

TEST(pods_of_a_set_are_counted)
{
    struct test_picture *t =
        tp_new("set llm\nclique llm-0-a replicas 3\nclique llm-0-b replicas 2\n"
               "clique x-0-a replicas 9\npods llm-0-a 2 on n1 ready\n"
               "pod llm-0-a-2 on n1\npod llm-0-b-0 gated\n"
               "pod llm-0-b-1 on n1 ready going 12:00:00\npods x-0-a 9 ready\n");
    struct pod_count n = count_pods(&t->picture, STR("llm"));
    CHECK_INT(n.wanted, 5);
    CHECK_INT(n.exist, 4);
    CHECK_INT(n.gated, 1);
    CHECK_INT(n.bound, 3);
    CHECK_INT(n.ready, 2);
    tp_free(t);
}

TEST(a_child_is_called_as_in_the_template)
{
    static const struct {
        const char *line, *want, *reference;
    } cases[] = {
        {"clique llm-0-a", "a", "pclq/llm-0-a"},
        {"clique llm-12-a-b", "a-b", "pclq/llm-12-a-b"},
        {"group llm-0-g", "g", "pcsg/llm-0-g"},
        {"clique llm-0-old", "old", "pclq/llm-0-old"}, /* the template has it no more */
        {"clique strange", "strange", "pclq/strange"},
    };
    struct obj *pcs = tp_obj("set llm {spec: {template: {cliques: [{name: a}, {name: a-b}], "
                             "podCliqueScalingGroups: [{name: g}]}}}");
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct obj *o = tp_obj(cases[i].line);
        CHECK_CSTR(template_of_child(o, pcs), cases[i].want);
        CHECK_CSTR(findings_reference(&a, o), cases[i].reference);
        obj_unref(o);
    }
    CHECK_CSTR(findings_reference(&a, pcs), "pcs/llm");
    obj_unref(pcs);
    arena_done(&a);
}

TEST(numbers_out_of_range_are_counted_within_it)
{
    struct test_picture *t = tp_new("set llm\nclique llm-0-a replicas 9223372036854775807\n"
                                    "clique llm-0-b replicas 9223372036854775807\n"
                                    "clique llm-0-c replicas -9223372036854775808\n");
    CHECK_INT(count_pods(&t->picture, STR("llm")).wanted, (int64_t)INT32_MAX * 2 + INT32_MIN);
    CHECK_CSTR(tp_findings(t, "llm"),
               "starting pclq/llm-0-a: 0 of 2147483647 pods of llm-0-a exist\n"
               "starting pclq/llm-0-b: 0 of 2147483647 pods of llm-0-b exist\n");
    tp_free(t);
}

TEST(findings_have_an_end)
{
    struct test_picture *t = tp_new("set llm error E no\ncliques llm-0 300 replicas 1\n");
    struct findings f;
    findings_of_set(&t->picture, tp_must(t, PICTURE_SETS, "llm"), &t->arena, &f);
    CHECK_INT(f.items.len, 200);
    CHECK_INT(f.items.p[0].state, FINDING_FAILED);
    findings_done(&f);
    tp_free(t);
}
