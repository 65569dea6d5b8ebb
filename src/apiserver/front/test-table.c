/*
 * Rows as kubectl prints them. The expected cells were recorded from kube-apiserver 1.36, or follow
 * the rules of its printers where no recording exists.
 */
#include "apiserver/front/table.h"
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"

#define NOW "2026-11-15T12:00:00Z"
#define AGO_28S "2026-11-15T11:59:32Z"
#define AGO_5M "2026-11-15T11:55:00Z"
#define AGO_2H "2026-11-15T10:00:00Z"
#define AGO_19H "2026-11-14T17:00:00Z"
#define META(name) "'metadata':{'name':'" name "','creationTimestamp':'" AGO_28S "'}"

static usec at(const char *text)
{
    usec t = 0;
    REQUIRE(time_parse_rfc3339(str_of(text), &t));
    return t;
}

static struct obj *object(struct fixture *f, const struct kind *k, const char *json)
{
    struct obj *o = obj_new(k, doc_ref(fixture_doc(f, json)), NULL);
    REQUIRE(o);
    return obj_hold(&f->arena, o);
}

static jval row(struct fixture *f, const struct obj *o, enum table_include include)
{
    struct jw w;
    jw_init(&w);
    table_row(&w, o, include, at(NOW));
    return doc_root(doc_hold(&f->arena, jw_doc(&w)));
}

/* Whether the object's cells are these, in JSON with single quotes. */
static bool cells_are(const struct kind *k, const char *json, const char *want)
{
    struct fixture f = {0};
    grove_kinds_init();
    arena_init(&f.arena);
    jval got = jgetc(row(&f, object(&f, k, json), TABLE_INCLUDE_NONE), "cells");
    bool same = jequal(got, doc_root(fixture_doc(&f, want)));
    if (!same) {
        test_note("got  %.*s", STR_ARG(jtext(got)));
        test_note("want %s", want);
    }
    arena_done(&f.arena);
    return same;
}

/* ---- pods ---- */

#define POD_IS(spec, status, want) \
    CHECK(cells_are(&kind_pod, "{" META("p") ",'spec':{" spec "},'status':{" status "}}", want))
#define POD_ROW(ready, status, restarts)                                              \
    "['p','" ready "','" status "','" restarts "','28s','<none>','<none>','<none>','" \
    "<none>']"
#define ONE "'containers':[{'name':'c'}]"
#define TWO "'containers':[{'name':'c'},{'name':'d'}]"
#define RUNNING(name) "{'name':'" name "','ready':true,'restartCount':0,'state':{'running':{}}}"
#define WAITING(name, why) \
    "{'name':'" name "','ready':false,'restartCount':0,'state':{'waiting':{'reason':'" why "'}}}"
#define ENDED(name, how) \
    "{'name':'" name "','ready':false,'restartCount':0,'state':{'terminated':{" how "}}}"

TEST(pod_that_runs)
{
    POD_IS(ONE ",'nodeName':'sim-0'",
           "'phase':'Running','podIP':'10.1.0.5','containerStatuses':[" RUNNING("c") "]",
           "['p','1/1','Running','0','28s','10.1.0.5','sim-0','<none>','<none>']");
    POD_IS(ONE, "'phase':'Pending'", POD_ROW("0/1", "Pending", "0"));
    /* Ready is what containers are, not what conditions say. */
    POD_IS(ONE, "'phase':'Running','conditions':[{'type':'Ready','status':'True'}]",
           POD_ROW("0/1", "Running", "0"));
    POD_IS(TWO,
           "'phase':'Running','containerStatuses':[" RUNNING(
               "c") ",{'name':'d','ready':false,'restartCount':0,'state':{'running':{}}}]",
           POD_ROW("1/2", "Running", "0"));
    POD_IS(ONE ",'readinessGates':[{'conditionType':'x/a'},{'conditionType':'x/b'}]",
           "'phase':'Running','nominatedNodeName':'n9','conditions':[{'type':'x/b','status':"
           "'True'}]",
           "['p','0/1','Running','0','28s','<none>','<none>','n9','1/2']");
}

