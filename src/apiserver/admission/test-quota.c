/* Quotas, limits and priorities of a namespace, through the server. */
#include "apiserver/admission/quota.h"
#include "apiserver/test-apiserver-fixture.h"

#define QUOTA(name, hard, more) \
    "{'metadata':{'name':'" name "'},'spec':{'hard':{" hard "}" more "}}"
#define POD_WITH(name, resources, more)                                                      \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "'},'spec':{'containers':[{" \
    "'name':'c','image':'x:1','resources':{" resources "}}]" more "}}"

static str used(struct fixture *f, const char *name, const char *resource)
{
    fixture_run(f, USEC_PER_SEC);
    CHECK_INT(get(f, &kind_resource_quota, "ns", name), 200);
    return jstr(jget(jpath(doc_root(f->doc), "status.used"), str_of(resource)));
}

TEST(a_quota_counts_what_is_there_and_what_comes)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("a", "")), 201);
    CHECK_INT(create(&f, &kind_resource_quota, "ns", QUOTA("q", "'pods':'2'", "")), 201);
    CHECK_STR(used(&f, "q", "pods"), STR("1"));
    CHECK_STR(jstr(jget(jpath(doc_root(f.doc), "status.hard"), STR("pods"))), STR("2"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("b", "")), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("c", "")), 403);
    CHECK_STR(f.reason, STR("Forbidden"));
    CHECK_STR(f.message, STR("pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: "
                             "pods=2, limited: pods=2"));
    CHECK_STR(used(&f, "q", "pods"), STR("2"));
    CHECK_INT(delete (&f, &kind_pod, "ns", "a"), 200);
    CHECK_STR(used(&f, "q", "pods"), STR("1"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("c", "")), 201);
    /* Another namespace is another matter. */
    CHECK_INT(create(&f, &kind_pod, "default", POD("d", "")), 201);
    CHECK_STR(used(&f, "q", "pods"), STR("2"));
    fixture_done(&f);
}

TEST(two_writes_of_one_moment_do_not_share_an_allowance)
{
    struct fixture f, g;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_quota, "ns", QUOTA("q", "'count/configmaps':'1'", "")),
              201);
    g = (struct fixture){.loop = f.loop, .server = f.server, .store = f.store, .user = f.user};
    arena_init(&g.arena);
    arena_init(&g.reply);
    struct api_request one = {.verb = API_CREATE,
                              .kind = &kind_config_map,
                              .ns = STR("ns"),
                              .body = fixture_doc(&f, CONFIG_MAP("a", ""))};
    struct api_request two = one;
    two.body = fixture_doc(&f, CONFIG_MAP("b", ""));
    send_only(&f, &one);
    send_only(&g, &two);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(f.code, 201);
    CHECK_INT(g.code, 403);
    CHECK_STR(g.message, STR("configmaps \"b\" is forbidden: exceeded quota: q, requested: "
                             "count/configmaps=1, used: count/configmaps=1, limited: "
                             "count/configmaps=1"));
    doc_unref(g.doc);
    arena_done(&g.arena);
    arena_done(&g.reply);
    fixture_done(&f);
}

