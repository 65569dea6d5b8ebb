/*
 * Server-side apply: the object that comes out, who owns what, and the exact words of conflicts and
 * refusals.
 */
#include "apiserver/verbs/test-managed-fixture.h"

/* ---- apply ---- */

#define DEPLOYMENT_SET                                                                        \
    "'f:selector':{},'f:template':{'f:metadata':{'f:labels':{'f:a':{}}},'f:spec':{"           \
    "'f:containers':{'k:{`name`:`c`}':{'.':{},'f:env':{'k:{`name`:`X`}':{'.':{},'f:name':{}," \
    "'f:value':{}}},'f:image':{},'f:name':{}}}}}}}"
#define D1(replicas) MF_DEPLOYMENT ",'replicas':" replicas "}}"

TEST(apply_create_owns_what_was_applied_and_nothing_else)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("2")));
    CHECK_STR(jtext(mf_entries(&w)),
              mf_plain(&w.a, "[{'manager':'m1','operation':'Apply','apiVersion':'apps/v1',"
                             "'time':'2026-11-15T00:00:01Z','fieldsType':'FieldsV1','fieldsV1':{"
                             "'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{"
                             "'f:replicas':{}," DEPLOYMENT_SET "}]"));
    CHECK_VALUE(&w, "spec.replicas", "2");
    CHECK_VALUE(&w, "metadata.name", "'d1'");
    mf_done(&w);
}

TEST(apply_of_the_same_is_the_same_document)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("2")));
    const struct doc *before = w.live;
    REQUIRE(mf_apply(&w, "m1", D1("2")));
    CHECK(w.live == before);
    mf_done(&w);
}

TEST(apply_of_a_new_value_by_its_owner_is_no_conflict)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("2")));
    REQUIRE(mf_apply(&w, "m1", D1("3")));
    CHECK_VALUE(&w, "spec.replicas", "3");
    CHECK_CSTR(jstr(jgetc(mf_entry(&w, "m1 Apply"), "time")), "2026-11-15T00:00:02Z");
    mf_done(&w);
}

TEST(a_single_conflict_stands_in_the_line)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("3")));
    const struct doc *before = w.live;
    CHECK(!mf_apply(&w, "m2", D1("5")));
    CHECK(w.live == before);
    mf_check_conflict(&w, "Apply failed with 1 conflict: conflict with 'm1': .spec.replicas");
    CHECK_INT(w.status->n_causes, 1);
    mf_check_cause(&w, 0, "conflict with 'm1'", ".spec.replicas");
    mf_done(&w);
}

TEST(the_same_value_is_shared_and_not_a_conflict)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("3")));
    REQUIRE(mf_apply(&w, "m2", D1("3")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    mf_done(&w);
}

TEST(force_takes_the_field_away)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("3")));
    REQUIRE(mf_apply_at(&w, "m2", "", true, D1("5")));
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    mf_done(&w);
}

TEST(a_field_the_other_still_owns_stays)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("5")));
    REQUIRE(mf_apply(&w, "m2", D1("5")));
    REQUIRE(mf_apply(&w, "m1", MF_DEPLOYMENT "}}"));
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    mf_done(&w);
}

TEST(a_field_nobody_owns_any_more_goes)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("5")));
    REQUIRE(mf_apply(&w, "m1", MF_DEPLOYMENT "}}"));
    CHECK(j_is_absent(jpath(doc_root(w.live), "spec.replicas")));
    CHECK(j_has(jpath(doc_root(w.live), "spec.template")));
    mf_done(&w);
}

#define SIDE                                                                       \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':" \
    "{'template':{'spec':{'containers':[{'name':'side','image':'s:1'}]}}}}"

