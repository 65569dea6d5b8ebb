/*
 * managedFields and server-side apply: exact FieldsV1, exact words of conflicts, and the object
 * that comes out. Expected values are what kube-apiserver answers to the same requests.
 *
 * Texts are JSON with ' for ", ` for \" (quotes inside a path element) and ^ for an apostrophe.
 */
#include "apiserver/managed.h"

#include "apiserver/fieldset.h"
#include "apiserver/typed_merge.h"
#include "base/test.h"

/* ---- a custom kind with one list of each sort ---- */

static const struct field clique_fields[] = {
    {.name = "name", .type = &type_string, .flags = FIELD_REQUIRED},
    {.name = "image", .type = &type_string},
    {.name = "replicas", .type = &type_int32, .dflt = "1"},
    {.name = "startsAfter", .type = &type_string, .shape = FIELD_LIST},
};
static const struct type type_clique = {.name = "TestClique",
                                        .tag = TYPE_OBJECT,
                                        .fields = clique_fields,
                                        .n_fields = ARRAY_LEN(clique_fields)};
static const struct type type_free = {
    .name = "TestFree", .tag = TYPE_OBJECT, .preserve_unknown = true};
static const struct field port_fields[] = {
    {.name = "port", .type = &type_int32, .flags = FIELD_REQUIRED},
    {.name = "protocol", .type = &type_string, .dflt = "\"TCP\""},
    {.name = "title", .type = &type_string},
};
static const struct type type_test_port = {.name = "TestPort",
                                           .tag = TYPE_OBJECT,
                                           .fields = port_fields,
                                           .n_fields = ARRAY_LEN(port_fields)};
static const struct field set_spec_fields[] = {
    {.name = "replicas", .type = &type_int32},
    {.name = "cliques",
     .type = &type_clique,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "name"},
    {.name = "ports",
     .type = &type_test_port,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "protocol,port"},
    {.name = "tags", .type = &type_string, .shape = FIELD_LIST, .list = LIST_SET},
    {.name = "order", .type = &type_string, .shape = FIELD_LIST},
    {.name = "freeform", .type = &type_free},
    {.name = "parts", .type = &type_clique, .shape = FIELD_MAP},
    {.name = "paused", .type = &type_bool},
};
static const struct type type_set_spec = {.name = "TestSetSpec",
                                          .tag = TYPE_OBJECT,
                                          .fields = set_spec_fields,
                                          .n_fields = ARRAY_LEN(set_spec_fields)};
static const struct field set_status_fields[] = {
    {.name = "replicas", .type = &type_int32},
    {.name = "conditions",
     .type = &type_condition,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "type"},
};
static const struct type type_set_status = {.name = "TestSetStatus",
                                            .tag = TYPE_OBJECT,
                                            .fields = set_status_fields,
                                            .n_fields = ARRAY_LEN(set_status_fields)};
static const struct field set_fields[] = {
    {.name = "apiVersion", .type = &type_string},    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta}, {.name = "spec", .type = &type_set_spec},
    {.name = "status", .type = &type_set_status},
};
static const struct type type_set = {
    .name = "TestSet", .tag = TYPE_OBJECT, .fields = set_fields, .n_fields = ARRAY_LEN(set_fields)};
static uint16_t kind_set_id;
static const struct kind kind_set = {
    .group = "probe.example.com",
    .version = "v1alpha1",
    .kind = "TestSet",
    .plural = "testsets",
    .singular = "testset",
    .verbs = VERBS_ALL,
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_CUSTOM | KIND_GENERATION,
    .type = &type_set,
    .id = &kind_set_id,
};

/* ---- a live object that is written step by step ---- */

struct world {
    struct arena a;
    const struct kind *kind;
    struct doc *live;
    struct status *status; /* of the last apply that failed */
    usec now;
};

#define T0 ((usec)1794700800 * USEC_PER_SEC) /* 2026-11-15T00:00:00Z */

static str plain(struct arena *a, const char *text)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (const char *c = text; *c; c++) {
        if (*c == '`')
            strbuf_add_char(&b, '\\');
        strbuf_add_char(&b, *c == '\'' || *c == '`' ? '"' : *c == '^' ? '\'' : *c);
    }
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static struct doc *json(struct world *w, const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(plain(&w->a, text), NULL, &err);
    if (!d)
        BUG(err.message);
    return doc_hold(&w->a, d);
}

static struct world world_of(const struct kind *k)
{
    kinds_init();
    return (struct world){.kind = k, .now = T0};
}

static void world_done(struct world *w)
{
    arena_done(&w->a);
}

/* A create or an update: the whole object as the caller would store it. managedFields of the live
 * object are carried along as an unchanged client does, unless the text has its own. */
static struct doc *write_as(struct world *w, const char *manager, const char *subresource,
                            const char *text)
{
    struct doc *new = json(w, text);
    w->now += USEC_PER_SEC;
    w->live = doc_hold(
        &w->a, managed_update(w->kind, w->live, new, str_of(manager), str_of(subresource), w->now));
    return w->live;
}

static bool apply_at(struct world *w, const char *manager, const char *subresource, bool force,
                     const char *text)
{
    w->now += USEC_PER_SEC;
    w->status = NULL;
    struct doc *d = managed_apply(w->kind, w->live, json(w, text), str_of(manager),
                                  str_of(subresource), force, w->now, &w->a, &w->status);
    if (d)
        w->live = doc_hold(&w->a, d);
    return d != NULL;
}

static bool apply_as(struct world *w, const char *manager, const char *text)
{
    return apply_at(w, manager, "", false, text);
}

static jval entries(struct world *w)
{
    return jpath(doc_root(w->live), "metadata.managedFields");
}

