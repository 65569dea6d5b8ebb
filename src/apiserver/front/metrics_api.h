/*
 * The three APIs of metrics: metrics.k8s.io (what `kubectl top` asks), custom.metrics.k8s.io and
 * external.metrics.k8s.io. Nothing of them is in the store: each answer is computed from what is
 * fed and from the objects there are, by grove/metrics_source.h, just as the autoscaler does. No
 * watches.
 *
 *   metrics.k8s.io/v1beta1           nodes[/NAME], [namespaces/NS/]pods[/NAME]
 *   custom.metrics.k8s.io/v1beta1,2  namespaces/NS/RESOURCE[.GROUP]/NAME/METRIC, NAME may be *;
 *                                    namespaces/NS/metrics/METRIC; RESOURCE/NAME/METRIC
 *   external.metrics.k8s.io/v1beta1  namespaces/NS/METRIC
 *
 * In the last two, what can be read can be fed: PUT sets a value at the path it is then read from,
 * with a labelSelector for all objects that it selects, and DELETE unsets it (metrics_push.c).
 * Discovery lists the metrics there are by name ("pods/queue"), as adapters in a cluster do, and so
 * rules of RBAC name them: resource "pods/queue", or the name of an external metric.
 */
#ifndef APISERVER_FRONT_METRICS_API_H
#define APISERVER_FRONT_METRICS_API_H

#include "apiserver/metrics_names.h"
#include "grove/metrics_feed.h"
#include "kube/status.h"
#include "store/store.h"

/* The resources they are made of, for discovery; NULL after the last. They are in no registry. */
const struct kind *metrics_api_kind(size_t i);

/* What a path asks for. */
struct metrics_path {
    const struct kind *kind; /* one of the above; NULL: the group has no such resource */
    const struct kind *of;   /* the kind that is measured; NULL: external */
    str ns, name, metric;
    str resource; /* as the path names what is measured; custom metrics only */
    bool is_list;
};

/* "/apis/GROUP/VERSION/..."; false when it is none of these groups, or no more than its version. */
bool metrics_api_parse(str path, struct arena *a, struct metrics_path *ret);

struct metrics_query {
    str label_selector, field_selector;
};

/* Where figures come from. */
struct metrics_figures {
    const struct store *store;
    struct metrics_feed *feed;
    usec now; /* wall */
};

/* The document, or NULL with the reason. */
struct doc *metrics_api_answer(const struct metrics_path *p, const struct metrics_query *q,
                               const struct metrics_figures *f, struct arena *a,
                               struct status **ret_why);

/* ---- metrics_push.c ---- */

/* Feeds what a body says: a quantity ("300m", 12), or an object with value, ttlSeconds and, of an
 * external metric, metricLabels. NULL on success. */
struct status *metrics_api_put(const struct metrics_path *p, const struct metrics_query *q,
                               const struct metrics_figures *f, str body, struct arena *a);
/* Unsets it; with a labelSelector, wherever that selects. */
struct status *metrics_api_delete(const struct metrics_path *p, const struct metrics_query *q,
                                  const struct metrics_figures *f, struct arena *a);

struct call;
/* front_impl.h: answers the call when its path is one of these. */
bool metrics_api_serve(struct call *c);

#endif