TEST(a_second_container_joins_and_leaves_with_its_manager)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("5")));
    REQUIRE(mf_apply(&w, "m3", SIDE));
    CHECK_FIELDS(&w, "m3 Apply",
                 "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{`name`:`side`}':{'.':{},"
                 "'f:image':{},'f:name':{}}}}}}}");
    CHECK_VALUE(&w, "spec.template.spec.containers",
                "[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]},"
                "{'name':'side','image':'s:1'}]");
    REQUIRE(mf_apply(&w, "m3",
                     "{'apiVersion':'apps/v1','kind':'Deployment',"
                     "'metadata':{'name':'d1'}}"));
    CHECK(j_is_absent(mf_entry(&w, "m3 Apply")));
    CHECK_VALUE(&w, "spec.template.spec.containers",
                "[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]}]");
    mf_done(&w);
}

TEST(apply_of_a_status_counts_the_status_only)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("5")));
    REQUIRE(mf_apply_at(&w, "ctl", "status", false,
                        "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1',"
                        "'labels':{'ignored':'yes'}},'spec':{'replicas':9},'status':{'replicas':2,"
                        "'conditions':[{'type':'Available','status':'True'}]}}"));
    CHECK_FIELDS(&w, "ctl Apply status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Available`}':{'.':{},'f:status':{},"
                 "'f:type':{}}},'f:replicas':{}}}");
    CHECK_VALUE(&w, "metadata.labels", "{'m':'1'}");
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_VALUE(&w, "status.replicas", "2");
    mf_done(&w);
}

TEST(apply_of_the_object_ignores_the_status)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m",
                     "{'metadata':{'name':'s'},'spec':{'replicas':1},"
                     "'status':{'replicas':7}}"));
    CHECK_FIELDS(&w, "m Apply", "{'f:spec':{'f:replicas':{}}}");
    CHECK(j_is_absent(jpath(doc_root(w.live), "status")));
    mf_done(&w);
}

TEST(an_update_of_an_applied_field_is_a_second_entry_behind_the_appliers)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("5")));
    mf_write(&w, "a-first-name", "", D1("9"));
    CHECK_INT(jlen(mf_entries(&w)), 2);
    CHECK_CSTR(jstr(jgetc(jat(mf_entries(&w), 0), "operation")), "Apply");
    CHECK_FIELDS(&w, "a-first-name Update", "{'f:spec':{'f:replicas':{}}}");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    mf_done(&w);
}

TEST(entries_are_in_order_of_operation_time_and_name)
{
    struct mf_world w = mf_world(&kind_config_map);
    w.live = NULL;
    mf_write(&w, "z", "", MF_CM("{'z':'1'}"));
    mf_write(&w, "y", "", MF_CM("{'z':'1','y':'1'}"));
    REQUIRE(mf_apply(&w, "b", MF_CM("{'b':'1'}")));
    w.now -= USEC_PER_SEC;
    REQUIRE(mf_apply(&w, "a", MF_CM("{'a':'1'}")));
    static const char *const want[] = {"a", "b", "z", "y"};
    REQUIRE(jlen(mf_entries(&w)) == 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_CSTR(jstr(jgetc(jat(mf_entries(&w), i), "manager")), want[i]);
    mf_done(&w);
}

/* ---- apply to a custom resource ---- */

#define S(spec)                                                                            \
    "{'apiVersion':'probe.example.com/v1alpha1','kind':'TestSet','metadata':{'name':'s'}," \
    "'spec':" spec "}"

TEST(list_maps_sets_and_free_maps_merge_by_item)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1",
                     S("{'cliques':[{'name':'x','image':'i:1'}],'tags':['t1'],"
                       "'freeform':{'k':{'a':1}}}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:image':{},'f:name':{}}},"
                 "'f:freeform':{'f:k':{'.':{},'f:a':{}}},'f:tags':{'v:`t1`':{}}}}");
    REQUIRE(mf_apply(&w, "m2",
                     S("{'cliques':[{'name':'y','startsAfter':['x']}],'tags':['t2'],"
                       "'freeform':{'k':{'b':2}}}")));
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`y`}':{'.':{},'f:name':{},"
                 "'f:startsAfter':{}}},'f:freeform':{'f:k':{'.':{},'f:b':{}}},"
                 "'f:tags':{'v:`t2`':{}}}}");
    CHECK_VALUE(&w, "spec",
                "{'cliques':[{'name':'x','image':'i:1'},{'name':'y','startsAfter':['x']}],"
                "'tags':['t1','t2'],'freeform':{'k':{'a':1,'b':2}}}");
    mf_done(&w);
}