/* "m1 Apply" or "ctl Update status" */
static jval entry(struct world *w, const char *who)
{
    str rest = str_of(who), name = str_cut(&rest, ' '), operation = str_cut(&rest, ' ');
    for (struct jiter it = jiter(entries(w)); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "manager")), name) &&
            str_eq(jstr(jgetc(it.value, "operation")), operation) &&
            str_eq(jstr(jgetc(it.value, "subresource")), rest))
            return it.value;
    return JVAL_ABSENT;
}

#define CHECK_FIELDS(w, who, want) \
    CHECK_STR(jtext(jgetc(entry((w), (who)), "fieldsV1")), plain(&(w)->a, (want)))

#define CHECK_VALUE(w, path, want) \
    CHECK_STR(jtext(jpath(doc_root((w)->live), (path))), plain(&(w)->a, (want)))

static void check_conflict(struct world *w, const char *message)
{
    REQUIRE(w->status != NULL);
    CHECK_INT(w->status->code, 409);
    CHECK_CSTR(str_of(w->status->reason), "Conflict");
    CHECK_STR(w->status->message, plain(&w->a, message));
}

static void check_cause(struct world *w, size_t i, const char *message, const char *field)
{
    REQUIRE(w->status && i < w->status->n_causes);
    CHECK_CSTR(w->status->causes[i].reason, "FieldManagerConflict");
    CHECK_STR(w->status->causes[i].message, plain(&w->a, message));
    CHECK_STR(w->status->causes[i].field, plain(&w->a, field));
}

/* ---- update: what a create owns ---- */

TEST(create_of_a_config_map_owns_its_data_and_the_map)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1'},'data':{'a':'1'}}");
    CHECK_STR(jtext(entries(&w)),
              plain(&w.a, "[{'manager':'mgr1','operation':'Update','apiVersion':'v1',"
                          "'time':'2026-11-15T00:00:01Z','fieldsType':'FieldsV1',"
                          "'fieldsV1':{'f:data':{'.':{},'f:a':{}}}}]"));
    world_done(&w);
}

TEST(create_owns_generate_name_but_not_the_name)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "p", "", "{'metadata':{'generateName':'g-','name':'g-1'},'data':{'a':'1'}}");
    CHECK_FIELDS(&w, "p Update", "{'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:generateName':{}}}");
    world_done(&w);
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

TEST(create_of_a_pod_owns_what_the_recording_shows)
{
    struct world w = world_of(&kind_pod);
    write_as(&w, "truth-probe", "", POD_BEGIN POD_SPEC "}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    world_done(&w);
}

TEST(status_of_a_create_belongs_to_nobody)
{
    struct world w = world_of(&kind_pod);
    write_as(&w, "truth-probe", "", POD_BEGIN POD_SPEC ",'status':{'phase':'Pending'}}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    CHECK_INT(jlen(entries(&w)), 1);
    world_done(&w);
}

TEST(optional_list_map_gets_itself_and_required_one_does_not)
{
    struct world w = world_of(&kind_pod);
    write_as(&w, "m", "",
             "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}],"
             "'schedulingGates':[{'name':'example.com/gate'}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:name':{}}},"
                 "'f:schedulingGates':{'.':{},'k:{`name`:`example.com/gate`}':{'.':{},"
                 "'f:name':{}}}}}");
    world_done(&w);
}

TEST(ports_of_a_service_are_told_apart_by_two_keys)
{
    struct world w = world_of(&kind_service);
    write_as(&w, "truth-probe", "",
             "{'metadata':{'name':'s1'},'spec':{'selector':{'a':'b'},'ports':[{'port':80,"
             "'protocol':'TCP','targetPort':80}],'sessionAffinity':'None','type':'ClusterIP',"
             "'internalTrafficPolicy':'Cluster'}}");
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:spec':{'f:internalTrafficPolicy':{},'f:ports':{'.':{},"
                 "'k:{`port`:80,`protocol`:`TCP`}':{'.':{},'f:port':{},'f:protocol':{},"
                 "'f:targetPort':{}}},'f:selector':{},'f:sessionAffinity':{},'f:type':{}}}");
    world_done(&w);
}

#define DEPLOYMENT                                                                              \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1','labels':{'m':'1'}},"  \
    "'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}}," \
    "'spec':{'containers':[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]}]}}"

TEST(structs_of_a_built_in_kind_exist_before_anyone_writes_them)
{
    struct world w = world_of(&kind_deployment);
    write_as(&w, "m", "",
             DEPLOYMENT ",'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':1}}},"
                        "'status':{}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:m':{}}},'f:spec':{'f:selector':{},"
                 "'f:strategy':{'f:rollingUpdate':{'.':{},'f:maxSurge':{}},'f:type':{}},"
                 "'f:template':{'f:metadata':{'f:labels':{'.':{},'f:a':{}}},'f:spec':{"
                 "'f:containers':{'k:{`name`:`c`}':{'.':{},'f:env':{'.':{},'k:{`name`:`X`}':{"
                 "'.':{},'f:name':{},'f:value':{}}},'f:image':{},'f:name':{}}}}}}}");
    world_done(&w);
}

TEST(objects_of_a_custom_kind_come_into_being_with_the_create)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "kubectl-client-side-apply", "",
             "{'apiVersion':'probe.example.com/v1alpha1','kind':'TestSet','metadata':{'name':'s',"
             "'labels':{'app':'demo'}},'spec':{'cliques':[{'name':'prefill','replicas':3}],"
             "'replicas':2}}");
    CHECK_FIELDS(&w, "kubectl-client-side-apply Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}},'f:spec':{'.':{},'f:cliques':{"
                 "'.':{},'k:{`name`:`prefill`}':{'.':{},'f:name':{},'f:replicas':{}}},"
                 "'f:replicas':{}}}");
    world_done(&w);
}

