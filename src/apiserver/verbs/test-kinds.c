/*
 * Every built-in kind through its whole life, by one test over the registry: created in JSON and in
 * protobuf, read, listed, watched, patched in every way, applied, replaced, deleted. What differs
 * between kinds is the smallest object that is valid, which stands in a table.
 */
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"
#include "kube/schema.h"
#include "kube/test-proto-fixture.h"

#define PODS                                                                         \
    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c'," \
    "'image':'x:1'}]}}"
#define SELECTED "'selector':{'matchLabels':{'a':'b'}}," PODS
#define JOB                                                                          \
    "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':" \
    "'x:1'}]}}"
#define ROLE_REF(kind) \
    "'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'" kind "','name':'r'}"
#define MATCHES                                                                        \
    "'matchConstraints':{'resourceRules':[{'apiGroups':['apps'],'apiVersions':['v1']," \
    "'operations':['CREATE'],'resources':['deployments'],'resourceNames':['n']}]}"
#define WEBHOOKS                                                                  \
    "'webhooks':[{'name':'a.b.c','clientConfig':{'url':'https://example.com/x'}," \
    "'sideEffects':'None','admissionReviewVersions':['v1']}]"

/* What stands behind apiVersion, kind and metadata. */
static const struct sample {
    const struct kind *kind;
    const char *rest;
    const char *name; /* NULL: "a" */
} samples[] = {
    {&kind_config_map, "'data':{'k':'v'}", NULL},
    {&kind_endpoints, "'subsets':[{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'port':80}]}]", NULL},
    {&kind_event, "'involvedObject':{'kind':'Pod','namespace':'ns','name':'p'},'reason':'R'", NULL},
    {&kind_namespace, "'spec':{}", NULL},
    {&kind_node, "'spec':{'podCIDR':'10.0.0.0/24'}", NULL},
    {&kind_persistent_volume_claim,
     "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}", NULL},
    {&kind_persistent_volume,
     "'spec':{'accessModes':['ReadWriteOnce'],'capacity':{'storage':'1Gi'},'csi':{'driver':'d',"
     "'volumeHandle':'h'},'claimRef':{'namespace':'ns','name':'c'}}",
     NULL},
    {&kind_pod, "'spec':{'containers':[{'name':'c','image':'x:1'}]}", NULL},
    {&kind_pod_template, PODS, NULL},
    {&kind_replication_controller, "'spec':{'replicas':2,'selector':{'a':'b'}," PODS "}", NULL},
    {&kind_secret, "'type':'Opaque','data':{'k':'dg=='}", NULL},
    {&kind_service_account, "'automountServiceAccountToken':true", NULL},
    {&kind_service, "'spec':{'ports':[{'port':80,'targetPort':'web'}],'selector':{'a':'b'}}", NULL},
    {&kind_controller_revision, "'revision':1,'data':{'x':1}", NULL},
    {&kind_daemon_set, "'spec':{" SELECTED "}", NULL},
    {&kind_deployment, "'spec':{'replicas':2," SELECTED "}", NULL},
    {&kind_replica_set, "'spec':{'replicas':2," SELECTED "}", NULL},
    {&kind_stateful_set,
     "'spec':{'replicas':2,'serviceName':'s','volumeClaimTemplates':[{'metadata':{'name':'d'},"
     "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}]"
     "," SELECTED "}",
     NULL},
    {&kind_events_event,
     "'regarding':{'kind':'Pod','namespace':'ns','name':'p'},'reason':'R','type':'Normal',"
     "'action':'A','reportingController':'c/d','reportingInstance':'i',"
     "'eventTime':'2026-11-15T00:00:01.000000Z'",
     NULL},
    {&kind_hpa, "'spec':{'maxReplicas':3,'scaleTargetRef':{'kind':'Deployment','name':'d'}}", NULL},
    {&kind_hpa_v1, "'spec':{'maxReplicas':3,'scaleTargetRef':{'kind':'Deployment','name':'d'}}",
     NULL},
    {&kind_cron_job, "'spec':{'schedule':'*/5 * * * *','jobTemplate':{'spec':{" JOB "}}}", NULL},
    {&kind_job, "'spec':{'completions':0," JOB "}", NULL},
    {&kind_signing_request,
     "'spec':{'request':'" REQUEST_DEV "','signerName':'example.com/s','usages':['client auth']}",
     NULL},
    {&kind_cluster_trust_bundle, "'spec':{'trustBundle':'pem'}", NULL},
    {&kind_pod_certificate_request,
     "'spec':{'signerName':'example.com/s','podName':'p','podUID':'u','serviceAccountName':'s',"
     "'serviceAccountUID':'u','nodeName':'n','nodeUID':'u','stubPKCS10Request':'eA=='}",
     NULL},
    {&kind_ingress_class,
     "'spec':{'controller':'example.com/c','parameters':{'kind':'K','name':'n'}}", NULL},
    {&kind_ingress,
     "'spec':{'rules':[{'host':'h.example.com','http':{'paths':[{'path':'/','pathType':'Prefix',"
     "'backend':{'service':{'name':'s','port':{'number':80}}}}]}}]}",
     NULL},
    {&kind_ip_address, "'spec':{'parentRef':{'resource':'services','namespace':'ns','name':'s'}}",
     "10.96.1.1"},
    {&kind_network_policy,
     "'spec':{'podSelector':{'matchLabels':{'a':'b'}},'ingress':[{'ports':[{'port':80}],'from':[{"
     "'ipBlock':{'cidr':'10.0.0.0/8'}}]}]}",
     NULL},
    {&kind_service_cidr, "'spec':{'cidrs':['10.97.0.0/16']}", NULL},
    {&kind_pdb, "'spec':{'minAvailable':1,'selector':{'matchLabels':{'a':'b'}}}", NULL},
    {&kind_cluster_role_binding,
     ROLE_REF("ClusterRole") ",'subjects':[{'apiGroup':'rbac.authorization.k8s.io','kind':'User',"
                             "'name':'u'}]",
     NULL},
    {&kind_cluster_role, "'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['get']}]", NULL},
    {&kind_role_binding, ROLE_REF("Role"), NULL},
    {&kind_role, "'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['get']}]", NULL},
    {&kind_csi_driver, "'spec':{'attachRequired':false,'volumeLifecycleModes':['Ephemeral']}",
     NULL},
    {&kind_csi_node, "'spec':{'drivers':[{'name':'d','nodeID':'n','topologyKeys':['z']}]}", NULL},
    {&kind_csi_storage_capacity, "'storageClassName':'s','capacity':'1Gi'", NULL},
    {&kind_storage_class, "'provisioner':'example.com/p','parameters':{'k':'v'}", NULL},
    {&kind_volume_attachment,
     "'spec':{'attacher':'d','nodeName':'n','source':{'persistentVolumeName':'v'}}", NULL},
    {&kind_volume_attributes_class, "'driverName':'d','parameters':{'k':'v'}", NULL},
    {&kind_priority_class, "'value':5", NULL},
    {&kind_lease, "'spec':{'holderIdentity':'h','renewTime':'2026-11-15T00:00:01.000002Z'}", NULL},
    {&kind_lease_candidate,
     "'spec':{'leaseName':'l','binaryVersion':'1.36.0','strategy':'OldestEmulationVersion',"
     "'pingTime':'2026-11-15T00:00:01.000002Z'}",
     NULL},
    {&kind_runtime_class, "'handler':'h','overhead':{'podFixed':{'cpu':'10m'}}", NULL},
    {&kind_endpoint_slice,
     "'addressType':'IPv4','endpoints':[{'addresses':['10.0.0.1']}],'ports':[{'port':80}]", NULL},
    {&kind_flow_schema,
     "'spec':{'priorityLevelConfiguration':{'name':'l'},'rules':[{'subjects':[{'kind':'User',"
     "'user':{'name':'u'}}],'nonResourceRules':[{'verbs':['*'],'nonResourceURLs':['/x']}]}]}",
     NULL},
    {&kind_priority_level,
     "'spec':{'type':'Limited','limited':{'nominalConcurrencyShares':5,'limitResponse':{'type':"
     "'Queue','queuing':{'queues':4}}}}",
     NULL},
    {&kind_mutating_policy,
     "'spec':{'reinvocationPolicy':'Never','mutations':[{'patchType':'JSONPatch','jsonPatch':{"
     "'expression':'[]'}}]," MATCHES "}",
     NULL},
    {&kind_mutating_policy_binding, "'spec':{'policyName':'p'}", NULL},
    {&kind_mutating_webhook, WEBHOOKS, NULL},
    {&kind_validating_policy, "'spec':{'validations':[{'expression':'true'}]," MATCHES "}", NULL},
    {&kind_validating_policy_binding, "'spec':{'policyName':'p','validationActions':['Audit']}",
     NULL},
    {&kind_validating_webhook, WEBHOOKS, NULL},
    {&kind_crd,
     "'spec':{'group':'example.com','scope':'Cluster','names':{'plural':'things','kind':'Thing'},"
     "'versions':[{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':"
     "'object'}}}]}",
     "things.example.com"},
    {&kind_device_class, "'spec':{'selectors':[{'cel':{'expression':'true'}}]}", NULL},
    {&kind_resource_claim,
     "'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'d'}}]}}", NULL},
    {&kind_resource_claim_template,
     "'spec':{'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'d'}}]}}}",
     NULL},
    {&kind_resource_slice,
     "'spec':{'driver':'d','nodeName':'n','pool':{'name':'p','generation':1,"
     "'resourceSliceCount':1},'devices':[{'name':'g'}]}",
     NULL},
    {&kind_device_taint_rule,
     "'spec':{'deviceSelector':{'driver':'d'},'taint':{'key':'k','effect':'NoSchedule'}}", NULL},
    {&kind_api_service,
     "'spec':{'group':'example.com','version':'v1','groupPriorityMinimum':100,'versionPriority':15"
     "}",
     "v1.example.com"},
    {&kind_resource_claim_v1beta1,
     "'spec':{'devices':{'requests':[{'name':'r','deviceClassName':'d'}]}}", NULL},
    {&kind_resource_claim_template_v1beta1,
     "'spec':{'spec':{'devices':{'requests':[{'name':'r','deviceClassName':'d'}]}}}", NULL},
    {&kind_resource_slice_v1beta1,
     "'spec':{'driver':'d','nodeName':'n','pool':{'name':'p','generation':1,"
     "'resourceSliceCount':1},'devices':[{'name':'g','basic':{}}]}",
     NULL},
    {&kind_scheduling_pod_group, "'spec':{'schedulingPolicy':{'gang':{'minCount':2}}}", NULL},
    {&kind_workload, "'spec':{'podGroupTemplates':[{'name':'t','schedulingPolicy':{'basic':{}}}]}",
     NULL},
    {&kind_composite_pod_group, "'spec':{'schedulingPolicy':{'gang':{'minGroupCount':2}}}", NULL},
    {&kind_pool_status_request, "'spec':{'driver':'d'}", NULL},
    {&kind_storage_version, "'spec':{}", NULL},
    {&kind_storage_migration, "'spec':{'resource':{'group':'','resource':'pods'}}", NULL},
};

