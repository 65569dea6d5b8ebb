/* What becomes of nodes and their pods, on the ordinary runtime over a memory store. */
#include "apiserver/test-apiserver-fixture.h"
#include "controllers/node_control.h"
#include "grove/types.h"

struct plane {
    struct fixture f;
    struct runtime *runtime;
    struct api *cache_api, *api;
    struct node_control_options options;
};

/* Nodes with this label are of the test's own process. */
static enum node_known known(const void *ctx, const struct obj *node)
{
    (void)ctx;
    str label = obj_label(node, STR("known"));
    return str_is(label, "alive")  ? NODE_ALIVE
           : str_is(label, "dead") ? NODE_DEAD
                                   : NODE_HEARTBEATS;
}

static void plane_init(struct plane *p)
{
    *p = (struct plane){.options = {.known = known}};
    fixture_init(&p->f);
    p->cache_api = apiserver_local(p->f.server, "grove-cache");
    p->api = apiserver_local(p->f.server, "node-controller");
    p->runtime = runtime_new(p->f.loop, p->cache_api);
    node_control_add(p->runtime, p->api, &p->options);
    runtime_start(p->runtime);
    fixture_run(&p->f, 10 * USEC_PER_MSEC);
    CHECK(runtime_is_synced(p->runtime));
}

static void plane_done(struct plane *p)
{
    runtime_free(p->runtime);
    api_free(p->cache_api);
    api_free(p->api);
    fixture_done(&p->f);
}

/* Exactly so long. */
static void pass(struct plane *p, usec how_long)
{
    (void)loop_run_until(p->f.loop, loop_now(p->f.loop) + how_long, UINT64_MAX);
}

static const struct obj *node_at(struct plane *p, const char *name)
{
    const struct obj *o = store_get(p->f.store, &kind_node, STR_NONE, str_of(name));
    REQUIRE(o != NULL);
    return o;
}

static str condition_text(const struct obj *o, const char *type, const char *what)
{
    jval c = condition_find(jgetc(obj_status(o), "conditions"), str_of(type));
    return jstr(jget(c, str_of(what)));
}

static str readiness(struct plane *p, const char *name)
{
    return condition_text(node_at(p, name), "Ready", "status");
}