TEST(sets_maps_and_atomic_lists_have_their_own_elements)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "",
             "{'metadata':{'name':'s','finalizers':['x/y'],'ownerReferences':[{'uid':'u1',"
             "'name':'o'}]},'spec':{'tags':['t2','t1'],'order':['b','a'],'freeform':{'k':{'a':1,"
             "'l':[1]}},'parts':{'one':{'name':'n'}},'ports':[{'port':80}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:metadata':{'f:finalizers':{'.':{},'v:`x/y`':{}},'f:ownerReferences':{'.':{},"
                 "'k:{`uid`:`u1`}':{}}},'f:spec':{'.':{},'f:freeform':{'.':{},'f:k':{'.':{},"
                 "'f:a':{},'f:l':{}}},'f:order':{},'f:parts':{'.':{},'f:one':{'.':{},'f:name':{}}},"
                 "'f:ports':{'.':{},'k:{`port`:80,`protocol`:`TCP`}':{'.':{},'f:port':{}}},"
                 "'f:tags':{'.':{},'v:`t1`':{},'v:`t2`':{}}}}");
    world_done(&w);
}

TEST(null_and_empty_object_are_members)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'replicas':null,'freeform':{},'cliques':[]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'.':{},'f:cliques':{},'f:freeform':{},'f:replicas':{}}}");
    world_done(&w);
}

TEST(nothing_but_system_metadata_leaves_no_entry)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "m", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':'n',"
             "'uid':'u','resourceVersion':'1','generation':1,'selfLink':'x',"
             "'creationTimestamp':'2026-11-15T00:00:00Z'}}");
    CHECK(j_is_absent(entries(&w)));
    world_done(&w);
}

/* ---- update: what a change moves ---- */

#define CM(data) "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1'},'data':" data "}"

TEST(a_changed_value_moves_to_its_writer_and_the_map_stays)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "truth-probe", "", CM("{'a':'2'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{}}");
    CHECK_FIELDS(&w, "truth-probe Update", "{'f:data':{'f:a':{}}}");
    world_done(&w);
}

TEST(a_removed_value_is_owned_by_nobody)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "p", "", CM("{'b':'x'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{}}");
    CHECK_FIELDS(&w, "p Update", "{'f:data':{'f:b':{}}}");
    write_as(&w, "p", "", CM("{}"));
    CHECK(j_is_absent(entry(&w, "p Update")));
    world_done(&w);
}

TEST(a_manager_with_nothing_left_disappears)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "p", "", CM("{'a':'1','b':'2'}"));
    write_as(&w, "q", "", CM("{'a':'1','b':'3'}"));
    CHECK(j_is_absent(entry(&w, "p Update")));
    CHECK_FIELDS(&w, "q Update", "{'f:data':{'f:b':{}}}");
    world_done(&w);
}

TEST(the_same_object_again_is_the_same_document)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    struct doc *same =
        managed_update(w.kind, w.live, w.live, STR("other"), STR_NONE, w.now + USEC_PER_SEC);
    CHECK(same == w.live);
    doc_unref(same);
    world_done(&w);
}

TEST(a_client_that_drops_managed_fields_does_not_lose_them)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    str before = arena_str(&w.a, jtext(entries(&w)));
    write_as(&w, "other", "", CM("{'a':'1'}"));
    CHECK_STR(jtext(entries(&w)), before);
    world_done(&w);
}

TEST(a_new_value_of_an_owned_field_renews_the_time_only)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "mgr1", "", CM("{'a':'2'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
    CHECK_CSTR(jstr(jgetc(entry(&w, "mgr1 Update"), "time")), "2026-11-15T00:00:02Z");
    world_done(&w);
}

TEST(status_writes_are_an_entry_of_their_own)
{
    struct world w = world_of(&kind_pod);
    write_as(&w, "truth-probe", "",
             POD_BEGIN POD_SPEC ",'status':{'phase':'Pending','conditions':["
                                "{'type':'PodScheduled','status':'True'}]}}");
    write_as(&w, "truth-probe", "status",
             POD_BEGIN POD_SPEC
             ",'status':{'phase':'Running','podIP':'10.0.0.9','podIPs':[{'ip':'10.0.0.9'}],"
             "'conditions':[{'type':'PodScheduled','status':'True'},{'type':'Ready',"
             "'status':'True','lastProbeTime':null,'lastTransitionTime':null}]}}");
    CHECK_INT(jlen(entries(&w)), 2);
    CHECK_FIELDS(&w, "truth-probe Update",
                 "{'f:metadata':{'f:labels':{'.':{},'f:app':{}}}," POD_FIELDS);
    CHECK_FIELDS(&w, "truth-probe Update status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Ready`}':{'.':{},'f:lastProbeTime':{},"
                 "'f:lastTransitionTime':{},'f:status':{},'f:type':{}}},'f:phase':{},'f:podIP':{},"
                 "'f:podIPs':{'.':{},'k:{`ip`:`10.0.0.9`}':{'.':{},'f:ip':{}}}}}");
    world_done(&w);
}

TEST(first_status_of_a_custom_resource_creates_the_status)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "", "{'metadata':{'name':'s'},'spec':{'replicas':1}}");
    write_as(&w, "ctl", "status",
             "{'metadata':{'name':'s'},'spec':{'replicas':1},'status':{'replicas':5}}");
    CHECK_FIELDS(&w, "ctl Update status", "{'f:status':{'.':{},'f:replicas':{}}}");
    world_done(&w);
}

