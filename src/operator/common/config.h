/*
 * The operator's configuration file: YAML or JSON, apiVersion operator.config.grove.io/v1alpha1,
 * kind OperatorConfiguration, with the names and defaults that other Grove operators use, so that a
 * file moves over unchanged. One table says which fields there are; what it does not name is
 * refused with its path, because a misspelt word that is ignored is found in the worst moment.
 *
 * Fields that mean nothing here (client rates, numbers of workers, profiling) are taken and said in
 * a warning.
 */
#ifndef OPERATOR_COMMON_CONFIG_H
#define OPERATOR_COMMON_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "operator/common/backend.h"

struct config_endpoint {
    str address; /* empty: all */
    int port;
};

struct operator_config {
    struct arena arena; /* of the texts below */
    struct {
        bool enabled;
        usec duration, renew, retry;
        str name, ns; /* ns empty: that of the process */
    } election;
    struct config_endpoint webhooks, health, metrics;
    str cert_dir, cert_secret;
    bool own_certs; /* made and kept in the Secret; else read from cert_dir */
    enum log_level log_level;
    bool log_json;
    bool authorizer;
    str *exempt; /* users beside the operator that the authorizer lets pass */
    size_t n_exempt;
    bool topology;                          /* topology-aware scheduling */
    bool mnnvl;                             /* ComputeDomains by themselves */
    str strategy;                           /* of new sets that have none; empty: none */
    unsigned backends;                      /* bits 1 << BACKEND_x */
    const struct backend *backend;          /* the default */
    const char *schedulers[N_BACKENDS + 1]; /* their names, the default first, NULL ends */
    VEC(str) warnings;
};

/* Fills *ret in with defaults where the text says nothing; an empty text gives all of them. All
 * that is wrong is in the message, with paths. */
int config_parse(str text, struct operator_config *ret, struct err *err);
int config_load(const char *file, struct operator_config *ret, struct err *err);
void config_done(struct operator_config *c);

#endif
