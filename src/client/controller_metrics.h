/* What is counted of every controller, under the names that client-go has for it. */
#ifndef CLIENT_CONTROLLER_METRICS_H
#define CLIENT_CONTROLLER_METRICS_H

#include "base/metric.h"

/* One of each per controller; several runtimes of a process (simulations) share them. */
struct controller_metrics {
    struct metric_series *depth, *adds, *retries, *wait, *latency, *plans, *writes, *refusals;
};

void controller_metrics_init(struct controller_metrics *m, str name);

#endif
