/* The Pod Security Standards, check by check, and what labels of namespaces ask for. Expectations
 * are those of the published standards, in kube-apiserver's words. */
#include "base/test.h"
#include "kube/pod_security.h"

#define LATEST POD_SECURITY_LATEST
#define BASELINE POD_SECURITY_BASELINE
#define RESTRICTED POD_SECURITY_RESTRICTED

/* What the restricted level wants of every container and pod. */
#define TIGHT                                                           \
    "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']}," \
    "'runAsNonRoot':true,'seccompProfile':{'type':'RuntimeDefault'}"
#define C(name, more) "{'name':'" name "'" more "}"
#define WITH(context) ",'securityContext':{" context "}"
#define ONE(context) "{'spec':{'containers':[" C("a", WITH(context)) "]}}"
#define POD_WITH(pod, context) \
    "{'spec':{'securityContext':{" pod "},'containers':[" C("a", WITH(context)) "]}}"
#define SPEC(more) "{'spec':{" more ",'containers':[" C("a", WITH(TIGHT)) "]}}"
#define NOTED(annotation, value)                           \
    "{'metadata':{'annotations':{'" annotation "':'" value \
    "'}},'spec':{'containers':[" C("a", WITH(TIGHT)) "]}}"

#define ESCALATION                                                 \
    "allowPrivilegeEscalation != false (container \"a\" must set " \
    "securityContext.allowPrivilegeEscalation=false)"
#define NOT_DROPPED                                        \
    "unrestricted capabilities (container \"a\" must set " \
    "securityContext.capabilities.drop=[\"ALL\"])"
#define MAY_BE_ROOT \
    "runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true)"
#define NO_SECCOMP                                                                            \
    "seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to " \
    "\"RuntimeDefault\" or \"Localhost\")"