static const struct {
    const char *why, *hard, *more;
    const struct kind *kind;
    const char *json;
    int code;
    const char *message; /* after `x "n" is forbidden: ` */
} rows[] = {
    {"requests", "'requests.cpu':'1'", "", &kind_pod,
     POD_WITH("p", "'requests':{'cpu':'1500m'}", ""), 403,
     "exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=0, limited: "
     "requests.cpu=1"},
    {"requests that fit", "'requests.cpu':'1500m'", "", &kind_pod,
     POD_WITH("p", "'requests':{'cpu':'1500m'}", ""), 201, NULL},
    {"several, by name", "'requests.memory':'1Gi','cpu':'1'", "", &kind_pod,
     POD_WITH("p", "'requests':{'cpu':'2','memory':'2Gi'}", ""), 403,
     "exceeded quota: q, requested: cpu=2,requests.memory=2Gi, used: cpu=0,requests.memory=0, "
     "limited: cpu=1,requests.memory=1Gi"},
    {"limits", "'limits.memory':'1Gi'", "", &kind_pod,
     POD_WITH("p", "'limits':{'memory':'2Gi'}", ""), 403,
     "exceeded quota: q, requested: limits.memory=2Gi, used: limits.memory=0, limited: "
     "limits.memory=1Gi"},
    {"requests that are not said come from limits", "'requests.cpu':'1'", "", &kind_pod,
     POD_WITH("p", "'limits':{'cpu':'1'}", ""), 201, NULL},
    {"what must be said", "'requests.cpu':'1','limits.memory':'1Gi'", "", &kind_pod, POD("p", ""),
     403, "failed quota: q: must specify limits.memory for: c; requests.cpu for: c"},
    {"what need not be said", "'requests.nvidia.com/gpu':'1'", "", &kind_pod, POD("p", ""), 201,
     NULL},
    {"extended resources", "'requests.nvidia.com/gpu':'1'", "", &kind_pod,
     POD_WITH("p", "'limits':{'nvidia.com/gpu':'2'}", ""), 403,
     "exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=0, "
     "limited: requests.nvidia.com/gpu=1"},
    {"the largest init container", "'requests.cpu':'2'", "", &kind_pod,
     POD_WITH(
         "p", "'requests':{'cpu':'1'}",
         ",'initContainers':[{'name':'i','image':'x:1','resources':{'requests':{'cpu':'3'}}}]"),
     403,
     "exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0, limited: "
     "requests.cpu=2"},
    {"an init container beside nothing", "'requests.cpu':'2'", "", &kind_pod,
     POD_WITH(
         "p", "'requests':{'cpu':'1'}",
         ",'initContainers':[{'name':'i','image':'x:1','resources':{'requests':{'cpu':'2'}}}]"),
     201, NULL},
    {"a sidecar is added", "'requests.cpu':'2'", "", &kind_pod,
     POD_WITH("p", "'requests':{'cpu':'1'}",
              ",'initContainers':[{'name':'i','image':'x:1','restartPolicy':'Always','resources':{"
              "'requests':{'cpu':'2'}}}]"),
     403,
     "exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=0, limited: "
     "requests.cpu=2"},
    {"objects by their count", "'count/deployments.apps':'0'", "", &kind_deployment,
     "{'metadata':{'name':'p'},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':"
     "{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'x'}]}}}}",
     403,
     "exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, "
     "limited: count/deployments.apps=0"},
    {"objects by their old name", "'secrets':'0'", "", &kind_secret, "{'metadata':{'name':'p'}}",
     403, "exceeded quota: q, requested: secrets=1, used: secrets=0, limited: secrets=0"},
    {"ports of services", "'services.nodeports':'1'", "", &kind_service,
     "{'metadata':{'name':'p'},'spec':{'type':'NodePort','ports':[{'name':'a','port':1},{'name':"
     "'b','port':2}]}}",
     403,
     "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: "
     "services.nodeports=1"},
    {"balanced services", "'services.loadbalancers':'0'", "", &kind_service,
     "{'metadata':{'name':'p'},'spec':{'type':'LoadBalancer','ports':[{'port':1}]}}", 403,
     "exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=0, "
     "limited: services.loadbalancers=0"},
    {"other services", "'services.loadbalancers':'0','services.nodeports':'0'", "", &kind_service,
     "{'metadata':{'name':'p'},'spec':{'ports':[{'port':1}]}}", 201, NULL},
    /* scopes */
    {"best effort", "'pods':'0'", ",'scopes':['BestEffort']", &kind_pod, POD("p", ""), 403,
     "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"},
    {"not best effort", "'pods':'0'", ",'scopes':['NotBestEffort']", &kind_pod, POD("p", ""), 201,
     NULL},
    {"terminating", "'pods':'0'", ",'scopes':['Terminating']", &kind_pod, POD("p", ""), 201, NULL},
    {"terminating, with an end", "'pods':'0'", ",'scopes':['Terminating']", &kind_pod,
     POD("p", ",'activeDeadlineSeconds':5"), 403,
     "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"},
    {"both scopes must match", "'pods':'0'", ",'scopes':['NotTerminating','NotBestEffort']",
     &kind_pod, POD("p", ""), 201, NULL},
    {"a scope is about pods", "'count/configmaps':'0'", ",'scopes':['NotTerminating']",
     &kind_config_map, CONFIG_MAP("p", ""), 201, NULL},
    {"priority", "'pods':'0'",
     ",'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':'In','values':["
     "'system-node-critical']}]}",
     &kind_pod, POD("p", ",'priorityClassName':'system-node-critical'"), 403,
     "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"},
    {"another priority", "'pods':'0'",
     ",'scopeSelector':{'matchExpressions':[{'scopeName':'PriorityClass','operator':'In','values':["
     "'system-node-critical']}]}",
     &kind_pod, POD("p", ""), 201, NULL},
    {"nothing of that kind", "'count/secrets':'0'", "", &kind_config_map, CONFIG_MAP("p", ""), 201,
     NULL},
    /* numbers nobody has */
    {"more than there is", "'requests.cpu':'1'", "", &kind_pod,
     POD_WITH("p", "'requests':{'cpu':'1e29'}", ""), 403, NULL},
};