TEST(pod_that_waits)
{
    POD_IS(ONE,
           "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
           "'SchedulingGated'}]",
           POD_ROW("0/1", "SchedulingGated", "0"));
    POD_IS(ONE,
           "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
           "'Unschedulable'}]",
           POD_ROW("0/1", "Pending", "0"));
    POD_IS(ONE, "'phase':'Pending','containerStatuses':[" WAITING("c", "ContainerCreating") "]",
           POD_ROW("0/1", "ContainerCreating", "0"));
    POD_IS(ONE, "'phase':'Failed','reason':'Evicted'", POD_ROW("0/1", "Evicted", "0"));
    /* The first container with something to say is heard. */
    POD_IS(TWO,
           "'phase':'Running','containerStatuses':[" WAITING("c", "CrashLoopBackOff") "," WAITING(
               "d", "ImagePullBackOff") "]",
           POD_ROW("0/2", "CrashLoopBackOff", "0"));
}

TEST(pod_that_restarts)
{
    POD_IS(ONE,
           "'phase':'Running','containerStatuses':[{'name':'c','ready':false,'restartCount':3,"
           "'state':{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{'terminated':{"
           "'finishedAt':'" AGO_5M "'}}}]",
           POD_ROW("0/1", "CrashLoopBackOff", "3 (5m ago)"));
    /* The newest of all counts. */
    POD_IS(TWO,
           "'phase':'Running','containerStatuses':["
           "{'name':'c','ready':true,'restartCount':2,'state':{'running':{}},'lastState':{"
           "'terminated':{'finishedAt':'" AGO_5M "'}}},"
           "{'name':'d','ready':true,'restartCount':1,'state':{'running':{}},'lastState':{"
           "'terminated':{'finishedAt':'" AGO_2H "'}}}]",
           POD_ROW("2/2", "Running", "3 (5m ago)"));
    POD_IS(ONE,
           "'phase':'Running','containerStatuses':[{'name':'c','ready':true,'restartCount':1,"
           "'state':{'running':{}}}]",
           POD_ROW("1/1", "Running", "1"));
}

TEST(pod_that_ended)
{
    POD_IS(ONE,
           "'phase':'Succeeded','containerStatuses':[" ENDED(
               "c", "'exitCode':0,'reason':'Completed'") "]",
           POD_ROW("0/1", "Completed", "0"));
    POD_IS(ONE, "'phase':'Failed','containerStatuses':[" ENDED("c", "'exitCode':3") "]",
           POD_ROW("0/1", "ExitCode:3", "0"));
    POD_IS(ONE,
           "'phase':'Failed','containerStatuses':[" ENDED("c", "'exitCode':137,'signal':9") "]",
           POD_ROW("0/1", "Signal:9", "0"));
    POD_IS(ONE,
           "'phase':'Failed','containerStatuses':[" ENDED("c",
                                                          "'exitCode':1,'reason':'OOMKilled'") "]",
           POD_ROW("0/1", "OOMKilled", "0"));
    /* One is done and one runs on: the pod runs, if it is ready. */
    POD_IS(TWO,
           "'phase':'Running','containerStatuses':[" ENDED(
               "c", "'exitCode':0,'reason':'Completed'") "," RUNNING("d") "],'conditions':[{'type':"
                                                                          "'Ready','status':'True'}"
                                                                          "]",
           POD_ROW("1/2", "Running", "0"));
    POD_IS(TWO,
           "'phase':'Running','containerStatuses':[" ENDED(
               "c", "'exitCode':0,'reason':'Completed'") "," RUNNING("d") "]",
           POD_ROW("1/2", "NotReady", "0"));
}

#define INITS "'initContainers':[{'name':'i'},{'name':'j'},{'name':'k'}]," ONE
#define DONE(name) ENDED(name, "'exitCode':0,'reason':'Completed'")

