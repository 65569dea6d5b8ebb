/* room: where there is room for a gang, who has the rest, and what would help. */
#include "explain/documents/room.h"
#include "explain/documents/test-picture.h"

enum { MAX_TEST_ADVICE = 8 };

/* "3 w pods, 2 fit; 8 nvidia.com/gpu each; nearest n1 1 of 1, n2 0 of 1; held by x-0 8" and the
 * advice, a line each. */
static str room_text(struct test_picture *t)
{
    struct arena *a = &t->arena;
    struct strbuf b = STRBUF_INIT(1 << 20);
    str advice[MAX_TEST_ADVICE];
    struct room r;
    if (!room_of_gang(&t->picture, tp_must(t, PICTURE_GANGS, "llm-0"), a, &r))
        return STR("nothing waits\n");
    strbuf_printf(&b, "%lld %.*s, %lld fit", (long long)r.need, STR_ARG(r.role),
                  (long long)r.total);
    if (r.resource.len)
        strbuf_printf(&b, "; %.*s %.*s each", STR_ARG(room_amount(a, r.resource, r.each)),
                      STR_ARG(r.resource));
    for (size_t i = 0; i < r.n_best; i++)
        strbuf_printf(&b, "%s%.*s %lld of %lld", i ? ", " : "; nearest ", STR_ARG(r.best[i].name),
                      (long long)r.best[i].slots, (long long)r.best[i].whole);
    for (size_t i = 0; i < r.n_holders; i++)
        strbuf_printf(&b, "%s%.*s %.*s", i ? ", " : "; held by ", STR_ARG(r.holders[i].gang),
                      STR_ARG(room_amount(a, r.resource, r.holders[i].amount)));
    strbuf_add_char(&b, '\n');
    size_t n = room_advice(&r, a, advice, MAX_TEST_ADVICE);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "- %.*s\n", STR_ARG(advice[i]));
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

struct room_case {
    const char *name, *lines, *want;
};

static void check_room(const struct room_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct test_picture *t = tp_new(cases[i].lines);
        if (!CHECK_CSTR(room_text(t), cases[i].want))
            test_note("case: %s", cases[i].name);
        tp_free(t);
    }
}
#define CHECK_ROOM(cases) check_room(cases, ARRAY_LEN(cases))

#define GPU "nvidia.com/gpu"

TEST(what_waits_is_counted)
{
    static const struct room_case cases[] = {
        {"all are on nodes", "gang llm-0\npods llm-0-w 2 on n1\nnode n1\n", "nothing waits\n"},
        {"none is there", "gang llm-0\nnode n1\n", "nothing waits\n"},
        {"there is room: nothing would help", "gang llm-0\npods llm-0-w 2 asks cpu 4\nnode n1\n",
         "2 w, 2 fit; 4 cpu each; nearest n1 2 of 2\n"},
        {"those on nodes count for the minimum, those that go do not",
         "gang llm-0\nclique llm-0-w min 3\npod llm-0-w-0 on n1 asks cpu 4\n"
         "pod llm-0-w-1 asks cpu 4\npod llm-0-w-2 asks cpu 4\npod llm-0-w-3 asks cpu 4 going "
         "12:00:00\nnodes n 2\n",
         "2 w, 3 fit; 4 cpu each; nearest n2 2 of 2, n1 1 of 2\n"},
        {"only the minimum is needed",
         "gang llm-0\nclique llm-0-w min 1\npods llm-0-w 5 asks cpu 8\nnode n1\n",
         "1 w, 1 fit; 8 cpu each; nearest n1 1 of 1\n"},
        {"roles that ask for the same count together",
         "gang llm-0\npods llm-0-a 1 asks cpu 8\npods llm-0-b 1 asks cpu 8\nnode n1\n",
         "2 a+b, 1 fit; 8 cpu each; nearest n1 1 of 1\n"
         "- add nodes: the cluster takes only 1 a+b pod even when it is empty\n"
         "- ask for less: at most 1 of the 2 a+b pods fits, not counting other roles\n"},
    };
    CHECK_ROOM(cases);
}