/* "key:effect key:effect", in order, without the common prefix. */
static str taints(struct plane *p, const char *name)
{
    struct strbuf b = STRBUF_INIT(4096);
    for (struct jiter it = jiter(jgetc(obj_spec(node_at(p, name)), "taints")); jnext(&it);) {
        str key = jstr(jgetc(it.value, "key"));
        (void)str_cut(&key, '/');
        strbuf_printf(&b, "%s%.*s:%.*s", b.len ? " " : "", STR_ARG(key),
                      STR_ARG(jstr(jgetc(it.value, "effect"))));
    }
    str text = arena_str(&p->f.arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void set_conditions(struct plane *p, const char *name, const char *conditions)
{
    CHECK_INT(patch_sub(&p->f, &kind_node, "", name, "status", API_PATCH_STRATEGIC,
                        text_of(&p->f, "{'status':{'conditions':[%s]}}", conditions).p),
              200);
}

#define READY "{'type':'Ready','status':'True','reason':'KubeletReady'}"

static void add_node(struct plane *p, const char *name, const char *labels)
{
    CHECK_INT(create(&p->f, &kind_node, "",
                     text_of(&p->f, "{'metadata':{'name':'%s','labels':{%s}}}", name, labels).p),
              201);
    set_conditions(p, name,
                   READY ",{'type':'MemoryPressure','status':'False'},{'type':'DiskPressure',"
                         "'status':'False'},{'type':'PIDPressure','status':'False'}");
}

/* As a kubelet does it: one Lease, renewed. */
static void beat(struct plane *p, const char *name)
{
    str spec = text_of(&p->f, "'spec':{'holderIdentity':'%s','leaseDurationSeconds':%d}", name,
                       (int)(loop_now(p->f.loop) / USEC_PER_SEC % 1000000 + 40));
    if (store_get(p->f.store, &kind_lease, STR("kube-node-lease"), str_of(name)))
        CHECK_INT(patch(&p->f, &kind_lease, "kube-node-lease", name, API_PATCH_MERGE,
                        text_of(&p->f, "{%.*s}", STR_ARG(spec)).p),
                  200);
    else
        CHECK_INT(create(&p->f, &kind_lease, "kube-node-lease",
                         text_of(&p->f, "{'metadata':{'name':'%s'},%.*s}", name, STR_ARG(spec)).p),
                  201);
}

static void add_pod(struct plane *p, const char *name, const char *node, const char *spec)
{
    CHECK_INT(create(&p->f, &kind_pod, "ns",
                     text_of(&p->f,
                             "{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'c','image':"
                             "'x:1'}],'nodeName':'%s'%s}}",
                             name, node, spec)
                         .p),
              201);
    CHECK_INT(patch_sub(&p->f, &kind_pod, "ns", name, "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Running','conditions':[{'type':'PodScheduled',"
                        "'status':'True','lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':"
                        "'Ready','status':'True'}]}}"),
              200);
}

static const struct obj *pod_at(struct plane *p, const char *name)
{
    return store_get(p->f.store, &kind_pod, STR("ns"), str_of(name));
}

static bool is_going(struct plane *p, const char *name)
{
    const struct obj *pod = pod_at(p, name);
    return !pod || pod->deleting;
}

#define TOLERATES(seconds)                                                                  \
    ",'tolerations':[{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':" \
    "'NoExecute','tolerationSeconds':" seconds "},{'key':'node.kubernetes.io/not-ready',"   \
    "'operator':'Exists','effect':'NoExecute','tolerationSeconds':" seconds "}]"

/* ---- heartbeats ---- */

TEST(a_node_without_heartbeats_is_unknown_after_forty_seconds)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "");
    add_node(&p, "b", "'known':'alive'");
    for (int i = 0; i < 12; i++) {
        beat(&p, "a");
        pass(&p, 10 * USEC_PER_SEC);
        CHECK_CSTR(readiness(&p, "a"), "True");
    }
    /* The last heartbeat was ten seconds ago. */
    pass(&p, 29 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "True");
    CHECK_CSTR(taints(&p, "a"), "");
    pass(&p, 2 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "Unknown");
    CHECK_CSTR(condition_text(node_at(&p, "a"), "Ready", "reason"), "NodeStatusUnknown");
    CHECK_CSTR(condition_text(node_at(&p, "a"), "Ready", "message"),
               "Kubelet stopped posting node status.");
    CHECK_CSTR(condition_text(node_at(&p, "a"), "DiskPressure", "status"), "Unknown");
    CHECK_CSTR(condition_text(node_at(&p, "a"), "PIDPressure", "reason"), "NodeStatusUnknown");
    CHECK_CSTR(taints(&p, "a"), "unreachable:NoSchedule unreachable:NoExecute");
    CHECK_CSTR(readiness(&p, "b"), "True");
    /* It is back: it says so itself. */
    beat(&p, "a");
    set_conditions(&p, "a", READY);
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(taints(&p, "a"), "");
    pass(&p, 38 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "True");
    plane_done(&p);
}

TEST(a_node_is_alive_by_its_status_alone)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "");
    for (int i = 0; i < 5; i++) {
        struct strbuf t = STRBUF_INIT(64);
        pass(&p, 30 * USEC_PER_SEC);
        time_format_rfc3339(loop_wall(p.f.loop), &t);
        set_conditions(&p, "a",
                       text_of(&p.f, "{'type':'Ready','status':'True','lastHeartbeatTime':'%.*s'}",
                               STR_ARG(strbuf_str(&t)))
                           .p);
        strbuf_done(&t);
        CHECK_CSTR(readiness(&p, "a"), "True");
    }
    pass(&p, 42 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "Unknown");
    plane_done(&p);
}