struct life {
    struct fixture f;
    const struct sample *s;
    const struct kind *k;
    const char *ns, *name;
    bool ok;
    struct api_watch watch;
    struct strbuf told;
};

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char letters[] = {
        [API_ADDED] = 'A', [API_MODIFIED] = 'M', [API_DELETED] = 'D', [API_BOOKMARK] = 'B'};
    struct life *l = w->ctx;
    (void)rv;
    (void)initial_end;
    if (o && str_is(o->name, l->name))
        strbuf_add_char(&l->told, letters[type]);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct life *l = w->ctx;
    (void)why;
    strbuf_add_char(&l->told, 'E');
}

static const char *text(struct life *l, const char *rest, const char *meta)
{
    char api[256];
    str version = kind_api_version(l->k, api, sizeof(api));
    return text_of(&l->f, "{'apiVersion':'%.*s','kind':'%s','metadata':{'name':'%s'%s}%s%s}",
                   STR_ARG(version), l->k->kind, l->name, meta, *rest ? "," : "", rest)
        .p;
}

/* The last answer is such an object. */
static void check_object(struct life *l)
{
    char api[256];
    l->ok &= CHECK_STR(field(&l->f, "apiVersion"), kind_api_version(l->k, api, sizeof(api)));
    l->ok &= CHECK_CSTR(field(&l->f, "kind"), l->k->kind);
    l->ok &= CHECK_CSTR(field(&l->f, "metadata.name"), l->name);
    l->ok &= CHECK_CSTR(field(&l->f, "metadata.namespace"), l->ns);
}