TEST(what_would_make_room_is_told)
{
    static const struct room_case cases[] = {
        {"there are no nodes", "gang llm-0\npods llm-0-w 2 asks cpu 4\n",
         "2 w, 0 fit\n- add nodes: there are none\n"},
        {"one too few on one node",
         "gang llm-0\npods llm-0-w 2 asks " GPU " 8\npod x-0-a-0 on n1 asks " GPU " 1\n"
         "nodes n 2 has " GPU " 8\n",
         "2 w, 1 fit; 8 nvidia.com/gpu each; nearest n2 1 of 1, n1 0 of 1; held by x-0 1\n"
         "- free 1 nvidia.com/gpu on n1, where 7 of 8 are free: room for 1 more w pod\n"
         "- ask for less: at most 1 of the 2 w pods fits, not counting other roles\n"
         "- give it a priority above that of gang x-0, which holds 1 nvidia.com/gpu\n"},
        {"several pods' worth",
         "gang llm-0\npods llm-0-w 2 asks " GPU " 8\npod x-0-a-0 on n1 asks " GPU " 8\n"
         "pod x-0-a-1 on n2 asks " GPU " 8\nnodes n 2 has " GPU " 8\n",
         "2 w, 0 fit; 8 nvidia.com/gpu each; nearest n1 0 of 1, n2 0 of 1; held by x-0 16\n"
         "- free 16 nvidia.com/gpu: room for 2 more w pods\n"
         "- give it a priority above that of gang x-0, which holds 16 nvidia.com/gpu\n"},
        {"the cluster is too small",
         "gang llm-0\npods llm-0-w 3 asks " GPU " 8\nnodes n 2 has " GPU " 8\n",
         "3 w, 2 fit; 8 nvidia.com/gpu each; nearest n1 1 of 1, n2 1 of 1\n"
         "- add nodes: the cluster takes only 2 w pods even when it is empty\n"
         "- ask for less: at most 2 of the 3 w pods fit, not counting other roles\n"},
        {"no node has such a thing", "gang llm-0\npods llm-0-w 1 asks " GPU " 8\nnodes n 2\n",
         "1 w, 0 fit; 8 nvidia.com/gpu each; nearest n1 0 of 0, n2 0 of 0\n"
         "- no node is large enough: a w pod asks for 8 nvidia.com/gpu, the largest has 0\n"},
        {"no node has so much",
         "gang llm-0\npods llm-0-w 1 asks " GPU " 9\nnode n1 has " GPU " 8\nnode n2 has " GPU
         " 4\n",
         "1 w, 0 fit; 9 nvidia.com/gpu each; nearest n1 0 of 0, n2 0 of 0\n"
         "- no node is large enough: a w pod asks for 9 nvidia.com/gpu, the largest has 8\n"},
        {"amounts of memory that differ look different",
         "gang llm-0\npods llm-0-w 1 asks memory 1600Mi\nnode n1 has memory 1500Mi\n",
         "1 w, 0 fit; 1600Mi memory each; nearest n1 0 of 0\n"
         "- no node is large enough: a w pod asks for 1600Mi memory, the largest has 1500Mi\n"},
        {"parts of a CPU", "gang llm-0\npods llm-0-w 1 asks cpu 1500m\nnode n1 has cpu 1\n",
         "1 w, 0 fit; 1500m cpu each; nearest n1 0 of 0\n"
         "- no node is large enough: a w pod asks for 1500m cpu, the largest has 1\n"},
        {"each role fits, not both",
         "gang llm-0\npods llm-0-a 2 asks " GPU " 4\npods llm-0-b 2 asks " GPU " 8\n"
         "nodes n 2 has " GPU " 8\n",
         "2 b, 2 fit; 8 nvidia.com/gpu each; nearest n1 1 of 1, n2 1 of 1\n"
         "- add nodes: the cluster has no room for 2 a pods even when it is empty\n"},
        {"the number of pods of a node", "gang llm-0\npods llm-0-w 3\nnode n1 has pods 2\n",
         "3 w, 2 fit; 1 pods each; nearest n1 2 of 2\n"
         "- add nodes: the cluster takes only 2 w pods even when it is empty\n"
         "- ask for less: at most 2 of the 3 w pods fit, not counting other roles\n"},
    };
    CHECK_ROOM(cases);
}