/* Its own clock is an hour ahead, and somebody labels it once: that is no heartbeat for ever. */
TEST(a_node_with_a_wrong_clock_does_not_live_for_ever)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "");
    struct strbuf t = STRBUF_INIT(64);
    time_format_rfc3339(loop_wall(p.f.loop) + USEC_PER_HOUR, &t);
    set_conditions(&p, "a",
                   text_of(&p.f, "{'type':'Ready','status':'True','lastHeartbeatTime':'%.*s'}",
                           STR_ARG(strbuf_str(&t)))
                       .p);
    strbuf_done(&t);
    pass(&p, 30 * USEC_PER_SEC);
    CHECK_INT(
        patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE, "{'metadata':{'labels':{'x':'y'}}}"),
        200);
    pass(&p, 42 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "Unknown");
    plane_done(&p);
}

TEST(a_node_that_never_said_anything_has_a_minute)
{
    struct plane p;
    plane_init(&p);
    CHECK_INT(create(&p.f, &kind_node, "", "{'metadata':{'name':'a'}}"), 201);
    pass(&p, 58 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "");
    pass(&p, 4 * USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "a"), "Unknown");
    CHECK_CSTR(condition_text(node_at(&p, "a"), "MemoryPressure", "reason"),
               "NodeStatusNeverUpdated");
    plane_done(&p);
}

TEST(nodes_of_the_own_process_need_no_heartbeats)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    pass(&p, USEC_PER_HOUR);
    CHECK_CSTR(readiness(&p, "a"), "True");
    CHECK_INT(patch(&p.f, &kind_node, "", "b", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'known':'dead'}}}"),
              200);
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(readiness(&p, "b"), "Unknown");
    CHECK_CSTR(taints(&p, "b"), "unreachable:NoSchedule unreachable:NoExecute");
    plane_done(&p);
}

/* ---- taints ---- */

TEST(conditions_are_taints)
{
    static const struct {
        const char *conditions, *taints;
    } cases[] = {
        {"{'type':'MemoryPressure','status':'True'}", "memory-pressure:NoSchedule"},
        {"{'type':'DiskPressure','status':'True'}", "disk-pressure:NoSchedule"},
        {"{'type':'PIDPressure','status':'True'}", "pid-pressure:NoSchedule"},
        {"{'type':'NetworkUnavailable','status':'True'}", "network-unavailable:NoSchedule"},
        {"{'type':'NetworkUnavailable','status':'False'}", ""},
        {"{'type':'Ready','status':'False'}", "not-ready:NoSchedule not-ready:NoExecute"},
        {"{'type':'Ready','status':'Unknown'}", "unreachable:NoSchedule unreachable:NoExecute"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plane p;
        plane_init(&p);
        add_node(&p, "a", "'known':'alive'");
        add_node(&p, "b", "'known':'alive'");
        set_conditions(&p, "a", cases[i].conditions);
        pass(&p, USEC_PER_SEC);
        CHECK_CSTR(taints(&p, "a"), cases[i].taints);
        set_conditions(&p, "a",
                       READY ",{'type':'MemoryPressure','status':'False'},{'type':'DiskPressure',"
                             "'status':'False'},{'type':'PIDPressure','status':'False'},{'type':"
                             "'NetworkUnavailable','status':'False'}");
        pass(&p, USEC_PER_SEC);
        CHECK_CSTR(taints(&p, "a"), "");
        plane_done(&p);
    }
}

TEST(a_closed_node_has_a_taint_and_others_stay)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    CHECK_INT(patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE,
                    "{'spec':{'unschedulable':true,'taints':[{'key':'x.io/gpu','effect':"
                    "'NoSchedule'}]}}"),
              200);
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(taints(&p, "a"), "gpu:NoSchedule unschedulable:NoSchedule");
    CHECK_INT(patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE, "{'spec':{'unschedulable':null}}"),
              200);
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(taints(&p, "a"), "gpu:NoSchedule");
    plane_done(&p);
}

