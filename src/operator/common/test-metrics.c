/* Figures for dashboards. */
#include "base/metric.h"
#include "base/test.h"
#include "operator/common/operator_metrics.h"
#include "operator/test-ring.h"

static void check_line(const char *line)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    metric_write(&b);
    if (!CHECK(str_find(strbuf_str(&b), str_of(line)) >= 0))
        test_note("no line %s", line);
    strbuf_done(&b);
}

/* The worked example: 2 replicas of 3 front ends and a group of 3 copies of 1 + 4 pods. */
TEST(figures_follow_what_is_there)
{
    struct ring r = ring_new();
    metrics_watch(r.world->runtime);
    tw_load(r.world, SVC);
    ring_settle(&r);
    check_line("grove_replicas{kind=\"PodCliqueSet\",state=\"desired\"} 2\n");
    check_line("grove_replicas{kind=\"PodCliqueScalingGroup\",state=\"desired\"} 6\n");
    check_line("grove_replicas{kind=\"PodClique\",state=\"desired\"} 36\n");
    check_line("grove_replicas{kind=\"PodCliqueSet\",state=\"available\"} 0\n");
    check_line("grove_podgangs{phase=\"Pending\"} 6\n");
    check_line("grove_gated_pods 20\n"); /* those of scaled gangs wait for the base gangs */
    ring_live(&r);
    check_line("grove_replicas{kind=\"PodCliqueSet\",state=\"available\"} 2\n");
    check_line("grove_replicas{kind=\"PodClique\",state=\"available\"} 36\n");
    check_line("grove_replicas{kind=\"PodClique\",state=\"updated\"} 36\n");
    check_line("grove_podgangs{phase=\"Running\"} 6\n");
    check_line("grove_gated_pods 0\n");
    check_line("grove_gate_wait_seconds_count 36\n");
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 0}}");
    ring_live(&r);
    check_line("grove_replicas{kind=\"PodClique\",state=\"desired\"} 0\n");
    check_line("grove_podgangs{phase=\"Running\"} 0\n");
    ring_free(&r);
}

TEST(figures_begin_anew_with_another_runtime)
{
    struct ring a = ring_new(), b = ring_new();
    metrics_watch(a.world->runtime);
    tw_load(a.world, SVC);
    metrics_watch(b.world->runtime);
    tw_load(b.world, SVC);
    check_line("grove_replicas{kind=\"PodCliqueSet\",state=\"desired\"} 2\n");
    tw_patch(a.world, &kind_pcs, "svc", "{spec: {replicas: 7}}");
    check_line("grove_replicas{kind=\"PodCliqueSet\",state=\"desired\"} 2\n");
    ring_free(&a);
    ring_free(&b);
}