static void check_made(struct life *l)
{
    const char *json = text(l, l->s->rest, "");
    l->ok &= CHECK_INT(create(&l->f, l->k, l->ns, json), 201);
    check_object(l);
    if (l->f.code != 201)
        test_note("%.*s", STR_ARG(l->f.message));
    l->ok &= CHECK_INT(create(&l->f, l->k, l->ns, json), 409);
    l->ok &= CHECK_INT(get(&l->f, l->k, l->ns, l->name), 200);
    check_object(l);
    l->ok &= CHECK_INT(list(&l->f, l->k, l->ns, (struct api_request){0}), 200);
    bool listed = false;
    for (size_t i = 0; i < l->f.n_items; i++)
        listed |= str_is(l->f.items[i]->name, l->name);
    l->ok &= CHECK(listed);
}

static int apply(struct life *l, const char *json)
{
    return send(&l->f, (struct api_request){.verb = API_PATCH,
                                            .patch = API_PATCH_APPLY,
                                            .kind = l->k,
                                            .ns = str_of(l->ns),
                                            .name = str_of(l->name),
                                            .field_manager = STR("applier"),
                                            .body = fixture_doc(&l->f, json)});
}

static void check_patched(struct life *l)
{
    struct fixture *f = &l->f;
    l->ok &= CHECK_INT(
        patch(f, l->k, l->ns, l->name, API_PATCH_MERGE, "{'metadata':{'labels':{'m':'1'}}}"), 200);
    l->ok &= CHECK_INT(
        patch(f, l->k, l->ns, l->name, API_PATCH_STRATEGIC, "{'metadata':{'labels':{'s':'2'}}}"),
        200);
    l->ok &= CHECK_CSTR(field(f, "metadata.labels.m"), "1");
    l->ok &= CHECK_INT(apply(l, text(l, "", ",'labels':{'p':'3'}")), 200);
    l->ok &= CHECK_CSTR(field(f, "metadata.labels.s"), "2");
    l->ok &= CHECK_CSTR(field(f, "metadata.labels.p"), "3");
    bool applied = false;
    for (struct jiter it = jiter(jpath(doc_root(f->doc), "metadata.managedFields")); jnext(&it);)
        applied |= str_is(jstr(jgetc(it.value, "manager")), "applier") &&
                   str_is(jstr(jgetc(it.value, "operation")), "Apply");
    l->ok &= CHECK(applied);
    /* What was read may be written: nothing changes. */
    uint64_t rv = f->obj ? f->obj->rv : 0;
    str whole = doc_text(f->doc);
    l->ok &= CHECK_INT(update(f, l->k, l->ns, l->name, arena_str(&f->arena, whole).p), 200);
    l->ok &= CHECK_INT(f->obj ? f->obj->rv : 1, rv);
}

