/* Kinds that share storage: what is written in one version is read in the other, without loss. */
#include "apiserver/test-apiserver-fixture.h"

#define HPA(version, spec)                                                                  \
    "{'apiVersion':'autoscaling/" version "','kind':'HorizontalPodAutoscaler','metadata':{" \
    "'name':'h','annotations':{'a':'b'}},'spec':{'scaleTargetRef':{'apiVersion':'apps/v1'," \
    "'kind':'Deployment','name':'d'},'maxReplicas':5" spec "}}"

TEST(autoscaler_of_v1_is_read_in_v2)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_hpa_v1, "ns", HPA("v1", ",'targetCPUUtilizationPercentage':80")),
              201);
    CHECK_CSTR(field(&f, "spec.minReplicas"), "1");
    CHECK_INT(get(&f, &kind_hpa, "ns", "h"), 200);
    CHECK_CSTR(field(&f, "apiVersion"), "autoscaling/v2");
    CHECK_CSTR(field(&f, "spec.metrics"),
               "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"
               "\"Utilization\",\"averageUtilization\":80}}}]");
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.targetCPUUtilizationPercentage")));
    CHECK_INT(list(&f, &kind_hpa, "ns", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 1);
    fixture_done(&f);
}

TEST(autoscaler_of_v2_loses_nothing_on_the_way_through_v1)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_hpa, "ns",
                     HPA("v2", ",'metrics':[{'type':'Pods','pods':{'metric':{'name':'qps'},"
                               "'target':{'type':'AverageValue','averageValue':'10'}}},"
                               "{'type':'Resource','resource':{'name':'cpu','target':{'type':"
                               "'Utilization','averageUtilization':50}}}],"
                               "'behavior':{'scaleDown':{'stabilizationWindowSeconds':60}}")),
              201);
    struct doc *first = doc_ref(f.doc);
    CHECK_INT(get(&f, &kind_hpa_v1, "ns", "h"), 200);
    CHECK_CSTR(field(&f, "spec.targetCPUUtilizationPercentage"), "50");
    CHECK_CSTR(jstr(jget(jpath(doc_root(f.doc), "metadata.annotations"),
                         STR("autoscaling.alpha.kubernetes.io/metrics"))),
               "[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"qps\",\"targetAverageValue\":\"10\"}"
               "}]");
    CHECK_INT(patch(&f, &kind_hpa_v1, "ns", "h", API_PATCH_MERGE, "{'spec':{'maxReplicas':6}}"),
              200);
    CHECK_INT(get(&f, &kind_hpa, "ns", "h"), 200);
    CHECK_CSTR(field(&f, "spec.maxReplicas"), "6");
    CHECK(jequal(jpath(doc_root(f.doc), "spec.metrics"), jpath(doc_root(first), "spec.metrics")));
    CHECK(jequal(jpath(doc_root(f.doc), "spec.behavior"), jpath(doc_root(first), "spec.behavior")));
    CHECK_CSTR(field(&f, "metadata.annotations"), "{\"a\":\"b\"}");
    doc_unref(first);
    fixture_done(&f);
}

TEST(webhooks_get_their_defaults)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_validating_webhook, "",
                     "{'metadata':{'name':'w'},'webhooks':[{'name':'a.example.org','sideEffects':"
                     "'None','admissionReviewVersions':['v1'],'clientConfig':{'service':{'name':"
                     "'s','namespace':'ns'}},'rules':[{'operations':['CREATE'],'apiGroups':[''],"
                     "'apiVersions':['v1'],'resources':['pods']}]}]}"),
              201);
    jval w = jat(jpath(doc_root(f.doc), "webhooks"), 0);
    CHECK_CSTR(jstr(jgetc(w, "failurePolicy")), "Fail");
    CHECK_CSTR(jstr(jgetc(w, "matchPolicy")), "Equivalent");
    CHECK_INT(jint(jgetc(w, "timeoutSeconds"), 0), 10);
    CHECK_INT(jint(jpath(w, "clientConfig.service.port"), 0), 443);
    CHECK_CSTR(jstr(jgetc(jat(jgetc(w, "rules"), 0), "scope")), "*");
    CHECK_INT(create(&f, &kind_validating_webhook, "",
                     "{'metadata':{'name':'x'},'webhooks':[{'name':'a.example.org','sideEffects':"
                     "'Some','admissionReviewVersions':['v1'],'clientConfig':{}}]}"),
              422);
    fixture_done(&f);
}

#define BOX(defaults)                                                                          \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"   \
    "'name':'boxes.example.org'},'spec':{'group':'example.org','scope':'Namespaced','names':{" \
    "'plural':'boxes','kind':'Box'},'versions':[{'name':'v1','served':true,'storage':true,"    \
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{'a':{'type':'string'" defaults \
    "}}}}}]}}"

