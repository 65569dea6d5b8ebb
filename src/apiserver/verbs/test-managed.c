/*
 * Who owns what after creates and updates: exact FieldsV1, as kube-apiserver answers the same
 * requests.
 */
#include <sys/resource.h>

#include "apiserver/verbs/managed_memo.h"
#include "apiserver/verbs/test-managed-fixture.h"
#include "kube/fieldset.h"
#include "kube/typed_merge.h"

/* ---- update: what a create owns ---- */

TEST(create_of_a_config_map_owns_its_data_and_the_map)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1'},'data':{'a':'1'}}");
    CHECK_STR(jtext(mf_entries(&w)),
              mf_plain(&w.a, "[{'manager':'mgr1','operation':'Update','apiVersion':'v1',"
                             "'time':'2026-11-15T00:00:01Z','fieldsType':'FieldsV1',"
                             "'fieldsV1':{'f:data':{'.':{},'f:a':{}}}}]"));
    mf_done(&w);
}

TEST(create_owns_generate_name_but_not_the_name)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "p", "", "{'metadata':{'generateName':'g-','name':'g-1'},'data':{'a':'1'}}");
    CHECK_FIELDS(&w, "p Update", "{'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:generateName':{}}}");
    mf_done(&w);
}

#define POD_BEGIN                                                                            \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p1','namespace':'probe','uid':'u'," \
    "'resourceVersion':'5','generation':1,'creationTimestamp':'2026-11-15T00:00:00Z',"       \
    "'labels':{'app':'p1'}"
#define POD_SPEC                                                                          \
    "},'spec':{'containers':[{'name':'c','image':'registry.example/x:1','resources':{},"  \
    "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File',"  \
    "'imagePullPolicy':'IfNotPresent'}],'restartPolicy':'Always',"                        \
    "'terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst','securityContext':{}," \
    "'schedulerName':'manual','enableServiceLinks':true}"
#define POD_FIELDS                                                                            \
    "'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:image':{},'f:imagePullPolicy':{}," \
    "'f:name':{},'f:resources':{},'f:terminationMessagePath':{},"                             \
    "'f:terminationMessagePolicy':{}}},'f:dnsPolicy':{},'f:enableServiceLinks':{},"           \
    "'f:restartPolicy':{},'f:schedulerName':{},'f:securityContext':{},"                       \
    "'f:terminationGracePeriodSeconds':{}}}"

TEST(create_of_a_pod_owns_its_spec_with_the_defaults)
{
    struct mf_world w = mf_world(&kind_pod);
    mf_write(&w, "truth-probe", "", POD_BEGIN POD_SPEC "}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    mf_done(&w);
}

TEST(status_of_a_create_belongs_to_nobody)
{
    struct mf_world w = mf_world(&kind_pod);
    mf_write(&w, "truth-probe", "", POD_BEGIN POD_SPEC ",'status':{'phase':'Pending'}}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    CHECK_INT(jlen(mf_entries(&w)), 1);
    mf_done(&w);
}

TEST(optional_list_map_gets_itself_and_required_one_does_not)
{
    struct mf_world w = mf_world(&kind_pod);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}],"
             "'schedulingGates':[{'name':'example.com/gate'}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:name':{}}},"
                 "'f:schedulingGates':{'.':{},'k:{`name`:`example.com/gate`}':{'.':{},"
                 "'f:name':{}}}}}");
    mf_done(&w);
}

TEST(ports_of_a_service_are_told_apart_by_two_keys)
{
    struct mf_world w = mf_world(&kind_service);
    mf_write(&w, "truth-probe", "",
             "{'metadata':{'name':'s1'},'spec':{'selector':{'a':'b'},'ports':[{'port':80,"
             "'protocol':'TCP','targetPort':80}],'sessionAffinity':'None','type':'ClusterIP',"
             "'internalTrafficPolicy':'Cluster'}}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:spec':{'f:internalTrafficPolicy':{},'f:ports':{'.':{},"
                 "'k:{`port`:80,`protocol`:`TCP`}':{'.':{},'f:port':{},'f:protocol':{},"
                 "'f:targetPort':{}}},'f:selector':{},'f:sessionAffinity':{},'f:type':{}}}");
    mf_done(&w);
}