static void check_parts(struct life *l)
{
    struct fixture *f = &l->f;
    if (kind_is(l->k, KIND_STATUS)) {
        l->ok &= CHECK_INT(patch_sub(f, l->k, l->ns, l->name, "status", API_PATCH_MERGE,
                                     "{'metadata':{'annotations':{'n':'1'}},'spec':{'bogus':1}}"),
                           200);
        l->ok &= CHECK_CSTR(field(f, "metadata.annotations.n"), "1");
    }
    if (!kind_is(l->k, KIND_SCALE))
        return;
    l->ok &= CHECK_INT(
        patch_sub(f, l->k, l->ns, l->name, "scale", API_PATCH_MERGE, "{'spec':{'replicas':7}}"),
        200);
    l->ok &= CHECK_CSTR(field(f, "kind"), "Scale");
    l->ok &= CHECK_CSTR(field(f, "spec.replicas"), "7");
    l->ok &= CHECK_CSTR(field(f, "status.selector"), "a=b");
    l->ok &= CHECK_INT(
        patch_sub(f, l->k, l->ns, l->name, "scale", API_PATCH_MERGE, "{'spec':{'replicas':-1}}"),
        422);
    l->ok &= CHECK_INT(get(f, l->k, l->ns, l->name), 200);
    l->ok &= CHECK_CSTR(field(f, "spec.replicas"), "7");
}

