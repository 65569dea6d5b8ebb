/* Why pods on nodes do not run: each reason that a kubelet writes, by what people must read. */
#include "base/test.h"
#include "explain/documents/findings.h"
#include "explain/documents/pod_trouble.h"
#include "grove/test-world.h"

static const struct obj *load_pod(struct test_world *t, const char *status)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, "
             "initContainers: [{name: init, image: 'init:1'}], containers: [{name: main, image: "
             "'reg.example/x:1', resources: {limits: {memory: 64Mi}}}, {name: side, image: "
             "'side:1'}]}, status: %s}",
             status);
    return tw_must(t, &kind_pod, "p");
}

#define MAIN(state) \
    "{phase: Pending, containerStatuses: [{name: main, restartCount: 0, " state "}]}"
#define WAITS(reason, message) \
    MAIN("state: {waiting: {reason: " reason ", message: '" message "'}}")
#define LOOPS(last)                                                                           \
    "{phase: Running, containerStatuses: [{name: side, ready: true, state: {running: {}}}, {" \
    "name: main, ready: false, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, " \
    "message: 'back-off 5m0s restarting failed container'}}, lastState: {terminated: {" last  \
    "}}}]}"
#define ENDED(state) \
    "{phase: Failed, containerStatuses: [{name: main, state: {terminated: {" state "}}}]}"
#define POD_SAYS(reason) "{phase: Failed, reason: " reason ", message: 'as the kubelet says'}"

