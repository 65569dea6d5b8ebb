/* EndpointSlices and Endpoints, on the ordinary runtime over a memory store. */
#include "apiserver/test-apiserver-fixture.h"
#include "controllers/controllers.h"
#include "grove/types.h"

struct plane {
    struct fixture f;
    struct runtime *runtime;
    struct api *cache_api, *api;
    struct services_options options;
    struct controller *controller;
};

static void plane_init(struct plane *p)
{
    *p = (struct plane){.options = {.ip = STR("10.0.0.7"), .port = 6443}};
    fixture_init(&p->f);
    p->cache_api = apiserver_local(p->f.server, "grove-cache");
    p->api = apiserver_local(p->f.server, "endpoint-controller");
    p->runtime = runtime_new(p->f.loop, p->cache_api);
    p->controller = services_add(p->runtime, p->api, &p->options);
    runtime_start(p->runtime);
    fixture_run(&p->f, USEC_PER_SEC);
    CHECK_INT(create(&p->f, &kind_node, "",
                     "{'metadata':{'name':'n','labels':{'topology.kubernetes.io/zone':'z1'}}}"),
              201);
}

static void plane_done(struct plane *p)
{
    runtime_free(p->runtime);
    api_free(p->cache_api);
    api_free(p->api);
    fixture_done(&p->f);
}

static void run(struct plane *p)
{
    fixture_run(&p->f, 2 * USEC_PER_SEC);
    CHECK(runtime_is_idle(p->runtime));
}

static void add_service(struct plane *p, const char *name, const char *spec)
{
    CHECK_INT(create(&p->f, &kind_service, "ns",
                     text_of(&p->f, "{'metadata':{'name':'%s','labels':{'team':'a'}},'spec':{%s}}",
                             name, spec)
                         .p),
              201);
}

static void set_status(struct plane *p, const char *name, const char *ip, bool ready)
{
    CHECK_INT(patch_sub(&p->f, &kind_pod, "ns", name, "status", API_PATCH_MERGE,
                        text_of(&p->f,
                                "{'status':{'phase':'Running','podIP':'%s','podIPs':[{'ip':'%s'}],"
                                "'conditions':[{'type':'Ready','status':'%s'}]}}",
                                ip, ip, ready ? "True" : "False")
                            .p),
              200);
}

static void add_pod(struct plane *p, const char *name, const char *ip, bool ready, const char *more)
{
    CHECK_INT(create(&p->f, &kind_pod, "ns",
                     text_of(&p->f,
                             "{'metadata':{'name':'%s','labels':{'app':'x'}},'spec':{'nodeName':"
                             "'n','containers':[{'name':'c','image':'x:1','ports':[{'name':'web',"
                             "'containerPort':8080}]}]%s}}",
                             name, more)
                         .p),
              201);
    set_status(p, name, ip, ready);
}

/* The only slice of a Service that has endpoints or is alone; NULL: there are several, or none. */
static const struct obj *slice_of(struct plane *p, const char *service, size_t *ret_n)
{
    const struct obj *found = NULL;
    struct store_iter it =
        store_range(p->f.store, &kind_endpoint_slice, STR_NONE, STR_NONE, STR_NONE);
    *ret_n = 0;
    for (const struct obj *o; (o = store_next(&it));) {
        if (!str_is(obj_label(o, STR("kubernetes.io/service-name")), service))
            continue;
        found = o;
        (*ret_n)++;
    }
    return found;
}

