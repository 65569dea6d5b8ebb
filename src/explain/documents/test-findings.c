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
