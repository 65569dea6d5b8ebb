/*
 * Tables of dynamic resource allocation: device claims and their templates, which Grove's own kinds
 * embed. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field opaque_device_configuration_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("parameters", type_raw, 2, .flags = REQUIRED),
};
static OBJECT(opaque_device_configuration, "OpaqueDeviceConfiguration");

static const struct field device_claim_configuration_fields[] = {
    LIST("requests", type_string, 1),
    ONE("opaque", type_opaque_device_configuration, 1, .parent_tag = 2),
};
static OBJECT(device_claim_configuration, "DeviceClaimConfiguration");

static const struct field device_constraint_fields[] = {
    LIST("requests", type_string, 1),
    ONE("matchAttribute", type_string, 2, .flags = POINTER),
    ONE("distinctAttribute", type_string, 3, .flags = POINTER),
};
static OBJECT(device_constraint, "DeviceConstraint");

static const struct field capacity_requirements_fields[] = {
    MAP("requests", type_quantity, 1),
};
static OBJECT(capacity_requirements, "CapacityRequirements");

static const struct field cel_device_selector_fields[] = {
    ONE("expression", type_string, 1, .flags = REQUIRED),
};
static OBJECT(cel_device_selector, "CELDeviceSelector");

static const struct field device_selector_fields[] = {
    ONE("cel", type_cel_device_selector, 1),
};
static OBJECT(device_selector, "DeviceSelector");

static const struct field device_toleration_fields[] = {
    ONE("key", type_string, 1),
    ONE("operator", type_string, 2),
    ONE("value", type_string, 3),
    ONE("effect", type_string, 4),
    ONE("tolerationSeconds", type_int64, 5, .flags = POINTER),
};
static OBJECT(device_toleration, "DeviceToleration");

static const struct field exact_device_request_fields[] = {
    ONE("deviceClassName", type_string, 1, .flags = REQUIRED),
    LIST("selectors", type_device_selector, 2),
    ONE("allocationMode", type_string, 3),
    ONE("count", type_int64, 4),
    ONE("adminAccess", type_bool, 5, .flags = POINTER),
    LIST("tolerations", type_device_toleration, 6),
    ONE("capacity", type_capacity_requirements, 7),
};
static OBJECT(exact_device_request, "ExactDeviceRequest");

static const struct field device_sub_request_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("deviceClassName", type_string, 2, .flags = REQUIRED),
    LIST("selectors", type_device_selector, 3),
    ONE("allocationMode", type_string, 4),
    ONE("count", type_int64, 5),
    LIST("tolerations", type_device_toleration, 6),
    ONE("capacity", type_capacity_requirements, 7),
};
static OBJECT(device_sub_request, "DeviceSubRequest");

static const struct field device_request_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("exactly", type_exact_device_request, 2),
    LIST("firstAvailable", type_device_sub_request, 3),
};
static OBJECT(device_request, "DeviceRequest");

static const struct field device_claim_fields[] = {
    LIST("requests", type_device_request, 1),
    LIST("constraints", type_device_constraint, 2),
    LIST("config", type_device_claim_configuration, 3),
};
static OBJECT(device_claim, "DeviceClaim");

static const struct field resource_claim_spec_fields[] = {
    ONE("devices", type_device_claim, 1),
};
OBJECT(resource_claim_spec, "ResourceClaimSpec");

static const struct field device_allocation_configuration_fields[] = {
    ONE("source", type_string, 1, .flags = REQUIRED),
    LIST("requests", type_string, 2),
    ONE("opaque", type_opaque_device_configuration, 1, .parent_tag = 3),
};
static OBJECT(device_allocation_configuration, "DeviceAllocationConfiguration");

static const struct field device_request_allocation_result_fields[] = {
    ONE("request", type_string, 1, .flags = REQUIRED),
    ONE("driver", type_string, 2, .flags = REQUIRED),
    ONE("pool", type_string, 3, .flags = REQUIRED),
    ONE("device", type_string, 4, .flags = REQUIRED),
    ONE("adminAccess", type_bool, 5, .flags = POINTER),
    LIST("tolerations", type_device_toleration, 6),
    LIST("bindingConditions", type_string, 7),
    LIST("bindingFailureConditions", type_string, 8),
    ONE("shareID", type_string, 9, .flags = POINTER),
    MAP("consumedCapacity", type_quantity, 10),
};
static OBJECT(device_request_allocation_result, "DeviceRequestAllocationResult");

static const struct field device_allocation_result_fields[] = {
    LIST("results", type_device_request_allocation_result, 1),
    LIST("config", type_device_allocation_configuration, 2),
};
static OBJECT(device_allocation_result, "DeviceAllocationResult");

static const struct field allocation_result_fields[] = {
    ONE("devices", type_device_allocation_result, 1),
    ONE("nodeSelector", type_node_selector, 3, .flags = ATOMIC),
    ONE("allocationTimestamp", type_time, 5, .flags = POINTER),
};
static OBJECT(allocation_result, "AllocationResult");

static const struct field network_device_data_fields[] = {
    ONE("interfaceName", type_string, 1),
    LIST("ips", type_string, 2),
    ONE("hardwareAddress", type_string, 3),
};
static OBJECT(network_device_data, "NetworkDeviceData");

static const struct field allocated_device_status_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("pool", type_string, 2, .flags = REQUIRED),
    ONE("device", type_string, 3, .flags = REQUIRED),
    KEYED("conditions", type_condition, 4, "type"),
    ONE("data", type_raw, 5, .flags = POINTER),
    ONE("networkData", type_network_device_data, 6),
    ONE("shareID", type_string, 7, .flags = POINTER),
};
static OBJECT(allocated_device_status, "AllocatedDeviceStatus");

static const struct field resource_claim_consumer_reference_fields[] = {
    ONE("apiGroup", type_string, 1),
    ONE("resource", type_string, 3, .flags = REQUIRED),
    ONE("name", type_string, 4, .flags = REQUIRED),
    ONE("uid", type_string, 5, .flags = REQUIRED),
};
static OBJECT(resource_claim_consumer_reference, "ResourceClaimConsumerReference");

static const struct field resource_claim_status_fields[] = {
    ONE("allocation", type_allocation_result, 1),
    KEYED("reservedFor", type_resource_claim_consumer_reference, 2, "uid", .flags = MERGE,
          .patch_key = "uid"),
    KEYED("devices", type_allocated_device_status, 4, "driver,device,pool,shareID"),
};
static OBJECT(resource_claim_status, "ResourceClaimStatus");

static const struct field resource_v1_resource_claim_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_spec, 2, .flags = REQUIRED),
    ONE("status", type_resource_claim_status, 3),
};
OBJECT(resource_v1_resource_claim, "ResourceV1ResourceClaim");

static const struct field resource_claim_template_spec_fields[] = {
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_spec, 2, .flags = REQUIRED),
};
OBJECT(resource_claim_template_spec, "ResourceClaimTemplateSpec");

static const struct field resource_claim_template_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_template_spec, 2, .flags = REQUIRED),
};
OBJECT(resource_claim_template, "ResourceClaimTemplate");

static const struct field device_class_configuration_fields[] = {
    ONE("opaque", type_opaque_device_configuration, 1, .parent_tag = 1),
};
static OBJECT(device_class_configuration, "DeviceClassConfiguration");

static const struct field device_class_spec_fields[] = {
    LIST("selectors", type_device_selector, 1),
    LIST("config", type_device_class_configuration, 2),
    ONE("extendedResourceName", type_string, 4, .flags = POINTER),
};
static OBJECT(device_class_spec, "DeviceClassSpec");

static const struct field device_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_device_class_spec, 2, .flags = REQUIRED),
};
OBJECT(device_class, "DeviceClass");

static const struct field counter_fields[] = {
    ONE("value", type_quantity, 1, .flags = REQUIRED),
};
static OBJECT(counter, "Counter");

static const struct field counter_set_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    MAP("counters", type_counter, 2, .flags = REQUIRED),
};
static OBJECT(counter_set, "CounterSet");

static const struct field capacity_request_policy_range_fields[] = {
    ONE("min", type_quantity, 1, .flags = REQUIRED),
    ONE("max", type_quantity, 2, .flags = POINTER),
    ONE("step", type_quantity, 3, .flags = POINTER),
};
static OBJECT(capacity_request_policy_range, "CapacityRequestPolicyRange");

static const struct field capacity_request_policy_fields[] = {
    ONE("default", type_quantity, 1, .flags = POINTER),
    LIST("validValues", type_quantity, 3),
    ONE("validRange", type_capacity_request_policy_range, 4),
};
static OBJECT(capacity_request_policy, "CapacityRequestPolicy");

static const struct field device_capacity_fields[] = {
    ONE("value", type_quantity, 1, .flags = REQUIRED),
    ONE("requestPolicy", type_capacity_request_policy, 2),
};
static OBJECT(device_capacity, "DeviceCapacity");

static const struct field device_attribute_fields[] = {
    ONE("int", type_int64, 2, .flags = POINTER),
    ONE("bool", type_bool, 3, .flags = POINTER),
    ONE("string", type_string, 4, .flags = POINTER),
    ONE("version", type_string, 5, .flags = POINTER),
    LIST("ints", type_int64, 6),
    LIST("bools", type_bool, 7),
    LIST("strings", type_string, 8),
    LIST("versions", type_string, 9),
};
static OBJECT(device_attribute, "DeviceAttribute");

static const struct field device_counter_consumption_fields[] = {
    ONE("counterSet", type_string, 1, .flags = REQUIRED),
    MAP("counters", type_counter, 2, .flags = REQUIRED),
};
static OBJECT(device_counter_consumption, "DeviceCounterConsumption");

static const struct field node_allocatable_resource_mapping_fields[] = {
    ONE("capacityKey", type_string, 1, .flags = POINTER),
    ONE("allocationMultiplier", type_quantity, 2, .flags = POINTER),
};
static OBJECT(node_allocatable_resource_mapping, "NodeAllocatableResourceMapping");

static const struct field device_taint_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("value", type_string, 2),
    ONE("effect", type_string, 3, .flags = REQUIRED),
    ONE("timeAdded", type_time, 4, .flags = POINTER),
};
OBJECT(device_taint, "DeviceTaint");

static const struct field device_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    MAP("attributes", type_device_attribute, 2),
    MAP("capacity", type_device_capacity, 3),
    LIST("consumesCounters", type_device_counter_consumption, 4),
    ONE("nodeName", type_string, 5, .flags = POINTER),
    ONE("nodeSelector", type_node_selector, 6, .flags = ATOMIC),
    ONE("allNodes", type_bool, 7, .flags = POINTER),
    LIST("taints", type_device_taint, 8),
    ONE("bindsToNode", type_bool, 9, .flags = POINTER),
    LIST("bindingConditions", type_string, 10),
    LIST("bindingFailureConditions", type_string, 11),
    ONE("allowMultipleAllocations", type_bool, 12, .flags = POINTER),
    MAP("nodeAllocatableResourceMappings", type_node_allocatable_resource_mapping, 13),
};
static OBJECT(device, "Device");

static const struct field resource_pool_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("generation", type_int64, 2, .flags = REQUIRED),
    ONE("resourceSliceCount", type_int64, 3, .flags = REQUIRED),
};
static OBJECT(resource_pool, "ResourcePool");

static const struct field resource_slice_spec_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("pool", type_resource_pool, 2, .flags = REQUIRED),
    ONE("nodeName", type_string, 3, .flags = POINTER),
    ONE("nodeSelector", type_node_selector, 4, .flags = ATOMIC),
    ONE("allNodes", type_bool, 5, .flags = POINTER),
    LIST("devices", type_device, 6),
    ONE("perDeviceNodeSelection", type_bool, 7, .flags = POINTER),
    LIST("sharedCounters", type_counter_set, 8),
};
static OBJECT(resource_slice_spec, "ResourceSliceSpec");

static const struct field resource_slice_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_slice_spec, 2, .flags = REQUIRED),
};
OBJECT(resource_slice, "ResourceSlice");

/* ---- v1beta1: requests and devices are written otherwise; apiserver/verbs/convert_resource.c ----
 */

