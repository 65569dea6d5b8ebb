/*
 * What the server adds to objects and what it refuses. Expected values are those recorded from
 * kube-apiserver 1.36 (without the projected token volume).
 */
#include "apiserver/test-apiserver-fixture.h"

static jval item(struct fixture *f, const char *list, size_t i)
{
    return jat(jpath(doc_root(f->doc), list), i);
}

/* The answer, apart from metadata, is this JSON value. */
static void check_same(struct fixture *f, const char *path, const char *json)
{
    struct doc *want = fixture_doc(f, json);
    jval got = jpath(doc_root(f->doc), path);
    if (!CHECK(jequal(got, doc_root(want))))
        test_note("%s: got %.*s", path, STR_ARG(jtext(got)));
}

/* ---- pods ---- */

TEST(pods_get_their_defaults)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", ",'schedulerName':'manual'")), 201);
    check_same(&f, "spec",
               "{'containers':[{'name':'c','image':'registry.example/x:1','resources':{},"
               "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File',"
               "'imagePullPolicy':'IfNotPresent'}],'restartPolicy':'Always',"
               "'terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst',"
               "'serviceAccountName':'default','serviceAccount':'default','securityContext':{},"
               "'schedulerName':'manual','tolerations':[{'key':'node.kubernetes.io/not-ready',"
               "'operator':'Exists','effect':'NoExecute','tolerationSeconds':300},"
               "{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'NoExecute',"
               "'tolerationSeconds':300}],'priority':0,'enableServiceLinks':true,"
               "'preemptionPolicy':'PreemptLowerPriority'}");
    check_same(&f, "status", "{'phase':'Pending','qosClass':'BestEffort'}");
    CHECK_INT(f.obj->generation, 1);
    fixture_done(&f);
}

TEST(image_pull_policy_follows_the_tag)
{
    static const struct {
        const char *image, *policy;
    } cases[] = {
        {"x", "Always"},
        {"x:latest", "Always"},
        {"x:1", "IfNotPresent"},
        {"registry:5000/x", "Always"},
        {"registry:5000/x:2", "IfNotPresent"},
        {"x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
         "IfNotPresent"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = arena_printf(&f.arena,
                                "{'metadata':{'name':'p%zu'},'spec':{'containers':[{'name':'c',"
                                "'image':'%s'}],'initContainers':[{'name':'i','image':'%s'}]}}",
                                i, cases[i].image, cases[i].image);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 201);
        CHECK_CSTR(jstr(jgetc(item(&f, "spec.containers", 0), "imagePullPolicy")), cases[i].policy);
        CHECK_CSTR(jstr(jgetc(item(&f, "spec.initContainers", 0), "imagePullPolicy")),
                   cases[i].policy);
    }
    fixture_done(&f);
}