static const struct {
    enum pod_security_level level;
    int32_t minor;
    const char *pod;
    const char *details; /* "": it is let in */
} cases[] = {
    /* nothing at all is asked for */
    {POD_SECURITY_PRIVILEGED, LATEST, ONE("'privileged':true"), ""},
    {BASELINE, LATEST, ONE(""), ""},
    {RESTRICTED, LATEST, ONE(TIGHT), ""},
    {RESTRICTED, LATEST, ONE(""), ESCALATION ", " NOT_DROPPED ", " MAY_BE_ROOT ", " NO_SECCOMP},
    /* in all lists of containers, initial ones first */
    {BASELINE, LATEST,
     "{'spec':{'containers':[" C("c", WITH("'privileged':true")) "],'initContainers':[" C(
         "i",
         WITH("'privileged':true")) "],'ephemeralContainers':[" C("e",
                                                                  WITH("'privileged':true")) "]}}",
     "privileged (containers \"i\", \"c\", \"e\" must not set securityContext.privileged=true)"},

    /* AppArmor */
    {BASELINE, LATEST, ONE("'appArmorProfile':{'type':'Localhost'}"), ""},
    {BASELINE, LATEST, ONE("'appArmorProfile':{'type':'Unconfined'}"),
     "forbidden AppArmor profile (container \"a\" must not set AppArmor profile type to "
     "\"Unconfined\")"},
    {BASELINE, LATEST, POD_WITH("'appArmorProfile':{'type':'Unconfined'}", ""),
     "forbidden AppArmor profile (pod must not set AppArmor profile type to \"Unconfined\")"},
    {RESTRICTED, LATEST,
     NOTED("container.apparmor.security.beta.kubernetes.io/a", "runtime/default"), ""},
    {RESTRICTED, LATEST, NOTED("container.apparmor.security.beta.kubernetes.io/a", "unconfined"),
     "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
     "\"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")"},

    /* capabilities */
    {BASELINE, LATEST, ONE("'capabilities':{'add':['CHOWN','NET_BIND_SERVICE','SYS_CHROOT']}"), ""},
    {BASELINE, LATEST, ONE("'capabilities':{'add':['SYS_ADMIN','CHOWN','NET_RAW']}"),
     "non-default capabilities (container \"a\" must not include \"NET_RAW\", \"SYS_ADMIN\" in "
     "securityContext.capabilities.add)"},
    {RESTRICTED, LATEST,
     ONE("'allowPrivilegeEscalation':false,'runAsNonRoot':true,'seccompProfile':{'type':"
         "'Localhost'},'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']}"),
     ""},
    {RESTRICTED, LATEST,
     ONE("'allowPrivilegeEscalation':false,'runAsNonRoot':true,'seccompProfile':{'type':"
         "'Localhost'},'capabilities':{'drop':['NET_RAW'],'add':['CHOWN']}"),
     "unrestricted capabilities (container \"a\" must set "
     "securityContext.capabilities.drop=[\"ALL\"]; container \"a\" must not include \"CHOWN\" in "
     "securityContext.capabilities.add)"},
    {RESTRICTED, 21,
     ONE("'allowPrivilegeEscalation':false,'runAsNonRoot':true,'seccompProfile':{'type':"
         "'Localhost'},'capabilities':{'add':['CHOWN']}"),
     ""},
    {RESTRICTED, 21,
     ONE("'allowPrivilegeEscalation':false,'runAsNonRoot':true,'seccompProfile':{'type':"
         "'Localhost'},'capabilities':{'add':['NET_RAW']}"),
     "non-default capabilities (container \"a\" must not include \"NET_RAW\" in "
     "securityContext.capabilities.add)"},

    /* namespaces of the host */
    {BASELINE, LATEST, SPEC("'hostNetwork':false,'hostPID':false"), ""},
    {BASELINE, LATEST, SPEC("'hostNetwork':true"), "host namespaces (hostNetwork=true)"},
    {RESTRICTED, LATEST, SPEC("'hostIPC':true,'hostPID':true,'hostNetwork':true"),
     "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"},

    /* paths of the host, and other volumes */
    {BASELINE, LATEST, SPEC("'volumes':[{'name':'v','nfs':{}},{'name':'w','emptyDir':{}}]"), ""},
    {BASELINE, LATEST, SPEC("'volumes':[{'name':'v','hostPath':{'path':'/'}}]"),
     "hostPath volumes (volume \"v\")"},
    {BASELINE, LATEST,
     SPEC("'volumes':[{'name':'v','hostPath':{'path':'/'}},{'name':'w','hostPath':{}}]"),
     "hostPath volumes (volumes \"v\", \"w\")"},
    {RESTRICTED, LATEST,
     SPEC("'volumes':[{'name':'1','configMap':{}},{'name':'2','csi':{}},{'name':'3','downwardAPI':"
          "{}},{'name':'4','emptyDir':{}},{'name':'5','ephemeral':{}},{'name':'6','image':{}},"
          "{'name':'7','persistentVolumeClaim':{}},{'name':'8','projected':{}},{'name':'9',"
          "'secret':{}}]"),
     ""},
    {RESTRICTED, LATEST, SPEC("'volumes':[{'name':'v','hostPath':{'path':'/'}}]"),
     "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")"},
    {RESTRICTED, LATEST,
     SPEC("'volumes':[{'name':'v','nfs':{}},{'name':'w','iscsi':{}},{'name':'x','nfs':{}},{'name':"
          "'y','novel':{}},{'name':'z'}]"),
     "restricted volume types (volumes \"v\", \"w\", \"x\", \"y\" use restricted volume types "
     "\"iscsi\", \"nfs\", \"unknown\")"},

    /* ports of the host */
    {BASELINE, LATEST, "{'spec':{'containers':[" C("a", ",'ports':[{'containerPort':80}]") "]}}",
     ""},
    {BASELINE, LATEST,
     "{'spec':{'containers':[" C("a", ",'ports':[{'containerPort':80,'hostPort':80}]") "]}}",
     "hostPort (container \"a\" uses hostPort 80)"},
    {BASELINE, LATEST,
     "{'spec':{'containers':[" C("a", ",'ports':[{'hostPort':9},{'hostPort':80}]") "," C(
         "b", ",'ports':[{'hostPort':80}]") "]}}",
     "hostPort (containers \"a\", \"b\" use hostPorts 80, 9)"},
    {RESTRICTED, LATEST,
     "{'spec':{'containers':[" C("a", WITH(TIGHT) ",'ports':[{'hostPort':1}]") "]}}",
     "hostPort (container \"a\" uses hostPort 1)"},

    /* hosts of probes */
    {BASELINE, LATEST,
     "{'spec':{'containers':[" C("a", ",'livenessProbe':{'httpGet':{'port':1}}") "]}}", ""},
    {BASELINE, LATEST,
     "{'spec':{'containers':[" C("a", ",'livenessProbe':{'httpGet':{'host':'h'}},'lifecycle':{"
                                      "'preStop':{'tcpSocket':{'host':'g'}}}") "]}}",
     "probe or lifecycle host (container \"a\" uses probe or lifecycle hosts \"g\", \"h\")"},
    {BASELINE, 33,
     "{'spec':{'containers':[" C("a", ",'startupProbe':{'tcpSocket':{'host':'h'}}") "]}}", ""},
    {BASELINE, 34,
     "{'spec':{'containers':[" C("a", ",'startupProbe':{'tcpSocket':{'host':'h'}}") "]}}",
     "probe or lifecycle host (container \"a\" uses probe or lifecycle host \"h\")"},

    /* privileged */
    {BASELINE, LATEST, ONE("'privileged':false"), ""},
    {BASELINE, LATEST, ONE("'privileged':true"),
     "privileged (container \"a\" must not set securityContext.privileged=true)"},
    {RESTRICTED, LATEST, ONE(TIGHT ",'privileged':true"),
     "privileged (container \"a\" must not set securityContext.privileged=true)"},

    /* /proc */
    {BASELINE, LATEST, ONE("'procMount':'Default'"), ""},
    {BASELINE, LATEST, ONE("'procMount':'Unmasked'"),
     "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")"},
    {BASELINE, LATEST,
     "{'spec':{'hostUsers':false,'containers':[" C("a", WITH("'procMount':'Unmasked'")) "]}}", ""},
    {BASELINE, 34,
     "{'spec':{'hostUsers':false,'containers':[" C("a", WITH("'procMount':'Unmasked'")) "]}}",
     "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")"},
    {RESTRICTED, LATEST,
     "{'spec':{'hostUsers':false,'containers':[" C("a",
                                                   WITH(TIGHT ",'procMount':'Unmasked'")) "]}}",
     "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")"},
    {RESTRICTED, LATEST, ONE(TIGHT ",'procMount':'Default'"), ""},

    /* SELinux */
    {BASELINE, LATEST, ONE("'seLinuxOptions':{'type':'container_engine_t','level':'s0'}"), ""},
    {BASELINE, 30, ONE("'seLinuxOptions':{'type':'container_engine_t'}"),
     "seLinuxOptions (container \"a\" set forbidden securityContext.seLinuxOptions: type "
     "\"container_engine_t\")"},
    {BASELINE, LATEST,
     POD_WITH("'seLinuxOptions':{'user':'u'}", "'seLinuxOptions':{'type':'x',"
                                               "'role':'r'}"),
     "seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: type "
     "\"x\"; user may not be set; role may not be set)"},
    {RESTRICTED, LATEST, ONE(TIGHT ",'seLinuxOptions':{'role':'r'}"),
     "seLinuxOptions (container \"a\" set forbidden securityContext.seLinuxOptions: role may not "
     "be set)"},

    /* seccomp */
    {BASELINE, LATEST, ONE("'seccompProfile':{'type':'Localhost'}"), ""},
    {BASELINE, LATEST, ONE("'seccompProfile':{'type':'Unconfined'}"),
     "seccompProfile (container \"a\" must not set securityContext.seccompProfile.type to "
     "\"Unconfined\")"},
    {BASELINE, 18, NOTED("seccomp.security.alpha.kubernetes.io/pod", "localhost/x"), ""},
    {BASELINE, 18, NOTED("container.seccomp.security.alpha.kubernetes.io/a", "unconfined"),
     "seccompProfile (forbidden annotation "
     "container.seccomp.security.alpha.kubernetes.io/a=\"unconfined\")"},
    {RESTRICTED, LATEST,
     POD_WITH("'seccompProfile':{'type':'RuntimeDefault'}",
              "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},"
              "'runAsNonRoot':true"),
     ""},
    {RESTRICTED, LATEST,
     ONE("'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsNonRoot':true"),
     NO_SECCOMP},
    {RESTRICTED, LATEST, POD_WITH("'seccompProfile':{'type':'Unconfined'}", TIGHT),
     "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")"},

    /* sysctls */
    {BASELINE, LATEST, POD_WITH("'sysctls':[{'name':'net.ipv4.tcp_rmem','value':'1'}]", ""), ""},
    {BASELINE, 31, POD_WITH("'sysctls':[{'name':'net.ipv4.tcp_rmem','value':'1'}]", ""),
     "forbidden sysctls (net.ipv4.tcp_rmem)"},
    {BASELINE, LATEST, POD_WITH("'sysctls':[{'name':'kernel.msgmax'},{'name':'a.b'}]", ""),
     "forbidden sysctls (kernel.msgmax, a.b)"},
    {RESTRICTED, LATEST, POD_WITH("'sysctls':[{'name':'kernel.shm_rmid_forced'}]", TIGHT), ""},
    {RESTRICTED, LATEST, POD_WITH("'sysctls':[{'name':'kernel.sem'}]", TIGHT),
     "forbidden sysctls (kernel.sem)"},

    /* processes of the host */
    {BASELINE, LATEST, POD_WITH("'windowsOptions':{'hostProcess':false}", ""), ""},
    {BASELINE, LATEST, POD_WITH("'windowsOptions':{'hostProcess':true}", ""),
     "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"},
    {RESTRICTED, LATEST, ONE(TIGHT ",'windowsOptions':{'hostProcess':true}"),
     "hostProcess (container \"a\" must not set securityContext.windowsOptions.hostProcess=true)"},

    /* escalation */
    {RESTRICTED, LATEST,
     ONE("'allowPrivilegeEscalation':true,'capabilities':{'drop':['ALL']},'runAsNonRoot':true,"
         "'seccompProfile':{'type':'RuntimeDefault'}"),
     ESCALATION},
    {RESTRICTED, 7, ONE("'capabilities':{'drop':['ALL']},'runAsNonRoot':true"), ""},
    {RESTRICTED, LATEST,
     "{'spec':{'os':{'name':'windows'},'containers':[" C("a", WITH("'runAsNonRoot':true")) "]}}",
     ""},
    {RESTRICTED, 24,
     "{'spec':{'os':{'name':'windows'},'containers':[" C("a", WITH("'runAsNonRoot':true")) "]}}",
     ESCALATION ", " NOT_DROPPED ", " NO_SECCOMP},

    /* root */
    {RESTRICTED, LATEST,
     POD_WITH("'runAsNonRoot':true",
              "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},"
              "'seccompProfile':{'type':'RuntimeDefault'}"),
     ""},
    {RESTRICTED, LATEST, POD_WITH("'runAsNonRoot':false", TIGHT),
     "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)"},
    {RESTRICTED, LATEST,
     POD_WITH("'runAsNonRoot':true",
              "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},"
              "'runAsNonRoot':false,'seccompProfile':{'type':'RuntimeDefault'}"),
     "runAsNonRoot != true (container \"a\" must not set securityContext.runAsNonRoot=false)"},
    {RESTRICTED, LATEST, ONE(TIGHT ",'runAsUser':1000"), ""},
    {RESTRICTED, LATEST, ONE(TIGHT ",'runAsUser':0"),
     "runAsUser=0 (container \"a\" must not set runAsUser=0)"},
    {RESTRICTED, LATEST, POD_WITH("'runAsUser':0", TIGHT ",'runAsUser':0"),
     "runAsUser=0 (pod and container \"a\" must not set runAsUser=0)"},
    {RESTRICTED, 22, POD_WITH("'runAsUser':0", TIGHT), ""},
    {RESTRICTED, LATEST,
     "{'spec':{'hostUsers':false,'containers':[" C(
         "a", WITH("'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsUser':0,"
                   "'seccompProfile':{'type':'RuntimeDefault'}")) "]}}",
     ""},
    {RESTRICTED, 34,
     "{'spec':{'hostUsers':false,'containers':[" C(
         "a", WITH("'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsUser':0,"
                   "'seccompProfile':{'type':'RuntimeDefault'}")) "]}}",
     MAY_BE_ROOT ", runAsUser=0 (container \"a\" must not set runAsUser=0)"},
};

