/* The garbage collector and the namespace controller on the ordinary runtime, over a memory store.
 */
#include "apiserver/test-apiserver-fixture.h"
#include "controllers/controllers.h"
#include "grove/types.h"

struct plane {
    struct fixture f;
    struct runtime *runtime;
    struct api *cache_api, *gc_api, *ns_api;
    struct strbuf journal;
    struct controller *namespaces;
};

static void on_journal(void *ctx, str line)
{
    struct strbuf *b = ctx;
    /* without the time stamp in front */
    (void)str_cut(&line, ' ');
    strbuf_add_str(b, line);
    strbuf_add_char(b, '\n');
}

static void plane_init(struct plane *p, bool with_gc, bool with_namespaces)
{
    *p = (struct plane){0};
    fixture_init(&p->f);
    strbuf_init(&p->journal, 1 << 20);
    p->cache_api = apiserver_local(p->f.server, "grove-cache");
    p->gc_api = apiserver_local(p->f.server, "garbage-collector");
    p->ns_api = apiserver_local(p->f.server, "namespace-controller");
    p->runtime = runtime_new(p->f.loop, p->cache_api);
    if (with_gc)
        gc_add(p->runtime, p->gc_api);
    if (with_namespaces)
        p->namespaces = namespaces_add(p->runtime, p->ns_api, STR("PEM"));
    runtime_set_journal(p->runtime, on_journal, &p->journal);
}

static void plane_start(struct plane *p)
{
    runtime_start(p->runtime);
    fixture_run(&p->f, USEC_PER_SEC);
    CHECK(runtime_is_synced(p->runtime));
}

static void plane_done(struct plane *p)
{
    runtime_free(p->runtime);
    api_free(p->cache_api);
    api_free(p->gc_api);
    api_free(p->ns_api);
    strbuf_done(&p->journal);
    fixture_done(&p->f);
}

static str make(struct plane *p, const char *name, const char *more)
{
    str body = arena_printf(&p->f.arena, "{'metadata':{'name':'%s'%s}}", name, more);
    CHECK_INT(create(&p->f, &kind_config_map, "ns", body.p), 201);
    return arena_str(&p->f.arena, p->f.obj->uid);
}

/* One more owner reference: ,{...} */
static str ref(struct plane *p, const char *name, str uid, bool blocks)
{
    return arena_printf(&p->f.arena,
                        "{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':'%.*s'%s}", name,
                        STR_ARG(uid), blocks ? ",'blockOwnerDeletion':true" : "");
}

static str make_owned(struct plane *p, const char *name, str refs)
{
    str more = arena_printf(&p->f.arena, ",'ownerReferences':[%.*s]", STR_ARG(refs));
    return make(p, name, more.p);
}

static bool exists(struct plane *p, const char *name)
{
    return store_get(p->f.store, &kind_config_map, STR("ns"), str_of(name)) != NULL;
}

static void run(struct plane *p)
{
    fixture_run(&p->f, 5 * USEC_PER_SEC);
    CHECK(runtime_is_idle(p->runtime));
}

static int remove_with(struct plane *p, const char *name, enum api_propagation how)
{
    return send(&p->f, (struct api_request){.verb = API_DELETE,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .name = str_of(name),
                                            .grace_seconds = -1,
                                            .propagation = how});
}

TEST(dependents_go_after_their_owner)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", "");
    str b = make_owned(&p, "b", ref(&p, "a", a, false));
    make_owned(&p, "c", ref(&p, "b", b, false));
    make(&p, "other", "");
    plane_start(&p);
    CHECK(exists(&p, "b") && exists(&p, "c"));
    CHECK_INT(remove_with(&p, "a", API_BACKGROUND), 200);
    run(&p);
    CHECK(!exists(&p, "a") && !exists(&p, "b") && !exists(&p, "c"));
    CHECK(exists(&p, "other"));
    CHECK_STR(strbuf_str(&p.journal), STR("garbage-collector ns/b: delete ConfigMap ns/b "
                                          "(its owner ConfigMap a is gone)\n"
                                          "garbage-collector ns/c: delete ConfigMap ns/c "
                                          "(its owner ConfigMap b is gone)\n"));
    plane_done(&p);
}

TEST(objects_whose_owner_never_was_go_at_start)
{
    struct plane p;
    plane_init(&p, true, false);
    make_owned(&p, "lost", ref(&p, "nobody", STR("11111111-1111-1111-1111-111111111111"), false));
    plane_start(&p);
    run(&p);
    CHECK(!exists(&p, "lost"));
    plane_done(&p);
}