TEST(specs_of_pods_must_make_sense)
{
    static const struct {
        const char *spec, *why; /* behind `Pod "p" is invalid: ` */
    } cases[] = {
        {"'containers':[{'name':'c','image':'x'},{'name':'c','image':'y'}]",
         "spec.containers[1].name: Duplicate value: \"c\""},
        {"'initContainers':[{'name':'c','image':'x'}],'containers':[{'name':'c','image':'y'}]",
         "spec.containers[0].name: Duplicate value: \"c\""},
        {"'containers':[{'name':'c','image':'x','ports':[{'containerPort':99999}]}]",
         "spec.containers[0].ports[0].containerPort: Invalid value: 99999: must be between 1 and "
         "65535, inclusive"},
        {"'containers':[{'name':'c','image':'x','ports':[{'containerPort':1,'name':'a_b'}]}]",
         "spec.containers[0].ports[0].name: Invalid value: \"a_b\": must contain only "
         "alpha-numeric characters (a-z, 0-9), and hyphens (-)"},
        {"'containers':[{'name':'c','image':'x','env':[{'name':'','value':'1'}]}]",
         "spec.containers[0].env[0].name: Required value"},
        {"'containers':[{'name':'c','image':'x','volumeMounts':[{'name':'v','mountPath':'/x'}]}]",
         "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
        {"'containers':[{'name':'c','image':'x'}],'volumes':[{'name':'v','emptyDir':{},"
         "'configMap':{'name':'x'}}]",
         "spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type"},
        {"'containers':[{'name':'c','image':'x'}],'volumes':[{'name':'v','emptyDir':{}},"
         "{'name':'v','emptyDir':{}}]",
         "spec.volumes[1].name: Duplicate value: \"v\""},
        {"'containers':[{'name':'c','image':'x'}],'volumes':[{'name':'../etc','emptyDir':{}}]",
         "spec.volumes[0].name: Invalid value: \"../etc\": a lowercase RFC 1123 label must consist "
         "of lower case alphanumeric characters or '-', and must start and end with an "
         "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
        {"'containers':[{'name':'c','image':'x'}],'volumes':[{'name':'','emptyDir':{}}]",
         "spec.volumes[0].name: Required value"},
        {"'containers':[{'name':'c','image':'x'}],'tolerations':[{'operator':'Foo','key':'a'}]",
         "spec.tolerations[0].operator: Unsupported value: \"Foo\": supported values: \"Equal\", "
         "\"Exists\""},
        {"'hostNetwork':true,'containers':[{'name':'c','image':'x','ports':[{'containerPort':80,"
         "'hostPort':81}]}]",
         "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when "
         "`hostNetwork` is true"},
        {"'containers':[{'name':'c','image':'x'}],'tolerations':[{'operator':'Gt','key':'a',"
         "'value':'007'}]",
         "spec.tolerations[0].value: Invalid value: \"007\": must be a valid decimal integer in "
         "canonical form"},
        {"'containers':[{'name':'c','image':'x'}],'tolerations':[{'operator':'Lt','value':'7'}]",
         "spec.tolerations[0].operator: Invalid value: \"Lt\": operator must be Exists when "
         "`key` is empty, which means \"match all values and all keys\""},
        {"'containers':[{'name':'c','image':'x'}],'tolerations':[{'operator':'Equal'}]",
         "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when "
         "`key` is empty, which means \"match all values and all keys\""},
        {"'containers':[{'name':'c','image':'x'}],'schedulingGates':[{'name':'a'},{'name':'a'}]",
         "spec.schedulingGates[1]: Duplicate value: \"a\""},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = text_of(&f, "{'metadata':{'name':'p'},'spec':{%s}}", cases[i].spec);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 422);
        str want = text_of(&f, "Pod \"p\" is invalid: %s", cases[i].why);
        if (!CHECK_STR(f.message, want))
            test_note("%s", cases[i].spec);
    }
    CHECK_INT(create(&f, &kind_pod, "ns", "{'metadata':{'name':'p'}}"), 422);
    CHECK_CSTR(f.message, "Pod \"p\" is invalid: spec.containers: Required value");
    fixture_done(&f);
}

/* [ONE,ONE,...], with %zu for its number in each; the one before the last is as the fourth. */
static str long_list(struct fixture *f, const char *before, const char *after)
{
    enum { LONG = 100 };
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < LONG; i++)
        strbuf_printf(&b, "%c%s%zu%s", i ? ',' : '[', before, i == LONG - 2 ? 3 : i, after);
    strbuf_add_char(&b, ']');
    str s = arena_str(&f->arena, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

/* Short lists are looked through, long ones remembered. */
TEST(what_comes_twice_is_found_in_long_lists_too)
{
    static const struct {
        const char *open, *before, *after, *close, *why;
    } cases[] = {
        {"'containers':", "{'image':'x','name':'c", "'}", "",
         "spec.containers[98].name: Duplicate value: \"c3\""},
        {"'containers':[{'name':'c','image':'x'}],'initContainers':", "{'image':'x','name':'c",
         "'}", "", "spec.initContainers[98].name: Duplicate value: \"c3\""},
        {"'containers':[{'name':'c','image':'x','ports':", "{'containerPort':1,'name':'p", "'}",
         "}]", "spec.containers[0].ports[98].name: Duplicate value: \"p3\""},
        {"'volumes':[{'name':'v','emptyDir':{}}],'containers':[{'name':'c','image':'x',"
         "'volumeMounts':",
         "{'name':'v','mountPath':'/", "'}", "}]",
         "spec.containers[0].volumeMounts[98].mountPath: Invalid value: \"/3\": must be unique"},
        {"'containers':[{'name':'c','image':'x'}],'volumes':", "{'emptyDir':{},'name':'v", "'}", "",
         "spec.volumes[98].name: Duplicate value: \"v3\""},
        {"'containers':[{'name':'c','image':'x'}],'schedulingGates':", "{'name':'a/", "'}", "",
         "spec.schedulingGates[98]: Duplicate value: \"a/3\""},
        {"'containers':[{'name':'c7','image':'x'},{'name':'d','image':'x'}],'initContainers':",
         "{'image':'x','name':'c", "'}", "",
         "[spec.initContainers[98].name: Duplicate value: \"c3\", spec.containers[0].name: "
         "Duplicate value: \"c7\"]"},
        {"'containers':[{'name':'c','image':'x','volumeMounts':[{'name':'v97','mountPath':'/'},"
         "{'name':'v98','mountPath':'/a'}]}],'volumes':",
         "{'emptyDir':{},'name':'v", "'}", "",
         "[spec.volumes[98].name: Duplicate value: \"v3\", "
         "spec.containers[0].volumeMounts[1].name: Not found: \"v98\"]"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str list = long_list(&f, cases[i].before, cases[i].after);
        str body = text_of(&f, "{'metadata':{'name':'p'},'spec':{%s%.*s%s}}", cases[i].open,
                           STR_ARG(list), cases[i].close);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 422);
        CHECK_STR(f.message, text_of(&f, "Pod \"p\" is invalid: %s", cases[i].why));
    }
    str ports = long_list(&f, "{'port':1,'name':'p", "'}");
    str body = text_of(&f, "{'metadata':{'name':'s'},'spec':{'ports':%.*s}}", STR_ARG(ports));
    CHECK_INT(create(&f, &kind_service, "ns", body.p), 422);
    CHECK_CSTR(f.message, "Service \"s\" is invalid: spec.ports[98].name: Duplicate value: \"p3\"");
    fixture_done(&f);
}

/* n times the item. */
static str many(struct fixture *f, const char *item, size_t n)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s%s", i ? "," : "", item);
    str s = arena_str(&f->arena, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

/* What it takes to complete and judge an item is many times its text: `{}` is a whole container. */
TEST(lists_of_objects_have_a_bound_before_they_are_completed)
{
    static const struct {
        const struct kind *kind;
        const char *before, *item, *after, *why;
        size_t n;
    } cases[] = {
        {&kind_pod, "'containers':[", "{}", "]",
         "Pod \"p\" is invalid: spec.containers: Too many: 1000000: must have at most 16384 items",
         1000000},
        {&kind_pod, "'initContainers':[", "null", "]",
         "Pod \"p\" is invalid: spec.initContainers: Too many: 16385: must have at most 16384 "
         "items",
         16385},
        {&kind_pod, "'containers':[{'name':'c','image':'x'},{'ports':['a',", "{}", "]}]",
         "Pod \"p\" is invalid: spec.containers[1].ports: Too many: 20001: must have at most 16384 "
         "items",
         20000},
        {&kind_pod, "'containers':[{'ports':[{}]},", "{'ports':[{},{},{}]}", "]",
         "Pod \"p\" is invalid: spec: Too long: must have at most 16384 items in its lists and "
         "maps",
         4096},
        {&kind_deployment, "'template':{'spec':{'volumes':[", "{}", "]}}",
         "Deployment.apps \"p\" is invalid: spec.template.spec.volumes: Too many: 20000: must have "
         "at most 16384 items",
         20000},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str items = many(&f, cases[i].item, cases[i].n);
        str body = text_of(&f, "{'metadata':{'name':'p'},'spec':{%s%.*s%s}}", cases[i].before,
                           STR_ARG(items), cases[i].after);
        CHECK_INT(create(&f, cases[i].kind, "ns", body.p), 422);
        CHECK_CSTR(f.message, cases[i].why);
        CHECK_INT(get(&f, cases[i].kind, "ns", "p"), 404);
    }
    fixture_done(&f);
}

/* Each of the two maps that a kind may have takes what is left by the other. */
static str long_map(struct fixture *f, const char *prefix, size_t n)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s'%s%zu':''", i ? "," : "", prefix, i);
    str s = arena_str(&f->arena, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

TEST(maps_have_the_same_bound_however_they_are_written)
{
    static const struct {
        size_t data, binary;
        int code;
        const char *why;
    } cases[] = {
        {16384, 0, 201, NULL},
        {16385, 0, 422, "data: Too many: 16385: must have at most 16384 items"},
        {8192, 8192, 201, NULL},
        {8193, 8192, 422,
         "binaryData: Too long: must have at most 16384 items in its lists and maps"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str data = long_map(&f, "a", cases[i].data), more = long_map(&f, "b", cases[i].binary);
        str body = text_of(&f,
                           "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m%zu'},"
                           "'data':{%.*s},'binaryData':{%.*s}}",
                           i, STR_ARG(data), STR_ARG(more));
        str name = text_of(&f, "m%zu", i), other = text_of(&f, "o%zu", i);
        if (!CHECK_INT(create(&f, &kind_config_map, "ns", body.p), cases[i].code))
            test_note("%.*s", STR_ARG(str_sub(f.message, 0, 300)));
        if (cases[i].why)
            CHECK_STR(f.message,
                      text_of(&f, "ConfigMap \"%s\" is invalid: %s", name.p, cases[i].why));
        /* as an update with the owners of all of it, and as patches */
        if (!cases[i].why)
            CHECK_INT(update(&f, &kind_config_map, "ns", name.p, doc_text(f.doc).p), 200);
        CHECK_INT(
            create(&f, &kind_config_map, "ns", text_of(&f, "{'metadata':{'name':'o%zu'}}", i).p),
            201);
        CHECK_INT(
            patch(
                &f, &kind_config_map, "ns", other.p, API_PATCH_STRATEGIC,
                text_of(&f, "{'data':{%.*s},'binaryData':{%.*s}}", STR_ARG(data), STR_ARG(more)).p),
            cases[i].why ? 422 : 200);
        CHECK_INT(
            patch(
                &f, &kind_config_map, "ns", other.p, API_PATCH_MERGE,
                text_of(&f, "{'data':{%.*s},'binaryData':{%.*s}}", STR_ARG(data), STR_ARG(more)).p),
            cases[i].why ? 422 : 200);
    }
    fixture_done(&f);
}

TEST(lists_of_words_and_long_lists_below_the_bound_are_taken)
{
    struct fixture f;
    fixture_init(&f);
    str words = many(&f, "'a'", 20000), env = many(&f, "{'name':'A','value':''}", 16000);
    str body = text_of(&f,
                       "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x',"
                       "'args':[%.*s],'env':[%.*s]}]}}",
                       STR_ARG(words), STR_ARG(env));
    CHECK_INT(create(&f, &kind_pod, "ns", body.p), 201);
    CHECK_INT(jlen(jgetc(jat(jgetc(obj_spec(f.obj), "containers"), 0), "args")), 20000);
    fixture_done(&f);
}

TEST(smaller_kinds_must_make_sense)
{
    static const struct {
        const struct kind *kind;
        const char *body, *why;
    } cases[] = {
        {&kind_config_map, "{'metadata':{'name':'x'},'data':{'a/b':'1'}}",
         "ConfigMap \"x\" is invalid: data[a/b]: Invalid value: \"a/b\": a valid config key must "
         "consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
         "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
        {&kind_config_map, "{'metadata':{'name':'x'},'data':{'a':'1'},'binaryData':{'a':'eA=='}}",
         "ConfigMap \"x\" is invalid: data[a]: Invalid value: \"a\": duplicate of key present in "
         "binaryData"},
        {&kind_secret, "{'metadata':{'name':'x'},'type':'kubernetes.io/tls'}",
         "Secret \"x\" is invalid: [data[tls.crt]: Required value, data[tls.key]: Required "
         "value]"},
        {&kind_pdb, "{'metadata':{'name':'x'},'spec':{'minAvailable':1,'maxUnavailable':1}}",
         "PodDisruptionBudget.policy \"x\" is invalid: spec: Invalid value: {\"minAvailable\":1,"
         "\"maxUnavailable\":1}: minAvailable and maxUnavailable cannot be both set"},
        {&kind_pdb, "{'metadata':{'name':'x'},'spec':{'minAvailable':'many'}}",
         "PodDisruptionBudget.policy \"x\" is invalid: spec.minAvailable: Invalid value: "
         "\"many\": a valid percent string must be a numeric string followed by an ending '%' "
         "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"},
        {&kind_hpa,
         "{'metadata':{'name':'x'},'spec':{'maxReplicas':0,'minReplicas':5,'scaleTargetRef':{"
         "'kind':'A','name':'a'}}}",
         "HorizontalPodAutoscaler.autoscaling \"x\" is invalid: [spec.maxReplicas: Invalid value: "
         "0: must be greater than 0, spec.maxReplicas: Invalid value: 0: must be greater than or "
         "equal to `minReplicas`]"},
        {&kind_service, "{'metadata':{'name':'x'},'spec':{'ports':[{'port':1},{'port':2}]}}",
         "Service \"x\" is invalid: [spec.ports[0].name: Required value, spec.ports[1].name: "
         "Required value]"},
        {&kind_lease, "{'metadata':{'name':'x'},'spec':{'leaseDurationSeconds':-1}}",
         "Lease.coordination.k8s.io \"x\" is invalid: spec.leaseDurationSeconds: Invalid value: "
         "-1: must be greater than 0"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(create(&f, cases[i].kind, "ns", cases[i].body), 422);
        if (!CHECK_CSTR(f.message, cases[i].why))
            test_note("%s", cases[i].body);
    }
    /* once immutable, always */
    CHECK_INT(create(&f, &kind_config_map, "ns", "{'metadata':{'name':'i'},'immutable':true}"),
              201);
    CHECK_INT(patch(&f, &kind_config_map, "ns", "i", API_PATCH_MERGE, "{'immutable':false}"), 422);
    CHECK_CSTR(f.message, "ConfigMap \"i\" is invalid: immutable: Forbidden: field is immutable "
                          "when `immutable` is set");
    fixture_done(&f);
}

TEST(amounts_are_kept_as_text)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x',"
                     "'resources':{'limits':{'cpu':1.5,'nvidia.com/gpu':2}}}]}}"),
              201);
    CHECK_CSTR(jtext(jgetc(item(&f, "spec.containers", 0), "resources")),
               "{\"limits\":{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"2\"},"
               "\"requests\":{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"2\"}}");
    fixture_done(&f);
}

TEST(amounts_are_of_known_resources_and_neither_negative_nor_parts_of_devices)
{
    static const struct {
        const char *resources, *why;
    } cases[] = {
        {"{'requests':{'cpu':'-1'}}",
         "Pod \"p\" is invalid: spec.containers[0].resources.requests[cpu]: Invalid value: "
         "\"-1\": must be greater than or equal to 0"},
        {"{'limits':{'memory':'-5Mi'},'requests':{'memory':'-5Mi'}}",
         "Pod \"p\" is invalid: [spec.containers[0].resources.limits[memory]: Invalid value: "
         "\"-5Mi\": must be greater than or equal to 0, "
         "spec.containers[0].resources.requests[memory]: Invalid value: \"-5Mi\": must be "
         "greater than or equal to 0]"},
        {"{'limits':{'nvidia.com/gpu':'500m'},'requests':{'nvidia.com/gpu':'500m'}}",
         "Pod \"p\" is invalid: [spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid "
         "value: \"500m\": must be an integer, "
         "spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"500m\": must be "
         "an integer]"},
        {"{'requests':{'gpu':'1'}}",
         "Pod \"p\" is invalid: [spec.containers[0].resources.requests[gpu]: Invalid value: "
         "\"gpu\": must be a standard resource type or fully qualified, "
         "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard "
         "resource for containers]"},
        {"{'requests':{'pods':'1'}}",
         "Pod \"p\" is invalid: spec.containers[0].resources.requests[pods]: Invalid value: "
         "\"pods\": must be a standard resource for containers"},
        {"{'requests':{'requests.example.com/x':'1'}}",
         "Pod \"p\" is invalid: spec.containers[0].resources.requests[requests.example.com/x]: "
         "Invalid value: \"requests.example.com/x\": doesn't follow extended resource name "
         "standard"},
        {"{'limits':{'hugepages-2Mi':'4Mi'},'requests':{'hugepages-2Mi':'2Mi'}}",
         "Pod \"p\" is invalid: spec.containers[0].resources.requests: Invalid value: \"2Mi\": "
         "must be equal to hugepages-2Mi limit of 4Mi"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = text_of(&f,
                           "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x',"
                           "'resources':%s}]}}",
                           cases[i].resources);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 422);
        CHECK_CSTR(f.message, cases[i].why);
    }
    fixture_done(&f);
}

TEST(requests_follow_limits_and_make_the_class_of_service)
{
    static const struct {
        const char *resources, *requests, *class;
    } cases[] = {
        {"{}", NULL, "BestEffort"},
        {"{'limits':{'cpu':'1','memory':'1Gi'}}", "{'cpu':'1','memory':'1Gi'}", "Guaranteed"},
        {"{'requests':{'cpu':'1'}}", "{'cpu':'1'}", "Burstable"},
        {"{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'1'}}",
         "{'cpu':'1','memory':'1Gi'}", "Burstable"},
        {"{'limits':{'nvidia.com/gpu':'8'}}", "{'nvidia.com/gpu':'8'}", "BestEffort"},
        {"{'requests':{'cpu':'1000m','memory':'1024Mi'},'limits':{'cpu':'1','memory':'1Gi'}}",
         "{'cpu':'1000m','memory':'1024Mi'}", "Guaranteed"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = arena_printf(&f.arena,
                                "{'metadata':{'name':'p%zu'},'spec':{'containers':[{'name':'c',"
                                "'image':'x','resources':%s}]}}",
                                i, cases[i].resources);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 201);
        CHECK_CSTR(field(&f, "status.qosClass"), cases[i].class);
        jval requests = jpath(item(&f, "spec.containers", 0), "resources.requests");
        if (cases[i].requests)
            CHECK(jequal(requests, doc_root(fixture_doc(&f, cases[i].requests))));
        else
            CHECK(j_is_absent(requests));
    }
    fixture_done(&f);
}

/* Of the first container of the list. */
static void check_ports(struct fixture *f, const char *list, const char *json)
{
    CHECK(jequal(jgetc(item(f, list, 0), "ports"), doc_root(fixture_doc(f, json))));
}

/* Ports of a pod on its host's network are its host's; sidecars and others alike. */
TEST(ports_on_the_network_of_the_host_are_its_ports)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p1'},'spec':{'hostNetwork':true,'initContainers':"
                     "[{'name':'i','image':'x','ports':[{'containerPort':81}]}],'containers':"
                     "[{'name':'c','image':'x','ports':[{'containerPort':80},{'containerPort':82,"
                     "'hostPort':82}]}]}}"),
              201);
    check_ports(&f, "spec.containers",
                "[{'containerPort':80,'protocol':'TCP','hostPort':80},{'containerPort':82,"
                "'hostPort':82,'protocol':'TCP'}]");
    check_ports(&f, "spec.initContainers", "[{'containerPort':81,'protocol':'TCP','hostPort':81}]");
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p2'},'spec':{'containers':[{'name':'c','image':'x',"
                     "'ports':[{'containerPort':80}]}]}}"),
              201);
    check_ports(&f, "spec.containers", "[{'containerPort':80,'protocol':'TCP'}]");
    fixture_done(&f);
}