/* "a:10.0.0.1 ready serving; b: ..." of all slices, in their order. */
static str endpoints_text(struct plane *p, const char *service)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    struct store_iter it =
        store_range(p->f.store, &kind_endpoint_slice, STR_NONE, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        if (!str_is(obj_label(o, STR("kubernetes.io/service-name")), service))
            continue;
        for (struct jiter e = jiter(jgetc(obj_root(o), "endpoints")); jnext(&e);) {
            jval c = jgetc(e.value, "conditions");
            strbuf_printf(&b, "%s%.*s:%.*s%s%s%s", b.len ? "; " : "",
                          STR_ARG(jstr(jpath(e.value, "targetRef.name"))),
                          STR_ARG(jstr(jat(jgetc(e.value, "addresses"), 0))),
                          j_is_true(jgetc(c, "ready")) ? " ready" : "",
                          j_is_true(jgetc(c, "serving")) ? " serving" : "",
                          j_is_true(jgetc(c, "terminating")) ? " terminating" : "");
        }
    }
    str text = arena_str(&p->f.arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static str subsets(struct plane *p, const char *service)
{
    const struct obj *o = store_get(p->f.store, &kind_endpoints, STR("ns"), str_of(service));
    return o ? jtext(jgetc(obj_root(o), "subsets")) : STR("none");
}

#define SELECTS "'selector':{'app':'x'},'ports':[{'name':'http','port':80,'targetPort':'web'}]"

TEST(ready_pods_are_endpoints_of_their_service)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    run(&p);
    const struct obj *slice = slice_of(&p, "s", &n);
    CHECK_INT(n, 1);
    CHECK_INT(jlen(jgetc(obj_root(slice), "endpoints")), 0);
    add_pod(&p, "a", "10.1.0.1", true, "");
    add_pod(&p, "b", "10.1.0.2", false, "");
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "a:10.1.0.1 ready serving; b:10.1.0.2");
    slice = slice_of(&p, "s", &n);
    CHECK_INT(n, 1);
    CHECK_CSTR(jtext(jgetc(obj_root(slice), "ports")),
               "[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]");
    CHECK_CSTR(obj_label(slice, STR("endpointslice.kubernetes.io/managed-by")),
               "endpointslice-controller.k8s.io");
    CHECK_CSTR(obj_label(slice, STR("team")), "a");
    CHECK_CSTR(jstr(jgetc(obj_root(slice), "addressType")), "IPv4");
    jval e = jat(jgetc(obj_root(slice), "endpoints"), 0);
    CHECK_CSTR(jstr(jgetc(e, "zone")), "z1");
    CHECK_CSTR(jstr(jgetc(e, "nodeName")), "n");
    CHECK_CSTR(jstr(jgetc(obj_controller_ref(slice), "kind")), "Service");
    CHECK(str_find(subsets(&p, "s"), STR("\"addresses\":[{\"ip\":\"10.1.0.1\"")) >= 0);
    CHECK(str_find(subsets(&p, "s"), STR("\"notReadyAddresses\":[{\"ip\":\"10.1.0.2\"")) >= 0);
    /* One becomes ready, the other goes. */
    set_status(&p, "b", "10.1.0.2", true);
    CHECK_INT(delete (&p.f, &kind_pod, "ns", "a"), 200);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "a:10.1.0.1 serving terminating; b:10.1.0.2 ready serving");
    CHECK(str_find(subsets(&p, "s"), STR("10.1.0.1")) < 0);
    plane_done(&p);
}

TEST(finished_pods_and_pods_of_lost_nodes_are_none)
{
    struct plane p;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    add_pod(&p, "a", "10.1.0.1", true, "");
    add_pod(&p, "b", "10.1.0.2", true, "");
    CHECK_INT(patch_sub(&p.f, &kind_pod, "ns", "a", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Succeeded'}}"),
              200);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "b:10.1.0.2 ready serving");
    /* As the node controllers write it. */
    set_status(&p, "b", "10.1.0.2", false);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "b:10.1.0.2");
    plane_done(&p);
}

TEST(a_headless_service_that_publishes_all_names_its_pods)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "h",
                "'clusterIP':'None','publishNotReadyAddresses':true,'selector':{'app':'x'}");
    add_pod(&p, "a", "10.1.0.1", false, ",'hostname':'a-0','subdomain':'h'");
    add_pod(&p, "b", "10.1.0.2", true, ",'hostname':'b-0','subdomain':'other'");
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "h"), "a:10.1.0.1 ready; b:10.1.0.2 ready serving");
    const struct obj *slice = slice_of(&p, "h", &n);
    CHECK_INT(n, 1);
    jval list = jgetc(obj_root(slice), "endpoints");
    CHECK_CSTR(jstr(jgetc(jat(list, 0), "hostname")), "a-0");
    CHECK(j_is_absent(jgetc(jat(list, 1), "hostname")));
    CHECK(j_has(jget(slice->labels, STR("service.kubernetes.io/headless"))));
    CHECK(str_find(subsets(&p, "h"), STR("notReady")) < 0);
    plane_done(&p);
}

