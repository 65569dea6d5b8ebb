/*
 * Kinds that the server keeps for others: what it adds, what it refuses, what it prints, and how
 * requests for certificates are approved. Words and values are kube-apiserver's.
 */
#include "apiserver/front/front.h"
#include "apiserver/test-apiserver-fixture.h"

#define POD_SPEC "'spec':{'containers':[{'name':'c','image':'x:1'}]}"
#define SELECTED \
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}}," POD_SPEC "}"
#define JOB_PODS(more)                                                                  \
    "'template':{'metadata':{'labels':{'l':'1'}},'spec':{'restartPolicy':'Never'," more \
    "'containers':[{'name':'c','image':'x:1'}]}}"
#define JOB(more) "{'metadata':{'name':'a'},'spec':{" more JOB_PODS("") "}}"
#define CLAIM "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}"
#define STATEFUL(more)                                                                        \
    "{'metadata':{'name':'a'},'spec':{'serviceName':'s','volumeClaimTemplates':[{'metadata':" \
    "{'name':'d'}," CLAIM "}]," SELECTED more "}}"
#define CLASS(more) "{'metadata':{'name':'a'},'provisioner':'p'" more "}"
#define REQUEST(more)                                                                           \
    "{'metadata':{'name':'a'},'spec':{'request':'" REQUEST_DEV "','signerName':'example.com/s'" \
    ",'usages':['client auth']" more "}}"

static const char *ns_of(const struct kind *k)
{
    return kind_is(k, KIND_NAMESPACED) ? "ns" : "";
}

/* ---- what is added ---- */