TEST(structs_of_a_built_in_kind_exist_before_anyone_writes_them)
{
    struct mf_world w = mf_world(&kind_deployment);
    mf_write(&w, "m", "",
             MF_DEPLOYMENT ",'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}}},"
                           "'status':{}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:m':{}}},'f:spec':{'f:selector':{},"
                 "'f:strategy':{'f:rollingUpdate':{'.':{},'f:maxSurge':{}},'f:type':{}},"
                 "'f:template':{'f:metadata':{'f:labels':{'.':{},'f:a':{}}},'f:spec':{"
                 "'f:containers':{'k:{`name`:`c`}':{'.':{},'f:env':{'.':{},'k:{`name`:`X`}':{"
                 "'.':{},'f:name':{},'f:value':{}}},'f:image':{},'f:name':{}}}}}}}");
    mf_done(&w);
}

TEST(objects_of_a_custom_kind_come_into_being_with_the_create)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "kubectl-client-side-apply", "",
             "{'apiVersion':'probe.example.com/v1alpha1','kind':'TestSet','metadata':{'name':'s',"
             "'labels':{'app':'demo'}},'spec':{'cliques':[{'name':'prefill','replicas':3}],"
             "'replicas':2}}");
    CHECK_FIELDS(&w, "kubectl-client-side-apply Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}},'f:spec':{'.':{},'f:cliques':{"
                 "'.':{},'k:{`name`:`prefill`}':{'.':{},'f:name':{},'f:replicas':{}}},"
                 "'f:replicas':{}}}");
    mf_done(&w);
}

TEST(sets_maps_and_atomic_lists_have_their_own_elements)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'s','finalizers':['x/y'],'ownerReferences':[{'uid':'u1',"
             "'name':'o'}]},'spec':{'tags':['t2','t1'],'order':['b','a'],'freeform':{'k':{'a':1,"
             "'l':[1]}},'parts':{'one':{'name':'n'}},'ports':[{'port':80}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:metadata':{'f:finalizers':{'.':{},'v:`x/y`':{}},'f:ownerReferences':{'.':{},"
                 "'k:{`uid`:`u1`}':{}}},'f:spec':{'.':{},'f:freeform':{'.':{},'f:k':{'.':{},"
                 "'f:a':{},'f:l':{}}},'f:order':{},'f:parts':{'.':{},'f:one':{'.':{},'f:name':{}}},"
                 "'f:ports':{'.':{},'k:{`port`:80,`protocol`:`TCP`}':{'.':{},'f:port':{}}},"
                 "'f:tags':{'.':{},'v:`t1`':{},'v:`t2`':{}}}}");
    mf_done(&w);
}

/* The same object of another owner: what is remembered of the one is not said of the other. */
TEST(owners_are_those_of_the_object_at_hand)
{
    static const char *const uids[] = {"0b5e9c3e-0000-4000-8000-000000000001",
                                       "0b5e9c3e-0000-4000-8000-000000000002", "short-uid"};
    for (size_t round = 0; round < 2 * ARRAY_LEN(uids); round++) {
        const char *uid = uids[round % ARRAY_LEN(uids)];
        struct mf_world w = mf_world(&kind_config_map);
        mf_write(&w, "m", "",
                 arena_printf(&w.a,
                              "{'metadata':{'name':'c','ownerReferences':[{'uid':'%s','name':'o%zu'"
                              "}]},'data':{'a':'1'}}",
                              uid, round)
                     .p);
        CHECK_FIELDS(&w, "m Update",
                     arena_printf(&w.a,
                                  "{'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:ownerReferences':"
                                  "{'.':{},'k:{`uid`:`%s`}':{}}}}",
                                  uid)
                         .p);
        mf_done(&w);
    }
}

TEST(one_change_after_another_like_it_has_the_same_outcome)
{
    for (int round = 0; round < 3; round++) {
        struct mf_world w = mf_world(&kind_config_map);
        mf_write(&w, "m", "", MF_CM("{'a':'1','b':'2'}"));
        mf_write(&w, "m", "", MF_CM("{'a':'1','c':'3'}"));
        CHECK_FIELDS(&w, "m Update", "{'f:data':{'.':{},'f:a':{},'f:c':{}}}");
        mf_write(&w, "other", "", MF_CM("{'a':'9','c':'3'}"));
        CHECK_FIELDS(&w, "m Update", "{'f:data':{'.':{},'f:c':{}}}");
        CHECK_FIELDS(&w, "other Update", "{'f:data':{'f:a':{}}}");
        mf_write(&w, "m", "", MF_CM("{'a':'9','b':'4'}"));
        CHECK_FIELDS(&w, "m Update", "{'f:data':{'.':{},'f:b':{}}}");
        mf_done(&w);
    }
}