static const struct {
    const char *status, *reason, *what, *said, *remedy; /* said, remedy: part of it */
} cases[] = {
    {WAITS("ErrImagePull", "not found"), "ErrImagePull",
     "container main cannot pull its image reg.example/x:1", "not found", "imagePullSecret"},
    {WAITS("ImagePullBackOff", "Back-off pulling image"), "ImagePullBackOff",
     "container main cannot pull its image reg.example/x:1", "Back-off", "correct the image"},
    {WAITS("InvalidImageName", "bad"), "InvalidImageName",
     "the image of container main has no valid name: reg.example/x:1", "bad", "correct the image"},
    {WAITS("ErrImageNeverPull", "x"), "ErrImageNeverPull",
     "the image reg.example/x:1 of container main is not on node n1, and imagePullPolicy is Never",
     "x", "load the image"},
    {WAITS("RegistryUnavailable", "x"), "RegistryUnavailable",
     "the registry of image reg.example/x:1 does not answer", "x", "reached from n1"},
    {WAITS("ImageInspectError", "x"), "ImageInspectError",
     "the image reg.example/x:1 on node n1 cannot be read", "x", "remove that image"},
    {WAITS("CreateContainerConfigError", "secret \"s\" not found"), "CreateContainerConfigError",
     "container main lacks a ConfigMap, a Secret or a key", "secret \"s\" not found",
     "create the ConfigMap or Secret"},
    {WAITS("CreateContainerError", "x"), "CreateContainerError", "container main cannot be created",
     "x", "correct what the message names"},
    {WAITS("RunContainerError", "exec: no such file"), "RunContainerError",
     "container main cannot be started", "no such file", "correct its command"},
    {WAITS("PostStartHookError", "x"), "PostStartHookError",
     "the postStart hook of container main fails", "x", "kubectl describe pod p"},
    {WAITS("SomethingNew", "as nobody knew"), "SomethingNew", "container main waits: SomethingNew",
     "as nobody knew", "kubectl describe pod p"},
    {LOOPS("exitCode: 137, reason: OOMKilled"), "CrashLoopBackOff",
     "container main was killed: it used more memory than its limit of 64Mi (started again 4 "
     "times)",
     "", "raise resources.limits.memory"},
    {LOOPS("exitCode: 3, reason: Error, message: 'no model'"), "CrashLoopBackOff",
     "container main ended with exit code 3 (started again 4 times)", "no model",
     "kubectl logs p -c main --previous"},
    {LOOPS("exitCode: 0, reason: Completed"), "CrashLoopBackOff",
     "container main ended by itself, with exit code 0, and should run on (started again 4 times)",
     "", "a command that does not end"},
    {LOOPS("exitCode: 127, reason: Error"), "CrashLoopBackOff",
     "container main ended with exit code 127: its command was not found in the image (started "
     "again 4 times)",
     "", "correct its command"},
    {LOOPS("exitCode: 126, reason: Error"), "CrashLoopBackOff",
     "container main ended with exit code 126: its command is no program (started again 4 times)",
     "", "correct its command"},
    {LOOPS("exitCode: 139, reason: Error"), "CrashLoopBackOff",
     "container main ended with exit code 139: it used memory that is not its own (SIGSEGV) "
     "(started again 4 times)",
     "", "kubectl logs p -c main"},
    {LOOPS("exitCode: 134, reason: Error"), "CrashLoopBackOff",
     "container main ended with exit code 134: it aborted (SIGABRT) (started again 4 times)", "",
     "kubectl logs p -c main"},
    {LOOPS("exitCode: 137, reason: Error"), "CrashLoopBackOff",
     "container main was killed (exit code 137, SIGKILL) (started again 4 times)", "",
     "a liveness probe"},
    {LOOPS("exitCode: 143, reason: Error"), "CrashLoopBackOff",
     "container main was told to end (exit code 143, SIGTERM) (started again 4 times)", "",
     "a liveness probe"},
    {LOOPS("exitCode: 0, signal: 9, reason: Error"), "CrashLoopBackOff",
     "container main was ended by signal 9 (started again 4 times)", "", "kubectl logs p -c main"},
    {LOOPS("exitCode: 128, reason: StartError, message: 'exec: \"nope\"'"), "CrashLoopBackOff",
     "the command of container main cannot be run (started again 4 times)", "nope",
     "correct its command"},
    {LOOPS("exitCode: 128, reason: ContainerCannotRun"), "CrashLoopBackOff",
     "the command of container main cannot be run (started again 4 times)", "",
     "correct its command"},
    {LOOPS("exitCode: 137, reason: ContainerStatusUnknown"), "CrashLoopBackOff",
     "nobody knows how container main ended: its node lost it (started again 4 times)", "",
     "whether n1 or its container runtime"},
    {WAITS("CrashLoopBackOff", "back-off"), "CrashLoopBackOff",
     "container main ends again and again", "back-off", "kubectl logs p -c main"},
    {ENDED("exitCode: 1, reason: Error"), "Error", "container main ended with exit code 1", "",
     "kubectl logs p -c main"},
    {ENDED("exitCode: 137, reason: OOMKilled"), "OOMKilled",
     "container main was killed: it used more memory than its limit of 64Mi", "",
     "raise resources.limits.memory"},
    {ENDED("exitCode: 137, reason: DeadlineExceeded"), "DeadlineExceeded",
     "container main ran longer than the pod's activeDeadlineSeconds", "", "raise activeDeadline"},
    /* It runs again, and is not ready yet. */
    {"{phase: Running, containerStatuses: [{name: main, ready: false, restartCount: 1, state: "
     "{running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
     "OOMKilled",
     "container main was killed: it used more memory than its limit of 64Mi (started again 1 time)",
     "", "raise resources.limits.memory"},
    {"{phase: Running, containerStatuses: [{name: side, ready: false, restartCount: 1, state: "
     "{running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
     "OOMKilled",
     "container side was killed: it used more memory than its node could give (it has no limit of "
     "its own) (started again 1 time)",
     "", "raise resources.limits.memory"},
    {"{phase: Pending, initContainerStatuses: [{name: init, restartCount: 2, state: {waiting: "
     "{reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 2, reason: Error}}}], "
     "containerStatuses: [{name: main, state: {waiting: {reason: PodInitializing}}}]}",
     "CrashLoopBackOff", "container init ended with exit code 2 (started again 2 times)", "",
     "kubectl logs p -c init"},
    {POD_SAYS("Evicted"), "Evicted", "its node n1 took it away for want of a resource",
     "as the kubelet says", "ask for what it really uses"},
    {POD_SAYS("DeadlineExceeded"), "DeadlineExceeded",
     "it ran longer than its activeDeadlineSeconds", "as the kubelet", "raise activeDeadline"},
    {POD_SAYS("NodeLost"), "NodeLost", "its node n1 was lost", "as the kubelet",
     "kubectl describe node n1"},
    {POD_SAYS("NodeShutdown"), "NodeShutdown", "its node n1 was shut down", "as the kubelet",
     "a new pod takes its place"},
    {POD_SAYS("Preempting"), "Preempting", "its node n1 needed the room for a pod of the system",
     "as the kubelet", "a new pod takes its place"},
    {POD_SAYS("UnexpectedAdmissionError"), "UnexpectedAdmissionError",
     "its node n1 could not give it a device or other resource", "as the kubelet", "device plugin"},
    {POD_SAYS("OutOfnvidia.com/gpu"), "OutOfnvidia.com/gpu",
     "its node n1 did not have what it asks for, as the kubelet counts", "as the kubelet",
     "kubectl describe node n1"},
    {POD_SAYS("NodeAffinity"), "NodeAffinity", "its node n1 no longer has the labels that it wants",
     "as the kubelet", "give the node its labels back"},
    {POD_SAYS("TopologyAffinityError"), "TopologyAffinityError",
     "its node n1 could not give it resources that are close together", "as the kubelet",
     "topology manager"},
};