TEST(a_lost_node_that_is_lost_otherwise_stays_as_long_lost)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    set_conditions(&p, "a", "{'type':'Ready','status':'False'}");
    pass(&p, USEC_PER_SEC);
    jval taint = jat(jgetc(obj_spec(node_at(&p, "a")), "taints"), 1);
    str since = arena_str(&p.f.arena, jstr(jgetc(taint, "timeAdded")));
    CHECK(since.len > 0);
    pass(&p, USEC_PER_MIN);
    set_conditions(&p, "a", "{'type':'Ready','status':'Unknown'}");
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(taints(&p, "a"), "unreachable:NoExecute unreachable:NoSchedule");
    taint = jat(jgetc(obj_spec(node_at(&p, "a")), "taints"), 0);
    CHECK_STR(jstr(jgetc(taint, "timeAdded")), since);
    plane_done(&p);
}

/* ---- zones ---- */

static int tainted(struct plane *p, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        str t = taints(p, text_of(&p->f, "n%02d", i).p);
        n += str_find(t, STR("NoExecute")) >= 0;
    }
    return n;
}

static void add_zone(struct plane *p, const char *zone, int from, int to)
{
    for (int i = from; i < to; i++)
        add_node(p, text_of(&p->f, "n%02d", i).p,
                 text_of(&p->f, "'known':'alive','topology.kubernetes.io/zone':'%s'", zone).p);
}

static void lose(struct plane *p, int from, int to)
{
    for (int i = from; i < to; i++)
        set_conditions(p, text_of(&p->f, "n%02d", i).p, "{'type':'Ready','status':'Unknown'}");
}

TEST(nodes_of_a_zone_are_tainted_one_after_the_other)
{
    struct plane p;
    plane_init(&p);
    add_zone(&p, "a", 0, 8);
    add_zone(&p, "b", 8, 10);
    lose(&p, 0, 3);
    lose(&p, 8, 9);
    pass(&p, USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 8), 1);
    CHECK_INT(tainted(&p, 8, 10), 1);
    pass(&p, 8 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 8), 1);
    pass(&p, 3 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 8), 2);
    pass(&p, 11 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 8), 3);
    plane_done(&p);
}

TEST(a_small_zone_that_is_mostly_lost_keeps_its_pods)
{
    struct plane p;
    plane_init(&p);
    add_zone(&p, "a", 0, 5);
    lose(&p, 0, 3);
    pass(&p, USEC_PER_MIN);
    /* The first went before there were more than two. */
    int before = tainted(&p, 0, 5);
    CHECK(before <= 1);
    pass(&p, USEC_PER_HOUR);
    CHECK_INT(tainted(&p, 0, 5), before);
    /* Two are few. */
    set_conditions(&p, "n02", READY);
    pass(&p, 30 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 5), 2);
    plane_done(&p);
}

TEST(a_zone_that_is_lost_altogether_is_given_up_while_there_are_others)
{
    struct plane p;
    plane_init(&p);
    add_zone(&p, "a", 0, 3);
    add_zone(&p, "b", 3, 4);
    lose(&p, 0, 3);
    pass(&p, 35 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 3), 3);
    plane_done(&p);
}

TEST(with_no_node_ready_anywhere_nothing_is_evicted)
{
    struct plane p;
    plane_init(&p);
    add_zone(&p, "a", 0, 2);
    add_zone(&p, "b", 2, 3);
    lose(&p, 0, 1);
    pass(&p, USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 3), 1);
    lose(&p, 1, 3);
    pass(&p, USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 3), 0);
    pass(&p, USEC_PER_HOUR);
    CHECK_INT(tainted(&p, 0, 3), 0);
    /* One of another zone comes back. */
    set_conditions(&p, "n02", READY);
    pass(&p, 15 * USEC_PER_SEC);
    CHECK_INT(tainted(&p, 0, 2), 2);
    plane_done(&p);
}

