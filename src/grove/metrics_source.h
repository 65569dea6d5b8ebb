/*
 * What simulated pods use and report. Nothing runs in them, so somebody has to say it; the
 * autoscaler and the metrics APIs read it through these functions and so always agree.
 *
 * What is fed (metrics_feed.h) comes first. Otherwise annotations say it, in the style of simulated
 * nodes: on a pod, or on what it belongs to (PodClique, PodCliqueScalingGroup, PodCliqueSet,
 * ReplicaSet, Deployment; the nearest that says something wins):
 *
 *   simulation.grove.io/cpu: 350m            each pod uses so much; any resource's name will do
 *   simulation.grove.io/metric.NAME: "12"    each pod reports so much
 *
 * On an owner only, so that scaling out relieves each pod:
 *
 *   simulation.grove.io/load.cpu: "10"       its ready pods share so much equally
 *   simulation.grove.io/load.NAME: "120"     the same of a reported metric
 *
 * On any object, for metrics of that object: simulation.grove.io/metric.NAME as above. On a
 * Namespace, for external metrics: one or more values, each with the labels it has, if any:
 *
 *   simulation.grove.io/external.NAME: "12"
 *   simulation.grove.io/external.NAME: "queue=a:12 queue=b,region=eu:7"
 *
 * A character of a metric's name that a key of an annotation cannot have is written as "_"
 * (vllm:waiting is metric.vllm_waiting). What cannot be read is as if it were absent. Only running
 * pods have metrics. A node measures processor time and memory of every pod that runs, so a pod
 * about which nothing is said uses none; of any other metric silence means that it is missing.
 */
#ifndef GROVE_METRICS_SOURCE_H
#define GROVE_METRICS_SOURCE_H

#include "grove/metrics_feed.h"
#include "kube/object.h"

#define METRICS_PREFIX "simulation.grove.io/"
/* What one sample covers, as metrics-server has it. */
#define METRICS_WINDOW (15 * USEC_PER_SEC)

/* What the owners of a pod say, remembered for the next pod of the same owner. Zeros to begin with;
 * to be dropped when anything may have changed. */
struct metrics_memo {
    str owner_uid, name;
    int class;
    bool known, told, shared; /* shared: `value` is each ready pod's, others have none */
    struct quantity value;
};

/* How a reader sees the cluster. Objects are borrowed. */
struct metrics_reader {
    void *ctx;
    /* NULL when there is none, or none is known. */
    struct obj *(*get)(void *ctx, const struct kind *k, str ns, str name);
    /* Ready pods that belong to it, however far down. */
    int64_t (*ready_pods)(void *ctx, const struct obj *owner);
    struct metrics_memo *memo;       /* may be NULL */
    const struct metrics_feed *feed; /* may be NULL */
};

enum metrics_class { METRICS_RESOURCE, METRICS_CUSTOM };

/* The resources that nodes measure, NULL after the last. */
extern const char *const metrics_measured[];

/* False when it has none, or the pod does not run. */
bool metrics_of_pod(const struct metrics_reader *r, const struct obj *pod, enum metrics_class class,
                    str name, struct quantity *ret);
/* The i-th of n containers' part of what the pod uses: an equal share. */
struct quantity metrics_container_share(const struct quantity *pod, size_t i, size_t n);
/* A metric of the object itself. Of one that the reader does not know (o is NULL) only what is fed.
 */
bool metrics_of_object(const struct metrics_reader *r, const struct obj *o, const struct kind *k,
                       str ns, str object, str name, struct quantity *ret);
/* What is fed about an object; NULL: nothing. */
const struct metrics_sample *metrics_fed(const struct metrics_reader *r, const struct kind *k,
                                         str ns, str object, str name);
/* "podcliques.grove.io", as the metrics APIs name a kind; in the buffer. */
str metrics_resource_name(const struct kind *k, char *buf, size_t size);
/* The controller owner; NULL when there is none, or none is known. */
const struct obj *metrics_owner(const struct metrics_reader *r, const struct obj *o);
bool metrics_pod_runs(const struct obj *pod);
/* Runs, is ready and is not going. */
bool metrics_pod_is_ready(const struct obj *pod);
/* Whether the two differ in what they say about metrics; either may be NULL. */
bool metrics_changed(const struct obj *old, const struct obj *new);

/* One value of an external metric. Borrowed from the namespace or the feed. */
struct metrics_series {
    str labels; /* "queue=b,region=eu" */
    struct quantity value;
    usec at; /* wall; 0: now */
};
/* What is fed under the name, else what the namespace's annotation says.
 * struct metrics_external x = metrics_external(r, ns, name);
 * while (metrics_external_next(&x, &series)) */
struct metrics_external {
    const struct metrics_sample *fed;
    str rest; /* of the annotation */
};
struct metrics_external metrics_external(const struct metrics_reader *r, str ns, str name);
bool metrics_external_next(struct metrics_external *x, struct metrics_series *ret);
/* The labels as an object, for selectors; owned by the caller. */
struct doc *metrics_series_labels(const struct metrics_series *s);

#endif