static const struct {
    const struct kind *kind;
    const char *body, *path, *want;
} added[] = {
    {&kind_daemon_set, "{'metadata':{'name':'a'},'spec':{" SELECTED "}}", "spec.updateStrategy",
     "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":1,\"maxSurge\":0}}"},
    {&kind_daemon_set, "{'metadata':{'name':'a'},'spec':{" SELECTED "}}",
     "spec.revisionHistoryLimit", "10"},
    {&kind_daemon_set,
     "{'metadata':{'name':'a'},'spec':{'updateStrategy':{'type':'OnDelete'}," SELECTED "}}",
     "spec.updateStrategy", "{\"type\":\"OnDelete\"}"},
    {&kind_stateful_set, STATEFUL(""), "spec.podManagementPolicy", "OrderedReady"},
    {&kind_stateful_set, STATEFUL(""), "spec.replicas", "1"},
    {&kind_stateful_set, STATEFUL(""), "spec.updateStrategy",
     "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}"},
    {&kind_stateful_set, STATEFUL(""), "spec.persistentVolumeClaimRetentionPolicy",
     "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}"},
    {&kind_stateful_set, STATEFUL(""), "spec.volumeClaimTemplates[0].kind",
     "PersistentVolumeClaim"},
    {&kind_stateful_set, STATEFUL(""), "spec.volumeClaimTemplates[0].status.phase", "Pending"},
    {&kind_stateful_set, STATEFUL(""), "spec.volumeClaimTemplates[0].spec.volumeMode",
     "Filesystem"},
    {&kind_job, JOB(""), "spec.completions", "1"},
    {&kind_job, JOB(""), "spec.parallelism", "1"},
    {&kind_job, JOB("'parallelism':3,"), "spec.completions", ""},
    {&kind_job, JOB(""), "spec.backoffLimit", "6"},
    {&kind_job, JOB("'completionMode':'Indexed','completions':2,'backoffLimitPerIndex':1,"),
     "spec.backoffLimit", "2147483647"},
    {&kind_job, JOB(""), "spec.completionMode", "NonIndexed"},
    {&kind_job, JOB(""), "spec.podReplacementPolicy", "TerminatingOrFailed"},
    {&kind_job, JOB(""), "metadata.labels.l", "1"},
    {&kind_job, JOB(""), "metadata.generation", "1"},
    {&kind_cron_job,
     "{'metadata':{'name':'a'},'spec':{'schedule':'@daily','jobTemplate':{'spec':{" JOB_PODS(
         "") "}}}}",
     "spec.successfulJobsHistoryLimit", "3"},
    {&kind_cron_job,
     "{'metadata':{'name':'a'},'spec':{'schedule':'@daily','jobTemplate':{'spec':{" JOB_PODS(
         "") "}}}}",
     "spec.jobTemplate.spec.backoffLimit", ""},
    {&kind_replication_controller,
     "{'metadata':{'name':'a'},'spec':{'template':{'metadata':{'labels':{'a':'b'}}," POD_SPEC "}}}",
     "spec.selector", "{\"a\":\"b\"}"},
    {&kind_persistent_volume_claim, "{'metadata':{'name':'a'}," CLAIM "}", "status.phase",
     "Pending"},
    {&kind_persistent_volume,
     "{'metadata':{'name':'a'},'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':"
     "'1Gi'},'nfs':{'server':'s','path':'/'}}}",
     "spec.persistentVolumeReclaimPolicy", "Retain"},
    {&kind_storage_class, CLASS(""), "reclaimPolicy", "Delete"},
    {&kind_storage_class, CLASS(""), "volumeBindingMode", "Immediate"},
    {&kind_csi_driver, "{'metadata':{'name':'a'},'spec':{}}", "spec.attachRequired", "true"},
    {&kind_csi_driver, "{'metadata':{'name':'a'},'spec':{}}", "spec.volumeLifecycleModes",
     "[\"Persistent\"]"},
    {&kind_network_policy, "{'metadata':{'name':'a'},'spec':{'podSelector':{}}}",
     "spec.policyTypes", "[\"Ingress\"]"},
    {&kind_network_policy, "{'metadata':{'name':'a'},'spec':{'podSelector':{},'egress':[{}]}}",
     "spec.policyTypes", "[\"Ingress\",\"Egress\"]"},
    {&kind_flow_schema,
     "{'metadata':{'name':'a'},'spec':{'priorityLevelConfiguration':{'name':'l'}}}",
     "spec.matchingPrecedence", "1000"},
    {&kind_priority_level,
     "{'metadata':{'name':'a'},'spec':{'type':'Limited','limited':{'limitResponse':{'type':'Queue'"
     ",'queuing':{}}}}}",
     "spec.limited.limitResponse.queuing",
     "{\"queues\":64,\"handSize\":8,\"queueLengthLimit\":50}"},
    {&kind_validating_policy,
     "{'metadata':{'name':'a'},'spec':{'validations':[{'expression':'true'}],"
     "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':[''],"
     "'apiVersions':['v1'],'resources':['pods']}]}}}",
     "spec.matchConstraints.matchPolicy", "Equivalent"},
    {&kind_validating_policy,
     "{'metadata':{'name':'a'},'spec':{'validations':[{'expression':'true'}],"
     "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':[''],"
     "'apiVersions':['v1'],'resources':['pods']}]}}}",
     "spec.failurePolicy", "Fail"},
    {&kind_api_service,
     "{'metadata':{'name':'v1.g'},'spec':{'group':'g','version':'v1','groupPriorityMinimum':1,"
     "'versionPriority':1}}",
     "status.conditions[0].reason", "Local"},
    {&kind_signing_request, REQUEST(",'username':'somebody','groups':['x'],'uid':'u'"),
     "spec.username", "admin"},
    {&kind_signing_request, REQUEST(",'username':'somebody','groups':['x'],'uid':'u'"),
     "spec.groups", "[\"system:masters\"]"},
    {&kind_signing_request, REQUEST(",'username':'somebody','uid':'u'"), "spec.uid", ""},
};