TEST(what_an_object_uses_is_held_against_the_quota)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        fixture_init(&f);
        str quota = text_of(&f, "{'metadata':{'name':'q'},'spec':{'hard':{%s}%s}}", rows[i].hard,
                            rows[i].more);
        CHECK_INT(create(&f, &kind_resource_quota, "ns", quota.p), 201);
        bool ok = CHECK_INT(create(&f, rows[i].kind, "ns", rows[i].json), rows[i].code);
        if (rows[i].message) {
            str want =
                text_of(&f, "%s%s%s \"p\" is forbidden: %s", rows[i].kind->plural,
                        *rows[i].kind->group ? "." : "", rows[i].kind->group, rows[i].message);
            ok &= CHECK_STR(f.message, want);
        }
        if (!ok)
            test_note("%s: %.*s", rows[i].why, STR_ARG(f.message));
        fixture_done(&f);
    }
}

TEST(a_pod_that_ended_counts_no_more)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_quota, "ns",
                     QUOTA("q", "'pods':'1','count/pods':'5','requests.cpu':'1'", "")),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD_WITH("a", "'requests':{'cpu':'1'}", "")), 201);
    CHECK_STR(used(&f, "q", "requests.cpu"), STR("1"));
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "a", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Succeeded'}}"),
              200);
    CHECK_STR(used(&f, "q", "requests.cpu"), STR("0"));
    CHECK_STR(used(&f, "q", "pods"), STR("0"));
    CHECK_STR(used(&f, "q", "count/pods"), STR("1"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD_WITH("b", "'requests':{'cpu':'1'}", "")), 201);
    fixture_done(&f);
}

TEST(a_quota_that_changes_counts_anew)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    CHECK_INT(create(&f, &kind_resource_quota, "ns", QUOTA("q", "'pods':'1'", "")), 201);
    CHECK_STR(used(&f, "q", "pods"), STR("0"));
    CHECK_INT(patch(&f, &kind_resource_quota, "ns", "q", API_PATCH_MERGE,
                    "{'spec':{'hard':{'pods':null,'configmaps':'1'}}}"),
              200);
    CHECK_STR(used(&f, "q", "configmaps"), STR("1"));
    CHECK_STR(used(&f, "q", "pods"), STR_NONE);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("b", "")), 403);
    CHECK_INT(delete (&f, &kind_resource_quota, "ns", "q"), 200);
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("b", "")), 201);
    fixture_done(&f);
}

