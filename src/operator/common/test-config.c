/* The operator's configuration file: defaults, what is read, and what is refused with its path. */
#include "operator/common/config.h"

#include "base/test.h"

#define HEAD "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"

static struct operator_config parsed(const char *text)
{
    struct operator_config c;
    struct err err = ERR_INIT;
    int r = config_parse(str_of(text), &c, &err);
    if (r)
        test_note("%s", err.message);
    REQUIRE(r == 0);
    return c;
}

static void check_defaults(struct operator_config c)
{
    CHECK(!c.election.enabled);
    CHECK_CSTR(c.election.name, "grove-operator-leader-election");
    CHECK_CSTR(c.election.ns, "");
    CHECK_CSTR(c.webhooks.address, "");
    CHECK_INT(c.webhooks.port, 2750);
    CHECK_INT(c.health.port, 2751);
    CHECK_INT(c.metrics.port, 2752);
    CHECK_CSTR(c.cert_dir, "/etc/grove-operator/webhook-certs");
    CHECK_CSTR(c.cert_secret, "grove-webhook-server-cert");
    CHECK(c.own_certs);
    CHECK(c.log_level == LOG_LEVEL_INFO && c.log_json);
    CHECK(!c.authorizer && c.n_exempt == 0);
    CHECK(str_is_empty(c.strategy));
    CHECK(!c.topology && !c.mnnvl);
    CHECK_INT(c.backends, 1 << BACKEND_DEFAULT);
    CHECK(c.backend == &backends[BACKEND_DEFAULT]);
    CHECK_CSTR(str_of(c.schedulers[0]), "default-scheduler");
    CHECK(c.schedulers[1] == NULL);
    CHECK_INT(c.warnings.len, 0);
    config_done(&c);
}

TEST(defaults_are_those_of_the_contract)
{
    check_defaults(parsed(""));
    check_defaults(parsed(HEAD));
    check_defaults(parsed("{\"kind\": \"OperatorConfiguration\", \"server\": {}}"));
}

/* As a chart writes it. */
TEST(a_whole_file_is_read)
{
    struct operator_config c = parsed(HEAD "runtimeClientConnection: {qps: 100, burst: 150}\n"
                                           "leaderElection:\n"
                                           "  enabled: true\n"
                                           "  leaseDuration: 30s\n"
                                           "  renewDeadline: 20s\n"
                                           "  retryPeriod: 3s\n"
                                           "  resourceLock: leases\n"
                                           "  resourceName: other\n"
                                           "  resourceNamespace: ns1\n"
                                           "server:\n"
                                           "  webhooks: {bindAddress: 10.0.0.1, port: 9443,\n"
                                           "    serverCertDir: /certs, secretName: s,\n"
                                           "    certProvisionMode: manual}\n"
                                           "  healthProbes: {bindAddress: 10.0.0.2, port: 9444}\n"
                                           "  metrics: {port: 9445}\n"
                                           "debugging: {enableProfiling: false}\n"
                                           "controllers:\n"
                                           "  podCliqueSet: {concurrentSyncs: 3}\n"
                                           "  podClique: {concurrentSyncs: 3}\n"
                                           "  podCliqueScalingGroup: {concurrentSyncs: 3}\n"
                                           "  podGang: {concurrentSyncs: 3}\n"
                                           "logLevel: debug\n"
                                           "logFormat: text\n"
                                           "authorizer:\n"
                                           "  enabled: true\n"
                                           "  exemptServiceAccountUserNames: [a:b, c:d]\n"
                                           "topologyAwareScheduling: {enabled: true}\n"
                                           "network: {autoMNNVLEnabled: true}\n"
                                           "defaultUpdateStrategy: Coherent\n"
                                           "scheduler:\n"
                                           "  profiles: [{name: kai-scheduler},\n"
                                           "    {name: volcano, config: {}}]\n"
                                           "  defaultProfileName: kai-scheduler\n");
    CHECK(c.election.enabled);
    CHECK_INT(c.election.duration, 30 * USEC_PER_SEC);
    CHECK_INT(c.election.renew, 20 * USEC_PER_SEC);
    CHECK_INT(c.election.retry, 3 * USEC_PER_SEC);
    CHECK_CSTR(c.election.name, "other");
    CHECK_CSTR(c.election.ns, "ns1");
    CHECK_CSTR(c.webhooks.address, "10.0.0.1");
    CHECK_INT(c.webhooks.port, 9443);
    CHECK_CSTR(c.cert_dir, "/certs");
    CHECK_CSTR(c.cert_secret, "s");
    CHECK(!c.own_certs);
    CHECK_CSTR(c.health.address, "10.0.0.2");
    CHECK_INT(c.health.port, 9444);
    CHECK_INT(c.metrics.port, 9445);
    CHECK(c.log_level == LOG_LEVEL_DEBUG && !c.log_json);
    CHECK(c.authorizer);
    REQUIRE(c.n_exempt == 2);
    CHECK_CSTR(c.exempt[1], "c:d");
    CHECK(c.topology && c.mnnvl);
    CHECK_CSTR(c.strategy, "Coherent");
    CHECK_INT(c.backends, 1 << BACKEND_DEFAULT | 1 << BACKEND_KAI | 1 << BACKEND_VOLCANO);
    CHECK(c.backend == &backends[BACKEND_KAI]);
    CHECK_CSTR(str_of(c.schedulers[0]), "kai-scheduler");
    CHECK_CSTR(str_of(c.schedulers[1]), "default-scheduler");
    CHECK_CSTR(str_of(c.schedulers[2]), "volcano");
    CHECK(c.schedulers[3] == NULL);
    CHECK_INT(c.warnings.len, 4);
    config_done(&c);
}

