/*
 * The horizontal autoscaler of the embedded setting: a planner with one key per
 * HorizontalPodAutoscaler, doing what the controller of that name does in a cluster (and which a
 * cluster therefore already has). It scales what has a scale subresource (sets, groups, cliques,
 * Deployments, ReplicaSets) through that subresource, by what grove/metrics_source.h says: what the
 * caches hold, and what is fed.
 *
 * Looks every 15 seconds, and at once when the autoscaler, the scale of its target or what is said
 * about metrics changes. Without autoscalers it has no timers. What it must not forget is in an
 * annotation (autoscaler_calc.h); a settled world gives an empty plan.
 */
#ifndef CONTROLLERS_AUTOSCALER_H
#define CONTROLLERS_AUTOSCALER_H

#include "client/controller.h"

#define AUTOSCALER_INTERVAL (15 * USEC_PER_SEC)

struct metrics_feed; /* grove/metrics_feed.h */

/* ctx: a struct metrics_feed to read, or NULL. */
planner_fn autoscaler_plan;
/* The caches it reads, for those who call the planner themselves. */
void autoscaler_add_caches(struct runtime *r);
/* The feed may be NULL; it must outlive the runtime. */
struct controller *autoscaler_add(struct runtime *r, struct api *api, struct metrics_feed *feed);
/* Metrics of a namespace were fed, or ended; empty: of what is in no namespace. */
void autoscaler_metrics_fed(struct controller *c, str ns);

#endif