static jval parse(struct arena *a, const char *json)
{
    str copy = arena_str(a, str_of(json));
    for (char *p = (char *)copy.p; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    struct doc *d = doc_parse(copy, NULL, NULL);
    REQUIRE(d);
    return doc_root(doc_hold(a, d));
}

TEST(pods_are_judged_by_the_standards)
{
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval pod = parse(&a, cases[i].pod);
        struct pod_security s = {cases[i].level, cases[i].minor};
        struct pod_security_verdict v =
            pod_security_judge(&a, s, jgetc(pod, "metadata"), jgetc(pod, "spec"));
        if (!CHECK_CSTR(v.details, cases[i].details))
            test_note("%zu %s %s", i, pod_security_name(&a, s).p, cases[i].pod);
        CHECK(!v.reasons.len == !v.details.len);
    }
    arena_done(&a);
}

TEST(reasons_of_pods_stand_without_their_containers)
{
    struct arena a = ARENA_INIT;
    jval pod =
        parse(&a, "{'spec':{'hostPID':true,'containers':[" C("a", WITH("'privileged':true")) "]}}");
    struct pod_security s = {BASELINE, LATEST};
    struct pod_security_verdict v = pod_security_judge(&a, s, JVAL_ABSENT, jgetc(pod, "spec"));
    CHECK_CSTR(v.reasons, "host namespaces, privileged");
    arena_done(&a);
}

