/* What the files of admission share. Private to them. */
#ifndef APISERVER_ADMISSION_ADMIT_IMPL_H
#define APISERVER_ADMISSION_ADMIT_IMPL_H

#include "apiserver/admit.h"
#include "kube/pod_rules.h"

/* One kind. All run for the main endpoint and for scale; old is NULL on create. */
struct admit_ops {
    const struct kind *kind;
    void (*dflt)(const struct admit *a, jval root, struct edit *e);
    void (*mutate)(const struct admit *a, jval root, struct edit *e);
    void (*validate)(const struct admit *a, jval root);
};

void pod_default(const struct admit *a, jval root, struct edit *e);
void pod_mutate(const struct admit *a, jval root, struct edit *e);
void pod_validate(const struct admit *a, jval root);
void pod_validate_update(const struct admit *a, jval spec);
/* A write to ephemeralcontainers or resize; false: it is to neither. */
bool pod_validate_part(const struct admit *a, jval spec);
const char *pod_qos_class(jval spec);
/* The pod is forbidden; the first reason counts. */
void refuse_pod(const struct admit *a, str why);
/* Its service account, and what that gives it. */
void pod_account(const struct admit *a, jval root, struct edit *e);
/* The volume with its account's token. */
void pod_token_volume(const struct admit *a, jval spec, const struct obj *account, struct edit *e);
/* What the RuntimeClass it names says. */
void pod_runtime(const struct admit *a, jval spec, struct edit *e);
void role_validate(const struct admit *a, jval root);
void role_binding_default(const struct admit *a, jval root, struct edit *e);
void role_binding_validate(const struct admit *a, jval root);
void service_default(const struct admit *a, jval root, struct edit *e);
void service_mutate(const struct admit *a, jval root, struct edit *e);
void service_validate(const struct admit *a, jval root);

/* Defaults of containers that depend on their other fields, for pods and templates; base is the
 * pointer of the pod spec. */
void containers_default(const struct admit *a, jval spec, const char *base, struct edit *e);

/* admit.c: of kinds with a selector and a template */
void template_default(const struct admit *a, jval root, struct edit *e);
void template_validate(const struct admit *a, jval root);

/* admit_workload.c */
void pod_template_default(const struct admit *a, jval root, struct edit *e);
void pod_template_validate(const struct admit *a, jval root);
void replication_controller_default(const struct admit *a, jval root, struct edit *e);
void replication_controller_validate(const struct admit *a, jval root);
void daemon_set_validate(const struct admit *a, jval root);
void stateful_set_default(const struct admit *a, jval root, struct edit *e);
void stateful_set_validate(const struct admit *a, jval root);
void job_default(const struct admit *a, jval root, struct edit *e);
void job_validate(const struct admit *a, jval root);
void cron_job_default(const struct admit *a, jval root, struct edit *e);
void cron_job_validate(const struct admit *a, jval root);

/* admit_cluster.c */
/* What must be said and what stays, by its tables. */
/* Of a class that every cluster has, or 0. */
int64_t priority_of_system(str class);
void kept_validate(const struct admit *a, jval root);
void volume_mutate(const struct admit *a, jval root, struct edit *e);
void volume_validate(const struct admit *a, jval root);
void claim_validate(const struct admit *a, jval root);
void attachment_validate(const struct admit *a, jval root);
void network_policy_default(const struct admit *a, jval root, struct edit *e);
void network_policy_validate(const struct admit *a, jval root);
void ingress_validate(const struct admit *a, jval root);
void ip_address_validate(const struct admit *a, jval root);
void service_cidr_validate(const struct admit *a, jval root);
void flow_schema_validate(const struct admit *a, jval root);
void priority_level_validate(const struct admit *a, jval root);
void validating_policy_validate(const struct admit *a, jval root);
void api_service_mutate(const struct admit *a, jval root, struct edit *e);
void api_service_validate(const struct admit *a, jval root);

/* admit_security.c: what the labels of namespaces ask of pods, and those labels themselves. The
 * last to be asked. */
void security_validate(const struct admit *a, jval root);

/* signing.c */
void signing_request_mutate(const struct admit *a, jval root, struct edit *e);
void signing_request_validate(const struct admit *a, jval root);

/* admit_more.c */
void data_keys_validate(const struct admit *a, jval root, const char *member);
void secret_type_validate(const struct admit *a, jval root);
void pdb_validate(const struct admit *a, jval root);
void hpa_validate(const struct admit *a, jval root);
void lease_validate(const struct admit *a, jval root);

/* "spec.containers[2].image" in the arena. */
str admit_path(const struct admit *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets what is absent or null. */
void default_raw(struct edit *e, jval object, const char *key, const char *path, const char *json);

#endif