static void check_gone(struct life *l)
{
    l->ok &= CHECK_INT(send(&l->f, (struct api_request){.verb = API_DELETE,
                                                        .kind = l->k,
                                                        .ns = str_of(l->ns),
                                                        .name = str_of(l->name),
                                                        .propagation = API_PROPAGATION_DEFAULT}),
                       200);
    fixture_run(&l->f, USEC_PER_SEC);
    /* A namespace waits for its finalizer. */
    l->ok &= CHECK_INT(get(&l->f, l->k, l->ns, l->name), l->k == &kind_namespace ? 200 : 404);
    bool ends = str_starts(strbuf_str(&l->told), STR("AMM")) &&
                (l->k == &kind_namespace || strchr(l->told.p, 'D'));
    if (!(l->ok &= CHECK(ends)))
        test_note("the watch said %s", l->told.p);
}

/* The wire's form says the same. */
static void check_protobuf(struct life *l)
{
    char api[256];
    struct strbuf raw = STRBUF_INIT(1 << 20), body = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct doc *want = fixture_doc(&l->f, text(l, l->s->rest, ""));
    put_object(&raw, l->k->type, doc_root(want));
    put_envelope(&body, kind_api_version(l->k, api, sizeof(api)).p, l->k->kind, strbuf_str(&raw));
    struct doc *got = protobuf_decode(strbuf_str(&body), &err);
    l->ok &= CHECK(got && jequal(doc_root(got), doc_root(want)));
    if (got && l->k != &kind_namespace) {
        l->ok &=
            CHECK_INT(create(&l->f, l->k, l->ns, arena_str(&l->f.arena, doc_text(got)).p), 201);
        check_object(l);
    }
    doc_unref(got);
    strbuf_done(&raw);
    strbuf_done(&body);
}

static void live(const struct sample *s)
{
    struct life l = {.s = s, .k = s->kind, .ok = true, .told = STRBUF_INIT(1000)};
    fixture_init(&l.f);
    l.ns = kind_is(l.k, KIND_NAMESPACED) ? "ns" : "";
    l.name = s->name ? s->name : "a";
    l.watch = (struct api_watch){
        .kind = l.k, .ns = str_of(l.ns), .on_event = on_event, .on_end = on_end, .ctx = &l};
    apiserver_watch(l.f.server, &l.f.user, &l.watch);
    fixture_run(&l.f, USEC_PER_SEC / 10);
    check_made(&l);
    check_patched(&l);
    check_parts(&l);
    check_gone(&l);
    check_protobuf(&l);
    apiserver_watch_stop(l.f.server, &l.watch);
    strbuf_done(&l.told);
    fixture_done(&l.f);
    if (!l.ok)
        test_note("%s of \"%s\"", l.k->kind, l.k->group);
}

TEST(every_kind_lives_and_dies)
{
    for (size_t i = 0; i < ARRAY_LEN(samples); i++)
        live(&samples[i]);
}

/* Another version of a kind that has a sample, with the same rules. */
static bool is_older(const struct kind *k, const struct sample *s)
{
    return s->kind != k && admit_kind(k) == s->kind;
}

TEST(older_versions_live_and_die)
{
    enum { MOST = 32 };
    struct fixture f;
    struct sample older[MOST];
    size_t n = 0;
    fixture_init(&f);
    for (size_t i = 0; i < kinds_count(); i++) {
        for (size_t j = 0; j < ARRAY_LEN(samples) && n < MOST; j++) {
            if (!is_older(kinds_at(i), &samples[j]))
                continue;
            older[n] = samples[j];
            older[n++].kind = kinds_at(i);
        }
    }
    fixture_done(&f);
    CHECK_INT(n, 17);
    for (size_t i = 0; i < n; i++)
        live(&older[i]);
}

TEST(every_kind_has_a_sample)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        bool found = kind_is(k, KIND_CUSTOM) || str_is(str_of(k->plural), "limitranges") ||
                     str_is(str_of(k->plural), "resourcequotas") ||     /* test-quota.c */
                     k == &kind_binding || k == &kind_component_status; /* never stored */
        for (size_t j = 0; !found && j < ARRAY_LEN(samples); j++)
            found = samples[j].kind == k || is_older(k, &samples[j]);
        if (!CHECK(found))
            test_note("%s", k->kind);
    }
    fixture_done(&f);
}