TEST(a_removed_list_item_takes_all_its_fields_along)
{
    struct world w = world_of(&kind_pod);
    write_as(&w, "m", "",
             "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}],"
             "'schedulingGates':[{'name':'g1'}]}}");
    write_as(&w, "other", "", "{'metadata':{'name':'g'},'spec':{'containers':[{'name':'c'}]}}");
    CHECK_FIELDS(&w, "m Update",
                 "{'f:spec':{'f:containers':{'k:{`name`:`c`}':{'.':{},'f:name':{}}}}}");
    CHECK_INT(jlen(entries(&w)), 1);
    world_done(&w);
}

TEST(order_of_list_items_is_no_change)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a'},{'name':'b'}],"
             "'tags':['x','y']}}");
    write_as(&w, "n", "",
             "{'metadata':{'name':'s'},'spec':{'tags':['y','x'],'cliques':[{'name':'b'},"
             "{'name':'a'}]}}");
    CHECK(j_is_absent(entry(&w, "n Update")));
    world_done(&w);
}

TEST(items_with_the_same_key_are_one_thing)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a','image':'1'}]}}");
    write_as(&w, "n", "",
             "{'metadata':{'name':'s'},'spec':{'cliques':[{'name':'a','image':'1'},"
             "{'name':'a','image':'2'}]}}");
    CHECK_FIELDS(&w, "n Update", "{'f:spec':{'f:cliques':{'k:{`name`:`a`}':{}}}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'.':{},'f:cliques':{}}}");
    world_done(&w);
}

TEST(more_than_ten_updaters_become_ancient_changes)
{
    struct world w = world_of(&kind_config_map);
    char text[512] = "", name[16];
    for (int i = 0; i < 12; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s'k%d':'v'", i ? "," : "", i);
        snprintf(name, sizeof(name), "m%d", i);
        write_as(&w, name, "", (const char *)arena_printf(&w.a, CM("{%s}"), text).p);
    }
    CHECK_INT(jlen(entries(&w)), 10);
    CHECK_CSTR(jstr(jgetc(jat(entries(&w), 0), "manager")), "ancient-changes");
    CHECK_CSTR(jstr(jgetc(jat(entries(&w), 0), "time")), "2026-11-15T00:00:03Z");
    CHECK_FIELDS(&w, "ancient-changes Update", "{'f:data':{'.':{},'f:k0':{},'f:k1':{},'f:k2':{}}}");
    CHECK_FIELDS(&w, "m3 Update", "{'f:data':{'f:k3':{}}}");
    CHECK_FIELDS(&w, "m11 Update", "{'f:data':{'f:k11':{}}}");
    world_done(&w);
}

/* ---- update: managedFields in the request ---- */

#define CM_WITH(fields, data)                                                               \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1','managedFields':" fields \
    "},'data':" data "}"

TEST(an_empty_entry_clears_the_list_and_stops_tracking)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "p", "", CM_WITH("[{}]", "{'a':'2'}"));
    CHECK(j_is_absent(entries(&w)));
    write_as(&w, "p", "", CM("{'a':'3'}"));
    CHECK(j_is_absent(entries(&w)));
    world_done(&w);
}

TEST(an_empty_list_clears_the_list)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "p", "", CM_WITH("[]", "{'a':'1'}"));
    CHECK(j_is_absent(entries(&w)));
    world_done(&w);
}

TEST(null_keeps_the_list)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "mgr1", "", CM("{'a':'1'}"));
    write_as(&w, "p", "", CM_WITH("null", "{'a':'1'}"));
    CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
    world_done(&w);
}

TEST(an_edited_list_is_the_starting_point)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "kubectl-client-side-apply", "",
             "{'metadata':{'name':'s'},'spec':{'replicas':2,'cliques':[{'name':'x'}]}}");
    write_as(&w, "kubectl", "",
             "{'metadata':{'name':'s','managedFields':[{'manager':'kubectl','operation':'Apply',"
             "'apiVersion':'probe.example.com/v1alpha1','time':'2026-11-15T00:00:00Z',"
             "'fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'.':{},'f:cliques':{'k:{ `name`:`x` }':"
             "{'f:name':{},'.':{}}},'f:replicas':{}}}}]},'spec':{'replicas':2,"
             "'cliques':[{'name':'x'}]}}");
    CHECK_INT(jlen(entries(&w)), 1);
    CHECK_FIELDS(&w, "kubectl Apply",
                 "{'f:spec':{'.':{},'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:name':{}}},"
                 "'f:replicas':{}}}");
    CHECK_CSTR(jstr(jgetc(entry(&w, "kubectl Apply"), "time")), "2026-11-15T00:00:00Z");
    world_done(&w);
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
        struct world w = world_of(&kind_config_map);
        write_as(&w, "mgr1", "", CM("{'a':'1'}"));
        write_as(&w, "p", "", arena_printf(&w.a, CM_WITH("%s", "{'a':'1'}"), bad[i]).p);
        CHECK_INT(jlen(entries(&w)), 1);
        CHECK_FIELDS(&w, "mgr1 Update", "{'f:data':{'.':{},'f:a':{}}}");
        world_done(&w);
    }
}

TEST(a_subresource_cannot_edit_the_list)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "m", "", "{'metadata':{'name':'s'},'spec':{'replicas':1}}");
    write_as(&w, "ctl", "status",
             "{'metadata':{'name':'s','managedFields':[{}]},'spec':{'replicas':1},"
             "'status':{'replicas':1}}");
    CHECK_FIELDS(&w, "m Update", "{'f:spec':{'.':{},'f:replicas':{}}}");
    CHECK_FIELDS(&w, "ctl Update status", "{'f:status':{'.':{},'f:replicas':{}}}");
    world_done(&w);
}

/* ---- apply ---- */