TEST(a_conflict_inside_a_list_item_names_its_key)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'cliques':[{'name':'x','image':'i:1'}]}")));
    CHECK(!mf_apply(&w, "m2", S("{'cliques':[{'name':'x','image':'i:2'}]}")));
    mf_check_conflict(
        &w, "Apply failed with 1 conflict: conflict with 'm1': .spec.cliques[name='x'].image");
    mf_check_cause(&w, 0, "conflict with 'm1'", ".spec.cliques[name='x'].image");
    mf_done(&w);
}

TEST(force_inside_a_list_item_drops_what_the_manager_left_out)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1",
                     S("{'cliques':[{'name':'x','image':'i:1'}],'tags':['t1'],"
                       "'freeform':{'k':{'a':1}}}")));
    REQUIRE(mf_apply(&w, "m2",
                     S("{'cliques':[{'name':'y','startsAfter':['x']}],'tags':['t2'],"
                       "'freeform':{'k':{'b':2}}}")));
    REQUIRE(mf_apply_at(&w, "m2", "", true, S("{'cliques':[{'name':'x','image':'i:2'}]}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:name':{}}},"
                 "'f:freeform':{'f:k':{'.':{},'f:a':{}}},'f:tags':{'v:`t1`':{}}}}");
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:image':{},'f:name':{}}}}}");
    CHECK_VALUE(&w, "spec",
                "{'cliques':[{'name':'x','image':'i:2'}],'tags':['t1'],'freeform':{'k':{'a':1}}}");
    mf_done(&w);
}

TEST(two_managers_of_one_list_of_conditions)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'replicas':1}")));
    REQUIRE(mf_apply_at(&w, "ctl", "status", false,
                        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"));
    REQUIRE(mf_apply_at(&w, "ctl2", "status", false,
                        "{'status':{'conditions':[{'type':'Progressing','status':'True'}]}}"));
    CHECK_VALUE(&w, "status.conditions",
                "[{'type':'Ready','status':'True'},{'type':'Progressing','status':'True'}]");
    CHECK_FIELDS(&w, "ctl Apply status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Ready`}':{'.':{},'f:status':{},"
                 "'f:type':{}}}}}");
    REQUIRE(mf_apply_at(&w, "ctl", "status", false, "{'status':{}}"));
    CHECK_VALUE(&w, "status.conditions", "[{'type':'Progressing','status':'True'}]");
    mf_done(&w);
}

TEST(several_conflicts_are_grouped_by_manager)
{
    struct mf_world w = mf_world(&mf_kind);
    mf_write(&w, "kubectl-client-side-apply", "",
             S("{'cliques':[{'name':'prefill','image':'a:2'}],'replicas':1}"));
    mf_write(&w, "kubectl-patch", "",
             S("{'cliques':[{'name':'prefill','image':'a:2'}],'replicas':3}"));
    CHECK(!mf_apply(&w, "other", S("{'cliques':[{'name':'prefill','image':'a:1'}],'replicas':2}")));
    mf_check_conflict(&w, "Apply failed with 2 conflicts: conflicts with "
                          "'kubectl-client-side-apply' using probe.example.com/v1alpha1:\n"
                          "- .spec.cliques[name='prefill'].image\nconflicts with 'kubectl-patch' "
                          "using probe.example.com/v1alpha1:\n- .spec.replicas");
    CHECK_INT(w.status->n_causes, 2);
    mf_check_cause(&w, 0,
                   "conflict with 'kubectl-client-side-apply' using probe.example.com/v1alpha1",
                   ".spec.cliques[name='prefill'].image");
    mf_check_cause(&w, 1, "conflict with 'kubectl-patch' using probe.example.com/v1alpha1",
                   ".spec.replicas");
    mf_done(&w);
}

TEST(several_conflicts_with_one_manager_are_one_group)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(
        mf_apply(&w, "m1", S("{'replicas':1,'paused':true,'ports':[{'port':80,'title':'a'}]}")));
    CHECK(
        !mf_apply(&w, "m2", S("{'replicas':2,'paused':false,'ports':[{'port':80,'title':'b'}]}")));
    mf_check_conflict(&w, "Apply failed with 3 conflicts: conflicts with 'm1':\n- .spec.paused\n"
                          "- .spec.replicas\n- .spec.ports[port=80,protocol='TCP'].title");
    mf_done(&w);
}