TEST(one_owner_that_is_left_keeps_an_object)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", ""), b = make(&p, "b", "");
    str refs = arena_printf(&p.f.arena, "%.*s,%.*s", STR_ARG(ref(&p, "a", a, false)),
                            STR_ARG(ref(&p, "b", b, false)));
    make_owned(&p, "c", refs);
    plane_start(&p);
    CHECK_INT(remove_with(&p, "a", API_BACKGROUND), 200);
    run(&p);
    REQUIRE(exists(&p, "c"));
    /* the reference that no longer holds it is struck off */
    CHECK_INT(get(&p.f, &kind_config_map, "ns", "c"), 200);
    jval left = jpath(doc_root(p.f.doc), "metadata.ownerReferences");
    CHECK_INT(jlen(left), 1);
    CHECK_STR(jstr(jgetc(jat(left, 0), "uid")), b);
    CHECK_INT(remove_with(&p, "b", API_BACKGROUND), 200);
    run(&p);
    CHECK(!exists(&p, "c"));
    plane_done(&p);
}

TEST(several_owners_gone_at_once_are_verified_one_by_one)
{
    struct plane p;
    plane_init(&p, true, false);
    str u = STR("11111111-1111-1111-1111-111111111111");
    str v = STR("22222222-2222-2222-2222-222222222222");
    str refs = arena_printf(&p.f.arena, "%.*s,%.*s", STR_ARG(ref(&p, "x", u, false)),
                            STR_ARG(ref(&p, "y", v, false)));
    make_owned(&p, "c", refs);
    plane_start(&p);
    run(&p);
    CHECK(!exists(&p, "c"));
    CHECK_STR(strbuf_str(&p.journal), STR("garbage-collector ns/c: patch ConfigMap ns/c "
                                          "(owner ConfigMap x no longer holds it)\n"
                                          "garbage-collector ns/c: delete ConfigMap ns/c "
                                          "(its owner ConfigMap y is gone)\n"));
    plane_done(&p);
}

TEST(an_owner_made_again_under_its_name_is_another)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", "");
    make_owned(&p, "b", ref(&p, "a", a, false));
    CHECK_INT(remove_with(&p, "a", API_BACKGROUND), 200);
    make(&p, "a", "");
    plane_start(&p);
    run(&p);
    CHECK(exists(&p, "a"));
    CHECK(!exists(&p, "b"));
    plane_done(&p);
}

TEST(owners_of_unknown_kinds_are_left_alone)
{
    struct plane p;
    plane_init(&p, true, false);
    make(&p, "c",
         ",'ownerReferences':[{'apiVersion':'example.com/v1','kind':'Thing','name':'t',"
         "'uid':'11111111-1111-1111-1111-111111111111'}]");
    plane_start(&p);
    run(&p);
    CHECK(exists(&p, "c"));
    CHECK_INT(p.journal.len, 0);
    plane_done(&p);
}

TEST(a_cluster_wide_owner_holds_namespaced_objects)
{
    struct plane p;
    plane_init(&p, true, false);
    CHECK_INT(create(&p.f, &kind_node, "", "{'metadata':{'name':'n1'}}"), 201);
    str more = arena_printf(&p.f.arena,
                            ",'ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'n1',"
                            "'uid':'%.*s'}]",
                            STR_ARG(p.f.obj->uid));
    make(&p, "c", more.p);
    plane_start(&p);
    run(&p);
    CHECK(exists(&p, "c"));
    CHECK_INT(delete (&p.f, &kind_node, "", "n1"), 200);
    run(&p);
    CHECK(!exists(&p, "c"));
    plane_done(&p);
}

TEST(a_namespaced_owner_cannot_hold_or_lose_a_cluster_wide_object)
{
    struct plane p;
    plane_init(&p, true, false);
    CHECK_INT(create(&p.f, &kind_node, "",
                     "{'metadata':{'name':'n1','ownerReferences':[{'apiVersion':'v1',"
                     "'kind':'ConfigMap','name':'x',"
                     "'uid':'11111111-1111-1111-1111-111111111111'}]}}"),
              201);
    plane_start(&p);
    run(&p);
    CHECK_INT(get(&p.f, &kind_node, "", "n1"), 200);
    plane_done(&p);
}