/* "spec.list[0].name" */
static str value_at(struct fixture *f, const char *path)
{
    str rest = str_of(path);
    jval v = doc_root(f->doc);
    while (rest.len) {
        str key = str_cut(&rest, '.'), index = key;
        key = str_cut(&index, '[');
        v = jget(v, key);
        if (index.len)
            v = jat(v, (size_t)(index.p[0] - '0'));
    }
    return jtype(v) == J_STRING ? jstr(v) : j_has(v) ? jtext(v) : STR_NONE;
}

TEST(kept_kinds_get_their_defaults)
{
    for (size_t i = 0; i < ARRAY_LEN(added); i++) {
        struct fixture f;
        fixture_init(&f);
        bool ok = CHECK_INT(create(&f, added[i].kind, ns_of(added[i].kind), added[i].body), 201);
        ok &= CHECK_CSTR(value_at(&f, added[i].path), added[i].want);
        if (!ok)
            test_note("%s %s: %.*s", added[i].kind->kind, added[i].path, STR_ARG(f.message));
        fixture_done(&f);
    }
}

TEST(pods_of_a_job_are_told_apart_by_its_uid)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_job, "ns", JOB("")), 201);
    str uid = field(&f, "metadata.uid");
    jval spec = jgetc(doc_root(f.doc), "spec"), labels = jpath(spec, "template.metadata.labels");
    CHECK_STR(
        jstr(jget(jpath(spec, "selector.matchLabels"), STR("batch.kubernetes.io/controller-uid"))),
        uid);
    CHECK_STR(jstr(jgetc(labels, "controller-uid")), uid);
    CHECK_CSTR(jstr(jget(labels, STR("batch.kubernetes.io/job-name"))), "a");
    CHECK_CSTR(jstr(jgetc(labels, "l")), "1");
    CHECK_INT(patch(&f, &kind_job, "ns", "a", API_PATCH_MERGE, "{'spec':{'suspend':true}}"), 200);
    CHECK_CSTR(field(&f, "metadata.generation"), "2");
    fixture_done(&f);
}

/* ---- what is refused ---- */

