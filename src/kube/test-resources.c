/*
 * The kinds against the list of what an API server of version 1.36 offers: names, scope, verbs and
 * subresources, one row each.
 */
#include "base/test.h"
#include "kube/tables/builtin.h"
#include "kube/test-kube-fixture.h"

static const struct resource {
    const char *group, *version, *plural, *kind, *singular;
    bool namespaced;
    const char *short_names, *categories;
    unsigned verbs;
    const char *subresources;
} resources[] = {
    {"", "v1", "configmaps", "ConfigMap", "configmap", true, "cm", NULL, VERBS_ALL, ""},
    {"", "v1", "endpoints", "Endpoints", "endpoints", true, "ep", NULL, VERBS_ALL, ""},
    {"", "v1", "events", "Event", "event", true, "ev", NULL, VERBS_ALL, ""},
    {"", "v1", "namespaces", "Namespace", "namespace", false, "ns", NULL,
     VERBS_ALL & ~VERB_DELETE_COLLECTION, "finalize,status"},
    {"", "v1", "nodes", "Node", "node", false, "no", NULL, VERBS_ALL, "proxy,status"},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "persistentvolumeclaim", true,
     "pvc", NULL, VERBS_ALL, "status"},
    {"", "v1", "persistentvolumes", "PersistentVolume", "persistentvolume", false, "pv", NULL,
     VERBS_ALL, "status"},
    {"", "v1", "pods", "Pod", "pod", true, "po", "all", VERBS_ALL,
     "attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status"},
    {"", "v1", "podtemplates", "PodTemplate", "podtemplate", true, NULL, NULL, VERBS_ALL, ""},
    {"", "v1", "replicationcontrollers", "ReplicationController", "replicationcontroller", true,
     "rc", "all", VERBS_ALL, "scale,status"},
    {"", "v1", "secrets", "Secret", "secret", true, NULL, NULL, VERBS_ALL, ""},
    {"", "v1", "serviceaccounts", "ServiceAccount", "serviceaccount", true, "sa", NULL, VERBS_ALL,
     "token"},
    {"", "v1", "services", "Service", "service", true, "svc", "all", VERBS_ALL, "proxy,status"},
    {"apiregistration.k8s.io", "v1", "apiservices", "APIService", "apiservice", false, NULL,
     "api-extensions", VERBS_ALL, "status"},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", "controllerrevision", true, NULL,
     NULL, VERBS_ALL, ""},
    {"apps", "v1", "daemonsets", "DaemonSet", "daemonset", true, "ds", "all", VERBS_ALL, "status"},
    {"apps", "v1", "deployments", "Deployment", "deployment", true, "deploy", "all", VERBS_ALL,
     "scale,status"},
    {"apps", "v1", "replicasets", "ReplicaSet", "replicaset", true, "rs", "all", VERBS_ALL,
     "scale,status"},
    {"apps", "v1", "statefulsets", "StatefulSet", "statefulset", true, "sts", "all", VERBS_ALL,
     "scale,status"},
    {"events.k8s.io", "v1", "events", "Event", "event", true, "ev", NULL, VERBS_ALL, ""},
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
     "horizontalpodautoscaler", true, "hpa", "all", VERBS_ALL, "status"},
    {"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
     "horizontalpodautoscaler", true, "hpa", "all", VERBS_ALL, "status"},
    {"batch", "v1", "cronjobs", "CronJob", "cronjob", true, "cj", "all", VERBS_ALL, "status"},
    {"batch", "v1", "jobs", "Job", "job", true, NULL, "all", VERBS_ALL, "status"},
    {"certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest",
     "certificatesigningrequest", false, "csr", NULL, VERBS_ALL, "approval,status"},
    {"certificates.k8s.io", "v1beta1", "clustertrustbundles", "ClusterTrustBundle",
     "clustertrustbundle", false, NULL, NULL, VERBS_ALL, ""},
    {"certificates.k8s.io", "v1beta1", "podcertificaterequests", "PodCertificateRequest",
     "podcertificaterequest", true, NULL, NULL, VERBS_ALL, "status"},
    {"networking.k8s.io", "v1", "ingressclasses", "IngressClass", "ingressclass", false, NULL, NULL,
     VERBS_ALL, ""},
    {"networking.k8s.io", "v1", "ingresses", "Ingress", "ingress", true, "ing", NULL, VERBS_ALL,
     "status"},
    {"networking.k8s.io", "v1", "ipaddresses", "IPAddress", "ipaddress", false, "ip", NULL,
     VERBS_ALL, ""},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "networkpolicy", true, "netpol",
     NULL, VERBS_ALL, ""},
    {"networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", "servicecidr", false, NULL, NULL,
     VERBS_ALL, "status"},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "poddisruptionbudget", true,
     "pdb", NULL, VERBS_ALL, "status"},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
     "clusterrolebinding", false, NULL, NULL, VERBS_ALL, ""},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "clusterrole", false, NULL,
     NULL, VERBS_ALL, ""},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "rolebinding", true, NULL,
     NULL, VERBS_ALL, ""},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", "role", true, NULL, NULL, VERBS_ALL, ""},
    {"storage.k8s.io", "v1", "csidrivers", "CSIDriver", "csidriver", false, NULL, NULL, VERBS_ALL,
     ""},
    {"storage.k8s.io", "v1", "csinodes", "CSINode", "csinode", false, NULL, NULL, VERBS_ALL, ""},
    {"storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", "csistoragecapacity",
     true, NULL, NULL, VERBS_ALL, ""},
    {"storage.k8s.io", "v1", "storageclasses", "StorageClass", "storageclass", false, "sc", NULL,
     VERBS_ALL, ""},
    {"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", "volumeattachment", false,
     NULL, NULL, VERBS_ALL, "status"},
    {"storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass",
     "volumeattributesclass", false, "vac", NULL, VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy",
     "mutatingadmissionpolicy", false, NULL, "api-extensions", VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybinding", false, NULL,
     "api-extensions", VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", "mutatingwebhookconfiguration", false, NULL, "api-extensions",
     VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
     "ValidatingAdmissionPolicy", "validatingadmissionpolicy", false, NULL, "api-extensions",
     VERBS_ALL, "status"},
    {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
     "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybinding", false, NULL,
     "api-extensions", VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
     "ValidatingWebhookConfiguration", "validatingwebhookconfiguration", false, NULL,
     "api-extensions", VERBS_ALL, ""},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
     "customresourcedefinition", false, "crd,crds", "api-extensions", VERBS_ALL, "status"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "priorityclass", false, "pc",
     NULL, VERBS_ALL, ""},
    {"coordination.k8s.io", "v1", "leases", "Lease", "lease", true, NULL, NULL, VERBS_ALL, ""},
    {"coordination.k8s.io", "v1beta1", "leasecandidates", "LeaseCandidate", "leasecandidate", true,
     NULL, NULL, VERBS_ALL, ""},
    {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", "runtimeclass", false, NULL, NULL,
     VERBS_ALL, ""},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "endpointslice", true, NULL, NULL,
     VERBS_ALL, ""},
    {"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", "deviceclass", false, NULL, NULL,
     VERBS_ALL, ""},
    {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", "resourceclaim", true, NULL, NULL,
     VERBS_ALL, "status"},
    {"resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate",
     "resourceclaimtemplate", true, NULL, NULL, VERBS_ALL, ""},
    {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", "resourceslice", false, NULL, NULL,
     VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta2", "devicetaintrules", "DeviceTaintRule", "devicetaintrule", false,
     NULL, NULL, VERBS_ALL, "status"},
    {"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", "flowschema", false, NULL,
     NULL, VERBS_ALL, "status"},
    {"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
     "PriorityLevelConfiguration", "prioritylevelconfiguration", false, NULL, NULL, VERBS_ALL,
     "status"},
    {"networking.k8s.io", "v1beta1", "ipaddresses", "IPAddress", "ipaddress", false, "ip", NULL,
     VERBS_ALL, ""},
    {"networking.k8s.io", "v1beta1", "servicecidrs", "ServiceCIDR", "servicecidr", false, NULL,
     NULL, VERBS_ALL, "status"},
    {"storage.k8s.io", "v1beta1", "volumeattributesclasses", "VolumeAttributesClass",
     "volumeattributesclass", false, "vac", NULL, VERBS_ALL, ""},
    {"certificates.k8s.io", "v1alpha1", "clustertrustbundles", "ClusterTrustBundle",
     "clustertrustbundle", false, NULL, NULL, VERBS_ALL, ""},
    {"coordination.k8s.io", "v1alpha2", "leasecandidates", "LeaseCandidate", "leasecandidate", true,
     NULL, NULL, VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies",
     "MutatingAdmissionPolicy", "mutatingadmissionpolicy", false, NULL, "api-extensions", VERBS_ALL,
     ""},
    {"admissionregistration.k8s.io", "v1alpha1", "mutatingadmissionpolicies",
     "MutatingAdmissionPolicy", "mutatingadmissionpolicy", false, NULL, "api-extensions", VERBS_ALL,
     ""},
    {"admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybinding", false, NULL,
     "api-extensions", VERBS_ALL, ""},
    {"admissionregistration.k8s.io", "v1alpha1", "mutatingadmissionpolicybindings",
     "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybinding", false, NULL,
     "api-extensions", VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta2", "deviceclasses", "DeviceClass", "deviceclass", false, NULL, NULL,
     VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta2", "resourceclaims", "ResourceClaim", "resourceclaim", true, NULL,
     NULL, VERBS_ALL, "status"},
    {"resource.k8s.io", "v1beta2", "resourceclaimtemplates", "ResourceClaimTemplate",
     "resourceclaimtemplate", true, NULL, NULL, VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta2", "resourceslices", "ResourceSlice", "resourceslice", false, NULL,
     NULL, VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta1", "deviceclasses", "DeviceClass", "deviceclass", false, NULL, NULL,
     VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta1", "resourceclaims", "ResourceClaim", "resourceclaim", true, NULL,
     NULL, VERBS_ALL, "status"},
    {"resource.k8s.io", "v1beta1", "resourceclaimtemplates", "ResourceClaimTemplate",
     "resourceclaimtemplate", true, NULL, NULL, VERBS_ALL, ""},
    {"resource.k8s.io", "v1beta1", "resourceslices", "ResourceSlice", "resourceslice", false, NULL,
     NULL, VERBS_ALL, ""},
    {"", "v1", "bindings", "Binding", "binding", true, NULL, NULL, VERB_CREATE, ""},
    {"", "v1", "componentstatuses", "ComponentStatus", "componentstatus", false, "cs", NULL,
     VERB_GET | VERB_LIST, ""},
    {"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", "podgroup", true, NULL, NULL,
     VERBS_ALL, "status"},
    {"scheduling.k8s.io", "v1beta1", "workloads", "Workload", "workload", true, NULL, NULL,
     VERBS_ALL, ""},
    {"scheduling.k8s.io", "v1alpha3", "podgroups", "PodGroup", "podgroup", true, NULL, NULL,
     VERBS_ALL, "status"},
    {"scheduling.k8s.io", "v1alpha3", "workloads", "Workload", "workload", true, NULL, NULL,
     VERBS_ALL, ""},
    {"scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup",
     "compositepodgroup", true, NULL, NULL, VERBS_ALL, "status"},
    {"resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests", "ResourcePoolStatusRequest",
     "resourcepoolstatusrequest", false, NULL, NULL, VERBS_ALL, "status"},
    {"internal.apiserver.k8s.io", "v1alpha1", "storageversions", "StorageVersion", "storageversion",
     false, NULL, NULL, VERBS_ALL, "status"},
    {"storagemigration.k8s.io", "v1beta1", "storageversionmigrations", "StorageVersionMigration",
     "storageversionmigration", false, NULL, NULL, VERBS_ALL, "status"},
    {"resource.k8s.io", "v1alpha3", "devicetaintrules", "DeviceTaintRule", "devicetaintrule", false,
     NULL, NULL, VERBS_ALL, "status"},
};

