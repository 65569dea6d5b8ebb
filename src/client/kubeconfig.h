/*
 * Where the API is and who we are there, as kubectl finds it out: a file named on the command line,
 * the files of $KUBECONFIG, ~/.kube/config, or inside a pod its service account. Data only; what
 * changes while a process runs (token files, plug-ins) is credential.h's business.
 *
 * Several files are merged as kubectl merges them: of clusters, users and contexts with the same
 * name, and of current-context, the first file's counts; a file that does not exist is passed over.
 * Files that a kubeconfig names are relative to it.
 */
#ifndef CLIENT_KUBECONFIG_H
#define CLIENT_KUBECONFIG_H

#include "base/arena.h"
#include "base/err.h"

struct kubeconfig_env {
    str name, value;
};

enum kubeconfig_interactive { EXEC_IF_AVAILABLE, EXEC_NEVER, EXEC_ALWAYS };

/* A program that gives credentials (client.authentication.k8s.io). */
struct kubeconfig_exec {
    str command; /* empty: none; with a slash: absolute */
    str *args;
    size_t n_args;
    struct kubeconfig_env *env;
    size_t n_env;
    str api_version;
    str install_hint;
    str cluster; /* what it is told of the cluster, JSON; empty: nothing */
    enum kubeconfig_interactive interactive;
};

struct kubeconfig {
    /* all in the arena */
    str host;
    int port;
    str path; /* prefix of the server URL, without trailing slash */
    bool tls;
    bool skip_verify;
    str server_name; /* the certificate is for this name instead of the host; or empty */
    str proxy_url;
    str ca_pem, cert_pem, key_pem;

    str token;
    str token_file; /* goes before token, which counts until the file could be read */
    str username, password;
    struct kubeconfig_exec exec;
    str as, as_uid; /* whom to impersonate */
    str *as_groups;
    size_t n_as_groups;

    str ns;      /* of the context; "default" when it has none */
    str file;    /* that has the context; inside a pod the service account's directory */
    str context; /* empty inside a pod */
    str user;    /* its name in the file */
};

/* path NULL: $KUBECONFIG, else ~/.kube/config, else the pod's service account. context NULL: the
 * current one. Errors say which file and what to do. */
int kubeconfig_load(const char *path, const char *context, struct arena *a, struct kubeconfig *ret,
                    struct err *err);

/* "name:port", "[address]:port"; without a port *port stays. False: not so. */
bool kubeconfig_split_host(str text, uint64_t *port, str *ret_host);

/* A copy of all that lives in the arena. */
void kubeconfig_copy(const struct kubeconfig *k, struct arena *a, struct kubeconfig *ret);

/* Inside a pod: the address from KUBERNETES_SERVICE_HOST and _PORT; dir has token, ca.crt and
 * namespace. */
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
int kubeconfig_in_cluster(const char *dir, struct arena *a, struct kubeconfig *ret,
                          struct err *err);

#endif