TEST(pod_that_initialises)
{
    POD_IS(INITS, "'phase':'Pending','initContainerStatuses':[" WAITING("i", "PodInitializing") "]",
           POD_ROW("0/1", "Init:0/3", "0"));
    POD_IS(INITS,
           "'phase':'Pending','initContainerStatuses':[" DONE(
               "i") ",{'name':'j','restartCount':0,'state':{'running':{}}}],"
                    "'containerStatuses':[" WAITING("c", "PodInitializing") "]",
           POD_ROW("0/1", "Init:1/3", "0"));
    POD_IS(INITS, "'phase':'Pending','initContainerStatuses':[" WAITING("i", "ErrImagePull") "]",
           POD_ROW("0/1", "Init:ErrImagePull", "0"));
    POD_IS(INITS,
           "'phase':'Pending','initContainerStatuses':[" ENDED("i", "'exitCode':1,'reason':"
                                                                    "'Error'") "]",
           POD_ROW("0/1", "Init:Error", "0"));
    POD_IS(INITS, "'phase':'Pending','initContainerStatuses':[" ENDED("i", "'exitCode':7") "]",
           POD_ROW("0/1", "Init:ExitCode:7", "0"));
    /* Restarts are those of init containers until they are done. */
    POD_IS(INITS,
           "'phase':'Pending','initContainerStatuses':[{'name':'i','restartCount':4,'state':{"
           "'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{'terminated':{'finishedAt':"
           "'" AGO_5M "'}}}]",
           POD_ROW("0/1", "Init:CrashLoopBackOff", "4 (5m ago)"));
    POD_IS(INITS,
           "'phase':'Running','initContainerStatuses':[{'name':'i','restartCount':4,'state':{"
           "'terminated':{'exitCode':0}}}," DONE("j") "," DONE(
               "k") "],'containerStatuses':[" RUNNING("c") "]",
           POD_ROW("1/1", "Running", "0"));
}

#define SIDECAR "'initContainers':[{'name':'s','restartPolicy':'Always'}]," ONE

TEST(pod_with_a_sidecar)
{
    POD_IS(SIDECAR,
           "'phase':'Running','initContainerStatuses':[{'name':'s','ready':true,'started':true,"
           "'restartCount':2,'state':{'running':{}}}],'containerStatuses':[" RUNNING("c") "]",
           POD_ROW("2/2", "Running", "2"));
    POD_IS(SIDECAR,
           "'phase':'Pending','initContainerStatuses':[{'name':'s','ready':false,'started':false,"
           "'restartCount':0,'state':{'running':{}}}]",
           POD_ROW("0/2", "Init:0/1", "0"));
}

#define DELETED                                                                              \
    "'metadata':{'name':'p','creationTimestamp':'" AGO_28S "','deletionTimestamp':'" AGO_28S \
    "'},'spec':{" ONE "},"

TEST(pod_that_is_deleted)
{
    CHECK(cells_are(&kind_pod,
                    "{" DELETED
                    "'status':{'phase':'Running','containerStatuses':[" RUNNING("c") "]}}",
                    POD_ROW("1/1", "Terminating", "0")));
    CHECK(cells_are(&kind_pod, "{" DELETED "'status':{'phase':'Running','reason':'NodeLost'}}",
                    POD_ROW("0/1", "Unknown", "0")));
    /* It is over already; only its removal waits. */
    CHECK(cells_are(&kind_pod,
                    "{" DELETED
                    "'status':{'phase':'Succeeded','containerStatuses':[" DONE("c") "]}}",
                    POD_ROW("0/1", "Completed", "0")));
}

/* ---- nodes ---- */