TEST(a_conflict_names_the_subresource)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'replicas':1}")));
    REQUIRE(mf_apply_at(&w, "ctl", "status", false, "{'status':{'replicas':1}}"));
    CHECK(!mf_apply_at(&w, "ctl2", "status", false, "{'status':{'replicas':2}}"));
    mf_check_conflict(&w, "Apply failed with 1 conflict: conflict with 'ctl' with subresource "
                          "'status': .status.replicas");
    mf_done(&w);
}

TEST(a_conflict_about_a_set_does_not_exist)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'tags':['a','b']}")));
    REQUIRE(mf_apply(&w, "m2", S("{'tags':['b','c']}")));
    CHECK_VALUE(&w, "spec.tags", "['a','b','c']");
    REQUIRE(mf_apply(&w, "m1", S("{'tags':['b']}")));
    CHECK_VALUE(&w, "spec.tags", "['b','c']");
    mf_done(&w);
}

TEST(an_atomic_list_conflicts_as_a_whole)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'order':['a','b']}")));
    CHECK(!mf_apply(&w, "m2", S("{'order':['a','b','c']}")));
    mf_check_conflict(&w, "Apply failed with 1 conflict: conflict with 'm1': .spec.order");
    REQUIRE(mf_apply_at(&w, "m2", "", true, S("{'order':['c']}")));
    CHECK_VALUE(&w, "spec.order", "['c']");
    CHECK(j_is_absent(mf_entry(&w, "m1 Apply")));
    mf_done(&w);
}

TEST(shared_items_follow_the_configuration_and_others_stay_between)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'tags':['a','b','c','d']}")));
    REQUIRE(mf_apply(&w, "m2", S("{'tags':['n','c','a']}")));
    CHECK_VALUE(&w, "spec.tags", "['b','n','c','d','a']");
    mf_done(&w);
}

TEST(a_map_of_objects_merges_by_key)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'parts':{'one':{'name':'a','image':'i'}}}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:parts':{'f:one':{'.':{},'f:image':{},'f:name':{}}}}}");
    REQUIRE(mf_apply(&w, "m2", S("{'parts':{'two':{'name':'b'},'one':{'replicas':4}}}")));
    CHECK_VALUE(&w, "spec.parts",
                "{'one':{'name':'a','image':'i','replicas':4},'two':{'name':'b'}}");
    REQUIRE(mf_apply(&w, "m1", S("{}")));
    CHECK_VALUE(&w, "spec.parts", "{'one':{'replicas':4},'two':{'name':'b'}}");
    mf_done(&w);
}

TEST(null_in_a_configuration_is_owned)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'replicas':null,'freeform':{}}")));
    CHECK_FIELDS(&w, "m1 Apply", "{'f:spec':{'f:freeform':{},'f:replicas':{}}}");
    mf_done(&w);
}

TEST(an_object_without_managers_belongs_to_before_first_apply)
{
    struct mf_world w = mf_world(&mf_kind);
    w.live = mf_json(&w, "{'metadata':{'name':'s','uid':'u','resourceVersion':'7'},"
                         "'spec':{'replicas':1},'status':{'replicas':1}}");
    CHECK(!mf_apply(&w, "m1", S("{'replicas':2}")));
    mf_check_conflict(&w, "Apply failed with 1 conflict: conflict with 'before-first-apply' using "
                          "probe.example.com/v1alpha1: .spec.replicas");
    REQUIRE(mf_apply(&w, "m1", S("{'replicas':1,'paused':true}")));
    CHECK_FIELDS(&w, "before-first-apply Update", "{'f:spec':{'.':{},'f:replicas':{}}}");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:spec':{'f:paused':{},'f:replicas':{}}}");
    mf_done(&w);
}

