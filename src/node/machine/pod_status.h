/* The status of a pod at a point of its life, as the kubelet writes it. */
#ifndef NODE_MACHINE_POD_STATUS_H
#define NODE_MACHINE_POD_STATUS_H

#include "node/machine/life.h"
#include "json/write.h"

struct pod_status {
    const struct obj *pod;
    const struct obj *node;
    const struct progress *progress;
    const struct life *life;
    str ip; /* empty: it has none yet */
    usec now;
};

/* The whole Pod for a server-side apply of its status. */
struct doc *pod_status_doc(const struct pod_status *s);

#endif