static const struct {
    const struct kind *kind;
    const char *body;
    const char *patch; /* NULL: the body itself is refused */
    const char *message;
} refused[] = {
    {&kind_job, "{'metadata':{'name':'a'},'spec':{'template':{" POD_SPEC "}}}", NULL,
     "Job.batch \"a\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "
     "\"OnFailure\", \"Never\""},
    {&kind_job, JOB("'completionMode':'Indexed','parallelism':1,"), NULL,
     "Job.batch \"a\" is invalid: spec.completions: Required value: when completion mode is "
     "Indexed"},
    {&kind_job, JOB("'backoffLimit':-1,"), NULL,
     "Job.batch \"a\" is invalid: spec.backoffLimit: Invalid value: -1: must be greater than or "
     "equal to 0"},
    {&kind_job, JOB(""), "{'spec':{'completionMode':'Indexed'}}",
     "Job.batch \"a\" is invalid: spec.completionMode: Invalid value: \"Indexed\": field is "
     "immutable"},
    {&kind_cron_job,
     "{'metadata':{'name':'a'},'spec':{'schedule':'often','jobTemplate':{'spec':{" JOB_PODS(
         "") "}}}}",
     NULL,
     "CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"often\": expected exactly 5 "
     "fields, found 1: [often]"},
    {&kind_stateful_set, STATEFUL(""), "{'spec':{'serviceName':'other'}}",
     "StatefulSet.apps \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields "
     "other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
     "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
    {&kind_stateful_set, STATEFUL(",'podManagementPolicy':'Odd'"), NULL,
     "StatefulSet.apps \"a\" is invalid: spec.podManagementPolicy: Unsupported value: \"Odd\": "
     "supported values: \"OrderedReady\", \"Parallel\""},
    {&kind_daemon_set,
     "{'metadata':{'name':'a'},'spec':{'selector':{'matchLabels':{'a':'c'}},'template':{'metadata'"
     ":{'labels':{'a':'b'}}," POD_SPEC "}}}",
     NULL,
     "DaemonSet.apps \"a\" is invalid: spec.template.metadata.labels: Invalid value: "
     "{\"a\":\"b\"}: `selector` does not match template `labels`"},
    {&kind_replication_controller, "{'metadata':{'name':'a'},'spec':{'selector':{'a':'b'}}}", NULL,
     "ReplicationController \"a\" is invalid: spec.template: Required value"},
    {&kind_persistent_volume,
     "{'metadata':{'name':'a'},'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':"
     "'1Gi'}}}",
     NULL, "PersistentVolume \"a\" is invalid: spec: Required value: must specify a volume type"},
    {&kind_persistent_volume_claim,
     "{'metadata':{'name':'a'},'spec':{'accessModes':['ReadWriteOnce']}}", NULL,
     "PersistentVolumeClaim \"a\" is invalid: spec.resources.requests[storage]: Required value"},
    {&kind_persistent_volume_claim, "{'metadata':{'name':'a'}," CLAIM "}",
     "{'spec':{'storageClassName':'x'}}",
     "PersistentVolumeClaim \"a\" is invalid: spec: Forbidden: spec is immutable after creation "
     "except resources.requests and volumeAttributesClassName for bound claims"},
    {&kind_priority_class, "{'metadata':{'name':'a'},'value':1000000001}", NULL,
     "PriorityClass.scheduling.k8s.io \"a\" is invalid: value: Forbidden: maximum allowed value of "
     "a user defined priority is 1000000000"},
    {&kind_priority_class, "{'metadata':{'name':'system-x'},'value':1}", NULL,
     "PriorityClass.scheduling.k8s.io \"system-x\" is invalid: metadata.name: Forbidden: priority "
     "class names with 'system-' prefix are reserved for system use only. error: system-x is not "
     "a known system priority class"},
    {&kind_priority_class, "{'metadata':{'name':'a'},'value':7}", "{'value':8}",
     "PriorityClass.scheduling.k8s.io \"a\" is invalid: value: Forbidden: may not be changed in an "
     "update."},
    {&kind_storage_class, "{'metadata':{'name':'a'}}", NULL,
     "StorageClass.storage.k8s.io \"a\" is invalid: provisioner: Required value"},
    {&kind_storage_class, CLASS(""), "{'provisioner':'q'}",
     "StorageClass.storage.k8s.io \"a\" is invalid: provisioner: Forbidden: updates to provisioner "
     "are forbidden."},
    {&kind_volume_attachment,
     "{'metadata':{'name':'a'},'spec':{'attacher':'d','nodeName':'n',"
     "'source':{}}}",
     NULL,
     "VolumeAttachment.storage.k8s.io \"a\" is invalid: spec.source: Required value: must specify "
     "exactly one of inlineVolumeSpec and persistentVolumeName"},
    {&kind_ingress, "{'metadata':{'name':'a'},'spec':{}}", NULL,
     "Ingress.networking.k8s.io \"a\" is invalid: spec: Invalid value: null: either "
     "`defaultBackend` or `rules` must be specified"},
    {&kind_ingress,
     "{'metadata':{'name':'a'},'spec':{'rules':[{'http':{'paths':[{'path':'x','pathType':'Prefix',"
     "'backend':{'service':{'name':'s','port':{'number':80}}}}]}}]}}",
     NULL,
     "Ingress.networking.k8s.io \"a\" is invalid: spec.rules[0].http.paths[0].path: Invalid value: "
     "\"x\": must be an absolute path"},
    {&kind_network_policy,
     "{'metadata':{'name':'a'},'spec':{'podSelector':{},'policyTypes':['Sideways']}}", NULL,
     "NetworkPolicy.networking.k8s.io \"a\" is invalid: spec.policyTypes[0]: Unsupported value: "
     "\"Sideways\": supported values: \"Egress\", \"Ingress\""},
    {&kind_runtime_class, "{'metadata':{'name':'a'},'handler':'h'}", "{'handler':'i'}",
     "RuntimeClass.node.k8s.io \"a\" is invalid: handler: Invalid value: \"i\": field is "
     "immutable"},
    {&kind_api_service,
     "{'metadata':{'name':'v2.g'},'spec':{'group':'g','version':'v1','groupPriorityMinimum':1,"
     "'versionPriority':1}}",
     NULL,
     "APIService.apiregistration.k8s.io \"v2.g\" is invalid: metadata.name: Invalid value: "
     "\"v2.g\": must be `spec.version+\".\"+spec.group`: \"v1.g\""},
    {&kind_signing_request, REQUEST(",'expirationSeconds':5"), NULL,
     "CertificateSigningRequest.certificates.k8s.io \"a\" is invalid: spec.expirationSeconds: "
     "Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)"},
};

TEST(kept_kinds_refuse_what_is_wrong)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct fixture f;
        const struct kind *k = refused[i].kind;
        fixture_init(&f);
        CHECK_INT(create(&f, k, ns_of(k), refused[i].body), refused[i].patch ? 201 : 422);
        if (refused[i].patch)
            CHECK_INT(patch(&f, k, ns_of(k), "a", API_PATCH_MERGE, refused[i].patch), 422);
        CHECK_CSTR(f.message, refused[i].message);
        fixture_done(&f);
    }
}

