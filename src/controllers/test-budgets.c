/* Disruption budgets, evictions and the end of events, over a memory store on the virtual loop.
 * What is expected are the rules of kube-controller-manager's disruption controller and the
 * recorded answers of pods/eviction. */
#include "apiserver/test-apiserver-fixture.h"
#include "controllers/controllers.h"
#include "grove/types.h"

struct inner {
    struct fixture f;
    struct runtime *runtime;
    struct api *cache_api, *api, *expiry_api;
};

static void inner_init(struct inner *p)
{
    *p = (struct inner){0};
    fixture_init(&p->f);
    p->cache_api = apiserver_local(p->f.server, "grove-cache");
    p->api = apiserver_local(p->f.server, "disruption-controller");
    p->expiry_api = apiserver_local(p->f.server, "event-expiry");
    p->runtime = runtime_new(p->f.loop, p->cache_api);
    pdb_add(p->runtime, p->api);
    events_expiry_add(p->runtime, p->expiry_api);
    runtime_start(p->runtime);
    fixture_run(&p->f, USEC_PER_SEC);
}

static void inner_done(struct inner *p)
{
    runtime_free(p->runtime);
    api_free(p->cache_api);
    api_free(p->api);
    api_free(p->expiry_api);
    fixture_done(&p->f);
}

static void run(struct inner *p)
{
    fixture_run(&p->f, USEC_PER_SEC);
}

static void set_ready(struct inner *p, const char *name, bool ready)
{
    str status = text_of(&p->f,
                         "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'%s'"
                         "}]}}",
                         ready ? "True" : "False");
    CHECK_INT(patch_sub(&p->f, &kind_pod, "ns", name, "status", API_PATCH_MERGE, status.p), 200);
}

/* A pod of app "web", bound and ready; owner: one more member of metadata, or "". */
static void make_pod(struct inner *p, const char *name, const char *owner)
{
    str body = text_of(&p->f,
                       "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','labels':{'app':"
                       "'web'}%s},'spec':{'containers':[{'name':'c','image':'x:1'}]}}",
                       name, owner);
    CHECK_INT(create(&p->f, &kind_pod, "ns", body.p), 201);
    CHECK_INT(bind_pod(&p->f, name, "n1"), 201);
    set_ready(p, name, true);
}

static void make_budget(struct inner *p, const char *name, const char *spec)
{
    str body = text_of(&p->f,
                       "{'apiVersion':'policy/v1','kind':'PodDisruptionBudget','metadata':{'name':"
                       "'%s'},'spec':{'selector':{'matchLabels':{'app':'web'}},%s}}",
                       name, spec);
    CHECK_INT(create(&p->f, &kind_pdb, "ns", body.p), 201);
    run(p);
}

/* A ReplicaSet and the owner reference to it. */
static str make_replica_set(struct inner *p, const char *name, int replicas)
{
    str body = text_of(
        &p->f,
        "{'metadata':{'name':'%s'},'spec':{'replicas':%d,'selector':{'matchLabels':{'app':'web'}},"
        "'template':{'metadata':{'labels':{'app':'web'}},'spec':{'containers':[{'name':'c',"
        "'image':'x:1'}]}}}}",
        name, replicas);
    CHECK_INT(create(&p->f, &kind_replica_set, "ns", body.p), 201);
    return text_of(&p->f,
                   ",'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'%s',"
                   "'uid':'%.*s','controller':true}]",
                   name, STR_ARG(p->f.obj->uid));
}

/* "expected healthy desired allowed" */
static void check_status(struct inner *p, const char *name, const char *want, const char *reason)
{
    CHECK_INT(get(&p->f, &kind_pdb, "ns", name), 200);
    jval s = obj_status(p->f.obj);
    str got = text_of(&p->f, "%lld %lld %lld %lld", (long long)jint(jgetc(s, "expectedPods"), -1),
                      (long long)jint(jgetc(s, "currentHealthy"), -1),
                      (long long)jint(jgetc(s, "desiredHealthy"), -1),
                      (long long)jint(jgetc(s, "disruptionsAllowed"), -1));
    CHECK_STR(got, str_of(want));
    jval c = condition_find(jgetc(s, "conditions"), STR("DisruptionAllowed"));
    CHECK_STR(jstr(jgetc(c, "reason")), str_of(reason));
    CHECK_STR(jstr(jgetc(c, "status")),
              str_is(str_of(reason), "SufficientPods") ? STR("True") : STR("False"));
    CHECK_INT(jint(jgetc(s, "observedGeneration"), -1), p->f.obj->generation);
    CHECK_INT(jint(jgetc(c, "observedGeneration"), -1), p->f.obj->generation);
}

