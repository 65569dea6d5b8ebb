/* The words of the life cycle: the pure table, and sets that live through it. */
#include "base/test.h"
#include "operator/common/phase.h"
#include "operator/common/replica_failure.h"
#include "operator/common/rollup.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define POD "podSpec: {containers: [{name: m, image: i}]}"

static const enum phase all[] = {PHASE_CREATING, PHASE_SCHEDULING, PHASE_AVAILABLE, PHASE_UPDATING,
                                 PHASE_DEGRADED, PHASE_FAILED,     PHASE_ZERO};

static enum phase named(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (str_is(str_of(word), phase_word(&kind_pcs, all[i])))
            return all[i];
    }
    return PHASE_NONE;
}

/* What somebody sees who watches a set on its way, for every pair of phases. */
TEST(every_move_is_made_over_what_lies_between)
{
    static const char up[] = "Scheduling Available";
    for (size_t i = 0; i <= ARRAY_LEN(all); i++) {
        enum phase from = i < ARRAY_LEN(all) ? all[i] : PHASE_NONE;
        bool begins = from == PHASE_NONE || from == PHASE_ZERO;
        for (size_t j = 0; j < ARRAY_LEN(all); j++) {
            struct strbuf seen = STRBUF_INIT(256), want = STRBUF_INIT(256);
            const char *goal = phase_word(&kind_pcs, all[j]);
            bool climbs = all[j] == PHASE_AVAILABLE && (begins || from == PHASE_CREATING);
            if (begins && all[j] != PHASE_ZERO && all[j] != PHASE_CREATING)
                strbuf_printf(&want, " Creating");
            strbuf_printf(&want, " %s", climbs ? up : goal);
            enum phase at = from;
            for (size_t steps = 0; steps < 3 && (at != all[j] || steps == 0); steps++) {
                at = phase_step(at, all[j]);
                strbuf_printf(&seen, " %s", phase_word(&kind_pcs, at));
            }
            if (!CHECK_STR(strbuf_str(&seen), strbuf_str(&want)))
                test_note("from %s to %s", phase_word(&kind_pcs, from), goal);
            strbuf_done(&seen);
            strbuf_done(&want);
        }
    }
}

/* Every arrow of the life cycle of sets and of groups as it was drawn, in one step each. */
TEST(the_arrows_of_the_life_cycle_are_single_steps)
{
    static const char *const arrows[][2] = {
        {"", "Creating"},          {"Creating", "Scheduling"}, {"Scheduling", "Available"},
        {"Available", "Updating"}, {"Updating", "Available"},  {"Available", "Degraded"},
        {"Degraded", "Available"}, {"Degraded", "Failed"},     {"Available", "ScaledToZero"},
        {"Available", "Failed"},   {"Failed", "Scheduling"},
    };
    for (size_t i = 0; i < ARRAY_LEN(arrows); i++) {
        enum phase to = named(arrows[i][1]);
        CHECK(to != PHASE_NONE);
        CHECK_INT(phase_step(named(arrows[i][0]), to), to);
    }
}

TEST(the_first_fact_that_holds_decides)
{
    static const char *const order[] = {"Failed",    "ScaledToZero", "Updating",
                                        "Available", "Degraded",     "Creating"};
    for (unsigned bits = 0; bits < 64; bits++) {
        bool not_created = bits & 32;
        struct phase_facts f = {.failed = bits & 1,
                                .none = bits & 2,
                                .updating = bits & 4,
                                .available = bits & 8,
                                .lost = bits & 16,
                                .created = !not_created};
        const char *want = bits ? order[__builtin_ctz(bits)] : "Scheduling";
        CHECK_CSTR(str_of(phase_word(&kind_pcs, phase_goal(&f))), want);
    }
}

