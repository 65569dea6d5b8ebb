/* Deleting: at once, with grace, held by finalizers; namespaces and collections. */
#include "apiserver/test-apiserver-fixture.h"

static const char DEPLOYMENT[] =
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1'},'spec':{'replicas':9,"
    "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"
    "'spec':{'containers':[{'name':'c','image':'a:1'}]}}}}";

TEST(delete_at_once_answers_with_a_status)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    str uid = arena_str(&f.arena, f.obj->uid);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c1"), 200);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_STR(field(&f, "details.name"), STR("c1"));
    CHECK_STR(field(&f, "details.kind"), STR("configmaps"));
    CHECK_STR(field(&f, "details.uid"), uid);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c1"), 404);
    CHECK_STR(f.message, STR("configmaps \"c1\" not found"));
    /* some kinds show what they removed */
    CHECK_INT(create(&f, &kind_service_account, "ns", "{'metadata':{'name':'sa'}}"), 201);
    CHECK_INT(delete (&f, &kind_service_account, "ns", "sa"), 200);
    CHECK_STR(field(&f, "kind"), STR("ServiceAccount"));
    fixture_done(&f);
}

TEST(delete_checks_its_preconditions)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("c1", "")), 201);
    str uid = arena_str(&f.arena, f.obj->uid);
    uint64_t rv = f.obj->rv;
    struct api_request r = {.verb = API_DELETE,
                            .kind = &kind_config_map,
                            .ns = STR("ns"),
                            .name = STR("c1"),
                            .uid = STR("no-such-uid"),
                            .grace_seconds = -1};
    CHECK_INT(send(&f, r), 409);
    CHECK_STR(f.message,
              text_of(&f,
                      "Operation cannot be fulfilled on ConfigMap \"c1\": the UID in the "
                      "precondition (no-such-uid) does not match the UID in record (%.*s). The "
                      "object might have been deleted and then recreated",
                      STR_ARG(uid)));
    CHECK_STR(field(&f, "details.kind"), STR("ConfigMap"));
    r.uid = uid;
    r.rv = 1;
    CHECK_INT(send(&f, r), 409);
    CHECK_STR(f.message,
              text_of(&f,
                      "Operation cannot be fulfilled on ConfigMap \"c1\": the ResourceVersion in "
                      "the precondition (1) does not match the ResourceVersion in record (%llu). "
                      "The object might have been modified",
                      (unsigned long long)rv));
    r.rv = rv;
    CHECK_INT(send(&f, r), 200);
    fixture_done(&f);
}

TEST(finalizers_hold_an_object_until_the_last_is_gone)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_config_map;
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("f1", ",'finalizers':['example.com/hold']")), 201);
    CHECK_INT(delete (&f, k, "ns", "f1"), 200);
    CHECK_STR(field(&f, "kind"), STR("ConfigMap"));
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:01Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    uint64_t rv = f.obj->rv;
    CHECK_INT(create(&f, k, "ns", CONFIG_MAP("f1", "")), 409);
    CHECK_STR(f.message, STR("object is being deleted: configmaps \"f1\" already exists"));
    CHECK_INT(delete (&f, k, "ns", "f1"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE,
                    "{'metadata':{'finalizers':['example.com/hold','example.com/new']}}"),
              422);
    CHECK_STR(f.message,
              STR("ConfigMap \"f1\" is invalid: metadata.finalizers: Forbidden: no new finalizers "
                  "can be added if the object is being deleted, found new finalizers "
                  "[]string{\"example.com/new\"}"));
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE, "{'data':{'x':'y'}}"), 200);
    rv = f.obj->rv;
    CHECK_INT(patch(&f, k, "ns", "f1", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.finalizers")));
    CHECK_INT(get(&f, k, "ns", "f1"), 404);
    CHECK_INT(store_revision(f.store), rv + 1);
    fixture_done(&f);
}

static int delete_with(struct fixture *f, const struct kind *k, const char *name,
                       enum api_propagation p, int64_t grace)
{
    return send(f, (struct api_request){.verb = API_DELETE,
                                        .kind = k,
                                        .ns = STR("ns"),
                                        .name = str_of(name),
                                        .grace_seconds = grace,
                                        .propagation = p});
}

TEST(propagation_policies_become_finalizers)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_deployment;
    CHECK_INT(create(&f, k, "ns", DEPLOYMENT), 201);
    CHECK_INT(delete_with(&f, k, "d1", API_FOREGROUND, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"foregroundDeletion\"]"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    /* no policy: it stays; another one: it is replaced */
    CHECK_INT(delete_with(&f, k, "d1", API_PROPAGATION_DEFAULT, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"foregroundDeletion\"]"));
    CHECK_INT(delete_with(&f, k, "d1", API_ORPHAN, -1), 200);
    CHECK_STR(field(&f, "metadata.finalizers"), STR("[\"orphan\"]"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(delete_with(&f, k, "d1", API_BACKGROUND, -1), 200);
    CHECK_STR(field(&f, "status"), STR("Success"));
    CHECK_INT(get(&f, k, "ns", "d1"), 404);
    fixture_done(&f);
}

TEST(unscheduled_and_finished_pods_go_at_once)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p2", "")), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p2"), 200);
    CHECK_STR(field(&f, "kind"), STR("Pod"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(get(&f, &kind_pod, "ns", "p2"), 404);

    CHECK_INT(create(&f, &kind_pod, "ns", POD("p3", "")), 201);
    CHECK_INT(bind_pod(&f, "p3", "n1"), 201);
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "p3", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Succeeded'}}"),
              200);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p3"), 200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p3"), 404);
    fixture_done(&f);
}

