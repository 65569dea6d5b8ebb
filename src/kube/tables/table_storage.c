/*
 * Tables of storage: volumes, classes, and what drivers say of themselves. A pure table;
 * see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field azure_file_persistent_volume_source_fields[] = {
    ONE("secretName", type_string, 1, .flags = REQUIRED),
    ONE("shareName", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
    ONE("secretNamespace", type_string, 4, .flags = POINTER),
};
static OBJECT(azure_file_persistent_volume_source, "AzureFilePersistentVolumeSource");

static const struct field secret_reference_fields[] = {
    ONE("name", type_string, 1),
    ONE("namespace", type_string, 2),
};
static OBJECT(secret_reference, "SecretReference");

static const struct field cephfs_persistent_volume_source_fields[] = {
    LIST("monitors", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2),
    ONE("user", type_string, 3),
    ONE("secretFile", type_string, 4),
    ONE("secretRef", type_secret_reference, 5, .flags = ATOMIC),
    ONE("readOnly", type_bool, 6),
};
static OBJECT(cephfs_persistent_volume_source, "CephFSPersistentVolumeSource");

static const struct field cinder_persistent_volume_source_fields[] = {
    ONE("volumeID", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("readOnly", type_bool, 3),
    ONE("secretRef", type_secret_reference, 4, .flags = ATOMIC),
};
static OBJECT(cinder_persistent_volume_source, "CinderPersistentVolumeSource");

static const struct field csi_persistent_volume_source_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("volumeHandle", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
    ONE("fsType", type_string, 4),
    MAP("volumeAttributes", type_string, 5),
    ONE("controllerPublishSecretRef", type_secret_reference, 6, .flags = ATOMIC),
    ONE("nodeStageSecretRef", type_secret_reference, 7, .flags = ATOMIC),
    ONE("nodePublishSecretRef", type_secret_reference, 8, .flags = ATOMIC),
    ONE("controllerExpandSecretRef", type_secret_reference, 9, .flags = ATOMIC),
    ONE("nodeExpandSecretRef", type_secret_reference, 10, .flags = ATOMIC),
};
static OBJECT(csi_persistent_volume_source, "CSIPersistentVolumeSource");

static const struct field flex_persistent_volume_source_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("secretRef", type_secret_reference, 3, .flags = ATOMIC),
    ONE("readOnly", type_bool, 4),
    MAP("options", type_string, 5),
};
static OBJECT(flex_persistent_volume_source, "FlexPersistentVolumeSource");

static const struct field glusterfs_persistent_volume_source_fields[] = {
    ONE("endpoints", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
    ONE("endpointsNamespace", type_string, 4, .flags = POINTER),
};
static OBJECT(glusterfs_persistent_volume_source, "GlusterfsPersistentVolumeSource");

static const struct field iscsi_persistent_volume_source_fields[] = {
    ONE("targetPortal", type_string, 1, .flags = REQUIRED),
    ONE("iqn", type_string, 2, .flags = REQUIRED),
    ONE("lun", type_int32, 3, .flags = REQUIRED),
    ONE("iscsiInterface", type_string, 4, .flags = BUILTIN_DEFAULT, .dflt = "\"default\""),
    ONE("fsType", type_string, 5),
    ONE("readOnly", type_bool, 6),
    LIST("portals", type_string, 7),
    ONE("chapAuthDiscovery", type_bool, 8),
    ONE("secretRef", type_secret_reference, 10, .flags = ATOMIC),
    ONE("chapAuthSession", type_bool, 11),
    ONE("initiatorName", type_string, 12, .flags = POINTER),
};
static OBJECT(iscsi_persistent_volume_source, "ISCSIPersistentVolumeSource");

static const struct field local_volume_source_fields[] = {
    ONE("path", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2, .flags = POINTER),
};
static OBJECT(local_volume_source, "LocalVolumeSource");

static const struct field volume_node_affinity_fields[] = {
    ONE("required", type_node_selector, 1, .flags = ATOMIC),
};
static OBJECT(volume_node_affinity, "VolumeNodeAffinity");

static const struct field rbd_persistent_volume_source_fields[] = {
    LIST("monitors", type_string, 1, .flags = REQUIRED),
    ONE("image", type_string, 2, .flags = REQUIRED),
    ONE("fsType", type_string, 3),
    ONE("pool", type_string, 4, .flags = BUILTIN_DEFAULT, .dflt = "\"rbd\""),
    ONE("user", type_string, 5, .flags = BUILTIN_DEFAULT, .dflt = "\"admin\""),
    ONE("keyring", type_string, 6, .flags = BUILTIN_DEFAULT, .dflt = "\"/etc/ceph/keyring\""),
    ONE("secretRef", type_secret_reference, 7, .flags = ATOMIC),
    ONE("readOnly", type_bool, 8),
};
static OBJECT(rbd_persistent_volume_source, "RBDPersistentVolumeSource");

static const struct field scaleio_persistent_volume_source_fields[] = {
    ONE("gateway", type_string, 1, .flags = REQUIRED),
    ONE("system", type_string, 2, .flags = REQUIRED),
    ONE("secretRef", type_secret_reference, 3, .flags = REQUIRED | ATOMIC),
    ONE("sslEnabled", type_bool, 4),
    ONE("protectionDomain", type_string, 5),
    ONE("storagePool", type_string, 6),
    ONE("storageMode", type_string, 7, .flags = BUILTIN_DEFAULT, .dflt = "\"ThinProvisioned\""),
    ONE("volumeName", type_string, 8),
    ONE("fsType", type_string, 9, .flags = BUILTIN_DEFAULT, .dflt = "\"xfs\""),
    ONE("readOnly", type_bool, 10),
};
static OBJECT(scaleio_persistent_volume_source, "ScaleIOPersistentVolumeSource");

static const struct field storageos_persistent_volume_source_fields[] = {
    ONE("volumeName", type_string, 1),
    ONE("volumeNamespace", type_string, 2),
    ONE("fsType", type_string, 3),
    ONE("readOnly", type_bool, 4),
    ONE("secretRef", type_object_reference, 5, .flags = ATOMIC),
};
static OBJECT(storageos_persistent_volume_source, "StorageOSPersistentVolumeSource");

static const struct field persistent_volume_spec_fields[] = {
    MAP("capacity", type_quantity, 1, .doc = "How much it holds."),
    ONE("gcePersistentDisk", type_gce_persistent_disk_volume_source, 1, .parent_tag = 2),
    ONE("awsElasticBlockStore", type_aws_elastic_block_store_volume_source, 2, .parent_tag = 2),
    ONE("hostPath", type_host_path_volume_source, 3, .parent_tag = 2),
    ONE("glusterfs", type_glusterfs_persistent_volume_source, 4, .parent_tag = 2),
    ONE("nfs", type_nfs_volume_source, 5, .parent_tag = 2),
    ONE("rbd", type_rbd_persistent_volume_source, 6, .parent_tag = 2),
    ONE("iscsi", type_iscsi_persistent_volume_source, 7, .parent_tag = 2),
    ONE("cinder", type_cinder_persistent_volume_source, 8, .parent_tag = 2),
    ONE("cephfs", type_cephfs_persistent_volume_source, 9, .parent_tag = 2),
    ONE("fc", type_fc_volume_source, 10, .parent_tag = 2),
    ONE("flocker", type_flocker_volume_source, 11, .parent_tag = 2),
    ONE("flexVolume", type_flex_persistent_volume_source, 12, .parent_tag = 2),
    ONE("azureFile", type_azure_file_persistent_volume_source, 13, .parent_tag = 2),
    ONE("vsphereVolume", type_vsphere_virtual_disk_volume_source, 14, .parent_tag = 2),
    ONE("quobyte", type_quobyte_volume_source, 15, .parent_tag = 2),
    ONE("azureDisk", type_azure_disk_volume_source, 16, .parent_tag = 2),
    ONE("photonPersistentDisk", type_photon_persistent_disk_volume_source, 17, .parent_tag = 2),
    ONE("portworxVolume", type_portworx_volume_source, 18, .parent_tag = 2),
    ONE("scaleIO", type_scaleio_persistent_volume_source, 19, .parent_tag = 2),
    ONE("local", type_local_volume_source, 20, .parent_tag = 2),
    ONE("storageos", type_storageos_persistent_volume_source, 21, .parent_tag = 2),
    ONE("csi", type_csi_persistent_volume_source, 22, .parent_tag = 2),
    LIST("accessModes", type_string, 3, .doc = "How it may be mounted."),
    ONE("claimRef", type_object_reference, 4, .doc = "The claim it is bound to."),
    ONE("persistentVolumeReclaimPolicy", type_string, 5, .flags = BUILTIN_DEFAULT,
        .dflt = "\"Retain\"", .enums = "Delete|Recycle|Retain",
        .doc = "What becomes of it when its claim goes."),
    ONE("storageClassName", type_string, 6, .doc = "The class it belongs to."),
    LIST("mountOptions", type_string, 7),
    ONE("volumeMode", type_string, 8, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Filesystem\"",
        .enums = "Block|Filesystem"),
    ONE("nodeAffinity", type_volume_node_affinity, 9, .doc = "Which nodes can reach it."),
    ONE("volumeAttributesClassName", type_string, 10, .flags = POINTER),
};
OBJECT(persistent_volume_spec, "PersistentVolumeSpec");

static const struct field persistent_volume_status_fields[] = {
    ONE("phase", type_string, 1),
    ONE("message", type_string, 2),
    ONE("reason", type_string, 3),
    ONE("lastPhaseTransitionTime", type_time, 4),
};
static OBJECT(persistent_volume_status, "PersistentVolumeStatus");

static const struct field persistent_volume_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_persistent_volume_spec, 2, .doc = "What the volume is."),
    ONE("status", type_persistent_volume_status, 3),
};
OBJECT(persistent_volume, "PersistentVolume");

static const struct field storage_v1_token_request_fields[] = {
    ONE("audience", type_string, 1, .flags = REQUIRED),
    ONE("expirationSeconds", type_int64, 2, .flags = POINTER),
};
static OBJECT(storage_v1_token_request, "StorageV1TokenRequest");

static const struct field csi_driver_spec_fields[] = {
    ONE("attachRequired", type_bool, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "true",
        .doc = "Volumes are attached before they are mounted."),
    ONE("podInfoOnMount", type_bool, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "false",
        .doc = "The driver is told about the pod."),
    SET("volumeLifecycleModes", type_string, 3, .flags = BUILTIN_DEFAULT,
        .dflt = "[\"Persistent\"]"),
    ONE("storageCapacity", type_bool, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "false"),
    ONE("fsGroupPolicy", type_string, 5, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"ReadWriteOnceWithFSType\"", .enums = "File|None|ReadWriteOnceWithFSType",
        .doc = "Whether ownership of files is changed."),
    LIST("tokenRequests", type_storage_v1_token_request, 6),
    ONE("requiresRepublish", type_bool, 7, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "false"),
    ONE("seLinuxMount", type_bool, 8, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "false"),
    ONE("nodeAllocatableUpdatePeriodSeconds", type_int64, 9, .flags = POINTER),
    ONE("serviceAccountTokenInSecrets", type_bool, 10, .flags = POINTER),
    ONE("preventPodSchedulingIfMissing", type_bool, 11, .flags = POINTER),
};
static OBJECT(csi_driver_spec, "CSIDriverSpec");

static const struct field csi_driver_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_csi_driver_spec, 2, .flags = REQUIRED),
};
OBJECT(csi_driver, "CSIDriver");

static const struct field volume_node_resources_fields[] = {
    ONE("count", type_int32, 1, .flags = POINTER),
};
static OBJECT(volume_node_resources, "VolumeNodeResources");

static const struct field csi_node_driver_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("nodeID", type_string, 2, .flags = REQUIRED),
    LIST("topologyKeys", type_string, 3),
    ONE("allocatable", type_volume_node_resources, 4),
};
static OBJECT(csi_node_driver, "CSINodeDriver");

static const struct field csi_node_spec_fields[] = {
    KEYED("drivers", type_csi_node_driver, 1, "name", .flags = REQUIRED | MERGE | BUILTIN_DEFAULT,
          .dflt = "[]", /* in protobuf none is nothing */
          .patch_key = "name", .doc = "Drivers on this node."),
};
static OBJECT(csi_node_spec, "CSINodeSpec");

