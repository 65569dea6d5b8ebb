/* See pod_trouble.h. The rows are tried from the top; words in braces are filled in. */
#include "explain/documents/pod_trouble.h"

#include "grove/types.h"

struct row {
    const char *reason; /* "OutOf*": begins so; NULL: any other */
    const char *what, *remedy;
};

#define LOG "look at its log: kubectl logs {pod} -c {container} --previous"
#define DESCRIBE "see what the kubelet says: kubectl describe pod {pod}"
#define OTHER_IMAGE                                                        \
    "correct the image's name in the set's template, or give its pods an " \
    "imagePullSecret; then it is tried again"
#define OTHER_COMMAND "correct its command and args in the set's template"
#define NODE_LOG "look into the log of the kubelet and the container runtime on {node}"

/* ---- the pod itself: status.reason ---- */

static const struct row pod_rows[] = {
    {"Evicted", "its node {node} took it away for want of a resource",
     "ask for what it really uses (requests and limits of memory and ephemeral-storage), or free "
     "the node; a new pod takes its place"},
    {"DeadlineExceeded", "it ran longer than its activeDeadlineSeconds",
     "raise activeDeadlineSeconds in the set's template, or leave it out"},
    {"NodeLost", "its node {node} was lost", "bring the node back: kubectl describe node {node}"},
    {"NodeShutdown", "its node {node} was shut down", "a new pod takes its place elsewhere"},
    {"Terminated", "its node {node} was shut down", "a new pod takes its place elsewhere"},
    {"Shutdown", "its node {node} was shut down", "a new pod takes its place elsewhere"},
    {"Preempting", "its node {node} needed the room for a pod of the system",
     "a new pod takes its place; leave more room on that node"},
    {"Preempted", "its node {node} needed the room for a pod of the system",
     "a new pod takes its place; leave more room on that node"},
    {"UnexpectedAdmissionError", "its node {node} could not give it a device or other resource",
     "look at the device plugin of the node: kubectl describe node {node}"},
    {"TopologyAffinityError", "its node {node} could not give it resources that are close together",
     "ask for less, or change the topology manager's policy on the node"},
    {"NodeAffinity", "its node {node} no longer has the labels that it wants",
     "give the node its labels back, or change the nodeSelector; a new pod takes its place"},
    {"NodePorts", "a port of {node} that it wants is in use there",
     "take hostPort out of the set's template, or free the port"},
    {"OutOf*", "its node {node} did not have what it asks for, as the kubelet counts",
     "compare what the node offers with what runs there: kubectl describe node {node}"},
    {"SysctlForbidden", "its node {node} does not allow a sysctl that it wants",
     "take the sysctl out, or allow it to the kubelet (--allowed-unsafe-sysctls)"},
    {"AppArmor", "its node {node} does not have the AppArmor profile that it wants",
     "load the profile on the node, or take it out of the set's template"},
    {"InvalidNodeInfo", "its node {node} is not known to its kubelet yet", NODE_LOG},
};

/* ---- containers that wait: state.waiting.reason ---- */

static const struct row waiting_rows[] = {
    {"ErrImagePull", "container {container} cannot pull its image {image}", OTHER_IMAGE},
    {"ImagePullBackOff", "container {container} cannot pull its image {image}", OTHER_IMAGE},
    {"InvalidImageName", "the image of container {container} has no valid name: {image}",
     "correct the image's name in the set's template"},
    {"ErrImageNeverPull",
     "the image {image} of container {container} is not on node {node}, and imagePullPolicy is "
     "Never",
     "load the image on the node, or set imagePullPolicy to IfNotPresent"},
    {"RegistryUnavailable", "the registry of image {image} does not answer",
     "look whether the registry can be reached from {node}; it is tried again by itself"},
    {"ImageInspectError", "the image {image} on node {node} cannot be read",
     "remove that image from the node, so that it is pulled again"},
    {"SignatureValidationFailed", "the signature of image {image} is not accepted on {node}",
     "sign the image, or change the policy of the container runtime"},
    {"CreateContainerConfigError", "container {container} lacks a ConfigMap, a Secret or a key",
     "create the ConfigMap or Secret that its container names"},
    {"CreateContainerError", "container {container} cannot be created",
     "correct what the message names: a mount, a command, a user"},
    {"RunContainerError", "container {container} cannot be started", OTHER_COMMAND},
    {"StartError", "the command of container {container} cannot be run", OTHER_COMMAND},
    {"ContainerCannotRun", "the command of container {container} cannot be run", OTHER_COMMAND},
    {"PreCreateHookError", "container {container} cannot be prepared", NODE_LOG},
    {"PreStartHookError", "container {container} cannot be prepared", NODE_LOG},
    {"PostStartHookError", "the postStart hook of container {container} fails",
     "correct its lifecycle.postStart: " DESCRIBE},
    {"CrashLoopBackOff", "container {container} ends again and again", LOG},
    {NULL, "container {container} waits: {reason}", DESCRIBE},
};

