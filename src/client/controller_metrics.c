/* See controller_metrics.h. */
#include "client/controller_metrics.h"

static const double wait_bounds[] = {1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10};
static struct metric metric_depth =
    METRIC_GAUGE("workqueue_depth", "Keys ready to be looked at.", "name");
static struct metric metric_adds =
    METRIC_COUNTER("workqueue_adds_total", "Keys that became ready.", "name");
static struct metric metric_retries =
    METRIC_COUNTER("workqueue_retries_total", "Plans that failed and were tried again.", "name");
static struct metric metric_wait = METRIC_HISTOGRAM("workqueue_queue_duration_seconds",
                                                    "From ready to planned.", wait_bounds, "name");
static struct metric metric_latency =
    METRIC_HISTOGRAM("grove_controller_plan_duration_seconds",
                     "How long a planner takes for one key.", wait_bounds, "name");
static struct metric metric_plans =
    METRIC_COUNTER("grove_controller_plans_total", "Planner calls.", "name");
static struct metric metric_writes =
    METRIC_COUNTER("grove_controller_writes_total", "Writes accepted to be sent.", "name");
static struct metric metric_refusals = METRIC_COUNTER(
    "grove_controller_refusals_total", "Writes that the availability ledger refused.", "name");

void controller_metrics_init(struct controller_metrics *m, str name)
{
    *m = (struct controller_metrics){
        .depth = metric_with(&metric_depth, name),
        .adds = metric_with(&metric_adds, name),
        .retries = metric_with(&metric_retries, name),
        .wait = metric_with(&metric_wait, name),
        .latency = metric_with(&metric_latency, name),
        .plans = metric_with(&metric_plans, name),
        .writes = metric_with(&metric_writes, name),
        .refusals = metric_with(&metric_refusals, name),
    };
}