TEST(schedulers_have_short_names_too)
{
    struct operator_config c =
        parsed("scheduler: {profiles: [{name: grove}, {name: kube}], defaultProfileName: grove}");
    CHECK_INT(c.backends, 1 << BACKEND_DEFAULT | 1 << BACKEND_GROVE);
    CHECK_CSTR(str_of(c.schedulers[0]), "grove-scheduler");
    config_done(&c);
    /* Without profiles there is one, whatever the default is said to be. */
    c = parsed("scheduler: {defaultProfileName: volcano}");
    CHECK(c.backend == &backends[BACKEND_DEFAULT]);
    config_done(&c);
}

TEST(what_is_wrong_is_said_with_its_path)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"bogus: 1", "bogus: Forbidden: unknown field"},
        {"server: {webhooks: {prot: 1}}", "server.webhooks.prot: Forbidden: unknown field"},
        {"scheduler: {profiles: [{name: kai-scheduler, nmae: x}]}",
         "scheduler.profiles[0].nmae: Forbidden: unknown field"},
        {"kind: Pod", "kind: Unsupported value: \"Pod\""},
        {"apiVersion: v1", "apiVersion: Unsupported value: \"v1\""},
        {"logLevel: loud", "logLevel: Unsupported value: \"loud\""},
        {"logFormat: xml", "logFormat: Unsupported value: \"xml\""},
        {"server: {webhooks: {port: many}}", "server.webhooks.port: Invalid value: \"string\""},
        {"server: {metrics: {port: 70000}}", "server.metrics.port: Invalid value: 70000"},
        {"server: {webhooks: {certProvisionMode: magic}}",
         "server.webhooks.certProvisionMode: Unsupported value: \"magic\""},
        {"runtimeClientConnection: {burst: -1}",
         "runtimeClientConnection.burst: Invalid value: -1"},
        {"controllers: {podGang: {concurrentSyncs: 0}}",
         "controllers.podGang.concurrentSyncs: Invalid value: 0"},
        {"scheduler: {profiles: [{name: slurm}]}",
         "scheduler.profiles[0].name: Unsupported value: \"slurm\""},
        {"scheduler: {profiles: [{}]}", "scheduler.profiles[0].name: Required value"},
        {"scheduler: {profiles: [{name: volcano}, {name: volcano}]}",
         "scheduler.profiles[1].name: Duplicate value: \"volcano\""},
        {"scheduler: {profiles: [{name: volcano}], defaultProfileName: kai-scheduler}",
         "scheduler.defaultProfileName: Invalid value: \"kai-scheduler\""},
        {"leaderElection: {enabled: true, leaseDuration: 5s}",
         "leaderElection.leaseDuration: Invalid value: \"5s\": must be greater than"},
        {"leaderElection: {enabled: true, retryPeriod: 0s}",
         "leaderElection.retryPeriod: Invalid value: \"0s\""},
        {"leaderElection: {enabled: true, renewDeadline: soon}", "leaderElection.renewDeadline"},
        {"leaderElection: {enabled: true, renewDeadline: 2s}",
         "leaderElection.renewDeadline: Invalid value: \"2s\": must be greater than retryPeriod"},
        {"leaderElection: {resourceLock: configmaps}",
         "leaderElection.resourceLock: Unsupported value: \"configmaps\""},
        {"leaderElection: {enabled: true, resourceName: \"\"}",
         "leaderElection.resourceName: Required value"},
        {"a: [", "line 2, column 1"},
        {"--- {}\n--- {}\n", "one document is expected, there are 2"},
        {"just text", "Invalid value"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct operator_config c;
        struct err err = ERR_INIT;
        CHECK(config_parse(str_of(cases[i].text), &c, &err) < 0);
        bool found = str_find(str_of(err.message), str_of(cases[i].says)) >= 0;
        if (!found)
            test_note("%s\n  gives: %s\n  wants: %s", cases[i].text, err.message, cases[i].says);
        CHECK(found);
    }
}

TEST(a_file_that_is_not_there_is_named)
{
    struct operator_config c;
    struct err err = ERR_INIT;
    CHECK(config_load("/nonexistent/grove.yaml", &c, &err) < 0);
    CHECK(str_find(str_of(err.message), STR("/nonexistent/grove.yaml")) >= 0);
}
