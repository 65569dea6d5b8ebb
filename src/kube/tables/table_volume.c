/*
 * Tables of volumes: every source a pod can mount. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field aws_elastic_block_store_volume_source_fields[] = {
    ONE("volumeID", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("partition", type_int32, 3),
    ONE("readOnly", type_bool, 4),
};
OBJECT(aws_elastic_block_store_volume_source, "AWSElasticBlockStoreVolumeSource");

static const struct field azure_disk_volume_source_fields[] = {
    ONE("diskName", type_string, 1, .flags = REQUIRED),
    ONE("diskURI", type_string, 2, .flags = REQUIRED),
    ONE("cachingMode", type_string, 3, .flags = POINTER, .dflt = "\"ReadWrite\""),
    ONE("fsType", type_string, 4, .flags = POINTER, .dflt = "\"ext4\""),
    ONE("readOnly", type_bool, 5, .flags = POINTER, .dflt = "false"),
    ONE("kind", type_string, 6, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Shared\""),
};
OBJECT(azure_disk_volume_source, "AzureDiskVolumeSource");

static const struct field azure_file_volume_source_fields[] = {
    ONE("secretName", type_string, 1, .flags = REQUIRED),
    ONE("shareName", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
};
static OBJECT(azure_file_volume_source, "AzureFileVolumeSource");

static const struct field local_object_reference_fields[] = {
    ONE("name", type_string, 1),
};
OBJECT(local_object_reference, "LocalObjectReference");

static const struct field cephfs_volume_source_fields[] = {
    LIST("monitors", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2),
    ONE("user", type_string, 3),
    ONE("secretFile", type_string, 4),
    ONE("secretRef", type_local_object_reference, 5, .flags = ATOMIC),
    ONE("readOnly", type_bool, 6),
};
static OBJECT(cephfs_volume_source, "CephFSVolumeSource");

static const struct field cinder_volume_source_fields[] = {
    ONE("volumeID", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("readOnly", type_bool, 3),
    ONE("secretRef", type_local_object_reference, 4, .flags = ATOMIC),
};
static OBJECT(cinder_volume_source, "CinderVolumeSource");

static const struct field key_to_path_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2, .flags = REQUIRED),
    ONE("mode", type_int32, 3, .flags = POINTER),
};
static OBJECT(key_to_path, "KeyToPath");

static const struct field config_map_volume_source_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    LIST("items", type_key_to_path, 2),
    ONE("defaultMode", type_int32, 3, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "420"),
    ONE("optional", type_bool, 4, .flags = POINTER),
};
static OBJECT(config_map_volume_source, "ConfigMapVolumeSource");

static const struct field csi_volume_source_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("readOnly", type_bool, 2, .flags = POINTER),
    ONE("fsType", type_string, 3, .flags = POINTER),
    MAP("volumeAttributes", type_string, 4),
    ONE("nodePublishSecretRef", type_local_object_reference, 5, .flags = ATOMIC),
};
static OBJECT(csi_volume_source, "CSIVolumeSource");

static const struct field downward_api_volume_file_fields[] = {
    ONE("path", type_string, 1, .flags = REQUIRED),
    ONE("fieldRef", type_object_field_selector, 2, .flags = ATOMIC),
    ONE("resourceFieldRef", type_resource_field_selector, 3, .flags = ATOMIC),
    ONE("mode", type_int32, 4, .flags = POINTER),
};
static OBJECT(downward_api_volume_file, "DownwardAPIVolumeFile");

static const struct field downward_api_volume_source_fields[] = {
    LIST("items", type_downward_api_volume_file, 1),
    ONE("defaultMode", type_int32, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "420"),
};
static OBJECT(downward_api_volume_source, "DownwardAPIVolumeSource");

static const struct field empty_dir_volume_source_fields[] = {
    ONE("medium", type_string, 1),
    ONE("sizeLimit", type_quantity, 2, .flags = POINTER),
};
static OBJECT(empty_dir_volume_source, "EmptyDirVolumeSource");

static const struct field typed_local_object_reference_fields[] = {
    ONE("apiGroup", type_string, 1, .flags = POINTER),
    ONE("kind", type_string, 2, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED),
};
OBJECT(typed_local_object_reference, "TypedLocalObjectReference");

static const struct field typed_object_reference_fields[] = {
    ONE("apiGroup", type_string, 1, .flags = POINTER),
    ONE("kind", type_string, 2, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED),
    ONE("namespace", type_string, 4, .flags = POINTER),
};
static OBJECT(typed_object_reference, "TypedObjectReference");

static const struct field volume_resource_requirements_fields[] = {
    MAP("limits", type_quantity, 1),
    MAP("requests", type_quantity, 2),
};
static OBJECT(volume_resource_requirements, "VolumeResourceRequirements");

static const struct field persistent_volume_claim_spec_fields[] = {
    LIST("accessModes", type_string, 1),
    ONE("resources", type_volume_resource_requirements, 2),
    ONE("volumeName", type_string, 3),
    ONE("selector", type_label_selector, 4, .flags = ATOMIC),
    ONE("storageClassName", type_string, 5, .flags = POINTER),
    ONE("volumeMode", type_string, 6, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Filesystem\"",
        .enums = "Block|Filesystem"),
    ONE("dataSource", type_typed_local_object_reference, 7, .flags = ATOMIC),
    ONE("dataSourceRef", type_typed_object_reference, 8),
    ONE("volumeAttributesClassName", type_string, 9, .flags = POINTER),
};
OBJECT(persistent_volume_claim_spec, "PersistentVolumeClaimSpec");

static const struct field persistent_volume_claim_template_fields[] = {
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_persistent_volume_claim_spec, 2, .flags = REQUIRED),
};
static OBJECT(persistent_volume_claim_template, "PersistentVolumeClaimTemplate");

static const struct field ephemeral_volume_source_fields[] = {
    ONE("volumeClaimTemplate", type_persistent_volume_claim_template, 1),
};
static OBJECT(ephemeral_volume_source, "EphemeralVolumeSource");

static const struct field fc_volume_source_fields[] = {
    LIST("targetWWNs", type_string, 1), ONE("lun", type_int32, 2, .flags = POINTER),
    ONE("fsType", type_string, 3),      ONE("readOnly", type_bool, 4),
    LIST("wwids", type_string, 5),
};
OBJECT(fc_volume_source, "FCVolumeSource");

static const struct field flex_volume_source_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("secretRef", type_local_object_reference, 3, .flags = ATOMIC),
    ONE("readOnly", type_bool, 4),
    MAP("options", type_string, 5),
};
static OBJECT(flex_volume_source, "FlexVolumeSource");

static const struct field flocker_volume_source_fields[] = {
    ONE("datasetName", type_string, 1),
    ONE("datasetUUID", type_string, 2),
};
OBJECT(flocker_volume_source, "FlockerVolumeSource");

static const struct field gce_persistent_disk_volume_source_fields[] = {
    ONE("pdName", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("partition", type_int32, 3),
    ONE("readOnly", type_bool, 4),
};
OBJECT(gce_persistent_disk_volume_source, "GCEPersistentDiskVolumeSource");

static const struct field git_repo_volume_source_fields[] = {
    ONE("repository", type_string, 1, .flags = REQUIRED),
    ONE("revision", type_string, 2),
    ONE("directory", type_string, 3),
};
static OBJECT(git_repo_volume_source, "GitRepoVolumeSource");

static const struct field glusterfs_volume_source_fields[] = {
    ONE("endpoints", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
};
static OBJECT(glusterfs_volume_source, "GlusterfsVolumeSource");

static const struct field host_path_volume_source_fields[] = {
    ONE("path", type_string, 1, .flags = REQUIRED),
    ONE("type", type_string, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"\""),
};
OBJECT(host_path_volume_source, "HostPathVolumeSource");

static const struct field image_volume_source_fields[] = {
    ONE("reference", type_string, 1),
    ONE("pullPolicy", type_string, 2),
};
static OBJECT(image_volume_source, "ImageVolumeSource");

static const struct field iscsi_volume_source_fields[] = {
    ONE("targetPortal", type_string, 1, .flags = REQUIRED),
    ONE("iqn", type_string, 2, .flags = REQUIRED),
    ONE("lun", type_int32, 3, .flags = REQUIRED),
    ONE("iscsiInterface", type_string, 4, .dflt = "\"default\""),
    ONE("fsType", type_string, 5),
    ONE("readOnly", type_bool, 6),
    LIST("portals", type_string, 7),
    ONE("chapAuthDiscovery", type_bool, 8),
    ONE("secretRef", type_local_object_reference, 10, .flags = ATOMIC),
    ONE("chapAuthSession", type_bool, 11),
    ONE("initiatorName", type_string, 12, .flags = POINTER),
};
static OBJECT(iscsi_volume_source, "ISCSIVolumeSource");

static const struct field nfs_volume_source_fields[] = {
    ONE("server", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
};
OBJECT(nfs_volume_source, "NFSVolumeSource");

static const struct field persistent_volume_claim_volume_source_fields[] = {
    ONE("claimName", type_string, 1, .flags = REQUIRED),
    ONE("readOnly", type_bool, 2),
};
static OBJECT(persistent_volume_claim_volume_source, "PersistentVolumeClaimVolumeSource");

static const struct field photon_persistent_disk_volume_source_fields[] = {
    ONE("pdID", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
};
OBJECT(photon_persistent_disk_volume_source, "PhotonPersistentDiskVolumeSource");

static const struct field portworx_volume_source_fields[] = {
    ONE("volumeID", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("readOnly", type_bool, 3),
};
OBJECT(portworx_volume_source, "PortworxVolumeSource");

static const struct field cluster_trust_bundle_projection_fields[] = {
    ONE("name", type_string, 1, .flags = POINTER),
    ONE("signerName", type_string, 2, .flags = POINTER),
    ONE("labelSelector", type_label_selector, 3, .flags = ATOMIC),
    ONE("path", type_string, 4, .flags = REQUIRED),
    ONE("optional", type_bool, 5, .flags = POINTER),
};
static OBJECT(cluster_trust_bundle_projection, "ClusterTrustBundleProjection");

static const struct field config_map_projection_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    LIST("items", type_key_to_path, 2),
    ONE("optional", type_bool, 4, .flags = POINTER),
};
static OBJECT(config_map_projection, "ConfigMapProjection");

static const struct field downward_api_projection_fields[] = {
    LIST("items", type_downward_api_volume_file, 1),
};
static OBJECT(downward_api_projection, "DownwardAPIProjection");

static const struct field pod_certificate_projection_fields[] = {
    ONE("signerName", type_string, 1, .flags = REQUIRED),
    ONE("keyType", type_string, 2, .flags = REQUIRED),
    ONE("maxExpirationSeconds", type_int32, 3, .flags = POINTER),
    ONE("credentialBundlePath", type_string, 4),
    ONE("keyPath", type_string, 5),
    ONE("certificateChainPath", type_string, 6),
    MAP("userAnnotations", type_string, 7),
};
static OBJECT(pod_certificate_projection, "PodCertificateProjection");

static const struct field secret_projection_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    LIST("items", type_key_to_path, 2),
    ONE("optional", type_bool, 4, .flags = POINTER),
};
static OBJECT(secret_projection, "SecretProjection");

static const struct field service_account_token_projection_fields[] = {
    ONE("audience", type_string, 1),
    ONE("expirationSeconds", type_int64, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "3600"),
    ONE("path", type_string, 3, .flags = REQUIRED),
};
static OBJECT(service_account_token_projection, "ServiceAccountTokenProjection");

static const struct field volume_projection_fields[] = {
    ONE("secret", type_secret_projection, 1),
    ONE("downwardAPI", type_downward_api_projection, 2),
    ONE("configMap", type_config_map_projection, 3),
    ONE("serviceAccountToken", type_service_account_token_projection, 4),
    ONE("clusterTrustBundle", type_cluster_trust_bundle_projection, 5),
    ONE("podCertificate", type_pod_certificate_projection, 6),
};
static OBJECT(volume_projection, "VolumeProjection");

static const struct field projected_volume_source_fields[] = {
    LIST("sources", type_volume_projection, 1),
    ONE("defaultMode", type_int32, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "420"),
};
static OBJECT(projected_volume_source, "ProjectedVolumeSource");

static const struct field quobyte_volume_source_fields[] = {
    ONE("registry", type_string, 1, .flags = REQUIRED),
    ONE("volume", type_string, 2, .flags = REQUIRED),
    ONE("readOnly", type_bool, 3),
    ONE("user", type_string, 4),
    ONE("group", type_string, 5),
    ONE("tenant", type_string, 6),
};
OBJECT(quobyte_volume_source, "QuobyteVolumeSource");

static const struct field rbd_volume_source_fields[] = {
    LIST("monitors", type_string, 1, .flags = REQUIRED),
    ONE("image", type_string, 2, .flags = REQUIRED),
    ONE("fsType", type_string, 3),
    ONE("pool", type_string, 4, .dflt = "\"rbd\""),
    ONE("user", type_string, 5, .dflt = "\"admin\""),
    ONE("keyring", type_string, 6, .dflt = "\"/etc/ceph/keyring\""),
    ONE("secretRef", type_local_object_reference, 7, .flags = ATOMIC),
    ONE("readOnly", type_bool, 8),
};
static OBJECT(rbd_volume_source, "RBDVolumeSource");

static const struct field scaleio_volume_source_fields[] = {
    ONE("gateway", type_string, 1, .flags = REQUIRED),
    ONE("system", type_string, 2, .flags = REQUIRED),
    ONE("secretRef", type_local_object_reference, 3, .flags = REQUIRED | ATOMIC),
    ONE("sslEnabled", type_bool, 4),
    ONE("protectionDomain", type_string, 5),
    ONE("storagePool", type_string, 6),
    ONE("storageMode", type_string, 7, .dflt = "\"ThinProvisioned\""),
    ONE("volumeName", type_string, 8),
    ONE("fsType", type_string, 9, .dflt = "\"xfs\""),
    ONE("readOnly", type_bool, 10),
};
static OBJECT(scaleio_volume_source, "ScaleIOVolumeSource");

static const struct field secret_volume_source_fields[] = {
    ONE("secretName", type_string, 1),
    LIST("items", type_key_to_path, 2),
    ONE("defaultMode", type_int32, 3, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "420"),
    ONE("optional", type_bool, 4, .flags = POINTER),
};
static OBJECT(secret_volume_source, "SecretVolumeSource");

static const struct field storageos_volume_source_fields[] = {
    ONE("volumeName", type_string, 1),
    ONE("volumeNamespace", type_string, 2),
    ONE("fsType", type_string, 3),
    ONE("readOnly", type_bool, 4),
    ONE("secretRef", type_local_object_reference, 5, .flags = ATOMIC),
};
static OBJECT(storageos_volume_source, "StorageOSVolumeSource");

static const struct field vsphere_virtual_disk_volume_source_fields[] = {
    ONE("volumePath", type_string, 1, .flags = REQUIRED),
    ONE("fsType", type_string, 2),
    ONE("storagePolicyName", type_string, 3),
    ONE("storagePolicyID", type_string, 4),
};
OBJECT(vsphere_virtual_disk_volume_source, "VsphereVirtualDiskVolumeSource");

static const struct field volume_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("hostPath", type_host_path_volume_source, 1, .parent_tag = 2),
    ONE("emptyDir", type_empty_dir_volume_source, 2, .parent_tag = 2),
    ONE("gcePersistentDisk", type_gce_persistent_disk_volume_source, 3, .parent_tag = 2),
    ONE("awsElasticBlockStore", type_aws_elastic_block_store_volume_source, 4, .parent_tag = 2),
    ONE("gitRepo", type_git_repo_volume_source, 5, .parent_tag = 2),
    ONE("secret", type_secret_volume_source, 6, .parent_tag = 2),
    ONE("nfs", type_nfs_volume_source, 7, .parent_tag = 2),
    ONE("iscsi", type_iscsi_volume_source, 8, .parent_tag = 2),
    ONE("glusterfs", type_glusterfs_volume_source, 9, .parent_tag = 2),
    ONE("persistentVolumeClaim", type_persistent_volume_claim_volume_source, 10, .parent_tag = 2),
    ONE("rbd", type_rbd_volume_source, 11, .parent_tag = 2),
    ONE("flexVolume", type_flex_volume_source, 12, .parent_tag = 2),
    ONE("cinder", type_cinder_volume_source, 13, .parent_tag = 2),
    ONE("cephfs", type_cephfs_volume_source, 14, .parent_tag = 2),
    ONE("flocker", type_flocker_volume_source, 15, .parent_tag = 2),
    ONE("downwardAPI", type_downward_api_volume_source, 16, .parent_tag = 2),
    ONE("fc", type_fc_volume_source, 17, .parent_tag = 2),
    ONE("azureFile", type_azure_file_volume_source, 18, .parent_tag = 2),
    ONE("configMap", type_config_map_volume_source, 19, .parent_tag = 2),
    ONE("vsphereVolume", type_vsphere_virtual_disk_volume_source, 20, .parent_tag = 2),
    ONE("quobyte", type_quobyte_volume_source, 21, .parent_tag = 2),
    ONE("azureDisk", type_azure_disk_volume_source, 22, .parent_tag = 2),
    ONE("photonPersistentDisk", type_photon_persistent_disk_volume_source, 23, .parent_tag = 2),
    ONE("portworxVolume", type_portworx_volume_source, 24, .parent_tag = 2),
    ONE("scaleIO", type_scaleio_volume_source, 25, .parent_tag = 2),
    ONE("projected", type_projected_volume_source, 26, .parent_tag = 2),
    ONE("storageos", type_storageos_volume_source, 27, .parent_tag = 2),
    ONE("csi", type_csi_volume_source, 28, .parent_tag = 2),
    ONE("ephemeral", type_ephemeral_volume_source, 29, .parent_tag = 2),
    ONE("image", type_image_volume_source, 30, .parent_tag = 2),
};
OBJECT(volume, "Volume");