/* What is said for the whole pod: requests come from the containers, or else from the limits; the
 * class of service is that of the whole. */
TEST(a_pod_that_is_limited_as_a_whole_asks_for_something)
{
    static const struct {
        const char *resources, *container, *requests, *class;
    } cases[] = {
        {"{'limits':{'cpu':'2','memory':'1Gi'}}", "{}", "{'cpu':'2','memory':'1Gi'}", "Guaranteed"},
        {"{'limits':{'cpu':'2'}}", "{'requests':{'cpu':'500m'}}", "{'cpu':'500m'}", "Burstable"},
        {"{'limits':{'cpu':'2'}}", "{'limits':{'cpu':'1'}}", "{'cpu':'1'}", "Burstable"},
        {"{'limits':{'cpu':'2'},'requests':{'cpu':'1'}}", "{'requests':{'memory':'1Gi'}}",
         "{'cpu':'1','memory':'1Gi'}", "Burstable"},
        {"{'requests':{'cpu':'1'}}", "{}", "{'cpu':'1'}", "Burstable"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = arena_printf(&f.arena,
                                "{'metadata':{'name':'p%zu'},'spec':{'resources':%s,'containers':"
                                "[{'name':'c','image':'x','resources':%s}]}}",
                                i, cases[i].resources, cases[i].container);
        CHECK_INT(create(&f, &kind_pod, "ns", body.p), 201);
        check_same(&f, "spec.resources.requests", cases[i].requests);
        CHECK_CSTR(field(&f, "status.qosClass"), cases[i].class);
    }
    fixture_done(&f);
}

TEST(tolerations_are_added_unless_they_are_there)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", ",'tolerations':[{'operator':'Exists'}]")),
              201);
    CHECK_INT(jlen(jpath(doc_root(f.doc), "spec.tolerations")), 1);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("p2", ",'tolerations':[{'key':'node.kubernetes.io/not-ready',"
                               "'operator':'Exists','effect':'NoExecute'}]")),
              201);
    CHECK_INT(jlen(jpath(doc_root(f.doc), "spec.tolerations")), 2);
    CHECK_STR(jstr(jgetc(item(&f, "spec.tolerations", 1), "key")),
              STR("node.kubernetes.io/unreachable"));
    fixture_done(&f);
}