TEST(null_and_empty_object_are_members)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'replicas':null,'freeform':{},'cliques':[]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'.':{},'f:cliques':{},'f:freeform':{},'f:replicas':{}}}");
    mf_done(&w);
}

TEST(nothing_but_system_metadata_leaves_no_entry)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "m", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':'n',"
             "'uid':'u','resourceVersion':'1','generation':1,'selfLink':'x',"
             "'creationTimestamp':'2026-11-15T00:00:00Z'}}");
    CHECK(j_is_absent(mf_entries(&w)));
    mf_done(&w);
}

/* ---- update: what a change moves ---- */

TEST(a_changed_value_moves_to_its_writer_and_the_map_stays)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "truth-probe", "", MF_CM("{'a':'2'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{}}");
    CHECK_FIELDS(&w, "truth-probe Update", "{'f:data':{'f:a':{}}}");
    mf_done(&w);
}

TEST(a_removed_value_is_owned_by_nobody)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "p", "", MF_CM("{'b':'x'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{}}");
    CHECK_FIELDS(&w, "p Update", "{'f:data':{'f:b':{}}}");
    mf_write(&w, "p", "", MF_CM("{}"));
    CHECK(j_is_absent(mf_entry(&w, "p Update")));
    mf_done(&w);
}

TEST(a_manager_with_nothing_left_disappears)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "p", "", MF_CM("{'a':'1','b':'2'}"));
    mf_write(&w, "q", "", MF_CM("{'a':'1','b':'3'}"));
    CHECK(j_is_absent(mf_entry(&w, "p Update")));
    CHECK_FIELDS(&w, "q Update", "{'f:data':{'f:b':{}}}");
    mf_done(&w);
}

TEST(the_same_object_again_is_the_same_document)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    struct doc *same =
        managed_update(w.kind, w.live, w.live, STR("other"), STR_NONE, w.now + USEC_PER_SEC);
    CHECK(same == w.live);
    doc_unref(same);
    mf_done(&w);
}

TEST(a_client_that_drops_managed_fields_does_not_lose_them)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    str before = arena_str(&w.a, jtext(mf_entries(&w)));
    mf_write(&w, "other", "", MF_CM("{'a':'1'}"));
    CHECK_STR(jtext(mf_entries(&w)), before);
    mf_done(&w);
}

TEST(a_new_value_of_an_owned_field_renews_the_time_only)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "mgr1", "", MF_CM("{'a':'2'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
    CHECK_CSTR(jstr(jgetc(mf_entry(&w, "mgr1 Update"), "time")), "2026-11-15T00:00:02Z");
    mf_done(&w);
}

TEST(status_writes_are_an_entry_of_their_own)
{
    struct mf_world w = mf_world(&kind_pod);
    mf_write(&w, "truth-probe", "",
             POD_BEGIN POD_SPEC ",'status':{'phase':'Pending','conditions':["
                                "{'type':'PodScheduled','status':'True'}]}}");
    mf_write(&w, "truth-probe", "status",
             POD_BEGIN POD_SPEC
             ",'status':{'phase':'Running','podIP':'10.0.0.9','podIPs':[{'ip':'10.0.0.9'}],"
             "'conditions':[{'type':'PodScheduled','status':'True'},{'type':'Ready',"
             "'status':'True','lastProbeTime':null,'lastTransitionTime':null}]}}");
    CHECK_INT(jlen(mf_entries(&w)), 2);
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    CHECK_FIELDS(&w, "truth-probe Update status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Ready`}':{'.':{},'f:lastProbeTime':{},"
                 "'f:lastTransitionTime':{},'f:status':{},'f:type':{}}},'f:phase':{},'f:podIP':{},"
                 "'f:podIPs':{'.':{},'k:{`ip`:`10.0.0.9`}':{'.':{},'f:ip':{}}}}}");
    mf_done(&w);
}

TEST(first_status_of_a_custom_resource_creates_the_status)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "", "{'metadata':{'name':'s'},'spec':{'replicas':1}}");
    mf_write(&w, "ctl", "status",
             "{'metadata':{'name':'s'},'spec':{'replicas':1},'status':{'replicas':5}}");
    CHECK_FIELDS(&w, "ctl Update status", "{'f:status':{'.':{},'f:replicas':{}}}");
    mf_done(&w);
}

