/* The resources of the metrics APIs as tables, for discovery and OpenAPI. */
#include "apiserver/front/metrics_api.h"

#include "kube/tables/fields.h"

static const struct field container_metrics_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    MAP("usage", type_quantity, 2, .flags = REQUIRED, .doc = "By resource."),
};
static OBJECT(container_metrics, "ContainerMetrics");

#define COMMON                                                      \
    ONE("apiVersion", type_string, 0), ONE("kind", type_string, 0), \
        ONE("metadata", type_object_meta, 1),                       \
        ONE("timestamp", type_time, 2, .flags = REQUIRED,           \
            .doc = "When the interval ended that was measured."),   \
        ONE("window", type_duration, 3, .flags = REQUIRED, .doc = "How long that was.")

static const struct field pod_metrics_fields[] = {
    COMMON,
    LIST("containers", type_container_metrics, 4, .flags = REQUIRED),
};
static OBJECT(pod_metrics, "PodMetrics");

static const struct field node_metrics_fields[] = {
    COMMON,
    MAP("usage", type_quantity, 4, .flags = REQUIRED, .doc = "By resource."),
};
static OBJECT(node_metrics, "NodeMetrics");

static const struct field value_list_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_list_meta, 1),
    LIST("items", type_raw, 2),
};
static const struct type type_metric_value_list_1 = {
    .name = "MetricValueListV1beta1",
    .tag = TYPE_OBJECT,
    .fields = value_list_fields,
    .n_fields = ARRAY_LEN(value_list_fields),
};
static const struct type type_metric_value_list_2 = {
    .name = "MetricValueList",
    .tag = TYPE_OBJECT,
    .fields = value_list_fields,
    .n_fields = ARRAY_LEN(value_list_fields),
};
static const struct type type_external_value_list = {
    .name = "ExternalMetricValueList",
    .tag = TYPE_OBJECT,
    .fields = value_list_fields,
    .n_fields = ARRAY_LEN(value_list_fields),
};

static const struct kind kinds[] = {
    {.group = "metrics.k8s.io",
     .version = "v1beta1",
     .kind = "NodeMetrics",
     .plural = "nodes",
     .singular = "",
     .verbs = VERB_GET | VERB_LIST,
     .type = &type_node_metrics},
    {.group = "metrics.k8s.io",
     .version = "v1beta1",
     .kind = "PodMetrics",
     .plural = "pods",
     .singular = "",
     .verbs = VERB_GET | VERB_LIST,
     .flags = KIND_NAMESPACED,
     .type = &type_pod_metrics},
    {.group = "custom.metrics.k8s.io",
     .version = "v1beta2",
     .kind = "MetricValueList",
     .plural = "metricvalues",
     .singular = "",
     .verbs = VERB_GET,
     .flags = KIND_NAMESPACED,
     .type = &type_metric_value_list_2},
    {.group = "custom.metrics.k8s.io",
     .version = "v1beta1",
     .kind = "MetricValueList",
     .plural = "metricvalues",
     .singular = "",
     .verbs = VERB_GET,
     .flags = KIND_NAMESPACED,
     .type = &type_metric_value_list_1},
    {.group = "external.metrics.k8s.io",
     .version = "v1beta1",
     .kind = "ExternalMetricValueList",
     .plural = "externalmetrics",
     .singular = "",
     .verbs = VERB_GET,
     .flags = KIND_NAMESPACED,
     .type = &type_external_value_list},
};

const struct kind *metrics_api_kind(size_t i)
{
    return i < ARRAY_LEN(kinds) ? &kinds[i] : NULL;
}