TEST(gated_pods_say_so)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("g", ",'schedulingGates':[{'name':'a.b/c'}]")), 201);
    check_same(&f, "status",
               "{'phase':'Pending','qosClass':'BestEffort','conditions':[{'type':'PodScheduled',"
               "'status':'False','lastProbeTime':null,'lastTransitionTime':null,"
               "'reason':'SchedulingGated',"
               "'message':'Scheduling is blocked due to non-empty scheduling gates'}]}");
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("h", ",'schedulingGates':[{'name':'a.b/c'}],'nodeName':'n1'")),
              422);
    CHECK_STR(f.message, STR("Pod \"h\" is invalid: spec.nodeName: Forbidden: cannot be set until "
                             "all schedulingGates have been cleared"));
    fixture_done(&f);
}

TEST(priority_comes_from_the_class)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", ",'priorityClassName':'nope'")), 403);
    CHECK_STR(f.message,
              STR("pods \"p1\" is forbidden: no PriorityClass with name nope was found"));
    CHECK_INT(create(&f, &kind_priority_class, "",
                     "{'metadata':{'name':'high'},'value':1000,'preemptionPolicy':'Never'}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p2", ",'priorityClassName':'high'")), 201);
    CHECK_STR(field(&f, "spec.priority"), STR("1000"));
    CHECK_STR(field(&f, "spec.preemptionPolicy"), STR("Never"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p3", ",'priority':7")), 403);
    CHECK_STR(
        f.message,
        STR("pods \"p3\" is forbidden: the integer value of priority (7) must not be provided "
            "in pod spec; priority admission controller computed 0 from the given "
            "PriorityClass name"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p4", ",'priorityClassName':'system-node-critical'")),
              201);
    CHECK_STR(field(&f, "spec.priority"), STR("2000001000"));
    CHECK_INT(create(&f, &kind_priority_class, "",
                     "{'metadata':{'name':'usual'},'value':5,'globalDefault':true}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p5", "")), 201);
    CHECK_STR(field(&f, "spec.priority"), STR("5"));
    CHECK_STR(field(&f, "spec.priorityClassName"), STR("usual"));
    fixture_done(&f);
}

TEST(pods_without_containers_or_images_are_invalid)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", "{'metadata':{'name':'p'},'spec':{'containers':[]}}"),
              422);
    CHECK_STR(f.message, STR("Pod \"p\" is invalid: spec.containers: Required value"));
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c'}]}}"),
              422);
    CHECK_STR(f.message, STR("Pod \"p\" is invalid: spec.containers[0].image: Required value"));
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x',"
                     "'resources':{'requests':{'cpu':'2'},'limits':{'cpu':'1'}}}]}}"),
              422);
    CHECK_STR(f.message, STR("Pod \"p\" is invalid: spec.containers[0].resources.requests: Invalid "
                             "value: \"2\": must be less than or equal to cpu limit of 1"));
    fixture_done(&f);
}