TEST(node_rows)
{
    CHECK(cells_are(
        &kind_node,
        "{'metadata':{'name':'sim-0','creationTimestamp':'" NOW
        "','labels':{'node-role.kubernetes.io/agent':''}},'status':{'conditions':[{'type':'Ready',"
        "'status':'True'}],'addresses':[{'type':'InternalIP','address':'127.0.0.1'}],'nodeInfo':{"
        "'kubeletVersion':'v1.36.4','osImage':'sim','kernelVersion':'k','architecture':'amd64',"
        "'containerRuntimeVersion':'sim'}}}",
        "['sim-0','Ready','agent','0s','v1.36.4','127.0.0.1','<none>','sim','k (amd64)','sim']"));
    CHECK(cells_are(&kind_node,
                    "{" META("n1") ",'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
                    "['n1','Ready','<none>','28s','','<none>','<none>','<unknown>','<unknown>',"
                    "'<unknown>']"));
    CHECK(cells_are(
        &kind_node,
        "{'metadata':{'name':'n','creationTimestamp':'" AGO_19H
        "','labels':{'node-role.kubernetes.io/worker':'','kubernetes.io/role':'edge',"
        "'node-role.kubernetes.io/control-plane':'true','node-role.kubernetes.io/':''}},"
        "'spec':{'unschedulable':true},'status':{'conditions':[{'type':'Ready','status':'Unknown'}"
        "],'addresses':[{'type':'Hostname','address':'h'},{'type':'ExternalIP','address':'1.2.3.4'"
        "}]}}",
        "['n','NotReady,SchedulingDisabled','control-plane,edge,worker','19h','','<none>',"
        "'1.2.3.4','<unknown>','<unknown>','<unknown>']"));
    CHECK(cells_are(&kind_node, "{" META("n") "}",
                    "['n','Unknown','<none>','28s','','<none>','<none>','<unknown>','<unknown>',"
                    "'<unknown>']"));
}

/* ---- services and what is behind them ---- */

#define SERVICE_IS(rest, want) CHECK(cells_are(&kind_service, "{" META("s") "," rest "}", want))

TEST(service_rows)
{
    SERVICE_IS("'spec':{'type':'ClusterIP','clusterIP':'10.96.0.1','clusterIPs':['10.96.0.1'],"
               "'ports':[{'port':443,'protocol':'TCP'}]}",
               "['s','ClusterIP','10.96.0.1','<none>','443/TCP','28s','<none>']");
    SERVICE_IS("'spec':{'type':'NodePort','clusterIP':'10.96.0.7','externalIPs':['1.1.1.1',"
               "'2.2.2.2'],'ports':[{'port':80,'nodePort':30080,'protocol':'TCP'},{'port':53,"
               "'protocol':'UDP'}],'selector':{'b':'2','app-x':'3','app':'1'}}",
               "['s','NodePort','10.96.0.7','1.1.1.1,2.2.2.2','80:30080/TCP,53/UDP','28s',"
               "'app-x=3,app=1,b=2']");
    SERVICE_IS("'spec':{'type':'ClusterIP','clusterIP':'None'}",
               "['s','ClusterIP','None','<none>','<none>','28s','<none>']");
    SERVICE_IS("'spec':{'type':'ExternalName','externalName':'db.example.com'}",
               "['s','ExternalName','<none>','db.example.com','<none>','28s','<none>']");
    SERVICE_IS("'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.8'}",
               "['s','LoadBalancer','10.96.0.8','<pending>','<none>','28s','<none>']");
    SERVICE_IS("'spec':{'type':'LoadBalancer','clusterIP':'10.96.0.8','externalIPs':['9.9.9.9']},"
               "'status':{'loadBalancer':{'ingress':[{'ip':'5.5.5.5'},{'hostname':'lb.example.com'"
               "},{'ip':'5.5.5.5'}]}}",
               "['s','LoadBalancer','10.96.0.8','5.5.5.5,lb.example.com,9.9.9.9','<none>','28s',"
               "'<none>']");
}