static int evict(struct inner *p, const char *pod, const char *more)
{
    str body =
        text_of(&p->f, "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'%s'}%s}",
                pod, more);
    return post_sub(&p->f, pod, "eviction", body.p);
}

static str cause(struct inner *p)
{
    return jstr(jgetc(jat(jpath(doc_root(p->f.doc), "details.causes"), 0), "message"));
}

/* ---- the status ---- */

TEST(pdb_of_a_plain_number_counts_the_pods_there_are)
{
    struct inner p;
    inner_init(&p);
    make_budget(&p, "b", "'minAvailable':1");
    run(&p); /* it could say nothing else, so it takes its time */
    check_status(&p, "b", "0 0 1 0", "InsufficientPods");
    make_pod(&p, "p1", "");
    make_pod(&p, "p2", "");
    run(&p);
    check_status(&p, "b", "2 2 1 1", "SufficientPods");
    set_ready(&p, "p2", false);
    run(&p);
    check_status(&p, "b", "2 1 1 0", "InsufficientPods");
    CHECK_INT(delete (&p.f, &kind_pod, "ns", "p1"), 200);
    run(&p);
    check_status(&p, "b", "2 0 1 0", "InsufficientPods");
    inner_done(&p);
}

TEST(pdb_of_percent_counts_what_controllers_want_and_rounds_up)
{
    struct inner p;
    inner_init(&p);
    str owner = make_replica_set(&p, "rs", 5);
    for (int i = 0; i < 4; i++)
        make_pod(&p, text_of(&p.f, "p%d", i).p, owner.p);
    make_budget(&p, "b", "'minAvailable':'50%'");
    check_status(&p, "b", "5 4 3 1", "SufficientPods");
    CHECK_INT(patch(&p.f, &kind_pdb, "ns", "b", API_PATCH_MERGE,
                    "{'spec':{'minAvailable':null,'maxUnavailable':'30%'}}"),
              200);
    run(&p);
    check_status(&p, "b", "5 4 3 1", "SufficientPods");
    CHECK_INT(patch(&p.f, &kind_pdb, "ns", "b", API_PATCH_MERGE, "{'spec':{'maxUnavailable':1}}"),
              200);
    run(&p);
    check_status(&p, "b", "5 4 4 0", "InsufficientPods");
    /* scaled to what is there */
    CHECK_INT(
        patch(&p.f, &kind_replica_set, "ns", "rs", API_PATCH_MERGE, "{'spec':{'replicas':4}}"),
        200);
    run(&p);
    check_status(&p, "b", "4 4 3 1", "SufficientPods");
    inner_done(&p);
}

TEST(pdb_leaves_pods_without_a_controller_out_of_the_expectation)
{
    struct inner p;
    inner_init(&p);
    str owner = make_replica_set(&p, "rs", 1);
    make_pod(&p, "owned", owner.p);
    make_pod(&p, "alone", "");
    make_budget(&p, "b", "'maxUnavailable':1");
    check_status(&p, "b", "1 2 0 2", "SufficientPods");
    inner_done(&p);
}

TEST(pdb_fails_safe_when_a_controller_is_not_known)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1",
             ",'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'gone','uid':"
             "'u','controller':true}]");
    make_budget(&p, "b", "'maxUnavailable':1");
    check_status(&p, "b", "0 1 0 0", "SyncFailed");
    CHECK_INT(evict(&p, "p1", ""), 429);
    CHECK_STR(cause(&p),
              STR("The disruption budget b does not allow evicting pods currently because it "
                  "failed sync: found no controllers for pod \"p1\""));
    inner_done(&p);
}

