/*
 * Kinds that are stored and served, and that nothing in this program acts on. Whoever creates one
 * is told so in a warning, which kubectl prints; docs/guide/limits.md has the same table.
 */
#include "apiserver/admit.h"

static const struct {
    const struct kind *kind;
    const char *missing; /* what does not follow from it */
} stored_only[] = {
    {&kind_deployment, "no pods are created from it"},
    {&kind_replica_set, "no pods are created from it"},
    {&kind_replication_controller, "no pods are created from it"},
    {&kind_stateful_set, "no pods are created from it"},
    {&kind_daemon_set, "no pods are created from it"},
    {&kind_job, "no pods are created from it"},
    {&kind_cron_job, "no jobs are created from it"},
    {&kind_ingress, "it routes no traffic"},
    {&kind_network_policy, "it restricts no traffic"},
    {&kind_persistent_volume_claim, "no volume is provisioned for it or bound to it"},
    {&kind_volume_attachment, "nothing is attached"},
    {&kind_api_service, "no requests are passed on to its service"},
    {&kind_flow_schema, "requests are queued by user instead"},
    {&kind_priority_level, "requests are queued by user instead"},
    {&kind_scheduling_pod_group, "the scheduler reads PodGangs (scheduler.grove.io)"},
    {&kind_composite_pod_group, "the scheduler reads PodGangs (scheduler.grove.io)"},
    {&kind_workload, "the scheduler reads PodGangs (scheduler.grove.io)"},
    {&kind_device_taint_rule, "no devices are tainted by it"},
    {&kind_lease_candidate, "no leader is chosen from it"},
    {&kind_pod_certificate_request, "nobody signs it"},
    {&kind_pool_status_request, "nobody answers it"},
    {&kind_storage_migration, "nothing is migrated"},
};

void stored_warn(const struct kind *k, struct field_errors *errors)
{
    for (size_t i = 0; i < ARRAY_LEN(stored_only); i++) {
        if (stored_only[i].kind != admit_kind(k))
            continue;
        field_warning_add(errors, "%s is stored, and grove up runs no controller for it: %s",
                          k->kind, stored_only[i].missing);
        return;
    }
}