TEST(endpoint_rows)
{
    CHECK(cells_are(&kind_endpoint_slice,
                    "{" META("web-x") ",'addressType':'IPv4','ports':[{'port':80}],'endpoints':[{"
                                      "'addresses':['10.1.0.5']}]}",
                    "['web-x','IPv4','80','10.1.0.5','28s']"));
    CHECK(cells_are(&kind_endpoint_slice,
                    "{" META("s") ",'addressType':'IPv4','ports':[{'name':'a'},{'port':2},{},{"
                                  "'port':4}],'endpoints':[{'addresses':['1','2']},{'addresses':["
                                  "'3']},{'addresses':['4','5']}]}",
                    "['s','IPv4','a,2,* + 1 more...','1,2,3 + 2 more...','28s']"));
    CHECK(cells_are(&kind_endpoint_slice, "{" META("s") ",'addressType':'IPv6','endpoints':[]}",
                    "['s','IPv6','<unset>','<unset>','28s']"));
    CHECK(cells_are(&kind_endpoints, "{" META("e") "}", "['e','<none>','28s']"));
    CHECK(cells_are(&kind_endpoints,
                    "{" META("e") ",'subsets':[{'addresses':[{'ip':'10.0.0.1'},{'ip':'fd00::2'}],"
                                  "'ports':[{'port':80},{'port':443}]}]}",
                    "['e','10.0.0.1:80,[fd00::2]:80,10.0.0.1:443 + 1 more...','28s']"));
    CHECK(cells_are(&kind_endpoints,
                    "{" META("e") ",'subsets':[{'addresses':[{'ip':'10.0.0.1'}]}]}",
                    "['e','10.0.0.1','28s']"));
}

/* ---- events ---- */

TEST(event_rows)
{
    CHECK(cells_are(&kind_event,
                    "{" META("demo.1") ",'firstTimestamp':'" AGO_19H "','lastTimestamp':'" AGO_5M
                                       "','count':1,'type':'Normal','reason':'Created',"
                                       "'message':' created pod\\n','source':{'component':'grove'},"
                                       "'involvedObject':{'kind':'PodCliqueSet','name':'demo'}}",
                    "['5m','Normal','Created','podcliqueset/demo','','grove','created pod','19h',"
                    "1,'demo.1']"));
    /* The newer form, read through the older group: the nulls are what a conversion leaves. */
    CHECK(cells_are(&kind_event,
                    "{" META("ev1") ",'eventTime':'2026-11-14T17:00:00.000000Z','firstTimestamp':"
                                    "null,'lastTimestamp':null,'type':'Normal','reason':"
                                    "'Scheduled','message':'hello','source':{},"
                                    "'reportingComponent':'ctl','reportingInstance':'ctl-0',"
                                    "'involvedObject':{'kind':'Pod','name':'p'}}",
                    "['19h','Normal','Scheduled','pod/p','','ctl, ctl-0','hello','19h',1,'ev1']"));
    CHECK(cells_are(&kind_events_event,
                    "{" META("ev1") ",'eventTime':'2026-11-14T17:00:00.000000Z','series':{'count':2"
                                    ",'lastObservedTime':'2026-11-15T11:55:00.000000Z'},'type':"
                                    "'Warning','reason':'R','note':'n','reportingController':'c',"
                                    "'deprecatedSource':{'host':'h'},'regarding':{'kind':'Pod',"
                                    "'name':'p','fieldPath':'spec.containers{c}'}}",
                    "['5m','Warning','R','pod/p','spec.containers{c}','c, h','n','19h',2,'ev1']"));
    CHECK(cells_are(&kind_event,
                    "{" META("e") ",'count':4,'type':'Normal','involvedObject':{'kind':'Node'}}",
                    "['<unknown>','Normal','','node','','','','<unknown>',4,'e']"));
}

/* ---- workloads ---- */

#define TEMPLATE                                                                           \
    "'selector':{'matchLabels':{'app':'webd','a':'b'},'matchExpressions':[{'key':'tier',"  \
    "'operator':'In','values':['w','x']}]},'template':{'spec':{'containers':[{'name':'c'," \
    "'image':'registry.example/nginx:1.27'},{'name':'d','image':'y'}]}}"
