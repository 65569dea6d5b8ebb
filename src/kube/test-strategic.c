/* Strategic merge patches, as kubectl and helm send them. */
#include "base/test.h"
#include "kube/schema.h"
#include "kube/test-kube-fixture.h"

static void check_merge(const struct kind *k, const char *target, const char *patch,
                        const char *want)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct doc *d =
        schema_strategic_merge(k->type, fixture_json(&a, target), fixture_json(&a, patch), &err);

    if (CHECK(d != NULL)) {
        if (!CHECK_JSON(&a, doc_root(d), want))
            test_note("patch %s", patch);
    } else {
        test_note("%s: %s", patch, err.message);
    }
    doc_unref(d);
    arena_done(&a);
}

static void check_refused(const struct kind *k, const char *target, const char *patch,
                          const char *message)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;

    CHECK(schema_strategic_merge(k->type, fixture_json(&a, target), fixture_json(&a, patch),
                                 &err) == NULL);
    CHECK_CSTR(str_of(err.message), message);
    arena_done(&a);
}

TEST(strategic_merges_objects_and_deletes_by_null)
{
    check_merge(&kind_pod, "{'metadata':{'labels':{'a':'1','b':'2'}},'spec':{'nodeName':'n'}}",
                "{'metadata':{'labels':{'b':null,'c':'3'},'annotations':null}}",
                "{'metadata':{'labels':{'a':'1','c':'3'}},'spec':{'nodeName':'n'}}");
    check_merge(&kind_pod, "{}", "{'metadata':{'labels':{'a':null,'b':'x'}}}",
                "{'metadata':{'labels':{'b':'x'}}}");
    check_merge(&kind_pod, "{'spec':'odd'}", "{'spec':{'nodeName':'n'}}",
                "{'spec':{'nodeName':'n'}}");
}

TEST(strategic_merges_lists_by_key)
{
    const char *pod = "{'spec':{'containers':[{'name':'a','image':'1','env':[{'name':'X',"
                      "'value':'1'}]},{'name':'b','image':'1'}]}}";

    check_merge(&kind_pod, pod, "{'spec':{'containers':[{'name':'a','image':'2'}]}}",
                "{'spec':{'containers':[{'name':'a','image':'2','env':[{'name':'X','value':'1'}]},"
                "{'name':'b','image':'1'}]}}");
    check_merge(&kind_pod, pod, "{'spec':{'containers':[{'name':'c','image':'3'}]}}",
                "{'spec':{'containers':[{'name':'a','image':'1','env':[{'name':'X','value':'1'}]},"
                "{'name':'b','image':'1'},{'name':'c','image':'3'}]}}");
    check_merge(&kind_pod, pod,
                "{'spec':{'containers':[{'name':'a','env':[{'name':'Y','value':'2'}]}]}}",
                "{'spec':{'containers':[{'name':'a','image':'1','env':[{'name':'X','value':'1'},"
                "{'name':'Y','value':'2'}]},{'name':'b','image':'1'}]}}");
}

TEST(strategic_replaces_atomic_lists)
{
    check_merge(&kind_pod, "{'spec':{'tolerations':[{'key':'a'},{'key':'b'}]}}",
                "{'spec':{'tolerations':[{'key':'c'}]}}", "{'spec':{'tolerations':[{'key':'c'}]}}");
    check_merge(&kind_pod, "{'spec':{'containers':[{'name':'a','args':['1','2']}]}}",
                "{'spec':{'containers':[{'name':'a','args':['3']}]}}",
                "{'spec':{'containers':[{'name':'a','args':['3']}]}}");
}

TEST(strategic_deletes_items)
{
    const char *pod = "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}";

    check_merge(&kind_pod, pod, "{'spec':{'containers':[{'name':'b','$patch':'delete'}]}}",
                "{'spec':{'containers':[{'name':'a'},{'name':'c'}]}}");
    check_merge(&kind_pod, pod, "{'spec':{'containers':[{'name':'x','$patch':'delete'}]}}", pod);
    check_merge(&kind_pod, pod, "{'spec':{'containers':[{'name':'d'},{'$patch':'replace'}]}}",
                "{'spec':{'containers':[{'name':'d'}]}}");
    check_merge(&kind_pod, "{}", "{'spec':{'containers':[{'name':'b','$patch':'delete'}]}}",
                "{'spec':{'containers':[]}}");
    check_refused(&kind_pod, pod, "{'spec':{'containers':[{'$patch':'delete'}]}}",
                  "delete patch type with no merge key defined");
    check_refused(&kind_pod, pod, "{'spec':{'containers':[{'image':'x'}]}}",
                  "map: {\"image\":\"x\"} does not contain declared merge key: name");
}