static bool same(const char *a, const char *b)
{
    return str_eq(str_of(a), str_of(b));
}

static bool has_subresource(const struct kind *k, str name)
{
    bool found = (str_is(name, "status") && kind_is(k, KIND_STATUS)) ||
                 (str_is(name, "scale") && kind_is(k, KIND_SCALE));

    for (size_t i = 0; i < k->n_subresources; i++)
        found |= str_is(name, k->subresources[i].name);
    return found;
}

static bool has_subresources(const struct kind *k, const char *names)
{
    size_t n = 0;

    for (str rest = str_of(names); rest.len; n++)
        if (!has_subresource(k, str_cut(&rest, ',')))
            return false;
    return n == k->n_subresources + kind_is(k, KIND_STATUS) + kind_is(k, KIND_SCALE);
}

static bool check_resource(const struct resource *r, const struct kind *k)
{
    bool ok = CHECK_CSTR(str_of(k->kind), r->kind);

    ok &= CHECK(same(k->singular, r->singular));
    ok &= CHECK_INT(kind_is(k, KIND_NAMESPACED), r->namespaced);
    ok &= CHECK(same(k->short_names, r->short_names));
    ok &= CHECK(same(k->categories, r->categories));
    ok &= CHECK_INT(k->verbs, r->verbs);
    ok &= CHECK(has_subresources(k, r->subresources));
    return ok;
}

TEST(kinds_are_named_as_other_servers_name_them)
{
    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        const struct resource *r = &resources[i];
        const struct kind *k =
            kind_by_plural(str_of(r->group), str_of(r->version), str_of(r->plural));
        if (!k) {
            CHECK(false);
            test_note("%s is not served", r->plural);
        } else if (!check_resource(r, k)) {
            test_note("%s/%s %s", r->group, r->version, r->plural);
        }
    }
}

/* Every kind of ours stands in the list. */
TEST(no_kind_is_served_that_others_do_not_have)
{
    CHECK_INT(n_builtin_kinds, ARRAY_LEN(resources));
}