#define WORKLOAD_WIDE "'c,d','registry.example/nginx:1.27,y','a=b,app=webd,tier in (w,x)'"

TEST(workload_rows)
{
    CHECK(cells_are(&kind_deployment,
                    "{" META("web") ",'spec':{'replicas':3," TEMPLATE
                                    "},'status':{'readyReplicas':2,'updatedReplicas':1}}",
                    "['web','2/3',1,0,'28s'," WORKLOAD_WIDE "]"));
    CHECK(cells_are(&kind_replica_set,
                    "{" META("rs") ",'spec':{'replicas':3," TEMPLATE
                                   "},'status':{'replicas':2,'readyReplicas':1}}",
                    "['rs',3,2,1,'28s'," WORKLOAD_WIDE "]"));
    CHECK(cells_are(&kind_controller_revision,
                    "{'metadata':{'name':'r','creationTimestamp':'" AGO_28S
                    "','ownerReferences':[{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet',"
                    "'name':'demo','uid':'u','controller':true}]},'revision':7}",
                    "['r','podcliqueset.grove.io/demo',7,'28s']"));
    CHECK(cells_are(&kind_controller_revision, "{" META("r") ",'revision':1}",
                    "['r','<none>',1,'28s']"));
}

/* ---- autoscalers and budgets ---- */

#define HPA_IS(metrics, current, want)                                                           \
    CHECK(cells_are(&kind_hpa,                                                                   \
                    "{" META("h") ",'spec':{'scaleTargetRef':{'kind':'PodCliqueSet','name':"     \
                                  "'demo'},'minReplicas':1,'maxReplicas':10,'metrics':[" metrics \
                                  "]},'status':{'currentReplicas':4,'currentMetrics':[" current  \
                                  "]}}",                                                         \
                    "['h','PodCliqueSet/demo','" want "','1',10,4,'28s']"))
#define CPU(target) "{'type':'Resource','resource':{'name':'cpu','target':{" target "}}}"
#define CPU_NOW(now) "{'type':'Resource','resource':{'name':'cpu','current':{" now "}}}"

TEST(autoscaler_rows)
{
    HPA_IS(CPU("'averageUtilization':80"), "", "cpu: <unknown>/80%");
    HPA_IS(CPU("'averageUtilization':80"), CPU_NOW("'averageUtilization':35"), "cpu: 35%/80%");
    HPA_IS(CPU(""), "", "cpu: <unknown>/<auto>");
    HPA_IS(CPU("'averageValue':'500m'"), CPU_NOW("'averageValue':'120m'"), "cpu: 120m/500m");
    HPA_IS("{'type':'Pods','pods':{'metric':{'name':'q'},'target':{'averageValue':'30'}}}",
           "{'type':'Pods','pods':{'current':{'averageValue':'12'}}}", "12/30");
    HPA_IS("{'type':'External','external':{'target':{'averageValue':'30'}}}", "",
           "<unknown>/30 (avg)");
    HPA_IS("{'type':'Object','object':{'target':{'value':'2k'}}}",
           "{'type':'Object','object':{'current':{'value':'1k'}}}", "1k/2k");
    HPA_IS("{'type':'Novel'}", "", "<unknown type>");
    HPA_IS(CPU("'averageUtilization':1") "," CPU("'averageUtilization':2") "," CPU(
               "'averageUtilization':3") "," CPU("'averageUtilization':4"),
           "", "cpu: <unknown>/1%, cpu: <unknown>/2% + 2 more...");
    HPA_IS("", "", "<none>");
    CHECK(cells_are(&kind_hpa,
                    "{" META("h") ",'spec':{'scaleTargetRef':{'kind':'D','name':'d'},"
                                  "'maxReplicas':3}}",
                    "['h','D/d','<none>','<unset>',3,0,'28s']"));
}