TEST(what_is_yet_to_come_is_no_loss)
{
    static const struct {
        const char *from;
        struct phase_numbers before, now;
        bool loss;
    } rows[] = {
        {"", {0, 0}, {2, 0}, false},
        {"Creating", {2, 0}, {2, 0}, false},
        {"Scheduling", {2, 0}, {2, 1}, false},
        {"Scheduling", {2, 1}, {2, 0}, true},
        {"Available", {2, 2}, {2, 1}, true},
        {"Available", {2, 2}, {2, 0}, true},
        {"Available", {2, 2}, {3, 2}, false}, /* scaled out */
        {"Available", {2, 2}, {3, 1}, true},  /* and something went */
        {"Scheduling", {3, 2}, {3, 2}, false},
        {"Scheduling", {3, 2}, {2, 1}, false}, /* scaled in: the available one went */
        {"Updating", {2, 2}, {2, 1}, true},
        {"Degraded", {2, 1}, {3, 1}, true}, /* stays so until all are there */
        {"Failed", {3, 2}, {3, 2}, false},  /* what was refused is tried again */
        {"ScaledToZero", {0, 0}, {2, 0}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!CHECK_INT(phase_is_loss(named(rows[i].from), rows[i].before, rows[i].now),
                       rows[i].loss))
            test_note("row %zu", i);
    }
}

TEST(groups_have_their_own_words)
{
    static const char *const want[] = {"Pending",     "Scheduling",  "Available",   "Updating",
                                       "Unavailable", "Unavailable", "ScaledToZero"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        CHECK_CSTR(str_of(phase_word(&kind_pcsg, all[i])), want[i]);
}

/* ---- sets ---- */

static struct ring with(const char *spec)
{
    struct ring r = ring_new();
    tw_loadf(r.world,
             "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s, uid: "
             "s-uid}\nspec: %s\n",
             spec);
    return r;
}

static void check_set(struct ring *r, const char *phase, const char *failure)
{
    jval status = obj_status(tw_must(r->world, &kind_pcs, "s"));
    jval c = condition_find(jgetc(status, "conditions"), STR(CONDITION_REPLICA_FAILURE));
    CHECK_CSTR(jstr(jgetc(status, "phase")), phase);
    CHECK_CSTR(jstr(jgetc(c, "reason")), failure);
}

/* As the executor would leave it after the pods of a clique were refused. */
static void refuse_pods(struct ring *r, const char *clique, const char *pod)
{
    struct failures f = {.row = 1,
                         .n = 1,
                         .items = {{PLAN_CREATE, &kind_pod, STR("default"), str_of(pod), 403,
                                    STR("Forbidden"), STR("exceeded quota: q")}}};
    r->world->world.failed = &f;
    struct plan *p = ring_plan_pclq(r, clique);
    for (size_t i = p->writes.len; i > 0; i--) {
        if (p->writes.p[i - 1].kind == &kind_pod)
            p->writes.p[i - 1] = p->writes.p[--p->writes.len];
    }
    tw_carry_out(r->world);
    r->world->world.failed = NULL;
}

static void tell(struct ring *r)
{
    tw_plan(r->world, pcsg_status_plan, NULL, &kind_pcsg, "s-0-g");
    tw_carry_out(r->world);
    for (int i = 0; i < 3; i++) {
        tw_plan(r->world, pcs_status_plan, NULL, &kind_pcs, "s");
        tw_carry_out(r->world);
    }
}

TEST(pods_that_are_refused_are_a_condition_of_the_set_with_their_number)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, " POD
                         "}}, {name: b, spec: {replicas: 3, " POD "}}], podCliqueScalingGroups: "
                         "[{name: g, cliqueNames: [b]}]}}");
    ring_live(&r);
    check_set(&r, "Available", "");
    tw_patch(r.world, &kind_pclq, "s-0-a", "{spec: {replicas: 4}}");
    refuse_pods(&r, "s-0-a", "s-0-a-x");
    tell(&r);
    check_set(&r, "Failed", "FailedCreate");
    tw_patch(r.world, &kind_pclq, "s-0-g-0-b", "{spec: {replicas: 6}}");
    refuse_pods(&r, "s-0-g-0-b", "s-0-g-0-b-x");
    tell(&r);
    jval c = condition_find(jgetc(obj_status(tw_must(r.world, &kind_pcs, "s")), "conditions"),
                            STR(CONDITION_REPLICA_FAILURE));
    CHECK_CSTR(jstr(jgetc(c, "message")),
               "5 pods are missing in 2 PodCliques; PodClique s-0-a: 2 of 4 pods are missing: Pod "
               "s-0-a-x: exceeded quota: q");
    c = condition_find(jgetc(obj_status(tw_must(r.world, &kind_pcsg, "s-0-g")), "conditions"),
                       STR(CONDITION_REPLICA_FAILURE));
    CHECK_CSTR(jstr(jgetc(c, "message")), "PodClique s-0-g-0-b: 3 of 6 pods are missing: Pod "
                                          "s-0-g-0-b-x: exceeded quota: q");
    ring_live(&r);
    check_set(&r, "Available", "");
    ring_free(&r);
}