#define DEPLOYMENT_SET                                                                        \
    "'f:selector':{},'f:template':{'f:metadata':{'f:labels':{'f:a':{}}},'f:spec':{"           \
    "'f:containers':{'k:{`name`:`c`}':{'.':{},'f:env':{'k:{`name`:`X`}':{'.':{},'f:name':{}," \
    "'f:value':{}}},'f:image':{},'f:name':{}}}}}}}"
#define D1(replicas) DEPLOYMENT ",'replicas':" replicas "}}"

TEST(apply_create_owns_what_was_applied_and_nothing_else)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("2")));
    CHECK_STR(jtext(entries(&w)),
              plain(&w.a, "[{'manager':'m1','operation':'Apply','apiVersion':'apps/v1',"
                          "'time':'2026-11-15T00:00:01Z','fieldsType':'FieldsV1','fieldsV1':{"
                          "'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{"
                          "'f:replicas':{}," DEPLOYMENT_SET "}]"));
    CHECK_VALUE(&w, "spec.replicas", "2");
    CHECK_VALUE(&w, "metadata.name", "'d1'");
    world_done(&w);
}

TEST(apply_of_the_same_is_the_same_document)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("2")));
    const struct doc *before = w.live;
    REQUIRE(apply_as(&w, "m1", D1("2")));
    CHECK(w.live == before);
    world_done(&w);
}

TEST(apply_of_a_new_value_by_its_owner_is_no_conflict)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("2")));
    REQUIRE(apply_as(&w, "m1", D1("3")));
    CHECK_VALUE(&w, "spec.replicas", "3");
    CHECK_CSTR(jstr(jgetc(entry(&w, "m1 Apply"), "time")), "2026-11-15T00:00:02Z");
    world_done(&w);
}

TEST(a_single_conflict_stands_in_the_line)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("3")));
    const struct doc *before = w.live;
    CHECK(!apply_as(&w, "m2", D1("5")));
    CHECK(w.live == before);
    check_conflict(&w, "Apply failed with 1 conflict: conflict with 'm1': .spec.replicas");
    CHECK_INT(w.status->n_causes, 1);
    check_cause(&w, 0, "conflict with 'm1'", ".spec.replicas");
    world_done(&w);
}

TEST(the_same_value_is_shared_and_not_a_conflict)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("3")));
    REQUIRE(apply_as(&w, "m2", D1("3")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    world_done(&w);
}

TEST(force_takes_the_field_away)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("3")));
    REQUIRE(apply_at(&w, "m2", "", true, D1("5")));
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{'f:replicas':{}," DEPLOYMENT_SET);
    world_done(&w);
}

TEST(a_field_the_other_still_owns_stays)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("5")));
    REQUIRE(apply_as(&w, "m2", D1("5")));
    REQUIRE(apply_as(&w, "m1", DEPLOYMENT "}}"));
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    world_done(&w);
}

TEST(a_field_nobody_owns_any_more_goes)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("5")));
    REQUIRE(apply_as(&w, "m1", DEPLOYMENT "}}"));
    CHECK(j_is_absent(jpath(doc_root(w.live), "spec.replicas")));
    CHECK(j_has(jpath(doc_root(w.live), "spec.template")));
    world_done(&w);
}

#define SIDE                                                                       \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':" \
    "{'template':{'spec':{'containers':[{'name':'side','image':'s:1'}]}}}}"

TEST(a_second_container_joins_and_leaves_with_its_manager)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("5")));
    REQUIRE(apply_as(&w, "m3", SIDE));
    CHECK_FIELDS(&w, "m3 Apply",
                 "{'f:spec':{'f:template':{'f:spec':{'f:containers':{'k:{`name`:`side`}':{'.':{},"
                 "'f:image':{},'f:name':{}}}}}}}");
    CHECK_VALUE(&w, "spec.template.spec.containers",
                "[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]},"
                "{'name':'side','image':'s:1'}]");
    REQUIRE(apply_as(&w, "m3",
                     "{'apiVersion':'apps/v1','kind':'Deployment',"
                     "'metadata':{'name':'d1'}}"));
    CHECK(j_is_absent(entry(&w, "m3 Apply")));
    CHECK_VALUE(&w, "spec.template.spec.containers",
                "[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]}]");
    world_done(&w);
}

TEST(apply_of_a_status_counts_the_status_only)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("5")));
    REQUIRE(apply_at(&w, "ctl", "status", false,
                     "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1',"
                     "'labels':{'ignored':'yes'}},'spec':{'replicas':9},'status':{'replicas':2,"
                     "'conditions':[{'type':'Available','status':'True'}]}}"));
    CHECK_FIELDS(&w, "ctl Apply status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Available`}':{'.':{},'f:status':{},"
                 "'f:type':{}}},'f:replicas':{}}}");
    CHECK_VALUE(&w, "metadata.labels", "{'m':'1'}");
    CHECK_VALUE(&w, "spec.replicas", "5");
    CHECK_VALUE(&w, "status.replicas", "2");
    world_done(&w);
}

TEST(apply_of_the_object_ignores_the_status)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m",
                     "{'metadata':{'name':'s'},'spec':{'replicas':1},"
                     "'status':{'replicas':7}}"));
    CHECK_FIELDS(&w, "m Apply", "{'f:spec':{'f:replicas':{}}}");
    CHECK(j_is_absent(jpath(doc_root(w.live), "status")));
    world_done(&w);
}

TEST(an_update_of_an_applied_field_is_a_second_entry_behind_the_appliers)
{
    struct world w = world_of(&kind_deployment);
    REQUIRE(apply_as(&w, "m1", D1("5")));
    write_as(&w, "a-first-name", "", D1("9"));
    CHECK_INT(jlen(entries(&w)), 2);
    CHECK_CSTR(jstr(jgetc(jat(entries(&w), 0), "operation")), "Apply");
    CHECK_FIELDS(&w, "a-first-name Update", "{'f:spec':{'f:replicas':{}}}");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:m':{}}},'f:spec':{" DEPLOYMENT_SET);
    world_done(&w);
}