TEST(budget_rows)
{
    CHECK(cells_are(&kind_pdb, "{" META("p") ",'spec':{'minAvailable':1}}",
                    "['p','1','N/A',0,'28s']"));
    CHECK(cells_are(&kind_pdb,
                    "{" META("p") ",'spec':{'maxUnavailable':'25%'},'status':{"
                                  "'disruptionsAllowed':2}}",
                    "['p','N/A','25%',2,'28s']"));
}

/* ---- the rest ---- */

TEST(other_rows)
{
    CHECK(cells_are(&kind_namespace, "{" META("ns") ",'status':{'phase':'Active'}}",
                    "['ns','Active','28s']"));
    CHECK(cells_are(&kind_config_map,
                    "{" META("c") ",'data':{'a':'1','b':'2'},'binaryData':{'x':'AA=='}}",
                    "['c',3,'28s']"));
    CHECK(cells_are(&kind_secret, "{" META("s1") ",'type':'Opaque','data':{'a':'AA=='}}",
                    "['s1','Opaque',1,'28s']"));
    CHECK(cells_are(&kind_lease, "{" META("l") ",'spec':{'holderIdentity':'me_1'}}",
                    "['l','me_1','28s']"));
    CHECK(cells_are(&kind_lease, "{" META("l") "}", "['l','','28s']"));
    CHECK(cells_are(&kind_priority_class,
                    "{" META("pc") ",'value':7,'preemptionPolicy':'Never','globalDefault':true}",
                    "['pc',7,true,'28s','Never']"));
    CHECK(cells_are(&kind_priority_class, "{" META("pc") "}", "['pc',0,false,'28s','']"));
}

TEST(role_rows)
{
    /* A date of a built-in kind is the date, not the age. */
    CHECK(cells_are(&kind_role, "{" META("r") "}", "['r','" AGO_28S "']"));
    CHECK(cells_are(&kind_cluster_role, "{" META("r") "}", "['r','" AGO_28S "']"));
    CHECK(cells_are(
        &kind_role_binding,
        "{" META("b") ",'roleRef':{'kind':'Role','name':'r'},'subjects':[{'kind':'User','name':"
                      "'u'},{'kind':'ServiceAccount','namespace':'ns','name':'sa'},{'kind':'User',"
                      "'name':'v'},{'kind':'Group','name':'g'}]}",
        "['b','Role/r','28s','u, v','g','ns/sa']"));
    CHECK(cells_are(&kind_cluster_role_binding,
                    "{" META("b") ",'roleRef':{'kind':'ClusterRole','name':'r'}}",
                    "['b','ClusterRole/r','28s','','','']"));
}

/* ---- custom resources ---- */

TEST(custom_resource_rows)
{
    /* What is not there is null, and dates are ages. */
    CHECK(cells_are(&kind_pcs, "{" META("demo") ",'spec':{'replicas':2}}",
                    "['demo',2,null,null,null,null,null,null,null,'28s']"));
    CHECK(cells_are(&kind_pclq,
                    "{" META("q") ",'spec':{'replicas':2,'minAvailable':1},'status':{"
                                  "'readyReplicas':1,'conditions':[{'type':"
                                  "'MinAvailableBreached','status':'False'}]}}",
                    "['q',1,2,1,null,null,null,'False','28s']"));
    CHECK(cells_are(&kind_ctb,
                    "{" META("t") ",'spec':{'levels':[{'domain':'zone'},{'domain':'rack'}]}}",
                    "['t','zone,rack','28s']"));
    /* Without columns: name and age. */
    CHECK(cells_are(&kind_pod_gang_map, "{" META("m") "}", "['m','28s']"));
    /* A value of another type than the column's is no value. */
    CHECK(cells_are(&kind_pcs, "{" META("demo") ",'spec':{'replicas':'two'}}",
                    "['demo',null,null,null,null,null,null,null,null,'28s']"));
    CHECK(cells_are(&kind_pod_gang, "{" META("g") ",'status':{'phase':7,'readyPods':2}}",
                    "['g','7',null,2,null,null,'28s']"));
}