/* ---- pods ---- */

TEST(pods_of_a_lost_node_are_not_ready_and_leave_in_time)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    add_pod(&p, "now", "a", TOLERATES("0"));
    add_pod(&p, "ten", "a", TOLERATES("10"));
    add_pod(&p, "default", "a", "");
    add_pod(&p, "stays", "a", ",'tolerations':[{'operator':'Exists'}]");
    add_pod(&p, "elsewhere", "b", TOLERATES("0"));
    set_conditions(&p, "a", "{'type':'Ready','status':'Unknown'}");
    pass(&p, USEC_PER_SEC);
    CHECK_CSTR(condition_text(pod_at(&p, "ten"), "Ready", "status"), "False");
    CHECK_CSTR(condition_text(pod_at(&p, "ten"), "Ready", "reason"), "NodeNotReady");
    CHECK_CSTR(condition_text(pod_at(&p, "ten"), "PodScheduled", "status"), "True");
    CHECK_CSTR(condition_text(pod_at(&p, "stays"), "Ready", "status"), "False");
    CHECK_CSTR(condition_text(pod_at(&p, "elsewhere"), "Ready", "status"), "True");
    CHECK(is_going(&p, "now") && !is_going(&p, "ten") && !is_going(&p, "default"));
    CHECK_CSTR(condition_text(pod_at(&p, "now"), "DisruptionTarget", "reason"),
               "DeletionByTaintManager");
    pass(&p, 8 * USEC_PER_SEC);
    CHECK(!is_going(&p, "ten"));
    pass(&p, 3 * USEC_PER_SEC);
    CHECK(is_going(&p, "ten") && !is_going(&p, "default"));
    pass(&p, 287 * USEC_PER_SEC);
    CHECK(!is_going(&p, "default"));
    pass(&p, 4 * USEC_PER_SEC);
    CHECK(is_going(&p, "default"));
    pass(&p, USEC_PER_DAY);
    CHECK(!is_going(&p, "stays") && !is_going(&p, "elsewhere"));
    plane_done(&p);
}

TEST(pods_of_a_node_that_comes_back_in_time_stay)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    add_pod(&p, "x", "a", TOLERATES("10"));
    set_conditions(&p, "a", "{'type':'Ready','status':'Unknown'}");
    pass(&p, 5 * USEC_PER_SEC);
    set_conditions(&p, "a", READY);
    pass(&p, USEC_PER_HOUR);
    CHECK(!is_going(&p, "x"));
    plane_done(&p);
}

/* A kubelet that is not ready and says so has the last word about its pods. */
TEST(a_node_that_is_not_ready_may_say_that_its_pods_are)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    add_pod(&p, "x", "a", ",'tolerations':[{'operator':'Exists'}]");
    pass(&p, 5 * USEC_PER_SEC);
    set_conditions(&p, "a", "{'type':'Ready','status':'False'}");
    pass(&p, 5 * USEC_PER_SEC);
    CHECK_CSTR(condition_text(pod_at(&p, "x"), "Ready", "status"), "False");
    CHECK_INT(patch_sub(&p.f, &kind_pod, "ns", "x", "status", API_PATCH_STRATEGIC,
                        "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}"),
              200);
    pass(&p, USEC_PER_MIN);
    CHECK_CSTR(condition_text(pod_at(&p, "x"), "Ready", "status"), "True");
    plane_done(&p);
}