static int patch_pod(struct fixture *f, const char *name, const char *json)
{
    return patch(f, &kind_pod, "ns", name, API_PATCH_STRATEGIC, json);
}

TEST(pod_updates_may_change_little)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'nodeName':'n2'}}"), 422);
    CHECK(str_starts(
        f.message,
        STR("Pod \"p1\" is invalid: spec: Forbidden: pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
            "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
            "previously negative)\n")));
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'containers':[{'name':'c','image':'x:2'}]}}"), 200);
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'containers':[{'name':'c','env':[{'name':'A'}]}]}}"),
              422);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'containers':[{'name':'d','image':'x'}]}}"), 422);
    CHECK_STR(f.message, STR("Pod \"p1\" is invalid: spec.containers: Forbidden: pod updates may "
                             "not add or remove containers"));
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'activeDeadlineSeconds':60}}"), 200);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'activeDeadlineSeconds':50}}"), 200);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'activeDeadlineSeconds':70}}"), 422);
    CHECK_STR(f.message, STR("Pod \"p1\" is invalid: spec.activeDeadlineSeconds: Invalid value: "
                             "70: must be less than or equal to previous value"));
    CHECK_INT(patch(&f, &kind_pod, "ns", "p1", API_PATCH_JSON,
                    "[{'op':'add','path':'/spec/tolerations/-','value':{'key':'k',"
                    "'operator':'Exists'}}]"),
              200);
    CHECK_INT(patch(&f, &kind_pod, "ns", "p1", API_PATCH_JSON,
                    "[{'op':'remove','path':'/spec/tolerations/0'}]"),
              422);
    CHECK_INT(patch_pod(&f, "p1", "{'metadata':{'labels':{'z':'1'}}}"), 200);
    CHECK_INT(patch_pod(&f, "p1", "{'spec':{'nodeSelector':{'a':'b'}}}"), 422);
    fixture_done(&f);
}

TEST(gates_can_only_be_removed)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(
        create(&f, &kind_pod, "ns", POD("g", ",'schedulingGates':[{'name':'one'},{'name':'two'}]")),
        201);
    CHECK_INT(patch_pod(&f, "g", "{'spec':{'schedulingGates':[{'name':'three'}]}}"), 422);
    CHECK(str_find(f.message, STR("only deletion is allowed, but found new scheduling gate "
                                  "'three'")) > 0);
    CHECK_INT(patch_pod(&f, "g", "{'spec':{'schedulingGates':[{'$patch':'delete','name':'one'}]}}"),
              200);
    CHECK_STR(field(&f, "spec.schedulingGates"), STR("[{\"name\":\"two\"}]"));
    CHECK_INT(patch(&f, &kind_pod, "ns", "g", API_PATCH_MERGE, "{'spec':{'schedulingGates':null}}"),
              200);
    CHECK_INT(jlen(jpath(doc_root(f.doc), "spec.schedulingGates")), 0);
    CHECK_INT(patch_pod(&f, "g", "{'spec':{'schedulingGates':[{'name':'one'}]}}"), 422);
    fixture_done(&f);
}

static void stored(struct store_write *w, const struct err *err)
{
    CHECK(!err);
    obj_unref(w->obj);
}

