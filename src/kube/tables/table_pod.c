/*
 * Tables of pods: specification with its scheduling rules, status, template, and what the binding
 * and eviction subresources take. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field node_selector_requirement_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("operator", type_string, 2, .flags = REQUIRED),
    LIST("values", type_string, 3),
};
static OBJECT(node_selector_requirement, "NodeSelectorRequirement");

static const struct field node_selector_term_fields[] = {
    LIST("matchExpressions", type_node_selector_requirement, 1),
    LIST("matchFields", type_node_selector_requirement, 2),
};
static OBJECT(node_selector_term, "NodeSelectorTerm");

static const struct field preferred_scheduling_term_fields[] = {
    ONE("weight", type_int32, 1, .flags = REQUIRED),
    ONE("preference", type_node_selector_term, 2, .flags = REQUIRED | ATOMIC),
};
static OBJECT(preferred_scheduling_term, "PreferredSchedulingTerm");

static const struct field node_selector_fields[] = {
    LIST("nodeSelectorTerms", type_node_selector_term, 1, .flags = REQUIRED | ATOMIC),
};
OBJECT(node_selector, "NodeSelector");

static const struct field node_affinity_fields[] = {
    ONE("requiredDuringSchedulingIgnoredDuringExecution", type_node_selector, 1, .flags = ATOMIC),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", type_preferred_scheduling_term, 2),
};
static OBJECT(node_affinity, "NodeAffinity");

static const struct field pod_affinity_term_fields[] = {
    ONE("labelSelector", type_label_selector, 1, .flags = ATOMIC),
    LIST("namespaces", type_string, 2),
    ONE("topologyKey", type_string, 3, .flags = REQUIRED),
    ONE("namespaceSelector", type_label_selector, 4, .flags = ATOMIC),
    LIST("matchLabelKeys", type_string, 5),
    LIST("mismatchLabelKeys", type_string, 6),
};
static OBJECT(pod_affinity_term, "PodAffinityTerm");

static const struct field weighted_pod_affinity_term_fields[] = {
    ONE("weight", type_int32, 1, .flags = REQUIRED),
    ONE("podAffinityTerm", type_pod_affinity_term, 2, .flags = REQUIRED),
};
static OBJECT(weighted_pod_affinity_term, "WeightedPodAffinityTerm");

static const struct field pod_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", type_pod_affinity_term, 1),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", type_weighted_pod_affinity_term, 2),
};
static OBJECT(pod_affinity, "PodAffinity");

static const struct field pod_anti_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", type_pod_affinity_term, 1),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", type_weighted_pod_affinity_term, 2),
};
static OBJECT(pod_anti_affinity, "PodAntiAffinity");

static const struct field affinity_fields[] = {
    ONE("nodeAffinity", type_node_affinity, 1),
    ONE("podAffinity", type_pod_affinity, 2),
    ONE("podAntiAffinity", type_pod_anti_affinity, 3),
};
static OBJECT(affinity, "Affinity");

static const struct field pod_dns_config_option_fields[] = {
    ONE("name", type_string, 1),
    ONE("value", type_string, 2, .flags = POINTER),
};
static OBJECT(pod_dns_config_option, "PodDNSConfigOption");

static const struct field pod_dns_config_fields[] = {
    LIST("nameservers", type_string, 1),
    LIST("searches", type_string, 2),
    LIST("options", type_pod_dns_config_option, 3),
};
static OBJECT(pod_dns_config, "PodDNSConfig");

static const struct field host_alias_fields[] = {
    ONE("ip", type_string, 1, .flags = REQUIRED),
    LIST("hostnames", type_string, 2),
};
static OBJECT(host_alias, "HostAlias");

static const struct field pod_os_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(pod_os, "PodOS");

static const struct field pod_readiness_gate_fields[] = {
    ONE("conditionType", type_string, 1, .flags = REQUIRED),
};
static OBJECT(pod_readiness_gate, "PodReadinessGate");

static const struct field pod_resource_claim_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("resourceClaimName", type_string, 3, .flags = POINTER),
    ONE("resourceClaimTemplateName", type_string, 4, .flags = POINTER),
};
static OBJECT(pod_resource_claim, "PodResourceClaim");

static const struct field pod_scheduling_gate_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(pod_scheduling_gate, "PodSchedulingGate");

static const struct field pod_workload_reference_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("podGroup", type_string, 2, .flags = REQUIRED),
    ONE("podGroupReplicaKey", type_string, 3),
};
static OBJECT(pod_workload_reference, "PodWorkloadReference");

static const struct field pod_scheduling_group_fields[] = {
    ONE("podGroupName", type_string, 1, .flags = POINTER),
};
static OBJECT(pod_scheduling_group, "PodSchedulingGroup");

static const struct field sysctl_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED,
        .pattern = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"),
    ONE("value", type_string, 2, .flags = REQUIRED),
};
static OBJECT(sysctl, "Sysctl");

static const struct field pod_security_context_fields[] = {
    ONE("seLinuxOptions", type_selinux_options, 1),
    ONE("runAsUser", type_int64, 2, .flags = POINTER),
    ONE("runAsNonRoot", type_bool, 3, .flags = POINTER),
    LIST("supplementalGroups", type_int64, 4),
    ONE("fsGroup", type_int64, 5, .flags = POINTER),
    ONE("runAsGroup", type_int64, 6, .flags = POINTER),
    LIST("sysctls", type_sysctl, 7),
    ONE("windowsOptions", type_windows_security_context_options, 8),
    ONE("fsGroupChangePolicy", type_string, 9, .flags = POINTER),
    ONE("seccompProfile", type_seccomp_profile, 10),
    ONE("appArmorProfile", type_app_armor_profile, 11),
    ONE("supplementalGroupsPolicy", type_string, 12, .flags = POINTER),
    ONE("seLinuxChangePolicy", type_string, 13, .flags = POINTER),
};
static OBJECT(pod_security_context, "PodSecurityContext");

static const struct field toleration_fields[] = {
    ONE("key", type_string, 1, .doc = "Taint key; empty with Exists means every taint."),
    ONE("operator", type_string, 2),
    ONE("value", type_string, 3),
    ONE("effect", type_string, 4),
    ONE("tolerationSeconds", type_int64, 5, .flags = POINTER,
        .doc = "How long a NoExecute taint is endured."),
};
OBJECT(toleration, "Toleration");

static const struct field topology_spread_constraint_fields[] = {
    ONE("maxSkew", type_int32, 1, .flags = REQUIRED),
    ONE("topologyKey", type_string, 2, .flags = REQUIRED),
    ONE("whenUnsatisfiable", type_string, 3, .flags = REQUIRED,
        .enums = "DoNotSchedule|ScheduleAnyway"),
    ONE("labelSelector", type_label_selector, 4, .flags = ATOMIC),
    ONE("minDomains", type_int32, 5, .flags = POINTER),
    ONE("nodeAffinityPolicy", type_string, 6, .flags = POINTER),
    ONE("nodeTaintsPolicy", type_string, 7, .flags = POINTER),
    LIST("matchLabelKeys", type_string, 8),
};
OBJECT(topology_spread_constraint, "TopologySpreadConstraint");

static const struct field pod_spec_fields[] = {
    KEYED("volumes", type_volume, 1, "name", .flags = MERGE | RETAIN_KEYS, .patch_key = "name",
          .doc = "Storage that containers can mount."),
    KEYED("containers", type_container, 2, "name", .flags = REQUIRED | MERGE, .patch_key = "name",
          .doc = "The programs of the pod; at least one."),
    ONE("restartPolicy", type_string, 3, .flags = BUILTIN_DEFAULT, .dflt = "\"Always\"",
        .enums = "Always|OnFailure|Never", .doc = "When containers that ended start again."),
    ONE("terminationGracePeriodSeconds", type_int64, 4, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "30", .doc = "Time between the request to stop and the kill."),
    ONE("activeDeadlineSeconds", type_int64, 5, .flags = POINTER,
        .doc = "The pod fails when it runs longer than this."),
    ONE("dnsPolicy", type_string, 6, .flags = BUILTIN_DEFAULT, .dflt = "\"ClusterFirst\"",
        .enums = "ClusterFirstWithHostNet|ClusterFirst|Default|None"),
    MAP("nodeSelector", type_string, 7, .flags = ATOMIC, .doc = "Labels a node must have."),
    ONE("serviceAccountName", type_string, 8, .doc = "The identity of the pod towards the API."),
    ONE("serviceAccount", type_string, 9),
    ONE("nodeName", type_string, 10, .doc = "The node the pod is bound to; set by the scheduler."),
    ONE("hostNetwork", type_bool, 11, .doc = "Uses the node's network instead of one of its own."),
    ONE("hostPID", type_bool, 12, .doc = "Sees the node's processes."),
    ONE("hostIPC", type_bool, 13, .doc = "Shares the node's interprocess communication."),
    ONE("securityContext", type_pod_security_context, 14, .flags = BUILTIN_DEFAULT, .dflt = "{}"),
    KEYED("imagePullSecrets", type_local_object_reference, 15, "name", .flags = ATOMIC | MERGE,
          .patch_key = "name"),
    ONE("hostname", type_string, 16, .doc = "Host name inside the pod."),
    ONE("subdomain", type_string, 17, .doc = "Service that gives the pod a DNS name."),
    ONE("affinity", type_affinity, 18, .doc = "Rules about nodes and about other pods on them."),
    ONE("schedulerName", type_string, 19, .flags = BUILTIN_DEFAULT, .dflt = "\"default-scheduler\"",
        .doc = "The scheduler that is to place the pod."),
    KEYED("initContainers", type_container, 20, "name", .flags = MERGE, .patch_key = "name",
          .doc = "Run to their end, in order, before the containers start."),
    ONE("automountServiceAccountToken", type_bool, 21, .flags = POINTER,
        .doc = "Whether a token of its service account is mounted."),
    LIST("tolerations", type_toleration, 22, .doc = "Taints the pod accepts."),
    KEYED("hostAliases", type_host_alias, 23, "ip", .flags = MERGE, .patch_key = "ip"),
    ONE("priorityClassName", type_string, 24,
        .doc = "Name of the class the priority is taken from."),
    ONE("priority", type_int32, 25, .flags = POINTER,
        .doc = "Higher goes first and may displace lower."),
    ONE("dnsConfig", type_pod_dns_config, 26,
        .doc = "Name servers and search domains beside those of dnsPolicy."),
    ONE("shareProcessNamespace", type_bool, 27, .flags = POINTER,
        .doc = "Containers see each other's processes."),
    LIST("readinessGates", type_pod_readiness_gate, 28,
         .doc = "Conditions that must hold before the pod counts as ready."),
    ONE("runtimeClassName", type_string, 29, .flags = POINTER,
        .doc = "How its containers are run, by the name of a RuntimeClass."),
    ONE("enableServiceLinks", type_bool, 30, .flags = POINTER,
        .doc = "Whether services are told of in environment variables."),
    ONE("preemptionPolicy", type_string, 31, .flags = POINTER,
        .enums = "PreemptLowerPriority|Never"),
    MAP("overhead", type_quantity, 32, .doc = "Resources the sandbox itself takes."),
    KEYED("topologySpreadConstraints", type_topology_spread_constraint, 33,
          "topologyKey,whenUnsatisfiable", .flags = MERGE, .patch_key = "topologyKey",
          .doc = "How pods are spread over zones, racks or hosts."),
    KEYED("ephemeralContainers", type_ephemeral_container, 34, "name", .flags = MERGE,
          .patch_key = "name"),
    ONE("setHostnameAsFQDN", type_bool, 35, .flags = POINTER,
        .doc = "Its host name is the fully qualified one."),
    ONE("os", type_pod_os, 36),
    ONE("hostUsers", type_bool, 37, .flags = POINTER, .doc = "Uses the node's user namespace."),
    KEYED("schedulingGates", type_pod_scheduling_gate, 38, "name", .flags = MERGE,
          .patch_key = "name", .doc = "While one is left the pod is not scheduled."),
    KEYED("resourceClaims", type_pod_resource_claim, 39, "name", .flags = MERGE | RETAIN_KEYS,
          .patch_key = "name", .doc = "Devices that are to be allocated for the pod."),
    ONE("resources", type_resource_requirements, 40,
        .doc = "What all containers together ask for."),
    ONE("hostnameOverride", type_string, 41, .flags = POINTER),
    ONE("workloadRef", type_pod_workload_reference, 42,
        .doc = "Of Kubernetes 1.35 alone; schedulingGroup took its place."),
    ONE("schedulingGroup", type_pod_scheduling_group, 43),
};
OBJECT(pod_spec, "PodSpec");

static const struct field pod_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastProbeTime", type_time, 3),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5),
    ONE("message", type_string, 6),
    ONE("observedGeneration", type_int64, 7),
};
static OBJECT(pod_condition, "PodCondition");

static const struct field resource_health_fields[] = {
    ONE("resourceID", type_string, 1, .flags = REQUIRED),
    ONE("health", type_string, 2),
    ONE("message", type_string, 6, .flags = POINTER),
};
static OBJECT(resource_health, "ResourceHealth");

static const struct field resource_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    KEYED("resources", type_resource_health, 2, "resourceID"),
};
static OBJECT(resource_status, "ResourceStatus");

static const struct field container_state_running_fields[] = {
    ONE("startedAt", type_time, 1),
};
static OBJECT(container_state_running, "ContainerStateRunning");

static const struct field container_state_terminated_fields[] = {
    ONE("exitCode", type_int32, 1, .flags = REQUIRED),
    ONE("signal", type_int32, 2),
    ONE("reason", type_string, 3),
    ONE("message", type_string, 4),
    ONE("startedAt", type_time, 5),
    ONE("finishedAt", type_time, 6),
    ONE("containerID", type_string, 7),
};
static OBJECT(container_state_terminated, "ContainerStateTerminated");

static const struct field container_state_waiting_fields[] = {
    ONE("reason", type_string, 1),
    ONE("message", type_string, 2),
};
static OBJECT(container_state_waiting, "ContainerStateWaiting");

static const struct field container_state_fields[] = {
    ONE("waiting", type_container_state_waiting, 1),
    ONE("running", type_container_state_running, 2),
    ONE("terminated", type_container_state_terminated, 3),
};
static OBJECT(container_state, "ContainerState");

static const struct field linux_container_user_fields[] = {
    ONE("uid", type_int64, 1, .flags = REQUIRED),
    ONE("gid", type_int64, 2, .flags = REQUIRED),
    LIST("supplementalGroups", type_int64, 3),
};
static OBJECT(linux_container_user, "LinuxContainerUser");

static const struct field container_user_fields[] = {
    ONE("linux", type_linux_container_user, 1),
};
static OBJECT(container_user, "ContainerUser");

static const struct field image_volume_status_fields[] = {
    ONE("imageRef", type_string, 1, .flags = REQUIRED),
};
static OBJECT(image_volume_status, "ImageVolumeStatus");

static const struct field volume_status_fields[] = {
    ONE("image", type_image_volume_status, 1),
};
static OBJECT(volume_status, "VolumeStatus");

static const struct field volume_mount_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("mountPath", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
    ONE("recursiveReadOnly", type_string, 4, .flags = POINTER),
    ONE("volumeStatus", type_volume_status, 5),
};
static OBJECT(volume_mount_status, "VolumeMountStatus");

static const struct field container_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("state", type_container_state, 2),
    ONE("lastState", type_container_state, 3),
    ONE("ready", type_bool, 4, .flags = REQUIRED),
    ONE("restartCount", type_int32, 5, .flags = REQUIRED),
    ONE("image", type_string, 6, .flags = REQUIRED),
    ONE("imageID", type_string, 7, .flags = REQUIRED),
    ONE("containerID", type_string, 8),
    ONE("started", type_bool, 9, .flags = POINTER),
    MAP("allocatedResources", type_quantity, 10),
    ONE("resources", type_resource_requirements, 11),
    KEYED("volumeMounts", type_volume_mount_status, 12, "mountPath", .flags = MERGE,
          .patch_key = "mountPath"),
    ONE("user", type_container_user, 13),
    KEYED("allocatedResourcesStatus", type_resource_status, 14, "name", .flags = MERGE,
          .patch_key = "name"),
    ONE("stopSignal", type_string, 15, .flags = POINTER),
};
static OBJECT(container_status, "ContainerStatus");

static const struct field container_extended_resource_request_fields[] = {
    ONE("containerName", type_string, 1, .flags = REQUIRED),
    ONE("resourceName", type_string, 2, .flags = REQUIRED),
    ONE("requestName", type_string, 3, .flags = REQUIRED),
};
static OBJECT(container_extended_resource_request, "ContainerExtendedResourceRequest");

static const struct field pod_extended_resource_claim_status_fields[] = {
    LIST("requestMappings", type_container_extended_resource_request, 1, .flags = REQUIRED),
    ONE("resourceClaimName", type_string, 2, .flags = REQUIRED),
};
static OBJECT(pod_extended_resource_claim_status, "PodExtendedResourceClaimStatus");

static const struct field host_ip_fields[] = {
    ONE("ip", type_string, 1, .flags = REQUIRED),
};
static OBJECT(host_ip, "HostIP");

static const struct field node_allocatable_resource_claim_status_fields[] = {
    ONE("resourceClaimName", type_string, 1, .flags = REQUIRED),
    SET("containers", type_string, 2),
    MAP("resources", type_quantity, 3, .flags = REQUIRED),
};
static OBJECT(node_allocatable_resource_claim_status, "NodeAllocatableResourceClaimStatus");

static const struct field pod_ip_fields[] = {
    ONE("ip", type_string, 1, .flags = REQUIRED),
};
static OBJECT(pod_ip, "PodIP");

static const struct field pod_resource_claim_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("resourceClaimName", type_string, 2, .flags = POINTER),
};
static OBJECT(pod_resource_claim_status, "PodResourceClaimStatus");

static const struct field pod_status_fields[] = {
    ONE("phase", type_string, 1, .doc = "Pending, Running, Succeeded, Failed or Unknown."),
    KEYED("conditions", type_pod_condition, 2, "type", .flags = MERGE, .patch_key = "type",
          .doc = "PodScheduled, Initialized, ContainersReady, Ready and others."),
    ONE("message", type_string, 3),
    ONE("reason", type_string, 4),
    ONE("hostIP", type_string, 5),
    ONE("podIP", type_string, 6, .doc = "Address of the pod."),
    ONE("startTime", type_time, 7, .flags = POINTER,
        .doc = "When the node agent took the pod over."),
    LIST("containerStatuses", type_container_status, 8, .doc = "State of each container."),
    ONE("qosClass", type_string, 9),
    LIST("initContainerStatuses", type_container_status, 10),
    ONE("nominatedNodeName", type_string, 11, .doc = "Node where room is being made for the pod."),
    KEYED("podIPs", type_pod_ip, 12, "ip", .flags = MERGE, .patch_key = "ip"),
    LIST("ephemeralContainerStatuses", type_container_status, 13),
    ONE("resize", type_string, 14),
    KEYED("resourceClaimStatuses", type_pod_resource_claim_status, 15, "name",
          .flags = MERGE | RETAIN_KEYS, .patch_key = "name"),
    LIST("hostIPs", type_host_ip, 16, .flags = MERGE, .patch_key = "ip"),
    ONE("observedGeneration", type_int64, 17),
    ONE("extendedResourceClaimStatus", type_pod_extended_resource_claim_status, 18),
    MAP("allocatedResources", type_quantity, 19),
    ONE("resources", type_resource_requirements, 20),
    LIST("nodeAllocatableResourceClaimStatuses", type_node_allocatable_resource_claim_status, 21),
};
OBJECT(pod_status, "PodStatus");

static const struct field pod_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_pod_spec, 2, .doc = "What should run."),
    ONE("status", type_pod_status, 3, .doc = "What was last seen of it."),
};
OBJECT(pod, "Pod");

static const struct field pod_template_spec_fields[] = {
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_pod_spec, 2),
};
OBJECT(pod_template_spec, "PodTemplateSpec");

static const struct field object_reference_fields[] = {
    ONE("kind", type_string, 1),       ONE("namespace", type_string, 2),
    ONE("name", type_string, 3),       ONE("uid", type_string, 4),
    ONE("apiVersion", type_string, 5), ONE("resourceVersion", type_string, 6),
    ONE("fieldPath", type_string, 7),
};
OBJECT(object_reference, "ObjectReference");

static const struct field binding_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("target", type_object_reference, 2, .flags = REQUIRED | ATOMIC),
};
OBJECT(binding, "Binding");

static const struct field eviction_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("deleteOptions", type_delete_options, 2),
};
OBJECT(eviction, "Eviction");