TEST(pdb_of_one_clique_sees_only_its_pods)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "other", "");
    CHECK_INT(create(&p.f, &kind_pod, "ns",
                     "{'metadata':{'name':'mine','labels':{'app':'web','grove.io/podclique':'q'}},"
                     "'spec':{'containers':[{'name':'c','image':'x:1'}]}}"),
              201);
    CHECK_INT(bind_pod(&p.f, "mine", "n1"), 201);
    CHECK_INT(create(&p.f, &kind_pdb, "ns",
                     "{'metadata':{'name':'b'},'spec':{'minAvailable':0,'selector':{'matchLabels':{"
                     "'grove.io/podclique':'q'}}}}"),
              201);
    run(&p);
    check_status(&p, "b", "1 0 0 0", "InsufficientPods");
    set_ready(&p, "mine", true);
    run(&p);
    check_status(&p, "b", "1 1 0 1", "SufficientPods");
    inner_done(&p);
}

/* Whatever a budget selects by, it sees the pods that it means, no other ones, and hears of them.
 */
TEST(pdb_sees_its_pods_whatever_it_selects_by)
{
    static const struct {
        const char *name, *selector;
    } budgets[] = {
        {"pair", "'matchLabels':{'app':'web'}"},
        {"pairs", "'matchLabels':{'app':'web','release':'the-first-of-them'}"},
        {"value", "'matchExpressions':[{'key':'app','operator':'In','values':['web']}]"},
        {"values", "'matchExpressions':[{'key':'app','operator':'In','values':['web','w']}]"},
        {"many", "'matchExpressions':[{'key':'app','operator':'In','values':['web','a','b','c','d',"
                 "'e','f','g','h']}]"},
        {"there", "'matchExpressions':[{'key':'release','operator':'Exists'}]"},
        {"not", "'matchExpressions':[{'key':'app','operator':'NotIn','values':['other']}]"},
        {"both", "'matchLabels':{'app':'web'},'matchExpressions':[{'key':'release','operator':"
                 "'In','values':['the-first-of-them']}]"},
        {"all", ""},
    };
    static const char *const apps[] = {"web", "other"};
    struct inner p;
    inner_init(&p);
    for (size_t i = 0; i < ARRAY_LEN(budgets); i++)
        CHECK_INT(create(&p.f, &kind_pdb, "ns",
                         text_of(&p.f,
                                 "{'metadata':{'name':'%s'},'spec':{'minAvailable':0,'selector':{"
                                 "%s}}}",
                                 budgets[i].name, budgets[i].selector)
                             .p),
                  201);
    run(&p);
    for (size_t i = 0; i < ARRAY_LEN(apps); i++) {
        const char *more = i == 0 ? ",'release':'the-first-of-them'" : "";
        CHECK_INT(create(&p.f, &kind_pod, "ns",
                         text_of(&p.f,
                                 "{'metadata':{'name':'%s','labels':{'app':'%s'%s}},'spec':{"
                                 "'containers':[{'name':'c','image':'x:1'}]}}",
                                 apps[i], apps[i], more)
                             .p),
                  201);
        CHECK_INT(bind_pod(&p.f, apps[i], "n1"), 201);
    }
    run(&p);
    for (size_t i = 0; i < ARRAY_LEN(budgets) - 1; i++)
        check_status(&p, budgets[i].name, "1 0 0 0", "InsufficientPods");
    check_status(&p, "all", "2 0 0 0", "InsufficientPods");
    set_ready(&p, "web", true);
    run(&p);
    for (size_t i = 0; i < ARRAY_LEN(budgets) - 1; i++)
        check_status(&p, budgets[i].name, "1 1 0 1", "SufficientPods");
    check_status(&p, "all", "2 1 0 1", "SufficientPods");
    /* A pod that is labelled anew leaves those it was of and joins others. */
    CHECK_INT(patch(&p.f, &kind_pod, "ns", "web", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'app':'other'}}}"),
              200);
    run(&p);
    check_status(&p, "pair", "0 0 0 0", "InsufficientPods");
    check_status(&p, "values", "0 0 0 0", "InsufficientPods");
    check_status(&p, "there", "1 1 0 1", "SufficientPods");
    inner_done(&p);
}

/* ---- evictions ---- */