TEST(messages_about_many_containers_are_short)
{
    struct arena a = ARENA_INIT;
    struct strbuf b = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&b, "{'spec':{'containers':[");
    for (int i = 0; i < 16000; i++)
        strbuf_printf(&b, "%s{'name':'c%d'}", i ? "," : "", i);
    strbuf_add_cstr(&b, "]}}");
    strbuf_add_char(&b, 0);
    jval pod = parse(&a, b.p);
    struct pod_security s = {RESTRICTED, LATEST};
    struct pod_security_verdict v = pod_security_judge(&a, s, JVAL_ABSENT, jgetc(pod, "spec"));
    CHECK(str_find(v.details, STR("\"c48\", \"c49\" and 15950 more must set")) > 0);
    CHECK(v.details.len < 4096);
    strbuf_done(&b);
    arena_done(&a);
}

/* ---- labels ---- */

#define L(name) "'pod-security.kubernetes.io/" name "':"
#define NOT_A_LEVEL(label, value)                                                                \
    "metadata.labels[pod-security.kubernetes.io/" label "]: Invalid value: \"" value "\": must " \
    "be one of privileged, baseline, restricted"
#define NOT_A_VERSION(label, value)                                                              \
    "metadata.labels[pod-security.kubernetes.io/" label "]: Invalid value: \"" value "\": must " \
    "be \"latest\" or \"v1.x\""