TEST(what_the_server_says_in_metadata_cannot_be_applied)
{
    struct mf_world w = mf_world(&mf_kind);
    w.live = mf_json(&w, "{'metadata':{'name':'s','uid':'u','resourceVersion':'7',"
                         "'creationTimestamp':'2026-11-15T00:00:00Z'},'spec':{'replicas':1}}");
    REQUIRE(mf_apply(&w, "m1",
                     "{'metadata':{'name':'s','creationTimestamp':null,'labels':{'a':'b'}}}"));
    CHECK_VALUE(&w, "metadata.creationTimestamp", "'2026-11-15T00:00:00Z'");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:a':{}}}}");
    mf_done(&w);
}

/* ---- apply: configurations that break the schema ---- */

static void check_internal(struct mf_world *w, const char *message)
{
    REQUIRE(w->status != NULL);
    CHECK_INT(w->status->code, 500);
    CHECK(w->status->reason == NULL || w->status->reason[0] == '\0');
    CHECK_STR(w->status->message, mf_plain(&w->a, message));
}

TEST(an_item_without_its_key_is_refused)
{
    struct mf_world w = mf_world(&mf_kind);
    CHECK(!mf_apply(&w, "m1", S("{'cliques':[{'image':'nokey'}]}")));
    check_internal(&w,
                   "failed to create typed patch object (/s; probe.example.com/v1alpha1, "
                   "Kind=TestSet): .spec.cliques: element 0: associative list with keys has an "
                   "element that omits all key fields ['name'] (and doesn^t have default values "
                   "for any key fields)");
    mf_done(&w);
}

TEST(an_unknown_field_is_refused)
{
    struct mf_world w = mf_world(&mf_kind);
    CHECK(!mf_apply(&w, "m1", S("{'bogus':1}")));
    check_internal(&w, "failed to create typed patch object (/s; probe.example.com/v1alpha1, "
                       "Kind=TestSet): .spec.bogus: field not declared in schema");
    mf_done(&w);
}

TEST(two_items_with_one_key_and_a_wrong_type_are_refused)
{
    struct mf_world w = mf_world(&kind_deployment);
    CHECK(!mf_apply(&w, "m1",
                    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':"
                    "{'template':{'spec':{'containers':[{'name':'c','image':'z'},"
                    "{'name':'c','image':true}]}}}}"));
    check_internal(&w, "failed to create typed patch object (/d1; apps/v1, Kind=Deployment): "
                       "errors:\n  .spec.template.spec.containers: duplicate entries for key "
                       "[name='c']\n  .spec.template.spec.containers[name='c'].image: expected "
                       "string, got &value.valueUnstructured{Value:true}");
    mf_done(&w);
}

TEST(a_kind_of_the_core_group_has_an_empty_group_in_the_refusal)
{
    struct mf_world w = mf_world(&kind_config_map);
    CHECK(!mf_apply(&w, "m1", "{'metadata':{'name':'c','namespace':'n'},'data':{},'x':1}"));
    check_internal(&w, "failed to create typed patch object (n/c; /v1, Kind=ConfigMap): "
                       ".x: field not declared in schema");
    mf_done(&w);
}

/* ---- kubectl's move from client-side apply ---- */

TEST(kubectl_takes_over_what_client_side_apply_wrote)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "kubectl-client-side-apply", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','annotations':{"
             "'kubectl.kubernetes.io/last-applied-configuration':'{`apiVersion`:`v1`,`data`:"
             "{`a`:`1`},`kind`:`ConfigMap`,`metadata`:{`name`:`c`}}'}},'data':{'a':'1'}}");
    const char *config =
        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'a':'2'}}";
    CHECK(!mf_apply(&w, "other", config));
    REQUIRE(mf_apply(&w, "kubectl", config));
    CHECK_VALUE(&w, "data.a", "'2'");
    CHECK_FIELDS(&w, "kubectl Apply", "{'f:data':{'f:a':{}}}");
    jval notes = jpath(doc_root(w.live), "metadata.annotations");
    CHECK_CSTR(jstr(jget(notes, STR("kubectl.kubernetes.io/last-applied-configuration"))),
               "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"},\"kind\":\"ConfigMap\","
               "\"metadata\":{\"name\":\"c\"}}\n");
    mf_done(&w);
}