TEST(running_pods_get_their_grace_period)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(bind_pod(&f, "p1", "n1"), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p1"), 200);
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:31Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("30"));
    CHECK_INT(f.obj->generation, 2);
    uint64_t rv = f.obj->rv;
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 60), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 10), 200);
    CHECK_STR(field(&f, "metadata.deletionTimestamp"), STR("2026-11-15T00:00:11Z"));
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("10"));
    CHECK_INT(f.obj->generation, 2);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 0), 200);
    CHECK_STR(field(&f, "metadata.deletionGracePeriodSeconds"), STR("0"));
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 404);
    fixture_done(&f);
}

TEST(a_pod_with_grace_outlives_its_finalizers)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p1", "")), 201);
    CHECK_INT(
        patch(&f, &kind_pod, "ns", "p1", API_PATCH_MERGE, "{'metadata':{'finalizers':['a.b/c']}}"),
        200);
    CHECK_INT(bind_pod(&f, "p1", "n1"), 201);
    CHECK_INT(delete (&f, &kind_pod, "ns", "p1"), 200);
    /* the finalizer goes first: the node agent still has to end the pod */
    CHECK_INT(patch(&f, &kind_pod, "ns", "p1", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"),
              200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 200);
    CHECK_INT(delete_with(&f, &kind_pod, "p1", API_BACKGROUND, 0), 200);
    CHECK_INT(get(&f, &kind_pod, "ns", "p1"), 404);
    fixture_done(&f);
}

TEST(namespaces_terminate_and_are_finalized)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = &kind_namespace;
    CHECK_INT(create(&f, k, "", "{'metadata':{'name':'nsl'}}"), 201);
    CHECK_INT(create(&f, &kind_config_map, "nsl", CONFIG_MAP("x", "")), 201);
    CHECK_INT(delete (&f, k, "", "nsl"), 200);
    CHECK_STR(field(&f, "kind"), STR("Namespace"));
    CHECK_STR(field(&f, "status.phase"), STR("Terminating"));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "metadata.deletionGracePeriodSeconds")));
    uint64_t rv = f.obj->rv;
    CHECK_INT(delete (&f, k, "", "nsl"), 200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(create(&f, &kind_config_map, "nsl", CONFIG_MAP("y", "")), 403);
    CHECK_STR(f.message, STR("configmaps \"y\" is forbidden: unable to create new content in "
                             "namespace nsl because it is being terminated"));
    jval cause = jat(jpath(doc_root(f.doc), "details.causes"), 0);
    CHECK_STR(jstr(jgetc(cause, "reason")), STR("NamespaceTerminating"));
    CHECK_STR(jstr(jgetc(cause, "message")), STR("namespace nsl is being terminated"));
    CHECK_STR(jstr(jgetc(cause, "field")), STR("metadata.namespace"));
    /* its finalizers change through /finalize only */
    CHECK_INT(patch(&f, k, "", "nsl", API_PATCH_MERGE, "{'spec':{'finalizers':null}}"), 200);
    CHECK_STR(field(&f, "spec.finalizers"), STR("[\"kubernetes\"]"));
    CHECK_INT(send(&f, (struct api_request){.verb = API_UPDATE,
                                            .kind = k,
                                            .name = STR("nsl"),
                                            .subresource = STR("finalize"),
                                            .body = fixture_doc(&f, "{'metadata':{'name':'nsl'},"
                                                                    "'spec':{'finalizers':[]}}")}),
              200);
    CHECK_INT(f.obj->rv, rv);
    CHECK_INT(get(&f, k, "", "nsl"), 404);
    fixture_done(&f);
}

TEST(some_namespaces_are_immortal)
{
    struct fixture f;
    fixture_init(&f);
    static const char *const protected[] = {"default", "kube-system", "kube-public"};
    for (size_t i = 0; i < ARRAY_LEN(protected); i++) {
        CHECK_INT(delete (&f, &kind_namespace, "", protected[i]), 403);
        CHECK_STR(f.message,
                  text_of(&f, "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                          protected[i]));
    }
    fixture_done(&f);
}

TEST(delete_collection_deletes_what_is_selected)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 450; i++) {
        str body = text_of(&f, "{'metadata':{'name':'dc%03d','labels':{'g':'%s'}}}", i,
                           i % 3 ? "dc" : "keep");
        CHECK_INT(create(&f, &kind_config_map, "ns", body.p), 201);
    }
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .label_selector = STR("g=dc"),
                                            .grace_seconds = -1,
                                            .propagation = API_PROPAGATION_DEFAULT}),
              200);
    CHECK_INT(f.n_items, 300);
    CHECK_STR(f.items[0]->name, STR("dc001"));
    CHECK_INT(list(&f, &kind_config_map, "ns", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 150);
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .label_selector = STR("g==="),
                                            .grace_seconds = -1}),
              400);
    CHECK_INT(send(&f, (struct api_request){.verb = API_DELETE_COLLECTION,
                                            .kind = &kind_secret,
                                            .ns = STR("ns"),
                                            .grace_seconds = -1}),
              200);
    CHECK_INT(f.n_items, 0);
    fixture_done(&f);
}
