/* Plans as text, and what the constructors put into a write. */
#include "base/test.h"
#include "client/plan.h"

static struct doc *parse(const char *json)
{
    struct doc *d = doc_parse(str_of(json), NULL, NULL);
    REQUIRE(d);
    return d;
}

static struct obj *make_pod(void)
{
    kinds_init();
    return obj_new(&kind_pod,
                   parse("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                         "\"namespace\":\"ns\",\"uid\":\"u1\",\"resourceVersion\":\"12\"}}"),
                   NULL);
}

struct rig {
    struct arena arena;
    struct plan plan;
    struct obj *pod;
    struct strbuf out;
};

static void rig_init(struct rig *r)
{
    *r = (struct rig){.pod = make_pod(), .out = STRBUF_INIT(65536)};
    plan_init(&r->plan, &r->arena);
}

static void rig_done(struct rig *r)
{
    obj_unref(r->pod);
    plan_done(&r->plan);
    arena_done(&r->arena);
    strbuf_done(&r->out);
}

static str print(struct rig *r)
{
    plan_print(&r->plan, &r->out);
    return strbuf_str(&r->out);
}

TEST(plan_empty_prints_nothing)
{
    struct rig r;
    rig_init(&r);
    CHECK(plan_is_empty(&r.plan));
    CHECK_CSTR(print(&r), "");
    rig_done(&r);
}

TEST(plan_prints_stage_by_stage)
{
    struct rig r;
    rig_init(&r);
    struct plan *p = &r.plan;
    struct plan_write *w = plan_delete(p, 1, r.pod);
    plan_why(w, p, "%d of %d are too many", 1, 3);
    w->rv = 12;
    plan_create(p, 0, &kind_config_map, STR("ns"), STR("c"), parse("{}"));
    plan_create(p, 0, &kind_node, STR_NONE, STR("n1"), parse("{}"));
    plan_merge_patch(p, 7, r.pod, STR("status"), parse("{\"status\":{\"phase\":\"Running\"}}"), 12);
    plan_verify_absent(plan_delete(p, 1, r.pod), &kind_node, STR_NONE, STR("n1"), STR_NONE);
    plan_act(p, &w, sizeof(w), "start %s, attempt %d", "a", 2);
    plan_event(p, r.pod, true, STR("Killed"), "it had %s", "to be");
    plan_look_again(p, 11 * USEC_PER_SEC);
    plan_look_again(p, 10 * USEC_PER_SEC);
    plan_look_again(p, 10 * USEC_PER_SEC + 2);
    CHECK(!plan_is_empty(p));
    CHECK_CSTR(print(&r),
               "act start a, attempt 2\n"
               "[0] create ConfigMap ns/c\n"
               "[0] create Node n1\n"
               "[1] delete Pod ns/p if rv 12: 1 of 3 are too many\n"
               "[1] delete Pod ns/p if absent Node n1\n"
               "[7] patch Pod ns/p status if rv 12 "
               "{\"status\":{\"phase\":\"Running\"},\"metadata\":{\"resourceVersion\":\"12\"}}\n"
               "event Warning Killed Pod ns/p: it had to be\n"
               "look again in 10s\n");
    rig_done(&r);
}

TEST(plan_prints_the_other_writes)
{
    struct rig r;
    rig_init(&r);
    struct plan *p = &r.plan;
    plan_apply(p, 0, &kind_pod, STR("ns"), STR("p"), STR("status"), STR("m"), parse("{\"a\":1}"));
    plan_json_patch(p, 0, r.pod, STR_NONE, parse("[]"));
    plan_update(p, 0, r.pod, STR_NONE, parse("{}"));
    plan_bind(p, 0, r.pod, STR("n1"), 0);
    plan_bind(p, 0, r.pod, STR("n2"), 17);
    CHECK_CSTR(print(&r),
               "[0] apply Pod ns/p status {\"a\":1}\n"
               "[0] patch Pod ns/p []\n"
               "[0] update Pod ns/p\n"
               "[0] post Pod ns/p binding {\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":"
               "{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u1\"},\"target\":{\"apiVersion\":"
               "\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}\n"
               "[0] post Pod ns/p binding {\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":"
               "{\"name\":\"p\",\"namespace\":\"ns\",\"resourceVersion\":\"17\",\"uid\":\"u1\"},"
               "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n2\"}}\n");
    rig_done(&r);
}

TEST(plan_long_patches_are_cut)
{
    struct rig r;
    rig_init(&r);
    char text[1000];
    memset(text, 'x', sizeof(text));
    memcpy(text, "{\"k\":\"", 6);
    memcpy(text + 997, "\"}", 3);
    plan_merge_patch(&r.plan, 0, r.pod, STR_NONE, parse(text), 0);
    str out = print(&r);
    CHECK(str_ends(out, STR("xxx... (999 bytes)\n")));
    CHECK_INT(out.len, strlen("[0] patch Pod ns/p ") + 400 + strlen("... (999 bytes)\n"));
    rig_done(&r);
}

TEST(plan_writes_carry_their_conditions)
{
    struct rig r;
    rig_init(&r);
    struct plan_write *w = plan_delete(&r.plan, 2, r.pod);
    CHECK_CSTR(w->uid, "u1");
    CHECK_INT(w->rv, 0);
    CHECK_INT(w->grace_seconds, -1);
    CHECK_INT(w->propagation, API_BACKGROUND);
    w = plan_merge_patch(&r.plan, 0, r.pod, STR_NONE,
                         parse("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 12);
    CHECK_CSTR(jstr(jpath(doc_root(w->body), "metadata.resourceVersion")), "12");
    CHECK_CSTR(jstr(jpath(doc_root(w->body), "metadata.labels.a")), "b");
    w = plan_apply(&r.plan, 0, &kind_pod, STR("ns"), STR("p"), STR_NONE, STR("me"), parse("{}"));
    CHECK_INT(w->patch, API_PATCH_APPLY);
    CHECK_CSTR(w->manager, "me");
    rig_done(&r);
}

TEST(plan_outlives_the_objects_it_was_made_from)
{
    struct rig r;
    rig_init(&r);
    plan_delete(&r.plan, 0, r.pod);
    plan_event(&r.plan, r.pod, false, STR("Gone"), "bye");
    obj_unref(TAKE_PTR(r.pod));
    CHECK_CSTR(print(&r), "[0] delete Pod ns/p\nevent Normal Gone Pod ns/p: bye\n");
    rig_done(&r);
}
