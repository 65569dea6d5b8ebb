/*
 * Why a pod that is on a node does not do what it should, and what to do about it: from the reasons
 * that a kubelet writes into its status, and from its warnings. A table (pod_trouble.c); pure.
 *
 *   what is looked at, in this order          example
 *   the reason of the pod itself              Evicted, DeadlineExceeded, OutOfcpu
 *   a container that waits                    ImagePullBackOff, CreateContainerConfigError
 *     ... to run again: how the last run ended  CrashLoopBackOff: OOMKilled, exit code 127
 *   a container that has ended                Error with a code or a signal
 *   a container that runs, not ready          how its last run ended
 *   the last warning about the pod            FailedMount, FailedCreatePodSandBox, Unhealthy
 *
 * Warnings are only asked where the status says nothing: they are what was, not what is.
 */
#ifndef EXPLAIN_DOCUMENTS_POD_TROUBLE_H
#define EXPLAIN_DOCUMENTS_POD_TROUBLE_H

#include "explain/documents/picture.h"

/* The last warning about each pod of a picture. */
struct pod_warnings {
    struct map by_uid;
};
void pod_warnings_init(struct pod_warnings *w, const struct picture *p);
void pod_warnings_done(struct pod_warnings *w);

struct pod_trouble {
    str reason;      /* the kubelet's word */
    str what;        /* "container main cannot pull its image x:1" */
    str said;        /* the kubelet's own message; may be empty */
    str remedy;      /* one sentence, with a command where there is one */
    str container;   /* empty: it is about the whole pod */
    bool by_warning; /* the status alone says that the pod is on its way */
};

/* w may be NULL. False: nothing is known to be wrong. */
bool pod_trouble_of(const struct obj *pod, const struct pod_warnings *w, struct arena *a,
                    struct pod_trouble *ret);

#endif