/* ---- rows and columns ---- */

TEST(rows_carry_what_was_asked_for)
{
    struct fixture f = {0};
    grove_kinds_init();
    arena_init(&f.arena);
    struct obj *o = object(&f, &kind_config_map,
                           "{'apiVersion':'v1','kind':'ConfigMap'," META("c") ",'data':{'a':'1'}}");
    jval meta = jgetc(row(&f, o, TABLE_INCLUDE_METADATA), "object");
    CHECK(jequal(meta, doc_root(fixture_doc(&f, "{'kind':'PartialObjectMetadata','apiVersion':"
                                                "'meta.k8s.io/v1'," META("c") "}"))));
    CHECK(jequal(jgetc(row(&f, o, TABLE_INCLUDE_OBJECT), "object"), obj_root(o)));
    CHECK(j_is_null(jgetc(row(&f, o, TABLE_INCLUDE_NONE), "object")));
    arena_done(&f.arena);
}

/* As many cells as columns, each of the column's type, for an object that says nothing at all. */
TEST(every_column_has_a_cell)
{
    struct fixture f = {0};
    grove_kinds_init();
    arena_init(&f.arena);
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        struct jw w;
        jw_init(&w);
        jw_object(&w);
        table_columns(&w, k);
        jw_end(&w);
        jval columns = jgetc(doc_root(doc_hold(&f.arena, jw_doc(&w))), "columnDefinitions");
        jval cells = jgetc(row(&f, object(&f, k, "{" META("o") "}"), TABLE_INCLUDE_NONE), "cells");
        CHECK_INT(jlen(cells), jlen(columns));
        for (struct jiter it = jiter(columns); jnext(&it);) {
            str name = jstr(jgetc(it.value, "name")), type = jstr(jgetc(it.value, "type"));
            jval cell = jat(cells, it.index);
            bool is_number = jtype(cell) == J_INT || (kind_is(k, KIND_CUSTOM) && j_is_null(cell));
            CHECK(!str_is_empty(jstr(jgetc(it.value, "description"))));
            if (str_is(type, "integer") && !CHECK(is_number))
                test_note("%s: %.*s", k->kind, STR_ARG(name));
            if (j_has(jgetc(it.value, "path")) || k->n_columns == 0)
                continue;
            if (!k->columns[it.index].path && !str_is(name, "Age") &&
                !CHECK(table_cell(k, k->columns[it.index].name)))
                test_note("%s: nothing computes %.*s", k->kind, STR_ARG(name));
        }
    }
    arena_done(&f.arena);
}

/* Text that a client wrote goes into the row as it is, whatever it is. */
TEST(long_and_odd_values_are_harmless)
{
    struct fixture f = {0};
    struct strbuf b = STRBUF_INIT(1 << 20);
    grove_kinds_init();
    arena_init(&f.arena);
    strbuf_add_cstr(&b, "{" META("p") ",'status':{'phase':'");
    for (size_t i = 0; i < 200000; i++)
        strbuf_add_char(&b, 'x');
    strbuf_add_cstr(&b, "','containerStatuses':{'a':1},'initContainerStatuses':[1,null,'x']}}");
    CHECK_INT(jlen(jgetc(row(&f, object(&f, &kind_pod, b.p), TABLE_INCLUDE_NONE), "cells")), 9);
    strbuf_done(&b);
    static const char *const odd[] = {
        "{" META("o") ",'spec':null,'status':[],'data':7,'subjects':'x','metrics':{}}",
        "{" META("o") ",'spec':{'ports':[[]],'metrics':[3],'selector':[1]},'status':'gone'}",
    };
    for (size_t i = 0; i < kinds_count(); i++) {
        for (size_t j = 0; j < ARRAY_LEN(odd); j++)
            CHECK(jlen(row(&f, object(&f, kinds_at(i), odd[j]), TABLE_INCLUDE_NONE)) == 2);
    }
    arena_done(&f.arena);
}