TEST(a_dry_run_is_judged_and_not_counted)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_resource_quota, "ns", QUOTA("q", "'count/configmaps':'1'", "")),
              201);
    for (int i = 0; i < 2; i++)
        CHECK_INT(send(&f, (struct api_request){.verb = API_CREATE,
                                                .kind = &kind_config_map,
                                                .ns = STR("ns"),
                                                .dry_run = true,
                                                .body = fixture_doc(&f, CONFIG_MAP("a", ""))}),
                  201);
    CHECK_STR(used(&f, "q", "count/configmaps"), STR("0"));
    CHECK_INT(create(&f, &kind_config_map, "ns", CONFIG_MAP("a", "")), 201);
    CHECK_INT(send(&f, (struct api_request){.verb = API_CREATE,
                                            .kind = &kind_config_map,
                                            .ns = STR("ns"),
                                            .dry_run = true,
                                            .body = fixture_doc(&f, CONFIG_MAP("b", ""))}),
              403);
    fixture_done(&f);
}

/* Whatever happens, what is counted is what a count from scratch would be. */
TEST(the_fold_is_the_sum_of_what_is_there)
{
    struct fixture f;
    fixture_init(&f);
    struct rng *r = test_rng();
    CHECK_INT(create(&f, &kind_resource_quota, "ns",
                     QUOTA("q", "'pods':'12','requests.cpu':'9','count/configmaps':'5'", "")),
              201);
    for (size_t i = 0, n = test_cases(300); i < n; i++) {
        str name = text_of(&f, "o%u", (unsigned)rng_below(r, 16));
        unsigned cpu = 1 + (unsigned)rng_below(r, 3);
        switch (rng_below(r, 5)) {
        case 0:
        case 1:
            (void)create(&f, &kind_pod, "ns",
                         text_of(&f,
                                 "{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c',"
                                 "'image':'x:1','resources':{'requests':{'cpu':'%u'}}}]}}",
                                 name.p, cpu)
                             .p);
            break;
        case 2:
            (void)create(&f, &kind_config_map, "ns",
                         text_of(&f, "{'metadata':{'name':'%s'}}", name.p).p);
            break;
        case 3:
            (void)delete (&f, rng_below(r, 2) ? &kind_pod : &kind_config_map, "ns", name.p);
            break;
        default:
            (void)patch_sub(&f, &kind_pod, "ns", name.p, "status", API_PATCH_MERGE,
                            "{'status':{'phase':'Failed'}}");
        }
    }
    int64_t pods = 0, cpu = 0, maps = (int64_t)0;
    struct store_iter it = store_range(f.store, &kind_pod, STR("ns"), STR_NONE, STR_NONE);
    fixture_run(&f, USEC_PER_SEC);
    it = store_range(f.store, &kind_pod, STR("ns"), STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        if (str_is(jstr(jgetc(obj_status(o), "phase")), "Failed"))
            continue;
        jval c = jat(jgetc(obj_spec(o), "containers"), 0);
        int64_t n;
        REQUIRE(str_to_int(jstr(jpath(c, "resources.requests.cpu")), &n));
        pods++;
        cpu += n;
    }
    it = store_range(f.store, &kind_config_map, STR("ns"), STR_NONE, STR_NONE);
    while (store_next(&it))
        maps++;
    CHECK(pods <= 12 && cpu <= 9 && maps <= 5);
    CHECK_STR(used(&f, "q", "pods"), text_of(&f, "%lld", (long long)pods));
    CHECK_STR(used(&f, "q", "requests.cpu"), text_of(&f, "%lld", (long long)cpu));
    CHECK_STR(used(&f, "q", "count/configmaps"), text_of(&f, "%lld", (long long)maps));
    fixture_done(&f);
}

/* ---- LimitRange ---- */

#define LIMITS(item) "{'metadata':{'name':'l'},'spec':{'limits':[{" item "}]}}"

TEST(a_limit_range_completes_itself)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_limit_range, "ns",
                     LIMITS("'type':'Container','max':{'cpu':'2'},'min':{'cpu':'100m','memory':"
                            "'1Mi'},'default':{'memory':'1Gi'}")),
              201);
    jval item = jat(jpath(doc_root(f.doc), "spec.limits"), 0);
    CHECK_STR(jstr(jpath(item, "default.cpu")), STR("2"));
    CHECK_STR(jstr(jpath(item, "defaultRequest.cpu")), STR("2"));
    CHECK_STR(jstr(jpath(item, "defaultRequest.memory")), STR("1Gi"));
    fixture_done(&f);
}

