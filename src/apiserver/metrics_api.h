/*
 * The three APIs of metrics: metrics.k8s.io (what `kubectl top` asks), custom.metrics.k8s.io and
 * external.metrics.k8s.io. Nothing of them is stored: each answer is computed from the objects
 * there are, by grove/metrics_source.h, just as the autoscaler does. Read only, no watches.
 *
 *   metrics.k8s.io/v1beta1           nodes[/NAME], [namespaces/NS/]pods[/NAME]
 *   custom.metrics.k8s.io/v1beta1,2  namespaces/NS/RESOURCE[.GROUP]/NAME/METRIC, NAME may be *;
 *                                    namespaces/NS/metrics/METRIC; RESOURCE/NAME/METRIC
 *   external.metrics.k8s.io/v1beta1  namespaces/NS/METRIC
 */
#ifndef APISERVER_METRICS_API_H
#define APISERVER_METRICS_API_H

#include "kube/status.h"
#include "store/store.h"

/* The resources they are made of, for discovery; NULL after the last. They are in no registry. */
const struct kind *metrics_api_kind(size_t i);

/* What a path asks for. */
struct metrics_path {
    const struct kind *kind; /* one of the above; NULL: the group has no such resource */
    const struct kind *of;   /* the kind that is measured; NULL: external */
    str ns, name, metric;
    bool is_list;
};

/* "/apis/GROUP/VERSION/..."; false when it is none of these groups, or no more than its version. */
bool metrics_api_parse(str path, struct arena *a, struct metrics_path *ret);

struct metrics_query {
    str label_selector, field_selector;
};

/* The document, or NULL with the reason. */
struct doc *metrics_api_answer(const struct metrics_path *p, const struct metrics_query *q,
                               const struct store *s, usec now, struct arena *a,
                               struct status **ret_why);

struct call;
/* front_impl.h: answers the call when its path is one of these. */
bool metrics_api_serve(struct call *c);

#endif