/* ---- kinds that nothing acts on ---- */

static void check_warned(struct fixture *f, const struct kind *k, const char *body,
                         const char *want)
{
    const char *ns = kind_is(k, KIND_NAMESPACED) ? "ns" : "";
    CHECK_INT(create(f, k, ns, body), 201);
    CHECK_INT(f->n_warnings, want ? 1 : 0);
    if (want && f->n_warnings == 1)
        CHECK_CSTR(f->warnings[0], want);
}

TEST(who_creates_what_nothing_acts_on_is_told)
{
    struct fixture f;
    fixture_init(&f);
    check_warned(&f, &kind_network_policy, "{'metadata':{'name':'a'},'spec':{'podSelector':{}}}",
                 "NetworkPolicy is stored, and grove up runs no controller for it: it restricts no "
                 "traffic");
    check_warned(&f, &kind_workload_v1alpha3,
                 "{'metadata':{'name':'a'},'spec':{'podGroupTemplates':[{'name':'t',"
                 "'schedulingPolicy':{'basic':{}}}]}}",
                 "Workload is stored, and grove up runs no controller for it: the scheduler reads "
                 "PodGangs (scheduler.grove.io)");
    check_warned(&f, &kind_config_map, "{'metadata':{'name':'a'}}", NULL);
    /* Not again when it changes, and not where it is refused. */
    CHECK_INT(patch(&f, &kind_network_policy, "ns", "a", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    CHECK_INT(f.n_warnings, 0);
    CHECK_INT(create(&f, &kind_network_policy, "ns",
                     "{'metadata':{'name':'a'},'spec':{'podSelector':{}}}"),
              409);
    CHECK_INT(f.n_warnings, 0);
    fixture_done(&f);
}

/* ---- what definitions of Grove's kinds ask for ---- */

#define LONG64 "a123456789012345678901234567890123456789012345678901234567890123"

TEST(limits_of_groves_kinds_hold)
{
    static const struct {
        const char *status, *message; /* of the binding's status; NULL: it is taken */
    } cases[] = {
        {"{'type':'Good','status':'True','reason':'Fine','message':'m'", NULL},
        {"{'type':'example.org/Good_one','status':'False','reason':'A1,b:c_','message':''", NULL},
        {"{'type':'no good','status':'True','reason':'Fine','message':'m'", "should match"},
        {"{'type':'Good','status':'Maybe','reason':'Fine','message':'m'", "supported values"},
        {"{'type':'Good','status':'True','reason':'','message':'m'", "at least 1 chars long"},
        {"{'type':'Good','status':'True','reason':'1x','message':'m'", "should match"},
        {"{'type':'Good','status':'True','reason':'Fine','message':'m','observedGeneration':-1",
         "greater than or equal to 0"},
    };
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_ctb, "", "{'metadata':{'name':'none'},'spec':{'levels':[]}}"), 422);
    CHECK(str_find(f.message, STR("spec.levels in body should have at least 1 items")) >= 0);
    CHECK_INT(create(&f, &kind_ctb, "",
                     "{'metadata':{'name':'long'},'spec':{'levels':[{'domain':'" LONG64
                     "','key':'kubernetes.io/zone'}]}}"),
              422);
    CHECK(str_find(f.message, STR("spec.levels[0].domain: Too long: may not be more than 63")) >=
          0);
    CHECK_INT(create(&f, &kind_ctb, "",
                     "{'metadata':{'name':'b'},'spec':{'levels':[{'domain':'zone','key':"
                     "'kubernetes.io/zone'}]}}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = text_of(&f,
                           "{'status':{'conditions':[%s,'lastTransitionTime':"
                           "'2026-01-01T00:00:00Z'}]}}",
                           cases[i].status);
        int code = patch_sub(&f, &kind_ctb, "", "b", "status", API_PATCH_MERGE, body.p);
        if (!CHECK_INT(code, cases[i].message ? 422 : 200) ||
            (cases[i].message && !CHECK(str_find(f.message, str_of(cases[i].message)) >= 0)))
            test_note("%s: %.*s", cases[i].status, STR_ARG(f.message));
    }
    fixture_done(&f);
}
