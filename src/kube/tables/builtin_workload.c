/*
 * Kinds of workloads and storage that Grove's own controllers do not run: the server keeps them for
 * those who do. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

#define TEMPLATE_COLUMNS                                  \
    WIDE("Containers", "string", "Names of containers."), \
        WIDE("Images", "string", "What they run."),       \
        WIDE("Selector", "string", "Labels of its pods.")

/* ---- core ---- */

static const struct column pod_template_columns[] = {
    NAME_COLUMN,
    COLUMN("Containers", "string", "Names of containers."),
    COLUMN("Images", "string", "What they run."),
    COLUMN("Pod Labels", "string", "Labels of pods made from it."),
};
KIND(kind_pod_template, .group = "", .version = "v1", .kind = "PodTemplate",
     .plural = "podtemplates", .singular = "podtemplate", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_GENERATION, .type = &type_pod_template,
     COLUMNS(pod_template_columns));

static const struct column replication_controller_columns[] = {
    NAME_COLUMN,
    COLUMN("Desired", "integer", "Pods asked for."),
    COLUMN("Current", "integer", "Pods that exist."),
    COLUMN("Ready", "integer", "Pods that are ready."),
    AGE_COLUMN,
    TEMPLATE_COLUMNS,
};
KIND(kind_replication_controller, .group = "", .version = "v1", .kind = "ReplicationController",
     .plural = "replicationcontrollers", .singular = "replicationcontroller", .short_names = "rc",
     .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_SCALE | KIND_GENERATION,
     .type = &type_replication_controller, COLUMNS(replication_controller_columns),
     SCALE_PATHS(".spec.selector"), .field_selectors = "status.replicas");

static const struct column persistent_volume_columns[] = {
    NAME_COLUMN,
    COLUMN("Capacity", "string", "How much it holds."),
    COLUMN("Access Modes", "string", "How it may be mounted."),
    COLUMN_AT("Reclaim Policy", "string", ".spec.persistentVolumeReclaimPolicy",
              "What becomes of it when its claim goes."),
    COLUMN("Status", "string", "Whether a claim has it."),
    COLUMN("Claim", "string", "The claim it is bound to."),
    COLUMN_AT("StorageClass", "string", ".spec.storageClassName", "The class it belongs to."),
    COLUMN("VolumeAttributesClass", "string", "The class of its attributes."),
    COLUMN_AT("Reason", "string", ".status.reason", "Why it is in its state."),
    AGE_COLUMN,
    WIDE("VolumeMode", "string", "Files or a block device."),
};
KIND(kind_persistent_volume, .group = "", .version = "v1", .kind = "PersistentVolume",
     .plural = "persistentvolumes", .singular = "persistentvolume", .short_names = "pv",
     .verbs = VERBS_ALL, .flags = KIND_STATUS, .type = &type_persistent_volume,
     COLUMNS(persistent_volume_columns));

static const struct column persistent_volume_claim_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "string", "Whether it has a volume."),
    COLUMN_AT("Volume", "string", ".spec.volumeName", "The volume it is bound to."),
    COLUMN("Capacity", "string", "What the volume has."),
    COLUMN("Access Modes", "string", "How it may be mounted."),
    COLUMN_AT("StorageClass", "string", ".spec.storageClassName", "The class asked for."),
    COLUMN("VolumeAttributesClass", "string", "The class of its attributes."),
    AGE_COLUMN,
    WIDE("VolumeMode", "string", "Files or a block device."),
};
KIND(kind_persistent_volume_claim, .group = "", .version = "v1", .kind = "PersistentVolumeClaim",
     .plural = "persistentvolumeclaims", .singular = "persistentvolumeclaim", .short_names = "pvc",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS,
     .type = &type_persistent_volume_claim, COLUMNS(persistent_volume_claim_columns));

/* ---- apps ---- */

static const struct column daemon_set_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Desired", "integer", ".status.desiredNumberScheduled",
              "Nodes that should have a pod."),
    COLUMN_AT("Current", "integer", ".status.currentNumberScheduled", "Nodes that have one."),
    COLUMN_AT("Ready", "integer", ".status.numberReady", "Nodes whose pod is ready."),
    COLUMN_AT("Up-to-date", "integer", ".status.updatedNumberScheduled",
              "Nodes with a pod of the newest template."),
    COLUMN_AT("Available", "integer", ".status.numberAvailable",
              "Nodes whose pod has been ready long enough."),
    COLUMN("Node Selector", "string", "Labels of its nodes."),
    AGE_COLUMN,
    TEMPLATE_COLUMNS,
};
KIND(kind_daemon_set, .group = "apps", .version = "v1", .kind = "DaemonSet", .plural = "daemonsets",
     .singular = "daemonset", .short_names = "ds", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_daemon_set,
     COLUMNS(daemon_set_columns));

static const struct column stateful_set_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "string", "Pods that are ready, of all."),
    AGE_COLUMN,
    WIDE("Containers", "string", "Names of containers."),
    WIDE("Images", "string", "What they run."),
};
KIND(kind_stateful_set, .group = "apps", .version = "v1", .kind = "StatefulSet",
     .plural = "statefulsets", .singular = "statefulset", .short_names = "sts", .categories = "all",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS | KIND_SCALE | KIND_GENERATION,
     .type = &type_stateful_set, COLUMNS(stateful_set_columns), SCALE_PATHS(".spec.selector"));

/* ---- batch ---- */