/* ---- containers that ended: {state,lastState}.terminated.reason ---- */

static const struct row ended_rows[] = {
    {"OOMKilled", "container {container} was killed: it used more memory than {limit}",
     "raise resources.limits.memory in the set's template, or make it use less"},
    {"StartError", "the command of container {container} cannot be run", OTHER_COMMAND},
    {"ContainerCannotRun", "the command of container {container} cannot be run", OTHER_COMMAND},
    {"ContainerStatusUnknown", "nobody knows how container {container} ended: its node lost it",
     "look whether {node} or its container runtime was started anew"},
    {"DeadlineExceeded", "container {container} ran longer than the pod's activeDeadlineSeconds",
     "raise activeDeadlineSeconds in the set's template, or leave it out"},
    {"Evicted", "container {container} was ended when its node took the pod away",
     "ask for what it really uses (requests and limits)"},
    {"Completed", "container {container} ended by itself, with exit code 0, and should run on",
     "give it a command that does not end"},
    {NULL, "container {container} {end}", LOG},
};

/* Exit codes that mean more than their number; those above 128 are signals. */
static const struct {
    int64_t code;
    const char *end, *remedy;
} codes[] = {
    {126, "ended with exit code 126: its command is no program", OTHER_COMMAND},
    {127, "ended with exit code 127: its command was not found in the image", OTHER_COMMAND},
    {134, "ended with exit code 134: it aborted (SIGABRT)", LOG},
    {137, "was killed (exit code 137, SIGKILL)",
     "see who killed it, a liveness probe or the end of its grace period: kubectl describe pod "
     "{pod}"},
    {139, "ended with exit code 139: it used memory that is not its own (SIGSEGV)", LOG},
    {143, "was told to end (exit code 143, SIGTERM)",
     "see who told it, a liveness probe perhaps: kubectl describe pod {pod}"},
};

/* ---- warnings about a pod whose status says nothing yet ---- */

static const struct row warning_rows[] = {
    {"FailedMount", "a volume cannot be mounted on {node}",
     "create what the volume names (ConfigMap, Secret, claim), or mend the mount"},
    {"FailedAttachVolume", "a volume cannot be attached to {node}",
     "look where the volume is attached: kubectl get volumeattachments"},
    {"FailedMapVolume", "a block volume cannot be mapped on {node}", NODE_LOG},
    {"VolumeResizeFailed", "a volume cannot be made larger on {node}", NODE_LOG},
    {"FailedCreatePodSandBox", "its network or sandbox cannot be made on {node}",
     "look at the network plugin and the container runtime on {node}"},
    {"FailedPodSandBoxStatus", "the container runtime on {node} does not answer", NODE_LOG},
    {"NetworkNotReady", "the network of {node} is not ready",
     "look at the network plugin on {node}"},
    {"FailedCreatePodContainer", "its containers cannot be made on {node}", NODE_LOG},
    {"FailedSync", "the kubelet of {node} cannot go on with it", NODE_LOG},
    {"FailedKillPod", "the kubelet of {node} cannot end what was there before", NODE_LOG},
    {"FailedPrepareDynamicResources", "a device that it claims cannot be prepared on {node}",
     "look at the driver of the claim: kubectl describe resourceclaim"},
    {"FailedValidation", "the kubelet of {node} does not accept its spec",
     "correct what the message names in the set's template"},
    {"HostPortConflict", "a port of {node} that it wants is in use there",
     "take hostPort out of the set's template, or free the port"},
    {"InspectFailed", "an image of it has no valid name",
     "correct the image's name in the set's template"},
    {"FailedPostStartHook", "a postStart hook fails",
     "correct lifecycle.postStart in the template"},
};