/* ---- runtime classes ---- */

TEST(pods_get_what_their_runtime_class_says)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", ",'runtimeClassName':'r'")), 403);
    CHECK_CSTR(f.message, "pods \"p\" is forbidden: pod rejected: RuntimeClass \"r\" not found");
    CHECK_INT(create(&f, &kind_runtime_class, "",
                     "{'metadata':{'name':'r'},'handler':'h','overhead':{'podFixed':{'cpu':'10m'}},"
                     "'scheduling':{'nodeSelector':{'k':'v'},'tolerations':[{'key':'t'}]}}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", ",'runtimeClassName':'r'")), 201);
    CHECK_CSTR(field(&f, "spec.overhead"), "{\"cpu\":\"10m\"}");
    CHECK_CSTR(field(&f, "spec.nodeSelector"), "{\"k\":\"v\"}");
    CHECK_INT(jlen(jpath(doc_root(f.doc), "spec.tolerations")), 3);
    CHECK_INT(
        create(&f, &kind_pod, "ns", POD("q", ",'runtimeClassName':'r','nodeSelector':{'k':'w'}")),
        403);
    CHECK_CSTR(f.message, "pods \"q\" is forbidden: conflict: "
                          "runtimeClass.scheduling.nodeSelector[k] = v; pod.spec.nodeSelector[k] = "
                          "w");
    fixture_done(&f);
}

/* ---- certificates ---- */

static int approve(struct fixture *f, const char *json)
{
    return patch_sub(f, &kind_signing_request, "", "a", "approval", API_PATCH_MERGE, json);
}

TEST(approval_writes_conditions_and_nothing_else)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_signing_request, "", REQUEST("")), 201);
    CHECK_INT(approve(&f,
                      "{'spec':{'signerName':'example.com/other'},'status':{'certificate':"
                      "'eA==','conditions':[{'type':'Approved','status':'True','reason':'R'}]}}"),
              200);
    CHECK_CSTR(field(&f, "spec.signerName"), "example.com/s");
    CHECK_CSTR(field(&f, "status.certificate"), "");
    CHECK_CSTR(value_at(&f, "status.conditions[0].type"), "Approved");
    CHECK_CSTR(value_at(&f, "status.conditions[0].lastUpdateTime"), "2026-11-15T00:00:01Z");
    CHECK_CSTR(value_at(&f, "status.conditions[0].lastTransitionTime"), "2026-11-15T00:00:01Z");
    CHECK_INT(approve(&f, "{'status':{'conditions':[]}}"), 422);
    CHECK_CSTR(f.message,
               "CertificateSigningRequest.certificates.k8s.io \"a\" is invalid: status.conditions: "
               "Forbidden: updates may not remove a condition of type \"Approved\"");
    CHECK_INT(approve(&f, "{'status':{'conditions':[{'type':'Approved','status':'True'},{'type':"
                          "'Denied','status':'True'}]}}"),
              422);
    CHECK(str_find(f.message, STR("Approved and Denied conditions are mutually exclusive")) > 0);
    CHECK_INT(approve(&f, "{'status':{'conditions':[{'type':'Approved','status':'False'}]}}"), 422);
    fixture_done(&f);
}