TEST(entries_are_in_order_of_operation_time_and_name)
{
    struct world w = world_of(&kind_config_map);
    w.live = NULL;
    write_as(&w, "z", "", CM("{'z':'1'}"));
    write_as(&w, "y", "", CM("{'z':'1','y':'1'}"));
    REQUIRE(apply_as(&w, "b", CM("{'b':'1'}")));
    w.now -= USEC_PER_SEC;
    REQUIRE(apply_as(&w, "a", CM("{'a':'1'}")));
    static const char *const want[] = {"a", "b", "z", "y"};
    REQUIRE(jlen(entries(&w)) == 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_CSTR(jstr(jgetc(jat(entries(&w), i), "manager")), want[i]);
    world_done(&w);
}

/* ---- apply to a custom resource ---- */

#define S(spec)                                                                            \
    "{'apiVersion':'probe.example.com/v1alpha1','kind':'TestSet','metadata':{'name':'s'}," \
    "'spec':" spec "}"

TEST(list_maps_sets_and_free_maps_merge_by_item)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1",
                     S("{'cliques':[{'name':'x','image':'i:1'}],'tags':['t1'],"
                       "'freeform':{'k':{'a':1}}}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:image':{},'f:name':{}}},"
                 "'f:freeform':{'f:k':{'.':{},'f:a':{}}},'f:tags':{'v:`t1`':{}}}}");
    REQUIRE(apply_as(&w, "m2",
                     S("{'cliques':[{'name':'y','startsAfter':['x']}],'tags':['t2'],"
                       "'freeform':{'k':{'b':2}}}")));
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`y`}':{'.':{},'f:name':{},"
                 "'f:startsAfter':{}}},'f:freeform':{'f:k':{'.':{},'f:b':{}}},"
                 "'f:tags':{'v:`t2`':{}}}}");
    CHECK_VALUE(&w, "spec",
                "{'cliques':[{'name':'x','image':'i:1'},{'name':'y','startsAfter':['x']}],"
                "'tags':['t1','t2'],'freeform':{'k':{'a':1,'b':2}}}");
    world_done(&w);
}

TEST(a_conflict_inside_a_list_item_names_its_key)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'cliques':[{'name':'x','image':'i:1'}]}")));
    CHECK(!apply_as(&w, "m2", S("{'cliques':[{'name':'x','image':'i:2'}]}")));
    check_conflict(
        &w, "Apply failed with 1 conflict: conflict with 'm1': .spec.cliques[name='x'].image");
    check_cause(&w, 0, "conflict with 'm1'", ".spec.cliques[name='x'].image");
    world_done(&w);
}

TEST(force_inside_a_list_item_drops_what_the_manager_left_out)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1",
                     S("{'cliques':[{'name':'x','image':'i:1'}],'tags':['t1'],"
                       "'freeform':{'k':{'a':1}}}")));
    REQUIRE(apply_as(&w, "m2",
                     S("{'cliques':[{'name':'y','startsAfter':['x']}],'tags':['t2'],"
                       "'freeform':{'k':{'b':2}}}")));
    REQUIRE(apply_at(&w, "m2", "", true, S("{'cliques':[{'name':'x','image':'i:2'}]}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:name':{}}},"
                 "'f:freeform':{'f:k':{'.':{},'f:a':{}}},'f:tags':{'v:`t1`':{}}}}");
    CHECK_FIELDS(&w, "m2 Apply",
                 "{'f:spec':{'f:cliques':{'k:{`name`:`x`}':{'.':{},'f:image':{},'f:name':{}}}}}");
    CHECK_VALUE(&w, "spec",
                "{'cliques':[{'name':'x','image':'i:2'}],'tags':['t1'],'freeform':{'k':{'a':1}}}");
    world_done(&w);
}

TEST(two_managers_of_one_list_of_conditions)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'replicas':1}")));
    REQUIRE(apply_at(&w, "ctl", "status", false,
                     "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"));
    REQUIRE(apply_at(&w, "ctl2", "status", false,
                     "{'status':{'conditions':[{'type':'Progressing','status':'True'}]}}"));
    CHECK_VALUE(&w, "status.conditions",
                "[{'type':'Ready','status':'True'},{'type':'Progressing','status':'True'}]");
    CHECK_FIELDS(&w, "ctl Apply status",
                 "{'f:status':{'f:conditions':{'k:{`type`:`Ready`}':{'.':{},'f:status':{},"
                 "'f:type':{}}}}}");
    REQUIRE(apply_at(&w, "ctl", "status", false, "{'status':{}}"));
    CHECK_VALUE(&w, "status.conditions", "[{'type':'Progressing','status':'True'}]");
    world_done(&w);
}

TEST(several_conflicts_are_grouped_by_manager)
{
    struct world w = world_of(&kind_set);
    write_as(&w, "kubectl-client-side-apply", "",
             S("{'cliques':[{'name':'prefill','image':'a:2'}],'replicas':1}"));
    write_as(&w, "kubectl-patch", "",
             S("{'cliques':[{'name':'prefill','image':'a:2'}],'replicas':3}"));
    CHECK(!apply_as(&w, "other", S("{'cliques':[{'name':'prefill','image':'a:1'}],'replicas':2}")));
    check_conflict(&w, "Apply failed with 2 conflicts: conflicts with "
                       "'kubectl-client-side-apply' using probe.example.com/v1alpha1:\n"
                       "- .spec.cliques[name='prefill'].image\nconflicts with 'kubectl-patch' "
                       "using probe.example.com/v1alpha1:\n- .spec.replicas");
    CHECK_INT(w.status->n_causes, 2);
    check_cause(&w, 0, "conflict with 'kubectl-client-side-apply' using probe.example.com/v1alpha1",
                ".spec.cliques[name='prefill'].image");
    check_cause(&w, 1, "conflict with 'kubectl-patch' using probe.example.com/v1alpha1",
                ".spec.replicas");
    world_done(&w);
}