TEST(a_removed_list_item_takes_all_its_fields_along)
{
    struct mf_world w = mf_world(&kind_pod);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}],"
             "'schedulingGates':[{'name':'g1'}]}}");
    mf_write(&w, "other", "", "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:name':{}}}}}");
    CHECK_INT(jlen(mf_entries(&w)), 1);
    mf_done(&w);
}

TEST(order_of_list_items_is_no_change)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a'},{'name':'b'}],"
             "'tags':['x','y']}}");
    mf_write(&w, "n", "",
             "{'metadata':{'name':'s'},'spec':{'tags':['y','x'],'cliques':[{'name':'b'},"
             "{'name':'a'}]}}");
    CHECK(j_is_absent(mf_entry(&w, "n Update")));
    mf_done(&w);
}

TEST(items_with_the_same_key_are_one_thing)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a','image':'1'}]}}");
    mf_write(&w, "n", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a','image':'1'},"
             "{'name':'a','image':'2'}]}}");
    CHECK_FIELDS(&w, "n Update", "{'f:spec':{'f:cliques':{'k:{`name`:`a`}':{}}}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'.':{},'f:cliques':{}}}");
    mf_done(&w);
}

static double cpu_seconds(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Somebody sends a list of very many: what they own together is found without going through it for
 * each of them (which took as many milliseconds as there are updaters). */
TEST(thousands_of_updaters_become_one_soon)
{
    enum { MANY = 8000 };
    struct mf_world w = mf_world(&kind_config_map);
    struct strbuf b = STRBUF_INIT(4 << 20);
    strbuf_add_cstr(&b, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1',"
                        "'managedFields':[");
    for (int i = 0; i < MANY; i++)
        strbuf_printf(&b,
                      "%s{'manager':'m%d','operation':'Update','apiVersion':'v1','fieldsType':"
                      "'FieldsV1','fieldsV1':{'f:data':{'f:k%d':{}}}}",
                      i ? "," : "", i, i);
    strbuf_add_cstr(&b, "]}}");
    double began = cpu_seconds();
    mf_write(&w, "m", "", strbuf_str(&b).p);
    double seconds = cpu_seconds() - began;
    CHECK_INT(jlen(mf_entries(&w)), 10);
    jval all = jgetc(mf_entry(&w, "ancient-changes Update"), "fieldsV1");
    CHECK_INT(jlen(jgetc(all, "f:data")), MANY - 9);
    test_note("%.3f s", seconds);
    CHECK(seconds < 2);
    strbuf_done(&b);
    mf_done(&w);
}

TEST(more_than_ten_updaters_become_ancient_changes)
{
    struct mf_world w = mf_world(&kind_config_map);
    char text[512] = "", name[16];
    for (int i = 0; i < 12; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s'k%d':'v'", i ? "," : "", i);
        snprintf(name, sizeof(name), "m%d", i);
        mf_write(&w, name, "", (const char *)arena_printf(&w.a, MF_CM("{%s}"), text).p);
    }
    CHECK_INT(jlen(mf_entries(&w)), 10);
    CHECK_CSTR(jstr(jgetc(jat(mf_entries(&w), 0), "manager")), "ancient-changes");
    CHECK_CSTR(jstr(jgetc(jat(mf_entries(&w), 0), "time")), "2026-11-15T00:00:03Z");
    CHECK_FIELDS(&w, "ancient-changes Update", "{'f:data':{'.':{},'f:k0':{},'f:k1':{},'f:k2':{}}}");
    CHECK_FIELDS(&w, "m3 Update", "{'f:data':{'f:k3':{}}}");
    CHECK_FIELDS(&w, "m11 Update", "{'f:data':{'f:k11':{}}}");
    mf_done(&w);
}

/* ---- update: managedFields in the request ---- */

#define CM_WITH(fields, data)                                                               \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1','managedFields':" fields \
    "},'data':" data "}"

TEST(an_empty_entry_clears_the_list_and_stops_tracking)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "p", "", CM_WITH("[{}]", "{'a':'2'}"));
    CHECK(j_is_absent(mf_entries(&w)));
    mf_write(&w, "p", "", MF_CM("{'a':'3'}"));
    CHECK(j_is_absent(mf_entries(&w)));
    mf_done(&w);
}