TEST(nodes_that_do_not_admit_a_pod_are_told)
{
    static const struct room_case cases[] = {
        {"all are cordoned", "gang llm-0\npods llm-0-w 1 asks cpu 1\nnodes n 2 cordoned\n",
         "1 w, 0 fit\n- uncordon nodes: 2 of 2 are cordoned\n"},
        {"one is cordoned, the other full",
         "gang llm-0\npods llm-0-w 2 asks cpu 8\nnode n1\nnode n2 cordoned\n",
         "2 w, 1 fit; 8 cpu each; nearest n1 1 of 1, n2 0 of 0\n"
         "- add nodes: the cluster takes only 1 w pod even when it is empty\n"
         "- uncordon nodes: 1 of 2 are cordoned\n"
         "- ask for less: at most 1 of the 2 w pods fits, not counting other roles\n"},
        {"one is silent", "gang llm-0\npods llm-0-w 1 asks cpu 1\nnode n1 silent\n",
         "1 w, 0 fit\n- bring nodes back: 1 of 1 are not ready (n1)\n"},
        {"many are", "gang llm-0\npods llm-0-w 1 asks cpu 1\nnodes n 5 silent\n",
         "1 w, 0 fit\n- bring nodes back: 5 of 5 are not ready (n1, n2, n3, ...)\n"},
        {"they have other labels",
         "gang llm-0\npod llm-0-w-0 asks cpu 1 {spec: {nodeSelector: {colour: green, size: l}}}\n"
         "nodes n 2\n",
         "1 w, 0 fit\n"
         "- make more nodes admit it: 2 of 2 do not (it asks for colour=green,size=l; taints, "
         "affinity and readiness count too)\n"},
        {"they are tainted", "gang llm-0\npods llm-0-w 1 asks cpu 1\nnodes n 2 tainted x\n",
         "1 w, 0 fit\n"
         "- make more nodes admit it: 2 of 2 do not (taints, selector, affinity or readiness)\n"},
        {"each for its own reason",
         "gang llm-0\npods llm-0-w 1 asks cpu 1\nnode n1 tainted x\nnode n2 cordoned\n"
         "node n3 silent\n",
         "1 w, 0 fit\n"
         "- uncordon nodes: 1 of 3 are cordoned\n"
         "- bring nodes back: 1 of 3 are not ready (n3)\n"
         "- make more nodes admit it: 1 of 3 do not (taints, selector, affinity or readiness)\n"},
    };
    CHECK_ROOM(cases);
}

TEST(domains_are_ranked)
{
    static const struct room_case cases[] = {
        {"the largest is too small",
         "gang llm-0 packed rack\npods llm-0-w 3 asks " GPU " 8\n"
         "node n1 rack r1 has " GPU " 8\nnode n2 rack r1 has " GPU " 8\n"
         "node n3 rack r2 has " GPU " 8\nnode n4 rack r2 has " GPU " 8\n",
         "3 w, 4 fit; 8 nvidia.com/gpu each; nearest r1 2 of 2, r2 2 of 2\n"
         "- add nodes: the largest rack takes only 2 w pods even when it is empty\n"
         "- let it span more than one rack: it needs room for 3 pods, and the cluster has room for "
         "4\n"
         "- ask for less: at most 2 of the 3 w pods fit, not counting other roles\n"},
        {"others are in the way, least in r2",
         "gang llm-0 packed rack\npods llm-0-w 2 asks " GPU " 8\n"
         "node n1 rack r1 has " GPU " 8\nnode n2 rack r1 has " GPU " 8\n"
         "node n3 rack r2 has " GPU " 8\nnode n4 rack r2 has " GPU " 8\n"
         "pod x-0-a-0 on n1 asks " GPU " 8\npod x-0-a-1 on n2 asks " GPU " 8\n"
         "pod y-0-a-0 on n3 asks " GPU " 8\n",
         "2 w, 1 fit; 8 nvidia.com/gpu each; nearest r2 1 of 2, r1 0 of 2; held by x-0 16, y-0 8\n"
         "- free 8 nvidia.com/gpu in r2: room for 1 more w pod\n"
         "- ask for less: at most 1 of the 2 w pods fits, not counting other roles\n"
         "- give it a priority above that of gang x-0, which holds 16 nvidia.com/gpu\n"},
        {"no node has the label: nothing can be inside of one, nor outside",
         "gang llm-0 packed zone\npods llm-0-w 2 asks cpu 1\nnodes n 2\n",
         "2 w, 16 fit; 1 cpu each\n"
         "- label the nodes, or correct the key of that level in the ClusterTopologyBinding: no "
         "node has the label zone\n"},
        {"a level of one clique only",
         "gang llm-0 {spec: {podgroups: [{name: llm-0-w, minReplicas: 2, podReferences: [{name: "
         "llm-0-w-0}, {name: llm-0-w-1}], topologyConstraint: {packConstraint: {required: "
         "rack}}}]}}\npods llm-0-w 2 asks cpu 8\nnode n1 rack r1\nnode n2 rack r2\n",
         "2 w, 2 fit; 8 cpu each; nearest r1 1 of 1, r2 1 of 1\n"
         "- add nodes: the largest rack takes only 1 w pod even when it is empty\n"
         "- let it span more than one rack: it needs room for 2 pods, and the cluster has room for "
         "2\n"
         "- ask for less: at most 1 of the 2 w pods fits, not counting other roles\n"},
    };
    CHECK_ROOM(cases);
}

