/*
 * Tables of containers: environment, ports, probes, resources, security contexts, mounts.
 * A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field config_map_key_selector_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    ONE("key", type_string, 2, .flags = REQUIRED),
    ONE("optional", type_bool, 3, .flags = POINTER),
};
static OBJECT(config_map_key_selector, "ConfigMapKeySelector");

static const struct field object_field_selector_fields[] = {
    ONE("apiVersion", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"v1\""),
    ONE("fieldPath", type_string, 2, .flags = REQUIRED),
};
OBJECT(object_field_selector, "ObjectFieldSelector");

static const struct field file_key_selector_fields[] = {
    ONE("volumeName", type_string, 1, .flags = REQUIRED),
    ONE("path", type_string, 2, .flags = REQUIRED),
    ONE("key", type_string, 3, .flags = REQUIRED),
    ONE("optional", type_bool, 4, .flags = POINTER),
};
static OBJECT(file_key_selector, "FileKeySelector");

static const struct field resource_field_selector_fields[] = {
    ONE("containerName", type_string, 1),
    ONE("resource", type_string, 2, .flags = REQUIRED),
    ONE("divisor", type_quantity, 3),
};
OBJECT(resource_field_selector, "ResourceFieldSelector");

static const struct field secret_key_selector_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    ONE("key", type_string, 2, .flags = REQUIRED),
    ONE("optional", type_bool, 3, .flags = POINTER),
};
static OBJECT(secret_key_selector, "SecretKeySelector");

static const struct field env_var_source_fields[] = {
    ONE("fieldRef", type_object_field_selector, 1, .flags = ATOMIC),
    ONE("resourceFieldRef", type_resource_field_selector, 2, .flags = ATOMIC),
    ONE("configMapKeyRef", type_config_map_key_selector, 3, .flags = ATOMIC),
    ONE("secretKeyRef", type_secret_key_selector, 4, .flags = ATOMIC),
    ONE("fileKeyRef", type_file_key_selector, 5, .flags = ATOMIC),
};
static OBJECT(env_var_source, "EnvVarSource");

static const struct field env_var_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("value", type_string, 2),
    ONE("valueFrom", type_env_var_source, 3),
};
OBJECT(env_var, "EnvVar");

static const struct field config_map_env_source_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    ONE("optional", type_bool, 2, .flags = POINTER),
};
static OBJECT(config_map_env_source, "ConfigMapEnvSource");

static const struct field secret_env_source_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1),
    ONE("optional", type_bool, 2, .flags = POINTER),
};
static OBJECT(secret_env_source, "SecretEnvSource");

static const struct field env_from_source_fields[] = {
    ONE("prefix", type_string, 1),
    ONE("configMapRef", type_config_map_env_source, 2),
    ONE("secretRef", type_secret_env_source, 3),
};
static OBJECT(env_from_source, "EnvFromSource");

static const struct field exec_action_fields[] = {
    LIST("command", type_string, 1),
};
static OBJECT(exec_action, "ExecAction");

static const struct field http_header_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("value", type_string, 2, .flags = REQUIRED),
};
static OBJECT(http_header, "HTTPHeader");

static const struct field http_get_action_fields[] = {
    ONE("path", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"/\""),
    ONE("port", type_int_or_string, 2, .flags = REQUIRED),
    ONE("host", type_string, 3),
    ONE("scheme", type_string, 4, .flags = BUILTIN_DEFAULT, .dflt = "\"HTTP\""),
    LIST("httpHeaders", type_http_header, 5),
};
static OBJECT(http_get_action, "HTTPGetAction");

static const struct field sleep_action_fields[] = {
    ONE("seconds", type_int64, 1, .flags = REQUIRED),
};
static OBJECT(sleep_action, "SleepAction");

static const struct field tcp_socket_action_fields[] = {
    ONE("port", type_int_or_string, 1, .flags = REQUIRED),
    ONE("host", type_string, 2),
};
static OBJECT(tcp_socket_action, "TCPSocketAction");

static const struct field lifecycle_handler_fields[] = {
    ONE("exec", type_exec_action, 1),
    ONE("httpGet", type_http_get_action, 2),
    ONE("tcpSocket", type_tcp_socket_action, 3),
    ONE("sleep", type_sleep_action, 4),
};
static OBJECT(lifecycle_handler, "LifecycleHandler");

static const struct field lifecycle_fields[] = {
    ONE("postStart", type_lifecycle_handler, 1),
    ONE("preStop", type_lifecycle_handler, 2),
    ONE("stopSignal", type_string, 3, .flags = POINTER),
};
static OBJECT(lifecycle, "Lifecycle");

static const struct field grpc_action_fields[] = {
    ONE("port", type_int32, 1, .flags = REQUIRED),
    ONE("service", type_string, 2, .flags = POINTER, .dflt = "\"\""),
};
static OBJECT(grpc_action, "GRPCAction");

static const struct field probe_fields[] = {
    ONE("exec", type_exec_action, 1, .parent_tag = 1),
    ONE("httpGet", type_http_get_action, 2, .parent_tag = 1),
    ONE("tcpSocket", type_tcp_socket_action, 3, .parent_tag = 1),
    ONE("grpc", type_grpc_action, 4, .parent_tag = 1),
    ONE("initialDelaySeconds", type_int32, 2),
    ONE("timeoutSeconds", type_int32, 3, .flags = BUILTIN_DEFAULT, .dflt = "1"),
    ONE("periodSeconds", type_int32, 4, .flags = BUILTIN_DEFAULT, .dflt = "10"),
    ONE("successThreshold", type_int32, 5, .flags = BUILTIN_DEFAULT, .dflt = "1"),
    ONE("failureThreshold", type_int32, 6, .flags = BUILTIN_DEFAULT, .dflt = "3"),
    ONE("terminationGracePeriodSeconds", type_int64, 7, .flags = POINTER),
};
static OBJECT(probe, "Probe");

static const struct field container_port_fields[] = {
    ONE("name", type_string, 1),
    ONE("hostPort", type_int32, 2),
    ONE("containerPort", type_int32, 3, .flags = REQUIRED),
    ONE("protocol", type_string, 4, .dflt = "\"TCP\"", .enums = "SCTP|TCP|UDP"),
    ONE("hostIP", type_string, 5),
};
static OBJECT(container_port, "ContainerPort");

static const struct field container_resize_policy_fields[] = {
    ONE("resourceName", type_string, 1, .flags = REQUIRED),
    ONE("restartPolicy", type_string, 2, .flags = REQUIRED),
};
static OBJECT(container_resize_policy, "ContainerResizePolicy");

static const struct field resource_claim_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("request", type_string, 2),
};
static OBJECT(resource_claim, "ResourceClaim");

static const struct field resource_requirements_fields[] = {
    MAP("limits", type_quantity, 1, .doc = "Never more than this."),
    MAP("requests", type_quantity, 2,
        .doc = "Set aside for the container; what scheduling counts."),
    KEYED("claims", type_resource_claim, 3, "name"),
};
OBJECT(resource_requirements, "ResourceRequirements");

static const struct field container_restart_rule_on_exit_codes_fields[] = {
    ONE("operator", type_string, 1, .flags = REQUIRED),
    SET("values", type_int32, 2),
};
static OBJECT(container_restart_rule_on_exit_codes, "ContainerRestartRuleOnExitCodes");

static const struct field container_restart_rule_fields[] = {
    ONE("action", type_string, 1, .flags = REQUIRED),
    ONE("exitCodes", type_container_restart_rule_on_exit_codes, 2),
};
static OBJECT(container_restart_rule, "ContainerRestartRule");

static const struct field app_armor_profile_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("localhostProfile", type_string, 2, .flags = POINTER),
};
OBJECT(app_armor_profile, "AppArmorProfile");

static const struct field capabilities_fields[] = {
    LIST("add", type_string, 1),
    LIST("drop", type_string, 2),
};
static OBJECT(capabilities, "Capabilities");

static const struct field selinux_options_fields[] = {
    ONE("user", type_string, 1),
    ONE("role", type_string, 2),
    ONE("type", type_string, 3),
    ONE("level", type_string, 4),
};
OBJECT(selinux_options, "SELinuxOptions");

static const struct field seccomp_profile_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("localhostProfile", type_string, 2, .flags = POINTER),
};
OBJECT(seccomp_profile, "SeccompProfile");

static const struct field windows_security_context_options_fields[] = {
    ONE("gmsaCredentialSpecName", type_string, 1, .flags = POINTER),
    ONE("gmsaCredentialSpec", type_string, 2, .flags = POINTER),
    ONE("runAsUserName", type_string, 3, .flags = POINTER),
    ONE("hostProcess", type_bool, 4, .flags = POINTER),
};
OBJECT(windows_security_context_options, "WindowsSecurityContextOptions");

static const struct field security_context_fields[] = {
    ONE("capabilities", type_capabilities, 1),
    ONE("privileged", type_bool, 2, .flags = POINTER),
    ONE("seLinuxOptions", type_selinux_options, 3),
    ONE("runAsUser", type_int64, 4, .flags = POINTER),
    ONE("runAsNonRoot", type_bool, 5, .flags = POINTER),
    ONE("readOnlyRootFilesystem", type_bool, 6, .flags = POINTER),
    ONE("allowPrivilegeEscalation", type_bool, 7, .flags = POINTER),
    ONE("runAsGroup", type_int64, 8, .flags = POINTER),
    ONE("procMount", type_string, 9, .flags = POINTER),
    ONE("windowsOptions", type_windows_security_context_options, 10),
    ONE("seccompProfile", type_seccomp_profile, 11),
    ONE("appArmorProfile", type_app_armor_profile, 12),
};
static OBJECT(security_context, "SecurityContext");

static const struct field volume_device_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("devicePath", type_string, 2, .flags = REQUIRED),
};
static OBJECT(volume_device, "VolumeDevice");

static const struct field volume_mount_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("readOnly", type_bool, 2),
    ONE("mountPath", type_string, 3, .flags = REQUIRED),
    ONE("subPath", type_string, 4),
    ONE("mountPropagation", type_string, 5, .flags = POINTER),
    ONE("subPathExpr", type_string, 6),
    ONE("recursiveReadOnly", type_string, 7, .flags = POINTER),
};
static OBJECT(volume_mount, "VolumeMount");

static const struct field container_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED, .doc = "Unique in the pod."),
    ONE("image", type_string, 2, .doc = "What to run."),
    LIST("command", type_string, 3, .doc = "Replaces the entry point of the image."),
    LIST("args", type_string, 4, .doc = "Arguments of the entry point."),
    ONE("workingDir", type_string, 5),
    KEYED("ports", type_container_port, 6, "containerPort,protocol", .flags = MERGE,
          .patch_key = "containerPort", .doc = "Ports the container listens on."),
    KEYED("env", type_env_var, 7, "name", .flags = MERGE, .patch_key = "name",
          .doc = "Environment variables."),
    ONE("resources", type_resource_requirements, 8, .flags = BUILTIN_DEFAULT, .dflt = "{}",
        .doc = "What the container needs and may use at most."),
    KEYED("volumeMounts", type_volume_mount, 9, "mountPath", .flags = MERGE,
          .patch_key = "mountPath", .doc = "Where volumes appear in the file system."),
    ONE("livenessProbe", type_probe, 10, .doc = "Says whether the container must be restarted."),
    ONE("readinessProbe", type_probe, 11, .doc = "Says whether the container can serve."),
    ONE("lifecycle", type_lifecycle, 12),
    ONE("terminationMessagePath", type_string, 13, .flags = BUILTIN_DEFAULT,
        .dflt = "\"/dev/termination-log\""),
    ONE("imagePullPolicy", type_string, 14, .enums = "Always|IfNotPresent|Never",
        .doc = "When the image is fetched."),
    ONE("securityContext", type_security_context, 15),
    ONE("stdin", type_bool, 16),
    ONE("stdinOnce", type_bool, 17),
    ONE("tty", type_bool, 18),
    LIST("envFrom", type_env_from_source, 19),
    ONE("terminationMessagePolicy", type_string, 20, .flags = BUILTIN_DEFAULT, .dflt = "\"File\"",
        .enums = "File|FallbackToLogsOnError"),
    KEYED("volumeDevices", type_volume_device, 21, "devicePath", .flags = MERGE,
          .patch_key = "devicePath"),
    ONE("startupProbe", type_probe, 22,
        .doc = "Holds the other probes back until the container has started."),
    LIST("resizePolicy", type_container_resize_policy, 23),
    ONE("restartPolicy", type_string, 24, .flags = POINTER),
    LIST("restartPolicyRules", type_container_restart_rule, 25),
};
OBJECT(container, "Container");

static const struct field ephemeral_container_fields[] = {
    ONE("name", type_string, 1, .parent_tag = 1, .flags = REQUIRED),
    ONE("image", type_string, 2, .parent_tag = 1),
    LIST("command", type_string, 3, .parent_tag = 1),
    LIST("args", type_string, 4, .parent_tag = 1),
    ONE("workingDir", type_string, 5, .parent_tag = 1),
    KEYED("ports", type_container_port, 6, "containerPort,protocol", .parent_tag = 1,
          .flags = MERGE, .patch_key = "containerPort"),
    KEYED("env", type_env_var, 7, "name", .parent_tag = 1, .flags = MERGE, .patch_key = "name"),
    ONE("resources", type_resource_requirements, 8, .parent_tag = 1, .flags = BUILTIN_DEFAULT,
        .dflt = "{}"),
    KEYED("volumeMounts", type_volume_mount, 9, "mountPath", .parent_tag = 1, .flags = MERGE,
          .patch_key = "mountPath"),
    ONE("livenessProbe", type_probe, 10, .parent_tag = 1),
    ONE("readinessProbe", type_probe, 11, .parent_tag = 1),
    ONE("lifecycle", type_lifecycle, 12, .parent_tag = 1),
    ONE("terminationMessagePath", type_string, 13, .parent_tag = 1, .flags = BUILTIN_DEFAULT,
        .dflt = "\"/dev/termination-log\""),
    ONE("imagePullPolicy", type_string, 14, .parent_tag = 1, .enums = "Always|IfNotPresent|Never"),
    ONE("securityContext", type_security_context, 15, .parent_tag = 1),
    ONE("stdin", type_bool, 16, .parent_tag = 1),
    ONE("stdinOnce", type_bool, 17, .parent_tag = 1),
    ONE("tty", type_bool, 18, .parent_tag = 1),
    LIST("envFrom", type_env_from_source, 19, .parent_tag = 1),
    ONE("terminationMessagePolicy", type_string, 20, .parent_tag = 1, .flags = BUILTIN_DEFAULT,
        .dflt = "\"File\"", .enums = "File|FallbackToLogsOnError"),
    KEYED("volumeDevices", type_volume_device, 21, "devicePath", .parent_tag = 1, .flags = MERGE,
          .patch_key = "devicePath"),
    ONE("startupProbe", type_probe, 22, .parent_tag = 1),
    LIST("resizePolicy", type_container_resize_policy, 23, .parent_tag = 1),
    ONE("restartPolicy", type_string, 24, .parent_tag = 1),
    LIST("restartPolicyRules", type_container_restart_rule, 25, .parent_tag = 1),
    ONE("targetContainerName", type_string, 2),
};
OBJECT(ephemeral_container, "EphemeralContainer");