static const struct field device_request_v1beta1_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("deviceClassName", type_string, 2),
    LIST("selectors", type_device_selector, 3),
    ONE("allocationMode", type_string, 4),
    ONE("count", type_int64, 5),
    ONE("adminAccess", type_bool, 6, .flags = POINTER),
    LIST("firstAvailable", type_device_sub_request, 7),
    LIST("tolerations", type_device_toleration, 8),
    ONE("capacity", type_capacity_requirements, 9),
};
static OBJECT(device_request_v1beta1, "DeviceRequestV1beta1");

static const struct field device_claim_v1beta1_fields[] = {
    LIST("requests", type_device_request_v1beta1, 1),
    LIST("constraints", type_device_constraint, 2),
    LIST("config", type_device_claim_configuration, 3),
};
static OBJECT(device_claim_v1beta1, "DeviceClaimV1beta1");

static const struct field resource_claim_spec_v1beta1_fields[] = {
    ONE("devices", type_device_claim_v1beta1, 1),
};
static OBJECT(resource_claim_spec_v1beta1, "ResourceClaimSpecV1beta1");

static const struct field resource_claim_v1beta1_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_spec_v1beta1, 2, .flags = REQUIRED),
    ONE("status", type_resource_claim_status, 3),
};
OBJECT(resource_claim_v1beta1, "ResourceClaimV1beta1");