/* Of one that runs and is not ready. */
static const struct row unhealthy_rows[] = {
    {"Unhealthy", "a probe fails",
     "make it answer, or correct the probe in the set's template: "
     "kubectl logs {pod}"},
    {"ProbeError", "a probe cannot be made", "correct the probe in the set's template"},
    {"ProbeWarning", "a probe is answered in an unexpected way",
     "correct the probe in the set's template"},
};

/* ---- filling in ---- */

struct facts {
    struct arena *arena;
    const struct obj *pod;
    str container, image, limit, reason, end;
};

static str fact_of(const struct facts *f, str name)
{
    const struct {
        const char *name;
        str value;
    } all[] = {
        {"pod", f->pod->name},
        {"node", jstr(jgetc(obj_spec(f->pod), "nodeName"))},
        {"container", f->container},
        {"image", f->image},
        {"limit", f->limit},
        {"reason", f->reason},
        {"end", f->end},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (str_is(name, all[i].name))
            return all[i].value;
    }
    BUG_ON(true);
    return STR_NONE;
}

static str fill(const struct facts *f, const char *text)
{
    struct strbuf b = STRBUF_INIT(1 << 14);
    str rest = str_of(text);
    while (rest.len) {
        strbuf_add_str(&b, str_cut(&rest, '{'));
        if (rest.len)
            strbuf_add_str(&b, fact_of(f, str_cut(&rest, '}')));
    }
    str filled = arena_str(f->arena, strbuf_str(&b));
    strbuf_done(&b);
    return filled;
}

static const struct row *find(const struct row *rows, size_t n, str reason)
{
    for (size_t i = 0; i < n; i++) {
        str word = rows[i].reason ? str_of(rows[i].reason) : reason;
        if (str_eq(word, reason))
            return &rows[i];
        if (str_ends(word, STR("*")) && str_starts(reason, str_sub(word, 0, word.len - 1)))
            return &rows[i];
    }
    return NULL;
}
#define FIND(rows, reason) find((rows), ARRAY_LEN(rows), (reason))

static void tell(struct pod_trouble *t, const struct facts *f, const struct row *row, str said)
{
    *t = (struct pod_trouble){.reason = f->reason,
                              .what = fill(f, row->what),
                              .remedy = fill(f, row->remedy),
                              .said = said,
                              .container = f->container};
}

/* ---- containers ---- */

static jval spec_of(const struct obj *pod, str name)
{
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (struct jiter it = jiter(jget(obj_spec(pod), str_of(lists[l]))); jnext(&it);) {
            if (str_eq(jstr(jgetc(it.value, "name")), name))
                return it.value;
        }
    }
    return (jval){0};
}

static struct facts facts_of(const struct obj *pod, jval status, struct arena *a)
{
    struct facts f = {.arena = a, .pod = pod, .container = jstr(jgetc(status, "name"))};
    jval spec = spec_of(pod, f.container);
    str limit = jstr(jpath(spec, "resources.limits.memory"));
    f.image = jstr(jgetc(spec, "image"));
    if (!f.image.len)
        f.image = jstr(jgetc(status, "image"));
    f.limit = limit.len ? arena_printf(a, "its limit of %.*s", STR_ARG(limit))
                        : STR("its node could give (it has no limit of its own)");
    return f;
}

/* "ended with exit code 3", and what that means where it means something. */
static void tell_end(struct pod_trouble *t, struct facts *f, jval ended)
{
    int64_t code = jint(jgetc(ended, "exitCode"), 0), signal = jint(jgetc(ended, "signal"), 0);
    const struct row *row = FIND(ended_rows, f->reason);
    const char *remedy = row->remedy;
    f->end = signal ? arena_printf(f->arena, "was ended by signal %lld", (long long)signal)
                    : arena_printf(f->arena, "ended with exit code %lld", (long long)code);
    for (size_t i = 0; !signal && i < ARRAY_LEN(codes); i++) {
        if (codes[i].code != code)
            continue;
        f->end = str_of(codes[i].end);
        if (!row->reason)
            remedy = codes[i].remedy;
    }
    tell(t, f, &(struct row){row->reason, row->what, remedy}, jstr(jgetc(ended, "message")));
}

static str times(struct arena *a, str text, int64_t restarts)
{
    return restarts > 0 ? arena_printf(a, "%.*s (started again %lld time%s)", STR_ARG(text),
                                       (long long)restarts, restarts == 1 ? "" : "s")
                        : text;
}