TEST(each_reason_of_a_kubelet_has_its_words_and_its_remedy)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = tw_new();
        struct arena a = ARENA_INIT;
        struct pod_trouble trouble = {0};
        if (!CHECK(pod_trouble_of(load_pod(t, cases[i].status), NULL, &a, &trouble)))
            test_note("%s", cases[i].status);
        CHECK_CSTR(trouble.reason, cases[i].reason);
        CHECK_CSTR(trouble.what, cases[i].what);
        CHECK(cases[i].said[0] ? str_find(trouble.said, str_of(cases[i].said)) >= 0
                               : trouble.said.len == 0);
        CHECK(str_find(trouble.remedy, str_of(cases[i].remedy)) >= 0);
        CHECK(str_find_char(trouble.remedy, '{') < 0 && str_find_char(trouble.what, '{') < 0);
        arena_done(&a);
        tw_free(t);
    }
}

TEST(a_pod_that_is_well_or_only_begins_has_no_trouble)
{
    static const char *const fine[] = {
        "{phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: "
        "main, ready: true, restartCount: 3, state: {running: {}}, lastState: {terminated: "
        "{exitCode: 1, reason: Error}}}]}",
        "{phase: Pending}",
        "{phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: "
        "ContainerCreating}}}]}",
        "{phase: Running, containerStatuses: [{name: main, ready: false, state: {running: {}}}]}",
        "{phase: Succeeded, containerStatuses: [{name: main, state: {terminated: {exitCode: 0, "
        "reason: Completed}}}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        struct test_world *t = tw_new();
        struct arena a = ARENA_INIT;
        struct pod_trouble trouble;
        if (!CHECK(!pod_trouble_of(load_pod(t, fine[i]), NULL, &a, &trouble)))
            test_note("%s", fine[i]);
        arena_done(&a);
        tw_free(t);
    }
}

/* ---- warnings ---- */

static struct obj *load_warning(struct test_world *t, const char *name, const char *reason,
                                const char *when)
{
    const struct obj *pod = tw_must(t, &kind_pod, "p");
    tw_loadf(t,
             "{apiVersion: v1, kind: Event, metadata: {name: %s}, involvedObject: {kind: Pod, name:"
             " p, uid: %.*s}, type: Warning, reason: %s, message: 'said of %s', lastTimestamp: "
             "'2026-01-01T00:00:%sZ'}",
             name, STR_ARG(pod->uid), reason, reason, when);
    return tw_must(t, &kind_event, name);
}

TEST(warnings_tell_what_a_status_does_not)
{
    static const struct {
        const char *phase, *reason, *what; /* NULL: nothing */
    } told[] = {
        {"Pending", "FailedMount", "a volume cannot be mounted on n1"},
        {"Pending", "FailedAttachVolume", "a volume cannot be attached to n1"},
        {"Pending", "FailedCreatePodSandBox", "its network or sandbox cannot be made on n1"},
        {"Pending", "NetworkNotReady", "the network of n1 is not ready"},
        {"Pending", "FailedPrepareDynamicResources",
         "a device that it claims cannot be prepared on n1"},
        {"Pending", "HostPortConflict", "a port of n1 that it wants is in use there"},
        {"Running", "Unhealthy", "a probe fails"},
        {"Running", "ProbeError", "a probe cannot be made"},
        {"Running", "FailedMount", NULL},
        {"Pending", "FailedScheduling", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct test_world *t = tw_new();
        struct arena a = ARENA_INIT;
        struct pod_warnings w;
        struct pod_trouble trouble = {0};
        (void)runtime_cache(t->runtime, &kind_event);
        struct arena own = ARENA_INIT;
        const struct obj *pod = load_pod(t, arena_printf(&own, "{phase: %s}", told[i].phase).p);
        struct obj *events[] = {load_warning(t, "old", "FailedSync", "10"),
                                load_warning(t, "new", told[i].reason, "20")};
        struct picture p = {0};
        p.parts[PICTURE_WARNINGS] = (struct session_list){.items = events, .n = 2};
        pod_warnings_init(&w, &p);
        if (!CHECK(pod_trouble_of(pod, &w, &a, &trouble) == (told[i].what != NULL)))
            test_note("%s %s", told[i].phase, told[i].reason);
        if (told[i].what) {
            CHECK_CSTR(trouble.what, told[i].what);
            CHECK_CSTR(trouble.reason, told[i].reason);
            CHECK(str_starts(trouble.said, STR("said of")));
            CHECK(trouble.by_warning);
        }
        pod_warnings_done(&w);
        arena_done(&own);
        arena_done(&a);
        tw_free(t);
    }
}