TEST(eviction_is_refused_by_a_budget_in_the_recorded_words)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1", "");
    make_budget(&p, "pdb", "'minAvailable':1");
    CHECK_INT(evict(&p, "p1", ""), 429);
    CHECK_STR(p.f.reason, STR("TooManyRequests"));
    CHECK_STR(p.f.message,
              STR("Cannot evict pod as it would violate the pod's disruption budget."));
    CHECK_STR(cause(&p), STR("The disruption budget pdb needs 1 healthy pods and has 1 currently"));
    /* a change on its way that the controller cannot have seen: to be tried again */
    struct api_request change = {
        .verb = API_PATCH,
        .kind = &kind_pdb,
        .ns = STR("ns"),
        .name = STR("pdb"),
        .patch = API_PATCH_MERGE,
        .body = fixture_doc(&p.f, "{'spec':{'minAvailable':0}}"),
    };
    send_only(&p.f, &change);
    CHECK_INT(evict(&p, "p1", ""), 429);
    CHECK_STR(cause(&p), STR("The disruption budget pdb is still being processed by the server."));
    CHECK_INT(jint(jpath(doc_root(p.f.doc), "details.retryAfterSeconds"), 0), 10);
    inner_done(&p);
}

TEST(an_evicted_pod_says_so)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", POD("p", "")), 201);
    CHECK_INT(bind_pod(&f, "p", "n1"), 201);
    CHECK_INT(post_sub(&f, "p", "eviction", "{'metadata':{'name':'p','namespace':'ns'}}"), 201);
    CHECK_INT(get(&f, &kind_pod, "ns", "p"), 200);
    CHECK(f.obj->deleting);
    jval conditions = jpath(doc_root(f.doc), "status.conditions");
    jval c = condition_find(conditions, STR("DisruptionTarget"));
    CHECK_STR(jstr(jgetc(c, "status")), STR("True"));
    CHECK_STR(jstr(jgetc(c, "reason")), STR("EvictionByEvictionAPI"));
    CHECK_STR(jstr(jgetc(c, "message")), STR("Eviction API: evicting"));
    CHECK(j_has(condition_find(conditions, STR("PodScheduled"))));
    fixture_done(&f);
}

TEST(evictions_never_share_an_allowance)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1", "");
    make_pod(&p, "p2", "");
    make_budget(&p, "b", "'minAvailable':1");
    check_status(&p, "b", "2 2 1 1", "SufficientPods");
    CHECK_INT(evict(&p, "p1", ",'deleteOptions':{'dryRun':['All']}"), 201);
    check_status(&p, "b", "2 2 1 1", "SufficientPods");
    /* both on their way at once, before any controller could look */
    struct api_request r[2] = {0};
    for (int i = 0; i < 2; i++) {
        r[i] = (struct api_request){
            .verb = API_CREATE,
            .kind = &kind_pod,
            .ns = STR("ns"),
            .name = i ? STR("p2") : STR("p1"),
            .subresource = STR("eviction"),
            .body = fixture_doc(&p.f, "{'apiVersion':'policy/v1','kind':'Eviction'}"),
        };
        send_only(&p.f, &r[i]);
    }
    run(&p);
    CHECK_INT(p.f.code == 429 || p.f.code == 201, 1);
    CHECK_INT(get(&p.f, &kind_pod, "ns", "p1"), 200);
    CHECK(p.f.obj->deleting);
    CHECK_INT(get(&p.f, &kind_pod, "ns", "p2"), 200);
    CHECK(!p.f.obj->deleting);
    /* the controller saw the pod going: the entry went too */
    CHECK_INT(get(&p.f, &kind_pdb, "ns", "b"), 200);
    CHECK_INT(jlen(jgetc(obj_status(p.f.obj), "disruptedPods")), 0);
    check_status(&p, "b", "2 1 1 0", "InsufficientPods");
    inner_done(&p);
}

TEST(eviction_of_what_is_not_ready_is_free_while_the_budget_is_kept)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1", "");
    make_pod(&p, "sick", "");
    set_ready(&p, "sick", false);
    make_budget(&p, "b", "'minAvailable':1");
    check_status(&p, "b", "2 1 1 0", "InsufficientPods");
    CHECK_INT(evict(&p, "sick", ""), 201);
    CHECK_INT(evict(&p, "p1", ""), 429);
    inner_done(&p);
}