static const struct field csi_node_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_csi_node_spec, 2, .flags = REQUIRED),
};
OBJECT(csi_node, "CSINode");

static const struct field csi_storage_capacity_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("nodeTopology", type_label_selector, 2, .flags = ATOMIC, .doc = "The nodes it is about."),
    ONE("storageClassName", type_string, 3, .flags = REQUIRED, .doc = "The class it is about."),
    ONE("capacity", type_quantity, 4, .flags = POINTER, .doc = "What is left."),
    ONE("maximumVolumeSize", type_quantity, 5, .flags = POINTER),
};
OBJECT(csi_storage_capacity, "CSIStorageCapacity");

static const struct field topology_selector_label_requirement_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    LIST("values", type_string, 2, .flags = REQUIRED),
};
static OBJECT(topology_selector_label_requirement, "TopologySelectorLabelRequirement");

static const struct field topology_selector_term_fields[] = {
    LIST("matchLabelExpressions", type_topology_selector_label_requirement, 1),
};
static OBJECT(topology_selector_term, "TopologySelectorTerm");

static const struct field storage_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("provisioner", type_string, 2, .flags = REQUIRED,
        .doc = "Who makes volumes of this class."),
    MAP("parameters", type_string, 3, .doc = "Settings for who makes them."),
    ONE("reclaimPolicy", type_string, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Delete\"",
        .enums = "Delete|Retain", .doc = "What becomes of volumes that are not needed any more."),
    LIST("mountOptions", type_string, 5),
    ONE("allowVolumeExpansion", type_bool, 6, .flags = POINTER, .doc = "Whether claims may grow."),
    ONE("volumeBindingMode", type_string, 7, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"Immediate\"", .enums = "Immediate|WaitForFirstConsumer",
        .doc = "When a volume is chosen."),
    LIST("allowedTopologies", type_topology_selector_term, 8, .flags = ATOMIC),
};
OBJECT(storage_class, "StorageClass");