static const struct {
    const char *labels, *policy, *errors;
} label_cases[] = {
    {"{}", "privileged:latest privileged:latest privileged:latest", ""},
    {"{'a':'b'}", "privileged:latest privileged:latest privileged:latest", ""},
    /* who enforces is warned too */
    {"{" L("enforce") "'restricted'}", "restricted:latest privileged:latest restricted:latest", ""},
    {"{" L("enforce") "'baseline'," L("enforce-version") "'v1.30'}",
     "baseline:v1.30 privileged:latest baseline:v1.30", ""},
    {"{" L("enforce") "'restricted'," L("warn") "'baseline'," L("warn-version") "'v1.2'}",
     "restricted:latest privileged:latest baseline:v1.2", ""},
    {"{" L("enforce") "'baseline'," L("warn-version") "'v1.2'}",
     "baseline:latest privileged:latest baseline:v1.2", ""},
    {"{" L("enforce") "'privileged'," L("warn") "'restricted'," L("audit") "'baseline'," L(
         "audit-version") "'v1.0'}",
     "privileged:latest baseline:v1.0 restricted:latest", ""},
    {"{" L("enforce") "'restricted'," L("enforce-version") "'v1.99999999999'}",
     "restricted:latest privileged:latest restricted:latest", ""},
    /* what cannot be read: closed where pods are refused, open where they are warned of */
    {"{" L("enforce") "'strict'}", "restricted:latest privileged:latest privileged:latest",
     NOT_A_LEVEL("enforce", "strict")},
    {"{" L("warn") "'Baseline'}", "privileged:latest privileged:latest privileged:latest",
     NOT_A_LEVEL("warn", "Baseline")},
    {"{" L("audit") "''}", "privileged:latest privileged:latest privileged:latest",
     NOT_A_LEVEL("audit", "")},
    {"{" L("enforce") "'baseline'," L("enforce-version") "'1.30'}",
     "baseline:latest privileged:latest baseline:latest", NOT_A_VERSION("enforce-version", "1.30")},
    {"{" L("warn-version") "'v1.03'}", "privileged:latest privileged:latest privileged:latest",
     NOT_A_VERSION("warn-version", "v1.03")},
    {"{" L("audit-version") "'v2.0'}", "privileged:latest privileged:latest privileged:latest",
     NOT_A_VERSION("audit-version", "v2.0")},
};

