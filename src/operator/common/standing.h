/*
 * The two conditions that every tool knows, for all kinds that have replicas: Available (what is
 * needed serves now) and Progressing (whether it is on its way to what is wanted, or has arrived).
 * Both say numbers.
 */
#ifndef OPERATOR_COMMON_STANDING_H
#define OPERATOR_COMMON_STANDING_H

#include "grove/make.h"

struct standing {
    const struct obj *of;
    const char *what; /* "pods are ready" */
    int64_t wanted;   /* spec.replicas */
    int64_t there;    /* of them serve */
    int64_t needed;   /* the least that is of use */
    bool updating;    /* by a rolling update of its own */
    int64_t updated;  /* of those wanted, of the new revision */
};

/* Reasons: MinimumReplicasAvailable, MinimumReplicasUnavailable. */
struct condition standing_available(const struct standing *s, struct arena *a);
/* Always True. Reasons: Updating, WaitingForReplicas, Complete. As with Deployments, what was
 * complete stays so until its spec changes; what is lost later is Available's business. */
struct condition standing_progressing(const struct standing *s, struct arena *a);
/* For tools that know nothing but Ready (Helm, Flux): Available, and no update is under way. Reason
 * and message are those of what is missing, if anything is. */
struct condition standing_ready(const struct condition *available,
                                const struct condition *progressing, bool updating);

#endif