TEST(several_conflicts_with_one_manager_are_one_group)
{
    struct world w = world_of(&kind_set);
    REQUIRE(
        apply_as(&w, "m1", S("{'replicas':1,'paused':true,'ports':[{'port':80,'title':'a'}]}")));
    CHECK(
        !apply_as(&w, "m2", S("{'replicas':2,'paused':false,'ports':[{'port':80,'title':'b'}]}")));
    check_conflict(&w, "Apply failed with 3 conflicts: conflicts with 'm1':\n- .spec.paused\n"
                       "- .spec.replicas\n- .spec.ports[port=80,protocol='TCP'].title");
    world_done(&w);
}

TEST(a_conflict_names_the_subresource)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'replicas':1}")));
    REQUIRE(apply_at(&w, "ctl", "status", false, "{'status':{'replicas':1}}"));
    CHECK(!apply_at(&w, "ctl2", "status", false, "{'status':{'replicas':2}}"));
    check_conflict(&w, "Apply failed with 1 conflict: conflict with 'ctl' with subresource "
                       "'status': .status.replicas");
    world_done(&w);
}

TEST(a_conflict_about_a_set_does_not_exist)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'tags':['a','b']}")));
    REQUIRE(apply_as(&w, "m2", S("{'tags':['b','c']}")));
    CHECK_VALUE(&w, "spec.tags", "['a','b','c']");
    REQUIRE(apply_as(&w, "m1", S("{'tags':['b']}")));
    CHECK_VALUE(&w, "spec.tags", "['b','c']");
    world_done(&w);
}

TEST(an_atomic_list_conflicts_as_a_whole)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'order':['a','b']}")));
    CHECK(!apply_as(&w, "m2", S("{'order':['a','b','c']}")));
    check_conflict(&w, "Apply failed with 1 conflict: conflict with 'm1': .spec.order");
    REQUIRE(apply_at(&w, "m2", "", true, S("{'order':['c']}")));
    CHECK_VALUE(&w, "spec.order", "['c']");
    CHECK(j_is_absent(entry(&w, "m1 Apply")));
    world_done(&w);
}

TEST(shared_items_follow_the_configuration_and_others_stay_between)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'tags':['a','b','c','d']}")));
    REQUIRE(apply_as(&w, "m2", S("{'tags':['n','c','a']}")));
    CHECK_VALUE(&w, "spec.tags", "['b','n','c','d','a']");
    world_done(&w);
}

TEST(a_map_of_objects_merges_by_key)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'parts':{'one':{'name':'a','image':'i'}}}")));
    CHECK_FIELDS(&w, "m1 Apply",
                 "{'f:spec':{'f:parts':{'f:one':{'.':{},'f:image':{},'f:name':{}}}}}");
    REQUIRE(apply_as(&w, "m2", S("{'parts':{'two':{'name':'b'},'one':{'replicas':4}}}")));
    CHECK_VALUE(&w, "spec.parts",
                "{'one':{'name':'a','image':'i','replicas':4},'two':{'name':'b'}}");
    REQUIRE(apply_as(&w, "m1", S("{}")));
    CHECK_VALUE(&w, "spec.parts", "{'one':{'replicas':4},'two':{'name':'b'}}");
    world_done(&w);
}

TEST(null_in_a_configuration_is_owned)
{
    struct world w = world_of(&kind_set);
    REQUIRE(apply_as(&w, "m1", S("{'replicas':null,'freeform':{}}")));
    CHECK_FIELDS(&w, "m1 Apply", "{'f:spec':{'f:freeform':{},'f:replicas':{}}}");
    world_done(&w);
}

TEST(an_object_without_managers_belongs_to_before_first_apply)
{
    struct world w = world_of(&kind_set);
    w.live = json(&w, "{'metadata':{'name':'s','uid':'u','resourceVersion':'7'},"
                      "'spec':{'replicas':1},'status':{'replicas':1}}");
    CHECK(!apply_as(&w, "m1", S("{'replicas':2}")));
    check_conflict(&w, "Apply failed with 1 conflict: conflict with 'before-first-apply' using "
                       "probe.example.com/v1alpha1: .spec.replicas");
    REQUIRE(apply_as(&w, "m1", S("{'replicas':1,'paused':true}")));
    CHECK_FIELDS(&w, "before-first-apply Update", "{'f:spec':{'.':{},'f:replicas':{}}}");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:spec':{'f:paused':{},'f:replicas':{}}}");
    world_done(&w);
}

TEST(what_the_server_says_in_metadata_cannot_be_applied)
{
    struct world w = world_of(&kind_set);
    w.live = json(&w, "{'metadata':{'name':'s','uid':'u','resourceVersion':'7',"
                      "'creationTimestamp':'2026-11-15T00:00:00Z'},'spec':{'replicas':1}}");
    REQUIRE(apply_as(&w, "m1",
                     "{'metadata':{'name':'s','creationTimestamp':null,'labels':{'a':'b'}}}"));
    CHECK_VALUE(&w, "metadata.creationTimestamp", "'2026-11-15T00:00:00Z'");
    CHECK_FIELDS(&w, "m1 Apply", "{'f:metadata':{'f:labels':{'f:a':{}}}}");
    world_done(&w);
}

/* ---- apply: configurations that break the schema ---- */

