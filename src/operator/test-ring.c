/* See test-ring.h. */
#include "operator/test-ring.h"

#include "base/test.h"
#include "operator/common/clique.h"
#include "operator/operator.h"
#include "json/patch.h"
#include "json/yaml.h"

enum { MAX_TURNS = 60 };

struct ring ring_new(void)
{
    struct ring r = {.world = tw_new()};
    operator_add_indexes(r.world->runtime);
    return r;
}

void ring_free(struct ring *r)
{
    tw_free(r->world);
}

struct plan *ring_plan_pcs(struct ring *r, const char *name)
{
    return tw_plan(r->world, pcs_plan, NULL, &kind_pcs, name);
}

struct plan *ring_plan_pcsg(struct ring *r, const char *name)
{
    return tw_plan(r->world, pcsg_plan, NULL, &kind_pcsg, name);
}

struct plan *ring_plan_pclq(struct ring *r, const char *name)
{
    return tw_plan(r->world, pclq_plan, NULL, &kind_pclq, name);
}

struct plan *ring_plan_gang(struct ring *r, const char *name)
{
    return tw_plan(r->world, gang_plan, NULL, &kind_pod_gang, name);
}

/* ---- settling ---- */

typedef VEC(str) str_vec;

static struct cache_iter all_of(struct ring *r, const struct kind *k)
{
    return cache_all(world_cache(&r->world->world, k), STR_NONE);
}

static void add_names(struct ring *r, const struct kind *k, struct arena *a, str_vec *ret)
{
    struct obj *o;
    for (struct cache_iter it = all_of(r, k); (o = cache_next(&it));)
        *vec_push(ret) = arena_str(a, o->name);
}

static void add_gang_names(struct ring *r, struct arena *a, str_vec *ret)
{
    struct obj *o;
    str base;
    for (struct cache_iter it = all_of(r, &kind_pclq); (o = cache_next(&it));) {
        str name = clique_gang(a, &r->world->world, o, &base);
        if (!str_is_empty(name))
            *vec_push(ret) = arena_str(a, name);
    }
}

typedef struct plan *plan_one(struct ring *r, const char *name);

static size_t turn_kind(struct ring *r, const struct kind *k, plan_one *plan)
{
    struct arena a = ARENA_INIT;
    str_vec names = {0};
    size_t writes = 0;
    add_names(r, k, &a, &names);
    if (k == &kind_pod_gang)
        add_gang_names(r, &a, &names);
    for (size_t i = 0; i < names.len; i++) {
        writes += plan(r, names.p[i].p)->writes.len;
        tw_carry_out(r->world);
    }
    vec_done(&names);
    arena_done(&a);
    return writes;
}

static size_t turn(struct ring *r)
{
    size_t writes = turn_kind(r, &kind_pcs, ring_plan_pcs);
    writes += turn_kind(r, &kind_pcsg, ring_plan_pcsg);
    writes += turn_kind(r, &kind_pclq, ring_plan_pclq);
    writes += turn_kind(r, &kind_pod_gang, ring_plan_gang);
    tw_collect(r->world);
    return writes;
}

size_t ring_settle(struct ring *r)
{
    size_t sum = 0;
    for (int i = 0; i < MAX_TURNS; i++) {
        size_t writes = turn(r);
        if (writes == 0)
            return sum;
        sum += writes;
    }
    test_note("still writing: %.*s", STR_ARG(tw_text(r->world)));
    CHECK(!"the planners never come to an end");
    return sum;
}

static bool run_pod(struct ring *r, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    const char *name = arena_str(&a, pod->name).p;
    bool bound = !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))), did = true;
    if (pod->deleting)
        tw_remove(r->world, &kind_pod, name);
    else if (bound || jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0)
        did = false;
    else
        tw_patch(r->world, &kind_pod, name,
                 "{spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, "
                 "status: 'True'}, {type: PodScheduled, status: 'True'}]}}");
    arena_done(&a);
    return did;
}

static size_t run_all(struct ring *r)
{
    struct arena a = ARENA_INIT;
    str_vec names = {0};
    size_t n = 0;
    add_names(r, &kind_pod, &a, &names);
    for (size_t i = 0; i < names.len; i++)
        n += run_pod(r, tw_must(r->world, &kind_pod, names.p[i].p));
    vec_done(&names);
    arena_done(&a);
    return n;
}

void ring_run_pods(struct ring *r)
{
    (void)run_all(r);
}

void ring_live(struct ring *r)
{
    for (int i = 0; i < MAX_TURNS; i++) {
        (void)ring_settle(r);
        if (run_all(r) == 0)
            return;
    }
    CHECK(!"pods never come to rest");
}

/* ---- checks ---- */

void check_yaml(jval got, const char *yaml)
{
    struct err err = ERR_INIT;
    struct strbuf diff = STRBUF_INIT(100000);
    struct doc *want = yaml_parse_one(str_of(yaml), &err);
    if (!want)
        test_note("%s", err.message);
    REQUIRE(want != NULL);
    json_diff_print(doc_root(want), got, &diff);
    CHECK_CSTR(strbuf_str(&diff), "");
    strbuf_done(&diff);
    doc_unref(want);
}

void check_names(struct ring *r, const struct kind *k, const char *want)
{
    struct strbuf got = STRBUF_INIT(100000);
    struct obj *o;
    for (struct cache_iter it = all_of(r, k); (o = cache_next(&it));)
        strbuf_printf(&got, "%.*s ", STR_ARG(o->name));
    CHECK_CSTR(strbuf_str(&got), want);
    strbuf_done(&got);
}