static const struct column job_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "string", "How far it is."),
    COLUMN("Completions", "string", "Pods that succeeded, of all."),
    COLUMN("Duration", "string", "How long it took."),
    AGE_COLUMN,
    TEMPLATE_COLUMNS,
};
KIND(kind_job, .group = "batch", .version = "v1", .kind = "Job", .plural = "jobs",
     .singular = "job", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_job,
     COLUMNS(job_columns));

static const struct column cron_job_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Schedule", "string", ".spec.schedule", "When."),
    COLUMN("Timezone", "string", "The time zone of the schedule."),
    COLUMN("Suspend", "boolean", "No more jobs while it is true."),
    COLUMN("Active", "integer", "Jobs that run now."),
    COLUMN("Last Schedule", "string", "Time since the last one."),
    AGE_COLUMN,
    TEMPLATE_COLUMNS,
};
KIND(kind_cron_job, .group = "batch", .version = "v1", .kind = "CronJob", .plural = "cronjobs",
     .singular = "cronjob", .short_names = "cj", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_cron_job,
     COLUMNS(cron_job_columns));

/* ---- storage ---- */

static const struct column csi_driver_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("AttachRequired", "boolean", ".spec.attachRequired", "Volumes are attached first."),
    COLUMN_AT("PodInfoOnMount", "boolean", ".spec.podInfoOnMount", "It is told about the pod."),
    COLUMN_AT("StorageCapacity", "boolean", ".spec.storageCapacity", "It tells what is left."),
    COLUMN("TokenRequests", "string", "Tokens it asks for."),
    COLUMN_AT("RequiresRepublish", "boolean", ".spec.requiresRepublish", "Mounts are renewed."),
    COLUMN("Modes", "string", "Kinds of volumes it has."),
    AGE_COLUMN,
};
KIND(kind_csi_driver, .group = "storage.k8s.io", .version = "v1", .kind = "CSIDriver",
     .plural = "csidrivers", .singular = "csidriver", .verbs = VERBS_ALL,
     .flags = KIND_MUST_SEND_VERSION, .type = &type_csi_driver, COLUMNS(csi_driver_columns));

static const struct column csi_node_columns[] = {
    NAME_COLUMN,
    COLUMN("Drivers", "integer", "Number of drivers."),
    AGE_COLUMN,
};
KIND(kind_csi_node, .group = "storage.k8s.io", .version = "v1", .kind = "CSINode",
     .plural = "csinodes", .singular = "csinode", .verbs = VERBS_ALL,
     .flags = KIND_MUST_SEND_VERSION, .type = &type_csi_node, COLUMNS(csi_node_columns));

static const struct column csi_storage_capacity_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("StorageClassName", "string", ".storageClassName", "The class it is about."),
    COLUMN("Capacity", "string", "What is left."),
    AGE_COLUMN,
};
KIND(kind_csi_storage_capacity, .group = "storage.k8s.io", .version = "v1",
     .kind = "CSIStorageCapacity", .plural = "csistoragecapacities",
     .singular = "csistoragecapacity", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_MUST_SEND_VERSION, .type = &type_csi_storage_capacity,
     COLUMNS(csi_storage_capacity_columns));

static const struct column storage_class_columns[] = {
    {.name = "Name", .type = "string", .format = "name", .doc = "The default one is marked."},
    COLUMN_AT("Provisioner", "string", ".provisioner", "Who makes volumes."),
    COLUMN_AT("ReclaimPolicy", "string", ".reclaimPolicy", "What becomes of unused volumes."),
    COLUMN_AT("VolumeBindingMode", "string", ".volumeBindingMode", "When a volume is chosen."),
    COLUMN_AT("AllowVolumeExpansion", "boolean", ".allowVolumeExpansion", "Claims may grow."),
    AGE_COLUMN,
};
KIND(kind_storage_class, .group = "storage.k8s.io", .version = "v1", .kind = "StorageClass",
     .plural = "storageclasses", .singular = "storageclass", .short_names = "sc",
     .verbs = VERBS_ALL, .type = &type_storage_class, COLUMNS(storage_class_columns));

static const struct column volume_attachment_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Attacher", "string", ".spec.attacher", "The driver."),
    COLUMN("PV", "string", "The volume."),
    COLUMN_AT("Node", "string", ".spec.nodeName", "Where it is attached."),
    COLUMN_AT("Attached", "boolean", ".status.attached", "It is done."),
    AGE_COLUMN,
};
KIND(kind_volume_attachment, .group = "storage.k8s.io", .version = "v1", .kind = "VolumeAttachment",
     .plural = "volumeattachments", .singular = "volumeattachment", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_MUST_SEND_VERSION, .type = &type_volume_attachment,
     COLUMNS(volume_attachment_columns));

static const struct column volume_attributes_class_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("DriverName", "string", ".driverName", "The driver it is for."),
    AGE_COLUMN,
};
#define VOLUME_ATTRIBUTES_CLASS(v)                                                   \
    .group = "storage.k8s.io", .version = v, .kind = "VolumeAttributesClass",        \
    .plural = "volumeattributesclasses", .singular = "volumeattributesclass",        \
    .short_names = "vac", .verbs = VERBS_ALL, .type = &type_volume_attributes_class, \
    COLUMNS(volume_attributes_class_columns)
KIND(kind_volume_attributes_class, VOLUME_ATTRIBUTES_CLASS("v1"));
KIND(kind_volume_attributes_class_v1beta1, VOLUME_ATTRIBUTES_CLASS("v1beta1"));