TEST(an_empty_list_clears_the_list)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "p", "", CM_WITH("[]", "{'a':'1'}"));
    CHECK(j_is_absent(mf_entries(&w)));
    mf_done(&w);
}

TEST(null_keeps_the_list)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
    mf_write(&w, "p", "", CM_WITH("null", "{'a':'1'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
    mf_done(&w);
}

TEST(an_edited_list_is_the_starting_point)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "kubectl-client-side-apply", "",
             "{'metadata':{'name':'s'},'spec':{'replicas':2,'cliques':[{'name':'x'}]}}");
    mf_write(&w, "kubectl", "",
             "{'metadata':{'name':'s','managedFields':[{'manager':'kubectl','operation':'Apply',"
             "'apiVersion':'probe.example.com/v1alpha1','time':'2026-11-15T00:00:00Z',"
             "'fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'.':{},'f:cliques':{'k:{ `name`:`x` }':"
             "{'f:name':{},'.':{}}},'f:replicas':{}}}}]},'spec':{'replicas':2,"
             "'cliques':[{'name':'x'}]}}");
    CHECK_INT(jlen(mf_entries(&w)), 1);
    CHECK_FIELDS(&w, "kubectl Apply",
                 "{'f:spec':{'.':{},'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:name':{}}},"
                 "'f:replicas':{}}}");
    CHECK_CSTR(jstr(jgetc(mf_entry(&w, "kubectl Apply"), "time")), "2026-11-15T00:00:00Z");
    mf_done(&w);
}

TEST(a_list_that_cannot_be_read_is_ignored)
{
    static const char *const bad[] = {
        "[{'manager':'x','operation':'Patch','apiVersion':'v1','fieldsType':'FieldsV1',"
        "'fieldsV1':{}}]",
        "[{'manager':'x','operation':'Update','fieldsType':'FieldsV1','fieldsV1':{}}]",
        "[{'manager':'x','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV2',"
        "'fieldsV1':{}}]",
        "[{'manager':'x','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
        "'fieldsV1':{'data':{}}}]",
        "[{'manager':'x','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
        "'fieldsV1':{'k:{':{}}}]",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct mf_world w = mf_world(&kind_config_map);
        mf_write(&w, "mgr1", "", MF_CM("{'a':'1'}"));
        mf_write(&w, "p", "", arena_printf(&w.a, CM_WITH("%s", "{'a':'1'}"), bad[i]).p);
        CHECK_INT(jlen(mf_entries(&w)), 1);
        CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
        mf_done(&w);
    }
}

TEST(a_subresource_cannot_edit_the_list)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "", "{'metadata':{'name':'s'},'spec':{'replicas':1}}");
    mf_write(&w, "ctl", "status",
             "{'metadata':{'name':'s','managedFields':[{}]},'spec':{'replicas':1},"
             "'status':{'replicas':1}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'.':{},'f:replicas':{}}}");
    CHECK_FIELDS(&w, "ctl Update status", "{'f:status':{'.':{},'f:replicas':{}}}");
    mf_done(&w);
}

/* ---- zero values of built-in kinds ---- */

TEST(what_go_writes_without_being_asked_belongs_to_nobody)
{
    struct mf_world w = mf_world(&kind_event);
    mf_write(&w, "m", "",
             "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod'},'reason':'R','source':{},"
             "'eventTime':null,'reportingComponent':'','reportingInstance':'','type':'Normal'}");
    CHECK_FIELDS(&w, "m Update", "{'f:involvedObject':{},'f:reason':{},'f:type':{}}");
    mf_done(&w);
}

TEST(a_zero_behind_a_pointer_is_a_value)
{
    struct mf_world w = mf_world(&kind_deployment);
    mf_write(&w, "m", "", "{'metadata':{'name':'d'},'spec':{'replicas':0,'paused':false}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'f:replicas':{}}}");
    mf_done(&w);
}

TEST(zero_values_of_a_custom_resource_are_values)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "m", "", "{'metadata':{'name':'s'},'spec':{'replicas':0,'paused':false}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'.':{},'f:paused':{},'f:replicas':{}}}");
    mf_done(&w);
}

/* ---- what is remembered ---- */

#define ENV_POD(name, env, value)                                                            \
    "{'metadata':{'name':'" name "'},'spec':{'containers':[{'name':'c','env':[{'name':'" env \
    "','value':'" value "'}]}],'hostname':'" name "'}}"
