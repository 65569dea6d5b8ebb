/* Pods through ephemeralcontainers and resize: what may change there, and that nothing else does.
 */
#include "apiserver/test-apiserver-fixture.h"

#define DEBUGGER "{'spec':{'ephemeralContainers':[{'name':'dbg','image':'busybox'%s}]}}"

static int patch_part(struct fixture *f, const char *part, const char *json)
{
    return patch_sub(f, &kind_pod, "ns", "p", part, API_PATCH_STRATEGIC, json);
}

TEST(ephemeral_containers_are_added_through_their_subresource)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", "")), 201);
    CHECK_INT(patch_part(&f, "ephemeralcontainers",
                         "{'metadata':{'labels':{'x':'y'}},'spec':{'ephemeralContainers':[{'name':"
                         "'dbg','image':'busybox','targetContainerName':'c'}],'nodeName':'n1'}}"),
              200);
    jval dbg = jat(jpath(doc_root(f.doc), "spec.ephemeralContainers"), 0);
    CHECK_STR(jstr(jgetc(dbg, "imagePullPolicy")), STR("Always"));
    CHECK_STR(jstr(jgetc(dbg, "terminationMessagePath")), STR("/dev/termination-log"));
    CHECK_STR(jstr(jgetc(dbg, "targetContainerName")), STR("c"));
    /* and nothing else is */
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.nodeName")));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.labels")));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(send(&f, (struct api_request){.verb = API_GET,
                                            .kind = &kind_pod,
                                            .ns = STR("ns"),
                                            .name = STR("p"),
                                            .subresource = STR("ephemeralcontainers")}),
              200);
    CHECK_STR(field(&f, "kind"), STR("Pod"));
    fixture_done(&f);
}

TEST(ephemeral_containers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{'spec':{'ephemeralContainers':[{'name':'c','image':'x'}]}}",
         "Pod \"p\" is invalid: spec.ephemeralContainers[1].name: Duplicate value: \"c\""},
        {"{'spec':{'ephemeralContainers':[{'name':'d','image':'x','targetContainerName':'z'}]}}",
         "Pod \"p\" is invalid: spec.ephemeralContainers[1].targetContainerName: Not found: "
         "\"z\""},
        {"{'spec':{'ephemeralContainers':[{'name':'d','image':'x','ports':[{'containerPort':1}]}]}"
         "}",
         "Pod \"p\" is invalid: spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an "
         "Ephemeral Container"},
        {"{'spec':{'ephemeralContainers':[{'name':'dbg','image':'other'}]}}",
         "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "
         "\"dbg\" may not be changed"},
        {"{'spec':{'ephemeralContainers':[{'$patch':'delete','name':'dbg'}]}}",
         "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "
         "\"dbg\" may not be removed"},
    };
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", "")), 201);
    CHECK_INT(patch_part(&f, "ephemeralcontainers", text_of(&f, DEBUGGER, "").p), 200);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(patch_part(&f, "ephemeralcontainers", cases[i].body), 422);
        CHECK_CSTR(f.message, cases[i].why);
    }
    CHECK_INT(
        create(&f, &kind_pod, "ns", POD("q", ",'ephemeralContainers':[{'name':'d','image':'x'}]")),
        422);
    CHECK_STR(f.message, STR("Pod \"q\" is invalid: spec.ephemeralContainers: Forbidden: cannot be "
                             "set on create"));
    /* not by the main endpoint either */
    CHECK_INT(patch(&f, &kind_pod, "ns", "p", API_PATCH_STRATEGIC,
                    "{'spec':{'ephemeralContainers':[{'name':'e','image':'x'}]}}"),
              422);
    fixture_done(&f);
}