/* kubectl renames the owner by a patch of managedFields and applies again: what the new owner does
 * not apply goes, the annotation too. */
TEST(after_the_migration_the_annotation_goes)
{
    struct mf_world w = mf_world(&kind_config_map);
    mf_write(&w, "kubectl-client-side-apply", "",
             "{'metadata':{'name':'c','annotations':{"
             "'kubectl.kubernetes.io/last-applied-configuration':'x'}},'data':{'a':'1'}}");
    mf_write(&w, "other", "",
             "{'metadata':{'name':'c','annotations':{"
             "'kubectl.kubernetes.io/last-applied-configuration':'x'},'managedFields':[{"
             "'manager':'other','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1',"
             "'fieldsV1':{'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:annotations':{'.':{},"
             "'f:kubectl.kubernetes.io/last-applied-configuration':{}}}}}]},'data':{'a':'1'}}");
    REQUIRE(mf_apply(&w, "other", "{'metadata':{'name':'c'},'data':{'a':'1'}}"));
    CHECK_INT(jlen(mf_entries(&w)), 1);
    CHECK_FIELDS(&w, "other Apply", "{'f:data':{'f:a':{}}}");
    CHECK(j_is_absent(jpath(doc_root(w.live), "metadata.annotations")));
    CHECK_VALUE(&w, "data", "{'a':'1'}");
    mf_done(&w);
}

TEST(the_last_label_goes_and_the_metadata_stays)
{
    struct mf_world w = mf_world(&kind_config_map);
    REQUIRE(mf_apply(&w, "m", "{'metadata':{'name':'c','labels':{'a':'b'}},'data':{'a':'1'}}"));
    REQUIRE(mf_apply(&w, "m", "{'data':{'a':'1'}}"));
    CHECK_VALUE(&w, "metadata.name", "'c'");
    CHECK(j_is_absent(jpath(doc_root(w.live), "metadata.labels")));
    mf_done(&w);
}

TEST(scale_is_an_owner_of_its_own)
{
    struct mf_world w = mf_world(&kind_deployment);
    REQUIRE(mf_apply(&w, "m1", D1("2")));
    mf_write(&w, "kubectl", "scale", D1("4"));
    CHECK_FIELDS(&w, "kubectl Update scale", "{'f:spec':{'f:replicas':{}}}");
    CHECK(!mf_apply(&w, "m1", D1("2")));
    mf_check_conflict(&w, "Apply failed with 1 conflict: conflict with 'kubectl' with subresource "
                          "'scale' using apps/v1: .spec.replicas");
    mf_done(&w);
}

/* What the server filled in below something applied belongs to nobody and does not hold it. */
TEST(defaults_go_with_the_field_they_are_in)
{
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", S("{'paused':true,'freeform':{},'cliques':[{'name':'x'}]}")));
    str list = jtext(mf_entries(&w));
    w.live = mf_json(&w, arena_printf(&w.a,
                                      "{'metadata':{'name':'s','managedFields':%.*s},'spec':"
                                      "{'paused':true,'cliques':[{'name':'x','replicas':1}]}}",
                                      STR_ARG(list))
                             .p);
    REQUIRE(mf_apply(&w, "m1", S("{'paused':true}")));
    CHECK_VALUE(&w, "spec", "{'paused':true}");
    mf_done(&w);
}

/* ---- size ---- */

/* {"metadata":..,"spec":{"cliques":[{"name":"n00000","image":"<image>"},...]}} with n items. */
static const char *big_list(struct mf_world *w, size_t n, bool backwards, const char *image)
{
    struct strbuf b = STRBUF_INIT(8 << 20);
    strbuf_add_cstr(&b, "{'metadata':{'name':'s'},'spec':{'cliques':[");
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s{'name':'n%05zu','image':'%s'}", i ? "," : "",
                      backwards ? n - 1 - i : i, image);
    strbuf_add_cstr(&b, "]}}");
    const char *text = arena_str(&w->a, strbuf_str(&b)).p;
    strbuf_done(&b);
    return text;
}