TEST(foreground_deletion_waits_for_those_that_block_it)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", "");
    str held = arena_printf(&p.f.arena, ",'finalizers':['a.b/c'],'ownerReferences':[%.*s]",
                            STR_ARG(ref(&p, "a", a, true)));
    make(&p, "blocker", held.p);
    make_owned(&p, "follower", ref(&p, "a", a, false));
    plane_start(&p);
    CHECK_INT(remove_with(&p, "a", API_FOREGROUND), 200);
    CHECK_STR(field(&p.f, "metadata.finalizers"), STR("[\"foregroundDeletion\"]"));
    run(&p);
    CHECK(exists(&p, "a"));
    CHECK(!exists(&p, "follower"));
    CHECK_INT(get(&p.f, &kind_config_map, "ns", "blocker"), 200);
    CHECK(p.f.obj->deleting);
    CHECK_INT(patch(&p.f, &kind_config_map, "ns", "blocker", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':null}}"),
              200);
    run(&p);
    CHECK(!exists(&p, "blocker"));
    CHECK(!exists(&p, "a"));
    plane_done(&p);
}

TEST(foreground_deletion_goes_down_the_tree)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", "");
    str b = make_owned(&p, "b", ref(&p, "a", a, true));
    make_owned(&p, "c", ref(&p, "b", b, true));
    plane_start(&p);
    CHECK_INT(remove_with(&p, "a", API_FOREGROUND), 200);
    run(&p);
    CHECK(!exists(&p, "a") && !exists(&p, "b") && !exists(&p, "c"));
    CHECK_STR(strbuf_str(&p.journal), STR("garbage-collector ns/b: delete ConfigMap ns/b "
                                          "(its owner ConfigMap a is being deleted in the "
                                          "foreground)\n"
                                          "garbage-collector ns/c: delete ConfigMap ns/c "
                                          "(its owner ConfigMap b is being deleted in the "
                                          "foreground)\n"
                                          "garbage-collector ns/b: patch ConfigMap ns/b "
                                          "(finalizer foregroundDeletion is served)\n"
                                          "garbage-collector ns/a: patch ConfigMap ns/a "
                                          "(finalizer foregroundDeletion is served)\n"));
    plane_done(&p);
}

TEST(orphaned_dependents_stay_without_their_reference)
{
    struct plane p;
    plane_init(&p, true, false);
    str a = make(&p, "a", "");
    make_owned(&p, "b", ref(&p, "a", a, true));
    plane_start(&p);
    CHECK_INT(remove_with(&p, "a", API_ORPHAN), 200);
    CHECK_STR(field(&p.f, "metadata.finalizers"), STR("[\"orphan\"]"));
    run(&p);
    CHECK(!exists(&p, "a"));
    CHECK_INT(get(&p.f, &kind_config_map, "ns", "b"), 200);
    CHECK_INT(jlen(jpath(doc_root(p.f.doc), "metadata.ownerReferences")), 0);
    CHECK(!p.f.obj->deleting);
    plane_done(&p);
}

TEST(grove_trees_are_collected)
{
    struct plane p;
    plane_init(&p, true, false);
    CHECK_INT(create(&p.f, &kind_pcs, "ns",
                     "{'metadata':{'name':'s'},'spec':{'replicas':1,'template':{'cliques':[{"
                     "'name':'a','spec':{'roleName':'a','replicas':1,'podSpec':{'containers':[{"
                     "'name':'c','image':'x'}]}}}]}}}"),
              201);
    str body = arena_printf(&p.f.arena,
                            "{'metadata':{'name':'s-0-a','ownerReferences':[{"
                            "'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','name':'s',"
                            "'uid':'%.*s','controller':true,'blockOwnerDeletion':true}]},'spec':{"
                            "'roleName':'a','replicas':1,'podSpec':{'containers':[{'name':'c',"
                            "'image':'x'}]}}}",
                            STR_ARG(p.f.obj->uid));
    CHECK_INT(create(&p.f, &kind_pclq, "ns", body.p), 201);
    body = arena_printf(&p.f.arena,
                        "{'metadata':{'name':'s-0-a-x','ownerReferences':[{"
                        "'apiVersion':'grove.io/v1alpha1','kind':'PodClique','name':'s-0-a',"
                        "'uid':'%.*s','controller':true,'blockOwnerDeletion':true}]},'spec':{"
                        "'containers':[{'name':'c','image':'x'}]}}",
                        STR_ARG(p.f.obj->uid));
    CHECK_INT(create(&p.f, &kind_pod, "ns", body.p), 201);
    plane_start(&p);
    run(&p);
    CHECK_INT(store_count(p.f.store, &kind_pod), 1);
    CHECK_INT(delete (&p.f, &kind_pcs, "ns", "s"), 200);
    run(&p);
    CHECK_INT(store_count(p.f.store, &kind_pclq), 0);
    CHECK_INT(store_count(p.f.store, &kind_pod), 0);
    plane_done(&p);
}