static const struct field resource_claim_template_spec_v1beta1_fields[] = {
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_spec_v1beta1, 2, .flags = REQUIRED),
};
static OBJECT(resource_claim_template_spec_v1beta1, "ResourceClaimTemplateSpecV1beta1");

static const struct field resource_claim_template_v1beta1_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_claim_template_spec_v1beta1, 2, .flags = REQUIRED),
};
OBJECT(resource_claim_template_v1beta1, "ResourceClaimTemplateV1beta1");

static const struct field basic_device_fields[] = {
    MAP("attributes", type_device_attribute, 1),
    MAP("capacity", type_device_capacity, 2),
    LIST("consumesCounters", type_device_counter_consumption, 3),
    ONE("nodeName", type_string, 4, .flags = POINTER),
    ONE("nodeSelector", type_node_selector, 5, .flags = ATOMIC),
    ONE("allNodes", type_bool, 6, .flags = POINTER),
    LIST("taints", type_device_taint, 7),
    ONE("bindsToNode", type_bool, 8, .flags = POINTER),
    LIST("bindingConditions", type_string, 9),
    LIST("bindingFailureConditions", type_string, 10),
    ONE("allowMultipleAllocations", type_bool, 11, .flags = POINTER),
    MAP("nodeAllocatableResourceMappings", type_node_allocatable_resource_mapping, 12),
};
static OBJECT(basic_device, "BasicDevice");

static const struct field device_v1beta1_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("basic", type_basic_device, 2),
};
static OBJECT(device_v1beta1, "DeviceV1beta1");

static const struct field resource_slice_spec_v1beta1_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("pool", type_resource_pool, 2, .flags = REQUIRED),
    ONE("nodeName", type_string, 3, .flags = POINTER),
    ONE("nodeSelector", type_node_selector, 4, .flags = ATOMIC),
    ONE("allNodes", type_bool, 5, .flags = POINTER),
    LIST("devices", type_device_v1beta1, 6),
    ONE("perDeviceNodeSelection", type_bool, 7, .flags = POINTER),
    LIST("sharedCounters", type_counter_set, 8),
};
static OBJECT(resource_slice_spec_v1beta1, "ResourceSliceSpecV1beta1");

static const struct field resource_slice_v1beta1_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_slice_spec_v1beta1, 2, .flags = REQUIRED),
};
OBJECT(resource_slice_v1beta1, "ResourceSliceV1beta1");