TEST(labels_say_which_level_holds)
{
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(label_cases); i++) {
        struct field_errors e;
        field_errors_init(&e, &a);
        struct pod_security_policy p = pod_security_policy_of(parse(&a, label_cases[i].labels), &e);
        str got = arena_printf(&a, "%s %s %s", pod_security_name(&a, p.enforce).p,
                               pod_security_name(&a, p.audit).p, pod_security_name(&a, p.warn).p);
        if (!CHECK_CSTR(got, label_cases[i].policy) ||
            !CHECK_CSTR(e.items.len ? field_errors_text(&a, &e) : STR(""), label_cases[i].errors))
            test_note("%s", label_cases[i].labels);
        field_errors_done(&e);
    }
    arena_done(&a);
}

TEST(updates_of_pods_are_judged_when_an_image_or_a_container_is_new)
{
    static const struct {
        const char *old, *new;
        bool judged;
    } updates[] = {
        {"{'containers':[{'image':'a'}]}", "{'containers':[{'image':'a','x':1}],'y':1}", false},
        {"{'containers':[{'image':'a'}]}", "{'containers':[{'image':'b'}]}", true},
        {"{'initContainers':[{'image':'a'}]}", "{'initContainers':[{'image':'b'}]}", true},
        {"{'containers':[]}", "{'ephemeralContainers':[{'image':'b'}]}", true},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(updates); i++)
        CHECK_INT(pod_security_is_new_ground(parse(&a, updates[i].old), parse(&a, updates[i].new)),
                  updates[i].judged);
    arena_done(&a);
}