static bool is_benign(str reason)
{
    return str_is(reason, "PodInitializing") || str_is(reason, "ContainerCreating");
}

/* A container that waits because the pod has only begun says nothing. */
static bool trouble_of_container(const struct obj *pod, jval status, struct arena *a,
                                 struct pod_trouble *t)
{
    struct facts f = facts_of(pod, status, a);
    jval waits = jpath(status, "state.waiting"), ended = jpath(status, "state.terminated");
    jval last = jpath(status, "lastState.terminated");
    int64_t restarts = jint(jgetc(status, "restartCount"), 0);
    str waiting = jstr(jgetc(waits, "reason"));
    if (j_has(last) &&
        (str_is(waiting, "CrashLoopBackOff") ||
         (j_has(jpath(status, "state.running")) && !j_is_true(jgetc(status, "ready"))))) {
        f.reason = jstr(jgetc(last, "reason"));
        tell_end(t, &f, last);
        t->what = times(a, t->what, restarts);
        t->reason = waiting.len ? waiting : f.reason;
        return true;
    }
    if (waiting.len && !is_benign(waiting)) {
        f.reason = waiting;
        tell(t, &f, FIND(waiting_rows, waiting), jstr(jgetc(waits, "message")));
        return true;
    }
    if (j_has(ended) && jint(jgetc(ended, "exitCode"), 0) != 0) {
        f.reason = jstr(jgetc(ended, "reason"));
        tell_end(t, &f, ended);
        return true;
    }
    return false;
}

static bool trouble_of_containers(const struct obj *pod, struct arena *a, struct pod_trouble *t)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (struct jiter it = jiter(jget(obj_status(pod), str_of(lists[l]))); jnext(&it);) {
            if (trouble_of_container(pod, it.value, a, t))
                return true;
        }
    }
    return false;
}

/* ---- warnings ---- */

static str time_of(const struct obj *event)
{
    str last = jstr(jgetc(obj_root(event), "lastTimestamp"));
    return last.len ? last : jstr(jgetc(obj_root(event), "eventTime"));
}

void pod_warnings_init(struct pod_warnings *w, const struct picture *p)
{
    const struct session_list *events = &p->parts[PICTURE_WARNINGS];
    *w = (struct pod_warnings){MAP_INIT};
    for (size_t i = 0; i < events->n; i++) {
        struct obj *e = events->items[i];
        str uid = jstr(jpath(obj_root(e), "involvedObject.uid"));
        const struct obj *known = map_get(&w->by_uid, uid);
        bool warns = str_is(jstr(jgetc(obj_root(e), "type")), "Warning");
        if (warns && uid.len && (!known || str_cmp(time_of(known), time_of(e)) <= 0))
            (void)map_put(&w->by_uid, uid, e);
    }
}

void pod_warnings_done(struct pod_warnings *w)
{
    map_done(&w->by_uid);
}

static bool trouble_by_warning(const struct obj *pod, const struct pod_warnings *w, struct arena *a,
                               struct pod_trouble *t)
{
    const struct obj *e = w ? map_get(&w->by_uid, pod->uid) : NULL;
    struct facts f = {.arena = a, .pod = pod};
    if (!e)
        return false;
    f.reason = jstr(jgetc(obj_root(e), "reason"));
    bool runs = str_is(jstr(jgetc(obj_status(pod), "phase")), "Running");
    const struct row *row = runs ? FIND(unhealthy_rows, f.reason) : FIND(warning_rows, f.reason);
    if (!row)
        return false;
    tell(t, &f, row, jstr(jgetc(obj_root(e), "message")));
    t->by_warning = true;
    return true;
}

/* ---- all of it ---- */

bool pod_trouble_of(const struct obj *pod, const struct pod_warnings *w, struct arena *a,
                    struct pod_trouble *ret)
{
    jval status = obj_status(pod);
    struct facts f = {.arena = a, .pod = pod, .reason = jstr(jgetc(status, "reason"))};
    if (!jstr(jgetc(obj_spec(pod), "nodeName")).len && !f.reason.len)
        return false;
    const struct row *row = f.reason.len ? FIND(pod_rows, f.reason) : NULL;
    if (row) {
        tell(ret, &f, row, jstr(jgetc(status, "message")));
        return true;
    }
    if (condition_is_true(jgetc(status, "conditions"), STR("Ready")))
        return false;
    return trouble_of_containers(pod, a, ret) || trouble_by_warning(pod, w, a, ret);
}