TEST(objects_are_read_with_the_defaults_of_today)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_crd, "", BOX("")), 201);
    fixture_run(&f, USEC_PER_SEC / 10);
    const struct kind *box = kind_by_plural(STR("example.org"), STR("v1"), STR("boxes"));
    REQUIRE(box);
    CHECK_INT(create(&f, box, "ns", "{'metadata':{'name':'old'}}"), 201);
    CHECK_CSTR(field(&f, "a"), "");
    str path = STR("/spec/versions/0/schema/openAPIV3Schema/properties/a/default");
    str set = arena_printf(&f.arena, "[{'op':'add','path':'%.*s','value':'A'}]", STR_ARG(path));
    CHECK_INT(patch(&f, &kind_crd, "", "boxes.example.org", API_PATCH_JSON, set.p), 200);
    fixture_run(&f, USEC_PER_SEC / 10);
    box = kind_by_plural(STR("example.org"), STR("v1"), STR("boxes"));
    REQUIRE(box);
    CHECK_INT(get(&f, box, "ns", "old"), 200);
    CHECK_CSTR(field(&f, "a"), "A");
    CHECK_INT(create(&f, box, "ns", "{'metadata':{'name':'new'}}"), 201);
    /* what was written stays when the default goes, what was not goes with it */
    str gone = arena_printf(&f.arena, "[{'op':'remove','path':'%.*s'}]", STR_ARG(path));
    CHECK_INT(patch(&f, &kind_crd, "", "boxes.example.org", API_PATCH_JSON, gone.p), 200);
    fixture_run(&f, USEC_PER_SEC / 10);
    box = kind_by_plural(STR("example.org"), STR("v1"), STR("boxes"));
    REQUIRE(box);
    CHECK_INT(get(&f, box, "ns", "new"), 200);
    CHECK_CSTR(field(&f, "a"), "A");
    CHECK_INT(get(&f, box, "ns", "old"), 200);
    CHECK_CSTR(field(&f, "a"), "");
    fixture_done(&f);
}

TEST(device_claims_are_read_in_every_version)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_claim_v1beta1, "ns",
                     "{'metadata':{'name':'c'},'spec':{'devices':{'requests':[{'name':'r',"
                     "'deviceClassName':'d','count':2,'allocationMode':'ExactCount'},{'name':'s',"
                     "'firstAvailable':[{'name':'x','deviceClassName':'e'}]}],'constraints':[{"
                     "'matchAttribute':'a'}]}}}"),
              201);
    struct doc *first = doc_ref(f.doc);
    CHECK_INT(get(&f, &kind_resource_claim, "ns", "c"), 200);
    CHECK_CSTR(field(&f, "apiVersion"), "resource.k8s.io/v1");
    CHECK_CSTR(field(&f, "spec.devices"),
               "{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"d\",\"count\":2,"
               "\"allocationMode\":\"ExactCount\"}},{\"name\":\"s\",\"firstAvailable\":[{\"name\":"
               "\"x\",\"deviceClassName\":\"e\"}]}],\"constraints\":[{\"matchAttribute\":\"a\"}]}");
    /* Written in another version it is the same when read in the first. */
    CHECK_INT(patch(&f, &kind_resource_claim_v1beta2, "ns", "c", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    CHECK_INT(get(&f, &kind_resource_claim_v1beta1, "ns", "c"), 200);
    CHECK(jequal(jgetc(doc_root(f.doc), "spec"), jgetc(doc_root(first), "spec")));
    doc_unref(first);
    fixture_done(&f);
}

TEST(templates_and_slices_are_read_in_every_version)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_claim_template, "ns",
                     "{'metadata':{'name':'t'},'spec':{'metadata':{'labels':{'a':'b'}},'spec':{"
                     "'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'d'}}]}}}}"),
              201);
    CHECK_INT(get(&f, &kind_resource_claim_template_v1beta1, "ns", "t"), 200);
    CHECK_CSTR(field(&f, "spec"),
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"devices\":{\"requests\":[{"
               "\"name\":\"r\",\"deviceClassName\":\"d\"}]}}}");
    CHECK_INT(create(&f, &kind_resource_slice_v1beta1, "",
                     "{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'n','pool':{'name':"
                     "'p','generation':1,'resourceSliceCount':1},'devices':[{'name':'g','basic':{"
                     "'attributes':{'x':{'int':1}}}}]}}"),
              201);
    CHECK_INT(get(&f, &kind_resource_slice, "", "s"), 200);
    CHECK_CSTR(field(&f, "spec.devices"), "[{\"name\":\"g\",\"attributes\":{\"x\":{\"int\":1}}}]");
    CHECK_INT(get(&f, &kind_resource_slice_v1beta1, "", "s"), 200);
    CHECK_CSTR(field(&f, "spec.devices"),
               "[{\"name\":\"g\",\"basic\":{\"attributes\":{\"x\":{\"int\":1}}}}]");
    fixture_done(&f);
}