TEST(named_ports_may_differ_from_pod_to_pod)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    add_pod(&p, "a", "10.1.0.1", true, "");
    CHECK_INT(create(&p.f, &kind_pod, "ns",
                     "{'metadata':{'name':'b','labels':{'app':'x'}},'spec':{'nodeName':'n',"
                     "'containers':[{'name':'c','image':'x:1','ports':[{'name':'web',"
                     "'containerPort':9090}]}]}}"),
              201);
    set_status(&p, "b", "10.1.0.2", true);
    run(&p);
    (void)slice_of(&p, "s", &n);
    CHECK_INT(n, 2);
    CHECK(str_find(subsets(&p, "s"), STR("8080")) >= 0);
    CHECK(str_find(subsets(&p, "s"), STR("9090")) >= 0);
    /* By number they do not. */
    CHECK_INT(patch(&p.f, &kind_service, "ns", "s", API_PATCH_MERGE,
                    "{'spec':{'ports':[{'name':'http','port':80,'targetPort':7070}]}}"),
              200);
    run(&p);
    (void)slice_of(&p, "s", &n);
    CHECK_INT(n, 1);
    plane_done(&p);
}

TEST(a_slice_has_a_hundred_endpoints_and_pods_keep_theirs)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    for (int i = 0; i < 250; i++)
        add_pod(&p, text_of(&p.f, "p%03d", i).p, text_of(&p.f, "10.1.1.%d", i).p, true, "");
    run(&p);
    (void)slice_of(&p, "s", &n);
    CHECK_INT(n, 3);
    size_t sum = 0;
    uint64_t rv[3] = {0}, changed = 0;
    struct store_iter it =
        store_range(p.f.store, &kind_endpoint_slice, STR("ns"), STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it)); changed++) {
        size_t len = jlen(jgetc(obj_root(o), "endpoints"));
        CHECK(len <= 100);
        sum += len;
        rv[changed] = o->rv;
    }
    CHECK_INT(sum, 250);
    /* One goes: one slice is written. */
    set_status(&p, "p003", "10.1.1.3", false);
    run(&p);
    changed = 0;
    size_t i = 0;
    it = store_range(p.f.store, &kind_endpoint_slice, STR("ns"), STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it)); i++)
        changed += o->rv != rv[i];
    CHECK_INT(changed, 1);
    plane_done(&p);
}

TEST(endpoints_end_at_a_thousand_addresses_and_say_so)
{
    struct plane p;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    for (int i = 0; i < 1005; i++)
        add_pod(&p, text_of(&p.f, "p%04d", i).p, text_of(&p.f, "10.2.%d.%d", i / 250, i % 250).p,
                i >= 10, "");
    run(&p);
    const struct obj *o = store_get(p.f.store, &kind_endpoints, STR("ns"), STR("s"));
    REQUIRE(o);
    CHECK_CSTR(obj_annotation(o, STR("endpoints.kubernetes.io/over-capacity")), "truncated");
    jval subset = jat(jgetc(obj_root(o), "subsets"), 0);
    /* Those that are ready come first. */
    CHECK_INT(jlen(jgetc(subset, "addresses")), 995);
    CHECK_INT(jlen(jgetc(subset, "notReadyAddresses")), 5);
    for (int i = 0; i < 10; i++)
        CHECK_INT(send(&p.f, (struct api_request){.verb = API_DELETE,
                                                  .kind = &kind_pod,
                                                  .ns = STR("ns"),
                                                  .name = text_of(&p.f, "p%04d", i),
                                                  .grace_seconds = 0}),
                  200);
    run(&p);
    o = store_get(p.f.store, &kind_endpoints, STR("ns"), STR("s"));
    CHECK_CSTR(obj_annotation(o, STR("endpoints.kubernetes.io/over-capacity")), "");
    plane_done(&p);
}