TEST(pods_are_resized_through_their_subresource)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(
        create(&f, &kind_pod, "ns",
               "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x:1',"
               "'resources':{'requests':{'cpu':'1','memory':'1Gi'},'limits':{'cpu':'2'}}}]}}"),
        201);
    CHECK_INT(patch_part(&f, "resize",
                         "{'metadata':{'labels':{'x':'y'}},'spec':{'containers':[{'name':'c',"
                         "'image':'x:2','resources':{'requests':{'cpu':'1500m'}}}]}}"),
              200);
    jval c = jat(jpath(doc_root(f.doc), "spec.containers"), 0);
    CHECK_STR(jstr(jpath(c, "resources.requests.cpu")), STR("1500m"));
    CHECK_STR(jstr(jpath(c, "resources.requests.memory")), STR("1Gi"));
    CHECK_STR(jstr(jgetc(c, "image")), STR("x:1"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.labels")));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(patch_part(&f, "resize",
                         "{'spec':{'containers':[{'name':'c','resources':{'requests':{'memory':"
                         "null}}}]}}"),
              422);
    CHECK_STR(f.message, STR("Pod \"p\" is invalid: spec.containers[0].resources.requests: "
                             "Forbidden: resource requests cannot be removed"));
    CHECK_INT(patch_part(&f, "resize",
                         "{'spec':{'containers':[{'name':'c','resources':{'limits':{"
                         "'nvidia.com/gpu':'1'},'requests':{'nvidia.com/gpu':'1'}}}]}}"),
              422);
    CHECK(str_find(f.message, STR("only cpu and memory resources are mutable")) > 0);
    CHECK_INT(patch_part(&f, "resize",
                         "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'2'},"
                         "'limits':{'cpu':'2','memory':'1Gi'}}}]}}"),
              422);
    CHECK_STR(f.message, STR("Pod \"p\" is invalid: spec: Invalid value: \"Guaranteed\": Pod QOS "
                             "Class may not change as a result of resizing"));
    /* containers for debugging have no say in it */
    CHECK_INT(patch_part(&f, "ephemeralcontainers", text_of(&f, DEBUGGER, "").p), 200);
    CHECK_INT(patch_part(&f, "resize",
                         "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'2'},"
                         "'limits':{'cpu':'2','memory':'1Gi'}}}]}}"),
              422);
    fixture_done(&f);
}

TEST(init_containers_are_resized_by_the_same_rules)
{
    static const struct {
        const char *what;
        int code;
    } cases[] = {
        {"{'name':'side','resources':{'requests':{'cpu':'2'}}}", 200},
        {"{'name':'side','resources':{'limits':{'nvidia.com/gpu':'8'}}}", 422},
        {"{'name':'side','resources':{'requests':{'cpu':null}}}", 422},
        {"{'name':'first','resources':{'requests':{'cpu':'2'}}}", 422},
        {"{'name':'first','resources':{'limits':{'nvidia.com/gpu':'8'}}}", 422},
    };
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'first','image':"
                     "'x:1','resources':{'requests':{'cpu':'1'}}},{'name':'side','image':'x:1',"
                     "'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}}],"
                     "'containers':[{'name':'c','image':'x:1'}]}}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(patch_part(&f, "resize",
                                  text_of(&f, "{'spec':{'initContainers':[%s]}}", cases[i].what).p),
                       cases[i].code))
            test_note("%s: %.*s", cases[i].what, STR_ARG(f.message));
    fixture_done(&f);
}

TEST(operations_find_a_status_that_says_nothing_yet)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_claim, "ns",
                     "{'metadata':{'name':'c'},'spec':{'devices':{'requests':[{'name':'r',"
                     "'exactly':{'deviceClassName':'d'}}]}}}"),
              201);
    CHECK_INT(patch_sub(&f, &kind_resource_claim, "ns", "c", "status", API_PATCH_JSON,
                        "[{'op':'add','path':'/status/allocation','value':{}}]"),
              200);
    CHECK_CSTR(field(&f, "status"), "{\"allocation\":{}}");
    CHECK_INT(patch_sub(&f, &kind_resource_claim, "ns", "c", "status", API_PATCH_JSON,
                        "[{'op':'remove','path':'/status/reservedFor'}]"),
              422);
    fixture_done(&f);
}