TEST(signers_write_certificates_and_pass_no_verdict)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_signing_request, "", REQUEST("")), 201);
    CHECK_INT(patch_sub(&f, &kind_signing_request, "", "a", "status", API_PATCH_MERGE,
                        "{'status':{'certificate':'eA==','conditions':[{'type':'Approved',"
                        "'status':'True'}]}}"),
              200);
    CHECK_CSTR(field(&f, "status.certificate"), "eA==");
    CHECK_CSTR(value_at(&f, "status.conditions[0].type"), "");
    CHECK_INT(patch_sub(&f, &kind_signing_request, "", "a", "status", API_PATCH_MERGE,
                        "{'status':{'conditions':[{'type':'Failed','status':'True'}]}}"),
              200);
    CHECK_CSTR(value_at(&f, "status.conditions[0].type"), "Failed");
    /* neither is written through the object itself */
    CHECK_INT(patch(&f, &kind_signing_request, "", "a", API_PATCH_MERGE,
                    "{'spec':{'usages':['any']},'status':{'certificate':null}}"),
              200);
    CHECK_CSTR(field(&f, "status.certificate"), "eA==");
    CHECK_CSTR(field(&f, "spec.usages"), "[\"client auth\"]");
    fixture_done(&f);
}

#define RULE(verbs, resources, more) \
    "{'apiGroups':['certificates.k8s.io'],'resources':[" resources "],'verbs':[" verbs "]" more "}"

TEST(approvers_need_a_right_on_the_signer)
{
    static const char approved[] =
        "{'status':{'conditions':[{'type':'Approved','status':'True'}]}}";
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_signing_request, "", REQUEST("")), 201);
    CHECK_INT(create(&f, &kind_cluster_role, "",
                     "{'metadata':{'name':'r'},'rules':[" RULE(
                         "'patch'", "'certificatesigningrequests/approval'", "") "]}"),
              201);
    CHECK_INT(create(&f, &kind_cluster_role_binding, "",
                     "{'metadata':{'name':'r'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
                     "'kind':'ClusterRole','name':'r'},'subjects':[{'kind':'User','name':'bob',"
                     "'apiGroup':'rbac.authorization.k8s.io'}]}"),
              201);
    struct user admin = f.user;
    f.user = (struct user){.name = STR("bob")};
    CHECK_INT(approve(&f, approved), 403);
    CHECK_CSTR(f.message,
               "certificatesigningrequests.certificates.k8s.io \"a\" is forbidden: user not "
               "permitted to approve requests with signerName \"example.com/s\"");
    f.user = admin;
    CHECK_INT(patch(&f, &kind_cluster_role, "", "r", API_PATCH_JSON,
                    "[{'op':'add','path':'/rules/-','value':" RULE(
                        "'approve'", "'signers'", ",'resourceNames':['example.com/*']") "}]"),
              200);
    f.user = (struct user){.name = STR("bob")};
    CHECK_INT(approve(&f, approved), 200);
    fixture_done(&f);
}

/* ---- what is printed ---- */