TEST(containers_get_what_the_namespace_gives_them)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_limit_range, "ns",
                     LIMITS("'type':'Container','default':{'cpu':'1','memory':'1Gi'},"
                            "'defaultRequest':{'cpu':'500m'}")),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD_WITH("p", "'limits':{'cpu':'2'}", "")), 201);
    jval c = jat(jpath(doc_root(f.doc), "spec.containers"), 0);
    CHECK_STR(jstr(jpath(c, "resources.limits.cpu")), STR("2"));
    CHECK_STR(jstr(jpath(c, "resources.requests.cpu")), STR("2"));
    CHECK_STR(jstr(jpath(c, "resources.limits.memory")), STR("1Gi"));
    CHECK_STR(jstr(jpath(c, "resources.requests.memory")), STR("1Gi"));
    CHECK_STR(jstr(jget(jpath(doc_root(f.doc), "metadata.annotations"),
                        STR("kubernetes.io/limit-ranger"))),
              STR("LimitRanger plugin set: memory request for container c; memory limit for "
                  "container c"));
    CHECK_STR(field(&f, "status.qosClass"), STR("Guaranteed"));
    CHECK_INT(create(&f, &kind_pod, "default", POD("p", "")), 201);
    CHECK_STR(field(&f, "status.qosClass"), STR("BestEffort"));
    fixture_done(&f);
}

static const struct {
    const char *item, *resources;
    const char *message; /* NULL: allowed */
} limits[] = {
    {"'type':'Container','min':{'cpu':'100m'}", "'requests':{'cpu':'50m'},'limits':{'cpu':'1'}",
     "minimum cpu usage per Container is 100m, but request is 50m"},
    {"'type':'Container','max':{'cpu':'1'}", "'limits':{'cpu':'2'}",
     "maximum cpu usage per Container is 1, but limit is 2"},
    {"'type':'Container','max':{'cpu':'1'}", "'limits':{'cpu':'1'}", NULL},
    {"'type':'Container','max':{'cpu':'1'}", "'requests':{'cpu':'2'}",
     "[*"}, /* the default of the limit is the maximum, below the request: two complaints */
    {"'type':'Pod','max':{'cpu':'1'}", "'requests':{'cpu':'2'}",
     "maximum cpu usage per Pod is 1.  No limit is specified"},
    {"'type':'Pod','max':{'cpu':'1'}", "'limits':{'cpu':'2'}",
     "maximum cpu usage per Pod is 1, but limit is 2"},
    {"'type':'Pod','min':{'cpu':'1'}", "",
     "minimum cpu usage per Pod is 1.  No request is specified"},
    {"'type':'Pod','min':{'cpu':'1'}", "'limits':{'cpu':'500m'}",
     "minimum cpu usage per Pod is 1, but request is 500m"},
    {"'type':'Pod','maxLimitRequestRatio':{'cpu':'2'}",
     "'requests':{'cpu':'1'},'limits':{'cpu':'3'}",
     "cpu max limit to request ratio per Pod is 2, but provided ratio is 3.000000"},
    {"'type':'Pod','maxLimitRequestRatio':{'cpu':'2'}",
     "'requests':{'cpu':'1'},'limits':{'cpu':'2'}", NULL},
    {"'type':'Pod','maxLimitRequestRatio':{'cpu':'2'}", "",
     "cpu max limit to request ratio per Pod is 2, but no request is specified or request is 0"},
    {"'type':'Pod','maxLimitRequestRatio':{'cpu':'2'}", "'requests':{'cpu':'1'}",
     "cpu max limit to request ratio per Pod is 2, but no limit is specified or limit is 0"},
    {"'type':'Pod','max':{'cpu':'1','memory':'1Gi'}", "'limits':{'cpu':'2','memory':'2Gi'}",
     "[maximum cpu usage per Pod is 1, but limit is 2, maximum memory usage per Pod is 1Gi, but "
     "limit is 2Gi]"},
};