static const struct field volume_attachment_source_fields[] = {
    ONE("persistentVolumeName", type_string, 1, .flags = POINTER),
    ONE("inlineVolumeSpec", type_persistent_volume_spec, 2),
};
static OBJECT(volume_attachment_source, "VolumeAttachmentSource");

static const struct field volume_attachment_spec_fields[] = {
    ONE("attacher", type_string, 1, .flags = REQUIRED, .doc = "The driver that does it."),
    ONE("source", type_volume_attachment_source, 2, .flags = REQUIRED, .doc = "What is attached."),
    ONE("nodeName", type_string, 3, .flags = REQUIRED, .doc = "Where to."),
};
static OBJECT(volume_attachment_spec, "VolumeAttachmentSpec");

static const struct field volume_error_fields[] = {
    ONE("time", type_time, 1),
    ONE("message", type_string, 2),
    ONE("errorCode", type_int32, 3, .flags = POINTER),
};
static OBJECT(volume_error, "VolumeError");

static const struct field volume_attachment_status_fields[] = {
    ONE("attached", type_bool, 1, .flags = REQUIRED),
    MAP("attachmentMetadata", type_string, 2),
    ONE("attachError", type_volume_error, 3),
    ONE("detachError", type_volume_error, 4),
};
static OBJECT(volume_attachment_status, "VolumeAttachmentStatus");

static const struct field volume_attachment_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_volume_attachment_spec, 2, .flags = REQUIRED),
    ONE("status", type_volume_attachment_status, 3),
};
OBJECT(volume_attachment, "VolumeAttachment");

static const struct field volume_attributes_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("driverName", type_string, 2, .flags = REQUIRED, .doc = "The driver it is for."),
    MAP("parameters", type_string, 3, .doc = "Settings for the driver."),
};
OBJECT(volume_attributes_class, "VolumeAttributesClass");