TEST(taints_of_users_drive_pods_out_too)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_pod(&p, "out", "a", "");
    add_pod(&p, "other", "a", ",'tolerations':[{'key':'x','value':'2','effect':'NoExecute'}]");
    add_pod(&p, "while", "a",
            ",'tolerations':[{'key':'x','operator':'Equal','value':'1','tolerationSeconds':20,"
            "'effect':'NoExecute'}]");
    add_pod(&p, "stays", "a", ",'tolerations':[{'key':'x','operator':'Exists'}]");
    CHECK_INT(patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE,
                    "{'spec':{'taints':[{'key':'x','value':'1','effect':'NoExecute'}]}}"),
              200);
    pass(&p, USEC_PER_SEC);
    CHECK(is_going(&p, "out") && is_going(&p, "other"));
    CHECK(!is_going(&p, "while") && !is_going(&p, "stays"));
    /* News of the node do not make it longer. */
    for (int i = 0; i < 3; i++) {
        pass(&p, 6 * USEC_PER_SEC);
        CHECK(!is_going(&p, "while"));
        CHECK_INT(patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE,
                        text_of(&p.f, "{'metadata':{'labels':{'i':'%d'}}}", i).p),
                  200);
    }
    pass(&p, 4 * USEC_PER_SEC);
    CHECK(is_going(&p, "while") && !is_going(&p, "stays"));
    /* Who comes later is judged, too. */
    add_pod(&p, "late", "a", "");
    pass(&p, USEC_PER_SEC);
    CHECK(is_going(&p, "late"));
    plane_done(&p);
}

TEST(absurd_tolerations_do_no_harm)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    add_pod(&p, "long", "a", TOLERATES("9223372036854775807"));
    add_pod(&p, "negative", "a", TOLERATES("-5"));
    set_conditions(&p, "a", "{'type':'Ready','status':'Unknown'}");
    pass(&p, USEC_PER_DAY);
    CHECK(!is_going(&p, "long") && is_going(&p, "negative"));
    plane_done(&p);
}

TEST(pods_that_no_node_will_finish_go)
{
    struct plane p;
    plane_init(&p);
    add_node(&p, "a", "'known':'alive'");
    add_node(&p, "b", "'known':'alive'");
    add_pod(&p, "x", "a", "");
    add_pod(&p, "y", "a", "");
    add_pod(&p, "z", "b", "");
    pass(&p, USEC_PER_MIN);
    CHECK_INT(delete (&p.f, &kind_pod, "ns", "x"), 200);
    pass(&p, USEC_PER_MIN);
    CHECK(pod_at(&p, "x") && is_going(&p, "x"));
    /* Its node is not ready, and somebody says that it is off. */
    CHECK_INT(patch(&p.f, &kind_node, "", "a", API_PATCH_MERGE,
                    "{'spec':{'taints':[{'key':'node.kubernetes.io/out-of-service','effect':"
                    "'NoSchedule'}]}}"),
              200);
    pass(&p, USEC_PER_SEC);
    CHECK(pod_at(&p, "x"));
    set_conditions(&p, "a", "{'type':'Ready','status':'Unknown'}");
    pass(&p, USEC_PER_SEC);
    CHECK(!pod_at(&p, "x") && pod_at(&p, "y"));
    CHECK_INT(delete (&p.f, &kind_node, "", "a"), 200);
    pass(&p, USEC_PER_SEC);
    CHECK(!pod_at(&p, "y") && pod_at(&p, "z"));
    /* Bound before its node is heard of. */
    CHECK_INT(create(&p.f, &kind_pod, "ns", POD("early", ",'nodeName':'c'")), 201);
    CHECK_INT(create(&p.f, &kind_pod, "ns", POD("lost", ",'nodeName':'d'")), 201);
    pass(&p, 30 * USEC_PER_SEC);
    CHECK(pod_at(&p, "early") && pod_at(&p, "lost"));
    add_node(&p, "c", "'known':'alive'");
    pass(&p, 15 * USEC_PER_SEC);
    CHECK(pod_at(&p, "early") && !pod_at(&p, "lost"));
    plane_done(&p);
}