TEST(a_pod_stays_within_the_limits)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct fixture f;
        fixture_init(&f);
        str range = text_of(&f, LIMITS("%s"), limits[i].item);
        CHECK_INT(create(&f, &kind_limit_range, "ns", range.p), 201);
        int code = create(&f, &kind_pod, "ns",
                          text_of(&f, POD_WITH("p", "%s", ""), limits[i].resources).p);
        bool ok = true;
        if (limits[i].message && str_is(str_of(limits[i].message), "[*"))
            ok = CHECK(code == 403 || code == 422);
        else if (limits[i].message)
            ok =
                CHECK_INT(code, 403) &
                CHECK_STR(f.message, text_of(&f, "pods \"p\" is forbidden: %s", limits[i].message));
        else
            ok = CHECK_INT(code, 201);
        if (!ok)
            test_note("%s with %s: %.*s", limits[i].item, limits[i].resources, STR_ARG(f.message));
        fixture_done(&f);
    }
}

TEST(limits_hold_for_what_a_pod_is_resized_to)
{
    static const char pod[] =
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'x:1','resources':{"
        "'requests':{'cpu':'1'},'limits':{'cpu':'2'}}}]}}";
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_limit_range, "ns", LIMITS("'type':'Container','max':{'cpu':'2'}")),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", pod), 201);
    CHECK_INT(
        patch_sub(&f, &kind_pod, "ns", "p", "resize", API_PATCH_STRATEGIC,
                  "{'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':'3'}}}]}}"),
        403);
    CHECK_STR(f.message, STR("pods \"p\" is forbidden: maximum cpu usage per Container is 2, but "
                             "limit is 3"));
    CHECK_INT(
        patch_sub(&f, &kind_pod, "ns", "p", "resize", API_PATCH_STRATEGIC,
                  "{'spec':{'containers':[{'name':'c','resources':{'limits':{'cpu':'1500m'}}}]}}"),
        200);
    fixture_done(&f);
}

TEST(limits_that_contradict_each_other_are_refused)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_limit_range, "ns",
                     LIMITS("'type':'Container','max':{'cpu':'1'},'min':{'cpu':'2'}")),
              422);
    CHECK(str_find(f.message, STR("spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is "
                                  "greater than max value 1")) > 0);
    fixture_done(&f);
}

/* ---- priority ---- */

TEST(a_pod_gets_the_priority_of_its_class)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(get(&f, &kind_priority_class, "", "system-node-critical"), 200);
    CHECK_STR(field(&f, "value"), STR("2000001000"));
    CHECK_INT(get(&f, &kind_priority_class, "", "system-cluster-critical"), 200);
    CHECK_STR(field(&f, "value"), STR("2000000000"));
    CHECK_INT(create(&f, &kind_priority_class, "",
                     "{'metadata':{'name':'high'},'value':1000,'preemptionPolicy':'Never'}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("a", ",'priorityClassName':'high'")), 201);
    CHECK_STR(field(&f, "spec.priority"), STR("1000"));
    CHECK_STR(field(&f, "spec.preemptionPolicy"), STR("Never"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("b", ",'priorityClassName':'nobody'")), 403);
    CHECK_STR(f.message,
              STR("pods \"b\" is forbidden: no PriorityClass with name nobody was found"));
    CHECK_INT(create(&f, &kind_pod, "ns", POD("c", ",'priorityClassName':'high','priority':5")),
              403);
    CHECK_STR(f.message,
              STR("pods \"c\" is forbidden: the integer value of priority (5) must not be provided "
                  "in pod spec; priority admission controller computed 1000 from the given "
                  "PriorityClass name"));
    CHECK_INT(create(&f, &kind_priority_class, "",
                     "{'metadata':{'name':'usual'},'value':7,'globalDefault':true}"),
              201);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("d", "")), 201);
    CHECK_STR(field(&f, "spec.priority"), STR("7"));
    CHECK_STR(field(&f, "spec.priorityClassName"), STR("usual"));
    fixture_done(&f);
}