TEST(a_set_of_nothing_says_so)
{
    struct ring r = with("{replicas: 0, template: {cliques: [{name: a, spec: {" POD "}}, {name: b, "
                         "spec: {" POD "}}], podCliqueScalingGroups: [{name: g, cliqueNames: "
                         "[b]}]}}");
    (void)ring_settle(&r);
    check_set(&r, "ScaledToZero", "");
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 2}}");
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    tw_carry_out(r.world);
    check_set(&r, "Creating", "");
    (void)ring_settle(&r);
    check_set(&r, "Scheduling", "");
    ring_live(&r);
    check_set(&r, "Available", "");
    tw_patch(r.world, &kind_pcsg, "s-0-g", "{spec: {replicas: 0}}");
    ring_live(&r);
    CHECK_CSTR(jstr(jpath(obj_root(tw_must(r.world, &kind_pcsg, "s-0-g")), "status.phase")),
               "ScaledToZero");
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 0}}");
    ring_live(&r);
    check_set(&r, "ScaledToZero", "");
    ring_free(&r);
}

/* Replicas that are added are on their way; the set has lost nothing. */
TEST(a_set_that_grows_is_not_degraded)
{
    struct ring r = with("{replicas: 1, template: {cliques: [{name: a, spec: {" POD "}}]}}");
    ring_live(&r);
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 2}}");
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    tw_carry_out(r.world);
    check_set(&r, "Creating", "");
    (void)ring_settle(&r);
    check_set(&r, "Scheduling", "");
    ring_live(&r);
    check_set(&r, "Available", "");
    ring_free(&r);
}

/* Degraded, and then no room for what was lost: it is up to others. */
TEST(what_was_lost_and_finds_no_place_has_failed)
{
    struct ring r = with("{replicas: 2, template: {cliques: [{name: a, spec: {" POD "}}]}}");
    static const char no_room[] = "{status: {phase: Pending, conditions: [{type: Unschedulable, "
                                  "status: 'True', reason: R, message: no room}]}}";
    static const char lost[] = "{status: {readyReplicas: 0}}";
    ring_live(&r);
    tw_patch(r.world, &kind_pod_gang, "s-0", no_room);
    tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
    tw_carry_out(r.world);
    check_set(&r, "Available", "");
    tw_patch(r.world, &kind_pclq, "s-0-a", lost);
    for (int i = 0; i < 2; i++) {
        tw_plan(r.world, pcs_status_plan, NULL, &kind_pcs, "s");
        tw_carry_out(r.world);
        check_set(&r, i ? "Failed" : "Degraded", i ? "GangUnschedulable" : "");
    }
    tw_patch(r.world, &kind_pod_gang, "s-0", "{status: {phase: Running, conditions: null}}");
    ring_live(&r);
    check_set(&r, "Available", "");
    ring_free(&r);
}
