/* unfit: what the scheduler wrote for programs, in one sentence. */
#include "explain/documents/unfit.h"

#include "explain/documents/test-picture.h"

static struct obj *gang_of(const char *facts)
{
    struct arena a = ARENA_INIT;
    struct obj *o = tp_obj(arena_printf(&a,
                                        "gang llm-0 True Unschedulable DoesNotFit 'the story' "
                                        "{status: {unschedulable: %s}}",
                                        facts)
                               .p);
    arena_done(&a);
    return o;
}

#define FEW(more) "{cause: TooFew, name: llm-0-w, pods: 6, " more "}"
#define BEST(more) "candidates: [{room: 4, nodes: 20, refusing: 0" more "}]"
#define SHORT(more) "shortage: {resource: nvidia.com/gpu, needs: 160, free: 112}" more

TEST(what_keeps_a_gang_out_is_one_sentence)
{
    static const struct {
        const char *name, *facts, *want;
    } cases[] = {
        {"another scheduler's word is all there is", "null", "the story"},
        {"the gang itself is wrong", "{cause: Itself}", "the story"},
        {"a resource", FEW(BEST(", resource: nvidia.com/gpu")),
         "llm-0-w: 4 of 6 pods fit; the nodes lack nvidia.com/gpu for more"},
        {"of the gang as a whole",
         "{cause: TooFew, name: the gang, pods: 6, " BEST(", resource: cpu") "}",
         "4 of 6 pods fit; the nodes lack cpu for more"},
        {"no node admits them",
         FEW("candidates: [{room: 0, nodes: 20, refusing: 20, cordoned: 3, notSelected: 17}]"),
         "llm-0-w: 0 of 6 pods fit; no node admits its pods (3 cordoned, 17 not selected)"},
        {"each for another reason",
         FEW("candidates: [{room: 0, nodes: 4, refusing: 4, cordoned: 1, notReady: 1, tainted: 1, "
             "notSelected: 1}]"),
         "llm-0-w: 0 of 6 pods fit; no node admits its pods (1 cordoned, 1 not ready, 1 tainted, 1 "
         "not selected)"},
        {"there are no nodes", FEW("candidates: [{room: 0, nodes: 0, refusing: 0}]"),
         "llm-0-w: 0 of 6 pods fit; there are no nodes"},
        {"other pods", FEW(BEST(", barred: 2")),
         "llm-0-w: 4 of 6 pods fit; pods on or near the nodes keep it out"},
        {"nodes of other queues", FEW("closedNodes: 3, " BEST("")),
         "llm-0-w: 4 of 6 pods fit; the nodes are kept for other queues"},
        {"nothing that is known", FEW(BEST("")), "llm-0-w: 4 of 6 pods fit; no node takes more"},
        {"in one rack", FEW("level: rack, " BEST(", domain: r1, resource: cpu")),
         "llm-0-w needs 6 pods in one rack; the best, r1, takes 4: the nodes lack cpu for more"},
        {"in one zone, which no node has", FEW("level: zone, " BEST("")),
         "llm-0-w needs 6 pods in one zone, and no node has that label"},
        {"a sum that is short", "{cause: Together, " SHORT("") "}",
         "it needs 160 nvidia.com/gpu, and 112 are free"},
        {"a sum that is short in one rack",
         "{cause: Together, level: rack, candidates: [{domain: r1}], " SHORT("") "}",
         "it needs 160 nvidia.com/gpu in one rack; the best, r1, has 112 free"},
        {"memory: what it needs is rounded up, what is free down",
         "{cause: Together, shortage: {resource: memory, needs: 1073741825, free: 1073741823}}",
         "it needs 2Gi memory, and 1023.9Mi are free"},
        {"free in pieces too small", "{cause: Together}", "its parts fit, but not together"},
        {"in one rack", "{cause: Together, level: rack}",
         "its parts fit, but not together in one rack"},
        {"the search was given up", "{cause: SearchGivenUp}",
         "no placement was found within the search limit; there may be one"},
        {"others leave", FEW("outlook: MakingRoom, " BEST(", resource: cpu")),
         "llm-0-w: 4 of 6 pods fit; the nodes lack cpu for more; others make room for it"},
        {"room is held", FEW("outlook: Draining, " BEST(", resource: cpu")),
         "llm-0-w: 4 of 6 pods fit; the nodes lack cpu for more; room is held for it as it becomes "
         "free"},
        {"it is hopeless", FEW("outlook: Hopeless, " BEST(", resource: cpu")),
         "llm-0-w: 4 of 6 pods fit; the nodes lack cpu for more; it would not fit even if all "
         "others left"},
        {"no outlook that is known", FEW("outlook: Sunny, " BEST(", resource: cpu")),
         "llm-0-w: 4 of 6 pods fit; the nodes lack cpu for more"},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct obj *gang = gang_of(cases[i].facts);
        if (!CHECK_CSTR(unfit_verdict(gang, &a), cases[i].want))
            test_note("case: %s", cases[i].name);
        obj_unref(gang);
    }
    arena_done(&a);
}

/* Gangs are alike when one sentence serves for all of them. */
TEST(gangs_that_wait_for_the_same_are_alike)
{
    static const struct {
        const char *name, *one, *other;
        bool alike;
    } cases[] = {
        {"of other names", FEW(BEST(", resource: cpu")),
         "{cause: TooFew, name: llm-1-w, pods: 6, " BEST(", resource: cpu") "}", true},
        {"of other numbers", FEW(BEST(", resource: cpu")),
         "{cause: TooFew, name: llm-0-w, pods: 7, " BEST(", resource: cpu") "}", false},
        {"of other resources", FEW(BEST(", resource: cpu")), FEW(BEST(", resource: memory")),
         false},
        {"of other levels", FEW(BEST(", resource: cpu")),
         FEW("level: rack, " BEST(", resource: cpu")), false},
        {"with another outlook", FEW(BEST(", resource: cpu")),
         FEW("outlook: Draining, " BEST(", resource: cpu")), false},
        {"for other causes", FEW(BEST("")), "{cause: Together, pods: 6, " BEST("") "}", false},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct obj *one = gang_of(cases[i].one), *other = gang_of(cases[i].other);
        str key = unfit_key(unfit_facts(one), &a);
        CHECK(key.len > 0);
        if (!CHECK(str_eq(key, unfit_key(unfit_facts(other), &a)) == cases[i].alike))
            test_note("case: %s", cases[i].name);
        obj_unref(one);
        obj_unref(other);
    }
    struct obj *wrong = gang_of("{cause: Itself}"), *mute = gang_of("null");
    CHECK(unfit_is_wrong(unfit_facts(wrong)) && !unfit_is_wrong(unfit_facts(mute)));
    CHECK_CSTR(unfit_key(unfit_facts(wrong), &a), "");
    CHECK_CSTR(unfit_key(unfit_facts(mute), &a), "");
    obj_unref(wrong);
    obj_unref(mute);
    arena_done(&a);
}
