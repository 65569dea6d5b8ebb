/*
 * What a pod with startup dependencies waits for: the arguments of the generated init container
 * name cliques, by their full names, and how many of the pods of each must be ready at one time.
 * Read by the init container itself and by simulated nodes.
 */
#ifndef GROVE_STARTUP_H
#define GROVE_STARTUP_H

#include "kube/object.h"

#define STARTUP_CONTAINER "grove-initc"
#define STARTUP_FLAG "--podcliques="

struct startup_wait {
    str clique;
    uint64_t ready; /* at least 1 */
};

/* "NAME:COUNT", white space around it ignored. */
bool startup_parse_wait(str s, struct startup_wait *ret);
/* Ready, as startup order understands it: also while it is being deleted. */
bool startup_pod_is_ready(const struct obj *pod);

#endif