TEST(eviction_under_two_budgets_is_an_error)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1", "");
    make_budget(&p, "a", "'minAvailable':0");
    make_budget(&p, "b", "'minAvailable':0");
    CHECK_INT(evict(&p, "p1", ""), 500);
    CHECK_STR(p.f.message, STR("This pod has more than one PodDisruptionBudget, which the eviction "
                               "subresource does not support."));
    inner_done(&p);
}

/* A deletion that never came: the entry holds for two minutes. */
TEST(pdb_prunes_pods_that_were_not_deleted)
{
    struct inner p;
    inner_init(&p);
    make_pod(&p, "p1", "");
    make_budget(&p, "b", "'minAvailable':0");
    check_status(&p, "b", "1 1 0 1", "SufficientPods");
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(loop_wall(p.f.loop), &now);
    str entry =
        text_of(&p.f, "{'status':{'disruptedPods':{'p1':'%.*s'}}}", STR_ARG(strbuf_str(&now)));
    CHECK_INT(patch_sub(&p.f, &kind_pdb, "ns", "b", "status", API_PATCH_MERGE, entry.p), 200);
    run(&p);
    check_status(&p, "b", "1 0 0 0", "InsufficientPods");
    fixture_run(&p.f, 3 * USEC_PER_MIN);
    check_status(&p, "b", "1 1 0 1", "SufficientPods");
    CHECK_INT(jlen(jgetc(obj_status(p.f.obj), "disruptedPods")), 0);
    strbuf_done(&now);
    inner_done(&p);
}

/* ---- events ---- */

static void make_event(struct inner *p, const char *name)
{
    str body = text_of(&p->f,
                       "{'metadata':{'name':'%s'},'involvedObject':{'kind':'Pod','name':'x',"
                       "'namespace':'ns'},'reason':'R','message':'m','type':'Normal'}",
                       name);
    CHECK_INT(create(&p->f, &kind_event, "ns", body.p), 201);
}

TEST(events_go_after_an_hour)
{
    struct inner p;
    inner_init(&p);
    make_event(&p, "e1");
    fixture_run(&p.f, 30 * USEC_PER_MIN);
    make_event(&p, "e2");
    fixture_run(&p.f, 29 * USEC_PER_MIN);
    CHECK_INT(get(&p.f, &kind_event, "ns", "e1"), 200);
    fixture_run(&p.f, 3 * USEC_PER_MIN);
    CHECK_INT(get(&p.f, &kind_event, "ns", "e1"), 404);
    CHECK_INT(get(&p.f, &kind_event, "ns", "e2"), 200);
    fixture_run(&p.f, 30 * USEC_PER_MIN);
    CHECK_INT(get(&p.f, &kind_event, "ns", "e2"), 404);
    inner_done(&p);
}

TEST(events_seen_again_stay_but_not_on_their_reporters_word_alone)
{
    struct inner p;
    inner_init(&p);
    make_event(&p, "again");
    make_event(&p, "liar");
    fixture_run(&p.f, 50 * USEC_PER_MIN);
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(loop_wall(p.f.loop), &now);
    str seen = text_of(&p.f, "{'lastTimestamp':'%.*s'}", STR_ARG(strbuf_str(&now)));
    CHECK_INT(patch(&p.f, &kind_event, "ns", "again", API_PATCH_MERGE, seen.p), 200);
    CHECK_INT(patch(&p.f, &kind_event, "ns", "liar", API_PATCH_MERGE,
                    "{'lastTimestamp':'9999-01-01T00:00:00Z'}"),
              200);
    fixture_run(&p.f, 30 * USEC_PER_MIN);
    CHECK_INT(get(&p.f, &kind_event, "ns", "again"), 200);
    fixture_run(&p.f, 32 * USEC_PER_MIN);
    CHECK_INT(get(&p.f, &kind_event, "ns", "again"), 404);
    CHECK_INT(get(&p.f, &kind_event, "ns", "liar"), 200);
    fixture_run(&p.f, 26 * USEC_PER_HOUR);
    CHECK_INT(get(&p.f, &kind_event, "ns", "liar"), 404);
    strbuf_done(&now);
    inner_done(&p);
}