/* ---- namespaces ---- */

TEST(live_namespaces_have_a_service_account_and_the_root_ca)
{
    struct plane p;
    plane_init(&p, false, true);
    plane_start(&p);
    run(&p);
    static const char *const all[] = {"default", "kube-system", "kube-public", "ns"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        CHECK_INT(get(&p.f, &kind_service_account, all[i], "default"), 200);
        CHECK_INT(get(&p.f, &kind_config_map, all[i], "kube-root-ca.crt"), 200);
        CHECK_STR(jstr(jget(jgetc(doc_root(p.f.doc), "data"), STR("ca.crt"))), STR("PEM"));
    }
    /* they come back, and the CA is kept right */
    CHECK_INT(delete (&p.f, &kind_service_account, "ns", "default"), 200);
    CHECK_INT(patch(&p.f, &kind_config_map, "ns", "kube-root-ca.crt", API_PATCH_MERGE,
                    "{'data':{'ca.crt':'wrong'}}"),
              200);
    run(&p);
    CHECK_INT(get(&p.f, &kind_service_account, "ns", "default"), 200);
    CHECK_INT(get(&p.f, &kind_config_map, "ns", "kube-root-ca.crt"), 200);
    CHECK_STR(jstr(jget(jgetc(doc_root(p.f.doc), "data"), STR("ca.crt"))), STR("PEM"));
    plane_done(&p);
}

TEST(another_root_ca_reaches_every_namespace)
{
    struct plane p;
    plane_init(&p, false, true);
    plane_start(&p);
    run(&p);
    namespaces_set_ca(p.namespaces, STR("another PEM"));
    run(&p);
    static const char *const all[] = {"default", "kube-system", "kube-public", "ns"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        CHECK_INT(get(&p.f, &kind_config_map, all[i], "kube-root-ca.crt"), 200);
        CHECK_STR(jstr(jget(jgetc(doc_root(p.f.doc), "data"), STR("ca.crt"))), STR("another PEM"));
    }
    plane_done(&p);
}

