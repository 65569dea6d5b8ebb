/*
 * The Pod Security Standards: what a pod may ask of its node at the levels privileged (anything),
 * baseline (nothing that is a known way out of its container) and restricted (as little as there
 * is). Namespaces say by labels which level holds for their pods, and in which version of the
 * standards:
 *
 *   pod-security.kubernetes.io/enforce: restricted          pods that violate it are refused,
 *   pod-security.kubernetes.io/enforce-version: v1.30       judged as Kubernetes 1.30 did;
 *   pod-security.kubernetes.io/warn, audit (-version)       they are warned of, or logged
 *
 * Pure functions over labels and pods, in the words of kube-apiserver. The checks are one table in
 * pod_security.c, up to Kubernetes 1.37.
 */
#ifndef KUBE_POD_SECURITY_H
#define KUBE_POD_SECURITY_H

#include "kube/status.h"
#include "json/view.h"

#define POD_SECURITY_LABEL "pod-security.kubernetes.io/"

enum pod_security_level {
    POD_SECURITY_PRIVILEGED,
    POD_SECURITY_BASELINE,
    POD_SECURITY_RESTRICTED,
};

#define POD_SECURITY_LATEST INT32_MAX

struct pod_security {
    enum pod_security_level level;
    int32_t minor; /* of Kubernetes 1.x, or POD_SECURITY_LATEST */
};

struct pod_security_policy {
    struct pod_security enforce, audit, warn;
};

static inline bool pod_security_equal(struct pod_security a, struct pod_security b)
{
    return a.level == b.level && a.minor == b.minor;
}

/* "restricted:latest", "baseline:v1.30"; in the arena. */
str pod_security_name(struct arena *a, struct pod_security s);

/* What a namespace's labels ask for; without labels nothing. A level or version that is none counts
 * as restricted and latest where pods are refused, as privileged where they are warned of; what is
 * wrong is added to the errors (NULL: nobody asks). Whoever enforces a level is warned of it too
 * unless the labels say otherwise: that reaches those who write templates. */
struct pod_security_policy pod_security_policy_of(jval labels, struct field_errors *errors);

/* What violates the level in a pod, or in a template of pods. */
struct pod_security_verdict {
    str reasons; /* "privileged, hostPort"; empty: nothing */
    str details; /* the same, each with whom it concerns in brackets */
};
struct pod_security_verdict pod_security_judge(struct arena *a, struct pod_security s, jval meta,
                                               jval spec);

/* An update that may change the verdict: a container that is new or has another image. Nothing else
 * of a pod that counts can change. */
bool pod_security_is_new_ground(jval old_spec, jval new_spec);

#endif