/* As older rules let it in. */
TEST(a_gate_is_lifted_from_a_pod_that_would_not_be_let_in_today)
{
    struct fixture f;
    fixture_init(&f);
    struct edit e;
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", ",'schedulingGates':[{'name':'one'}]")), 201);
    edit_init(&e, &f.arena);
    edit_set_raw(&e, STR("/spec/containers/0/resources"),
                 STR("{\"limits\":{\"gpu\":\"1\"},\"requests\":{\"gpu\":\"1\"}}"));
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 text_of(&f, "%llu", (unsigned long long)store_next_revision(f.store)));
    struct obj *o = obj_new(&kind_pod, edit_apply(&e, f.doc, NULL), NULL);
    edit_done(&e);
    REQUIRE(o);
    struct store_write w = {
        .kind = &kind_pod, .ns = o->ns, .name = o->name, .obj = o, .done = stored};
    REQUIRE(store_apply(f.store, &w, NULL) == 0);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(patch(&f, &kind_pod, "ns", "p", API_PATCH_MERGE, "{'spec':{'schedulingGates':null}}"),
              200);
    CHECK_INT(patch_pod(&f, "p", "{'spec':{'containers':[{'name':'c','image':'y'}]}}"), 422);
    CHECK(str_find(f.message, STR("resources.limits[gpu]: Invalid value: \"gpu\"")) > 0);
    fixture_done(&f);
}

#define REQUIRED_NODES "requiredDuringSchedulingIgnoredDuringExecution"
#define AFFINITY(terms)                                                                            \
    "{'spec':{'affinity':{'nodeAffinity':{'" REQUIRED_NODES "':{'nodeSelectorTerms':" terms "}}}}" \
    "}"

TEST(gated_pods_may_narrow_their_choice_of_nodes)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("g", ",'nodeSelector':{'a':'b'},'schedulingGates':[{'name':'one'}]")),
              201);
    CHECK_INT(patch_pod(&f, "g", "{'spec':{'nodeSelector':{'c':'d'}}}"), 200);
    CHECK_INT(patch_pod(&f, "g", "{'spec':{'nodeSelector':{'a':'x'}}}"), 422);
    CHECK(str_find(f.message, STR("spec.nodeSelector: Invalid value: ")) > 0);
    CHECK(str_find(f.message, STR("only additions to spec.nodeSelector are allowed (no mutations "
                                  "or deletions)")) > 0);
    CHECK_INT(patch(&f, &kind_pod, "ns", "g", API_PATCH_MERGE,
                    AFFINITY("[{'matchExpressions':[{'key':'z','operator':'Exists'}]}]")),
              200);
    CHECK_INT(patch(&f, &kind_pod, "ns", "g", API_PATCH_MERGE,
                    AFFINITY("[{'matchExpressions':[{'key':'z','operator':'Exists'},"
                             "{'key':'y','operator':'Exists'}]}]")),
              200);
    CHECK_INT(patch(&f, &kind_pod, "ns", "g", API_PATCH_MERGE,
                    AFFINITY("[{'matchExpressions':[{'key':'y','operator':'Exists'}]}]")),
              422);
    CHECK_INT(patch(&f, &kind_pod, "ns", "g", API_PATCH_MERGE,
                    AFFINITY("[{'matchExpressions':[{'key':'z','operator':'Exists'}]},"
                             "{'matchExpressions':[{'key':'y','operator':'Exists'}]}]")),
              422);
    fixture_done(&f);
}

/* ---- services ---- */

static int create_service(struct fixture *f, const char *name, const char *spec)
{
    str body = arena_printf(&f->arena, "{'metadata':{'name':'%s'},'spec':%s}", name, spec);
    return create(f, &kind_service, "ns", body.p);
}

TEST(services_get_addresses_and_defaults)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create_service(&f, "s1", "{'selector':{'a':'b'},'ports':[{'port':80}]}"), 201);
    check_same(&f, "spec",
               "{'ports':[{'protocol':'TCP','port':80,'targetPort':80}],'selector':{'a':'b'},"
               "'clusterIP':'10.96.0.2','clusterIPs':['10.96.0.2'],'type':'ClusterIP',"
               "'sessionAffinity':'None','ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack',"
               "'internalTrafficPolicy':'Cluster'}");
    check_same(&f, "status", "{'loadBalancer':{}}");
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.generation")));
    CHECK_INT(create_service(&f, "s2", "{'clusterIP':'None','selector':{'a':'b'}}"), 201);
    check_same(&f, "spec",
               "{'selector':{'a':'b'},'clusterIP':'None','clusterIPs':['None'],'type':'ClusterIP',"
               "'sessionAffinity':'None','ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack',"
               "'internalTrafficPolicy':'Cluster'}");
    CHECK_INT(create_service(
                  &f, "s3",
                  "{'type':'NodePort','ports':[{'name':'a','port':80},{'name':'b','port':81}]}"),
              201);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.3"));
    CHECK_STR(field(&f, "spec.externalTrafficPolicy"), STR("Cluster"));
    CHECK_INT(jint(jgetc(item(&f, "spec.ports", 0), "nodePort"), 0), 30000);
    CHECK_INT(jint(jgetc(item(&f, "spec.ports", 1), "nodePort"), 0), 30001);
    CHECK_INT(create_service(&f, "s4", "{'type':'ExternalName','externalName':'a.example'}"), 201);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.clusterIP")));
    fixture_done(&f);
}

TEST(addresses_are_kept_freed_and_never_given_twice)
{
    struct fixture f;
    fixture_init(&f);
    /* two in one batch: neither is durable when the second is judged */
    struct api_request a = {.verb = API_CREATE,
                            .kind = &kind_service,
                            .ns = STR("ns"),
                            .body = fixture_doc(&f, "{'metadata':{'name':'a'},'spec':{'ports':[{"
                                                    "'port':80}]}}")};
    struct api_request b = a;
    b.body = fixture_doc(&f, "{'metadata':{'name':'b'},'spec':{'ports':[{'port':80}]}}");
    send_only(&f, &a);
    send_only(&f, &b);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(get(&f, &kind_service, "ns", "a"), 200);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.2"));
    CHECK_INT(get(&f, &kind_service, "ns", "b"), 200);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.3"));
    CHECK_INT(update(&f, &kind_service, "ns", "a",
                     "{'metadata':{'name':'a'},'spec':{'ports':[{'port':81}]}}"),
              200);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.2"));
    CHECK_INT(patch(&f, &kind_service, "ns", "a", API_PATCH_MERGE,
                    "{'spec':{'clusterIP':'10.96.99.99'}}"),
              422);
    CHECK_STR(f.message, STR("Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: "
                             "[\"10.96.99.99\"]: may not change once set"));
    CHECK_INT(create_service(&f, "c", "{'clusterIP':'10.96.0.3','ports':[{'port':80}]}"), 422);
    CHECK_STR(f.message,
              STR("Service \"c\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.3\"]: "
                  "failed to allocate IP 10.96.0.3: provided IP is already allocated"));
    CHECK_INT(delete (&f, &kind_service, "ns", "a"), 200);
    CHECK_INT(create_service(&f, "d", "{'ports':[{'port':80}]}"), 201);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.2"));
    /* a new server over the same store knows them too */
    apiserver_free(f.server);
    f.server = apiserver_new(f.loop, f.store);
    CHECK_INT(create_service(&f, "e", "{'ports':[{'port':80}]}"), 201);
    CHECK_STR(field(&f, "spec.clusterIP"), STR("10.96.0.4"));
    fixture_done(&f);
}