#define ENV_FIELDS(env)                                                                    \
    "{'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:env':{'.':{},'k:{`name`:`" env \
    "`}':{'.':{},'f:name':{},'f:value':{}}},'f:name':{}}},'f:hostname':{}}}"

static bool same_structure(struct mf_world *w, const char *x, const char *y)
{
    static struct memo_key k, l;
    bool ok = memo_structure(w->kind, doc_root(mf_json(w, x)), STR("status"), &k) &&
              memo_structure(w->kind, doc_root(mf_json(w, y)), STR("status"), &l);
    return CHECK(ok) && str_eq(str_n(k.text, k.len), str_n(l.text, l.len));
}

TEST(pods_of_one_template_have_one_structure)
{
    struct mf_world w = mf_world(&kind_pod);
    CHECK(same_structure(&w, ENV_POD("a", "X", "1"), ENV_POD("b", "X", "2")));
    CHECK(!same_structure(&w, ENV_POD("a", "X", "1"), ENV_POD("a", "Y", "1")));
    CHECK(!same_structure(&w, "{'a':1}", "{'a':0}"));
    CHECK(!same_structure(&w, "{'a':null}", "{'a':''}"));
    CHECK(!same_structure(&w, "{'a':{}}", "{'a':[]}"));
    CHECK(!same_structure(&w, "{'a':{'b':1}}", "{'a':{},'b':1}"));
    CHECK(same_structure(&w, "{'a':1,'status':{'x':1}}", "{'a':2,'status':5}"));
    mf_done(&w);
}

TEST(objects_of_one_structure_own_the_same)
{
    static const struct {
        const char *pod, *fields;
    } rows[] = {
        {ENV_POD("a", "X", "1"), ENV_FIELDS("X")}, {ENV_POD("b", "X", "2"), ENV_FIELDS("X")},
        {ENV_POD("c", "Y", "1"), ENV_FIELDS("Y")}, {ENV_POD("d", "X", ""), ENV_FIELDS("X")},
        {ENV_POD("e", "Y", "1"), ENV_FIELDS("Y")},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct mf_world w = mf_world(&kind_pod);
        mf_write(&w, "m", "", rows[i].pod);
        CHECK_FIELDS(&w, "m Update", rows[i].fields);
        mf_done(&w);
    }
}

/* What memo_structure relies on. */
static void check_no_key_called_value(const struct type *t, unsigned depth)
{
    for (size_t i = 0; depth && i < t->n_fields; i++) {
        for (str rest = str_of(t->fields[i].keys); rest.len;)
            CHECK(!str_is(str_cut(&rest, ','), "value"));
        check_no_key_called_value(t->fields[i].type, depth - 1);
    }
}

TEST(no_list_has_a_key_called_value)
{
    kinds_init();
    for (size_t i = 0; i < kinds_count(); i++)
        check_no_key_called_value(kinds_at(i)->type, 9);
}

/* ---- sets ---- */

static struct fieldset set_of(struct mf_world *w, const char *text)
{
    struct fieldset s = FIELDSET_EMPTY;
    if (!fieldset_parse(&w->a, doc_root(mf_json(w, text)), true, &s))
        BUG(text);
    return s;
}

static void check_set(struct mf_world *w, const struct fieldset *s, const char *want)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    fieldset_write(s, &b);
    CHECK_STR(strbuf_str(&b), mf_plain(&w->a, want));
    strbuf_done(&b);
}

/* A random set of paths from .a.a.a to .c.c.c; ret_in tells which. */
static struct fieldset random_level(struct arena *a, unsigned depth, bool *ret_in)
{
    static const str letters[] = {STR_INIT("a"), STR_INIT("b"), STR_INIT("c")};
    struct fieldset s = {.kids = arena_array(a, struct fieldset, 3)};
    size_t below = depth == 3 ? 9 : depth == 2 ? 3 : 1;
    for (size_t i = 0; i < 3; i++) {
        struct fieldset kid = {0};
        if (depth > 1)
            kid = random_level(a, depth - 1, ret_in + i * below);
        else
            ret_in[i] = kid.member = rng_chance(test_rng(), 40);
        kid.tag = 'f';
        kid.name = letters[i];
        if (!fieldset_is_empty(&kid))
            s.kids[s.n_kids++] = kid;
    }
    return s;
}