/* Quadratic work on 20,000 items would take minutes. */
TEST(long_lists_cost_no_more_than_their_length)
{
    enum { N = 20000 };
    struct mf_world w = mf_world(&mf_kind);
    REQUIRE(mf_apply(&w, "m1", big_list(&w, N, false, "a")));
    CHECK(mf_apply(&w, "m2", big_list(&w, N, true, "a")));
    CHECK_INT(jlen(jpath(doc_root(w.live), "spec.cliques")), N);
    CHECK(!mf_apply(&w, "m2", big_list(&w, N, true, "b")));
    CHECK(str_starts(w.status->message, STR("Apply failed with 20000 conflicts: ")));
    CHECK(mf_apply_at(&w, "m2", "", true, big_list(&w, N, true, "b")));
    mf_write(&w, "m3", "", big_list(&w, N, false, "c"));
    CHECK_INT(jlen(jpath(jgetc(mf_entry(&w, "m3 Update"), "fieldsV1"), "f:spec.f:cliques")), N);
    REQUIRE(mf_apply(&w, "m1", "{'metadata':{'name':'s'},'spec':{}}"));
    CHECK_INT(jlen(jpath(doc_root(w.live), "spec.cliques")), N);
    REQUIRE(mf_apply(&w, "m2", "{'metadata':{'name':'s'},'spec':{}}"));
    mf_done(&w);
}

/* ---- properties ---- */

static const char *random_config(struct mf_world *w)
{
    struct rng *r = test_rng();
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_add_cstr(&b, "{'metadata':{'name':'s'},'spec':{'paused':true");
    if (rng_chance(r, 50))
        strbuf_printf(&b, ",'replicas':%d", (int)rng_below(r, 3));
    strbuf_add_cstr(&b, ",'cliques':[{'name':'always'}");
    for (char name = 'a'; name < 'e'; name++)
        if (rng_chance(r, 40))
            strbuf_printf(&b, ",{'name':'%c','image':'%d'}", name, (int)rng_below(r, 2));
    strbuf_add_cstr(&b, "],'tags':['t'");
    for (char tag = 'a'; tag < 'e'; tag++)
        if (rng_chance(r, 40))
            strbuf_printf(&b, ",'%c'", tag);
    strbuf_add_cstr(&b, "],'freeform':{'k':{");
    strbuf_printf(&b, "'%c':%d}}}}", (char)('a' + rng_below(r, 3)), (int)rng_below(r, 2));
    const char *text = arena_str(&w->a, strbuf_str(&b)).p;
    strbuf_done(&b);
    return text;
}

/* Whoever forces gets exactly what he said, the second time changes nothing, and what nobody owns
 * is gone: when all have withdrawn, nothing is left. */
TEST(applies_by_turns)
{
    static const char *const names[] = {"m1", "m2", "m3"};
    for (size_t i = 0, n = test_cases(60); i < n; i++) {
        struct mf_world w = mf_world(&mf_kind);
        for (int step = 0; step < 12; step++) {
            const char *config = random_config(&w), *name = names[rng_below(test_rng(), 3)];
            REQUIRE(mf_apply_at(&w, name, "", true, config));
            const struct doc *before = w.live;
            REQUIRE(mf_apply(&w, name, config));
            CHECK(w.live == before);
            jval wanted = jpath(doc_root(mf_json(&w, config)), "spec.replicas");
            if (j_has(wanted))
                CHECK(jequal(wanted, jpath(doc_root(w.live), "spec.replicas")));
        }
        for (size_t j = 0; j < ARRAY_LEN(names); j++)
            REQUIRE(mf_apply(&w, names[j], "{'metadata':{'name':'s'}}"));
        CHECK_STR(doc_text(w.live), mf_plain(&w.a, "{'metadata':{'name':'s'}}"));
        mf_done(&w);
    }
}