/* ---- owners of fields ---- */

TEST(managers_own_what_they_wrote_and_its_defaults_but_not_what_admission_added)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p1','labels':{'app':'p1'}},'spec':{'schedulerName':"
                     "'manual','containers':[{'name':'c','image':'registry.example/x:1'}]}}"),
              201);
    CHECK_STR(jtext(jgetc(item(&f, "metadata.managedFields", 0), "fieldsV1")),
              STR("{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},\"f:spec\":{"
                  "\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:image\":{},"
                  "\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{},"
                  "\"f:terminationMessagePath\":{},\"f:terminationMessagePolicy\":{}}},"
                  "\"f:dnsPolicy\":{},\"f:enableServiceLinks\":{},\"f:restartPolicy\":{},"
                  "\"f:schedulerName\":{},\"f:securityContext\":{},"
                  "\"f:terminationGracePeriodSeconds\":{}}}"));
    CHECK_INT(create_service(&f, "s1", "{'selector':{'a':'b'},'ports':[{'port':80}]}"), 201);
    CHECK_STR(jtext(jgetc(item(&f, "metadata.managedFields", 0), "fieldsV1")),
              STR("{\"f:spec\":{\"f:internalTrafficPolicy\":{},\"f:ports\":{\".\":{},"
                  "\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},\"f:port\":{},"
                  "\"f:protocol\":{},\"f:targetPort\":{}}},\"f:selector\":{},"
                  "\"f:sessionAffinity\":{},\"f:type\":{}}}"));
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'nsl'}}"), 201);
    CHECK_STR(jtext(jgetc(item(&f, "metadata.managedFields", 0), "fieldsV1")),
              STR("{\"f:metadata\":{\"f:labels\":{\".\":{},"
                  "\"f:kubernetes.io/metadata.name\":{}}}}"));
    fixture_done(&f);
}

/* ---- other kinds ---- */

TEST(namespaces_get_label_finalizer_and_phase)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'nsl'}}"), 201);
    check_same(&f, "metadata.labels", "{'kubernetes.io/metadata.name':'nsl'}");
    check_same(&f, "spec", "{'finalizers':['kubernetes']}");
    check_same(&f, "status", "{'phase':'Active'}");
    fixture_done(&f);
}

TEST(secrets_fold_their_text_into_data)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_secret, "ns",
                     "{'metadata':{'name':'s'},'data':{'a':'MQ=='},'stringData':{'b':'hello',"
                     "'a':'2'}}"),
              201);
    check_same(&f, "data", "{'a':'Mg==','b':'aGVsbG8='}");
    CHECK_STR(field(&f, "type"), STR("Opaque"));
    CHECK(j_is_absent(jgetc(doc_root(f.doc), "stringData")));
    CHECK_INT(patch(&f, &kind_secret, "ns", "s", API_PATCH_MERGE, "{'type':'other'}"), 422);
    CHECK_STR(f.message,
              STR("Secret \"s\" is invalid: type: Invalid value: \"other\": field is immutable"));
    CHECK_INT(patch(&f, &kind_secret, "ns", "s", API_PATCH_MERGE, "{'immutable':true}"), 200);
    CHECK_INT(patch(&f, &kind_secret, "ns", "s", API_PATCH_MERGE, "{'data':{'a':'Mw=='}}"), 422);
    CHECK_STR(f.message, STR("Secret \"s\" is invalid: data: Forbidden: field is immutable when "
                             "`immutable` is set"));
    fixture_done(&f);
}

TEST(config_maps_have_a_largest_size)
{
    struct fixture f;
    fixture_init(&f);
    struct strbuf b = STRBUF_INIT(2 << 20);
    strbuf_add_cstr(&b, "{'metadata':{'name':'big'},'data':{'a':'");
    memset(strbuf_reserve(&b, 1100000), 'x', 1100000);
    strbuf_commit(&b, 1100000);
    strbuf_add_cstr(&b, "'}}");
    CHECK_INT(create(&f, &kind_config_map, "ns", b.p), 422);
    CHECK_STR(
        f.message,
        STR("ConfigMap \"big\" is invalid: []: Too long: may not be more than 1048576 bytes"));
    strbuf_done(&b);
    fixture_done(&f);
}

TEST(deployments_get_defaults_and_are_checked)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_deployment, "ns",
                     "{'metadata':{'name':'d1'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                     "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{"
                     "'name':'c','image':'x'}]}}}}"),
              201);
    check_same(&f, "spec",
               "{'replicas':1,'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{"
               "'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'x','resources':{},"
               "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File',"
               "'imagePullPolicy':'Always'}],'restartPolicy':'Always',"
               "'terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst',"
               "'securityContext':{},'schedulerName':'default-scheduler'}},'strategy':{"
               "'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}},"
               "'revisionHistoryLimit':10,'progressDeadlineSeconds':600}");
    CHECK_INT(patch(&f, &kind_deployment, "ns", "d1", API_PATCH_MERGE,
                    "{'spec':{'selector':{'matchLabels':{'n':'m'}}}}"),
              422);
    CHECK_STR(
        f.message,
        STR("Deployment.apps \"d1\" is invalid: [spec.template.metadata.labels: Invalid "
            "value: {\"a\":\"b\"}: `selector` does not match template `labels`, "
            "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"n\":\"m\"}}: field "
            "is immutable]"));
    CHECK_INT(create(&f, &kind_deployment, "ns",
                     "{'metadata':{'name':'bad'},'spec':{'replicas':-1,'selector':{'matchLabels':{"
                     "'a':'b'}},'template':{'metadata':{'labels':{'z':'z'}},'spec':{"
                     "'containers':[]}}}}"),
              422);
    CHECK_STR(f.message,
              STR("Deployment.apps \"bad\" is invalid: [spec.replicas: Invalid value: -1: must be "
                  "greater than or equal to 0, spec.template.metadata.labels: Invalid value: "
                  "{\"z\":\"z\"}: `selector` does not match template `labels`, "
                  "spec.template.spec.containers: Required value]"));
    fixture_done(&f);
}

TEST(nodes_are_not_tainted_at_registration)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_node, "", "{'metadata':{'name':'n1'}}"), 201);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.taints")));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.generation")));
    fixture_done(&f);
}