static void check_internal(struct world *w, const char *message)
{
    REQUIRE(w->status != NULL);
    CHECK_INT(w->status->code, 500);
    CHECK(w->status->reason == NULL || w->status->reason[0] == '\0');
    CHECK_STR(w->status->message, plain(&w->a, message));
}

TEST(an_item_without_its_key_is_refused)
{
    struct world w = world_of(&kind_set);
    CHECK(!apply_as(&w, "m1", S("{'cliques':[{'image':'nokey'}]}")));
    check_internal(&w,
                   "failed to create typed patch object (/s; probe.example.com/v1alpha1, "
                   "Kind=TestSet): .spec.cliques: element 0: associative list with keys has an "
                   "element that omits all key fields ['name'] (and doesn^t have default values "
                   "for any key fields)");
    world_done(&w);
}

TEST(an_unknown_field_is_refused)
{
    struct world w = world_of(&kind_set);
    CHECK(!apply_as(&w, "m1", S("{'bogus':1}")));
    check_internal(&w, "failed to create typed patch object (/s; probe.example.com/v1alpha1, "
                       "Kind=TestSet): .spec.bogus: field not declared in schema");
    world_done(&w);
}

TEST(two_items_with_one_key_and_a_wrong_type_are_refused)
{
    struct world w = world_of(&kind_deployment);
    CHECK(!apply_as(&w, "m1",
                    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':"
                    "{'template':{'spec':{'containers':[{'name':'c','image':'z'},"
                    "{'name':'c','image':true}]}}}}"));
    check_internal(&w, "failed to create typed patch object (/d1; apps/v1, Kind=Deployment): "
                       "errors:\n  .spec.template.spec.containers: duplicate entries for key "
                       "[name='c']\n  .spec.template.spec.containers[name='c'].image: expected "
                       "string, got &value.valueUnstructured{Value:true}");
    world_done(&w);
}

TEST(a_kind_of_the_core_group_has_an_empty_group_in_the_refusal)
{
    struct world w = world_of(&kind_config_map);
    CHECK(!apply_as(&w, "m1", "{'metadata':{'name':'c','namespace':'n'},'data':{},'x':1}"));
    check_internal(&w, "failed to create typed patch object (n/c; /v1, Kind=ConfigMap): "
                       ".x: field not declared in schema");
    world_done(&w);
}

/* ---- kubectl's move from client-side apply ---- */

TEST(kubectl_takes_over_what_client_side_apply_wrote)
{
    struct world w = world_of(&kind_config_map);
    write_as(&w, "kubectl-client-side-apply", "",
             "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','annotations':{"
             "'kubectl.kubernetes.io/last-applied-configuration':'{`apiVersion`:`v1`,`data`:"
             "{`a`:`1`},`kind`:`ConfigMap`,`metadata`:{`name`:`c`}}'}},'data':{'a':'1'}}");
    const char *config =
        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'},'data':{'a':'2'}}";
    CHECK(!apply_as(&w, "other", config));
    REQUIRE(apply_as(&w, "kubectl", config));
    CHECK_VALUE(&w, "data.a", "'2'");
    CHECK_FIELDS(&w, "kubectl Apply", "{'f:data':{'f:a':{}}}");
    jval notes = jpath(doc_root(w.live), "metadata.annotations");
    CHECK_CSTR(jstr(jget(notes, STR("kubectl.kubernetes.io/last-applied-configuration"))),
               "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"},\"kind\":\"ConfigMap\","
               "\"metadata\":{\"name\":\"c\"}}\n");
    world_done(&w);
}

/* ---- sets ---- */

static struct fieldset set_of(struct world *w, const char *text)
{
    struct fieldset s = FIELDSET_EMPTY;
    if (!fieldset_parse(&w->a, doc_root(json(w, text)), true, &s))
        BUG(text);
    return s;
}

static void check_set(struct world *w, const struct fieldset *s, const char *want)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    fieldset_write(s, &b);
    CHECK_STR(strbuf_str(&b), plain(&w->a, want));
    strbuf_done(&b);
}

TEST(set_operations)
{
    struct world w = world_of(&kind_set);
    struct fieldset x = set_of(&w, "{'f:a':{'.':{},'f:x':{}},'f:b':{},'f:d':{'f:e':{}}}");
    struct fieldset y = set_of(&w, "{'f:a':{},'f:c':{},'f:d':{'f:e':{},'f:f':{}}}");
    struct fieldset all = fieldset_union(&w.a, &x, &y);
    check_set(&w, &all, "{'f:a':{'.':{},'f:x':{}},'f:b':{},'f:c':{},'f:d':{'f:e':{},'f:f':{}}}");
    struct fieldset only = fieldset_difference(&w.a, &x, &y);
    check_set(&w, &only, "{'f:a':{'f:x':{}},'f:b':{}}");
    struct fieldset both = fieldset_intersection(&w.a, &x, &y);
    check_set(&w, &both, "{'f:a':{},'f:d':{'f:e':{}}}");
    CHECK(fieldset_equal(&x, &x) && !fieldset_equal(&x, &y));
    world_done(&w);
}

TEST(a_set_from_elsewhere_comes_into_canonical_form)
{
    struct world w = world_of(&kind_set);
    struct fieldset s = set_of(&w, "{'k:{`b`: 2, `a`: `x`}':{'f:z':{},'f:y':{},'.':{}},'f:q':{}}");
    check_set(&w, &s, "{'f:q':{},'k:{`a`:`x`,`b`:2}':{'.':{},'f:y':{},'f:z':{}}}");
    world_done(&w);
}

TEST(sets_against_text)
{
    struct world w = world_of(&kind_set);
    jval text = doc_root(json(&w, "{'f:a':{'.':{},'f:x':{}},'f:b':{}}"));
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
    world_done(&w);
}