TEST(those_who_hold_it_are_ranked)
{
    static const struct room_case cases[] = {
        {"the set itself is not in its own way; three of the others, the largest first",
         "gang llm-0\npods llm-0-w 1 asks cpu 8\n"
         "pod llm-1-w-0 on n1 asks cpu 1\npod a-0-x-0 on n1 asks cpu 1\npod b-0-x-0 on n1 asks cpu "
         "2\npod c-0-x-0 on n2 asks cpu 2\npod d-0-x-0 on n2 asks cpu 3\nnodes n 2\n",
         "1 w, 0 fit; 8 cpu each; nearest n1 0 of 1, n2 0 of 1; held by d-0 3, b-0 2, c-0 2\n"
         "- free 4 cpu on n1, where 4 of 8 are free: room for 1 more w pod\n"
         "- give it a priority above that of gang d-0, which holds 3 cpu\n"},
        {"pods that have ended, and pods of no gang",
         "gang llm-0\npods llm-0-w 1 asks cpu 8\npod a-0-x-0 on n1 asks cpu 4 phase Succeeded\n"
         "pod b-0-x-0 on n1 asks cpu 4 {metadata: {labels: null}}\nnode n1\n",
         "1 w, 0 fit; 8 cpu each; nearest n1 0 of 1\n"
         "- free 4 cpu on n1, where 4 of 8 are free: room for 1 more w pod\n"},
    };
    CHECK_ROOM(cases);
}

TEST(amounts_are_written_as_people_write_them)
{
    static const struct {
        const char *resource;
        int64_t amount;
        const char *want;
    } cases[] = {
        {"cpu", 0, "0"},
        {"cpu", 1, "1m"},
        {"cpu", 1500, "1500m"},
        {"cpu", 64000, "64"},
        {"nvidia.com/gpu", 8, "8"},
        {"pods", 110, "110"},
        {"memory", 0, "0"},
        {"memory", 1000, "1000"},
        {"memory", 4 << 10, "4Ki"},
        {"memory", 512 << 20, "512Mi"},
        {"memory", (int64_t)1536 << 20, "1536Mi"},
        {"memory", (int64_t)64 << 30, "64Gi"},
        /* As nodes have it: rounded down. */
        {"memory", (int64_t)65837284 << 10, "62.7Gi"},
        {"memory", ((int64_t)3 << 20) + 1, "3.0Mi"},
        {"memory", (int64_t)1 << 50, "1048576Gi"},
        {"ephemeral-storage", (int64_t)20 << 30, "20Gi"},
        {"hugepages-2Mi", 64 << 20, "64Mi"},
        {"example.com/memory", 1 << 30, "1073741824"},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_CSTR(room_amount(&a, str_of(cases[i].resource), cases[i].amount), cases[i].want);
    arena_done(&a);
}

TEST(advice_has_an_end)
{
    struct test_picture *t = tp_new("gang llm-0\npods llm-0-w 3 asks cpu 8\nnode n1\n"
                                    "node n2 cordoned\nnode n3 silent\nnode n4 tainted x\n");
    struct room r;
    str advice[2];
    REQUIRE(room_of_gang(&t->picture, tp_must(t, PICTURE_GANGS, "llm-0"), &t->arena, &r));
    CHECK_INT(room_advice(&r, &t->arena, advice, 2), 2);
    CHECK_INT(room_advice(&r, &t->arena, advice, 0), 0);
    tp_free(t);
}