/* ---- service accounts ---- */

TEST(a_pod_needs_the_service_account_it_names)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("a", ",'serviceAccountName':'nobody'")), 403);
    CHECK_CSTR(f.reason, "Forbidden");
    CHECK_CSTR(f.message, "pods \"a\" is forbidden: error looking up service account ns/nobody: "
                          "serviceaccount \"nobody\" not found");
    CHECK_INT(create(&f, &kind_service_account, "ns",
                     "{'metadata':{'name':'nobody'},'imagePullSecrets':[{'name':'s'}]}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("a", ",'serviceAccountName':'nobody'")), 201);
    CHECK_CSTR(field(&f, "spec.serviceAccount"), "nobody");
    CHECK_CSTR(field(&f, "spec.imagePullSecrets"), "[{\"name\":\"s\"}]");
    /* It keeps its own; and the older name of the field names an account too. */
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("b", ",'serviceAccount':'nobody','imagePullSecrets':[{'name':'t'}]")),
              201);
    CHECK_CSTR(field(&f, "spec.serviceAccountName"), "nobody");
    CHECK_CSTR(field(&f, "spec.imagePullSecrets"), "[{\"name\":\"t\"}]");
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'m','annotations':{'kubernetes.io/config.mirror':'x'}},"
                     "'spec':{'serviceAccountName':'nobody','containers':[{'name':'c','image':'x'}]"
                     "}}"),
              403);
    CHECK_CSTR(f.message,
               "pods \"m\" is forbidden: a mirror pod may not reference service accounts");
    fixture_done(&f);
}

TEST(a_namespace_has_a_moment_to_get_its_service_account)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'new'}}"), 201);
    CHECK_INT(create(&f, &kind_pod, "new", POD("a", "")), 201);
    fixture_run(&f, 4 * USEC_PER_SEC);
    CHECK_INT(create(&f, &kind_pod, "new", POD("b", "")), 403);
    CHECK_CSTR(f.message, "pods \"b\" is forbidden: error looking up service account new/default: "
                          "serviceaccount \"default\" not found");
    CHECK_INT(create(&f, &kind_service_account, "new", "{'metadata':{'name':'default'}}"), 201);
    CHECK_INT(create(&f, &kind_pod, "new", POD("b", "")), 201);
    fixture_done(&f);
}

/* ---- the token of a pod ---- */

#define TOKEN_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

static void check_token_mounts(struct fixture *f, const char *list, size_t i, size_t want)
{
    size_t n = 0;
    jval mounts = jgetc(jat(jpath(doc_root(f->doc), list), i), "volumeMounts");
    for (struct jiter it = jiter(mounts); jnext(&it);)
        n += str_starts(jstr(jgetc(it.value, "name")), STR("kube-api-access-")) &&
             str_is(jstr(jgetc(it.value, "mountPath")), TOKEN_DIR) &&
             jbool(jgetc(it.value, "readOnly"), false);
    CHECK_INT(n, want);
}

static size_t count_token_volumes(struct fixture *f)
{
    size_t n = 0;
    for (struct jiter it = jiter(jpath(doc_root(f->doc), "spec.volumes")); jnext(&it);)
        n += str_starts(jstr(jgetc(it.value, "name")), STR("kube-api-access-"));
    return n;
}

TEST(pods_get_a_volume_with_their_token)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("off", "")), 201);
    CHECK_INT(count_token_volumes(&f), 0);
    apiserver_set_token_volumes(f.server, true);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("p", ",'initContainers':[{'name':'i','image':'registry.example/x:1'}],"
                              "'volumes':[{'name':'own','emptyDir':{}}]")),
              201);
    CHECK_INT(count_token_volumes(&f), 1);
    jval volume = jat(jpath(doc_root(f.doc), "spec.volumes"), 1);
    CHECK_CSTR(jtext(jgetc(volume, "projected")),
               "{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":"
               "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
               "\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":"
               "\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":"
               "\"metadata.namespace\"}}]}}],\"defaultMode\":420}");
    check_token_mounts(&f, "spec.containers", 0, 1);
    check_token_mounts(&f, "spec.initContainers", 0, 1);
    CHECK_INT(patch(&f, &kind_pod, "ns", "p", API_PATCH_MERGE, "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    CHECK_INT(count_token_volumes(&f), 1);
    fixture_done(&f);
}

TEST(a_container_with_something_there_is_left_alone)
{
    struct fixture f;
    fixture_init(&f);
    apiserver_set_token_volumes(f.server, true);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'own','emptyDir':{}}],"
                     "'containers':[{'name':'a','image':'x','volumeMounts':[{'name':'own',"
                     "'mountPath':'" TOKEN_DIR "'}]},{'name':'b','image':'x'}]}}"),
              201);
    CHECK_INT(count_token_volumes(&f), 1);
    check_token_mounts(&f, "spec.containers", 0, 0);
    check_token_mounts(&f, "spec.containers", 1, 1);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     "{'metadata':{'name':'q'},'spec':{'volumes':[{'name':'own','emptyDir':{}}],"
                     "'containers':[{'name':'a','image':'x','volumeMounts':[{'name':'own',"
                     "'mountPath':'" TOKEN_DIR "'}]}]}}"),
              201);
    CHECK_INT(count_token_volumes(&f), 0);
    CHECK_INT(create(&f, &kind_pod, "ns",
                     POD("copy", ",'volumes':[{'name':'kube-api-access-abcde','emptyDir':{}}]")),
              201);
    CHECK_INT(count_token_volumes(&f), 1);
    check_token_mounts(&f, "spec.containers", 0, 1);
    fixture_done(&f);
}

TEST(automount_of_the_pod_goes_before_that_of_its_account)
{
    static const struct {
        const char *account, *pod;
        size_t want;
    } cases[] = {
        {"", "", 1},
        {",'automountServiceAccountToken':false", "", 0},
        {"", ",'automountServiceAccountToken':false", 0},
        {",'automountServiceAccountToken':false", ",'automountServiceAccountToken':true", 1},
        {",'automountServiceAccountToken':true", ",'automountServiceAccountToken':false", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        apiserver_set_token_volumes(f.server, true);
        str account = text_of(&f, "{'metadata':{'name':'sa'}%s}", cases[i].account);
        str pod = text_of(&f, POD("p", ",'serviceAccountName':'sa'%s"), cases[i].pod);
        CHECK_INT(create(&f, &kind_service_account, "ns", account.p), 201);
        CHECK_INT(create(&f, &kind_pod, "ns", pod.p), 201);
        CHECK_INT(count_token_volumes(&f), cases[i].want);
        fixture_done(&f);
    }
}