TEST(strategic_directives_on_objects)
{
    check_merge(&kind_pod, "{'metadata':{'labels':{'a':'1'}}}",
                "{'metadata':{'labels':{'$patch':'replace','b':'2'}}}",
                "{'metadata':{'labels':{'b':'2'}}}");
    check_merge(&kind_pod, "{'metadata':{'labels':{'a':'1'}}}",
                "{'metadata':{'labels':{'$patch':'delete'}}}", "{'metadata':{'labels':{}}}");
    check_merge(&kind_pod, "{'metadata':{'labels':{'a':'1'}}}",
                "{'metadata':{'labels':{'$patch':'merge','b':'2'}}}",
                "{'metadata':{'labels':{'a':'1','b':'2'}}}");
    check_refused(&kind_pod, "{}", "{'$patch':'burn'}", "unknown patch type found: \"burn\"");
}

TEST(strategic_retains_keys)
{
    const char *deploy = "{'spec':{'strategy':{'type':'RollingUpdate','rollingUpdate':"
                         "{'maxSurge':1}}}}";

    check_merge(&kind_deployment, deploy,
                "{'spec':{'strategy':{'$retainKeys':['type'],'type':'Recreate'}}}",
                "{'spec':{'strategy':{'type':'Recreate'}}}");
    check_merge(&kind_pod, "{'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}",
                "{'spec':{'volumes':[{'name':'v','$retainKeys':['name','secret'],"
                "'secret':{'secretName':'s'}}]}}",
                "{'spec':{'volumes':[{'name':'v','secret':{'secretName':'s'}}]}}");
    check_refused(&kind_deployment, deploy,
                  "{'spec':{'strategy':{'$retainKeys':['type'],'rollingUpdate':{}}}}",
                  "invalid patch format of retainKeys");
}

TEST(strategic_orders_lists)
{
    const char *pod = "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}";

    check_merge(&kind_pod, pod,
                "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'a'},{'name':'b'}],"
                "'containers':[{'name':'b','image':'2'}]}}",
                "{'spec':{'containers':[{'name':'c'},{'name':'a'},{'name':'b','image':'2'}]}}");
    check_merge(&kind_pod, pod,
                "{'spec':{'$setElementOrder/containers':[{'name':'c'},{'name':'a'}]}}",
                "{'spec':{'containers':[{'name':'b'},{'name':'c'},{'name':'a'}]}}");
    /* b is the server's own and stays before c, which followed it */
    check_merge(&kind_pod, pod,
                "{'spec':{'$setElementOrder/containers':[{'name':'a'},{'name':'c'},{'name':'d'}],"
                "'containers':[{'name':'d'}]}}",
                "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'},{'name':'d'}]}}");
    check_merge(&kind_pod, "{}",
                "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],"
                "'containers':[{'name':'a'},{'name':'b'}]}}",
                "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}");
}

TEST(strategic_lists_of_scalars)
{
    const char *object = "{'metadata':{'finalizers':['a','b','c']}}";

    check_merge(&kind_pod, object, "{'metadata':{'finalizers':['b','d']}}",
                "{'metadata':{'finalizers':['a','b','c','d']}}");
    check_merge(&kind_pod, object, "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b']}}",
                "{'metadata':{'finalizers':['a','c']}}");
    check_merge(&kind_pod, object,
                "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b'],"
                "'$setElementOrder/finalizers':['c','a','d'],'finalizers':['d']}}",
                "{'metadata':{'finalizers':['c','a','d']}}");
    check_merge(&kind_pod, object,
                "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b'],"
                "'$setElementOrder/finalizers':['c','a']}}",
                "{'metadata':{'finalizers':['c','a']}}");
}

TEST(strategic_conditions_of_a_pod)
{
    check_merge(&kind_pod,
                "{'status':{'conditions':[{'type':'PodScheduled','status':'False'},"
                "{'type':'Ready','status':'False'}]}}",
                "{'status':{'$setElementOrder/conditions':[{'type':'PodScheduled'}],"
                "'conditions':[{'type':'PodScheduled','status':'True'}]}}",
                "{'status':{'conditions':[{'type':'PodScheduled','status':'True'},"
                "{'type':'Ready','status':'False'}]}}");
}

TEST(strategic_refuses_what_is_no_patch)
{
    check_refused(&kind_pod, "{}", "[]", "a strategic merge patch must be an object");
    check_refused(&kind_pod, "{'spec':{'containers':[]}}", "{'spec':{'containers':[7]}}",
                  "list containers takes objects, found 7");
}
