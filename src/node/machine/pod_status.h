/* The status of a pod as the kubelet writes it: what was observed, and what the pod machine makes
 * of that. Times of conditions that did not change are kept from what is there. */
#ifndef NODE_MACHINE_POD_STATUS_H
#define NODE_MACHINE_POD_STATUS_H

#include "node/machine/machine.h"
#include "json/write.h"

struct pod_status {
    const struct obj *pod;
    const struct obj *node;
    const struct pod_seen *seen;
    const struct machine_result *result;
    str ip;            /* empty: it has none yet */
    bool only_if_seen; /* refused when the pod is another version by then */
    usec now;
};

/* The whole Pod for a server-side apply of its status. */
struct doc *pod_status_doc(const struct pod_status *s);
/* "Running"; as kubectl and the API have it. */
const char *pod_phase_name(enum pod_phase phase);

#endif