static struct fieldset random_set(struct arena *a, bool ret_in[27])
{
    return random_level(a, 3, ret_in);
}

static bool has_path(const struct fieldset *s, size_t path)
{
    for (size_t unit = 9; s && unit; unit /= 3)
        s = fieldset_find(s, 'f', str_n(&"abc"[path / unit % 3], 1));
    return s && s->member;
}

/* op: 0 union, 1 difference, 2 intersection */
static void check_paths(struct mf_world *w, struct fieldset s, const bool *in_x, const bool *in_y,
                        int op)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    fieldset_write(&s, &b);
    struct doc *text = doc_hold(&w->a, doc_parse(strbuf_str(&b), NULL, NULL));
    struct fieldset back = FIELDSET_EMPTY;
    CHECK(text && fieldset_parse(&w->a, doc_root(text), true, &back) && fieldset_equal(&s, &back));
    for (size_t i = 0; i < 27; i++) {
        bool want = op == 0   ? in_x[i] || in_y[i]
                    : op == 1 ? in_x[i] && !in_y[i]
                              : in_x[i] && in_y[i];
        CHECK_INT(has_path(&s, i), want);
    }
    strbuf_done(&b);
}

TEST(set_operations)
{
    struct mf_world w = mf_world(&mf_kind);
    struct fieldset x = set_of(&w, "{'f:a':{'.':{},'f:x':{}},'f:b':{},'f:d':{'f:e':{}}}");
    struct fieldset y = set_of(&w, "{'f:a':{},'f:c':{},'f:d':{'f:e':{},'f:f':{}}}");
    struct fieldset all = fieldset_union(&w.a, &x, &y);
    check_set(&w, &all, "{'f:a':{'.':{},'f:x':{}},'f:b':{},'f:c':{},'f:d':{'f:e':{},'f:f':{}}}");
    struct fieldset only = fieldset_difference(&w.a, &x, &y);
    check_set(&w, &only, "{'f:a':{'f:x':{}},'f:b':{}}");
    struct fieldset both = fieldset_intersection(&w.a, &x, &y);
    check_set(&w, &both, "{'f:a':{},'f:d':{'f:e':{}}}");
    CHECK(fieldset_equal(&x, &x) && !fieldset_equal(&x, &y));
    mf_done(&w);
}

TEST(a_set_from_elsewhere_comes_into_canonical_form)
{
    struct mf_world w = mf_world(&mf_kind);
    struct fieldset s = set_of(&w, "{'k:{`b`: 2, `a`: `x`}':{'f:z':{},'f:y':{},'.':{}},'f:q':{}}");
    check_set(&w, &s, "{'f:q':{},'k:{`a`:`x`,`b`:2}':{'.':{},'f:y':{},'f:z':{}}}");
    mf_done(&w);
}

TEST(sets_against_text)
{
    struct mf_world w = mf_world(&mf_kind);
    jval text = doc_root(mf_json(&w, "{'f:a':{'.':{},'f:x':{}},'f:b':{}}"));
    static const struct {
        const char *set;
        bool overlaps, within;
    } rows[] = {
        {"{}", false, true},
        {"{'f:a':{}}", true, true},
        {"{'f:a':{'f:x':{}}}", true, true},
        {"{'f:a':{'f:y':{}}}", false, false},
        {"{'f:b':{},'f:c':{}}", true, false},
        {"{'f:b':{'f:y':{}}}", false, false},
        {"{'f:a':{'.':{},'f:x':{}},'f:b':{}}", true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fieldset s = set_of(&w, rows[i].set);
        CHECK_INT(fieldset_overlaps(&s, text), rows[i].overlaps);
        CHECK_INT(fieldset_is_within(&s, text), rows[i].within);
    }
    mf_done(&w);
}

TEST(set_operations_agree_with_paths_as_text)
{
    struct mf_world w = mf_world(&mf_kind);
    for (size_t i = 0, n = test_cases(300); i < n; i++) {
        bool in_x[27], in_y[27];
        struct fieldset x = random_set(&w.a, in_x), y = random_set(&w.a, in_y);
        check_paths(&w, fieldset_union(&w.a, &x, &y), in_x, in_y, 0);
        check_paths(&w, fieldset_difference(&w.a, &x, &y), in_x, in_y, 1);
        check_paths(&w, fieldset_intersection(&w.a, &x, &y), in_x, in_y, 2);
        arena_clear(&w.a);
    }
    mf_done(&w);
}