static const struct {
    const struct kind *kind;
    const char *body, *cells;
} printed[] = {
    {&kind_daemon_set, "{'metadata':{'name':'a'},'spec':{" SELECTED "}}",
     "[\"a\",0,0,0,0,0,\"<none>\",\"0s\",\"c\",\"x:1\",\"a=b\"]"},
    {&kind_stateful_set, STATEFUL(",'replicas':3"), "[\"a\",\"0/3\",\"0s\",\"c\",\"x:1\"]"},
    {&kind_cron_job,
     "{'metadata':{'name':'a'},'spec':{'schedule':'@daily','jobTemplate':{'spec':{" JOB_PODS(
         "") "}}}}",
     "[\"a\",\"@daily\",\"<none>\",\"False\",0,\"<none>\",\"0s\",\"c\",\"x:1\",\"<none>\"]"},
    {&kind_replication_controller,
     "{'metadata':{'name':'a'},'spec':{'replicas':2,'template':{'metadata':{'labels':{'a':'b'}}"
     "," POD_SPEC "}}}",
     "[\"a\",2,0,0,\"0s\",\"c\",\"x:1\",\"a=b\"]"},
    {&kind_persistent_volume,
     "{'metadata':{'name':'a'},'spec':{'accessModes':['ReadWriteMany','ReadWriteOnce'],'capacity':"
     "{'storage':'1Gi'},'nfs':{'server':'s','path':'/'},'storageClassName':'sc','claimRef':{"
     "'namespace':'n','name':'c'}}}",
     "[\"a\",\"1Gi\",\"RWO,RWX\",\"Retain\",\"Pending\",\"n/c\",\"sc\",\"<unset>\",\"\",\"0s\","
     "\"Filesystem\"]"},
    {&kind_persistent_volume_claim, "{'metadata':{'name':'a'}," CLAIM "}",
     "[\"a\",\"Pending\",\"\",\"\",\"\",\"\",\"<unset>\",\"0s\",\"Filesystem\"]"},
    {&kind_storage_class,
     "{'metadata':{'name':'a','annotations':{'storageclass.kubernetes.io/is-default-class':'true'}"
     "},'provisioner':'p'}",
     "[\"a (default)\",\"p\",\"Delete\",\"Immediate\",false,\"0s\"]"},
    {&kind_ingress,
     "{'metadata':{'name':'a'},'spec':{'tls':[{}],'rules':[{'host':'h','http':{'paths':[{'path':"
     "'/','pathType':'Prefix','backend':{'service':{'name':'s','port':{'number':80}}}}]}}]}}",
     "[\"a\",\"<none>\",\"h\",\"\",\"80, 443\",\"0s\"]"},
    {&kind_network_policy,
     "{'metadata':{'name':'a'},'spec':{'podSelector':{'matchLabels':{'a':'b'}}}}",
     "[\"a\",\"a=b\",\"0s\"]"},
    {&kind_signing_request, REQUEST(",'expirationSeconds':86400"),
     "[\"a\",\"0s\",\"example.com/s\",\"admin\",\"24h\",\"Pending\"]"},
    {&kind_priority_level,
     "{'metadata':{'name':'a'},'spec':{'type':'Limited','limited':{'limitResponse':{'type':'Queue'"
     ",'queuing':{}}}}}",
     "[\"a\",\"Limited\",30,64,8,50,\"0s\"]"},
    {&kind_api_service,
     "{'metadata':{'name':'v1.g'},'spec':{'group':'g','version':'v1','groupPriorityMinimum':1,"
     "'versionPriority':1}}",
     "[\"v1.g\",\"Local\",\"True\",\"0s\"]"},
};

TEST(kept_kinds_are_printed)
{
    for (size_t i = 0; i < ARRAY_LEN(printed); i++) {
        struct fixture f;
        const struct kind *k = printed[i].kind;
        struct jw w;
        fixture_init(&f);
        CHECK_INT(create(&f, k, ns_of(k), printed[i].body), 201);
        jw_init(&w);
        table_row(&w, f.obj, TABLE_INCLUDE_NONE, obj_created(f.obj));
        struct doc *d = jw_doc(&w);
        CHECK_CSTR(jtext(jgetc(doc_root(d), "cells")), printed[i].cells);
        doc_unref(d);
        fixture_done(&f);
    }
}