TEST(a_deleted_namespace_takes_everything_with_it)
{
    struct plane p;
    plane_init(&p, true, true);
    make(&p, "a", "");
    make(&p, "held", ",'finalizers':['a.b/c']");
    CHECK_INT(create(&p.f, &kind_pod, "ns", POD("p", "")), 201);
    CHECK_INT(create(&p.f, &kind_event, "ns",
                     "{'metadata':{'name':'e'},'involvedObject':{'namespace':'ns'}}"),
              201);
    CHECK_INT(create(&p.f, &kind_lease, "ns", "{'metadata':{'name':'l'}}"), 201);
    CHECK_INT(create(&p.f, &kind_config_map, "default", CONFIG_MAP("stays", "")), 201);
    plane_start(&p);
    run(&p);
    CHECK_INT(delete (&p.f, &kind_namespace, "", "ns"), 200);
    run(&p);
    /* one object is held, so the namespace is */
    CHECK_INT(get(&p.f, &kind_namespace, "", "ns"), 200);
    CHECK(!exists(&p, "a"));
    CHECK_INT(get(&p.f, &kind_pod, "ns", "p"), 404);
    CHECK_INT(get(&p.f, &kind_event, "ns", "e"), 404);
    CHECK_INT(get(&p.f, &kind_lease, "ns", "l"), 404);
    CHECK_INT(get(&p.f, &kind_service_account, "ns", "default"), 404);
    CHECK_INT(patch(&p.f, &kind_config_map, "ns", "held", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':null}}"),
              200);
    run(&p);
    CHECK_INT(get(&p.f, &kind_namespace, "", "ns"), 404);
    CHECK_INT(get(&p.f, &kind_config_map, "default", "stays"), 200);
    /* the name is free again */
    CHECK_INT(create(&p.f, &kind_namespace, "", "{'metadata':{'name':'ns'}}"), 201);
    run(&p);
    CHECK_INT(get(&p.f, &kind_service_account, "ns", "default"), 200);
    plane_done(&p);
}

TEST(a_namespace_is_not_finalized_on_the_word_of_a_cache)
{
    struct plane p;
    plane_init(&p, false, true);
    make(&p, "a", "");
    CHECK_INT(delete (&p.f, &kind_namespace, "", "ns"), 200);
    struct api_request r = {.verb = API_UPDATE,
                            .kind = &kind_namespace,
                            .name = STR("ns"),
                            .subresource = STR("finalize"),
                            .body = fixture_doc(&p.f, "{'metadata':{'name':'ns'},'spec':{}}")};
    struct api_request probe = {.verb = API_GET, .kind = &kind_namespace, .name = STR("ns")};
    send_only(&p.f, &probe);
    wait_answer(&p.f);
    r.done = probe.done;
    r.ctx = probe.ctx;
    p.f.answered = false;
    api_send(p.ns_api, &r);
    wait_answer(&p.f);
    CHECK_INT(p.f.code, 409);
    /* over the wire it is the caller's own decision */
    CHECK_INT(send(&p.f, r), 200);
    CHECK_INT(get(&p.f, &kind_namespace, "", "ns"), 404);
    CHECK(exists(&p, "a"));
    plane_done(&p);
}

/* ---- kinds defined while the controllers run ---- */

#define THINGS                                                                              \
    "{'metadata':{'name':'things.example.org'},'spec':{'group':'example.org','scope':"      \
    "'Namespaced','names':{'plural':'things','kind':'Thing'},'versions':[{'name':'v1',"     \
    "'served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}},{'name':" \
    "'v2','served':true,'storage':false,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}"

static const struct kind *thing_kind(const char *version)
{
    return kind_by_plural(STR("example.org"), str_of(version), STR("things"));
}

static void define_things(struct plane *p)
{
    CHECK_INT(create(&p->f, &kind_crd, "", THINGS), 201);
    run(p);
    REQUIRE(thing_kind("v1") && thing_kind("v2"));
}

/* more: of its metadata */
static str make_thing(struct plane *p, const char *name, str refs)
{
    str body = arena_printf(&p->f.arena,
                            "{'apiVersion':'example.org/v1','kind':'Thing','metadata':{'name':'%s'"
                            ",'ownerReferences':[%.*s]}}",
                            name, STR_ARG(refs));
    CHECK_INT(create(&p->f, thing_kind("v1"), "ns", body.p), 201);
    return arena_str(&p->f.arena, p->f.obj->uid);
}

static str thing_ref(struct plane *p, const char *version, const char *name, str uid)
{
    return arena_printf(&p->f.arena,
                        "{'apiVersion':'example.org/%s','kind':'Thing','name':'%s','uid':'%.*s',"
                        "'blockOwnerDeletion':true}",
                        version, name, STR_ARG(uid));
}

static size_t count_things(struct plane *p)
{
    return store_count(p->f.store, thing_kind("v1"));
}

static int remove_thing(struct plane *p, const char *name, enum api_propagation how)
{
    return send(&p->f, (struct api_request){.verb = API_DELETE,
                                            .kind = thing_kind("v1"),
                                            .ns = STR("ns"),
                                            .name = str_of(name),
                                            .grace_seconds = -1,
                                            .propagation = how});
}

TEST(objects_of_a_kind_defined_later_go_after_their_owner)
{
    struct plane p;
    plane_init(&p, true, false);
    plane_start(&p);
    define_things(&p);
    str a = make(&p, "a", "");
    str t = make_thing(&p, "t", ref(&p, "a", a, false));
    make_thing(&p, "u", thing_ref(&p, "v1", "t", t));
    make_thing(&p, "lost", ref(&p, "nobody", STR("11111111-1111-1111-1111-111111111111"), false));
    make_thing(&p, "free", STR(""));
    run(&p);
    CHECK_INT(count_things(&p), 3);
    CHECK_INT(remove_with(&p, "a", API_BACKGROUND), 200);
    run(&p);
    CHECK_INT(count_things(&p), 1);
    plane_done(&p);
}

TEST(owners_of_a_kind_defined_later_take_their_dependents_along)
{
    struct plane p;
    plane_init(&p, true, false);
    plane_start(&p);
    define_things(&p);
    str t = make_thing(&p, "t", STR(""));
    /* whichever version they name */
    make_owned(&p, "one", thing_ref(&p, "v1", "t", t));
    make_owned(&p, "two", thing_ref(&p, "v2", "t", t));
    run(&p);
    CHECK(exists(&p, "one") && exists(&p, "two"));
    CHECK_INT(remove_thing(&p, "t", API_BACKGROUND), 200);
    run(&p);
    CHECK(!exists(&p, "one") && !exists(&p, "two"));
    plane_done(&p);
}

TEST(kinds_defined_later_are_deleted_in_the_foreground_and_orphaned)
{
    struct plane p;
    plane_init(&p, true, false);
    plane_start(&p);
    define_things(&p);
    str t = make_thing(&p, "t", STR(""));
    str held = arena_printf(&p.f.arena, ",'finalizers':['a.b/c'],'ownerReferences':[%.*s]",
                            STR_ARG(thing_ref(&p, "v2", "t", t)));
    make(&p, "held", held.p);
    CHECK_INT(remove_thing(&p, "t", API_FOREGROUND), 200);
    run(&p);
    CHECK_INT(count_things(&p), 1);
    CHECK_INT(patch(&p.f, &kind_config_map, "ns", "held", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':null}}"),
              200);
    run(&p);
    CHECK_INT(count_things(&p), 0);
    CHECK(!exists(&p, "held"));

    t = make_thing(&p, "t", STR(""));
    make_owned(&p, "left", thing_ref(&p, "v1", "t", t));
    CHECK_INT(remove_thing(&p, "t", API_ORPHAN), 200);
    run(&p);
    CHECK_INT(count_things(&p), 0);
    REQUIRE(exists(&p, "left"));
    CHECK_INT(get(&p.f, &kind_config_map, "ns", "left"), 200);
    CHECK_INT(jlen(jpath(doc_root(p.f.doc), "metadata.ownerReferences")), 0);
    plane_done(&p);
}

TEST(a_kind_that_is_defined_again_is_collected_again)
{
    struct plane p;
    plane_init(&p, true, true);
    plane_start(&p);
    define_things(&p);
    make_thing(&p, "t", STR(""));
    CHECK_INT(delete (&p.f, &kind_crd, "", "things.example.org"), 200);
    run(&p);
    CHECK_INT(get(&p.f, &kind_crd, "", "things.example.org"), 404);
    /* what is not served is not asked for */
    uint64_t before = loop_iterations(p.f.loop);
    fixture_run(&p.f, 59 * USEC_PER_SEC);
    CHECK(loop_iterations(p.f.loop) - before <= 3);
    define_things(&p);
    str t = make_thing(&p, "t", STR(""));
    make_owned(&p, "mine", thing_ref(&p, "v1", "t", t));
    CHECK_INT(remove_thing(&p, "t", API_BACKGROUND), 200);
    run(&p);
    CHECK(!exists(&p, "mine"));
    plane_done(&p);
}

TEST(a_namespace_waits_for_objects_of_kinds_defined_later)
{
    struct plane p;
    plane_init(&p, true, true);
    plane_start(&p);
    define_things(&p);
    make_thing(&p, "t", STR(""));
    CHECK_INT(create(&p.f, thing_kind("v1"), "ns",
                     "{'apiVersion':'example.org/v1','kind':'Thing','metadata':{'name':'held',"
                     "'finalizers':['a.b/c']}}"),
              201);
    CHECK_INT(delete (&p.f, &kind_namespace, "", "ns"), 200);
    run(&p);
    CHECK_INT(count_things(&p), 1);
    CHECK_INT(get(&p.f, &kind_namespace, "", "ns"), 200);
    CHECK_INT(patch(&p.f, thing_kind("v1"), "ns", "held", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':null}}"),
              200);
    fixture_run(&p.f, 100 * USEC_PER_MSEC);
    CHECK_INT(get(&p.f, &kind_namespace, "", "ns"), 404);
    plane_done(&p);
}

TEST(nothing_wakes_up_when_there_is_nothing_to_do)
{
    struct plane p;
    plane_init(&p, true, true);
    plane_start(&p);
    run(&p);
    uint64_t before = loop_iterations(p.f.loop);
    fixture_run(&p.f, 59 * USEC_PER_SEC);
    /* the shared bookmark timer, once */
    CHECK(loop_iterations(p.f.loop) - before <= 3);
    plane_done(&p);
}