TEST(what_others_change_is_put_right_and_what_is_theirs_stays)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    add_pod(&p, "a", "10.1.0.1", true, "");
    CHECK_INT(create(&p.f, &kind_service, "ns",
                     "{'metadata':{'name':'bare'},'spec':{'ports':[{'port':80}]}}"),
              201);
    CHECK_INT(create(&p.f, &kind_endpoints, "ns",
                     "{'metadata':{'name':'bare'},'subsets':[{'addresses':[{'ip':'10.9.9.9'}]}]}"),
              201);
    run(&p);
    CHECK(str_find(subsets(&p, "bare"), STR("10.9.9.9")) >= 0);
    const struct obj *slice = slice_of(&p, "s", &n);
    CHECK_INT(send(&p.f, (struct api_request){.verb = API_DELETE,
                                              .kind = &kind_endpoint_slice,
                                              .ns = STR("ns"),
                                              .name = arena_str(&p.f.arena, slice->name),
                                              .grace_seconds = -1}),
              200);
    CHECK_INT(patch(&p.f, &kind_endpoints, "ns", "s", API_PATCH_MERGE, "{'subsets':null}"), 200);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "a:10.1.0.1 ready serving");
    CHECK(str_find(subsets(&p, "s"), STR("10.1.0.1")) >= 0);
    /* Endpoints go with the Service; those of others do not. */
    CHECK_INT(delete (&p.f, &kind_service, "ns", "s"), 200);
    CHECK_INT(delete (&p.f, &kind_service, "ns", "bare"), 200);
    run(&p);
    CHECK_CSTR(subsets(&p, "s"), "none");
    CHECK(str_find(subsets(&p, "bare"), STR("10.9.9.9")) >= 0);
    plane_done(&p);
}

TEST(labels_of_the_service_are_followed)
{
    struct plane p;
    size_t n;
    plane_init(&p);
    add_service(&p, "s", SELECTS);
    add_pod(&p, "a", "10.1.0.1", true, "");
    run(&p);
    CHECK_INT(patch(&p.f, &kind_service, "ns", "s", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'team':null,'new':'b'}}}"),
              200);
    run(&p);
    const struct obj *slice = slice_of(&p, "s", &n);
    CHECK_CSTR(obj_label(slice, STR("new")), "b");
    CHECK(j_is_absent(jget(slice->labels, STR("team"))));
    CHECK_CSTR(obj_label(slice, STR("kubernetes.io/service-name")), "s");
    /* Another selector, and pods that no longer match. */
    CHECK_INT(
        patch(&p.f, &kind_service, "ns", "s", API_PATCH_MERGE, "{'spec':{'selector':{'app':'y'}}}"),
        200);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "");
    CHECK_INT(
        patch(&p.f, &kind_pod, "ns", "a", API_PATCH_MERGE, "{'metadata':{'labels':{'app':'y'}}}"),
        200);
    run(&p);
    CHECK_CSTR(endpoints_text(&p, "s"), "a:10.1.0.1 ready serving");
    plane_done(&p);
}

TEST(the_api_server_is_an_endpoint_of_its_own_service)
{
    struct plane p;
    plane_init(&p);
    run(&p);
    const struct obj *o = store_get(p.f.store, &kind_endpoints, STR("default"), STR("kubernetes"));
    REQUIRE(o);
    CHECK_CSTR(jtext(jgetc(obj_root(o), "subsets")),
               "[{\"addresses\":[{\"ip\":\"10.0.0.7\"}],\"ports\":[{\"name\":\"https\",\"port\":"
               "6443,\"protocol\":\"TCP\"}]}]");
    CHECK_CSTR(endpoints_text(&p, "kubernetes"), ":10.0.0.7 ready");
    /* It moves, to an address of another family too; and to none that others can use. */
    static const char *const ips[] = {"10.0.0.8", "fd00::1", "", "10.0.0.7"};
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        p.options.ip = str_of(ips[i]);
        services_moved(p.controller);
        run(&p);
        CHECK_STR(endpoints_text(&p, "kubernetes"),
                  ips[i][0] ? text_of(&p.f, ":%s ready", ips[i]) : STR(""));
    }
    plane_done(&p);
}
